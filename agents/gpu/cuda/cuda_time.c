/* cuda_time.c - timing: new content, poison, scrub, flush, gate, events; contestants
 * interleaved A B B A
 *
 * One sample of one contestant:
 *   1 new content in its inputs (the key of the sample: all contestants compute on the
 * same), poison in its outputs and scratch (the same pattern for all) 2 shared memory,
 * registers and stacks of every multiprocessor overwritten 3 the L2 flushed by writing
 * 256 MiB or twice its size 4 the gate: a kernel that holds the stream while everything
 * behind it is queued 5 event, plan, event, and a short kernel that measures the clock
 * The host opens the gate when all of it is queued, so its own speed is in no figure.
 * The gate gives up after two seconds, and is left out in warm-up and where the plan
 * has so many launches that the queue would fill.
 */
#include "agents/gpu/cuda/cuda_dev.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agents/gpu/judge/kc_philox.h"
#include "common/util/kc_clock.h"
#include "common/util/kc_mem.h"

enum {
    CLOCK_NS = 20000,   // length of the clock measurement
    CHECK_EVERY = 8,    // samples between looks at the precision
    VERIFY_ONE_IN = 10, // samples that are verified, by the secret seed
    MIN_FOR_MEDIAN = 8, // below this many no precision is claimed
    PAUSE_MIN_MS = 50,  // after a sample below the clock limit ...
    PAUSE_MAX_MS = 500, // ... growing to this
    MAX_DISCARDED = 100,
    HOST_SLACK_US = 100, // what polling and the gate may add to the host's time
    SCRUB_THREADS = 256,
};
static const double s_clock_limit = 0.75; // of the clock seen in warm-up
static const double s_precision =
    0.005; // standard error of the median that ends the sampling
static const double s_clock_skew = 0.03; // between contestants, worth a note

// Poison of outputs and scratch; checking uses the same set, so the pattern tells a
// kernel nothing.
static const unsigned char s_poison[] = {0xFF, 0x7B, 0x7F, 0xFB};

typedef struct stopwatch {
    kc_cuda_dev_t *dev;
    const kc_dev_contestant_t *who;
    kc_cuda_bound_t bound[KC_DEV_MAX_CONTESTANTS];
    int n;
    const kc_dev_timing_options_t *options;
    const kc_dev_limits_t *limits;
    kc_dev_timing_t *out;
    kc_dev_finding_t *finding;
    bool gate;
    double nominal_mhz; // the highest clock in warm-up
    double clock_sum[KC_DEV_MAX_CONTESTANTS];
    int late_gates, odd_times;
} stopwatch_t;

// ---- flush and scrub ----

int kc_cuda_flush (kc_cuda_dev_t *self, kc_err_t *err)
{
    if (!self->flush) {
        size_t size = (size_t)KC_CUDA_FLUSH_MIB << 20;
        if (size < 2 * (size_t)self->base.info.facts.l2_bytes)
            size = 2 * (size_t)self->base.info.facts.l2_bytes;
        if (kc_cuda_ok (self, self->cu->MemAlloc (&self->flush, size), err,
                        "allocating %zu MiB to flush the L2", size >> 20)
            < 0) {
            self->flush = 0;
            return -1;
        }
        self->flush_bytes = size;
    }
    return kc_cuda_ok (self,
                       self->cu->MemsetD32Async (self->flush, 0x3c3c3c3c,
                                                 self->flush_bytes / 4, self->stream),
                       err, "flushing the L2");
}

int kc_cuda_scrub (kc_cuda_dev_t *self, int max_local, kc_err_t *err)
{
    static const struct {
        int bytes;
        kc_trusted_t kernel;
    } stacks[] = {
        {256, KC_TRUSTED_STACK_256},
        {1024, KC_TRUSTED_STACK_1024},
        {4096, KC_TRUSTED_STACK_4096},
        {16384, KC_TRUSTED_STACK_16384},
    };
    const kc_device_facts_t *facts = &self->base.info.facts;
    uint32_t seed = (uint32_t)kc_clock_ns ();
    int rounds = 1, at = 1;
    uint32_t words = (uint32_t)(facts->shared_block / 4);
    kc_cu_ptr_t never = self->mapped_at + offsetof (kc_cuda_mapped_t, never);
    void *params[] = {&seed, &rounds, &words, &never};
    const uint32_t grid[2] = {(uint32_t)facts->sms * 2, 1};
    if (kc_cuda_trusted (self, KC_TRUSTED_SCRUB, grid, SCRUB_THREADS,
                         (uint32_t)facts->shared_block, params, err)
        < 0)
        return -1;
    if (max_local <= 0)
        return 0; // no local memory, so nothing of it can survive
    // A kernel with a larger stack keeps what lies beyond 16 KiB; the caller notes
    // that.
    size_t i = 0;
    while (i + 1 < KC_COUNT (stacks) && stacks[i].bytes < max_local)
        i++;
    void *stack_params[] = {&seed, &at, &never};
    const uint32_t full[2] = {
        (uint32_t)(facts->sms * (facts->max_threads_sm / SCRUB_THREADS)), 1};
    return kc_cuda_trusted (self, stacks[i].kernel, full, SCRUB_THREADS, 0,
                            stack_params, err);
}

// ---- one sample ----

static bool s_is_content (kc_plan_role_t role)
{
    return role == KC_ROLE_INPUT || role == KC_ROLE_INOUT;
}

static int s_prepare (stopwatch_t *t, int c, uint64_t content, unsigned char poison)
{
    kc_dev_t *dev = &t->dev->base;
    const kc_plan_t *plan = t->who[c].plan;
    kc_dev_arena_t *arena = t->who[c].arena;
    kc_err_t err;
    for (size_t i = 0; i < plan->n_buffers; i++) {
        const kc_plan_buffer_t *b = &plan->buffers[i];
        int rc = 0;
        if (s_is_content (b->role))
            rc = kc_cuda_generate (dev, arena, (int)i, &b->fill,
                                   kc_content_key (content, b->name), &err);
        else if (b->role != KC_ROLE_PARAM)
            rc = kc_cuda_poison (dev, arena, (int)i, poison, &err);
        if (rc < 0)
            return kc_cuda_infra (t->dev, t->finding, &err);
    }
    if (kc_cuda_scrub (t->dev, t->bound[c].max_local, &err) < 0
        || kc_cuda_flush (t->dev, &err) < 0)
        return kc_cuda_infra (t->dev, t->finding, &err);
    return 0;
}

static int s_queue_gate (stopwatch_t *t)
{
    kc_cuda_dev_t *dev = t->dev;
    kc_cu_ptr_t flag = dev->mapped_at + offsetof (kc_cuda_mapped_t, gate);
    kc_cu_ptr_t late = dev->mapped_at + offsetof (kc_cuda_mapped_t, late);
    uint64_t limit = (uint64_t)KC_CUDA_GATE_MS * 1000000u;
    void *params[] = {&flag, &late, &limit};
    const uint32_t one[2] = {1, 1};
    kc_err_t err;
    dev->mapped->gate = 0;
    dev->mapped->late = 0;
    if (kc_cuda_trusted (dev, KC_TRUSTED_GATE, one, 1, 0, params, &err) < 0)
        return kc_cuda_infra (dev, t->finding, &err);
    return 0;
}

static int s_queue_clock (stopwatch_t *t)
{
    kc_cuda_dev_t *dev = t->dev;
    kc_cu_ptr_t out = dev->mapped_at + offsetof (kc_cuda_mapped_t, clock);
    uint64_t ns = CLOCK_NS;
    void *params[] = {&out, &ns};
    const uint32_t one[2] = {1, 1};
    kc_err_t err;
    if (kc_cuda_trusted (dev, KC_TRUSTED_CLOCK, one, 1, 0, params, &err) < 0)
        return kc_cuda_infra (dev, t->finding, &err);
    return 0;
}

static int s_event (stopwatch_t *t, kc_cu_event_t event)
{
    return kc_cuda_run_ok (t->dev, t->dev->cu->EventRecord (event, t->dev->stream),
                           NULL, -1, t->finding, "recording an event");
}

// Measure contestant c once; everything on the device is idle before and after.
static int s_sample (stopwatch_t *t, int c, bool gate, double *us_p, double *mhz_p)
{
    kc_cuda_dev_t *dev = t->dev;
    kc_cuda_bound_t *bound = &t->bound[c];
    kc_err_t err;
    // Queued kernels of the preparation end before the gate's time starts to count.
    bool late = false;
    enum { PREPARE_SECONDS = 60 };
    if (kc_cuda_ok (dev, kc_cuda_wait (dev, PREPARE_SECONDS, &late), &err,
                    "preparing a sample")
        < 0)
        return kc_cuda_infra (dev, t->finding, &err);
    if (gate && s_queue_gate (t) < 0)
        return -1;
    int64_t start = kc_clock_ns ();
    if (s_event (t, dev->begin) < 0
        || kc_cuda_launch (dev, bound, t->options->graph, t->finding) < 0
        || s_event (t, dev->end) < 0 || s_queue_clock (t) < 0) {
        dev->mapped->gate = 1;
        return -1;
    }
    if (gate) {
        start = kc_clock_ns ();
        dev->mapped->gate = 1;
    }
    if (kc_cuda_settle (dev, bound, -1, t->limits, t->finding) < 0)
        return -1;
    const double host_us = (double)(kc_clock_ns () - start) / 1e3;
    float ms = 0;
    if (kc_cuda_run_ok (dev, dev->cu->EventElapsedTime (&ms, dev->begin, dev->end),
                        NULL, -1, t->finding, "reading the events")
        < 0)
        return -1;
    *us_p = (double)ms * 1e3;
    *mhz_p = dev->mapped->clock[1]
                 ? (double)dev->mapped->clock[0] * 1e3 / (double)dev->mapped->clock[1]
                 : 0.0;
    if (gate && dev->mapped->late)
        t->late_gates++;
    // The events lie inside the host's bracket; a longer event time contradicts itself.
    if (*us_p > host_us + HOST_SLACK_US)
        t->odd_times++;
    return 0;
}

// ---- content checks ----

static int s_hash_inputs (stopwatch_t *t, int c, uint64_t *out)
{
    const kc_plan_t *plan = t->who[c].plan;
    kc_cuda_segment_t *segments = kc_calloc (plan->n_buffers + 1, sizeof *segments);
    kc_err_t err;
    for (size_t i = 0; i < plan->n_buffers; i++) {
        const kc_cuda_place_t *p = &t->who[c].arena->places[i];
        // Of a buffer that may be written, nothing is compared: an empty stretch hashes
        // to a constant.
        segments[i] =
            (kc_cuda_segment_t){p->address,
                                plan->buffers[i].role == KC_ROLE_INPUT
                                        || plan->buffers[i].role == KC_ROLE_PARAM
                                    ? p->bytes
                                    : 0,
                                0};
    }
    int rc = kc_cuda_hash (t->dev, segments, plan->n_buffers, out, &err);
    free (segments);
    return rc < 0 ? kc_cuda_infra (t->dev, t->finding, &err) : 0;
}

static int s_compare_inputs (stopwatch_t *t, int c, const uint64_t *before)
{
    const kc_plan_t *plan = t->who[c].plan;
    uint64_t *after = kc_calloc (plan->n_buffers + 1, sizeof *after);
    int rc = s_hash_inputs (t, c, after);
    for (size_t i = 0; i < plan->n_buffers && rc == 0; i++) {
        if (after[i] == before[i])
            continue;
        rc = kc_cuda_find (t->finding, KC_VERDICT_STATUS_INPUT_MUTATED,
                           "a timed run changed %s, which is read only",
                           plan->buffers[i].name);
        snprintf (t->finding->buffer, sizeof t->finding->buffer, "%s",
                  plan->buffers[i].name);
    }
    free (after);
    return rc;
}

// One sample with its preparation and, when asked, its verification.
static int s_round_of (stopwatch_t *t, int c, int sample, uint64_t content,
                       unsigned char poison, bool verify, double *us_p, double *mhz_p)
{
    uint64_t *before =
        verify ? kc_calloc (t->who[c].plan->n_buffers + 1, sizeof *before) : NULL;
    int rc = s_prepare (t, c, content, poison);
    // Hashing reads the inputs and so warms the L2: flush again behind it.
    if (rc == 0 && verify) {
        kc_err_t err;
        rc = s_hash_inputs (t, c, before);
        if (rc == 0 && kc_cuda_flush (t->dev, &err) < 0)
            rc = kc_cuda_infra (t->dev, t->finding, &err);
    }
    if (rc == 0)
        rc = s_sample (t, c, t->gate, us_p, mhz_p);
    if (rc == 0 && verify)
        rc = s_compare_inputs (t, c, before);
    if (rc == 0 && verify && t->options->verify
        && t->options->verify (t->options->verify_arg, c, sample, content) < 0) {
        rc = kc_cuda_find (
            t->finding, KC_VERDICT_STATUS_WRONG_OUTPUT,
            "the output of timed sample %d of contestant %d failed its check", sample,
            c);
    }
    free (before);
    return rc;
}

// ---- the whole timing ----

static int s_warm_up (stopwatch_t *t)
{
    const int64_t start = kc_clock_ns ();
    const int least = t->options->warmup_launches > 0 ? t->options->warmup_launches : 1;
    enum { MAX_WARMUP = 100000 };
    for (int c = 0; c < t->n; c++)
        if (s_prepare (t, c, t->options->seed ^ kc_mix (1), s_poison[0]) < 0)
            return -1;
    for (int i = 0; i < MAX_WARMUP; i++) {
        const double spent = (double)(kc_clock_ns () - start) / 1e9;
        if (i >= least && spent >= t->options->warmup_seconds)
            break;
        for (int c = 0; c < t->n; c++) {
            double us = 0, mhz = 0;
            if (s_sample (t, c, false, &us, &mhz) < 0)
                return -1;
            t->nominal_mhz = mhz > t->nominal_mhz ? mhz : t->nominal_mhz;
        }
    }
    t->odd_times = 0;
    return 0;
}

static int s_compare_doubles (const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Relative standard error of the median from order statistics: the ranks one standard
 * deviation of the binomial around the middle hold about 68 % of the medians. */
static double s_median_error (const double *us, int n)
{
    if (n < MIN_FOR_MEDIAN)
        return INFINITY;
    double *sorted = kc_malloc ((size_t)n * sizeof *sorted);
    memcpy (sorted, us, (size_t)n * sizeof *sorted);
    qsort (sorted, (size_t)n, sizeof *sorted, s_compare_doubles);
    const double half = sqrt ((double)n) / 2;
    int low = (int)floor ((double)n / 2 - half),
        high = (int)ceil ((double)n / 2 + half);
    low = low < 0 ? 0 : low;
    high = high > n - 1 ? n - 1 : high;
    const double median = sorted[n / 2];
    const double error =
        median > 0 ? (sorted[high] - sorted[low]) / 2 / median : INFINITY;
    free (sorted);
    return error;
}

static bool s_enough (const stopwatch_t *t, int n, double spent_us, int64_t started)
{
    const kc_dev_timing_options_t *o = t->options;
    if (n >= o->max_samples || n >= KC_DEV_MAX_SAMPLES)
        return true;
    if (n >= MIN_FOR_MEDIAN
        && (double)(kc_clock_ns () - started) / 1e9 >= o->max_seconds)
        return true;
    if (n < o->min_samples || spent_us / 1e6 < o->min_seconds || n % CHECK_EVERY)
        return false;
    for (int c = 0; c < t->n; c++)
        if (s_median_error (t->out->us[c], n) > s_precision)
            return false;
    return true;
}

static void s_pause (int ms)
{
    struct timespec ts = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    nanosleep (&ts, NULL);
}

static int s_no_measurement (stopwatch_t *t)
{
    return kc_cuda_find (
        t->finding, KC_VERDICT_STATUS_NO_MEASUREMENT,
        "%d samples were taken below %d %% of %.0f MHz, the clock in warm-up, and %d "
        "above: the GPU is throttled or shared",
        t->out->discarded, (int)(s_clock_limit * 100), t->nominal_mhz, t->out->n);
}

static int s_collect (stopwatch_t *t)
{
    const int64_t started = kc_clock_ns ();
    uint64_t state = t->options->seed;
    double spent_us = 0;
    int pause = PAUSE_MIN_MS;
    for (int attempt = 0; !s_enough (t, t->out->n, spent_us, started); attempt++) {
        double us[KC_DEV_MAX_CONTESTANTS] = {0}, mhz[KC_DEV_MAX_CONTESTANTS] = {0};
        state += KC_GOLDEN;
        const uint64_t content = kc_mix (state),
                       dice = kc_mix (content ^ t->options->seed);
        const unsigned char poison = s_poison[dice % KC_COUNT (s_poison)];
        const bool verify = attempt == 0 || (dice >> 8) % VERIFY_ONE_IN == 0;
        bool slow = false;
        for (int k = 0; k < t->n; k++) {
            const int c = attempt % 2 ? t->n - 1 - k : k; // A B B A
            if (s_round_of (t, c, t->out->n, content, poison, verify, &us[c], &mhz[c])
                < 0)
                return -1;
            slow = slow || mhz[c] < s_clock_limit * t->nominal_mhz;
        }
        if (slow) { // the whole round goes, so that contestants stay in pairs
            t->out->discarded++;
            if (t->out->discarded >= MAX_DISCARDED
                || (double)(kc_clock_ns () - started) / 1e9 >= t->options->max_seconds)
                break;
            s_pause (pause);
            pause = pause * 2 < PAUSE_MAX_MS ? pause * 2 : PAUSE_MAX_MS;
            continue;
        }
        for (int c = 0; c < t->n; c++) {
            t->out->us[c][t->out->n] = us[c];
            t->clock_sum[c] += mhz[c];
            spent_us += us[c];
        }
        t->out->n++;
    }
    if (t->out->n == 0 || t->out->discarded > t->out->n)
        return s_no_measurement (t);
    return 0;
}

static void s_note (stopwatch_t *t)
{
    kc_dev_timing_t *out = t->out;
    double least = INFINITY, most = 0;
    int big_stack = 0;
    for (int c = 0; c < t->n; c++) {
        const double mean = t->clock_sum[c] / out->n;
        least = mean < least ? mean : least;
        most = mean > most ? mean : most;
        big_stack = t->bound[c].max_local > KC_CUDA_STACK_LIMIT ? t->bound[c].max_local
                                                                : big_stack;
    }
    const bool skew = least > 0 && most / least - 1 > s_clock_skew;
    out->suspect = t->odd_times > 0 || t->late_gates > 0 || skew;
    char more[128] = "";
    if (skew)
        snprintf (more, sizeof more,
                  "; the clocks of the contestants differ by %.1f %%",
                  (most / least - 1) * 100);
    else if (t->late_gates > 0)
        snprintf (more, sizeof more, "; the gate opened by itself %d times",
                  t->late_gates);
    else if (t->odd_times > 0)
        snprintf (more, sizeof more, "; events and host disagree %d times",
                  t->odd_times);
    else if (big_stack)
        snprintf (more, sizeof more,
                  "; the scrub covers 16 KiB of the %d bytes of stack", big_stack);
    snprintf (out->note, sizeof out->note, "%s, %s, SM clock %.0f MHz of %d%s",
              t->options->graph ? "one CUDA graph" : "launches on one stream",
              t->gate ? "gated" : "not gated: too many launches", most,
              t->dev->clock_khz / 1000, more);
}

static int s_set_up (stopwatch_t *t)
{
    size_t steps = 0;
    for (int c = 0; c < t->n; c++) {
        if (kc_cuda_bind (t->dev, &t->who[c], &t->bound[c], t->finding) < 0
            || (t->options->graph
                && kc_cuda_graph (t->dev, &t->bound[c], t->finding) < 0)) {
            // The lists of the contestants are the caller's; it asks with one when it
            // must know which.
            return -1;
        }
        steps = t->who[c].plan->n_steps > steps ? t->who[c].plan->n_steps : steps;
        t->out->us[c] = kc_calloc (KC_DEV_MAX_SAMPLES, sizeof *t->out->us[c]);
    }
    t->gate = t->options->graph || steps <= KC_CUDA_GATE_STEPS;
    return 0;
}

int kc_cuda_time (kc_dev_t *dev, const kc_dev_contestant_t *who, int n,
                  const kc_dev_timing_options_t *options, const kc_dev_limits_t *limits,
                  kc_dev_timing_t *out, kc_dev_finding_t *finding)
{
    stopwatch_t t = {
        .dev = (kc_cuda_dev_t *)dev,
        .who = who,
        .n = n,
        .options = options,
        .limits = limits,
        .out = out,
        .finding = finding,
    };
    kc_assert (n >= 1 && n <= KC_DEV_MAX_CONTESTANTS);
    memset (out, 0, sizeof *out);
    memset (finding, 0, sizeof *finding);
    finding->status = KC_VERDICT_STATUS_OK;
    finding->step = -1;
    int rc = s_set_up (&t);
    if (rc == 0)
        rc = s_warm_up (&t);
    if (rc == 0)
        rc = s_collect (&t);
    if (rc == 0)
        s_note (&t);
    for (int c = 0; c < n; c++)
        kc_cuda_unbind (t.dev, &t.bound[c]);
    return rc;
}
