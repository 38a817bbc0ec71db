// kc_expr.c - see kc_expr.h; a recursive-descent parser into at most 64 nodes and a checked evaluator
//
// Nodes live in one array, children are indices, so an expression is one allocation plus its text.
// Every node keeps the position of its operator: errors point there.

#include "common/model/kc_expr.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/model/kc_finding.h"
#include "common/util/kc_mem.h"

typedef enum s_op {
    OP_LITERAL = 1,
    OP_NAME,
    OP_PROP,
    OP_FACT,
    OP_NEG,
    OP_NOT,
    OP_MUL,
    OP_DIV,
    OP_FLOORDIV,
    OP_MOD,
    OP_ADD,
    OP_SUB,
    OP_SHL,
    OP_SHR,
    OP_EQ,
    OP_NE,
    OP_LT,
    OP_LE,
    OP_GT,
    OP_GE,
    OP_AND,
    OP_OR,
    OP_COND,
    OP_CALL
} s_op_t;

typedef enum s_fn {
    FN_CDIV = 1,
    FN_ALIGN,
    FN_MIN,
    FN_MAX,
    FN_ABS,
    FN_GCD,
    FN_POW2_CEIL,
    FN_LOG2_CEIL,
    FN_IS_POW2,
    FN_INT,
    FN_FLOAT,
    FN_SQRT,
    FN_EXP,
    FN_LOG,
    FN_DIV_MAGIC,
    FN_DIV_SHIFT
} s_fn_t;

static const struct {
    const char *name;
    s_fn_t fn;
    int least, most;
} s_functions[] = {
    {"cdiv", FN_CDIV, 2, 2},           {"align", FN_ALIGN, 2, 2},
    {"min", FN_MIN, 2, KC_EXPR_ARGS},  {"max", FN_MAX, 2, KC_EXPR_ARGS},
    {"abs", FN_ABS, 1, 1},             {"gcd", FN_GCD, 2, 2},
    {"pow2_ceil", FN_POW2_CEIL, 1, 1}, {"log2_ceil", FN_LOG2_CEIL, 1, 1},
    {"is_pow2", FN_IS_POW2, 1, 1},     {"int", FN_INT, 1, 1},
    {"float", FN_FLOAT, 1, 1},         {"sqrt", FN_SQRT, 1, 1},
    {"exp", FN_EXP, 1, 1},             {"log", FN_LOG, 1, 1},
    {"div_magic", FN_DIV_MAGIC, 1, 1}, {"div_shift", FN_DIV_SHIFT, 1, 1},
};

static const char *const s_function_names[] = {
    "cdiv", "align", "min",  "max", "abs", "gcd",       "pow2_ceil", "log2_ceil", "is_pow2",       "int",
    "float", "sqrt", "exp", "log", "div_magic", "div_shift", "occupancy", "regs", "static_shared",
};

typedef struct s_node {
    s_op_t op;
    int at; // byte position of the operator or word, from 1
    int a, b, c;
    int n_args;
    int args[KC_EXPR_ARGS];
    s_fn_t fn;
    kc_value_t value; // LITERAL
    char name[65];    // NAME, PROP, FACT
    kc_expr_prop_t prop;
    kc_expr_fact_t fact;
    int index; // of shape[] and stride[]
} s_node_t;

struct kc_expr {
    char *text;
    int root;
    int n;
    s_node_t nodes[KC_EXPR_NODES];
    int n_mentions;
    struct {
        int node;
        char kind;
    } mentions[KC_EXPR_NODES];
};

typedef struct s_parser {
    kc_expr_t *e;
    const char *p;
    int depth;
    kc_err_t *err;
} s_parser_t;

static int s_expr (s_parser_t *s);

static int s_fail (s_parser_t *s, const char *at, const char *what)
{
    return kc_fail (s->err, KC_EINVALID, "expression '%s', position %d: %s", s->e->text,
                    (int)(at - s->e->text) + 1, what);
}

static void s_space (s_parser_t *s)
{
    while (*s->p == ' ' || *s->p == '\t')
        s->p++;
}

static int s_node (s_parser_t *s, s_op_t op, const char *at)
{
    if (s->e->n >= KC_EXPR_NODES)
        return s_fail (s, at, "too long: at most 64 operands and operators; use a const for a part of it");
    s_node_t *n = &s->e->nodes[s->e->n];
    n->op = op;
    n->at = (int)(at - s->e->text) + 1;
    n->a = n->b = n->c = -1;
    return s->e->n++;
}

static int s_binary (s_parser_t *s, s_op_t op, const char *at, int a, int b)
{
    int n = s_node (s, op, at);
    if (n < 0)
        return -1;
    s->e->nodes[n].a = a;
    s->e->nodes[n].b = b;
    return n;
}

static void s_mention (s_parser_t *s, int node, char kind)
{
    s->e->mentions[s->e->n_mentions].node = node; // never more mentions than nodes
    s->e->mentions[s->e->n_mentions++].kind = kind;
}

static bool s_word_start (char c)
{
    return isalpha ((unsigned char)c) || c == '_';
}

static bool s_word_char (char c)
{
    return isalnum ((unsigned char)c) || c == '_';
}

// Read a word of at most 64 characters; its length, 0 = none, -1 = too long.
static int s_word (s_parser_t *s, char out[65])
{
    const char *from = s->p;
    if (!s_word_start (*from))
        return 0;
    const char *p = from;
    while (s_word_char (*p))
        p++;
    if (p - from > 64)
        return s_fail (s, from, "a name has at most 64 characters");
    memcpy (out, from, (size_t)(p - from));
    out[p - from] = 0;
    s->p = p;
    return (int)(p - from);
}

static int s_number (s_parser_t *s)
{
    const char *from = s->p, *p = from;
    bool real = false;
    int64_t i = 0;
    double f = 0;
    if (p[0] == '0' && (p[1] == 'x' || p[1] == 'X')) {
        p += 2;
        if (!isxdigit ((unsigned char)*p))
            return s_fail (s, from, "0x needs hexadecimal digits");
        while (isxdigit ((unsigned char)*p)) {
            int d = isdigit ((unsigned char)*p) ? *p - '0' : tolower ((unsigned char)*p) - 'a' + 10;
            if (i > (INT64_MAX - d) / 16)
                return s_fail (s, from, "the number does not fit in 64 bits");
            i = i * 16 + d;
            p++;
        }
    }
    else {
        while (isdigit ((unsigned char)*p))
            p++;
        if (*p == '.') {
            real = true;
            p++;
            while (isdigit ((unsigned char)*p))
                p++;
        }
        if ((*p == 'e' || *p == 'E')
            && (isdigit ((unsigned char)p[1]) || ((p[1] == '+' || p[1] == '-') && isdigit ((unsigned char)p[2])))) {
            real = true;
            p += 2;
            while (isdigit ((unsigned char)*p))
                p++;
        }
        if (real) {
            errno = 0;
            f = strtod (from, NULL); // the C locale: programs never set another
            if (!isfinite (f))
                return s_fail (s, from, "the number is too large for a double");
        }
        else {
            for (const char *d = from; d < p; d++) {
                if (i > (INT64_MAX - (*d - '0')) / 10)
                    return s_fail (s, from, "the number does not fit in 64 bits");
                i = i * 10 + (*d - '0');
            }
        }
    }
    if (s_word_char (*p) || *p == '.')
        return s_fail (s, p, "a number ends here; write it without a suffix");
    int n = s_node (s, OP_LITERAL, from);
    if (n < 0)
        return -1;
    s->e->nodes[n].value = (kc_value_t){.type = real ? KC_VALUE_REAL : KC_VALUE_INT, .i = i, .f = f};
    s->p = p;
    return n;
}

// tensor '.' prop; 's->p' stands behind the dot.
static int s_prop (s_parser_t *s, const char *at, const char *tensor)
{
    char word[65];
    s_space (s);
    const char *from = s->p;
    if (s_word (s, word) < 0)
        return -1;
    int n = s_node (s, OP_PROP, at);
    if (n < 0)
        return -1;
    s_node_t *node = &s->e->nodes[n];
    memcpy (node->name, tensor, strlen (tensor) + 1);
    if (!strcmp (word, "numel"))
        node->prop = KC_PROP_NUMEL;
    else if (!strcmp (word, "bytes"))
        node->prop = KC_PROP_BYTES;
    else if (!strcmp (word, "rank"))
        node->prop = KC_PROP_RANK;
    else if (!strcmp (word, "shape") || !strcmp (word, "stride")) {
        node->prop = word[1] == 'h' ? KC_PROP_SHAPE : KC_PROP_STRIDE;
        s_space (s);
        if (*s->p != '[')
            return s_fail (s, s->p, "shape and stride need an index as in shape[0]");
        s->p++;
        s_space (s);
        if (!isdigit ((unsigned char)s->p[0]) || isdigit ((unsigned char)s->p[1]))
            return s_fail (s, s->p, "the index is one digit, from 0");
        node->index = *s->p++ - '0';
        s_space (s);
        if (*s->p != ']')
            return s_fail (s, s->p, "] is missing");
        s->p++;
    }
    else
        return s_fail (s, from, "a tensor has shape[i], stride[i], numel, bytes and rank");
    s_mention (s, n, 't');
    return n;
}

// occupancy (k), occupancy (k, block, shared), regs (k), static_shared (k); behind the '('.
static int s_fact (s_parser_t *s, const char *at, const char *word)
{
    int n = s_node (s, OP_FACT, at);
    if (n < 0)
        return -1;
    kc_expr_fact_t fact = word[0] == 'o'   ? KC_FACT_OCCUPANCY
                          : word[0] == 'r' ? KC_FACT_REGISTERS
                                           : KC_FACT_STATIC_SHARED;
    s->e->nodes[n].fact = fact;
    s_space (s);
    const char *from = s->p;
    int got = s_word (s, s->e->nodes[n].name);
    if (got < 0)
        return -1;
    if (!got)
        return s_fail (s, from, "the name of a kernel is expected");
    s_space (s);
    if (fact == KC_FACT_OCCUPANCY && *s->p == ',') {
        for (int i = 0; i < 2; i++) {
            if (*s->p != ',')
                return s_fail (s, s->p, "occupancy takes (kernel) or (kernel, block, shared)");
            s->p++;
            int arg = s_expr (s);
            if (arg < 0)
                return -1;
            s->e->nodes[n].args[i] = arg;
            s_space (s);
        }
        s->e->nodes[n].n_args = 2;
    }
    if (*s->p != ')')
        return s_fail (s, s->p, ") is missing");
    s->p++;
    s_mention (s, n, word[0]);
    return n;
}

static int s_call (s_parser_t *s, const char *at, const char *word)
{
    if (!strcmp (word, "occupancy") || !strcmp (word, "regs") || !strcmp (word, "static_shared"))
        return s_fact (s, at, word);
    size_t f = 0;
    while (f < KC_COUNT (s_functions) && strcmp (s_functions[f].name, word))
        f++;
    if (f == KC_COUNT (s_functions)) {
        char *known = kc_suggest (word, s_function_names, KC_COUNT (s_function_names));
        char *what = kc_asprintf ("there is no function '%s'%s", word, known);
        s_fail (s, at, what);
        free (what);
        free (known);
        return -1;
    }
    int n = s_node (s, OP_CALL, at);
    if (n < 0)
        return -1;
    s->e->nodes[n].fn = s_functions[f].fn;
    int count = 0;
    s_space (s);
    while (*s->p != ')') {
        if (count == KC_EXPR_ARGS)
            return s_fail (s, s->p, "at most 8 arguments");
        int arg = s_expr (s);
        if (arg < 0)
            return -1;
        s->e->nodes[n].args[count++] = arg;
        s_space (s);
        if (*s->p == ',')
            s->p++;
        else if (*s->p != ')')
            return s_fail (s, s->p, ", or ) is missing");
    }
    s->p++;
    s->e->nodes[n].n_args = count;
    if (count < s_functions[f].least || count > s_functions[f].most) {
        char *what = kc_asprintf ("%s takes %d%s argument%s, %d given", word, s_functions[f].least,
                                  s_functions[f].most > s_functions[f].least ? " or more" : "",
                                  s_functions[f].least == 1 ? "" : "s", count);
        s_fail (s, at, what);
        free (what);
        return -1;
    }
    return n;
}

static int s_post (s_parser_t *s)
{
    s_space (s);
    const char *at = s->p;
    if (isdigit ((unsigned char)*at) || (*at == '.' && isdigit ((unsigned char)at[1])))
        return s_number (s);
    if (*at == '(') {
        s->p++;
        int n = s_expr (s);
        if (n < 0)
            return -1;
        s_space (s);
        if (*s->p != ')')
            return s_fail (s, s->p, ") is missing");
        s->p++;
        return n;
    }
    char word[65];
    int got = s_word (s, word);
    if (got < 0)
        return -1;
    if (!got)
        return s_fail (s, at, *at ? "a number, a name or ( is expected" : "the expression ends too early");
    s_space (s);
    if (*s->p == '(') {
        s->p++;
        return s_call (s, at, word);
    }
    if (*s->p == '.') {
        s->p++;
        return s_prop (s, at, word);
    }
    bool yes = !strcmp (word, "true");
    int n = s_node (s, yes || !strcmp (word, "false") ? OP_LITERAL : OP_NAME, at);
    if (n < 0)
        return -1;
    if (s->e->nodes[n].op == OP_LITERAL)
        s->e->nodes[n].value = (kc_value_t){.type = KC_VALUE_BOOL, .b = yes};
    else {
        memcpy (s->e->nodes[n].name, word, sizeof word);
        s_mention (s, n, 'n');
    }
    return n;
}

static int s_unary (s_parser_t *s)
{
    s_space (s);
    const char *at = s->p;
    if (*at != '-' && (*at != '!' || at[1] == '='))
        return s_post (s);
    if (++s->depth > KC_EXPR_DEPTH)
        return s_fail (s, at, "nested deeper than 16; use a const for a part of it");
    s->p++;
    int a = s_unary (s);
    s->depth--;
    return a < 0 ? -1 : s_binary (s, *at == '-' ? OP_NEG : OP_NOT, at, a, -1);
}

// The operators of one level, longest first, so that // is not read as /.
typedef struct s_token {
    const char *text;
    s_op_t op;
} s_token_t;

static const s_token_t s_levels[][7] = {
    {{"//", OP_FLOORDIV}, {"*", OP_MUL}, {"/", OP_DIV}, {"%", OP_MOD}},
    {{"+", OP_ADD}, {"-", OP_SUB}},
    {{"<<", OP_SHL}, {">>", OP_SHR}},
    {{"==", OP_EQ}, {"!=", OP_NE}, {"<=", OP_LE}, {">=", OP_GE}, {"<", OP_LT}, {">", OP_GT}},
    {{"&&", OP_AND}},
    {{"||", OP_OR}},
};
enum { S_LEVEL_CMP = 3, S_LEVELS = 6 };

static s_op_t s_operator (s_parser_t *s, int level)
{
    s_space (s);
    for (const s_token_t *t = s_levels[level]; t->text; t++) {
        size_t length = strlen (t->text);
        if (strncmp (s->p, t->text, length))
            continue;
        // "<" of a comparison is not the first half of "<<"
        if (length == 1 && (*s->p == '<' || *s->p == '>') && s->p[1] == *s->p)
            continue;
        s->p += length;
        return t->op;
    }
    return 0;
}

static int s_level (s_parser_t *s, int level)
{
    int a = level ? s_level (s, level - 1) : s_unary (s);
    while (a >= 0) {
        s_space (s);
        const char *at = s->p;
        s_op_t op = s_operator (s, level);
        if (!op)
            return a;
        int b = level ? s_level (s, level - 1) : s_unary (s);
        if (b < 0)
            return -1;
        a = s_binary (s, op, at, a, b);
        if (level == S_LEVEL_CMP)
            return a; // comparisons do not chain
    }
    return -1;
}

static int s_expr (s_parser_t *s)
{
    s_space (s);
    if (++s->depth > KC_EXPR_DEPTH)
        return s_fail (s, s->p, "nested deeper than 16; use a const for a part of it");
    int n = s_level (s, S_LEVELS - 1);
    s_space (s);
    if (n >= 0 && *s->p == '?') {
        const char *at = s->p++;
        int yes = s_expr (s);
        if (yes < 0)
            return -1;
        s_space (s);
        if (*s->p != ':')
            return s_fail (s, s->p, ": is missing after ?");
        s->p++;
        int no = s_expr (s);
        if (no < 0)
            return -1;
        n = s_binary (s, OP_COND, at, n, yes);
        if (n >= 0)
            s->e->nodes[n].c = no;
    }
    s->depth--;
    return n;
}

kc_expr_t *kc_expr_parse (const char *text, kc_err_t *err)
{
    kc_assert (text);
    size_t size = strlen (text);
    if (size > KC_EXPR_CHARS) {
        kc_fail (err, KC_EINVALID, "expression '%.40s...': longer than 256 characters; use a const for a part of it",
                 text);
        return NULL;
    }
    kc_expr_t *self = kc_calloc (1, sizeof *self);
    self->text = kc_strdup (text);
    s_parser_t s = {.e = self, .p = self->text, .err = err};
    self->root = s_expr (&s);
    if (self->root >= 0) {
        s_space (&s);
        if (*s.p) {
            s_fail (&s, s.p, "nothing is expected here");
            self->root = -1;
        }
    }
    if (self->root < 0)
        kc_expr_destroy (&self);
    return self;
}

void kc_expr_destroy (kc_expr_t **self_p)
{
    if (*self_p) {
        free ((*self_p)->text);
        free (*self_p);
        *self_p = NULL;
    }
}

const char *kc_expr_text (const kc_expr_t *self)
{
    return self->text;
}

const char *kc_expr_mention (const kc_expr_t *self, size_t i, char *kind_p)
{
    if (i >= (size_t)self->n_mentions)
        return NULL;
    if (kind_p)
        *kind_p = self->mentions[i].kind;
    return self->nodes[self->mentions[i].node].name;
}

bool kc_expr_is_real (const kc_expr_t *self)
{
    const s_node_t *root = &self->nodes[self->root];
    // int (...) around the whole makes an integer of whatever is inside
    if (kc_expr_is_bool (self) || (root->op == OP_CALL && root->fn == FN_INT))
        return false;
    for (int i = 0; i < self->n; i++) {
        const s_node_t *n = &self->nodes[i];
        if (n->op == OP_LITERAL && n->value.type == KC_VALUE_REAL)
            return true;
        if (n->op == OP_CALL && (n->fn == FN_FLOAT || n->fn == FN_SQRT || n->fn == FN_EXP || n->fn == FN_LOG))
            return true;
    }
    return false;
}

bool kc_expr_is_bool (const kc_expr_t *self)
{
    const s_node_t *n = &self->nodes[self->root];
    return (n->op >= OP_EQ && n->op <= OP_OR) || n->op == OP_NOT
           || (n->op == OP_LITERAL && n->value.type == KC_VALUE_BOOL) || (n->op == OP_CALL && n->fn == FN_IS_POW2);
}

// ---- evaluation ----

typedef struct s_eval {
    const kc_expr_t *e;
    const kc_expr_scope_t *scope;
    kc_err_t *err;
} s_eval_t;

static int s_bad (const s_eval_t *v, const s_node_t *n, const char *what)
{
    return kc_fail (v->err, KC_EINVALID, "expression '%s', position %d: %s", v->e->text, n->at, what);
}

static const char *s_type (kc_value_type_t t)
{
    return t == KC_VALUE_INT ? "an integer" : t == KC_VALUE_REAL ? "a float" : "a boolean";
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

static int s_real (const s_eval_t *v, const s_node_t *n, kc_value_t *out, double f)
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

static int s_arithmetic (const s_eval_t *v, const s_node_t *n, const kc_value_t *a, const kc_value_t *b, kc_value_t *out)
{
    if (a->type == KC_VALUE_BOOL || b->type == KC_VALUE_BOOL)
        return s_bad (v, n, "numbers are expected on both sides, a boolean was found");
    bool ints = a->type == KC_VALUE_INT && b->type == KC_VALUE_INT;
    int64_t r = 0;
    if (n->op == OP_ADD || n->op == OP_SUB || n->op == OP_MUL) {
        if (!ints) {
            double x = s_double (a), y = s_double (b);
            return s_real (v, n, out, n->op == OP_ADD ? x + y : n->op == OP_SUB ? x - y : x * y);
        }
        bool over = n->op == OP_ADD   ? __builtin_add_overflow (a->i, b->i, &r)
                    : n->op == OP_SUB ? __builtin_sub_overflow (a->i, b->i, &r)
                                      : __builtin_mul_overflow (a->i, b->i, &r);
        return over ? s_bad (v, n, "integer overflow (64 bits)") : s_int (out, r);
    }
    if (!ints && n->op == OP_DIV) {
        if (s_double (b) == 0)
            return s_bad (v, n, "division by zero");
        return s_real (v, n, out, s_double (a) / s_double (b));
    }
    if (!ints)
        return s_bad (v, n, "// % << >> need integers on both sides; int (x) converts");
    if (n->op == OP_SHL || n->op == OP_SHR) {
        if (b->i < 0 || b->i > 62)
            return s_bad (v, n, "a shift is by 0 to 62");
        if (a->i < 0)
            return s_bad (v, n, "only numbers from 0 on are shifted");
        if (n->op == OP_SHR)
            return s_int (out, a->i >> b->i);
        if (a->i > (INT64_MAX >> b->i))
            return s_bad (v, n, "integer overflow (64 bits)");
        return s_int (out, (int64_t)((uint64_t)a->i << b->i));
    }
    if (b->i == 0)
        return s_bad (v, n, "division by zero");
    if (a->i < 0 || b->i < 0)
        return s_bad (v, n, "integer division needs a >= 0 and b > 0");
    return s_int (out, n->op == OP_MOD ? a->i % b->i : a->i / b->i);
}

static int s_compare (const s_eval_t *v, const s_node_t *n, const kc_value_t *a, const kc_value_t *b, kc_value_t *out)
{
    if ((a->type == KC_VALUE_BOOL) != (b->type == KC_VALUE_BOOL))
        return s_bad (v, n, "a boolean is compared with a number");
    int order;
    if (a->type == KC_VALUE_BOOL) {
        if (n->op != OP_EQ && n->op != OP_NE)
            return s_bad (v, n, "booleans have no order");
        order = a->b != b->b;
    }
    else if (a->type == KC_VALUE_INT && b->type == KC_VALUE_INT)
        order = (a->i > b->i) - (a->i < b->i);
    else {
        double x = s_double (a), y = s_double (b);
        order = (x > y) - (x < y);
    }
    bool r = n->op == OP_EQ   ? order == 0
             : n->op == OP_NE ? order != 0
             : n->op == OP_LT ? order < 0
             : n->op == OP_LE ? order <= 0
             : n->op == OP_GT ? order > 0
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

static int s_min_max (const s_eval_t *v, const s_node_t *n, kc_value_t *x, kc_value_t *out)
{
    bool ints = true;
    for (int k = 0; k < n->n_args; k++)
        ints = ints && x[k].type == KC_VALUE_INT;
    kc_value_t best = x[0];
    for (int k = 1; k < n->n_args; k++) {
        bool less = ints ? x[k].i < best.i : s_double (&x[k]) < s_double (&best);
        bool more = ints ? x[k].i > best.i : s_double (&x[k]) > s_double (&best);
        if (n->fn == FN_MIN ? less : more)
            best = x[k];
    }
    return ints ? s_int (out, best.i) : s_real (v, n, out, s_double (&best));
}

// n / d = (umulhi (n, m) + n) >> s for every 32-bit n, with the sum in 64 bits.
static int s_magic (const s_eval_t *v, const s_node_t *n, int64_t d, kc_value_t *out)
{
    if (d < 1 || d > UINT32_MAX)
        return s_bad (v, n, "the divisor is from 1 to 4294967295");
    int s = s_ceil_log2 (d);
    if (n->fn == FN_DIV_SHIFT)
        return s_int (out, s);
    uint64_t m = ((((uint64_t)1 << s) - (uint64_t)d) << 32) / (uint64_t)d + 1;
    return s_int (out, (int64_t)m);
}

static int s_apply (const s_eval_t *v, const s_node_t *n, kc_value_t *x, kc_value_t *out)
{
    for (int k = 0; k < n->n_args; k++)
        if (x[k].type == KC_VALUE_BOOL && n->fn != FN_INT)
            return s_bad (v, n, "a number is expected, a boolean was found");
    bool ints = n->fn == FN_CDIV || n->fn == FN_ALIGN || n->fn == FN_GCD || n->fn == FN_POW2_CEIL
                || n->fn == FN_LOG2_CEIL || n->fn == FN_IS_POW2 || n->fn == FN_DIV_MAGIC || n->fn == FN_DIV_SHIFT;
    for (int k = 0; ints && k < n->n_args; k++)
        if (x[k].type != KC_VALUE_INT)
            return s_bad (v, n, "integers are expected; int (x) converts");
    int64_t a = x[0].i, b = n->n_args > 1 ? x[1].i : 0, r = 0;
    switch (n->fn) {
    case FN_CDIV:
    case FN_ALIGN:
        if (b == 0)
            return s_bad (v, n, "division by zero");
        if (a < 0 || b < 0)
            return s_bad (v, n, "cdiv and align need a >= 0 and b > 0");
        r = a / b + (a % b != 0);
        if (n->fn == FN_ALIGN && __builtin_mul_overflow (r, b, &r))
            return s_bad (v, n, "integer overflow (64 bits)");
        return s_int (out, r);
    case FN_MIN:
    case FN_MAX:
        return s_min_max (v, n, x, out);
    case FN_ABS:
        if (x[0].type == KC_VALUE_REAL)
            return s_real (v, n, out, fabs (x[0].f));
        return a == INT64_MIN ? s_bad (v, n, "integer overflow (64 bits)") : s_int (out, a < 0 ? -a : a);
    case FN_GCD:
        if (a < 0 || b < 0)
            return s_bad (v, n, "gcd needs numbers from 0 on");
        while (b) {
            r = a % b;
            a = b;
            b = r;
        }
        return s_int (out, a);
    case FN_POW2_CEIL:
    case FN_LOG2_CEIL:
        if (a < 1 || a > ((int64_t)1 << 62))
            return s_bad (v, n, "a number from 1 to 2^62 is expected");
        r = s_ceil_log2 (a);
        return s_int (out, n->fn == FN_LOG2_CEIL ? r : (int64_t)1 << r);
    case FN_IS_POW2:
        return s_bool (out, a > 0 && (a & (a - 1)) == 0);
    case FN_INT:
        if (x[0].type == KC_VALUE_BOOL)
            return s_int (out, x[0].b);
        if (x[0].type == KC_VALUE_INT)
            return s_int (out, a);
        if (!(x[0].f > -9223372036854775808.0 && x[0].f < 9223372036854775808.0))
            return s_bad (v, n, "the number does not fit in 64 bits");
        return s_int (out, (int64_t)x[0].f);
    case FN_FLOAT:
        return s_real (v, n, out, s_double (&x[0]));
    case FN_SQRT:
        return s_real (v, n, out, sqrt (s_double (&x[0])));
    case FN_EXP:
        return s_real (v, n, out, exp (s_double (&x[0])));
    case FN_LOG:
        if (s_double (&x[0]) <= 0)
            return s_bad (v, n, "log needs a number above 0");
        return s_real (v, n, out, log (s_double (&x[0])));
    case FN_DIV_MAGIC:
    case FN_DIV_SHIFT:
        return s_magic (v, n, a, out);
    }
    return s_bad (v, n, "unknown function");
}

static int s_unknown (const s_eval_t *v, const s_node_t *n, const char *what)
{
    char *known = v->scope->known ? kc_suggest (n->name, v->scope->known, v->scope->n_known) : kc_strdup ("");
    kc_fail (v->err, KC_EINVALID, "expression '%s', position %d: unknown %s '%s'%s", v->e->text, n->at, what, n->name,
             known);
    free (known);
    return -1;
}

static int s_look_up (const s_eval_t *v, const s_node_t *n, kc_value_t *out)
{
    int rc = v->scope->name ? v->scope->name (v->scope->arg, n->name, out, v->err) : 0;
    return rc > 0 ? 0 : rc < 0 ? -1 : s_unknown (v, n, "name");
}

static int s_eval_fact (const s_eval_t *v, const s_node_t *n, kc_value_t *out)
{
    int64_t launch[2] = {0, 0}, r = 0;
    for (int k = 0; k < n->n_args; k++) {
        kc_value_t x;
        if (s_eval_node (v, n->args[k], &x) < 0)
            return -1;
        if (x.type != KC_VALUE_INT || x.i < 0 || (k == 0 && x.i == 0))
            return s_bad (v, n, "block and shared bytes of occupancy are integers, the block at least 1");
        launch[k] = x.i;
    }
    int rc = v->scope->kernel ? v->scope->kernel (v->scope->arg, n->fact, n->name, launch[0], launch[1], &r, v->err) : 0;
    return rc > 0 ? s_int (out, r) : rc < 0 ? -1 : s_unknown (v, n, "kernel");
}

static int s_eval_logic (const s_eval_t *v, const s_node_t *n, kc_value_t *out)
{
    kc_value_t a, b;
    if (s_eval_node (v, n->a, &a) < 0)
        return -1;
    if (a.type != KC_VALUE_BOOL) {
        s_bad (v, n, a.type == KC_VALUE_INT ? "a condition is a boolean; compare the integer with != 0"
                                            : "a condition is a boolean; compare the float");
        return -1;
    }
    if (n->op == OP_NOT)
        return s_bool (out, !a.b);
    if (n->op == OP_COND)
        return s_eval_node (v, a.b ? n->b : n->c, out);
    if (a.b == (n->op == OP_OR))
        return s_bool (out, a.b);
    if (s_eval_node (v, n->b, &b) < 0)
        return -1;
    if (b.type != KC_VALUE_BOOL)
        return s_bad (v, n, "a condition is a boolean on both sides");
    return s_bool (out, b.b);
}

static int s_eval_node (const s_eval_t *v, int index, kc_value_t *out)
{
    const s_node_t *n = &v->e->nodes[index];
    kc_value_t x[KC_EXPR_ARGS];
    int64_t r = 0;
    int rc;
    switch (n->op) {
    case OP_LITERAL:
        *out = n->value;
        return 0;
    case OP_NAME:
        return s_look_up (v, n, out);
    case OP_PROP:
        rc = v->scope->tensor ? v->scope->tensor (v->scope->arg, n->name, n->prop, n->index, &r, v->err) : 0;
        return rc > 0 ? s_int (out, r) : rc < 0 ? -1 : s_unknown (v, n, "tensor");
    case OP_FACT:
        return s_eval_fact (v, n, out);
    case OP_NEG:
        if (s_eval_node (v, n->a, &x[0]) < 0)
            return -1;
        if (x[0].type == KC_VALUE_BOOL)
            return s_bad (v, n, "a number is expected, a boolean was found");
        if (x[0].type == KC_VALUE_REAL)
            return s_real (v, n, out, -x[0].f);
        return x[0].i == INT64_MIN ? s_bad (v, n, "integer overflow (64 bits)") : s_int (out, -x[0].i);
    case OP_NOT:
    case OP_AND:
    case OP_OR:
    case OP_COND:
        return s_eval_logic (v, n, out);
    case OP_MUL:
    case OP_DIV:
    case OP_FLOORDIV:
    case OP_MOD:
    case OP_ADD:
    case OP_SUB:
    case OP_SHL:
    case OP_SHR:
    case OP_EQ:
    case OP_NE:
    case OP_LT:
    case OP_LE:
    case OP_GT:
    case OP_GE:
        if (s_eval_node (v, n->a, &x[0]) < 0 || s_eval_node (v, n->b, &x[1]) < 0)
            return -1;
        return n->op >= OP_EQ ? s_compare (v, n, &x[0], &x[1], out) : s_arithmetic (v, n, &x[0], &x[1], out);
    case OP_CALL:
        for (int k = 0; k < n->n_args; k++)
            if (s_eval_node (v, n->args[k], &x[k]) < 0)
                return -1;
        return s_apply (v, n, x, out);
    }
    return s_bad (v, n, "unknown operation");
}

int kc_expr_eval (const kc_expr_t *self, const kc_expr_scope_t *scope, kc_value_t *out, kc_err_t *err)
{
    static const kc_expr_scope_t nothing = {0};
    s_eval_t v = {.e = self, .scope = scope ? scope : &nothing, .err = err};
    // A wrong name in the branch that is not taken today would surprise at another shape.
    for (int i = 0; i < self->n_mentions; i++) {
        kc_value_t ignored;
        const s_node_t *n = &self->nodes[self->mentions[i].node];
        if (n->op == OP_NAME && s_look_up (&v, n, &ignored) < 0)
            return -1;
    }
    return s_eval_node (&v, self->root, out);
}

static int s_evaluate (const char *text, const kc_expr_scope_t *scope, kc_value_t *out, kc_err_t *err)
{
    kc_expr_t *e = kc_expr_parse (text, err);
    if (!e)
        return -1;
    int rc = kc_expr_eval (e, scope, out, err);
    kc_expr_destroy (&e);
    return rc;
}

int kc_expr_int (const char *text, const kc_expr_scope_t *scope, int64_t *out, kc_err_t *err)
{
    kc_value_t v;
    if (s_evaluate (text, scope, &v, err) < 0)
        return -1;
    if (v.type != KC_VALUE_INT)
        return kc_fail (err, KC_EINVALID, "expression '%s': an integer is expected, it gives %s", text, s_type (v.type));
    *out = v.i;
    return 0;
}

int kc_expr_real (const char *text, const kc_expr_scope_t *scope, double *out, kc_err_t *err)
{
    kc_value_t v;
    if (s_evaluate (text, scope, &v, err) < 0)
        return -1;
    if (v.type == KC_VALUE_BOOL)
        return kc_fail (err, KC_EINVALID, "expression '%s': a number is expected, it gives a boolean", text);
    *out = s_double (&v);
    return 0;
}

int kc_expr_bool (const char *text, const kc_expr_scope_t *scope, bool *out, kc_err_t *err)
{
    kc_value_t v;
    if (s_evaluate (text, scope, &v, err) < 0)
        return -1;
    if (v.type != KC_VALUE_BOOL)
        return kc_fail (err, KC_EINVALID, "expression '%s': a condition is expected, it gives %s", text,
                        s_type (v.type));
    *out = v.b;
    return 0;
}
