/* kc_node.h - a process on the bus: takes requests for its operations and makes
 * requests of others
 *
 * The work socket lives in a thread of its own that only moves messages and beats, so a
 * busy caller is never taken for dead.  Everything else, callbacks included, happens on
 * the thread of the loop given at creation; no function may be called from another
 * thread (use kc_loop_post).
 *
 * Promises to a caller:  on_answer is called exactly once per accepted call, never from
 * inside kc_node_call.  A broker that dies or restarts is invisible: the node makes a
 * new socket, says HELLO and re-sends what is open.  Repeating a call with the same id
 * and payload is safe: it attaches to the running one or is answered by the kept reply.
 *
 * Promises to a worker:  on_request is called at most once per id while the id runs or
 * its reply is kept (120 s, at most 64 replies and 32 MiB); a repetition is answered
 * from there.  Every request must be ended by exactly one kc_node_reply or
 * kc_node_error, cancelled ones too; ending one that the broker has taken away is
 * harmless.
 *
 * Sizes: payload and chunk at most 1 MiB each.  Payloads are bytes of JSON that the
 * node never reads.
 */
#ifndef KC_NODE_H
#define KC_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/net/kc_loop.h"
#include "common/util/kc_err.h"

enum {
    KC_NODE_PAYLOAD_MAX = 1 << 20, // bytes, payload and chunk each
    KC_NODE_CALLS_MAX = 4096,      // open calls of one node
    KC_NODE_SLOTS_MAX = 4096,      // requests one worker runs at once
    KC_NODE_OPS_MAX = 32,          // operations of one worker
    KC_NODE_ID_MAX =
        96, // bytes of a request id, op, flow or instance, without the zero
    KC_NODE_NEED_MAX = 512,  // bytes of need, JSON
    KC_NODE_CAPS_MAX = 4096, // bytes of caps, JSON; at most 32 facts
};

typedef struct kc_node kc_node_t;

typedef enum kc_node_state {
    KC_NODE_CONNECTED = 1, // welcome; also after each reconnection
    KC_NODE_LOST,          // the broker does not answer; the node keeps trying
    KC_NODE_DISPLACED,     // another process took our instance name: stop and exit
    KC_NODE_REFUSED, // the broker will not have us (protocol, role, second memory); err
                     // tells why.  Final.
    KC_NODE_DRAINING, // an administrator drains this worker: no new requests come
} kc_node_state_t;

typedef struct kc_request { // valid until the request is ended
    const char *id;
    const char *op;
    const char *flow; // the task, or ""
    const char *from; // instance of the requester
    int64_t ttl_ms;   // left when it arrived; 0 = none
    int64_t arrived;  // kc_loop_now then
    const void *payload;
    size_t payload_size;
    const void *chunk; // NULL when there is none
    size_t chunk_size;
} kc_request_t;

typedef struct kc_call {
    const char *id;   // request id; NULL = a new ULID
    const char *op;   // "memory.step.append"
    const char *flow; // the task, for fairness; NULL = none
    int64_t ttl_ms;   // 0 = no limit
    const char *need; // JSON list [{"key":"sm","op":">=","number":80}], all must hold;
                      // NULL = any worker
    const void *payload;
    size_t payload_size;
    const void *chunk; // memory.blob.* only; NULL = none
    size_t chunk_size;
    bool retry_busy; // repeat a 'busy' answer after its retry_after_ms (with jitter)
                     // while ttl_ms lasts
} kc_call_t;

typedef struct kc_answer { // code KC_OK: payload and chunk are set; else text and
                           // retry_after_ms
    const char *id;
    kc_code_t code;
    const char *text; // "" when code is KC_OK
    int64_t retry_after_ms;
    const char *from; // instance that answered, "" when the broker or this node did
    const void *payload;
    size_t payload_size;
    const void *chunk;
    size_t chunk_size;
    void *own; // what the pointers point into; for kc_answer_free
} kc_answer_t;

typedef void (kc_request_f) (void *arg, kc_node_t *node, const kc_request_t *request);
// The requester gave up or the time is over: stop the work, then end the request (the
// answer is dropped).
typedef void (kc_cancel_f) (void *arg, kc_node_t *node, const char *id);
typedef void (kc_state_f) (void *arg, kc_node_t *node, kc_node_state_t state,
                           const char *text);
// 'answer' is borrowed for the call.
typedef void (kc_answer_f) (void *arg, kc_node_t *node, const kc_answer_t *answer);

typedef struct kc_node_config {
    kc_loop_t *loop;
    const char *endpoint; // "ipc://..."; NULL = the broker's socket in run_dir
    const char *run_dir;  // as given by --run; NULL = the default (kc_fs_dir)
    const char *instance; // "coder-2@host"; NULL = <role>-<pid>@<host>
    const char *role;     // client planner coder repair evaluator profiler memory admin
    const char *const *ops; // operations served, ended by NULL; NULL = none
    int slots;              // requests at once; 0 = takes none now
    const char
        *caps; // JSON list of facts,
               // [{"key":"sm","number":90},{"key":"gpu","text":"H200"}]; NULL = []
    int64_t give_up_ms; // without a welcome for this long, open calls are answered
                        // KC_EUNREACHABLE; 0 = never
    kc_request_f *on_request; // needed when ops are given
    kc_cancel_f *on_cancel;
    kc_state_f *on_state;
    void *arg;
} kc_node_config_t;

// Start the node; it connects in the background.  Everything in 'config' but the loop
// is copied.
kc_node_t *kc_node_new (const kc_node_config_t *config, kc_err_t *err);
// Say BYE, wait at most 2 s for what is on its way out.  Open calls are answered
// KC_EINTERRUPTED first, so that their owners can clean up; running requests go back to
// the broker's queue.  Not from a callback.
void kc_node_destroy (kc_node_t **self_p);

// End a request.  -1 (and the request stays open) only when the reply is too large.
int kc_node_reply (kc_node_t *self, const char *id, const void *payload,
                   size_t payload_size, const void *chunk, size_t chunk_size,
                   kc_err_t *err);
void kc_node_error (kc_node_t *self, const char *id, const kc_err_t *error,
                    int64_t retry_after_ms);

// Make a call.  0, or -1 when it was not accepted (then on_answer is not called):
// KC_EBUSY too many open calls, KC_EINVALID a field too long, KC_ESTATE the same id is
// open already.
int kc_node_call (kc_node_t *self, const kc_call_t *call, kc_answer_f *on_answer,
                  void *arg, kc_err_t *err);
// Ask for the end of an open call; it is answered KC_ECANCELLED, or with its result
// when that was faster.
void kc_node_cancel (kc_node_t *self, const char *id);
// Answer every open call KC_EINTERRUPTED and accept no more; part of going down.
void kc_node_close_calls (kc_node_t *self);

// For programs without a running loop: call and turn the loop until the answer is
// there.  0 with 'answer' filled (free it with kc_answer_free), or -1 with the code and
// text of the failure.
int kc_node_call_wait (kc_node_t *self, const kc_call_t *call, kc_answer_t *answer,
                       kc_err_t *err);
void kc_answer_free (kc_answer_t *answer);

void kc_node_set_slots (kc_node_t *self, int slots); // told to the broker at once
int kc_node_set_caps (kc_node_t *self, const char *caps, kc_err_t *err);
// Take no new requests, finish the running ones; kc_node_idle tells when.
void kc_node_drain (kc_node_t *self);
bool kc_node_idle (
    const kc_node_t *self); // no request runs and no answer waits to be sent

bool kc_node_connected (const kc_node_t *self);
int kc_node_running (const kc_node_t *self); // requests of others that run here
int kc_node_open_calls (const kc_node_t *self);
const char *kc_node_instance (const kc_node_t *self);
const char *kc_node_boot (const kc_node_t *self); // random, new at every process start

#endif // KC_NODE_H
