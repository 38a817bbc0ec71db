// kc_compile_tools.c - finding compilers, telling one version from another, and
// leftovers of dead processes

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agents/gpu/compile/kc_compile_int.h"
#include "common/util/kc_fs.h"
#include "common/util/kc_mem.h"
#include "common/util/kc_spawn.h"

enum { S_SWEEP = 10000, S_VERSION_MS = 10000 };

// The identity of a file: a toolkit that is replaced in place gets new keys.
void kc_tool_identity (kc_sha_t *sha, const char *path)
{
    struct stat st;
    char *real = realpath (path, NULL);
    char text[128] = "absent";
    if (real && stat (real, &st) == 0)
        snprintf (text, sizeof text, "%lld %lld.%09ld", (long long)st.st_size,
                  (long long)st.st_mtim.tv_sec, (long)st.st_mtim.tv_nsec);
    kc_sha_str (sha, real ? real : path);
    kc_sha_str (sha, text);
    free (real);
}

char *kc_tool_clang (const char *given, kc_err_t *err)
{
    static const char *const places[] = {
        "/usr/bin/clang-14", "/usr/bin/clang-15",    "/usr/bin/clang-16",
        "/usr/bin/clang",    "/usr/local/bin/clang", "/usr/lib/llvm-14/bin/clang"};
    for (size_t i = 0; i < KC_COUNT (places) + 1; i++) {
        const char *path = given ? given : i < KC_COUNT (places) ? places[i] : NULL;
        if (path && access (path, X_OK) == 0)
            return realpath (path, NULL);
        if (given)
            break;
    }
    kc_fail (err, KC_EUNSUPPORTED,
             "clang: not found as %s; install it (apt-get install clang-14) or name it "
             "with --clang",
             given ? given : "/usr/bin/clang-14, -15, -16 or /usr/bin/clang");
    return NULL;
}

// "clang version 14.0.6" of the binary, found by running it.
char *kc_tool_clang_version (const char *clang)
{
    int fds[2];
    kc_child_t child = {0};
    if (kc_pipe (fds, NULL) < 0)
        return kc_strdup ("clang");
    const char *const argv[] = {clang, "--version", NULL};
    const kc_spawn_fd_t out = {fds[1], 1};
    const kc_spawn_t spec = {.path = clang, .argv = argv, .fds = &out, .n_fds = 1};
    char text[512] = "";
    size_t n = 0;
    if (kc_spawn (&spec, &child, NULL) == 0) {
        close (fds[1]);
        fds[1] = -1;
        struct pollfd p = {.fd = fds[0], .events = POLLIN};
        while (n < sizeof text - 1 && poll (&p, 1, S_VERSION_MS) == 1) {
            ssize_t got = read (fds[0], text + n, sizeof text - 1 - n);
            if (got <= 0)
                break;
            n += (size_t)got;
        }
    }
    close (fds[0]);
    if (fds[1] >= 0)
        close (fds[1]);
    if (child.pid)
        kc_child_destroy (&child);
    const char *at = strstr (text, "version ");
    return at ? kc_asprintf ("clang %.*s", (int)strcspn (at + 8, " \n-+"), at + 8)
              : kc_strdup ("clang");
}

// Delete the private folders of processes that are gone: "kc-compile-<pid>-XXXXXX".
void kc_tool_sweep (const char *root)
{
    DIR *d = opendir (root);
    if (!d)
        return;
    int seen = 0;
    for (struct dirent *e = readdir (d); e && seen < S_SWEEP; e = readdir (d), seen++) {
        static const char prefix[] = "kc-compile-";
        if (strncmp (e->d_name, prefix, sizeof prefix - 1) != 0)
            continue;
        long pid = strtol (e->d_name + sizeof prefix - 1, NULL, 10);
        if (pid <= 0 || kill ((pid_t)pid, 0) == 0 || errno != ESRCH)
            continue;
        char *path = kc_fs_join (root, e->d_name);
        kc_fs_remove_tree (path, NULL);
        free (path);
    }
    closedir (d);
}
