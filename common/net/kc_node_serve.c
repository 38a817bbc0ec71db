// kc_node_serve.c - requests that this process runs, and the replies it keeps; see
// kc_node.h

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/net/kc_node_own.h"
#include "common/util/kc_log.h"
#include "common/util/kc_mem.h"

static void s_run_free (kc_run_t *run)
{
    kc_wire_clear (&run->wire);
    free (run->id);
    free (run->op);
    free (run->flow);
    free (run->from);
    free (run);
}

static void s_kept_drop (kc_node_t *self, kc_kept_t *kept)
{
    TAILQ_REMOVE (&self->kept, kept, link);
    if (kc_map_get (self->kept_ids, kept->id) == kept)
        kc_map_remove (self->kept_ids, kept->id);
    self->n_kept--;
    self->kept_bytes -= kept->bytes;
    kc_wire_clear (&kept->wire);
    free (kept->id);
    free (kept);
}

static void s_keep (kc_node_t *self, const kc_run_t *run, const kc_wire_t *reply)
{
    kc_kept_t *old = kc_map_get (self->kept_ids, run->id);
    if (old)
        s_kept_drop (self, old);
    kc_kept_t *kept = kc_calloc (1, sizeof *kept);
    kept->id = kc_strdup (run->id);
    memcpy (kept->sum, run->sum, sizeof kept->sum);
    kc_wire_copy (&kept->wire, reply);
    kept->bytes = kc_wire_bytes (reply);
    kept->until = kc_loop_now (self->loop) + KC_NODE_KEPT_MS;
    TAILQ_INSERT_TAIL (&self->kept, kept, link);
    kc_map_put (self->kept_ids, kept->id, kept);
    self->n_kept++;
    self->kept_bytes += kept->bytes;
    while (self->n_kept > KC_NODE_KEPT_MAX || self->kept_bytes > KC_NODE_KEPT_BYTES)
        s_kept_drop (self, TAILQ_FIRST (&self->kept));
}

void kc_node_serve_tick (kc_node_t *self, int64_t now)
{
    kc_kept_t *kept;
    while ((kept = TAILQ_FIRST (&self->kept)) && kept->until <= now)
        s_kept_drop (self, kept);
}

static void s_send_error (kc_node_t *self, const char *id, kc_code_t code,
                          const char *text, int64_t retry)
{
    if (self->phase != KC_PHASE_UP)
        return; // whoever waits asks again after the next WELCOME
    kc_buf_t b = {0};
    kc_header_error (&b, id, code, text, retry);
    kc_node_send (self, KC_VERB_ERROR, &b, NULL);
    kc_buf_free (&b);
}

static void s_send_copy (kc_node_t *self, const kc_wire_t *reply)
{
    if (self->phase != KC_PHASE_UP)
        return; // it is kept
    kc_wire_t copy;
    kc_wire_copy (&copy, reply);
    kc_link_send (self->link, &copy);
}

// The id is known here already: it runs, waits for a slot, or its reply is kept.
static bool s_repeated (kc_node_t *self, const char *id, const char *sum)
{
    kc_run_t *run = kc_map_get (self->runs, id);
    kc_kept_t *kept = run ? NULL : kc_map_get (self->kept_ids, id);
    if (run && (strcmp (run->sum, sum) != 0 || run->cancelled)) {
        if (run->cancelled)
            s_send_error (self, id, KC_EBUSY,
                          "the earlier request of this id is being cancelled",
                          KC_NODE_GRACE_MS / 4);
        else
            s_send_error (self, id, KC_ECONFLICT,
                          "a request with this id and another content runs here", 0);
        return true;
    }
    if (run)
        return true;
    if (!kept || strcmp (kept->sum, sum) != 0)
        return false;
    s_send_copy (self, &kept->wire);
    return true;
}

void kc_node_take (kc_node_t *self, const kc_header_t *header, kc_wire_t *wire)
{
    const char *id = header->word[KC_H_ID];
    if (self->n_ops == 0 || s_repeated (self, id, header->word[KC_H_SUM])) {
        kc_wire_clear (wire);
        return;
    }
    if ((int)kc_map_size (self->runs) >= 2 * (self->slots > 0 ? self->slots : 1)) {
        s_send_error (self, id, KC_EBUSY, "every slot of this worker is taken",
                      1000); // the broker counted otherwise
        kc_wire_clear (wire);
        return;
    }
    kc_run_t *run = kc_calloc (1, sizeof *run);
    char *from = NULL;
    int64_t ttl = strtoll (wire->added, &from, 10);
    run->id = kc_strdup (id);
    run->op = kc_strdup (header->word[KC_H_OP]);
    run->flow = kc_strdup (header->word[KC_H_FLOW]);
    run->from = kc_strdup (*from == ' ' ? from + 1 : "");
    (void)snprintf (run->sum, sizeof run->sum, "%s", header->word[KC_H_SUM]);
    memcpy (&run->wire, wire, sizeof *wire);
    run->request = (kc_request_t){.id = run->id,
                                  .op = run->op,
                                  .flow = run->flow,
                                  .from = run->from,
                                  .ttl_ms = ttl > 0 ? ttl : 0,
                                  .arrived = kc_loop_now (self->loop)};
    run->request.payload = kc_wire_payload (&run->wire, &run->request.payload_size);
    run->request.chunk = kc_wire_chunk (&run->wire, &run->request.chunk_size);
    if (!run->request.payload)
        run->request.payload = "";
    kc_map_put (self->runs, run->id, run);
    TAILQ_INSERT_TAIL (&self->backlog, run, link);
    kc_node_pump (self);
}

// A worker that came back to a fresh broker may be given more than its slots: the rest
// waits here.
void kc_node_pump (kc_node_t *self)
{
    if (self->inside)
        return; // on_request may end its request at once: the loop below goes on,
                // without recursion
    self->inside = true;
    kc_run_t *run;
    while ((run = TAILQ_FIRST (&self->backlog))
           && (self->running < self->slots || self->running == 0)) {
        TAILQ_REMOVE (&self->backlog, run, link);
        run->started = true;
        self->running++;
        self->config.on_request (self->config.arg, self, &run->request);
    }
    self->inside = false;
}

void kc_node_cancelled (kc_node_t *self, const char *id)
{
    kc_run_t *run = kc_map_get (self->runs, id);
    if (!run || run->cancelled)
        return;
    run->cancelled = true;
    if (run->started) {
        if (self->config.on_cancel)
            self->config.on_cancel (self->config.arg, self, run->id);
        return;
    }
    s_send_error (self, id, KC_ECANCELLED, "cancelled before it started", 0);
    TAILQ_REMOVE (&self->backlog, run, link);
    kc_map_remove (self->runs, run->id);
    s_run_free (run);
}

static void s_finish (kc_node_t *self, kc_run_t *run)
{
    kc_map_take (self->runs, run->id);
    self->running--;
    s_run_free (run);
    kc_node_pump (self);
}

int kc_node_reply (kc_node_t *self, const char *id, const void *payload,
                   size_t payload_size, const void *chunk, size_t chunk_size,
                   kc_err_t *err)
{
    if (payload_size > KC_NODE_PAYLOAD_MAX || chunk_size > KC_NODE_PAYLOAD_MAX)
        return kc_fail (err, KC_EINVALID,
                        "reply to %s: payload %zu, chunk %zu bytes; at most %d each",
                        id, payload_size, chunk_size, KC_NODE_PAYLOAD_MAX);
    kc_run_t *run = kc_map_get (self->runs, id);
    if (!run || !run->started) {
        kc_log (KC_WARN, "node.reply_unknown", "id", "s", id, NULL);
        return 0;
    }
    kc_buf_t b = {0};
    kc_header_id (&b, id);
    kc_wire_t wire;
    kc_wire_init (&wire, KC_VERB_REPLY, b.data, b.size, payload ? payload : "",
                  payload_size, chunk, chunk_size);
    kc_buf_free (&b);
    if (!run->cancelled)
        s_keep (self, run, &wire);
    if (self->phase == KC_PHASE_UP)
        kc_link_send (self->link, &wire);
    else
        kc_wire_clear (&wire);
    s_finish (self, run);
    return 0;
}

void kc_node_error (kc_node_t *self, const char *id, const kc_err_t *error,
                    int64_t retry_after_ms)
{
    kc_run_t *run = kc_map_get (self->runs, id);
    if (!run || !run->started) {
        kc_log (KC_WARN, "node.reply_unknown", "id", "s", id, NULL);
        return;
    }
    kc_code_t code = error->code == KC_OK ? KC_EINTERNAL : error->code;
    s_send_error (self, id, code, error->text, retry_after_ms);
    s_finish (self, run);
}

void kc_node_serve_end (kc_node_t *self)
{
    size_t cursor = 0;
    kc_run_t *run;
    while ((run = kc_map_next (self->runs, &cursor, NULL))) {
        kc_map_take (self->runs, run->id);
        s_run_free (run);
    }
    while (!TAILQ_EMPTY (&self->kept))
        s_kept_drop (self, TAILQ_FIRST (&self->kept));
}
