// kc_compile_cache.c - compiled results on disk, shared by every daemon of a user
//
// <dir>/<2 digits of the key>/<key>: 64 hex digits of the SHA-256 of what follows, a
// newline, the encoded result.  Entries are written under another name and renamed, so
// a reader sees all of one or nothing; two writers of the same key write the same
// bytes.  An entry that does not match its digest or its format is deleted.  Reading
// sets the entry's time (at most hourly), deleting goes from the oldest time on, a few
// entries at a time; deleting an entry that another process reads is harmless.

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agents/gpu/compile/kc_compile_int.h"
#include "common/util/kc_fs.h"
#include "common/util/kc_log.h"
#include "common/util/kc_mem.h"

enum {
    S_ENTRIES = 200000, // looked at by one trim
    S_TOUCH_S = 3600,   // an entry's time is not set more often
    S_TRIM_EVERY = 64,  // puts between looks at the size
    S_STALE_S = 600,    // temporary files older than this belong to nobody
};

struct kc_compile_cache {
    char *dir;
    int64_t bytes;
    int puts;
};

kc_compile_cache_t *kc_compile_cache_new (const char *dir, int64_t bytes, kc_err_t *err)
{
    if (kc_fs_mkdir (dir, 0700, err) < 0)
        return NULL;
    kc_compile_cache_t *self = (kc_compile_cache_t *)kc_calloc (1, sizeof *self);
    self->dir = kc_strdup (dir);
    self->bytes = bytes > 0 ? bytes : (int64_t)1 << 30;
    return self;
}

void kc_compile_cache_destroy (kc_compile_cache_t **self_p)
{
    if (!*self_p)
        return;
    free ((*self_p)->dir);
    free (*self_p);
    *self_p = NULL;
}

static char *s_path (const kc_compile_cache_t *self, const char *key)
{
    return kc_asprintf ("%s/%.2s/%s", self->dir, key, key);
}

static void s_touch (const char *path)
{
    struct stat st;
    struct timespec now;
    clock_gettime (CLOCK_REALTIME, &now);
    if (stat (path, &st) == 0 && now.tv_sec - st.st_mtim.tv_sec > S_TOUCH_S)
        utimensat (AT_FDCWD, path, NULL, 0);
}

kc_compiled_t *kc_compile_cache_get (kc_compile_cache_t *self, const char *key)
{
    char *path = s_path (self, key);
    size_t size;
    char *data = kc_fs_read (path, KC_COMPILE_FRAME_MAX, &size, NULL);
    kc_compiled_t *c = NULL;
    if (data) {
        char hex[KC_SHA_HEX] = "";
        if (size > KC_SHA_HEX && data[KC_SHA_HEX - 1] == '\n')
            kc_sha256_hex (data + KC_SHA_HEX, size - KC_SHA_HEX, hex);
        if (hex[0] && strncmp (hex, data, KC_SHA_HEX - 1) == 0)
            c = kc_compiled_get (data + KC_SHA_HEX, size - KC_SHA_HEX, NULL);
        if (c) {
            c->cached = true;
            s_touch (path);
        }
        else {
            kc_log (KC_WARN, "compile.cache.corrupt", "key", "s", key, NULL);
            unlink (path);
        }
    }
    free (data);
    free (path);
    return c;
}

void kc_compile_cache_put (kc_compile_cache_t *self, const char *key,
                           const kc_compiled_t *c)
{
    kc_buf_t body = {0};
    kc_compiled_put (&body, c);
    kc_buf_t file = {0};
    char hex[KC_SHA_HEX];
    kc_sha256_hex (body.data, body.size, hex);
    kc_buf_put (&file, hex, KC_SHA_HEX - 1);
    kc_buf_putc (&file, '\n');
    kc_buf_put (&file, body.data, body.size);
    char *folder = kc_asprintf ("%s/%.2s", self->dir, key);
    char *path = s_path (self, key);
    kc_err_t err;
    // A full or read-only disk costs the cache, not the result.
    if (kc_fs_mkdir (folder, 0700, &err) < 0
        || kc_fs_write (path, file.data, file.size, 0600, false, &err) < 0)
        kc_log (KC_WARN, "compile.cache.write", "text", "s", err.text, NULL);
    free (path);
    free (folder);
    kc_buf_free (&file);
    kc_buf_free (&body);
    if (self->puts++ % S_TRIM_EVERY == 0)
        kc_compile_cache_trim (self, S_TRIM_EVERY * 2);
}

typedef struct s_entry {
    char *path;
    int64_t size, time;
    bool key; // an entry, not a temporary file
} s_entry_t;

static int s_by_time (const void *a, const void *b)
{
    const s_entry_t *x = (const s_entry_t *)a, *y = (const s_entry_t *)b;
    return x->time < y->time ? -1 : x->time > y->time;
}

static void s_scan_folder (const char *folder, s_entry_t **entries, size_t *n,
                           size_t *room)
{
    DIR *d = opendir (folder);
    if (!d)
        return;
    for (struct dirent *e = readdir (d); e && *n < S_ENTRIES; e = readdir (d)) {
        struct stat st;
        if (e->d_name[0] == '.' && (e->d_name[1] == 0 || e->d_name[1] == '.'))
            continue;
        if (fstatat (dirfd (d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0
            || !S_ISREG (st.st_mode))
            continue;
        if (*n == *room) {
            *room = *room ? *room * 2 : 256;
            *entries = (s_entry_t *)kc_realloc (*entries, *room * sizeof **entries);
        }
        (*entries)[(*n)++] = (s_entry_t){
            .path = kc_fs_join (folder, e->d_name),
            .size = st.st_size,
            .time = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec,
            .key = strspn (e->d_name, "0123456789abcdef") == KC_SHA_HEX - 1
                   && e->d_name[KC_SHA_HEX - 1] == 0};
    }
    closedir (d);
}

int kc_compile_cache_trim (kc_compile_cache_t *self, int most)
{
    s_entry_t *entries = NULL;
    size_t n = 0, room = 0;
    for (int i = 0; i < 256; i++) {
        char *folder = kc_asprintf ("%s/%02x", self->dir, (unsigned)i);
        s_scan_folder (folder, &entries, &n, &room);
        free (folder);
    }
    int64_t total = 0;
    for (size_t i = 0; i < n; i++)
        total += entries[i].size;
    if (n)
        qsort (entries, n, sizeof *entries, s_by_time);
    struct timespec now;
    clock_gettime (CLOCK_REALTIME, &now);
    int gone = 0;
    for (size_t i = 0; i < n && gone < most; i++) {
        bool stale =
            !entries[i].key && now.tv_sec - entries[i].time / 1000000000 > S_STALE_S;
        if (!stale && (total <= self->bytes || !entries[i].key))
            continue;
        if (unlink (entries[i].path) == 0) {
            total -= entries[i].size;
            gone++;
        }
    }
    for (size_t i = 0; i < n; i++)
        free (entries[i].path);
    free (entries);
    return gone;
}
