// test_kc_mem.c - allocation and growing arrays

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "common/util/kc_mem.h"

static void an_empty_allocation_is_a_pointer (void **state)
{
    (void)state;
    free (kc_malloc (0));
    free (kc_calloc (0, 8));
    char *p = kc_calloc (3, 5);
    for (int i = 0; i < 15; i++)
        assert_int_equal (p[i], 0);
    free (kc_realloc (p, 0));
}

static void strings_are_copied_up_to_the_bound (void **state)
{
    (void)state;
    assert_null (kc_strdup (NULL));
    const char raw[3] = {'a', 'b', 'c'}; // no zero: the bound must hold
    char *s = kc_strndup (raw, 3);
    assert_string_equal (s, "abc");
    kc_set (&s, s + 1); // a part of the old string
    assert_string_equal (s, "bc");
    kc_set (&s, NULL);
    assert_null (s);
    char *t = kc_asprintf ("%s-%d", "x", 5);
    assert_string_equal (t, "x-5");
    free (t);
}

static void an_array_grows_by_zeroed_elements (void **state)
{
    (void)state;
    int64_t *v = NULL;
    size_t n = 0;
    for (int64_t i = 0; i < 1000; i++) {
        int64_t *e = kc_push (&v, &n, sizeof *e);
        assert_true (*e == 0);
        *e = i;
    }
    assert_int_equal (n, 1000);
    for (size_t i = 0; i < n; i++)
        assert_true (v[i] == (int64_t)i);
    n = 3; // shrinking and growing again stays inside the memory (ASan watches)
    for (int i = 0; i < 50; i++)
        *(int64_t *)kc_push (&v, &n, sizeof *v) = 1;
    assert_int_equal (n, 53);
    assert_true (v[2] == 2);
    free (v);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (an_empty_allocation_is_a_pointer),
        cmocka_unit_test (strings_are_copied_up_to_the_bound),
        cmocka_unit_test (an_array_grows_by_zeroed_elements),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
