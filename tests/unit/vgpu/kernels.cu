// Kernels that both front ends compile for test_vgpu_front.c: what ordinary kernels do, and the awkward things.
#ifdef __clang__ // Debian's clang without a toolkit: the few names that a header would give
#define __global__ __attribute__ ((global))
#define __device__ __attribute__ ((device))
#define __shared__ __attribute__ ((shared))
#define __constant__ __attribute__ ((constant))
#define __noinline__ __attribute__ ((noinline))
#define tid_x __nvvm_read_ptx_sreg_tid_x ()
#define tid_y __nvvm_read_ptx_sreg_tid_y ()
#define cta_x __nvvm_read_ptx_sreg_ctaid_x ()
#define ntid_x __nvvm_read_ptx_sreg_ntid_x ()
#define ncta_x __nvvm_read_ptx_sreg_nctaid_x ()
#define barrier() __nvvm_bar_sync (0)
#define bfly(v, m) __nvvm_shfl_sync_bfly_f32 (-1, v, m, 31)
#define atomic_add(p, v) __nvvm_atom_add_gen_i_sh (p, v)
extern "C" __device__ float expf (float);
extern "C" __device__ float tanhf (float);
extern "C" __device__ float sqrtf (float);
extern "C" __device__ double exp (double);
extern "C" __device__ int printf (const char *, ...);
static __device__ int __nvvm_atom_add_gen_i_sh (int *p, int v)
{
    return __atomic_fetch_add (p, v, __ATOMIC_RELAXED);
}
struct __attribute__ ((aligned (16))) float4 {
    float x, y, z, w;
};
#else
#include <cstdio>
#define tid_x threadIdx.x
#define tid_y threadIdx.y
#define cta_x blockIdx.x
#define ntid_x blockDim.x
#define ncta_x gridDim.x
#define barrier() __syncthreads ()
#define bfly(v, m) __shfl_xor_sync (0xffffffffu, v, m)
#define atomic_add(p, v) atomicAdd (p, v)
#endif

extern "C" __global__ void elementwise (const float *x, float *y, int n)
{
    int i = cta_x * ntid_x + tid_x;
    if (i < n)
        y[i] = expf (x[i]) * 0.5f + tanhf (x[i]) / sqrtf (1.0f + x[i] * x[i]);
}

extern "C" __global__ void vector4 (const float4 *x, float4 *y, int n)
{
    for (int i = cta_x * ntid_x + tid_x; i < n; i += ncta_x * ntid_x) {
        float4 v = x[i];
        v.x += 1;
        v.y *= 2;
        v.z -= v.w;
        y[i] = v;
    }
}

extern "C" __global__ void softmax (const float *x, float *y, int d)
{
    __shared__ float part[32];
    const float *row = x + (long long)cta_x * d;
    float m = -3e38f, s = 0;
    int lane = tid_x & 31, warp = tid_x >> 5, warps = ntid_x >> 5;
    for (int i = tid_x; i < d; i += ntid_x)
        m = row[i] > m ? row[i] : m;
    for (int o = 16; o; o >>= 1) {
        float q = bfly (m, o);
        m = q > m ? q : m;
    }
    if (lane == 0)
        part[warp] = m;
    barrier ();
    for (int w = 0; w < warps; w++)
        m = part[w] > m ? part[w] : m;
    barrier ();
    for (int i = tid_x; i < d; i += ntid_x)
        s += expf (row[i] - m);
    for (int o = 16; o; o >>= 1)
        s += bfly (s, o);
    if (lane == 0)
        part[warp] = s;
    barrier ();
    s = 0;
    for (int w = 0; w < warps; w++)
        s += part[w];
    for (int i = tid_x; i < d; i += ntid_x)
        y[(long long)cta_x * d + i] = expf (row[i] - m) / s;
}

extern "C" __global__ void matmul (const float *a, const float *b, float *c, int n)
{
    __shared__ float sa[8][8], sb[8][9];
    int row = (int)(cta_x / (n / 8)) * 8 + tid_y, col = (int)(cta_x % (n / 8)) * 8 + tid_x;
    float acc = 0;
    for (int k = 0; k < n; k += 8) {
        sa[tid_y][tid_x] = a[row * n + k + tid_x];
        sb[tid_y][tid_x] = b[(k + tid_y) * n + col];
        barrier ();
        for (int j = 0; j < 8; j++)
            acc += sa[tid_y][j] * sb[j][tid_x];
        barrier ();
    }
    c[row * n + col] = acc;
}

extern "C" __global__ void histogram (const float *x, int *bins, int n)
{
    __shared__ int local[16];
    if (tid_x < 16)
        local[tid_x] = 0;
    barrier ();
    for (int i = cta_x * ntid_x + tid_x; i < n; i += ncta_x * ntid_x)
        atomic_add (&local[(int)((x[i] + 2) * 4) & 15], 1);
    barrier ();
    if (tid_x < 16)
        atomic_add (&bins[tid_x], local[tid_x]);
}

struct args {
    float a[5];
    int k;
};
extern "C" __global__ void by_value (args s, float *y)
{
    y[tid_x] = s.a[tid_x % 5] * s.k;
}

static __device__ __noinline__ int fib (int n)
{
    return n < 2 ? n : fib (n - 1) + fib (n - 2);
}
extern "C" __global__ void awkward (const float *x, int *y, int n)
{
    int history[8], i = tid_x;
    for (int k = 0; k < 8; k++)
        history[k] = k * i;
    int v = history[(i + n) & 7] + fib (i % 9);
    switch (i % 6) {
    case 0:
        v += 10;
        break;
    case 1:
        v *= 3;
        break;
    case 2:
        v = -v;
        break;
    case 3:
        v ^= 0x55;
        break;
    case 4:
        v <<= 2;
        break;
    default:
        v -= 7;
    }
    long long wide = (long long)v * 1000003ll;
    unsigned rest = (unsigned)wide % 977u;
    asm volatile ("{ .reg .pred p; .reg .b32 low; W: setp.lt.u32 p, %0, 500; @p bra D; sub.u32 %0, %0, 100; bra W; D: mov.u32 low, 1; add.u32 %0, %0, low; }"
                  : "+r"(rest));
    double sum = 0;
    for (int k = 0; k <= i; k++)
        sum += exp (-(double)k) * (double)x[k];
    y[i] = (int)rest + (int)(sum * 1000.0);
}

extern "C" __global__ void talk (const float *x)
{
    if (tid_x == 3)
        printf ("thread %d has %.2f %s\n", (int)tid_x, (double)x[3], "here");
}
