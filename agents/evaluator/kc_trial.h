/* kc_trial.h - is a program right?  Reference and candidate in processes of their own,
 * compared here
 *
 * For every batch of cases the reference runs first, in its own kc-runner; its outputs
 * stay in this process. Then the candidate runs in a fresh one and each byte of its
 * outputs is compared as it arrives.  The first wrong case ends the trial; so does any
 * finding.  What was tried is counted in verdict->checked.
 */
#ifndef KC_TRIAL_H
#define KC_TRIAL_H

#include "agents/gpu/bench/kc_job.h"
#include "agents/gpu/judge/kc_compare.h"
#include "common/msg/gen/verdict.h"

enum {
    KC_TRIAL_EXPECTED =
        512 << 20, // bytes of expected outputs of one batch (one case may have more)
    KC_TRIAL_WALL_MS = 90000, // of one runner
};

typedef struct kc_trial kc_trial_t;

typedef struct kc_trial_spec { // borrowed until kc_trial_destroy
    kc_bench_t *bench;
    const kc_card_t *card;
    kc_side_t reference, candidate; // their code by shape number
    bool reference_exact;           // in double
    bool reference_is_given; // the reference is the candidate: what it runs into is the
                             // candidate's own
    const kc_runner_case_t *cases;
    size_t n_cases;
    int64_t instructions;  // vgpu: of one run
    double seconds;        // of one run
    int64_t bound_ms;      // after this no further case is started; 0 = none
    kc_verdict_t *verdict; // gets findings, counts, labels and kernels
    // May be NULL: called for each expected output of a case as soon as it is complete.
    void (*on_expected) (void *arg, size_t case_number, size_t tensor, const void *data,
                         int64_t elements);
    void (*done) (void *arg); // from the loop, once
    void *arg;
} kc_trial_spec_t;

kc_trial_t *kc_trial_start (const kc_trial_spec_t *spec);
void kc_trial_destroy (kc_trial_t **self_p); // kills what runs; no callback
bool kc_trial_skipped (
    const kc_trial_t *self); // a case at its own bound of instructions was left out

// The rms of an output of few elements over the seeds of a value range, at the shape
// where it was largest.
double kc_trial_scale (const kc_trial_t *self, kc_runner_values_t values,
                       size_t tensor);

// The comparison of output 'tensor' (an index into the card's tensors) at a shape,
// without its data: tolerance, types and size.  -1 when the sizes cannot be computed.
int kc_trial_compare (const kc_card_t *card, const kc_card_t *reference_card,
                      bool reference_exact, int64_t shape, size_t tensor,
                      kc_compare_spec_t *out, int64_t sizes[KC_COMPARE_RANK], int *rank,
                      kc_err_t *err);
// How a runner ended other than well, as a finding of 'verdict'; 'reference' = it was
// not the candidate's fault.
void kc_trial_end (kc_verdict_t *verdict, const kc_run_end_t *end, bool reference,
                   const char *name);

#endif // KC_TRIAL_H
