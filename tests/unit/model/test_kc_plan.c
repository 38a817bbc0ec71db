// test_kc_plan.c - programs resolved into plans: the worked programs, the rules,
// dataflow, occupancy

#include "common/model/kc_card.h"
#include "model_cases.h"

static kc_card_device_t *s_device (void)
{
    kc_card_device_t *d = kc_type_new (&kc_card_device_type);
    d->backend = KC_CARD_DEVICE_BACKEND_VGPU;
    d->gpu = kc_strdup ("NVIDIA H200");
    d->sm = 90;
    d->sms = 132;
    d->has_l2_bytes = true;
    d->l2_bytes = 52428800;
    d->has_bandwidth = true;
    d->bandwidth = 4.8e12;
    return d;
}

typedef struct s_case {
    kc_program_text_t *text;
    kc_card_t *card; // tensors and dims only
    kc_device_facts_t facts;
    kc_verdict_t *findings;
} s_case_t;

// A card without the checks of kc_card_build, so that wrong programs get as far as the
// plan.
static s_case_t s_open (kc_program_text_t *text)
{
    s_case_t c = {.text = text,
                  .card = kc_type_new (&kc_card_type),
                  .findings = kc_verdict_new ()};
    kc_card_device_t *d = s_device ();
    kc_card_facts (d, &c.facts);
    kc_card_device_free (&d);
    for (size_t i = 0; i < text->task->n_dims; i++) {
        kc_task_setting_t *s = kc_push (&c.card->dims, &c.card->n_dims, sizeof *s);
        s->name = kc_strdup (text->task->dims[i].name);
        s->value = strtoll (text->task->dims[i].value, NULL, 10);
    }
    for (size_t i = 0; i < text->task->n_tensors; i++) {
        const kc_task_tensor_t *t = &text->task->tensors[i];
        kc_card_tensor_t *k = kc_push (&c.card->tensors, &c.card->n_tensors, sizeof *k);
        k->name = kc_strdup (t->name);
        k->role = t->role;
        k->dtype = t->dtype;
        for (size_t j = 0; j < t->n_shape; j++)
            *(char **)kc_push (&k->shape, &k->n_shape, sizeof (char *)) =
                kc_strdup (t->shape[j]);
    }
    return c;
}

static void s_close (s_case_t *c)
{
    kc_program_text_destroy (&c->text);
    kc_card_free (&c->card);
    kc_verdict_free (&c->findings);
}

static kc_plan_t *s_plan (s_case_t *c)
{
    kc_plan_t *p = kc_plan_build (c->card, c->text->program, NULL, 0, &c->facts, NULL,
                                  0, c->findings);
    kc_program_text_locate (c->text, c->findings);
    return p;
}

static kc_plan_t *s_good (s_case_t *c)
{
    kc_plan_t *p = s_plan (c);
    if (!p) {
        char *all = kc_findings_text (c->findings);
        fail_msg ("%s", all);
    }
    return p;
}

#define TASK                                                                           \
    "//@ task t\n//@ dim B = 64\n//@ dim D = 32\n//@ input x f32[B, D]\n//@ param w "  \
    "f32[D]\n//@ output y f32[B, D]\n"
#define KERNEL "__global__ void k(const float *x, float *y, int D) { }\n"

static void s_refused (const char *lines, const char *expected)
{
    char *text = kc_asprintf (TASK "%s", lines);
    s_case_t c = s_open (case_parse (text));
    kc_plan_t *p = s_plan (&c);
    if (p)
        fail_msg ("accepted: %s", lines);
    case_findings_are (c.findings, expected);
    s_close (&c);
    free (text);
}

// ---- the worked programs ----

static void the_worked_programs_expand_to_their_steps (void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t steps, path;
        bool runs;
    } rows[] = {{"softmax_two_passes", 2, 2, true},
                {"gemm_tma", 1, 1, false},
                {"conv_hardswish", 2, 2, false},
                {"lstm_two_layers", 2565, 1028, false}};
    for (size_t i = 0; i < KC_COUNT (rows); i++) {
        s_case_t c = s_open (case_load (rows[i].name));
        kc_plan_t *p = s_good (&c);
        assert_int_equal (p->n_steps, rows[i].steps);
        assert_int_equal (kc_plan_critical_path (p), rows[i].path);
        assert_int_equal (kc_plan_runnable (p, c.findings), rows[i].runs ? 0 : -1);
        if (!rows[i].runs)
            assert_int_equal (c.findings->status, KC_VERDICT_STATUS_UNSUPPORTED);
        kc_plan_destroy (&p);
        s_close (&c);
    }
}

static void the_softmax_binds_by_name (void **state)
{
    (void)state;
    s_case_t c = s_open (case_load ("softmax_two_passes"));
    kc_plan_t *p = s_good (&c);
    const kc_plan_step_t *s = &p->steps[0];
    assert_int_equal (p->n_buffers, 3);
    assert_int_equal (s->grid[0], 1); // SPLIT at 4,096 rows
    assert_int_equal (s->grid[1], 4096);
    assert_int_equal (s->block[0], 256);
    assert_int_equal (s->n_args, 3);
    assert_int_equal (s->args[0].buffer, 0);
    assert_false (s->args[0].writes);
    assert_true (s->args[1].writes && s->args[1].buffer == 2 && s->args[1].offset == 8);
    int32_t d;
    memcpy (&d, s->args[2].bytes, sizeof d);
    assert_int_equal (d, 393216);
    assert_int_equal (s->args[2].offset, 16);
    assert_int_equal (s->param_bytes, 20);
    assert_false (p->graph);
    assert_true (p->buffers[0].readonly && !p->buffers[2].readonly);
    kc_plan_destroy (&p);
    char *text =
        kc_plan_constants (c.card, c.text->program, NULL, 0, &c.facts, c.findings);
    assert_string_equal (text, "enum : int { SPLIT = 1 };\n");
    free (text);
    kc_task_setting_t few = {.name = kc_strdup ("B"), .value = 4};
    text = kc_plan_constants (c.card, c.text->program, &few, 1, &c.facts, c.findings);
    assert_string_equal (text, "enum : int { SPLIT = 32 };\n");
    free (text);
    free (few.name);
    s_close (&c);
}

static void dims_reach_the_source_where_it_uses_them (void **state)
{
    (void)state;
    s_case_t c = s_open (case_load ("lstm_two_layers"));
    char *text =
        kc_plan_constants (c.card, c.text->program, NULL, 0, &c.facts, c.findings);
    assert_string_equal (text, "enum : int { B = 10 };\nenum : int { H = 256 };\n");
    free (text);
    s_close (&c);
    c = s_open (case_parse (TASK "//@ const A = 1.5\n//@ const BIG = 1 << 40\n//@ "
                                 "const F = D == 32\n//@ host HID = 3\n"
                                 "//@ launch k<<<1, 32>>>\nconst int B = 3;\n"
                                 "__device__ int f() { return D; }\n" KERNEL));
    text = kc_plan_constants (c.card, c.text->program, NULL, 0, &c.facts, c.findings);
    assert_string_equal (text, "#define A (0x1.8p+0f)\nnamespace { static constexpr "
                               "long long BIG = 1099511627776LL; }\n"
                               "enum : bool { F = true };\nenum : int { D = 32 };\n");
    free (text);
    s_close (&c);
}

// An enumerator is 0 to the preprocessor: `#if TILED` would never hold and `#ifndef TILE` always.
static void conditions_of_the_preprocessor_see_constants_and_dims (void **state)
{
    (void)state;
    s_case_t c = s_open (case_parse (TASK "//@ const TILED = 1\n//@ const TILE = 64\n//@ const OFF = 0 - 2\n//@ const F = D == 32\n//@ const TILES = 3\n"
                                          "//@ launch k<<<1, 32>>>\n#if TILED && OFF < 0\n#endif\n#ifndef TILE\n#define TILE 32\n#endif\n"
                                          "# if defined(F)\n#elif D > 100 || B > 3\n#endif\n" KERNEL));
    char *text = kc_plan_constants (c.card, c.text->program, NULL, 0, &c.facts, c.findings);
    assert_non_null (strstr (text, "enum : int { TILED = 1 };\n#define TILED 1\n"));
    assert_non_null (strstr (text, "enum : int { TILE = 64 };\n#define TILE 64\n"));
    assert_non_null (strstr (text, "#define OFF (-2)\n"));
    assert_non_null (strstr (text, "enum : bool { F = true };\n#define F 1\n"));
    assert_non_null (strstr (text, "enum : int { B = 64 };\n#define B 64\n"));
    assert_null (strstr (text, "#define D")); // it would destroy the parameter
    assert_null (strstr (text, "#define TILES"));
    free (text);
    s_close (&c);
}

static void kernel_names_carry_their_template_values (void **state)
{
    (void)state;
    s_case_t c =
        s_open (case_parse (TASK "//@ const V = 4\n//@ launch k<V * 2, float><<<1, "
                                 "32>>>\n//@ launch k<V * 2, float><<<2, 32>>>\n"
                                 "template <int N, typename T> __global__ void k(const "
                                 "T *x, T *y, int D) { }\n"));
    size_t n;
    char **names = kc_plan_kernel_names (c.card, c.text->program, NULL, 0, &c.facts, &n,
                                         c.findings);
    assert_int_equal (n, 1);
    assert_string_equal (names[0], "k<8, float>");
    free (names[0]);
    free (names);
    kc_plan_t *p = s_good (&c);
    assert_int_equal (p->n_steps, 2);
    kc_plan_destroy (&p);
    s_close (&c);
}

// ---- the rules, with the words a person reads ----

static void what_is_wrong_is_refused_with_its_reason (void **state)
{
    (void)state;
    s_refused ("//@ launch kk<<<1, 32>>>\n" KERNEL,
               "line 7: the source has no kernel 'kk'; did you mean 'k'?");
    s_refused ("//@ launch k<<<Q, 32>>>\n" KERNEL,
               "line 7: grid of k: expression 'Q', position 1: unknown name 'Q'; did "
               "you mean 'B'?");
    s_refused ("//@ launch k<<<1, 32>>>\n__global__ void k(const float *x, float *y, "
               "int n_cols) { }\n",
               "line 8: parameter 'n_cols' of k (int) has no value; known: B D SMS "
               "WARP SMEM_BLOCK SMEM_SM L2 CC");
    s_refused ("//@ launch k<<<1, 32>>>\n__global__ void k(float *x, float *y) { }\n",
               "line 8: k.x must be const: x is an input");
    s_refused (
        "//@ launch k<<<1, 32>>>\n__global__ void k(const int *x, float *y) { }\n",
        "line 8: k.x is const int *, tensor x is f32");
    s_refused ("//@ launch k<<<1, [64, 32]>>>\n" KERNEL,
               "line 7: block of k has 2048 threads, the limit is 1024");
    s_refused ("//@ scratch s f32[4]\n//@ launch k<<<1, 32>>>(x, s, D)\n" KERNEL,
               "output y is never written");
    s_refused ("//@ const A = 9223372036854775807 + B\n//@ launch k<<<1, 32>>>(x, y, "
               "A)\n" KERNEL,
               "line 9: parameter 'D' of k: constant A: expression "
               "'9223372036854775807 + B', position 21: integer overflow (64 bits)");
    s_refused ("//@ launch k<<<1, 32, 262144>>>\n" KERNEL,
               "line 7: k needs 262144 B shared memory, limit 232448");
    s_refused (
        "//@ launch k<<<3, 32>>> cluster=[2]\n" KERNEL,
        "line 7: grid of k: dimension x is 3, not a multiple of the cluster's 2");
    s_refused (
        "//@ tensormap m = x box=[32, 8] swizzle=64B\n//@ launch k<<<1, 32>>>\n"
        "__global__ void k(const __grid_constant__ CUtensorMap m, float *y) { }\n",
        "line 8: tensormap m: the inner side of the box is 128 B, more than the "
        "swizzle's 64 B");
    s_refused ("//@ matmul out=y a=x b=x tb\n",
               "line 7: matmul: the product is 64 x 64, y is 64 x 32");
    s_refused ("//@ view v[B, D] = x + 1\n//@ launch k<<<1, 32>>>(v, y, D)\n" KERNEL,
               "line 7: view v reaches element 2048 of x, which has 2048");
    s_refused ("//@ prepared p f32[D]\n//@ prepare\n//@ copy src=x dst=p\n//@ end\n//@ "
               "launch k<<<1, 32>>>\n" KERNEL,
               "line 9: copy src: prepare sees parameters and prepared buffers only, x "
               "is an input");
    s_refused ("//@ scratch s f32[4]\n//@ launch k<<<1, 32>>>\n//@ launch k<<<1, "
               "32>>>(x, s, D)\n" KERNEL,
               "line 9: nothing this step of kernel k writes reaches an output; remove "
               "it or use its result");
    s_refused ("//@ launch k<<<1, 32>>>(x + 2, y)\n__global__ void k(const float4 *x, "
               "float *y) { }\n",
               "line 8: parameter 'x' of k is const float4 *, which must be aligned to "
               "16 bytes; the offset of x is 8 bytes");
    s_refused ("//@ for t in 20001\n//@ launch k<<<1, 32>>>\n//@ end\n" KERNEL,
               "line 8: the plan has more than 20000 steps; let a kernel loop instead "
               "(at t=20000)");
    s_refused ("//@ for t in D - 33\n//@ launch k<<<1, 32>>>\n//@ end\n" KERNEL,
               "line 8: for t in D - 33: the count is -1, it cannot be negative");
    s_refused ("//@ const P = Q\n//@ const Q = P + 1\n//@ launch k<<<P, 32>>>\n" KERNEL,
               "line 9: grid of k: constant P depends on itself");
    s_refused ("//@ launch k<<<1, 32>>> when D > 64\n" KERNEL,
               "no step applies at B=64 D=32: every condition is false there");
    s_refused ("//@ scratch s f32[4]\n//@ launch k<<<1, 32>>>(s, y, D)\n" KERNEL,
               "line 8: s is read here, but nothing has written it before (scratch is "
               "poisoned; = 0 zeroes it)");
    s_refused (
        "//@ launch k<<<[1, 70000], 32>>>\n" KERNEL,
        "line 7: grid of k: dimension y is 70000 = 70000, possible are 1 to 65535");
    s_refused ("//@ launch k<<<1, 256>>>\n__global__ void __launch_bounds__(128) "
               "k(const float *x, float *y) { }\n",
               "line 7: block of k has 256 threads, its __launch_bounds__ (or "
               "registers) allow 128");
    s_refused ("//@ launch k<<<1, 32>>>(x, y, 5000000000)\n" KERNEL,
               "line 8: parameter 'D' of k: 5000000000 does not fit in int; make it "
               "long long");
    s_refused ("//@ launch k<<<1, 32>>>(x + 2048, y, D)\n" KERNEL,
               "line 8: parameter 'x' of k: offset 2048 lies outside x, which has 2048 "
               "elements");
    s_refused ("//@ launch k<<<1, 32>>>\nstruct P { int a; };\n__global__ void k(const "
               "float *x, float *y, P D) { }\n",
               "line 9: parameter 'D' of k has type P: only pointers, numbers and "
               "CUtensorMap are passed; split a struct into its "
               "members");
    s_refused ("//@ copy src=y dst=x\n", "line 7: copy cannot write: x is an input");
}

static void occupancy_is_refused_where_the_source_needs_it (void **state)
{
    (void)state;
    s_case_t c = s_open (case_parse (TASK "//@ const A = SMS * occupancy(k, 32, "
                                          "0)\n//@ host H = SMS * occupancy(k, 32, 0)\n"
                                          "//@ launch k<<<H, 32>>>\n" KERNEL));
    assert_null (
        kc_plan_constants (c.card, c.text->program, NULL, 0, &c.facts, c.findings));
    assert_non_null (
        strstr (c.findings->findings[0].text,
                "constant A: occupancy, regs and static_shared are known after "
                "compilation"));
    kc_program_constant_t *a = &c.text->program->constants[0];
    kc_set (&a->value, "H + 1"); // through another constant
    kc_verdict_free (&c.findings);
    c.findings = kc_verdict_new ();
    assert_null (
        kc_plan_constants (c.card, c.text->program, NULL, 0, &c.facts, c.findings));
    assert_non_null (
        strstr (c.findings->findings[0].text, "are known after compilation"));
    kc_set (&a->value, "1");
    kc_plan_t *p = s_good (&c);
    assert_int_equal (p->steps[0].grid[0], 132 * 32);
    kc_plan_destroy (&p);
    s_close (&c);
}

static void names_in_another_case_bind_when_nothing_else_does (void **state)
{
    (void)state;
    s_case_t c =
        s_open (case_parse (TASK "//@ launch k<<<1, 32>>>\n__global__ void k(const "
                                 "float *X, float *Y, long long d) { }\n"));
    kc_plan_t *p = s_good (&c);
    int64_t d;
    memcpy (&d, p->steps[0].args[2].bytes, sizeof d);
    assert_int_equal (d, 32);
    kc_plan_destroy (&p);
    s_close (&c);
}

static void scalars_are_stored_in_the_type_of_the_parameter (void **state)
{
    (void)state;
    s_case_t c =
        s_open (case_parse (TASK "//@ launch k<<<1, 32>>>(y, 1.5, 2, D > 4, 0.1, -3)\n"
                                 "__global__ void k(float *y, float a, double b, bool "
                                 "c, __half h, short s) { }\n"));
    kc_plan_t *p = s_good (&c);
    const kc_plan_arg_t *a = p->steps[0].args;
    float f;
    double d;
    uint16_t h;
    int16_t s;
    memcpy (&f, a[1].bytes, 4);
    memcpy (&d, a[2].bytes, 8);
    memcpy (&h, a[4].bytes, 2);
    memcpy (&s, a[5].bytes, 2);
    assert_true (f == 1.5f && d == 2.0 && a[3].bytes[0] == 1 && s == -3);
    assert_int_equal (h, 0x2e66);
    assert_int_equal (a[1].offset, 8);
    assert_int_equal (a[2].offset, 16);
    assert_int_equal (a[3].offset, 24);
    assert_int_equal (a[4].offset, 26);
    kc_plan_destroy (&p);
    s_close (&c);
}

static void zeroed_scratch_is_filled_before_its_first_user (void **state)
{
    (void)state;
    s_case_t c = s_open (case_parse (
        TASK
        "//@ scratch s u32[5] = 0\n//@ launch a<<<1, 32>>>\n//@ launch b<<<1, 32>>>\n"
        "__global__ void a(float *y) { }\n__global__ void b(unsigned *s, float *y) { "
        "}\n"));
    kc_plan_t *p = s_good (&c);
    assert_int_equal (p->n_steps, 3);
    assert_int_equal (p->steps[0].op, KC_PLAN_KERNEL);
    assert_int_equal (p->steps[1].op, KC_PLAN_FILL);
    assert_int_equal (p->steps[1].source_step, -1);
    assert_int_equal (p->steps[1].bytes, 20);
    assert_int_equal (p->steps[2].source_step, 1);
    kc_plan_destroy (&p);
    s_close (&c);
}

static void copies_and_fills_are_cut_into_contiguous_pieces (void **state)
{
    (void)state;
    s_case_t c = s_open (
        case_parse (TASK "//@ view left[B, 16] = x strides [D, 1]\n//@ view yl[B, 16] "
                         "= y strides [D, 1]\n"
                         "//@ view yr[B, 16] = y + 16 strides [D, 1]\n"
                         "//@ copy src=left dst=yl\n//@ fill dst=yr value=1.0\n"));
    kc_plan_t *p = s_good (&c);
    assert_int_equal (p->n_steps, 128);
    assert_int_equal (p->steps[1].bytes, 64);
    assert_int_equal (p->steps[1].src_offset, 128);
    assert_int_equal (p->steps[64].pattern, 0x3f800000u);
    assert_int_equal (p->steps[64].dst_offset, 64);
    assert_true (p->graph);
    kc_plan_destroy (&p);
    s_close (&c);
}

static void a_program_may_not_hide_names_of_the_task (void **state)
{
    (void)state;
    s_case_t c =
        s_open (case_parse (TASK "//@ const N = 3\n//@ launch k<<<N, 32>>>\n" KERNEL));
    kc_set (&c.text->program->constants[0].name, "B");
    assert_null (s_plan (&c));
    case_findings_are (
        c.findings,
        "constant 'B': the task has a dim of that name; choose another one");
    s_close (&c);
}

// ---- dataflow ----

static void edges_order_only_what_conflicts_and_none_twice (void **state)
{
    (void)state;
    // a writes s, b and c read it into halves of y, d overwrites s (after b and c, not
    // after a)
    s_case_t c = s_open (case_parse (
        TASK "//@ scratch s f32[B]\n//@ view y0[B/2, D] = y\n//@ view y1[B/2, D] = y + "
             "B/2*D\n"
             "//@ order dataflow\n//@ launch k<<<1, 32>>>(x, s, D)\n//@ launch k<<<1, "
             "32>>>(s, y0, D)\n"
             "//@ launch k<<<1, 32>>>(s, y1, D)\n//@ launch k<<<1, 32>>>(x, s, D)\n"
             "//@ launch k<<<1, 32>>>(s, y0, D)\n" KERNEL));
    kc_plan_t *p = s_good (&c);
    assert_int_equal (p->n_steps, 5);
    assert_int_equal (p->steps[0].n_after, 0);
    assert_int_equal (p->steps[1].n_after, 1);
    assert_int_equal (p->steps[2].n_after, 1);
    assert_int_equal (p->steps[2].after[0], 0);
    assert_int_equal (p->steps[3].n_after, 2);
    assert_int_equal (p->steps[4].n_after, 1);
    assert_int_equal (p->steps[4].after[0], 3);
    assert_int_equal (kc_plan_critical_path (p), 4);
    kc_plan_destroy (&p);
    s_close (&c);
}

// Every conflicting pair is ordered by the edges, and no edge is implied by others.
static void the_edges_of_the_lstm_are_complete_and_minimal (void **state)
{
    (void)state;
    s_case_t c = s_open (case_load ("lstm_two_layers"));
    for (size_t i = 0; i < c.card->n_dims; i++)
        if (!strcmp (c.card->dims[i].name, "T"))
            c.card->dims[i].value = 24;
    kc_plan_t *p = s_good (&c);
    size_t n = p->n_steps;
    bool *reach = kc_calloc (n * n, 1); // reach[i * n + j]: j comes before i
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < p->steps[i].n_after; k++) {
            size_t a = (size_t)p->steps[i].after[k];
            assert_true (a < i);
            assert_false (reach[i * n + a]); // implied by an edge taken before
            for (size_t j = 0; j < a; j++)
                reach[i * n + j] |= reach[a * n + j];
            reach[i * n + a] = true;
        }
        for (size_t k = 0; k < p->steps[i].n_after; k++) // nor by one taken later
            for (size_t m = 0; m < p->steps[i].n_after; m++)
                assert_false (reach[(size_t)p->steps[i].after[k] * n
                                    + (size_t)p->steps[i].after[m]]);
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            for (size_t r = 0; r < p->steps[i].n_ranges; r++)
                for (size_t q = 0; q < p->steps[j].n_ranges; q++) {
                    const kc_plan_range_t *a = &p->steps[i].ranges[r],
                                          *b = &p->steps[j].ranges[q];
                    if (a->buffer == b->buffer && a->from < b->to && b->from < a->to
                        && (a->writes || b->writes))
                        assert_true (reach[i * n + j]);
                }
    free (reach);
    kc_plan_destroy (&p);
    s_close (&c);
}

// ---- compiled kernels ----

static void compiled_facts_are_checked_against_the_source (void **state)
{
    (void)state;
    s_case_t c = s_open (case_parse (
        TASK "//@ launch k<<<min(B, SMS * occupancy(k)), 256, 1024>>>\n" KERNEL));
    kc_kernel_facts_t k = {.name = kc_strdup ("k"),
                           .symbol = kc_strdup ("_Z1kPKfPfi"),
                           .registers = 40,
                           .shared_static = 512,
                           .max_threads = 1024,
                           .n_params = 3,
                           .params = {{0, 8}, {8, 8}, {16, 4}}};
    kc_plan_t *p =
        kc_plan_build (c.card, c.text->program, NULL, 0, &c.facts, &k, 1, c.findings);
    assert_non_null (p);
    assert_int_equal (p->steps[0].kernel, 0);
    assert_int_equal (p->steps[0].grid[0], 64);
    kc_plan_destroy (&p);
    k.params[2].size = 8;
    assert_null (
        kc_plan_build (c.card, c.text->program, NULL, 0, &c.facts, &k, 1, c.findings));
    assert_int_equal (c.findings->findings[0].status, KC_VERDICT_STATUS_INFRA_ERROR);
    k.params[2].size = 4;
    k.registers = 255;
    kc_verdict_free (&c.findings);
    c.findings = kc_verdict_new ();
    c.text->program->blocks[0].steps[0].u.kernel->cooperative = true;
    kc_set (&c.text->program->blocks[0].steps[0].u.kernel->grid[0], "B * 8");
    assert_null (
        kc_plan_build (c.card, c.text->program, NULL, 0, &c.facts, &k, 1, c.findings));
    case_findings_are (c.findings, "step 0: cooperative launch of k has 512 blocks, "
                                   "132 are resident at once (occupancy 1 x 132 SMs)");
    free (k.name);
    free (k.symbol);
    s_close (&c);
}

static void occupancy_follows_the_tightest_limit (void **state)
{
    (void)state;
    kc_card_device_t *d = s_device ();
    kc_device_facts_t f;
    kc_card_facts (d, &f);
    kc_card_device_free (&d);
    kc_limiter_t why;
    assert_int_equal (kc_occupancy (&f, 32, 0, 256, &why), 8);
    assert_int_equal (why, KC_LIMIT_WARPS);
    assert_int_equal (kc_occupancy (&f, 128, 0, 256, &why), 2);
    assert_int_equal (why, KC_LIMIT_REGISTERS);
    assert_int_equal (kc_occupancy (&f, 168, 131072, 384, &why), 1);
    assert_int_equal (kc_occupancy (&f, 32, 100000, 128, &why), 2);
    assert_int_equal (why, KC_LIMIT_SHARED);
    assert_int_equal (kc_occupancy (&f, 16, 0, 32, &why), 32);
    assert_int_equal (why, KC_LIMIT_BLOCKS);
    assert_int_equal (kc_occupancy (&f, 255, 0, 1024, &why), 0);
    assert_int_equal (kc_occupancy (&f, 40, 300000, 64, &why), 0);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (the_worked_programs_expand_to_their_steps),
        cmocka_unit_test (the_softmax_binds_by_name),
        cmocka_unit_test (dims_reach_the_source_where_it_uses_them),
        cmocka_unit_test (conditions_of_the_preprocessor_see_constants_and_dims),
        cmocka_unit_test (kernel_names_carry_their_template_values),
        cmocka_unit_test (what_is_wrong_is_refused_with_its_reason),
        cmocka_unit_test (occupancy_is_refused_where_the_source_needs_it),
        cmocka_unit_test (names_in_another_case_bind_when_nothing_else_does),
        cmocka_unit_test (scalars_are_stored_in_the_type_of_the_parameter),
        cmocka_unit_test (zeroed_scratch_is_filled_before_its_first_user),
        cmocka_unit_test (copies_and_fills_are_cut_into_contiguous_pieces),
        cmocka_unit_test (a_program_may_not_hide_names_of_the_task),
        cmocka_unit_test (edges_order_only_what_conflicts_and_none_twice),
        cmocka_unit_test (the_edges_of_the_lstm_are_complete_and_minimal),
        cmocka_unit_test (compiled_facts_are_checked_against_the_source),
        cmocka_unit_test (occupancy_follows_the_tightest_limit),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
