// Tests of what inputs hold: value ranges inside the fill's domain, repeatable,
// different by seed.

#include "judge_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agents/gpu/judge/kc_compare.h"
#include "agents/gpu/judge/kc_content.h"
#include "common/util/kc_mem.h"

enum { ROWS = 64, COLS = 129, N = ROWS * COLS };
static const int64_t s_sizes[2] = {ROWS, COLS};

static kc_card_fill_t s_fill (kc_card_fill_kind_t kind, double a, double b)
{
    return (kc_card_fill_t){.kind = kind, .has_a = true, .a = a, .has_b = true, .b = b};
}

static kc_card_tensor_t s_tensor (char *name, kc_program_dtype_t dtype,
                                  kc_card_fill_t *fill)
{
    return (kc_card_tensor_t){
        .name = name, .role = KC_CARD_TENSOR_ROLE_INPUT, .dtype = dtype, .fill = fill};
}

static float *s_make (kc_card_fill_t fill, kc_runner_values_t values, int variant,
                      uint64_t seed)
{
    char name[] = "x";
    const kc_card_tensor_t t = s_tensor (name, KC_PROGRAM_DTYPE_F32, &fill);
    const kc_content_t c = kc_content (&t, s_sizes, 2, values, variant, seed);
    assert_int_equal (c.elements, N);
    float *out = kc_calloc (N, sizeof *out);
    kc_content_write (&c, KC_PROGRAM_DTYPE_F32, out);
    return out;
}

static void the_same_case_has_the_same_content_and_another_seed_another (void **state)
{
    (void)state;
    for (int values = KC_RUNNER_VALUES_TASK; values <= KC_RUNNER_VALUES_TABLE;
         values++) {
        float *a = s_make (s_fill (KC_CARD_FILL_KIND_NORMAL, 0, 1),
                           (kc_runner_values_t)values, 0, 42);
        float *b = s_make (s_fill (KC_CARD_FILL_KIND_NORMAL, 0, 1),
                           (kc_runner_values_t)values, 0, 42);
        float *c = s_make (s_fill (KC_CARD_FILL_KIND_NORMAL, 0, 1),
                           (kc_runner_values_t)values, 0, 43);
        assert_memory_equal (a, b, N * sizeof *a);
        assert_memory_not_equal (a, c, N * sizeof *a);
        free (a);
        free (b);
        free (c);
    }
}

static void two_tensors_of_one_case_differ (void **state)
{
    (void)state;
    kc_card_fill_t fill = s_fill (KC_CARD_FILL_KIND_UNIFORM, 0, 1);
    char x[] = "x", w[] = "w";
    const kc_card_tensor_t tx = s_tensor (x, KC_PROGRAM_DTYPE_F32, &fill),
                           tw = s_tensor (w, KC_PROGRAM_DTYPE_F32, &fill);
    assert_true (kc_content (&tx, s_sizes, 2, KC_RUNNER_VALUES_TASK, 0, 1).key
                 != kc_content (&tw, s_sizes, 2, KC_RUNNER_VALUES_TASK, 0, 1).key);
}

static void a_positive_tensor_stays_positive_in_every_range (void **state)
{
    (void)state;
    for (int values = KC_RUNNER_VALUES_TASK; values <= KC_RUNNER_VALUES_TABLE; values++)
        for (int variant = 0; variant < 6; variant++) {
            float *a = s_make (s_fill (KC_CARD_FILL_KIND_UNIFORM, 0.5, 2),
                               (kc_runner_values_t)values, variant, 9);
            for (int i = 0; i < N; i++)
                assert_true (a[i] >= 0.5f && a[i] <= 2.0f);
            free (a);
        }
}

static double s_rms (const float *a, double *mean)
{
    double sum = 0, squares = 0;
    for (int i = 0; i < N; i++) {
        sum += (double)a[i];
        squares += (double)a[i] * (double)a[i];
    }
    *mean = sum / N;
    return sqrt (squares / N);
}

static void scaled_values_have_zero_mean_and_three_magnitudes (void **state)
{
    (void)state;
    static const double scale[3] = {1, 8, 1e-2};
    for (int variant = 0; variant < 3; variant++) {
        double mean;
        float *a = s_make (s_fill (KC_CARD_FILL_KIND_NORMAL, 0, 1),
                           KC_RUNNER_VALUES_SCALED, variant, 5);
        const double rms = s_rms (a, &mean);
        assert_true (rms > 0.9 * scale[variant] && rms < 1.1 * scale[variant]);
        assert_true (fabs (mean) < 0.1 * scale[variant]);
        free (a);
    }
}

static void
structured_values_hide_the_work_from_whoever_looks_at_a_prefix (void **state)
{
    (void)state;
    float *suffix = s_make (s_fill (KC_CARD_FILL_KIND_NORMAL, 0, 1),
                            KC_RUNNER_VALUES_STRUCTURED, 0, 5);
    double early = 0, late = 0;
    for (int r = 0; r < ROWS - 8; r++) {
        for (int c = 0; c < COLS / 2; c++)
            early = fmax (early, fabs ((double)suffix[r * COLS + c]));
        for (int c = COLS - 4; c < COLS; c++)
            late = fmax (late, fabs ((double)suffix[r * COLS + c]));
    }
    assert_true (late > 10 * early && early > 0);
    free (suffix);
    float *spikes = s_make (s_fill (KC_CARD_FILL_KIND_NORMAL, 0, 1),
                            KC_RUNNER_VALUES_STRUCTURED, 1, 5);
    int high = 0;
    for (int i = 0; i < N; i++)
        high += spikes[i] > 1;
    assert_true (high > 0 && high < N / 20);
    free (spikes);
    float *ramp = s_make (s_fill (KC_CARD_FILL_KIND_UNIFORM, -1, 1),
                          KC_RUNNER_VALUES_STRUCTURED, 2, 5);
    assert_true (ramp[0] == 0.02f && ramp[N - 1] == 1.0f && ramp[N / 3] < ramp[N / 2]);
    free (ramp);
}

static void integers_booleans_and_permutations_keep_their_meaning (void **state)
{
    (void)state;
    for (int values = KC_RUNNER_VALUES_TASK; values <= KC_RUNNER_VALUES_TABLE;
         values++) {
        kc_card_fill_t fill = s_fill (KC_CARD_FILL_KIND_INTEGER, -3, 12);
        char name[] = "i";
        kc_card_tensor_t t = s_tensor (name, KC_PROGRAM_DTYPE_I64, &fill);
        int64_t *a = kc_calloc (N, sizeof *a);
        kc_content_t c = kc_content (&t, s_sizes, 2, (kc_runner_values_t)values, 1, 77);
        kc_content_write (&c, KC_PROGRAM_DTYPE_I64, a);
        for (int i = 0; i < N; i++)
            assert_true (a[i] >= -3 && a[i] <= 12);
        fill = s_fill (KC_CARD_FILL_KIND_PERMUTATION, 0, 0);
        c = kc_content (&t, s_sizes, 2, (kc_runner_values_t)values, 1, 77);
        kc_content_write (&c, KC_PROGRAM_DTYPE_I64, a);
        char *seen = kc_calloc (N, 1);
        for (int i = 0; i < N; i++) {
            assert_true (a[i] >= 0 && a[i] < N && !seen[a[i]]);
            seen[a[i]] = 1;
        }
        free (seen);
        free (a);
    }
}

static void drawn_content_has_the_distribution_of_the_fill (void **state)
{
    (void)state;
    enum { MANY = 300000 };
    const kc_card_fill_t fill = s_fill (KC_CARD_FILL_KIND_NORMAL, 3, 2);
    float *a = kc_calloc (MANY, sizeof *a);
    kc_content_drawn (&fill, KC_PROGRAM_DTYPE_F32, 11, MANY, a);
    double sum = 0, squares = 0;
    for (int i = 0; i < MANY; i++) {
        sum += (double)a[i];
        squares += (double)a[i] * (double)a[i];
    }
    const double mean = sum / MANY;
    assert_true (fabs (mean - 3) < 0.05);
    assert_true (fabs (sqrt (squares / MANY - mean * mean) - 2) < 0.05);
    int repeats = 0; // neighbours are not the table in order
    for (int i = KC_CONTENT_TABLE; i < MANY; i++)
        repeats += a[i] == a[i - KC_CONTENT_TABLE];
    assert_true (repeats < MANY / 1000);
    free (a);
}

static void a_widened_input_is_the_rounded_value_itself (void **state)
{
    (void)state;
    float *a =
        s_make (s_fill (KC_CARD_FILL_KIND_NORMAL, 0, 1), KC_RUNNER_VALUES_TASK, 0, 3);
    double *wide = kc_calloc (N, sizeof *wide);
    kc_content_widen (KC_PROGRAM_DTYPE_F32, a, N, wide);
    for (int i = 0; i < N; i++)
        assert_true (wide[i] == (double)a[i]);
    free (a);
    free (wide);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (the_same_case_has_the_same_content_and_another_seed_another),
        cmocka_unit_test (two_tensors_of_one_case_differ),
        cmocka_unit_test (a_positive_tensor_stays_positive_in_every_range),
        cmocka_unit_test (scaled_values_have_zero_mean_and_three_magnitudes),
        cmocka_unit_test (
            structured_values_hide_the_work_from_whoever_looks_at_a_prefix),
        cmocka_unit_test (integers_booleans_and_permutations_keep_their_meaning),
        cmocka_unit_test (drawn_content_has_the_distribution_of_the_fill),
        cmocka_unit_test (a_widened_input_is_the_rounded_value_itself),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
