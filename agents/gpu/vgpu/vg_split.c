// vg_split.c - splits and tokens: divergence, reconvergence, calls, collectives, barriers, who waits for whom
//
// Invariants: the masks of a warp's splits are disjoint; a token's members are lanes that are still on their
// way to it or wait at it (arrived); a lane is a member of every token on its split's chain.  One file, because
// every way to wait and to go on touches these invariants.

#include "agents/gpu/vgpu/vg_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/util/kc_mem.h"

static vg_frame_t *s_frame_alloc (vg_block_t *b, size_t size)
{
    vg_frame_t *f = kc_malloc (size);
    f->all = b->all_frames;
    b->all_frames = f;
    return f;
}

vg_frame_t *vg_frame_new (vg_warp_t *w, const vg_func_t *f, vg_frame_t *caller)
{
    vg_block_t *b = w->block;
    uint32_t rows = f->reg_bytes / VG_ROW;
    size_t pred_bytes = (f->n_preds * sizeof (uint32_t) + 63) / 64 * 64;
    size_t param_bytes = ((size_t)f->param_bytes * VG_LANES + 63) / 64 * 64;
    size_t chain_bytes = w->chain ? (rows + 1u) * 8u + (f->n_preds + 1u) * 8u + (rows + 1u) * 4u : 0;
    size_t size = sizeof (vg_frame_t) + 64 + f->reg_bytes + pred_bytes + param_bytes + chain_bytes + 64;
    vg_frame_t *fr = b->free_frames;
    if (fr && fr->size >= size) {
        b->free_frames = fr->next;
        size = fr->size;
    }
    else
        fr = s_frame_alloc (b, size);
    vg_frame_t *all = fr->all;
    uint8_t *at = (uint8_t *)(((uintptr_t)(fr + 1) + 63) & ~(uintptr_t)63);
    *fr = (vg_frame_t){.func = f, .regs = at, .caller = caller, .size = size, .all = all};
    at += f->reg_bytes;
    fr->preds = (uint32_t *)(void *)at;
    at += pred_bytes;
    fr->params = at;
    at += param_bytes;
    memset (fr->regs, 0, (size_t)(at - fr->regs));
    if (w->chain) {
        fr->ready = (uint64_t *)(void *)at;
        at += (rows + 1u) * 8u;
        fr->ready_pred = (uint64_t *)(void *)at;
        at += (f->n_preds + 1u) * 8u;
        fr->load_seq = (uint32_t *)(void *)at;
        memset (fr->ready, 0, chain_bytes);
    }
    fr->local_base = caller ? caller->local_base + caller->func->local_bytes : 0;
    fr->depth = caller ? caller->depth + 1 : 0;
    for (uint32_t i = 0; i < f->n_inits; i++) {
        const vg_init_t *in = &f->inits[i];
        uint32_t *row = (uint32_t *)(void *)(fr->regs + in->row);
        if (in->kind == VG_INIT_LOCAL) {
            uint64_t *wide = (uint64_t *)(void *)row;
            for (int l = 0; l < VG_LANES; l++)
                wide[l] = fr->local_base + in->offset;
            continue;
        }
        const vgpu_launch_t *la = w->run->launch;
        uint32_t v = 0;
        switch ((ptx_sreg_t)in->which) {
        case PTX_SREG_TID_X:
        case PTX_SREG_TID_Y:
        case PTX_SREG_TID_Z:
            memcpy (row, w->tid[in->which - PTX_SREG_TID_X], VG_ROW);
            continue;
        case PTX_SREG_NTID_X:
        case PTX_SREG_NTID_Y:
        case PTX_SREG_NTID_Z:
            v = la->block[in->which - PTX_SREG_NTID_X];
            break;
        case PTX_SREG_CTAID_X:
        case PTX_SREG_CTAID_Y:
        case PTX_SREG_CTAID_Z:
            v = b->id[in->which - PTX_SREG_CTAID_X];
            break;
        case PTX_SREG_NCTAID_X:
        case PTX_SREG_NCTAID_Y:
        case PTX_SREG_NCTAID_Z:
            v = la->grid[in->which - PTX_SREG_NCTAID_X];
            break;
        case PTX_SREG_LANEID:
        case PTX_SREG_LANEMASK_EQ:
        case PTX_SREG_LANEMASK_LE:
        case PTX_SREG_LANEMASK_LT:
        case PTX_SREG_LANEMASK_GE:
        case PTX_SREG_LANEMASK_GT:
            for (uint32_t l = 0; l < VG_LANES; l++) {
                uint32_t eq = 1u << l, lt = eq - 1;
                row[l] = in->which == PTX_SREG_LANEID        ? l
                         : in->which == PTX_SREG_LANEMASK_EQ ? eq
                         : in->which == PTX_SREG_LANEMASK_LE ? (lt | eq)
                         : in->which == PTX_SREG_LANEMASK_LT ? lt
                         : in->which == PTX_SREG_LANEMASK_GE ? ~lt
                                                             : ~(lt | eq);
            }
            continue;
        case PTX_SREG_WARPID:
            v = w->index;
            break;
        case PTX_SREG_NWARPID:
            v = b->n_warps;
            break;
        case PTX_SREG_SMID:
            v = (uint32_t)(b->number % (la->sm_count ? la->sm_count : 132));
            break;
        case PTX_SREG_NSMID:
            v = la->sm_count ? la->sm_count : 132;
            break;
        case PTX_SREG_DYNAMIC_SMEM:
            v = la->dynamic_shared;
            break;
        case PTX_SREG_TOTAL_SMEM:
            v = w->run->shared_size;
            break;
        case PTX_SREG_GRIDID:
        case PTX_SREG_ENVREG1:
        case PTX_SREG_ENVREG2:
        case PTX_SREG_NONE:
        case PTX_SREG_CLOCK:
        case PTX_SREG_CLOCK_HI:
        case PTX_SREG_CLOCK64:
        case PTX_SREG_GLOBALTIMER:
        case PTX_SREG_GLOBALTIMER_LO:
        case PTX_SREG_GLOBALTIMER_HI:
        case PTX_SREG_COUNT:
            break;
        }
        for (int l = 0; l < VG_LANES; l++)
            row[l] = v;
    }
    return fr;
}

void vg_frame_free (vg_warp_t *w, vg_frame_t *f)
{
    f->next = w->block->free_frames;
    w->block->free_frames = f;
}

void vg_load_split (vg_warp_t *w)
{
    vg_frame_t *f = w->split[w->cur].frame;
    w->frame = f;
    w->base[0] = f->regs;
    w->base[1] = f->func->pool;
    w->preds = f->preds;
}

static int s_new_split (vg_warp_t *w, int32_t pc, uint32_t mask, int32_t token, vg_frame_t *frame)
{
    for (int i = 0; i < VG_LANES; i++)
        if (w->split[i].state == VG_FREE) {
            w->split[i] = (vg_split_t){.pc = pc, .mask = mask, .token = token, .state = VG_READY, .frame = frame};
            if (i >= w->n_splits)
                w->n_splits = i + 1;
            return i;
        }
    kc_die (__FILE__, __LINE__, "a warp has more splits than lanes");
}

static int32_t s_new_token (vg_warp_t *w, int32_t rpc, int32_t parent, uint32_t members, vg_frame_t *frame)
{
    uint32_t i = 0;
    while (i < w->n_tokens && w->tokens[i].used)
        i++;
    if (i == w->n_tokens) {
        if (w->n_tokens == w->room_tokens) {
            w->room_tokens = w->room_tokens ? w->room_tokens * 2 : 16;
            w->tokens = kc_realloc (w->tokens, w->room_tokens * sizeof (*w->tokens));
        }
        w->n_tokens++;
    }
    w->tokens[i] = (vg_token_t){.rpc = rpc, .parent = parent, .members = members, .used = true, .frame = frame};
    return (int32_t)i;
}

// Prefer the next split in turn; splits that stand at the same place with the same way back become one.
bool vg_pick (vg_warp_t *w)
{
    for (int k = 1; k <= w->n_splits; k++) {
        int i = (w->cur + k) % w->n_splits;
        vg_split_t *s = &w->split[i];
        if (s->state != VG_READY)
            continue;
        for (int j = 0; j < w->n_splits; j++) {
            vg_split_t *q = &w->split[j];
            if (j != i && q->state == VG_READY && q->pc == s->pc && q->token == s->token && q->frame == s->frame) {
                s->mask |= q->mask;
                q->state = VG_FREE;
            }
        }
        w->cur = i;
        return true;
    }
    return false;
}

static void s_copy_params (vg_frame_t *to, const vg_frame_t *from, uint32_t to_at, uint32_t from_at, uint32_t size, uint32_t m)
{
    for (; m; m &= m - 1) {
        uint32_t l = vg_first (m);
        memcpy (to->params + (size_t)l * to->func->param_bytes + to_at,
                from->params + (size_t)l * from->func->param_bytes + from_at, size);
    }
}

// Lanes that wait at the token go on.  'all': the token is done with; else it lives for the missing ones.
static int s_release (vg_warp_t *w, int32_t t, bool all)
{
    vg_token_t *k = &w->tokens[t];
    uint32_t mask = k->arrived;
    if (k->call) {
        const vg_call_t *c = &k->frame->func->calls[k->call_index];
        for (uint32_t i = 0; i < c->n_rets; i++)
            s_copy_params (k->frame, k->callee, c->rets[i].caller, c->rets[i].callee, c->rets[i].size, mask);
    }
    k->members &= ~mask;
    k->arrived = 0;
    int i = s_new_split (w, k->rpc, mask, k->parent, k->frame);
    if (all || !k->members) {
        if (k->call)
            vg_frame_free (w, k->callee);
        k->used = false;
    }
    return i;
}

void vg_diverge (vg_warp_t *w, const vg_op_t *o, uint32_t taken)
{
    vg_split_t s = w->split[w->cur];
    uint32_t other = s.mask & ~taken;
    int32_t token = s.token;
    bool reuse = o->rpc < 0 || (token >= 0 && !w->tokens[token].call && w->tokens[token].rpc == o->rpc
                                && w->tokens[token].frame == s.frame);
    if (!reuse)
        token = s_new_token (w, o->rpc, s.token, s.mask, s.frame);
    uint64_t mix = (w->run->launch->seed * 0x9e3779b97f4a7c15u) + ((uint64_t)s.pc * 0xbf58476d1ce4e5b9u);
    bool taken_first = w->run->launch->seed && (mix >> 40 & 1);
    w->split[w->cur].state = VG_FREE;
    int a = s_new_split (w, s.pc + 1, other, token, s.frame);
    int b = s_new_split (w, o->target, taken, token, s.frame);
    w->split[a].back = w->split[b].back = s.back;
    w->split[a].spin = w->split[b].spin = s.spin;
    w->cur = taken_first ? b : a;
}

void vg_brx (vg_warp_t *w, const vg_op_t *o, uint32_t m)
{
    vg_split_t s = w->split[w->cur];
    const uint32_t *index = vg_src (w, o->s[0]);
    const int32_t *list = w->frame->func->targets + o->imm;
    int32_t n = 0;
    while (list[n] >= 0)
        n++;
    uint32_t left = m, off = s.mask & ~m;
    int32_t token = s.token;
    bool reuse = o->rpc < 0 || (token >= 0 && !w->tokens[token].call && w->tokens[token].rpc == o->rpc
                                && w->tokens[token].frame == s.frame);
    if (!reuse)
        token = s_new_token (w, o->rpc, s.token, s.mask, s.frame);
    w->split[w->cur].state = VG_FREE;
    int first = -1;
    if (off)
        first = s_new_split (w, s.pc + 1, off, token, s.frame);
    while (left) {
        uint32_t k = index[vg_first (left)], same = 0;
        for (uint32_t q = left; q; q &= q - 1)
            if (index[vg_first (q)] == k)
                same |= 1u << vg_first (q);
        if (k >= (uint32_t)n) {
            vg_fault (w, o, vg_first (left), VGPU_OUT_OF_BOUNDS, "branch index %u of a table of %d labels", k, n);
            return;
        }
        int at = s_new_split (w, list[k], same, token, s.frame);
        w->split[at].back = s.back + (list[k] <= s.pc);
        first = first < 0 ? at : first;
        left &= ~same;
    }
    w->cur = first;
}

bool vg_reconverge (vg_warp_t *w)
{
    vg_split_t *s = &w->split[w->cur];
    vg_token_t *k = &w->tokens[s->token];
    int32_t t = s->token;
    k->arrived |= s->mask;
    s->state = VG_FREE;
    if (k->arrived == k->members) {
        w->cur = s_release (w, t, true);
        return true;
    }
    return false; // the caller picks another split
}

bool vg_call (vg_warp_t *w, const vg_op_t *o, uint32_t m)
{
    vg_split_t s = w->split[w->cur];
    const vg_call_t *c = &w->frame->func->calls[o->target];
    const vg_func_t *f = &w->run->m->funcs[c->func];
    uint32_t local = w->frame->local_base + w->frame->func->local_bytes + f->local_bytes;
    if (w->frame->depth + 1 >= VG_MAX_DEPTH || local > w->run->stack) {
        vg_fault (w, o, vg_first (m), VGPU_STACK, "call of %s at depth %d needs %u bytes of stack per thread, there are %u",
                  c->name, w->frame->depth + 1, local, w->run->stack);
        return false;
    }
    int32_t parent = s.token;
    if (m != s.mask) { // a guarded call: the others wait behind it
        parent = s_new_token (w, s.pc + 1, s.token, s.mask, s.frame);
        w->tokens[parent].arrived = s.mask & ~m;
    }
    vg_frame_t *callee = vg_frame_new (w, f, s.frame);
    for (uint32_t i = 0; i < c->n_args; i++)
        s_copy_params (callee, s.frame, c->args[i].callee, c->args[i].caller, c->args[i].size, m);
    int32_t t = s_new_token (w, s.pc + 1, parent, m, s.frame);
    w->tokens[t].call = true;
    w->tokens[t].call_index = o->target;
    w->tokens[t].callee = callee;
    w->split[w->cur] = (vg_split_t){.pc = 0, .mask = m, .token = t, .state = VG_READY, .frame = callee};
    return true;
}

static void s_check_barriers (vg_block_t *b);

void vg_leave (vg_warp_t *w, uint32_t m, bool exits)
{
    vg_split_t *s = &w->split[w->cur];
    bool is_kernel = s->frame->caller == NULL;
    exits |= is_kernel;
    s->mask &= ~m;
    if (!s->mask)
        s->state = VG_FREE;
    for (int32_t t = s->token; t >= 0;) {
        vg_token_t *k = &w->tokens[t];
        int32_t parent = k->parent;
        if (k->call && !exits) {
            k->arrived |= m;
            if (k->arrived == k->members)
                s_release (w, t, true);
            return;
        }
        k->members &= ~m;
        k->arrived &= ~m;
        if (!k->members) {
            if (k->call)
                vg_frame_free (w, k->callee);
            k->used = false;
        }
        else if (k->arrived == k->members)
            s_release (w, t, true);
        t = parent;
    }
    kc_assert (exits);
    w->live &= ~m;
    w->block->live_threads -= vg_bits (m);
    if (!w->live) {
        w->done = true;
        w->block->live_warps--;
    }
    s_check_barriers (w->block);
}

// ---- collectives

// All lanes that a collective needs: every lane brings its own mask (the tiles of a warp come together).
static uint32_t s_members (const vg_warp_t *w, const vg_op_t *o, uint32_t e)
{
    uint32_t row = o->n_s ? o->s[o->n_s - 1] : UINT32_MAX, all = 0; // the member mask is the last source
    if (!(o->mods & PTX_MOD_SYNC) || row == UINT32_MAX)
        return e;
    const uint32_t *masks = vg_src (w, row);
    for (int i = 0; i < VG_LANES; i++)
        all |= e >> i & 1 ? masks[i] : 0;
    return all;
}

static bool s_waits_with (const vg_split_t *q, const vg_split_t *s)
{
    return q != s && q->state == VG_AT_SYNC && q->pc == s->pc && q->frame == s->frame;
}

// The lanes that may go on together from the place of 's': its own and those waiting there whose members are all
// among them. 0: 's', whose lanes are 'e', has to wait for members that are elsewhere.
static uint32_t s_together (const vg_warp_t *w, const vg_split_t *s, uint32_t e, uint32_t need)
{
    uint32_t all = e;
    for (int i = 0; i < w->n_splits; i++)
        all |= s_waits_with (&w->split[i], s) ? w->split[i].mask : 0;
    for (bool again = true; again;) {
        again = false;
        for (int i = 0; i < w->n_splits; i++) {
            const vg_split_t *q = &w->split[i];
            if (s_waits_with (q, s) && (q->mask & all) && (q->need & w->live & ~all)) {
                all &= ~q->mask;
                again = true;
            }
        }
    }
    return need & w->live & ~all ? 0 : all;
}

bool vg_sync (vg_warp_t *w, const vg_op_t *o, uint32_t e, uint32_t *all)
{
    vg_split_t *s = &w->split[w->cur];
    uint32_t need = s_members (w, o, e) & w->live;
    *all = e;
    if (!(need & ~e))
        return true;
    uint32_t together = s_together (w, s, e, need);
    if (together) {
        *all = together;
        return true;
    }
    s->state = VG_AT_SYNC;
    s->need = need;
    return false;
}

void vg_sync_done (vg_warp_t *w, uint32_t all)
{
    const vg_split_t *s = &w->split[w->cur];
    for (int i = 0; i < w->n_splits; i++) {
        vg_split_t *q = &w->split[i];
        if (s_waits_with (q, s) && (q->mask & all)) {
            q->state = VG_READY;
            q->pc++;
        }
    }
}

bool vg_yield (vg_warp_t *w)
{
    int me = w->cur;
    w->split[me].back = 0;
    if (vg_pick (w) && w->cur != me)
        return true;
    w->cur = me;
    for (uint32_t t = 0; t < w->n_tokens; t++)
        if (w->tokens[t].used && w->tokens[t].arrived) {
            w->cur = s_release (w, (int32_t)t, false);
            return true;
        }
    return false;
}

// ---- barriers

static const vg_op_t *s_op_at (const vg_split_t *s)
{
    return &s->frame->func->ops[s->pc];
}

const ptx_instr_t *vg_instr_at (const vg_split_t *s)
{
    return s_op_at (s)->src;
}

static void s_finish (vg_warp_t *w, vg_split_t *s, const vg_barrier_t *b)
{
    const vg_op_t *o = s_op_at (s);
    if (o->sub == PTX_SUB_POPC && o->d != UINT32_MAX) {
        uint32_t *d = (uint32_t *)(void *)(s->frame->regs + o->d);
        for (int l = 0; l < VG_LANES; l++)
            d[l] = s->mask >> l & 1 ? b->popc : d[l];
    }
    else if ((o->sub == PTX_SUB_AND || o->sub == PTX_SUB_OR) && o->pd >= 0) {
        uint32_t bits = (o->sub == PTX_SUB_AND ? b->all : b->any) ? VG_FULL : 0, *p = &s->frame->preds[o->pd];
        *p = (*p & ~s->mask) | (bits & s->mask);
    }
    s->state = VG_READY;
    s->pc++;
    w->run->c->barrier_wait += w->block->issued - w->bar_mark;
}

static void s_open (vg_block_t *b, int id)
{
    vg_barrier_t *bar = &b->bar[id];
    for (uint32_t k = 0; k < b->n_warps; k++) {
        vg_warp_t *w = &b->warps[k];
        for (int i = 0; i < w->n_splits; i++)
            if (w->split[i].state == VG_AT_BARRIER && w->split[i].bar == id)
                s_finish (w, &w->split[i], bar);
    }
    b->warps[0].run->c->barrier_releases++;
    *bar = (vg_barrier_t){.all = true};
}

static bool s_complete (const vg_block_t *b, const vg_barrier_t *bar)
{
    if (!bar->threads)
        return false;
    return bar->expected ? bar->padded >= bar->expected : bar->threads >= b->live_threads;
}

static void s_check_barriers (vg_block_t *b)
{
    for (int id = 0; id < VG_BARRIERS; id++)
        if (b->bar[id].waiting && s_complete (b, &b->bar[id]))
            s_open (b, id);
}

static void s_lanes (char *out, size_t room, uint32_t m)
{
    size_t at = 0;
    out[0] = 0;
    for (uint32_t l = 0; l < VG_LANES && at + 12 < room; l++) {
        if (!(m >> l & 1))
            continue;
        uint32_t to = l;
        while (to + 1 < VG_LANES && (m >> (to + 1) & 1))
            to++;
        int n = to > l ? snprintf (out + at, room - at, "%s%u-%u", at ? "," : "", l, to)
                       : snprintf (out + at, room - at, "%s%u", at ? "," : "", l);
        at += (size_t)n;
        l = to;
    }
}

static uint32_t s_line_of (const ptx_instr_t *i)
{
    return i->line ? i->line : i->ptx_line;
}

static const char *s_line_word (const ptx_instr_t *i)
{
    return i->line ? "line" : "PTX line";
}

bool vg_barrier (vg_warp_t *w, const vg_op_t *o, uint32_t e)
{
    vg_split_t *s = &w->split[w->cur];
    vg_block_t *b = w->block;
    const uint32_t *ids = vg_src (w, o->s[0]);
    uint32_t id = ids[vg_first (e)], expected = 0;
    if (o->n_s > 1)
        expected = ((const uint32_t *)vg_src (w, o->s[1]))[vg_first (e)];
    if (id >= VG_BARRIERS) {
        vg_fault (w, o, vg_first (e), VGPU_BARRIER_DIVERGENCE, "barrier number %u; there are %d", id, VG_BARRIERS);
        return false;
    }
    if (expected % 32 || expected > VGPU_MAX_THREADS) {
        vg_fault (w, o, vg_first (e), VGPU_BARRIER_DIVERGENCE,
                  "barrier %u for %u threads; the count must be a multiple of 32 and at most %d", id, expected, VGPU_MAX_THREADS);
        return false;
    }
    vg_barrier_t *bar = &b->bar[id];
    if (bar->threads && bar->expected != expected) {
        vg_fault (w, o, vg_first (e), VGPU_BARRIER_DIVERGENCE,
                  "barrier %u is used with a count of %u threads here and of %u by those who wait already", id, expected,
                  bar->expected);
        return false;
    }
    for (int i = 0; i < w->n_splits; i++) {
        const vg_split_t *q = &w->split[i];
        if (i == w->cur || q->state != VG_AT_BARRIER || q->bar != (int)id || (q->pc == s->pc && q->frame == s->frame)
            || !(o->mods & PTX_MOD_ALIGNED))
            continue;
        const ptx_instr_t *other = vg_instr_at (q);
        char mine[96], theirs[96];
        s_lanes (mine, sizeof (mine), e);
        s_lanes (theirs, sizeof (theirs), q->mask);
        vg_fault (w, o, vg_first (e), VGPU_BARRIER_DIVERGENCE,
                  "lanes %s of warp %u wait at the barrier of %s %u while lanes %s reached the one of %s %u: all threads of a "
                  "warp must execute the same barrier",
                  theirs, w->index, s_line_word (other), s_line_of (other), mine, s_line_word (o->src), s_line_of (o->src));
        return false;
    }
    uint32_t n = vg_bits (e);
    bool whole = e == w->live;
    if (!bar->threads)
        bar->all = true;
    bar->expected = expected;
    bar->threads += n;
    bar->padded += whole ? 32 : n;
    w->run->c->barriers++;
    if (o->ps >= 0) {
        uint32_t p = (o->ps_not ? ~w->preds[o->ps] : w->preds[o->ps]) & e;
        bar->popc += vg_bits (p);
        bar->all &= p == e;
        bar->any |= p != 0;
    }
    bool open = s_complete (b, bar);
    if (o->sub == PTX_SUB_ARRIVE) {
        if (open)
            s_open (b, (int)id);
        return true;
    }
    if (e != s->mask) { // a guarded barrier: the other lanes go on without it
        uint32_t rest = s->mask & ~e;
        s->mask = e;
        s_new_split (w, s->pc + 1, rest, s->token, s->frame);
    }
    s->state = VG_AT_BARRIER;
    s->bar = (int)id;
    w->bar_mark = b->issued;
    bar->waiting++;
    if (open)
        s_open (b, (int)id);
    return false; // the loop looks again: an opened barrier leaves this split ready
}

// ---- nothing can move

static bool s_resume_sync (vg_warp_t *w)
{
    bool any = false;
    for (int i = 0; i < w->n_splits; i++) {
        vg_split_t *s = &w->split[i];
        if (s->state != VG_AT_SYNC)
            continue;
        if (s_together (w, s, s->mask, s->need)) {
            s->state = VG_READY; // executes the collective again, now with everybody
            any = true;
            break;
        }
    }
    return any;
}

void vg_stuck (vg_warp_t *w)
{
    if (w->done || s_resume_sync (w))
        return;
    // lanes waiting to meet others that are blocked themselves
    for (uint32_t t = 0; t < w->n_tokens; t++) {
        vg_token_t *k = &w->tokens[t];
        if (!k->used || !k->arrived)
            continue;
        for (int i = 0; i < w->n_splits; i++) {
            vg_split_t *s = &w->split[i];
            if (s->state != VG_AT_BARRIER || !(s->mask & k->members) || !(s_op_at (s)->mods & PTX_MOD_ALIGNED))
                continue;
            const vg_op_t *o = s_op_at (s);
            const ptx_instr_t *meet = k->frame->func->ops[k->rpc].src;
            char here[96], there[96];
            s_lanes (here, sizeof (here), s->mask);
            s_lanes (there, sizeof (there), k->arrived);
            w->cur = i;
            vg_load_split (w);
            vg_fault (w, o, vg_first (s->mask), VGPU_BARRIER_DIVERGENCE,
                      "only lanes %s of warp %u reach the barrier of %s %u; lanes %s went past it and wait at %s %u: move the "
                      "barrier out of the divergent branch",
                      here, w->index, s_line_word (o->src), s_line_of (o->src), there, s_line_word (meet), s_line_of (meet));
            return;
        }
        s_release (w, (int32_t)t, false);
        return;
    }
    // a collective that names lanes which are somewhere else
    for (int i = 0; i < w->n_splits; i++) {
        vg_split_t *s = &w->split[i];
        if (s->state != VG_AT_SYNC)
            continue;
        uint32_t have = 0, missing;
        for (int j = 0; j < w->n_splits; j++)
            if (w->split[j].state == VG_AT_SYNC && w->split[j].pc == s->pc && w->split[j].frame == s->frame)
                have |= w->split[j].mask;
        missing = s->need & w->live & ~have;
        // only a dead end when no barrier can still free the missing lanes
        bool hope = false;
        const ptx_instr_t *where = NULL;
        for (int j = 0; j < w->n_splits; j++)
            if (w->split[j].state != VG_FREE && (w->split[j].mask & missing)) {
                where = vg_instr_at (&w->split[j]);
                hope |= w->split[j].state == VG_AT_BARRIER;
            }
        if (hope && w->block->live_warps > 1)
            continue;
        const vg_op_t *o = s_op_at (s);
        char named[96], gone[96];
        s_lanes (named, sizeof (named), s->need);
        s_lanes (gone, sizeof (gone), missing);
        w->cur = i;
        vg_load_split (w);
        vg_fault (w, o, vg_first (s->mask), VGPU_SYNC_MISSING,
                  "the member mask of %s names lanes %s of warp %u, but lanes %s never arrive: they wait at %s %u (%s)",
                  o->src->text, named, w->index, gone, where ? s_line_word (where) : "line", where ? s_line_of (where) : 0,
                  where ? where->text : "nowhere");
        return;
    }
}
