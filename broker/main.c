// main.c - kc-broker: carries every message between the processes of a fleet

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "broker/kc_broker.h"
#include "common/net/kc_process.h"
#include "common/util/kc_fs.h"
#include "common/util/kc_log.h"
#include "common/util/kc_opt.h"

static const kc_opt_t s_options[] = {
    KC_OPT_DAEMON,
    {"beat-ms", 0, KC_OPT_INT, "KC_BEAT_MS", "1000", 10, 60000, "MS",
     "how often every process says that it lives"},
    {"dead-ms", 0, KC_OPT_INT, "KC_DEAD_MS", "4000", 20, 600000, "MS",
     "silence after which a process counts as lost"},
    {0},
};

static void s_stop (kc_loop_t *loop, void *arg)
{
    (void)arg;
    kc_loop_stop (loop);
}

static void s_signal (kc_loop_t *loop, int number, void *arg)
{
    (void)arg;
    if (number == SIGHUP)
        return; // keys are re-read here once there are any
    kc_log (KC_INFO, "broker.stopping", "signal", "i", (int64_t)number, NULL);
    kc_loop_stop (loop);
}

static int s_run (const kc_opts_t *opts, kc_err_t *err)
{
    char *dir = kc_fs_dir (KC_DIR_RUN, kc_opts_string (opts, "run"));
    kc_broker_config_t config = {.run_dir = dir,
                                 .beat_ms = kc_opts_int (opts, "beat-ms"),
                                 .dead_ms = kc_opts_int (opts, "dead-ms")};
    kc_leash_t leash = {s_stop, NULL};
    kc_broker_t *broker = NULL;
    kc_loop_t *loop = kc_loop_new (err);
    int rc = loop ? kc_loop_signals (loop, s_signal, NULL, err) : -1;
    if (rc == 0)
        rc = kc_process_leash (
            loop,
            kc_opts_given (opts, "leash-fd") ? (int)kc_opts_int (opts, "leash-fd") : -1,
            &leash, err);
    if (rc == 0 && !(broker = kc_broker_new (&config, loop, err)))
        rc = -1;
    if (rc == 0) {
        kc_process_ready (kc_opts_given (opts, "notify-fd")
                              ? (int)kc_opts_int (opts, "notify-fd")
                              : -1);
        rc = kc_broker_run (broker, err);
    }
    kc_broker_destroy (&broker);
    kc_loop_destroy (&loop);
    free (dir);
    return rc;
}

int main (int argc, char **argv)
{
    kc_process_init ("kc-broker");
    kc_err_t err = {0};
    kc_opts_t *opts = kc_opts_parse (s_options, argc, argv, &err);
    int rc = opts ? 0 : -1;
    if (opts && kc_opts_flag (opts, "help"))
        kc_opts_help (s_options, "kc-broker [options]",
                      "Listens on broker.sock in the run directory and carries every "
                      "message of the fleet: sessions, "
                      "queues, fairness, capabilities. Writes nothing to disk.");
    else if (opts && kc_opts_flag (opts, "version"))
        (void)printf ("kc-broker %s\n", KC_VERSION);
    else if (opts) {
        const char *instance = kc_opts_string (opts, "instance");
        int level = kc_log_level_parse (kc_opts_string (opts, "log-level"));
        kc_log_init ("kc-broker", instance ? instance : "broker");
        if (level < 0)
            rc = kc_fail (&err, KC_EUSAGE, "--log-level: debug, info, warn or error");
        else {
            kc_log_level ((kc_level_t)level);
            rc = s_run (opts, &err);
        }
    }
    kc_opts_destroy (&opts);
    if (rc < 0)
        (void)fprintf (stderr, "kc-broker: %s\n", err.text);
    return rc < 0 ? kc_code_exit (err.code) : 0;
}
