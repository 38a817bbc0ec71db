// launches.c - plans: serial, graph, dataflow, attributes, refused launches, the audit

#include "tests/gpu/selftest/selftest.h"

#include <stdlib.h>
#include <string.h>

#include "agents/gpu/judge/kc_philox.h"
#include "common/util/kc_mem.h"

enum { N = 100000 };

// scale, fill, copy of a constant table, add: every kind of step.
static kc_plan_t *s_chain (void)
{
    kc_plan_t *p = kc_pm_new ();
    int x = kc_pm_buffer (p, "x", KC_ROLE_INPUT, KC_PROGRAM_DTYPE_F32, N);
    int t = kc_pm_buffer (p, "t", KC_ROLE_INPUT, KC_PROGRAM_DTYPE_F32, 4);
    int s = kc_pm_buffer (p, "s", KC_ROLE_SCRATCH, KC_PROGRAM_DTYPE_F32, N);
    int y = kc_pm_buffer (p, "y", KC_ROLE_OUTPUT, KC_PROGRAM_DTYPE_F32, N);
    int z = kc_pm_buffer (p, "z", KC_ROLE_OUTPUT, KC_PROGRAM_DTYPE_U16, 1001);
    int scale = kc_pm_kernel (p, "scale"), add = kc_pm_kernel (p, "add_table");
    kc_pm_arg_t first[] = {kc_pm_in (x), kc_pm_out (s), kc_pm_f32 (3), kc_pm_i32 (N)};
    kc_pm_arg_t last[] = {kc_pm_out (y), kc_pm_i32 (N)};
    kc_pm_launch (p, scale, (N + 255) / 256, 256, 0, 4, first);
    kc_pm_fill (p, z, 0x1234, 2);
    kc_plan_step_t *table = kc_pm_copy (p, -1, t, 16);
    table->symbol = kc_strdup ("factor_table");
    kc_pm_copy (p, y, s, N * 4);
    kc_pm_launch (p, add, (N + 255) / 256, 256, 0, 2, last);
    return p;
}

// Run and compare with the host; the hash of y in *hash_p.
static bool s_run_chain (kc_st_t *st, kc_st_run_t *run, uint64_t *hash_p,
                         kc_dev_finding_t *finding)
{
    kc_err_t err = {0};
    if (st->dev->ops->run (st->dev, &run->who, false, &kc_st_limits, finding) < 0)
        return false;
    float *x = kc_malloc (N * 4), *y = kc_malloc (N * 4), t[4];
    uint16_t z[1001];
    bool good = st->dev->ops->read (st->dev, run->who.arena, 0, x, &err) == 0
                && st->dev->ops->read (st->dev, run->who.arena, 1, t, &err) == 0
                && st->dev->ops->read (st->dev, run->who.arena, 3, y, &err) == 0
                && st->dev->ops->read (st->dev, run->who.arena, 4, z, &err) == 0
                && st->dev->ops->hash (st->dev, run->who.arena, 3, hash_p, &err) == 0;
    for (int i = 0; i < N && good; i++) {
        volatile float scaled = x[i] * 3.0f;
        good = y[i] == scaled + t[i % 4];
    }
    good = good && z[0] == 0x1234 && z[1000] == 0x1234;
    free (x);
    free (y);
    return good;
}

static void s_modes (kc_st_t *st)
{
    static const struct {
        const char *name;
        bool graph, dataflow;
    } modes[] = {{"run-serial", false, false},
                 {"run-graph", true, false},
                 {"run-dataflow", true, true}};
    uint64_t hashes[3] = {0};
    for (size_t m = 0; m < KC_COUNT (modes); m++) {
        kc_plan_t *p = s_chain ();
        kc_st_run_t run;
        kc_dev_finding_t finding;
        p->graph = modes[m].graph;
        p->dataflow = modes[m].dataflow;
        if (p->dataflow) { // step 3 needs 0, step 4 needs 2 and 3; the fill needs
                           // nothing
            static const int deps[5][2] = {
                {-1, -1}, {-1, -1}, {-1, -1}, {0, -1}, {2, 3}};
            for (size_t i = 0; i < p->n_steps; i++)
                for (int k = 0; k < 2; k++)
                    if (deps[i][k] >= 0)
                        *(int *)kc_push (&p->steps[i].after, &p->steps[i].n_after,
                                         sizeof (int)) = deps[i][k];
        }
        if (!kc_st_prepare (st, &run, p))
            return;
        bool good =
            s_run_chain (st, &run, &hashes[m], &finding) && hashes[m] == hashes[0];
        kc_st_check (st, good, modes[m].name, "5 steps, hash %016llx %s",
                     (unsigned long long)hashes[m], finding.text);
        if (m == 0) {
            good = st->dev->ops->run (st->dev, &run.who, true, &kc_st_limits, &finding)
                   == 0;
            kc_st_check (st, good, "run-audit",
                         "every step alone, nothing undeclared %s", finding.text);
        }
        kc_st_release (st, &run);
    }
}

// One launch of one kernel on y (int or float, n elements); expects a status.
static void s_one (kc_st_t *st, const char *name, const char *kernel,
                   kc_program_dtype_t dtype, uint32_t grid, uint32_t block,
                   int64_t shared, kc_pm_arg_t second, uint32_t cluster,
                   bool cooperative, kc_verdict_status_t expected)
{
    kc_plan_t *p = kc_pm_new ();
    int y = kc_pm_buffer (p, "y", KC_ROLE_OUTPUT, dtype, (int64_t)grid + 1);
    kc_pm_arg_t args[2] = {kc_pm_out (y), second};
    const bool meet = strcmp (kernel, "meet") == 0;
    if (meet) {
        int count = kc_pm_buffer (p, "count", KC_ROLE_SCRATCH, KC_PROGRAM_DTYPE_I32, 1);
        kc_pm_fill (p, count, 0, 4);
        args[1] = args[0];
        args[0] = kc_pm_out (count);
    }
    const size_t n_args = meet || second.size ? 2 : 1;
    kc_plan_step_t *s =
        kc_pm_launch (p, kc_pm_kernel (p, kernel), grid, block, shared, n_args, args);
    s->cluster[0] = cluster;
    s->cluster[1] = s->cluster[2] = cluster ? 1 : 0;
    s->cooperative = cooperative;
    kc_st_run_t run;
    kc_dev_finding_t finding;
    kc_err_t err = {0};
    if (!kc_st_prepare (st, &run, p))
        return;
    st->dev->ops->run (st->dev, &run.who, false, &kc_st_limits, &finding);
    int32_t *first = kc_calloc ((size_t)grid + 1, 4);
    if (finding.status == KC_VERDICT_STATUS_OK)
        st->dev->ops->read (st->dev, run.who.arena, y, first, &err);
    bool good = finding.status == expected && !finding.sticky;
    if (good && cluster && expected == KC_VERDICT_STATUS_OK)
        good = first[0] == (int32_t)cluster;
    kc_st_check (st, good, name, "grid %u block %u shared %lld cluster %u: value %d %s",
                 grid, block, (long long)shared, cluster, first[0], finding.text);
    free (first);
    kc_st_release (st, &run);
}

static void s_attributes (kc_st_t *st)
{
    const kc_device_facts_t *f = &st->dev->info.facts;
    const kc_pm_arg_t none = {.buffer = -1};
    const int64_t most = f->shared_block;
    const kc_verdict_status_t ok = KC_VERDICT_STATUS_OK,
                              bad = KC_VERDICT_STATUS_LAUNCH_ERROR;
    static const int64_t sizes[] = {47 * 1024, 48 * 1024, 49 * 1024, 100 * 1024};
    for (size_t i = 0; i < KC_COUNT (sizes); i++)
        if (sizes[i] <= most)
            s_one (st, "shared-dynamic", "big_shared", KC_PROGRAM_DTYPE_F32, 2, 128,
                   sizes[i], kc_pm_i32 ((int32_t)(sizes[i] / 4)), 0, false, ok);
    s_one (st, "shared-most", "big_shared", KC_PROGRAM_DTYPE_F32, 2, 128, most,
           kc_pm_i32 ((int32_t)(most / 4)), 0, false, ok);
    s_one (st, "shared-too-much", "big_shared", KC_PROGRAM_DTYPE_F32, 2, 128,
           most + 1024, kc_pm_i32 (1), 0, false, bad);
    s_one (st, "block-too-large", "nothing", KC_PROGRAM_DTYPE_I32, 1, 1056, 0, none, 0,
           false, bad);
    if (st->cuda->clusters) {
        s_one (st, "cluster-4", "cluster_size", KC_PROGRAM_DTYPE_I32, 8, 64, 0, none, 4,
               false, ok);
        s_one (st, "cluster-8", "cluster_size", KC_PROGRAM_DTYPE_I32, 16, 64, 0, none,
               8, false, ok);
        s_one (st, "cluster-16", "cluster_size", KC_PROGRAM_DTYPE_I32, 16, 64, 0, none,
               16, false, ok);
        s_one (st, "cluster-odd-grid", "cluster_size", KC_PROGRAM_DTYPE_I32, 9, 64, 0,
               none, 4, false, bad);
    }
    s_one (st, "cooperative", "meet", KC_PROGRAM_DTYPE_I32, (uint32_t)f->sms, 128, 0,
           none, 0, true, ok);
    s_one (st, "cooperative-too-large", "meet", KC_PROGRAM_DTYPE_I32,
           (uint32_t)f->sms * 64, 1024, 0, none, 0, true, bad);
}

static void s_wrong_arguments (kc_st_t *st)
{
    kc_plan_t *p = kc_pm_new ();
    int x = kc_pm_buffer (p, "x", KC_ROLE_INPUT, KC_PROGRAM_DTYPE_F32, 16);
    int y = kc_pm_buffer (p, "y", KC_ROLE_OUTPUT, KC_PROGRAM_DTYPE_F32, 16);
    kc_pm_arg_t args[] = {kc_pm_in (x), kc_pm_out (y), kc_pm_f32 (1), kc_pm_i64 (16)};
    kc_pm_launch (p, kc_pm_kernel (p, "scale"), 1, 32, 0, 4, args);
    kc_st_run_t run;
    kc_dev_finding_t finding;
    if (!kc_st_prepare (st, &run, p))
        return;
    st->dev->ops->run (st->dev, &run.who, false, &kc_st_limits, &finding);
    kc_st_check (st,
                 finding.status
                     == (st->cuda->cu->FuncGetParamInfo ? KC_VERDICT_STATUS_INFRA_ERROR
                                                        : KC_VERDICT_STATUS_OK),
                 "arguments-compared", "%s", finding.text);
    kc_st_release (st, &run);
}

static void s_undeclared (kc_st_t *st)
{
    kc_plan_t *p = kc_pm_new ();
    int x = kc_pm_buffer (p, "x", KC_ROLE_INPUT, KC_PROGRAM_DTYPE_F32, 64);
    int y = kc_pm_buffer (p, "y", KC_ROLE_OUTPUT, KC_PROGRAM_DTYPE_F32, 64);
    kc_pm_arg_t args[] = {kc_pm_in (x), kc_pm_out (y)};
    kc_pm_launch (p, kc_pm_kernel (p, "write_const"), 1, 1, 0, 2, args);
    kc_st_run_t run;
    kc_dev_finding_t finding;
    if (!kc_st_prepare (st, &run, p))
        return;
    bool ran =
        st->dev->ops->run (st->dev, &run.who, true, &kc_st_limits, &finding) == 0;
    kc_st_check (st,
                 !ran && finding.status == KC_VERDICT_STATUS_INPUT_MUTATED
                     && finding.step == 0 && strcmp (finding.buffer, "x") == 0
                     && !finding.sticky,
                 "audit-catches-const-cast", "%s", finding.text);
    kc_st_release (st, &run);
}

void kc_st_launches (kc_st_t *st)
{
    s_modes (st);
    s_attributes (st);
    s_wrong_arguments (st);
    s_undeclared (st);
}
