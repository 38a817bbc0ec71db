/* kc_daemon.h - what every daemon's main does: options, log, signals, ready, leash,
 * orderly stop
 *
 *     int main (int argc, char **argv)
 *     {
 *         my_t my = {0};
 *         kc_daemon_spec_t spec = {.program = "kc-coder", .role = "coder", .options =
 * s_options, .ops = s_ops, .slots = 4, .start = s_start, .on_request = s_request, .arg
 * = &my, ...}; return kc_daemon_main (&spec, argc, argv);
 *     }
 *
 * Order: parse options, start the log, block signals, 'start' (open files; it may set
 * ops, slots and caps with the kc_daemon_set functions), connect, newline on
 * --notify-fd after the first WELCOME. TERM, INT or the end of --leash-fd: no new
 * requests, 'stopping' is called, running requests get 'grace_ms' to end, open calls
 * are answered KC_EINTERRUPTED, then 'stop' and the node goes.  A second TERM skips the
 * grace.  HUP calls 'reload'. Exit status: 0 orderly stop; else the exit code of the
 * error that ended it (kc_code_exit).
 */
#ifndef KC_DAEMON_H
#define KC_DAEMON_H

#include "common/net/kc_loop.h"
#include "common/net/kc_node.h"
#include "common/util/kc_fs.h"
#include "common/util/kc_opt.h"

typedef struct kc_daemon kc_daemon_t;

typedef struct kc_daemon_spec {
    const char *program;     // "kc-coder", for the log and --version
    const char *role;        // also the instance's stem when --instance is not given
    const char *about;       // one paragraph for --help
    const kc_opt_t *options; // KC_OPT_DAEMON and the program's own rows, ended by {0}
    const char *const *ops;  // ended by NULL; NULL = none
    int slots;
    int64_t grace_ms; // for running requests at TERM; 0 = 5000
    int (*start) (kc_daemon_t *daemon, void *arg,
                  kc_err_t *err); // before the node exists; may be NULL
    // The node exists now (not yet welcome): start timers and calls here.  May be NULL.
    int (*ready) (kc_daemon_t *daemon, void *arg, kc_err_t *err);
    void (*stopping) (kc_daemon_t *daemon,
                      void *arg); // TERM came: give up leases, stop parked requests
    void (*stop) (kc_daemon_t *daemon,
                  void *arg); // after the loop; the node still exists.  Also after a
                              // failed start, so it must accept half a start.
    void (*reload) (kc_daemon_t *daemon, void *arg); // HUP
    kc_request_f *on_request; // 'arg' of all three is the spec's arg
    kc_cancel_f *on_cancel;
    kc_state_f *on_state; // after the frame has acted on it (displaced and refused end
                          // the daemon)
    void *arg;
} kc_daemon_spec_t;

// Run the daemon to its end; the exit status for main.
int kc_daemon_main (const kc_daemon_spec_t *spec, int argc, char **argv);

kc_loop_t *kc_daemon_loop (kc_daemon_t *self);
kc_node_t *kc_daemon_node (kc_daemon_t *self); // NULL until 'ready'
const kc_opts_t *kc_daemon_opts (const kc_daemon_t *self);
const char *kc_daemon_dir (kc_daemon_t *self,
                           kc_dir_t dir); // run, data, cache; made when missing
const char *kc_daemon_instance (const kc_daemon_t *self);
// Inside 'start' only:
void kc_daemon_set_slots (kc_daemon_t *self, int slots);
void kc_daemon_set_caps (kc_daemon_t *self,
                         const char *caps); // JSON list of facts, copied
// Begin the orderly stop with this result (err NULL = success); for daemons that cannot
// go on.
void kc_daemon_end (kc_daemon_t *self, const kc_err_t *err);

#endif // KC_DAEMON_H
