// Kernels of the interpreter's benchmark, written the way people write them.
// y = gelu-like (a * x + b) + residual, fused; one element per thread, grid-stride
extern "C" __global__ void elementwise(const float *x, const float *r, float *y, float a, float b, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float v = a * x[i] + b;
        float s = 1.0f / (1.0f + expf(-1.702f * v));
        float t = v * s + r[i];
        t = fminf(fmaxf(t, -6.0f), 6.0f);
        y[i] = t * t * 0.5f + v;
    }
}
// one block per row
extern "C" __global__ void softmax(const float *x, float *y, int d)
{
    __shared__ float part[32];
    const float *row = x + (size_t)blockIdx.x * d;
    float *out = y + (size_t)blockIdx.x * d;
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
    float m = -3.4e38f;
    for (int i = threadIdx.x; i < d; i += blockDim.x)
        m = fmaxf(m, row[i]);
    for (int o = 16; o; o >>= 1)
        m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, o));
    if (lane == 0)
        part[warp] = m;
    __syncthreads();
    m = part[0];
    for (int w = 1; w < warps; w++)
        m = fmaxf(m, part[w]);
    __syncthreads();
    float s = 0;
    for (int i = threadIdx.x; i < d; i += blockDim.x)
        s += expf(row[i] - m);
    for (int o = 16; o; o >>= 1)
        s += __shfl_xor_sync(0xffffffffu, s, o);
    if (lane == 0)
        part[warp] = s;
    __syncthreads();
    s = part[0];
    for (int w = 1; w < warps; w++)
        s += part[w];
    float inv = 1.0f / s;
    for (int i = threadIdx.x; i < d; i += blockDim.x)
        out[i] = expf(row[i] - m) * inv;
}
// c = a b, 16 x 16 tiles through shared memory
extern "C" __global__ void matmul(const float *a, const float *b, float *c, int n)
{
    __shared__ float sa[16][16], sb[16][16];
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
    float acc = 0;
    for (int k = 0; k < n; k += 16) {
        sa[ty][tx] = a[row * n + k + tx];
        sb[ty][tx] = b[(k + ty) * n + col];
        __syncthreads();
#pragma unroll
        for (int j = 0; j < 16; j++)
            acc += sa[ty][j] * sb[j][tx];
        __syncthreads();
    }
    c[row * n + col] = acc;
}
