// kc_steps.c - see kc_steps.h for the rules this class keeps

#include "memory/store/kc_steps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/msg/kc_codec.h"
#include "common/util/kc_hash.h"
#include "common/util/kc_mem.h"
#include "memory/store/kc_event_text.h"

static const char SQL_TASK[] =
    "SELECT ord, state, epoch, steps FROM task WHERE task = ?1";
static const char SQL_SAME[] = "SELECT seq, digest FROM step WHERE task = ?1 AND round "
                               "= ?2 AND lane = ?3 AND step = ?4";
static const char SQL_ADD[] =
    "INSERT INTO step (task, seq, round, lane, step, digest, seconds, at, doc) "
    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
static const char SQL_COUNT[] = "UPDATE task SET steps = ?2, round = max (round, ?3), "
                                "spent = spent + ?4, changed = ?5 WHERE ord = ?1";
static const char SQL_ADD_CANDIDATE[] = "INSERT INTO candidate (task, round, lane, "
                                        "seq, hash, writer, method, parent, summary) "
                                        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
static const char SQL_CANDIDATE[] =
    "SELECT summary, method, parent FROM candidate WHERE task = ?1 "
    "AND round = ?2 AND lane = ?3 ORDER BY seq DESC LIMIT 1";
static const char SQL_ADD_VERDICT[] =
    "INSERT INTO verdict (task, round, lane, seq, status, over_base, versus_base, "
    "over_baseline, "
    "median_us, floor_share, estimate, cached) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, "
    "?9, ?10, ?11, "
    "?12)";
static const char SQL_ADD_EVIDENCE[] =
    "INSERT INTO evidence (task, round, lane, seq, backend, gpu, code_hash, total_us, "
    "floor_share) "
    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
static const char SQL_ADD_EVIDENCE_STEP[] =
    "INSERT OR REPLACE INTO evidence_step (task, round, lane, step, kernel, structure, "
    "time_share) "
    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
static const char SQL_ADD_PLAN[] = "INSERT INTO plan (task, round, lane, seq, action, "
                                   "method, base, base_round, base_lane, "
                                   "bottleneck, at_step, predicted) VALUES (?1, ?2, "
                                   "?3, ?4, ?5, ?6, ?7, nullif (?8, -1), "
                                   "nullif (?9, -1), ?10, nullif (?11, -1), ?12)";
static const char SQL_ADD_REPAIR[] =
    "INSERT INTO repair (task, round, lane, seq, rule, failed, gave_up) "
    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
// The plan that asked for a method: the newest one of the task that named it, on that
// base if known.
static const char SQL_PLAN_OF[] = "SELECT bottleneck, at_step, base_round, base_lane "
                                  "FROM plan WHERE task = ?1 AND method = ?2 "
                                  "ORDER BY (base IS ?3) DESC, seq DESC LIMIT 1";
static const char SQL_STRUCTURE[] =
    "SELECT structure FROM evidence_step WHERE task = ?1 AND (?2 IS NULL OR round = "
    "?2) "
    "AND (?3 IS NULL OR lane = ?3) ORDER BY round DESC, lane, (step = ?4) DESC, "
    "time_share DESC LIMIT 1";
static const char SQL_GPU[] = "SELECT gpu FROM evidence WHERE task = ?1 ORDER BY round "
                              "DESC, lane, seq DESC LIMIT 1";
static const char SQL_READ[] = "SELECT seq, round, lane, step, at, doc FROM step "
                               "WHERE task = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3";
static const char SQL_FAILED[] =
    "SELECT DISTINCT c.method FROM candidate c JOIN verdict v ON v.task = c.task AND "
    "v.round = c.round "
    "AND v.lane = c.lane WHERE c.task = (SELECT ord FROM task WHERE task = ?1) AND "
    "c.parent = ?2 "
    "AND c.method IS NOT NULL AND NOT (v.status = 'OK' AND v.versus_base IS 'FASTER')";

enum { EVIDENCE_STEPS_KEPT = 16 };
static const char S_LEFT_OUT[] = "// left out";

struct kc_steps {
    kc_db_t *db;
    kc_tasks_t *tasks;
    kc_events_t *events;
    kc_cache_t *cache;
    kc_records_t *records;
};

typedef struct s_place { // where a step goes
    int64_t ord, seq;
    const char *summary; // of the candidate there; NULL = none
    const char *method, *parent;
} s_place_t;

kc_steps_t *kc_steps_new (kc_db_t *db, kc_tasks_t *tasks, kc_events_t *events,
                          kc_cache_t *cache, kc_records_t *records)
{
    kc_steps_t *self = kc_calloc (1, sizeof *self);
    self->db = db;
    self->tasks = tasks;
    self->events = events;
    self->cache = cache;
    self->records = records;
    return self;
}

void kc_steps_destroy (kc_steps_t **self_p)
{
    free (*self_p);
    *self_p = NULL;
}

// ---- the rows of each kind ----

static int s_check_doc (const kc_memory_step_append_t *in, kc_err_t *err)
{
    const kc_memory_step_doc_t *d = in->doc;
    bool good = d->error != NULL;
    switch (in->step) {
    case KC_MEMORY_STEP_KIND_UNSET:
        break;
    case KC_MEMORY_STEP_KIND_INSPECT:
        good = good || d->card;
        break;
    case KC_MEMORY_STEP_KIND_CODE:
        good = good || d->candidate;
        break;
    case KC_MEMORY_STEP_KIND_REPAIR:
        good = good || d->candidate || (d->repair && d->repair->gave_up);
        break;
    case KC_MEMORY_STEP_KIND_EVALUATE:
        good = good || d->verdict;
        break;
    case KC_MEMORY_STEP_KIND_PROFILE:
        good = good || d->evidence;
        break;
    case KC_MEMORY_STEP_KIND_MATCH:
        good = good || d->diagnosis;
        break;
    case KC_MEMORY_STEP_KIND_PLAN:
        good = good || d->plan;
        break;
    }
    if (!good)
        return kc_fail (err, KC_EINVALID,
                        "/doc: a step %s needs its product or an error",
                        kc_memory_step_kind_name (in->step));
    return 0;
}

static int s_add_candidate (kc_steps_t *self, const kc_memory_step_append_t *in,
                            const s_place_t *at, kc_err_t *err)
{
    const kc_candidate_t *c = in->doc->candidate;
    char hash[KC_SHA_HEX];
    const char *name = c->hash;
    if (!name) {
        if (kc_type_hash (&kc_program_type, c->program, hash) < 0)
            return kc_fail (err, KC_EINVALID,
                            "/doc/candidate/program: it breaks its schema");
        name = hash;
    }
    kc_buf_t summary = {0};
    kc_event_text_candidate (&summary, c);
    int rc =
        kc_db_run (self->db, err, SQL_ADD_CANDIDATE, "iiiisssss", at->ord, in->round,
                   in->lane, at->seq, name, kc_candidate_writer_name (c->writer),
                   c->method, c->parent, kc_buf_str (&summary));
    kc_buf_free (&summary);
    return rc < 0 ? -1 : 0;
}

static const kc_verdict_ratio_t *s_ratio (const kc_verdict_t *v,
                                          kc_verdict_ratio_over_t over)
{
    for (size_t i = 0; i < v->n_ratios; i++)
        if (v->ratios[i].over == over)
            return &v->ratios[i];
    return NULL;
}

// Count what the method of this place achieved, in the context of the plan that chose
// it.
static int s_record (kc_steps_t *self, const kc_verdict_t *v, const s_place_t *at,
                     const kc_when_t *when, kc_err_t *err)
{
    const kc_verdict_ratio_t *base = s_ratio (v, KC_VERDICT_RATIO_OVER_BASE);
    bool ours = v->status == KC_VERDICT_STATUS_INFRA_ERROR
                || v->status == KC_VERDICT_STATUS_UNSUPPORTED
                || v->status == KC_VERDICT_STATUS_NO_MEASUREMENT;
    bool right = v->status == KC_VERDICT_STATUS_OK;
    if (!at->method || !*at->method || ours || v->cached || (right && !base))
        return 0;
    char *bottleneck = NULL, *structure = NULL, *gpu = NULL;
    int64_t step = -1, round = 0, lane = 0;
    bool has_base = false;
    sqlite3_stmt *q = kc_db_query (self->db, err, SQL_PLAN_OF, "iss", at->ord,
                                   at->method, at->parent);
    int rc = q ? kc_db_step (self->db, q, err) : -1;
    if (rc > 0) {
        bottleneck = kc_db_dup (q, 0);
        step = sqlite3_column_type (q, 1) == SQLITE_NULL ? -1
                                                         : sqlite3_column_int64 (q, 1);
        has_base = sqlite3_column_type (q, 2) != SQLITE_NULL;
        round = sqlite3_column_int64 (q, 2);
        lane = sqlite3_column_int64 (q, 3);
        kc_db_done (q);
    }
    if (rc >= 0) {
        q = has_base
                ? kc_db_query (self->db, err, SQL_STRUCTURE, "iiii", at->ord, round,
                               lane, step)
                : kc_db_query (self->db, err, SQL_STRUCTURE, "i00i", at->ord, step);
        rc = q ? kc_db_step (self->db, q, err) : -1;
        if (rc > 0)
            structure = kc_db_dup (q, 0);
        kc_db_done (q);
    }
    if (rc >= 0 && v->device)
        gpu = kc_strdup (v->device->gpu);
    if (rc >= 0 && !gpu) {
        q = kc_db_query (self->db, err, SQL_GPU, "i", at->ord);
        rc = q ? kc_db_step (self->db, q, err) : -1;
        if (rc > 0)
            gpu = kc_db_dup (q, 0);
        kc_db_done (q);
    }
    if (rc >= 0) {
        kc_record_context_t context = {at->method, bottleneck ? bottleneck : "",
                                       gpu ? gpu : "", structure ? structure : ""};
        bool won = right && base->comparison == KC_VERDICT_RATIO_COMPARISON_FASTER;
        rc = kc_records_add (self->records, &context, won, won ? base->speedup : 0,
                             when->at, err);
    }
    free (bottleneck);
    free (structure);
    free (gpu);
    return rc < 0 ? -1 : 0;
}

static int s_add_verdict (kc_steps_t *self, const kc_memory_step_append_t *in,
                          const s_place_t *at, const kc_when_t *when, kc_err_t *err)
{
    const kc_verdict_t *v = in->doc->verdict;
    const kc_verdict_ratio_t *base = s_ratio (v, KC_VERDICT_RATIO_OVER_BASE);
    const kc_verdict_ratio_t *baseline = s_ratio (v, KC_VERDICT_RATIO_OVER_BASELINE);
    double median = NAN;
    bool estimate = false;
    for (size_t i = 0; i < v->n_timings; i++)
        if (v->timings[i].who == KC_VERDICT_TIMING_WHO_CANDIDATE) {
            median = v->timings[i].median_us;
            estimate = v->timings[i].estimate;
        }
    if (kc_db_run (self->db, err, SQL_ADD_VERDICT, "iiiisfsfffii", at->ord, in->round,
                   in->lane, at->seq, kc_verdict_status_name (v->status),
                   base ? base->speedup : NAN,
                   base ? kc_verdict_ratio_comparison_name (base->comparison) : NULL,
                   baseline ? baseline->speedup : NAN, median,
                   v->has_floor_share ? v->floor_share : NAN, (int64_t)estimate,
                   (int64_t)v->cached)
            < 0
        || kc_cache_put (self->cache, v, when->at, err) < 0)
        return -1;
    return s_record (self, v, at, when, err);
}

static int s_add_evidence (kc_steps_t *self, const kc_memory_step_append_t *in,
                           const s_place_t *at, kc_err_t *err)
{
    const kc_evidence_t *e = in->doc->evidence;
    if (kc_db_run (self->db, err, SQL_ADD_EVIDENCE, "iiiisssff", at->ord, in->round,
                   in->lane, at->seq, kc_evidence_backend_name (e->backend),
                   e->device ? e->device->gpu : NULL, e->code_hash,
                   e->has_total_us ? e->total_us : NAN,
                   e->has_floor_share ? e->floor_share : NAN)
        < 0)
        return -1;
    for (size_t i = 0; i < e->n_steps && i < EVIDENCE_STEPS_KEPT; i++) {
        const kc_evidence_step_t *s = &e->steps[i];
        if (kc_db_run (self->db, err, SQL_ADD_EVIDENCE_STEP, "iiiissf", at->ord,
                       in->round, in->lane, s->step, s->kernel,
                       s->structure ? kc_evidence_structure_name (s->structure) : NULL,
                       s->has_time_share ? s->time_share : NAN)
            < 0)
            return -1;
    }
    return 0;
}

static int s_add_plan (kc_steps_t *self, const kc_memory_step_append_t *in,
                       const s_place_t *at, kc_err_t *err)
{
    const kc_memory_plan_t *p = in->doc->plan;
    int rc = kc_db_run (
        self->db, err, SQL_ADD_PLAN, "iiiisssiisif", at->ord, in->round, in->lane,
        at->seq, kc_memory_plan_action_name (p->action), p->method, p->base,
        p->has_base_round ? p->base_round : (int64_t)-1,
        p->has_base_lane ? p->base_lane : (int64_t)-1, p->bottleneck,
        p->has_step ? p->step : (int64_t)-1, p->has_predicted ? p->predicted : NAN);
    return rc < 0 ? -1 : 0;
}

static int s_add_parts (kc_steps_t *self, const kc_memory_step_append_t *in,
                        const s_place_t *at, const kc_when_t *when, kc_err_t *err)
{
    const kc_memory_step_doc_t *d = in->doc;
    if (d->candidate && s_add_candidate (self, in, at, err) < 0)
        return -1;
    if (d->verdict && s_add_verdict (self, in, at, when, err) < 0)
        return -1;
    if (d->evidence && s_add_evidence (self, in, at, err) < 0)
        return -1;
    if (d->plan && s_add_plan (self, in, at, err) < 0)
        return -1;
    if (d->repair
        && kc_db_run (self->db, err, SQL_ADD_REPAIR, "iiiissi", at->ord, in->round,
                      in->lane, at->seq, d->repair->rule, d->repair->failed,
                      (int64_t)d->repair->gave_up)
               < 0)
        return -1;
    if (d->best && kc_tasks_set_best (self->tasks, at->ord, d->best, err) < 0)
        return -1;
    return 0;
}

static int s_add_events (kc_steps_t *self, const kc_memory_step_append_t *in,
                         const s_place_t *at, const kc_when_t *when, kc_err_t *err)
{
    kc_buf_t text = {0};
    kc_event_text_step (&text, in, at->summary);
    kc_event_add_t event = {.ord = at->ord,
                            .kind = KC_MEMORY_EVENT_KIND_STEP,
                            .has_place = true,
                            .round = in->round,
                            .lane = in->lane,
                            .step = in->step,
                            .text = kc_buf_str (&text)};
    int rc = kc_events_add (self->events, &event, when, err);
    if (rc == 0 && in->doc->best) {
        kc_buf_clear (&text);
        kc_event_text_best (&text, in->doc->best);
        event.kind = KC_MEMORY_EVENT_KIND_BEST;
        event.text = kc_buf_str (&text);
        rc = kc_events_add (self->events, &event, when, err);
    }
    kc_buf_free (&text);
    return rc;
}

// ---- append ----

static int s_write (kc_steps_t *self, const kc_memory_step_append_t *in, int64_t ord,
                    int64_t seq, const char *json, const char *digest,
                    const kc_when_t *when, kc_err_t *err)
{
    s_place_t at = {.ord = ord, .seq = seq};
    char *summary = NULL, *method = NULL, *parent = NULL;
    int rc = -1;
    if (in->doc->verdict) {
        sqlite3_stmt *q =
            kc_db_query (self->db, err, SQL_CANDIDATE, "iii", ord, in->round, in->lane);
        int row = q ? kc_db_step (self->db, q, err) : -1;
        if (row < 0)
            return -1;
        if (row > 0) {
            at.summary = summary = kc_db_dup (q, 0);
            at.method = method = kc_db_dup (q, 1);
            at.parent = parent = kc_db_dup (q, 2);
            kc_db_done (q);
        }
    }
    if (kc_db_run (self->db, err, SQL_ADD, "iiiissfss", ord, seq, in->round, in->lane,
                   kc_memory_step_kind_name (in->step), digest, in->doc->seconds,
                   when->at, json)
            >= 0
        && kc_db_run (self->db, err, SQL_COUNT, "iiifs", ord, seq, in->round,
                      in->doc->seconds, when->at)
               >= 0
        && s_add_parts (self, in, &at, when, err) == 0
        && s_add_events (self, in, &at, when, err) == 0)
        rc = 0;
    free (summary);
    free (method);
    free (parent);
    return rc;
}

// 1 the same step is there (its number in *seq_p), 0 none, -1 another content or a
// failure.
static int s_look (kc_steps_t *self, const kc_memory_step_append_t *in, int64_t ord,
                   const char *digest, int64_t *seq_p, kc_err_t *err)
{
    sqlite3_stmt *q = kc_db_query (self->db, err, SQL_SAME, "iiis", ord, in->round,
                                   in->lane, kc_memory_step_kind_name (in->step));
    int rc = q ? kc_db_step (self->db, q, err) : -1;
    if (rc <= 0)
        return rc;
    *seq_p = sqlite3_column_int64 (q, 0);
    bool same = strcmp (kc_db_text (q, 1), digest) == 0;
    kc_db_done (q);
    if (!same)
        return kc_fail (err, KC_ECONFLICT,
                        "task %s round %lld lane %lld: step %s is stored with another "
                        "content; read "
                        "the trajectory and go on from there",
                        in->task, (long long)in->round, (long long)in->lane,
                        kc_memory_step_kind_name (in->step));
    return 1;
}

static int s_append (kc_steps_t *self, const kc_memory_step_append_t *in,
                     kc_memory_step_append_reply_t *out, const char *json,
                     const char *digest, const kc_when_t *when, kc_err_t *err)
{
    sqlite3_stmt *q = kc_db_query (self->db, err, SQL_TASK, "s", in->task);
    int rc = q ? kc_db_step (self->db, q, err) : -1;
    if (rc < 0)
        return -1;
    if (rc == 0)
        return kc_fail (err, KC_ENOTFOUND, "task %s is not known", in->task);
    int64_t ord = sqlite3_column_int64 (q, 0), epoch = sqlite3_column_int64 (q, 2);
    int64_t steps = sqlite3_column_int64 (q, 3);
    kc_memory_state_t state = kc_memory_state_parse (kc_db_text (q, 1));
    kc_db_done (q);
    if (epoch != in->epoch)
        return kc_fail (err, KC_ESTALE,
                        "task %s: epoch %lld is over, it is %lld now; drop the task",
                        in->task, (long long)in->epoch, (long long)epoch);
    rc = s_look (self, in, ord, digest, &out->seq, err);
    if (rc != 0) {
        out->repeated = rc > 0;
        return rc < 0 ? -1 : 0;
    }
    if (state != KC_MEMORY_STATE_RUNNING)
        return kc_fail (err, KC_ESTALE,
                        "task %s is %s, the lease is over; drop the task", in->task,
                        kc_memory_state_name (state));
    out->seq = steps + 1;
    return s_write (self, in, ord, out->seq, json, digest, when, err);
}

int kc_steps_append (kc_steps_t *self, const kc_memory_step_append_t *in,
                     const char *text, size_t size, kc_memory_step_append_reply_t *out,
                     const kc_when_t *when, kc_err_t *err)
{
    if (s_check_doc (in, err) < 0)
        return -1;
    kc_errs_t errs = {0};
    char *json = text
                     ? kc_strndup (text, size)
                     : kc_type_encode (&kc_memory_step_doc_type, in->doc, &size, &errs);
    if (!json)
        return kc_errs_fail (&errs, err);
    int rc = -1;
    if (size > KC_STEP_DOC_MAX)
        kc_fail (err, KC_EINVALID, "/doc: %zu bytes are more than %d", size,
                 KC_STEP_DOC_MAX);
    else {
        char digest[KC_SHA_HEX];
        kc_sha256_hex (json, size, digest);
        rc = s_append (self, in, out, json, digest, when, err);
    }
    free (json);
    return rc;
}

// ---- reading ----

// Without program sources, compiler logs and raw counters; caller frees.
static char *s_brief (const char *json, size_t size, kc_err_t *err)
{
    kc_errs_t errs = {0};
    kc_memory_step_doc_t *d = kc_memory_step_doc_decode (json, size, KC_WIRE, &errs);
    if (!d) {
        kc_errs_fail (&errs, err);
        kc_fail_in (err, "a stored step");
        return NULL;
    }
    if (d->candidate)
        kc_set (&d->candidate->program->source, S_LEFT_OUT);
    if (d->card && d->card->seed)
        kc_set (&d->card->seed->source, S_LEFT_OUT);
    if (d->verdict)
        kc_set (&d->verdict->log, NULL);
    if (d->evidence) {
        for (size_t i = 0; i < d->evidence->n_raw; i++)
            kc_type_clear (&kc_evidence_raw_type, &d->evidence->raw[i]);
        d->evidence->n_raw = 0;
    }
    char *text = kc_type_encode (&kc_memory_step_doc_type, d, NULL, &errs);
    if (!text)
        kc_errs_fail (&errs, err);
    kc_memory_step_doc_free (&d);
    return text;
}

static int s_put_row (sqlite3_stmt *q, bool brief, kc_buf_t *out, kc_err_t *err)
{
    const char *doc = kc_db_text (q, 5);
    char *cut = NULL;
    if (brief && !(cut = s_brief (doc, strlen (doc), err)))
        return -1;
    kc_buf_printf (out, "{\"at\":\"%s\",\"doc\":", kc_db_text (q, 4));
    kc_buf_puts (out, cut ? cut : doc);
    kc_buf_printf (out, ",\"lane\":%lld,\"round\":%lld,\"seq\":%lld,\"step\":\"%s\"}",
                   (long long)sqlite3_column_int64 (q, 2),
                   (long long)sqlite3_column_int64 (q, 1),
                   (long long)sqlite3_column_int64 (q, 0), kc_db_text (q, 3));
    free (cut);
    return 0;
}

int kc_steps_get (kc_steps_t *self, const kc_memory_trajectory_get_t *in, kc_buf_t *out,
                  kc_err_t *err)
{
    char *task = kc_tasks_resolve (self->tasks, in->task, err);
    if (!task)
        return -1;
    int64_t ord = kc_tasks_ord (self->tasks, task, err);
    free (task);
    sqlite3_stmt *q = ord > 0 ? kc_db_query (self->db, err, SQL_READ, "iii", ord,
                                             in->after, in->limit + 1)
                              : NULL;
    if (!q)
        return -1;
    kc_buf_t rows = {0}, row = {0};
    int64_t n = 0;
    bool more = false;
    int rc = 0;
    while (!more && (rc = kc_db_step (self->db, q, err)) > 0) {
        kc_buf_clear (&row);
        more = n == in->limit;
        if (!more && (rc = s_put_row (q, in->brief, &row, err)) < 0)
            break;
        more = more || rows.size + row.size + 64 > KC_STEPS_ANSWER_MAX;
        if (!more) {
            kc_buf_puts (&rows, n++ ? "," : "");
            kc_buf_put (&rows, row.data, row.size);
        }
    }
    kc_db_done (q);
    kc_buf_printf (out, "{\"more\":%s,\"steps\":[", more ? "true" : "false");
    kc_buf_put (out, rows.data, rows.size);
    kc_buf_puts (out, "]}");
    kc_buf_free (&rows);
    kc_buf_free (&row);
    return rc < 0 ? -1 : 0;
}

int kc_steps_failed (kc_steps_t *self, const char *task, const char *base,
                     kc_map_t *failed, kc_err_t *err)
{
    sqlite3_stmt *q = kc_db_query (self->db, err, SQL_FAILED, "ss", task, base);
    int rc = q ? 0 : -1;
    while (q && (rc = kc_db_step (self->db, q, err)) > 0)
        kc_map_put (failed, kc_db_text (q, 0), self);
    return rc;
}
