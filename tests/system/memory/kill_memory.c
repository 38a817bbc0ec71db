/* kill_memory.c - kill -9 of kc-memory at random moments, with a writer that notes what
 * was acknowledged
 *
 *   kill_memory [SECONDS [SEED]]
 *
 * A real broker, a real kc-memory and one planner node that keeps appends open on
 * several tasks.  The memory process is killed some milliseconds up to 300 ms after it
 * became ready, sometimes while it starts, and started again at once.  At the end:
 * every acknowledged append is there under the number it was told, nothing is there
 * twice, numbers of steps and events have no gaps, integrity_check is ok.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/util/kc_clock.h"
#include "common/util/kc_hash.h"
#include "common/util/kc_log.h"
#include "common/util/kc_mem.h"
#include "memory/store/kc_db.h"
#include "tests/system/memory/mem_fleet.h"

enum { TASKS = 4, WINDOW = 8, ROUNDS_MAX = 60000, TEXT = 1400 };

static const char SQL_INTEGRITY[] =
    "SELECT integrity_check = 'ok' FROM pragma_integrity_check LIMIT 1";
static const char SQL_EVENT_GAPS[] = "SELECT max (seq) - count(*) FROM event";
static const char SQL_STEP_GAPS[] =
    "SELECT count(*) FROM (SELECT task.steps AS told, max (step.seq) AS last, count(*) "
    "AS rows, "
    "count(DISTINCT step.round) AS rounds FROM task JOIN step ON step.task = task.ord "
    "GROUP BY task.ord) "
    "WHERE told <> last OR last <> rows OR rows <> rounds";
static const char SQL_EVENTS_OF_STEPS[] =
    "SELECT (SELECT count(*) FROM event WHERE kind = 'step') - (SELECT count(*) FROM "
    "step)";
static const char SQL_ROW[] =
    "SELECT step.seq FROM step JOIN task ON task.ord = step.task "
    "WHERE task.task = ?1 AND step.round = ?2 AND step.lane = 0 AND step.step = 'code'";
static const char SQL_ROWS[] = "SELECT count(*) FROM step";

typedef struct writer writer_t;

typedef struct append { // one open append
    writer_t *writer;
    int task, round, attempt;
} append_t;

struct writer {
    mem_fleet_t fleet;
    kc_loop_t *loop;
    kc_node_t *node;
    unsigned seed;
    char task[TASKS][KC_ULID];
    long long epoch[TASKS];
    int next[TASKS], open[TASKS];
    int64_t *acked[TASKS]; // number told, 0 = not acknowledged
    long long acks, repeats, retries, kills, starting_kills;
    bool ending;
    int failures;
};

static unsigned s_draw (writer_t *w, unsigned below)
{
    w->seed = w->seed * 1664525u + 1013904223u;
    return (w->seed >> 8) % below;
}

static void s_fail (writer_t *w, const char *what, long long a, long long b)
{
    w->failures++;
    (void)printf ("not ok - %s (%lld, %lld)\n", what, a, b);
}

// ---- the writer ----

static void s_answer (void *arg, kc_node_t *node, const kc_answer_t *answer);

static void s_send (writer_t *w, append_t *a)
{
    char id[KC_NODE_ID_MAX + 1], json[TEXT];
    (void)snprintf (id, sizeof id, "%s.%d.0.code.%d", w->task[a->task], a->round,
                    a->attempt);
    int n = snprintf (json, sizeof json,
                      "{\"task\":\"%s\",\"epoch\":%lld,\"round\":%d,\"lane\":0,"
                      "\"step\":\"code\",\"doc\":{\"seconds\":0.25,"
                      "\"candidate\":{\"writer\":\"expert\",\"method\":\"Launch_"
                      "Tuning\",\"changes\":[{\"name\":\"BLOCK\","
                      "\"from\":\"128\",\"to\":\"%d\"}],\"program\":{\"format\":1,"
                      "\"language\":\"cuda\",\"source\":\"// round %d\","
                      "\"blocks\":[{\"steps\":[{\"op\":\"kernel\",\"kernel\":\"k\","
                      "\"grid\":[\"1\"],\"block\":[\"%d\"]}]}]}}}}",
                      w->task[a->task], w->epoch[a->task], a->round, a->round, a->round,
                      a->round % 1024 + 1);
    kc_call_t call = {.id = id,
                      .op = "memory.step.append",
                      .flow = w->task[a->task],
                      .payload = json,
                      .payload_size = (size_t)n,
                      .retry_busy = true};
    kc_err_t err = {0};
    if (kc_node_call (w->node, &call, s_answer, a, &err) < 0)
        kc_die (__FILE__, __LINE__, err.text);
}

static void s_fill (writer_t *w, int task)
{
    while (!w->ending && w->open[task] < WINDOW && w->next[task] < ROUNDS_MAX) {
        append_t *a = kc_calloc (1, sizeof *a);
        *a = (append_t){.writer = w, .task = task, .round = w->next[task]++};
        w->open[task]++;
        s_send (w, a);
    }
}

static void s_answer (void *arg, kc_node_t *node, const kc_answer_t *answer)
{
    (void)node;
    append_t *a = arg;
    writer_t *w = a->writer;
    if (answer->code == KC_OK) {
        const char *seq = strstr (answer->payload, "\"seq\":");
        w->acked[a->task][a->round] = seq ? strtoll (seq + 6, NULL, 10) : -1;
        w->acks++;
        w->repeats += strstr (answer->payload, "\"repeated\":true") != NULL;
    }
    else if (answer->code == KC_ELOST || answer->code == KC_EPOISON
             || answer->code == KC_EBUSY) {
        a->attempt++; // killed under it more than once: a new try of the same step
        w->retries++;
        s_send (w, a);
        return;
    }
    else {
        s_fail (w, answer->text, a->task, a->round);
        w->ending = true;
    }
    w->open[a->task]--;
    int task = a->task;
    free (a);
    s_fill (w, task);
}

// ---- the killer ----

static void s_kill (writer_t *w)
{
    kc_child_destroy (&w->fleet.memory); // SIGKILL and reap
    w->kills++;
    mem_fleet_spawn_memory (&w->fleet);
}

static void s_turn_until (writer_t *w, int64_t until)
{
    kc_err_t err = {0};
    for (int64_t now = kc_clock_ms (); now < until; now = kc_clock_ms ())
        if (kc_loop_turn (w->loop, until - now, &err) < 0)
            kc_die (__FILE__, __LINE__, err.text);
}

static void s_kill_for (writer_t *w, int64_t until)
{
    while (kc_clock_ms () < until && !w->ending) {
        if (s_draw (w, 8) == 0) { // while it opens the file or says hello
            s_turn_until (w, kc_clock_ms () + 1 + s_draw (w, 60));
            w->starting_kills++;
        }
        else {
            int64_t limit = kc_clock_ms () + 20000;
            while (!mem_fleet_is_ready (&w->fleet, 0) && kc_clock_ms () < limit)
                s_turn_until (w, kc_clock_ms () + 2);
            s_turn_until (w, kc_clock_ms () + 3 + s_draw (w, 298));
        }
        s_kill (w);
    }
}

static void s_drain (writer_t *w)
{
    w->ending = true;
    int64_t limit = kc_clock_ms () + 30000;
    for (;;) {
        int open = 0;
        for (int t = 0; t < TASKS; t++)
            open += w->open[t];
        if (open == 0)
            return;
        if (kc_clock_ms () > limit) {
            s_fail (w, "appends without an answer at the end", open, 0);
            return;
        }
        s_turn_until (w, kc_clock_ms () + 20);
    }
}

// ---- begin and end ----

static void s_create (writer_t *w, int t)
{
    char json[512], sha[KC_SHA_HEX];
    kc_sha256_hex ("k", 1, sha);
    kc_ulid (w->task[t]);
    (void)snprintf (json, sizeof json, "{\"sha256\":\"%s\",\"size\":1,\"offset\":0}",
                    sha);
    kc_answer_t a = mem_fleet_ask (w->node, "memory.blob.put", json, "k", 1);
    kc_answer_free (&a);
    (void)snprintf (json, sizeof json,
                    "{\"task\":\"%s\",\"document\":{\"kind\":\"cuda\",\"name\":"
                    "\"kill\",\"files\":[{\"path\":\"k.cu\","
                    "\"sha256\":\"%s\",\"size\":1}]}}",
                    w->task[t], sha);
    a = mem_fleet_ask (w->node, "memory.task.create", json, NULL, 0);
    kc_answer_free (&a);
    a = mem_fleet_ask (w->node, "memory.task.lease",
                       "{\"holder\":\"writer\",\"boot\":\"1\"}", NULL, 0);
    const char *epoch = strstr (a.payload, "\"epoch\":");
    kc_assert (epoch && strstr (a.payload, w->task[t])); // the only runnable one
    w->epoch[t] = strtoll (epoch + 8, NULL, 10);
    kc_answer_free (&a);
    w->acked[t] = kc_calloc (ROUNDS_MAX, sizeof *w->acked[t]);
}

static void s_expect (writer_t *w, kc_db_t *db, const char *what, const char *sql,
                      int64_t expected)
{
    kc_err_t err = {0};
    int64_t got = -1;
    if (kc_db_int (db, &err, 0, &got, sql, "") < 0)
        s_fail (w, err.text, 0, 0);
    else if (got != expected)
        s_fail (w, what, got, expected);
}

static void s_check_file (writer_t *w)
{
    kc_err_t err = {0};
    kc_db_config_t config = {.path = w->fleet.file};
    kc_db_t *db = kc_db_open (&config, &err);
    if (!db) {
        s_fail (w, err.text, 0, 0);
        return;
    }
    s_expect (w, db, "integrity_check", SQL_INTEGRITY, 1);
    s_expect (w, db, "event numbers have gaps", SQL_EVENT_GAPS, 0);
    s_expect (w, db, "steps of a task have gaps or are doubled", SQL_STEP_GAPS, 0);
    s_expect (w, db, "each step has one event", SQL_EVENTS_OF_STEPS, 0);
    long long lost = 0, other = 0;
    for (int t = 0; t < TASKS; t++)
        for (int r = 0; r < w->next[t]; r++) {
            int64_t seq = 0;
            if (kc_db_int (db, &err, 0, &seq, SQL_ROW, "si", w->task[t], (int64_t)r)
                < 0)
                s_fail (w, err.text, 0, 0);
            lost += w->acked[t][r] > 0 && seq == 0;
            other += w->acked[t][r] > 0 && seq != 0 && seq != w->acked[t][r];
        }
    if (lost || other)
        s_fail (w, "acknowledged appends that are not there, or under another number",
                lost, other);
    s_expect (w, db, "rows and acknowledged appends", SQL_ROWS, w->acks);
    kc_db_close (&db);
}

int main (int argc, char **argv)
{
    writer_t w = {0};
    int64_t seconds = argc > 1 ? strtoll (argv[1], NULL, 10) : 20;
    w.seed =
        argc > 2 ? (unsigned)strtoul (argv[2], NULL, 10) : (unsigned)kc_clock_ns ();
    (void)printf ("seed %u\n", w.seed);
    (void)fflush (stdout);
    kc_log_init ("kill_memory", "writer");
    kc_log_level (KC_ERROR);
    mem_fleet_new (&w.fleet);
    mem_fleet_start_broker (&w.fleet);
    mem_fleet_spawn_memory (&w.fleet);
    if (!mem_fleet_is_ready (&w.fleet, 20000))
        kc_die (__FILE__, __LINE__, "kc-memory did not become ready");
    kc_err_t err = {0};
    w.loop = kc_loop_new (&err);
    kc_node_config_t config = {.loop = w.loop,
                               .run_dir = w.fleet.dir,
                               .role = "planner",
                               .instance = "writer"};
    if (!w.loop || !(w.node = kc_node_new (&config, &err)))
        kc_die (__FILE__, __LINE__, err.text);
    for (int t = 0; t < TASKS; t++)
        s_create (&w, t);
    for (int t = 0; t < TASKS; t++)
        s_fill (&w, t);
    s_kill_for (&w, kc_clock_ms () + seconds * 1000);
    s_drain (&w);
    kc_node_destroy (&w.node);
    kc_loop_destroy (&w.loop);
    if (!mem_fleet_is_ready (&w.fleet, 20000))
        s_fail (&w, "the last start did not become ready", 0, 0);
    int status = mem_fleet_stop_memory (&w.fleet);
    if (status != 0)
        s_fail (&w, "kc-memory ended with another status than 0", status, 0);
    s_check_file (&w);
    if (w.acks < 50 || w.kills < 5)
        s_fail (&w, "too little happened to prove anything (acknowledged, kills)",
                w.acks, w.kills);
    (void)printf ("%s - %lld acknowledged appends, %lld kills (%lld while starting), "
                  "%lld repeated, %lld new tries\n",
                  w.failures ? "not ok" : "ok", w.acks, w.kills, w.starting_kills,
                  w.repeats, w.retries);
    for (int t = 0; t < TASKS; t++)
        free (w.acked[t]);
    mem_fleet_end (&w.fleet, w.failures > 0);
    return w.failures ? 1 : 0;
}
