// bench_vgpu.c - lane-instructions per second of the interpreter, all checks and counters on
//
// Time is the thread's own CPU time, so that a busy machine does not change the figure per core.  Every kernel
// runs several times and the best run counts; its result is compared with a plain computation first.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agents/gpu/vgpu/vgpu.h"
#include "common/util/kc_fs.h"
#include "common/util/kc_mem.h"

enum { RUNS = 5, N = 1 << 20, ROWS = 256, COLUMNS = 4096, SIDE = 256 };
#define X 0x10000000ull
#define R 0x20000000ull
#define Y 0x30000000ull

typedef struct bench {
    vgpu_module_t *module;
    float *x, *r, *y;
    vgpu_launch_t launch;
    vgpu_buffer_t buffers[3];
    unsigned char params[64];
} bench_t;

static double s_cpu_seconds (void)
{
    struct timespec t;
    clock_gettime (CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void s_param (bench_t *b, const void *p, unsigned size)
{
    unsigned at = (b->launch.params_size + size - 1) / size * size;
    memcpy (b->params + at, p, size);
    b->launch.params_size = at + size;
}

// Lane-instructions per second of the best of RUNS; dies when a launch fails.
static double s_measure (bench_t *b)
{
    double best = 0;
    for (int k = 0; k < RUNS; k++) {
        vgpu_counters_t c;
        vgpu_finding_t f;
        double from = s_cpu_seconds ();
        if (vgpu_launch (b->module, &b->launch, &c, &f) < 0) {
            fprintf (stderr, "bench_vgpu: %s\n", f.text);
            exit (1);
        }
        double rate = (double)f.lane_instructions / (s_cpu_seconds () - from);
        best = rate > best ? rate : best;
        vgpu_counters_free (&c);
    }
    return best;
}

static void s_expect (const char *what, double got, double want)
{
    if (fabs (got - want) > 2e-4 * fabs (want) + 1e-6) {
        fprintf (stderr, "bench_vgpu: %s is %.9g, expected %.9g\n", what, got, want);
        exit (1);
    }
}

static void s_launch (bench_t *b, const char *kernel, unsigned gx, unsigned gy, unsigned bx, unsigned by)
{
    b->launch = (vgpu_launch_t){.kernel = kernel, .grid = {gx, gy, 1}, .block = {bx, by, 1}, .params = b->params,
                                .buffers = b->buffers, .n_buffers = 3, .n_resident = 64};
}

static double s_elementwise (bench_t *b)
{
    uint64_t x = X, r = R, y = Y;
    float slope = 1.25f, shift = -0.5f;
    int n = N;
    s_launch (b, "elementwise", 1024, 1, 256, 1);
    s_param (b, &x, 8);
    s_param (b, &r, 8);
    s_param (b, &y, 8);
    s_param (b, &slope, 4);
    s_param (b, &shift, 4);
    s_param (b, &n, 4);
    double rate = s_measure (b);
    for (int i = 0; i < N; i += 997) {
        double v = 1.25 * (double)b->x[i] - 0.5, t = v / (1 + exp (-1.702 * v)) + (double)b->r[i];
        t = fmin (fmax (t, -6), 6);
        s_expect ("elementwise", (double)b->y[i], t * t * 0.5 + v);
    }
    return rate;
}

static double s_softmax (bench_t *b)
{
    uint64_t x = X, y = Y;
    int d = COLUMNS;
    s_launch (b, "softmax", ROWS, 1, 256, 1);
    s_param (b, &x, 8);
    s_param (b, &y, 8);
    s_param (b, &d, 4);
    double rate = s_measure (b);
    for (int row = 0; row < ROWS; row += 37) {
        double sum = 0;
        for (int i = 0; i < COLUMNS; i++)
            sum += exp ((double)b->x[row * COLUMNS + i]);
        for (int i = 0; i < COLUMNS; i += 511)
            s_expect ("softmax", (double)b->y[row * COLUMNS + i], exp ((double)b->x[row * COLUMNS + i]) / sum);
    }
    return rate;
}

static double s_matmul (bench_t *b)
{
    uint64_t x = X, r = R, y = Y;
    int n = SIDE;
    s_launch (b, "matmul", SIDE / 16, SIDE / 16, 16, 16);
    s_param (b, &x, 8);
    s_param (b, &r, 8);
    s_param (b, &y, 8);
    s_param (b, &n, 4);
    double rate = s_measure (b);
    for (int k = 0; k < SIDE * SIDE; k += 1009) {
        double sum = 0;
        for (int j = 0; j < SIDE; j++)
            sum += (double)b->x[k / SIDE * SIDE + j] * (double)b->r[j * SIDE + k % SIDE];
        s_expect ("matmul", (double)b->y[k], sum);
    }
    return rate;
}

int main (int argc, char **argv)
{
    if (argc != 2) {
        fprintf (stderr, "usage: bench_vgpu KERNELS.ptx\n");
        return 2;
    }
    kc_err_t err = {0};
    size_t size = 0;
    char *text = kc_fs_read (argv[1], 1 << 20, &size, &err);
    bench_t b = {.module = text ? vgpu_module_load (text, size, &err) : NULL};
    free (text);
    if (!b.module) {
        fprintf (stderr, "bench_vgpu: %s: %s\n", argv[1], err.text);
        return 1;
    }
    b.x = kc_calloc (N, sizeof (float));
    b.r = kc_calloc (N, sizeof (float));
    b.y = kc_calloc (N, sizeof (float));
    for (int i = 0; i < N; i++) {
        b.x[i] = (float)((unsigned)i * 7919u % 2003) / 1000.0f;
        b.r[i] = (float)((unsigned)i * 104729u % 1009) / 500.0f;
    }
    b.buffers[0] = (vgpu_buffer_t){.base = X, .size = N * 4, .host = b.x, .name = "x", .element = 4};
    b.buffers[1] = (vgpu_buffer_t){.base = R, .size = N * 4, .host = b.r, .name = "r", .element = 4};
    b.buffers[2] = (vgpu_buffer_t){.base = Y, .size = N * 4, .host = b.y, .name = "y", .element = 4, .writable = true};
    double elementwise = s_elementwise (&b), softmax = s_softmax (&b), matmul = s_matmul (&b);
    printf ("operator bodies: %s\n", vgpu_isa ());
    printf ("lane_instructions_per_second_per_core=%.4g softmax=%.4g matmul=%.4g\n", elementwise, softmax, matmul);
    vgpu_module_destroy (&b.module);
    free (b.x);
    free (b.r);
    free (b.y);
    return 0;
}
