// test_kc_program_text.c - the text form: the four worked programs, round trips, and
// errors with lines

#include "model_cases.h"

static const char *const s_programs[] = {"softmax_two_passes", "gemm_tma",
                                         "conv_hardswish", "lstm_two_layers"};

static char *s_hash (const kc_program_t *p)
{
    char *hex = kc_calloc (1, KC_SHA_HEX);
    assert_int_equal (kc_program_hash (p, hex), 0);
    return hex;
}

static void the_worked_programs_have_the_json_of_the_document (void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        kc_program_text_t *t = case_load (s_programs[i]);
        char *path = kc_asprintf ("tests/cases/program/%s.json", s_programs[i]);
        size_t size;
        char *json = case_read (path, &size);
        kc_verdict_t *v = kc_verdict_new ();
        kc_program_t *p = kc_program_read (json, size, v);
        if (!p)
            fail_msg ("%s", kc_findings_text (v));
        kc_set (&p->source, t->program->source);
        char *a = s_hash (p), *b = s_hash (t->program);
        if (strcmp (a, b)) {
            kc_set (&p->source, "s");
            kc_set (&t->program->source, "s");
            assert_string_equal (kc_program_encode (p, NULL),
                                 kc_program_encode (t->program, NULL));
        }
        free (a);
        free (b);
        free (json);
        free (path);
        kc_verdict_free (&v);
        kc_program_free (&p);
        kc_program_text_destroy (&t);
    }
}

static void text_written_from_a_program_has_the_same_hash (void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        kc_program_text_t *t = case_load (s_programs[i]);
        kc_err_t err = {0};
        for (int with_task = 0; with_task < 2; with_task++) {
            char *text =
                kc_program_text_write (t->program, with_task ? t->task : NULL, &err);
            if (!text)
                fail_msg ("%s", err.text);
            kc_program_text_t *again = case_parse (text);
            assert_true (with_task == (again->task != NULL));
            char *a = s_hash (t->program), *b = s_hash (again->program);
            assert_string_equal (a, b);
            free (a);
            free (b);
            if (with_task) {
                assert_int_equal (again->task->n_tensors, t->task->n_tensors);
                assert_int_equal (again->task->n_dims, t->task->n_dims);
                assert_string_equal (again->task->text, t->task->text);
            }
            free (text);
            kc_program_text_destroy (&again);
        }
        kc_program_text_destroy (&t);
    }
}

static void the_source_keeps_the_lines_of_the_file (void **state)
{
    (void)state;
    kc_program_text_t *t =
        case_parse ("//@ const N = 4\n// two\n  //@ launch k<<<1, \\\n  //@   "
                    "N>>>\n__global__ void k(float *y) { }\n");
    assert_string_equal (t->program->source,
                         "\n// two\n\n\n__global__ void k(float *y) { }\n");
    assert_int_equal (t->step_lines[0], 3);
    assert_int_equal (t->constant_lines[0], 1);
    assert_string_equal (t->program->blocks[0].steps[0].u.kernel->block[0], "N");
    kc_program_text_destroy (&t);
}

static void a_source_without_room_for_the_plan_is_marked (void **state)
{
    (void)state;
    kc_program_text_t *t =
        case_parse ("// first line\n__global__ void k(float *y) { }\n//@ launch k<<<1, "
                    "32>>>\n//@ block\n//@ launch k<<<2, 32>>>\n");
    kc_err_t err = {0};
    char *text = kc_program_text_write (t->program, NULL, &err),
         *a = s_hash (t->program);
    assert_string_equal (
        text,
        "//@ launch k<<<1, 32>>>\n//@ block\n//@ launch k<<<2, 32>>>\n//@ source\n"
        "// first line\n__global__ void k(float *y) { }\n\n\n\n");
    kc_program_text_t *again = case_parse (text);
    char *b = s_hash (again->program);
    assert_string_equal (a, b);
    assert_int_equal (again->source_line, 4);
    kc_program_text_destroy (&again);
    free (a);
    free (b);
    free (text);
    kc_program_text_destroy (&t);
    case_text_refused ("int a;\n//@ source\n__global__ void k() { }\n",
                       "line 2: only plan lines may stand before //@ source");
}

#define K "__global__ void k(const float *x, float *y, int D) { }\n"

static void launches_are_read_in_every_form (void **state)
{
    (void)state;
    static const char *const forms[] = {
        "//@ launch k<<<[4, 2], 32>>>\n" K,
        "//@ launch k<<<dim3(4, 2), 32>>>(x, y, D)\n" K,
        "//@ launch k <<< (4, 2), 32 >>> (y=y, x=x)\n" K,
        "//@ launch k<<<(4, 2), dim3(32)>>> ; a comment\n" K,
    };
    char *first = NULL;
    for (size_t i = 0; i < 4; i++) {
        kc_program_text_t *t = case_parse (forms[i]);
        char *hash = s_hash (t->program);
        if (first)
            assert_string_equal (hash, first);
        else
            first = kc_strdup (hash);
        free (hash);
        kc_program_text_destroy (&t);
    }
    free (first);
    kc_program_text_t *t = case_parse (
        "//@ launch k<4, float><<<(4 + 2) * 2, 32, 1024>>>(x + 3*D, y, 7) cluster=[2] "
        "cooperative when D > 3\n"
        "template <int N, class T> __global__ void k(const T *x, T *y, int D) { }\n");
    const kc_program_kernel_t *k = t->program->blocks[0].steps[0].u.kernel;
    assert_string_equal (k->template[1], "float");
    assert_string_equal (k->grid[0], "(4 + 2) * 2");
    assert_string_equal (k->shared, "1024");
    assert_string_equal (k->args[0].offset, "3*D");
    assert_string_equal (k->args[2].value, "7");
    assert_string_equal (k->cluster[0], "2");
    assert_string_equal (k->when, "D > 3");
    assert_true (k->cooperative && !k->overlap);
    kc_program_text_destroy (&t);
}

static void loops_and_conditions_become_blocks (void **state)
{
    (void)state;
    kc_program_text_t *t = case_parse (
        "//@ for t in T\n//@ launch a<<<1, 32>>>\n//@ for u in U\n//@ if u > 2\n//@ "
        "launch b<<<1, 32>>>\n"
        "//@ end\n//@ end\n//@ launch c<<<1, 32>>>\n//@ end\n//@ if D > 4\n//@ launch "
        "a<<<1, 32>>>\n"
        "//@ else\n//@ launch b<<<1, 32>>>\n//@ end\n"
        "__global__ void a() { }\n__global__ void b() { }\n__global__ void c() { }\n");
    const kc_program_t *p = t->program;
    assert_int_equal (p->n_blocks, 3);
    assert_int_equal (p->blocks[0].n_for_, 2);
    assert_string_equal (p->blocks[0].for_[1].count, "max(1, U)");
    assert_string_equal (p->blocks[0].steps[0].u.kernel->when, "u == 0");
    assert_string_equal (p->blocks[0].steps[1].u.kernel->when, "(u < U) && (u > 2)");
    assert_string_equal (p->blocks[0].steps[2].u.kernel->when, "u == max(1, U) - 1");
    assert_string_equal (p->blocks[1].when, "D > 4");
    assert_string_equal (p->blocks[2].when, "!(D > 4)");
    kc_program_text_destroy (&t);
}

static void task_lines_make_the_task (void **state)
{
    (void)state;
    kc_program_text_t *t =
        case_parse ("//@ task scale ; y = 2 x\n//@ dim B = 4096\n//@ dim N = 2 * B\n"
                    "//@ input x f32[B, N] fill=uniform(-1, 1)\n//@ inout s f32[B] "
                    "fill=constant(0)\n"
                    "//@ output y f16[B, N]\n//@ check B=37\n//@ check B=3\n"
                    "//@ tune BLOCK in 128 64, 256\n//@ tune VEC in 1 2 for "
                    "Vectorization_Refinement\n"
                    "//@ const ALPHA = 2.0\n//@ const BETA = ALPHA * 2\n"
                    "//@ scratch t like x\n//@ launch k<<<B, BLOCK>>>\n__global__ void "
                    "k(const float *x) { }\n");
    const kc_task_text_t *k = t->task;
    assert_string_equal (k->name, "scale");
    assert_string_equal (k->text, "y = 2 x");
    assert_int_equal (k->n_dims, 2);
    assert_string_equal (k->dims[1].value, "2 * B");
    assert_int_equal (k->n_tensors, 3);
    assert_true (k->tensors[0].fill.kind == KC_CARD_FILL_KIND_UNIFORM
                 && k->tensors[0].fill.a == -1);
    assert_true (k->tensors[1].role == KC_CARD_TENSOR_ROLE_INOUT);
    assert_int_equal (k->n_checks, 2);
    assert_int_equal (k->tunables[0].n_values, 3);
    assert_string_equal (k->tunables[0].method, "Launch_Tuning");
    assert_string_equal (k->tunables[1].method, "Vectorization_Refinement");
    assert_int_equal (kc_policy_default (k), KC_CARD_POLICY_FP16);
    assert_string_equal (kc_program_constant (t->program, "BLOCK")->value, "128");
    assert_int_equal (kc_program_constant (t->program, "BETA")->type,
                      KC_PROGRAM_CONSTANT_TYPE_FLOAT);
    assert_string_equal (t->program->buffers[0].shape[1], "N");
    kc_program_text_destroy (&t);
}

static void errors_name_the_line_and_the_remedy (void **state)
{
    (void)state;
    case_text_refused ("\n//@ lunch k<<<1, 2>>>\n" K,
                       "line 2: unknown plan line 'lunch'; did you mean 'launch'?");
    case_text_refused ("//@ launch q<<<1, 2>>>(x, y, D)\n" K,
                       "line 1: the source has no kernel 'q'; did you mean 'k'?");
    case_text_refused ("//@ launch k<<<1>>>\n" K,
                       "line 1: a launch has <<<GRID, BLOCK>>> or <<<GRID, BLOCK, "
                       "SHARED_BYTES>>>, 1 parts are given; several "
                       "dimensions are [x, y]");
    case_text_refused (
        "//@ launch k<<<1, 2>>>(x, y)\n" K,
        "line 1: k takes 3 arguments, 2 are given; without a list they bind by name");
    case_text_refused ("//@ launch k<<<1, 2>>>(x, &y[3], D)\n" K,
                       "line 1: parameter 'y' of k is a pointer: give TENSOR or TENSOR "
                       "+ OFFSET, not '&y[3]'");
    case_text_refused (
        "//@ launch k<<<1 +, 2>>>\n" K,
        "line 1: expression '1 +', position 4: the expression ends too early");
    case_text_refused (
        "//@ scratch t f33[4]\n" K,
        "line 1: an element type is expected, found 'f33'; did you mean 'f32'?");
    case_text_refused ("//@ const x = 4\n//@ scratch x f32[4]\n" K,
                       "line 2: 'x' is already the name of a constant");
    case_text_refused ("//@ const min = 4\n" K,
                       "line 1: 'min' is a word of the language or a fact of the "
                       "device; choose another name");
    case_text_refused ("//@ for t in 4\n//@ launch k<<<1, 2>>>\n" K,
                       "line 1: //@ end is missing for this line");
    case_text_refused ("//@ end\n" K, "line 1: end without for, if or prepare");
    case_text_refused ("//@ matmul out=y a=x b=w act=rleu\n" K,
                       "line 1: act cannot be 'rleu'; did you mean 'relu'?");
    case_text_refused ("//@ matmul out=y a=x\n" K,
                       "line 1: matmul: b must be given: a name (letters, digits and "
                       "_, no digit first) of 1 to 64 characters");
    case_text_refused (K, "no line says how to run the kernels; add for example: //@ "
                          "launch k<<<GRID, BLOCK>>>");
    case_text_refused (K "void run() { k<<<1, 2>>>(x, y, 3); }\n",
                       "the kernels are launched by host code, which never runs here; "
                       "write //@ launch lines (a plain launcher "
                       "can be lifted)");
    case_text_refused ("int main() { return 0; }\n",
                       "there is no __global__ kernel and no //@ line with a step; a "
                       "program is CUDA device code with //@ "
                       "launch lines");
    case_text_refused ("//@ input x f32[4] fill=normal(0)\n" K,
                       "line 1: fill normal takes 2 numbers in parentheses, as in "
                       "normal(0, 1), uniform(-1, 1), integer(0, N - 1), "
                       "bool(0.5), constant(0), permutation");
}

static void a_kernel_that_no_line_launches_is_a_warning (void **state)
{
    (void)state;
    kc_program_text_t *t =
        case_parse ("//@ launch k<<<1, 2>>>\n" K "__global__ void idle() { }\n");
    assert_int_equal (t->n_warnings, 1);
    assert_string_equal (t->warnings[0], "line 3: no line launches kernel idle");
    kc_program_text_destroy (&t);
    // one letter wrong: kept, so that the plan names it and a repair can mend it
    t = case_parse ("//@ launch q<<<1, 2>>>\n" K);
    assert_string_equal (t->warnings[0],
                         "line 1: the source has no kernel 'q'; did you mean 'k'?");
    kc_program_text_destroy (&t);
}

static void one_thing_is_changed_by_name (void **state)
{
    (void)state;
    kc_program_text_t *t = case_parse ("//@ const N = 4\n//@ launch k<<<1, 2>>>\n" K);
    char *before = s_hash (t->program);
    kc_err_t err = {0};
    assert_int_equal (kc_program_change (t->program, "N", "8", &err), 0);
    assert_int_equal (kc_program_change (t->program, "compile.fast_math", "true", &err),
                      0);
    assert_int_equal (
        kc_program_change (t->program, "compile.max_registers", "64", &err), 0);
    assert_int_equal (kc_program_change (t->program, "launch", "graph", &err), 0);
    char *value = kc_program_value (t->program, "compile.max_registers");
    assert_string_equal (value, "64");
    free (value);
    assert_int_equal (
        kc_program_change (t->program, "compile.max_registers", "7", &err), -1);
    assert_int_equal (kc_program_change (t->program, "M", "7", &err), -1);
    assert_int_equal (err.code, KC_ENOTFOUND);
    assert_int_equal (kc_program_change (t->program, "N", "4", &err), 0);
    assert_int_equal (
        kc_program_change (t->program, "compile.fast_math", "false", &err), 0);
    assert_int_equal (kc_program_change (t->program, "compile.max_registers", "", &err),
                      0);
    assert_int_equal (kc_program_change (t->program, "launch", "auto", &err), 0);
    char *after = s_hash (t->program);
    assert_string_equal (before, after);
    free (before);
    free (after);
    kc_program_text_destroy (&t);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (the_worked_programs_have_the_json_of_the_document),
        cmocka_unit_test (text_written_from_a_program_has_the_same_hash),
        cmocka_unit_test (the_source_keeps_the_lines_of_the_file),
        cmocka_unit_test (a_source_without_room_for_the_plan_is_marked),
        cmocka_unit_test (launches_are_read_in_every_form),
        cmocka_unit_test (loops_and_conditions_become_blocks),
        cmocka_unit_test (task_lines_make_the_task),
        cmocka_unit_test (errors_name_the_line_and_the_remedy),
        cmocka_unit_test (a_kernel_that_no_line_launches_is_a_warning),
        cmocka_unit_test (one_thing_is_changed_by_name),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
