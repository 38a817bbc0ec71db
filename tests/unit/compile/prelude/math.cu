// every function of the math library, in float, in double and as overload
extern "C" __global__ void k (float *f, double *d, int *n, long long *l)
{
    float x = f[1], y = f[2], z = f[3], r = 0, s, c;
    double u = d[1], v = d[2], w = d[3], q = 0, ds, dc;
    int i = n[1], e;
#define ONE(name) r += name##f (x) + name (x); q += name (u) + name (i);
    ONE (exp) ONE (exp2) ONE (exp10) ONE (expm1) ONE (log) ONE (log2) ONE (log10) ONE (log1p) ONE (logb)
    ONE (sin) ONE (cos) ONE (tan) ONE (sinpi) ONE (cospi) ONE (asin) ONE (acos) ONE (atan) ONE (sinh) ONE (cosh)
    ONE (tanh) ONE (asinh) ONE (acosh) ONE (atanh) ONE (erf) ONE (erfc) ONE (erfinv) ONE (normcdf) ONE (tgamma)
    ONE (lgamma) ONE (sqrt) ONE (rsqrt) ONE (cbrt) ONE (rcbrt) ONE (fabs) ONE (floor) ONE (ceil) ONE (trunc)
    ONE (round) ONE (rint) ONE (nearbyint)
#define TWO(name) r += name##f (x, y) + name (x, y); q += name (u, v) + name (x, v) + name (u, i);
    TWO (pow) TWO (atan2) TWO (fmod) TWO (remainder) TWO (hypot) TWO (nextafter) TWO (copysign) TWO (fmin) TWO (fmax) TWO (fdim)
    r += pow (x, 2) + powf (x, 2.0f) + fmaf (x, y, z) + fma (x, y, z);
    q += pow (u, 3) + fma (u, v, w);
    n[2] = lroundf (x) + lround (u) + lround (x) + lrintf (x) + lrint (u) + lrint (x);
    l[0] = llroundf (x) + llround (u) + llrintf (x) + llrint (u);
    r += ldexpf (x, i) + ldexp (x, i) + scalbnf (x, i) + scalbn (x, i);
    q += ldexp (u, i) + scalbn (u, i);
    n[3] = ilogbf (x);
    r += frexpf (x, &e) + modff (x, &s);
    n[4] = e;
    r += s;
    q += modf (u, &ds) + ds;
    sincosf (x, &s, &c), r += s + c;
    sincos (u, &ds, &dc), q += ds + dc;
    sincospif (x, &s, &c), r += s + c;
    sincospi (u, &ds, &dc), q += ds + dc;
    r += rhypotf (x, y) + norm3df (x, y, z) + rnorm3df (x, y, z) + norm4df (x, y, z, r) + nanf ("") + fdividef (x, y);
    q += nan ("");
    n[5] = isnan (x) + isinf (x) + isfinite (x) + signbit (x) + isnan (u) + isinf (u) + isfinite (u) + signbit (u);
    n[6] = abs (i) + (int)labs ((long)i) + (int)llabs (l[1]);
    r += abs (x);
    q += abs (u);
    l[2] = abs (l[1]);
    unsigned o = n[7];
    n[8] = min (i, 3) + max (i, n[9]) + min (o, 3u) + max (o, i) + min (i, o) + (int)min (l[1], 3ll) + (int)max (l[2], l[1])
           + (int)max ((unsigned long long)l[1], 3ull) + (int)min ((long)i, 3l) + umin (o, 2u) + umax (o, 3u) + (int)llmin (l[3], l[4]) + (int)llmax (l[3], l[4]);
    r += min (x, y) + max (x, y) + std::min (x, 2.0f) + std::max (x, y);
    q += min (u, v) + max (u, v) + min (x, v) + max (u, y) + min (u, y) + max (x, v);
    // fast forms
    r += __expf (x) + __exp10f (x) + __logf (x) + __log2f (x) + __log10f (x) + __sinf (x) + __cosf (x) + __tanf (x)
         + __powf (x, y) + __fdividef (x, y) + __saturatef (x) + __frsqrt_rn (x);
    __sincosf (x, &s, &c), r += s + c;
    // rounded forms
    r += __fadd_rn (x, y) + __fadd_rz (x, y) + __fadd_rd (x, y) + __fadd_ru (x, y) + __fsub_rn (x, y) + __fsub_rz (x, y) + __fsub_rd (x, y)
         + __fsub_ru (x, y) + __fmul_rn (x, y) + __fmul_rz (x, y) + __fmul_rd (x, y) + __fmul_ru (x, y) + __fdiv_rn (x, y) + __fdiv_rz (x, y)
         + __fdiv_rd (x, y) + __fdiv_ru (x, y) + __fmaf_rn (x, y, z) + __fmaf_rz (x, y, z) + __frcp_rn (x) + __frcp_rz (x) + __frcp_rd (x)
         + __frcp_ru (x) + __fsqrt_rn (x) + __fsqrt_rz (x) + __fsqrt_rd (x) + __fsqrt_ru (x);
    q += __dadd_rn (u, v) + __dadd_rz (u, v) + __dadd_rd (u, v) + __dadd_ru (u, v) + __dsub_rn (u, v) + __dmul_rn (u, v) + __dmul_rz (u, v)
         + __dmul_rd (u, v) + __dmul_ru (u, v) + __ddiv_rn (u, v) + __fma_rn (u, v, w) + __fma_rz (u, v, w) + __drcp_rn (u) + __dsqrt_rn (u)
         + __dsub_rz (u, v) + __ddiv_rz (u, v) + __drcp_rz (u) + __dsqrt_rz (u);
    // conversions
    n[10] = __float2int_rn (x) + __float2int_rz (x) + __float2int_rd (x) + __float2int_ru (x) + __float2uint_rn (x) + __float2uint_rz (x)
            + __float2uint_rd (x) + __float2uint_ru (x) + __double2int_rn (u) + __double2int_rz (u) + __double2int_rd (u) + __double2int_ru (u)
            + __double2uint_rn (u) + __double2uint_rz (u);
    l[5] = __float2ll_rn (x) + __float2ll_rz (x) + __float2ull_rn (x) + __float2ull_rz (x) + __double2ll_rn (u) + __double2ll_rz (u)
           + __double2ll_rd (u) + __double2ll_ru (u) + __double2ull_rn (u) + __double2ull_rz (u);
    r += __int2float_rn (i) + __int2float_rz (i) + __int2float_rd (i) + __int2float_ru (i) + __uint2float_rn (o) + __uint2float_rz (o)
         + __ll2float_rn (l[1]) + __ll2float_rz (l[1]) + __ull2float_rn (l[1]) + __ull2float_rz (l[1]) + __double2float_rn (u) + __double2float_rz (u)
         + __double2float_rd (u) + __double2float_ru (u);
    q += __ll2double_rn (l[1]) + __ll2double_rz (l[1]) + __ull2double_rn (l[1]) + __ull2double_rz (l[1]) + __int2double_rn (i) + __uint2double_rn (o);
    n[11] = __float_as_int (x) + __float_as_uint (x) + __double2hiint (u) + __double2loint (u);
    r += __int_as_float (i) + __uint_as_float (o);
    q += __longlong_as_double (l[1]) + __hiloint2double (i, i);
    l[6] = __double_as_longlong (u);
    // integers
    n[12] = __popc (o) + __popcll (l[1]) + __clz (i) + __clzll (l[1]) + __ffs (i) + __ffsll (l[1]) + __brev (o) + (int)__brevll (l[1])
            + __byte_perm (o, o + 1, 0x3210) + __mul24 (i, 3) + __umul24 (o, 3) + __mulhi (i, i) + __umulhi (o, o) + (int)__mul64hi (l[1], l[2])
            + (int)__umul64hi (l[1], l[2]) + __hadd (i, 3) + __rhadd (i, 3) + __uhadd (o, 3) + __urhadd (o, 3) + __sad (i, 3, o) + __usad (o, 3, o)
            + __funnelshift_l (o, o, 3) + __funnelshift_r (o, o, 3) + __funnelshift_lc (o, o, 3) + __funnelshift_rc (o, o, 3) + __dp4a (i, i, i)
            + __dp4a (o, o, o) + __dp2a_lo (i, i, i) + __dp2a_hi (i, i, i);
    f[0] = r;
    d[0] = q;
}
