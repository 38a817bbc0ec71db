// kc_sandbox.c - what a compile child may still do: limits for everyone, Landlock where
// the kernel has it
//
// Landlock is called through its system calls with structures of our own, so that it
// works with the headers of any distribution; the rights asked for are cut down to what
// the running kernel knows.

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agents/gpu/compile/kc_compile_int.h"
#include "common/util/kc_mem.h"

// System call numbers are the same on every architecture from 5.13 on.
enum {
    S_CREATE = 444,
    S_ADD_RULE = 445,
    S_RESTRICT = 446,
    S_VERSION_FLAG = 1,
    S_RULE_PATH = 1
};

// Access rights of files, by bit.
enum {
    S_EXECUTE = 1 << 0,
    S_WRITE_FILE = 1 << 1,
    S_READ_FILE = 1 << 2,
    S_READ_DIR = 1 << 3,
    S_ALL_V1 = (1 << 13) - 1, // up to make_sym
    S_REFER = 1 << 13,        // version 2
    S_TRUNCATE = 1 << 14,     // version 3
    S_IOCTL = 1 << 15,        // version 5
    S_OF_FILES = S_EXECUTE | S_WRITE_FILE | S_READ_FILE | S_TRUNCATE | S_IOCTL,
};
enum {
    S_NET_ALL = 3,
    S_SCOPE_ALL = 3
}; // bind and connect; abstract sockets and signals

typedef struct s_ruleset {
    uint64_t files, net, scoped;
} s_ruleset_t;

typedef struct __attribute__ ((packed)) s_path_rule {
    uint64_t allowed;
    int32_t fd;
} s_path_rule_t;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define S_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)                \
    || __has_feature(memory_sanitizer)
#define S_SANITIZED 1
#endif
#endif
#ifndef S_SANITIZED
#define S_SANITIZED 0
#endif

static int s_limit (__rlimit_resource_t what, uint64_t soft, uint64_t hard)
{
    struct rlimit old;
    if (getrlimit (what, &old) < 0)
        return -1;
    if (old.rlim_max != RLIM_INFINITY && hard > old.rlim_max)
        hard = old.rlim_max; // never raise
    if (soft > hard)
        soft = hard;
    const struct rlimit limit = {.rlim_cur = soft, .rlim_max = hard};
    return setrlimit (what, &limit);
}

int kc_sandbox_limits (void)
{
    int rc = 0;
    // A sanitizer reserves terabytes of address space; there the limit would end every
    // child.
    if (!S_SANITIZED)
        rc |= s_limit (RLIMIT_AS, (uint64_t)KC_COMPILE_AS, (uint64_t)KC_COMPILE_AS);
    // The soft CPU limit ends us by a signal that the parent can tell from others.
    rc |= s_limit (RLIMIT_CPU, KC_COMPILE_CPU_S, KC_COMPILE_CPU_S + 5);
    rc |= s_limit (RLIMIT_FSIZE, KC_COMPILE_FSIZE, KC_COMPILE_FSIZE);
    rc |= s_limit (RLIMIT_CORE, 0, 0);
    rc |= s_limit (RLIMIT_NOFILE, 256, 256);
    rc |= prctl (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    rc |= prctl (PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    rc |= prctl (PR_SET_DUMPABLE, 0, 0, 0, 0);
    return rc < 0 ? -1 : 0;
}

static int s_allow (int ruleset, const char *path, uint64_t rights)
{
    int fd = open (path, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? 0 : -1;
    struct stat st;
    int rc = fstat (fd, &st);
    if (rc == 0) {
        if (!S_ISDIR (st.st_mode))
            rights &= S_OF_FILES;
        const s_path_rule_t rule = {.allowed = rights, .fd = fd};
        rc = (int)syscall (S_ADD_RULE, ruleset, S_RULE_PATH, &rule, 0);
    }
    close (fd);
    return rc;
}

int kc_sandbox_close (const kc_sandbox_t *box, kc_err_t *err)
{
    long version = syscall (S_CREATE, NULL, 0, S_VERSION_FLAG);
    if (version < 1)
        return kc_fail_errno (err, errno, "Landlock is not available in this kernel");
    s_ruleset_t rules = {.files = S_ALL_V1};
    size_t size = sizeof rules.files;
    if (version >= 2)
        rules.files |= S_REFER;
    if (version >= 3)
        rules.files |= S_TRUNCATE;
    if (version >= 4) {
        rules.net = S_NET_ALL;
        size = 16;
    }
    if (version >= 5)
        rules.files |= S_IOCTL;
    if (version >= 6) {
        rules.scoped = S_SCOPE_ALL;
        size = 24;
    }
    int ruleset = (int)syscall (S_CREATE, &rules, size, 0);
    if (ruleset < 0)
        return kc_fail_errno (err, errno, "Landlock: no ruleset");
    int rc = 0;
    for (size_t i = 0; i < KC_COUNT (box->read) && box->read[i] && rc == 0; i++)
        rc = s_allow (ruleset, box->read[i], S_EXECUTE | S_READ_FILE | S_READ_DIR);
    for (size_t i = 0; i < KC_COUNT (box->write) && box->write[i] && rc == 0; i++)
        rc = s_allow (ruleset, box->write[i], rules.files & ~(uint64_t)S_EXECUTE);
    if (rc == 0)
        rc = (int)syscall (S_RESTRICT, ruleset, 0);
    int number = errno;
    close (ruleset);
    return rc < 0 ? kc_fail_errno (err, number, "Landlock: a rule was refused") : 0;
}
