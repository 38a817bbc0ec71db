// kc_service.c - see kc_service.h for the rules this class keeps

#include "memory/service/kc_service.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "common/util/kc_clock.h"
#include "common/util/kc_log.h"
#include "common/util/kc_mem.h"
#include "memory/service/kc_ops.h"

typedef struct s_request {
    kc_service_request_t r;
    const kc_ops_row_t *op;
    void *in;           // decoded at the first run
    int64_t park_until; // 0 = has not waited yet
    bool last;          // must be answered by the next run
    int64_t ord;        // of the task an events.read is about; 0 = all
    TAILQ_ENTRY (s_request) link;
} s_request_t;

TAILQ_HEAD (s_list, s_request);

typedef struct s_answer { // waits for the commit
    s_request_t *request;
    char *payload; // NULL = refused
    size_t payload_size;
    kc_buf_t chunk;
    kc_err_t err;
} s_answer_t;

typedef struct s_counts {
    int64_t requests, refused, batches, largest, commit_ns;
} s_counts_t;

struct kc_service {
    kc_store_t *store;
    kc_service_out_t out;
    struct s_list queue, parked;
    size_t n_queue, n_parked;
    bool stopping; // nothing waits any more
    bool broken;
    kc_when_t when;
    int64_t last_tick, last_work, last_minute, next_sweep;
    bool moved;          // written since the last checkpoint
    s_answer_t *answers; // of the present batch
    size_t n_answers;
    kc_backup_t *backup;
    s_request_t *backup_request;
    s_counts_t counts;
};

static const char *const s_ops[] = {
    "memory.task.create",    "memory.task.get",
    "memory.task.list",      "memory.task.cancel",
    "memory.task.lease",     "memory.task.renew",
    "memory.task.finish",    "memory.step.append",
    "memory.trajectory.get", "memory.events.read",
    "memory.method.match",   "memory.method.list",
    "memory.method.show",    "memory.method.put",
    "memory.verdict.lookup", "memory.llm.begin",
    "memory.llm.end",        "memory.blob.put",
    "memory.blob.get",       "memory.stats",
    "memory.backup",         NULL,
};

const char *const *kc_service_ops (void)
{
    return s_ops;
}

// ---- requests ----

static void s_free_request (s_request_t *q)
{
    if (q->in)
        kc_type_free (q->op->in, q->in);
    free (q);
}

static void s_refuse (kc_service_t *self, s_request_t *q, const kc_err_t *err)
{
    self->counts.refused++;
    self->out.refuse (self->out.arg, q->r.id, err,
                      err->code == KC_EBUSY ? KC_SERVICE_RETRY_MS : 0);
    s_free_request (q);
}

static void s_enqueue (kc_service_t *self, s_request_t *q)
{
    TAILQ_INSERT_TAIL (&self->queue, q, link);
    self->n_queue++;
}

static s_request_t *s_dequeue (kc_service_t *self)
{
    s_request_t *q = TAILQ_FIRST (&self->queue);
    if (q) {
        TAILQ_REMOVE (&self->queue, q, link);
        self->n_queue--;
    }
    return q;
}

static void s_unpark (kc_service_t *self, s_request_t *q)
{
    TAILQ_REMOVE (&self->parked, q, link);
    self->n_parked--;
    s_enqueue (self, q);
}

kc_service_t *kc_service_new (kc_store_t *store, const kc_service_out_t *out,
                              int64_t now)
{
    kc_service_t *self = kc_calloc (1, sizeof *self);
    self->store = store;
    self->out = *out;
    TAILQ_INIT (&self->queue);
    TAILQ_INIT (&self->parked);
    self->answers = kc_calloc (KC_SERVICE_BATCH, sizeof *self->answers);
    self->last_tick = self->last_work = self->last_minute = now;
    self->next_sweep = now + KC_SERVICE_IDLE_MS;
    return self;
}

void kc_service_destroy (kc_service_t **self_p)
{
    kc_service_t *self = *self_p;
    if (!self)
        return;
    s_request_t *q;
    while ((q = s_dequeue (self)) != NULL)
        s_free_request (q);
    while ((q = TAILQ_FIRST (&self->parked)) != NULL) {
        TAILQ_REMOVE (&self->parked, q, link);
        s_free_request (q);
    }
    if (self->backup_request)
        s_free_request (self->backup_request);
    kc_backup_destroy (&self->backup);
    free (self->answers);
    free (self);
    *self_p = NULL;
}

void kc_service_submit (kc_service_t *self, const kc_service_request_t *request)
{
    if (self->broken)
        return;
    s_request_t *q = kc_calloc (1, sizeof *q);
    q->r = *request;
    q->op = kc_ops_find (request->op);
    kc_err_t err = {0};
    if (!q->op)
        kc_fail (&err, KC_EUNSUPPORTED, "the memory service has no operation %.64s",
                 request->op);
    else if (!q->op->run)
        kc_fail (
            &err, KC_EUNSUPPORTED,
            "%s: model calls are not kept by this version; run without an LLM provider",
            request->op);
    else if (self->n_queue >= KC_SERVICE_QUEUE)
        kc_fail (&err, KC_EBUSY, "%d requests wait already", KC_SERVICE_QUEUE);
    if (err.code != KC_OK)
        s_refuse (self, q, &err);
    else
        s_enqueue (self, q);
}

void kc_service_cancel (kc_service_t *self, const char *id)
{
    kc_err_t err = {0};
    kc_fail (&err, KC_ECANCELLED, "the request was given up");
    struct s_list *lists[] = {&self->queue, &self->parked};
    for (int i = 0; i < 2; i++) {
        s_request_t *q;
        TAILQ_FOREACH (q, lists[i], link)
        if (strcmp (q->r.id, id) == 0) {
            TAILQ_REMOVE (lists[i], q, link);
            *(i == 0 ? &self->n_queue : &self->n_parked) -= 1;
            s_refuse (self, q, &err);
            return;
        }
    }
    if (self->backup_request && strcmp (self->backup_request->r.id, id) == 0) {
        kc_backup_destroy (&self->backup);
        s_refuse (self, self->backup_request, &err);
        self->backup_request = NULL;
    }
}

size_t kc_service_queued (const kc_service_t *self)
{
    return self->n_queue;
}

size_t kc_service_parked (const kc_service_t *self)
{
    return self->n_parked;
}

// ---- one request inside a batch ----

static int s_decode (s_request_t *q, kc_err_t *err)
{
    if (q->in)
        return 0;
    kc_errs_t errs = {0};
    q->in = kc_type_decode (q->op->in, q->r.payload, q->r.payload_size, KC_WIRE, &errs);
    if (!q->in) {
        kc_errs_fail (&errs, err);
        return kc_fail_in (err, "%s", q->op->op);
    }
    return 0;
}

static void s_add_stats (const kc_service_t *self, kc_memory_stats_reply_t *out)
{
    const s_counts_t *c = &self->counts;
    kc_store_stat (out, "requests", (double)c->requests);
    kc_store_stat (out, "refused", (double)c->refused);
    kc_store_stat (out, "batches", (double)c->batches);
    kc_store_stat (out, "batch_largest", (double)c->largest);
    kc_store_stat (out, "commit_ms_mean",
                   c->batches ? (double)c->commit_ns / 1e6 / (double)c->batches : 0);
    kc_store_stat (out, "queued", (double)self->n_queue);
    kc_store_stat (out, "waiting", (double)self->n_parked);
}

static void s_take_answer (kc_service_t *self, s_request_t *q, kc_ops_call_t *call,
                           const void *reply, kc_err_t *err)
{
    s_answer_t *a = &self->answers[self->n_answers++];
    *a = (s_answer_t){.request = q};
    if (call->raw.size > 0) {
        a->payload_size = call->raw.size;
        a->payload = kc_buf_take (&call->raw);
    }
    else if (err->code == KC_OK) {
        kc_errs_t errs = {0};
        a->payload = kc_type_encode (q->op->out, reply, &a->payload_size, &errs);
        if (!a->payload)
            kc_errs_fail (&errs, err);
    }
    if (a->payload && a->payload_size > KC_SERVICE_ANSWER) {
        kc_fail (err, KC_EINVALID,
                 "the answer has %zu bytes, more than %d; ask for less",
                 a->payload_size, KC_SERVICE_ANSWER);
        free (a->payload);
        a->payload = NULL;
    }
    a->chunk = call->chunk_out;
    call->chunk_out = (kc_buf_t){0};
    a->err = *err;
}

static void s_park (kc_service_t *self, s_request_t *q, int64_t wait_ms)
{
    if (q->park_until == 0)
        q->park_until = self->when.now + wait_ms;
    TAILQ_INSERT_TAIL (&self->parked, q, link);
    self->n_parked++;
}

// Park when there is room, else 'busy'; the request is undone either way by its caller.
static bool s_may_park (kc_service_t *self, const s_request_t *q)
{
    return !self->stopping && !q->last
           && (q->park_until == 0 || q->park_until > self->when.now);
}

// Run one request between mark and keep/undo.  -1 only when the store failed.
static int s_run (kc_service_t *self, s_request_t *q, kc_err_t *err)
{
    kc_err_t refusal = {0};
    kc_ops_call_t call = {.store = self->store,
                          .when = &self->when,
                          .id = q->r.id,
                          .payload = q->r.payload,
                          .payload_size = q->r.payload_size,
                          .chunk = q->r.chunk,
                          .chunk_size = q->r.chunk_size,
                          .may_park = s_may_park (self, q)};
    void *reply = kc_type_new (q->op->out);
    self->counts.requests += q->park_until == 0;
    kc_ops_result_t result = KC_OPS_REFUSED;
    int rc = kc_store_mark (self->store, err);
    if (rc == 0 && s_decode (q, &refusal) == 0)
        result = q->op->run (&call, q->in, reply, &refusal);
    if (rc == 0 && result == KC_OPS_DONE && q->op->out == &kc_memory_stats_reply_type)
        s_add_stats (self, reply);
    if (rc == 0)
        rc = result == KC_OPS_REFUSED ? kc_store_undo (self->store, err)
                                      : kc_store_keep (self->store, err);
    if (rc == 0 && result == KC_OPS_PARK && self->n_parked >= KC_SERVICE_PARKED) {
        kc_fail (&refusal, KC_EBUSY, "%d requests wait for events already",
                 KC_SERVICE_PARKED);
        result = KC_OPS_REFUSED;
    }
    if (rc == 0 && result == KC_OPS_PARK) {
        if (q->op->in == &kc_memory_events_read_type) {
            const kc_memory_events_read_t *read = q->in;
            q->ord =
                read->task ? kc_tasks_ord (self->store->tasks, read->task, NULL) : 0;
        }
        s_park (self, q, call.wait_ms);
    }
    else if (rc == 0 && result == KC_OPS_BACKUP)
        s_park (self, q, 0);
    else
        s_take_answer (self, q, &call, reply, &refusal);
    kc_type_free (q->op->out, reply);
    kc_buf_free (&call.raw);
    kc_buf_free (&call.chunk_out);
    // A refusal that came from a broken store is no answer.
    return rc < 0 || kc_store_broken (self->store, err) ? -1 : 0;
}

// ---- batches ----

static void s_drop_answers (kc_service_t *self)
{
    for (size_t i = 0; i < self->n_answers; i++) {
        s_free_request (self->answers[i].request);
        free (self->answers[i].payload);
        kc_buf_free (&self->answers[i].chunk);
    }
    self->n_answers = 0;
}

static void s_break (kc_service_t *self, const kc_err_t *err)
{
    if (self->broken)
        return;
    self->broken = true;
    s_drop_answers (self);
    kc_log (KC_ERROR, "memory.broken", "text", "s", err->text, NULL);
    self->out.broken (self->out.arg, err);
}

static void s_send_answers (kc_service_t *self)
{
    for (size_t i = 0; i < self->n_answers; i++) {
        s_answer_t *a = &self->answers[i];
        if (a->payload) {
            self->out.reply (self->out.arg, a->request->r.id, a->payload,
                             a->payload_size, a->chunk.size ? a->chunk.data : NULL,
                             a->chunk.size);
            s_free_request (a->request);
        }
        else
            s_refuse (self, a->request, &a->err);
        free (a->payload);
        kc_buf_free (&a->chunk);
    }
    self->n_answers = 0;
}

// What waits and may be served now goes back into the queue.
static void s_wake (kc_service_t *self)
{
    bool tasks = kc_tasks_woke (self->store->tasks);
    s_request_t *q, *next;
    for (q = TAILQ_FIRST (&self->parked); q; q = next) {
        next = TAILQ_NEXT (q, link);
        if (q->op->in == &kc_memory_task_lease_type
                ? tasks
                : q->op->in == &kc_memory_events_read_type
                      && kc_events_concern (self->store->events, q->ord, q->in))
            s_unpark (self, q);
    }
    kc_events_settle (self->store->events);
}

static int s_batch (kc_service_t *self, kc_err_t *err)
{
    size_t bytes = 0, count = 0;
    if (kc_store_begin (self->store, err) < 0)
        return -1;
    s_request_t *q;
    while (count < KC_SERVICE_BATCH && bytes < KC_SERVICE_BATCH_BYTES
           && (q = s_dequeue (self)) != NULL) {
        size_t before = self->n_answers;
        bytes += q->r.payload_size + q->r.chunk_size;
        if (s_run (self, q, err) < 0)
            return -1;
        if (self->n_answers > before)
            bytes +=
                self->answers[before].payload_size + self->answers[before].chunk.size;
        count++;
    }
    int64_t start = kc_clock_ns ();
    if (kc_store_commit (self->store, err) < 0)
        return -1;
    self->counts.commit_ns += kc_clock_ns () - start;
    self->counts.batches++;
    if ((int64_t)count > self->counts.largest)
        self->counts.largest = (int64_t)count;
    return 0;
}

static void s_time (kc_service_t *self, int64_t now)
{
    self->when.now = now;
    kc_clock_iso (kc_clock_wall_ms (), self->when.at);
}

static void s_begin_backup (kc_service_t *self);

bool kc_service_work (kc_service_t *self, int64_t now)
{
    if (self->broken || self->n_queue == 0)
        return false;
    s_time (self, now);
    kc_err_t err = {0};
    if (s_batch (self, &err) < 0) {
        s_break (self, &err);
        return false;
    }
    self->last_work = now;
    self->moved = true;
    s_send_answers (self);
    s_wake (self);
    s_begin_backup (self);
    return self->n_queue > 0;
}

// ---- backup ----

static void s_begin_backup (kc_service_t *self)
{
    s_request_t *q, *next;
    for (q = TAILQ_FIRST (&self->parked); q; q = next) {
        next = TAILQ_NEXT (q, link);
        if (q->op->in != &kc_memory_backup_type)
            continue;
        TAILQ_REMOVE (&self->parked, q, link);
        self->n_parked--;
        kc_err_t err = {0};
        const kc_memory_backup_t *in = q->in;
        if (self->backup_request)
            kc_fail (&err, KC_EBUSY, "a backup is being made already");
        else
            self->backup = kc_backup_new (self->store->db, in->path, &err);
        if (err.code != KC_OK)
            s_refuse (self, q, &err);
        else
            self->backup_request = q;
    }
}

static void s_go_on_with_backup (kc_service_t *self)
{
    if (!self->backup)
        return;
    kc_err_t err = {0};
    int rc = kc_backup_step (self->backup, &err);
    if (rc == 0)
        return;
    s_request_t *q = self->backup_request;
    self->backup_request = NULL;
    if (rc > 0) {
        kc_memory_backup_reply_t reply = {.bytes = kc_backup_bytes (self->backup),
                                          .pages = kc_backup_pages (self->backup)};
        size_t size = 0;
        char *json = kc_memory_backup_reply_encode (&reply, &size);
        self->out.reply (self->out.arg, q->r.id, json, size, NULL, 0);
        free (json);
        s_free_request (q);
    }
    else
        s_refuse (self, q, &err);
    kc_backup_destroy (&self->backup);
}

// ---- time ----

static int s_expire_leases (kc_service_t *self, kc_err_t *err)
{
    if (!kc_tasks_any_over (self->store->tasks, self->when.now))
        return 0;
    if (kc_store_begin (self->store, err) < 0)
        return -1;
    if (kc_tasks_expire (self->store->tasks, &self->when, err) < 0)
        return -1;
    return kc_store_commit (self->store, err);
}

static int s_count_minutes (kc_service_t *self, kc_err_t *err)
{
    int64_t minutes = (self->when.now - self->last_minute) / 60000;
    if (minutes == 0)
        return 0;
    self->last_minute += minutes * 60000;
    return kc_blobs_minute (self->store->blobs, minutes, err);
}

static int s_housekeeping (kc_service_t *self, kc_err_t *err)
{
    if (self->when.now >= self->next_sweep) {
        int more = kc_store_sweep (self->store, err);
        if (more < 0)
            return -1;
        self->next_sweep = self->when.now + (more ? 0 : KC_SERVICE_SWEEP_MS);
    }
    if (self->moved && self->when.now - self->last_work >= KC_SERVICE_IDLE_MS) {
        kc_db_checkpoint (self->store->db);
        self->moved = false;
    }
    return 0;
}

void kc_service_tick (kc_service_t *self, int64_t now)
{
    if (self->broken)
        return;
    s_time (self, now);
    kc_err_t err = {0};
    // A process that was stopped cannot know whether renewals wait in its socket: be
    // generous.
    int64_t late = now - self->last_tick;
    if (late > KC_SERVICE_LATE_MS)
        kc_tasks_extend (self->store->tasks, late);
    self->last_tick = now;
    if (s_expire_leases (self, &err) < 0 || s_count_minutes (self, &err) < 0
        || s_housekeeping (self, &err) < 0) {
        s_break (self, &err);
        return;
    }
    s_wake (self);
    s_request_t *q, *next;
    for (q = TAILQ_FIRST (&self->parked); q; q = next) {
        next = TAILQ_NEXT (q, link);
        if (q->park_until <= now && q->op->in != &kc_memory_backup_type) {
            q->last = true;
            s_unpark (self, q);
        }
    }
    s_go_on_with_backup (self);
}

void kc_service_stop_waiting (kc_service_t *self, int64_t now)
{
    self->stopping = true;
    s_request_t *q;
    while ((q = TAILQ_FIRST (&self->parked)) != NULL) {
        q->last = true;
        s_unpark (self, q);
    }
    while (kc_service_work (self, now))
        ;
}
