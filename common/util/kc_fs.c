// kc_fs.c - see kc_fs.h

#include "common/util/kc_fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/util/kc_buf.h"
#include "common/util/kc_clock.h"
#include "common/util/kc_hash.h"
#include "common/util/kc_mem.h"

enum {
    S_DEPTH = 64,        // folders inside folders that kc_fs_remove_tree follows
    S_READ_WAIT = 10000, // ms without a byte from a pipe before kc_fs_read gives up
    S_LOCK_TRIES = 16,   // a lock file that is removed again and again
    S_PIECE = 64 * 1024  // bytes per read
};

// The value of an environment variable; NULL when unset or empty.
static const char *s_env (const char *name)
{
    const char *value = getenv (name);
    return value && value[0] ? value : NULL;
}

// "$<xdg>", else "$HOME/<under>"; caller frees
static char *s_home (const char *xdg, const char *under)
{
    const char *base = s_env (xdg);
    if (base && base[0] == '/') // the XDG rule: a relative value is ignored
        return kc_strdup (base);
    const char *home = s_env ("HOME");
    return kc_fs_join (home ? home : "/", under);
}

char *kc_fs_dir (kc_dir_t dir, const char *given)
{
    static const char *const env[] = {"KC_RUN", "KC_DATA", "KC_CACHE"};
    kc_assert ((size_t)dir < KC_COUNT (env));
    if (given && given[0])
        return kc_strdup (given);
    const char *value = s_env (env[dir]);
    if (value)
        return kc_strdup (value);
    const char *name = s_env ("KC_NAME");
    if (!name || strchr (name, '/') || name[0] == '.')
        name = "default"; // a name is one folder, never a way out of it
    char *base = NULL, *path = NULL;
    switch (dir) {
    case KC_DIR_RUN: {
        const char *xdg = s_env ("XDG_RUNTIME_DIR");
        path = kc_asprintf ("%s/kernelclaw-%lu/%s", xdg && xdg[0] == '/' ? xdg : "/tmp",
                            (unsigned long)getuid (), name);
        break;
    }
    case KC_DIR_DATA:
        base = s_home ("XDG_DATA_HOME", ".local/share");
        path = kc_asprintf ("%s/kernelclaw/%s", base, name);
        break;
    case KC_DIR_CACHE:
        base = s_home ("XDG_CACHE_HOME", ".cache");
        path = kc_asprintf ("%s/kernelclaw", base);
        break;
    }
    free (base);
    return path;
}

int kc_fs_mkdir (const char *path, unsigned mode, kc_err_t *err)
{
    if (!path[0])
        return kc_fail (err, KC_EINVALID, "cannot create a folder with an empty name");
    char *part = kc_strdup (path);
    int rc = 0;
    for (char *p = part + 1; rc == 0; p++) {
        if (*p && *p != '/')
            continue;
        char end = *p;
        *p = 0;
        // An existing component must be a folder (or lead to one).
        if (mkdir (part, (mode_t)mode | (end ? 0700 : 0)) < 0) {
            int number = errno;
            struct stat st;
            if (stat (part, &st) < 0)
                rc = kc_fail_errno (err, number, "create folder %s", part);
            else if (!S_ISDIR (st.st_mode))
                rc = kc_fail (err, KC_EIO,
                              "create folder %s: %s is not a folder; remove it", path,
                              part);
        }
        *p = end;
        if (!end)
            break;
    }
    free (part);
    return rc;
}

// All bytes of 'fd' into 'b'; 0, or -1 with 'err' filled.
static int s_read_all (int fd, const char *path, size_t max, kc_buf_t *b, kc_err_t *err)
{
    char *piece = kc_malloc (S_PIECE);
    int rc = 0;
    for (;;) {
        ssize_t n = read (fd, piece, S_PIECE);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN) { // a pipe
            struct pollfd p = {.fd = fd, .events = POLLIN};
            int ready = poll (&p, 1, S_READ_WAIT);
            if (ready > 0 || (ready < 0 && errno == EINTR))
                continue;
            rc = kc_fail (err, KC_ETIMEOUT,
                          "read %s: nothing came for %d s; is its writer alive?", path,
                          S_READ_WAIT / 1000);
            break;
        }
        if (n < 0) {
            rc = kc_fail_errno (err, errno, "read %s", path);
            break;
        }
        if (n == 0)
            break;
        if ((size_t)n > max - b->size) {
            rc = kc_fail (err, KC_EINVALID,
                          "read %s: longer than the %zu bytes allowed here", path, max);
            break;
        }
        kc_buf_put (b, piece, (size_t)n);
    }
    free (piece);
    return rc;
}

char *kc_fs_read (const char *path, size_t max, size_t *size_p, kc_err_t *err)
{
    // Not blocking, so that a pipe without a writer cannot hold us.
    int fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        int number = errno;
        kc_fail_errno (err, number, "open %s", path);
        if (err && (number == ENOENT || number == ENOTDIR))
            err->code = KC_ENOTFOUND;
        return NULL;
    }
    kc_buf_t b = {0};
    int rc = s_read_all (fd, path, max, &b, err);
    close (fd);
    if (rc < 0) {
        kc_buf_free (&b);
        return NULL;
    }
    if (size_p)
        *size_p = b.size;
    return kc_buf_take (&b);
}

// The folder a path lies in; caller frees
static char *s_parent (const char *path)
{
    const char *slash = strrchr (path, '/');
    if (!slash)
        return kc_strdup (".");
    return slash == path ? kc_strdup ("/") : kc_strndup (path, (size_t)(slash - path));
}

static int s_sync_folder (const char *path, kc_err_t *err)
{
    char *folder = s_parent (path);
    int fd = open (folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = fd < 0 || fsync (fd) < 0
                 ? kc_fail_errno (err, errno, "sync folder %s", folder)
                 : 0;
    if (fd >= 0)
        close (fd);
    free (folder);
    return rc;
}

static int s_write_all (int fd, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t n = write (fd, data, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        data += n;
        size -= (size_t)n;
    }
    return 0;
}

int kc_fs_write (const char *path, const void *data, size_t size, unsigned mode,
                 bool durable, kc_err_t *err)
{
    uint64_t salt = 0;
    kc_random (&salt, sizeof salt);
    char *temp = kc_asprintf ("%s.%016" PRIx64 ".tmp", path, salt);
    int rc = -1;
    int fd = open (temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        kc_fail_errno (err, errno, "create %s", temp);
        free (temp);
        return -1;
    }
    bool bad = fchmod (fd, (mode_t)mode) < 0 || s_write_all (fd, data, size) < 0
               || (durable && fsync (fd) < 0);
    int number = errno;
    if (close (fd) < 0 && !bad) {
        bad = true;
        number = errno;
    }
    if (!bad && rename (temp, path) < 0) {
        bad = true;
        number = errno;
    }
    if (bad) {
        unlink (temp);
        kc_fail_errno (err, number, "write %s", path);
    }
    else
        rc = durable ? s_sync_folder (path, err) : 0;
    free (temp);
    return rc;
}

bool kc_fs_exists (const char *path)
{
    return access (path, F_OK) == 0;
}

static int s_remove_in (int parent, const char *name, int depth, const char *top,
                        kc_err_t *err);

// Everything inside an open folder; closes 'fd'.
static int s_empty (int fd, int depth, const char *top, kc_err_t *err)
{
    DIR *dir = fdopendir (fd);
    if (!dir) {
        int number = errno;
        close (fd);
        return kc_fail_errno (err, number, "remove %s", top);
    }
    int rc = 0;
    for (;;) {
        errno = 0;
        const struct dirent *e = readdir (dir);
        if (!e && errno)
            rc = kc_fail_errno (err, errno, "remove %s: list a folder", top);
        if (!e)
            break;
        if (strcmp (e->d_name, ".") == 0 || strcmp (e->d_name, "..") == 0)
            continue;
        rc = s_remove_in (dirfd (dir), e->d_name, depth, top, err);
        if (rc < 0)
            break;
    }
    closedir (dir);
    return rc;
}

// Recursive, bounded by S_DEPTH; a link is removed, never entered.
static int s_remove_in (int parent, const char *name, int depth, const char *top,
                        kc_err_t *err)
{
    if (unlinkat (parent, name, 0) == 0 || errno == ENOENT)
        return 0;
    int number = errno;
    if (number != EISDIR && number != EPERM)
        return kc_fail_errno (err, number, "remove %s: %s", top, name);
    if (depth >= S_DEPTH)
        return kc_fail (err, KC_EIO,
                        "remove %s: more than %d folders deep; remove it by hand", top,
                        S_DEPTH);
    int fd = openat (parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return kc_fail_errno (err, errno, "remove %s: open folder %s", top, name);
    if (s_empty (fd, depth + 1, top, err) < 0)
        return -1;
    if (unlinkat (parent, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
        return kc_fail_errno (err, errno, "remove %s: folder %s", top, name);
    return 0;
}

int kc_fs_remove_tree (const char *path, kc_err_t *err)
{
    // "link/" would lead through the link.
    char *plain = kc_strdup (path);
    for (size_t n = strlen (plain); n > 1 && plain[n - 1] == '/'; n--)
        plain[n - 1] = 0;
    int rc = 0;
    if (!plain[0] || strcmp (plain, "/") == 0)
        rc = kc_fail (err, KC_EINVALID, "remove \"%s\": refused", path);
    else
        rc = s_remove_in (AT_FDCWD, plain, 0, plain, err);
    free (plain);
    return rc;
}

// Say who has the lock; the text in the file is a hint only.
static int s_fail_held (int fd, const char *path, kc_err_t *err)
{
    char text[128] = "";
    ssize_t n = pread (fd, text, sizeof text - 1, 0);
    if (n < 0)
        n = 0;
    text[strcspn (text, "\n")] = 0;
    for (char *p = text; *p; p++)
        if (*p < ' ' || *p > '~')
            *p = '?';
    return kc_fail (err, KC_EBUSY, "%s is held by %s; stop that process first", path,
                    text[0] ? text : "another process");
}

int kc_fs_lock (const char *path, kc_err_t *err)
{
    for (int i = 0; i < S_LOCK_TRIES; i++) {
        int fd = open (path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0)
            return kc_fail_errno (err, errno, "open lock %s", path);
        int rc = flock (fd, LOCK_EX | LOCK_NB);
        if (rc < 0) {
            if (errno == EWOULDBLOCK)
                s_fail_held (fd, path, err);
            else
                kc_fail_errno (err, errno, "lock %s", path);
            close (fd);
            return -1;
        }
        struct stat mine, there;
        if (fstat (fd, &mine) == 0 && stat (path, &there) == 0
            && mine.st_ino == there.st_ino && mine.st_dev == there.st_dev) {
            char now[25], text[64];
            kc_clock_iso (kc_clock_wall_ms (), now);
            int n = snprintf (text, sizeof text, "pid %ld since %s\n", (long)getpid (),
                              now);
            if (ftruncate (fd, 0) < 0 || pwrite (fd, text, (size_t)n, 0) != n) {
                kc_fail_errno (err, errno, "write lock %s", path);
                close (fd);
                return -1;
            }
            return fd;
        }
        close (
            fd); // somebody removed the file between open and flock: lock the new one
    }
    return kc_fail (err, KC_EBUSY, "lock %s: the file is removed again and again",
                    path);
}

char *kc_fs_join (const char *a, const char *b)
{
    if (!a[0])
        return kc_strdup (b);
    while (*b == '/')
        b++;
    return kc_asprintf ("%s%s%s", a, a[strlen (a) - 1] == '/' ? "" : "/", b);
}

char *kc_fs_program_dir (void)
{
    char path[PATH_MAX];
    ssize_t n = readlink ("/proc/self/exe", path, sizeof path - 1);
    if (n <= 0)
        return kc_strdup (".");
    path[n] = 0;
    return s_parent (path);
}
