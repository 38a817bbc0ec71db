// vgpu.c - loading a module, running a launch: blocks, turns, budget, grids that wait for themselves

#include "agents/gpu/vgpu/vg_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/util/kc_mem.h"

enum { SYMBOL_GUARD = 256 }; // bytes between module variables

static bool s_v3 (void)
{
#ifdef VG_HAVE_V3
    __builtin_cpu_init ();
    return __builtin_cpu_supports ("avx2") && __builtin_cpu_supports ("fma") && __builtin_cpu_supports ("bmi2");
#else
    return false;
#endif
}

const char *vgpu_isa (void)
{
    return s_v3 () ? "x86-64-v3" : "baseline";
}

vgpu_module_t *vgpu_module_load (const char *ptx, size_t size, kc_err_t *err)
{
    return vg_module_load (ptx, size, !s_v3 (), err);
}

vgpu_module_t *vg_module_load (const char *ptx, size_t size, bool baseline, kc_err_t *err)
{
    ptx_module_t *p = ptx_module_parse (ptx, size, err);
    if (!p)
        return NULL;
    vgpu_module_t *m = kc_calloc (1, sizeof (*m));
    m->ptx = p;
    m->handlers = vg_handlers_baseline;
    m->turn = vg_turn_baseline;
#ifdef VG_HAVE_V3
    if (!baseline) {
        m->handlers = vg_handlers_v3;
        m->turn = vg_turn_v3;
    }
#else
    (void)baseline;
#endif
    m->symbol_at = kc_calloc (p->n_symbols + 1u, sizeof (uint64_t));
    for (uint32_t k = 0; k < p->n_symbols; k++) {
        const ptx_symbol_t *s = &p->symbols[k];
        if (s->kind != PTX_SYM_VAR || s->space != PTX_SPACE_GLOBAL)
            continue;
        uint64_t align = s->align > 256 ? s->align : 256;
        m->global_bytes = (m->global_bytes + align - 1) / align * align;
        m->symbol_at[k] = m->global_bytes;
        m->global_bytes += s->size + SYMBOL_GUARD;
    }
    m->global_image = kc_calloc (m->global_bytes + 16, 1);
    m->const_image = kc_calloc (p->const_bytes + 16, 1);
    for (uint32_t k = 0; k < p->n_symbols; k++) {
        const ptx_symbol_t *s = &p->symbols[k];
        if (s->kind != PTX_SYM_VAR || !s->init)
            continue;
        if (s->space == PTX_SPACE_GLOBAL)
            memcpy (m->global_image + m->symbol_at[k], s->init, s->size);
        else if (s->space == PTX_SPACE_CONST)
            memcpy (m->const_image + s->offset, s->init, s->size);
    }
    if (vg_decode (m, err) < 0)
        vgpu_module_destroy (&m);
    return m;
}

void vgpu_module_destroy (vgpu_module_t **self_p)
{
    vgpu_module_t *m = *self_p;
    if (!m)
        return;
    vg_decode_free (m);
    ptx_module_destroy (&m->ptx);
    free (m->symbol_at);
    free (m->global_image);
    free (m->const_image);
    free (m);
    *self_p = NULL;
}

const ptx_module_t *vgpu_module_static (const vgpu_module_t *self)
{
    return self->ptx;
}

const ptx_func_t *vgpu_module_kernel (const vgpu_module_t *self, const char *name)
{
    const ptx_func_t *f = ptx_module_func (self->ptx, name);
    return f && f->is_kernel && !f->is_declaration ? f : NULL;
}

static uint8_t *s_symbol (const vgpu_module_t *self, const char *name, uint64_t offset, size_t size, kc_err_t *err)
{
    const ptx_symbol_t *s = ptx_module_symbol (self->ptx, name);
    if (!s || (s->space != PTX_SPACE_GLOBAL && s->space != PTX_SPACE_CONST)) {
        kc_fail (err, KC_ENOTFOUND, "the module has no __constant__ or __device__ variable '%s'", name);
        return NULL;
    }
    if (offset > s->size || size > s->size - offset) {
        kc_fail (err, KC_EINVALID, "bytes %llu to %llu of '%s' are asked for; it has %llu", (unsigned long long)offset,
                 (unsigned long long)(offset + size), name, (unsigned long long)s->size);
        return NULL;
    }
    if (s->space == PTX_SPACE_CONST)
        return self->const_image + s->offset + offset;
    return self->global_image + self->symbol_at[s - self->ptx->symbols] + offset;
}

int vgpu_symbol_write (vgpu_module_t *self, const char *name, uint64_t offset, const void *data, size_t size, kc_err_t *err)
{
    uint8_t *p = s_symbol (self, name, offset, size, err);
    if (!p)
        return -1;
    memcpy (p, data, size);
    return 0;
}

int vgpu_symbol_read (const vgpu_module_t *self, const char *name, uint64_t offset, void *data, size_t size, kc_err_t *err)
{
    const uint8_t *p = s_symbol (self, name, offset, size, err);
    if (!p)
        return -1;
    memcpy (data, p, size);
    return 0;
}

// ---- launch checks

static int s_refuse (vgpu_finding_t *f, const vgpu_launch_t *l, const char *format, ...) __attribute__ ((format (printf, 3, 4)));
static int s_refuse (vgpu_finding_t *f, const vgpu_launch_t *l, const char *format, ...)
{
    char what[512];
    va_list args;
    va_start (args, format);
    vsnprintf (what, sizeof (what), format, args);
    va_end (args);
    f->status = VGPU_BAD_LAUNCH;
    snprintf (f->kernel, sizeof (f->kernel), "%s", l->kernel ? l->kernel : "");
    snprintf (f->text, sizeof (f->text), "%s: %s", f->kernel, what);
    return -1;
}

static int s_check (const vgpu_module_t *m, const vgpu_launch_t *l, const ptx_func_t *k, vgpu_finding_t *f)
{
    static const uint32_t grid_max[3] = {0x7fffffff, 65535, 65535}, block_max[3] = {1024, 1024, 64};
    if (!k) {
        const char *first = NULL;
        for (uint32_t i = 0; i < m->ptx->n_funcs && !first; i++)
            if (m->ptx->funcs[i].is_kernel && !m->ptx->funcs[i].is_declaration)
                first = m->ptx->funcs[i].name;
        return s_refuse (f, l, "the module has no such kernel%s%s", first ? "; it has " : "", first ? first : "");
    }
    uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2], bound = 1;
    for (int i = 0; i < 3; i++) {
        if (l->grid[i] < 1 || l->grid[i] > grid_max[i])
            return s_refuse (f, l, "grid size %u in dimension %d; 1 to %u are allowed", l->grid[i], i, grid_max[i]);
        if (l->block[i] < 1 || l->block[i] > block_max[i])
            return s_refuse (f, l, "block size %u in dimension %d; 1 to %u are allowed", l->block[i], i, block_max[i]);
        bound *= k->maxntid[i] ? k->maxntid[i] : 1;
        if (k->reqntid[0] && l->block[i] != k->reqntid[i])
            return s_refuse (f, l, "the kernel requires blocks of (%u,%u,%u) threads", k->reqntid[0], k->reqntid[1], k->reqntid[2]);
    }
    if (threads > VGPU_MAX_THREADS)
        return s_refuse (f, l, "%llu threads per block; at most %d", (unsigned long long)threads, VGPU_MAX_THREADS);
    if (k->maxntid[0] && threads > bound)
        return s_refuse (f, l, "%llu threads per block; __launch_bounds__ of the kernel allows %llu", (unsigned long long)threads,
                         (unsigned long long)bound);
    if ((uint64_t)k->static_shared + l->dynamic_shared > VGPU_MAX_SHARED)
        return s_refuse (f, l, "%u + %u bytes of static and dynamic shared memory; at most %d", k->static_shared, l->dynamic_shared,
                         VGPU_MAX_SHARED);
    if (l->params_size != k->params_size)
        return s_refuse (f, l, "%u bytes of arguments; the kernel takes %u", l->params_size, k->params_size);
    if (l->params_size > VGPU_MAX_PARAMS || (l->params_size && !l->params))
        return s_refuse (f, l, "no arguments, or more than %d bytes of them", VGPU_MAX_PARAMS);
    if (l->n_buffers > VGPU_MAX_BUFFERS)
        return s_refuse (f, l, "%u buffers; at most %d", l->n_buffers, VGPU_MAX_BUFFERS);
    if (l->n_resident > VGPU_MAX_RESIDENT)
        return s_refuse (f, l, "%u resident blocks; at most %d", l->n_resident, VGPU_MAX_RESIDENT);
    uint64_t blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
    for (uint32_t i = 0; i < l->n_sample; i++)
        if (l->sample[i] >= blocks || (i && l->sample[i] <= l->sample[i - 1]))
            return s_refuse (f, l, "sampled blocks must ascend and lie below %llu", (unsigned long long)blocks);
    return 0;
}

static int s_by_base (const void *a, const void *b)
{
    const vg_buffer_t *x = a, *y = b;
    return x->base < y->base ? -1 : x->base > y->base;
}

static int s_buffers (vg_run_t *run, vgpu_finding_t *f)
{
    const vgpu_launch_t *l = run->launch;
    const ptx_module_t *p = run->m->ptx;
    run->buffers = kc_calloc (l->n_buffers + p->n_symbols + 1u, sizeof (vg_buffer_t));
    for (uint32_t i = 0; i < l->n_buffers; i++) {
        const vgpu_buffer_t *b = &l->buffers[i];
        if (b->base < VGPU_GLOBAL_LOW || b->base >= VGPU_GLOBAL_HIGH || b->size > VGPU_GLOBAL_HIGH - b->base || (b->size && !b->host))
            return s_refuse (f, l, "buffer %s lies outside the global addresses or has no memory", b->name ? b->name : "?");
        run->buffers[run->n_buffers++] = (vg_buffer_t){.base = b->base, .end = b->base + b->size, .host = b->host,
                                                       .name = b->name ? b->name : "?", .writable = b->writable,
                                                       .element = b->element ? b->element : 1, .index = (int32_t)i};
    }
    for (uint32_t k = 0; k < p->n_symbols; k++) {
        const ptx_symbol_t *s = &p->symbols[k];
        if (s->kind != PTX_SYM_VAR || s->space != PTX_SPACE_GLOBAL)
            continue;
        uint64_t base = VG_MODULE_BASE + run->m->symbol_at[k];
        run->buffers[run->n_buffers++] = (vg_buffer_t){.base = base, .end = base + s->size,
                                                       .host = run->m->global_image + run->m->symbol_at[k], .name = s->name,
                                                       .writable = true, .element = ptx_type_bytes ((ptx_type_t)s->type), .index = -1};
    }
    if (!run->n_buffers) // an empty one, so that a cached index is always valid
        run->buffers[run->n_buffers++] = (vg_buffer_t){.base = 1, .end = 1, .name = "", .element = 1, .index = -1};
    qsort (run->buffers, run->n_buffers, sizeof (vg_buffer_t), s_by_base);
    for (uint32_t i = 0; i < run->n_buffers; i++) {
        vg_buffer_t *b = &run->buffers[i];
        if (i && b->base < run->buffers[i - 1].end)
            return s_refuse (f, l, "buffers %s and %s overlap", run->buffers[i - 1].name, b->name);
        b->seen = kc_calloc ((size_t)((b->end >> 7) - (b->base >> 7)) + 2, 1);
    }
    return 0;
}

// Bytes of local memory per lane for the function and whatever it calls; recursion gets the fixed stack.
// 'known' holds 0 = not visited, 1 = on the way, 2 + bytes.
static uint32_t s_stack (const vgpu_module_t *m, int32_t fi, uint32_t *known)
{
    const vg_func_t *f = &m->funcs[fi];
    uint32_t most = 0;
    if (known[fi] == 1)
        return VG_STACK;
    if (known[fi])
        return known[fi] - 2;
    known[fi] = 1;
    for (uint32_t k = 0; k < f->n_calls; k++)
        if (f->calls[k].builtin.kind == PTX_BUILTIN_NONE) {
            uint32_t s = s_stack (m, f->calls[k].func, known);
            most = s > most ? s : most;
        }
    known[fi] = most + f->local_bytes + 2;
    return most + f->local_bytes;
}

static bool s_in_tree (const vgpu_module_t *m, int32_t fi, uint8_t *seen)
{
    const vg_func_t *f = &m->funcs[fi];
    if (seen[fi])
        return true;
    seen[fi] = 1;
    for (uint32_t k = 0; k < f->n_calls; k++)
        s_in_tree (m, f->calls[k].func, seen);
    return true;
}

// ---- blocks

static void s_start_warp (vg_run_t *run, vg_block_t *b, vg_warp_t *w, uint32_t index, bool chain)
{
    const vgpu_launch_t *l = run->launch;
    vg_token_t *tokens = w->tokens;
    uint32_t room = w->room_tokens;
    uint8_t *local = w->local;
    memset (w, 0, sizeof (*w));
    w->tokens = tokens;
    w->room_tokens = room;
    w->local = local;
    w->block = b;
    w->run = run;
    w->index = index;
    w->chain = chain;
    for (uint32_t lane = 0; lane < VG_LANES; lane++) {
        uint32_t t = index * VG_LANES + lane;
        if (t >= run->threads_per_block)
            break;
        w->live |= 1u << lane;
        w->tid[0][lane] = t % l->block[0];
        w->tid[1][lane] = t / l->block[0] % l->block[1];
        w->tid[2][lane] = t / l->block[0] / l->block[1];
    }
    if (run->stack) {
        if (!w->local)
            w->local = kc_malloc ((size_t)run->stack * VG_LANES);
        memset (w->local, 0, (size_t)run->kernel->local_bytes * VG_LANES);
    }
    w->split[0] = (vg_split_t){.pc = 0, .mask = w->live, .token = -1, .state = VG_READY};
    w->n_splits = 1;
    w->root = vg_frame_new (w, run->kernel, NULL);
    w->split[0].frame = w->root;
}

static void s_start_block (vg_run_t *run, vg_block_t *b, uint64_t number, uint64_t ordinal, uint64_t stride)
{
    const vgpu_launch_t *l = run->launch;
    b->number = number;
    b->ordinal = ordinal;
    b->id[0] = (uint32_t)(number % l->grid[0]);
    b->id[1] = (uint32_t)(number / l->grid[0] % l->grid[1]);
    b->id[2] = (uint32_t)(number / l->grid[0] / l->grid[1]);
    b->live_threads = run->threads_per_block;
    b->live_warps = b->n_warps = run->warps_per_block;
    b->issued = 0;
    b->lines.gen++;
    b->lines.used = 0;
    memset (b->shared, 0, run->shared_size);
    for (int i = 0; i < VG_BARRIERS; i++)
        b->bar[i] = (vg_barrier_t){.all = true};
    bool chain = ordinal % stride == 0 && run->sampled_chains < VG_CHAIN_BLOCKS;
    run->sampled_chains += chain;
    for (uint32_t k = 0; k < b->n_warps; k++)
        s_start_warp (run, b, &b->warps[k], k, chain && k == 0);
}

static void s_end_block (vg_run_t *run, vg_block_t *b)
{
    vgpu_counters_t *c = run->c;
    c->blocks++;
    c->warps += b->n_warps;
    c->threads += run->threads_per_block;
    if (b->ordinal < VG_MAX_RUN_BLOCKS && c->block_instructions) {
        c->block_instructions[b->ordinal] = b->issued;
        if (b->ordinal >= c->n_block_instructions)
            c->n_block_instructions = (uint32_t)b->ordinal + 1;
    }
    for (uint32_t k = 0; k < b->n_warps; k++) {
        vg_warp_t *w = &b->warps[k];
        if (w->chain) {
            c->chain_warps++;
            c->chain_clocks_sum += w->clock;
            c->chain_clocks_max = w->clock > c->chain_clocks_max ? w->clock : c->chain_clocks_max;
            c->chain_memory_sum += w->stall_memory;
            c->chain_shared_sum += w->stall_shared;
            c->chain_mufu_sum += w->stall_mufu;
        }
        vg_frame_free (w, w->root); // frames of calls went back when their lanes left
        w->frame = w->root = NULL;
    }
}

static vg_block_t *s_new_block (const vg_run_t *run)
{
    vg_block_t *b = kc_calloc (1, sizeof (*b));
    b->warps = kc_calloc (run->warps_per_block, sizeof (vg_warp_t));
    b->shared = kc_calloc (run->shared_size + 64u, 1);
    return b;
}

static void s_free_block (vg_block_t *b, uint32_t n_warps)
{
    for (uint32_t k = 0; k < n_warps; k++) {
        free (b->warps[k].tokens);
        free (b->warps[k].local);
    }
    while (b->all_frames) {
        vg_frame_t *next = b->all_frames->all;
        free (b->all_frames);
        b->all_frames = next;
    }
    free (b->lines.at);
    free (b->warps);
    free (b->shared);
    free (b);
}

// ---- who waits where

typedef struct wait {
    const ptx_instr_t *at;
    uint32_t threads, blocks;
    uint64_t last_block;
    const char *how;
} wait_t;

static uint32_t s_waits (vg_block_t **blocks, uint32_t n, wait_t *out, uint32_t room)
{
    uint32_t used = 0;
    for (uint32_t b = 0; b < n; b++) {
        for (uint32_t k = 0; blocks[b] && k < blocks[b]->n_warps; k++) {
            const vg_warp_t *w = &blocks[b]->warps[k];
            for (int i = 0; i < w->n_splits; i++) {
                const vg_split_t *s = &w->split[i];
                if (s->state == VG_FREE || w->done)
                    continue;
                const ptx_instr_t *at = vg_instr_at (s);
                const char *how = s->state == VG_AT_BARRIER ? "a barrier" : s->state == VG_AT_SYNC ? "lanes that are missing" : "memory";
                uint32_t e = 0;
                while (e < used && !(out[e].how == how && out[e].at->line == at->line && (at->line || out[e].at == at)))
                    e++;
                if (e == used) {
                    if (used == room)
                        continue;
                    out[used++] = (wait_t){.at = at, .how = how, .last_block = UINT64_MAX};
                }
                out[e].threads += vg_bits (s->mask);
                if (out[e].last_block != blocks[b]->number)
                    out[e].blocks++, out[e].last_block = blocks[b]->number;
            }
        }
    }
    return used;
}

static void s_describe (kc_buf_t *text, const wait_t *w, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        kc_buf_printf (text, "%s%u threads of %u blocks wait for %s at %s %u (%s)", i ? "; " : "", w[i].threads, w[i].blocks, w[i].how,
                       w[i].at->line ? "line" : "PTX line", w[i].at->line ? w[i].at->line : w[i].at->ptx_line, w[i].at->text);
}

static void s_blocked (vg_block_t **blocks, uint32_t n, bool spinning)
{
    wait_t waits[6];
    uint32_t n_waits = s_waits (blocks, n, waits, KC_COUNT (waits)), live = 0, at = 0;
    for (uint32_t b = 0; b < n; b++)
        live += blocks[b] != NULL;
    while (at < n && !blocks[at])
        at++;
    vg_block_t *b = blocks[at];
    vg_warp_t *w = &b->warps[0];
    for (uint32_t k = 0; k < b->n_warps; k++)
        if (!b->warps[k].done)
            w = &b->warps[k];
    const vg_op_t *o = NULL;
    for (int i = 0; i < w->n_splits; i++)
        if (w->split[i].state != VG_FREE)
            o = &w->split[i].frame->func->ops[w->split[i].pc];
    kc_buf_t text = {.limit = VGPU_TEXT / 2 - 80};
    s_describe (&text, waits, n_waits);
    uint32_t lane = w->live ? vg_first (w->live) : 0;
    if (spinning && n_waits == 1)
        vg_fault (w, o, lane, VGPU_TIMEOUT, "all %u resident blocks wait at line %u and nothing changes memory any more", live,
                  waits[0].at->line);
    else if (spinning)
        vg_fault (w, o, lane, VGPU_TIMEOUT, "all %u resident blocks wait and nothing changes memory any more: %s", live, kc_buf_str (&text));
    else
        vg_fault (w, o, lane, VGPU_DEADLOCK, "nobody can go on: %s", kc_buf_str (&text));
    kc_buf_free (&text);
}

static void s_over_budget (vg_run_t *run, vg_warp_t *w)
{
    uint64_t best = 0;
    const vg_op_t *hot = NULL;
    // the hottest line, not the hottest instruction: sum neighbours of one line
    for (uint32_t k = 0; k < run->m->ptx->n_funcs; k++) {
        const vg_func_t *f = &run->m->funcs[k];
        for (uint32_t pc = 0; pc < f->n_ops;) {
            uint32_t line = f->ops[pc].src->line;
            uint64_t sum = 0;
            uint32_t first = pc;
            for (; pc < f->n_ops && f->ops[pc].src->line == line && (line || pc == first); pc++)
                sum += run->counts[f->first_count + pc].on;
            if (sum > best)
                best = sum, hot = &f->ops[first];
        }
    }
    vg_fault (w, hot, w->live ? vg_first (w->live) : 0, VGPU_TIMEOUT,
              "the budget of %llu lane-instructions is spent (%llu of %llu blocks were done); the hottest place took %llu of them",
              (unsigned long long)run->budget, (unsigned long long)run->c->blocks,
              (unsigned long long)run->launch->grid[0] * run->launch->grid[1] * run->launch->grid[2], (unsigned long long)best);
}

static void s_run (vg_run_t *run)
{
    const vgpu_launch_t *l = run->launch;
    uint64_t total = l->sample ? l->n_sample : (uint64_t)l->grid[0] * l->grid[1] * l->grid[2], next = 0;
    uint32_t n = l->n_resident ? l->n_resident : 16;
    n = total < n ? (uint32_t)total : n;
    uint64_t stride = total / VG_CHAIN_BLOCKS + 1, done = 0, changes = 0;
    uint32_t stuck = 0;
    vg_block_t **blocks = kc_calloc (n + 1u, sizeof (*blocks)), **spare = kc_calloc (n + 1u, sizeof (*spare));
    for (uint32_t i = 0; i < n; i++)
        spare[i] = s_new_block (run);
    while (done < total && !run->stop) {
        bool progress = false, only_spins = true, moved = false;
        for (uint32_t i = 0; i < n && !run->stop; i++) {
            if (!blocks[i] && next < total) {
                blocks[i] = spare[i];
                s_start_block (run, blocks[i], l->sample ? l->sample[next] : next, next, stride);
                next++;
            }
            vg_block_t *b = blocks[i];
            if (!b)
                continue;
            for (uint32_t k = 0; k < b->n_warps && !run->stop; k++) {
                vg_warp_t *w = &b->warps[k];
                if (w->done)
                    continue;
                uint64_t before = w->issued;
                run->m->turn (w);
                moved |= w->issued != before;
                if (w->issued != before && !w->spinning)
                    only_spins = false;
                if (run->lanes > run->budget && !run->stop && !(b->live_warps == 0))
                    s_over_budget (run, w);
            }
            if (!b->live_warps && !run->stop) {
                s_end_block (run, b);
                blocks[i] = NULL;
                done++;
                progress = true;
            }
        }
        if (run->stop || progress) {
            stuck = 0;
            continue;
        }
        if (!moved) // a whole round in which nobody did anything
            s_blocked (blocks, n, false);
        else if (only_spins && run->changes == changes) {
            if (++stuck >= VG_STUCK_ROUNDS)
                s_blocked (blocks, n, true);
        }
        else
            stuck = 0;
        changes = run->changes;
    }
    for (uint32_t i = 0; i < n; i++)
        s_free_block (spare[i], run->warps_per_block);
    free (blocks);
    free (spare);
}

int vgpu_launch (vgpu_module_t *self, const vgpu_launch_t *launch, vgpu_counters_t *counters, vgpu_finding_t *finding)
{
    vgpu_counters_t own = {0};
    vgpu_finding_t own_finding;
    vgpu_finding_t *f = finding ? finding : &own_finding;
    vgpu_counters_t *c = counters ? counters : &own;
    memset (f, 0, sizeof (*f));
    memset (c, 0, sizeof (*c));
    const ptx_func_t *k = launch->kernel ? vgpu_module_kernel (self, launch->kernel) : NULL;
    if (s_check (self, launch, k, f) < 0)
        return -1;
    int32_t ki = (int32_t)(k - self->ptx->funcs);
    vg_run_t run = {.m = self, .launch = launch, .kernel = &self->funcs[ki], .finding = f, .c = c,
                    .budget = launch->budget ? launch->budget : VGPU_BUDGET_DEFAULT, .params_size = launch->params_size};
    run.output.limit = VGPU_OUTPUT_MAX;
    run.threads_per_block = launch->block[0] * launch->block[1] * launch->block[2];
    run.warps_per_block = (run.threads_per_block + VG_LANES - 1) / VG_LANES;
    run.static_shared = (k->static_shared + 15) / 16 * 16;
    run.shared_size = (launch->dynamic_shared ? run.static_shared : k->static_shared) + launch->dynamic_shared;
    uint32_t *known = kc_calloc (self->ptx->n_funcs + 1u, sizeof (*known));
    run.stack = s_stack (self, ki, known);
    free (known);
    int rc = -1;
    if (run.stack > VG_MAX_LOCAL) {
        s_refuse (f, launch, "%u bytes of local memory per thread; at most %d", run.stack, VG_MAX_LOCAL);
        goto out;
    }
    if (s_buffers (&run, f) < 0)
        goto out;
    run.params = kc_calloc (launch->params_size + 16u, 1);
    if (launch->params_size)
        memcpy (run.params, launch->params, launch->params_size);
    run.counts = kc_calloc (self->n_counts + 1u, sizeof (vg_count_t));
    run.stats = kc_calloc (self->n_stats + 1u, sizeof (vg_stat_t));
    uint64_t blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    blocks = launch->sample ? launch->n_sample : blocks;
    c->block_instructions = kc_calloc ((blocks < VG_MAX_RUN_BLOCKS ? blocks : VG_MAX_RUN_BLOCKS) + 1, sizeof (uint64_t));
    // dynamic shared memory begins where this kernel's own ends
    uint8_t *seen = kc_calloc (self->ptx->n_funcs + 1u, 1);
    s_in_tree (self, ki, seen);
    for (uint32_t i = 0; i < self->ptx->n_funcs; i++) {
        vg_func_t *fn = &self->funcs[i];
        for (uint32_t d = 0; seen[i] && d < fn->n_dynamic; d++) {
            uint64_t v = run.static_shared + fn->dynamic[d].addend;
            for (uint32_t lane = 0; lane < VG_LANES; lane++)
                memcpy (fn->pool + fn->dynamic[d].row + lane * fn->dynamic[d].rows * 4, &v, fn->dynamic[d].rows * 4u);
        }
    }
    free (seen);
    s_run (&run);
    vg_collect (&run);
    f->lane_instructions = run.lanes;
    rc = run.stop ? -1 : 0;
out:
    for (uint32_t i = 0; run.buffers && i < run.n_buffers; i++)
        free (run.buffers[i].seen);
    free (run.buffers);
    free (run.params);
    free (run.counts);
    free (run.stats);
    free (run.atomics);
    kc_buf_free (&run.output);
    vgpu_counters_free (&own);
    return rc;
}
