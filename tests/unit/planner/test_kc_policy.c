/* test_kc_policy.c - whole tasks played against a made-up world, with the policy deciding every step
 *
 * The world knows how fast each setting of two tunables is and which settings fail.  After every stored
 * step the trail is built anew from all steps, as a successor of a killed planner would, and must decide
 * the same.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agents/planner/kc_policy.h"
#include "common/model/kc_moves.h"
#include "common/model/kc_program.h"
#include "common/util/kc_map.h"
#include "common/util/kc_mem.h"

enum { STEPS_MAX = 2000 };

typedef struct world {
    double (*speed) (long long items, long long block); // us; 0 = wrong, negative = does not compile
    bool seed_is_wrong;
    bool repairs_help;      // the repairer mends what does not compile
    int confirm_fails;      // so many final measurements fail
    double floor_us;
} world_t;

typedef struct stored {
    int round, lane;
    kc_memory_step_kind_t step;
    kc_memory_step_doc_t *doc;
} stored_t;

typedef struct game {
    const world_t *world;
    kc_task_budget_t budget;
    kc_card_t *card;
    size_t n;
    stored_t steps[STEPS_MAX];
    kc_map_t *evaluated;
    int evaluations;
    int confirms;
    bool finished, success;
    char reason[512];
} game_t;

static kc_card_t *s_card (void)
{
    kc_card_t *card = kc_card_new ();
    card->kind = KC_TASK_KIND_CUDA;
    kc_set (&card->name, "made-up");
    card->policy = KC_CARD_POLICY_EXACT; // no switch trades precision, so only the tunables move
    card->device = kc_card_device_new ();
    card->device->backend = KC_CARD_DEVICE_BACKEND_VGPU;
    kc_set (&card->device->gpu, "NVIDIA H200");
    card->device->sm = 90;
    card->device->sms = 132;
    card->floor = kc_card_floor_new ();
    card->floor->bytes = 1;
    card->floor->bytes_us = card->floor->us = 1;
    kc_card_tensor_t *t = kc_push (&card->tensors, &card->n_tensors, sizeof *card->tensors);
    kc_type_init (&kc_card_tensor_type, t);
    t->name = kc_strdup ("y");
    t->role = KC_CARD_TENSOR_ROLE_OUTPUT;
    t->dtype = KC_PROGRAM_DTYPE_F32;
    static const char *const values[2][4] = {{"1", "2", "4", "8"}, {"64", "128", "256", NULL}};
    static const char *const names[2] = {"ITEMS", "BLOCK"};
    static const char *const methods[2] = {"Increase_ILP_WorkPerThread", "Launch_Tuning"};
    for (int i = 0; i < 2; i++) {
        kc_card_tunable_t *u = kc_push (&card->tunables, &card->n_tunables, sizeof *card->tunables);
        kc_type_init (&kc_card_tunable_type, u);
        u->name = kc_strdup (names[i]);
        u->method = kc_strdup (methods[i]);
        for (int k = 0; k < 4 && values[i][k]; k++) {
            char **v = kc_push (&u->values, &u->n_values, sizeof *u->values);
            *v = kc_strdup (values[i][k]);
        }
    }
    kc_program_t *p = card->seed = kc_program_new ();
    kc_set (&p->source, "extern \"C\" __global__ void k(float *y) { y[0] = ITEMS * BLOCK; }");
    for (int i = 0; i < 2; i++) {
        kc_program_constant_t *c = kc_push (&p->constants, &p->n_constants, sizeof *p->constants);
        kc_type_init (&kc_program_constant_type, c);
        c->name = kc_strdup (names[i]);
        c->value = kc_strdup (values[i][0]);
    }
    kc_program_block_t *b = kc_push (&p->blocks, &p->n_blocks, sizeof *p->blocks);
    kc_type_init (&kc_program_block_type, b);
    kc_program_step_t *s = kc_push (&b->steps, &b->n_steps, sizeof *b->steps);
    s->kind = KC_PROGRAM_STEP_KERNEL;
    s->u.kernel = kc_program_kernel_new ();
    kc_set (&s->u.kernel->kernel, "k");
    char **g = kc_push (&s->u.kernel->grid, &s->u.kernel->n_grid, sizeof *s->u.kernel->grid);
    *g = kc_strdup ("1");
    char **t1 = kc_push (&s->u.kernel->block, &s->u.kernel->n_block, sizeof *s->u.kernel->block);
    *t1 = kc_strdup ("1");
    return card;
}

static long long s_constant (const kc_program_t *p, const char *name)
{
    const kc_program_constant_t *c = kc_program_constant (p, name);
    return c ? strtoll (c->value, NULL, 10) : 0;
}

static double s_speed (const game_t *g, const kc_program_t *p)
{
    if (g->world->seed_is_wrong && p->compile == NULL)
        return 0;
    return g->world->speed (s_constant (p, "ITEMS"), s_constant (p, "BLOCK"));
}

static kc_trail_t *s_trail (const game_t *g)
{
    kc_trail_t *trail = kc_trail_new ();
    for (size_t i = 0; i < g->n; i++)
        kc_trail_add (trail, g->steps[i].round, g->steps[i].lane, g->steps[i].step, kc_memory_step_doc_dup (g->steps[i].doc));
    return trail;
}

static void s_store (game_t *g, const kc_action_t *a, kc_memory_step_kind_t step, kc_memory_step_doc_t *doc)
{
    assert_true (g->n < STEPS_MAX);
    for (size_t i = 0; i < g->n; i++) // the memory service would refuse a second one
        assert_false (g->steps[i].round == a->round && g->steps[i].lane == a->lane && g->steps[i].step == step);
    doc->seconds = 1;
    g->steps[g->n++] = (stored_t){a->round, a->lane, step, doc};
}

static void s_ratio (kc_verdict_t *v, kc_verdict_ratio_over_t over, double speedup)
{
    kc_verdict_ratio_t *r = kc_push (&v->ratios, &v->n_ratios, sizeof *v->ratios);
    kc_type_init (&kc_verdict_ratio_type, r);
    r->over = over;
    r->speedup = speedup;
    r->comparison = speedup > 1.02 ? KC_VERDICT_RATIO_COMPARISON_FASTER
                    : speedup < 0.98 ? KC_VERDICT_RATIO_COMPARISON_SLOWER
                                     : KC_VERDICT_RATIO_COMPARISON_SAME;
}

static void s_evaluate (game_t *g, const kc_trail_t *trail, const kc_action_t *a, bool confirm)
{
    const kc_try_t *t = kc_trail_try (trail, a->round, a->lane);
    const kc_try_t *subject = confirm ? kc_trail_try (trail, (int)t->plan->base_round, (int)t->plan->base_lane) : t;
    const kc_try_t *baseline = kc_trail_baseline (trail), *base = kc_trail_base_before (trail, a->round);
    assert_non_null (subject);
    assert_non_null (subject->candidate);
    char key[KC_SHA_HEX];
    assert_int_equal (kc_program_hash (subject->candidate->program, key), 0);
    if (!confirm) {
        assert_null (kc_map_get (g->evaluated, key)); // nothing is tried twice
        kc_map_put (g->evaluated, key, g);
    }
    g->evaluations++;
    double us = s_speed (g, subject->candidate->program);
    kc_memory_step_doc_t *doc = kc_memory_step_doc_new ();
    kc_verdict_t *v = doc->verdict = kc_verdict_new ();
    v->judge_version = 1;
    v->status = us > 0 ? KC_VERDICT_STATUS_OK : us < 0 ? KC_VERDICT_STATUS_COMPILE_ERROR : KC_VERDICT_STATUS_WRONG_OUTPUT;
    if (confirm && g->confirms++ < g->world->confirm_fails)
        v->status = KC_VERDICT_STATUS_WRONG_OUTPUT;
    if (v->status == KC_VERDICT_STATUS_OK) {
        v->has_floor_share = true;
        v->floor_share = g->world->floor_us / us;
        if (baseline)
            s_ratio (v, KC_VERDICT_RATIO_OVER_BASELINE, s_speed (g, baseline->candidate->program) / us);
        if (base && base != baseline && base != subject)
            s_ratio (v, KC_VERDICT_RATIO_OVER_BASE, s_speed (g, base->candidate->program) / us);
    }
    s_store (g, a, KC_MEMORY_STEP_KIND_EVALUATE, doc);
}

static kc_candidate_t *s_candidate (kc_program_t *program)
{
    kc_candidate_t *c = kc_candidate_new ();
    c->program = program;
    c->writer = KC_CANDIDATE_WRITER_EXPERT;
    return c;
}

static void s_code (game_t *g, const kc_trail_t *trail, const kc_action_t *a)
{
    const kc_try_t *t = kc_trail_try (trail, a->round, a->lane);
    const kc_try_t *base = kc_trail_base_before (trail, a->round);
    kc_memory_step_doc_t *doc = kc_memory_step_doc_new ();
    size_t n = 0;
    kc_move_t *moves = kc_moves_list (g->card, base->candidate->program, t->plan->method, &n);
    for (size_t i = 0; i < n && !doc->candidate; i++)
        if (!kc_trail_tried (trail, moves[i].hash)) {
            doc->candidate = s_candidate (kc_program_dup (moves[i].program));
            kc_set (&doc->candidate->method, t->plan->method);
        }
    kc_moves_free (moves, n);
    // The policy offers only methods with something left; an earlier lane of the round may have written just that.
    assert_true (doc->candidate || a->lane > 0);
    if (!doc->candidate) {
        doc->error = kc_memory_outcome_new ();
        kc_set (&doc->error->code, "exhausted");
        kc_set (&doc->error->text, "nothing is left");
    }
    s_store (g, a, KC_MEMORY_STEP_KIND_CODE, doc);
}

static void s_repair (game_t *g, const kc_trail_t *trail, const kc_action_t *a)
{
    const kc_try_t *failed = kc_trail_try (trail, a->round - 1, a->lane);
    assert_non_null (failed);
    kc_memory_step_doc_t *doc = kc_memory_step_doc_new ();
    doc->repair = kc_memory_repair_note_new ();
    kc_set (&doc->repair->rule, "made_up");
    kc_set (&doc->repair->why, "because");
    if (g->world->repairs_help && !failed->candidate->program->compile) {
        kc_program_t *p = kc_program_dup (failed->candidate->program);
        p->compile = kc_program_compile_new ();
        p->compile->has_max_registers = true;
        p->compile->max_registers = 64;
        doc->candidate = s_candidate (p);
    }
    else
        doc->repair->gave_up = true;
    s_store (g, a, KC_MEMORY_STEP_KIND_REPAIR, doc);
}

static void s_perform (game_t *g, const kc_trail_t *trail, kc_action_t *a)
{
    kc_memory_step_doc_t *doc = NULL;
    switch (a->kind) {
    case KC_DO_INSPECT:
        doc = kc_memory_step_doc_new ();
        doc->card = kc_card_dup (g->card);
        s_store (g, a, KC_MEMORY_STEP_KIND_INSPECT, doc);
        break;
    case KC_DO_SEED:
        doc = kc_memory_step_doc_new ();
        doc->candidate = s_candidate (kc_program_dup (g->card->seed));
        s_store (g, a, KC_MEMORY_STEP_KIND_CODE, doc);
        break;
    case KC_DO_CODE:
        s_code (g, trail, a);
        break;
    case KC_DO_REPAIR:
        s_repair (g, trail, a);
        break;
    case KC_DO_EVALUATE:
    case KC_DO_CONFIRM:
        s_evaluate (g, trail, a, a->kind == KC_DO_CONFIRM);
        break;
    case KC_DO_PROFILE:
        doc = kc_memory_step_doc_new ();
        doc->evidence = kc_evidence_new ();
        doc->evidence->backend = KC_EVIDENCE_BACKEND_VGPU;
        s_store (g, a, KC_MEMORY_STEP_KIND_PROFILE, doc);
        break;
    case KC_DO_MATCH:
        doc = kc_memory_step_doc_new ();
        doc->diagnosis = kc_memory_diagnosis_new ();
        s_store (g, a, KC_MEMORY_STEP_KIND_MATCH, doc);
        break;
    case KC_DO_PLAN:
        assert_non_null (a->plan->why);
        assert_true (strlen (a->plan->why) > 0);
        doc = kc_memory_step_doc_new ();
        doc->plan = a->plan;
        a->plan = NULL;
        s_store (g, a, KC_MEMORY_STEP_KIND_PLAN, doc);
        break;
    case KC_DO_FINISH:
        g->finished = true;
        g->success = a->success;
        snprintf (g->reason, sizeof g->reason, "%s", a->reason);
        break;
    case KC_DO_NOTHING:
    case KC_DO_WAIT:
        fail ();
    }
}

static bool s_same_actions (const kc_action_t *a, size_t n, const kc_action_t *b, size_t m)
{
    bool same = n == m;
    for (size_t i = 0; same && i < n; i++)
        same = a[i].kind == b[i].kind && a[i].round == b[i].round && a[i].lane == b[i].lane
               && (!a[i].plan || kc_type_equal (&kc_memory_plan_type, a[i].plan, b[i].plan));
    return same;
}

static void s_play (game_t *g, const world_t *world, int64_t rounds, int64_t lanes)
{
    memset (g, 0, sizeof *g);
    g->world = world;
    kc_type_init (&kc_task_budget_type, &g->budget);
    g->budget.rounds = rounds;
    g->budget.lanes = lanes;
    g->budget.seconds = 100000;
    g->card = s_card ();
    g->evaluated = kc_map_new (NULL);
    for (int turn = 0; turn < STEPS_MAX && !g->finished; turn++) {
        kc_trail_t *trail = s_trail (g), *again = s_trail (g);
        kc_action_t actions[KC_POLICY_ACTIONS_MAX], repeated[KC_POLICY_ACTIONS_MAX];
        size_t n = kc_policy_next (trail, &g->budget, actions);
        size_t m = kc_policy_next (again, &g->budget, repeated);
        assert_true (n > 0);
        assert_true (s_same_actions (actions, n, repeated, m));
        for (size_t i = 0; i < n; i++)
            s_perform (g, trail, &actions[i]);
        kc_actions_clear (actions, n);
        kc_actions_clear (repeated, m);
        kc_trail_destroy (&trail);
        kc_trail_destroy (&again);
    }
    assert_true (g->finished);
}

static void s_over (game_t *g)
{
    for (size_t i = 0; i < g->n; i++)
        kc_memory_step_doc_free (&g->steps[i].doc);
    kc_card_free (&g->card);
    kc_map_destroy (&g->evaluated);
}

// The program that the task answers with.
static const kc_try_t *s_result (const kc_trail_t *trail)
{
    return kc_policy_result (trail);
}

static double s_smooth (long long items, long long block)
{
    return 100.0 / (double)items + fabs ((double)block - 128) / 10 + 20;
}

static double s_some_fail (long long items, long long block)
{
    return items == 2 ? -1 : items == 4 ? 0 : 100.0 / (double)items + (double)block / 64;
}

static double s_flat (long long items, long long block)
{
    (void)items;
    (void)block;
    return 50;
}

static double s_never_right (long long items, long long block)
{
    (void)items;
    (void)block;
    return -1;
}

static void a_task_climbs_to_the_best_setting_and_says_so (void **state)
{
    (void)state;
    const world_t world = {.speed = s_smooth, .floor_us = 1};
    game_t g;
    s_play (&g, &world, 30, 1);
    kc_trail_t *trail = s_trail (&g);
    assert_true (g.success);
    const kc_try_t *best = s_result (trail);
    assert_non_null (best);
    assert_int_equal (s_constant (best->candidate->program, "ITEMS"), 8);
    assert_int_equal (s_constant (best->candidate->program, "BLOCK"), 128);
    kc_trail_destroy (&trail);
    s_over (&g);
}

static void settings_that_fail_are_passed_over (void **state)
{
    (void)state;
    const world_t world = {.speed = s_some_fail, .floor_us = 1};
    game_t g;
    s_play (&g, &world, 40, 1);
    kc_trail_t *trail = s_trail (&g);
    assert_true (g.success);
    const kc_try_t *best = s_result (trail);
    assert_int_equal (s_constant (best->candidate->program, "ITEMS"), 8);
    kc_trail_destroy (&trail);
    s_over (&g);
}

static void a_task_without_a_gain_ends_with_the_given_kernel (void **state)
{
    (void)state;
    const world_t world = {.speed = s_flat, .floor_us = 1};
    game_t g;
    s_play (&g, &world, 40, 1);
    kc_trail_t *trail = s_trail (&g);
    assert_true (g.success);
    assert_int_equal (s_result (trail)->round, 0);
    assert_non_null (strstr (g.reason, "nothing is left"));
    kc_trail_destroy (&trail);
    s_over (&g);
}

static void the_budget_of_rounds_is_kept (void **state)
{
    (void)state;
    const world_t world = {.speed = s_smooth, .floor_us = 1};
    game_t g;
    s_play (&g, &world, 2, 1);
    assert_true (g.success);
    assert_int_equal (g.evaluations, 1 + 2 + 1); // the seed, two rounds, the final measurement
    assert_non_null (strstr (g.reason, "rounds"));
    s_over (&g);
}

static void near_the_floor_it_stops (void **state)
{
    (void)state;
    const world_t world = {.speed = s_flat, .floor_us = 49};
    game_t g;
    s_play (&g, &world, 40, 1);
    assert_true (g.success);
    assert_int_equal (g.evaluations, 2);
    assert_non_null (strstr (g.reason, "floor"));
    s_over (&g);
}

static void a_task_whose_kernel_is_never_right_fails_with_the_reason (void **state)
{
    (void)state;
    const world_t world = {.speed = s_never_right, .floor_us = 1};
    game_t g;
    s_play (&g, &world, 40, 1);
    assert_false (g.success);
    assert_non_null (strstr (g.reason, "COMPILE_ERROR"));
    s_over (&g);
}

static void a_repaired_seed_becomes_the_baseline (void **state)
{
    (void)state;
    const world_t world = {.speed = s_smooth, .floor_us = 1, .seed_is_wrong = true, .repairs_help = true};
    game_t g;
    s_play (&g, &world, 40, 1);
    kc_trail_t *trail = s_trail (&g);
    assert_true (g.success);
    assert_int_equal (kc_trail_baseline (trail)->round, 1);
    assert_int_equal (s_constant (s_result (trail)->candidate->program, "ITEMS"), 8);
    kc_trail_destroy (&trail);
    s_over (&g);
}

static void a_best_that_does_not_stand_up_is_given_up_for_the_one_before (void **state)
{
    (void)state;
    const world_t world = {.speed = s_smooth, .floor_us = 1, .confirm_fails = 1};
    game_t g;
    s_play (&g, &world, 30, 1);
    kc_trail_t *trail = s_trail (&g);
    assert_true (g.success);
    const kc_try_t *best = s_result (trail);
    assert_non_null (best);
    assert_true (s_constant (best->candidate->program, "ITEMS") != 8
                 || s_constant (best->candidate->program, "BLOCK") != 128);
    kc_trail_destroy (&trail);
    s_over (&g);
}

static void when_no_measurement_stands_up_the_task_fails (void **state)
{
    (void)state;
    const world_t world = {.speed = s_smooth, .floor_us = 1, .confirm_fails = 1000};
    game_t g;
    s_play (&g, &world, 30, 1);
    assert_false (g.success);
    s_over (&g);
}

static void lanes_try_different_changes_side_by_side (void **state)
{
    (void)state;
    const world_t world = {.speed = s_smooth, .floor_us = 1};
    game_t g;
    s_play (&g, &world, 30, 4);
    kc_trail_t *trail = s_trail (&g);
    assert_true (g.success);
    assert_true (kc_trail_lanes (trail, 1) > 1);
    assert_int_equal (s_constant (s_result (trail)->candidate->program, "ITEMS"), 8);
    assert_int_equal (s_constant (s_result (trail)->candidate->program, "BLOCK"), 128);
    kc_trail_destroy (&trail);
    s_over (&g);
}

static void a_refused_task_ends_with_the_refusal (void **state)
{
    (void)state;
    kc_trail_t *trail = kc_trail_new ();
    kc_memory_step_doc_t *doc = kc_memory_step_doc_new ();
    doc->error = kc_memory_outcome_new ();
    kc_set (&doc->error->code, "refused");
    kc_set (&doc->error->text, "line 3: no dim K");
    kc_trail_add (trail, 0, 0, KC_MEMORY_STEP_KIND_INSPECT, doc);
    kc_task_budget_t budget;
    kc_type_init (&kc_task_budget_type, &budget);
    kc_action_t actions[KC_POLICY_ACTIONS_MAX];
    assert_int_equal (kc_policy_next (trail, &budget, actions), 1);
    assert_int_equal (actions[0].kind, KC_DO_FINISH);
    assert_false (actions[0].success);
    assert_string_equal (actions[0].reason, "line 3: no dim K");
    kc_trail_destroy (&trail);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (a_task_climbs_to_the_best_setting_and_says_so),
        cmocka_unit_test (settings_that_fail_are_passed_over),
        cmocka_unit_test (a_task_without_a_gain_ends_with_the_given_kernel),
        cmocka_unit_test (the_budget_of_rounds_is_kept),
        cmocka_unit_test (near_the_floor_it_stops),
        cmocka_unit_test (a_task_whose_kernel_is_never_right_fails_with_the_reason),
        cmocka_unit_test (a_repaired_seed_becomes_the_baseline),
        cmocka_unit_test (a_best_that_does_not_stand_up_is_given_up_for_the_one_before),
        cmocka_unit_test (when_no_measurement_stands_up_the_task_fails),
        cmocka_unit_test (lanes_try_different_changes_side_by_side),
        cmocka_unit_test (a_refused_task_ends_with_the_refusal),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
