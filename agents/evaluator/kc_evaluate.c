// kc_evaluate.c - see kc_evaluate.h; one state machine, so one file

#include "agents/evaluator/kc_evaluate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agents/evaluator/kc_trial.h"
#include "agents/gpu/bench/kc_units.h"
#include "agents/gpu/judge/kc_judge.h"
#include "common/model/kc_promote.h"
#include "common/util/kc_clock.h"
#include "common/util/kc_mem.h"

enum {
    EVAL_SHAPES = 9, // KC_TEXT_CHECKS and the task's
    EVAL_YARDSTICKS = 2,
    EVAL_BOUND_MS = 30000, // of the correctness matrix
    EVAL_TIME_WALL_MS = 150000,
    EVAL_SMALL_BYTES = 8 << 20, // of a task whose own shape is tried with every seed
    EVAL_LARGE_BYTES = 32 << 20, // of one whose own shape is tried once, cheaply, beside its timed runs
    EVAL_VERIFY = 3,            // timed samples compared, when they are small enough
    EVAL_VERIFY_BYTES = 64 << 20,
};
#define EVAL_SECONDS 10.0                  // wall limit of one run
#define EVAL_RUN_INSTRUCTIONS 1000000000ll // vgpu: of one run at a check shape
#define EVAL_FULL_INSTRUCTIONS                                                         \
    4000000000ll // vgpu: the budget of the run at the task's shape

typedef struct timed_output { // of one timed sample of the candidate
    size_t tensor;
    int64_t key, sample;
    char *data;
    size_t size, have;
} timed_output_t;

typedef struct yardstick {
    kc_evaluator_yardstick_over_t over;
    const kc_program_t *program;
    size_t unit;
    int contestant; // in the timing job, -1 = not run (its time is known)
    double known_us;
} yardstick_t;

struct kc_evaluate {
    kc_bench_t *bench;
    kc_evaluator_evaluate_t *request;
    kc_evaluate_f *done;
    void *arg;
    kc_verdict_t *verdict;
    char secret[KC_SECRET_HEX], card_hash[KC_SHA_HEX];
    size_t shapes;
    kc_program_t *promoted; // the reference in double, NULL = the seed itself
    kc_card_t *promoted_card;
    yardstick_t yardsticks[EVAL_YARDSTICKS];
    size_t n_yardsticks;
    kc_units_t *units;
    kc_unit_spec_t specs[2 * EVAL_SHAPES + EVAL_YARDSTICKS];
    size_t n_specs;
    const kc_compiled_t *candidate_code[EVAL_SHAPES], *reference_code[EVAL_SHAPES];
    bool shape_applies[EVAL_SHAPES];
    bool graph;
    kc_runner_case_t *cases;
    size_t n_cases;
    kc_trial_t *trial;
    kc_bench_lock_t lock;
    kc_run_t *run;
    bool verifying; // the reference runs on timed contents
    int64_t timing_seed;
    kc_runner_times_t *times;
    timed_output_t *timed;
    size_t n_timed;
    size_t timed_bytes;
    int64_t *keys; // distinct contents the reference still has to compute
    size_t n_keys;
    timed_output_t *expected;
    size_t n_expected;
    int64_t left; // bytes of the arriving output
    int64_t timer;
    int64_t started, phase;
    double check_s, time_s, compile_s;
    int64_t queued_ms;
};

static void s_time (kc_evaluate_t *self);

// ---- the end ----

static void s_on_over (kc_loop_t *loop, int64_t timer, void *arg)
{
    (void)loop;
    (void)timer;
    kc_evaluate_t *self = arg;
    self->timer = 0;
    kc_verdict_t *v = self->verdict;
    self->verdict = NULL;
    self->done (self->arg, v);
}

static bool s_estimate (const kc_evaluate_t *self)
{
    return self->bench->device->estimate;
}

static void s_over (kc_evaluate_t *self)
{
    kc_verdict_t *v = self->verdict;
    if (self->timer)
        return;
    if (!self->request->cache_probe)
        kc_set (&v->secret, self->secret); // spent now
    v->seconds = kc_verdict_seconds_new ();
    v->seconds->has_total = v->seconds->has_compile = v->seconds->has_check =
        v->seconds->has_time = v->seconds->has_queue = true;
    v->seconds->total = (double)(kc_clock_ms () - self->started) / 1000;
    v->seconds->compile = self->compile_s;
    v->seconds->check = self->check_s;
    v->seconds->time = self->time_s;
    v->seconds->queue = (double)self->queued_ms / 1000;
    // a verdict that must not be stored names no key
    if (!kc_judge_cacheable (v)
        || self->request->purpose == KC_EVALUATOR_EVALUATE_PURPOSE_CONFIRM)
        kc_set (&v->cache_key, NULL);
    self->timer = kc_loop_timer_add (self->bench->loop, 0, 0, s_on_over, self);
}

static double s_phase (kc_evaluate_t *self)
{
    const int64_t now = kc_clock_ms (), spent = now - self->phase;
    self->phase = now;
    return (double)spent / 1000;
}

// ---- verify: the reference on what was timed ----

static timed_output_t *s_expected_of (kc_evaluate_t *self, const timed_output_t *t)
{
    for (size_t i = 0; i < self->n_expected; i++)
        if (self->expected[i].key == t->key && self->expected[i].tensor == t->tensor)
            return &self->expected[i];
    return NULL;
}

static void s_compare_timed (kc_evaluate_t *self, const timed_output_t *t,
                             const void *expected)
{
    const kc_card_t *card = self->request->card;
    kc_compare_spec_t spec;
    kc_compare_t compare;
    int64_t sizes[KC_COMPARE_RANK];
    int rank;
    kc_err_t err;
    const kc_card_t *reference_card = self->promoted_card ? self->promoted_card : card;
    if (kc_trial_compare (card, reference_card, self->promoted != NULL,
                          (int64_t)card->n_checks, t->tensor, &spec, sizes, &rank, &err)
        < 0) {
        kc_judge_finding (self->verdict, KC_VERDICT_STATUS_INFRA_ERROR, "%s", err.text);
        return;
    }
    spec.expected = expected;
    spec.poison =
        s_estimate (self) ? KC_POISON_NAN : -1; // a real GPU's timing draws its pattern
    if (self->trial)
        spec.group_rms = kc_trial_scale (self->trial, KC_RUNNER_VALUES_TASK, t->tensor);
    kc_compare_start (&compare, &spec);
    kc_compare_feed (&compare, t->data, t->have);
    const bool right = kc_compare_end (&compare);
    char name[64];
    snprintf (name, sizeof name, "task shape, timed sample %lld", (long long)t->sample);
    kc_judge_output (self->verdict, &compare, right, card->tensors[t->tensor].name,
                     sizes, rank, name);
}

static double s_median_of (const kc_evaluate_t *self, kc_runner_who_t who,
                           const double **us, int *n)
{
    for (size_t i = 0; self->times && i < self->times->n_series; i++)
        if (self->times->series[i].who == who) {
            *us = self->times->series[i].us;
            *n = (int)self->times->series[i].n_us;
            return *n > 0 ? (*us)[0] : 0;
        }
    *us = NULL;
    *n = 0;
    return 0;
}

static void s_judge_times (kc_evaluate_t *self)
{
    const kc_card_t *card = self->request->card;
    const double *us;
    int n;
    const bool estimate = self->times->estimate;
    if (estimate)
        kc_judge_label (self->verdict, KC_VERDICT_LABEL_ESTIMATE);
    const double mine = s_median_of (self, KC_RUNNER_WHO_CANDIDATE, &us, &n);
    if (!kc_judge_timing (self->verdict, KC_VERDICT_TIMING_WHO_CANDIDATE, us, n,
                          self->graph, estimate))
        return;
    if (estimate)
        kc_bench_keep_time (self->bench, self->request->program, card, mine);
    for (size_t i = 0; i < self->n_yardsticks; i++) {
        const yardstick_t *y = &self->yardsticks[i];
        const bool base = y->over == KC_EVALUATOR_YARDSTICK_OVER_BASE;
        const double *theirs = &y->known_us;
        int m = 1;
        if (y->contestant >= 0) {
            theirs = self->times->series[y->contestant].us;
            m = (int)self->times->series[y->contestant].n_us;
            if (estimate && m > 0)
                kc_bench_keep_time (self->bench, y->program, card, theirs[0]);
        }
        if (!kc_judge_timing (self->verdict,
                              base ? KC_VERDICT_TIMING_WHO_BASE
                                   : KC_VERDICT_TIMING_WHO_BASELINE,
                              theirs, m, self->graph, estimate))
            return;
        kc_judge_ratio (self->verdict,
                        base ? KC_VERDICT_RATIO_OVER_BASE
                             : KC_VERDICT_RATIO_OVER_BASELINE,
                        us, theirs, m < n ? m : n, estimate);
    }
    if (self->times->suspect)
        kc_judge_finding (self->verdict, KC_VERDICT_STATUS_NO_MEASUREMENT,
                          "event time and host time contradict each other%s%s",
                          self->times->note ? ": " : "",
                          self->times->note ? self->times->note : "");
    kc_judge_floor (self->verdict, card,
                    self->request->purpose == KC_EVALUATOR_EVALUATE_PURPOSE_CONFIRM);
}

// Everything timed has its expected output: compare, then judge the times.
static void s_finish (kc_evaluate_t *self)
{
    const bool keep = s_estimate (self)
                      && self->request->purpose == KC_EVALUATOR_EVALUATE_PURPOSE_SEARCH;
    for (size_t i = 0; i < self->n_timed && self->verdict->n_findings == 0; i++) {
        const timed_output_t *t = &self->timed[i];
        const char *tensor = self->request->card->tensors[t->tensor].name;
        size_t size;
        const void *data =
            kc_bench_output (self->bench, self->card_hash, t->key, tensor, &size);
        const timed_output_t *e = data ? NULL : s_expected_of (self, t);
        if (!data && !e) {
            kc_judge_finding (self->verdict, KC_VERDICT_STATUS_INFRA_ERROR,
                              "no expected output for the timed %s", tensor);
            break;
        }
        s_compare_timed (self, t, data ? data : e->data);
        if (keep && e)
            kc_bench_keep_output (self->bench, self->card_hash, t->key, tensor, e->data,
                                  e->have);
    }
    if (self->n_timed > 0 && self->verdict->checked
        && s_estimate (self)) { // the timed run is the task shape's check
        self->verdict->checked->cases++;
        self->verdict->checked->runs++;
        self->verdict->checked->shapes++;
    }
    if (self->verdict->n_findings == 0)
        s_judge_times (self);
    self->time_s += s_phase (self);
    s_over (self);
}

static int s_take_output (kc_evaluate_t *self, const kc_runner_record_t *r,
                          kc_err_t *err)
{
    const kc_card_t *card = self->request->card;
    size_t tensor = 0;
    while (tensor < card->n_tensors
           && strcmp (card->tensors[tensor].name, r->tensor ? r->tensor : "") != 0)
        tensor++;
    if (tensor == card->n_tensors || self->left > 0 || r->bytes <= 0)
        return kc_fail (err, KC_EPROTO, "an output that was not asked for");
    if (!self->verifying
        && self->timed_bytes + (size_t)r->bytes > (size_t)2 * EVAL_VERIFY_BYTES)
        return kc_fail (err, KC_EPROTO, "more timed outputs than asked for");
    timed_output_t *t = self->verifying
                            ? kc_push (&self->expected, &self->n_expected, sizeof *t)
                            : kc_push (&self->timed, &self->n_timed, sizeof *t);
    *t = (timed_output_t){
        .tensor = tensor, .key = r->key, .sample = r->sample, .size = (size_t)r->bytes};
    t->data = kc_malloc (t->size + 8);
    self->left = r->bytes;
    if (!self->verifying)
        self->timed_bytes += t->size;
    return 0;
}

static int s_on_data (void *arg, const void *data, size_t size, kc_err_t *err)
{
    kc_evaluate_t *self = arg;
    const size_t n = self->verifying ? self->n_expected : self->n_timed;
    if ((int64_t)size > self->left || n == 0)
        return kc_fail (err, KC_EPROTO, "more bytes than announced");
    timed_output_t *t = self->verifying ? &self->expected[n - 1] : &self->timed[n - 1];
    memcpy (t->data + t->have, data, size);
    t->have += size;
    self->left -= (int64_t)size;
    return 0;
}

static void s_take_findings (kc_evaluate_t *self, const kc_runner_record_t *r)
{
    for (size_t i = 0; i < r->n_findings; i++) {
        if (!self->verifying && r->contestant == 0)
            kc_judge_add (self->verdict, &r->findings[i], "task shape, timed");
        else
            kc_judge_finding (
                self->verdict, KC_VERDICT_STATUS_INFRA_ERROR, "%s failed: %s",
                self->verifying ? "the reference" : "a yardstick", r->findings[i].text);
    }
}

static int s_on_record (void *arg, const kc_runner_record_t *r, kc_err_t *err)
{
    kc_evaluate_t *self = arg;
    switch (r->kind) {
    case KC_RUNNER_RECORD_KIND_OUTPUT:
        return s_take_output (self, r, err);
    case KC_RUNNER_RECORD_KIND_FINDING:
        s_take_findings (self, r);
        return 0;
    case KC_RUNNER_RECORD_KIND_TIMES:
        if (self->times || !r->times)
            return kc_fail (err, KC_EPROTO, "times that were not asked for");
        self->times = kc_type_dup (&kc_runner_times_type, r->times);
        return 0;
    case KC_RUNNER_RECORD_KIND_KERNELS:
        if (!self->verifying && r->contestant == 0)
            kc_judge_kernels (self->verdict, r->kernels, r->n_kernels);
        return 0;
    case KC_RUNNER_RECORD_KIND_UNSET:
    case KC_RUNNER_RECORD_KIND_DEVICE:
    case KC_RUNNER_RECORD_KIND_RAN:
    case KC_RUNNER_RECORD_KIND_SKIPPED:
    case KC_RUNNER_RECORD_KIND_PROFILE:
    case KC_RUNNER_RECORD_KIND_DONE:
        break;
    }
    return 0;
}

static void s_verify (kc_evaluate_t *self);

static void s_on_end (void *arg, const kc_run_end_t *end)
{
    kc_evaluate_t *self = arg;
    self->run = NULL;
    self->left = 0;
    if (end->outcome != KC_RUN_DONE && self->verdict->n_findings == 0)
        kc_trial_end (self->verdict, end, self->verifying, "task shape, timed");
    if (self->verdict->n_findings > 0) {
        self->time_s += s_phase (self);
        s_over (self);
    }
    else if (self->verifying)
        s_finish (self);
    else if (!self->times) {
        kc_judge_finding (self->verdict, KC_VERDICT_STATUS_NO_MEASUREMENT,
                          "the runner ended without times");
        s_over (self);
    }
    else
        s_verify (self);
}

static void s_verify_locked (void *arg, int fd)
{
    kc_evaluate_t *self = arg;
    const kc_card_t *card = self->request->card;
    const int64_t shape = (int64_t)card->n_checks;
    const kc_side_t side = {.who = KC_RUNNER_WHO_REFERENCE,
                            .program = self->promoted ? self->promoted : card->seed,
                            .card = self->promoted_card,
                            .code = &self->reference_code[shape]};
    kc_job_t job;
    kc_job_init (&job, self->bench, card, &side, 1, &shape, 1);
    for (size_t i = 0; i < self->n_keys; i++) {
        kc_runner_case_t c;
        memset (&c, 0, sizeof c);
        kc_type_init (&kc_runner_case_type, &c);
        c.shape = 0;
        c.values = s_estimate (self) ? KC_RUNNER_VALUES_TABLE : KC_RUNNER_VALUES_TASK;
        c.seed = self->keys[i];
        c.has_param_seed = true;
        c.param_seed = self->timing_seed;
        kc_job_case (&job, &c);
    }
    job.job->seconds = EVAL_SECONDS * 6; // our own code, and in double
    job.job->instructions = 4 * EVAL_FULL_INSTRUCTIONS;
    self->verifying = true;
    const kc_run_spec_t run = {
        .runner = self->bench->runner,
        .mode = "evaluate",
        .job = job.job,
        .binaries = job.binaries,
        .lock_fd = fd,
        .wall_ms = self->bench->wall_ms > 0 ? self->bench->wall_ms : EVAL_TIME_WALL_MS,
        .on_record = s_on_record,
        .on_data = s_on_data,
        .on_end = s_on_end,
        .arg = self};
    kc_err_t err;
    self->run = kc_run_start (self->bench->loop, &run, &err);
    kc_job_free (&job);
    if (fd >= 0)
        close (fd);
    if (!self->run) {
        kc_judge_finding (self->verdict, KC_VERDICT_STATUS_INFRA_ERROR,
                          "starting the runner: %s", err.text);
        s_over (self);
    }
}

static void s_verify (kc_evaluate_t *self)
{
    for (size_t i = 0; i < self->n_timed; i++) {
        const timed_output_t *t = &self->timed[i];
        size_t size;
        bool known =
            kc_bench_output (self->bench, self->card_hash, t->key,
                             self->request->card->tensors[t->tensor].name, &size)
            != NULL;
        for (size_t k = 0; k < self->n_keys && !known; k++)
            known = self->keys[k] == t->key;
        if (!known) {
            int64_t *slot = kc_push (&self->keys, &self->n_keys, sizeof *slot);
            *slot = t->key;
        }
    }
    if (self->n_keys == 0)
        s_finish (self);
    else
        kc_bench_lock (&self->lock, self->bench, s_verify_locked, self);
}

// ---- time ----

static int64_t s_output_bytes (const kc_card_t *card)
{
    int64_t sum = 0;
    for (size_t i = 0; i < card->n_tensors; i++) {
        const kc_card_tensor_t *t = &card->tensors[i];
        if (t->role != KC_CARD_TENSOR_ROLE_OUTPUT
            && t->role != KC_CARD_TENSOR_ROLE_INOUT)
            continue;
        int64_t elements = 1;
        for (size_t d = 0; d < t->n_sizes; d++)
            elements *= t->sizes[d];
        sum += elements * (int64_t)kc_element_size (t->dtype);
    }
    return sum;
}

static void s_time_locked (void *arg, int fd)
{
    kc_evaluate_t *self = arg;
    const kc_card_t *card = self->request->card;
    const int64_t shape = (int64_t)card->n_checks;
    kc_side_t sides[1 + EVAL_YARDSTICKS] = {{.who = KC_RUNNER_WHO_CANDIDATE,
                                             .program = self->request->program,
                                             .code = &self->candidate_code[shape]}};
    const kc_compiled_t *codes[EVAL_YARDSTICKS];
    size_t n = 1;
    for (size_t i = 0; i < self->n_yardsticks; i++) {
        yardstick_t *y = &self->yardsticks[i];
        y->contestant = -1;
        if (s_estimate (self)) // a deterministic model: the number is a fact
            y->known_us =
                kc_type_equal (&kc_program_type, y->program, self->request->program)
                    ? -1
                    : kc_bench_time (self->bench, y->program, card);
        if (y->known_us > 0)
            continue;
        if (y->known_us < 0) {
            y->contestant = 0; // the candidate itself
            continue;
        }
        for (size_t k = 0; k < i && y->contestant < 0; k++)
            if (self->yardsticks[k].contestant > 0
                && kc_type_equal (&kc_program_type, y->program,
                                  self->yardsticks[k].program))
                y->contestant = self->yardsticks[k].contestant;
        if (y->contestant >= 0)
            continue;
        codes[i] = kc_units_code (self->units, y->unit);
        y->contestant = (int)n;
        sides[n++] = (kc_side_t){.who = y->over == KC_EVALUATOR_YARDSTICK_OVER_BASE
                                            ? KC_RUNNER_WHO_BASE
                                            : KC_RUNNER_WHO_BASELINE,
                                 .program = y->program,
                                 .code = &codes[i]};
    }
    kc_job_t job;
    kc_job_init (&job, self->bench, card, sides, n, &shape, 1);
    kc_runner_timing_t *t = job.job->timing = kc_type_new (&kc_runner_timing_type);
    // While searching on a model the content is fixed per process and task, so that its
    // reference is kept.
    const bool search = self->request->purpose == KC_EVALUATOR_EVALUATE_PURPOSE_SEARCH;
    self->timing_seed =
        kc_case_seed (s_estimate (self) && search ? self->bench->secret : self->secret,
                      self->card_hash, 0, 0, 0);
    t->shape = 0;
    t->seed = self->timing_seed;
    t->graph = self->graph;
    const int64_t bytes = s_output_bytes (card);
    t->verify = bytes <= 0 ? 0 : bytes > EVAL_VERIFY_BYTES ? 1 : EVAL_VERIFY;
    while (t->verify > 1 && t->verify * bytes > EVAL_VERIFY_BYTES)
        t->verify--;
    job.job->seconds = EVAL_SECONDS;
    job.job->instructions = EVAL_FULL_INSTRUCTIONS;
    const kc_run_spec_t run = {
        .runner = self->bench->runner,
        .mode = "evaluate",
        .job = job.job,
        .binaries = job.binaries,
        .lock_fd = fd,
        .wall_ms = self->bench->wall_ms > 0 ? self->bench->wall_ms : EVAL_TIME_WALL_MS,
        .on_record = s_on_record,
        .on_data = s_on_data,
        .on_end = s_on_end,
        .arg = self};
    kc_err_t err;
    self->run = kc_run_start (self->bench->loop, &run, &err);
    kc_job_free (&job);
    if (fd >= 0)
        close (fd);
    if (!self->run) {
        kc_judge_finding (self->verdict, KC_VERDICT_STATUS_INFRA_ERROR,
                          "starting the runner: %s", err.text);
        s_over (self);
    }
}

static void s_time (kc_evaluate_t *self)
{
    kc_bench_lock (&self->lock, self->bench, s_time_locked, self);
}

// ---- check ----

static void s_on_checked (void *arg)
{
    kc_evaluate_t *self = arg;
    self->check_s += s_phase (self);
    kc_verdict_t *v = self->verdict;
    if (v->checked && v->n_findings == 0 && v->checked->runs > 0
        && self->shape_applies[self->shapes - 1] && !s_estimate (self))
        v->checked->shapes = (int64_t)self->shapes;
    if (v->n_findings > 0 || !self->request->time)
        s_over (self);
    else
        s_time (self);
}

// Bytes of all tensors at the task's shape: what one case there moves.
static int64_t s_task_bytes (const kc_card_t *card)
{
    int64_t sum = 0;
    for (size_t i = 0; i < card->n_tensors; i++) {
        int64_t elements = 1;
        for (size_t d = 0; d < card->tensors[i].n_sizes; d++)
            elements *= card->tensors[i].sizes[d];
        sum += elements * (int64_t)kc_element_size (card->tensors[i].dtype);
    }
    return sum;
}

// Large tensors take a second a case, most of it on the host: the check shapes carry the seeds and value
// ranges, the task's shape has each range once, or one cheap content when it is very large, and its timed
// runs are compared as well.
static int s_full_seeds (const kc_evaluate_t *self, bool confirm)
{
    if (s_task_bytes (self->request->card) <= EVAL_SMALL_BYTES
        || self->request->card->n_checks == 0)
        return 0;
    return confirm ? 3 : 1;
}

static bool s_is_large (const kc_card_t *card)
{
    return card->n_checks > 0 && s_task_bytes (card) > EVAL_LARGE_BYTES;
}

static void s_check (kc_evaluate_t *self)
{
    const bool confirm =
        self->request->purpose == KC_EVALUATOR_EVALUATE_PURPOSE_CONFIRM;
    const kc_cases_options_t options = {.confirm = confirm,
                                        .full_is_costly = s_estimate (self) || s_is_large (self->request->card),
                                        .full_seeds = s_full_seeds (self, confirm),
                                        .full_instructions = EVAL_FULL_INSTRUCTIONS,
                                        .no_full =
                                            s_estimate (self) && self->request->time};
    size_t n;
    kc_runner_case_t *all = kc_cases (self->request->card, self->secret, &options, &n);
    self->cases = kc_calloc (n + 1, sizeof *self->cases);
    for (size_t i = 0; i < n; i++)
        if (self->shape_applies[all[i].shape])
            self->cases[self->n_cases++] = all[i];
    free (all);
    const kc_trial_spec_t spec = {
        .bench = self->bench,
        .card = self->request->card,
        .reference = {.who = KC_RUNNER_WHO_REFERENCE,
                      .program =
                          self->promoted ? self->promoted : self->request->card->seed,
                      .card = self->promoted_card,
                      .code = self->reference_code},
        .candidate = {.who = KC_RUNNER_WHO_CANDIDATE,
                      .program = self->request->program,
                      .code = self->candidate_code},
        .reference_exact = self->promoted != NULL,
        .cases = self->cases,
        .n_cases = self->n_cases,
        .instructions = EVAL_RUN_INSTRUCTIONS,
        .seconds = EVAL_SECONDS,
        .bound_ms = EVAL_BOUND_MS,
        .verdict = self->verdict,
        .done = s_on_checked,
        .arg = self,
    };
    self->trial = kc_trial_start (&spec);
    self->verdict->checked->reference = self->promoted
                                            ? KC_VERDICT_CHECKED_REFERENCE_SEED_FP64
                                            : KC_VERDICT_CHECKED_REFERENCE_SEED;
}

// ---- compile ----

// Copy findings of a unit or a plan; 'whose' NULL = the candidate's own.
static void s_take (kc_evaluate_t *self, const kc_verdict_t *from, const char *whose)
{
    for (size_t i = 0; i < from->n_findings; i++) {
        if (whose)
            kc_judge_finding (self->verdict, KC_VERDICT_STATUS_INFRA_ERROR, "%s: %s",
                              whose, from->findings[i].text);
        else
            kc_judge_add (self->verdict, &from->findings[i], NULL);
    }
}

// The plan at a shape, only to see whether it can be made: the runner makes its own.
static void s_plan (kc_evaluate_t *self, size_t shape)
{
    const kc_card_t *card = self->request->card;
    const kc_compiled_t *code = self->candidate_code[shape];
    size_t n;
    const kc_task_setting_t *dims = kc_case_dims (card, (int64_t)shape, &n);
    kc_verdict_t *v = kc_judge_new (NULL);
    kc_plan_t *plan =
        kc_plan_build (card, self->request->program, dims, n, &self->bench->facts,
                       code->kernels, code->n_kernels, v);
    if (plan && kc_plan_runnable (plan, v) < 0)
        kc_plan_destroy (&plan);
    self->shape_applies[shape] = plan != NULL;
    const bool last = shape + 1 == self->shapes;
    if (plan && last)
        self->graph = plan->graph;
    // A program that says by its conditions that a size is not its own is specialised,
    // not wrong.
    if (!plan && !last && v->n_findings > 0
        && strstr (v->findings[0].text, "no step applies"))
        kc_judge_label (self->verdict, KC_VERDICT_LABEL_SPECIALISED);
    else if (!plan)
        s_take (self, v, NULL);
    kc_verdict_free (&v);
    kc_plan_destroy (&plan);
}

// The canonical plan: the program without its text, and what its other shapes compile
// to.
static int s_code_hash (kc_evaluate_t *self, kc_err_t *err)
{
    kc_program_t *bare = kc_program_dup (self->request->program);
    kc_set (&bare->source,
            "-"); // the text itself does not count, only what it compiles to
    size_t size;
    char *plan = kc_program_encode (bare, &size);
    kc_program_free (&bare);
    int rc = plan ? 0 : kc_fail (err, KC_EINTERNAL, "the program breaks its schema");
    char hex[KC_SHA_HEX];
    for (size_t i = 0; i < self->shapes && rc == 0; i++) {
        kc_compiled_t code = *self->candidate_code[i];
        if (code.n_kernels
            == 0) { // fills and copies only: an empty cubin has no code section
            code.cubin = NULL;
            code.cubin_size = 0;
        }
        rc = kc_code_hash (plan, &code, hex, err);
        if (rc == 0 && i + 1 < self->shapes) {
            char *longer = kc_asprintf ("%s %s", plan, hex);
            free (plan);
            plan = longer;
        }
    }
    if (rc == 0)
        kc_set (&self->verdict->code_hash, hex);
    free (plan);
    return rc;
}

static int s_cache_key (kc_evaluate_t *self, kc_err_t *err)
{
    char hashes[EVAL_YARDSTICKS][KC_SHA_HEX], hex[KC_SHA_HEX];
    const char *yardsticks[EVAL_YARDSTICKS];
    for (size_t i = 0; i < self->n_yardsticks; i++) {
        if (kc_type_hash (&kc_program_type, self->yardsticks[i].program, hashes[i]) < 0)
            return kc_fail (err, KC_EINTERNAL, "a yardstick breaks its schema");
        yardsticks[i] = hashes[i];
    }
    const kc_judge_key_t key = {.code_hash = self->verdict->code_hash,
                                .card = self->request->card,
                                .yardsticks = yardsticks,
                                .n_yardsticks = self->n_yardsticks,
                                .compiler = kc_compiler_version (self->bench->compiler),
                                .timed = self->request->time};
    if (kc_judge_cache_key (&key, hex) < 0)
        return kc_fail (err, KC_EINTERNAL, "the card breaks its schema");
    kc_set (&self->verdict->cache_key, hex);
    return 0;
}

// What the code contains against the task's policy (kernel-program 1.10 H7).
static void s_policy (kc_evaluate_t *self, const kc_code_facts_t *f)
{
    if (f->tensor_tf32 > 0)
        kc_judge_label (self->verdict, KC_VERDICT_LABEL_TF32);
    const kc_card_policy_t policy = self->request->card->policy;
    const bool strict = policy == KC_CARD_POLICY_FP32 || policy == KC_CARD_POLICY_FP64;
    bool narrow_data = false;
    for (size_t i = 0; i < self->request->card->n_tensors; i++) {
        const kc_program_dtype_t d = self->request->card->tensors[i].dtype;
        narrow_data = narrow_data || (kc_dtype_is_float (d) && kc_element_size (d) < 4);
    }
    if (!strict || narrow_data
        || f->tensor_tf32 + f->tensor_f16 + f->tensor_bf16 + f->tensor_fp8 == 0)
        return;
    kc_verdict_finding_t *x = kc_judge_finding (
        self->verdict, KC_VERDICT_STATUS_PLAN_ERROR,
        "the task's policy %s forbids tensor instructions on TF32 or 16-bit inputs, "
        "the compiled code has %d",
        kc_card_policy_name (policy),
        f->tensor_tf32 + f->tensor_f16 + f->tensor_bf16 + f->tensor_fp8);
    if (x)
        kc_set (&x->fix, "multiply in fp32, or submit the task with //@ policy tf32");
}

static void s_on_units (void *arg)
{
    kc_evaluate_t *self = arg;
    kc_err_t err = {0};
    self->compile_s += s_phase (self);
    const kc_verdict_t *shown = kc_units_verdict (self->units, self->shapes - 1);
    if (shown->log)
        kc_set (&self->verdict->log, shown->log);
    for (size_t i = 0; i < self->shapes; i++) {
        self->candidate_code[i] = kc_units_code (self->units, i);
        if (!self->candidate_code[i] && self->verdict->n_findings == 0) {
            s_take (self, kc_units_verdict (self->units, i), NULL);
            self->verdict->status = kc_units_verdict (self->units, i)->status;
        }
    }
    if (self->verdict->n_findings > 0) {
        s_over (self);
        return;
    }
    for (size_t i = self->shapes;
         i-- > 0 && self->verdict->n_findings == 0;) // the task's own shape first
        s_plan (self, i);
    if (self->verdict->n_findings > 0) {
        s_over (self);
        return;
    }
    if (s_code_hash (self, &err) < 0 || s_cache_key (self, &err) < 0) {
        kc_judge_finding (self->verdict, KC_VERDICT_STATUS_INFRA_ERROR, "%s", err.text);
        s_over (self);
        return;
    }
    s_policy (self, &self->candidate_code[self->shapes - 1]->facts);
    if (self->verdict->n_findings > 0 || self->request->cache_probe) {
        s_over (self);
        return;
    }
    for (size_t i = 0; i < self->shapes; i++) {
        self->reference_code[i] = kc_units_code (self->units, self->shapes + i);
        if (!self->reference_code[i])
            s_take (self, kc_units_verdict (self->units, self->shapes + i),
                    "the reference");
    }
    for (size_t i = 0; i < self->n_yardsticks; i++)
        if (!kc_units_code (self->units, self->yardsticks[i].unit))
            s_take (self, kc_units_verdict (self->units, self->yardsticks[i].unit),
                    "a yardstick");
    if (self->verdict->n_findings > 0)
        s_over (self);
    else
        s_check (self);
}

static void s_spec (kc_evaluate_t *self, const kc_card_t *card,
                    const kc_program_t *program, size_t shape)
{
    kc_unit_spec_t *u = &self->specs[self->n_specs++];
    *u = (kc_unit_spec_t){.card = card, .program = program};
    u->dims = kc_case_dims (self->request->card, (int64_t)shape, &u->n_dims);
}

static int s_accept (const kc_bench_t *bench, const kc_evaluator_evaluate_t *r,
                     kc_err_t *err)
{
    if (kc_bench_serves (bench, r->card->device, err) < 0)
        return -1;
    if (!r->card->seed)
        return kc_fail (err, KC_EUNSUPPORTED,
                        "the card has no given kernel to serve as reference; only cuda "
                        "tasks are evaluated");
    if (r->card->n_checks >= EVAL_SHAPES)
        return kc_fail (err, KC_EINVALID,
                        "the card has %zu check shapes, at most %d are allowed",
                        r->card->n_checks, EVAL_SHAPES - 1);
    return 0;
}

kc_evaluate_t *kc_evaluate_start (kc_bench_t *bench, kc_evaluator_evaluate_t *request,
                                  int64_t queued_ms, kc_evaluate_f *done, void *arg,
                                  kc_err_t *err)
{
    if (s_accept (bench, request, err) < 0) {
        kc_evaluator_evaluate_free (&request);
        return NULL;
    }
    kc_evaluate_t *self = kc_calloc (1, sizeof *self);
    *self = (kc_evaluate_t){.bench = bench,
                            .request = request,
                            .done = done,
                            .arg = arg,
                            .queued_ms = queued_ms};
    self->started = self->phase = kc_clock_ms ();
    self->verdict = kc_judge_new (request->card);
    self->shapes = request->card->n_checks + 1;
    kc_secret (self->secret);
    kc_type_hash (&kc_card_type, request->card, self->card_hash);
    if (request->card->reference == KC_CARD_REFERENCE_SEED_FP64) {
        kc_err_t why;
        self->promoted =
            kc_promote (request->card, request->card->seed, &self->promoted_card, &why);
    }
    for (size_t i = 0; i < self->shapes; i++)
        s_spec (self, request->card, request->program, i);
    for (size_t i = 0; i < self->shapes && !request->cache_probe; i++)
        s_spec (self, self->promoted_card ? self->promoted_card : request->card,
                self->promoted ? self->promoted : request->card->seed, i);
    for (size_t i = 0; i < request->n_yardsticks && i < EVAL_YARDSTICKS; i++) {
        self->yardsticks[self->n_yardsticks++] =
            (yardstick_t){.over = request->yardsticks[i].over,
                          .program = request->yardsticks[i].program,
                          .unit = self->n_specs,
                          .contestant = -1};
        if (!request->cache_probe)
            s_spec (self, request->card, request->yardsticks[i].program,
                    self->shapes - 1);
    }
    self->units = kc_units_start (bench, self->specs, self->n_specs, s_on_units, self);
    return self;
}

static void s_outputs_free (timed_output_t *outputs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free (outputs[i].data);
    free (outputs);
}

void kc_evaluate_destroy (kc_evaluate_t **self_p)
{
    kc_evaluate_t *self = *self_p;
    *self_p = NULL;
    if (!self)
        return;
    kc_loop_timer_del (self->bench->loop, self->timer);
    kc_bench_lock_cancel (&self->lock);
    kc_run_cancel (&self->run);
    kc_trial_destroy (&self->trial);
    kc_units_destroy (&self->units);
    kc_verdict_free (&self->verdict);
    kc_type_free (&kc_runner_times_type, self->times);
    s_outputs_free (self->timed, self->n_timed);
    s_outputs_free (self->expected, self->n_expected);
    free (self->keys);
    free (self->cases);
    kc_program_free (&self->promoted);
    kc_card_free (&self->promoted_card);
    kc_evaluator_evaluate_free (&self->request);
    free (self);
}
