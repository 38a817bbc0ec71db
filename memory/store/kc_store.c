// kc_store.c - see kc_store.h for the rules this class keeps

#include "memory/store/kc_store.h"

#include <stdlib.h>
#include <string.h>

#include "common/msg/kc_codec.h"
#include "common/util/kc_mem.h"
#include "memory/store/kc_migrate.h"

static const char SQL_TASK_STATES[] = "SELECT state, count(*) FROM task GROUP BY state";
static const char SQL_STEPS[] = "SELECT coalesce (sum (steps), 0) FROM task";
static const char SQL_EVENTS[] = "SELECT coalesce (max (seq), 0) FROM event";
static const char SQL_BLOBS[] = "SELECT count(*) FROM blob";
static const char SQL_BLOB_BYTES[] = "SELECT coalesce (sum (have), 0) FROM blob";
static const char SQL_CACHE[] = "SELECT count(*) FROM verdict_cache";
static const char SQL_PAGES[] = "PRAGMA page_count";
static const char SQL_PAGE_SIZE[] = "PRAGMA page_size";

kc_store_t *kc_store_open (const kc_store_config_t *config, const kc_when_t *when,
                           kc_err_t *err)
{
    kc_store_t *self = kc_calloc (1, sizeof *self);
    if (!(self->db = kc_db_open (&config->db, err))
        || kc_migrate (self->db, KC_MIGRATE_NEWEST, err) < 0
        || !(self->events = kc_events_new (self->db, err))
        || !(self->blobs = kc_blobs_new (self->db, err))
        || !(self->tasks =
                 kc_tasks_new (self->db, self->events, self->blobs, when->now, err))
        || !(self->cache = kc_cache_new (self->db, err))
        || !(self->records = kc_records_new (self->db, err))
        || !(self->methods = kc_methods_new (self->db, self->records, err))) {
        kc_store_close (&self);
        return NULL;
    }
    self->steps =
        kc_steps_new (self->db, self->tasks, self->events, self->cache, self->records);
    if (config->experts
        && kc_methods_ship (self->methods, config->experts, when, err) < 0)
        kc_store_close (&self);
    return self;
}

void kc_store_close (kc_store_t **self_p)
{
    kc_store_t *self = *self_p;
    if (!self)
        return;
    kc_steps_destroy (&self->steps);
    kc_methods_destroy (&self->methods);
    kc_records_destroy (&self->records);
    kc_cache_destroy (&self->cache);
    kc_tasks_destroy (&self->tasks);
    kc_blobs_destroy (&self->blobs);
    kc_events_destroy (&self->events);
    kc_db_close (&self->db);
    free (self);
    *self_p = NULL;
}

int kc_store_begin (kc_store_t *self, kc_err_t *err)
{
    return kc_db_begin (self->db, err);
}

int kc_store_commit (kc_store_t *self, kc_err_t *err)
{
    if (kc_db_commit (self->db, err) < 0)
        return -1;
    kc_records_settle (self->records);
    return 0;
}

int kc_store_mark (kc_store_t *self, kc_err_t *err)
{
    return kc_db_mark (self->db, err);
}

int kc_store_keep (kc_store_t *self, kc_err_t *err)
{
    return kc_db_keep (self->db, err);
}

int kc_store_undo (kc_store_t *self, kc_err_t *err)
{
    if (kc_db_undo (self->db, err) < 0)
        return -1;
    return kc_records_dirty (self->records) ? kc_records_reload (self->records, err)
                                            : 0;
}

bool kc_store_broken (const kc_store_t *self, kc_err_t *err)
{
    return kc_db_broken (self->db, err);
}

void kc_store_stat (kc_memory_stats_reply_t *out, const char *name, double value)
{
    kc_memory_stat_t *s = kc_push (&out->stats, &out->n_stats, sizeof *s);
    kc_type_init (&kc_memory_stat_type, s);
    s->name = kc_strdup (name);
    s->value = value;
}

int kc_store_stats (kc_store_t *self, kc_memory_stats_reply_t *out, kc_err_t *err)
{
    static const struct {
        const char *name, *sql;
    } counts[] = {{"steps", SQL_STEPS},
                  {"events", SQL_EVENTS},
                  {"blobs", SQL_BLOBS},
                  {"blob_bytes", SQL_BLOB_BYTES},
                  {"cached_verdicts", SQL_CACHE}};
    sqlite3_stmt *q = kc_db_query (self->db, err, SQL_TASK_STATES, "");
    int rc = q ? 0 : -1;
    while (q && (rc = kc_db_step (self->db, q, err)) > 0) {
        char *name = kc_asprintf ("tasks_%s", kc_db_text (q, 0));
        kc_store_stat (out, name, sqlite3_column_double (q, 1));
        free (name);
    }
    for (size_t i = 0; i < KC_COUNT (counts) && rc == 0; i++) {
        int64_t value = 0;
        rc = kc_db_int (self->db, err, 0, &value, counts[i].sql, "");
        kc_store_stat (out, counts[i].name, (double)value);
    }
    int64_t pages = 0, size = 0;
    if (rc < 0 || kc_db_int (self->db, err, 0, &pages, SQL_PAGES, "") < 0
        || kc_db_int (self->db, err, 0, &size, SQL_PAGE_SIZE, "") < 0)
        return -1;
    const kc_rules_t *rules = kc_methods_rules (self->methods);
    kc_store_stat (out, "file_bytes", (double)pages * (double)size);
    kc_store_stat (out, "wal_bytes", (double)kc_db_wal_bytes (self->db));
    kc_store_stat (out, "methods", (double)rules->n_methods);
    kc_store_stat (out, "bottlenecks", (double)rules->n_bottlenecks);
    return 0;
}

int kc_store_sweep (kc_store_t *self, kc_err_t *err)
{
    if (kc_db_begin (self->db, err) < 0)
        return -1;
    int blobs = kc_blobs_expire (self->blobs, err);
    int rows = blobs < 0 ? -1 : kc_cache_trim (self->cache, err);
    if (rows < 0) {
        kc_db_rollback (self->db);
        return -1;
    }
    if (kc_db_commit (self->db, err) < 0)
        return -1;
    return blobs == KC_BLOBS_SLICE || rows == KC_CACHE_SLICE;
}
