/* kc_policy.h - what a task does next: a pure function of its trail and its budget
 *
 * No I/O, no clock, no randomness: equal trails give equal decisions, which is what lets a successor
 * repeat the request ids of a planner that died.  Every decision names its evidence in 'why'.
 *
 * A round: plan (per lane) -> code or repair -> evaluate; when the base moved: profile -> match.
 * Round 0 has no plan: inspect -> seed -> evaluate -> profile -> match.
 * The end: a plan with action 'stop', then one fresh evaluation of the base in that same round
 * ('confirm'), then finish.  A base that does not stand up to it is given up for the one before.
 */
#ifndef KC_POLICY_H
#define KC_POLICY_H

#include "agents/planner/kc_trail.h"
#include "common/msg/gen/task.h"

enum {
    KC_POLICY_ACTIONS_MAX = 8, // one per lane
};
#define KC_POLICY_FLOOR_SHARE 0.95 // within 5 % of the floor there is nothing to win

typedef enum kc_action_kind {
    KC_DO_NOTHING, // the lane has ended
    KC_DO_WAIT,    // the lane waits for an earlier lane
    KC_DO_INSPECT,
    KC_DO_SEED,
    KC_DO_CODE,     // coder.optimise for the lane's plan
    KC_DO_REPAIR,   // repair.fix of the lane's failed candidate of the round before
    KC_DO_EVALUATE, // the lane's candidate
    KC_DO_CONFIRM,  // a fresh evaluation of the base, stored as the lane's evaluate step
    KC_DO_PROFILE,
    KC_DO_MATCH,
    KC_DO_PLAN,     // no request: store 'plan'
    KC_DO_FINISH,
} kc_action_kind_t;

typedef struct kc_action {
    kc_action_kind_t kind;
    int round, lane;
    kc_memory_plan_t *plan; // of KC_DO_PLAN; owned
    bool success;           // of KC_DO_FINISH
    char reason[512];       // of KC_DO_FINISH
} kc_action_t;

// The actions that can run now; those of different lanes may run side by side.  0 actions: never, a task
// that is not finished always has something to do.  Free the plans with kc_actions_clear.
size_t kc_policy_next (const kc_trail_t *trail, const kc_task_budget_t *budget,
                       kc_action_t actions[KC_POLICY_ACTIONS_MAX]);
void kc_actions_clear (kc_action_t *actions, size_t n);

// The candidate that the task answers with: the base that was confirmed last; NULL when nothing is right.
const kc_try_t *kc_policy_result (const kc_trail_t *trail);
// What the coders can still do to this program: changes by method that were not tried.  Caller frees the
// array's strings and the array (kc_choices_free).
kc_memory_choice_t *kc_policy_choices (const kc_trail_t *trail, const kc_program_t *program, size_t *n_p);
void kc_choices_free (kc_memory_choice_t *choices, size_t n);

#endif // KC_POLICY_H
