/* kc_header.h - the flat fields of a KCP/1 header, read in one pass without allocation
 *
 * Why beside the codec: a broker reads two headers per request and forwards them unread
 * otherwise; the general decoder builds a tree and an object for each.  This reads the
 * flat keys of kcp.schema.json into a struct on the stack and keeps nested values
 * ("need") as the text they came in.  It accepts a header only when it is a JSON object
 * by the rules of the codec in wire mode as far as it looks: known keys have the right
 * type and length, unknown keys are skipped, no key twice among the known ones, no
 * U+0000, nesting at most 32.  tests/fuzz holds it against the codec.
 */
#ifndef KC_HEADER_H
#define KC_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/net/kc_wire.h"
#include "common/util/kc_buf.h"
#include "common/util/kc_err.h"

enum { KC_HEADER_WORD = 96, KC_HEADER_TEXT = 512 }; // characters of a word, of a text

typedef enum kc_header_key {
    KC_H_ID,
    KC_H_OP,
    KC_H_FLOW,
    KC_H_SUM,
    KC_H_CODE,
    KC_H_TEXT,
    KC_H_SESSION,
    KC_H_BOOT,
    KC_H_BUILD,
    KC_H_TTL_MS,
    KC_H_RETRY_AFTER_MS,
    KC_H_BEAT_MS,
    KC_H_DEAD_MS,
    KC_H_MAX_PAYLOAD,
    KC_H_DRAINING,
    KC_H_NEED,
    KC_H_COUNT
} kc_header_key_t;

typedef struct kc_header { // of the verb's keys only; absent strings are "", absent
                           // numbers 0
    const char *word[KC_H_BUILD + 1]; // by key
    int64_t number[KC_H_DRAINING + 1];
    const char
        *need; // as it came, not zero-terminated, inside the given bytes; NULL = absent
    size_t need_size;
    unsigned has;     // bits 1 << key
    char store[1600]; // the strings, decoded
} kc_header_t;

// Read the header of a REQUEST, REPLY, CANCEL, ERROR, WELCOME, REJECT, PING or PONG, at
// most 1 KiB.  0, or -1 with the key and the byte named.
int kc_header_read (kc_header_t *self, kc_verb_t verb, const char *data, size_t size,
                    kc_err_t *err);

// ---- writing ----

void kc_header_request (kc_buf_t *out, const char *id, const char *op, const char *flow,
                        int64_t ttl_ms, const char *sum, const char *need);
void kc_header_id (kc_buf_t *out, const char *id); // REPLY, CANCEL
// The text is cut so that the header keeps its bound.
void kc_header_error (kc_buf_t *out, const char *id, kc_code_t code, const char *text,
                      int64_t retry_after_ms);

#endif // KC_HEADER_H
