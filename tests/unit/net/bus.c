// bus.c - see bus.h

#include "tests/unit/net/bus.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/util/kc_fs.h"
#include "common/util/kc_hash.h"
#include "common/util/kc_mem.h"

extern char **environ;

static void s_die (const char *what, const kc_err_t *err)
{
    (void)fprintf (stderr, "bus: %s: %s\n", what, err->text);
    abort ();
}

// Start a program that writes a newline to --notify-fd 3 when ready, and wait for it.
static kc_child_t s_start (const char *const *argv)
{
    kc_err_t err = {0};
    int fds[2];
    if (kc_pipe (fds, &err) < 0)
        s_die ("pipe", &err);
    kc_spawn_fd_t list[2] = {{fds[1], 3}, {STDERR_FILENO, STDERR_FILENO}};
    kc_spawn_t spec = {.path = argv[0],
                       .argv = argv,
                       .envp = (const char *const *)environ,
                       .fds = list,
                       .n_fds = 2};
    kc_child_t child = {0};
    if (kc_spawn (&spec, &child, &err) < 0)
        s_die (argv[0], &err);
    close (fds[1]);
    struct pollfd p = {.fd = fds[0], .events = POLLIN};
    char newline = 0;
    if (poll (&p, 1, 20000) != 1 || read (fds[0], &newline, 1) != 1
        || newline != '\n') {
        (void)fprintf (stderr, "bus: %s did not become ready\n", argv[0]);
        abort ();
    }
    close (fds[0]);
    return child;
}

void bus_start_broker (bus_t *bus)
{
    const char *argv[] = {
        KC_TEST_BROKER, "--run",     bus->dir, "--notify-fd", "3",     "--beat-ms",
        "100",          "--dead-ms", "500",    "--log-level", "error", NULL};
    bus->broker = s_start (argv);
}

void bus_start (bus_t *bus)
{
    char ulid[KC_ULID];
    kc_ulid (ulid);
    bus->dir = kc_asprintf ("/tmp/kcbus-%s", ulid);
    bus_start_broker (bus);
}

void bus_stop (bus_t *bus)
{
    kc_child_destroy (&bus->broker);
    (void)kc_fs_remove_tree (bus->dir, NULL);
    free (bus->dir);
}

kc_child_t bus_worker (const bus_t *bus, const char *role, const char *instance,
                       int slots, const char *caps)
{
    char number[16];
    (void)snprintf (number, sizeof number, "%d", slots);
    const char *argv[] = {KC_TEST_WORKER,
                          "--run",
                          bus->dir,
                          "--notify-fd",
                          "3",
                          "--as",
                          role,
                          "--instance",
                          instance,
                          "--slots",
                          number,
                          "--log-level",
                          "error",
                          caps ? "--caps" : NULL,
                          caps,
                          NULL};
    return s_start (argv);
}

int bus_wait (kc_child_t *child, int timeout_ms)
{
    kc_exit_t how;
    if (kc_child_wait (child, timeout_ms, &how, NULL) != 1)
        return -1;
    return how.signalled ? 1000 + how.code : how.code;
}

void bus_kill (kc_child_t *child, int signal)
{
    kc_child_kill (child, signal);
    if (signal == SIGKILL)
        (void)bus_wait (child, 5000);
}
