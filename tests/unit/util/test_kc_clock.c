// test_kc_clock.c - times and their text

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "common/util/kc_clock.h"

static void check (int64_t ms, const char *want)
{
    char text[25];
    kc_clock_iso (ms, text);
    assert_string_equal (text, want);
}

static void wall_times_are_written_in_utc (void **state)
{
    (void)state;
    check (0, "1970-01-01T00:00:00.000Z");
    check (951827696789, "2000-02-29T12:34:56.789Z");
    check (253402300799999, "9999-12-31T23:59:59.999Z");
}

static void times_outside_the_text_are_clamped (void **state)
{
    (void)state;
    check (INT64_MIN, "1970-01-01T00:00:00.000Z");
    check (INT64_MAX, "9999-12-31T23:59:59.999Z");
}

static void the_monotonic_clock_never_goes_back (void **state)
{
    (void)state;
    int64_t last = kc_clock_ns ();
    for (int i = 0; i < 10000; i++) {
        int64_t now = kc_clock_ns ();
        assert_true (now >= last);
        last = now;
    }
    assert_true (kc_clock_ms () >= last / 1000000);
    assert_true (kc_clock_wall_ms () > 1700000000000);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (wall_times_are_written_in_utc),
        cmocka_unit_test (times_outside_the_text_are_clamped),
        cmocka_unit_test (the_monotonic_clock_never_goes_back),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
