/* test_daemon.c - kc-evaluator over the real bus: broker, memory and evaluator as
 * processes, this test as planner
 *
 * A task's file goes into the memory service as a blob; the evaluator fetches it,
 * inspects the task and evaluates programs; a request is cancelled while its kernel
 * loops.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/model/kc_program_text.h"
#include "common/msg/gen/evaluator.h"
#include "common/msg/gen/memory.h"
#include "common/net/kc_node.h"
#include "common/util/kc_clock.h"
#include "common/util/kc_fs.h"
#include "common/util/kc_hash.h"
#include "common/util/kc_mem.h"
#include "common/util/kc_spawn.h"

enum { DAEMONS = 3, READY_MS = 60000, CALL_MS = 120000 };

typedef struct world {
    char dir[64];
    char *bin;
    kc_child_t daemons[DAEMONS];
    kc_loop_t *loop;
    kc_node_t *node;
    kc_card_t *card; // of the task, inspected once
} world_t;

static const char s_task[] =
    "//@ task scale ; y = 2 x\n//@ dim N = 5000\n//@ input x f32[N] fill=normal(0, "
    "1)\n//@ output y f32[N]\n//@ check N=33\n"
    "//@ tune BLOCK in 64 128 256 for Launch_Tuning\n"
    "//@ launch scale<<<cdiv(N, BLOCK), BLOCK>>>\n"
    "extern \"C\" __global__ void scale(const float *x, float *y, int N)\n{\n"
    "    int i = blockIdx.x * BLOCK + threadIdx.x;\n    if (i < N) y[i] = 2.f * "
    "x[i];\n}\n";

// ---- daemons ----

static void s_daemon (world_t *w, int which, const char *name, const char *const *more)
{
    int ready[2];
    kc_err_t err = {0};
    char *path = kc_fs_join (w->bin, name), *run = kc_asprintf ("--run=%s/run", w->dir),
         *data = kc_asprintf ("--data=%s/data", w->dir),
         *cache = kc_asprintf ("--cache=%s/cache", w->dir), byte;
    const char *argv[16] = {
        name, run, data, cache, "--notify-fd=3", "--log-level=warn"};
    for (size_t n = 6; more && *more; n++)
        argv[n] = *more++;
    assert_int_equal (kc_pipe (ready, &err), 0);
    const kc_spawn_fd_t fds[] = {{ready[1], 3}, {2, 2}};
    char *home = kc_asprintf ("HOME=%s", w->dir),
         *cuda = getenv ("CUDA_HOME")
                     ? kc_asprintf ("CUDA_HOME=%s", getenv ("CUDA_HOME"))
                     : NULL;
    const char *const envp[] = {"PATH=/usr/bin:/bin", home, cuda, NULL};
    const kc_spawn_t spec = {
        .path = path, .argv = argv, .envp = envp, .fds = fds, .n_fds = 2};
    assert_int_equal (kc_spawn (&spec, &w->daemons[which], &err), 0);
    close (ready[1]);
    if (kc_fd_read (ready[0], &byte, 1, kc_clock_ms () + READY_MS, &err) < 0) {
        print_error ("%s is not ready: %s\n", name, err.text);
        fail ();
    }
    close (ready[0]);
    free (path);
    free (run);
    free (data);
    free (cache);
    free (home);
    free (cuda);
}

static int s_open (void **state)
{
    world_t *w = kc_calloc (1, sizeof *w);
    kc_err_t err = {0};
    *state = w;
    (void)snprintf (w->dir, sizeof w->dir, "/tmp/kc-eval-test-XXXXXX");
    if (!mkdtemp (w->dir))
        return -1;
    char *dir = kc_fs_program_dir ();
    w->bin = kc_fs_join (dir, "../bin");
    free (dir);
    s_daemon (w, 0, "kc-broker", NULL);
    static const char *const experts[] = {"--experts=memory/experts", NULL};
    s_daemon (w, 1, "kc-memory", experts);
    static const char *const vgpu[] = {"--backend=vgpu", NULL};
    s_daemon (w, 2, "kc-evaluator", vgpu);
    w->loop = kc_loop_new (&err);
    char *run = kc_asprintf ("%s/run", w->dir);
    const kc_node_config_t config = {.loop = w->loop,
                                     .run_dir = run,
                                     .instance = "planner-test@here",
                                     .role = "planner",
                                     .give_up_ms = READY_MS};
    w->node = kc_node_new (&config, &err);
    free (run);
    return w->node ? 0 : -1;
}

static int s_close (void **state)
{
    world_t *w = *state;
    kc_card_free (&w->card);
    kc_node_destroy (&w->node);
    kc_loop_destroy (&w->loop);
    for (int i = DAEMONS - 1; i >= 0; i--) {
        kc_exit_t end = {0};
        kc_child_kill (&w->daemons[i], SIGTERM);
        if (w->daemons[i].pid && kc_child_wait (&w->daemons[i], 10000, &end, NULL) == 1)
            assert_true (!end.signalled
                         && end.code == 0); // an orderly stop, sanitizers included
        kc_child_destroy (&w->daemons[i]);
    }
    kc_fs_remove_tree (w->dir, NULL);
    free (w->bin);
    free (w);
    return 0;
}

// ---- calls ----

static void *s_call (world_t *w, const char *op, const kc_type_t *in_type,
                     const void *in, const void *chunk, size_t chunk_size,
                     const kc_type_t *out_type, kc_err_t *err)
{
    size_t size;
    char *payload = kc_type_encode (in_type, in, &size, NULL);
    assert_non_null (payload);
    const kc_call_t call = {.op = op,
                            .flow = "task",
                            .ttl_ms = CALL_MS,
                            .payload = payload,
                            .payload_size = size,
                            .chunk = chunk,
                            .chunk_size = chunk_size,
                            .retry_busy = true};
    kc_answer_t answer = {0};
    void *out = NULL;
    if (kc_node_call_wait (w->node, &call, &answer, err) == 0) {
        kc_errs_t errs = {0};
        out = kc_type_decode (out_type, answer.payload, answer.payload_size, KC_WIRE,
                              &errs);
        assert_non_null (out);
        kc_answer_free (&answer);
    }
    free (payload);
    return out;
}

static void s_put (world_t *w, const char *text, char hex[KC_SHA_HEX])
{
    kc_err_t err = {0};
    kc_sha256_hex (text, strlen (text), hex);
    kc_memory_blob_put_t *put = kc_memory_blob_put_new ();
    kc_set (&put->sha256, hex);
    put->size = (int64_t)strlen (text);
    kc_memory_blob_put_reply_t *r =
        s_call (w, "memory.blob.put", &kc_memory_blob_put_type, put, text,
                strlen (text), &kc_memory_blob_put_reply_type, &err);
    if (!r)
        print_error ("%s\n", err.text);
    assert_non_null (r);
    assert_true (r->complete);
    kc_memory_blob_put_reply_free (&r);
    kc_memory_blob_put_free (&put);
}

static kc_evaluator_inspect_reply_t *s_inspect (world_t *w, const char *text,
                                                const char *digest, kc_err_t *err)
{
    char hex[KC_SHA_HEX];
    s_put (w, text, hex);
    kc_evaluator_inspect_t *r = kc_evaluator_inspect_new ();
    kc_set (&r->task, "01TASK");
    r->document = kc_task_new ();
    r->document->kind = KC_TASK_KIND_CUDA;
    kc_set (&r->document->name, "scale");
    kc_task_file_t *f = kc_push (&r->document->files, &r->document->n_files, sizeof *f);
    kc_type_init (&kc_task_file_type, f);
    kc_set (&f->path, "scale.cu");
    kc_set (&f->sha256, digest ? digest : hex);
    f->size = (int64_t)strlen (text);
    kc_evaluator_inspect_reply_t *reply =
        s_call (w, "evaluator.inspect", &kc_evaluator_inspect_type, r, NULL, 0,
                &kc_evaluator_inspect_reply_type, err);
    kc_evaluator_inspect_free (&r);
    return reply;
}

static kc_evaluator_evaluate_t *s_request (world_t *w, const char *text)
{
    kc_evaluator_evaluate_t *r = kc_evaluator_evaluate_new ();
    kc_set (&r->task, "01TASK");
    r->card = kc_card_dup (w->card);
    if (text) {
        kc_program_text_t *parsed =
            kc_program_text_parse (text, strlen (text), w->card, NULL);
        assert_non_null (parsed);
        r->program = kc_program_dup (parsed->program);
        kc_program_text_destroy (&parsed);
    }
    else
        r->program = kc_program_dup (w->card->seed);
    kc_evaluator_yardstick_t *y = kc_push (&r->yardsticks, &r->n_yardsticks, sizeof *y);
    kc_type_init (&kc_evaluator_yardstick_type, y);
    y->over = KC_EVALUATOR_YARDSTICK_OVER_BASELINE;
    y->program = kc_program_dup (w->card->seed);
    return r;
}

static kc_verdict_t *s_evaluate (world_t *w, const char *text)
{
    kc_err_t err = {0};
    kc_evaluator_evaluate_t *r = s_request (w, text);
    kc_evaluator_evaluate_reply_t *reply =
        s_call (w, "evaluator.evaluate", &kc_evaluator_evaluate_type, r, NULL, 0,
                &kc_evaluator_evaluate_reply_type, &err);
    if (!reply)
        print_error ("%s\n", err.text);
    assert_non_null (reply);
    kc_verdict_t *v = kc_verdict_dup (reply->verdict);
    kc_evaluator_evaluate_reply_free (&reply);
    kc_evaluator_evaluate_free (&r);
    return v;
}

// ---- tests ----

static void a_submitted_file_becomes_a_card (void **state)
{
    world_t *w = *state;
    kc_err_t err = {0};
    kc_evaluator_inspect_reply_t *r = s_inspect (w, s_task, NULL, &err);
    if (!r)
        print_error ("%s\n", err.text);
    assert_non_null (r);
    assert_non_null (r->card);
    assert_int_equal (r->card->device->backend, KC_CARD_DEVICE_BACKEND_VGPU);
    assert_int_equal (r->card->reference, KC_CARD_REFERENCE_SEED_FP64);
    assert_int_equal (r->card->n_tunables, 1);
    w->card = kc_card_dup (r->card);
    kc_evaluator_inspect_reply_free (&r);
}

static void a_file_that_is_not_there_or_not_a_task_is_told (void **state)
{
    world_t *w = *state;
    kc_err_t err = {0};
    char other[KC_SHA_HEX];
    kc_sha256_hex ("nothing", 7, other);
    assert_null (s_inspect (w, s_task, other, &err));
    assert_int_equal (err.code, KC_ENOTFOUND);
    kc_evaluator_inspect_reply_t *r =
        s_inspect (w, "//@ task t ; broken\n//@ dim N = \n", NULL, &err);
    assert_non_null (r);
    assert_null (r->card);
    assert_true (r->n_refused > 0 && strstr (r->refused[0], "line 2"));
    kc_evaluator_inspect_reply_free (&r);
}

static void the_given_kernel_and_a_broken_one_get_their_verdicts (void **state)
{
    world_t *w = *state;
    assert_non_null (w->card);
    kc_verdict_t *v = s_evaluate (w, NULL);
    assert_int_equal (v->status, KC_VERDICT_STATUS_OK);
    assert_int_equal (v->ratios[0].comparison, KC_VERDICT_RATIO_COMPARISON_SAME);
    kc_verdict_free (&v);
    v = s_evaluate (w, "//@ launch k<<<cdiv(N, 64), 64>>>\nextern \"C\" __global__ "
                       "void k(const float *x, float *y, int N) { int i = blockIdx.x * "
                       "64 + threadIdx.x; y[i] = 2.f * x[i < N ? i : 0]; }\n");
    assert_int_equal (v->status, KC_VERDICT_STATUS_OUT_OF_BOUNDS);
    assert_true (v->findings[0].has_line && v->findings[0].line == 2);
    kc_verdict_free (&v);
}

typedef struct late {
    int answers;
    kc_code_t code;
} late_t;

static void s_on_answer (void *arg, kc_node_t *node, const kc_answer_t *answer)
{
    (void)node;
    late_t *l = arg;
    l->answers++;
    l->code = answer->code;
}

// How many kc-runner processes run below our evaluator.
static int s_runners (const world_t *w)
{
    int n = 0;
    DIR *proc = opendir ("/proc");
    for (struct dirent *e = readdir (proc); e; e = readdir (proc)) {
        char path[300], text[512] = {0};
        (void)snprintf (path, sizeof path, "/proc/%s/stat", e->d_name);
        char *stat = kc_fs_read (path, 4096, NULL, NULL);
        int parent = 0;
        if (stat && sscanf (stat, "%*d (%400[^)]) %*c %d", text, &parent) == 2
            && strcmp (text, "kc-runner") == 0 && parent == w->daemons[2].pid)
            n++;
        free (stat);
    }
    closedir (proc);
    return n;
}

static void
a_cancelled_evaluation_ends_within_a_second_and_leaves_no_process (void **state)
{
    world_t *w = *state;
    assert_non_null (w->card);
    kc_evaluator_evaluate_t *r =
        s_request (w, "//@ launch k<<<cdiv(N, 64), 64>>>\nextern \"C\" __global__ void "
                      "k(const float *x, float *y, int N)\n{\n"
                      "    float a = 1.f;\n    while (a > 0.f) a = a * 0.5f + x[0] * "
                      "x[0] + 1e-3f;\n    y[0] = a;\n}\n");
    size_t size;
    kc_err_t err = {0};
    char *payload = kc_type_encode (&kc_evaluator_evaluate_type, r, &size, NULL);
    late_t late = {0};
    const kc_call_t call = {.id = "t.1.0.evaluate.0",
                            .op = "evaluator.evaluate",
                            .flow = "task",
                            .ttl_ms = CALL_MS,
                            .payload = payload,
                            .payload_size = size};
    assert_int_equal (kc_node_call (w->node, &call, s_on_answer, &late, &err), 0);
    for (int64_t end = kc_clock_ms () + 20000;
         kc_clock_ms () < end && s_runners (w) == 0;)
        assert_int_equal (kc_loop_turn (w->loop, 20, NULL), 0);
    for (int64_t end = kc_clock_ms () + 150; kc_clock_ms () < end;)
        assert_int_equal (kc_loop_turn (w->loop, 20, NULL), 0);
    const int64_t start = kc_clock_ms ();
    kc_node_cancel (w->node, "t.1.0.evaluate.0");
    while (late.answers == 0 && kc_clock_ms () - start < 10000)
        assert_int_equal (kc_loop_turn (w->loop, 20, NULL), 0);
    assert_int_equal (late.answers, 1);
    assert_int_equal (late.code, KC_ECANCELLED);
    assert_true (kc_clock_ms () - start < 1500);
    for (int64_t end = kc_clock_ms () + 1000;
         kc_clock_ms () < end && s_runners (w) > 0;)
        assert_int_equal (kc_loop_turn (w->loop, 20, NULL), 0);
    assert_int_equal (s_runners (w), 0);
    free (payload);
    kc_evaluator_evaluate_free (&r);
    kc_verdict_t *v = s_evaluate (w, NULL); // and the next one is served
    assert_int_equal (v->status, KC_VERDICT_STATUS_OK);
    kc_verdict_free (&v);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (a_submitted_file_becomes_a_card),
        cmocka_unit_test (a_file_that_is_not_there_or_not_a_task_is_told),
        cmocka_unit_test (the_given_kernel_and_a_broken_one_get_their_verdicts),
        cmocka_unit_test (
            a_cancelled_evaluation_ends_within_a_second_and_leaves_no_process),
    };
    return cmocka_run_group_tests (tests, s_open, s_close);
}
