// The counter table against the vocabulary of evidence.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "agents/gpu/cuda/cupti_metrics.h"
#include "common/msg/gen/evidence.h"

static void every_counter_serves_fields_that_exist (void **state)
{
    (void)state;
    for (size_t i = 0; i < kc_cupti_n_metrics; i++) {
        char fields[256];
        int n = 0;
        assert_true (strlen (kc_cupti_metrics[i].fields) < sizeof fields);
        memcpy (fields, kc_cupti_metrics[i].fields,
                strlen (kc_cupti_metrics[i].fields) + 1);
        for (char *at = NULL, *f = strtok_r (fields, " ", &at); f;
             f = strtok_r (NULL, " ", &at), n++)
            if (!kc_type_field (&kc_evidence_step_type, f))
                fail_msg ("%s serves %s, which is no evidence field",
                          kc_cupti_metrics[i].name, f);
        // Some warp states belong to no field and only complete the sum of all.
        assert_true (
            n >= 1
            || strncmp (kc_cupti_metrics[i].name, "smsp__warps_issue_stalled_", 26)
                   == 0);
    }
}

static void no_counter_is_listed_twice_and_sums_are_added (void **state)
{
    (void)state;
    for (size_t i = 0; i < kc_cupti_n_metrics; i++) {
        const char *name = kc_cupti_metrics[i].name;
        assert_ptr_equal (kc_cupti_metric (name), &kc_cupti_metrics[i]);
        const size_t n = strlen (name);
        if (n > 4 && strcmp (name + n - 4, ".sum") == 0)
            assert_int_equal (kc_cupti_metrics[i].join, KC_JOIN_SUM);
        if (strstr (name, ".pct_of_peak") || strstr (name, ".ratio")
            || strstr (name, "per_second"))
            assert_int_equal (kc_cupti_metrics[i].join, KC_JOIN_TIME);
        // A composite alone costs four to eight passes.
        assert_null (strstr (name, "__throughput"));
    }
    assert_null (kc_cupti_metric ("launch__registers"));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (every_counter_serves_fields_that_exist),
        cmocka_unit_test (no_counter_is_listed_twice_and_sums_are_added),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
