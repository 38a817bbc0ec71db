// test_kc_node.c - nodes, a real broker and real workers: what a caller and a worker
// may rely on

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/util/kc_clock.h"
#include "common/util/kc_fs.h"
#include "common/util/kc_mem.h"
#include "tests/unit/net/bus.h"

typedef struct caller {
    bus_t bus;
    kc_loop_t *loop;
    kc_node_t *node;
} caller_t;

typedef struct result {
    int answers;
    kc_code_t code;
    char text[512];
    char payload[256];
    size_t payload_size, chunk_size;
    int64_t retry_after_ms;
    char from[128];
} result_t;

static void on_answer (void *arg, kc_node_t *node, const kc_answer_t *a)
{
    (void)node;
    result_t *r = arg;
    r->answers++;
    r->code = a->code;
    r->retry_after_ms = a->retry_after_ms;
    (void)snprintf (r->text, sizeof r->text, "%s", a->text);
    (void)snprintf (r->from, sizeof r->from, "%s", a->from);
    (void)snprintf (r->payload, sizeof r->payload, "%.*s",
                    (int)(a->payload_size < 200 ? a->payload_size : 200),
                    a->payload ? (const char *)a->payload : "");
    r->payload_size = a->payload_size;
    r->chunk_size = a->chunk_size;
}

static kc_node_t *node_of (caller_t *c, const char *role, const char *instance)
{
    kc_err_t err = {0};
    kc_node_config_t config = {
        .loop = c->loop, .run_dir = c->bus.dir, .role = role, .instance = instance};
    kc_node_t *node = kc_node_new (&config, &err);
    assert_non_null (node);
    return node;
}

static void turn_until (caller_t *c, const int *value, int wanted, int64_t limit_ms)
{
    int64_t until = kc_clock_ms () + limit_ms;
    while (*value < wanted && kc_clock_ms () < until)
        assert_int_equal (kc_loop_turn (c->loop, 20, NULL), 0);
    assert_int_equal (*value, wanted);
}

static void turn_for (caller_t *c, int64_t ms)
{
    int64_t until = kc_clock_ms () + ms;
    while (kc_clock_ms () < until)
        assert_int_equal (kc_loop_turn (c->loop, 10, NULL), 0);
}

static void call (kc_node_t *node, const char *id, const char *op, const char *payload,
                  int64_t ttl, const char *need, result_t *r)
{
    kc_err_t err = {0};
    kc_call_t spec = {.id = id,
                      .op = op,
                      .flow = "task",
                      .ttl_ms = ttl,
                      .need = need,
                      .payload = payload,
                      .payload_size = strlen (payload)};
    *r = (result_t){0};
    if (kc_node_call (node, &spec, on_answer, r, &err) < 0)
        fail_msg ("%s", err.text);
}

static int setup (void **state)
{
    caller_t *c = kc_calloc (1, sizeof *c);
    bus_start (&c->bus);
    c->loop = kc_loop_new (NULL);
    c->node = node_of (c, "planner", "planner-1");
    *state = c;
    return 0;
}

static int teardown (void **state)
{
    caller_t *c = *state;
    kc_node_destroy (&c->node);
    kc_loop_destroy (&c->loop);
    bus_stop (&c->bus);
    free (c);
    return 0;
}

static void a_request_reaches_a_worker_and_its_reply_the_caller (void **state)
{
    caller_t *c = *state;
    kc_child_t w = bus_worker (&c->bus, "evaluator", "evaluator-1", 1, NULL);
    result_t r;
    call (c->node, "t.0.0.eval.0", "evaluator.evaluate", "0 hello", 10000, NULL, &r);
    turn_until (c, &r.answers, 1, 5000);
    assert_int_equal (r.code, KC_OK);
    assert_string_equal (r.payload, "evaluator-1 1 hello");
    assert_string_equal (r.from, "evaluator-1");
    kc_child_destroy (&w);
}

static void
an_error_of_a_worker_reaches_the_caller_with_its_code_and_text (void **state)
{
    caller_t *c = *state;
    kc_child_t w = bus_worker (&c->bus, "evaluator", "evaluator-1", 1, NULL);
    result_t r;
    call (c->node, NULL, "evaluator.evaluate", "fail", 10000, NULL, &r);
    turn_until (c, &r.answers, 1, 5000);
    assert_int_equal (r.code, KC_EINVALID);
    assert_string_equal (r.text, "the payload says \"fail\"");
    kc_child_destroy (&w);
}

static void a_blocking_call_returns_the_reply_and_its_chunk (void **state)
{
    caller_t *c = *state;
    kc_child_t w = bus_worker (&c->bus, "memory", "memory-1", 4, NULL);
    enum { CHUNK = 1 << 20 };
    char *chunk = kc_calloc (1, CHUNK);
    memset (chunk, 7, CHUNK);
    kc_call_t spec = {.op = "memory.blob.put",
                      .ttl_ms = 10000,
                      .payload = "big 1048576",
                      .payload_size = 11,
                      .chunk = chunk,
                      .chunk_size = CHUNK};
    kc_answer_t a;
    kc_err_t err = {0};
    if (kc_node_call_wait (c->node, &spec, &a, &err) < 0)
        fail_msg ("%s", err.text);
    assert_int_equal (a.payload_size, 1 << 20);
    assert_int_equal (a.chunk_size, CHUNK);
    assert_memory_equal (a.chunk, chunk, CHUNK);
    kc_answer_free (&a);
    spec.op = "evaluator.evaluate";
    assert_int_equal (kc_node_call_wait (c->node, &spec, &a, &err), -1);
    assert_int_equal (err.code, KC_EINVALID); // chunks are for blobs only
    free (chunk);
    kc_child_destroy (&w);
}

static void what_is_too_large_is_refused_before_it_is_sent (void **state)
{
    caller_t *c = *state;
    kc_err_t err = {0};
    kc_call_t spec = {
        .op = "memory.stats", .payload = "", .payload_size = KC_NODE_PAYLOAD_MAX + 1};
    result_t r = {0};
    assert_int_equal (kc_node_call (c->node, &spec, on_answer, &r, &err), -1);
    assert_int_equal (err.code, KC_EINVALID);
}

static void an_edge_that_does_not_exist_is_refused (void **state)
{
    caller_t *c = *state;
    kc_node_t *coder = node_of (c, "coder", "coder-9");
    result_t r;
    call (coder, NULL, "evaluator.evaluate", "0 x", 5000, NULL, &r);
    turn_until (c, &r.answers, 1, 5000);
    assert_int_equal (r.code, KC_EREFUSED);
    call (coder, NULL, "memory.no.such", "0 x", 5000, NULL, &r);
    turn_until (c, &r.answers, 1, 5000);
    assert_int_equal (r.code, KC_ENOTFOUND);
    kc_node_destroy (&coder);
}

static void a_worker_that_is_killed_loses_its_request_to_another (void **state)
{
    caller_t *c = *state;
    kc_child_t first = bus_worker (&c->bus, "evaluator", "evaluator-1", 1, NULL);
    result_t r;
    call (c->node, "k.1", "evaluator.evaluate", "1500 x", 20000, NULL, &r);
    turn_for (c, 200);
    kc_child_t second = bus_worker (&c->bus, "evaluator", "evaluator-2", 1, NULL);
    bus_kill (&first, SIGKILL);
    turn_until (c, &r.answers, 1, 8000);
    assert_int_equal (r.code, KC_OK);
    assert_string_equal (r.payload, "evaluator-2 1 x");
    turn_for (c, 300);
    assert_int_equal (r.answers, 1);
    kc_child_destroy (&second);
}

static void a_request_that_kills_two_workers_is_poison (void **state)
{
    caller_t *c = *state;
    kc_child_t first = bus_worker (&c->bus, "evaluator", "evaluator-1", 1, NULL);
    kc_child_t second = bus_worker (&c->bus, "evaluator", "evaluator-2", 1, NULL);
    result_t r;
    call (c->node, "p.1", "evaluator.evaluate", "die", 20000, NULL, &r);
    turn_until (c, &r.answers, 1, 8000);
    assert_int_equal (r.code, KC_EPOISON);
    assert_non_null (strstr (r.text, "evaluator-1"));
    assert_non_null (strstr (r.text, "evaluator-2"));
    kc_child_destroy (&first);
    kc_child_destroy (&second);
}

static void a_stopped_worker_is_lost_and_comes_back_without_harm (void **state)
{
    caller_t *c = *state;
    kc_child_t first = bus_worker (&c->bus, "evaluator", "evaluator-1", 1, NULL);
    result_t r;
    call (c->node, "s.1", "evaluator.evaluate", "800 x", 20000, NULL, &r);
    turn_for (c, 200);
    bus_kill (&first, SIGSTOP);
    kc_child_t second = bus_worker (&c->bus, "evaluator", "evaluator-2", 1, NULL);
    turn_until (c, &r.answers, 1, 8000);
    assert_string_equal (r.payload, "evaluator-2 1 x");
    bus_kill (&first, SIGCONT);
    turn_for (c, 1500);
    assert_int_equal (r.answers, 1);
    bus_kill (&second, SIGKILL);
    call (c->node, "s.2", "evaluator.evaluate", "0 y", 20000, NULL,
          &r); // the first one serves again
    turn_until (c, &r.answers, 1, 8000);
    assert_string_equal (r.payload, "evaluator-1 1 y");
    kc_child_destroy (&first);
}

static void
a_broker_that_is_killed_and_started_again_is_invisible_to_callers (void **state)
{
    caller_t *c = *state;
    enum { N = 24 };
    kc_child_t w = bus_worker (&c->bus, "evaluator", "evaluator-1", N, NULL);
    result_t r[N];
    char id[32], text[32];
    for (int i = 0; i < N; i++) {
        (void)snprintf (id, sizeof id, "b.%d", i);
        (void)snprintf (text, sizeof text, "%d n%d", i * 120, i);
        call (c->node, id, "evaluator.evaluate", text, 30000, NULL, &r[i]);
    }
    for (int kill = 0; kill < 3; kill++) {
        turn_for (c, 400);
        bus_kill (&c->bus.broker, SIGKILL);
        turn_for (c, 200);
        bus_start_broker (&c->bus);
    }
    for (int i = 0; i < N; i++) {
        turn_until (c, &r[i].answers, 1, 15000);
        assert_int_equal (r[i].code, KC_OK);
        (void)snprintf (text, sizeof text, "evaluator-1 1 n%d",
                        i); // 1: it ran once, never twice
        assert_string_equal (r[i].payload, text);
    }
    turn_for (c, 300);
    for (int i = 0; i < N; i++)
        assert_int_equal (r[i].answers, 1);
    kc_child_destroy (&w);
}

static void a_repeated_request_is_answered_by_the_kept_reply (void **state)
{
    caller_t *c = *state;
    kc_child_t w = bus_worker (&c->bus, "evaluator", "evaluator-1", 1, NULL);
    result_t r;
    for (int i = 0; i < 3; i++) {
        call (c->node, "r.1", "evaluator.evaluate", "10 x", 20000, NULL, &r);
        turn_until (c, &r.answers, 1, 5000);
        assert_string_equal (r.payload, "evaluator-1 1 x");
    }
    call (c->node, "r.1", "evaluator.evaluate", "10 other", 20000, NULL,
          &r); // another content: it runs
    turn_until (c, &r.answers, 1, 5000);
    assert_string_equal (r.payload, "evaluator-1 2 other");
    kc_child_destroy (&w);
}

static void two_requesters_of_one_id_get_one_run_and_two_answers (void **state)
{
    caller_t *c = *state;
    kc_child_t w = bus_worker (&c->bus, "evaluator", "evaluator-1", 4, NULL);
    kc_node_t *other = node_of (c, "planner", "planner-2");
    result_t a, b, d;
    call (c->node, "m.1", "evaluator.evaluate", "500 x", 20000, NULL, &a);
    turn_for (c, 100);
    call (other, "m.1", "evaluator.evaluate", "500 x", 20000, NULL, &b);
    turn_until (c, &b.answers, 1, 5000);
    turn_until (c, &a.answers, 1, 5000);
    assert_string_equal (a.payload, "evaluator-1 1 x");
    assert_string_equal (b.payload, "evaluator-1 1 x");
    call (c->node, "m.2", "evaluator.evaluate", "500 x", 20000, NULL, &a);
    turn_for (c, 100);
    call (other, "m.2", "evaluator.evaluate", "500 y", 20000, NULL, &d);
    turn_until (c, &d.answers, 1, 5000);
    assert_int_equal (d.code, KC_ECONFLICT);
    turn_until (c, &a.answers, 1, 5000);
    kc_node_destroy (&other);
    kc_child_destroy (&w);
}

static void a_cancelled_call_ends_at_once_and_frees_the_slot (void **state)
{
    caller_t *c = *state;
    kc_child_t w = bus_worker (&c->bus, "evaluator", "evaluator-1", 1, NULL);
    result_t a, b;
    call (c->node, "c.1", "evaluator.evaluate", "20000 x", 0, NULL, &a);
    call (c->node, "c.2", "evaluator.evaluate", "0 y", 0, NULL, &b);
    turn_for (c, 300);
    assert_int_equal (b.answers, 0);
    kc_node_cancel (c->node, "c.1");
    turn_until (c, &a.answers, 1, 2000);
    assert_int_equal (a.code, KC_ECANCELLED);
    turn_until (c, &b.answers, 1, 2000);
    assert_int_equal (b.code, KC_OK);
    kc_child_destroy (&w);
}

static void
time_runs_out_for_a_request_that_nobody_can_serve_with_the_reason (void **state)
{
    caller_t *c = *state;
    kc_child_t w = bus_worker (
        &c->bus, "evaluator", "evaluator-1", 1,
        "[{\"key\":\"backend\",\"text\":\"vgpu\"},{\"key\":\"sm\",\"number\":80}]");
    result_t a, b;
    call (c->node, NULL, "evaluator.evaluate", "0 x", 400,
          "[{\"key\":\"sm\",\"op\":\">=\",\"number\":90}]", &a);
    call (c->node, NULL, "evaluator.evaluate", "0 y", 5000,
          "[{\"key\":\"backend\",\"op\":\"=\",\"text\":\"vgpu\"}]", &b);
    turn_until (c, &b.answers, 1, 3000); // not behind the one that waits
    assert_int_equal (b.code, KC_OK);
    turn_until (c, &a.answers, 1, 3000);
    assert_int_equal (a.code, KC_ETIMEOUT);
    assert_non_null (strstr (a.text, "needs sm>=90; connected: evaluator-1 (sm=80)"));
    kc_child_destroy (&w);
}

static void a_displaced_worker_exits_and_the_new_one_serves (void **state)
{
    caller_t *c = *state;
    kc_child_t old = bus_worker (&c->bus, "evaluator", "evaluator-1", 1, NULL);
    kc_child_t fresh = bus_worker (&c->bus, "evaluator", "evaluator-1", 1, NULL);
    assert_int_equal (bus_wait (&old, 5000), kc_code_exit (KC_EDISPLACED));
    result_t r;
    call (c->node, NULL, "evaluator.evaluate", "0 x", 5000, NULL, &r);
    turn_until (c, &r.answers, 1, 3000);
    assert_int_equal (r.code, KC_OK);
    kc_child_destroy (&fresh);
}

static void a_second_memory_service_is_refused_while_the_first_lives (void **state)
{
    caller_t *c = *state;
    kc_child_t first = bus_worker (&c->bus, "memory", "memory-1", 1, NULL);
    const char *argv[] = {KC_TEST_WORKER, "--run",      c->bus.dir, "--as",
                          "memory",       "--instance", "memory-2", NULL};
    kc_spawn_t spec = {
        .path = argv[0], .argv = argv, .envp = (const char *const *)environ};
    kc_child_t second = {0};
    assert_int_equal (kc_spawn (&spec, &second, NULL), 0);
    assert_int_equal (bus_wait (&second, 5000), kc_code_exit (KC_EREFUSED));
    kc_child_destroy (&first);
}

static void term_lets_running_requests_end_and_exits_with_zero (void **state)
{
    caller_t *c = *state;
    kc_child_t w = bus_worker (&c->bus, "evaluator", "evaluator-1", 1, NULL);
    result_t r;
    call (c->node, "t.1", "evaluator.evaluate", "500 x", 5000, NULL, &r);
    turn_for (c, 150);
    bus_kill (&w, SIGTERM);
    turn_until (c, &r.answers, 1, 3000);
    assert_int_equal (r.code, KC_OK);
    assert_int_equal (bus_wait (&w, 3000), 0);
    bus_kill (&c->bus.broker, SIGTERM);
    assert_int_equal (bus_wait (&c->bus.broker, 3000), 0);
    char *path = kc_fs_join (c->bus.dir, "broker.sock");
    assert_false (kc_fs_exists (path)); // it tidied up
    free (path);
    bus_start_broker (&c->bus);
}

static void
without_a_broker_a_patient_caller_waits_and_an_impatient_one_is_told (void **state)
{
    caller_t *c = *state;
    kc_err_t err = {0};
    kc_node_config_t config = {.loop = c->loop,
                               .run_dir = "/tmp/kcbus-nowhere",
                               .role = "client",
                               .give_up_ms = 300};
    kc_node_t *node = kc_node_new (&config, &err);
    assert_non_null (node);
    kc_call_t spec = {.op = "memory.stats", .payload = "{}", .payload_size = 2};
    kc_answer_t a;
    assert_int_equal (kc_node_call_wait (node, &spec, &a, &err), -1);
    assert_int_equal (err.code, KC_EUNREACHABLE);
    assert_non_null (strstr (err.text, "/tmp/kcbus-nowhere/broker.sock"));
    kc_node_destroy (&node);
}

static void going_down_answers_every_open_call (void **state)
{
    caller_t *c = *state;
    kc_node_t *node = node_of (c, "planner", "planner-3");
    result_t r;
    call (node, NULL, "evaluator.evaluate", "0 x", 0, NULL, &r);
    turn_for (c, 100);
    kc_node_destroy (&node);
    assert_int_equal (r.answers, 1);
    assert_int_equal (r.code, KC_EINTERRUPTED);
}

static void the_run_directory_is_closed_to_others_and_holds_one_broker (void **state)
{
    caller_t *c = *state;
    struct stat st;
    assert_int_equal (stat (c->bus.dir, &st), 0);
    assert_int_equal (st.st_mode & 0777, 0700);
    const char *argv[] = {KC_TEST_BROKER, "--run", c->bus.dir, NULL};
    kc_spawn_t spec = {
        .path = argv[0], .argv = argv, .envp = (const char *const *)environ};
    kc_child_t second = {0};
    assert_int_equal (kc_spawn (&spec, &second, NULL), 0);
    assert_int_equal (bus_wait (&second, 5000), kc_code_exit (KC_EBUSY));
    result_t r;
    call (c->node, NULL, "broker.fleet.status", "{}", 5000, NULL,
          &r); // the first one still serves
    turn_until (c, &r.answers, 1, 3000);
    assert_int_equal (r.code, KC_OK);
}

static void the_status_names_sessions_and_why_a_request_is_held (void **state)
{
    caller_t *c = *state;
    result_t r;
    call (c->node, "held", "evaluator.evaluate", "0 x", 0, NULL, &r);
    turn_for (c, 200);
    kc_call_t spec = {.op = "broker.fleet.status", .payload = "{}", .payload_size = 2};
    kc_answer_t a;
    kc_err_t err = {0};
    if (kc_node_call_wait (c->node, &spec, &a, &err) < 0)
        fail_msg ("%s", err.text);
    assert_non_null (
        strstr (a.payload,
                "no worker serves evaluator.evaluate; the fleet needs a process of role evaluator"));
    assert_non_null (strstr (a.payload, "\"instance\":\"planner-1\""));
    kc_answer_free (&a);
    kc_node_cancel (c->node, "none"); // unknown: harmless
    kc_node_cancel (c->node, "held");
    turn_until (c, &r.answers, 1, 3000);
    assert_int_equal (r.code, KC_ECANCELLED);
}

static void a_drained_worker_gets_nothing_until_it_is_undrained (void **state)
{
    caller_t *c = *state;
    kc_child_t w = bus_worker (&c->bus, "evaluator", "evaluator-1", 1, NULL);
    kc_node_t *admin = node_of (c, "admin", "admin-1");
    result_t d, r;
    call (admin, NULL, "broker.fleet.drain",
          "{\"instance\":\"evaluator-1\",\"reason\":\"test\"}", 5000, NULL, &d);
    turn_until (c, &d.answers, 1, 3000);
    assert_string_equal (d.payload, "{\"found\":1}");
    call (c->node, NULL, "evaluator.evaluate", "0 x", 0, NULL, &r);
    turn_for (c, 300);
    assert_int_equal (r.answers, 0);
    call (admin, NULL, "broker.fleet.drain",
          "{\"instance\":\"evaluator-1\",\"undo\":true}", 5000, NULL, &d);
    turn_until (c, &r.answers, 1, 3000);
    assert_int_equal (r.code, KC_OK);
    turn_until (c, &d.answers, 1, 3000);
    kc_node_destroy (&admin);
    kc_child_destroy (&w);
}

#define T(f) cmocka_unit_test_setup_teardown (f, setup, teardown)

int main (void)
{
    const struct CMUnitTest tests[] = {
        T (a_request_reaches_a_worker_and_its_reply_the_caller),
        T (an_error_of_a_worker_reaches_the_caller_with_its_code_and_text),
        T (a_blocking_call_returns_the_reply_and_its_chunk),
        T (what_is_too_large_is_refused_before_it_is_sent),
        T (an_edge_that_does_not_exist_is_refused),
        T (a_worker_that_is_killed_loses_its_request_to_another),
        T (a_request_that_kills_two_workers_is_poison),
        T (a_stopped_worker_is_lost_and_comes_back_without_harm),
        T (a_broker_that_is_killed_and_started_again_is_invisible_to_callers),
        T (a_repeated_request_is_answered_by_the_kept_reply),
        T (two_requesters_of_one_id_get_one_run_and_two_answers),
        T (a_cancelled_call_ends_at_once_and_frees_the_slot),
        T (time_runs_out_for_a_request_that_nobody_can_serve_with_the_reason),
        T (a_displaced_worker_exits_and_the_new_one_serves),
        T (a_second_memory_service_is_refused_while_the_first_lives),
        T (term_lets_running_requests_end_and_exits_with_zero),
        T (without_a_broker_a_patient_caller_waits_and_an_impatient_one_is_told),
        T (going_down_answers_every_open_call),
        T (the_run_directory_is_closed_to_others_and_holds_one_broker),
        T (the_status_names_sessions_and_why_a_request_is_held),
        T (a_drained_worker_gets_nothing_until_it_is_undrained),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
