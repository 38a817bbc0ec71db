// kc_units.c - see kc_units.h

#include "agents/gpu/bench/kc_units.h"

#include <stdlib.h>
#include <string.h>

#include "agents/gpu/judge/kc_judge.h"
#include "common/util/kc_mem.h"

typedef struct unit {
    kc_unit_spec_t spec;
    kc_verdict_t *verdict;
    char *constants;
    char **names;
    size_t n_names;
    size_t same;       // index of the unit that compiles for this one
    char key[KC_SHA_HEX];
    int64_t ticket;    // of a running compilation
    kc_compiled_t *code;
    kc_units_t *all;
} unit_t;

struct kc_units {
    kc_bench_t *bench;
    unit_t *units;
    size_t n;
    size_t waiting;
    int64_t timer;
    void (*done) (void *arg);
    void *arg;
};

static void s_on_timer (kc_loop_t *loop, int64_t timer, void *arg)
{
    (void)loop;
    (void)timer;
    kc_units_t *self = arg;
    self->timer = 0;
    self->done (self->arg);
}

static void s_finished (kc_units_t *self)
{
    if (self->waiting == 0 && self->timer == 0)
        self->timer = kc_loop_timer_add (self->bench->loop, 0, 0, s_on_timer, self);
}

// A finding per author's line; code and log go to whoever shares the unit.
static void s_take (unit_t *u, const kc_compiled_t *code)
{
    if (code->log && code->log[0])
        kc_set (&u->verdict->log, code->log);
    if (code->status == KC_VERDICT_STATUS_OK)
        return;
    for (size_t i = 0; i < code->n_findings; i++)
        kc_judge_add (u->verdict, &code->findings[i], NULL);
    if (u->verdict->n_findings == 0)
        kc_judge_finding (u->verdict, code->status, "the compiler failed without a word");
    u->verdict->status = code->status;
}

static void s_on_code (kc_compiled_t *result, void *arg)
{
    unit_t *u = arg;
    kc_units_t *self = u->all;
    u->ticket = 0;
    u->code = result;
    for (size_t i = 0; i < self->n; i++)
        if (self->units[i].same == (size_t)(u - self->units))
            s_take (&self->units[i], result);
    self->waiting--;
    s_finished (self);
}

static void s_start (kc_units_t *self, unit_t *u)
{
    const kc_unit_spec_t *s = &u->spec;
    const kc_program_compile_t *c = s->program->compile;
    const bool cuda = self->bench->device->backend == KC_RUNNER_DEVICE_BACKEND_CUDA;
    u->constants = kc_plan_constants (s->card, s->program, s->dims, s->n_dims, &self->bench->facts, u->verdict);
    if (!u->constants)
        return;
    u->names = kc_plan_kernel_names (s->card, s->program, s->dims, s->n_dims, &self->bench->facts, &u->n_names, u->verdict);
    if (u->verdict->n_findings > 0)
        return;
    const kc_compile_job_t job = {.source = s->program->source,
                                  .constants = u->constants,
                                  .cxx20 = c && c->std == KC_PROGRAM_COMPILE_STD_C__20,
                                  .fast_math = c && c->fast_math,
                                  .no_fmad = c && !c->fmad,
                                  .max_registers = c && c->has_max_registers ? (int)c->max_registers : 0,
                                  .kernels = (const char *const *)u->names,
                                  .n_kernels = u->n_names,
                                  .sm = self->bench->facts.sm,
                                  .want_ptx = true,
                                  .want_cubin = cuda};
    kc_compiler_key (self->bench->compiler, &job, u->key);
    for (unit_t *other = self->units; other < u; other++)
        if (strcmp (other->key, u->key) == 0) {
            u->same = other->same;
            return;
        }
    u->ticket = kc_compiler_start (self->bench->compiler, self->bench->loop, &job, s_on_code, u);
    self->waiting++;
}

kc_units_t *kc_units_start (kc_bench_t *bench, const kc_unit_spec_t *specs, size_t n, void (*done) (void *arg), void *arg)
{
    kc_units_t *self = kc_calloc (1, sizeof *self);
    *self = (kc_units_t){.bench = bench, .n = n, .done = done, .arg = arg};
    self->units = kc_calloc (n + 1, sizeof *self->units);
    for (size_t i = 0; i < n; i++) {
        self->units[i].spec = specs[i];
        self->units[i].verdict = kc_judge_new (NULL);
        self->units[i].same = i;
        self->units[i].all = self;
    }
    for (size_t i = 0; i < n; i++)
        s_start (self, &self->units[i]);
    s_finished (self);
    return self;
}

void kc_units_destroy (kc_units_t **self_p)
{
    kc_units_t *self = *self_p;
    *self_p = NULL;
    if (!self)
        return;
    kc_loop_timer_del (self->bench->loop, self->timer);
    for (size_t i = 0; i < self->n; i++) {
        unit_t *u = &self->units[i];
        if (u->ticket)
            kc_compiler_cancel (self->bench->compiler, u->ticket);
        kc_compiled_destroy (&u->code);
        kc_verdict_free (&u->verdict);
        free (u->constants);
        for (size_t k = 0; k < u->n_names; k++)
            free (u->names[k]);
        free (u->names);
    }
    free (self->units);
    free (self);
}

const kc_compiled_t *kc_units_code (const kc_units_t *self, size_t i)
{
    const kc_compiled_t *code = self->units[self->units[i].same].code;
    return code && code->status == KC_VERDICT_STATUS_OK && self->units[i].verdict->n_findings == 0 ? code : NULL;
}

const kc_verdict_t *kc_units_verdict (const kc_units_t *self, size_t i)
{
    return self->units[i].verdict;
}

double kc_units_seconds (const kc_units_t *self)
{
    double sum = 0;
    for (size_t i = 0; i < self->n; i++)
        if (self->units[i].code && !self->units[i].code->cached)
            sum += self->units[i].code->seconds;
    return sum;
}
