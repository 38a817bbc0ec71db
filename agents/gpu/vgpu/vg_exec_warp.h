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

static void h_vote (vg_warp_t *w, const vg_op_t *o, uint32_t m)
{
    // s[0] is the row of the member mask; without .sync everybody active is a member
    uint32_t members = m & (o->n_s ? ((const uint32_t *)vg_src (w, o->s[0]))[vg_first (m)] : VG_FULL);
    uint32_t p = o->ps >= 0 ? s_ps (w, o) : o->imm ? VG_FULL : 0;
    uint32_t votes = p & members, r = 0;
    switch (o->sub) {
    case PTX_SUB_ALL:
        r = votes == members;
        break;
    case PTX_SUB_ANY:
        r = votes != 0;
        break;
    case PTX_SUB_UNI:
        r = votes == 0 || votes == members;
        break;
    default: {
        uint32_t t[32];
        LANES t[i] = votes;
        s_store32 (w, o, t, m);
        return;
    }
    }
    uint32_t bits = r ? VG_FULL : 0;
    w->preds[o->pd] = (w->preds[o->pd] & ~m) | (bits & m);
}

static void h_match (vg_warp_t *w, const vg_op_t *o, uint32_t m)
{
    uint32_t members = m & ((const uint32_t *)vg_src (w, o->s[1]))[vg_first (m)], t[32] = {0}, ok = 0;
    for (int i = 0; i < 32; i++) {
        if (!(members >> i & 1))
            continue;
        uint64_t v = s_lane (w, o->s[0], o->s_rows[0], i);
        for (int k = 0; k < 32; k++)
            if (members >> k & 1 && s_lane (w, o->s[0], o->s_rows[0], k) == v)
                t[i] |= 1u << k;
        if (t[i] == members)
            ok |= 1u << i;
    }
    if (o->sub == PTX_SUB_ALL) {
        for (int i = 0; i < 32; i++)
            t[i] = ok >> i & 1 ? members : 0;
        if (o->pd >= 0)
            w->preds[o->pd] = (w->preds[o->pd] & ~m) | (ok & m);
    }
    if (o->d != UINT32_MAX)
        s_store32 (w, o, t, m);
}

static void h_redux (vg_warp_t *w, const vg_op_t *o, uint32_t m)
{
    uint32_t members = m & ((const uint32_t *)vg_src (w, o->s[1]))[vg_first (m)], t[32];
    const uint32_t *a = vg_src (w, o->s[0]);
    bool first = true, is_signed = o->type == PTX_TYPE_S32;
    uint32_t r = 0;
    for (int i = 0; i < 32; i++) {
        if (!(members >> i & 1))
            continue;
        uint32_t v = a[i];
        if (first)
            r = v, first = false;
        else
            switch (o->sub) {
            case PTX_SUB_ADD:
                r += v;
                break;
            case PTX_SUB_MIN:
                r = is_signed ? ((int32_t)v < (int32_t)r ? v : r) : v < r ? v : r;
                break;
            case PTX_SUB_MAX:
                r = is_signed ? ((int32_t)v > (int32_t)r ? v : r) : v > r ? v : r;
                break;
            case PTX_SUB_AND:
                r &= v;
                break;
            case PTX_SUB_OR:
                r |= v;
                break;
            default:
                r ^= v;
                break;
            }
    }
    LANES t[i] = r;
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
                    vg_sync_done (w);
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
