// kc_evidence.c - see kc_evidence.h.  Formulas: kernel-program 5.2.

#include "agents/gpu/model/kc_evidence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agents/gpu/model/kc_features.h"
#include "common/util/kc_mem.h"

enum {
    STEPS_MAX = 64,
    RAW_MAX = 512,
    FIELDS_MAX = 128,
    SCHEDULERS = 4,
    SECTOR = 32,
};
#define DRAM_LATENCY_S 650e-9 // under load; for bytes in flight by Little's law

typedef struct step_input {
    const kc_evidence_input_t *in;
    const kc_dev_step_counters_t *counters;
    const kc_plan_step_t *step;
    const kc_kernel_facts_t *kernel;
    int launches;
    kc_evidence_step_t *out;
} step_input_t;

static bool s_get (const step_input_t *s, const char *name, double *value)
{
    for (size_t i = 0; i < s->counters->n; i++)
        if (!strcmp (s->counters->counters[i].name, name)) {
            *value = s->counters->counters[i].value;
            return isfinite (*value);
        }
    return false;
}

static const kc_field_t *s_field (const char *name)
{
    return kc_type_field (&kc_evidence_step_type, name);
}

// Set a number field by name and note its source.
static void s_put (const step_input_t *s, const char *name, double value, kc_evidence_source_source_t source)
{
    const kc_field_t *f = s_field (name);
    kc_assert (f && f->base == KC_BASE_NUMBER && f->has_at != KC_NO_OFFSET);
    if (!isfinite (value))
        return;
    *(double *)((char *)s->out + f->at) = value;
    *(bool *)((char *)s->out + f->has_at) = true;
    kc_evidence_source_t *entry = NULL;
    for (size_t i = 0; i < s->out->n_sources && !entry; i++)
        if (s->out->sources[i].source == source)
            entry = &s->out->sources[i];
    if (!entry) {
        entry = kc_push (&s->out->sources, &s->out->n_sources, sizeof *s->out->sources);
        kc_type_init (&kc_evidence_source_type, entry);
        entry->source = source;
    }
    char **slot = kc_push (&entry->fields, &entry->n_fields, sizeof *entry->fields);
    *slot = kc_strdup (name);
}

#define FACT KC_EVIDENCE_SOURCE_SOURCE_FACT
#define COUNTER KC_EVIDENCE_SOURCE_SOURCE_COUNTER
#define MODEL KC_EVIDENCE_SOURCE_SOURCE_MODEL
#define ACTIVITY KC_EVIDENCE_SOURCE_SOURCE_ACTIVITY

static double s_clamp (double x)
{
    return fmin (fmax (x, 0), 1);
}

// ---- facts of the launch ----

static kc_evidence_step_occupancy_limiter_t s_limiter (kc_limiter_t limiter, double blocks, double slots)
{
    if (blocks < slots)
        return KC_EVIDENCE_STEP_OCCUPANCY_LIMITER_GRID;
    switch (limiter) {
    case KC_LIMIT_WARPS:
        return KC_EVIDENCE_STEP_OCCUPANCY_LIMITER_WARPS;
    case KC_LIMIT_REGISTERS:
        return KC_EVIDENCE_STEP_OCCUPANCY_LIMITER_REGISTERS;
    case KC_LIMIT_SHARED:
        return KC_EVIDENCE_STEP_OCCUPANCY_LIMITER_SHARED;
    case KC_LIMIT_BLOCKS:
        return KC_EVIDENCE_STEP_OCCUPANCY_LIMITER_BLOCKS;
    }
    return KC_EVIDENCE_STEP_OCCUPANCY_LIMITER_WARPS;
}

static void s_facts (const step_input_t *s)
{
    const kc_device_facts_t *d = s->in->facts;
    const kc_plan_step_t *p = s->step;
    double blocks = (double)p->grid[0] * p->grid[1] * p->grid[2];
    int threads = (int)(p->block[0] * p->block[1] * p->block[2]);
    int64_t shared = s->kernel->shared_static + p->shared;
    s_put (s, "launches", s->launches, FACT);
    s_put (s, "grid_blocks", blocks, FACT);
    s_put (s, "block_threads", threads, FACT);
    s_put (s, "registers", s->kernel->registers, FACT);
    s->out->registers_estimated = s->kernel->registers_estimated;
    s_put (s, "shared_bytes", (double)shared, FACT);
    s_put (s, "stack_bytes", (double)s->kernel->local_bytes, FACT);
    kc_limiter_t limiter = KC_LIMIT_WARPS;
    int resident = kc_occupancy (d, s->kernel->registers, shared, threads, &limiter);
    if (resident < 1)
        return;
    double slots = (double)resident * d->sms;
    double warps = ceil (threads / 32.0);
    double waves = blocks / slots, last = waves - floor (waves);
    s_put (s, "occupancy_limit", s_clamp (fmin (resident * warps, ceil (blocks / d->sms) * warps) / (d->max_threads_sm / 32.0)), FACT);
    s_put (s, "waves", waves, FACT);
    s_put (s, "tail_idle", waves <= 1 ? s_clamp (1 - blocks / d->sms) : last > 0 ? 1 - last : 0, FACT);
    s->out->occupancy_limiter = s_limiter (limiter, blocks, slots);
}

// Bytes that the step's declared accesses name, each buffer range once, reads and writes.
static double s_declared_bytes (const kc_plan_t *plan, const kc_plan_step_t *p)
{
    double bytes = 0;
    for (size_t i = 0; i < p->n_ranges; i++) {
        const kc_plan_range_t *r = &p->ranges[i];
        bool repeated = false; // a T* is listed as read and as written: count both, but no range twice
        for (size_t k = 0; k < i; k++)
            repeated = repeated || (p->ranges[k].buffer == r->buffer && p->ranges[k].writes == r->writes
                                    && p->ranges[k].from <= r->from && p->ranges[k].to >= r->to);
        if (!repeated && r->buffer >= 0 && (size_t)r->buffer < plan->n_buffers)
            bytes += (double)(r->to - r->from);
    }
    return bytes;
}

static double s_outputs (const kc_plan_t *plan, const kc_plan_step_t *p)
{
    double elements = 0;
    for (size_t i = 0; i < p->n_ranges; i++) {
        const kc_plan_buffer_t *b = &plan->buffers[p->ranges[i].buffer];
        if (p->ranges[i].writes && b->bytes > 0)
            elements += (double)(p->ranges[i].to - p->ranges[i].from) * (double)b->elements / (double)b->bytes;
    }
    return elements;
}

static void s_floor (const step_input_t *s, double time_us)
{
    double bytes = s_declared_bytes (s->in->plan, s->step) * s->launches;
    double floor_us = bytes / s->in->copy_bandwidth * 1e6;
    s_put (s, "floor_us", floor_us, FACT);
    if (time_us > 0)
        s_put (s, "floor_share", s_clamp (floor_us / time_us), s->in->estimate ? MODEL : COUNTER);
}

static void s_traffic_ratio (const step_input_t *s, double dram, kc_evidence_source_source_t source)
{
    double bytes = s_declared_bytes (s->in->plan, s->step) * s->launches;
    if (bytes > 0)
        s_put (s, "traffic_ratio", dram / bytes, source);
}

static void s_per_output (const step_input_t *s, double thread_instructions)
{
    double outputs = s_outputs (s->in->plan, s->step) * s->launches;
    if (outputs > 0)
        s_put (s, "instructions_per_output", thread_instructions / outputs, COUNTER);
}

// ---- virtual GPU ----

static void s_vgpu_model (const step_input_t *s)
{
    static const struct {
        const char *raw, *field;
    } same[] = {
        {"model.dram_share", "dram_share"}, {"model.l2_share", "l2_share"}, {"model.l2_hit", "l2_hit"},
        {"model.l1_hit", "l1_hit"}, {"model.l1_share", "l1_share"}, {"model.issue_share", "issue_share"},
        {"model.fma_share", "fma_share"}, {"model.alu_share", "alu_share"}, {"model.xu_share", "xu_share"},
        {"model.lsu_share", "lsu_share"}, {"model.fp64_share", "fp64_share"}, {"model.tensor_share", "tensor_share"},
        {"model.shared_share", "shared_share"}, {"model.occupancy", "occupancy"},
        {"model.bytes_in_flight_sm", "bytes_in_flight_sm"}, {"model.stall_memory", "stall_memory"},
        {"model.stall_shared", "stall_shared"}, {"model.stall_sync", "stall_sync"}, {"model.stall_math", "stall_math"},
        {"model.stall_wait", "stall_wait"}, {"model.stall_not_selected", "stall_not_selected"},
        {"model.eligible_warps", "eligible_warps"}, {"model.sm_imbalance", "sm_imbalance"},
        {"model.clock_mhz", "sm_clock_mhz"},
    };
    double v;
    for (size_t i = 0; i < KC_COUNT (same); i++)
        if (s_get (s, same[i].raw, &v))
            s_put (s, same[i].field, v, MODEL);
    double rd = 0, wr = 0;
    if (s_get (s, "model.dram_read_bytes", &rd))
        s_put (s, "dram_read_bytes", rd, MODEL);
    if (s_get (s, "model.dram_write_bytes", &wr)) {
        s_put (s, "dram_write_bytes", wr, MODEL);
        s_traffic_ratio (s, rd + wr, MODEL);
    }
    if (s_get (s, "model.l2_sectors", &v))
        s_put (s, "l2_sectors", v, MODEL);
}

static void s_ratio (const step_input_t *s, const char *field, const char *above, const char *below, double scale)
{
    double a = 0, b = 0;
    if (s_get (s, above, &a) && s_get (s, below, &b) && b > 0)
        s_put (s, field, a / b * scale, COUNTER);
}

// Which of the two matters: a few odd stores behind a stream of loads cost nothing.
static void s_store_share (const step_input_t *s, const char *loads, const char *stores)
{
    double ld = 0, st = 0;
    if (s_get (s, loads, &ld) && s_get (s, stores, &st) && ld + st > 0)
        s_put (s, "st_share", st / (ld + st), COUNTER);
}

static void s_vgpu_counts (const step_input_t *s, double time_us)
{
    double v = 0, w = 0;
    s_store_share (s, "vgpu.ld_sectors", "vgpu.st_sectors");
    s_ratio (s, "ld_sectors_per_request", "vgpu.ld_sectors", "vgpu.ld_requests", 1);
    s_ratio (s, "ld_efficiency", "vgpu.ld_used", "vgpu.ld_sectors", 1.0 / SECTOR);
    s_ratio (s, "st_efficiency", "vgpu.st_used", "vgpu.st_sectors", 1.0 / SECTOR);
    s_ratio (s, "ld_width_bytes", "vgpu.ld_bytes", "vgpu.ld_lanes", 1);
    s_ratio (s, "bank_conflict_share", "vgpu.shared_conflicts", "vgpu.shared_wavefronts", 1);
    s_ratio (s, "active_lanes", "vgpu.active_lanes", "vgpu.warp_instructions", 1.0 / 32);
    s_ratio (s, "predicated_lanes", "vgpu.thread_instructions", "vgpu.warp_instructions", 1.0 / 32);
    s_ratio (s, "divergent_branches", "vgpu.divergent_branches", "vgpu.branches", 1);
    s_ratio (s, "integer_share", "vgpu.integer_instructions", "vgpu.thread_instructions", 1);
    if (s_get (s, "vgpu.local_bytes", &v))
        s_put (s, "local_bytes", v, COUNTER);
    if (s_get (s, "vgpu.atomics", &v))
        s_put (s, "atomic_sectors", v, COUNTER);
    if (s_get (s, "vgpu.warp_instructions", &v))
        s_put (s, "warp_instructions", v, COUNTER);
    if (s_get (s, "vgpu.thread_instructions", &v))
        s_per_output (s, v);
    if (s_get (s, "vgpu.fp32_flops", &v) && s_get (s, "vgpu.fp64_flops", &w) && time_us > 0) {
        double clock = 0;
        if (s_get (s, "model.clock_mhz", &clock)) {
            double peak = (double)s->in->facts->sms * 128 * 2 * clock * 1e6; // fp32 FMA lanes of an SM
            s_put (s, "flop_share", s_clamp ((v + 2 * w) / (time_us * 1e-6) / peak), MODEL);
        }
    }
}

// ---- real GPU ----

#define STALL(reason) "smsp__warps_issue_stalled_" reason ".sum"
#define ACTIVE ".avg.pct_of_peak_sustained_active"

static void s_cuda_percent (const step_input_t *s, const char *field, const char *name)
{
    double v = 0;
    if (s_get (s, name, &v))
        s_put (s, field, s_clamp (v / 100), COUNTER);
}

static void s_cuda_stall (const step_input_t *s, const char *field, const char *const *names)
{
    double warps = 0, sum = 0, v = 0;
    bool any = false;
    if (!s_get (s, "smsp__warps_active.sum", &warps) || warps <= 0)
        return;
    for (; *names; names++)
        if (s_get (s, *names, &v)) {
            sum += v;
            any = true;
        }
    if (any)
        s_put (s, field, s_clamp (sum / warps), COUNTER);
}

static void s_cuda_memory (const step_input_t *s, double time_us)
{
    double rd = 0, wr = 0, v = 0, hit = 0, miss = 0;
    bool have_read = s_get (s, "dram__bytes_read.sum", &rd), have_write = s_get (s, "dram__bytes_write.sum", &wr);
    if (have_read)
        s_put (s, "dram_read_bytes", rd, COUNTER);
    if (have_write)
        s_put (s, "dram_write_bytes", wr, COUNTER);
    if (have_read && have_write) {
        s_traffic_ratio (s, rd + wr, COUNTER);
        if (time_us > 0 && s->in->bandwidth > 0)
            s_put (s, "dram_share", s_clamp ((rd + wr) / (time_us * 1e-6) / s->in->bandwidth), COUNTER);
        if (time_us > 0)
            s_put (s, "bytes_in_flight_sm", rd / (time_us * 1e-6) * DRAM_LATENCY_S / s->in->facts->sms, COUNTER);
    }
    if (s_get (s, "lts__t_sectors.sum", &v))
        s_put (s, "l2_sectors", v, COUNTER);
    s_cuda_percent (s, "l2_share", "lts__t_sectors.avg.pct_of_peak_sustained_elapsed");
    if (s_get (s, "lts__t_sectors_lookup_hit.sum", &hit) && s_get (s, "lts__t_sectors_lookup_miss.sum", &miss) && hit + miss > 0)
        s_put (s, "l2_hit", hit / (hit + miss), COUNTER);
    s_ratio (s, "l1_hit", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", 1);
    s_ratio (s, "ld_sectors_per_request", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
             "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", 1);
    if (s_get (s, "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio", &v))
        s_put (s, "ld_efficiency", s_clamp (v / SECTOR), COUNTER);
    if (s_get (s, "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.ratio", &v))
        s_put (s, "st_efficiency", s_clamp (v / SECTOR), COUNTER);
    // Bytes that lanes asked for: sectors times their used share; over loads and their lanes.
    double sectors = 0, used = 0, loads = 0, threads = 0, warps = 0;
    if (s_get (s, "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", &sectors)
        && s_get (s, "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio", &used)
        && s_get (s, "smsp__inst_executed_op_global_ld.sum", &loads) && loads > 0
        && s_get (s, "smsp__thread_inst_executed.sum", &threads) && s_get (s, "smsp__inst_executed.sum", &warps) && warps > 0
        && threads > 0)
        s_put (s, "ld_width_bytes", sectors * used / loads / (threads / warps), COUNTER);
    s_store_share (s, "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum");
    double lo = 0, st = 0;
    if (s_get (s, "l1tex__t_bytes_pipe_lsu_mem_local_op_ld.sum", &lo) && s_get (s, "l1tex__t_bytes_pipe_lsu_mem_local_op_st.sum", &st))
        s_put (s, "local_bytes", lo + st, COUNTER);
    s_ratio (s, "bank_conflict_share", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", 1);
    double wavefronts = 0, cycles = 0;
    if (s_get (s, "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", &wavefronts) && s_get (s, "sm__cycles_elapsed.max", &cycles) && cycles > 0)
        s_put (s, "shared_share", s_clamp (wavefronts / (cycles * s->in->facts->sms)), COUNTER);
    s_cuda_percent (s, "l1_share", "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed");
    double atom = 0, red = 0;
    if (s_get (s, "lts__t_sectors_op_atom.sum", &atom) && s_get (s, "lts__t_sectors_op_red.sum", &red))
        s_put (s, "atomic_sectors", atom + red, COUNTER);
    if (s_get (s, "l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld.sum", &v))
        s_put (s, "tma_bytes", v, COUNTER);
}

static void s_cuda_execution (const step_input_t *s)
{
    static const char *const memory[] = {STALL ("long_scoreboard"), STALL ("lg_throttle"), STALL ("tex_throttle"), STALL ("drain"), NULL};
    static const char *const shared[] = {STALL ("short_scoreboard"), STALL ("mio_throttle"), NULL};
    static const char *const sync[] = {STALL ("barrier"), STALL ("membar"), STALL ("gmma"), STALL ("sleeping"), NULL};
    static const char *const math[] = {STALL ("math_pipe_throttle"), NULL};
    static const char *const wait[] = {STALL ("wait"), NULL};
    static const char *const not_selected[] = {STALL ("not_selected"), NULL};
    static const char *const fetch[] = {STALL ("no_instruction"), STALL ("branch_resolving"), STALL ("imc_miss"), NULL};
    double v = 0, w = 0;
    if (s_get (s, "smsp__inst_executed.sum", &v))
        s_put (s, "warp_instructions", v, COUNTER);
    if (s_get (s, "smsp__thread_inst_executed.sum", &w))
        s_per_output (s, w);
    s_ratio (s, "active_lanes", "smsp__thread_inst_executed.sum", "smsp__inst_executed.sum", 1.0 / 32);
    s_ratio (s, "predicated_lanes", "smsp__thread_inst_executed_pred_on.sum", "smsp__inst_executed.sum", 1.0 / 32);
    s_ratio (s, "divergent_branches", "smsp__sass_branch_targets_threads_divergent.sum", "smsp__sass_branch_targets.sum", 1);
    s_ratio (s, "integer_share", "smsp__sass_thread_inst_executed_op_integer_pred_on.sum", "smsp__thread_inst_executed.sum", 1);
    s_ratio (s, "issue_share", "smsp__issue_active.sum", "smsp__cycles_active.sum", 1);
    s_ratio (s, "eligible_warps", "smsp__warps_eligible.sum", "smsp__cycles_active.sum", 1);
    s_cuda_percent (s, "fma_share", "sm__pipe_fma_cycles_active" ACTIVE);
    s_cuda_percent (s, "alu_share", "sm__pipe_alu_cycles_active" ACTIVE);
    s_cuda_percent (s, "xu_share", "sm__inst_executed_pipe_xu" ACTIVE);
    s_cuda_percent (s, "lsu_share", "sm__inst_executed_pipe_lsu" ACTIVE);
    s_cuda_percent (s, "fp64_share", "sm__pipe_fp64_cycles_active" ACTIVE);
    s_cuda_percent (s, "tensor_share", "sm__pipe_tensor_cycles_active" ACTIVE);
    s_cuda_percent (s, "occupancy", "sm__warps_active" ACTIVE);
    s_cuda_stall (s, "stall_memory", memory);
    s_cuda_stall (s, "stall_shared", shared);
    s_cuda_stall (s, "stall_sync", sync);
    s_cuda_stall (s, "stall_math", math);
    s_cuda_stall (s, "stall_wait", wait);
    s_cuda_stall (s, "stall_not_selected", not_selected);
    s_cuda_stall (s, "stall_fetch", fetch);
    if (s_get (s, "sm__cycles_active.avg", &v) && s_get (s, "sm__cycles_elapsed.max", &w) && w > 0)
        s_put (s, "sm_imbalance", s_clamp (1 - v / w), COUNTER);
    if (s_get (s, "sm__cycles_elapsed.avg.per_second", &v))
        s_put (s, "sm_clock_mhz", v / 1e6, COUNTER);
}

// ---- one step ----

static void s_absent (const step_input_t *s)
{
    const kc_dev_profile_t *profile = s->in->profile;
    for (size_t i = 0; i < kc_evidence_step_type.n_fields; i++) {
        const kc_field_t *f = &kc_evidence_step_type.fields[i];
        if (f->base != KC_BASE_NUMBER || (f->flags & KC_FIELD_ARRAY) || kc_field_present (f, s->out))
            continue;
        kc_evidence_absent_t *a = kc_push (&s->out->absent, &s->out->n_absent, sizeof *s->out->absent);
        kc_type_init (&kc_evidence_absent_type, a);
        a->field = kc_strdup (f->name);
        if (!strncmp (f->name, "code_", 5)) {
            a->reason = s->in->ptx ? KC_EVIDENCE_ABSENCE_NOT_APPLICABLE : KC_EVIDENCE_ABSENCE_NOT_COLLECTED;
        }
        else if (profile->counters_missing) {
            a->reason = KC_EVIDENCE_ABSENCE_NOT_PERMITTED;
            if (profile->missing_reason[0])
                kc_set (&a->text, profile->missing_reason);
        }
        else // a ratio of two counts that were zero, or nothing of the kind exists here
            a->reason = s->in->estimate && !strcmp (f->name, "stall_fetch") ? KC_EVIDENCE_ABSENCE_NOT_COLLECTED
                        : !strcmp (f->name, "tma_bytes") && s->in->facts->sm < 90 ? KC_EVIDENCE_ABSENCE_NOT_ON_CHIP
                                                                                 : KC_EVIDENCE_ABSENCE_NOT_APPLICABLE;
    }
}

static void s_code_sources (const step_input_t *s)
{
    kc_evidence_source_t *entry = NULL;
    for (size_t i = 0; i < kc_evidence_step_type.n_fields; i++) {
        const kc_field_t *f = &kc_evidence_step_type.fields[i];
        if (strncmp (f->name, "code_", 5) || !kc_field_present (f, s->out))
            continue;
        if (!entry) {
            entry = kc_push (&s->out->sources, &s->out->n_sources, sizeof *s->out->sources);
            kc_type_init (&kc_evidence_source_type, entry);
            entry->source = KC_EVIDENCE_SOURCE_SOURCE_CODE;
        }
        char **slot = kc_push (&entry->fields, &entry->n_fields, sizeof *entry->fields);
        *slot = kc_strdup (f->name);
    }
}

// Time of the step's launches in microseconds, 0 when unknown.
static double s_time (const step_input_t *s)
{
    double v = 0;
    if (s->in->estimate)
        return s_get (s, "model.time_us", &v) ? v : 0;
    if (s_get (s, "kc.time_us", &v)) // outside profiling, so closer to the truth
        return v;
    return s_get (s, "gpu__time_duration.sum", &v) ? v / 1000.0 : 0;
}

static void s_step (const step_input_t *s, double kernel_us, double total_us)
{
    double v = 0;
    double time_us = s_time (s);
    bool activity = !s->in->estimate && s_get (s, "kc.time_us", &v);
    s_facts (s);
    if (time_us > 0) {
        kc_evidence_source_source_t source = s->in->estimate ? MODEL : activity ? ACTIVITY : COUNTER;
        s_put (s, "time_us", time_us, source);
        if (kernel_us > 0)
            s_put (s, "time_share", s_clamp (time_us / kernel_us), source);
        if (total_us > 0 && kernel_us > 0)
            s_put (s, "gap_share", s_clamp (1 - kernel_us / total_us), source);
    }
    s_floor (s, time_us);
    if (s->in->estimate) {
        s_vgpu_model (s);
        s_vgpu_counts (s, time_us);
    }
    else {
        s_cuda_memory (s, time_us);
        s_cuda_execution (s);
    }
    const ptx_func_t *code = s->in->ptx ? ptx_module_func (s->in->ptx, s->kernel->symbol) : NULL;
    if (code && !code->is_declaration) {
        kc_features_context_t context = {.blocks = (double)s->step->grid[0] * s->step->grid[1] * s->step->grid[2],
                                         .outputs = s_outputs (s->in->plan, s->step),
                                         .stores = s_get (s, s->in->estimate ? "vgpu.st_requests" : "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", &v) ? v : -1,
                                         .ld_efficiency = s->out->has_ld_efficiency ? s->out->ld_efficiency : -1,
                                         .st_efficiency = s->out->has_st_efficiency ? s->out->st_efficiency : -1};
        kc_features_read (s->in->ptx, code, &context, s->out);
        s_code_sources (s);
    }
    s_absent (s);
}

static int s_heavier (const void *a, const void *b)
{
    double x = ((const kc_evidence_step_t *)a)->time_us, y = ((const kc_evidence_step_t *)b)->time_us;
    return x < y ? 1 : x > y ? -1 : 0;
}

static void s_raw (kc_evidence_t *e, const kc_dev_step_counters_t *counters)
{
    for (size_t i = 0; i < counters->n && e->n_raw < RAW_MAX; i++) {
        kc_evidence_raw_t *raw = kc_push (&e->raw, &e->n_raw, sizeof *e->raw);
        kc_type_init (&kc_evidence_raw_type, raw);
        raw->step = counters->step;
        raw->name = kc_strdup (counters->counters[i].name);
        raw->has_value = isfinite (counters->counters[i].value);
        raw->value = counters->counters[i].value;
    }
}

// Launches of the same kernel step of the program (a loop) are one step of the evidence.
static int s_launches (const kc_plan_t *plan, const kc_plan_step_t *step)
{
    int n = 0;
    for (size_t i = 0; i < plan->n_steps; i++)
        n += plan->steps[i].op == KC_PLAN_KERNEL && plan->steps[i].source_step == step->source_step
             && plan->steps[i].kernel == step->kernel;
    return n;
}

kc_evidence_t *kc_evidence_derive (const kc_evidence_input_t *in)
{
    const kc_dev_profile_t *profile = in->profile;
    kc_evidence_t *e = kc_evidence_new ();
    e->backend = in->estimate ? KC_EVIDENCE_BACKEND_VGPU : KC_EVIDENCE_BACKEND_CUDA;
    e->device = kc_card_device_dup (in->card->device);
    e->estimate = in->estimate;
    e->has_passes = true;
    e->passes = profile->passes;
    double kernel_us = profile->kernel_us;
    for (size_t i = 0; i < profile->n_steps && e->n_steps < STEPS_MAX; i++) {
        const kc_dev_step_counters_t *counters = &profile->steps[i];
        if (counters->step < 0 || (size_t)counters->step >= in->plan->n_steps
            || in->plan->steps[counters->step].op != KC_PLAN_KERNEL)
            continue;
        kc_evidence_step_t *out = kc_push (&e->steps, &e->n_steps, sizeof *e->steps);
        kc_type_init (&kc_evidence_step_type, out);
        const kc_plan_step_t *step = &in->plan->steps[counters->step];
        step_input_t s = {.in = in, .counters = counters, .step = step, .kernel = &in->plan->kernels[step->kernel],
                          .launches = s_launches (in->plan, step), .out = out};
        out->step = step->source_step;
        out->kernel = kc_strdup (s.kernel->name);
        s_step (&s, kernel_us, profile->total_us);
        s_raw (e, counters);
    }
    if (e->n_steps > 1)
        qsort (e->steps, e->n_steps, sizeof *e->steps, s_heavier);
    if (profile->total_us > 0) {
        e->has_total_us = true;
        e->total_us = profile->total_us;
        e->has_floor_us = e->has_floor_share = true;
        e->floor_us = in->card->floor->us;
        e->floor_share = s_clamp (e->floor_us / e->total_us);
    }
    return e;
}
