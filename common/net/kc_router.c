// kc_router.c - see kc_router.h

#include "common/net/kc_router.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#include "common/util/kc_mem.h"

enum {
    HIGH_WATER = 8192, // messages per peer inside libzmq
    SOCKETS_MAX = 8192,
    BACKLOG = 1024,
};

struct kc_router {
    char *path, *endpoint;
    void *context, *socket;
    bool bound;
};

static void s_set (void *socket, int option, int value)
{
    int rc = zmq_setsockopt (socket, option, &value, sizeof value);
    kc_assert (rc == 0);
}

static int s_bind (kc_router_t *self, kc_err_t *err)
{
    s_set (self->socket, ZMQ_ROUTER_MANDATORY, 1);
    s_set (self->socket, ZMQ_SNDTIMEO, 0);
    s_set (self->socket, ZMQ_LINGER, KC_ROUTER_LINGER_MS);
    s_set (self->socket, ZMQ_SNDHWM, HIGH_WATER);
    s_set (self->socket, ZMQ_RCVHWM, HIGH_WATER);
    s_set (self->socket, ZMQ_BACKLOG, BACKLOG);
    int64_t most = KC_WIRE_BODY_MAX;
    zmq_setsockopt (self->socket, ZMQ_MAXMSGSIZE, &most, sizeof most);
    if (unlink (self->path) == 0)
        self->bound = false;
    mode_t before = umask (0177);
    int rc = zmq_bind (self->socket, self->endpoint);
    int why = zmq_errno ();
    umask (before);
    if (rc != 0)
        return kc_fail (err, KC_EIO, "cannot listen on %s: %s", self->path,
                        zmq_strerror (why));
    self->bound = true;
    return 0;
}

kc_router_t *kc_router_new (const char *path, kc_err_t *err)
{
    int major, minor, patch;
    zmq_version (&major, &minor, &patch);
    if (major * 10000 + minor * 100 + patch < 40303) {
        kc_fail (err, KC_EUNSUPPORTED,
                 "libzmq %d.%d.%d is too old; 4.3.3 or newer is needed", major, minor,
                 patch);
        return NULL;
    }
    if (strlen (path) > KC_ROUTER_PATH_MAX) {
        kc_fail (err, KC_EUSAGE,
                 "the socket path %s has %zu bytes, the system allows %d; choose a "
                 "shorter --run",
                 path, strlen (path), KC_ROUTER_PATH_MAX);
        return NULL;
    }
    kc_router_t *self = kc_calloc (1, sizeof *self);
    self->path = kc_strdup (path);
    self->endpoint = kc_asprintf ("ipc://%s", path);
    self->context = zmq_ctx_new ();
    if (self->context) {
        zmq_ctx_set (self->context, ZMQ_MAX_SOCKETS, SOCKETS_MAX);
        self->socket = zmq_socket (self->context, ZMQ_ROUTER);
    }
    int rc = self->socket
                 ? s_bind (self, err)
                 : kc_fail (err, KC_EIO, "libzmq: %s", zmq_strerror (zmq_errno ()));
    if (rc < 0)
        kc_router_destroy (&self);
    return self;
}

void kc_router_destroy (kc_router_t **self_p)
{
    kc_router_t *self = *self_p;
    if (!self)
        return;
    *self_p = NULL;
    if (self->socket)
        zmq_close (self->socket);
    if (self->context)
        zmq_ctx_term (self->context);
    if (self->bound)
        (void)unlink (self->path);
    free (self->endpoint);
    free (self->path);
    free (self);
}

kc_got_t kc_router_recv (kc_router_t *self, kc_route_t *route, kc_wire_t *out)
{
    return kc_wire_recv (self->socket, route, false, out);
}

kc_sent_t kc_router_send (kc_router_t *self, const kc_route_t *route, kc_wire_t *wire,
                          const char *added, bool last)
{
    return kc_wire_send (self->socket, route, wire, added, last);
}

bool kc_router_wait (kc_router_t *self, int fd, int64_t wait_ms)
{
    zmq_pollitem_t items[2] = {{self->socket, -1, ZMQ_POLLIN, 0},
                               {NULL, fd, ZMQ_POLLIN, 0}};
    (void)zmq_poll (items, 2, (long)wait_ms);
    return items[1].revents != 0;
}
