// kc_inspect.c - see kc_inspect.h

#include "agents/evaluator/kc_inspect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agents/evaluator/kc_fetch.h"
#include "agents/evaluator/kc_trial.h"
#include "agents/evaluator/kc_trivial.h"
#include "agents/gpu/bench/kc_units.h"
#include "agents/gpu/judge/kc_content.h"
#include "agents/gpu/judge/kc_judge.h"
#include "common/model/kc_card.h"
#include "common/model/kc_finding.h"
#include "common/model/kc_promote.h"
#include "common/util/kc_mem.h"

enum {
    INSPECT_SHAPES = 9,
    INSPECT_SEEDS = 3, // per check shape and value range
    INSPECT_REFUSALS = 16,
    INSPECT_NOTES = 16,
    INSPECT_TRIVIAL_MAX =
        1 << 20, // elements of an output that trivial solutions are tried on
    INSPECT_BOUND_MS = 30000,
};
#define INSPECT_INSTRUCTIONS 2000000000ll

typedef struct sample { // an expected output kept for the trivial solutions, as doubles
    size_t tensor;
    int64_t shape;
    double *data;
    int64_t elements;
} sample_t;

struct kc_inspect {
    kc_bench_t *bench;
    kc_evaluator_inspect_t *request;
    kc_inspect_f *done;
    void *arg;
    kc_fetch_t *fetch;
    kc_program_text_t *text;
    kc_card_t *card;
    kc_card_device_t *device;
    kc_program_t *promoted;
    kc_card_t *promoted_card;
    kc_units_t *units;
    kc_unit_spec_t specs[2 * INSPECT_SHAPES];
    size_t n_specs, shapes;
    const kc_compiled_t *seed_code[INSPECT_SHAPES], *promoted_code[INSPECT_SHAPES];
    kc_runner_case_t *cases;
    size_t n_cases;
    kc_trial_t *trial;
    kc_verdict_t *verdict;
    bool against_itself; // the second trial: the seed is its own reference
    sample_t *samples;
    size_t n_samples;
    double
        trivial[KC_TRIVIAL_COUNT]; // largest error seen: one case that tells is enough
    bool tried[KC_TRIVIAL_COUNT];
    kc_err_t err;
    kc_evaluator_inspect_reply_t *reply;
    int64_t timer;
};

static void s_trial (kc_inspect_t *self);

// ---- the end ----

static void s_on_over (kc_loop_t *loop, int64_t timer, void *arg)
{
    (void)loop;
    (void)timer;
    kc_inspect_t *self = arg;
    self->timer = 0;
    kc_evaluator_inspect_reply_t *reply = self->reply;
    self->reply = NULL;
    self->done (self->arg, reply, &self->err);
}

static void s_over (kc_inspect_t *self)
{
    if (!self->timer)
        self->timer = kc_loop_timer_add (self->bench->loop, 0, 0, s_on_over, self);
}

static void s_refuse (kc_inspect_t *self, const char *text)
{
    if (!self->reply)
        self->reply = kc_evaluator_inspect_reply_new ();
    if (self->reply->n_refused >= INSPECT_REFUSALS)
        return;
    char **slot =
        kc_push (&self->reply->refused, &self->reply->n_refused, sizeof *slot);
    *slot = kc_utf8_clean (text, strlen (text), 1000);
}

// Refuse with findings, in the author's lines; infrastructure is no fault of the task.
static void s_refuse_findings (kc_inspect_t *self, kc_verdict_t *v, const char *where)
{
    if (v->status == KC_VERDICT_STATUS_INFRA_ERROR && v->n_findings > 0) {
        kc_fail (&self->err, KC_EIO, "%s%s", where, v->findings[0].text);
        s_over (self);
        return;
    }
    if (self->text)
        kc_program_text_locate (self->text, v);
    for (size_t i = 0; i < v->n_findings; i++) {
        const kc_verdict_finding_t *f = &v->findings[i];
        char *line = f->has_line && f->line > 0
                         ? kc_asprintf ("line %lld: ", (long long)f->line)
                         : kc_strdup ("");
        char *text =
            kc_asprintf ("%s%s%s%s%s%s", line, where, f->text, f->case_ ? " (" : "",
                         f->case_ ? f->case_ : "", f->case_ ? ")" : "");
        s_refuse (self, text);
        free (line);
        free (text);
    }
    if (v->n_findings == 0)
        s_refuse (self, "the task is refused without a reason; please report it");
    s_over (self);
}

static void s_note (kc_inspect_t *self, const char *text)
{
    if (self->card->n_notes >= INSPECT_NOTES)
        return;
    char **slot = kc_push (&self->card->notes, &self->card->n_notes, sizeof *slot);
    *slot = kc_utf8_clean (text, strlen (text), 500);
}

static void s_accept (kc_inspect_t *self)
{
    self->reply = kc_evaluator_inspect_reply_new ();
    self->reply->card = self->card;
    self->card = NULL;
    s_over (self);
}

// ---- trivial solutions ----

static const double *s_earlier (const kc_inspect_t *self, size_t tensor, int64_t shape,
                                int64_t elements)
{
    for (size_t i = 0; i < self->n_samples; i++)
        if (self->samples[i].tensor == tensor && self->samples[i].shape == shape
            && self->samples[i].elements == elements)
            return self->samples[i].data;
    return NULL;
}

// The first float input's elements, repeated to the output's length.
static double *s_copy_of_input (const kc_inspect_t *self, const kc_runner_case_t *c,
                                int64_t elements)
{
    const kc_card_t *card = self->card;
    size_t n;
    const kc_task_setting_t *dims = kc_case_dims (card, c->shape, &n);
    for (size_t i = 0; i < card->n_tensors; i++) {
        const kc_card_tensor_t *t = &card->tensors[i];
        int64_t sizes[KC_PLAN_MAX_RANK];
        if (t->role != KC_CARD_TENSOR_ROLE_INPUT || !kc_dtype_is_float (t->dtype))
            continue;
        const int rank = kc_card_sizes (card, i, dims, n, sizes, NULL);
        if (rank < 0)
            return NULL;
        kc_card_fill_t fill;
        kc_card_tensor_t here = *t;
        here.fill = &fill;
        if (kc_card_fill (card, i, dims, n, &fill, NULL) < 0)
            return NULL;
        const kc_content_t content =
            kc_content (&here, sizes, rank, c->values, (int)c->variant, (uint64_t)c->seed);
        if (content.elements <= 0 || content.elements > INSPECT_TRIVIAL_MAX)
            return NULL;
        char *data =
            kc_malloc ((size_t)content.elements * kc_element_size (t->dtype) + 8);
        kc_content_write (&content, t->dtype, data);
        double *out = kc_malloc ((size_t)elements * sizeof *out);
        for (int64_t k = 0; k < elements; k++)
            out[k] = kc_element (
                t->dtype,
                data + (size_t)(k % content.elements) * kc_element_size (t->dtype));
        free (data);
        return out;
    }
    return NULL;
}

static void s_try (kc_inspect_t *self, kc_trivial_t kind, const kc_compare_spec_t *spec,
                   const double *other)
{
    const double error = kc_trivial_error (kind, spec, other);
    if (error < 0)
        return;
    self->tried[kind] = true;
    self->trivial[kind] = error > self->trivial[kind] ? error : self->trivial[kind];
}

static void s_note_trivial (kc_inspect_t *self)
{
    for (int kind = KC_TRIVIAL_ZEROS; kind < KC_TRIVIAL_COUNT; kind++) {
        if (!self->tried[kind] || self->trivial[kind] >= KC_TRIVIAL_MARGIN)
            continue;
        char *text = kc_asprintf (
            "degenerate: %s would pass (largest error %.2g times the limit, %.0f "
            "wanted); "
            "give the inputs a wider fill or the task a larger check shape",
            kc_trivial_name ((kc_trivial_t)kind), self->trivial[kind],
            KC_TRIVIAL_MARGIN);
        s_note (self, text);
        free (text);
    }
}

// Only the task's own values count: structured ones may be trivial on purpose.
static void s_on_expected (void *arg, size_t number, size_t tensor, const void *data,
                           int64_t elements)
{
    kc_inspect_t *self = arg;
    const kc_runner_case_t *c = &self->cases[number];
    const kc_card_t *card = self->card;
    if (c->values != KC_RUNNER_VALUES_TASK || elements == 0
        || elements > INSPECT_TRIVIAL_MAX)
        return;
    kc_compare_spec_t spec;
    int64_t sizes[KC_COMPARE_RANK];
    int rank;
    const kc_card_t *other_card =
        self->against_itself || !self->promoted_card ? card : self->promoted_card;
    if (kc_trial_compare (card, other_card, true, c->shape, tensor, &spec, sizes, &rank,
                          NULL)
        < 0)
        return;
    spec.expected = data;
    // At sizes of one, a copy or a constant may be the right answer (a softmax over one
    // element).
    if (elements >= 16) {
        s_try (self, KC_TRIVIAL_ZEROS, &spec, NULL);
        s_try (self, KC_TRIVIAL_MEAN, &spec, NULL);
        s_try (self, KC_TRIVIAL_MISSING, &spec, NULL);
        double *copy = s_copy_of_input (self, c, elements);
        s_try (self, KC_TRIVIAL_COPY, &spec, copy);
        free (copy);
    }
    else if (elements == 1)
        s_try (self, KC_TRIVIAL_ZEROS, &spec, NULL);
    const double *earlier = s_earlier (self, tensor, c->shape, elements);
    if (earlier) {
        if (elements >= 16 || elements == 1)
            s_try (self, KC_TRIVIAL_OTHER, &spec, earlier);
        return;
    }
    sample_t *s = kc_push (&self->samples, &self->n_samples, sizeof *s);
    *s = (sample_t){.tensor = tensor, .shape = c->shape, .elements = elements};
    s->data = kc_malloc ((size_t)elements * sizeof *s->data);
    kc_content_widen (spec.expected_dtype, data, elements, s->data);
}

static void s_samples_free (kc_inspect_t *self)
{
    for (size_t i = 0; i < self->n_samples; i++)
        free (self->samples[i].data);
    free (self->samples);
    self->samples = NULL;
    self->n_samples = 0;
}

// ---- running the given kernel ----

static void s_on_trial (void *arg)
{
    kc_inspect_t *self = arg;
    kc_trial_destroy (&self->trial);
    if (self->verdict->n_findings == 0) {
        self->card->reference = self->promoted && !self->against_itself
                                    ? KC_CARD_REFERENCE_SEED_FP64
                                    : KC_CARD_REFERENCE_SEED;
        s_note_trivial (self);
        if (kc_judge_has_label (self->verdict, KC_VERDICT_LABEL_NONDETERMINISTIC))
            s_note (self, "the given kernel is not deterministic: two runs on the same "
                          "content differ in their bits");
        if (self->verdict->checked && self->verdict->checked->cases == 0)
            s_note (self, "no evidence: no element was compared while inspecting");
        s_accept (self);
        return;
    }
    const kc_verdict_status_t status = self->verdict->status;
    if (self->promoted && !self->against_itself
        && (status == KC_VERDICT_STATUS_WRONG_OUTPUT
            || status == KC_VERDICT_STATUS_INFRA_ERROR)) {
        // The rewriting disagrees or does not run: it is not admitted, and the given
        // kernel judges itself.
        char *text = kc_asprintf ("reference: the given kernel itself; its rewriting "
                                  "in double was not admitted: %s",
                                  self->verdict->findings[0].text);
        s_note (self, text);
        free (text);
        self->against_itself = true;
        s_samples_free (self);
        s_trial (self);
        return;
    }
    s_refuse_findings (
        self, self->verdict,
        self->card->n_checks > 0 && self->card->checks[0].added
            ? "the given kernel fails at an odd shape, added because the task names none (//@ check lines "
              "say at which other shapes it must be right): "
            : "the given kernel, run at a check shape: ");
}

static void s_trial (kc_inspect_t *self)
{
    kc_verdict_free (&self->verdict);
    self->verdict = kc_judge_new (self->card);
    const bool own = self->against_itself || !self->promoted;
    const kc_trial_spec_t spec = {
        .bench = self->bench,
        .card = self->card,
        .reference = {.who = KC_RUNNER_WHO_REFERENCE,
                      .program = own ? self->card->seed : self->promoted,
                      .card = own ? NULL : self->promoted_card,
                      .code = own ? self->seed_code : self->promoted_code},
        .candidate = {.who = KC_RUNNER_WHO_CANDIDATE,
                      .program = self->card->seed,
                      .code = self->seed_code},
        .reference_exact = !own,
        .reference_is_given = own,
        .cases = self->cases,
        .n_cases = self->n_cases,
        .instructions = INSPECT_INSTRUCTIONS,
        .seconds = 10,
        .bound_ms = INSPECT_BOUND_MS,
        .verdict = self->verdict,
        .on_expected = s_on_expected,
        .done = s_on_trial,
        .arg = self,
    };
    self->trial = kc_trial_start (&spec);
}

static void s_make_cases (kc_inspect_t *self)
{
    char secret[KC_SECRET_HEX];
    kc_secret (secret);
    const kc_cases_options_t options = {.full_is_costly = true,
                                        .no_full = self->card->n_checks > 0,
                                        .full_instructions = INSPECT_INSTRUCTIONS,
                                        .launches = self->card->n_checks > 0
                                                        ? self->card->n_checks * 3
                                                              * (INSPECT_SEEDS + 1)
                                                        : 2};
    self->cases = kc_cases (self->card, secret, &options, &self->n_cases);
}

static void s_on_units (void *arg)
{
    kc_inspect_t *self = arg;
    for (size_t i = 0; i < self->shapes; i++) {
        self->seed_code[i] = kc_units_code (self->units, i);
        if (!self->seed_code[i]) {
            kc_verdict_t *v = kc_verdict_dup (kc_units_verdict (self->units, i));
            s_refuse_findings (self, v, "");
            kc_verdict_free (&v);
            return;
        }
    }
    for (size_t i = 0; i < self->shapes && self->promoted; i++) {
        self->promoted_code[i] = kc_units_code (self->units, self->shapes + i);
        if (self->promoted_code[i])
            continue;
        const kc_verdict_t *v = kc_units_verdict (self->units, self->shapes + i);
        char *text = kc_asprintf ("reference: the given kernel itself; its rewriting "
                                  "in double does not compile: %s",
                                  v->n_findings > 0 ? v->findings[0].text : "");
        s_note (self, text);
        free (text);
        kc_program_free (&self->promoted);
        kc_card_free (&self->promoted_card);
    }
    s_make_cases (self);
    s_trial (self);
}

// ---- text and card ----

static void s_spec (kc_inspect_t *self, const kc_card_t *card,
                    const kc_program_t *program, size_t shape)
{
    kc_unit_spec_t *u = &self->specs[self->n_specs++];
    *u = (kc_unit_spec_t){.card = card, .program = program};
    u->dims = kc_case_dims (self->card, (int64_t)shape, &u->n_dims);
}

static void s_on_text (kc_inspect_t *self, const char *data, size_t size)
{
    kc_verdict_t *v = kc_verdict_new ();
    v->judge_version = KC_JUDGE_VERSION;
    self->text = kc_program_text_parse (data, size, NULL, v);
    if (self->text)
        self->card = kc_card_build (self->text, self->request->document->set,
                                    self->request->document->n_set, self->device,
                                    self->bench->device->memory_bytes, v);
    if (!self->card || self->card->n_checks >= INSPECT_SHAPES || !self->card->seed) {
        if (self->card)
            kc_judge_finding (
                v, KC_VERDICT_STATUS_UNSUPPORTED,
                "the task has no given kernel or more than %d check shapes",
                INSPECT_SHAPES - 1);
        s_refuse_findings (self, v, "");
        kc_verdict_free (&v);
        return;
    }
    kc_verdict_free (&v);
    kc_err_t why = {0};
    self->promoted =
        kc_promote (self->card, self->card->seed, &self->promoted_card, &why);
    if (!self->promoted) {
        char *text = kc_asprintf (
            "reference: the given kernel itself; it cannot be rewritten in double: %s",
            why.text);
        s_note (self, text);
        free (text);
    }
    self->shapes = self->card->n_checks + 1;
    for (size_t i = 0; i < self->shapes; i++)
        s_spec (self, self->card, self->card->seed, i);
    for (size_t i = 0; i < self->shapes && self->promoted; i++)
        s_spec (self, self->promoted_card, self->promoted, i);
    self->units =
        kc_units_start (self->bench, self->specs, self->n_specs, s_on_units, self);
}

static void s_on_file (void *arg, char *data, size_t size, const kc_err_t *err)
{
    kc_inspect_t *self = arg;
    if (!data) {
        self->err = *err;
        s_over (self);
        return;
    }
    s_on_text (self, data, size);
    free (data);
}

kc_inspect_t *kc_inspect_start (kc_bench_t *bench, kc_evaluator_inspect_t *request,
                                const char *text, size_t size, kc_inspect_f *done,
                                void *arg)
{
    kc_inspect_t *self = kc_calloc (1, sizeof *self);
    *self =
        (kc_inspect_t){.bench = bench, .request = request, .done = done, .arg = arg};
    self->device = kc_bench_card_device (bench);
    const kc_task_t *document = request->document;
    if (document->kind != KC_TASK_KIND_CUDA) {
        s_refuse (self, "UNSUPPORTED: only cuda tasks (one .cu file with //@ lines) "
                        "can be inspected by this evaluator yet");
        s_over (self);
    }
    else if (text)
        s_on_text (self, text, size);
    else if (document->n_files != 1) {
        s_refuse (self, "UNSUPPORTED: a cuda task is one file for now; put what it "
                        "includes into the main file");
        s_over (self);
    }
    else {
        self->fetch = kc_fetch_start (bench->node, request->task, &document->files[0],
                                      s_on_file, self, &self->err);
        if (!self->fetch)
            s_over (self);
    }
    return self;
}

void kc_inspect_destroy (kc_inspect_t **self_p)
{
    kc_inspect_t *self = *self_p;
    *self_p = NULL;
    if (!self)
        return;
    kc_loop_timer_del (self->bench->loop, self->timer);
    kc_fetch_destroy (&self->fetch);
    kc_trial_destroy (&self->trial);
    kc_units_destroy (&self->units);
    s_samples_free (self);
    free (self->cases);
    kc_verdict_free (&self->verdict);
    kc_program_text_destroy (&self->text);
    kc_program_free (&self->promoted);
    kc_card_free (&self->promoted_card);
    kc_card_free (&self->card);
    kc_type_free (&kc_card_device_type, self->device);
    kc_evaluator_inspect_reply_free (&self->reply);
    kc_evaluator_inspect_free (&self->request);
    free (self);
}
