// kc-planner - drives the tasks it leases from the memory service

#include "agents/planner/kc_planner.h"
#include "common/net/kc_daemon.h"

typedef struct main_state {
    kc_planner_t *planner;
} main_state_t;

static const kc_opt_t s_options[] = {
    {"tasks", 0, KC_OPT_INT, NULL, "4", 1, KC_PLANNER_TASKS_MAX, "N", "tasks driven at once"},
    KC_OPT_DAEMON,
    {0},
};

static int s_ready (kc_daemon_t *daemon, void *arg, kc_err_t *err)
{
    (void)err;
    main_state_t *state = arg;
    int tasks = (int)kc_opts_int (kc_daemon_opts (daemon), "tasks");
    state->planner = kc_planner_new (kc_daemon_loop (daemon), kc_daemon_node (daemon), tasks);
    return 0;
}

static void s_stopping (kc_daemon_t *daemon, void *arg)
{
    (void)daemon;
    main_state_t *state = arg;
    if (state->planner)
        kc_planner_stop (state->planner);
}

static void s_stop (kc_daemon_t *daemon, void *arg)
{
    (void)daemon;
    main_state_t *state = arg;
    kc_planner_destroy (&state->planner);
}

int main (int argc, char **argv)
{
    main_state_t state = {0};
    kc_daemon_spec_t spec = {
        .program = "kc-planner",
        .role = "planner",
        .about = "Leases tasks from the memory service and drives each through its rounds: inspect, write, evaluate,\n"
                 "profile, match, choose a method, and again, until the budget ends or nothing is left to win.",
        .options = s_options,
        .ready = s_ready,
        .stopping = s_stopping,
        .stop = s_stop,
        .arg = &state,
    };
    return kc_daemon_main (&spec, argc, argv);
}
