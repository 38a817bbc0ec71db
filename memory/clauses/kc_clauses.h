/* kc_clauses.h - expert clauses: SQL expressions over one step of the evidence,
 * evaluated by SQLite
 *
 * A clause is foreign text.  It only ever meets a private in-memory connection with one
 * table whose columns are the fields of evidence.schema.json#/$defs/step (numbers REAL,
 * enums TEXT) and some facts of the run (kc_clauses.c lists them: policy, backend,
 * device_*, run_*).  A missing field is NULL, so SQL's own logic makes the answer true,
 * false or unknown.
 *
 * Admission (kc_clauses_check, the ten guards)
 *  1 an authorizer allows one SELECT, reads of that table and abs min max round like,
 * nothing else 2 exactly one SELECT                      3 the text compiles bare and
 * in parentheses, alone 4 double-quoted strings are off           5 limits on length,
 * depth, work 6 the value is an integer or NULL         7 numbers are REAL, so 1/2 of
 * fields is never 0 8 coalesce, ifnull and iif are denied     9 unknown on an all-NULL
 * row unless handles_unknown; never true on every probe row; quoted words are values of
 * an enum 10 division by zero is NULL, that is unknown A severity is an expression too:
 * a number instead of a truth value, clamped to 0..1.
 *
 * Work is bounded by a progress handler, also while evaluating.  Single thread.
 */
#ifndef KC_CLAUSES_H
#define KC_CLAUSES_H

#include <stdbool.h>
#include <stddef.h>

#include "common/msg/gen/evidence.h"
#include "common/util/kc_buf.h"
#include "common/util/kc_err.h"

enum {
    KC_CLAUSES_MAX = 4096,  // expressions in one set
    KC_CLAUSES_GROUP = 100, // expressions of one SELECT
    KC_CLAUSES_TEXT = 1024, // bytes of one expression
    KC_CLAUSES_KEPT = 16,   // evaluations whose answers are kept side by side
};

typedef enum kc_truth { KC_FALSE = 0, KC_TRUE = 1, KC_UNKNOWN = 2 } kc_truth_t;

typedef enum kc_clause_kind {
    KC_CLAUSE_CONDITION = 1,
    KC_CLAUSE_SEVERITY,
} kc_clause_kind_t;

typedef struct kc_clauses kc_clauses_t;

kc_clauses_t *kc_clauses_new (kc_err_t *err);
void kc_clauses_destroy (kc_clauses_t **self_p);

// 0 when the text may be used; -1 with KC_EINVALID, the text says which guard refused
// it and why.
int kc_clauses_check (kc_clauses_t *self, const char *expr, kc_clause_kind_t kind,
                      bool handles_unknown, kc_err_t *err);
// Admit and remember; the number of the expression (equal texts share one), or -1.
int kc_clauses_add (kc_clauses_t *self, const char *expr, kc_clause_kind_t kind,
                    bool handles_unknown, kc_err_t *err);
// Call after the last add and before the first eval.
int kc_clauses_build (kc_clauses_t *self, kc_err_t *err);
void kc_clauses_forget (kc_clauses_t *self); // drop all expressions

// Evaluate everything over one step and keep the answers in place 'keep' (0 ..
// KC_CLAUSES_KEPT - 1).  The facts of 'run' and 'policy' (may be NULL) go into the row;
// all three must outlive the answers.
int kc_clauses_eval (kc_clauses_t *self, size_t keep, const kc_evidence_t *run,
                     const kc_evidence_step_t *step, const char *policy, kc_err_t *err);
// The functions below tell about this place from now on; eval chooses its own.
void kc_clauses_use (kc_clauses_t *self, size_t keep);
// Answers of the chosen place.
kc_truth_t kc_clauses_truth (const kc_clauses_t *self, int clause);
double kc_clauses_number (const kc_clauses_t *self, int clause,
                          double unknown); // severity, 0..1
// Append the values read ("dram_share = 0.91"), or for an unknown one what is missing
// and why.
void kc_clauses_because (const kc_clauses_t *self, int clause, kc_buf_t *out);
// Missing fields of an unknown clause: the i-th one, NULL past the end.
const char *kc_clauses_missing (const kc_clauses_t *self, int clause, size_t i);
// Why a field is missing in the chosen place: the schema's reason, "not_collected" when
// nobody says.
const char *kc_clauses_reason (const kc_clauses_t *self, const char *field);

size_t kc_clauses_columns (const kc_clauses_t *self);
// Name, and "REAL" or "TEXT"; what it is in *text_p (may be NULL).
const char *kc_clauses_column (const kc_clauses_t *self, size_t i, const char **type_p,
                               const char **text_p);

#endif // KC_CLAUSES_H
