// the helpers of sm_90a
#include "kc_hopper.h"
extern "C" __global__ void __launch_bounds__ (128) k (const __grid_constant__ CUtensorMap m, float *y)
{
    extern __shared__ __align__ (1024) unsigned char s[];
    __shared__ uint64_t bar[2];
    float d[64];
    if (threadIdx.x == 0) {
        kc::mbar_init (bar, 1), kc::fence_mbar_init (), kc::mbar_expect (bar, 16384), kc::tma_prefetch (&m);
        kc::tma_1d (s, &m, bar, 0), kc::tma_2d (s, &m, bar, 0, 1), kc::tma_3d (s, &m, bar, 0, 1, 2), kc::tma_2d_multicast (s, &m, bar, 0, 0, 3);
        kc::mbar_arrive (bar), kc::mbar_arrive_cluster (bar, 1);
    }
    __syncthreads ();
    kc::mbar_wait (bar, 0);
    for (int i = 0; i < 64; i++)
        d[i] = 0;
    kc::wg_fence ();
    kc::wgmma_m64n128k8_tf32 (d, kc::wg_desc (s), kc::wg_desc (s + 8192), 1);
    kc::wgmma_m64n128k16_f16 (d, kc::wg_desc (s), kc::wg_desc (s + 8192), 1);
    kc::wgmma_m64n128k16_bf16 (d, kc::wg_desc (s), kc::wg_desc (s + 8192), 1);
    kc::wg_commit (), kc::wg_wait<0> ();
    kc::fence_async ();
    kc::tma_store_2d (&m, s, 0, 0), kc::tma_store_commit (), kc::tma_store_wait<0> ();
    kc::cluster_sync ();
    kc::reg_dec<40> (), kc::reg_inc<232> ();
    for (int i = 0; i < 64; i++)
        y[threadIdx.x * 64 + i] = d[i] + kc::cluster_rank ();
}
