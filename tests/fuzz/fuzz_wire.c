/* fuzz_wire.c - any bytes as the header of a message, and any frames as a message
 *
 * The first byte chooses.  Headers: what the general codec accepts in wire mode the
 * header reader must accept with the same values; what it refuses the reader may accept
 * only when the fault lies in a part it does not look at (unknown keys, the inside of
 * need).  Frames: the bytes are cut into frames (a length byte each) and received;
 * whatever comes out must keep the bounds. This file makes sockets itself, because the
 * frames must be ones that our own sender never makes.
 */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include "common/msg/gen/kcp.h"
#include "common/net/kc_header.h"
#include "common/util/kc_mem.h"

enum { FRAMES = 9 };

static const struct {
    kc_verb_t verb;
    const kc_type_t *type;
} s_verbs[] = {
    {KC_VERB_REQUEST, &kc_kcp_request_type}, {KC_VERB_REPLY, &kc_kcp_reply_type},
    {KC_VERB_CANCEL, &kc_kcp_cancel_type},   {KC_VERB_ERROR, &kc_kcp_error_type},
    {KC_VERB_WELCOME, &kc_kcp_welcome_type}, {KC_VERB_REJECT, &kc_kcp_reject_type},
    {KC_VERB_PONG, &kc_kcp_pong_type},
};

static const char *const s_keys[] = {
    "id",      "op",          "flow",    "sum",    "code",           "text",
    "session", "boot",        "build",   "ttl_ms", "retry_after_ms", "beat_ms",
    "dead_ms", "max_payload", "draining"};

static void s_same (const kc_type_t *type, const void *object, const kc_header_t *h)
{
    for (size_t i = 0; i < KC_COUNT (s_keys); i++) {
        const kc_field_t *field = kc_type_field (type, s_keys[i]);
        bool present = field && (h->has >> i & 1u);
        if (!present)
            continue;
        if (i <= KC_H_BUILD) {
            const char *text = kc_field_string (field, object);
            kc_assert (text && strcmp (text, h->word[i]) == 0);
        }
        else {
            int64_t number = 0;
            kc_assert (kc_field_integer (field, object, &number)
                       && number == h->number[i]);
        }
    }
}

static void s_header (unsigned choice, const char *json, size_t size)
{
    size_t v = choice % KC_COUNT (s_verbs);
    kc_header_t h;
    kc_err_t err;
    bool mine = kc_header_read (&h, s_verbs[v].verb, json, size, &err) == 0;
    kc_errs_t errs;
    void *object = size <= KC_WIRE_HEADER_MAX
                       ? kc_type_decode (s_verbs[v].type, json, size, KC_WIRE, &errs)
                       : NULL;
    if (object) {
        kc_assert (mine);
        s_same (s_verbs[v].type, object, &h);
    }
    if (mine) { // what is read can be written and read again
        kc_buf_t b = {0};
        kc_header_id (&b, h.word[KC_H_ID]);
        kc_header_t again;
        bool id = (h.has & 1u) != 0;
        kc_assert ((kc_header_read (&again, KC_VERB_REPLY, b.data, b.size, &err) == 0)
                   == id);
        kc_assert (!id || strcmp (again.word[KC_H_ID], h.word[KC_H_ID]) == 0);
        kc_buf_clear (&b);
        kc_header_error (&b, id ? h.word[KC_H_ID] : NULL, KC_EBUSY, h.word[KC_H_TEXT],
                         5);
        kc_assert (b.size <= KC_WIRE_HEADER_MAX
                   && kc_header_read (&again, KC_VERB_ERROR, b.data, b.size, &err)
                          == 0);
        kc_buf_free (&b);
    }
    kc_type_free (s_verbs[v].type, object);
}

static void s_frames (bool from_broker, const uint8_t *data, size_t size)
{
    void *context = zmq_ctx_new ();
    void *a = zmq_socket (context, ZMQ_PAIR), *b = zmq_socket (context, ZMQ_PAIR);
    kc_assert (zmq_bind (a, "inproc://frames") == 0
               && zmq_connect (b, "inproc://frames") == 0);
    for (int i = 0; i < FRAMES && size > 0; i++) {
        size_t n = data[0] < size - 1 ? data[0] : size - 1;
        bool last = n + 1 >= size || i + 1 == FRAMES;
        kc_assert (zmq_send (b, data + 1, n, ZMQ_DONTWAIT | (last ? 0 : ZMQ_SNDMORE))
                   >= 0);
        data += n + 1;
        size -= n + 1;
    }
    kc_wire_t wire;
    kc_got_t got = kc_wire_recv (a, NULL, from_broker, &wire);
    if (got == KC_GOT_MESSAGE) {
        size_t n;
        (void)kc_wire_header (&wire, &n);
        kc_assert (n <= KC_WIRE_HELLO_MAX && wire.verb > 0
                   && wire.verb < KC_VERB_COUNT);
        kc_assert (!wire.has_chunk || wire.has_payload);
        kc_assert (from_broker || !wire.added[0]);
        kc_wire_t copy;
        kc_wire_copy (&copy, &wire);
        kc_wire_clear (&copy);
        kc_wire_clear (&wire);
    }
    kc_assert (kc_wire_recv (a, NULL, from_broker, &wire)
               == KC_GOT_NONE); // taken whole, good or bad
    zmq_close (a);
    zmq_close (b);
    zmq_ctx_term (context);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    if (data[0] < '8')
        s_header (data[0], (const char *)data + 1, size - 1);
    else
        s_frames (data[0] == '9', data + 1, size - 1);
    return 0;
}
