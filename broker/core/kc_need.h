/* kc_need.h - facts of a worker, needs of a request, and whether the one serves the
 * other
 *
 * A need is a conjunction of terms.  A term on a fact that the worker did not announce
 * is not met, a comparison of text with a number neither; ">=" and "<=" compare numbers
 * only.
 */
#ifndef KC_NEED_H
#define KC_NEED_H

#include <stdbool.h>
#include <stddef.h>

enum {
    KC_FACTS_MAX = 32, // facts of one worker
    KC_TERMS_MAX = 8,  // terms of one need
    KC_WORD_MAX = 96,  // bytes of a key, a text, an id, an instance
};

typedef enum kc_term_op {
    KC_TERM_EQ = 1,
    KC_TERM_NE,
    KC_TERM_GE,
    KC_TERM_LE,
    KC_TERM_PREFIX
} kc_term_op_t;

typedef struct kc_fact {
    char *key;
    char *text; // NULL = the number counts
    double number;
} kc_fact_t;

typedef struct kc_facts {
    kc_fact_t *fact;
    size_t n;
} kc_facts_t;

typedef struct kc_term {
    char *key;
    kc_term_op_t op;
    char *text; // NULL = the number counts
    double number;
} kc_term_t;

typedef struct kc_need { // zeroed = any worker will do
    kc_term_t *term;
    size_t n;
} kc_need_t;

// Append a copy.  'text' NULL = a number.
void kc_facts_add (kc_facts_t *facts, const char *key, const char *text, double number);
void kc_facts_free (kc_facts_t *facts);
void kc_need_add (kc_need_t *need, const char *key, kc_term_op_t op, const char *text,
                  double number);
void kc_need_free (kc_need_t *need);
kc_term_op_t kc_term_op_parse (const char *name); // 0 when unknown

bool kc_need_met (const kc_need_t *need, const kc_facts_t *facts);
// "sm>=90 gpu=H200" into 'out', cut when too long.
void kc_need_text (const kc_need_t *need, char *out, size_t room);
// The worker's facts on the keys of the need: "sm=80 backend=vgpu", "no sm" for those
// it lacks.
void kc_need_facts_text (const kc_need_t *need, const kc_facts_t *facts, char *out,
                         size_t room);

#endif // KC_NEED_H
