// test_kc_text.c - UTF-8, foreign text, the words of errors

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "common/msg/kc_codec.h"
#include "common/msg/kc_tables.h"
#include "common/util/kc_mem.h"

static void only_shortest_forms_of_real_characters_are_valid (void **state)
{
    (void)state;
    static const char *const s_good[] = {"",
                                         "a",
                                         "\x7f",
                                         "\xc2\x80",
                                         "\xdf\xbf",
                                         "\xe0\xa0\x80",
                                         "\xed\x9f\xbf",
                                         "\xee\x80\x80",
                                         "\xef\xbf\xbf",
                                         "\xf0\x90\x80\x80",
                                         "\xf4\x8f\xbf\xbf"};
    static const char *const s_bad[] = {"\x80",
                                        "\xc0\x80",
                                        "\xc1\xbf",
                                        "\xc2",
                                        "\xe0\x9f\xbf",
                                        "\xed\xa0\x80",
                                        "\xe2\x82",
                                        "\xf0\x8f\xbf\xbf",
                                        "\xf4\x90\x80\x80",
                                        "\xf5\x80\x80\x80",
                                        "\xff",
                                        "a\xfe",
                                        "\xc3("};
    for (size_t i = 0; i < KC_COUNT (s_good); i++)
        assert_true (kc_utf8_valid (s_good[i], strlen (s_good[i])));
    for (size_t i = 0; i < KC_COUNT (s_bad); i++) {
        assert_false (kc_utf8_valid (s_bad[i], strlen (s_bad[i])));
        char *clean = kc_utf8_clean (s_bad[i], strlen (s_bad[i]), 0);
        assert_true (kc_utf8_valid (clean, strlen (clean)));
        assert_non_null (strstr (clean, "\xef\xbf\xbd"));
        free (clean);
    }
    assert_false (kc_utf8_valid ("a\0b", 3));
}

static void s_clean (const char *text, size_t size, size_t max, const char *expected)
{
    char *clean = kc_utf8_clean (text, size, max);
    assert_string_equal (clean, expected);
    free (clean);
}

static void logs_become_plain_text (void **state)
{
    (void)state;
    s_clean ("a\0b", 3, 0,
             "a\xef\xbf\xbd"
             "b");
    s_clean ("x\r\ny\rz\n\ttab\x07\x7f\xc2\x9b", 15, 0, "x\ny\nz\n\ttab");
    s_clean ("\033[1;31merror:\033[0m no", 20, 0, "error: no");
    s_clean ("\033]0;title\007after", 15, 0, "after");
    s_clean ("\033]8;;http://x\033\\link", 19, 0, "link");
    s_clean ("\033[12", 4, 0, "");
    s_clean ("end\033", 4, 0, "end");
    s_clean ("\033(Bx", 4, 0, "Bx");
    s_clean ("\033\xe2\x82\xac", 4, 0, "\xe2\x82\xac");
    s_clean ("", 0, 0, "");
}

static void a_long_text_keeps_its_ends (void **state)
{
    (void)state;
    s_clean ("0123456789012345678901234567890123456789", 40, 22,
             "0123456789 [...] 56789");
    s_clean ("0123456789", 10, 10, "0123456789");
    s_clean ("0123456789", 10, 4, "0123");
    s_clean ("\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac", 9, 2, "\xe2\x82\xac\xe2\x82\xac");
}

static void json_is_indented_for_people (void **state)
{
    (void)state;
    char *text = kc_json_pretty ("{\"a\":[0.1]}", 11);
    assert_string_equal (text, "{\n  \"a\": [\n    0.1\n  ]\n}");
    free (text);
    assert_null (kc_json_pretty ("{", 1));
}

static void a_long_place_keeps_its_end (void **state)
{
    (void)state;
    char key[KC_ERRS_POINTER * 2];
    memset (key, 'k', sizeof key - 1);
    key[sizeof key - 1] = 0;
    kc_path_t root = {0}, one = {.up = &root, .key = key},
              two = {.up = &one, .index = 12};
    char out[KC_ERRS_POINTER];
    kc_path_text (&two, out, sizeof out);
    assert_int_equal (strlen (out), sizeof out - 1);
    assert_memory_equal (out, "...k", 4);
    assert_string_equal (out + strlen (out) - 4, "k/12");
    kc_path_text (&root, out, sizeof out);
    assert_string_equal (out, "");
}

static void others_can_add_errors (void **state)
{
    (void)state;
    kc_errs_t errs = {0};
    kc_errs_add (&errs, KC_EINVALID, "/blocks/0/grid/0", "an operand at character 4",
                 "\")\"");
    kc_errs_add (NULL, KC_EINVALID, "", "", "");
    char *text = kc_errs_text (&errs);
    assert_string_equal (
        text, "/blocks/0/grid/0: expected an operand at character 4, found \")\"");
    free (text);
    assert_int_equal (errs.code, KC_EINVALID);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (only_shortest_forms_of_real_characters_are_valid),
        cmocka_unit_test (logs_become_plain_text),
        cmocka_unit_test (a_long_text_keeps_its_ends),
        cmocka_unit_test (json_is_indented_for_people),
        cmocka_unit_test (a_long_place_keeps_its_end),
        cmocka_unit_test (others_can_add_errors),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
