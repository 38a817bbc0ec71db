// test_kc_buf.c - the growing buffer

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "common/util/kc_buf.h"
#include "common/util/kc_mem.h"

static void an_untouched_buffer_is_an_empty_string (void **state)
{
    (void)state;
    kc_buf_t b = {0};
    assert_string_equal (kc_buf_str (&b), "");
    kc_buf_clear (&b);
    kc_buf_consume (&b, 0);
    kc_buf_put (&b, NULL, 0);
    char *s = kc_buf_take (&b);
    assert_string_equal (s, "");
    free (s);
    kc_buf_free (&b);
}

static void pieces_of_any_size_stay_zero_terminated (void **state)
{
    (void)state;
    kc_buf_t b = {0};
    for (int i = 0; i < 5000; i++) {
        kc_buf_printf (&b, "%d,", i);
        assert_int_equal (strlen (b.data), b.size);
    }
    char wide[1000];
    memset (wide, 'w', sizeof wide);
    wide[999] = 0;
    kc_buf_clear (&b);
    kc_buf_printf (&b, "[%s]", wide);
    assert_int_equal (b.size, 1001);
    assert_int_equal (b.data[1000], ']');
    kc_buf_free (&b);
}

static void the_limit_keeps_the_text_before_it (void **state)
{
    (void)state;
    kc_buf_t b = {.limit = 5};
    kc_buf_puts (&b, "abc");
    kc_buf_puts (&b, "def");
    assert_true (b.overflow);
    kc_buf_putc (&b, 'g'); // would fit, but the text would have a hole
    assert_string_equal (kc_buf_str (&b), "abc");
    kc_buf_clear (&b);
    kc_buf_puts (&b, "12345");
    assert_false (b.overflow);
    char wide[600];
    memset (wide, 'w', sizeof wide - 1);
    wide[599] = 0;
    kc_buf_printf (&b, "%s", wide);
    assert_true (b.overflow);
    assert_string_equal (kc_buf_str (&b), "12345");
    kc_buf_free (&b);
}

static void bytes_are_consumed_from_the_front (void **state)
{
    (void)state;
    kc_buf_t b = {0};
    kc_buf_puts (&b, "hello world");
    kc_buf_consume (&b, 6);
    assert_string_equal (kc_buf_str (&b), "world");
    kc_buf_consume (&b, 5);
    assert_string_equal (kc_buf_str (&b), "");
    kc_buf_free (&b);
}

typedef struct s_case {
    const char *in;
    size_t size;
    const char *out;
} s_case_t;

#define BAD "\xef\xbf\xbd"
#define CASE(in, out)                                                                  \
    {                                                                                  \
        in, sizeof (in) - 1, out                                                       \
    }

static void json_text_is_escaped_and_invalid_utf8_replaced (void **state)
{
    (void)state;
    const s_case_t cases[] = {
        CASE ("", ""),
        CASE ("plain", "plain"),
        CASE ("a\"b\\c\n\r\t", "a\\\"b\\\\c\\n\\r\\t"),
        CASE ("\0\x01\x1f\x7f", "\\u0000\\u0001\\u001f\x7f"),
        CASE ("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80",
              "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"),
        CASE ("\xff"
              "a",
              BAD "a"),
        CASE ("\xc0\xaf", BAD BAD),                 // an overlong slash
        CASE ("\xe0\x80\xaf", BAD BAD BAD),         // again
        CASE ("\xed\xa0\x80", BAD BAD BAD),         // a surrogate
        CASE ("\xf4\x90\x80\x80", BAD BAD BAD BAD), // past U+10FFFF
        CASE ("\xe2\x82", BAD BAD),                 // torn at the end
        CASE ("\xf0\x9f\x98"
              "a",
              BAD BAD BAD "a"),
        CASE ("\x80", BAD),
    };
    for (size_t i = 0; i < KC_COUNT (cases); i++) {
        kc_buf_t b = {0};
        char *in =
            kc_malloc (cases[i].size); // exact, so ASan sees a read behind the end
        memcpy (in, cases[i].in, cases[i].size);
        kc_buf_json (&b, in, cases[i].size);
        assert_string_equal (kc_buf_str (&b), cases[i].out);
        free (in);
        kc_buf_free (&b);
    }
}

static void json_text_is_never_cut_inside_a_character (void **state)
{
    (void)state;
    for (size_t limit = 1; limit < 20; limit++) {
        kc_buf_t b = {.limit = limit};
        kc_buf_json (&b,
                     "ab\xe2\x82\xac\ncd\"\x01"
                     "efghijk",
                     16);
        const char *s = kc_buf_str (&b);
        const char *whole = "ab\xe2\x82\xac\\ncd\\\"\\u0001efghijk";
        assert_true (b.size <= limit && b.overflow);
        assert_memory_equal (s, whole, b.size);
        assert_true (b.size < 3 || b.size > 4); // not inside the euro sign
        assert_int_not_equal (b.size, 6);       // nor between \ and n
        assert_int_not_equal (b.size, 10);
        assert_false (b.size > 11 && b.size < 17);
        kc_buf_free (&b);
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (an_untouched_buffer_is_an_empty_string),
        cmocka_unit_test (pieces_of_any_size_stay_zero_terminated),
        cmocka_unit_test (the_limit_keeps_the_text_before_it),
        cmocka_unit_test (bytes_are_consumed_from_the_front),
        cmocka_unit_test (json_text_is_escaped_and_invalid_utf8_replaced),
        cmocka_unit_test (json_text_is_never_cut_inside_a_character),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
