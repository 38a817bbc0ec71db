// Tests of cases and verdicts: what is tried, what a finding says, floors, labels,
// cache keys.

#include "judge_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agents/gpu/judge/kc_cases.h"
#include "agents/gpu/judge/kc_judge.h"
#include "common/util/kc_mem.h"

static kc_card_t *s_card (size_t checks)
{
    static const char text[] =
        "{\"format\":1,\"kind\":\"cuda\",\"name\":\"t\",\"dims\":[{\"name\":\"B\","
        "\"value\":4096},{\"name\":\"D\",\"value\":1024}],"
        "\"tensors\":[{\"name\":\"x\",\"role\":\"input\",\"dtype\":\"f32\",\"shape\":["
        "\"B\",\"D\"],\"sizes\":[4096,1024],"
        "\"fill\":{\"kind\":\"normal\",\"a\":0,\"b\":1}},"
        "{\"name\":\"y\",\"role\":\"output\",\"dtype\":\"f32\",\"shape\":[\"B\"],"
        "\"sizes\":[4096]}],"
        "\"policy\":\"fp32\",\"device\":{\"backend\":\"vgpu\",\"gpu\":\"NVIDIA "
        "H200\",\"sm\":90,\"sms\":132,\"l2_bytes\":62914560,\"bandwidth\":4.8e12},"
        "\"floor\":{\"read_bytes\":480000000,\"write_bytes\":16384,\"bytes\":480016384,"
        "\"bytes_us\":100.0034,\"us\":100.0034}}";
    kc_errs_t errs = {0};
    kc_card_t *card = kc_card_decode (text, sizeof text - 1, KC_STRICT, &errs);
    assert_non_null (card);
    for (size_t i = 0; i < checks; i++) {
        kc_card_check_t *c = kc_push (&card->checks, &card->n_checks, sizeof *c);
        kc_type_init (&kc_card_check_type, c);
        kc_task_setting_t *d = kc_push (&c->dims, &c->n_dims, sizeof *d);
        kc_type_init (&kc_task_setting_type, d);
        kc_set (&d->name, "B");
        d->value = 5 + (int64_t)i;
    }
    return card;
}

// A document that breaks its schema would never reach the planner.
static void s_check_schema (const kc_verdict_t *v)
{
    kc_errs_t errs = {0};
    if (kc_type_check (&kc_verdict_type, v, &errs) < 0) {
        char *text = kc_errs_text (&errs);
        print_error ("%s\n", text);
        free (text);
        fail ();
    }
}

static void every_shape_and_value_range_comes_before_any_of_them_twice (void **state)
{
    (void)state;
    kc_card_t *card = s_card (2);
    const kc_cases_options_t options = {0};
    size_t n;
    kc_runner_case_t *cases = kc_cases (card, "secret", &options, &n);
    assert_true (n <= KC_CASES_LAUNCHES);
    for (size_t i = 0; i < 18; i++)
        assert_int_equal (cases[i].variant, 0);
    int seen[3][4] = {{0}};
    for (size_t i = 0; i < n; i++)
        if (cases[i].run == 0)
            seen[cases[i].shape][cases[i].values]++;
    for (int s = 0; s < 3; s++)
        for (int v = KC_RUNNER_VALUES_TASK; v <= KC_RUNNER_VALUES_STRUCTURED; v++)
            assert_true (seen[s][v] >= KC_CASES_SEEDS);
    free (cases);
    kc_card_free (&card);
}

static void both_poisons_and_another_placement_meet_the_same_content (void **state)
{
    (void)state;
    kc_card_t *card = s_card (1);
    const kc_cases_options_t options = {0};
    size_t n, pairs = 0;
    kc_runner_case_t *cases = kc_cases (card, "secret", &options, &n);
    for (size_t i = 1; i < n; i++) {
        if (cases[i].run != 1)
            continue;
        pairs++;
        assert_int_equal (cases[i].seed, cases[i - 1].seed);
        assert_int_equal (cases[i].shape, cases[i - 1].shape);
        assert_int_equal (cases[i].values, cases[i - 1].values);
        assert_int_not_equal (cases[i].poison, cases[i - 1].poison);
        assert_int_not_equal (cases[i].layout, cases[i - 1].layout);
    }
    assert_true (pairs >= 6);
    free (cases);
    kc_card_free (&card);
}

static void seeds_follow_from_the_secret_and_from_nothing_a_program_knows (void **state)
{
    (void)state;
    kc_card_t *card = s_card (2);
    const kc_cases_options_t options = {0};
    size_t n, m;
    kc_runner_case_t *a = kc_cases (card, "one", &options, &n),
                     *b = kc_cases (card, "one", &options, &m),
                     *c = kc_cases (card, "two", &options, &m);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal (a[i].seed, b[i].seed);
        assert_int_not_equal (a[i].seed, c[i].seed);
        for (size_t k = 0; k < i; k++)
            assert_true (a[k].seed != a[i].seed || a[i].run != a[k].run);
    }
    char x[KC_SECRET_HEX], y[KC_SECRET_HEX];
    kc_secret (x);
    kc_secret (y);
    assert_string_not_equal (x, y);
    free (a);
    free (b);
    free (c);
    kc_card_free (&card);
}

static void
a_costly_full_shape_comes_last_and_bounded_and_confirming_tries_more (void **state)
{
    (void)state;
    kc_card_t *card = s_card (2);
    const kc_cases_options_t search = {.full_is_costly = true, .full_instructions = 7},
                             confirm = {.confirm = true,
                                        .full_is_costly = true,
                                        .full_instructions = 7};
    size_t n, m;
    kc_runner_case_t *a = kc_cases (card, "s", &search, &n),
                     *b = kc_cases (card, "s", &confirm, &m);
    assert_true (m > n);
    for (size_t i = 0; i + 1 < n; i++)
        assert_int_not_equal (a[i].shape, 2);
    assert_int_equal (a[n - 1].shape, 2);
    assert_int_equal (a[n - 1].values, KC_RUNNER_VALUES_TABLE);
    assert_int_equal (a[n - 1].instructions, 7);
    free (a);
    free (b);
    kc_card_free (&card);
}

static void
a_large_task_shape_has_each_value_range_once_and_one_repetition (void **state)
{
    (void)state;
    kc_card_t *card = s_card (2);
    const kc_cases_options_t options = {.full_seeds = 1};
    size_t n;
    kc_runner_case_t *cases = kc_cases (card, "s", &options, &n);
    int seen[KC_RUNNER_VALUES_TABLE + 1] = {0}, repeats = 0;
    for (size_t i = 0; i < n; i++)
        if (cases[i].shape == 2) {
            seen[cases[i].values] += cases[i].run == 0;
            repeats += cases[i].run == 1;
        }
    for (int v = KC_RUNNER_VALUES_TASK; v <= KC_RUNNER_VALUES_STRUCTURED; v++)
        assert_int_equal (seen[v], 1);
    assert_int_equal (repeats, 1);
    free (cases);
    kc_card_free (&card);
}

static void a_wrong_element_is_told_with_all_that_a_repair_needs (void **state)
{
    (void)state;
    const double expected[6] = {1, 2, 3, 4, 5, 6};
    const float got[6] = {1, 2, 3, 4, 50, 6};
    const kc_compare_spec_t spec = {
        .tolerance = kc_tolerance (KC_CARD_POLICY_FP32, KC_PROGRAM_DTYPE_F32, 1, true),
        .got_dtype = KC_PROGRAM_DTYPE_F32,
        .expected_dtype = KC_PROGRAM_DTYPE_F64,
        .elements = 6,
        .expected = expected,
        .poison = 0xff};
    kc_compare_t c;
    kc_compare_start (&c, &spec);
    kc_compare_feed (&c, got, sizeof got);
    kc_verdict_t *v = kc_judge_new (NULL);
    const int64_t sizes[2] = {2, 3};
    assert_false (kc_judge_output (v, &c, kc_compare_end (&c), "y", sizes, 2,
                                   "B=2 D=3 (check), values task, seed 0, run 0"));
    assert_int_equal (v->status, KC_VERDICT_STATUS_WRONG_OUTPUT);
    const kc_verdict_finding_t *f = &v->findings[0];
    assert_string_equal (f->buffer, "y");
    assert_int_equal (f->index, 4);
    assert_int_equal (f->position[0], 1);
    assert_int_equal (f->position[1], 1);
    assert_true (f->has_expected && f->expected == 5 && f->has_got && f->got == 50);
    assert_int_equal (f->bad_elements, 1);
    assert_int_equal (f->elements, 6);
    assert_non_null (strstr (f->case_, "D=3"));
    assert_non_null (strstr (f->text, "y[1,1]"));
    s_check_schema (v);
    kc_verdict_free (&v);
}

static void poison_and_nan_are_told_as_such_and_keep_the_schema (void **state)
{
    (void)state;
    const double expected[200] = {0.5};
    float got[200];
    memset (got, 0xff, sizeof got);
    const kc_compare_spec_t spec = {
        .tolerance = kc_tolerance (KC_CARD_POLICY_FP32, KC_PROGRAM_DTYPE_F32, 1, true),
        .got_dtype = KC_PROGRAM_DTYPE_F32,
        .expected_dtype = KC_PROGRAM_DTYPE_F64,
        .elements = 200,
        .expected = expected,
        .poison = 0xff};
    kc_compare_t c;
    kc_compare_start (&c, &spec);
    kc_compare_feed (&c, got, sizeof got);
    kc_verdict_t *v = kc_judge_new (NULL);
    const int64_t sizes[1] = {200};
    kc_judge_output (v, &c, kc_compare_end (&c), "y", sizes, 1, "case");
    assert_non_null (strstr (v->findings[0].text, "never written"));
    assert_false (v->findings[0].has_got);
    s_check_schema (v);
    kc_verdict_free (&v);
}

static void a_time_below_what_the_bytes_need_is_impossible (void **state)
{
    (void)state;
    kc_card_t *card = s_card (0);
    assert_true (fabs (kc_judge_byte_floor (card) - 100)
                 < 0.01); // the few bytes written fit in the L2
    static const struct {
        double us;
        bool possible;
    } rows[] = {{94, false}, {96, true}, {200, true}};
    for (size_t i = 0; i < KC_COUNT (rows); i++) {
        kc_verdict_t *v = kc_judge_new (card);
        assert_true (kc_judge_timing (v, KC_VERDICT_TIMING_WHO_CANDIDATE, &rows[i].us,
                                      1, false, true));
        kc_judge_floor (v, card, false);
        assert_int_equal (v->status, rows[i].possible ? KC_VERDICT_STATUS_OK
                                                      : KC_VERDICT_STATUS_IMPOSSIBLE);
        assert_true (kc_judge_has_label (v, KC_VERDICT_LABEL_ESTIMATE));
        if (!rows[i].possible)
            assert_non_null (strstr (v->findings[0].text, "estimate"));
        assert_true (v->has_floor_share
                     && fabs (v->floor_share * rows[i].us - 100.0034) < 1e-6);
        s_check_schema (v);
        kc_verdict_free (&v);
    }
    kc_card_free (&card);
}

static void
a_speedup_beyond_ten_is_audited_until_a_second_evaluation_agrees (void **state)
{
    (void)state;
    kc_card_t *card = s_card (0);
    for (int second = 0; second < 2; second++) {
        const double mine = 110, theirs = 1200;
        kc_verdict_t *v = kc_judge_new (card);
        kc_judge_timing (v, KC_VERDICT_TIMING_WHO_CANDIDATE, &mine, 1, false, true);
        kc_judge_timing (v, KC_VERDICT_TIMING_WHO_BASELINE, &theirs, 1, false, true);
        kc_judge_ratio (v, KC_VERDICT_RATIO_OVER_BASELINE, &mine, &theirs, 1, true);
        kc_judge_floor (v, card, second == 1);
        assert_int_equal (v->status, KC_VERDICT_STATUS_OK);
        assert_int_equal (kc_judge_has_label (v, KC_VERDICT_LABEL_AUDIT), second == 0);
        assert_int_equal (v->ratios[0].comparison, KC_VERDICT_RATIO_COMPARISON_FASTER);
        s_check_schema (v);
        kc_verdict_free (&v);
    }
    kc_card_free (&card);
}

static void times_that_are_no_times_are_no_measurement (void **state)
{
    (void)state;
    const double bad[4] = {0.0, -1, (double)NAN, (double)INFINITY};
    for (int i = 0; i < 4; i++) {
        kc_verdict_t *v = kc_judge_new (NULL);
        const double us[3] = {10, bad[i], 10};
        assert_false (
            kc_judge_timing (v, KC_VERDICT_TIMING_WHO_CANDIDATE, us, 3, false, false));
        assert_int_equal (v->status, KC_VERDICT_STATUS_NO_MEASUREMENT);
        assert_int_equal (v->n_timings, 0);
        s_check_schema (v);
        kc_verdict_free (&v);
    }
    kc_verdict_t *v = kc_judge_new (NULL);
    assert_false (
        kc_judge_timing (v, KC_VERDICT_TIMING_WHO_CANDIDATE, NULL, 0, false, false));
    kc_verdict_free (&v);
}

static void few_samples_report_no_interval_and_no_quartiles (void **state)
{
    (void)state;
    const double us[2] = {10, 12};
    kc_verdict_t *v = kc_judge_new (NULL);
    kc_judge_timing (v, KC_VERDICT_TIMING_WHO_CANDIDATE, us, 2, true, false);
    assert_false (v->timings[0].has_lo_us || v->timings[0].has_q1_us
                  || v->timings[0].has_stdev_us);
    assert_int_equal (v->timings[0].launch, KC_VERDICT_TIMING_LAUNCH_GRAPH);
    s_check_schema (v);
    kc_verdict_free (&v);
}

static void only_lasting_verdicts_are_cached (void **state)
{
    (void)state;
    for (int s = KC_VERDICT_STATUS_OK; s <= KC_VERDICT_STATUS_INFRA_ERROR; s++) {
        kc_verdict_t *v = kc_judge_new (NULL);
        v->status = (kc_verdict_status_t)s;
        const bool never = s == KC_VERDICT_STATUS_TIMEOUT
                           || s == KC_VERDICT_STATUS_LAUNCH_ERROR
                           || s == KC_VERDICT_STATUS_NO_MEASUREMENT
                           || s == KC_VERDICT_STATUS_INFRA_ERROR;
        assert_int_equal (kc_judge_cacheable (v), !never);
        kc_judge_label (v, KC_VERDICT_LABEL_NONDETERMINISTIC);
        kc_judge_label (v, KC_VERDICT_LABEL_NONDETERMINISTIC);
        assert_int_equal (v->n_labels, 1);
        assert_false (kc_judge_cacheable (v));
        kc_verdict_free (&v);
    }
}

static void the_cache_key_changes_with_everything_a_verdict_depends_on (void **state)
{
    (void)state;
    kc_card_t *card = s_card (1), *other = s_card (1);
    other->policy = KC_CARD_POLICY_TF32;
    const char *yard[1] = {"h1"}, *yard2[1] = {"h2"};
    const kc_judge_key_t keys[] = {
        {.code_hash = "a",
         .card = card,
         .yardsticks = yard,
         .n_yardsticks = 1,
         .compiler = "c",
         .timed = true},
        {.code_hash = "b",
         .card = card,
         .yardsticks = yard,
         .n_yardsticks = 1,
         .compiler = "c",
         .timed = true},
        {.code_hash = "a",
         .card = other,
         .yardsticks = yard,
         .n_yardsticks = 1,
         .compiler = "c",
         .timed = true},
        {.code_hash = "a",
         .card = card,
         .yardsticks = yard2,
         .n_yardsticks = 1,
         .compiler = "c",
         .timed = true},
        {.code_hash = "a",
         .card = card,
         .yardsticks = yard,
         .n_yardsticks = 0,
         .compiler = "c",
         .timed = true},
        {.code_hash = "a",
         .card = card,
         .yardsticks = yard,
         .n_yardsticks = 1,
         .compiler = "d",
         .timed = true},
        {.code_hash = "a",
         .card = card,
         .yardsticks = yard,
         .n_yardsticks = 1,
         .compiler = "c",
         .timed = false},
    };
    char hex[KC_COUNT (keys)][KC_SHA_HEX], again[KC_SHA_HEX];
    for (size_t i = 0; i < KC_COUNT (keys); i++) {
        assert_int_equal (kc_judge_cache_key (&keys[i], hex[i]), 0);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal (hex[k], hex[i]);
    }
    kc_judge_cache_key (&keys[0], again);
    assert_string_equal (again, hex[0]);
    kc_card_free (&card);
    kc_card_free (&other);
}

static void the_reduction_bound_sees_what_no_output_keeps (void **state)
{
    (void)state;
    kc_card_t *card = s_card (0); // x[B, D] -> y[B]
    const int64_t sizes[2][KC_COMPARE_RANK] = {{64, 1000}, {64}};
    const int rank[2] = {2, 1};
    const double bound = kc_reduction_bound (card, sizes, rank);
    assert_true (bound >= 1000 && bound <= 64000);
    kc_card_free (&card);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (every_shape_and_value_range_comes_before_any_of_them_twice),
        cmocka_unit_test (both_poisons_and_another_placement_meet_the_same_content),
        cmocka_unit_test (
            seeds_follow_from_the_secret_and_from_nothing_a_program_knows),
        cmocka_unit_test (
            a_costly_full_shape_comes_last_and_bounded_and_confirming_tries_more),
        cmocka_unit_test (
            a_large_task_shape_has_each_value_range_once_and_one_repetition),
        cmocka_unit_test (a_wrong_element_is_told_with_all_that_a_repair_needs),
        cmocka_unit_test (poison_and_nan_are_told_as_such_and_keep_the_schema),
        cmocka_unit_test (a_time_below_what_the_bytes_need_is_impossible),
        cmocka_unit_test (
            a_speedup_beyond_ten_is_audited_until_a_second_evaluation_agrees),
        cmocka_unit_test (times_that_are_no_times_are_no_measurement),
        cmocka_unit_test (few_samples_report_no_interval_and_no_quartiles),
        cmocka_unit_test (only_lasting_verdicts_are_cached),
        cmocka_unit_test (the_cache_key_changes_with_everything_a_verdict_depends_on),
        cmocka_unit_test (the_reduction_bound_sees_what_no_output_keeps),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
