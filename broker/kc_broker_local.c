// kc_broker_local.c - the operations that the broker serves itself: fleet.status,
// fleet.drain

#include <stdlib.h>
#include <string.h>

#include "broker/kc_broker_own.h"
#include "common/msg/gen/broker.h"
#include "common/util/kc_log.h"
#include "common/util/kc_mem.h"

static void s_error (kc_broker_t *self, const kc_effect_t *effect, kc_code_t code,
                     const char *text)
{
    kc_buf_t b = {0};
    kc_header_error (&b, effect->id, code, text, 0);
    kc_wire_t wire;
    kc_wire_init (&wire, KC_VERB_ERROR, b.data, b.size, NULL, 0, NULL, 0);
    kc_buf_free (&b);
    kc_broker_send (self, effect->peer, &wire, "", true);
}

// 'json' is used up; NULL = the encoder refused it.
static void s_reply (kc_broker_t *self, const kc_effect_t *effect, char *json,
                     size_t size)
{
    if (!json || size > KC_WIRE_BODY_MAX) {
        free (json);
        s_error (self, effect, KC_EINTERNAL,
                 "the answer does not fit its schema or 1 MiB");
        return;
    }
    kc_buf_t b = {0};
    kc_header_id (&b, effect->id);
    kc_wire_t wire;
    kc_wire_init (&wire, KC_VERB_REPLY, b.data, b.size, json, size, NULL, 0);
    kc_buf_free (&b);
    free (json);
    kc_broker_send (self, effect->peer, &wire, "0 broker", true);
}

static void s_add_session (kc_broker_fleet_status_reply_t *r,
                           const kc_session_view_t *v)
{
    kc_broker_session_t *s = kc_push (&r->sessions, &r->n_sessions, sizeof *s);
    kc_type_init (&kc_broker_session_type, s);
    s->instance = kc_strdup (v->instance);
    s->boot = kc_strdup (v->boot);
    s->role = kc_kcp_role_parse (v->role);
    s->has_pid = true;
    s->pid = v->pid;
    s->slots = v->slots;
    s->busy = v->busy;
    s->age_ms = v->age_ms;
    s->silent_ms = v->silent_ms;
    s->draining = v->draining;
    s->served = v->served;
    for (size_t i = 0; i < v->n_ops; i++)
        *(char **)kc_push (&s->ops, &s->n_ops, sizeof (char *)) = kc_strdup (v->ops[i]);
    for (size_t i = 0; i < v->caps->n; i++) {
        kc_kcp_fact_t *f = kc_push (&s->caps, &s->n_caps, sizeof *f);
        f->key = kc_strdup (v->caps->fact[i].key);
        f->text = kc_strdup (v->caps->fact[i].text);
        f->has_number = !f->text;
        f->number = v->caps->fact[i].number;
    }
}

static void s_add_counter (kc_broker_fleet_status_reply_t *r, const char *name,
                           int64_t value)
{
    kc_broker_counter_t *c = kc_push (&r->counters, &r->n_counters, sizeof *c);
    kc_type_init (&kc_broker_counter_type, c);
    c->name = kc_strdup (name);
    c->value = value;
}

static void s_status (kc_broker_t *self, const kc_effect_t *effect, int64_t now)
{
    kc_broker_fleet_status_reply_t *r = kc_broker_fleet_status_reply_new ();
    r->build = kc_strdup (KC_VERSION);
    r->boot = kc_strdup (self->boot);
    r->uptime_ms = now - self->started;
    r->in_flight = (int64_t)kc_core_works (self->core);
    size_t cursor = 0;
    kc_session_view_t session;
    while (r->n_sessions < KC_STATUS_SESSIONS
           && kc_core_session (self->core, &cursor, &session, now))
        s_add_session (r, &session);
    cursor = 0;
    kc_queue_view_t queue;
    while (r->n_queues < KC_STATUS_QUEUES
           && kc_core_queue (self->core, &cursor, &queue, now)) {
        kc_broker_queue_t *q = kc_push (&r->queues, &r->n_queues, sizeof *q);
        kc_type_init (&kc_broker_queue_type, q);
        q->op = kc_strdup (queue.op);
        q->need = queue.need[0] ? kc_strdup (queue.need) : NULL;
        q->held =
            queue.held[0] ? kc_utf8_clean (queue.held, strlen (queue.held), 500) : NULL;
        q->waiting = queue.waiting;
        q->oldest_ms = queue.oldest_ms;
    }
    const kc_counters_t *c = kc_core_counters (self->core);
#define COUNTER(name) s_add_counter (r, #name, c->name);
    KC_COUNTERS (COUNTER)
#undef COUNTER
    s_add_counter (r, "sessions", (int64_t)kc_core_n_sessions (self->core));
    size_t size = 0;
    char *json = kc_broker_fleet_status_reply_encode (r, &size);
    kc_broker_fleet_status_reply_free (&r);
    s_reply (self, effect, json, size);
}

static void s_drain (kc_broker_t *self, const kc_effect_t *effect, int64_t now)
{
    const kc_package_t *p = (const kc_package_t *)(const void *)effect->parcel;
    size_t size;
    const char *json = kc_wire_payload (&p->wire, &size);
    kc_errs_t errs = {0};
    kc_broker_fleet_drain_t *d =
        kc_broker_fleet_drain_decode (json ? json : "", size, KC_WIRE, &errs);
    if (!d) {
        kc_err_t err;
        (void)kc_errs_fail (&errs, &err);
        s_error (self, effect, KC_EINVALID, err.text);
        return;
    }
    kc_broker_fleet_drain_reply_t reply = {
        .found = kc_core_drain (self->core, d->instance, d->undo, now)};
    kc_log (KC_INFO, "fleet.drain", "instance", "s", d->instance, "undo", "b",
            (int)d->undo, "reason", "s", d->reason ? d->reason : "", "found", "i",
            reply.found, NULL);
    kc_broker_fleet_drain_free (&d);
    size = 0;
    char *text = kc_broker_fleet_drain_reply_encode (&reply, &size);
    s_reply (self, effect, text, size);
}

void kc_broker_local (kc_broker_t *self, const kc_effect_t *effect, int64_t now)
{
    if (strcmp (effect->op->name, "broker.fleet.status") == 0)
        s_status (self, effect, now);
    else if (strcmp (effect->op->name, "broker.fleet.drain") == 0)
        s_drain (self, effect, now);
    else
        s_error (self, effect, KC_EUNSUPPORTED,
                 "the broker does not serve this operation");
}
