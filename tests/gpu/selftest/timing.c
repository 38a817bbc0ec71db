// timing.c - events, gate, flush, graph against stream, interleaving, verification of
// timed runs

#include "tests/gpu/selftest/selftest.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/util/kc_clock.h"
#include "common/util/kc_mem.h"

static kc_dev_timing_options_t s_options (void)
{
    return (kc_dev_timing_options_t){
        .warmup_launches = 10,
        .warmup_seconds = 0.05,
        .min_samples = 30,
        .max_samples = 120,
        .min_seconds = 0.0,
        .max_seconds = 2.5,
        .seed = 424242,
    };
}

static kc_plan_t *s_copy_plan (int64_t floats, uint32_t grid)
{
    kc_plan_t *p = kc_pm_new ();
    int x = kc_pm_buffer (p, "x", KC_ROLE_INPUT, KC_PROGRAM_DTYPE_F32, floats);
    int y = kc_pm_buffer (p, "y", KC_ROLE_OUTPUT, KC_PROGRAM_DTYPE_F32, floats);
    kc_pm_arg_t args[] = {kc_pm_in (x), kc_pm_out (y), kc_pm_i64 (floats / 4)};
    kc_pm_launch (p, kc_pm_kernel (p, "copy4"), grid, 512, 0, 3, args);
    return p;
}

static kc_plan_t *s_spin_plan (int steps, int64_t ns)
{
    kc_plan_t *p = kc_pm_new ();
    int y = kc_pm_buffer (p, "y", KC_ROLE_OUTPUT, KC_PROGRAM_DTYPE_I32, 64);
    kc_pm_arg_t args[] = {kc_pm_out (y), kc_pm_i64 (ns)};
    int k = kc_pm_kernel (p, "spin");
    for (int i = 0; i < steps; i++)
        kc_pm_launch (p, k, 1, 32, 0, 2, args);
    return p;
}

static kc_plan_t *s_empty_plan (int steps)
{
    kc_plan_t *p = kc_pm_new ();
    int y = kc_pm_buffer (p, "y", KC_ROLE_OUTPUT, KC_PROGRAM_DTYPE_I32, 64);
    kc_pm_arg_t args[] = {kc_pm_out (y)};
    int k = kc_pm_kernel (p, "nothing");
    for (int i = 0; i < steps; i++)
        kc_pm_launch (p, k, 1, 32, 0, 1, args);
    return p;
}

// Time one plan; the median, or NaN with a FAIL line.
static double s_time_one (kc_st_t *st, const char *name, kc_plan_t *plan, bool graph,
                          kc_dev_timing_t *out)
{
    kc_st_run_t run;
    kc_dev_finding_t finding;
    kc_dev_timing_options_t o = s_options ();
    o.graph = graph;
    if (!kc_st_prepare (st, &run, plan))
        return NAN;
    double median = NAN;
    if (st->dev->ops->time (st->dev, &run.who, 1, &o, &kc_st_limits, out, &finding) < 0)
        kc_st_check (st, false, name, "%s", finding.text);
    else
        median = kc_st_median (out->us[0], out->n);
    free (out->us[0]);
    out->us[0] = NULL;
    kc_st_release (st, &run);
    return median;
}

static void s_bandwidth (kc_st_t *st)
{
    kc_dev_timing_t t;
    const double specified = st->dev->info.bandwidth;
    const uint32_t grid = (uint32_t)st->dev->info.facts.sms * 16;
    const int64_t n = 1 << 28;
    double us = s_time_one (st, "copy-1GiB", s_copy_plan (n, grid), false, &t);
    double rate = 8.0 * (double)n / us * 1e6;
    kc_st_check (st, rate > 0.6 * specified && rate < specified, "copy-1GiB",
                 "%.1f us = %.2f TB/s read + write, %.0f %% of %.2f; %d samples; %s",
                 us, rate / 1e12, 100 * rate / specified, specified / 1e12, t.n,
                 t.note);
    // 16 MiB fits the L2 several times: only a flushed cache keeps this below the
    // memory's rate.
    us = s_time_one (st, "copy-16MiB-cold", s_copy_plan (1 << 22, grid), false, &t);
    rate = 4.0 * (double)(1 << 22) / us * 1e6; // reads alone must come from memory
    kc_st_check (st, rate < specified, "copy-16MiB-cold",
                 "%.2f us = %.2f TB/s of reads (flush before every sample); %s", us,
                 rate / 1e12, t.note);
}

static void s_launches (kc_st_t *st)
{
    kc_dev_timing_t t;
    double nothing = s_time_one (st, "empty-kernel", s_empty_plan (1), false, &t);
    kc_st_check (st, nothing > 0.1 && nothing < 20, "empty-kernel",
                 "%.2f us between events; %s", nothing, t.note);
    double three = s_time_one (st, "three-empty-stream", s_empty_plan (3), false, &t);
    double graph = s_time_one (st, "three-empty-graph", s_empty_plan (3), true, &t);
    kc_st_check (st, three > 0 && graph > 0 && three < 60 && graph < 60, "three-empty",
                 "stream %.2f us, graph %.2f us, per step %.2f and %.2f", three, graph,
                 (three - nothing) / 2, (graph - nothing) / 2);
    double many =
        s_time_one (st, "1000-launches-ungated", s_empty_plan (1000), false, &t);
    double many_graph =
        s_time_one (st, "1000-launches-graph", s_empty_plan (1000), true, &t);
    kc_st_check (st, many > 0 && many_graph > 0, "launch-cost",
                 "1000 launches: stream without gate %.2f us each, graph %.2f us each",
                 many / 1000, many_graph / 1000);
    double spin = s_time_one (st, "known-100us", s_spin_plan (1, 100000), false, &t);
    kc_st_check (st, spin > 95 && spin < 110, "known-100us",
                 "a kernel of 100 us takes %.2f us; %s", spin, t.note);
    spin = s_time_one (st, "known-3x10us", s_spin_plan (3, 10000), true, &t);
    kc_st_check (st, spin > 28 && spin < 45, "known-3x10us",
                 "three of 10 us in a graph take %.2f us", spin);
}

typedef struct calls {
    int n, by[2];
    uint64_t last[2];
} calls_t;

static int s_verify (void *arg, int contestant, int sample, uint64_t content)
{
    calls_t *c = arg;
    (void)sample;
    c->n++;
    c->by[contestant]++;
    c->last[contestant] = content;
    return 0;
}

static void s_interleaved (kc_st_t *st)
{
    const uint32_t grid = (uint32_t)st->dev->info.facts.sms * 16;
    kc_st_run_t a, b;
    kc_dev_finding_t finding;
    kc_dev_timing_t t;
    kc_dev_timing_options_t o = s_options ();
    calls_t calls = {0};
    o.verify = s_verify;
    o.verify_arg = &calls;
    if (!kc_st_prepare (st, &a, s_copy_plan (1 << 24, grid))
        || !kc_st_prepare (st, &b, s_copy_plan (1 << 24, grid)))
        return;
    const kc_dev_contestant_t who[2] = {a.who, b.who};
    const int64_t start = kc_clock_ns ();
    int rc = st->dev->ops->time (st->dev, who, 2, &o, &kc_st_limits, &t, &finding);
    double seconds = (double)(kc_clock_ns () - start) / 1e9;
    double x = rc == 0 ? kc_st_median (t.us[0], t.n) : 0,
           y = rc == 0 ? kc_st_median (t.us[1], t.n) : 0;
    kc_st_check (st,
                 rc == 0 && fabs (x / y - 1) < 0.02 && calls.by[0] == calls.by[1]
                     && calls.n >= 2 && calls.last[0] == calls.last[1],
                 "interleaved-equals",
                 "the same kernel twice: %.2f and %.2f us, ratio %.4f, %d samples in "
                 "%.2f s, %d verified, %d "
                 "discarded, suspect %d; %s %s",
                 x, y, y > 0 ? x / y : 0, t.n, seconds, calls.n, t.discarded, t.suspect,
                 t.note, rc < 0 ? finding.text : "");
    free (t.us[0]);
    free (t.us[1]);
    kc_st_release (st, &a);
    kc_st_release (st, &b);
}

static void s_mutation (kc_st_t *st)
{
    kc_plan_t *p = kc_pm_new ();
    int x = kc_pm_buffer (p, "x", KC_ROLE_INPUT, KC_PROGRAM_DTYPE_F32, 64);
    int y = kc_pm_buffer (p, "y", KC_ROLE_OUTPUT, KC_PROGRAM_DTYPE_F32, 64);
    kc_pm_arg_t args[] = {kc_pm_in (x), kc_pm_out (y)};
    kc_pm_launch (p, kc_pm_kernel (p, "write_const"), 1, 1, 0, 2, args);
    kc_st_run_t run;
    kc_dev_finding_t finding;
    kc_dev_timing_t t;
    kc_dev_timing_options_t o = s_options ();
    if (!kc_st_prepare (st, &run, p))
        return;
    int rc = st->dev->ops->time (st->dev, &run.who, 1, &o, &kc_st_limits, &t, &finding);
    kc_st_check (st, rc < 0 && finding.status == KC_VERDICT_STATUS_INPUT_MUTATED,
                 "timed-mutation", "%s", finding.text);
    free (t.us[0]);
    kc_st_release (st, &run);
}

void kc_st_timing (kc_st_t *st)
{
    s_bandwidth (st);
    s_launches (st);
    s_interleaved (st);
    s_mutation (st);
}
