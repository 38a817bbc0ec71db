// kc_broker.c - see kc_broker.h

#include "broker/kc_broker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "broker/kc_broker_own.h"
#include "common/util/kc_clock.h"
#include "common/util/kc_fs.h"
#include "common/util/kc_hash.h"
#include "common/util/kc_log.h"
#include "common/util/kc_mem.h"

enum {
    BEAT_MS = 1000,
    DEAD_MS = 4000,
    RETRY_BLOCKED_MS = 5,
    ROUTE_HEX = 2 * KC_WIRE_ROUTE_MAX + 1
};

// ---- peers ----

static void s_hex (const kc_route_t *route, char out[ROUTE_HEX])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < route->size; i++) {
        out[2 * i] = digits[route->id[i] >> 4];
        out[2 * i + 1] = digits[route->id[i] & 15];
    }
    out[2 * route->size] = 0;
}

static bool s_find (const kc_broker_t *self, const kc_route_t *route, uint32_t *peer)
{
    char hex[ROUTE_HEX];
    s_hex (route, hex);
    uintptr_t found = (uintptr_t)kc_map_get (self->routes, hex);
    *peer = (uint32_t)found - 1;
    return found != 0;
}

static uint32_t s_peer_new (kc_broker_t *self, const kc_route_t *route)
{
    uint32_t peer;
    if (self->n_free > 0)
        peer = self->free_peers[--self->n_free];
    else {
        peer = (uint32_t)self->n_peers;
        if ((self->n_peers & (self->n_peers - 1)) == 0) { // a power of two, or 0: full
            size_t room = self->n_peers ? 2 * self->n_peers : 1;
            kc_peer_t *peers = kc_calloc (room, sizeof *peers);
            for (size_t i = 0; i < self->n_peers;
                 i++) { // a TAILQ head points into itself
                peers[i] = self->peers[i];
                TAILQ_INIT (&peers[i].outbox);
                TAILQ_CONCAT (&peers[i].outbox, &self->peers[i].outbox, link);
            }
            free (self->peers);
            self->peers = peers;
            self->free_peers =
                kc_realloc (self->free_peers, room * sizeof *self->free_peers);
        }
        self->n_peers++;
    }
    kc_peer_t *p = &self->peers[peer];
    *p = (kc_peer_t){.route = *route};
    TAILQ_INIT (&p->outbox);
    char hex[ROUTE_HEX];
    s_hex (route, hex);
    kc_map_put (self->routes, hex, (void *)(uintptr_t)(peer + 1));
    return peer;
}

static void s_outgoing_free (kc_peer_t *p, kc_outgoing_t *out, bool sent)
{
    TAILQ_REMOVE (&p->outbox, out, link);
    p->n--;
    p->bytes -= out->bytes;
    if (!sent)
        kc_wire_clear (&out->wire);
    free (out);
}

static void s_peer_close (kc_broker_t *self, uint32_t peer)
{
    if (peer >= self->n_peers || self->peers[peer].route.size == 0)
        return;
    kc_peer_t *p = &self->peers[peer];
    if (p->n > 0)
        self->n_blocked--;
    while (!TAILQ_EMPTY (&p->outbox))
        s_outgoing_free (p, TAILQ_FIRST (&p->outbox), false);
    char hex[ROUTE_HEX];
    s_hex (&p->route, hex);
    kc_map_remove (self->routes, hex);
    p->route.size = 0;
    self->free_peers[self->n_free++] = peer;
}

// ---- sending ----

static void s_keep (kc_broker_t *self, uint32_t peer, kc_wire_t *wire,
                    const char *added, bool last, int64_t now)
{
    kc_peer_t *p = &self->peers[peer];
    size_t bytes = kc_wire_bytes (wire);
    if (p->n >= KC_OUTBOX_MESSAGES || p->bytes + bytes > KC_OUTBOX_BYTES) {
        kc_core_gone (self->core, peer, "it takes no messages and its outbox is full",
                      now);
        if (last)
            kc_wire_clear (wire);
        return;
    }
    kc_outgoing_t *out = kc_malloc (sizeof *out);
    if (last)
        memcpy (&out->wire, wire, sizeof *wire);
    else
        kc_wire_copy (&out->wire, wire);
    out->bytes = bytes;
    (void)snprintf (out->added, sizeof out->added, "%s", added);
    if (p->n == 0) {
        p->blocked_since = now;
        self->n_blocked++;
    }
    p->n++;
    p->bytes += bytes;
    TAILQ_INSERT_TAIL (&p->outbox, out, link);
}

// Send or keep; with 'last' the wire is used up.
void kc_broker_send (kc_broker_t *self, uint32_t peer, kc_wire_t *wire,
                     const char *added, bool last)
{
    kc_peer_t *p = peer < self->n_peers ? &self->peers[peer] : NULL;
    if (!p || p->route.size == 0) { // closed by an earlier effect
        if (last)
            kc_wire_clear (wire);
        return;
    }
    kc_sent_t sent = p->n > 0
                         ? KC_SENT_FULL
                         : kc_router_send (self->router, &p->route, wire, added, last);
    switch (sent) {
    case KC_SENT:
        return;
    case KC_SENT_FULL:
        s_keep (self, peer, wire, added, last, kc_clock_ms ());
        return;
    case KC_SENT_GONE:
        kc_core_gone (self->core, peer, "its connection is gone", kc_clock_ms ());
        break;
    }
    if (last)
        kc_wire_clear (wire);
}

// To somebody without a session: tried once, dropped when there is no room.
void kc_broker_reject (kc_broker_t *self, const kc_route_t *route, kc_code_t code,
                       const char *text)
{
    kc_buf_t b = {0};
    kc_header_error (&b, NULL, code, text, 0);
    kc_wire_t wire;
    kc_wire_init (&wire, KC_VERB_REJECT, b.data, b.size, NULL, 0, NULL, 0);
    if (kc_router_send (self->router, route, &wire, "", true) != KC_SENT)
        kc_wire_clear (&wire);
    kc_buf_free (&b);
}

static void s_send_header (kc_broker_t *self, uint32_t peer, kc_verb_t verb,
                           kc_buf_t *header)
{
    kc_wire_t wire;
    kc_wire_init (&wire, verb, header->data, header->size, NULL, 0, NULL, 0);
    kc_buf_free (header);
    kc_broker_send (self, peer, &wire, "", true);
}

static void s_flush_blocked (kc_broker_t *self, int64_t now)
{
    for (uint32_t i = 0; i < self->n_peers && self->n_blocked > 0; i++) {
        kc_peer_t *p = &self->peers[i];
        bool gone = false, moved = false;
        while (p->route.size > 0 && p->n > 0 && !gone) {
            kc_outgoing_t *out = TAILQ_FIRST (&p->outbox);
            kc_sent_t sent =
                kc_router_send (self->router, &p->route, &out->wire, out->added, true);
            if (sent == KC_SENT_FULL)
                break;
            gone = sent == KC_SENT_GONE;
            s_outgoing_free (p, out, !gone);
            moved = true;
            if (p->n == 0)
                self->n_blocked--;
        }
        if (moved)
            p->blocked_since = now;
        if (gone)
            kc_core_gone (self->core, i, "its connection is gone", now);
        else if (p->n > 0 && now - p->blocked_since > self->config.dead_ms)
            kc_core_gone (self->core, i, "it takes no messages", now);
    }
}

// ---- effects ----

static void s_welcome (kc_broker_t *self, uint32_t peer)
{
    kc_buf_t b = {0};
    kc_buf_printf (&b,
                   "{\"beat_ms\":%lld,\"boot\":\"%s\",\"build\":\"%s\",\"dead_ms\":%"
                   "lld,\"max_payload\":%d,"
                   "\"session\":\"s%u\"}",
                   (long long)self->config.beat_ms, self->boot, KC_VERSION,
                   (long long)self->config.dead_ms, KC_WIRE_BODY_MAX, peer);
    s_send_header (self, peer, KC_VERB_WELCOME, &b);
}

static void s_do (kc_broker_t *self, kc_effect_t *e, int64_t now)
{
    char added[KC_WIRE_ADDED_MAX + 1];
    kc_buf_t b = {0};
    switch (e->kind) {
    case KC_DO_GRANT:
    case KC_DO_ANSWER: {
        (void)snprintf (added, sizeof added, "%lld %s", (long long)e->ttl_ms, e->from);
        kc_package_t *p = (kc_package_t *)(void *)e->parcel;
        kc_broker_send (self, e->peer, &p->wire, added, false);
        return;
    }
    case KC_DO_ERROR:
        kc_header_error (&b, e->id, e->code, e->text, e->retry_after_ms);
        s_send_header (self, e->peer, KC_VERB_ERROR, &b);
        return;
    case KC_DO_CANCEL:
        kc_header_id (&b, e->id);
        s_send_header (self, e->peer, KC_VERB_CANCEL, &b);
        return;
    case KC_DO_WELCOME:
        s_welcome (self, e->peer);
        return;
    case KC_DO_REJECT:
        kc_log (KC_INFO, "session.rejected", "code", "s", kc_code_name (e->code),
                "text", "s", e->text, NULL);
        kc_header_error (&b, NULL, e->code, e->text, 0);
        s_send_header (self, e->peer, KC_VERB_REJECT, &b);
        return;
    case KC_DO_PONG:
        kc_buf_puts (&b, e->draining ? "{\"draining\":true}" : "{}");
        s_send_header (self, e->peer, KC_VERB_PONG, &b);
        return;
    case KC_DO_LOCAL:
        kc_broker_local (self, e, now);
        return;
    case KC_DO_CLOSE:
        s_peer_close (self, e->peer);
        return;
    }
}

static void s_effects (kc_broker_t *self, int64_t now)
{
    kc_effect_t e;
    while (kc_core_next (self->core, &e)) {
        s_do (self, &e, now);
        kc_effect_free (&e);
    }
}

// ---- messages in ----

static void s_package_free (kc_parcel_t *parcel)
{
    kc_package_t *p = (kc_package_t *)(void *)parcel;
    kc_wire_clear (&p->wire);
    free (p);
}

// The message as something the core can hold; 'wire' is moved out.
static kc_parcel_t *s_package (kc_wire_t *wire)
{
    kc_package_t *p = kc_malloc (sizeof *p);
    p->parcel =
        (kc_parcel_t){.refs = 1, .size = kc_wire_bytes (wire), .free = s_package_free};
    memcpy (&p->wire, wire, sizeof *wire);
    return &p->parcel;
}

// A peer that breaks the protocol is told so and has no session any more.
static void s_malformed (kc_broker_t *self, const kc_route_t *route, const char *text,
                         int64_t now)
{
    kc_core_bad (self->core);
    uint32_t peer;
    if (route->size == 0)
        return;
    kc_log (KC_WARN, "message.bad", "error", "s", text, NULL);
    kc_broker_reject (self, route, KC_EPROTO, text);
    if (s_find (self, route, &peer))
        kc_core_gone (self->core, peer, "it sent a malformed message", now);
}

static int s_request (kc_broker_t *self, uint32_t peer, kc_wire_t *wire,
                      const char *data, size_t size, int64_t now, kc_err_t *err)
{
    const kc_header_t *h = &self->header;
    char key[KC_WIRE_HEADER_MAX + 1] = "";
    const kc_need_t *need = NULL;
    if (h->need_size > 2) { // longer than []
        memcpy (key, h->need, h->need_size);
        key[h->need_size] = 0;
        need = kc_broker_need (self, key, data, size, err);
        if (!need)
            return -1;
    }
    kc_ask_t ask = {.id = h->word[KC_H_ID],
                    .op = h->word[KC_H_OP],
                    .flow = h->word[KC_H_FLOW],
                    .sum = h->word[KC_H_SUM],
                    .ttl_ms = h->number[KC_H_TTL_MS],
                    .need_key = key,
                    .need = need,
                    .chunk = wire->has_chunk};
    kc_core_request (self->core, peer, &ask, s_package (wire), now);
    return 0;
}

// A message of a known peer; the wire is used up.  -1 when its header is malformed.
static int s_known (kc_broker_t *self, uint32_t peer, kc_wire_t *wire, int64_t now,
                    kc_err_t *err)
{
    size_t size;
    const char *data = kc_wire_header (wire, &size);
    int rc = 0;
    switch (wire->verb) {
    case KC_VERB_PING:
        kc_core_ping (self->core, peer, now);
        break;
    case KC_VERB_BYE:
        kc_core_bye (self->core, peer, now);
        break;
    case KC_VERB_HELLO:
        kc_broker_hello (self, peer, wire, now);
        break;
    case KC_VERB_REQUEST:
        rc = kc_header_read (&self->header, wire->verb, data, size, err);
        if (rc == 0)
            rc = s_request (self, peer, wire, data, size, now, err);
        if (rc == 0)
            return 0; // the core has the message
        break;
    case KC_VERB_REPLY:
    case KC_VERB_ERROR:
        rc = kc_header_read (&self->header, wire->verb, data, size, err);
        if (rc == 0) {
            bool failed = wire->verb == KC_VERB_ERROR;
            kc_core_reply (self->core, peer, self->header.word[KC_H_ID],
                           s_package (wire), failed, now);
            return 0;
        }
        break;
    case KC_VERB_CANCEL:
        rc = kc_header_read (&self->header, wire->verb, data, size, err);
        if (rc == 0)
            kc_core_cancel (self->core, peer, self->header.word[KC_H_ID], now);
        break;
    case KC_VERB_WELCOME:
    case KC_VERB_REJECT:
    case KC_VERB_PONG:
    case KC_VERB_COUNT:
        rc = kc_fail (err, KC_EPROTO, "verb %s is not for a broker",
                      kc_verb_name (wire->verb));
        break;
    }
    kc_wire_clear (wire);
    return rc;
}

static void s_message (kc_broker_t *self, const kc_route_t *route, kc_wire_t *wire,
                       int64_t now)
{
    uint32_t peer;
    bool known = s_find (self, route, &peer);
    if (!known && wire->verb != KC_VERB_HELLO) {
        if (wire->verb != KC_VERB_BYE)
            kc_broker_reject (self, route, KC_ESTATE,
                              "no session on this connection; say HELLO on a new one");
        kc_wire_clear (wire);
        return;
    }
    if (!known)
        peer = s_peer_new (self, route);
    kc_err_t err;
    if (s_known (self, peer, wire, now, &err) < 0)
        s_malformed (self, route, err.text, now);
}

static bool s_receive (kc_broker_t *self)
{
    int64_t now = kc_clock_ms ();
    for (int i = 0; i < KC_BROKER_TURN; i++) {
        kc_route_t route;
        kc_wire_t wire;
        kc_got_t got = kc_router_recv (self->router, &route, &wire);
        switch (got) {
        case KC_GOT_NONE:
        case KC_GOT_CLOSED:
            return false;
        case KC_GOT_BAD:
            s_malformed (self, &route, "a message breaks the frame rules of KCP1", now);
            break;
        case KC_GOT_MESSAGE:
            s_message (self, &route, &wire, now);
            break;
        }
        s_effects (self, now);
    }
    return true;
}

static void s_tick (kc_loop_t *loop, int64_t timer, void *arg)
{
    (void)loop;
    (void)timer;
    kc_broker_t *self = arg;
    for (int i = 0; i < 64 && s_receive (self); i++)
        ; // what has come is heard before anybody is judged silent
    int64_t now = kc_clock_ms ();
    kc_core_tick (self->core, now);
    s_effects (self, now);
}

// ---- life ----

int kc_broker_run (kc_broker_t *self, kc_err_t *err)
{
    while (!kc_loop_stopped (self->loop)) {
        bool more = s_receive (self);
        int64_t now = kc_clock_ms ();
        if (self->n_blocked > 0) {
            s_flush_blocked (self, now);
            s_effects (self, now);
        }
        int64_t wait = more ? 0 : kc_loop_wait_ms (self->loop);
        if (self->n_blocked > 0 && (wait < 0 || wait > RETRY_BLOCKED_MS))
            wait = RETRY_BLOCKED_MS; // libzmq does not tell when a ROUTER's peer has
                                     // room again
        bool ready = kc_router_wait (self->router, kc_loop_fd (self->loop), wait);
        if ((ready || kc_loop_wait_ms (self->loop) == 0)
            && kc_loop_turn (self->loop, 0, err) < 0)
            return -1;
    }
    return 0;
}

kc_broker_t *kc_broker_new (const kc_broker_config_t *config, kc_loop_t *loop,
                            kc_err_t *err)
{
    kc_broker_t *self = kc_calloc (1, sizeof *self);
    self->config = *config;
    if (!self->config.beat_ms)
        self->config.beat_ms = BEAT_MS;
    if (!self->config.dead_ms)
        self->config.dead_ms = DEAD_MS;
    self->loop = loop;
    self->lock_fd = -1;
    self->dir = kc_strdup (config->run_dir);
    self->path = kc_fs_join (config->run_dir, "broker.sock");
    kc_ulid (self->boot);
    self->routes = kc_map_new (NULL);
    self->needs = kc_map_new (NULL);
    self->started = kc_clock_ms ();
    kc_core_config_t core = {.beat_ms = self->config.beat_ms,
                             .dead_ms = self->config.dead_ms,
                             .tick_ms = KC_BROKER_TICK_MS};
    self->core = kc_core_new (&core, self->started);
    char *lock = kc_fs_join (config->run_dir, "broker.lock");
    int rc = kc_fs_mkdir (self->dir, 0700, err);
    if (rc == 0 && (self->lock_fd = kc_fs_lock (lock, err)) < 0)
        rc = kc_fail_in (err, "another broker serves %s", self->dir);
    if (rc == 0 && !(self->router = kc_router_new (self->path, err)))
        rc = -1;
    free (lock);
    if (rc < 0) {
        kc_broker_destroy (&self);
        return NULL;
    }
    (void)kc_loop_timer_add (loop, KC_BROKER_TICK_MS, KC_BROKER_TICK_MS, s_tick, self);
    kc_log (KC_INFO, "broker.listening", "path", "s", self->path, "boot", "s",
            self->boot, NULL);
    return self;
}

void kc_broker_destroy (kc_broker_t **self_p)
{
    kc_broker_t *self = *self_p;
    if (!self)
        return;
    *self_p = NULL;
    for (uint32_t i = 0; self->router && i < self->n_peers; i++)
        if (self->peers[i].route.size > 0) {
            s_flush_blocked (self, kc_clock_ms ());
            kc_broker_reject (self, &self->peers[i].route, KC_ESTATE,
                              "the broker goes down");
        }
    for (uint32_t i = 0; i < self->n_peers; i++)
        s_peer_close (self, i);
    kc_core_destroy (&self->core);
    kc_router_destroy (&self->router);
    size_t cursor = 0;
    kc_need_t *need;
    while ((need = kc_map_next (self->needs, &cursor, NULL))) {
        kc_need_free (need);
        free (need);
    }
    kc_map_destroy (&self->needs);
    kc_map_destroy (&self->routes);
    if (self->lock_fd >= 0)
        close (self->lock_fd);
    free (self->peers);
    free (self->free_peers);
    free (self->path);
    free (self->dir);
    free (self);
}
