/* bus_worker.c - test helper: a worker of any role whose answers tell what happened
 *
 * Payload (plain words, the bus does not care): "<ms> <text>" answers "<instance>
 * <runs> <text>" after <ms>; <runs> counts how often this process ran the request's id.
 * "fail" answers an error, "big <bytes>" that many bytes, "die" ends the process.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/net/kc_daemon.h"
#include "common/util/kc_map.h"
#include "common/util/kc_mem.h"

static const kc_opt_t s_options[] = {
    KC_OPT_DAEMON,
    {"as", 0, KC_OPT_STRING, 0, "evaluator", 0, 0, "ROLE", "role to play"},
    {"slots", 0, KC_OPT_INT, 0, "1", 0, 4096, "N", "requests at once"},
    {"caps", 0, KC_OPT_STRING, 0, 0, 0, 0, "JSON", "facts"},
    {0},
};

static const char *const s_evaluator[] = {"evaluator.evaluate", "evaluator.inspect",
                                          NULL};
static const char *const s_coder[] = {"coder.seed", "coder.optimise", NULL};
static const char *const s_memory[] = {"memory.stats", "memory.blob.put",
                                       "memory.blob.get", "memory.events.read", NULL};

typedef struct s_job {
    char *id, *text;
    int64_t timer;
    struct s_me *me;
} s_job_t;

typedef struct s_me {
    kc_daemon_t *daemon;
    kc_map_t *runs; // id -> count
    kc_map_t *jobs; // id -> s_job_t
} s_me_t;

static void s_done (s_job_t *job)
{
    kc_map_take (job->me->jobs, job->id);
    free (job->id);
    free (job->text);
    free (job);
}

static void s_finish (kc_loop_t *loop, int64_t timer, void *arg)
{
    (void)loop;
    (void)timer;
    s_job_t *job = arg;
    kc_node_t *node = kc_daemon_node (job->me->daemon);
    int runs = (int)(intptr_t)kc_map_get (job->me->runs, job->id);
    char *reply = kc_asprintf ("%s %d %s", kc_node_instance (node), runs, job->text);
    (void)kc_node_reply (node, job->id, reply, strlen (reply), NULL, 0, NULL);
    free (reply);
    s_done (job);
}

static void s_request (void *arg, kc_node_t *node, const kc_request_t *r)
{
    s_me_t *me = arg;
    int runs = (int)(intptr_t)kc_map_get (me->runs, r->id) + 1;
    kc_map_put (me->runs, r->id, (void *)(intptr_t)runs);
    char *text = kc_strndup (r->payload, r->payload_size);
    if (strcmp (text, "die") == 0)
        kill (getpid (), SIGKILL);
    if (strncmp (text, "big ", 4) == 0) {
        size_t size = (size_t)strtoll (text + 4, NULL, 10);
        char *bytes = kc_calloc (1, size + 1);
        memset (bytes, 'x', size);
        (void)kc_node_reply (node, r->id, bytes, size, r->chunk, r->chunk_size, NULL);
        free (bytes);
    }
    else if (strcmp (text, "fail") == 0) {
        kc_err_t err;
        (void)kc_fail (&err, KC_EINVALID, "the payload says \"fail\"");
        kc_node_error (node, r->id, &err, 0);
    }
    else {
        char *rest = NULL;
        int64_t ms = strtoll (text, &rest, 10);
        s_job_t *job = kc_calloc (1, sizeof *job);
        *job = (s_job_t){.id = kc_strdup (r->id),
                         .text = kc_strdup (*rest == ' ' ? rest + 1 : rest),
                         .me = me};
        kc_map_put (me->jobs, r->id, job);
        job->timer =
            kc_loop_timer_add (kc_daemon_loop (me->daemon), ms, 0, s_finish, job);
    }
    free (text);
}

static void s_cancel (void *arg, kc_node_t *node, const char *id)
{
    s_me_t *me = arg;
    s_job_t *job = kc_map_get (me->jobs, id);
    if (!job)
        return;
    kc_err_t err;
    (void)kc_fail (&err, KC_ECANCELLED, "stopped");
    kc_loop_timer_del (kc_daemon_loop (me->daemon), job->timer);
    kc_node_error (node, id, &err, 0);
    s_done (job);
}

static int s_start (kc_daemon_t *daemon, void *arg, kc_err_t *err)
{
    (void)err;
    s_me_t *me = arg;
    me->daemon = daemon;
    kc_daemon_set_slots (daemon, (int)kc_opts_int (kc_daemon_opts (daemon), "slots"));
    kc_daemon_set_caps (daemon, kc_opts_string (kc_daemon_opts (daemon), "caps"));
    return 0;
}

static const char *s_role (int argc, char **argv)
{
    for (int i = 1; i + 1 < argc; i++)
        if (strcmp (argv[i], "--as") == 0)
            return argv[i + 1];
    return "evaluator";
}

int main (int argc, char **argv)
{
    const char *role = s_role (argc, argv);
    s_me_t me = {.runs = kc_map_new (NULL), .jobs = kc_map_new (NULL)};
    kc_daemon_spec_t spec = {.program = "bus_worker",
                             .role = role,
                             .options = s_options,
                             .ops = strcmp (role, "memory") == 0  ? s_memory
                                    : strcmp (role, "coder") == 0 ? s_coder
                                                                  : s_evaluator,
                             .grace_ms = 2000,
                             .start = s_start,
                             .on_request = s_request,
                             .on_cancel = s_cancel,
                             .arg = &me};
    int rc = kc_daemon_main (&spec, argc, argv);
    size_t cursor = 0;
    s_job_t *job;
    while ((job = kc_map_next (me.jobs, &cursor, NULL)))
        s_done (job);
    kc_map_destroy (&me.jobs);
    kc_map_destroy (&me.runs);
    return rc;
}
