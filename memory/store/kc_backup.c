// kc_backup.c - see kc_backup.h for the rules this class keeps

#include "memory/store/kc_backup.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/util/kc_clock.h"
#include "common/util/kc_fs.h"
#include "common/util/kc_mem.h"

struct kc_backup {
    char *path, *part;    // final and temporary name
    sqlite3 *to;          // the copy; the check thread owns it from the last page on
    sqlite3_backup *copy; // NULL once all pages are there
    int64_t pages, page_size;
    bool finished;
    bool checking; // the thread runs or waits to be joined
    pthread_t thread;
    atomic_bool done; // set by the thread as its last act
    kc_err_t verdict; // of the thread; code KC_OK = good
};

kc_backup_t *kc_backup_new (kc_db_t *db, const char *path, kc_err_t *err)
{
    if (path[0] != '/') {
        kc_fail (err, KC_EINVALID, "backup path \"%.200s\": give an absolute one",
                 path);
        return NULL;
    }
    if (kc_fs_exists (path)) {
        kc_fail (err, KC_ECONFLICT, "%.200s exists; a backup never overwrites", path);
        return NULL;
    }
    kc_backup_t *self = kc_calloc (1, sizeof *self);
    self->path = kc_strdup (path);
    self->part = kc_asprintf ("%s.part", path);
    unlink (self->part); // of a backup that was cut
    int rc = sqlite3_open_v2 (
        self->part, &self->to,
        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
    if (rc == SQLITE_OK)
        self->copy = sqlite3_backup_init (self->to, "main", kc_db_handle (db), "main");
    if (!self->copy) {
        kc_fail (err, KC_EIO, "cannot begin the backup %.200s: %s", path,
                 self->to ? sqlite3_errmsg (self->to) : "no connection");
        kc_backup_destroy (&self);
    }
    return self;
}

// ---- the check, in its own thread; owns self->to until it sets 'done' ----

static int s_flush (const char *path, kc_err_t *err)
{
    int fd = open (path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fsync (fd) < 0) {
        int e = errno;
        if (fd >= 0)
            close (fd);
        return kc_fail_errno (err, e, "cannot flush %.200s", path);
    }
    close (fd);
    return 0;
}

static void *s_check (void *arg)
{
    kc_backup_t *self = arg;
    sqlite3_stmt *q = NULL;
    bool good = false;
    if (sqlite3_prepare_v2 (self->to, "PRAGMA integrity_check (1)", -1, &q, NULL)
            == SQLITE_OK
        && sqlite3_step (q) == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text (q, 0);
        good = text && strcmp (text, "ok") == 0;
        if (!good)
            kc_fail (&self->verdict, KC_EIO, "the copy is damaged: %.300s",
                     text ? text : "");
    }
    else
        kc_fail (&self->verdict, KC_EIO, "the copy cannot be checked: %s",
                 sqlite3_errmsg (self->to));
    sqlite3_finalize (q);
    if (good && s_flush (self->part, &self->verdict) == 0) {
        char *folder = kc_strdup (self->path);
        if (rename (self->part, self->path) < 0)
            kc_fail_errno (&self->verdict, errno, "cannot name the backup %.200s",
                           self->path);
        else
            s_flush (dirname (folder), &self->verdict);
        free (folder);
    }
    atomic_store (&self->done, true);
    return NULL;
}

static int s_start_check (kc_backup_t *self, kc_err_t *err)
{
    self->checking = pthread_create (&self->thread, NULL, s_check, self) == 0;
    return self->checking ? 0 : kc_fail (err, KC_EIO, "no thread to check the backup");
}

// ---- copying ----

static int s_copy (kc_backup_t *self, kc_err_t *err)
{
    int64_t end = kc_clock_ms () + KC_BACKUP_STEP_MS;
    int rc = SQLITE_OK;
    while (rc == SQLITE_OK && kc_clock_ms () < end)
        rc = sqlite3_backup_step (self->copy, KC_BACKUP_PAGES);
    self->pages = sqlite3_backup_pagecount (self->copy);
    if (rc == SQLITE_OK || rc == SQLITE_BUSY || rc == SQLITE_LOCKED)
        return 0; // a lock is a reader's and goes away
    sqlite3_backup_finish (self->copy);
    self->copy = NULL;
    if (rc != SQLITE_DONE)
        return kc_fail (err, KC_EIO, "backup %.200s: %s", self->path,
                        sqlite3_errstr (rc));
    struct stat st;
    self->page_size =
        stat (self->part, &st) == 0 && self->pages > 0 ? st.st_size / self->pages : 0;
    return s_start_check (self, err);
}

int kc_backup_step (kc_backup_t *self, kc_err_t *err)
{
    if (self->copy)
        return s_copy (self, err);
    if (self->checking && atomic_load (&self->done)) {
        pthread_join (self->thread, NULL);
        self->checking = false;
        self->finished = self->verdict.code == KC_OK;
        if (!self->finished) {
            if (err)
                *err = self->verdict;
            return -1;
        }
    }
    return self->finished ? 1 : 0;
}

bool kc_backup_copying (const kc_backup_t *self)
{
    return self->copy != NULL;
}

int64_t kc_backup_pages (const kc_backup_t *self)
{
    return self->pages;
}

int64_t kc_backup_bytes (const kc_backup_t *self)
{
    return self->pages * self->page_size;
}

void kc_backup_destroy (kc_backup_t **self_p)
{
    kc_backup_t *self = *self_p;
    if (!self)
        return;
    if (self->copy)
        sqlite3_backup_finish (self->copy);
    if (self->checking) {
        sqlite3_interrupt (self->to); // allowed from another thread
        pthread_join (self->thread, NULL);
    }
    if (self->to)
        sqlite3_close (self->to);
    if (!self->finished)
        unlink (self->part);
    free (self->path);
    free (self->part);
    free (self);
    *self_p = NULL;
}
