//@ task lstm_two_layers                       ; last output of a two-layer LSTM through a linear layer
//@ dim B = 10
//@ dim T = 512
//@ dim I = 128
//@ dim H = 256
//@ dim O = 10
//@ input  x f32[B, T, I] fill=normal(0, 1)
//@ param  h_init f32[2, B, H] fill=constant(0)
//@ param  c_init f32[2, B, H] fill=constant(0)
//@ param  weight_ih_l0 f32[4*H, I] fill=uniform(-0.06, 0.06)
//@ param  weight_hh_l0 f32[4*H, H] fill=uniform(-0.06, 0.06)
//@ param  bias_ih_l0 f32[4*H] fill=uniform(-0.06, 0.06)
//@ param  bias_hh_l0 f32[4*H] fill=uniform(-0.06, 0.06)
//@ param  weight_ih_l1 f32[4*H, H] fill=uniform(-0.06, 0.06)
//@ param  weight_hh_l1 f32[4*H, H] fill=uniform(-0.06, 0.06)
//@ param  bias_ih_l1 f32[4*H] fill=uniform(-0.06, 0.06)
//@ param  bias_hh_l1 f32[4*H] fill=uniform(-0.06, 0.06)
//@ param  fc_weight f32[O, H] fill=uniform(-0.06, 0.06)
//@ param  fc_bias f32[O] fill=uniform(-0.06, 0.06)
//@ output y f32[B, O]
//@ policy tf32
//@ check B=3 T=5 H=12
//@ scratch gx f32[B, T, 4*H]
//@ scratch ga f32[B, 4*H]
//@ scratch gb f32[2, B, 4*H]
//@ scratch gc f32[B, 4*H]
//@ scratch c f32[2, B, H]
//@ scratch h f32[2, T+1, B, H]
//@ view x2[B*T, I] = x
//@ view gx2[B*T, 4*H] = gx
//@ view gx_t[B, 4*H] = gx + t*4*H strides [T*4*H, 1]
//@ view gb_t[B, 4*H] = gb + (t % 2)*B*4*H
//@ view c0[B, H] = c
//@ view c1[B, H] = c + B*H
//@ view h0_now[B, H] = h + t*B*H
//@ view h0_next[B, H] = h + (t+1)*B*H
//@ view h1_now[B, H] = h + (T+1+t)*B*H
//@ view h1_next[B, H] = h + (T+2+t)*B*H
//@ view h0_first[B, H] = h
//@ view h1_first[B, H] = h + (T+1)*B*H
//@ view h1_last[B, H] = h + (2*T+1)*B*H
//@ view hi0[B, H] = h_init
//@ view hi1[B, H] = h_init + B*H
//@ order dataflow
//@ graph
//@ copy src=hi0 dst=h0_first
//@ copy src=hi1 dst=h1_first
//@ copy src=c_init dst=c
//@ matmul out=gx2 a=x2 b=weight_ih_l0 tb bias=bias_ih_l0 compute=tf32
//@ for t in T
//@ matmul out=ga a=h0_now b=weight_hh_l0 tb bias=bias_hh_l0 compute=tf32
//@ launch lstm_cell<<<cdiv(B*H, 256), 256>>>(gx_t, ga, c0, h0_next, T*4*H)
//@ matmul out=gb_t a=h0_next b=weight_ih_l1 tb bias=bias_ih_l1 compute=tf32
//@ matmul out=gc a=h1_now b=weight_hh_l1 tb bias=bias_hh_l1 compute=tf32
//@ launch lstm_cell<<<cdiv(B*H, 256), 256>>>(gb_t, gc, c1, h1_next, 4*H)
//@ end
//@ matmul out=y a=h1_last b=fc_weight tb bias=fc_bias compute=tf32
__device__ float sig(float v) { return 1.f / (1.f + __expf(-v)); }
extern "C" __global__ void lstm_cell(const float* __restrict__ gx, const float* __restrict__ gh,
                                     float* __restrict__ c, float* __restrict__ h, int gx_stride) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, b = i / H, k = i % H;
  if (b >= B) return;
  const float *p = gx + (size_t)b * gx_stride, *q = gh + (size_t)b * 4 * H;
  float in = sig(p[k] + q[k]), f = sig(p[H + k] + q[H + k]);
  float g = tanhf(p[2 * H + k] + q[2 * H + k]), o = sig(p[3 * H + k] + q[3 * H + k]);
  float cn = f * c[i] + in * g;
  c[i] = cn;
  h[i] = o * tanhf(cn);
}
