// kc_tools.h: what kernels write again and again
#pragma once

struct alignas (128) CUtensorMap {
    uint64_t opaque[16];
};

namespace kc {
// The address of shared memory as inline assembly wants it.
KC_FN uint32_t smem (const void *p) { return (uint32_t)__cvta_generic_to_shared (p); }

template <class T> KC_FN T warp_sum (T v)
{
#pragma unroll
    for (int d = 16; d > 0; d >>= 1)
        v += __shfl_xor_sync (0xffffffffu, v, d);
    return v;
}
template <class T> KC_FN T warp_max (T v)
{
#pragma unroll
    for (int d = 16; d > 0; d >>= 1) {
        T o = __shfl_xor_sync (0xffffffffu, v, d);
        v = v < o ? o : v;
    }
    return v;
}
template <class T> KC_FN T warp_min (T v)
{
#pragma unroll
    for (int d = 16; d > 0; d >>= 1) {
        T o = __shfl_xor_sync (0xffffffffu, v, d);
        v = o < v ? o : v;
    }
    return v;
}
// The largest value and the smallest index that has it, in every lane.
template <class T> KC_FN void warp_argmax (T &v, int &at)
{
#pragma unroll
    for (int d = 16; d > 0; d >>= 1) {
        T o = __shfl_xor_sync (0xffffffffu, v, d);
        int p = __shfl_xor_sync (0xffffffffu, at, d);
        if (v < o || (v == o && p < at)) {
            v = o;
            at = p;
        }
    }
}
KC_FN int thread_rank () { return (int)(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)); }
KC_FN int block_threads () { return (int)(blockDim.x * blockDim.y * blockDim.z); }

// Of a whole block, any size up to 1,024 that is a multiple of 32; the result is in every thread.
// 'scratch' is shared memory for 32 values; it may be used again after the call's return.
template <class T> KC_FN T block_sum (T v, T *scratch)
{
    int lane = thread_rank () & 31, w = thread_rank () >> 5, warps = (block_threads () + 31) >> 5;
    v = warp_sum (v);
    if (lane == 0)
        scratch[w] = v;
    __syncthreads ();
    v = lane < warps ? scratch[lane] : T (0);
    __syncthreads ();
    return warp_sum (v);
}
template <class T> KC_FN T block_max (T v, T *scratch)
{
    int lane = thread_rank () & 31, w = thread_rank () >> 5, warps = (block_threads () + 31) >> 5;
    v = warp_max (v);
    if (lane == 0)
        scratch[w] = v;
    __syncthreads ();
    v = scratch[lane < warps ? lane : 0];
    __syncthreads ();
    return warp_max (v);
}
template <class T> KC_FN T block_min (T v, T *scratch)
{
    int lane = thread_rank () & 31, w = thread_rank () >> 5, warps = (block_threads () + 31) >> 5;
    v = warp_min (v);
    if (lane == 0)
        scratch[w] = v;
    __syncthreads ();
    v = scratch[lane < warps ? lane : 0];
    __syncthreads ();
    return warp_min (v);
}
// The same with the smallest index; 'at' is shared memory for 32 more.
template <class T> KC_FN void block_argmax (T &v, int &index, T *scratch, int *at)
{
    int lane = thread_rank () & 31, w = thread_rank () >> 5, warps = (block_threads () + 31) >> 5;
    warp_argmax (v, index);
    if (lane == 0) {
        scratch[w] = v;
        at[w] = index;
    }
    __syncthreads ();
    v = scratch[lane < warps ? lane : 0];
    index = at[lane < warps ? lane : 0];
    __syncthreads ();
    warp_argmax (v, index);
}

// A barrier of the whole grid for cooperative launches; 'state' is two zeroed words of global memory.
// Every thread of every block calls it.
KC_FN void grid_barrier (unsigned *state)
{
    __syncthreads ();
    if (thread_rank () == 0) {
        unsigned blocks = gridDim.x * gridDim.y * gridDim.z;
        __threadfence ();
        unsigned round = *(volatile unsigned *)(state + 1);
        if (atomicAdd (state, 1u) == blocks - 1) {
            *(volatile unsigned *)state = 0;
            __threadfence ();
            *(volatile unsigned *)(state + 1) = round + 1;
        }
        else
            while (*(volatile unsigned *)(state + 1) == round)
                ;
        __threadfence ();
    }
    __syncthreads ();
}

// 16 bytes at once; 'stream' data is not kept in the caches.
KC_FN float4 load16 (const float *p) { return *(const float4 *)p; }
KC_FN float4 load16_const (const float *p) { return __ldg ((const float4 *)p); }
KC_FN float4 load16_stream (const float *p) { return __ldcs ((const float4 *)p); }
KC_FN void store16 (float *p, float4 v) { *(float4 *)p = v; }
KC_FN void store16_stream (float *p, float4 v) { __stcs ((float4 *)p, v); }

template <class T> KC_FN T cdiv (T a, T b) { return (a + b - 1) / b; }
}
