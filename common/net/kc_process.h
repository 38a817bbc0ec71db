/* kc_process.h - what every long-running program of the fleet needs from its process
 *
 * Crash reports: SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT write one line (program,
 * pid, build, the note of kc_process_note) and a raw backtrace to stderr with
 * async-signal-safe calls only, then die of the signal.
 */
#ifndef KC_PROCESS_H
#define KC_PROCESS_H

#include "common/net/kc_loop.h"
#include "common/util/kc_err.h"

// Once, first thing in main: crash reports, SIGPIPE ignored, core dumps off, the limit
// of open files raised.
void kc_process_init (const char *program);
// What is being worked on (a request id), for a crash report; copied, cut at 127 bytes.
void kc_process_note (const char *note);
// Write the newline of readiness and close the descriptor.  fd < 0 is fine.
void kc_process_ready (int fd);

typedef struct kc_leash { // lives as long as the loop
    kc_loop_post_f *gone;
    void *arg;
} kc_leash_t;
// Call 'gone' when the leash's other end is closed.  fd < 0 is fine.
int kc_process_leash (kc_loop_t *loop, int fd, kc_leash_t *leash, kc_err_t *err);

#endif // KC_PROCESS_H
