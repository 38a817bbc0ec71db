// Tests of the store on a real file: tasks and leases, steps, events, blobs, cache,
// migrations, backup.

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/msg/kc_codec.h"
#include "common/util/kc_clock.h"
#include "common/util/kc_fs.h"
#include "common/util/kc_log.h"
#include "common/util/kc_mem.h"
#include "memory/store/kc_migrate.h"
#include "tests/unit/memory/kc_mem_help.h"

static int s_setup (void **state)
{
    kc_help_t *h = kc_malloc (sizeof *h);
    kc_help_open (h, NULL);
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

static int64_t s_append_doc (kc_help_t *h, const char *task, int64_t epoch,
                             int64_t round, kc_memory_step_kind_t step,
                             kc_memory_step_doc_t *doc, bool *repeated_p)
{
    int64_t seq = kc_help_append (h, task, epoch, round, step, doc, repeated_p);
    kc_memory_step_doc_free (&doc);
    return seq;
}

static kc_memory_task_row_t *s_row (kc_help_t *h, const char *task)
{
    kc_memory_task_get_t in = {.task = kc_strdup (task)};
    kc_memory_task_get_reply_t *out = kc_memory_task_get_reply_new ();
    int rc = kc_tasks_get (h->store->tasks, &in, out, &h->err);
    kc_memory_task_row_t *row = rc < 0 ? NULL : out->row;
    if (rc == 0)
        out->row = NULL;
    kc_memory_task_get_reply_free (&out);
    free (in.task);
    return row;
}

static int s_cancel (kc_help_t *h, const char *task)
{
    kc_memory_task_cancel_t in = {.task = kc_strdup (task),
                                  .reason = kc_strdup ("no longer needed")};
    kc_memory_task_cancel_reply_t *out = kc_memory_task_cancel_reply_new ();
    kc_help_begin (h);
    int rc = kc_tasks_cancel (h->store->tasks, &in, out, &h->when, &h->err);
    kc_help_end (h, rc);
    kc_memory_task_cancel_reply_free (&out);
    free (in.task);
    free (in.reason);
    return rc;
}

static int s_finish (kc_help_t *h, const char *task, int64_t epoch)
{
    kc_memory_task_finish_t in = {.task = kc_strdup (task),
                                  .epoch = epoch,
                                  .state = KC_MEMORY_TASK_FINISH_STATE_DONE};
    kc_memory_task_finish_reply_t *out = kc_memory_task_finish_reply_new ();
    kc_help_begin (h);
    int rc = kc_tasks_finish (h->store->tasks, &in, out, &h->when, &h->err);
    kc_help_end (h, rc);
    kc_memory_task_finish_reply_free (&out);
    free (in.task);
    return rc;
}

static int s_renew (kc_help_t *h, const char *task, int64_t epoch)
{
    kc_memory_task_renew_t in = {.task = kc_strdup (task), .epoch = epoch};
    kc_memory_task_renew_reply_t out = {0};
    kc_help_begin (h);
    int rc = kc_tasks_renew (h->store->tasks, &in, &out, &h->when, &h->err);
    kc_help_end (h, rc);
    free (in.task);
    return rc;
}

static int s_expire (kc_help_t *h)
{
    kc_help_begin (h);
    int n = kc_tasks_expire (h->store->tasks, &h->when, &h->err);
    kc_help_end (h, n);
    return n;
}

// ---- tasks ----

static void
creating_a_task_twice_answers_the_same_and_another_content_is_a_conflict (void **state)
{
    kc_help_t *h = *state;
    assert_int_equal (kc_help_create (h, "TASK0001"), 1);
    assert_int_equal (kc_help_create (h, "TASK0001"), 0);
    kc_memory_task_create_t *in = kc_memory_task_create_new ();
    in->task = kc_strdup ("TASK0001");
    in->document = kc_task_new ();
    in->document->kind = KC_TASK_KIND_CUDA;
    in->document->name = kc_strdup ("another");
    kc_task_file_t *file =
        kc_push (&in->document->files, &in->document->n_files, sizeof *file);
    file->path = kc_strdup ("a.cu");
    file->sha256 =
        kc_strdup ("2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824");
    file->size = 5;
    kc_memory_task_create_reply_t *out = kc_memory_task_create_reply_new ();
    kc_help_begin (h);
    int rc = kc_tasks_create (h->store->tasks, in, out, &h->when, &h->err);
    kc_help_end (h, rc);
    assert_int_equal (rc, -1);
    assert_int_equal (h->err.code, KC_ECONFLICT);
    kc_memory_task_create_free (&in);
    kc_memory_task_create_reply_free (&out);
}

static void a_task_id_with_other_characters_than_of_a_name_is_refused (void **state)
{
    kc_help_t *h = *state;
    static const char *const bad[] = {"a.b", "a b", "../up", "a/b", "\xc3\xa4"};
    for (size_t i = 0; i < KC_COUNT (bad); i++) {
        kc_memory_task_create_t *in = kc_memory_task_create_new ();
        kc_memory_task_create_reply_t *out = kc_memory_task_create_reply_new ();
        kc_set (&in->task, bad[i]);
        in->document = kc_task_new ();
        assert_int_equal (kc_tasks_create (h->store->tasks, in, out, &h->when, &h->err), -1);
        assert_int_equal (h->err.code, KC_EINVALID);
        assert_non_null (strstr (h->err.text, bad[i]));
        kc_memory_task_create_free (&in);
        kc_memory_task_create_reply_free (&out);
    }
    assert_int_equal (kc_help_create (h, "softmax-2_b"), 1);
}

static void a_task_whose_files_are_not_here_names_the_missing_blobs_and_is_not_created (
    void **state)
{
    kc_help_t *h = *state;
    kc_memory_task_create_t *in = kc_memory_task_create_new ();
    in->task = kc_strdup ("TASK0002");
    in->document = kc_task_new ();
    in->document->kind = KC_TASK_KIND_CUDA;
    in->document->name = kc_strdup ("t");
    kc_task_file_t *file =
        kc_push (&in->document->files, &in->document->n_files, sizeof *file);
    file->path = kc_strdup ("a.cu");
    file->sha256 =
        kc_strdup ("0000000000000000000000000000000000000000000000000000000000000001");
    file->size = 5;
    kc_memory_task_create_reply_t *out = kc_memory_task_create_reply_new ();
    kc_help_begin (h);
    assert_int_equal (kc_tasks_create (h->store->tasks, in, out, &h->when, &h->err), 0);
    kc_help_end (h, 0);
    assert_false (out->created);
    assert_int_equal (out->n_missing, 1);
    assert_int_equal (kc_tasks_ord (h->store->tasks, "TASK0002", &h->err), 0);
    static const char *const bad[] = {"/etc/passwd", "../a", "a/../b", "./a", "a//b"};
    for (size_t i = 0; i < KC_COUNT (bad); i++) {
        kc_set (&in->document->files[0].path, bad[i]);
        kc_help_begin (h);
        int rc = kc_tasks_create (h->store->tasks, in, out, &h->when, &h->err);
        kc_help_end (h, rc);
        assert_int_equal (rc, -1);
        assert_int_equal (h->err.code, KC_EINVALID);
    }
    kc_memory_task_create_free (&in);
    kc_memory_task_create_reply_free (&out);
}

static void a_task_is_found_by_a_unique_prefix_or_suffix (void **state)
{
    kc_help_t *h = *state;
    kc_help_create (h, "01ABCDXYZ1");
    kc_help_create (h, "01ABCEXYZ2");
    char *found = kc_tasks_resolve (h->store->tasks, "01ABCD", &h->err);
    assert_string_equal (found, "01ABCDXYZ1");
    free (found);
    found = kc_tasks_resolve (h->store->tasks, "XYZ2", &h->err);
    assert_string_equal (found, "01ABCEXYZ2");
    free (found);
    assert_null (kc_tasks_resolve (h->store->tasks, "01ABC", &h->err));
    assert_int_equal (h->err.code, KC_EINVALID);
    assert_null (kc_tasks_resolve (h->store->tasks, "01A", &h->err));
    assert_null (kc_tasks_resolve (h->store->tasks, "QQQQ", &h->err));
    assert_int_equal (h->err.code, KC_ENOTFOUND);
}

static void tasks_are_leased_oldest_first_and_a_lost_one_goes_to_the_end (void **state)
{
    kc_help_t *h = *state;
    char *task = NULL;
    kc_help_create (h, "TASK000A");
    kc_help_create (h, "TASK000B");
    kc_help_create (h, "TASK000C");
    assert_int_equal (kc_help_lease (h, "p1", "b1", "r1", &task), 1);
    assert_string_equal (task, "TASK000A");
    free (task);
    h->when.now += KC_LEASE_MS;
    assert_true (kc_tasks_any_over (h->store->tasks, h->when.now));
    assert_int_equal (s_expire (h), 1);
    static const char *const order[] = {"TASK000B", "TASK000C", "TASK000A"};
    for (int i = 0; i < 3; i++) {
        char *request = kc_asprintf ("q%d", i);
        assert_true (kc_help_lease (h, "p1", "b1", request, &task) > 0);
        assert_string_equal (task, order[i]);
        free (task);
        free (request);
    }
    assert_int_equal (kc_help_lease (h, "p1", "b1", "q9", NULL), 0);
}

static void repeating_a_lease_request_answers_the_same_grant (void **state)
{
    kc_help_t *h = *state;
    char *first = NULL, *again = NULL;
    kc_help_create (h, "TASK000A");
    kc_help_create (h, "TASK000B");
    assert_int_equal (kc_help_lease (h, "p1", "b1", "r1", &first), 1);
    kc_help_reopen (h);
    assert_int_equal (kc_help_lease (h, "p1", "b1", "r1", &again), 1);
    assert_string_equal (first, again);
    free (first);
    free (again);
}

static void a_renewed_lease_lives_on_and_an_old_epoch_cannot_renew (void **state)
{
    kc_help_t *h = *state;
    kc_help_create (h, "TASK000A");
    int64_t epoch = kc_help_lease (h, "p1", "b1", "r1", NULL);
    for (int i = 0; i < 20; i++) {
        h->when.now += 5000;
        assert_int_equal (s_renew (h, "TASK000A", epoch), 0);
        assert_int_equal (s_expire (h), 0);
    }
    h->when.now += KC_LEASE_MS;
    assert_int_equal (s_expire (h), 1);
    assert_int_equal (s_renew (h, "TASK000A", epoch), -1);
    assert_int_equal (h->err.code, KC_ESTALE);
    assert_int_equal (kc_help_lease (h, "p2", "b2", "r2", NULL), epoch + 1);
    assert_int_equal (s_renew (h, "TASK000A", epoch), -1);
    assert_int_equal (h->err.code, KC_ESTALE);
    assert_int_equal (s_renew (h, "TASK000A", epoch + 1), 0);
}

static void after_a_restart_a_lease_gets_one_full_term (void **state)
{
    kc_help_t *h = *state;
    kc_help_create (h, "TASK000A");
    int64_t epoch = kc_help_lease (h, "p1", "b1", "r1", NULL);
    h->when.now += KC_LEASE_MS - 1;
    kc_help_reopen (h);
    h->when.now += KC_LEASE_MS - 1;
    assert_int_equal (s_expire (h), 0);
    assert_int_equal (s_renew (h, "TASK000A", epoch), 0);
    kc_help_reopen (h);
    h->when.now += KC_LEASE_MS;
    assert_int_equal (s_expire (h), 1);
}

static void a_new_boot_of_the_holder_frees_what_its_old_boot_held (void **state)
{
    kc_help_t *h = *state;
    char *task = NULL;
    kc_help_create (h, "TASK000A");
    assert_int_equal (kc_help_lease (h, "p1", "b1", "r1", NULL), 1);
    assert_int_equal (kc_help_lease (h, "p2", "b1", "r2", NULL), 0);
    assert_int_equal (kc_help_lease (h, "p1", "b2", "r3", &task), 2);
    assert_string_equal (task, "TASK000A");
    free (task);
    assert_int_equal (s_renew (h, "TASK000A", 1), -1);
}

static void cancelling_raises_the_epoch_and_keeps_the_best (void **state)
{
    kc_help_t *h = *state;
    kc_help_create (h, "TASK000A");
    int64_t epoch = kc_help_lease (h, "p1", "b1", "r1", NULL);
    assert_int_equal (s_append_doc (h, "TASK000A", epoch, 0, KC_MEMORY_STEP_KIND_CODE,
                                    kc_help_doc_code (NULL, NULL, 1), NULL),
                      1);
    kc_memory_step_doc_t *doc = kc_help_doc_evaluate (KC_VERDICT_STATUS_OK, 0);
    doc->best = kc_memory_best_new ();
    doc->best->hash =
        kc_strdup ("2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824");
    doc->best->has_speedup = true;
    doc->best->speedup = 1.5;
    assert_int_equal (
        s_append_doc (h, "TASK000A", epoch, 0, KC_MEMORY_STEP_KIND_EVALUATE, doc, NULL),
        2);
    assert_int_equal (s_cancel (h, "TASK000A"), 0);
    assert_int_equal (s_cancel (h, "TASK000A"), 0);
    assert_int_equal (s_append_doc (h, "TASK000A", epoch, 1, KC_MEMORY_STEP_KIND_CODE,
                                    kc_help_doc_code (NULL, NULL, 2), NULL),
                      -1);
    assert_int_equal (h->err.code, KC_ESTALE);
    assert_int_equal (kc_help_lease (h, "p2", "b2", "r2", NULL), 0);
    kc_memory_task_get_t in = {.task = kc_strdup ("TASK000A")};
    kc_memory_task_get_reply_t *out = kc_memory_task_get_reply_new ();
    assert_int_equal (kc_tasks_get (h->store->tasks, &in, out, &h->err), 0);
    assert_int_equal (out->row->state, KC_MEMORY_STATE_CANCELLED);
    assert_int_equal (out->row->epoch, epoch + 1);
    assert_true (fabs (out->row->best->speedup - 1.5) < 1e-12);
    assert_non_null (out->candidate);
    assert_non_null (out->verdict);
    assert_string_equal (out->row->reason, "no longer needed");
    kc_memory_task_get_reply_free (&out);
    free (in.task);
}

static void finishing_twice_with_the_same_epoch_answers_the_same (void **state)
{
    kc_help_t *h = *state;
    kc_help_create (h, "TASK000A");
    int64_t epoch = kc_help_lease (h, "p1", "b1", "r1", NULL);
    assert_int_equal (s_finish (h, "TASK000A", epoch + 1), -1);
    assert_int_equal (h->err.code, KC_ESTALE);
    assert_int_equal (s_finish (h, "TASK000A", epoch), 0);
    int64_t events = kc_help_event_count (h, "TASK000A");
    assert_int_equal (s_finish (h, "TASK000A", epoch), 0);
    assert_int_equal (kc_help_event_count (h, "TASK000A"), events);
    assert_int_equal (s_cancel (h, "TASK000A"), -1);
    assert_int_equal (h->err.code, KC_ESTATE);
}

static void a_list_pages_from_the_newest_and_filters_by_state (void **state)
{
    kc_help_t *h = *state;
    for (int i = 0; i < 7; i++) {
        char *id = kc_asprintf ("TASK%04d", i);
        kc_help_create (h, id);
        free (id);
    }
    s_cancel (h, "TASK0003");
    kc_memory_task_list_t *in = kc_memory_task_list_new ();
    in->limit = 4;
    int seen = 0;
    for (bool more = true; more;) {
        kc_memory_task_list_reply_t *out = kc_memory_task_list_reply_new ();
        assert_int_equal (kc_tasks_list (h->store->tasks, in, out, &h->err), 0);
        for (size_t i = 0; i < out->n_tasks; i++) {
            char *id = kc_asprintf ("TASK%04d", 6 - seen++);
            assert_string_equal (out->tasks[i].task, id);
            free (id);
        }
        more = out->more;
        kc_set (&in->after, out->tasks[out->n_tasks - 1].task);
        kc_memory_task_list_reply_free (&out);
    }
    assert_int_equal (seen, 7);
    kc_set (&in->after, NULL);
    in->state = KC_MEMORY_STATE_CANCELLED;
    kc_memory_task_list_reply_t *out = kc_memory_task_list_reply_new ();
    assert_int_equal (kc_tasks_list (h->store->tasks, in, out, &h->err), 0);
    assert_int_equal (out->n_tasks, 1);
    kc_memory_task_list_reply_free (&out);
    kc_memory_task_list_free (&in);
}

// ---- steps ----

static void
a_step_is_stored_once_and_repeated_content_answers_the_same_number (void **state)
{
    kc_help_t *h = *state;
    bool repeated = true;
    kc_help_create (h, "TASK000A");
    int64_t epoch = kc_help_lease (h, "p1", "b1", "r1", NULL);
    assert_int_equal (s_append_doc (h, "TASK000A", epoch, 0, KC_MEMORY_STEP_KIND_CODE,
                                    kc_help_doc_code (NULL, NULL, 1), &repeated),
                      1);
    assert_false (repeated);
    int64_t events = kc_help_event_count (h, "TASK000A");
    kc_help_reopen (h);
    assert_int_equal (s_append_doc (h, "TASK000A", epoch, 0, KC_MEMORY_STEP_KIND_CODE,
                                    kc_help_doc_code (NULL, NULL, 1), &repeated),
                      1);
    assert_true (repeated);
    assert_int_equal (kc_help_event_count (h, "TASK000A"), events);
    assert_int_equal (s_append_doc (h, "TASK000A", epoch, 0, KC_MEMORY_STEP_KIND_CODE,
                                    kc_help_doc_code (NULL, NULL, 2), NULL),
                      -1);
    assert_int_equal (h->err.code, KC_ECONFLICT);
    assert_int_equal (s_append_doc (h, "TASK000A", epoch, 1, KC_MEMORY_STEP_KIND_CODE,
                                    kc_help_doc_code (NULL, NULL, 2), NULL),
                      2);
    kc_memory_task_row_t *row = s_row (h, "TASK000A");
    assert_int_equal (row->steps, 2);
    assert_int_equal (row->round, 1);
    assert_true (fabs (row->spent_seconds - 1.0) < 1e-9);
    kc_memory_task_row_free (&row);
}

static void a_step_without_its_product_is_refused_and_leaves_nothing (void **state)
{
    kc_help_t *h = *state;
    kc_help_create (h, "TASK000A");
    int64_t epoch = kc_help_lease (h, "p1", "b1", "r1", NULL);
    int64_t events = kc_help_event_count (h, "TASK000A");
    assert_int_equal (s_append_doc (h, "TASK000A", epoch, 0,
                                    KC_MEMORY_STEP_KIND_EVALUATE, kc_help_doc (), NULL),
                      -1);
    assert_int_equal (h->err.code, KC_EINVALID);
    assert_int_equal (kc_help_event_count (h, "TASK000A"), events);
    kc_memory_step_doc_t *doc = kc_help_doc ();
    doc->error = kc_memory_outcome_new ();
    doc->error->code = kc_strdup ("lost");
    doc->error->text = kc_strdup ("the evaluator died three times");
    assert_int_equal (
        s_append_doc (h, "TASK000A", epoch, 0, KC_MEMORY_STEP_KIND_EVALUATE, doc, NULL),
        1);
}

static void an_event_line_tells_change_method_and_ratio (void **state)
{
    kc_help_t *h = *state;
    kc_help_create (h, "TASK000A");
    int64_t epoch = kc_help_lease (h, "p1", "b1", "r1", NULL);
    s_append_doc (h, "TASK000A", epoch, 3, KC_MEMORY_STEP_KIND_CODE,
                  kc_help_doc_code ("Increase_ILP_WorkPerThread", NULL, 4), NULL);
    s_append_doc (h, "TASK000A", epoch, 3, KC_MEMORY_STEP_KIND_EVALUATE,
                  kc_help_doc_evaluate (KC_VERDICT_STATUS_OK, 1.31), NULL);
    kc_memory_events_read_t *in = kc_memory_events_read_new ();
    kc_memory_events_read_reply_t *out = kc_memory_events_read_reply_new ();
    assert_int_equal (kc_events_read (h->store->events, in, out, NULL, &h->err), 0);
    assert_string_equal (
        out->events[out->n_events - 1].text,
        "round 3: ITEMS 1 -> 4 (Increase_ILP_WorkPerThread): OK, 1.31x over base");
    assert_int_equal (out->last, out->events[out->n_events - 1].seq);
    for (size_t i = 0; i < out->n_events; i++)
        assert_int_equal (out->events[i].seq, i + 1);
    kc_memory_events_read_free (&in);
    kc_memory_events_read_reply_free (&out);
}

static void outcomes_of_a_method_are_counted_in_the_context_of_its_plan (void **state)
{
    kc_help_t *h = *state;
    kc_help_create (h, "TASK000A");
    int64_t epoch = kc_help_lease (h, "p1", "b1", "r1", NULL);
    kc_memory_step_doc_t *doc = kc_help_doc ();
    doc->evidence = kc_help_evidence ();
    s_append_doc (h, "TASK000A", epoch, 0, KC_MEMORY_STEP_KIND_PROFILE, doc, NULL);
    doc = kc_help_doc ();
    doc->plan = kc_memory_plan_new ();
    doc->plan->action = KC_MEMORY_PLAN_ACTION_OPTIMISE;
    doc->plan->method = kc_strdup ("Launch_Tuning");
    doc->plan->bottleneck = kc_strdup ("memory_latency");
    doc->plan->why = kc_strdup ("first in rank");
    s_append_doc (h, "TASK000A", epoch, 0, KC_MEMORY_STEP_KIND_PLAN, doc, NULL);
    for (int round = 1; round <= 3; round++) {
        s_append_doc (h, "TASK000A", epoch, round, KC_MEMORY_STEP_KIND_CODE,
                      kc_help_doc_code ("Launch_Tuning", NULL, round), NULL);
        s_append_doc (
            h, "TASK000A", epoch, round, KC_MEMORY_STEP_KIND_EVALUATE,
            round == 2
                ? kc_help_doc_evaluate (KC_VERDICT_STATUS_WRONG_OUTPUT, 0)
                : kc_help_doc_evaluate (KC_VERDICT_STATUS_OK, round == 1 ? 2.0 : 0.9),
            NULL);
    }
    // What was not measured is no news about the method.
    s_append_doc (h, "TASK000A", epoch, 4, KC_MEMORY_STEP_KIND_CODE,
                  kc_help_doc_code ("Launch_Tuning", NULL, 9), NULL);
    s_append_doc (h, "TASK000A", epoch, 4, KC_MEMORY_STEP_KIND_EVALUATE,
                  kc_help_doc_evaluate (KC_VERDICT_STATUS_NO_MEASUREMENT, 0), NULL);
    for (int pass = 0; pass < 2; pass++) {
        kc_record_context_t at = {"Launch_Tuning", "memory_latency", "", "row_reduce"};
        kc_record_sum_t sum;
        kc_records_sum (h->store->records, &at, &sum);
        assert_int_equal (sum.all_wins, 1);
        assert_int_equal (sum.all_losses, 2);
        assert_true (fabs (sum.wins - 1) < 1e-9);
        assert_true (fabs (sum.log_gain - log (2.0)) < 1e-9);
        at.bottleneck = "compute";
        kc_records_sum (h->store->records, &at, &sum);
        assert_true (sum.wins < 0.5);
        kc_help_reopen (h);
    }
}

static void a_trajectory_pages_and_brief_leaves_out_the_source (void **state)
{
    kc_help_t *h = *state;
    kc_help_create (h, "TASK000A");
    int64_t epoch = kc_help_lease (h, "p1", "b1", "r1", NULL);
    for (int i = 0; i < 5; i++)
        s_append_doc (h, "TASK000A", epoch, i, KC_MEMORY_STEP_KIND_CODE,
                      kc_help_doc_code (NULL, NULL, i), NULL);
    kc_memory_trajectory_get_t *in = kc_memory_trajectory_get_new ();
    in->task = kc_strdup ("TASK000A");
    in->limit = 2;
    int64_t seen = 0;
    for (bool more = true; more;) {
        kc_buf_t json = {0};
        assert_int_equal (kc_steps_get (h->store->steps, in, &json, &h->err), 0);
        kc_errs_t errs = {0};
        kc_memory_trajectory_get_reply_t *out = kc_memory_trajectory_get_reply_decode (
            json.data, json.size, KC_STRICT, &errs);
        assert_non_null (out);
        for (size_t i = 0; i < out->n_steps; i++) {
            assert_int_equal (out->steps[i].seq, ++seen);
            bool cut = strstr (out->steps[i].doc->candidate->program->source, "version")
                       == NULL;
            assert_int_equal (cut, in->brief);
        }
        more = out->more;
        in->after = seen;
        in->brief = true;
        kc_memory_trajectory_get_reply_free (&out);
        kc_buf_free (&json);
    }
    assert_int_equal (seen, 5);
    kc_memory_trajectory_get_free (&in);
}

// Random holders come and go; only the newest epoch of a task ever writes, and appends
// stay unique.
static void fencing_holds_under_random_leases_and_repeated_appends (void **state)
{
    kc_help_t *h = *state;
    unsigned seed = (unsigned)kc_clock_ns ();
    print_message ("seed %u\n", seed);
    enum { TASKS = 3, HOLDERS = 4, TURNS = 400 };
    static const char *const ids[TASKS] = {"TASK000A", "TASK000B", "TASK000C"};
    int64_t epoch_of[HOLDERS][TASKS] = {0}, newest[TASKS] = {0};
    bool running[TASKS] = {0};
    int64_t stored[TASKS] = {0};
    for (int i = 0; i < TASKS; i++)
        kc_help_create (h, ids[i]);
    for (int turn = 0; turn < TURNS; turn++) {
        seed = seed * 1664525u + 1013904223u;
        int what = (int)(seed >> 24) % 8, who = (int)(seed >> 16) % HOLDERS,
            t = (int)(seed >> 8) % TASKS;
        if (what < 2) {
            char *holder = kc_asprintf ("p%d", who),
                 *request = kc_asprintf ("r%d", turn), *task = NULL;
            int64_t epoch = kc_help_lease (h, holder, "b", request, &task);
            for (int i = 0; task && i < TASKS; i++)
                if (strcmp (task, ids[i]) == 0) {
                    assert_true (epoch > newest[i]);
                    assert_false (running[i]);
                    newest[i] = epoch_of[who][i] = epoch;
                    running[i] = true;
                }
            free (holder);
            free (request);
            free (task);
        }
        else if (what == 2) {
            h->when.now += KC_LEASE_MS;
            s_expire (h);
            memset (running, 0, sizeof running);
        }
        else if (what == 3)
            kc_help_reopen (h);
        else if (epoch_of[who][t] > 0) {
            bool repeated = false;
            int64_t round = (int64_t)(seed >> 4) % 40;
            int64_t seq = s_append_doc (
                h, ids[t], epoch_of[who][t], round, KC_MEMORY_STEP_KIND_CODE,
                kc_help_doc_code (NULL, NULL, (int)round), &repeated);
            bool may = epoch_of[who][t] == newest[t] && (running[t] || repeated);
            assert_int_equal (seq > 0, may);
            if (seq > 0 && !repeated)
                assert_int_equal (seq, ++stored[t]);
        }
    }
    for (int i = 0; i < TASKS; i++) {
        kc_memory_task_row_t *row = s_row (h, ids[i]);
        assert_int_equal (row->steps, stored[i]);
        kc_memory_task_row_free (&row);
    }
}

// ---- events ----

static void events_filter_by_task_and_kind_and_tell_where_to_read_on (void **state)
{
    kc_help_t *h = *state;
    for (int i = 0; i < 10; i++) {
        char *id = kc_asprintf ("TASK%04d", i);
        kc_help_create (h, id);
        free (id);
    }
    s_cancel (h, "TASK0004");
    kc_memory_events_read_t *in = kc_memory_events_read_new ();
    in->kinds = kc_calloc (1, sizeof *in->kinds);
    in->n_kinds = 1;
    in->kinds[0] = KC_MEMORY_EVENT_KIND_CANCELLED;
    kc_memory_events_read_reply_t *out = kc_memory_events_read_reply_new ();
    bool at_end = false;
    assert_int_equal (kc_events_read (h->store->events, in, out, &at_end, &h->err), 0);
    assert_int_equal (out->n_events, 1);
    assert_string_equal (out->events[0].task, "TASK0004");
    assert_int_equal (out->last, 11);
    assert_true (at_end);
    in->after = out->last;
    kc_memory_events_read_reply_free (&out);
    out = kc_memory_events_read_reply_new ();
    kc_events_settle (h->store->events);
    assert_false (kc_events_concern (h->store->events, 0, in));
    s_cancel (h, "TASK0005");
    assert_true (kc_events_concern (h->store->events, 0, in));
    assert_int_equal (kc_events_read (h->store->events, in, out, &at_end, &h->err), 0);
    assert_int_equal (out->n_events, 1);
    kc_memory_events_read_reply_free (&out);
    out = kc_memory_events_read_reply_new ();
    in->from_now = true;
    assert_int_equal (kc_events_read (h->store->events, in, out, &at_end, &h->err), 0);
    assert_int_equal (out->n_events, 0);
    assert_int_equal (out->last, 12);
    kc_memory_events_read_reply_free (&out);
    kc_memory_events_read_free (&in);
}

// ---- blobs ----

static int s_put (kc_help_t *h, const char *sha, const char *data, int64_t size,
                  int64_t offset, size_t part, kc_memory_blob_put_reply_t *out)
{
    kc_memory_blob_put_t in = {
        .sha256 = kc_strdup (sha), .size = size, .offset = offset};
    memset (out, 0, sizeof *out);
    kc_help_begin (h);
    int rc = kc_blobs_put (h->store->blobs, &in, data + offset, part, out, h->when.at,
                           &h->err);
    kc_help_end (h, rc);
    free (in.sha256);
    return rc;
}

static void a_blob_is_put_in_parts_resumed_and_read_back_in_pieces (void **state)
{
    kc_help_t *h = *state;
    enum { SIZE = 2500000 };
    char *data = kc_malloc (SIZE);
    for (size_t i = 0; i < SIZE; i++)
        data[i] = (char)(i * 2654435761u >> 13);
    char sha[KC_SHA_HEX];
    kc_sha256_hex (data, SIZE, sha);
    kc_memory_blob_put_reply_t out;
    assert_int_equal (s_put (h, sha, data, SIZE, 0, 1000000, &out), 0);
    assert_int_equal (out.have, 1000000);
    kc_help_reopen (h);
    assert_int_equal (s_put (h, sha, data, SIZE, 0, 1000000, &out), 0); // repeated
    assert_int_equal (s_put (h, sha, data, SIZE, 2000000, 500000, &out),
                      0); // ahead of the front
    assert_int_equal (out.have, 1000000);
    assert_false (out.complete);
    int64_t size = 0;
    assert_int_equal (kc_blobs_have (h->store->blobs, sha, &size, &h->err), 0);
    assert_int_equal (s_put (h, sha, data, SIZE, 1000000, 1000000, &out), 0);
    assert_int_equal (s_put (h, sha, data, SIZE, 2000000, 500000, &out), 0);
    assert_true (out.complete);
    assert_int_equal (kc_blobs_have (h->store->blobs, sha, &size, &h->err), 1);
    assert_int_equal (size, SIZE);
    kc_buf_t all = {0};
    while (all.size < SIZE) {
        kc_memory_blob_get_t in = {.sha256 = sha, .offset = (int64_t)all.size};
        kc_memory_blob_get_reply_t reply = {0};
        kc_buf_t part = {0};
        assert_int_equal (kc_blobs_get (h->store->blobs, &in, &reply, &part, &h->err),
                          0);
        assert_true (part.size > 0 && part.size <= KC_BLOB_PART_MAX);
        kc_buf_put (&all, part.data, part.size);
        kc_buf_free (&part);
    }
    assert_memory_equal (all.data, data, SIZE);
    kc_buf_free (&all);
    free (data);
}

static void wrong_bytes_are_thrown_away_and_the_blob_can_be_sent_again (void **state)
{
    kc_help_t *h = *state;
    char sha[KC_SHA_HEX];
    kc_sha256_hex ("right", 5, sha);
    kc_memory_blob_put_reply_t out;
    assert_int_equal (s_put (h, sha, "wrong", 5, 0, 5, &out), 1);
    assert_int_equal (h->err.code, KC_EINVALID);
    int64_t size = 0;
    assert_int_equal (kc_blobs_have (h->store->blobs, sha, &size, &h->err), 0);
    assert_int_equal (s_put (h, sha, "right", 5, 0, 5, &out), 0);
    assert_true (out.complete);
    assert_int_equal (s_put (h, sha, "right!", 6, 0, 6, &out), -1);
    assert_int_equal (h->err.code, KC_ECONFLICT);
    assert_int_equal (s_put (h, sha, "right", 5, 3, 5, &out), -1);
    assert_int_equal (h->err.code, KC_EINVALID);
    kc_sha256_hex ("", 0, sha);
    assert_int_equal (s_put (h, sha, "", 0, 0, 0, &out), 0);
    assert_true (out.complete);
}

static void unused_blobs_go_after_a_week_of_service_and_used_ones_stay (void **state)
{
    kc_help_t *h = *state;
    kc_help_create (h, "TASK000A"); // uses "hello"
    char used[KC_SHA_HEX], sha[KC_SHA_HEX];
    kc_sha256_hex ("hello", 5, used);
    kc_memory_blob_put_reply_t out;
    for (int i = 0; i < 6; i++) {
        char data[2] = {(char)('a' + i), 0};
        kc_sha256_hex (data, 1, sha);
        assert_int_equal (s_put (h, sha, data, 1, 0, 1, &out), 0);
    }
    int64_t size = 0;
    assert_int_equal (kc_blobs_minute (h->store->blobs, KC_BLOBS_KEEP_MINUTES, &h->err),
                      0);
    assert_int_equal (kc_store_sweep (h->store, &h->err), 0);
    assert_int_equal (kc_blobs_have (h->store->blobs, sha, &size, &h->err), 1);
    assert_int_equal (kc_blobs_minute (h->store->blobs, 1, &h->err), 0);
    assert_int_equal (kc_store_sweep (h->store, &h->err),
                      1); // a full slice: there may be more
    assert_int_equal (kc_store_sweep (h->store, &h->err), 0);
    assert_int_equal (kc_blobs_have (h->store->blobs, sha, &size, &h->err), 0);
    assert_int_equal (kc_blobs_have (h->store->blobs, used, &size, &h->err), 1);
}

// ---- cache ----

static void verdicts_that_may_differ_next_time_are_never_cached (void **state)
{
    kc_help_t *h = *state;
    static const char key[] =
        "00000000000000000000000000000000000000000000000000000000000000aa";
    static const kc_verdict_status_t never[] = {
        KC_VERDICT_STATUS_TIMEOUT, KC_VERDICT_STATUS_LAUNCH_ERROR,
        KC_VERDICT_STATUS_NO_MEASUREMENT, KC_VERDICT_STATUS_INFRA_ERROR,
        KC_VERDICT_STATUS_UNSUPPORTED};
    kc_help_create (h, "TASK000A");
    int64_t epoch = kc_help_lease (h, "p1", "b1", "r1", NULL);
    kc_verdict_t *found = NULL;
    int round = 0;
    for (size_t i = 0; i < KC_COUNT (never); i++) {
        kc_memory_step_doc_t *doc = kc_help_doc_evaluate (never[i], 0);
        doc->verdict->cache_key = kc_strdup (key);
        assert_true (s_append_doc (h, "TASK000A", epoch, round++,
                                   KC_MEMORY_STEP_KIND_EVALUATE, doc, NULL)
                     > 0);
        assert_int_equal (kc_cache_find (h->store->cache, key, &found, &h->err), 0);
        assert_null (found);
    }
    kc_memory_step_doc_t *doc = kc_help_doc_evaluate (KC_VERDICT_STATUS_OK, 1.5);
    doc->verdict->cache_key = kc_strdup (key);
    doc->verdict->labels = kc_calloc (1, sizeof *doc->verdict->labels);
    doc->verdict->n_labels = 1;
    doc->verdict->labels[0] = KC_VERDICT_LABEL_NONDETERMINISTIC;
    s_append_doc (h, "TASK000A", epoch, round++, KC_MEMORY_STEP_KIND_EVALUATE, doc,
                  NULL);
    assert_int_equal (kc_cache_find (h->store->cache, key, &found, &h->err), 0);
    assert_null (found);
    doc = kc_help_doc_evaluate (KC_VERDICT_STATUS_OK, 1.5);
    doc->verdict->cache_key = kc_strdup (key);
    s_append_doc (h, "TASK000A", epoch, round++, KC_MEMORY_STEP_KIND_EVALUATE, doc,
                  NULL);
    assert_int_equal (kc_cache_find (h->store->cache, key, &found, &h->err), 0);
    assert_non_null (found);
    assert_true (found->cached);
    assert_false (kc_cache_may_keep (found));
    kc_verdict_free (&found);
}

// ---- the file ----

static void a_file_of_another_program_and_a_newer_file_are_refused (void **state)
{
    kc_help_t *h = *state;
    kc_store_close (&h->store);
    sqlite3 *db = NULL;
    sqlite3_open (h->path, &db);
    sqlite3_exec (db, "PRAGMA user_version = 99", NULL, NULL, NULL);
    sqlite3_close (db);
    kc_store_config_t config = {.db = {.path = h->path}};
    assert_null (kc_store_open (&config, &h->when, &h->err));
    assert_int_equal (h->err.code, KC_EREFUSED);
    sqlite3_open (h->path, &db);
    sqlite3_exec (db, "PRAGMA user_version = 2; PRAGMA application_id = 7", NULL, NULL,
                  NULL);
    sqlite3_close (db);
    assert_null (kc_store_open (&config, &h->when, &h->err));
    assert_int_equal (h->err.code, KC_EREFUSED);
    sqlite3_open (h->path, &db);
    sqlite3_exec (db, "PRAGMA application_id = 1801669937", NULL, NULL, NULL);
    sqlite3_close (db);
    h->store = kc_store_open (&config, &h->when, &h->err);
    assert_non_null (h->store);
    assert_null (kc_store_open (&config, &h->when, &h->err)); // the lock
    assert_int_equal (h->err.code, KC_EBUSY);
}

static void a_version_1_file_is_upgraded_and_backed_up_first (void **state)
{
    kc_help_t *h = *state;
    kc_store_close (&h->store);
    kc_fs_remove_tree (h->path, NULL);
    size_t size = 0;
    char *bytes = kc_fs_read ("tests/cases/db/memory-v1.db", 1 << 20, &size, &h->err);
    assert_non_null (bytes);
    assert_int_equal (kc_fs_write (h->path, bytes, size, 0600, false, &h->err), 0);
    free (bytes);
    kc_help_reopen (h);
    char *backup = kc_asprintf ("%s.v1.bak", h->path);
    assert_true (kc_fs_exists (backup));
    free (backup);
    kc_memory_task_row_t *row = s_row (h, "01HZY0000000000000000000V1");
    assert_non_null (row);
    assert_int_equal (row->steps, 2);
    assert_int_equal (row->state, KC_MEMORY_STATE_RUNNING);
    // Work goes on where it was: the lease lives one term, the next step has the next
    // number.
    assert_int_equal (s_append_doc (h, row->task, row->epoch, 1,
                                    KC_MEMORY_STEP_KIND_CODE,
                                    kc_help_doc_code ("Launch_Tuning", NULL, 2), NULL),
                      3);
    kc_memory_task_row_free (&row);
    int64_t version = 0;
    assert_int_equal (
        kc_db_int (h->store->db, &h->err, 0, &version, "PRAGMA user_version", ""), 0);
    assert_int_equal (version, KC_MIGRATE_NEWEST);
}

static void a_backup_is_made_while_writes_go_on_and_opens_as_a_store (void **state)
{
    kc_help_t *h = *state;
    kc_help_create (h, "TASK000A");
    int64_t epoch = kc_help_lease (h, "p1", "b1", "r1", NULL);
    char *path = kc_fs_join (h->dir, "copy.db");
    assert_null (kc_backup_new (h->store->db, "relative.db", &h->err));
    kc_backup_t *backup = kc_backup_new (h->store->db, path, &h->err);
    assert_non_null (backup);
    int rc = 0;
    for (int round = 0; rc == 0 && round < 10000; round++) {
        if (round < 5)
            assert_true (s_append_doc (h, "TASK000A", epoch, round,
                                       KC_MEMORY_STEP_KIND_CODE,
                                       kc_help_doc_code (NULL, NULL, round), NULL)
                         > 0);
        rc = kc_backup_step (backup, &h->err);
        poll (NULL, 0, 1); // the copy is checked by a thread of its own
    }
    assert_int_equal (rc, 1);
    assert_true (kc_backup_pages (backup) > 10);
    kc_backup_destroy (&backup);
    assert_null (kc_backup_new (h->store->db, path, &h->err)); // never overwrites
    kc_store_config_t config = {.db = {.path = path}};
    kc_store_t *copy = kc_store_open (&config, &h->when, &h->err);
    assert_non_null (copy);
    assert_true (kc_tasks_ord (copy->tasks, "TASK000A", &h->err) > 0);
    kc_store_close (&copy);
    free (path);
}

int main (void)
{
    kc_log_level (KC_ERROR);
#define T(f) cmocka_unit_test_setup_teardown (f, s_setup, s_teardown)
    const struct CMUnitTest tests[] = {
        T (creating_a_task_twice_answers_the_same_and_another_content_is_a_conflict),
        T (a_task_id_with_other_characters_than_of_a_name_is_refused),
        T (a_task_whose_files_are_not_here_names_the_missing_blobs_and_is_not_created),
        T (a_task_is_found_by_a_unique_prefix_or_suffix),
        T (tasks_are_leased_oldest_first_and_a_lost_one_goes_to_the_end),
        T (repeating_a_lease_request_answers_the_same_grant),
        T (a_renewed_lease_lives_on_and_an_old_epoch_cannot_renew),
        T (after_a_restart_a_lease_gets_one_full_term),
        T (a_new_boot_of_the_holder_frees_what_its_old_boot_held),
        T (cancelling_raises_the_epoch_and_keeps_the_best),
        T (finishing_twice_with_the_same_epoch_answers_the_same),
        T (a_list_pages_from_the_newest_and_filters_by_state),
        T (a_step_is_stored_once_and_repeated_content_answers_the_same_number),
        T (a_step_without_its_product_is_refused_and_leaves_nothing),
        T (an_event_line_tells_change_method_and_ratio),
        T (outcomes_of_a_method_are_counted_in_the_context_of_its_plan),
        T (a_trajectory_pages_and_brief_leaves_out_the_source),
        T (fencing_holds_under_random_leases_and_repeated_appends),
        T (events_filter_by_task_and_kind_and_tell_where_to_read_on),
        T (a_blob_is_put_in_parts_resumed_and_read_back_in_pieces),
        T (wrong_bytes_are_thrown_away_and_the_blob_can_be_sent_again),
        T (unused_blobs_go_after_a_week_of_service_and_used_ones_stay),
        T (verdicts_that_may_differ_next_time_are_never_cached),
        T (a_file_of_another_program_and_a_newer_file_are_refused),
        T (a_version_1_file_is_upgraded_and_backed_up_first),
        T (a_backup_is_made_while_writes_go_on_and_opens_as_a_store),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
