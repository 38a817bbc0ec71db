/* fixture.h - an evaluator's workbench without a broker: for tests and for judging a
 * file by hand */
#ifndef FIXTURE_H
#define FIXTURE_H

#include <stdbool.h>
#include <stddef.h>

#include "agents/evaluator/kc_evaluate.h"
#include "agents/evaluator/kc_inspect.h"
#include "agents/gpu/bench/kc_bench.h"

typedef struct fixture {
    kc_loop_t *loop;
    kc_compiler_t *compiler;
    kc_runner_device_t *device;
    char *runner, *cache;
    kc_bench_t bench;
} fixture_t;

typedef struct fixture_options {
    bool cuda;
    const char *gpu, *cuda_path, *cache_dir;
    kc_front_t front;
} fixture_options_t;

// 0, or -1 with err.  The runner is the one in ../bin of the running binary's folder,
// or beside it.
int fixture_open (fixture_t *f, const fixture_options_t *options, kc_err_t *err);
void fixture_close (fixture_t *f);

// Inspect the text of a task; NULL with err when it could not be done.
kc_evaluator_inspect_reply_t *fixture_inspect (fixture_t *f, const char *text,
                                               size_t size, kc_err_t *err);
// Evaluate; 'tune' changes the request (may be NULL).
typedef void (fixture_tune_f) (kc_evaluator_evaluate_t *request);
kc_verdict_t *fixture_evaluate (fixture_t *f, const kc_card_t *card,
                                const kc_program_t *program, fixture_tune_f *tune,
                                kc_err_t *err);
// Add the card's seed as baseline.
void fixture_baseline (kc_evaluator_evaluate_t *request);

#endif // FIXTURE_H
