// kc_core.c - the life of a request: accepted, queued, granted, ended; see kc_core.h

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broker/core/kc_core_own.h"
#include "common/util/kc_mem.h"

enum {
    LATE_TURN = 5
}; // a tick that comes later than this many periods extends liveness

kc_parcel_t *kc_parcel_ref (kc_parcel_t *self)
{
    self->refs++;
    return self;
}

void kc_parcel_unref (kc_parcel_t *self)
{
    if (!self)
        return;
    kc_assert (self->refs > 0);
    if (--self->refs == 0)
        self->free (self);
}

void kc_effect_free (kc_effect_t *effect)
{
    kc_parcel_unref (effect->parcel);
    free (effect->id);
    free (effect->text);
    *effect = (kc_effect_t){0};
}

// ---- effects ----

kc_effect_t *kc_core_effect (kc_core_t *self, kc_do_t kind, uint32_t peer)
{
    if (self->n_effects == self->room_effects) {
        size_t room = self->room_effects ? 2 * self->room_effects : 64;
        kc_effect_t *ring = kc_malloc (room * sizeof *ring);
        for (size_t i = 0; i < self->n_effects; i++)
            ring[i] = self->effects[(self->effects_at + i) % self->room_effects];
        free (self->effects);
        self->effects = ring;
        self->effects_at = 0;
        self->room_effects = room;
    }
    kc_effect_t *e =
        &self->effects[(self->effects_at + self->n_effects++) % self->room_effects];
    *e = (kc_effect_t){.kind = kind, .peer = peer};
    return e;
}

bool kc_core_next (kc_core_t *self, kc_effect_t *out)
{
    if (self->n_effects == 0)
        return false;
    *out = self->effects[self->effects_at];
    self->effects_at = (self->effects_at + 1) % self->room_effects;
    self->n_effects--;
    return true;
}

void kc_core_error (kc_core_t *self, uint32_t peer, const char *id, kc_code_t code,
                    int64_t retry, const char *text)
{
    kc_effect_t *e = kc_core_effect (self, KC_DO_ERROR, peer);
    e->id = kc_strdup (id);
    e->code = code;
    e->retry_after_ms = retry;
    e->text = kc_strdup (text);
    self->count.errors++;
    if (code == KC_EBUSY)
        self->count.busy++;
    if (code == KC_EREFUSED)
        self->count.refused++;
}

// ---- life ----

kc_core_t *kc_core_new (const kc_core_config_t *config, int64_t now)
{
    kc_core_t *self = kc_calloc (1, sizeof *self);
    kc_assert (kc_op_count () <= sizeof ((kc_session_t *)0)->ops);
    self->config = *config;
    self->started = self->last_tick = now;
    self->instances = kc_map_new (NULL);
    self->works = kc_map_new (NULL);
    self->op_index = kc_map_new (NULL);
    self->held = kc_map_new (free);
    self->queues = kc_calloc (kc_op_count (), sizeof *self->queues);
    for (size_t i = 0; i < kc_op_count (); i++) {
        TAILQ_INIT (&self->queues[i]);
        kc_map_put (self->op_index, kc_op_at (i)->name, (void *)(uintptr_t)(i + 1));
    }
    return self;
}

void kc_core_destroy (kc_core_t **self_p)
{
    kc_core_t *self = *self_p;
    if (!self)
        return;
    *self_p = NULL;
    size_t cursor = 0;
    kc_work_t *work;
    while ((work = kc_map_next (self->works, &cursor, NULL)))
        kc_work_destroy (self, work);
    for (size_t i = 0; i < self->n_peers; i++)
        if (self->peers[i])
            kc_session_destroy (self, self->peers[i]);
    for (size_t i = 0; i < kc_op_count (); i++)
        while (!TAILQ_EMPTY (&self->queues[i]))
            kc_queue_destroy (self, TAILQ_FIRST (&self->queues[i]));
    kc_effect_t effect;
    while (kc_core_next (self, &effect))
        kc_effect_free (&effect);
    for (size_t i = 0; i < KC_OUSTED_MAX; i++)
        free (self->ousted[i]);
    kc_map_destroy (&self->instances);
    kc_map_destroy (&self->works);
    kc_map_destroy (&self->op_index);
    kc_map_destroy (&self->held);
    kc_heap_free (&self->heap);
    free (self->queues);
    free (self->effects);
    free (self->peers);
    free (self);
}

// ---- works ----

static kc_work_t *s_work_new (kc_core_t *self, const kc_ask_t *ask, const char *flow,
                              const kc_op_t *op, kc_queue_t *queue, kc_parcel_t *parcel)
{
    size_t id = strlen (ask->id) + 1, lane = strlen (flow) + 1;
    kc_work_t *work = kc_calloc (1, sizeof *work + id + lane);
    char *tail = (char *)(work + 1);
    memcpy (tail, ask->id, id);
    memcpy (tail + id, flow, lane);
    work->id = tail;
    work->flow = tail + id;
    work->timer.kind = KC_TIMER_WORK;
    work->op = op;
    work->queue = queue;
    work->parcel = parcel;
    (void)snprintf (work->sum, sizeof work->sum, "%s", ask->sum);
    TAILQ_INIT (&work->waiters);
    queue->users++;
    self->bytes += parcel->size;
    kc_map_put (self->works, work->id, work);
    return work;
}

static void s_waiter_free (kc_work_t *work, kc_waiter_t *waiter)
{
    TAILQ_REMOVE (&work->waiters, waiter, of_work);
    TAILQ_REMOVE (&waiter->session->waits, waiter, of_session);
    waiter->session->n_waits--;
    work->n_waiters--;
    if (waiter == &work->first)
        work->first_used = false;
    else
        free (waiter);
}

static void s_wait (kc_work_t *work, kc_session_t *session)
{
    kc_waiter_t *w = work->first_used ? kc_calloc (1, sizeof *w) : &work->first;
    if (w == &work->first)
        work->first_used = true;
    w->work = work;
    w->session = session;
    TAILQ_INSERT_TAIL (&work->waiters, w, of_work);
    TAILQ_INSERT_TAIL (&session->waits, w, of_session);
    session->n_waits++;
    work->n_waiters++;
    (void)snprintf (work->from, sizeof work->from, "%s", session->instance);
}

static void s_leave_worker (kc_work_t *work)
{
    kc_session_t *s = work->worker;
    int64_t before = kc_session_credit (s);
    TAILQ_REMOVE (&s->works, work, link);
    s->running--;
    kc_session_credit_changed (s, before);
    work->worker = NULL;
}

// Unlink from everything and free; tells nobody.
void kc_work_destroy (kc_core_t *self, kc_work_t *work)
{
    while (!TAILQ_EMPTY (&work->waiters))
        s_waiter_free (work, TAILQ_FIRST (&work->waiters));
    if (work->lane)
        kc_queue_cut (work->queue, work);
    if (work->worker)
        s_leave_worker (work);
    kc_heap_remove (&self->heap, &work->timer.due);
    kc_map_remove (self->works, work->id);
    work->queue->users--;
    self->bytes -= work->parcel->size;
    kc_parcel_unref (work->parcel);
    free (work->killers);
    free (work);
}

static void s_set_timer (kc_core_t *self, kc_work_t *work)
{
    int64_t at = work->expires;
    if (work->orphan_at && (!at || work->orphan_at < at))
        at = work->orphan_at;
    if (at && work->state != KC_WORK_ENDING)
        kc_heap_set (&self->heap, &work->timer.due, at);
    else
        kc_heap_remove (&self->heap, &work->timer.due);
}

// Answer every waiter with an error.
static void s_fail_waiters (kc_core_t *self, kc_work_t *work, kc_code_t code,
                            const char *text)
{
    kc_waiter_t *w;
    while ((w = TAILQ_FIRST (&work->waiters))) {
        kc_core_error (self, w->session->peer, work->id, code, 0, text);
        s_waiter_free (work, w);
    }
}

// Nobody wants the result any more: gone at once when queued, else the worker is told
// and keeps the slot until it has ended the work.
static void s_abandon (kc_core_t *self, kc_work_t *work)
{
    if (work->state == KC_WORK_QUEUED) {
        kc_work_destroy (self, work);
        return;
    }
    work->state = KC_WORK_ENDING;
    s_set_timer (self, work);
    kc_core_effect (self, KC_DO_CANCEL, work->worker->peer)->id = kc_strdup (work->id);
}

void kc_work_drop_waiter (kc_core_t *self, kc_waiter_t *waiter, int64_t now)
{
    kc_work_t *work = waiter->work;
    s_waiter_free (work, waiter);
    if (work->n_waiters == 0 && work->state != KC_WORK_ENDING) {
        self->count.orphans++;
        work->orphan_at = now + KC_ORPHAN_MS;
        s_set_timer (self, work);
    }
}

void kc_work_grant (kc_core_t *self, kc_work_t *work, kc_session_t *session, bool bind,
                    int64_t now)
{
    if (work->worker != session) { // else it is sent again to the worker that has it
        kc_assert (!work->worker && !work->lane);
        kc_assert (bind || kc_session_credit (session) > 0);
        int64_t before = kc_session_credit (session);
        work->state = KC_WORK_RUNNING;
        work->worker = session;
        TAILQ_INSERT_TAIL (&session->works, work, link);
        session->running++;
        kc_session_credit_changed (session, before);
    }
    if (bind)
        self->count.bound++;
    self->count.grants++;
    kc_effect_t *e = kc_core_effect (self, KC_DO_GRANT, session->peer);
    e->parcel = kc_parcel_ref (work->parcel);
    memcpy (e->from, work->from, sizeof e->from);
    if (work->expires)
        e->ttl_ms = work->expires > now ? work->expires - now : 1;
}

static void s_requeue (kc_core_t *self, kc_work_t *work, int64_t now)
{
    self->count.requeued++;
    kc_queue_put (work->queue, work, true);
    kc_queue_pump (self, work->queue, now);
}

// Add the loss to what is known; true when the work must not be tried again ('code' and
// 'text' filled).
static bool s_charge (kc_work_t *work, const kc_session_t *worker, const char *why,
                      kc_code_t *code, char *text, size_t room)
{
    char *all =
        kc_asprintf ("%s%s%s boot %.8s (%s)", work->killers ? work->killers : "",
                     work->killers ? ", " : "", worker->instance, worker->boot, why);
    free (work->killers);
    work->killers = all;
    work->losses++;
    bool other =
        work->first_killer[0] && strcmp (work->first_killer, worker->boot) != 0;
    if (!work->first_killer[0])
        (void)snprintf (work->first_killer, sizeof work->first_killer, "%s",
                        worker->boot);
    if (other) {
        *code = KC_EPOISON;
        (void)snprintf (text, room, "%s killed two workers and is not tried again: %s",
                        work->op->name, all);
        return true;
    }
    if (work->losses >= KC_ATTEMPTS) {
        *code = KC_ELOST;
        (void)snprintf (text, room, "%s was lost %d times: %s", work->op->name,
                        work->losses, all);
        return true;
    }
    return false;
}

void kc_work_return (kc_core_t *self, kc_work_t *work, bool lost, const char *why,
                     int64_t now)
{
    kc_session_t *worker = work->worker;
    s_leave_worker (work);
    if (work->state == KC_WORK_ENDING) {
        kc_work_destroy (self, work);
        return;
    }
    kc_code_t code = KC_OK;
    char text[KC_ERR_TEXT];
    bool over = false;
    if (lost)
        over = s_charge (work, worker, why, &code, text, sizeof text);
    else if (++work->handbacks > KC_HANDBACKS) {
        over = true;
        code = KC_ELOST;
        (void)snprintf (text, sizeof text,
                        "%s was handed back %d times by leaving workers, last by %s",
                        work->op->name, work->handbacks, worker->instance);
    }
    if (!over) {
        s_requeue (self, work, now);
        return;
    }
    if (code == KC_EPOISON)
        self->count.poison++;
    else
        self->count.lost_requests++;
    s_fail_waiters (self, work, code, text);
    kc_work_destroy (self, work);
}

// ---- events ----

static kc_session_t *s_session (const kc_core_t *self, uint32_t peer)
{
    return peer < self->n_peers ? self->peers[peer] : NULL;
}

// The id is here already: attach, or say why not.
static void s_meet (kc_core_t *self, kc_session_t *s, kc_work_t *work,
                    const kc_ask_t *ask)
{
    if (strcmp (work->sum, ask->sum) != 0 || strcmp (work->op->name, ask->op) != 0) {
        kc_core_error (self, s->peer, ask->id, KC_ECONFLICT, 0,
                       "a request with this id and another content is in flight; ids "
                       "name one content");
        return;
    }
    kc_waiter_t *w;
    TAILQ_FOREACH (w, &work->waiters, of_work)
    if (w->session == s)
        return; // sent again after a WELCOME: it is waited for already
    if (work->state == KC_WORK_ENDING) {
        kc_core_error (self, s->peer, ask->id, KC_EBUSY, KC_RETRY_MS,
                       "the earlier request of this id is being cancelled");
        return;
    }
    if (work->n_waiters >= KC_WAITERS_MAX) {
        kc_core_error (self, s->peer, ask->id, KC_EBUSY, KC_RETRY_MS,
                       "too many requesters wait for this id");
        return;
    }
    s_wait (work, s);
    work->orphan_at = 0;
    s_set_timer (self, work);
    self->count.attached++;
}

static const char *s_no_room (const kc_core_t *self, const kc_session_t *s,
                              const kc_parcel_t *parcel)
{
    if (s->n_waits >= KC_OPEN_MAX)
        return "this process has too many open requests";
    if (kc_map_size (self->works) >= KC_WORKS_MAX)
        return "the broker's request table is full";
    if (self->bytes + parcel->size > KC_BYTES_MAX)
        return "the broker's payload memory is full";
    return NULL;
}

// Refuse what may not be asked; NULL when it may.
static const kc_op_t *s_allowed (kc_core_t *self, const kc_session_t *s,
                                 const kc_ask_t *ask, size_t *index)
{
    *index = (size_t)(uintptr_t)kc_map_get (self->op_index, ask->op);
    char text[KC_ERR_TEXT];
    if (*index == 0) {
        (void)snprintf (text, sizeof text, "there is no operation %.96s", ask->op);
        kc_core_error (self, s->peer, ask->id, KC_ENOTFOUND, 0, text);
        return NULL;
    }
    const kc_op_t *op = kc_op_at (--*index);
    if (!kc_op_may_call (op, s->role)) {
        (void)snprintf (text, sizeof text, "role %s may not call %s",
                        kc_role_name (s->role), op->name);
        kc_core_error (self, s->peer, ask->id, KC_EREFUSED, 0, text);
        return NULL;
    }
    if (ask->chunk && !op->chunk) {
        (void)snprintf (text, sizeof text, "%s takes no binary chunk", op->name);
        kc_core_error (self, s->peer, ask->id, KC_EINVALID, 0, text);
        return NULL;
    }
    return op;
}

void kc_core_request (kc_core_t *self, uint32_t peer, const kc_ask_t *ask,
                      kc_parcel_t *parcel, int64_t now)
{
    kc_session_t *s = s_session (self, peer);
    size_t index;
    const kc_op_t *op = s ? s_allowed (self, s, ask, &index) : NULL;
    if (!op) {
        kc_parcel_unref (parcel);
        return;
    }
    s->seen = now;
    self->count.requests++;
    if (op->server == KC_ROLE_NONE) {
        kc_effect_t *e = kc_core_effect (self, KC_DO_LOCAL, peer);
        e->op = op;
        e->id = kc_strdup (ask->id);
        e->parcel = parcel;
        return;
    }
    kc_work_t *work = kc_map_get (self->works, ask->id);
    if (work) {
        s_meet (self, s, work, ask);
        kc_parcel_unref (parcel);
        return;
    }
    const char *flow = ask->flow && ask->flow[0] ? ask->flow : s->instance;
    const char *full = s_no_room (self, s, parcel);
    kc_queue_t *queue =
        full
            ? NULL
            : kc_queue_get (self, index, ask->need_key ? ask->need_key : "", ask->need);
    if (!full && !queue)
        full = "too many distinct needs wait";
    if (!full && queue->waiting >= KC_FLOW_MAX && kc_queue_full (queue, flow))
        full = "the queue of this task is full";
    if (full) {
        kc_core_error (self, peer, ask->id, KC_EBUSY, KC_RETRY_MS, full);
        kc_parcel_unref (parcel);
        return;
    }
    work = s_work_new (self, ask, flow, op, queue, parcel);
    s_wait (work, s);
    work->queued_at = now;
    work->expires = ask->ttl_ms > 0 ? now + ask->ttl_ms : 0;
    s_set_timer (self, work);
    kc_session_t *holder = kc_held_find (self, ask->id, now);
    if (holder && holder->ops[index])
        kc_work_grant (self, work, holder, true, now);
    else {
        kc_queue_put (queue, work, false);
        kc_queue_pump (self, queue, now);
    }
}

void kc_core_reply (kc_core_t *self, uint32_t peer, const char *id, kc_parcel_t *parcel,
                    bool failed, int64_t now)
{
    kc_session_t *s = s_session (self, peer);
    kc_work_t *work = s ? kc_map_get (self->works, id) : NULL;
    if (s)
        s->seen = now;
    if (!work || work->worker != s) {
        self->count.late_replies++;
        kc_parcel_unref (parcel);
        return;
    }
    if (work->state == KC_WORK_RUNNING) {
        s->served++;
        if (work->n_waiters == 0 && !failed)
            kc_held_put (self, s, id,
                         now); // the worker keeps it; whoever asks again is sent there
        kc_waiter_t *w;
        while ((w = TAILQ_FIRST (&work->waiters))) {
            kc_effect_t *e = kc_core_effect (self, KC_DO_ANSWER, w->session->peer);
            e->parcel = kc_parcel_ref (parcel);
            (void)snprintf (e->from, sizeof e->from, "%s", s->instance);
            s_waiter_free (work, w);
            self->count.answers++;
        }
    }
    kc_parcel_unref (parcel);
    kc_work_destroy (self, work);
    kc_session_pump (self, s, now);
}

void kc_core_cancel (kc_core_t *self, uint32_t peer, const char *id, int64_t now)
{
    kc_session_t *s = s_session (self, peer);
    kc_work_t *work = s ? kc_map_get (self->works, id) : NULL;
    if (s)
        s->seen = now;
    kc_waiter_t *w = NULL;
    if (work)
        TAILQ_FOREACH (w, &work->waiters, of_work)
    if (w->session == s)
        break;
    if (!w)
        return; // ended already, or never asked: the answer is under way
    self->count.cancelled++;
    kc_core_error (self, peer, id, KC_ECANCELLED, 0, "cancelled by the requester");
    s_waiter_free (work, w);
    if (work->n_waiters == 0)
        s_abandon (self, work);
}

static void s_expire (kc_core_t *self, kc_work_t *work, int64_t now)
{
    if (work->expires && work->expires <= now) {
        char text[KC_ERR_TEXT], held[KC_ERR_TEXT] = "";
        self->count.timeouts++;
        if (work->state == KC_WORK_QUEUED)
            kc_queue_held (self, work->queue, held, sizeof held, now);
        if (work->state == KC_WORK_RUNNING)
            (void)snprintf (text, sizeof text, "%s did not end within its time on %s",
                            work->op->name, work->worker->instance);
        else
            (void)snprintf (text, sizeof text, "%s waited %lld ms in the queue%s%.380s",
                            work->op->name, (long long)(now - work->queued_at),
                            held[0] ? ": " : "; all workers are busy", held);
        s_fail_waiters (self, work, KC_ETIMEOUT, text);
    }
    s_abandon (self, work);
}

// The fresh-broker rule ends: workers that still ran paid work have had the time to say
// so.
static void s_open_paid (kc_core_t *self, int64_t now)
{
    self->paid_open = true;
    for (size_t i = 0; i < kc_op_count (); i++) {
        kc_queue_t *q;
        if (kc_op_at (i)->paid)
            TAILQ_FOREACH (q, &self->queues[i], link)
        kc_queue_pump (self, q, now);
    }
}

void kc_core_tick (kc_core_t *self, int64_t now)
{
    int64_t late = now - self->last_tick - self->config.tick_ms;
    self->last_tick = now;
    if (late > LATE_TURN * self->config.tick_ms) { // our own delay is nobody's silence
        self->count.late_turns++;
        for (size_t i = 0; i < self->n_peers; i++)
            if (self->peers[i])
                self->peers[i]->seen = self->peers[i]->seen + late < now
                                           ? self->peers[i]->seen + late
                                           : now;
    }
    if (!self->paid_open && now >= self->started + 2 * self->config.dead_ms)
        s_open_paid (self, now);
    kc_heap_item_t *item;
    while ((item = kc_heap_first (&self->heap)) && item->at <= now) {
        kc_timer_t *timer = (kc_timer_t *)(void *)item;
        switch (timer->kind) {
        case KC_TIMER_WORK:
            s_expire (self, (kc_work_t *)(void *)timer, now);
            break;
        case KC_TIMER_SESSION:
            kc_session_judge (self, (kc_session_t *)(void *)timer, now);
            break;
        }
    }
}

void kc_core_bad (kc_core_t *self)
{
    self->count.bad_messages++;
}

// ---- views ----

size_t kc_core_works (const kc_core_t *self)
{
    return kc_map_size (self->works);
}

const kc_counters_t *kc_core_counters (const kc_core_t *self)
{
    return &self->count;
}
