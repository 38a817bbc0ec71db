// test_kc_core.c - the rules of the dispatch core, one by one; time and peers are
// numbers

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broker/core/kc_core.h"
#include "common/util/kc_mem.h"

enum { DEAD = 4000, TICK = 100, LOG = 4096 };

typedef struct seen { // one effect, kept
    kc_do_t kind;
    uint32_t peer;
    kc_code_t code;
    int64_t ttl_ms, retry;
    bool draining;
    char id[32], text[512], from[100];
} seen_t;

typedef struct desk {
    kc_core_t *core;
    int64_t now;
    seen_t log[LOG];
    size_t n;
} desk_t;

typedef struct parcel {
    kc_parcel_t parcel;
    char id[32];
} parcel_t;

static void parcel_free (kc_parcel_t *p)
{
    free (p);
}

static kc_parcel_t *parcel (const char *id, size_t size)
{
    parcel_t *p = kc_calloc (1, sizeof *p);
    p->parcel = (kc_parcel_t){.refs = 1, .size = size, .free = parcel_free};
    (void)snprintf (p->id, sizeof p->id, "%s", id);
    return &p->parcel;
}

static void collect (desk_t *d)
{
    kc_effect_t e;
    while (kc_core_next (d->core, &e)) {
        seen_t *s = &d->log[d->n < LOG - 1 ? d->n++ : d->n];
        *s = (seen_t){.kind = e.kind,
                      .peer = e.peer,
                      .code = e.code,
                      .ttl_ms = e.ttl_ms,
                      .retry = e.retry_after_ms,
                      .draining = e.draining};
        const char *id = e.parcel ? ((parcel_t *)(void *)e.parcel)->id
                         : e.id   ? e.id
                                  : "";
        (void)snprintf (s->id, sizeof s->id, "%s", id);
        (void)snprintf (s->text, sizeof s->text, "%s", e.text ? e.text : "");
        (void)snprintf (s->from, sizeof s->from, "%s", e.from);
        kc_effect_free (&e);
    }
}

// The first effect of a kind to a peer since the last 'forget', NULL when there was
// none.
static const seen_t *find (const desk_t *d, kc_do_t kind, int peer, const char *id)
{
    for (size_t i = 0; i < d->n; i++)
        if (d->log[i].kind == kind && (peer < 0 || d->log[i].peer == (uint32_t)peer)
            && (!id || strcmp (d->log[i].id, id) == 0))
            return &d->log[i];
    return NULL;
}

// The same where there must be one: what stands for "none" fails every comparison.
static const seen_t *must (const desk_t *d, kc_do_t kind, int peer, const char *id)
{
    static const seen_t none = {.code = KC_CODE_COUNT, .ttl_ms = -1};
    const seen_t *s = find (d, kind, peer, id);
    return s ? s : &none;
}

static size_t count (const desk_t *d, kc_do_t kind, int peer)
{
    size_t n = 0;
    for (size_t i = 0; i < d->n; i++)
        n += d->log[i].kind == kind && (peer < 0 || d->log[i].peer == (uint32_t)peer);
    return n;
}

static void forget (desk_t *d)
{
    d->n = 0;
}

static int setup (void **state)
{
    desk_t *d = kc_calloc (1, sizeof *d);
    d->now = 100000;
    kc_core_config_t config = {.beat_ms = 1000, .dead_ms = DEAD, .tick_ms = TICK};
    d->core = kc_core_new (&config, d->now);
    *state = d;
    return 0;
}

static int teardown (void **state)
{
    desk_t *d = *state;
    kc_core_destroy (&d->core);
    free (d);
    return 0;
}

static void hello_full (desk_t *d, uint32_t peer, const char *role,
                        const char *instance, const char *boot, int slots, int sm,
                        const char *held)
{
    static const char *const evaluator[] = {"evaluator.evaluate", "evaluator.inspect"},
                             *const coder[] = {"coder.optimise"},
                             *const memory[] = {"memory.stats", "memory.step.append"};
    kc_hello_t h = {.instance = instance,
                    .boot = boot,
                    .role = kc_role_parse (role),
                    .slots = slots,
                    .holding = &held,
                    .n_holding = held ? 1 : 0};
    if (h.role == KC_ROLE_EVALUATOR) {
        h.ops = evaluator;
        h.n_ops = 2;
    }
    if (h.role == KC_ROLE_CODER) {
        h.ops = coder;
        h.n_ops = 1;
    }
    if (h.role == KC_ROLE_MEMORY) {
        h.ops = memory;
        h.n_ops = 2;
    }
    if (sm)
        kc_facts_add (&h.caps, "sm", NULL, sm);
    kc_core_hello (d->core, peer, &h, d->now);
    collect (d);
    kc_facts_free (&h.caps);
}

static void hello (desk_t *d, uint32_t peer, const char *role, const char *instance,
                   int slots)
{
    char boot[64];
    (void)snprintf (boot, sizeof boot, "%s.boot", instance);
    hello_full (d, peer, role, instance, boot, slots, 80, NULL);
}

static void ask_full (desk_t *d, uint32_t peer, const char *id, const char *op,
                      const char *flow, int64_t ttl, int sm, const char *sum)
{
    kc_need_t need = {0};
    char key[32] = "";
    if (sm) {
        kc_need_add (&need, "sm", KC_TERM_GE, NULL, sm);
        (void)snprintf (key, sizeof key, "sm>=%d", sm);
    }
    kc_ask_t a = {.id = id,
                  .op = op,
                  .flow = flow,
                  .sum = sum,
                  .ttl_ms = ttl,
                  .need_key = key,
                  .need = &need};
    kc_core_request (d->core, peer, &a, parcel (id, 100), d->now);
    collect (d);
    kc_need_free (&need);
}

static void ask (desk_t *d, uint32_t peer, const char *id)
{
    ask_full (d, peer, id, "evaluator.evaluate", "task", 0, 0, "0123456789abcdef");
}

static void reply (desk_t *d, uint32_t peer, const char *id)
{
    kc_core_reply (d->core, peer, id, parcel (id, 100), false, d->now);
    collect (d);
}

// Let time pass; these peers beat.
static void pass (desk_t *d, int64_t ms, uint64_t beating)
{
    for (int64_t end = d->now + ms; d->now < end;) {
        d->now += TICK;
        for (uint32_t p = 0; p < 64; p++)
            if (beating >> p & 1)
                kc_core_ping (d->core, p, d->now);
        kc_core_tick (d->core, d->now);
        collect (d);
    }
}

static void slots_are_the_credit_of_a_worker (void **state)
{
    desk_t *d = *state;
    hello (d, 0, "planner", "planner-1", 0);
    hello (d, 1, "evaluator", "evaluator-1", 2);
    for (int i = 0; i < 5; i++) {
        char id[16];
        (void)snprintf (id, sizeof id, "r%d", i);
        ask (d, 0, id);
    }
    assert_int_equal (count (d, KC_DO_GRANT, 1), 2);
    reply (d, 1, "r0");
    assert_int_equal (count (d, KC_DO_GRANT, 1), 3);
    assert_non_null (find (d, KC_DO_GRANT, 1, "r2")); // in order
    const seen_t *a = must (d, KC_DO_ANSWER, 0, "r0");
    assert_string_equal (a->from, "evaluator-1");
}

static void the_time_in_the_queue_is_taken_from_the_ttl (void **state)
{
    desk_t *d = *state;
    hello (d, 0, "planner", "planner-1", 0);
    ask_full (d, 0, "r", "evaluator.evaluate", "t", 5000, 0, "0123456789abcdef");
    pass (d, 1500, 1);
    hello (d, 1, "evaluator", "evaluator-1", 1);
    assert_int_equal (must (d, KC_DO_GRANT, 1, "r")->ttl_ms, 3500);
    pass (d, 3600, 3);
    const seen_t *e = must (d, KC_DO_ERROR, 0, "r");
    assert_int_equal (e->code, KC_ETIMEOUT);
    assert_non_null (strstr (e->text, "evaluator-1"));
    assert_non_null (find (d, KC_DO_CANCEL, 1, "r")); // and the worker is told
    assert_int_equal (kc_core_works (d->core), 1);    // it has the slot until it ends
    reply (d, 1, "r");
    assert_int_equal (kc_core_works (d->core), 0);
    assert_int_equal (count (d, KC_DO_ANSWER, 0), 0);
}

static void flows_take_turns_however_long_their_queues_are (void **state)
{
    desk_t *d = *state;
    hello (d, 0, "planner", "planner-1", 0);
    char id[16];
    for (int i = 0; i < 300; i++) {
        (void)snprintf (id, sizeof id, "a%d", i);
        ask_full (d, 0, id, "evaluator.evaluate", "greedy", 0, 0, "0123456789abcdef");
    }
    for (int f = 0; f < 4; f++)
        for (int i = 0; i < 3; i++) {
            (void)snprintf (id, sizeof id, "%c%d", 'b' + f, i);
            char flow[16];
            (void)snprintf (flow, sizeof flow, "f%d", f);
            ask_full (d, 0, id, "evaluator.evaluate", flow, 0, 0, "0123456789abcdef");
        }
    hello (d, 1, "evaluator", "evaluator-1", 1);
    size_t at = 0, small = 0;
    for (int i = 0; i < 15; i++) { // five flows, three rounds
        while (d->log[at].kind != KC_DO_GRANT)
            at++;
        small += d->log[at].id[0] != 'a';
        (void)snprintf (id, sizeof id, "%s", d->log[at++].id);
        reply (d, 1, id);
    }
    assert_int_equal (small, 12);
}

static void
a_need_that_nobody_meets_is_held_with_its_reason_and_in_nobodys_way (void **state)
{
    desk_t *d = *state;
    hello (d, 0, "planner", "planner-1", 0);
    hello (d, 1, "evaluator", "evaluator-1", 1);
    ask_full (d, 0, "big", "evaluator.evaluate", "t", 0, 90, "0123456789abcdef");
    ask (d, 0, "any");
    assert_non_null (find (d, KC_DO_GRANT, 1, "any"));
    size_t cursor = 0;
    kc_queue_view_t q;
    assert_true (kc_core_queue (d->core, &cursor, &q, d->now));
    assert_string_equal (q.held, "needs sm>=90; connected: evaluator-1 (sm=80)");
    assert_int_equal (q.waiting, 1);
    hello_full (d, 2, "evaluator", "evaluator-2", "x", 1, 90, NULL);
    assert_non_null (find (d, KC_DO_GRANT, 2, "big"));
}

static void
a_second_requester_is_attached_and_another_content_is_a_conflict (void **state)
{
    desk_t *d = *state;
    hello (d, 0, "planner", "planner-1", 0);
    hello (d, 2, "planner", "planner-2", 0);
    hello (d, 1, "evaluator", "evaluator-1", 1);
    ask (d, 0, "r");
    ask (d, 2, "r");
    ask (d, 2, "r"); // again: once is enough
    assert_int_equal (count (d, KC_DO_GRANT, -1), 1);
    hello (d, 3, "planner", "planner-3", 0);
    ask_full (d, 3, "r", "evaluator.evaluate", "t", 0, 0, "ffffffffffffffff");
    assert_int_equal (must (d, KC_DO_ERROR, 3, "r")->code, KC_ECONFLICT);
    kc_core_cancel (d->core, 0, "r", d->now); // one of two gives up: the work goes on
    collect (d);
    assert_int_equal (must (d, KC_DO_ERROR, 0, "r")->code, KC_ECANCELLED);
    assert_int_equal (count (d, KC_DO_CANCEL, -1), 0);
    reply (d, 1, "r");
    assert_int_equal (count (d, KC_DO_ANSWER, 2), 1);
    assert_int_equal (count (d, KC_DO_ANSWER, 0), 0);
}

static void a_lost_worker_hands_its_request_on_in_front_of_the_others (void **state)
{
    desk_t *d = *state;
    hello (d, 0, "planner", "planner-1", 0);
    hello (d, 1, "evaluator", "evaluator-1", 1);
    ask (d, 0, "r0");
    ask (d, 0, "r1");
    pass (d, DEAD + 200, 1); // evaluator-1 is silent
    assert_non_null (find (d, KC_DO_CLOSE, 1, NULL));
    forget (d);
    hello (d, 2, "evaluator", "evaluator-2", 1);
    assert_non_null (find (d, KC_DO_GRANT, 2, "r0"));
}

static void one_boot_that_is_lost_three_times_ends_the_request (void **state)
{
    desk_t *d = *state;
    hello (d, 0, "planner", "planner-1", 0);
    ask (d, 0, "r");
    for (uint32_t i = 1; i <= 3; i++) {
        assert_null (find (d, KC_DO_ERROR, 0, "r"));
        hello (d, i, "evaluator", "evaluator-1", 1);
        kc_core_gone (d->core, i, "its connection is gone", d->now);
        collect (d);
    }
    assert_int_equal (must (d, KC_DO_ERROR, 0, "r")->code, KC_ELOST);
    assert_int_equal (count (d, KC_DO_GRANT, -1), 3);
}

static void two_boots_that_die_of_a_request_make_it_poison (void **state)
{
    desk_t *d = *state;
    hello (d, 0, "planner", "planner-1", 0);
    ask (d, 0, "r");
    hello_full (d, 1, "evaluator", "evaluator-1", "boot1", 1, 80, NULL);
    hello_full (d, 2, "evaluator", "evaluator-1", "boot2", 1, 80,
                NULL); // displaces the first
    assert_int_equal (must (d, KC_DO_REJECT, 1, NULL)->code, KC_EDISPLACED);
    assert_non_null (find (d, KC_DO_GRANT, 2, "r"));
    kc_core_gone (d->core, 2, "its connection is gone", d->now);
    collect (d);
    const seen_t *e = must (d, KC_DO_ERROR, 0, "r");
    assert_int_equal (e->code, KC_EPOISON);
    assert_non_null (strstr (e->text, "boot1"));
    assert_non_null (strstr (e->text, "boot2"));
}

static void a_displaced_boot_cannot_come_back (void **state)
{
    desk_t *d = *state;
    hello_full (d, 1, "evaluator", "evaluator-1", "old", 1, 80, NULL);
    hello_full (d, 2, "evaluator", "evaluator-1", "new", 1, 80, NULL);
    forget (d);
    hello_full (d, 3, "evaluator", "evaluator-1", "old", 1, 80, NULL);
    assert_int_equal (must (d, KC_DO_REJECT, 3, NULL)->code, KC_EDISPLACED);
    assert_int_equal (kc_core_n_sessions (d->core), 1);
}

static void a_leaving_worker_gives_back_without_blame (void **state)
{
    desk_t *d = *state;
    hello (d, 0, "planner", "planner-1", 0);
    ask (d, 0, "r");
    char name[32];
    for (uint32_t i = 1; i <= 6; i++) { // more often than a request may be lost
        (void)snprintf (name, sizeof name, "evaluator-%u", i);
        hello (d, i, "evaluator", name, 1);
        kc_core_bye (d->core, i, d->now);
        collect (d);
    }
    assert_null (find (d, KC_DO_ERROR, 0, "r"));
    hello (d, 9, "evaluator", "evaluator-9", 1);
    reply (d, 9, "r");
    assert_int_equal (count (d, KC_DO_ANSWER, 0), 1);
}

static void a_worker_that_holds_a_queued_id_gets_it_whatever_its_credit (void **state)
{
    desk_t *d = *state;
    hello (d, 0, "planner", "planner-1", 0);
    ask_full (d, 0, "paid", "coder.optimise", "t", 0, 0, "0123456789abcdef");
    hello_full (d, 1, "coder", "coder-1", "b", 0, 0,
                "paid"); // running there since before the broker came
    assert_non_null (find (d, KC_DO_GRANT, 1, "paid"));
    reply (d, 1, "paid");
    assert_int_equal (count (d, KC_DO_ANSWER, 0), 1);
    // and the other way round: the worker is there first, the requester comes later
    hello_full (d, 2, "coder", "coder-2", "b", 1, 0, "paid2");
    hello_full (d, 3, "coder", "coder-3", "b", 1, 0, NULL);
    ask_full (d, 0, "paid2", "coder.optimise", "t", 0, 0, "0123456789abcdef");
    assert_non_null (find (d, KC_DO_GRANT, 2, "paid2"));
}

static void
a_fresh_broker_grants_nothing_paid_until_holders_had_the_time_to_come (void **state)
{
    desk_t *d = *state;
    hello (d, 0, "planner", "planner-1", 0);
    hello (d, 1, "coder", "coder-1", 1);
    hello (d, 2, "evaluator", "evaluator-1", 1);
    ask_full (d, 0, "paid", "coder.optimise", "t", 0, 0, "0123456789abcdef");
    ask (d, 0, "free");
    assert_int_equal (count (d, KC_DO_GRANT, 2), 1);
    pass (d, 2 * DEAD - 200, 7);
    assert_int_equal (count (d, KC_DO_GRANT, 1), 0);
    pass (d, 300, 7);
    assert_non_null (find (d, KC_DO_GRANT, 1, "paid"));
}

static void
a_reconnecting_worker_keeps_what_it_holds_and_loses_what_never_arrived (void **state)
{
    desk_t *d = *state;
    hello (d, 0, "planner", "planner-1", 0);
    hello_full (d, 1, "evaluator", "evaluator-1", "b", 2, 80, NULL);
    ask (d, 0, "arrived");
    ask (d, 0, "astray");
    forget (d);
    hello_full (d, 2, "evaluator", "evaluator-1", "b", 2, 80, "arrived");
    assert_non_null (find (d, KC_DO_CLOSE, 1, NULL));
    assert_int_equal (count (d, KC_DO_GRANT, 2), 2); // one told again, one granted anew
    reply (d, 2, "arrived");
    reply (d, 2, "astray");
    assert_int_equal (count (d, KC_DO_ANSWER, 0), 2);
}

static void
a_request_without_requester_runs_on_for_a_minute_and_can_be_picked_up (void **state)
{
    desk_t *d = *state;
    hello (d, 0, "planner", "planner-1", 0);
    hello (d, 1, "evaluator", "evaluator-1", 2);
    ask (d, 0, "r");
    ask (d, 0, "s");
    kc_core_gone (d->core, 0, "its connection is gone", d->now);
    collect (d);
    pass (d, 30000, 2);
    hello (d, 2, "planner", "planner-2", 0);
    ask (d, 2, "r"); // the successor repeats its predecessor's id
    pass (d, 31000, 6);
    assert_null (find (d, KC_DO_CANCEL, 1, "r"));
    assert_non_null (find (d, KC_DO_CANCEL, 1, "s"));
    reply (d, 1, "r");
    assert_int_equal (count (d, KC_DO_ANSWER, 2), 1);
}

static void a_reply_that_nobody_waited_for_is_found_again_at_its_worker (void **state)
{
    desk_t *d = *state;
    hello (d, 0, "planner", "planner-1", 0);
    hello (d, 1, "evaluator", "evaluator-1", 1);
    ask (d, 0, "r");
    kc_core_gone (d->core, 0, "its connection is gone", d->now);
    reply (d, 1, "r");
    hello (d, 3, "evaluator", "evaluator-2", 8);
    hello (d, 2, "planner", "planner-2", 0);
    forget (d);
    ask (d, 2, "r");
    assert_non_null (find (d, KC_DO_GRANT, 1, "r")); // it keeps the reply
}

static void only_existing_edges_are_served (void **state)
{
    desk_t *d = *state;
    static const struct {
        const char *role, *op;
        kc_code_t code;
    } cases[] = {
        {"client", "memory.step.append", KC_EREFUSED},
        {"client", "broker.fleet.drain", KC_EREFUSED},
        {"coder", "coder.optimise", KC_EREFUSED},
        {"coder", "memory.task.create", KC_EREFUSED},
        {"evaluator", "memory.llm.begin", KC_EREFUSED},
        {"planner", "memory.backup", KC_EREFUSED},
        {"planner", "broker.fleet.drain", KC_EREFUSED},
        {"memory", "evaluator.evaluate", KC_EREFUSED},
        {"client", "no.such.operation", KC_ENOTFOUND},
    };
    for (uint32_t i = 0; i < KC_COUNT (cases); i++) {
        hello (d, i, cases[i].role, "any-1", 0);
        forget (d);
        ask_full (d, i, "r", cases[i].op, "t", 0, 0, "0123456789abcdef");
        assert_int_equal (must (d, KC_DO_ERROR, (int)i, "r")->code, cases[i].code);
        kc_core_bye (d->core, i, d->now);
        collect (d);
    }
    assert_int_equal (kc_core_works (d->core), 0);
}

static void a_role_serves_its_own_operations_only (void **state)
{
    desk_t *d = *state;
    const char *ops[] = {"memory.stats"};
    kc_hello_t h = {.instance = "x",
                    .boot = "b",
                    .role = KC_ROLE_EVALUATOR,
                    .ops = ops,
                    .n_ops = 1,
                    .slots = 1};
    kc_core_hello (d->core, 0, &h, d->now);
    collect (d);
    assert_int_equal (must (d, KC_DO_REJECT, 0, NULL)->code, KC_EREFUSED);
    assert_non_null (find (d, KC_DO_CLOSE, 0, NULL));
}

static void there_is_one_memory_service (void **state)
{
    desk_t *d = *state;
    hello (d, 1, "memory", "memory-1", 8);
    hello (d, 2, "memory", "memory-2", 8);
    assert_int_equal (must (d, KC_DO_REJECT, 2, NULL)->code, KC_EREFUSED);
    pass (d, DEAD + 200, 0);
    forget (d);
    hello (d, 3, "memory", "memory-2", 8);
    assert_non_null (find (d, KC_DO_WELCOME, 3, NULL));
}

static void what_does_not_fit_is_answered_busy (void **state)
{
    desk_t *d = *state;
    hello (d, 0, "planner", "planner-1", 0);
    char id[16];
    for (int i = 0; i < KC_OPEN_MAX; i++) {
        (void)snprintf (id, sizeof id, "r%d", i);
        ask (d, 0, id);
    }
    assert_int_equal (count (d, KC_DO_ERROR, -1), 0);
    ask (d, 0, "more");
    const seen_t *e = must (d, KC_DO_ERROR, 0, "more");
    assert_int_equal (e->code, KC_EBUSY);
    assert_true (e->retry > 0);
    kc_core_cancel (d->core, 0, "r7", d->now);
    collect (d);
    forget (d);
    ask (d, 0, "more");
    assert_int_equal (count (d, KC_DO_ERROR, 0), 0);
}

static void a_late_turn_of_the_broker_is_nobodys_silence (void **state)
{
    desk_t *d = *state;
    hello (d, 1, "evaluator", "evaluator-1", 1);
    pass (d, 1000, 2);
    d->now += 60000; // the broker itself was stopped
    kc_core_tick (d->core, d->now);
    collect (d);
    assert_int_equal (kc_core_n_sessions (d->core), 1);
    pass (d, DEAD + 1200, 0);
    assert_int_equal (kc_core_n_sessions (d->core), 0);
}

static void a_drained_worker_ends_what_it_runs_and_gets_nothing_new (void **state)
{
    desk_t *d = *state;
    hello (d, 0, "planner", "planner-1", 0);
    hello (d, 1, "evaluator", "evaluator-1", 1);
    ask (d, 0, "r0");
    ask (d, 0, "r1");
    assert_int_equal (kc_core_drain (d->core, "evaluator-1", false, d->now), 1);
    assert_int_equal (kc_core_drain (d->core, "nobody", false, d->now), 0);
    collect (d);
    assert_true (must (d, KC_DO_PONG, 1, NULL)->draining);
    reply (d, 1, "r0");
    assert_null (find (d, KC_DO_GRANT, 1, "r1"));
    size_t cursor = 0;
    kc_queue_view_t q;
    assert_true (kc_core_queue (d->core, &cursor, &q, d->now));
    assert_non_null (strstr (q.held, "draining"));
    kc_core_drain (d->core, "evaluator-1", true, d->now);
    collect (d);
    assert_non_null (find (d, KC_DO_GRANT, 1, "r1"));
}

static void a_reply_of_the_wrong_worker_changes_nothing (void **state)
{
    desk_t *d = *state;
    hello (d, 0, "planner", "planner-1", 0);
    hello (d, 1, "evaluator", "evaluator-1", 1);
    hello (d, 2, "evaluator", "evaluator-2", 1);
    ask (d, 0, "r");
    uint32_t worker = find (d, KC_DO_GRANT, 1, "r") ? 1 : 2;
    reply (d, 3 - worker, "r");
    assert_int_equal (count (d, KC_DO_ANSWER, 0), 0);
    reply (d, worker, "r");
    reply (d, worker, "r");
    assert_int_equal (count (d, KC_DO_ANSWER, 0), 1);
    assert_int_equal (kc_core_counters (d->core)->late_replies, 2);
}

static void needs_are_met_or_not_by_the_facts (void **state)
{
    (void)state;
    kc_facts_t f = {0};
    kc_facts_add (&f, "sm", NULL, 90);
    kc_facts_add (&f, "gpu", "NVIDIA H200", 0);
    static const struct {
        const char *key;
        kc_term_op_t op;
        const char *text;
        double number;
        bool met;
    } cases[] = {
        {"sm", KC_TERM_GE, NULL, 90, true},
        {"sm", KC_TERM_GE, NULL, 91, false},
        {"sm", KC_TERM_LE, NULL, 90, true},
        {"sm", KC_TERM_EQ, NULL, 90, true},
        {"sm", KC_TERM_EQ, "90", 0, false},
        {"sm", KC_TERM_NE, NULL, 80, true},
        {"gpu", KC_TERM_PREFIX, "NVIDIA", 0, true},
        {"gpu", KC_TERM_PREFIX, "H200", 0, false},
        {"gpu", KC_TERM_EQ, "NVIDIA H200", 0, true},
        {"gpu", KC_TERM_NE, "x", 0, true},
        {"gpu", KC_TERM_GE, NULL, 1, false},
        {"none", KC_TERM_NE, "x", 0, false},
    };
    for (size_t i = 0; i < KC_COUNT (cases); i++) {
        kc_need_t n = {0};
        kc_need_add (&n, cases[i].key, cases[i].op, cases[i].text, cases[i].number);
        assert_int_equal (kc_need_met (&n, &f), cases[i].met);
        kc_need_free (&n);
    }
    kc_facts_free (&f);
}

#define T(f) cmocka_unit_test_setup_teardown (f, setup, teardown)

int main (void)
{
    const struct CMUnitTest tests[] = {
        T (slots_are_the_credit_of_a_worker),
        T (the_time_in_the_queue_is_taken_from_the_ttl),
        T (flows_take_turns_however_long_their_queues_are),
        T (a_need_that_nobody_meets_is_held_with_its_reason_and_in_nobodys_way),
        T (a_second_requester_is_attached_and_another_content_is_a_conflict),
        T (a_lost_worker_hands_its_request_on_in_front_of_the_others),
        T (one_boot_that_is_lost_three_times_ends_the_request),
        T (two_boots_that_die_of_a_request_make_it_poison),
        T (a_displaced_boot_cannot_come_back),
        T (a_leaving_worker_gives_back_without_blame),
        T (a_worker_that_holds_a_queued_id_gets_it_whatever_its_credit),
        T (a_fresh_broker_grants_nothing_paid_until_holders_had_the_time_to_come),
        T (a_reconnecting_worker_keeps_what_it_holds_and_loses_what_never_arrived),
        T (a_request_without_requester_runs_on_for_a_minute_and_can_be_picked_up),
        T (a_reply_that_nobody_waited_for_is_found_again_at_its_worker),
        T (only_existing_edges_are_served),
        T (a_role_serves_its_own_operations_only),
        T (there_is_one_memory_service),
        T (what_does_not_fit_is_answered_busy),
        T (a_late_turn_of_the_broker_is_nobodys_silence),
        T (a_drained_worker_ends_what_it_runs_and_gets_nothing_new),
        T (a_reply_of_the_wrong_worker_changes_nothing),
        cmocka_unit_test (needs_are_met_or_not_by_the_facts),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
