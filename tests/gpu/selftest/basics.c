// basics.c - content, hashes, copies, facts of kernels, guards

#include "tests/gpu/selftest/selftest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agents/gpu/judge/kc_philox.h"
#include "common/util/kc_mem.h"

// Every fill of every type: the device's bytes against the host's.
static void s_content (kc_st_t *st)
{
    enum { N = 100003 };
    static const kc_card_fill_t fills[] = {
        {.kind = KC_CARD_FILL_KIND_UNIFORM,
         .has_a = true,
         .a = -3,
         .has_b = true,
         .b = 5},
        {.kind = KC_CARD_FILL_KIND_NORMAL,
         .has_a = true,
         .a = 0.5,
         .has_b = true,
         .b = 20},
        {.kind = KC_CARD_FILL_KIND_INTEGER,
         .has_a = true,
         .a = -100,
         .has_b = true,
         .b = 100},
        {.kind = KC_CARD_FILL_KIND_BOOL, .has_a = true, .a = 0.3},
        {.kind = KC_CARD_FILL_KIND_PERMUTATION},
        {.kind = KC_CARD_FILL_KIND_CONSTANT, .has_a = true, .a = 1.37},
    };
    static const kc_u32 kinds[] = {KC_FILL_UNIFORM,     KC_FILL_NORMAL,
                                   KC_FILL_INTEGER,     KC_FILL_BOOL,
                                   KC_FILL_PERMUTATION, KC_FILL_CONSTANT};
    int compared = 0, wrong = 0;
    char first[96] = "none";
    for (kc_u32 type = KC_FILL_F64; type <= KC_FILL_BOOLEAN; type++) {
        kc_plan_t *plan = kc_pm_new ();
        // The two lists of element types have the same order.
        kc_pm_buffer (plan, "x", KC_ROLE_INPUT, (kc_program_dtype_t)type, N);
        kc_st_run_t run;
        if (!kc_st_prepare (st, &run, plan))
            return;
        const size_t bytes = (size_t)plan->buffers[0].bytes;
        char *got = kc_calloc (1, bytes), *want = kc_calloc (1, bytes);
        for (size_t k = 0; k < KC_COUNT (fills); k++) {
            kc_err_t err = {0};
            kc_fill_t f = {
                .kind = kinds[k], .type = type, .key = 77 + k, .elements = N};
            f.a = fills[k].has_a ? fills[k].a : 0;
            f.b = fills[k].has_b ? fills[k].b : 1;
            kc_fill_host (&f, want);
            uint64_t hash = 0;
            bool same =
                st->dev->ops->generate (st->dev, run.who.arena, 0, &fills[k], 77 + k,
                                        &err)
                    == 0
                && st->dev->ops->read (st->dev, run.who.arena, 0, got, &err) == 0
                && memcmp (got, want, bytes) == 0
                && st->dev->ops->hash (st->dev, run.who.arena, 0, &hash, &err) == 0
                && hash == kc_content_hash (want, bytes);
            compared++;
            if (!same && wrong++ == 0) {
                size_t at = 0;
                while (at < bytes && got[at] == want[at])
                    at++;
                snprintf (first, sizeof first, "type %u kind %u byte %zu of %zu, %.40s",
                          type, kinds[k], at, bytes, err.text);
            }
        }
        free (got);
        free (want);
        kc_st_release (st, &run);
    }
    kc_st_check (st, wrong == 0, "content",
                 "%d combinations of type and fill, bytes and hash equal to the "
                 "host's; wrong: %d, first: %s",
                 compared, wrong, first);
}

static void s_copies (kc_st_t *st)
{
    enum { N = 1000001 };
    kc_plan_t *plan = kc_pm_new ();
    int x = kc_pm_buffer (plan, "x", KC_ROLE_INOUT, KC_PROGRAM_DTYPE_U8, N);
    kc_st_run_t run;
    if (!kc_st_prepare (st, &run, plan))
        return;
    unsigned char *a = kc_malloc (N), *b = kc_calloc (1, N);
    kc_err_t err = {0};
    kc_dev_finding_t finding;
    for (size_t i = 0; i < N; i++)
        a[i] = (unsigned char)(i * 7 + i / 251);
    bool same = st->dev->ops->write (st->dev, run.who.arena, x, a, &err) == 0
                && st->dev->ops->read (st->dev, run.who.arena, x, b, &err) == 0
                && memcmp (a, b, N) == 0;
    kc_st_check (st, same, "write-read", "%d bytes %s", N, err.text);
    same = st->dev->ops->poison (st->dev, run.who.arena, x, 0x7b, &err) == 0
           && st->dev->ops->read (st->dev, run.who.arena, x, b, &err) == 0
           && b[0] == 0x7b && b[N - 1] == 0x7b;
    kc_st_check (st, same, "poison", "first and last byte %02x %02x %s", b[0], b[N - 1],
                 err.text);
    kc_st_check (st, st->dev->ops->guards (st->dev, run.who.arena, &finding) == 0,
                 "guards-whole", "an odd size between two whole guards");
    free (a);
    free (b);
    kc_st_release (st, &run);
}

static void s_facts (kc_st_t *st)
{
    kc_kernel_facts_t f;
    memset (&f, 0, sizeof f);
    bool got = st->dev->ops->kernel_facts (st->dev, st->code, "scale", &f) == 0;
    kc_st_check (
        st,
        got && f.registers > 0 && f.max_threads == 1024
            && (!st->cuda->cu->FuncGetParamInfo
                || (f.n_params == 4 && f.params[2].size == 4
                    && f.params[3].offset == 20)),
        "kernel-facts",
        "scale: %d registers, %lld shared, %lld local, %d threads, %zu parameters",
        f.registers, (long long)f.shared_static, (long long)f.local_bytes,
        f.max_threads, f.n_params);
    got = st->dev->ops->kernel_facts (st->dev, st->code, "mark", &f) == 0;
    kc_st_check (st, got && f.local_bytes >= 256, "kernel-facts-local",
                 "mark: %lld bytes of stack", (long long)f.local_bytes);
    kc_st_check (st, st->dev->ops->kernel_facts (st->dev, st->code, "absent", &f) < 0,
                 "kernel-facts-absent", "an unknown symbol is refused");
}

static void s_bad_images (kc_st_t *st)
{
    kc_dev_finding_t finding;
    static const char ptx[] = ".version 7.8\n.target sm_80\n.address_size 64\n";
    kc_dev_binary_t binary = {.data = ptx, .size = sizeof ptx - 1, .is_ptx = true};
    kc_dev_code_t *code = st->dev->ops->load (st->dev, &binary, &finding);
    kc_st_check (st, !code && finding.status == KC_VERDICT_STATUS_UNSUPPORTED,
                 "load-ptx", "%s", finding.text);
    binary.is_ptx = false;
    code = st->dev->ops->load (st->dev, &binary, &finding);
    kc_st_check (st, !code && finding.status == KC_VERDICT_STATUS_INFRA_ERROR,
                 "load-rubbish", "%s", finding.text);
}

static void s_out_of_bounds (kc_st_t *st, const char *name, long long at, bool before)
{
    enum { N = 1000 };
    kc_plan_t *plan = kc_pm_new ();
    int y = kc_pm_buffer (plan, "y", KC_ROLE_OUTPUT, KC_PROGRAM_DTYPE_F32, N);
    kc_pm_arg_t args[] = {kc_pm_out (y), kc_pm_i64 (at)};
    kc_pm_launch (plan, kc_pm_kernel (plan, "write_at"), 1, 1, 0, 2, args);
    kc_st_run_t run;
    kc_dev_finding_t finding;
    if (!kc_st_prepare (st, &run, plan))
        return;
    bool ran =
        st->dev->ops->run (st->dev, &run.who, false, &kc_st_limits, &finding) == 0;
    bool found = ran && st->dev->ops->guards (st->dev, run.who.arena, &finding) < 0;
    kc_st_check (st,
                 found && finding.status == KC_VERDICT_STATUS_OUT_OF_BOUNDS
                     && finding.has_index && finding.index == at
                     && strcmp (finding.buffer, "y") == 0
                     && (finding.index < 0) == before,
                 name, "%s", finding.text);
    kc_st_release (st, &run);
}

void kc_st_basics (kc_st_t *st)
{
    s_content (st);
    s_copies (st);
    s_facts (st);
    s_bad_images (st);
    s_out_of_bounds (st, "guard-behind", 1000, false);
    s_out_of_bounds (st, "guard-behind-far", 1800, false);
    s_out_of_bounds (st, "guard-before", -1, true);
}
