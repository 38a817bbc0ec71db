// vg_exec_memory.h - loads and stores of vg_exec.c (included there only, once per instruction set)
//
// The fast path handles a request whose 32 addresses lie in one buffer, aligned; contiguous and uniform
// requests are recognised with one comparison each.  Everything else goes to vg_access, which works lane by
// lane and reports.  A lane that is off takes the address of the first active lane, so that one test serves
// all; stores look at the mask again.

static inline void s_addresses (const vg_warp_t *w, const vg_op_t *o, uint32_t m, uint64_t a[32])
{
    uint64_t disp = (uint64_t)o->imm + (o->frame_base ? w->frame->local_base : 0);
    if (!o->has_base)
        LANES a[i] = disp;
    else if (o->wide_base) {
        const uint64_t *r = vg_src (w, o->s[0]);
        LANES a[i] = r[i] + disp;
    }
    else {
        const uint32_t *r = vg_src (w, o->s[0]);
        uint32_t d = (uint32_t)disp;
        LANES a[i] = (uint32_t)(r[i] + d);
    }
    if (m != VG_FULL) {
        uint64_t first = a[vg_first (m)];
        LANES a[i] = m >> i & 1 ? a[i] : first;
    }
}

typedef struct span {
    uint64_t lo, hi, low_bits;
    bool contiguous, uniform;
} span_t;

static inline span_t s_span (const uint64_t a[32], uint64_t total)
{
    span_t s;
    int64_t lo = (int64_t)a[0], hi = (int64_t)a[0]; // device addresses are positive as signed numbers
    uint64_t any = 0, step = 0, same = 0, first = a[0];
    LANES
    {
        int64_t x = (int64_t)a[i];
        lo = x < lo ? x : lo;
        hi = x > hi ? x : hi;
        any |= a[i];
        same |= a[i] ^ first;
        step |= a[i] ^ (first + (uint64_t)i * total);
    }
    s.lo = (uint64_t)lo;
    s.hi = (uint64_t)hi;
    s.low_bits = any;
    s.contiguous = step == 0;
    s.uniform = same == 0;
    return s;
}

#define GATHER(ST, MT, EXPR)                                                           \
    {                                                                                  \
        ST *d = vg_dst (w, row), t[32], *out = m == VG_FULL ? d : t;                   \
        for (int i = 0; i < 32; i++) {                                                 \
            MT v;                                                                      \
            memcpy (&v, p + off[i], sizeof (v));                                       \
            out[i] = (ST)(EXPR);                                                       \
        }                                                                              \
        if (m != VG_FULL)                                                              \
            BLEND (d, t, m);                                                           \
        break;                                                                         \
    }

// One element per lane from p + off[i] into a row.
static void s_gather (vg_warp_t *w, const vg_op_t *o, uint32_t m, uint32_t row, const uint8_t *p, const uint64_t off[32])
{
    switch ((vg_access_t)o->access) {
    case VG_A_U8_32:
        GATHER (uint32_t, uint8_t, v)
    case VG_A_S8_32:
        GATHER (uint32_t, int8_t, v)
    case VG_A_U16_32:
        GATHER (uint32_t, uint16_t, v)
    case VG_A_S16_32:
        GATHER (uint32_t, int16_t, v)
    case VG_A_B32_32:
        GATHER (uint32_t, uint32_t, v)
    case VG_A_U8_64:
        GATHER (uint64_t, uint8_t, v)
    case VG_A_S8_64:
        GATHER (uint64_t, int8_t, v)
    case VG_A_U16_64:
        GATHER (uint64_t, uint16_t, v)
    case VG_A_S16_64:
        GATHER (uint64_t, int16_t, v)
    case VG_A_U32_64:
        GATHER (uint64_t, uint32_t, v)
    case VG_A_S32_64:
        GATHER (uint64_t, int32_t, v)
    case VG_A_B64_64:
        GATHER (uint64_t, uint64_t, v)
    }
}

static inline void s_load (vg_warp_t *w, const vg_op_t *o, uint32_t m, const uint8_t *p, const uint64_t off[32],
                           const span_t *s)
{
    if (o->vec == 1 && s->contiguous && m == VG_FULL && (o->access == VG_A_B32_32 || o->access == VG_A_B64_64)) {
        memcpy (vg_dst (w, o->d), p + off[0], 32u * o->bytes);
        return;
    }
    if (o->access == VG_A_B32_32 && o->vec == 4 && m == VG_FULL) {
        uint32_t *d0 = vg_dst (w, o->v[0]), *d1 = vg_dst (w, o->v[1]), *d2 = vg_dst (w, o->v[2]), *d3 = vg_dst (w, o->v[3]);
        for (int i = 0; i < 32; i++) {
            uint32_t q[4];
            memcpy (q, p + off[i], 16);
            d0[i] = q[0], d1[i] = q[1], d2[i] = q[2], d3[i] = q[3];
        }
        return;
    }
    for (int k = 0; k < o->vec; k++) {
        uint32_t row = o->vec == 1 ? o->d : o->v[k];
        if (row != UINT32_MAX)
            s_gather (w, o, m, row, p + (size_t)k * o->bytes, off);
    }
}

static inline void s_scatter_one (const vg_warp_t *w, const vg_op_t *o, uint32_t row, uint8_t *p, int i)
{
    uint64_t v = s_lane (w, row, o->access >= VG_A_U8_64 ? 2 : 1, i);
    memcpy (p, &v, o->bytes); // little endian: the low bytes
}

static inline void s_store (vg_warp_t *w, const vg_op_t *o, uint32_t m, uint8_t *p, const uint64_t off[32], const span_t *s)
{
    if (o->vec == 1 && s->contiguous && m == VG_FULL && (o->access == VG_A_B32_32 || o->access == VG_A_B64_64)) {
        memcpy (p + off[0], vg_src (w, o->v[0]), 32u * o->bytes);
        return;
    }
    if (o->access == VG_A_B32_32) {
        for (int k = 0; k < o->vec; k++) {
            const uint32_t *v = vg_src (w, o->v[k]);
            for (uint32_t left = m; left; left &= left - 1) {
                uint32_t i = vg_first (left);
                memcpy (p + off[i] + 4 * k, &v[i], 4);
            }
        }
        return;
    }
    for (int k = 0; k < o->vec; k++)
        for (uint32_t left = m; left; left &= left - 1) {
            int i = (int)vg_first (left);
            s_scatter_one (w, o, o->v[k], p + off[i] + (size_t)k * o->bytes, i);
        }
}

static void s_global (vg_warp_t *w, const vg_op_t *o, uint32_t m, uint64_t a[32])
{
    vg_run_t *run = w->run;
    vg_stat_t *st = &run->stats[o->stat];
    uint64_t total = (uint64_t)o->bytes * o->vec;
    span_t s = s_span (a, total);
    vg_buffer_t *b = &run->buffers[st->buffer];
    if (s.lo < b->base || s.hi + total > b->end || s.lo > s.hi) {
        b = vg_buffer_at (run, s.lo);
        if (!b || s.hi + total > b->end || s.lo > s.hi) {
            vg_access (w, o, m, a);
            return;
        }
        st->buffer = (uint32_t)(b - run->buffers);
    }
    if ((s.low_bits & (total - 1)) || (!o->is_load && !b->writable)) {
        vg_access (w, o, m, a);
        return;
    }
    uint32_t lanes = vg_bits (m);
    st->requests++;
    st->lanes += lanes;
    st->bytes += lanes * total;
    if (s.contiguous && m == VG_FULL) {
        uint64_t first = a[0] >> 5, n = ((a[0] + 32 * total - 1) >> 5) - first + 1;
        st->sectors += n;
        st->used += 32 * total;
        w->mem_latency = vg_touch (w, b, first, (uint32_t)n, !o->is_load);
        uint64_t *bytes = o->is_load ? &b->traffic.load_bytes : &b->traffic.store_bytes;
        *bytes += 32 * total;
    }
    else if (s.uniform) {
        st->sectors++;
        st->used += total;
        w->mem_latency = vg_touch (w, b, a[0] >> 5, 1, !o->is_load);
        uint64_t *bytes = o->is_load ? &b->traffic.load_bytes : &b->traffic.store_bytes;
        *bytes += lanes * total;
    }
    else
        vg_touch_sorted (w, b, o, a, m);
    w->mem_bytes = (uint32_t)(lanes * total);
    LANES a[i] -= b->base;
    if (o->is_load)
        s_load (w, o, m, b->host, a, &s);
    else {
        s_store (w, o, m, b->host, a, &s);
        run->changes++;
    }
}

// One 4-byte element of all 32 lanes by a pattern that tiles make: 16 words twice, or two words 16 times.
static inline void s_tile_load (vg_warp_t *w, const vg_op_t *o, uint32_t m, const uint8_t *p, const uint32_t off[32], bool rows)
{
    uint32_t *d = vg_dst (w, o->d), t[32];
    if (rows) {
        memcpy (t, p + off[0], 64);
        memcpy (t + 16, t, 64);
    }
    else {
        uint32_t first, second;
        memcpy (&first, p + off[0], 4);
        memcpy (&second, p + off[16], 4);
        LANES t[i] = i & 16 ? second : first;
    }
    if (m == VG_FULL)
        memcpy (d, t, sizeof (t));
    else
        s_blend32 (d, t, m);
}

static void s_shared (vg_warp_t *w, const vg_op_t *o, uint32_t m, const uint32_t off[32])
{
    vg_run_t *run = w->run;
    vg_stat_t *st = &run->stats[o->stat];
    uint32_t total = (uint32_t)o->bytes * o->vec, hi = 0, any = 0, same = 0, step = 0, rows = 0, halves = 0, first = off[0], second = off[16];
    LANES
    {
        uint32_t x = off[i];
        hi = x > hi ? x : hi;
        any |= x;
        same |= x ^ first;
        step |= x ^ (first + (uint32_t)i * total);
        rows |= x ^ (first + 4 * (uint32_t)(i & 15));
        halves |= x ^ first ^ ((first ^ second) & (0u - ((uint32_t)i >> 4)));
    }
    uint64_t a[32];
    if (hi >= run->shared_size || total > run->shared_size - hi || (any & (total - 1))) {
        LANES a[i] = off[i];
        vg_access (w, o, m, a);
        return;
    }
    uint8_t *p = w->block->shared;
    span_t s = {.contiguous = !step, .uniform = !same};
    uint32_t waves = 1, least = 1;
    bool tile = total == 4 && !same;
    if (s.uniform)
        tile = o->access == VG_A_B32_32; // two equal words 16 times
    else if (s.contiguous && m == VG_FULL) {
        waves = least = total < 4 ? 1 : total / 4;
        tile = false;
    }
    else if (total == 4 && (!rows || (!halves && ((off[0] ^ off[16]) >> 2 & 31))))
        tile = o->access == VG_A_B32_32;
    else {
        tile = false;
        uint32_t in_bank[32], clash = total > 4;
        for (int i = 0; i < 32 && total <= 4; i++)
            in_bank[off[i] >> 2 & 31] = off[i] >> 2;
        for (int i = 0; i < 32 && total <= 4; i++) // no two lanes ask one bank for different words: a single pass
            clash |= in_bank[off[i] >> 2 & 31] ^ off[i] >> 2;
        if (clash)
            waves = vg_wavefronts (off, m, total, &least);
    }
    st->shared_requests++;
    st->shared_bytes += (uint64_t)vg_bits (m) * total;
    st->wavefronts += waves;
    st->conflicts += waves - least;
    w->mem_latency = 29 + waves - 1;
    w->mem_bytes = 0;
    if (o->is_load && tile && o->vec == 1) {
        s_tile_load (w, o, m, p, off, !s.uniform && !rows);
        return;
    }
    LANES a[i] = off[i];
    if (o->is_load)
        s_load (w, o, m, p, a, &s);
    else
        s_store (w, o, m, p, a, &s);
}

static void h_ld_global (vg_warp_t *w, const vg_op_t *o, uint32_t m)
{
    uint64_t a[32];
    s_addresses (w, o, m, a);
    s_global (w, o, m, a);
}

// 64-bit shared offsets: the same when they have no high half.
static void s_shared_wide (vg_warp_t *w, const vg_op_t *o, uint32_t m, const uint64_t a[32])
{
    uint32_t off[32];
    uint64_t high = 0;
    LANES
    {
        off[i] = (uint32_t)a[i];
        high |= a[i] >> 32;
    }
    if (high)
        vg_access (w, o, m, a);
    else
        s_shared (w, o, m, off);
}

static void h_ld_shared (vg_warp_t *w, const vg_op_t *o, uint32_t m)
{
    if (o->has_base && !o->wide_base) {
        const uint32_t *r = vg_src (w, o->s[0]);
        uint32_t off[32], disp = (uint32_t)o->imm;
        LANES off[i] = r[i] + disp;
        if (m != VG_FULL) {
            uint32_t first = off[vg_first (m)];
            LANES off[i] = m & s_bit[i] ? off[i] : first;
        }
        s_shared (w, o, m, off);
        return;
    }
    uint64_t a[32];
    s_addresses (w, o, m, a);
    s_shared_wide (w, o, m, a);
}
#define h_st_global h_ld_global // s_global and s_shared look at is_load
#define h_st_shared h_ld_shared

static void h_ld_slow (vg_warp_t *w, const vg_op_t *o, uint32_t m)
{
    uint64_t a[32];
    s_addresses (w, o, m, a);
    if (o->space == PTX_SPACE_GENERIC) {
        uint64_t other = 0, outside = 0;
        LANES
        {
            other |= a[i] >= VGPU_GLOBAL_HIGH;
            outside |= (a[i] - VG_SHARED_BASE) >> 36;
        }
        if (!other) {
            s_global (w, o, m, a);
            return;
        }
        if (!outside) {
            LANES a[i] -= VG_SHARED_BASE;
            s_shared_wide (w, o, m, a);
            return;
        }
    }
    vg_access (w, o, m, a);
}
#define h_st_slow h_ld_slow

// Kernel parameters and constants at fixed addresses: one value for all lanes.
static inline void s_broadcast (vg_warp_t *w, const vg_op_t *o, uint32_t m, const uint8_t *p)
{
    static const uint64_t zero[32] = {0};
    for (int k = 0; k < o->vec; k++) {
        uint32_t row = o->vec == 1 ? o->d : o->v[k];
        const uint8_t *q = p + (size_t)k * o->bytes;
        if (row == UINT32_MAX)
            continue;
        if (o->access == VG_A_B64_64 && m == VG_FULL) {
            uint64_t v, *d = vg_dst (w, row);
            memcpy (&v, q, 8);
            LANES d[i] = v;
        }
        else if (o->access == VG_A_B32_32 && m == VG_FULL) {
            uint32_t v, *d = vg_dst (w, row);
            memcpy (&v, q, 4);
            LANES d[i] = v;
        }
        else
            s_gather (w, o, m, row, q, zero);
    }
    w->mem_latency = 0;
}

static void h_ld_param (vg_warp_t *w, const vg_op_t *o, uint32_t m)
{
    s_broadcast (w, o, m, w->run->params + o->imm);
}

static void h_ld_const (vg_warp_t *w, const vg_op_t *o, uint32_t m)
{
    s_broadcast (w, o, m, w->run->m->const_image + o->imm);
}

static void h_atomic (vg_warp_t *w, const vg_op_t *o, uint32_t m)
{
    vg_atomic (w, o, m);
}
