// ptx_flow.c - control flow of one function: basic blocks, dominators, loops, live registers
//
// Post-dominators decide where diverged lanes meet again.  Lanes that leave early never come to a meeting
// point and are not waited for there, so only the last return of the text leads to the virtual exit; the plain
// post-dominator (every ret, exit and trap) serves blocks from which that one cannot be reached.
// Liveness is that of a scalar thread: lanes follow the same graph one by one, so slots can be shared between
// registers lane by lane.

#include "agents/gpu/vgpu/ptx_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/util/kc_mem.h"

typedef struct graph { // successors or predecessors, back to back
    uint32_t *first;   // n + 1
    int32_t *to;
} graph_t;

typedef struct flow {
    ptx_func_t *f;
    uint32_t n; // blocks; index n is the virtual exit
    graph_t succ, pred;
} flow_t;

static bool s_ends (const ptx_instr_t *i) // nothing behind it runs without a jump
{
    return i->guard < 0
           && (i->opcode == PTX_RET || i->opcode == PTX_EXIT || i->opcode == PTX_TRAP || i->opcode == PTX_BRA
               || i->opcode == PTX_BRX);
}

static bool s_jumps (const ptx_instr_t *i)
{
    return i->opcode == PTX_BRA || i->opcode == PTX_BRX || i->opcode == PTX_RET || i->opcode == PTX_EXIT
           || i->opcode == PTX_TRAP;
}

static bool s_target (const ptx_func_t *f, const ptx_instr_t *i, int k, int32_t *to)
{
    if (i->opcode == PTX_BRA && k == 0) {
        const ptx_operand_t *o = &f->operands[i->operand];
        *to = i->n_operands && o->kind == PTX_OP_LABEL ? (int32_t)o->value : PTX_NONE;
        return true;
    }
    if (i->opcode == PTX_BRX && i->n_operands == 2) {
        const ptx_operand_t *o = &f->operands[i->operand + 1];
        if (o->kind != PTX_OP_LABEL || o->value < 0 || o->value + k >= (int64_t)f->n_targets)
            return false;
        *to = f->targets[o->value + k];
        return *to != PTX_NONE;
    }
    return false;
}

static bool s_blocks (ptx_parser_t *p, ptx_func_t *f)
{
    // a label may stand behind the last instruction: give it one to stand on
    bool open = !f->n_instrs || !s_ends (&f->instrs[f->n_instrs - 1]);
    int32_t to;
    for (uint32_t i = 0; i < f->n_instrs; i++)
        for (int k = 0; s_target (f, &f->instrs[i], k, &to); k++)
            if (to == (int32_t)f->n_instrs)
                open = true;
            else if (to < 0)
                return ptx_error (p, KC_EINVALID, f->instrs[i].ptx_line, "a branch needs a label");
    if (open) {
        f->instrs = ptx_grow (f->instrs, f->n_instrs, &p->room_instrs, sizeof (ptx_instr_t));
        f->instrs[f->n_instrs++] = (ptx_instr_t){.opcode = PTX_RET, .guard = PTX_NONE, .vec = 1, .text = "ret",
                                                 .line = p->source_line, .ptx_line = p->tok.line,
                                                 .operand = f->n_operands, .block = PTX_NONE};
    }
    uint8_t *leader = kc_calloc (f->n_instrs + 1u, 1);
    leader[0] = 1;
    uint32_t n_edges = 0;
    for (uint32_t i = 0; i < f->n_instrs; i++) {
        for (int k = 0; s_target (f, &f->instrs[i], k, &to); k++) {
            leader[to] = 1;
            n_edges++;
        }
        if (s_jumps (&f->instrs[i]))
            leader[i + 1] = 1;
    }
    for (uint32_t i = 0; i < f->n_instrs; i++)
        f->n_blocks += leader[i];
    f->blocks = kc_calloc (f->n_blocks, sizeof (ptx_block_t));
    int32_t b = -1;
    for (uint32_t i = 0; i < f->n_instrs; i++) {
        if (leader[i]) {
            b++;
            f->blocks[b] = (ptx_block_t){.first = (int32_t)i, .next = {PTX_NONE, PTX_NONE}, .idom = PTX_NONE,
                                         .ipdom = PTX_NONE, .loop_head = PTX_NONE};
        }
        f->blocks[b].last = (int32_t)i;
        f->instrs[i].block = b;
    }
    free (leader);
    return true;
}

static void s_edges (flow_t *w, int32_t only_exit) // PTX_NONE: every exit counts
{
    ptx_func_t *f = w->f;
    uint32_t n = w->n, room = 0, used = 0;
    w->succ.first = kc_calloc (n + 2u, sizeof (uint32_t));
    w->succ.to = NULL;
    for (uint32_t b = 0; b < n; b++) {
        ptx_block_t *k = &f->blocks[b];
        const ptx_instr_t *last = &f->instrs[k->last];
        int32_t to;
        w->succ.first[b] = used;
        int plain = 0;
        if (!s_ends (last) && b + 1 < n) {
            w->succ.to = ptx_grow (w->succ.to, used, &room, sizeof (int32_t));
            w->succ.to[used++] = (int32_t)b + 1;
            k->next[plain++] = (int32_t)b + 1;
        }
        for (int t = 0; s_target (f, last, t, &to); t++) {
            int32_t tb = f->instrs[to].block;
            w->succ.to = ptx_grow (w->succ.to, used, &room, sizeof (int32_t));
            w->succ.to[used++] = tb;
            if (plain < 2)
                k->next[plain++] = tb;
        }
        bool leaves = last->opcode == PTX_RET || last->opcode == PTX_EXIT || last->opcode == PTX_TRAP;
        if (leaves && (only_exit == PTX_NONE || only_exit == (int32_t)b)) {
            w->succ.to = ptx_grow (w->succ.to, used, &room, sizeof (int32_t));
            w->succ.to[used++] = (int32_t)n;
        }
    }
    w->succ.first[n] = w->succ.first[n + 1] = used;
    w->pred.first = kc_calloc (n + 3u, sizeof (uint32_t));
    w->pred.to = kc_calloc (used + 1u, sizeof (int32_t));
    for (uint32_t e = 0; e < used; e++)
        w->pred.first[w->succ.to[e] + 2]++;
    for (uint32_t b = 0; b <= n; b++)
        w->pred.first[b + 2] += w->pred.first[b + 1];
    for (uint32_t b = 0; b < n; b++)
        for (uint32_t e = w->succ.first[b]; e < w->succ.first[b + 1]; e++)
            w->pred.to[w->pred.first[w->succ.to[e] + 1]++] = (int32_t)b;
}

// Immediate dominators of 'next' from 'root' (Cooper, Harvey and Kennedy): idom[root] = root, -1 unreachable.
static int32_t *s_dominators (const graph_t *next, const graph_t *back, uint32_t n, uint32_t root)
{
    int32_t *idom = kc_malloc (n * sizeof (int32_t)), *order = kc_malloc (n * sizeof (int32_t));
    int32_t *number = kc_malloc (n * sizeof (int32_t)), *stack = kc_malloc (n * sizeof (int32_t));
    uint32_t *edge = kc_calloc (n, sizeof (uint32_t));
    uint8_t *seen = kc_calloc (n, 1);
    for (uint32_t i = 0; i < n; i++)
        idom[i] = number[i] = -1;
    int32_t n_order = 0, top = 0;
    stack[top++] = (int32_t)root;
    seen[root] = 1;
    edge[root] = next->first[root];
    while (top) { // postorder
        int32_t b = stack[top - 1];
        if (edge[b] < next->first[b + 1]) {
            int32_t to = next->to[edge[b]++];
            if (!seen[to]) {
                seen[to] = 1;
                edge[to] = next->first[to];
                stack[top++] = to;
            }
        }
        else {
            number[b] = n_order;
            order[n_order++] = b;
            top--;
        }
    }
    idom[root] = (int32_t)root;
    for (bool changed = true; changed;) {
        changed = false;
        for (int32_t k = n_order - 1; k >= 0; k--) {
            int32_t b = order[k], best = -1;
            if (b == (int32_t)root)
                continue;
            for (uint32_t e = back->first[b]; e < back->first[b + 1]; e++) {
                int32_t q = back->to[e];
                if (idom[q] < 0)
                    continue;
                if (best < 0)
                    best = q;
                else {
                    int32_t x = q, y = best;
                    while (x != y) {
                        while (number[x] < number[y])
                            x = idom[x];
                        while (number[y] < number[x])
                            y = idom[y];
                    }
                    best = x;
                }
            }
            if (best != idom[b])
                idom[b] = best, changed = true;
        }
    }
    free (order);
    free (number);
    free (stack);
    free (edge);
    free (seen);
    return idom;
}

static bool s_dominates (const int32_t *idom, int32_t a, int32_t b)
{
    while (b != a) {
        if (b < 0 || idom[b] == b)
            return false;
        b = idom[b];
    }
    return true;
}

static void s_loops (flow_t *w, const int32_t *idom)
{
    ptx_func_t *f = w->f;
    uint32_t n = w->n;
    uint32_t *size = kc_calloc (n, sizeof (uint32_t)); // blocks of the innermost loop found so far
    uint8_t *in = kc_malloc (n);
    int32_t *stack = kc_malloc ((n + 1) * sizeof (int32_t));
    for (uint32_t h = 0; h < n; h++) {
        uint32_t n_in = 0, top = 0;
        memset (in, 0, n);
        for (uint32_t e = w->pred.first[h]; e < w->pred.first[h + 1]; e++) {
            int32_t b = w->pred.to[e];
            if (idom[b] < 0 || !s_dominates (idom, (int32_t)h, b))
                continue;
            f->instrs[f->blocks[b].last].back_edge = true;
            if (!in[h])
                in[h] = 1, n_in = 1;
            if (!in[b])
                in[b] = 1, n_in++, stack[top++] = b;
        }
        while (top) {
            int32_t b = stack[--top];
            for (uint32_t e = w->pred.first[b]; e < w->pred.first[b + 1]; e++) {
                int32_t q = w->pred.to[e];
                if (!in[q])
                    in[q] = 1, n_in++, stack[top++] = q;
            }
        }
        if (!n_in)
            continue;
        for (uint32_t b = 0; b < n; b++) {
            if (!in[b])
                continue;
            if (f->blocks[b].loop_depth < 255)
                f->blocks[b].loop_depth++;
            if (!size[b] || n_in < size[b])
                size[b] = n_in, f->blocks[b].loop_head = (int32_t)h;
        }
    }
    for (uint32_t i = 0; i < f->n_instrs; i++)
        f->instrs[i].loop_depth = f->blocks[f->instrs[i].block].loop_depth;
    free (size);
    free (in);
    free (stack);
}

typedef struct live {
    ptx_func_t *f;
    uint64_t *set;      // the block's set being walked, or use set
    uint64_t *kill;
    const ptx_instr_t *i;
    int32_t at;
    int64_t weight;
} live_t;

static uint32_t s_weight (const ptx_func_t *f, int32_t r)
{
    uint8_t bits = f->regs[r].bits;
    return bits == 1 ? 0 : bits == 64 ? 2 : 1;
}

static void s_touch (live_t *v, int32_t r)
{
    if (v->f->live_first[r] < 0 || v->at < v->f->live_first[r])
        v->f->live_first[r] = v->at;
    if (v->at > v->f->live_last[r])
        v->f->live_last[r] = v->at;
}

static void s_gen_use (void *arg, int32_t r, bool def)
{
    live_t *v = arg;
    if (!def && !(v->kill[r / 64] >> (r % 64) & 1))
        v->set[r / 64] |= 1ull << (r % 64);
}

static void s_gen_def (void *arg, int32_t r, bool def)
{
    live_t *v = arg;
    if (def && v->i->guard < 0)
        v->kill[r / 64] |= 1ull << (r % 64);
}

static void s_walk_def (void *arg, int32_t r, bool def)
{
    live_t *v = arg;
    if (!def)
        return;
    s_touch (v, r);
    if (v->i->guard < 0 && (v->set[r / 64] >> (r % 64) & 1)) {
        v->set[r / 64] &= ~(1ull << (r % 64));
        v->weight -= s_weight (v->f, r);
    }
}

static void s_walk_use (void *arg, int32_t r, bool def)
{
    live_t *v = arg;
    if (def)
        return;
    s_touch (v, r);
    if (!(v->set[r / 64] >> (r % 64) & 1)) {
        v->set[r / 64] |= 1ull << (r % 64);
        v->weight += s_weight (v->f, r);
    }
}

static void s_liveness (flow_t *w)
{
    ptx_func_t *f = w->f;
    uint32_t words = (f->n_regs + 63) / 64, n = w->n;
    f->live_first = kc_malloc ((f->n_regs + 1) * sizeof (int32_t));
    f->live_last = kc_malloc ((f->n_regs + 1) * sizeof (int32_t));
    memset (f->live_first, 0xff, (f->n_regs + 1) * sizeof (int32_t));
    memset (f->live_last, 0xff, (f->n_regs + 1) * sizeof (int32_t));
    if (!words)
        return;
    uint64_t *use = kc_calloc ((size_t)n * words, 8), *kill = kc_calloc ((size_t)n * words, 8);
    uint64_t *in = kc_calloc ((size_t)n * words, 8), *set = kc_calloc (words, 8);
    live_t v = {.f = f};
    for (uint32_t b = 0; b < n; b++) {
        v.set = use + (size_t)b * words;
        v.kill = kill + (size_t)b * words;
        for (int32_t i = f->blocks[b].first; i <= f->blocks[b].last; i++) {
            v.i = &f->instrs[i];
            ptx_visit_regs (f, v.i, s_gen_use, &v);
            ptx_visit_regs (f, v.i, s_gen_def, &v);
        }
    }
    memcpy (in, use, (size_t)n * words * 8);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t b = n; b-- > 0;) {
            uint64_t *mine = in + (size_t)b * words;
            for (uint32_t e = w->succ.first[b]; e < w->succ.first[b + 1]; e++) {
                if (w->succ.to[e] == (int32_t)n)
                    continue;
                const uint64_t *theirs = in + (size_t)w->succ.to[e] * words;
                for (uint32_t k = 0; k < words; k++) {
                    uint64_t more = theirs[k] & ~kill[(size_t)b * words + k] & ~mine[k];
                    if (more)
                        mine[k] |= more, changed = true;
                }
            }
        }
    }
    int64_t most = 0;
    for (uint32_t b = 0; b < n; b++) {
        memset (set, 0, words * 8u);
        for (uint32_t e = w->succ.first[b]; e < w->succ.first[b + 1]; e++)
            for (uint32_t k = 0; k < words && w->succ.to[e] != (int32_t)n; k++)
                set[k] |= in[(size_t)w->succ.to[e] * words + k];
        v.set = set;
        v.weight = 0;
        v.at = f->blocks[b].last;
        for (uint32_t r = 0; r < f->n_regs; r++)
            if (set[r / 64] >> (r % 64) & 1) {
                v.weight += s_weight (f, (int32_t)r);
                s_touch (&v, (int32_t)r);
            }
        most = v.weight > most ? v.weight : most;
        for (int32_t i = f->blocks[b].last; i >= f->blocks[b].first; i--) {
            v.i = &f->instrs[i];
            v.at = i;
            ptx_visit_regs (f, v.i, s_walk_def, &v);
            ptx_visit_regs (f, v.i, s_walk_use, &v);
            most = v.weight > most ? v.weight : most;
        }
        v.at = f->blocks[b].first;
        for (uint32_t r = 0; r < f->n_regs; r++)
            if (in[(size_t)b * words + r / 64] >> (r % 64) & 1)
                s_touch (&v, (int32_t)r);
    }
    f->max_live = (uint32_t)most;
    free (use);
    free (kill);
    free (in);
    free (set);
}

bool ptx_flow (ptx_parser_t *p, ptx_func_t *f)
{
    if (!s_blocks (p, f))
        return false;
    flow_t main_exit = {.f = f, .n = f->n_blocks}, w = main_exit;
    int32_t last = (int32_t)w.n - 1;
    while (last > 0 && f->instrs[f->blocks[last].last].opcode != PTX_RET && f->instrs[f->blocks[last].last].opcode != PTX_EXIT)
        last--;
    s_edges (&main_exit, last);
    int32_t *meet = s_dominators (&main_exit.pred, &main_exit.succ, w.n + 1, w.n);
    s_edges (&w, PTX_NONE);
    // the virtual exit needs an (empty) row in the successor table
    graph_t forward = {w.succ.first, w.succ.to}, backward = {w.pred.first, w.pred.to};
    int32_t *idom = s_dominators (&forward, &backward, w.n + 1, 0);
    int32_t *ipdom = s_dominators (&backward, &forward, w.n + 1, w.n);
    for (uint32_t b = 0; b < w.n; b++) {
        f->blocks[b].idom = b == 0 ? PTX_NONE : idom[b];
        int32_t ip = meet[b] >= 0 ? meet[b] : ipdom[b];
        f->blocks[b].ipdom = ip == (int32_t)w.n ? PTX_NONE : ip;
    }
    s_loops (&w, idom);
    s_liveness (&w);
    free (idom);
    free (ipdom);
    free (meet);
    free (main_exit.succ.first);
    free (main_exit.succ.to);
    free (main_exit.pred.first);
    free (main_exit.pred.to);
    free (w.succ.first);
    free (w.succ.to);
    free (w.pred.first);
    free (w.pred.to);
    return true;
}
