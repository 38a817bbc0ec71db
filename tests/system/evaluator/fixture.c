// fixture.c - see fixture.h

#include "fixture.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/util/kc_fs.h"
#include "common/util/kc_mem.h"

enum { FIXTURE_CHILDREN = 2 };

typedef struct probed {
    bool done;
    kc_runner_device_t *device;
    kc_err_t err;
} probed_t;

static void s_on_probe (void *arg, kc_runner_device_t *device, const kc_err_t *err)
{
    probed_t *p = arg;
    p->done = true;
    p->device = device;
    p->err = *err;
}

static char *s_runner (void)
{
    char *dir = kc_fs_program_dir ();
    char *beside = kc_fs_join (dir, "kc-runner"),
         *other = kc_fs_join (dir, "../bin/kc-runner");
    const bool here = kc_fs_exists (beside);
    free (dir);
    free (here ? other : beside);
    return here ? beside : other;
}

int fixture_open (fixture_t *f, const fixture_options_t *options, kc_err_t *err)
{
    *f = (fixture_t){.runner = s_runner ()};
    f->cache = options->cache_dir ? kc_strdup (options->cache_dir) : NULL;
    f->loop = kc_loop_new (err);
    if (!f->loop)
        return -1;
    probed_t p = {0};
    if (kc_bench_probe (f->loop, f->runner,
                        options->cuda ? KC_RUNNER_JOB_BACKEND_CUDA
                                      : KC_RUNNER_JOB_BACKEND_VGPU,
                        options->gpu, options->cuda_path, s_on_probe, &p, err)
        < 0)
        return -1;
    while (!p.done)
        if (kc_loop_turn (f->loop, -1, err) < 0)
            return -1;
    f->device = p.device;
    if (!f->device) {
        *err = p.err;
        return -1;
    }
    const kc_compiler_config_t config = {.runner = f->runner,
                                         .cache_dir = f->cache,
                                         .cuda_path = options->cuda_path,
                                         .front = options->front,
                                         .max_children = FIXTURE_CHILDREN};
    f->compiler = kc_compiler_new (&config, err);
    if (!f->compiler)
        return -1;
    kc_bench_init (&f->bench, f->loop, f->compiler);
    f->bench.runner = f->runner;
    f->bench.gpu = options->gpu;
    f->bench.cuda_path = options->cuda_path;
    kc_bench_device (&f->bench, f->device);
    return 0;
}

void fixture_close (fixture_t *f)
{
    if (f->compiler)
        kc_bench_free (&f->bench);
    kc_compiler_destroy (&f->compiler);
    kc_type_free (&kc_runner_device_type, f->device);
    kc_loop_destroy (&f->loop);
    free (f->runner);
    free (f->cache);
    *f = (fixture_t){0};
}

typedef struct answer {
    bool done;
    kc_evaluator_inspect_reply_t *reply;
    kc_verdict_t *verdict;
    kc_err_t err;
} answer_t;

static void s_on_inspected (void *arg, kc_evaluator_inspect_reply_t *reply,
                            const kc_err_t *err)
{
    answer_t *a = arg;
    a->done = true;
    a->reply = reply;
    a->err = *err;
}

static void s_on_verdict (void *arg, kc_verdict_t *verdict)
{
    answer_t *a = arg;
    a->done = true;
    a->verdict = verdict;
}

kc_evaluator_inspect_reply_t *fixture_inspect (fixture_t *f, const char *text,
                                               size_t size, kc_err_t *err)
{
    kc_evaluator_inspect_t *r = kc_evaluator_inspect_new ();
    kc_set (&r->task, "test");
    r->document = kc_task_new ();
    r->document->kind = KC_TASK_KIND_CUDA;
    kc_set (&r->document->name, "test");
    answer_t a = {0};
    kc_inspect_t *inspect =
        kc_inspect_start (&f->bench, r, text, size, s_on_inspected, &a);
    while (!a.done)
        if (kc_loop_turn (f->loop, -1, err) < 0)
            break;
    kc_inspect_destroy (&inspect);
    if (!a.reply)
        *err = a.err;
    return a.reply;
}

kc_verdict_t *fixture_evaluate (fixture_t *f, const kc_card_t *card,
                                const kc_program_t *program, fixture_tune_f *tune,
                                kc_err_t *err)
{
    kc_evaluator_evaluate_t *r = kc_evaluator_evaluate_new ();
    kc_set (&r->task, "test");
    r->card = kc_card_dup (card);
    r->program = kc_program_dup (program);
    if (tune)
        tune (r);
    answer_t a = {0};
    kc_evaluate_t *evaluate =
        kc_evaluate_start (&f->bench, r, 0, s_on_verdict, &a, err);
    while (evaluate && !a.done)
        if (kc_loop_turn (f->loop, -1, err) < 0)
            break;
    kc_evaluate_destroy (&evaluate);
    return a.verdict;
}

void fixture_baseline (kc_evaluator_evaluate_t *request)
{
    kc_evaluator_yardstick_t *y =
        kc_push (&request->yardsticks, &request->n_yardsticks, sizeof *y);
    kc_type_init (&kc_evaluator_yardstick_type, y);
    y->over = KC_EVALUATOR_YARDSTICK_OVER_BASELINE;
    y->program = kc_program_dup (request->card->seed);
}
