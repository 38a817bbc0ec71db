// cmd_tasks.c - kclaw watch, list, status, result, cancel

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/kc_cli.h"
#include "client/kc_view.h"
#include "common/model/kc_program_text.h"
#include "common/msg/gen/broker.h"
#include "common/msg/gen/memory.h"
#include "common/util/kc_fs.h"
#include "common/util/kc_mem.h"

static kc_memory_task_get_reply_t *s_get (kc_cli_t *cli, const char *task, kc_err_t *err)
{
    kc_memory_task_get_t *r = kc_memory_task_get_new ();
    kc_set (&r->task, task);
    kc_memory_task_get_reply_t *reply
        = kc_cli_call (cli, "memory.task.get", &kc_memory_task_get_type, r, &kc_memory_task_get_reply_type, err);
    kc_memory_task_get_free (&r);
    return reply;
}

// The exit status that tells a script how a task ended.
static int s_state_exit (kc_memory_state_t state)
{
    switch (state) {
    case KC_MEMORY_STATE_DONE:
        return 0;
    case KC_MEMORY_STATE_FAILED:
        return kc_code_exit (KC_EFAILED);
    case KC_MEMORY_STATE_CANCELLED:
        return kc_code_exit (KC_ECANCELLED);
    case KC_MEMORY_STATE_QUEUED:
    case KC_MEMORY_STATE_RUNNING:
    case KC_MEMORY_STATE_UNSET:
        break;
    }
    return kc_code_exit (KC_ESTATE);
}

// ---- watch ----

static const kc_opt_t s_watch_options[] = {
    {"after", 0, KC_OPT_INT, NULL, "0", 0, INT64_MAX, "N", "only events after this number"},
    KC_OPT_CLI,
};

static int s_watch (kc_cli_t *cli, kc_err_t *err)
{
    const char *task = kc_cli_one (cli, "task", err);
    kc_memory_task_get_reply_t *reply = task ? s_get (cli, task, err) : NULL;
    if (!reply)
        return -1;
    char *id = kc_strdup (reply->row->task);
    kc_memory_task_get_reply_free (&reply);
    int rc = kc_cli_follow (cli, id, kc_opts_int (cli->opts, "after"), err);
    if (rc == 0 && (reply = s_get (cli, id, err)))
        rc = s_state_exit (reply->row->state);
    else
        rc = -1;
    kc_memory_task_get_reply_free (&reply);
    free (id);
    return rc;
}

const kc_cmd_t kc_cmd_watch = {"watch", "kclaw watch TASK [options]",
                               "Show what happened and what happens, until the task has ended.", s_watch_options, s_watch};

// ---- list ----

static const kc_opt_t s_list_options[] = {
    {"state", 0, KC_OPT_STRING, NULL, NULL, 0, 0, "STATE", "queued, running, done, failed or cancelled"},
    {"limit", 0, KC_OPT_INT, NULL, "50", 1, 500, "N", "at most this many, newest first"},
    {"ids", 0, KC_OPT_FLAG, NULL, NULL, 0, 0, NULL, "only the ids"},
    KC_OPT_CLI,
};

static int s_list (kc_cli_t *cli, kc_err_t *err)
{
    const char *state = kc_opts_string (cli->opts, "state");
    kc_memory_task_list_t *r = kc_memory_task_list_new ();
    r->limit = kc_opts_int (cli->opts, "limit");
    if (state && !(r->state = kc_memory_state_parse (state))) {
        kc_memory_task_list_free (&r);
        return kc_fail (err, KC_EUSAGE, "--state %s: it is queued, running, done, failed or cancelled", state);
    }
    kc_memory_task_list_reply_t *reply
        = kc_cli_call (cli, "memory.task.list", &kc_memory_task_list_type, r, &kc_memory_task_list_reply_type, err);
    kc_memory_task_list_free (&r);
    if (!reply)
        return -1;
    bool ids = kc_opts_flag (cli->opts, "ids");
    if (!cli->json && !cli->quiet && !ids)
        kc_view_row_head ();
    for (size_t i = 0; i < reply->n_tasks; i++) {
        if (cli->json)
            kc_cli_json (&kc_memory_task_row_type, &reply->tasks[i]);
        else if (ids)
            puts (reply->tasks[i].task);
        else
            kc_view_row (&reply->tasks[i]);
    }
    kc_memory_task_list_reply_free (&reply);
    return 0;
}

const kc_cmd_t kc_cmd_list = {"list", "kclaw list [options]", "List tasks.", s_list_options, s_list};

// ---- status ----

static const kc_opt_t s_plain_options[] = {KC_OPT_CLI};

static void s_print_caps (const kc_broker_session_t *s)
{
    for (size_t i = 0; i < s->n_caps; i++) {
        if (s->caps[i].text)
            printf (" %s=%s", s->caps[i].key, s->caps[i].text);
        else if (s->caps[i].has_number)
            printf (" %s=%g", s->caps[i].key, s->caps[i].number);
    }
}

static int s_fleet (kc_cli_t *cli, kc_err_t *err)
{
    kc_broker_fleet_status_t *r = kc_broker_fleet_status_new ();
    kc_broker_fleet_status_reply_t *reply
        = kc_cli_call (cli, "broker.fleet.status", &kc_broker_fleet_status_type, r, &kc_broker_fleet_status_reply_type, err);
    kc_broker_fleet_status_free (&r);
    if (!reply)
        return -1;
    if (cli->json) {
        kc_cli_json (&kc_broker_fleet_status_reply_type, reply);
        kc_broker_fleet_status_reply_free (&reply);
        return 0;
    }
    printf ("broker %s, up %lld s, %lld requests in flight\n", reply->build, (long long)(reply->uptime_ms / 1000),
            (long long)reply->in_flight);
    for (size_t i = 0; i < reply->n_sessions; i++) {
        const kc_broker_session_t *s = &reply->sessions[i];
        printf ("%-28s %-10s %lld/%lld busy%s ", s->instance, kc_kcp_role_name (s->role), (long long)s->busy,
                (long long)s->slots, s->draining ? ", draining" : "");
        s_print_caps (s);
        putchar ('\n');
    }
    for (size_t i = 0; i < reply->n_queues; i++) {
        const kc_broker_queue_t *q = &reply->queues[i];
        printf ("waiting: %lld x %s%s%s, oldest %lld s%s%s\n", (long long)q->waiting, q->op, q->need ? " " : "",
                q->need ? q->need : "", (long long)(q->oldest_ms / 1000), q->held ? "; held: " : "", q->held ? q->held : "");
    }
    kc_broker_fleet_status_reply_free (&reply);
    return 0;
}

static int s_status (kc_cli_t *cli, kc_err_t *err)
{
    if (kc_opts_n_args (cli->opts) == 0)
        return s_fleet (cli, err);
    const char *task = kc_cli_one (cli, "task", err);
    kc_memory_task_get_reply_t *reply = task ? s_get (cli, task, err) : NULL;
    if (!reply)
        return -1;
    if (cli->json) {
        kc_cli_json (&kc_memory_task_row_type, reply->row);
    }
    else {
        kc_view_row_head ();
        kc_view_row (reply->row);
        printf ("epoch %lld, %lld steps, %.1f s spent%s%s%s%s\n", (long long)reply->row->epoch, (long long)reply->row->steps,
                reply->row->spent_seconds, reply->row->holder ? ", held by " : "",
                reply->row->holder ? reply->row->holder : "", reply->row->reason ? "; " : "",
                reply->row->reason ? reply->row->reason : "");
    }
    kc_memory_task_get_reply_free (&reply);
    return 0;
}

const kc_cmd_t kc_cmd_status = {"status", "kclaw status [TASK] [options]",
                                "Show the fleet (workers, what waits and why), or one task.", s_plain_options, s_status};

// ---- result ----

static const kc_opt_t s_result_options[] = {
    {"out", 'o', KC_OPT_STRING, NULL, NULL, 0, 0, "FILE", "write the best program here (- = stdout)"},
    {"history", 0, KC_OPT_FLAG, NULL, NULL, 0, 0, NULL, "every step with the reason for it"},
    {"why", 0, KC_OPT_FLAG, NULL, NULL, 0, 0, NULL, "with --history: also each diagnosis, clause by clause"},
    KC_OPT_CLI,
};

static int s_write_program (const kc_candidate_t *candidate, const char *path, kc_err_t *err)
{
    char *text = kc_program_text_write (candidate->program, NULL, err);
    if (!text)
        return -1;
    int rc = 0;
    if (!strcmp (path, "-"))
        fputs (text, stdout);
    else
        rc = kc_fs_write (path, text, strlen (text), 0644, false, err);
    free (text);
    return rc;
}

static int s_history (kc_cli_t *cli, const char *task, kc_err_t *err)
{
    for (int64_t after = 0;;) {
        kc_memory_trajectory_get_t *r = kc_memory_trajectory_get_new ();
        kc_set (&r->task, task);
        r->after = after;
        r->brief = !cli->json;
        kc_memory_trajectory_get_reply_t *page
            = kc_cli_call (cli, "memory.trajectory.get", &kc_memory_trajectory_get_type, r, &kc_memory_trajectory_get_reply_type, err);
        kc_memory_trajectory_get_free (&r);
        if (!page)
            return -1;
        for (size_t i = 0; i < page->n_steps; i++) {
            after = page->steps[i].seq;
            if (cli->json)
                kc_cli_json (&kc_memory_step_row_type, &page->steps[i]);
            else
                kc_view_step (&page->steps[i], kc_opts_flag (cli->opts, "why") || page->steps[i].step == KC_MEMORY_STEP_KIND_PLAN);
        }
        bool more = page->more;
        kc_memory_trajectory_get_reply_free (&page);
        if (!more)
            return 0;
    }
}

static int s_result (kc_cli_t *cli, kc_err_t *err)
{
    const char *task = kc_cli_one (cli, "task", err);
    kc_memory_task_get_reply_t *reply = task ? s_get (cli, task, err) : NULL;
    if (!reply)
        return -1;
    int rc = 0;
    const char *out = kc_opts_string (cli->opts, "out");
    if (kc_opts_flag (cli->opts, "history"))
        rc = s_history (cli, reply->row->task, err);
    else if (cli->json)
        kc_cli_json (&kc_memory_task_get_reply_type, reply);
    else if (!(out && !strcmp (out, "-")) && !cli->quiet) {
        char *speedup = kc_view_speedup (reply->row->best);
        printf ("%s  %s: %s, %s after %lld rounds\n", reply->row->task, reply->row->name,
                kc_memory_state_name (reply->row->state), speedup, (long long)reply->row->round);
        if (reply->row->reason)
            printf ("reason      %s\n", reply->row->reason);
        if (reply->verdict)
            kc_view_verdict (reply->verdict);
        free (speedup);
    }
    if (rc == 0 && out) {
        if (reply->candidate)
            rc = s_write_program (reply->candidate, out, err);
        else
            rc = kc_fail (err, KC_ESTATE, "task %s has no correct program yet", reply->row->task);
    }
    if (rc == 0)
        rc = s_state_exit (reply->row->state);
    kc_memory_task_get_reply_free (&reply);
    return rc;
}

const kc_cmd_t kc_cmd_result = {"result", "kclaw result TASK [-o FILE] [--history [--why]]",
                                "Show the best program's verdict, write the program, or tell the whole history.",
                                s_result_options, s_result};

// ---- cancel ----

static int s_cancel (kc_cli_t *cli, kc_err_t *err)
{
    const char *task = kc_cli_one (cli, "task", err);
    if (!task)
        return -1;
    kc_memory_task_cancel_t *r = kc_memory_task_cancel_new ();
    kc_set (&r->task, task);
    kc_memory_task_cancel_reply_t *reply
        = kc_cli_call (cli, "memory.task.cancel", &kc_memory_task_cancel_type, r, &kc_memory_task_cancel_reply_type, err);
    kc_memory_task_cancel_free (&r);
    if (!reply)
        return -1;
    if (cli->json)
        kc_cli_json (&kc_memory_task_row_type, reply->row);
    else if (!cli->quiet)
        printf ("%s is %s; the best so far stays its result\n", reply->row->task, kc_memory_state_name (reply->row->state));
    kc_memory_task_cancel_reply_free (&reply);
    return 0;
}

const kc_cmd_t kc_cmd_cancel = {"cancel", "kclaw cancel TASK", "End a task now; what it reached so far stays.", s_plain_options, s_cancel};
