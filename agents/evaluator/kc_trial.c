// kc_trial.c - see kc_trial.h

#include "agents/evaluator/kc_trial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agents/gpu/judge/kc_judge.h"
#include "common/model/kc_card.h"
#include "common/util/kc_clock.h"
#include "common/util/kc_mem.h"

typedef struct expected { // one output of one case
    char *data;
    size_t size, have;
} expected_t;

typedef struct group { // outputs of few elements: sums over the seeds of a shape and
                       // value range
    double squares;
    int64_t count;
} group_t;

struct kc_trial {
    kc_trial_spec_t spec;
    size_t *outputs; // indices of the card's output tensors
    size_t n_outputs;
    size_t from, to;      // the batch
    expected_t *expected; // by case of the batch and output
    group_t *groups;      // by shape, values and output
    uint64_t *digests;    // of run 0, by output
    int64_t started;
    kc_bench_lock_t lock;
    kc_run_t *run;
    bool reference_runs;
    // the output that is arriving
    size_t now_case, now_output;
    expected_t *now;
    kc_compare_t compare;
    int64_t now_left;
    int64_t now_sizes[KC_COMPARE_RANK];
    int now_rank;
    bool skipped, over;
    int64_t timer;
    size_t *map; // reference: case of the job -> case of the trial
};

enum { TRIAL_VALUES = 5, TRIAL_SHAPES = 16 };

static void s_next (kc_trial_t *self);

// ---- sizes ----

static const kc_card_t *s_reference_card (const kc_trial_t *self)
{
    return self->spec.reference.card ? self->spec.reference.card : self->spec.card;
}

int kc_trial_compare (const kc_card_t *card, const kc_card_t *reference_card,
                      bool reference_exact, int64_t shape, size_t tensor,
                      kc_compare_spec_t *out, int64_t sizes[KC_COMPARE_RANK], int *rank,
                      kc_err_t *err)
{
    size_t n;
    const kc_task_setting_t *dims = kc_case_dims (card, shape, &n);
    int64_t (*all)[KC_COMPARE_RANK] = kc_calloc (card->n_tensors, sizeof *all);
    int *ranks = kc_calloc (card->n_tensors, sizeof *ranks);
    int rc = 0;
    for (size_t i = 0; i < card->n_tensors && rc == 0; i++) {
        ranks[i] = kc_card_sizes (card, i, dims, n, all[i], err);
        rc = ranks[i] < 0 ? -1 : 0;
    }
    if (rc == 0) {
        *rank = ranks[tensor];
        memcpy (sizes, all[tensor], sizeof all[tensor]);
        *out =
            (kc_compare_spec_t){.got_dtype = card->tensors[tensor].dtype,
                                .expected_dtype = reference_card->tensors[tensor].dtype,
                                .elements = 1,
                                .poison = -1};
        for (int d = 0; d < *rank; d++)
            out->elements *= sizes[d];
        const double reduction =
            kc_reduction_bound (card, (const int64_t (*)[KC_COMPARE_RANK])all, ranks);
        out->tolerance =
            kc_tolerance (card->policy, out->got_dtype, reduction, reference_exact);
    }
    free (all);
    free (ranks);
    return rc;
}

static int64_t s_bytes (const kc_trial_t *self, size_t number)
{
    int64_t sum = 0;
    for (size_t o = 0; o < self->n_outputs; o++) {
        kc_compare_spec_t c;
        int64_t sizes[KC_COMPARE_RANK];
        int rank;
        if (kc_trial_compare (self->spec.card, s_reference_card (self), true,
                              self->spec.cases[number].shape, self->outputs[o], &c,
                              sizes, &rank, NULL)
            == 0)
            sum += c.elements * (int64_t)kc_element_size (c.expected_dtype);
    }
    return sum;
}

static group_t *s_group (kc_trial_t *self, size_t number, size_t output)
{
    const kc_runner_case_t *c = &self->spec.cases[number];
    return &self->groups[((size_t)c->shape * TRIAL_VALUES + (size_t)c->values)
                             * self->n_outputs
                         + output];
}

// ---- the end ----

static void s_on_over (kc_loop_t *loop, int64_t timer, void *arg)
{
    (void)loop;
    (void)timer;
    kc_trial_t *self = arg;
    self->timer = 0;
    self->spec.done (self->spec.arg);
}

static void s_over (kc_trial_t *self)
{
    if (self->over)
        return;
    self->over = true;
    self->timer = kc_loop_timer_add (self->spec.bench->loop, 0, 0, s_on_over, self);
}

void kc_trial_end (kc_verdict_t *verdict, const kc_run_end_t *end, bool reference,
                   const char *name)
{
    kc_verdict_finding_t *f = NULL;
    if (end->outcome == KC_RUN_TIMEOUT && !reference)
        f = kc_judge_finding (verdict, KC_VERDICT_STATUS_TIMEOUT, "%s", end->text);
    else
        f = kc_judge_finding (verdict, KC_VERDICT_STATUS_INFRA_ERROR, "%s%s%s%.400s",
                              reference ? "reference: " : "", end->text,
                              end->output[0] ? ": " : "", end->output);
    if (f && name)
        f->case_ = kc_utf8_clean (name, strlen (name), 256);
}

// ---- records of a runner ----

static size_t s_case_of (const kc_trial_t *self, int64_t number)
{
    return self->reference_runs ? self->map[number] : self->from + (size_t)number;
}

static size_t s_output_of (const kc_trial_t *self, const char *tensor)
{
    for (size_t o = 0; o < self->n_outputs; o++)
        if (tensor
            && strcmp (self->spec.card->tensors[self->outputs[o]].name, tensor) == 0)
            return o;
    return self->n_outputs;
}

static int s_begin_output (kc_trial_t *self, const kc_runner_record_t *r, kc_err_t *err)
{
    if (r->case_ < 0 || (size_t)r->case_ >= self->to - self->from || self->now_left > 0)
        return kc_fail (err, KC_EPROTO, "an output that was not asked for");
    self->now_case = s_case_of (self, r->case_);
    self->now_output = s_output_of (self, r->tensor);
    if (self->now_output == self->n_outputs)
        return kc_fail (err, KC_EPROTO, "an output %s that the task does not have",
                        r->tensor ? r->tensor : "");
    kc_compare_spec_t spec;
    const kc_runner_case_t *c = &self->spec.cases[self->now_case];
    if (kc_trial_compare (self->spec.card, s_reference_card (self),
                          self->spec.reference_exact, c->shape,
                          self->outputs[self->now_output], &spec, self->now_sizes,
                          &self->now_rank, err)
        < 0)
        return -1;
    const kc_program_dtype_t dtype =
        self->reference_runs ? spec.expected_dtype : spec.got_dtype;
    if (r->bytes != spec.elements * (int64_t)kc_element_size (dtype))
        return kc_fail (err, KC_EPROTO, "output %s has %lld bytes", r->tensor,
                        (long long)r->bytes);
    self->now_left = r->bytes;
    // run 1 repeats run 0 on the same content
    size_t owner = self->now_case;
    while (self->spec.cases[owner].run != 0 && owner > self->from)
        owner--;
    self->now =
        &self->expected[(owner - self->from) * self->n_outputs + self->now_output];
    if (self->reference_runs) {
        self->now->data = kc_malloc ((size_t)r->bytes + 8);
        self->now->size = (size_t)r->bytes;
        return 0;
    }
    if (!self->now->data || self->now->have != self->now->size)
        return kc_fail (err, KC_EINTERNAL, "no expected output for %s", r->tensor);
    spec.expected = self->now->data;
    spec.poison = (int)c->poison;
    const group_t *g = s_group (self, self->now_case, self->now_output);
    spec.group_rms = g->count > 0 ? sqrt (g->squares / (double)g->count) : 0;
    kc_compare_start (&self->compare, &spec);
    return 0;
}

static void s_end_expected (kc_trial_t *self)
{
    const size_t tensor = self->outputs[self->now_output];
    const kc_program_dtype_t dtype = s_reference_card (self)->tensors[tensor].dtype;
    const int64_t elements = (int64_t)(self->now->size / kc_element_size (dtype));
    if (elements <= KC_COMPARE_FEW) {
        group_t *g = s_group (self, self->now_case, self->now_output);
        kc_element_squares (dtype, self->now->data, elements, &g->squares, &g->count);
    }
    if (self->spec.on_expected)
        self->spec.on_expected (self->spec.arg, self->now_case, tensor, self->now->data,
                                elements);
}

static void s_end_compared (kc_trial_t *self)
{
    const kc_runner_case_t *c = &self->spec.cases[self->now_case];
    const bool right = kc_compare_end (&self->compare);
    char *name = kc_case_name (self->spec.card, c);
    kc_judge_output (self->spec.verdict, &self->compare, right,
                     self->spec.card->tensors[self->outputs[self->now_output]].name,
                     self->now_sizes, self->now_rank, name);
    free (name);
    if (c->run == 0)
        self->digests[self->now_output] = self->compare.digest;
    else if (self->digests[self->now_output] != self->compare.digest)
        kc_judge_label (self->spec.verdict, KC_VERDICT_LABEL_NONDETERMINISTIC);
}

static int s_on_data (void *arg, const void *data, size_t size, kc_err_t *err)
{
    kc_trial_t *self = arg;
    if ((int64_t)size > self->now_left)
        return kc_fail (err, KC_EPROTO, "more bytes than announced");
    self->now_left -= (int64_t)size;
    if (self->reference_runs) {
        memcpy (self->now->data + self->now->have, data, size);
        self->now->have += size;
        if (self->now_left == 0)
            s_end_expected (self);
        return 0;
    }
    kc_compare_feed (&self->compare, data, size);
    if (self->now_left == 0)
        s_end_compared (self);
    return 0;
}

static kc_verdict_checked_t *s_checked (kc_trial_t *self)
{
    if (!self->spec.verdict->checked)
        self->spec.verdict->checked = kc_verdict_checked_new ();
    return self->spec.verdict->checked;
}

static void s_take_findings (kc_trial_t *self, const kc_runner_record_t *r)
{
    kc_verdict_t *v = self->spec.verdict;
    char *name = NULL;
    if (r->case_ >= 0 && (size_t)r->case_ < self->to - self->from)
        name = kc_case_name (self->spec.card,
                             &self->spec.cases[s_case_of (self, r->case_)]);
    for (size_t i = 0; i < r->n_findings; i++) {
        if (!self->reference_runs || self->spec.reference_is_given) {
            kc_judge_add (v, &r->findings[i], name);
            continue;
        }
        kc_verdict_finding_t *f =
            kc_judge_finding (v, KC_VERDICT_STATUS_INFRA_ERROR,
                              "the reference failed: %s", r->findings[i].text);
        if (f && name)
            kc_set (&f->case_, name);
    }
    free (name);
}

static int s_on_record (void *arg, const kc_runner_record_t *r, kc_err_t *err)
{
    kc_trial_t *self = arg;
    switch (r->kind) {
    case KC_RUNNER_RECORD_KIND_OUTPUT:
        return s_begin_output (self, r, err);
    case KC_RUNNER_RECORD_KIND_FINDING:
        s_take_findings (self, r);
        return 0;
    case KC_RUNNER_RECORD_KIND_KERNELS:
        if (!self->reference_runs && r->shape == (int64_t)self->spec.card->n_checks)
            kc_judge_kernels (self->spec.verdict, r->kernels, r->n_kernels);
        return 0;
    case KC_RUNNER_RECORD_KIND_SKIPPED:
        self->skipped = true;
        return 0;
    case KC_RUNNER_RECORD_KIND_RAN:
        self->now_case = r->case_ >= 0 ? s_case_of (self, r->case_) + 1
                                       : 0; // what a time limit would hit
        if (self->reference_runs)
            return 0;
        s_checked (self)->runs++;
        if (r->case_ >= 0 && (size_t)r->case_ < self->to - self->from
            && self->spec.cases[self->now_case - 1].run == 0)
            s_checked (self)->cases++;
        if (self->spec.verdict->n_findings > 0
            || (self->spec.bound_ms > 0
                && kc_clock_ms () - self->started > self->spec.bound_ms))
            return kc_fail (err, KC_ECANCELLED, "enough is known");
        return 0;
    case KC_RUNNER_RECORD_KIND_UNSET:
    case KC_RUNNER_RECORD_KIND_DEVICE:
    case KC_RUNNER_RECORD_KIND_TIMES:
    case KC_RUNNER_RECORD_KIND_PROFILE:
    case KC_RUNNER_RECORD_KIND_DONE:
        break;
    }
    return 0;
}

static void s_batch_free (kc_trial_t *self)
{
    for (size_t i = 0; self->expected && i < (self->to - self->from) * self->n_outputs;
         i++)
        free (self->expected[i].data);
    free (self->expected);
    self->expected = NULL;
}

static void s_on_end (void *arg, const kc_run_end_t *end)
{
    kc_trial_t *self = arg;
    self->run = NULL;
    const bool bound =
        self->spec.bound_ms > 0 && kc_clock_ms () - self->started > self->spec.bound_ms;
    // 'enough is known' ended it: findings or the bound say the rest
    const bool ours = end->outcome == KC_RUN_PROTOCOL && !self->reference_runs
                      && (bound || self->spec.verdict->n_findings > 0);
    if (end->outcome != KC_RUN_DONE && !ours && self->spec.verdict->n_findings == 0) {
        char *name = kc_case_name (
            self->spec.card,
            &self->spec
                 .cases[self->now_case < self->spec.n_cases ? self->now_case : 0]);
        kc_trial_end (self->spec.verdict, end,
                      self->reference_runs && !self->spec.reference_is_given, name);
        free (name);
    }
    if (self->spec.verdict->n_findings > 0) {
        s_over (self);
        return;
    }
    if (self->reference_runs) {
        self->reference_runs = false;
        s_next (self);
        return;
    }
    s_batch_free (self);
    self->from = self->to;
    self->reference_runs = true;
    if (bound || self->from >= self->spec.n_cases)
        s_over (self);
    else
        s_next (self);
}

// ---- runs ----

static void s_locked (void *arg, int fd)
{
    kc_trial_t *self = arg;
    const kc_trial_spec_t *s = &self->spec;
    const size_t n_shapes = s->card->n_checks + 1;
    int64_t shapes[TRIAL_SHAPES];
    for (size_t i = 0; i < n_shapes; i++)
        shapes[i] = (int64_t)i;
    kc_job_t job;
    kc_job_init (&job, s->bench, s->card,
                 self->reference_runs ? &s->reference : &s->candidate, 1, shapes,
                 n_shapes);
    size_t n = 0;
    for (size_t i = self->from; i < self->to; i++)
        if (!self->reference_runs || s->cases[i].run == 0) {
            kc_runner_case_t c = s->cases[i];
            if (self->reference_runs)
                self->map[n++] = i;
            else if (c.instructions == 0)
                c.audit = c.run == 1; // one run of each kind looks at every step
            kc_job_case (&job, &c);
        }
    job.job->seconds = s->seconds;
    job.job->instructions = self->reference_runs ? 0 : s->instructions;
    self->now_case = self->from;
    self->now_left = 0;
    const kc_run_spec_t run = {.runner = s->bench->runner,
                               .mode = "evaluate",
                               .job = job.job,
                               .binaries = job.binaries,
                               .lock_fd = fd,
                               .wall_ms = s->bench->wall_ms > 0 ? s->bench->wall_ms
                                                                : KC_TRIAL_WALL_MS,
                               .on_record = s_on_record,
                               .on_data = s_on_data,
                               .on_end = s_on_end,
                               .arg = self};
    kc_err_t err;
    self->run = kc_run_start (s->bench->loop, &run, &err);
    // the binaries belong to the compiled code and stay; the array is only read at the
    // start
    kc_job_free (&job);
    if (fd >= 0)
        close (fd); // the child holds it now
    if (!self->run) {
        kc_judge_finding (s->verdict, KC_VERDICT_STATUS_INFRA_ERROR,
                          "starting the runner: %s", err.text);
        s_over (self);
    }
}

// Choose the batch when the reference is to run, then start a runner.
static void s_next (kc_trial_t *self)
{
    const kc_trial_spec_t *s = &self->spec;
    if (self->reference_runs) {
        int64_t bytes = 0;
        self->to = self->from;
        while (self->to < s->n_cases) {
            const int64_t more =
                s->cases[self->to].run == 0 ? s_bytes (self, self->to) : 0;
            if (self->to > self->from && bytes + more > KC_TRIAL_EXPECTED)
                break;
            bytes += more;
            self->to++;
        }
        self->expected = kc_calloc ((self->to - self->from) * self->n_outputs + 1,
                                    sizeof *self->expected);
    }
    kc_bench_lock (&self->lock, s->bench, s_locked, self);
}

kc_trial_t *kc_trial_start (const kc_trial_spec_t *spec)
{
    kc_trial_t *self = kc_calloc (1, sizeof *self);
    self->spec = *spec;
    for (size_t i = 0; i < spec->card->n_tensors; i++)
        if (spec->card->tensors[i].role == KC_CARD_TENSOR_ROLE_OUTPUT
            || spec->card->tensors[i].role == KC_CARD_TENSOR_ROLE_INOUT) {
            size_t *slot = kc_push (&self->outputs, &self->n_outputs, sizeof *slot);
            *slot = i;
        }
    self->groups = kc_calloc (TRIAL_SHAPES * TRIAL_VALUES * self->n_outputs + 1,
                              sizeof *self->groups);
    self->digests = kc_calloc (self->n_outputs + 1, sizeof *self->digests);
    self->map = kc_calloc (spec->n_cases + 1, sizeof *self->map);
    self->started = kc_clock_ms ();
    self->reference_runs = true;
    s_checked (self)->shapes =
        (int64_t)spec->card->n_checks; // the caller adds the task's when it was run
    if (spec->n_cases == 0)
        s_over (self);
    else
        s_next (self);
    return self;
}

void kc_trial_destroy (kc_trial_t **self_p)
{
    kc_trial_t *self = *self_p;
    *self_p = NULL;
    if (!self)
        return;
    kc_bench_lock_cancel (&self->lock);
    kc_loop_timer_del (self->spec.bench->loop, self->timer);
    kc_run_cancel (&self->run);
    s_batch_free (self);
    free (self->outputs);
    free (self->groups);
    free (self->digests);
    free (self->map);
    free (self);
}

bool kc_trial_skipped (const kc_trial_t *self)
{
    return self->skipped;
}

double kc_trial_scale (const kc_trial_t *self, kc_runner_values_t values, size_t tensor)
{
    double largest = 0;
    for (size_t o = 0; o < self->n_outputs; o++)
        for (size_t shape = 0;
             shape <= self->spec.card->n_checks && self->outputs[o] == tensor;
             shape++) {
            const group_t *g =
                &self->groups[(shape * TRIAL_VALUES + (size_t)values) * self->n_outputs
                              + o];
            const double rms = g->count > 0 ? sqrt (g->squares / (double)g->count) : 0;
            largest = rms > largest ? rms : largest;
        }
    return largest;
}
