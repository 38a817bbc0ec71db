/* test_kc_core_property.c - random events against the dispatch core, held against a
 * model
 *
 * The model is the world outside: processes with connections, what each was asked to
 * run, and which answers each still expects.  After every event the effects are checked
 * against it; now and then the core's own tables are checked for agreement. KC_SEED=<n>
 * repeats a run, KC_STEPS=<n> makes it longer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broker/core/kc_core_own.h"
#include "common/util/kc_clock.h"
#include "common/util/kc_mem.h"

enum {
    PROCS = 14,
    PEERS = 64,
    IDS = 48,
    STEPS = 60000,
    DEAD_MS = 4000,
    TICK_MS = 100,
};

typedef struct proc { // one process name; it may be down, or alive without the broker
                      // knowing
    char instance[32], boot[32];
    int boot_number;
    kc_role_t role;
    const char *ops[3];
    size_t n_ops;
    int slots;
    bool alive, silent; // silent = alive in the broker's eyes only: it never beats
    int peer;           // -1 = not connected
    bool runs[IDS], cancelled[IDS], kept[IDS];
    bool listed[IDS], claimed[IDS]; // in the last HELLO; in any HELLO of this boot
    int expects[IDS];               // answers still owed to it
    bool other[IDS];                // asked with the other content
} proc_t;

typedef struct world {
    kc_core_t *core;
    int64_t now;
    uint64_t dice;
    proc_t procs[PROCS];
    int owner[PEERS]; // process of a peer number, -1 = free
    int boot_of[PEERS];
    int granted[IDS]; // peer that the core gave it to, -1 = none
    int losses[IDS];  // of the present work of that id
    int lost_boot[IDS][2];
    int moving;   // process that is just reconnecting, -1 = none
    bool orderly; // sessions that end now end in order
    int boots, parcels;
    int64_t grants, answers, errors, poisons, lost;
} world_t;

typedef struct parcel {
    kc_parcel_t parcel; // first member
    world_t *world;
    int id;
} parcel_t;

static uint64_t roll (world_t *w, uint64_t n)
{
    w->dice ^= w->dice << 13;
    w->dice ^= w->dice >> 7;
    w->dice ^= w->dice << 17;
    return w->dice % n;
}

static void parcel_free (kc_parcel_t *p)
{
    parcel_t *self = (parcel_t *)(void *)p;
    self->world->parcels--;
    free (self);
}

static kc_parcel_t *parcel_new (world_t *w, int id)
{
    parcel_t *p = kc_calloc (1, sizeof *p);
    p->parcel = (kc_parcel_t){.refs = 1, .size = 100, .free = parcel_free};
    p->world = w;
    p->id = id;
    w->parcels++;
    return &p->parcel;
}

static void id_name (int id, char out[16])
{
    (void)snprintf (out, 16, "t.%d", id);
}

static int id_of (const char *name)
{
    return (int)strtol (name + 2, NULL, 10);
}

static kc_work_t *work_of (const world_t *w, int id)
{
    char name[16];
    id_name (id, name);
    return kc_map_get (w->core->works, name);
}

// ---- effects against the model ----

static void on_grant (world_t *w, const kc_effect_t *e, proc_t *p)
{
    int id = ((const parcel_t *)(const void *)e->parcel)->id;
    w->grants++;
    int before = w->granted[id];
    assert_true (before < 0 || before == (int)e->peer); // never at two live sessions
    assert_true (w->losses[id] < KC_ATTEMPTS);
    assert_true (w->lost_boot[id][1] == 0); // two boots died of it: never again
    int held = 0;
    for (int i = 0; i < IDS; i++)
        held += w->granted[i] == (int)e->peer && i != id;
    assert_true (held < p->slots || p->claimed[id] || before == (int)e->peer
                 || p->kept[id]); // credit
    w->granted[id] = (int)e->peer;
    if (!p->silent)
        p->runs[id] = true; // a repetition of what runs, or of what is kept, is
                            // answered in time, too
}

static void on_end (world_t *w, proc_t *p, int id)
{
    assert_int_equal (p->expects[id], 1); // exactly one answer per request
    p->expects[id] = 0;
    (void)w;
}

// A session ended: what it ran is lost, or goes with it to its new connection.
static void lose_grants (world_t *w, int peer, const proc_t *p)
{
    for (int id = 0; id < IDS; id++) {
        if (w->granted[id] != peer)
            continue;
        w->granted[id] = -1;
        if (w->moving >= 0 && p->peer != peer) {
            if (p->listed[id])
                w->granted[id] = p->peer;
            continue;
        }
        if (w->orderly || p->cancelled[id])
            continue;
        w->losses[id]++;
        if (!w->lost_boot[id][0])
            w->lost_boot[id][0] = w->boot_of[peer];
        else if (w->lost_boot[id][0] != w->boot_of[peer])
            w->lost_boot[id][1] = w->boot_of[peer];
    }
}

static void on_error (world_t *w, const kc_effect_t *e, proc_t *p)
{
    int id = id_of (e->id);
    w->errors++;
    on_end (w, p, id);
    w->poisons += e->code == KC_EPOISON;
    w->lost += e->code == KC_ELOST;
    if (e->code == KC_EBUSY)
        assert_true (e->retry_after_ms > 0);
}

static void act (world_t *w)
{
    kc_effect_t list[512];
    size_t n = 0;
    while (n < 512 && kc_core_next (w->core, &list[n]))
        n++;
    assert_true (n < 512);
    for (size_t i = 0; i < n; i++) {
        kc_effect_t *e = &list[i];
        int owner = w->owner[e->peer];
        proc_t *p = owner >= 0 ? &w->procs[owner] : NULL;
        assert_non_null (p);
        switch (e->kind) {
        case KC_DO_GRANT:
            on_grant (w, e, p);
            break;
        case KC_DO_ANSWER:
            w->answers++;
            on_end (w, p, ((const parcel_t *)(const void *)e->parcel)->id);
            break;
        case KC_DO_ERROR:
            on_error (w, e, p);
            break;
        case KC_DO_CANCEL:
            p->cancelled[id_of (e->id)] = true;
            break;
        case KC_DO_CLOSE:
            lose_grants (w, (int)e->peer, p);
            w->owner[e->peer] = -1;
            if (p->peer == (int)e->peer) { // its only connection: what it asked is void
                p->peer = -1;
                memset (p->expects, 0, sizeof p->expects);
            }
            break;
        case KC_DO_WELCOME:
        case KC_DO_REJECT:
        case KC_DO_PONG:
        case KC_DO_LOCAL:
            break;
        }
        kc_effect_free (e);
    }
}

// ---- events ----

static int free_peer (world_t *w)
{
    for (int i = 0; i < PEERS; i++)
        if (w->owner[i] < 0)
            return i;
    return -1;
}

static void hello (world_t *w, int index, bool list)
{
    proc_t *p = &w->procs[index];
    const char *holding[IDS];
    char names[IDS][16];
    size_t n = 0;
    for (int id = 0; id < IDS; id++) {
        p->listed[id] = list && (p->runs[id] || p->kept[id]);
        if (p->listed[id]) {
            p->claimed[id] = true;
            id_name (id, names[n]);
            holding[n] = names[n];
            n++;
        }
    }
    kc_hello_t h = {.instance = p->instance,
                    .boot = p->boot,
                    .role = p->role,
                    .ops = p->ops,
                    .n_ops = p->n_ops,
                    .slots = p->slots,
                    .holding = holding,
                    .n_holding = n};
    kc_core_hello (w->core, (uint32_t)p->peer, &h, w->now);
    act (w);
}

static void start (world_t *w, int index)
{
    proc_t *p = &w->procs[index];
    int peer = free_peer (w);
    if (peer < 0)
        return;
    p->alive = true;
    p->silent = false;
    p->boot_number = ++w->boots;
    (void)snprintf (p->boot, sizeof p->boot, "boot%d", p->boot_number);
    memset (p->runs, 0, sizeof p->runs);
    memset (p->cancelled, 0, sizeof p->cancelled);
    memset (p->kept, 0, sizeof p->kept);
    memset (p->claimed, 0, sizeof p->claimed);
    memset (p->expects, 0, sizeof p->expects);
    w->owner[peer] = index;
    w->boot_of[peer] = p->boot_number;
    p->peer = peer;
    hello (w, index, false);
}

static void reconnect (world_t *w, int index)
{
    proc_t *p = &w->procs[index];
    int peer = free_peer (w), old = p->peer;
    if (peer < 0 || !p->alive || p->silent)
        return;
    w->owner[peer] = index;
    for (int id = 0; id < IDS; id++)
        p->listed[id] = p->runs[id] || p->kept[id];
    p->peer = peer;
    w->boot_of[peer] = p->boot_number;
    w->moving = old >= 0 ? index : -1;
    hello (w, index, true);
    w->moving = -1;
}

static void update (world_t *w, int index)
{
    proc_t *p = &w->procs[index];
    if (p->peer < 0 || !p->alive || p->silent)
        return;
    p->slots = (int)roll (w, 4);
    hello (w, index, false);
}

static void bye (world_t *w, int index)
{
    proc_t *p = &w->procs[index];
    if (p->peer < 0 || p->silent)
        return;
    w->orderly = true;
    kc_core_bye (w->core, (uint32_t)p->peer, w->now);
    act (w);
    w->orderly = false;
    p->alive = false;
}

static void gone (world_t *w, int index)
{
    proc_t *p = &w->procs[index];
    if (p->peer < 0)
        return;
    kc_core_gone (w->core, (uint32_t)p->peer, "its connection is gone", w->now);
    act (w);
    p->alive = roll (w, 2) && !p->silent; // the process may live on and come back
    if (!p->alive)
        memset (p->runs, 0, sizeof p->runs);
}

static void request (world_t *w, int index)
{
    proc_t *p = &w->procs[index];
    if (p->peer < 0 || !p->alive || p->silent)
        return;
    static const char *const ops[] = {"evaluator.evaluate", "evaluator.inspect",
                                      "coder.optimise", "profiler.profile"};
    int id = (int)roll (w, IDS);
    char name[16];
    id_name (id, name);
    bool again = p->expects[id] == 1;
    if (!work_of (w, id)) {
        w->losses[id] = 0;
        w->lost_boot[id][0] = w->lost_boot[id][1] = 0;
    }
    kc_need_t need = {0};
    const char *key = "";
    if (id % 5 == 0) {
        kc_need_add (&need, "sm", KC_TERM_GE, NULL, 90);
        key = "sm>=90";
    }
    char flow[16];
    (void)snprintf (flow, sizeof flow, "task%d", id % 7);
    kc_ask_t ask = {.id = name,
                    .op = ops[id % 4],
                    .flow = flow,
                    .sum = "0123456789abcdef",
                    .need_key = key,
                    .need = &need,
                    .ttl_ms = roll (w, 3) ? (int64_t)roll (w, 20000) + 1 : 0};
    if (!again)
        p->other[id] = roll (w, 10) == 0;
    if (p->other[id])
        ask.sum = "fedcba9876543210";
    p->expects[id] = 1;
    kc_core_request (w->core, (uint32_t)p->peer, &ask, parcel_new (w, id), w->now);
    act (w);
    kc_need_free (&need);
}

static void cancel (world_t *w, int index)
{
    proc_t *p = &w->procs[index];
    int id = (int)roll (w, IDS);
    char name[16];
    id_name (id, name);
    if (p->peer < 0 || p->silent)
        return;
    kc_core_cancel (w->core, (uint32_t)p->peer, name, w->now);
    act (w);
}

static void finish (world_t *w, int index, int id)
{
    proc_t *p = &w->procs[index];
    if (p->peer < 0 || !p->alive || p->silent || !p->runs[id])
        return;
    char name[16];
    id_name (id, name);
    bool failed = p->cancelled[id] || roll (w, 8) == 0;
    p->runs[id] = p->cancelled[id] = false;
    p->kept[id] = !failed;
    p->claimed[id] =
        p->claimed[id]
        || !failed; // the broker may remember a reply that nobody waited for
    if (w->granted[id] == p->peer)
        w->granted[id] = -1;
    kc_core_reply (w->core, (uint32_t)p->peer, name, parcel_new (w, id), failed,
                   w->now);
    act (w);
}

static void finish_some (world_t *w, int index)
{
    int from = (int)roll (w, IDS);
    for (int i = 0; i < IDS; i++)
        if (w->procs[index].runs[(from + i) % IDS]) {
            finish (w, index, (from + i) % IDS);
            return;
        }
}

// A reply that nobody asked for: wrong worker, wrong id, twice.
static void stray (world_t *w, int index)
{
    proc_t *p = &w->procs[index];
    int id = (int)roll (w, IDS);
    char name[16];
    id_name (id, name);
    if (p->peer < 0 || p->silent || w->granted[id] == p->peer)
        return;
    kc_core_reply (w->core, (uint32_t)p->peer, name, parcel_new (w, id), false, w->now);
    act (w);
}

static void pass_time (world_t *w, int64_t ms)
{
    for (int64_t end = w->now + ms; w->now < end;) {
        w->now += TICK_MS;
        for (int i = 0; i < PROCS; i++)
            if (w->procs[i].peer >= 0 && w->procs[i].alive && !w->procs[i].silent)
                kc_core_ping (w->core, (uint32_t)w->procs[i].peer, w->now);
        act (w);
        kc_core_tick (w->core, w->now);
        act (w);
        for (int i = 0; i < PROCS; i++)
            if (w->procs[i].peer < 0 && w->procs[i].silent) {
                w->procs[i].alive = w->procs[i].silent = false;
                memset (w->procs[i].runs, 0, sizeof w->procs[i].runs);
            }
    }
}

// ---- the core's own tables ----

static void check_tables (const world_t *w)
{
    const kc_core_t *core = w->core;
    size_t bytes = 0, queued = 0, cursor = 0, waiting = 0;
    kc_work_t *work;
    while ((work = kc_map_next (core->works, &cursor, NULL))) {
        bytes += work->parcel->size;
        queued += work->state == KC_WORK_QUEUED;
        assert_true ((work->state == KC_WORK_QUEUED) == (work->lane != NULL));
        assert_true ((work->state == KC_WORK_QUEUED) == (work->worker == NULL));
        assert_true (work->losses < KC_ATTEMPTS && work->handbacks <= KC_HANDBACKS);
        assert_true (work->state == KC_WORK_ENDING || work->n_waiters > 0
                     || work->orphan_at > 0);
        assert_true (work->state == KC_WORK_ENDING || !work->expires
                     || work->timer.due.place > 0);
        int n = 0;
        kc_waiter_t *wt;
        TAILQ_FOREACH (wt, &work->waiters, of_work)
        n++;
        assert_int_equal (n, work->n_waiters);
        assert_int_equal (w->granted[id_of (work->id)],
                          work->worker ? (int)work->worker->peer : -1);
    }
    assert_int_equal (bytes, core->bytes);
    for (size_t i = 0; i < core->n_peers; i++) {
        kc_session_t *s = core->peers[i];
        if (!s)
            continue;
        int running = 0;
        TAILQ_FOREACH (work, &s->works, link)
        running++;
        assert_int_equal (running, s->running);
        assert_true (kc_session_credit (s) >= 0);
    }
    for (size_t i = 0; i < kc_op_count (); i++) {
        kc_queue_t *q;
        TAILQ_FOREACH (q, &core->queues[i], link)
        {
            waiting += q->waiting;
            size_t open = 0;
            for (size_t k = 0; k < q->n_members; k++)
                open += kc_session_credit (q->members[k]) > 0;
            assert_int_equal (open, q->n_free);
            if (kc_queue_open (core, q))
                assert_true (q->waiting == 0
                             || q->n_free == 0); // nothing waits that could run
        }
    }
    assert_int_equal (waiting, queued);
}

static void make_world (world_t *w, uint64_t seed)
{
    *w = (world_t){
        .now = 1000, .dice = seed * 2654435761u + 88172645463325252u, .moving = -1};
    kc_core_config_t config = {.beat_ms = 1000, .dead_ms = DEAD_MS, .tick_ms = TICK_MS};
    w->core = kc_core_new (&config, w->now);
    for (int i = 0; i < PEERS; i++)
        w->owner[i] = -1;
    for (int i = 0; i < IDS; i++)
        w->granted[i] = -1;
    for (int i = 0; i < PROCS; i++) {
        proc_t *p = &w->procs[i];
        p->peer = -1;
        p->slots = 1 + (int)roll (w, 3);
        if (i < 4) {
            p->role = KC_ROLE_PLANNER;
            p->slots = 0;
        }
        else if (i < 9) {
            p->role = KC_ROLE_EVALUATOR;
            p->ops[0] = "evaluator.evaluate";
            p->ops[1] = "evaluator.inspect";
            p->n_ops = 2;
        }
        else {
            p->role = i < 12 ? KC_ROLE_CODER : KC_ROLE_PROFILER;
            p->ops[0] = i < 12 ? "coder.optimise" : "profiler.profile";
            p->n_ops = 1;
        }
        (void)snprintf (p->instance, sizeof p->instance, "%s-%d",
                        kc_role_name (p->role), i);
    }
}

static void step (world_t *w)
{
    int index = (int)roll (w, PROCS);
    proc_t *p = &w->procs[index];
    uint64_t event = roll (w, 200);
    if (index >= 12 && p->peer >= 0 && event < 5)
        event = 17; // profilers live long and have a bad connection
    switch (event) {
    case 0:
        start (w, index);
        break;
    case 1:
        reconnect (w, index);
        break;
    case 2:
        bye (w, index);
        break;
    case 3:
        gone (w, index);
        break;
    case 17:
    case 18:
        if (index >= 12 && p->alive && !p->silent) {
            gone (w, index);
            p->alive = true;
            reconnect (w, index);
        }
        break;
    case 4:
        if (p->peer >= 0 && p->alive)
            p->silent = true; // killed: nothing tells the broker
        break;
    case 5:
        update (w, index);
        break;
    case 6:
        stray (w, index);
        break;
    case 7:
        (void)kc_core_drain (w->core, p->instance, roll (w, 3) > 0, w->now);
        act (w);
        break;
    case 8:
    case 9:
    case 10:
        cancel (w, (int)roll (w, 4));
        break;
    case 11:
    case 12:
    case 13:
    case 14:
    case 15:
    case 16:
        pass_time (w, (int64_t)roll (w, 15) * TICK_MS);
        break;
    default:
        if (roll (w, 3))
            request (w, (int)roll (w, 4));
        else
            finish_some (w, index);
    }
    if (p->peer < 0 && roll (w, 3) == 0) {
        if (p->alive && !p->silent && roll (w, 8))
            reconnect (w, index); // the same boot again
        else
            start (w, index);
    }
}

// Everybody is well again and works: then every answer must come and nothing may stay
// behind.
static void come_to_rest (world_t *w)
{
    for (int i = 0; i < PROCS; i++) {
        proc_t *p = &w->procs[i];
        int slots = i < 4 ? 0 : 2;
        if (p->peer < 0 || !p->alive || p->silent) {
            p->slots = slots;
            start (w, i);
        }
        else {
            (void)kc_core_drain (w->core, p->instance, true, w->now);
            act (w);
            p->slots = slots;
            hello (w, i, false);
        }
    }
    for (int round = 0; round < 2000; round++) {
        for (int i = 4; i < PROCS; i++)
            for (int id = 0; id < IDS; id++)
                finish (w, i, id);
        pass_time (w, TICK_MS);
    }
    check_tables (w);
    for (int i = 0; i < 4; i++)
        for (int id = 0; id < IDS; id++)
            if (work_of (w, id) == NULL)
                assert_int_equal (w->procs[i].expects[id], 0); // no lost request
}

static uint64_t number (const char *name, uint64_t preset)
{
    const char *text = getenv (name);
    return text ? strtoull (text, NULL, 10) : preset;
}

static void random_events_keep_every_promise (void **state)
{
    (void)state;
    uint64_t seed = number ("KC_SEED", (uint64_t)kc_clock_wall_ms ()),
             steps = number ("KC_STEPS", STEPS);
    print_message ("seed %llu, %llu steps (KC_SEED, KC_STEPS repeat it)\n",
                   (unsigned long long)seed, (unsigned long long)steps);
    static const int parts = 6; // several worlds: some begin with the fresh-broker rule
    int64_t grants = 0, answers = 0, errors = 0, poisons = 0, lost = 0;
    for (int part = 0; part < parts; part++) {
        world_t w;
        make_world (&w, seed + (uint64_t)part);
        for (uint64_t i = 0; i < steps / (uint64_t)parts; i++) {
            step (&w);
            if (i % 16 == 0)
                check_tables (&w);
        }
        come_to_rest (&w);
        grants += w.grants;
        answers += w.answers;
        errors += w.errors;
        poisons += w.poisons;
        lost += w.lost;
        kc_core_destroy (&w.core);
        assert_int_equal (w.parcels, 0);
    }
    print_message ("%lld grants, %lld answers, %lld errors, %lld poison, %lld lost\n",
                   (long long)grants, (long long)answers, (long long)errors,
                   (long long)poisons, (long long)lost);
    assert_true (grants > 0 && answers > 0 && errors > 0 && poisons > 0
                 && lost > 0); // the run went through the interesting places
}

// Round robin: between two grants of a flow that has something waiting, no other flow
// gets more than one.
static void no_flow_waits_longer_than_one_turn_of_the_others (void **state)
{
    (void)state;
    enum { FLOWS = 9, ROUNDS = 20000 };
    world_t w = {.dice = number ("KC_SEED", (uint64_t)kc_clock_wall_ms ()) | 1};
    kc_core_config_t config = {.beat_ms = 1000, .dead_ms = DEAD_MS, .tick_ms = TICK_MS};
    w.core = kc_core_new (&config, 0);
    static const char *const ops[] = {"evaluator.evaluate"};
    kc_hello_t planner = {
        .instance = "planner-1", .boot = "b", .role = KC_ROLE_PLANNER};
    kc_hello_t worker = {.instance = "evaluator-1",
                         .boot = "b",
                         .role = KC_ROLE_EVALUATOR,
                         .ops = ops,
                         .n_ops = 1,
                         .slots = 2};
    kc_core_hello (w.core, 0, &planner, 0);
    kc_core_hello (w.core, 1, &worker, 0);
    int waiting[FLOWS] = {0}, passed[FLOWS] = {0}, running[8], n_running = 0, next = 0;
    int64_t served = 0;
    for (int round = 0; round < ROUNDS; round++) {
        // The lower a flow's number, the more it asks; the worker is slower than all
        // together.
        int flow = (int)(roll (&w, FLOWS) * roll (&w, FLOWS) / FLOWS);
        char id[24], name[24];
        if (roll (&w, 5) < 3 && waiting[flow] < 500) {
            (void)snprintf (id, sizeof id, "f.%d", next);
            (void)snprintf (name, sizeof name, "flow%d", flow);
            kc_ask_t ask = {.id = id,
                            .op = ops[0],
                            .flow = name,
                            .sum = "0123456789abcdef",
                            .need_key = ""};
            kc_core_request (w.core, 0, &ask, parcel_new (&w, next * FLOWS + flow), 0);
            next++;
            waiting[flow]++;
        }
        else if (n_running > 0) {
            int which = (int)roll (&w, (uint64_t)n_running);
            (void)snprintf (id, sizeof id, "f.%d", running[which]);
            running[which] = running[--n_running];
            kc_core_reply (w.core, 1, id, parcel_new (&w, 0), false, 0);
        }
        for (kc_effect_t e; kc_core_next (w.core, &e); kc_effect_free (&e)) {
            if (e.kind != KC_DO_GRANT)
                continue;
            int tag = ((const parcel_t *)(const void *)e.parcel)->id, got = tag % FLOWS;
            assert_true (n_running < 2);
            running[n_running++] = tag / FLOWS;
            served++;
            waiting[got]--;
            passed[got] = 0;
            for (int f = 0; f < FLOWS; f++)
                if (f != got) {
                    passed[f] = waiting[f] > 0 ? passed[f] + 1 : 0;
                    assert_true (passed[f] <= FLOWS - 1);
                }
        }
    }
    assert_true (served > ROUNDS / 4);
    kc_core_destroy (&w.core);
    assert_int_equal (w.parcels, 0);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (random_events_keep_every_promise),
        cmocka_unit_test (no_flow_waits_longer_than_one_turn_of_the_others)};
    return cmocka_run_group_tests (tests, NULL, NULL);
}
