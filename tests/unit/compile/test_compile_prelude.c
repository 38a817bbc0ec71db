// test_compile_prelude.c - every function of the include tree compiles with this front
// end
//
// The files of tests/unit/compile/prelude call them; a function that the tree defines
// and none of them names fails the test.

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agents/gpu/compile/kc_compile_int.h"
#include "common/util/kc_fs.h"
#include "common/util/kc_mem.h"
#include "compile_help.h"

static const char *const s_files[] = {"math", "warp",   "tools",
                                      "half", "tensor", "hopper"};

static int s_open (void **state)
{
    *state = help_open (FRONT, NULL, false);
    return 0;
}

static int s_close (void **state)
{
    help_close ((help_t **)state);
    return 0;
}

static char *s_text (const char *name)
{
    char *path = kc_asprintf ("tests/unit/compile/prelude/%s.cu", name);
    kc_err_t err;
    char *text = kc_fs_read (path, KC_COMPILE_SOURCE, NULL, &err);
    if (!text)
        fail_msg ("%s", err.text);
    free (path);
    return text;
}

static void every_file_of_calls_compiles_for_the_virtual_gpu (void **state)
{
    help_t *h = *state;
    help_need (h);
    for (size_t i = 0; i < KC_COUNT (s_files); i++) {
        char *text = s_text (s_files[i]);
        kc_compiled_t *c = help_compile (h, text, "k");
        help_expect_ok (c);
        kc_compiled_destroy (&c);
        free (text);
    }
}

static void every_file_of_calls_assembles_for_sm_90a (void **state)
{
    help_t *h = *state;
    help_need (h);
    if (FRONT == KC_FRONT_CLANG)
        return; // has no assembler; the NVRTC variant of this test does it
    for (size_t i = 0; i < KC_COUNT (s_files); i++) {
        char *text = s_text (s_files[i]);
        const char *const name = "k";
        const kc_compile_job_t job = {.source = text,
                                      .kernels = &name,
                                      .n_kernels = 1,
                                      .sm = 90,
                                      .want_cubin = true};
        kc_compiled_t *c = kc_compiler_run (h->compiler, &job);
        help_expect_ok (c);
        kc_compiled_destroy (&c);
        free (text);
    }
}

static bool s_word (char c)
{
    return isalnum ((unsigned char)c) || c == '_';
}

// Is 'name' a word of the text?
static bool s_named (const char *text, const char *name)
{
    size_t n = strlen (name);
    for (const char *p = strstr (text, name); p; p = strstr (p + 1, name))
        if ((p == text || !s_word (p[-1])) && !s_word (p[n]))
            return true;
    return false;
}

static void no_function_of_the_tree_is_forgotten (void **state)
{
    (void)state;
    kc_buf_t calls = {0};
    for (size_t i = 0; i < KC_COUNT (s_files); i++) {
        char *text = s_text (s_files[i]);
        kc_buf_puts (&calls, text);
        free (text);
    }
    static const char *const marks[] = {"KC_FN ", "KC_HFN ", "KC_GROUP_FN "};
    size_t n, seen = 0;
    int missing = 0;
    const kc_prelude_file_t *files = kc_prelude_files (&n);
    for (size_t f = 0; f < n; f++)
        for (size_t m = 0; m < KC_COUNT (marks); m++)
            for (const char *p = strstr (files[f].text, marks[m]); p;
                 p = strstr (p + 1, marks[m])) {
                const char *open = strchr (p, '(');
                const char *line = strchr (p, '\n');
                if (!open || (line && open > line))
                    continue;
                const char *end = open;
                while (end > p && end[-1] == ' ')
                    end--;
                const char *from = end;
                while (from > p && s_word (from[-1]))
                    from--;
                char name[128];
                // Pasted names (a##b), operators, macros' own parameter 'name' and our
                // inner helpers do not count.
                if (end == from || (size_t)(end - from) >= sizeof name
                    || from[-1] == '#' || *end == '#' || !strncmp (from, "operator", 8)
                    || !strncmp (from, "kc_", 3) || !strncmp (from, "KC_", 3))
                    continue;
                snprintf (name, sizeof name, "%.*s", (int)(end - from), from);
                if (!strcmp (name, "name") || !strcmp (name, "fast")
                    || !strcmp (name, "cuda"))
                    continue;
                seen++;
                // These are for the policy to refuse; ONE (exp) names expf and exp
                // alike.
                static const char *const apart[] = {
                    "clock",   "clock64",       "__globaltimer", "__brkpt",
                    "memmove", "__attribute__", "__exp2f",       "__tanhf"};
                bool ok = s_named (calls.data, name);
                for (size_t a = 0; a < KC_COUNT (apart); a++)
                    ok |= !strcmp (name, apart[a]);
                size_t length = strlen (name);
                if (!ok && name[length - 1] == 'f') {
                    name[length - 1] = 0;
                    ok = s_named (calls.data, name);
                    name[length - 1] = 'f';
                }
                if (!ok) {
                    print_error ("%s: %s is not called\n", files[f].name, name);
                    missing++;
                }
            }
    assert_true (seen > 300);
    assert_int_equal (missing, 0);
    kc_buf_free (&calls);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (every_file_of_calls_compiles_for_the_virtual_gpu),
        cmocka_unit_test (every_file_of_calls_assembles_for_sm_90a),
        cmocka_unit_test (no_function_of_the_tree_is_forgotten),
    };
    return cmocka_run_group_tests (tests, s_open, s_close);
}
