// kc_tasks_read.c - the reading half of kc_tasks.h: rows, lists, ids by part, a task
// with its best program

#include "memory/store/kc_tasks_own.h"

#include <stdlib.h>
#include <string.h>

#include "common/msg/kc_codec.h"
#include "common/util/kc_mem.h"

#define TASK_COLUMNS                                                                   \
    "task, name, kind, state, epoch, holder, round, steps, spent, best_round, "        \
    "best_lane, "                                                                      \
    "best_hash, best_speedup, best_us, best_floor, best_estimate, reason, created, "   \
    "changed"
static const char SQL_ROW[] = "SELECT " TASK_COLUMNS " FROM task WHERE task = ?1";
static const char SQL_LIST_NEW[] =
    "SELECT " TASK_COLUMNS " FROM task WHERE ord < ?1 "
    "AND (?2 IS NULL OR state = ?2) ORDER BY ord DESC LIMIT ?3";
static const char SQL_LIST_OLD[] =
    "SELECT " TASK_COLUMNS " FROM task WHERE ord > ?1 "
    "AND (?2 IS NULL OR state = ?2) ORDER BY ord LIMIT ?3";
static const char SQL_PREFIX[] =
    "SELECT task FROM task WHERE task >= ?1 AND task < ?2 LIMIT 2";
static const char SQL_SUFFIX[] =
    "SELECT task FROM task WHERE substr (task, ?2) = ?1 LIMIT 2";
static const char SQL_DOCUMENT[] = "SELECT document FROM task WHERE task = ?1";
static const char SQL_CARD[] =
    "SELECT doc FROM step WHERE task = ?1 AND step = 'inspect' "
    "ORDER BY seq DESC LIMIT 1";
static const char SQL_STEPS_AT[] =
    "SELECT doc FROM step WHERE task = ?1 AND round = ?2 "
    "AND lane = ?3 AND step IN ('code','repair','evaluate') "
    "ORDER BY seq";

// ---- rows ----

static void s_number (sqlite3_stmt *q, int column, bool *has, double *value)
{
    *has = sqlite3_column_type (q, column) != SQLITE_NULL;
    *value = sqlite3_column_double (q, column);
}

static void s_read_row (sqlite3_stmt *q, kc_memory_task_row_t *row)
{
    row->task = kc_db_dup (q, 0);
    row->name = kc_db_dup (q, 1);
    row->kind = kc_task_kind_parse (kc_db_text (q, 2));
    row->state = kc_memory_state_parse (kc_db_text (q, 3));
    row->epoch = sqlite3_column_int64 (q, 4);
    row->holder = kc_db_dup (q, 5);
    row->round = sqlite3_column_int64 (q, 6);
    row->steps = sqlite3_column_int64 (q, 7);
    row->spent_seconds = sqlite3_column_double (q, 8);
    if (sqlite3_column_type (q, 11) != SQLITE_NULL) {
        kc_memory_best_t *best = kc_memory_best_new ();
        best->round = sqlite3_column_int64 (q, 9);
        best->lane = sqlite3_column_int64 (q, 10);
        best->hash = kc_db_dup (q, 11);
        s_number (q, 12, &best->has_speedup, &best->speedup);
        s_number (q, 13, &best->has_median_us, &best->median_us);
        s_number (q, 14, &best->has_floor_share, &best->floor_share);
        best->estimate = sqlite3_column_int64 (q, 15) != 0;
        row->best = best;
    }
    row->reason = kc_db_dup (q, 16);
    row->created = kc_db_dup (q, 17);
    row->changed = kc_db_dup (q, 18);
}

kc_memory_task_row_t *kc_tasks_row (kc_tasks_t *self, const char *task, kc_err_t *err)
{
    sqlite3_stmt *q = kc_db_query (self->db, err, SQL_ROW, "s", task);
    int rc = q ? kc_db_step (self->db, q, err) : -1;
    if (rc <= 0) {
        if (rc == 0)
            kc_fail (err, KC_ENOTFOUND, "task %s is not known; see kclaw list", task);
        return NULL;
    }
    kc_memory_task_row_t *row = kc_memory_task_row_new ();
    s_read_row (q, row);
    kc_db_done (q);
    return row;
}

kc_task_t *kc_tasks_decode_document (const char *json, kc_err_t *err)
{
    kc_errs_t errs = {0};
    kc_task_t *doc = kc_task_decode (json, json ? strlen (json) : 0, KC_WIRE, &errs);
    if (!doc) {
        kc_errs_fail (&errs, err);
        kc_fail_in (err, "the stored task document");
    }
    return doc;
}

// ---- reading ----

char *kc_tasks_resolve (kc_tasks_t *self, const char *word, kc_err_t *err)
{
    size_t n = strlen (word);
    int64_t ord = kc_tasks_ord (self, word, err);
    if (ord != 0)
        return ord < 0 ? NULL : kc_strdup (word);
    if (n < KC_TASK_PREFIX_MIN) {
        kc_fail (err, KC_EINVALID, "\"%s\": give at least %d characters of the task id",
                 word, KC_TASK_PREFIX_MIN);
        return NULL;
    }
    char *found[2] = {0};
    int count = 0;
    char *after =
        kc_asprintf ("%s\x7f", word); // greater than every id that starts with the word
    for (int pass = 0; pass < 2 && count == 0; pass++) {
        sqlite3_stmt *q =
            pass == 0
                ? kc_db_query (self->db, err, SQL_PREFIX, "ss", word, after)
                : kc_db_query (self->db, err, SQL_SUFFIX, "si", word, -(int64_t)n);
        int rc = q ? 1 : -1;
        while (rc > 0 && count < 2 && (rc = kc_db_step (self->db, q, err)) > 0)
            found[count++] = kc_db_dup (q, 0);
        kc_db_done (q);
        if (rc < 0)
            count = -1;
    }
    free (after);
    if (count == 0)
        kc_fail (err, KC_ENOTFOUND,
                 "no task id begins or ends with \"%s\"; see kclaw list", word);
    if (count == 2)
        kc_fail (err, KC_EINVALID, "\"%s\" may be %s or %s; give more of the id", word,
                 found[0], found[1]);
    free (found[1]);
    if (count != 1) {
        free (found[0]);
        return NULL;
    }
    return found[0];
}

int kc_tasks_list (kc_tasks_t *self, const kc_memory_task_list_t *in,
                   kc_memory_task_list_reply_t *out, kc_err_t *err)
{
    int64_t from = in->newest_first ? INT64_MAX : 0;
    if (in->after) {
        from = kc_tasks_ord (self, in->after, err);
        if (from <= 0)
            return from < 0
                       ? -1
                       : kc_fail (err, KC_ENOTFOUND, "task %s is not known", in->after);
    }
    const char *state = in->state ? kc_memory_state_name (in->state) : NULL;
    sqlite3_stmt *q =
        kc_db_query (self->db, err, in->newest_first ? SQL_LIST_NEW : SQL_LIST_OLD,
                     "isi", from, state, in->limit + 1);
    if (!q)
        return -1;
    size_t bytes = 0;
    int rc = 0;
    while (!out->more && (rc = kc_db_step (self->db, q, err)) > 0) {
        if ((int64_t)out->n_tasks == in->limit || bytes > KC_TASKS_LIST_BYTES) {
            out->more = true;
            continue;
        }
        kc_memory_task_row_t *row = kc_push (&out->tasks, &out->n_tasks, sizeof *row);
        kc_type_init (&kc_memory_task_row_type, row);
        s_read_row (q, row);
        bytes += 600 + (row->reason ? strlen (row->reason) : 0) + strlen (row->name);
    }
    if (rc < 0)
        return -1;
    kc_db_done (q);
    return 0;
}

static int s_decode_step (const char *json, kc_memory_step_doc_t **doc_p, kc_err_t *err)
{
    kc_errs_t errs = {0};
    *doc_p = kc_memory_step_doc_decode (json, strlen (json), KC_WIRE, &errs);
    if (*doc_p)
        return 0;
    kc_errs_fail (&errs, err);
    return kc_fail_in (err, "a stored step");
}

// The candidate and the verdict of the best place; a later step of the place wins.
static int s_get_best (kc_tasks_t *self, int64_t ord, kc_memory_task_get_reply_t *out,
                       kc_err_t *err)
{
    sqlite3_stmt *q = kc_db_query (self->db, err, SQL_STEPS_AT, "iii", ord,
                                   out->row->best->round, out->row->best->lane);
    int rc = q ? 0 : -1;
    while (q && (rc = kc_db_step (self->db, q, err)) > 0) {
        kc_memory_step_doc_t *doc = NULL;
        if (s_decode_step (kc_db_text (q, 0), &doc, err) < 0) {
            kc_db_done (q);
            return -1;
        }
        if (doc->candidate) { // moved out of the step, which is freed without it
            kc_candidate_free (&out->candidate);
            out->candidate = doc->candidate;
            doc->candidate = NULL;
        }
        if (doc->verdict) {
            kc_verdict_free (&out->verdict);
            out->verdict = doc->verdict;
            doc->verdict = NULL;
        }
        kc_memory_step_doc_free (&doc);
    }
    return rc;
}

static int s_get_card (kc_tasks_t *self, int64_t ord, kc_memory_task_get_reply_t *out,
                       kc_err_t *err)
{
    sqlite3_stmt *q = kc_db_query (self->db, err, SQL_CARD, "i", ord);
    int rc = q ? kc_db_step (self->db, q, err) : -1;
    if (rc <= 0)
        return rc;
    kc_memory_step_doc_t *doc = NULL;
    rc = s_decode_step (kc_db_text (q, 0), &doc, err);
    kc_db_done (q);
    if (rc == 0) {
        out->card = doc->card;
        doc->card = NULL;
        kc_memory_step_doc_free (&doc);
    }
    return rc;
}

int kc_tasks_get (kc_tasks_t *self, const kc_memory_task_get_t *in,
                  kc_memory_task_get_reply_t *out, kc_err_t *err)
{
    char *task = kc_tasks_resolve (self, in->task, err);
    if (!task)
        return -1;
    int rc = -1;
    int64_t ord = kc_tasks_ord (self, task, err);
    sqlite3_stmt *q = NULL;
    if (ord <= 0 || !(out->row = kc_tasks_row (self, task, err))
        || !(q = kc_db_query (self->db, err, SQL_DOCUMENT, "s", task))
        || kc_db_step (self->db, q, err) <= 0)
        goto out;
    out->document = kc_tasks_decode_document (kc_db_text (q, 0), err);
    kc_db_done (q);
    if (!out->document || s_get_card (self, ord, out, err) < 0)
        goto out;
    rc = out->row->best ? s_get_best (self, ord, out, err) : 0;
out:
    free (task);
    return rc;
}
