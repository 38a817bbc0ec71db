// faults.c - runs that end the context: what is found, and that nothing is called
// afterwards

#include "tests/gpu/selftest/selftest.h"

#include <string.h>

#include "common/util/kc_clock.h"
#include "common/util/kc_mem.h"

typedef struct fault {
    const char *name, *kernel;
    kc_program_dtype_t dtype;
    int64_t argument;
    bool has_argument;
    kc_verdict_status_t expected;
} fault_t;

static const fault_t s_faults[] = {
    {"oob", "write_at", KC_PROGRAM_DTYPE_F32, (int64_t)1 << 44, true,
     KC_VERDICT_STATUS_OUT_OF_BOUNDS},
    {"misaligned", "misaligned", KC_PROGRAM_DTYPE_F32, 0, false,
     KC_VERDICT_STATUS_LAUNCH_ERROR},
    {"trap", "trapped", KC_PROGRAM_DTYPE_I32, 0, false, KC_VERDICT_STATUS_LAUNCH_ERROR},
    {"hang", "forever", KC_PROGRAM_DTYPE_I32, 0, false, KC_VERDICT_STATUS_TIMEOUT},
};

static kc_plan_t *s_plan (const fault_t *f)
{
    kc_plan_t *p = kc_pm_new ();
    int x = kc_pm_buffer (p, "x", KC_ROLE_INPUT, KC_PROGRAM_DTYPE_I32, 4);
    int y = kc_pm_buffer (p, "y", KC_ROLE_OUTPUT, f->dtype, 64);
    kc_pm_arg_t args[] = {kc_pm_out (y), kc_pm_i64 (f->argument)};
    size_t n = f->has_argument ? 2 : 1;
    if (strcmp (f->kernel, "forever") == 0) {
        args[0] = kc_pm_in (x);
        args[1] = kc_pm_out (y);
        n = 2;
    }
    kc_pm_launch (p, kc_pm_kernel (p, f->kernel), 1, 1, 0, n, args);
    return p;
}

int kc_st_fault (kc_st_t *st, const char *name)
{
    const fault_t *f = NULL;
    for (size_t i = 0; name && i < KC_COUNT (s_faults); i++)
        f = strcmp (s_faults[i].name, name) == 0 ? &s_faults[i] : f;
    if (!f)
        return -1;
    kc_st_run_t run;
    kc_dev_finding_t finding, again;
    const kc_dev_limits_t limits = {.seconds = 1};
    kc_err_t err = {0};
    if (!kc_st_prepare (st, &run, s_plan (f)))
        return 0;
    const int64_t start = kc_clock_ns ();
    st->dev->ops->run (st->dev, &run.who, false, &limits, &finding);
    kc_st_check (
        st, finding.status == f->expected && finding.sticky && finding.step == 0,
        f->name, "%.2f s: %s", (double)(kc_clock_ns () - start) / 1e9, finding.text);
    char data[256];
    bool refused = st->dev->ops->read (st->dev, run.who.arena, 1, data, &err) < 0
                   && st->dev->ops->run (st->dev, &run.who, false, &limits, &again) < 0
                   && again.sticky;
    kc_st_check (st, refused, "nothing-after-it", "%s", err.text);
    return 0;
}
