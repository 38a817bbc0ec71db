// test_kc_spawn.c - children, their groups and their descriptors

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/util/kc_clock.h"
#include "common/util/kc_mem.h"
#include "common/util/kc_spawn.h"

enum { LONG_MS = 20000, BIG = 3 * 1024 * 1024 };

static void start (kc_child_t *child, const char *script, const kc_spawn_fd_t *fds,
                   size_t n_fds)
{
    const char *const argv[] = {"sh", "-c", script, NULL};
    const char *const envp[] = {"PATH=/usr/bin:/bin", "ONLY=this", NULL};
    kc_spawn_t spec = {
        .path = "/bin/sh", .argv = argv, .envp = envp, .fds = fds, .n_fds = n_fds};
    kc_err_t err;
    if (kc_spawn (&spec, child, &err) < 0)
        fail_msg ("%s", err.text);
}

// Run 'script' to its end and return what it wrote to descriptor 'to'.
static char *output_of (const char *script, int to, kc_exit_t *out)
{
    int fds[2];
    assert_int_equal (kc_pipe (fds, NULL), 0);
    const kc_spawn_fd_t map[] = {{fds[1], to}};
    kc_child_t child;
    start (&child, script, map, 1);
    close (fds[1]);
    char *text = kc_calloc (1, 4096);
    size_t size = 0;
    while (size < 4095
           && kc_fd_read (fds[0], text + size, 1, kc_clock_ms () + LONG_MS, NULL) == 0)
        size++;
    close (fds[0]);
    assert_int_equal (kc_child_wait (&child, LONG_MS, out, NULL), 1);
    assert_int_equal (child.pid, 0);
    return text;
}

static void exit_codes_and_signals_are_told_apart (void **state)
{
    (void)state;
    kc_child_t child;
    kc_exit_t out;
    start (&child, "exit 7", NULL, 0);
    assert_int_equal (kc_child_wait (&child, LONG_MS, &out, NULL), 1);
    assert_false (out.signalled);
    assert_int_equal (out.code, 7);
    assert_true (out.max_rss_kb > 0);
    start (&child, "kill -SEGV $$", NULL, 0);
    assert_int_equal (kc_child_wait (&child, -1, &out, NULL), 1);
    assert_true (out.signalled);
    assert_int_equal (out.code, SIGSEGV);
    assert_int_equal (kc_child_wait (&child, 0, &out, NULL), -1); // reaped already
}

static void a_program_that_is_not_there_is_an_error (void **state)
{
    (void)state;
    const char *const argv[] = {"x", NULL};
    kc_spawn_t spec = {.path = "/no/such/program", .argv = argv};
    kc_child_t child;
    kc_err_t err;
    assert_int_equal (kc_spawn (&spec, &child, &err), -1);
    assert_int_equal (child.pid, 0);
    assert_non_null (strstr (err.text, "/no/such/program"));
    spec.path = "sh";
    assert_int_equal (kc_spawn (&spec, &child, &err), -1);
    const kc_spawn_fd_t twice[] = {{0, 3}, {1, 3}}, far[] = {{0, 5000}},
                        closed[] = {{900, 3}};
    spec = (kc_spawn_t){.path = "/bin/sh", .argv = argv, .fds = twice, .n_fds = 2};
    assert_int_equal (kc_spawn (&spec, &child, &err), -1);
    spec = (kc_spawn_t){.path = "/bin/sh", .argv = argv, .fds = far, .n_fds = 1};
    assert_int_equal (kc_spawn (&spec, &child, &err), -1);
    spec = (kc_spawn_t){.path = "/bin/sh", .argv = argv, .fds = closed, .n_fds = 1};
    assert_int_equal (kc_spawn (&spec, &child, &err), -1);
    kc_child_kill (&child, SIGKILL); // harmless on nothing
    kc_child_destroy (&child);
}

static void the_child_has_the_listed_descriptors_only (void **state)
{
    (void)state;
    int stray = open ("/dev/null", O_RDONLY); // as a careless library leaves it
    assert_true (stray >= 0);
    kc_exit_t out;
    char *text = output_of (
        "i=0; while [ $i -lt 100 ]; do [ -e /proc/$$/fd/$i ] && "
        "echo $i $(readlink /proc/$$/fd/$i | cut -d: -f1) >&5; i=$((i + 1)); done",
        5, &out);
    close (stray);
    assert_string_equal (text, "0 /dev/null\n1 /dev/null\n2 /dev/null\n5 pipe\n");
    free (text);
    text = output_of ("echo $ONLY; env | grep -c ^HOME=", 1, &out);
    assert_string_equal (text, "this\n0\n");
    free (text);
}

static void descriptors_may_swap_numbers_or_keep_them (void **state)
{
    (void)state;
    int a[2], b[2];
    assert_int_equal (kc_pipe (a, NULL), 0);
    assert_int_equal (kc_pipe (b, NULL), 0);
    const kc_spawn_fd_t map[] = {
        {a[1], b[1]}, {b[1], a[1]}, {a[0], a[0]}}; // the last: from == to
    char *script = kc_asprintf ("printf A >&%d; printf B >&%d; [ -e /proc/$$/fd/%d ]",
                                b[1], a[1], a[0]);
    kc_child_t child;
    kc_exit_t out;
    start (&child, script, map, 3);
    assert_int_equal (kc_child_wait (&child, LONG_MS, &out, NULL), 1);
    assert_int_equal (out.code, 0);
    char c = 0;
    assert_int_equal (kc_fd_read (a[0], &c, 1, kc_clock_ms () + LONG_MS, NULL), 0);
    assert_int_equal (c, 'A');
    assert_int_equal (kc_fd_read (b[0], &c, 1, kc_clock_ms () + LONG_MS, NULL), 0);
    assert_int_equal (c, 'B');
    for (int i = 0; i < 2; i++) {
        close (a[i]);
        close (b[i]);
    }
    free (script);
}

static void signals_are_reset_for_the_child (void **state)
{
    (void)state;
    sigset_t term, before;
    sigemptyset (&term);
    sigaddset (&term, SIGTERM);
    sigprocmask (SIG_BLOCK, &term, &before);
    signal (SIGPIPE, SIG_IGN);
    kc_exit_t out;
    char *text =
        output_of ("sed -n 's/^Sig\\(Blk\\|Ign\\):.//p' /proc/self/status", 1, &out);
    signal (SIGPIPE, SIG_DFL);
    sigprocmask (SIG_SETMASK, &before, NULL);
    // the C library keeps 32 and 33 for its threads and ignores them in a child until
    // they are used
    assert_true (strcmp (text, "0000000000000000\n0000000180000000\n") == 0
                 || strcmp (text, "0000000000000000\n0000000000000000\n") == 0);
    free (text);
}

// End of file on 'fd' says that the last holder of its other end is gone.
static void assert_closed_soon (int fd)
{
    char c;
    kc_err_t err;
    assert_int_equal (kc_fd_read (fd, &c, 1, kc_clock_ms () + LONG_MS, &err), -1);
    assert_int_equal (err.code, KC_EIO);
    assert_non_null (strstr (err.text, "end of file"));
}

static void killing_takes_the_grandchildren_along (void **state)
{
    (void)state;
    for (int mode = 0; mode < 2; mode++) {
        int fds[2];
        assert_int_equal (kc_pipe (fds, NULL), 0);
        const kc_spawn_fd_t map[] = {{fds[1], 1}};
        kc_child_t child;
        kc_exit_t out;
        // a leader that waits, and one that ends and leaves its child behind
        start (&child,
               mode ? "sleep 1000 & printf x; exit 3" : "sleep 1000 & printf x; wait",
               map, 1);
        close (fds[1]);
        char c = 0;
        assert_int_equal (kc_fd_read (fds[0], &c, 1, kc_clock_ms () + LONG_MS, NULL),
                          0);
        if (mode == 0) {
            assert_int_equal (kc_child_wait (&child, 0, &out, NULL), 0);
            kc_child_kill (&child, SIGKILL);
        }
        assert_int_equal (kc_child_wait (&child, LONG_MS, &out, NULL), 1);
        assert_int_equal (out.signalled, mode == 0);
        assert_int_equal (out.code, mode ? 3 : SIGKILL);
        assert_closed_soon (fds[0]);
        close (fds[0]);
    }
}

static void destroying_a_running_child_ends_it (void **state)
{
    (void)state;
    int fds[2];
    assert_int_equal (kc_pipe (fds, NULL), 0);
    const kc_spawn_fd_t map[] = {{fds[1], 1}};
    kc_child_t child;
    start (&child, "trap '' TERM; sleep 1000", map, 1);
    close (fds[1]);
    kc_child_destroy (&child);
    assert_int_equal (child.pid, 0);
    assert_int_equal (child.pidfd, -1);
    assert_closed_soon (fds[0]);
    close (fds[0]);
    kc_child_destroy (&child);
}

static void large_data_passes_through_a_child (void **state)
{
    (void)state;
    int in[2], out[2];
    assert_int_equal (kc_pipe (in, NULL), 0);
    assert_int_equal (kc_pipe (out, NULL), 0);
    const kc_spawn_fd_t map[] = {{in[0], 0}, {out[1], 1}};
    kc_child_t child;
    kc_exit_t end;
    // the child keeps all of it before it answers, so neither side waits for the other
    start (&child, "x=$(cat | cksum); echo $x", map, 2);
    close (in[0]);
    close (out[1]);
    char *big = kc_malloc (BIG);
    memset (big, 'z', BIG);
    kc_err_t err;
    assert_int_equal (kc_fd_write (in[1], big, BIG, kc_clock_ms () + LONG_MS, &err), 0);
    close (in[1]);
    char text[64] = "";
    for (size_t i = 0; i < sizeof text - 1; i++)
        if (kc_fd_read (out[0], text + i, 1, kc_clock_ms () + LONG_MS, NULL) < 0)
            break;
    assert_non_null (strstr (text, " 3145728\n"));
    close (out[0]);
    assert_int_equal (kc_child_wait (&child, LONG_MS, &end, NULL), 1);
    assert_int_equal (end.code, 0);
    free (big);
}

static void deadlines_hold_and_a_lost_reader_is_an_error (void **state)
{
    (void)state;
    int fds[2];
    assert_int_equal (kc_pipe (fds, NULL), 0);
    char *big = kc_calloc (1, BIG);
    kc_err_t err;
    int64_t begin = kc_clock_ms ();
    assert_int_equal (kc_fd_read (fds[0], big, 1, begin + 60, &err), -1);
    assert_int_equal (err.code, KC_ETIMEOUT);
    assert_int_equal (kc_fd_write (fds[1], "ab", 2, 0, &err), 0);
    assert_int_equal (kc_fd_read (fds[0], big, 3, kc_clock_ms () + 60, &err), -1);
    assert_non_null (strstr (err.text, "2 of 3"));
    assert_int_equal (kc_fd_write (fds[1], big, BIG, kc_clock_ms () + 60, &err),
                      -1); // nobody reads
    assert_int_equal (err.code, KC_ETIMEOUT);
    assert_true (kc_clock_ms () - begin >= 180);
    close (fds[0]);
    assert_int_equal (kc_fd_write (fds[1], "x", 1, 0, &err),
                      -1); // SIGPIPE would end this test
    assert_int_equal (err.code, KC_EIO);
    close (fds[1]);
    assert_int_equal (kc_fd_read (fds[0], big, 1, 0, &err), -1); // closed
    assert_int_equal (kc_fd_write (fds[1], big, 0, 1, &err), 0); // nothing to do
    free (big);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (exit_codes_and_signals_are_told_apart),
        cmocka_unit_test (a_program_that_is_not_there_is_an_error),
        cmocka_unit_test (the_child_has_the_listed_descriptors_only),
        cmocka_unit_test (descriptors_may_swap_numbers_or_keep_them),
        cmocka_unit_test (signals_are_reset_for_the_child),
        cmocka_unit_test (killing_takes_the_grandchildren_along),
        cmocka_unit_test (destroying_a_running_child_ends_it),
        cmocka_unit_test (large_data_passes_through_a_child),
        cmocka_unit_test (deadlines_hold_and_a_lost_reader_is_an_error),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
