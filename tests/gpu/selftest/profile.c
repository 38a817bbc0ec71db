// profile.c - activity times and counters of a plan whose traffic is known

#include "tests/gpu/selftest/selftest.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agents/gpu/cuda/cupti_metrics.h"
#include "common/util/kc_clock.h"

static double s_value (const kc_dev_profile_t *p, int step, const char *name)
{
    for (size_t i = 0; i < p->n_steps; i++)
        for (size_t k = 0; p->steps[i].step == step && k < p->steps[i].n; k++)
            if (strcmp (p->steps[i].counters[k].name, name) == 0)
                return p->steps[i].counters[k].value;
    return NAN;
}

// Every stall state of active warps over active warp-cycles: 1 when the set of states
// is whole.
static double s_stall_sum (const kc_dev_profile_t *p, int step)
{
    double sum = 0;
    for (size_t i = 0; i < kc_cupti_n_metrics; i++) {
        if (strncmp (kc_cupti_metrics[i].name, "smsp__warps_issue_stalled_", 26) != 0)
            continue;
        const double v = s_value (p, step, kc_cupti_metrics[i].name);
        sum += isnan (v) ? 0 : v;
    }
    return sum / s_value (p, step, "smsp__warps_active.sum");
}

static void s_free (kc_dev_profile_t *p)
{
    for (size_t i = 0; i < p->n_steps; i++)
        free (p->steps[i].counters);
    free (p->steps);
}

static void s_print (const kc_dev_profile_t *p)
{
    for (size_t i = 0; i < p->n_steps; i++)
        for (size_t k = 0; k < p->steps[i].n; k++)
            printf ("note step %d %s = %.6g\n", p->steps[i].step,
                    p->steps[i].counters[k].name, p->steps[i].counters[k].value);
}

void kc_st_profile (kc_st_t *st)
{
    const int64_t n = 1 << 26; // 256 MiB each way
    const uint32_t grid = (uint32_t)st->dev->info.facts.sms * 16;
    kc_plan_t *p = kc_pm_new ();
    int x = kc_pm_buffer (p, "x", KC_ROLE_INPUT, KC_PROGRAM_DTYPE_F32, n);
    int y = kc_pm_buffer (p, "y", KC_ROLE_OUTPUT, KC_PROGRAM_DTYPE_F32, n);
    int z = kc_pm_buffer (p, "z", KC_ROLE_OUTPUT, KC_PROGRAM_DTYPE_I32, 1024);
    kc_pm_arg_t copy[] = {kc_pm_in (x), kc_pm_out (y), kc_pm_i64 (n / 4)};
    kc_pm_arg_t spin[] = {kc_pm_out (z), kc_pm_i64 (50000)};
    int copy4 = kc_pm_kernel (p, "copy4"), wait = kc_pm_kernel (p, "spin");
    kc_pm_launch (p, copy4, grid, 512, 0, 3, copy);
    kc_pm_fill (p, z, 0, 4);
    kc_pm_launch (p, wait, 1, 32, 0, 2, spin);
    kc_pm_launch (p, wait, 1, 32, 0, 2, spin)->source_step = 2; // a loop of two
    kc_st_run_t run;
    kc_dev_finding_t finding;
    kc_dev_profile_t prof;
    if (!kc_st_prepare (st, &run, p))
        return;
    const int64_t start = kc_clock_ns ();
    int rc = st->dev->ops->profile (st->dev, &run.who, &kc_st_limits, &prof, &finding);
    const double seconds = (double)(kc_clock_ns () - start) / 1e9;
    kc_st_check (st, rc == 0 && prof.n_steps == 3, "profile",
                 "%zu steps, %d passes, %.2f s, total %.1f us, busy %.1f us, %s %s",
                 prof.n_steps, prof.passes, seconds, prof.total_us, prof.kernel_us,
                 prof.counters_missing ? prof.missing_reason : "all counters",
                 finding.text);
    const double copy_us = s_value (&prof, 0, "kc.time_us"),
                 spin_us = s_value (&prof, 2, "kc.time_us");
    if (isnan (copy_us))
        printf ("SKIP activity records: %s\n", prof.missing_reason);
    else
        kc_st_check (
            st, copy_us > 50 && fabs (spin_us - 100) < 15, "activity",
            "copy %.1f us (%.2f TB/s), two spins of 50 us %.1f us, %g launches",
            copy_us, 8.0 * (double)n / copy_us / 1e6, spin_us,
            s_value (&prof, 2, "kc.launches"));
    if (prof.counters_missing) {
        printf ("SKIP counters: %s\n", prof.missing_reason);
        kc_st_check (st, prof.missing_reason[0] != 0, "counters-reason", "%s",
                     prof.missing_reason);
    }
    else {
        const double read = s_value (&prof, 0, "dram__bytes_read.sum");
        const double write = s_value (&prof, 0, "dram__bytes_write.sum");
        const double bytes = 4.0 * (double)n;
        kc_st_check (st,
                     fabs (read / bytes - 1) < 0.1 && write / bytes > 0.7
                         && write / bytes < 1.1,
                     "counters-dram", "%.1f MB read, %.1f MB written of %.1f MB each",
                     read / 1e6, write / 1e6, bytes / 1e6);
        const double requests =
            s_value (&prof, 0, "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum");
        const double sectors =
            s_value (&prof, 0, "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum");
        kc_st_check (st,
                     fabs (requests / ((double)n / 4 / 32) - 1) < 0.02
                         && fabs (sectors / requests - 16) < 0.1,
                     "counters-loads",
                     "%.0f requests, %.2f sectors each (a warp of float4 is 16)",
                     requests, sectors / requests);
        const double stalls = s_stall_sum (&prof, 0);
        kc_st_check (st, fabs (stalls - 1) < 0.02, "counters-stalls",
                     "all states of active warps sum to %.4f", stalls);
        kc_st_check (st, prof.passes > 0 && prof.passes <= 12, "counters-passes",
                     "%d passes for %zu counters", prof.passes, kc_cupti_n_metrics);
        const double clock = s_value (&prof, 0, "sm__cycles_elapsed.avg.per_second");
        kc_st_check (st, clock > 3e8 && clock < 3e9, "counters-clock",
                     "%.0f MHz while profiling", clock / 1e6);
        s_print (&prof);
    }
    s_free (&prof);
    kc_st_release (st, &run);
}
