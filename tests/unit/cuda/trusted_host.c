/* trusted_host.c - trusted.cu as plain C, run thread by thread: the same source that
 * runs on the GPU */

#include "agents/gpu/judge/kc_philox.h"
#include "tests/unit/cuda/fake_driver.h"

typedef struct index3 {
    unsigned x, y, z;
} index3_t;

// The built-in variables of a kernel; a test runs one thread at a time.
static index3_t blockIdx, threadIdx, blockDim, gridDim;

#define KC_KERNEL static void
#define KC_INLINE static inline
#define KC_INDEX ((kc_u64)blockIdx.x * blockDim.x + threadIdx.x)
#define KC_COUNT_X ((kc_u64)gridDim.x * blockDim.x)

static inline void kc_add_to (kc_u64 *out, kc_u64 value)
{
    *out += value;
}

static inline void kc_min_to (kc_u64 *out, kc_u64 value)
{
    *out = value < *out ? value : *out;
}

#include "agents/gpu/cuda/trusted.cu"

// Call 'body' once per thread of the launch.
#define EVERY_THREAD(body)                                                             \
    gridDim = (index3_t){grid[0], grid[1], grid[2]};                                   \
    blockDim = (index3_t){block[0], block[1], block[2]};                               \
    for (blockIdx.y = 0; blockIdx.y < grid[1]; blockIdx.y++)                           \
        for (blockIdx.x = 0; blockIdx.x < grid[0]; blockIdx.x++)                       \
            for (threadIdx.x = 0; threadIdx.x < block[0]; threadIdx.x++)               \
    body

void kc_host_hash (void **p, const unsigned *grid, const unsigned *block)
{
    const struct kc_segment *segments;
    kc_u64 *out;
    memcpy (&segments, p[0], sizeof segments);
    memcpy (&out, p[1], sizeof out);
    EVERY_THREAD (kc_hash (segments, out));
}

void kc_host_guard (void **p, const unsigned *grid, const unsigned *block)
{
    const struct kc_segment *segments;
    kc_u64 *out;
    memcpy (&segments, p[0], sizeof segments);
    memcpy (&out, p[1], sizeof out);
    EVERY_THREAD (kc_guard (segments, out));
}

void kc_host_generate (void **p, const unsigned *grid, const unsigned *block)
{
    kc_u64 address;
    kc_fill_t fill;
    memcpy (&address, p[0], sizeof address);
    memcpy (&fill, p[1], sizeof fill);
    EVERY_THREAD (kc_generate (address, fill));
}
