// vg_memory.c - checked memory, lane by lane: what the fast paths of vg_exec_memory.h do not handle
//
// Joint for later checks (uninitialised reads, races): every shared, local and global access that is not on a
// fast path goes through s_place, every one that is goes through s_global and s_shared there.

#include "agents/gpu/vgpu/vg_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/util/kc_mem.h"

vg_buffer_t *vg_buffer_at (vg_run_t *run, uint64_t address)
{
    uint32_t lo = 0, hi = run->n_buffers;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (run->buffers[mid].base <= address)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == 0)
        return NULL;
    vg_buffer_t *b = &run->buffers[lo - 1];
    return address < b->end ? b : NULL;
}

// ---- distinct sectors, per block and per launch

static void s_lines_grow (vg_lines_t *t)
{
    vg_lines_t old = *t;
    t->room = old.room ? old.room * 2 : 256;
    t->at = kc_calloc (t->room, sizeof (*t->at));
    t->used = 0;
    for (uint32_t i = 0; i < old.room; i++) {
        if (old.at[i].gen != old.gen)
            continue;
        uint32_t h = (uint32_t)(old.at[i].key * 0x9e3779b97f4a7c15ull >> 32) & (t->room - 1);
        while (t->at[h].gen == t->gen)
            h = (h + 1) & (t->room - 1);
        t->at[h] = old.at[i];
        t->used++;
    }
    free (old.at);
}

// Sectors 'mask' of a line: count what is new; the latency class of the access.
static uint32_t s_touch_line (vg_warp_t *w, vg_buffer_t *b, uint64_t line, uint8_t mask, bool write)
{
    vg_lines_t *t = &w->block->lines;
    if (t->used * 2 >= t->room) {
        if (t->room < VG_MAX_LINES)
            s_lines_grow (t);
        else
            t->gen++, t->used = 0;
    }
    uint32_t h = (uint32_t)(line * 0x9e3779b97f4a7c15ull >> 32) & (t->room - 1);
    while (t->at[h].gen == t->gen && t->at[h].key != line)
        h = (h + 1) & (t->room - 1);
    if (t->at[h].gen != t->gen) {
        t->at[h].key = line;
        t->at[h].gen = t->gen;
        t->at[h].read = t->at[h].written = 0;
        t->used++;
    }
    uint8_t *mine = write ? &t->at[h].written : &t->at[h].read;
    uint8_t fresh = (uint8_t)(mask & ~*mine);
    if (!fresh)
        return 38;
    *mine = (uint8_t)(*mine | mask);
    uint8_t *seen = &b->seen[line - (b->base >> 7)];
    uint8_t all = write ? (uint8_t)(*seen >> 4) : (uint8_t)(*seen & 15);
    uint8_t unseen = (uint8_t)(mask & ~all);
    *seen = (uint8_t)(*seen | (write ? mask << 4 : mask));
    if (write) {
        b->traffic.block_written += vg_bits (fresh);
        b->traffic.unique_written += vg_bits (unseen);
    }
    else {
        b->traffic.block_read += vg_bits (fresh);
        b->traffic.unique_read += vg_bits (unseen);
    }
    return unseen ? 650 : 230;
}

uint32_t vg_touch (vg_warp_t *w, vg_buffer_t *b, uint64_t first_sector, uint32_t n, bool write)
{
    uint32_t latency = 0;
    uint64_t *sectors = write ? &b->traffic.store_sectors : &b->traffic.load_sectors;
    *sectors += n;
    while (n) {
        uint32_t at = (uint32_t)(first_sector & 3), k = 4 - at < n ? 4 - at : n;
        uint32_t l = s_touch_line (w, b, first_sector >> 2, (uint8_t)(((1u << k) - 1) << at), write);
        latency = l > latency ? l : latency;
        first_sector += k;
        n -= k;
    }
    return latency;
}

static uint32_t s_sorted (const uint64_t addr[VG_LANES], uint32_t m, uint64_t out[VG_LANES])
{
    uint32_t n = 0;
    for (; m; m &= m - 1) {
        uint64_t a = addr[vg_first (m)];
        uint32_t k = n++;
        while (k > 0 && out[k - 1] > a) {
            out[k] = out[k - 1];
            k--;
        }
        out[k] = a;
    }
    return n;
}

// The same for any pattern inside one buffer; also keeps the instruction's sector and byte counts.
void vg_touch_sorted (vg_warp_t *w, vg_buffer_t *b, const vg_op_t *o, const uint64_t addr[VG_LANES], uint32_t m)
{
    vg_stat_t *st = &w->run->stats[o->stat];
    uint64_t total = (uint64_t)o->bytes * o->vec, a[VG_LANES];
    uint32_t n = s_sorted (addr, m, a), latency = 0;
    bool write = !o->is_load;
    uint64_t line = 0, last = UINT64_MAX, sectors = 0;
    uint8_t mask = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (i && a[i] == a[i - 1])
            continue;
        st->used += total;
        uint64_t first = a[i] >> 5, until = (a[i] + total - 1) >> 5;
        for (uint64_t s = first; s <= until; s++) {
            if (s == last)
                continue;
            last = s;
            sectors++;
            if (mask && s >> 2 != line) {
                uint32_t l = s_touch_line (w, b, line, mask, write);
                latency = l > latency ? l : latency;
                mask = 0;
            }
            line = s >> 2;
            mask = (uint8_t)(mask | 1u << (s & 3));
        }
    }
    if (mask) {
        uint32_t l = s_touch_line (w, b, line, mask, write);
        latency = l > latency ? l : latency;
    }
    st->sectors += sectors;
    w->mem_latency = latency;
    vgpu_traffic_t *t = &b->traffic;
    *(write ? &t->store_sectors : &t->load_sectors) += sectors;
    *(write ? &t->store_bytes : &t->load_bytes) += vg_bits (m) * total;
}

// Passes through the 32 banks of 4 bytes: 8-byte accesses go by half warps, 16-byte ones by quarters; lanes
// that read the same word share it.
uint32_t vg_wavefronts (const uint32_t off[VG_LANES], uint32_t m, uint32_t bytes, uint32_t *least)
{
    uint32_t words = bytes < 4 ? 1 : bytes / 4, group = 32 / (words > 32 ? 32 : words), waves = 0;
    *least = 0;
    for (uint32_t g = 0; g < VG_LANES; g += group) {
        uint32_t gm = group == 32 ? m : m >> g & ((1u << group) - 1);
        if (!gm)
            continue;
        uint32_t word[32], count[32], used = 0, most = 1, deep = 0;
        uint32_t more[VG_LANES * 8], next[VG_LANES * 8], head[32], n_more = 0; // further words of a bank
        for (; gm; gm &= gm - 1) {
            uint32_t base = off[g + vg_first (gm)] >> 2;
            for (uint32_t k = 0; k < words; k++) {
                uint32_t x = base + k, bank = x & 31, bit = 1u << bank;
                if (!(used & bit)) {
                    used |= bit;
                    word[bank] = x;
                    count[bank] = 1;
                    continue;
                }
                if (word[bank] == x)
                    continue;
                bool have = false;
                if (deep & bit)
                    for (uint32_t q = head[bank]; q != UINT32_MAX && !have; q = next[q])
                        have = more[q] == x;
                if (have)
                    continue;
                more[n_more] = x;
                next[n_more] = deep & bit ? head[bank] : UINT32_MAX;
                head[bank] = n_more++;
                deep |= bit;
                if (++count[bank] > most)
                    most = count[bank];
            }
        }
        waves += most;
        *least += 1;
    }
    return waves;
}

// ---- one lane

static uint64_t s_value (const vg_warp_t *w, uint32_t row, uint32_t rows, uint32_t lane)
{
    return rows == 2 ? ((const uint64_t *)vg_src (w, row))[lane] : ((const uint32_t *)vg_src (w, row))[lane];
}

static uint64_t s_extend (const vg_op_t *o, uint64_t v)
{
    switch ((vg_access_t)o->access) {
    case VG_A_S8_32:
    case VG_A_S8_64:
        return (uint64_t)(int64_t)(int8_t)(uint8_t)v;
    case VG_A_S16_32:
    case VG_A_S16_64:
        return (uint64_t)(int64_t)(int16_t)(uint16_t)v;
    case VG_A_S32_64:
        return (uint64_t)(int64_t)(int32_t)(uint32_t)v;
    case VG_A_U8_32:
    case VG_A_U16_32:
    case VG_A_B32_32:
    case VG_A_U8_64:
    case VG_A_U16_64:
    case VG_A_U32_64:
    case VG_A_B64_64:
        break;
    }
    return v;
}

static void s_move (vg_warp_t *w, const vg_op_t *o, uint32_t lane, uint8_t *p)
{
    bool wide = o->access >= VG_A_U8_64;
    for (uint32_t k = 0; k < o->vec; k++) {
        uint8_t *q = p + (size_t)k * o->bytes;
        if (!o->is_load) {
            uint64_t v = s_value (w, o->v[k], wide ? 2 : 1, lane);
            memcpy (q, &v, o->bytes);
            continue;
        }
        uint32_t row = o->vec == 1 ? o->d : o->v[k];
        uint64_t v = 0;
        if (row == UINT32_MAX)
            continue;
        memcpy (&v, q, o->bytes);
        v = s_extend (o, v);
        if (wide)
            ((uint64_t *)vg_dst (w, row))[lane] = v;
        else
            ((uint32_t *)vg_dst (w, row))[lane] = (uint32_t)v;
    }
}

// Where 'bytes' at an address of a space lie in host memory, or NULL after reporting.
static uint8_t *s_place (vg_warp_t *w, const vg_op_t *o, uint32_t lane, ptx_space_t space, uint64_t a, uint32_t bytes, bool write)
{
    vg_run_t *run = w->run;
    uint8_t *host = NULL;
    if (space == PTX_SPACE_GLOBAL) {
        vg_buffer_t *b = vg_buffer_at (run, a);
        if (!b || bytes > b->end - a) {
            vg_fault_access (w, o, lane, VGPU_OUT_OF_BOUNDS, space, a, write);
            return NULL;
        }
        if (a & (bytes - 1)) {
            vg_fault_access (w, o, lane, VGPU_MISALIGNED, space, a, write);
            return NULL;
        }
        if (write && !b->writable) {
            vg_fault_access (w, o, lane, VGPU_READ_ONLY, space, a, write);
            return NULL;
        }
        return b->host + (a - b->base);
    }
    uint64_t room = 0;
    if (space == PTX_SPACE_SHARED)
        room = run->shared_size, host = w->block->shared;
    else if (space == PTX_SPACE_LOCAL)
        room = run->stack, host = w->local ? w->local + (size_t)lane * run->stack : NULL;
    else if (space == PTX_SPACE_CONST)
        room = run->m->ptx->const_bytes, host = run->m->const_image;
    else if (space == PTX_SPACE_PARAM && a >= VG_FUNC_PARAM) {
        a -= VG_FUNC_PARAM;
        room = w->frame->func->param_bytes;
        host = w->frame->params + (size_t)lane * room;
    }
    else if (space == PTX_SPACE_PARAM)
        room = run->params_size, host = run->params;
    if (!host || a >= room || bytes > room - a) {
        vg_fault_access (w, o, lane, VGPU_OUT_OF_BOUNDS, space, a, write);
        return NULL;
    }
    if ((a & (bytes - 1)) && space != PTX_SPACE_PARAM) {
        vg_fault_access (w, o, lane, VGPU_MISALIGNED, space, a, write);
        return NULL;
    }
    if (write && (space == PTX_SPACE_CONST || (space == PTX_SPACE_PARAM && host == run->params))) {
        vg_fault_access (w, o, lane, VGPU_READ_ONLY, space, a, write);
        return NULL;
    }
    return host + a;
}

static ptx_space_t s_window (uint64_t *a)
{
    static const struct {
        uint64_t base;
        ptx_space_t space;
    } windows[] = {{VG_SHARED_BASE, PTX_SPACE_SHARED},
                   {VG_LOCAL_BASE, PTX_SPACE_LOCAL},
                   {VG_PARAM_BASE, PTX_SPACE_PARAM},
                   {VG_CONST_BASE, PTX_SPACE_CONST}};
    for (size_t i = 0; i < KC_COUNT (windows); i++)
        if (*a - windows[i].base < VG_WINDOW) {
            *a -= windows[i].base;
            return windows[i].space;
        }
    return PTX_SPACE_GLOBAL;
}

static void s_count_global (vg_warp_t *w, const vg_op_t *o, const uint64_t a[VG_LANES], uint32_t m)
{
    vg_stat_t *st = &w->run->stats[o->stat];
    st->requests++;
    st->lanes += vg_bits (m);
    st->bytes += (uint64_t)vg_bits (m) * o->bytes * o->vec;
    while (m) { // by buffer
        vg_buffer_t *b = vg_buffer_at (w->run, a[vg_first (m)]);
        uint32_t same = 0;
        for (uint32_t q = m; q; q &= q - 1) {
            uint32_t l = vg_first (q);
            if (a[l] >= b->base && a[l] < b->end)
                same |= 1u << l;
        }
        vg_touch_sorted (w, b, o, a, same);
        m &= ~same;
    }
}

void vg_access (vg_warp_t *w, const vg_op_t *o, uint32_t m, const uint64_t addr[VG_LANES])
{
    vg_run_t *run = w->run;
    vg_stat_t *st = &run->stats[o->stat];
    uint32_t total = (uint32_t)o->bytes * o->vec, by_space[PTX_SPACE_COUNT] = {0}, off[VG_LANES] = {0};
    uint64_t a[VG_LANES];
    uint8_t *host[VG_LANES];
    memcpy (a, addr, sizeof (a));
    for (uint32_t q = m; q; q &= q - 1) {
        uint32_t l = vg_first (q);
        ptx_space_t space = (ptx_space_t)o->space;
        if (space == PTX_SPACE_GENERIC)
            space = s_window (&a[l]);
        host[l] = s_place (w, o, l, space, a[l], total, !o->is_load);
        if (!host[l])
            return;
        by_space[space] |= 1u << l;
        off[l] = (uint32_t)a[l];
    }
    // a load's address row may be its destination: every address is known by now
    for (uint32_t q = m; q; q &= q - 1)
        s_move (w, o, vg_first (q), host[vg_first (q)]);
    w->mem_latency = 0;
    w->mem_bytes = 0;
    if (by_space[PTX_SPACE_GLOBAL]) {
        s_count_global (w, o, a, by_space[PTX_SPACE_GLOBAL]);
        w->mem_bytes = vg_bits (by_space[PTX_SPACE_GLOBAL]) * total;
        if (!o->is_load)
            run->changes++;
    }
    if (by_space[PTX_SPACE_SHARED]) {
        uint32_t least, waves = vg_wavefronts (off, by_space[PTX_SPACE_SHARED], total, &least);
        st->shared_requests++;
        st->shared_bytes += (uint64_t)vg_bits (by_space[PTX_SPACE_SHARED]) * total;
        st->wavefronts += waves;
        st->conflicts += waves - least;
        w->mem_latency = 29 + waves - 1;
    }
    if (by_space[PTX_SPACE_LOCAL]) {
        // the hardware interleaves lanes word by word: lanes at one offset share lines
        uint64_t sorted[VG_LANES];
        uint32_t n = s_sorted (a, by_space[PTX_SPACE_LOCAL], sorted), run_of = 0;
        for (uint32_t i = 0; i <= n; i++) {
            if (i == n || (i && sorted[i] != sorted[i - 1])) {
                st->local_sectors += (run_of * (uint64_t)total + 31) / 32;
                run_of = 0;
            }
            run_of++;
        }
        st->local_bytes += (uint64_t)n * total;
        w->mem_latency = 38;
    }
}

// ---- atomics

static uint64_t s_atomic_value (const vg_op_t *o, uint64_t old, uint64_t b, uint64_t c)
{
    bool is_signed = o->type == PTX_TYPE_S32 || o->type == PTX_TYPE_S64;
    if (o->type == PTX_TYPE_F32 || o->type == PTX_TYPE_F64) {
        if (o->sub == PTX_SUB_EXCH)
            return b;
        if (o->type == PTX_TYPE_F64) {
            double x, y;
            memcpy (&x, &old, 8);
            memcpy (&y, &b, 8);
            x += y;
            memcpy (&old, &x, 8);
            return old;
        }
        float x, y;
        memcpy (&x, &old, 4);
        memcpy (&y, &b, 4);
        x += y;
        uint32_t r = 0x7fffffff;
        if (x == x)
            memcpy (&r, &x, 4);
        if ((r & 0x7f800000) == 0) // atomics on floats in memory flush subnormals
            r &= 0x80000000u;
        return r;
    }
    int64_t so = (int64_t)old, sb = (int64_t)b;
    if (o->bytes == 4)
        so = (int32_t)(uint32_t)old, sb = (int32_t)(uint32_t)b;
    switch ((int)o->sub) {
    case PTX_SUB_ADD:
        return old + b;
    case PTX_SUB_MIN:
        return is_signed ? (so < sb ? old : b) : old < b ? old : b;
    case PTX_SUB_MAX:
        return is_signed ? (so > sb ? old : b) : old > b ? old : b;
    case PTX_SUB_INC:
        return old >= b ? 0 : old + 1;
    case PTX_SUB_DEC:
        return old == 0 || old > b ? b : old - 1;
    case PTX_SUB_AND:
        return old & b;
    case PTX_SUB_OR:
        return old | b;
    case PTX_SUB_XOR:
        return old ^ b;
    case PTX_SUB_EXCH:
        return b;
    case PTX_SUB_CAS:
        return old == b ? c : old;
    default:
        return old;
    }
}

static void s_hot (vg_run_t *run, uint64_t address)
{
    uint32_t h = (uint32_t)(address * 0x9e3779b97f4a7c15ull >> 40) & (VG_ATOMIC_KEYS * 2 - 1);
    if (!run->atomics)
        run->atomics = kc_calloc (VG_ATOMIC_KEYS * 2, sizeof (*run->atomics));
    while (run->atomics[h].n && run->atomics[h].key != address)
        h = (h + 1) & (VG_ATOMIC_KEYS * 2 - 1);
    if (!run->atomics[h].n) {
        if (run->n_atomics >= VG_ATOMIC_KEYS)
            return;
        run->n_atomics++;
        run->atomics[h].key = address;
    }
    run->atomics[h].n++;
}

void vg_atomic (vg_warp_t *w, const vg_op_t *o, uint32_t m)
{
    vg_run_t *run = w->run;
    uint64_t disp = (uint64_t)o->imm, global[VG_LANES] = {0};
    uint32_t global_m = 0, shared_m = 0, off[VG_LANES] = {0};
    for (uint32_t q = m; q; q &= q - 1) {
        uint32_t l = vg_first (q);
        uint64_t a = disp;
        if (o->has_base && o->wide_base)
            a += s_value (w, o->s[0], 2, l);
        else if (o->has_base)
            a = (uint32_t)(a + s_value (w, o->s[0], 1, l));
        ptx_space_t space = (ptx_space_t)o->space;
        if (space == PTX_SPACE_GENERIC)
            space = s_window (&a);
        uint8_t *p = s_place (w, o, l, space, a, o->bytes, true);
        if (!p)
            return;
        uint32_t rows = o->bytes == 8 ? 2 : 1;
        uint64_t old = 0, b = s_value (w, o->v[0], rows, l), c = o->n_v > 1 ? s_value (w, o->v[1], rows, l) : 0;
        memcpy (&old, p, o->bytes);
        if (o->bytes == 2)
            b &= 0xffff, c &= 0xffff;
        uint64_t now = s_atomic_value (o, old, b, c);
        memcpy (p, &now, o->bytes);
        if (o->bytes < 8)
            now &= (1ull << 8 * o->bytes) - 1;
        if (now != old)
            run->changes++;
        if (o->d != UINT32_MAX) {
            if (rows == 2)
                ((uint64_t *)vg_dst (w, o->d))[l] = old;
            else
                ((uint32_t *)vg_dst (w, o->d))[l] = (uint32_t)old;
        }
        if (space == PTX_SPACE_GLOBAL) {
            global[l] = a;
            global_m |= 1u << l;
            s_hot (run, a);
        }
        else if (space == PTX_SPACE_SHARED) {
            off[l] = (uint32_t)a;
            shared_m |= 1u << l;
        }
    }
    run->c->atomics_global += vg_bits (global_m);
    run->c->atomics_shared += vg_bits (shared_m);
    w->mem_latency = 0;
    w->mem_bytes = 0;
    while (global_m) {
        vg_buffer_t *b = vg_buffer_at (run, global[vg_first (global_m)]);
        uint32_t same = 0;
        for (uint32_t q = global_m; q; q &= q - 1)
            if (global[vg_first (q)] >= b->base && global[vg_first (q)] < b->end)
                same |= 1u << vg_first (q);
        b->traffic.atomics += vg_bits (same);
        uint64_t sorted[VG_LANES];
        uint32_t n = s_sorted (global, same, sorted);
        for (uint32_t i = 0; i < n; i++)
            if (!i || sorted[i] >> 5 != sorted[i - 1] >> 5) {
                run->stats[o->stat].sectors++;
                s_touch_line (w, b, sorted[i] >> 7, (uint8_t)(1u << (sorted[i] >> 5 & 3)), true);
            }
        global_m &= ~same;
        w->mem_latency = 300;
    }
    if (shared_m) {
        // atomics on one word are serialised: every lane of a bank is a pass of its own
        uint32_t bank[32] = {0}, most = 0;
        for (uint32_t q = shared_m; q; q &= q - 1) {
            uint32_t b = off[vg_first (q)] >> 2 & 31;
            if (++bank[b] > most)
                most = bank[b];
        }
        vg_stat_t *st = &run->stats[o->stat];
        st->shared_requests++;
        st->shared_bytes += (uint64_t)vg_bits (shared_m) * o->bytes;
        st->wavefronts += most;
        st->conflicts += most - 1;
        w->mem_latency = 40 + most - 1;
    }
}

// ---- for printf and assert

void *vg_host (vg_warp_t *w, uint32_t lane, uint64_t generic, uint32_t bytes)
{
    vg_run_t *run = w->run;
    uint64_t a = generic;
    ptx_space_t space = s_window (&a);
    if (space == PTX_SPACE_GLOBAL) {
        vg_buffer_t *b = vg_buffer_at (run, a);
        return b && bytes <= b->end - a ? b->host + (a - b->base) : NULL;
    }
    if (space == PTX_SPACE_LOCAL)
        return w->local && a < run->stack && bytes <= run->stack - a ? w->local + (size_t)lane * run->stack + a : NULL;
    if (space == PTX_SPACE_SHARED)
        return a < run->shared_size && bytes <= run->shared_size - a ? w->block->shared + a : NULL;
    if (space == PTX_SPACE_CONST)
        return a < run->m->ptx->const_bytes && bytes <= run->m->ptx->const_bytes - a ? run->m->const_image + a : NULL;
    return NULL;
}

bool vg_read_text (vg_run_t *run, uint64_t address, char *out, size_t room)
{
    vg_buffer_t *b = NULL;
    const uint8_t *p = NULL;
    uint64_t left = 0, a = address;
    ptx_space_t space = s_window (&a);
    if (space == PTX_SPACE_GLOBAL) {
        b = vg_buffer_at (run, a);
        if (b)
            p = b->host + (a - b->base), left = b->end - a;
    }
    else if (space == PTX_SPACE_CONST && a < run->m->ptx->const_bytes)
        p = run->m->const_image + a, left = run->m->ptx->const_bytes - a;
    size_t n = 0;
    while (p && n + 1 < room && n < left && p[n]) {
        out[n] = (char)p[n];
        n++;
    }
    out[n] = 0;
    return p != NULL;
}
