// test_compile_log.c - logs of both compilers as they were seen, read without a
// compiler

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agents/gpu/compile/kc_compile_int.h"
#include "common/util/kc_mem.h"

static kc_compiled_t *s_read (const char *raw, const char *const *names, size_t n)
{
    const kc_compile_job_t job = {.source = "", .kernels = names, .n_kernels = n};
    kc_compiled_t *c = kc_compiled_new ();
    kc_compile_log (c, &job, raw, true);
    return c;
}

static void nvrtc_errors_become_findings (void **state)
{
    (void)state;
    kc_compiled_t *c = s_read ("program.cu(12): warning #177-D: variable \"i\" was "
                               "declared but never referenced\n"
                               "      int i;\n          ^\n\n"
                               "Remark: The warnings can be suppressed with "
                               "\"-diag-suppress <warning-number>\"\n\n"
                               "program.cu(19): error: identifier \"foo\" is "
                               "undefined\n  x = foo;\n      ^\n\n"
                               "program.cu(20): catastrophic error: could not open "
                               "source file \"a.h\" (no directories in search list)\n"
                               "  #include <a.h>\n                ^\n\n2 errors "
                               "detected in the compilation of \"program.cu\".\n",
                               NULL, 0);
    assert_int_equal (c->status, KC_VERDICT_STATUS_COMPILE_ERROR);
    assert_int_equal (c->n_findings, 2);
    assert_int_equal (c->findings[0].line, 19);
    assert_string_equal (c->findings[0].text, "identifier \"foo\" is undefined");
    assert_int_equal (c->findings[1].line, 20);
    assert_non_null (c->findings[1].fix);
    assert_null (strstr (c->log, "Remark"));
    assert_non_null (strstr (c->log, "x = foo;"));
    kc_compiled_destroy (&c);
}

static void an_error_in_the_tree_is_charged_to_the_line_that_led_there (void **state)
{
    (void)state;
    kc_compiled_t *c =
        s_read ("kc_tools.h(16): error: no instance of overloaded function \"f\" "
                "matches the argument list\n"
                "          v += f (v);\n               ^\n"
                "__nv_nvrtc_builtin_header.h(4435): note #3326-D: function \"f(int)\" "
                "does not match\n  int f(int);\n      ^\n"
                "          detected during:\n"
                "            instantiation of \"T kc::warp_sum(T) [with T=S]\" at line "
                "31 of program.cu\n"
                "            instantiation of \"void k<N>(float *) [with N=3]\" at "
                "line 55 of program.cu\n\n",
                NULL, 0);
    assert_int_equal (c->findings[0].line, 31);
    kc_compiled_destroy (&c);
    c = s_read ("include/kc_tools.h:16:14: error: no matching function for call to "
                "'f'\n        v += f (v);\n             ^\n"
                "program.cu:8:10: note: in instantiation of function template "
                "specialization 'kc::warp_sum<S>' requested here\n"
                "    x = kc::warp_sum (y);\n        ^\n1 error generated when "
                "compiling for sm_80.\n",
                NULL, 0);
    assert_int_equal (c->n_findings, 1);
    assert_int_equal (c->findings[0].line, 8);
    assert_non_null (strstr (c->findings[0].text, "kc_tools.h"));
    kc_compiled_destroy (&c);
}

static void text_of_foreign_files_is_not_shown (void **state)
{
    (void)state;
    kc_compiled_t *c =
        s_read ("In file included from program.cu:2:\n/etc/shadow:1:1: error: unknown "
                "type name 'root'\nroot:$6$SECRET:19000::\n^\n"
                "/etc/shadow:1:5: error: expected "
                "unqualified-id\nroot:$6$SECRET:19000::\n    ^\n"
                "program.cu:9:1: error: expected ';'\nfloat x\n^\n",
                NULL, 0);
    assert_null (strstr (c->log, "SECRET"));
    assert_null (strstr (c->log, "/etc/shadow"));
    assert_non_null (strstr (c->log, "float x"));
    for (size_t i = 0; i < c->n_findings; i++)
        assert_null (strstr (c->findings[i].text, "root"));
    assert_int_equal (c->n_findings, 2);
    assert_int_equal (c->findings[1].line, 9);
    kc_compiled_destroy (&c);
    c = s_read (
        "/etc/hostname(1): error: identifier \"vm\" is undefined\n  vm_SECRET\n  ^\n\n",
        NULL, 0);
    assert_null (strstr (c->log, "SECRET"));
    kc_compiled_destroy (&c);
}

static void names_of_steps_are_reported_once_each (void **state)
{
    (void)state;
    const char *const names[] = {"soft<4>", "nope<3>"};
    kc_compiled_t *c = s_read ("__nv_name_map(2): error: cannot determine which "
                               "instance of function template \"soft\" is intended\n"
                               "  #pragma nv_mangled_name soft\n\n"
                               "__nv_name_map(3): error: identifier \"nope\" is "
                               "undefined\n  #pragma nv_mangled_name nope<3>\n\n"
                               "__nv_name_map(3): error: expected an expression\n\n"
                               "__nv_name_map(3): error: Error in parsing name "
                               "expression for lowered name lookup.\n",
                               names, 2);
    assert_int_equal (c->n_findings, 2);
    assert_non_null (strstr (c->findings[0].text, "soft<4> does not name one kernel"));
    assert_string_equal (c->findings[1].text, "the source has no kernel nope<3>");
    assert_string_equal (c->findings[1].kernel, "nope<3>");
    kc_compiled_destroy (&c);
}

static void a_flood_of_errors_is_cut_and_said_once (void **state)
{
    (void)state;
    kc_buf_t raw = {0};
    for (int i = 0; i < 2000; i++)
        kc_buf_printf (&raw,
                       "program.cu(%d): error: identifier \"v%d\" is undefined\n  use "
                       "v%d \xff\x1b[31m\n\n",
                       i / 2 + 1, i / 2, i);
    kc_compiled_t *c = s_read (kc_buf_str (&raw), NULL, 0);
    assert_int_equal (c->n_findings, KC_COMPILE_FINDINGS);
    assert_int_equal (c->findings[7].line, 8);
    assert_true (strlen (c->log) <= KC_COMPILE_LOG * 4);
    assert_true (kc_utf8_valid (c->log, strlen (c->log)));
    assert_null (strchr (c->log, 27));
    kc_compiled_destroy (&c);
    kc_buf_free (&raw);
}

static void ptxas_reports_fill_the_facts (void **state)
{
    (void)state;
    kc_compiled_t *c = kc_compiled_new ();
    for (int i = 0; i < 2; i++) {
        kc_kernel_facts_t *k =
            (kc_kernel_facts_t *)kc_push (&c->kernels, &c->n_kernels, sizeof *k);
        k->name = kc_strdup (i ? "b" : "a");
        k->symbol = kc_strdup (i ? "_Z1bPf" : "_Z1aPf");
        k->registers_estimated = true;
    }
    kc_compile_report (
        c, "ptxas info    : 57 bytes gmem\n"
           "ptxas info    : Compiling entry function '_Z1bPf' for 'sm_90a'\n"
           "ptxas info    : Function properties for _Z1bPf\n"
           "ptxas         .     80 bytes stack frame, 16 bytes spill stores, 24 bytes "
           "spill loads\n"
           "ptxas info    : Used 40 registers, used 1 barriers, 4224 bytes smem, 380 "
           "bytes cmem[0]\n"
           "ptxas info    : Function properties for _Z1aPf\n"
           "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
           "ptxas info    : Used 8 registers, used 0 barriers\n");
    assert_int_equal (c->kernels[1].registers, 40);
    assert_int_equal (c->kernels[1].local_bytes, 80);
    assert_int_equal (c->kernels[1].spill_bytes, 24);
    assert_int_equal (c->kernels[1].shared_static, 4224);
    assert_int_equal (c->kernels[0].registers, 8);
    assert_false (c->kernels[0].registers_estimated);
    kc_compiled_destroy (&c);
}

static void lines_of_ptx_lead_to_lines_of_the_source (void **state)
{
    (void)state;
    static const char ptx[] = ".version 9.0\n.visible .entry k(\n)\n{\n\t.loc\t1 7 "
                              "3\n\tmov.u32 %r1, 0;\n\t.loc\t2 99 1, function_name $x, "
                              "inlined_at 1 8 3\n\tbad;\n\t.loc\t1 9 1\n\tret;\n}\n";
    assert_int_equal (kc_ptx_source_line (ptx, 6), 7);
    assert_int_equal (kc_ptx_source_line (ptx, 8), 7);
    assert_int_equal (kc_ptx_source_line (ptx, 10), 9);
    assert_int_equal (kc_ptx_source_line (ptx, 2), 0);
    assert_int_equal (kc_ptx_source_line (NULL, 10), 0);
}

static void includes_that_leave_the_tree_are_seen_before_compiling (void **state)
{
    (void)state;
    static const struct {
        const char *source;
        int64_t line; // 0: nothing to see
    } cases[] = {{"#include <cmath>\n#include \"kc_mma.h\"\n", 0},
                 {"\n  #  include \"/etc/passwd\"\n", 2},
                 {"#include <../x.h>\n", 1},
                 {"#include_next \"/etc/passwd\"\n", 1},
                 {"#embed <x>\n", 1},
                 {"// #include \"/etc/passwd\"\nint x = 3; // ../..\n", 0}};
    for (size_t i = 0; i < KC_COUNT (cases); i++) {
        const kc_compile_job_t job = {.source = cases[i].source};
        kc_compiled_t *c = kc_compiled_new ();
        int rc = kc_compile_scan (&job, c);
        assert_int_equal (rc, cases[i].line ? -1 : 0);
        if (cases[i].line)
            assert_int_equal (c->findings[0].line, cases[i].line);
        kc_compiled_destroy (&c);
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (nvrtc_errors_become_findings),
        cmocka_unit_test (an_error_in_the_tree_is_charged_to_the_line_that_led_there),
        cmocka_unit_test (text_of_foreign_files_is_not_shown),
        cmocka_unit_test (names_of_steps_are_reported_once_each),
        cmocka_unit_test (a_flood_of_errors_is_cut_and_said_once),
        cmocka_unit_test (ptxas_reports_fill_the_facts),
        cmocka_unit_test (lines_of_ptx_lead_to_lines_of_the_source),
        cmocka_unit_test (includes_that_leave_the_tree_are_seen_before_compiling),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
