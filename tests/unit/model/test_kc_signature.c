// test_kc_signature.c - kernels as people write them, read by the tokenizer

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/model/kc_signature.h"

static kc_signatures_t *s_read (const char *source)
{
    kc_err_t err = {0};
    kc_signatures_t *s = kc_signatures_read (source, &err);
    if (!s)
        fail_msg ("%s", err.text);
    return s;
}

static void a_plain_kernel_is_read_with_types_and_lines (void **state)
{
    (void)state;
    kc_signatures_t *s =
        s_read ("// __global__ void no (int a) {}\n"
                "extern \"C\" __global__ void __launch_bounds__(256, 2)\n"
                "soft(const float *__restrict__ x, float4* y, int N, const unsigned "
                "long long big,\n"
                "     const __grid_constant__ CUtensorMap map, __half const * h, float "
                "s[], bool f)\n"
                "{ }\n");
    assert_int_equal (s->n, 1);
    const kc_kernel_signature_t *k = kc_signatures_find (s, "soft");
    assert_non_null (k);
    assert_int_equal (k->line, 3);
    assert_string_equal (k->bounds, "256, 2");
    assert_int_equal (k->n_params, 8);
    const kc_param_t *p = k->params;
    assert_string_equal (p[0].name, "x");
    assert_true (p[0].pointer && p[0].is_const && p[0].base == KC_C_F32
                 && p[0].size == 8);
    assert_true (p[1].pointer && !p[1].is_const && p[1].lanes == 4);
    assert_true (!p[2].pointer && p[2].base == KC_C_I32 && p[2].size == 4);
    assert_true (p[3].base == KC_C_U64 && p[3].size == 8 && p[3].line == 3);
    assert_true (p[4].base == KC_C_TENSORMAP && p[4].size == 128 && p[4].align == 128);
    assert_true (p[5].pointer && p[5].is_const && p[5].base == KC_C_F16);
    assert_true (p[6].pointer && !p[6].is_const);
    assert_true (p[7].base == KC_C_BOOL && p[7].size == 1);
    kc_signatures_destroy (&s);
}

static void templates_namespaces_and_attributes_are_understood (void **state)
{
    (void)state;
    kc_signatures_t *s =
        s_read ("namespace a { namespace {\n"
                "template <int N, typename T = float, class U = std::pair<int, int>>\n"
                "__global__ __attribute__((used)) void k(const T *x, U *y, "
                "std::uint32_t n = 3) { if (1 > 0) { } }\n"
                "} }\n"
                "__global__ void later(float *x);\n"
                "__global__ void later(float *out) { }\n"
                "__global__ void none() { }\n");
    assert_int_equal (s->n, 3);
    const kc_kernel_signature_t *k = kc_signatures_find (s, "k");
    assert_non_null (k);
    assert_int_equal (k->n_template, 3);
    assert_string_equal (k->template_names[0], "N");
    assert_true (!k->template_types[0] && k->template_types[1] && k->template_types[2]);
    assert_true (k->params[0].base == KC_C_TEMPLATE && k->params[0].pointer
                 && k->params[0].is_const);
    assert_true (k->params[2].base == KC_C_U32);
    assert_string_equal (kc_signatures_find (s, "later")->params[0].name, "out");
    assert_int_equal (kc_signatures_find (s, "none")->n_params, 0);
    kc_signatures_destroy (&s);
}

static void module_variables_are_listed (void **state)
{
    (void)state;
    kc_signatures_t *s = s_read (
        "__constant__ float table[16], other[2] = {1, 2};\n"
        "__device__ int counter;\n"
        "__device__ __forceinline__ float f(float x) { __shared__ int z; return x; }\n"
        "static __device__ __constant__ int c2 = 4;\n"
        "struct S { float a; };\n");
    assert_int_equal (s->n_symbols, 4);
    assert_true (kc_signatures_symbol (s, "table")->constant);
    assert_true (kc_signatures_symbol (s, "other")->constant);
    assert_false (kc_signatures_symbol (s, "counter")->constant);
    assert_int_equal (kc_signatures_symbol (s, "counter")->line, 2);
    assert_true (kc_signatures_symbol (s, "c2")->constant);
    kc_signatures_destroy (&s);
}

static void signatures_made_by_macros_say_so (void **state)
{
    (void)state;
    kc_err_t err = {0};
    assert_null (kc_signatures_read (
        "\n__global__ void KERNEL(softmax)(const float *x) { }\n", &err));
    assert_string_equal (
        err.text,
        "line 2: signatures made by macros are not supported, write it out: KERNEL");
    assert_null (kc_signatures_read ("__global__ void k(float, int) { }\n", &err));
    assert_string_equal (err.text, "line 1: a parameter has no name in kernel k");
    assert_null (kc_signatures_read ("__global__ void k(const float *x { }\n", &err));
}

static void a_pointer_to_rows_is_a_pointer_and_one_to_pointers_is_not (void **state)
{
    (void)state;
    static const char text[] = "__global__ void k(const float (*a)[8][8], double (* __restrict__ b)[4], float a2[][4], "
                               "float *c[3], float **d) { }\n";
    kc_signatures_t *s = s_read (text);
    const kc_param_t *p = s->items[0].params;
    assert_int_equal (s->items[0].n_params, 5);
    assert_string_equal (p[0].name, "a");
    assert_true (p[0].pointer && !p[0].pointer_pointer && p[0].is_const && p[0].base == KC_C_F32 && p[0].size == 8);
    assert_string_equal (p[1].name, "b");
    assert_true (p[1].pointer && !p[1].pointer_pointer && !p[1].is_const && p[1].base == KC_C_F64);
    assert_true (p[2].pointer && !p[2].pointer_pointer);
    assert_true (p[3].pointer_pointer && p[4].pointer_pointer);
    kc_signatures_destroy (&s);
}

static void vector_types_have_their_sizes (void **state)
{
    (void)state;
    static const struct {
        const char *type;
        kc_ctype_t base;
        int lanes;
    } rows[] = {{"float2", KC_C_F32, 2},
                {"int4", KC_C_I32, 4},
                {"unsigned int", KC_C_U32, 1},
                {"long long int", KC_C_I64, 1},
                {"__nv_bfloat162", KC_C_BF16, 2},
                {"uchar4", KC_C_BYTE, 4},
                {"unsigned", KC_C_U32, 1},
                {"double2", KC_C_F64, 2},
                {"short", KC_C_I16, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kc_ctype_t base;
        int lanes;
        assert_int_equal (kc_ctype_parse (rows[i].type, &base, &lanes), 0);
        assert_int_equal (base, rows[i].base);
        assert_int_equal (lanes, rows[i].lanes);
    }
    kc_ctype_t base;
    int lanes;
    assert_int_equal (kc_ctype_parse ("Pair", &base, &lanes), -1);
    assert_int_equal (kc_ctype_parse ("float5", &base, &lanes), -1);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (a_plain_kernel_is_read_with_types_and_lines),
        cmocka_unit_test (templates_namespaces_and_attributes_are_understood),
        cmocka_unit_test (module_variables_are_listed),
        cmocka_unit_test (signatures_made_by_macros_say_so),
        cmocka_unit_test (a_pointer_to_rows_is_a_pointer_and_one_to_pointers_is_not),
        cmocka_unit_test (vector_types_have_their_sizes),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
