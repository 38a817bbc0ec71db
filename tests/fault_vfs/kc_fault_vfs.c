// kc_fault_vfs.c - see kc_fault_vfs.h

#include "tests/fault_vfs/kc_fault_vfs.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/util/kc_mem.h"

typedef struct s_undo { // one write since the last sync of its file
    char *path;
    int64_t offset;
    char *old;       // what stood there
    size_t old_size; // less than size when the file grew
    size_t size;
    int64_t was; // size of the file before
    bool log;
} s_undo_t;

typedef struct s_file {
    sqlite3_file base;
    sqlite3_file *real;
    char *path;
    bool log; // -wal or -journal
} s_file_t;

static struct { // test code: the one exception to "no static mutable data"
    sqlite3_vfs *root, vfs;
    s_undo_t *undo;
    size_t n_undo;
    bool counting, dead, full;
    int left;
    unsigned seed;
    uint64_t syncs;
} s_disk;

static void s_free_undo (s_undo_t *u)
{
    free (u->path);
    free (u->old);
}

static void s_forget (const char *path) // NULL = all
{
    size_t kept = 0;
    for (size_t i = 0; i < s_disk.n_undo; i++) {
        if (path && strcmp (s_disk.undo[i].path, path) != 0)
            s_disk.undo[kept++] = s_disk.undo[i];
        else
            s_free_undo (&s_disk.undo[i]);
    }
    s_disk.n_undo = kept;
}

static unsigned s_draw (void)
{
    s_disk.seed = s_disk.seed * 1664525u + 1013904223u;
    return s_disk.seed >> 16;
}

static int s_close (sqlite3_file *file)
{
    s_file_t *f = (s_file_t *)file;
    int rc = f->real->pMethods ? f->real->pMethods->xClose (f->real) : SQLITE_OK;
    free (f->real);
    free (f->path);
    return rc;
}

static int s_read (sqlite3_file *file, void *data, int n, sqlite3_int64 at)
{
    s_file_t *f = (s_file_t *)file;
    return s_disk.dead ? SQLITE_IOERR_READ
                       : f->real->pMethods->xRead (f->real, data, n, at);
}

static void s_remember (s_file_t *f, int64_t at, size_t n)
{
    sqlite3_int64 size = 0;
    f->real->pMethods->xFileSize (f->real, &size);
    s_undo_t *u = kc_push (&s_disk.undo, &s_disk.n_undo, sizeof *u);
    *u = (s_undo_t){.path = kc_strdup (f->path),
                    .offset = at,
                    .size = n,
                    .was = size,
                    .log = f->log};
    if (at < size) {
        u->old_size = (size_t)(size - at) < n ? (size_t)(size - at) : n;
        u->old = kc_malloc (u->old_size);
        f->real->pMethods->xRead (f->real, u->old, (int)u->old_size, at);
    }
}

static int s_write (sqlite3_file *file, const void *data, int n, sqlite3_int64 at)
{
    s_file_t *f = (s_file_t *)file;
    if (s_disk.dead)
        return SQLITE_IOERR_WRITE;
    if (s_disk.counting && s_disk.left-- <= 0) {
        if (s_disk.full)
            return SQLITE_FULL;
        s_disk.dead = true;
        return SQLITE_IOERR_WRITE;
    }
    if (f->path)
        s_remember (f, at, (size_t)n);
    return f->real->pMethods->xWrite (f->real, data, n, at);
}

static int s_truncate (sqlite3_file *file, sqlite3_int64 size)
{
    s_file_t *f = (s_file_t *)file;
    return s_disk.dead ? SQLITE_IOERR_TRUNCATE
                       : f->real->pMethods->xTruncate (f->real, size);
}

static int s_sync (sqlite3_file *file, int flags)
{
    s_file_t *f = (s_file_t *)file;
    if (s_disk.dead)
        return SQLITE_IOERR_FSYNC;
    int rc = f->real->pMethods->xSync (f->real, flags);
    if (rc == SQLITE_OK && f->path) {
        s_forget (f->path);
        s_disk.syncs++;
    }
    return rc;
}

static int s_size (sqlite3_file *file, sqlite3_int64 *size)
{
    s_file_t *f = (s_file_t *)file;
    return f->real->pMethods->xFileSize (f->real, size);
}

static int s_lock (sqlite3_file *file, int level)
{
    s_file_t *f = (s_file_t *)file;
    return f->real->pMethods->xLock (f->real, level);
}

static int s_unlock (sqlite3_file *file, int level)
{
    s_file_t *f = (s_file_t *)file;
    return f->real->pMethods->xUnlock (f->real, level);
}

static int s_check_lock (sqlite3_file *file, int *out)
{
    s_file_t *f = (s_file_t *)file;
    return f->real->pMethods->xCheckReservedLock (f->real, out);
}

static int s_control (sqlite3_file *file, int op, void *arg)
{
    s_file_t *f = (s_file_t *)file;
    return f->real->pMethods->xFileControl (f->real, op, arg);
}

static int s_sector (sqlite3_file *file)
{
    (void)file;
    return 4096;
}

static int s_traits (sqlite3_file *file)
{
    (void)file;
    return SQLITE_IOCAP_POWERSAFE_OVERWRITE; // as every disk of the last decades;
                                             // nothing more
}

static int s_shm_map (sqlite3_file *file, int region, int size, int extend,
                      void volatile **out)
{
    s_file_t *f = (s_file_t *)file;
    return f->real->pMethods->xShmMap (f->real, region, size, extend, out);
}

static int s_shm_lock (sqlite3_file *file, int offset, int n, int flags)
{
    s_file_t *f = (s_file_t *)file;
    return f->real->pMethods->xShmLock (f->real, offset, n, flags);
}

static void s_shm_barrier (sqlite3_file *file)
{
    s_file_t *f = (s_file_t *)file;
    f->real->pMethods->xShmBarrier (f->real);
}

static int s_shm_unmap (sqlite3_file *file, int delete_it)
{
    s_file_t *f = (s_file_t *)file;
    return f->real->pMethods->xShmUnmap (f->real, delete_it);
}

static const sqlite3_io_methods s_methods = {
    .iVersion = 2,
    .xClose = s_close,
    .xRead = s_read,
    .xWrite = s_write,
    .xTruncate = s_truncate,
    .xSync = s_sync,
    .xFileSize = s_size,
    .xLock = s_lock,
    .xUnlock = s_unlock,
    .xCheckReservedLock = s_check_lock,
    .xFileControl = s_control,
    .xSectorSize = s_sector,
    .xDeviceCharacteristics = s_traits,
    .xShmMap = s_shm_map,
    .xShmLock = s_shm_lock,
    .xShmBarrier = s_shm_barrier,
    .xShmUnmap = s_shm_unmap,
};

static int s_open (sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags,
                   int *out)
{
    (void)vfs;
    s_file_t *f = (s_file_t *)file;
    memset (f, 0, sizeof *f);
    if (s_disk.dead)
        return SQLITE_CANTOPEN;
    f->real = kc_calloc (1, (size_t)s_disk.root->szOsFile);
    int rc = s_disk.root->xOpen (s_disk.root, path, f->real, flags, out);
    if (rc != SQLITE_OK) {
        free (f->real);
        return rc;
    }
    f->path = kc_strdup (path);
    f->log = (flags & (SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL)) != 0;
    f->base.pMethods = &s_methods;
    return SQLITE_OK;
}

static int s_delete (sqlite3_vfs *vfs, const char *path, int sync)
{
    (void)vfs;
    if (s_disk.dead)
        return SQLITE_IOERR_DELETE;
    s_forget (path);
    return s_disk.root->xDelete (s_disk.root, path, sync);
}

void kc_fault_install (void)
{
    kc_fault_clear ();
    if (s_disk.root)
        return;
    s_disk.root = sqlite3_vfs_find (NULL);
    s_disk.vfs = *s_disk.root;
    s_disk.vfs.pNext = NULL;
    s_disk.vfs.zName = KC_FAULT_VFS;
    s_disk.vfs.szOsFile = (int)sizeof (s_file_t);
    s_disk.vfs.xOpen = s_open;
    s_disk.vfs.xDelete = s_delete;
    sqlite3_vfs_register (&s_disk.vfs, 0);
}

void kc_fault_clear (void)
{
    s_forget (NULL);
    free (s_disk.undo);
    s_disk.undo = NULL;
    s_disk.counting = s_disk.dead = s_disk.full = false;
}

void kc_fault_power_after (int writes, unsigned seed)
{
    s_disk.counting = true;
    s_disk.full = false;
    s_disk.left = writes;
    s_disk.seed = seed;
}

void kc_fault_full_after (int writes)
{
    s_disk.counting = s_disk.full = true;
    s_disk.left = writes;
}

// Take the first 'n' bytes of a write back; a file that grew by it shrinks again where
// it was the end.
static void s_take_back (const s_undo_t *u, size_t from)
{
    int fd = open (u->path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return;
    if (from < u->old_size)
        kc_assert (
            pwrite (fd, u->old + from, u->old_size - from, u->offset + (int64_t)from)
            >= 0);
    if (u->old_size < u->size) { // bytes that were not there before read as zeros
        size_t start = from > u->old_size ? from : u->old_size;
        char *zeros = kc_calloc (1, u->size);
        kc_assert (pwrite (fd, zeros, u->size - start, u->offset + (int64_t)start)
                   >= 0);
        free (zeros);
    }
    close (fd);
}

void kc_fault_power_back (void)
{
    // Newest first, so that an older write of the same place is not undone over a newer
    // one's memory.
    for (size_t i = s_disk.n_undo; i > 0; i--) {
        const s_undo_t *u = &s_disk.undo[i - 1];
        switch (s_draw () % 3) {
        case 0:
            break; // it reached the disk all the same
        case 1:
            s_take_back (u, 0);
            break;
        default:
            s_take_back (u, u->size / 512 > 0 ? s_draw () % (u->size / 512 + 1) * 512
                                              : 0); // torn
            break;
        }
    }
    kc_fault_clear ();
}

uint64_t kc_fault_syncs (void)
{
    return s_disk.syncs;
}

size_t kc_fault_unsynced (void)
{
    size_t n = 0;
    for (size_t i = 0; i < s_disk.n_undo; i++)
        n += s_disk.undo[i].log;
    return n;
}
