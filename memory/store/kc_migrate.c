// kc_migrate.c - see kc_migrate.h for the rules this class keeps
//
// Numbers that are compared stand in columns; JSON is only what is shown.  It is
// written by our codec alone; json_valid cannot check it, because SQLite 3.40 does not
// call it innocent and we run with trusted_schema off. Wall times (at, created,
// changed) are for people and are never compared.

#include "memory/store/kc_migrate.h"

#include <stdlib.h>
#include <unistd.h>

#include "common/util/kc_fs.h"
#include "common/util/kc_log.h"
#include "common/util/kc_mem.h"

static const char SQL_VERSION[] = "PRAGMA user_version";

// Version 1: short-term memory - tasks, their steps with what the steps say, events,
// blobs, verdicts.
static const char SQL_V1[] =
    "CREATE TABLE task ("
    "  ord INTEGER PRIMARY KEY," // order of creation
    "  task TEXT NOT NULL UNIQUE,"
    "  name TEXT NOT NULL,"
    "  kind TEXT NOT NULL,"
    "  state TEXT NOT NULL CHECK (state IN "
    "('queued','running','done','failed','cancelled')),"
    "  ready INTEGER NOT NULL," // place in the queue of runnable tasks
    "  epoch INTEGER NOT NULL DEFAULT 0,"
    "  holder TEXT, boot TEXT, grant_id TEXT," // of the present lease
    "  round INTEGER NOT NULL DEFAULT 0,"
    "  steps INTEGER NOT NULL DEFAULT 0,"
    "  spent REAL NOT NULL DEFAULT 0,"
    "  best_round INTEGER, best_lane INTEGER, best_hash TEXT,"
    "  best_speedup REAL, best_us REAL, best_floor REAL, best_estimate INTEGER,"
    "  reason TEXT,"
    "  document TEXT NOT NULL CHECK (substr (document, 1, 1) = '{'),"
    "  digest TEXT NOT NULL,"
    "  created TEXT NOT NULL, changed TEXT NOT NULL"
    ") STRICT;"
    "CREATE INDEX task_ready ON task (ready) WHERE state = 'queued';"
    "CREATE INDEX task_holder ON task (holder) WHERE state = 'running';"

    "CREATE TABLE step ("
    "  task INTEGER NOT NULL REFERENCES task (ord),"
    "  seq INTEGER NOT NULL," // 1, 2, ... within the task
    "  round INTEGER NOT NULL, lane INTEGER NOT NULL, step TEXT NOT NULL,"
    "  digest TEXT NOT NULL, seconds REAL NOT NULL, at TEXT NOT NULL,"
    "  doc TEXT NOT NULL CHECK (substr (doc, 1, 1) = '{'),"
    "  PRIMARY KEY (task, seq)"
    ") STRICT;"
    "CREATE UNIQUE INDEX step_place ON step (task, round, lane, step);"

    "CREATE TABLE candidate ("
    "  task INTEGER NOT NULL, round INTEGER NOT NULL, lane INTEGER NOT NULL, seq "
    "INTEGER NOT NULL,"
    "  hash TEXT, writer TEXT NOT NULL, method TEXT, parent TEXT, summary TEXT NOT "
    "NULL,"
    "  PRIMARY KEY (task, round, lane, seq)"
    ") STRICT, WITHOUT ROWID;"
    "CREATE INDEX candidate_parent ON candidate (task, parent, method);"
    "CREATE INDEX candidate_hash ON candidate (task, hash);"

    "CREATE TABLE verdict ("
    "  task INTEGER NOT NULL, round INTEGER NOT NULL, lane INTEGER NOT NULL, seq "
    "INTEGER NOT NULL,"
    "  status TEXT NOT NULL, over_base REAL, versus_base TEXT, over_baseline REAL,"
    "  median_us REAL, floor_share REAL, estimate INTEGER NOT NULL, cached INTEGER NOT "
    "NULL,"
    "  PRIMARY KEY (task, round, lane, seq)"
    ") STRICT, WITHOUT ROWID;"

    "CREATE TABLE evidence ("
    "  task INTEGER NOT NULL, round INTEGER NOT NULL, lane INTEGER NOT NULL, seq "
    "INTEGER NOT NULL,"
    "  backend TEXT NOT NULL, gpu TEXT, code_hash TEXT, total_us REAL, floor_share "
    "REAL,"
    "  PRIMARY KEY (task, round, lane, seq)"
    ") STRICT, WITHOUT ROWID;"

    "CREATE TABLE evidence_step ("
    "  task INTEGER NOT NULL, round INTEGER NOT NULL, lane INTEGER NOT NULL, step "
    "INTEGER NOT NULL,"
    "  kernel TEXT NOT NULL, structure TEXT, time_share REAL,"
    "  PRIMARY KEY (task, round, lane, step)"
    ") STRICT, WITHOUT ROWID;"

    "CREATE TABLE plan ("
    "  task INTEGER NOT NULL, round INTEGER NOT NULL, lane INTEGER NOT NULL, seq "
    "INTEGER NOT NULL,"
    "  action TEXT NOT NULL, method TEXT, base TEXT, base_round INTEGER, base_lane "
    "INTEGER,"
    "  bottleneck TEXT, at_step INTEGER, predicted REAL,"
    "  PRIMARY KEY (task, seq)"
    ") STRICT, WITHOUT ROWID;"

    "CREATE TABLE repair ("
    "  task INTEGER NOT NULL, round INTEGER NOT NULL, lane INTEGER NOT NULL, seq "
    "INTEGER NOT NULL,"
    "  rule TEXT NOT NULL, failed TEXT, gave_up INTEGER NOT NULL,"
    "  PRIMARY KEY (task, seq)"
    ") STRICT, WITHOUT ROWID;"

    "CREATE TABLE event ("
    "  seq INTEGER PRIMARY KEY," // 1, 2, ... without gaps; rows are never deleted
    "  task INTEGER NOT NULL REFERENCES task (ord),"
    "  kind TEXT NOT NULL, round INTEGER, lane INTEGER, step TEXT,"
    "  text TEXT NOT NULL, at TEXT NOT NULL"
    ") STRICT;"
    "CREATE INDEX event_task ON event (task, seq);"

    "CREATE TABLE blob ("
    "  id INTEGER PRIMARY KEY,"
    "  sha256 TEXT NOT NULL UNIQUE, size INTEGER NOT NULL,"
    "  have INTEGER NOT NULL, complete INTEGER NOT NULL,"
    "  touched INTEGER NOT NULL," // minutes of service time, see meta.minutes
    "  kind TEXT, at TEXT NOT NULL"
    ") STRICT;"
    "CREATE TABLE blob_part ("
    "  blob INTEGER NOT NULL REFERENCES blob (id), offset INTEGER NOT NULL, data BLOB "
    "NOT NULL,"
    "  PRIMARY KEY (blob, offset)"
    ") STRICT;"
    "CREATE TABLE blob_use ("
    "  blob INTEGER NOT NULL REFERENCES blob (id), task INTEGER NOT NULL REFERENCES "
    "task (ord),"
    "  PRIMARY KEY (blob, task)"
    ") STRICT, WITHOUT ROWID;"
    "CREATE INDEX blob_old ON blob (touched);"

    "CREATE TABLE verdict_cache ("
    "  id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE,"
    "  verdict TEXT NOT NULL CHECK (substr (verdict, 1, 1) = '{'), at TEXT NOT NULL"
    ") STRICT;"

    "CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT "
    "ROWID;"
    "INSERT INTO meta VALUES ('minutes', 0), ('ready', 0);";

// Version 2: long-term memory - methods, bottlenecks, what methods achieved, and the
// text search.
static const char SQL_V2[] =
    "CREATE TABLE method ("
    "  id TEXT NOT NULL, source TEXT NOT NULL CHECK (source IN ('shipped','user')),"
    "  doc TEXT NOT NULL CHECK (substr (doc, 1, 1) = '{'), at TEXT NOT NULL,"
    "  PRIMARY KEY (id, source)"
    ") STRICT, WITHOUT ROWID;"
    "CREATE TABLE bottleneck ("
    "  id TEXT NOT NULL, source TEXT NOT NULL CHECK (source IN ('shipped','user')),"
    "  ord INTEGER NOT NULL, doc TEXT NOT NULL CHECK (substr (doc, 1, 1) = '{'), at "
    "TEXT NOT NULL,"
    "  PRIMARY KEY (id, source)"
    ") STRICT, WITHOUT ROWID;"
    "CREATE TABLE method_record ("
    "  method TEXT NOT NULL, bottleneck TEXT NOT NULL, gpu TEXT NOT NULL, structure "
    "TEXT NOT NULL,"
    "  wins INTEGER NOT NULL DEFAULT 0, losses INTEGER NOT NULL DEFAULT 0,"
    "  log_gain REAL NOT NULL DEFAULT 0," // sum over the wins
    "  changed TEXT NOT NULL,"
    "  PRIMARY KEY (method, bottleneck, gpu, structure)"
    ") STRICT, WITHOUT ROWID;"
    // An ordinary table, written by the function that writes 'method': external content
    // drifts.
    "CREATE VIRTUAL TABLE method_fts USING fts5 ("
    "  name, tags, body, symbols, id UNINDEXED, tokenize = 'porter unicode61');"
    "CREATE TABLE note (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT "
    "ROWID;";

typedef struct s_version {
    const char *sql;
    const char *check; // a query whose first value must be 1 afterwards
    const char *stamp; // user_version, inside the same transaction
} s_version_t;

static const s_version_t s_versions[KC_MIGRATE_NEWEST] = {
    {SQL_V1, "SELECT count(*) = 2 FROM meta",
     "PRAGMA application_id = 1801669937; PRAGMA user_version = 1"},
    {SQL_V2,
     "SELECT count(*) = 5 FROM sqlite_schema WHERE name IN "
     "('method','bottleneck','method_record','method_fts','note')",
     "PRAGMA user_version = 2"},
};

static int s_backup (kc_db_t *db, int64_t version, kc_err_t *err)
{
    char *path = kc_asprintf ("%s.v%lld.bak", kc_db_path (db), (long long)version);
    sqlite3 *to = NULL;
    int result = -1;
    unlink (path); // of an upgrade that was cut; the data itself is still in the file
    int rc =
        sqlite3_open_v2 (path, &to, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
    sqlite3_backup *b =
        rc == SQLITE_OK ? sqlite3_backup_init (to, "main", kc_db_handle (db), "main")
                        : NULL;
    if (b) {
        rc = sqlite3_backup_step (b, -1);
        sqlite3_backup_finish (b);
    }
    if (!b || rc != SQLITE_DONE)
        kc_fail (err, KC_EIO, "cannot write the backup %s before the upgrade: %s", path,
                 to ? sqlite3_errmsg (to) : "no connection");
    else
        result = 0;
    sqlite3_close (to);
    if (result == 0)
        kc_log (KC_INFO, "db.backup", "path", "s", path, NULL);
    free (path);
    return result;
}

static int s_step (kc_db_t *db, const s_version_t *v, int to, kc_err_t *err)
{
    if (kc_db_begin (db, err) < 0)
        return -1;
    int64_t good = 0;
    if (kc_db_script (db, v->sql, err) < 0
        || kc_db_int (db, err, 0, &good, v->check, "") < 0)
        goto out;
    if (good != 1) {
        kc_fail (err, KC_EINTERNAL,
                 "%s: version %d is not as expected after the upgrade", kc_db_path (db),
                 to);
        goto out;
    }
    if (kc_db_script (db, v->stamp, err) < 0)
        goto out;
    return kc_db_commit (db, err);
out:
    kc_db_rollback (db);
    return -1;
}

int kc_migrate (kc_db_t *db, int version, kc_err_t *err)
{
    int64_t now = 0;
    if (kc_db_int (db, err, 0, &now, SQL_VERSION, "") < 0)
        return -1;
    if (now > version)
        return kc_fail (
            err, KC_EREFUSED,
            "%s has version %lld, this program knows %d; use the newer program",
            kc_db_path (db), (long long)now, version);
    if (now > 0 && now < version && s_backup (db, now, err) < 0)
        return -1;
    for (int64_t v = now; v < version; v++) {
        if (s_step (db, &s_versions[v], (int)v + 1, err) < 0)
            return kc_fail_in (err, "upgrade to version %d", (int)v + 1);
        kc_log (KC_INFO, "db.version", "path", "s", kc_db_path (db), "version", "i",
                v + 1, NULL);
    }
    return 0;
}
