//@ task softmax_two_passes                    ; y = softmax(x) over each row, rows split when there are few
//@ dim B = 4096
//@ dim D = 393216
//@ input  x f32[B, D] fill=normal(0, 1)
//@ output y f32[B, D]
//@ check B=5 D=1037
//@ const SPLIT = min(32, cdiv(4 * SMS, B))
//@ scratch part f32[B, SPLIT, 2]
//@ launch softmax_stats<<<[SPLIT, B], 256>>>
//@ launch softmax_scale<<<[cdiv(D, 2048), B], 256>>>
struct MaxSum { float m, s; };
__device__ MaxSum merge(MaxSum a, MaxSum b) {
  float m = fmaxf(a.m, b.m);
  if (m == -INFINITY) return MaxSum{m, 0.f};
  return MaxSum{m, a.s * __expf(a.m - m) + b.s * __expf(b.m - m)};
}
extern "C" __global__ void softmax_stats(const float* __restrict__ x, float* __restrict__ part, int D) {
  const float* row = x + (size_t)blockIdx.y * D;
  MaxSum v{-INFINITY, 0.f};
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < D; i += SPLIT * blockDim.x) v = merge(v, MaxSum{row[i], 1.f});
  for (int o = 16; o; o >>= 1) v = merge(v, MaxSum{kc::shfl_xor(v.m, o), kc::shfl_xor(v.s, o)});
  __shared__ MaxSum warp[32];
  if ((threadIdx.x & 31) == 0) warp[threadIdx.x >> 5] = v;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < (int)(blockDim.x >> 5); ++w) v = merge(v, warp[w]);
    float* p = part + ((size_t)blockIdx.y * SPLIT + blockIdx.x) * 2;
    p[0] = v.m; p[1] = v.s;
  }
}
extern "C" __global__ void softmax_scale(const float* __restrict__ x, const float* __restrict__ part, float* __restrict__ y, int D) {
  MaxSum v{-INFINITY, 0.f};
  for (int i = 0; i < SPLIT; ++i) {
    const float* p = part + ((size_t)blockIdx.y * SPLIT + i) * 2;
    v = merge(v, MaxSum{p[0], p[1]});
  }
  float inv = 1.f / v.s;
  size_t base = (size_t)blockIdx.y * D;
  for (int k = 0; k < 8; ++k) {
    int i = blockIdx.x * 2048 + k * 256 + threadIdx.x;
    if (i < D) y[base + i] = __expf(x[base + i] - v.m) * inv;
  }
}
