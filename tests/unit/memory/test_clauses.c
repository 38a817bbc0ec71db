// Tests of the clauses: every guard refuses what it is there for, and unknown stays
// unknown.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/msg/kc_codec.h"
#include "common/util/kc_mem.h"
#include "memory/clauses/kc_clauses.h"

static int s_setup (void **state)
{
    kc_err_t err = {0};
    *state = kc_clauses_new (&err);
    return *state ? 0 : -1;
}

static int s_teardown (void **state)
{
    kc_clauses_t *c = *state;
    kc_clauses_destroy (&c);
    return 0;
}

static bool s_ok (kc_clauses_t *c, const char *expr)
{
    kc_err_t err = {0};
    int rc = kc_clauses_check (c, expr, KC_CLAUSE_CONDITION, false, &err);
    if (rc < 0)
        assert_int_equal (err.code, KC_EINVALID);
    return rc == 0;
}

// Refused, and the text contains the word that tells why.
static void s_refused (kc_clauses_t *c, const char *expr, const char *word)
{
    kc_err_t err = {0};
    int rc = kc_clauses_check (c, expr, KC_CLAUSE_CONDITION, false, &err);
    if (rc == 0)
        print_message ("admitted: %s\n", expr);
    assert_int_equal (rc, -1);
    if (word && !strstr (err.text, word))
        print_message ("%s -> %s\n", expr, err.text);
    assert_true (!word || strstr (err.text, word));
}

static void ordinary_clauses_are_admitted (void **state)
{
    static const char *const good[] = {
        "dram_share > 0.8",
        "dram_share > 0.8 AND occupancy < 0.5",
        "structure = 'row_reduce'",
        "structure IN ('map', 'copy')",
        "structure <> 'scan'",
        "structure NOT IN ('gather', 'scan')",
        "structure LIKE '%reduce'",
        "occupancy BETWEEN 0.2 AND 0.5",
        "max(l1_share, l2_share) >= 0.5",
        "round(registers / 8) > 20",
        "policy IN ('exact', 'fp64')",
        "backend = 'vgpu'",
        "device_sms > 100 AND grid_blocks < device_sms",
        "abs(dram_share - l2_share) < 0.1",
    };
    for (size_t i = 0; i < KC_COUNT (good); i++) {
        kc_err_t err = {0};
        int rc = kc_clauses_check (*state, good[i], KC_CLAUSE_CONDITION, false, &err);
        if (rc < 0)
            print_message ("%s\n", err.text);
        assert_int_equal (rc, 0);
    }
}

static void guard_1_only_listed_functions_and_the_evidence_can_be_reached (void **state)
{
    static const char *const bad[] = {
        "randomblob(8) > 1",        "printf('%d', 1) > 1",
        "load_extension('a') = 1",  "length(kernel) > 1",
        "random() > dram_share",    "sqlite_version() > 1",
        "upper(structure) = 'MAP'", "dram_share > (total(occupancy))",
    };
    for (size_t i = 0; i < KC_COUNT (bad); i++)
        s_refused (*state, bad[i], NULL);
    s_refused (*state, "randomblob(8) > dram_share", "function randomblob");
    s_refused (*state, "dram_share > (SELECT count(*) FROM sqlite_master)", NULL);
    s_refused (*state, "EXISTS (SELECT 1 FROM sqlite_schema)", NULL);
    s_refused (*state, "dram_share > 0.5 FROM probe; DROP TABLE m; --", NULL);
    s_refused (*state, "rowid > 1", NULL);
}

static void guard_2_there_is_exactly_one_select (void **state)
{
    s_refused (*state, "(SELECT 1) = 1", "SELECT");
    s_refused (*state,
               "dram_share > 0.5 AND dram_share IN (SELECT occupancy FROM probe)",
               NULL);
    s_refused (*state, "EXISTS (SELECT 1)", NULL);
}

static void guard_3_the_text_must_compile_bare_and_in_parentheses (void **state)
{
    static const char *const bad[] = {
        "occupancy < 0.5) OR (1=1",
        "occupancy < 0.5 AS x",
        "occupancy < 0.5, dram_share > 0.5",
        "occupancy < 0.5 FROM probe --",
        "occupancy < 0.5 --",
        "occupancy < 0.5; SELECT 1",
        "occupancy < 0.5 /*",
        "* ",
        "",
        " ",
        "occupancy < ?1",
        "occupancy < :x",
    };
    for (size_t i = 0; i < KC_COUNT (bad); i++)
        s_refused (*state, bad[i], NULL);
}

static void guard_4_a_misspelt_name_in_double_quotes_is_an_error (void **state)
{
    s_refused (*state, "\"dram_shar\" > 0.5", "dram_shar");
    s_refused (*state, "dram_shar > 0.5", "dram_shar");
    assert_true (s_ok (*state, "\"dram_share\" > 0.5"));
}

static void guard_5_length_depth_and_work_are_limited (void **state)
{
    kc_buf_t deep = {0}, longer = {0};
    for (int i = 0; i < 60; i++)
        kc_buf_puts (&deep, "(NOT ");
    kc_buf_puts (&deep, "dram_share > 0.5");
    for (int i = 0; i < 60; i++)
        kc_buf_puts (&deep, ")");
    s_refused (*state, kc_buf_str (&deep), NULL);
    kc_buf_puts (&longer, "dram_share > 0.5");
    while (longer.size <= KC_CLAUSES_TEXT)
        kc_buf_puts (&longer, "                    ");
    s_refused (*state, kc_buf_str (&longer), "longer");
    s_refused (*state,
               "structure LIKE "
               "'%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a'",
               NULL);
    s_refused (*state, "dram_share > 0.5 UNION SELECT 1", NULL);
    kc_buf_free (&deep);
    kc_buf_free (&longer);
}

static void guard_6_the_value_must_be_a_truth_value (void **state)
{
    s_refused (*state, "occupancy", "true, false or unknown");
    s_refused (*state, "structure", "true, false or unknown");
    s_refused (*state, "dram_share * 2", "true, false or unknown");
    kc_err_t err = {0};
    assert_int_equal (
        kc_clauses_check (*state, "1 - dram_share", KC_CLAUSE_SEVERITY, false, &err),
        0);
    assert_int_equal (
        kc_clauses_check (*state, "structure", KC_CLAUSE_SEVERITY, false, &err), -1);
}

static const kc_evidence_step_t *s_step (kc_evidence_t *e)
{
    return &e->steps[0];
}

static kc_evidence_t *s_evidence (void)
{
    kc_evidence_t *e = kc_evidence_new ();
    e->backend = KC_EVIDENCE_BACKEND_VGPU;
    kc_evidence_step_t *s = kc_push (&e->steps, &e->n_steps, sizeof *s);
    kc_type_init (&kc_evidence_step_type, s);
    s->kernel = kc_strdup ("k");
    return e;
}

static kc_truth_t s_truth (kc_clauses_t *c, const char *expr, kc_evidence_t *e,
                           char **because_p)
{
    kc_err_t err = {0};
    kc_clauses_forget (c);
    int n = kc_clauses_add (c, expr, KC_CLAUSE_CONDITION,
                            strstr (expr, "IS NULL") != NULL, &err);
    if (n < 0)
        print_message ("%s\n", err.text);
    assert_true (n >= 0);
    if (kc_clauses_build (c, &err) < 0)
        fail_msg ("%s", err.text);
    if (kc_clauses_eval (c, 0, e, s_step (e), NULL, &err) < 0)
        fail_msg ("%s", err.text);
    kc_buf_t because = {0};
    kc_clauses_because (c, n, &because);
    if (because_p)
        *because_p = kc_buf_take (&because);
    kc_buf_free (&because);
    return kc_clauses_truth (c, n);
}

static void guard_7_numbers_are_real_so_division_keeps_its_fraction (void **state)
{
    kc_evidence_t *e = s_evidence ();
    e->steps[0].has_launches = true;
    e->steps[0].launches = 1;
    e->steps[0].has_grid_blocks = true;
    e->steps[0].grid_blocks = 2;
    assert_int_equal (s_truth (*state, "launches / grid_blocks > 0.4", e, NULL),
                      KC_TRUE);
    kc_evidence_free (&e);
}

static void guard_8_functions_that_hide_an_unknown_are_denied (void **state)
{
    s_refused (*state, "coalesce(dram_share, 1) > 0.5", "coalesce");
    s_refused (*state, "ifnull(dram_share, 1) > 0.5", "ifnull");
    s_refused (*state, "iif(dram_share > 0.5, 1, 0)", "iif");
    s_refused (*state, "nullif(dram_share, 1) > 0.5", "nullif");
    s_refused (*state, "CASE WHEN dram_share > 0.5 THEN 1 ELSE 0 END", "missing");
    s_refused (*state, "dram_share IS NULL OR dram_share > 0.5", "handles_unknown");
    kc_err_t err = {0};
    assert_int_equal (kc_clauses_check (*state,
                                        "dram_share IS NULL OR dram_share > 0.5",
                                        KC_CLAUSE_CONDITION, true, &err),
                      0);
}

static void guard_9_clauses_that_say_nothing_or_name_no_value_are_refused (void **state)
{
    s_refused (*state, "1", "missing");
    s_refused (*state, "1 = 1", "missing");
    s_refused (*state, "registers >= 0", "every plausible value");
    s_refused (*state, "structure > 5", "every plausible value");
    s_refused (*state, "structure = 'contration'", "contraction");
    s_refused (*state, "policy = 'fp31'", "fp32");
    s_refused (*state, "max(dram_share) > 0.5", "aggregate");
    s_refused (*state, "dram_share = 'abc'", "abc");
}

static void guard_10_division_by_zero_is_unknown (void **state)
{
    kc_evidence_t *e = s_evidence ();
    char *because = NULL;
    e->steps[0].has_dram_share = e->steps[0].has_l2_share = true;
    e->steps[0].dram_share = 0.5;
    e->steps[0].l2_share = 0;
    assert_int_equal (s_truth (*state, "dram_share / l2_share > 1", e, &because),
                      KC_UNKNOWN);
    assert_string_equal (because, "a division by zero");
    free (because);
    kc_evidence_free (&e);
}

static void
logic_is_three_valued_and_the_reason_names_values_or_what_is_missing (void **state)
{
    kc_evidence_t *e = s_evidence ();
    char *because = NULL;
    e->steps[0].has_occupancy = true;
    e->steps[0].occupancy = 0.42;
    kc_evidence_absent_t *a =
        kc_push (&e->steps[0].absent, &e->steps[0].n_absent, sizeof *a);
    a->field = kc_strdup ("dram_share");
    a->reason = KC_EVIDENCE_ABSENCE_NOT_PERMITTED;
    assert_int_equal (
        s_truth (*state, "occupancy < 0.5 AND dram_share > 0.8", e, &because),
        KC_UNKNOWN);
    assert_string_equal (because, "dram_share is missing: not_permitted");
    free (because);
    assert_int_equal (s_truth (*state, "occupancy > 0.5 AND dram_share > 0.8", e, NULL),
                      KC_FALSE);
    assert_int_equal (
        s_truth (*state, "occupancy < 0.5 OR dram_share > 0.8", e, &because), KC_TRUE);
    assert_string_equal (because,
                         "occupancy = 0.42, dram_share is missing: not_permitted");
    free (because);
    assert_int_equal (s_truth (*state, "occupancy < 0.5", e, &because), KC_TRUE);
    assert_string_equal (because, "occupancy = 0.42");
    free (because);
    assert_int_equal (s_truth (*state, "l2_hit IS NULL OR l2_hit > 0.5", e, NULL),
                      KC_TRUE);
    assert_int_equal (s_truth (*state, "structure = 'map'", e, &because), KC_UNKNOWN);
    assert_string_equal (because, "structure is missing: not_collected");
    free (because);
    e->steps[0].structure = KC_EVIDENCE_STRUCTURE_MAP;
    assert_int_equal (s_truth (*state, "structure = 'map'", e, &because), KC_TRUE);
    assert_string_equal (because, "structure = map");
    free (because);
    kc_evidence_free (&e);
}

static void hundreds_of_clauses_in_groups_answer_as_they_do_alone (void **state)
{
    enum { N = 350 };
    kc_clauses_t *c = *state;
    kc_err_t err = {0};
    int numbers[N];
    kc_evidence_t *e = s_evidence ();
    e->steps[0].has_dram_share = true;
    e->steps[0].dram_share = 0.5;
    for (int i = 0; i < N; i++) {
        char *expr = kc_asprintf (i % 3 == 2 ? "l2_share > %.3f" : "dram_share > %.3f",
                                  0.1 + i * 0.002);
        numbers[i] = kc_clauses_add (c, expr, KC_CLAUSE_CONDITION, false, &err);
        assert_int_equal (numbers[i],
                          kc_clauses_add (c, expr, KC_CLAUSE_CONDITION, false, &err));
        free (expr);
    }
    assert_int_equal (kc_clauses_build (c, &err), 0);
    assert_int_equal (kc_clauses_eval (c, 0, e, s_step (e), NULL, &err), 0);
    for (int i = 0; i < N; i++) {
        double limit = atof ("0.1") + i * 0.002;
        kc_truth_t expected = i % 3 == 2                          ? KC_UNKNOWN
                              : 0.5 > round (limit * 1000) / 1000 ? KC_TRUE
                                                                  : KC_FALSE;
        assert_int_equal (kc_clauses_truth (c, numbers[i]), expected);
    }
    kc_evidence_free (&e);
}

static void severities_are_clamped_to_a_share (void **state)
{
    kc_clauses_t *c = *state;
    kc_err_t err = {0};
    kc_evidence_t *e = s_evidence ();
    e->steps[0].has_waves = true;
    e->steps[0].waves = 7;
    int high = kc_clauses_add (c, "waves * 2", KC_CLAUSE_SEVERITY, false, &err);
    int low = kc_clauses_add (c, "1 - waves", KC_CLAUSE_SEVERITY, false, &err);
    int unknown = kc_clauses_add (c, "1 - dram_share", KC_CLAUSE_SEVERITY, false, &err);
    assert_int_equal (kc_clauses_build (c, &err), 0);
    assert_int_equal (kc_clauses_eval (c, 0, e, s_step (e), NULL, &err), 0);
    assert_true (fabs (kc_clauses_number (c, high, -1) - 1) < 1e-12);
    assert_true (fabs (kc_clauses_number (c, low, -1)) < 1e-12);
    assert_true (fabs (kc_clauses_number (c, unknown, 0.3) - 0.3) < 1e-12);
    kc_evidence_free (&e);
}

static void every_number_and_enum_of_the_evidence_step_is_a_column (void **state)
{
    kc_clauses_t *c = *state;
    size_t numbers = 0, texts = 0;
    for (size_t i = 0; i < kc_clauses_columns (c); i++) {
        const char *type = NULL;
        assert_non_null (kc_clauses_column (c, i, &type, NULL));
        numbers += strcmp (type, "REAL") == 0;
        texts += strcmp (type, "TEXT") == 0;
    }
    size_t expected = 0;
    for (size_t i = 0; i < kc_evidence_step_type.n_fields; i++)
        expected += kc_evidence_step_type.fields[i].base == KC_BASE_NUMBER;
    assert_true (expected > 50);
    assert_int_equal (numbers, expected + 8); // and the numeric facts of the run
    assert_int_equal (texts, 4); // structure, occupancy_limiter, policy, backend
}

int main (void)
{
#define T(f) cmocka_unit_test_setup_teardown (f, s_setup, s_teardown)
    const struct CMUnitTest tests[] = {
        T (ordinary_clauses_are_admitted),
        T (guard_1_only_listed_functions_and_the_evidence_can_be_reached),
        T (guard_2_there_is_exactly_one_select),
        T (guard_3_the_text_must_compile_bare_and_in_parentheses),
        T (guard_4_a_misspelt_name_in_double_quotes_is_an_error),
        T (guard_5_length_depth_and_work_are_limited),
        T (guard_6_the_value_must_be_a_truth_value),
        T (guard_7_numbers_are_real_so_division_keeps_its_fraction),
        T (guard_8_functions_that_hide_an_unknown_are_denied),
        T (guard_9_clauses_that_say_nothing_or_name_no_value_are_refused),
        T (guard_10_division_by_zero_is_unknown),
        T (logic_is_three_valued_and_the_reason_names_values_or_what_is_missing),
        T (hundreds_of_clauses_in_groups_answer_as_they_do_alone),
        T (severities_are_clamped_to_a_share),
        T (every_number_and_enum_of_the_evidence_step_is_a_column),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
