//@ task matmul                                  ; c = a b
//@ dim M = 512
//@ dim N = 512
//@ dim K = 512
//@ input  a f32[M, K] fill=normal(0, 1)
//@ input  b f32[K, N] fill=normal(0, 1)
//@ output c f32[M, N]
//@ check M=33 N=65 K=17
//@ check M=64 N=32 K=100
//@ tune TILED in 0 1 for SharedMemoryTiling
//@ tune RM in 1 2 4 8 for RegisterBlocking
//@ tune RN in 1 2 4 8 for RegisterBlocking
//@ tune BK in 16 8 32 for Launch_Tuning
//@ tune UNROLL in 1 4 8 for Increase_ILP_WorkPerThread
//@ launch matmul<<<[cdiv(N, 16 * RN), cdiv(M, 16 * RM)], [16, 16]>>>
// Each thread computes RM x RN elements of c.  As given it is one element, read straight from global memory.
extern "C" __global__ void matmul(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c,
                                  int M, int N, int K)
{
    int tx = threadIdx.x, ty = threadIdx.y;
    int row0 = blockIdx.y * 16 * RM, col0 = blockIdx.x * 16 * RN;
    float acc[RM][RN];
    for (int i = 0; i < RM; i++)
        for (int j = 0; j < RN; j++)
            acc[i][j] = 0.f;
    if (TILED) {
        __shared__ float sa[16 * RM][BK + 1];
        __shared__ float sb[BK][16 * RN];
        for (int k0 = 0; k0 < K; k0 += BK) {
            for (int e = ty * 16 + tx; e < 16 * RM * BK; e += 256) {
                int r = e / BK, k = e % BK;
                sa[r][k] = row0 + r < M && k0 + k < K ? a[(size_t)(row0 + r) * K + k0 + k] : 0.f;
            }
            for (int e = ty * 16 + tx; e < BK * 16 * RN; e += 256) {
                int k = e / (16 * RN), n = e % (16 * RN);
                sb[k][n] = k0 + k < K && col0 + n < N ? b[(size_t)(k0 + k) * N + col0 + n] : 0.f;
            }
            __syncthreads();
#pragma unroll UNROLL
            for (int k = 0; k < BK; k++) {
                float va[RM], vb[RN];
                for (int i = 0; i < RM; i++)
                    va[i] = sa[ty + 16 * i][k];
                for (int j = 0; j < RN; j++)
                    vb[j] = sb[k][tx + 16 * j];
                for (int i = 0; i < RM; i++)
                    for (int j = 0; j < RN; j++)
                        acc[i][j] += va[i] * vb[j];
            }
            __syncthreads();
        }
    }
    else {
#pragma unroll UNROLL
        for (int k = 0; k < K; k++) {
            float va[RM], vb[RN];
            for (int i = 0; i < RM; i++) {
                int r = row0 + ty + 16 * i;
                va[i] = r < M ? a[(size_t)r * K + k] : 0.f;
            }
            for (int j = 0; j < RN; j++) {
                int n = col0 + tx + 16 * j;
                vb[j] = n < N ? b[(size_t)k * N + n] : 0.f;
            }
            for (int i = 0; i < RM; i++)
                for (int j = 0; j < RN; j++)
                    acc[i][j] += va[i] * vb[j];
        }
    }
    for (int i = 0; i < RM; i++)
        for (int j = 0; j < RN; j++) {
            int r = row0 + ty + 16 * i, n = col0 + tx + 16 * j;
            if (r < M && n < N)
                c[(size_t)r * N + n] = acc[i][j];
        }
}
