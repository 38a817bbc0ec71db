// Timing against the fake driver: order, content, poison, gate, clocks, verification.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "agents/gpu/cuda/cuda_dev.h"
#include "common/util/kc_mem.h"
#include "tests/gpu/selftest/plan_make.h"
#include "tests/unit/cuda/fake_driver.h"

enum { N = 64, MAX_SEEN = 4096 };

// What the candidate's kernels saw, call by call.
typedef struct seen {
    int who;
    float first_input;
    unsigned char first_output; // before it was written
} seen_t;
static seen_t s_seen[MAX_SEEN];
static int s_n_seen;
static bool s_mutate;

static void s_look (int who, void **params)
{
    float *x, *y;
    memcpy (&x, params[0], sizeof x);
    memcpy (&y, params[1], sizeof y);
    if (s_n_seen < MAX_SEEN) {
        s_seen[s_n_seen].who = who;
        s_seen[s_n_seen].first_input = x[0];
        memcpy (&s_seen[s_n_seen].first_output, y, 1);
        s_n_seen++;
    }
    memcpy (y, x, N * sizeof *y);
    if (s_mutate)
        x[3] = 99;
}

static void s_fast (void **params, const unsigned *grid, const unsigned *block)
{
    (void)grid, (void)block;
    s_look (0, params);
}

static void s_slow (void **params, const unsigned *grid, const unsigned *block)
{
    (void)grid, (void)block;
    s_look (1, params);
}

static const kc_fake_kernel_t s_kernels[] = {
    {.name = "fast", .run = s_fast, .n_params = 2, .sizes = {8, 8}, .us = 10},
    {.name = "slow",
     .run = s_slow,
     .n_params = 2,
     .sizes = {8, 8},
     .us = 25,
     .local = 512},
    {.name = "fault",
     .run = s_fast,
     .n_params = 2,
     .sizes = {8, 8},
     .error = KC_CUDA_ERROR_MISALIGNED_ADDRESS},
    {.name = "hang", .run = s_fast, .n_params = 2, .sizes = {8, 8}, .forever = true},
};

static const unsigned char s_cubin[64] = {0x7f, 'E', 'L', 'F', [18] = 190};
static const kc_dev_limits_t s_limits = {.seconds = 0.05};

typedef struct world {
    kc_dev_t *dev;
    kc_dev_code_t *code;
    kc_plan_t *plans[2];
    kc_dev_contestant_t who[2];
    kc_dev_finding_t finding;
    kc_dev_timing_t timing;
    kc_err_t err;
} world_t;

static void s_start (world_t *w, const char *first, const char *second, int steps)
{
    const kc_dev_config_t config = {0};
    const kc_dev_binary_t binary = {.data = s_cubin, .size = sizeof s_cubin};
    const char *names[2] = {first, second};
    memset (w, 0, sizeof *w);
    kc_fake.kernels = s_kernels;
    kc_fake.n_kernels = KC_COUNT (s_kernels);
    s_n_seen = 0;
    s_mutate = false;
    w->dev = kc_cuda_open_with (kc_fake_api (), &config, &w->err);
    assert_non_null (w->dev);
    w->code = w->dev->ops->load (w->dev, &binary, &w->finding);
    for (int c = 0; c < 2; c++) {
        kc_plan_t *p = w->plans[c] = kc_pm_new ();
        const kc_dev_layout_t layout = {.seed = 1 + (uint64_t)c};
        // The second contestant has its buffers in another order: names, not numbers,
        // decide the content.
        if (c == 1)
            kc_pm_buffer (p, "extra", KC_ROLE_SCRATCH, KC_PROGRAM_DTYPE_F32, 4);
        int x = kc_pm_buffer (p, "x", KC_ROLE_INPUT, KC_PROGRAM_DTYPE_F32, N);
        int y = kc_pm_buffer (p, "y", KC_ROLE_OUTPUT, KC_PROGRAM_DTYPE_F32, N);
        kc_pm_arg_t args[] = {kc_pm_in (x), kc_pm_out (y)};
        int k = kc_pm_kernel (p, names[c]);
        for (int i = 0; i < steps; i++)
            kc_pm_launch (p, k, 1, 32, 0, 2, args);
        w->who[c] = (kc_dev_contestant_t){.code = w->code, .plan = p};
        w->who[c].arena = w->dev->ops->arena (w->dev, p, &layout, &w->err);
        assert_non_null (w->who[c].arena);
    }
}

static void s_end (world_t *w)
{
    kc_dev_timing_free (&w->timing);
    for (int c = 0; c < 2; c++) {
        w->dev->ops->arena_free (w->dev, w->who[c].arena);
        kc_pm_free (&w->plans[c]);
    }
    w->dev->ops->unload (w->dev, w->code);
    kc_dev_close (&w->dev);
}

static kc_dev_timing_options_t s_options (void)
{
    return (kc_dev_timing_options_t){.warmup_launches = 3,
                                     .min_samples = 16,
                                     .max_samples = 16,
                                     .max_seconds = 10,
                                     .seed = 7};
}

static int s_time (world_t *w, int n, const kc_dev_timing_options_t *o)
{
    return w->dev->ops->time (w->dev, w->who, n, o, &s_limits, &w->timing, &w->finding);
}

static int s_setup (void **state)
{
    (void)state;
    kc_fake_reset ();
    return 0;
}

static void events_measure_each_contestant (void **state)
{
    (void)state;
    world_t w;
    const kc_dev_timing_options_t o = s_options ();
    s_start (&w, "fast", "slow", 2);
    assert_int_equal (s_time (&w, 2, &o), 0);
    assert_int_equal (w.timing.n, 16);
    for (int i = 0; i < w.timing.n; i++) {
        assert_true (w.timing.us[0][i] > 19.9 && w.timing.us[0][i] < 20.1);
        assert_true (w.timing.us[1][i] > 49.9 && w.timing.us[1][i] < 50.1);
    }
    assert_false (w.timing.suspect);
    assert_false (w.timing.estimate);
    assert_non_null (strstr (w.timing.note, "gated"));
    s_end (&w);
    assert_int_equal (kc_fake_leaks (), 0);
}

static void contestants_take_turns_a_b_b_a (void **state)
{
    (void)state;
    world_t w;
    const kc_dev_timing_options_t o = s_options ();
    s_start (&w, "fast", "slow", 1);
    assert_int_equal (s_time (&w, 2, &o), 0);
    const seen_t *timed = s_seen + s_n_seen - 32; // behind the warm-up
    for (int i = 0; i < 32; i += 4) {
        assert_int_equal (timed[i].who, 0);
        assert_int_equal (timed[i + 1].who, 1);
        assert_int_equal (timed[i + 2].who, 1);
        assert_int_equal (timed[i + 3].who, 0);
    }
    s_end (&w);
}

static void content_is_new_for_every_sample_and_equal_for_all_contestants (void **state)
{
    (void)state;
    world_t w;
    const kc_dev_timing_options_t o = s_options ();
    s_start (&w, "fast", "slow", 1);
    assert_int_equal (s_time (&w, 2, &o), 0);
    const seen_t *timed = s_seen + s_n_seen - 32;
    bool patterns[256] = {false};
    int different = 0;
    for (int i = 0; i < 32; i += 2) {
        assert_true (timed[i].first_input == timed[i + 1].first_input);
        assert_int_equal (timed[i].first_output,
                          timed[i + 1].first_output); // the same poison
        different += !patterns[timed[i].first_output];
        patterns[timed[i].first_output] = true;
        for (int k = 0; k < i; k += 2)
            assert_true (timed[k].first_input != timed[i].first_input);
    }
    assert_true (different >= 2);
    s_end (&w);
}

static void a_sample_is_scrubbed_flushed_and_held_by_the_gate (void **state)
{
    (void)state;
    world_t w;
    kc_dev_timing_options_t o = s_options ();
    o.min_samples = o.max_samples = 8;
    o.warmup_launches = 1;
    s_start (&w, "fast", "slow", 1);
    kc_fake_clear_log ();
    assert_int_equal (s_time (&w, 1, &o), 0);
    // generate, poison, scrub, flush, gate, event, plan, event, clock
    const char *sample =
        "kc_generate memset kc_scrub memset kc_gate event fast event kc_clock ";
    int whole = 0;
    for (const char *at = kc_fake.log; (at = strstr (at, sample));
         at += strlen (sample))
        whole++;
    assert_true (whole >= 6); // the others were verified: hashes lie between
    assert_int_equal (kc_fake_count ("kc_gate"), 8);
    assert_int_equal (kc_fake_count ("kc_scrub_stack_1024"), 0);
    s_end (&w);
    kc_fake_reset ();
    s_start (&w, "slow", "slow", 1);
    assert_int_equal (s_time (&w, 1, &o), 0);
    assert_int_equal (kc_fake_count ("kc_scrub_stack_1024"),
                      9); // 512 bytes of stack are covered
    s_end (&w);
}

static void a_graph_is_timed_as_one_launch (void **state)
{
    (void)state;
    world_t w;
    kc_dev_timing_options_t o = s_options ();
    o.graph = true;
    s_start (&w, "fast", "slow", 3);
    assert_int_equal (s_time (&w, 2, &o), 0);
    assert_int_equal (kc_fake.nodes, 3);
    assert_true (w.timing.us[0][0] > 29.9 && w.timing.us[0][0] < 30.1);
    assert_non_null (strstr (w.timing.note, "graph"));
    s_end (&w);
    assert_int_equal (kc_fake_leaks (), 0);
}

static void long_streams_are_timed_without_the_gate (void **state)
{
    (void)state;
    world_t w;
    kc_dev_timing_options_t o = s_options ();
    s_start (&w, "fast", "slow", KC_CUDA_GATE_STEPS + 1);
    assert_int_equal (s_time (&w, 1, &o), 0);
    assert_int_equal (kc_fake_count ("kc_gate"), 0);
    assert_non_null (strstr (w.timing.note, "not gated"));
    s_end (&w);
}

static void a_gate_that_gave_up_makes_the_timing_suspect (void **state)
{
    (void)state;
    world_t w;
    const kc_dev_timing_options_t o = s_options ();
    s_start (&w, "fast", "slow", 1);
    kc_fake.late_gate = true;
    assert_int_equal (s_time (&w, 1, &o), 0);
    assert_true (w.timing.suspect);
    assert_non_null (strstr (w.timing.note, "gate"));
    s_end (&w);
}

static int s_throttle (void *arg, int contestant, int sample, uint64_t content)
{
    (void)arg, (void)contestant, (void)sample, (void)content;
    kc_fake.clock_mhz = 900; // from the first verified sample on
    return 0;
}

static void samples_below_the_clock_limit_are_no_measurement (void **state)
{
    (void)state;
    world_t w;
    kc_dev_timing_options_t o = s_options ();
    o.verify = s_throttle;
    o.max_seconds = 0.3;
    s_start (&w, "fast", "slow", 1);
    assert_int_equal (s_time (&w, 1, &o), -1);
    assert_int_equal (w.finding.status, KC_VERDICT_STATUS_NO_MEASUREMENT);
    assert_false (w.finding.sticky);
    assert_non_null (strstr (w.finding.text, "1980 MHz"));
    s_end (&w);
}

typedef struct verified {
    int calls, stop_at;
    world_t *w;
    bool outputs_right;
} verified_t;

static int s_verify (void *arg, int contestant, int sample, uint64_t content)
{
    verified_t *v = arg;
    float x[N], y[N];
    kc_err_t err = {0};
    (void)sample;
    v->calls++;
    // The callback may use the device: everything is idle.
    const int at = contestant == 1 ? 1 : 0;
    v->outputs_right =
        v->outputs_right
        && v->w->dev->ops->read (v->w->dev, v->w->who[contestant].arena, at, x, &err)
               == 0
        && v->w->dev->ops->read (v->w->dev, v->w->who[contestant].arena, at + 1, y,
                                 &err)
               == 0
        && memcmp (x, y, sizeof x) == 0 && content != 0;
    return v->calls == v->stop_at ? -1 : 0;
}

static void some_samples_are_verified_and_a_wrong_one_ends_it (void **state)
{
    (void)state;
    world_t w;
    kc_dev_timing_options_t o = s_options ();
    verified_t v = {.w = &w, .outputs_right = true, .stop_at = -1};
    o.verify = s_verify;
    o.verify_arg = &v;
    o.min_samples = o.max_samples = 100;
    s_start (&w, "fast", "slow", 1);
    assert_int_equal (s_time (&w, 2, &o), 0);
    assert_true (v.calls >= 8 && v.calls <= 60);
    assert_int_equal (v.calls % 2, 0);
    assert_true (v.outputs_right);
    kc_dev_timing_free (&w.timing);
    v = (verified_t){.w = &w, .outputs_right = true, .stop_at = 1};
    assert_int_equal (s_time (&w, 2, &o), -1);
    assert_int_equal (w.finding.status, KC_VERDICT_STATUS_WRONG_OUTPUT);
    s_end (&w);
}

static void a_timed_run_that_writes_its_input_is_found (void **state)
{
    (void)state;
    world_t w;
    const kc_dev_timing_options_t o = s_options ();
    s_start (&w, "fast", "slow", 1);
    s_mutate = true;
    assert_int_equal (s_time (&w, 1, &o), -1);
    assert_int_equal (w.finding.status, KC_VERDICT_STATUS_INPUT_MUTATED);
    assert_string_equal (w.finding.buffer, "x");
    s_end (&w);
}

static void sampling_stops_when_the_median_is_known (void **state)
{
    (void)state;
    world_t w;
    kc_dev_timing_options_t o = s_options ();
    o.min_samples = 16;
    o.max_samples = 500;
    s_start (&w, "fast", "slow", 1); // no noise at all
    assert_int_equal (s_time (&w, 1, &o), 0);
    assert_int_equal (w.timing.n, 16);
    kc_dev_timing_free (&w.timing);
    o.min_seconds = 0.001; // 100 samples of 10 us
    assert_int_equal (s_time (&w, 1, &o), 0);
    assert_true (w.timing.n >= 100 && w.timing.n < 112);
    s_end (&w);
}

static void s_fails (const char *kernel, kc_verdict_status_t expected)
{
    world_t w;
    const kc_dev_timing_options_t o = s_options ();
    kc_fake_reset ();
    s_start (&w, kernel, "slow", 1);
    assert_int_equal (s_time (&w, 1, &o), -1);
    assert_int_equal (w.finding.status, expected);
    assert_true (w.finding.sticky);
    const long calls = kc_fake.calls;
    s_end (&w);
    assert_int_equal (kc_fake.calls, calls);
    kc_fake_reset ();
}

static void faults_and_hangs_in_timing_end_the_context (void **state)
{
    (void)state;
    s_fails ("fault", KC_VERDICT_STATUS_LAUNCH_ERROR);
    s_fails ("hang", KC_VERDICT_STATUS_TIMEOUT);
}

static void every_single_failing_call_in_timing_is_reported (void **state)
{
    (void)state;
    kc_dev_timing_options_t o = s_options ();
    o.min_samples = o.max_samples = 8;
    for (int graph = 0; graph < 2; graph++) {
        world_t w;
        long first, last;
        o.graph = graph != 0;
        kc_fake_reset ();
        s_start (&w, "fast", "slow", 1);
        first = kc_fake.calls;
        assert_int_equal (s_time (&w, 2, &o), 0);
        last = kc_fake.calls;
        s_end (&w);
        for (long at = first + 1; at < last; at += 3) {
            kc_fake_reset ();
            s_start (&w, "fast", "slow", 1);
            kc_fake.fail_at = at;
            kc_fake.fail_with =
                at % 2 ? KC_CUDA_ERROR_ILLEGAL_ADDRESS : KC_CUDA_ERROR_OUT_OF_MEMORY;
            if (s_time (&w, 2, &o) < 0)
                assert_true (w.finding.text[0]
                             && w.finding.status != KC_VERDICT_STATUS_OK);
            s_end (&w);
            assert_int_equal (kc_fake.calls_after_sticky, 0);
        }
    }
    kc_fake_reset ();
}

#define TEST(f) cmocka_unit_test_setup_teardown (f, s_setup, s_setup)

int main (void)
{
    const struct CMUnitTest tests[] = {
        TEST (events_measure_each_contestant),
        TEST (contestants_take_turns_a_b_b_a),
        TEST (content_is_new_for_every_sample_and_equal_for_all_contestants),
        TEST (a_sample_is_scrubbed_flushed_and_held_by_the_gate),
        TEST (a_graph_is_timed_as_one_launch),
        TEST (long_streams_are_timed_without_the_gate),
        TEST (a_gate_that_gave_up_makes_the_timing_suspect),
        TEST (samples_below_the_clock_limit_are_no_measurement),
        TEST (some_samples_are_verified_and_a_wrong_one_ends_it),
        TEST (a_timed_run_that_writes_its_input_is_found),
        TEST (sampling_stops_when_the_median_is_known),
        TEST (faults_and_hangs_in_timing_end_the_context),
        TEST (every_single_failing_call_in_timing_is_reported),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
