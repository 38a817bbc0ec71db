//@ task conv_hardswish                        ; y = hardswish(relu(conv(x, w) + b))
//@ dim B = 128
//@ dim C = 8
//@ dim H = 128
//@ dim W = 128
//@ dim O = 64
//@ dim R = 3
//@ input  x f32[B, C, H, W] fill=normal(0, 1)
//@ param  conv_weight f32[O, C, R, R] fill=uniform(-0.1, 0.1)
//@ param  conv_bias f32[O] fill=uniform(-0.1, 0.1)
//@ output y f32[B, O, H - R + 1, W - R + 1]
//@ policy tf32
//@ check B=3 C=5 H=17 W=19 O=7
//@ conv out=y x=x w=conv_weight bias=conv_bias act=relu compute=tf32
//@ if y.numel % 4 == 0
//@ launch hardswish4<<<min(cdiv(y.numel/4, 256), 16*SMS), 256>>>(y, y.numel/4)
//@ else
//@ launch hardswish1<<<min(cdiv(y.numel, 256), 16*SMS), 256>>>(y, y.numel)
//@ end
__device__ float hs(float v) { return v * __saturatef((v + 3.f) * (1.f / 6.f)); }
extern "C" __global__ void hardswish4(float4* y, long long n) {
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x) {
    float4 v = y[i];
    y[i] = make_float4(hs(v.x), hs(v.y), hs(v.z), hs(v.w));
  }
}
extern "C" __global__ void hardswish1(float* y, long long n) {
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x) y[i] = hs(y[i]);
}
