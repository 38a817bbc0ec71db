// kc_node.c - life and connection of a node; see kc_node.h

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/net/kc_node_own.h"
#include "common/util/kc_fs.h"
#include "common/util/kc_hash.h"
#include "common/util/kc_log.h"
#include "common/util/kc_mem.h"

enum { SOCKET_PATH_MAX = 107, EVENTS_TURN = 512 };

// ---- sending ----

void kc_node_send (kc_node_t *self, kc_verb_t verb, const kc_buf_t *header,
                   const kc_wire_t *body)
{
    kc_wire_t wire;
    if (body) {
        kc_wire_t fresh;
        kc_wire_init (&fresh, verb, header->data, header->size, NULL, 0, NULL, 0);
        kc_wire_copy (&wire, body);
        kc_frame_t old = wire.header;
        wire.header = fresh.header;
        fresh.header = old;
        wire.verb = verb;
        kc_wire_clear (&fresh);
    }
    else
        kc_wire_init (&wire, verb, header->data, header->size, NULL, 0, NULL, 0);
    kc_link_send (self->link, &wire);
}

static void s_put_list (kc_buf_t *out, const char *key, char *const *list, size_t n)
{
    kc_buf_printf (out, "\"%s\":[", key);
    for (size_t i = 0; i < n; i++) {
        kc_buf_puts (out, i ? ",\"" : "\"");
        kc_buf_json (out, list[i], strlen (list[i]));
        kc_buf_putc (out, '"');
    }
    kc_buf_puts (out, "],");
}

// 'fresh' = on a new connection: what we hold is listed, too.
static void s_hello (kc_node_t *self, bool fresh)
{
    char *held[KC_NODE_HOLDING_MAX];
    size_t n = 0, cursor = 0;
    kc_run_t *run;
    while (fresh && n < KC_NODE_HOLDING_MAX
           && (run = kc_map_next (self->runs, &cursor, NULL)))
        held[n++] = run->id;
    kc_kept_t *kept;
    if (fresh)
        TAILQ_FOREACH (kept, &self->kept, link)
    if (n < KC_NODE_HOLDING_MAX)
        held[n++] = kept->id;
    kc_buf_t b = {0};
    kc_buf_printf (&b, "{\"boot\":\"%s\",\"build\":\"%s\",", self->boot, KC_VERSION);
    if (self->caps)
        kc_buf_printf (&b, "\"caps\":%s,", self->caps);
    s_put_list (&b, "holding", held, n);
    kc_buf_puts (&b, "\"instance\":\"");
    kc_buf_json (&b, self->instance, strlen (self->instance));
    kc_buf_puts (&b, "\",");
    s_put_list (&b, "ops", self->ops, self->n_ops);
    kc_buf_printf (&b, "\"pid\":%d,\"proto\":1,\"role\":\"%s\",\"slots\":%d}",
                   (int)getpid (), self->role, self->draining ? 0 : self->slots);
    kc_node_send (self, KC_VERB_HELLO, &b, NULL);
    kc_buf_free (&b);
}

// ---- connection ----

static void s_tell (kc_node_t *self, kc_node_state_t state, const char *text)
{
    if (self->config.on_state)
        self->config.on_state (self->config.arg, self, state, text);
}

static void s_connect (kc_node_t *self)
{
    kc_link_open (self->link, ++self->generation);
    self->phase = KC_PHASE_HELLO;
    self->phase_until = kc_loop_now (self->loop) + KC_NODE_HELLO_MS;
    s_hello (self, true);
}

// A wait before the next socket, longer each time, never the same for two processes.
static void s_back_off (kc_node_t *self)
{
    uint16_t dice;
    kc_random (&dice, sizeof dice);
    self->phase = KC_PHASE_WAIT;
    self->phase_until =
        kc_loop_now (self->loop) + self->back_ms / 2 + dice % (self->back_ms / 2 + 1);
    self->back_ms = self->back_ms * 2 < KC_NODE_BACK_MAX_MS ? self->back_ms * 2
                                                            : KC_NODE_BACK_MAX_MS;
}

static void s_lost (kc_node_t *self, const char *why)
{
    bool was_up = self->phase == KC_PHASE_UP;
    if (was_up)
        self->down_since = kc_loop_now (self->loop);
    s_back_off (self);
    if (was_up) {
        kc_log (KC_WARN, "broker.lost", "why", "s", why, NULL);
        s_tell (self, KC_NODE_LOST, why);
    }
}

static void s_over (kc_node_t *self, kc_node_state_t state, kc_code_t code,
                    const char *text)
{
    if (self->phase == KC_PHASE_OVER)
        return;
    self->phase = KC_PHASE_OVER;
    self->over = code;
    (void)snprintf (self->over_text, sizeof self->over_text, "%s", text);
    kc_log (KC_ERROR, state == KC_NODE_DISPLACED ? "node.displaced" : "node.refused",
            "text", "s", text, NULL);
    kc_node_calls_end (self, code, self->over_text);
    s_tell (self, state, self->over_text);
}

static void s_welcome (kc_node_t *self)
{
    if (self->phase != KC_PHASE_HELLO)
        return; // the answer to a HELLO that brought news only
    kc_link_beat (self->link, self->header.number[KC_H_BEAT_MS],
                  self->header.number[KC_H_DEAD_MS]);
    self->phase = KC_PHASE_UP;
    self->back_ms = KC_NODE_BACK_MIN_MS;
    self->told_draining = self->gave_up = false;
    kc_log (KC_INFO, "broker.welcome", "broker", "s", self->header.word[KC_H_BOOT],
            NULL);
    kc_node_resend (self);
    s_tell (self, KC_NODE_CONNECTED, "");
}

static void s_rejected (kc_node_t *self)
{
    kc_code_t code = kc_code_parse (self->header.word[KC_H_CODE]);
    char text[KC_ERR_TEXT];
    (void)snprintf (text, sizeof text, "%s", self->header.word[KC_H_TEXT]);
    if (code == KC_EDISPLACED)
        s_over (self, KC_NODE_DISPLACED, code, text);
    else if (code == KC_ESTATE || code == KC_EBUSY) {
        bool at_once =
            code == KC_ESTATE
            && self->phase == KC_PHASE_UP; // a new broker that does not know us
        s_lost (self, text);
        if (at_once)
            self->phase_until = 0;
    }
    else
        s_over (self, KC_NODE_REFUSED, code, text);
}

static void s_pong (kc_node_t *self)
{
    bool draining = self->header.number[KC_H_DRAINING] != 0;
    bool news = draining && !self->told_draining;
    self->told_draining = draining;
    if (news)
        s_tell (self, KC_NODE_DRAINING, "an administrator drains this worker");
}

static void s_message (kc_node_t *self, kc_wire_t *wire)
{
    size_t size;
    const char *data = kc_wire_header (wire, &size);
    kc_err_t err;
    if (kc_header_read (&self->header, wire->verb, data, size, &err) < 0) {
        kc_log (KC_WARN, "node.bad_header", "error", "s", err.text, NULL);
        kc_wire_clear (wire);
        return;
    }
    switch (wire->verb) {
    case KC_VERB_REQUEST:
        kc_node_take (self, &self->header, wire);
        return; // it has the wire now
    case KC_VERB_REPLY:
    case KC_VERB_ERROR:
        kc_node_answer (self, &self->header, wire);
        break;
    case KC_VERB_CANCEL:
        kc_node_cancelled (self, self->header.word[KC_H_ID]);
        break;
    case KC_VERB_WELCOME:
        s_welcome (self);
        break;
    case KC_VERB_REJECT:
        s_rejected (self);
        break;
    case KC_VERB_PONG:
        s_pong (self);
        break;
    case KC_VERB_HELLO:
    case KC_VERB_PING:
    case KC_VERB_BYE:
    case KC_VERB_COUNT:
        break; // not for us
    }
    kc_wire_clear (wire);
}

static void s_events (kc_loop_t *loop, int fd, unsigned events, void *arg)
{
    (void)loop;
    (void)fd;
    (void)events;
    kc_node_t *self = arg;
    kc_link_event_t *e = kc_link_take (self->link);
    while (e) {
        kc_link_event_t *next = e->next;
        if (e->generation != self->generation || self->phase == KC_PHASE_OVER
            || self->phase == KC_PHASE_WAIT)
            kc_link_event_free (e);
        else if (e->kind == KC_LINK_MESSAGE) {
            s_message (self, &e->wire);
            free (e);
        }
        else {
            kc_link_event_free (e);
            s_lost (self, "the broker is silent");
        }
        e = next;
    }
}

static void s_tick (kc_loop_t *loop, int64_t timer, void *arg)
{
    (void)timer;
    kc_node_t *self = arg;
    int64_t now = kc_loop_now (loop);
    if (self->phase == KC_PHASE_WAIT && now >= self->phase_until)
        s_connect (self);
    else if (self->phase == KC_PHASE_HELLO && now >= self->phase_until)
        s_back_off (self);
    int64_t patience = self->config.give_up_ms;
    if (patience > 0 && self->phase != KC_PHASE_UP && self->phase != KC_PHASE_OVER
        && now - self->down_since >= patience) {
        if (!self->gave_up)
            kc_log (KC_WARN, "broker.unreachable", "endpoint", "s", self->endpoint,
                    NULL);
        self->gave_up = true;
        char text[KC_ERR_TEXT];
        (void)snprintf (text, sizeof text,
                        "no broker answers at %s; start it with: deploy/fleet up",
                        self->endpoint);
        kc_node_calls_end (self, KC_EUNREACHABLE, text);
    }
    kc_node_calls_tick (self, now);
    kc_node_serve_tick (self, now);
}

// ---- life ----

static char *s_default_instance (const char *role)
{
    char host[65] = "localhost";
    (void)gethostname (host, sizeof host - 1);
    return kc_asprintf ("%s-%d@%.60s", role, (int)getpid (), host);
}

static int s_check (const kc_node_config_t *c, kc_err_t *err)
{
    if (!c->loop || !c->role || !c->role[0])
        return kc_fail (err, KC_EINTERNAL, "node: a loop and a role are needed");
    if (c->instance && (!c->instance[0] || strlen (c->instance) > KC_NODE_ID_MAX))
        return kc_fail (err, KC_EUSAGE, "--instance: 1 to %d bytes", KC_NODE_ID_MAX);
    if (c->caps && strlen (c->caps) > KC_NODE_CAPS_MAX)
        return kc_fail (err, KC_EINVALID,
                        "node: caps have %zu bytes, at most %d are allowed",
                        strlen (c->caps), KC_NODE_CAPS_MAX);
    if (c->slots < 0 || c->slots > KC_NODE_SLOTS_MAX)
        return kc_fail (err, KC_EINVALID, "node: %d slots, 0 to %d are allowed",
                        c->slots, KC_NODE_SLOTS_MAX);
    return 0;
}

static int s_endpoint (kc_node_t *self, const kc_node_config_t *c, kc_err_t *err)
{
    if (c->endpoint)
        self->endpoint = kc_strdup (c->endpoint);
    else {
        char *dir = kc_fs_dir (KC_DIR_RUN, c->run_dir);
        self->endpoint = kc_asprintf ("ipc://%s/broker.sock", dir);
        free (dir);
    }
    if (strlen (self->endpoint) > SOCKET_PATH_MAX + 6)
        return kc_fail (err, KC_EUSAGE,
                        "the socket path %s has %zu bytes, the system allows %d; "
                        "choose a shorter --run",
                        self->endpoint + 6, strlen (self->endpoint) - 6,
                        SOCKET_PATH_MAX);
    return 0;
}

kc_node_t *kc_node_new (const kc_node_config_t *config, kc_err_t *err)
{
    if (s_check (config, err) < 0)
        return NULL;
    kc_node_t *self = kc_calloc (1, sizeof *self);
    self->config = *config;
    self->loop = config->loop;
    self->role = kc_strdup (config->role);
    self->instance = config->instance ? kc_strdup (config->instance)
                                      : s_default_instance (config->role);
    self->caps = kc_strdup (config->caps);
    self->slots = config->slots;
    kc_ulid (self->boot);
    for (size_t i = 0; config->ops && config->ops[i]; i++)
        *(char **)kc_push (&self->ops, &self->n_ops, sizeof (char *)) =
            kc_strdup (config->ops[i]);
    self->calls = kc_map_new (NULL);
    self->runs = kc_map_new (NULL);
    self->kept_ids = kc_map_new (NULL);
    TAILQ_INIT (&self->backlog);
    TAILQ_INIT (&self->kept);
    self->back_ms = KC_NODE_BACK_MIN_MS;
    self->down_since = kc_loop_now (self->loop);
    int rc = s_endpoint (self, config, err);
    if (rc == 0 && self->n_ops > KC_NODE_OPS_MAX)
        rc = kc_fail (err, KC_EINVALID, "node: more than %d operations",
                      KC_NODE_OPS_MAX);
    if (rc == 0 && self->n_ops > 0 && !config->on_request)
        rc = kc_fail (err, KC_EINTERNAL, "node: operations without on_request");
    if (rc == 0 && !(self->link = kc_link_new (self->endpoint, err)))
        rc = -1;
    if (rc == 0)
        rc = kc_loop_fd_add (self->loop, kc_link_fd (self->link), KC_LOOP_IN, s_events,
                             self, err);
    if (rc < 0) {
        kc_node_destroy (&self);
        return NULL;
    }
    self->timer =
        kc_loop_timer_add (self->loop, KC_NODE_TICK_MS, KC_NODE_TICK_MS, s_tick, self);
    s_connect (self);
    return self;
}

void kc_node_destroy (kc_node_t **self_p)
{
    kc_node_t *self = *self_p;
    if (!self)
        return;
    *self_p = NULL;
    kc_node_close_calls (self);
    if (self->link) {
        if (self->phase == KC_PHASE_UP) {
            kc_buf_t b = {0};
            kc_buf_puts (&b, "{}");
            kc_node_send (self, KC_VERB_BYE, &b, NULL);
            kc_buf_free (&b);
        }
        kc_loop_timer_del (self->loop, self->timer);
        kc_loop_fd_del (self->loop, kc_link_fd (self->link));
        kc_link_destroy (&self->link, self->phase == KC_PHASE_UP);
    }
    kc_node_serve_end (self);
    kc_map_destroy (&self->calls);
    kc_map_destroy (&self->runs);
    kc_map_destroy (&self->kept_ids);
    kc_heap_free (&self->heap);
    for (size_t i = 0; i < self->n_ops; i++)
        free (self->ops[i]);
    free (self->ops);
    free (self->endpoint);
    free (self->instance);
    free (self->role);
    free (self->caps);
    free (self);
}

// ---- news and views ----

static void s_news (kc_node_t *self)
{
    if (self->phase == KC_PHASE_UP)
        s_hello (self, false);
}

void kc_node_set_slots (kc_node_t *self, int slots)
{
    kc_assert (slots >= 0 && slots <= KC_NODE_SLOTS_MAX);
    self->slots = slots;
    s_news (self);
    kc_node_pump (self);
}

int kc_node_set_caps (kc_node_t *self, const char *caps, kc_err_t *err)
{
    if (caps && strlen (caps) > KC_NODE_CAPS_MAX)
        return kc_fail (err, KC_EINVALID,
                        "node: caps have %zu bytes, at most %d are allowed",
                        strlen (caps), KC_NODE_CAPS_MAX);
    kc_set (&self->caps, caps);
    s_news (self);
    return 0;
}

void kc_node_drain (kc_node_t *self)
{
    self->draining = true;
    s_news (self);
}

bool kc_node_idle (const kc_node_t *self)
{
    return kc_map_size (self->runs) == 0
           && (self->phase != KC_PHASE_UP || kc_link_pending (self->link) == 0);
}

bool kc_node_connected (const kc_node_t *self)
{
    return self->phase == KC_PHASE_UP;
}

int kc_node_running (const kc_node_t *self)
{
    return (int)kc_map_size (self->runs);
}

int kc_node_open_calls (const kc_node_t *self)
{
    return (int)kc_map_size (self->calls);
}

const char *kc_node_instance (const kc_node_t *self)
{
    return self->instance;
}

const char *kc_node_boot (const kc_node_t *self)
{
    return self->boot;
}
