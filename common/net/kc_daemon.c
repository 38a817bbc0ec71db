// kc_daemon.c - see kc_daemon.h

#include "common/net/kc_daemon.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/net/kc_process.h"
#include "common/util/kc_log.h"
#include "common/util/kc_mem.h"

enum { GRACE_MS = 5000, IDLE_POLL_MS = 20 };

struct kc_daemon {
    const kc_daemon_spec_t *spec;
    kc_opts_t *opts;
    kc_loop_t *loop;
    kc_node_t *node;
    char *dirs[3]; // by kc_dir_t, made on demand
    char *instance, *caps;
    int slots;
    kc_leash_t leash;
    int notify_fd;
    bool started, stopping;
    int64_t stop_until;
    kc_err_t err; // why it ends; code KC_OK = in order
};

static void s_idle (kc_loop_t *loop, int64_t timer, void *arg)
{
    (void)timer;
    kc_daemon_t *self = arg;
    if (!self->node || kc_node_idle (self->node)
        || kc_loop_now (loop) >= self->stop_until)
        kc_loop_stop (loop);
}

static void s_begin_stop (kc_daemon_t *self, const char *why)
{
    if (self->stopping) { // asked twice: now
        kc_loop_stop (self->loop);
        return;
    }
    self->stopping = true;
    kc_log (KC_INFO, "daemon.stopping", "why", "s", why, NULL);
    if (self->node)
        kc_node_drain (self->node);
    if (self->started && self->spec->stopping)
        self->spec->stopping (self, self->spec->arg);
    self->stop_until = kc_loop_now (self->loop)
                       + (self->spec->grace_ms > 0 ? self->spec->grace_ms : GRACE_MS);
    (void)kc_loop_timer_add (self->loop, 0, IDLE_POLL_MS, s_idle, self);
}

static void s_signal (kc_loop_t *loop, int number, void *arg)
{
    (void)loop;
    kc_daemon_t *self = arg;
    if (number != SIGHUP)
        s_begin_stop (self, number == SIGTERM ? "TERM" : "INT");
    else if (self->spec->reload)
        self->spec->reload (self, self->spec->arg);
}

static void s_leash_gone (kc_loop_t *loop, void *arg)
{
    (void)loop;
    s_begin_stop (arg, "the supervisor is gone");
}

void kc_daemon_end (kc_daemon_t *self, const kc_err_t *err)
{
    if (err && self->err.code == KC_OK) {
        self->err = *err;
        kc_log (KC_ERROR, "daemon.failed", "error", "s", err->text, NULL);
    }
    if (!self->stopping)
        s_begin_stop (self, err ? err->text : "done");
}

static void s_request (void *arg, kc_node_t *node, const kc_request_t *request)
{
    kc_daemon_t *self = arg;
    kc_process_note (request->id);
    self->spec->on_request (self->spec->arg, node, request);
}

static void s_cancel (void *arg, kc_node_t *node, const char *id)
{
    kc_daemon_t *self = arg;
    if (self->spec->on_cancel)
        self->spec->on_cancel (self->spec->arg, node, id);
}

static void s_state (void *arg, kc_node_t *node, kc_node_state_t state,
                     const char *text)
{
    kc_daemon_t *self = arg;
    kc_err_t err = {0};
    switch (state) {
    case KC_NODE_CONNECTED:
        kc_process_ready (self->notify_fd);
        self->notify_fd = -1;
        break;
    case KC_NODE_DISPLACED:
        (void)kc_fail (&err, KC_EDISPLACED, "%s", text);
        kc_daemon_end (self, &err);
        break;
    case KC_NODE_REFUSED:
        (void)kc_fail (&err, KC_EREFUSED, "the broker refuses this process: %s", text);
        kc_daemon_end (self, &err);
        break;
    case KC_NODE_LOST:
    case KC_NODE_DRAINING:
        break;
    }
    if (self->spec->on_state)
        self->spec->on_state (self->spec->arg, node, state, text);
}

static char *s_default_instance (const char *role)
{
    char host[65] = "localhost";
    (void)gethostname (host, sizeof host - 1);
    return kc_asprintf ("%s-%d@%.60s", role, (int)getpid (), host);
}

static int s_fd (const kc_daemon_t *self, const char *option)
{
    return kc_opts_given (self->opts, option) ? (int)kc_opts_int (self->opts, option)
                                              : -1;
}

static int s_start_node (kc_daemon_t *self, kc_err_t *err)
{
    const kc_daemon_spec_t *spec = self->spec;
    kc_node_config_t config = {.loop = self->loop,
                               .run_dir = kc_opts_string (self->opts, "run"),
                               .instance = self->instance,
                               .role = spec->role,
                               .ops = spec->ops,
                               .slots = self->slots,
                               .caps = self->caps,
                               .on_request = spec->on_request ? s_request : NULL,
                               .on_cancel = s_cancel,
                               .on_state = s_state,
                               .arg = self};
    self->node = kc_node_new (&config, err);
    return self->node ? 0 : -1;
}

static int s_run (kc_daemon_t *self, kc_err_t *err)
{
    const kc_daemon_spec_t *spec = self->spec;
    self->loop = kc_loop_new (err);
    if (!self->loop || kc_loop_signals (self->loop, s_signal, self, err) < 0)
        return -1;
    self->leash = (kc_leash_t){s_leash_gone, self};
    if (kc_process_leash (self->loop, s_fd (self, "leash-fd"), &self->leash, err) < 0)
        return -1;
    self->started = true;
    if (spec->start && spec->start (self, spec->arg, err) < 0)
        return -1;
    if (s_start_node (self, err) < 0)
        return -1;
    if (spec->ready && spec->ready (self, spec->arg, err) < 0)
        return -1;
    kc_log (KC_INFO, "daemon.started", "build", "s", KC_VERSION, "pid", "i",
            (int64_t)getpid (), NULL);
    if (kc_loop_run (self->loop, err) < 0)
        return -1;
    if (self->err.code != KC_OK && err)
        *err = self->err;
    return self->err.code == KC_OK ? 0 : -1;
}

static void s_clear (kc_daemon_t *self)
{
    if (self->node)
        kc_node_close_calls (
            self->node); // no callback may come after 'stop' has freed what it needs
    if (self->started && self->spec->stop)
        self->spec->stop (self, self->spec->arg);
    kc_node_destroy (&self->node);
    kc_loop_destroy (&self->loop);
    for (size_t i = 0; i < KC_COUNT (self->dirs); i++)
        free (self->dirs[i]);
    free (self->instance);
    free (self->caps);
    kc_opts_destroy (&self->opts);
}

int kc_daemon_main (const kc_daemon_spec_t *spec, int argc, char **argv)
{
    kc_process_init (spec->program);
    kc_err_t err = {0};
    kc_daemon_t self = {.spec = spec, .slots = spec->slots, .notify_fd = -1};
    self.opts = kc_opts_parse (spec->options, argc, argv, &err);
    int rc = self.opts ? 0 : -1;
    bool run = false;
    if (self.opts && kc_opts_flag (self.opts, "help")) {
        char *usage = kc_asprintf ("%s [options]", spec->program);
        kc_opts_help (spec->options, usage, spec->about ? spec->about : "");
        free (usage);
    }
    else if (self.opts && kc_opts_flag (self.opts, "version"))
        (void)printf ("%s %s\n", spec->program, KC_VERSION);
    else
        run = rc == 0;
    if (run) {
        const char *given = kc_opts_string (self.opts, "instance");
        self.instance = given ? kc_strdup (given) : s_default_instance (spec->role);
        self.notify_fd = s_fd (&self, "notify-fd");
        kc_log_init (spec->program, self.instance);
        const char *name = kc_opts_string (self.opts, "log-level");
        int level = kc_log_level_parse (name ? name : "info");
        if (level < 0)
            rc = kc_fail (&err, KC_EUSAGE, "--log-level: debug, info, warn or error");
        else {
            kc_log_level ((kc_level_t)level);
            rc = s_run (&self, &err);
        }
    }
    s_clear (&self);
    if (rc < 0)
        (void)fprintf (stderr, "%s: %s\n", spec->program, err.text);
    return rc < 0 ? kc_code_exit (err.code) : 0;
}

kc_loop_t *kc_daemon_loop (kc_daemon_t *self)
{
    return self->loop;
}

kc_node_t *kc_daemon_node (kc_daemon_t *self)
{
    return self->node;
}

const kc_opts_t *kc_daemon_opts (const kc_daemon_t *self)
{
    return self->opts;
}

const char *kc_daemon_instance (const kc_daemon_t *self)
{
    return self->instance;
}

const char *kc_daemon_dir (kc_daemon_t *self, kc_dir_t dir)
{
    static const char *const options[] = {"run", "data", "cache"};
    if (!self->dirs[dir]) {
        kc_err_t err;
        self->dirs[dir] = kc_fs_dir (dir, kc_opts_string (self->opts, options[dir]));
        if (kc_fs_mkdir (self->dirs[dir], 0700, &err) < 0)
            kc_log (KC_ERROR, "daemon.dir", "error", "s", err.text,
                    NULL); // its user will fail with the place named
    }
    return self->dirs[dir];
}

void kc_daemon_set_slots (kc_daemon_t *self, int slots)
{
    kc_assert (!self->node);
    self->slots = slots;
}

void kc_daemon_set_caps (kc_daemon_t *self, const char *caps)
{
    kc_assert (!self->node);
    kc_set (&self->caps, caps);
}
