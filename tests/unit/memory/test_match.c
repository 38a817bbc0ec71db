// Tests of the shipped rules: every bottleneck is found on evidence made for it and not
// on a near miss, and methods come in the right state and order.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/msg/kc_codec.h"
#include "common/util/kc_fs.h"
#include "common/util/kc_log.h"
#include "common/util/kc_mem.h"
#include "memory/match/kc_match.h"
#include "tests/unit/memory/kc_mem_help.h"

static int s_setup (void **state)
{
    kc_help_t *h = kc_malloc (sizeof *h);
    kc_help_open (h, NULL);
    if (kc_methods_ship (h->store->methods, "memory/experts", &h->when, &h->err) < 0) {
        print_message ("%s\n", h->err.text);
        return -1;
    }
    *state = h;
    return 0;
}

static int s_teardown (void **state)
{
    kc_help_t *h = *state;
    kc_help_close (h);
    free (h);
    return 0;
}

// A match request whose evidence has one step with these fields, as JSON.
static kc_memory_method_match_t *s_request (const char *fields, const char *policy)
{
    char *json = kc_asprintf (
        "{\"evidence\":{\"format\":1,\"backend\":\"vgpu\",\"floor_share\":0.2,"
        "\"steps\":[{\"step\":0,\"kernel\":\"k\",%s}]}%s%s%s}",
        fields, policy ? ",\"policy\":\"" : "", policy ? policy : "",
        policy ? "\"" : "");
    kc_errs_t errs = {0};
    kc_memory_method_match_t *in =
        kc_memory_method_match_decode (json, strlen (json), KC_STRICT, &errs);
    if (!in)
        kc_die (__FILE__, __LINE__, kc_errs_text (&errs));
    free (json);
    return in;
}

static kc_memory_diagnosis_t *s_match (kc_help_t *h, const kc_memory_method_match_t *in)
{
    kc_memory_diagnosis_t *out = kc_memory_diagnosis_new ();
    if (kc_match (kc_methods_rules (h->store->methods), h->store->records, in, NULL,
                  out, &h->err)
        < 0)
        kc_die (__FILE__, __LINE__, h->err.text);
    kc_errs_t errs = {0};
    if (kc_type_check (&kc_memory_diagnosis_type, out, &errs)
        < 0) // what goes out keeps its schema
        kc_die (__FILE__, __LINE__, kc_errs_text (&errs));
    return out;
}

static const kc_memory_found_bottleneck_t *s_found (const kc_memory_diagnosis_t *d,
                                                    const char *id)
{
    for (size_t i = 0; i < d->n_bottlenecks; i++)
        if (strcmp (d->bottlenecks[i].id, id) == 0)
            return &d->bottlenecks[i];
    return NULL;
}

static const kc_memory_ranked_method_t *s_method (const kc_memory_diagnosis_t *d,
                                                  const char *id)
{
    for (size_t i = 0; i < d->n_methods; i++)
        if (strcmp (d->methods[i].id, id) == 0)
            return &d->methods[i];
    return NULL;
}

#define S "\"structure\":"
static const struct {
    const char *bottleneck, *hit, *near;
} s_cases[] = {
    {"bandwidth_excess_traffic", "\"dram_share\":0.85,\"traffic_ratio\":2.0",
     "\"dram_share\":0.85,\"traffic_ratio\":1.1"},
    {"bandwidth_saturated", "\"dram_share\":0.85,\"traffic_ratio\":1.05",
     "\"dram_share\":0.95,\"traffic_ratio\":1.05"},
    {"l2_bandwidth", "\"l2_share\":0.8,\"dram_share\":0.1",
     "\"l2_share\":0.8,\"dram_share\":0.8"},
    {"uncoalesced_loads",
     "\"st_share\":0.2,\"ld_efficiency\":0.125,\"l1_share\":0.6,\"l2_share\":0.7,\"dram_share\":0.3,"
     "\"lsu_share\":0.2",
     "\"st_share\":0.2,\"ld_efficiency\":0.9,\"l1_share\":0.6,\"l2_share\":0.7,\"dram_share\":0.3,\"lsu_"
     "share\":0.2"},
    {"uncoalesced_stores", "\"st_share\":0.8,\"st_efficiency\":0.125,\"stall_memory\":0.4",
     "\"st_share\":0.01,\"st_efficiency\":0.125,\"stall_memory\":0.4"},
    {"narrow_accesses", "\"ld_width_bytes\":4,\"ld_efficiency\":1,\"floor_share\":0.5",
     "\"ld_width_bytes\":16,\"ld_efficiency\":1,\"floor_share\":0.5"},
    {"l1_saturated", "\"l1_share\":0.9,\"dram_share\":0.1",
     "\"l1_share\":0.9,\"dram_share\":0.1,\"tensor_share\":0.6"},
    {"stencil_without_reuse",
     S "\"stencil\",\"code_shared_loads\":0,\"l1_share\":0.6,\"l2_share\":0.3,\"dram_"
       "share\":0.2",
     S "\"stencil\",\"code_shared_loads\":4,\"l1_share\":0.6,\"l2_share\":0.3,\"dram_"
       "share\":0.2"},
    {"irregular_gather", S "\"gather\",\"ld_efficiency\":0.2",
     S "\"gather\",\"ld_efficiency\":0.8"},
    {"register_spills",
     "\"local_bytes\":500000,\"dram_read_bytes\":1000000,\"dram_write_bytes\":1000000",
     "\"local_bytes\":0,\"dram_read_bytes\":1000000,\"dram_write_bytes\":1000000"},
    {"memory_latency", "\"stall_memory\":0.6,\"dram_share\":0.4",
     "\"stall_memory\":0.6,\"dram_share\":0.8"},
    // The hole of the reference: everything low, few bytes under way, no stall counter.
    {"few_bytes_in_flight",
     "\"bytes_in_flight_sm\":3000,\"dram_share\":0.15,\"issue_share\":0.18,\"floor_"
     "share\":0.15",
     "\"bytes_in_flight_sm\":60000,\"dram_share\":0.15,\"issue_share\":0.18,\"floor_"
     "share\":0.15"},
    {"grid_too_small", "\"waves\":0.2", "\"waves\":1.0"},
    {"tail_wave", "\"waves\":1.1,\"tail_idle\":0.9", "\"waves\":12,\"tail_idle\":0.9"},
    {"sm_imbalance", "\"sm_imbalance\":0.4,\"waves\":2",
     "\"sm_imbalance\":0.05,\"waves\":2"},
    {"occupancy_registers",
     "\"occupancy_limiter\":\"registers\",\"occupancy_limit\":0.25,\"registers\":128,"
     "\"issue_share\":0.2",
     "\"occupancy_limiter\":\"registers\",\"occupancy_limit\":0.75,\"registers\":128,"
     "\"issue_share\":0.2"},
    {"occupancy_shared",
     "\"occupancy_limiter\":\"shared\",\"occupancy_limit\":0.25,\"issue_share\":0.2",
     "\"occupancy_limiter\":\"registers\",\"occupancy_limit\":0.25,\"issue_share\":0."
     "2"},
    {"occupancy_block_shape",
     "\"occupancy_limiter\":\"blocks\",\"occupancy_limit\":0.5",
     "\"occupancy_limiter\":\"blocks\",\"occupancy_limit\":0.9"},
    {"contraction_untiled",
     S "\"contraction\",\"code_shared_loads\":0,\"code_mma\":0,\"flop_share\":0.05",
     S "\"contraction\",\"code_shared_loads\":8,\"code_mma\":0,\"flop_share\":0.05"},
    {"contraction_small_tile",
     S "\"contraction\",\"code_shared_loads\":8,\"code_mma\":0,\"flop_share\":0.2",
     S "\"contraction\",\"code_shared_loads\":8,\"code_mma\":0,\"flop_share\":0.8"},
    {"issue_bound", "\"issue_share\":0.8,\"dram_share\":0.2",
     "\"issue_share\":0.8,\"dram_share\":0.8"},
    {"fma_bound", "\"fma_share\":0.8,\"dram_share\":0.2",
     "\"fma_share\":0.3,\"dram_share\":0.2"},
    {"integer_overhead", "\"integer_share\":0.6,\"issue_share\":0.5",
     "\"integer_share\":0.3,\"issue_share\":0.5"},
    {"slow_math",
     "\"code_transcendentals\":2,\"code_divisions\":0,\"xu_share\":0.5,\"dram_share\":"
     "0.3",
     "\"code_transcendentals\":0,\"code_divisions\":0,\"xu_share\":0.5,\"dram_share\":"
     "0.3"},
    {"double_precision", "\"fp64_share\":0.4", "\"fp64_share\":0.01"},
    {"fetch_stalls", "\"stall_fetch\":0.3", "\"stall_fetch\":0.05"},
    {"bank_conflicts", "\"bank_conflict_share\":0.5,\"shared_share\":0.4",
     "\"bank_conflict_share\":0.5,\"shared_share\":0.01,\"stall_shared\":0.01"},
    {"sync_stalls", "\"stall_sync\":0.3", "\"stall_sync\":0.05"},
    {"block_reduction_by_shared_memory",
     S "\"row_reduce\",\"code_shuffles\":0,\"code_shared_loads\":6,\"floor_share\":0.4",
     S
     "\"row_reduce\",\"code_shuffles\":5,\"code_shared_loads\":6,\"floor_share\":0.4"},
    {"atomic_contention",
     "\"code_atomics\":1,\"atomic_sectors\":900,\"l2_sectors\":1000,\"dram_share\":0.1",
     "\"code_atomics\":1,\"atomic_sectors\":9,\"l2_sectors\":1000,\"dram_share\":0.1"},
    {"divergence", "\"active_lanes\":0.4,\"dram_share\":0.2",
     "\"active_lanes\":0.95,\"dram_share\":0.2"},
    {"predicated_off",
     "\"active_lanes\":0.95,\"predicated_lanes\":0.5,\"issue_share\":0.6",
     "\"active_lanes\":0.95,\"predicated_lanes\":0.9,\"issue_share\":0.6"},
    {"launch_overhead", "\"gap_share\":0.4,\"launches\":12",
     "\"gap_share\":0.4,\"launches\":1"},
    {"short_kernels", "\"time_us\":30,\"launches\":10",
     "\"time_us\":300,\"launches\":10"},
    {"far_from_floor", "\"floor_share\":0.2", "\"floor_share\":0.9"},
};

static void
every_bottleneck_is_found_when_it_is_there_and_not_on_a_near_miss (void **state)
{
    kc_help_t *h = *state;
    for (size_t i = 0; i < KC_COUNT (s_cases); i++)
        for (int near = 0; near < 2; near++) {
            kc_memory_method_match_t *in =
                s_request (near ? s_cases[i].near : s_cases[i].hit, NULL);
            kc_memory_diagnosis_t *d = s_match (h, in);
            const kc_memory_found_bottleneck_t *b = s_found (d, s_cases[i].bottleneck);
            if ((b != NULL) == (near != 0))
                fail_msg ("%s %s", s_cases[i].bottleneck,
                          near ? "is found on the near miss" : "is not found");
            if (b) {
                assert_true (b->weight > 0 && b->weight <= 1);
                assert_true (b->n_clauses > 0 && strlen (b->clauses[0].because) > 0);
            }
            kc_memory_diagnosis_free (&d);
            kc_memory_method_match_free (&in);
        }
}

static void every_shipped_bottleneck_has_a_case_here_and_names_methods (void **state)
{
    kc_help_t *h = *state;
    const kc_rules_t *rules = kc_methods_rules (h->store->methods);
    assert_true (rules->n_bottlenecks >= 30 && rules->n_methods >= 22);
    for (size_t b = 0; b < rules->n_bottlenecks; b++) {
        const char *id = rules->bottlenecks[b].doc->id;
        bool known = strcmp (id, "unfused_chain") == 0; // needs two steps, see below
        for (size_t i = 0; i < KC_COUNT (s_cases) && !known; i++)
            known = strcmp (s_cases[i].bottleneck, id) == 0;
        if (!known)
            fail_msg ("no case for %s", id);
        assert_true (rules->bottlenecks[b].doc->n_methods > 0);
        assert_non_null (rules->bottlenecks[b].doc->severity);
    }
    for (size_t m = 0; m < rules->n_methods; m++) {
        bool named = false;
        for (size_t b = 0; b < rules->n_bottlenecks; b++)
            for (size_t i = 0; i < rules->bottlenecks[b].doc->n_methods; i++)
                named = named || rules->bottlenecks[b].methods[i] == (int)m;
        if (!named)
            fail_msg ("no bottleneck leads to %s", rules->methods[m].doc->id);
    }
}

static void the_holes_of_the_reference_are_covered (void **state)
{
    // reference-behaviour 3.8: points at which nothing matched there.
    static const char *const points[] = {
        "\"dram_share\":0.15,\"issue_share\":0.18,\"occupancy\":0.25,\"stall_memory\":"
        "0.7,\"floor_share\":0.15",
        "\"dram_share\":0.65,\"issue_share\":0.5,\"stall_memory\":0.05,\"floor_share\":"
        "0.45",
        "\"dram_share\":0.85,\"issue_share\":0.45,\"traffic_ratio\":1.1,\"floor_"
        "share\":0.77",
        S "\"row_reduce\",\"dram_share\":0.65,\"stall_memory\":0.4,\"floor_share\":0.5",
        "\"launches\":40,\"dram_share\":0.5,\"traffic_ratio\":3,\"floor_share\":0.15",
    };
    kc_help_t *h = *state;
    for (size_t i = 0; i < KC_COUNT (points); i++) {
        kc_memory_method_match_t *in = s_request (points[i], NULL);
        kc_memory_diagnosis_t *d = s_match (h, in);
        assert_true (d->n_bottlenecks > 0);
        assert_int_equal (d->methods[0].state, KC_MEMORY_RANKED_METHOD_STATE_ALLOWED);
        kc_memory_diagnosis_free (&d);
        kc_memory_method_match_free (&in);
    }
}

static void
missing_counters_are_unknown_and_the_answer_says_what_to_collect (void **state)
{
    kc_help_t *h = *state;
    kc_memory_method_match_t *in =
        s_request ("\"dram_share\":0.4,\"absent\":[{\"field\":\"stall_memory\","
                   "\"reason\":\"not_permitted\"}]",
                   NULL);
    kc_memory_diagnosis_t *d = s_match (h, in);
    assert_null (s_found (d, "memory_latency"));
    bool asked = false;
    for (size_t i = 0; i < d->n_missing; i++)
        if (strcmp (d->missing[i].field, "stall_memory") == 0) {
            asked = true;
            assert_int_equal (d->missing[i].reason, KC_EVIDENCE_ABSENCE_NOT_PERMITTED);
        }
    assert_true (asked);
    const kc_memory_ranked_method_t *m =
        s_method (d, "Increase_Memory_Level_Parallelism");
    assert_int_equal (m->state, KC_MEMORY_RANKED_METHOD_STATE_UNKNOWN);
    kc_memory_diagnosis_free (&d);
    kc_memory_method_match_free (&in);
}

static void fast_math_needs_a_policy_that_allows_it (void **state)
{
    static const char fields[] = "\"code_transcendentals\":2,\"code_divisions\":1,\"xu_"
                                 "share\":0.5,\"dram_share\":0.3";
    static const struct {
        const char *policy;
        kc_memory_ranked_method_state_t state;
    } cases[] = {{"fp32", KC_MEMORY_RANKED_METHOD_STATE_ALLOWED},
                 {"exact", KC_MEMORY_RANKED_METHOD_STATE_VETOED},
                 {"fp64", KC_MEMORY_RANKED_METHOD_STATE_VETOED},
                 {NULL, KC_MEMORY_RANKED_METHOD_STATE_UNKNOWN}};
    kc_help_t *h = *state;
    for (size_t i = 0; i < KC_COUNT (cases); i++) {
        kc_memory_method_match_t *in = s_request (fields, cases[i].policy);
        kc_memory_diagnosis_t *d = s_match (h, in);
        const kc_memory_ranked_method_t *m =
            s_method (d, "Approximate_Transcendentals_or_LUT");
        assert_int_equal (m->state, cases[i].state);
        if (cases[i].state == KC_MEMORY_RANKED_METHOD_STATE_VETOED)
            assert_non_null (strstr (m->why, "policy = "));
        kc_memory_diagnosis_free (&d);
        kc_memory_method_match_free (&in);
    }
}

static void methods_are_limited_to_what_is_available_and_left (void **state)
{
    kc_help_t *h = *state;
    kc_memory_method_match_t *in =
        s_request ("\"stall_memory\":0.6,\"dram_share\":0.3,\"waves\":4,\"registers\":"
                   "40,\"floor_share\":0.3,\"launches\":1,\"structure\":\"row_reduce\","
                   "\"bank_conflict_share\":0.05",
                   "fp32");
    static const struct {
        const char *id;
        int64_t left;
        kc_memory_ranked_method_state_t state;
    } choices[] = {
        {"Increase_Memory_Level_Parallelism", 3, KC_MEMORY_RANKED_METHOD_STATE_ALLOWED},
        {"Increase_ILP_WorkPerThread", 0, KC_MEMORY_RANKED_METHOD_STATE_EXHAUSTED},
        {"KernelFusion", 1, KC_MEMORY_RANKED_METHOD_STATE_VETOED},
        {"Reduce_Bank_Conflicts", 1, KC_MEMORY_RANKED_METHOD_STATE_NOT_REQUIRED},
        {"My_Own_Trick", 2, KC_MEMORY_RANKED_METHOD_STATE_NOT_REQUIRED}};
    for (size_t i = 0; i < KC_COUNT (choices); i++) {
        kc_memory_choice_t *c = kc_push (&in->available, &in->n_available, sizeof *c);
        c->method = kc_strdup (choices[i].id);
        c->left = choices[i].left;
    }
    kc_memory_diagnosis_t *d = s_match (h, in);
    for (size_t i = 0; i < KC_COUNT (choices); i++) {
        const kc_memory_ranked_method_t *m = s_method (d, choices[i].id);
        if (m->state != choices[i].state)
            fail_msg ("%s is %s: %s", m->id,
                      kc_memory_ranked_method_state_name (m->state), m->why);
    }
    assert_int_equal (s_method (d, "Launch_Tuning")->state,
                      KC_MEMORY_RANKED_METHOD_STATE_NOT_AVAILABLE);
    assert_string_equal (d->methods[0].id, "Increase_Memory_Level_Parallelism");
    for (size_t i = 1; i < d->n_methods; i++)
        if (d->methods[i].state == d->methods[i - 1].state)
            assert_true (d->methods[i].rank <= d->methods[i - 1].rank);
    assert_true (d->has_headroom && fabs (d->headroom - 0.8) < 1e-9);
    kc_memory_diagnosis_free (&d);
    kc_memory_method_match_free (&in);
}

static void the_heavy_step_decides_and_shares_that_are_missing_are_equal (void **state)
{
    static const char json[] =
        "{\"evidence\":{\"format\":1,\"backend\":\"cuda\",\"steps\":["
        "{\"step\":0,\"kernel\":\"big\"%s,\"stall_sync\":0.5,\"floor_share\":0.9},"
        "{\"step\":3,\"kernel\":\"small\"%s,\"ld_efficiency\":0.1,\"st_share\":0,\"l1_share\":0.5,"
        "\"l2_share\":0.5,"
        "\"dram_share\":0.5,\"lsu_share\":0.5,\"floor_share\":0.9}]}}";
    static const char *const shares[][2] = {
        {",\"time_share\":0.9", ",\"time_share\":0.1"},
        {",\"time_share\":0.1", ",\"time_share\":0.9"},
        {"", ""}};
    static const char *const first[] = {"sync_stalls", "uncoalesced_loads",
                                        "uncoalesced_loads"};
    kc_help_t *h = *state;
    for (int i = 0; i < 3; i++) {
        kc_buf_t text = {0};
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        kc_buf_printf (&text, json, shares[i][0], shares[i][1]);
#pragma GCC diagnostic pop
        kc_errs_t errs = {0};
        kc_memory_method_match_t *in =
            kc_memory_method_match_decode (text.data, text.size, KC_STRICT, &errs);
        assert_non_null (in);
        kc_memory_diagnosis_t *d = s_match (h, in);
        assert_string_equal (d->bottlenecks[0].id, first[i]);
        if (i == 2) // 0.5 x 0.85 x 0.9
            assert_true (fabs (d->bottlenecks[0].weight - 0.3825) < 1e-6);
        kc_memory_diagnosis_free (&d);
        kc_memory_method_match_free (&in);
        kc_buf_free (&text);
    }
}

static void several_kernels_far_from_the_floor_ask_for_fusion (void **state)
{
    static const char json[] = "{\"evidence\":{\"format\":1,\"backend\":\"cuda\","
                               "\"floor_share\":0.3,\"steps\":["
                               "{\"step\":0,\"kernel\":\"a\",\"time_share\":0.5,\"dram_"
                               "share\":0.8,\"traffic_ratio\":1},"
                               "{\"step\":1,\"kernel\":\"b\",\"time_share\":0.5,\"dram_"
                               "share\":0.8,\"traffic_ratio\":1}]}}";
    kc_help_t *h = *state;
    kc_errs_t errs = {0};
    kc_memory_method_match_t *in =
        kc_memory_method_match_decode (json, strlen (json), KC_STRICT, &errs);
    assert_non_null (in);
    kc_memory_diagnosis_t *d = s_match (h, in);
    assert_non_null (s_found (d, "unfused_chain"));
    assert_int_equal (s_method (d, "KernelFusion")->state,
                      KC_MEMORY_RANKED_METHOD_STATE_ALLOWED);
    kc_memory_diagnosis_free (&d);
    kc_memory_method_match_free (&in);
}

static void wins_raise_and_losses_lower_the_rank (void **state)
{
    kc_help_t *h = *state;
    kc_memory_method_match_t *in = s_request (
        "\"stall_memory\":0.6,\"dram_share\":0.3,\"waves\":4,\"registers\":40", "fp32");
    double rank[3];
    for (int i = 0; i < 3; i++) {
        kc_memory_diagnosis_t *d = s_match (h, in);
        const kc_memory_ranked_method_t *m =
            s_method (d, "Increase_Memory_Level_Parallelism");
        rank[i] = m->rank;
        assert_int_equal (m->wins, i > 0 ? 6 : 0);
        kc_memory_diagnosis_free (&d);
        kc_record_context_t at = {"Increase_Memory_Level_Parallelism", "memory_latency",
                                  "", ""};
        kc_help_begin (h);
        for (int k = 0; k < (i == 0 ? 6 : 40); k++)
            assert_int_equal (kc_records_add (h->store->records, &at, i == 0, 2.0,
                                              h->when.at, &h->err),
                              0);
        kc_help_end (h, 0);
    }
    assert_true (rank[1] > rank[0]);
    assert_true (rank[2] < rank[0]);
    kc_memory_method_match_free (&in);
}

static void evidence_without_steps_lists_everything_to_try (void **state)
{
    kc_help_t *h = *state;
    static const char json[] =
        "{\"evidence\":{\"format\":1,\"backend\":\"cuda\",\"steps\":[]}}";
    kc_errs_t errs = {0};
    kc_memory_method_match_t *in =
        kc_memory_method_match_decode (json, strlen (json), KC_STRICT, &errs);
    assert_non_null (in);
    kc_memory_diagnosis_t *d = s_match (h, in);
    assert_int_equal (d->n_bottlenecks, 0);
    assert_int_equal (d->n_methods, kc_methods_rules (h->store->methods)->n_methods);
    assert_int_equal (d->methods[0].state, KC_MEMORY_RANKED_METHOD_STATE_NOT_REQUIRED);
    kc_memory_diagnosis_free (&d);
    kc_memory_method_match_free (&in);
}

// ---- methods as rows ----

static int s_put (kc_help_t *h, const char *json)
{
    kc_errs_t errs = {0};
    kc_memory_method_put_t *in =
        kc_memory_method_put_decode (json, strlen (json), KC_STRICT, &errs);
    assert_non_null (in);
    kc_memory_method_put_reply_t out = {0};
    kc_help_begin (h);
    int rc = kc_methods_put (h->store->methods, in, &out, &h->when, &h->err);
    kc_help_end (h, rc);
    kc_memory_method_put_free (&in);
    return rc;
}

static void
a_users_method_overlays_the_shipped_one_and_survives_a_new_set (void **state)
{
    kc_help_t *h = *state;
    assert_int_equal (
        s_put (h, "{\"document\":{\"format\":1,\"methods\":[{\"id\":\"Launch_Tuning\","
                  "\"title\":\"mine\",\"mechanism\":\"my own way\",\"gain\":3}]}}"),
        0);
    kc_memory_method_show_t show = {.id = kc_strdup ("Launch_Tuning")};
    for (int pass = 0; pass < 2; pass++) {
        kc_memory_method_show_reply_t *out = kc_memory_method_show_reply_new ();
        assert_int_equal (kc_methods_show (h->store->methods, &show, out, &h->err), 0);
        assert_string_equal (out->row->method->title, "mine");
        assert_int_equal (out->row->source, KC_MEMORY_METHOD_ROW_SOURCE_USER);
        assert_true (out->row->n_bottlenecks
                     > 3); // shipped bottlenecks lead to it as before
        kc_memory_method_show_reply_free (&out);
        // A set with another digest replaces the shipped rows only.
        assert_int_equal (
            kc_db_script (h->store->db,
                          "UPDATE note SET value = 'old' WHERE name = 'experts'",
                          &h->err),
            0);
        kc_help_reopen (h);
        assert_int_equal (
            kc_methods_ship (h->store->methods, "memory/experts", &h->when, &h->err),
            0);
    }
    kc_set (&show.id, "Launch_Tunning");
    kc_memory_method_show_reply_t *out = kc_memory_method_show_reply_new ();
    assert_int_equal (kc_methods_show (h->store->methods, &show, out, &h->err), -1);
    assert_non_null (strstr (h->err.text, "Launch_Tuning"));
    kc_memory_method_show_reply_free (&out);
    free (show.id);
}

static void a_put_with_a_bad_clause_names_the_place_and_changes_nothing (void **state)
{
    kc_help_t *h = *state;
    assert_int_equal (
        s_put (h,
               "{\"document\":{\"format\":1,\"methods\":[{\"id\":\"X\",\"title\":\"x\","
               "\"mechanism\":\"x\",\"requires\":[{\"expr\":\"dram_shar > 1\"}]}]}}"),
        -1);
    assert_int_equal (h->err.code, KC_EINVALID);
    assert_non_null (strstr (h->err.text, "X /requires/0"));
    assert_int_equal (
        s_put (
            h,
            "{\"document\":{\"format\":1,\"bottlenecks\":[{\"id\":\"b\",\"title\":"
            "\"b\","
            "\"when\":[{\"expr\":\"dram_share > 0.1\"}],\"methods\":[\"Nowhere\"]}]}}"),
        -1);
    assert_non_null (strstr (h->err.text, "Nowhere"));
    kc_memory_method_show_t show = {.id = kc_strdup ("X")};
    kc_memory_method_show_reply_t *out = kc_memory_method_show_reply_new ();
    assert_int_equal (kc_methods_show (h->store->methods, &show, out, &h->err), -1);
    kc_memory_method_show_reply_free (&out);
    free (show.id);
}

static void text_search_finds_methods_and_no_text_is_an_error (void **state)
{
    kc_help_t *h = *state;
    static const struct {
        const char *text, *first; // NULL = anything, no failure
    } cases[] = {{"bank conflict", "Reduce_Bank_Conflicts"},
                 {"bank_conflict_share", "Reduce_Bank_Conflicts"},
                 {"coalescing", "Improve_Coalescing_and_TransactionSize"},
                 {"split-k", NULL},
                 {"a'b", NULL},
                 {"\"", NULL},
                 {"TODO: x AND OR NOT (", NULL},
                 {"38.101 * ^ {", NULL},
                 {"***", NULL}};
    for (size_t i = 0; i < KC_COUNT (cases); i++) {
        kc_memory_method_list_t *in = kc_memory_method_list_new ();
        kc_memory_method_list_reply_t *out = kc_memory_method_list_reply_new ();
        in->text = kc_strdup (cases[i].text);
        if (kc_methods_list (h->store->methods, in, out, &h->err) < 0)
            fail_msg ("%s: %s", cases[i].text, h->err.text);
        if (cases[i].first) {
            assert_true (out->n_methods > 0);
            assert_string_equal (out->methods[0].method->id, cases[i].first);
        }
        kc_memory_method_list_free (&in);
        kc_memory_method_list_reply_free (&out);
    }
}

static void a_text_index_that_drifted_is_made_anew_at_the_start (void **state)
{
    kc_help_t *h = *state;
    kc_store_close (&h->store);
    sqlite3 *db = NULL;
    assert_int_equal (sqlite3_open (h->path, &db), SQLITE_OK);
    assert_int_equal (
        sqlite3_exec (db,
                      "UPDATE method_fts_content SET c0 = 'nonsense', c2 = 'nonsense'",
                      NULL, NULL, NULL),
        SQLITE_OK);
    sqlite3_close (db);
    kc_help_reopen (h);
    int64_t id = 0;
    assert_int_equal (kc_db_int (h->store->db, &h->err, 0, &id,
                                 "SELECT count(*) FROM method_fts WHERE method_fts "
                                 "MATCH 'nonsense'",
                                 ""),
                      0);
    assert_true (id > 0); // the index says what the table says
}

int main (void)
{
    kc_log_level (KC_ERROR);
#define T(f) cmocka_unit_test_setup_teardown (f, s_setup, s_teardown)
    const struct CMUnitTest tests[] = {
        T (every_bottleneck_is_found_when_it_is_there_and_not_on_a_near_miss),
        T (every_shipped_bottleneck_has_a_case_here_and_names_methods),
        T (the_holes_of_the_reference_are_covered),
        T (missing_counters_are_unknown_and_the_answer_says_what_to_collect),
        T (fast_math_needs_a_policy_that_allows_it),
        T (methods_are_limited_to_what_is_available_and_left),
        T (the_heavy_step_decides_and_shares_that_are_missing_are_equal),
        T (several_kernels_far_from_the_floor_ask_for_fusion),
        T (wins_raise_and_losses_lower_the_rank),
        T (evidence_without_steps_lists_everything_to_try),
        T (a_users_method_overlays_the_shipped_one_and_survives_a_new_set),
        T (a_put_with_a_bad_clause_names_the_place_and_changes_nothing),
        T (text_search_finds_methods_and_no_text_is_an_error),
        T (a_text_index_that_drifted_is_made_anew_at_the_start),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
