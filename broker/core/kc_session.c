// kc_session.c - who is connected: hello, liveness, loss, displacement, and the views
// on them

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broker/core/kc_core_own.h"
#include "common/util/kc_mem.h"

enum { HELD_SESSION = 2 * KC_HOLDING_MAX }; // ids remembered per worker

int64_t kc_session_credit (const kc_session_t *session)
{
    return session->draining || session->closed || session->running >= session->slots
               ? 0
               : session->slots - session->running;
}

// Keep the count of members with credit right in every queue of the session.
void kc_session_credit_changed (kc_session_t *session, int64_t before)
{
    bool had = before > 0, has = kc_session_credit (session) > 0;
    for (size_t i = 0; had != has && i < session->n_queues; i++) {
        if (has)
            session->queues[i]->n_free++;
        else
            session->queues[i]->n_free--;
    }
}

// Fill the session's free slots, one queue after the other so that none waits for ever.
void kc_session_pump (kc_core_t *self, kc_session_t *session, int64_t now)
{
    size_t idle = 0;
    while (idle < session->n_queues && kc_session_credit (session) > 0) {
        if (session->next_queue >= session->n_queues)
            session->next_queue = 0;
        kc_queue_t *q = session->queues[session->next_queue++];
        idle++;
        if (q->waiting == 0 || !kc_queue_open (self, q))
            continue;
        idle = 0;
        kc_flow_t *f = TAILQ_FIRST (&q->ring);
        kc_work_t *work = TAILQ_FIRST (&f->works);
        if (f->n > 1) {
            TAILQ_REMOVE (&q->ring, f, link);
            TAILQ_INSERT_TAIL (&q->ring, f, link);
        }
        kc_queue_cut (q, work);
        kc_work_grant (self, work, session, false, now);
    }
}

// ---- held ids ----

static void s_held_forget (kc_core_t *self, kc_session_t *session, size_t index)
{
    kc_held_t *h = kc_map_get (self->held, session->held[index]);
    if (h && h->session == session)
        kc_map_remove (self->held, session->held[index]); // frees it
    free (session->held[index]);
    memmove (session->held + index, session->held + index + 1,
             (session->n_held - index - 1) * sizeof *session->held);
    session->n_held--;
}

void kc_held_put (kc_core_t *self, kc_session_t *session, const char *id, int64_t now)
{
    kc_held_t *h = kc_map_get (self->held, id);
    if (h && h->session == session) {
        h->until = now + KC_KEPT_MS;
        return;
    }
    if (h || kc_map_size (self->held) >= KC_HELD_MAX)
        return; // the first holder stays
    if (session->n_held >= HELD_SESSION)
        s_held_forget (self, session, 0);
    *(char **)kc_push (&session->held, &session->n_held, sizeof (char *)) =
        kc_strdup (id);
    h = kc_calloc (1, sizeof *h);
    *h = (kc_held_t){.session = session, .until = now + KC_KEPT_MS};
    kc_map_put (self->held, id, h);
}

kc_session_t *kc_held_find (kc_core_t *self, const char *id, int64_t now)
{
    kc_held_t *h = kc_map_size (self->held) ? kc_map_get (self->held, id) : NULL;
    return h && h->until > now ? h->session : NULL;
}

// ---- life ----

static void s_peer_set (kc_core_t *self, uint32_t peer, kc_session_t *session)
{
    if (peer >= self->n_peers) {
        size_t n = (size_t)peer + 64;
        self->peers = kc_realloc (self->peers, n * sizeof *self->peers);
        memset (self->peers + self->n_peers, 0,
                (n - self->n_peers) * sizeof *self->peers);
        self->n_peers = n;
    }
    self->peers[peer] = session;
}

static kc_session_t *s_at (const kc_core_t *self, uint32_t peer)
{
    return peer < self->n_peers ? self->peers[peer] : NULL;
}

// Unlink and free.  The caller has seen to its works and waiters.
void kc_session_destroy (kc_core_t *self, kc_session_t *session)
{
    kc_queue_leave (session);
    while (session->n_held > 0)
        s_held_forget (self, session, session->n_held - 1);
    kc_heap_remove (&self->heap, &session->timer.due);
    if (kc_map_get (self->instances, session->instance) == session)
        kc_map_remove (self->instances, session->instance);
    self->peers[session->peer] = NULL;
    self->n_sessions--;
    kc_facts_free (&session->caps);
    free (session->held);
    free (session->instance);
    free (session->boot);
    free (session->build);
    free (session);
}

// End a session: its works go back to their queues, its own requests become orphans.
static void s_end (kc_core_t *self, kc_session_t *session, bool lost, const char *why,
                   int64_t now)
{
    kc_core_effect (self, KC_DO_CLOSE,
                    session->peer); // first, so that effects tell the order of things
    int64_t before = kc_session_credit (session);
    session->closed = true; // no credit: what goes back must not come here again
    kc_session_credit_changed (session, before);
    kc_waiter_t *w;
    while ((w = TAILQ_FIRST (&session->waits)))
        kc_work_drop_waiter (self, w, now);
    kc_work_t *work;
    while ((work = TAILQ_FIRST (&session->works)))
        kc_work_return (self, work, lost, why, now);
    kc_session_destroy (self, session);
    if (lost)
        self->count.sessions_lost++;
}

static bool s_was_ousted (const kc_core_t *self, const char *instance, const char *boot)
{
    char both[2 * KC_WORD_MAX + 2];
    (void)snprintf (both, sizeof both, "%s %s", instance, boot);
    for (size_t i = 0; i < KC_OUSTED_MAX; i++)
        if (self->ousted[i] && strcmp (self->ousted[i], both) == 0)
            return true;
    return false;
}

static void s_reject (kc_core_t *self, uint32_t peer, kc_code_t code, char *text,
                      int64_t now)
{
    kc_effect_t *e = kc_core_effect (self, KC_DO_REJECT, peer);
    e->code = code;
    e->text = text;
    self->count.rejected++;
    kc_session_t *here = s_at (self, peer);
    if (here)
        s_end (self, here, false, "its HELLO was refused", now); // closes the peer, too
    else
        kc_core_effect (self, KC_DO_CLOSE, peer);
}

static void s_oust (kc_core_t *self, kc_session_t *old, int64_t now)
{
    free (self->ousted[self->next_ousted]);
    self->ousted[self->next_ousted] = kc_asprintf ("%s %s", old->instance, old->boot);
    self->next_ousted = (self->next_ousted + 1) % KC_OUSTED_MAX;
    kc_effect_t *e = kc_core_effect (self, KC_DO_REJECT, old->peer);
    e->code = KC_EDISPLACED;
    e->text = kc_asprintf ("a newer process took the instance name %s", old->instance);
    self->count.displaced++;
    s_end (self, old, true, "displaced by a newer process of its name", now);
}

// NULL when the process may join, else why not (caller frees).
static char *s_refusal (const kc_core_t *self, uint32_t peer, const kc_hello_t *h,
                        kc_code_t *code)
{
    *code = KC_EREFUSED;
    if (h->role == KC_ROLE_NONE)
        return kc_strdup ("unknown role");
    if (h->n_ops > KC_SESSION_OPS_MAX || h->n_holding > KC_HOLDING_MAX || h->slots < 0
        || h->slots > KC_SLOTS_MAX || h->caps.n > KC_FACTS_MAX) {
        *code = KC_EINVALID;
        return kc_strdup (
            "HELLO lists more operations, slots, facts or held ids than allowed");
    }
    for (size_t i = 0; i < h->n_ops; i++) {
        const kc_op_t *op = kc_op_find (h->ops[i]);
        if (!op || op->server != h->role)
            return kc_asprintf ("role %s cannot serve %.96s", kc_role_name (h->role),
                                h->ops[i]);
    }
    if (s_was_ousted (self, h->instance, h->boot)) {
        *code = KC_EDISPLACED;
        return kc_asprintf ("a newer process took the instance name %s", h->instance);
    }
    const kc_session_t *here = s_at (self, peer);
    if (here
        && (strcmp (here->instance, h->instance) != 0
            || strcmp (here->boot, h->boot) != 0)) {
        *code = KC_ESTATE;
        return kc_strdup ("this connection already belongs to another process");
    }
    for (size_t i = 0; h->role == KC_ROLE_MEMORY && i < self->n_peers; i++)
        if (self->peers[i] && self->peers[i]->role == KC_ROLE_MEMORY
            && strcmp (self->peers[i]->instance, h->instance) != 0)
            return kc_asprintf (
                "a memory service is connected already: %s; stop it first",
                self->peers[i]->instance);
    if (!kc_map_get (self->instances, h->instance)
        && self->n_sessions >= KC_SESSIONS_MAX) {
        *code = KC_EBUSY;
        return kc_asprintf ("the broker has %d sessions, its maximum", KC_SESSIONS_MAX);
    }
    return NULL;
}

// What a HELLO says anew each time; queue membership follows from it.
static void s_describe (kc_core_t *self, kc_session_t *s, const kc_hello_t *h)
{
    kc_queue_leave (s);
    kc_set (&s->build, h->build ? h->build : "");
    s->role = h->role;
    s->pid = h->pid;
    s->slots = h->slots;
    memset (s->ops, 0, sizeof s->ops);
    for (size_t i = 0; i < h->n_ops; i++)
        s->ops[(size_t)(uintptr_t)kc_map_get (self->op_index, h->ops[i]) - 1] = true;
    kc_facts_free (&s->caps);
    for (size_t i = 0; i < h->caps.n; i++)
        kc_facts_add (&s->caps, h->caps.fact[i].key, h->caps.fact[i].text,
                      h->caps.fact[i].number);
    kc_queue_join (self, s);
}

static bool s_lists (const kc_hello_t *h, const char *id)
{
    for (size_t i = 0; i < h->n_holding; i++)
        if (strcmp (h->holding[i], id) == 0)
            return true;
    return false;
}

// The process is back on a new connection.  What it does not hold never reached it;
// what it holds is sent once more, because its reply may have died with the old
// connection.
static void s_reconcile (kc_core_t *self, kc_session_t *s, const kc_hello_t *h,
                         int64_t now)
{
    int64_t before = kc_session_credit (s);
    s->closed = true; // nothing new joins the list while it is walked
    kc_session_credit_changed (s, before);
    kc_work_t *work = TAILQ_FIRST (&s->works);
    while (work) {
        kc_work_t *next = TAILQ_NEXT (work, link);
        if (!s_lists (h, work->id))
            kc_work_return (self, work, false, "it never arrived there", now);
        else if (work->state == KC_WORK_RUNNING)
            kc_work_grant (self, work, s, true, now);
        else {
            kc_effect_t *e = kc_core_effect (self, KC_DO_CANCEL, s->peer);
            e->id = kc_strdup (work->id);
        }
        work = next;
    }
    s->closed = false;
    kc_session_credit_changed (s, 0);
}

void kc_core_hello (kc_core_t *self, uint32_t peer, const kc_hello_t *hello,
                    int64_t now)
{
    self->count.hellos++;
    kc_code_t code;
    char *no = s_refusal (self, peer, hello, &code);
    if (no) {
        s_reject (self, peer, code, no, now);
        return;
    }
    kc_session_t *s = kc_map_get (self->instances, hello->instance);
    if (s && strcmp (s->boot, hello->boot) != 0) {
        s_oust (self, s, now);
        s = NULL;
    }
    bool moved = s && s->peer != peer;
    if (moved) {
        kc_core_effect (self, KC_DO_CLOSE, s->peer);
        self->peers[s->peer] = NULL;
        s->peer = peer;
        s_peer_set (self, peer, s);
    }
    if (!s) {
        s = kc_calloc (1, sizeof *s);
        s->timer.kind = KC_TIMER_SESSION;
        s->peer = peer;
        s->instance = kc_strdup (hello->instance);
        s->boot = kc_strdup (hello->boot);
        s->since = now;
        TAILQ_INIT (&s->works);
        TAILQ_INIT (&s->waits);
        s_peer_set (self, peer, s);
        self->n_sessions++;
        kc_map_put (self->instances, s->instance, s);
    }
    s->seen = now;
    kc_heap_set (&self->heap, &s->timer.due, now + self->config.dead_ms);
    s_describe (self, s, hello);
    kc_core_effect (self, KC_DO_WELCOME, peer);
    if (moved)
        s_reconcile (self, s, hello, now);
    for (size_t i = 0; i < hello->n_holding; i++) {
        kc_held_put (self, s, hello->holding[i], now);
        kc_work_t *work = kc_map_get (self->works, hello->holding[i]);
        if (work && work->state == KC_WORK_QUEUED && s->ops[work->queue->op_index]) {
            kc_queue_cut (work->queue, work);
            kc_work_grant (self, work, s, true, now);
        }
    }
    kc_session_pump (self, s, now);
}

void kc_core_ping (kc_core_t *self, uint32_t peer, int64_t now)
{
    kc_session_t *s = s_at (self, peer);
    if (!s)
        return;
    s->seen = now;
    kc_core_effect (self, KC_DO_PONG, peer)->draining = s->draining;
}

void kc_core_bye (kc_core_t *self, uint32_t peer, int64_t now)
{
    kc_session_t *s = s_at (self, peer);
    if (s)
        s_end (self, s, false, "it left", now);
}

void kc_core_gone (kc_core_t *self, uint32_t peer, const char *why, int64_t now)
{
    kc_session_t *s = s_at (self, peer);
    if (s)
        s_end (self, s, true, why, now);
    else
        kc_core_effect (self, KC_DO_CLOSE, peer);
}

void kc_session_judge (kc_core_t *self, kc_session_t *session, int64_t now)
{
    int64_t deadline = session->seen + self->config.dead_ms;
    if (deadline > now) {
        kc_heap_set (&self->heap, &session->timer.due, deadline);
        return;
    }
    char why[64];
    (void)snprintf (why, sizeof why, "silent for %lld ms",
                    (long long)(now - session->seen));
    s_end (self, session, true, why, now);
}

int kc_core_drain (kc_core_t *self, const char *instance, bool undo, int64_t now)
{
    kc_session_t *s = kc_map_get (self->instances, instance);
    if (!s)
        return 0;
    int64_t before = kc_session_credit (s);
    s->draining = !undo;
    kc_session_credit_changed (s, before);
    kc_core_effect (self, KC_DO_PONG, s->peer)->draining = s->draining; // told at once
    kc_session_pump (self, s, now);
    return 1;
}

// ---- views ----

bool kc_core_known (const kc_core_t *self, uint32_t peer)
{
    return s_at (self, peer) != NULL;
}

size_t kc_core_n_sessions (const kc_core_t *self)
{
    return self->n_sessions;
}

bool kc_core_session (const kc_core_t *self, size_t *cursor, kc_session_view_t *out,
                      int64_t now)
{
    while (*cursor < self->n_peers && !self->peers[*cursor])
        (*cursor)++;
    if (*cursor >= self->n_peers)
        return false;
    const kc_session_t *s = self->peers[(*cursor)++];
    *out = (kc_session_view_t){.instance = s->instance,
                               .boot = s->boot,
                               .build = s->build,
                               .role = kc_role_name (s->role),
                               .pid = s->pid,
                               .slots = s->slots,
                               .busy = s->running,
                               .age_ms = now - s->since,
                               .silent_ms = now - s->seen,
                               .served = s->served,
                               .caps = &s->caps,
                               .draining = s->draining,
                               .peer = s->peer};
    for (size_t i = 0; i < kc_op_count (); i++)
        if (s->ops[i])
            out->ops[out->n_ops++] = kc_op_at (i)->name;
    return true;
}
