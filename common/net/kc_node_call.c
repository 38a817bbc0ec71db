// kc_node_call.c - requests that this process makes; see kc_node.h

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/net/kc_node_own.h"
#include "common/util/kc_hash.h"
#include "common/util/kc_mem.h"

enum { BUSY_MIN_MS = 50, BUSY_MAX_MS = 5000, BUSY_DOUBLINGS = 7 };

// The one place where a call ends: it leaves the table first, so that the callback may
// call again.
static void s_end (kc_node_t *self, kc_open_t *open, kc_answer_t *answer)
{
    answer->id = open->id;
    kc_heap_remove (&self->heap, &open->due);
    kc_map_take (self->calls, open->id);
    open->on_answer (open->arg, self, answer);
    kc_wire_clear (&open->wire);
    free (open->id);
    free (open->op);
    free (open->flow);
    free (open->need);
    free (open);
}

static void s_fail (kc_node_t *self, kc_open_t *open, kc_code_t code, const char *text,
                    int64_t retry, const char *from)
{
    kc_answer_t a = {.code = code, .text = text, .retry_after_ms = retry, .from = from};
    s_end (self, open, &a);
}

static void s_send (kc_node_t *self, kc_open_t *open)
{
    int64_t left = 0;
    if (open->ends) {
        left = open->ends - kc_loop_now (self->loop);
        left = left > 0 ? left : 1;
    }
    kc_buf_t b = {0};
    kc_header_request (&b, open->id, open->op, open->flow, left, open->sum, open->need);
    kc_node_send (self, KC_VERB_REQUEST, &b, &open->wire);
    kc_buf_free (&b);
}

static void s_arm (kc_node_t *self, kc_open_t *open)
{
    if (open->ends)
        kc_heap_set (&self->heap, &open->due, open->ends + KC_NODE_GRACE_MS);
    else
        kc_heap_remove (&self->heap, &open->due);
}

static int s_too_long (const char *what, const char *text, size_t max, kc_err_t *err)
{
    if (text && strlen (text) > max)
        return kc_fail (err, KC_EINVALID,
                        "call: %s has %zu bytes, at most %zu are allowed", what,
                        strlen (text), max);
    return 0;
}

static int s_check (kc_node_t *self, const kc_call_t *call, kc_err_t *err)
{
    if (!call->op || !call->op[0])
        return kc_fail (err, KC_EINTERNAL, "call: without op");
    if (s_too_long ("id", call->id, KC_NODE_ID_MAX, err) < 0
        || s_too_long ("op", call->op, KC_NODE_ID_MAX, err) < 0
        || s_too_long ("flow", call->flow, KC_NODE_ID_MAX, err) < 0
        || s_too_long ("need", call->need, KC_NODE_NEED_MAX, err) < 0)
        return -1;
    if (call->payload_size > KC_NODE_PAYLOAD_MAX
        || call->chunk_size > KC_NODE_PAYLOAD_MAX)
        return kc_fail (err, KC_EINVALID,
                        "call of %s: payload %zu, chunk %zu bytes; at most %d each. "
                        "Send big things as blobs",
                        call->op, call->payload_size, call->chunk_size,
                        KC_NODE_PAYLOAD_MAX);
    if (call->id && kc_map_get (self->calls, call->id))
        return kc_fail (err, KC_ESTATE, "call %s is open already", call->id);
    if (kc_map_size (self->calls) >= KC_NODE_CALLS_MAX)
        return kc_fail (err, KC_EBUSY, "this process has %d open calls, its maximum",
                        KC_NODE_CALLS_MAX);
    if (self->closing)
        return kc_fail (err, KC_EINTERRUPTED, "this process is going down");
    if (self->phase == KC_PHASE_OVER)
        return kc_fail (err, self->over, "%s", self->over_text);
    return 0;
}

int kc_node_call (kc_node_t *self, const kc_call_t *call, kc_answer_f *on_answer,
                  void *arg, kc_err_t *err)
{
    kc_assert (on_answer);
    if (s_check (self, call, err) < 0)
        return -1;
    kc_open_t *open = kc_calloc (1, sizeof *open);
    char ulid[KC_ULID];
    if (!call->id)
        kc_ulid (ulid);
    open->call = (kc_call_t){.ttl_ms = call->ttl_ms, .retry_busy = call->retry_busy};
    open->id = kc_strdup (call->id ? call->id : ulid);
    open->op = kc_strdup (call->op);
    open->flow = kc_strdup (call->flow);
    open->need = kc_strdup (call->need);
    open->on_answer = on_answer;
    open->arg = arg;
    open->since = kc_loop_now (self->loop);
    open->ends = call->ttl_ms > 0 ? open->since + call->ttl_ms : 0;
    char hex[KC_SHA_HEX];
    const void *payload = call->payload ? call->payload : "";
    kc_sha256_hex (payload, call->payload_size, hex);
    (void)snprintf (open->sum, sizeof open->sum, "%.16s", hex);
    kc_wire_init (&open->wire, KC_VERB_REQUEST, "", 0, payload, call->payload_size,
                  call->chunk, call->chunk_size);
    kc_map_put (self->calls, open->id, open);
    s_arm (self, open);
    if (self->phase == KC_PHASE_UP)
        s_send (self, open);
    return 0;
}

// Ended as cancelled by the next tick, outside the present call.
static void s_end_soon (kc_node_t *self, kc_open_t *open)
{
    open->waiting = true;
    kc_heap_set (&self->heap, &open->due, 0);
}

void kc_node_cancel (kc_node_t *self, const char *id)
{
    kc_open_t *open = kc_map_get (self->calls, id);
    if (!open)
        return;
    open->call.retry_busy = false;
    open->cancelled = true;
    if (open->waiting
        || self->phase != KC_PHASE_UP) { // nobody else knows it, or nobody can be told
        s_end_soon (self, open);
        return;
    }
    kc_buf_t b = {0};
    kc_header_id (&b, id);
    kc_node_send (self, KC_VERB_CANCEL, &b, NULL);
    kc_buf_free (&b);
}

void kc_node_resend (kc_node_t *self)
{
    size_t cursor = 0;
    kc_open_t *open;
    while ((open = kc_map_next (self->calls, &cursor, NULL)))
        if (open->cancelled)
            s_end_soon (self, open); // the broker that was told is gone
        else if (!open->waiting)
            s_send (self, open);
}

// A busy answer is no end for a call that wants to be repeated and has the time.
static bool s_repeat (kc_node_t *self, kc_open_t *open, int64_t retry)
{
    if (!open->call.retry_busy)
        return false;
    int64_t now = kc_loop_now (self->loop);
    int64_t wait = (int64_t)BUSY_MIN_MS
                   << (open->busy < BUSY_DOUBLINGS ? open->busy : BUSY_DOUBLINGS);
    if (wait > BUSY_MAX_MS)
        wait = BUSY_MAX_MS;
    if (wait < retry)
        wait = retry;
    uint16_t dice;
    kc_random (&dice, sizeof dice);
    wait += dice % (wait / 2 + 1); // never all at once
    if (open->ends && now + wait >= open->ends)
        return false;
    open->busy++;
    open->waiting = true;
    kc_heap_set (&self->heap, &open->due, now + wait);
    return true;
}

void kc_node_answer (kc_node_t *self, const kc_header_t *header, const kc_wire_t *wire)
{
    kc_open_t *open = kc_map_get (self->calls, header->word[KC_H_ID]);
    if (!open || open->waiting)
        return; // ended here already, or an answer to an earlier sending
    const char *from = strchr (wire->added, ' '); // "<ttl> <instance>"
    from = from ? from + 1 : "";
    if (wire->verb == KC_VERB_ERROR) {
        kc_code_t code = kc_code_parse (header->word[KC_H_CODE]);
        int64_t retry = header->number[KC_H_RETRY_AFTER_MS];
        if (code == KC_OK)
            code = KC_EINTERNAL; // an error that says ok
        if (code != KC_EBUSY || !s_repeat (self, open, retry))
            s_fail (self, open, code, header->word[KC_H_TEXT], retry, from);
        return;
    }
    kc_answer_t a = {.code = KC_OK, .text = "", .from = from};
    a.payload = kc_wire_payload (wire, &a.payload_size);
    a.chunk = kc_wire_chunk (wire, &a.chunk_size);
    if (!a.payload)
        a.payload = "";
    s_end (self, open, &a);
}

void kc_node_calls_tick (kc_node_t *self, int64_t now)
{
    kc_heap_item_t *item;
    while ((item = kc_heap_first (&self->heap)) && item->at <= now) {
        kc_open_t *open = (kc_open_t *)(void *)item;
        if (open->cancelled && open->waiting)
            s_fail (self, open, KC_ECANCELLED, "cancelled by the requester", 0, "");
        else if (!open->waiting)
            s_fail (self, open, KC_ETIMEOUT,
                    self->phase == KC_PHASE_UP
                        ? "no answer came in the time given"
                        : "the broker was away for the time given",
                    0, "");
        else if (open->ends && now >= open->ends)
            s_fail (self, open, KC_ETIMEOUT, "busy for all of the time given", 0, "");
        else {
            open->waiting = false;
            s_arm (self, open);
            if (self->phase == KC_PHASE_UP)
                s_send (self, open);
        }
    }
}

void kc_node_calls_end (kc_node_t *self, kc_code_t code, const char *text)
{
    // What a callback calls anew is not ended here: only so many as there were.
    for (size_t n = kc_map_size (self->calls); n > 0; n--) {
        size_t cursor = 0;
        kc_open_t *open = kc_map_next (self->calls, &cursor, NULL);
        if (!open)
            return;
        s_fail (self, open, code, text, 0, "");
    }
}

void kc_node_close_calls (kc_node_t *self)
{
    self->closing = true;
    kc_node_calls_end (self, KC_EINTERRUPTED, "this process is going down");
}

// ---- waiting ----

typedef struct s_waiting {
    kc_answer_t *answer;
    bool done;
    kc_err_t err;
} s_waiting_t;

static void s_waited (void *arg, kc_node_t *node, const kc_answer_t *answer)
{
    (void)node;
    s_waiting_t *w = arg;
    w->done = true;
    if (answer->code != KC_OK) {
        kc_fail (&w->err, answer->code, "%s", answer->text);
        w->answer->retry_after_ms = answer->retry_after_ms;
        return;
    }
    // One block holds everything the answer points to.
    size_t id = strlen (answer->id) + 1, from = strlen (answer->from) + 1;
    char *own = kc_malloc (answer->payload_size + 1 + answer->chunk_size + id + from);
    kc_answer_t *a = w->answer;
    *a = *answer;
    a->own = own;
    memcpy (own, answer->payload, answer->payload_size);
    own[answer->payload_size] = 0;
    a->payload = own;
    own += answer->payload_size + 1;
    if (answer->chunk) {
        memcpy (own, answer->chunk, answer->chunk_size);
        a->chunk = own;
        own += answer->chunk_size;
    }
    a->id = memcpy (own, answer->id, id);
    a->from = memcpy (own + id, answer->from, from);
    a->text = "";
}

int kc_node_call_wait (kc_node_t *self, const kc_call_t *call, kc_answer_t *answer,
                       kc_err_t *err)
{
    s_waiting_t w = {.answer = answer};
    *answer = (kc_answer_t){0};
    if (kc_node_call (self, call, s_waited, &w, err) < 0)
        return -1;
    while (!w.done)
        if (kc_loop_turn (self->loop, -1, err) < 0) {
            kc_node_calls_end (self, KC_EINTERNAL,
                               "the loop failed"); // 'w' lives on this stack
            return -1;
        }
    if (w.err.code != KC_OK)
        return kc_fail (err, w.err.code, "%s", w.err.text);
    return 0;
}

void kc_answer_free (kc_answer_t *answer)
{
    free (answer->own);
    *answer = (kc_answer_t){0};
}
