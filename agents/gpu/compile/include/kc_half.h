// kc_half.h: __half, __half2, __nv_bfloat16, __nv_bfloat162 with CUDA's names, written with inline assembly
//
// Half precision arithmetic is the hardware's.  bfloat16 has a fused multiply-add only before sm_90, so sums and
// products are that instruction with a factor of one or a sum of minus zero; the rounding is the same.
// Comparisons and special functions of both go through float.
#pragma once

#define KC_HFN __device__ static __forceinline__ KC_NODEBUG
#define KC_HMEM __device__ __forceinline__ KC_NODEBUG

struct __half_raw { unsigned short x; };
struct __nv_bfloat16_raw { unsigned short x; };

// ---- bits <-> float ----
KC_HFN unsigned short kc_f2h (float v) { unsigned short r; asm ("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(v)); return r; }
KC_HFN unsigned short kc_f2h_rz (float v) { unsigned short r; asm ("cvt.rz.f16.f32 %0, %1;" : "=h"(r) : "f"(v)); return r; }
KC_HFN unsigned short kc_f2h_rd (float v) { unsigned short r; asm ("cvt.rm.f16.f32 %0, %1;" : "=h"(r) : "f"(v)); return r; }
KC_HFN unsigned short kc_f2h_ru (float v) { unsigned short r; asm ("cvt.rp.f16.f32 %0, %1;" : "=h"(r) : "f"(v)); return r; }
KC_HFN float kc_h2f (unsigned short v) { float r; asm ("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(v)); return r; }
KC_HFN unsigned short kc_f2b (float v) { unsigned short r; asm ("cvt.rn.bf16.f32 %0, %1;" : "=h"(r) : "f"(v)); return r; }
KC_HFN unsigned short kc_f2b_rz (float v) { return (unsigned short)(v != v ? 0x7fff : __float_as_uint (v) >> 16); }
KC_HFN float kc_b2f (unsigned short v) { return __uint_as_float ((unsigned)v << 16); }

// ---- the scalar types ----
#define KC_HALF_TYPE(T, RAW, to, from)                                                         \
    struct __align__ (2) T {                                                                   \
        unsigned short __x;                                                                    \
        T () = default;                                                                        \
        KC_HMEM T (RAW r) : __x (r.x) {}                                                       \
        KC_HMEM T (float v) : __x (to (v)) {}                                                  \
        KC_HMEM T (double v) : __x (to ((float)v)) {}                                          \
        KC_HMEM T (int v) : __x (to ((float)v)) {}                                             \
        KC_HMEM T (unsigned v) : __x (to ((float)v)) {}                                        \
        KC_HMEM T (long v) : __x (to ((float)v)) {}                                            \
        KC_HMEM T (unsigned long v) : __x (to ((float)v)) {}                                   \
        KC_HMEM T (long long v) : __x (to ((float)v)) {}                                       \
        KC_HMEM T (unsigned long long v) : __x (to ((float)v)) {}                              \
        KC_HMEM operator float () const { return from (__x); }                                 \
        KC_HMEM operator RAW () const { RAW r; r.x = __x; return r; }                          \
        KC_HMEM explicit operator bool () const { return (__x & 0x7fff) != 0; }                \
        KC_HMEM T &operator= (float v) { __x = to (v); return *this; }                         \
        KC_HMEM T &operator= (double v) { __x = to ((float)v); return *this; }                 \
        KC_HMEM T &operator= (int v) { __x = to ((float)v); return *this; }                    \
    };                                                                                         \
    KC_HFN T kc_make_##T (unsigned short bits) { RAW r; r.x = bits; return T (r); }
KC_HALF_TYPE (__half, __half_raw, kc_f2h, kc_h2f)
KC_HALF_TYPE (__nv_bfloat16, __nv_bfloat16_raw, kc_f2b, kc_b2f)
typedef __half half;
typedef __half __nv_half;
typedef __half nv_half;
typedef __nv_bfloat16 nv_bfloat16;

#define KC_HALF2_TYPE(T2, T)                                                                   \
    struct __align__ (4) T2 {                                                                  \
        T x, y;                                                                                \
        T2 () = default;                                                                       \
        KC_HMEM T2 (const T &a, const T &b) : x (a), y (b) {}                                  \
    };                                                                                         \
    KC_HFN unsigned kc_bits (T2 v) { return (unsigned)v.x.__x | (unsigned)v.y.__x << 16; }     \
    KC_HFN T2 kc_make_##T2 (unsigned v)                                                        \
    { return T2 (kc_make_##T ((unsigned short)v), kc_make_##T ((unsigned short)(v >> 16))); }
KC_HALF2_TYPE (__half2, __half)
KC_HALF2_TYPE (__nv_bfloat162, __nv_bfloat16)
typedef __half2 half2;
typedef __nv_bfloat162 nv_bfloat162;
KC_HFN __half2 make_half2 (__half a, __half b) { return __half2 (a, b); }
KC_HFN __nv_bfloat162 make_bfloat162 (__nv_bfloat16 a, __nv_bfloat16 b) { return __nv_bfloat162 (a, b); }

// ---- arithmetic ----
#define KC_OP2(T, insn) { unsigned short r; asm (insn " %0, %1, %2;" : "=h"(r) : "h"(a.__x), "h"(b.__x)); return kc_make_##T (r); }
#define KC_OP3(T, insn) { unsigned short r; asm (insn " %0, %1, %2, %3;" : "=h"(r) : "h"(a.__x), "h"(b.__x), "h"(c.__x)); return kc_make_##T (r); }
#define KC_OP2X(T, insn) { unsigned r; asm (insn " %0, %1, %2;" : "=r"(r) : "r"(kc_bits (a)), "r"(kc_bits (b))); return kc_make_##T (r); }
#define KC_OP3X(T, insn) { unsigned r; asm (insn " %0, %1, %2, %3;" : "=r"(r) : "r"(kc_bits (a)), "r"(kc_bits (b)), "r"(kc_bits (c))); return kc_make_##T (r); }
KC_HFN __half __hadd (__half a, __half b) KC_OP2 (__half, "add.rn.f16")
KC_HFN __half __hsub (__half a, __half b) KC_OP2 (__half, "sub.rn.f16")
KC_HFN __half __hmul (__half a, __half b) KC_OP2 (__half, "mul.rn.f16")
KC_HFN __half __hfma (__half a, __half b, __half c) KC_OP3 (__half, "fma.rn.f16")
KC_HFN __half __hadd_sat (__half a, __half b) KC_OP2 (__half, "add.sat.f16")
KC_HFN __half __hmul_sat (__half a, __half b) KC_OP2 (__half, "mul.sat.f16")
KC_HFN __half __hfma_sat (__half a, __half b, __half c) KC_OP3 (__half, "fma.rn.sat.f16")
KC_HFN __half __hfma_relu (__half a, __half b, __half c) KC_OP3 (__half, "fma.rn.relu.f16")
KC_HFN __half __hmin (__half a, __half b) KC_OP2 (__half, "min.f16")
KC_HFN __half __hmax (__half a, __half b) KC_OP2 (__half, "max.f16")
KC_HFN __half __hmin_nan (__half a, __half b) KC_OP2 (__half, "min.NaN.f16")
KC_HFN __half __hmax_nan (__half a, __half b) KC_OP2 (__half, "max.NaN.f16")
KC_HFN __half2 __hadd2 (__half2 a, __half2 b) KC_OP2X (__half2, "add.rn.f16x2")
KC_HFN __half2 __hsub2 (__half2 a, __half2 b) KC_OP2X (__half2, "sub.rn.f16x2")
KC_HFN __half2 __hmul2 (__half2 a, __half2 b) KC_OP2X (__half2, "mul.rn.f16x2")
KC_HFN __half2 __hfma2 (__half2 a, __half2 b, __half2 c) KC_OP3X (__half2, "fma.rn.f16x2")
KC_HFN __half2 __hfma2_relu (__half2 a, __half2 b, __half2 c) KC_OP3X (__half2, "fma.rn.relu.f16x2")
KC_HFN __half2 __hmin2 (__half2 a, __half2 b) KC_OP2X (__half2, "min.f16x2")
KC_HFN __half2 __hmax2 (__half2 a, __half2 b) KC_OP2X (__half2, "max.f16x2")

KC_HFN __nv_bfloat16 __hfma (__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c) KC_OP3 (__nv_bfloat16, "fma.rn.bf16")
KC_HFN __nv_bfloat16 __hfma_relu (__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c) KC_OP3 (__nv_bfloat16, "fma.rn.relu.bf16")
KC_HFN __nv_bfloat16 __hmin (__nv_bfloat16 a, __nv_bfloat16 b) KC_OP2 (__nv_bfloat16, "min.bf16")
KC_HFN __nv_bfloat16 __hmax (__nv_bfloat16 a, __nv_bfloat16 b) KC_OP2 (__nv_bfloat16, "max.bf16")
KC_HFN __nv_bfloat16 __hmin_nan (__nv_bfloat16 a, __nv_bfloat16 b) KC_OP2 (__nv_bfloat16, "min.NaN.bf16")
KC_HFN __nv_bfloat16 __hmax_nan (__nv_bfloat16 a, __nv_bfloat16 b) KC_OP2 (__nv_bfloat16, "max.NaN.bf16")
KC_HFN __nv_bfloat162 __hfma2 (__nv_bfloat162 a, __nv_bfloat162 b, __nv_bfloat162 c) KC_OP3X (__nv_bfloat162, "fma.rn.bf16x2")
KC_HFN __nv_bfloat162 __hmin2 (__nv_bfloat162 a, __nv_bfloat162 b) KC_OP2X (__nv_bfloat162, "min.bf16x2")
KC_HFN __nv_bfloat162 __hmax2 (__nv_bfloat162 a, __nv_bfloat162 b) KC_OP2X (__nv_bfloat162, "max.bf16x2")
#define KC_B(bits) kc_make___nv_bfloat16 (bits)
#define KC_BB(bits) kc_make___nv_bfloat162 (bits)
KC_HFN __nv_bfloat16 __hadd (__nv_bfloat16 a, __nv_bfloat16 b) { return __hfma (a, KC_B (0x3f80), b); }
KC_HFN __nv_bfloat16 __hsub (__nv_bfloat16 a, __nv_bfloat16 b) { return __hfma (b, KC_B (0xbf80), a); }
KC_HFN __nv_bfloat16 __hmul (__nv_bfloat16 a, __nv_bfloat16 b) { return __hfma (a, b, KC_B (0x8000)); }
KC_HFN __nv_bfloat162 __hadd2 (__nv_bfloat162 a, __nv_bfloat162 b) { return __hfma2 (a, KC_BB (0x3f803f80), b); }
KC_HFN __nv_bfloat162 __hsub2 (__nv_bfloat162 a, __nv_bfloat162 b) { return __hfma2 (b, KC_BB (0xbf80bf80), a); }
KC_HFN __nv_bfloat162 __hmul2 (__nv_bfloat162 a, __nv_bfloat162 b) { return __hfma2 (a, b, KC_BB (0x80008000)); }

// ---- what is the same for both ----
#define KC_HALF_COMMON(T, T2, tof, fromf)                                                      \
    KC_HFN T __hadd_rn (T a, T b) { return __hadd (a, b); }                                    \
    KC_HFN T __hsub_rn (T a, T b) { return __hsub (a, b); }                                    \
    KC_HFN T __hmul_rn (T a, T b) { return __hmul (a, b); }                                    \
    KC_HFN T __hdiv (T a, T b) { return kc_make_##T (fromf (__fdiv_rn (tof (a.__x), tof (b.__x)))); } \
    KC_HFN T __hneg (T a) { return kc_make_##T ((unsigned short)(a.__x ^ 0x8000)); }           \
    KC_HFN T __habs (T a) { return kc_make_##T ((unsigned short)(a.__x & 0x7fff)); }           \
    KC_HFN bool __heq (T a, T b) { return tof (a.__x) == tof (b.__x); }                        \
    KC_HFN bool __hne (T a, T b) { return tof (a.__x) != tof (b.__x); }                        \
    KC_HFN bool __hlt (T a, T b) { return tof (a.__x) < tof (b.__x); }                         \
    KC_HFN bool __hle (T a, T b) { return tof (a.__x) <= tof (b.__x); }                        \
    KC_HFN bool __hgt (T a, T b) { return tof (a.__x) > tof (b.__x); }                         \
    KC_HFN bool __hge (T a, T b) { return tof (a.__x) >= tof (b.__x); }                        \
    KC_HFN bool __hisnan (T a) { float f = tof (a.__x); return f != f; }                       \
    KC_HFN int __hisinf (T a) { float f = tof (a.__x); return f == INFINITY ? 1 : f == -INFINITY ? -1 : 0; } \
    KC_HFN T2 __hdiv2 (T2 a, T2 b) { return T2 (__hdiv (a.x, b.x), __hdiv (a.y, b.y)); }       \
    KC_HFN T2 __hneg2 (T2 a) { return T2 (__hneg (a.x), __hneg (a.y)); }                       \
    KC_HFN T2 __habs2 (T2 a) { return T2 (__habs (a.x), __habs (a.y)); }                       \
    KC_HFN bool __hbeq2 (T2 a, T2 b) { return __heq (a.x, b.x) && __heq (a.y, b.y); }          \
    KC_HFN bool __hblt2 (T2 a, T2 b) { return __hlt (a.x, b.x) && __hlt (a.y, b.y); }          \
    KC_HFN bool __hbgt2 (T2 a, T2 b) { return __hgt (a.x, b.x) && __hgt (a.y, b.y); }          \
    KC_HFN T operator+ (const T &a, const T &b) { return __hadd (a, b); }                      \
    KC_HFN T operator- (const T &a, const T &b) { return __hsub (a, b); }                      \
    KC_HFN T operator* (const T &a, const T &b) { return __hmul (a, b); }                      \
    KC_HFN T operator/ (const T &a, const T &b) { return __hdiv (a, b); }                      \
    KC_HFN T operator- (const T &a) { return __hneg (a); }                                     \
    KC_HFN T operator+ (const T &a) { return a; }                                              \
    KC_HFN T &operator+= (T &a, const T &b) { return a = __hadd (a, b); }                      \
    KC_HFN T &operator-= (T &a, const T &b) { return a = __hsub (a, b); }                      \
    KC_HFN T &operator*= (T &a, const T &b) { return a = __hmul (a, b); }                      \
    KC_HFN T &operator/= (T &a, const T &b) { return a = __hdiv (a, b); }                      \
    KC_HFN bool operator== (const T &a, const T &b) { return __heq (a, b); }                   \
    KC_HFN bool operator!= (const T &a, const T &b) { return __hne (a, b); }                   \
    KC_HFN bool operator< (const T &a, const T &b) { return __hlt (a, b); }                    \
    KC_HFN bool operator<= (const T &a, const T &b) { return __hle (a, b); }                   \
    KC_HFN bool operator> (const T &a, const T &b) { return __hgt (a, b); }                    \
    KC_HFN bool operator>= (const T &a, const T &b) { return __hge (a, b); }                   \
    KC_HFN T2 operator+ (const T2 &a, const T2 &b) { return __hadd2 (a, b); }                  \
    KC_HFN T2 operator- (const T2 &a, const T2 &b) { return __hsub2 (a, b); }                  \
    KC_HFN T2 operator* (const T2 &a, const T2 &b) { return __hmul2 (a, b); }                  \
    KC_HFN T2 operator/ (const T2 &a, const T2 &b) { return __hdiv2 (a, b); }                  \
    KC_HFN T2 operator- (const T2 &a) { return __hneg2 (a); }                                  \
    KC_HFN T2 &operator+= (T2 &a, const T2 &b) { return a = __hadd2 (a, b); }                  \
    KC_HFN T2 &operator-= (T2 &a, const T2 &b) { return a = __hsub2 (a, b); }                  \
    KC_HFN T2 &operator*= (T2 &a, const T2 &b) { return a = __hmul2 (a, b); }                  \
    KC_HFN float __low2float (T2 a) { return tof (a.x.__x); }                                  \
    KC_HFN float __high2float (T2 a) { return tof (a.y.__x); }                                 \
    KC_HALF_MATH (T, T2, tof, fromf, exp, expf (v)) KC_HALF_MATH (T, T2, tof, fromf, exp2, exp2f (v)) \
    KC_HALF_MATH (T, T2, tof, fromf, exp10, exp10f (v)) KC_HALF_MATH (T, T2, tof, fromf, log, logf (v)) \
    KC_HALF_MATH (T, T2, tof, fromf, log2, log2f (v)) KC_HALF_MATH (T, T2, tof, fromf, log10, log10f (v)) \
    KC_HALF_MATH (T, T2, tof, fromf, sqrt, sqrtf (v)) KC_HALF_MATH (T, T2, tof, fromf, rsqrt, rsqrtf (v)) \
    KC_HALF_MATH (T, T2, tof, fromf, rcp, 1.0f / v) KC_HALF_MATH (T, T2, tof, fromf, sin, sinf (v)) \
    KC_HALF_MATH (T, T2, tof, fromf, cos, cosf (v)) KC_HALF_MATH (T, T2, tof, fromf, tanh, tanhf (v)) \
    KC_HALF_MATH (T, T2, tof, fromf, floor, floorf (v)) KC_HALF_MATH (T, T2, tof, fromf, ceil, ceilf (v)) \
    KC_HALF_MATH (T, T2, tof, fromf, trunc, truncf (v)) KC_HALF_MATH (T, T2, tof, fromf, rint, rintf (v)) \
    KC_HALF_SHUFFLE (T, T2, __shfl_sync, int) KC_HALF_SHUFFLE (T, T2, __shfl_up_sync, unsigned) \
    KC_HALF_SHUFFLE (T, T2, __shfl_down_sync, unsigned) KC_HALF_SHUFFLE (T, T2, __shfl_xor_sync, int) \
    KC_HALF_LOAD (T, T2, __ldg) KC_HALF_LOAD (T, T2, __ldcg) KC_HALF_LOAD (T, T2, __ldca) KC_HALF_LOAD (T, T2, __ldcs)
#define KC_HALF_MATH(T, T2, tof, fromf, name, body)                                            \
    KC_HFN T h##name (T a) { float v = tof (a.__x); return kc_make_##T (fromf (body)); }       \
    KC_HFN T2 h2##name (T2 a) { return T2 (h##name (a.x), h##name (a.y)); }
#define KC_HALF_SHUFFLE(T, T2, name, L)                                                        \
    KC_HFN T name (unsigned mask, T v, L lane, int width = 32) { return kc_make_##T ((unsigned short)name (mask, (unsigned)v.__x, lane, width)); } \
    KC_HFN T2 name (unsigned mask, T2 v, L lane, int width = 32) { return kc_make_##T2 (name (mask, kc_bits (v), lane, width)); }
#define KC_HALF_LOAD(T, T2, name)                                                              \
    KC_HFN T name (const T *p) { return kc_make_##T (name ((const unsigned short *)p)); }      \
    KC_HFN T2 name (const T2 *p) { return kc_make_##T2 (name ((const unsigned *)p)); }
KC_HALF_COMMON (__half, __half2, kc_h2f, kc_f2h)
KC_HALF_COMMON (__nv_bfloat16, __nv_bfloat162, kc_b2f, kc_f2b)

// ---- conversions ----
KC_HFN __half __float2half (float v) { return kc_make___half (kc_f2h (v)); }
KC_HFN __half __float2half_rn (float v) { return kc_make___half (kc_f2h (v)); }
KC_HFN __half __float2half_rz (float v) { return kc_make___half (kc_f2h_rz (v)); }
KC_HFN __half __float2half_rd (float v) { return kc_make___half (kc_f2h_rd (v)); }
KC_HFN __half __float2half_ru (float v) { return kc_make___half (kc_f2h_ru (v)); }
KC_HFN __half __double2half (double v) { return __float2half ((float)v); }
KC_HFN float __half2float (__half v) { return kc_h2f (v.__x); }
KC_HFN __half2 __float2half2_rn (float v) { return __half2 (__float2half (v), __float2half (v)); }
KC_HFN __half2 __floats2half2_rn (float a, float b)
{
    unsigned r;
    asm ("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(b), "f"(a)); // the first operand is the upper half
    return kc_make___half2 (r);
}
KC_HFN __half2 __float22half2_rn (float2 v) { return __floats2half2_rn (v.x, v.y); }
KC_HFN float2 __half22float2 (__half2 v) { return make_float2 (kc_h2f (v.x.__x), kc_h2f (v.y.__x)); }
KC_HFN __half __low2half (__half2 v) { return v.x; }
KC_HFN __half __high2half (__half2 v) { return v.y; }
KC_HFN __half2 __low2half2 (__half2 v) { return __half2 (v.x, v.x); }
KC_HFN __half2 __high2half2 (__half2 v) { return __half2 (v.y, v.y); }
KC_HFN __half2 __halves2half2 (__half a, __half b) { return __half2 (a, b); }
KC_HFN __half2 __half2half2 (__half a) { return __half2 (a, a); }
KC_HFN __half2 __lowhigh2highlow (__half2 v) { return __half2 (v.y, v.x); }
KC_HFN int __half2int_rn (__half v) { return __float2int_rn (kc_h2f (v.__x)); }
KC_HFN int __half2int_rz (__half v) { return __float2int_rz (kc_h2f (v.__x)); }
KC_HFN unsigned __half2uint_rn (__half v) { return __float2uint_rn (kc_h2f (v.__x)); }
KC_HFN __half __int2half_rn (int v) { __half r; asm ("cvt.rn.f16.s32 %0, %1;" : "=h"(r.__x) : "r"(v)); return r; }
KC_HFN __half __uint2half_rn (unsigned v) { __half r; asm ("cvt.rn.f16.u32 %0, %1;" : "=h"(r.__x) : "r"(v)); return r; }
KC_HFN short __half_as_short (__half v) { return (short)v.__x; }
KC_HFN unsigned short __half_as_ushort (__half v) { return v.__x; }
KC_HFN __half __short_as_half (short v) { return kc_make___half ((unsigned short)v); }
KC_HFN __half __ushort_as_half (unsigned short v) { return kc_make___half (v); }

KC_HFN __nv_bfloat16 __float2bfloat16 (float v) { return KC_B (kc_f2b (v)); }
KC_HFN __nv_bfloat16 __float2bfloat16_rn (float v) { return KC_B (kc_f2b (v)); }
KC_HFN __nv_bfloat16 __float2bfloat16_rz (float v) { return KC_B (kc_f2b_rz (v)); }
KC_HFN __nv_bfloat16 __double2bfloat16 (double v) { return __float2bfloat16 ((float)v); }
KC_HFN float __bfloat162float (__nv_bfloat16 v) { return kc_b2f (v.__x); }
KC_HFN __nv_bfloat162 __float2bfloat162_rn (float v) { return __nv_bfloat162 (__float2bfloat16 (v), __float2bfloat16 (v)); }
KC_HFN __nv_bfloat162 __floats2bfloat162_rn (float a, float b)
{
    unsigned r;
    asm ("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(b), "f"(a));
    return KC_BB (r);
}
KC_HFN __nv_bfloat162 __float22bfloat162_rn (float2 v) { return __floats2bfloat162_rn (v.x, v.y); }
KC_HFN float2 __bfloat1622float2 (__nv_bfloat162 v) { return make_float2 (kc_b2f (v.x.__x), kc_b2f (v.y.__x)); }
KC_HFN __nv_bfloat16 __low2bfloat16 (__nv_bfloat162 v) { return v.x; }
KC_HFN __nv_bfloat16 __high2bfloat16 (__nv_bfloat162 v) { return v.y; }
KC_HFN __nv_bfloat162 __low2bfloat162 (__nv_bfloat162 v) { return __nv_bfloat162 (v.x, v.x); }
KC_HFN __nv_bfloat162 __high2bfloat162 (__nv_bfloat162 v) { return __nv_bfloat162 (v.y, v.y); }
KC_HFN __nv_bfloat162 __halves2bfloat162 (__nv_bfloat16 a, __nv_bfloat16 b) { return __nv_bfloat162 (a, b); }
KC_HFN __nv_bfloat162 __bfloat162bfloat162 (__nv_bfloat16 a) { return __nv_bfloat162 (a, a); }
KC_HFN __nv_bfloat162 __lowhigh2highlow (__nv_bfloat162 v) { return __nv_bfloat162 (v.y, v.x); }
KC_HFN int __bfloat162int_rn (__nv_bfloat16 v) { return __float2int_rn (kc_b2f (v.__x)); }
KC_HFN int __bfloat162int_rz (__nv_bfloat16 v) { return __float2int_rz (kc_b2f (v.__x)); }
KC_HFN __nv_bfloat16 __int2bfloat16_rn (int v) { return __float2bfloat16 (__int2float_rn (v)); }
KC_HFN short __bfloat16_as_short (__nv_bfloat16 v) { return (short)v.__x; }
KC_HFN unsigned short __bfloat16_as_ushort (__nv_bfloat16 v) { return v.__x; }
KC_HFN __nv_bfloat16 __short_as_bfloat16 (short v) { return KC_B ((unsigned short)v); }
KC_HFN __nv_bfloat16 __ushort_as_bfloat16 (unsigned short v) { return KC_B (v); }

// ---- atomics ----
KC_HFN __half atomicAdd (__half *p, __half v)
{
    unsigned short r;
    asm volatile ("atom.add.noftz.f16 %0, [%1], %2;" : "=h"(r) : "l"(p), "h"(v.__x) : "memory");
    return kc_make___half (r);
}
KC_HFN __half2 atomicAdd (__half2 *p, __half2 v)
{
    unsigned r;
    asm volatile ("atom.add.noftz.f16x2 %0, [%1], %2;" : "=r"(r) : "l"(p), "r"(kc_bits (v)) : "memory");
    return kc_make___half2 (r);
}
KC_HFN __nv_bfloat162 atomicAdd (__nv_bfloat162 *p, __nv_bfloat162 v)
{
    unsigned seen = *(volatile unsigned *)p, old;
    do {
        old = seen;
        seen = atomicCAS ((unsigned *)p, old, kc_bits (__hadd2 (KC_BB (old), v)));
    } while (seen != old);
    return KC_BB (old);
}
KC_HFN __nv_bfloat16 atomicAdd (__nv_bfloat16 *p, __nv_bfloat16 v)
{
    unsigned short seen = *(volatile unsigned short *)p, old;
    do {
        old = seen;
        seen = atomicCAS ((unsigned short *)p, old, __hadd (KC_B (old), v).__x);
    } while (seen != old);
    return KC_B (old);
}
