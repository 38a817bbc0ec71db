/* kc_expr_node.h - the parsed form of an expression, shared by parser and evaluator
 * (inside common/model) */
#ifndef KC_EXPR_NODE_H
#define KC_EXPR_NODE_H

#include "common/model/kc_expr.h"

typedef enum kc_expr_op {
    KC_OP_LITERAL = 1,
    KC_OP_NAME,
    KC_OP_PROP,
    KC_OP_FACT,
    KC_OP_NEG,
    KC_OP_NOT,
    KC_OP_MUL,
    KC_OP_DIV,
    KC_OP_FLOORDIV,
    KC_OP_MOD,
    KC_OP_ADD,
    KC_OP_SUB,
    KC_OP_SHL,
    KC_OP_SHR,
    KC_OP_EQ,
    KC_OP_NE,
    KC_OP_LT,
    KC_OP_LE,
    KC_OP_GT,
    KC_OP_GE,
    KC_OP_AND,
    KC_OP_OR,
    KC_OP_COND,
    KC_OP_CALL
} kc_expr_op_t;

typedef enum kc_expr_fn {
    KC_FN_CDIV = 1,
    KC_FN_ALIGN,
    KC_FN_MIN,
    KC_FN_MAX,
    KC_FN_ABS,
    KC_FN_GCD,
    KC_FN_POW2_CEIL,
    KC_FN_LOG2_CEIL,
    KC_FN_IS_POW2,
    KC_FN_INT,
    KC_FN_FLOAT,
    KC_FN_SQRT,
    KC_FN_EXP,
    KC_FN_LOG,
    KC_FN_DIV_MAGIC,
    KC_FN_DIV_SHIFT
} kc_expr_fn_t;

typedef struct kc_expr_node {
    kc_expr_op_t op;
    int at; // byte position of the operator or word, from 1
    int a, b, c;
    int n_args;
    int args[KC_EXPR_ARGS];
    kc_expr_fn_t fn;
    kc_value_t value; // LITERAL
    char name[65];    // NAME, PROP, FACT
    kc_expr_prop_t prop;
    kc_expr_fact_t fact;
    int index; // of shape[] and stride[]
} kc_expr_node_t;

struct kc_expr {
    char *text;
    int root;
    int n;
    kc_expr_node_t nodes[KC_EXPR_NODES];
    int n_mentions;
    struct {
        int node;
        char kind;
    } mentions[KC_EXPR_NODES];
};

#endif // KC_EXPR_NODE_H
