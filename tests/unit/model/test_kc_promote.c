// test_kc_promote.c - programs rewritten to double, and the reasons not to

#include "common/model/kc_card.h"
#include "common/model/kc_promote.h"
#include "model_cases.h"

#define TASK                                                                           \
    "//@ task t\n//@ dim N = 64\n//@ input x f32[N]\n//@ output y f32[N]\n//@ check "  \
    "N=33\n"

static kc_card_t *s_card (const char *text)
{
    kc_program_text_t *t = case_parse (text);
    kc_card_device_t *d = kc_type_new (&kc_card_device_type);
    d->backend = KC_CARD_DEVICE_BACKEND_VGPU;
    d->gpu = kc_strdup ("NVIDIA H200");
    d->sm = 90;
    d->sms = 132;
    kc_verdict_t *v = kc_verdict_new ();
    kc_card_t *card = kc_card_build (t, NULL, 0, d, 0, v);
    if (!card)
        fail_msg ("%s", kc_findings_text (v));
    kc_card_device_free (&d);
    kc_verdict_free (&v);
    kc_program_text_destroy (&t);
    return card;
}

static void s_becomes (const char *source, const char *expected)
{
    char *text = kc_asprintf (TASK "//@ launch k<<<1, 32>>>\n%s", source);
    kc_card_t *card = s_card (text), *twin;
    kc_err_t err = {0};
    kc_program_t *p = kc_promote (card, card->seed, &twin, &err);
    if (!p)
        fail_msg ("%s", err.text);
    const char *got = p->source;
    while (*got == '\n')
        got++;
    assert_string_equal (got, expected);
    kc_program_free (&p);
    kc_card_free (&twin);
    kc_card_free (&card);
    free (text);
}

static void s_stays (const char *source, const char *why)
{
    char *text = kc_asprintf (TASK "//@ launch k<<<1, 32>>>\n%s", source);
    kc_card_t *card = s_card (text), *twin;
    kc_err_t err = {0};
    assert_null (kc_promote (card, card->seed, &twin, &err));
    assert_null (twin);
    assert_int_equal (err.code, KC_EUNSUPPORTED);
    if (!strstr (err.text, why))
        fail_msg ("%s", err.text);
    kc_card_free (&card);
    free (text);
}

#define K(body) "__global__ void k(const float *x, float *y) { " body " }\n"
#define D(body) "__global__ void k(const double *x, double *y) { " body " }\n"

static void types_literals_and_functions_become_double (void **state)
{
    (void)state;
    s_becomes (K ("y[0] = 1.f + .5F * expf(x[0]) - 1e-3f + 0xFF + 0x1p-3f + (float)3;"),
               D ("y[0] = 1. + .5 * exp(x[0]) - 1e-3 + 0xFF + 0x1p-3 + (double)3;"));
    s_becomes (K ("float4 v = *reinterpret_cast<const float4 *>(x); y[0] = fmaxf(v.x, "
                  "__expf(v.y)); // 1.f"),
               D ("double4 v = *reinterpret_cast<const double4 *>(x); y[0] = fmax(v.x, "
                  "exp(v.y)); // 1.f"));
    s_becomes (
        "#define HALF 0.5f\n#include \"kc_tools.h\"\n" K ("y[0] = HALF * f_rsqrtf;"),
        "#define HALF 0.5\n#include \"kc_tools.h\"\n" D ("y[0] = HALF * f_rsqrtf;"));
}

static void helpers_come_without_moving_a_line (void **state)
{
    (void)state;
    kc_card_t *card = s_card (TASK "//@ launch k<<<1, 32, 128>>>\n__global__ void "
                                   "k(const float *x, float *y) {\n"
                                   "extern __shared__ float s[]; y[0] = "
                                   "__fdividef(x[0], __saturatef(s[0])); }\n"),
              *twin;
    kc_program_t *p = kc_promote (card, card->seed, &twin, NULL);
    assert_non_null (p);
    assert_true (!strncmp (p->source, "__device__ inline double kc_fp64_div", 30));
    assert_non_null (strstr (p->source, "kc_fp64_div(x[0], kc_fp64_sat(s[0]))"));
    size_t before = 0, after = 0;
    for (const char *c = card->seed->source; *c; c++)
        before += *c == '\n';
    for (const char *c = p->source; *c; c++)
        after += *c == '\n';
    assert_int_equal (before, after);
    assert_string_equal (p->blocks[0].steps[0].u.kernel->shared, "2 * (128)");
    assert_int_equal (twin->tensors[0].dtype, KC_PROGRAM_DTYPE_F64);
    assert_int_equal (twin->tensors[1].dtype, KC_PROGRAM_DTYPE_F64);
    assert_int_equal (card->tensors[1].dtype, KC_PROGRAM_DTYPE_F32);
    kc_program_free (&p);
    kc_card_free (&twin);
    kc_card_free (&card);
}

static void what_has_no_double_form_is_refused (void **state)
{
    (void)state;
    s_stays (K ("asm(\"\");"), "inline assembly");
    s_stays (K ("y[0] = __int_as_float(3);"), "the bits of a float");
    s_stays (K ("int i = *reinterpret_cast<const int *>(x); y[0] = i;"),
             "read as another type");
    s_stays (K ("int i = *(const int *)x; y[0] = i;"), "read as another type");
    s_stays (K ("__half h; y[0] = 0;"), "half types");
    s_stays (K ("extern __shared__ char raw[]; y[0] = raw[0];"), "carved by bytes");
    s_stays (K ("y[0] = __fadd_rz(x[0], x[1]);"), "__fadd_rz");
    s_stays (K ("union { float f; int i; } u; y[0] = u.f;"), "a union");
}

static void every_example_has_a_valid_double_form (void **state)
{
    (void)state;
    static const char *const names[] = {"matmul", "reduction", "softmax", "transpose"};
    for (size_t i = 0; i < 4; i++) {
        char *path = kc_asprintf ("deploy/examples/%s.cu", names[i]),
             *text = case_read (path, NULL);
        kc_card_t *card = s_card (text), *twin;
        kc_err_t err = {0};
        kc_program_t *p = kc_promote (card, card->seed, &twin, &err);
        if (!p)
            fail_msg ("%s: %s", names[i], err.text);
        kc_device_facts_t facts;
        kc_card_facts (card->device, &facts);
        kc_verdict_t *v = kc_verdict_new ();
        kc_plan_t *plan = kc_plan_build (twin, p, NULL, 0, &facts, NULL, 0, v);
        if (!plan)
            fail_msg ("%s: %s", names[i], kc_findings_text (v));
        kc_plan_destroy (&plan);
        kc_verdict_free (&v);
        kc_program_free (&p);
        kc_card_free (&twin);
        kc_card_free (&card);
        free (text);
        free (path);
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (types_literals_and_functions_become_double),
        cmocka_unit_test (helpers_come_without_moving_a_line),
        cmocka_unit_test (what_has_no_double_form_is_refused),
        cmocka_unit_test (every_example_has_a_valid_double_form),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
