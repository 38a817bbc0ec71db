/* kc_evaluate.h - one evaluation: compile, check, time, compare what was timed, say the
 * verdict
 *
 *   compile   all units in parallel                    COMPILE_ERROR, PLAN_ERROR,
 * UNSUPPORTED check     kc_trial over shapes, values and seeds   whatever a run can
 * show, WRONG_OUTPUT time      candidate and yardsticks, interleaved, in a fresh runner
 *   verify    the reference on the content of timed samples
 *
 * On the virtual GPU times are estimates of a deterministic model, so a yardstick's is
 * computed once per process, and the timed run is the check of the task's own shape.
 */
#ifndef KC_EVALUATE_H
#define KC_EVALUATE_H

#include "agents/gpu/bench/kc_bench.h"
#include "common/msg/gen/evaluator.h"

typedef struct kc_evaluate kc_evaluate_t;
// 'verdict' belongs to the callee.  The evaluation must be destroyed after this (inside
// it is fine).
typedef void (kc_evaluate_f) (void *arg, kc_verdict_t *verdict);

// Start.  Takes 'request'.  NULL when this evaluator cannot do it at all (another
// device class); 'request' is then freed, too.
kc_evaluate_t *kc_evaluate_start (kc_bench_t *bench, kc_evaluator_evaluate_t *request,
                                  int64_t queued_ms, kc_evaluate_f *done, void *arg,
                                  kc_err_t *err);
void kc_evaluate_destroy (
    kc_evaluate_t **self_p); // stops everything at once; no callback

#endif // KC_EVALUATE_H
