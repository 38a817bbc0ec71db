/* kc_router.h - the listening side: one ROUTER on an ipc path, never blocking
 *
 * Peers get broker-made names; libzmq identities are never used.  A message for a peer
 * that is gone is reported (KC_SENT_GONE), one for a peer whose queue is full is kept
 * by the caller (KC_SENT_FULL). The socket file is made with mode 0600; the caller
 * holds a lock on the directory, so a file that is there already is a dead one and is
 * replaced.
 */
#ifndef KC_ROUTER_H
#define KC_ROUTER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/net/kc_wire.h"
#include "common/util/kc_err.h"

enum {
    KC_ROUTER_LINGER_MS = 1000,
    KC_ROUTER_PATH_MAX = 107, // bytes of an ipc path, by the system
};

typedef struct kc_router kc_router_t;

kc_router_t *kc_router_new (const char *path, kc_err_t *err); // binds ipc://<path>
void kc_router_destroy (
    kc_router_t **self_p); // flushes for at most KC_ROUTER_LINGER_MS
kc_got_t kc_router_recv (kc_router_t *self, kc_route_t *route, kc_wire_t *out);
kc_sent_t kc_router_send (kc_router_t *self, const kc_route_t *route, kc_wire_t *wire,
                          const char *added, bool last);
// Wait until a message came, 'fd' is readable or 'wait_ms' passed (-1 = no limit). True
// when 'fd' is readable.
bool kc_router_wait (kc_router_t *self, int fd, int64_t wait_ms);

#endif // KC_ROUTER_H
