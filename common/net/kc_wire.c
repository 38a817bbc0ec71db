// kc_wire.c - see kc_wire.h

#include "common/net/kc_wire.h"

#include <errno.h>
#include <string.h>
#include <zmq.h>

#include "common/util/kc_mem.h"

_Static_assert(sizeof (kc_frame_t) == sizeof (zmq_msg_t), "a frame is a zmq_msg_t");

enum { FRAMES_MAX = 6 };

static const char s_magic[] = "KCP1";
static const char *const s_verbs[KC_VERB_COUNT] = {
    "",       "HELLO", "PING",    "BYE",    "REQUEST", "REPLY",
    "CANCEL", "ERROR", "WELCOME", "REJECT", "PONG",
};

static zmq_msg_t *s_msg (kc_frame_t *frame)
{
    return (zmq_msg_t *)(void *)frame;
}

static const zmq_msg_t *s_cmsg (const kc_frame_t *frame)
{
    return (const zmq_msg_t *)(const void *)frame;
}

// libzmq reads a message through a pointer that is not const; it changes nothing.
static const void *s_data (const kc_frame_t *frame)
{
    union {
        const kc_frame_t *in;
        zmq_msg_t *out;
    } u = {frame};
    return zmq_msg_data (u.out);
}

static void s_fill (kc_frame_t *frame, const void *data, size_t size)
{
    if (zmq_msg_init_size (s_msg (frame), size) != 0)
        kc_die (__FILE__, __LINE__, "out of memory for a message");
    if (size)
        memcpy (zmq_msg_data (s_msg (frame)), data, size);
}

void kc_wire_init (kc_wire_t *self, kc_verb_t verb, const void *header,
                   size_t header_size, const void *payload, size_t payload_size,
                   const void *chunk, size_t chunk_size)
{
    self->verb = verb;
    self->has_chunk = chunk != NULL;
    self->has_payload = payload != NULL || chunk != NULL;
    self->added[0] = 0;
    s_fill (&self->header, header, header_size);
    if (payload)
        s_fill (&self->payload, payload, payload_size);
    else
        zmq_msg_init (s_msg (&self->payload));
    if (chunk)
        s_fill (&self->chunk, chunk, chunk_size);
    else
        zmq_msg_init (s_msg (&self->chunk));
}

static void s_copy (kc_frame_t *to, const kc_frame_t *from)
{
    union {
        const kc_frame_t *in;
        zmq_msg_t *out;
    } u = {from};
    zmq_msg_init (s_msg (to));
    int rc = zmq_msg_copy (s_msg (to), u.out);
    kc_assert (rc == 0);
}

void kc_wire_copy (kc_wire_t *to, const kc_wire_t *from)
{
    to->verb = from->verb;
    to->has_payload = from->has_payload;
    to->has_chunk = from->has_chunk;
    memcpy (to->added, from->added, sizeof to->added);
    s_copy (&to->header, &from->header);
    s_copy (&to->payload, &from->payload);
    s_copy (&to->chunk, &from->chunk);
}

void kc_wire_clear (kc_wire_t *self)
{
    zmq_msg_close (s_msg (&self->header));
    zmq_msg_close (s_msg (&self->payload));
    zmq_msg_close (s_msg (&self->chunk));
}

const char *kc_wire_header (const kc_wire_t *self, size_t *size)
{
    *size = zmq_msg_size (s_cmsg (&self->header));
    return s_data (&self->header);
}

const void *kc_wire_payload (const kc_wire_t *self, size_t *size)
{
    *size = zmq_msg_size (s_cmsg (&self->payload));
    return self->has_payload ? s_data (&self->payload) : NULL;
}

const void *kc_wire_chunk (const kc_wire_t *self, size_t *size)
{
    *size = zmq_msg_size (s_cmsg (&self->chunk));
    return self->has_chunk ? s_data (&self->chunk) : NULL;
}

size_t kc_wire_bytes (const kc_wire_t *self)
{
    return sizeof *self + zmq_msg_size (s_cmsg (&self->header))
           + zmq_msg_size (s_cmsg (&self->payload))
           + zmq_msg_size (s_cmsg (&self->chunk));
}

const char *kc_verb_name (kc_verb_t verb)
{
    return s_verbs[verb];
}

static kc_verb_t s_verb (const char *data, size_t size)
{
    for (int i = 1; i < KC_VERB_COUNT; i++)
        if (strlen (s_verbs[i]) == size && memcmp (s_verbs[i], data, size) == 0)
            return (kc_verb_t)i;
    return (kc_verb_t)0;
}

// ---- receiving ----

// Take what belongs to frame number 'i' of 'n'; false when it breaks a bound.
static bool s_take (kc_wire_t *out, int i, zmq_msg_t *frame, bool from_broker)
{
    const char *data = zmq_msg_data (frame);
    size_t size = zmq_msg_size (frame);
    if (i >= 3 && !from_broker)
        i++; // no added frame in this direction
    switch (i) {
    case 0:
        return size == sizeof s_magic - 1 && memcmp (data, s_magic, size) == 0;
    case 1:
        out->verb = s_verb (data, size);
        return out->verb != 0;
    case 2:
        if (size > (out->verb == KC_VERB_HELLO ? (size_t)KC_WIRE_HELLO_MAX
                                               : (size_t)KC_WIRE_HEADER_MAX))
            return false;
        return zmq_msg_move (s_msg (&out->header), frame) == 0;
    case 3:
        if (size > KC_WIRE_ADDED_MAX || memchr (data, 0, size))
            return false;
        memcpy (out->added, data, size);
        out->added[size] = 0;
        return true;
    case 4:
        out->has_payload = true;
        return size <= KC_WIRE_BODY_MAX
               && zmq_msg_move (s_msg (&out->payload), frame) == 0;
    case 5:
        out->has_chunk = true;
        return size <= KC_WIRE_BODY_MAX
               && zmq_msg_move (s_msg (&out->chunk), frame) == 0;
    }
    return false;
}

kc_got_t kc_wire_recv (void *socket, kc_route_t *route, bool from_broker,
                       kc_wire_t *out)
{
    zmq_msg_t frame;
    zmq_msg_init (&frame);
    int rc = zmq_msg_recv (&frame, socket, ZMQ_DONTWAIT);
    if (rc < 0) {
        int why = zmq_errno ();
        zmq_msg_close (&frame);
        return why == EAGAIN || why == EINTR ? KC_GOT_NONE : KC_GOT_CLOSED;
    }
    bool good = true, more = zmq_msg_more (&frame) != 0;
    if (route) {
        route->size = zmq_msg_size (&frame);
        good = route->size > 0 && route->size <= sizeof route->id;
        if (good)
            memcpy (route->id, zmq_msg_data (&frame), route->size);
        else
            route->size = 0;
        rc = more ? zmq_msg_recv (&frame, socket, ZMQ_DONTWAIT) : -1;
        more = rc >= 0 && zmq_msg_more (&frame) != 0;
    }
    out->verb = (kc_verb_t)0;
    out->has_payload = out->has_chunk = false;
    out->added[0] = 0;
    zmq_msg_init (s_msg (&out->header));
    zmq_msg_init (s_msg (&out->payload));
    zmq_msg_init (s_msg (&out->chunk));
    int n = 0;
    while (rc >= 0) { // a message is delivered whole: its frames are all there
        good = good && n < FRAMES_MAX && s_take (out, n, &frame, from_broker);
        n++;
        if (!more)
            break;
        rc = zmq_msg_recv (&frame, socket, ZMQ_DONTWAIT);
        more = rc >= 0 && zmq_msg_more (&frame) != 0;
    }
    zmq_msg_close (&frame);
    if (good && n >= 3)
        return KC_GOT_MESSAGE;
    kc_wire_clear (out);
    return KC_GOT_BAD;
}

// ---- sending ----

static int s_send_bytes (void *socket, const void *data, size_t size, int flags)
{
    return zmq_send (socket, data, size, ZMQ_DONTWAIT | flags);
}

static int s_send_frame (void *socket, kc_frame_t *frame, bool last, int flags)
{
    if (last)
        return zmq_msg_send (s_msg (frame), socket, ZMQ_DONTWAIT | flags);
    zmq_msg_t copy;
    zmq_msg_init (&copy);
    zmq_msg_copy (&copy, s_msg (frame));
    int rc = zmq_msg_send (&copy, socket, ZMQ_DONTWAIT | flags);
    if (rc < 0)
        zmq_msg_close (&copy);
    return rc;
}

kc_sent_t kc_wire_send (void *socket, const kc_route_t *route, kc_wire_t *wire,
                        const char *added, bool last)
{
    bool body = wire->has_payload || wire->has_chunk;
    int rc = route ? s_send_bytes (socket, route->id, route->size, ZMQ_SNDMORE)
                   : s_send_bytes (socket, s_magic, sizeof s_magic - 1, ZMQ_SNDMORE);
    if (rc < 0)
        return zmq_errno () == EAGAIN || zmq_errno () == EINTR ? KC_SENT_FULL
                                                               : KC_SENT_GONE;
    // After its first frame a message is sure to find room for the others.
    if (route)
        rc = s_send_bytes (socket, s_magic, sizeof s_magic - 1, ZMQ_SNDMORE);
    if (rc >= 0)
        rc = s_send_bytes (socket, s_verbs[wire->verb], strlen (s_verbs[wire->verb]),
                           ZMQ_SNDMORE);
    bool tail = body || (route && added[0]);
    if (rc >= 0)
        rc = s_send_frame (socket, &wire->header, last, tail ? ZMQ_SNDMORE : 0);
    if (rc >= 0 && route && tail)
        rc = s_send_bytes (socket, added, strlen (added), body ? ZMQ_SNDMORE : 0);
    if (rc >= 0 && body)
        rc = s_send_frame (socket, &wire->payload, last,
                           wire->has_chunk ? ZMQ_SNDMORE : 0);
    if (rc >= 0 && wire->has_chunk)
        rc = s_send_frame (socket, &wire->chunk, last, 0);
    if (last && rc >= 0)
        kc_wire_clear (wire);
    return rc < 0 ? KC_SENT_GONE : KC_SENT;
}
