//@ task softmax                                 ; y = softmax(x) over each row
//@ dim B = 2048
//@ dim D = 4096
//@ input  x f32[B, D] fill=normal(0, 2)
//@ output y f32[B, D]
//@ check B=3 D=1
//@ check B=5 D=777
//@ check B=7 D=1028
//@ tune BLOCK in 32 64 128 256 512 1024 for Launch_Tuning
//@ tune VEC in 1 2 4 for Vectorization_Refinement
//@ tune ONLINE in 0 1 for Reduce_Instruction_Count
//@ tune SHUFFLE in 0 1 for Warp_Level_Reduction
//@ launch softmax<<<B, BLOCK>>>
// One block per row, three passes: maximum, sum of exponentials, division.  As given the block is small,
// loads are single floats and the block reduction walks a tree in shared memory.
struct Pair {
    float m, s; // maximum, sum of exp(x - m)
};

__device__ Pair merge(Pair a, Pair b)
{
    float m = fmaxf(a.m, b.m);
    if (m == -INFINITY)
        return Pair{m, 0.f};
    return Pair{m, a.s * expf(a.m - m) + b.s * expf(b.m - m)};
}

__device__ Pair block_merge(Pair v)
{
    __shared__ Pair part[1024];
    int t = threadIdx.x;
    if (SHUFFLE) {
        for (int o = 16; o; o >>= 1)
            v = merge(v, Pair{__shfl_xor_sync(0xffffffffu, v.m, o), __shfl_xor_sync(0xffffffffu, v.s, o)});
        __syncthreads();
        if ((t & 31) == 0)
            part[t >> 5] = v;
        __syncthreads();
        v = part[0];
        for (int w = 1; w < BLOCK / 32; w++)
            v = merge(v, part[w]);
        return v;
    }
    __syncthreads();
    part[t] = v;
    __syncthreads();
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (t < half)
            part[t] = merge(part[t], part[t + half]);
        __syncthreads();
    }
    return part[0];
}

template <int W> struct alignas(4 * W) Pack {
    float v[W];
};

template <int W> __device__ void row_softmax(const float *__restrict__ x, float *__restrict__ y, int n)
{
    const Pack<W> *px = reinterpret_cast<const Pack<W> *>(x);
    Pack<W> *py = reinterpret_cast<Pack<W> *>(y);
    Pair v{-INFINITY, 0.f};
    if (ONLINE) {
        for (int i = threadIdx.x; i < n / W; i += BLOCK) {
            Pack<W> p = px[i];
            float m = v.m;
            for (int k = 0; k < W; k++)
                m = fmaxf(m, p.v[k]);
            float s = v.m == -INFINITY ? 0.f : v.s * expf(v.m - m);
            for (int k = 0; k < W; k++)
                s += expf(p.v[k] - m);
            v = Pair{m, s};
        }
        v = block_merge(v);
    }
    else {
        for (int i = threadIdx.x; i < n / W; i += BLOCK) {
            Pack<W> p = px[i];
            for (int k = 0; k < W; k++)
                v.m = fmaxf(v.m, p.v[k]);
        }
        float m = block_merge(Pair{v.m, 1.f}).m;
        float s = 0.f;
        for (int i = threadIdx.x; i < n / W; i += BLOCK) {
            Pack<W> p = px[i];
            for (int k = 0; k < W; k++)
                s += expf(p.v[k] - m);
        }
        v = block_merge(Pair{m, s});
    }
    for (int i = threadIdx.x; i < n / W; i += BLOCK) {
        Pack<W> p = px[i];
        for (int k = 0; k < W; k++)
            p.v[k] = expf(p.v[k] - v.m) / v.s;
        py[i] = p;
    }
}

extern "C" __global__ void softmax(const float *__restrict__ x, float *__restrict__ y, int D)
{
    size_t at = (size_t)blockIdx.x * D;
    if (VEC > 1 && D % VEC == 0)
        row_softmax<VEC>(x + at, y + at, D);
    else
        row_softmax<1>(x + at, y + at, D);
}
