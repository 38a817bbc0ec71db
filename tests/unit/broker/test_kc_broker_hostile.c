/* test_kc_broker_hostile.c - bytes and frames that no honest peer sends; the broker
 * serves on
 *
 * Makes sockets itself, because the frames must be ones that our own sender never
 * makes.
 */
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <zmq.h>

#include "common/util/kc_clock.h"
#include "common/util/kc_mem.h"
#include "tests/unit/net/bus.h"

typedef struct attack {
    bus_t bus;
    void *context;
    char *endpoint;
} attack_t;

static int setup (void **state)
{
    attack_t *a = kc_calloc (1, sizeof *a);
    bus_start (&a->bus);
    a->context = zmq_ctx_new ();
    a->endpoint = kc_asprintf ("ipc://%s/broker.sock", a->bus.dir);
    *state = a;
    return 0;
}

static int teardown (void **state)
{
    attack_t *a = *state;
    zmq_ctx_term (a->context);
    bus_stop (&a->bus);
    free (a->endpoint);
    free (a);
    return 0;
}

static void *dealer (attack_t *a)
{
    void *s = zmq_socket (a->context, ZMQ_DEALER);
    int none = 0, wait = 3000;
    zmq_setsockopt (s, ZMQ_LINGER, &none, sizeof none);
    zmq_setsockopt (s, ZMQ_RCVTIMEO, &wait, sizeof wait);
    assert_int_equal (zmq_connect (s, a->endpoint), 0);
    return s;
}

static void send_frames (void *s, size_t n, const char *const *frames,
                         const size_t *sizes)
{
    for (size_t i = 0; i < n; i++)
        assert_true (zmq_send (s, frames[i], sizes ? sizes[i] : strlen (frames[i]),
                               i + 1 < n ? ZMQ_SNDMORE : 0)
                     >= 0);
}

// The verb of the next message, "" when none comes.
static void next_verb (void *s, char verb[16], char header[1100])
{
    verb[0] = header[0] = 0;
    char frame[1100];
    int more = 1;
    size_t size = sizeof more;
    for (int i = 0; more; i++) {
        int n = zmq_recv (s, frame, sizeof frame - 1, 0);
        if (n < 0)
            return;
        if (n > (int)sizeof frame - 1)
            n = (int)sizeof frame - 1;
        frame[n] = 0;
        if (i == 1)
            (void)snprintf (verb, 16, "%.15s", frame);
        if (i == 2)
            (void)snprintf (header, 1100, "%s", frame);
        zmq_getsockopt (s, ZMQ_RCVMORE, &more, &size);
    }
}

static const char s_hello[] =
    "{\"boot\":\"b\",\"instance\":\"x-1\",\"proto\":1,\"role\":\"planner\"}";

// An honest caller is served, and the broker is the same process as before; is the word
// in its status?
static bool assert_well (attack_t *a, const char *word)
{
    kc_loop_t *loop = kc_loop_new (NULL);
    kc_node_config_t config = {
        .loop = loop, .run_dir = a->bus.dir, .role = "client", .give_up_ms = 5000};
    kc_err_t err = {0};
    kc_node_t *node = kc_node_new (&config, &err);
    assert_non_null (node);
    kc_call_t call = {.op = "broker.fleet.status",
                      .ttl_ms = 5000,
                      .payload = "{}",
                      .payload_size = 2};
    kc_answer_t answer;
    if (kc_node_call_wait (node, &call, &answer, &err) < 0)
        fail_msg ("%s", err.text);
    bool found = word && strstr (answer.payload, word) != NULL;
    kc_answer_free (&answer);
    kc_node_destroy (&node);
    kc_loop_destroy (&loop);
    assert_int_equal (bus_wait (&a->bus.broker, 0), -1); // still running
    return found;
}

static void random_bytes_on_the_socket_change_nothing (void **state)
{
    attack_t *a = *state;
    uint64_t dice = 42;
    for (int round = 0; round < 60; round++) {
        int fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        struct sockaddr_un to = {.sun_family = AF_UNIX};
        (void)snprintf (to.sun_path, sizeof to.sun_path, "%s", a->endpoint + 6);
        assert_int_equal (connect (fd, (struct sockaddr *)&to, sizeof to), 0);
        unsigned char bytes[2048];
        for (size_t i = 0; i < sizeof bytes; i++) {
            dice = dice * 6364136223846793005u + 1442695040888963407u;
            bytes[i] = (unsigned char)(dice >> 56);
        }
        if (round % 2) { // a greeting that looks right, then nonsense
            memset (bytes, 0, 64);
            bytes[0] = 0xff;
            bytes[9] = 0x7f;
            bytes[10] = 3;
            memcpy (bytes + 12, "NULL", 4);
        }
        (void)!send (fd, bytes, sizeof bytes, MSG_NOSIGNAL);
        close (fd);
    }
    (void)assert_well (a, NULL);
}

static void frames_that_break_the_rules_are_answered_or_dropped (void **state)
{
    attack_t *a = *state;
    static char big[1 << 20], long_header[3000];
    memset (big, 'x', sizeof big);
    memset (long_header, ' ', sizeof long_header);
    const char *cases[][8] = {
        {"KCP1"},
        {"KCP2", "HELLO", s_hello},
        {"KCP1", "HELLO", "{"},
        {"KCP1", "HELLO", "{}"},
        {"KCP1", "HELLO", "[]"},
        {"KCP1", "HELLO",
         "{\"boot\":\"b\",\"instance\":\"x-1\",\"proto\":1,\"role\":\"emperor\"}"},
        {"KCP1", "HELLO",
         "{\"boot\":\"b\",\"instance\":\"x-1\",\"ops\":[\"memory.stats\"],\"proto\":1,"
         "\"role\":\"planner\"}"},
        {"KCP1", "HELLO",
         "{\"boot\":\"b\",\"instance\":\"x-1\",\"proto\":7,\"role\":\"planner\"}"},
        {"KCP1", "HELLO",
         "{\"boot\":\"b\",\"caps\":[{\"key\":\"sm\"}],\"instance\":\"x-1\",\"proto\":1,"
         "\"role\":\"planner\"}"},
        {"KCP1", "REQUEST", "{\"id\":\"a\"}", "payload"},
        {"KCP1", "REPLY", "{\"id\":\"a\"}", "payload"},
        {"KCP1", "WELCOME", "{}"},
        {"KCP1", "NOSUCH", "{}"},
        {"", "", ""},
        {"KCP1", "REQUEST", "{}", "p", "c", "too", "many"},
    };
    for (size_t i = 0; i < KC_COUNT (cases); i++) {
        void *s = dealer (a);
        size_t n = 0;
        while (n < 8 && cases[i][n])
            n++;
        send_frames (s, n, cases[i], NULL);
        char verb[16], header[1100];
        next_verb (s, verb, header);
        assert_string_equal (verb, "REJECT");
        zmq_close (s);
    }
    void *s = dealer (a);
    const char *header[] = {"KCP1", "REQUEST", long_header, "p"};
    size_t sizes[] = {4, 7, sizeof long_header, 1};
    send_frames (s, 4, header, sizes);
    char verb[16], text[1100];
    next_verb (s, verb, text);
    assert_string_equal (verb, "REJECT");
    zmq_close (s);
    (void)assert_well (a, NULL);
}

static void
a_session_that_turns_malformed_loses_its_place_and_nobody_else_does (void **state)
{
    attack_t *a = *state;
    kc_child_t w = bus_worker (&a->bus, "evaluator", "evaluator-1", 1, NULL);
    const char *bad[] = {
        "{\"id\":\"a\",\"op\":\"evaluator.evaluate\",\"sum\":\"0123456789abcdef\","
        "\"ttl_ms\":1,\"need\":[{\"key\":1}]}",
        "{\"id\":\"a\",\"op\":\"evaluator.evaluate\",\"sum\":\"0123456789abcdef\","
        "\"ttl_ms\":1,\"need\":[{\"key\":\"k\",\"op\":\"~\"}]}",
        "{\"id\":5}", "nonsense"};
    for (size_t i = 0; i < KC_COUNT (bad); i++) {
        void *s = dealer (a);
        const char *hello[] = {"KCP1", "HELLO", s_hello},
                   *request[] = {"KCP1", "REQUEST", bad[i], "p"};
        char verb[16], text[1100];
        send_frames (s, 3, hello, NULL);
        next_verb (s, verb, text);
        assert_string_equal (verb, "WELCOME");
        send_frames (s, 4, request, NULL);
        next_verb (s, verb, text);
        assert_string_equal (verb, "REJECT");
        assert_non_null (strstr (text, "protocol"));
        const char *ping[] = {"KCP1", "PING", "{}"};
        send_frames (s, 3, ping, NULL);
        next_verb (s, verb, text);
        assert_string_equal (verb, "REJECT"); // no session any more
        zmq_close (s);
    }
    kc_loop_t *loop = kc_loop_new (NULL);
    kc_node_config_t config = {
        .loop = loop, .run_dir = a->bus.dir, .role = "planner", .give_up_ms = 5000};
    kc_node_t *node = kc_node_new (&config, NULL);
    kc_call_t call = {.op = "evaluator.evaluate",
                      .ttl_ms = 5000,
                      .payload = "0 x",
                      .payload_size = 3};
    kc_answer_t answer;
    kc_err_t err = {0};
    if (kc_node_call_wait (node, &call, &answer, &err) < 0)
        fail_msg ("%s", err.text);
    kc_answer_free (&answer);
    kc_node_destroy (&node);
    kc_loop_destroy (&loop);
    kc_child_destroy (&w);
}

static void a_peer_that_never_reads_is_lost_and_costs_no_memory (void **state)
{
    attack_t *a = *state;
    void *s = zmq_socket (a->context, ZMQ_DEALER);
    int none = 0, one = 1;
    zmq_setsockopt (s, ZMQ_LINGER, &none, sizeof none);
    zmq_setsockopt (s, ZMQ_RCVHWM, &one, sizeof one);
    assert_int_equal (zmq_connect (s, a->endpoint), 0);
    const char *hello[] = {"KCP1", "HELLO", s_hello};
    send_frames (s, 3, hello, NULL);
    char id[160];
    int64_t until = kc_clock_ms () + 2000;
    int asked = 0;
    while (kc_clock_ms () < until) { // each one is answered, none is read
        (void)snprintf (id, sizeof id,
                        "{\"id\":\"f%d\",\"op\":\"broker.fleet.status\",\"sum\":"
                        "\"0123456789abcdef\",\"ttl_ms\":0}",
                        asked);
        const char *request[] = {"KCP1", "REQUEST", id, "{}"};
        if (zmq_send (s, request[0], 4, ZMQ_DONTWAIT | ZMQ_SNDMORE) < 0) {
            (void)poll (NULL, 0, 2);
            continue;
        }
        for (size_t k = 1; k < 4; k++)
            assert_true (zmq_send (s, request[k], strlen (request[k]),
                                   ZMQ_DONTWAIT | (k < 3 ? ZMQ_SNDMORE : 0))
                         >= 0);
        asked++;
    }
    assert_true (asked > 9000); // more than all queues on the way hold
    (void)assert_well (a, NULL);
    char path[64], line[256];
    (void)snprintf (path, sizeof path, "/proc/%d/status", (int)a->bus.broker.pid);
    FILE *f = fopen (path, "re");
    long kb = 0;
    while (f && fgets (line, sizeof line, f))
        if (strncmp (line, "VmRSS:", 6) == 0)
            kb = strtol (line + 6, NULL, 10);
    assert_non_null (f);
    (void)fclose (f);
    assert_true (kb > 0 && kb < 600 * 1024);
    bool there = true;
    for (until = kc_clock_ms () + 4000; there && kc_clock_ms () < until;
         (void)poll (NULL, 0, 50))
        there = assert_well (a, "\"instance\":\"x-1\"");
    assert_false (there); // what stays blocked is lost
    zmq_close (s);
}

#define T(f) cmocka_unit_test_setup_teardown (f, setup, teardown)

int main (void)
{
    const struct CMUnitTest tests[] = {
        T (random_bytes_on_the_socket_change_nothing),
        T (frames_that_break_the_rules_are_answered_or_dropped),
        T (a_session_that_turns_malformed_loses_its_place_and_nobody_else_does),
        T (a_peer_that_never_reads_is_lost_and_costs_no_memory),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
