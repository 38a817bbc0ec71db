// test_compile_habits.c - 300 generated kernels with the habits of public code: all
// compile, none is changed
//
// A kernel is put together from: a way of including, a way of declaring, an index
// computation, one of fifteen bodies and a few idioms.  Which parts meet is decided by
// a generator with a fixed seed, so that both front ends and every run see the same
// sources.  Ten kernels share a unit, as in real files; every fifth unit holds one
// kernel alone.

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/util/kc_buf.h"
#include "common/util/kc_mem.h"
#include "compile_help.h"

enum { KERNELS = 300, PER_UNIT = 10 };

static int s_open (void **state)
{
    *state = help_open (FRONT, NULL, false);
    return 0;
}

static int s_close (void **state)
{
    help_close ((help_t **)state);
    return 0;
}

static unsigned s_pick (uint64_t *seed, unsigned n)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(*seed >> 33) % n;
}

static const char *const s_includes[] = {
    "#include <cuda_runtime.h>\n#include <stdio.h>\n#include <stdlib.h>\n",
    "#include <cuda.h>\n#include <cuda_runtime.h>\n#include <cmath>\n#include "
    "<cfloat>\n",
    "#include \"cuda_runtime.h\"\n#include \"device_launch_parameters.h\"\n#include "
    "<iostream>\n#include <vector>\n",
    "#include <math.h>\n#include <float.h>\n#include <limits.h>\n#include "
    "<assert.h>\n#include <string.h>\n",
    "#include <algorithm>\n#include <limits>\n#include <type_traits>\n#include "
    "<cstdint>\n#include <cstdio>\n",
    "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n#include <math_constants.h>\n",
    "#include <cooperative_groups.h>\n#include <cooperative_groups/reduce.h>\n",
    "",
};

static const char *const s_tops[] = {
    "#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))\n#define WARP_SIZE 32\n#define "
    "FULL_MASK 0xffffffff\n",
    "#ifndef M_PI\n#define M_PI 3.14159265358979323846\n#endif\n#define SQRT_2_OVER_PI "
    "0.7978845608028654f\n",
    "static const int kTile = 16;\nconstexpr float kEps = 1e-5f;\n__constant__ float "
    "kWeights[9] = {1, 2, 1, 2, 4, 2, 1, 2, 1};\n",
    "typedef struct { float max_val; float sum; } Stats;\nstruct Pair { float v; int "
    "i; };\n",
    "inline __device__ float sq (float x) { return x * x; }\nfloat relu (float x) { "
    "return x > 0 ? x : 0; }\n",
    "template <typename T> __device__ __forceinline__ T warpSum (T v)\n{\n#pragma "
    "unroll\n    for (int o = 16; o > 0; o >>= 1)\n        v += __shfl_down_sync "
    "(0xffffffff, v, o);\n    return v;\n}\n",
    "namespace ops {\ntemplate <class T> struct Max { __host__ __device__ T operator() "
    "(T a, T b) const { return a > b ? a : b; } };\n}\nusing ops::Max;\n",
    "#define CUDA_1D_KERNEL_LOOP(i, n) for (int i = blockIdx.x * blockDim.x + "
    "threadIdx.x; i < (n); i += blockDim.x * gridDim.x)\n",
    "enum Mode { kSum = 0, kMean = 1 };\nunion Bits { float f; unsigned u; };\nstruct "
    "alignas (16) Vec { float d[4]; };\n",
};

// What stands in front of the kernel's name; %d = number of the kernel.
static const char *const s_heads[] = {
    "extern \"C\" __global__ void k%d (",
    "__global__ void k%d (",
    "extern \"C\" __global__ __launch_bounds__ (256) void k%d (",
    "extern \"C\" __global__ void __launch_bounds__ (128, 4) k%d (",
    "static __global__ void k%d (",
    "extern \"C\"\n{\n__global__ void k%d (",
};

static const char *const s_parameters[] = {
    "const float *__restrict__ x, float *__restrict__ y, const int n",
    "float const *x, float *y, int n",
    "const float* x,\n    float* y,\n    unsigned int n",
    "const float *x, float *y, size_t n",
    "const float *__restrict x, float *y, int64_t n",
};

static const char *const s_bodies[] = {
    // elementwise
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i >= n) return;\n    "
    "float v = x[i];\n    y[i] = 0.5f * v * (1.0f + tanhf (0.7978845608f * (v + "
    "0.044715f * v * v * v)));\n",
    "    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * "
    "blockDim.x)\n        y[i] = 1.f / (1.f + expf (-x[i])) + fmaxf (x[i], 0.0f) + "
    "powf (x[i], 2.0f) + logf (fabsf (x[i]) + FLT_EPSILON);\n",
    "    const int tid = threadIdx.x + blockDim.x * blockIdx.x;\n    const float4 *x4 "
    "= reinterpret_cast<const float4 *> (x);\n    float4 *y4 = (float4 *)y;\n    if "
    "(tid < n / 4) { float4 a = x4[tid]; a.x *= 2; a.y += a.x; a.z = fminf (a.z, "
    "1.0f); a.w = rsqrtf (a.w + 1e-6f); y4[tid] = make_float4 (a.x, a.y, a.z, a.w); "
    "}\n",
    // shared tile, transpose
    "    __shared__ float tile[32][33];\n    int c = blockIdx.x * 32 + threadIdx.x, r "
    "= blockIdx.y * 32 + threadIdx.y;\n    for (int j = 0; j < 32; j += 8) if (r + j < "
    "n) tile[threadIdx.y + j][threadIdx.x] = x[(r + j) * n + c];\n    __syncthreads "
    "();\n    for (int j = 0; j < 32; j += 8) y[(blockIdx.x * 32 + threadIdx.y + j) * "
    "n + blockIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y + j];\n",
    // row softmax with warp shuffles
    "    int row = blockIdx.x, t = threadIdx.x;\n    __shared__ float red[32];\n    "
    "float m = -INFINITY;\n    for (int i = t; i < n; i += blockDim.x) m = max (m, "
    "x[row * n + i]);\n    for (int o = 16; o > 0; o /= 2) m = fmaxf (m, "
    "__shfl_xor_sync (0xffffffffu, m, o));\n    if ((t & 31) == 0) red[t >> 5] = m;\n  "
    "  __syncthreads ();\n    m = t < (blockDim.x + 31) / 32 ? red[t] : -FLT_MAX;\n    "
    "float s = 0.0f;\n    for (int i = t; i < n; i += blockDim.x) s += __expf (x[row * "
    "n + i] - m);\n    atomicAdd (&y[row], s);\n",
    // block reduction with dynamic shared memory
    "    extern __shared__ float sdata[];\n    unsigned int tid = threadIdx.x;\n    "
    "unsigned int i = blockIdx.x * (blockDim.x * 2) + threadIdx.x;\n    sdata[tid] = "
    "(i < n ? x[i] : 0) + (i + blockDim.x < n ? x[i + blockDim.x] : 0);\n    "
    "__syncthreads ();\n    for (unsigned int s = blockDim.x / 2; s > 0; s >>= 1) { if "
    "(tid < s) sdata[tid] += sdata[tid + s]; __syncthreads (); }\n    if (tid == 0) "
    "y[blockIdx.x] = sdata[0];\n",
    // tiled matmul
    "    const int T = 16;\n    __shared__ float as[T][T], bs[T][T];\n    int row = "
    "blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;\n    float acc "
    "= 0.f;\n    for (int k = 0; k < (n + T - 1) / T; ++k) {\n        "
    "as[threadIdx.y][threadIdx.x] = x[row * n + k * T + threadIdx.x];\n        "
    "bs[threadIdx.y][threadIdx.x] = x[(k * T + threadIdx.y) * n + col];\n        "
    "__syncthreads ();\n#pragma unroll\n        for (int e = 0; e < T; ++e) acc = fmaf "
    "(as[threadIdx.y][e], bs[e][threadIdx.x], acc);\n        __syncthreads ();\n    "
    "}\n    if (row < n && col < n) y[row * n + col] = acc;\n",
    // integer work
    "    unsigned h = (unsigned)(blockIdx.x * blockDim.x + threadIdx.x);\n    h ^= h "
    ">> 16; h *= 0x85ebca6bu; h ^= h >> 13; h = __brev (h) + __popc (h) + __clz (h | "
    "1) + __ffs ((int)h);\n    unsigned lane = threadIdx.x % warpSize, mask = "
    "__ballot_sync (0xffffffff, h & 1);\n    if (lane == __ffs (mask) - 1) atomicMax "
    "((int *)y, (int)__popc (mask));\n    y[h % (unsigned)n] = __uint_as_float "
    "(__float_as_uint (x[0]) & 0x7fffffff) + __int2float_rn (h >> 8);\n",
    // double and long long
    "    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;\n    double "
    "acc = 0.0;\n    for (int k = 0; k < 8; k++) acc += (double)x[(i + k) % n] * sqrt "
    "((double)k) + sin ((double)k) + pow (1.5, k);\n    if (i < (long long)n) y[i] = "
    "(float)(acc / M_PI) + static_cast<float> (floor (acc)) + (float)std::fabs "
    "(acc);\n",
    // stencil with const table and ternaries
    "    const float w[9] = {0.f, 1.f, 0.f, 1.f, -4.f, 1.f, 0.f, 1.f, 0.f};\n    int "
    "cx = blockIdx.x * blockDim.x + threadIdx.x, cy = blockIdx.y * blockDim.y + "
    "threadIdx.y;\n    float s = 0;\n    for (int dy = -1; dy <= 1; dy++) for (int dx "
    "= -1; dx <= 1; dx++) {\n        int px = min (max (cx + dx, 0), (int)n - 1), py = "
    "max (0, min (cy + dy, (int)n - 1));\n        s += w[(dy + 1) * 3 + dx + 1] * "
    "__ldg (&x[py * n + px]);\n    }\n    y[cy * n + cx] = s;\n",
    // lambdas, std
    "    auto at = [&] (int i) -> float { return i < (int)n ? x[i] : "
    "std::numeric_limits<float>::lowest (); };\n    float best = at (threadIdx.x);\n   "
    " int where = threadIdx.x;\n    for (int i = threadIdx.x; i < (int)n; i += "
    "blockDim.x) if (at (i) > best) { best = at (i); where = i; }\n    float other = "
    "std::max (best, 0.0f);\n    std::swap (best, other);\n    y[threadIdx.x] = best + "
    "where + std::min (where, 7) + std::abs (best) + std::sqrt (other) + "
    "(std::is_same<float, float>::value ? 1 : 0);\n",
    // histogram with shared atomics
    "    __shared__ unsigned int bins[64];\n    for (int b = threadIdx.x; b < 64; b += "
    "blockDim.x) bins[b] = 0u;\n    __syncthreads ();\n    for (size_t i = "
    "threadIdx.x; i < (size_t)n; i += blockDim.x) { int b = (int)(x[i] * 64); b = b < "
    "0 ? 0 : (b > 63 ? 63 : b); atomicAdd (&bins[b], 1u); }\n    __syncthreads ();\n   "
    " if (threadIdx.x < 64) y[threadIdx.x] = (float)bins[threadIdx.x];\n",
    // switch, goto-free control flow, do-while, local arrays
    "    float r[8];\n    int t = threadIdx.x;\n#pragma unroll 4\n    for (int i = 0; "
    "i < 8; ++i) r[i] = x[t * 8 + i];\n    int k = 0;\n    do { switch (k & 3) { case "
    "0: r[k] *= 2.0f; break; case 1: r[k] += 1.0f; break; case 2: r[k] = -r[k]; "
    "default: r[k] = r[k] / 3; } } while (++k < 8);\n    bool any = false;\n    while "
    "(!any && k-- > 0) any = isnan (r[k]) || isinf (r[k]) || signbit (r[k]);\n    y[t] "
    "= any ? NAN : r[t & 7] + fmodf (r[0], 3.0f) + roundf (r[1]) + truncf (r[2]) + "
    "copysignf (1.0f, r[3]);\n",
    // prefix sum in a warp, inline assembly
    "    unsigned lane;\n    asm volatile (\"mov.u32 %0, %%laneid;\" : "
    "\"=r\"(lane));\n    float v = threadIdx.x < n ? x[threadIdx.x] : 0.f;\n    for "
    "(int d = 1; d < 32; d <<= 1) { float u = __shfl_up_sync (0xffffffff, v, d); if "
    "(lane >= d) v += u; }\n    __syncwarp ();\n    y[threadIdx.x] = v;\n    if "
    "(threadIdx.x == 0 && blockIdx.x == 0) printf (\"sum %f of %d\\n\", v, (int)n);\n  "
    "  assert (v == v);\n",
    // layer norm, several reductions
    "    const int row = blockIdx.x * blockDim.y + threadIdx.y;\n    float sum = 0.0f, "
    "sum2 = 0.0f;\n    for (int i = threadIdx.x; i < n; i += 32) { const float v = "
    "x[(size_t)row * n + i]; sum += v; sum2 += v * v; }\n    for (int m = 16; m; m >>= "
    "1) { sum += __shfl_xor_sync (~0u, sum, m, 32); sum2 += __shfl_xor_sync (~0u, "
    "sum2, m, 32); }\n    const float mean = sum / n, var = sum2 / n - mean * mean, "
    "inv = rsqrtf (var + 1e-5f);\n    for (int i = threadIdx.x; i < n; i += 32) "
    "y[(size_t)row * n + i] = (x[(size_t)row * n + i] - mean) * inv;\n",
};

// Whole further kernels that need what a top declares.
static const char *const s_extras[] = {
    "template <typename T, int N> __global__ void e%d (T *p) { T acc = T (0);\n#pragma "
    "unroll\n    for (int i = 0; i < N; i++) acc += p[i]; p[threadIdx.x] = acc; "
    "}\ntemplate __global__ void e%d<float, 4> (float *);\ntemplate __global__ void "
    "e%d<double, 8> (double *);\n",
    "#define INSTANTIATE_%d(T) __global__ void e%d_##T (T *p, int n) { for (int i = "
    "threadIdx.x; i < n; i += blockDim.x) p[i] = p[i] * (T)2; }\nINSTANTIATE_%d "
    "(float)\nINSTANTIATE_%d (int)\nINSTANTIATE_%d (double)\n",
    "class Counter%d { int n_; public: __device__ explicit Counter%d (int n) : n_ (n) "
    "{} __device__ int next () { return ++n_; } };\n__global__ void e%d (int *p) { "
    "Counter%d c (p[0]); p[1] = c.next () + c.next (); }\n",
    "template <class F> __device__ float apply%d (F f, float v) { return f (v); "
    "}\n__global__ void e%d (float *p) { p[0] = apply%d ([] (float v) { return v + 1; "
    "}, p[1]); }\n",
    "__device__ __noinline__ float slow%d (float v) { return v < 1 ? v : slow%d (v - "
    "1) * v; }\n__global__ void e%d (float *p) { p[0] = slow%d (p[1]); }\n",
    "__global__ void e%d (float *p, dim3 shape, float2 scale) { p[threadIdx.x] = "
    "shape.x * scale.x + shape.y * scale.y; }\n",
};

// 'format' with every %d replaced.
static void s_put (kc_buf_t *b, const char *format, int number)
{
    for (const char *p = format; *p; p++)
        if (p[0] == '%' && p[1] == 'd') {
            kc_buf_printf (b, "%d", number);
            p++;
        }
        else
            kc_buf_putc (b, *p);
}

static void s_kernel (kc_buf_t *b, int number, uint64_t *seed)
{
    unsigned head = s_pick (seed, KC_COUNT (s_heads));
    s_put (b, s_heads[head], number);
    kc_buf_puts (b, s_parameters[s_pick (seed, KC_COUNT (s_parameters))]);
    kc_buf_puts (b, ")\n{\n");
    kc_buf_puts (b, s_bodies[(unsigned)number % KC_COUNT (s_bodies)]);
    kc_buf_puts (b, head == 5 ? "}\n}\n\n" : "}\n\n");
    if (s_pick (seed, 3) == 0)
        s_put (b, s_extras[s_pick (seed, KC_COUNT (s_extras))], number);
}

static void s_unit (kc_buf_t *b, int unit, int from, int to, uint64_t *seed)
{
    kc_buf_printf (b, "// unit %d\n", unit);
    // Bodies use FLT_MAX and friends: half of the units include what for, half leave it
    // to the prelude.
    kc_buf_puts (b, s_includes[(unsigned)unit % KC_COUNT (s_includes)]);
    kc_buf_puts (b, s_includes[s_pick (seed, KC_COUNT (s_includes))]);
    unsigned first = s_pick (seed, KC_COUNT (s_tops));
    kc_buf_puts (b, s_tops[first]);
    kc_buf_puts (b, s_tops[(first + 1) % KC_COUNT (s_tops)]);
    for (int i = from; i < to; i++)
        s_kernel (b, i, seed);
}

static void three_hundred_kernels_with_public_habits_compile (void **state)
{
    help_t *h = *state;
    help_need (h);
    uint64_t seed = 2026;
    int done = 0, failed = 0;
    for (int unit = 0; done < KERNELS; unit++) {
        int size = unit % 5 == 4 ? 1 : PER_UNIT;
        if (size > KERNELS - done)
            size = KERNELS - done;
        kc_buf_t source = {0};
        s_unit (&source, unit, done, done + size, &seed);
        char text[PER_UNIT][16];
        const char *names[PER_UNIT];
        for (int i = 0; i < size; i++) {
            snprintf (text[i], sizeof text[i], "k%d", done + i);
            names[i] = text[i];
        }
        const kc_compile_job_t job = {.source = kc_buf_str (&source),
                                      .kernels = names,
                                      .n_kernels = (size_t)size,
                                      .sm = 90,
                                      .want_ptx = true,
                                      .fast_math = unit % 7 == 3,
                                      .cxx20 = unit % 3 == 1,
                                      .printf_on = unit % 4 == 2};
        kc_compiled_t *c = kc_compiler_run (h->compiler, &job);
        if (c->status != KC_VERDICT_STATUS_OK) {
            failed += size;
            print_error ("unit %d: ", unit);
            for (size_t i = 0; i < c->n_findings; i++)
                print_error ("line %lld: %s\n", (long long)c->findings[i].line,
                             c->findings[i].text);
            if (failed == size)
                print_error ("%s\n%.4000s\n", kc_buf_str (&source), c->log);
        }
        else
            assert_int_equal (c->n_kernels, size);
        kc_compiled_destroy (&c);
        kc_buf_free (&source);
        done += size;
    }
    assert_int_equal (failed, 0);
    assert_int_equal (done, KERNELS);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (three_hundred_kernels_with_public_habits_compile)};
    return cmocka_run_group_tests (tests, s_open, s_close);
}
