// kc_expr.c - see kc_expr.h; a recursive-descent parser into at most 64 nodes
// (kc_expr_eval.c evaluates)
//
// Nodes live in one array, children are indices, so an expression is one allocation
// plus its text. Every node keeps the position of its operator: errors point there.

#include "common/model/kc_expr.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/model/kc_expr_node.h"
#include "common/model/kc_finding.h"
#include "common/util/kc_mem.h"

static const struct {
    const char *name;
    kc_expr_fn_t fn;
    int least, most;
} s_functions[] = {
    {"cdiv", KC_FN_CDIV, 2, 2},
    {"align", KC_FN_ALIGN, 2, 2},
    {"min", KC_FN_MIN, 2, KC_EXPR_ARGS},
    {"max", KC_FN_MAX, 2, KC_EXPR_ARGS},
    {"abs", KC_FN_ABS, 1, 1},
    {"gcd", KC_FN_GCD, 2, 2},
    {"pow2_ceil", KC_FN_POW2_CEIL, 1, 1},
    {"log2_ceil", KC_FN_LOG2_CEIL, 1, 1},
    {"is_pow2", KC_FN_IS_POW2, 1, 1},
    {"int", KC_FN_INT, 1, 1},
    {"float", KC_FN_FLOAT, 1, 1},
    {"sqrt", KC_FN_SQRT, 1, 1},
    {"exp", KC_FN_EXP, 1, 1},
    {"log", KC_FN_LOG, 1, 1},
    {"div_magic", KC_FN_DIV_MAGIC, 1, 1},
    {"div_shift", KC_FN_DIV_SHIFT, 1, 1},
};

static const char *const s_function_names[] = {
    "cdiv",      "align",     "min",       "max",   "abs",           "gcd", "pow2_ceil",
    "log2_ceil", "is_pow2",   "int",       "float", "sqrt",          "exp", "log",
    "div_magic", "div_shift", "occupancy", "regs",  "static_shared",
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

static int s_node (s_parser_t *s, kc_expr_op_t op, const char *at)
{
    if (s->e->n >= KC_EXPR_NODES)
        return s_fail (s, at,
                       "too long: at most 64 operands and operators; use a const for a "
                       "part of it");
    kc_expr_node_t *n = &s->e->nodes[s->e->n];
    n->op = op;
    n->at = (int)(at - s->e->text) + 1;
    n->a = n->b = n->c = -1;
    return s->e->n++;
}

static int s_binary (s_parser_t *s, kc_expr_op_t op, const char *at, int a, int b)
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
            int d = isdigit ((unsigned char)*p)
                        ? *p - '0'
                        : tolower ((unsigned char)*p) - 'a' + 10;
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
            && (isdigit ((unsigned char)p[1])
                || ((p[1] == '+' || p[1] == '-') && isdigit ((unsigned char)p[2])))) {
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
    int n = s_node (s, KC_OP_LITERAL, from);
    if (n < 0)
        return -1;
    s->e->nodes[n].value =
        (kc_value_t){.type = real ? KC_VALUE_REAL : KC_VALUE_INT, .i = i, .f = f};
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
    int n = s_node (s, KC_OP_PROP, at);
    if (n < 0)
        return -1;
    kc_expr_node_t *node = &s->e->nodes[n];
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
        return s_fail (s, from,
                       "a tensor has shape[i], stride[i], numel, bytes and rank");
    s_mention (s, n, 't');
    return n;
}

// occupancy (k), occupancy (k, block, shared), regs (k), static_shared (k); behind the
// '('.
static int s_fact (s_parser_t *s, const char *at, const char *word)
{
    int n = s_node (s, KC_OP_FACT, at);
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
                return s_fail (s, s->p,
                               "occupancy takes (kernel) or (kernel, block, shared)");
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
    if (!strcmp (word, "occupancy") || !strcmp (word, "regs")
        || !strcmp (word, "static_shared"))
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
    int n = s_node (s, KC_OP_CALL, at);
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
        char *what = kc_asprintf (
            "%s takes %d%s argument%s, %d given", word, s_functions[f].least,
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
        return s_fail (s, at,
                       *at ? "a number, a name or ( is expected"
                           : "the expression ends too early");
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
    int n = s_node (s, yes || !strcmp (word, "false") ? KC_OP_LITERAL : KC_OP_NAME, at);
    if (n < 0)
        return -1;
    if (s->e->nodes[n].op == KC_OP_LITERAL)
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
    return a < 0 ? -1 : s_binary (s, *at == '-' ? KC_OP_NEG : KC_OP_NOT, at, a, -1);
}

// The operators of one level, longest first, so that // is not read as /.
typedef struct s_token {
    const char *text;
    kc_expr_op_t op;
} s_token_t;

static const s_token_t s_levels[][7] = {
    {{"//", KC_OP_FLOORDIV}, {"*", KC_OP_MUL}, {"/", KC_OP_DIV}, {"%", KC_OP_MOD}},
    {{"+", KC_OP_ADD}, {"-", KC_OP_SUB}},
    {{"<<", KC_OP_SHL}, {">>", KC_OP_SHR}},
    {{"==", KC_OP_EQ},
     {"!=", KC_OP_NE},
     {"<=", KC_OP_LE},
     {">=", KC_OP_GE},
     {"<", KC_OP_LT},
     {">", KC_OP_GT}},
    {{"&&", KC_OP_AND}},
    {{"||", KC_OP_OR}},
};
enum { S_LEVEL_CMP = 3, S_LEVELS = 6 };

static kc_expr_op_t s_operator (s_parser_t *s, int level)
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
        kc_expr_op_t op = s_operator (s, level);
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
        n = s_binary (s, KC_OP_COND, at, n, yes);
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
        kc_fail (err, KC_EINVALID,
                 "expression '%.40s...': longer than 256 characters; use a const for a "
                 "part of it",
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
    const kc_expr_node_t *root = &self->nodes[self->root];
    // int (...) around the whole makes an integer of whatever is inside
    if (kc_expr_is_bool (self) || (root->op == KC_OP_CALL && root->fn == KC_FN_INT))
        return false;
    for (int i = 0; i < self->n; i++) {
        const kc_expr_node_t *n = &self->nodes[i];
        if (n->op == KC_OP_LITERAL && n->value.type == KC_VALUE_REAL)
            return true;
        if (n->op == KC_OP_CALL
            && (n->fn == KC_FN_FLOAT || n->fn == KC_FN_SQRT || n->fn == KC_FN_EXP
                || n->fn == KC_FN_LOG))
            return true;
    }
    return false;
}

bool kc_expr_is_bool (const kc_expr_t *self)
{
    const kc_expr_node_t *n = &self->nodes[self->root];
    return (n->op >= KC_OP_EQ && n->op <= KC_OP_OR) || n->op == KC_OP_NOT
           || (n->op == KC_OP_LITERAL && n->value.type == KC_VALUE_BOOL)
           || (n->op == KC_OP_CALL && n->fn == KC_FN_IS_POW2);
}
