//@ task nest ; loops and conditions
//@ dim T = 3
//@ dim U = 2 * T
//@ input x f32[T, U] fill=uniform(-1, 1)
//@ output y f32[T, U]
//@ tune A in 1 2 4 for Increase_ILP_WorkPerThread
//@ host G = SMS * occupancy(a, 32, 0)
//@ prepared p f32[U]
//@ param w f32[U]
//@ prepare
//@ copy src=w dst=p
//@ end
//@ view row[U] = x + t*U
//@ view yr[U] = y + t*U strides [1]
//@ for t in T
//@ launch a<<<1, 32>>>(row, yr)
//@ for u in U
//@ if u > 2
//@ launch b<2, float><<<[1, 2], dim3(32)>>> when t == 0
//@ end
//@ end
//@ launch a<<<min(G, 3), 32, \
//@   128>>>(row, yr)
//@ end
//@ options fast_math fmad=off max_registers=64
//@ order dataflow
extern "C" __global__ void __launch_bounds__(64) a(const float *x, float *y) { y[0] = __expf(x[0]) + 1.f; }
template <int N, typename F> __global__ void b(const F *p, F *y) { y[0] += p[0]; }
