// mem_fleet.c - see mem_fleet.h

#include "tests/system/memory/mem_fleet.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/util/kc_fs.h"
#include "common/util/kc_mem.h"

extern char **environ;

static kc_child_t s_start (const mem_fleet_t *f, const char *const *argv, int *ready_p)
{
    kc_err_t err = {0};
    int fds[2];
    if (kc_pipe (fds, &err) < 0)
        kc_die (__FILE__, __LINE__, err.text);
    kc_spawn_fd_t list[3] = {
        {fds[1], 3}, {f->leash[0], 4}, {STDERR_FILENO, STDERR_FILENO}};
    kc_spawn_t spec = {.path = argv[0],
                       .argv = argv,
                       .envp = (const char *const *)environ,
                       .fds = list,
                       .n_fds = 3};
    kc_child_t child = {0};
    if (kc_spawn (&spec, &child, &err) < 0)
        kc_die (__FILE__, __LINE__, err.text);
    close (fds[1]);
    *ready_p = fds[0];
    return child;
}

static bool s_wait_ready (int *fd_p, int wait_ms)
{
    struct pollfd p = {.fd = *fd_p, .events = POLLIN};
    char newline = 0;
    if (*fd_p < 0)
        return true;
    if (poll (&p, 1, wait_ms) != 1)
        return false;
    bool good = read (*fd_p, &newline, 1) == 1 && newline == '\n';
    close (*fd_p);
    *fd_p = -1;
    return good;
}

void mem_fleet_new (mem_fleet_t *f)
{
    memset (f, 0, sizeof *f);
    f->ready = -1;
    char dir[] = "/tmp/kcmem-XXXXXX";
    kc_assert (mkdtemp (dir));
    f->dir = kc_strdup (dir);
    f->file = kc_fs_join (dir, "memory.db");
    kc_err_t err = {0};
    if (kc_pipe (f->leash, &err) < 0)
        kc_die (__FILE__, __LINE__, err.text);
}

void mem_fleet_start_broker (mem_fleet_t *f)
{
    const char *argv[] = {
        KC_TEST_BROKER, "--run",       f->dir,      "--notify-fd", "3",
        "--leash-fd",   "4",           "--beat-ms", "200",         "--dead-ms",
        "2000",         "--log-level", "error",     NULL};
    int ready = -1;
    f->broker = s_start (f, argv, &ready);
    if (!s_wait_ready (&ready, 20000))
        kc_die (__FILE__, __LINE__, "the broker did not become ready");
}

void mem_fleet_spawn_memory (mem_fleet_t *f)
{
    const char *argv[] = {KC_TEST_MEMORY,
                          "--run",
                          f->dir,
                          "--data",
                          f->dir,
                          "--notify-fd",
                          "3",
                          "--leash-fd",
                          "4",
                          "--instance",
                          "memory-1",
                          "--experts",
                          KC_TEST_EXPERTS,
                          "--log-level",
                          "error",
                          NULL};
    if (f->ready >= 0)
        close (f->ready);
    f->memory = s_start (f, argv, &f->ready);
}

bool mem_fleet_is_ready (mem_fleet_t *f, int wait_ms)
{
    return s_wait_ready (&f->ready, wait_ms);
}

int mem_fleet_stop_memory (mem_fleet_t *f)
{
    kc_exit_t how = {0};
    kc_child_kill (&f->memory, SIGTERM);
    if (kc_child_wait (&f->memory, 20000, &how, NULL) == 1)
        return how.signalled ? 1000 + how.code : how.code;
    kc_child_destroy (&f->memory);
    return -1;
}

void mem_fleet_end (mem_fleet_t *f, bool keep)
{
    kc_child_destroy (&f->memory);
    kc_child_destroy (&f->broker);
    close (f->leash[0]);
    close (f->leash[1]);
    if (f->ready >= 0)
        close (f->ready);
    if (keep)
        (void)fprintf (stderr, "kept: %s\n", f->dir);
    else
        (void)kc_fs_remove_tree (f->dir, NULL);
    free (f->dir);
    free (f->file);
}

kc_answer_t mem_fleet_ask (kc_node_t *node, const char *op, const char *json,
                           const void *chunk, size_t chunk_size)
{
    kc_err_t err = {0};
    kc_answer_t answer = {0};
    kc_call_t call = {.op = op,
                      .ttl_ms = 20000,
                      .payload = json,
                      .payload_size = strlen (json),
                      .chunk = chunk,
                      .chunk_size = chunk_size,
                      .retry_busy = true};
    if (kc_node_call_wait (node, &call, &answer, &err) < 0) {
        (void)fprintf (stderr, "%s: %s\n", op, err.text);
        exit (1);
    }
    return answer;
}
