// kc_clock.c - see kc_clock.h

#include "common/util/kc_clock.h"

#include <string.h>
#include <time.h>

#include "common/util/kc_mem.h"

int64_t kc_clock_ns (void)
{
    struct timespec t;
    kc_assert (clock_gettime (CLOCK_MONOTONIC, &t) == 0);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t kc_clock_ms (void)
{
    return kc_clock_ns () / 1000000;
}

int64_t kc_clock_wall_ms (void)
{
    struct timespec t;
    kc_assert (clock_gettime (CLOCK_REALTIME, &t) == 0);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

// Write 'value' as 'width' decimal digits.
static void s_digits (char *out, int width, int64_t value)
{
    for (int i = width - 1; i >= 0; i--) {
        out[i] = (char)('0' + value % 10);
        value /= 10;
    }
}

void kc_clock_iso (int64_t wall_ms, char out[25])
{
    // The 24 bytes hold years 0000 to 9999; times before 1970 or after that are
    // clamped.
    const int64_t last = 253402300799999;
    int64_t ms = wall_ms < 0 ? 0 : wall_ms > last ? last : wall_ms;
    time_t seconds = (time_t)(ms / 1000);
    struct tm tm;
    kc_assert (gmtime_r (&seconds, &tm));
    memcpy (out, "0000-00-00T00:00:00.000Z", 25);
    s_digits (out, 4, tm.tm_year + 1900);
    s_digits (out + 5, 2, tm.tm_mon + 1);
    s_digits (out + 8, 2, tm.tm_mday);
    s_digits (out + 11, 2, tm.tm_hour);
    s_digits (out + 14, 2, tm.tm_min);
    s_digits (out + 17, 2, tm.tm_sec);
    s_digits (out + 20, 3, ms % 1000);
}
