// kc_runner.c - see kc_runner.h; the file holds one job's way from first byte to last

#include "agents/gpu/runner/kc_runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agents/gpu/judge/kc_cases.h"
#include "agents/gpu/judge/kc_compare.h"
#include "agents/gpu/judge/kc_content.h"
#include "agents/gpu/runner/kc_frame.h"
#include "common/msg/gen/runner.h"
#include "common/util/kc_clock.h"
#include "common/util/kc_mem.h"

enum { RUNNER_LARGE = 1 << 20 };

// A unit loaded once, used by every shape that shares it.
typedef struct unit {
    kc_dev_code_t *code;
    kc_kernel_facts_t *kernels;
    size_t n_kernels;
} unit_t;

typedef struct runner {
    int out;
    kc_runner_mode_t mode;
    kc_runner_job_t *job;
    char **binaries;
    unit_t *units; // one per binary
    kc_dev_t *dev;
    kc_plan_t **plans; // by shape and contestant, built when first needed
    // while timing
    const kc_plan_t *timed_plan;
    kc_dev_arena_t *timed_arena;
    int64_t sent_samples;
    bool broken; // the daemon's end is gone
} runner_t;

// ---- records ----

static int s_send (runner_t *r, const kc_runner_record_t *record)
{
    size_t size;
    char *json = kc_runner_record_encode (record, &size);
    if (!json) {
        r->broken = true;
        return -1;
    }
    kc_err_t err;
    const int rc = kc_frame_send (r->out, KC_FRAME_JSON, json, size, &err);
    free (json);
    if (rc < 0)
        r->broken = true;
    return rc;
}

static kc_runner_record_t *s_record (kc_runner_record_kind_t kind)
{
    kc_runner_record_t *record = kc_runner_record_new ();
    record->kind = kind;
    return record;
}

static int s_send_free (runner_t *r, kc_runner_record_t *record)
{
    const int rc = s_send (r, record);
    kc_runner_record_free (&record);
    return rc;
}

// Send the findings of 'v' and empty it.  -1, so that callers can return it: what is
// wrong ends the job.
static int s_send_findings (runner_t *r, kc_verdict_t *v, int contestant, int shape,
                            int case_number)
{
    kc_runner_record_t *record = s_record (KC_RUNNER_RECORD_KIND_FINDING);
    record->contestant = contestant;
    record->shape = shape;
    record->case_ = case_number;
    record->findings = v->findings;
    record->n_findings = v->n_findings;
    s_send (r, record);
    record->findings = NULL;
    record->n_findings = 0;
    kc_runner_record_free (&record);
    return -1;
}

// What usually mends a finding of this status, for repair.
static const char *s_fix (kc_verdict_status_t status)
{
    switch (status) {
    case KC_VERDICT_STATUS_OUT_OF_BOUNDS:
        return "test the index against the tensor's size before the access; check "
               "tails and the grid";
    case KC_VERDICT_STATUS_BARRIER_DIVERGENCE:
        return "every thread of the block must reach the barrier: move it out of the "
               "condition, and do not return before it";
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

static void s_clean (char **text, size_t max)
{
    if (!*text)
        return;
    char *clean = kc_utf8_clean (*text, strlen (*text), max);
    free (*text);
    *text = clean;
}

static int s_send_finding (runner_t *r, const kc_dev_finding_t *finding,
                           const kc_plan_t *plan, int contestant, int shape,
                           int case_number)
{
    kc_verdict_t *v = kc_verdict_new ();
    kc_verdict_finding_t *f = kc_dev_finding_add (v, finding, plan);
    if (f && f->has_step
        && f->step < 0) // the zeroing of a buffer is no step of the author's
        f->has_step = false;
    if (f && !f->fix)
        kc_set (&f->fix, s_fix (finding->status));
    if (f) { // devices cut their texts anywhere; what is sent keeps the schema
        s_clean (&f->text, 1000);
        s_clean (&f->kernel, 250);
        s_clean (&f->buffer, 60);
    }
    s_send_findings (r, v, contestant, shape, case_number);
    kc_verdict_free (&v);
    return -1;
}

static int s_send_infra (runner_t *r, const kc_err_t *err, int contestant, int shape,
                         int case_number)
{
    kc_dev_finding_t f = {.status = KC_VERDICT_STATUS_INFRA_ERROR, .step = -1};
    if (err->code == KC_EUNSUPPORTED)
        f.status = KC_VERDICT_STATUS_UNSUPPORTED;
    snprintf (f.text, sizeof f.text, "%s", err->text);
    return s_send_finding (r, &f, NULL, contestant, shape, case_number);
}

// ---- code and plans ----

static kc_kernel_facts_t s_facts_in (const kc_runner_kernel_t *k)
{
    kc_kernel_facts_t f = {.name = k->name, .symbol = k->symbol};
    f.registers = (int)k->registers;
    f.registers_estimated = k->registers_estimated;
    f.shared_static = k->shared_static;
    f.local_bytes = k->local_bytes;
    f.spill_bytes = k->spill_bytes;
    f.max_threads = (int)k->max_threads;
    f.n_params = k->n_params;
    for (size_t i = 0; i < k->n_params; i++) {
        f.params[i].offset = (size_t)k->params[i].offset;
        f.params[i].size = (size_t)k->params[i].size;
    }
    return f;
}

static void s_facts_out (const kc_kernel_facts_t *f, kc_runner_kernel_t *k)
{
    kc_set (&k->name, f->name);
    kc_set (&k->symbol, f->symbol);
    k->registers = f->registers;
    k->registers_estimated = f->registers_estimated;
    k->shared_static = f->shared_static;
    k->local_bytes = f->local_bytes;
    k->spill_bytes = f->spill_bytes;
    k->max_threads = f->max_threads;
    for (size_t i = 0; i < f->n_params; i++) {
        kc_runner_param_t *p = kc_push (&k->params, &k->n_params, sizeof *p);
        kc_type_init (&kc_runner_param_type, p);
        p->offset = (int64_t)f->params[i].offset;
        p->size = (int64_t)f->params[i].size;
    }
}

// Load binary 'b' unless it is.  The names in unit.kernels belong to the job.
static unit_t *s_unit (runner_t *r, size_t b, int contestant, int shape)
{
    unit_t *u = &r->units[b];
    if (u->code)
        return u;
    const kc_runner_binary_t *from = &r->job->binaries[b];
    kc_kernel_facts_t *given = kc_calloc (from->n_kernels + 1, sizeof *given);
    bool reported = from->n_kernels > 0;
    for (size_t i = 0; i < from->n_kernels; i++) {
        given[i] = s_facts_in (&from->kernels[i]);
        reported = reported && !given[i].registers_estimated && given[i].registers > 0;
    }
    const kc_dev_binary_t binary = {.data = r->binaries[b],
                                    .size = (size_t)from->size,
                                    .is_ptx = from->ptx,
                                    .reported = reported ? given : NULL,
                                    .n_reported = reported ? from->n_kernels : 0};
    kc_dev_finding_t finding = {.step = -1};
    u->code = r->dev->ops->load (r->dev, &binary, &finding);
    if (!u->code) {
        s_send_finding (r, &finding, NULL, contestant, shape, -1);
        free (given);
        return NULL;
    }
    for (size_t i = 0; i < from->n_kernels; i++)
        if (r->dev->ops->kernel_facts (r->dev, u->code, given[i].symbol, &given[i])
            < 0) {
            kc_err_t err;
            kc_fail (&err, KC_EINTERNAL, "the compiled code has no kernel %s",
                     given[i].symbol);
            s_send_infra (r, &err, contestant, shape, -1);
            free (given);
            return NULL;
        }
    u->kernels = given;
    u->n_kernels = from->n_kernels;
    return u;
}

static const kc_card_t *s_card (const runner_t *r, size_t contestant)
{
    const kc_card_t *own = r->job->contestants[contestant].card;
    return own ? own : r->job->card;
}

static int s_send_kernels (runner_t *r, const unit_t *u, const kc_plan_t *plan,
                           size_t contestant, size_t shape)
{
    kc_runner_record_t *record = s_record (KC_RUNNER_RECORD_KIND_KERNELS);
    record->contestant = (int64_t)contestant;
    record->shape = (int64_t)shape;
    for (size_t i = 0; i < u->n_kernels; i++) {
        kc_runner_kernel_t *k =
            kc_push (&record->kernels, &record->n_kernels, sizeof *k);
        kc_type_init (&kc_runner_kernel_type, k);
        s_facts_out (&u->kernels[i], k);
    }
    for (size_t i = 0; i < plan->n_warnings && i < 16; i++) {
        char **slot = kc_push (&record->warnings, &record->n_warnings, sizeof *slot);
        *slot = kc_utf8_clean (plan->warnings[i], strlen (plan->warnings[i]), 1000);
    }
    return s_send_free (r, record);
}

// The plan of a contestant at a shape, or NULL when it was refused (a record told).
static const kc_plan_t *s_plan (runner_t *r, size_t contestant, size_t shape)
{
    kc_plan_t **slot = &r->plans[shape * r->job->n_contestants + contestant];
    if (*slot)
        return *slot;
    const kc_runner_shape_t *s = &r->job->shapes[shape];
    unit_t *u =
        s_unit (r, (size_t)s->binaries[contestant], (int)contestant, (int)shape);
    if (!u)
        return NULL;
    kc_verdict_t *v = kc_verdict_new ();
    *slot = kc_plan_build (s_card (r, contestant),
                           r->job->contestants[contestant].program, s->dims, s->n_dims,
                           &r->dev->info.facts, u->kernels, u->n_kernels, v);
    if (!*slot || kc_plan_runnable (*slot, v) < 0) {
        s_send_findings (r, v, (int)contestant, (int)shape, -1);
        kc_plan_destroy (slot);
    }
    else
        s_send_kernels (r, u, *slot, contestant, shape);
    kc_verdict_free (&v);
    return *slot;
}

// ---- buffers ----

static const kc_card_tensor_t *s_tensor (const kc_card_t *card, const char *name)
{
    for (size_t i = 0; i < card->n_tensors; i++)
        if (strcmp (card->tensors[i].name, name) == 0)
            return &card->tensors[i];
    return NULL;
}

static bool s_has_content (kc_plan_role_t role)
{
    return role == KC_ROLE_INPUT || role == KC_ROLE_PARAM || role == KC_ROLE_INOUT;
}

static bool s_is_result (kc_plan_role_t role)
{
    return role == KC_ROLE_OUTPUT || role == KC_ROLE_INOUT;
}

// Let the device generate a tensor of another type than the plan's and bring it here.
static int s_stage (runner_t *r, const kc_content_t *content,
                    const kc_card_tensor_t *tensor, void *out, kc_err_t *err)
{
    kc_plan_buffer_t buffer = {.name = tensor->name,
                               .role = KC_ROLE_INPUT,
                               .dtype = tensor->dtype,
                               .rank = 1,
                               .align = 256,
                               .readonly = true};
    buffer.sizes[0] = buffer.elements = content->elements;
    buffer.bytes = content->elements * (int64_t)kc_element_size (tensor->dtype);
    const kc_plan_t plan = {.n_buffers = 1, .buffers = &buffer};
    const kc_dev_layout_t layout = {.seed = content->key};
    const kc_dev_ops_t *ops = r->dev->ops;
    kc_dev_arena_t *arena = ops->arena (r->dev, &plan, &layout, err);
    if (!arena)
        return -1;
    int rc = ops->generate (r->dev, arena, 0, &content->fill, content->key, err);
    if (rc == 0)
        rc = ops->read (r->dev, arena, 0, out, err);
    ops->arena_free (r->dev, arena);
    return rc;
}

static int s_fill (runner_t *r, kc_dev_arena_t *arena, const kc_plan_t *plan, int index,
                   const kc_runner_case_t *c, kc_err_t *err)
{
    const kc_plan_buffer_t *b = &plan->buffers[index];
    // a timing changes inputs from sample to sample but keeps the params
    const uint64_t seed =
        (uint64_t)(b->role == KC_ROLE_PARAM && c->has_param_seed ? c->param_seed
                                                                 : c->seed);
    const kc_card_tensor_t *tensor = s_tensor (r->job->card, b->name);
    if (!tensor)
        return kc_fail (err, KC_EINTERNAL, "buffer %s is no tensor of the card",
                        b->name);
    kc_card_fill_t fill = b->fill; // at the dims of this case
    kc_card_tensor_t here = *tensor;
    here.fill = tensor->fill ? &fill : NULL;
    const kc_content_t content =
        kc_content (&here, b->sizes, b->rank, c->values, (int)c->variant, seed);
    const bool same = tensor->dtype == b->dtype;
    if (content.kind == KC_CONTENT_FILL && same)
        return r->dev->ops->generate (r->dev, arena, index, &content.fill, content.key,
                                      err);
    if (!same && b->dtype != KC_PROGRAM_DTYPE_F64)
        return kc_fail (err, KC_EINTERNAL,
                        "tensor %s cannot be widened to another type than f64",
                        b->name);
    void *data =
        kc_malloc ((size_t)content.elements * kc_element_size (tensor->dtype) + 8);
    int rc = 0;
    if (content.kind == KC_CONTENT_FILL && content.elements > RUNNER_LARGE)
        rc = s_stage (r, &content, tensor, data, err);
    else
        kc_content_write (&content, tensor->dtype, data);
    if (rc == 0 && !same) {
        double *wide = kc_malloc ((size_t)content.elements * sizeof *wide + 8);
        kc_content_widen (tensor->dtype, data, content.elements, wide);
        free (data);
        data = wide;
    }
    if (rc == 0)
        rc = r->dev->ops->write (r->dev, arena, index, data, err);
    free (data);
    return rc;
}

// Poison what is to be written, generate what is to be read.
static int s_prepare (runner_t *r, kc_dev_arena_t *arena, const kc_plan_t *plan,
                      const kc_runner_case_t *c, kc_err_t *err)
{
    for (size_t i = 0; i < plan->n_buffers; i++) {
        const kc_plan_buffer_t *b = &plan->buffers[i];
        if (b->elements == 0)
            continue;
        if (s_has_content (b->role)) {
            if (s_fill (r, arena, plan, (int)i, c, err) < 0)
                return kc_fail_in (err, "generating %s", b->name);
        }
        else if (r->dev->ops->poison (r->dev, arena, (int)i, (unsigned char)c->poison,
                                      err)
                 < 0)
            return kc_fail_in (err, "poisoning %s", b->name);
    }
    return 0;
}

static int s_hashes (runner_t *r, kc_dev_arena_t *arena, const kc_plan_t *plan,
                     uint64_t *hashes, kc_err_t *err)
{
    for (size_t i = 0; i < plan->n_buffers; i++) {
        const kc_plan_buffer_t *b = &plan->buffers[i];
        if ((b->role == KC_ROLE_INPUT || b->role == KC_ROLE_PARAM) && b->elements > 0
            && r->dev->ops->hash (r->dev, arena, (int)i, &hashes[i], err) < 0)
            return -1;
    }
    return 0;
}

// Guards and inputs after a run; -1 with a finding when a byte changed that must not.
static int s_untouched (runner_t *r, kc_dev_arena_t *arena, const kc_plan_t *plan,
                        const uint64_t *before, kc_dev_finding_t *finding)
{
    kc_err_t err;
    if (r->dev->ops->guards (r->dev, arena, finding) < 0)
        return -1;
    uint64_t *after = kc_calloc (plan->n_buffers + 1, sizeof *after);
    int rc = s_hashes (r, arena, plan, after, &err);
    if (rc < 0) {
        finding->status = KC_VERDICT_STATUS_INFRA_ERROR;
        snprintf (finding->text, sizeof finding->text, "%s", err.text);
    }
    for (size_t i = 0; i < plan->n_buffers && rc == 0; i++)
        if (after[i] != before[i]) {
            finding->status = KC_VERDICT_STATUS_INPUT_MUTATED;
            finding->step = -1;
            snprintf (finding->text, sizeof finding->text,
                      "the run changed input %s, which it may only read",
                      plan->buffers[i].name);
            snprintf (finding->buffer, sizeof finding->buffer, "%s",
                      plan->buffers[i].name);
            rc = -1;
        }
    free (after);
    return rc;
}

static int s_send_outputs (runner_t *r, kc_dev_arena_t *arena, const kc_plan_t *plan,
                           int contestant, int case_number, int64_t sample,
                           uint64_t key)
{
    kc_err_t err;
    for (size_t i = 0; i < plan->n_buffers; i++) {
        const kc_plan_buffer_t *b = &plan->buffers[i];
        if (!s_is_result (b->role) || b->elements == 0)
            continue;
        char *data = kc_malloc ((size_t)b->bytes + 8);
        if (r->dev->ops->read (r->dev, arena, (int)i, data, &err) < 0) {
            free (data);
            return s_send_infra (r, &err, contestant, 0, case_number);
        }
        kc_runner_record_t *record = s_record (KC_RUNNER_RECORD_KIND_OUTPUT);
        record->contestant = contestant;
        record->case_ = case_number;
        record->sample = sample;
        record->key = (int64_t)key;
        kc_set (&record->tensor, b->name);
        record->bytes = b->bytes;
        int rc = s_send_free (r, record);
        for (int64_t at = 0; at < b->bytes && rc == 0; at += KC_FRAME_PIECE) {
            const int64_t n =
                b->bytes - at < KC_FRAME_PIECE ? b->bytes - at : KC_FRAME_PIECE;
            rc = kc_frame_send (r->out, KC_FRAME_DATA, data + at, (size_t)n, &err);
        }
        free (data);
        if (rc < 0) {
            r->broken = true;
            return -1;
        }
    }
    return 0;
}

// ---- evaluate ----

static kc_dev_limits_t s_limits (const runner_t *r, int64_t instructions)
{
    return (kc_dev_limits_t){.seconds = r->job->seconds,
                             .instructions =
                                 instructions > 0 ? instructions : r->job->instructions,
                             .printf_on = r->job->printf};
}

static int s_run_case (runner_t *r, size_t contestant, size_t number)
{
    const kc_runner_case_t *c = &r->job->cases[number];
    const kc_plan_t *plan = s_plan (r, contestant, (size_t)c->shape);
    if (!plan)
        return -1;
    const kc_dev_ops_t *ops = r->dev->ops;
    const kc_dev_layout_t layout = {.seed = (uint64_t)c->layout};
    kc_err_t err;
    kc_dev_arena_t *arena = ops->arena (r->dev, plan, &layout, &err);
    if (!arena)
        return s_send_infra (r, &err, (int)contestant, (int)c->shape, (int)number);
    uint64_t *before = kc_calloc (plan->n_buffers + 1, sizeof *before);
    kc_dev_finding_t finding = {.step = -1};
    int rc = -1;
    if (s_prepare (r, arena, plan, c, &err) < 0
        || s_hashes (r, arena, plan, before, &err) < 0) {
        s_send_infra (r, &err, (int)contestant, (int)c->shape, (int)number);
        goto out;
    }
    const unit_t *u = &r->units[r->job->shapes[c->shape].binaries[contestant]];
    const kc_dev_contestant_t who = {.code = u->code, .plan = plan, .arena = arena};
    const kc_dev_limits_t limits = s_limits (r, c->instructions);
    const int64_t start = kc_clock_ns ();
    if (ops->run (r->dev, &who, c->audit, &limits, &finding) < 0) {
        if (c->instructions > 0 && finding.status == KC_VERDICT_STATUS_TIMEOUT) {
            kc_runner_record_t *record = s_record (KC_RUNNER_RECORD_KIND_SKIPPED);
            record->case_ = (int64_t)number;
            record->contestant = (int64_t)contestant;
            record->shape = c->shape;
            record->text = kc_utf8_clean (finding.text, strlen (finding.text), 1000);
            rc = s_send_free (r, record);
            if (finding.sticky)
                rc = -1;
            goto out;
        }
        s_send_finding (r, &finding, plan, (int)contestant, (int)c->shape, (int)number);
        goto out;
    }
    const double seconds = (double)(kc_clock_ns () - start) * 1e-9;
    if (s_untouched (r, arena, plan, before, &finding) < 0) {
        s_send_finding (r, &finding, plan, (int)contestant, (int)c->shape, (int)number);
        goto out;
    }
    if (s_send_outputs (r, arena, plan, (int)contestant, (int)number, -1,
                        (uint64_t)c->seed)
        < 0)
        goto out;
    kc_runner_record_t *record = s_record (KC_RUNNER_RECORD_KIND_RAN);
    record->case_ = (int64_t)number;
    record->contestant = (int64_t)contestant;
    record->shape = c->shape;
    record->seconds = seconds;
    rc = s_send_free (r, record);
out:
    free (before);
    ops->arena_free (r->dev, arena);
    return rc;
}

// ---- timing ----

// Send the candidate's outputs of the samples that the device chose, up to the number
// asked for.
static int s_verify (void *arg, int contestant, int sample, uint64_t content_key)
{
    runner_t *r = arg;
    const kc_runner_timing_t *t = r->job->timing;
    if (contestant != 0 || r->sent_samples >= t->verify)
        return 0;
    r->sent_samples++;
    return s_send_outputs (r, r->timed_arena, r->timed_plan, contestant, -1, sample,
                           content_key);
}

static int s_send_times (runner_t *r, const kc_dev_timing_t *timing)
{
    static const kc_runner_who_t roles[] = {KC_RUNNER_WHO_CANDIDATE,
                                            KC_RUNNER_WHO_BASELINE, KC_RUNNER_WHO_BASE};
    kc_runner_record_t *record = s_record (KC_RUNNER_RECORD_KIND_TIMES);
    record->times = kc_type_new (&kc_runner_times_type);
    record->times->discarded = timing->discarded;
    record->times->suspect = timing->suspect;
    record->times->estimate = timing->estimate;
    if (timing->note[0])
        record->times->note = kc_utf8_clean (timing->note, strlen (timing->note), 250);
    for (size_t c = 0; c < r->job->n_contestants && c < KC_COUNT (roles); c++) {
        kc_runner_series_t *s =
            kc_push (&record->times->series, &record->times->n_series, sizeof *s);
        kc_type_init (&kc_runner_series_type, s);
        s->who = r->job->contestants[c].who; // roles travel by name, never by place
        for (int i = 0; i < timing->n && timing->us[c]; i++) {
            double *slot = kc_push (&s->us, &s->n_us, sizeof *slot);
            *slot = timing->us[c][i];
        }
    }
    return s_send_free (r, record);
}

// An interpreter counts the same whatever the values are: cheap ones will do.
static kc_runner_values_t s_timed_values (const runner_t *r)
{
    return r->dev->info.estimate ? KC_RUNNER_VALUES_TABLE : KC_RUNNER_VALUES_TASK;
}

static int s_time (runner_t *r)
{
    const kc_runner_timing_t *t = r->job->timing;
    const kc_dev_ops_t *ops = r->dev->ops;
    const size_t n = r->job->n_contestants;
    kc_dev_contestant_t who[KC_DEV_MAX_CONTESTANTS] = {{0}};
    kc_dev_finding_t finding = {.step = -1};
    kc_dev_timing_t timing = {0};
    kc_err_t err;
    int rc = -1;
    for (size_t c = 0; c < n; c++) {
        const kc_plan_t *plan = s_plan (r, c, (size_t)t->shape);
        if (!plan)
            goto out;
        const kc_dev_layout_t layout = {.seed = kc_mix ((uint64_t)t->seed + c)};
        who[c].plan = plan;
        who[c].code = r->units[r->job->shapes[t->shape].binaries[c]].code;
        who[c].arena = ops->arena (r->dev, plan, &layout, &err);
        const kc_runner_case_t content = {
            .values = s_timed_values (r), .seed = t->seed, .poison = KC_POISON_NAN};
        int ok = who[c].arena ? 0 : -1;
        // the device draws inputs and poisons outputs before every sample; params stay
        for (size_t i = 0; i < plan->n_buffers && ok == 0; i++)
            if (plan->buffers[i].role == KC_ROLE_PARAM && plan->buffers[i].elements > 0)
                ok = s_fill (r, who[c].arena, plan, (int)i, &content, &err);
        if (ok < 0) {
            s_send_infra (r, &err, (int)c, (int)t->shape, -1);
            goto out;
        }
    }
    r->timed_plan = who[0].plan;
    r->timed_arena = who[0].arena;
    const kc_dev_timing_options_t options = {.warmup_launches = (int)t->warmup_launches,
                                             .warmup_seconds = t->warmup_seconds,
                                             .min_samples = (int)t->min_samples,
                                             .max_samples = (int)t->max_samples,
                                             .min_seconds = t->min_seconds,
                                             .max_seconds = t->max_seconds,
                                             .seed = (uint64_t)t->seed,
                                             .graph = t->graph,
                                             .verify = t->verify > 0 ? s_verify : NULL,
                                             .verify_arg = r};
    const kc_dev_limits_t limits = s_limits (r, 0);
    if (ops->time (r->dev, who, (int)n, &options, &limits, &timing, &finding) < 0) {
        s_send_finding (r, &finding, who[0].plan, 0, (int)t->shape, -1);
        goto out;
    }
    for (size_t c = 0; c < n; c++)
        if (ops->guards (r->dev, who[c].arena, &finding) < 0) {
            s_send_finding (r, &finding, who[c].plan, (int)c, (int)t->shape, -1);
            goto out;
        }
    rc = s_send_times (r, &timing);
out:
    kc_dev_timing_free (&timing);
    for (size_t c = 0; c < n; c++)
        if (who[c].arena)
            ops->arena_free (r->dev, who[c].arena);
    return rc;
}

// ---- profile ----

static int s_send_profile (runner_t *r, const kc_dev_profile_t *profile)
{
    kc_runner_record_t *record = s_record (KC_RUNNER_RECORD_KIND_PROFILE);
    kc_runner_profile_t *p = record->profile = kc_type_new (&kc_runner_profile_type);
    p->total_us = profile->total_us;
    p->kernel_us = profile->kernel_us;
    p->passes = profile->passes;
    p->counters_missing = profile->counters_missing;
    if (profile->missing_reason[0])
        p->missing_reason = kc_utf8_clean (profile->missing_reason,
                                           strlen (profile->missing_reason), 160);
    for (size_t i = 0; i < profile->n_steps && i < 256; i++) {
        kc_runner_step_t *s = kc_push (&p->steps, &p->n_steps, sizeof *s);
        kc_type_init (&kc_runner_step_type, s);
        s->step = profile->steps[i].step;
        for (size_t k = 0; k < profile->steps[i].n && k < 512; k++) {
            kc_runner_counter_t *c = kc_push (&s->counters, &s->n_counters, sizeof *c);
            kc_type_init (&kc_runner_counter_type, c);
            kc_set (&c->name, profile->steps[i].counters[k].name);
            c->value = profile->steps[i].counters[k].value;
        }
    }
    return s_send_free (r, record);
}

static int s_profile (runner_t *r)
{
    const kc_runner_timing_t *t = r->job->timing;
    const size_t shape = t ? (size_t)t->shape : 0;
    const kc_plan_t *plan = s_plan (r, 0, shape);
    if (!plan)
        return -1;
    const kc_dev_layout_t layout = {.seed = t ? (uint64_t)t->seed : 1};
    kc_err_t err;
    kc_dev_finding_t finding = {.step = -1};
    kc_dev_profile_t profile = {0};
    kc_dev_arena_t *arena = r->dev->ops->arena (r->dev, plan, &layout, &err);
    if (!arena)
        return s_send_infra (r, &err, 0, (int)shape, -1);
    const kc_runner_case_t content = {.values = s_timed_values (r),
                                      .seed = (int64_t)layout.seed,
                                      .poison = KC_POISON_NAN};
    const kc_dev_contestant_t who = {
        .code = r->units[r->job->shapes[shape].binaries[0]].code,
        .plan = plan,
        .arena = arena};
    const kc_dev_limits_t limits = s_limits (r, 0);
    int rc = -1;
    if (s_prepare (r, arena, plan, &content, &err) < 0)
        s_send_infra (r, &err, 0, (int)shape, -1);
    else if (r->dev->ops->profile (r->dev, &who, &limits, &profile, &finding) < 0)
        s_send_finding (r, &finding, plan, 0, (int)shape, -1);
    else
        rc = s_send_profile (r, &profile);
    kc_dev_profile_free (&profile);
    r->dev->ops->arena_free (r->dev, arena);
    return rc;
}

// ---- the job ----

static int s_send_device (runner_t *r)
{
    const kc_dev_info_t *info = &r->dev->info;
    const kc_device_facts_t *f = &info->facts;
    kc_runner_record_t *record = s_record (KC_RUNNER_RECORD_KIND_DEVICE);
    kc_runner_device_t *d = record->device = kc_type_new (&kc_runner_device_type);
    d->backend = strcmp (info->backend, "cuda") == 0 ? KC_RUNNER_DEVICE_BACKEND_CUDA
                                                     : KC_RUNNER_DEVICE_BACKEND_VGPU;
    kc_set (&d->gpu, info->gpu);
    kc_set (&d->uuid, info->uuid);
    kc_set (&d->driver, info->driver);
    d->memory_bytes = info->memory_bytes;
    d->bandwidth = info->bandwidth;
    d->estimate = info->estimate;
    d->counters = info->counters;
    kc_set (&d->counters_reason, info->counters_reason);
    kc_runner_facts_t *o = d->facts = kc_type_new (&kc_runner_facts_type);
    o->sms = f->sms;
    o->sm = f->sm;
    o->warp = f->warp;
    o->max_threads_block = f->max_threads_block;
    o->max_threads_sm = f->max_threads_sm;
    o->max_blocks_sm = f->max_blocks_sm;
    o->regs_sm = f->regs_sm;
    o->regs_block = f->regs_block;
    o->shared_block = f->shared_block;
    o->shared_block_plain = f->shared_block_plain;
    o->shared_sm = f->shared_sm;
    o->shared_reserved = f->shared_reserved;
    o->l2_bytes = f->l2_bytes;
    for (int i = 0; i < 3; i++) {
        int64_t *slot = kc_push (&o->max_grid, &o->n_max_grid, sizeof *slot);
        *slot = f->max_grid[i];
    }
    return s_send_free (r, record);
}

// Indices that the schema cannot check.
static int s_check_job (const kc_runner_job_t *job, kc_runner_mode_t mode,
                        kc_err_t *err)
{
    if (mode == KC_RUNNER_PROBE)
        return 0;
    if (!job->card || job->n_contestants == 0 || job->n_shapes == 0)
        return kc_fail (err, KC_EINVALID,
                        "the job lacks a card, a contestant or a shape");
    for (size_t i = 0; i < job->n_shapes; i++) {
        if (job->shapes[i].n_binaries != job->n_contestants)
            return kc_fail (err, KC_EINVALID,
                            "shape %zu has not one binary per contestant", i);
        for (size_t k = 0; k < job->n_contestants; k++)
            if ((size_t)job->shapes[i].binaries[k] >= job->n_binaries)
                return kc_fail (err, KC_EINVALID,
                                "shape %zu names a binary that is not there", i);
    }
    for (size_t i = 0; i < job->n_cases; i++)
        if ((size_t)job->cases[i].shape >= job->n_shapes)
            return kc_fail (err, KC_EINVALID,
                            "case %zu names a shape that is not there", i);
    if (job->timing && (size_t)job->timing->shape >= job->n_shapes)
        return kc_fail (err, KC_EINVALID, "the timing names a shape that is not there");
    return 0;
}

static int s_read_job (runner_t *r, int in, kc_err_t *err)
{
    size_t size;
    char *json = kc_frame_receive (in, KC_FRAME_JSON, &size, err);
    if (!json)
        return -1;
    kc_errs_t errs = {0};
    r->job = kc_runner_job_decode (json, size, KC_WIRE, &errs);
    free (json);
    if (!r->job)
        return kc_errs_fail (&errs, err);
    if (s_check_job (r->job, r->mode, err) < 0)
        return -1;
    r->binaries = kc_calloc (r->job->n_binaries + 1, sizeof *r->binaries);
    r->units = kc_calloc (r->job->n_binaries + 1, sizeof *r->units);
    r->plans =
        kc_calloc (r->job->n_shapes * r->job->n_contestants + 1, sizeof (kc_plan_t *));
    for (size_t i = 0; i < r->job->n_binaries; i++) {
        r->binaries[i] = kc_frame_receive (in, KC_FRAME_DATA, &size, err);
        if (!r->binaries[i])
            return -1;
        if ((int64_t)size != r->job->binaries[i].size)
            return kc_fail (err, KC_EPROTO, "binary %zu has not the announced size", i);
    }
    return 0;
}

static void s_free (runner_t *r)
{
    if (r->job) {
        for (size_t i = 0; r->plans && i < r->job->n_shapes * r->job->n_contestants;
             i++)
            kc_plan_destroy (&r->plans[i]);
        for (size_t i = 0; r->units && i < r->job->n_binaries; i++) {
            if (r->units[i].code)
                r->dev->ops->unload (r->dev, r->units[i].code);
            free (r->units[i].kernels);
        }
        for (size_t i = 0; r->binaries && i < r->job->n_binaries; i++)
            free (r->binaries[i]);
    }
    free (r->plans);
    free (r->units);
    free (r->binaries);
    kc_runner_job_free (&r->job);
    kc_dev_close (&r->dev);
}

static void s_work (runner_t *r)
{
    if (r->mode == KC_RUNNER_PROBE)
        return;
    if (r->mode == KC_RUNNER_PROFILE) {
        s_profile (r);
        return;
    }
    for (size_t i = 0; i < r->job->n_cases; i++)
        for (size_t c = 0; c < r->job->n_contestants; c++)
            if (s_run_case (r, c, i) < 0)
                return;
    if (r->job->timing)
        s_time (r);
}

int kc_runner_serve (kc_runner_mode_t mode, int in, int out,
                     const kc_runner_backends_t *backends)
{
    runner_t r = {.out = out, .mode = mode};
    kc_err_t err = {0};
    if (s_read_job (&r, in, &err) < 0) {
        s_send_infra (&r, &err, 0, 0, -1);
        s_free (&r);
        return 1;
    }
    const bool cuda = r.job->backend == KC_RUNNER_JOB_BACKEND_CUDA;
    kc_dev_open_f *open = cuda ? backends->cuda : backends->vgpu;
    const kc_dev_config_t config = {.gpu =
                                        r.job->gpu && r.job->gpu[0] ? r.job->gpu : NULL,
                                    .cuda_path = r.job->cuda_path};
    if (!open)
        kc_fail (&err, KC_EUNSUPPORTED, "this build has no %s backend",
                 cuda ? "cuda" : "vgpu");
    else
        r.dev = open (&config, &err);
    if (!r.dev)
        s_send_infra (&r, &err, 0, 0, -1);
    else if (s_send_device (&r) == 0)
        s_work (&r);
    if (!r.broken)
        s_send_free (&r, s_record (KC_RUNNER_RECORD_KIND_DONE));
    const int status = r.broken ? 1 : 0;
    s_free (&r);
    return status;
}
