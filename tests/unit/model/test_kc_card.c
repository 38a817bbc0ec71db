// test_kc_card.c - task cards and the moves that a card allows

#include "common/model/kc_card.h"
#include "common/model/kc_moves.h"
#include "model_cases.h"

static kc_card_device_t *s_device (void)
{
    kc_card_device_t *d = kc_type_new (&kc_card_device_type);
    d->backend = KC_CARD_DEVICE_BACKEND_VGPU;
    d->gpu = kc_strdup ("NVIDIA H200");
    d->sm = 90;
    d->sms = 132;
    d->has_bandwidth = true;
    d->bandwidth = 4.8e12;
    return d;
}

static kc_card_t *s_build (const kc_program_text_t *text, const kc_task_setting_t *set,
                           size_t n, int64_t memory, kc_verdict_t *v)
{
    kc_card_device_t *d = s_device ();
    kc_card_t *card = kc_card_build (text, set, n, d, memory, v);
    kc_card_device_free (&d);
    return card;
}

static kc_card_t *s_card (const char *text)
{
    kc_program_text_t *t = case_parse (text);
    kc_verdict_t *v = kc_verdict_new ();
    kc_card_t *card = s_build (t, NULL, 0, 0, v);
    if (!card) {
        char *all = kc_findings_text (v);
        fail_msg ("%s", all);
    }
    kc_verdict_free (&v);
    kc_program_text_destroy (&t);
    return card;
}

static void s_refused (const char *text, int64_t memory, const char *expected)
{
    kc_program_text_t *t = case_parse (text);
    kc_verdict_t *v = kc_verdict_new ();
    assert_null (s_build (t, NULL, 0, memory, v));
    case_findings_are (v, expected);
    kc_verdict_free (&v);
    kc_program_text_destroy (&t);
}

#define HEAD                                                                           \
    "//@ task t ; scales\n//@ dim B = 512\n//@ dim N = 2 * B\n//@ input x f32[B, N]\n"
#define TAIL                                                                           \
    "//@ output y f32[B, N]\n//@ launch k<<<B, BLOCK>>>\n__global__ void k(const "     \
    "float *x, float *y, int N) { }\n"

// A gather: the indices must stay inside the table at every shape.
static void bounds_of_an_integer_fill_follow_the_dims (void **state)
{
    (void)state;
    static const char text[] = "//@ task gather\n//@ dim V = 5000\n//@ dim N = 300\n//@ input table f32[V]\n"
                               "//@ input index i64[N] fill=integer(0, V - 1)\n//@ output out f32[N]\n//@ check V=11\n"
                               "//@ launch k<<<1, 32>>>\n"
                               "__global__ void k(const float *table, const long long *index, float *out, int N) { }\n";
    kc_card_t *c = s_card (text);
    assert_string_equal (c->tensors[1].fill->hi, "V - 1");
    assert_null (c->tensors[1].fill->lo);
    assert_true (c->tensors[1].fill->a == 0 && c->tensors[1].fill->b == 4999);
    kc_card_fill_t f;
    assert_int_equal (kc_card_fill (c, 1, c->checks[0].dims, c->checks[0].n_dims, &f, NULL), 0);
    assert_true (f.has_b && f.b == 10 && !f.hi);
    kc_device_facts_t facts;
    kc_card_facts (c->device, &facts);
    kc_plan_t *p = kc_plan_build (c, c->seed, c->checks[0].dims, c->checks[0].n_dims, &facts, NULL, 0, NULL);
    assert_non_null (p);
    assert_true (p->buffers[1].fill.b == 10);
    kc_plan_destroy (&p);
    kc_card_free (&c);
    kc_program_text_t *t = case_parse (text);
    char *again = kc_program_text_write (t->program, t->task, NULL);
    assert_non_null (strstr (again, "//@ input index i64[N] fill=integer(0, V - 1)\n"));
    free (again);
    kc_program_text_destroy (&t);
    s_refused (HEAD "//@ input k i32[B] fill=integer(0, Q - 1)\n//@ tune BLOCK in 32\n" TAIL, 0, "line 5: fill of k: expression 'Q - 1', position 1: unknown name 'Q'; did you mean 'B'?");
    s_refused (HEAD "//@ input k i32[B] fill=integer(0, B - 513)\n//@ tune BLOCK in 32\n" TAIL, 0,
               "line 5: fill of k: the lower bound comes first, here they are 0 and -1");
}

static void a_card_resolves_shapes_floor_and_policy (void **state)
{
    (void)state;
    kc_card_t *c = s_card (
        HEAD "//@ inout s f64[B]\n//@ tune BLOCK in 128 32 64\n//@ check B=37\n"
             "//@ output y f32[B, N]\n//@ launch k<<<B, BLOCK>>>\n"
             "__global__ void k(const float *x, float *y, double *s, int N) { }\n");
    assert_string_equal (c->text, "scales");
    assert_int_equal (c->dims[1].value, 1024);
    assert_int_equal (c->tensors[0].sizes[1], 1024);
    assert_int_equal (c->policy, KC_CARD_POLICY_FP32);
    assert_int_equal (c->floor->read_bytes, 512 * 1024 * 4 + 512 * 8);
    assert_int_equal (c->floor->write_bytes, 512 * 1024 * 4 + 512 * 8);
    assert_true (c->floor->bytes_us > 0.87 && c->floor->bytes_us < 0.88);
    assert_int_equal (c->n_checks, 1);
    assert_int_equal (c->checks[0].dims[1].value, 74); // computed dims follow
    assert_false (c->checks[0].added);
    assert_int_equal (c->tensors[0].fill->kind, KC_CARD_FILL_KIND_NORMAL);
    assert_string_equal (c->tunables[0].values[1], "32");
    int64_t sizes[KC_PLAN_MAX_RANK];
    assert_int_equal (
        kc_card_sizes (c, 0, c->checks[0].dims, c->checks[0].n_dims, sizes, NULL), 2);
    assert_int_equal (sizes[1], 74);
    kc_card_free (&c);
}

static void odd_checks_are_added_when_the_author_gave_none (void **state)
{
    (void)state;
    kc_card_t *c = s_card (HEAD "//@ const BLOCK = 64\n" TAIL);
    assert_int_equal (c->n_checks, 2);
    assert_true (c->checks[0].added && c->checks[1].added);
    assert_int_equal (c->checks[0].dims[0].value, 37);
    assert_int_equal (c->checks[0].dims[1].value, 74);
    assert_int_equal (c->checks[1].dims[0].value, 5);
    kc_card_free (&c);
    // a plan that needs multiples of 32 bears no odd shape: said, not forced
    c = s_card ("//@ task t\n//@ dim N = 1024\n//@ input x f32[N]\n//@ output y "
                "f32[N]\n//@ launch k<<<N / 32, 32>>> when N % 32 == 0\n"
                "__global__ void k(const float *x, float *y) { }\n");
    assert_int_equal (c->n_checks, 0);
    assert_non_null (strstr (c->notes[0], "no odd shape could be added"));
    kc_card_free (&c);
}

static void refusals_carry_the_authors_lines (void **state)
{
    (void)state;
    s_refused (
        "//@ const BLOCK = 64\n//@ launch k<<<1, BLOCK>>>\n__global__ void k() { }\n",
        0,
        "the file is a program, not a task: add //@ task NAME, //@ dim, //@ input and "
        "//@ output lines");
    s_refused (HEAD "//@ const BLOCK = 2048\n" TAIL, 0,
               "line 7: block of k has 2048 threads, the limit is 1024");
    s_refused (HEAD "//@ const BLOCK = 64\n//@ check C=3\n" TAIL, 0,
               "line 6: check names no dim of the task: 'C'; did you mean 'B'?");
    s_refused (HEAD "//@ const BLOCK = cdiv(64, N - 10)\n//@ check B=5\n" TAIL, 0,
               "line 5: at check B=5 N=10: constant BLOCK: expression 'cdiv(64, N - "
               "10)', position 1: division by zero");
    s_refused (HEAD "//@ const BLOCK = 64\n" TAIL, 1 << 20,
               "line 1: the tensors need 4194304 bytes, the device has 1048576; choose "
               "smaller dims with --set");
    s_refused (
        "//@ task t\n//@ dim B = 4\n//@ input x i32[B] fill=normal(0, 1)\n//@ output y "
        "i32[B]\n//@ launch k<<<1, 32>>>\n"
        "__global__ void k(const int *x, int *y) { }\n",
        0,
        "line 3: x is i32: fill it with integer(lo, hi), constant(c) or permutation");
    s_refused ("//@ task t\n//@ dim B = Q\n//@ input x f32[B]\n//@ output y "
               "f32[B]\n//@ launch k<<<1, 32>>>\n"
               "__global__ void k(const float *x, float *y) { }\n",
               0, "line 2: dim B: expression 'Q', position 1: unknown name 'Q'");
    s_refused (
        "//@ task t\n//@ dim B = 4\n//@ input x f32[B]\n//@ launch k<<<1, "
        "32>>>\n__global__ void k(const float *x) { }\n",
        0,
        "line 1: the task has no output: //@ output y f32[B, D] says what is compared");
    s_refused (
        "//@ task t\n//@ dim B = 4\n//@ input x f32[B, B]\n//@ output y f32[B, B]\n//@ "
        "matmul out=y a=x b=x\n",
        0, "line 5: library steps are not executed yet: write the matmul as a kernel");
}

static void set_overrides_dims_and_unknown_ones_are_named (void **state)
{
    (void)state;
    kc_program_text_t *t = case_parse (HEAD "//@ const BLOCK = 64\n" TAIL);
    kc_verdict_t *v = kc_verdict_new ();
    kc_task_setting_t set = {.name = kc_strdup ("B"), .value = 16};
    kc_card_t *c = s_build (t, &set, 1, 0, v);
    assert_non_null (c);
    assert_int_equal (c->dims[1].value, 32);
    kc_card_free (&c);
    kc_set (&set.name, "BB");
    assert_null (s_build (t, &set, 1, 0, v));
    case_findings_are (v, "--set names no dim of the task: 'BB'; did you mean 'B'?");
    free (set.name);
    kc_verdict_free (&v);
    kc_program_text_destroy (&t);
}

static void every_example_makes_a_card (void **state)
{
    (void)state;
    static const char *const names[] = {"matmul", "reduction", "softmax", "transpose"};
    for (size_t i = 0; i < 4; i++) {
        char *path = kc_asprintf ("deploy/examples/%s.cu", names[i]);
        char *text = case_read (path, NULL);
        kc_card_t *c = s_card (text);
        assert_true (c->n_checks > 0 && c->floor->us > 0 && c->n_tunables > 0);
        size_t size;
        char *json = kc_card_encode (c, &size);
        kc_card_t *again = kc_card_decode (json, size, KC_STRICT, NULL);
        assert_non_null (again);
        kc_card_free (&again);
        kc_card_free (&c);
        free (json);
        free (text);
        free (path);
    }
}

// ---- moves ----

static void moves_try_the_neighbours_first (void **state)
{
    (void)state;
    kc_card_t *c = s_card (HEAD "//@ tune BLOCK in 128 32 512 64 256\n//@ tune V in 1 "
                                "2 4 for Vectorization_Refinement\n" TAIL);
    size_t n;
    kc_move_t *m = kc_moves_list (c, c->seed, "Launch_Tuning", &n);
    static const char *const order[] = {"256", "64", "512", "32"};
    assert_int_equal (n, 4);
    for (size_t i = 0; i < n; i++) {
        assert_string_equal (m[i].changes[0].name, "BLOCK");
        assert_string_equal (m[i].changes[0].from, "128");
        assert_string_equal (m[i].changes[0].to, order[i]);
        assert_string_equal (kc_program_constant (m[i].program, "BLOCK")->value,
                             order[i]);
        char hash[KC_SHA_HEX];
        kc_program_hash (m[i].program, hash);
        assert_string_equal (hash, m[i].hash);
    }
    kc_moves_free (m, n);
    m = kc_moves_list (c, c->seed, "Vectorization_Refinement", &n);
    assert_int_equal (n, 2);
    kc_moves_free (m, n);
    m = kc_moves_list (c, c->seed, "Nothing", &n);
    assert_null (m);
    assert_int_equal (n, 0);
    kc_card_free (&c);
}

static void switches_are_offered_where_they_may_be_turned (void **state)
{
    (void)state;
    kc_card_t *c = s_card (HEAD "//@ tune BLOCK in 128 32\n" TAIL);
    size_t n;
    char **methods = kc_moves_methods (c, c->seed, &n);
    static const char *const known[] = {
        "Launch_Tuning", "Approximate_Transcendentals_or_LUT",
        "Increase_Occupancy_if_limited", "Reduce_Live_Ranges"};
    assert_int_equal (n, 4); // one step: no graph
    for (size_t i = 0; i < n; i++) {
        assert_string_equal (methods[i], known[i]);
        free (methods[i]);
    }
    free (methods);
    kc_move_t *m = kc_moves_list (c, c->seed, "Approximate_Transcendentals_or_LUT", &n);
    assert_int_equal (n, 1);
    kc_move_t *none =
        kc_moves_list (c, m[0].program, "Approximate_Transcendentals_or_LUT", &n);
    assert_null (none); // on already
    kc_moves_free (m, 1);
    c->policy = KC_CARD_POLICY_FP64;
    assert_null (kc_moves_list (c, c->seed, "Approximate_Transcendentals_or_LUT", &n));
    m = kc_moves_list (c, c->seed, "Increase_Occupancy_if_limited", &n);
    assert_int_equal (n, 5);
    assert_string_equal (m[0].changes[0].to, "128");
    assert_string_equal (m[0].changes[0].from, "");
    kc_moves_free (m, n);
    kc_card_free (&c);
    c = s_card (
        HEAD "//@ const BLOCK = 32\n//@ scratch t f32[B]\n//@ launch a<<<1, 32>>>\n//@ "
             "launch k<<<B, BLOCK>>>(t, y, N)\n"
             "//@ output y f32[B, N]\n__global__ void a(const float *x, float *t) { }\n"
             "__global__ void k(const float *x, float *y, int N) { }\n");
    m = kc_moves_list (c, c->seed, "CUDA_Graph", &n);
    assert_int_equal (n, 1);
    assert_string_equal (m[0].changes[0].name, "launch");
    kc_moves_free (m, n);
    kc_card_free (&c);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (bounds_of_an_integer_fill_follow_the_dims),
        cmocka_unit_test (a_card_resolves_shapes_floor_and_policy),
        cmocka_unit_test (odd_checks_are_added_when_the_author_gave_none),
        cmocka_unit_test (refusals_carry_the_authors_lines),
        cmocka_unit_test (set_overrides_dims_and_unknown_ones_are_named),
        cmocka_unit_test (every_example_makes_a_card),
        cmocka_unit_test (moves_try_the_neighbours_first),
        cmocka_unit_test (switches_are_offered_where_they_may_be_turned),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
