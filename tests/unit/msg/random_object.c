// random_object.c - see random_object.h; values sit on the bounds more often than
// between them

#include "random_object.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/msg/kc_tables.h"
#include "common/util/kc_buf.h"
#include "common/util/kc_mem.h"

enum { MOST_ITEMS = 3, MOST_CHARACTERS = 24 };

uint64_t random_next (uint64_t *state) // splitmix64
{
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static size_t s_below (uint64_t *state, size_t n)
{
    return (size_t)(random_next (state) % n);
}

static size_t s_between (uint64_t *state, size_t lo, size_t hi, size_t room)
{
    if (hi - lo > room)
        hi = lo + room;
    return lo + s_below (state, hi - lo + 1);
}

static char *s_string (const kc_field_t *f, uint64_t *state)
{
    static const char *const s_plain[] = {"a",  "Z",    " ", "\"", "\\", "/",    "\n",
                                          "\t", "\x01", "é", "€",  "😀",  "\x7f", "'"};
    static const char s_name[] = "abcXYZ_0123";
    static const char s_id[] = "abcXYZ0123._:@/+-";
    static const char s_hex[] = "0123456789abcdef";
    if (f->flags & KC_FIELD_CONST)
        return kc_strdup (f->value_string);
    size_t lo = f->length_min == 0 && f->kind != KC_TEXT_PLAIN && f->length_max > 0
                    ? 1
                    : f->length_min;
    size_t n = f->kind == KC_TEXT_SHA256
                   ? 64
                   : s_between (state, lo, f->length_max, MOST_CHARACTERS);
    kc_buf_t b = {0};
    for (size_t i = 0; i < n; i++) {
        if (f->kind == KC_TEXT_SHA256)
            kc_buf_putc (&b, s_hex[s_below (state, 16)]);
        else if (f->kind == KC_TEXT_NAME)
            kc_buf_putc (&b, s_name[s_below (state, i ? sizeof s_name - 1 : 7)]);
        else if (f->kind == KC_TEXT_ID)
            kc_buf_putc (&b, s_id[s_below (state, sizeof s_id - 1)]);
        else
            kc_buf_puts (&b, s_plain[s_below (state, KC_COUNT (s_plain))]);
    }
    return kc_buf_take (&b);
}

static int64_t s_integer (const kc_field_t *f, uint64_t *state)
{
    int64_t lo = f->flags & KC_FIELD_MIN ? f->int_min : INT64_MIN,
            hi = f->flags & KC_FIELD_MAX ? f->int_max : INT64_MAX;
    if (f->flags & KC_FIELD_CONST)
        return f->value_int;
    uint64_t width = (uint64_t)hi - (uint64_t)lo;
    switch (s_below (state, 4)) {
    case 0:
        return lo;
    case 1:
        return hi;
    default:
        return (int64_t)((uint64_t)lo
                         + (width == UINT64_MAX ? random_next (state)
                                                : random_next (state) % (width + 1)));
    }
}

static double s_number (const kc_field_t *f, uint64_t *state)
{
    static const double s_some[] = {0,
                                    -0.0,
                                    1,
                                    -1,
                                    0.1,
                                    1e-7,
                                    5e-324,
                                    1.7976931348623157e308,
                                    9007199254740993.0,
                                    1e15,
                                    123456.789,
                                    -2.5};
    double lo = f->flags & KC_FIELD_MIN ? f->num_min : -INFINITY,
           hi = f->flags & KC_FIELD_MAX ? f->num_max : INFINITY;
    for (int tries = 0; tries < 8; tries++) {
        double x;
        uint64_t bits = random_next (state);
        if (s_below (state, 2))
            x = s_some[s_below (state, KC_COUNT (s_some))];
        else
            memcpy (&x, &bits, sizeof x);
        if (isfinite (x) && x >= lo && x <= hi)
            return x;
    }
    return isfinite (lo) ? lo : isfinite (hi) ? hi : 0.5;
}

static void s_union (const kc_type_t *type, void *out, uint64_t *state)
{
    size_t i = s_below (state, type->n_variants);
    kc_put_enum (out, 0, (unsigned)i + 1);
    kc_put_pointer (out, type->u_at, random_object (type->variants[i].type, state));
}

static void s_fill (const kc_type_t *type, void *object, uint64_t *state);

static void s_value (const kc_field_t *f, void *out, uint64_t *state)
{
    int64_t whole;
    double x;
    switch (f->base) {
    case KC_BASE_STRING:
        free (kc_get_pointer (out, 0));
        kc_put_pointer (out, 0, s_string (f, state));
        break;
    case KC_BASE_INTEGER:
        whole = s_integer (f, state);
        memcpy (out, &whole, sizeof whole);
        break;
    case KC_BASE_NUMBER:
        x = s_number (f, state);
        memcpy (out, &x, sizeof x);
        break;
    case KC_BASE_BOOLEAN:
        kc_put_bool (out, 0,
                     f->flags & KC_FIELD_CONST ? f->value_int != 0
                                               : s_below (state, 2) != 0);
        break;
    case KC_BASE_ENUM:
        kc_put_enum (out, 0, (unsigned)s_below (state, f->type->n_values) + 1);
        break;
    case KC_BASE_UNION:
        s_union (f->type, out, state);
        break;
    case KC_BASE_OBJECT:
        kc_type_init (f->type, out);
        s_fill (f->type, out, state);
        break;
    }
}

static void s_array (const kc_field_t *f, void *object, uint64_t *state)
{
    size_t n = s_between (state, f->items_min, f->items_max, MOST_ITEMS);
    void *items = NULL;
    size_t have = 0;
    for (size_t i = 0; i < n; i++)
        s_value (f, kc_push (&items, &have, kc_item_size (f)), state);
    kc_put_pointer (object, f->at, items);
    memcpy ((char *)object + f->n_at, &have, sizeof have);
}

static void s_fill (const kc_type_t *type, void *object, uint64_t *state)
{
    for (size_t i = 0; i < type->n_fields; i++) {
        const kc_field_t *f = &type->fields[i];
        void *at = (char *)object + f->at;
        bool nullable = f->flags & KC_FIELD_NULLABLE;
        if ((!(f->flags & KC_FIELD_REQUIRED) || nullable) && s_below (state, 3) == 0)
            continue; // keeps its default, or stays absent
        if (f->has_at != KC_NO_OFFSET)
            kc_put_bool (object, f->has_at, !nullable || s_below (state, 4) != 0);
        if (f->flags & KC_FIELD_ARRAY)
            s_array (f, object, state);
        else if (f->base == KC_BASE_OBJECT)
            kc_put_pointer (object, f->at, random_object (f->type, state));
        else
            s_value (f, at, state);
        if (f->has_at != KC_NO_OFFSET && !kc_get_bool (object, f->has_at))
            memset (at, 0, kc_item_size (f));
    }
}

void *random_object (const kc_type_t *type, uint64_t *state)
{
    void *object = kc_type_new (type);
    if (type->base == KC_BASE_UNION)
        s_union (type, object, state);
    else
        s_fill (type, object, state);
    return object;
}
