// kc_policy.c - see kc_policy.h

#include "agents/planner/kc_policy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/model/kc_moves.h"
#include "common/util/kc_mem.h"

enum { MAX_LANES = KC_POLICY_ACTIONS_MAX };

// ---- choices ----

void kc_choices_free (kc_memory_choice_t *choices, size_t n)
{
    for (size_t i = 0; i < n; i++)
        kc_type_clear (&kc_memory_choice_type, &choices[i]);
    free (choices);
}

kc_memory_choice_t *kc_policy_choices (const kc_trail_t *trail, const kc_program_t *program, size_t *n_p)
{
    kc_memory_choice_t *choices = NULL;
    *n_p = 0;
    size_t n_moves = 0;
    kc_move_t *moves = kc_moves_list (kc_trail_card (trail), program, NULL, &n_moves);
    for (size_t i = 0; i < n_moves; i++) {
        kc_memory_choice_t *choice = NULL;
        for (size_t k = 0; k < *n_p && !choice; k++)
            if (!strcmp (choices[k].method, moves[i].method))
                choice = &choices[k];
        if (!choice) {
            choice = kc_push (&choices, n_p, sizeof *choices);
            kc_type_init (&kc_memory_choice_type, choice);
            choice->method = kc_strdup (moves[i].method);
        }
        if (!kc_trail_tried (trail, moves[i].hash) && !kc_trail_exhausted (trail, moves[i].method))
            choice->left++;
    }
    kc_moves_free (moves, n_moves);
    return choices;
}

// ---- which method ----

typedef struct pick {
    const char *method;
    int tier; // 0 allowed, 1 undecided for want of evidence, 2 no bottleneck asks for it, 3 not diagnosed
    double score;
    const kc_memory_ranked_method_t *ranked;
    int failures;
} pick_t;

static const char *const s_tier_words[] = {
    "allowed by the evidence", "not ruled out by the evidence", "no bottleneck asks for it, but nothing else is left",
    "there is no diagnosis, so what is left is tried in order"};

static int s_tier (kc_memory_ranked_method_state_t state)
{
    switch (state) {
    case KC_MEMORY_RANKED_METHOD_STATE_ALLOWED:
        return 0;
    case KC_MEMORY_RANKED_METHOD_STATE_UNKNOWN:
        return 1;
    case KC_MEMORY_RANKED_METHOD_STATE_NOT_REQUIRED:
        return 2;
    case KC_MEMORY_RANKED_METHOD_STATE_UNSET:
    case KC_MEMORY_RANKED_METHOD_STATE_VETOED:
    case KC_MEMORY_RANKED_METHOD_STATE_EXHAUSTED:
    case KC_MEMORY_RANKED_METHOD_STATE_NOT_AVAILABLE:
        break;
    }
    return -1;
}

static const kc_memory_ranked_method_t *s_ranked (const kc_memory_diagnosis_t *diagnosis, const char *method)
{
    for (size_t i = 0; diagnosis && i < diagnosis->n_methods; i++)
        if (!strcmp (diagnosis->methods[i].id, method))
            return &diagnosis->methods[i];
    return NULL;
}

// Each failure of a method on a base halves what is expected of its next try there: the evidence that
// ranked it has not changed, so the record must.
static bool s_pick (const kc_trail_t *trail, const kc_try_t *base, kc_memory_choice_t *choices, size_t n,
                    pick_t *out)
{
    bool found = false;
    for (size_t i = 0; i < n; i++) {
        if (choices[i].left < 1)
            continue;
        pick_t p = {.method = choices[i].method, .tier = 3};
        p.failures = kc_trail_failures (trail, p.method);
        p.ranked = s_ranked (base->diagnosis, p.method);
        double rank = 1;
        if (base->diagnosis) {
            p.tier = p.ranked ? s_tier (p.ranked->state) : 2;
            rank = p.ranked ? fmax (p.ranked->rank, 0) : 0;
        }
        if (p.tier < 0)
            continue;
        p.score = ldexp (rank, -p.failures);
        if (!found || p.tier < out->tier || (p.tier == out->tier && p.score > out->score)) {
            *out = p;
            found = true;
        }
    }
    return found;
}

// ---- plans ----

static kc_memory_plan_t *s_plan (kc_memory_plan_action_t action, const kc_try_t *base, const char *why)
{
    kc_memory_plan_t *plan = kc_memory_plan_new ();
    plan->action = action;
    plan->why = kc_utf8_clean (why, strlen (why), 1000);
    if (base) {
        kc_set (&plan->base, base->hash);
        plan->has_base_round = plan->has_base_lane = true;
        plan->base_round = base->round;
        plan->base_lane = base->lane;
    }
    return plan;
}

static kc_memory_plan_t *s_plan_optimise (const kc_try_t *base, const pick_t *pick)
{
    char *failed = pick->failures ? kc_asprintf ("; %d tr%s of it on this base did not win", pick->failures,
                                                 pick->failures == 1 ? "y" : "ies")
                                  : kc_strdup ("");
    char *why = pick->ranked && pick->ranked->why
                    ? kc_asprintf ("%s (%s)%s", pick->ranked->why, s_tier_words[pick->tier], failed)
                    : kc_asprintf ("%s: %s%s", pick->method, s_tier_words[pick->tier], failed);
    kc_memory_plan_t *plan = s_plan (KC_MEMORY_PLAN_ACTION_OPTIMISE, base, why);
    kc_set (&plan->method, pick->method);
    if (pick->ranked) {
        kc_set (&plan->bottleneck, pick->ranked->bottleneck);
        plan->has_step = pick->ranked->has_step;
        plan->step = pick->ranked->step;
        if (pick->ranked->has_gain) {
            plan->has_predicted = true;
            plan->predicted = pick->ranked->gain;
        }
    }
    free (why);
    free (failed);
    return plan;
}

static bool s_repairable (kc_verdict_status_t status)
{
    switch (status) {
    case KC_VERDICT_STATUS_COMPILE_ERROR:
    case KC_VERDICT_STATUS_PLAN_ERROR:
    case KC_VERDICT_STATUS_LAUNCH_ERROR:
    case KC_VERDICT_STATUS_TIMEOUT:
    case KC_VERDICT_STATUS_OUT_OF_BOUNDS:
    case KC_VERDICT_STATUS_RACE:
    case KC_VERDICT_STATUS_BARRIER_DIVERGENCE:
    case KC_VERDICT_STATUS_WRONG_OUTPUT:
    case KC_VERDICT_STATUS_INPUT_MUTATED:
        return true;
    case KC_VERDICT_STATUS_UNSET:
    case KC_VERDICT_STATUS_OK:
    case KC_VERDICT_STATUS_IMPOSSIBLE:
    case KC_VERDICT_STATUS_UNSUPPORTED:
    case KC_VERDICT_STATUS_NO_MEASUREMENT:
    case KC_VERDICT_STATUS_INFRA_ERROR:
        break;
    }
    return false;
}

// Is there a failed candidate on this lane that a repairer has not given up yet?
static bool s_wants_repair (const kc_trail_t *trail, const kc_try_t *last, const kc_task_budget_t *budget)
{
    if (!last || !last->candidate || !last->verdict || !s_repairable (last->verdict->status))
        return false;
    if (last->repair && last->repair->gave_up)
        return false;
    return kc_trail_chain (trail, last) < budget->repairs;
}

// Why the task should end now, or "".
static void s_stop_reason (const kc_trail_t *trail, const kc_task_budget_t *budget, char *out, size_t size)
{
    const kc_try_t *base = kc_trail_base (trail);
    int round = kc_trail_round (trail);
    double spent = kc_trail_seconds (trail);
    out[0] = 0;
    if (base && base->verdict->has_floor_share && base->verdict->floor_share >= KC_POLICY_FLOOR_SHARE)
        snprintf (out, size, "the best program runs at %.0f %% of the floor; within 5 %% of it nothing is left to win",
                  100 * base->verdict->floor_share);
    else if (round >= budget->rounds)
        snprintf (out, size, "all %lld rounds of the budget are used", (long long)budget->rounds);
    else if (spent >= (double)budget->seconds)
        snprintf (out, size, "the budget of %lld s is used (%.1f s)", (long long)budget->seconds, spent);
}

static size_t s_plan_stop (kc_action_t *a, const kc_try_t *base, int round, const char *reason)
{
    *a = (kc_action_t){.kind = KC_DO_PLAN, .round = round, .lane = 0};
    a->plan = s_plan (KC_MEMORY_PLAN_ACTION_STOP, base, reason);
    return 1;
}

// The last candidate of a task that never became right: its words are the task's reason.
static void s_failure_reason (const kc_trail_t *trail, char *out, size_t size)
{
    for (int round = kc_trail_round (trail); round >= 0; round--)
        for (int lane = MAX_LANES - 1; lane >= 0; lane--) {
            const kc_try_t *t = kc_trail_try (trail, round, lane);
            if (t && t->verdict) {
                const char *text = t->verdict->n_findings ? t->verdict->findings[0].text : "no finding";
                snprintf (out, size, "no correct program: %s: %.400s", kc_verdict_status_name (t->verdict->status), text);
                return;
            }
            if (t && t->error) {
                snprintf (out, size, "no correct program: %.60s: %.400s", t->error->code, t->error->text);
                return;
            }
        }
    snprintf (out, size, "no correct program");
}

static size_t s_finish (kc_action_t *a, int round, bool success, const char *reason)
{
    *a = (kc_action_t){.kind = KC_DO_FINISH, .round = round, .success = success};
    snprintf (a->reason, sizeof a->reason, "%s", reason);
    return 1;
}

// All lanes of 'round' have ended: plan the next round, all its lanes at once.
static size_t s_plan_round (const kc_trail_t *trail, const kc_task_budget_t *budget, int round, kc_action_t *actions)
{
    const kc_try_t *base = kc_trail_base (trail);
    char reason[400];
    s_stop_reason (trail, budget, reason, sizeof reason);
    size_t n = 0;
    size_t n_choices = 0;
    kc_memory_choice_t *choices = base ? kc_policy_choices (trail, base->candidate->program, &n_choices) : NULL;
    int lanes = (int)budget->lanes < MAX_LANES ? (int)budget->lanes : MAX_LANES;
    for (int lane = 0; lane < lanes && !reason[0]; lane++) {
        const kc_try_t *last = kc_trail_try (trail, round, lane);
        kc_action_t *a = &actions[n];
        *a = (kc_action_t){.kind = KC_DO_PLAN, .round = round + 1, .lane = lane};
        pick_t pick = {0};
        if (s_wants_repair (trail, last, budget)) {
            const char *text = last->verdict->n_findings ? last->verdict->findings[0].text : "";
            char *why = kc_asprintf ("%s: %.600s", kc_verdict_status_name (last->verdict->status), text);
            a->plan = s_plan (KC_MEMORY_PLAN_ACTION_REPAIR, base, why);
            kc_set (&a->plan->method, last->plan ? last->plan->method : NULL);
            free (why);
            n++;
        }
        else if (base && s_pick (trail, base, choices, n_choices, &pick)) {
            a->plan = s_plan_optimise (base, &pick);
            for (size_t i = 0; i < n_choices; i++) // what one lane takes, the next one cannot have
                if (!strcmp (choices[i].method, pick.method))
                    choices[i].left--;
            n++;
        }
    }
    kc_choices_free (choices, n_choices);
    if (n)
        return n;
    if (!reason[0] && base)
        snprintf (reason, sizeof reason, "nothing is left that the memory allows and that was not tried on this base");
    if (base)
        return s_plan_stop (actions, base, round + 1, reason);
    char words[512];
    s_failure_reason (trail, words, sizeof words);
    return s_finish (actions, round, false, words);
}

// ---- one lane ----

// Could two lanes that are written side by side get the same program?  Then the later one waits for the
// earlier one's, and is told of it as tried.
static bool s_may_meet (const kc_trail_t *trail, const kc_try_t *a, const kc_try_t *b)
{
    if (!a->plan->method || !b->plan->method)
        return false;
    if (!strcmp (a->plan->method, b->plan->method))
        return true;
    const kc_try_t *base = kc_trail_base_before (trail, a->round);
    if (!base)
        return false;
    size_t n = 0, m = 0;
    kc_move_t *x = kc_moves_list (kc_trail_card (trail), base->candidate->program, a->plan->method, &n);
    kc_move_t *y = kc_moves_list (kc_trail_card (trail), base->candidate->program, b->plan->method, &m);
    bool meet = false;
    for (size_t i = 0; i < n && !meet; i++)
        for (size_t k = 0; k < m && !meet; k++)
            meet = !strcmp (x[i].hash, y[k].hash);
    kc_moves_free (x, n);
    kc_moves_free (y, m);
    return meet;
}

// The lane's next action, KC_DO_NOTHING when it has ended.
static kc_action_kind_t s_lane_next (const kc_trail_t *trail, const kc_try_t *t)
{
    if (t->plan && t->plan->action == KC_MEMORY_PLAN_ACTION_STOP)
        return t->has[KC_MEMORY_STEP_KIND_EVALUATE] ? KC_DO_NOTHING : KC_DO_CONFIRM;
    if (!t->candidate) {
        if (t->round == 0)
            return t->has[KC_MEMORY_STEP_KIND_CODE] ? KC_DO_NOTHING : KC_DO_SEED;
        if (t->plan && t->plan->action == KC_MEMORY_PLAN_ACTION_REPAIR)
            return t->has[KC_MEMORY_STEP_KIND_REPAIR] ? KC_DO_NOTHING : KC_DO_REPAIR;
        if (t->has[KC_MEMORY_STEP_KIND_CODE])
            return KC_DO_NOTHING;
        for (int lane = 0; lane < t->lane; lane++) {
            const kc_try_t *other = kc_trail_try (trail, t->round, lane);
            if (other && other->plan && !other->candidate && !other->error && s_may_meet (trail, t, other))
                return KC_DO_WAIT;
        }
        return KC_DO_CODE;
    }
    if (!t->has[KC_MEMORY_STEP_KIND_EVALUATE])
        return KC_DO_EVALUATE;
    return KC_DO_NOTHING;
}

const kc_try_t *kc_policy_result (const kc_trail_t *trail)
{
    int round = kc_trail_round (trail);
    const kc_try_t *t = kc_trail_try (trail, round, 0);
    if (!t || !t->plan || t->plan->action != KC_MEMORY_PLAN_ACTION_STOP || !t->verdict
        || t->verdict->status != KC_VERDICT_STATUS_OK)
        return NULL;
    return kc_trail_try (trail, (int)t->plan->base_round, (int)t->plan->base_lane);
}

// After the final measurement: take it, or fall back to the base before the one that did not stand up.
static size_t s_after_confirm (const kc_trail_t *trail, const kc_try_t *t, kc_action_t *actions)
{
    if (kc_policy_result (trail))
        return s_finish (actions, t->round, true, t->plan->why);
    const kc_try_t *before = kc_trail_base_before (trail, (int)t->plan->base_round);
    char words[400];
    snprintf (words, sizeof words, "the final measurement of round %lld said %s; going back to the base before it",
              (long long)t->plan->base_round,
              t->verdict ? kc_verdict_status_name (t->verdict->status) : t->error ? t->error->code : "nothing");
    if (before)
        return s_plan_stop (actions, before, t->round + 1, words);
    s_failure_reason (trail, words, sizeof words);
    return s_finish (actions, t->round, false, words);
}

size_t kc_policy_next (const kc_trail_t *trail, const kc_task_budget_t *budget,
                       kc_action_t actions[KC_POLICY_ACTIONS_MAX])
{
    int round = kc_trail_round (trail);
    if (!kc_trail_card (trail)) {
        const kc_memory_outcome_t *error = kc_trail_inspect_error (trail);
        if (error)
            return s_finish (actions, 0, false, error->text);
        actions[0] = (kc_action_t){.kind = KC_DO_INSPECT};
        return 1;
    }
    size_t n = 0;
    bool waiting = false;
    for (int lane = 0; lane < MAX_LANES; lane++) {
        const kc_try_t *t = kc_trail_try (trail, round, lane);
        kc_action_kind_t kind = t ? s_lane_next (trail, t) : KC_DO_NOTHING;
        if (kind == KC_DO_WAIT)
            waiting = true;
        else if (kind != KC_DO_NOTHING)
            actions[n++] = (kc_action_t){.kind = kind, .round = round, .lane = lane};
    }
    kc_assert (n || !waiting); // the lane that others wait for always has something to do
    if (n)
        return n;
    const kc_try_t *first = kc_trail_try (trail, round, 0);
    if (first && first->plan && first->plan->action == KC_MEMORY_PLAN_ACTION_STOP)
        return s_after_confirm (trail, first, actions);
    const kc_try_t *base = kc_trail_base (trail);
    if (base && base->round == round) { // the base moved: look at it before the next plan
        if (!base->has[KC_MEMORY_STEP_KIND_PROFILE])
            actions[0] = (kc_action_t){.kind = KC_DO_PROFILE, .round = round, .lane = base->lane};
        else if (!base->has[KC_MEMORY_STEP_KIND_MATCH] && base->evidence)
            actions[0] = (kc_action_t){.kind = KC_DO_MATCH, .round = round, .lane = base->lane};
        else
            return s_plan_round (trail, budget, round, actions);
        return 1;
    }
    return s_plan_round (trail, budget, round, actions);
}

void kc_actions_clear (kc_action_t *actions, size_t n)
{
    for (size_t i = 0; i < n; i++)
        kc_memory_plan_free (&actions[i].plan);
}
