/* bench_memory.c - durable step.append and method.match of a real kc-memory behind a
 * real broker
 *
 *   bench_memory ROUNDS APPENDS MATCHES WINDOW [SOURCE.cu]
 *
 * First ROUNDS rounds (a candidate and its verdict each) are stored in the file,
 * without a network. Then broker, kc-memory and this generator run as three processes.
 * Appends: WINDOW open ones over eight leased tasks, the five steps of a round in turn
 * with documents of the size they have in a real run, synchronous=FULL.  Matches: one
 * at a time, the time from call to answer in this process.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/msg/gen/memory.h"
#include "common/util/kc_buf.h"
#include "common/util/kc_clock.h"
#include "common/util/kc_fs.h"
#include "common/util/kc_hash.h"
#include "common/util/kc_log.h"
#include "common/util/kc_mem.h"
#include "memory/store/kc_store.h"
#include "tests/system/memory/mem_fleet.h"

enum { TASKS = 8, KINDS = 5, WINDOW_MAX = 1024, FILL_TASKS = 100 };

static const char *const s_kinds[KINDS] = {"code", "evaluate", "profile", "match",
                                           "plan"};

typedef struct bench bench_t;

typedef struct slot {
    bench_t *bench;
    int64_t sent_ns;
} slot_t;

struct bench {
    mem_fleet_t fleet;
    kc_loop_t *loop;
    kc_node_t *node;
    char task[TASKS][KC_ULID];
    char *doc[KINDS]; // the document of a step; "@ROUND@" in it becomes the round
    long long appends, sent, done, bytes;
    int64_t *us;
    slot_t slots[WINDOW_MAX];
};

static void s_die (const char *what, const char *text)
{
    (void)fprintf (stderr, "bench_memory: %s: %s\n", what, text);
    exit (1);
}

static int s_compare (const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static double s_ms (int64_t *us, long long n, double share)
{
    qsort (us, (size_t)n, sizeof *us, s_compare);
    long long at = (long long)(share * (double)(n - 1));
    return n > 0 ? (double)us[at] / 1000 : 0;
}

// ---- documents ----

static char *s_program (const char *source, const char *mark)
{
    kc_buf_t b = {0};
    kc_buf_puts (&b, "{\"format\":1,\"language\":\"cuda\",\"source\":\"");
    kc_buf_json (&b, source, strlen (source));
    kc_buf_printf (&b,
                   "// "
                   "%s\",\"constants\":[{\"name\":\"VEC\",\"value\":\"4\"},{\"name\":"
                   "\"BLOCK\",\"value\":\"256\"}],"
                   "\"blocks\":[{\"steps\":[{\"op\":\"kernel\",\"kernel\":\"softmax\","
                   "\"grid\":[\"B\"],\"block\":[\"BLOCK\"]}]}]}",
                   mark);
    return kc_buf_take (&b);
}

static char *s_code (const char *source, const char *mark, const char *parent)
{
    char *program = s_program (source, mark);
    char *doc = kc_asprintf (
        "{\"seconds\":0.01,\"worker\":\"coder-1@host\",\"candidate\":{\"writer\":"
        "\"expert\","
        "\"method\":\"Vectorization_Refinement\",\"parent\":\"%s\",\"changes\":[{"
        "\"name\":\"VEC\","
        "\"from\":\"1\",\"to\":\"4\"}],\"note\":\"wider accesses\",\"program\":%s}}",
        parent, program);
    free (program);
    return doc;
}

static char *s_evaluate (void)
{
    return kc_strdup (
        "{\"seconds\":0.9,\"worker\":\"evaluator-1@host\",\"verdict\":{\"status\":"
        "\"OK\",\"judge_version\":1,"
        "\"labels\":[\"estimate\"],\"checked\":{\"cases\":12,\"runs\":24,\"shapes\":4,"
        "\"reference\":\"seed_fp64\","
        "\"max_scaled\":0.12,\"max_abs\":1.1e-6,\"rms_relative\":2.2e-7},\"timings\":[{"
        "\"who\":\"candidate\","
        "\"median_us\":41.2,\"lo_us\":41.0,\"hi_us\":41.4,\"mean_us\":41.3,\"stdev_"
        "us\":0.2,\"min_us\":40.8,"
        "\"q1_us\":41.1,\"q3_us\":41.3,\"n\":200},{\"who\":\"baseline\",\"median_us\":"
        "88.1,\"lo_us\":87.9,\"hi_us\":88.3,"
        "\"mean_us\":88.2,\"stdev_us\":0.3,\"min_us\":87.5,\"q1_us\":88.0,\"q3_us\":88."
        "2,\"n\":200},{\"who\":\"base\","
        "\"median_us\":54.0,\"lo_us\":53.8,\"hi_us\":54.1,\"mean_us\":54.0,\"stdev_"
        "us\":0.2,\"min_us\":53.5,\"q1_us\":53.9,"
        "\"q3_us\":54.1,\"n\":200}],\"ratios\":[{\"over\":\"baseline\",\"speedup\":2."
        "14,\"lo\":2.12,\"hi\":2.15,"
        "\"comparison\":\"FASTER\"},{\"over\":\"base\",\"speedup\":1.31,\"lo\":1.30,"
        "\"hi\":1.32,\"comparison\":\"FASTER\"}],"
        "\"floor_share\":0.41,\"kernels\":[{\"name\":\"softmax\",\"registers\":40,"
        "\"shared_bytes\":1024,\"local_bytes\":0,"
        "\"spill_bytes\":0}],\"code_hash\":\"round "
        "@ROUND@\",\"seconds\":{\"total\":0.9,\"compile\":0.1,\"check\":0.5,"
        "\"time\":0.3}}}");
}

// Evidence of a row softmax as a profiler gives it: every field of the vocabulary, two
// steps.  Shares that are not listed here are low, counts are in the middle of what is
// plausible.
static char *s_evidence (void)
{
    static const struct {
        const char *field;
        double value;
    } known[] = {{"launches", 1},
                 {"grid_blocks", 2048},
                 {"block_threads", 256},
                 {"registers", 34},
                 {"shared_bytes", 1024},
                 {"stack_bytes", 0},
                 {"occupancy_limit", 1},
                 {"waves", 1.94},
                 {"tail_idle", 0.06},
                 {"time_us", 20.6},
                 {"time_share", 0.5},
                 {"floor_us", 8.4},
                 {"floor_share", 0.41},
                 {"dram_share", 0.42},
                 {"traffic_ratio", 1.02},
                 {"l2_share", 0.31},
                 {"l2_hit", 0.48},
                 {"l1_hit", 0.33},
                 {"ld_sectors_per_request", 4},
                 {"ld_efficiency", 1},
                 {"st_efficiency", 1},
                 {"ld_width_bytes", 4},
                 {"bytes_in_flight_sm", 14000},
                 {"local_bytes", 0},
                 {"bank_conflict_share", 0},
                 {"active_lanes", 0.99},
                 {"predicated_lanes", 0.97},
                 {"divergent_branches", 0.01},
                 {"occupancy", 0.86},
                 {"stall_memory", 0.52},
                 {"stall_sync", 0.14},
                 {"code_shared_loads", 4},
                 {"code_mma", 0},
                 {"code_transcendentals", 2},
                 {"code_divisions", 1},
                 {"code_shuffles", 0},
                 {"code_atomics", 0},
                 {"code_local_accesses", 0},
                 {"atomic_sectors", 0}};
    kc_buf_t b = {0};
    kc_buf_puts (&b, "{\"format\":1,\"backend\":\"cuda\",\"code_hash\":\"round "
                     "@ROUND@\",\"total_us\":41.2,\"floor_us\":17,"
                     "\"floor_share\":0.41,\"passes\":11,\"device\":{\"backend\":"
                     "\"cuda\",\"gpu\":\"NVIDIA H200\",\"sm\":90,"
                     "\"sms\":132,\"l2_bytes\":52428800},\"steps\":[");
    for (int s = 0; s < 2; s++) {
        kc_buf_printf (&b,
                       "%s{\"step\":%d,\"kernel\":\"softmax_%d\",\"structure\":\"row_"
                       "reduce\",\"structure_why\":"
                       "\"a loop whose result is combined over the "
                       "lanes\",\"occupancy_limiter\":\"warps\"",
                       s ? "," : "", s, s);
        for (size_t i = 0; i < kc_evidence_step_type.n_fields; i++) {
            const kc_field_t *f = &kc_evidence_step_type.fields[i];
            if (f->base != KC_BASE_NUMBER)
                continue;
            double value = f->hi > 1 ? f->lo + (f->hi - f->lo) * 0.37123 : 0.11213;
            for (size_t k = 0; k < KC_COUNT (known); k++)
                if (strcmp (known[k].field, f->name) == 0)
                    value = known[k].value;
            kc_buf_printf (&b, ",\"%s\":%.6g", f->name, value);
        }
        kc_buf_puts (&b, "}");
    }
    kc_buf_puts (&b, "]}");
    return kc_buf_take (&b);
}

static char *s_replace (const char *text, long long round)
{
    static const char mark[] = "@ROUND@";
    kc_buf_t b = {0};
    for (const char *at; (at = strstr (text, mark)) != NULL;
         text = at + sizeof mark - 1) {
        kc_buf_put (&b, text, (size_t)(at - text));
        kc_buf_printf (&b, "%lld", round);
    }
    kc_buf_puts (&b, text);
    return kc_buf_take (&b);
}

// ---- filling the file ----

static void s_fill_task (kc_store_t *store, int t, int64_t *epoch_p, char task[KC_ULID],
                         const kc_when_t *when)
{
    kc_err_t err = {0};
    char json[512], sha[KC_SHA_HEX];
    kc_sha256_hex ("", 0, sha);
    kc_ulid (task);
    (void)snprintf (json, sizeof json,
                    "{\"task\":\"%s\",\"document\":{\"kind\":\"cuda\",\"name\":\"fill "
                    "%d\",\"files\":[{\"path\":"
                    "\"k.cu\",\"sha256\":\"%s\",\"size\":0}]}}",
                    task, t, sha);
    kc_memory_blob_put_t put = {.sha256 = sha};
    kc_memory_blob_put_reply_t put_reply = {0};
    kc_memory_task_create_t *in =
        kc_memory_task_create_decode (json, strlen (json), KC_STRICT, NULL);
    kc_memory_task_create_reply_t *created = kc_memory_task_create_reply_new ();
    kc_memory_task_lease_t lease = {.holder = kc_strdup ("filler"),
                                    .boot = kc_strdup ("1")};
    kc_memory_task_lease_reply_t *granted = kc_memory_task_lease_reply_new ();
    if (!in || kc_store_begin (store, &err) < 0
        || kc_blobs_put (store->blobs, &put, "", 0, &put_reply, when->at, &err) < 0
        || kc_tasks_create (store->tasks, in, created, when, &err) < 0
        || kc_tasks_lease (store->tasks, &lease, task, granted, when, &err) < 0
        || kc_store_commit (store, &err) < 0)
        s_die ("fill", err.text);
    *epoch_p = granted->epoch;
    kc_memory_task_create_free (&in);
    kc_memory_task_create_reply_free (&created);
    kc_memory_task_lease_reply_free (&granted);
    free (lease.holder);
    free (lease.boot);
}

static void s_append_here (kc_store_t *store, const char *task, int64_t epoch,
                           long long round, const char *kind, const char *doc,
                           const kc_when_t *when)
{
    kc_err_t err = {0};
    kc_errs_t errs = {0};
    char *text = s_replace (doc, round);
    kc_buf_t json = {0};
    kc_buf_printf (&json,
                   "{\"task\":\"%s\",\"epoch\":%lld,\"round\":%lld,\"lane\":0,\"step\":"
                   "\"%s\",\"doc\":",
                   task, (long long)epoch, round, kind);
    kc_buf_puts (&json, text);
    kc_buf_puts (&json, "}");
    kc_memory_step_append_t *in =
        kc_memory_step_append_decode (json.data, json.size, KC_STRICT, &errs);
    kc_memory_step_append_reply_t out = {0};
    if (!in)
        s_die (kind, kc_errs_text (&errs));
    if (kc_steps_append (store->steps, in, NULL, 0, &out, when, &err) < 0)
        s_die (kind, err.text);
    kc_memory_step_append_free (&in);
    kc_buf_free (&json);
    free (text);
}

static void s_fill (bench_t *b, long long rounds)
{
    kc_err_t err = {0};
    kc_when_t when = {.now = kc_clock_ms ()};
    kc_clock_iso (kc_clock_wall_ms (), when.at);
    kc_store_config_t config = {.db = {.path = b->fleet.file},
                                .experts = KC_TEST_EXPERTS};
    kc_store_t *store = kc_store_open (&config, &when, &err);
    if (!store)
        s_die ("fill", err.text);
    char *code = s_code ("__global__ void k (float *x) { x[threadIdx.x] *= 2; }",
                         "@ROUND@", "0123456789abcdef");
    char *evaluate = s_evaluate ();
    long long per_task = (rounds + FILL_TASKS - 1) / FILL_TASKS, done = 0;
    for (int t = 0; t < FILL_TASKS && done < rounds; t++) {
        char task[KC_ULID];
        int64_t epoch = 0;
        s_fill_task (store, t, &epoch, task, &when);
        for (long long r = 0; r < per_task && done < rounds; r++, done++) {
            if (r % 128 == 0 && kc_store_begin (store, &err) < 0)
                s_die ("fill", err.text);
            s_append_here (store, task, epoch, r, "code", code, &when);
            s_append_here (store, task, epoch, r, "evaluate", evaluate, &when);
            if ((r % 128 == 127 || r + 1 == per_task || done + 1 == rounds)
                && kc_store_commit (store, &err) < 0)
                s_die ("fill", err.text);
        }
    }
    kc_store_close (&store);
    free (code);
    free (evaluate);
}

// ---- appends ----

static void s_lease (bench_t *b)
{
    char json[512], sha[KC_SHA_HEX];
    kc_sha256_hex ("", 0, sha);
    (void)snprintf (json, sizeof json, "{\"sha256\":\"%s\",\"size\":0,\"offset\":0}",
                    sha);
    kc_answer_t a = mem_fleet_ask (b->node, "memory.blob.put", json, NULL, 0);
    kc_answer_free (&a);
    for (int t = 0; t < TASKS; t++) {
        kc_ulid (b->task[t]);
        (void)snprintf (json, sizeof json,
                        "{\"task\":\"%s\",\"document\":{\"kind\":\"cuda\",\"name\":"
                        "\"bench\",\"files\":[{\"path\":"
                        "\"k.cu\",\"sha256\":\"%s\",\"size\":0}]}}",
                        b->task[t], sha);
        a = mem_fleet_ask (b->node, "memory.task.create", json, NULL, 0);
        kc_answer_free (&a);
        a = mem_fleet_ask (b->node, "memory.task.lease",
                           "{\"holder\":\"bench\",\"boot\":\"1\"}", NULL, 0);
        if (!strstr (a.payload, b->task[t]) || !strstr (a.payload, "\"epoch\":1,"))
            s_die ("lease", a.payload);
        kc_answer_free (&a);
    }
}

static void s_answer (void *arg, kc_node_t *node, const kc_answer_t *answer);

static void s_send (slot_t *slot)
{
    bench_t *b = slot->bench;
    long long n = b->sent++;
    int t = (int)(n % TASKS), kind = (int)(n / TASKS % KINDS);
    long long round = n / TASKS / KINDS;
    char id[KC_NODE_ID_MAX + 1];
    char *doc = s_replace (b->doc[kind], round);
    kc_buf_t json = {0};
    kc_buf_printf (&json,
                   "{\"doc\":%s,\"epoch\":1,\"lane\":0,\"round\":%lld,\"step\":\"%s\","
                   "\"task\":\"%s\"}",
                   doc, round, s_kinds[kind], b->task[t]); // the order of our codec
    (void)snprintf (id, sizeof id, "%s.%lld.0.%s.0", b->task[t], round, s_kinds[kind]);
    kc_call_t call = {.id = id,
                      .op = "memory.step.append",
                      .flow = b->task[t],
                      .payload = json.data,
                      .payload_size = json.size};
    kc_err_t err = {0};
    slot->sent_ns = kc_clock_ns ();
    b->bytes += (long long)json.size;
    if (kc_node_call (b->node, &call, s_answer, slot, &err) < 0)
        s_die ("call", err.text);
    kc_buf_free (&json);
    free (doc);
}

static void s_answer (void *arg, kc_node_t *node, const kc_answer_t *answer)
{
    (void)node;
    slot_t *slot = arg;
    bench_t *b = slot->bench;
    if (answer->code != KC_OK)
        s_die ("append", answer->text);
    b->us[b->done++] = (kc_clock_ns () - slot->sent_ns) / 1000;
    if (b->sent < b->appends)
        s_send (slot);
}

static double s_appends (bench_t *b, int window)
{
    kc_err_t err = {0};
    int64_t start = kc_clock_ns ();
    for (int i = 0; i < window; i++) {
        b->slots[i].bench = b;
        s_send (&b->slots[i]);
    }
    while (b->done < b->appends)
        if (kc_loop_turn (b->loop, 1000, &err) < 0)
            s_die ("loop", err.text);
    return (double)b->done / ((double)(kc_clock_ns () - start) / 1e9);
}

// Processor time of the memory service so far; it tells more than the rate on a machine
// that is shared.
static double s_cpu_us (const bench_t *b)
{
    char path[64];
    size_t size = 0;
    (void)snprintf (path, sizeof path, "/proc/%d/stat", (int)b->fleet.memory.pid);
    char *text = kc_fs_read (path, 4096, &size, NULL);
    const char *p = text ? strrchr (text, ')') : NULL;
    for (int field = 0; p && field < 12; field++)
        p = strchr (p + 1, ' ');
    double ticks = 0;
    char *end = NULL;
    if (p)
        ticks = strtod (p, &end) + strtod (end, NULL);
    free (text);
    return ticks * 1e6 / (double)sysconf (_SC_CLK_TCK);
}

// ---- matches ----

static char *s_match_request (const bench_t *b, const char *evidence)
{
    static const char *const methods[] = {"Launch_Tuning",
                                          "Vectorization_Refinement",
                                          "Increase_ILP_WorkPerThread",
                                          "Warp_Level_Reduction",
                                          "Reduce_Instruction_Count",
                                          "SharedMemoryTiling"};
    kc_buf_t json = {0};
    kc_buf_printf (&json,
                   "{\"task\":\"%s\",\"base\":\"0123456789abcdef\",\"policy\":\"fp32\","
                   "\"available\":[",
                   b->task[0]);
    for (size_t i = 0; i < KC_COUNT (methods); i++)
        kc_buf_printf (&json, "%s{\"method\":\"%s\",\"left\":%zu}", i ? "," : "",
                       methods[i], i);
    kc_buf_puts (&json, "],\"evidence\":");
    kc_buf_puts (&json, evidence);
    kc_buf_puts (&json, "}");
    return kc_buf_take (&json);
}

static int64_t s_match_once (bench_t *b, const char *json, char **diagnosis_p)
{
    int64_t start = kc_clock_ns ();
    kc_answer_t a = mem_fleet_ask (b->node, "memory.method.match", json, NULL, 0);
    int64_t us = (kc_clock_ns () - start) / 1000;
    static const char front[] = "{\"diagnosis\":";
    if (diagnosis_p && a.payload_size > sizeof front)
        *diagnosis_p = kc_strndup ((const char *)a.payload + sizeof front - 1,
                                   a.payload_size - sizeof front);
    kc_answer_free (&a);
    return us;
}

static void s_start (bench_t *b)
{
    kc_err_t err = {0};
    mem_fleet_start_broker (&b->fleet);
    mem_fleet_spawn_memory (&b->fleet);
    if (!mem_fleet_is_ready (&b->fleet, 30000))
        s_die ("start", "kc-memory did not become ready");
    b->loop = kc_loop_new (&err);
    kc_node_config_t config = {.loop = b->loop,
                               .run_dir = b->fleet.dir,
                               .role = "planner",
                               .instance = "bench"};
    if (!b->loop || !(b->node = kc_node_new (&config, &err)))
        s_die ("node", err.text);
}

int main (int argc, char **argv)
{
    if (argc < 5) {
        (void)fprintf (
            stderr, "usage: bench_memory ROUNDS APPENDS MATCHES WINDOW [SOURCE.cu]\n");
        return 2;
    }
    long long rounds = strtoll (argv[1], NULL, 10),
              matches = strtoll (argv[3], NULL, 10);
    int window = (int)strtol (argv[4], NULL, 10);
    bench_t b = {.appends = strtoll (argv[2], NULL, 10)};
    if (window < 1 || window > WINDOW_MAX || rounds < 0 || b.appends < 1 || matches < 1)
        s_die ("arguments", "out of range");
    kc_log_init ("bench_memory", "bench");
    kc_log_level (KC_ERROR);
    kc_err_t err = {0};
    char *source = argc > 5 ? kc_fs_read (argv[5], 1 << 20, NULL, &err)
                            : kc_strdup ("__global__ void softmax () {}\n");
    if (!source)
        s_die ("source", err.text);
    mem_fleet_new (&b.fleet);
    int64_t start = kc_clock_ms ();
    s_fill (&b, rounds);
    (void)printf ("stored rounds: %lld in %.1f s\n", rounds,
                  (double)(kc_clock_ms () - start) / 1000);
    s_start (&b);
    s_lease (&b);
    char *evidence = s_evidence (), *plain = s_replace (evidence, 0), *diagnosis = NULL;
    char *request = s_match_request (&b, plain);
    s_match_once (&b, request, &diagnosis);
    b.doc[0] = s_code (source, "@ROUND@", "0123456789abcdef");
    b.doc[1] = s_evaluate ();
    b.doc[2] = kc_asprintf (
        "{\"seconds\":0.4,\"worker\":\"profiler-1@host\",\"evidence\":%s}", evidence);
    b.doc[3] = kc_asprintf ("{\"seconds\":0.002,\"diagnosis\":%s}", diagnosis);
    if (getenv ("KC_BENCH_SHOW"))
        (void)fprintf (stderr, "%s\n", diagnosis);
    b.doc[4] = kc_strdup (
        "{\"seconds\":0.001,\"plan\":{\"action\":\"optimise\",\"method\":"
        "\"Vectorization_Refinement\",\"base\":"
        "\"0123456789abcdef\",\"base_round\":0,\"bottleneck\":\"memory_latency\","
        "\"step\":0,\"predicted\":1.2,"
        "\"why\":\"round @ROUND@: first in rank, two changes left on this base\"}}");
    for (int i = 0; i < KINDS; i++)
        (void)printf ("document of step %s: %zu bytes\n", s_kinds[i],
                      strlen (b.doc[i]));
    b.us = kc_calloc ((size_t)b.appends + WINDOW_MAX, sizeof *b.us);
    double cpu = s_cpu_us (&b);
    double rate = s_appends (&b, window);
    cpu = (s_cpu_us (&b) - cpu) / (double)b.done;
    double p50 = s_ms (b.us, b.done, 0.5), p99 = s_ms (b.us, b.done, 0.99);
    (void)printf ("appends: %lld, window %d, %.1f MB\n", b.done, window,
                  (double)b.bytes / 1e6);
    int64_t *us = kc_calloc ((size_t)matches, sizeof *us);
    for (long long i = 0; i < matches; i++)
        us[i] = s_match_once (&b, request, NULL);
    double match50 = s_ms (us, matches, 0.5), match99 = s_ms (us, matches, 0.99);
    kc_node_destroy (&b.node);
    kc_loop_destroy (&b.loop);
    int status = mem_fleet_stop_memory (&b.fleet);
    mem_fleet_end (&b.fleet, false);
    (void)printf ("appends_per_second=%.0f append_p50_ms=%.2f append_p99_ms=%.2f "
                  "mean_bytes=%lld match_p50_ms=%.3f "
                  "match_p99_ms=%.3f memory_cpu_us_per_append=%.0f rounds=%lld "
                  "window=%d path=broker",
                  rate, p50, p99, b.bytes / b.done, match50, match99, cpu, rounds,
                  window);
    (void)printf ("\n");
    return status == 0 ? 0 : 1;
}
