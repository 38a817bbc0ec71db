// barriers, fences, shuffles, votes, matches, reductions; indices; atomics; cached accesses; address spaces
#include <cuda_runtime.h>
template <class T> __device__ T shuffles (T v)
{
    return __shfl_sync (0xffffffff, v, 3) + __shfl_up_sync (0xffffffff, v, 1) + __shfl_down_sync (0xffffffff, v, 2u, 16) + __shfl_xor_sync (0xffffffff, v, 8);
}
template <class T> __device__ void matches (int *n, T v)
{
    int p;
    n[0] += __match_any_sync (0xffffffff, v) + __match_all_sync (0xffffffff, v, &p) + p;
}
template <class T> __device__ void integers (T *p, T v)
{
    atomicAdd (p, v), atomicExch (p, v), atomicMin (p, v), atomicMax (p, v), atomicAnd (p, v), atomicOr (p, v), atomicXor (p, v), atomicCAS (p, v, v + 1);
    atomicAdd_block (p, v), atomicAdd_system (p, v), atomicMax_block (p, v), atomicCAS_block (p, v, v), atomicExch_system (p, v);
}
template <class T> __device__ T loads (const T *p)
{
    T a = __ldg (p);
    a = __ldca (p), a = __ldcg (p), a = __ldcs (p), a = __ldlu (p), a = __ldcv (p);
    return a;
}
template <class T> __device__ void stores (T *p, T v)
{
    __stcg (p, v), __stcs (p + 1, v), __stwb (p + 2, v), __stwt (p + 3, v);
}
extern "C" __global__ void __launch_bounds__ (256, 2) k (float *f, double *d, int *n, unsigned *u, long long *l, unsigned long long *ul, char *b)
{
    __shared__ float s[256];
    dim3 block = blockDim, grid (gridDim.x, 2);
    uint3 t = threadIdx;
    n[1] = t.x + block.y + grid.y + blockIdx.z + warpSize;
    s[threadIdx.x] = f[0];
    __syncthreads ();
    n[2] = __syncthreads_count (n[0] > 0) + __syncthreads_and (n[0]) + __syncthreads_or (n[1]);
    __syncwarp (), __syncwarp (0xff);
    __threadfence (), __threadfence_block (), __threadfence_system ();
    __nanosleep (100);
    if (n[3] < 0)
        __trap ();
    n[4] = __activemask () + __all_sync (0xffffffff, n[0]) + __any_sync (0xffffffff, n[0]) + __ballot_sync (0xffffffff, n[0]) + __uni_sync (0xffffffff, n[0]);
    f[1] = shuffles (f[0]), d[1] = shuffles (d[0]), n[5] = shuffles (n[0]), u[1] = shuffles (u[0]), l[1] = shuffles (l[0]), ul[1] = shuffles (ul[0]);
    matches (n, n[0]), matches (n, u[0]), matches (n, l[0]), matches (n, ul[0]), matches (n, f[0]), matches (n, d[0]);
    u[2] = __reduce_add_sync (0xffffffff, u[0]) + __reduce_min_sync (0xffffffff, u[0]) + __reduce_max_sync (0xffffffff, u[0])
           + __reduce_and_sync (0xffffffff, u[0]) + __reduce_or_sync (0xffffffff, u[0]) + __reduce_xor_sync (0xffffffff, u[0]);
    n[6] = __reduce_add_sync (0xffffffff, n[0]) + __reduce_min_sync (0xffffffff, n[0]) + __reduce_max_sync (0xffffffff, n[0]);
    integers (n + 7, 3), integers (u + 7, 3u), integers (ul + 7, 3ull);
    atomicMin (l + 7, 3ll), atomicMax (l + 7, 3ll);
    atomicInc (u + 8, 5u), atomicDec (u + 8, 5u), atomicSub (n + 8, 2), atomicSub (u + 9, 2u);
    atomicAdd (f + 7, 1.0f), atomicAdd (d + 7, 1.0), atomicExch (f + 8, 2.0f), atomicAdd (s, 1.0f), atomicAdd_block (f + 9, 1.0f);
    atomicCAS ((unsigned short *)b, (unsigned short)1, (unsigned short)2);
    f[2] = loads (f) + loads ((const float4 *)f).w + loads ((const float2 *)f).y + (float)loads ((const double2 *)d).y;
    d[2] = loads (d);
    n[9] = loads (n) + loads (u) + (int)loads (l) + (int)loads (ul) + loads ((const int4 *)n).x + loads ((const uint2 *)u).y + loads ((const short *)b)
           + loads ((const unsigned short *)b) + loads ((const signed char *)b) + loads ((const unsigned char *)b) + loads ((const int2 *)n).y
           + loads ((const uint4 *)u).w + loads ((const char4 *)b).x + loads ((const uchar4 *)b).y + loads ((const short2 *)b).x + loads ((const ushort4 *)b).w
           + loads ((const char *)b) + loads ((const uchar2 *)b).x + loads ((const short4 *)b).y + loads ((const ushort2 *)b).x + loads ((const char2 *)b).y
           + (int)loads ((const longlong2 *)l).x + (int)loads ((const ulonglong2 *)ul).y + (int)loads ((const long *)l) + (int)loads ((const unsigned long *)l);
    stores (f + 16, 1.0f), stores (d + 16, 1.0), stores (n + 16, 1), stores (u + 16, 1u), stores (l + 16, 1ll), stores (ul + 16, 1ull);
    stores ((float2 *)f + 16, make_float2 (1, 2)), stores ((float4 *)f + 16, make_float4 (1, 2, 3, 4)), stores ((int4 *)n + 16, make_int4 (1, 2, 3, 4));
    stores ((double2 *)d + 16, make_double2 (1, 2)), stores ((uint4 *)u + 16, make_uint4 (1, 2, 3, 4)), stores ((short *)b, (short)1);
    size_t at = __cvta_generic_to_shared (s);
    n[10] = (int)at + (int)__cvta_generic_to_global (f) + __isShared (s) + __isGlobal (f) + __isLocal (&at) + *(int *)__cvta_shared_to_generic (at);
    float3 v = make_float3 (1, 2, 3);
    char3 c = make_char3 (1, 2, 3);
    f[3] = v.x + v.z + c.y + make_ushort4 (1, 2, 3, 4).z + make_longlong2 (1, 2).y + make_uchar1 (3).x + make_ulong3 (1, 2, 3).z;
    memcpy (f + 20, f, 16), memset (f + 24, 0, 16);
}
