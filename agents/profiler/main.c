// kc-profiler - says what a program does on a device: counters, facts and features of the code

#include <stdlib.h>
#include <string.h>

#include "agents/gpu/bench/kc_bench_open.h"
#include "agents/profiler/kc_profile.h"
#include "common/net/kc_daemon.h"
#include "common/util/kc_log.h"
#include "common/util/kc_map.h"
#include "common/util/kc_mem.h"

static const char *const s_ops[] = {"profiler.profile", NULL};

static const kc_opt_t s_options[] = {KC_OPT_DAEMON, KC_OPT_BENCH, {0}};

typedef struct daemon {
    kc_bench_t bench;
    kc_map_t *works; // by request id
} daemon_t;

typedef struct work { // one request
    daemon_t *daemon;
    char *id;
    kc_profile_t *profile;
} work_t;

static void s_work_free (void *value)
{
    work_t *w = value;
    kc_profile_destroy (&w->profile);
    free (w->id);
    free (w);
}

static void s_on_done (void *arg, kc_evidence_t *evidence, const kc_err_t *why)
{
    work_t *w = arg;
    daemon_t *d = w->daemon;
    kc_err_t err = why ? *why : (kc_err_t){0};
    size_t size = 0;
    char *payload = NULL;
    if (evidence) {
        kc_errs_t errs = {0};
        kc_profiler_profile_reply_t *reply = kc_profiler_profile_reply_new ();
        reply->evidence = evidence;
        payload = kc_type_encode (&kc_profiler_profile_reply_type, reply, &size, &errs);
        kc_profiler_profile_reply_free (&reply);
        if (!payload)
            kc_errs_fail (&errs, &err);
    }
    kc_log (payload ? KC_INFO : KC_WARN, "profiled", "id", "s", w->id, "text", "s", payload ? "" : err.text, NULL);
    if (!payload || kc_node_reply (d->bench.node, w->id, payload, size, NULL, 0, &err) < 0)
        kc_node_error (d->bench.node, w->id, &err, 0);
    free (payload);
    char *id = kc_strdup (w->id);
    kc_map_remove (d->works, id); // ends the work and its profile
    free (id);
}

static void s_request (void *arg, kc_node_t *node, const kc_request_t *request)
{
    daemon_t *d = arg;
    kc_err_t err = {0};
    kc_errs_t errs = {0};
    kc_profiler_profile_t *in = kc_profiler_profile_decode (request->payload, request->payload_size, KC_WIRE, &errs);
    if (!in) {
        kc_errs_fail (&errs, &err);
        kc_node_error (node, request->id, &err, 0);
        return;
    }
    work_t *w = kc_calloc (1, sizeof *w);
    w->daemon = d;
    w->id = kc_strdup (request->id);
    w->profile = kc_profile_start (&d->bench, in, s_on_done, w, &err);
    if (w->profile) {
        kc_map_put (d->works, w->id, w);
        return;
    }
    s_work_free (w);
    kc_node_error (node, request->id, &err, 0);
}

static void s_cancel (void *arg, kc_node_t *node, const char *id)
{
    daemon_t *d = arg;
    kc_err_t err = {0};
    kc_fail (&err, KC_ECANCELLED, "the profile was stopped");
    kc_map_remove (d->works, id);
    kc_node_error (node, id, &err, 0);
}

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
    kc_daemon_spec_t spec = {
        .program = "kc-profiler",
        .role = "profiler",
        .about = "Says what a program does on one GPU, real or virtual: hardware counters, facts of the launches and features\n"
                 "of the compiled code, each with its unit or the reason why it is missing.  It judges nothing.",
        .options = s_options,
        .ops = s_ops,
        .slots = 1,
        .start = s_start,
        .ready = s_ready,
        .stop = s_stop,
        .on_request = s_request,
        .on_cancel = s_cancel,
        .arg = &d,
    };
    return kc_daemon_main (&spec, argc, argv);
}
