/* kc_db.h - one SQLite file and the one connection that writes it
 *
 * Promises
 * - The file is ours alone: a lock file beside it is held, its application_id is
 * checked, a file of a newer version or another program is refused untouched.
 * - Settings follow one list (kc_db.c): WAL, synchronous FULL, no double-quoted
 * strings, defensive, foreign keys on, untrusted schema.  Network file systems are
 * refused unless allowed, and then the journal mode is DELETE, because WAL needs memory
 * shared by one host.
 * - Statements are prepared once, from constant SQL texts, and finalised at close.
 * Every step is checked.  A full disk, an I/O error or corruption makes the connection
 * 'broken': every later call fails with the same text, so the service stops instead of
 * limping.
 *
 * Single thread; sqlite3 objects never leave this folder's classes.
 */
#ifndef KC_DB_H
#define KC_DB_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/util/kc_err.h"

typedef struct kc_db kc_db_t;

enum {
    KC_DB_APPLICATION =
        0x6b634d31,         // "kcM1" in the header of the file; kc_migrate.c writes it
    KC_DB_BUSY_MS = 5000,   // only our own read-only tools can hold a lock
    KC_DB_WAL_PAGES = 1000, // automatic checkpoint
    KC_DB_STATEMENTS_MAX = 192,
};

typedef struct kc_db_config {
    const char *path;      // of the file; its folder must exist
    bool allow_network_fs; // open on NFS, CIFS, FUSE and 9p, in DELETE mode
    const char *vfs;       // NULL = the system's; tests name the fault shim
} kc_db_config_t;

// Open or make the file and lock it; no table is touched.  NULL on failure.
kc_db_t *kc_db_open (const kc_db_config_t *config, kc_err_t *err);
void kc_db_close (kc_db_t **self_p);

const char *kc_db_path (const kc_db_t *self);
sqlite3 *kc_db_handle (kc_db_t *self);
bool kc_db_on_wal (const kc_db_t *self);
// True after an error from which the connection does not come back; 'err' (may be NULL)
// tells it.
bool kc_db_broken (const kc_db_t *self, kc_err_t *err);

// Bind and start a statement.  'sql' is a constant text that lives as long as the
// program: it is the key of the cache.  'types' has one letter per parameter: s const
// char * (NULL = null), i int64_t, f double (NAN = null), b const void * and size_t, 0
// nothing (null).  Strings and blobs must live until the statement is done.  NULL on
// failure.
sqlite3_stmt *kc_db_query (kc_db_t *self, kc_err_t *err, const char *sql,
                           const char *types, ...);
// 1 a row is there, 0 no more (the statement is reset), -1 failure (reset too).
int kc_db_step (kc_db_t *self, sqlite3_stmt *stmt, kc_err_t *err);
void kc_db_done (
    sqlite3_stmt *stmt); // leave a statement before its last row; NULL is fine
// Run to the end; the number of rows changed, or -1.
int kc_db_run (kc_db_t *self, kc_err_t *err, const char *sql, const char *types, ...);
// One integer of the first row; 'missing' when there is no row or it is null.  -1 on
// failure.
int kc_db_int (kc_db_t *self, kc_err_t *err, int64_t missing, int64_t *out,
               const char *sql, const char *types, ...);
// Run a script of several statements once (settings, migrations).
int kc_db_script (kc_db_t *self, const char *sql, kc_err_t *err);

// Transactions: begin is IMMEDIATE; inside it a mark can be kept or undone, one at a
// time.
int kc_db_begin (kc_db_t *self, kc_err_t *err);
int kc_db_commit (kc_db_t *self, kc_err_t *err); // rolls back when it fails
void kc_db_rollback (kc_db_t *self);
int kc_db_mark (kc_db_t *self, kc_err_t *err);
int kc_db_keep (kc_db_t *self, kc_err_t *err);
int kc_db_undo (kc_db_t *self, kc_err_t *err);
bool kc_db_in_transaction (const kc_db_t *self);

// Move the log into the file and cut it; for idle times.  Harmless when a reader is in
// the way.
void kc_db_checkpoint (kc_db_t *self);
int64_t
kc_db_wal_bytes (const kc_db_t *self); // size of the log file, 0 when there is none

// Text and blob columns; text is borrowed until the next step, NULL for null.
const char *kc_db_text (sqlite3_stmt *stmt, int column);
char *kc_db_dup (sqlite3_stmt *stmt, int column); // caller frees; NULL for null

#endif // KC_DB_H
