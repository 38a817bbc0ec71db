// kc_db.c - see kc_db.h for the rules this class keeps

#include "memory/store/kc_db.h"

#include <errno.h>
#include <libgen.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/util/kc_fs.h"
#include "common/util/kc_log.h"
#include "common/util/kc_mem.h"

// Settings of every connection; journal_mode is apart because it depends on the file
// system.
static const char SQL_SETTINGS[] = "PRAGMA synchronous = FULL;"
                                   "PRAGMA foreign_keys = ON;"
                                   "PRAGMA trusted_schema = OFF;"
                                   "PRAGMA cell_size_check = ON;"
                                   "PRAGMA temp_store = MEMORY;"
                                   "PRAGMA mmap_size = 0;"
                                   "PRAGMA cache_size = -65536;"
                                   "PRAGMA journal_size_limit = 268435456;"
                                   "PRAGMA wal_autocheckpoint = 1000;";
static const char SQL_WAL[] = "PRAGMA journal_mode = WAL";
static const char SQL_DELETE[] = "PRAGMA journal_mode = DELETE";
static const char SQL_APPLICATION[] = "PRAGMA application_id";
static const char SQL_ANY_TABLE[] = "SELECT count(*) FROM sqlite_schema";
static const char SQL_BEGIN[] = "BEGIN IMMEDIATE";
static const char SQL_COMMIT[] = "COMMIT";
static const char SQL_ROLLBACK[] = "ROLLBACK";
static const char SQL_MARK[] = "SAVEPOINT request";
static const char SQL_KEEP[] = "RELEASE request";
static const char SQL_UNDO[] = "ROLLBACK TO request";

typedef struct s_cached {
    const char *sql; // identity of the constant, not its text
    sqlite3_stmt *stmt;
} s_cached_t;

struct kc_db {
    sqlite3 *db;
    char *path;
    int lock; // descriptor of the lock file; the lock dies with the process
    bool wal;
    bool broken;
    kc_err_t why; // valid while broken
    s_cached_t cached[KC_DB_STATEMENTS_MAX];
    size_t n_cached;
};

// Errors after which going on could only damage or lose data.
static bool s_is_final (int rc)
{
    switch (rc & 0xff) {
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_READONLY:
    case SQLITE_PROTOCOL:
        return true;
    default: // SQLite's codes are an open list
        return false;
    }
}

static int s_fail (kc_db_t *self, int rc, const char *doing, kc_err_t *err)
{
    kc_code_t code = KC_EIO;
    if ((rc & 0xff) == SQLITE_CONSTRAINT || (rc & 0xff) == SQLITE_ERROR
        || (rc & 0xff) == SQLITE_MISUSE || (rc & 0xff) == SQLITE_RANGE
        || (rc & 0xff) == SQLITE_MISMATCH)
        code = KC_EINTERNAL;
    if ((rc & 0xff) == SQLITE_BUSY || (rc & 0xff) == SQLITE_FULL)
        code = KC_EBUSY; // passes when somebody else does something
    const char *remedy = "";
    if ((rc & 0xff) == SQLITE_FULL)
        remedy = "; free some space, then kc-memory goes on when it is started again";
    if ((rc & 0xff) == SQLITE_CORRUPT || (rc & 0xff) == SQLITE_NOTADB)
        remedy = "; stop kc-memory and put a backup in its place";
    kc_err_t e = {0};
    kc_fail (&e, code, "%s: %s: %s (%d)%s", self->path, doing,
             sqlite3_errmsg (self->db), rc, remedy);
    if (s_is_final (rc) && !self->broken) {
        self->broken = true;
        self->why = e;
        kc_log (KC_ERROR, "db.broken", "text", "s", e.text, NULL);
    }
    if (err)
        *err = e;
    return -1;
}

// ---- open ----

static bool s_is_network (long type)
{
    static const long kinds[] = {
        0x6969,     // NFS
        0xff534d42, // CIFS
        0xfe534d42, // SMB2
        0x517b,     // SMB
        0x65735546, // FUSE
        0x01021997, // 9p
        0x00c36400, // Ceph
        0x5346414f, // AFS
    };
    for (size_t i = 0; i < KC_COUNT (kinds); i++)
        if ((type & 0xffffffffL) == kinds[i])
            return true;
    return false;
}

static int s_check_place (kc_db_t *self, bool allow, kc_err_t *err)
{
    enum { OVERLAY = 0x794c7630 };
    char *copy = kc_strdup (self->path);
    struct statfs st;
    int rc = statfs (dirname (copy), &st);
    int e = errno;
    free (copy);
    if (rc < 0)
        return kc_fail_errno (err, e, "cannot look at the folder of %s", self->path);
    bool network = s_is_network ((long)st.f_type);
    if (network && !allow)
        return kc_fail (
            err, KC_EREFUSED,
            "%s is on a network file system, where the log of SQLite is not safe; "
            "use a local --data, or --allow-network-fs for the slow mode",
            self->path);
    if ((st.f_type & 0xffffffffL) == OVERLAY)
        kc_log (KC_WARN, "db.overlay", "path", "s", self->path, "text", "s",
                "the data dies with the container", NULL);
    self->wal = !network;
    return 0;
}

static int s_check_owner (kc_db_t *self, kc_err_t *err)
{
    int64_t id = 0, tables = 0;
    if (kc_db_int (self, err, 0, &id, SQL_APPLICATION, "") < 0
        || kc_db_int (self, err, 0, &tables, SQL_ANY_TABLE, "") < 0)
        return -1;
    if (tables > 0 && id != KC_DB_APPLICATION)
        return kc_fail (
            err, KC_EREFUSED,
            "%s is a database of another program (application id %lld); choose "
            "another --data",
            self->path, (long long)id);
    return 0;
}

static int s_configure (kc_db_t *self, kc_err_t *err)
{
    static const struct {
        int op, value;
    } flags[] = {
        {SQLITE_DBCONFIG_DEFENSIVE, 1},   {SQLITE_DBCONFIG_DQS_DML, 0},
        {SQLITE_DBCONFIG_DQS_DDL, 0},     {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
        {SQLITE_DBCONFIG_ENABLE_FKEY, 1}, {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
    };
    for (size_t i = 0; i < KC_COUNT (flags); i++) {
        int now = -1;
        int rc = sqlite3_db_config (self->db, flags[i].op, flags[i].value, &now);
        if (rc != SQLITE_OK || now != flags[i].value)
            return s_fail (self, rc, "cannot configure the connection", err);
    }
    sqlite3_busy_timeout (self->db, KC_DB_BUSY_MS);
    if (s_check_owner (self, err) < 0 || kc_db_script (self, SQL_SETTINGS, err) < 0)
        return -1;
    sqlite3_stmt *q = kc_db_query (self, err, self->wal ? SQL_WAL : SQL_DELETE, "");
    if (!q || kc_db_step (self, q, err) < 0)
        return -1;
    const char *mode = kc_db_text (q, 0);
    bool right = mode && strcmp (mode, self->wal ? "wal" : "delete") == 0;
    kc_db_done (q);
    if (!right)
        return kc_fail (err, KC_EIO, "%s: the journal mode could not be set",
                        self->path);
    return 0;
}

kc_db_t *kc_db_open (const kc_db_config_t *config, kc_err_t *err)
{
    kc_assert (config && config->path);
    kc_db_t *self = kc_calloc (1, sizeof *self);
    self->lock = -1;
    self->path = kc_strdup (config->path);
    char *lock = kc_asprintf ("%s.lock", config->path);
    int rc = SQLITE_OK;
    if (s_check_place (self, config->allow_network_fs, err) < 0
        || (self->lock = kc_fs_lock (lock, err)) < 0)
        goto out;
    rc = sqlite3_open_v2 (self->path, &self->db,
                          SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
                              | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
                          config->vfs);
    if (rc != SQLITE_OK) {
        s_fail (self, rc, "cannot open", err);
        goto out;
    }
    if (s_configure (self, err) < 0)
        goto out;
    free (lock);
    return self;
out:
    free (lock);
    kc_db_close (&self);
    return NULL;
}

void kc_db_close (kc_db_t **self_p)
{
    kc_db_t *self = *self_p;
    if (!self)
        return;
    for (size_t i = 0; i < self->n_cached; i++)
        sqlite3_finalize (self->cached[i].stmt);
    if (self->db && sqlite3_close (self->db) != SQLITE_OK)
        kc_log (KC_ERROR, "db.close", "text", "s", sqlite3_errmsg (self->db), NULL);
    if (self->lock >= 0)
        close (self->lock);
    free (self->path);
    free (self);
    *self_p = NULL;
}

const char *kc_db_path (const kc_db_t *self)
{
    return self->path;
}

sqlite3 *kc_db_handle (kc_db_t *self)
{
    return self->db;
}

bool kc_db_on_wal (const kc_db_t *self)
{
    return self->wal;
}

bool kc_db_broken (const kc_db_t *self, kc_err_t *err)
{
    if (self->broken && err)
        *err = self->why;
    return self->broken;
}

// ---- statements ----

static sqlite3_stmt *s_prepared (kc_db_t *self, const char *sql, kc_err_t *err)
{
    if (self->broken) {
        if (err)
            *err = self->why;
        return NULL;
    }
    for (size_t i = 0; i < self->n_cached; i++)
        if (self->cached[i].sql == sql)
            return self->cached[i].stmt;
    kc_assert (self->n_cached < KC_DB_STATEMENTS_MAX);
    sqlite3_stmt *stmt = NULL;
    int rc =
        sqlite3_prepare_v3 (self->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &stmt, NULL);
    if (rc != SQLITE_OK) {
        s_fail (self, rc, sql, err);
        return NULL;
    }
    self->cached[self->n_cached].sql = sql;
    self->cached[self->n_cached].stmt = stmt;
    self->n_cached++;
    return stmt;
}

static int s_bind (sqlite3_stmt *stmt, const char *types, va_list args)
{
    int rc = SQLITE_OK;
    for (int i = 0; types[i] && rc == SQLITE_OK; i++) {
        if (types[i] == 's')
            rc = sqlite3_bind_text (stmt, i + 1, va_arg (args, const char *), -1,
                                    SQLITE_STATIC);
        else if (types[i] == 'i')
            rc = sqlite3_bind_int64 (stmt, i + 1, va_arg (args, int64_t));
        else if (types[i] == 'f')
            rc = sqlite3_bind_double (stmt, i + 1, va_arg (args, double));
        else if (types[i] == 'b') {
            const void *data = va_arg (args, const void *);
            size_t size = va_arg (args, size_t);
            rc = sqlite3_bind_blob64 (stmt, i + 1, data ? data : "", size,
                                      SQLITE_STATIC);
        }
        else {
            kc_assert (types[i] == '0');
            rc = sqlite3_bind_null (stmt, i + 1);
        }
    }
    return rc;
}

static sqlite3_stmt *s_start (kc_db_t *self, kc_err_t *err, const char *sql,
                              const char *types, va_list args)
{
    sqlite3_stmt *stmt = s_prepared (self, sql, err);
    if (!stmt)
        return NULL;
    kc_assert (
        !sqlite3_stmt_busy (stmt)); // a nested use of one statement is our defect
    int rc = s_bind (stmt, types, args);
    if (rc != SQLITE_OK) {
        s_fail (self, rc, sql, err);
        return NULL;
    }
    return stmt;
}

sqlite3_stmt *kc_db_query (kc_db_t *self, kc_err_t *err, const char *sql,
                           const char *types, ...)
{
    va_list args;
    va_start (args, types);
    sqlite3_stmt *stmt = s_start (self, err, sql, types, args);
    va_end (args);
    return stmt;
}

int kc_db_step (kc_db_t *self, sqlite3_stmt *stmt, kc_err_t *err)
{
    int rc = sqlite3_step (stmt);
    if (rc == SQLITE_ROW)
        return 1;
    if (rc == SQLITE_DONE) {
        kc_db_done (stmt);
        return 0;
    }
    s_fail (self, rc, sqlite3_sql (stmt), err);
    kc_db_done (stmt);
    return -1;
}

void kc_db_done (sqlite3_stmt *stmt)
{
    if (stmt) {
        sqlite3_reset (stmt);
        sqlite3_clear_bindings (
            stmt); // what was bound belongs to the caller and may go now
    }
}

int kc_db_run (kc_db_t *self, kc_err_t *err, const char *sql, const char *types, ...)
{
    va_list args;
    va_start (args, types);
    sqlite3_stmt *stmt = s_start (self, err, sql, types, args);
    va_end (args);
    if (!stmt)
        return -1;
    int rc;
    while ((rc = kc_db_step (self, stmt, err)) > 0)
        ;
    return rc < 0 ? -1 : sqlite3_changes (self->db);
}

int kc_db_int (kc_db_t *self, kc_err_t *err, int64_t missing, int64_t *out,
               const char *sql, const char *types, ...)
{
    va_list args;
    va_start (args, types);
    sqlite3_stmt *stmt = s_start (self, err, sql, types, args);
    va_end (args);
    if (!stmt)
        return -1;
    int rc = kc_db_step (self, stmt, err);
    if (rc < 0)
        return -1;
    *out = missing;
    if (rc > 0) {
        if (sqlite3_column_type (stmt, 0) != SQLITE_NULL)
            *out = sqlite3_column_int64 (stmt, 0);
        kc_db_done (stmt);
    }
    return 0;
}

int kc_db_script (kc_db_t *self, const char *sql, kc_err_t *err)
{
    if (kc_db_broken (self, err))
        return -1;
    int rc = sqlite3_exec (self->db, sql, NULL, NULL, NULL);
    return rc == SQLITE_OK ? 0 : s_fail (self, rc, "script", err);
}

// ---- transactions ----

int kc_db_begin (kc_db_t *self, kc_err_t *err)
{
    return kc_db_run (self, err, SQL_BEGIN, "") < 0 ? -1 : 0;
}

int kc_db_commit (kc_db_t *self, kc_err_t *err)
{
    if (kc_db_run (self, err, SQL_COMMIT, "") >= 0)
        return 0;
    kc_db_rollback (self);
    return -1;
}

void kc_db_rollback (kc_db_t *self)
{
    // Some errors roll back by themselves; then there is nothing left to do.
    if (!sqlite3_get_autocommit (self->db))
        sqlite3_exec (self->db, SQL_ROLLBACK, NULL, NULL, NULL);
}

int kc_db_mark (kc_db_t *self, kc_err_t *err)
{
    return kc_db_run (self, err, SQL_MARK, "") < 0 ? -1 : 0;
}

int kc_db_keep (kc_db_t *self, kc_err_t *err)
{
    return kc_db_run (self, err, SQL_KEEP, "") < 0 ? -1 : 0;
}

int kc_db_undo (kc_db_t *self, kc_err_t *err)
{
    if (kc_db_run (self, err, SQL_UNDO, "") < 0)
        return -1;
    return kc_db_keep (self, err);
}

bool kc_db_in_transaction (const kc_db_t *self)
{
    return self->db && !sqlite3_get_autocommit (self->db);
}

void kc_db_checkpoint (kc_db_t *self)
{
    if (self->wal && !self->broken)
        sqlite3_wal_checkpoint_v2 (self->db, "main", SQLITE_CHECKPOINT_TRUNCATE, NULL,
                                   NULL);
}

int64_t kc_db_wal_bytes (const kc_db_t *self)
{
    char *path = kc_asprintf ("%s-wal", self->path);
    struct stat st;
    int64_t size = stat (path, &st) == 0 ? (int64_t)st.st_size : 0;
    free (path);
    return size;
}

const char *kc_db_text (sqlite3_stmt *stmt, int column)
{
    return (const char *)sqlite3_column_text (stmt, column);
}

char *kc_db_dup (sqlite3_stmt *stmt, int column)
{
    return kc_strdup (kc_db_text (stmt, column));
}
