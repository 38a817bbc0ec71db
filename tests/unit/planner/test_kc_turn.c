// test_kc_turn.c - the coder of cuda tasks: the given kernel first, then one change of a method at a time

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agents/coder/kc_turn.h"
#include "common/model/kc_program.h"
#include "common/model/kc_program_text.h"
#include "common/util/kc_mem.h"

static const char s_text[] = "//@ task t ; doubles\n"
                             "//@ dim N = 1000\n"
                             "//@ input  x f32[N] fill=normal(0, 1)\n"
                             "//@ output y f32[N]\n"
                             "//@ tune ITEMS in 1 2 4 for Increase_ILP_WorkPerThread\n"
                             "//@ launch k<<<cdiv(N, 256 * ITEMS), 256>>>\n"
                             "extern \"C\" __global__ void k(const float *x, float *y, int N) {\n"
                             "  for (int j = 0; j < ITEMS; j++) {\n"
                             "    int i = (blockIdx.x * ITEMS + j) * 256 + threadIdx.x;\n"
                             "    if (i < N) y[i] = 2 * x[i];\n"
                             "  }\n"
                             "}\n";

static kc_card_t *s_card (void)
{
    kc_program_text_t *text = kc_program_text_parse (s_text, strlen (s_text), NULL, NULL);
    assert_non_null (text);
    kc_card_t *card = kc_card_new ();
    card->kind = KC_TASK_KIND_CUDA;
    kc_set (&card->name, "t");
    card->policy = KC_CARD_POLICY_FP32;
    card->device = kc_card_device_new ();
    kc_set (&card->device->gpu, "any");
    card->device->backend = KC_CARD_DEVICE_BACKEND_VGPU;
    card->device->sm = 90;
    card->device->sms = 132;
    card->seed = text->program;
    text->program = NULL;
    kc_card_tunable_t *u = kc_push (&card->tunables, &card->n_tunables, sizeof *card->tunables);
    kc_type_init (&kc_card_tunable_type, u);
    u->name = kc_strdup ("ITEMS");
    u->method = kc_strdup ("Increase_ILP_WorkPerThread");
    for (const char *v = "124"; *v; v++) {
        char **slot = kc_push (&u->values, &u->n_values, sizeof *u->values);
        *slot = kc_strndup (v, 1);
    }
    kc_program_text_destroy (&text);
    return card;
}

static kc_coder_optimise_t *s_request (const char *method)
{
    kc_coder_optimise_t *r = kc_coder_optimise_new ();
    kc_set (&r->task, "T");
    r->card = s_card ();
    r->base = kc_candidate_new ();
    r->base->program = kc_program_dup (r->card->seed);
    r->base->writer = KC_CANDIDATE_WRITER_GIVEN;
    r->method = kc_memory_ranked_method_new ();
    kc_set (&r->method->id, method);
    return r;
}

static void s_mark_tried (kc_coder_optimise_t *r, const char *hash)
{
    kc_coder_tried_t *t = kc_push (&r->tried, &r->n_tried, sizeof *r->tried);
    kc_type_init (&kc_coder_tried_type, t);
    t->hash = kc_strdup (hash);
}

static void the_seed_is_the_given_kernel (void **state)
{
    (void)state;
    kc_coder_seed_t *r = kc_coder_seed_new ();
    kc_set (&r->task, "T");
    r->card = s_card ();
    kc_coder_seed_reply_t *reply = kc_turn_seed (r, NULL);
    assert_non_null (reply);
    assert_true (kc_type_equal (&kc_program_type, reply->written->candidate->program, r->card->seed));
    assert_int_equal (reply->written->candidate->writer, KC_CANDIDATE_WRITER_GIVEN);
    kc_coder_seed_reply_free (&reply);
    kc_coder_seed_free (&r);
}

static void each_call_makes_one_change_until_all_were_tried (void **state)
{
    (void)state;
    kc_coder_optimise_t *r = s_request ("Increase_ILP_WorkPerThread");
    static const char *const expected[] = {"2", "4"};
    for (size_t i = 0; i < KC_COUNT (expected); i++) {
        kc_coder_optimise_reply_t *reply = kc_turn_optimise (r, NULL);
        assert_non_null (reply->written->candidate);
        assert_int_equal (reply->written->candidate->n_changes, 1);
        assert_string_equal (reply->written->candidate->changes[0].name, "ITEMS");
        assert_string_equal (reply->written->candidate->changes[0].to, expected[i]);
        assert_string_equal (kc_program_constant (reply->written->candidate->program, "ITEMS")->value, expected[i]);
        s_mark_tried (r, reply->written->candidate->hash);
        kc_coder_optimise_reply_free (&reply);
    }
    kc_coder_optimise_reply_t *reply = kc_turn_optimise (r, NULL);
    assert_null (reply->written->candidate);
    assert_non_null (strstr (reply->written->exhausted, "tried"));
    kc_coder_optimise_reply_free (&reply);
    kc_coder_optimise_free (&r);
}

static void a_method_without_a_tunable_says_so (void **state)
{
    (void)state;
    kc_coder_optimise_t *r = s_request ("SharedMemoryTiling");
    kc_coder_optimise_reply_t *reply = kc_turn_optimise (r, NULL);
    assert_null (reply->written->candidate);
    assert_non_null (strstr (reply->written->exhausted, "SharedMemoryTiling"));
    kc_coder_optimise_reply_free (&reply);
    kc_coder_optimise_free (&r);
}

static void other_task_kinds_are_refused (void **state)
{
    (void)state;
    kc_coder_optimise_t *r = s_request ("Launch_Tuning");
    r->card->kind = KC_TASK_KIND_GRAPH;
    kc_err_t err = {0};
    assert_null (kc_turn_optimise (r, &err));
    assert_int_equal (err.code, KC_EUNSUPPORTED);
    kc_coder_optimise_free (&r);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (the_seed_is_the_given_kernel),
        cmocka_unit_test (each_call_makes_one_change_until_all_were_tried),
        cmocka_unit_test (a_method_without_a_tunable_says_so),
        cmocka_unit_test (other_task_kinds_are_refused),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
