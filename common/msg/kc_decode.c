/* kc_decode.c - JSON text into objects
 *
 * The text is checked for size and nesting before the parser sees it.  The walk goes on
 * after an error, so that one answer names up to KC_ERRS_MAX of them, and throws the
 * object away at the end.
 */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/msg/kc_tables.h"
#include "common/util/kc_mem.h"

enum { NEAR_MAX = 64 }; // longest key that is compared with the known ones

typedef struct decoder {
    kc_mode_t mode;
    kc_errs_t *errs; // never NULL here
} decoder_t;

static bool s_object (decoder_t *d, const kc_type_t *type, const json_t *v,
                      const kc_path_t *path, void *object);

// ---- faults ----

static void s_found (const json_t *v, char *out, size_t room)
{
    switch (json_typeof (v)) {
    case JSON_OBJECT:
        snprintf (out, room, "an object");
        break;
    case JSON_ARRAY:
        snprintf (out, room, "an array");
        break;
    case JSON_STRING:
        kc_quote (json_string_value (v), json_string_length (v), out, room);
        break;
    case JSON_INTEGER:
        snprintf (out, room, "%" JSON_INTEGER_FORMAT, json_integer_value (v));
        break;
    case JSON_REAL:
        snprintf (out, room, "%.15g", json_real_value (v));
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        snprintf (out, room, "%s", json_is_true (v) ? "true" : "false");
        break;
    case JSON_NULL:
        snprintf (out, room, "null");
        break;
    }
}

static bool s_wrong (decoder_t *d, const kc_path_t *path, const json_t *v,
                     const char *expected)
{
    char found[KC_ERRS_FOUND];
    s_found (v, found, sizeof found);
    kc_path_fail (d->errs, KC_EINVALID, path, found, "%s", expected);
    return false;
}

static bool s_wrong_value (decoder_t *d, const kc_path_t *path, const json_t *v,
                           const kc_field_t *f)
{
    char words[KC_ERRS_EXPECTED];
    kc_field_words (f, words, sizeof words);
    return s_wrong (d, path, v, words);
}

// ---- values ----

// A whole number: an integer, or a real without a fraction that fits in 64 bits.
static bool s_whole (const json_t *v, int64_t *out)
{
    if (json_is_integer (v)) {
        *out = json_integer_value (v);
        return true;
    }
    double x = json_is_real (v) ? json_real_value (v) : NAN;
    if (!(x >= -0x1p63 && x < 0x1p63) || trunc (x) != x)
        return false;
    *out = (int64_t)x;
    return true;
}

static bool s_integer (decoder_t *d, const kc_field_t *f, const json_t *v,
                       const kc_path_t *path, void *out)
{
    int64_t x;
    if (!s_whole (v, &x) || ((f->flags & KC_FIELD_MIN) && x < f->int_min)
        || ((f->flags & KC_FIELD_MAX) && x > f->int_max)
        || ((f->flags & KC_FIELD_CONST) && x != f->value_int))
        return s_wrong_value (d, path, v, f);
    memcpy (out, &x, sizeof x);
    return true;
}

static bool s_number (decoder_t *d, const kc_field_t *f, const json_t *v,
                      const kc_path_t *path, void *out)
{
    double x = json_is_number (v) ? json_number_value (v) : NAN;
    if (isnan (x) || ((f->flags & KC_FIELD_MIN) && x < f->num_min)
        || ((f->flags & KC_FIELD_MAX) && x > f->num_max))
        return s_wrong_value (d, path, v, f);
    memcpy (out, &x, sizeof x);
    return true;
}

static bool s_boolean (decoder_t *d, const kc_field_t *f, const json_t *v,
                       const kc_path_t *path, void *out)
{
    if (!json_is_boolean (v)
        || ((f->flags & KC_FIELD_CONST) && json_is_true (v) != (f->value_int != 0)))
        return s_wrong_value (d, path, v, f);
    kc_put_bool (out, 0, json_is_true (v));
    return true;
}

static bool s_string (decoder_t *d, const kc_field_t *f, const json_t *v,
                      const kc_path_t *path, void *out)
{
    char words[KC_ERRS_EXPECTED];
    if (!json_is_string (v))
        return s_wrong_value (d, path, v, f);
    const char *text = json_string_value (v);
    size_t size = json_string_length (v);
    if (kc_string_wrong (f, text, size, words, sizeof words))
        return s_wrong (d, path, v, words);
    kc_put_pointer (out, 0, kc_strndup (text, size));
    return true;
}

static bool s_enum (decoder_t *d, const kc_field_t *f, const json_t *v,
                    const kc_path_t *path, void *out)
{
    unsigned value = kc_enum_parse (f->type, json_string_value (v));
    if (value == 0)
        return s_wrong_value (d, path, v, f);
    kc_put_enum (out, 0, value);
    return true;
}

static bool s_union (decoder_t *d, const kc_type_t *type, const json_t *v,
                     const kc_path_t *path, void *out)
{
    if (!json_is_object (v))
        return s_wrong (d, path, v, "an object");
    const json_t *tag = json_object_get (v, type->tag_key);
    const char *word = json_string_value (tag);
    for (size_t i = 0; word && i < type->n_variants; i++) {
        const kc_variant_t *variant = &type->variants[i];
        if (strcmp (word, variant->tag) != 0)
            continue;
        void *object = kc_type_new (variant->type);
        kc_put_enum (out, 0, (unsigned)i + 1);
        kc_put_pointer (out, type->u_at, object);
        return s_object (d, variant->type, v, path, object);
    }
    char words[KC_ERRS_EXPECTED];
    int n = snprintf (words, sizeof words, "one of");
    for (size_t i = 0; i < type->n_variants && n > 0 && (size_t)n < sizeof words; i++)
        n += snprintf (words + n, sizeof words - (size_t)n, "%s %s", i ? "," : "",
                       type->variants[i].tag);
    kc_path_t down = {.up = path, .key = type->tag_key};
    if (!tag) {
        kc_path_fail (d->errs, KC_EINVALID, &down, "nothing", "%s", words);
        return false;
    }
    return s_wrong (d, &down, tag, words);
}

// One value into the memory at 'out': a scalar, an enum, a union, or the object itself
// (item of an array).
static bool s_value (decoder_t *d, const kc_field_t *f, const json_t *v,
                     const kc_path_t *path, void *out)
{
    switch (f->base) {
    case KC_BASE_STRING:
        return s_string (d, f, v, path, out);
    case KC_BASE_INTEGER:
        return s_integer (d, f, v, path, out);
    case KC_BASE_NUMBER:
        return s_number (d, f, v, path, out);
    case KC_BASE_BOOLEAN:
        return s_boolean (d, f, v, path, out);
    case KC_BASE_ENUM:
        return s_enum (d, f, v, path, out);
    case KC_BASE_UNION:
        return s_union (d, f->type, v, path, out);
    case KC_BASE_OBJECT:
        kc_type_init (f->type, out);
        return s_object (d, f->type, v, path, out);
    }
    return false;
}

static bool s_array (decoder_t *d, const kc_field_t *f, const json_t *v,
                     const kc_path_t *path, void *object)
{
    char words[64], found[32];
    if (!json_is_array (v))
        return s_wrong (d, path, v, "an array");
    size_t n = json_array_size (v);
    if (n < f->items_min || n > f->items_max) {
        if (f->items_min == 0)
            snprintf (words, sizeof words, "at most %zu items", f->items_max);
        else if (f->items_min == f->items_max)
            snprintf (words, sizeof words, "%zu items", f->items_max);
        else
            snprintf (words, sizeof words, "%zu to %zu items", f->items_min,
                      f->items_max);
        snprintf (found, sizeof found, "%zu", n);
        kc_path_fail (d->errs, KC_EINVALID, path, found, "%s", words);
        return false;
    }
    if (n == 0)
        return true;
    size_t step = kc_item_size (f), room = 1;
    while (room < n)
        room *= 2; // the room that kc_push expects
    char *items = kc_calloc (room, step);
    kc_put_pointer (object, f->at, items);
    memcpy ((char *)object + f->n_at, &n, sizeof n);
    bool good = true;
    for (size_t i = 0; i < n; i++) {
        kc_path_t down = {.up = path, .index = i};
        good = s_value (d, f, json_array_get (v, i), &down, items + i * step) && good;
    }
    return good;
}

// ---- objects ----

static bool s_field (decoder_t *d, const kc_field_t *f, const json_t *v,
                     const kc_path_t *path, void *object)
{
    char *at = (char *)object + f->at;
    // What the default put there goes first.
    if (!(f->flags & KC_FIELD_ARRAY) && f->base == KC_BASE_STRING) {
        free (kc_get_pointer (object, f->at));
        kc_put_pointer (object, f->at, NULL);
    }
    if (json_is_null (v) && (f->flags & KC_FIELD_NULLABLE)) {
        if (f->base == KC_BASE_ENUM && !(f->flags & KC_FIELD_ARRAY))
            kc_put_enum (object, f->at, 0);
        if (f->has_at != KC_NO_OFFSET) {
            kc_put_bool (object, f->has_at, false);
            memset (at, 0, kc_item_size (f));
        }
        return true;
    }
    if (f->flags & KC_FIELD_ARRAY)
        return s_array (d, f, v, path, object);
    if (f->base == KC_BASE_OBJECT) {
        if (!json_is_object (v))
            return s_wrong (d, path, v, "an object");
        void *nested = kc_type_new (f->type);
        kc_put_pointer (object, f->at, nested);
        return s_object (d, f->type, v, path, nested);
    }
    if (f->has_at != KC_NO_OFFSET)
        kc_put_bool (object, f->has_at, true);
    return s_value (d, f, v, path, at);
}

static size_t s_distance (const char *a, const char *b) // edits between two short words
{
    size_t row[NEAR_MAX + 1], m = strlen (b);
    for (size_t j = 0; j <= m; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t change = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            size_t least = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;
            row[j] = change < least ? change : least;
        }
    }
    return row[m];
}

static void s_unknown_key (decoder_t *d, const kc_type_t *type, const char *key,
                           const kc_path_t *path)
{
    const char *best = NULL;
    size_t best_distance = SIZE_MAX;
    for (size_t i = 0; i < type->n_fields && strlen (key) <= NEAR_MAX; i++) {
        const char *known = type->fields[i].name;
        size_t distance =
            strlen (known) <= NEAR_MAX ? s_distance (key, known) : SIZE_MAX;
        if (distance < best_distance) {
            best_distance = distance;
            best = known;
        }
    }
    char found[KC_ERRS_FOUND];
    kc_quote (key, strlen (key), found, sizeof found);
    kc_path_t down = {.up = path, .key = key};
    if (best && best_distance <= strlen (key) / 2)
        kc_path_fail (d->errs, KC_EINVALID, &down, found,
                      "a known key; did you mean \"%s\"?", best);
    else
        kc_path_fail (d->errs, KC_EINVALID, &down, found, "a known key of %s",
                      type->name);
}

static bool s_object (decoder_t *d, const kc_type_t *type, const json_t *v,
                      const kc_path_t *path, void *object)
{
    if (!json_is_object (v))
        return s_wrong (d, path, v, "an object");
    bool good = true;
    size_t known = 0;
    for (size_t i = 0; i < type->n_fields; i++) {
        const kc_field_t *f = &type->fields[i];
        const json_t *value = json_object_get (v, f->name);
        kc_path_t down = {.up = path, .key = f->name};
        if (value) {
            known++;
            good = s_field (d, f, value, &down, object) && good;
        }
        else if (f->flags & KC_FIELD_REQUIRED) {
            char words[KC_ERRS_EXPECTED];
            if (f->flags & KC_FIELD_ARRAY)
                snprintf (words, sizeof words, "an array");
            else
                kc_field_words (f, words, sizeof words);
            kc_path_fail (d->errs, KC_EINVALID, &down, "nothing", "%s", words);
            good = false;
        }
    }
    if (d->mode == KC_WIRE || known == json_object_size (v))
        return good;
    json_t *iterable = (json_t *)(uintptr_t)v; // jansson's iterator is not const
    for (void *it = json_object_iter (iterable); it;
         it = json_object_iter_next (iterable, it))
        if (!kc_type_field (type, json_object_iter_key (it)))
            s_unknown_key (d, type, json_object_iter_key (it), path);
    return false;
}

// ---- the document ----

// Nesting is counted on the bytes, because the parser itself recurses.
static size_t s_depth (const char *json, size_t size)
{
    size_t depth = 0, deepest = 0;
    bool text = false;
    for (size_t i = 0; i < size; i++) {
        char c = json[i];
        if (text && c == '\\')
            i++;
        else if (c == '"')
            text = !text;
        else if (!text && (c == '{' || c == '[') && ++depth > deepest)
            deepest = depth;
        else if (!text && (c == '}' || c == ']') && depth > 0)
            depth--;
    }
    return deepest;
}

static json_t *s_parse (decoder_t *d, const char *json, size_t size)
{
    char found[KC_ERRS_FOUND];
    if (size > KC_JSON_MAX) {
        snprintf (found, sizeof found, "%zu bytes", size);
        kc_path_fail (d->errs, KC_EINVALID, NULL, found, "at most %d bytes of JSON",
                      (int)KC_JSON_MAX);
        return NULL;
    }
    size_t depth = s_depth (json, size);
    if (depth > KC_JSON_DEPTH) {
        snprintf (found, sizeof found, "%zu", depth);
        kc_path_fail (d->errs, KC_EINVALID, NULL, found,
                      "at most %d objects and arrays inside each other",
                      (int)KC_JSON_DEPTH);
        return NULL;
    }
    json_error_t error;
    json_t *v = json_loadb (json, size, JSON_REJECT_DUPLICATES, &error);
    if (!v) {
        char *clean =
            kc_utf8_clean (error.text, strlen (error.text), KC_ERRS_FOUND / 4 * 3);
        snprintf (found, sizeof found, "%s", clean);
        free (clean);
        kc_path_fail (d->errs, KC_EINVALID, NULL, found,
                      "JSON; line %d, column %d is not", error.line, error.column);
    }
    return v;
}

void *kc_type_decode (const kc_type_t *type, const char *json, size_t size,
                      kc_mode_t mode, kc_errs_t *errs)
{
    kc_errs_t own;
    decoder_t d = {.mode = mode, .errs = errs ? errs : &own};
    kc_assert (type->base != KC_BASE_ENUM);
    memset (d.errs, 0, sizeof *d.errs);
    json_t *v = s_parse (&d, json, size);
    if (!v)
        return NULL;
    void *object = kc_type_new (type);
    kc_path_t root = {0};
    bool good = type->base == KC_BASE_UNION ? s_union (&d, type, v, &root, object)
                                            : s_object (&d, type, v, &root, object);
    json_decref (v);
    if (!good) {
        kc_type_free (type, object);
        return NULL;
    }
    return object;
}
