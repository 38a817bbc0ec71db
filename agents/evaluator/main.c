// kc-evaluator - judges programs: compiles, runs, compares and times them in processes of their own

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agents/evaluator/kc_evaluate.h"
#include "agents/evaluator/kc_inspect.h"
#include "common/net/kc_daemon.h"
#include "common/util/kc_buf.h"
#include "common/util/kc_log.h"
#include "common/util/kc_mem.h"

static const char *const s_ops[] = {"evaluator.inspect", "evaluator.evaluate", NULL};

static const kc_opt_t s_options[] = {
    KC_OPT_DAEMON,
    {"backend", 0, KC_OPT_STRING, "KC_BACKEND", "auto", 0, 0, "NAME", "cuda, vgpu (the virtual GPU), or auto: cuda where a GPU is found"},
    {"gpu", 0, KC_OPT_STRING, "KC_GPU", 0, 0, 0, "NAME", "UUID or index of a real GPU; name of the GPU that the virtual one models"},
    {"cuda", 0, KC_OPT_STRING, "KC_CUDA", 0, 0, 0, "DIR", "where CUDA libraries are looked for first"},
    {"front", 0, KC_OPT_STRING, 0, "auto", 0, 0, "NAME", "compiler: nvrtc, clang, or auto"},
    {"runner", 0, KC_OPT_STRING, 0, 0, 0, 0, "PATH", "program that runs candidates (default: kc-runner beside this one)"},
    {"lock-dir", 0, KC_OPT_STRING, "KC_LOCK_DIR", 0, 0, 0, "DIR", "directory of the GPUs' locks, the same for all processes of a host (default /tmp/kernelclaw-locks)"},
    {0}};

typedef struct work { // one request
    char *id;
    struct daemon *daemon;
    kc_evaluate_t *evaluate;
    kc_inspect_t *inspect;
} work_t;

typedef struct daemon {
    kc_bench_t bench;
    kc_compiler_t *compiler;
    kc_runner_device_t *device;
    char *lock_path;
    kc_map_t *works; // by request id
    // of the probe at start
    bool probed;
    kc_err_t probe_err;
} daemon_t;

static void s_work_free (void *value)
{
    work_t *w = value;
    kc_evaluate_destroy (&w->evaluate);
    kc_inspect_destroy (&w->inspect);
    free (w->id);
    free (w);
}

// ---- requests ----

// Answer with 'object' and forget the request.
static void s_answer (work_t *w, const kc_type_t *type, const void *object)
{
    daemon_t *d = w->daemon;
    kc_err_t err = {0};
    kc_errs_t errs = {0};
    size_t size = 0;
    char *payload = kc_type_encode (type, object, &size, &errs);
    if (!payload)
        kc_errs_fail (&errs, &err);
    if (!payload || kc_node_reply (d->bench.node, w->id, payload, size, NULL, 0, &err) < 0)
        kc_node_error (d->bench.node, w->id, &err, 0);
    free (payload);
    char *id = kc_strdup (w->id);
    kc_map_remove (d->works, id);
    free (id);
}

static void s_on_verdict (void *arg, kc_verdict_t *verdict)
{
    work_t *w = arg;
    kc_log (KC_INFO, "evaluated", "id", "s", w->id, "status", "s", kc_verdict_status_name (verdict->status), "why", "s",
            verdict->n_findings > 0 ? verdict->findings[0].text : "", "seconds", "f", verdict->seconds ? verdict->seconds->total : 0.0, NULL);
    kc_evaluator_evaluate_reply_t *reply = kc_evaluator_evaluate_reply_new ();
    reply->verdict = verdict;
    s_answer (w, &kc_evaluator_evaluate_reply_type, reply);
    kc_evaluator_evaluate_reply_free (&reply);
}

static void s_on_inspected (void *arg, kc_evaluator_inspect_reply_t *reply, const kc_err_t *err)
{
    work_t *w = arg;
    if (!reply) {
        kc_log (KC_WARN, "inspect.failed", "id", "s", w->id, "error", "s", err->text, NULL);
        daemon_t *d = w->daemon;
        kc_node_error (d->bench.node, w->id, err, 0);
        char *id = kc_strdup (w->id);
        kc_map_remove (d->works, id);
        free (id);
        return;
    }
    kc_log (KC_INFO, "inspected", "id", "s", w->id, "accepted", "b", reply->card ? 1 : 0, "why", "s", reply->n_refused > 0 ? reply->refused[0] : "", NULL);
    s_answer (w, &kc_evaluator_inspect_reply_type, reply);
    kc_evaluator_inspect_reply_free (&reply);
}

static int s_begin (daemon_t *d, const kc_request_t *request, kc_err_t *err)
{
    kc_errs_t errs = {0};
    const bool inspect = strcmp (request->op, "evaluator.inspect") == 0;
    void *in = kc_type_decode (inspect ? &kc_evaluator_inspect_type : &kc_evaluator_evaluate_type, request->payload, request->payload_size, KC_WIRE, &errs);
    if (!in)
        return kc_errs_fail (&errs, err);
    work_t *w = kc_calloc (1, sizeof *w);
    w->id = kc_strdup (request->id);
    w->daemon = d;
    kc_map_put (d->works, w->id, w);
    if (inspect)
        w->inspect = kc_inspect_start (&d->bench, in, NULL, 0, s_on_inspected, w);
    else
        w->evaluate = kc_evaluate_start (&d->bench, in, kc_loop_now (d->bench.loop) - request->arrived, s_on_verdict, w, err);
    if (w->inspect || w->evaluate)
        return 0;
    char *id = kc_strdup (w->id);
    kc_map_remove (d->works, id);
    free (id);
    return -1;
}

static void s_on_request (void *arg, kc_node_t *node, const kc_request_t *request)
{
    daemon_t *d = arg;
    kc_err_t err = {0};
    d->bench.node = node;
    if (s_begin (d, request, &err) < 0)
        kc_node_error (node, request->id, &err, 0);
}

// The process group of whatever runs is killed inside kc_map_remove.
static void s_on_cancel (void *arg, kc_node_t *node, const char *id)
{
    daemon_t *d = arg;
    kc_err_t err;
    kc_fail (&err, KC_ECANCELLED, "the evaluation was stopped");
    kc_map_remove (d->works, id);
    kc_node_error (node, id, &err, 0);
}

// ---- start ----

static void s_on_probe (void *arg, kc_runner_device_t *device, const kc_err_t *err)
{
    daemon_t *d = arg;
    d->probed = true;
    d->device = device;
    d->probe_err = *err;
}

static int s_probe (daemon_t *d, kc_loop_t *loop, const kc_opts_t *o, kc_runner_job_backend_t backend, kc_err_t *err)
{
    d->probed = false;
    if (kc_bench_probe (loop, kc_opts_string (o, "runner"), backend, kc_opts_string (o, "gpu"), kc_opts_string (o, "cuda"), s_on_probe, d, err) < 0)
        return -1;
    while (!d->probed) // the loop does not run yet
        if (kc_loop_turn (loop, -1, err) < 0)
            return -1;
    if (d->device)
        return 0;
    *err = d->probe_err;
    return -1;
}

static int s_open_device (daemon_t *d, kc_loop_t *loop, const kc_opts_t *o, kc_err_t *err)
{
    const char *backend = kc_opts_string (o, "backend");
    if (strcmp (backend, "cuda") == 0)
        return s_probe (d, loop, o, KC_RUNNER_JOB_BACKEND_CUDA, err);
    if (strcmp (backend, "vgpu") == 0)
        return s_probe (d, loop, o, KC_RUNNER_JOB_BACKEND_VGPU, err);
    if (strcmp (backend, "auto") != 0)
        return kc_fail (err, KC_EUSAGE, "--backend %s: must be cuda, vgpu or auto", backend);
    if (s_probe (d, loop, o, KC_RUNNER_JOB_BACKEND_CUDA, err) == 0)
        return 0;
    kc_log (KC_INFO, "backend.auto", "taken", "s", "vgpu", "because", "s", err->text, NULL);
    return s_probe (d, loop, o, KC_RUNNER_JOB_BACKEND_VGPU, err);
}

static int s_open_compiler (daemon_t *d, kc_daemon_t *daemon, const kc_opts_t *o, kc_err_t *err)
{
    const int front = kc_front_parse (kc_opts_string (o, "front"));
    if (front < 0)
        return kc_fail (err, KC_EUSAGE, "--front %s: must be nvrtc, clang or auto", kc_opts_string (o, "front"));
    const kc_compiler_config_t config = {.runner = kc_opts_string (o, "runner"),
                                         .cache_dir = kc_daemon_dir (daemon, KC_DIR_CACHE),
                                         .cuda_path = kc_opts_string (o, "cuda"),
                                         .front = (kc_front_t)front};
    d->compiler = kc_compiler_new (&config, err);
    if (!d->compiler)
        return -1;
    if (d->device->backend == KC_RUNNER_DEVICE_BACKEND_CUDA && kc_compiler_front (d->compiler) != KC_FRONT_NVRTC)
        return kc_fail (err, KC_EUNSUPPORTED, "a real GPU needs NVRTC: %s", kc_compiler_note (d->compiler));
    return 0;
}

static void s_text_fact (kc_buf_t *b, const char *key, const char *text)
{
    if (!text || !text[0])
        return;
    kc_buf_printf (b, "%s{\"key\":\"%s\",\"text\":\"", b->size > 1 ? "," : "", key);
    kc_buf_json (b, text, strnlen (text, 96));
    kc_buf_puts (b, "\"}");
}

static void s_number_fact (kc_buf_t *b, const char *key, long long number)
{
    kc_buf_printf (b, "%s{\"key\":\"%s\",\"number\":%lld}", b->size > 1 ? "," : "", key, number);
}

static void s_tell_caps (daemon_t *d, kc_daemon_t *daemon)
{
    const kc_runner_device_t *v = d->device;
    kc_buf_t b = {0};
    kc_buf_putc (&b, '[');
    s_text_fact (&b, "backend", v->backend == KC_RUNNER_DEVICE_BACKEND_CUDA ? "cuda" : "vgpu");
    s_text_fact (&b, "gpu", v->gpu);
    s_text_fact (&b, "uuid", v->uuid);
    s_text_fact (&b, "driver", v->driver);
    s_text_fact (&b, "front", kc_front_name (kc_compiler_front (d->compiler)));
    s_text_fact (&b, "counters", v->counters ? "permitted" : "not_permitted");
    s_number_fact (&b, "sm", v->facts->sm);
    s_number_fact (&b, "sms", v->facts->sms);
    s_number_fact (&b, "memory", v->memory_bytes);
    kc_buf_putc (&b, ']');
    kc_daemon_set_caps (daemon, kc_buf_str (&b));
    kc_buf_free (&b);
}

// One lock per real GPU and host, so that profiling never disturbs timing.
static int s_make_lock (daemon_t *d, const kc_opts_t *o, kc_err_t *err)
{
    if (d->device->backend != KC_RUNNER_DEVICE_BACKEND_CUDA)
        return 0;
    const char *dir = kc_opts_string (o, "lock-dir");
    dir = dir ? dir : "/tmp/kernelclaw-locks";
    if (kc_fs_mkdir (dir, 0777, err) < 0)
        return -1;
    char *name = kc_asprintf ("gpu-%s.lock", d->device->uuid && d->device->uuid[0] ? d->device->uuid : "0");
    d->lock_path = kc_fs_join (dir, name);
    free (name);
    d->bench.lock_path = d->lock_path;
    return 0;
}

static int s_start (kc_daemon_t *daemon, void *arg, kc_err_t *err)
{
    daemon_t *d = arg;
    const kc_opts_t *o = kc_daemon_opts (daemon);
    kc_loop_t *loop = kc_daemon_loop (daemon);
    d->works = kc_map_new (s_work_free);
    if (s_open_device (d, loop, o, err) < 0 || s_open_compiler (d, daemon, o, err) < 0)
        return -1;
    kc_bench_init (&d->bench, loop, d->compiler);
    d->bench.runner = kc_opts_string (o, "runner");
    d->bench.gpu = kc_opts_string (o, "gpu");
    d->bench.cuda_path = kc_opts_string (o, "cuda");
    kc_bench_device (&d->bench, d->device);
    if (s_make_lock (d, o, err) < 0)
        return -1;
    s_tell_caps (d, daemon);
    kc_log (KC_INFO, "device", "gpu", "s", d->device->gpu, "compiler", "s", kc_compiler_version (d->compiler), "note", "s", kc_compiler_note (d->compiler), NULL);
    return 0;
}

static int s_ready (kc_daemon_t *daemon, void *arg, kc_err_t *err)
{
    (void)err;
    ((daemon_t *)arg)->bench.node = kc_daemon_node (daemon);
    return 0;
}

static void s_stop (kc_daemon_t *daemon, void *arg)
{
    (void)daemon;
    daemon_t *d = arg;
    kc_map_destroy (&d->works);
    kc_compiler_destroy (&d->compiler);
    if (d->bench.loop)
        kc_bench_free (&d->bench);
    kc_type_free (&kc_runner_device_type, d->device);
    d->device = NULL;
    free (d->lock_path);
    d->lock_path = NULL;
}

int main (int argc, char **argv)
{
    daemon_t d = {0};
    const kc_daemon_spec_t spec = {
        .program = "kc-evaluator",
        .role = "evaluator",
        .about = "Inspects tasks and judges programs on one GPU, real or virtual.  It never loads CUDA nor runs a program\n"
                 "itself: everything happens in kc-runner processes that are killed at their limits.",
        .options = s_options,
        .ops = s_ops,
        .slots = 1,
        .start = s_start,
        .ready = s_ready,
        .stop = s_stop,
        .on_request = s_on_request,
        .on_cancel = s_on_cancel,
        .arg = &d,
    };
    return kc_daemon_main (&spec, argc, argv);
}
