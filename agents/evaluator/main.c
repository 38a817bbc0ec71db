// kc-evaluator - judges programs: compiles, runs, compares and times them in processes
// of their own

#include <stdlib.h>
#include <string.h>

#include "agents/evaluator/kc_evaluate.h"
#include "agents/evaluator/kc_inspect.h"
#include "agents/gpu/bench/kc_bench_open.h"
#include "common/net/kc_daemon.h"
#include "common/util/kc_log.h"
#include "common/util/kc_mem.h"

static const char *const s_ops[] = {"evaluator.inspect", "evaluator.evaluate", NULL};

static const kc_opt_t s_options[] = {KC_OPT_DAEMON, KC_OPT_BENCH, {0}};

typedef struct work { // one request
    char *id;
    struct daemon *daemon;
    kc_evaluate_t *evaluate;
    kc_inspect_t *inspect;
} work_t;

typedef struct daemon {
    kc_bench_t bench;
    kc_map_t *works; // by request id
} daemon_t;

static void s_work_free (void *value)
{
    work_t *w = value;
    kc_evaluate_destroy (&w->evaluate);
    kc_inspect_destroy (&w->inspect);
    free (w->id);
    free (w);
}

// ---- requests ----

// Answer with 'object' and forget the request.
static void s_answer (work_t *w, const kc_type_t *type, const void *object)
{
    daemon_t *d = w->daemon;
    kc_err_t err = {0};
    kc_errs_t errs = {0};
    size_t size = 0;
    char *payload = kc_type_encode (type, object, &size, &errs);
    if (!payload)
        kc_errs_fail (&errs, &err);
    if (!payload
        || kc_node_reply (d->bench.node, w->id, payload, size, NULL, 0, &err) < 0)
        kc_node_error (d->bench.node, w->id, &err, 0);
    free (payload);
    char *id = kc_strdup (w->id);
    kc_map_remove (d->works, id);
    free (id);
}

static void s_on_verdict (void *arg, kc_verdict_t *verdict)
{
    work_t *w = arg;
    kc_log (KC_INFO, "evaluated", "id", "s", w->id, "status", "s",
            kc_verdict_status_name (verdict->status), "why", "s",
            verdict->n_findings > 0 ? verdict->findings[0].text : "", "seconds", "f",
            verdict->seconds ? verdict->seconds->total : 0.0, NULL);
    kc_evaluator_evaluate_reply_t *reply = kc_evaluator_evaluate_reply_new ();
    reply->verdict = verdict;
    s_answer (w, &kc_evaluator_evaluate_reply_type, reply);
    kc_evaluator_evaluate_reply_free (&reply);
}

static void s_on_inspected (void *arg, kc_evaluator_inspect_reply_t *reply,
                            const kc_err_t *err)
{
    work_t *w = arg;
    if (!reply) {
        kc_log (KC_WARN, "inspect.failed", "id", "s", w->id, "error", "s", err->text,
                NULL);
        daemon_t *d = w->daemon;
        kc_node_error (d->bench.node, w->id, err, 0);
        char *id = kc_strdup (w->id);
        kc_map_remove (d->works, id);
        free (id);
        return;
    }
    kc_log (KC_INFO, "inspected", "id", "s", w->id, "accepted", "b",
            reply->card ? 1 : 0, "why", "s",
            reply->n_refused > 0 ? reply->refused[0] : "", NULL);
    s_answer (w, &kc_evaluator_inspect_reply_type, reply);
    kc_evaluator_inspect_reply_free (&reply);
}

static int s_begin (daemon_t *d, const kc_request_t *request, kc_err_t *err)
{
    kc_errs_t errs = {0};
    const bool inspect = strcmp (request->op, "evaluator.inspect") == 0;
    void *in = kc_type_decode (inspect ? &kc_evaluator_inspect_type
                                       : &kc_evaluator_evaluate_type,
                               request->payload, request->payload_size, KC_WIRE, &errs);
    if (!in)
        return kc_errs_fail (&errs, err);
    work_t *w = kc_calloc (1, sizeof *w);
    w->id = kc_strdup (request->id);
    w->daemon = d;
    kc_map_put (d->works, w->id, w);
    if (inspect)
        w->inspect = kc_inspect_start (&d->bench, in, NULL, 0, s_on_inspected, w);
    else
        w->evaluate = kc_evaluate_start (&d->bench, in,
                                         kc_loop_now (d->bench.loop) - request->arrived,
                                         s_on_verdict, w, err);
    if (w->inspect || w->evaluate)
        return 0;
    char *id = kc_strdup (w->id);
    kc_map_remove (d->works, id);
    free (id);
    return -1;
}

static void s_on_request (void *arg, kc_node_t *node, const kc_request_t *request)
{
    daemon_t *d = arg;
    kc_err_t err = {0};
    d->bench.node = node;
    if (s_begin (d, request, &err) < 0)
        kc_node_error (node, request->id, &err, 0);
}

// The process group of whatever runs is killed inside kc_map_remove.
static void s_on_cancel (void *arg, kc_node_t *node, const char *id)
{
    daemon_t *d = arg;
    kc_err_t err;
    kc_fail (&err, KC_ECANCELLED, "the evaluation was stopped");
    kc_map_remove (d->works, id);
    kc_node_error (node, id, &err, 0);
}

// ---- start and end ----

static int s_start (kc_daemon_t *daemon, void *arg, kc_err_t *err)
{
    daemon_t *d = arg;
    d->works = kc_map_new (s_work_free);
    return kc_bench_open (&d->bench, daemon, err);
}

static int s_ready (kc_daemon_t *daemon, void *arg, kc_err_t *err)
{
    (void)err;
    ((daemon_t *)arg)->bench.node = kc_daemon_node (daemon);
    return 0;
}

static void s_stop (kc_daemon_t *daemon, void *arg)
{
    (void)daemon;
    daemon_t *d = arg;
    kc_map_destroy (&d->works);
    kc_bench_close (&d->bench);
}

int main (int argc, char **argv)
{
    daemon_t d = {0};
    const kc_daemon_spec_t spec = {
        .program = "kc-evaluator",
        .role = "evaluator",
        .about = "Inspects tasks and judges programs on one GPU, real or virtual.  It "
                 "never loads CUDA nor runs a program\n"
                 "itself: everything happens in kc-runner processes that are killed at "
                 "their limits.",
        .options = s_options,
        .ops = s_ops,
        .slots = 1,
        .start = s_start,
        .ready = s_ready,
        .stop = s_stop,
        .on_request = s_on_request,
        .on_cancel = s_on_cancel,
        .arg = &d,
    };
    return kc_daemon_main (&spec, argc, argv);
}
