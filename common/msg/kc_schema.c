/* kc_schema.c - a type as a self-contained JSON schema, made from the tables
 *
 * Types that are used go below "$defs" under their full names, so references to other
 * files become local.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/msg/kc_tables.h"
#include "common/util/kc_buf.h"
#include "common/util/kc_mem.h"

typedef struct writer {
    kc_buf_t out;
    const kc_type_t **types; // in the order of $defs; the first is the root
    size_t n_types;
} writer_t;

static void s_text (kc_buf_t *b, const char *s)
{
    kc_buf_putc (b, '"');
    kc_buf_json (b, s, strlen (s));
    kc_buf_putc (b, '"');
}

static void s_pair (kc_buf_t *b, const char *key, const char *s)
{
    if (!s)
        return;
    kc_buf_printf (b, ",\"%s\":", key);
    s_text (b, s);
}

static void s_ref (writer_t *w, const kc_type_t *type)
{
    size_t i = 0;
    while (i < w->n_types && w->types[i] != type)
        i++;
    if (i == w->n_types)
        *(const kc_type_t **)kc_push (&w->types, &w->n_types, sizeof (kc_type_t *)) =
            type;
    kc_buf_printf (&w->out, "\"$ref\":\"#/$defs/%s\"", type->name);
}

// The words of one value or item, without braces.
static void s_value (writer_t *w, const kc_field_t *f, bool nullable)
{
    static const char *const s_words[] = {"string", "integer", "number", "boolean"};
    static const char *const s_kinds[] = {NULL, "name", "expr", "sha256", "id"};
    kc_buf_t *b = &w->out;
    if (f->base >= KC_BASE_ENUM) {
        // A $ref takes no null beside it, so a nullable one becomes a choice.
        kc_buf_puts (b, nullable ? "\"anyOf\":[{" : "");
        s_ref (w, f->type);
        kc_buf_puts (b, nullable ? "},{\"type\":\"null\"}]" : "");
        return;
    }
    if (f->flags & KC_FIELD_CONST) {
        kc_buf_puts (b, "\"const\":");
        if (f->base == KC_BASE_STRING)
            s_text (b, f->value_string);
        else if (f->base == KC_BASE_INTEGER)
            kc_buf_printf (b, "%" PRId64, f->value_int);
        else
            kc_buf_puts (b, f->value_int ? "true" : "false");
        return;
    }
    kc_buf_printf (b, nullable ? "\"type\":[\"%s\",\"null\"]" : "\"type\":\"%s\"",
                   s_words[f->base]);
    if (f->base == KC_BASE_STRING) {
        if (f->length_min)
            kc_buf_printf (b, ",\"minLength\":%zu", f->length_min);
        kc_buf_printf (b, ",\"maxLength\":%zu", f->length_max);
        s_pair (b, "x-kc-kind", s_kinds[f->kind]);
    }
    const char *const bounds[] = {"minimum", "maximum"};
    for (size_t i = 0; i < 2; i++) {
        if (!(f->flags & (i ? KC_FIELD_MAX : KC_FIELD_MIN)))
            continue;
        if (f->base == KC_BASE_INTEGER)
            kc_buf_printf (b, ",\"%s\":%" PRId64, bounds[i],
                           i ? f->int_max : f->int_min);
        else
            kc_buf_printf (b, ",\"%s\":%.17g", bounds[i], i ? f->num_max : f->num_min);
    }
}

static void s_default (kc_buf_t *b, const kc_field_t *f)
{
    kc_buf_puts (b, ",\"default\":");
    switch (f->base) {
    case KC_BASE_STRING:
        s_text (b, f->value_string);
        break;
    case KC_BASE_INTEGER:
        kc_buf_printf (b, "%" PRId64, f->value_int);
        break;
    case KC_BASE_NUMBER:
        kc_buf_printf (b, "%.17g", f->value_num);
        break;
    case KC_BASE_BOOLEAN:
        kc_buf_puts (b, f->value_int ? "true" : "false");
        break;
    case KC_BASE_ENUM:
        s_text (b, kc_enum_name (f->type, (unsigned)f->value_int));
        break;
    case KC_BASE_OBJECT:
    case KC_BASE_UNION:
        break; // have none
    }
}

static void s_field (writer_t *w, const kc_field_t *f)
{
    kc_buf_t *b = &w->out;
    bool array = f->flags & KC_FIELD_ARRAY, nullable = f->flags & KC_FIELD_NULLABLE;
    kc_buf_printf (b, "\"%s\":{", f->name);
    if (array)
        kc_buf_printf (b, "\"type\":%s,\"minItems\":%zu,\"maxItems\":%zu,\"items\":{",
                       nullable ? "[\"array\",\"null\"]" : "\"array\"", f->items_min,
                       f->items_max);
    s_value (w, f, nullable && !array);
    if (array)
        kc_buf_putc (b, '}');
    if (f->flags & KC_FIELD_DEFAULT)
        s_default (b, f);
    s_pair (b, "title", f->title);
    s_pair (b, "description", f->text);
    s_pair (b, "x-kc-unit", f->unit);
    kc_buf_putc (b, '}');
}

static void s_body (writer_t *w, const kc_type_t *type)
{
    kc_buf_t *b = &w->out;
    if (type->base == KC_BASE_ENUM) {
        kc_buf_puts (b, "\"enum\":[");
        for (size_t i = 0; i < type->n_values; i++) {
            kc_buf_puts (b, i ? "," : "");
            s_text (b, type->values[i]);
        }
        kc_buf_putc (b, ']');
    }
    else if (type->base == KC_BASE_UNION) {
        kc_buf_puts (b, "\"oneOf\":[");
        for (size_t i = 0; i < type->n_variants; i++) {
            kc_buf_puts (b, i ? ",{" : "{");
            s_ref (w, type->variants[i].type);
            kc_buf_putc (b, '}');
        }
        kc_buf_putc (b, ']');
    }
    else {
        kc_buf_puts (
            b, "\"type\":\"object\",\"additionalProperties\":false,\"required\":[");
        const char *comma = "";
        for (size_t i = 0; i < type->n_fields; i++)
            if (type->fields[i].flags & KC_FIELD_REQUIRED) {
                kc_buf_printf (b, "%s\"%s\"", comma, type->fields[i].name);
                comma = ",";
            }
        kc_buf_puts (b, "],\"properties\":{");
        for (size_t i = 0; i < type->n_fields; i++) {
            kc_buf_puts (b, i ? "," : "");
            s_field (w, &type->fields[i]);
        }
        kc_buf_putc (b, '}');
    }
    s_pair (b, "title", type->title);
    s_pair (b, "description", type->text);
}

char *kc_type_schema (const kc_type_t *type)
{
    writer_t w = {0};
    kc_buf_puts (&w.out,
                 "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",");
    *(const kc_type_t **)kc_push (&w.types, &w.n_types, sizeof (kc_type_t *)) = type;
    s_body (&w, type);
    kc_buf_puts (&w.out, ",\"$defs\":{");
    for (size_t i = 1; i < w.n_types; i++) { // grows while it is written
        kc_buf_printf (&w.out, "%s\"%s\":{", i > 1 ? "," : "", w.types[i]->name);
        s_body (&w, w.types[i]);
        kc_buf_putc (&w.out, '}');
    }
    kc_buf_puts (&w.out, "}}");
    free (w.types);
    return kc_buf_take (&w.out);
}
