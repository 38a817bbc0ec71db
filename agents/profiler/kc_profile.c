// kc_profile.c - see kc_profile.h

#include "agents/profiler/kc_profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agents/gpu/bench/kc_job.h"
#include "agents/gpu/bench/kc_units.h"
#include "agents/gpu/model/kc_evidence.h"
#include "agents/gpu/runner/kc_run.h"
#include "agents/gpu/vgpu/ptx_module.h"
#include "common/util/kc_mem.h"

enum {
    WALL_MS = 180 * 1000, // of one profile; replays of a large program take long
    RUN_SECONDS = 60,     // of one run of the plan
    CONTENT_SEED = 20011, // any: evidence must not depend on it
};

struct kc_profile {
    kc_bench_t *bench;
    kc_profiler_profile_t *request;
    kc_profile_f *done;
    void *arg;
    int64_t started;
    kc_unit_spec_t spec;
    kc_units_t *units;
    kc_bench_lock_t lock;
    kc_job_t job; // the run borrows its binaries
    kc_run_t *run;
    // of the runner
    kc_kernel_facts_t *kernels;
    size_t n_kernels;
    kc_runner_profile_t *counted;
    char problem[KC_ERR_TEXT];
};

static void s_kernels_free (kc_profile_t *self)
{
    for (size_t i = 0; i < self->n_kernels; i++) {
        free (self->kernels[i].name);
        free (self->kernels[i].symbol);
    }
    free (self->kernels);
    self->kernels = NULL;
    self->n_kernels = 0;
}

void kc_profile_destroy (kc_profile_t **self_p)
{
    kc_profile_t *self = *self_p;
    *self_p = NULL;
    if (!self)
        return;
    kc_run_cancel (&self->run);
    kc_bench_lock_cancel (&self->lock);
    kc_job_free (&self->job);
    kc_units_destroy (&self->units);
    s_kernels_free (self);
    kc_type_free (&kc_runner_profile_type, self->counted);
    kc_profiler_profile_free (&self->request);
    free (self);
}

static void s_fail (kc_profile_t *self, kc_code_t code, const char *text)
{
    kc_err_t err = {0};
    kc_fail (&err, code, "%s", text);
    self->done (self->arg, NULL, &err);
}

// ---- from records to evidence ----

static void s_take_profile (const kc_runner_profile_t *from, kc_dev_profile_t *to)
{
    *to = (kc_dev_profile_t){.total_us = from->total_us, .kernel_us = from->kernel_us, .passes = (int)from->passes,
                             .counters_missing = from->counters_missing};
    if (from->missing_reason)
        snprintf (to->missing_reason, sizeof to->missing_reason, "%s", from->missing_reason);
    for (size_t i = 0; i < from->n_steps; i++) {
        kc_dev_step_counters_t *s = kc_push (&to->steps, &to->n_steps, sizeof *to->steps);
        s->step = (int)from->steps[i].step;
        for (size_t k = 0; k < from->steps[i].n_counters; k++) {
            kc_dev_counter_t *c = kc_push (&s->counters, &s->n, sizeof *s->counters);
            snprintf (c->name, sizeof c->name, "%s", from->steps[i].counters[k].name);
            c->value = from->steps[i].counters[k].value;
        }
    }
}

static void s_finish (kc_profile_t *self)
{
    const kc_card_t *card = self->request->card;
    const kc_compiled_t *code = kc_units_code (self->units, 0);
    kc_verdict_t *findings = kc_verdict_new ();
    kc_plan_t *plan = kc_plan_build (card, self->request->program, NULL, 0, &self->bench->facts, self->kernels, self->n_kernels, findings);
    if (!plan) {
        s_fail (self, KC_EINVALID, findings->n_findings ? findings->findings[0].text : "the plan cannot be built");
        kc_verdict_free (&findings);
        return;
    }
    kc_dev_profile_t profile;
    s_take_profile (self->counted, &profile);
    ptx_module_t *ptx = code->ptx ? ptx_module_parse (code->ptx, code->ptx_size, NULL) : NULL;
    const double bandwidth = card->device->has_bandwidth ? card->device->bandwidth : self->bench->device->bandwidth;
    const kc_evidence_input_t input = {
        .card = card,
        .plan = plan,
        .facts = &self->bench->facts,
        .bandwidth = bandwidth,
        .copy_bandwidth = card->device->has_copy_bandwidth ? card->device->copy_bandwidth : bandwidth,
        .profile = &profile,
        .estimate = self->bench->device->estimate,
        .ptx = ptx,
    };
    kc_evidence_t *evidence = kc_evidence_derive (&input);
    evidence->has_seconds = true;
    evidence->seconds = (double)(kc_loop_now (self->bench->loop) - self->started) / 1000;
    char hash[KC_SHA_HEX];
    if (kc_code_hash ("", code, hash, NULL) == 0)
        kc_set (&evidence->code_hash, hash);
    ptx_module_destroy (&ptx);
    kc_dev_profile_free (&profile);
    kc_plan_destroy (&plan);
    kc_verdict_free (&findings);
    self->done (self->arg, evidence, NULL);
}

// ---- the runner ----

static void s_take_kernels (kc_profile_t *self, const kc_runner_record_t *record)
{
    s_kernels_free (self);
    for (size_t i = 0; i < record->n_kernels; i++) {
        const kc_runner_kernel_t *from = &record->kernels[i];
        kc_kernel_facts_t *to = kc_push (&self->kernels, &self->n_kernels, sizeof *self->kernels);
        to->name = kc_strdup (from->name);
        to->symbol = kc_strdup (from->symbol);
        to->registers = (int)from->registers;
        to->registers_estimated = from->registers_estimated;
        to->shared_static = from->shared_static;
        to->local_bytes = from->local_bytes;
        to->spill_bytes = from->spill_bytes;
        to->max_threads = (int)from->max_threads;
        to->n_params = from->n_params < KC_COUNT (to->params) ? from->n_params : KC_COUNT (to->params);
        for (size_t k = 0; k < to->n_params; k++) {
            to->params[k].offset = (size_t)from->params[k].offset;
            to->params[k].size = (size_t)from->params[k].size;
        }
    }
}

static int s_on_record (void *arg, const kc_runner_record_t *record, kc_err_t *err)
{
    (void)err;
    kc_profile_t *self = arg;
    if (record->kind == KC_RUNNER_RECORD_KIND_KERNELS)
        s_take_kernels (self, record);
    if (record->kind == KC_RUNNER_RECORD_KIND_PROFILE && record->profile && !self->counted)
        self->counted = kc_type_dup (&kc_runner_profile_type, record->profile);
    if (record->kind == KC_RUNNER_RECORD_KIND_FINDING && record->n_findings > 0 && !self->problem[0])
        snprintf (self->problem, sizeof self->problem, "%s: %.400s", kc_verdict_status_name (record->findings[0].status),
                  record->findings[0].text);
    return 0;
}

static void s_on_end (void *arg, const kc_run_end_t *end)
{
    kc_profile_t *self = arg;
    self->run = NULL;
    if (self->counted && self->n_kernels > 0) {
        s_finish (self);
        return;
    }
    char text[KC_ERR_TEXT];
    snprintf (text, sizeof text, "the program could not be counted: %.160s%s%.240s",
              self->problem[0] ? self->problem : end->text, end->output[0] ? "; " : "", end->output);
    const bool lost = end->outcome == KC_RUN_CRASHED && !self->problem[0]; // not the program's fault: asked again
    s_fail (self, end->outcome == KC_RUN_TIMEOUT ? KC_ETIMEOUT : lost ? KC_EIO : KC_EFAILED, text);
}

static void s_on_lock (void *arg, int fd)
{
    kc_profile_t *self = arg;
    const kc_card_t *card = self->request->card;
    const kc_compiled_t *code = kc_units_code (self->units, 0);
    const kc_side_t side = {.who = KC_RUNNER_WHO_CANDIDATE, .program = self->request->program, .code = &code};
    const int64_t shape = (int64_t)card->n_checks; // the task's own
    kc_job_init (&self->job, self->bench, card, &side, 1, &shape, 1);
    self->job.job->seconds = RUN_SECONDS;
    self->job.job->timing = kc_runner_timing_new ();
    self->job.job->timing->seed = CONTENT_SEED;
    const kc_run_spec_t spec = {.runner = self->bench->runner, .mode = "profile", .job = self->job.job, .binaries = self->job.binaries,
                                .lock_fd = fd, .wall_ms = WALL_MS, .on_record = s_on_record, .on_end = s_on_end, .arg = self};
    kc_err_t err = {0};
    self->run = kc_run_start (self->bench->loop, &spec, &err);
    if (fd >= 0)
        close (fd); // the child holds it now
    if (!self->run)
        s_fail (self, err.code, err.text);
}

static void s_on_units (void *arg)
{
    kc_profile_t *self = arg;
    if (kc_units_code (self->units, 0)) {
        kc_bench_lock (&self->lock, self->bench, s_on_lock, self);
        return;
    }
    const kc_verdict_t *v = kc_units_verdict (self->units, 0);
    s_fail (self, KC_EINVALID, v->n_findings ? v->findings[0].text : "the program does not compile");
}

kc_profile_t *kc_profile_start (kc_bench_t *bench, kc_profiler_profile_t *request, kc_profile_f *done, void *arg, kc_err_t *err)
{
    if (kc_bench_serves (bench, request->card->device, err) < 0) {
        kc_profiler_profile_free (&request);
        return NULL;
    }
    kc_profile_t *self = kc_calloc (1, sizeof *self);
    *self = (kc_profile_t){.bench = bench, .request = request, .done = done, .arg = arg, .started = kc_loop_now (bench->loop)};
    self->spec = (kc_unit_spec_t){.card = request->card, .program = request->program};
    self->units = kc_units_start (bench, &self->spec, 1, s_on_units, self);
    return self;
}
