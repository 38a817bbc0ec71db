// Tests of the comparison: one predicate, scaled limits, places of NaN and infinity,
// every type.

#include "judge_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agents/gpu/judge/kc_compare.h"
#include "common/util/kc_mem.h"

enum { N = 4096 };

static kc_compare_t s_run (const kc_compare_spec_t *spec, const void *got, size_t piece,
                           bool *right)
{
    kc_compare_t c;
    kc_compare_start (&c, spec);
    const size_t size = (size_t)spec->elements * kc_element_size (spec->got_dtype);
    for (size_t at = 0; at < size; at += piece)
        kc_compare_feed (&c, (const char *)got + at,
                         size - at < piece ? size - at : piece);
    *right = kc_compare_end (&c);
    return c;
}

static kc_compare_spec_t s_spec (const double *expected, int64_t n)
{
    return (kc_compare_spec_t){
        .tolerance = kc_tolerance (KC_CARD_POLICY_FP32, KC_PROGRAM_DTYPE_F32, 1, true),
        .got_dtype = KC_PROGRAM_DTYPE_F32,
        .expected_dtype = KC_PROGRAM_DTYPE_F64,
        .elements = n,
        .expected = expected,
        .poison = -1};
}

typedef struct pair {
    double expected[N];
    float got[N];
} pair_t;

static pair_t *s_pair (double scale)
{
    pair_t *p = kc_calloc (1, sizeof *p);
    for (int i = 0; i < N; i++) {
        p->expected[i] = scale * judge_normal (7, (uint64_t)i);
        p->got[i] = (float)p->expected[i];
    }
    return p;
}

static void a_rounded_result_is_right_in_pieces_of_any_size (void **state)
{
    (void)state;
    pair_t *p = s_pair (3);
    const kc_compare_spec_t spec = s_spec (p->expected, N);
    static const size_t pieces[] = {1, 3, 4, 7, 1000, sizeof p->got};
    uint64_t digest = 0;
    for (size_t i = 0; i < KC_COUNT (pieces); i++) {
        bool right;
        const kc_compare_t c = s_run (&spec, p->got, pieces[i], &right);
        assert_true (right);
        assert_int_equal (c.at, N);
        assert_true (c.max_scaled < 0.01);
        if (i > 0)
            assert_true (c.digest == digest);
        digest = c.digest;
    }
    free (p);
}

static void zeros_fail_however_small_the_expected_values_are (void **state)
{
    (void)state;
    for (double scale = 1e-30; scale < 1e30; scale *= 1e6) {
        pair_t *p = s_pair (scale);
        memset (p->got, 0, sizeof p->got);
        const kc_compare_spec_t spec = s_spec (p->expected, N);
        bool right;
        const kc_compare_t c = s_run (&spec, p->got, 4096, &right);
        assert_false (right);
        assert_true (c.max_scaled > 3); // by a margin
        assert_true (c.bad > N / 2);
        free (p);
    }
}

static void one_wrong_element_is_found_with_its_place_and_values (void **state)
{
    (void)state;
    for (int at = 0; at < N; at += 777) {
        pair_t *p = s_pair (1);
        p->got[at] += 0.01f;
        const kc_compare_spec_t spec = s_spec (p->expected, N);
        bool right;
        const kc_compare_t c = s_run (&spec, p->got, 64, &right);
        assert_false (right);
        assert_int_equal (c.bad, 1);
        assert_int_equal (c.first_bad, at);
        assert_true (c.got == (double)p->got[at]);
        assert_true (c.expected == p->expected[at]);
        int64_t position[3];
        const int64_t sizes[3] = {4, 32, 32};
        kc_position (c.first_bad, sizes, 3, position);
        assert_int_equal ((position[0] * 32 + position[1]) * 32 + position[2], at);
        free (p);
    }
}

static void verdict_and_count_agree_at_the_limit_in_both_orders (void **state)
{
    (void)state;
    for (int i = 0; i < 2000; i++) {
        double expected[2] = {1.0, 1.0 + 3 * judge_uniform (1, (uint64_t)i)};
        float got[2] = {
            1.0f,
            (float)(expected[1] * (1 + 4e-5 * (judge_uniform (2, (uint64_t)i) - 0.5)))};
        for (int order = 0; order < 2; order++) {
            kc_compare_spec_t spec = s_spec (expected, 2);
            spec.tolerance.relative = 0;
            bool right;
            const kc_compare_t c = s_run (&spec, got, 8, &right);
            assert_int_equal (right, c.bad == 0);
            assert_int_equal (c.bad > 0, c.max_scaled > 1);
            const double swap = expected[1];
            expected[1] = (double)got[1];
            got[1] = (float)swap;
        }
    }
}

static void nan_is_right_only_where_it_is_expected (void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        pair_t *p = s_pair (1);
        static const int places[3] = {5, 100, 4000};
        for (int i = 0; i < 3; i++)
            p->expected[places[i]] = (double)NAN;
        for (int i = 0; i < 3; i++)
            p->got[places[i]] = kind == 1 ? 1.0f : NAN;
        if (kind == 2)
            p->got[6] = NAN;
        const kc_compare_spec_t spec = s_spec (p->expected, N);
        bool right;
        const kc_compare_t c = s_run (&spec, p->got, 100, &right);
        assert_int_equal (right, kind == 0);
        assert_int_equal (c.bad, kind == 0 ? 0 : kind == 1 ? 3 : 1);
        free (p);
    }
}

static void
infinities_need_sign_and_place_and_overflow_of_the_type_counts (void **state)
{
    (void)state;
    double expected[5] = {INFINITY, -INFINITY, 1e300, -1e300, 1};
    float good[5] = {INFINITY, -INFINITY, INFINITY, -INFINITY, 1};
    bool right;
    kc_compare_spec_t spec = s_spec (expected, 5);
    s_run (&spec, good, 20, &right);
    assert_true (right);
    for (int i = 0; i < 4; i++) {
        float bad[5];
        memcpy (bad, good, sizeof bad);
        bad[i] = -bad[i];
        const kc_compare_t c = s_run (&spec, bad, 20, &right);
        assert_false (right);
        assert_int_equal (c.first_bad, i);
    }
}

static void what_was_never_written_is_told_from_what_is_wrong (void **state)
{
    (void)state;
    static const int poisons[2] = {0xff, 0x7b};
    for (int i = 0; i < 2; i++) {
        pair_t *p = s_pair (1);
        memset (&p->got[N - 9], poisons[i], 9 * sizeof p->got[0]);
        p->got[N - 9] = 100;
        kc_compare_spec_t spec = s_spec (p->expected, N);
        spec.poison = poisons[i];
        bool right;
        const kc_compare_t c = s_run (&spec, p->got, 1000, &right);
        assert_false (right);
        assert_int_equal (c.bad, 9);
        assert_int_equal (c.unwritten, 8);
        assert_false (c.first_unwritten);
        free (p);
    }
}

static void tensor_core_precision_fails_strict_fp32_and_passes_tf32 (void **state)
{
    (void)state;
    pair_t *p = s_pair (1);
    for (int i = 0; i < N;
         i++) { // ten fraction bits, as after a product of rounded numbers
        uint32_t bits;
        memcpy (&bits, &p->got[i], 4);
        bits = (bits + 0x1000u) & ~0x1fffu;
        memcpy (&p->got[i], &bits, 4);
    }
    kc_compare_spec_t spec = s_spec (p->expected, N);
    bool right;
    spec.tolerance =
        kc_tolerance (KC_CARD_POLICY_FP32, KC_PROGRAM_DTYPE_F32, 65536, true);
    const kc_compare_t c = s_run (&spec, p->got, 4096, &right);
    assert_false (right);
    assert_true (c.gate_b);
    spec.tolerance =
        kc_tolerance (KC_CARD_POLICY_TF32, KC_PROGRAM_DTYPE_F32, 65536, true);
    s_run (&spec, p->got, 4096, &right);
    assert_true (right);
    free (p);
}

static void a_plain_float_sum_of_2048_products_is_within_the_limits (void **state)
{
    (void)state;
    enum { TERMS = 2048 };
    pair_t *p = s_pair (1);
    for (int i = 0; i < N; i++) {
        float sum = 0;
        double exact = 0;
        for (int k = 0; k < TERMS; k++) {
            const float a = (float)judge_normal (1, (uint64_t)(i * TERMS + k)), b = (float)judge_normal (2, (uint64_t)(i * TERMS + k));
            sum += a * b;
            exact += (double)a * (double)b;
        }
        p->got[i] = sum;
        p->expected[i] = exact;
    }
    kc_compare_spec_t spec = s_spec (p->expected, N);
    bool right;
    spec.tolerance = kc_tolerance (KC_CARD_POLICY_FP32, KC_PROGRAM_DTYPE_F32, TERMS, true);
    const kc_compare_t c = s_run (&spec, p->got, 4096, &right);
    assert_true (right);
    assert_true (c.max_scaled < 0.5); // room for the millions of elements of a large product
    free (p);
}

static void gate_b_sees_an_error_spread_thinly_over_all_elements (void **state)
{
    (void)state;
    pair_t *p = s_pair (1);
    for (int i = 0; i < N; i++)
        p->got[i] = (float)(p->expected[i] + (i % 2 ? 8e-6 : -8e-6));
    const kc_compare_spec_t spec = s_spec (p->expected, N);
    bool right;
    const kc_compare_t c = s_run (&spec, p->got, 4096, &right);
    assert_false (right);
    assert_int_equal (c.bad, 0);
    assert_true (c.gate_b);
    free (p);
}

static void a_sum_near_zero_is_judged_by_its_size_over_the_seeds (void **state)
{
    (void)state;
    double expected[1] = {0.01}; // by chance; sums of this kind are about 1,000
    float got[1] = {0.0113f};
    kc_compare_spec_t spec = s_spec (expected, 1);
    bool right;
    s_run (&spec, got, 4, &right);
    assert_false (right);
    spec.group_rms = 1000;
    s_run (&spec, got, 4, &right);
    assert_true (right);
    got[0] = 1.0f; // but not everything passes
    s_run (&spec, got, 4, &right);
    assert_false (right);
}

static void integers_and_booleans_are_exact_to_the_last_bit (void **state)
{
    (void)state;
    static const kc_program_dtype_t types[] = {
        KC_PROGRAM_DTYPE_I64, KC_PROGRAM_DTYPE_I32, KC_PROGRAM_DTYPE_I16,
        KC_PROGRAM_DTYPE_I8,  KC_PROGRAM_DTYPE_U32, KC_PROGRAM_DTYPE_U16,
        KC_PROGRAM_DTYPE_U8,  KC_PROGRAM_DTYPE_BOOL};
    for (size_t t = 0; t < KC_COUNT (types); t++) {
        const size_t size = kc_element_size (types[t]);
        unsigned char want[64 * 8], got[64 * 8];
        for (size_t i = 0; i < sizeof want; i++)
            want[i] = got[i] = (unsigned char)kc_mix (i);
        kc_compare_spec_t spec = {
            .tolerance = kc_tolerance (KC_CARD_POLICY_FP32, types[t], 100, true),
            .got_dtype = types[t],
            .expected_dtype = types[t],
            .elements = 64,
            .expected = want,
            .poison = -1};
        bool right;
        s_run (&spec, got, 5, &right);
        assert_true (right);
        got[17 * size] ^= 1; // the lowest bit: for i64 beyond what a double can tell
        const kc_compare_t c = s_run (&spec, got, 5, &right);
        assert_false (right);
        assert_int_equal (c.first_bad, 17);
        assert_int_equal (c.bad, 1);
    }
}

static void
every_float_type_takes_its_own_rounding_and_refuses_a_coarser_one (void **state)
{
    (void)state;
    static const struct {
        kc_program_dtype_t dtype;
        kc_card_policy_t policy;
        double wrong; // relative error that must fail
    } types[] = {
        {KC_PROGRAM_DTYPE_F64, KC_CARD_POLICY_FP64, 1e-7},
        {KC_PROGRAM_DTYPE_F32, KC_CARD_POLICY_FP32, 1e-3},
        {KC_PROGRAM_DTYPE_F16, KC_CARD_POLICY_FP16, 1e-2},
        {KC_PROGRAM_DTYPE_BF16, KC_CARD_POLICY_BF16, 8e-2},
        {KC_PROGRAM_DTYPE_F8E4M3, KC_CARD_POLICY_FP16, 0.9},
        {KC_PROGRAM_DTYPE_F8E5M2, KC_CARD_POLICY_FP16, 1.5},
    };
    static const uint32_t fill[] = {KC_FILL_F64,  KC_FILL_F32,    KC_FILL_F16,
                                    KC_FILL_BF16, KC_FILL_F8E4M3, KC_FILL_F8E5M2};
    for (size_t t = 0; t < KC_COUNT (types); t++) {
        double expected[512];
        unsigned char got[512 * 8];
        const size_t size = kc_element_size (types[t].dtype);
        for (int wrong = 0; wrong < 2; wrong++) {
            for (int i = 0; i < 512; i++) {
                expected[i] = judge_normal (3, (uint64_t)i);
                const double value =
                    expected[i] * (wrong && i == 300 ? 0 : 1)
                    + (wrong && i == 300 ? expected[i] + types[t].wrong * 2 : 0);
                const uint64_t bits = kc_encode (fill[t], value);
                memcpy (got + (size_t)i * size, &bits, size);
            }
            const kc_compare_spec_t spec = {
                .tolerance = kc_tolerance (types[t].policy, types[t].dtype, 1, true),
                .got_dtype = types[t].dtype,
                .expected_dtype = KC_PROGRAM_DTYPE_F64,
                .elements = 512,
                .expected = expected,
                .poison = -1};
            bool right;
            const kc_compare_t c = s_run (&spec, got, 512, &right);
            assert_int_equal (right, !wrong);
            if (wrong)
                assert_int_equal (c.first_bad, 300);
        }
    }
}

static void
encoding_and_decoding_of_small_floats_agree_for_every_bit_pattern (void **state)
{
    (void)state;
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        const uint16_t b = (uint16_t)bits;
        const double h = kc_element (KC_PROGRAM_DTYPE_F16, &b),
                     f = kc_element (KC_PROGRAM_DTYPE_BF16, &b);
        if (isfinite (h))
            assert_int_equal (kc_encode (KC_FILL_F16, h),
                              h == 0 && bits >> 15 ? 0x8000 : bits);
        if (isfinite (f))
            assert_int_equal (kc_encode (KC_FILL_BF16, f),
                              f == 0 && bits >> 15 ? 0x8000 : bits);
        if (bits < 0x100) {
            const uint8_t s = (uint8_t)bits;
            const double e4 = kc_element (KC_PROGRAM_DTYPE_F8E4M3, &s),
                         e5 = kc_element (KC_PROGRAM_DTYPE_F8E5M2, &s);
            if (isfinite (e4))
                assert_int_equal (kc_encode (KC_FILL_F8E4M3, e4), bits);
            if (isfinite (e5))
                assert_int_equal (kc_encode (KC_FILL_F8E5M2, e5), bits);
        }
    }
}

static void an_incomplete_output_is_never_right (void **state)
{
    (void)state;
    pair_t *p = s_pair (1);
    const kc_compare_spec_t spec = s_spec (p->expected, N);
    kc_compare_t c;
    kc_compare_start (&c, &spec);
    kc_compare_feed (&c, p->got, sizeof p->got - 1);
    assert_false (kc_compare_end (&c));
    assert_int_equal (c.bad, 0);
    free (p);
}

static void the_exact_policy_takes_equal_values_only (void **state)
{
    (void)state;
    double expected[3] = {1, 2.5, -3};
    float got[3] = {1, 2.5f, -3};
    kc_compare_spec_t spec = s_spec (expected, 3);
    spec.tolerance = kc_tolerance (KC_CARD_POLICY_EXACT, KC_PROGRAM_DTYPE_F32, 1, true);
    bool right;
    s_run (&spec, got, 12, &right);
    assert_true (right);
    got[1] = nextafterf (got[1], 3);
    s_run (&spec, got, 12, &right);
    assert_false (right);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (a_rounded_result_is_right_in_pieces_of_any_size),
        cmocka_unit_test (zeros_fail_however_small_the_expected_values_are),
        cmocka_unit_test (one_wrong_element_is_found_with_its_place_and_values),
        cmocka_unit_test (verdict_and_count_agree_at_the_limit_in_both_orders),
        cmocka_unit_test (nan_is_right_only_where_it_is_expected),
        cmocka_unit_test (
            infinities_need_sign_and_place_and_overflow_of_the_type_counts),
        cmocka_unit_test (what_was_never_written_is_told_from_what_is_wrong),
        cmocka_unit_test (tensor_core_precision_fails_strict_fp32_and_passes_tf32),
        cmocka_unit_test (a_plain_float_sum_of_2048_products_is_within_the_limits),
        cmocka_unit_test (gate_b_sees_an_error_spread_thinly_over_all_elements),
        cmocka_unit_test (a_sum_near_zero_is_judged_by_its_size_over_the_seeds),
        cmocka_unit_test (integers_and_booleans_are_exact_to_the_last_bit),
        cmocka_unit_test (
            every_float_type_takes_its_own_rounding_and_refuses_a_coarser_one),
        cmocka_unit_test (
            encoding_and_decoding_of_small_floats_agree_for_every_bit_pattern),
        cmocka_unit_test (an_incomplete_output_is_never_right),
        cmocka_unit_test (the_exact_policy_takes_equal_values_only),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
