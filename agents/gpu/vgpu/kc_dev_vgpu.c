/* kc_dev_vgpu.c - the virtual GPU behind device.h
 *
 * Device memory is host memory, one stretch per buffer; device addresses lie apart by guards that nothing
 * backs, so an access outside a buffer is found at the instruction that makes it.  A store is allowed only
 * to buffers that the step declares as written.  Times are the model's (agents/gpu/model) and labelled.
 */
#include "agents/gpu/device.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "agents/gpu/judge/kc_content.h"
#include "agents/gpu/judge/kc_fill.h"
#include "agents/gpu/model/kc_gpus.h"
#include "agents/gpu/model/kc_time_model.h"
#include "agents/gpu/vgpu/vgpu.h"
#include "common/util/kc_mem.h"

enum {
    RESIDENT_MAX = 64,      // blocks alive at once, a bound on the interpreter's state
    GUARD_DEFAULT = 4096,
    PADDING_STEPS = 32,     // up to this many times ALIGN between buffers
    ALIGN = 256,
};

typedef struct vgpu_dev {
    kc_dev_t base;
    kc_gpu_gpu_t *gpu;
} vgpu_dev_t;

struct kc_dev_code {
    vgpu_module_t *module;
    kc_kernel_facts_t *reported; // ptxas' numbers by symbol, may be empty
    size_t n_reported;
};

typedef struct place {
    uint64_t address; // on the device
    void *host;
    size_t bytes;     // backed; at least 1
    kc_program_dtype_t dtype;
    int64_t elements;
} place_t;

struct kc_dev_arena {
    size_t n;
    place_t *places;
};

// ---- findings ----

static int s_find (kc_dev_finding_t *f, kc_verdict_status_t status, const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));
static int s_find (kc_dev_finding_t *f, kc_verdict_status_t status, const char *format, ...)
{
    va_list args;
    va_start (args, format);
    *f = (kc_dev_finding_t){.status = status, .step = -1};
    vsnprintf (f->text, sizeof f->text, format, args);
    va_end (args);
    return -1;
}

static kc_verdict_status_t s_status (vgpu_status_t status, bool is_input)
{
    switch (status) {
    case VGPU_OK:
        return KC_VERDICT_STATUS_OK;
    case VGPU_OUT_OF_BOUNDS:
        return KC_VERDICT_STATUS_OUT_OF_BOUNDS;
    case VGPU_READ_ONLY:
        return is_input ? KC_VERDICT_STATUS_INPUT_MUTATED : KC_VERDICT_STATUS_OUT_OF_BOUNDS;
    case VGPU_BARRIER_DIVERGENCE:
    case VGPU_SYNC_MISSING:
        return KC_VERDICT_STATUS_BARRIER_DIVERGENCE;
    case VGPU_DEADLOCK:
    case VGPU_TIMEOUT:
        return KC_VERDICT_STATUS_TIMEOUT;
    case VGPU_MISALIGNED:
    case VGPU_ASSERT:
    case VGPU_TRAP:
    case VGPU_STACK:
    case VGPU_BAD_LAUNCH:
    case VGPU_STATUS_COUNT:
        break;
    }
    return KC_VERDICT_STATUS_LAUNCH_ERROR;
}

static void s_translate (const vgpu_finding_t *v, const kc_plan_t *plan, int step, kc_dev_finding_t *f)
{
    const kc_plan_buffer_t *buffer = NULL;
    for (size_t i = 0; i < plan->n_buffers && !buffer; i++)
        if (v->buffer[0] && !strncmp (plan->buffers[i].name, v->buffer, sizeof v->buffer - 1))
            buffer = &plan->buffers[i];
    bool is_input = buffer && (buffer->role == KC_ROLE_INPUT || buffer->role == KC_ROLE_PARAM);
    *f = (kc_dev_finding_t){.status = s_status (v->status, is_input), .step = step, .line = (int)v->line};
    snprintf (f->text, sizeof f->text, "%.*s", (int)sizeof f->text - 1, v->text);
    snprintf (f->kernel, sizeof f->kernel, "%s", plan->kernels[plan->steps[step].kernel].name);
    f->has_place = v->status != VGPU_BAD_LAUNCH && v->status != VGPU_TIMEOUT;
    memcpy (f->block, v->block, sizeof f->block);
    memcpy (f->thread, v->thread, sizeof f->thread);
    snprintf (f->buffer, sizeof f->buffer, "%s", v->buffer);
    if (buffer && buffer->elements > 0 && buffer->bytes > 0 && v->distance) {
        int64_t size = buffer->bytes / buffer->elements;
        f->has_index = true;
        f->index = v->distance < 0 ? (v->distance - size + 1) / size : buffer->elements + (v->distance - 1) / size;
    }
}

// ---- device and code ----

static void s_destroy (kc_dev_t *dev)
{
    vgpu_dev_t *self = (vgpu_dev_t *)dev;
    kc_gpu_gpu_free (&self->gpu);
    free (self);
}

static kc_dev_code_t *s_load (kc_dev_t *dev, const kc_dev_binary_t *binary, kc_dev_finding_t *finding)
{
    (void)dev;
    if (!binary->is_ptx) {
        s_find (finding, KC_VERDICT_STATUS_INFRA_ERROR, "the virtual GPU takes PTX, not machine code");
        return NULL;
    }
    kc_err_t err = {0};
    vgpu_module_t *module = vgpu_module_load (binary->data, binary->size, &err);
    if (!module) {
        s_find (finding, err.code == KC_EUNSUPPORTED ? KC_VERDICT_STATUS_UNSUPPORTED : KC_VERDICT_STATUS_COMPILE_ERROR,
                "%s", err.text);
        return NULL;
    }
    kc_dev_code_t *code = kc_calloc (1, sizeof *code);
    code->module = module;
    for (size_t i = 0; i < binary->n_reported; i++) {
        kc_kernel_facts_t *copy = kc_push (&code->reported, &code->n_reported, sizeof *code->reported);
        *copy = binary->reported[i];
        copy->name = kc_strdup (binary->reported[i].name);
        copy->symbol = kc_strdup (binary->reported[i].symbol);
    }
    return code;
}

static void s_unload (kc_dev_t *dev, kc_dev_code_t *code)
{
    (void)dev;
    if (!code)
        return;
    vgpu_module_destroy (&code->module);
    for (size_t i = 0; i < code->n_reported; i++) {
        free (code->reported[i].name);
        free (code->reported[i].symbol);
    }
    free (code->reported);
    free (code);
}

static int s_kernel_facts (kc_dev_t *dev, kc_dev_code_t *code, const char *symbol, kc_kernel_facts_t *out)
{
    (void)dev;
    const ptx_func_t *k = vgpu_module_kernel (code->module, symbol);
    if (!k)
        return -1;
    out->registers = (int)k->registers;
    out->registers_estimated = true;
    out->spill_bytes = 0;
    out->shared_static = k->static_shared;
    out->local_bytes = k->local_bytes;
    uint64_t bound = (uint64_t)(k->maxntid[0] ? k->maxntid[0] : 1024) * (k->maxntid[1] ? k->maxntid[1] : 1)
                     * (k->maxntid[2] ? k->maxntid[2] : 1);
    out->max_threads = bound < 1024 ? (int)bound : 1024;
    out->n_params = k->n_params < KC_COUNT (out->params) ? k->n_params : KC_COUNT (out->params);
    for (size_t i = 0; i < out->n_params; i++) {
        out->params[i].offset = k->params[i].offset;
        out->params[i].size = k->params[i].size;
    }
    for (size_t i = 0; i < code->n_reported; i++)
        if (code->reported[i].symbol && !strcmp (code->reported[i].symbol, symbol) && code->reported[i].registers > 0
            && !code->reported[i].registers_estimated) {
            out->registers = code->reported[i].registers;
            out->registers_estimated = false;
            out->spill_bytes = code->reported[i].spill_bytes;
        }
    return 0;
}

// ---- arena ----

static void s_arena_free (kc_dev_t *dev, kc_dev_arena_t *arena)
{
    (void)dev;
    if (!arena)
        return;
    for (size_t i = 0; i < arena->n; i++)
        if (arena->places[i].host)
            munmap (arena->places[i].host, arena->places[i].bytes);
    free (arena->places);
    free (arena);
}

static uint64_t s_next (uint64_t *state)
{
    *state += KC_GOLDEN;
    return kc_mix (*state);
}

static kc_dev_arena_t *s_arena (kc_dev_t *dev, const kc_plan_t *plan, const kc_dev_layout_t *layout, kc_err_t *err)
{
    uint64_t state = layout->seed;
    const uint64_t guard = layout->guard > 0 ? (uint64_t)layout->guard : GUARD_DEFAULT;
    kc_dev_arena_t *arena = kc_calloc (1, sizeof *arena);
    arena->n = plan->n_buffers;
    arena->places = kc_calloc (plan->n_buffers + 1, sizeof *arena->places);
    size_t *order = kc_calloc (plan->n_buffers + 1, sizeof *order);
    for (size_t i = 0; i < plan->n_buffers; i++)
        order[i] = i;
    for (size_t i = plan->n_buffers; i > 1; i--) {
        size_t j = (size_t)(s_next (&state) % i), t = order[i - 1];
        order[i - 1] = order[j];
        order[j] = t;
    }
    uint64_t at = VGPU_GLOBAL_LOW;
    bool ok = true;
    for (size_t k = 0; k < plan->n_buffers && ok; k++) {
        const kc_plan_buffer_t *b = &plan->buffers[order[k]];
        place_t *p = &arena->places[order[k]];
        uint64_t align = b->align > ALIGN ? (uint64_t)b->align : ALIGN;
        at += guard + s_next (&state) % PADDING_STEPS * ALIGN;
        p->address = at = (at + align - 1) / align * align;
        p->bytes = b->bytes > 0 ? (size_t)b->bytes : 1;
        p->dtype = b->dtype;
        p->elements = b->elements;
        at += p->bytes;
        // Pages come at first touch: a large buffer costs what is used of it.
        p->host = mmap (NULL, p->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p->host == MAP_FAILED) {
            p->host = NULL;
            ok = false;
            kc_fail (err, KC_EIO, "no host memory for buffer %s (%lld bytes) of the virtual GPU", b->name, (long long)b->bytes);
        }
        else if (at >= VGPU_GLOBAL_HIGH) {
            ok = false;
            kc_fail (err, KC_EINVALID, "the buffers leave the virtual GPU's address space at %s", b->name);
        }
    }
    free (order);
    if (!ok) {
        s_arena_free (dev, arena);
        return NULL;
    }
    return arena;
}

static int s_poison (kc_dev_t *dev, kc_dev_arena_t *arena, int index, unsigned char byte, kc_err_t *err)
{
    (void)dev;
    (void)err;
    memset (arena->places[index].host, byte, arena->places[index].bytes);
    return 0;
}

static int s_generate (kc_dev_t *dev, kc_dev_arena_t *arena, int index, const kc_card_fill_t *fill, uint64_t key, kc_err_t *err)
{
    (void)dev;
    (void)err;
    const place_t *p = &arena->places[index];
    kc_fill_t f = kc_fill_make (fill, p->dtype, p->elements, key);
    kc_fill_host (&f, p->host);
    return 0;
}

static int s_write (kc_dev_t *dev, kc_dev_arena_t *arena, int index, const void *data, kc_err_t *err)
{
    (void)dev;
    (void)err;
    memcpy (arena->places[index].host, data, arena->places[index].bytes);
    return 0;
}

static int s_read (kc_dev_t *dev, kc_dev_arena_t *arena, int index, void *data, kc_err_t *err)
{
    (void)dev;
    (void)err;
    memcpy (data, arena->places[index].host, arena->places[index].bytes);
    return 0;
}

static int s_hash (kc_dev_t *dev, kc_dev_arena_t *arena, int index, uint64_t *out, kc_err_t *err)
{
    (void)dev;
    (void)err;
    *out = kc_content_hash (arena->places[index].host, arena->places[index].bytes);
    return 0;
}

// Nothing backs the guards: an access to one ended the run with a finding of its own.
static int s_guards (kc_dev_t *dev, kc_dev_arena_t *arena, kc_dev_finding_t *finding)
{
    (void)dev;
    (void)arena;
    (void)finding;
    return 0;
}

// ---- running ----

// What one run of a plan adds up; per step where 'steps' is given.
typedef struct tally {
    uint64_t left;             // lane instructions of the budget
    double us;                 // estimated, gaps included
    double kernel_us;
    int launches;
    kc_dev_profile_t *profile; // NULL = not wanted
} tally_t;

static void s_buffers (const kc_plan_t *plan, const kc_dev_arena_t *arena, const kc_plan_step_t *step, vgpu_buffer_t *out)
{
    for (size_t i = 0; i < plan->n_buffers; i++) {
        const kc_plan_buffer_t *b = &plan->buffers[i];
        out[i] = (vgpu_buffer_t){.base = arena->places[i].address,
                                 .size = (uint64_t)b->bytes,
                                 .host = arena->places[i].host,
                                 .name = b->name,
                                 .element = b->elements > 0 ? (uint32_t)(b->bytes / b->elements) : 1};
    }
    for (size_t i = 0; i < step->n_args; i++)
        if (step->args[i].buffer >= 0 && step->args[i].writes)
            out[step->args[i].buffer].writable = true;
}

static void s_params (const kc_dev_arena_t *arena, const kc_plan_step_t *step, unsigned char *out)
{
    memset (out, 0, step->param_bytes);
    for (size_t i = 0; i < step->n_args; i++) {
        const kc_plan_arg_t *a = &step->args[i];
        if (a->buffer >= 0) {
            uint64_t address = arena->places[a->buffer].address + (uint64_t)a->byte_offset;
            memcpy (out + a->offset, &address, sizeof address);
        }
        else
            memcpy (out + a->offset, a->bytes, a->size);
    }
}

static kc_launch_shape_t s_shape (const vgpu_dev_t *self, const kc_plan_step_t *step, const kc_kernel_facts_t *kernel)
{
    kc_launch_shape_t shape = {.blocks = (uint64_t)step->grid[0] * step->grid[1] * step->grid[2],
                               .threads = step->block[0] * step->block[1] * step->block[2],
                               .shared_bytes = kernel->shared_static + step->shared};
    kc_limiter_t limiter;
    shape.resident = kc_occupancy (&self->base.info.facts, kernel->registers, shape.shared_bytes, (int)shape.threads, &limiter);
    if (shape.resident < 1)
        shape.resident = 1; // the plan was checked; an estimate of registers must not stop it
    return shape;
}

static void s_count (kc_dev_profile_t *profile, const kc_plan_t *plan, int step, const kc_gpu_gpu_t *gpu, const kc_launch_shape_t *shape,
                     const vgpu_counters_t *c, const kc_launch_time_t *t);

static int s_launch (vgpu_dev_t *self, const kc_dev_contestant_t *who, int index, tally_t *tally, kc_dev_finding_t *finding)
{
    const kc_plan_t *plan = who->plan;
    const kc_plan_step_t *step = &plan->steps[index];
    const kc_kernel_facts_t *kernel = &plan->kernels[step->kernel];
    const kc_launch_shape_t shape = s_shape (self, step, kernel);
    if (step->cooperative && shape.blocks > (uint64_t)shape.resident * (uint64_t)self->gpu->sms)
        return s_find (finding, KC_VERDICT_STATUS_LAUNCH_ERROR,
                       "%s is cooperative with %llu blocks, but only %lld can be resident at once", kernel->name,
                       (unsigned long long)shape.blocks, (long long)shape.resident * (long long)self->gpu->sms);
    vgpu_buffer_t *buffers = kc_calloc (plan->n_buffers + 1, sizeof *buffers);
    unsigned char *params = kc_calloc (1, step->param_bytes + 1);
    s_buffers (plan, who->arena, step, buffers);
    s_params (who->arena, step, params);
    uint64_t resident = (uint64_t)shape.resident * (uint64_t)self->gpu->sms;
    vgpu_launch_t launch = {
        .kernel = kernel->symbol,
        .grid = {step->grid[0], step->grid[1], step->grid[2]},
        .block = {step->block[0], step->block[1], step->block[2]},
        .dynamic_shared = (uint32_t)step->shared,
        .params = params,
        .params_size = (uint32_t)step->param_bytes,
        // A cooperative grid waits for all of itself: all its blocks must be alive.
        .n_resident = (uint32_t)(step->cooperative ? (shape.blocks < VGPU_MAX_RESIDENT ? shape.blocks : VGPU_MAX_RESIDENT)
                                 : resident < RESIDENT_MAX ? resident
                                                           : RESIDENT_MAX),
        .sm_count = (uint32_t)self->gpu->sms,
        .budget = tally->left,
        .buffers = buffers,
        .n_buffers = (uint32_t)plan->n_buffers,
    };
    vgpu_counters_t counters = {0};
    vgpu_finding_t found = {0};
    int rc = tally->left == 0 ? -1 : vgpu_launch (who->code->module, &launch, &counters, &found);
    if (tally->left == 0)
        s_find (finding, KC_VERDICT_STATUS_TIMEOUT, "the budget of lane instructions of one run is used up before %s", kernel->name);
    else if (rc < 0)
        s_translate (&found, plan, index, finding);
    else {
        kc_launch_time_t t;
        kc_time_launch (self->gpu, &shape, &counters, &t);
        tally->left -= counters.thread_instructions < tally->left ? counters.thread_instructions : tally->left;
        tally->kernel_us += t.us;
        tally->us += t.us + (tally->launches ? kc_time_gap_us (self->gpu, plan->graph) : 0);
        tally->launches++;
        if (tally->profile)
            s_count (tally->profile, plan, index, self->gpu, &shape, &counters, &t);
    }
    vgpu_counters_free (&counters);
    free (buffers);
    free (params);
    return rc;
}

static int s_copy (vgpu_dev_t *self, const kc_dev_contestant_t *who, int index, tally_t *tally, kc_dev_finding_t *finding)
{
    const kc_plan_step_t *step = &who->plan->steps[index];
    const char *src = (const char *)who->arena->places[step->src].host + step->src_offset;
    if (step->symbol) {
        kc_err_t err = {0};
        if (vgpu_symbol_write (who->code->module, step->symbol, 0, src, (size_t)step->bytes, &err) < 0)
            return s_find (finding, KC_VERDICT_STATUS_PLAN_ERROR, "copy to %s: %s", step->symbol, err.text);
    }
    else
        memmove ((char *)who->arena->places[step->dst].host + step->dst_offset, src, (size_t)step->bytes);
    tally->us += kc_time_copy_us (self->gpu, 2.0 * (double)step->bytes)
                 + (tally->launches ? kc_time_gap_us (self->gpu, who->plan->graph) : 0);
    tally->launches++;
    return 0;
}

static int s_fill (vgpu_dev_t *self, const kc_dev_contestant_t *who, int index, tally_t *tally)
{
    const kc_plan_step_t *step = &who->plan->steps[index];
    char *dst = (char *)who->arena->places[step->dst].host + step->dst_offset;
    for (int64_t at = 0; at + step->pattern_size <= step->bytes; at += step->pattern_size)
        memcpy (dst + at, &step->pattern, (size_t)step->pattern_size);
    tally->us += kc_time_copy_us (self->gpu, (double)step->bytes)
                 + (tally->launches ? kc_time_gap_us (self->gpu, who->plan->graph) : 0);
    tally->launches++;
    return 0;
}

static int s_run_plan (vgpu_dev_t *self, const kc_dev_contestant_t *who, const kc_dev_limits_t *limits, tally_t *tally,
                       kc_dev_finding_t *finding)
{
    tally->left = limits && limits->instructions > 0 ? (uint64_t)limits->instructions : VGPU_BUDGET_DEFAULT;
    *finding = (kc_dev_finding_t){.status = KC_VERDICT_STATUS_OK, .step = -1};
    int rc = 0;
    for (size_t i = 0; i < who->plan->n_steps && rc == 0; i++) {
        switch (who->plan->steps[i].op) {
        case KC_PLAN_KERNEL:
            rc = s_launch (self, who, (int)i, tally, finding);
            break;
        case KC_PLAN_COPY:
            rc = s_copy (self, who, (int)i, tally, finding);
            break;
        case KC_PLAN_FILL:
            rc = s_fill (self, who, (int)i, tally);
            break;
        case KC_PLAN_MATMUL:
        case KC_PLAN_CONV:
        case KC_PLAN_RNN:
        case KC_PLAN_ATTENTION:
            rc = s_find (finding, KC_VERDICT_STATUS_UNSUPPORTED, "library steps do not run yet; write the step as a kernel");
            break;
        }
        if (rc < 0 && finding->step < 0)
            finding->step = (int)i;
    }
    return rc;
}

// Every store is checked against the step's declared accesses as it happens, so an audit is any run.
static int s_run (kc_dev_t *dev, const kc_dev_contestant_t *who, bool audit, const kc_dev_limits_t *limits, kc_dev_finding_t *finding)
{
    (void)audit;
    tally_t tally = {0};
    return s_run_plan ((vgpu_dev_t *)dev, who, limits, &tally, finding);
}

// ---- timing ----

static int s_refresh (kc_dev_t *dev, const kc_dev_contestant_t *who, uint64_t content, kc_dev_finding_t *finding)
{
    kc_err_t err = {0};
    for (size_t i = 0; i < who->plan->n_buffers; i++) {
        const kc_plan_buffer_t *b = &who->plan->buffers[i];
        int rc = 0;
        if (b->role == KC_ROLE_INPUT || b->role == KC_ROLE_INOUT)
            // cheap values: the counts do not depend on them, and the judge computes the same ones ('table')
            kc_content_drawn (&b->fill, b->dtype, kc_content_key (content, b->name), b->elements, who->arena->places[i].host);
        else if (b->role != KC_ROLE_PARAM)
            rc = s_poison (dev, who->arena, (int)i, 0xFF, &err);
        if (rc < 0)
            return s_find (finding, KC_VERDICT_STATUS_INFRA_ERROR, "%s", err.text);
    }
    return 0;
}

// The model is deterministic: one sample says all there is.
static int s_time (kc_dev_t *dev, const kc_dev_contestant_t *who, int n, const kc_dev_timing_options_t *options,
                   const kc_dev_limits_t *limits, kc_dev_timing_t *out, kc_dev_finding_t *finding)
{
    *out = (kc_dev_timing_t){.estimate = true};
    const uint64_t content = kc_mix (options->seed + KC_GOLDEN);
    for (int c = 0; c < n; c++) {
        tally_t tally = {0};
        out->us[c] = kc_calloc (1, sizeof *out->us[c]);
        if (s_refresh (dev, &who[c], content, finding) < 0
            || s_run_plan ((vgpu_dev_t *)dev, &who[c], limits, &tally, finding) < 0)
            return -1;
        if (options->verify && options->verify (options->verify_arg, c, 0, content) < 0)
            return s_find (finding, KC_VERDICT_STATUS_WRONG_OUTPUT, "the output of the timed run of contestant %d failed its check", c);
        out->us[c][0] = tally.us;
    }
    out->n = 1;
    snprintf (out->note, sizeof out->note, "estimated for %s by the time model%s", dev->info.gpu,
              ((vgpu_dev_t *)dev)->gpu->model->calibrated ? "" : ", which is not calibrated");
    return 0;
}

// ---- profile ----

// Launches of one kernel step of the program (a loop) are joined under the first of them.
static kc_dev_step_counters_t *s_step (kc_dev_profile_t *profile, const kc_plan_t *plan, int step)
{
    for (size_t i = 0; i < profile->n_steps; i++) {
        const kc_plan_step_t *known = &plan->steps[profile->steps[i].step];
        if (known->source_step == plan->steps[step].source_step && known->kernel == plan->steps[step].kernel)
            return &profile->steps[i];
    }
    kc_dev_step_counters_t *s = kc_push (&profile->steps, &profile->n_steps, sizeof *profile->steps);
    s->step = step;
    return s;
}

static kc_dev_counter_t *s_counter (kc_dev_step_counters_t *s, const char *name)
{
    for (size_t i = 0; i < s->n; i++)
        if (!strcmp (s->counters[i].name, name))
            return &s->counters[i];
    kc_dev_counter_t *c = kc_push (&s->counters, &s->n, sizeof *s->counters);
    snprintf (c->name, sizeof c->name, "%s", name);
    return c;
}

static void s_set (kc_dev_step_counters_t *s, const char *name, double value)
{
    s_counter (s, name)->value += value;
}

// A share of several launches is their mean, weighted by time; model.time_us holds the time before this one.
static void s_share (kc_dev_step_counters_t *s, const char *name, double value, double us)
{
    double before = s_counter (s, "model.time_us")->value;
    kc_dev_counter_t *c = s_counter (s, name);
    c->value = before + us > 0 ? (c->value * before + value * us) / (before + us) : value;
}

static void s_count (kc_dev_profile_t *profile, const kc_plan_t *plan, int step, const kc_gpu_gpu_t *gpu, const kc_launch_shape_t *shape,
                     const vgpu_counters_t *c, const kc_launch_time_t *t)
{
    kc_dev_step_counters_t *s = s_step (profile, plan, step);
    char name[96];
    s_set (s, "vgpu.blocks", (double)shape->blocks);
    s_set (s, "vgpu.warp_instructions", (double)c->warp_instructions);
    s_set (s, "vgpu.thread_instructions", (double)c->thread_instructions);
    s_set (s, "vgpu.active_lanes", (double)c->active_lanes);
    s_set (s, "vgpu.predicated_off", (double)c->predicated_off);
    s_set (s, "vgpu.fp32_flops", (double)c->fp32_flops);
    s_set (s, "vgpu.fp64_flops", (double)c->fp64_flops);
    s_set (s, "vgpu.integer_instructions", (double)c->int_thread_instructions);
    s_set (s, "vgpu.ld_requests", (double)c->global_load_requests);
    s_set (s, "vgpu.ld_sectors", (double)c->global_load_sectors);
    s_set (s, "vgpu.ld_bytes", (double)c->global_load_bytes);
    s_set (s, "vgpu.ld_lanes", (double)c->global_load_lanes);
    s_set (s, "vgpu.ld_used", (double)c->global_load_used);
    s_set (s, "vgpu.st_requests", (double)c->global_store_requests);
    s_set (s, "vgpu.st_sectors", (double)c->global_store_sectors);
    s_set (s, "vgpu.st_used", (double)c->global_store_used);
    s_set (s, "vgpu.local_bytes", (double)(c->local_load_bytes + c->local_store_bytes));
    s_set (s, "vgpu.shared_wavefronts", (double)c->shared_wavefronts);
    s_set (s, "vgpu.shared_conflicts", (double)c->shared_conflicts);
    s_set (s, "vgpu.branches", (double)c->branches);
    s_set (s, "vgpu.divergent_branches", (double)c->divergent_branches);
    s_set (s, "vgpu.barriers", (double)c->barriers);
    s_set (s, "vgpu.atomics", (double)c->atomics_global);
    s_set (s, "vgpu.atomic_hottest", (double)c->atomic_hottest);
    for (int k = 0; k < VGPU_CLASS_COUNT; k++) {
        snprintf (name, sizeof name, "vgpu.class.%s", vgpu_class_name ((vgpu_class_t)k));
        s_set (s, name, (double)c->warp_by_class[k]);
    }
    const struct {
        const char *name;
        double value;
    } shares[] = {
        {"model.dram_share", t->dram},
        {"model.l2_share", t->l2},
        {"model.l2_hit", t->l2_hit},
        {"model.l1_hit", t->l1_hit},
        {"model.l1_share", t->l1},
        {"model.issue_share", t->issue},
        {"model.fma_share", t->fma},
        {"model.alu_share", t->alu},
        {"model.xu_share", t->xu},
        {"model.lsu_share", t->lsu},
        {"model.fp64_share", t->fp64},
        {"model.tensor_share", t->tensor},
        {"model.shared_share", t->shared},
        {"model.occupancy", t->occupancy},
        {"model.bytes_in_flight_sm", t->bytes_in_flight_sm},
        {"model.stall_memory", t->stall_memory},
        {"model.stall_shared", t->stall_shared},
        {"model.stall_sync", t->stall_sync},
        {"model.stall_math", t->stall_math},
        {"model.stall_wait", t->stall_wait},
        {"model.stall_not_selected", t->stall_not_selected},
        {"model.eligible_warps", t->eligible_warps},
        {"model.sm_imbalance", t->sm_imbalance},
        {"model.clock_mhz", gpu->clock_mhz},
    };
    for (size_t i = 0; i < KC_COUNT (shares); i++)
        s_share (s, shares[i].name, shares[i].value, t->us);
    s_set (s, "model.pipe_us", t->pipe_us);
    s_set (s, "model.memory_us", t->memory_us);
    s_set (s, "model.latency_us", t->latency_us);
    s_set (s, "model.dram_read_bytes", t->dram_read);
    s_set (s, "model.dram_write_bytes", t->dram_write);
    s_set (s, "model.l2_sectors", t->l2_sectors);
    s_set (s, "model.time_us", t->us); // last: the shares above are weighted by the time before
}

static int s_profile (kc_dev_t *dev, const kc_dev_contestant_t *who, const kc_dev_limits_t *limits, kc_dev_profile_t *out,
                      kc_dev_finding_t *finding)
{
    *out = (kc_dev_profile_t){.passes = 1};
    tally_t tally = {.profile = out};
    if (s_run_plan ((vgpu_dev_t *)dev, who, limits, &tally, finding) < 0)
        return -1;
    out->total_us = tally.us;
    out->kernel_us = tally.kernel_us;
    return 0;
}

// ---- opening ----

static const kc_dev_ops_t s_ops = {
    .backend = "vgpu",
    .destroy = s_destroy,
    .load = s_load,
    .unload = s_unload,
    .kernel_facts = s_kernel_facts,
    .arena = s_arena,
    .arena_free = s_arena_free,
    .poison = s_poison,
    .generate = s_generate,
    .write = s_write,
    .read = s_read,
    .hash = s_hash,
    .guards = s_guards,
    .run = s_run,
    .time = s_time,
    .profile = s_profile,
};

kc_dev_t *kc_dev_open_vgpu (const kc_dev_config_t *config, kc_err_t *err)
{
    kc_gpu_gpu_t *gpu = kc_gpus_find (config->gpu, err);
    if (!gpu)
        return NULL;
    vgpu_dev_t *self = kc_calloc (1, sizeof *self);
    self->gpu = gpu;
    self->base.ops = &s_ops;
    kc_dev_info_t *info = &self->base.info;
    snprintf (info->backend, sizeof info->backend, "vgpu");
    snprintf (info->gpu, sizeof info->gpu, "%s", gpu->name);
    info->memory_bytes = gpu->memory_bytes;
    info->bandwidth = gpu->bandwidth;
    info->estimate = true;
    info->counters = true;
    kc_gpus_facts (gpu, &info->facts);
    return &self->base;
}
