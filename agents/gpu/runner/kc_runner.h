/* kc_runner.h - the child's side: one job in, one framed result out, then exit
 *
 * The job says what to compile nothing of: it carries compiled code.  The runner builds
 * the plans with the facts of the code it loaded, lays out the buffers at random places
 * between guards, generates the inputs from keys, poisons what is to be written, runs,
 * checks guards and inputs, and sends the outputs back.  It never sees an expected
 * output.  After a sticky finding it sends that and ends.
 */
#ifndef KC_RUNNER_H
#define KC_RUNNER_H

#include "agents/gpu/device.h"

typedef kc_dev_t *(kc_dev_open_f)(const kc_dev_config_t *config, kc_err_t *err);

typedef struct kc_runner_backends { // NULL: this build has none
    kc_dev_open_f *cuda, *vgpu;
} kc_runner_backends_t;

typedef enum kc_runner_mode {
    KC_RUNNER_EVALUATE = 1,
    KC_RUNNER_PROFILE,
    KC_RUNNER_PROBE
} kc_runner_mode_t;

// Serve one job.  The exit status: 0 when a 'done' record was written, else 1 (the
// daemon sees a truncated result and calls it INFRA_ERROR).
int kc_runner_serve (kc_runner_mode_t mode, int in, int out,
                     const kc_runner_backends_t *backends);

#endif // KC_RUNNER_H
