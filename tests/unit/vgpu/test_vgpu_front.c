// test_vgpu_front.c - kernels compiled by the front ends that this machine has, against plain C
//
// Debian's clang is part of the build's packages; nvcc is used when a toolkit is installed. A front end that is
// not there is skipped and says so.

#include <fcntl.h>
#include <math.h>
#include <unistd.h>

#include "common/util/kc_fs.h"
#include "common/util/kc_mem.h"
#include "common/util/kc_spawn.h"
#include "tests/unit/vgpu/vgpu_fixture.h"

static const char *const s_source = "tests/unit/vgpu/kernels.cu";

// PTX text of kernels.cu, or NULL when the program is not there; caller frees.
static char *s_compile (const char *program, const char *const *options, size_t n)
{
    kc_err_t err = {0};
    if (!kc_fs_exists (program))
        return NULL;
    char path[] = "/tmp/kc-vgpu-XXXXXX.ptx";
    int fd = mkstemps (path, 4);
    assert_true (fd >= 0);
    close (fd);
    const char *argv[32] = {program};
    size_t at = 1;
    for (size_t k = 0; k < n; k++)
        argv[at++] = options[k];
    argv[at++] = "-o";
    argv[at++] = path;
    argv[at++] = s_source;
    const char *const env[] = {"PATH=/usr/bin:/bin:/usr/local/cuda/bin", NULL};
    kc_spawn_t spec = {.path = program, .argv = argv, .envp = env};
    kc_child_t child;
    kc_exit_t end = {0};
    assert_int_equal (kc_spawn (&spec, &child, &err), 0);
    assert_int_equal (kc_child_wait (&child, 60000, &end, &err), 1);
    size_t size = 0;
    char *text = NULL;
    if (end.code == 0 && !end.signalled)
        text = kc_fs_read (path, 1 << 24, &size, &err);
    unlink (path);
    if (!text)
        fail_msg ("%s does not compile %s", program, s_source);
    return text;
}

static char *s_clang (void)
{
    static const char *const options[] = {"-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib", "--cuda-gpu-arch=sm_80", "-Xclang",
                                          "-target-feature", "-Xclang", "+ptx75", "-gline-tables-only", "-O3", "-S"};
    static const char *const names[] = {"/usr/bin/clang-14", "/usr/bin/clang", "/usr/lib/llvm-14/bin/clang"};
    for (size_t k = 0; k < KC_COUNT (names); k++) {
        char *text = s_compile (names[k], options, KC_COUNT (options));
        if (text)
            return text;
    }
    return NULL;
}

static char *s_nvcc (void)
{
    static const char *const options[] = {"-ptx", "-arch=compute_80", "-lineinfo"};
    return s_compile ("/usr/local/cuda/bin/nvcc", options, KC_COUNT (options));
}

static void s_near (const char *what, int i, double got, double want)
{
    if (!(fabs (got - want) <= 4e-6 * fmax (1, fabs (want))))
        fail_msg ("%s[%d] is %.9g, expected %.9g", what, i, got, want);
}

static void s_begin (vt_t *t, const char *kernel)
{
    t->launch.kernel = kernel;
    t->launch.params_size = 0;
    t->launch.block[1] = 1;
    memset (t->y, 0, sizeof (t->y));
}

static int s_fib (int n)
{
    return n < 2 ? n : s_fib (n - 1) + s_fib (n - 2);
}

static void s_run_all (char *text)
{
    vt_t *t = vt_from_text (text);
    free (text);
    const vgpu_module_t *m = t->m;
    float *x = (float *)(void *)t->x, *y = (float *)(void *)t->y, *z = (float *)(void *)t->z;
    int *bins = (int *)(void *)t->y;
    for (int i = 0; i < VT_BYTES / 4; i++) {
        x[i] = (float)(i * 7 % 97) / 40.0f - 1.2f;
        z[i] = (float)(i * 5 % 89) / 50.0f - 0.8f;
    }
    assert_null (ptx_module_unresolved (vgpu_module_static (m)));
    assert_int_equal (vgpu_module_static (m)->forbidden & PTX_FORBIDDEN_WRITABLE, 0);

    s_begin (t, "elementwise");
    vt_arg64 (t, VT_X);
    vt_arg64 (t, VT_Y);
    vt_arg32 (t, 1000);
    vt_ok (t, 4, 256);
    for (int i = 0; i < 1000; i++)
        s_near ("elementwise", i, (double)y[i], exp ((double)x[i]) * 0.5 + tanh ((double)x[i]) / sqrt (1 + (double)x[i] * (double)x[i]));
    assert_true (y[1000] == 0);
    assert_int_equal (t->c.traffic[0].unique_read, 125); // clang loads again behind each call
    assert_true (t->c.fp32_flops > 10 * 1000);
    // the line of the statement, in this file
    int found = 0;
    for (uint32_t k = 0; k < t->c.n_lines; k++)
        found |= t->c.lines[k].line == 44 && t->c.lines[k].sectors >= 250;
    assert_true (found);
    t->buffers[0].size = 100;
    assert_int_equal (vt_run (t, 4, 256), -1);
    assert_int_equal (t->f.status, VGPU_OUT_OF_BOUNDS);
    assert_int_equal (t->f.line, 44);
    assert_string_equal (t->f.buffer, "x");
    t->buffers[0].size = VT_BYTES;

    s_begin (t, "vector4");
    vt_arg64 (t, VT_X);
    vt_arg64 (t, VT_Y);
    vt_arg32 (t, 200);
    vt_ok (t, 2, 64);
    for (int i = 0; i < 200; i++) {
        const float *v = x + 4 * i, *r = y + 4 * i;
        assert_true (r[0] == v[0] + 1 && r[1] == v[1] * 2 && r[2] == v[2] - v[3] && r[3] == v[3]);
    }
    assert_int_equal (t->c.global_load_bytes / t->c.global_load_lanes, 16);

    s_begin (t, "softmax");
    vt_arg64 (t, VT_X);
    vt_arg64 (t, VT_Y);
    vt_arg32 (t, 333);
    vt_ok (t, 5, 128);
    for (int row = 0; row < 5; row++) {
        double sum = 0;
        for (int i = 0; i < 333; i++)
            sum += exp ((double)x[row * 333 + i]);
        for (int i = 0; i < 333; i++)
            s_near ("softmax", i, (double)y[row * 333 + i], exp ((double)x[row * 333 + i]) / sum);
    }
    assert_int_equal (t->c.barriers, 5 * 4 * 3);

    s_begin (t, "matmul");
    vt_arg64 (t, VT_X);
    vt_arg64 (t, VT_Z);
    vt_arg64 (t, VT_Y);
    vt_arg32 (t, 32);
    t->launch.block[1] = 8;
    vt_ok (t, 16, 8);
    for (int k = 0; k < 32 * 32; k++) {
        double sum = 0;
        for (int j = 0; j < 32; j++)
            sum += (double)x[k / 32 * 32 + j] * (double)z[j * 32 + k % 32];
        s_near ("matmul", k, (double)y[k], sum);
    }

    s_begin (t, "histogram");
    vt_arg64 (t, VT_X);
    vt_arg64 (t, VT_Y);
    vt_arg32 (t, 3000);
    vt_ok (t, 3, 128);
    int want[16] = {0};
    for (int i = 0; i < 3000; i++)
        want[(int)((x[i] + 2) * 4) & 15]++;
    assert_memory_equal (bins, want, sizeof (want));
    assert_int_equal (t->c.atomics_shared, 3000);
    assert_int_equal (t->c.atomics_global, 48);

    s_begin (t, "by_value");
    float a[5] = {1.5f, 2, -3, 4, 5};
    for (int k = 0; k < 5; k++)
        vt_arg (t, &a[k], 4);
    vt_arg32 (t, 10);
    vt_arg64 (t, VT_Y);
    vt_ok (t, 1, 64);
    for (int i = 0; i < 64; i++)
        assert_true (y[i] == a[i % 5] * 10);

    s_begin (t, "awkward");
    vt_arg64 (t, VT_X);
    vt_arg64 (t, VT_Y);
    vt_arg32 (t, 3);
    vt_ok (t, 1, 64);
    for (int i = 0; i < 64; i++) {
        int v = ((i + 3) & 7) * i + s_fib (i % 9);
        int cases[6] = {v + 10, v * 3, -v, v ^ 0x55, (int)((unsigned)v << 2), v - 7};
        unsigned rest = (unsigned)((long long)cases[i % 6] * 1000003ll) % 977u;
        while (rest >= 500)
            rest -= 100;
        double sum = 0;
        for (int k = 0; k <= i; k++)
            sum += exp (-(double)k) * (double)x[k];
        assert_int_equal (bins[i], (int)(rest + 1) + (int)(sum * 1000.0));
    }

    s_begin (t, "talk");
    vt_arg64 (t, VT_X);
    vt_ok (t, 1, 32);
    char line[64];
    snprintf (line, sizeof (line), "thread 3 has %.2f here\n", (double)x[3]);
    assert_string_equal (t->c.output, line);
    vt_destroy (&t);
}

static void kernels_from_clang_compute_what_plain_c_does (void **state)
{
    (void)state;
    char *text = s_clang ();
    if (!text) {
        print_message ("no clang here\n");
        skip ();
    }
    s_run_all (text);
}

static void kernels_from_the_toolkit_compute_what_plain_c_does (void **state)
{
    (void)state;
    char *text = s_nvcc ();
    if (!text) {
        print_message ("no CUDA toolkit here\n");
        skip ();
    }
    s_run_all (text);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (kernels_from_clang_compute_what_plain_c_does),
        cmocka_unit_test (kernels_from_the_toolkit_compute_what_plain_c_does),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
