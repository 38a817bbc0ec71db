/* kc_run.h - the daemon's side of a kc-runner: start one, feed it its job, read its
 * records, end it
 *
 * Everything happens on the loop's thread; nothing blocks.  A run ends exactly once,
 * with on_end, never from inside kc_run_start.  The wall limit is enforced here: the
 * process group is killed, whatever it is doing. Used by the evaluator and the
 * profiler.
 */
#ifndef KC_RUN_H
#define KC_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/msg/gen/runner.h"
#include "common/net/kc_loop.h"
#include "common/util/kc_err.h"

typedef struct kc_run kc_run_t;

typedef enum kc_run_outcome {
    KC_RUN_DONE = 1, // the 'done' record came and the process ended
    KC_RUN_TIMEOUT,  // killed at the wall limit
    KC_RUN_CRASHED,  // it died or exited without 'done'
    KC_RUN_PROTOCOL, // it sent what is no record
} kc_run_outcome_t;

typedef struct kc_run_end {
    kc_run_outcome_t outcome;
    const char *text;   // in words, "" when DONE
    const char *output; // the last of what it wrote to stderr, "" when nothing
    int64_t ms;         // from start to end
} kc_run_end_t;

typedef struct kc_run_spec { // everything borrowed for the call of kc_run_start,
                             // binaries until the end
    const char *runner; // absolute path; NULL = kc-runner beside the running program
    const char *mode;   // "evaluate", "profile" or "probe"
    const kc_runner_job_t *job;
    const void *const
        *binaries; // job->n_binaries of them, as long as job->binaries[i].size says
    int lock_fd; // inherited by the child so that a GPU's lock dies with it; -1 = none
    int64_t wall_ms;
    // May be NULL.  -1 from either ends the run (KC_RUN_PROTOCOL with the text of err).
    int (*on_record) (void *arg, const kc_runner_record_t *record, kc_err_t *err);
    int (*on_data) (void *arg, const void *data, size_t size,
                    kc_err_t *err);                      // of the last 'output' record
    void (*on_end) (void *arg, const kc_run_end_t *end); // the run is gone after it
    void *arg;
} kc_run_spec_t;

// Start; NULL when the child could not be started (on_end is not called then).
kc_run_t *kc_run_start (kc_loop_t *loop, const kc_run_spec_t *spec, kc_err_t *err);
// Kill it; no further callback.  NULL is fine.
void kc_run_cancel (kc_run_t **self_p);

#endif // KC_RUN_H
