// kc_compiler.c - the parent's side: which compiler, which key, the cache, children and
// their ends
//
// A job goes through: cache -> child (job frame in, result frame out) -> cache.  The
// result's bytes are read as they come, because a child blocks on a full pipe; the end
// of the child decides what a missing result means.  TIMEOUT and INFRA_ERROR are not
// kept in the cache: they depend on the machine.

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agents/gpu/compile/kc_compile_int.h"
#include "agents/gpu/cuda/culib.h"
#include "common/util/kc_clock.h"
#include "common/util/kc_fs.h"
#include "common/util/kc_log.h"
#include "common/util/kc_mem.h"

enum { S_CHILDREN = 2, S_CHILDREN_MAX = 64, S_READ = 65536, S_PROBE_SM = 90 };

typedef struct s_run { // one job that is not answered yet
    struct s_run *next;
    kc_compiler_t *owner;
    int64_t ticket;
    kc_compile_job_t job;
    char key[KC_SHA_HEX];
    kc_compiled_t *hit; // from the cache, waiting for the loop
    kc_compiler_f *call;
    void *arg;
    kc_loop_t *loop; // NULL: blocking
    char *tmp;
    kc_child_t child;
    bool started, ended, eof;
    kc_exit_t exit;
    int in, out; // write the job here, read the result there; -1 = closed
    kc_buf_t send, got;
    size_t sent;
    int64_t timer, deadline, begun;
    bool late;
} s_run_t;

struct kc_compiler {
    kc_front_t front;
    char *runner, *tool, *version, *note, *compiler, *tmp_root;
    kc_compile_cache_t *cache;
    int max_children, running;
    int64_t last_ticket;
    s_run_t *runs; // in order of arrival
};

void kc_compiler_key (const kc_compiler_t *self, const kc_compile_job_t *job,
                      char hex[KC_SHA_HEX])
{
    kc_compile_job_key (job, self->version, hex);
}

// ---- one run ----

static kc_compiled_t *s_answer (kc_verdict_status_t status, kc_front_t front,
                                const char *compiler, const char *text)
{
    kc_compiled_t *c = kc_compiled_new ();
    kc_compiled_find (c, status, 0, "%s", text);
    c->front = front;
    c->compiler = kc_strdup (compiler ? compiler : kc_front_name (front));
    return c;
}

static void s_close (int *fd)
{
    if (*fd >= 0)
        close (*fd);
    *fd = -1;
}

static int s_start (kc_compiler_t *self, s_run_t *run, kc_err_t *err)
{
    run->tmp = kc_asprintf ("%s/kc-compile-%d-XXXXXX", self->tmp_root, (int)getpid ());
    if (!mkdtemp (run->tmp)) {
        int number = errno;
        kc_set (&run->tmp, NULL);
        return kc_fail_errno (err, number, "no private folder in %s", self->tmp_root);
    }
    kc_compile_request_t request = {
        .job = run->job, .front = self->front, .tool = self->tool, .tmp = run->tmp};
    kc_buf_t body = {0};
    kc_compile_request_put (&body, &request);
    unsigned char head[12] = "KCJ1";
    for (int i = 0; i < 8; i++)
        head[4 + i] = (unsigned char)((uint64_t)body.size >> (8 * i));
    kc_buf_put (&run->send, head, sizeof head);
    kc_buf_put (&run->send, body.data, body.size);
    kc_buf_free (&body);
    run->got.limit = KC_COMPILE_FRAME_MAX + 12;
    int to[2] = {-1, -1}, from[2] = {-1, -1}, rc = -1;
    if (kc_pipe (to, err) < 0 || kc_pipe (from, err) < 0)
        goto out;
    const char *const argv[] = {self->runner, "compile", NULL};
    const kc_spawn_fd_t fds[] = {{to[0], 3}, {from[1], 4}, {2, 2}};
    const kc_spawn_t spec = {
        .path = self->runner, .argv = argv, .fds = fds, .n_fds = KC_COUNT (fds)};
    rc = kc_spawn (&spec, &run->child, err);
out:
    s_close (&to[0]);
    s_close (&from[1]);
    if (rc < 0) {
        s_close (&to[1]);
        s_close (&from[0]);
        return -1;
    }
    run->in = to[1];
    run->out = from[0];
    fcntl (run->in, F_SETFL, O_NONBLOCK);
    fcntl (run->out, F_SETFL, O_NONBLOCK);
    run->started = true;
    run->begun = kc_clock_ms ();
    run->deadline = run->begun + (int64_t)KC_COMPILE_WALL_S * 1000;
    return 0;
}

// Move bytes that can be moved now.
static void s_pump (s_run_t *run)
{
    while (run->in >= 0) {
        ssize_t n =
            kc_fd_write_some (run->in, run->send.data + run->sent, run->send.size - run->sent);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            break;
        if (n < 0 || (run->sent += (size_t)n) == run->send.size)
            s_close (&run->in); // all sent, or the child is gone: its end tells
    }
    char bytes[S_READ];
    while (run->out >= 0) {
        ssize_t n = read (run->out, bytes, sizeof bytes);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            break;
        if (n <= 0 || run->got.overflow) {
            s_close (&run->out);
            run->eof = true;
            break;
        }
        kc_buf_put (&run->got, bytes, (size_t)n);
    }
}

static kc_compiled_t *s_result (const kc_compiler_t *self, s_run_t *run)
{
    kc_err_t err;
    kc_fail (&err, KC_EINVALID, "no result");
    const unsigned char *p = (const unsigned char *)run->got.data;
    if (run->got.size >= 12 && memcmp (p, "KCR1", 4) == 0 && !run->got.overflow) {
        uint64_t size = 0;
        for (int i = 0; i < 8; i++)
            size |= (uint64_t)p[4 + i] << (8 * i);
        kc_compiled_t *c = size == run->got.size - 12
                               ? kc_compiled_get (p + 12, (size_t)size, &err)
                               : NULL;
        if (c) {
            if (strcmp (c->compiler, "clang") == 0)
                kc_set (&c->compiler, self->compiler);
            return c;
        }
    }
    char text[KC_ERR_TEXT + 256];
    kc_verdict_status_t status = KC_VERDICT_STATUS_COMPILE_ERROR;
    if (run->late
        || (run->exit.signalled
            && (run->exit.code == SIGXCPU || run->exit.code == SIGKILL))) {
        status = KC_VERDICT_STATUS_TIMEOUT;
        snprintf (
            text, sizeof text,
            "the compilation was stopped after %d s (%d s of CPU time are allowed)",
            (int)((kc_clock_ms () - run->begun) / 1000), KC_COMPILE_CPU_S);
    }
    else if (run->exit.signalled
             && (run->exit.code == SIGABRT || run->exit.code == SIGSEGV
                 || run->exit.code == SIGBUS))
        snprintf (text, sizeof text,
                  "the compiler crashed or ran out of memory (%lld GiB) on this source "
                  "(signal %d)",
                  (long long)(KC_COMPILE_AS >> 30), run->exit.code);
    else {
        status = KC_VERDICT_STATUS_INFRA_ERROR;
        snprintf (text, sizeof text,
                  "the compile child (%s compile) ended with %s %d: %s", self->runner,
                  run->exit.signalled ? "signal" : "exit code", run->exit.code,
                  err.text);
    }
    kc_compiled_t *c = s_answer (status, self->front, self->compiler, text);
    c->seconds = (double)(kc_clock_ms () - run->begun) * 1e-3;
    return c;
}

static void s_unlink (kc_compiler_t *self, s_run_t *run)
{
    for (s_run_t **p = &self->runs; *p; p = &(*p)->next)
        if (*p == run) {
            *p = run->next;
            return;
        }
}

static void s_free (s_run_t *run)
{
    if (run->loop) {
        kc_loop_timer_del (run->loop, run->timer);
        if (run->out >= 0)
            kc_loop_fd_del (run->loop, run->out);
        if (run->in >= 0)
            kc_loop_fd_del (run->loop, run->in);
        if (run->child.pid)
            kc_loop_child_del (run->loop, &run->child);
    }
    if (run->child.pid)
        kc_child_destroy (&run->child);
    s_close (&run->in);
    s_close (&run->out);
    if (run->tmp)
        kc_fs_remove_tree (run->tmp, NULL);
    free (run->tmp);
    kc_buf_free (&run->send);
    kc_buf_free (&run->got);
    kc_compiled_destroy (&run->hit);
    kc_compile_job_clear (&run->job);
    free (run);
}

static bool s_keep (kc_verdict_status_t status)
{
    return status == KC_VERDICT_STATUS_OK || status == KC_VERDICT_STATUS_COMPILE_ERROR
           || status == KC_VERDICT_STATUS_UNSUPPORTED;
}

static kc_compiled_t *s_finish (kc_compiler_t *self, s_run_t *run)
{
    kc_compiled_t *c = s_result (self, run);
    if (self->cache && s_keep (c->status))
        kc_compile_cache_put (self->cache, run->key, c);
    return c;
}

static s_run_t *s_new (kc_compiler_t *self, const kc_compile_job_t *job)
{
    s_run_t *run = (s_run_t *)kc_calloc (1, sizeof *run);
    run->owner = self;
    run->in = run->out = -1;
    run->ticket = ++self->last_ticket;
    kc_compile_job_copy (&run->job, job);
    kc_compile_job_key (job, self->version, run->key);
    return run;
}

// ---- blocking ----

kc_compiled_t *kc_compiler_run (kc_compiler_t *self, const kc_compile_job_t *job)
{
    char *wrong = kc_compile_job_check (job);
    if (wrong) {
        kc_compiled_t *refused = s_answer (KC_VERDICT_STATUS_COMPILE_ERROR, self->front,
                                           self->compiler, wrong);
        free (wrong);
        return refused;
    }
    s_run_t *run = s_new (self, job);
    kc_compiled_t *c =
        self->cache ? kc_compile_cache_get (self->cache, run->key) : NULL;
    kc_err_t err;
    if (!c && s_start (self, run, &err) < 0)
        c = s_answer (KC_VERDICT_STATUS_INFRA_ERROR, self->front, self->compiler,
                      err.text);
    while (!c) {
        s_pump (run);
        int64_t left = run->deadline - kc_clock_ms ();
        if (left <= 0) {
            run->late = true;
            kc_child_kill (&run->child, SIGKILL);
            left = 5000;
        }
        if (run->eof || run->late) {
            if (kc_child_wait (&run->child, (int)left, &run->exit, &err) != 1) {
                run->exit = (kc_exit_t){.signalled = true, .code = SIGKILL};
                run->late = true;
            }
            c = s_finish (self, run);
            break;
        }
        struct pollfd fds[2] = {{.fd = run->out, .events = POLLIN},
                                {.fd = run->in, .events = POLLOUT}};
        poll (fds, 2, left > 1000 ? 1000 : (int)left);
    }
    s_free (run);
    return c;
}

// ---- on a loop ----

static void s_schedule (kc_compiler_t *self);

static void s_done (s_run_t *run)
{
    if (!run->ended || !run->eof)
        return;
    kc_compiler_t *self = run->owner;
    kc_compiled_t *c = s_finish (self, run);
    kc_compiler_f *call = run->call;
    void *arg = run->arg;
    s_unlink (self, run);
    self->running--;
    s_free (run);
    s_schedule (self);
    call (c, arg);
}

static void s_on_fd (kc_loop_t *loop, int fd, unsigned events, void *arg)
{
    (void)events;
    s_run_t *run = (s_run_t *)arg;
    int in = run->in, out = run->out;
    (void)fd;
    // A descriptor leaves the loop before it is closed: look first what the pump would
    // close.
    kc_loop_fd_del (loop, in >= 0 ? in : -1);
    kc_loop_fd_del (loop, out);
    s_pump (run);
    kc_err_t err;
    if (run->in >= 0
        && kc_loop_fd_add (loop, run->in, KC_LOOP_OUT, s_on_fd, run, &err) < 0)
        s_close (&run->in);
    if (run->out >= 0
        && kc_loop_fd_add (loop, run->out, KC_LOOP_IN, s_on_fd, run, &err) < 0) {
        s_close (&run->out);
        run->eof = true;
    }
    s_done (run);
}

static void s_on_child (kc_loop_t *loop, kc_child_t *child, const kc_exit_t *exit,
                        void *arg)
{
    (void)child;
    s_run_t *run = (s_run_t *)arg;
    run->ended = true;
    run->exit = exit ? *exit : (kc_exit_t){.signalled = true, .code = SIGKILL};
    // A clang that outlived its parent would hold the pipe open: what is there now is
    // all.
    kc_loop_fd_del (loop, run->in);
    kc_loop_fd_del (loop, run->out);
    s_pump (run);
    s_close (&run->in);
    s_close (&run->out);
    run->eof = true;
    s_done (run);
}

static void s_on_deadline (kc_loop_t *loop, int64_t timer, void *arg)
{
    (void)loop;
    (void)timer;
    s_run_t *run = (s_run_t *)arg;
    run->timer = 0;
    run->late = true;
    kc_child_kill (&run->child, SIGKILL);
}

// An answer that needs no child: cache hits, wrong jobs, children that cannot be
// started.
static void s_on_ready (kc_loop_t *loop, int64_t timer, void *arg)
{
    (void)loop;
    (void)timer;
    s_run_t *run = (s_run_t *)arg;
    run->timer = 0;
    kc_compiled_t *c = run->hit;
    run->hit = NULL;
    kc_compiler_f *call = run->call;
    void *call_arg = run->arg;
    s_unlink (run->owner, run);
    s_free (run);
    call (c, call_arg);
}

static void s_launch (kc_compiler_t *self, s_run_t *run)
{
    kc_err_t err;
    if (s_start (self, run, &err) < 0
        || kc_loop_child_add (run->loop, &run->child, s_on_child, run, &err) < 0
        || kc_loop_fd_add (run->loop, run->in, KC_LOOP_OUT, s_on_fd, run, &err) < 0
        || kc_loop_fd_add (run->loop, run->out, KC_LOOP_IN, s_on_fd, run, &err) < 0) {
        run->started = true;
        run->hit = s_answer (KC_VERDICT_STATUS_INFRA_ERROR, self->front, self->compiler,
                             err.text);
        run->timer = kc_loop_timer_add (run->loop, 0, 0, s_on_ready, run);
        return;
    }
    self->running++;
    run->timer = kc_loop_timer_add (run->loop, (int64_t)KC_COMPILE_WALL_S * 1000, 0,
                                    s_on_deadline, run);
}

static void s_schedule (kc_compiler_t *self)
{
    for (s_run_t *run = self->runs; run && self->running < self->max_children;
         run = run->next)
        if (!run->started && !run->hit)
            s_launch (self, run);
}

int64_t kc_compiler_start (kc_compiler_t *self, kc_loop_t *loop,
                           const kc_compile_job_t *job, kc_compiler_f *call, void *arg)
{
    s_run_t *run;
    char *wrong = kc_compile_job_check (job);
    if (wrong) {
        const kc_compile_job_t none = {.source = ""};
        run = s_new (self, &none);
        run->hit = s_answer (KC_VERDICT_STATUS_COMPILE_ERROR, self->front,
                             self->compiler, wrong);
        free (wrong);
    }
    else {
        run = s_new (self, job);
        run->hit = self->cache ? kc_compile_cache_get (self->cache, run->key) : NULL;
    }
    run->loop = loop;
    run->call = call;
    run->arg = arg;
    s_run_t **p = &self->runs;
    while (*p)
        p = &(*p)->next;
    *p = run;
    if (run->hit)
        run->timer = kc_loop_timer_add (loop, 0, 0, s_on_ready, run);
    int64_t ticket = run->ticket;
    s_schedule (self);
    return ticket;
}

void kc_compiler_cancel (kc_compiler_t *self, int64_t ticket)
{
    for (s_run_t *run = self->runs; run; run = run->next)
        if (run->ticket == ticket) {
            bool counted = run->started && !run->hit;
            s_unlink (self, run);
            s_free (run);
            if (counted) {
                self->running--;
                s_schedule (self);
            }
            return;
        }
}

// ---- choosing a compiler ----

static void s_set_version (kc_compiler_t *self)
{
    char prelude[KC_SHA_HEX], tools[KC_SHA_HEX];
    kc_prelude_hash (prelude);
    kc_sha_t sha;
    kc_sha_init (&sha);
    kc_sha_str (&sha, prelude);
    kc_tool_identity (&sha, self->tool);
    if (self->front == KC_FRONT_NVRTC) {
        char *real = realpath (self->tool, NULL);
        char *slash = real ? strrchr (real, '/') : NULL;
        if (slash) {
            *slash = 0;
            char *builtins = kc_fs_join (real, "libnvrtc-builtins.so");
            kc_tool_identity (&sha, builtins);
            free (builtins);
        }
        free (real);
    }
    kc_sha_hex (&sha, tools);
    free (self->version);
    self->version =
        kc_asprintf ("%s format %d %.16s", self->compiler, KC_COMPILE_FORMAT, tools);
}

// Compile one kernel; the compiler's name and version come with it.
static int s_probe (kc_compiler_t *self, kc_err_t *err)
{
    static const char source[] =
        "extern \"C\" __global__ void probe (float *x) { x[threadIdx.x] *= 2.0f; }\n";
    const char *const names[] = {"probe"};
    const kc_compile_job_t job = {.source = source,
                                  .kernels = names,
                                  .n_kernels = 1,
                                  .sm = S_PROBE_SM,
                                  .want_ptx = true};
    kc_compile_cache_t *cache = self->cache;
    self->cache = NULL; // the compiler itself is asked
    kc_compiled_t *c = kc_compiler_run (self, &job);
    self->cache = cache;
    int rc = 0;
    if (c->status != KC_VERDICT_STATUS_OK)
        rc = kc_fail (err, KC_EUNSUPPORTED, "%s does not work: %s", self->tool,
                      c->findings[0].text);
    else if (self->front == KC_FRONT_NVRTC)
        kc_set (&self->compiler, c->compiler);
    kc_compiled_destroy (&c);
    return rc;
}

static int s_use (kc_compiler_t *self, kc_front_t front,
                  const kc_compiler_config_t *config, kc_err_t *err)
{
    self->front = front;
    free (self->tool);
    self->tool = front == KC_FRONT_NVRTC
                     ? kc_culib_find (&kc_culib_nvrtc, config->cuda_path, err)
                     : kc_tool_clang (config->clang, err);
    if (!self->tool)
        return -1;
    free (self->compiler);
    self->compiler = front == KC_FRONT_CLANG ? kc_tool_clang_version (self->tool)
                                             : kc_strdup ("NVRTC");
    s_set_version (self);
    if (s_probe (self, err) < 0)
        return -1;
    s_set_version (self);
    return 0;
}

kc_compiler_t *kc_compiler_new (const kc_compiler_config_t *config, kc_err_t *err)
{
    kc_compiler_t *self = (kc_compiler_t *)kc_calloc (1, sizeof *self);
    self->max_children = config->max_children > 0 ? config->max_children : S_CHILDREN;
    if (self->max_children > S_CHILDREN_MAX)
        self->max_children = S_CHILDREN_MAX;
    if (config->runner)
        self->runner = kc_strdup (config->runner);
    else {
        char *dir = kc_fs_program_dir ();
        self->runner = kc_fs_join (dir, "kc-runner");
        free (dir);
    }
    self->note = kc_strdup ("");
    self->tmp_root =
        config->cache_dir ? kc_fs_join (config->cache_dir, "tmp") : kc_strdup ("/tmp");
    int rc = access (self->runner, X_OK) == 0
                 ? 0
                 : kc_fail (err, KC_EUNSUPPORTED,
                            "%s: the program that compiles is missing", self->runner);
    if (rc == 0 && config->cache_dir) {
        char *dir = kc_fs_join (config->cache_dir, "cubin");
        self->cache = kc_compile_cache_new (dir, config->cache_bytes, err);
        free (dir);
        rc = self->cache ? kc_fs_mkdir (self->tmp_root, 0700, err) : -1;
        if (rc == 0)
            kc_tool_sweep (self->tmp_root);
    }
    if (rc == 0 && config->front != KC_FRONT_AUTO)
        rc = s_use (self, config->front, config, err);
    else if (rc == 0) {
        kc_err_t first;
        rc = s_use (self, KC_FRONT_NVRTC, config, &first);
        if (rc < 0) {
            kc_set (&self->note, first.text);
            rc = s_use (self, KC_FRONT_CLANG, config, err);
            if (rc < 0)
                kc_fail_in (err, "no compiler works. %s. And", first.text);
        }
    }
    if (rc < 0)
        kc_compiler_destroy (&self);
    return self;
}

void kc_compiler_destroy (kc_compiler_t **self_p)
{
    kc_compiler_t *self = *self_p;
    if (!self)
        return;
    while (self->runs) {
        s_run_t *run = self->runs;
        self->runs = run->next;
        s_free (run);
    }
    kc_compile_cache_destroy (&self->cache);
    free (self->runner);
    free (self->tool);
    free (self->version);
    free (self->note);
    free (self->compiler);
    free (self->tmp_root);
    free (self);
    *self_p = NULL;
}

kc_front_t kc_compiler_front (const kc_compiler_t *self)
{
    return self->front;
}

const char *kc_compiler_version (const kc_compiler_t *self)
{
    return self->version;
}

const char *kc_compiler_note (const kc_compiler_t *self)
{
    return self->note;
}
