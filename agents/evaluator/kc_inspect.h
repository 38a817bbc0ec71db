/* kc_inspect.h - from a submitted task to its card, proven by running it
 *
 * The main file is parsed and the card built; the given kernel is compiled at every
 * shape and run at the check shapes against its own rewriting in double.  Where both
 * agree within the task's tolerance the rewriting becomes the reference, else the given
 * kernel itself does and the card says so.  Trivial solutions (zeros, a copy, the mean,
 * another seed's output, one percent missing) are tried against the comparison: a task
 * that one of them passes is noted as degenerate.
 */
#ifndef KC_INSPECT_H
#define KC_INSPECT_H

#include "agents/gpu/bench/kc_bench.h"
#include "common/msg/gen/evaluator.h"

typedef struct kc_inspect kc_inspect_t;
// 'reply' (card or refusal) belongs to the callee; NULL: 'err' says what kept us from
// inspecting.
typedef void (kc_inspect_f) (void *arg, kc_evaluator_inspect_reply_t *reply,
                             const kc_err_t *err);

// Start.  Takes 'request'.  'text' (may be NULL) is the main file when the caller has
// it already.
kc_inspect_t *kc_inspect_start (kc_bench_t *bench, kc_evaluator_inspect_t *request,
                                const char *text, size_t size, kc_inspect_f *done,
                                void *arg);
void kc_inspect_destroy (kc_inspect_t **self_p); // stops everything; no callback

#endif // KC_INSPECT_H
