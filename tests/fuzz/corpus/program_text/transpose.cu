//@ task transpose                               ; y = transpose(x)
//@ dim M = 4096
//@ dim N = 4096
//@ input  x f32[M, N] fill=normal(0, 1)
//@ output y f32[N, M]
//@ check M=37 N=65
//@ check M=130 N=96
//@ tune TILED in 0 1 for Improve_Coalescing_and_TransactionSize
//@ tune PAD in 0 1 for Reduce_Bank_Conflicts
//@ tune ROWS in 32 16 8 4 for Increase_ILP_WorkPerThread
//@ launch transpose<<<[cdiv(N, 32), cdiv(M, 32)], [32, ROWS]>>>
// Each block moves a tile of 32 x 32.  As given, neighbouring threads read neighbouring elements and
// write elements that are M apart.
extern "C" __global__ void transpose(const float *__restrict__ x, float *__restrict__ y, int M, int N)
{
    int col = blockIdx.x * 32 + threadIdx.x;
    int row = blockIdx.y * 32 + threadIdx.y;
    if (!TILED) {
        for (int i = 0; i < 32; i += ROWS)
            if (row + i < M && col < N)
                y[(size_t)col * M + row + i] = x[(size_t)(row + i) * N + col];
        return;
    }
    __shared__ float tile[32][32 + PAD];
    for (int i = 0; i < 32; i += ROWS)
        if (row + i < M && col < N)
            tile[threadIdx.y + i][threadIdx.x] = x[(size_t)(row + i) * N + col];
    __syncthreads();
    int out_col = blockIdx.y * 32 + threadIdx.x;
    int out_row = blockIdx.x * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += ROWS)
        if (out_row + i < N && out_col < M)
            y[(size_t)(out_row + i) * M + out_col] = tile[threadIdx.x][threadIdx.y + i];
}
