// Tests of medians, intervals and comparisons of timings.

#include "judge_test.h"

#include <math.h>
#include <stdlib.h>

#include "agents/gpu/judge/kc_stats.h"
#include "common/util/kc_mem.h"

enum { N = 64 };

static void s_series (double *out, int n, double base, double noise, uint64_t key)
{
    for (int i = 0; i < n; i++)
        out[i] = base * (1 + noise * judge_normal (key, (uint64_t)i));
}

static void the_median_lies_in_its_interval_and_the_quartiles_around_it (void **state)
{
    (void)state;
    for (int n = 1; n <= 200; n += 13) {
        double us[200];
        s_series (us, n, 50, 0.1, (uint64_t)n);
        const kc_summary_t s = kc_summary (us, n);
        assert_true (s.min <= s.median && s.median <= s.max);
        assert_int_equal (s.has_interval, n >= KC_STATS_MIN_INTERVAL);
        if (s.has_interval)
            assert_true (s.lo <= s.median && s.median <= s.hi && s.lo >= s.min
                         && s.hi <= s.max);
        if (s.has_spread)
            assert_true (s.q1 <= s.median && s.median <= s.q3 && s.stdev >= 0);
    }
}

static void too_few_samples_get_no_spread_and_no_interval (void **state)
{
    (void)state;
    const double us[2] = {10, 11};
    const kc_summary_t s = kc_summary (us, 2);
    assert_false (s.has_spread);
    assert_false (s.has_interval);
    const kc_ratio_t r = kc_ratio (us, us, 2, false);
    assert_false (r.has_interval);
    assert_int_equal (r.comparison, KC_VERDICT_RATIO_COMPARISON_AMBIGUOUS);
    assert_int_equal (kc_summary (us, 0).n, 0);
}

static void intervals_repeat_and_scale_with_the_unit (void **state)
{
    (void)state;
    double us[N], ns[N];
    s_series (us, N, 7, 0.05, 3);
    for (int i = 0; i < N; i++)
        ns[i] = us[i] * 1024;
    const kc_summary_t a = kc_summary (us, N), b = kc_summary (us, N),
                       c = kc_summary (ns, N);
    assert_true (a.lo == b.lo && a.hi == b.hi);
    assert_true (c.lo == a.lo * 1024 && c.hi == a.hi * 1024
                 && c.median == a.median * 1024);
}

static void the_interval_covers_the_true_median_about_as_often_as_it_says (void **state)
{
    (void)state;
    enum { TRIALS = 60 };
    int covered = 0;
    for (int t = 0; t < TRIALS; t++) {
        double us[N];
        s_series (us, N, 100, 0.1, 1000 + (uint64_t)t);
        const kc_summary_t s = kc_summary (us, N);
        covered += s.lo <= 100 && 100 <= s.hi;
    }
    assert_true (covered >= TRIALS * 85 / 100); // 95 % nominally
}

static void a_clear_difference_is_told_either_way_and_swapping_inverts_it (void **state)
{
    (void)state;
    double fast[N], slow[N];
    s_series (fast, N, 10, 0.02, 5);
    s_series (slow, N, 100, 0.02, 6);
    const kc_ratio_t a = kc_ratio (fast, slow, N, false),
                     b = kc_ratio (slow, fast, N, false);
    assert_int_equal (a.comparison, KC_VERDICT_RATIO_COMPARISON_FASTER);
    assert_int_equal (b.comparison, KC_VERDICT_RATIO_COMPARISON_SLOWER);
    assert_true (a.value > 9 && a.value < 11);
    assert_true (b.value > 0.08 && b.value < 0.12);
    assert_true (fabs (a.value * b.value - 1) < 1e-9);
    assert_true (a.lo <= a.value && a.value <= a.hi);
}

static void equal_programs_are_the_same_or_ambiguous_never_faster (void **state)
{
    (void)state;
    int same = 0;
    for (uint64_t t = 0; t < 20; t++) {
        double x[N], y[N];
        s_series (x, N, 20, 0.01, 100 + t);
        s_series (y, N, 20, 0.01, 200 + t);
        const kc_ratio_t r = kc_ratio (x, y, N, false);
        assert_true (r.comparison == KC_VERDICT_RATIO_COMPARISON_SAME
                     || r.comparison == KC_VERDICT_RATIO_COMPARISON_AMBIGUOUS);
        same += r.comparison == KC_VERDICT_RATIO_COMPARISON_SAME;
    }
    assert_true (same >= 18);
    double x[N], y[N]; // noise that hides a difference of 2 % is admitted to
    s_series (x, N, 20, 0.3, 300);
    s_series (y, N, 20, 0.3, 301);
    assert_int_equal (kc_ratio (x, y, N, false).comparison,
                      KC_VERDICT_RATIO_COMPARISON_AMBIGUOUS);
}

static void a_drift_shared_by_both_does_not_decide (void **state)
{
    (void)state;
    double x[N], y[N];
    for (int i = 0; i < N; i++) { // the GPU slows down by half during the run
        const double drift = 1 + 0.5 * i / N;
        x[i] = 10 * drift * (1 + 0.002 * judge_normal (1, (uint64_t)i));
        y[i] = 10 * drift * (1 + 0.002 * judge_normal (2, (uint64_t)i));
    }
    const kc_ratio_t r = kc_ratio (x, y, N, false);
    assert_true (r.comparison != KC_VERDICT_RATIO_COMPARISON_FASTER
                 && r.comparison != KC_VERDICT_RATIO_COMPARISON_SLOWER);
}

static void an_estimate_is_its_own_interval_with_the_same_thresholds (void **state)
{
    (void)state;
    static const struct {
        double mine, theirs;
        kc_verdict_ratio_comparison_t want;
    } rows[] = {
        {10, 10.3, KC_VERDICT_RATIO_COMPARISON_FASTER},
        {10, 10.1, KC_VERDICT_RATIO_COMPARISON_SAME},
        {10, 9.9, KC_VERDICT_RATIO_COMPARISON_SAME},
        {10, 9.7, KC_VERDICT_RATIO_COMPARISON_SLOWER},
    };
    for (size_t i = 0; i < KC_COUNT (rows); i++) {
        const kc_ratio_t r = kc_ratio (&rows[i].mine, &rows[i].theirs, 1, true);
        assert_int_equal (r.comparison, rows[i].want);
        assert_true (r.has_interval && r.lo == r.value && r.hi == r.value);
    }
}

static void a_time_of_zero_gives_no_ratio (void **state)
{
    (void)state;
    const double zero[1] = {0}, one[1] = {1};
    assert_int_equal (kc_ratio (zero, one, 1, true).comparison,
                      KC_VERDICT_RATIO_COMPARISON_AMBIGUOUS);
    assert_true (kc_ratio (zero, one, 1, true).value == 0);
}

static void quantiles_interpolate_between_neighbours (void **state)
{
    (void)state;
    const double v[4] = {1, 2, 3, 10};
    assert_true (kc_quantile (v, 4, 0) == 1 && kc_quantile (v, 4, 1) == 10);
    assert_true (kc_quantile (v, 4, 0.5) == 2.5);
    const double odd[3] = {9, 1, 5};
    assert_true (kc_median (odd, 3) == 5);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (the_median_lies_in_its_interval_and_the_quartiles_around_it),
        cmocka_unit_test (too_few_samples_get_no_spread_and_no_interval),
        cmocka_unit_test (intervals_repeat_and_scale_with_the_unit),
        cmocka_unit_test (
            the_interval_covers_the_true_median_about_as_often_as_it_says),
        cmocka_unit_test (
            a_clear_difference_is_told_either_way_and_swapping_inverts_it),
        cmocka_unit_test (equal_programs_are_the_same_or_ambiguous_never_faster),
        cmocka_unit_test (a_drift_shared_by_both_does_not_decide),
        cmocka_unit_test (an_estimate_is_its_own_interval_with_the_same_thresholds),
        cmocka_unit_test (a_time_of_zero_gives_no_ratio),
        cmocka_unit_test (quantiles_interpolate_between_neighbours),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
