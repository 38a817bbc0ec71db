// leftovers.c - what survives a launch, that the scrub removes it, and what the scrub
// costs

#include "tests/gpu/selftest/selftest.h"

#include <stdio.h>
#include <string.h>

#include "common/util/kc_clock.h"

enum { MARK = 0x13579bdf };

// Run "mark", optionally scrub, run "look": how many marked words were still there.
static bool s_trial (kc_st_t *st, bool scrub, unsigned long long found[2])
{
    const kc_device_facts_t *f = &st->dev->info.facts;
    const int64_t shared = f->shared_block;
    const uint32_t grid = (uint32_t)f->sms;
    kc_plan_t *p = kc_pm_new (), *q = kc_pm_new ();
    int y = kc_pm_buffer (p, "y", KC_ROLE_OUTPUT, KC_PROGRAM_DTYPE_I32, 1);
    int z = kc_pm_buffer (q, "z", KC_ROLE_OUTPUT, KC_PROGRAM_DTYPE_I64, 2);
    kc_pm_arg_t mark[] = {kc_pm_out (y), kc_pm_i32 ((int32_t)(shared / 4)),
                          kc_pm_i32 (MARK), kc_pm_i32 (1)};
    kc_pm_arg_t look[] = {kc_pm_out (z), kc_pm_i32 ((int32_t)(shared / 4)),
                          kc_pm_i32 (MARK), kc_pm_i32 (1)};
    kc_pm_launch (p, kc_pm_kernel (p, "mark"), grid, 1024, shared, 4, mark);
    kc_pm_fill (q, z, 0, 4);
    kc_pm_launch (q, kc_pm_kernel (q, "look"), grid, 1024, shared, 4, look);
    kc_st_run_t a, b;
    kc_dev_finding_t finding;
    kc_err_t err = {0};
    if (!kc_st_prepare (st, &a, p) || !kc_st_prepare (st, &b, q))
        return false;
    bool good =
        st->dev->ops->run (st->dev, &a.who, false, &kc_st_limits, &finding) == 0;
    if (good && scrub)
        good = kc_cuda_scrub (st->cuda, 256, &err) == 0;
    good = good
           && st->dev->ops->run (st->dev, &b.who, false, &kc_st_limits, &finding) == 0
           && st->dev->ops->read (st->dev, b.who.arena, z, found, &err) == 0;
    if (!good)
        kc_st_check (st, false, "leftovers", "%s %s", finding.text, err.text);
    kc_st_release (st, &a);
    kc_st_release (st, &b);
    return good;
}

void kc_st_leftovers (kc_st_t *st)
{
    unsigned long long before[2] = {0}, after[2] = {0};
    if (!s_trial (st, false, before) || !s_trial (st, true, after))
        return;
    printf ("note without a scrub %llu words of shared memory and %llu of stack "
            "survive a launch\n",
            before[0], before[1]);
    kc_st_check (st, after[0] == 0 && after[1] == 0, "scrub",
                 "after it %llu of %llu shared and %llu of %llu stack words are left",
                 after[0], before[0], after[1], before[1]);
    int registers = 0;
    st->cuda->cu->FuncGetAttribute (&registers, KC_CU_FUNC_ATTRIBUTE_NUM_REGS,
                                    st->cuda->trusted[KC_TRUSTED_SCRUB]);
    kc_st_check (st, registers > 240, "scrub-registers",
                 "the driver gave the scrub kernel %d registers", registers);
    // Cost of one scrub and of one flush, by the host's clock over many.
    enum { TIMES = 50 };
    kc_err_t err = {0};
    bool late = false, good = kc_cuda_wait (st->cuda, 5, &late) == 0;
    int64_t start = kc_clock_ns ();
    for (int i = 0; i < TIMES && good; i++)
        good = kc_cuda_scrub (st->cuda, 0, &err) == 0;
    good = good && kc_cuda_wait (st->cuda, 5, &late) == 0;
    const double scrub = (double)(kc_clock_ns () - start) / 1e3 / TIMES;
    start = kc_clock_ns ();
    for (int i = 0; i < TIMES && good; i++)
        good = kc_cuda_flush (st->cuda, &err) == 0;
    good = good && kc_cuda_wait (st->cuda, 5, &late) == 0;
    const double flush = (double)(kc_clock_ns () - start) / 1e3 / TIMES;
    kc_st_check (st, good && !late, "scrub-cost",
                 "scrub %.1f us, flush of %zu MiB %.1f us %s", scrub,
                 st->cuda->flush_bytes >> 20, flush, err.text);
}
