// kc_job.c - see kc_job.h

#include "agents/gpu/bench/kc_job.h"

#include <stdlib.h>

#include "common/util/kc_mem.h"

static void s_kernel (kc_runner_binary_t *b, const kc_kernel_facts_t *f)
{
    kc_runner_kernel_t *k = kc_push (&b->kernels, &b->n_kernels, sizeof *k);
    kc_type_init (&kc_runner_kernel_type, k);
    kc_set (&k->name, f->name);
    kc_set (&k->symbol, f->symbol);
    k->registers = f->registers;
    k->registers_estimated = f->registers_estimated;
    k->shared_static = f->shared_static;
    k->local_bytes = f->local_bytes;
    k->spill_bytes = f->spill_bytes;
    k->max_threads = f->max_threads;
    for (size_t i = 0; i < f->n_params; i++) {
        kc_runner_param_t *p = kc_push (&k->params, &k->n_params, sizeof *p);
        kc_type_init (&kc_runner_param_type, p);
        p->offset = (int64_t)f->params[i].offset;
        p->size = (int64_t)f->params[i].size;
    }
}

static int64_t s_binary (kc_job_t *self, const kc_bench_t *bench, const kc_compiled_t *code)
{
    const bool cuda = bench->device->backend == KC_RUNNER_DEVICE_BACKEND_CUDA;
    const void *data = cuda ? code->cubin : code->ptx;
    for (size_t i = 0; i < self->job->n_binaries; i++)
        if (self->binaries[i] == data)
            return (int64_t)i;
    const size_t n = self->job->n_binaries;
    self->binaries = kc_realloc (self->binaries, (n + 1) * sizeof *self->binaries);
    self->binaries[n] = data;
    kc_runner_binary_t *b = kc_push (&self->job->binaries, &self->job->n_binaries, sizeof *b);
    kc_type_init (&kc_runner_binary_type, b);
    b->ptx = !cuda;
    b->size = (int64_t)(cuda ? code->cubin_size : code->ptx_size);
    for (size_t i = 0; i < code->n_kernels; i++)
        s_kernel (b, &code->kernels[i]);
    return (int64_t)n;
}

void kc_job_init (kc_job_t *self, const kc_bench_t *bench, const kc_card_t *card, const kc_side_t *sides, size_t n_sides,
                  const int64_t *shapes, size_t n_shapes)
{
    *self = (kc_job_t){.job = kc_runner_job_new ()};
    kc_runner_job_t *job = self->job;
    job->backend = bench->device->backend == KC_RUNNER_DEVICE_BACKEND_CUDA ? KC_RUNNER_JOB_BACKEND_CUDA : KC_RUNNER_JOB_BACKEND_VGPU;
    kc_set (&job->gpu, bench->gpu);
    kc_set (&job->cuda_path, bench->cuda_path);
    job->card = kc_card_dup (card);
    for (size_t i = 0; i < n_sides; i++) {
        kc_runner_contestant_t *c = kc_push (&job->contestants, &job->n_contestants, sizeof *c);
        kc_type_init (&kc_runner_contestant_type, c);
        c->who = sides[i].who;
        c->program = kc_program_dup (sides[i].program);
        c->card = kc_card_dup (sides[i].card);
    }
    for (size_t k = 0; k < n_shapes; k++) {
        kc_runner_shape_t *s = kc_push (&job->shapes, &job->n_shapes, sizeof *s);
        kc_type_init (&kc_runner_shape_type, s);
        size_t n;
        const kc_task_setting_t *dims = kc_case_dims (card, shapes[k], &n);
        for (size_t d = 0; d < n; d++) {
            kc_task_setting_t *setting = kc_push (&s->dims, &s->n_dims, sizeof *setting);
            kc_type_init (&kc_task_setting_type, setting);
            kc_set (&setting->name, dims[d].name);
            setting->value = dims[d].value;
        }
        for (size_t i = 0; i < n_sides; i++) {
            const int64_t binary = s_binary (self, bench, sides[i].code[k]);
            int64_t *slot = kc_push (&s->binaries, &s->n_binaries, sizeof *slot);
            *slot = binary;
        }
    }
}

void kc_job_free (kc_job_t *self)
{
    kc_runner_job_free (&self->job);
    free (self->binaries);
    self->binaries = NULL;
}

void kc_job_case (kc_job_t *self, const kc_runner_case_t *c)
{
    kc_runner_case_t *slot = kc_push (&self->job->cases, &self->job->n_cases, sizeof *slot);
    *slot = *c; // plain values
}
