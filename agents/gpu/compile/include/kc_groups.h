// kc_groups.h: cooperative groups for one block: blocks, tiles, coalesced threads, reductions
#pragma once

#define KC_GROUP_FN __device__ __forceinline__ KC_NODEBUG

namespace cooperative_groups {

struct thread_block {
    KC_GROUP_FN void sync () const { __syncthreads (); }
    KC_GROUP_FN unsigned thread_rank () const { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
    KC_GROUP_FN unsigned size () const { return blockDim.x * blockDim.y * blockDim.z; }
    KC_GROUP_FN unsigned num_threads () const { return size (); }
    KC_GROUP_FN dim3 group_index () const { return dim3 (blockIdx.x, blockIdx.y, blockIdx.z); }
    KC_GROUP_FN dim3 thread_index () const { return dim3 (threadIdx.x, threadIdx.y, threadIdx.z); }
    KC_GROUP_FN dim3 dim_threads () const { return dim3 (blockDim.x, blockDim.y, blockDim.z); }
    KC_GROUP_FN dim3 group_dim () const { return dim_threads (); }
};
typedef thread_block thread_group;
KC_FN thread_block this_thread_block () { return thread_block (); }

// Facts of the grid.  It has no sync(): kc::grid_barrier (kc_base.h) does that with memory of the program's own.
struct grid_group {
    KC_GROUP_FN unsigned long long block_rank () const { return blockIdx.x + (unsigned long long)gridDim.x * (blockIdx.y + (unsigned long long)gridDim.y * blockIdx.z); }
    KC_GROUP_FN unsigned long long num_blocks () const { return (unsigned long long)gridDim.x * gridDim.y * gridDim.z; }
    KC_GROUP_FN unsigned long long thread_rank () const { return block_rank () * this_thread_block ().size () + this_thread_block ().thread_rank (); }
    KC_GROUP_FN unsigned long long size () const { return num_blocks () * this_thread_block ().size (); }
    KC_GROUP_FN unsigned long long num_threads () const { return size (); }
    KC_GROUP_FN dim3 group_dim () const { return dim3 (gridDim.x, gridDim.y, gridDim.z); }
    KC_GROUP_FN dim3 dim_blocks () const { return group_dim (); }
    KC_GROUP_FN bool is_valid () const { return false; }
    template <class T = void> KC_GROUP_FN void sync () const
    {
        static_assert (sizeof (T *) == 0, "grid.sync() is not available: use kc::grid_barrier with two zeroed words of a scratch buffer");
    }
};
KC_FN grid_group this_grid () { return grid_group (); }

template <unsigned N, class Parent = thread_block> struct thread_block_tile {
    static_assert (N > 0 && N <= 32 && (N & (N - 1)) == 0, "a tile has 1, 2, 4, 8, 16 or 32 threads");
    KC_GROUP_FN static unsigned kc_rank () { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
    KC_GROUP_FN static unsigned kc_mask () { return N == 32 ? 0xffffffffu : ((1u << (N & 31)) - 1u) << (kc_rank () & 31 & ~(N - 1)); }
    KC_GROUP_FN void sync () const { __syncwarp (kc_mask ()); }
    KC_GROUP_FN unsigned thread_rank () const { return kc_rank () & (N - 1); }
    KC_GROUP_FN static constexpr unsigned size () { return N; }
    KC_GROUP_FN static constexpr unsigned num_threads () { return N; }
    KC_GROUP_FN unsigned meta_group_rank () const { return kc_rank () / N; }
    KC_GROUP_FN unsigned meta_group_size () const { return (blockDim.x * blockDim.y * blockDim.z + N - 1) / N; }
    template <class T> KC_GROUP_FN T shfl (T v, int lane) const { return __shfl_sync (kc_mask (), v, lane, N); }
    template <class T> KC_GROUP_FN T shfl_up (T v, unsigned d) const { return __shfl_up_sync (kc_mask (), v, d, N); }
    template <class T> KC_GROUP_FN T shfl_down (T v, unsigned d) const { return __shfl_down_sync (kc_mask (), v, d, N); }
    template <class T> KC_GROUP_FN T shfl_xor (T v, unsigned d) const { return __shfl_xor_sync (kc_mask (), v, d, N); }
    KC_GROUP_FN int any (int p) const { return __any_sync (kc_mask (), p); }
    KC_GROUP_FN int all (int p) const { return __all_sync (kc_mask (), p); }
    KC_GROUP_FN unsigned ballot (int p) const { return (__ballot_sync (kc_mask (), p) & kc_mask ()) >> (kc_rank () & 31 & ~(N - 1)); }
    template <class T> KC_GROUP_FN unsigned match_any (T v) const { return (__match_any_sync (kc_mask (), v) & kc_mask ()) >> (kc_rank () & 31 & ~(N - 1)); }
};
template <unsigned N, class G> KC_FN thread_block_tile<N> tiled_partition (const G &) { return thread_block_tile<N> (); }

struct coalesced_group {
    unsigned kc_mask;
    KC_GROUP_FN void sync () const { __syncwarp (kc_mask); }
    KC_GROUP_FN unsigned size () const { return (unsigned)__popc (kc_mask); }
    KC_GROUP_FN unsigned num_threads () const { return size (); }
    KC_GROUP_FN unsigned thread_rank () const { unsigned below; asm ("mov.u32 %0, %%lanemask_lt;" : "=r"(below)); return (unsigned)__popc (kc_mask & below); }
    KC_GROUP_FN int kc_lane (unsigned rank) const { unsigned m = kc_mask; for (unsigned i = 0; i < rank; i++) m &= m - 1; return __ffs ((int)m) - 1; }
    template <class T> KC_GROUP_FN T shfl (T v, unsigned rank) const { return __shfl_sync (kc_mask, v, kc_lane (rank)); }
    KC_GROUP_FN int any (int p) const { return __any_sync (kc_mask, p); }
    KC_GROUP_FN int all (int p) const { return __all_sync (kc_mask, p); }
};
KC_FN coalesced_group coalesced_threads () { return coalesced_group{__activemask ()}; }

template <class G> KC_FN void sync (const G &g) { g.sync (); }

template <class T = void> struct plus { KC_GROUP_FN T operator() (const T &a, const T &b) const { return a + b; } };
template <class T = void> struct less { KC_GROUP_FN T operator() (const T &a, const T &b) const { return b < a ? b : a; } };
template <class T = void> struct greater { KC_GROUP_FN T operator() (const T &a, const T &b) const { return a < b ? b : a; } };
template <class T = void> struct bit_and { KC_GROUP_FN T operator() (const T &a, const T &b) const { return a & b; } };
template <class T = void> struct bit_or { KC_GROUP_FN T operator() (const T &a, const T &b) const { return a | b; } };
template <class T = void> struct bit_xor { KC_GROUP_FN T operator() (const T &a, const T &b) const { return a ^ b; } };
template <unsigned N, class P, class T, class F> KC_FN T reduce (const thread_block_tile<N, P> &g, T v, F f)
{
#pragma unroll
    for (unsigned d = N / 2; d > 0; d >>= 1)
        v = f (v, g.shfl_xor (v, d));
    return v;
}
template <unsigned N, class P, class T, class F> KC_FN T inclusive_scan (const thread_block_tile<N, P> &g, T v, F f)
{
#pragma unroll
    for (unsigned d = 1; d < N; d <<= 1) {
        T o = g.shfl_up (v, d);
        if (g.thread_rank () >= d)
            v = f (o, v);
    }
    return v;
}
template <unsigned N, class P, class T> KC_FN T inclusive_scan (const thread_block_tile<N, P> &g, T v) { return inclusive_scan (g, v, plus<T> ()); }
}
