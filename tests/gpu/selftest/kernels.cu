// kernels.cu - the candidates of the self-test: right ones, wrong ones, and those that look for leftovers

extern "C" {
__constant__ float factor_table[4];
}

extern "C" __global__ void copy4 (const float4 *x, float4 *y, long long n)
{
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x)
        y[i] = x[i];
}

extern "C" __global__ void scale (const float *x, float *y, float f, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[i] * f;
}

extern "C" __global__ void add_table (float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] += factor_table[i % 4];
}

extern "C" __global__ void nothing (int *y)
{
    if (y == 0)
        y[0] = 1;
}

// Busy for 'ns' nanoseconds.
extern "C" __global__ void spin (int *y, long long ns)
{
    unsigned long long t0, t;
    asm volatile ("mov.u64 %0, %%globaltimer;" : "=l"(t0));
    do
        asm volatile ("mov.u64 %0, %%globaltimer;" : "=l"(t));
    while (t - t0 < (unsigned long long)ns);
    if (threadIdx.x == 0)
        y[blockIdx.x] = (int)ns;
}

extern "C" __global__ void big_shared (float *y, int words)
{
    extern __shared__ float s[];
    for (int i = threadIdx.x; i < words; i += blockDim.x)
        s[i] = (float)i;
    __syncthreads ();
    if (threadIdx.x == 0)
        y[blockIdx.x] = s[words - 1];
}

extern "C" __global__ void cluster_size (int *y)
{
    unsigned n = 1;
#if __CUDA_ARCH__ >= 900
    asm ("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(n));
#endif
    if (threadIdx.x == 0)
        y[blockIdx.x] = (int)n;
}

// All blocks meet: ends only when all are resident.
extern "C" __global__ void meet (int *count, int *y)
{
    if (threadIdx.x == 0) {
        atomicAdd (count, 1);
        while (atomicAdd (count, 0) < (int)gridDim.x)
            ;
        y[blockIdx.x] = 1;
    }
}

extern "C" __global__ void write_at (float *y, long long i)
{
    y[i] = 1.0f;
}

extern "C" __global__ void write_const (const float *x, float *y)
{
    ((float *)x)[7] = 3.0f;
    y[0] = 1.0f;
}

extern "C" __global__ void forever (const int *x, int *y)
{
    volatile const int *p = x;
    while (*p >= 0)
        ;
    y[0] = 1;
}

extern "C" __global__ void misaligned (float *y)
{
    *(float4 *)(y + 1) = make_float4 (1, 2, 3, 4);
}

extern "C" __global__ void trapped (int *y)
{
    y[0] = 1;
    asm volatile ("trap;");
}

// Leave a mark in shared memory and on the stack of every thread that fits.
extern "C" __global__ void mark (int *y, int words, unsigned what, int at)
{
    extern __shared__ unsigned m[];
    volatile unsigned stack[64];
    for (int i = threadIdx.x; i < words; i += blockDim.x)
        m[i] = what;
    for (int i = 0; i < 64; i++)
        stack[(i + at) % 64] = what;
    __syncthreads ();
    if (m[0] == 1 && stack[at % 64] == 1)
        y[0] = 1;
}

// Count the mark in memory that was never written by this launch.
extern "C" __global__ void look (unsigned long long *y, int words, unsigned what, int at)
{
    extern __shared__ unsigned m[];
    volatile unsigned stack[64];
    unsigned in_shared = 0, on_stack = 0;
    for (int i = threadIdx.x; i < words; i += blockDim.x)
        in_shared += ((volatile unsigned *)m)[i] == what;
    if (at < 0)
        stack[-at] = 0; // keeps the array in local memory
    for (int i = 0; i < 64; i++)
        on_stack += stack[(i + at) % 64] == what;
    atomicAdd (&y[0], (unsigned long long)in_shared);
    atomicAdd (&y[1], (unsigned long long)on_stack);
}
