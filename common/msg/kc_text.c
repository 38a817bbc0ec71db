// kc_text.c - errors, pointers, UTF-8: the words of the codec

#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/msg/kc_tables.h"
#include "common/util/kc_buf.h"
#include "common/util/kc_mem.h"

enum { QUOTE_BYTES = 48, WORDS_VALUES = 24, PATH_PARTS = KC_JSON_DEPTH + 2 };

// ---- UTF-8 ----

// Bytes of the character at 'p', 0 when it is invalid: no overlong forms, no
// surrogates, at most U+10FFFF.
static size_t s_utf8_step (const unsigned char *p, size_t left)
{
    static const unsigned char s_least[] = {0, 0, 0, 0xA0,
                                            0x90}; // of the second byte after E0 and F0
    if (p[0] < 0x80)
        return 1;
    size_t n = p[0] >= 0xC2 && p[0] <= 0xDF   ? 2
               : (p[0] & 0xF0) == 0xE0        ? 3
               : p[0] >= 0xF0 && p[0] <= 0xF4 ? 4
                                              : 0;
    if (n == 0 || n > left)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xC0) != 0x80)
            return 0;
    if ((p[0] == 0xE0 || p[0] == 0xF0) && p[1] < s_least[n])
        return 0;
    if ((p[0] == 0xED && p[1] > 0x9F) || (p[0] == 0xF4 && p[1] > 0x8F))
        return 0;
    return n;
}

bool kc_utf8_valid (const char *text, size_t size)
{
    const unsigned char *p = (const unsigned char *)text;
    for (size_t i = 0; i < size;) {
        size_t n = p[i] ? s_utf8_step (p + i, size - i) : 0;
        if (n == 0)
            return false;
        i += n;
    }
    return true;
}

static size_t s_characters (const char *text, size_t size) // of valid UTF-8
{
    size_t n = 0;
    for (size_t i = 0; i < size; i++)
        n += ((unsigned char)text[i] & 0xC0) != 0x80;
    return n;
}

// Bytes of the terminal's escape sequence at 'p' (ESC): CSI and OSC to their end, else
// ESC and one byte.
static size_t s_escape (const unsigned char *p, size_t left)
{
    size_t i = 2;
    if (left < 2)
        return left;
    if (p[1] == '[') {
        while (i < left && p[i] >= 0x20 && p[i] <= 0x3F)
            i++;
        return i < left && p[i] >= 0x40 && p[i] <= 0x7E ? i + 1 : i;
    }
    if (p[1] == ']') {
        while (i < left && p[i] != 7 && p[i] != 27 && p[i] != '\n')
            i++;
        if (i < left && p[i] == 27 && i + 1 < left && p[i + 1] == '\\')
            return i + 2;
        return i < left && p[i] == 7 ? i + 1 : i;
    }
    return p[1] >= 0x20 && p[1] < 0x7F ? 2 : 1;
}

// The offset of character number 'n' of valid UTF-8.
static size_t s_offset (const char *text, size_t size, size_t n)
{
    size_t i = 0;
    for (; i < size; i++)
        if (((unsigned char)text[i] & 0xC0) != 0x80 && n-- == 0)
            break;
    return i;
}

char *kc_utf8_clean (const char *text, size_t size, size_t max)
{
    static const char s_bad[] = "\xEF\xBF\xBD", s_gap[] = " [...] ";
    const unsigned char *p = (const unsigned char *)text;
    kc_buf_t b = {0};
    for (size_t i = 0; i < size;) {
        if (p[i] == 27) {
            i += s_escape (p + i, size - i);
            continue;
        }
        size_t n = p[i] ? s_utf8_step (p + i, size - i) : 0;
        if (n == 0) {
            kc_buf_put (&b, s_bad, 3);
            i++;
            continue;
        }
        bool c1 = n == 2 && p[i] == 0xC2 && p[i + 1] < 0xA0; // U+0080 to U+009F
        if (p[i] == '\r' && (i + 1 == size || p[i + 1] != '\n'))
            kc_buf_putc (&b, '\n');
        else if ((p[i] >= 32 && p[i] != 127 && !c1) || p[i] == '\t' || p[i] == '\n')
            kc_buf_put (&b, text + i, n);
        i += n;
    }
    size_t have = s_characters (kc_buf_str (&b), b.size);
    if (max > 0 && have > max) {
        size_t gap = max > 2 * (sizeof s_gap - 1) ? sizeof s_gap - 1 : 0;
        size_t head = (max - gap) * 2 / 3, tail = max - gap - head;
        if (gap == 0) {
            head = max;
            tail = 0;
        }
        kc_buf_t cut = {0};
        kc_buf_put (&cut, b.data, s_offset (b.data, b.size, head));
        kc_buf_put (&cut, s_gap, gap);
        size_t from = s_offset (b.data, b.size, have - tail);
        kc_buf_put (&cut, b.data + from, b.size - from);
        kc_buf_free (&b);
        b = cut;
    }
    return kc_buf_take (&b);
}

char *kc_json_pretty (const char *json, size_t size)
{
    if (size > KC_JSON_MAX)
        return NULL;
    json_t *v = json_loadb (json, size, JSON_DECODE_ANY, NULL);
    char *dumped =
        v ? json_dumps (v, JSON_INDENT (2) | JSON_ENCODE_ANY | JSON_REAL_PRECISION (15))
          : NULL;
    json_decref (v);
    char *text = kc_strdup (dumped); // one allocator for callers
    free (dumped);
    return text;
}

// ---- errors ----

static void s_copy (char *out, size_t room, const char *text, size_t size)
{
    size_t n = size < room ? size : room - 1;
    while (n > 0 && n < size && ((unsigned char)text[n] & 0xC0) == 0x80)
        n--; // never half a character
    memcpy (out, text, n);
    out[n] = 0;
}

void kc_errs_add (kc_errs_t *errs, kc_code_t code, const char *pointer,
                  const char *expected, const char *found)
{
    if (!errs)
        return;
    if (errs->code == KC_OK)
        errs->code = code;
    if (errs->n == KC_ERRS_MAX) {
        errs->more++;
        return;
    }
    kc_errs_item_t *e = &errs->item[errs->n++];
    s_copy (e->pointer, sizeof e->pointer, pointer, strlen (pointer));
    s_copy (e->expected, sizeof e->expected, expected, strlen (expected));
    s_copy (e->found, sizeof e->found, found, strlen (found));
}

static void s_put_line (kc_buf_t *b, const kc_errs_item_t *e)
{
    kc_buf_printf (b, "%s: expected %s, found %s",
                   e->pointer[0] ? e->pointer : "the document", e->expected, e->found);
}

char *kc_errs_text (const kc_errs_t *errs)
{
    kc_buf_t b = {0};
    for (size_t i = 0; i < errs->n; i++) {
        if (i)
            kc_buf_putc (&b, '\n');
        s_put_line (&b, &errs->item[i]);
    }
    if (errs->more)
        kc_buf_printf (&b, "\nand %zu more", errs->more);
    return kc_buf_take (&b);
}

int kc_errs_fail (const kc_errs_t *errs, kc_err_t *err)
{
    char *text = kc_errs_text (errs);
    for (char *p = text; *p; p++)
        if (*p == '\n')
            *p = ';';
    kc_fail (err, errs->code == KC_OK ? KC_EINVALID : errs->code, "%s", text);
    free (text);
    return -1;
}

void kc_path_text (const kc_path_t *path, char *out, size_t room)
{
    const kc_path_t *parts[PATH_PARTS];
    size_t n = 0;
    for (; path && path->up && n < PATH_PARTS; path = path->up)
        parts[n++] = path;
    kc_buf_t b = {0};
    while (n-- > 0) {
        kc_buf_putc (&b, '/');
        if (!parts[n]->key)
            kc_buf_printf (&b, "%zu", parts[n]->index);
        for (const char *p = parts[n]->key; p && *p; p++) {
            if (*p == '~' || *p == '/')
                kc_buf_puts (&b, *p == '~' ? "~0" : "~1");
            else
                kc_buf_putc (&b, *p);
        }
    }
    if (b.size < room)
        s_copy (out, room, kc_buf_str (&b), b.size);
    else { // the end of the place is what helps
        const char *tail = b.data + (b.size - (room - 4));
        while (((unsigned char)*tail & 0xC0) == 0x80)
            tail++;
        snprintf (out, room, "...%s", tail);
    }
    kc_buf_free (&b);
}

void kc_path_fail (kc_errs_t *errs, kc_code_t code, const kc_path_t *path,
                   const char *found, const char *expected, ...)
{
    char pointer[KC_ERRS_POINTER] = "", text[KC_ERRS_EXPECTED];
    if (!errs || errs->n == KC_ERRS_MAX) {
        kc_errs_add (errs, code, "", "", "");
        return;
    }
    kc_path_text (path, pointer, sizeof pointer);
    va_list args;
    va_start (args, expected);
    vsnprintf (text, sizeof text, expected, args);
    va_end (args);
    size_t end = strlen (text); // vsnprintf may have cut a character
    while (end > 0 && !kc_utf8_valid (text, end))
        end--;
    text[end] = 0;
    kc_errs_add (errs, code, pointer, text, found);
}

void kc_quote (const char *text, size_t size, char *out, size_t room)
{
    char *clean = kc_utf8_clean (text, size < 4 * QUOTE_BYTES ? size : 4 * QUOTE_BYTES,
                                 QUOTE_BYTES);
    for (char *p = clean; *p; p++)
        if (*p == '\n' || *p == '\t')
            *p = ' ';
    char line[6 * QUOTE_BYTES];
    snprintf (line, sizeof line, "\"%s\"", clean);
    s_copy (out, room, line, strlen (line));
    free (clean);
}

// ---- what a field allows, in words ----

static void s_enum_words (const kc_type_t *type, char *out, size_t room)
{
    kc_buf_t b = {0};
    kc_buf_puts (&b, "one of ");
    for (size_t i = 0; i < type->n_values && i < WORDS_VALUES; i++)
        kc_buf_printf (&b, "%s%s", i ? ", " : "", type->values[i]);
    if (type->n_values > WORDS_VALUES)
        kc_buf_printf (&b, " (and %zu more)", type->n_values - WORDS_VALUES);
    s_copy (out, room, kc_buf_str (&b), b.size);
    kc_buf_free (&b);
}

static void s_number_words (const char *what, const kc_field_t *f, const char *lo,
                            const char *hi, char *out, size_t room)
{
    bool has_lo = f->flags & KC_FIELD_MIN, has_hi = f->flags & KC_FIELD_MAX;
    if (has_lo && has_hi)
        snprintf (out, room, "%s from %s to %s", what, lo, hi);
    else if (has_lo)
        snprintf (out, room, "%s of at least %s", what, lo);
    else if (has_hi)
        snprintf (out, room, "%s of at most %s", what, hi);
    else
        snprintf (out, room, "%s", what);
}

static void s_string_words (const kc_field_t *f, char *out, size_t room)
{
    static const char *const s_kinds[] = {
        "a string", "a name (letters, digits and _, no digit first)", "an expression",
        "a SHA-256 of 64 lower-case hex digits",
        "an id (letters, digits and . _ : @ / + -)"};
    if (f->kind == KC_TEXT_SHA256)
        snprintf (out, room, "%s", s_kinds[f->kind]);
    else if (f->length_min == f->length_max)
        snprintf (out, room, "%s of %zu characters", s_kinds[f->kind], f->length_max);
    else if (f->length_min > 0)
        snprintf (out, room, "%s of %zu to %zu characters", s_kinds[f->kind],
                  f->length_min, f->length_max);
    else
        snprintf (out, room, "%s of at most %zu characters", s_kinds[f->kind],
                  f->length_max);
}

void kc_field_words (const kc_field_t *f, char *out, size_t room)
{
    char lo[32], hi[32];
    switch (f->base) {
    case KC_BASE_STRING:
        if (f->flags & KC_FIELD_CONST)
            snprintf (out, room, "\"%s\"", f->value_string);
        else
            s_string_words (f, out, room);
        break;
    case KC_BASE_INTEGER:
        snprintf (lo, sizeof lo, "%" PRId64, f->int_min);
        snprintf (hi, sizeof hi, "%" PRId64, f->int_max);
        if (f->flags & KC_FIELD_CONST)
            snprintf (out, room, "%" PRId64, f->value_int);
        else
            s_number_words ("an integer", f, lo, hi, out, room);
        break;
    case KC_BASE_NUMBER:
        snprintf (lo, sizeof lo, "%g", f->num_min);
        snprintf (hi, sizeof hi, "%g", f->num_max);
        s_number_words ("a number", f, lo, hi, out, room);
        break;
    case KC_BASE_BOOLEAN:
        snprintf (out, room, "%s",
                  !(f->flags & KC_FIELD_CONST) ? "true or false"
                  : f->value_int               ? "true"
                                               : "false");
        break;
    case KC_BASE_ENUM:
        s_enum_words (f->type, out, room);
        break;
    case KC_BASE_OBJECT:
    case KC_BASE_UNION:
        snprintf (out, room, "an object");
        break;
    }
}

static bool s_letter (char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool s_digit (char c)
{
    return c >= '0' && c <= '9';
}

static bool s_kind_fits (kc_text_kind_t kind, const char *text, size_t size)
{
    switch (kind) {
    case KC_TEXT_PLAIN:
    case KC_TEXT_EXPR:
        return true;
    case KC_TEXT_SHA256:
        for (size_t i = 0; i < size; i++)
            if (!s_digit (text[i]) && (text[i] < 'a' || text[i] > 'f'))
                return false;
        return size == 64;
    case KC_TEXT_NAME:
        for (size_t i = 0; i < size; i++)
            if (!s_letter (text[i]) && text[i] != '_' && (i == 0 || !s_digit (text[i])))
                return false;
        return size > 0;
    case KC_TEXT_ID:
        for (size_t i = 0; i < size; i++)
            if (!s_letter (text[i]) && !s_digit (text[i])
                && !strchr ("._:@/+-", text[i]))
                return false;
        return size > 0;
    }
    return false;
}

bool kc_string_wrong (const kc_field_t *f, const char *text, size_t size, char *out,
                      size_t room)
{
    bool wrong;
    if (f->flags & KC_FIELD_CONST)
        wrong = strlen (f->value_string) != size
                || memcmp (text, f->value_string, size) != 0;
    else {
        size_t n = s_characters (text, size);
        wrong = n < f->length_min || n > f->length_max
                || !s_kind_fits (f->kind, text, size);
    }
    if (wrong)
        kc_field_words (f, out, room);
    return wrong;
}
