// kc_cli.c - see kc_cli.h

#include "client/kc_cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/msg/gen/memory.h"
#include "common/util/kc_mem.h"

enum {
    GIVE_UP_MS = 5000, // without any broker
    FOLLOW_WAIT_MS = 15000,
    FOLLOW_TTL_MS = 60000,
};

int kc_cli_connect (kc_cli_t *cli, kc_err_t *err)
{
    if (cli->node)
        return 0;
    if (!cli->loop && !(cli->loop = kc_loop_new (err)))
        return -1;
    kc_node_config_t config = {
        .loop = cli->loop,
        .run_dir = kc_opts_string (cli->opts, "run"),
        .role = "client",
        .give_up_ms = GIVE_UP_MS,
    };
    cli->node = kc_node_new (&config, err);
    return cli->node ? 0 : -1;
}

void *kc_cli_call_chunk (kc_cli_t *cli, const char *op, const kc_type_t *type, const void *request,
                         const void *chunk, size_t chunk_size, const kc_type_t *reply_type, void **chunk_p,
                         size_t *chunk_size_p, kc_err_t *err)
{
    if (kc_cli_connect (cli, err) < 0)
        return NULL;
    kc_errs_t errs = {0};
    size_t size = 0;
    char *payload = kc_type_encode (type, request, &size, &errs);
    if (!payload) {
        kc_errs_fail (&errs, err);
        return NULL;
    }
    kc_call_t call = {.op = op, .ttl_ms = cli->ttl_ms, .payload = payload, .payload_size = size, .chunk = chunk,
                      .chunk_size = chunk_size, .retry_busy = true};
    kc_answer_t answer = {0};
    int rc = kc_node_call_wait (cli->node, &call, &answer, err);
    free (payload);
    if (rc < 0)
        return NULL;
    void *reply = kc_type_decode (reply_type, answer.payload, answer.payload_size, KC_WIRE, &errs);
    if (!reply) {
        kc_errs_fail (&errs, err);
        kc_fail_in (err, "answer of %s to %s", answer.from, op);
    }
    else if (chunk_p) {
        *chunk_p = NULL;
        *chunk_size_p = answer.chunk_size;
        if (answer.chunk_size) {
            *chunk_p = kc_malloc (answer.chunk_size);
            memcpy (*chunk_p, answer.chunk, answer.chunk_size);
        }
    }
    kc_answer_free (&answer);
    return reply;
}

void *kc_cli_call (kc_cli_t *cli, const char *op, const kc_type_t *type, const void *request,
                   const kc_type_t *reply_type, kc_err_t *err)
{
    return kc_cli_call_chunk (cli, op, type, request, NULL, 0, reply_type, NULL, NULL, err);
}

void kc_cli_json (const kc_type_t *type, const void *object)
{
    char *text = kc_type_encode (type, object, NULL, NULL);
    if (text)
        puts (text);
    free (text);
}

const char *kc_cli_one (kc_cli_t *cli, const char *what, kc_err_t *err)
{
    if (kc_opts_n_args (cli->opts) == 1)
        return kc_opts_arg (cli->opts, 0);
    kc_fail (err, KC_EUSAGE, "give exactly one %s", what);
    return NULL;
}

// ---- following ----

static void s_interrupted (kc_loop_t *loop, int signal, void *arg)
{
    (void)loop;
    (void)signal;
    const char *task = arg;
    fflush (stdout);
    fprintf (stderr, "\nno longer watching; the task goes on.  Look again with: kclaw watch %s\n", task);
    _exit (kc_code_exit (KC_EINTERRUPTED)); // not exit: the connection's thread must not be torn down from here
}

static void s_print_event (const kc_cli_t *cli, const kc_memory_event_t *event)
{
    if (cli->json) {
        kc_cli_json (&kc_memory_event_type, event);
    }
    else if (!cli->quiet) {
        const char *clock = strlen (event->at) >= 19 ? event->at + 11 : event->at; // the time of day
        printf ("%.8s  %s\n", clock, event->text ? event->text : kc_memory_event_kind_name (event->kind));
    }
    fflush (stdout);
}

int kc_cli_follow (kc_cli_t *cli, const char *task, int64_t after, kc_err_t *err)
{
    if (kc_cli_connect (cli, err) < 0)
        return -1;
    char *name = kc_strdup (task); // the handler needs it as long as the loop lives
    if (kc_loop_signals (cli->loop, s_interrupted, name, err) < 0)
        return -1;
    int64_t ttl = cli->ttl_ms;
    cli->ttl_ms = FOLLOW_TTL_MS;
    int rc = 0;
    for (bool ended = false; !ended && rc == 0;) {
        kc_memory_events_read_t *r = kc_memory_events_read_new ();
        kc_set (&r->task, task);
        r->after = after;
        r->wait_ms = FOLLOW_WAIT_MS;
        kc_memory_events_read_reply_t *reply
            = kc_cli_call (cli, "memory.events.read", &kc_memory_events_read_type, r, &kc_memory_events_read_reply_type, err);
        kc_memory_events_read_free (&r);
        if (!reply) {
            rc = -1;
            break;
        }
        after = reply->last;
        for (size_t i = 0; i < reply->n_events; i++) {
            s_print_event (cli, &reply->events[i]);
            ended = ended || reply->events[i].kind == KC_MEMORY_EVENT_KIND_FINISHED
                    || reply->events[i].kind == KC_MEMORY_EVENT_KIND_CANCELLED;
        }
        kc_memory_events_read_reply_free (&reply);
    }
    cli->ttl_ms = ttl;
    return rc;
}
