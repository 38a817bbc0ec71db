// kc_bench.c - see kc_bench.h

#include "agents/gpu/bench/kc_bench.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agents/gpu/model/kc_gpus.h"
#include "common/model/kc_program.h"
#include "common/util/kc_fs.h"
#include "common/util/kc_log.h"
#include "common/util/kc_mem.h"

enum { PROBE_WALL_MS = 60000 };

struct kc_stored {
    kc_stored_t *next;
    char card[KC_SHA_HEX];
    int64_t key;
    char *tensor;
    void *data;
    size_t size;
};

void kc_bench_init (kc_bench_t *self, kc_loop_t *loop, kc_compiler_t *compiler)
{
    *self = (kc_bench_t){.loop = loop, .compiler = compiler};
    self->times = kc_map_new (free);
    kc_secret (self->secret);
}

static void s_stored_free (kc_stored_t *s)
{
    free (s->tensor);
    free (s->data);
    free (s);
}

void kc_bench_free (kc_bench_t *self)
{
    kc_map_destroy (&self->times);
    while (self->stored) {
        kc_stored_t *next = self->stored->next;
        s_stored_free (self->stored);
        self->stored = next;
    }
    self->stored_bytes = 0;
}

void kc_bench_device (kc_bench_t *self, const kc_runner_device_t *device)
{
    const kc_runner_facts_t *f = device->facts;
    self->device = device;
    self->facts = (kc_device_facts_t){
        .sms = (int)f->sms,
        .sm = (int)f->sm,
        .warp = (int)f->warp,
        .max_threads_block = (int)f->max_threads_block,
        .max_threads_sm = (int)f->max_threads_sm,
        .max_blocks_sm = (int)f->max_blocks_sm,
        .regs_sm = (int)f->regs_sm,
        .regs_block = (int)f->regs_block,
        .shared_block = f->shared_block,
        .shared_block_plain = f->shared_block_plain,
        .shared_sm = f->shared_sm,
        .shared_reserved = f->shared_reserved,
        .l2_bytes = f->l2_bytes,
    };
    for (size_t i = 0; i < 3 && i < f->n_max_grid; i++)
        self->facts.max_grid[i] = f->max_grid[i];
}

kc_card_device_t *kc_bench_card_device (const kc_bench_t *self)
{
    const kc_runner_device_t *from = self->device;
    kc_card_device_t *d = kc_card_device_new ();
    d->backend = from->backend == KC_RUNNER_DEVICE_BACKEND_CUDA ? KC_CARD_DEVICE_BACKEND_CUDA : KC_CARD_DEVICE_BACKEND_VGPU;
    kc_set (&d->gpu, from->gpu);
    if (from->driver && from->driver[0])
        kc_set (&d->driver, from->driver);
    char *compiler = kc_strndup (kc_compiler_version (self->compiler), 64);
    d->compiler = compiler;
    d->sm = self->facts.sm;
    d->sms = self->facts.sms;
    d->has_l2_bytes = d->has_shared_block = d->has_shared_sm = true;
    d->l2_bytes = self->facts.l2_bytes;
    d->shared_block = self->facts.shared_block;
    d->shared_sm = self->facts.shared_sm;
    d->has_bandwidth = from->bandwidth > 0;
    d->bandwidth = from->bandwidth;
    // A GPU of the table has a measured copy rate; others are taken to reach nine tenths of their specification.
    kc_gpu_gpu_t *row = kc_gpus_find (from->gpu, NULL);
    d->copy_bandwidth = row ? row->copy_bandwidth : from->bandwidth * 0.9;
    d->has_copy_bandwidth = d->copy_bandwidth > 0;
    kc_gpu_gpu_free (&row);
    return d;
}

int kc_bench_serves (const kc_bench_t *self, const kc_card_device_t *device, kc_err_t *err)
{
    const kc_runner_device_t *mine = self->device;
    const bool cuda = mine->backend == KC_RUNNER_DEVICE_BACKEND_CUDA;
    if ((device->backend == KC_CARD_DEVICE_BACKEND_CUDA) != cuda || strcmp (device->gpu, mine->gpu) != 0 || device->sm != self->facts.sm
        || device->sms != self->facts.sms)
        return kc_fail (err, KC_EUNSUPPORTED, "the task was inspected for %s %s, this evaluator has %s %s; send it to an evaluator of the task's device class",
                        kc_card_device_backend_name (device->backend), device->gpu, cuda ? "cuda" : "vgpu", mine->gpu);
    if (device->driver && mine->driver && device->driver[0] && strcmp (device->driver, mine->driver) != 0)
        return kc_fail (err, KC_EUNSUPPORTED, "the task was inspected with driver %s, this host has %s; submit it anew", device->driver, mine->driver);
    return 0;
}

// ---- facts worth keeping ----

static char *s_time_key (const kc_program_t *program, const kc_card_t *card)
{
    char p[KC_SHA_HEX], c[KC_SHA_HEX];
    if (kc_type_hash (&kc_program_type, program, p) < 0 || kc_type_hash (&kc_card_type, card, c) < 0)
        return NULL;
    return kc_asprintf ("%s/%s", p, c);
}

double kc_bench_time (const kc_bench_t *self, const kc_program_t *program, const kc_card_t *card)
{
    char *key = s_time_key (program, card);
    const double *us = key ? kc_map_get (self->times, key) : NULL;
    free (key);
    return us ? *us : 0;
}

void kc_bench_keep_time (kc_bench_t *self, const kc_program_t *program, const kc_card_t *card, double us)
{
    char *key = s_time_key (program, card);
    if (key && kc_map_size (self->times) < KC_BENCH_TIMES) {
        double *value = kc_malloc (sizeof *value);
        *value = us;
        kc_map_put (self->times, key, value);
    }
    free (key);
}

const void *kc_bench_output (const kc_bench_t *self, const char *card_hash, int64_t key, const char *tensor, size_t *size)
{
    for (const kc_stored_t *s = self->stored; s; s = s->next)
        if (s->key == key && strcmp (s->card, card_hash) == 0 && strcmp (s->tensor, tensor) == 0) {
            *size = s->size;
            return s->data;
        }
    return NULL;
}

void kc_bench_keep_output (kc_bench_t *self, const char *card_hash, int64_t key, const char *tensor, const void *data, size_t size)
{
    size_t known;
    if (size > KC_BENCH_OUTPUTS || kc_bench_output (self, card_hash, key, tensor, &known))
        return;
    while (self->stored && self->stored_bytes + size > KC_BENCH_OUTPUTS) { // the oldest goes
        kc_stored_t **last = &self->stored;
        while ((*last)->next)
            last = &(*last)->next;
        self->stored_bytes -= (*last)->size;
        s_stored_free (*last);
        *last = NULL;
    }
    kc_stored_t *s = kc_calloc (1, sizeof *s);
    memcpy (s->card, card_hash, KC_SHA_HEX);
    s->key = key;
    s->tensor = kc_strdup (tensor);
    s->data = kc_malloc (size + 1);
    memcpy (s->data, data, size);
    s->size = size;
    s->next = self->stored;
    self->stored = s;
    self->stored_bytes += size;
}

// ---- probe ----

typedef struct probe {
    kc_bench_probe_f *done;
    void *arg;
    kc_runner_device_t *device;
    kc_err_t err;
} probe_t;

static int s_probe_record (void *arg, const kc_runner_record_t *record, kc_err_t *err)
{
    (void)err;
    probe_t *p = arg;
    if (record->kind == KC_RUNNER_RECORD_KIND_DEVICE && record->device && !p->device)
        p->device = kc_type_dup (&kc_runner_device_type, record->device);
    if (record->kind == KC_RUNNER_RECORD_KIND_FINDING && record->n_findings > 0)
        kc_fail (&p->err, KC_EUNSUPPORTED, "%s", record->findings[0].text);
    return 0;
}

static void s_probe_end (void *arg, const kc_run_end_t *end)
{
    probe_t *p = arg;
    if (end->outcome != KC_RUN_DONE && p->err.code == KC_OK)
        kc_fail (&p->err, KC_EUNSUPPORTED, "probing the device: %s %s", end->text, end->output);
    if (p->err.code != KC_OK)
        kc_type_free (&kc_runner_device_type, p->device);
    p->done (p->arg, p->err.code == KC_OK ? p->device : NULL, &p->err);
    free (p);
}

int kc_bench_probe (kc_loop_t *loop, const char *runner, kc_runner_job_backend_t backend, const char *gpu, const char *cuda_path,
                    kc_bench_probe_f *done, void *arg, kc_err_t *err)
{
    probe_t *p = kc_calloc (1, sizeof *p);
    p->done = done;
    p->arg = arg;
    kc_runner_job_t *job = kc_runner_job_new ();
    job->backend = backend;
    kc_set (&job->gpu, gpu);
    kc_set (&job->cuda_path, cuda_path);
    const kc_run_spec_t spec = {.runner = runner, .mode = "probe", .job = job, .lock_fd = -1, .wall_ms = PROBE_WALL_MS, .on_record = s_probe_record, .on_end = s_probe_end, .arg = p};
    kc_run_t *run = kc_run_start (loop, &spec, err);
    kc_runner_job_free (&job);
    if (!run)
        free (p);
    return run ? 0 : -1;
}

// ---- the GPU's lock ----

static void s_try_lock (kc_loop_t *loop, int64_t timer, void *arg)
{
    (void)loop;
    (void)timer;
    kc_bench_lock_t *lock = arg;
    kc_err_t err = {0};
    lock->timer = 0;
    const int fd = lock->bench->lock_path ? kc_fs_lock (lock->bench->lock_path, &err) : -1;
    if (lock->bench->lock_path && fd < 0 && err.code == KC_EBUSY) {
        lock->timer = kc_loop_timer_add (lock->bench->loop, KC_BENCH_LOCK_POLL_MS, 0, s_try_lock, lock);
        return;
    }
    if (lock->bench->lock_path && fd < 0) // without a lock a measurement may be disturbed, not wrong
        kc_log (KC_WARN, "gpu.lock", "error", "s", err.text, NULL);
    lock->call (lock->arg, fd);
}

void kc_bench_lock (kc_bench_lock_t *lock, kc_bench_t *bench, void (*call) (void *arg, int fd), void *arg)
{
    *lock = (kc_bench_lock_t){.bench = bench, .call = call, .arg = arg};
    // always from the loop, so that callers see one order of events
    lock->timer = kc_loop_timer_add (bench->loop, 0, 0, s_try_lock, lock);
}

void kc_bench_lock_cancel (kc_bench_lock_t *lock)
{
    if (lock->bench)
        kc_loop_timer_del (lock->bench->loop, lock->timer);
    lock->timer = 0;
}
