// kc_text_fields.c - see kc_text_fields.h

#include "common/model/kc_text_fields.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/model/kc_expr.h"
#include "common/model/kc_finding.h"
#include "common/util/kc_mem.h"

enum { S_LIST_MAX = 128, S_NEST_MAX = 64 };

char *kc_text_trim (const char *from, const char *to)
{
    while (from < to && isspace ((unsigned char)*from))
        from++;
    while (to > from && isspace ((unsigned char)to[-1]))
        to--;
    return kc_strndup (from, (size_t)(to - from));
}

const char *kc_text_close (const char *p)
{
    char stack[S_NEST_MAX];
    int n = 0;
    for (; *p; p++) {
        if (*p == '(' || *p == '[' || *p == '{') {
            if (n == S_NEST_MAX)
                return NULL;
            stack[n++] = *p == '(' ? ')' : *p == '[' ? ']' : '}';
        }
        else if (*p == ')' || *p == ']' || *p == '}') {
            if (n == 0 || stack[n - 1] != *p)
                return NULL;
            if (--n == 0)
                return p;
        }
    }
    return NULL;
}

void kc_text_free_list (char **items, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free (items[i]);
    free (items);
}

int kc_text_split (const char *text, char ***items_p, size_t *n_p, kc_err_t *err)
{
    *items_p = NULL;
    *n_p = 0;
    const char *from = text;
    for (const char *p = text;; p++) {
        if (*p == '(' || *p == '[' || *p == '{') {
            const char *end = kc_text_close (p);
            if (!end) {
                kc_fail (err, KC_EINVALID, "a bracket does not close in '%.60s'", text);
                break;
            }
            p = end;
        }
        else if (*p == ',' || !*p) {
            char *item = kc_text_trim (from, p);
            if (!*item || *n_p == S_LIST_MAX) {
                bool nothing = !*item && !*p && *n_p == 0; // an empty list
                free (item);
                if (nothing)
                    return 0;
                kc_fail (err, KC_EINVALID, "%s in '%.60s'",
                         *n_p == S_LIST_MAX ? "more than 128 items"
                                            : "an item is empty",
                         text);
                break;
            }
            *(char **)kc_push (items_p, n_p, sizeof (char *)) = item;
            if (!*p)
                return 0;
            from = p + 1;
        }
    }
    kc_text_free_list (*items_p, *n_p);
    *items_p = NULL;
    *n_p = 0;
    return -1;
}

static int s_check_kind (const kc_field_t *field, const char *value, kc_err_t *err)
{
    if (field->kind == KC_TEXT_EXPR) {
        kc_expr_t *e = kc_expr_parse (value, err);
        if (!e)
            return kc_fail_in (err, "%s", field->name);
        kc_expr_destroy (&e);
    }
    if (field->kind == KC_TEXT_NAME) {
        bool good = isalpha ((unsigned char)*value) || *value == '_';
        for (const char *p = value; *p; p++)
            good = good && (isalnum ((unsigned char)*p) || *p == '_');
        if (!good || strlen (value) > 64)
            return kc_fail (err, KC_EINVALID,
                            "%s needs a name, '%.60s' is none; give an expression a "
                            "view or a const",
                            field->name, value);
    }
    return 0;
}

static int s_set_list (const kc_field_t *field, char *object, const char *value,
                       kc_err_t *err)
{
    char *inner = *value == '[' ? kc_text_trim (value + 1, value + strlen (value) - 1)
                                : kc_strdup (value);
    if (*value == '[' && kc_text_close (value) != value + strlen (value) - 1) {
        free (inner);
        return kc_fail (err, KC_EINVALID, "%s is a list as in [a, b], '%.60s' is none",
                        field->name, value);
    }
    char **items;
    size_t n;
    int rc = kc_text_split (inner, &items, &n, err);
    free (inner);
    if (rc < 0)
        return -1;
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = s_check_kind (field, items[i], err);
    if (rc == 0 && (n < field->items_min || n > field->items_max))
        rc = kc_fail (err, KC_EINVALID, "%s has %zu items, %zu to %zu are possible",
                      field->name, n, field->items_min, field->items_max);
    char ***list = (char ***)(void *)(object + field->at);
    size_t *count = (size_t *)(void *)(object + field->n_at);
    if (rc < 0 || *count) {
        kc_text_free_list (items, n);
        return rc < 0 ? -1
                      : kc_fail (err, KC_EINVALID, "%s is given twice", field->name);
    }
    *list = items;
    *count = n;
    return 0;
}

static int s_set_enum (const kc_field_t *field, char *object, const char *value,
                       kc_err_t *err)
{
    unsigned v = kc_enum_parse (field->type, value);
    if (!v) {
        char *known = kc_suggest (value, field->type->values, field->type->n_values);
        kc_fail (err, KC_EINVALID, "%s cannot be '%.60s'%s", field->name, value, known);
        free (known);
        return -1;
    }
    memcpy (object + field->at, &v, sizeof v);
    return 0;
}

static int s_set_integer (const kc_field_t *field, char *object, const char *value,
                          kc_err_t *err)
{
    char *end;
    errno = 0;
    long long v = strtoll (value, &end, 10);
    if (errno || *end || end == value || v < field->int_min || v > field->int_max)
        return kc_fail (
            err, KC_EINVALID, "%s is a whole number from %lld to %lld, '%.60s' is not",
            field->name, (long long)field->int_min, (long long)field->int_max, value);
    *(int64_t *)(void *)(object + field->at) = v;
    return 0;
}

static int s_set_boolean (const kc_field_t *field, char *object, const char *value,
                          kc_err_t *err)
{
    bool yes = !value || !strcmp (value, "true") || !strcmp (value, "on")
               || !strcmp (value, "1");
    if (!yes && strcmp (value, "false") && strcmp (value, "off") && strcmp (value, "0"))
        return kc_fail (err, KC_EINVALID, "%s is on or off, '%.60s' is neither",
                        field->name, value);
    *(bool *)(void *)(object + field->at) = yes;
    return 0;
}

int kc_text_set (const kc_type_t *type, void *object, const char *key,
                 const char *value, kc_err_t *err)
{
    const kc_field_t *field = kc_type_field (type, key);
    if (!field || field->flags & KC_FIELD_CONST) {
        const char *known[64];
        size_t n = 0;
        for (size_t i = 0; i < type->n_fields && n < KC_COUNT (known); i++)
            if (!(type->fields[i].flags & KC_FIELD_CONST))
                known[n++] = type->fields[i].name;
        char *text = kc_suggest (key, known, n);
        kc_fail (err, KC_EINVALID, "unknown word '%.60s'%s", key, text);
        free (text);
        return -1;
    }
    if (!value && field->base != KC_BASE_BOOLEAN)
        return kc_fail (err, KC_EINVALID, "%s needs a value as in %s=...", key, key);
    char *at = object;
    int rc = -1;
    if (field->flags & KC_FIELD_ARRAY)
        return s_set_list (field, at, value, err);
    switch (field->base) {
    case KC_BASE_STRING:
        if (s_check_kind (field, value, err) < 0)
            return -1;
        kc_set ((char **)(void *)(at + field->at), value);
        rc = 0;
        break;
    case KC_BASE_ENUM:
        rc = s_set_enum (field, at, value, err);
        break;
    case KC_BASE_INTEGER:
        rc = s_set_integer (field, at, value, err);
        break;
    case KC_BASE_BOOLEAN:
        rc = s_set_boolean (field, at, value, err);
        break;
    case KC_BASE_NUMBER:
    case KC_BASE_OBJECT:
    case KC_BASE_UNION:
        return kc_fail (err, KC_EINVALID, "%s cannot be given here", key);
    }
    if (rc == 0 && field->has_at != KC_NO_OFFSET)
        *(bool *)(void *)(at + field->has_at) = true;
    return rc;
}

static void s_put_list (kc_buf_t *b, const kc_field_t *field, const char *at)
{
    char *const *items = *(char *const *const *)(const void *)(at + field->at);
    size_t n = *(const size_t *)(const void *)(at + field->n_at);
    kc_buf_printf (b, " %s=[", field->name);
    for (size_t i = 0; i < n; i++)
        kc_buf_printf (b, "%s%s", i ? ", " : "", items[i]);
    kc_buf_puts (b, "]");
}

// A value with white space at top level would fall apart into words.
static void s_put_string (kc_buf_t *b, const char *key, const char *value)
{
    bool space = false;
    for (const char *p = value; *p; p++) {
        const char *end = *p == '(' || *p == '[' ? kc_text_close (p) : NULL;
        if (end)
            p = end;
        else
            space = space || isspace ((unsigned char)*p);
    }
    if (!space) {
        kc_buf_printf (b, " %s=%s", key, value);
        return;
    }
    kc_buf_printf (b, " %s=\"%s\"", key, value);
}

void kc_text_put (kc_buf_t *b, const kc_type_t *type, const void *object,
                  const char *skip)
{
    const char *at = object;
    for (size_t i = 0; i < type->n_fields; i++) {
        const kc_field_t *field = &type->fields[i];
        char padded[80];
        snprintf (padded, sizeof padded, " %s ", field->name);
        if (field->flags & KC_FIELD_CONST || strstr (skip, padded)
            || !kc_field_present (field, object))
            continue;
        int64_t v = 0;
        if (field->flags & KC_FIELD_ARRAY) {
            s_put_list (b, field, at);
            continue;
        }
        switch (field->base) {
        case KC_BASE_STRING:
            s_put_string (b, field->name, kc_field_string (field, object));
            break;
        case KC_BASE_ENUM:
            if (!(field->flags & KC_FIELD_DEFAULT)
                || *(const unsigned *)(const void *)(at + field->at)
                       != field->value_int)
                kc_buf_printf (b, " %s=%s", field->name,
                               kc_field_string (field, object));
            break;
        case KC_BASE_INTEGER:
            kc_field_integer (field, object, &v);
            if (!(field->flags & KC_FIELD_DEFAULT) || v != field->value_int)
                kc_buf_printf (b, " %s=%lld", field->name, (long long)v);
            break;
        case KC_BASE_BOOLEAN:
            kc_field_integer (field, object, &v);
            if (!(field->flags & KC_FIELD_DEFAULT) || v != field->value_int)
                kc_buf_printf (b, v ? " %s" : " %s=off", field->name);
            break;
        case KC_BASE_NUMBER:
        case KC_BASE_OBJECT:
        case KC_BASE_UNION:
            break;
        }
    }
}
