// kc_spawn.c - see kc_spawn.h

#include "common/util/kc_spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/util/kc_clock.h"
#include "common/util/kc_mem.h"

enum {
    S_FDS = 64,      // descriptors given to one child
    S_FD_MAX = 1023, // highest number in the child
    S_REAP_MS =
        5000 // a group that was killed is gone by then, or the kernel is in trouble
};

// posix_spawn functions return their error instead of setting errno.
static int s_actions (posix_spawn_file_actions_t *actions, const kc_spawn_t *spec,
                      const int *temps, int top)
{
    int rc = 0;
    for (int to = 0; to <= top && rc == 0; to++) {
        int from = -1;
        for (size_t i = 0; i < spec->n_fds; i++)
            if (spec->fds[i].to == to)
                from = temps[i];
        if (from >= 0)
            rc = posix_spawn_file_actions_adddup2 (actions, from, to);
        else if (to <= 2)
            rc = posix_spawn_file_actions_addopen (actions, to, "/dev/null", O_RDWR, 0);
        else
            rc = posix_spawn_file_actions_addclose (actions,
                                                    to); // closed already is fine
    }
    if (rc == 0)
        rc = posix_spawn_file_actions_addclosefrom_np (actions, top + 1);
    return rc;
}

static int s_attributes (posix_spawnattr_t *attr)
{
    sigset_t all, none;
    sigfillset (&all);
    sigemptyset (&none);
    int rc = posix_spawnattr_setflags (
        attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    if (rc == 0)
        rc = posix_spawnattr_setpgroup (attr, 0);
    if (rc == 0)
        rc = posix_spawnattr_setsigdefault (attr, &all);
    if (rc == 0)
        rc = posix_spawnattr_setsigmask (attr, &none);
    return rc;
}

static int s_start (const kc_spawn_t *spec, const int *temps, int top, pid_t *pid)
{
    static const char *const nothing[] = {NULL};
    const char *const *envp = spec->envp ? spec->envp : nothing;
    // posix_spawn takes char *const * for old compilers and changes nothing.
    char *const *argv_plain = NULL;
    char *const *envp_plain = NULL;
    memcpy (&argv_plain, &spec->argv, sizeof (argv_plain));
    memcpy (&envp_plain, &envp, sizeof (envp_plain));

    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    int rc = posix_spawn_file_actions_init (&actions);
    if (rc)
        return rc;
    rc = posix_spawnattr_init (&attr);
    if (rc == 0) {
        rc = s_actions (&actions, spec, temps, top);
        if (rc == 0)
            rc = s_attributes (&attr);
        if (rc == 0)
            rc = posix_spawn (pid, spec->path, &actions, &attr, argv_plain, envp_plain);
        posix_spawnattr_destroy (&attr);
    }
    posix_spawn_file_actions_destroy (&actions);
    return rc;
}

static int s_check (const kc_spawn_t *spec, kc_err_t *err)
{
    if (!spec->path || spec->path[0] != '/')
        return kc_fail (err, KC_EINVALID,
                        "start %s: give the absolute path of the program",
                        spec->path ? spec->path : "(null)");
    if (spec->n_fds > S_FDS)
        return kc_fail (err, KC_EINVALID, "start %s: %zu descriptors, at most %d",
                        spec->path, spec->n_fds, S_FDS);
    for (size_t i = 0; i < spec->n_fds; i++) {
        if (spec->fds[i].to < 0 || spec->fds[i].to > S_FD_MAX)
            return kc_fail (err, KC_EINVALID,
                            "start %s: descriptor number %d is not in 0..%d",
                            spec->path, spec->fds[i].to, S_FD_MAX);
        for (size_t j = 0; j < i; j++)
            if (spec->fds[j].to == spec->fds[i].to)
                return kc_fail (err, KC_EINVALID,
                                "start %s: descriptor %d is given twice", spec->path,
                                spec->fds[i].to);
    }
    return 0;
}

int kc_spawn (const kc_spawn_t *spec, kc_child_t *child, kc_err_t *err)
{
    *child = (kc_child_t){.pid = 0, .pidfd = -1};
    if (s_check (spec, err) < 0)
        return -1;
    int top = 2, temps[S_FDS], rc = 0;
    size_t n = 0;
    for (size_t i = 0; i < spec->n_fds; i++)
        if (spec->fds[i].to > top)
            top = spec->fds[i].to;
    // Copies above every target: no target overwrites a source, and source == target
    // becomes a real dup2, which is what clears close-on-exec.
    for (; n < spec->n_fds; n++) {
        temps[n] = fcntl (spec->fds[n].from, F_DUPFD_CLOEXEC, top + 1);
        if (temps[n] < 0) {
            rc = kc_fail_errno (err, errno, "start %s: descriptor %d", spec->path,
                                spec->fds[n].from);
            goto out;
        }
    }
    pid_t pid = 0;
    int number = s_start (spec, temps, top, &pid);
    if (number) {
        rc = kc_fail_errno (err, number, "start %s", spec->path);
        goto out;
    }
    child->pid = pid;
    // Nobody else reaps, so the number still means our child even if it has ended.
    child->pidfd = (int)syscall (SYS_pidfd_open, pid, 0); // close-on-exec by definition
    if (child->pidfd < 0) {
        number = errno;
        kill (-pid, SIGKILL);
        while (waitpid (pid, NULL, 0) < 0 && errno == EINTR)
            continue;
        *child = (kc_child_t){.pid = 0, .pidfd = -1};
        rc = kc_fail_errno (err, number, "start %s: pidfd_open (needs Linux 5.3)",
                            spec->path);
    }
out:
    while (n > 0)
        close (temps[--n]);
    return rc;
}

void kc_child_kill (kc_child_t *child, int signal)
{
    // Not reaped yet, so neither the process number nor the group's can have been given
    // away.
    if (child->pid > 0)
        kill (-child->pid, signal);
}

// Milliseconds for poll until 'deadline' (0 = none); 0 when it has passed.
static int s_left (int64_t deadline)
{
    if (deadline == 0)
        return -1;
    int64_t left = deadline - kc_clock_ms ();
    return left < 0 ? 0 : left > INT_MAX ? INT_MAX : (int)left;
}

// 1 ready, 0 deadline, -1 errno
static int s_poll (int fd, short events, int64_t deadline)
{
    for (;;) {
        struct pollfd p = {.fd = fd, .events = events};
        int wait = s_left (deadline);
        int rc = poll (&p, 1, wait);
        if (rc > 0 && (p.revents & POLLNVAL)) {
            errno = EBADF;
            return -1;
        }
        if (rc > 0)
            return 1;
        if (rc == 0 && wait != INT_MAX)
            return 0;
        if (rc < 0 && errno != EINTR)
            return -1;
    }
}

int kc_child_wait (kc_child_t *child, int timeout_ms, kc_exit_t *out, kc_err_t *err)
{
    if (child->pid <= 0)
        return kc_fail (err, KC_ESTATE, "wait: there is no child");
    int ready =
        s_poll (child->pidfd, POLLIN, timeout_ms < 0 ? 0 : kc_clock_ms () + timeout_ms);
    if (ready < 0)
        return kc_fail_errno (err, errno, "wait for process %ld", (long)child->pid);
    if (ready == 0)
        return 0;
    // While the leader is a zombie its group cannot be a stranger's.
    kill (-child->pid, SIGKILL);
    int status = 0;
    struct rusage usage;
    memset (&usage, 0, sizeof usage);
    pid_t pid = -1;
    do
        pid = wait4 (child->pid, &status, 0, &usage);
    while (pid < 0 && errno == EINTR);
    int number = errno;
    pid_t gone = child->pid;
    close (child->pidfd);
    *child = (kc_child_t){.pid = 0, .pidfd = -1};
    if (pid < 0)
        return kc_fail_errno (err, number, "reap process %ld (did somebody else?)",
                              (long)gone);
    if (out) {
        out->signalled = WIFSIGNALED (status);
        out->code = WIFSIGNALED (status) ? WTERMSIG (status) : WEXITSTATUS (status);
        out->max_rss_kb = usage.ru_maxrss;
    }
    return 1;
}

void kc_child_destroy (kc_child_t *child)
{
    if (child->pid <= 0)
        return;
    kc_child_kill (child, SIGKILL);
    if (kc_child_wait (child, S_REAP_MS, NULL, NULL) == 0) {
        // Stuck in the kernel: give up the descriptor, init reaps it after us.
        close (child->pidfd);
        *child = (kc_child_t){.pid = 0, .pidfd = -1};
    }
}

int kc_pipe (int fds[2], kc_err_t *err)
{
    if (pipe2 (fds, O_CLOEXEC) < 0)
        return kc_fail_errno (err, errno, "create a pipe");
    return 0;
}

ssize_t kc_fd_write_some (int fd, const void *data, size_t size)
{
    ssize_t n = send (fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0 || errno != ENOTSOCK)
        return n;
    // Block SIGPIPE in this thread, and swallow the one that our write raised.
    sigset_t pipe_only, before, pending;
    sigemptyset (&pipe_only);
    sigaddset (&pipe_only, SIGPIPE);
    sigpending (&pending);
    bool was_pending = sigismember (&pending, SIGPIPE) == 1;
    pthread_sigmask (SIG_BLOCK, &pipe_only, &before);
    n = write (fd, data, size);
    int number = errno;
    if (n < 0 && number == EPIPE && !was_pending) {
        const struct timespec now = {0};
        while (sigtimedwait (&pipe_only, NULL, &now) < 0 && errno == EINTR)
            continue;
    }
    pthread_sigmask (SIG_SETMASK, &before, NULL);
    errno = number;
    return n;
}

int kc_fd_write (int fd, const void *data, size_t size, int64_t deadline, kc_err_t *err)
{
    const char *p = data;
    size_t left = size;
    while (left > 0) {
        int ready = s_poll (fd, POLLOUT, deadline);
        if (ready < 0)
            return kc_fail_errno (err, errno, "write to descriptor %d", fd);
        if (ready == 0)
            return kc_fail (err, KC_ETIMEOUT,
                            "write to descriptor %d: %zu of %zu bytes in time", fd,
                            size - left, size);
        // A pipe that polls writable takes PIPE_BUF bytes without blocking; more might
        // block.
        ssize_t n = kc_fd_write_some (fd, p, left < PIPE_BUF ? left : PIPE_BUF);
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (n < 0)
            return kc_fail_errno (err, errno, "write to descriptor %d", fd);
        p += n;
        left -= (size_t)n;
    }
    return 0;
}

int kc_fd_read (int fd, void *data, size_t size, int64_t deadline, kc_err_t *err)
{
    char *p = data;
    size_t left = size;
    while (left > 0) {
        int ready = s_poll (fd, POLLIN, deadline);
        if (ready < 0)
            return kc_fail_errno (err, errno, "read from descriptor %d", fd);
        if (ready == 0)
            return kc_fail (err, KC_ETIMEOUT,
                            "read from descriptor %d: %zu of %zu bytes in time", fd,
                            size - left, size);
        ssize_t n = read (fd, p, left);
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (n < 0)
            return kc_fail_errno (err, errno, "read from descriptor %d", fd);
        if (n == 0)
            return kc_fail (
                err, KC_EIO,
                "read from descriptor %d: end of file after %zu of %zu bytes", fd,
                size - left, size);
        p += n;
        left -= (size_t)n;
    }
    return 0;
}
