// kc_device.c - what all devices share: the ends of their results, findings in words (device.h)

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agents/gpu/device.h"
#include "common/util/kc_mem.h"

enum { DEVICE_FINDINGS = 8 };

void kc_dev_close (kc_dev_t **dev_p)
{
    if (*dev_p)
        (*dev_p)->ops->destroy (*dev_p);
    *dev_p = NULL;
}

void kc_dev_timing_free (kc_dev_timing_t *timing)
{
    for (int i = 0; i < KC_DEV_MAX_CONTESTANTS; i++)
        free (timing->us[i]);
    memset (timing, 0, sizeof *timing);
}

void kc_dev_profile_free (kc_dev_profile_t *profile)
{
    for (size_t i = 0; i < profile->n_steps; i++)
        free (profile->steps[i].counters);
    free (profile->steps);
    memset (profile, 0, sizeof *profile);
}

static void s_xyz (int64_t **out, size_t *n, const uint32_t from[3])
{
    for (int i = 0; i < 3; i++) {
        int64_t *slot = kc_push (out, n, sizeof **out);
        *slot = from[i];
    }
}

static const char *s_fix (kc_verdict_status_t status)
{
    switch (status) {
    case KC_VERDICT_STATUS_OUT_OF_BOUNDS:
        return "test the index against the tensor's size before the access; check tails and the grid";
    case KC_VERDICT_STATUS_BARRIER_DIVERGENCE:
        return "every thread of the block must reach the barrier: move it out of the condition, and do not return before it";
    case KC_VERDICT_STATUS_RACE:
        return "put a barrier between the write and the access of another thread";
    case KC_VERDICT_STATUS_TIMEOUT:
        return "look for a loop that does not end or does far too much work";
    case KC_VERDICT_STATUS_INPUT_MUTATED:
        return "inputs are read-only: write to an output or to scratch";
    case KC_VERDICT_STATUS_UNSET:
    case KC_VERDICT_STATUS_OK:
    case KC_VERDICT_STATUS_COMPILE_ERROR:
    case KC_VERDICT_STATUS_PLAN_ERROR:
    case KC_VERDICT_STATUS_LAUNCH_ERROR:
    case KC_VERDICT_STATUS_WRONG_OUTPUT:
    case KC_VERDICT_STATUS_IMPOSSIBLE:
    case KC_VERDICT_STATUS_UNSUPPORTED:
    case KC_VERDICT_STATUS_NO_MEASUREMENT:
    case KC_VERDICT_STATUS_INFRA_ERROR:
        break;
    }
    return NULL;
}

kc_verdict_finding_t *kc_dev_finding_add (kc_verdict_t *verdict, const kc_dev_finding_t *finding, const kc_plan_t *plan)
{
    if (verdict->n_findings >= DEVICE_FINDINGS)
        return &verdict->findings[DEVICE_FINDINGS - 1];
    if (verdict->n_findings == 0)
        verdict->status = finding->status;
    kc_verdict_finding_t *f = kc_push (&verdict->findings, &verdict->n_findings, sizeof *verdict->findings);
    kc_type_init (&kc_verdict_finding_type, f);
    f->status = finding->status;
    f->text = kc_utf8_clean (finding->text, strlen (finding->text), 1000);
    if (finding->kernel[0])
        f->kernel = kc_utf8_clean (finding->kernel, strlen (finding->kernel), 256);
    // findings speak of the author's steps; the launches of a loop share one, zeroings have none
    if (plan && finding->step >= 0 && (size_t)finding->step < plan->n_steps && plan->steps[finding->step].source_step >= 0) {
        f->has_step = true;
        f->step = plan->steps[finding->step].source_step;
    }
    f->has_line = finding->line > 0;
    f->line = finding->line;
    f->has_other_line = finding->other_line > 0;
    f->other_line = finding->other_line;
    if (finding->has_place) {
        s_xyz (&f->block, &f->n_block, finding->block);
        s_xyz (&f->thread, &f->n_thread, finding->thread);
    }
    if (finding->buffer[0])
        f->buffer = kc_utf8_clean (finding->buffer, strlen (finding->buffer), 64);
    f->has_index = finding->has_index;
    f->index = finding->index;
    kc_set (&f->fix, s_fix (finding->status));
    return f;
}
