//@ task reduction                               ; y = sum of all elements of x
//@ dim N = 16777216
//@ input  x f32[N] fill=uniform(0, 1)
//@ output y f32[1]
//@ check N=17
//@ check N=100003
//@ check N=65536
//@ const SLOTS = 2048
//@ tune BLOCKS in 32 132 264 528 1056 2048 for Split_Reduction
//@ tune BLOCK in 64 128 256 512 for Launch_Tuning
//@ tune VEC in 1 2 4 for Vectorization_Refinement
//@ tune UNROLL in 1 2 4 8 for Increase_Memory_Level_Parallelism
//@ tune SHUFFLE in 0 1 for Warp_Level_Reduction
//@ scratch part f32[SLOTS]
//@ launch sum_part<<<BLOCKS, BLOCK>>>
//@ launch sum_rest<<<1, 256>>>
// Two kernels: every block sums a strided share of x, then one block sums the partial sums.  As given there
// are few small blocks and each thread has one load in flight.
template <int THREADS> __device__ float block_sum(float v)
{
    __shared__ float s[THREADS];
    int t = threadIdx.x;
    if (SHUFFLE) {
        for (int o = 16; o; o >>= 1)
            v += __shfl_xor_sync(0xffffffffu, v, o);
        if ((t & 31) == 0)
            s[t >> 5] = v;
        __syncthreads();
        v = 0.f;
        for (int w = 0; w < THREADS / 32; w++)
            v += s[w];
        return v;
    }
    s[t] = v;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (t < half)
            s[t] += s[t + half];
        __syncthreads();
    }
    return s[0];
}

template <int W> struct alignas(4 * W) Pack {
    float v[W];
};

extern "C" __global__ void sum_part(const float *__restrict__ x, float *__restrict__ part, int N)
{
    const Pack<VEC> *px = reinterpret_cast<const Pack<VEC> *>(x);
    int n = N / VEC, step = BLOCKS * BLOCK;
    float acc[UNROLL];
    for (int u = 0; u < UNROLL; u++)
        acc[u] = 0.f;
    int i = blockIdx.x * BLOCK + threadIdx.x;
    for (; i + (UNROLL - 1) * step < n; i += UNROLL * step) {
        Pack<VEC> p[UNROLL];
        for (int u = 0; u < UNROLL; u++)
            p[u] = px[i + u * step];
        for (int u = 0; u < UNROLL; u++)
            for (int k = 0; k < VEC; k++)
                acc[u] += p[u].v[k];
    }
    for (; i < n; i += step)
        for (int k = 0; k < VEC; k++)
            acc[0] += px[i].v[k];
    int tail = n * VEC + blockIdx.x * BLOCK + threadIdx.x;
    if (tail < N)
        acc[0] += x[tail];
    float sum = 0.f;
    for (int u = 0; u < UNROLL; u++)
        sum += acc[u];
    sum = block_sum<BLOCK>(sum);
    if (threadIdx.x == 0)
        part[blockIdx.x] = sum;
}

extern "C" __global__ void sum_rest(const float *__restrict__ part, float *__restrict__ y)
{
    float sum = 0.f;
    for (int i = threadIdx.x; i < BLOCKS; i += 256)
        sum += part[i];
    sum = block_sum<256>(sum);
    if (threadIdx.x == 0)
        y[0] = sum;
}
