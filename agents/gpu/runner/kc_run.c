// kc_run.c - see kc_run.h

#include "agents/gpu/runner/kc_run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agents/gpu/runner/kc_frame.h"
#include "common/util/kc_buf.h"
#include "common/util/kc_clock.h"
#include "common/util/kc_fs.h"
#include "common/util/kc_mem.h"
#include "common/util/kc_spawn.h"

enum {
    RUN_PIPE = 1 << 20,
    RUN_READ = 256 << 10,  // bytes read in one turn
    RUN_OUTPUT_MAX = 8192, // of stderr kept
    RUN_LINGER_MS = 2000,  // from 'done' to the end of the process
    JOB_FD = 3,
    RESULT_FD = 4,
    LOCK_FD = 5,
};

typedef struct piece { // of what is to be written
    const void *data;
    size_t size;
    void *own; // freed with the run, NULL = borrowed
} piece_t;

struct kc_run {
    kc_loop_t *loop;
    kc_run_spec_t spec;
    kc_child_t child;
    int in, out, err; // our ends, -1 = closed
    piece_t *pieces;
    size_t n_pieces, piece, at;
    kc_frame_reader_t reader;
    kc_buf_t output;
    char *buffer; // RUN_READ bytes
    int64_t timer;
    int64_t started;
    kc_run_outcome_t outcome; // 0 = not decided
    char text[512];
    bool done; // the record came
};

// ---- ending ----

static void s_close (kc_run_t *self, int *fd)
{
    if (*fd < 0)
        return;
    kc_loop_fd_del (self->loop, *fd);
    close (*fd);
    *fd = -1;
}

static void s_free (kc_run_t *self)
{
    s_close (self, &self->in);
    s_close (self, &self->out);
    s_close (self, &self->err);
    kc_loop_timer_del (self->loop, self->timer);
    for (size_t i = 0; i < self->n_pieces; i++)
        free (self->pieces[i].own);
    free (self->pieces);
    kc_frame_reader_free (&self->reader);
    free (self->buffer);
    kc_buf_free (&self->output);
    free (self);
}

// Note how it ended (the first reason counts) and kill; on_end follows when the child
// is reaped.
static void s_end (kc_run_t *self, kc_run_outcome_t outcome, const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));
static void s_end (kc_run_t *self, kc_run_outcome_t outcome, const char *format, ...)
{
    if (self->outcome)
        return;
    self->outcome = outcome;
    kc_buf_t text = {.limit = sizeof self->text - 1};
    va_list args;
    va_start (args, format);
    kc_buf_vprintf (&text, format, args);
    va_end (args);
    memcpy (self->text, kc_buf_str (&text), text.size + 1);
    kc_buf_free (&text);
    kc_child_kill (&self->child, SIGKILL);
}

static void s_on_timer (kc_loop_t *loop, int64_t timer, void *arg)
{
    (void)loop;
    (void)timer;
    kc_run_t *self = arg;
    self->timer = 0;
    if (self->done) // everything is here; it only failed to leave
        kc_child_kill (&self->child, SIGKILL);
    else
        s_end (self, KC_RUN_TIMEOUT,
               "the runner was killed after %.1f s, its wall limit",
               (double)self->spec.wall_ms / 1000);
}

static void s_drain (kc_run_t *self);

static void s_on_child (kc_loop_t *loop, kc_child_t *child, const kc_exit_t *exit,
                        void *arg)
{
    (void)loop;
    (void)child;
    kc_run_t *self = arg;
    s_drain (self); // what it wrote before it ended
    if (!self->outcome && self->done)
        self->outcome = KC_RUN_DONE;
    if (!self->outcome)
        s_end (self, KC_RUN_CRASHED,
               exit && exit->signalled
                   ? "the runner died of signal %d"
                   : "the runner exited with status %d before it was done",
               exit ? exit->code : -1);
    const kc_run_end_t end = {.outcome = self->outcome,
                              .text = self->text,
                              .output = kc_buf_str (&self->output),
                              .ms = kc_clock_ms () - self->started};
    self->spec.on_end (self->spec.arg, &end);
    s_free (self);
}

// ---- reading ----

static int s_on_json (void *arg, const char *json, size_t size, kc_err_t *err)
{
    kc_run_t *self = arg;
    kc_errs_t errs = {0};
    kc_runner_record_t *record = kc_runner_record_decode (json, size, KC_WIRE, &errs);
    if (!record)
        return kc_errs_fail (&errs, err);
    int rc = 0;
    if (self->done)
        rc = kc_fail (err, KC_EPROTO, "a record after the last one");
    else if (record->kind == KC_RUNNER_RECORD_KIND_DONE) {
        self->done = true;
        kc_loop_timer_del (self->loop, self->timer);
        self->timer =
            kc_loop_timer_add (self->loop, RUN_LINGER_MS, 0, s_on_timer, self);
    }
    else if (self->spec.on_record)
        rc = self->spec.on_record (self->spec.arg, record, err);
    kc_runner_record_free (&record);
    return rc;
}

static int s_on_frame_data (void *arg, const void *data, size_t size, kc_err_t *err)
{
    kc_run_t *self = arg;
    return self->spec.on_data ? self->spec.on_data (self->spec.arg, data, size, err)
                              : 0;
}

// Read once; false when there is nothing more.
static bool s_read (kc_run_t *self)
{
    const ssize_t n = read (self->out, self->buffer, RUN_READ);
    bool more = n > 0;
    kc_err_t err = {0};
    if (n > 0 && !self->outcome
        && kc_frame_feed (&self->reader, self->buffer, (size_t)n, &err) < 0) {
        s_end (self, KC_RUN_PROTOCOL, "%s", err.text);
        more = false;
    }
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        s_close (self, &self->out);
    return more;
}

static void s_on_out (kc_loop_t *loop, int fd, unsigned events, void *arg)
{
    (void)loop;
    (void)fd;
    (void)events;
    s_read (arg);
}

// The tail of stderr is for people: it is kept, never believed.
static bool s_read_err (kc_run_t *self)
{
    char buffer[4096];
    const ssize_t n = read (self->err, buffer, sizeof buffer);
    if (n > 0) {
        kc_buf_put (&self->output, buffer, (size_t)n);
        if (self->output.size > RUN_OUTPUT_MAX)
            kc_buf_consume (&self->output, self->output.size - RUN_OUTPUT_MAX);
    }
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        s_close (self, &self->err);
    return n > 0;
}

static void s_on_err (kc_loop_t *loop, int fd, unsigned events, void *arg)
{
    (void)loop;
    (void)fd;
    (void)events;
    s_read_err (arg);
}

static void s_drain (kc_run_t *self)
{
    while (self->out >= 0 && !self->outcome && s_read (self))
        ;
    for (int i = 0; i < 16 && self->err >= 0 && s_read_err (self); i++)
        ;
}

// ---- writing ----

static void s_on_in (kc_loop_t *loop, int fd, unsigned events, void *arg)
{
    (void)loop;
    (void)events;
    kc_run_t *self = arg;
    while (self->piece < self->n_pieces) {
        const piece_t *p = &self->pieces[self->piece];
        if (self->at == p->size) {
            self->piece++;
            self->at = 0;
            continue;
        }
        const ssize_t n =
            kc_fd_write_some (fd, (const char *)p->data + self->at, p->size - self->at);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n < 0) // it does not read: its records or its end will say why
            break;
        self->at += (size_t)n;
    }
    s_close (self, &self->in);
}

static void s_piece (kc_run_t *self, const void *data, size_t size, void *own)
{
    piece_t *p = kc_push (&self->pieces, &self->n_pieces, sizeof *p);
    *p = (piece_t){data, size, own};
}

static void s_frame (kc_run_t *self, kc_frame_type_t type, const void *data,
                     size_t size, void *own)
{
    unsigned char *header = kc_malloc (KC_FRAME_HEADER);
    kc_frame_put (header, type, size);
    s_piece (self, header, KC_FRAME_HEADER, header);
    s_piece (self, data, size, own);
}

// ---- starting ----

// What a runner may see of our environment: where libraries are, and what sanitizers
// and CUDA need.
static char **s_environment (void)
{
    static const char *const names[] = {"CUDA_HOME",
                                        "CUDA_VISIBLE_DEVICES",
                                        "CUDA_MPS_PIPE_DIRECTORY",
                                        "LD_LIBRARY_PATH",
                                        "PATH",
                                        "HOME",
                                        "TMPDIR",
                                        "ASAN_OPTIONS",
                                        "UBSAN_OPTIONS",
                                        "LSAN_OPTIONS",
                                        "TSAN_OPTIONS"};
    char **envp = kc_calloc (KC_COUNT (names) + 4, sizeof *envp);
    size_t n = 0;
    envp[n++] =
        kc_strdup ("CUDA_CACHE_DISABLE=1"); // our cache holds machine code already
    envp[n++] = kc_strdup ("CUDA_MODULE_LOADING=EAGER");
    for (size_t i = 0; i < KC_COUNT (names); i++)
        if (getenv (names[i]))
            envp[n++] = kc_asprintf ("%s=%s", names[i], getenv (names[i]));
    return envp;
}

static int s_spawn (kc_run_t *self, const kc_run_spec_t *spec, int in, int out,
                    int error, kc_err_t *err)
{
    char *path = NULL;
    if (!spec->runner) {
        char *dir = kc_fs_program_dir ();
        path = kc_fs_join (dir, "kc-runner");
        free (dir);
    }
    char **envp = s_environment ();
    const char *const argv[] = {"kc-runner", spec->mode, NULL};
    const kc_spawn_fd_t fds[] = {
        {in, JOB_FD}, {out, RESULT_FD}, {error, 2}, {spec->lock_fd, LOCK_FD}};
    const kc_spawn_t s = {.path = spec->runner ? spec->runner : path,
                          .argv = argv,
                          .envp = (const char *const *)envp,
                          .fds = fds,
                          .n_fds = spec->lock_fd >= 0 ? 4 : 3};
    const int rc = kc_spawn (&s, &self->child, err);
    for (size_t i = 0; envp[i]; i++)
        free (envp[i]);
    free (envp);
    free (path);
    return rc;
}

static int s_watch (kc_run_t *self, int *end, int fd, unsigned events,
                    kc_loop_fd_f *call, kc_err_t *err)
{
    *end = fd;
    const int flags = fcntl (fd, F_GETFL);
    if (flags < 0 || fcntl (fd, F_SETFL, flags | O_NONBLOCK) < 0)
        return kc_fail_errno (err, errno, "runner: pipe");
    return kc_loop_fd_add (self->loop, fd, events, call, self, err);
}

kc_run_t *kc_run_start (kc_loop_t *loop, const kc_run_spec_t *spec, kc_err_t *err)
{
    size_t size;
    kc_errs_t errs = {0};
    char *json = kc_type_encode (&kc_runner_job_type, spec->job, &size, &errs);
    if (!json) {
        kc_errs_fail (&errs, err);
        return NULL;
    }
    if (size > KC_FRAME_JSON_MAX) {
        kc_fail (err, KC_EINVALID, "the job has %zu bytes, at most %d are allowed",
                 size, KC_FRAME_JSON_MAX);
        free (json);
        return NULL;
    }
    kc_run_t *self = kc_calloc (1, sizeof *self);
    *self = (kc_run_t){.loop = loop,
                       .spec = *spec,
                       .in = -1,
                       .out = -1,
                       .err = -1,
                       .started = kc_clock_ms ()};
    self->child.pidfd = -1;
    self->buffer = kc_malloc (RUN_READ);
    self->reader = (kc_frame_reader_t){
        .arg = self, .on_json = s_on_json, .on_data = s_on_frame_data};
    s_frame (self, KC_FRAME_JSON, json, size, json);
    for (size_t i = 0; i < spec->job->n_binaries; i++)
        s_frame (self, KC_FRAME_DATA, spec->binaries[i],
                 (size_t)spec->job->binaries[i].size, NULL);
    self->spec.job = NULL; // not ours beyond this call
    self->spec.runner = self->spec.mode = NULL;
    int in[2] = {-1, -1}, out[2] = {-1, -1}, error[2] = {-1, -1};
    int rc = kc_pipe (in, err);
    if (rc == 0)
        rc = kc_pipe (out, err);
    if (rc == 0) { // large outputs come through it; the default size will do as well
        (void)fcntl (out[0], F_SETPIPE_SZ, RUN_PIPE);
        rc = kc_pipe (error, err);
    }
    if (rc == 0)
        rc = s_spawn (self, spec, in[0], out[1], error[1], err);
    const int theirs[] = {in[0], out[1], error[1]}, ours[] = {in[1], out[0], error[0]};
    for (size_t i = 0; i < KC_COUNT (theirs); i++)
        if (theirs[i] >= 0)
            close (theirs[i]);
    if (rc < 0) {
        for (size_t i = 0; i < KC_COUNT (ours); i++)
            if (ours[i] >= 0)
                close (ours[i]);
        s_free (self);
        return NULL;
    }
    self->in = in[1];
    self->out = out[0];
    self->err = error[0];
    if (s_watch (self, &self->in, in[1], KC_LOOP_OUT, s_on_in, err) < 0
        || s_watch (self, &self->out, out[0], KC_LOOP_IN, s_on_out, err) < 0
        || s_watch (self, &self->err, error[0], KC_LOOP_IN, s_on_err, err) < 0
        || kc_loop_child_add (loop, &self->child, s_on_child, self, err) < 0) {
        kc_child_destroy (&self->child);
        s_free (self);
        return NULL;
    }
    if (spec->wall_ms > 0)
        self->timer = kc_loop_timer_add (loop, spec->wall_ms, 0, s_on_timer, self);
    return self;
}

void kc_run_cancel (kc_run_t **self_p)
{
    kc_run_t *self = *self_p;
    *self_p = NULL;
    if (!self)
        return;
    kc_loop_child_del (self->loop, &self->child);
    kc_child_destroy (&self->child);
    s_free (self);
}
