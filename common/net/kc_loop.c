// kc_loop.c - see kc_loop.h; epoll, an own timer heap, a signalfd, pidfds and an
// eventfd for posts

#include "common/net/kc_loop.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "common/net/kc_heap.h"
#include "common/util/kc_clock.h"
#include "common/util/kc_mem.h"

enum {
    BATCH = 64,        // descriptor events of one turn
    TIMERS_TURN = 256, // timers fired in one turn
    POSTS_TURN = 1024, // posts run in one turn
};

typedef struct s_watch { // one descriptor; index = descriptor
    kc_loop_fd_f *call;  // NULL = none
    void *arg;
    uint32_t made; // so that an event queued for an old watch never reaches a new one
} s_watch_t;

typedef struct s_timer {
    kc_heap_item_t due; // first member: the heap's item is the timer
    int64_t id;
    int64_t every;
    kc_loop_timer_f *call;
    void *arg;
} s_timer_t;

typedef struct s_child {
    kc_child_t *child;
    kc_loop_child_f *call;
    void *arg;
    int fd; // the pidfd, which kc_child_wait closes
} s_child_t;

typedef struct s_post {
    kc_loop_post_f *call;
    void *arg;
} s_post_t;

struct kc_loop {
    int epoll, wake, signals;
    int64_t now;
    bool ran, stop, turning;
    s_watch_t *watches;
    size_t n_watches;
    uint32_t made;
    kc_heap_t heap;
    s_timer_t **timers; // all of them, for lookup by id
    size_t n_timers;
    int64_t last_timer;
    s_child_t **children;
    size_t n_children;
    kc_loop_signal_f *on_signal;
    void *signal_arg;
    pthread_mutex_t lock; // guards posts
    s_post_t *posts;
    size_t n_posts, room_posts;
};

static int s_watch_ctl (kc_loop_t *self, int op, int fd, unsigned events, kc_err_t *err)
{
    struct epoll_event e = {0};
    e.events = ((events & KC_LOOP_IN) ? (uint32_t)EPOLLIN : 0u)
               | ((events & KC_LOOP_OUT) ? (uint32_t)EPOLLOUT : 0u);
    e.data.u64 = (uint64_t)(uint32_t)fd | (uint64_t)self->watches[fd].made << 32;
    if (epoll_ctl (self->epoll, op, fd, &e) < 0)
        return kc_fail_errno (err, errno, "loop: cannot watch descriptor %d", fd);
    return 0;
}

int kc_loop_fd_add (kc_loop_t *self, int fd, unsigned events, kc_loop_fd_f *call,
                    void *arg, kc_err_t *err)
{
    kc_assert (call);
    if (fd < 0)
        return kc_fail (err, KC_EINTERNAL, "loop: descriptor %d cannot be watched", fd);
    if ((size_t)fd >= self->n_watches) {
        size_t n = (size_t)fd + 32;
        self->watches = kc_realloc (self->watches, n * sizeof *self->watches);
        memset (self->watches + self->n_watches, 0,
                (n - self->n_watches) * sizeof *self->watches);
        self->n_watches = n;
    }
    kc_assert (!self->watches[fd].call); // one watcher per descriptor
    self->watches[fd].made = ++self->made;
    if (s_watch_ctl (self, EPOLL_CTL_ADD, fd, events, err) < 0)
        return -1;
    self->watches[fd].call = call;
    self->watches[fd].arg = arg;
    return 0;
}

int kc_loop_fd_want (kc_loop_t *self, int fd, unsigned events, kc_err_t *err)
{
    kc_assert (fd >= 0 && (size_t)fd < self->n_watches && self->watches[fd].call);
    return s_watch_ctl (self, EPOLL_CTL_MOD, fd, events, err);
}

void kc_loop_fd_del (kc_loop_t *self, int fd)
{
    if (fd < 0 || (size_t)fd >= self->n_watches || !self->watches[fd].call)
        return;
    self->watches[fd] = (s_watch_t){0};
    (void)epoll_ctl (self->epoll, EPOLL_CTL_DEL, fd,
                     NULL); // EBADF when the owner closed it too early
}

static void s_wake (kc_loop_t *loop, int fd, unsigned events, void *arg)
{
    (void)loop;
    (void)events;
    (void)arg;
    uint64_t count;
    (void)!read (fd, &count, sizeof count);
}

kc_loop_t *kc_loop_new (kc_err_t *err)
{
    kc_loop_t *self = kc_calloc (1, sizeof *self);
    self->signals = -1;
    self->wake = -1;
    pthread_mutex_init (&self->lock, NULL);
    self->now = kc_clock_ms ();
    self->epoll = epoll_create1 (EPOLL_CLOEXEC);
    if (self->epoll < 0) {
        kc_fail_errno (err, errno, "loop: epoll");
        kc_loop_destroy (&self);
        return NULL;
    }
    self->wake = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (self->wake < 0)
        kc_fail_errno (err, errno, "loop: eventfd");
    if (self->wake < 0
        || kc_loop_fd_add (self, self->wake, KC_LOOP_IN, s_wake, NULL, err) < 0)
        kc_loop_destroy (&self);
    return self;
}

void kc_loop_destroy (kc_loop_t **self_p)
{
    kc_loop_t *self = *self_p;
    if (!self)
        return;
    *self_p = NULL;
    for (size_t i = 0; i < self->n_timers; i++)
        free (self->timers[i]);
    for (size_t i = 0; i < self->n_children; i++)
        free (self->children[i]);
    free (self->timers);
    free (self->children);
    free (self->watches);
    free (self->posts);
    kc_heap_free (&self->heap);
    if (self->signals >= 0)
        close (self->signals);
    if (self->wake >= 0)
        close (self->wake);
    if (self->epoll >= 0)
        close (self->epoll);
    pthread_mutex_destroy (&self->lock);
    free (self);
}

int64_t kc_loop_now (const kc_loop_t *self)
{
    return self->turning ? self->now
                         : kc_clock_ms (); // outside a turn there is no common time
}

// ---- timers ----

int64_t kc_loop_timer_add (kc_loop_t *self, int64_t after_ms, int64_t every_ms,
                           kc_loop_timer_f *call, void *arg)
{
    kc_assert (call && every_ms >= 0);
    s_timer_t *t = kc_calloc (1, sizeof *t);
    t->id = ++self->last_timer;
    t->every = every_ms;
    t->call = call;
    t->arg = arg;
    *(s_timer_t **)kc_push (&self->timers, &self->n_timers, sizeof t) = t;
    kc_heap_set (&self->heap, &t->due,
                 kc_loop_now (self) + (after_ms > 0 ? after_ms : 0));
    return t->id;
}

void kc_loop_timer_del (kc_loop_t *self, int64_t timer)
{
    for (size_t i = 0; i < self->n_timers; i++)
        if (self->timers[i]->id == timer) {
            kc_heap_remove (&self->heap, &self->timers[i]->due);
            free (self->timers[i]);
            self->timers[i] = self->timers[--self->n_timers];
            return;
        }
}

static void s_fire (kc_loop_t *self)
{
    for (int n = 0; n < TIMERS_TURN && !self->stop; n++) {
        s_timer_t *t = (s_timer_t *)kc_heap_first (&self->heap);
        if (!t || t->due.at > self->now)
            return;
        kc_loop_timer_f *call = t->call;
        void *arg = t->arg;
        int64_t id = t->id;
        if (t->every > 0)
            kc_heap_set (&self->heap, &t->due,
                         self->now
                             + t->every); // from now: a late one never fires in bursts
        else
            kc_loop_timer_del (self, id);
        call (self, id, arg);
    }
}

// ---- signals, children, posts ----

static void s_signal (kc_loop_t *self, int fd, unsigned events, void *arg)
{
    (void)events;
    (void)arg;
    struct signalfd_siginfo info;
    while (!self->stop && read (fd, &info, sizeof info) == (ssize_t)sizeof info)
        self->on_signal (self, (int)info.ssi_signo, self->signal_arg);
}

int kc_loop_signals (kc_loop_t *self, kc_loop_signal_f *call, void *arg, kc_err_t *err)
{
    kc_assert (call && self->signals < 0);
    sigset_t set;
    sigemptyset (&set);
    sigaddset (&set, SIGTERM);
    sigaddset (&set, SIGINT);
    sigaddset (&set, SIGHUP);
    int rc = pthread_sigmask (SIG_BLOCK, &set, NULL);
    if (rc != 0)
        return kc_fail_errno (err, rc, "loop: signal mask");
    self->signals = signalfd (-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (self->signals < 0)
        return kc_fail_errno (err, errno, "loop: signalfd");
    self->on_signal = call;
    self->signal_arg = arg;
    return kc_loop_fd_add (self, self->signals, KC_LOOP_IN, s_signal, NULL, err);
}

static void s_child_drop (kc_loop_t *self, s_child_t *c)
{
    for (size_t i = 0; i < self->n_children; i++)
        if (self->children[i] == c) {
            self->children[i] = self->children[--self->n_children];
            break;
        }
    kc_loop_fd_del (self, c->fd);
    free (c);
}

static void s_child_ended (kc_loop_t *self, int fd, unsigned events, void *arg)
{
    (void)fd;
    (void)events;
    s_child_t *c = arg;
    s_child_t copy = *c;
    // The watch goes before the wait: reaping closes the pidfd, and its number may be
    // reused at once.
    s_child_drop (self, c);
    kc_exit_t how = {0};
    int rc = kc_child_wait (copy.child, 0, &how, NULL);
    if (rc == 0) { // cannot be: the pidfd said it ended
        rc = kc_child_wait (copy.child, 100, &how, NULL);
    }
    copy.call (self, copy.child, rc == 1 ? &how : NULL, copy.arg);
}

int kc_loop_child_add (kc_loop_t *self, kc_child_t *child, kc_loop_child_f *call,
                       void *arg, kc_err_t *err)
{
    kc_assert (call);
    s_child_t *c = kc_calloc (1, sizeof *c);
    *c = (s_child_t){.child = child, .call = call, .arg = arg, .fd = child->pidfd};
    if (kc_loop_fd_add (self, c->fd, KC_LOOP_IN, s_child_ended, c, err) < 0) {
        free (c);
        return -1;
    }
    *(s_child_t **)kc_push (&self->children, &self->n_children, sizeof c) = c;
    return 0;
}

void kc_loop_child_del (kc_loop_t *self, kc_child_t *child)
{
    for (size_t i = 0; i < self->n_children; i++)
        if (self->children[i]->child == child) {
            s_child_drop (self, self->children[i]);
            return;
        }
}

void kc_loop_post (kc_loop_t *self, kc_loop_post_f *call, void *arg)
{
    kc_assert (call);
    pthread_mutex_lock (&self->lock);
    bool first = self->n_posts == 0;
    if (self->n_posts == self->room_posts) {
        self->room_posts = self->room_posts ? 2 * self->room_posts : 16;
        self->posts = kc_realloc (self->posts, self->room_posts * sizeof *self->posts);
    }
    self->posts[self->n_posts++] = (s_post_t){call, arg};
    pthread_mutex_unlock (&self->lock);
    uint64_t one = 1;
    if (first)
        (void)!write (self->wake, &one, sizeof one);
}

static void s_run_posts (kc_loop_t *self)
{
    for (int round = 0; round < POSTS_TURN && !self->stop; round++) {
        pthread_mutex_lock (&self->lock);
        if (self->n_posts == 0) {
            pthread_mutex_unlock (&self->lock);
            return;
        }
        s_post_t *list = self->posts;
        size_t n = self->n_posts;
        self->posts = NULL;
        self->n_posts = self->room_posts = 0;
        pthread_mutex_unlock (&self->lock);
        for (size_t i = 0; i < n; i++)
            list[i].call (
                self, list[i].arg); // all of the batch run, a stop in between included
        free (list);
        round += (int)(n < POSTS_TURN ? n : POSTS_TURN);
    }
    uint64_t one =
        1; // more is waiting: come back after the other events had their turn
    (void)!write (self->wake, &one, sizeof one);
}

// ---- running ----

int kc_loop_turn (kc_loop_t *self, int64_t wait_ms, kc_err_t *err)
{
    kc_assert (!self->turning); // a turn inside a callback would reorder events
    kc_heap_item_t *first = kc_heap_first (&self->heap);
    if (first) {
        int64_t left = first->at - kc_clock_ms ();
        if (wait_ms < 0 || left < wait_ms)
            wait_ms = left > 0 ? left : 0;
    }
    if (wait_ms > INT32_MAX)
        wait_ms = INT32_MAX;
    struct epoll_event events[BATCH];
    int n = epoll_wait (self->epoll, events, BATCH, wait_ms < 0 ? -1 : (int)wait_ms);
    if (n < 0 && errno != EINTR)
        return kc_fail_errno (err, errno, "loop: epoll_wait");
    self->turning = true;
    self->now = kc_clock_ms ();
    for (int i = 0; i < n && !self->stop; i++) {
        int fd = (int)(uint32_t)events[i].data.u64;
        uint32_t made = (uint32_t)(events[i].data.u64 >> 32);
        s_watch_t w = self->watches[fd];
        if (!w.call || w.made != made)
            continue; // removed, or replaced, by an earlier callback of this turn
        uint32_t e = events[i].events;
        w.call (self, fd,
                ((e & EPOLLIN) ? (unsigned)KC_LOOP_IN : 0u)
                    | ((e & EPOLLOUT) ? (unsigned)KC_LOOP_OUT : 0u)
                    | ((e & (EPOLLHUP | EPOLLERR)) ? (unsigned)KC_LOOP_HUP : 0u),
                w.arg);
    }
    if (!self->stop)
        s_run_posts (self);
    if (!self->stop)
        s_fire (self);
    self->turning = false;
    return 0;
}

int kc_loop_fd (const kc_loop_t *self)
{
    return self->epoll;
}

int64_t kc_loop_wait_ms (const kc_loop_t *self)
{
    const kc_heap_item_t *first = kc_heap_first (&self->heap);
    if (!first)
        return -1;
    int64_t left = first->at - kc_clock_ms ();
    return left > 0 ? left : 0;
}

bool kc_loop_stopped (const kc_loop_t *self)
{
    return self->stop;
}

int kc_loop_run (kc_loop_t *self, kc_err_t *err)
{
    kc_assert (!self->ran);
    self->ran = true;
    while (!self->stop)
        if (kc_loop_turn (self, -1, err) < 0)
            return -1;
    return 0;
}

void kc_loop_stop (kc_loop_t *self)
{
    self->stop = true;
    uint64_t one = 1;
    (void)!write (self->wake, &one, sizeof one);
}
