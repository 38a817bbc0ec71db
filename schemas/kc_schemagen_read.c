/* kc_schemagen_read.c - reads the closed subset of draft 2020-12
 *
 * A keyword outside the subset, a string or array without a maximum, recursion, two
 * things of the same C name: each stops the build with the file and the JSON pointer.
 * What is accepted means the same to every validator of the draft.  The file is long
 * because the subset is one switch over keywords.
 */
#include "kc_schemagen.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { MAX_TEXT = 2000, MAX_PROPERTIES = 1024, MAX_NESTING = 64 };

// ---- small readers of a node ----

typedef struct at { // a place in a schema
    file_t *file;
    const json_t *node;
    const char *pointer;
} at_t;

#define DIE(g, at, ...) gen_die (g, (at)->file->base, (at)->pointer, __VA_ARGS__)

static at_t s_down (gen_t *g, const at_t *at, const char *key)
{
    return (at_t){at->file, json_object_get (at->node, key),
                  gen_text (g, "%s/%s", at->pointer, key)};
}

static const char *s_string (gen_t *g, const at_t *at, const char *key)
{
    const json_t *v = json_object_get (at->node, key);
    if (!v)
        return NULL;
    if (!json_is_string (v) || json_string_length (v) > MAX_TEXT)
        DIE (g, at, "\"%s\" must be a string of at most %d bytes", key, MAX_TEXT);
    return json_string_value (v);
}

static json_int_t s_count (gen_t *g, const at_t *at, const char *key,
                           json_int_t otherwise)
{
    const json_t *v = json_object_get (at->node, key);
    if (!v)
        return otherwise;
    if (!json_is_integer (v) || json_integer_value (v) < 0)
        DIE (g, at, "\"%s\" must be a whole number of at least 0", key);
    return json_integer_value (v);
}

static bool s_number (gen_t *g, const at_t *at, const char *key, double *out)
{
    const json_t *v = json_object_get (at->node, key);
    if (!v)
        return false;
    if (!json_is_number (v))
        DIE (g, at, "\"%s\" must be a number", key);
    *out = json_number_value (v);
    return true;
}

static bool s_integer (gen_t *g, const at_t *at, const char *key, json_int_t *out)
{
    const json_t *v = json_object_get (at->node, key);
    if (!v)
        return false;
    if (!json_is_integer (v))
        DIE (g, at, "\"%s\" of an integer must be a whole number", key);
    *out = json_integer_value (v);
    return true;
}

static bool s_in (const char *word, const char *list) // list = " a b c "
{
    char padded[64];
    int n = snprintf (padded, sizeof padded, " %s ", word);
    return n > 0 && (size_t)n < sizeof padded && strstr (list, padded) != NULL;
}

#define COMMON " title description $comment "
#define XKC " x-kc-unit x-kc-secret x-kc-source x-kc-lo x-kc-hi x-kc-text "

// Every key must be one of the lists; this is what makes the subset closed.
static void s_only (gen_t *g, const at_t *at, const char *what, const char *allowed,
                    const char *more)
{
    const char *key;
    json_t *value;
    json_t *node = (json_t *)(uintptr_t)at->node; // jansson's iterator is not const
    json_object_foreach (node, key, value)
    {
        (void)value;
        if (!s_in (key, allowed) && !s_in (key, more) && !s_in (key, COMMON))
            DIE (g, at, "the keyword \"%s\" is not supported for %s", key, what);
    }
}

// ---- types ----

static type_t *s_type_of (gen_t *g, const json_t *node)
{
    for (size_t i = 0; i < g->n_types; i++)
        if (g->types[i]->node == node)
            return g->types[i];
    return NULL;
}

static const char *s_member (gen_t *g, const char *key)
{
    static const char s_words[] =
        " auto break case char const continue default do double else enum extern float "
        "for goto if inline int long "
        "register restrict return short signed sizeof static struct switch typedef "
        "union unsigned void volatile while "
        "bool true false NULL errno stdin stdout stderr linux unix asm typeof ";
    if (s_in (key, s_words))
        return gen_text (g, "%s_", key);
    if (*key >= '0' && *key <= '9')
        return gen_text (g, "_%s", key);
    return key;
}

static type_t *s_new_type (gen_t *g, const at_t *at, base_t base, const char *sname)
{
    type_t *t = gen_alloc (g, sizeof *t);
    *(type_t **)gen_push (g, &g->types, &g->n_types, sizeof (type_t *)) = t;
    char *cname = gen_text (g, "kc_%s", sname);
    for (char *p = cname; *p; p++)
        if (*p == '.')
            *p = '_';
    *t = (type_t){.base = base,
                  .file = at->file,
                  .node = at->node,
                  .pointer = at->pointer,
                  .cname = cname,
                  .sname = sname,
                  .upper = gen_upper (g, cname),
                  .title = s_string (g, at, "title"),
                  .text = s_string (g, at, "description")};
    for (size_t i = 0; i + 1 < g->n_types; i++)
        if (strcmp (g->types[i]->cname, cname) == 0)
            DIE (g, at, "%s_t is already made from %s of %s; rename one", cname,
                 g->types[i]->pointer, g->types[i]->file->base);
    return t;
}

static void s_read_use (gen_t *g, const at_t *at, const char *sname, bool item,
                        use_t *use);
static type_t *s_read_object (gen_t *g, const at_t *at, const char *sname);

// Follow a $ref one step: "#/$defs/x", "other.schema.json" or
// "other.schema.json#/$defs/x".
static at_t s_resolve (gen_t *g, const at_t *at, const char **sname)
{
    const char *ref = s_string (g, at, "$ref");
    const char *hash = strchr (ref, '#');
    size_t file_length = hash ? (size_t)(hash - ref) : strlen (ref);
    file_t *file = file_length ? NULL : at->file;
    for (size_t i = 0; !file && i < g->n_files; i++)
        if (strlen (g->files[i].base) == file_length
            && memcmp (g->files[i].base, ref, file_length) == 0)
            file = &g->files[i];
    if (!file)
        DIE (g, at, "\"$ref\": \"%s\" names a file that is not among the schemas", ref);
    if (file != at->file)
        at->file->uses[file - g->files] = true;
    if (!hash) {
        *sname = file->stem;
        if (!json_object_get (file->root, "type"))
            DIE (g, at,
                 "\"$ref\": \"%s\" has no root object, only $defs; name one of them",
                 ref);
        return (at_t){file, file->root, ""};
    }
    static const char s_prefix[] = "#/$defs/";
    const char *name = hash + sizeof s_prefix - 1;
    if (strncmp (hash, s_prefix, sizeof s_prefix - 1) != 0 || strchr (name, '/'))
        DIE (g, at, "\"$ref\": \"%s\" is not of the form [file]#/$defs/name", ref);
    const json_t *target =
        json_object_get (json_object_get (file->root, "$defs"), name);
    if (!target)
        DIE (g, at, "\"$ref\": \"%s\" names nothing", ref);
    *sname = gen_text (g, "%s.%s", file->stem, name);
    return (at_t){file, target, gen_text (g, "/$defs/%s", name)};
}

static void s_claim_enumerator (gen_t *g, const at_t *at, const type_t *t,
                                const char *enumerator)
{
    for (size_t i = 0; i < g->n_types; i++)
        for (size_t j = 0; j < g->types[i]->n_values; j++)
            if (g->types[i]->values[j].enumerator
                && strcmp (g->types[i]->values[j].enumerator, enumerator) == 0)
                DIE (g, at, "two values are called %s in C (see %s)", enumerator,
                     g->types[i]->sname);
    if (strcmp (enumerator, gen_text (g, "%s_UNSET", t->upper)) == 0)
        DIE (g, at, "%s is reserved for \"absent\"", enumerator);
}

static type_t *s_read_enum (gen_t *g, const at_t *at, const char *sname, bool *nullable)
{
    const json_t *list = json_object_get (at->node, "enum");
    if (!json_is_array (list) || json_array_size (list) == 0)
        DIE (g, at, "\"enum\" must be a list with at least one string");
    type_t *t = s_type_of (g, at->node);
    bool fresh = !t;
    if (fresh)
        t = s_new_type (g, at, B_ENUM, sname);
    for (size_t i = 0; i < json_array_size (list); i++) {
        const json_t *v = json_array_get (list, i);
        if (json_is_null (v)) {
            *nullable = true;
            continue;
        }
        if (!json_is_string (v))
            DIE (g, at, "\"enum\" may hold strings and null only");
        if (!fresh)
            continue;
        const char *text = json_string_value (v);
        for (size_t j = 0; j < t->n_values; j++)
            if (strcmp (t->values[j].text, text) == 0)
                DIE (g, at, "\"enum\" holds \"%s\" twice", text);
        const char *enumerator = gen_text (g, "%s_%s", t->upper, gen_upper (g, text));
        s_claim_enumerator (g, at, t, enumerator);
        value_t *value = gen_push (g, &t->values, &t->n_values, sizeof *value);
        *value = (value_t){.text = text, .enumerator = enumerator};
    }
    if (t->n_values == 0)
        DIE (g, at, "\"enum\" must hold at least one string");
    return t;
}

// The const string that property 'key' of an object schema must have, NULL when it has
// none.
static const char *s_tag (const json_t *object, const char *key)
{
    const json_t *required = json_object_get (object, "required");
    const json_t *value = json_object_get (
        json_object_get (json_object_get (object, "properties"), key), "const");
    for (size_t i = 0; i < json_array_size (required); i++)
        if (strcmp (json_string_value (json_array_get (required, i)), key) == 0)
            return json_string_value (value);
    return NULL;
}

static type_t *s_read_union (gen_t *g, const at_t *at, const char *sname)
{
    type_t *t = s_type_of (g, at->node);
    if (t) {
        if (t->busy)
            DIE (g, at, "recursion is not supported");
        return t;
    }
    s_only (g, at, "a oneOf", " oneOf ", "");
    const json_t *list = json_object_get (at->node, "oneOf");
    if (!json_is_array (list) || json_array_size (list) < 2)
        DIE (g, at, "\"oneOf\" must list at least two $refs");
    t = s_new_type (g, at, B_UNION, sname);
    t->busy = true;
    for (size_t i = 0; i < json_array_size (list); i++) {
        at_t member = {at->file, json_array_get (list, i),
                       gen_text (g, "%s/oneOf/%zu", at->pointer, i)};
        if (!json_is_object (member.node) || !json_object_get (member.node, "$ref"))
            DIE (g, &member, "a member of \"oneOf\" must be a $ref to an object");
        s_only (g, &member, "a member of oneOf", " $ref ", "");
        const char *target_name;
        at_t target = s_resolve (g, &member, &target_name);
        type_t *object = s_read_object (g, &target, target_name);
        const char *last = strrchr (target_name, '.');
        const char *name = last ? last + 1 : target_name;
        const char *enumerator = gen_text (g, "%s_%s", t->upper, gen_upper (g, name));
        s_claim_enumerator (g, &member, t, enumerator);
        value_t *value = gen_push (g, &t->values, &t->n_values, sizeof *value);
        *value = (value_t){.text = name, .enumerator = enumerator, .type = object};
    }
    // The discriminator is a required property with a const string, different in every
    // member.
    const type_t *first = t->values[0].type;
    for (size_t f = 0; f < first->n_fields && !t->tag_key; f++) {
        const char *key = first->fields[f].name;
        const char **tags = gen_alloc (g, t->n_values * sizeof *tags);
        bool good = true;
        for (size_t i = 0; i < t->n_values && good; i++) {
            tags[i] = s_tag (t->values[i].type->node, key);
            good = tags[i] != NULL;
            for (size_t j = 0; j < i && good; j++)
                good = strcmp (tags[i], tags[j]) != 0;
        }
        if (good) {
            t->tag_key = key;
            t->tags = tags;
        }
    }
    if (!t->tag_key)
        DIE (g, at,
             "the members of \"oneOf\" share no required property with a different "
             "const string in each");
    t->busy = false;
    return t;
}

static type_t *s_read_object (gen_t *g, const at_t *at, const char *sname)
{
    type_t *t = s_type_of (g, at->node);
    if (t) {
        if (t->busy)
            DIE (g, at, "recursion is not supported");
        return t;
    }
    bool root = at->node == at->file->root;
    s_only (g, at, "an object", " type properties required additionalProperties ",
            root ? " $schema $id $defs " : XKC " default ");
    const json_t *type = json_object_get (at->node, "type");
    if (!json_is_string (type) && !json_is_array (type))
        DIE (g, at, "an object must say \"type\": \"object\"");
    if (json_is_string (type) && strcmp (json_string_value (type), "object") != 0)
        DIE (g, at, "a root and a member of oneOf must be objects");
    if (!json_is_false (json_object_get (at->node, "additionalProperties")))
        DIE (g, at, "an object must say \"additionalProperties\": false");
    if (strlen (sname) > 120)
        DIE (g, at, "the name %s is too long", sname);
    t = s_new_type (g, at, B_OBJECT, sname);
    t->busy = true;
    at_t properties = s_down (g, at, "properties");
    if (properties.node && !json_is_object (properties.node))
        DIE (g, at, "\"properties\" must be an object");
    if (json_object_size (properties.node) > MAX_PROPERTIES)
        DIE (g, at, "more than %d properties", MAX_PROPERTIES);
    const char *key;
    json_t *value;
    json_t *iterable = (json_t *)(uintptr_t)properties.node;
    json_object_foreach (iterable, key, value)
    {
        at_t here = {at->file, value, gen_text (g, "%s/%s", properties.pointer, key)};
        if (!gen_is_identifier (key) || strlen (key) > 60)
            DIE (g, &here, "a key must be at most 60 letters, digits and _");
        field_t *field = gen_push (g, &t->fields, &t->n_fields, sizeof *field);
        *field = (field_t){.name = key, .member = s_member (g, key)};
        use_t use = {0};
        s_read_use (g, &here, gen_text (g, "%s.%s", sname, key), false, &use);
        t->fields[t->n_fields - 1].use = use;
    }
    const json_t *required = json_object_get (at->node, "required");
    if (required && !json_is_array (required))
        DIE (g, at, "\"required\" must be a list of keys");
    for (size_t i = 0; i < json_array_size (required); i++) {
        const char *name = json_string_value (json_array_get (required, i));
        field_t *found = NULL;
        for (size_t f = 0; name && f < t->n_fields; f++)
            if (strcmp (t->fields[f].name, name) == 0)
                found = &t->fields[f];
        if (!found || found->use.required)
            DIE (g, at, "\"required\" names \"%s\", which is %s",
                 name ? name : "(not a string)", found ? "there twice" : "no property");
        found->use.required = true;
    }
    for (size_t f = 0; f < t->n_fields; f++) {
        field_t *field = &t->fields[f];
        use_t *use = &field->use;
        bool scalar = !use->array
                      && (use->base == B_INTEGER || use->base == B_NUMBER
                          || use->base == B_BOOLEAN);
        field->has = scalar && (use->nullable || (!use->required && !use->has_default));
        for (size_t o = 0; o < t->n_fields; o++)
            if (o != f
                && ((use->array
                     && strcmp (gen_text (g, "n_%s", field->member),
                                t->fields[o].member)
                            == 0)
                    || (field->has
                        && strcmp (gen_text (g, "has_%s", field->member),
                                   t->fields[o].member)
                               == 0)
                    || strcmp (field->member, t->fields[o].member) == 0))
                DIE (g, at, "the keys \"%s\" and \"%s\" clash in C", field->name,
                     t->fields[o].name);
    }
    t->busy = false;
    t->done = true;
    return t;
}

// ---- one value ----

static void s_read_notes (gen_t *g, const at_t *at, use_t *use)
{
    const char *s;
    if ((s = s_string (g, at, "title")))
        use->title = s;
    if ((s = s_string (g, at, "description")))
        use->text = s;
    if ((s = s_string (g, at, "x-kc-unit")))
        use->unit = s;
    if ((s = s_string (g, at, "x-kc-source")))
        use->source = s;
    if ((s = s_string (g, at, "x-kc-text")))
        use->note = s;
    use->has_lo = s_number (g, at, "x-kc-lo", &use->lo) || use->has_lo;
    use->has_hi = s_number (g, at, "x-kc-hi", &use->hi) || use->has_hi;
    const json_t *secret = json_object_get (at->node, "x-kc-secret");
    if (secret && !json_is_boolean (secret))
        DIE (g, at, "\"x-kc-secret\" must be true or false");
    if (json_is_true (secret))
        use->secret = true;
}

static void s_read_value (gen_t *g, const at_t *at, const char *key, const json_t *v,
                          use_t *use)
{
    bool good = !use->array;
    switch (use->base) {
    case B_STRING:
        good = good && json_is_string (v) && json_string_length (v) <= MAX_TEXT;
        use->value_string = json_string_value (v);
        break;
    case B_INTEGER:
        good = good && json_is_integer (v)
               && (!use->has_min || json_integer_value (v) >= use->int_min)
               && (!use->has_max || json_integer_value (v) <= use->int_max);
        use->value_int = json_integer_value (v);
        break;
    case B_NUMBER:
        good = good && json_is_number (v)
               && (!use->has_min || json_number_value (v) >= use->num_min)
               && (!use->has_max || json_number_value (v) <= use->num_max);
        use->value_num = json_number_value (v);
        break;
    case B_BOOLEAN:
        good = good && json_is_boolean (v);
        use->value_int = json_is_true (v);
        break;
    case B_ENUM:
        use->value_int = 0;
        for (size_t i = 0; json_is_string (v) && i < use->type->n_values; i++)
            if (strcmp (use->type->values[i].text, json_string_value (v)) == 0)
                use->value_int = (json_int_t)i + 1;
        good = good && use->value_int > 0;
        break;
    case B_OBJECT:
    case B_UNION:
        good = false;
        break;
    }
    if (!good)
        DIE (g, at, "\"%s\" does not fit the schema, or is not supported here", key);
}

static void s_read_default (gen_t *g, const at_t *at, use_t *use)
{
    const json_t *v = json_object_get (at->node, "default");
    if (!v || (use->array && json_is_array (v) && json_array_size (v) == 0)
        || (use->nullable && json_is_null (v)))
        return; // an empty array and null are what absence means anyway
    if (use->is_const)
        DIE (g, at, "a const needs no \"default\"");
    s_read_value (g, at, "default", v, use);
    use->has_default = true;
}

static void s_read_string (gen_t *g, const at_t *at, use_t *use)
{
    static const struct {
        const char *word, *kind;
    } s_kinds[] = {
        {"name", "NAME"}, {"expr", "EXPR"}, {"sha256", "SHA256"}, {"id", "ID"}};
    s_only (g, at, "a string", " type minLength maxLength default x-kc-kind ", XKC);
    const char *word = s_string (g, at, "x-kc-kind");
    use->kind = "PLAIN";
    for (size_t i = 0; word && i < sizeof s_kinds / sizeof s_kinds[0]; i++)
        if (strcmp (word, s_kinds[i].word) == 0)
            use->kind = s_kinds[i].kind;
    if (word && strcmp (use->kind, "PLAIN") == 0)
        DIE (g, at, "\"x-kc-kind\": \"%s\" is none of name, expr, sha256, id", word);
    bool sha = strcmp (use->kind, "SHA256") == 0;
    use->length_min = s_count (g, at, "minLength", 0);
    use->length_max = s_count (g, at, "maxLength", sha ? 64 : -1);
    if (use->length_max < 0)
        DIE (g, at, "a string needs \"maxLength\"");
    if (use->length_min > use->length_max
        || (sha && (use->length_min > 64 || use->length_max < 64)))
        DIE (g, at, "no string can have such a length");
}

static void s_read_number (gen_t *g, const at_t *at, use_t *use)
{
    s_only (g, at, "a number", " type minimum maximum default ", XKC);
    if (use->base == B_INTEGER) {
        use->has_min = s_integer (g, at, "minimum", &use->int_min);
        use->has_max = s_integer (g, at, "maximum", &use->int_max);
        if (use->has_min && use->has_max && use->int_min > use->int_max)
            DIE (g, at, "\"minimum\" is above \"maximum\"");
    }
    else {
        use->has_min = s_number (g, at, "minimum", &use->num_min);
        use->has_max = s_number (g, at, "maximum", &use->num_max);
        if (use->has_min && use->has_max && use->num_min > use->num_max)
            DIE (g, at, "\"minimum\" is above \"maximum\"");
    }
}

static void s_read_array (gen_t *g, const at_t *at, const char *sname, bool item,
                          use_t *use)
{
    s_only (g, at, "an array", " type items minItems maxItems default ", XKC);
    if (item)
        DIE (g, at,
             "an array inside an array is not supported; put an object between them");
    at_t items = s_down (g, at, "items");
    json_int_t least = s_count (g, at, "minItems", 0),
               most = s_count (g, at, "maxItems", -1);
    bool nullable = use->nullable;
    if (!json_is_object (items.node))
        DIE (g, at, "an array needs \"items\"");
    if (most < 0)
        DIE (g, at, "an array needs \"maxItems\"");
    if (least > most)
        DIE (g, at, "\"minItems\" is above \"maxItems\"");
    use_t inner = {0};
    s_read_use (g, &items, sname, true, &inner);
    if (inner.nullable || inner.has_default)
        DIE (g, &items, "items can be neither null nor absent");
    inner.title = inner.text = NULL; // those of the item say nothing about the property
    *use = inner;
    use->array = true;
    use->nullable = nullable;
    use->items_min = least;
    use->items_max = most;
}

// "type": one word, or one word and "null"; returns the word, NULL when there is no
// "type".
static const char *s_read_type_word (gen_t *g, const at_t *at, bool *nullable)
{
    const json_t *type = json_object_get (at->node, "type");
    if (!type || json_is_string (type))
        return json_string_value (type);
    const char *word = NULL;
    for (size_t i = 0; i < json_array_size (type); i++) {
        const char *w = json_string_value (json_array_get (type, i));
        if (w && strcmp (w, "null") == 0)
            *nullable = true;
        else if (w && !word)
            word = w;
        else
            DIE (g, at, "\"type\" may be one type, or one type and \"null\"");
    }
    if (!word)
        DIE (g, at, "\"type\" may be one type, or one type and \"null\"");
    return word;
}

static void s_read_const (gen_t *g, const at_t *at, use_t *use)
{
    s_only (g, at, "a const", " type const ", XKC);
    const json_t *v = json_object_get (at->node, "const");
    const char *word = s_read_type_word (g, at, &use->nullable);
    use->base = json_is_string (v)    ? B_STRING
                : json_is_integer (v) ? B_INTEGER
                                      : B_BOOLEAN;
    if (!json_is_string (v) && !json_is_integer (v) && !json_is_boolean (v))
        DIE (g, at, "\"const\" may be a string, an integer or a boolean");
    static const char *const s_words[] = {"string", "integer", "number", "boolean"};
    if (use->nullable || (word && strcmp (word, s_words[use->base]) != 0))
        DIE (g, at, "\"type\" and \"const\" do not fit");
    use->kind = "PLAIN";
    use->length_max = (json_int_t)json_string_length (v);
    s_read_value (g, at, "const", v, use);
    use->is_const = true;
}

static void s_read_use (gen_t *g, const at_t *at, const char *sname, bool item,
                        use_t *use)
{
    if (!json_is_object (at->node))
        DIE (g, at, "a schema must be an object");
    use->kind = "PLAIN";
    if (json_object_get (at->node, "$ref")) {
        s_only (g, at, "a $ref", " $ref default ", XKC);
        const char *target_name;
        at_t target = s_resolve (g, at, &target_name);
        for (int hops = 0;
             json_is_object (target.node) && json_object_get (target.node, "$ref");
             hops++) {
            s_only (g, &target, "a definition that is a $ref", " $ref ", "");
            if (hops == MAX_NESTING)
                DIE (g, at, "\"$ref\" goes in a circle");
            at_t from = target;
            target = s_resolve (g, &from, &target_name);
        }
        const type_t *known = s_type_of (g, target.node);
        if (known && known->busy)
            DIE (g, at, "recursion is not supported");
        s_read_use (g, &target, target_name, item, use);
        if (use->type && use->base != B_ENUM && !use->array)
            use->title = use->text = NULL; // they are shown with the type
        s_read_notes (g, at, use);
        s_read_default (g, at, use);
        return;
    }
    if (json_object_get (at->node, "oneOf")) {
        use->base = B_UNION;
        use->type = s_read_union (g, at, sname);
    }
    else if (json_object_get (at->node, "enum")) {
        s_only (g, at, "an enum", " type enum default ", XKC);
        bool null_word = false, null_value = false;
        const char *word = s_read_type_word (g, at, &null_word);
        use->base = B_ENUM;
        use->type = s_read_enum (g, at, sname, &null_value);
        if (word && (strcmp (word, "string") != 0 || null_word != null_value))
            DIE (g, at, "\"type\" and \"enum\" do not fit");
        use->nullable = null_value;
    }
    else if (json_object_get (at->node, "const")) {
        s_read_const (g, at, use);
    }
    else {
        const char *word = s_read_type_word (g, at, &use->nullable);
        if (!word)
            DIE (g, at, "a schema needs one of type, enum, const, $ref, oneOf");
        if (strcmp (word, "string") == 0) {
            use->base = B_STRING;
            s_read_string (g, at, use);
        }
        else if (strcmp (word, "integer") == 0 || strcmp (word, "number") == 0) {
            use->base = word[0] == 'i' ? B_INTEGER : B_NUMBER;
            s_read_number (g, at, use);
        }
        else if (strcmp (word, "boolean") == 0) {
            use->base = B_BOOLEAN;
            s_only (g, at, "a boolean", " type default ", XKC);
        }
        else if (strcmp (word, "array") == 0) {
            s_read_array (g, at, sname, item, use);
        }
        else if (strcmp (word, "object") == 0) {
            use->base = B_OBJECT;
            use->type = s_read_object (g, at, sname);
        }
        else {
            DIE (g, at, "\"type\": \"%s\" is not supported", word);
        }
    }
    s_read_notes (g, at, use);
    s_read_default (g, at, use);
}

// ---- files ----

void gen_read_file (gen_t *g, file_t *file)
{
    at_t root = {file, file->root, ""};
    const char *id = s_string (g, &root, "$id");
    if (id && strcmp (id, file->base) != 0)
        DIE (g, &root, "\"$id\" must be \"%s\"", file->base);
    const char *draft = s_string (g, &root, "$schema");
    if (!draft || strcmp (draft, "https://json-schema.org/draft/2020-12/schema") != 0)
        DIE (g, &root,
             "\"$schema\" must be https://json-schema.org/draft/2020-12/schema");
    at_t defs = s_down (g, &root, "$defs");
    if (json_object_get (file->root, "type"))
        s_read_object (g, &root, file->stem);
    else
        s_only (g, &root, "a file without a root object", " $schema $id $defs ", "");
    const char *name;
    json_t *node;
    json_t *iterable = (json_t *)(uintptr_t)defs.node;
    json_object_foreach (iterable, name, node)
    {
        at_t at = {file, node, gen_text (g, "/$defs/%s", name)};
        if (!gen_is_identifier (name) || strlen (name) > 60)
            DIE (g, &at,
                 "the name of a definition must be at most 60 letters, digits and _");
        use_t use = {0}; // makes the type when it is one, and checks it when it is not
        s_read_use (g, &at, gen_text (g, "%s.%s", file->stem, name), false, &use);
    }
}
