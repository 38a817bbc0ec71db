// test_kc_expr.c - the expression language: values, errors, bounds

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/model/kc_expr.h"
#include "common/util/kc_mem.h"

static int s_name (void *arg, const char *name, kc_value_t *out, kc_err_t *err)
{
    (void)arg;
    (void)err;
    *out = (kc_value_t){.type = KC_VALUE_INT};
    if (!strcmp (name, "B"))
        out->i = 4096;
    else if (!strcmp (name, "D"))
        out->i = 7;
    else if (!strcmp (name, "eps"))
        *out = (kc_value_t){.type = KC_VALUE_REAL, .f = 0.5};
    else
        return 0;
    return 1;
}

static int s_tensor (void *arg, const char *tensor, kc_expr_prop_t prop, int index,
                     int64_t *out, kc_err_t *err)
{
    (void)arg;
    (void)err;
    if (strcmp (tensor, "x"))
        return 0;
    *out = prop == KC_PROP_SHAPE ? 100 + index : prop == KC_PROP_NUMEL ? 12 : 0;
    return 1;
}

static int s_kernel (void *arg, kc_expr_fact_t fact, const char *kernel, int64_t block,
                     int64_t shared, int64_t *out, kc_err_t *err)
{
    (void)arg;
    (void)err;
    (void)shared;
    if (strcmp (kernel, "k"))
        return 0;
    *out = fact == KC_FACT_OCCUPANCY ? (block ? block / 100 : 3) : 40;
    return 1;
}

static const char *const s_known[] = {"B", "D", "eps"};
static const kc_expr_scope_t s_scope = {.name = s_name,
                                        .tensor = s_tensor,
                                        .kernel = s_kernel,
                                        .known = s_known,
                                        .n_known = 3};

static int64_t s_int (const char *text)
{
    kc_err_t err = {0};
    int64_t v = -777;
    if (kc_expr_int (text, &s_scope, &v, &err) < 0)
        fail_msg ("%s", err.text);
    return v;
}

static void s_refused (const char *text, const char *why)
{
    kc_err_t err = {0};
    kc_value_t v;
    kc_expr_t *e = kc_expr_parse (text, &err);
    int rc = e ? kc_expr_eval (e, &s_scope, &v, &err) : -1;
    kc_expr_destroy (&e);
    assert_int_equal (rc, -1);
    assert_int_equal (err.code, KC_EINVALID);
    if (!strstr (err.text, why))
        fail_msg ("'%s' gave: %s", text, err.text);
}

static void integers_follow_the_usual_precedence (void **state)
{
    (void)state;
    assert_int_equal (s_int ("1 + 2 * 3 - 4 / 2"), 5);
    assert_int_equal (s_int ("(1 + 2) * 3 % 4"), 1);
    assert_int_equal (s_int ("1 << 3 + 1"), 16);
    assert_int_equal (s_int ("7 // 2"), 3);
    assert_int_equal (s_int ("-2 * -3"), 6);
    assert_int_equal (s_int ("B > 4 && D < 8 ? B : D"), 4096);
    assert_int_equal (s_int ("D == 8 ? 1 : D == 7 ? 2 : 3"), 2);
    assert_int_equal (s_int ("0x1F"), 31);
    assert_int_equal (s_int ("int(2.9) + int(-2.9)"), 0);
    assert_int_equal (s_int ("int(true)"), 1);
}

static void functions_give_what_their_names_say (void **state)
{
    (void)state;
    assert_int_equal (s_int ("cdiv(10, 4)"), 3);
    assert_int_equal (s_int ("align(10, 4)"), 12);
    assert_int_equal (s_int ("min(3, 1, 2) + max(3, 1, 2)"), 4);
    assert_int_equal (s_int ("abs(-5) + gcd(12, 18)"), 11);
    assert_int_equal (s_int ("pow2_ceil(33) + log2_ceil(33)"), 70);
    assert_int_equal (s_int ("is_pow2(64) ? 1 : 0"), 1);
    assert_int_equal (s_int ("int(sqrt(49.0) + exp(0) + log(1))"), 8);
    double f;
    assert_int_equal (kc_expr_real ("eps * 3", &s_scope, &f, NULL), 0);
    assert_true (f == 1.5);
}

static void tensors_and_kernels_answer_through_the_scope (void **state)
{
    (void)state;
    assert_int_equal (s_int ("x.shape[1] + x.numel"), 113);
    assert_int_equal (s_int ("occupancy(k) + occupancy(k, 256, 0) + regs(k)"), 45);
    s_refused ("y.numel", "unknown tensor 'y'");
    s_refused ("occupancy(q)", "unknown kernel 'q'");
}

static void every_wrong_operation_names_expression_and_position (void **state)
{
    (void)state;
    s_refused ("1 + 4 / 0", "expression '1 + 4 / 0', position 7: division by zero");
    s_refused ("9223372036854775807 + 1", "position 21: integer overflow");
    s_refused ("9223372036854775807 * 2", "integer overflow");
    s_refused ("-9223372036854775807 - 2", "integer overflow");
    s_refused ("99999999999999999999", "does not fit in 64 bits");
    s_refused ("1 << 63", "a shift is by 0 to 62");
    s_refused ("4 << 62", "integer overflow");
    s_refused ("-7 / 2", "a >= 0 and b > 0");
    s_refused ("-7 % 2", "a >= 0 and b > 0");
    s_refused ("sqrt(0 - 1)", "not a number");
    s_refused ("log(0)", "log needs a number above 0");
    s_refused ("exp(1000)", "too large for a double");
    s_refused ("1.5 // 2", "need integers on both sides");
    s_refused ("true + 1", "a boolean was found");
    s_refused ("1 && true", "compare the integer with != 0");
    s_refused ("int(1e300)", "does not fit in 64 bits");
    s_refused ("cdiv(1, 0)", "division by zero");
    s_refused ("pow2_ceil(0)", "from 1 to 2^62");
    s_refused ("div_magic(0)", "from 1 to 4294967295");
}

static void unknown_words_are_answered_with_the_nearest_known_one (void **state)
{
    (void)state;
    s_refused ("esp * 2", "unknown name 'esp'; did you mean 'eps'?");
    s_refused ("cdvi(1, 2)", "there is no function 'cdvi'; did you mean 'cdiv'?");
    s_refused ("q", "unknown name 'q'");
    s_refused ("true ? 1 : nothing", "unknown name 'nothing'");
}

static void what_is_no_expression_is_refused (void **state)
{
    (void)state;
    s_refused ("", "ends too early");
    s_refused ("1 +", "ends too early");
    s_refused ("(1", ") is missing");
    s_refused ("1 2", "nothing is expected here");
    s_refused ("1 < 2 < 3", "nothing is expected here");
    s_refused ("2.0f", "without a suffix");
    s_refused ("x.size", "a tensor has shape[i]");
    s_refused ("x.shape", "need an index");
    s_refused ("cdiv(1)", "cdiv takes 2 arguments, 1 given");
    s_refused ("a = 1", "nothing is expected here");
    s_refused ("\"x\"", "a number, a name or ( is expected");
}

static void size_and_depth_are_bounded (void **state)
{
    (void)state;
    char text[400] = "";
    for (int i = 0; i < 20; i++)
        strncat (text, "(", sizeof text - strlen (text) - 1);
    strncat (text, "1", sizeof text - strlen (text) - 1);
    for (int i = 0; i < 20; i++)
        strncat (text, ")", sizeof text - strlen (text) - 1);
    s_refused (text, "nested deeper than 16");
    text[0] = '1';
    text[1] = 0;
    for (int i = 0; i < 40; i++)
        strncat (text, "+1", sizeof text - strlen (text) - 1);
    s_refused (text, "at most 64 operands");
    memset (text, ' ', 300);
    text[300] = 0;
    s_refused (text, "longer than 256 characters");
}

// n / d = (umulhi (n, m) + n) >> s, for the divisors and dividends where such tricks
// break.
static void the_magic_division_is_exact_for_every_divisor_tried (void **state)
{
    (void)state;
    uint64_t seed = 12345;
    for (uint32_t i = 0; i < 6000; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        uint32_t d = i < 2000   ? i + 1
                     : i < 2040 ? UINT32_MAX - (i - 2000)
                     : i < 2100 ? (1u << (i % 32)) + (i % 3 ? i % 3 - 1 : 0)
                                : (uint32_t)(seed >> 32) >> (i % 31);
        d = d ? d : 1;
        char text[64];
        snprintf (text, sizeof text, "div_magic(%u)", d);
        uint64_t m = (uint64_t)s_int (text);
        snprintf (text, sizeof text, "div_shift(%u)", d);
        int s = (int)s_int (text);
        assert_true (m <= UINT32_MAX);
        for (uint32_t k = 0; k < 40; k++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            uint64_t q = UINT32_MAX / d;
            uint32_t n =
                k == 0   ? 0
                : k == 1 ? UINT32_MAX
                : k == 2 ? d - 1
                : k == 3 ? d
                : k < 12 ? (uint32_t)((q - (k - 4)) * d) - 1 // just below a multiple
                : k < 20 ? (uint32_t)((q - (k - 12)) * d)
                         : (uint32_t)(seed >> 32) >> (k % 5);
            uint64_t got = (((m * n) >> 32) + n) >> s;
            assert_int_equal (got, n / d);
        }
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (integers_follow_the_usual_precedence),
        cmocka_unit_test (functions_give_what_their_names_say),
        cmocka_unit_test (tensors_and_kernels_answer_through_the_scope),
        cmocka_unit_test (every_wrong_operation_names_expression_and_position),
        cmocka_unit_test (unknown_words_are_answered_with_the_nearest_known_one),
        cmocka_unit_test (what_is_no_expression_is_refused),
        cmocka_unit_test (size_and_depth_are_bounded),
        cmocka_unit_test (the_magic_division_is_exact_for_every_divisor_tried),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
