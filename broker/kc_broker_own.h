/* kc_broker_own.h - the inside of the shell, shared by its files and nobody else */
#ifndef KC_BROKER_OWN_H
#define KC_BROKER_OWN_H

#include <sys/queue.h>

#include "broker/core/kc_core.h"
#include "broker/kc_broker.h"
#include "common/net/kc_header.h"
#include "common/net/kc_router.h"
#include "common/util/kc_map.h"

enum {
    KC_BROKER_TICK_MS = 100,
    KC_BROKER_TURN = 256,       // messages received before the loop has its turn
    KC_OUTBOX_BYTES = 16 << 20, // per peer
    KC_OUTBOX_MESSAGES = 16384, // per peer
    KC_NEEDS_CACHED = 1024,
    KC_STATUS_SESSIONS =
        1024, // shown by fleet.status, so that the answer keeps its bound
    KC_STATUS_QUEUES = 256,
};

typedef struct kc_package { // a message in the core
    kc_parcel_t parcel;     // first member
    kc_wire_t wire;
} kc_package_t;

typedef struct kc_outgoing {
    TAILQ_ENTRY (kc_outgoing) link;
    kc_wire_t wire;
    size_t bytes;
    char added[KC_WIRE_ADDED_MAX + 1];
} kc_outgoing_t;

typedef struct kc_peer {
    kc_route_t route; // size 0 = free
    TAILQ_HEAD (, kc_outgoing) outbox;
    size_t n, bytes;
    int64_t blocked_since;
} kc_peer_t;

struct kc_broker {
    kc_broker_config_t config;
    kc_loop_t *loop;
    char *dir, *path;
    int lock_fd;
    kc_router_t *router;
    kc_core_t *core;
    char boot[27];
    int64_t started;
    kc_map_t *routes; // hex of the route -> 1 + peer number
    kc_peer_t *peers;
    size_t n_peers;
    uint32_t *free_peers;
    size_t n_free;
    size_t n_blocked; // peers with something in the outbox
    kc_map_t *needs;  // text -> kc_need_t
    kc_header_t header;
};

// kc_broker_hello.c: what needs the general codec
// Read a HELLO and give it to the core, or refuse it.
void kc_broker_hello (kc_broker_t *self, uint32_t peer, const kc_wire_t *wire,
                      int64_t now);
// The need of a request as terms, from the cache when known; NULL with 'err' filled.
const kc_need_t *kc_broker_need (kc_broker_t *self, const char *key, const char *header,
                                 size_t size, kc_err_t *err);

// kc_broker_local.c: the operations that the broker serves itself
void kc_broker_local (kc_broker_t *self, const kc_effect_t *effect, int64_t now);

// kc_broker.c
void kc_broker_send (kc_broker_t *self, uint32_t peer, kc_wire_t *wire,
                     const char *added, bool last);
void kc_broker_reject (kc_broker_t *self, const kc_route_t *route, kc_code_t code,
                       const char *text);

#endif // KC_BROKER_OWN_H
