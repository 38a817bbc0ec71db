// every function on __half, __half2, __nv_bfloat16 and __nv_bfloat162
#include <cuda_bf16.h>
#include <cuda_fp16.h>
template <class T, class T2> __device__ void both (T *p, T2 *p2, int *n, float *f)
{
    T a = p[0], b = p[1], c = T (2.5f), d = 3, e (n[0]);
    T2 u = p2[0], v = p2[1];
    a = __hadd (a, b), a = __hsub (a, b), a = __hmul (a, b), a = __hdiv (a, b), a = __hfma (a, b, c), a = __hfma_relu (a, b, c);
    a = __hadd_rn (a, b), a = __hsub_rn (a, b), a = __hmul_rn (a, b), a = __hneg (a), a = __habs (a);
    a = __hmin (a, b), a = __hmax (a, b), a = __hmin_nan (a, b), a = __hmax_nan (a, b);
    u = __hadd2 (u, v), u = __hsub2 (u, v), u = __hmul2 (u, v), u = __hdiv2 (u, v), u = __hfma2 (u, v, v), u = __hneg2 (u), u = __habs2 (u), u = __hmin2 (u, v), u = __hmax2 (u, v);
    n[1] = __heq (a, b) + __hne (a, b) + __hlt (a, b) + __hle (a, b) + __hgt (a, b) + __hge (a, b) + __hisnan (a) + __hisinf (a) + __hbeq2 (u, v) + __hblt2 (u, v) + __hbgt2 (u, v);
    a = a + b, a = a - b, a = a * b, a = a / b, a = -a, a = +a;
    a += b, a -= b, a *= b, a /= b;
    n[2] = (a == b) + (a != b) + (a < b) + (a <= b) + (a > b) + (a >= b) + (bool)a;
    u = u + v, u = u - v, u = u * v, u = u / v, u = -u;
    u += v, u -= v, u *= v;
    f[0] = (float)a + float (b) + __low2float (u) + __high2float (u);
    a = hexp (a), a = hexp2 (a), a = hexp10 (a), a = hlog (a), a = hlog2 (a), a = hlog10 (a), a = hsqrt (a), a = hrsqrt (a), a = hrcp (a), a = hsin (a), a = hcos (a), a = htanh (a), a = hfloor (a), a = hceil (a), a = htrunc (a), a = hrint (a);
    u = h2exp (u), u = h2log (u), u = h2sqrt (u), u = h2rsqrt (u), u = h2rcp (u), u = h2sin (u), u = h2cos (u), u = h2floor (u), u = h2ceil (u), u = h2tanh (u), u = h2exp2 (u), u = h2log2 (u);
    a += __shfl_sync (0xffffffff, a, 1) + __shfl_up_sync (0xffffffff, a, 1) + __shfl_down_sync (0xffffffff, a, 1) + __shfl_xor_sync (0xffffffff, a, 1);
    u += __shfl_sync (0xffffffff, u, 1) + __shfl_up_sync (0xffffffff, u, 1) + __shfl_down_sync (0xffffffff, u, 1) + __shfl_xor_sync (0xffffffff, u, 1);
    a += __ldg (p) + __ldcg (p) + __ldca (p) + __ldcs (p);
    u += __ldg (p2) + __ldcg (p2) + __ldca (p2) + __ldcs (p2);
    a = 1.5f, b = 2.5, c = n[3];
    p[2] = a + b + c + d + e;
    p2[2] = u;
    atomicAdd (p + 4, a), atomicAdd (p2 + 4, u);
}
extern "C" __global__ void k (half *h, half2 *h2, nv_bfloat16 *b, nv_bfloat162 *b2, int *n, float *f)
{
    both<half, half2> (h, h2, n, f);
    both<nv_bfloat16, nv_bfloat162> (b, b2, n, f);
    half a = __float2half (f[0]);
    a += __float2half_rn (f[1]) + __float2half_rz (f[1]) + __float2half_rd (f[1]) + __float2half_ru (f[1]) + __double2half ((double)f[2]);
    a = __hadd_sat (a, a), a = __hmul_sat (a, a), a = __hfma_sat (a, a, a);
    half2 q = __float2half2_rn (f[0]);
    q += __floats2half2_rn (f[0], f[1]) + __float22half2_rn (make_float2 (f[0], f[1])) + make_half2 (a, a) + __halves2half2 (a, a) + __half2half2 (a) + __low2half2 (q) + __high2half2 (q) + __lowhigh2highlow (q);
    q = __hfma2_relu (q, q, q);
    f[1] = __half22float2 (q).y + __half2float (a) + __half2float (__low2half (q) + __high2half (q));
    n[0] = __half2int_rn (a) + __half2int_rz (a) + __half2uint_rn (a) + __half_as_short (a) + __half_as_ushort (a);
    h[3] = __int2half_rn (n[0]) + __uint2half_rn (3u) + __short_as_half (3) + __ushort_as_half (4);
    nv_bfloat16 c = __float2bfloat16 (f[0]);
    c += __float2bfloat16_rn (f[1]) + __float2bfloat16_rz (f[1]) + __double2bfloat16 ((double)f[1]);
    nv_bfloat162 r = __float2bfloat162_rn (f[0]);
    r += __floats2bfloat162_rn (f[0], f[1]) + __float22bfloat162_rn (make_float2 (1, 2)) + make_bfloat162 (c, c) + __halves2bfloat162 (c, c) + __bfloat162bfloat162 (c) + __low2bfloat162 (r) + __high2bfloat162 (r) + __lowhigh2highlow (r);
    f[2] = __bfloat1622float2 (r).x + __bfloat162float (c) + __bfloat162float (__low2bfloat16 (r) + __high2bfloat16 (r));
    n[1] = __bfloat162int_rn (c) + __bfloat162int_rz (c) + __bfloat16_as_short (c) + __bfloat16_as_ushort (c);
    b[3] = __int2bfloat16_rn (n[0]) + __short_as_bfloat16 (3) + __ushort_as_bfloat16 (4);
}
