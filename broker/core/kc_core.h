/* kc_core.h - the broker's dispatch as a pure state machine: events in, effects out
 *
 * No sockets, no clock, no files: the shell tells what arrived and what time it is
 * (monotonic ms, never going back), then takes the effects in order and carries them
 * out.  A peer is a small number that the shell gives to a connection; it may be used
 * again after the effect KC_DO_CLOSE.
 *
 * Promises
 * - Every accepted request is ended by exactly one KC_DO_ANSWER or KC_DO_ERROR per
 * waiting peer, unless that peer's session ended first.
 * - A request is granted to one live session at a time, and only within that session's
 * slots (except to a session that said it holds the request already).
 * - A grant that ended with the loss of its session is repeated at most KC_ATTEMPTS - 1
 * times; two boots lost on one request make it poison.
 * - Everything is bounded; what does not fit is answered 'busy' with retry_after_ms.
 */
#ifndef KC_CORE_H
#define KC_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "broker/core/kc_need.h"
#include "broker/core/kc_roles.h"
#include "common/util/kc_err.h"

enum {
    KC_ATTEMPTS = 3, // grants of one request that may end in a loss
    KC_HANDBACKS =
        16, // times a request may be handed back by an orderly leaving worker
    KC_SESSIONS_MAX = 4096, // connected processes
    KC_WORKS_MAX = 65536,   // requests in the broker
    KC_OPEN_MAX = 4096,     // open requests of one session
    KC_FLOW_MAX = 8192,     // queued requests of one flow and need
    KC_WAITERS_MAX = 16,    // requesters attached to one request
    KC_QUEUES_MAX = 1024,   // distinct needs
    KC_HOLDING_MAX = 128,   // ids a worker lists
    KC_HELD_MAX = 65536,    // ids remembered as held, over all workers
    KC_OUSTED_MAX = 256,    // displaced boots remembered
    KC_SLOTS_MAX = 4096,
    KC_SESSION_OPS_MAX = 32,
    KC_ORPHAN_MS = 60000, // a request nobody waits for runs on this long
    KC_KEPT_MS = 120000,  // workers keep replies this long
    KC_RETRY_MS = 200,    // told with 'busy'
};

#define KC_BYTES_MAX ((size_t)256 << 20) // payload bytes in the broker

// A message's bytes, counted.  The shell embeds it; the core never looks inside.
typedef struct kc_parcel kc_parcel_t;
struct kc_parcel {
    unsigned refs;
    size_t size;
    void (*free) (kc_parcel_t *self);
};
kc_parcel_t *kc_parcel_ref (kc_parcel_t *self);
void kc_parcel_unref (kc_parcel_t *self); // NULL is fine

typedef struct kc_hello { // what a process says about itself; borrowed
    const char *instance, *boot, *build;
    kc_role_t role;
    int64_t pid;
    const char *const *ops;
    size_t n_ops;
    int64_t slots;
    kc_facts_t caps;
    const char *const *holding;
    size_t n_holding;
} kc_hello_t;

typedef struct kc_ask {               // a request; borrowed
    const char *id, *op, *flow, *sum; // flow "" = the requester's own
    int64_t ttl_ms;                   // 0 = none
    const char *need_key;  // the need as text, equal for equal needs; "" = none
    const kc_need_t *need; // its terms; NULL = none
    bool chunk;            // carries one
} kc_ask_t;

typedef enum kc_do {
    KC_DO_WELCOME = 1, // to peer
    KC_DO_REJECT,      // to peer: code, text
    KC_DO_PONG,        // to peer: draining
    KC_DO_GRANT,       // to peer: parcel, from, ttl_ms
    KC_DO_ANSWER,      // to peer: parcel, from
    KC_DO_ERROR,       // to peer: id, code, text, retry_after_ms
    KC_DO_CANCEL,      // to peer: id
    KC_DO_LOCAL,       // the shell itself answers op to peer: parcel, id
    KC_DO_CLOSE,       // the peer number is free again
} kc_do_t;

typedef struct kc_effect {
    kc_do_t kind;
    uint32_t peer;
    kc_code_t code;
    bool draining;
    int64_t ttl_ms; // KC_DO_GRANT: left, 0 = none
    int64_t retry_after_ms;
    const kc_op_t *op;
    kc_parcel_t *parcel; // one reference, taken over by the shell
    char *id, *text;     // owned by the effect: kc_effect_free
    char from[KC_WORD_MAX + 1];
} kc_effect_t;
void kc_effect_free (
    kc_effect_t *effect); // also drops the parcel's reference when still set

typedef struct kc_core kc_core_t;

typedef struct kc_core_config {
    int64_t beat_ms, dead_ms; // told in WELCOME by the shell; dead_ms judges sessions
    int64_t tick_ms;          // how often the shell calls kc_core_tick
} kc_core_config_t;

kc_core_t *kc_core_new (const kc_core_config_t *config, int64_t now);
void kc_core_destroy (kc_core_t **self_p);

// ---- events ----

// A HELLO: a new session, a return, or news about the same one (slots, caps, ops).
void kc_core_hello (kc_core_t *self, uint32_t peer, const kc_hello_t *hello,
                    int64_t now);
void kc_core_ping (kc_core_t *self, uint32_t peer, int64_t now);
void kc_core_bye (kc_core_t *self, uint32_t peer, int64_t now);
// Takes over one reference to 'parcel'.
void kc_core_request (kc_core_t *self, uint32_t peer, const kc_ask_t *ask,
                      kc_parcel_t *parcel, int64_t now);
// A worker ends a request, by REPLY or ERROR: the parcel is forwarded as it is.  Takes
// one reference.
void kc_core_reply (kc_core_t *self, uint32_t peer, const char *id, kc_parcel_t *parcel,
                    bool failed, int64_t now);
void kc_core_cancel (kc_core_t *self, uint32_t peer, const char *id, int64_t now);
// The connection is gone (no such peer any more, or its outbox stayed full).
void kc_core_gone (kc_core_t *self, uint32_t peer, const char *why, int64_t now);
// Judge deadlines.  Call after the sockets were drained; a late call extends liveness
// by the delay.
void kc_core_tick (kc_core_t *self, int64_t now);
// A message of this peer was refused by the shell (oversize, not parsable): counted.
void kc_core_bad (kc_core_t *self);

// Take the next effect; false when there is none.
bool kc_core_next (kc_core_t *self, kc_effect_t *out);

// ---- views ----

bool kc_core_known (const kc_core_t *self, uint32_t peer); // has a session
// fleet.drain: how many sessions of this instance were found.
int kc_core_drain (kc_core_t *self, const char *instance, bool undo, int64_t now);
size_t kc_core_works (const kc_core_t *self);
size_t kc_core_n_sessions (const kc_core_t *self);

typedef struct kc_session_view {
    const char *instance, *boot, *build, *role;
    int64_t pid, slots, busy, age_ms, silent_ms, served;
    const char *ops[KC_SESSION_OPS_MAX];
    size_t n_ops;
    const kc_facts_t *caps;
    bool draining;
    uint32_t peer;
} kc_session_view_t;

typedef struct kc_queue_view {
    const char *op;
    char need[KC_ERR_TEXT];
    char held[KC_ERR_TEXT]; // "" = not held
    int64_t waiting, oldest_ms;
} kc_queue_view_t;

// Start with *cursor = 0; false at the end.
bool kc_core_session (const kc_core_t *self, size_t *cursor, kc_session_view_t *out,
                      int64_t now);
bool kc_core_queue (const kc_core_t *self, size_t *cursor, kc_queue_view_t *out,
                    int64_t now); // waiting ones only

#define KC_COUNTERS(X)                                                                 \
    X (requests)                                                                       \
    X (attached) X (answers) X (errors) X (busy) X (refused) X (grants) X (bound)      \
        X (requeued) X (poison) X (lost_requests) X (timeouts) X (cancelled)           \
            X (hellos) X (rejected) X (sessions_lost) X (displaced) X (late_replies)   \
                X (orphans) X (bad_messages) X (late_turns)

typedef struct kc_counters {
#define KC_COUNTER_FIELD(name) int64_t name;
    KC_COUNTERS (KC_COUNTER_FIELD)
#undef KC_COUNTER_FIELD
} kc_counters_t;
const kc_counters_t *kc_core_counters (const kc_core_t *self);

#endif // KC_CORE_H
