// vg_exec_warp.h - collectives and the loop that runs a warp (included by vg_exec.c only)

static void h_shfl (vg_warp_t *w, const vg_op_t *o, uint32_t m)
{
    const uint32_t *a = vg_src (w, o->s[0]), *b = vg_src (w, o->s[1]), *c = vg_src (w, o->s[2]);
    uint32_t t[32], ok = 0;
    for (int i = 0; i < 32; i++) {
        uint32_t bval = b[i] & 31, cval = c[i] & 31, seg = c[i] >> 8 & 31, lane = (uint32_t)i;
        uint32_t most = (lane & seg) | (cval & ~seg), least = lane & seg;
        int32_t j = (int32_t)lane;
        bool p = false;
        switch (o->sub) {
        case PTX_SUB_UP:
            j = (int32_t)lane - (int32_t)bval;
            p = j >= (int32_t)most; // for .up, c holds the lower bound
            break;
        case PTX_SUB_DOWN:
            j = (int32_t)(lane + bval);
            p = j <= (int32_t)most;
            break;
        case PTX_SUB_BFLY:
            j = (int32_t)(lane ^ bval);
            p = j <= (int32_t)most;
            break;
        default:
            j = (int32_t)(least | (bval & ~seg));
            p = j <= (int32_t)most;
            break;
        }
        if (!p)
            j = (int32_t)lane;
        t[i] = a[j];
        ok |= (uint32_t)p << i;
    }
    s_store32 (w, o, t, m);
    if (o->pd >= 0)
        w->preds[o->pd] = (w->preds[o->pd] & ~m) | (ok & m);
}

// Tiles of one warp come to a collective together, each with its own member mask: the lanes of one mask are one
// group. Takes the next group out of 'rest'; its lanes are returned, the members among the executing ones put in
// 'members'. 'row' is the member masks, NULL: without .sync everybody active is a member.
static uint32_t s_group (const uint32_t *row, uint32_t m, uint32_t *rest, uint32_t *members)
{
    uint32_t lanes = 0, mask = row ? row[vg_first (*rest)] : VG_FULL;
    for (int i = 0; i < 32; i++)
        lanes |= (uint32_t)(!row || row[i] == mask) << i;
    lanes &= *rest;
    *rest &= ~lanes;
    *members = m & mask;
    return lanes;
}

static void h_vote (vg_warp_t *w, const vg_op_t *o, uint32_t m)
{
    const uint32_t *row = o->n_s ? vg_src (w, o->s[0]) : NULL;
    uint32_t p = o->ps >= 0 ? s_ps (w, o) : o->imm ? VG_FULL : 0;
    uint32_t t[32], bits = 0, members;
    for (uint32_t rest = m; rest;) {
        uint32_t lanes = s_group (row, m, &rest, &members), votes = p & members;
        bool r = o->sub == PTX_SUB_ALL ? votes == members : o->sub == PTX_SUB_ANY ? votes != 0 : votes == 0 || votes == members;
        bits |= r ? lanes : 0;
        LANES t[i] = lanes >> i & 1 ? votes : t[i];
    }
    if (o->sub == PTX_SUB_ALL || o->sub == PTX_SUB_ANY || o->sub == PTX_SUB_UNI)
        w->preds[o->pd] = (w->preds[o->pd] & ~m) | bits;
    else
        s_store32 (w, o, t, m);
}

static void h_match (vg_warp_t *w, const vg_op_t *o, uint32_t m)
{
    const uint32_t *row = vg_src (w, o->s[1]);
    uint32_t t[32] = {0}, all = 0, members;
    for (uint32_t rest = m; rest;) {
        uint32_t lanes = s_group (row, m, &rest, &members);
        for (int i = 0; i < 32; i++) {
            if (!(lanes >> i & 1))
                continue;
            uint64_t v = s_lane (w, o->s[0], o->s_rows[0], i);
            for (int k = 0; k < 32; k++)
                if (members >> k & 1 && s_lane (w, o->s[0], o->s_rows[0], k) == v)
                    t[i] |= 1u << k;
            if (t[i] == members)
                all |= 1u << i;
            else if (o->sub == PTX_SUB_ALL)
                t[i] = 0;
        }
    }
    if (o->sub == PTX_SUB_ALL && o->pd >= 0)
        w->preds[o->pd] = (w->preds[o->pd] & ~m) | all;
    if (o->d != UINT32_MAX)
        s_store32 (w, o, t, m);
}

static uint32_t s_reduce (const vg_op_t *o, uint32_t r, uint32_t v)
{
    bool is_signed = o->type == PTX_TYPE_S32;
    switch (o->sub) {
    case PTX_SUB_ADD:
        return r + v;
    case PTX_SUB_MIN:
        return is_signed ? ((int32_t)v < (int32_t)r ? v : r) : v < r ? v : r;
    case PTX_SUB_MAX:
        return is_signed ? ((int32_t)v > (int32_t)r ? v : r) : v > r ? v : r;
    case PTX_SUB_AND:
        return r & v;
    case PTX_SUB_OR:
        return r | v;
    default:
        return r ^ v;
    }
}

static void h_redux (vg_warp_t *w, const vg_op_t *o, uint32_t m)
{
    const uint32_t *a = vg_src (w, o->s[0]), *row = vg_src (w, o->s[1]);
    uint32_t t[32], members;
    for (uint32_t rest = m; rest;) {
        uint32_t lanes = s_group (row, m, &rest, &members), r = 0;
        for (uint32_t left = members, first = 1; left; left &= left - 1, first = 0) {
            uint32_t v = a[vg_first (left)];
            r = first ? v : s_reduce (o, r, v);
        }
        LANES t[i] = lanes >> i & 1 ? r : t[i];
    }
    s_store32 (w, o, t, m);
}

static void h_warp_barrier (vg_warp_t *w, const vg_op_t *o, uint32_t m)
{
    (void)w, (void)o, (void)m;
}

static void h_activemask (vg_warp_t *w, const vg_op_t *o, uint32_t m)
{
    uint32_t t[32];
    LANES t[i] = m;
    s_store32 (w, o, t, m);
}

static void h_builtin (vg_warp_t *w, const vg_op_t *o, uint32_t m)
{
    vg_builtin (w, o, m);
}

// Run the warp until it blocks, ends or has used its turn.
void CAT (vg_turn_, VG_ISA) (vg_warp_t *w)
{
    vg_run_t *run = w->run;
    uint32_t left = VG_QUANTUM, flushed = VG_QUANTUM;
    uint64_t lanes = 0;
    w->spinning = false;
#define FLUSH()                                                                        \
    (w->issued += flushed - left, w->block->issued += flushed - left, flushed = left, run->lanes += lanes, lanes = 0)
    while (!w->done && !run->stop) {
        if (w->split[w->cur].state != VG_READY && !vg_pick (w)) {
            vg_stuck (w);
            if (run->stop || !vg_pick (w))
                break;
        }
        vg_load_split (w);
        vg_split_t *s = &w->split[w->cur];
        const vg_func_t *f = w->frame->func;
        const vg_op_t *ops = f->ops;
        vg_count_t *counts = run->counts + f->first_count;
        int32_t pc = s->pc;
        const uint32_t m = s->mask;
        const uint32_t n_m = vg_bits (m);
        int32_t rpc = s->token >= 0 && !w->tokens[s->token].call ? w->tokens[s->token].rpc : -1;
        bool again = false;
        while (!again) {
            if (pc == rpc) {
                s->pc = pc;
                vg_reconverge (w);
                break;
            }
            if (left == 0) {
                s->pc = pc;
                FLUSH ();
                return;
            }
            left--;
            const vg_op_t *o = &ops[pc];
            uint32_t e = m;
            if (o->guard >= 0)
                e &= o->guard_not ? ~w->preds[o->guard] : w->preds[o->guard];
            vg_count_t *c = &counts[pc];
            uint32_t n_e = e == VG_FULL ? 32 : vg_bits (e);
            c->issued++;
            c->active += n_m;
            c->on += n_e;
            lanes += n_e;
            switch ((vg_kind_t)o->kind) {
            case VG_DATA:
                if (e)
                    o->fn (w, o, e);
                break;
            case VG_MEM:
            case VG_BUILTIN:
                if (e) {
                    s->pc = pc;
                    o->fn (w, o, e);
                    if (run->stop) {
                        FLUSH ();
                        return;
                    }
                }
                break;
            case VG_NOP:
                break;
            case VG_BRA: {
                int32_t to = e == m ? o->target : pc + 1;
                if (e != m && e != 0) {
                    c->divergent++;
                    s->pc = pc;
                    if (o->target <= pc)
                        s->back++;
                    vg_diverge (w, o, e);
                    again = true;
                    break;
                }
                if (w->chain)
                    vg_chain (w, o);
                if (to <= pc) {
                    s->back++;
                    if (o->spins && ++s->spin >= VG_SPIN_BACK) {
                        s->spin = 0;
                        s->pc = to;
                        if (vg_yield (w)) {
                            again = true;
                            break;
                        }
                        w->spinning = true;
                        FLUSH ();
                        return;
                    }
                    if (s->back >= VG_YIELD_BACK) {
                        s->back = 0;
                        s->pc = to;
                        if (vg_yield (w)) {
                            again = true;
                            break;
                        }
                    }
                }
                pc = to;
                continue;
            }
            case VG_BRX:
                s->pc = pc;
                vg_brx (w, o, e);
                again = true;
                break;
            case VG_CALL:
                if (!e)
                    break;
                s->pc = pc;
                vg_call (w, o, e);
                again = true;
                break;
            case VG_RET:
            case VG_EXIT:
                if (!e)
                    break;
                s->pc = pc + 1;
                FLUSH ();
                vg_leave (w, e, o->kind == VG_EXIT);
                again = true;
                break;
            case VG_TRAP:
                if (e) {
                    s->pc = pc;
                    FLUSH ();
                    vg_fault (w, o, vg_first (e), VGPU_TRAP, "the kernel executed trap");
                    return;
                }
                break;
            case VG_BAR:
                if (!e)
                    break;
                s->pc = pc;
                FLUSH ();
                if (w->chain)
                    vg_chain (w, o);
                if (!vg_barrier (w, o, e)) {
                    again = true;
                    break;
                }
                pc++;
                continue;
            case VG_SYNC: {
                uint32_t all = e;
                if (!e)
                    break;
                s->pc = pc;
                if (!vg_sync (w, o, e, &all)) {
                    again = true;
                    break;
                }
                o->fn (w, o, all);
                if (all != e)
                    vg_sync_done (w, all);
                break;
            }
            }
            if (again)
                break;
            if (w->chain && e)
                vg_chain (w, o);
            pc++;
        }
    }
    FLUSH ();
#undef FLUSH
}
