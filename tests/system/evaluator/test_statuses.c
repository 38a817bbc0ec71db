/* test_statuses.c - every status of a verdict, provoked by a real program on the
 * virtual GPU through kc-runner
 *
 * RACE is missing: the virtual GPU does not look for races yet, so no device reports
 * one.  Statuses that need broken machinery (NO_MEASUREMENT, a killed runner) are
 * provoked by breaking it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "agents/gpu/judge/kc_judge.h"
#include "common/model/kc_finding.h"
#include "common/model/kc_program_text.h"
#include "common/util/kc_clock.h"
#include "common/util/kc_fs.h"
#include "common/util/kc_mem.h"
#include "fixture.h"

typedef struct world {
    fixture_t f;
    kc_evaluator_inspect_reply_t *task;
} world_t;

static const char s_task[] =
    "//@ task scale ; y = 2 x + 1\n"
    "//@ dim N = 5000\n"
    "//@ input  x f32[N] fill=normal(0, 1)\n"
    "//@ output y f32[N]\n"
    "//@ check N=17\n"
    "//@ check N=1000\n"
    "//@ launch scale<<<cdiv(N, 256), 256>>>\n"
    "extern \"C\" __global__ void scale(const float *x, float *y, int N)\n"
    "{\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < N)\n"
    "        y[i] = 2.f * x[i] + 1.f;\n"
    "}\n";

#define LAUNCH "//@ launch k<<<cdiv(N, 256), 256>>>\n"
#define KERNEL(body)                                                                   \
    LAUNCH "extern \"C\" __global__ void k(const float *x, float *y, int N)\n{\n"      \
           "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n" body "}\n"

// The program of a text, or NULL with the text's own verdict.
static kc_program_t *s_parse (const kc_card_t *card, const char *text, kc_verdict_t *v)
{
    kc_program_text_t *parsed = kc_program_text_parse (text, strlen (text), card, v);
    kc_program_t *program = parsed ? kc_program_dup (parsed->program) : NULL;
    kc_program_text_destroy (&parsed);
    return program;
}

static void s_no_time (kc_evaluator_evaluate_t *r)
{
    r->time = false;
}

static void s_check_schema (const kc_verdict_t *v)
{
    kc_errs_t errs = {0};
    if (kc_type_check (&kc_verdict_type, v, &errs) < 0) {
        char *text = kc_errs_text (&errs);
        print_error ("%s\n", text);
        free (text);
        fail ();
    }
}

static kc_verdict_t *s_judge_for (fixture_t *f, const kc_card_t *card, const char *text,
                                  fixture_tune_f *tune)
{
    kc_err_t err = {0};
    kc_verdict_t *v = kc_judge_new (card);
    v->status = KC_VERDICT_STATUS_UNSET;
    kc_program_t *program = s_parse (card, text, v);
    if (program) {
        kc_verdict_free (&v);
        v = fixture_evaluate (f, card, program, tune, &err);
        if (!v)
            print_error ("%s\n", err.text);
        assert_non_null (v);
    }
    kc_program_free (&program);
    s_check_schema (v);
    return v;
}

static kc_verdict_t *s_judge (void **state, const char *text, fixture_tune_f *tune)
{
    world_t *w = *state;
    return s_judge_for (&w->f, w->task->card, text, tune);
}

// Judge and expect; the first finding must contain 'words'.
static void s_expect (void **state, const char *text, kc_verdict_status_t status,
                      const char *words)
{
    kc_verdict_t *v = s_judge (state, text, s_no_time);
    if (v->status != status
        || (words && (v->n_findings == 0 || !strstr (v->findings[0].text, words)))) {
        char *found = kc_findings_text (v);
        print_error ("%s\n=> %s: %s\n", text, kc_verdict_status_name (v->status),
                     found);
        free (found);
    }
    assert_int_equal (v->status, status);
    if (words)
        assert_non_null (strstr (v->findings[0].text, words));
    kc_verdict_free (&v);
}

// ---- right programs ----

static void
right_programs_are_ok_and_faster_slower_or_same_than_the_given_one (void **state)
{
    kc_verdict_t *v =
        s_judge (state, KERNEL ("    if (i < N) y[i] = fmaf (2.f, x[i], 1.f);\n"),
                 fixture_baseline);
    assert_int_equal (v->status, KC_VERDICT_STATUS_OK);
    assert_true (kc_judge_has_label (v, KC_VERDICT_LABEL_ESTIMATE));
    assert_int_equal (v->n_timings, 2);
    assert_int_equal (v->n_ratios, 1);
    assert_true (v->checked->cases >= 30 && v->checked->runs > v->checked->cases
                 && v->checked->shapes == 3);
    assert_true (v->checked->max_scaled < 1);
    assert_true (v->has_floor_share && v->n_kernels == 1 && v->secret && v->code_hash
                 && v->cache_key);
    assert_true (v->seconds->total > 0);
    kc_verdict_free (&v);
    v = s_judge (
        state,
        KERNEL (
            "    float a = 0; for (int r = 0; r < 2000; r++) a = fmaf (a, 0.5f, i < N "
            "? x[i] : 0.f);\n"
            "    if (i < N) y[i] = 2.f * x[i] + 1.f + (a == 12345.f ? 1.f : 0.f);\n"),
        fixture_baseline);
    assert_int_equal (v->status, KC_VERDICT_STATUS_OK);
    assert_int_equal (v->ratios[0].comparison, KC_VERDICT_RATIO_COMPARISON_SLOWER);
    kc_verdict_free (&v);
}

static void words_and_names_never_decide (void **state)
{
    s_expect (state,
              KERNEL ("    // pass 2: try the fast path, except when it must bypass "
                      "the cache\n    int bypass_l2 = 0;\n"
                      "    if (i < N) y[i] = 2.f * x[i] + 1.f + (float)bypass_l2;\n"),
              KC_VERDICT_STATUS_OK, NULL);
}

static void templates_scratch_and_several_kernels_are_ok (void **state)
{
    s_expect (
        state,
        "//@ scratch t f32[N]\n//@ launch a<4><<<cdiv(N, 256), 256>>>\n//@ launch "
        "b<<<cdiv(N, 128), 128>>>\n"
        "template <int K> __global__ void a(const float *x, float *t, int N) { int i = "
        "blockIdx.x * 256 + threadIdx.x; if (i < N) t[i] = x[i] * (K / 2); }\n"
        "extern \"C\" __global__ void b(const float *t, float *y, int N) { int i = "
        "blockIdx.x * 128 + threadIdx.x; if (i < N) y[i] = t[i] + 1.f; }\n",
        KC_VERDICT_STATUS_OK, NULL);
}

// ---- it does not compile or cannot be launched ----

static void what_does_not_compile_says_the_line (void **state)
{
    kc_verdict_t *v =
        s_judge (state, KERNEL ("    if (i < N) y[i] = 2.f * z[i];\n"), s_no_time);
    assert_int_equal (v->status, KC_VERDICT_STATUS_COMPILE_ERROR);
    assert_true (v->findings[0].has_line && v->findings[0].line == 5);
    assert_non_null (strstr (v->findings[0].text, "z"));
    assert_non_null (v->log);
    kc_verdict_free (&v);
    s_expect (state,
              "#include <no_such_header.h>\n" KERNEL (
                  "    if (i < N) y[i] = 2.f * x[i] + 1.f;\n"),
              KC_VERDICT_STATUS_COMPILE_ERROR, "no_such_header");
}

static void state_and_clocks_in_the_code_are_refused (void **state)
{
    s_expect (state,
              "__device__ int calls;\n" KERNEL (
                  "    if (i == 0) calls++;\n    if (i < N) y[i] = calls > 9 ? 0.f : "
                  "2.f * x[i] + 1.f;\n"),
              KC_VERDICT_STATUS_COMPILE_ERROR, NULL);
    s_expect (state,
              KERNEL ("    long long t = clock64 ();\n    if (i < N) y[i] = 2.f * x[i] "
                      "+ (t == 5 ? 2.f : 1.f);\n"),
              KC_VERDICT_STATUS_COMPILE_ERROR, NULL);
}

static void plans_that_cannot_be_are_refused_before_any_run (void **state)
{
    s_expect (state,
              "//@ launch k<<<cdiv(N, 2048), 2048>>>\nextern \"C\" __global__ void "
              "k(const float *x, float *y, int N) { y[0] = x[0] + N; }\n",
              KC_VERDICT_STATUS_PLAN_ERROR, NULL);
    s_expect (state,
              LAUNCH "extern \"C\" __global__ void k(const float *x, float *y, int "
                     "n_cols) { y[0] = x[0] + n_cols; }\n",
              KC_VERDICT_STATUS_PLAN_ERROR, "n_cols");
    s_expect (state,
              LAUNCH "extern \"C\" __global__ void k(float *x, float *y, int N) { y[0] "
                     "= x[0] + N; }\n",
              KC_VERDICT_STATUS_PLAN_ERROR, "const");
}

static void shared_memory_is_given_up_to_the_device_limit (void **state)
{
    static const struct {
        int kib;
        kc_verdict_status_t status;
    } rows[] = {{47, KC_VERDICT_STATUS_OK},
                {48, KC_VERDICT_STATUS_OK},
                {49, KC_VERDICT_STATUS_OK},
                {225, KC_VERDICT_STATUS_OK},
                {228, KC_VERDICT_STATUS_PLAN_ERROR}};
    for (size_t i = 0; i < KC_COUNT (rows); i++) {
        char *text = kc_asprintf (
            "//@ launch k<<<cdiv(N, 256), 256, %d>>>\nextern \"C\" __global__ void "
            "k(const float *x, float *y, int N)\n{\n"
            "    extern __shared__ float s[];\n    __shared__ float t[256];\n    int i "
            "= blockIdx.x * 256 + threadIdx.x;\n"
            "    s[threadIdx.x + %d] = i < N ? x[i] : 0.f;\n    t[threadIdx.x] = "
            "2.f;\n    __syncthreads();\n"
            "    if (i < N) y[i] = t[threadIdx.x] * s[threadIdx.x + %d] + 1.f;\n}\n",
            rows[i].kib * 1024, rows[i].kib * 256 - 256, rows[i].kib * 256 - 256);
        s_expect (state, text, rows[i].status, NULL);
        free (text);
    }
}

static void library_steps_are_unsupported_for_now (void **state)
{
    static const char task[] =
        "//@ task mm ; c = a b\n//@ dim M = 32\n//@ input a f32[M, M]\n//@ input b "
        "f32[M, M]\n//@ output c f32[M, M]\n//@ check M=9\n"
        "//@ launch mm<<<M, M>>>\n"
        "extern \"C\" __global__ void mm(const float *a, const float *b, float *c, int "
        "M)\n{\n"
        "    float s = 0.f;\n    for (int k = 0; k < M; k++) s += a[blockIdx.x * M + "
        "k] * b[k * M + threadIdx.x];\n    c[blockIdx.x * M + threadIdx.x] = s;\n}\n";
    world_t *w = *state;
    kc_err_t err = {0};
    kc_evaluator_inspect_reply_t *mm =
        fixture_inspect (&w->f, task, sizeof task - 1, &err);
    assert_non_null (mm);
    assert_non_null (mm->card);
    assert_int_equal (mm->card->reference, KC_CARD_REFERENCE_SEED_FP64);
    kc_verdict_t *v = s_judge_for (
        &w->f, mm->card,
        "//@ matmul out=c a=a b=b\n__device__ int unused() { return 1; }\n", s_no_time);
    assert_int_equal (v->status, KC_VERDICT_STATUS_UNSUPPORTED);
    kc_verdict_free (&v);
    kc_evaluator_inspect_reply_free (&mm);
}

// ---- it runs into something ----

static void an_access_outside_is_told_with_line_thread_buffer_and_index (void **state)
{
    kc_verdict_t *v = s_judge (
        state, KERNEL ("    y[i] = 2.f * (i < N ? x[i] : 0.f) + 1.f;\n"), s_no_time);
    assert_int_equal (v->status, KC_VERDICT_STATUS_OUT_OF_BOUNDS);
    const kc_verdict_finding_t *f = &v->findings[0];
    assert_string_equal (f->buffer, "y");
    assert_true (f->has_line && f->line == 5);
    assert_true (f->has_index && f->index == 17);
    assert_true (f->n_thread == 3 && f->thread[0] == 17);
    assert_non_null (f->case_);
    assert_non_null (f->fix);
    assert_string_equal (f->kernel, "k");
    kc_verdict_free (&v);
    s_expect (state, KERNEL ("    if (i < N) y[i] = 2.f * x[i + 1] + 1.f;\n"),
              KC_VERDICT_STATUS_OUT_OF_BOUNDS, "x");
    s_expect (state,
              KERNEL ("    if (i < N) y[i] = 2.f * x[i] + 1.f;\n    if (i == 0) "
                      "y[-768] = 1.f;\n"),
              KC_VERDICT_STATUS_OUT_OF_BOUNDS, "y");
    s_expect (state,
              KERNEL ("    if (i < N) y[i] = 2.f * x[i] + 1.f;\n    if (i == 0) "
                      "*(volatile float *)((size_t)y - (1ull << 40)) = 1.f;\n"),
              KC_VERDICT_STATUS_OUT_OF_BOUNDS, NULL);
}

static void the_evaluation_after_a_fault_is_not_touched_by_it (void **state)
{
    const int64_t start = kc_clock_ms ();
    s_expect (state, KERNEL ("    y[i + (1ll << 35)] = x[0];\n"),
              KC_VERDICT_STATUS_OUT_OF_BOUNDS, NULL);
    s_expect (state, KERNEL ("    if (i < N) y[i] = 2.f * x[i] + 1.f;\n"),
              KC_VERDICT_STATUS_OK, NULL);
    assert_true (kc_clock_ms () - start < 15000);
}

static void a_loop_without_end_costs_its_budget_and_nothing_else (void **state)
{
    kc_verdict_t *v =
        s_judge (state,
                 KERNEL ("    float a = 1.f;\n    while (a > 0.f) a = a * 0.5f + x[0] "
                         "* x[0] + 1e-3f;\n    if (i < N) y[i] = a;\n"),
                 s_no_time);
    assert_int_equal (v->status, KC_VERDICT_STATUS_TIMEOUT);
    assert_null (v->cache_key); // not worth remembering
    kc_verdict_free (&v);
}

static void a_wall_limit_kills_the_runner_and_only_it (void **state)
{
    world_t *w = *state;
    w->f.bench.wall_ms = 1500;
    kc_verdict_t *v =
        s_judge (state,
                 KERNEL ("    float a = 1.f;\n    for (int r = 0; a > 0.f; r++) a = a "
                         "* 0.5f + x[0] * x[0] + 1e-3f;\n    if (i < N) y[i] = a;\n"),
                 s_no_time);
    w->f.bench.wall_ms = 0;
    assert_int_equal (v->status, KC_VERDICT_STATUS_TIMEOUT);
    kc_verdict_free (&v);
    s_expect (state, KERNEL ("    if (i < N) y[i] = 2.f * x[i] + 1.f;\n"),
              KC_VERDICT_STATUS_OK, NULL);
}

static void a_barrier_that_some_threads_never_reach_is_told (void **state)
{
    s_expect (state,
              KERNEL ("    __shared__ float s[256];\n    s[threadIdx.x] = i < N ? x[i] "
                      ": 0.f;\n    if (threadIdx.x < 100) __syncthreads ();\n"
                      "    if (i < N) y[i] = 2.f * s[threadIdx.x] + 1.f;\n    if "
                      "(threadIdx.x >= 200) __syncthreads ();\n"),
              KC_VERDICT_STATUS_BARRIER_DIVERGENCE, NULL);
}

static void traps_and_misaligned_accesses_are_launch_errors (void **state)
{
    s_expect (
        state,
        KERNEL (
            "    if (i == 3) __trap ();\n    if (i < N) y[i] = 2.f * x[i] + 1.f;\n"),
        KC_VERDICT_STATUS_LAUNCH_ERROR, NULL);
    s_expect (state,
              KERNEL ("    if (i < N / 4 - 1) { float2 v = *(const float2 *)(x + 2 * i "
                      "+ 1); y[i] = v.x * v.y; }\n"),
              KC_VERDICT_STATUS_LAUNCH_ERROR, NULL);
}

// ---- it is wrong ----

static void a_wrong_value_is_told_with_place_and_numbers (void **state)
{
    kc_verdict_t *v = s_judge (
        state, KERNEL ("    if (i < N) y[i] = i == 7 ? 99.f : 2.f * x[i] + 1.f;\n"),
        s_no_time);
    assert_int_equal (v->status, KC_VERDICT_STATUS_WRONG_OUTPUT);
    const kc_verdict_finding_t *f = &v->findings[0];
    assert_string_equal (f->buffer, "y");
    assert_true (f->index == 7 && f->n_position == 1 && f->position[0] == 7);
    assert_true (f->has_got && f->got == 99 && f->has_expected);
    assert_int_equal (f->bad_elements, 1);
    assert_non_null (strstr (f->case_, "N=17"));
    assert_true (v->checked->max_scaled > 1);
    kc_verdict_free (&v);
}

static void tails_missing_elements_nan_and_poison_are_wrong (void **state)
{
    s_expect (state, KERNEL ("    if (i < N - 1) y[i] = 2.f * x[i] + 1.f;\n"),
              KC_VERDICT_STATUS_WRONG_OUTPUT, "never written");
    s_expect (state, KERNEL ("    if (i < N / 4 * 4) y[i] = 2.f * x[i] + 1.f;\n"),
              KC_VERDICT_STATUS_WRONG_OUTPUT, "never written");
    s_expect (
        state,
        KERNEL (
            "    if (i < N) y[i] = i == 5 ? 0.f / (x[i] - x[i]) : 2.f * x[i] + 1.f;\n"),
        KC_VERDICT_STATUS_WRONG_OUTPUT, "y[5]");
    s_expect (state, KERNEL ("    if (i < N && x[i] > 1e30f) y[i] = 1.f;\n"),
              KC_VERDICT_STATUS_WRONG_OUTPUT, "never written");
    s_expect (state, KERNEL ("    if (i < N) y[i] = 0.f;\n"),
              KC_VERDICT_STATUS_WRONG_OUTPUT, NULL);
    s_expect (state, KERNEL ("    if (i < N) y[i] = x[i];\n"),
              KC_VERDICT_STATUS_WRONG_OUTPUT, NULL);
}

static void what_is_right_for_the_announced_values_only_is_wrong (void **state)
{
    // never seen with normal (0, 1), but with values eight times as large
    s_expect (
        state,
        KERNEL ("    if (i < N) y[i] = 2.f * fminf (fmaxf (x[i], -7.f), 7.f) + 1.f;\n"),
        KC_VERDICT_STATUS_WRONG_OUTPUT, "y[");
    // a prefix stands for the whole
    s_expect (
        state,
        KERNEL ("    if (i < N) y[i] = 2.f * (i < 16 ? x[i] : x[i % 16]) + 1.f;\n"),
        KC_VERDICT_STATUS_WRONG_OUTPUT, "y[");
}

static void half_precision_arithmetic_is_less_than_fp32_promises (void **state)
{
    s_expect (state,
              KERNEL ("    unsigned b = i < N ? __float_as_uint (x[i]) : 0u;\n    "
                      "float h = __uint_as_float ((b + 0x1000u) & ~0x1fffu);\n"
                      "    if (i < N) y[i] = 2.f * h + 1.f;\n"),
              KC_VERDICT_STATUS_WRONG_OUTPUT, NULL);
}

static void writing_an_input_is_told_as_that (void **state)
{
    kc_verdict_t *v = s_judge (
        state,
        KERNEL ("    if (i < N) { y[i] = 2.f * x[i] + 1.f; ((float *)x)[i] = 0.f; }\n"),
        s_no_time);
    assert_int_equal (v->status, KC_VERDICT_STATUS_INPUT_MUTATED);
    assert_string_equal (v->findings[0].buffer, "x");
    kc_verdict_free (&v);
}

// ---- cheats ----

static void dead_steps_prepared_answers_and_fills_do_not_help (void **state)
{
    s_expect (
        state,
        "//@ scratch t f32[N]\n//@ launch decoy<<<cdiv(N, 256), 256>>>\n//@ launch "
        "k<<<cdiv(N, 256), 256>>>\n"
        "extern \"C\" __global__ void decoy(const float *x, float *t, int N) { int i = "
        "blockIdx.x * 256 + threadIdx.x; if (i < N) t[i] = x[i]; }\n"
        "extern \"C\" __global__ void k(const float *x, float *y, int N) { int i = "
        "blockIdx.x * 256 + threadIdx.x; if (i < N) y[i] = 2.f * x[i] + 1.f; }\n",
        KC_VERDICT_STATUS_PLAN_ERROR, "decoy");
    s_expect (
        state,
        "//@ prepared p f32[N]\n//@ prepare\n//@ launch a<<<cdiv(N, 256), 256>>>\n//@ "
        "end\n//@ launch b<<<cdiv(N, 256), 256>>>\n"
        "extern \"C\" __global__ void a(const float *x, float *p, int N) { int i = "
        "blockIdx.x * 256 + threadIdx.x; if (i < N) p[i] = 2.f * x[i] + 1.f; }\n"
        "extern \"C\" __global__ void b(const float *p, float *y, int N) { int i = "
        "blockIdx.x * 256 + threadIdx.x; if (i < N) y[i] = p[i]; }\n",
        KC_VERDICT_STATUS_PLAN_ERROR, "x");
    s_expect (state, "//@ fill dst=y value=1\n__device__ int unused() { return 1; }\n",
              KC_VERDICT_STATUS_WRONG_OUTPUT, NULL);
}

static void stale_scratch_is_poison_not_an_earlier_answer (void **state)
{
    s_expect (state,
              "//@ scratch t f32[N]\n" LAUNCH
              "extern \"C\" __global__ void k(const float *x, float *t, float *y, int "
              "N)\n{\n    int i = blockIdx.x * 256 + threadIdx.x;\n"
              "    if (i >= N) return;\n    if (t[i] == 2.f * x[i] + 1.f) { y[i] = "
              "t[i]; return; }\n    t[i] = 2.f * x[i] + 1.f;\n    y[i] = t[i] > 1e30f "
              "? t[i] : t[i] * 1.001f;\n}\n",
              KC_VERDICT_STATUS_WRONG_OUTPUT, NULL);
}

static void a_marker_left_in_shared_memory_wins_nothing (void **state)
{
    kc_verdict_t *v = s_judge (
        state,
        KERNEL ("    __shared__ int marker[64];\n    bool seen = marker[threadIdx.x & "
                "63] == 0x5eed;\n    __syncthreads ();\n    marker[threadIdx.x & 63] = "
                "0x5eed;\n"
                "    if (seen) return;\n    if (i < N) y[i] = 2.f * x[i] + 1.f;\n"),
        fixture_baseline);
    if (v->status == KC_VERDICT_STATUS_OK)
        assert_int_not_equal (v->ratios[0].comparison,
                              KC_VERDICT_RATIO_COMPARISON_FASTER);
    else
        assert_int_equal (v->status, KC_VERDICT_STATUS_WRONG_OUTPUT);
    kc_verdict_free (&v);
}

static void results_that_depend_on_addresses_are_labelled (void **state)
{
    kc_verdict_t *v =
        s_judge (state,
                 KERNEL ("    float e = (((size_t)x >> 8) & 7) * 1e-7f;\n    if (i < "
                         "N) y[i] = 2.f * x[i] + 1.f + e;\n"),
                 s_no_time);
    assert_int_equal (v->status, KC_VERDICT_STATUS_OK);
    assert_true (kc_judge_has_label (v, KC_VERDICT_LABEL_NONDETERMINISTIC));
    assert_null (v->cache_key);
    kc_verdict_free (&v);
}

static void a_time_that_the_bytes_do_not_allow_is_impossible (void **state)
{
    world_t *w = *state;
    kc_card_t *card = kc_card_dup (w->task->card);
    card->floor->read_bytes = 1ll << 34; // as if the task read 16 GiB
    kc_verdict_t *v =
        s_judge_for (&w->f, card, KERNEL ("    if (i < N) y[i] = 2.f * x[i] + 1.f;\n"),
                     fixture_baseline);
    assert_int_equal (v->status, KC_VERDICT_STATUS_IMPOSSIBLE);
    kc_verdict_free (&v);
    kc_card_free (&card);
}

// ---- the rest of the protocol ----

static void
a_size_that_no_step_applies_to_makes_a_program_special_not_wrong (void **state)
{
    kc_verdict_t *v = s_judge (
        state,
        "//@ if N % 8 == 0\n//@ launch k<<<cdiv(N, 256), 256>>>\n//@ end\n"
        "extern \"C\" __global__ void k(const float *x, float *y, int N) { int i = "
        "blockIdx.x * 256 + threadIdx.x; if (i < N) y[i] = 2.f * x[i] + 1.f; }\n",
        s_no_time);
    assert_int_equal (v->status, KC_VERDICT_STATUS_OK);
    assert_true (kc_judge_has_label (v, KC_VERDICT_LABEL_SPECIALISED));
    kc_verdict_free (&v);
}

static void s_probe (kc_evaluator_evaluate_t *r)
{
    fixture_baseline (r);
    r->cache_probe = true;
}

static void a_probe_names_the_key_that_the_evaluation_will_have (void **state)
{
    static const char program[] = KERNEL ("    if (i < N) y[i] = 2.f * x[i] + 1.f;\n"),
                      commented[] = KERNEL (
                          "    if (i < N) y[i] = 2.f * x[i] + 1.f; // the same code\n");
    kc_verdict_t *p = s_judge (state, program, s_probe),
                 *q = s_judge (state, commented, s_probe),
                 *e = s_judge (state, program, fixture_baseline);
    assert_int_equal (p->status, KC_VERDICT_STATUS_OK);
    assert_null (p->checked);
    assert_null (p->secret);
    assert_string_equal (p->cache_key, e->cache_key);
    assert_string_equal (p->code_hash, e->code_hash);
    assert_string_equal (p->code_hash,
                         q->code_hash); // a comment is not another program
    kc_verdict_free (&p);
    kc_verdict_free (&q);
    kc_verdict_free (&e);
}

static void s_confirm (kc_evaluator_evaluate_t *r)
{
    fixture_baseline (r);
    r->purpose = KC_EVALUATOR_EVALUATE_PURPOSE_CONFIRM;
}

static void confirming_tries_more_and_is_never_cached (void **state)
{
    kc_verdict_t *v = s_judge (
        state, KERNEL ("    if (i < N) y[i] = 2.f * x[i] + 1.f;\n"), s_confirm);
    assert_int_equal (v->status, KC_VERDICT_STATUS_OK);
    assert_true (v->checked->cases >= 48);
    assert_null (v->cache_key);
    kc_verdict_free (&v);
}

static void a_runner_that_dies_is_never_the_candidates_fault (void **state)
{
    world_t *w = *state;
    char *dir = kc_fs_program_dir (), *fake = kc_fs_join (dir, "fake_runner");
    const char *runner = w->f.bench.runner, *gpu = w->f.bench.gpu;
    static const char *const how[] = {"segv", "exit", "garbage"};
    for (size_t i = 0; i < KC_COUNT (how); i++) {
        w->f.bench.runner = fake;
        w->f.bench.gpu = how[i];
        kc_verdict_t *v = s_judge (
            state, KERNEL ("    if (i < N) y[i] = 2.f * x[i] + 1.f;\n"), s_no_time);
        w->f.bench.runner = runner;
        w->f.bench.gpu = gpu;
        assert_int_equal (v->status, KC_VERDICT_STATUS_INFRA_ERROR);
        assert_null (v->cache_key);
        kc_verdict_free (&v);
    }
    free (dir);
    free (fake);
}

static void a_run_without_usable_times_is_no_measurement (void **state)
{
    world_t *w = *state;
    char *dir = kc_fs_program_dir (), *fake = kc_fs_join (dir, "fake_runner");
    const char *runner = w->f.bench.runner, *gpu = w->f.bench.gpu;
    kc_card_t *card = kc_card_dup (w->task->card);
    for (size_t i = 0; i < card->n_checks; i++) // nothing but the timing will run
        kc_type_clear (&kc_card_check_type, &card->checks[i]);
    card->n_checks = 0;
    static const char *const how[] = {"notimes", "zerotimes"};
    for (size_t i = 0; i < KC_COUNT (how); i++) {
        w->f.bench.runner = fake;
        w->f.bench.gpu = how[i];
        kc_verdict_t *v = s_judge_for (
            &w->f, card, KERNEL ("    if (i < N) y[i] = 2.f * x[i] + 1.f;\n"), NULL);
        w->f.bench.runner = runner;
        w->f.bench.gpu = gpu;
        assert_int_equal (v->status, KC_VERDICT_STATUS_NO_MEASUREMENT);
        assert_null (v->cache_key);
        kc_verdict_free (&v);
    }
    kc_card_free (&card);
    free (dir);
    free (fake);
}

static void an_evaluation_for_another_device_is_declined (void **state)
{
    world_t *w = *state;
    kc_card_t *card = kc_card_dup (w->task->card);
    kc_set (&card->device->gpu, "NVIDIA A100");
    kc_err_t err = {0};
    assert_null (fixture_evaluate (&w->f, card, card->seed, NULL, &err));
    assert_int_equal (err.code, KC_EUNSUPPORTED);
    kc_card_free (&card);
}

static void an_evaluation_that_is_stopped_is_gone_at_once (void **state)
{
    world_t *w = *state;
    kc_verdict_t *none = kc_judge_new (NULL);
    kc_program_t *program =
        s_parse (w->task->card,
                 KERNEL ("    float a = 1.f;\n    while (a > 0.f) a = a * 0.5f + x[0] "
                         "* x[0] + 2e-3f;\n    if (i < N) y[i] = a;\n"),
                 none);
    kc_evaluator_evaluate_t *r = kc_evaluator_evaluate_new ();
    kc_set (&r->task, "test");
    r->card = kc_card_dup (w->task->card);
    r->program = program;
    kc_err_t err;
    kc_evaluate_t *e = kc_evaluate_start (&w->f.bench, r, 0, NULL, NULL, &err);
    assert_non_null (e);
    for (int64_t end = kc_clock_ms () + 300; kc_clock_ms () < end;)
        assert_int_equal (kc_loop_turn (w->f.loop, 20, NULL), 0);
    const int64_t start = kc_clock_ms ();
    kc_evaluate_destroy (&e);
    assert_true (kc_clock_ms () - start < 1000);
    kc_verdict_free (&none);
}

// ---- other tasks ----

static kc_evaluator_inspect_reply_t *s_inspect (void **state, const char *text)
{
    world_t *w = *state;
    kc_err_t err = {0};
    kc_evaluator_inspect_reply_t *r =
        fixture_inspect (&w->f, text, strlen (text), &err);
    if (!r)
        print_error ("%s\n", err.text);
    assert_non_null (r);
    if (!r->card && r->n_refused > 0)
        print_message ("%s\n", r->refused[0]);
    return r;
}

static void s_expect_for (void **state, const char *task, const char *program,
                          kc_verdict_status_t status)
{
    world_t *w = *state;
    kc_evaluator_inspect_reply_t *r = s_inspect (state, task);
    assert_non_null (r->card);
    kc_verdict_t *v = s_judge_for (&w->f, r->card, program, fixture_baseline);
    if (v->status != status) {
        char *found = kc_findings_text (v);
        print_error ("=> %s: %s\n", kc_verdict_status_name (v->status), found);
        free (found);
    }
    assert_int_equal (v->status, status);
    kc_verdict_free (&v);
    kc_evaluator_inspect_reply_free (&r);
}

static void nan_of_the_reference_must_be_met_at_the_same_places (void **state)
{
    static const char task[] =
        "//@ task root ; y = sqrt x\n//@ dim N = 600\n//@ input x f32[N] "
        "fill=normal(0, 1)\n//@ output y f32[N]\n//@ check N=33\n"
        "//@ launch k<<<cdiv(N, 256), 256>>>\nextern \"C\" __global__ void k(const "
        "float *x, float *y, int N) { int i = blockIdx.x * 256 + threadIdx.x; if (i < "
        "N) y[i] = sqrtf (x[i]); }\n";
    s_expect_for (state, task, KERNEL ("    if (i < N) y[i] = sqrtf (x[i]);\n"),
                  KC_VERDICT_STATUS_OK);
    s_expect_for (state, task, KERNEL ("    if (i < N) y[i] = sqrtf (fabsf (x[i]));\n"),
                  KC_VERDICT_STATUS_WRONG_OUTPUT);
}

static void an_inout_tensor_starts_anew_in_every_run (void **state)
{
    static const char task[] =
        "//@ task twice ; x = 2 x\n//@ dim N = 600\n//@ inout x f32[N] fill=normal(0, "
        "1)\n//@ check N=33\n"
        "//@ launch k<<<cdiv(N, 256), 256>>>\nextern \"C\" __global__ void k(float *x, "
        "int N) { int i = blockIdx.x * 256 + threadIdx.x; if (i < N) x[i] *= 2.f; }\n";
    s_expect_for (
        state, task,
        "//@ launch k<<<cdiv(N, 128), 128>>>\nextern \"C\" __global__ void k(float *x, "
        "int N) { int i = blockIdx.x * 128 + threadIdx.x; if (i < N) x[i] += x[i]; }\n",
        KC_VERDICT_STATUS_OK);
    s_expect_for (state, task,
                  "//@ launch k<<<cdiv(N, 128), 128>>>\nextern \"C\" __global__ void "
                  "k(float *x, int N) { int i = blockIdx.x * 128 + threadIdx.x; if (i "
                  "< N && x[i] < 1e3f) x[i] *= 4.f; }\n",
                  KC_VERDICT_STATUS_WRONG_OUTPUT);
}

static void integers_are_exact_and_params_count (void **state)
{
    static const char task[] =
        "//@ task pick ; y = w[k]\n//@ dim N = 700\n//@ dim C = 64\n//@ input k i32[N] "
        "fill=integer(0, 63)\n//@ param w i32[C] fill=integer(-1000000, 1000000)\n//@ "
        "output y i32[N]\n//@ check N=31\n"
        "//@ launch pick<<<cdiv(N, 256), 256>>>\nextern \"C\" __global__ void "
        "pick(const int *k, const int *w, int *y, int N) { int i = blockIdx.x * 256 + "
        "threadIdx.x; if (i < N) y[i] = w[k[i]]; }\n";
    s_expect_for (state, task,
                  "//@ launch p<<<N, 1>>>\nextern \"C\" __global__ void p(const int "
                  "*k, const int *w, int *y) { y[blockIdx.x] = w[k[blockIdx.x]]; }\n",
                  KC_VERDICT_STATUS_OK);
    s_expect_for (state, task,
                  "//@ launch p<<<N, 1>>>\nextern \"C\" __global__ void p(const int "
                  "*k, const int *w, int *y) { y[blockIdx.x] = "
                  "(int)(float)w[k[blockIdx.x]] + (k[blockIdx.x] == 13); }\n",
                  KC_VERDICT_STATUS_WRONG_OUTPUT);
    s_expect_for (state, task,
                  "//@ launch p<<<N, 1>>>\nextern \"C\" __global__ void p(const int "
                  "*k, int *y) { y[blockIdx.x] = k[blockIdx.x]; }\n",
                  KC_VERDICT_STATUS_WRONG_OUTPUT);
}

static bool s_noted (const kc_card_t *card, const char *words)
{
    for (size_t i = 0; i < card->n_notes; i++)
        if (strstr (card->notes[i], words))
            return true;
    return false;
}

static void a_task_that_nothing_would_pass_is_noted_as_degenerate (void **state)
{
    static const char zero[] =
        "//@ task zero ; y = min (x, 0) of positive x\n//@ dim N = 700\n//@ input x "
        "f32[N] fill=uniform(0.5, 1)\n//@ output y f32[N]\n//@ check N=100\n"
        "//@ launch k<<<cdiv(N, 256), 256>>>\nextern \"C\" __global__ void k(const "
        "float *x, float *y, int N) { int i = blockIdx.x * 256 + threadIdx.x; if (i < "
        "N) y[i] = fminf (x[i], 0.f); }\n";
    kc_evaluator_inspect_reply_t *r = s_inspect (state, zero);
    assert_non_null (r->card);
    assert_true (s_noted (r->card, "degenerate: all zeros"));
    kc_evaluator_inspect_reply_free (&r);
}

static void a_kernel_that_is_wrong_itself_is_refused_in_its_authors_lines (void **state)
{
    static const char bad[] =
        "//@ task bad ; y = x\n//@ dim N = 700\n//@ input x f32[N]\n//@ output y "
        "f32[N]\n//@ check N=100\n//@ launch k<<<cdiv(N, 256), 256>>>\n"
        "extern \"C\" __global__ void k(const float *x, float *y, int N)\n{\n    int i "
        "= blockIdx.x * 256 + threadIdx.x;\n    y[i] = x[i < N ? i : 0];\n}\n";
    kc_evaluator_inspect_reply_t *r = s_inspect (state, bad);
    assert_null (r->card);
    assert_true (r->n_refused > 0);
    assert_non_null (strstr (r->refused[0], "line 10"));
    kc_evaluator_inspect_reply_free (&r);
    r = s_inspect (state, "//@ task t ; nothing\n__global__ void k() {}\n");
    assert_null (r->card);
    assert_true (r->n_refused > 0);
    kc_evaluator_inspect_reply_free (&r);
}

static void
the_examples_are_inspected_against_double_and_none_is_degenerate (void **state)
{
    static const char *const names[] = {"transpose", "softmax", "reduction", "matmul"};
    for (size_t i = 0; i < KC_COUNT (names); i++) {
        char *path = kc_asprintf ("deploy/examples/%s.cu", names[i]);
        size_t size;
        char *text = kc_fs_read (path, KC_TEXT_MAX, &size, NULL);
        assert_non_null (text);
        kc_evaluator_inspect_reply_t *r = s_inspect (state, text);
        assert_non_null (r->card);
        for (size_t k = 0; k < r->card->n_notes; k++)
            print_message ("%s: %s\n", names[i], r->card->notes[k]);
        assert_false (s_noted (r->card, "degenerate"));
        assert_int_equal (r->card->reference, KC_CARD_REFERENCE_SEED_FP64);
        kc_evaluator_inspect_reply_free (&r);
        free (text);
        free (path);
    }
}

static int s_open (void **state)
{
    world_t *w = kc_calloc (1, sizeof *w);
    kc_err_t err = {0};
    const fixture_options_t options = {0};
    *state = w;
    if (fixture_open (&w->f, &options, &err) < 0) {
        print_error ("%s\n", err.text);
        return -1;
    }
    w->task = fixture_inspect (&w->f, s_task, sizeof s_task - 1, &err);
    if (!w->task || !w->task->card) {
        print_error ("%s\n", w->task && w->task->n_refused > 0 ? w->task->refused[0]
                                                               : err.text);
        return -1;
    }
    return 0;
}

static int s_close (void **state)
{
    world_t *w = *state;
    kc_evaluator_inspect_reply_free (&w->task);
    fixture_close (&w->f);
    free (w);
    return 0;
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (
            right_programs_are_ok_and_faster_slower_or_same_than_the_given_one),
        cmocka_unit_test (words_and_names_never_decide),
        cmocka_unit_test (templates_scratch_and_several_kernels_are_ok),
        cmocka_unit_test (what_does_not_compile_says_the_line),
        cmocka_unit_test (state_and_clocks_in_the_code_are_refused),
        cmocka_unit_test (plans_that_cannot_be_are_refused_before_any_run),
        cmocka_unit_test (shared_memory_is_given_up_to_the_device_limit),
        cmocka_unit_test (library_steps_are_unsupported_for_now),
        cmocka_unit_test (an_access_outside_is_told_with_line_thread_buffer_and_index),
        cmocka_unit_test (the_evaluation_after_a_fault_is_not_touched_by_it),
        cmocka_unit_test (a_loop_without_end_costs_its_budget_and_nothing_else),
        cmocka_unit_test (a_wall_limit_kills_the_runner_and_only_it),
        cmocka_unit_test (a_barrier_that_some_threads_never_reach_is_told),
        cmocka_unit_test (traps_and_misaligned_accesses_are_launch_errors),
        cmocka_unit_test (a_wrong_value_is_told_with_place_and_numbers),
        cmocka_unit_test (tails_missing_elements_nan_and_poison_are_wrong),
        cmocka_unit_test (what_is_right_for_the_announced_values_only_is_wrong),
        cmocka_unit_test (half_precision_arithmetic_is_less_than_fp32_promises),
        cmocka_unit_test (writing_an_input_is_told_as_that),
        cmocka_unit_test (dead_steps_prepared_answers_and_fills_do_not_help),
        cmocka_unit_test (stale_scratch_is_poison_not_an_earlier_answer),
        cmocka_unit_test (a_marker_left_in_shared_memory_wins_nothing),
        cmocka_unit_test (results_that_depend_on_addresses_are_labelled),
        cmocka_unit_test (a_time_that_the_bytes_do_not_allow_is_impossible),
        cmocka_unit_test (
            a_size_that_no_step_applies_to_makes_a_program_special_not_wrong),
        cmocka_unit_test (a_probe_names_the_key_that_the_evaluation_will_have),
        cmocka_unit_test (confirming_tries_more_and_is_never_cached),
        cmocka_unit_test (a_runner_that_dies_is_never_the_candidates_fault),
        cmocka_unit_test (a_run_without_usable_times_is_no_measurement),
        cmocka_unit_test (an_evaluation_for_another_device_is_declined),
        cmocka_unit_test (an_evaluation_that_is_stopped_is_gone_at_once),
        cmocka_unit_test (nan_of_the_reference_must_be_met_at_the_same_places),
        cmocka_unit_test (an_inout_tensor_starts_anew_in_every_run),
        cmocka_unit_test (integers_are_exact_and_params_count),
        cmocka_unit_test (a_task_that_nothing_would_pass_is_noted_as_degenerate),
        cmocka_unit_test (
            a_kernel_that_is_wrong_itself_is_refused_in_its_authors_lines),
        cmocka_unit_test (
            the_examples_are_inspected_against_double_and_none_is_degenerate),
    };
    return cmocka_run_group_tests (tests, s_open, s_close);
}
