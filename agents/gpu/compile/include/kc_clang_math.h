// kc_clang_math.h: the math library.  Functions without an instruction of their own stay calls to symbols of
// the same name, which the virtual GPU provides; they are declared under other names so that the compiler
// does not take them for its own built-ins.
#pragma once

#define KC_EXT extern "C" __device__ __attribute__ ((const))

template <bool B, class T> struct kc_if {};
template <class T> struct kc_if<true, T> { typedef T type; };
template <class T> struct kc_is_int { enum { value = false }; };
#define KC_IS_INT(T) template <> struct kc_is_int<T> { enum { value = true }; };
KC_IS_INT (bool) KC_IS_INT (char) KC_IS_INT (signed char) KC_IS_INT (unsigned char) KC_IS_INT (short)
KC_IS_INT (unsigned short) KC_IS_INT (int) KC_IS_INT (unsigned) KC_IS_INT (long) KC_IS_INT (unsigned long)
KC_IS_INT (long long) KC_IS_INT (unsigned long long)
#define KC_DBL(T) typename kc_if<kc_is_int<T>::value, double>::type
#define KC_DBL2(A, B) typename kc_if<(kc_is_int<A>::value || kc_is_int<B>::value || sizeof (A) != sizeof (B)), double>::type

// One argument: f(float) as NAMEf and as overload NAME, f(double), integers as double.
#define KC_M1_FACE(name)                                                                       \
    KC_FN float name (float x) { return name##f (x); }                                         \
    template <class T> KC_FN KC_DBL (T) name (T x) { return name ((double)x); }
#define KC_M1(name)                                                                            \
    KC_EXT float kc_m_##name##f (float) __asm__ (#name "f");                                   \
    KC_EXT double kc_m_##name (double) __asm__ (#name);                                        \
    KC_FN float name##f (float x) { return kc_m_##name##f (x); }                               \
    KC_FN double name (double x) { return kc_m_##name (x); }                                   \
    KC_M1_FACE (name)
// Fast math turns some of the float forms into hardware approximations.
#ifdef KC_FAST_MATH
#define KC_M1_FAST(name, fast)                                                                 \
    KC_EXT double kc_m_##name (double) __asm__ (#name);                                        \
    KC_FN float fast (float);                                                                  \
    KC_FN float name##f (float x) { return fast (x); }                                         \
    KC_FN double name (double x) { return kc_m_##name (x); }                                   \
    KC_M1_FACE (name)
#else
#define KC_M1_FAST(name, fast) KC_M1 (name)
#endif
#define KC_M2_FACE(name)                                                                       \
    KC_FN float name (float x, float y) { return name##f (x, y); }                             \
    template <class A, class B> KC_FN KC_DBL2 (A, B) name (A x, B y) { return name ((double)x, (double)y); }
#define KC_M2(name)                                                                            \
    KC_EXT float kc_m_##name##f (float, float) __asm__ (#name "f");                            \
    KC_EXT double kc_m_##name (double, double) __asm__ (#name);                                \
    KC_FN float name##f (float x, float y) { return kc_m_##name##f (x, y); }                   \
    KC_FN double name (double x, double y) { return kc_m_##name (x, y); }                      \
    KC_M2_FACE (name)

KC_M1_FAST (exp, __expf) KC_M1_FAST (log, __logf) KC_M1_FAST (log2, __log2f) KC_M1_FAST (log10, __log10f)
KC_M1_FAST (sin, __sinf) KC_M1_FAST (cos, __cosf) KC_M1_FAST (tan, __tanf) KC_M1_FAST (exp10, __exp10f)
KC_M1 (exp2) KC_M1 (expm1) KC_M1 (log1p) KC_M1 (logb) KC_M1 (asin) KC_M1 (acos) KC_M1 (atan) KC_M1 (sinh)
KC_M1 (cosh) KC_M1 (asinh) KC_M1 (acosh) KC_M1 (atanh) KC_M1 (erf) KC_M1 (erfc) KC_M1 (erfinv)
KC_M1 (normcdf) KC_M1 (tgamma) KC_M1 (lgamma) KC_M1 (cbrt) KC_M1 (rcbrt) KC_M1 (sinpi) KC_M1 (cospi)
KC_M2 (atan2) KC_M2 (fmod) KC_M2 (remainder) KC_M2 (hypot) KC_M2 (nextafter)

#ifdef KC_FAST_MATH
KC_FN float tanhf (float x) { float r; asm ("tanh.approx.f32 %0, %1;" : "=f"(r) : "f"(x)); return r; }
#else
KC_EXT float kc_m_tanhf (float) __asm__ ("tanhf");
KC_FN float tanhf (float x) { return kc_m_tanhf (x); }
#endif
KC_EXT double kc_m_tanh (double) __asm__ ("tanh");
KC_FN double tanh (double x) { return kc_m_tanh (x); }
KC_M1_FACE (tanh)

KC_EXT float kc_m_powf (float, float) __asm__ ("powf");
KC_EXT double kc_m_pow (double, double) __asm__ ("pow");
KC_FN float __powf (float, float);
KC_FN float powf (float x, float y)
{
#ifdef KC_FAST_MATH
    return __powf (x, y);
#else
    if (__builtin_constant_p (y) && y == 2.0f)
        return x * x;
    return kc_m_powf (x, y);
#endif
}
KC_FN double pow (double x, double y) { return kc_m_pow (x, y); }
KC_FN float pow (float x, int y) { return powf (x, (float)y); }
KC_FN double pow (double x, int y) { return pow (x, (double)y); }
KC_M2_FACE (pow)

// With an instruction: square roots, rounding, sign, minimum and maximum, fused multiply-add.
#ifdef KC_FAST_MATH
KC_FN float sqrtf (float x) { return __nvvm_sqrt_approx_ftz_f (x); }
#else
KC_FN float sqrtf (float x) { return __nvvm_sqrt_rn_f (x); }
#endif
KC_FN double sqrt (double x) { return __nvvm_sqrt_rn_d (x); }
KC_M1_FACE (sqrt)
KC_FN float rsqrtf (float x) { return __nvvm_rsqrt_approx_f (x); }
KC_FN double rsqrt (double x) { return 1.0 / __nvvm_sqrt_rn_d (x); }
KC_M1_FACE (rsqrt)
KC_FN float fabsf (float x) { return __builtin_fabsf (x); }
KC_FN double fabs (double x) { return __builtin_fabs (x); }
KC_M1_FACE (fabs)
KC_FN float floorf (float x) { return __nvvm_floor_f (x); }
KC_FN double floor (double x) { return __nvvm_floor_d (x); }
KC_M1_FACE (floor)
KC_FN float ceilf (float x) { return __nvvm_ceil_f (x); }
KC_FN double ceil (double x) { return __nvvm_ceil_d (x); }
KC_M1_FACE (ceil)
KC_FN float truncf (float x) { return __nvvm_trunc_f (x); }
KC_FN double trunc (double x) { return __nvvm_trunc_d (x); }
KC_M1_FACE (trunc)
KC_FN float rintf (float x) { float r; asm ("cvt.rni.f32.f32 %0, %1;" : "=f"(r) : "f"(x)); return r; }
KC_FN double rint (double x) { double r; asm ("cvt.rni.f64.f64 %0, %1;" : "=d"(r) : "d"(x)); return r; }
KC_M1_FACE (rint)
KC_FN float nearbyintf (float x) { return rintf (x); }
KC_FN double nearbyint (double x) { return rint (x); }
KC_M1_FACE (nearbyint)
KC_FN float copysignf (float x, float y) { return __builtin_copysignf (x, y); }
KC_FN double copysign (double x, double y) { return __builtin_copysign (x, y); }
KC_M2_FACE (copysign)
KC_FN float roundf (float x)
{
    float t = truncf (x);
    if (fabsf (x - t) >= 0.5f)
        t += copysignf (1.0f, x);
    return copysignf (t, x);
}
KC_FN double round (double x)
{
    double t = trunc (x);
    if (fabs (x - t) >= 0.5)
        t += copysign (1.0, x);
    return copysign (t, x);
}
KC_M1_FACE (round)
KC_FN float fminf (float x, float y) { return __nvvm_fmin_f (x, y); }
KC_FN double fmin (double x, double y) { return __nvvm_fmin_d (x, y); }
KC_M2_FACE (fmin)
KC_FN float fmaxf (float x, float y) { return __nvvm_fmax_f (x, y); }
KC_FN double fmax (double x, double y) { return __nvvm_fmax_d (x, y); }
KC_M2_FACE (fmax)
KC_FN float fdimf (float x, float y) { return x > y || x != x || y != y ? x - y : 0.0f; }
KC_FN double fdim (double x, double y) { return x > y || x != x || y != y ? x - y : 0.0; }
KC_M2_FACE (fdim)
KC_FN float fmaf (float x, float y, float z) { return __nvvm_fma_rn_f (x, y, z); }
KC_FN double fma (double x, double y, double z) { return __nvvm_fma_rn_d (x, y, z); }
KC_FN float fma (float x, float y, float z) { return __nvvm_fma_rn_f (x, y, z); }
KC_FN long lroundf (float x) { return (long)roundf (x); }
KC_FN long lround (double x) { return (long)round (x); }
KC_FN long lround (float x) { return (long)roundf (x); }
KC_FN long long llroundf (float x) { return (long long)roundf (x); }
KC_FN long long llround (double x) { return (long long)round (x); }
KC_FN long lrintf (float x) { return (long)rintf (x); }
KC_FN long lrint (double x) { return (long)rint (x); }
KC_FN long lrint (float x) { return (long)rintf (x); }
KC_FN long long llrintf (float x) { return (long long)rintf (x); }
KC_FN long long llrint (double x) { return (long long)rint (x); }

KC_EXT float kc_m_ldexpf (float, int) __asm__ ("ldexpf");
KC_EXT double kc_m_ldexp (double, int) __asm__ ("ldexp");
KC_FN float ldexpf (float x, int e) { return kc_m_ldexpf (x, e); }
KC_FN double ldexp (double x, int e) { return kc_m_ldexp (x, e); }
KC_FN float ldexp (float x, int e) { return kc_m_ldexpf (x, e); }
KC_FN float scalbnf (float x, int e) { return kc_m_ldexpf (x, e); }
KC_FN double scalbn (double x, int e) { return kc_m_ldexp (x, e); }
KC_FN float scalbn (float x, int e) { return kc_m_ldexpf (x, e); }
KC_FN int ilogbf (float x)
{
    unsigned e = (__builtin_bit_cast (unsigned, x) >> 23) & 255;
    if (e == 255)
        return x != x ? (-2147483647 - 1) : 2147483647;
    if (e == 0) {
        unsigned m = __builtin_bit_cast (unsigned, x) & 0x7fffff;
        return m ? -118 - __builtin_clz (m) : (-2147483647 - 1);
    }
    return (int)e - 127;
}
KC_FN float frexpf (float x, int *e)
{
    if (x == 0.0f || x != x || fabsf (x) == __builtin_huge_valf ()) {
        *e = 0;
        return x;
    }
    *e = ilogbf (x) + 1;
    return kc_m_ldexpf (x, -*e);
}
KC_FN float modff (float x, float *whole) { *whole = truncf (x); return copysignf (fabsf (x) == __builtin_huge_valf () ? 0.0f : x - *whole, x); }
KC_FN double modf (double x, double *whole) { *whole = trunc (x); return copysign (fabs (x) == __builtin_huge_val () ? 0.0 : x - *whole, x); }
KC_FN void sincosf (float x, float *s, float *c) { *s = sinf (x); *c = cosf (x); }
KC_FN void sincos (double x, double *s, double *c) { *s = sin (x); *c = cos (x); }
KC_FN void sincospif (float x, float *s, float *c) { *s = sinpif (x); *c = cospif (x); }
KC_FN void sincospi (double x, double *s, double *c) { *s = sinpi (x); *c = cospi (x); }
KC_FN float rhypotf (float x, float y) { return 1.0f / hypotf (x, y); }
KC_FN float norm3df (float a, float b, float c) { return sqrtf (a * a + b * b + c * c); }
KC_FN float rnorm3df (float a, float b, float c) { return rsqrtf (a * a + b * b + c * c); }
KC_FN float norm4df (float a, float b, float c, float d) { return sqrtf (a * a + b * b + c * c + d * d); }
KC_FN float fdividef (float x, float y);

#define KC_CLASSIFY(T, bits, U, inf)                                                           \
    KC_FN bool isnan (T x) { return x != x; }                                                  \
    KC_FN bool isinf (T x) { return __builtin_fabs (x) == inf; }                               \
    KC_FN bool isfinite (T x) { return __builtin_fabs (x) < inf; }                             \
    KC_FN bool signbit (T x) { return __builtin_bit_cast (U, x) >> (bits - 1); }              
KC_CLASSIFY (float, 32, unsigned, __builtin_huge_val ())
KC_CLASSIFY (double, 64, unsigned long long, __builtin_huge_val ())
KC_FN float nanf (const char *) { return __builtin_nanf (""); }
KC_FN double nan (const char *) { return __builtin_nan (""); }

KC_FN int abs (int x) { return x < 0 ? -x : x; }
KC_FN long abs (long x) { return x < 0 ? -x : x; }
KC_FN long long abs (long long x) { return x < 0 ? -x : x; }
KC_FN float abs (float x) { return __builtin_fabsf (x); }
KC_FN double abs (double x) { return __builtin_fabs (x); }
KC_FN long labs (long x) { return x < 0 ? -x : x; }
KC_FN long long llabs (long long x) { return x < 0 ? -x : x; }

// min and max: same type, the usual mixtures of signedness and width, floats with integers.
#define KC_MINMAX(A, B, R)                                                                     \
    KC_FN R min (A a, B b) { return (R)a < (R)b ? (R)a : (R)b; }                               \
    KC_FN R max (A a, B b) { return (R)a > (R)b ? (R)a : (R)b; }
#define KC_MINMAX_2(A, B, R) KC_MINMAX (A, B, R) KC_MINMAX (B, A, R)
KC_MINMAX (int, int, int)
KC_MINMAX (unsigned, unsigned, unsigned)
KC_MINMAX_2 (int, unsigned, unsigned)
KC_MINMAX (long, long, long)
KC_MINMAX (unsigned long, unsigned long, unsigned long)
KC_MINMAX_2 (long, unsigned long, unsigned long)
KC_MINMAX (long long, long long, long long)
KC_MINMAX (unsigned long long, unsigned long long, unsigned long long)
KC_MINMAX_2 (long long, unsigned long long, unsigned long long)
KC_FN float min (float a, float b) { return __nvvm_fmin_f (a, b); }
KC_FN float max (float a, float b) { return __nvvm_fmax_f (a, b); }
KC_FN double min (double a, double b) { return __nvvm_fmin_d (a, b); }
KC_FN double max (double a, double b) { return __nvvm_fmax_d (a, b); }
KC_FN double min (float a, double b) { return __nvvm_fmin_d (a, b); }
KC_FN double max (float a, double b) { return __nvvm_fmax_d (a, b); }
KC_FN double min (double a, float b) { return __nvvm_fmin_d (a, b); }
KC_FN double max (double a, float b) { return __nvvm_fmax_d (a, b); }
KC_FN unsigned umin (unsigned a, unsigned b) { return min (a, b); }
KC_FN unsigned umax (unsigned a, unsigned b) { return max (a, b); }
KC_FN long long llmin (long long a, long long b) { return min (a, b); }
KC_FN long long llmax (long long a, long long b) { return max (a, b); }

// Fast forms and forms with a rounding.
KC_FN float __expf (float x) { return __nvvm_ex2_approx_f (x * 1.4426950408889634f); }
KC_FN float __exp10f (float x) { return __nvvm_ex2_approx_f (x * 3.3219280948873623f); }
KC_FN float __exp2f (float x) { return __nvvm_ex2_approx_f (x); }
KC_FN float __log2f (float x) { return __nvvm_lg2_approx_f (x); }
KC_FN float __logf (float x) { return __nvvm_lg2_approx_f (x) * 0.6931471805599453f; }
KC_FN float __log10f (float x) { return __nvvm_lg2_approx_f (x) * 0.3010299956639812f; }
KC_FN float __sinf (float x) { return __nvvm_sin_approx_f (x); }
KC_FN float __cosf (float x) { return __nvvm_cos_approx_f (x); }
KC_FN float __fdividef (float x, float y) { float r; asm ("div.approx.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y)); return r; }
KC_FN float fdividef (float x, float y) { return __fdividef (x, y); }
KC_FN float __tanf (float x) { return __fdividef (__sinf (x), __cosf (x)); }
KC_FN float __powf (float x, float y) { return __nvvm_ex2_approx_f (y * __nvvm_lg2_approx_f (x)); }
KC_FN void __sincosf (float x, float *s, float *c) { *s = __sinf (x); *c = __cosf (x); }
KC_FN float __saturatef (float x) { return __nvvm_saturate_f (x); }
KC_FN float __tanhf (float x) { float r; asm ("tanh.approx.f32 %0, %1;" : "=f"(r) : "f"(x)); return r; }
KC_FN float __frsqrt_rn (float x) { return 1.0f / __nvvm_sqrt_rn_f (x); }

#define KC_ROUNDED(s)                                                                          \
    KC_FN float __fadd_r##s (float x, float y) { float r; asm ("add.r" #s ".f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y)); return r; } \
    KC_FN float __fsub_r##s (float x, float y) { float r; asm ("sub.r" #s ".f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y)); return r; } \
    KC_FN float __fmul_r##s (float x, float y) { float r; asm ("mul.r" #s ".f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y)); return r; } \
    KC_FN float __fdiv_r##s (float x, float y) { float r; asm ("div.r" #s ".f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y)); return r; } \
    KC_FN float __fmaf_r##s (float x, float y, float z) { float r; asm ("fma.r" #s ".f32 %0, %1, %2, %3;" : "=f"(r) : "f"(x), "f"(y), "f"(z)); return r; } \
    KC_FN float __frcp_r##s (float x) { float r; asm ("rcp.r" #s ".f32 %0, %1;" : "=f"(r) : "f"(x)); return r; } \
    KC_FN float __fsqrt_r##s (float x) { float r; asm ("sqrt.r" #s ".f32 %0, %1;" : "=f"(r) : "f"(x)); return r; } \
    KC_FN double __dadd_r##s (double x, double y) { double r; asm ("add.r" #s ".f64 %0, %1, %2;" : "=d"(r) : "d"(x), "d"(y)); return r; } \
    KC_FN double __dsub_r##s (double x, double y) { double r; asm ("sub.r" #s ".f64 %0, %1, %2;" : "=d"(r) : "d"(x), "d"(y)); return r; } \
    KC_FN double __dmul_r##s (double x, double y) { double r; asm ("mul.r" #s ".f64 %0, %1, %2;" : "=d"(r) : "d"(x), "d"(y)); return r; } \
    KC_FN double __ddiv_r##s (double x, double y) { double r; asm ("div.r" #s ".f64 %0, %1, %2;" : "=d"(r) : "d"(x), "d"(y)); return r; } \
    KC_FN double __fma_r##s (double x, double y, double z) { double r; asm ("fma.r" #s ".f64 %0, %1, %2, %3;" : "=d"(r) : "d"(x), "d"(y), "d"(z)); return r; } \
    KC_FN double __drcp_r##s (double x) { double r; asm ("rcp.r" #s ".f64 %0, %1;" : "=d"(r) : "d"(x)); return r; } \
    KC_FN double __dsqrt_r##s (double x) { double r; asm ("sqrt.r" #s ".f64 %0, %1;" : "=d"(r) : "d"(x)); return r; } \
    KC_FN int __float2int_r##s (float x) { int r; asm ("cvt.r" #s "i.s32.f32 %0, %1;" : "=r"(r) : "f"(x)); return r; } \
    KC_FN unsigned __float2uint_r##s (float x) { unsigned r; asm ("cvt.r" #s "i.u32.f32 %0, %1;" : "=r"(r) : "f"(x)); return r; } \
    KC_FN long long __float2ll_r##s (float x) { long long r; asm ("cvt.r" #s "i.s64.f32 %0, %1;" : "=l"(r) : "f"(x)); return r; } \
    KC_FN unsigned long long __float2ull_r##s (float x) { unsigned long long r; asm ("cvt.r" #s "i.u64.f32 %0, %1;" : "=l"(r) : "f"(x)); return r; } \
    KC_FN int __double2int_r##s (double x) { int r; asm ("cvt.r" #s "i.s32.f64 %0, %1;" : "=r"(r) : "d"(x)); return r; } \
    KC_FN unsigned __double2uint_r##s (double x) { unsigned r; asm ("cvt.r" #s "i.u32.f64 %0, %1;" : "=r"(r) : "d"(x)); return r; } \
    KC_FN long long __double2ll_r##s (double x) { long long r; asm ("cvt.r" #s "i.s64.f64 %0, %1;" : "=l"(r) : "d"(x)); return r; } \
    KC_FN unsigned long long __double2ull_r##s (double x) { unsigned long long r; asm ("cvt.r" #s "i.u64.f64 %0, %1;" : "=l"(r) : "d"(x)); return r; } \
    KC_FN float __double2float_r##s (double x) { float r; asm ("cvt.r" #s ".f32.f64 %0, %1;" : "=f"(r) : "d"(x)); return r; } \
    KC_FN float __int2float_r##s (int x) { float r; asm ("cvt.r" #s ".f32.s32 %0, %1;" : "=f"(r) : "r"(x)); return r; } \
    KC_FN float __uint2float_r##s (unsigned x) { float r; asm ("cvt.r" #s ".f32.u32 %0, %1;" : "=f"(r) : "r"(x)); return r; } \
    KC_FN float __ll2float_r##s (long long x) { float r; asm ("cvt.r" #s ".f32.s64 %0, %1;" : "=f"(r) : "l"(x)); return r; } \
    KC_FN float __ull2float_r##s (unsigned long long x) { float r; asm ("cvt.r" #s ".f32.u64 %0, %1;" : "=f"(r) : "l"(x)); return r; } \
    KC_FN double __ll2double_r##s (long long x) { double r; asm ("cvt.r" #s ".f64.s64 %0, %1;" : "=d"(r) : "l"(x)); return r; } \
    KC_FN double __ull2double_r##s (unsigned long long x) { double r; asm ("cvt.r" #s ".f64.u64 %0, %1;" : "=d"(r) : "l"(x)); return r; }
// PTX writes "towards minus infinity" as rm and "towards plus infinity" as rp; CUDA's names are rd and ru.
KC_ROUNDED (n) KC_ROUNDED (z)
#define KC_ROUNDED_AS(T, cuda, op, ptx, c, A)                                                  \
    KC_FN T cuda (T x, T y) { T r; asm (ptx " %0, %1, %2;" : "=" c (r) : c (x), c (y)); return r; }
KC_ROUNDED_AS (float, __fadd_rd, add, "add.rm.f32", "f", 2) KC_ROUNDED_AS (float, __fadd_ru, add, "add.rp.f32", "f", 2)
KC_ROUNDED_AS (float, __fsub_rd, sub, "sub.rm.f32", "f", 2) KC_ROUNDED_AS (float, __fsub_ru, sub, "sub.rp.f32", "f", 2)
KC_ROUNDED_AS (float, __fmul_rd, mul, "mul.rm.f32", "f", 2) KC_ROUNDED_AS (float, __fmul_ru, mul, "mul.rp.f32", "f", 2)
KC_ROUNDED_AS (float, __fdiv_rd, div, "div.rm.f32", "f", 2) KC_ROUNDED_AS (float, __fdiv_ru, div, "div.rp.f32", "f", 2)
KC_ROUNDED_AS (double, __dadd_rd, add, "add.rm.f64", "d", 2) KC_ROUNDED_AS (double, __dadd_ru, add, "add.rp.f64", "d", 2)
KC_ROUNDED_AS (double, __dmul_rd, mul, "mul.rm.f64", "d", 2) KC_ROUNDED_AS (double, __dmul_ru, mul, "mul.rp.f64", "d", 2)
#define KC_CONVERT(R, name, A, ptx, rc, ac)                                                    \
    KC_FN R name (A x) { R r; asm (ptx " %0, %1;" : "=" rc (r) : ac (x)); return r; }
KC_CONVERT (int, __float2int_rd, float, "cvt.rmi.s32.f32", "r", "f") KC_CONVERT (int, __float2int_ru, float, "cvt.rpi.s32.f32", "r", "f")
KC_CONVERT (unsigned, __float2uint_rd, float, "cvt.rmi.u32.f32", "r", "f") KC_CONVERT (unsigned, __float2uint_ru, float, "cvt.rpi.u32.f32", "r", "f")
KC_CONVERT (int, __double2int_rd, double, "cvt.rmi.s32.f64", "r", "d") KC_CONVERT (int, __double2int_ru, double, "cvt.rpi.s32.f64", "r", "d")
KC_CONVERT (long long, __double2ll_rd, double, "cvt.rmi.s64.f64", "l", "d") KC_CONVERT (long long, __double2ll_ru, double, "cvt.rpi.s64.f64", "l", "d")
KC_CONVERT (float, __double2float_rd, double, "cvt.rm.f32.f64", "f", "d") KC_CONVERT (float, __double2float_ru, double, "cvt.rp.f32.f64", "f", "d")
KC_CONVERT (float, __int2float_rd, int, "cvt.rm.f32.s32", "f", "r") KC_CONVERT (float, __int2float_ru, int, "cvt.rp.f32.s32", "f", "r")
KC_CONVERT (float, __frcp_rd, float, "rcp.rm.f32", "f", "f") KC_CONVERT (float, __frcp_ru, float, "rcp.rp.f32", "f", "f")
KC_CONVERT (float, __fsqrt_rd, float, "sqrt.rm.f32", "f", "f") KC_CONVERT (float, __fsqrt_ru, float, "sqrt.rp.f32", "f", "f")
KC_FN double __int2double_rn (int x) { return (double)x; }
KC_FN double __uint2double_rn (unsigned x) { return (double)x; }

KC_FN int __float_as_int (float x) { return __builtin_bit_cast (int, x); }
KC_FN unsigned __float_as_uint (float x) { return __builtin_bit_cast (unsigned, x); }
KC_FN float __int_as_float (int x) { return __builtin_bit_cast (float, x); }
KC_FN float __uint_as_float (unsigned x) { return __builtin_bit_cast (float, x); }
KC_FN long long __double_as_longlong (double x) { return __builtin_bit_cast (long long, x); }
KC_FN double __longlong_as_double (long long x) { return __builtin_bit_cast (double, x); }
KC_FN int __double2hiint (double x) { return (int)(__builtin_bit_cast (unsigned long long, x) >> 32); }
KC_FN int __double2loint (double x) { return (int)__builtin_bit_cast (unsigned long long, x); }
KC_FN double __hiloint2double (int hi, int lo) { return __builtin_bit_cast (double, ((unsigned long long)(unsigned)hi << 32) | (unsigned)lo); }

// Integers.
KC_FN int __popc (unsigned x) { return __builtin_popcount (x); }
KC_FN int __popcll (unsigned long long x) { return __builtin_popcountll (x); }
KC_FN int __clz (int x) { int r; asm ("clz.b32 %0, %1;" : "=r"(r) : "r"(x)); return r; }
KC_FN int __clzll (long long x) { int r; asm ("clz.b64 %0, %1;" : "=r"(r) : "l"(x)); return r; }
KC_FN int __ffs (int x) { return x ? 32 - __clz (x & -x) : 0; }
KC_FN int __ffsll (long long x) { return x ? 64 - __clzll (x & -x) : 0; }
KC_FN unsigned __brev (unsigned x) { unsigned r; asm ("brev.b32 %0, %1;" : "=r"(r) : "r"(x)); return r; }
KC_FN unsigned long long __brevll (unsigned long long x) { unsigned long long r; asm ("brev.b64 %0, %1;" : "=l"(r) : "l"(x)); return r; }
KC_FN unsigned __byte_perm (unsigned a, unsigned b, unsigned s) { unsigned r; asm ("prmt.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(s)); return r; }
KC_FN int __mul24 (int a, int b) { int r; asm ("mul24.lo.s32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b)); return r; }
KC_FN unsigned __umul24 (unsigned a, unsigned b) { unsigned r; asm ("mul24.lo.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b)); return r; }
KC_FN int __mulhi (int a, int b) { return (int)(((long long)a * b) >> 32); }
KC_FN unsigned __umulhi (unsigned a, unsigned b) { return (unsigned)(((unsigned long long)a * b) >> 32); }
KC_FN long long __mul64hi (long long a, long long b) { long long r; asm ("mul.hi.s64 %0, %1, %2;" : "=l"(r) : "l"(a), "l"(b)); return r; }
KC_FN unsigned long long __umul64hi (unsigned long long a, unsigned long long b) { unsigned long long r; asm ("mul.hi.u64 %0, %1, %2;" : "=l"(r) : "l"(a), "l"(b)); return r; }
KC_FN int __hadd (int a, int b) { return (int)(((long long)a + b) >> 1); }
KC_FN int __rhadd (int a, int b) { return (int)(((long long)a + b + 1) >> 1); }
KC_FN unsigned __uhadd (unsigned a, unsigned b) { return (unsigned)(((unsigned long long)a + b) >> 1); }
KC_FN unsigned __urhadd (unsigned a, unsigned b) { return (unsigned)(((unsigned long long)a + b + 1) >> 1); }
KC_FN unsigned __sad (int a, int b, unsigned c) { unsigned r; asm ("sad.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c)); return r; }
KC_FN unsigned __usad (unsigned a, unsigned b, unsigned c) { unsigned r; asm ("sad.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c)); return r; }
KC_FN unsigned __funnelshift_l (unsigned lo, unsigned hi, unsigned s) { unsigned r; asm ("shf.l.wrap.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(lo), "r"(hi), "r"(s)); return r; }
KC_FN unsigned __funnelshift_r (unsigned lo, unsigned hi, unsigned s) { unsigned r; asm ("shf.r.wrap.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(lo), "r"(hi), "r"(s)); return r; }
KC_FN unsigned __funnelshift_lc (unsigned lo, unsigned hi, unsigned s) { unsigned r; asm ("shf.l.clamp.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(lo), "r"(hi), "r"(s)); return r; }
KC_FN unsigned __funnelshift_rc (unsigned lo, unsigned hi, unsigned s) { unsigned r; asm ("shf.r.clamp.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(lo), "r"(hi), "r"(s)); return r; }
KC_FN int __dp4a (int a, int b, int c) { int r; asm ("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c)); return r; }
KC_FN unsigned __dp4a (unsigned a, unsigned b, unsigned c) { unsigned r; asm ("dp4a.u32.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c)); return r; }
KC_FN int __dp2a_lo (int a, int b, int c) { int r; asm ("dp2a.lo.s32.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c)); return r; }
KC_FN int __dp2a_hi (int a, int b, int c) { int r; asm ("dp2a.hi.s32.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c)); return r; }
