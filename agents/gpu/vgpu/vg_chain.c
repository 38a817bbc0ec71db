// vg_chain.c - the dependency chain of sampled warps, and the counters of a launch from its raw counts

#include "agents/gpu/vgpu/vg_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/util/kc_mem.h"

const char *vgpu_class_name (vgpu_class_t c)
{
    static const char *const names[] = {
#define ROW(sym, name, latency) name,
        VGPU_CLASSES (ROW)
#undef ROW
    };
    return (size_t)c < KC_COUNT (names) ? names[c] : "?";
}

uint32_t vgpu_class_latency (vgpu_class_t c)
{
    static const uint16_t latency[] = {
#define ROW(sym, name, clocks) clocks,
        VGPU_CLASSES (ROW)
#undef ROW
    };
    return (size_t)c < KC_COUNT (latency) ? latency[c] : 4;
}

static void s_wait (vg_warp_t *w, uint64_t ready, uint64_t *start)
{
    if (ready > *start)
        *start = ready;
    (void)w;
}

// One instruction of a sampled warp, after it ran: it starts when its operands are there, in order.
void vg_chain (vg_warp_t *w, const vg_op_t *o)
{
    vg_frame_t *f = w->frame;
    if (!f->ready || o->cls == VGPU_CLASS_COUNT)
        return;
    uint64_t start = w->clock, used_seq = 0;
    for (int k = 0; k < o->n_s; k++) {
        if (o->s[k] & VG_POOL)
            continue;
        uint32_t r = o->s[k] / VG_ROW;
        if (o->fn == NULL && o->kind == VG_DATA)
            break;
        s_wait (w, f->ready[r], &start);
        used_seq = f->load_seq[r] > used_seq ? f->load_seq[r] : used_seq;
    }
    if (!o->is_load)
        for (int k = 0; k < o->n_v; k++) {
            if (o->v[k] & VG_POOL)
                continue;
            uint32_t r = o->v[k] / VG_ROW;
            s_wait (w, f->ready[r], &start);
            used_seq = f->load_seq[r] > used_seq ? f->load_seq[r] : used_seq;
        }
    if (o->guard >= 0)
        s_wait (w, f->ready_pred[o->guard], &start);
    if (o->ps >= 0)
        s_wait (w, f->ready_pred[o->ps], &start);
    uint64_t stall = start - w->clock;
    if (used_seq > w->loads_done) { // the first use of a load: what was in flight until now
        uint32_t n = w->loads - w->loads_done;
        uint64_t bytes = w->load_cum[w->loads & 255] - w->load_cum[w->loads_done & 255];
        vgpu_counters_t *c = w->run->c;
        if (n < 256) {
            c->loads_in_flight_max = n > c->loads_in_flight_max ? n : c->loads_in_flight_max;
            c->load_bytes_in_flight_max = bytes > c->load_bytes_in_flight_max ? (uint32_t)bytes : c->load_bytes_in_flight_max;
            c->loads_in_flight_sum += n;
            c->load_bytes_in_flight_sum += bytes;
            c->load_waits++;
        }
        w->loads_done = (uint32_t)used_seq;
        w->stall_memory += stall;
    }
    else if (stall > 20)
        w->stall_shared += stall;
    else if (stall > 4)
        w->stall_mufu += stall;
    w->clock = start + 1;
    uint32_t latency = vgpu_class_latency ((vgpu_class_t)o->cls);
    if (o->kind == VG_MEM && w->mem_latency)
        latency = w->mem_latency;
    if (o->kind == VG_BUILTIN) {
        const ptx_builtin_t *b = &f->func->calls[o->target].builtin;
        w->clock += b->fma * 4u + b->mufu * 23u; // its result is read from parameters, which have no ready time
        return;
    }
    latency += o->extra * 4u;
    start += o->extra;
    w->clock += o->extra;
    uint32_t seq = 0;
    if (o->kind == VG_MEM && o->is_load && w->mem_bytes) {
        w->loads++;
        seq = w->loads;
        w->load_cum[w->loads & 255] = w->load_cum[(w->loads - 1) & 255] + w->mem_bytes;
    }
    uint64_t ready = start + latency;
    bool vector = o->is_load && o->n_v > 0;
    for (int k = 0; k < (vector ? o->n_v : o->d_rows ? 1 : 0); k++) {
        uint32_t row = vector ? o->v[k] : o->d;
        if (row == UINT32_MAX || row & VG_POOL)
            continue;
        f->ready[row / VG_ROW] = ready;
        f->load_seq[row / VG_ROW] = seq;
    }
    if (o->pd >= 0)
        f->ready_pred[o->pd] = ready;
    if (o->pd2 >= 0)
        f->ready_pred[o->pd2] = ready;
}

static int s_by_line (const void *a, const void *b)
{
    const vgpu_line_t *x = a, *y = b;
    return x->line < y->line ? -1 : x->line > y->line;
}

static void s_add_class (vgpu_counters_t *c, uint32_t cls, uint64_t warp, uint64_t thread)
{
    c->warp_by_class[cls] += warp;
    c->thread_by_class[cls] += thread;
    c->warp_instructions += warp;
    c->thread_instructions += thread;
}

static void s_add_stat (vgpu_counters_t *c, const vg_op_t *o, const vg_stat_t *s)
{
    bool atomic = o->cls == VGPU_CLASS_ATOMIC_GLOBAL || o->cls == VGPU_CLASS_ATOMIC_SHARED;
    if (o->is_load) {
        c->global_load_requests += s->requests;
        c->global_load_sectors += s->sectors;
        c->global_load_bytes += s->bytes;
        c->global_load_lanes += s->lanes;
        c->global_load_used += s->used;
        c->local_load_bytes += s->local_bytes;
        c->shared_load_requests += s->shared_requests;
        c->shared_load_bytes += s->shared_bytes;
    }
    else if (!atomic) {
        c->global_store_requests += s->requests;
        c->global_store_sectors += s->sectors;
        c->global_store_bytes += s->bytes;
        c->global_store_lanes += s->lanes;
        c->global_store_used += s->used;
        c->local_store_bytes += s->local_bytes;
        c->shared_store_requests += s->shared_requests;
        c->shared_store_bytes += s->shared_bytes;
    }
    c->local_sectors += s->local_sectors;
    c->shared_wavefronts += s->wavefronts;
    c->shared_conflicts += s->conflicts;
}

void vg_collect (vg_run_t *run)
{
    vgpu_counters_t *c = run->c;
    const vgpu_module_t *m = run->m;
    uint32_t n_lines = 0;
    vgpu_line_t *lines = kc_calloc (m->n_counts + 1u, sizeof (*lines));
    for (uint32_t k = 0; k < m->ptx->n_funcs; k++) {
        const vg_func_t *f = &m->funcs[k];
        for (uint32_t pc = 0; pc < f->n_ops; pc++) {
            const vg_op_t *o = &f->ops[pc];
            const vg_count_t *n = &run->counts[f->first_count + pc];
            if (!n->issued || o->cls == VGPU_CLASS_COUNT)
                continue;
            uint64_t warp = n->issued, thread = n->on;
            if (o->kind == VG_BUILTIN) {
                const ptx_builtin_t *b = &f->calls[o->target].builtin;
                uint32_t cls = o->cls, cost = (uint32_t)b->fma + b->mufu;
                s_add_class (c, cls, n->issued * b->fma, n->on * b->fma);
                s_add_class (c, VGPU_CLASS_MUFU, n->issued * b->mufu, n->on * b->mufu);
                warp = n->issued * cost;
                thread = n->on * cost;
                if (b->kind == PTX_BUILTIN_MATH && cls == VGPU_CLASS_FP32_FMA)
                    c->fp32_flops += n->on * (2ull * b->fma + b->mufu);
                else if (b->kind == PTX_BUILTIN_MATH)
                    c->fp64_flops += n->on * (2ull * b->fma + b->mufu);
                c->active_lanes += n->active * cost;
                c->predicated_off += (n->active - n->on) * cost;
            }
            else {
                s_add_class (c, o->cls, n->issued, n->on);
                s_add_class (c, o->extra_cls, n->issued * o->extra, n->on * o->extra);
                c->active_lanes += n->active * (1ull + o->extra);
                c->predicated_off += (n->active - n->on) * (1ull + o->extra);
                warp = n->issued * (1ull + o->extra);
                thread = n->on * (1ull + o->extra);
            }
            if (o->flops) {
                bool wide = o->d_rows == 2 || o->type == PTX_TYPE_F64;
                *(wide ? &c->fp64_flops : &c->fp32_flops) += n->on * o->flops;
            }
            if (o->kind == VG_BRA && o->guard >= 0) {
                c->branches += n->issued;
                c->divergent_branches += n->divergent;
            }
            bool mem = o->kind == VG_MEM;
            const vg_stat_t *s = mem ? &run->stats[o->stat] : NULL;
            if (s)
                s_add_stat (c, o, s);
            if (!o->src->line)
                continue;
            vgpu_line_t *l = &lines[n_lines++];
            *l = (vgpu_line_t){.line = o->src->line, .warp_instructions = warp, .thread_instructions = thread, .divergent = n->divergent};
            if (s) {
                l->sectors = s->sectors + s->local_sectors;
                l->shared_wavefronts = s->wavefronts;
                l->conflicts = s->conflicts;
            }
        }
    }
    c->int_thread_instructions = c->thread_by_class[VGPU_CLASS_INT_ALU] + c->thread_by_class[VGPU_CLASS_INT_MUL];
    qsort (lines, n_lines, sizeof (*lines), s_by_line);
    uint32_t w = 0;
    for (uint32_t k = 0; k < n_lines; k++) {
        if (!w || lines[w - 1].line != lines[k].line) {
            lines[w++] = lines[k];
            continue;
        }
        vgpu_line_t *l = &lines[w - 1];
        l->warp_instructions += lines[k].warp_instructions;
        l->thread_instructions += lines[k].thread_instructions;
        l->sectors += lines[k].sectors;
        l->shared_wavefronts += lines[k].shared_wavefronts;
        l->conflicts += lines[k].conflicts;
        l->divergent += lines[k].divergent;
    }
    c->lines = lines;
    c->n_lines = w;
    c->n_traffic = run->launch->n_buffers;
    c->traffic = kc_calloc (c->n_traffic + 1u, sizeof (*c->traffic));
    for (uint32_t k = 0; k < run->n_buffers; k++)
        if (run->buffers[k].index >= 0)
            c->traffic[run->buffers[k].index] = run->buffers[k].traffic;
    for (uint32_t k = 0; run->atomics && k < VG_ATOMIC_KEYS * 2; k++)
        if (run->atomics[k].n > c->atomic_hottest) {
            c->atomic_hottest = run->atomics[k].n;
            c->atomic_hottest_address = run->atomics[k].key;
        }
    c->atomic_addresses = run->n_atomics;
    c->output_size = run->output.size;
    c->output = run->output.size ? kc_buf_take (&run->output) : NULL;
}

void vgpu_counters_free (vgpu_counters_t *c)
{
    if (!c)
        return;
    free (c->traffic);
    free (c->lines);
    free (c->block_instructions);
    free (c->output);
    memset (c, 0, sizeof (*c));
}
