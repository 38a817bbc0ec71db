// test_kc_err.c - the table of codes and the error value

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "common/util/kc_err.h"

static void every_code_has_a_name_that_parses_back (void **state)
{
    (void)state;
    for (int i = 0; i < KC_CODE_COUNT; i++) {
        assert_int_equal (kc_code_parse (kc_code_name ((kc_code_t)i)), i);
        assert_true (kc_code_text ((kc_code_t)i)[0]);
        for (int j = 0; j < i; j++)
            assert_int_not_equal (kc_code_exit ((kc_code_t)i),
                                  kc_code_exit ((kc_code_t)j));
    }
    assert_string_equal (kc_code_name (KC_ESTALE), "stale-epoch");
    assert_int_equal (kc_code_exit (KC_EINTERRUPTED), 130);
}

static void unknown_names_and_numbers_are_internal (void **state)
{
    (void)state;
    assert_int_equal (kc_code_parse ("no-such"), KC_EINTERNAL);
    assert_int_equal (kc_code_parse (""), KC_EINTERNAL);
    assert_int_equal (kc_code_parse (NULL), KC_EINTERNAL);
    assert_string_equal (kc_code_name ((kc_code_t)9999), "internal");
}

static void a_long_text_is_cut_in_front_of_a_torn_character (void **state)
{
    (void)state;
    char text[2 * KC_ERR_TEXT];
    for (int shift = 0; shift < 3; shift++) {
        kc_err_t err;
        memset (text, 'a', sizeof text);
        for (size_t i = (size_t)shift; i + 3 < sizeof text; i += 3)
            memcpy (text + i, "\xe2\x82\xac", 3);
        text[sizeof text - 1] = 0;
        assert_int_equal (kc_fail (&err, KC_EINVALID, "%s", text), -1);
        size_t n = strlen (err.text);
        assert_true (n >= KC_ERR_TEXT - 3 && n < KC_ERR_TEXT);
        assert_int_equal ((n - (size_t)shift) % 3, 0);
    }
}

static void a_text_of_exactly_the_room_is_whole (void **state)
{
    (void)state;
    char text[KC_ERR_TEXT];
    kc_err_t err;
    memset (text, 'x', sizeof text);
    text[KC_ERR_TEXT - 1] = 0;
    kc_fail (&err, KC_EIO, "%s", text);
    assert_string_equal (err.text, text);
}

static void a_place_goes_in_front_of_the_text (void **state)
{
    (void)state;
    kc_err_t err;
    kc_fail (&err, KC_ENOTFOUND, "no row");
    assert_int_equal (kc_fail_in (&err, "task %d", 7), -1);
    assert_string_equal (err.text, "task 7: no row");
    assert_int_equal (err.code, KC_ENOTFOUND);
    kc_fail (&err, KC_EIO, "again: %s", err.text); // its own text as an argument
    assert_string_equal (err.text, "again: task 7: no row");
}

static void errno_becomes_words (void **state)
{
    (void)state;
    kc_err_t err;
    kc_fail_errno (&err, ENOENT, "open %s", "x");
    assert_string_equal (err.text, "open x: No such file or directory");
    assert_int_equal (err.code, KC_EIO);
    kc_fail_errno (&err, 98765, "open");
    assert_string_equal (err.text, "open: errno 98765");
    kc_err_clear (&err);
    assert_int_equal (err.code, KC_OK);
    assert_string_equal (err.text, "");
}

static void no_error_value_is_needed (void **state)
{
    (void)state;
    assert_int_equal (kc_fail (NULL, KC_EIO, "x"), -1);
    assert_int_equal (kc_fail_in (NULL, "x"), -1);
    assert_int_equal (kc_fail_errno (NULL, EIO, "x"), -1);
    kc_err_clear (NULL);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (every_code_has_a_name_that_parses_back),
        cmocka_unit_test (unknown_names_and_numbers_are_internal),
        cmocka_unit_test (a_long_text_is_cut_in_front_of_a_torn_character),
        cmocka_unit_test (a_text_of_exactly_the_room_is_whole),
        cmocka_unit_test (a_place_goes_in_front_of_the_text),
        cmocka_unit_test (errno_becomes_words),
        cmocka_unit_test (no_error_value_is_needed),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
