// Tests of the daemon's side of a runner, against a runner that misbehaves on demand.

#include "judge_test.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agents/gpu/runner/kc_frame.h"
#include "agents/gpu/runner/kc_run.h"
#include "common/util/kc_clock.h"
#include "common/util/kc_fs.h"
#include "common/util/kc_mem.h"

typedef struct seen {
    kc_run_outcome_t outcome;
    char text[512], output[512];
    int64_t ms;
    int ends, outputs, rans;
    size_t bytes;
    bool wrong_byte;
    int64_t key;
} seen_t;

static int s_record (void *arg, const kc_runner_record_t *r, kc_err_t *err)
{
    (void)err;
    seen_t *s = arg;
    s->outputs += r->kind == KC_RUNNER_RECORD_KIND_OUTPUT;
    s->rans += r->kind == KC_RUNNER_RECORD_KIND_RAN;
    if (r->kind == KC_RUNNER_RECORD_KIND_OUTPUT)
        s->key = r->key;
    return 0;
}

static int s_data (void *arg, const void *data, size_t size, kc_err_t *err)
{
    (void)err;
    seen_t *s = arg;
    for (size_t i = 0; i < size; i++)
        if (((const char *)data)[i] != (char)((s->bytes + i) * 7))
            s->wrong_byte = true;
    s->bytes += size;
    return 0;
}

static void s_ended (void *arg, const kc_run_end_t *end)
{
    seen_t *s = arg;
    s->outcome = end->outcome;
    s->ms = end->ms;
    strncpy (s->text, end->text, sizeof s->text - 1);
    strncpy (s->output, end->output, sizeof s->output - 1);
    s->ends++;
}

static char *s_fake (void)
{
    char *dir = kc_fs_program_dir ();
    char *path = kc_fs_join (dir, "fake_runner");
    free (dir);
    return path;
}

static kc_run_t *s_start (kc_loop_t *loop, const char *what, size_t binary,
                          int64_t wall_ms, seen_t *seen)
{
    char *path = s_fake (), *data = kc_calloc (1, binary + 1);
    memset (data, 1, binary);
    kc_runner_job_t *job = kc_runner_job_new ();
    job->backend = KC_RUNNER_JOB_BACKEND_VGPU;
    kc_set (&job->gpu, what);
    if (binary > 0) {
        kc_runner_binary_t *b = kc_push (&job->binaries, &job->n_binaries, sizeof *b);
        kc_type_init (&kc_runner_binary_type, b);
        b->size = (int64_t)binary;
        b->ptx = true;
    }
    const void *const binaries[1] = {data};
    const kc_run_spec_t spec = {.runner = path,
                                .mode = "evaluate",
                                .job = job,
                                .binaries = binaries,
                                .lock_fd = -1,
                                .wall_ms = wall_ms,
                                .on_record = s_record,
                                .on_data = s_data,
                                .on_end = s_ended,
                                .arg = seen};
    kc_err_t err = {0};
    kc_run_t *run = kc_run_start (loop, &spec, &err);
    if (!run)
        print_error ("%s\n", err.text);
    assert_non_null (run);
    // the job is the runner's now, the binaries are ours until the end
    kc_runner_job_free (&job);
    free (path);
    while (binary > 0 && seen->ends == 0)
        assert_int_equal (kc_loop_turn (loop, 100, NULL), 0);
    free (data);
    return run;
}

static seen_t s_whole (const char *what, size_t binary, int64_t wall_ms)
{
    seen_t seen = {0};
    kc_loop_t *loop = kc_loop_new (NULL);
    s_start (loop, what, binary, wall_ms, &seen);
    while (seen.ends == 0)
        assert_int_equal (kc_loop_turn (loop, 100, NULL), 0);
    kc_loop_destroy (&loop);
    assert_int_equal (seen.ends, 1);
    return seen;
}

static void a_good_run_delivers_every_byte_in_order_and_ends_once (void **state)
{
    (void)state;
    const seen_t s = s_whole ("good", 3000000, 20000);
    assert_int_equal (s.outcome, KC_RUN_DONE);
    assert_int_equal (s.outputs, 1);
    assert_int_equal (s.rans, 1);
    assert_int_equal (s.bytes, 600000);
    assert_false (s.wrong_byte);
    assert_int_equal (s.key, 3000000);           // the binary arrived whole
    assert_non_null (strstr (s.output, "x=0x")); // prints go elsewhere and do no harm
}

static void a_hanging_runner_is_killed_at_its_wall_limit (void **state)
{
    (void)state;
    static const char *const how[] = {"hang", "deaf"};
    for (size_t i = 0; i < 2; i++) {
        const seen_t s = s_whole (how[i], 2000000, 400);
        assert_int_equal (s.outcome, KC_RUN_TIMEOUT);
        assert_true (s.ms >= 400 && s.ms < 3000);
    }
}

static void a_crash_is_told_with_its_signal_or_status (void **state)
{
    (void)state;
    const seen_t a = s_whole ("segv", 0, 20000);
    assert_int_equal (a.outcome, KC_RUN_CRASHED);
    const seen_t b = s_whole ("exit", 0, 20000);
    assert_int_equal (b.outcome, KC_RUN_CRASHED);
    assert_non_null (strstr (b.text, "status 3"));
}

static void bytes_that_are_no_records_are_never_believed (void **state)
{
    (void)state;
    static const char *const how[] = {"garbage", "lie", "late"};
    for (size_t i = 0; i < 3; i++) {
        const seen_t s = s_whole (how[i], 0, 20000);
        assert_int_equal (s.outcome, KC_RUN_PROTOCOL);
    }
}

static void a_finished_runner_that_does_not_leave_is_removed (void **state)
{
    (void)state;
    const seen_t s = s_whole ("linger", 0, 60000);
    assert_int_equal (s.outcome, KC_RUN_DONE);
    assert_true (s.ms < 10000);
}

static void a_cancelled_run_is_gone_within_a_second_without_a_word (void **state)
{
    (void)state;
    seen_t seen = {0};
    kc_loop_t *loop = kc_loop_new (NULL);
    kc_run_t *run = s_start (loop, "hang", 0, 60000, &seen);
    for (int i = 0; i < 5; i++)
        assert_int_equal (kc_loop_turn (loop, 20, NULL), 0);
    const int64_t start = kc_clock_ms ();
    kc_run_cancel (&run);
    assert_null (run);
    assert_true (kc_clock_ms () - start < 1000);
    for (int i = 0; i < 5; i++)
        assert_int_equal (kc_loop_turn (loop, 10, NULL), 0);
    assert_int_equal (seen.ends, 0);
    kc_run_cancel (&run); // NULL is fine
    kc_loop_destroy (&loop);
}

static void a_runner_that_is_not_there_is_told_at_the_start_or_as_a_crash (void **state)
{
    (void)state;
    kc_loop_t *loop = kc_loop_new (NULL);
    seen_t seen = {0};
    kc_runner_job_t *job = kc_runner_job_new ();
    job->backend = KC_RUNNER_JOB_BACKEND_VGPU;
    const kc_run_spec_t spec = {.runner = "/nonexistent/kc-runner",
                                .mode = "evaluate",
                                .job = job,
                                .lock_fd = -1,
                                .wall_ms = 5000,
                                .on_end = s_ended,
                                .arg = &seen};
    kc_err_t err = {0};
    kc_run_t *run = kc_run_start (loop, &spec, &err);
    kc_runner_job_free (&job);
    if (run)
        while (seen.ends == 0)
            assert_int_equal (kc_loop_turn (loop, 100, NULL), 0);
    else
        assert_true (err.text[0] != '\0');
    assert_true (!run || seen.outcome == KC_RUN_CRASHED);
    kc_loop_destroy (&loop);
}

typedef struct feed {
    char text[4096];
    size_t n, documents;
} feed_t;

static int s_feed_json (void *arg, const char *json, size_t size, kc_err_t *err)
{
    (void)err;
    feed_t *f = arg;
    memcpy (f->text + f->n, json, size);
    f->n += size;
    f->text[f->n++] = '|';
    f->documents++;
    return 0;
}

static int s_feed_data (void *arg, const void *data, size_t size, kc_err_t *err)
{
    (void)err;
    feed_t *f = arg;
    memcpy (f->text + f->n, data, size);
    f->n += size;
    return 0;
}

static void frames_are_the_same_however_they_are_cut (void **state)
{
    (void)state;
    unsigned char wire[400];
    size_t n = 0;
    static const char *const parts[] = {"{\"kind\":\"ran\"}", "abcdefghij", "", "{}"};
    static const kc_frame_type_t types[] = {KC_FRAME_JSON, KC_FRAME_DATA, KC_FRAME_DATA,
                                            KC_FRAME_JSON};
    for (size_t i = 0; i < KC_COUNT (parts); i++) {
        kc_frame_put (wire + n, types[i], strlen (parts[i]));
        n += KC_FRAME_HEADER;
        memcpy (wire + n, parts[i], strlen (parts[i]));
        n += strlen (parts[i]);
    }
    for (size_t piece = 1; piece <= n; piece++) {
        feed_t f = {.n = 0};
        kc_frame_reader_t r = {
            .arg = &f, .on_json = s_feed_json, .on_data = s_feed_data};
        for (size_t at = 0; at < n; at += piece)
            assert_int_equal (
                kc_frame_feed (&r, wire + at, n - at < piece ? n - at : piece, NULL),
                0);
        assert_int_equal (f.documents, 2);
        assert_int_equal (f.n, 14 + 1 + 10 + 2 + 1);
        assert_memory_equal (f.text, "{\"kind\":\"ran\"}|abcdefghij{}|", f.n);
        kc_frame_reader_free (&r);
    }
}

static void a_frame_of_another_kind_or_size_is_refused (void **state)
{
    (void)state;
    unsigned char header[KC_FRAME_HEADER];
    kc_frame_t f;
    kc_frame_put (header, KC_FRAME_JSON, KC_FRAME_JSON_MAX);
    assert_int_equal (kc_frame_get (header, &f, NULL), 0);
    kc_frame_put (header, KC_FRAME_JSON, (uint64_t)KC_FRAME_JSON_MAX + 1);
    assert_int_equal (kc_frame_get (header, &f, NULL), -1);
    kc_frame_put (header, KC_FRAME_DATA, UINT64_MAX);
    assert_int_equal (kc_frame_get (header, &f, NULL), -1);
    kc_frame_put (header, KC_FRAME_DATA, 1);
    header[4] = 9;
    assert_int_equal (kc_frame_get (header, &f, NULL), -1);
    header[4] = 1;
    header[0] = 'X';
    assert_int_equal (kc_frame_get (header, &f, NULL), -1);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (a_good_run_delivers_every_byte_in_order_and_ends_once),
        cmocka_unit_test (a_hanging_runner_is_killed_at_its_wall_limit),
        cmocka_unit_test (a_crash_is_told_with_its_signal_or_status),
        cmocka_unit_test (bytes_that_are_no_records_are_never_believed),
        cmocka_unit_test (a_finished_runner_that_does_not_leave_is_removed),
        cmocka_unit_test (a_cancelled_run_is_gone_within_a_second_without_a_word),
        cmocka_unit_test (
            a_runner_that_is_not_there_is_told_at_the_start_or_as_a_crash),
        cmocka_unit_test (frames_are_the_same_however_they_are_cut),
        cmocka_unit_test (a_frame_of_another_kind_or_size_is_refused),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
