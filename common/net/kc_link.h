/* kc_link.h - the work socket of a node, in a thread that only moves messages and beats
 *
 * Orders go in, events come out, both in order, through two mailboxes; a message given
 * to the link belongs to it.  Each kc_link_open makes a new socket with a new
 * generation; what was not sent on the old one is dropped, and events of older
 * generations are to be ignored.  After kc_link_beat the link sends PING each beat_ms
 * and reports KC_LINK_SILENT when nothing came for dead_ms.
 */
#ifndef KC_LINK_H
#define KC_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/net/kc_wire.h"
#include "common/util/kc_err.h"

enum {
    KC_LINK_LINGER_MS = 2000, // for the last messages at the end
    KC_LINK_STOP_MS = 5000,   // a link that does not stop in this time ends the process
};

typedef struct kc_link kc_link_t;

typedef enum kc_link_kind { KC_LINK_MESSAGE = 1, KC_LINK_SILENT } kc_link_kind_t;

typedef struct kc_link_event {
    struct kc_link_event *next;
    kc_link_kind_t kind;
    unsigned generation;
    kc_wire_t wire; // of KC_LINK_MESSAGE
} kc_link_event_t;

kc_link_t *kc_link_new (const char *endpoint, kc_err_t *err);
// Close the socket ('flush': wait for what is on its way, at most KC_LINK_LINGER_MS)
// and end the thread.
void kc_link_destroy (kc_link_t **self_p, bool flush);
int kc_link_fd (const kc_link_t *self); // readable when events wait
// The events so far as a list, oldest first; the caller frees each with
// kc_link_event_free.
kc_link_event_t *kc_link_take (kc_link_t *self);
void kc_link_event_free (kc_link_event_t *event);

void kc_link_open (kc_link_t *self, unsigned generation);
void kc_link_send (kc_link_t *self, kc_wire_t *wire); // moves the message out of 'wire'
void kc_link_beat (kc_link_t *self, int64_t beat_ms, int64_t dead_ms);
int kc_link_pending (const kc_link_t *self); // orders not yet carried out

#endif // KC_LINK_H
