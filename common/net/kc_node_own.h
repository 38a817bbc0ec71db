/* kc_node_own.h - the inside of a node, shared by its files and nobody else
 *
 * kc_node.c       life, connection: hello, welcome, reject, silence, messages in
 * kc_node_call.c  requests that this process makes
 * kc_node_serve.c requests that this process runs, and the replies it keeps
 */
#ifndef KC_NODE_OWN_H
#define KC_NODE_OWN_H

#include <sys/queue.h>

#include "common/net/kc_header.h"
#include "common/net/kc_heap.h"
#include "common/net/kc_link.h"
#include "common/net/kc_node.h"
#include "common/util/kc_map.h"

enum {
    KC_NODE_KEPT_MS = 120000,
    KC_NODE_KEPT_MAX = 64,
    KC_NODE_KEPT_BYTES = 32 << 20,
    KC_NODE_HOLDING_MAX = 128,
    KC_NODE_HELLO_MS = 2000,  // wait for WELCOME, then a new socket
    KC_NODE_BACK_MIN_MS = 50, // between two sockets, doubling, with jitter
    KC_NODE_BACK_MAX_MS = 1000,
    KC_NODE_TICK_MS = 20, // accuracy of deadlines here
    KC_NODE_GRACE_MS =
        2000, // after ttl_ms a call is ended here when the broker did not
};

typedef struct kc_open { // a call
    kc_heap_item_t due;  // first member; end of patience, or time to repeat
    kc_call_t call;      // strings and bytes: see 'wire'
    char *id, *op, *flow, *need;
    char sum[17];
    kc_wire_t wire; // payload and chunk; its header is made anew for each sending
    int64_t ends;   // 0 = never
    int64_t since;
    int busy;       // times in a row the broker or the worker was busy
    bool waiting;   // to repeat; not at the broker now
    bool cancelled; // the owner does not want it any more
    kc_answer_f *on_answer;
    void *arg;
} kc_open_t;

typedef struct kc_run { // a request of somebody else
    kc_request_t request;
    char *id, *op, *flow, *from;
    char sum[17];
    kc_wire_t wire;
    bool started, cancelled; // started = given to the owner
    TAILQ_ENTRY (kc_run) link;
} kc_run_t;

typedef struct kc_kept { // a reply
    char *id;
    char sum[17];
    kc_wire_t wire;
    size_t bytes;
    int64_t until;
    TAILQ_ENTRY (kc_kept) link;
} kc_kept_t;

typedef enum kc_node_phase {
    KC_PHASE_WAIT = 1,
    KC_PHASE_HELLO,
    KC_PHASE_UP,
    KC_PHASE_OVER
} kc_node_phase_t;

struct kc_node {
    kc_node_config_t config; // scalars and callbacks; the texts are below
    kc_loop_t *loop;
    char *endpoint, *instance, *role, *caps;
    char boot[27];
    char **ops;
    size_t n_ops;
    int slots;
    kc_link_t *link;
    kc_node_phase_t phase;
    unsigned generation;
    int64_t phase_until, back_ms, down_since;
    bool
        draining; // here: kc_node_drain; the broker's own wish is told by on_state only
    bool told_draining, gave_up, inside, closing;
    kc_code_t over; // why KC_PHASE_OVER
    char over_text[KC_ERR_TEXT];
    int64_t timer;
    kc_header_t header; // scratch of the message being read
    // calls
    kc_map_t *calls; // id -> kc_open_t
    kc_heap_t heap;
    // service
    kc_map_t *runs; // id -> kc_run_t
    int running;    // started ones
    TAILQ_HEAD (, kc_run) backlog;
    kc_map_t *kept_ids;
    TAILQ_HEAD (, kc_kept) kept; // oldest first
    size_t n_kept, kept_bytes;
};

// kc_node.c
void kc_node_send (kc_node_t *self, kc_verb_t verb, const kc_buf_t *header,
                   const kc_wire_t *body);

// kc_node_call.c
void kc_node_answer (kc_node_t *self, const kc_header_t *header, const kc_wire_t *wire);
void kc_node_resend (kc_node_t *self); // everything open, after a WELCOME
void kc_node_calls_tick (kc_node_t *self, int64_t now);
void kc_node_calls_end (kc_node_t *self, kc_code_t code, const char *text);

// kc_node_serve.c
void kc_node_take (kc_node_t *self, const kc_header_t *header,
                   kc_wire_t *wire); // takes the wire
void kc_node_cancelled (kc_node_t *self, const char *id);
void kc_node_pump (kc_node_t *self); // start what waits for a slot
void kc_node_serve_tick (kc_node_t *self, int64_t now);
void kc_node_serve_end (kc_node_t *self);

#endif // KC_NODE_OWN_H
