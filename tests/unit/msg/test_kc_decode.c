// test_kc_decode.c - what is accepted, what is refused and with which words

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/util/kc_buf.h"
#include "common/util/kc_mem.h"
#include "shapes/shapes.h"

static kc_shapes_t *s_decode (const char *members, kc_mode_t mode, kc_errs_t *errs)
{
    char *text = kc_asprintf ("{\"format\":1,\"name\":\"n\",\"count\":0%s%s}",
                              *members ? "," : "", members);
    kc_shapes_t *s = kc_shapes_decode (text, strlen (text), mode, errs);
    free (text);
    return s;
}

static kc_shapes_t *s_good (const char *members)
{
    kc_errs_t errs;
    kc_shapes_t *s = s_decode (members, KC_STRICT, &errs);
    if (!s) {
        char *why = kc_errs_text (&errs);
        fail_msg ("%s: %s", members, why);
    }
    assert_int_equal (errs.code, KC_OK);
    return s;
}

// The document is refused with exactly this one error.
static void s_bad (const char *members, const char *line)
{
    kc_errs_t errs;
    kc_shapes_t *s = s_decode (members, KC_STRICT, &errs);
    char *why = kc_errs_text (&errs);
    assert_string_equal (why, line);
    assert_null (s);
    assert_int_equal (errs.code, KC_EINVALID);
    free (why);
}

static void s_bad_text (const char *text, size_t size, const char *part)
{
    kc_errs_t errs;
    assert_null (kc_shapes_decode (text, size, KC_WIRE, &errs));
    char *why = kc_errs_text (&errs);
    if (!strstr (why, part))
        fail_msg ("\"%s\" does not contain \"%s\"", why, part);
    free (why);
}

static void absent_members_hold_their_defaults (void **state)
{
    (void)state;
    kc_shapes_t *s = s_good ("");
    assert_int_equal (s->format, 1);
    assert_int_equal (s->steps, 7);
    assert_true (s->weight > 0.4 && s->weight < 0.6);
    assert_true (s->on);
    assert_string_equal (s->word, "hello");
    assert_int_equal (s->colour, KC_SHAPES_COLOUR_DARK_GREEN);
    assert_true (s->has_null_default);
    assert_int_equal (s->null_default, 3);
    assert_false (s->has_big || s->has_ratio || s->has_flag || s->has_seven
                  || s->has_yes || s->_2d);
    assert_null (s->two);
    assert_null (s->secret);
    assert_null (s->inner);
    assert_int_equal (s->state, KC_OTHER_STATE_UNSET);
    assert_int_equal (s->thing.kind, KC_SHAPES_THING_UNSET);
    assert_int_equal (s->n_texts, 0);
    kc_shapes_free (&s);
    assert_null (s);
}

static void every_shape_lands_in_its_member (void **state)
{
    (void)state;
    kc_shapes_t *s =
        s_good ("\"big\":-9223372036854775808,\"ratio\":1.5,\"flag\":false,\"word\":"
                "\"\",\"colour\":\">=\",\"state\":\"off\","
                "\"two\":\"two\",\"seven\":7,\"yes\":true,\"for\":4,\"default\":\"d\","
                "\"2d\":true,\"texts\":[\"a\",\"\\u20ac\"],"
                "\"numbers\":[1,2.5],\"flags\":[true,false],\"colours\":[\"pink\"],"
                "\"states\":[\"on\",\"off\"],\"names\":[\"x\"],"
                "\"inner\":{\"deep\":{\"x\":3}},\"point\":{\"x\":1},\"points\":[{\"x\":"
                "2,\"y\":3,\"tag\":\"q\"},{\"x\":4}],"
                "\"thing\":{\"shape\":\"a "
                "square\",\"side\":2},\"things\":[{\"shape\":\"circle\",\"r\":0.5,"
                "\"at\":{\"x\":0}}],"
                "\"far\":{\"state\":\"on\"}");
    assert_true (s->has_big && s->big == INT64_MIN && s->has_flag && !s->flag);
    assert_string_equal (s->word, "");
    assert_int_equal (s->colour, KC_SHAPES_COLOUR_GE);
    assert_int_equal (s->state, KC_OTHER_STATE_OFF);
    assert_string_equal (s->two, "two");
    assert_int_equal (s->seven, 7);
    assert_int_equal (s->for_, 4);
    assert_string_equal (s->default_, "d");
    assert_true (s->_2d);
    assert_int_equal (s->n_texts, 2);
    assert_string_equal (s->texts[1], "\xe2\x82\xac");
    assert_true (s->numbers[1] > 2.4 && s->flags[0] && !s->flags[1]);
    assert_int_equal (s->colours[0], KC_SHAPES_COLOURS_PINK);
    assert_int_equal (s->states[1], KC_OTHER_STATE_OFF);
    assert_int_equal (s->inner->deep->x, 3);
    assert_true (s->point->y > 2.4 && s->points[0].y > 2.9);
    assert_string_equal (s->points[1].tag, "p");
    assert_int_equal (s->thing.kind, KC_SHAPES_THING_SQUARE);
    assert_int_equal (s->thing.u.square->side, 2);
    assert_int_equal (s->things[0].kind, KC_SHAPES_THING_CIRCLE);
    assert_non_null (s->things[0].u.circle->at);
    assert_int_equal (s->far->state, KC_OTHER_STATE_ON);
    kc_shapes_free (&s);
}

static void null_means_absent_only_where_the_schema_says_so (void **state)
{
    (void)state;
    kc_shapes_t *s =
        s_good ("\"null_int\":null,\"null_default\":null,\"null_text\":null,\"null_"
                "state\":null,\"null_list\":null,\"null_object\":null");
    assert_false (s->has_null_int || s->has_null_default);
    assert_int_equal (s->null_default, 0);
    assert_null (s->null_text);
    assert_int_equal (s->null_state, KC_SHAPES_NULL_STATE_UNSET);
    assert_null (s->null_object);
    kc_shapes_free (&s);
    s_bad ("\"big\":null", "/big: expected an integer, found null");
    s_bad ("\"word\":null",
           "/word: expected a string of at most 8 characters, found null");
    s_bad ("\"state\":null", "/state: expected one of on, off, found null");
    s_bad ("\"texts\":null", "/texts: expected an array, found null");
    s_bad ("\"inner\":null", "/inner: expected an object, found null");
}

static void a_whole_real_is_an_integer (void **state)
{
    (void)state;
    kc_shapes_t *s = s_good ("\"big\":3.0,\"steps\":-2e3");
    assert_int_equal (s->big, 3);
    assert_int_equal (s->steps, -2000);
    kc_shapes_free (&s);
    s = s_good ("\"seven\":7.0");
    assert_true (s->has_seven);
    kc_shapes_free (&s);
    s_bad ("\"big\":3.5", "/big: expected an integer, found 3.5");
    s_bad ("\"big\":1e19", "/big: expected an integer, found 1e+19");
    s_bad ("\"big\":true", "/big: expected an integer, found true");
}

static void bounds_of_numbers_are_kept (void **state)
{
    (void)state;
    kc_shapes_t *s = s_good ("\"ratio\":0");
    kc_shapes_free (&s);
    s_bad ("\"ratio\":1.6", "/ratio: expected a number from 0 to 1.5, found 1.6");
    s_bad ("\"ratio\":-1", "/ratio: expected a number from 0 to 1.5, found -1");
    s_bad ("\"numbers\":[0,-0.5]",
           "/numbers/1: expected a number of at least 0, found -0.5");
    s_bad ("\"seven\":8", "/seven: expected 7, found 8");
    s_bad ("\"yes\":false", "/yes: expected true, found false");
    s_bad ("\"any\":\"1\"", "/any: expected a number, found \"1\"");
    s_bad ("\"flag\":0", "/flag: expected true or false, found 0");
}

static void lengths_count_characters_and_items (void **state)
{
    (void)state;
    kc_shapes_t *s = s_good (
        "\"null_text\":\"\\ud83d\\ude00\\u00e9\\u20acx\""); // 10 bytes, 4 characters
    kc_shapes_free (&s);
    s_bad ("\"null_text\":\"12345\"",
           "/null_text: expected a string of at most 4 characters, found \"12345\"");
    s_bad ("\"texts\":[]", "/texts: expected 1 to 3 items, found 0");
    s_bad ("\"texts\":[\"a\",\"b\",\"c\",\"d\"]",
           "/texts: expected 1 to 3 items, found 4");
    s_bad ("\"texts\":[\"\"]",
           "/texts/0: expected a string of 1 to 4 characters, found \"\"");
}

static void kinds_of_text_are_checked (void **state)
{
    (void)state;
    kc_shapes_t *s = s_good (
        "\"sha\":\"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\","
        "\"id\":\"coder-2@h:a/b+c_d.0\",\"expr\":\"a ? b : c\"");
    kc_shapes_free (&s);
    s_bad (
        "\"sha\":\"0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef\"",
        "/sha: expected a SHA-256 of 64 lower-case hex digits, found "
        "\"0123456789ABCDEF0123456789a [...] 23456789abcdef\"");
    s_bad ("\"sha\":\"\"",
           "/sha: expected a SHA-256 of 64 lower-case hex digits, found \"\"");
    s_bad ("\"id\":\"a b\"", "/id: expected an id (letters, digits and . _ : @ / + -) "
                             "of at most 20 characters, found \"a b\"");
    s_bad ("\"names\":[\"_ok9\",\"9no\"]",
           "/names/1: expected a name (letters, digits and _, no digit first) of 1 to "
           "8 characters, found \"9no\"");
}

static void unknown_keys_are_errors_in_strict_mode_only (void **state)
{
    (void)state;
    kc_errs_t errs;
    kc_shapes_t *s =
        s_decode ("\"stepz\":1,\"point\":{\"x\":1,\"new\":[{}]}", KC_WIRE, &errs);
    assert_non_null (s);
    assert_int_equal (errs.n, 0);
    kc_shapes_free (&s);
    s_bad ("\"stepz\":1",
           "/stepz: expected a known key; did you mean \"steps\"?, found \"stepz\"");
    s_bad ("\"point\":{\"x\":1,\"zzzzz\":2}",
           "/point/zzzzz: expected a known key of shapes.point, found \"zzzzz\"");
    s_bad ("\"a/b~\":1", "/a~1b~0: expected a known key of shapes, found \"a/b~\"");
}

static void a_missing_member_is_named (void **state)
{
    (void)state;
    s_bad ("\"point\":{}", "/point/x: expected a number, found nothing");
    s_bad ("\"inner\":{}", "/inner/deep: expected an object, found nothing");
    s_bad ("\"far\":{}", "/far/state: expected one of on, off, found nothing");
    s_bad ("\"point\":[]", "/point: expected an object, found an array");
}

static void a_union_is_read_by_its_discriminator (void **state)
{
    (void)state;
    s_bad ("\"thing\":{\"side\":1}",
           "/thing/shape: expected one of circle, a square, found nothing");
    s_bad ("\"thing\":{\"shape\":\"oval\"}",
           "/thing/shape: expected one of circle, a square, found \"oval\"");
    s_bad ("\"thing\":{\"shape\":1}",
           "/thing/shape: expected one of circle, a square, found 1");
    s_bad ("\"thing\":7", "/thing: expected an object, found 7");
    s_bad ("\"thing\":{\"shape\":\"circle\",\"r\":-1}",
           "/thing/r: expected a number of at least 0, found -1");
    s_bad ("\"things\":[{\"shape\":\"a square\",\"side\":1,\"r\":1}]",
           "/things/0/r: expected a known key of shapes.square, found \"r\"");
}

static void eight_errors_are_kept_and_the_rest_is_counted (void **state)
{
    (void)state;
    kc_errs_t errs;
    assert_null (s_decode (
        "\"flags\":[1,2,3,4],\"numbers\":[-1,-2,-3,-4],\"integers\":[null,null]",
        KC_STRICT, &errs));
    assert_int_equal (errs.n, KC_ERRS_MAX);
    assert_int_equal (errs.more, 2);
    char *why = kc_errs_text (&errs);
    assert_non_null (strstr (why, "\nand 2 more"));
    free (why);
    kc_err_t err;
    assert_int_equal (kc_errs_fail (&errs, &err), -1);
    assert_int_equal (err.code, KC_EINVALID);
    assert_null (strchr (err.text, '\n'));
}

static void errors_are_not_needed_to_refuse (void **state)
{
    (void)state;
    assert_null (kc_shapes_decode ("{}", 2, KC_WIRE, NULL));
}

static void a_key_twice_is_refused (void **state)
{
    (void)state;
    static const char s_twice[] =
        "{\"format\":1,\"name\":\"n\",\"count\":0,\"count\":0}";
    s_bad_text (s_twice, sizeof s_twice - 1, "duplicate");
}

static void bytes_that_are_not_json_are_refused (void **state)
{
    (void)state;
    s_bad_text ("", 0, "expected JSON");
    s_bad_text ("{\"a\":1} x", 9, "expected JSON; line 1");
    s_bad_text ("{\"name\":\"a\\u0000\"}", 18, "expected JSON");
    s_bad_text ("{\"name\":\"\xff\"}", 12, "expected JSON");
    s_bad_text ("{\"big\":9223372036854775808}", 27, "too big");
    s_bad_text ("{\"any\":NaN}", 11, "expected JSON");
    s_bad_text ("{\"any\":1e999}", 13, "expected JSON");
    s_bad_text ("[]", 2, "expected an object, found an array");
}

static void deep_nesting_is_refused_before_it_is_parsed (void **state)
{
    (void)state;
    kc_buf_t b = {0};
    kc_buf_puts (&b,
                 "{\"x\":\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\\\"[[[\",\"y\":");
    for (int i = 0; i < KC_JSON_DEPTH; i++)
        kc_buf_putc (&b, '[');
    s_bad_text (b.data, b.size,
                "at most 32 objects and arrays inside each other, found 33");
    kc_buf_clear (&b);
    kc_buf_puts (&b, "{\"format\":1,\"name\":\"n\",\"count\":0,\"y\":");
    for (int i = 0; i < KC_JSON_DEPTH - 1; i++)
        kc_buf_putc (&b, '[');
    for (int i = 0; i < KC_JSON_DEPTH - 1; i++)
        kc_buf_putc (&b, ']');
    kc_buf_putc (&b, '}');
    kc_shapes_t *s = kc_shapes_decode (b.data, b.size, KC_WIRE, NULL);
    assert_non_null (s);
    kc_shapes_free (&s);
    kc_buf_free (&b);
}

static void an_endless_document_is_refused (void **state)
{
    (void)state;
    size_t size = KC_JSON_MAX + 1;
    char *text = kc_malloc (size);
    memset (text, ' ', size);
    s_bad_text (text, size, "at most 4194304 bytes of JSON, found 4194305 bytes");
    free (text);
}

static void foreign_text_is_shown_clean_and_short (void **state)
{
    (void)state;
    s_bad ("\"flag\":\"\\u001b[31mred\\u001b[0m\\n\\u0007 and a text that goes on and "
           "on and on and on\"",
           "/flag: expected true or false, found \"red  and a text that goes o [...]  "
           "and on and on\"");
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (absent_members_hold_their_defaults),
        cmocka_unit_test (every_shape_lands_in_its_member),
        cmocka_unit_test (null_means_absent_only_where_the_schema_says_so),
        cmocka_unit_test (a_whole_real_is_an_integer),
        cmocka_unit_test (bounds_of_numbers_are_kept),
        cmocka_unit_test (lengths_count_characters_and_items),
        cmocka_unit_test (kinds_of_text_are_checked),
        cmocka_unit_test (unknown_keys_are_errors_in_strict_mode_only),
        cmocka_unit_test (a_missing_member_is_named),
        cmocka_unit_test (a_union_is_read_by_its_discriminator),
        cmocka_unit_test (eight_errors_are_kept_and_the_rest_is_counted),
        cmocka_unit_test (errors_are_not_needed_to_refuse),
        cmocka_unit_test (a_key_twice_is_refused),
        cmocka_unit_test (bytes_that_are_not_json_are_refused),
        cmocka_unit_test (deep_nesting_is_refused_before_it_is_parsed),
        cmocka_unit_test (an_endless_document_is_refused),
        cmocka_unit_test (foreign_text_is_shown_clean_and_short),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
