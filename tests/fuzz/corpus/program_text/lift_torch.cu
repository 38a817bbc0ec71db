#include <torch/extension.h>
#define THREADS 256
__device__ float twice(float v) { return 2.f * v; }
__global__ void scale(const float* __restrict__ x, float* __restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = twice(x[i]); }
torch::Tensor run(const torch::Tensor& x, int steps) {
  const auto B = x.size(0), D = x.size(1);
  auto tmp = torch::zeros({x.size(0), 2 * x.size(1)}, x.options());
  auto y = torch::empty_like(x);
  dim3 grid((x.size(1) + 31) / 32, (unsigned int)x.size(0));
  dim3 block(32, 8);
  for (int s = 0; s < steps; ++s) {
    scale<<<grid, block, 4 * sizeof(float), stream>>>(x.data_ptr<float>(), tmp.data_ptr<float>() + s * 4, 7u);
  }
  if (x.size(1) % 4 == 0) scale<<<1, 32>>>(tmp.data_ptr<float>(), y.data_ptr<float>(), 1 << 4);
  else { scale<<<dim3(2, 3), 32>>>(tmp.data_ptr<float>(), y.data_ptr<float>(), (int)ceil(x.size(0) / 4.0f)); }
  return y;
}
