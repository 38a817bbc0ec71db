/* kc_loop.h - the one event loop of a process: descriptors, timers, signals, children,
 * posts
 *
 * A loop belongs to the thread that made it; every function but kc_loop_post is called
 * there only. Times are monotonic milliseconds.  The clock is read once per turn, so
 * all callbacks of one turn see the same kc_loop_now.  A callback may add and remove
 * anything, itself included: what was removed is never called again, not even later in
 * the same turn.  A repeating timer that fell behind fires once, not once per missed
 * period.  Callbacks must be short: what takes longer than some milliseconds goes into
 * a child process or a thread that posts its result.
 */
#ifndef KC_LOOP_H
#define KC_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "common/util/kc_err.h"
#include "common/util/kc_spawn.h"

typedef struct kc_loop kc_loop_t;

typedef enum kc_loop_events { // bits
    KC_LOOP_IN = 1,
    KC_LOOP_OUT = 2,
    KC_LOOP_HUP = 4, // hang-up or error; delivered without asking
} kc_loop_events_t;

typedef void (kc_loop_fd_f) (kc_loop_t *loop, int fd, unsigned events, void *arg);
typedef void (kc_loop_timer_f) (kc_loop_t *loop, int64_t timer, void *arg);
typedef void (kc_loop_signal_f) (kc_loop_t *loop, int signal, void *arg);
// 'exit' is NULL when the child could not be reaped.  The child is cleared (pid 0,
// pidfd -1).
typedef void (kc_loop_child_f) (kc_loop_t *loop, kc_child_t *child,
                                const kc_exit_t *exit, void *arg);
typedef void (kc_loop_post_f) (kc_loop_t *loop, void *arg);

kc_loop_t *kc_loop_new (kc_err_t *err);
// Descriptors stay open (they belong to their owners); posts not yet run are dropped.
void kc_loop_destroy (kc_loop_t **self_p);

int64_t kc_loop_now (const kc_loop_t *self);

// Watch a descriptor (level-triggered, one watcher per descriptor).  Delete it before
// closing it.
int kc_loop_fd_add (kc_loop_t *self, int fd, unsigned events, kc_loop_fd_f *call,
                    void *arg, kc_err_t *err);
int kc_loop_fd_want (kc_loop_t *self, int fd, unsigned events,
                     kc_err_t *err);           // change the events
void kc_loop_fd_del (kc_loop_t *self, int fd); // unknown is fine

// Call after 'after_ms', then each 'every_ms' (0 = once).  The timer's number, never 0.
int64_t kc_loop_timer_add (kc_loop_t *self, int64_t after_ms, int64_t every_ms,
                           kc_loop_timer_f *call, void *arg);
void kc_loop_timer_del (kc_loop_t *self, int64_t timer); // 0, unknown or fired is fine

// Block TERM, INT and HUP in this thread and deliver them here.  Call before any thread
// is started (threads inherit the mask).  Once per loop.
int kc_loop_signals (kc_loop_t *self, kc_loop_signal_f *call, void *arg, kc_err_t *err);

// Reap the child when it ends, then call.  The child struct must outlive the watch.
int kc_loop_child_add (kc_loop_t *self, kc_child_t *child, kc_loop_child_f *call,
                       void *arg, kc_err_t *err);
void kc_loop_child_del (kc_loop_t *self,
                        kc_child_t *child); // stop watching; the child lives on

// From any thread: run 'call' on the loop's thread, in order of posting.
void kc_loop_post (kc_loop_t *self, kc_loop_post_f *call, void *arg);

// Run until kc_loop_stop.  A loop runs once in its life.  0, or -1 when the system
// fails it.
int kc_loop_run (kc_loop_t *self, kc_err_t *err);
void kc_loop_stop (kc_loop_t *self); // no further callback is called
// One turn, waiting at most 'wait_ms' (-1 = until something happens).  For callers that
// have no loop running, such as a command line tool; never from a callback.
int kc_loop_turn (kc_loop_t *self, int64_t wait_ms, kc_err_t *err);
// For a caller that waits elsewhere (the broker waits in libzmq): readable when a turn
// has something to do, and how long until the next timer (-1 = none).
int kc_loop_fd (const kc_loop_t *self);
int64_t kc_loop_wait_ms (const kc_loop_t *self);
bool kc_loop_stopped (const kc_loop_t *self);

#endif // KC_LOOP_H
