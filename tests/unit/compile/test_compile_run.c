// test_compile_run.c - compiled code computes what it says: prelude and math on the
// virtual GPU against the host
//
// One row = one expression in CUDA and the same in C.  x and y are floats, i and j
// integers made from them; every row is evaluated by 64 threads on values that include
// zeros, halves, large and negative ones.

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agents/gpu/vgpu/vgpu.h"
#include "common/util/kc_buf.h"
#include "common/util/kc_mem.h"
#include "compile_help.h"

enum { LANES = 64, AT_X = 0x10000, AT_Y = 0x20000, AT_OUT = 0x100000 };

static float s_x[LANES], s_y[LANES];

static int s_open (void **state)
{
    for (int t = 0; t < LANES; t++) {
        s_x[t] = (float)(t - 31) * 0.5f + (t % 5 == 0 ? 0.0f : 0.171f * (float)(t % 7));
        s_y[t] = 0.25f + (float)((t * 7) % 13) * 0.75f;
    }
    s_x[1] = -0.0f;
    s_x[2] = 3.0e9f;
    s_x[3] = -1.5f;
    s_x[4] = 2.5f;
    s_x[5] = 0.49999997f;
    *state = help_open (FRONT, NULL, false);
    return 0;
}

static int s_close (void **state)
{
    help_close ((help_t **)state);
    return 0;
}

static uint32_t s_bits (float v)
{
    uint32_t u;
    memcpy (&u, &v, sizeof u);
    return u;
}

static double s_popc (uint32_t v)
{
    return __builtin_popcount (v);
}

static double s_clz (uint32_t v)
{
    return v ? __builtin_clz (v) : 32;
}

static double s_brev (uint32_t v)
{
    uint32_t r = 0;
    for (int k = 0; k < 32; k++)
        r |= ((v >> k) & 1u) << (31 - k);
    return r;
}

static double s_saturate (double v) // of conversions to int
{
    return v != v              ? 0
           : v > 2147483647.0  ? 2147483647.0
           : v < -2147483648.0 ? -2147483648.0
                               : v;
}

static double s_frexp (float x)
{
    int e;
    double m = frexpf (x, &e);
    return m * 1000 + e;
}

static double s_modf (float x)
{
    float whole;
    double part = modff (x, &whole);
    return part + whole * 2;
}

// CUDA's expression, C's, and how far apart they may be, relative to max (1, |value|).
#define ROWS(V)                                                                                  \
    /* exact */                                                                                  \
    V ("floorf (x)", floorf (x), 0)                                                              \
    V ("ceilf (x)", ceilf (x), 0)                                                                \
    V ("truncf (x)", truncf (x), 0) V ("roundf (x)", roundf (x), 0) V (                          \
        "rintf (x)", rintf (x), 0) V ("nearbyint (x)", nearbyintf (x),                           \
                                      0) V ("fabsf (x)", fabsf (x),                              \
                                            0) V ("abs (x)", fabsf (x),                          \
                                                  0) V ("abs (i)", abs (i), 0)                   \
        V ("fminf (x, y)", fminf (x, y), 0) V ("max (x, y)", fmaxf (x, y), 0) V (                \
            "min (i, j)", i < j ? i : j, 0) V ("std::max (i, 3)", i > 3 ? i : 3, 0)              \
            V ("max ((unsigned)i, 7u)", (unsigned)i > 7u ? (unsigned)i : 7u,                     \
               0) V ("copysignf (y, x)", copysignf (y, x),                                       \
                     0) V ("fdimf (x, y)", fdimf (x, y), 0)                                      \
                V ("fmaf (x, y, 1.5f)", fmaf (x, y, 1.5f),                                       \
                   0) V ("signbit (x) ? 1 : 0", signbit (x) ? 1 : 0,                             \
                         0) V ("isnan (x / 0.0f * 0.0f)", 1, 0)                                  \
                    V ("isinf (1e30f * 1e30f)", 1, 0) V ("isfinite (x)", 1, 0) V (               \
                        "ldexpf (x, i & 7)",                                                     \
                        ldexpf (x, i & 7),                                                       \
                        0) V ("scalbnf (x, 3)", scalbnf (x, 3), 0)                               \
                        V ("lroundf (y + 0.25f)", (double)lroundf (y + 0.25f),                   \
                           0) V ("llrintf (y)", (double)llrintf (y),                             \
                                 0) V ("split (x)", (float)s_frexp (x), 1e-6)                    \
                            V ("parts (x)", s_modf (x), 1e-6) V (                                \
                                "ilogbf (y)", ilogbf (y),                                        \
                                0) V ("__float2int_rn (x)",                                      \
                                      s_saturate (rint ((double)x)), 0)                          \
                                V ("__float2int_rz (x)",                                         \
                                   s_saturate (trunc ((double)x)),                               \
                                   0) V ("__float2int_rd (x)",                                   \
                                         s_saturate (floor ((double)x)), 0)                      \
                                    V ("__float2int_ru (x)",                                     \
                                       s_saturate (ceil ((double)x)),                            \
                                       0) V ("(int)__float_as_uint (x) >> 8",                    \
                                             (int)s_bits (x) >> 8, 0)                            \
                                        V ("__uint_as_float (__float_as_uint (x))", x,           \
                                           0) V ("__saturatef (x)",                              \
                                                 x > 0 ? (x < 1 ? x : 1) : 0,                    \
                                                 0) V ("__fadd_rn (x, y)", x + y,                \
                                                       0) V ("__fmul_rn (x, y)",                 \
                                                             x *y, 0)                            \
                                            V ("__fsub_rn (x, y)", x - y, 0) V (                 \
                                                "__fdiv_rn (x, y)", x / y,                       \
                                                0) V ("__fsqrt_rn (y)", sqrtf (y),               \
                                                      0) V ("sqrtf (y)", sqrtf (y), 0)           \
                                                V ("x / y", x / y, 0) V (                        \
                                                    "__frcp_rn (y)",                             \
                                                    1.0f / y,                                    \
                                                    0) V ("__popc (i)",                          \
                                                          s_popc ((uint32_t)i), 0)               \
                                                    V ("__clz (i)",                              \
                                                       s_clz ((uint32_t)i),                      \
                                                       0) V ("__ffs (i)",                        \
                                                             __builtin_ffs (i), 0)               \
                                                        V (                                      \
                                                            "(double)__brev (i)",                \
                                                            s_brev ((uint32_t)i),                \
                                                            1e-7) V ("__byte_perm "              \
                                                                     "(i, j, 0x4501) "           \
                                                                     "& "                        \
                                                                     "0xffff",                   \
                                                                     ((uint32_t)i >> 8           \
                                                                      & 255u)                    \
                                                                         | ((uint32_t)           \
                                                                                i                \
                                                                            & 255u)              \
                                                                               << 8,             \
                                                                     0)                          \
                                                            V ("__mulhi (i * 65536, "            \
                                                               "j "                              \
                                                               "* 65536)",                       \
                                                               (double)(((int64_t)(i             \
                                                                                   * 65536)      \
                                                                         * (j                    \
                                                                            * 65536))            \
                                                                        >> 32),                  \
                                                               0) V ("__mul24 (i, j)",           \
                                                                     i *j,                       \
                                                                     0) V ("__umulhi "           \
                                                                           "(0x800000"           \
                                                                           "00u, "               \
                                                                           "6u)",                \
                                                                           3, 0)                 \
                                                                V ("__hadd (i, j)",              \
                                                                   (i + j) >> 1,                 \
                                                                   0) V ("__"                    \
                                                                         "funnelshift"           \
                                                                         "_l (1u "               \
                                                                         "<< 31, 0u, "           \
                                                                         "1)",                   \
                                                                         1, 0)                   \
                                                                    V ("__dp4a "                 \
                                                                       "(0x01020304, "           \
                                                                       "0x01010101, "            \
                                                                       "i)",                     \
                                                                       10 + i,                   \
                                                                       0) V ("std::"             \
                                                                             "abs "              \
                                                                             "(x) + "            \
                                                                             "std::"             \
                                                                             "sqrt "             \
                                                                             "(y)",              \
                                                                             fabsf (x)           \
                                                                                 + sqrtf (       \
                                                                                     y),         \
                                                                             1e-6)               \
                                                                        V ("std::"               \
                                                                           "numeric_"            \
                                                                           "limits<"             \
                                                                           "float>"              \
                                                                           "::max () "           \
                                                                           "> x",                \
                                                                           1, 0)                 \
                                                                            V ("INFIN"           \
                                                                               "ITY "            \
                                                                               "> x "            \
                                                                               "&& "             \
                                                                               "!("              \
                                                                               "NAN "            \
                                                                               "== "             \
                                                                               "NAN)",           \
                                                                               1,                \
                                                                               0) /* approximate \
                                                                                   */            \
        V ("sinf (x / 64)", sinf (x / 64), 2e-6) V ("cosf (y)", cosf (y), 2e-6) V (              \
            "tanf (y * 0.1f)", tanf (y * 0.1f),                                                  \
            4e-6) V ("expf (-y)", expf (-y), 2e-6) V ("exp (y)", expf (y), 4e-6)                 \
            V ("exp2f (y)", exp2f (y), 2e-6) V ("exp10f (-y)", powf (10, -y), 4e-6)              \
                V ("expm1f (y)", expm1f (y), 4e-6) V ("logf (y)", logf (y), 2e-6) V (            \
                    "log2 (y)", log2f (y),                                                       \
                    2e-6) V ("log10f (y)", log10f (y),                                           \
                             2e-6) V ("log1pf (y)", log1pf (y),                                  \
                                      2e-6) V ("powf (y, 2.5f)", powf (y, 2.5f), 1e-5)           \
                    V ("pow (y, 2)", y *y, 2e-6) V ("pow (x, 2.0f)", x *x, 2e-6) V (             \
                        "sqrt (4)",                                                              \
                        2,                                                                       \
                        0) V ("exp (1)", 2.718281828459045,                                      \
                              1e-6) V ("rsqrtf (y)", 1 / sqrtf (y), 2e-6)                        \
                        V ("tanhf (x / 8)", tanhf (x / 8), 4e-6) V (                             \
                            "sinhf (y)",                                                         \
                            sinhf (y),                                                           \
                            6e-6) V ("coshf (y)", coshf (y),                                     \
                                     6e-6) V ("asinhf (y)", asinhf (y), 4e-6)                    \
                            V ("acoshf (y + 1)", acoshf (y + 1), 4e-6) V (                       \
                                "atanhf (y * 0.05f)",                                            \
                                atanhf (y * 0.05f),                                              \
                                4e-6) V ("asinf (y * 0.09f)", asinf (y * 0.09f), 4e-6)           \
                                V ("acosf (y * 0.09f)", acosf (y * 0.09f), 4e-6) V (             \
                                    "atanf (x)", atanf (x),                                      \
                                    2e-6) V ("atan2f (x, y)", atan2f (x, y), 2e-6)               \
                                    V ("fmodf (y, 0.7f)", fmodf (y, 0.7f), 2e-6) V (             \
                                        "hypotf (x, y)",                                         \
                                        hypotf (x, y),                                           \
                                        2e-6) V ("erff (y * 0.3f)", erff (y * 0.3f),             \
                                                 4e-6) V ("erfcf (y * 0.3f)",                    \
                                                          erfcf (y * 0.3f), 6e-6)                \
                                        V ("cbrtf (y)", cbrtf (y), 2e-6) V (                     \
                                            "tgammaf (y * 0.5f + 1)",                            \
                                            tgammaf (y * 0.5f + 1),                              \
                                            2e-5) V ("lgammaf (y + 1)",                          \
                                                     lgammaf (y + 1),                            \
                                                     1e-5) V ("__expf (-y)",                     \
                                                              expf (-y), 1e-5)                   \
                                            V ("__logf (y + 1)", logf (y + 1), 1e-5) V (         \
                                                "__powf (y, 1.5f)",                              \
                                                powf (y, 1.5f),                                  \
                                                5e-5) V ("__fdividef (x, y)", x / y,             \
                                                         4e-6)                                   \
                                                V ("__sinf (y)", sinf (y), 1e-5) V (             \
                                                    "__frsqrt_rn (y)",                           \
                                                    1 / sqrtf (y),                               \
                                                    2e-6) V ("sinpif (y)",                       \
                                                             sin (3.14159265358979323846         \
                                                                  * y),                          \
                                                             4e-6)                               \
                                                    V ("normcdff (y)",                           \
                                                       0.5 * erfc (-y * 0.70710678118654752440), \
                                                       6e-6) V ("(float)exp "                    \
                                                                "((double)y)",                   \
                                                                exp (y), 1e-6)                   \
                                                        V ("(float)sin ((double)y)",             \
                                                           sin (y), 1e-6)                        \
                                                            V ("(float)(1.0 / sqrt "             \
                                                               "((double)y))",                   \
                                                               1 / sqrt (y), 1e-6)

static double s_host (int row, float x, float y, int i, int j)
{
    int at = 0;
#define V(cuda, c, tolerance)                                                          \
    if (at++ == row)                                                                   \
        return (double)(c);
    ROWS (V)
#undef V
    (void)x;
    (void)y;
    (void)i;
    (void)j;
    return 0;
}

static const struct {
    const char *cuda;
    double tolerance;
} s_rows[] = {
#define V(cuda, c, tolerance) {cuda, tolerance},
    ROWS (V)
#undef V
};

static void s_launch (const kc_compiled_t *c, uint32_t blocks, uint32_t threads,
                      float *out, size_t n_out)
{
    kc_err_t err;
    vgpu_module_t *m = vgpu_module_load (c->ptx, c->ptx_size, &err);
    if (!m)
        fail_msg ("%s", err.text);
    const uint64_t params[3] = {AT_X, AT_Y, AT_OUT};
    const vgpu_buffer_t buffers[3] = {
        {.base = AT_X, .size = sizeof s_x, .host = s_x, .name = "x"},
        {.base = AT_Y, .size = sizeof s_y, .host = s_y, .name = "y"},
        {.base = AT_OUT,
         .size = n_out * sizeof *out,
         .host = out,
         .name = "out",
         .writable = true}};
    const vgpu_launch_t launch = {.kernel = c->kernels[0].symbol,
                                  .grid = {blocks, 1, 1},
                                  .block = {threads, 1, 1},
                                  .params = params,
                                  .params_size = sizeof params,
                                  .buffers = buffers,
                                  .n_buffers = 3};
    vgpu_finding_t finding;
    int rc = vgpu_launch (m, &launch, NULL, &finding);
    if (rc < 0)
        fail_msg ("line %u: %s", finding.line, finding.text);
    vgpu_module_destroy (&m);
}

static void every_expression_gives_the_hosts_value (void **state)
{
    help_t *h = *state;
    help_need (h);
    enum { N = (int)KC_COUNT (s_rows) };
    kc_buf_t source = {0};
    kc_buf_puts (&source, "float split (float x) { int e; float m = frexpf (x, &e); "
                          "return m * 1000 + e; }\n"
                          "float parts (float x) { float w; float p = modff (x, &w); "
                          "return p + w * 2; }\n"
                          "extern \"C\" __global__ void k (const float *xs, const "
                          "float *ys, float *out)\n{\n"
                          "    int t = threadIdx.x;\n    float x = xs[t], y = ys[t];\n"
                          "    int i = (int)fminf (fmaxf (x * 3, -1000.0f), 1000.0f), "
                          "j = (int)(y * 5);\n");
    for (int r = 0; r < N; r++)
        kc_buf_printf (&source, "    out[%d + t] = (float)(%s);\n", r * LANES,
                       s_rows[r].cuda);
    kc_buf_puts (&source, "}\n");
    kc_compiled_t *c = help_compile (h, kc_buf_str (&source), "k");
    help_expect_ok (c);
    float *out = (float *)kc_calloc ((size_t)N * LANES, sizeof *out);
    s_launch (c, 1, LANES, out, (size_t)N * LANES);
    int wrong = 0;
    for (int r = 0; r < N; r++)
        for (int t = 0; t < LANES; t++) {
            float x = s_x[t], y = s_y[t];
            int i = (int)fminf (fmaxf (x * 3, -1000.0f), 1000.0f), j = (int)(y * 5);
            float expected = (float)s_host (r, x, y, i, j), got = out[r * LANES + t];
            double scale = fabs ((double)expected) > 1 ? fabs ((double)expected) : 1;
            bool same =
                (isnan (expected) && isnan (got)) || got == expected
                || fabs ((double)got - (double)expected) <= s_rows[r].tolerance * scale;
            if (!same && wrong++ < 20)
                print_error ("%s at x=%.9g y=%.9g: %.9g, expected %.9g\n",
                             s_rows[r].cuda, (double)x, (double)y, (double)got,
                             (double)expected);
        }
    assert_int_equal (wrong, 0);
    free (out);
    kc_compiled_destroy (&c);
    kc_buf_free (&source);
}

// Collectives: each line writes one value per thread; the host knows them.
static void collectives_of_warps_and_blocks_are_right (void **state)
{
    help_t *h = *state;
    help_need (h);
    static const char source[] =
        "#include <cooperative_groups.h>\n#include "
        "<cooperative_groups/reduce.h>\nnamespace cg = cooperative_groups;\n"
        "extern \"C\" __global__ void k (const float *xs, const float *ys, float "
        "*out)\n{\n"
        "    __shared__ float s[32];\n    __shared__ int at[32];\n    __shared__ "
        "unsigned bins[8];\n"
        "    int t = threadIdx.x, lane = t & 31;\n    float v = (float)((t * 37) % "
        "64);\n"
        "    float *o = out + t;\n"
        "    o[0 * 64] = kc::warp_sum (v);\n    o[1 * 64] = kc::block_sum (v, s);\n    "
        "o[2 * 64] = kc::block_max (v, s);\n"
        "    o[3 * 64] = kc::block_min (v, s);\n"
        "    float w = v; int p = t; kc::block_argmax (w, p, s, at);\n    o[4 * 64] = "
        "w * 100 + p;\n"
        "    o[5 * 64] = __shfl_up_sync (0xffffffff, v, 1);\n    o[6 * 64] = "
        "__shfl_down_sync (0xffffffff, v, 2, 8);\n"
        "    o[7 * 64] = __shfl_xor_sync (0xffffffff, v, 5);\n    o[8 * 64] = "
        "(float)__shfl_sync (0xffffffff, (double)v, 3, 16);\n"
        "    o[9 * 64] = __popc (__ballot_sync (0xffffffff, lane < 11));\n"
        "    o[10 * 64] = __reduce_add_sync (0xffffffff, (unsigned)lane);\n    o[11 * "
        "64] = __popc (__match_any_sync (0xffffffff, lane / 4));\n"
        "    o[12 * 64] = __syncthreads_count (t < 5);\n"
        "    if (t < 8) bins[t] = 0;\n    __syncthreads ();\n    atomicAdd (&bins[t & "
        "7], (unsigned)t);\n    __syncthreads ();\n    o[13 * 64] = bins[t & 7];\n"
        "    auto tile = cg::tiled_partition<8> (cg::this_thread_block ());\n"
        "    o[14 * 64] = cg::reduce (tile, v, cg::plus<float> ());\n    o[15 * 64] = "
        "cg::inclusive_scan (tile, 1.0f);\n"
        "    o[16 * 64] = tile.shfl (v, 2) + tile.meta_group_rank ();\n    o[17 * 64] "
        "= __any_sync (0xffffffff, t == 40) + 2 * __all_sync (0xffffffff, t < 32);\n"
        "    int before = atomicMax ((int *)at, t < 0);\n    (void)before;\n"
        "    o[18 * 64] = 0;\n    if (t & 1) { auto g = cg::coalesced_threads (); o[18 "
        "* 64] = g.size () + g.thread_rank () * 100; }\n"
        "}\n";
    kc_compiled_t *c = help_compile (h, source, "k");
    help_expect_ok (c);
    enum { ROWS_N = 19 };
    float out[ROWS_N * LANES] = {0};
    s_launch (c, 1, LANES, out, KC_COUNT (out));
    float v[LANES];
    for (int t = 0; t < LANES; t++)
        v[t] = (float)((t * 37) % 64);
    for (int t = 0; t < LANES; t++) {
        int lane = t & 31, warp = t & ~31;
        float sum = 0, all = 0, tile = 0;
        for (int k = 0; k < LANES; k++) {
            all += v[k];
            sum += k / 32 == t / 32 ? v[k] : 0;
            tile += k / 8 == t / 8 ? v[k] : 0;
        }
        int peak = 0;
        for (int k = 0; k < LANES; k++)
            peak = v[k] > v[peak] ? k : peak;
        unsigned bin = 0;
        for (int k = t & 7; k < LANES; k += 8)
            bin += (unsigned)k;
        const float expected[ROWS_N] = {sum,
                                        all,
                                        63,
                                        0,
                                        v[peak] * 100 + (float)peak,
                                        lane ? v[t - 1] : v[t],
                                        (t & 7) < 6 ? v[t + 2] : v[t],
                                        v[warp + (lane ^ 5)],
                                        v[(t & ~15) + 3],
                                        11,
                                        496,
                                        4,
                                        5,
                                        (float)bin,
                                        tile,
                                        (float)(t % 8 + 1),
                                        v[(t & ~7) + 2] + (float)(t / 8),
                                        t < 32 ? 2 : 1,
                                        t & 1 ? (float)(16 + lane / 2 * 100) : 0};
        for (int r = 0; r < ROWS_N; r++)
            if (out[r * LANES + t] != expected[r])
                fail_msg ("row %d thread %d: %g, expected %g", r, t,
                          (double)out[r * LANES + t], (double)expected[r]);
    }
    kc_compiled_destroy (&c);
}

static void a_grid_barrier_joins_all_blocks (void **state)
{
    help_t *h = *state;
    help_need (h);
    kc_compiled_t *c =
        help_compile (h,
                      "extern \"C\" __global__ void k (const float *xs, const float "
                      "*ys, float *out)\n{\n"
                      "    unsigned *state = (unsigned *)out;\n    float *sum = out + "
                      "2, *seen = out + 8;\n"
                      "    for (int round = 1; round <= 3; round++) {\n"
                      "        if (threadIdx.x == 0) atomicAdd (sum, 1.0f);\n"
                      "        kc::grid_barrier (state);\n"
                      "        if (threadIdx.x == 0 && *(volatile float *)sum != round "
                      "* gridDim.x) seen[blockIdx.x] = -1;\n"
                      "        kc::grid_barrier (state);\n    }\n"
                      "    if (threadIdx.x == 0) seen[blockIdx.x] += 1;\n}\n",
                      "k");
    help_expect_ok (c);
    float out[16] = {0};
    s_launch (c, 6, 32, out, KC_COUNT (out));
    for (int b = 0; b < 6; b++)
        assert_true (out[8 + b] == 1.0f);
    kc_compiled_destroy (&c);
}

static void findings_in_prelude_code_name_the_callers_line (void **state)
{
    help_t *h = *state;
    help_need (h);
    kc_compiled_t *c = help_compile (h,
                                     "extern \"C\" __global__ void k (const float *xs, "
                                     "const float *ys, float *out)\n"
                                     "{\n"
                                     "    int i = threadIdx.x;\n"
                                     "    float v = xs[i];\n"
                                     "    atomicAdd (&out[i + 1000], v);\n"
                                     "    out[i] = v;\n"
                                     "}\n",
                                     "k");
    help_expect_ok (c);
    kc_err_t err;
    vgpu_module_t *m = vgpu_module_load (c->ptx, c->ptx_size, &err);
    assert_non_null (m);
    float out[64];
    const uint64_t params[3] = {AT_X, AT_Y, AT_OUT};
    const vgpu_buffer_t buffers[3] = {
        {.base = AT_X, .size = sizeof s_x, .host = s_x, .name = "x"},
        {.base = AT_Y, .size = sizeof s_y, .host = s_y, .name = "y"},
        {.base = AT_OUT,
         .size = sizeof out,
         .host = out,
         .name = "out",
         .writable = true}};
    const vgpu_launch_t launch = {.kernel = "k",
                                  .grid = {1, 1, 1},
                                  .block = {32, 1, 1},
                                  .params = params,
                                  .params_size = sizeof params,
                                  .buffers = buffers,
                                  .n_buffers = 3};
    vgpu_finding_t finding;
    assert_int_equal (vgpu_launch (m, &launch, NULL, &finding), -1);
    assert_int_equal (finding.line, 5);
    vgpu_module_destroy (&m);
    kc_compiled_destroy (&c);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (every_expression_gives_the_hosts_value),
        cmocka_unit_test (collectives_of_warps_and_blocks_are_right),
        cmocka_unit_test (a_grid_barrier_joins_all_blocks),
        cmocka_unit_test (findings_in_prelude_code_name_the_callers_line),
    };
    return cmocka_run_group_tests (tests, s_open, s_close);
}
