// kc_text_plan.c - plan lines that declare: const, scratch, prepared, view, tensormap,
// options, order

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/model/kc_expr.h"
#include "common/model/kc_finding.h"
#include "common/model/kc_program.h"
#include "common/model/kc_text_fields.h"
#include "common/model/kc_text_parser.h"
#include "common/util/kc_mem.h"

static const char s_kind_constant[] = "constant", s_kind_buffer[] = "buffer",
                  s_kind_view[] = "view", s_kind_map[] = "tensor map";

// Add the number of the present line to one of the line tables.
static void s_note_line (kc_text_parser_t *s, int **lines, size_t *n)
{
    *(int *)kc_push (lines, n, sizeof (int)) = s->line;
}

int kc_text_dtype_shape (kc_text_parser_t *s, const char **p_p,
                         kc_program_dtype_t *dtype, char ***shape, size_t *n)
{
    char *word = kc_text_word (p_p);
    *dtype = (kc_program_dtype_t)kc_enum_parse (&kc_program_dtype_type, word);
    if (!*dtype) {
        char *known = kc_suggest (word ? word : "", kc_program_dtype_type.values,
                                  kc_program_dtype_type.n_values);
        kc_text_bad (s, "an element type is expected, found '%.60s'%s",
                     word ? word : *p_p, known);
        free (known);
        free (word);
        return -1;
    }
    free (word);
    const char *end = **p_p == '[' ? kc_text_close (*p_p) : NULL;
    if (!end)
        return kc_text_bad (
            s, "a shape as in f32[B, D] is expected after the element type");
    char *inner = kc_text_trim (*p_p + 1, end);
    kc_err_t err;
    int rc = kc_text_split (inner, shape, n, &err);
    free (inner);
    if (rc < 0)
        return kc_text_bad (s, "%s", err.text);
    for (size_t i = 0; i < *n && rc == 0; i++)
        rc = kc_text_expr (s, (*shape)[i]);
    if (rc == 0 && *n > 8)
        rc = kc_text_bad (s, "a tensor has at most 8 dimensions");
    if (rc < 0) {
        kc_text_free_list (*shape, *n);
        *shape = NULL;
        *n = 0;
        return -1;
    }
    *p_p = end + 1;
    kc_text_space (p_p);
    return 0;
}

int kc_text_pair (kc_text_parser_t *s, const char **p_p, char **key_p, char **value_p)
{
    *key_p = *value_p = NULL;
    kc_text_space (p_p);
    if (!**p_p)
        return 0;
    const char *p = *p_p;
    while (isalnum ((unsigned char)*p) || *p == '_')
        p++;
    if (p == *p_p)
        return kc_text_bad (s, "key=value or a word is expected at '%.60s'", *p_p);
    *key_p = kc_strndup (*p_p, (size_t)(p - *p_p));
    if (*p == '=' && p[1] != '=') {
        const char *from = ++p;
        if (*p == '"') {
            const char *end = strchr (p + 1, '"');
            if (!end) {
                free (*key_p);
                *key_p = NULL;
                return kc_text_bad (s, "the closing \" is missing");
            }
            *value_p = kc_strndup (p + 1, (size_t)(end - p - 1));
            p = end + 1;
        }
        else {
            while (*p && !isspace ((unsigned char)*p)) {
                const char *end = *p == '(' || *p == '[' ? kc_text_close (p) : p;
                if (!end)
                    break;
                p = end + 1;
            }
            *value_p = kc_text_trim (from, p);
            if (!**value_p || (*p && !isspace ((unsigned char)*p))) {
                kc_text_bad (s,
                             *p ? "a bracket does not close in the value of %s"
                                : "%s= has no value",
                             *key_p);
                free (*key_p);
                free (*value_p);
                *key_p = *value_p = NULL;
                return -1;
            }
        }
    }
    *p_p = p;
    return 1;
}

// ---- const ----

static kc_program_constant_type_t s_infer_type (const kc_text_parser_t *s,
                                                const char *text)
{
    kc_expr_t *e = kc_expr_parse (text, NULL);
    if (!e)
        return KC_PROGRAM_CONSTANT_TYPE_INT;
    kc_program_constant_type_t type =
        kc_expr_is_bool (e)   ? KC_PROGRAM_CONSTANT_TYPE_BOOL
        : kc_expr_is_real (e) ? KC_PROGRAM_CONSTANT_TYPE_FLOAT
                              : KC_PROGRAM_CONSTANT_TYPE_INT;
    const char *name;
    char kind;
    for (size_t i = 0; type == KC_PROGRAM_CONSTANT_TYPE_INT && strncmp (text, "int", 3)
                       && (name = kc_expr_mention (e, i, &kind)) != NULL;
         i++) {
        const kc_program_constant_t *c =
            kind == 'n' ? kc_program_constant (s->program, name) : NULL;
        if (c && c->type == KC_PROGRAM_CONSTANT_TYPE_FLOAT)
            type = c->type;
    }
    kc_expr_destroy (&e);
    return type;
}

static int s_const (kc_text_parser_t *s, bool device, const char *p)
{
    char *name = kc_text_word (&p);
    kc_program_constant_type_t type = KC_PROGRAM_CONSTANT_TYPE_UNSET;
    if (name && (isalpha ((unsigned char)*p) || *p == '_')) { // const float NAME = ...
        type = (kc_program_constant_type_t)kc_enum_parse (
            &kc_program_constant_type_type, name);
        if (!type) {
            kc_text_bad (s, "the type of a constant is int, float or bool, not '%.60s'",
                         name);
            free (name);
            return -1;
        }
        free (name);
        name = kc_text_word (&p);
    }
    int rc = 0;
    if (!name || *p != '=')
        rc = kc_text_bad (s, "a constant is written as: const NAME = EXPRESSION");
    const char *value = p + 1;
    if (rc == 0) {
        kc_text_space (&value);
        rc = kc_text_expr (s, value);
    }
    if (kc_text_declare (s, name ? name : "", s_kind_constant) < 0)
        rc = -1;
    if (rc == 0) {
        kc_program_constant_t *c =
            kc_push (&s->program->constants, &s->program->n_constants, sizeof *c);
        kc_type_init (&kc_program_constant_type, c);
        c->name = kc_strdup (name);
        c->value = kc_strdup (value);
        c->type = type ? type : s_infer_type (s, value);
        c->device = device;
        s_note_line (s, &s->out->constant_lines, &s->out->n_constant_lines);
    }
    free (name);
    return rc;
}

// ---- scratch and prepared ----

static void s_copy_shape (kc_program_buffer_t *b, char *const *shape, size_t n)
{
    for (size_t i = 0; i < n; i++)
        *(char **)kc_push (&b->shape, &b->n_shape, sizeof (char *)) =
            kc_strdup (shape[i]);
}

// "like TENSOR": element type and shape of a task tensor or an earlier buffer.
static int s_like (kc_text_parser_t *s, kc_program_buffer_t *b, const char **p_p)
{
    char *of = kc_text_word (p_p);
    bool found = false;
    for (size_t i = 0; of && !found && i < s->program->n_buffers; i++)
        if (!strcmp (s->program->buffers[i].name, of)) {
            found = true;
            b->dtype = s->program->buffers[i].dtype;
            s_copy_shape (b, s->program->buffers[i].shape,
                          s->program->buffers[i].n_shape);
        }
    const kc_task_text_t *task = s->out->task;
    for (size_t i = 0; of && !found && task && i < task->n_tensors; i++)
        if (!strcmp (task->tensors[i].name, of)) {
            found = true;
            b->dtype = task->tensors[i].dtype;
            s_copy_shape (b, task->tensors[i].shape, task->tensors[i].n_shape);
        }
    for (size_t i = 0; of && !found && s->card && i < s->card->n_tensors; i++)
        if (!strcmp (s->card->tensors[i].name, of)) {
            found = true;
            b->dtype = s->card->tensors[i].dtype;
            s_copy_shape (b, s->card->tensors[i].shape, s->card->tensors[i].n_shape);
        }
    int rc = found ? 0
                   : kc_text_bad (s,
                                  "like names no tensor known here: '%.60s'; write the "
                                  "element type and shape",
                                  of ? of : "");
    free (of);
    return rc;
}

static int s_buffer_tail (kc_text_parser_t *s, kc_program_buffer_t *b, const char *p)
{
    if (*p == '=') {
        p++;
        char *zero = kc_text_word (&p);
        int rc = 0;
        if (!zero || strcmp (zero, "0"))
            rc = kc_text_bad (s, "a buffer can only be set to 0 (= 0); use a fill step "
                                 "for other values");
        else if (b->prepared)
            rc = kc_text_bad (
                s, "a prepared buffer is written by prepare; = 0 is for scratch");
        free (zero);
        if (rc < 0)
            return -1;
        b->init = KC_PROGRAM_BUFFER_INIT_ZERO;
    }
    char *key, *value;
    int more;
    while ((more = kc_text_pair (s, &p, &key, &value)) > 0) {
        kc_err_t err;
        int rc =
            strcmp (key, "align") ? kc_text_bad (
                s, "unknown word '%.60s' after a buffer; = 0 and align=N are possible",
                key)
            : kc_text_set (&kc_program_buffer_type, b, key, value, &err) < 0
                ? kc_text_bad (s, "%s", err.text)
                : 0;
        free (key);
        free (value);
        if (rc < 0)
            return -1;
    }
    return more;
}

static int s_buffer (kc_text_parser_t *s, bool prepared, const char *p)
{
    kc_program_buffer_t b = {0};
    kc_type_init (&kc_program_buffer_type, &b);
    b.prepared = prepared;
    b.name = kc_text_word (&p);
    int rc = kc_text_declare (s, b.name ? b.name : "", s_kind_buffer);
    if (rc == 0 && !strncmp (p, "like ", 5)) {
        p += 5;
        rc = s_like (s, &b, &p);
    }
    else if (rc == 0)
        rc = kc_text_dtype_shape (s, &p, &b.dtype, &b.shape, &b.n_shape);
    if (rc == 0)
        rc = s_buffer_tail (s, &b, p);
    if (rc < 0) {
        kc_type_clear (&kc_program_buffer_type, &b);
        return -1;
    }
    *(kc_program_buffer_t *)kc_push (&s->program->buffers, &s->program->n_buffers,
                                     sizeof b) = b;
    s_note_line (s, &s->out->buffer_lines, &s->out->n_buffer_lines);
    return 0;
}

// ---- view ----

// The word "strides" at top level of 'p', or the end.
static const char *s_strides_word (const char *p)
{
    for (const char *q = p; *q; q++) {
        const char *end = *q == '(' || *q == '[' ? kc_text_close (q) : NULL;
        if (end)
            q = end;
        else if (!strncmp (q, "strides", 7)
                 && (q == p || isspace ((unsigned char)q[-1]))
                 && (isspace ((unsigned char)q[7]) || q[7] == '['))
            return q;
    }
    return p + strlen (p);
}

static int s_list (kc_text_parser_t *s, const char **p_p, char ***items, size_t *n)
{
    const char *end = **p_p == '[' ? kc_text_close (*p_p) : NULL;
    if (!end)
        return kc_text_bad (s, "a list as in [B, D] is expected at '%.60s'", *p_p);
    char *inner = kc_text_trim (*p_p + 1, end);
    kc_err_t err;
    int rc = kc_text_split (inner, items, n, &err);
    free (inner);
    if (rc < 0)
        return kc_text_bad (s, "%s", err.text);
    for (size_t i = 0; i < *n; i++)
        if (kc_text_expr (s, (*items)[i]) < 0)
            return -1;
    *p_p = end + 1;
    kc_text_space (p_p);
    return 0;
}

static int s_view_parts (kc_text_parser_t *s, kc_program_view_t *v, const char *p)
{
    if (s_list (s, &p, &v->shape, &v->n_shape) < 0)
        return -1;
    if (*p != '=')
        return kc_text_bad (
            s,
            "a view is written as: view NAME[E, E] = TENSOR + OFFSET strides [E, E]");
    p++;
    v->of = kc_text_word (&p);
    if (!kc_text_is_name (v->of))
        return kc_text_bad (s, "the name of a tensor is expected after =");
    if (*p == '+') {
        const char *end = s_strides_word (p + 1);
        v->offset = kc_text_trim (p + 1, end);
        if (kc_text_expr (s, v->offset) < 0)
            return -1;
        p = end;
    }
    if (!strncmp (p, "strides", 7)) {
        p += 7;
        kc_text_space (&p);
        if (s_list (s, &p, &v->strides, &v->n_strides) < 0)
            return -1;
        if (v->n_strides != v->n_shape)
            return kc_text_bad (s, "%zu strides for %zu dimensions", v->n_strides,
                                v->n_shape);
    }
    if (*p)
        return kc_text_bad (
            s, "nothing is expected at '%.60s'; an offset is written as TENSOR + E", p);
    return 0;
}

static int s_view (kc_text_parser_t *s, const char *p)
{
    kc_program_view_t v = {0};
    kc_type_init (&kc_program_view_type, &v);
    v.name = kc_text_word (&p);
    if (kc_text_declare (s, v.name ? v.name : "", s_kind_view) < 0
        || s_view_parts (s, &v, p) < 0) {
        kc_type_clear (&kc_program_view_type, &v);
        return -1;
    }
    *(kc_program_view_t *)kc_push (&s->program->views, &s->program->n_views, sizeof v) =
        v;
    s_note_line (s, &s->out->view_lines, &s->out->n_view_lines);
    return 0;
}

// ---- key=value lines ----

static int s_pairs (kc_text_parser_t *s, const char *p, const kc_type_t *type,
                    void *object)
{
    char *key, *value;
    int more;
    while ((more = kc_text_pair (s, &p, &key, &value)) > 0) {
        kc_err_t err;
        int rc = kc_text_set (type, object, key, value, &err);
        free (key);
        free (value);
        if (rc < 0)
            return kc_text_bad (s, "%s", err.text);
    }
    return more;
}

static int s_tensormap (kc_text_parser_t *s, const char *p)
{
    kc_program_tensormap_t m = {0};
    kc_type_init (&kc_program_tensormap_type, &m);
    m.name = kc_text_word (&p);
    int rc = kc_text_declare (s, m.name ? m.name : "", s_kind_map);
    if (rc == 0 && *p != '=')
        rc = kc_text_bad (
            s, "a tensor map is written as: tensormap NAME = TENSOR box=[E, E] ...");
    if (rc == 0) {
        p++;
        m.of = kc_text_word (&p);
        rc = kc_text_is_name (m.of)
                 ? s_pairs (s, p, &kc_program_tensormap_type, &m)
                 : kc_text_bad (s, "the name of a tensor is expected after =");
    }
    if (rc == 0 && !m.n_box)
        rc = kc_text_bad (
            s, "a tensor map needs box=[E, E], the tile in elements, innermost first");
    if (rc < 0) {
        kc_type_clear (&kc_program_tensormap_type, &m);
        return -1;
    }
    *(kc_program_tensormap_t *)kc_push (&s->program->tensormaps,
                                        &s->program->n_tensormaps, sizeof m) = m;
    return 0;
}

static int s_order (kc_text_parser_t *s, const char *p)
{
    kc_err_t err;
    if (kc_text_set (&kc_program_type, s->program, "order", p, &err) < 0)
        return kc_text_bad (s, "%s", err.text);
    return 0;
}

int kc_text_plan_line (kc_text_parser_t *s, const char *word, const char *rest)
{
    int rc;
    if (!strcmp (word, "const") || !strcmp (word, "host"))
        rc = s_const (s, word[0] == 'c', rest);
    else if (!strcmp (word, "scratch") || !strcmp (word, "prepared"))
        rc = s_buffer (s, word[0] == 'p', rest);
    else if (!strcmp (word, "view"))
        rc = s_view (s, rest);
    else if (!strcmp (word, "tensormap"))
        rc = s_tensormap (s, rest);
    else if (!strcmp (word, "options")) {
        if (!s->program->compile)
            s->program->compile = kc_type_new (&kc_program_compile_type);
        rc = s_pairs (s, rest, &kc_program_compile_type, s->program->compile);
    }
    else if (!strcmp (word, "order"))
        rc = s_order (s, rest);
    else
        return 0;
    return rc < 0 ? -1 : 1;
}
