// test_compile_front.c - one front end, end to end: names, lines, rules, includes,
// limits

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/util/kc_buf.h"
#include "common/util/kc_fs.h"
#include "common/util/kc_mem.h"
#include "compile_help.h"

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

static const char SCALE[] =
    "extern \"C\" __global__ void scale (const float *x, float *y, int n)\n"
    "{\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < n) y[i] = 2.0f * x[i];\n"
    "}\n";

static void a_kernel_becomes_ptx_with_facts (void **state)
{
    help_t *h = *state;
    help_need (h);
    kc_compiled_t *c = help_compile (h, SCALE, "scale");
    help_expect_ok (c);
    assert_int_equal (c->n_kernels, 1);
    const kc_kernel_facts_t *k = kc_compiled_kernel (c, "scale");
    assert_non_null (k);
    assert_string_equal (k->symbol, "scale");
    assert_in_range (k->registers, 4, 40);
    assert_int_equal (k->registers_estimated, FRONT == KC_FRONT_CLANG);
    assert_int_equal (k->n_params, 3);
    assert_int_equal (k->params[1].offset, 8);
    assert_int_equal (k->params[2].size, 4);
    assert_non_null (strstr (c->ptx, ".entry scale"));
    assert_null (strstr (c->ptx, "kc_kernel_"));
    assert_true (c->seconds > 0);
    assert_true (strlen (c->compiler) > 4);
    kc_compiled_destroy (&c);
}

static void all_kernels_are_found_when_none_is_named (void **state)
{
    help_t *h = *state;
    help_need (h);
    kc_compiled_t *c =
        help_compile (h,
                      "extern \"C\" __global__ void a (float *x) { x[0] = 1; }\n"
                      "extern \"C\" __global__ void b (float *x) { x[1] = 1; }\n",
                      "");
    help_expect_ok (c);
    assert_int_equal (c->n_kernels, 2);
    assert_non_null (kc_compiled_kernel (c, "a"));
    assert_non_null (kc_compiled_kernel (c, "b"));
    kc_compiled_destroy (&c);
}

static void templates_are_named_as_in_the_source (void **state)
{
    help_t *h = *state;
    help_need (h);
    static const char source[] =
        "enum class Op { Add, Mul };\n"
        "template <int N, typename T> __global__ void scale (T *x) { x[threadIdx.x] *= "
        "N; }\n"
        "template <> __global__ void scale<7, float> (float *x) { x[0] = 7; }\n"
        "template __global__ void scale<2, double> (double *);\n"
        "template <Op O> __global__ void op (float *x) { if (O == Op::Add) x[0] += 1; "
        "else x[0] *= 2; }\n"
        "namespace inner { static __global__ void hidden (float *x) { x[0] = 3; } }\n";
    const char *const names[] = {"scale<4, float>",  "scale<7,float>",
                                 "scale<2, double>", "op<Op::Mul>",
                                 "inner::hidden",    "scale<1 << 3, int>"};
    const kc_compile_job_t job = {.source = source,
                                  .kernels = names,
                                  .n_kernels = KC_COUNT (names),
                                  .sm = 90,
                                  .want_ptx = true};
    kc_compiled_t *c = kc_compiler_run (h->compiler, &job);
    help_expect_ok (c);
    assert_int_equal (c->n_kernels, KC_COUNT (names));
    for (size_t i = 0; i < KC_COUNT (names); i++) {
        assert_string_equal (c->kernels[i].name, names[i]);
        assert_non_null (strstr (c->ptx, c->kernels[i].symbol));
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal (c->kernels[i].symbol, c->kernels[k].symbol);
    }
    kc_compiled_destroy (&c);
}

static void a_kernel_that_is_not_there_is_named (void **state)
{
    help_t *h = *state;
    help_need (h);
    kc_compiled_t *c = help_compile (h, SCALE, "scael");
    assert_int_equal (c->status, KC_VERDICT_STATUS_COMPILE_ERROR);
    help_expect_finding (c, "the source has no kernel scael", 0);
    kc_compiled_destroy (&c);
    c = help_compile (
        h, "__global__ void f (float *x) {}\n__global__ void f (int *x) {}\n", "f");
    assert_int_equal (c->status, KC_VERDICT_STATUS_COMPILE_ERROR);
    help_expect_finding (c, "does not name one kernel", 0);
    kc_compiled_destroy (&c);
    c = help_compile (
        h, "template <int N> __global__ void f (float *x) { x[0] = N; }\n", "f");
    help_expect_finding (c, "does not name one kernel", 0);
    kc_compiled_destroy (&c);
    c = help_compile (h, SCALE, "scale (0); int evil;");
    assert_int_equal (c->status, KC_VERDICT_STATUS_COMPILE_ERROR);
    kc_compiled_destroy (&c);
}

static void errors_carry_the_authors_line (void **state)
{
    help_t *h = *state;
    help_need (h);
    static const char source[] =
        "// a comment\n"
        "#include <cmath>\n"
        "template <class T> __device__ T twice (T x) { return x.no_such + 1; }\n"
        "\n"
        "extern \"C\" __global__ void k (float *x)\n"
        "{\n"
        "    x[0] = missing (x[1]);\n"
        "    int y = \"text\";\n"
        "}\n";
    const char *const name = "k";
    const kc_compile_job_t job = {
        .source = source,
        .constants =
            "enum : int { BM = 128 };\nenum : int { BN = 64 };\nenum : int { BK = 8 };",
        .kernels = &name,
        .n_kernels = 1,
        .sm = 90,
        .want_ptx = true};
    kc_compiled_t *c = kc_compiler_run (h->compiler, &job);
    assert_int_equal (c->status, KC_VERDICT_STATUS_COMPILE_ERROR);
    assert_int_equal (c->findings[0].line, 7);
    help_expect_finding (c, "missing", 7);
    help_expect_finding (c, "int", 8);
    assert_non_null (strstr (c->log, "missing (x[1])"));
    assert_null (strstr (c->log, "/tmp/"));
    assert_null (strstr (c->log, "_Pragma"));
    assert_null (c->ptx);
    kc_compiled_destroy (&c);
    // An error inside the include tree is reported where the author caused it.
    c = help_compile (h,
                      "struct S { float v; };\n"
                      "extern \"C\" __global__ void k (S *x)\n"
                      "{\n"
                      "    x[0] = kc::warp_sum (x[0]);\n"
                      "}\n",
                      "k");
    assert_int_equal (c->status, KC_VERDICT_STATUS_COMPILE_ERROR);
    assert_int_equal (c->findings[0].line, 4);
    kc_compiled_destroy (&c);
}

static void constants_serve_the_source_and_their_errors_are_told_apart (void **state)
{
    help_t *h = *state;
    help_need (h);
    const char *const name = "k<BM / 2>";
    kc_compile_job_t job = {
        .source = "template <int N> __global__ void k (float *x) { __shared__ float "
                  "s[BM + 1]; s[threadIdx.x] = x[threadIdx.x]; "
                  "__syncthreads (); x[threadIdx.x] = s[N - threadIdx.x] + std::min "
                  "(BM, N) + max (BM, 3); }\n",
        .constants = "enum : int { BM = 128 };",
        .kernels = &name,
        .n_kernels = 1,
        .sm = 90,
        .want_ptx = true};
    kc_compiled_t *c = kc_compiler_run (h->compiler, &job);
    help_expect_ok (c);
    assert_in_range (c->kernels[0].shared_static, 129 * 4, 129 * 4 + 1024);
    kc_compiled_destroy (&c);
    job.constants = "enum : int { BM = };";
    c = kc_compiler_run (h->compiler, &job);
    assert_int_equal (c->status, KC_VERDICT_STATUS_COMPILE_ERROR);
    help_expect_finding (c, "in the program's constants", 0);
    kc_compiled_destroy (&c);
}

static void wrong_assembly_is_found_with_its_line (void **state)
{
    help_t *h = *state;
    help_need (h);
    kc_compiled_t *c =
        help_compile (h,
                      "extern \"C\" __global__ void k (float *x)\n"
                      "{\n"
                      "    asm volatile (\"{ this is not ptx\" : \"+f\"(x[0]));\n"
                      "}\n",
                      "k");
    assert_int_not_equal (c->status, KC_VERDICT_STATUS_OK);
    assert_int_equal (c->findings[0].line, 3);
    kc_compiled_destroy (&c);
}

// ---- rules ----

static void s_refused (help_t *h, const char *source, const char *words, int64_t line)
{
    kc_compiled_t *c = help_compile (h, source, "k");
    if (c->status != KC_VERDICT_STATUS_COMPILE_ERROR)
        print_error ("%s\n", source);
    assert_int_equal (c->status, KC_VERDICT_STATUS_COMPILE_ERROR);
    help_expect_finding (c, words, line);
    assert_non_null (c->findings[0].fix);
    kc_compiled_destroy (&c);
}

static void what_the_rules_forbid_is_refused_with_its_line (void **state)
{
    help_t *h = *state;
    help_need (h);
    s_refused (
        h,
        "extern \"C\" __global__ void k (long long *x)\n{\n    x[0] = clock64 ();\n}\n",
        "clock64", -1);
    s_refused (h,
               "extern \"C\" __global__ void k (int *x)\n{\n    x[0] = clock ();\n}\n",
               "clock", -1);
    s_refused (h,
               "extern \"C\" __global__ void k (unsigned long long *x)\n{\n    "
               "unsigned long long t;\n"
               "    asm volatile (\"mov.u64 %0, %%globaltimer;\" : \"=l\"(t));\n    "
               "x[0] = t;\n}\n",
               "globaltimer", 4);
    s_refused (h,
               "__device__ int calls;\nextern \"C\" __global__ void k (int *x)\n{\n    "
               "x[0] = atomicAdd (&calls, 1);\n}\n",
               "module variable calls", 4);
    s_refused (h,
               "__device__ int calls[8];\nextern \"C\" __global__ void k (int *x)\n{\n "
               "   x[0] = calls[x[1]];\n    calls[x[1]] = 3;\n}\n",
               "module variable calls", -1);
    s_refused (h,
               "extern \"C\" __global__ void k (int **x)\n{\n    x[0] = (int *)malloc "
               "(16);\n    x[0][1] = 2;\n}\n",
               "malloc", 3);
    s_refused (h,
               "extern \"C\" __global__ void k (int *x)\n{\n    asm volatile "
               "(\"brkpt;\");\n    x[0] = 1;\n}\n",
               "brkpt", 3);
    s_refused (h,
               "extern \"C\" __device__ float outside (float);\nextern \"C\" "
               "__global__ void k (float *x)\n{\n    x[0] = outside (x[1]);\n}\n",
               "outside", -1);
}

static void what_they_allow_passes (void **state)
{
    help_t *h = *state;
    help_need (h);
    kc_compiled_t *c = help_compile (
        h,
        "__constant__ float table[3] = {1, 2, 3};\n"
        "__device__ const int primes[] = {2, 3, 5, 7};\n"
        "__device__ int unused;\n"
        "extern \"C\" __global__ void k (float *x)\n"
        "{\n"
        "    unsigned sm;\n"
        "    asm (\"mov.u32 %0, %%smid;\" : \"=r\"(sm));\n"
        "    x[0] = table[threadIdx.x % 3] + primes[threadIdx.x & 3] + sm;\n"
        "    if (x[0] < 0) __trap ();\n"
        "}\n",
        "k");
    help_expect_ok (c);
    assert_true (c->facts.uses_smid);
    assert_int_equal (c->n_notes, 1);
    assert_non_null (strstr (c->notes[0], "%smid"));
    kc_compiled_destroy (&c);
}

static void printf_and_assert_stay_in_repair_builds_only (void **state)
{
    help_t *h = *state;
    help_need (h);
    const char *const name = "k";
    kc_compile_job_t job = {
        .source =
            "#include <cstdio>\n#include <cassert>\n"
            "extern \"C\" __global__ void k (int *x)\n{\n    assert (x[0] > 0);\n"
            "    if (x[1]) printf (\"%d %f\\n\", x[1], 2.0f);\n    x[2] = 1;\n}\n",
        .kernels = &name,
        .n_kernels = 1,
        .sm = 90,
        .want_ptx = true};
    kc_compiled_t *c = kc_compiler_run (h->compiler, &job);
    help_expect_ok (c);
    assert_false (c->facts.uses_printf);
    assert_null (strstr (c->ptx, "vprintf"));
    assert_null (strstr (c->ptx, "__assertfail"));
    kc_compiled_destroy (&c);
    job.printf_on = true;
    c = kc_compiler_run (h->compiler, &job);
    help_expect_ok (c);
    assert_true (c->facts.uses_printf);
    assert_non_null (strstr (c->ptx, "vprintf"));
    assert_true (c->facts.uses_assert);
    kc_compiled_destroy (&c);
}

static void precision_is_read_from_the_code (void **state)
{
    help_t *h = *state;
    help_need (h);
    kc_compiled_t *c = help_compile (
        h,
        "#include <cuda_fp16.h>\n"
        "#include <mma.h>\n"
        "using namespace nvcuda;\n"
        "extern \"C\" __global__ void k (const half *a, const half *b, float *c, half "
        "*d)\n"
        "{\n"
        "    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;\n"
        "    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;\n"
        "    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;\n"
        "    wmma::fill_fragment (fc, 0.0f);\n"
        "    wmma::load_matrix_sync (fa, a, 16);\n"
        "    wmma::load_matrix_sync (fb, b, 16);\n"
        "    wmma::mma_sync (fc, fa, fb, fc);\n"
        "    wmma::store_matrix_sync (c, fc, 16, wmma::mem_row_major);\n"
        "    d[0] = __float2half (c[3] * 2.0f + __expf (c[4]));\n"
        "    c[9] = (float)((double)c[7] * c[8] + 1e-9);\n"
        "}\n",
        "k");
    help_expect_ok (c);
    assert_int_equal (c->facts.tensor_f16, 1);
    assert_int_equal (c->facts.tensor_tf32, 0);
    assert_true (c->facts.to_f16 >= 1);
    assert_true (c->facts.approx >= 1);
    assert_true (c->facts.fp32 >= 1);
    assert_true (c->facts.fp64 >= 1);
    kc_compiled_destroy (&c);
}

static void switches_reach_the_code (void **state)
{
    help_t *h = *state;
    help_need (h);
    const char *const name = "k";
    kc_compile_job_t job = {.source = "extern \"C\" __global__ void k (float *x)\n{\n"
                                      "    x[0] = x[1] * x[2] + x[3];\n    x[4] = x[5] "
                                      "/ x[6];\n    x[7] = sqrtf (x[8]);\n}\n",
                            .kernels = &name,
                            .n_kernels = 1,
                            .sm = 90,
                            .want_ptx = true};
    kc_compiled_t *c = kc_compiler_run (h->compiler, &job);
    help_expect_ok (c);
    assert_non_null (strstr (c->ptx, "fma.rn.f32"));
    assert_non_null (strstr (c->ptx, "div.rn.f32"));
    assert_non_null (strstr (c->ptx, "sqrt.rn.f32"));
    kc_compiled_destroy (&c);
    job.no_fmad = true;
    c = kc_compiler_run (h->compiler, &job);
    help_expect_ok (c);
    assert_null (strstr (c->ptx, "fma.rn.f32"));
    kc_compiled_destroy (&c);
    job.no_fmad = false;
    job.fast_math = true;
    job.cxx20 = true;
    job.max_registers = 32;
    c = kc_compiler_run (h->compiler, &job);
    help_expect_ok (c);
    assert_null (strstr (c->ptx, "div.rn.f32"));
    assert_null (strstr (c->ptx, "sqrt.rn"));
    assert_non_null (strstr (c->ptx, ".ftz"));
    assert_true (c->facts.ftz > 0);
    if (FRONT == KC_FRONT_CLANG)
        assert_int_equal (c->n_notes, 1); // max_registers has no effect
    kc_compiled_destroy (&c);
}

static void a_cubin_comes_from_nvrtc_only (void **state)
{
    help_t *h = *state;
    help_need (h);
    const char *const name = "scale";
    const kc_compile_job_t job = {.source = SCALE,
                                  .kernels = &name,
                                  .n_kernels = 1,
                                  .sm = 90,
                                  .want_cubin = true};
    kc_compiled_t *c = kc_compiler_run (h->compiler, &job);
    if (FRONT == KC_FRONT_CLANG) {
        assert_int_equal (c->status, KC_VERDICT_STATUS_UNSUPPORTED);
        assert_non_null (strstr (c->findings[0].text, "NVRTC"));
    }
    else {
        help_expect_ok (c);
        assert_true (c->cubin_size > 1000);
        assert_memory_equal (c->cubin, "\177ELF", 4);
        assert_false (c->kernels[0].registers_estimated);
        char hex[KC_SHA_HEX];
        assert_int_equal (kc_code_hash ("plan", c, hex, NULL), 0);
    }
    kc_compiled_destroy (&c);
}

static void the_code_hash_sees_code_and_plan_and_nothing_else (void **state)
{
    help_t *h = *state;
    help_need (h);
    static const char *const sources[] = {
        "extern \"C\" __global__ void k (float *x) { x[threadIdx.x] *= 2.0f; }\n",
        "// a comment moves every line\n\n\nextern \"C\" __global__ void k (float "
        "*y)\n{\n    y[threadIdx.x] *= 2.0f;\n}\n",
        "extern \"C\" __global__ void k (float *x) { x[threadIdx.x] *= 3.0f; }\n"};
    char hex[5][KC_SHA_HEX];
    for (size_t i = 0; i < 3; i++) {
        kc_compiled_t *c = help_compile (h, sources[i], "k");
        help_expect_ok (c);
        assert_int_equal (kc_code_hash ("plan", c, hex[i], NULL), 0);
        if (i == 0) {
            assert_int_equal (kc_code_hash ("another plan", c, hex[3], NULL), 0);
            free (c->cubin); // the PTX counts alone
            c->cubin = NULL;
            assert_int_equal (kc_code_hash ("plan", c, hex[4], NULL), 0);
        }
        kc_compiled_destroy (&c);
    }
    assert_string_equal (hex[0], hex[1]);
    assert_string_not_equal (hex[0], hex[2]);
    assert_string_not_equal (hex[0], hex[3]);
    assert_int_equal (strlen (hex[4]), 64);
}

static void the_same_job_gives_the_same_bytes (void **state)
{
    help_t *h = *state;
    help_need (h);
    kc_compiled_t *a = help_compile (h, SCALE, "scale"),
                  *b = help_compile (h, SCALE, "scale");
    help_expect_ok (a);
    assert_string_equal (a->ptx, b->ptx);
    assert_int_equal (a->cubin_size, b->cubin_size);
    if (a->cubin)
        assert_memory_equal (a->cubin, b->cubin, a->cubin_size);
    kc_compiled_destroy (&a);
    kc_compiled_destroy (&b);
}

// ---- includes ----

static void no_way_of_including_shows_a_file_of_the_host (void **state)
{
    help_t *h = *state;
    help_need (h);
    char *secret = kc_fs_join (h->dir, "secret.h");
    static const char word[] = "hunter2_is_the_secret";
    assert_int_equal (kc_fs_write (secret, word, strlen (word), 0644, false, NULL), 0);
    static const char *const ways[] = {
        "#include \"%s\"\n",
        "#include <%s>\n",
        "#  include \"../../../../../../../..%s\"\n",
        "#define PLACE \"%s\"\n#include PLACE\n",
        "#define Q(x) #x\n#define PLACE Q(%s)\n#include PLACE\n",
        "#define PLACE <%s>\n#include PLACE\n",
        "/* */ #include \"%s\"\n",
        "#include /* */ \"%s\"\n",
        "#\\\ninclude \"%s\"\n",
        "#line 1 \"program.cu\"\n#define PLACE \"%s\"\n#include PLACE\n",
        "#embed \"%s\"\n",
        "__device__ const unsigned char b[] = {\n#embed \"%s\"\n};\n",
        "#import \"%s\"\n",
        "%%:include \"%s\"\n",
        "?\?=include \"%s\"\n",
        "__asm__ (\".incbin \\\"%s\\\"\");\n",
        "#if __has_include(\"%s\")\n#include \"%s\"\n#endif\n",
        "#include_next \"%s\"\n",
        "#pragma push_macro(\"x\")\n_Pragma(\"include_alias(\\\"a.h\\\", "
        "\\\"%s\\\")\")\n#include \"a.h\"\n",
    };
    for (size_t i = 0; i < KC_COUNT (ways); i++) {
        kc_buf_t source = {0};
        for (const char *p = ways[i]; *p; p++)
            if (p[0] == '%' && p[1] == 's') {
                kc_buf_puts (&source, secret);
                p++;
            }
            else if (p[0] == '%' && p[1] == '%') {
                kc_buf_putc (&source, '%');
                p++;
            }
            else
                kc_buf_putc (&source, *p);
        kc_buf_puts (&source, SCALE);
        kc_compiled_t *c = help_compile (h, kc_buf_str (&source), "scale");
        bool shown = strstr (c->log, word) != NULL || (c->ptx && strstr (c->ptx, word));
        for (size_t k = 0; k < c->n_findings; k++)
            shown |= strstr (c->findings[k].text, word) != NULL;
        if (shown)
            print_error ("%s\n%s\n", kc_buf_str (&source), c->log);
        assert_false (shown);
        kc_compiled_destroy (&c);
        kc_buf_free (&source);
    }
    free (secret);
    kc_compiled_t *c = help_compile (h,
                                     "#include \"/etc/hostname\"\nextern \"C\" "
                                     "__global__ void k (float *x) { x[0] = 1; }\n",
                                     "k");
    assert_int_equal (c->status, KC_VERDICT_STATUS_COMPILE_ERROR);
    help_expect_finding (c, "outside of the include tree", 1);
    kc_compiled_destroy (&c);
    c = help_compile (h,
                      "#define P \"/etc/passwd\"\n#include P\nextern \"C\" __global__ "
                      "void k (float *x) { x[0] = 1; }\n",
                      "k");
    assert_int_equal (c->status, KC_VERDICT_STATUS_COMPILE_ERROR);
    assert_null (strstr (c->log, "root:"));
    kc_compiled_destroy (&c);
}

static void the_child_is_confined_where_the_kernel_can (void **state)
{
    help_t *h = *state;
    help_need (h);
    // landlock_create_ruleset (NULL, 0, LANDLOCK_CREATE_RULESET_VERSION)
    bool landlock = syscall (444, NULL, 0, 1) > 0;
    kc_compiled_t *c = help_compile (h, SCALE, "scale");
    help_expect_ok (c);
    bool open = false;
    for (size_t i = 0; i < c->n_notes; i++)
        open |= strstr (c->notes[i], "not confined") != NULL;
    assert_int_equal (open, !landlock);
    kc_compiled_destroy (&c);
}

static void host_code_is_answered_with_what_to_do (void **state)
{
    help_t *h = *state;
    help_need (h);
    kc_compiled_t *c =
        help_compile (h,
                      "#include <vector>\n#include <cuda_runtime.h>\n"
                      "__global__ void add (float *x) { x[threadIdx.x] += 1; }\n"
                      "void run (float *x)\n{\n    add<<<1, 32>>> (x);\n    "
                      "cudaDeviceSynchronize ();\n}\n",
                      "add");
    assert_int_equal (c->status, KC_VERDICT_STATUS_COMPILE_ERROR);
    help_expect_finding (c, "cudaDeviceSynchronize", 7);
    assert_non_null (strstr (c->findings[c->n_findings - 1].fix, "//@ launch"));
    kc_compiled_destroy (&c);
}

static void a_missing_header_is_named_with_advice (void **state)
{
    help_t *h = *state;
    help_need (h);
    static const struct {
        const char *header, *fix;
    } cases[] = {
        {"no_such.h", "shipped"},         {"torch/extension.h", "host code"},
        {"cub/cub.cuh", "kc::block_sum"}, {"thrust/device_vector.h", "kc::block_sum"},
        {"cutlass/gemm.h", "kc_mma.h"},   {"cublas_v2.h", "steps"}};
    for (size_t i = 0; i < KC_COUNT (cases); i++) {
        char *source = kc_asprintf ("\n#include <%s>\n%s", cases[i].header, SCALE);
        kc_compiled_t *c = help_compile (h, source, "scale");
        assert_int_equal (c->status, KC_VERDICT_STATUS_COMPILE_ERROR);
        help_expect_finding (c, cases[i].header, 2);
        assert_non_null (c->findings[0].fix);
        assert_non_null (strstr (c->findings[0].fix, cases[i].fix));
        kc_compiled_destroy (&c);
        free (source);
    }
}

// ---- limits ----

static void compile_bombs_end_by_their_limits (void **state)
{
    help_t *open = *state;
    help_need (open);
    static const char *const bombs[] = {
        // 2^40 different types
        "template <int N, unsigned long M> struct B { B<N - 1, 2 * M> a; B<N - 1, 2 * "
        "M + 1> b; };\n"
        "template <unsigned long M> struct B<0, M> { char c; };\n"
        "extern \"C\" __global__ void k (int *x) { x[0] = sizeof (B<40, 0>); }\n",
        // a million statements
        "#define A(x) x x x x x x x x x x\n#define B(x) A (A (A (x)))\n"
        "extern \"C\" __global__ void k (float *x, int n) { B (B (x[n] += sinf (x[n + "
        "1]); n = n * 7 + 3;)) }\n",
        // four gigabytes of initial values
        "__device__ const int big[1 << 30] = {1};\n"
        "extern \"C\" __global__ void k (int *x) { x[0] = big[x[1]]; }\n",
    };
    help_t *h = help_open (FRONT, "ulimit -t 1", false);
    for (size_t i = 0; i < KC_COUNT (bombs); i++) {
        kc_compiled_t *c = help_compile (h, bombs[i], "k");
        if (c->status != KC_VERDICT_STATUS_COMPILE_ERROR
            && c->status != KC_VERDICT_STATUS_TIMEOUT)
            print_error ("bomb %zu: status %u after %.1f s\n", i, (unsigned)c->status,
                         c->seconds);
        assert_true (c->status == KC_VERDICT_STATUS_COMPILE_ERROR
                     || c->status == KC_VERDICT_STATUS_TIMEOUT);
        assert_true (strlen (c->findings[0].text) > 20);
        kc_compiled_destroy (&c);
    }
    // Only the children paid.
    kc_compiled_t *c = help_compile (h, SCALE, "scale");
    help_expect_ok (c);
    kc_compiled_destroy (&c);
    help_close (&h);
}

static void jobs_out_of_bounds_are_refused_without_a_child (void **state)
{
    help_t *h = *state;
    help_need (h);
    char *big = (char *)kc_malloc (KC_COMPILE_SOURCE + 2);
    memset (big, ' ', KC_COMPILE_SOURCE + 1);
    big[KC_COMPILE_SOURCE + 1] = 0;
    kc_compiled_t *c = help_compile (h, big, "k");
    help_expect_finding (c, "256 KiB", 0);
    kc_compiled_destroy (&c);
    free (big);
    c = help_compile (h, "\xff\xfe", "k");
    help_expect_finding (c, "UTF-8", 0);
    kc_compiled_destroy (&c);
    c = help_compile (h, "", "k");
    help_expect_finding (c, "empty", 0);
    kc_compiled_destroy (&c);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (a_kernel_becomes_ptx_with_facts),
        cmocka_unit_test (all_kernels_are_found_when_none_is_named),
        cmocka_unit_test (templates_are_named_as_in_the_source),
        cmocka_unit_test (a_kernel_that_is_not_there_is_named),
        cmocka_unit_test (errors_carry_the_authors_line),
        cmocka_unit_test (constants_serve_the_source_and_their_errors_are_told_apart),
        cmocka_unit_test (wrong_assembly_is_found_with_its_line),
        cmocka_unit_test (what_the_rules_forbid_is_refused_with_its_line),
        cmocka_unit_test (what_they_allow_passes),
        cmocka_unit_test (printf_and_assert_stay_in_repair_builds_only),
        cmocka_unit_test (precision_is_read_from_the_code),
        cmocka_unit_test (switches_reach_the_code),
        cmocka_unit_test (a_cubin_comes_from_nvrtc_only),
        cmocka_unit_test (the_code_hash_sees_code_and_plan_and_nothing_else),
        cmocka_unit_test (the_same_job_gives_the_same_bytes),
        cmocka_unit_test (no_way_of_including_shows_a_file_of_the_host),
        cmocka_unit_test (the_child_is_confined_where_the_kernel_can),
        cmocka_unit_test (host_code_is_answered_with_what_to_do),
        cmocka_unit_test (a_missing_header_is_named_with_advice),
        cmocka_unit_test (compile_bombs_end_by_their_limits),
        cmocka_unit_test (jobs_out_of_bounds_are_refused_without_a_child),
    };
    return cmocka_run_group_tests (tests, s_open, s_close);
}
