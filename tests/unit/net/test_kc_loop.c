// test_kc_loop.c - timers, descriptors, signals, children and posts

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/net/kc_heap.h"
#include "common/net/kc_loop.h"
#include "common/util/kc_clock.h"
#include "common/util/kc_mem.h"

typedef struct note {
    kc_loop_t *loop;
    int calls, stop_after;
    int64_t timer;
    int fd;
    int last;
    char order[16];
} note_t;

static void count (note_t *n)
{
    if (++n->calls == n->stop_after)
        kc_loop_stop (n->loop);
}

static void on_timer (kc_loop_t *loop, int64_t timer, void *arg)
{
    (void)loop;
    (void)timer;
    count (arg);
}

static void on_stop (kc_loop_t *loop, int64_t timer, void *arg)
{
    (void)timer;
    (void)arg;
    kc_loop_stop (loop);
}

static void deadlines_come_out_in_order_whatever_the_order_of_changes (void **state)
{
    (void)state;
    enum { N = 200 };
    kc_heap_t heap = {0};
    kc_heap_item_t items[N] = {{0}};
    uint64_t dice = 7;
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < N; i++) {
            dice = dice * 6364136223846793005u + 1442695040888963407u;
            if (dice >> 40 & 1)
                kc_heap_set (&heap, &items[i], (int64_t)(dice >> 50));
            else
                kc_heap_remove (&heap, &items[i]);
        }
        int64_t before = INT64_MIN;
        size_t n = heap.n;
        for (size_t i = 0; i < n / 2; i++) {
            kc_heap_item_t *first = kc_heap_first (&heap);
            assert_true (first->at >= before);
            before = first->at;
            kc_heap_remove (&heap, first);
            assert_int_equal (first->place, 0);
        }
        assert_int_equal (heap.n, n - n / 2);
    }
    kc_heap_free (&heap);
}

static void a_timer_fires_once_and_a_repeating_one_again_and_again (void **state)
{
    (void)state;
    kc_loop_t *loop = kc_loop_new (NULL);
    note_t once = {.loop = loop}, often = {.loop = loop, .stop_after = 5};
    (void)kc_loop_timer_add (loop, 1, 0, on_timer, &once);
    (void)kc_loop_timer_add (loop, 5, 5, on_timer, &often);
    assert_int_equal (kc_loop_run (loop, NULL), 0);
    assert_int_equal (once.calls, 1);
    assert_int_equal (often.calls, 5);
    kc_loop_destroy (&loop);
}

static void a_repeating_timer_that_fell_behind_does_not_fire_in_bursts (void **state)
{
    (void)state;
    kc_loop_t *loop = kc_loop_new (NULL);
    note_t often = {.loop = loop};
    (void)kc_loop_timer_add (loop, 10, 10, on_timer, &often);
    struct timespec nap = {0, 120000000};
    nanosleep (&nap, NULL);
    assert_int_equal (kc_loop_turn (loop, 0, NULL), 0);
    assert_int_equal (kc_loop_turn (loop, 0, NULL), 0);
    assert_int_equal (often.calls, 1);
    kc_loop_destroy (&loop);
}

static void on_remove_other (kc_loop_t *loop, int64_t timer, void *arg)
{
    (void)timer;
    note_t *n = arg;
    n->calls++;
    kc_loop_timer_del (loop, n->timer);
    kc_loop_fd_del (loop, n->fd);
}

static void on_readable (kc_loop_t *loop, int fd, unsigned events, void *arg)
{
    (void)loop;
    (void)fd;
    assert_true (events & (KC_LOOP_IN | KC_LOOP_HUP));
    note_t *n = arg;
    n->calls++;
    kc_loop_fd_del (loop, n->fd);
}

static void what_is_removed_in_a_turn_is_not_called_in_that_turn (void **state)
{
    (void)state;
    kc_loop_t *loop = kc_loop_new (NULL);
    note_t victim = {.loop = loop}, killer = {.loop = loop, .fd = -1};
    (void)kc_loop_timer_add (loop, 0, 0, on_remove_other, &killer);
    killer.timer = kc_loop_timer_add (loop, 1, 0, on_timer, &victim);
    struct timespec nap = {0, 5000000};
    nanosleep (&nap, NULL);
    assert_int_equal (kc_loop_turn (loop, 0, NULL), 0);
    assert_int_equal (killer.calls, 1);
    assert_int_equal (victim.calls, 0);
    // two descriptors, both ready: the first callback removes the other
    int a[2], b[2];
    assert_int_equal (kc_pipe (a, NULL), 0);
    assert_int_equal (kc_pipe (b, NULL), 0);
    note_t first = {.loop = loop, .fd = b[0]}, second = {.loop = loop, .fd = a[0]};
    assert_int_equal (
        kc_loop_fd_add (loop, a[0], KC_LOOP_IN, on_readable, &first, NULL), 0);
    assert_int_equal (
        kc_loop_fd_add (loop, b[0], KC_LOOP_IN, on_readable, &second, NULL), 0);
    assert_int_equal (write (a[1], "x", 1), 1);
    assert_int_equal (write (b[1], "x", 1), 1);
    assert_int_equal (kc_loop_turn (loop, 100, NULL), 0);
    assert_int_equal (first.calls + second.calls, 1);
    kc_loop_destroy (&loop);
    for (int i = 0; i < 2; i++) {
        close (a[i]);
        close (b[i]);
    }
}

static void on_pipe (kc_loop_t *loop, int fd, unsigned events, void *arg)
{
    (void)events;
    note_t *n = arg;
    char c;
    if (read (fd, &c, 1) == 1)
        n->calls++;
    else {
        kc_loop_fd_del (loop, fd);
        kc_loop_stop (loop);
    }
}

static void a_descriptor_reports_data_and_then_its_end (void **state)
{
    (void)state;
    kc_loop_t *loop = kc_loop_new (NULL);
    int fds[2];
    assert_int_equal (kc_pipe (fds, NULL), 0);
    note_t n = {.loop = loop};
    assert_int_equal (kc_loop_fd_add (loop, fds[0], KC_LOOP_IN, on_pipe, &n, NULL), 0);
    assert_int_equal (write (fds[1], "abc", 3), 3);
    close (fds[1]);
    assert_int_equal (kc_loop_run (loop, NULL), 0);
    assert_int_equal (n.calls, 3);
    close (fds[0]);
    kc_loop_destroy (&loop);
}

static void on_post (kc_loop_t *loop, void *arg)
{
    (void)loop;
    count (arg);
}

static void *poster (void *arg)
{
    note_t *n = arg;
    for (int i = 0; i < n->stop_after; i++)
        kc_loop_post (n->loop, on_post, n);
    return NULL;
}

static void posts_of_another_thread_all_arrive (void **state)
{
    (void)state;
    kc_loop_t *loop = kc_loop_new (NULL);
    note_t n = {.loop = loop, .stop_after = 20000};
    pthread_t thread;
    assert_int_equal (pthread_create (&thread, NULL, poster, &n), 0);
    assert_int_equal (kc_loop_run (loop, NULL), 0);
    pthread_join (thread, NULL);
    assert_int_equal (n.calls, 20000);
    kc_loop_destroy (&loop);
}

static void on_signal (kc_loop_t *loop, int number, void *arg)
{
    (void)loop;
    note_t *n = arg;
    n->last = number;
    count (n);
}

static void signals_arrive_as_events (void **state)
{
    (void)state;
    kc_loop_t *loop = kc_loop_new (NULL);
    note_t n = {.loop = loop, .stop_after = 2};
    assert_int_equal (kc_loop_signals (loop, on_signal, &n, NULL), 0);
    kill (getpid (), SIGHUP);
    assert_int_equal (kc_loop_turn (loop, 1000, NULL), 0);
    assert_int_equal (n.last, SIGHUP);
    kill (getpid (), SIGTERM);
    assert_int_equal (kc_loop_run (loop, NULL), 0);
    assert_int_equal (n.last, SIGTERM);
    kc_loop_destroy (&loop);
}

static void on_child (kc_loop_t *loop, kc_child_t *child, const kc_exit_t *how,
                      void *arg)
{
    note_t *n = arg;
    assert_int_equal (child->pid, 0);
    assert_non_null (how);
    n->last = how->signalled ? 1000 + how->code : how->code;
    n->calls++;
    kc_loop_stop (loop);
}

static void a_child_is_reaped_and_its_end_told (void **state)
{
    (void)state;
    const char *argv[] = {"/bin/sh", "-c", "exit 7", NULL},
               *stuck[] = {"/bin/sh", "-c", "exec sleep 100", NULL};
    for (int i = 0; i < 2; i++) {
        kc_loop_t *loop = kc_loop_new (NULL);
        note_t n = {.loop = loop};
        kc_child_t child = {0};
        kc_spawn_t spec = {.path = "/bin/sh", .argv = i ? stuck : argv};
        assert_int_equal (kc_spawn (&spec, &child, NULL), 0);
        assert_int_equal (kc_loop_child_add (loop, &child, on_child, &n, NULL), 0);
        if (i)
            kc_child_kill (&child, SIGKILL);
        assert_int_equal (kc_loop_run (loop, NULL), 0);
        assert_int_equal (n.calls, 1);
        assert_int_equal (n.last, i ? 1000 + SIGKILL : 7);
        kc_loop_destroy (&loop);
    }
}

static void the_loop_waits_no_longer_than_asked (void **state)
{
    (void)state;
    kc_loop_t *loop = kc_loop_new (NULL);
    (void)kc_loop_timer_add (loop, 60000, 0, on_stop, NULL);
    int64_t from = kc_clock_ms ();
    assert_int_equal (kc_loop_turn (loop, 30, NULL), 0);
    assert_true (kc_clock_ms () - from < 5000);
    assert_true (kc_loop_wait_ms (loop) > 50000);
    kc_loop_destroy (&loop);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (deadlines_come_out_in_order_whatever_the_order_of_changes),
        cmocka_unit_test (a_timer_fires_once_and_a_repeating_one_again_and_again),
        cmocka_unit_test (a_repeating_timer_that_fell_behind_does_not_fire_in_bursts),
        cmocka_unit_test (what_is_removed_in_a_turn_is_not_called_in_that_turn),
        cmocka_unit_test (a_descriptor_reports_data_and_then_its_end),
        cmocka_unit_test (posts_of_another_thread_all_arrive),
        cmocka_unit_test (signals_arrive_as_events),
        cmocka_unit_test (a_child_is_reaped_and_its_end_told),
        cmocka_unit_test (the_loop_waits_no_longer_than_asked),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
