//@ task gemm_bias_relu                        ; y = relu(x w^T + b)
//@ dim M = 4096
//@ dim N = 4096
//@ dim K = 4096
//@ input  x f32[M, K] fill=normal(0, 1)
//@ param  w f32[N, K] fill=normal(0, 1)
//@ param  b f32[N] fill=normal(0, 1)
//@ output y f32[M, N]
//@ policy tf32
//@ check M=260 N=129 K=64
//@ const BM = 128
//@ const BN = 128
//@ const BK = 32
//@ const STAGES = 4
//@ const CLUSTER = 2
//@ tensormap tx = x box=[BK,BM] swizzle=128B type=tf32
//@ tensormap tw = w box=[BK,BN/CLUSTER] swizzle=128B type=tf32
//@ launch gemm_bias_relu<<<[align(cdiv(M,BM),CLUSTER), cdiv(N,BN)], 384, STAGES*(BM+BN)*BK*4>>> cluster=[CLUSTER]
#include "kc_hopper.h"
// y[M,N] = relu(x[M,K] * w[N,K]^T + b[N]); TF32 wgmma, TMA, pairs of blocks share the w tile by multicast.
constexpr int STAGE_A = BM * BK, STAGE_B = BN * BK;
extern "C" __global__ void __launch_bounds__(384, 1)
gemm_bias_relu(const __grid_constant__ CUtensorMap tx, const __grid_constant__ CUtensorMap tw,
               const float* __restrict__ b, float* __restrict__ y, int M, int N, int K) {
  extern __shared__ __align__(1024) float sm[];
  float* sa = sm;                                   // [STAGES][BM][BK]
  float* sb = sm + STAGES * STAGE_A;                // [STAGES][BN][BK]
  __shared__ uint64_t full[STAGES], empty[STAGES];
  const int group = threadIdx.x >> 7, rank = kc::cluster_rank();
  const int m0 = blockIdx.x * BM, n0 = blockIdx.y * BN, kt = (K + BK - 1) / BK;
  if (threadIdx.x == 0) {
    for (int s = 0; s < STAGES; ++s) { kc::mbar_init(&full[s], 1); kc::mbar_init(&empty[s], 2 * CLUSTER); }
    kc::fence_mbar_init();
  }
  kc::cluster_sync();
  if (group == 2) {                                 // producer
    kc::reg_dec<40>();
    if (threadIdx.x == 256) {
      for (int k = 0; k < kt; ++k) {
        int s = k % STAGES, ph = (k / STAGES) & 1;
        kc::mbar_wait(&empty[s], ph ^ 1);
        kc::mbar_expect(&full[s], (STAGE_A + STAGE_B) * 4);
        kc::tma_2d(sa + s * STAGE_A, &tx, &full[s], k * BK, m0);
        int half = BN / CLUSTER;                    // each block of the pair fetches half of w's tile for both
        kc::tma_2d_multicast(sb + s * STAGE_B + rank * half * BK, &tw, &full[s], k * BK, n0 + rank * half, (1 << CLUSTER) - 1);
      }
    }
  } else {                                          // two consumer warpgroups, 64 rows each
    kc::reg_inc<232>();
    float acc[64];
    for (int i = 0; i < 64; ++i) acc[i] = 0.f;
    for (int k = 0; k < kt; ++k) {
      int s = k % STAGES, ph = (k / STAGES) & 1;
      kc::mbar_wait(&full[s], ph);
      uint64_t da = kc::wg_desc(sa + s * STAGE_A + group * 64 * BK), db = kc::wg_desc(sb + s * STAGE_B);
      kc::wg_fence();
      for (int kk = 0; kk < BK / 8; ++kk) kc::wgmma_m64n128k8_tf32(acc, da + kk * 2, db + kk * 2, 1);
      kc::wg_commit();
      kc::wg_wait<0>();
      if ((threadIdx.x & 127) < CLUSTER) kc::mbar_arrive_cluster(&empty[s], threadIdx.x & 127);
    }
    int lane = threadIdx.x & 31, warp = (threadIdx.x & 127) >> 5;
    int row = m0 + group * 64 + warp * 16 + lane / 4, col = n0 + (lane & 3) * 2;
    for (int j = 0; j < 16; ++j)
      for (int h = 0; h < 2; ++h) {
        int r = row + h * 8, c = col + j * 8;
        if (r < M && c < N) {
          float2 v = make_float2(fmaxf(acc[j * 4 + h * 2] + b[c], 0.f), fmaxf(acc[j * 4 + h * 2 + 1] + (c + 1 < N ? b[c + 1] : 0.f), 0.f));
          if (c + 1 < N && (N & 1) == 0) *reinterpret_cast<float2*>(y + (size_t)r * N + c) = v;
          else { y[(size_t)r * N + c] = v.x; if (c + 1 < N) y[(size_t)r * N + c + 1] = v.y; }
        }
      }
  }
  kc::cluster_sync();                               // no block leaves while its pair can still arrive on its barriers
}
