// kc_drive.c - see kc_drive.h.  Requests are built in kc_ask.c; this file keeps the order of things:
// one job per action, job = request(s) -> append -> fold -> ask the policy again.

#include "agents/planner/kc_drive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agents/planner/kc_ask.h"
#include "agents/planner/kc_policy.h"
#include "common/util/kc_log.h"
#include "common/util/kc_mem.h"

enum {
    RENEW_MS = 5000,
    RETRIES = 2,               // of a request whose worker or runner was lost or that ran into its time limit
    RETRY_MS = 500,
    MEMORY_TTL_MS = 60000,
    ID_SIZE = 128,
};

typedef enum stage { STAGE_PROBE = 1, STAGE_LOOKUP, STAGE_ASK, STAGE_APPEND } stage_t;

typedef struct job {
    kc_drive_t *drive;
    kc_action_t action;
    stage_t stage;
    int attempt;
    int64_t started; // of the first request
    int64_t timer;   // of a retry
    char id[ID_SIZE];    // of the open call, "" = none
    char asked[ID_SIZE]; // of the call that was answered last
    kc_memory_step_doc_t *doc; // being stored
    char *payload;             // of the append, kept for its retries
    size_t payload_size;
    bool dead; // the drive let go of it; free it when its call answers
} job_t;

// A call that may be answered after the drive is gone; then 'drive' is NULL.
typedef struct side_call {
    kc_drive_t *drive;
    struct side_call **slot; // the drive's pointer to this
    void (*then) (kc_drive_t *drive, const kc_answer_t *answer);
} side_call_t;

struct kc_drive {
    kc_loop_t *loop;
    kc_node_t *node;
    char *task;
    int64_t epoch;
    kc_task_t *document;
    kc_task_budget_t budget;
    kc_trail_t *trail;
    int64_t after; // last step number loaded
    job_t *jobs[KC_POLICY_ACTIONS_MAX + 1];
    bool loading, ended;
    side_call_t *load, *renew; // open calls beside the jobs
    int64_t renew_timer, end_timer;
    kc_drive_end_f *on_end;
    void *arg;
};

static void s_advance (kc_drive_t *self);
static void s_job_run (job_t *job);

// ---- ending ----

static void s_job_free (job_t *job)
{
    kc_actions_clear (&job->action, 1);
    kc_memory_step_doc_free (&job->doc);
    free (job->payload);
    free (job);
}

// Let go of a job.  A call that is open still answers once; then the job is freed.
static void s_job_drop (kc_drive_t *self, job_t *job, bool cancel)
{
    for (size_t i = 0; i < KC_COUNT (self->jobs); i++)
        if (self->jobs[i] == job)
            self->jobs[i] = NULL;
    kc_loop_timer_del (self->loop, job->timer);
    if (job->id[0]) {
        job->dead = true;
        if (cancel)
            kc_node_cancel (self->node, job->id);
    }
    else
        s_job_free (job);
}

static void s_end_later (kc_loop_t *loop, int64_t timer, void *arg)
{
    (void)loop;
    (void)timer;
    kc_drive_t *self = arg;
    self->end_timer = 0;
    self->on_end (self->arg, self);
}

// on_end comes from the loop, never from inside a call of the owner.
static void s_end (kc_drive_t *self, const char *event, const char *why)
{
    if (self->ended)
        return;
    self->ended = true;
    kc_log (KC_INFO, event, "task", "s", self->task, "why", "s", why, NULL);
    for (size_t i = 0; i < KC_COUNT (self->jobs); i++)
        if (self->jobs[i])
            s_job_drop (self, self->jobs[i], true);
    kc_loop_timer_del (self->loop, self->renew_timer);
    self->renew_timer = 0;
    if (self->load)
        self->load->drive = NULL;
    if (self->renew)
        self->renew->drive = NULL;
    self->load = self->renew = NULL;
    self->end_timer = kc_loop_timer_add (self->loop, 0, 0, s_end_later, self);
}

void kc_drive_abandon (kc_drive_t *self, const char *why)
{
    s_end (self, "task.abandoned", why);
}

const char *kc_drive_task (const kc_drive_t *self)
{
    return self->task;
}

// ---- jobs ----

static bool s_transient (kc_code_t code)
{
    return code == KC_ELOST || code == KC_ETIMEOUT || code == KC_EBUSY || code == KC_EUNREACHABLE;
}

// The machine's fault, not the program's: a runner was killed or could not start.  Once more may help.
static bool s_infrastructure (const kc_memory_step_doc_t *doc)
{
    return doc && doc->verdict && doc->verdict->status == KC_VERDICT_STATUS_INFRA_ERROR;
}

static void s_job_retry (kc_loop_t *loop, int64_t timer, void *arg)
{
    (void)loop;
    (void)timer;
    job_t *job = arg;
    job->timer = 0;
    s_job_run (job);
}

static void s_append (job_t *job)
{
    kc_drive_t *self = job->drive;
    job->stage = STAGE_APPEND;
    job->attempt = 0;
    job->doc->seconds = (double)(kc_loop_now (self->loop) - job->started) / 1000.0;
    kc_err_t err = {0};
    job->payload = kc_ask_append (self->task, self->epoch, &job->action, job->doc, &job->payload_size, &err);
    if (!job->payload) { // our own defect: say so instead of asking for the same again and again
        kc_log (KC_ERROR, "step.unstorable", "task", "s", self->task, "text", "s", err.text, NULL);
        s_end (self, "task.dropped", err.text);
        return;
    }
    s_job_run (job);
}

// The verdict of an evaluate step decides whether this is the best so far.
static void s_mark_best (kc_drive_t *self, job_t *job)
{
    const kc_verdict_t *v = job->doc->verdict;
    if (job->action.kind != KC_DO_EVALUATE || !v || v->status != KC_VERDICT_STATUS_OK)
        return;
    const kc_try_t *base = kc_trail_base (self->trail);
    if (base && (!kc_verdict_faster (v)
                 || (base->round == job->action.round // another lane of this round won by more
                     && kc_verdict_speedup (base->verdict, KC_VERDICT_RATIO_OVER_BASE)
                            >= kc_verdict_speedup (v, KC_VERDICT_RATIO_OVER_BASE))))
        return;
    const kc_try_t *t = kc_trail_try (self->trail, job->action.round, job->action.lane);
    job->doc->best = kc_ask_best (t, v);
}

static void s_product (job_t *job, kc_memory_step_doc_t *doc, const kc_answer_t *answer)
{
    job->doc = doc;
    kc_set (&doc->request, job->asked[0] ? job->asked : NULL);
    kc_set (&doc->worker, answer && answer->from[0] ? answer->from : NULL);
    s_mark_best (job->drive, job);
    s_append (job);
}

static void s_outcome (job_t *job, const kc_answer_t *answer)
{
    kc_memory_step_doc_t *doc = kc_memory_step_doc_new ();
    doc->error = kc_memory_outcome_new ();
    kc_set (&doc->error->code, kc_code_name (answer->code));
    doc->error->text = kc_utf8_clean (answer->text, strlen (answer->text), 1000);
    s_product (job, doc, answer);
}

static void s_stored (job_t *job)
{
    kc_drive_t *self = job->drive;
    kc_memory_step_doc_t *doc = job->doc;
    job->doc = NULL;
    kc_trail_add (self->trail, job->action.round, job->action.lane, kc_ask_step_kind (job->action.kind), doc);
    s_job_drop (self, job, false);
    s_advance (self);
}

static void s_finished (job_t *job)
{
    s_end (job->drive, "task.finished", job->action.reason);
}

static void s_again (job_t *job)
{
    job->attempt++;
    job->timer = kc_loop_timer_add (job->drive->loop, RETRY_MS << (job->attempt < 6 ? job->attempt : 6), 0, s_job_retry, job);
}

// Where an answer leads, by stage.  Ending the drive frees the job: nothing may follow it.
static void s_answered (job_t *job, const kc_answer_t *answer)
{
    kc_drive_t *self = job->drive;
    if (answer->code == KC_ESTALE || answer->code == KC_ESTATE) { // someone else drives it, or it was cancelled
        s_end (self, "lease.lost", answer->text);
        return;
    }
    if (answer->code == KC_EINTERRUPTED || answer->code == KC_ECANCELLED) {
        s_end (self, "task.released", answer->text);
        return;
    }
    bool memory = job->stage == STAGE_APPEND || job->stage == STAGE_LOOKUP || job->action.kind == KC_DO_FINISH;
    if ((s_transient (answer->code) && (memory || job->attempt < RETRIES))
        || (answer->code == KC_EIO && !memory && job->attempt < RETRIES)) {
        s_again (job);
        return;
    }
    switch (job->stage) {
    case STAGE_APPEND:
        if (answer->code == KC_OK)
            s_stored (job);
        else
            s_end (self, "step.refused", answer->text);
        return;
    case STAGE_PROBE: {
        kc_memory_step_doc_t *doc = NULL;
        if (answer->code != KC_OK)
            break;
        char key[KC_SHA_HEX];
        doc = kc_ask_probed (answer, key); // a program that does not compile needs no further request
        if (s_infrastructure (doc) && job->attempt < RETRIES) {
            kc_memory_step_doc_free (&doc);
            s_again (job);
            return;
        }
        if (doc) {
            s_product (job, doc, answer);
            return;
        }
        job->stage = key[0] ? STAGE_LOOKUP : STAGE_ASK;
        job->attempt = 0;
        kc_set (&job->payload, key);
        s_job_run (job);
        return;
    }
    case STAGE_LOOKUP: {
        kc_memory_step_doc_t *doc = answer->code == KC_OK ? kc_ask_looked_up (answer) : NULL;
        free (job->payload);
        job->payload = NULL;
        if (doc) {
            s_product (job, doc, NULL);
            return;
        }
        job->stage = STAGE_ASK;
        job->attempt = 0;
        s_job_run (job);
        return;
    }
    case STAGE_ASK:
        break;
    }
    if (answer->code != KC_OK) {
        if (job->action.kind == KC_DO_FINISH)
            s_end (self, "finish.refused", answer->text);
        else
            s_outcome (job, answer);
        return;
    }
    if (job->action.kind == KC_DO_FINISH) {
        s_finished (job);
        return;
    }
    kc_err_t err = {0};
    kc_memory_step_doc_t *doc = kc_ask_product (job->action.kind, answer, &err);
    if (!doc) {
        kc_answer_t bad = *answer;
        bad.code = err.code;
        bad.text = err.text;
        s_outcome (job, &bad);
        return;
    }
    if (s_infrastructure (doc) && job->attempt < RETRIES) {
        kc_memory_step_doc_free (&doc);
        s_again (job);
        return;
    }
    s_product (job, doc, answer);
}

static void s_on_answer (void *arg, kc_node_t *node, const kc_answer_t *answer)
{
    (void)node;
    job_t *job = arg;
    if (job->dead) {
        s_job_free (job);
        return;
    }
    memcpy (job->asked, job->id, sizeof job->asked);
    job->id[0] = 0;
    s_answered (job, answer);
}

static void s_call (job_t *job, const char *op, const char *need, int64_t ttl_ms, const char *payload, size_t size)
{
    kc_drive_t *self = job->drive;
    kc_call_t call = {.id = job->id, .op = op, .flow = self->task, .ttl_ms = ttl_ms, .need = need,
                      .payload = payload, .payload_size = size, .retry_busy = true};
    kc_err_t err = {0};
    if (kc_node_call (self->node, &call, s_on_answer, job, &err) == 0)
        return;
    kc_log (KC_WARN, "call.refused", "task", "s", self->task, "id", "s", job->id, "text", "s", err.text, NULL);
    job->id[0] = 0;
    job->timer = kc_loop_timer_add (self->loop, RETRY_MS, 0, s_job_retry, job);
}

// Send the request of the job's stage.
static void s_job_run (job_t *job)
{
    kc_drive_t *self = job->drive;
    const kc_action_t *a = &job->action;
    const char *step = kc_memory_step_kind_name (kc_ask_step_kind (a->kind));
    kc_err_t err = {0};
    kc_ask_t ask = {0};
    switch (job->stage) {
    case STAGE_APPEND:
        snprintf (job->id, sizeof job->id, "%s.%d.%d.%s.a%lld", self->task, a->round, a->lane, step, (long long)self->epoch);
        s_call (job, "memory.step.append", NULL, MEMORY_TTL_MS, job->payload, job->payload_size);
        return;
    case STAGE_LOOKUP: {
        size_t size = 0;
        char *payload = kc_ask_lookup (job->payload, &size);
        snprintf (job->id, sizeof job->id, "%s.%d.%d.lookup.%lld", self->task, a->round, a->lane, (long long)self->epoch);
        s_call (job, "memory.verdict.lookup", NULL, MEMORY_TTL_MS, payload, size);
        free (payload);
        return;
    }
    case STAGE_PROBE:
    case STAGE_ASK:
        break;
    }
    bool probe = job->stage == STAGE_PROBE;
    if (kc_ask_build (self->trail, self->task, self->epoch, self->document, a, probe, &ask, &err) < 0) {
        kc_log (KC_ERROR, "request.unbuildable", "task", "s", self->task, "step", "s", step, "text", "s", err.text, NULL);
        s_end (self, "task.dropped", err.text);
        return;
    }
    snprintf (job->id, sizeof job->id, "%s.%d.%d.%s.%d", self->task, a->round, a->lane,
              probe ? "probe" : a->kind == KC_DO_FINISH ? "finish" : step, job->attempt);
    s_call (job, ask.op, ask.need, ask.ttl_ms, ask.payload, ask.size);
    kc_ask_clear (&ask);
}

static bool s_has_job (const kc_drive_t *self, const kc_action_t *a)
{
    for (size_t i = 0; i < KC_COUNT (self->jobs); i++)
        if (self->jobs[i] && self->jobs[i]->action.round == a->round && self->jobs[i]->action.lane == a->lane)
            return true;
    return false;
}

static bool s_planning (const kc_drive_t *self)
{
    for (size_t i = 0; i < KC_COUNT (self->jobs); i++)
        if (self->jobs[i] && self->jobs[i]->action.kind == KC_DO_PLAN)
            return true;
    return false;
}

static void s_start_job (kc_drive_t *self, kc_action_t *a)
{
    job_t *job = kc_calloc (1, sizeof *job);
    job->drive = self;
    job->action = *a;
    a->plan = NULL; // taken
    job->started = kc_loop_now (self->loop);
    for (size_t i = 0; i < KC_COUNT (self->jobs); i++)
        if (!self->jobs[i]) {
            self->jobs[i] = job;
            break;
        }
    if (job->action.kind == KC_DO_PLAN) {
        kc_memory_step_doc_t *doc = kc_memory_step_doc_new ();
        doc->plan = job->action.plan;
        job->action.plan = NULL;
        s_product (job, doc, NULL);
        return;
    }
    // A right answer to the same question may be stored already; a final measurement is always fresh.
    job->stage = job->action.kind == KC_DO_EVALUATE ? STAGE_PROBE : STAGE_ASK;
    s_job_run (job);
}

static void s_advance (kc_drive_t *self)
{
    if (self->ended || self->loading || s_planning (self)) // a round's plans are stored together
        return;
    kc_action_t actions[KC_POLICY_ACTIONS_MAX];
    size_t n = kc_policy_next (self->trail, &self->budget, actions);
    for (size_t i = 0; i < n && !self->ended; i++)
        if (!s_has_job (self, &actions[i]))
            s_start_job (self, &actions[i]);
    kc_actions_clear (actions, n);
}

// ---- loading and the lease ----

static void s_side_answer (void *arg, kc_node_t *node, const kc_answer_t *answer)
{
    (void)node;
    side_call_t *call = arg;
    if (call->drive) {
        *call->slot = NULL;
        call->then (call->drive, answer);
    }
    free (call);
}

// Make a call of the drive itself; an answer always comes, at once in spirit when it was not accepted.
static int s_side_call (kc_drive_t *self, side_call_t **slot, const char *op, const char *payload, size_t size,
                        void (*then) (kc_drive_t *drive, const kc_answer_t *answer))
{
    side_call_t *call = kc_calloc (1, sizeof *call);
    *call = (side_call_t){.drive = self, .slot = slot, .then = then};
    kc_call_t c = {.op = op, .flow = self->task, .ttl_ms = MEMORY_TTL_MS, .payload = payload, .payload_size = size,
                   .retry_busy = true};
    kc_err_t err = {0};
    if (kc_node_call (self->node, &c, s_side_answer, call, &err) < 0) {
        free (call);
        kc_log (KC_WARN, "call.refused", "task", "s", self->task, "op", "s", op, "text", "s", err.text, NULL);
        return -1;
    }
    *slot = call;
    return 0;
}

static void s_renewed (kc_drive_t *self, const kc_answer_t *answer)
{
    // Anything but an answer of the lease's owner is the network's business and will be tried again.
    if (answer->code == KC_ESTALE || answer->code == KC_ESTATE || answer->code == KC_ENOTFOUND)
        s_end (self, "lease.lost", answer->text);
}

static void s_renew (kc_loop_t *loop, int64_t timer, void *arg)
{
    (void)loop;
    (void)timer;
    kc_drive_t *self = arg;
    if (self->renew)
        return;
    size_t size = 0;
    char *payload = kc_ask_renew (self->task, self->epoch, &size);
    s_side_call (self, &self->renew, "memory.task.renew", payload, size, s_renewed);
    free (payload);
}

static void s_load (kc_drive_t *self);

static void s_loaded (kc_drive_t *self, const kc_answer_t *answer)
{
    if (s_transient (answer->code)) {
        s_load (self);
        return;
    }
    kc_errs_t errs = {0};
    kc_memory_trajectory_get_reply_t *page = NULL;
    if (answer->code == KC_OK)
        page = kc_memory_trajectory_get_reply_decode (answer->payload, answer->payload_size, KC_WIRE, &errs);
    if (!page) {
        s_end (self, "trajectory.unreadable", answer->code == KC_OK ? errs.item[0].pointer : answer->text);
        return;
    }
    for (size_t i = 0; i < page->n_steps; i++) {
        kc_memory_step_row_t *row = &page->steps[i];
        self->after = row->seq;
        kc_trail_add (self->trail, (int)row->round, (int)row->lane, row->step, row->doc);
        row->doc = NULL; // taken
    }
    bool more = page->more;
    kc_memory_trajectory_get_reply_free (&page);
    if (more) {
        s_load (self);
        return;
    }
    self->loading = false;
    s_advance (self);
}

static void s_load (kc_drive_t *self)
{
    size_t size = 0;
    char *payload = kc_ask_trajectory (self->task, self->after, &size);
    if (s_side_call (self, &self->load, "memory.trajectory.get", payload, size, s_loaded) < 0)
        s_end (self, "task.released", "too many open calls");
    free (payload);
}

kc_drive_t *kc_drive_new (kc_loop_t *loop, kc_node_t *node, const char *task, int64_t epoch,
                          const kc_task_t *document, kc_drive_end_f *on_end, void *arg)
{
    kc_drive_t *self = kc_calloc (1, sizeof *self);
    self->loop = loop;
    self->node = node;
    self->task = kc_strdup (task);
    self->epoch = epoch;
    self->document = kc_task_dup (document);
    kc_type_init (&kc_task_budget_type, &self->budget);
    if (document->budget)
        self->budget = *document->budget;
    self->trail = kc_trail_new ();
    self->loading = true;
    self->on_end = on_end;
    self->arg = arg;
    self->renew_timer = kc_loop_timer_add (loop, RENEW_MS, RENEW_MS, s_renew, self);
    kc_log (KC_INFO, "task.leased", "task", "s", task, "epoch", "i", epoch, NULL);
    s_load (self);
    return self;
}

void kc_drive_destroy (kc_drive_t **self_p)
{
    kc_drive_t *self = *self_p;
    if (!self)
        return;
    s_end (self, "task.released", "the planner lets go of it");
    kc_loop_timer_del (self->loop, self->end_timer);
    kc_trail_destroy (&self->trail);
    kc_task_free (&self->document);
    free (self->task);
    free (self);
    *self_p = NULL;
}
