// vg_exec.c - the operator bodies and the loop that runs a warp
//
// Built twice, for the baseline and for x86-64-v3 (VG_ISA names the set), and chosen at run time.  A body
// works on all 32 lanes and blends when some are off, so compilers turn it into plain vector code.  Rounding
// modes and flush-to-zero are the host's own: fp_mode sets MXCSR around the body.  Longer than other files
// because bodies must sit beside the loop to be built per instruction set.

#include "agents/gpu/vgpu/vg_internal.h"

#include <immintrin.h>
#include <math.h>
#include <string.h>

#include "common/util/kc_mem.h"

// The lists of vg_handlers.h mix widths on purpose; every result is cut to its row.
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wfloat-conversion"
#pragma GCC diagnostic ignored "-Wdouble-promotion"
#ifndef __clang__
#pragma GCC diagnostic ignored "-Warith-conversion"
#endif

#define CAT2(a, b) a##b
#define CAT(a, b) CAT2 (a, b)
#ifdef __clang__
#define LANES _Pragma ("clang loop vectorize(assume_safety)") for (int i = 0; i < 32; i++)
#else
#define LANES _Pragma ("GCC ivdep") for (int i = 0; i < 32; i++)
#endif

__extension__ typedef unsigned __int128 kc_u128;
__extension__ typedef __int128 kc_s128;

static const uint32_t s_bit[32] = {
    1u << 0,  1u << 1,  1u << 2,  1u << 3,  1u << 4,  1u << 5,  1u << 6,  1u << 7,  1u << 8,  1u << 9,  1u << 10,
    1u << 11, 1u << 12, 1u << 13, 1u << 14, 1u << 15, 1u << 16, 1u << 17, 1u << 18, 1u << 19, 1u << 20, 1u << 21,
    1u << 22, 1u << 23, 1u << 24, 1u << 25, 1u << 26, 1u << 27, 1u << 28, 1u << 29, 1u << 30, 1u << 31};

// ---- row types: S stored, C computed with
typedef uint32_t S_u16;
typedef uint32_t S_s16;
typedef uint32_t S_u32;
typedef int32_t S_s32;
typedef uint64_t S_u64;
typedef int64_t S_s64;
typedef float S_f32;
typedef double S_f64;
typedef uint32_t C_u16;
typedef int32_t C_s16;
typedef uint32_t C_u32;
typedef int32_t C_s32;
typedef uint64_t C_u64;
typedef int64_t C_s64;
typedef float C_f32;
typedef double C_f64;
#define GET_u16(v) (uint16_t)(v)
#define GET_s16(v) (int16_t)(uint16_t)(v)
#define GET_u32(v) (v)
#define GET_s32(v) (v)
#define GET_u64(v) (v)
#define GET_s64(v) (v)
#define GET_f32(v) (v)
#define GET_f64(v) (v)
#define PUT_u16(v) (uint16_t)(v)
#define PUT_s16(v) (uint16_t)(v)
#define PUT_u32(v) (uint32_t)(v)
#define PUT_s32(v) (int32_t)(v)
#define PUT_u64(v) (uint64_t)(v)
#define PUT_s64(v) (int64_t)(v)
#define PUT_f32(v) (v)
#define PUT_f64(v) (v)

static inline void s_blend32 (void *dst, const void *from, uint32_t m)
{
    uint32_t *d = dst;
    const uint32_t *t = from;
    LANES d[i] = m & s_bit[i] ? t[i] : d[i];
}

static inline void s_blend64 (void *dst, const void *from, uint32_t m)
{
    uint64_t *d = dst;
    const uint64_t *t = from;
    LANES d[i] = m >> i & 1 ? t[i] : d[i];
}
#define BLEND(d, t, m)                                                                 \
    do {                                                                               \
        if (sizeof (*(d)) == 4)                                                        \
            s_blend32 (d, t, m);                                                       \
        else                                                                           \
            s_blend64 (d, t, m);                                                       \
    } while (0)

// ---- scalar pieces of the expressions
#define NANF(r) kc_canon (r)
#define SAT(x, lo, hi) ((x) > (lo) ? (x) < (hi) ? (x) : (hi) : (lo))
#define U24(x) ((x) & 0xffffffu)
#define S24(x) ((int64_t)((int32_t)((uint32_t)(x) << 8) >> 8))
#define WRAP_NEG32(x) ((int32_t)((x) < 0 ? 0u - (uint32_t)(x) : (uint32_t)(x)))
#define WRAP_NEG64(x) ((int64_t)((x) < 0 ? 0ull - (uint64_t)(x) : (uint64_t)(x)))
#define TO_S32(x)                                                                      \
    ((x) != (x) ? 0 : (x) >= 2147483648.0f ? INT32_MAX : (x) < -2147483648.0f ? INT32_MIN : (int32_t)(x))
#define TO_U32(x) ((x) >= 4294967296.0f ? UINT32_MAX : (x) > 0.0f ? (uint32_t)(int64_t)(x) : 0u)

static inline uint32_t kc_f2u (float x)
{
    uint32_t u;
    memcpy (&u, &x, 4);
    return u;
}
static inline float kc_u2f (uint32_t u)
{
    float x;
    memcpy (&x, &u, 4);
    return x;
}
static inline uint64_t kc_d2u (double x)
{
    uint64_t u;
    memcpy (&u, &x, 8);
    return u;
}
static inline double kc_u2d (uint64_t u)
{
    double x;
    memcpy (&x, &u, 8);
    return x;
}
static inline float kc_nanf (void)
{
    return kc_u2f (0x7fffffffu);
}
static inline float kc_canon (float r) // results that are NaN are the one canonical NaN
{
    return r == r ? r : kc_u2f (0x7fffffffu);
}
static inline float kc_absf (float x)
{
    return kc_u2f (kc_f2u (x) & 0x7fffffffu);
}
static inline double kc_abs (double x)
{
    return kc_u2d (kc_d2u (x) & ~(1ull << 63));
}
static inline float kc_copysignf (float sign, float value) // PTX order: a gives the sign, b the magnitude
{
    return kc_u2f ((kc_f2u (sign) & 0x80000000u) | (kc_f2u (value) & 0x7fffffffu));
}
static inline double kc_copysign (double sign, double value)
{
    return kc_u2d ((kc_d2u (sign) & 1ull << 63) | (kc_d2u (value) & ~(1ull << 63)));
}
static inline float kc_minf (float x, float y) // -0 < +0; a NaN loses
{
    uint32_t equal = kc_f2u (x) | kc_f2u (y);
    float r = x < y ? x : y < x ? y : kc_u2f (equal);
    r = x != x ? y : y != y ? x : r;
    return kc_canon (r);
}
static inline float kc_maxf (float x, float y)
{
    uint32_t equal = kc_f2u (x) & kc_f2u (y);
    float r = x > y ? x : y > x ? y : kc_u2f (equal);
    r = x != x ? y : y != y ? x : r;
    return kc_canon (r);
}
static inline double kc_mind (double x, double y)
{
    double r = x < y ? x : y < x ? y : kc_u2d (kc_d2u (x) | kc_d2u (y));
    return x != x ? y : y != y ? x : r;
}
static inline double kc_maxd (double x, double y)
{
    double r = x > y ? x : y > x ? y : kc_u2d (kc_d2u (x) & kc_d2u (y));
    return x != x ? y : y != y ? x : r;
}
static inline int32_t kc_sat32 (int64_t v)
{
    return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : (int32_t)v;
}
static inline int64_t kc_div64 (int64_t x, int64_t y)
{
    return y == 0 ? -1 : y == -1 ? (int64_t)(0 - (uint64_t)x) : x / y;
}
static inline uint32_t kc_brev32 (uint32_t x)
{
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
    x = (x >> 8 & 0x00ff00ffu) | (x & 0x00ff00ffu) << 8;
    return x >> 16 | x << 16;
}
static inline uint64_t kc_brev64 (uint64_t x)
{
    return (uint64_t)kc_brev32 ((uint32_t)x) << 32 | kc_brev32 ((uint32_t)(x >> 32));
}
static inline uint32_t kc_bfind (uint64_t x, uint32_t top, int shift_amount)
{
    if (!x)
        return 0xffffffffu;
    uint32_t at = 63u - (uint32_t)__builtin_clzll (x);
    return shift_amount ? top - at : at;
}
static inline uint32_t kc_bmsk (uint32_t from, uint32_t width, int clamp)
{
    if (!clamp)
        from &= 31, width &= 31;
    if (from > 31)
        return 0;
    uint32_t ones = width > 31 ? 0xffffffffu : (1u << width) - 1;
    return ones << from;
}
static inline uint32_t kc_szext (uint32_t x, uint32_t n, int clamp, int is_signed)
{
    n = clamp ? (n > 32 ? 32 : n) : (n & 31);
    if (n == 0)
        return 0;
    if (n == 32)
        return x;
    uint32_t low = x & ((1u << n) - 1);
    return is_signed && low >> (n - 1) & 1 ? low | ~((1u << n) - 1) : low;
}
static inline int32_t kc_dp4 (uint32_t x, uint32_t y, int xs, int ys)
{
    int32_t sum = 0;
    for (int k = 0; k < 4; k++) {
        uint8_t a = (uint8_t)(x >> 8 * k), b = (uint8_t)(y >> 8 * k);
        sum += (xs ? (int32_t)(int8_t)a : (int32_t)a) * (ys ? (int32_t)(int8_t)b : (int32_t)b);
    }
    return sum;
}
// One rounding only: the product is exact in double, the sum is rounded to odd there, then once to float.
// The hardware instruction does the same where the build may use it.
static inline float kc_fmaf (float x, float y, float z)
{
#ifdef __FMA__
    return __builtin_fmaf (x, y, z);
#else
    double p = (double)x * y, s = p + z;
    double b = s - p, e = (p - (s - b)) + ((double)z - b);
    int64_t bits = (int64_t)kc_d2u (s);
    int64_t step = (e > 0) == (s > 0) ? 1 : -1;
    step = (e > 0 || e < 0) && !(bits & 1) ? step : 0;
    return (float)kc_u2d ((uint64_t)(bits + step));
#endif
}
// 2^x in double to about 1e-16, rounded once; written without branches so that it becomes vector code.
static inline float kc_ex2 (float v)
{
    double x = v > 200.0f ? 200.0 : v > -200.0f ? (double)v : -200.0;
    double shifted = x + 6755399441055744.0; // 1.5 x 2^52: rounds to the nearest whole number
    double n = shifted - 6755399441055744.0;
    double f = (x - n) * 0.69314718055994530942;
    double p = 1.0 / 479001600;
    p = p * f + 1.0 / 39916800;
    p = p * f + 1.0 / 3628800;
    p = p * f + 1.0 / 362880;
    p = p * f + 1.0 / 40320;
    p = p * f + 1.0 / 5040;
    p = p * f + 1.0 / 720;
    p = p * f + 1.0 / 120;
    p = p * f + 1.0 / 24;
    p = p * f + 1.0 / 6;
    p = p * f + 0.5;
    p = p * f + 1.0;
    p = p * f + 1.0;
    uint64_t power = (kc_d2u (shifted) + 1023) << 52; // low bits of 'shifted' hold n
    float r = (float)(p * kc_u2d (power));
    return v == v ? r : kc_u2f (0x7fffffffu);
}
static inline float kc_lg2 (float v)
{
    double x = (double)v;
    uint64_t u = kc_d2u (x);
    uint64_t e = (u >> 52 & 0x7ff);
    uint64_t mant = (u & 0xfffffffffffffull) | 0x3ff0000000000000ull;
    double m = kc_u2d (mant);
    double up = m > 1.4142135623730951 ? 1.0 : 0.0;
    m = m > 1.4142135623730951 ? m * 0.5 : m;
    double exponent = kc_u2d (0x4330000000000000ull | e) - (4503599627370496.0 + 1023.0) + up;
    double s = (m - 1.0) / (m + 1.0), z = s * s;
    double p = 1.0 / 23;
    p = p * z + 1.0 / 21;
    p = p * z + 1.0 / 19;
    p = p * z + 1.0 / 17;
    p = p * z + 1.0 / 15;
    p = p * z + 1.0 / 13;
    p = p * z + 1.0 / 11;
    p = p * z + 1.0 / 9;
    p = p * z + 1.0 / 7;
    p = p * z + 1.0 / 5;
    p = p * z + 1.0 / 3;
    p = p * z + 1.0;
    float r = (float)(exponent + 2.88539008177792681472 * s * p);
    r = v == 0.0f ? -INFINITY : r;
    r = v < 0.0f || v != v ? kc_u2f (0x7fffffffu) : r;
    return v == INFINITY ? INFINITY : r;
}

// ---- bodies by list
#define UNARY(name, T, e)                                                              \
    static void h_##name (vg_warp_t *w, const vg_op_t *o, uint32_t m)                  \
    {                                                                                  \
        const S_##T *a = vg_src (w, o->s[0]);                                          \
        S_##T *d = vg_dst (w, o->d), t[32], *out = m == VG_FULL ? d : t;               \
        LANES                                                                          \
        {                                                                              \
            C_##T x = GET_##T (a[i]);                                                  \
            out[i] = PUT_##T (e);                                                      \
        }                                                                              \
        if (m != VG_FULL)                                                              \
            BLEND (d, t, m);                                                           \
    }
#define BINARY2(name, T, TB, e)                                                        \
    static void h_##name (vg_warp_t *w, const vg_op_t *o, uint32_t m)                  \
    {                                                                                  \
        const S_##T *a = vg_src (w, o->s[0]);                                          \
        const S_##TB *b = vg_src (w, o->s[1]);                                         \
        S_##T *d = vg_dst (w, o->d), t[32], *out = m == VG_FULL ? d : t;               \
        LANES                                                                          \
        {                                                                              \
            C_##T x = GET_##T (a[i]);                                                  \
            C_##TB y = GET_##TB (b[i]);                                                \
            out[i] = PUT_##T (e);                                                      \
        }                                                                              \
        if (m != VG_FULL)                                                              \
            BLEND (d, t, m);                                                           \
    }
#define BINARY(name, T, e) BINARY2 (name, T, T, e)
#define SHIFT(name, T, e) BINARY2 (name, T, u32, e)
#define TERNARY2(name, TD, T, e)                                                       \
    static void h_##name (vg_warp_t *w, const vg_op_t *o, uint32_t m)                  \
    {                                                                                  \
        const S_##T *a = vg_src (w, o->s[0]);                                          \
        const S_##T *b = vg_src (w, o->s[1]);                                          \
        const S_##TD *c = vg_src (w, o->s[2]);                                         \
        S_##TD *d = vg_dst (w, o->d), t[32], *out = m == VG_FULL ? d : t;              \
        LANES                                                                          \
        {                                                                              \
            C_##T x = GET_##T (a[i]), y = GET_##T (b[i]);                              \
            C_##TD z = GET_##TD (c[i]);                                                \
            out[i] = PUT_##TD (e);                                                     \
        }                                                                              \
        if (m != VG_FULL)                                                              \
            BLEND (d, t, m);                                                           \
    }
#define TERNARY(name, T, e) TERNARY2 (name, T, T, e)
#define WIDEN(name, TD, T, e)                                                          \
    static void h_##name (vg_warp_t *w, const vg_op_t *o, uint32_t m)                  \
    {                                                                                  \
        const S_##T *a = vg_src (w, o->s[0]);                                          \
        const S_##T *b = vg_src (w, o->s[1]);                                          \
        S_##TD *d = vg_dst (w, o->d), t[32], *out = m == VG_FULL ? d : t;              \
        LANES                                                                          \
        {                                                                              \
            C_##T x = GET_##T (a[i]), y = GET_##T (b[i]);                              \
            out[i] = PUT_##TD (e);                                                     \
        }                                                                              \
        if (m != VG_FULL)                                                              \
            BLEND (d, t, m);                                                           \
    }
#define CONVERT1(name, TD, T, e)                                                       \
    static void h_##name (vg_warp_t *w, const vg_op_t *o, uint32_t m)                  \
    {                                                                                  \
        const S_##T *a = vg_src (w, o->s[0]);                                          \
        S_##TD *d = vg_dst (w, o->d), t[32], *out = m == VG_FULL ? d : t;              \
        LANES                                                                          \
        {                                                                              \
            C_##T x = GET_##T (a[i]);                                                  \
            out[i] = PUT_##TD (e);                                                     \
        }                                                                              \
        if (m != VG_FULL)                                                              \
            BLEND (d, t, m);                                                           \
    }
VG_UNARY (UNARY)
VG_BINARY (BINARY)
VG_SHIFT (SHIFT)
VG_TERNARY (TERNARY)
VG_WIDEN (WIDEN)
VG_WIDEN3 (TERNARY2)
VG_CONVERT1 (CONVERT1)

// ---- bodies of their own
static inline void s_store32 (vg_warp_t *w, const vg_op_t *o, const uint32_t t[32], uint32_t m)
{
    s_blend32 (vg_dst (w, o->d), t, m);
}

#define BFE(name, S, C, U, BITS, SIGNED)                                               \
    static void h_##name (vg_warp_t *w, const vg_op_t *o, uint32_t m)                  \
    {                                                                                  \
        const U *a = vg_src (w, o->s[0]);                                              \
        const uint32_t *b = vg_src (w, o->s[1]), *c = vg_src (w, o->s[2]);             \
        U t[32];                                                                       \
        for (int i = 0; i < 32; i++) {                                                 \
            uint32_t pos = b[i] & 0xff, len = c[i] & 0xff;                             \
            U low = pos < BITS ? a[i] >> pos : 0;                                      \
            uint32_t top = pos + len - 1 < BITS - 1 ? pos + len - 1 : BITS - 1;        \
            bool fill = SIGNED && len && (a[i] >> top & 1);                            \
            U ones = len >= BITS ? ~(U)0 : ((U)1 << len) - 1;                          \
            if (pos >= BITS)                                                           \
                low = 0, ones = fill ? 0 : ones;                                       \
            else if (pos + len > BITS) /* bits past the end are sign or zero */        \
                ones = pos == 0 ? ~(U)0 : ((U)1 << (BITS - pos)) - 1;                  \
            t[i] = len == 0 ? 0 : (low & ones) | (fill ? ~ones : 0);                   \
        }                                                                              \
        U *d = vg_dst (w, o->d);                                                       \
        BLEND (d, t, m);                                                               \
    }
BFE (bfe_u32, uint32_t, uint32_t, uint32_t, 32, false)
BFE (bfe_s32, int32_t, int32_t, uint32_t, 32, true)
BFE (bfe_u64, uint64_t, uint64_t, uint64_t, 64, false)
BFE (bfe_s64, int64_t, int64_t, uint64_t, 64, true)

#define BFI(name, U, BITS)                                                             \
    static void h_##name (vg_warp_t *w, const vg_op_t *o, uint32_t m)                  \
    {                                                                                  \
        const U *a = vg_src (w, o->s[0]), *b = vg_src (w, o->s[1]);                    \
        const uint32_t *c = vg_src (w, o->s[2]), *e = vg_src (w, o->s[3]);             \
        U t[32], *d = vg_dst (w, o->d);                                                \
        for (int i = 0; i < 32; i++) {                                                 \
            uint32_t pos = c[i] & 0xff, len = e[i] & 0xff;                             \
            U ones = pos >= BITS ? 0 : (len >= BITS ? ~(U)0 : ((U)1 << len) - 1) << (pos & (BITS - 1)); \
            t[i] = (b[i] & ~ones) | (pos < BITS ? a[i] << pos & ones : 0);             \
        }                                                                              \
        BLEND (d, t, m);                                                               \
    }
BFI (bfi_u32, uint32_t, 32)
BFI (bfi_u64, uint64_t, 64)

static void h_prmt (vg_warp_t *w, const vg_op_t *o, uint32_t m)
{
    const uint32_t *a = vg_src (w, o->s[0]), *b = vg_src (w, o->s[1]), *c = vg_src (w, o->s[2]);
    uint32_t t[32];
    for (int i = 0; i < 32; i++) {
        uint64_t all = (uint64_t)b[i] << 32 | a[i];
        uint32_t sel = c[i], n = sel & 3, r = 0;
        switch (o->sub) {
        case PTX_SUB_F4E:
            sel = (n | (n + 1) << 4 | (n + 2) << 8 | (n + 3) << 12);
            break;
        case PTX_SUB_B4E:
            sel = (n | ((n - 1) & 7) << 4 | ((n - 2) & 7) << 8 | ((n - 3) & 7) << 12);
            break;
        case PTX_SUB_RC8:
            sel = n * 0x1111;
            break;
        case PTX_SUB_ECL:
            sel = 3 << 12 | (n > 2 ? n : 2) << 8 | (n > 1 ? n : 1) << 4 | n;
            break;
        case PTX_SUB_ECR:
            sel = n << 12 | (n < 2 ? n : 2) << 8 | (n < 1 ? n : 1) << 4;
            break;
        case PTX_SUB_RC16:
            sel = n & 1 ? 0x3232 : 0x1010;
            break;
        default:
            break;
        }
        for (int k = 0; k < 4; k++) {
            uint32_t s = sel >> 4 * k;
            uint32_t byte = (uint32_t)(all >> 8 * (s & 7)) & 0xff;
            if (s & 8)
                byte = byte & 0x80 ? 0xff : 0;
            r |= byte << 8 * k;
        }
        t[i] = r;
    }
    s_store32 (w, o, t, m);
}

static void h_lop3 (vg_warp_t *w, const vg_op_t *o, uint32_t m)
{
    const uint32_t *a = vg_src (w, o->s[0]), *b = vg_src (w, o->s[1]), *c = vg_src (w, o->s[2]);
    uint32_t t[32], lut = (uint32_t)o->imm;
    uint32_t k[8];
    for (int j = 0; j < 8; j++)
        k[j] = lut >> j & 1 ? 0xffffffffu : 0;
    LANES
    {
        uint32_t x = a[i], y = b[i], z = c[i];
        t[i] = (k[0] & ~x & ~y & ~z) | (k[1] & ~x & ~y & z) | (k[2] & ~x & y & ~z) | (k[3] & ~x & y & z)
               | (k[4] & x & ~y & ~z) | (k[5] & x & ~y & z) | (k[6] & x & y & ~z) | (k[7] & x & y & z);
    }
    s_store32 (w, o, t, m);
}

static inline uint32_t s_ps (const vg_warp_t *w, const vg_op_t *o)
{
    uint32_t p = w->preds[o->ps];
    return o->ps_not ? ~p : p;
}

static void h_selp_u32 (vg_warp_t *w, const vg_op_t *o, uint32_t m)
{
    const uint32_t *a = vg_src (w, o->s[0]), *b = vg_src (w, o->s[1]);
    uint32_t p = s_ps (w, o), t[32];
    LANES t[i] = p & s_bit[i] ? a[i] : b[i];
    s_store32 (w, o, t, m);
}

static void h_selp_u64 (vg_warp_t *w, const vg_op_t *o, uint32_t m)
{
    const uint64_t *a = vg_src (w, o->s[0]), *b = vg_src (w, o->s[1]);
    uint64_t t[32];
    uint32_t p = s_ps (w, o);
    LANES t[i] = p >> i & 1 ? a[i] : b[i];
    s_blend64 (vg_dst (w, o->d), t, m);
}

static void s_slct (vg_warp_t *w, const vg_op_t *o, uint32_t m, uint32_t p)
{
    if (o->d_rows == 2) {
        const uint64_t *a = vg_src (w, o->s[0]), *b = vg_src (w, o->s[1]);
        uint64_t t[32];
        for (int i = 0; i < 32; i++)
            t[i] = p >> i & 1 ? a[i] : b[i];
        s_blend64 (vg_dst (w, o->d), t, m);
    }
    else {
        const uint32_t *a = vg_src (w, o->s[0]), *b = vg_src (w, o->s[1]);
        uint32_t t[32];
        for (int i = 0; i < 32; i++)
            t[i] = p >> i & 1 ? a[i] : b[i];
        s_store32 (w, o, t, m);
    }
}

static void h_slct_s32 (vg_warp_t *w, const vg_op_t *o, uint32_t m)
{
    const int32_t *c = vg_src (w, o->s[2]);
    uint32_t p = 0;
    for (int i = 0; i < 32; i++)
        p |= (uint32_t)(c[i] >= 0) << i;
    s_slct (w, o, m, p);
}

static void h_slct_f32 (vg_warp_t *w, const vg_op_t *o, uint32_t m)
{
    const float *c = vg_src (w, o->s[2]);
    uint32_t p = 0;
    for (int i = 0; i < 32; i++) {
        float v = o->mods & PTX_MOD_FTZ && kc_absf (c[i]) < 1.17549435e-38f ? 0.0f : c[i];
        p |= (uint32_t)(v >= 0) << i;
    }
    s_slct (w, o, m, p);
}

static void h_fns (vg_warp_t *w, const vg_op_t *o, uint32_t m)
{
    const uint32_t *a = vg_src (w, o->s[0]), *b = vg_src (w, o->s[1]);
    const int32_t *c = vg_src (w, o->s[2]);
    uint32_t t[32];
    for (int i = 0; i < 32; i++) {
        uint32_t base = b[i] & 31;
        int32_t n = c[i], left;
        t[i] = 0xffffffffu;
        if (n == 0)
            t[i] = a[i] >> base & 1 ? base : 0xffffffffu;
        else if (n > 0) {
            left = n;
            for (uint32_t k = base; k < 32; k++)
                if (a[i] >> k & 1 && --left == 0) {
                    t[i] = k;
                    break;
                }
        }
        else {
            left = n;
            for (int k = (int)base; k >= 0; k--)
                if (a[i] >> k & 1 && ++left == 0) {
                    t[i] = (uint32_t)k;
                    break;
                }
        }
    }
    s_store32 (w, o, t, m);
}

static void h_dp2a (vg_warp_t *w, const vg_op_t *o, uint32_t m)
{
    const uint32_t *a = vg_src (w, o->s[0]), *b = vg_src (w, o->s[1]), *c = vg_src (w, o->s[2]);
    bool as = o->type == PTX_TYPE_S32, bs = o->type2 == PTX_TYPE_S32;
    int from = o->sub == PTX_SUB_HI ? 2 : 0;
    uint32_t t[32];
    for (int i = 0; i < 32; i++) {
        uint32_t r = c[i];
        for (int k = 0; k < 2; k++) {
            uint16_t x = (uint16_t)(a[i] >> 16 * k);
            uint8_t y = (uint8_t)(b[i] >> 8 * (from + k));
            r += (uint32_t)((as ? (int32_t)(int16_t)x : (int32_t)x) * (bs ? (int32_t)(int8_t)y : (int32_t)y));
        }
        t[i] = r;
    }
    s_store32 (w, o, t, m);
}

// add, addc, sub, subc with carry in (imm bit 0) and out (.cc); subtraction keeps the borrow, inverted by nobody
#define CARRY(name, U, EXPR, OUT)                                                      \
    static void h_##name (vg_warp_t *w, const vg_op_t *o, uint32_t m)                  \
    {                                                                                  \
        const U *a = vg_src (w, o->s[0]), *b = vg_src (w, o->s[1]);                    \
        U t[32], *d = vg_dst (w, o->d);                                                \
        uint32_t in = o->imm & 1 ? w->cc : 0, out = 0;                                 \
        for (int i = 0; i < 32; i++) {                                                 \
            U c = in >> i & 1;                                                         \
            t[i] = EXPR;                                                               \
            out |= (uint32_t)(OUT) << i;                                               \
        }                                                                              \
        BLEND (d, t, m);                                                               \
        if (o->mods & PTX_MOD_CC)                                                      \
            w->cc = (w->cc & ~m) | (out & m);                                          \
    }
CARRY (addc_u32, uint32_t, a[i] + b[i] + c, ((uint64_t)a[i] + b[i] + c) >> 32)
CARRY (addc_u64, uint64_t, a[i] + b[i] + c, (uint32_t)(((kc_u128)a[i] + b[i] + c) >> 64))
CARRY (subc_u32, uint32_t, a[i] - b[i] - c, (uint64_t)a[i] < (uint64_t)b[i] + c)
CARRY (subc_u64, uint64_t, a[i] - b[i] - c, (kc_u128)a[i] < (kc_u128)b[i] + c)

static inline int64_t s_sx32 (uint32_t v)
{
    return (int32_t)v;
}
static inline kc_s128 s_sx64 (uint64_t v)
{
    return (int64_t)v;
}
#define MADC(name, U, W, SX, BITS)                                                     \
    static void h_##name (vg_warp_t *w, const vg_op_t *o, uint32_t m)                  \
    {                                                                                  \
        const U *a = vg_src (w, o->s[0]), *b = vg_src (w, o->s[1]), *e = vg_src (w, o->s[2]); \
        U t[32], *d = vg_dst (w, o->d);                                                \
        uint32_t in = o->imm & 1 ? w->cc : 0, out = 0;                                 \
        for (int i = 0; i < 32; i++) {                                                 \
            W p = o->imm & 2 ? (W)(SX (a[i]) * SX (b[i])) : (W)a[i] * b[i];            \
            U part = (U)(o->sub == PTX_SUB_HI ? p >> BITS : p);                        \
            W sum = (W)part + e[i] + (in >> i & 1);                                    \
            t[i] = (U)sum;                                                             \
            out |= (uint32_t)(sum >> BITS & 1) << i;                                   \
        }                                                                              \
        BLEND (d, t, m);                                                               \
        if (o->mods & PTX_MOD_CC)                                                      \
            w->cc = (w->cc & ~m) | (out & m);                                          \
    }
MADC (madc_u32, uint32_t, uint64_t, s_sx32, 32)
MADC (madc_u64, uint64_t, kc_u128, s_sx64, 64)

// ---- comparisons
#define CMP_CASE(code, expr)                                                           \
    case code:                                                                         \
        LANES r |= (expr) ? s_bit[i] : 0;                                              \
        break;
#define COMPARE_INT(T)                                                                 \
    static uint32_t s_cmp_##T (const vg_op_t *o, const S_##T *a, const S_##T *b)       \
    {                                                                                  \
        uint32_t r = 0;                                                                \
        switch (o->cmp) {                                                              \
            CMP_CASE (PTX_CMP_EQ, GET_##T (a[i]) == GET_##T (b[i]))                    \
            CMP_CASE (PTX_CMP_NE, GET_##T (a[i]) != GET_##T (b[i]))                    \
        case PTX_CMP_LO:                                                               \
            CMP_CASE (PTX_CMP_LT, GET_##T (a[i]) < GET_##T (b[i]))                     \
        case PTX_CMP_LS:                                                               \
            CMP_CASE (PTX_CMP_LE, GET_##T (a[i]) <= GET_##T (b[i]))                    \
        case PTX_CMP_HI:                                                               \
            CMP_CASE (PTX_CMP_GT, GET_##T (a[i]) > GET_##T (b[i]))                     \
        case PTX_CMP_HS:                                                               \
            CMP_CASE (PTX_CMP_GE, GET_##T (a[i]) >= GET_##T (b[i]))                    \
        default:                                                                       \
            break;                                                                     \
        }                                                                              \
        return r;                                                                      \
    }
COMPARE_INT (u16)
COMPARE_INT (s16)
COMPARE_INT (u32)
COMPARE_INT (s32)
COMPARE_INT (u64)
COMPARE_INT (s64)
#define COMPARE_FLOAT(T)                                                               \
    static uint32_t s_cmp_##T (const vg_op_t *o, const S_##T *a, const S_##T *b)       \
    {                                                                                  \
        uint32_t r = 0;                                                                \
        switch (o->cmp) {                                                              \
            CMP_CASE (PTX_CMP_EQ, a[i] == b[i])                                        \
            CMP_CASE (PTX_CMP_NE, a[i] < b[i] || a[i] > b[i])                          \
            CMP_CASE (PTX_CMP_LT, a[i] < b[i])                                         \
            CMP_CASE (PTX_CMP_LE, a[i] <= b[i])                                        \
            CMP_CASE (PTX_CMP_GT, a[i] > b[i])                                         \
            CMP_CASE (PTX_CMP_GE, a[i] >= b[i])                                        \
            CMP_CASE (PTX_CMP_EQU, !(a[i] < b[i] || a[i] > b[i]))                      \
            CMP_CASE (PTX_CMP_NEU, !(a[i] == b[i]))                                    \
            CMP_CASE (PTX_CMP_LTU, !(a[i] >= b[i]))                                    \
            CMP_CASE (PTX_CMP_LEU, !(a[i] > b[i]))                                     \
            CMP_CASE (PTX_CMP_GTU, !(a[i] <= b[i]))                                    \
            CMP_CASE (PTX_CMP_GEU, !(a[i] < b[i]))                                     \
            CMP_CASE (PTX_CMP_NUM, a[i] == a[i] && b[i] == b[i])                       \
            CMP_CASE (PTX_CMP_NAN, a[i] != a[i] || b[i] != b[i])                       \
        default:                                                                       \
            break;                                                                     \
        }                                                                              \
        return r;                                                                      \
    }
COMPARE_FLOAT (f32)
COMPARE_FLOAT (f64)

static inline uint32_t s_bool (const vg_warp_t *w, const vg_op_t *o, uint32_t r)
{
    switch (o->boolop) {
    case PTX_BOOL_AND:
        return r & s_ps (w, o);
    case PTX_BOOL_OR:
        return r | s_ps (w, o);
    case PTX_BOOL_XOR:
        return r ^ s_ps (w, o);
    default:
        return r;
    }
}

static inline void s_put_pred (vg_warp_t *w, const vg_op_t *o, uint32_t r, uint32_t m)
{
    uint32_t p = s_bool (w, o, r), q = s_bool (w, o, ~r);
    if (o->pd >= 0)
        w->preds[o->pd] = (w->preds[o->pd] & ~m) | (p & m);
    if (o->pd2 >= 0)
        w->preds[o->pd2] = (w->preds[o->pd2] & ~m) | (q & m);
}
#define SETP(T)                                                                        \
    static void h_setp_##T (vg_warp_t *w, const vg_op_t *o, uint32_t m)                \
    {                                                                                  \
        s_put_pred (w, o, s_cmp_##T (o, vg_src (w, o->s[0]), vg_src (w, o->s[1])), m); \
    }
SETP (u16)
SETP (s16)
SETP (u32)
SETP (s32)
SETP (u64)
SETP (s64)
SETP (f32)
SETP (f64)

static void h_set (vg_warp_t *w, const vg_op_t *o, uint32_t m)
{
    const void *a = vg_src (w, o->s[0]), *b = vg_src (w, o->s[1]);
    uint32_t r = 0, t[32];
    switch (o->type2) {
    case PTX_TYPE_B16:
    case PTX_TYPE_U16:
        r = s_cmp_u16 (o, a, b);
        break;
    case PTX_TYPE_S16:
        r = s_cmp_s16 (o, a, b);
        break;
    case PTX_TYPE_S32:
        r = s_cmp_s32 (o, a, b);
        break;
    case PTX_TYPE_B64:
    case PTX_TYPE_U64:
        r = s_cmp_u64 (o, a, b);
        break;
    case PTX_TYPE_S64:
        r = s_cmp_s64 (o, a, b);
        break;
    case PTX_TYPE_F32:
        r = s_cmp_f32 (o, a, b);
        break;
    case PTX_TYPE_F64:
        r = s_cmp_f64 (o, a, b);
        break;
    default:
        r = s_cmp_u32 (o, a, b);
        break;
    }
    r = s_bool (w, o, r);
    uint32_t yes = o->type == PTX_TYPE_F32 ? 0x3f800000u : 0xffffffffu;
    LANES t[i] = r & s_bit[i] ? yes : 0;
    s_store32 (w, o, t, m);
}

#define TESTP(name, U, EXP, MANT)                                                      \
    static void h_##name (vg_warp_t *w, const vg_op_t *o, uint32_t m)                  \
    {                                                                                  \
        const U *a = vg_src (w, o->s[0]);                                              \
        uint32_t r = 0;                                                                \
        for (int i = 0; i < 32; i++) {                                                 \
            U e = a[i] & EXP, f = a[i] & MANT;                                         \
            bool yes = false;                                                          \
            switch (o->sub) {                                                          \
            case PTX_SUB_FINITE:                                                       \
                yes = e != EXP;                                                        \
                break;                                                                 \
            case PTX_SUB_INFINITE:                                                     \
                yes = e == EXP && !f;                                                  \
                break;                                                                 \
            case PTX_SUB_NUMBER:                                                       \
                yes = !(e == EXP && f);                                                \
                break;                                                                 \
            case PTX_SUB_NOTANUMBER:                                                   \
                yes = e == EXP && f;                                                   \
                break;                                                                 \
            case PTX_SUB_NORMAL:                                                       \
                yes = e && e != EXP;                                                   \
                break;                                                                 \
            default:                                                                   \
                yes = !e && f;                                                         \
                break;                                                                 \
            }                                                                          \
            r |= (uint32_t)yes << i;                                                   \
        }                                                                              \
        s_put_pred (w, o, r, m);                                                       \
    }
TESTP (testp_f32, uint32_t, 0x7f800000u, 0x7fffffu)
TESTP (testp_f64, uint64_t, 0x7ff0000000000000ull, 0xfffffffffffffull)

// and, or, xor, not, mov of predicates: s[0], s[1] are predicate numbers, imm bits 0 and 1 their negation
static void h_pred_logic (vg_warp_t *w, const vg_op_t *o, uint32_t m)
{
    uint32_t x = w->preds[o->s[0]] ^ (o->imm & 1 ? VG_FULL : 0), y = w->preds[o->s[1]] ^ (o->imm & 2 ? VG_FULL : 0);
    uint32_t r = o->sub == PTX_SUB_AND ? x & y : o->sub == PTX_SUB_OR ? x | y : x ^ y;
    w->preds[o->pd] = (w->preds[o->pd] & ~m) | (r & m);
}

static void h_pred_mov (vg_warp_t *w, const vg_op_t *o, uint32_t m)
{
    uint32_t x = o->ps < 0 ? (o->imm & 2 ? VG_FULL : 0) : w->preds[o->ps];
    x ^= o->imm & 1 ? VG_FULL : 0;
    w->preds[o->pd] = (w->preds[o->pd] & ~m) | (x & m);
}

static void h_mov_pred_row (vg_warp_t *w, const vg_op_t *o, uint32_t m) // selp-like: predicate to 0/1
{
    uint32_t p = s_ps (w, o), t[32];
    LANES t[i] = p & s_bit[i] ? 1 : 0;
    s_store32 (w, o, t, m);
}

static uint64_t s_lane (const vg_warp_t *w, uint32_t row, uint32_t rows, int i)
{
    return rows == 2 ? ((const uint64_t *)vg_src (w, row))[i] : ((const uint32_t *)vg_src (w, row))[i];
}

// mov.b64 %rd, {a, b}: v = sources, bytes = size of one
static void h_pack (vg_warp_t *w, const vg_op_t *o, uint32_t m)
{
    uint64_t t[32], ones = o->bytes == 8 ? ~0ull : (1ull << 8 * o->bytes) - 1;
    for (int i = 0; i < 32; i++) {
        t[i] = 0;
        for (int k = 0; k < o->n_v; k++)
            t[i] |= (s_lane (w, o->v[k], 1, i) & ones) << 8 * o->bytes * k;
    }
    if (o->d_rows == 2)
        s_blend64 (vg_dst (w, o->d), t, m);
    else {
        uint32_t *d = vg_dst (w, o->d);
        for (int i = 0; i < 32; i++)
            d[i] = m >> i & 1 ? (uint32_t)t[i] : d[i];
    }
}

static void h_unpack (vg_warp_t *w, const vg_op_t *o, uint32_t m)
{
    uint64_t t[32], ones = (1ull << 8 * o->bytes) - 1;
    for (int i = 0; i < 32; i++)
        t[i] = s_lane (w, o->s[0], o->s_rows[0], i);
    for (int k = 0; k < o->n_v; k++) {
        if (o->v[k] == UINT32_MAX)
            continue;
        uint32_t *d = vg_dst (w, o->v[k]);
        for (int i = 0; i < 32; i++)
            d[i] = m >> i & 1 ? (uint32_t)(t[i] >> 8 * o->bytes * k & ones) : d[i];
    }
}

static void h_convert (vg_warp_t *w, const vg_op_t *o, uint32_t m)
{
    vg_convert (w, o, m);
}

static void h_add_imm_u64 (vg_warp_t *w, const vg_op_t *o, uint32_t m) // cvta
{
    const uint64_t *a = vg_src (w, o->s[0]);
    uint64_t *d = vg_dst (w, o->d), t[32], k = (uint64_t)o->imm;
    LANES t[i] = a[i] + k;
    s_blend64 (d, t, m);
}

static void h_isspacep (vg_warp_t *w, const vg_op_t *o, uint32_t m)
{
    const uint64_t *a = vg_src (w, o->s[0]);
    uint64_t base = (uint64_t)o->imm;
    uint32_t r = 0;
    for (int i = 0; i < 32; i++) {
        bool in = base ? a[i] - base < VG_WINDOW
                       : (a[i] < VGPU_GLOBAL_HIGH || a[i] - VG_MODULE_BASE < VG_WINDOW); // global
        r |= (uint32_t)in << i;
    }
    s_put_pred (w, o, r, m);
}

static void h_fp_mode (vg_warp_t *w, const vg_op_t *o, uint32_t m)
{
    static const unsigned modes[4] = {0, 3u << 13, 1u << 13, 2u << 13};
    if (o->mxcsr) {
        unsigned plain = _mm_getcsr ();
        unsigned set = (plain & ~0xe040u) | modes[(o->mxcsr - 1) & 3] | ((o->mxcsr - 1) & 8 ? 0x8040u : 0);
        _mm_setcsr (set);
        o->inner (w, o, m);
        _mm_setcsr (plain);
    }
    else
        o->inner (w, o, m);
    if (!o->saturate)
        return;
    if (o->saturate & 2) { // flush subnormal results of operations that only move bits
        uint32_t *d = vg_dst (w, o->d);
        LANES d[i] = m & s_bit[i] && !(d[i] & 0x7f800000u) ? d[i] & 0x80000000u : d[i];
    }
    if (!(o->saturate & 1))
        return;
    if (o->d_rows == 2) {
        double *d = vg_dst (w, o->d);
        for (int i = 0; i < 32; i++)
            d[i] = m >> i & 1 ? SAT (d[i], 0.0, 1.0) : d[i];
    }
    else {
        float *d = vg_dst (w, o->d);
        LANES d[i] = m & s_bit[i] ? SAT (d[i], 0.0f, 1.0f) : d[i];
    }
}

#include "agents/gpu/vgpu/vg_exec_memory.h"
#include "agents/gpu/vgpu/vg_exec_warp.h"

vg_fn *const CAT (vg_handlers_, VG_ISA)[VG_H_COUNT] = {
    NULL,
#define ROW0(name) h_##name,
#define ROW(name, ...) h_##name,
    VG_UNARY (ROW) VG_BINARY (ROW) VG_SHIFT (ROW) VG_TERNARY (ROW) VG_WIDEN (ROW) VG_WIDEN3 (ROW) VG_CONVERT1 (ROW)
        VG_PLAIN (ROW0)
#undef ROW0
#undef ROW
};
