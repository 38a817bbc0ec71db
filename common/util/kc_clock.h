/* kc_clock.h - the two clocks: monotonic for every decision, wall for rows that people read */
#ifndef KC_CLOCK_H
#define KC_CLOCK_H

#include <stdint.h>

int64_t kc_clock_ms (void);      // monotonic milliseconds
int64_t kc_clock_ns (void);      // monotonic nanoseconds
int64_t kc_clock_wall_ms (void); // milliseconds since 1970, never compared
// Write "2026-11-30T21:16:36.123Z" (24 bytes and a zero) for a wall time.
void kc_clock_iso (int64_t wall_ms, char out[25]);

#endif // KC_CLOCK_H
