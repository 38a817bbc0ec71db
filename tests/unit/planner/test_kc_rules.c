// test_kc_rules.c - rule repairs: each class of error that can be mended with certainty, and the giving up

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agents/repair/kc_rules.h"
#include "common/model/kc_program_text.h"
#include "common/util/kc_mem.h"

static void s_tensor (kc_card_t *card, const char *name, kc_card_tensor_role_t role)
{
    kc_card_tensor_t *t = kc_push (&card->tensors, &card->n_tensors, sizeof *card->tensors);
    kc_type_init (&kc_card_tensor_type, t);
    t->name = kc_strdup (name);
    t->role = role;
    t->dtype = KC_PROGRAM_DTYPE_F32;
    char **shape = kc_push (&t->shape, &t->n_shape, sizeof *t->shape);
    *shape = kc_strdup ("N");
    int64_t *size = kc_push (&t->sizes, &t->n_sizes, sizeof *t->sizes);
    *size = 1000;
}

static kc_card_t *s_card (void)
{
    kc_card_t *card = kc_card_new ();
    card->kind = KC_TASK_KIND_CUDA;
    kc_set (&card->name, "t");
    card->policy = KC_CARD_POLICY_FP32;
    card->device = kc_card_device_new ();
    kc_set (&card->device->gpu, "NVIDIA H200");
    card->device->backend = KC_CARD_DEVICE_BACKEND_VGPU;
    card->device->sm = 90;
    card->device->sms = 132;
    kc_task_setting_t *dim = kc_push (&card->dims, &card->n_dims, sizeof *card->dims);
    dim->name = kc_strdup ("N");
    dim->value = 1000;
    s_tensor (card, "input", KC_CARD_TENSOR_ROLE_INPUT);
    s_tensor (card, "output", KC_CARD_TENSOR_ROLE_OUTPUT);
    return card;
}

static kc_repair_fix_t *s_request (const char *text, kc_verdict_status_t status)
{
    kc_program_text_t *parsed = kc_program_text_parse (text, strlen (text), NULL, NULL);
    assert_non_null (parsed);
    kc_repair_fix_t *r = kc_repair_fix_new ();
    kc_set (&r->task, "T");
    r->card = s_card ();
    r->failed = kc_candidate_new ();
    r->failed->program = parsed->program;
    r->failed->writer = KC_CANDIDATE_WRITER_LLM;
    parsed->program = NULL;
    kc_program_text_destroy (&parsed);
    r->verdict = kc_verdict_new ();
    r->verdict->status = status;
    r->verdict->judge_version = 1;
    return r;
}

static void a_misspelt_kernel_name_is_mended (void **state)
{
    (void)state;
    kc_repair_fix_t *r = s_request ("//@ launch scal<<<cdiv(N, 256), 256>>>\n"
                                    "extern \"C\" __global__ void scale(const float *input, float *output, int N) {\n"
                                    "  int i = blockIdx.x * 256 + threadIdx.x;\n  if (i < N) output[i] = input[i];\n}\n",
                                    KC_VERDICT_STATUS_PLAN_ERROR);
    kc_repair_fix_reply_t *reply = kc_rules_fix (r);
    assert_non_null (reply->candidate);
    assert_string_equal (reply->note->rule, "entry");
    assert_string_equal (reply->candidate->program->blocks[0].steps[0].u.kernel->kernel, "scale");
    kc_repair_fix_reply_free (&reply);
    kc_repair_fix_free (&r);
}

static void arguments_that_do_not_fit_bind_by_name (void **state)
{
    (void)state;
    kc_repair_fix_t *r = s_request ("//@ launch scale<<<cdiv(N, 256), 256>>>\n"
                                    "extern \"C\" __global__ void scale(const float *inputs, float *output, int N) {\n"
                                    "  int i = blockIdx.x * 256 + threadIdx.x;\n  if (i < N) output[i] = inputs[i];\n}\n",
                                    KC_VERDICT_STATUS_PLAN_ERROR);
    kc_repair_fix_reply_t *reply = kc_rules_fix (r);
    assert_non_null (reply->candidate);
    assert_string_equal (reply->note->rule, "arguments");
    const kc_program_kernel_t *step = reply->candidate->program->blocks[0].steps[0].u.kernel;
    assert_int_equal (step->n_args, 3); // the others keep their names
    assert_string_equal (step->args[0].param, "inputs");
    assert_string_equal (step->args[0].tensor, "input");
    kc_repair_fix_reply_free (&reply);
    kc_repair_fix_free (&r);
}

static void too_many_registers_are_held_to_what_fits (void **state)
{
    (void)state;
    kc_repair_fix_t *r = s_request ("//@ launch scale<<<cdiv(N, 1024), 1024>>>\n"
                                    "extern \"C\" __global__ void scale(const float *input, float *output, int N) {\n"
                                    "  int i = blockIdx.x * 1024 + threadIdx.x;\n  if (i < N) output[i] = input[i];\n}\n",
                                    KC_VERDICT_STATUS_LAUNCH_ERROR);
    kc_verdict_kernel_t *k = kc_push (&r->verdict->kernels, &r->verdict->n_kernels, sizeof *r->verdict->kernels);
    kc_type_init (&kc_verdict_kernel_type, k);
    k->name = kc_strdup ("scale");
    k->has_registers = true;
    k->registers = 96;
    kc_repair_fix_reply_t *reply = kc_rules_fix (r);
    assert_non_null (reply->candidate);
    assert_string_equal (reply->note->rule, "resources");
    assert_int_equal (reply->candidate->program->compile->max_registers, 64);
    kc_repair_fix_reply_free (&reply);
    kc_repair_fix_free (&r);
}

static void what_no_rule_mends_is_rolled_back (void **state)
{
    (void)state;
    kc_repair_fix_t *r = s_request ("//@ launch scale<<<cdiv(N, 256), 256>>>\n"
                                    "extern \"C\" __global__ void scale(const float *input, float *output, int N) {\n"
                                    "  output[0] = input[0];\n}\n",
                                    KC_VERDICT_STATUS_WRONG_OUTPUT);
    kc_repair_fix_reply_t *reply = kc_rules_fix (r);
    assert_null (reply->candidate);
    assert_true (reply->note->gave_up);
    assert_string_equal (reply->note->rule, "roll_back");
    kc_repair_fix_reply_free (&reply);
    kc_repair_fix_free (&r);
}

static void a_rule_is_used_once_in_a_chain (void **state)
{
    (void)state;
    kc_repair_fix_t *r = s_request ("//@ launch scal<<<cdiv(N, 256), 256>>>\n"
                                    "extern \"C\" __global__ void scale(const float *input, float *output, int N) {\n"
                                    "  int i = blockIdx.x * 256 + threadIdx.x;\n  if (i < N) output[i] = input[i];\n}\n",
                                    KC_VERDICT_STATUS_PLAN_ERROR);
    kc_memory_repair_note_t *note = kc_push (&r->chain, &r->n_chain, sizeof *r->chain);
    kc_type_init (&kc_memory_repair_note_type, note);
    note->rule = kc_strdup ("entry");
    note->why = kc_strdup ("before");
    kc_repair_fix_reply_t *reply = kc_rules_fix (r);
    assert_null (reply->candidate);
    assert_true (reply->note->gave_up);
    kc_repair_fix_reply_free (&reply);
    kc_repair_fix_free (&r);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (a_misspelt_kernel_name_is_mended),
        cmocka_unit_test (arguments_that_do_not_fit_bind_by_name),
        cmocka_unit_test (too_many_registers_are_held_to_what_fits),
        cmocka_unit_test (what_no_rule_mends_is_rolled_back),
        cmocka_unit_test (a_rule_is_used_once_in_a_chain),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
