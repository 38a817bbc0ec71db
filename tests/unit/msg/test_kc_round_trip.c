// test_kc_round_trip.c - random objects of every type go out and come back the same

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "common/util/kc_mem.h"
#include "random_object.h"
#include "shapes/shapes.h"

enum { ROUNDS = 20, SHAPE_ROUNDS = 400 };

static void s_round (const kc_type_t *type, uint64_t *state)
{
    uint64_t seed = *state;
    kc_errs_t errs;
    void *object = random_object (type, state);
    size_t size;
    char *text = kc_type_encode (type, object, &size, &errs);
    if (!text) {
        char *why = kc_errs_text (&errs);
        fail_msg ("%s, seed %llu: %s", type->name, (unsigned long long)seed, why);
    }
    assert_int_equal (strlen (text), size);
    void *back = kc_type_decode (type, text, size, KC_STRICT, &errs);
    if (!back) {
        char *why = kc_errs_text (&errs);
        fail_msg ("%s, seed %llu: %s in %s", type->name, (unsigned long long)seed, why,
                  text);
    }
    void *copy = kc_type_dup (type, back);
    kc_type_free (type, back);
    char *again = kc_type_encode (type, copy, NULL, &errs);
    assert_string_equal (again, text);
    assert_true (kc_type_equal (type, object, copy));
    char hex[KC_SHA_HEX], other[KC_SHA_HEX];
    assert_int_equal (kc_type_hash (type, object, hex), 0);
    assert_int_equal (kc_type_hash (type, copy, other), 0);
    assert_string_equal (hex, other);
    kc_type_free (type, copy);
    kc_type_free (type, object);
    free (again);
    free (text);
}

static void every_type_of_every_schema_survives_the_round_trip (void **unused)
{
    (void)unused;
    uint64_t state = 20;
    for (size_t i = 0; i < kc_type_count (); i++)
        for (int round = 0; kc_type_at (i)->base != KC_BASE_ENUM && round < ROUNDS;
             round++)
            s_round (kc_type_at (i), &state);
}

static void every_shape_survives_the_round_trip (void **unused)
{
    (void)unused;
    static const kc_type_t *const s_types[] = {&kc_shapes_type, &kc_shapes_thing_type,
                                               &kc_shapes_strict_type,
                                               &kc_shapes_empty_type};
    uint64_t state = 21;
    for (size_t i = 0; i < KC_COUNT (s_types); i++)
        for (int round = 0; round < SHAPE_ROUNDS; round++)
            s_round (s_types[i], &state);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (every_type_of_every_schema_survives_the_round_trip),
        cmocka_unit_test (every_shape_survives_the_round_trip),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
