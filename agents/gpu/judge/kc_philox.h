/* kc_philox.h - the content of tensors, element by element, bit for bit the same on host and GPU
 *
 * The value of element i depends on (fill, key, i, number of elements) alone: Philox4x32-10 with the key and
 * the counter i gives 128 bits, and everything after that uses integer operations and double additions,
 * multiplications, divisions and square roots that are rounded to nearest and never fused.  No library
 * function is called, so every compiler and every GPU agrees.
 *
 * One file for both sides: plain C11, and CUDA C++ when compiled into the trusted kernels of the cuda backend
 * (whoever changes it must write those anew: kc-cuda-trusted).  No state, any thread.
 */
#ifndef KC_PHILOX_H
#define KC_PHILOX_H

#ifdef __CUDACC__
typedef unsigned long long kc_u64;
typedef long long kc_i64;
typedef unsigned int kc_u32;
typedef unsigned char kc_u8;
#define KC_PHILOX_FN static __device__ __forceinline__
#define KC_ADD(a, b) __dadd_rn (a, b)
#define KC_MUL(a, b) __dmul_rn (a, b)
#define KC_DIV(a, b) __ddiv_rn (a, b)
#define KC_SQRT(a) __dsqrt_rn (a)
#define KC_BITS(x) ((kc_u64)__double_as_longlong (x))
#define KC_FROM_BITS(x) __longlong_as_double ((kc_i64)(x))
#define KC_F32_BITS(x) ((kc_u64)__float_as_uint (__double2float_rn (x)))
#else
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
typedef uint64_t kc_u64;
typedef int64_t kc_i64;
typedef uint32_t kc_u32;
typedef uint8_t kc_u8;
#define KC_PHILOX_FN static inline
// Calls, not operators: a compiler may fuse within one expression, not across these.
static inline double kc_add_ (double a, double b)
{
    volatile double r = a + b;
    return r;
}
static inline double kc_mul_ (double a, double b)
{
    volatile double r = a * b;
    return r;
}
static inline kc_u64 kc_bits_ (double x)
{
    kc_u64 r;
    memcpy (&r, &x, sizeof r);
    return r;
}
static inline double kc_from_bits_ (kc_u64 x)
{
    double r;
    memcpy (&r, &x, sizeof r);
    return r;
}
static inline kc_u64 kc_f32_bits_ (double x)
{
    float f = (float)x;
    kc_u32 r;
    memcpy (&r, &f, sizeof r);
    return r;
}
#define KC_ADD(a, b) kc_add_ (a, b)
#define KC_MUL(a, b) kc_mul_ (a, b)
#define KC_DIV(a, b) ((a) / (b))
#define KC_SQRT(a) sqrt (a) // rounded to nearest by IEEE 754, one instruction
#define KC_BITS(x) kc_bits_ (x)
#define KC_FROM_BITS(x) kc_from_bits_ (x)
#define KC_F32_BITS(x) kc_f32_bits_ (x)
#endif

#define KC_GOLDEN ((kc_u64)0x9e3779b97f4a7c15ull)

enum kc_fill_kind { // numbers are passed to the device: never renumber
    KC_FILL_UNIFORM = 1, // a <= v < b
    KC_FILL_NORMAL = 2,  // mean a, standard deviation b
    KC_FILL_INTEGER = 3, // a <= v <= b, whole
    KC_FILL_BOOL = 4,    // 1 with probability a
    KC_FILL_PERMUTATION = 5, // of 0 .. elements - 1
    KC_FILL_CONSTANT = 6 // a
};

enum kc_fill_type { // element types; numbers are passed to the device
    KC_FILL_F64 = 1,
    KC_FILL_F32 = 2,
    KC_FILL_F16 = 3,
    KC_FILL_BF16 = 4,
    KC_FILL_F8E4M3 = 5, // beyond the largest finite value: that value
    KC_FILL_F8E5M2 = 6,
    KC_FILL_I64 = 7,
    KC_FILL_I32 = 8,
    KC_FILL_I16 = 9,
    KC_FILL_I8 = 10,
    KC_FILL_U32 = 11,
    KC_FILL_U16 = 12,
    KC_FILL_U8 = 13,
    KC_FILL_BOOLEAN = 14 // one byte, 0 or 1
};

typedef struct kc_fill {
    kc_u32 kind, type;
    double a, b;
    kc_u64 key, elements;
} kc_fill_t;

KC_PHILOX_FN kc_u64 kc_mix (kc_u64 x) // the finaliser of splitmix64: a bijection
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9ull;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

// Philox4x32 with ten rounds; the counter fills the low two words.
KC_PHILOX_FN void kc_philox (kc_u64 key, kc_u64 counter, kc_u32 out[4])
{
    kc_u32 c0 = (kc_u32)counter, c1 = (kc_u32)(counter >> 32), c2 = 0, c3 = 0;
    kc_u32 k0 = (kc_u32)key, k1 = (kc_u32)(key >> 32);
    for (int i = 0; i < 10; i++) {
        const kc_u64 p0 = (kc_u64)c0 * 0xD2511F53u, p1 = (kc_u64)c2 * 0xCD9E8D57u;
        c0 = (kc_u32)(p1 >> 32) ^ c1 ^ k0;
        c2 = (kc_u32)(p0 >> 32) ^ c3 ^ k1;
        c1 = (kc_u32)p1;
        c3 = (kc_u32)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

// Uniform in [0, 1) with 53 bits.
KC_PHILOX_FN double kc_unit (kc_u32 low, kc_u32 high)
{
    const kc_u64 bits = ((kc_u64)high << 32 | low) >> 11;
    return KC_MUL ((double)bits, 0x1p-53);
}

// Natural logarithm of 0 < x <= 1, good to 1e-15: exponent, then the series of artanh.
KC_PHILOX_FN double kc_log_ (double x)
{
    kc_u64 bits = KC_BITS (x);
    int exponent = (int)(bits >> 52) - 1022; // x = m 2^exponent, m in [0.5, 1)
    double m = KC_FROM_BITS ((bits & 0xfffffffffffffull) | 0x3fe0000000000000ull);
    if (m < 0.70710678118654752) {
        m = KC_MUL (m, 2.0);
        exponent -= 1;
    }
    const double s = KC_DIV (KC_ADD (m, -1.0), KC_ADD (m, 1.0));
    const double s2 = KC_MUL (s, s);
    double sum = 0.0;
    for (int k = 21; k >= 1; k -= 2)
        sum = KC_ADD (KC_MUL (sum, s2), KC_DIV (1.0, (double)k));
    return KC_ADD (KC_MUL ((double)exponent, 0.69314718055994531),
                   KC_MUL (KC_MUL (2.0, s), sum));
}

// cos (2 pi x) for 0 <= x < 1: a quarter turn and a Taylor series.
KC_PHILOX_FN double kc_cos_turn (double x)
{
    const double y = KC_MUL (x, 4.0);
    const int quarter = (int)y;
    double f = KC_ADD (y, -(double)quarter); // [0, 1) of a quarter
    if (quarter & 1)
        f = KC_ADD (1.0, -f);
    const double t = KC_MUL (f, 1.5707963267948966);
    const double t2 = KC_MUL (t, t);
    double sum = 1.0;
    for (int k = 20; k >= 2; k -= 2) // 1 - t2/2 (1 - t2/12 (1 - ...))
        sum = KC_ADD (1.0, -KC_DIV (KC_MUL (t2, sum), (double)(k * (k - 1))));
    return quarter == 1 || quarter == 2 ? -sum : sum;
}

// A bijection of 0 .. n - 1: four Feistel rounds on the next even power of two, walking back into the range.
KC_PHILOX_FN kc_u64 kc_permute (kc_u64 key, kc_u64 i, kc_u64 n)
{
    int half = 1;
    while (half < 31 && (1ull << (2 * half)) < n)
        half++;
    const kc_u64 mask = (1ull << half) - 1;
    do {
        kc_u64 left = i >> half, right = i & mask;
        for (int r = 0; r < 4; r++) {
            const kc_u64 next = left ^ (kc_mix (key + (kc_u64)r * KC_GOLDEN + right) & mask);
            left = right;
            right = next;
        }
        i = left << half | right;
    } while (i >= n);
    return i;
}

// The bits of x in a float of 'e' exponent and 'm' fraction bits, to nearest even; 'top' = largest finite
// bits, 'over' = what stands for more than that.
KC_PHILOX_FN kc_u64 kc_narrow (double x, int e, int m, kc_u64 top, kc_u64 over)
{
    const kc_u64 bits = KC_BITS (x);
    const kc_u64 sign = (bits >> 63) << (e + m);
    const int bias = (1 << (e - 1)) - 1;
    const int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
    if (exponent == 1024) // infinite or NaN never leaves the fills; kept finite all the same
        return sign | over;
    if (exponent < -bias - m - 1)
        return sign;
    const kc_u64 fraction = (bits & 0xfffffffffffffull) | 1ull << 52;
    int drop = 52 - m; // bits to lose
    kc_u64 base;
    if (exponent < 1 - bias) { // subnormal
        drop += 1 - bias - exponent;
        base = 0;
    }
    else
        base = (kc_u64)(exponent + bias - 1) << m; // the hidden bit adds the last one
    const kc_u64 kept = fraction >> drop;
    const kc_u64 rest = fraction & ((1ull << drop) - 1), middle = 1ull << (drop - 1);
    kc_u64 r = base + kept + (rest > middle || (rest == middle && (kept & 1)) ? 1 : 0);
    if (r > top)
        r = over;
    return sign | r;
}

KC_PHILOX_FN kc_u64 kc_whole (double x, double lo, double hi) // toward zero, kept in range
{
    return (kc_u64)(kc_i64)(x < lo ? lo : x > hi ? hi : x);
}

KC_PHILOX_FN kc_u64 kc_encode (kc_u32 type, double x)
{
    switch (type) {
    case KC_FILL_F64:
        return KC_BITS (x);
    case KC_FILL_F32:
        return KC_F32_BITS (x);
    case KC_FILL_F16:
        return kc_narrow (x, 5, 10, 0x7bff, 0x7c00);
    case KC_FILL_BF16:
        return kc_narrow (x, 8, 7, 0x7f7f, 0x7f80);
    case KC_FILL_F8E4M3:
        return kc_narrow (x, 4, 3, 0x7e, 0x7e);
    case KC_FILL_F8E5M2:
        return kc_narrow (x, 5, 2, 0x7b, 0x7b);
    case KC_FILL_I64:
        return kc_whole (x, -9223372036854774784.0, 9223372036854774784.0);
    case KC_FILL_I32:
        return kc_whole (x, -2147483648.0, 2147483647.0);
    case KC_FILL_I16:
        return kc_whole (x, -32768.0, 32767.0);
    case KC_FILL_I8:
        return kc_whole (x, -128.0, 127.0);
    case KC_FILL_U32:
        return kc_whole (x, 0.0, 4294967295.0);
    case KC_FILL_U16:
        return kc_whole (x, 0.0, 65535.0);
    case KC_FILL_U8:
        return kc_whole (x, 0.0, 255.0);
    default: // KC_FILL_BOOLEAN
        return x == 0.0 ? 0 : 1;
    }
}

KC_PHILOX_FN int kc_fill_size (kc_u32 type) // bytes of an element
{
    switch (type) {
    case KC_FILL_F64:
    case KC_FILL_I64:
        return 8;
    case KC_FILL_F32:
    case KC_FILL_I32:
    case KC_FILL_U32:
        return 4;
    case KC_FILL_F16:
    case KC_FILL_BF16:
    case KC_FILL_I16:
    case KC_FILL_U16:
        return 2;
    default:
        return 1;
    }
}

// The bits of element i, in the low bytes.
KC_PHILOX_FN kc_u64 kc_fill_element (const kc_fill_t *f, kc_u64 i)
{
    kc_u32 r[4];
    double x;
    kc_philox (f->key, i, r);
    switch (f->kind) {
    case KC_FILL_UNIFORM:
        x = KC_ADD (f->a, KC_MUL (KC_ADD (f->b, -f->a), kc_unit (r[0], r[1])));
        break;
    case KC_FILL_NORMAL: {
        // 1 - u lies in (0, 1], so the logarithm exists
        const double radius = KC_SQRT (KC_MUL (-2.0, kc_log_ (KC_ADD (1.0, -kc_unit (r[0], r[1])))));
        x = KC_ADD (f->a, KC_MUL (f->b, KC_MUL (radius, kc_cos_turn (kc_unit (r[2], r[3])))));
        break;
    }
    case KC_FILL_INTEGER: {
        const kc_i64 lo = (kc_i64)f->a, hi = (kc_i64)f->b;
        const kc_u64 span = (kc_u64)hi - (kc_u64)lo + 1;
        const kc_u64 bits = (kc_u64)r[1] << 32 | r[0];
        const kc_i64 v = (kc_i64)((kc_u64)lo + (span ? bits % span : bits));
        if (f->type == KC_FILL_I64) // a double would lose the low bits
            return (kc_u64)v;
        x = (double)v;
        break;
    }
    case KC_FILL_BOOL:
        x = kc_unit (r[0], r[1]) < f->a ? 1.0 : 0.0;
        break;
    case KC_FILL_PERMUTATION: {
        const kc_u64 v = kc_permute (f->key, i, f->elements);
        if (f->type == KC_FILL_I64)
            return v;
        x = (double)v;
        break;
    }
    default:
        x = f->a;
        break;
    }
    return kc_encode (f->type, x);
}

#ifndef __CUDACC__
// Fill 'data' (f->elements of kc_fill_size (f->type) bytes); needs a little-endian host, as every GPU host is.
static inline void kc_fill_host (const kc_fill_t *f, void *data)
{
    const size_t size = (size_t)kc_fill_size (f->type);
    for (kc_u64 i = 0; i < f->elements; i++) {
        const kc_u64 bits = kc_fill_element (f, i);
        memcpy ((char *)data + i * size, &bits, size);
    }
}

// The key of one tensor's content: the same tensor has the same content in every contestant's arena.
static inline kc_u64 kc_content_key (kc_u64 seed, const char *tensor)
{
    kc_u64 h = 0xcbf29ce484222325ull;
    for (; *tensor; tensor++)
        h = (h ^ (kc_u8)*tensor) * 0x100000001b3ull;
    return kc_mix (seed ^ kc_mix (h));
}

// The 64-bit hash of a stretch of bytes that devices report: sum of mix (word + place) over 8-byte words.
static inline kc_u64 kc_content_hash (const void *data, size_t size)
{
    const size_t whole = size / 8;
    kc_u64 sum = 0, last = 0;
    for (size_t i = 0; i < whole; i++) {
        kc_u64 word;
        memcpy (&word, (const char *)data + i * 8, 8);
        sum += kc_mix (word + (i + 1) * KC_GOLDEN);
    }
    if (size % 8)
        memcpy (&last, (const char *)data + whole * 8, size % 8);
    return sum + kc_mix (last + (whole + 1) * KC_GOLDEN) + kc_mix (size);
}
#endif

#endif // KC_PHILOX_H
