// test_kc_encode.c - the text that is written, and the objects that are refused

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/util/kc_mem.h"
#include "shapes/shapes.h"

static kc_shapes_strict_t *s_new (void)
{
    kc_shapes_strict_t *s = kc_shapes_strict_new ();
    s->s = kc_strdup ("s");
    s->e = KC_SHAPES_STRICT_E_ONE;
    s->o = kc_shapes_point_new ();
    s->u.kind = KC_SHAPES_THING_SQUARE;
    s->u.u.square = kc_shapes_square_new ();
    s->u.u.square->side = 1;
    return s;
}

static void s_text_is (const kc_shapes_strict_t *s, const char *expected)
{
    size_t size;
    char *text = kc_shapes_strict_encode (s, &size);
    assert_non_null (text);
    assert_string_equal (text, expected);
    assert_int_equal (size, strlen (expected));
    free (text);
}

static void s_refused (const kc_shapes_strict_t *s, const char *line)
{
    kc_errs_t errs;
    size_t size = 1;
    assert_null (kc_type_encode (&kc_shapes_strict_type, s, &size, &errs));
    assert_int_equal (size, 0);
    assert_int_equal (errs.code, KC_EINTERNAL);
    char *why = kc_errs_text (&errs);
    assert_string_equal (why, line);
    free (why);
    assert_int_equal (kc_type_check (&kc_shapes_strict_type, s, NULL), -1);
}

static void text_is_canonical (void **state)
{
    (void)state;
    kc_shapes_strict_t *s = s_new ();
    s_text_is (s, "{\"a\":[],\"e\":\"one\",\"i\":0,\"n\":0,\"nn\":null,\"o\":{\"tag\":"
                  "\"p\",\"x\":0,\"y\":2.5},\"s\":\"s\","
                  "\"u\":{\"shape\":\"a square\",\"side\":1}}");
    kc_shapes_strict_free (&s);
}

static void s_number_is (double x, const char *expected)
{
    kc_shapes_point_t *p = kc_shapes_point_new ();
    p->x = x;
    char *text = kc_shapes_point_encode (p, NULL);
    char *whole = kc_asprintf ("{\"tag\":\"p\",\"x\":%s,\"y\":2.5}", expected);
    assert_string_equal (text, whole);
    kc_shapes_point_t *back =
        kc_shapes_point_decode (text, strlen (text), KC_STRICT, NULL);
    assert_non_null (back);
    assert_memory_equal (&back->x, &x, sizeof x);
    kc_shapes_point_free (&back);
    kc_shapes_point_free (&p);
    free (whole);
    free (text);
}

static void doubles_are_short_and_read_back_equal (void **state)
{
    (void)state;
    s_number_is (3, "3");
    s_number_is (0.1, "0.1");
    s_number_is (1.0 / 3, "0.3333333333333333");
    s_number_is (0.1 + 0.2, "0.30000000000000004");
    s_number_is (-0.0, "-0.0");
    s_number_is (1e300, "1e+300");
    s_number_is (5e-324, "5e-324");
    s_number_is (1.7976931348623157e308, "1.7976931348623157e+308");
    s_number_is (9007199254740992.0, "9007199254740992.0");
    s_number_is (9223372036854775808.0, "9.223372036854776e+18");
    s_number_is (999999999999999.0, "999999999999999");
    s_number_is (2.2250738585072014e-308, "2.2250738585072014e-308");
}

static void a_number_that_is_none_is_absence_where_that_is_allowed (void **state)
{
    (void)state;
    kc_shapes_t *s = kc_shapes_new ();
    s->name = kc_strdup ("n");
    s->has_ratio = true;
    s->ratio = (double)NAN;
    s->has_any = true;
    s->any = (double)INFINITY;
    s->word = (free (s->word), NULL);
    char *text = kc_shapes_encode (s, NULL);
    assert_non_null (text);
    assert_null (strstr (text, "ratio"));
    assert_null (strstr (text, "any"));
    free (text);
    kc_shapes_free (&s);
    kc_shapes_strict_t *r = s_new ();
    r->has_nn = true;
    r->nn = -(double)INFINITY;
    text = kc_shapes_strict_encode (r, NULL);
    assert_non_null (strstr (text, "\"nn\":null"));
    free (text);
    r->n = (double)NAN;
    s_refused (r, "/n: expected a number, found nan");
    r->n = 0;
    *(double *)kc_push (&r->a, &r->n_a, sizeof *r->a) = (double)INFINITY;
    s_refused (r, "/a/0: expected a number, found inf");
    kc_shapes_strict_free (&r);
}

static void an_object_that_breaks_its_schema_is_refused (void **state)
{
    (void)state;
    kc_shapes_strict_t *s = s_new ();
    kc_set (&s->s, NULL);
    s_refused (s,
               "/s: expected a string of at most 4 characters, found nothing (NULL)");
    kc_set (&s->s, "12345");
    s_refused (s, "/s: expected a string of at most 4 characters, found \"12345\"");
    kc_set (&s->s, "\xc3");
    s_refused (s,
               "/s: expected valid UTF-8 (kc_utf8_clean makes it), found other bytes");
    kc_set (&s->s, "s");
    s->e = KC_SHAPES_STRICT_E_UNSET;
    s_refused (s, "/e: expected one of one, found UNSET (0)");
    s->e = (kc_shapes_strict_e_t)9;
    s_refused (s, "/e: expected one of one, found value 9");
    s->e = KC_SHAPES_STRICT_E_ONE;
    s->u.u.square->side = 0;
    s_refused (s, "/u/side: expected an integer of at least 1, found 0");
    kc_shapes_square_free (&s->u.u.square);
    s_refused (s, "/u: expected a kind of shapes.thing and its object, found kind 2 "
                  "without an object");
    s->u.kind = KC_SHAPES_THING_UNSET;
    s_refused (s, "/u: expected a kind of shapes.thing and its object, found kind 0 "
                  "without an object");
    s->u.kind = KC_SHAPES_THING_SQUARE;
    s->u.u.square = kc_shapes_square_new ();
    s->u.u.square->side = 1;
    kc_shapes_point_free (&s->o);
    s_refused (s, "/o: expected an object, found nothing (NULL)");
    s->o = kc_shapes_point_new ();
    for (int i = 0; i < 3; i++)
        kc_push (&s->a, &s->n_a, sizeof *s->a);
    s_refused (s, "/a: expected 0 to 2 items, found 3");
    s->n_a = 2;
    assert_int_equal (kc_type_check (&kc_shapes_strict_type, s, NULL), 0);
    kc_shapes_strict_free (&s);
    s_refused (
        NULL,
        "the document: expected an object of type shapes.strict, found nothing (NULL)");
}

static void a_discriminator_writes_itself (void **state)
{
    (void)state;
    kc_shapes_strict_t *s = s_new ();
    kc_set (&s->u.u.square->shape, NULL);
    char *text = kc_shapes_strict_encode (s, NULL);
    assert_non_null (strstr (text, "\"shape\":\"a square\""));
    free (text);
    kc_set (&s->u.u.square->shape, "circle");
    s_refused (s, "/u/shape: expected \"a square\", found \"circle\"");
    kc_shapes_strict_free (&s);
}

static void a_nullable_with_a_default_says_null (void **state)
{
    (void)state;
    kc_shapes_t *s = kc_shapes_new ();
    s->name = kc_strdup ("n");
    s->has_null_default = false;
    char *text = kc_shapes_encode (s, NULL);
    assert_non_null (strstr (text, "\"null_default\":null"));
    kc_shapes_t *back = kc_shapes_decode (text, strlen (text), KC_STRICT, NULL);
    assert_false (back->has_null_default);
    kc_shapes_free (&back);
    kc_shapes_free (&s);
    free (text);
}

static void control_characters_and_quotes_are_escaped (void **state)
{
    (void)state;
    kc_shapes_strict_t *s = s_new ();
    kc_set (&s->s, "\"\\\n\x01");
    char *text = kc_shapes_strict_encode (s, NULL);
    assert_non_null (strstr (text, "\"s\":\"\\\"\\\\\\n\\u0001\""));
    free (text);
    kc_shapes_strict_free (&s);
}

static void the_hash_knows_the_content_only (void **state)
{
    (void)state;
    static const char s_a[] = "{ \"y\": 2.5, \"x\": 1.0 }", s_b[] = "{\"x\":1}",
                      s_c[] = "{\"x\":2}";
    kc_shapes_point_t *a =
        kc_shapes_point_decode (s_a, sizeof s_a - 1, KC_STRICT, NULL);
    kc_shapes_point_t *b =
        kc_shapes_point_decode (s_b, sizeof s_b - 1, KC_STRICT, NULL);
    kc_shapes_point_t *c =
        kc_shapes_point_decode (s_c, sizeof s_c - 1, KC_STRICT, NULL);
    char x[KC_SHA_HEX], y[KC_SHA_HEX], z[KC_SHA_HEX];
    assert_int_equal (kc_type_hash (&kc_shapes_point_type, a, x), 0);
    assert_int_equal (kc_type_hash (&kc_shapes_point_type, b, y), 0);
    assert_int_equal (kc_type_hash (&kc_shapes_point_type, c, z), 0);
    assert_string_equal (x, y);
    assert_string_not_equal (x, z);
    assert_true (kc_type_equal (&kc_shapes_point_type, a, b));
    assert_false (kc_type_equal (&kc_shapes_point_type, a, c));
    assert_false (kc_type_equal (&kc_shapes_point_type, a, NULL));
    a->x = (double)NAN;
    assert_int_equal (kc_type_hash (&kc_shapes_point_type, a, x), -1);
    assert_string_equal (x, "");
    kc_shapes_point_free (&a);
    kc_shapes_point_free (&b);
    kc_shapes_point_free (&c);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (text_is_canonical),
        cmocka_unit_test (doubles_are_short_and_read_back_equal),
        cmocka_unit_test (a_number_that_is_none_is_absence_where_that_is_allowed),
        cmocka_unit_test (an_object_that_breaks_its_schema_is_refused),
        cmocka_unit_test (a_discriminator_writes_itself),
        cmocka_unit_test (a_nullable_with_a_default_says_null),
        cmocka_unit_test (control_characters_and_quotes_are_escaped),
        cmocka_unit_test (the_hash_knows_the_content_only),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
