/* kc-cuda-selftest - every function of the cuda backend against real hardware, in under
 * a minute
 *
 *   kc-cuda-selftest [--cuda DIR] [PART ...]
 *
 * Parts: basics launches timing leftovers profile (all of them when none is named), and
 * the faults oob, misaligned, trap, hang, of which one ends the process.  Prints one
 * line per check, "ok NAME: facts" or "FAIL NAME: facts", and a closing count.  Exit 0
 * when nothing failed, 17 where there is no GPU.
 */
#include "tests/gpu/selftest/selftest.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agents/gpu/cuda/nvrtc_api.h"
#include "common/util/kc_clock.h"
#include "common/util/kc_mem.h"

const kc_dev_limits_t kc_st_limits = {.seconds = 5};

void kc_st_check (kc_st_t *st, bool good, const char *name, const char *format, ...)
{
    va_list args;
    printf ("%s %s: ", good ? "ok" : "FAIL", name);
    va_start (args, format);
    vprintf (format, args);
    va_end (args);
    printf ("\n");
    fflush (stdout);
    st->passed += good;
    st->failed += !good;
}

bool kc_st_prepare (kc_st_t *st, kc_st_run_t *run, kc_plan_t *plan)
{
    const kc_dev_layout_t layout = {.seed = 20261130};
    kc_err_t err = {0};
    run->plan = plan;
    run->who = (kc_dev_contestant_t){.code = st->code, .plan = plan};
    run->who.arena = st->dev->ops->arena (st->dev, plan, &layout, &err);
    bool good = run->who.arena != NULL;
    for (size_t i = 0; good && i < plan->n_buffers; i++) {
        const kc_plan_buffer_t *b = &plan->buffers[i];
        if (b->role == KC_ROLE_INPUT || b->role == KC_ROLE_PARAM
            || b->role == KC_ROLE_INOUT)
            good = st->dev->ops->generate (st->dev, run->who.arena, (int)i, &b->fill,
                                           1 + i, &err)
                   == 0;
        else
            good =
                st->dev->ops->poison (st->dev, run->who.arena, (int)i, 0xff, &err) == 0;
    }
    if (!good)
        kc_st_check (st, false, "prepare", "%s", err.text);
    return good;
}

void kc_st_release (kc_st_t *st, kc_st_run_t *run)
{
    if (run->who.arena)
        st->dev->ops->arena_free (st->dev, run->who.arena);
    kc_pm_free (&run->plan);
    memset (run, 0, sizeof *run);
}

static int s_compare (const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

double kc_st_median (double *values, int n)
{
    qsort (values, (size_t)n, sizeof *values, s_compare);
    return n > 0 ? values[n / 2] : 0;
}

// Compile kernels.cu for this GPU; the cubin, caller frees.
static char *s_compile (kc_st_t *st, const char *where, size_t *size_p)
{
    kc_err_t err = {0};
    const int64_t start = kc_clock_ns ();
    kc_nvrtc_api_t *rtc = kc_nvrtc_api_load (where, &err);
    if (!rtc) {
        kc_st_check (st, false, "nvrtc", "%s", err.text);
        return NULL;
    }
    const int sm = st->dev->info.facts.sm;
    char *arch = kc_asprintf ("--gpu-architecture=sm_%d%s", sm, sm >= 90 ? "a" : "");
    const char *options[] = {arch, "--std=c++17", "-lineinfo"};
    char *source =
        kc_strndup ((const char *)kc_selftest_kernels, kc_selftest_kernels_size);
    kc_nvrtc_program_t program = NULL;
    char *cubin = NULL;
    kc_nvrtc_result_t r =
        rtc->CreateProgram (&program, source, "kernels.cu", 0, NULL, NULL);
    if (r == KC_NVRTC_SUCCESS)
        r = rtc->CompileProgram (program, (int)KC_COUNT (options), options);
    size_t n = 0;
    if (r == KC_NVRTC_SUCCESS
        && rtc->GetCUBINSize (program, size_p) == KC_NVRTC_SUCCESS) {
        cubin = kc_calloc (1, *size_p + 1);
        rtc->GetCUBIN (program, cubin);
    }
    else if (program && rtc->GetProgramLogSize (program, &n) == KC_NVRTC_SUCCESS) {
        char *log = kc_calloc (1, n + 1);
        rtc->GetProgramLog (program, log);
        printf ("%s\n", log);
        free (log);
    }
    kc_st_check (st, cubin != NULL, "nvrtc", "%d.%d at %s, %s, %.0f ms: %s", rtc->major,
                 rtc->minor, rtc->path, arch, (double)(kc_clock_ns () - start) / 1e6,
                 rtc->GetErrorString (r));
    if (program)
        rtc->DestroyProgram (&program);
    kc_nvrtc_api_destroy (&rtc);
    free (source);
    free (arch);
    return cubin;
}

static bool s_open (kc_st_t *st, const char *where, kc_err_t *err)
{
    const kc_dev_config_t config = {.cuda_path = where};
    const int64_t start = kc_clock_ns ();
    st->dev = kc_dev_open_cuda (&config, err);
    if (!st->dev)
        return false;
    st->cuda = (kc_cuda_dev_t *)st->dev;
    const kc_dev_info_t *i = &st->dev->info;
    const kc_device_facts_t *f = &i->facts;
    kc_st_check (st, i->bandwidth > 1e11 && f->sms > 0 && f->warp == 32, "open",
                 "%s %s, driver %s, sm_%d, %d SMs, %.1f GiB, %.0f GB/s specified, L2 "
                 "%.1f MiB, shared %lld "
                 "(+%lld), clock %d MHz, %.0f ms",
                 i->gpu, i->uuid, i->driver, f->sm, f->sms,
                 (double)i->memory_bytes / 1073741824.0, i->bandwidth / 1e9,
                 (double)f->l2_bytes / 1048576.0, (long long)f->shared_block,
                 (long long)f->shared_reserved, st->cuda->clock_khz / 1000,
                 (double)(kc_clock_ns () - start) / 1e6);
    printf ("note counters: %s %s\n",
            i->counters ? "expected" : "not expected:", i->counters_reason);
    return true;
}

static bool s_load (kc_st_t *st, const char *where)
{
    size_t size = 0;
    char *cubin = s_compile (st, where, &size);
    if (!cubin)
        return false;
    kc_dev_finding_t finding;
    const int64_t start = kc_clock_ns ();
    const kc_dev_binary_t binary = {.data = cubin, .size = size};
    st->code = st->dev->ops->load (st->dev, &binary, &finding);
    kc_st_check (st, st->code != NULL, "load", "%zu bytes of cubin, %.2f ms%s%s", size,
                 (double)(kc_clock_ns () - start) / 1e6, st->code ? "" : ": ",
                 st->code ? "" : finding.text);
    free (cubin);
    return st->code != NULL;
}

static void s_part (kc_st_t *st, const char *name)
{
    static const struct {
        const char *name;
        void (*run) (kc_st_t *st);
    } parts[] = {
        {"basics", kc_st_basics},   {"launches", kc_st_launches},
        {"timing", kc_st_timing},   {"leftovers", kc_st_leftovers},
        {"profile", kc_st_profile},
    };
    bool known = false;
    for (size_t i = 0; i < KC_COUNT (parts); i++) {
        if (name && strcmp (name, parts[i].name) != 0)
            continue;
        const int64_t start = kc_clock_ns ();
        parts[i].run (st);
        printf ("note %s took %.1f s\n", parts[i].name,
                (double)(kc_clock_ns () - start) / 1e9);
        known = true;
    }
    if (!known && kc_st_fault (st, name) < 0)
        kc_st_check (st, false, name, "no such part");
}

int main (int argc, char **argv)
{
    kc_st_t st = {0};
    kc_err_t err = {0};
    const char *where = NULL;
    int at = 1;
    if (at + 1 < argc && strcmp (argv[at], "--cuda") == 0) {
        where = argv[at + 1];
        at += 2;
    }
    if (!s_open (&st, where, &err)) {
        printf ("SKIP %s\n", err.text);
        return kc_code_exit (err.code);
    }
    if (s_load (&st, where)) {
        if (at >= argc)
            s_part (&st, NULL);
        for (; at < argc; at++)
            s_part (&st, argv[at]);
    }
    printf ("%d passed, %d failed\n", st.passed, st.failed);
    fflush (stdout);
    if (st.cuda->dead)
        _exit (st.failed ? 1 : 0); // what every runner does after a sticky error
    st.dev->ops->unload (st.dev, st.code);
    st.dev->ops->destroy (st.dev);
    return st.failed ? 1 : 0;
}
