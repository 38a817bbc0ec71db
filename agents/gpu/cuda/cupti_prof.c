/* cupti_prof.c - see cupti_prof.h
 *
 * Range profiler: a range is one launch of the plan; we replay the whole plan once per
 * pass (user replay, user ranges) and restore what it changed ourselves.  Graph
 * launches, kernels that wait for each other and large buffers all work that way. Where
 * user ranges fail, kernel replay with automatic ranges is tried.
 *
 * The one static of this backend: CUPTI's buffer callbacks take no argument, so the
 * list they append to has to be reachable from them.  One profile per process and one
 * thread make that safe.
 */
#include "agents/gpu/cuda/cupti_prof.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agents/gpu/cuda/cupti_api.h"
#include "common/util/kc_log.h"
#include "common/util/kc_mem.h"

enum {
    BUFFER_BYTES = 4 << 20, // of activity records
    BUFFER_ALIGN = 8,
    RUNS = 5, // timed by activity; the median counts
    WARM_RUNS = 2,
    RANGE_NAME = 24,
};

typedef struct record {
    uint64_t start, end;
    uint32_t correlation;
    bool in_graph;
} record_t;

typedef struct record_list {
    record_t *items;
    size_t n;
    int invalid;
    const kc_cupti_api_t *api;
} record_list_t;

static record_list_t s_records; // see the file header

struct kc_cupti_prof {
    kc_cuda_dev_t *dev;
    kc_cupti_api_t *api;
    unsigned char *availability;
    const char *chip;
};

// ---- activity ----

static void CUPTIAPI s_buffer_wanted (uint8_t **buffer, size_t *size,
                                      size_t *max_records)
{
    *buffer = aligned_alloc (BUFFER_ALIGN, BUFFER_BYTES);
    *size = *buffer ? BUFFER_BYTES : 0;
    *max_records = 0;
}

static void s_keep (uint64_t start, uint64_t end, uint32_t correlation, bool in_graph)
{
    // 0/0 and end before start mean that CUPTI could not collect the times.
    if (start == 0 || end < start) {
        s_records.invalid++;
        return;
    }
    *(record_t *)kc_push (&s_records.items, &s_records.n, sizeof (record_t)) =
        (record_t){start, end, correlation, in_graph};
}

static void s_read_record (const CUpti_Activity *r)
{
    // The oldest version of each record is a prefix of what the library writes.
    if (r->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
        || r->kind == CUPTI_ACTIVITY_KIND_KERNEL) {
        const CUpti_ActivityKernel9 *k = (const void *)r;
        s_keep (k->start, k->end, k->correlationId, k->graphNodeId != 0);
    }
    else if (r->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
        const CUpti_ActivityMemset4 *m = (const void *)r;
        s_keep (m->start, m->end, m->correlationId, m->graphNodeId != 0);
    }
    else if (r->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
        const CUpti_ActivityMemcpy5 *m = (const void *)r;
        s_keep (m->start, m->end, m->correlationId, m->graphNodeId != 0);
    }
}

static void CUPTIAPI s_buffer_full (CUcontext context, uint32_t stream, uint8_t *buffer,
                                    size_t size, size_t valid)
{
    (void)context;
    (void)stream;
    (void)size;
    CUpti_Activity *record = NULL;
    while (valid > 0
           && s_records.api->ActivityGetNextRecord (buffer, valid, &record)
                  == CUPTI_SUCCESS)
        s_read_record (record);
    free (buffer);
}

static int s_enable (kc_cupti_prof_t *self, bool on, kc_err_t *err)
{
    static const CUpti_ActivityKind kinds[] = {
        CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
        CUPTI_ACTIVITY_KIND_MEMSET,
        CUPTI_ACTIVITY_KIND_MEMCPY,
    };
    for (size_t i = 0; i < KC_COUNT (kinds); i++) {
        CUptiResult r = on ? self->api->ActivityEnable (kinds[i])
                           : self->api->ActivityDisable (kinds[i]);
        if (kc_cupti_ok (self->api, r, err,
                         on ? "enabling activity records" : "disabling them")
            < 0)
            return -1;
    }
    return 0;
}

static int s_by_correlation (const void *a, const void *b)
{
    const record_t *x = a, *y = b;
    if (x->correlation != y->correlation)
        return x->correlation < y->correlation ? -1 : 1;
    return x->start < y->start ? -1 : x->start > y->start;
}

static void s_forget (void)
{
    free (s_records.items);
    s_records.items = NULL;
    s_records.n = 0;
}

// Records of one run; the caller finds them in s_records, in the order of the calls.
static int s_traced_run (kc_cupti_prof_t *self, kc_cuda_bound_t *bound, bool graph,
                         const kc_dev_limits_t *limits, kc_dev_finding_t *finding,
                         kc_err_t *err)
{
    s_forget ();
    if (kc_cuda_flush (self->dev, err) < 0)
        return -1;
    if (kc_cuda_launch (self->dev, bound, graph, finding) < 0
        || kc_cuda_settle (self->dev, bound, -1, limits, finding) < 0)
        return -1;
    if (kc_cupti_ok (self->api, self->api->ActivityFlushAll (0), err,
                     "fetching activity records")
        < 0)
        return -1;
    if (s_records.n > 0)
        qsort (s_records.items, s_records.n, sizeof *s_records.items, s_by_correlation);
    return 0;
}

static int s_by_value (const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double s_median (double *v, size_t n)
{
    qsort (v, n, sizeof *v, s_by_value);
    return v[n / 2];
}

/* The last n records by order of call are the plan's steps (before them: the flush).
 * With a graph they are the records inside one, and only a chain tells which step each
 * is, by its start. */
static int s_take_run (const kc_plan_t *plan, bool graph, double *step_us,
                       double *total, double *busy, kc_err_t *err)
{
    const record_t *r = s_records.items;
    size_t n = s_records.n, first = 0;
    if (graph) {
        while (first < n && !r[first].in_graph)
            first++;
    }
    else if (n >= plan->n_steps)
        first = n - plan->n_steps;
    if (n - first != plan->n_steps)
        return kc_fail (err, KC_EFAILED, "%zu activity records came for %zu steps",
                        n - first, plan->n_steps);
    uint64_t start = UINT64_MAX, end = 0;
    *busy = 0;
    for (size_t i = 0; i < plan->n_steps; i++) {
        const record_t *one = &r[first + i];
        step_us[i] = (double)(one->end - one->start) / 1e3;
        *busy += step_us[i];
        start = one->start < start ? one->start : start;
        end = one->end > end ? one->end : end;
    }
    *total = plan->n_steps ? (double)(end - start) / 1e3 : 0;
    return 0;
}

int kc_cupti_activity (kc_cupti_prof_t *self, kc_cuda_bound_t *bound, bool graph,
                       const kc_dev_limits_t *limits, kc_activity_t *out,
                       kc_dev_finding_t *finding, kc_err_t *err)
{
    const size_t n = bound->plan->n_steps;
    double *runs = kc_calloc (RUNS * n + 1, sizeof *runs),
           *mine = kc_calloc (RUNS, sizeof *mine);
    double total[RUNS] = {0}, busy[RUNS] = {0};
    memset (out, 0, sizeof *out);
    s_records.api = self->api;
    s_records.invalid = 0;
    int rc = kc_cupti_ok (
        self->api,
        self->api->ActivityRegisterCallbacks (s_buffer_wanted, s_buffer_full), err,
        "registering for activity records");
    if (rc == 0)
        rc = s_enable (self, true, err);
    for (int i = 0; i < WARM_RUNS + RUNS && rc == 0; i++) {
        rc = s_traced_run (self, bound, graph, limits, finding, err);
        const int k = i - WARM_RUNS;
        if (rc == 0 && k >= 0)
            rc = s_take_run (bound->plan, graph, runs + (size_t)k * n, &total[k],
                             &busy[k], err);
    }
    if (!self->dev->dead) {
        kc_err_t ignored;
        s_enable (self, false, &ignored);
    }
    if (rc == 0) {
        out->step_us = kc_calloc (n + 1, sizeof *out->step_us);
        for (size_t i = 0; i < n; i++) {
            for (size_t k = 0; k < RUNS; k++)
                mine[k] = runs[k * n + i];
            out->step_us[i] = s_median (mine, RUNS);
        }
        out->total_us = s_median (total, RUNS);
        out->busy_us = s_median (busy, RUNS);
        out->invalid = s_records.invalid;
    }
    s_forget ();
    free (runs);
    free (mine);
    return rc;
}

// ---- ranges ----

typedef struct session {
    kc_cupti_prof_t *self;
    kc_cuda_bound_t *bound;
    const kc_dev_limits_t *limits;
    kc_restore_f restore;
    void *restore_arg;
    kc_cupti_host_t host;
    CUpti_RangeProfiler_Object *object;
    unsigned char *config, *image;
    size_t config_size, image_size, n_passes; // passes by the host library's schedule
    bool kernel_replay;
    kc_ranges_t *out;
    kc_dev_finding_t *finding;
    kc_err_t *err;
} session_t;

static int s_call (const session_t *s, CUptiResult r, const char *what)
{
    return kc_cupti_ok (s->self->api, r, s->err, what);
}

static int s_availability (kc_cupti_prof_t *self, kc_err_t *err)
{
    const kc_cupti_api_t *api = self->api;
    CUpti_Profiler_GetCounterAvailability_Params p = {
        .structSize = CUpti_Profiler_GetCounterAvailability_Params_STRUCT_SIZE,
        .ctx = self->dev->context,
    };
    if (kc_cupti_ok (api, api->ProfilerGetCounterAvailability (&p), err,
                     "asking which counters exist")
        < 0)
        return -1;
    self->availability = kc_calloc (1, p.counterAvailabilityImageSize + 1);
    p.pCounterAvailabilityImage = self->availability;
    return kc_cupti_ok (api, api->ProfilerGetCounterAvailability (&p), err,
                        "asking which counters exist");
}

// The metrics this chip has, and their configuration.
static int s_select (session_t *s, const char *const *metrics, size_t n)
{
    bool *accepted = kc_calloc (n + 1, sizeof *accepted);
    int rc = kc_cupti_host_open (&s->host, s->self->api, s->self->chip,
                                 s->self->availability, s->err);
    if (rc == 0)
        rc = kc_cupti_host_select (&s->host, metrics, n, accepted, s->err);
    for (size_t i = 0; i < n && rc == 0; i++)
        if (!accepted[i])
            *(const char **)kc_push (&s->out->refused, &s->out->n_refused,
                                     sizeof (char *)) = metrics[i];
    free (accepted);
    if (rc == 0 && s->host.n_names == 0)
        rc = kc_fail (s->err, KC_EUNSUPPORTED, "chip %s has none of the counters",
                      s->self->chip);
    if (rc < 0)
        return -1;
    s->config = kc_cupti_host_config (&s->host, &s->config_size, &s->n_passes, s->err);
    if (!s->config)
        return -1;
    s->out->n_names = s->host.n_names;
    s->out->names = kc_calloc (s->host.n_names, sizeof *s->out->names);
    memcpy (s->out->names, s->host.names, s->host.n_names * sizeof *s->out->names);
    return 0;
}

static int s_make_image (session_t *s)
{
    const kc_cupti_api_t *api = s->self->api;
    CUpti_RangeProfiler_GetCounterDataSize_Params size = {
        .structSize = CUpti_RangeProfiler_GetCounterDataSize_Params_STRUCT_SIZE,
        .pRangeProfilerObject = s->object,
        .pMetricNames = s->host.names,
        .numMetrics = s->host.n_names,
        .maxNumOfRanges = s->out->n_ranges,
        .maxNumRangeTreeNodes = (uint32_t)s->out->n_ranges,
    };
    if (s_call (s, api->RangeProfilerGetCounterDataSize (&size),
                "size of the counter data")
        < 0)
        return -1;
    free (s->image);
    s->image_size = size.counterDataSize;
    s->image = kc_calloc (1, s->image_size + 1);
    CUpti_RangeProfiler_CounterDataImage_Initialize_Params init = {
        .structSize =
            CUpti_RangeProfiler_CounterDataImage_Initialize_Params_STRUCT_SIZE,
        .pRangeProfilerObject = s->object,
        .counterDataSize = s->image_size,
        .pCounterData = s->image,
    };
    return s_call (s, api->RangeProfilerCounterDataImageInitialize (&init),
                   "making the counter data");
}

static int s_push (session_t *s, int step)
{
    char name[RANGE_NAME];
    snprintf (name, sizeof name, "%d", step);
    CUpti_RangeProfiler_PushRange_Params p = {
        .structSize = CUpti_RangeProfiler_PushRange_Params_STRUCT_SIZE,
        .pRangeProfilerObject = s->object,
        .pRangeName = name,
    };
    return s_call (s, s->self->api->RangeProfilerPushRange (&p), "opening a range");
}

static int s_pop (session_t *s)
{
    CUpti_RangeProfiler_PopRange_Params p = {
        .structSize = CUpti_RangeProfiler_PopRange_Params_STRUCT_SIZE,
        .pRangeProfilerObject = s->object,
    };
    return s_call (s, s->self->api->RangeProfilerPopRange (&p), "closing a range");
}

// One run of the plan with its ranges.
static int s_pass (session_t *s)
{
    kc_cuda_dev_t *dev = s->self->dev;
    size_t next = 0;
    for (size_t i = 0; i < s->bound->plan->n_steps; i++) {
        const bool ranged = next < s->out->n_ranges && s->out->steps[next] == (int)i;
        if (ranged && !s->kernel_replay && s_push (s, (int)i) < 0)
            return -1;
        if (kc_cuda_launch_step (dev, s->bound, (int)i, s->finding) < 0)
            return -1;
        if (ranged && !s->kernel_replay && s_pop (s) < 0)
            return -1;
        next += ranged;
        // Automatic ranges take every kernel: stop where the image is full.
        if (s->kernel_replay && next == s->out->n_ranges)
            break;
    }
    return kc_cuda_settle (dev, s->bound, -1, s->limits, s->finding);
}

static int s_configure (session_t *s)
{
    CUpti_RangeProfiler_SetConfig_Params p = {
        .structSize = CUpti_RangeProfiler_SetConfig_Params_STRUCT_SIZE,
        .pRangeProfilerObject = s->object,
        .configSize = s->config_size,
        .pConfig = s->config,
        .counterDataImageSize = s->image_size,
        .pCounterDataImage = s->image,
        .range = s->kernel_replay ? CUPTI_AutoRange : CUPTI_UserRange,
        .replayMode = s->kernel_replay ? CUPTI_KernelReplay : CUPTI_UserReplay,
        .maxRangesPerPass = s->out->n_ranges,
        .numNestingLevels = 1,
        .minNestingLevel = 1,
        .passIndex = 0,
        .targetNestingLevel = 1,
    };
    return s_call (s, s->self->api->RangeProfilerSetConfig (&p),
                   "configuring the range profiler");
}

// All passes; the plan runs once in each.
static int s_passes (session_t *s)
{
    const kc_cupti_api_t *api = s->self->api;
    // Configured once: the profiler itself keeps count of the passes of a replay in
    // this process.
    if (s_configure (s) < 0)
        return -1;
    for (int i = 0; i < KC_PROF_MAX_PASSES; i++) {
        CUpti_RangeProfiler_Start_Params start = {
            .structSize = CUpti_RangeProfiler_Start_Params_STRUCT_SIZE,
            .pRangeProfilerObject = s->object,
        };
        CUpti_RangeProfiler_Stop_Params stop = {
            .structSize = CUpti_RangeProfiler_Stop_Params_STRUCT_SIZE,
            .pRangeProfilerObject = s->object,
        };
        bool late = false;
        if (s->restore (s->restore_arg, s->err) < 0
            || kc_cuda_flush (s->self->dev, s->err) < 0
            || kc_cuda_ok (s->self->dev, kc_cuda_wait (s->self->dev, 60, &late), s->err,
                           "preparing a pass")
                   < 0
            || s_call (s, api->RangeProfilerStart (&start),
                       "starting the range profiler")
                   < 0)
            return -1;
        int rc = s_pass (s);
        if (s->self->dev->dead)
            return -1; // nothing may be called any more
        if (s_call (s, api->RangeProfilerStop (&stop), "stopping the range profiler")
                < 0
            || rc < 0)
            return -1;
        s->out->passes = s->kernel_replay ? (int)s->n_passes : i + 1;
        if (stop.isAllPassSubmitted)
            return 0;
    }
    return kc_fail (s->err, KC_EFAILED,
                    "the counters were not complete after %d passes",
                    KC_PROF_MAX_PASSES);
}

static int s_read_range (session_t *s, size_t index)
{
    CUpti_RangeProfiler_CounterData_GetRangeInfo_Params info = {
        .structSize = CUpti_RangeProfiler_CounterData_GetRangeInfo_Params_STRUCT_SIZE,
        .pCounterDataImage = s->image,
        .counterDataImageSize = s->image_size,
        .rangeIndex = index,
        .rangeDelimiter = "/",
    };
    size_t at = index;
    if (!s->kernel_replay) {
        if (s_call (s, s->self->api->RangeProfilerCounterDataGetRangeInfo (&info),
                    "name of a range")
            < 0)
            return -1;
        long step = info.rangeName ? strtol (info.rangeName, NULL, 10) : -1;
        for (at = 0; at < s->out->n_ranges && s->out->steps[at] != step; at++)
            ;
    }
    if (at >= s->out->n_ranges)
        return kc_fail (s->err, KC_EFAILED,
                        "CUPTI reports a range that was not opened");
    return kc_cupti_host_values (&s->host, s->image, s->image_size, index,
                                 s->out->values + at * s->out->n_names, s->err);
}

static int s_decode (session_t *s)
{
    const kc_cupti_api_t *api = s->self->api;
    CUpti_RangeProfiler_DecodeData_Params decode = {
        .structSize = CUpti_RangeProfiler_DecodeData_Params_STRUCT_SIZE,
        .pRangeProfilerObject = s->object,
    };
    CUpti_RangeProfiler_GetCounterDataInfo_Params info = {
        .structSize = CUpti_RangeProfiler_GetCounterDataInfo_Params_STRUCT_SIZE,
        .pCounterDataImage = s->image,
        .counterDataImageSize = s->image_size,
    };
    if (s_call (s, api->RangeProfilerDecodeData (&decode), "decoding counters") < 0
        || s_call (s, api->RangeProfilerGetCounterDataInfo (&info), "counting ranges")
               < 0)
        return -1;
    const size_t n = s->out->n_ranges * s->out->n_names;
    free (s->out->values);
    s->out->values = kc_calloc (n + 1, sizeof *s->out->values);
    for (size_t i = 0; i < n; i++)
        s->out->values[i] = NAN;
    if (decode.numOfRangeDropped > 0)
        return kc_fail (s->err, KC_EFAILED, "CUPTI dropped %zu ranges",
                        decode.numOfRangeDropped);
    for (size_t i = 0; i < info.numTotalRanges; i++)
        if (s_read_range (s, i) < 0)
            return -1;
    return 0;
}

// One attempt in one replay mode.
static int s_collect (session_t *s)
{
    const kc_cupti_api_t *api = s->self->api;
    CUpti_RangeProfiler_Enable_Params enable = {
        .structSize = CUpti_RangeProfiler_Enable_Params_STRUCT_SIZE,
        .ctx = s->self->dev->context,
    };
    if (s_call (s, api->RangeProfilerEnable (&enable), "enabling the range profiler")
        < 0)
        return -1;
    s->object = enable.pRangeProfilerObject;
    int rc = s_make_image (s);
    if (rc == 0)
        rc = s_passes (s);
    if (rc == 0)
        rc = s_decode (s);
    // After a sticky error nothing may be called any more; the process ends soon.
    if (!s->self->dev->dead) {
        CUpti_RangeProfiler_Disable_Params disable = {
            .structSize = CUpti_RangeProfiler_Disable_Params_STRUCT_SIZE,
            .pRangeProfilerObject = s->object,
        };
        api->RangeProfilerDisable (&disable);
    }
    return rc;
}

int kc_cupti_ranges (kc_cupti_prof_t *self, kc_cuda_bound_t *bound,
                     const char *const *metrics, size_t n, kc_restore_f restore,
                     void *restore_arg, const kc_dev_limits_t *limits, kc_ranges_t *out,
                     kc_dev_finding_t *finding, kc_err_t *err)
{
    session_t s = {
        .self = self,
        .bound = bound,
        .limits = limits,
        .restore = restore,
        .restore_arg = restore_arg,
        .out = out,
        .finding = finding,
        .err = err,
    };
    memset (out, 0, sizeof *out);
    for (size_t i = 0; i < bound->plan->n_steps && out->n_ranges < KC_PROF_MAX_RANGES;
         i++)
        if (bound->plan->steps[i].op == KC_PLAN_KERNEL)
            *(int *)kc_push (&out->steps, &out->n_ranges, sizeof (int)) = (int)i;
    int rc = 0;
    if (out->n_ranges > 0) {
        if (!self->availability)
            rc = s_availability (self, err);
        if (rc == 0)
            rc = s_select (&s, metrics, n);
        if (rc == 0)
            rc = s_collect (&s);
        if (rc < 0 && s.config && err->code != KC_EREFUSED && !self->dev->dead
            && finding->status == KC_VERDICT_STATUS_OK) {
            kc_err_t first = *err;
            kc_log (KC_WARN, "profile.fallback", "why", "s", first.text, NULL);
            s.kernel_replay = out->kernel_replay = true;
            rc = s_collect (&s);
            if (rc < 0)
                kc_fail_in (err, "%.200s; then with kernel replay", first.text);
        }
    }
    kc_cupti_host_close (&s.host);
    free (s.config);
    free (s.image);
    return rc;
}

// ---- opening ----

kc_cupti_prof_t *kc_cupti_prof_open (kc_cuda_dev_t *dev, kc_err_t *err)
{
    kc_cupti_prof_t *self = kc_calloc (1, sizeof *self);
    CUpti_Profiler_Initialize_Params init = {
        .structSize = CUpti_Profiler_Initialize_Params_STRUCT_SIZE};
    CUpti_Device_GetChipName_Params chip = {
        .structSize = CUpti_Device_GetChipName_Params_STRUCT_SIZE,
        .deviceIndex = (size_t)dev->ordinal,
    };
    self->dev = dev;
    self->api = kc_cupti_api_load (dev->cuda_path, err);
    if (!self->api
        || kc_cupti_ok (self->api, self->api->ProfilerInitialize (&init), err,
                        "initialising CUPTI")
               < 0
        || kc_cupti_ok (self->api, self->api->DeviceGetChipName (&chip), err,
                        "asking for the chip")
               < 0) {
        kc_cupti_prof_close (&self);
        return NULL;
    }
    self->chip = chip.pChipName;
    return self;
}

void kc_cupti_prof_close (kc_cupti_prof_t **self_p)
{
    kc_cupti_prof_t *self = *self_p;
    if (!self)
        return;
    kc_cupti_api_destroy (&self->api);
    free (self->availability);
    free (self);
    *self_p = NULL;
}
