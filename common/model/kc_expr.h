/* kc_expr.h - the expression language of kernel programs (sizes, grids, offsets,
 * conditions)
 *
 * 64-bit integers, doubles and booleans; every operation is checked.  Overflow,
 * division by zero or of negative integers, NaN and infinity, shifts outside 0..62 and
 * unknown names are errors that name the expression and the position (byte, from 1).
 * Evaluation has no side effect, ends after at most KC_EXPR_NODES operations and
 * depends only on what the scope answers.  A parsed expression is constant: any thread
 * may evaluate it.
 */
#ifndef KC_EXPR_H
#define KC_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/util/kc_err.h"

enum {
    KC_EXPR_CHARS = 256, // of one expression
    KC_EXPR_NODES = 64,
    KC_EXPR_DEPTH = 16, // parentheses, calls, signs and conditionals inside each other
    KC_EXPR_ARGS = 8,   // of one call
};

typedef enum kc_value_type {
    KC_VALUE_INT = 1,
    KC_VALUE_REAL,
    KC_VALUE_BOOL
} kc_value_type_t;

typedef struct kc_value {
    kc_value_type_t type;
    int64_t i; // INT
    double f;  // REAL
    bool b;    // BOOL
} kc_value_t;

typedef enum kc_expr_prop {
    KC_PROP_SHAPE = 1, // of dimension 'index'
    KC_PROP_STRIDE,    // elements
    KC_PROP_NUMEL,
    KC_PROP_BYTES,
    KC_PROP_RANK
} kc_expr_prop_t;

typedef enum kc_expr_fact { // facts of a compiled kernel
    KC_FACT_OCCUPANCY = 1,  // resident blocks per SM
    KC_FACT_REGISTERS,
    KC_FACT_STATIC_SHARED
} kc_expr_fact_t;

// What names mean.  Each callback returns 1 (known, *out filled), 0 (unknown) or -1
// (err filled). A NULL callback knows nothing.
typedef struct kc_expr_scope {
    void *arg;
    int (*name) (void *arg, const char *name, kc_value_t *out, kc_err_t *err);
    int (*tensor) (void *arg, const char *tensor, kc_expr_prop_t prop, int index,
                   int64_t *out, kc_err_t *err);
    // occupancy (kernel) has block = 0: the step's own launch is meant.
    int (*kernel) (void *arg, kc_expr_fact_t fact, const char *kernel, int64_t block,
                   int64_t shared, int64_t *out, kc_err_t *err);
    // Names to suggest for an unknown one; may be NULL.
    const char *const *known;
    size_t n_known;
} kc_expr_scope_t;

typedef struct kc_expr kc_expr_t;

// Parse; NULL with KC_EINVALID.  Copies the text.
kc_expr_t *kc_expr_parse (const char *text, kc_err_t *err);
void kc_expr_destroy (kc_expr_t **self_p);
const char *kc_expr_text (const kc_expr_t *self);

// Evaluate.  All names are looked up, those of untaken branches too; 0 or -1.
int kc_expr_eval (const kc_expr_t *self, const kc_expr_scope_t *scope, kc_value_t *out,
                  kc_err_t *err);
// Parse and evaluate, the result must have the type asked for (a REAL may be given as
// INT).
int kc_expr_int (const char *text, const kc_expr_scope_t *scope, int64_t *out,
                 kc_err_t *err);
int kc_expr_real (const char *text, const kc_expr_scope_t *scope, double *out,
                  kc_err_t *err);
int kc_expr_bool (const char *text, const kc_expr_scope_t *scope, bool *out,
                  kc_err_t *err);

// What the expression mentions: plain names, tensors of properties and kernels of
// facts, in order, repeats included.  NULL past the end; *kind_p: 'n' name, 't' tensor,
// 'o' occupancy, 'r' regs, 's' static_shared.
const char *kc_expr_mention (const kc_expr_t *self, size_t i, char *kind_p);
// A float literal or a function that gives a double appears (a constant's default
// type).
bool kc_expr_is_real (const kc_expr_t *self);
// Operator == or a name used as a whole condition is not enough to tell a boolean: its
// outermost operation is a comparison, !, &&, ||, true, false or is_pow2.
bool kc_expr_is_bool (const kc_expr_t *self);

#endif // KC_EXPR_H
