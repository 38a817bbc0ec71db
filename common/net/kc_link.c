// kc_link.c - see kc_link.h

#include "common/net/kc_link.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

#include "common/util/kc_clock.h"
#include "common/util/kc_log.h"
#include "common/util/kc_mem.h"

enum {
    TURN = 256,        // messages received before orders are looked at again
    RECONNECT_MS = 20, // first wait of libzmq for a broker that is not there
    RECONNECT_MAX_MS = 500,
    HIGH_WATER = 8192, // messages in a socket's queue; the rest waits here
};

typedef enum s_order_kind {
    ORDER_OPEN = 1,
    ORDER_SEND,
    ORDER_BEAT,
    ORDER_STOP
} s_order_kind_t;

typedef struct s_order {
    struct s_order *next;
    s_order_kind_t kind;
    unsigned generation;
    int64_t beat_ms, dead_ms;
    bool flush;
    kc_wire_t wire;
} s_order_t;

struct kc_link {
    char *endpoint;
    void *context;
    pthread_t thread;
    bool started;
    int orders_fd, events_fd;
    pthread_mutex_t lock; // guards the two lists
    s_order_t *orders, **orders_end;
    kc_link_event_t *events, **events_end;
    atomic_int pending;
    // the thread's own
    void *socket;
    unsigned generation;
    s_order_t *todo, **todo_end;
    int64_t beat_ms, dead_ms, next_beat, heard;
    bool stop, flush;
};

static void s_ring (int fd)
{
    uint64_t one = 1;
    (void)!write (fd, &one, sizeof one);
}

static void s_unring (int fd)
{
    uint64_t count;
    (void)!read (fd, &count, sizeof count);
}

static void s_order_free (kc_link_t *self, s_order_t *o)
{
    if (o->kind == ORDER_SEND)
        kc_wire_clear (&o->wire);
    free (o);
    atomic_fetch_sub (&self->pending, 1);
}

void kc_link_event_free (kc_link_event_t *event)
{
    if (event->kind == KC_LINK_MESSAGE)
        kc_wire_clear (&event->wire);
    free (event);
}

// ---- the thread ----

static void s_emit (kc_link_t *self, kc_link_event_t *event)
{
    event->next = NULL;
    event->generation = self->generation;
    pthread_mutex_lock (&self->lock);
    bool first = self->events == NULL;
    *self->events_end = event;
    self->events_end = &event->next;
    pthread_mutex_unlock (&self->lock);
    if (first)
        s_ring (self->events_fd);
}

static void s_set (void *socket, int option, int value)
{
    int rc = zmq_setsockopt (socket, option, &value, sizeof value);
    kc_assert (rc == 0);
}

static void s_close (kc_link_t *self, int linger_ms)
{
    if (!self->socket)
        return;
    s_set (self->socket, ZMQ_LINGER, linger_ms);
    zmq_close (self->socket);
    self->socket = NULL;
}

static void s_open (kc_link_t *self, unsigned generation)
{
    s_close (self, 0);
    self->generation = generation;
    self->beat_ms = 0;
    self->socket = zmq_socket (self->context, ZMQ_DEALER);
    if (!self->socket) {
        kc_log (KC_ERROR, "link.socket", "error", "s", zmq_strerror (zmq_errno ()),
                NULL);
        return; // the node's timer opens again
    }
    s_set (self->socket, ZMQ_LINGER, KC_LINK_LINGER_MS);
    s_set (self->socket, ZMQ_SNDTIMEO, 0);
    s_set (self->socket, ZMQ_SNDHWM, HIGH_WATER);
    s_set (self->socket, ZMQ_RCVHWM, HIGH_WATER);
    s_set (self->socket, ZMQ_RECONNECT_IVL, RECONNECT_MS);
    s_set (self->socket, ZMQ_RECONNECT_IVL_MAX, RECONNECT_MAX_MS);
    int64_t most = KC_WIRE_BODY_MAX;
    zmq_setsockopt (self->socket, ZMQ_MAXMSGSIZE, &most, sizeof most);
    if (zmq_connect (self->socket, self->endpoint) != 0)
        kc_log (KC_ERROR, "link.connect", "endpoint", "s", self->endpoint, "error", "s",
                zmq_strerror (zmq_errno ()), NULL);
}

static void s_take_orders (kc_link_t *self)
{
    s_unring (self->orders_fd);
    pthread_mutex_lock (&self->lock);
    if (self->orders) {
        *self->todo_end = self->orders;
        self->todo_end = self->orders_end;
        self->orders = NULL;
        self->orders_end = &self->orders;
    }
    pthread_mutex_unlock (&self->lock);
}

// The present socket is given up by a later order, so nothing needs to wait for room in
// it.
static bool s_goes (const kc_link_t *self)
{
    for (const s_order_t *o = self->todo; o; o = o->next)
        if (o->kind == ORDER_STOP || o->kind == ORDER_OPEN)
            return true;
    return false;
}

// Carry out orders until one has to wait for room; true when the socket is full.
static bool s_do_orders (kc_link_t *self)
{
    while (self->todo) {
        s_order_t *o = self->todo;
        switch (o->kind) {
        case ORDER_SEND:
            if (self->socket) {
                kc_sent_t sent = kc_wire_send (self->socket, NULL, &o->wire, "", true);
                if (sent == KC_SENT_FULL && !s_goes (self))
                    return true;
                if (sent == KC_SENT)
                    o->kind = ORDER_BEAT; // nothing left to clear
            }
            break;
        case ORDER_OPEN:
            s_open (self, o->generation);
            break;
        case ORDER_BEAT:
            self->beat_ms = o->beat_ms;
            self->dead_ms = o->dead_ms;
            self->heard = self->next_beat = kc_clock_ms ();
            break;
        case ORDER_STOP:
            self->stop = true;
            self->flush = o->flush;
            break;
        }
        self->todo = o->next;
        if (!self->todo)
            self->todo_end = &self->todo;
        s_order_free (self, o);
    }
    return false;
}

static void s_receive (kc_link_t *self)
{
    for (int i = 0; i < TURN && self->socket; i++) {
        kc_link_event_t *e = kc_malloc (sizeof *e);
        kc_got_t got = kc_wire_recv (self->socket, NULL, true, &e->wire);
        if (got == KC_GOT_MESSAGE) {
            self->heard = kc_clock_ms ();
            e->kind = KC_LINK_MESSAGE;
            s_emit (self, e);
            continue;
        }
        free (e);
        if (got != KC_GOT_BAD)
            return;
    }
}

static void s_beat (kc_link_t *self, bool full)
{
    if (!self->beat_ms || !self->socket)
        return;
    int64_t now = kc_clock_ms ();
    if (now - self->heard > self->dead_ms) {
        self->beat_ms = 0; // told once
        kc_link_event_t *e = kc_calloc (1, sizeof *e);
        e->kind = KC_LINK_SILENT;
        s_emit (self, e);
        return;
    }
    if (now < self->next_beat || full)
        return;
    self->next_beat = now + self->beat_ms;
    kc_wire_t ping;
    kc_wire_init (&ping, KC_VERB_PING, "{}", 2, NULL, 0, NULL, 0);
    if (kc_wire_send (self->socket, NULL, &ping, "", true) != KC_SENT)
        kc_wire_clear (&ping);
}

static void *s_thread (void *arg)
{
    kc_link_t *self = arg;
    (void)pthread_setname_np (pthread_self (), "kc-link");
    bool full = false;
    while (!self->stop) {
        zmq_pollitem_t items[2] = {
            {NULL, self->orders_fd, ZMQ_POLLIN, 0},
            {self->socket, -1, (short)(ZMQ_POLLIN | (full ? ZMQ_POLLOUT : 0)), 0}};
        long wait = -1;
        if (self->beat_ms && self->socket) {
            int64_t left = self->next_beat - kc_clock_ms ();
            wait = left > 0 ? (long)left : full ? 10 : 0;
        }
        (void)zmq_poll (items, self->socket ? 2 : 1, wait);
        if (self->socket)
            s_receive (self); // before silence is judged
        if (items[0].revents)
            s_take_orders (self);
        full = s_do_orders (self);
        s_beat (self, full);
    }
    s_close (self, self->flush ? KC_LINK_LINGER_MS : 0);
    return NULL;
}

// ---- the owner's side ----

static int s_start (kc_link_t *self, kc_err_t *err)
{
    sigset_t all, before;
    sigfillset (&all);
    pthread_sigmask (SIG_SETMASK, &all,
                     &before); // also for the threads that libzmq starts from there
    int rc = pthread_create (&self->thread, NULL, s_thread, self);
    pthread_sigmask (SIG_SETMASK, &before, NULL);
    if (rc != 0)
        return kc_fail_errno (err, rc, "link: cannot start its thread");
    self->started = true;
    return 0;
}

kc_link_t *kc_link_new (const char *endpoint, kc_err_t *err)
{
    int major, minor, patch;
    zmq_version (&major, &minor, &patch);
    if (major * 10000 + minor * 100 + patch < 40303) {
        kc_fail (err, KC_EUNSUPPORTED,
                 "libzmq %d.%d.%d is too old; 4.3.3 or newer is needed", major, minor,
                 patch);
        return NULL;
    }
    kc_link_t *self = kc_calloc (1, sizeof *self);
    self->endpoint = kc_strdup (endpoint);
    pthread_mutex_init (&self->lock, NULL);
    self->orders_end = &self->orders;
    self->events_end = &self->events;
    self->todo_end = &self->todo;
    self->orders_fd = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
    self->events_fd = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
    self->context = zmq_ctx_new ();
    int rc = 0;
    if (self->orders_fd < 0 || self->events_fd < 0)
        rc = kc_fail_errno (err, errno, "link: eventfd");
    else if (!self->context)
        rc = kc_fail (err, KC_EIO, "link: libzmq has no context: %s",
                      zmq_strerror (zmq_errno ()));
    else
        rc = s_start (self, err);
    if (rc < 0)
        kc_link_destroy (&self, false);
    return self;
}

static s_order_t *s_order (s_order_kind_t kind)
{
    s_order_t *o = kc_malloc (sizeof *o);
    o->next = NULL;
    o->kind = kind;
    return o;
}

static void s_give (kc_link_t *self, s_order_t *o)
{
    atomic_fetch_add (&self->pending, 1);
    pthread_mutex_lock (&self->lock);
    bool first = self->orders == NULL;
    *self->orders_end = o;
    self->orders_end = &o->next;
    pthread_mutex_unlock (&self->lock);
    if (first)
        s_ring (self->orders_fd);
}

void kc_link_destroy (kc_link_t **self_p, bool flush)
{
    kc_link_t *self = *self_p;
    if (!self)
        return;
    *self_p = NULL;
    if (self->started) {
        s_order_t *o = s_order (ORDER_STOP);
        o->flush = flush;
        s_give (self, o);
        struct timespec until;
        clock_gettime (CLOCK_REALTIME, &until);
        until.tv_sec += KC_LINK_STOP_MS / 1000;
        if (pthread_timedjoin_np (self->thread, NULL, &until) != 0) {
            kc_log (KC_ERROR, "link.stuck", NULL);
            _exit (70); // a thread that is stuck inside a library cannot be taken down
                        // alone
        }
    }
    if (self->context)
        zmq_ctx_term (
            self->context); // waits for the linger of the closed socket, no longer
    while (self->todo) {
        s_order_t *o = self->todo;
        self->todo = o->next;
        s_order_free (self, o);
    }
    while (self->orders) {
        s_order_t *o = self->orders;
        self->orders = o->next;
        s_order_free (self, o);
    }
    while (self->events) {
        kc_link_event_t *e = self->events;
        self->events = e->next;
        kc_link_event_free (e);
    }
    if (self->orders_fd >= 0)
        close (self->orders_fd);
    if (self->events_fd >= 0)
        close (self->events_fd);
    pthread_mutex_destroy (&self->lock);
    free (self->endpoint);
    free (self);
}

int kc_link_fd (const kc_link_t *self)
{
    return self->events_fd;
}

kc_link_event_t *kc_link_take (kc_link_t *self)
{
    s_unring (self->events_fd);
    pthread_mutex_lock (&self->lock);
    kc_link_event_t *list = self->events;
    self->events = NULL;
    self->events_end = &self->events;
    pthread_mutex_unlock (&self->lock);
    return list;
}

void kc_link_open (kc_link_t *self, unsigned generation)
{
    s_order_t *o = s_order (ORDER_OPEN);
    o->generation = generation;
    s_give (self, o);
}

void kc_link_send (kc_link_t *self, kc_wire_t *wire)
{
    s_order_t *o = s_order (ORDER_SEND);
    memcpy (
        &o->wire, wire,
        sizeof *wire); // a zmq_msg_t may be moved as bytes while nobody else touches it
    s_give (self, o);
}

void kc_link_beat (kc_link_t *self, int64_t beat_ms, int64_t dead_ms)
{
    s_order_t *o = s_order (ORDER_BEAT);
    o->beat_ms = beat_ms;
    o->dead_ms = dead_ms;
    s_give (self, o);
}

int kc_link_pending (const kc_link_t *self)
{
    return atomic_load (&self->pending);
}
