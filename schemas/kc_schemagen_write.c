/* kc_schemagen_write.c - writes the headers, the tables and the registry
 *
 * A file is touched only when its content changes, so an edit of one schema recompiles
 * what uses it. Tables keep the order of the schema; a second table sorts the keys for
 * the codec.
 */
#include "kc_schemagen.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct text { // output so far
    gen_t *g;
    char *data;
    size_t size, room;
} text_t;

static void s_put (text_t *t, const char *format, ...)
    __attribute__ ((format (printf, 2, 3)));

static void s_put (text_t *t, const char *format, ...)
{
    va_list args, again;
    va_start (args, format);
    va_copy (again, args);
    int n = vsnprintf (NULL, 0, format, args);
    size_t need = t->size + (size_t)(n < 0 ? 0 : n) + 1;
    if (need > t->room) {
        size_t room = need * 2 + 4096;
        char *grown = gen_alloc (t->g, room);
        if (t->size)
            memcpy (grown, t->data, t->size);
        t->data = grown;
        t->room = room;
    }
    if (n > 0)
        t->size +=
            (size_t)vsnprintf (t->data + t->size, t->room - t->size, format, again);
    va_end (again);
    va_end (args);
}

static void s_save (gen_t *g, const text_t *t, const char *name)
{
    char *path = gen_text (g, "%s/%s", g->out, name);
    FILE *old = fopen (path, "rb");
    if (old) {
        char *content = gen_alloc (g, t->size + 1);
        size_t n = fread (content, 1, t->size + 1, old);
        fclose (old);
        if (n == t->size && memcmp (content, t->data, n) == 0)
            return;
    }
    FILE *f = fopen (path, "wb");
    if (!f || fwrite (t->data, 1, t->size, f) != t->size || fclose (f) != 0)
        gen_die (g, path, "", "cannot be written");
}

// A C string literal, "NULL" for NULL.
static const char *s_literal (gen_t *g, const char *s)
{
    if (!s)
        return "NULL";
    char *out = gen_alloc (g, strlen (s) * 4 + 3);
    char *p = out;
    *p++ = '"';
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\' || c == '?') {
            *p++ = '\\';
            *p++ = (char)c;
        }
        else if (c < 32 || c > 126) {
            *p++ = '\\';
            *p++ = (char)('0' + (c >> 6));
            *p++ = (char)('0' + ((c >> 3) & 7));
            *p++ = (char)('0' + (c & 7));
        }
        else {
            *p++ = (char)c;
        }
    }
    *p++ = '"';
    return out;
}

static const char *s_double (gen_t *g, double v)
{
    const char *s = gen_text (g, "%.17g", v);
    return strpbrk (s, ".en") ? s : gen_text (g, "%s.0", s);
}

static const char *s_int (gen_t *g, json_int_t v)
{
    return v == INT64_MIN ? "INT64_MIN"
                          : gen_text (g, "INT64_C (%" JSON_INTEGER_FORMAT ")", v);
}

// The description as the rest of a line, so without line ends.
static const char *s_comment (gen_t *g, const char *text)
{
    char *out = gen_text (g, "%s", text);
    for (char *p = out; *p; p++)
        if (*p == '\n' || *p == '\r' || *p == '\\')
            *p = ' ';
    return out;
}

// ---- header ----

static const char *s_c_type (gen_t *g, const use_t *use)
{
    switch (use->base) {
    case B_STRING:
        return use->array ? "char **" : "char *";
    case B_INTEGER:
        return use->array ? "int64_t *" : "int64_t ";
    case B_NUMBER:
        return use->array ? "double *" : "double ";
    case B_BOOLEAN:
        return use->array ? "bool *" : "bool ";
    case B_OBJECT:
        return gen_text (g, "%s_t *", use->type->cname);
    case B_ENUM:
    case B_UNION:
        return gen_text (g, "%s_t %s", use->type->cname, use->array ? "*" : "");
    }
    return "";
}

static void s_put_note (text_t *t, const use_t *use)
{
    const char *parts[4] = {use->text ? use->text : use->title, use->unit, NULL, NULL};
    bool first = true;
    for (size_t i = 0; i < 2; i++) {
        if (parts[i])
            s_put (t, "%s%s%s", first ? " // " : " [", s_comment (t->g, parts[i]),
                   first ? "" : "]");
        first = first && !parts[i];
    }
    s_put (t, "\n");
}

static void s_put_object (text_t *t, const type_t *type)
{
    if (type->text || type->title)
        s_put (t, "// %s\n", s_comment (t->g, type->text ? type->text : type->title));
    s_put (t, "struct %s {\n", type->cname);
    for (size_t i = 0; i < type->n_fields; i++) {
        const field_t *f = &type->fields[i];
        if (f->use.array)
            s_put (t, "    size_t n_%s;\n", f->member);
        if (f->has)
            s_put (t, "    bool has_%s;\n", f->member);
        s_put (t, "    %s%s;", s_c_type (t->g, &f->use), f->member);
        s_put_note (t, &f->use);
    }
    if (type->n_fields == 0)
        s_put (t, "    char nothing; // C knows no empty struct\n");
    s_put (t, "};\n\n");
}

static void s_put_values (text_t *t, const type_t *type, const char *tag)
{
    s_put (t, "typedef enum %s%s {\n    %s_UNSET = 0,\n", type->cname, tag,
           type->upper);
    for (size_t i = 0; i < type->n_values; i++)
        s_put (t, "    %s%s\n", type->values[i].enumerator,
               i + 1 < type->n_values ? "," : "");
    s_put (t, "} %s%s_t;\n\n", type->cname, tag);
}

static void s_put_functions (text_t *t, const type_t *type)
{
    const char *c = type->cname;
    s_put (t, "extern const kc_type_t %s_type;\n", c);
    if (type->base == B_UNION) {
        s_put (t, "\n");
        return;
    }
    if (type->base == B_ENUM) {
        s_put (t,
               "static inline const char *%s_name (%s_t value)\n{\n"
               "    return kc_enum_name (&%s_type, (unsigned)value);\n}\n"
               "static inline %s_t %s_parse (const char *name)\n{\n"
               "    return (%s_t)kc_enum_parse (&%s_type, name);\n}\n\n",
               c, c, c, c, c, c, c);
        return;
    }
    s_put (t,
           "static inline %s_t *%s_decode (const char *json, size_t size, kc_mode_t "
           "mode, kc_errs_t *errs)\n{\n"
           "    return kc_type_decode (&%s_type, json, size, mode, errs);\n}\n"
           "static inline char *%s_encode (const %s_t *object, size_t *size_p)\n{\n"
           "    return kc_type_encode (&%s_type, object, size_p, NULL);\n}\n",
           c, c, c, c, c, c);
    s_put (
        t,
        "static inline %s_t *%s_new (void)\n{\n    return kc_type_new (&%s_type);\n}\n"
        "static inline %s_t *%s_dup (const %s_t *object)\n{\n    return kc_type_dup "
        "(&%s_type, object);\n}\n"
        "static inline void %s_free (%s_t **object_p)\n{\n"
        "    kc_type_free (&%s_type, *object_p);\n    *object_p = NULL;\n}\n\n",
        c, c, c, c, c, c, c, c, c, c);
}

static void s_write_header (gen_t *g, const file_t *file)
{
    text_t t = {.g = g};
    const char *guard = gen_upper (g, gen_text (g, "%s/%s_h", g->include, file->stem));
    s_put (&t,
           "// Made by kc_schemagen from schemas/%s. Do not edit.\n#ifndef %s\n#define "
           "%s\n\n",
           file->base, guard, guard);
    s_put (&t, "#include <stdbool.h>\n#include <stddef.h>\n#include "
               "<stdint.h>\n\n#include \"common/msg/kc_codec.h\"\n");
    for (size_t i = 0; i < g->n_files; i++)
        if (file->uses[i])
            s_put (&t, "#include \"%s/%s.h\"\n", g->include, g->files[i].stem);
    s_put (&t, "\n");
    for (size_t i = 0; i < g->n_types; i++)
        if (g->types[i]->file == file && g->types[i]->base == B_ENUM)
            s_put_values (&t, g->types[i], "");
    for (size_t i = 0; i < g->n_types; i++)
        if (g->types[i]->file == file && g->types[i]->base == B_OBJECT)
            s_put (&t, "typedef struct %s %s_t;\n", g->types[i]->cname,
                   g->types[i]->cname);
    s_put (&t, "\n");
    for (size_t i = 0; i < g->n_types; i++) {
        const type_t *type = g->types[i];
        if (type->file != file || type->base != B_UNION)
            continue;
        s_put_values (&t, type, "_kind");
        s_put (&t, "typedef struct %s {\n    %s_kind_t kind;\n    union {\n",
               type->cname, type->cname);
        for (size_t v = 0; v < type->n_values; v++)
            s_put (&t, "        %s_t *%s;\n", type->values[v].type->cname,
                   type->values[v].text);
        s_put (&t, "    } u;\n} %s_t;\n\n", type->cname);
    }
    for (size_t i = 0; i < g->n_types; i++)
        if (g->types[i]->file == file && g->types[i]->base == B_OBJECT)
            s_put_object (&t, g->types[i]);
    for (size_t i = 0; i < g->n_types; i++)
        if (g->types[i]->file == file)
            s_put_functions (&t, g->types[i]);
    s_put (&t, "#endif // %s\n", guard);
    s_save (g, &t, gen_text (g, "%s.h", file->stem));
}

// ---- tables ----

static void s_put_field (text_t *t, const type_t *type, const field_t *f)
{
    static const char *const s_bases[] = {"STRING", "INTEGER", "NUMBER", "BOOLEAN",
                                          "ENUM",   "OBJECT",  "UNION"};
    gen_t *g = t->g;
    const use_t *u = &f->use;
    const struct {
        bool on;
        const char *name;
    } flags[] = {{u->array, "ARRAY"},       {u->required, "REQUIRED"},
                 {u->nullable, "NULLABLE"}, {u->has_default, "DEFAULT"},
                 {u->is_const, "CONST"},    {u->secret, "SECRET"},
                 {u->has_min, "MIN"},       {u->has_max, "MAX"},
                 {u->has_lo, "LO"},         {u->has_hi, "HI"}};
    s_put (t, "    {.name = \"%s\", .base = KC_BASE_%s, .flags = 0", f->name,
           s_bases[u->base]);
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        if (flags[i].on)
            s_put (t, " | KC_FIELD_%s", flags[i].name);
    s_put (t, ",\n     .at = offsetof (%s_t, %s)", type->cname, f->member);
    if (u->array)
        s_put (t,
               ", .n_at = offsetof (%s_t, n_%s), .items_min = %" JSON_INTEGER_FORMAT
               ", .items_max = %" JSON_INTEGER_FORMAT,
               type->cname, f->member, u->items_min, u->items_max);
    else
        s_put (t, ", .n_at = KC_NO_OFFSET");
    if (f->has)
        s_put (t, ", .has_at = offsetof (%s_t, has_%s)", type->cname, f->member);
    else
        s_put (t, ", .has_at = KC_NO_OFFSET");
    if (u->type)
        s_put (t, ", .type = &%s_type", u->type->cname);
    if (u->base == B_STRING)
        s_put (t,
               ",\n     .length_min = %" JSON_INTEGER_FORMAT
               ", .length_max = %" JSON_INTEGER_FORMAT ", .kind = KC_TEXT_%s",
               u->length_min, u->length_max, u->kind);
    if (u->base == B_INTEGER)
        s_put (t, ",\n     .int_min = %s, .int_max = %s", s_int (g, u->int_min),
               s_int (g, u->int_max));
    if (u->base == B_NUMBER)
        s_put (t, ",\n     .num_min = %s, .num_max = %s", s_double (g, u->num_min),
               s_double (g, u->num_max));
    if (u->has_default || u->is_const)
        s_put (t, ",\n     .value_string = %s, .value_int = %s, .value_num = %s",
               s_literal (g, u->value_string), s_int (g, u->value_int),
               s_double (g, u->value_num));
    const struct {
        const char *name, *text;
    } notes[] = {{"title", u->title},
                 {"text", u->text},
                 {"unit", u->unit},
                 {"source", u->source},
                 {"note", u->note}};
    for (size_t i = 0; i < sizeof notes / sizeof notes[0]; i++)
        if (notes[i].text)
            s_put (t, ",\n     .%s = %s", notes[i].name, s_literal (g, notes[i].text));
    if (u->has_lo || u->has_hi)
        s_put (t, ",\n     .lo = %s, .hi = %s", s_double (g, u->lo),
               s_double (g, u->hi));
    s_put (t, "},\n");
}

static void s_put_sorted (text_t *t, const type_t *type)
{
    size_t *order = gen_alloc (t->g, type->n_fields * sizeof *order);
    for (size_t i = 0; i < type->n_fields; i++) {
        size_t at = i;
        for (; at > 0
               && strcmp (type->fields[order[at - 1]].name, type->fields[i].name) > 0;
             at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    s_put (t, "static const uint16_t s_%s_sorted[] = {", type->cname);
    for (size_t i = 0; i < type->n_fields; i++)
        s_put (t, "%s%zu", i ? ", " : "", order[i]);
    s_put (t, "};\n");
}

static void s_put_type (text_t *t, const type_t *type)
{
    gen_t *g = t->g;
    const char *c = type->cname;
    if (type->base == B_OBJECT && type->n_fields) {
        s_put (t, "static const kc_field_t s_%s_fields[] = {\n", c);
        for (size_t i = 0; i < type->n_fields; i++)
            s_put_field (t, type, &type->fields[i]);
        s_put (t, "};\n");
        s_put_sorted (t, type);
    }
    if (type->base == B_ENUM) {
        s_put (t, "static const char *const s_%s_values[] = {", c);
        for (size_t i = 0; i < type->n_values; i++)
            s_put (t, "%s%s", i ? ", " : "", s_literal (g, type->values[i].text));
        s_put (t, "};\n");
    }
    if (type->base == B_UNION) {
        s_put (t, "static const kc_variant_t s_%s_variants[] = {\n", c);
        for (size_t i = 0; i < type->n_values; i++)
            s_put (t, "    {.name = \"%s\", .tag = %s, .type = &%s_type},\n",
                   type->values[i].text, s_literal (g, type->tags[i]),
                   type->values[i].type->cname);
        s_put (t, "};\n");
    }
    static const char *const s_bases[] = {"", "", "", "", "ENUM", "OBJECT", "UNION"};
    s_put (t,
           "const kc_type_t %s_type = {\n    .name = \"%s\", .base = KC_BASE_%s, .size "
           "= sizeof (%s_t), .file = &s_file",
           c, type->sname, s_bases[type->base], c);
    if (type->base == B_OBJECT && type->n_fields)
        s_put (t,
               ",\n    .fields = s_%s_fields, .n_fields = %zu, .sorted = s_%s_sorted",
               c, type->n_fields, c);
    if (type->base == B_ENUM)
        s_put (t, ",\n    .values = s_%s_values, .n_values = %zu", c, type->n_values);
    if (type->base == B_UNION)
        s_put (t,
               ",\n    .tag_key = \"%s\", .variants = s_%s_variants, .n_variants = "
               "%zu, .u_at = offsetof (%s_t, u)",
               type->tag_key, c, type->n_values, c);
    if (type->title)
        s_put (t, ",\n    .title = %s", s_literal (g, type->title));
    if (type->text)
        s_put (t, ",\n    .text = %s", s_literal (g, type->text));
    s_put (t, "};\n\n");
}

static void s_write_tables (gen_t *g, const file_t *file)
{
    text_t t = {.g = g};
    s_put (&t,
           "// Made by kc_schemagen from schemas/%s. Do not edit.\n#include "
           "\"%s/%s.h\"\n\n",
           file->base, g->include, file->stem);
    // Bytes, because a string literal may be only 4,095 characters long.
    s_put (&t, "static const char s_text[] = {");
    for (size_t i = 0; i < file->size; i++)
        s_put (&t, "%s%d,", i % 24 ? "" : "\n    ", (int)(signed char)file->text[i]);
    s_put (&t, "\n    0};\n");
    s_put (&t,
           "static const kc_schema_file_t s_file = {.name = \"%s\", .text = s_text, "
           ".size = %zu};\n\n",
           file->base, file->size);
    for (size_t i = 0; i < g->n_types; i++)
        if (g->types[i]->file == file)
            s_put_type (&t, g->types[i]);
    s_save (g, &t, gen_text (g, "%s.c", file->stem));
}

static int s_by_name (const void *a, const void *b)
{
    const type_t *const *x = a;
    const type_t *const *y = b;
    return strcmp ((*x)->sname, (*y)->sname);
}

static void s_write_registry (gen_t *g)
{
    text_t t = {.g = g};
    qsort (g->types, g->n_types, sizeof (type_t *), s_by_name);
    s_put (
        &t,
        "// Made by kc_schemagen. Do not edit.\n#include \"common/msg/kc_tables.h\"\n");
    for (size_t i = 0; i < g->n_files; i++)
        s_put (&t, "#include \"%s/%s.h\"\n", g->include, g->files[i].stem);
    s_put (&t, "\nstatic const kc_type_t *const s_types[] = {\n");
    for (size_t i = 0; i < g->n_types; i++)
        s_put (&t, "    &%s_type,\n", g->types[i]->cname);
    s_put (&t,
           "};\n\nextern const kc_registry_t %s;\nconst kc_registry_t %s = {.types = "
           "s_types, .n = %zu};\n",
           g->registry, g->registry, g->n_types);
    s_save (g, &t, gen_text (g, "%s.c", g->registry));
}

void gen_write_all (gen_t *g)
{
    for (size_t i = 0; i < g->n_files; i++) {
        s_write_header (g, &g->files[i]);
        s_write_tables (g, &g->files[i]);
    }
    s_write_registry (g);
}
