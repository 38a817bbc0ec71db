/* kc_job.h - a job for kc-runner put together from programs and their compiled code */
#ifndef KC_JOB_H
#define KC_JOB_H

#include "agents/gpu/bench/kc_bench.h"

typedef struct kc_side { // one contestant; borrows everything
    kc_runner_who_t who;
    const kc_program_t *program;
    const kc_card_t *card;            // of a reference in double, NULL = the job's card
    const kc_compiled_t *const *code; // one per shape of the job
} kc_side_t;

typedef struct kc_job {
    kc_runner_job_t *job;
    const void **binaries; // borrowed from the compiled code
} kc_job_t;

// A job for 'sides' at the shapes given by number (kc_cases.h: checks, then the task's).  Cases and timing
// are added by the caller; they name shapes by their place in 'shapes'.
void kc_job_init (kc_job_t *self, const kc_bench_t *bench, const kc_card_t *card, const kc_side_t *sides, size_t n_sides,
                  const int64_t *shapes, size_t n_shapes);
void kc_job_free (kc_job_t *self);
// Add a copy of a case.
void kc_job_case (kc_job_t *self, const kc_runner_case_t *c);

#endif // KC_JOB_H
