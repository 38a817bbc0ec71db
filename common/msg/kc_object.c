// kc_object.c - objects in memory by their tables: make, clear, copy; look up types and
// properties

#include <stdlib.h>

#include "common/msg/kc_tables.h"
#include "common/util/kc_mem.h"

// ---- types ----

const kc_type_t *kc_type_find (const char *name)
{
    size_t lo = 0, hi = kc_registry.n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int order = strcmp (name, kc_registry.types[mid]->name);
        if (order == 0)
            return kc_registry.types[mid];
        if (order < 0)
            hi = mid;
        else
            lo = mid + 1;
    }
    return NULL;
}

size_t kc_type_count (void)
{
    return kc_registry.n;
}

const kc_type_t *kc_type_at (size_t i)
{
    kc_assert (i < kc_registry.n);
    return kc_registry.types[i];
}

const kc_field_t *kc_type_field (const kc_type_t *type, const char *key)
{
    size_t lo = 0, hi = type->n_fields;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        const kc_field_t *f = &type->fields[type->sorted[mid]];
        int order = strcmp (key, f->name);
        if (order == 0)
            return f;
        if (order < 0)
            hi = mid;
        else
            lo = mid + 1;
    }
    return NULL;
}

const char *kc_enum_name (const kc_type_t *type, unsigned value)
{
    return value >= 1 && value <= type->n_values ? type->values[value - 1] : "";
}

unsigned kc_enum_parse (const kc_type_t *type, const char *name)
{
    for (size_t i = 0; name && i < type->n_values; i++)
        if (strcmp (type->values[i], name) == 0)
            return (unsigned)i + 1;
    return 0;
}

size_t kc_item_size (const kc_field_t *f)
{
    switch (f->base) {
    case KC_BASE_STRING:
        return sizeof (char *);
    case KC_BASE_INTEGER:
        return sizeof (int64_t);
    case KC_BASE_NUMBER:
        return sizeof (double);
    case KC_BASE_BOOLEAN:
        return sizeof (bool);
    case KC_BASE_ENUM:
    case KC_BASE_OBJECT:
    case KC_BASE_UNION:
        return f->type->size;
    }
    return 0;
}

// ---- make ----

static void s_init_field (const kc_field_t *f, void *object)
{
    switch (f->base) {
    case KC_BASE_STRING:
        kc_put_pointer (object, f->at, kc_strdup (f->value_string));
        break;
    case KC_BASE_INTEGER:
        memcpy ((char *)object + f->at, &f->value_int, sizeof f->value_int);
        break;
    case KC_BASE_NUMBER:
        memcpy ((char *)object + f->at, &f->value_num, sizeof f->value_num);
        break;
    case KC_BASE_BOOLEAN:
        kc_put_bool (object, f->at, f->value_int != 0);
        break;
    case KC_BASE_ENUM:
        kc_put_enum (object, f->at, (unsigned)f->value_int);
        break;
    case KC_BASE_OBJECT:
    case KC_BASE_UNION:
        break; // have neither default nor const
    }
    // An optional const is absent until somebody says otherwise, so has_x stays false
    // for it.
    if (f->has_at != KC_NO_OFFSET && (f->flags & KC_FIELD_DEFAULT))
        kc_put_bool (object, f->has_at, true);
}

void kc_type_init (const kc_type_t *type, void *object)
{
    for (size_t i = 0; i < type->n_fields; i++) {
        const kc_field_t *f = &type->fields[i];
        bool constant = (f->flags & KC_FIELD_CONST) && (f->flags & KC_FIELD_REQUIRED);
        if (constant || (f->flags & KC_FIELD_DEFAULT))
            s_init_field (f, object);
    }
}

void *kc_type_new (const kc_type_t *type)
{
    void *object = kc_calloc (1, type->size);
    kc_type_init (type, object);
    return object;
}

// ---- clear ----

static void s_clear_union (const kc_type_t *type, void *value)
{
    unsigned kind = kc_get_enum (value, 0);
    if (kind >= 1 && kind <= type->n_variants)
        kc_type_free (type->variants[kind - 1].type,
                      kc_get_pointer (value, type->u_at));
}

static void s_clear_array (const kc_field_t *f, void *object)
{
    size_t n = kc_get_size (object, f->n_at), step = kc_item_size (f);
    char *items = kc_get_pointer (object, f->at);
    for (size_t i = 0; items && i < n; i++) {
        if (f->base == KC_BASE_STRING)
            free (kc_get_pointer (items, i * step));
        else if (f->base == KC_BASE_OBJECT)
            kc_type_clear (f->type, items + i * step);
        else if (f->base == KC_BASE_UNION)
            s_clear_union (f->type, items + i * step);
    }
    free (items);
}

void kc_type_clear (const kc_type_t *type, void *object)
{
    if (type->base == KC_BASE_UNION)
        s_clear_union (type, object);
    for (size_t i = 0; i < type->n_fields; i++) {
        const kc_field_t *f = &type->fields[i];
        if (f->flags & KC_FIELD_ARRAY)
            s_clear_array (f, object);
        else if (f->base == KC_BASE_STRING)
            free (kc_get_pointer (object, f->at));
        else if (f->base == KC_BASE_OBJECT)
            kc_type_free (f->type, kc_get_pointer (object, f->at));
        else if (f->base == KC_BASE_UNION)
            s_clear_union (f->type, (char *)object + f->at);
    }
    memset (object, 0, type->size);
}

void kc_type_free (const kc_type_t *type, void *object)
{
    if (!object)
        return;
    kc_type_clear (type, object);
    free (object);
}

// ---- copy ----

static void s_copy_union (const kc_type_t *type, void *to)
{
    unsigned kind = kc_get_enum (to, 0);
    if (kind >= 1 && kind <= type->n_variants)
        kc_put_pointer (to, type->u_at,
                        kc_type_dup (type->variants[kind - 1].type,
                                     kc_get_pointer (to, type->u_at)));
}

// 'to' is a flat copy; give it its own memory below.
static void s_deepen (const kc_type_t *type, void *to);

static void s_copy_array (const kc_field_t *f, void *to)
{
    size_t n = kc_get_size (to, f->n_at), step = kc_item_size (f);
    const char *from = kc_get_pointer (to, f->at);
    if (n == 0 || !from) {
        kc_put_pointer (to, f->at, NULL);
        return;
    }
    // kc_push doubles at powers of two: keep the room it expects for n elements.
    size_t room = 1;
    while (room < n)
        room *= 2;
    char *items = kc_calloc (room, step);
    memcpy (items, from, n * step);
    for (size_t i = 0; i < n; i++) {
        if (f->base == KC_BASE_STRING)
            kc_put_pointer (items, i * step,
                            kc_strdup (kc_get_pointer (items, i * step)));
        else if (f->base == KC_BASE_OBJECT)
            s_deepen (f->type, items + i * step);
        else if (f->base == KC_BASE_UNION)
            s_copy_union (f->type, items + i * step);
    }
    kc_put_pointer (to, f->at, items);
}

static void s_deepen (const kc_type_t *type, void *to)
{
    if (type->base == KC_BASE_UNION)
        s_copy_union (type, to);
    for (size_t i = 0; i < type->n_fields; i++) {
        const kc_field_t *f = &type->fields[i];
        if (f->flags & KC_FIELD_ARRAY)
            s_copy_array (f, to);
        else if (f->base == KC_BASE_STRING)
            kc_put_pointer (to, f->at, kc_strdup (kc_get_pointer (to, f->at)));
        else if (f->base == KC_BASE_OBJECT)
            kc_put_pointer (to, f->at,
                            kc_type_dup (f->type, kc_get_pointer (to, f->at)));
        else if (f->base == KC_BASE_UNION)
            s_copy_union (f->type, (char *)to + f->at);
    }
}

void *kc_type_dup (const kc_type_t *type, const void *object)
{
    if (!object)
        return NULL;
    void *copy = kc_malloc (type->size);
    memcpy (copy, object, type->size);
    s_deepen (type, copy);
    return copy;
}

// ---- one property ----

bool kc_field_present (const kc_field_t *f, const void *object)
{
    if (f->flags & KC_FIELD_ARRAY)
        return kc_get_size (object, f->n_at) > 0;
    switch (f->base) {
    case KC_BASE_STRING:
    case KC_BASE_OBJECT:
        return kc_get_pointer (object, f->at) != NULL;
    case KC_BASE_ENUM:
    case KC_BASE_UNION:
        return kc_get_enum (object, f->at) != 0;
    case KC_BASE_INTEGER:
    case KC_BASE_NUMBER:
    case KC_BASE_BOOLEAN:
        return f->has_at == KC_NO_OFFSET || kc_get_bool (object, f->has_at);
    }
    return false;
}

bool kc_field_integer (const kc_field_t *f, const void *object, int64_t *out)
{
    if ((f->flags & KC_FIELD_ARRAY) || !kc_field_present (f, object))
        return false;
    if (f->base == KC_BASE_INTEGER)
        memcpy (out, (const char *)object + f->at, sizeof *out);
    else if (f->base == KC_BASE_BOOLEAN)
        *out = kc_get_bool (object, f->at);
    else
        return false;
    return true;
}

bool kc_field_number (const kc_field_t *f, const void *object, double *out)
{
    int64_t whole;
    if (kc_field_integer (f, object, &whole)) {
        *out = (double)whole;
        return true;
    }
    if ((f->flags & KC_FIELD_ARRAY) || f->base != KC_BASE_NUMBER
        || !kc_field_present (f, object))
        return false;
    memcpy (out, (const char *)object + f->at, sizeof *out);
    return true;
}

const char *kc_field_string (const kc_field_t *f, const void *object)
{
    if ((f->flags & KC_FIELD_ARRAY) || !kc_field_present (f, object))
        return NULL;
    if (f->base == KC_BASE_STRING)
        return kc_get_pointer (object, f->at);
    return f->base == KC_BASE_ENUM ? kc_enum_name (f->type, kc_get_enum (object, f->at))
                                   : NULL;
}
