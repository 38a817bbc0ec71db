// wmma in every shape and layout, mma, ldmatrix, cp.async
#include "kc_mma.h"
#include <cuda_pipeline.h>
#include <mma.h>
using namespace nvcuda;
template <int M, int N, int K, class T, class S, class A, class LA, class LB> __device__ void product (const S *a, const S *b, A *c)
{
    wmma::fragment<wmma::matrix_a, M, N, K, T, LA> fa;
    wmma::fragment<wmma::matrix_b, M, N, K, T, LB> fb;
    wmma::fragment<wmma::accumulator, M, N, K, A> fc;
    wmma::load_matrix_sync (fa, a, 16), wmma::load_matrix_sync (fb, b, 16), wmma::load_matrix_sync (fc, c, 16, wmma::mem_col_major);
    for (int i = 0; i < fc.num_elements; i++)
        fc.x[i] = fc.x[i] + fc.x[i];
    wmma::mma_sync (fc, fa, fb, fc);
    wmma::store_matrix_sync (c, fc, 16, wmma::mem_row_major);
    wmma::fill_fragment (fc, A (0.0f));
    wmma::store_matrix_sync (c + 512, fc, 16, wmma::mem_col_major);
}
template <int M, int N, int K, class T, class S, class A> __device__ void layouts (const S *a, const S *b, A *c)
{
    product<M, N, K, T, S, A, wmma::row_major, wmma::row_major> (a, b, c);
    product<M, N, K, T, S, A, wmma::row_major, wmma::col_major> (a, b, c);
    product<M, N, K, T, S, A, wmma::col_major, wmma::row_major> (a, b, c);
    product<M, N, K, T, S, A, wmma::col_major, wmma::col_major> (a, b, c);
}
extern "C" __global__ void k (const half *h, half *ho, const nv_bfloat16 *b, const float *f, float *o)
{
    layouts<16, 16, 16, half> (h, h, o), layouts<32, 8, 16, half> (h, h, o), layouts<8, 32, 16, half> (h, h, o);
    layouts<16, 16, 16, half> (h, h, ho), layouts<32, 8, 16, half> (h, h, ho), layouts<8, 32, 16, half> (h, h, ho);
    layouts<16, 16, 16, nv_bfloat16> (b, b, o);
    layouts<16, 16, 8, wmma::precision::tf32> (f, f, o);
    o[0] = wmma::__float_to_tf32 (f[0]);
    __shared__ __align__ (16) float s[1024];
    kc::cp_async_4 (s, f), kc::cp_async_8 (s + 2, f + 2), kc::cp_async_16 (s + 4, f + 4), kc::cp_async_16_fill (s + 8, f + 8, 8);
    kc::cp_async_commit ();
    kc::cp_async_wait<0> ();
    kc::cp_async_wait_all ();
    __pipeline_memcpy_async (s + 16, f + 16, 16), __pipeline_memcpy_async (s + 20, f, 8), __pipeline_memcpy_async (s + 22, f, 4);
    __pipeline_commit ();
    __pipeline_wait_prior (0);
    __syncthreads ();
    uint32_t a1, a2[2], a4[4];
    float d[4] = {0, 0, 0, 0};
    kc::ldmatrix_x1 (a1, s), kc::ldmatrix_x2 (a2, s), kc::ldmatrix_x4 (a4, s), kc::ldmatrix_x2_trans (a2, s), kc::ldmatrix_x4_trans (a4, s);
    a4[0] = kc::round_tf32 (f[3]) + a1;
    kc::mma_f16 (d, a4, a2), kc::mma_bf16 (d, a4, a2), kc::mma_tf32 (d, a4, a2);
    o[1] = d[0] + d[3];
}
