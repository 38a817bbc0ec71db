// kc_text_task.c - the task lines of a cuda task: task, dim, input, param, output,
// inout, check, policy, tune

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/model/kc_expr.h"
#include "common/model/kc_finding.h"
#include "common/model/kc_text_fields.h"
#include "common/model/kc_text_parser.h"
#include "common/util/kc_mem.h"

static kc_task_text_t *s_task (kc_text_parser_t *s)
{
    if (!s->out->task)
        s->out->task = kc_calloc (1, sizeof *s->out->task);
    return s->out->task;
}

static void s_free_dims (kc_task_dim_t *dims, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free (dims[i].name);
        free (dims[i].value);
    }
    free (dims);
}

void kc_task_text_free (kc_task_text_t *task)
{
    if (!task)
        return;
    free (task->name);
    free (task->text);
    s_free_dims (task->dims, task->n_dims);
    for (size_t i = 0; i < task->n_tensors; i++) {
        free (task->tensors[i].name);
        kc_text_free_list (task->tensors[i].shape, task->tensors[i].n_shape);
        kc_type_clear (&kc_card_fill_type, &task->tensors[i].fill);
    }
    free (task->tensors);
    for (size_t i = 0; i < task->n_checks; i++)
        s_free_dims (task->checks[i].dims, task->checks[i].n_dims);
    free (task->checks);
    for (size_t i = 0; i < task->n_tunables; i++) {
        free (task->tunables[i].name);
        free (task->tunables[i].method);
        kc_text_free_list (task->tunables[i].values, task->tunables[i].n_values);
    }
    free (task->tunables);
    free (task);
}

static int s_task_line (kc_text_parser_t *s, const char *rest, const char *comment)
{
    kc_task_text_t *t = s_task (s);
    if (t->line)
        return kc_text_bad (s, "the task is named twice, first in line %d", t->line);
    if (!*rest)
        return kc_text_bad (s, "task needs a name: task softmax ; what it computes");
    for (const char *p = rest; *p; p++)
        if (!isalnum ((unsigned char)*p) && !strchr ("_-.", *p))
            return kc_text_bad (
                s, "a task's name has letters, digits and _ - . only, '%.60s' has more",
                rest);
    if (strlen (rest) > 128)
        return kc_text_bad (s, "a task's name has at most 128 characters");
    t->line = s->line;
    t->name = kc_strdup (rest);
    t->text =
        comment && *comment ? kc_utf8_clean (comment, strlen (comment), 500) : NULL;
    return 0;
}

static int s_dim (kc_text_parser_t *s, const char *p)
{
    char *name = kc_text_word (&p);
    int rc = 0;
    if (!name || *p != '=')
        rc = kc_text_bad (s, "a size is written as: dim B = 4096");
    const char *value = p + 1;
    if (rc == 0) {
        kc_text_space (&value);
        rc = kc_text_expr (s, value);
    }
    if (rc == 0)
        rc = kc_text_declare (s, name, "dim");
    kc_task_text_t *t = s_task (s);
    if (rc == 0 && t->n_dims == KC_TEXT_DIMS)
        rc = kc_text_bad (s, "more than %d dims", KC_TEXT_DIMS);
    if (rc == 0) {
        kc_task_dim_t *d = kc_push (&t->dims, &t->n_dims, sizeof *d);
        *d = (kc_task_dim_t){.name = name, .value = kc_strdup (value), .line = s->line};
        return 0;
    }
    free (name);
    return rc;
}

// ---- tensors ----

static int s_number (const char *text, double *out)
{
    if (!strcmp (text, "inf") || !strcmp (text, "-inf") || !strcmp (text, "nan"))
        return -1;
    char *end;
    errno = 0;
    *out = strtod (text, &end);
    return errno || *end || end == text || !isfinite (*out) ? -1 : 0;
}

// "normal(0, 1)": kind and numbers.
static int s_fill (kc_text_parser_t *s, const char *text, kc_card_fill_t *fill)
{
    static const int counts[] = {
        0, 2, 2, 2,
        1, 0, 1}; // by kind: uniform normal integer bool permutation constant
    const char *p = text;
    char *kind = kc_text_word (&p);
    fill->kind = (kc_card_fill_kind_t)kc_enum_parse (&kc_card_fill_kind_type, kind);
    if (!fill->kind || (size_t)fill->kind >= KC_COUNT (counts)) {
        char *known = kc_suggest (kind ? kind : "", kc_card_fill_kind_type.values,
                                  kc_card_fill_kind_type.n_values);
        kc_text_bad (s, "unknown fill '%.60s'%s", text, known);
        free (known);
        free (kind);
        return -1;
    }
    int want = counts[fill->kind], rc = 0;
    char **items = NULL;
    size_t n = 0;
    const char *end = *p == '(' ? kc_text_close (p) : NULL;
    if (end && !end[1]) {
        char *inner = kc_text_trim (p + 1, end);
        rc = kc_text_split (inner, &items, &n, NULL);
        free (inner);
    }
    else if (*p)
        rc = -1;
    double v[2] = {0, 0};
    char **bounds[2] = {&fill->lo, &fill->hi};
    bool fixed = true; // both bounds are numbers
    for (size_t i = 0; i < n && i < 2 && rc == 0; i++)
        if (s_number (items[i], &v[i]) < 0) {
            fixed = false;
            if (fill->kind == KC_CARD_FILL_KIND_INTEGER)
                kc_set (bounds[i], items[i]); // an expression of the dims
            else
                rc = -1;
        }
    kc_text_free_list (items, n);
    if (rc < 0 || n != (size_t)want)
        rc = kc_text_bad (s,
                          "fill %s takes %d number%s in parentheses, as in normal(0, "
                          "1), uniform(-1, 1), integer(0, N - 1), "
                          "bool(0.5), constant(0), permutation",
                          kind, want, want == 1 ? "" : "s");
    else if ((fill->kind == KC_CARD_FILL_KIND_UNIFORM
              || fill->kind == KC_CARD_FILL_KIND_INTEGER)
             && fixed && v[0] > v[1])
        rc = kc_text_bad (s, "fill %s: the lower bound comes first", kind);
    else if (fill->kind == KC_CARD_FILL_KIND_BOOL && (v[0] < 0 || v[0] > 1))
        rc = kc_text_bad (s, "fill bool takes a probability from 0 to 1");
    else if (fill->kind == KC_CARD_FILL_KIND_NORMAL && v[1] < 0)
        rc = kc_text_bad (s, "fill normal: the standard deviation is not negative");
    else if (fill->kind == KC_CARD_FILL_KIND_INTEGER
             && (floor (v[0]) != v[0] || floor (v[1]) != v[1]))
        rc = kc_text_bad (s, "fill integer takes whole numbers");
    free (kind);
    fill->has_a = want > 0;
    fill->a = v[0];
    fill->has_b = want > 1;
    fill->b = v[1];
    return rc;
}

static int s_tensor_tail (kc_text_parser_t *s, kc_task_tensor_t *t, const char *p)
{
    char *key, *value;
    int more;
    while ((more = kc_text_pair (s, &p, &key, &value)) > 0) {
        int rc = 0;
        if (strcmp (key, "fill") || !value)
            rc = kc_text_bad (
                s, "unknown word '%.60s' after a tensor; fill=normal(0, 1) is possible",
                key);
        else if (t->has_fill || t->role == KC_CARD_TENSOR_ROLE_OUTPUT)
            rc = kc_text_bad (
                s, t->has_fill ? "fill is given twice"
                               : "an output is written by the kernel, it has no fill; "
                                 "inout is read and written");
        else
            rc = s_fill (s, value, &t->fill);
        t->has_fill = true;
        free (key);
        free (value);
        if (rc < 0)
            return -1;
    }
    return more;
}

static int s_tensor (kc_text_parser_t *s, const char *word, const char *p)
{
    kc_task_text_t *task = s_task (s);
    kc_task_tensor_t t = {.line = s->line};
    t.role = (kc_card_tensor_role_t)kc_enum_parse (&kc_card_tensor_role_type, word);
    kc_type_init (&kc_card_fill_type, &t.fill);
    t.name = kc_text_word (&p);
    int rc = kc_text_declare (s, t.name ? t.name : "", "tensor");
    if (rc == 0)
        rc = kc_text_dtype_shape (s, &p, &t.dtype, &t.shape, &t.n_shape);
    if (rc == 0)
        rc = s_tensor_tail (s, &t, p);
    if (rc == 0 && task->n_tensors == KC_TEXT_TENSORS)
        rc = kc_text_bad (s, "more than %d tensors", KC_TEXT_TENSORS);
    if (rc < 0) {
        free (t.name);
        kc_text_free_list (t.shape, t.n_shape);
        kc_type_clear (&kc_card_fill_type, &t.fill);
        return -1;
    }
    *(kc_task_tensor_t *)kc_push (&task->tensors, &task->n_tensors, sizeof t) = t;
    return 0;
}

// ---- checks, policy, tunables ----

static int s_check (kc_text_parser_t *s, const char *p)
{
    kc_task_text_t *task = s_task (s);
    if (task->n_checks == KC_TEXT_CHECKS)
        return kc_text_bad (s, "more than %d check lines", KC_TEXT_CHECKS);
    kc_task_check_t c = {.line = s->line};
    char *key, *value;
    int more, rc = 0;
    while (rc == 0 && (more = kc_text_pair (s, &p, &key, &value)) != 0) {
        if (more < 0) {
            rc = -1;
            break;
        }
        if (!value)
            rc = kc_text_bad (s, "a check gives sizes, as in: check B=37 D=65");
        else
            rc = kc_text_expr (s, value);
        for (size_t i = 0; rc == 0 && i < c.n_dims; i++)
            if (!strcmp (c.dims[i].name, key))
                rc = kc_text_bad (s, "%s is given twice", key);
        kc_task_dim_t *d = kc_push (&c.dims, &c.n_dims, sizeof *d);
        *d = (kc_task_dim_t){.name = key, .value = value, .line = s->line};
    }
    if (rc == 0 && c.n_dims == 0)
        rc = kc_text_bad (s, "a check gives sizes, as in: check B=37 D=65");
    if (rc < 0) {
        s_free_dims (c.dims, c.n_dims);
        return -1;
    }
    *(kc_task_check_t *)kc_push (&task->checks, &task->n_checks, sizeof c) = c;
    return 0;
}

static int s_policy (kc_text_parser_t *s, const char *rest)
{
    kc_task_text_t *task = s_task (s);
    kc_card_policy_t policy =
        (kc_card_policy_t)kc_enum_parse (&kc_card_policy_type, rest);
    if (!policy) {
        char *known =
            kc_suggest (rest, kc_card_policy_type.values, kc_card_policy_type.n_values);
        kc_text_bad (s, "unknown policy '%.60s'%s", rest, known);
        free (known);
        return -1;
    }
    if (task->policy)
        return kc_text_bad (s, "the policy is given twice, first in line %d",
                            task->policy_line);
    task->policy = policy;
    task->policy_line = s->line;
    return 0;
}

// The values between "in" and "for", separated by spaces or commas.
static int s_tune_values (kc_text_parser_t *s, kc_task_tunable_t *t, const char **p_p)
{
    const char *p = *p_p;
    for (;;) {
        while (isspace ((unsigned char)*p) || *p == ',')
            p++;
        if (!*p || (!strncmp (p, "for", 3) && isspace ((unsigned char)p[3])))
            break;
        const char *from = p;
        while (*p && !isspace ((unsigned char)*p) && *p != ',')
            p++;
        char *value = kc_strndup (from, (size_t)(p - from));
        kc_value_t ignored;
        kc_err_t err;
        kc_expr_t *e = kc_expr_parse (value, &err);
        bool good = e && kc_expr_eval (e, NULL, &ignored, &err) == 0;
        kc_expr_destroy (&e);
        bool twice = false;
        for (size_t i = 0; i < t->n_values; i++)
            twice = twice || !strcmp (t->values[i], value);
        if (!good || twice || t->n_values == 32) {
            if (!good)
                kc_text_bad (s, "the value '%.60s' of a tunable is no number: %s",
                             value, err.text);
            else
                kc_text_bad (s,
                             twice ? "the value '%.60s' is given twice"
                                   : "more than 32 values, from '%.60s' on",
                             value);
            free (value);
            return -1;
        }
        *(char **)kc_push (&t->values, &t->n_values, sizeof (char *)) = value;
    }
    *p_p = p;
    return t->n_values ? 0
                       : kc_text_bad (s, "a tunable needs values: tune BLOCK in 128 64 "
                                         "256 for Launch_Tuning");
}

static int s_tune_parts (kc_text_parser_t *s, kc_task_tunable_t *t, const char *p)
{
    char *in = kc_text_word (&p);
    int rc =
        in && !strcmp (in, "in")
            ? s_tune_values (s, t, &p)
            : kc_text_bad (
                s,
                "a tunable is written as: tune BLOCK in 128 64 256 for Launch_Tuning");
    free (in);
    if (rc < 0)
        return -1;
    if (!*p) {
        t->method = kc_strdup ("Launch_Tuning");
        return 0;
    }
    p += 3; // for
    t->method = kc_text_word (&p);
    if (!t->method || *p || strlen (t->method) > 64)
        return kc_text_bad (s, "one method's name is expected after for");
    return 0;
}

static int s_tune (kc_text_parser_t *s, const char *p)
{
    kc_task_text_t *task = s_task (s);
    kc_task_tunable_t t = {.line = s->line};
    t.name = kc_text_word (&p);
    int rc = kc_text_declare (s, t.name ? t.name : "", "tunable");
    if (rc == 0)
        rc = s_tune_parts (s, &t, p);
    if (rc == 0 && task->n_tunables == KC_TEXT_TUNABLES)
        rc = kc_text_bad (s, "more than %d tunables", KC_TEXT_TUNABLES);
    if (rc < 0) {
        free (t.name);
        free (t.method);
        kc_text_free_list (t.values, t.n_values);
        return -1;
    }
    *(kc_task_tunable_t *)kc_push (&task->tunables, &task->n_tunables, sizeof t) = t;
    // a tunable is a constant of the program whose default is the first value
    kc_program_constant_t *c =
        kc_push (&s->program->constants, &s->program->n_constants, sizeof *c);
    kc_type_init (&kc_program_constant_type, c);
    c->name = kc_strdup (t.name);
    c->value = kc_strdup (t.values[0]);
    c->type = KC_PROGRAM_CONSTANT_TYPE_INT;
    for (size_t i = 0; i < t.n_values; i++) {
        kc_expr_t *e = kc_expr_parse (t.values[i], NULL);
        if (e && kc_expr_is_real (e))
            c->type = KC_PROGRAM_CONSTANT_TYPE_FLOAT;
        else if (e && kc_expr_is_bool (e))
            c->type = KC_PROGRAM_CONSTANT_TYPE_BOOL;
        kc_expr_destroy (&e);
    }
    *(int *)kc_push (&s->out->constant_lines, &s->out->n_constant_lines, sizeof (int)) =
        s->line;
    return 0;
}

int kc_text_task_line (kc_text_parser_t *s, const char *word, const char *rest,
                       const char *comment)
{
    int rc;
    if (!strcmp (word, "task"))
        rc = s_task_line (s, rest, comment);
    else if (!strcmp (word, "dim"))
        rc = s_dim (s, rest);
    else if (!strcmp (word, "input") || !strcmp (word, "param")
             || !strcmp (word, "output") || !strcmp (word, "inout"))
        rc = s_tensor (s, word, rest);
    else if (!strcmp (word, "check"))
        rc = s_check (s, rest);
    else if (!strcmp (word, "policy"))
        rc = s_policy (s, rest);
    else if (!strcmp (word, "tune"))
        rc = s_tune (s, rest);
    else
        return 0;
    return rc < 0 ? -1 : 1;
}

// ---- element types and the default policy ----

const char *kc_dtype_name (kc_program_dtype_t dtype)
{
    return kc_enum_name (&kc_program_dtype_type, dtype);
}

size_t kc_dtype_size (kc_program_dtype_t dtype)
{
    switch (dtype) {
    case KC_PROGRAM_DTYPE_UNSET:
        return 0;
    case KC_PROGRAM_DTYPE_F8E4M3:
    case KC_PROGRAM_DTYPE_F8E5M2:
    case KC_PROGRAM_DTYPE_I8:
    case KC_PROGRAM_DTYPE_U8:
    case KC_PROGRAM_DTYPE_BOOL:
        return 1;
    case KC_PROGRAM_DTYPE_F16:
    case KC_PROGRAM_DTYPE_BF16:
    case KC_PROGRAM_DTYPE_I16:
    case KC_PROGRAM_DTYPE_U16:
        return 2;
    case KC_PROGRAM_DTYPE_F32:
    case KC_PROGRAM_DTYPE_I32:
    case KC_PROGRAM_DTYPE_U32:
        return 4;
    case KC_PROGRAM_DTYPE_F64:
    case KC_PROGRAM_DTYPE_I64:
        return 8;
    }
    return 0;
}

// The coarsest floating type among the outputs decides; whole numbers are compared
// exactly.
kc_card_policy_t kc_policy_default (const kc_task_text_t *task)
{
    kc_card_policy_t policy = KC_CARD_POLICY_EXACT;
    int rank = 0; // exact < fp64 < fp32 < fp16 < bf16
    for (size_t i = 0; i < task->n_tensors; i++) {
        if (task->tensors[i].role != KC_CARD_TENSOR_ROLE_OUTPUT
            && task->tensors[i].role != KC_CARD_TENSOR_ROLE_INOUT)
            continue;
        kc_program_dtype_t d = task->tensors[i].dtype;
        int mine = d == KC_PROGRAM_DTYPE_F64   ? 1
                   : d == KC_PROGRAM_DTYPE_F32 ? 2
                   : d == KC_PROGRAM_DTYPE_F16 ? 3
                   : d == KC_PROGRAM_DTYPE_BF16 || d == KC_PROGRAM_DTYPE_F8E4M3
                           || d == KC_PROGRAM_DTYPE_F8E5M2
                       ? 4
                       : 0;
        static const kc_card_policy_t classes[] = {
            KC_CARD_POLICY_EXACT, KC_CARD_POLICY_FP64, KC_CARD_POLICY_FP32,
            KC_CARD_POLICY_FP16, KC_CARD_POLICY_BF16};
        if (mine > rank) {
            rank = mine;
            policy = classes[mine];
        }
    }
    return policy;
}
