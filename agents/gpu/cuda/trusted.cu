/* trusted.cu - our own small kernels: hashes, guards, the gate, the clock, the scrub, the content of inputs
 *
 * Compiled ahead to trusted.ptx, which is what the program carries (kc-cuda-trusted writes it and checks in
 * the digest of this file); the driver makes machine code of it.  The unit tests compile this same file as
 * plain C and run it thread by thread, so what is tested without a GPU is what runs on one.  For that reason
 * no kernel here needs threads of a block to meet, except those inside KC_DEVICE.
 */
#ifdef __CUDACC__
#define KC_DEVICE 1
#define KC_KERNEL extern "C" __global__ void
#define KC_INLINE static __device__ __forceinline__
#define KC_INDEX ((kc_u64)blockIdx.x * blockDim.x + threadIdx.x)
#define KC_COUNT_X ((kc_u64)gridDim.x * blockDim.x)
#endif
#include "agents/gpu/judge/kc_philox.h"

// One stretch of device memory, and what is expected or done there.
struct kc_segment {
    kc_u64 address;
    kc_u64 bytes;
    kc_u64 value; // guards: the byte; bit 8 set = the guard lies before its buffer
};

#ifdef KC_DEVICE
// Add the threads' values; one atomic per warp.
KC_INLINE void kc_add_to (kc_u64 *out, kc_u64 value)
{
    for (int i = 16; i > 0; i /= 2)
        value += __shfl_down_sync (0xffffffffu, value, i);
    if (threadIdx.x % 32 == 0)
        atomicAdd (out, value);
}
KC_INLINE void kc_min_to (kc_u64 *out, kc_u64 value)
{
    atomicMin (out, value);
}
#endif

/* The sum over all 8-byte words of mix (word + place), the last word padded with zeros.  Addition commutes, so
 * the order of the threads does not matter and two runs agree. */
KC_KERNEL kc_hash (const struct kc_segment *segments, kc_u64 *out)
{
    const struct kc_segment s = segments[blockIdx.y];
    const kc_u64 *words = (const kc_u64 *)s.address;
    const kc_u64 whole = s.bytes / 8;
    kc_u64 sum = 0;
    for (kc_u64 i = KC_INDEX; i < whole; i += KC_COUNT_X)
        sum += kc_mix (words[i] + (i + 1) * KC_GOLDEN);
    if (KC_INDEX == 0) {
        const kc_u8 *tail = (const kc_u8 *)(s.address + whole * 8);
        kc_u64 last = 0;
        for (kc_u64 i = 0; i < s.bytes % 8; i++)
            last |= (kc_u64)tail[i] << (8 * i);
        sum += kc_mix (last + (whole + 1) * KC_GOLDEN) + kc_mix (s.bytes);
    }
    kc_add_to (&out[blockIdx.y], sum);
}

/* Compare guards byte by byte; out[y] becomes the smallest distance from the buffer at which a byte differs
 * (0 = the byte next to it), and stays all ones when the guard is whole. */
KC_KERNEL kc_guard (const struct kc_segment *segments, kc_u64 *out)
{
    const struct kc_segment s = segments[blockIdx.y];
    const kc_u8 *bytes = (const kc_u8 *)s.address;
    const kc_u8 expected = (kc_u8)(s.value & 0xff);
    for (kc_u64 i = KC_INDEX; i < s.bytes; i += KC_COUNT_X)
        if (bytes[i] != expected)
            kc_min_to (&out[blockIdx.y], s.value & 0x100 ? s.bytes - 1 - i : i);
}

// The content of a tensor; see kc_philox.h.
KC_KERNEL kc_generate (kc_u64 address, const kc_fill_t fill)
{
    const int size = kc_fill_size (fill.type);
    for (kc_u64 i = KC_INDEX; i < fill.elements; i += KC_COUNT_X) {
        const kc_u64 bits = kc_fill_element (&fill, i);
        if (size == 4)
            ((kc_u32 *)address)[i] = (kc_u32)bits;
        else if (size == 8)
            ((kc_u64 *)address)[i] = bits;
        else if (size == 2)
            ((unsigned short *)address)[i] = (unsigned short)bits;
        else
            ((kc_u8 *)address)[i] = (kc_u8)bits;
    }
}

#ifdef KC_DEVICE
KC_INLINE kc_u64 kc_now (void)
{
    kc_u64 t;
    asm volatile ("mov.u64 %0, %%globaltimer;" : "=l"(t));
    return t;
}

// Hold the stream until the host stores a number other than 0, or the limit passes (then out[0] = 1).
KC_KERNEL kc_gate (const volatile kc_u32 *flag, kc_u32 *late, kc_u64 limit_ns)
{
    const kc_u64 start = kc_now ();
    while (*flag == 0) {
        if (kc_now () - start > limit_ns) {
            *late = 1;
            __threadfence_system ();
            return;
        }
    }
}

// Cycles and nanoseconds over at least 'ns': the clock of one multiprocessor.
KC_KERNEL kc_clock (kc_u64 *out, kc_u64 ns)
{
    kc_u64 t0 = kc_now (), t1 = t0;
    while (t1 == t0) // start at an edge of the timer
        t1 = kc_now ();
    t0 = t1;
    const long long c0 = clock64 ();
    while (t1 - t0 < ns)
        t1 = kc_now ();
    out[0] = (kc_u64)(clock64 () - c0);
    out[1] = t1 - t0;
}

/* Overwrite what survives a launch: with one block per multiprocessor, all of its shared memory, and with
 * KC_LIVE words per thread alive at once across the loop, its registers. */
#define KC_LIVE 244
KC_KERNEL __launch_bounds__ (256, 1) kc_scrub (kc_u32 seed, int rounds, kc_u32 shared_words, kc_u32 *never)
{
    extern __shared__ kc_u32 shared[];
    for (kc_u32 i = threadIdx.x; i < shared_words; i += blockDim.x)
        shared[i] = seed + i;
    kc_u32 live[KC_LIVE];
#pragma unroll
    for (int i = 0; i < KC_LIVE; i++)
        live[i] = seed * (2 * i + 1) + threadIdx.x;
#pragma unroll 1
    for (int k = 0; k < rounds; k++) {
#pragma unroll
        for (int i = 0; i < KC_LIVE; i++)
            live[i] = live[i] * 5 + live[(i + 1) % KC_LIVE];
    }
    kc_u32 sum = 0;
#pragma unroll
    for (int i = 0; i < KC_LIVE; i++)
        sum ^= live[i];
    __syncthreads ();
    if (sum == 0x5eed5eedu && rounds < 0)
        never[0] = sum + shared[sum % (shared_words + 1)];
}

// The same for the stack of every thread that fits, of BYTES each.
#define KC_SCRUB_STACK(BYTES)                                                          \
    KC_KERNEL kc_scrub_stack_##BYTES (kc_u32 seed, int at, kc_u32 *never)              \
    {                                                                                  \
        volatile kc_u32 stack[BYTES / 4];                                              \
        _Pragma ("unroll 1") for (int i = 0; i < BYTES / 4; i++)                       \
            stack[(i + at) % (BYTES / 4)] = seed + i;                                  \
        if (stack[at % (BYTES / 4)] != seed)                                           \
            never[0] = 1;                                                              \
    }
KC_SCRUB_STACK (256)
KC_SCRUB_STACK (1024)
KC_SCRUB_STACK (4096)
KC_SCRUB_STACK (16384)
#endif
