/* cupti_prof.h - counting one bound plan with CUPTI: activity records for time, the
 * range profiler for counters
 *
 * Needs no NVIDIA header: cupti_prof.c is built only where those were found, and
 * cuda_prof.c asks it. One profile per process: CUPTI allows one subscriber, and is
 * never finalised in a process that goes on.
 */
#ifndef KC_CUPTI_PROF_H
#define KC_CUPTI_PROF_H

#include "agents/gpu/cuda/cuda_dev.h"

enum {
    KC_PROF_MAX_RANGES =
        512, // launches that get counters; the rest is scaled from them
    KC_PROF_MAX_PASSES = 64,
};

typedef struct kc_cupti_prof kc_cupti_prof_t;

// What activity records tell of one run of the plan.
typedef struct kc_activity {
    double *step_us; // per plan step, 0 where no record came; caller frees
    double total_us; // first start to last end
    double busy_us;  // sum of all steps
    int invalid;     // records without times, left out
} kc_activity_t;

// The counters of some launches: values[range * n_names + name], NaN where a value is
// missing.
typedef struct kc_ranges {
    size_t n_ranges;
    int *steps; // plan step of each range
    size_t n_names;
    const char **names; // static strings of the metric table
    double *values;
    size_t n_refused; // names that this chip lacks
    const char **refused;
    int passes;
    bool kernel_replay; // the fallback was taken
} kc_ranges_t;

// Open CUPTI; NULL with KC_EUNSUPPORTED where it is absent or was left out of this
// build.
kc_cupti_prof_t *kc_cupti_prof_open (kc_cuda_dev_t *dev, kc_err_t *err);
void kc_cupti_prof_close (kc_cupti_prof_t **self_p);

// Run the plan a few times with activity records on.  -1 with a finding (the run
// failed) or, when the finding is OK, with err (no records).
int kc_cupti_activity (kc_cupti_prof_t *self, kc_cuda_bound_t *bound, bool graph,
                       const kc_dev_limits_t *limits, kc_activity_t *out,
                       kc_dev_finding_t *finding, kc_err_t *err);

// Bring back what a pass changed, before the next one; -1 with err.
typedef int (*kc_restore_f) (void *arg, kc_err_t *err);

// Count 'n' metrics of the table on up to KC_PROF_MAX_RANGES kernel launches.  -1 as
// above; KC_EREFUSED means that counters are not permitted here.
int kc_cupti_ranges (kc_cupti_prof_t *self, kc_cuda_bound_t *bound,
                     const char *const *metrics, size_t n, kc_restore_f restore,
                     void *restore_arg, const kc_dev_limits_t *limits, kc_ranges_t *out,
                     kc_dev_finding_t *finding, kc_err_t *err);
void kc_ranges_free (kc_ranges_t *ranges);

#endif // KC_CUPTI_PROF_H
