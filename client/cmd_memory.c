// cmd_memory.c - kclaw memory: the methods, their records, the numbers of the store, a backup

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/kc_cli.h"
#include "client/kc_view.h"
#include "common/msg/gen/memory.h"
#include "common/util/kc_fs.h"
#include "common/util/kc_mem.h"

enum { METHOD_FILE_MAX = 1024 * 1024 };

static const kc_opt_t s_options[] = {KC_OPT_CLI};

static int s_list (kc_cli_t *cli, const char *text, kc_err_t *err)
{
    kc_memory_method_list_t *r = kc_memory_method_list_new ();
    kc_set (&r->text, text);
    kc_memory_method_list_reply_t *reply
        = kc_cli_call (cli, "memory.method.list", &kc_memory_method_list_type, r, &kc_memory_method_list_reply_type, err);
    kc_memory_method_list_free (&r);
    if (!reply)
        return -1;
    if (!cli->json && !cli->quiet)
        printf ("%-36s %-7s %4s %6s  %s\n", "METHOD", "SOURCE", "WINS", "LOSSES", "TITLE");
    for (size_t i = 0; i < reply->n_methods; i++) {
        if (cli->json)
            kc_cli_json (&kc_memory_method_row_type, &reply->methods[i]);
        else
            kc_view_method (&reply->methods[i], false);
    }
    kc_memory_method_list_reply_free (&reply);
    return 0;
}

static int s_show (kc_cli_t *cli, const char *id, kc_err_t *err)
{
    kc_memory_method_show_t *r = kc_memory_method_show_new ();
    kc_set (&r->id, id);
    kc_memory_method_show_reply_t *reply
        = kc_cli_call (cli, "memory.method.show", &kc_memory_method_show_type, r, &kc_memory_method_show_reply_type, err);
    kc_memory_method_show_free (&r);
    if (!reply)
        return -1;
    if (cli->json)
        kc_cli_json (&kc_memory_method_row_type, reply->row);
    else
        kc_view_method (reply->row, true);
    kc_memory_method_show_reply_free (&reply);
    return 0;
}

static int s_put (kc_cli_t *cli, const char *path, kc_err_t *err)
{
    size_t size = 0;
    char *data = kc_fs_read (path, METHOD_FILE_MAX, &size, err);
    if (!data)
        return -1;
    kc_errs_t errs = {0};
    kc_memory_method_put_t *r = kc_memory_method_put_new ();
    r->document = kc_method_decode (data, size, KC_STRICT, &errs);
    free (data);
    int rc = -1;
    if (!r->document) {
        char *text = kc_errs_text (&errs);
        fprintf (stderr, "%s is no file of methods:\n%s\n", path, text);
        free (text);
        kc_errs_fail (&errs, err);
    }
    else {
        kc_memory_method_put_reply_t *reply
            = kc_cli_call (cli, "memory.method.put", &kc_memory_method_put_type, r, &kc_memory_method_put_reply_type, err);
        if (reply) {
            printf ("%lld stored\n", (long long)reply->stored);
            rc = 0;
        }
        kc_memory_method_put_reply_free (&reply);
    }
    kc_memory_method_put_free (&r);
    return rc;
}

static int s_stats (kc_cli_t *cli, kc_err_t *err)
{
    kc_memory_stats_t *r = kc_memory_stats_new ();
    kc_memory_stats_reply_t *reply = kc_cli_call (cli, "memory.stats", &kc_memory_stats_type, r, &kc_memory_stats_reply_type, err);
    kc_memory_stats_free (&r);
    if (!reply)
        return -1;
    if (cli->json)
        kc_cli_json (&kc_memory_stats_reply_type, reply);
    for (size_t i = 0; !cli->json && i < reply->n_stats; i++)
        printf ("%-32s %.0f\n", reply->stats[i].name, reply->stats[i].value);
    kc_memory_stats_reply_free (&reply);
    return 0;
}

// Why the methods of a task's round were ranked as they were: the diagnosis, clause by clause.
static int s_why (kc_cli_t *cli, const char *task, const char *round_text, kc_err_t *err)
{
    char *end = NULL;
    long long round = strtoll (round_text, &end, 10);
    if (*end || round < 0)
        return kc_fail (err, KC_EUSAGE, "round %s: give a number, see kclaw result %s --history", round_text, task);
    bool found = false;
    for (int64_t after = 0;;) {
        kc_memory_trajectory_get_t *r = kc_memory_trajectory_get_new ();
        kc_set (&r->task, task);
        r->after = after;
        r->brief = true;
        kc_memory_trajectory_get_reply_t *page
            = kc_cli_call (cli, "memory.trajectory.get", &kc_memory_trajectory_get_type, r, &kc_memory_trajectory_get_reply_type, err);
        kc_memory_trajectory_get_free (&r);
        if (!page)
            return -1;
        for (size_t i = 0; i < page->n_steps; i++) {
            after = page->steps[i].seq;
            if (page->steps[i].round != round)
                continue;
            found = true;
            if (cli->json)
                kc_cli_json (&kc_memory_step_row_type, &page->steps[i]);
            else
                kc_view_step (&page->steps[i], true);
        }
        bool more = page->more;
        kc_memory_trajectory_get_reply_free (&page);
        if (!more)
            break;
    }
    return found ? 0 : kc_fail (err, KC_ENOTFOUND, "task %s has no round %lld", task, round);
}

static int s_run (kc_cli_t *cli, kc_err_t *err)
{
    const char *verb = kc_opts_arg (cli->opts, 0);
    const char *a = kc_opts_arg (cli->opts, 1), *b = kc_opts_arg (cli->opts, 2);
    int n = kc_opts_n_args (cli->opts);
    if (!verb || (!strcmp (verb, "list") && n <= 2))
        return s_list (cli, a, err);
    if (!strcmp (verb, "show") && n == 2)
        return s_show (cli, a, err);
    if (!strcmp (verb, "put") && n == 2)
        return s_put (cli, a, err);
    if (!strcmp (verb, "stats") && n == 1)
        return s_stats (cli, err);
    if (!strcmp (verb, "why") && n == 3)
        return s_why (cli, a, b, err);
    return kc_fail (err, KC_EUSAGE, "use: memory list [WORDS] | show METHOD | put FILE | stats | why TASK ROUND");
}

const kc_cmd_t kc_cmd_memory = {"memory", "kclaw memory list [WORDS] | show METHOD | put FILE | stats | why TASK ROUND",
                                "Look into the long-term memory: methods, their records, and why one was chosen.", s_options, s_run};
