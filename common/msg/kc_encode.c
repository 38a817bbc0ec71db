/* kc_encode.c - objects into canonical JSON
 *
 * The tables hold the keys in sorted order, so the text is written in one pass and
 * nothing is built first. Every rule is checked on the way; a fault is a defect of the
 * caller and names the field.
 */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/msg/kc_tables.h"
#include "common/util/kc_buf.h"
#include "common/util/kc_log.h"
#include "common/util/kc_mem.h"

typedef struct encoder {
    kc_buf_t out;
    kc_errs_t *errs;
    unsigned depth;
} encoder_t;

static bool s_object (encoder_t *e, const kc_type_t *type, const void *object,
                      const kc_path_t *path);

static bool s_wrong (encoder_t *e, const kc_path_t *path, const char *found,
                     const kc_field_t *f)
{
    char words[KC_ERRS_EXPECTED];
    kc_field_words (f, words, sizeof words);
    kc_path_fail (e->errs, KC_EINTERNAL, path, found, "%s", words);
    return false;
}

// ---- values ----

// The shortest text that reads back as the same double, made a real where an integer
// would read differently.
static void s_put_double (kc_buf_t *b, double x)
{
    char text[40];
    // 15 digits hold every normal double that needs no more; only subnormal ones may
    // need fewer.
    for (int digits = fabs (x) < DBL_MIN ? 1 : 15; digits <= 17; digits++) {
        snprintf (text, sizeof text, "%.*g", digits, x);
        double back = strtod (text, NULL);
        if (memcmp (&back, &x, sizeof x) == 0)
            break;
    }
    kc_buf_puts (b, text);
    // A parser reads "-0" as the integer 0, and digits alone as an integer that may not
    // fit in 64 bits.
    if (!strpbrk (text, ".e") && (strcmp (text, "-0") == 0 || fabs (x) >= 0x1p53))
        kc_buf_puts (b, ".0");
}

static bool s_string (encoder_t *e, const kc_field_t *f, const char *text,
                      const kc_path_t *path)
{
    char words[KC_ERRS_EXPECTED], found[KC_ERRS_FOUND];
    if (!text)
        return s_wrong (e, path, "nothing (NULL)", f);
    size_t size = strlen (text);
    if (!kc_utf8_valid (text, size)) {
        kc_path_fail (e->errs, KC_EINTERNAL, path, "other bytes",
                      "valid UTF-8 (kc_utf8_clean makes it)");
        return false;
    }
    if (kc_string_wrong (f, text, size, words, sizeof words)) {
        kc_quote (text, size, found, sizeof found);
        kc_path_fail (e->errs, KC_EINTERNAL, path, found, "%s", words);
        return false;
    }
    kc_buf_putc (&e->out, '"');
    kc_buf_json (&e->out, text, size);
    kc_buf_putc (&e->out, '"');
    return true;
}

static bool s_integer (encoder_t *e, const kc_field_t *f, const void *at,
                       const kc_path_t *path)
{
    int64_t x;
    char found[KC_ERRS_FOUND];
    memcpy (&x, at, sizeof x);
    if (((f->flags & KC_FIELD_MIN) && x < f->int_min)
        || ((f->flags & KC_FIELD_MAX) && x > f->int_max)
        || ((f->flags & KC_FIELD_CONST) && x != f->value_int)) {
        snprintf (found, sizeof found, "%" PRId64, x);
        return s_wrong (e, path, found, f);
    }
    kc_buf_printf (&e->out, "%" PRId64, x);
    return true;
}

static bool s_number (encoder_t *e, const kc_field_t *f, const void *at,
                      const kc_path_t *path)
{
    double x;
    char found[KC_ERRS_FOUND];
    memcpy (&x, at, sizeof x);
    if (!isfinite (x) || ((f->flags & KC_FIELD_MIN) && x < f->num_min)
        || ((f->flags & KC_FIELD_MAX) && x > f->num_max)) {
        snprintf (found, sizeof found, "%.15g", x);
        return s_wrong (e, path, found, f);
    }
    s_put_double (&e->out, x);
    return true;
}

static bool s_union (encoder_t *e, const kc_type_t *type, const void *at,
                     const kc_path_t *path)
{
    unsigned kind = kc_get_enum (at, 0);
    const void *object = kc_get_pointer (at, type->u_at);
    char found[KC_ERRS_FOUND];
    if (kind < 1 || kind > type->n_variants || !object) {
        snprintf (found, sizeof found, "kind %u%s", kind,
                  object ? "" : " without an object");
        kc_path_fail (e->errs, KC_EINTERNAL, path, found, "a kind of %s and its object",
                      type->name);
        return false;
    }
    return s_object (e, type->variants[kind - 1].type, object, path);
}

static bool s_value (encoder_t *e, const kc_field_t *f, const void *at,
                     const kc_path_t *path)
{
    char found[KC_ERRS_FOUND];
    switch (f->base) {
    case KC_BASE_STRING:
        return s_string (e, f, kc_get_pointer (at, 0), path);
    case KC_BASE_INTEGER:
        return s_integer (e, f, at, path);
    case KC_BASE_NUMBER:
        return s_number (e, f, at, path);
    case KC_BASE_BOOLEAN:
        if ((f->flags & KC_FIELD_CONST) && kc_get_bool (at, 0) != (f->value_int != 0))
            return s_wrong (e, path, kc_get_bool (at, 0) ? "true" : "false", f);
        kc_buf_puts (&e->out, kc_get_bool (at, 0) ? "true" : "false");
        return true;
    case KC_BASE_ENUM:
        if (!*kc_enum_name (f->type, kc_get_enum (at, 0))) {
            snprintf (found, sizeof found,
                      kc_get_enum (at, 0) ? "value %u" : "UNSET (%u)",
                      kc_get_enum (at, 0));
            return s_wrong (e, path, found, f);
        }
        kc_buf_putc (&e->out, '"');
        kc_buf_json (&e->out, kc_enum_name (f->type, kc_get_enum (at, 0)),
                     strlen (kc_enum_name (f->type, kc_get_enum (at, 0))));
        kc_buf_putc (&e->out, '"');
        return true;
    case KC_BASE_UNION:
        return s_union (e, f->type, at, path);
    case KC_BASE_OBJECT:
        return s_object (e, f->type, at, path);
    }
    return false;
}

static bool s_array (encoder_t *e, const kc_field_t *f, const void *object,
                     const kc_path_t *path)
{
    size_t n = kc_get_size (object, f->n_at), step = kc_item_size (f);
    const char *items = kc_get_pointer (object, f->at);
    char found[KC_ERRS_FOUND];
    if (n < f->items_min || n > f->items_max || (n > 0 && !items)) {
        snprintf (found, sizeof found, "%zu%s", n,
                  items || n == 0 ? "" : " without memory");
        kc_path_fail (e->errs, KC_EINTERNAL, path, found, "%zu to %zu items",
                      f->items_min, f->items_max);
        return false;
    }
    bool good = true;
    kc_buf_putc (&e->out, '[');
    for (size_t i = 0; i < n; i++) {
        kc_path_t down = {.up = path, .index = i};
        if (i)
            kc_buf_putc (&e->out, ',');
        good = s_value (e, f, items + i * step, &down) && good;
    }
    kc_buf_putc (&e->out, ']');
    return good;
}

// ---- objects ----

// Whether a property that is not required may be left out, which is what absence means.
static bool s_absent (const kc_field_t *f, const void *object)
{
    if (!kc_field_present (f, object))
        return true;
    double x;
    bool scalar = f->base == KC_BASE_NUMBER && !(f->flags & KC_FIELD_ARRAY);
    return scalar && f->has_at != KC_NO_OFFSET && kc_field_number (f, object, &x)
           && !isfinite (x);
}

static bool s_field (encoder_t *e, const kc_field_t *f, const void *object,
                     const kc_path_t *path)
{
    const char *at = (const char *)object + f->at;
    if (s_absent (f, object)) {
        bool array = f->flags & KC_FIELD_ARRAY;
        if ((f->flags & KC_FIELD_NULLABLE) && !(array && f->items_min == 0)) {
            kc_buf_puts (&e->out, "null");
            return true;
        }
        if (!array && f->base == KC_BASE_STRING && (f->flags & KC_FIELD_CONST))
            return s_string (e, f, f->value_string,
                             path); // nothing else could stand there
        if (!array && f->base == KC_BASE_OBJECT) {
            kc_path_fail (e->errs, KC_EINTERNAL, path, "nothing (NULL)", "an object");
            return false;
        }
    }
    if (f->flags & KC_FIELD_ARRAY)
        return s_array (e, f, object, path);
    return f->base == KC_BASE_OBJECT
               ? s_object (e, f->type, kc_get_pointer (object, f->at), path)
               : s_value (e, f, at, path);
}

static bool s_object (encoder_t *e, const kc_type_t *type, const void *object,
                      const kc_path_t *path)
{
    bool good = true, first = true;
    if (++e->depth > KC_JSON_DEPTH) { // types do not recurse, so this is a schema too
                                      // deep for the decoder
        kc_path_fail (e->errs, KC_EINTERNAL, path, "more",
                      "at most %d objects inside each other", (int)KC_JSON_DEPTH);
        e->depth--;
        return false;
    }
    kc_buf_putc (&e->out, '{');
    for (size_t i = 0; i < type->n_fields; i++) {
        const kc_field_t *f = &type->fields[type->sorted[i]];
        // A nullable with a default must say null, or the reader would put the default
        // there.
        bool must =
            (f->flags & KC_FIELD_REQUIRED)
            || ((f->flags & KC_FIELD_NULLABLE) && (f->flags & KC_FIELD_DEFAULT));
        if (!must && s_absent (f, object))
            continue;
        if (!first)
            kc_buf_putc (&e->out, ',');
        first = false;
        kc_buf_printf (&e->out, "\"%s\":", f->name); // keys are identifiers
        kc_path_t down = {.up = path, .key = f->name};
        good = s_field (e, f, object, &down) && good;
    }
    kc_buf_putc (&e->out, '}');
    e->depth--;
    return good;
}

char *kc_type_encode (const kc_type_t *type, const void *object, size_t *size_p,
                      kc_errs_t *errs)
{
    kc_errs_t own;
    encoder_t e = {.errs = errs ? errs : &own};
    memset (e.errs, 0, sizeof *e.errs);
    kc_path_t root = {0};
    kc_assert (type->base != KC_BASE_ENUM);
    if (size_p)
        *size_p = 0;
    bool good = false;
    if (!object)
        kc_path_fail (e.errs, KC_EINTERNAL, &root, "nothing (NULL)",
                      "an object of type %s", type->name);
    else if (type->base == KC_BASE_UNION)
        good = s_union (&e, type, object, &root);
    else
        good = s_object (&e, type, object, &root);
    if (good && e.out.size > KC_JSON_MAX) {
        char found[KC_ERRS_FOUND];
        snprintf (found, sizeof found, "%zu bytes", e.out.size);
        kc_path_fail (e.errs, KC_EINTERNAL, &root, found, "at most %d bytes of JSON",
                      (int)KC_JSON_MAX);
        good = false;
    }
    if (good) {
        if (size_p)
            *size_p = e.out.size;
        return kc_buf_take (&e.out);
    }
    kc_buf_free (&e.out);
    if (!errs)
        kc_log (KC_ERROR, "codec.refused", "type", "s", type->name, "at", "s",
                own.item[0].pointer, "expected", "s", own.item[0].expected, "found",
                "s", own.item[0].found, NULL);
    return NULL;
}

int kc_type_check (const kc_type_t *type, const void *object, kc_errs_t *errs)
{
    kc_errs_t own;
    char *text = kc_type_encode (type, object, NULL, errs ? errs : &own);
    free (text);
    return text ? 0 : -1;
}

int kc_type_hash (const kc_type_t *type, const void *object, char hex[KC_SHA_HEX])
{
    size_t size;
    char *text = kc_type_encode (type, object, &size, NULL);
    hex[0] = 0;
    if (!text)
        return -1;
    kc_sha256_hex (text, size, hex);
    free (text);
    return 0;
}

bool kc_type_equal (const kc_type_t *type, const void *a, const void *b)
{
    if (!a || !b)
        return a == b;
    char *x = kc_type_encode (type, a, NULL, NULL),
         *y = kc_type_encode (type, b, NULL, NULL);
    bool equal = x && y && strcmp (x, y) == 0;
    free (x);
    free (y);
    return equal;
}
