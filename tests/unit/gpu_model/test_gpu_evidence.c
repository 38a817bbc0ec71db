/* test_gpu_evidence.c - the examples as people submit them: compiled, run on the virtual GPU, counted, derived
 *
 * What is asserted is what an engineer would say about these kernels, not numbers of the model.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agents/gpu/compile/kc_compile.h"
#include "agents/gpu/device.h"
#include "agents/gpu/model/kc_evidence.h"
#include "agents/gpu/model/kc_gpus.h"
#include "common/model/kc_card.h"
#include "common/model/kc_finding.h"
#include "common/model/kc_program.h"
#include "common/util/kc_fs.h"
#include "common/util/kc_mem.h"

enum { FILE_MAX = 1 << 20 };

typedef struct shop {
    kc_compiler_t *compiler;
    kc_dev_t *dev;
} shop_t;

static int s_open (void **state)
{
    static shop_t shop;
    const kc_compiler_config_t compiler = {.runner = KC_TEST_RUNNER, .front = KC_FRONT_CLANG};
    const kc_dev_config_t config = {.gpu = "h200"};
    kc_err_t err = {0};
    shop.compiler = kc_compiler_new (&compiler, &err);
    if (!shop.compiler)
        fail_msg ("%s", err.text);
    shop.dev = kc_dev_open_vgpu (&config, &err);
    assert_non_null (shop.dev);
    *state = &shop;
    return 0;
}

static int s_close (void **state)
{
    shop_t *shop = *state;
    kc_compiler_destroy (&shop->compiler);
    kc_dev_close (&shop->dev);
    return 0;
}

typedef struct setting {
    const char *name, *value;
} setting_t;

typedef struct task {
    kc_card_t *card;
    kc_program_t *program;
    kc_compiled_t *code;
    kc_plan_t *plan;
    kc_dev_code_t *loaded;
    kc_dev_arena_t *arena;
} task_t;

// The example with dims and constants set, compiled and laid out.
static void s_prepare (shop_t *shop, task_t *t, const char *example, const setting_t *dims, const setting_t *constants)
{
    *t = (task_t){0};
    kc_err_t err = {0};
    kc_verdict_t *findings = kc_verdict_new ();
    size_t size = 0;
    char *path = kc_asprintf ("deploy/examples/%s.cu", example);
    char *file = kc_fs_read (path, FILE_MAX, &size, &err);
    assert_non_null (file);
    kc_program_text_t *text = kc_program_text_parse (file, size, NULL, findings);
    assert_non_null (text);
    kc_task_setting_t set[8];
    size_t n_set = 0;
    for (; dims && dims[n_set].name; n_set++)
        set[n_set] = (kc_task_setting_t){.name = kc_strdup (dims[n_set].name), .value = strtoll (dims[n_set].value, NULL, 10)};
    kc_card_device_t device = {.backend = KC_CARD_DEVICE_BACKEND_VGPU, .gpu = shop->dev->info.gpu, .sm = 90, .sms = 132,
                               .has_bandwidth = true, .bandwidth = 4.8e12, .has_copy_bandwidth = true, .copy_bandwidth = 4.3e12};
    t->card = kc_card_build (text, set, n_set, &device, 0, findings);
    if (!t->card)
        fail_msg ("%s", kc_findings_text (findings));
    t->program = kc_program_dup (t->card->seed);
    for (; constants && constants->name; constants++)
        assert_int_equal (kc_program_change (t->program, constants->name, constants->value, &err), 0);
    const kc_device_facts_t *facts = &shop->dev->info.facts;
    char *front = kc_plan_constants (t->card, t->program, NULL, 0, facts, findings);
    size_t n_names = 0;
    char **names = kc_plan_kernel_names (t->card, t->program, NULL, 0, facts, &n_names, findings);
    const kc_compile_job_t job = {.source = t->program->source, .constants = front, .kernels = (const char *const *)names,
                                  .n_kernels = n_names, .sm = 90, .want_ptx = true};
    t->code = kc_compiler_run (shop->compiler, &job);
    assert_int_equal (t->code->status, KC_VERDICT_STATUS_OK);
    const kc_dev_binary_t binary = {.data = t->code->ptx, .size = t->code->ptx_size, .is_ptx = true};
    kc_dev_finding_t finding = {0};
    t->loaded = shop->dev->ops->load (shop->dev, &binary, &finding);
    if (!t->loaded)
        fail_msg ("%s", finding.text);
    for (size_t i = 0; i < t->code->n_kernels; i++)
        assert_int_equal (shop->dev->ops->kernel_facts (shop->dev, t->loaded, t->code->kernels[i].symbol, &t->code->kernels[i]), 0);
    t->plan = kc_plan_build (t->card, t->program, NULL, 0, facts, t->code->kernels, t->code->n_kernels, findings);
    if (!t->plan)
        fail_msg ("%s", kc_findings_text (findings));
    const kc_dev_layout_t layout = {.seed = 5};
    t->arena = shop->dev->ops->arena (shop->dev, t->plan, &layout, &err);
    assert_non_null (t->arena);
    for (size_t i = 0; i < t->plan->n_buffers; i++)
        if (t->plan->buffers[i].role == KC_ROLE_INPUT)
            assert_int_equal (shop->dev->ops->generate (shop->dev, t->arena, (int)i, &t->plan->buffers[i].fill, 7 + i, &err), 0);
    for (size_t i = 0; i < n_names; i++)
        free (names[i]);
    free (names);
    free (front);
    for (size_t i = 0; i < n_set; i++)
        free (set[i].name);
    kc_program_text_destroy (&text);
    free (file);
    free (path);
    kc_verdict_free (&findings);
}

static void s_end (shop_t *shop, task_t *t)
{
    shop->dev->ops->arena_free (shop->dev, t->arena);
    shop->dev->ops->unload (shop->dev, t->loaded);
    kc_plan_destroy (&t->plan);
    kc_compiled_destroy (&t->code);
    kc_program_free (&t->program);
    kc_card_free (&t->card);
}

static kc_evidence_t *s_evidence (shop_t *shop, const char *example, const setting_t *dims, const setting_t *constants)
{
    task_t t;
    s_prepare (shop, &t, example, dims, constants);
    const kc_dev_contestant_t who = {.code = t.loaded, .plan = t.plan, .arena = t.arena};
    const kc_dev_limits_t limits = {.seconds = 60};
    kc_dev_profile_t profile = {0};
    kc_dev_finding_t finding = {0};
    if (shop->dev->ops->profile (shop->dev, &who, &limits, &profile, &finding) < 0)
        fail_msg ("%s", finding.text);
    ptx_module_t *ptx = ptx_module_parse (t.code->ptx, t.code->ptx_size, NULL);
    assert_non_null (ptx);
    const kc_evidence_input_t input = {.card = t.card, .plan = t.plan, .facts = &shop->dev->info.facts, .bandwidth = 4.8e12,
                                       .copy_bandwidth = 4.3e12, .profile = &profile, .estimate = true, .ptx = ptx};
    kc_evidence_t *e = kc_evidence_derive (&input);
    kc_errs_t errs = {0};
    if (kc_type_check (&kc_evidence_type, e, &errs) < 0)
        fail_msg ("%s", kc_errs_text (&errs));
    ptx_module_destroy (&ptx);
    kc_dev_profile_free (&profile);
    s_end (shop, &t);
    return e;
}

static const kc_evidence_step_t *s_step (const kc_evidence_t *e, const char *kernel)
{
    for (size_t i = 0; i < e->n_steps; i++)
        if (!strcmp (e->steps[i].kernel, kernel))
            return &e->steps[i];
    fail_msg ("no step %s", kernel);
    return NULL;
}

static bool s_is_absent (const kc_evidence_step_t *s, const char *field)
{
    for (size_t i = 0; i < s->n_absent; i++)
        if (!strcmp (s->absent[i].field, field) && s->absent[i].reason)
            return true;
    return false;
}

static bool s_has_source (const kc_evidence_step_t *s, const char *field)
{
    for (size_t i = 0; i < s->n_sources; i++)
        for (size_t k = 0; k < s->sources[i].n_fields; k++)
            if (!strcmp (s->sources[i].fields[k], field))
                return true;
    return false;
}

static const setting_t s_small_transpose[] = {{"M", "256"}, {"N", "512"}, {NULL, NULL}};
static const setting_t s_small_softmax[] = {{"B", "32"}, {"D", "1024"}, {NULL, NULL}};
static const setting_t s_small_sum[] = {{"N", "262144"}, {NULL, NULL}};
static const setting_t s_small_product[] = {{"M", "64"}, {"N", "64"}, {"K", "64"}, {NULL, NULL}};

// Every number is there with its source, or listed with the reason; shares are shares; stalls sum to at most one.
static void evidence_of_every_example_is_complete (void **state)
{
    static const struct {
        const char *example;
        const setting_t *dims;
    } all[] = {{"transpose", s_small_transpose}, {"softmax", s_small_softmax}, {"reduction", s_small_sum}, {"matmul", s_small_product}};
    for (size_t a = 0; a < KC_COUNT (all); a++) {
        kc_evidence_t *e = s_evidence (*state, all[a].example, all[a].dims, NULL);
        assert_true (e->estimate);
        assert_true (e->n_steps > 0);
        double share = 0;
        for (size_t i = 0; i < e->n_steps; i++) {
            const kc_evidence_step_t *s = &e->steps[i];
            share += s->time_share;
            for (size_t k = 0; k < kc_evidence_step_type.n_fields; k++) {
                const kc_field_t *f = &kc_evidence_step_type.fields[k];
                if (f->base != KC_BASE_NUMBER || (f->flags & KC_FIELD_ARRAY))
                    continue;
                double v = 0;
                if (!kc_field_number (f, s, &v)) {
                    assert_true (s_is_absent (s, f->name));
                    continue;
                }
                if (!s_has_source (s, f->name))
                    fail_msg ("%s has no source", f->name);
                if (f->unit && !strcmp (f->unit, "share") && !(v >= 0 && v <= 1))
                    fail_msg ("%s of %s is %g", f->name, s->kernel, v);
            }
            double stalls = s->stall_memory + s->stall_shared + s->stall_sync + s->stall_math + s->stall_wait + s->stall_not_selected;
            assert_true (stalls <= 1.02);
        }
        assert_true (share > 0.98 && share < 1.02);
        kc_evidence_free (&e);
    }
}

static void structures_are_read_from_the_code (void **state)
{
    static const setting_t tiled[] = {{"TILED", "1"}, {NULL, NULL}};
    static const struct {
        const char *example, *kernel;
        const setting_t *dims, *constants;
        kc_evidence_structure_t structure;
    } all[] = {
        {"transpose", "transpose", s_small_transpose, NULL, KC_EVIDENCE_STRUCTURE_TRANSPOSE},
        {"transpose", "transpose", s_small_transpose, tiled, KC_EVIDENCE_STRUCTURE_TRANSPOSE},
        {"softmax", "softmax", s_small_softmax, NULL, KC_EVIDENCE_STRUCTURE_ROW_REDUCE},
        {"reduction", "sum_part", s_small_sum, NULL, KC_EVIDENCE_STRUCTURE_FULL_REDUCE},
        {"matmul", "matmul", s_small_product, NULL, KC_EVIDENCE_STRUCTURE_CONTRACTION},
        {"matmul", "matmul", s_small_product, tiled, KC_EVIDENCE_STRUCTURE_CONTRACTION},
    };
    for (size_t a = 0; a < KC_COUNT (all); a++) {
        kc_evidence_t *e = s_evidence (*state, all[a].example, all[a].dims, all[a].constants);
        const kc_evidence_step_t *s = s_step (e, all[a].kernel);
        if (s->structure != all[a].structure)
            fail_msg ("%s is read as %s: %s", all[a].example, kc_evidence_structure_name (s->structure), s->structure_why);
        assert_non_null (s->structure_why);
        kc_evidence_free (&e);
    }
}

static void a_strided_transpose_shows_in_its_stores_and_a_tile_mends_them (void **state)
{
    static const setting_t tiled[] = {{"TILED", "1"}, {NULL, NULL}};
    static const setting_t padded[] = {{"TILED", "1"}, {"PAD", "1"}, {NULL, NULL}};
    kc_evidence_t *naive = s_evidence (*state, "transpose", s_small_transpose, NULL);
    kc_evidence_t *tile = s_evidence (*state, "transpose", s_small_transpose, tiled);
    kc_evidence_t *pad = s_evidence (*state, "transpose", s_small_transpose, padded);
    assert_true (naive->steps[0].ld_efficiency > 0.99);
    assert_true (naive->steps[0].st_efficiency < 0.2);
    assert_true (naive->steps[0].st_share > 0.5);
    assert_true (s_is_absent (&naive->steps[0], "bank_conflict_share")); // it uses no shared memory
    assert_true (tile->steps[0].st_efficiency > 0.99);
    assert_true (tile->steps[0].bank_conflict_share > 0.9); // 32 lanes in one bank
    assert_true (pad->steps[0].bank_conflict_share < 0.01);
    assert_true (pad->total_us < tile->total_us);
    assert_true (tile->steps[0].code_barriers_in_loop == 0);
    assert_true (tile->steps[0].code_shared_loads > 0);
    kc_evidence_free (&naive);
    kc_evidence_free (&tile);
    kc_evidence_free (&pad);
}

static void wide_loads_show_in_code_and_counts (void **state)
{
    static const setting_t wide[] = {{"VEC", "4"}, {NULL, NULL}};
    kc_evidence_t *narrow = s_evidence (*state, "reduction", s_small_sum, NULL);
    kc_evidence_t *vec = s_evidence (*state, "reduction", s_small_sum, wide);
    const kc_evidence_step_t *a = s_step (narrow, "sum_part"), *b = s_step (vec, "sum_part");
    assert_true (a->ld_width_bytes < 4.1);
    assert_true (b->ld_width_bytes > 15.0);
    assert_true (b->ld_sectors_per_request > 15.0 && a->ld_sectors_per_request < 4.5);
    assert_true (b->code_ld_bytes > a->code_ld_bytes);
    assert_true (b->warp_instructions < a->warp_instructions);
    kc_evidence_free (&narrow);
    kc_evidence_free (&vec);
}

static void a_small_grid_is_the_occupancy_limiter (void **state)
{
    kc_evidence_t *e = s_evidence (*state, "reduction", s_small_sum, NULL);
    const kc_evidence_step_t *s = s_step (e, "sum_part");
    assert_int_equal (s->occupancy_limiter, KC_EVIDENCE_STEP_OCCUPANCY_LIMITER_GRID);
    assert_true (s->waves < 1);
    assert_true (s->occupancy < 0.1);
    assert_true (s_step (e, "sum_rest")->time_share > 0);
    kc_evidence_free (&e);
}

static void an_access_past_the_end_names_buffer_line_and_thread (void **state)
{
    shop_t *shop = *state;
    task_t t;
    s_prepare (shop, &t, "transpose", s_small_transpose, NULL);
    // The plan is right; a grid that is one block too high is what a wrong launch line gives.
    t.plan->buffers[0].bytes -= 4096;
    const kc_dev_contestant_t who = {.code = t.loaded, .plan = t.plan, .arena = t.arena};
    const kc_dev_limits_t limits = {.seconds = 60};
    kc_dev_finding_t finding = {0};
    assert_int_equal (shop->dev->ops->run (shop->dev, &who, true, &limits, &finding), -1);
    assert_int_equal (finding.status, KC_VERDICT_STATUS_OUT_OF_BOUNDS);
    assert_string_equal (finding.kernel, "transpose");
    assert_string_equal (finding.buffer, t.plan->buffers[0].name);
    assert_true (finding.has_place && finding.line > 10);
    assert_true (finding.has_index);
    t.plan->buffers[0].bytes += 4096;
    s_end (shop, &t);
}

static void a_run_beyond_its_instructions_is_a_timeout (void **state)
{
    shop_t *shop = *state;
    task_t t;
    s_prepare (shop, &t, "transpose", s_small_transpose, NULL);
    const kc_dev_contestant_t who = {.code = t.loaded, .plan = t.plan, .arena = t.arena};
    const kc_dev_limits_t limits = {.seconds = 60, .instructions = 1000};
    kc_dev_finding_t finding = {0};
    assert_int_equal (shop->dev->ops->run (shop->dev, &who, false, &limits, &finding), -1);
    assert_int_equal (finding.status, KC_VERDICT_STATUS_TIMEOUT);
    s_end (shop, &t);
}

static void gpus_are_found_by_any_spelling (void **state)
{
    (void)state;
    static const char *const names[] = {"NVIDIA H200", "h200", "nvidia_h200", "Nvidia-H200", NULL};
    for (size_t i = 0; i < KC_COUNT (names); i++) {
        kc_gpu_gpu_t *gpu = kc_gpus_find (names[i], NULL);
        assert_non_null (gpu);
        assert_string_equal (gpu->name, "NVIDIA H200");
        kc_gpu_gpu_free (&gpu);
    }
    kc_err_t err = {0};
    assert_null (kc_gpus_find ("voodoo", &err));
    assert_non_null (strstr (err.text, "NVIDIA H200"));
    assert_null (kc_gpus_find ("nvidia", &err)); // more than one
    assert_true (kc_gpus_same ("NVIDIA H200", "nvidia_h200"));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (evidence_of_every_example_is_complete),
        cmocka_unit_test (structures_are_read_from_the_code),
        cmocka_unit_test (a_strided_transpose_shows_in_its_stores_and_a_tile_mends_them),
        cmocka_unit_test (wide_loads_show_in_code_and_counts),
        cmocka_unit_test (a_small_grid_is_the_occupancy_limiter),
        cmocka_unit_test (an_access_past_the_end_names_buffer_line_and_thread),
        cmocka_unit_test (a_run_beyond_its_instructions_is_a_timeout),
        cmocka_unit_test (gpus_are_found_by_any_spelling),
    };
    return cmocka_run_group_tests (tests, s_open, s_close);
}
