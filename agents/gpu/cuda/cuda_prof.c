/* cuda_prof.c - the profile of one contestant: time by activity records, counters by
 * the range profiler
 *
 * The launches of one step of the source (a loop has many) are joined as the metric
 * table says and reported under the first of them.  Beside CUPTI's counters every step
 * gets facts of ours, named kc.*: kc.launches, kc.time_us, kc.registers,
 * kc.shared_bytes, kc.stack_bytes, kc.grid_blocks, kc.block_threads,
 * kc.resident_blocks, kc.kernel_replay (1: the fallback counted each kernel alone)
 * Where counters are missing the times and facts are still given, with the reason.
 */
#include "agents/gpu/cuda/cuda_dev.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agents/gpu/cuda/culib.h"
#include "agents/gpu/cuda/cupti_metrics.h"
#include "agents/gpu/cuda/cupti_prof.h"
#include "common/util/kc_fs.h"
#include "common/util/kc_mem.h"

enum { MAX_PROC_FILE = 1 << 16, CAP_SYS_ADMIN_BIT = 21 };

#ifndef KC_HAVE_CUPTI
// This build was made without NVIDIA's headers.
kc_cupti_prof_t *kc_cupti_prof_open (kc_cuda_dev_t *dev, kc_err_t *err)
{
    (void)dev;
    kc_fail (
        err, KC_EUNSUPPORTED,
        "this build has no CUPTI part: its headers were not found; build it where a "
        "CUDA toolkit is");
    return NULL;
}
void kc_cupti_prof_close (kc_cupti_prof_t **self_p)
{
    *self_p = NULL;
}
int kc_cupti_activity (kc_cupti_prof_t *self, kc_cuda_bound_t *bound, bool graph,
                       const kc_dev_limits_t *limits, kc_activity_t *out,
                       kc_dev_finding_t *finding, kc_err_t *err)
{
    (void)self, (void)bound, (void)graph, (void)limits, (void)out, (void)finding;
    return kc_fail (err, KC_EUNSUPPORTED, "no CUPTI in this build");
}
int kc_cupti_ranges (kc_cupti_prof_t *self, kc_cuda_bound_t *bound,
                     const char *const *metrics, size_t n, kc_restore_f restore,
                     void *restore_arg, const kc_dev_limits_t *limits, kc_ranges_t *out,
                     kc_dev_finding_t *finding, kc_err_t *err)
{
    (void)self, (void)bound, (void)metrics, (void)n, (void)restore, (void)restore_arg,
        (void)limits;
    (void)out, (void)finding;
    return kc_fail (err, KC_EUNSUPPORTED, "no CUPTI in this build");
}
#endif

void kc_ranges_free (kc_ranges_t *ranges)
{
    free (ranges->steps);
    free (ranges->names);
    free (ranges->refused);
    free (ranges->values);
    memset (ranges, 0, sizeof *ranges);
}

// ---- may counters be read here ----

// The number behind 'key' in a small file; -1 when absent.
static long s_proc_number (const char *path, const char *key, int base)
{
    char *text = kc_fs_read (path, MAX_PROC_FILE, NULL, NULL);
    char *at = text ? strstr (text, key) : NULL;
    long value = -1;
    if (at) {
        at += strlen (key);
        while (*at && (isspace ((unsigned char)*at) || *at == ':'))
            at++;
        value = strtol (at, NULL, base);
    }
    free (text);
    return value;
}

bool kc_cuda_counters_expected (const char *cuda_path, char *reason, size_t size)
{
    kc_err_t err = {0};
    reason[0] = 0;
#ifdef KC_HAVE_CUPTI
    char *path = kc_culib_find (&kc_culib_cupti, cuda_path, &err);
    if (!path) {
        snprintf (reason, size, "%s", err.text);
        return false;
    }
    free (path);
    // Without this file (a sandbox, for one) only trying tells.
    const long admin_only =
        s_proc_number ("/proc/driver/nvidia/params", "RmProfilingAdminOnly", 10);
    const long caps = s_proc_number ("/proc/self/status", "CapEff", 16);
    const bool admin = geteuid () == 0 || (caps > 0 && (caps >> CAP_SYS_ADMIN_BIT & 1));
    if (admin_only == 1 && !admin) {
        snprintf (reason, size,
                  "not permitted: the driver keeps counters for administrators; set "
                  "NVreg_RestrictProfilingToAdminUsers=0 or run as root");
        return false;
    }
    return true;
#else
    (void)cuda_path, (void)err, (void)s_proc_number;
    snprintf (reason, size,
              "this build has no CUPTI part; build it where a CUDA toolkit is");
    return false;
#endif
}

// ---- restoring between passes ----

typedef struct saved { // of buffers that the plan reads and writes
    kc_cuda_dev_t *dev;
    const kc_plan_t *plan;
    kc_dev_arena_t *arena;
    kc_cu_ptr_t copy; // one allocation, buffers one after the other
    size_t bytes;
} saved_t;

static bool s_must_save (const kc_plan_buffer_t *b)
{
    return b->role == KC_ROLE_INOUT;
}

static int s_copy_all (saved_t *s, bool save, kc_err_t *err)
{
    kc_cu_ptr_t at = s->copy;
    for (size_t i = 0; i < s->plan->n_buffers; i++) {
        const kc_cuda_place_t *p = &s->arena->places[i];
        if (!s_must_save (&s->plan->buffers[i]) || p->bytes == 0)
            continue;
        if (kc_cuda_ok (s->dev,
                        s->dev->cu->MemcpyDtoDAsync (save ? at : p->address,
                                                     save ? p->address : at, p->bytes,
                                                     s->dev->stream),
                        err, "%s %s", save ? "saving" : "restoring",
                        s->plan->buffers[i].name)
            < 0)
            return -1;
        at += p->bytes;
    }
    return 0;
}

static int s_save (saved_t *s, kc_err_t *err)
{
    for (size_t i = 0; i < s->plan->n_buffers; i++)
        if (s_must_save (&s->plan->buffers[i]))
            s->bytes += s->arena->places[i].bytes;
    if (s->bytes == 0)
        return 0;
    if (kc_cuda_ok (s->dev, s->dev->cu->MemAlloc (&s->copy, s->bytes), err,
                    "allocating %zu bytes to restore between passes", s->bytes)
        < 0)
        return -1;
    return s_copy_all (s, true, err);
}

static int s_restore (void *arg, kc_err_t *err)
{
    saved_t *s = arg;
    return s->bytes ? s_copy_all (s, false, err) : 0;
}

// ---- joining launches into steps ----

static void s_put (kc_dev_step_counters_t *step, const char *name, double value)
{
    kc_dev_counter_t *c = kc_push (&step->counters, &step->n, sizeof *step->counters);
    snprintf (c->name, sizeof c->name, "%s", name);
    c->value = value;
}

// Launches that are one step of the source; the zeroing of buffers (-1) stays apart per
// launch.
static bool s_same_step (const kc_plan_step_t *a, const kc_plan_step_t *b)
{
    return a->source_step == b->source_step && a->source_step >= 0
           && a->kernel == b->kernel;
}

static void s_facts_of (kc_cuda_dev_t *dev, const kc_cuda_bound_t *bound, int index,
                        kc_dev_step_counters_t *out)
{
    const kc_plan_step_t *step = &bound->plan->steps[index];
    if (step->op != KC_PLAN_KERNEL)
        return;
    kc_cu_function_t f = bound->functions[step->kernel];
    const int threads = (int)(step->block[0] * step->block[1] * step->block[2]);
    int value = 0;
    if (kc_cuda_soft (
            dev, dev->cu->FuncGetAttribute (&value, KC_CU_FUNC_ATTRIBUTE_NUM_REGS, f))
        == KC_CUDA_SUCCESS)
        s_put (out, "kc.registers", value);
    if (kc_cuda_soft (dev, dev->cu->FuncGetAttribute (
                               &value, KC_CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, f))
        == KC_CUDA_SUCCESS)
        s_put (out, "kc.shared_bytes", (double)value + (double)step->shared);
    if (kc_cuda_soft (dev, dev->cu->FuncGetAttribute (
                               &value, KC_CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, f))
        == KC_CUDA_SUCCESS)
        s_put (out, "kc.stack_bytes", value);
    if (kc_cuda_soft (dev, dev->cu->OccupancyMaxActiveBlocks (&value, f, threads,
                                                              (size_t)step->shared))
        == KC_CUDA_SUCCESS)
        s_put (out, "kc.resident_blocks", value);
    s_put (out, "kc.grid_blocks",
           (double)step->grid[0] * step->grid[1] * step->grid[2]);
    s_put (out, "kc.block_threads", threads);
}

// The counters of the ranges whose launch belongs to the step that begins at 'first'.
static void s_join (const kc_plan_t *plan, int first, size_t launches,
                    const kc_ranges_t *r, kc_dev_step_counters_t *out)
{
    size_t time_at = SIZE_MAX;
    for (size_t m = 0; m < r->n_names; m++)
        if (strcmp (r->names[m], "gpu__time_duration.sum") == 0)
            time_at = m;
    for (size_t m = 0; m < r->n_names; m++) {
        const kc_cupti_metric_t *metric = kc_cupti_metric (r->names[m]);
        const bool by_time = metric && metric->join == KC_JOIN_TIME;
        double sum = 0, weight = 0;
        size_t counted = 0;
        for (size_t k = 0; k < r->n_ranges; k++) {
            if (r->steps[k] != first
                && !s_same_step (&plan->steps[first], &plan->steps[r->steps[k]]))
                continue;
            const double v = r->values[k * r->n_names + m];
            const double t =
                time_at == SIZE_MAX ? 1 : r->values[k * r->n_names + time_at];
            if (isnan (v) || isnan (t))
                continue;
            counted++;
            sum += by_time ? v * t : v;
            weight += by_time ? t : 0;
        }
        if (counted == 0 || (by_time && !(weight > 0)))
            continue;
        // Launches beyond the counted ones are taken to be like them.
        s_put (out, r->names[m],
               by_time ? sum / weight : sum * (double)launches / (double)counted);
    }
}

static void s_report (kc_cuda_dev_t *dev, const kc_cuda_bound_t *bound,
                      const kc_activity_t *activity, const kc_ranges_t *ranges,
                      kc_dev_profile_t *out)
{
    const kc_plan_t *plan = bound->plan;
    bool *done = kc_calloc (plan->n_steps + 1, sizeof *done);
    for (size_t i = 0; i < plan->n_steps; i++) {
        if (done[i])
            continue;
        size_t launches = 0;
        double us = 0;
        for (size_t k = i; k < plan->n_steps; k++) {
            if (k != i && !s_same_step (&plan->steps[i], &plan->steps[k]))
                continue;
            done[k] = true;
            launches++;
            us += activity->step_us ? activity->step_us[k] : 0;
        }
        kc_dev_step_counters_t *step =
            kc_push (&out->steps, &out->n_steps, sizeof *out->steps);
        step->step = (int)i;
        s_put (step, "kc.launches", (double)launches);
        if (activity->step_us)
            s_put (step, "kc.time_us", us);
        s_facts_of (dev, bound, (int)i, step);
        if (ranges->values) {
            s_put (step, "kc.kernel_replay", ranges->kernel_replay);
            s_join (plan, (int)i, launches, ranges, step);
        }
    }
    free (done);
}

// ---- the operation ----

static void s_missing (kc_dev_profile_t *out, const kc_err_t *err)
{
    out->counters_missing = true;
    if (out->missing_reason[0] == 0)
        snprintf (out->missing_reason, sizeof out->missing_reason, "%s%.140s",
                  err->code == KC_EREFUSED ? "not permitted: " : "", err->text);
}

// Time without CUPTI: events around whole runs.
static int s_event_time (kc_cuda_dev_t *dev, const kc_cuda_bound_t *bound, bool graph,
                         const kc_dev_limits_t *limits, double *us_p,
                         kc_dev_finding_t *finding)
{
    enum { RUNS = 5 };
    double best = INFINITY;
    for (int i = 0; i < RUNS; i++) {
        float ms = 0;
        if (kc_cuda_run_ok (dev, dev->cu->EventRecord (dev->begin, dev->stream), NULL,
                            -1, finding, "recording an event")
                < 0
            || kc_cuda_launch (dev, bound, graph, finding) < 0
            || kc_cuda_run_ok (dev, dev->cu->EventRecord (dev->end, dev->stream), NULL,
                               -1, finding, "recording an event")
                   < 0
            || kc_cuda_settle (dev, bound, -1, limits, finding) < 0
            || kc_cuda_run_ok (dev,
                               dev->cu->EventElapsedTime (&ms, dev->begin, dev->end),
                               NULL, -1, finding, "reading the events")
                   < 0)
            return -1;
        best = (double)ms * 1e3 < best ? (double)ms * 1e3 : best;
    }
    *us_p = best;
    return 0;
}

static int s_profile (kc_cuda_dev_t *dev, kc_cuda_bound_t *bound,
                      const kc_dev_limits_t *limits, kc_dev_profile_t *out,
                      kc_dev_finding_t *finding)
{
    const bool graph = bound->plan->graph && bound->plan->n_steps > 0;
    kc_err_t err = {0};
    kc_activity_t activity = {0}, in_graph = {0};
    kc_ranges_t ranges = {0};
    saved_t saved = {.dev = dev, .plan = bound->plan, .arena = bound->arena};
    const char **names = kc_calloc (kc_cupti_n_metrics + 1, sizeof *names);
    for (size_t i = 0; i < kc_cupti_n_metrics; i++)
        names[i] = kc_cupti_metrics[i].name;
    int rc = graph ? kc_cuda_graph (dev, bound, finding) : 0;
    if (rc == 0)
        rc = s_event_time (dev, bound, graph, limits, &out->total_us, finding);
    kc_cupti_prof_t *prof = rc == 0 ? kc_cupti_prof_open (dev, &err) : NULL;
    if (rc == 0 && !prof)
        s_missing (out, &err);
    if (prof) {
        // Times of the steps come from separate launches; span and gaps from the way
        // the plan is run.
        if (kc_cupti_activity (prof, bound, false, limits, &activity, finding, &err)
            < 0)
            s_missing (out, &err);
        else {
            out->total_us = activity.total_us;
            out->kernel_us = activity.busy_us;
            if (graph
                && kc_cupti_activity (prof, bound, true, limits, &in_graph, finding,
                                      &err)
                       == 0) {
                out->total_us = in_graph.total_us;
                out->kernel_us = in_graph.busy_us;
            }
        }
        if (finding->status == KC_VERDICT_STATUS_OK) {
            if (s_save (&saved, &err) < 0
                || kc_cupti_ranges (prof, bound, names, kc_cupti_n_metrics, s_restore,
                                    &saved, limits, &ranges, finding, &err)
                       < 0) {
                s_missing (out, &err);
                free (ranges.values);
                ranges.values = NULL;
            }
            out->passes = ranges.passes;
        }
        rc = finding->status == KC_VERDICT_STATUS_OK ? 0 : -1;
    }
    if (rc == 0)
        s_report (dev, bound, &activity, &ranges, out);
    if (saved.copy && !dev->dead)
        kc_cuda_soft (dev, dev->cu->MemFree (saved.copy));
    kc_cupti_prof_close (&prof);
    kc_ranges_free (&ranges);
    free (activity.step_us);
    free (in_graph.step_us);
    free (names);
    return rc;
}

int kc_cuda_profile (kc_dev_t *base, const kc_dev_contestant_t *who,
                     const kc_dev_limits_t *limits, kc_dev_profile_t *out,
                     kc_dev_finding_t *finding)
{
    kc_cuda_dev_t *dev = (kc_cuda_dev_t *)base;
    kc_cuda_bound_t bound;
    memset (out, 0, sizeof *out);
    memset (finding, 0, sizeof *finding);
    finding->status = KC_VERDICT_STATUS_OK;
    finding->step = -1;
    if (kc_cuda_bind (dev, who, &bound, finding) < 0)
        return -1;
    int rc = s_profile (dev, &bound, limits, out, finding);
    kc_cuda_unbind (dev, &bound);
    return rc;
}
