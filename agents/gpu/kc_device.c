// kc_device.c - what both backends of device.h share

#include <stdio.h>
#include <stdlib.h>

#include "agents/gpu/device.h"
#include "common/model/kc_finding.h"
#include "common/util/kc_mem.h"

void kc_dev_close (kc_dev_t **dev_p)
{
    if (*dev_p)
        (*dev_p)->ops->destroy (*dev_p);
    *dev_p = NULL;
}

void kc_dev_timing_free (kc_dev_timing_t *timing)
{
    for (int c = 0; c < KC_DEV_MAX_CONTESTANTS; c++)
        free (timing->us[c]);
    *timing = (kc_dev_timing_t){0};
}

void kc_dev_profile_free (kc_dev_profile_t *profile)
{
    for (size_t i = 0; i < profile->n_steps; i++)
        free (profile->steps[i].counters);
    free (profile->steps);
    *profile = (kc_dev_profile_t){0};
}

static void s_place (int64_t **v, size_t *n, const uint32_t place[3])
{
    for (int i = 0; i < 3; i++) {
        int64_t *slot = kc_push (v, n, sizeof **v);
        *slot = place[i];
    }
}

kc_verdict_finding_t *kc_dev_finding_add (kc_verdict_t *verdict, const kc_dev_finding_t *finding, const kc_plan_t *plan)
{
    if (verdict->n_findings >= KC_FINDINGS_MAX)
        return NULL;
    kc_verdict_finding_t *f = kc_push (&verdict->findings, &verdict->n_findings, sizeof *verdict->findings);
    kc_type_init (&kc_verdict_finding_type, f);
    f->status = finding->status;
    kc_set (&f->text, finding->text);
    if (finding->kernel[0])
        kc_set (&f->kernel, finding->kernel);
    if (finding->step >= 0 && plan && (size_t)finding->step < plan->n_steps) {
        f->has_step = true;
        f->step = plan->steps[finding->step].source_step;
    }
    if (finding->line > 0) {
        f->has_line = true;
        f->line = finding->line;
    }
    if (finding->other_line > 0) {
        f->has_other_line = true;
        f->other_line = finding->other_line;
    }
    if (finding->has_place) {
        s_place (&f->block, &f->n_block, finding->block);
        s_place (&f->thread, &f->n_thread, finding->thread);
    }
    if (finding->buffer[0])
        kc_set (&f->buffer, finding->buffer);
    if (finding->has_index) {
        f->has_index = true;
        f->index = finding->index;
    }
    if (verdict->status == KC_VERDICT_STATUS_UNSET || verdict->status == KC_VERDICT_STATUS_OK)
        verdict->status = finding->status;
    return f;
}
