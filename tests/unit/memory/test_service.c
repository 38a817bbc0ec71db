// Tests of the service without a network: batches, order, waiting, refusals, backup,
// and that nothing is answered before it is on the disk (tests/fault_vfs).

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/msg/kc_codec.h"
#include "common/util/kc_fs.h"
#include "common/util/kc_log.h"
#include "common/util/kc_map.h"
#include "common/util/kc_mem.h"
#include "memory/service/kc_ops.h"
#include "memory/service/kc_service.h"
#include "tests/fault_vfs/kc_fault_vfs.h"
#include "tests/unit/memory/kc_mem_help.h"

typedef struct s_reply {
    char *json; // NULL = refused
    kc_err_t err;
    int order;      // of answering
    uint64_t syncs; // of the log file when it was answered
} s_reply_t;

typedef struct s_world {
    kc_help_t h;
    kc_service_t *service;
    kc_map_t *replies; // id -> s_reply_t
    kc_map_t *kept;    // buffers that requests borrow
    int answered;
    bool broken;
    kc_err_t why;
} s_world_t;

static void s_free_reply (void *value)
{
    s_reply_t *r = value;
    free (r->json);
    free (r);
}

static s_reply_t *s_note (s_world_t *w, const char *id)
{
    assert_null (kc_map_get (w->replies, id)); // exactly one answer
    s_reply_t *r = kc_calloc (1, sizeof *r);
    r->order = ++w->answered;
    r->syncs = kc_fault_syncs ();
    kc_map_put (w->replies, id, r);
    return r;
}

static void s_on_reply (void *arg, const char *id, const void *payload,
                        size_t payload_size, const void *chunk, size_t chunk_size)
{
    (void)chunk;
    (void)chunk_size;
    s_note (arg, id)->json = kc_strndup (payload, payload_size);
}

static void s_on_refuse (void *arg, const char *id, const kc_err_t *err,
                         int64_t retry_after_ms)
{
    (void)retry_after_ms;
    s_note (arg, id)->err = *err;
}

static void s_on_broken (void *arg, const kc_err_t *err)
{
    s_world_t *w = arg;
    assert_false (w->broken);
    w->broken = true;
    w->why = *err;
}

static void s_begin (s_world_t *w, const char *vfs)
{
    memset (w, 0, sizeof *w);
    kc_help_open (&w->h, vfs);
    w->replies = kc_map_new (s_free_reply);
    w->kept = kc_map_new (free);
    kc_service_out_t out = {s_on_reply, s_on_refuse, s_on_broken, w};
    w->service = kc_service_new (w->h.store, &out, w->h.when.now);
}

static int s_setup (void **state)
{
    s_world_t *w = kc_malloc (sizeof *w);
    s_begin (w, NULL);
    *state = w;
    return 0;
}

static int s_teardown (void **state)
{
    s_world_t *w = *state;
    kc_service_destroy (&w->service);
    kc_map_destroy (&w->replies);
    kc_map_destroy (&w->kept);
    kc_help_close (&w->h);
    free (w);
    return 0;
}

static void s_ask (s_world_t *w, const char *id, const char *op, const char *json)
{
    char *copy = kc_strdup (json), *name = kc_strdup (id);
    char *key = kc_asprintf ("%s/name", id);
    kc_map_put (w->kept, id, copy);
    kc_map_put (w->kept, key, name);
    free (key);
    kc_service_request_t r = {
        .id = name, .op = op, .payload = copy, .payload_size = strlen (copy)};
    kc_service_submit (w->service, &r);
}

static const s_reply_t *s_of (s_world_t *w, const char *id)
{
    return kc_map_get (w->replies, id);
}

static void s_work (s_world_t *w)
{
    while (kc_service_work (w->service, w->h.when.now))
        ;
}

static const char s_append_json[] =
    "{\"task\":\"%s\",\"epoch\":%d,\"round\":%d,\"lane\":0,\"step\":\"code\",\"doc\":{"
    "\"seconds\":1,\"candidate\":"
    "{\"writer\":\"given\",\"program\":{\"format\":1,\"language\":\"cuda\",\"source\":"
    "\"// %d\",\"blocks\":[{\"steps\":"
    "[{\"op\":\"kernel\",\"kernel\":\"k\",\"grid\":[\"1\"],\"block\":[\"32\"]}]}]}}}}";

static void s_append (s_world_t *w, const char *id, const char *task, int epoch,
                      int round)
{
    char json[1024];
    snprintf (json, sizeof json, s_append_json, task, epoch, round, round);
    s_ask (w, id, "memory.step.append", json);
}

static void
every_operation_listed_is_in_the_table_and_the_other_way_round (void **state)
{
    (void)state;
    size_t n = 0, listed = 0;
    kc_ops_table (&n);
    const char *const *ops = kc_service_ops ();
    for (; ops[listed]; listed++)
        assert_non_null (kc_ops_find (ops[listed]));
    assert_int_equal (listed, n);
}

static void
a_batch_answers_good_ones_and_refuses_bad_ones_without_a_trace (void **state)
{
    s_world_t *w = *state;
    kc_help_create (&w->h, "TASK000A");
    int64_t events = kc_help_event_count (&w->h, "TASK000A");
    s_ask (w, "1", "memory.task.lease", "{\"holder\":\"p\",\"boot\":\"b\"}");
    s_append (w, "2", "TASK000A", 1, 0);
    s_append (w, "3", "TASK000A", 7, 1); // stale
    s_ask (w, "4", "memory.step.append", "{\"task\":1}");
    s_append (w, "5", "TASK000A", 1, 1);
    s_ask (w, "6", "memory.nothing", "{}");
    s_ask (w, "7", "memory.llm.begin", "{}");
    s_ask (w, "8", "memory.stats", "{}");
    s_work (w);
    assert_non_null (strstr (s_of (w, "1")->json, "\"granted\":true"));
    assert_non_null (strstr (s_of (w, "2")->json, "\"seq\":1"));
    assert_int_equal (s_of (w, "3")->err.code, KC_ESTALE);
    assert_int_equal (s_of (w, "4")->err.code, KC_EINVALID);
    assert_non_null (strstr (s_of (w, "4")->err.text, "/task"));
    assert_non_null (strstr (s_of (w, "5")->json, "\"seq\":2"));
    assert_int_equal (s_of (w, "6")->err.code, KC_EUNSUPPORTED);
    assert_int_equal (s_of (w, "7")->err.code, KC_EUNSUPPORTED);
    assert_non_null (strstr (s_of (w, "8")->json, "tasks_running"));
    assert_int_equal (kc_help_event_count (&w->h, "TASK000A"), events + 3);
}

// What is stored is what was sent, and a repetition is known by it, with tricky text
// inside strings.
static void a_document_is_stored_as_it_was_sent_in_either_order_of_keys (void **state)
{
    static const char doc[] =
        "{\"error\":{\"code\":\"x\",\"text\":\"a } \\\" { \\\\\"},\"seconds\":0.5}";
    s_world_t *w = *state;
    kc_help_create (&w->h, "TASK000A");
    kc_help_lease (&w->h, "p", "b", "r", NULL);
    char json[512];
    snprintf (json, sizeof json,
              "{\"doc\":%s,\"epoch\":1,\"lane\":0,\"round\":0,\"step\":\"code\","
              "\"task\":\"TASK000A\"}",
              doc);
    s_ask (w, "first", "memory.step.append", json);
    s_ask (w, "again", "memory.step.append", json);
    snprintf (json, sizeof json,
              "{\"task\":\"TASK000A\",\"epoch\":1,\"lane\":0,\"round\":0,\"step\":"
              "\"code\",\"doc\":%s}",
              doc);
    s_ask (w, "other order", "memory.step.append", json);
    s_ask (w, "read", "memory.trajectory.get", "{\"task\":\"TASK000A\"}");
    s_work (w);
    assert_non_null (s_of (w, "first")->json);
    assert_non_null (strstr (s_of (w, "again")->json, "\"repeated\":true"));
    assert_non_null (strstr (s_of (w, "other order")->json, "\"repeated\":true"));
    assert_non_null (strstr (s_of (w, "read")->json, doc));
}

static void a_lease_waits_for_a_task_and_is_answered_out_of_order (void **state)
{
    s_world_t *w = *state;
    s_ask (w, "wait", "memory.task.lease",
           "{\"holder\":\"p\",\"boot\":\"b\",\"wait_ms\":20000}");
    s_ask (w, "short", "memory.task.lease",
           "{\"holder\":\"q\",\"boot\":\"b\",\"wait_ms\":50}");
    s_ask (w, "now", "memory.task.lease", "{\"holder\":\"r\",\"boot\":\"b\"}");
    s_work (w);
    assert_non_null (strstr (s_of (w, "now")->json, "\"granted\":false"));
    assert_null (s_of (w, "wait"));
    assert_int_equal (kc_service_parked (w->service), 2);
    w->h.when.now += 100;
    kc_service_tick (w->service, w->h.when.now);
    s_work (w);
    assert_non_null (strstr (s_of (w, "short")->json, "\"granted\":false"));
    assert_null (s_of (w, "wait"));
    // The service sees the task because it was created through it.
    char sha[KC_SHA_HEX], json[512];
    kc_sha256_hex ("", 0, sha);
    snprintf (json, sizeof json, "{\"sha256\":\"%s\",\"size\":0,\"offset\":0}", sha);
    s_ask (w, "blob", "memory.blob.put", json);
    snprintf (json, sizeof json,
              "{\"task\":\"TASK000Z\",\"document\":{\"kind\":\"cuda\",\"name\":\"n\","
              "\"files\":[{\"path\":\"a.cu\","
              "\"sha256\":\"%s\",\"size\":0}]}}",
              sha);
    s_ask (w, "create", "memory.task.create", json);
    s_work (w);
    assert_non_null (strstr (s_of (w, "create")->json, "\"created\":true"));
    assert_non_null (strstr (s_of (w, "wait")->json, "\"granted\":true"));
    assert_true (s_of (w, "wait")->order > s_of (w, "create")->order);
}

static void a_reader_of_events_wakes_only_for_what_it_asked_for (void **state)
{
    s_world_t *w = *state;
    kc_help_create (&w->h, "TASK000A");
    s_ask (w, "lease", "memory.task.lease", "{\"holder\":\"p\",\"boot\":\"b\"}");
    s_work (w);
    s_ask (w, "cancels", "memory.events.read",
           "{\"after\":0,\"kinds\":[\"cancelled\"],\"wait_ms\":20000}");
    s_ask (w, "all", "memory.events.read", "{\"after\":2,\"wait_ms\":20000}");
    s_ask (w, "other", "memory.events.read",
           "{\"after\":2,\"task\":\"NONE\",\"wait_ms\":20000}");
    s_work (w);
    assert_int_equal (s_of (w, "other")->err.code, KC_ENOTFOUND);
    assert_int_equal (kc_service_parked (w->service), 2);
    s_append (w, "a", "TASK000A", 1, 0);
    s_work (w);
    assert_non_null (strstr (s_of (w, "all")->json, "round 0: wrote given program"));
    assert_null (s_of (w, "cancels"));
    s_ask (w, "cancel", "memory.task.cancel", "{\"task\":\"TASK000A\"}");
    s_work (w);
    assert_non_null (strstr (s_of (w, "cancels")->json, "\"kind\":\"cancelled\""));
}

static void only_so_many_may_wait_and_a_given_up_one_is_ended_once (void **state)
{
    s_world_t *w = *state;
    char id[32];
    for (int i = 0; i < KC_SERVICE_PARKED; i++) {
        snprintf (id, sizeof id, "w%d", i);
        s_ask (w, id, "memory.events.read", "{\"wait_ms\":20000}");
    }
    s_work (w);
    assert_int_equal (kc_service_parked (w->service), KC_SERVICE_PARKED);
    s_ask (w, "more", "memory.events.read", "{\"wait_ms\":20000}");
    s_work (w);
    assert_int_equal (s_of (w, "more")->err.code, KC_EBUSY);
    kc_service_cancel (w->service, "w3");
    kc_service_cancel (w->service, "w3");
    assert_int_equal (s_of (w, "w3")->err.code, KC_ECANCELLED);
    kc_service_stop_waiting (w->service, w->h.when.now);
    assert_int_equal (kc_service_parked (w->service), 0);
    assert_int_equal (w->answered, KC_SERVICE_PARKED + 1);
    s_ask (w, "late", "memory.events.read", "{\"wait_ms\":20000}");
    s_work (w);
    assert_non_null (s_of (w, "late")->json);
}

static void a_backup_is_answered_when_it_is_there (void **state)
{
    s_world_t *w = *state;
    kc_help_create (&w->h, "TASK000A");
    char json[256];
    snprintf (json, sizeof json, "{\"path\":\"%s/copy.db\"}", w->h.dir);
    s_ask (w, "b1", "memory.backup", json);
    s_ask (w, "b2", "memory.backup", json);
    s_ask (w, "bad", "memory.backup", "{\"path\":\"relative\"}");
    s_work (w);
    for (int i = 0; i < 200 && !s_of (w, "b1"); i++) {
        w->h.when.now += 100;
        kc_service_tick (w->service, w->h.when.now);
        poll (NULL, 0, 5); // the copy is checked by a thread of its own
    }
    assert_non_null (s_of (w, "b1")->json);
    assert_int_equal (s_of (w, "b2")->err.code, KC_EBUSY);
    assert_non_null (s_of (w, "bad")->err.text);
    assert_null (s_of (w, "bad")->json);
    char *path = kc_fs_join (w->h.dir, "copy.db");
    assert_true (kc_fs_exists (path));
    free (path);
}

static void a_service_that_was_stopped_gives_leases_the_time_it_missed (void **state)
{
    s_world_t *w = *state;
    kc_help_create (&w->h, "TASK000A");
    s_ask (w, "lease", "memory.task.lease", "{\"holder\":\"p\",\"boot\":\"b\"}");
    s_work (w);
    w->h.when.now += 600000; // suspended: the renewals wait in the socket
    kc_service_tick (w->service, w->h.when.now);
    s_ask (w, "renew", "memory.task.renew", "{\"task\":\"TASK000A\",\"epoch\":1}");
    s_work (w);
    assert_non_null (s_of (w, "renew")->json);
    for (int i = 0; i < 310; i++) {
        w->h.when.now += 100;
        kc_service_tick (w->service, w->h.when.now);
    }
    s_ask (w, "renew2", "memory.task.renew", "{\"task\":\"TASK000A\",\"epoch\":1}");
    s_work (w);
    assert_int_equal (s_of (w, "renew2")->err.code, KC_ESTALE);
}

static void a_large_trajectory_is_answered_in_pages_that_fit (void **state)
{
    s_world_t *w = *state;
    kc_help_create (&w->h, "TASK000A");
    int64_t epoch = kc_help_lease (&w->h, "p", "b", "r", NULL);
    for (int round = 0; round < 8; round++) {
        kc_memory_step_doc_t *doc = kc_help_doc_code (NULL, NULL, round);
        char *source = kc_malloc (200001);
        memset (source, 'x', 200000);
        source[200000] = 0;
        free (doc->candidate->program->source);
        doc->candidate->program->source = source;
        assert_int_equal (kc_help_append (&w->h, "TASK000A", epoch, round,
                                          KC_MEMORY_STEP_KIND_CODE, doc, NULL),
                          round + 1);
        kc_memory_step_doc_free (&doc);
    }
    int64_t after = 0, pages = 0;
    for (bool more = true; more; pages++) {
        char id[32], json[128];
        snprintf (id, sizeof id, "t%d", (int)pages);
        snprintf (json, sizeof json, "{\"task\":\"TASK000A\",\"after\":%d}",
                  (int)after);
        s_ask (w, id, "memory.trajectory.get", json);
        s_work (w);
        const char *text = s_of (w, id)->json;
        assert_non_null (text);
        assert_true (strlen (text) <= KC_SERVICE_ANSWER);
        kc_errs_t errs = {0};
        kc_memory_trajectory_get_reply_t *out = kc_memory_trajectory_get_reply_decode (
            text, strlen (text), KC_STRICT, &errs);
        assert_non_null (out);
        after = out->steps[out->n_steps - 1].seq;
        more = out->more;
        kc_memory_trajectory_get_reply_free (&out);
    }
    assert_int_equal (after, 8);
    assert_true (pages > 1);
}

// ---- a disk that lies or fills ----

static int s_setup_fault (void **state)
{
    s_world_t *w = kc_malloc (sizeof *w);
    kc_fault_install ();
    s_begin (w, KC_FAULT_VFS);
    *state = w;
    return 0;
}

static int s_teardown_fault (void **state)
{
    kc_fault_clear ();
    return s_teardown (state);
}

static void no_answer_leaves_before_the_log_is_on_the_disk (void **state)
{
    s_world_t *w = *state;
    kc_help_create (&w->h, "TASK000A");
    s_ask (w, "lease", "memory.task.lease", "{\"holder\":\"p\",\"boot\":\"b\"}");
    s_work (w);
    for (int i = 0; i < 20; i++) {
        char id[40];
        snprintf (id, sizeof id, "a%d", i);
        uint64_t before = kc_fault_syncs ();
        s_append (w, id, "TASK000A", 1, i);
        s_work (w);
        assert_non_null (s_of (w, id)->json);
        assert_true (s_of (w, id)->syncs > before);
        assert_int_equal (kc_fault_unsynced (),
                          0); // nothing the answer rests on is only in a cache
    }
}

// Power is lost at a random write: what was not flushed is dropped or torn.  Every
// append that was answered must be there afterwards.
static void after_a_power_loss_every_answered_append_is_there (void **state)
{
    s_world_t *w = *state;
    unsigned seed = (unsigned)getpid ();
    print_message ("seed %u\n", seed);
    kc_help_create (&w->h, "TASK000A");
    s_ask (w, "lease", "memory.task.lease", "{\"holder\":\"p\",\"boot\":\"b\"}");
    s_work (w);
    int round = 0, acknowledged = -1;
    for (int life = 0; life < 12; life++) {
        seed = seed * 1664525u + 1013904223u;
        kc_fault_power_after ((int)(seed >> 20) % 300 + 1, seed);
        while (!w->broken && round < 10000) {
            char id[40];
            snprintf (id, sizeof id, "a%d.%d", life, round);
            s_append (w, id, "TASK000A", 1, round);
            s_work (w);
            const s_reply_t *r = s_of (w, id);
            if (r && r->json)
                acknowledged = round;
            round++;
        }
        assert_true (w->broken);
        kc_service_destroy (&w->service);
        kc_store_close (&w->h.store);
        kc_fault_power_back ();
        kc_store_config_t config = {.db = {.path = w->h.path, .vfs = KC_FAULT_VFS}};
        w->h.store = kc_store_open (&config, &w->h.when, &w->h.err);
        if (!w->h.store)
            fail_msg ("%s", w->h.err.text);
        int64_t good = 0, rows = 0;
        assert_int_equal (
            kc_db_int (w->h.store->db, &w->h.err, 0, &good,
                       "SELECT integrity_check = 'ok' FROM pragma_integrity_check", ""),
            0);
        assert_int_equal (good, 1);
        assert_int_equal (kc_db_int (w->h.store->db, &w->h.err, 0, &rows,
                                     "SELECT count(*) FROM step", ""),
                          0);
        if (rows < acknowledged + 1)
            fail_msg ("%d answered, %d there", acknowledged + 1, (int)rows);
        round = (int)rows; // the unanswered one may be there or not
        kc_service_out_t out = {s_on_reply, s_on_refuse, s_on_broken, w};
        w->broken = false;
        w->service = kc_service_new (w->h.store, &out, w->h.when.now);
    }
    print_message ("%d appends answered in 12 lives\n", acknowledged + 1);
    assert_true (acknowledged > 10);
}

static void
a_full_disk_stops_the_service_with_a_clear_text_and_answers_nothing (void **state)
{
    s_world_t *w = *state;
    kc_help_create (&w->h, "TASK000A");
    s_ask (w, "lease", "memory.task.lease", "{\"holder\":\"p\",\"boot\":\"b\"}");
    s_work (w);
    kc_fault_full_after (3);
    int round = 0;
    char id[40] = "";
    for (; !w->broken && round < 1000; round++) {
        snprintf (id, sizeof id, "a%d", round);
        s_append (w, id, "TASK000A", 1, round);
        s_work (w);
    }
    assert_true (w->broken);
    assert_null (s_of (w, id));
    assert_non_null (strstr (w->why.text, "memory.db"));
    assert_non_null (strstr (w->why.text, "space"));
    s_ask (w, "after", "memory.stats", "{}");
    assert_false (kc_service_work (w->service, w->h.when.now));
    assert_null (s_of (w, "after"));
    kc_fault_clear ();
}

int main (void)
{
    kc_log_level (KC_ERROR + 1);
#define T(f) cmocka_unit_test_setup_teardown (f, s_setup, s_teardown)
#define F(f) cmocka_unit_test_setup_teardown (f, s_setup_fault, s_teardown_fault)
    const struct CMUnitTest tests[] = {
        T (every_operation_listed_is_in_the_table_and_the_other_way_round),
        T (a_batch_answers_good_ones_and_refuses_bad_ones_without_a_trace),
        T (a_document_is_stored_as_it_was_sent_in_either_order_of_keys),
        T (a_lease_waits_for_a_task_and_is_answered_out_of_order),
        T (a_reader_of_events_wakes_only_for_what_it_asked_for),
        T (only_so_many_may_wait_and_a_given_up_one_is_ended_once),
        T (a_backup_is_answered_when_it_is_there),
        T (a_service_that_was_stopped_gives_leases_the_time_it_missed),
        T (a_large_trajectory_is_answered_in_pages_that_fit),
        F (no_answer_leaves_before_the_log_is_on_the_disk),
        F (after_a_power_loss_every_answered_append_is_there),
        F (a_full_disk_stops_the_service_with_a_clear_text_and_answers_nothing),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
