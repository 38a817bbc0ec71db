/* bench_bus.c - the parts of the broker's benchmark, one role per process
 *
 *   bench_bus relay ENDPOINT_FRONT ENDPOINT_BACK         bare libzmq ROUTER/DEALER
 * relay, the yardstick bench_bus serve raw|relay|node ENDPOINT              answers
 * every request at once with a payload of its own bench_bus drive raw|relay|node
 * ENDPOINT SECONDS WINDOW BYTES keeps WINDOW requests open, prints rate and latencies
 *
 * raw and relay are the same code over one DEALER; relay only leaves HELLO and beats
 * away, so broker and relay are measured under the same load by the same processes.
 * node uses kc_node as every daemon does. This is the one place outside common/net that
 * includes zmq.h: the yardstick must be bare.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

#include "common/net/kc_node.h"
#include "common/net/kc_process.h"
#include "common/net/kc_wire.h"
#include "common/util/kc_buf.h"
#include "common/util/kc_clock.h"
#include "common/util/kc_hash.h"
#include "common/util/kc_log.h"
#include "common/util/kc_mem.h"

enum { WINDOW_MAX = 1024, SAMPLES = 4 << 20, TURN = 256, REPLY_BYTES = 200 };

typedef enum way { RAW = 1, RELAY, NODE } way_t;

static int s_usage (void)
{
    (void)fprintf (
        stderr, "usage: bench_bus relay FRONT BACK | serve raw|relay|node ENDPOINT | "
                "drive raw|relay|node ENDPOINT SECONDS WINDOW BYTES\n");
    return 2;
}

// ---- measuring ----

typedef struct figures {
    int64_t start_ns, end_ns, sent_ns[WINDOW_MAX];
    int64_t *us;
    size_t n;
    int64_t done;
} figures_t;

static int s_compare (const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static void s_sample (figures_t *f, size_t slot)
{
    f->end_ns = kc_clock_ns ();
    if (f->n < SAMPLES)
        f->us[f->n++] = (f->end_ns - f->sent_ns[slot]) / 1000;
    f->done++;
}

static void s_print (figures_t *f)
{
    qsort (f->us, f->n, sizeof *f->us, s_compare);
    double seconds = (double)(f->end_ns - f->start_ns) / 1e9;
    size_t n = f->n ? f->n : 1;
    (void)printf ("rate=%.0f p50_ms=%.3f p99_ms=%.3f max_ms=%.3f requests=%lld\n",
                  (double)f->done / seconds, (double)f->us[n / 2] / 1000,
                  (double)f->us[n * 99 / 100] / 1000, (double)f->us[n - 1] / 1000,
                  (long long)f->done);
    free (f->us);
}

// ---- one bare DEALER ----

typedef struct bare {
    void *context, *socket;
    way_t way;
    int64_t next_beat;
} bare_t;

static void s_send (void *socket, const char *const *frames, const size_t *sizes,
                    size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (zmq_send (socket, frames[i], sizes[i], i + 1 < n ? ZMQ_SNDMORE : 0) < 0) {
            (void)fprintf (stderr, "bench: send: %s\n", zmq_strerror (zmq_errno ()));
            _exit (1);
        }
}

static void s_say (bare_t *b, const char *verb, const char *header)
{
    const char *frames[] = {"KCP1", verb, header};
    size_t sizes[] = {4, strlen (verb), strlen (header)};
    s_send (b->socket, frames, sizes, 3);
}

static void s_open (bare_t *b, way_t way, const char *endpoint, const char *role,
                    const char *ops)
{
    b->way = way;
    b->context = zmq_ctx_new ();
    b->socket = zmq_socket (b->context, ZMQ_DEALER);
    int water = 8192, linger = 0;
    zmq_setsockopt (b->socket, ZMQ_SNDHWM, &water, sizeof water);
    zmq_setsockopt (b->socket, ZMQ_RCVHWM, &water, sizeof water);
    zmq_setsockopt (b->socket, ZMQ_LINGER, &linger, sizeof linger);
    if (zmq_connect (b->socket, endpoint) != 0) {
        (void)fprintf (stderr, "bench: %s: %s\n", endpoint,
                       zmq_strerror (zmq_errno ()));
        _exit (1);
    }
    if (way != RAW)
        return;
    kc_buf_t hello = {0};
    kc_buf_printf (&hello,
                   "{\"boot\":\"b%d\",\"instance\":\"%s-bench\",\"ops\":[%s],\"proto\":"
                   "1,\"role\":\"%s\",\"slots\":4096}",
                   (int)getpid (), role, ops, role);
    s_say (b, "HELLO", kc_buf_str (&hello));
    kc_buf_free (&hello);
}

static void s_beat (bare_t *b)
{
    int64_t now = kc_clock_ms ();
    if (b->way != RAW || now < b->next_beat)
        return;
    b->next_beat = now + 1000;
    s_say (b, "PING", "{}");
}

// Frames of one message, at most 'max' (the rest is dropped); 0 = none there.
static int s_receive (bare_t *b, zmq_msg_t *frames, int max)
{
    int n = 0;
    for (;;) {
        zmq_msg_t *f = &frames[n < max ? n : max - 1];
        zmq_msg_init (f);
        if (zmq_msg_recv (f, b->socket, ZMQ_DONTWAIT) < 0)
            return 0;
        n++;
        if (!zmq_msg_more (f))
            return n < max ? n : max;
        if (n >= max)
            zmq_msg_close (f);
    }
}

static void s_wait (bare_t *b)
{
    zmq_pollitem_t item = {b->socket, -1, ZMQ_POLLIN, 0};
    (void)zmq_poll (&item, 1, 200);
}

static _Noreturn void s_serve_bare (way_t way, const char *endpoint)
{
    bare_t b = {0};
    s_open (&b, way, endpoint, "memory", "\"memory.step.append\"");
    char payload[REPLY_BYTES];
    memset (payload, 'r', sizeof payload);
    int shift = way == RELAY; // the relay's peer name comes in front and goes back
    for (;;) {
        zmq_msg_t f[8];
        int n = 0;
        for (int i = 0; i < TURN && (n = s_receive (&b, f, 8)) > 0; i++) {
            if (n >= 4 + shift && zmq_msg_size (&f[1 + shift]) == 7) { // REQUEST
                const char *header = zmq_msg_data (&f[2 + shift]);
                const char *id =
                    memmem (header, zmq_msg_size (&f[2 + shift]), "\"id\":\"", 6);
                const char *end = id ? strchr (id + 6, '"') : NULL;
                char reply[128];
                int size = end ? snprintf (reply, sizeof reply, "{\"id\":\"%.*s\"}",
                                           (int)(end - id - 6), id + 6)
                               : 0;
                const char *frames[] = {zmq_msg_data (&f[0]), "KCP1", "REPLY", reply,
                                        payload};
                size_t sizes[] = {zmq_msg_size (&f[0]), 4, 5, (size_t)size,
                                  sizeof payload};
                s_send (b.socket, frames + !shift, sizes + !shift, 4 + (size_t)shift);
            }
            for (int k = 0; k < n; k++)
                zmq_msg_close (&f[k]);
        }
        s_beat (&b);
        if (n == 0)
            s_wait (&b);
    }
}

typedef struct load {
    int64_t until_ns, next;
    int window, open;
    char *payload;
    size_t bytes;
    char sum[17];
    figures_t figures;
} load_t;

static void s_ask (bare_t *b, load_t *l)
{
    char header[160];
    int size = snprintf (header, sizeof header,
                         "{\"flow\":\"01JD00000000000000000000\",\"id\":\"01JD.%lld\","
                         "\"op\":\"memory.step.append\","
                         "\"sum\":\"%s\",\"ttl_ms\":30000}",
                         (long long)l->next, l->sum);
    l->figures.sent_ns[l->next % l->window] = kc_clock_ns ();
    const char *frames[] = {"KCP1", "REQUEST", header, l->payload};
    size_t sizes[] = {4, 7, (size_t)size, l->bytes};
    s_send (b->socket, frames, sizes, 4);
    l->next++;
    l->open++;
}

static int s_drive_bare (way_t way, const char *endpoint, load_t *l)
{
    bare_t b = {0};
    s_open (&b, way, endpoint, "planner", "");
    l->figures.start_ns = kc_clock_ns ();
    l->until_ns += l->figures.start_ns;
    for (int i = 0; i < l->window; i++)
        s_ask (&b, l);
    while (l->open > 0) {
        zmq_msg_t f[8];
        int n = 0;
        for (int i = 0; i < TURN && (n = s_receive (&b, f, 8)) > 0; i++) {
            bool reply = n >= 4 && zmq_msg_size (&f[1]) == 5
                         && memcmp (zmq_msg_data (&f[1]), "REPLY", 5) == 0;
            bool error = n >= 3 && zmq_msg_size (&f[1]) == 5
                         && memcmp (zmq_msg_data (&f[1]), "ERROR", 5) == 0;
            if (error) {
                (void)fprintf (stderr, "bench: %.*s\n", (int)zmq_msg_size (&f[2]),
                               (char *)zmq_msg_data (&f[2]));
                return 1;
            }
            if (reply) {
                const char *header = zmq_msg_data (&f[2]);
                const char *id = memmem (header, zmq_msg_size (&f[2]), "01JD.", 5);
                s_sample (&l->figures, (size_t)(id ? strtoll (id + 5, NULL, 10) : 0)
                                           % (size_t)l->window);
                l->open--;
                if (l->figures.end_ns < l->until_ns)
                    s_ask (&b, l);
            }
            for (int k = 0; k < n; k++)
                zmq_msg_close (&f[k]);
        }
        s_beat (&b);
        if (n == 0)
            s_wait (&b);
    }
    s_print (&l->figures);
    return 0;
}

static int s_relay (const char *front, const char *back)
{
    void *context = zmq_ctx_new ();
    void *a = zmq_socket (context, ZMQ_ROUTER), *b = zmq_socket (context, ZMQ_DEALER);
    int water = 8192;
    zmq_setsockopt (a, ZMQ_SNDHWM, &water, sizeof water);
    zmq_setsockopt (b, ZMQ_SNDHWM, &water, sizeof water);
    if (zmq_bind (a, front) != 0 || zmq_bind (b, back) != 0) {
        (void)fprintf (stderr, "bench: relay: %s\n", zmq_strerror (zmq_errno ()));
        return 1;
    }
    return zmq_proxy (a, b, NULL);
}

// ---- nodes ----

static void s_node_request (void *arg, kc_node_t *node, const kc_request_t *r)
{
    kc_err_t err;
    (void)kc_node_reply (node, r->id, arg, REPLY_BYTES, NULL, 0, &err);
}

static int s_serve_node (const char *endpoint)
{
    static const char *const ops[] = {"memory.step.append", NULL};
    char payload[REPLY_BYTES];
    memset (payload, 'r', sizeof payload);
    kc_err_t err = {0};
    kc_loop_t *loop = kc_loop_new (&err);
    kc_node_config_t config = {.loop = loop,
                               .endpoint = endpoint,
                               .role = "memory",
                               .instance = "memory-bench",
                               .ops = ops,
                               .slots = 4096,
                               .on_request = s_node_request,
                               .arg = payload};
    if (!kc_node_new (&config, &err) || kc_loop_run (loop, &err) < 0)
        (void)fprintf (stderr, "bench: %s\n", err.text);
    return 1;
}

static void s_node_answer (void *arg, kc_node_t *node, const kc_answer_t *a);

static void s_node_ask (kc_node_t *node, load_t *l)
{
    char id[32];
    (void)snprintf (id, sizeof id, "01JD.%lld", (long long)l->next);
    kc_call_t call = {.id = id,
                      .op = "memory.step.append",
                      .flow = "01JD00000000000000000000",
                      .ttl_ms = 30000,
                      .payload = l->payload,
                      .payload_size = l->bytes};
    l->figures.sent_ns[l->next % l->window] = kc_clock_ns ();
    kc_err_t err;
    if (kc_node_call (node, &call, s_node_answer, l, &err) < 0) {
        (void)fprintf (stderr, "bench: %s\n", err.text);
        _exit (1);
    }
    l->next++;
    l->open++;
}

static void s_node_answer (void *arg, kc_node_t *node, const kc_answer_t *a)
{
    load_t *l = arg;
    l->open--;
    if (a->code != KC_OK) {
        (void)fprintf (stderr, "bench: %s\n", a->text);
        _exit (1);
    }
    s_sample (&l->figures, (size_t)strtoll (a->id + 5, NULL, 10) % (size_t)l->window);
    if (l->figures.end_ns < l->until_ns)
        s_node_ask (node, l);
}

static int s_drive_node (const char *endpoint, load_t *l)
{
    kc_err_t err = {0};
    kc_loop_t *loop = kc_loop_new (&err);
    kc_node_config_t config = {.loop = loop,
                               .endpoint = endpoint,
                               .role = "planner",
                               .instance = "planner-bench"};
    kc_node_t *node = kc_node_new (&config, &err);
    if (!node)
        return 1;
    while (!kc_node_connected (node))
        (void)kc_loop_turn (loop, 100, NULL);
    l->figures.start_ns = kc_clock_ns ();
    l->until_ns += l->figures.start_ns;
    for (int i = 0; i < l->window; i++)
        s_node_ask (node, l);
    while (l->open > 0)
        (void)kc_loop_turn (loop, 100, NULL);
    s_print (&l->figures);
    kc_node_destroy (&node);
    kc_loop_destroy (&loop);
    return 0;
}

static way_t s_way (const char *word)
{
    return strcmp (word, "raw") == 0     ? RAW
           : strcmp (word, "relay") == 0 ? RELAY
           : strcmp (word, "node") == 0  ? NODE
                                         : (way_t)0;
}

int main (int argc, char **argv)
{
    kc_process_init ("bench_bus");
    kc_log_init ("bench_bus", "bench");
    kc_log_level (KC_ERROR);
    if (argc == 4 && strcmp (argv[1], "relay") == 0)
        return s_relay (argv[2], argv[3]);
    way_t way = argc > 2 ? s_way (argv[2]) : (way_t)0;
    if (way && argc == 4 && strcmp (argv[1], "serve") == 0) {
        if (way == NODE)
            return s_serve_node (argv[3]);
        s_serve_bare (way, argv[3]);
    }
    if (!way || argc != 7 || strcmp (argv[1], "drive") != 0)
        return s_usage ();
    load_t l = {.until_ns = (int64_t)(strtod (argv[4], NULL) * 1e9),
                .window = (int)strtol (argv[5], NULL, 10),
                .bytes = (size_t)strtoll (argv[6], NULL, 10)};
    if (l.window < 1 || l.window > WINDOW_MAX || l.bytes > KC_NODE_PAYLOAD_MAX)
        return s_usage ();
    l.payload = kc_calloc (1, l.bytes + 1);
    memset (l.payload, 'p', l.bytes);
    char hex[KC_SHA_HEX];
    kc_sha256_hex (l.payload, l.bytes, hex);
    (void)snprintf (l.sum, sizeof l.sum, "%.16s", hex);
    l.figures.us = kc_malloc (SAMPLES * sizeof *l.figures.us);
    int rc = way == NODE ? s_drive_node (argv[3], &l) : s_drive_bare (way, argv[3], &l);
    free (l.payload);
    return rc;
}
