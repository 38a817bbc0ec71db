/* kc_spawn.h - the only way to start a child: posix_spawn in its own process group
 *
 * The child gets exactly the descriptors listed (all others are closed, even those a library opened
 * without close-on-exec), the environment given, default signal actions and an empty signal mask.
 * Killing means the whole group, and when the child has ended kc_child_wait kills what is left of its
 * group before it reaps, so no grandchild outlives it.  A process that uses this class must not ignore
 * SIGCHLD nor reap children elsewhere.
 */
#ifndef KC_SPAWN_H
#define KC_SPAWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/util/kc_err.h"

typedef struct kc_spawn_fd {
    int from; // descriptor here
    int to;   // number in the child (0, 1, 2, 3, ...)
} kc_spawn_fd_t;

typedef struct kc_spawn {
    const char *path;          // absolute path of the program
    const char *const *argv;   // NULL-terminated, argv[0] included
    const char *const *envp;   // NULL-terminated; NULL = empty environment
    const kc_spawn_fd_t *fds;  // 0, 1, 2 not listed become /dev/null
    size_t n_fds;
} kc_spawn_t;

typedef struct kc_child {
    pid_t pid;  // also the process group; 0 = none
    int pidfd;  // readable when the child has ended
} kc_child_t;

typedef struct kc_exit {
    bool signalled;
    int code; // exit status or signal number
    int64_t max_rss_kb;
} kc_exit_t;

int kc_spawn (const kc_spawn_t *spec, kc_child_t *child, kc_err_t *err);
void kc_child_kill (kc_child_t *child, int signal); // the whole group; harmless when gone
// Reap: 1 ended ('out', may be NULL, filled; child cleared), 0 still running after timeout_ms (0 = poll,
// -1 = no limit), -1 failure.
int kc_child_wait (kc_child_t *child, int timeout_ms, kc_exit_t *out, kc_err_t *err);
// SIGKILL the group and reap; for cleanup paths.
void kc_child_destroy (kc_child_t *child);
// A pair of pipes' ends, close-on-exec: fds[0] reads what fds[1] writes.
int kc_pipe (int fds[2], kc_err_t *err);
// Write or read exactly 'size' bytes with a deadline (monotonic ms, 0 = none), whether the descriptor
// blocks or not.  Failure (KC_ETIMEOUT, KC_EIO; end of file is KC_EIO) may have moved some of the bytes.
int kc_fd_write (int fd, const void *data, size_t size, int64_t deadline, kc_err_t *err);
int kc_fd_read (int fd, void *data, size_t size, int64_t deadline, kc_err_t *err);
// write(2) without SIGPIPE: a reader that is gone is EPIPE only.
ssize_t kc_fd_write_some (int fd, const void *data, size_t size);

#endif // KC_SPAWN_H
