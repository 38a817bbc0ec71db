// kc_queue.c - ready queues: one per operation and distinct need, round robin over
// flows

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broker/core/kc_core_own.h"
#include "common/util/kc_mem.h"

enum { SHOWN_WORKERS = 4 }; // named in a held reason

static void s_join (kc_queue_t *q, kc_session_t *s)
{
    *(kc_session_t **)kc_push (&q->members, &q->n_members, sizeof s) = s;
    *(kc_queue_t **)kc_push (&s->queues, &s->n_queues, sizeof q) = q;
    if (kc_session_credit (s) > 0)
        q->n_free++;
}

void kc_queue_join (kc_core_t *self, kc_session_t *session)
{
    for (size_t i = 0; i < kc_op_count (); i++) {
        if (!session->ops[i])
            continue;
        kc_queue_t *q;
        TAILQ_FOREACH (q, &self->queues[i], link)
        if (kc_need_met (&q->need, &session->caps))
            s_join (q, session);
    }
}

void kc_queue_leave (kc_session_t *session)
{
    for (size_t i = 0; i < session->n_queues; i++) {
        kc_queue_t *q = session->queues[i];
        for (size_t k = 0; k < q->n_members; k++)
            if (q->members[k] == session) {
                q->members[k] = q->members[--q->n_members];
                break;
            }
        if (kc_session_credit (session) > 0)
            q->n_free--;
    }
    free (session->queues);
    session->queues = NULL;
    session->n_queues = session->next_queue = 0;
}

// Queues that nobody uses stay for the next request of their kind until the table is
// full.
static void s_sweep (kc_core_t *self)
{
    for (size_t i = 0; i < kc_op_count (); i++) {
        kc_queue_t *q = TAILQ_FIRST (&self->queues[i]);
        while (q) {
            kc_queue_t *next = TAILQ_NEXT (q, link);
            if (q->users == 0)
                kc_queue_destroy (self, q);
            q = next;
        }
    }
}

kc_queue_t *kc_queue_get (kc_core_t *self, size_t op_index, const char *key,
                          const kc_need_t *need)
{
    kc_queue_t *q;
    TAILQ_FOREACH (q, &self->queues[op_index], link)
    if (strcmp (q->key, key) == 0) {
        if (q
            != TAILQ_FIRST (&self->queues[op_index])) { // the usual need is found first
            TAILQ_REMOVE (&self->queues[op_index], q, link);
            TAILQ_INSERT_HEAD (&self->queues[op_index], q, link);
        }
        return q;
    }
    if (self->n_queues >= KC_QUEUES_MAX)
        s_sweep (self);
    if (self->n_queues >= KC_QUEUES_MAX)
        return NULL;
    q = kc_calloc (1, sizeof *q);
    q->op = kc_op_at (op_index);
    q->op_index = op_index;
    q->key = kc_strdup (key);
    q->flows = kc_map_new (NULL);
    TAILQ_INIT (&q->ring);
    for (size_t i = 0; need && i < need->n; i++)
        kc_need_add (&q->need, need->term[i].key, need->term[i].op, need->term[i].text,
                     need->term[i].number);
    TAILQ_INSERT_HEAD (&self->queues[op_index], q, link);
    self->n_queues++;
    for (size_t i = 0; i < self->n_peers; i++) {
        kc_session_t *s = self->peers[i];
        if (s && s->ops[op_index] && kc_need_met (&q->need, &s->caps))
            s_join (q, s);
    }
    return q;
}

void kc_queue_destroy (kc_core_t *self, kc_queue_t *queue)
{
    kc_assert (queue->waiting == 0);
    for (size_t i = 0; i < queue->n_members; i++) {
        kc_session_t *s = queue->members[i];
        for (size_t k = 0; k < s->n_queues; k++)
            if (s->queues[k] == queue) {
                s->queues[k] = s->queues[--s->n_queues];
                break;
            }
    }
    TAILQ_REMOVE (&self->queues[queue->op_index], queue, link);
    self->n_queues--;
    kc_map_destroy (&queue->flows);
    kc_need_free (&queue->need);
    free (queue->members);
    free (queue->key);
    free (queue);
}

bool kc_queue_full (const kc_queue_t *queue, const char *flow)
{
    const kc_flow_t *f = kc_map_get (queue->flows, flow);
    return f && f->n >= KC_FLOW_MAX;
}

void kc_queue_put (kc_queue_t *queue, kc_work_t *work, bool front)
{
    kc_flow_t *f = kc_map_get (queue->flows, work->flow);
    if (!f) {
        f = kc_calloc (1, sizeof *f);
        f->name = kc_strdup (work->flow);
        TAILQ_INIT (&f->works);
        kc_map_put (queue->flows, work->flow, f);
        TAILQ_INSERT_TAIL (&queue->ring, f, link);
    }
    if (front)
        TAILQ_INSERT_HEAD (&f->works, work, link);
    else
        TAILQ_INSERT_TAIL (&f->works, work, link);
    f->n++;
    queue->waiting++;
    work->lane = f;
    work->state = KC_WORK_QUEUED;
}

void kc_queue_cut (kc_queue_t *queue, kc_work_t *work)
{
    kc_flow_t *f = work->lane;
    TAILQ_REMOVE (&f->works, work, link);
    work->lane = NULL;
    f->n--;
    queue->waiting--;
    if (f->n == 0) {
        TAILQ_REMOVE (&queue->ring, f, link);
        kc_map_remove (queue->flows, f->name);
        free (f->name);
        free (f);
    }
}

bool kc_queue_open (const kc_core_t *self, const kc_queue_t *queue)
{
    return self->paid_open || !queue->op->paid;
}

static kc_session_t *s_free_member (kc_queue_t *q)
{
    for (size_t i = 0; i < q->n_members; i++) {
        if (q->next >= q->n_members)
            q->next = 0;
        kc_session_t *s = q->members[q->next++];
        if (kc_session_credit (s) > 0)
            return s;
    }
    return NULL;
}

void kc_queue_pump (kc_core_t *self, kc_queue_t *queue, int64_t now)
{
    if (!kc_queue_open (self, queue))
        return;
    while (queue->waiting > 0 && queue->n_free > 0) {
        kc_session_t *s = s_free_member (queue);
        kc_assert (s);
        kc_flow_t *f = TAILQ_FIRST (&queue->ring);
        kc_work_t *work = TAILQ_FIRST (&f->works);
        if (f->n > 1) { // served: to the end of the ring
            TAILQ_REMOVE (&queue->ring, f, link);
            TAILQ_INSERT_TAIL (&queue->ring, f, link);
        }
        kc_queue_cut (queue, work);
        kc_work_grant (self, work, s, false, now);
    }
}

// Why nothing can run now, or "".  Busy workers are no reason: they will be free again.
void kc_queue_held (const kc_core_t *self, const kc_queue_t *queue, char *out,
                    size_t room, int64_t now)
{
    out[0] = 0;
    size_t serving = 0, shown = 0, able = 0, closed = 0;
    char list[KC_ERR_TEXT] = "", facts[256];
    for (size_t i = 0; i < self->n_peers; i++) {
        const kc_session_t *s = self->peers[i];
        if (!s || !s->ops[queue->op_index])
            continue;
        serving++;
        if (kc_need_met (&queue->need, &s->caps)) {
            able++;
            closed += s->draining || s->slots == 0;
            continue;
        }
        if (shown < SHOWN_WORKERS) {
            kc_need_facts_text (&queue->need, &s->caps, facts, sizeof facts);
            size_t used = strlen (list);
            (void)snprintf (list + used, sizeof list - used, "%s%s (%s)",
                            shown ? ", " : "", s->instance, facts);
            shown++;
        }
    }
    char need[256];
    kc_need_text (&queue->need, need, sizeof need);
    if (serving == 0)
        (void)snprintf (out, room, "no worker serves %s; the fleet needs a process of role %s",
                        queue->op->name, kc_role_name (queue->op->server));
    else if (able == 0)
        (void)snprintf (out, room, "needs %s; connected: %s%s", need, list,
                        serving > shown ? " and others" : "");
    else if (closed == able)
        (void)snprintf (out, room, "every worker that could run it is draining");
    else if (!kc_queue_open (self, queue))
        (void)snprintf (out, room,
                        "the broker has just started: paid work waits %lld ms more for "
                        "workers that may still run it",
                        (long long)(self->started + 2 * self->config.dead_ms - now));
}

bool kc_core_queue (const kc_core_t *self, size_t *cursor, kc_queue_view_t *out,
                    int64_t now)
{
    size_t at = 0;
    for (size_t i = 0; i < kc_op_count (); i++) {
        const kc_queue_t *q;
        TAILQ_FOREACH (q, &self->queues[i], link)
        {
            if (at++ < *cursor)
                continue;
            *cursor = at;
            if (q->waiting == 0)
                continue;
            *out = (kc_queue_view_t){.op = q->op->name, .waiting = (int64_t)q->waiting};
            kc_need_text (&q->need, out->need, sizeof out->need);
            kc_queue_held (self, q, out->held, sizeof out->held, now);
            const kc_flow_t *f;
            TAILQ_FOREACH (f, &q->ring, link)
            {
                int64_t age = now - TAILQ_FIRST (&f->works)->queued_at;
                if (age > out->oldest_ms)
                    out->oldest_ms = age;
            }
            return true;
        }
    }
    return false;
}
