// test_kc_map.c - the map with its order

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/util/kc_map.h"
#include "common/util/kc_mem.h"

enum { MANY = 20000 };

static void keys_are_found_replaced_and_removed (void **state)
{
    (void)state;
    kc_map_t *m = kc_map_new (free);
    assert_null (kc_map_get (m, "a"));
    kc_map_put (m, "a", kc_strdup ("1"));
    kc_map_put (m, "", kc_strdup ("empty key"));
    kc_map_put (m, "a", kc_strdup ("2"));
    assert_string_equal (kc_map_get (m, "a"), "2");
    assert_string_equal (kc_map_get (m, ""), "empty key");
    assert_int_equal (kc_map_size (m), 2);
    char *mine = kc_map_take (m, "a");
    assert_string_equal (mine, "2");
    free (mine);
    assert_null (kc_map_take (m, "a"));
    kc_map_remove (m, "a");
    kc_map_remove (m, "");
    assert_int_equal (kc_map_size (m), 0);
    kc_map_destroy (&m);
    assert_null (m);
    kc_map_destroy (&m);
}

static void iteration_follows_insertion_through_growth_and_removal (void **state)
{
    (void)state;
    static const char one = 1;
    kc_map_t *m = kc_map_new (NULL);
    char key[16];
    for (int i = 0; i < MANY; i++) {
        snprintf (key, sizeof key, "k%d", i);
        kc_map_put (m, key, (void *)(uintptr_t)&one);
    }
    for (int i = 0; i < MANY; i += 2) {
        snprintf (key, sizeof key, "k%d", i);
        kc_map_remove (m, key);
    }
    for (int i = 0; i < MANY; i += 2) { // again, now behind the odd ones
        snprintf (key, sizeof key, "k%d", i);
        kc_map_put (m, key, (void *)(uintptr_t)&one);
    }
    assert_int_equal (kc_map_size (m), MANY);
    size_t cursor = 0;
    const char *found = NULL;
    for (int i = 0; i < MANY; i++) {
        int want = i < MANY / 2 ? 2 * i + 1 : 2 * (i - MANY / 2);
        assert_non_null (kc_map_next (m, &cursor, &found));
        snprintf (key, sizeof key, "k%d", want);
        assert_string_equal (found, key);
    }
    assert_null (kc_map_next (m, &cursor, NULL));
    assert_null (kc_map_next (m, &cursor, NULL));
    kc_map_destroy (&m);
}

static void the_current_key_may_be_removed_while_iterating (void **state)
{
    (void)state;
    kc_map_t *m = kc_map_new (free);
    char key[16];
    for (int i = 0; i < 100; i++) {
        snprintf (key, sizeof key, "%d", i);
        kc_map_put (m, key, kc_strdup (key));
    }
    size_t cursor = 0;
    const char *found = NULL;
    int seen = 0;
    while (kc_map_next (m, &cursor, &found)) {
        seen++;
        kc_map_remove (m, found); // the borrowed key itself
    }
    assert_int_equal (seen, 100);
    assert_int_equal (kc_map_size (m), 0);
    kc_map_destroy (&m);
}

static void a_queue_of_short_lived_keys_stays_small_and_fast (void **state)
{
    (void)state;
    kc_map_t *m = kc_map_new (free);
    char key[24];
    for (int i = 0; i < 10 * MANY; i++) {
        snprintf (key, sizeof key, "%d", i);
        kc_map_put (m, key, kc_strdup (key));
        if (i >= 50) {
            size_t cursor = 0;
            const char *oldest = NULL;
            assert_non_null (kc_map_next (m, &cursor, &oldest));
            snprintf (key, sizeof key, "%d", i - 50);
            assert_string_equal (oldest, key);
            kc_map_remove (m, oldest);
        }
    }
    assert_int_equal (kc_map_size (m), 50);
    kc_map_destroy (&m);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (keys_are_found_replaced_and_removed),
        cmocka_unit_test (iteration_follows_insertion_through_growth_and_removal),
        cmocka_unit_test (the_current_key_may_be_removed_while_iterating),
        cmocka_unit_test (a_queue_of_short_lived_keys_stays_small_and_fast),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
