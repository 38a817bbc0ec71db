// kc_tasks.c - see kc_tasks.h for the rules this class keeps

#include "memory/store/kc_tasks_own.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/msg/kc_codec.h"
#include "common/util/kc_log.h"
#include "common/util/kc_map.h"
#include "common/util/kc_mem.h"

static const char SQL_FIND[] =
    "SELECT ord, state, epoch, digest FROM task WHERE task = ?1";
static const char SQL_ORD[] = "SELECT ord FROM task WHERE task = ?1";
static const char SQL_ADD[] = "INSERT INTO task (task, name, kind, state, ready, "
                              "document, digest, created, changed) "
                              "VALUES (?1, ?2, ?3, 'queued', ?4, ?5, ?6, ?7, ?7)";
static const char SQL_NEXT_READY[] =
    "UPDATE meta SET value = value + 1 WHERE name = 'ready' RETURNING value";
static const char SQL_RUNNING[] =
    "SELECT task, ord, epoch FROM task WHERE state = 'running'";
static const char SQL_OLDER_BOOT[] =
    "SELECT task, epoch FROM task WHERE state = 'running' AND holder = ?1 AND boot <> "
    "?2 LIMIT 64";
static const char SQL_SAME_GRANT[] = "SELECT task, epoch, document FROM task WHERE "
                                     "state = 'running' AND holder = ?1 AND boot = ?2 "
                                     "AND grant_id = ?3";
static const char SQL_FIRST[] = "SELECT ord, task, epoch, document FROM task "
                                "WHERE state = 'queued' ORDER BY ready LIMIT 1";
static const char SQL_GRANT[] =
    "UPDATE task SET state = 'running', epoch = ?2, holder = ?3, "
    "boot = ?4, grant_id = ?5, changed = ?6 WHERE ord = ?1";
static const char SQL_RELEASE[] =
    "UPDATE task SET state = 'queued', holder = NULL, boot = NULL, "
    "grant_id = NULL, ready = ?2, changed = ?3 WHERE task = ?1 "
    "AND state = 'running' RETURNING ord";
static const char SQL_END[] =
    "UPDATE task SET state = ?2, reason = ?3, epoch = ?4, holder = NULL, "
    "boot = NULL, grant_id = NULL, changed = ?5 WHERE ord = ?1";
static const char SQL_BEST[] =
    "UPDATE task SET best_round = ?2, best_lane = ?3, best_hash = ?4, "
    "best_speedup = ?5, best_us = ?6, best_floor = ?7, "
    "best_estimate = ?8 WHERE ord = ?1";

// ---- leases in memory ----

static void s_hold (kc_tasks_t *self, const char *task, int64_t epoch, int64_t until)
{
    kc_lease_t *lease = kc_calloc (1, sizeof *lease);
    lease->epoch = epoch;
    lease->until = until;
    kc_map_put (self->leases, task, lease);
}

kc_tasks_t *kc_tasks_new (kc_db_t *db, kc_events_t *events, kc_blobs_t *blobs,
                          int64_t now, kc_err_t *err)
{
    kc_tasks_t *self = kc_calloc (1, sizeof *self);
    self->db = db;
    self->events = events;
    self->blobs = blobs;
    self->leases = kc_map_new (free);
    self->woke = true;
    sqlite3_stmt *q = kc_db_query (db, err, SQL_RUNNING, "");
    int rc = q ? 0 : -1;
    while (q && (rc = kc_db_step (db, q, err)) > 0)
        s_hold (self, kc_db_text (q, 0), sqlite3_column_int64 (q, 2),
                now + KC_LEASE_MS);
    if (rc < 0)
        kc_tasks_destroy (&self);
    return self;
}

void kc_tasks_destroy (kc_tasks_t **self_p)
{
    kc_tasks_t *self = *self_p;
    if (!self)
        return;
    kc_map_destroy (&self->leases);
    free (self);
    *self_p = NULL;
}

bool kc_tasks_woke (kc_tasks_t *self)
{
    bool woke = self->woke;
    self->woke = false;
    return woke;
}

void kc_tasks_extend (kc_tasks_t *self, int64_t by_ms)
{
    size_t cursor = 0;
    kc_lease_t *lease;
    while ((lease = kc_map_next (self->leases, &cursor, NULL)) != NULL)
        lease->until += by_ms;
}

int64_t kc_tasks_ord (kc_tasks_t *self, const char *task, kc_err_t *err)
{
    int64_t ord = 0;
    return kc_db_int (self->db, err, 0, &ord, SQL_ORD, "s", task) < 0 ? -1 : ord;
}

// The place in the queue for a task that becomes runnable now.
static int64_t s_next_ready (kc_tasks_t *self, kc_err_t *err)
{
    int64_t ready = -1;
    if (kc_db_int (self->db, err, -1, &ready, SQL_NEXT_READY, "") < 0)
        return -1;
    return ready;
}

// ---- create ----

// A task id becomes part of request ids (<task>.<round>.<lane>....) and of file names.
static int s_check_id (const char *id, kc_err_t *err)
{
    size_t n = strspn (id, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-");
    if (id[0] && !id[n])
        return 0;
    return kc_fail (err, KC_EINVALID,
                    "task id \"%.64s\": it may have letters, digits, '-' and '_'", id);
}

static int s_check_path (const char *path, kc_err_t *err)
{
    bool bad = path[0] == '/' || path[0] == 0;
    for (const char *p = path; p && !bad;) {
        const char *end = strchr (p, '/');
        size_t n = end ? (size_t)(end - p) : strlen (p);
        bad =
            n == 0 || (n == 1 && p[0] == '.') || (n == 2 && p[0] == '.' && p[1] == '.');
        p = end ? end + 1 : NULL;
    }
    for (const char *p = path; *p && !bad; p++)
        bad = (unsigned char)*p < 0x20 || *p == '\\' || *p == 0x7f;
    if (bad)
        return kc_fail (
            err, KC_EINVALID,
            "file path \"%.100s\": give it relative, without . and .. parts", path);
    return 0;
}

static int s_check_files (kc_tasks_t *self, const kc_task_t *doc,
                          kc_memory_task_create_reply_t *out, kc_err_t *err)
{
    int64_t total = 0;
    for (size_t i = 0; i < doc->n_files; i++) {
        const kc_task_file_t *f = &doc->files[i];
        if (s_check_path (f->path, err) < 0)
            return -1;
        for (size_t k = 0; k < i; k++)
            if (strcmp (doc->files[k].path, f->path) == 0)
                return kc_fail (err, KC_EINVALID,
                                "file path \"%.100s\" is listed twice", f->path);
        total += f->size;
        int64_t size = -1;
        int have = kc_blobs_have (self->blobs, f->sha256, &size, err);
        if (have < 0)
            return -1;
        if (have && size != f->size)
            return kc_fail (err, KC_EINVALID,
                            "file \"%.100s\": its content has %lld bytes, not %lld",
                            f->path, (long long)size, (long long)f->size);
        if (!have) {
            char **slot = kc_push (&out->missing, &out->n_missing, sizeof *slot);
            *slot = kc_strdup (f->sha256);
        }
    }
    if (total > KC_TASK_FILES_BYTES)
        return kc_fail (err, KC_EINVALID,
                        "the files of a task may have %d bytes, these have %lld",
                        KC_TASK_FILES_BYTES, (long long)total);
    return 0;
}

static int s_insert (kc_tasks_t *self, const kc_memory_task_create_t *in,
                     const char *json, const char *digest, const kc_when_t *when,
                     kc_err_t *err)
{
    int64_t ready = s_next_ready (self, err);
    const char *kind = kc_task_kind_name (in->document->kind);
    if (ready < 0
        || kc_db_run (self->db, err, SQL_ADD, "sssisss", in->task, in->document->name,
                      kind, ready, json, digest, when->at)
               < 0)
        return -1;
    int64_t ord = sqlite3_last_insert_rowid (kc_db_handle (self->db));
    for (size_t i = 0; i < in->document->n_files; i++)
        if (kc_blobs_use (self->blobs, in->document->files[i].sha256, ord, err) < 0)
            return -1;
    kc_buf_t text = {0};
    kc_buf_printf (&text, "created: %s (%s)", in->document->name, kind);
    kc_event_add_t event = {
        .ord = ord, .kind = KC_MEMORY_EVENT_KIND_CREATED, .text = kc_buf_str (&text)};
    int rc = kc_events_add (self->events, &event, when, err);
    kc_buf_free (&text);
    return rc;
}

int kc_tasks_create (kc_tasks_t *self, const kc_memory_task_create_t *in,
                     kc_memory_task_create_reply_t *out, const kc_when_t *when,
                     kc_err_t *err)
{
    kc_errs_t errs = {0};
    size_t size = 0;
    if (s_check_id (in->task, err) < 0)
        return -1;
    char *json = kc_type_encode (&kc_task_type, in->document, &size, &errs);
    if (!json)
        return kc_errs_fail (&errs, err);
    char digest[KC_SHA_HEX];
    kc_sha256_hex (json, size, digest);
    int rc = -1, found = -1;
    kc_set (&out->task, in->task);
    out->created = false;
    sqlite3_stmt *q = kc_db_query (self->db, err, SQL_FIND, "s", in->task);
    if (!q || (found = kc_db_step (self->db, q, err)) < 0)
        goto out;
    if (found > 0) {
        bool same = strcmp (kc_db_text (q, 3), digest) == 0;
        kc_db_done (q);
        rc = same ? 0
                  : kc_fail (err, KC_ECONFLICT,
                             "task %s exists with another content; make a new id",
                             in->task);
        goto out;
    }
    if (s_check_files (self, in->document, out, err) < 0)
        goto out;
    rc = 0;
    if (out->n_missing == 0) {
        rc = s_insert (self, in, json, digest, when, err);
        out->created = rc == 0;
        self->woke = self->woke || rc == 0;
    }
out:
    free (json);
    return rc;
}

// ---- lease ----

static int s_release (kc_tasks_t *self, const char *task, const char *why,
                      const kc_when_t *when, kc_err_t *err)
{
    int64_t ready = s_next_ready (self, err), ord = 0;
    if (ready < 0
        || kc_db_int (self->db, err, 0, &ord, SQL_RELEASE, "sis", task, ready, when->at)
               < 0)
        return -1;
    if (ord > 0) {
        kc_event_add_t event = {
            .ord = ord, .kind = KC_MEMORY_EVENT_KIND_RELEASED, .text = why};
        if (kc_events_add (self->events, &event, when, err) < 0)
            return -1;
        self->woke = true;
    }
    kc_map_remove (self->leases, task);
    return 0;
}

static int s_free_older (kc_tasks_t *self, const kc_memory_task_lease_t *in,
                         const kc_when_t *when, kc_err_t *err)
{
    char *tasks[64] = {0};
    size_t n = 0;
    int rc = -1;
    sqlite3_stmt *q =
        kc_db_query (self->db, err, SQL_OLDER_BOOT, "ss", in->holder, in->boot);
    while (q && n < KC_COUNT (tasks) && (rc = kc_db_step (self->db, q, err)) > 0)
        tasks[n++] = kc_db_dup (q, 0);
    kc_db_done (q);
    rc = rc < 0 ? -1 : 0;
    kc_buf_t why = {0};
    kc_buf_printf (&why, "released: %s was started again", in->holder);
    for (size_t i = 0; i < n; i++) {
        if (rc == 0)
            rc = s_release (self, tasks[i], kc_buf_str (&why), when, err);
        free (tasks[i]);
    }
    kc_buf_free (&why);
    return rc;
}

static int s_answer_grant (kc_memory_task_lease_reply_t *out, const char *task,
                           int64_t epoch, const char *document, kc_err_t *err)
{
    out->document = kc_tasks_decode_document (document, err);
    if (!out->document)
        return -1;
    out->granted = true;
    out->task = kc_strdup (task);
    out->has_epoch = true;
    out->epoch = epoch;
    out->has_term_ms = true;
    out->term_ms = KC_LEASE_MS;
    return 0;
}

static int s_grant (kc_tasks_t *self, const kc_memory_task_lease_t *in,
                    const char *request, int64_t ord, int64_t epoch, const char *task,
                    const kc_when_t *when, kc_err_t *err)
{
    kc_buf_t text = {0};
    kc_buf_printf (&text, "leased by %s (epoch %lld)", in->holder, (long long)epoch);
    kc_event_add_t event = {
        .ord = ord, .kind = KC_MEMORY_EVENT_KIND_LEASED, .text = kc_buf_str (&text)};
    int rc = -1;
    if (kc_db_run (self->db, err, SQL_GRANT, "iissss", ord, epoch, in->holder, in->boot,
                   request, when->at)
            >= 0
        && kc_events_add (self->events, &event, when, err) == 0) {
        s_hold (self, task, epoch, when->now + KC_LEASE_MS);
        rc = 0;
    }
    kc_buf_free (&text);
    return rc;
}

int kc_tasks_lease (kc_tasks_t *self, const kc_memory_task_lease_t *in,
                    const char *request, kc_memory_task_lease_reply_t *out,
                    const kc_when_t *when, kc_err_t *err)
{
    out->granted = false;
    if (s_free_older (self, in, when, err) < 0)
        return -1;
    sqlite3_stmt *q = kc_db_query (self->db, err, SQL_SAME_GRANT, "sss", in->holder,
                                   in->boot, request);
    int rc = q ? kc_db_step (self->db, q, err) : -1;
    if (rc > 0) {
        rc = s_answer_grant (out, kc_db_text (q, 0), sqlite3_column_int64 (q, 1),
                             kc_db_text (q, 2), err);
        kc_db_done (q);
    }
    if (rc < 0 || out->granted)
        return rc < 0 ? -1 : 0;
    q = kc_db_query (self->db, err, SQL_FIRST, "");
    rc = q ? kc_db_step (self->db, q, err) : -1;
    if (rc <= 0)
        return rc;
    int64_t ord = sqlite3_column_int64 (q, 0);
    rc = s_answer_grant (out, kc_db_text (q, 1), sqlite3_column_int64 (q, 2) + 1,
                         kc_db_text (q, 3), err);
    kc_db_done (q);
    if (rc == 0)
        rc = s_grant (self, in, request, ord, out->epoch, out->task, when, err);
    return rc;
}

// The state and epoch of a task for a call of its holder; -1 when the call may not go
// on.
static int s_check_holder (kc_tasks_t *self, const char *task, int64_t epoch,
                           int64_t *ord_p, kc_memory_state_t *state_p, kc_err_t *err)
{
    sqlite3_stmt *q = kc_db_query (self->db, err, SQL_FIND, "s", task);
    int rc = q ? kc_db_step (self->db, q, err) : -1;
    if (rc < 0)
        return -1;
    if (rc == 0)
        return kc_fail (err, KC_ENOTFOUND, "task %s is not known; see kclaw list",
                        task);
    *ord_p = sqlite3_column_int64 (q, 0);
    *state_p = kc_memory_state_parse (kc_db_text (q, 1));
    int64_t now = sqlite3_column_int64 (q, 2);
    kc_db_done (q);
    if (now != epoch)
        return kc_fail (err, KC_ESTALE,
                        "task %s: epoch %lld is over, it is %lld now; drop the task",
                        task, (long long)epoch, (long long)now);
    return 0;
}

static int s_not_running (const char *task, kc_memory_state_t state, kc_err_t *err)
{
    return kc_fail (err, KC_ESTALE, "task %s is %s, the lease is over; drop the task",
                    task, kc_memory_state_name (state));
}

int kc_tasks_renew (kc_tasks_t *self, const kc_memory_task_renew_t *in,
                    kc_memory_task_renew_reply_t *out, const kc_when_t *when,
                    kc_err_t *err)
{
    int64_t ord = 0;
    kc_memory_state_t state = 0;
    if (s_check_holder (self, in->task, in->epoch, &ord, &state, err) < 0)
        return -1;
    kc_lease_t *lease = kc_map_get (self->leases, in->task);
    if (state != KC_MEMORY_STATE_RUNNING || !lease)
        return s_not_running (in->task, state, err);
    if (when->now + KC_LEASE_MS > lease->until)
        lease->until = when->now + KC_LEASE_MS; // a late renewal never shortens a lease
    out->term_ms = KC_LEASE_MS;
    return 0;
}

bool kc_tasks_any_over (const kc_tasks_t *self, int64_t now)
{
    size_t cursor = 0;
    const kc_lease_t *lease;
    while ((lease = kc_map_next (self->leases, &cursor, NULL)) != NULL)
        if (lease->until <= now)
            return true;
    return false;
}

int kc_tasks_expire (kc_tasks_t *self, const kc_when_t *when, kc_err_t *err)
{
    size_t cursor = 0;
    const char *task;
    kc_lease_t *lease;
    int n = 0;
    while ((lease = kc_map_next (self->leases, &cursor, &task)) != NULL) {
        if (lease->until > when->now)
            continue;
        char *name = kc_strdup (task); // the release removes the key
        int rc = s_release (self, name, "released: its holder did not renew the lease",
                            when, err);
        free (name);
        if (rc < 0)
            return -1;
        n++;
    }
    return n;
}

// ---- the end ----

static int s_end (kc_tasks_t *self, const char *task, int64_t ord,
                  kc_memory_state_t state, const char *reason, int64_t epoch,
                  const kc_when_t *when, kc_err_t *err)
{
    const char *name = kc_memory_state_name (state);
    if (kc_db_run (self->db, err, SQL_END, "issis", ord, name, reason, epoch, when->at)
        < 0)
        return -1;
    kc_buf_t text = {0};
    kc_buf_printf (&text, "%s%s%s", name, reason && *reason ? ": " : "",
                   reason ? reason : "");
    kc_event_add_t event = {.ord = ord,
                            .kind = state == KC_MEMORY_STATE_CANCELLED
                                        ? KC_MEMORY_EVENT_KIND_CANCELLED
                                        : KC_MEMORY_EVENT_KIND_FINISHED,
                            .text = kc_buf_str (&text)};
    int rc = kc_events_add (self->events, &event, when, err);
    kc_buf_free (&text);
    if (rc == 0)
        kc_map_remove (self->leases, task);
    return rc;
}

int kc_tasks_set_best (kc_tasks_t *self, int64_t ord, const kc_memory_best_t *b,
                       kc_err_t *err)
{
    int rc = kc_db_run (
        self->db, err, SQL_BEST, "iiisfffi", ord, b->round, b->lane, b->hash,
        b->has_speedup ? b->speedup : NAN, b->has_median_us ? b->median_us : NAN,
        b->has_floor_share ? b->floor_share : NAN, (int64_t)b->estimate);
    return rc < 0 ? -1 : 0;
}

int kc_tasks_finish (kc_tasks_t *self, const kc_memory_task_finish_t *in,
                     kc_memory_task_finish_reply_t *out, const kc_when_t *when,
                     kc_err_t *err)
{
    int64_t ord = 0;
    kc_memory_state_t state = 0;
    if (s_check_holder (self, in->task, in->epoch, &ord, &state, err) < 0)
        return -1;
    // The two enums name the same states; the small one leaves out what a planner may
    // not set.
    const char *name = kc_memory_task_finish_state_name (in->state);
    kc_memory_state_t wanted = kc_memory_state_parse (name);
    if (state != wanted) { // equal: the repetition of a finish that was answered into a
                           // lost session
        if (state != KC_MEMORY_STATE_RUNNING)
            return s_not_running (in->task, state, err);
        if ((in->best && kc_tasks_set_best (self, ord, in->best, err) < 0)
            || s_end (self, in->task, ord, wanted, in->reason, in->epoch, when, err)
                   < 0)
            return -1;
    }
    out->row = kc_tasks_row (self, in->task, err);
    return out->row ? 0 : -1;
}

int kc_tasks_cancel (kc_tasks_t *self, const kc_memory_task_cancel_t *in,
                     kc_memory_task_cancel_reply_t *out, const kc_when_t *when,
                     kc_err_t *err)
{
    char *task = kc_tasks_resolve (self, in->task, err);
    if (!task)
        return -1;
    int rc = -1;
    sqlite3_stmt *q = kc_db_query (self->db, err, SQL_FIND, "s", task);
    if (!q || kc_db_step (self->db, q, err) <= 0)
        goto out;
    int64_t ord = sqlite3_column_int64 (q, 0), epoch = sqlite3_column_int64 (q, 2);
    kc_memory_state_t state = kc_memory_state_parse (kc_db_text (q, 1));
    kc_db_done (q);
    if (state == KC_MEMORY_STATE_DONE || state == KC_MEMORY_STATE_FAILED) {
        kc_fail (err, KC_ESTATE, "task %s is %s already", task,
                 kc_memory_state_name (state));
        goto out;
    }
    // Epoch + 1: whatever the holder still sends is refused from here on.
    if (state != KC_MEMORY_STATE_CANCELLED
        && s_end (self, task, ord, KC_MEMORY_STATE_CANCELLED, in->reason, epoch + 1,
                  when, err)
               < 0)
        goto out;
    out->row = kc_tasks_row (self, task, err);
    rc = out->row ? 0 : -1;
out:
    free (task);
    return rc;
}
