// test_kc_opt.c - options from a table

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/util/kc_mem.h"
#include "common/util/kc_opt.h"
#include "common/util/kc_spawn.h"

static const kc_opt_t s_table[] = {
    {"out", 'o', KC_OPT_STRING, "KC_T_OUT", "a.out", 0, 0, "FILE",
     "where the result goes"},
    {"rounds", 'r', KC_OPT_INT, "KC_T_ROUNDS", "3", 1, 10, "N", "how many rounds"},
    {"any", 0, KC_OPT_INT, 0, 0, 0, 0, "N", "any number"},
    {"wait", 'w', KC_OPT_FLAG, "KC_T_WAIT", 0, 0, 0, 0, "wait for the end"},
    {"tag", 't', KC_OPT_LIST, "KC_T_TAG", 0, 0, 0, "TAG", "a mark"},
    KC_OPT_DAEMON,
    {0},
};

#define PARSE(...) s_parse ((const char *const[]){"prog", __VA_ARGS__, NULL})

static kc_err_t s_err;

static kc_opts_t *s_parse (const char *const *words)
{
    char *const *argv = NULL; // as main gets it; nothing writes there
    memcpy (&argv, &words, sizeof (argv));
    int argc = 0;
    while (argv[argc])
        argc++;
    kc_err_clear (&s_err);
    return kc_opts_parse (s_table, argc, argv, &s_err);
}

static int forget_environment (void **state)
{
    (void)state;
    unsetenv ("KC_T_OUT");
    unsetenv ("KC_T_ROUNDS");
    unsetenv ("KC_T_WAIT");
    unsetenv ("KC_T_TAG");
    return 0;
}

static void both_forms_letters_and_positionals_work (void **state)
{
    (void)state;
    kc_opts_t *o = PARSE ("one", "--out=x=y", "--rounds", "7", "-wt", "a", "-tb", "-",
                          "--", "--wait");
    assert_non_null (o);
    assert_string_equal (kc_opts_string (o, "out"), "x=y");
    assert_int_equal (kc_opts_int (o, "rounds"), 7);
    assert_true (kc_opts_flag (o, "wait"));
    assert_int_equal (kc_opts_count (o, "tag"), 2);
    assert_string_equal (kc_opts_item (o, "tag", 1), "b");
    assert_null (kc_opts_item (o, "tag", 2));
    assert_null (kc_opts_item (o, "tag", -1));
    assert_int_equal (kc_opts_n_args (o), 3);
    assert_string_equal (kc_opts_arg (o, 2), "--wait");
    assert_null (kc_opts_arg (o, 3));
    assert_false (kc_opts_given (o, "help"));
    kc_opts_destroy (&o);
    assert_null (o);
}

static void the_command_line_beats_the_environment_beats_the_default (void **state)
{
    (void)state;
    kc_opts_t *o = s_parse ((const char *const[]){"prog", NULL});
    assert_string_equal (kc_opts_string (o, "out"), "a.out");
    assert_int_equal (kc_opts_int (o, "rounds"), 3);
    assert_false (kc_opts_given (o, "rounds"));
    assert_null (kc_opts_string (o, "instance"));
    kc_opts_destroy (&o);
    setenv ("KC_T_OUT", "env", 1);
    setenv ("KC_T_WAIT", "yes", 1);
    setenv ("KC_T_TAG", "a,,b,c", 1);
    setenv ("KC_T_ROUNDS", "", 1); // empty is unset
    o = PARSE ("--out", "");
    assert_string_equal (kc_opts_string (o, "out"), "");
    assert_true (kc_opts_flag (o, "wait"));
    assert_int_equal (kc_opts_count (o, "tag"), 3);
    assert_int_equal (kc_opts_int (o, "rounds"), 3);
    kc_opts_destroy (&o);
    setenv ("KC_T_ROUNDS", "11", 1);
    assert_null (PARSE ("--wait"));
    assert_string_equal (s_err.text, "environment KC_T_ROUNDS: 11 is not in 1..10");
}

static void wrong_numbers_are_named (void **state)
{
    (void)state;
    static const char *const bad[] = {
        "", "x", "5x", " 5", "+5", "0", "11", "-", "99999999999999999999"};
    for (size_t i = 0; i < KC_COUNT (bad); i++) {
        char *word = kc_asprintf ("--rounds=%s", bad[i]);
        assert_null (PARSE (word));
        assert_int_equal (s_err.code, KC_EUSAGE);
        assert_non_null (strstr (s_err.text, "--rounds"));
        free (word);
    }
    assert_null (PARSE ("--any=9223372036854775808"));
    kc_opts_t *o = PARSE ("--any", "-9223372036854775808");
    assert_non_null (o);
    assert_true (kc_opts_int (o, "any") == INT64_MIN);
    kc_opts_destroy (&o);
}

static void an_unknown_option_gets_the_nearest_known_one (void **state)
{
    (void)state;
    assert_null (PARSE ("--ruonds=3"));
    assert_string_equal (s_err.text,
                         "unknown option --ruonds; did you mean --rounds? see --help");
    assert_null (PARSE ("--zzzzzzzz"));
    assert_string_equal (s_err.text, "unknown option --zzzzzzzz; see --help");
}

static void hostile_words_are_refused_quietly (void **state)
{
    (void)state;
    char big[5000];
    memset (big, 'x', sizeof big);
    memcpy (big, "--", 2);
    big[4999] = 0;
    assert_null (PARSE (big));
    assert_true (strlen (s_err.text) < 200);
    assert_null (PARSE ("--=5"));
    assert_null (PARSE ("-\xff"));
    assert_null (PARSE ("--out"));
    assert_string_equal (s_err.text, "--out needs a value: --out FILE");
    assert_null (PARSE ("-o"));
    assert_null (PARSE ("--wait=maybe"));
}

static void words_have_a_distance (void **state)
{
    (void)state;
    assert_int_equal (kc_word_distance ("", ""), 0);
    assert_int_equal (kc_word_distance ("", "abc"), 3);
    assert_int_equal (kc_word_distance ("kitten", "sitting"), 3);
    assert_int_equal (kc_word_distance ("same", "same"), 0);
}

static void help_is_an_aligned_table (void **state)
{
    (void)state;
    char out[8192];
    int fds[2];
    assert_int_equal (kc_pipe (fds, NULL), 0);
    fflush (stdout);
    int saved = fcntl (STDOUT_FILENO, F_DUPFD_CLOEXEC, 10);
    dup2 (fds[1], STDOUT_FILENO);
    close (fds[1]);
    kc_opts_help (s_table, "prog [options]", "Does things.");
    fflush (stdout);
    dup2 (saved, STDOUT_FILENO);
    close (saved);
    ssize_t n = read (fds[0], out, sizeof out - 1);
    close (fds[0]);
    assert_true (n > 0);
    out[n] = 0;
    assert_memory_equal (out, "usage: prog [options]\n\nDoes things.\n\noptions:\n",
                         46);
    const char *a = strstr (out, "  -o, --out FILE"),
               *b = strstr (out, "      --log-level LEVEL");
    assert_true (a && b);
    assert_int_equal (strstr (a, "where the result") - a,
                      strstr (b, "debug, info") - b);
    assert_non_null (
        strstr (out, "how many rounds (default 3, 1..10, environment KC_T_ROUNDS)\n"));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup (both_forms_letters_and_positionals_work,
                                forget_environment),
        cmocka_unit_test_setup (
            the_command_line_beats_the_environment_beats_the_default,
            forget_environment),
        cmocka_unit_test_setup (wrong_numbers_are_named, forget_environment),
        cmocka_unit_test_setup (an_unknown_option_gets_the_nearest_known_one,
                                forget_environment),
        cmocka_unit_test_setup (hostile_words_are_refused_quietly, forget_environment),
        cmocka_unit_test (words_have_a_distance),
        cmocka_unit_test_setup (help_is_an_aligned_table, forget_environment),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
