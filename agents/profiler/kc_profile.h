/* kc_profile.h - one profile: compile at the task's sizes, count in a kc-runner, derive the evidence
 *
 * Counting happens under the GPU's lock and in a process of its own, so it never disturbs a timing and a
 * fault costs only itself.  It judges nothing: a program that cannot be run is an error with the reason.
 */
#ifndef KC_PROFILE_H
#define KC_PROFILE_H

#include "agents/gpu/bench/kc_bench.h"
#include "common/msg/gen/profiler.h"

typedef struct kc_profile kc_profile_t;
// Exactly once; 'evidence' (the callee's) or NULL with err.  The profile is still there: destroy it.
typedef void (kc_profile_f) (void *arg, kc_evidence_t *evidence, const kc_err_t *err);

// Takes the request.  'done' never comes from inside this call; NULL with err when it cannot even begin.
kc_profile_t *kc_profile_start (kc_bench_t *bench, kc_profiler_profile_t *request, kc_profile_f *done, void *arg, kc_err_t *err);
// Kills what runs; 'done' is not called any more.  NULL is fine.
void kc_profile_destroy (kc_profile_t **self_p);

#endif // KC_PROFILE_H
