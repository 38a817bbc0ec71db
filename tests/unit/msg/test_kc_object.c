// test_kc_object.c - new, init, dup, clear; types and properties by name

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "common/msg/gen/evidence.h"
#include "common/msg/gen/program.h"
#include "common/util/kc_mem.h"
#include "shapes/shapes.h"

static void a_pushed_element_gets_its_defaults_by_init (void **state)
{
    (void)state;
    kc_shapes_t *s = kc_shapes_new ();
    for (int i = 0; i < 5; i++) {
        kc_shapes_point_t *p = kc_push (&s->points, &s->n_points, sizeof *s->points);
        assert_null (p->tag);
        kc_type_init (&kc_shapes_point_type, p);
        assert_string_equal (p->tag, "p");
        p->x = i;
    }
    assert_int_equal (s->n_points, 5);
    assert_true (s->points[4].x > 3.9 && s->points[0].y > 2.4);
    kc_shapes_free (&s);
}

static void a_copy_shares_nothing_and_can_grow (void **state)
{
    (void)state;
    static const char s_text[] =
        "{\"format\":1,\"name\":\"n\",\"count\":1,\"texts\":[\"a\",\"b\",\"c\"],"
        "\"points\":[{\"x\":1,\"tag\":\"t\"}],"
        "\"thing\":{\"shape\":\"circle\",\"r\":1,\"at\":{\"x\":5}},\"inner\":{\"deep\":"
        "{}}}";
    kc_shapes_t *a = kc_shapes_decode (s_text, sizeof s_text - 1, KC_STRICT, NULL);
    kc_shapes_t *b = kc_shapes_dup (a);
    assert_true (kc_type_equal (&kc_shapes_type, a, b));
    assert_ptr_not_equal (a->texts[0], b->texts[0]);
    assert_ptr_not_equal (a->points[0].tag, b->points[0].tag);
    assert_ptr_not_equal (a->thing.u.circle->at, b->thing.u.circle->at);
    kc_shapes_free (&a);
    for (int i = 0; i < 6; i++) { // past the room of the copy
        kc_shapes_point_t *p = kc_push (&b->points, &b->n_points, sizeof *b->points);
        assert_null (p->tag);
        *(char **)kc_push (&b->texts, &b->n_texts, sizeof *b->texts) = kc_strdup ("z");
    }
    assert_string_equal (b->texts[2], "c");
    assert_string_equal (b->points[0].tag, "t");
    kc_shapes_free (&b);
    assert_null (kc_shapes_dup (NULL));
    kc_shapes_free (&b); // twice is fine
}

static void a_decoded_array_can_grow (void **state)
{
    (void)state;
    static const char s_text[] =
        "{\"format\":1,\"name\":\"n\",\"count\":1,\"numbers\":[1,2,3]}";
    kc_shapes_t *s = kc_shapes_decode (s_text, sizeof s_text - 1, KC_STRICT, NULL);
    for (int i = 0; i < 7; i++)
        *(double *)kc_push (&s->numbers, &s->n_numbers, sizeof *s->numbers) = i;
    assert_int_equal (s->n_numbers, 10);
    assert_true (s->numbers[2] > 2.9 && s->numbers[9] > 5.9);
    kc_shapes_free (&s);
}

static void clearing_leaves_zeroed_memory (void **state)
{
    (void)state;
    kc_shapes_point_t p = {0};
    kc_type_init (&kc_shapes_point_type, &p);
    kc_type_clear (&kc_shapes_point_type, &p);
    assert_null (p.tag);
    assert_true (p.y >= 0 && p.y <= 0);
}

static void enums_have_names (void **state)
{
    (void)state;
    assert_string_equal (kc_other_state_name (KC_OTHER_STATE_OFF), "off");
    assert_string_equal (kc_other_state_name (KC_OTHER_STATE_UNSET), "");
    assert_string_equal (kc_other_state_name ((kc_other_state_t)77), "");
    assert_int_equal (kc_other_state_parse ("on"), KC_OTHER_STATE_ON);
    assert_int_equal (kc_other_state_parse ("ON"), KC_OTHER_STATE_UNSET);
    assert_int_equal (kc_other_state_parse (NULL), KC_OTHER_STATE_UNSET);
    assert_string_equal (kc_shapes_colour_name (KC_SHAPES_COLOUR_NE), "!=");
}

static void types_are_found_by_their_schema_name (void **state)
{
    (void)state;
    assert_ptr_equal (kc_type_find ("program"), &kc_program_type);
    assert_ptr_equal (kc_type_find ("program.block"), &kc_program_block_type);
    assert_non_null (kc_type_find ("memory.task_create"));
    assert_null (kc_type_find ("memory.none"));
    assert_null (kc_type_find (""));
    for (size_t i = 0; i < kc_type_count (); i++) {
        assert_ptr_equal (kc_type_find (kc_type_at (i)->name), kc_type_at (i));
        if (i > 0)
            assert_true (strcmp (kc_type_at (i - 1)->name, kc_type_at (i)->name) < 0);
    }
    assert_non_null (strstr (kc_program_type.file->text, "Kernel program"));
    assert_int_equal (strlen (kc_program_type.file->text), kc_program_type.file->size);
}

static void properties_carry_what_the_schema_says_about_them (void **state)
{
    (void)state;
    const kc_field_t *f = kc_type_field (&kc_shapes_type, "ratio");
    assert_string_equal (f->unit, "share");
    assert_string_equal (f->source, "counter");
    assert_string_equal (f->note, "a note");
    assert_true ((f->flags & KC_FIELD_LO) && (f->flags & KC_FIELD_HI) && f->lo > 0.2
                 && f->lo < 0.3 && f->hi > 0.9);
    assert_true (kc_type_field (&kc_shapes_type, "secret")->flags & KC_FIELD_SECRET);
    assert_int_equal (kc_type_field (&kc_shapes_type, "expr")->kind, KC_TEXT_EXPR);
    assert_null (kc_type_field (&kc_shapes_type, "none"));
    assert_string_equal (kc_shapes_type.fields[0].name,
                         "format"); // the order of the schema
    assert_string_equal (kc_shapes_point_type.text, "a place");
    assert_string_equal (kc_type_field (&kc_other_type, "state")->text,
                         "\"quoted\", 50 % \\ and ?\?/ \xc3\xa9");
}

static void evidence_has_columns_with_units_and_ranges (void **state)
{
    (void)state;
    size_t columns = 0;
    for (size_t i = 0; i < kc_evidence_step_type.n_fields; i++) {
        const kc_field_t *f = &kc_evidence_step_type.fields[i];
        if (f->base == KC_BASE_NUMBER && !(f->flags & KC_FIELD_ARRAY)
            && (f->flags & KC_FIELD_LO)) {
            columns++;
            assert_non_null (f->unit);
            assert_true (f->flags & KC_FIELD_HI && f->hi > f->lo);
        }
    }
    assert_true (columns >= 40);
}

static void one_property_of_any_object_can_be_read (void **state)
{
    (void)state;
    static const char s_text[] = "{\"format\":1,\"name\":\"n\",\"count\":-2,\"ratio\":"
                                 "0.5,\"flag\":true,\"state\":\"on\"}";
    kc_shapes_t *s = kc_shapes_decode (s_text, sizeof s_text - 1, KC_STRICT, NULL);
    double x = 9;
    int64_t n = 9;
    assert_true (kc_field_number (kc_type_field (&kc_shapes_type, "count"), s, &x)
                 && x < -1.9);
    assert_true (kc_field_number (kc_type_field (&kc_shapes_type, "ratio"), s, &x)
                 && x > 0.4);
    assert_true (kc_field_integer (kc_type_field (&kc_shapes_type, "flag"), s, &n)
                 && n == 1);
    assert_false (kc_field_integer (kc_type_field (&kc_shapes_type, "ratio"), s, &n));
    assert_false (kc_field_number (kc_type_field (&kc_shapes_type, "any"), s, &x));
    assert_false (kc_field_number (kc_type_field (&kc_shapes_type, "numbers"), s, &x));
    assert_string_equal (kc_field_string (kc_type_field (&kc_shapes_type, "state"), s),
                         "on");
    assert_string_equal (kc_field_string (kc_type_field (&kc_shapes_type, "name"), s),
                         "n");
    assert_null (kc_field_string (kc_type_field (&kc_shapes_type, "id"), s));
    assert_null (kc_field_string (kc_type_field (&kc_shapes_type, "count"), s));
    assert_false (kc_field_present (kc_type_field (&kc_shapes_type, "thing"), s));
    assert_false (kc_field_present (kc_type_field (&kc_shapes_type, "texts"), s));
    kc_shapes_free (&s);
}

static void the_schema_of_a_type_stands_alone (void **state)
{
    (void)state;
    char *text = kc_type_schema (&kc_shapes_thing_type);
    assert_string_equal (
        text, "{\"$schema\":\"https://json-schema.org/draft/2020-12/"
              "schema\",\"oneOf\":[{\"$ref\":\"#/$defs/shapes.circle\"},"
              "{\"$ref\":\"#/$defs/"
              "shapes.square\"}],\"$defs\":{\"shapes.circle\":{\"type\":\"object\","
              "\"additionalProperties\":false,"
              "\"required\":[\"shape\",\"r\"],\"properties\":{\"shape\":{\"const\":"
              "\"circle\"},\"r\":{\"type\":\"number\",\"minimum\":0},"
              "\"at\":{\"$ref\":\"#/$defs/"
              "shapes.point\"}}},\"shapes.square\":{\"type\":\"object\","
              "\"additionalProperties\":false,"
              "\"required\":[\"shape\",\"side\"],\"properties\":{\"shape\":{\"const\":"
              "\"a square\"},\"side\":{\"type\":\"integer\","
              "\"minimum\":1}}},\"shapes.point\":{\"type\":\"object\","
              "\"additionalProperties\":false,\"required\":[\"x\"],\"properties\":{"
              "\"x\":{\"type\":\"number\"},\"y\":{\"type\":\"number\",\"default\":2.5},"
              "\"tag\":{\"type\":\"string\",\"maxLength\":4,"
              "\"default\":\"p\"}},\"description\":\"a place\"}}}");
    free (text);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (a_pushed_element_gets_its_defaults_by_init),
        cmocka_unit_test (a_copy_shares_nothing_and_can_grow),
        cmocka_unit_test (a_decoded_array_can_grow),
        cmocka_unit_test (clearing_leaves_zeroed_memory),
        cmocka_unit_test (enums_have_names),
        cmocka_unit_test (types_are_found_by_their_schema_name),
        cmocka_unit_test (properties_carry_what_the_schema_says_about_them),
        cmocka_unit_test (evidence_has_columns_with_units_and_ranges),
        cmocka_unit_test (one_property_of_any_object_can_be_read),
        cmocka_unit_test (the_schema_of_a_type_stands_alone),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
