// kc_plan_move.c - copy and fill steps, cut into contiguous pieces where views are
// strided

#include <stdlib.h>
#include <string.h>

#include "common/model/kc_plan_build.h"
#include "common/model/kc_program_text.h"
#include "common/util/kc_mem.h"

enum { S_PIECES_MAX = 1024 }; // of one copy or fill

// How the innermost dimensions of a tensor lie side by side: the first dimension of the
// contiguous tail.
static int s_tail (const kc_env_tensor_t *t)
{
    int64_t expected = 1;
    int d = t->rank;
    while (d > 0 && (t->sizes[d - 1] == 1 || t->strides[d - 1] == expected)) {
        expected *= t->sizes[d - 1];
        d--;
    }
    return d;
}

// Walk over the outer dimensions [0, tail): 1 while there is a next position.
static int s_next (const kc_env_tensor_t *t, int tail, int64_t at[KC_PLAN_MAX_RANK])
{
    for (int d = tail - 1; d >= 0; d--) {
        if (++at[d] < t->sizes[d])
            return 1;
        at[d] = 0;
    }
    return 0;
}

static int64_t s_place (const kc_env_tensor_t *t, int tail,
                        const int64_t at[KC_PLAN_MAX_RANK])
{
    int64_t place = t->offset;
    for (int d = 0; d < tail; d++)
        place += at[d] * t->strides[d];
    return place;
}

static int64_t s_pieces (const kc_env_tensor_t *t, int tail)
{
    int64_t n = 1;
    for (int d = 0; d < tail; d++)
        n *= t->sizes[d];
    return n;
}

static int s_too_many (kc_plan_build_t *b, const char *what, const kc_env_tensor_t *t,
                       int64_t pieces)
{
    return kc_env_bad (b->env, 0,
                       "%s of %s would take %lld contiguous pieces, at most %d are "
                       "done; write a small kernel for it",
                       what, t->name, (long long)pieces, S_PIECES_MAX);
}

// ---- copy ----

static int s_copy_symbol (kc_plan_build_t *b, const kc_program_copy_t *k,
                          const kc_env_tensor_t *src)
{
    const kc_symbol_t *symbol = kc_signatures_symbol (b->env->signatures, k->symbol);
    if (!symbol || !symbol->constant)
        return kc_env_bad (b->env, 0,
                           "copy: the source declares no __constant__ variable '%s'",
                           k->symbol);
    if (!src->contiguous)
        return kc_env_bad (
            b->env, 0,
            "copy: %s is strided, a __constant__ variable takes contiguous data",
            src->name);
    kc_plan_step_t *s = kc_plan_add_step (b, KC_PLAN_COPY);
    if (!s)
        return -1;
    int64_t size = (int64_t)kc_dtype_size (src->dtype);
    s->src = src->buffer;
    s->src_offset = src->offset * size;
    s->bytes = src->elements * size;
    s->symbol = kc_strdup (k->symbol);
    kc_plan_touch (s, src->buffer, s->src_offset, s->src_offset + s->bytes, false);
    return 0;
}

static int s_copy_pieces (kc_plan_build_t *b, const kc_env_tensor_t *src,
                          const kc_env_tensor_t *dst)
{
    int a = s_tail (src), c = s_tail (dst), tail = a > c ? a : c;
    int64_t pieces = s_pieces (src, tail), run = src->elements / pieces,
            size = (int64_t)kc_dtype_size (src->dtype);
    int64_t at[KC_PLAN_MAX_RANK] = {0};
    if (pieces > S_PIECES_MAX)
        return s_too_many (b, "copy", dst, pieces);
    do {
        kc_plan_step_t *s = kc_plan_add_step (b, KC_PLAN_COPY);
        if (!s)
            return -1;
        s->src = src->buffer;
        s->dst = dst->buffer;
        s->src_offset = s_place (src, tail, at) * size;
        s->dst_offset = s_place (dst, tail, at) * size;
        s->bytes = run * size;
        kc_plan_touch (s, s->src, s->src_offset, s->src_offset + s->bytes, false);
        kc_plan_touch (s, s->dst, s->dst_offset, s->dst_offset + s->bytes, true);
    } while (s_next (src, tail, at));
    return 0;
}

int kc_plan_copy_step (kc_plan_build_t *b, const kc_program_copy_t *k)
{
    kc_env_tensor_t src, dst;
    if (kc_plan_tensor (b, "copy src", k->src, &src) < 0)
        return -1;
    if (k->symbol)
        return s_copy_symbol (b, k, &src);
    if (!k->dst)
        return kc_env_bad (b->env, 0, "copy src=%s has no dst", k->src);
    if (kc_plan_tensor (b, "copy dst", k->dst, &dst) < 0
        || kc_plan_may_write (b, &dst, 0, "copy cannot write") < 0)
        return -1;
    if (src.dtype != dst.dtype)
        return kc_env_bad (b->env, 0,
                           "copy from %s (%s) to %s (%s): a cast is not done by copy "
                           "yet; write a small kernel",
                           src.name, kc_dtype_name (src.dtype), dst.name,
                           kc_dtype_name (dst.dtype));
    bool same = src.rank == dst.rank;
    for (int d = 0; same && d < src.rank; d++)
        same = src.sizes[d] == dst.sizes[d];
    if (!same && !(src.contiguous && dst.contiguous && src.elements == dst.elements))
        return kc_env_bad (b->env, 0, "copy from %s to %s: the shapes differ", src.name,
                           dst.name);
    if (!same) // both contiguous: only the number of elements matters
        src.rank = dst.rank = 0;
    if (src.buffer == dst.buffer && src.low < dst.high && dst.low < src.high)
        return kc_env_bad (b->env, 0, "copy from %s to %s: the two overlap", src.name,
                           dst.name);
    return s_copy_pieces (b, &src, &dst);
}

// ---- fill ----

// The bit pattern of a number in the element type; -1 when it has none of 1, 2 or 4
// bytes.
static int s_pattern (kc_plan_build_t *b, kc_program_dtype_t dtype, const kc_value_t *v,
                      uint32_t *pattern, int *size)
{
    double d = v->type == KC_VALUE_INT    ? (double)v->i
               : v->type == KC_VALUE_BOOL ? v->b
                                          : v->f;
    float f = (float)d;
    *size = (int)kc_dtype_size (dtype);
    *pattern = 0;
    if (*size == 8) {
        *size = 4;
        return d == 0 ? 0
                      : kc_env_bad (b->env, 0, "fill of %s is possible with 0 only",
                                    kc_dtype_name (dtype));
    }
    if (d == 0)
        return 0;
    if (dtype == KC_PROGRAM_DTYPE_F32) {
        memcpy (pattern, &f, sizeof f);
        return 0;
    }
    if (dtype == KC_PROGRAM_DTYPE_F16 || dtype == KC_PROGRAM_DTYPE_BF16) {
        *pattern =
            dtype == KC_PROGRAM_DTYPE_F16 ? kc_plan_half (d) : kc_plan_bfloat (d);
        return 0;
    }
    if (dtype == KC_PROGRAM_DTYPE_F8E4M3 || dtype == KC_PROGRAM_DTYPE_F8E5M2)
        return kc_env_bad (b->env, 0, "fill of %s is possible with 0 only",
                           kc_dtype_name (dtype));
    bool is_signed = dtype == KC_PROGRAM_DTYPE_I32 || dtype == KC_PROGRAM_DTYPE_I16
                     || dtype == KC_PROGRAM_DTYPE_I8;
    int bits = dtype == KC_PROGRAM_DTYPE_BOOL ? 1 : *size * 8;
    int64_t lo = is_signed ? -((int64_t)1 << (bits - 1)) : 0,
            hi = ((int64_t)1 << (is_signed ? bits - 1 : bits)) - 1;
    int64_t i = v->type == KC_VALUE_BOOL ? v->b : v->i;
    if (v->type == KC_VALUE_REAL || i < lo || i > hi)
        return kc_env_bad (b->env, 0, "fill: the value is no %s",
                           kc_dtype_name (dtype));
    *pattern = (uint32_t)i & (*size == 4 ? UINT32_MAX : (1u << (*size * 8)) - 1);
    return 0;
}

int kc_plan_fill_step (kc_plan_build_t *b, const kc_program_fill_t *k)
{
    kc_env_tensor_t t;
    kc_value_t v;
    kc_err_t err;
    uint32_t pattern;
    int size;
    if (kc_plan_tensor (b, "fill", k->dst, &t) < 0
        || kc_plan_may_write (b, &t, 0, "fill cannot write") < 0)
        return -1;
    if (kc_env_value (b->env, k->value, &v, &err) < 0)
        return kc_env_bad (b->env, 0, "fill: %s", err.text);
    if (s_pattern (b, t.dtype, &v, &pattern, &size) < 0)
        return -1;
    int tail = s_tail (&t);
    int64_t pieces = s_pieces (&t, tail),
            bytes = t.elements / pieces * (int64_t)kc_dtype_size (t.dtype);
    int64_t at[KC_PLAN_MAX_RANK] = {0};
    if (pieces > S_PIECES_MAX)
        return s_too_many (b, "fill", &t, pieces);
    do {
        kc_plan_step_t *s = kc_plan_add_step (b, KC_PLAN_FILL);
        if (!s)
            return -1;
        s->dst = t.buffer;
        s->dst_offset = s_place (&t, tail, at) * (int64_t)kc_dtype_size (t.dtype);
        s->bytes = bytes;
        s->pattern = pattern;
        s->pattern_size = size;
        kc_plan_touch (s, s->dst, s->dst_offset, s->dst_offset + bytes, true);
    } while (s_next (&t, tail, at));
    return 0;
}
