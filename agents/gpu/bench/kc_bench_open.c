// kc_bench_open.c - see kc_bench_open.h

#include "agents/gpu/bench/kc_bench_open.h"

#include <stdlib.h>
#include <string.h>

#include "common/util/kc_buf.h"
#include "common/util/kc_fs.h"
#include "common/util/kc_log.h"
#include "common/util/kc_mem.h"

enum { FACT_TEXT = 96 }; // bytes of a fact's text on the bus

typedef struct probe {
    bool done;
    kc_runner_device_t *device;
    kc_err_t err;
} probe_t;

static void s_on_probe (void *arg, kc_runner_device_t *device, const kc_err_t *err)
{
    probe_t *p = arg;
    p->done = true;
    p->device = device;
    p->err = *err;
}

static int s_probe (kc_bench_t *self, kc_loop_t *loop, const kc_opts_t *o, kc_runner_job_backend_t backend, kc_err_t *err)
{
    probe_t p = {0};
    if (kc_bench_probe (loop, kc_opts_string (o, "runner"), backend, kc_opts_string (o, "gpu"), kc_opts_string (o, "cuda"), s_on_probe, &p, err) < 0)
        return -1;
    while (!p.done) { // the loop does not run yet
        if (kc_loop_turn (loop, -1, err) < 0)
            return -1;
        // A stopped loop calls nobody any more: the probe's end would never come.
        if (!p.done && kc_loop_stopped (loop))
            return kc_fail (err, KC_EINTERRUPTED, "stopped while the device was probed");
    }
    if (!p.device) {
        *err = p.err;
        return -1;
    }
    self->own_device = p.device;
    return 0;
}

static int s_open_device (kc_bench_t *self, kc_loop_t *loop, const kc_opts_t *o, kc_err_t *err)
{
    const char *backend = kc_opts_string (o, "backend");
    if (strcmp (backend, "cuda") == 0)
        return s_probe (self, loop, o, KC_RUNNER_JOB_BACKEND_CUDA, err);
    if (strcmp (backend, "vgpu") == 0)
        return s_probe (self, loop, o, KC_RUNNER_JOB_BACKEND_VGPU, err);
    if (strcmp (backend, "auto") != 0)
        return kc_fail (err, KC_EUSAGE, "--backend %s: must be cuda, vgpu or auto", backend);
    if (s_probe (self, loop, o, KC_RUNNER_JOB_BACKEND_CUDA, err) == 0)
        return 0;
    kc_log (KC_INFO, "backend.auto", "taken", "s", "vgpu", "because", "s", err->text, NULL);
    return s_probe (self, loop, o, KC_RUNNER_JOB_BACKEND_VGPU, err);
}

static int s_open_compiler (kc_bench_t *self, kc_daemon_t *daemon, const kc_opts_t *o, kc_err_t *err)
{
    const int front = kc_front_parse (kc_opts_string (o, "front"));
    if (front < 0)
        return kc_fail (err, KC_EUSAGE, "--front %s: must be nvrtc, clang or auto", kc_opts_string (o, "front"));
    const kc_compiler_config_t config = {.runner = kc_opts_string (o, "runner"),
                                         .cache_dir = kc_daemon_dir (daemon, KC_DIR_CACHE),
                                         .cuda_path = kc_opts_string (o, "cuda"),
                                         .front = (kc_front_t)front};
    self->compiler = kc_compiler_new (&config, err);
    if (!self->compiler)
        return -1;
    if (self->own_device->backend == KC_RUNNER_DEVICE_BACKEND_CUDA && kc_compiler_front (self->compiler) != KC_FRONT_NVRTC)
        return kc_fail (err, KC_EUNSUPPORTED, "a real GPU needs NVRTC: %s", kc_compiler_note (self->compiler));
    return 0;
}

static void s_text_fact (kc_buf_t *b, const char *key, const char *text)
{
    if (!text || !text[0])
        return;
    kc_buf_printf (b, "%s{\"key\":\"%s\",\"text\":\"", b->size > 1 ? "," : "", key);
    kc_buf_json (b, text, strnlen (text, FACT_TEXT));
    kc_buf_puts (b, "\"}");
}

static void s_number_fact (kc_buf_t *b, const char *key, long long number)
{
    kc_buf_printf (b, "%s{\"key\":\"%s\",\"number\":%lld}", b->size > 1 ? "," : "", key, number);
}

static void s_tell_caps (const kc_bench_t *self, kc_daemon_t *daemon)
{
    const kc_runner_device_t *v = self->own_device;
    kc_buf_t b = {0};
    kc_buf_putc (&b, '[');
    s_text_fact (&b, "backend", v->backend == KC_RUNNER_DEVICE_BACKEND_CUDA ? "cuda" : "vgpu");
    s_text_fact (&b, "gpu", v->gpu);
    s_text_fact (&b, "uuid", v->uuid);
    s_text_fact (&b, "driver", v->driver);
    s_text_fact (&b, "front", kc_front_name (kc_compiler_front (self->compiler)));
    s_text_fact (&b, "counters", v->counters ? "permitted" : "not_permitted");
    s_number_fact (&b, "sm", v->facts->sm);
    s_number_fact (&b, "sms", v->facts->sms);
    s_number_fact (&b, "memory", v->memory_bytes);
    kc_buf_putc (&b, ']');
    kc_daemon_set_caps (daemon, kc_buf_str (&b));
    kc_buf_free (&b);
}

// One lock per real GPU and host, so that profiling never disturbs timing.
static int s_make_lock (kc_bench_t *self, const kc_opts_t *o, kc_err_t *err)
{
    if (self->own_device->backend != KC_RUNNER_DEVICE_BACKEND_CUDA)
        return 0;
    const char *dir = kc_opts_string (o, "lock-dir");
    dir = dir ? dir : "/tmp/kernelclaw-locks";
    if (kc_fs_mkdir (dir, 0777, err) < 0)
        return -1;
    const char *uuid = self->own_device->uuid;
    char *name = kc_asprintf ("gpu-%s.lock", uuid && uuid[0] ? uuid : "0");
    self->own_lock_path = kc_fs_join (dir, name);
    free (name);
    self->lock_path = self->own_lock_path;
    return 0;
}

int kc_bench_open (kc_bench_t *self, kc_daemon_t *daemon, kc_err_t *err)
{
    const kc_opts_t *o = kc_daemon_opts (daemon);
    kc_loop_t *loop = kc_daemon_loop (daemon);
    kc_bench_init (self, loop, NULL);
    if (s_open_device (self, loop, o, err) < 0 || s_open_compiler (self, daemon, o, err) < 0)
        return -1;
    self->runner = kc_opts_string (o, "runner");
    self->gpu = kc_opts_string (o, "gpu");
    self->cuda_path = kc_opts_string (o, "cuda");
    kc_bench_device (self, self->own_device);
    if (s_make_lock (self, o, err) < 0)
        return -1;
    s_tell_caps (self, daemon);
    kc_log (KC_INFO, "device", "gpu", "s", self->device->gpu, "compiler", "s", kc_compiler_version (self->compiler), "note", "s",
            kc_compiler_note (self->compiler), NULL);
    return 0;
}

void kc_bench_close (kc_bench_t *self)
{
    kc_compiler_destroy (&self->compiler);
    kc_type_free (&kc_runner_device_type, self->own_device);
    self->own_device = NULL;
    self->device = NULL;
    free (self->own_lock_path);
    self->own_lock_path = NULL;
    kc_bench_free (self);
}
