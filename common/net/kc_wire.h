/* kc_wire.h - one KCP/1 message: verb, header, what the broker adds, payload, chunk
 *
 * On the wire: "KCP1" | verb | header | added | payload | chunk.  'added' is written by
 * the broker only:
 * "<ttl_ms left, 0 = none> <instance of the other side>"; a peer sends its messages
 * without that frame.  Payload and chunk may be missing.  Big frames are
 * reference-counted by libzmq, so a copy of a message costs little.
 *
 * Receiving checks frame count and sizes before anything is looked at; a message that
 * breaks them is read to its end and reported as bad, never half processed.
 */
#ifndef KC_WIRE_H
#define KC_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    KC_WIRE_HEADER_MAX = 1024, // bytes; of a HELLO:
    KC_WIRE_HELLO_MAX = 16 * 1024,
    KC_WIRE_BODY_MAX = 1 << 20, // bytes of payload, of chunk
    KC_WIRE_ADDED_MAX = 127,    // bytes
    KC_WIRE_ROUTE_MAX = 16,     // bytes of a ROUTER's peer name
};

typedef enum kc_verb {
    KC_VERB_HELLO = 1,
    KC_VERB_PING,
    KC_VERB_BYE,
    KC_VERB_REQUEST,
    KC_VERB_REPLY,
    KC_VERB_CANCEL,
    KC_VERB_ERROR,
    KC_VERB_WELCOME,
    KC_VERB_REJECT,
    KC_VERB_PONG,
    KC_VERB_COUNT
} kc_verb_t;

typedef struct kc_frame { // a zmq_msg_t
    _Alignas(8) unsigned char raw[64];
} kc_frame_t;

typedef struct kc_route { // a peer of a ROUTER
    unsigned char id[KC_WIRE_ROUTE_MAX];
    size_t size; // 0 = none
} kc_route_t;

typedef struct kc_wire { // zeroed is not valid: use kc_wire_init or receive into it
    kc_verb_t verb;
    bool has_payload, has_chunk;
    kc_frame_t header, payload, chunk;
    char added[KC_WIRE_ADDED_MAX + 1]; // zero-terminated, "" = none
} kc_wire_t;

// Copy header, payload and chunk (NULL = none) into a new message.
void kc_wire_init (kc_wire_t *self, kc_verb_t verb, const void *header,
                   size_t header_size, const void *payload, size_t payload_size,
                   const void *chunk, size_t chunk_size);
void kc_wire_copy (kc_wire_t *to,
                   const kc_wire_t *from); // 'to' is uninitialised memory
void kc_wire_clear (kc_wire_t *self);
const char *kc_wire_header (const kc_wire_t *self, size_t *size); // not zero-terminated
const void *kc_wire_payload (const kc_wire_t *self,
                             size_t *size); // NULL when there is none
const void *kc_wire_chunk (const kc_wire_t *self,
                           size_t *size);     // NULL when there is none
size_t kc_wire_bytes (const kc_wire_t *self); // of all frames, for counting

const char *kc_verb_name (kc_verb_t verb);

typedef enum kc_got {
    KC_GOT_NONE = 0,
    KC_GOT_MESSAGE,
    KC_GOT_BAD,
    KC_GOT_CLOSED
} kc_got_t;

// Receive without waiting.  'route' is filled for a ROUTER (NULL for a DEALER);
// 'from_broker' tells whether the added frame is expected.  Only KC_GOT_MESSAGE leaves
// something to clear.
kc_got_t kc_wire_recv (void *socket, kc_route_t *route, bool from_broker,
                       kc_wire_t *out);

typedef enum kc_sent { KC_SENT = 0, KC_SENT_FULL, KC_SENT_GONE } kc_sent_t;

// Send without waiting.  'route' for a ROUTER, which also sends 'added' ("" = none).
// With 'last' the frames are moved out and the message is cleared when the result is
// KC_SENT; else they are shared.
kc_sent_t kc_wire_send (void *socket, const kc_route_t *route, kc_wire_t *wire,
                        const char *added, bool last);

#endif // KC_WIRE_H
