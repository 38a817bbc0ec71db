/* kc_broker.h - the broker's shell around the dispatch core: one socket, one loop, one
 * tick
 *
 * It receives, checks bounds, decodes a header once, tells the core, and carries out
 * what the core wants. Payloads are never looked into and headers are forwarded as the
 * bytes they came in.  One thread; nothing blocks: what a peer cannot take now waits in
 * its outbox, and a peer whose outbox stays blocked for dead_ms, or grows past its
 * bound, is lost.
 */
#ifndef KC_BROKER_H
#define KC_BROKER_H

#include <stdint.h>

#include "common/net/kc_loop.h"
#include "common/util/kc_err.h"

typedef struct kc_broker kc_broker_t;

typedef struct kc_broker_config {
    const char *run_dir; // made with mode 0700 when missing
    int64_t beat_ms;     // told to every peer; 0 = 1000
    int64_t dead_ms;     // silence that ends a session; 0 = 4000
} kc_broker_config_t;

// Lock the run directory and listen on <run_dir>/broker.sock.  KC_EBUSY when a broker
// runs there.
kc_broker_t *kc_broker_new (const kc_broker_config_t *config, kc_loop_t *loop,
                            kc_err_t *err);
// Tell every peer that the broker goes, flush for at most one second, remove the
// socket.
void kc_broker_destroy (kc_broker_t **self_p);
// Run until the loop is stopped.
int kc_broker_run (kc_broker_t *self, kc_err_t *err);

#endif // KC_BROKER_H
