/* kc_trail.h - what a task has been through: its stored steps, folded
 *
 * The trail is a pure function of the steps in the order of their numbers, so a planner that takes
 * over a task sees exactly what its predecessor saw.  A "try" is one lane of one round: its plan, its
 * candidate, verdict, evidence and diagnosis, as far as it got.
 *
 * Base: the program that changes are made to.  It starts as the first candidate that is right and
 * moves only to a candidate that is FASTER than it in the same measurement.
 * Best: the fastest confirmed program; for one lane it is the base.
 */
#ifndef KC_TRAIL_H
#define KC_TRAIL_H

#include <stdbool.h>
#include <stddef.h>

#include "common/msg/gen/memory.h"
#include "common/util/kc_hash.h"

typedef struct kc_try {
    int round, lane;
    bool has[KC_MEMORY_STEP_KIND_PLAN + 1]; // steps stored, by kind
    // Parts of the stored documents, borrowed from the trail; NULL = not there (yet).
    const kc_memory_plan_t *plan;
    const kc_candidate_t *candidate;
    const kc_memory_repair_note_t *repair;
    const kc_verdict_t *verdict;
    const kc_evidence_t *evidence;
    const kc_memory_diagnosis_t *diagnosis;
    const kc_memory_outcome_t *error; // of the last step that ended without a product
    char hash[KC_SHA_HEX];            // of the candidate's program, "" without one
} kc_try_t;

typedef struct kc_trail kc_trail_t;

kc_trail_t *kc_trail_new (void);
void kc_trail_destroy (kc_trail_t **self_p);
// Add a stored step.  Takes the document.
void kc_trail_add (kc_trail_t *self, int round, int lane, kc_memory_step_kind_t step, kc_memory_step_doc_t *doc);

const kc_card_t *kc_trail_card (const kc_trail_t *self);              // NULL before inspect
const kc_memory_outcome_t *kc_trail_inspect_error (const kc_trail_t *self);
int kc_trail_round (const kc_trail_t *self);                          // the latest round with a step; -1 = none
const kc_try_t *kc_trail_try (const kc_trail_t *self, int round, int lane); // NULL when it has no step
int kc_trail_lanes (const kc_trail_t *self, int round);               // lanes with a step
const kc_try_t *kc_trail_base (const kc_trail_t *self);               // NULL: nothing was right so far
// The first program that was right: what speedups are quoted over.  NULL: none so far.
const kc_try_t *kc_trail_baseline (const kc_trail_t *self);
// The base as it was when 'round' began.
const kc_try_t *kc_trail_base_before (const kc_trail_t *self, int round);
// Was a program with this hash evaluated, or is it a candidate of this task already?
bool kc_trail_tried (const kc_trail_t *self, const char *hash);
size_t kc_trail_n_tried (const kc_trail_t *self);
const char *kc_trail_tried_at (const kc_trail_t *self, size_t index);
// Tries with this method on the present base that did not become the base.
int kc_trail_failures (const kc_trail_t *self, const char *method);
// The coder said that nothing is left for this method on the present base.
bool kc_trail_exhausted (const kc_trail_t *self, const char *method);
// Length of the chain of repairs that ends in this try (0 = it is no repair).
int kc_trail_chain (const kc_trail_t *self, const kc_try_t *t);
double kc_trail_seconds (const kc_trail_t *self); // sum of the durations of all steps

// Is the verdict OK and faster than what it was measured against?  'over' NULL-safe.
bool kc_verdict_faster (const kc_verdict_t *verdict);
// The speedup over 'over'; when it was not measured, over the other yardstick; 0 without any.
double kc_verdict_speedup (const kc_verdict_t *verdict, kc_verdict_ratio_over_t over);

#endif // KC_TRAIL_H
