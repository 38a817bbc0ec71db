// kc_expr_eval.c - the checked evaluator of kc_expr.h

#include <math.h>
#include <stdlib.h>

#include "common/model/kc_expr_node.h"
#include "common/model/kc_finding.h"
#include "common/util/kc_mem.h"

typedef struct s_eval {
    const kc_expr_t *e;
    const kc_expr_scope_t *scope;
    kc_err_t *err;
} s_eval_t;

static int s_bad (const s_eval_t *v, const kc_expr_node_t *n, const char *what)
{
    return kc_fail (v->err, KC_EINVALID, "expression '%s', position %d: %s", v->e->text,
                    n->at, what);
}

static const char *s_type (kc_value_type_t t)
{
    return t == KC_VALUE_INT    ? "an integer"
           : t == KC_VALUE_REAL ? "a float"
                                : "a boolean";
}

static int s_int (kc_value_t *out, int64_t i)
{
    *out = (kc_value_t){.type = KC_VALUE_INT, .i = i};
    return 0;
}

static int s_bool (kc_value_t *out, bool b)
{
    *out = (kc_value_t){.type = KC_VALUE_BOOL, .b = b};
    return 0;
}

static int s_real (const s_eval_t *v, const kc_expr_node_t *n, kc_value_t *out,
                   double f)
{
    if (isnan (f))
        return s_bad (v, n, "the result is not a number");
    if (isinf (f))
        return s_bad (v, n, "the result is too large for a double");
    *out = (kc_value_t){.type = KC_VALUE_REAL, .f = f};
    return 0;
}

static double s_double (const kc_value_t *x)
{
    return x->type == KC_VALUE_INT ? (double)x->i : x->f;
}

static int s_eval_node (const s_eval_t *v, int index, kc_value_t *out);

static int s_arithmetic (const s_eval_t *v, const kc_expr_node_t *n,
                         const kc_value_t *a, const kc_value_t *b, kc_value_t *out)
{
    if (a->type == KC_VALUE_BOOL || b->type == KC_VALUE_BOOL)
        return s_bad (v, n, "numbers are expected on both sides, a boolean was found");
    bool ints = a->type == KC_VALUE_INT && b->type == KC_VALUE_INT;
    int64_t r = 0;
    if (n->op == KC_OP_ADD || n->op == KC_OP_SUB || n->op == KC_OP_MUL) {
        if (!ints) {
            double x = s_double (a), y = s_double (b);
            return s_real (v, n, out,
                           n->op == KC_OP_ADD   ? x + y
                           : n->op == KC_OP_SUB ? x - y
                                                : x * y);
        }
        bool over = n->op == KC_OP_ADD   ? __builtin_add_overflow (a->i, b->i, &r)
                    : n->op == KC_OP_SUB ? __builtin_sub_overflow (a->i, b->i, &r)
                                         : __builtin_mul_overflow (a->i, b->i, &r);
        return over ? s_bad (v, n, "integer overflow (64 bits)") : s_int (out, r);
    }
    if (!ints && n->op == KC_OP_DIV) {
        if (s_double (b) == 0)
            return s_bad (v, n, "division by zero");
        return s_real (v, n, out, s_double (a) / s_double (b));
    }
    if (!ints)
        return s_bad (v, n, "// % << >> need integers on both sides; int (x) converts");
    if (n->op == KC_OP_SHL || n->op == KC_OP_SHR) {
        if (b->i < 0 || b->i > 62)
            return s_bad (v, n, "a shift is by 0 to 62");
        if (a->i < 0)
            return s_bad (v, n, "only numbers from 0 on are shifted");
        if (n->op == KC_OP_SHR)
            return s_int (out, a->i >> b->i);
        if (a->i > (INT64_MAX >> b->i))
            return s_bad (v, n, "integer overflow (64 bits)");
        return s_int (out, (int64_t)((uint64_t)a->i << b->i));
    }
    if (b->i == 0)
        return s_bad (v, n, "division by zero");
    if (a->i < 0 || b->i < 0)
        return s_bad (v, n, "integer division needs a >= 0 and b > 0");
    return s_int (out, n->op == KC_OP_MOD ? a->i % b->i : a->i / b->i);
}

static int s_compare (const s_eval_t *v, const kc_expr_node_t *n, const kc_value_t *a,
                      const kc_value_t *b, kc_value_t *out)
{
    if ((a->type == KC_VALUE_BOOL) != (b->type == KC_VALUE_BOOL))
        return s_bad (v, n, "a boolean is compared with a number");
    int order;
    if (a->type == KC_VALUE_BOOL) {
        if (n->op != KC_OP_EQ && n->op != KC_OP_NE)
            return s_bad (v, n, "booleans have no order");
        order = a->b != b->b;
    }
    else if (a->type == KC_VALUE_INT && b->type == KC_VALUE_INT)
        order = (a->i > b->i) - (a->i < b->i);
    else {
        double x = s_double (a), y = s_double (b);
        order = (x > y) - (x < y);
    }
    bool r = n->op == KC_OP_EQ   ? order == 0
             : n->op == KC_OP_NE ? order != 0
             : n->op == KC_OP_LT ? order < 0
             : n->op == KC_OP_LE ? order <= 0
             : n->op == KC_OP_GT ? order > 0
                                 : order >= 0;
    return s_bool (out, r);
}

static int s_ceil_log2 (int64_t i)
{
    int s = 0;
    while (s < 63 && ((int64_t)1 << s) < i)
        s++;
    return s;
}

static int s_min_max (const s_eval_t *v, const kc_expr_node_t *n, kc_value_t *x,
                      kc_value_t *out)
{
    bool ints = true;
    for (int k = 0; k < n->n_args; k++)
        ints = ints && x[k].type == KC_VALUE_INT;
    kc_value_t best = x[0];
    for (int k = 1; k < n->n_args; k++) {
        bool less = ints ? x[k].i < best.i : s_double (&x[k]) < s_double (&best);
        bool more = ints ? x[k].i > best.i : s_double (&x[k]) > s_double (&best);
        if (n->fn == KC_FN_MIN ? less : more)
            best = x[k];
    }
    return ints ? s_int (out, best.i) : s_real (v, n, out, s_double (&best));
}

// n / d = (umulhi (n, m) + n) >> s for every 32-bit n, with the sum in 64 bits.
static int s_magic (const s_eval_t *v, const kc_expr_node_t *n, int64_t d,
                    kc_value_t *out)
{
    if (d < 1 || d > UINT32_MAX)
        return s_bad (v, n, "the divisor is from 1 to 4294967295");
    int s = s_ceil_log2 (d);
    if (n->fn == KC_FN_DIV_SHIFT)
        return s_int (out, s);
    uint64_t m = ((((uint64_t)1 << s) - (uint64_t)d) << 32) / (uint64_t)d + 1;
    return s_int (out, (int64_t)m);
}

static int s_apply (const s_eval_t *v, const kc_expr_node_t *n, kc_value_t *x,
                    kc_value_t *out)
{
    for (int k = 0; k < n->n_args; k++)
        if (x[k].type == KC_VALUE_BOOL && n->fn != KC_FN_INT)
            return s_bad (v, n, "a number is expected, a boolean was found");
    bool ints = n->fn == KC_FN_CDIV || n->fn == KC_FN_ALIGN || n->fn == KC_FN_GCD
                || n->fn == KC_FN_POW2_CEIL || n->fn == KC_FN_LOG2_CEIL
                || n->fn == KC_FN_IS_POW2 || n->fn == KC_FN_DIV_MAGIC
                || n->fn == KC_FN_DIV_SHIFT;
    for (int k = 0; ints && k < n->n_args; k++)
        if (x[k].type != KC_VALUE_INT)
            return s_bad (v, n, "integers are expected; int (x) converts");
    int64_t a = x[0].i, b = n->n_args > 1 ? x[1].i : 0, r = 0;
    switch (n->fn) {
    case KC_FN_CDIV:
    case KC_FN_ALIGN:
        if (b == 0)
            return s_bad (v, n, "division by zero");
        if (a < 0 || b < 0)
            return s_bad (v, n, "cdiv and align need a >= 0 and b > 0");
        r = a / b + (a % b != 0);
        if (n->fn == KC_FN_ALIGN && __builtin_mul_overflow (r, b, &r))
            return s_bad (v, n, "integer overflow (64 bits)");
        return s_int (out, r);
    case KC_FN_MIN:
    case KC_FN_MAX:
        return s_min_max (v, n, x, out);
    case KC_FN_ABS:
        if (x[0].type == KC_VALUE_REAL)
            return s_real (v, n, out, fabs (x[0].f));
        return a == INT64_MIN ? s_bad (v, n, "integer overflow (64 bits)")
                              : s_int (out, a < 0 ? -a : a);
    case KC_FN_GCD:
        if (a < 0 || b < 0)
            return s_bad (v, n, "gcd needs numbers from 0 on");
        while (b) {
            r = a % b;
            a = b;
            b = r;
        }
        return s_int (out, a);
    case KC_FN_POW2_CEIL:
    case KC_FN_LOG2_CEIL:
        if (a < 1 || a > ((int64_t)1 << 62))
            return s_bad (v, n, "a number from 1 to 2^62 is expected");
        r = s_ceil_log2 (a);
        return s_int (out, n->fn == KC_FN_LOG2_CEIL ? r : (int64_t)1 << r);
    case KC_FN_IS_POW2:
        return s_bool (out, a > 0 && (a & (a - 1)) == 0);
    case KC_FN_INT:
        if (x[0].type == KC_VALUE_BOOL)
            return s_int (out, x[0].b);
        if (x[0].type == KC_VALUE_INT)
            return s_int (out, a);
        if (!(x[0].f > -9223372036854775808.0 && x[0].f < 9223372036854775808.0))
            return s_bad (v, n, "the number does not fit in 64 bits");
        return s_int (out, (int64_t)x[0].f);
    case KC_FN_FLOAT:
        return s_real (v, n, out, s_double (&x[0]));
    case KC_FN_SQRT:
        return s_real (v, n, out, sqrt (s_double (&x[0])));
    case KC_FN_EXP:
        return s_real (v, n, out, exp (s_double (&x[0])));
    case KC_FN_LOG:
        if (s_double (&x[0]) <= 0)
            return s_bad (v, n, "log needs a number above 0");
        return s_real (v, n, out, log (s_double (&x[0])));
    case KC_FN_DIV_MAGIC:
    case KC_FN_DIV_SHIFT:
        return s_magic (v, n, a, out);
    }
    return s_bad (v, n, "unknown function");
}

static int s_unknown (const s_eval_t *v, const kc_expr_node_t *n, const char *what)
{
    char *known = v->scope->known
                      ? kc_suggest (n->name, v->scope->known, v->scope->n_known)
                      : kc_strdup ("");
    kc_fail (v->err, KC_EINVALID, "expression '%s', position %d: unknown %s '%s'%s",
             v->e->text, n->at, what, n->name, known);
    free (known);
    return -1;
}

static int s_look_up (const s_eval_t *v, const kc_expr_node_t *n, kc_value_t *out)
{
    int rc = v->scope->name ? v->scope->name (v->scope->arg, n->name, out, v->err) : 0;
    return rc > 0 ? 0 : rc < 0 ? -1 : s_unknown (v, n, "name");
}

static int s_eval_fact (const s_eval_t *v, const kc_expr_node_t *n, kc_value_t *out)
{
    int64_t launch[2] = {0, 0}, r = 0;
    for (int k = 0; k < n->n_args; k++) {
        kc_value_t x;
        if (s_eval_node (v, n->args[k], &x) < 0)
            return -1;
        if (x.type != KC_VALUE_INT || x.i < 0 || (k == 0 && x.i == 0))
            return s_bad (v, n,
                          "block and shared bytes of occupancy are integers, the block "
                          "at least 1");
        launch[k] = x.i;
    }
    int rc = v->scope->kernel ? v->scope->kernel (v->scope->arg, n->fact, n->name,
                                                  launch[0], launch[1], &r, v->err)
                              : 0;
    return rc > 0 ? s_int (out, r) : rc < 0 ? -1 : s_unknown (v, n, "kernel");
}

static int s_eval_logic (const s_eval_t *v, const kc_expr_node_t *n, kc_value_t *out)
{
    kc_value_t a, b;
    if (s_eval_node (v, n->a, &a) < 0)
        return -1;
    if (a.type != KC_VALUE_BOOL) {
        s_bad (v, n,
               a.type == KC_VALUE_INT
                   ? "a condition is a boolean; compare the integer with != 0"
                   : "a condition is a boolean; compare the float");
        return -1;
    }
    if (n->op == KC_OP_NOT)
        return s_bool (out, !a.b);
    if (n->op == KC_OP_COND)
        return s_eval_node (v, a.b ? n->b : n->c, out);
    if (a.b == (n->op == KC_OP_OR))
        return s_bool (out, a.b);
    if (s_eval_node (v, n->b, &b) < 0)
        return -1;
    if (b.type != KC_VALUE_BOOL)
        return s_bad (v, n, "a condition is a boolean on both sides");
    return s_bool (out, b.b);
}

static int s_eval_node (const s_eval_t *v, int index, kc_value_t *out)
{
    const kc_expr_node_t *n = &v->e->nodes[index];
    kc_value_t x[KC_EXPR_ARGS] = {{0}};
    int64_t r = 0;
    int rc;
    switch (n->op) {
    case KC_OP_LITERAL:
        *out = n->value;
        return 0;
    case KC_OP_NAME:
        return s_look_up (v, n, out);
    case KC_OP_PROP:
        rc = v->scope->tensor ? v->scope->tensor (v->scope->arg, n->name, n->prop,
                                                  n->index, &r, v->err)
                              : 0;
        return rc > 0 ? s_int (out, r) : rc < 0 ? -1 : s_unknown (v, n, "tensor");
    case KC_OP_FACT:
        return s_eval_fact (v, n, out);
    case KC_OP_NEG:
        if (s_eval_node (v, n->a, &x[0]) < 0)
            return -1;
        if (x[0].type == KC_VALUE_BOOL)
            return s_bad (v, n, "a number is expected, a boolean was found");
        if (x[0].type == KC_VALUE_REAL)
            return s_real (v, n, out, -x[0].f);
        return x[0].i == INT64_MIN ? s_bad (v, n, "integer overflow (64 bits)")
                                   : s_int (out, -x[0].i);
    case KC_OP_NOT:
    case KC_OP_AND:
    case KC_OP_OR:
    case KC_OP_COND:
        return s_eval_logic (v, n, out);
    case KC_OP_MUL:
    case KC_OP_DIV:
    case KC_OP_FLOORDIV:
    case KC_OP_MOD:
    case KC_OP_ADD:
    case KC_OP_SUB:
    case KC_OP_SHL:
    case KC_OP_SHR:
    case KC_OP_EQ:
    case KC_OP_NE:
    case KC_OP_LT:
    case KC_OP_LE:
    case KC_OP_GT:
    case KC_OP_GE:
        if (s_eval_node (v, n->a, &x[0]) < 0 || s_eval_node (v, n->b, &x[1]) < 0)
            return -1;
        return n->op >= KC_OP_EQ ? s_compare (v, n, &x[0], &x[1], out)
                                 : s_arithmetic (v, n, &x[0], &x[1], out);
    case KC_OP_CALL:
        for (int k = 0; k < n->n_args; k++)
            if (s_eval_node (v, n->args[k], &x[k]) < 0)
                return -1;
        return s_apply (v, n, x, out);
    }
    return s_bad (v, n, "unknown operation");
}

int kc_expr_eval (const kc_expr_t *self, const kc_expr_scope_t *scope, kc_value_t *out,
                  kc_err_t *err)
{
    static const kc_expr_scope_t nothing = {0};
    s_eval_t v = {.e = self, .scope = scope ? scope : &nothing, .err = err};
    // A wrong name in the branch that is not taken today would surprise at another
    // shape.
    for (int i = 0; i < self->n_mentions; i++) {
        kc_value_t ignored;
        const kc_expr_node_t *n = &self->nodes[self->mentions[i].node];
        if (n->op == KC_OP_NAME && s_look_up (&v, n, &ignored) < 0)
            return -1;
    }
    return s_eval_node (&v, self->root, out);
}

static int s_evaluate (const char *text, const kc_expr_scope_t *scope, kc_value_t *out,
                       kc_err_t *err)
{
    kc_expr_t *e = kc_expr_parse (text, err);
    if (!e)
        return -1;
    int rc = kc_expr_eval (e, scope, out, err);
    kc_expr_destroy (&e);
    return rc;
}

int kc_expr_int (const char *text, const kc_expr_scope_t *scope, int64_t *out,
                 kc_err_t *err)
{
    kc_value_t v;
    if (s_evaluate (text, scope, &v, err) < 0)
        return -1;
    if (v.type != KC_VALUE_INT)
        return kc_fail (err, KC_EINVALID,
                        "expression '%s': an integer is expected, it gives %s", text,
                        s_type (v.type));
    *out = v.i;
    return 0;
}

int kc_expr_real (const char *text, const kc_expr_scope_t *scope, double *out,
                  kc_err_t *err)
{
    kc_value_t v;
    if (s_evaluate (text, scope, &v, err) < 0)
        return -1;
    if (v.type == KC_VALUE_BOOL)
        return kc_fail (err, KC_EINVALID,
                        "expression '%s': a number is expected, it gives a boolean",
                        text);
    *out = s_double (&v);
    return 0;
}

int kc_expr_bool (const char *text, const kc_expr_scope_t *scope, bool *out,
                  kc_err_t *err)
{
    kc_value_t v;
    if (s_evaluate (text, scope, &v, err) < 0)
        return -1;
    if (v.type != KC_VALUE_BOOL)
        return kc_fail (err, KC_EINVALID,
                        "expression '%s': a condition is expected, it gives %s", text,
                        s_type (v.type));
    *out = v.b;
    return 0;
}
