/* ptx_builtin.h - extern functions that the interpreter provides
 *
 * clang leaves the math library as calls; NVRTC leaves vprintf and __assertfail.  A row gives the kind of
 * signature and what the call costs in warp instructions: FMA-class and special-function ones.
 */
#ifndef KC_PTX_BUILTIN_H
#define KC_PTX_BUILTIN_H

#include <stdbool.h>
#include <stdint.h>

// X (name, real arguments, formula over x y z in double, cost of the float form: fma-class, special-function;
// cost of the double form: fp64, special-function)
#define PTX_BUILTINS(X)                                                                \
    X (exp, 1, exp (x), 7, 1, 22, 1)                                                   \
    X (exp2, 1, exp2 (x), 3, 1, 20, 1)                                                 \
    X (exp10, 1, exp10 (x), 8, 1, 24, 1)                                               \
    X (expm1, 1, expm1 (x), 14, 1, 26, 1)                                              \
    X (log, 1, log (x), 14, 0, 26, 1)                                                  \
    X (log2, 1, log2 (x), 6, 1, 28, 1)                                                 \
    X (log10, 1, log10 (x), 15, 0, 28, 1)                                              \
    X (log1p, 1, log1p (x), 16, 0, 30, 1)                                              \
    X (logb, 1, logb (x), 6, 0, 8, 0)                                                  \
    X (sin, 1, sin (x), 18, 0, 36, 0)                                                  \
    X (cos, 1, cos (x), 18, 0, 36, 0)                                                  \
    X (tan, 1, tan (x), 22, 1, 44, 1)                                                  \
    X (sinpi, 1, kc_sinpi (x), 14, 0, 28, 0)                                           \
    X (cospi, 1, kc_cospi (x), 14, 0, 28, 0)                                           \
    X (asin, 1, asin (x), 16, 1, 34, 1)                                                \
    X (acos, 1, acos (x), 16, 1, 36, 1)                                                \
    X (atan, 1, atan (x), 16, 1, 32, 1)                                                \
    X (sinh, 1, sinh (x), 16, 2, 40, 2)                                                \
    X (cosh, 1, cosh (x), 12, 2, 36, 2)                                                \
    X (tanh, 1, tanh (x), 20, 2, 40, 2)                                                \
    X (asinh, 1, asinh (x), 24, 2, 48, 2)                                              \
    X (acosh, 1, acosh (x), 24, 2, 48, 2)                                              \
    X (atanh, 1, atanh (x), 20, 1, 44, 1)                                              \
    X (erf, 1, erf (x), 22, 1, 60, 1)                                                  \
    X (erfc, 1, erfc (x), 26, 2, 70, 2)                                                \
    X (erfinv, 1, kc_erfinv (x), 26, 2, 60, 2)                                         \
    X (normcdf, 1, 0.5 * erfc (-x * 0.70710678118654752440), 28, 2, 72, 2)             \
    X (lgamma, 1, lgamma_r (x, &kc_sign), 40, 3, 90, 3)                                \
    X (tgamma, 1, tgamma (x), 40, 3, 90, 3)                                            \
    X (sqrt, 1, sqrt (x), 7, 1, 10, 1)                                                 \
    X (rsqrt, 1, 1.0 / sqrt (x), 3, 1, 10, 1)                                          \
    X (cbrt, 1, cbrt (x), 10, 2, 22, 2)                                                \
    X (rcbrt, 1, 1.0 / cbrt (x), 10, 2, 24, 2)                                         \
    X (fabs, 1, fabs (x), 1, 0, 1, 0)                                                  \
    X (floor, 1, floor (x), 1, 0, 1, 0)                                                \
    X (ceil, 1, ceil (x), 1, 0, 1, 0)                                                  \
    X (trunc, 1, trunc (x), 1, 0, 1, 0)                                                \
    X (round, 1, round (x), 5, 0, 6, 0)                                                \
    X (rint, 1, rint (x), 1, 0, 1, 0)                                                  \
    X (nearbyint, 1, nearbyint (x), 1, 0, 1, 0)                                        \
    X (pow, 2, pow (x, y), 40, 2, 90, 2)                                               \
    X (atan2, 2, atan2 (x, y), 24, 1, 44, 1)                                           \
    X (fmod, 2, fmod (x, y), 30, 1, 50, 1)                                             \
    X (remainder, 2, remainder (x, y), 34, 1, 54, 1)                                   \
    X (fmin, 2, fmin (x, y), 1, 0, 2, 0)                                               \
    X (fmax, 2, fmax (x, y), 1, 0, 2, 0)                                               \
    X (fdim, 2, fdim (x, y), 3, 0, 4, 0)                                               \
    X (hypot, 2, hypot (x, y), 10, 1, 22, 1)                                           \
    X (rhypot, 2, 1.0 / hypot (x, y), 12, 1, 26, 1)                                    \
    X (copysign, 2, copysign (x, y), 1, 0, 2, 0)                                       \
    X (fma, 3, KC_FMA (x, y, z), 1, 0, 1, 0)

// name of the float form is name + "f", also with the prefix __nv_ (libdevice)

typedef enum ptx_builtin_kind {
    PTX_BUILTIN_NONE,
    PTX_BUILTIN_MATH,      // 1 to 3 real arguments, one real result; table above
    PTX_BUILTIN_SINCOS,    // (x, *s, *c); sincospi
    PTX_BUILTIN_LDEXP,     // (x, n): ldexp, scalbn
    PTX_BUILTIN_POWI,      // (x, n)
    PTX_BUILTIN_FREXP,     // (x, *n)
    PTX_BUILTIN_MODF,      // (x, *ip)
    PTX_BUILTIN_ILOGB,     // int (x)
    PTX_BUILTIN_TO_LONG,   // lrint, llrint, lround, llround
    PTX_BUILTIN_NEXTAFTER, // (x, y), in the type's own grid
    PTX_BUILTIN_PRINTF,
    PTX_BUILTIN_ASSERT,
} ptx_builtin_kind_t;

typedef struct ptx_builtin {
    ptx_builtin_kind_t kind;
    int which;        // row of the table, or variant
    int args;         // real arguments
    uint8_t is_float; // float form
    uint16_t fma, mufu;
} ptx_builtin_t;

// Look a name up; kind NONE when it is not provided.
ptx_builtin_t ptx_builtin_find (const char *name);

#endif // KC_PTX_BUILTIN_H
