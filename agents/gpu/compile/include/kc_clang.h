// kc_clang.h: what NVRTC has built in, for clang (-x cuda, device side only, no toolkit)
#pragma once

#define __host__ __attribute__ ((host))
#define __device__ __attribute__ ((device))
#define __global__ __attribute__ ((global))
#define __shared__ __attribute__ ((shared))
#define __constant__ __attribute__ ((constant))
#define __managed__ static_assert (false, "__managed__ variables are not part of a kernel program");
#define __forceinline__ __inline__ __attribute__ ((always_inline))
#define __noinline__ __attribute__ ((noinline))
#define __align__(n) __attribute__ ((aligned (n)))
#define __builtin_align__(n) __attribute__ ((aligned (n)))
#define __grid_constant__
#define __cluster_dims__(...)
#define __maxnreg__(...)
#define __block_size__(...)
// The third argument (blocks per cluster) has no meaning for this compiler.
#define KC_BOUNDS_PICK(a, b, c, name, ...) name
#define KC_BOUNDS_1(a) __attribute__ ((launch_bounds (a)))
#define KC_BOUNDS_2(a, b) __attribute__ ((launch_bounds (a, b)))
#define KC_BOUNDS_3(a, b, c) __attribute__ ((launch_bounds (a, b)))
#define __launch_bounds__(...) \
    KC_BOUNDS_PICK (__VA_ARGS__, KC_BOUNDS_3, KC_BOUNDS_2, KC_BOUNDS_1, 0) (__VA_ARGS__)
// Without positions of its own an inlined function is charged to the line that calls it.
#define KC_NODEBUG __attribute__ ((nodebug))
#define KC_FN __device__ static __inline__ __attribute__ ((always_inline, nodebug))

typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;

extern "C" __device__ int printf (const char *, ...);
extern "C" __device__ void __assertfail (const char *, const char *, unsigned, const char *, size_t);
extern "C" __device__ void *malloc (size_t); // declared so that the policy, not the parser, refuses them
extern "C" __device__ void free (void *);
// The built-in forms become loops; calls would stay undefined.
KC_FN void *memcpy (void *to, const void *from, size_t n) { return __builtin_memcpy (to, from, n); }
KC_FN void *memset (void *to, int v, size_t n) { return __builtin_memset (to, v, n); }
KC_FN void *memmove (void *to, const void *from, size_t n) { return __builtin_memmove (to, from, n); }
__device__ inline void *operator new (size_t, void *p) noexcept { return p; }
__device__ inline void *operator new[] (size_t, void *p) noexcept { return p; }

#include "kc_clang_types.h"
#include "kc_clang_math.h"
#include "kc_clang_warp.h"
#include "kc_clang_memory.h"

// Everything from here on, the author's code included, is device code unless it says otherwise.
#pragma clang force_cuda_host_device begin
