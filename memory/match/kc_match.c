// kc_match.c - see kc_match.h for the rules this class keeps

#include "memory/match/kc_match.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/msg/kc_codec.h"
#include "common/util/kc_mem.h"

#define SHARE_MIN 0.005      // lighter steps cannot matter
#define SEVERITY_UNKNOWN 0.3 // of a bottleneck whose severity cannot be computed
#define PRIOR_WEIGHT 4.0     // outcomes that a method's own odds and gain are worth
#define PLACE_FACTOR                                                                   \
    0.97 // per place in a bottleneck's list: the most direct remedy first
#define UNKNOWN_FACTOR 0.5  // what cannot be decided is half as likely
#define UNASKED_FACTOR 0.05 // no bottleneck speaks for it
_Static_assert((int)KC_MATCH_STEPS <= (int)KC_CLAUSES_KEPT,
               "answers of all steps are kept");
enum { BECAUSE_MAX = 500, WHY_MAX = 1000 };

typedef kc_memory_ranked_method_state_t s_state_t;

typedef struct s_place { // the best place of a method
    s_state_t state;
    double value;
    int step, bottleneck; // -1 = none
    double gain, odds;
    kc_record_sum_t sum;
} s_place_t;

typedef struct s_run {
    const kc_rules_t *rules;
    const kc_records_t *records;
    const kc_memory_method_match_t *in;
    const kc_map_t *failed;
    kc_memory_diagnosis_t *out;
    size_t n_steps;
    double share[KC_MATCH_STEPS];
    kc_truth_t found[KC_MATCH_STEPS][KC_BOTTLENECKS_MAX];
    double severity[KC_MATCH_STEPS][KC_BOTTLENECKS_MAX];
    kc_truth_t fits[KC_MATCH_STEPS][KC_METHODS_MAX]; // true allowed, false vetoed
    s_place_t places[KC_METHODS_MAX];
} s_run_t;

// ---- what each step says ----

static void s_shares (s_run_t *r)
{
    const kc_evidence_t *e = r->in->evidence;
    double sum = 0;
    size_t without = 0;
    r->n_steps = e->n_steps < KC_MATCH_STEPS ? e->n_steps : KC_MATCH_STEPS;
    for (size_t i = 0; i < e->n_steps; i++) {
        sum += e->steps[i].has_time_share ? e->steps[i].time_share : 0;
        without += !e->steps[i].has_time_share;
    }
    double rest = without > 0 && sum < 1 ? (1 - sum) / (double)without : 0;
    for (size_t i = 0; i < r->n_steps; i++)
        r->share[i] = e->steps[i].has_time_share ? e->steps[i].time_share : rest;
}

// All of a list: false when one is false, else unknown when one is unknown, else true.
static kc_truth_t s_all (const kc_clauses_t *c, const int *numbers, size_t n)
{
    kc_truth_t all = KC_TRUE;
    for (size_t i = 0; i < n; i++) {
        kc_truth_t t = kc_clauses_truth (c, numbers[i]);
        if (t == KC_FALSE)
            return KC_FALSE;
        if (t == KC_UNKNOWN)
            all = KC_UNKNOWN;
    }
    return all;
}

static kc_truth_t s_fits (const kc_clauses_t *c, const kc_rule_method_t *m)
{
    kc_truth_t fits = s_all (c, m->requires, m->doc->n_requires);
    for (size_t i = 0; i < m->doc->n_vetoes && fits != KC_FALSE; i++) {
        kc_truth_t veto = kc_clauses_truth (c, m->vetoes[i]);
        if (veto == KC_TRUE)
            fits = KC_FALSE;
        else if (veto == KC_UNKNOWN)
            fits = KC_UNKNOWN;
    }
    return fits;
}

static int s_look (s_run_t *r, kc_err_t *err)
{
    const kc_rules_t *rules = r->rules;
    for (size_t s = 0; s < r->n_steps; s++) {
        if (s > 0 && r->share[s] < SHARE_MIN) {
            r->n_steps = s;
            break;
        }
        if (kc_clauses_eval (rules->clauses, s, r->in->evidence,
                             &r->in->evidence->steps[s], r->in->policy, err)
            < 0)
            return -1;
        for (size_t b = 0; b < rules->n_bottlenecks; b++) {
            const kc_rule_bottleneck_t *rule = &rules->bottlenecks[b];
            r->found[s][b] = s_all (rules->clauses, rule->when, rule->doc->n_when);
            r->severity[s][b] = rule->severity < 0
                                    ? SEVERITY_UNKNOWN
                                    : kc_clauses_number (rules->clauses, rule->severity,
                                                         SEVERITY_UNKNOWN);
        }
        for (size_t m = 0; m < rules->n_methods; m++)
            r->fits[s][m] = s_fits (rules->clauses, &rules->methods[m]);
    }
    return 0;
}

// ---- places and ranks ----

static void s_blend (s_run_t *r, size_t m, int step, int bottleneck, s_place_t *p)
{
    const kc_method_method_t *doc = r->rules->methods[m].doc;
    const kc_evidence_t *e = r->in->evidence;
    const kc_evidence_step_t *s = step >= 0 ? &e->steps[step] : NULL;
    kc_record_context_t at = {
        doc->id, bottleneck >= 0 ? r->rules->bottlenecks[bottleneck].doc->id : "",
        e->device ? e->device->gpu : "",
        s && s->structure ? kc_evidence_structure_name (s->structure) : ""};
    kc_records_sum (r->records, &at, &p->sum);
    p->odds = (PRIOR_WEIGHT * doc->odds + p->sum.wins)
              / (PRIOR_WEIGHT + p->sum.wins + p->sum.losses);
    p->gain = exp ((PRIOR_WEIGHT * log (doc->gain) + p->sum.log_gain)
                   / (PRIOR_WEIGHT + p->sum.wins));
}

static s_state_t s_state (kc_truth_t bottleneck, kc_truth_t fits)
{
    if (fits == KC_FALSE)
        return KC_MEMORY_RANKED_METHOD_STATE_VETOED;
    return bottleneck == KC_TRUE && fits == KC_TRUE
               ? KC_MEMORY_RANKED_METHOD_STATE_ALLOWED
               : KC_MEMORY_RANKED_METHOD_STATE_UNKNOWN;
}

static int s_order_of (s_state_t state)
{
    switch (state) {
    case KC_MEMORY_RANKED_METHOD_STATE_ALLOWED:
        return 0;
    case KC_MEMORY_RANKED_METHOD_STATE_UNKNOWN:
        return 1;
    case KC_MEMORY_RANKED_METHOD_STATE_NOT_REQUIRED:
        return 2;
    case KC_MEMORY_RANKED_METHOD_STATE_EXHAUSTED:
        return 3;
    case KC_MEMORY_RANKED_METHOD_STATE_VETOED:
        return 4;
    case KC_MEMORY_RANKED_METHOD_STATE_NOT_AVAILABLE:
        return 5;
    case KC_MEMORY_RANKED_METHOD_STATE_UNSET:
        break;
    }
    return 6;
}

// The place of method 'm' at one bottleneck of one step replaces a worse one.
static void s_offer (s_run_t *r, size_t m, size_t step, size_t b, size_t position)
{
    s_place_t p = {.step = (int)step, .bottleneck = (int)b};
    p.state = s_state (r->found[step][b], r->fits[step][m]);
    s_blend (r, m, (int)step, (int)b, &p);
    double saving = 1 - 1 / p.gain;
    if (saving > r->severity[step][b])
        saving = r->severity[step][b];
    p.value = r->share[step] * saving * p.odds * pow (PLACE_FACTOR, (double)position);
    if (p.state == KC_MEMORY_RANKED_METHOD_STATE_UNKNOWN)
        p.value *= UNKNOWN_FACTOR;
    s_place_t *old = &r->places[m];
    int better = s_order_of (old->state) - s_order_of (p.state);
    // A found bottleneck explains a veto better than one that may not even be there.
    if (better > 0 || (better == 0 && p.value > old->value))
        *old = p;
}

static void s_place_methods (s_run_t *r)
{
    const kc_rules_t *rules = r->rules;
    for (size_t m = 0; m < rules->n_methods; m++)
        r->places[m] = (s_place_t){.step = -1, .bottleneck = -1};
    for (size_t s = 0; s < r->n_steps; s++)
        for (size_t b = 0; b < rules->n_bottlenecks; b++)
            if (r->found[s][b] != KC_FALSE)
                for (size_t i = 0; i < rules->bottlenecks[b].doc->n_methods; i++)
                    s_offer (r, (size_t)rules->bottlenecks[b].methods[i], s, b, i);
    for (size_t m = 0; m < rules->n_methods; m++) {
        s_place_t *p = &r->places[m];
        if (p->step >= 0)
            continue;
        s_blend (r, m, r->n_steps > 0 ? 0 : -1, -1, p);
        if (r->n_steps
            == 0) { // no evidence: nothing can be said, everything may be tried
            p->state = KC_MEMORY_RANKED_METHOD_STATE_NOT_REQUIRED;
            p->value = UNASKED_FACTOR * (1 - 1 / p->gain) * p->odds;
            continue;
        }
        p->step = 0; // nothing asks for it: judged on the heaviest step
        p->state = r->fits[0][m] == KC_FALSE
                       ? KC_MEMORY_RANKED_METHOD_STATE_VETOED
                       : KC_MEMORY_RANKED_METHOD_STATE_NOT_REQUIRED;
        p->value = UNASKED_FACTOR * r->share[0] * (1 - 1 / p->gain) * p->odds;
    }
}

static const kc_memory_choice_t *s_choice (const s_run_t *r, const char *id)
{
    for (size_t i = 0; i < r->in->n_available; i++)
        if (strcmp (r->in->available[i].method, id) == 0)
            return &r->in->available[i];
    return NULL;
}

static void s_limit_to_available (s_run_t *r)
{
    for (size_t m = 0; m < r->rules->n_methods; m++) {
        const char *id = r->rules->methods[m].doc->id;
        const kc_memory_choice_t *choice = s_choice (r, id);
        s_state_t *state = &r->places[m].state;
        if (r->in->n_available > 0 && !choice)
            *state = KC_MEMORY_RANKED_METHOD_STATE_NOT_AVAILABLE;
        else if (*state == KC_MEMORY_RANKED_METHOD_STATE_VETOED)
            continue;
        else if (choice ? choice->left == 0 : r->failed && kc_map_get (r->failed, id))
            *state = KC_MEMORY_RANKED_METHOD_STATE_EXHAUSTED;
    }
}

// ---- words ----

static kc_memory_clause_result_value_t s_value (kc_truth_t t)
{
    return t == KC_TRUE    ? KC_MEMORY_CLAUSE_RESULT_VALUE_TRUE
           : t == KC_FALSE ? KC_MEMORY_CLAUSE_RESULT_VALUE_FALSE
                           : KC_MEMORY_CLAUSE_RESULT_VALUE_UNKNOWN;
}

static void s_put_clauses (const kc_clauses_t *c, const kc_method_clause_t *list,
                           const int *numbers, size_t n, bool veto,
                           kc_memory_clause_result_t **to, size_t *n_to)
{
    for (size_t i = 0; i < n; i++) {
        kc_memory_clause_result_t *out = kc_push (to, n_to, sizeof *out);
        kc_type_init (&kc_memory_clause_result_type, out);
        out->expr = kc_strdup (list[i].expr);
        kc_truth_t t = kc_clauses_truth (c, numbers[i]);
        // Why a condition stands there matters where it speaks against; the rest is in
        // method.show.
        if (t == (veto ? KC_FALSE : KC_TRUE))
            out->note = NULL;
        else if (veto) { // a note is at most 512 characters
            char *note =
                kc_asprintf ("must not hold: %.480s", list[i].note ? list[i].note : "");
            out->note =
                kc_utf8_clean (note, strlen (note), 0); // the cut may split a character
            free (note);
        }
        else
            out->note = kc_strdup (list[i].note);
        out->value = s_value (t);
        kc_buf_t because = {.limit = BECAUSE_MAX};
        kc_clauses_because (c, numbers[i], &because);
        out->because = kc_buf_take (&because);
    }
}

static void s_add_missing (s_run_t *r, const int *numbers, size_t n,
                           const char *decides)
{
    const kc_clauses_t *c = r->rules->clauses;
    for (size_t i = 0; i < n; i++) {
        const char *field;
        if (kc_clauses_truth (c, numbers[i]) != KC_UNKNOWN)
            continue;
        for (size_t k = 0; (field = kc_clauses_missing (c, numbers[i], k)) != NULL;
             k++) {
            bool known = false;
            for (size_t x = 0; x < r->out->n_missing && !known; x++)
                known = strcmp (r->out->missing[x].field, field) == 0;
            if (known || r->out->n_missing == KC_MATCH_MISSING)
                continue;
            kc_evidence_absent_t *a =
                kc_push (&r->out->missing, &r->out->n_missing, sizeof *a);
            kc_type_init (&kc_evidence_absent_type, a);
            a->field = kc_strdup (field);
            a->reason = kc_evidence_absence_parse (kc_clauses_reason (c, field));
            a->text = kc_asprintf ("would help to decide %s", decides);
        }
    }
}

static const char *s_kernel (const s_run_t *r, int step)
{
    return r->in->evidence->steps[step].kernel;
}

// The clause that decides against the method, or that cannot be decided: "registers <
// 64 is false (registers = 96)".
static void s_put_reason (const s_run_t *r, size_t m, kc_truth_t of_require,
                          kc_truth_t of_veto, kc_buf_t *out)
{
    const kc_rule_method_t *rule = &r->rules->methods[m];
    const kc_clauses_t *c = r->rules->clauses;
    static const char *const names[] = {"false", "true", "unknown"};
    for (int pass = 0; pass < 2; pass++) {
        const int *numbers = pass ? rule->vetoes : rule->requires;
        const kc_method_clause_t *list = pass ? rule->doc->vetoes : rule->doc->requires;
        size_t n = pass ? rule->doc->n_vetoes : rule->doc->n_requires;
        kc_truth_t wanted = pass ? of_veto : of_require;
        for (size_t i = 0; i < n; i++) {
            if (kc_clauses_truth (c, numbers[i]) != wanted)
                continue;
            kc_buf_printf (out, "%s is %s (", list[i].expr, names[wanted]);
            kc_clauses_because (c, numbers[i], out);
            kc_buf_putc (out, ')');
            return;
        }
    }
    kc_buf_puts (out, "its bottleneck cannot be decided");
}

static void s_put_why (const s_run_t *r, size_t m, kc_buf_t *out)
{
    const s_place_t *p = &r->places[m];
    const kc_rules_t *rules = r->rules;
    kc_truth_t fits = p->step >= 0 ? r->fits[p->step][m] : KC_UNKNOWN;
    if (p->bottleneck >= 0)
        kc_buf_printf (out, "%s %s %s, %.0f %% of the run x %.0f %% lost to it: ",
                       s_kernel (r, p->step),
                       r->found[p->step][p->bottleneck] == KC_TRUE ? "has" : "may have",
                       rules->bottlenecks[p->bottleneck].doc->id,
                       100 * r->share[p->step],
                       100 * r->severity[p->step][p->bottleneck]);
    switch (p->state) {
    case KC_MEMORY_RANKED_METHOD_STATE_UNSET:
        kc_buf_puts (out, "it has no state");
        break;
    case KC_MEMORY_RANKED_METHOD_STATE_ALLOWED:
        kc_buf_puts (out, "nothing speaks against it");
        break;
    case KC_MEMORY_RANKED_METHOD_STATE_UNKNOWN:
        kc_buf_puts (out, "not decided, ");
        s_put_reason (r, m, KC_UNKNOWN, KC_UNKNOWN, out);
        break;
    case KC_MEMORY_RANKED_METHOD_STATE_VETOED:
        kc_buf_puts (out, "not possible, ");
        s_put_reason (r, m, KC_FALSE, KC_TRUE, out);
        break;
    case KC_MEMORY_RANKED_METHOD_STATE_NOT_REQUIRED:
        kc_buf_puts (
            out, "no bottleneck asks for it; worth a trial when nothing else is left");
        break;
    case KC_MEMORY_RANKED_METHOD_STATE_EXHAUSTED:
        kc_buf_puts (out, "every change of it was tried on this base");
        break;
    case KC_MEMORY_RANKED_METHOD_STATE_NOT_AVAILABLE:
        kc_buf_puts (out, "no coder offers it for this program");
        if (fits == KC_FALSE) {
            kc_buf_puts (out, ", and ");
            s_put_reason (r, m, KC_FALSE, KC_TRUE, out);
        }
        break;
    }
    int64_t tries = p->sum.all_wins + p->sum.all_losses;
    if (tries > 0)
        kc_buf_printf (out, "; won %lld of %lld before", (long long)p->sum.all_wins,
                       (long long)tries);
    if (p->state == KC_MEMORY_RANKED_METHOD_STATE_ALLOWED)
        kc_buf_printf (out, "; %.0f %% likely, %.2gx on the step", 100 * p->odds,
                       p->gain);
}

// ---- the answer ----

static void s_put_bottleneck (s_run_t *r, size_t step, size_t b)
{
    const kc_rule_bottleneck_t *rule = &r->rules->bottlenecks[b];
    if (r->out->n_bottlenecks >= KC_BOTTLENECKS_MAX)
        return;
    kc_memory_found_bottleneck_t *out =
        kc_push (&r->out->bottlenecks, &r->out->n_bottlenecks, sizeof *out);
    kc_type_init (&kc_memory_found_bottleneck_type, out);
    out->id = kc_strdup (rule->doc->id);
    out->title = kc_strdup (rule->doc->title);
    out->step = r->in->evidence->steps[step].step;
    out->kernel = kc_strdup (s_kernel (r, (int)step));
    out->weight = r->share[step] * r->severity[step][b];
    s_put_clauses (r->rules->clauses, rule->doc->when, rule->when, rule->doc->n_when,
                   false, &out->clauses, &out->n_clauses);
}

static void s_put_expects (const kc_method_method_t *doc,
                           kc_memory_ranked_method_t *out)
{
    for (size_t i = 0; i < doc->n_expects; i++) {
        kc_method_effect_t *e = kc_push (&out->expects, &out->n_expects, sizeof *e);
        e->field = kc_strdup (doc->expects[i].field);
        e->direction = doc->expects[i].direction;
    }
}

static void s_put_method (s_run_t *r, size_t m)
{
    const kc_rule_method_t *rule = &r->rules->methods[m];
    const s_place_t *p = &r->places[m];
    kc_memory_ranked_method_t *out =
        kc_push (&r->out->methods, &r->out->n_methods, sizeof *out);
    kc_type_init (&kc_memory_ranked_method_type, out);
    out->id = kc_strdup (rule->doc->id);
    out->title = kc_strdup (rule->doc->title);
    out->state = p->state;
    out->rank = s_order_of (p->state) <= 2 ? p->value : 0;
    out->has_gain = out->has_odds = true;
    out->gain = p->gain;
    out->odds = p->odds;
    out->wins = p->sum.all_wins;
    out->losses = p->sum.all_losses;
    if (p->bottleneck >= 0)
        out->bottleneck = kc_strdup (r->rules->bottlenecks[p->bottleneck].doc->id);
    kc_buf_t why = {.limit = WHY_MAX};
    s_put_why (r, m, &why);
    out->why = kc_buf_take (&why);
    // The answer is stored with every round: what nobody can carry out is told in one
    // sentence.
    if (p->state == KC_MEMORY_RANKED_METHOD_STATE_NOT_AVAILABLE)
        return;
    if (s_order_of (p->state) <= 1) { // those a planner or a prompt may take up
        out->mechanism = kc_strdup (rule->doc->mechanism);
        s_put_expects (rule->doc, out);
    }
    if (p->step >= 0) {
        out->has_step = true;
        out->step = r->in->evidence->steps[p->step].step;
        s_put_clauses (r->rules->clauses, rule->doc->requires, rule->requires,
                       rule->doc->n_requires, false, &out->clauses, &out->n_clauses);
        s_put_clauses (r->rules->clauses, rule->doc->vetoes, rule->vetoes,
                       rule->doc->n_vetoes, true, &out->clauses, &out->n_clauses);
    }
}

// Everything that is told about one step needs that step's answers.
static void s_tell_step (s_run_t *r, size_t step)
{
    const kc_rules_t *rules = r->rules;
    kc_clauses_use (rules->clauses, step);
    for (size_t b = 0; b < rules->n_bottlenecks; b++) {
        if (r->found[step][b] == KC_TRUE)
            s_put_bottleneck (r, step, b);
        else if (r->found[step][b] == KC_UNKNOWN)
            s_add_missing (r, rules->bottlenecks[b].when,
                           rules->bottlenecks[b].doc->n_when,
                           rules->bottlenecks[b].doc->id);
    }
    for (size_t m = 0; m < rules->n_methods; m++) {
        if (r->places[m].step != (int)step
            || rules->methods[m].doc->status == KC_METHOD_METHOD_STATUS_RETIRED)
            continue;
        s_put_method (r, m);
        if (r->places[m].state == KC_MEMORY_RANKED_METHOD_STATE_UNKNOWN) {
            s_add_missing (r, rules->methods[m].requires,
                           rules->methods[m].doc->n_requires,
                           rules->methods[m].doc->id);
            s_add_missing (r, rules->methods[m].vetoes, rules->methods[m].doc->n_vetoes,
                           rules->methods[m].doc->id);
        }
    }
}

// What a coder offers under a name that no expert method has: still something to try at
// the end.
static void s_put_strangers (s_run_t *r)
{
    for (size_t i = 0; i < r->in->n_available; i++) {
        const kc_memory_choice_t *choice = &r->in->available[i];
        bool known = false;
        for (size_t m = 0; m < r->rules->n_methods && !known; m++)
            known = strcmp (r->rules->methods[m].doc->id, choice->method) == 0;
        if (known || r->out->n_methods >= KC_MATCH_METHODS)
            continue;
        kc_memory_ranked_method_t *out =
            kc_push (&r->out->methods, &r->out->n_methods, sizeof *out);
        kc_type_init (&kc_memory_ranked_method_type, out);
        out->id = kc_strdup (choice->method);
        out->state = choice->left > 0 ? KC_MEMORY_RANKED_METHOD_STATE_NOT_REQUIRED
                                      : KC_MEMORY_RANKED_METHOD_STATE_EXHAUSTED;
        out->rank = choice->left > 0 ? 1e-4 : 0;
        out->why = kc_strdup (
            "no expert method has this name; worth a trial when nothing else is left");
    }
}

static int s_by_rank (const void *a, const void *b)
{
    const kc_memory_ranked_method_t *x = a, *y = b;
    int d = s_order_of (x->state) - s_order_of (y->state);
    if (d != 0)
        return d;
    if (x->rank < y->rank || x->rank > y->rank)
        return x->rank > y->rank ? -1 : 1;
    return strcmp (x->id, y->id);
}

static int s_by_weight (const void *a, const void *b)
{
    const kc_memory_found_bottleneck_t *x = a, *y = b;
    if (x->weight < y->weight || x->weight > y->weight)
        return x->weight > y->weight ? -1 : 1;
    return x->step != y->step ? (x->step < y->step ? -1 : 1) : strcmp (x->id, y->id);
}

static void s_headroom (s_run_t *r)
{
    const kc_evidence_t *e = r->in->evidence;
    double share = NAN;
    if (e->has_floor_share)
        share = e->floor_share;
    else if (e->has_floor_us && e->has_total_us && e->total_us > 0)
        share = e->floor_us / e->total_us;
    if (isfinite (share)) {
        r->out->has_headroom = true;
        r->out->headroom = share > 1 ? 0 : 1 - share;
    }
}

int kc_match (const kc_rules_t *rules, const kc_records_t *records,
              const kc_memory_method_match_t *in, const kc_map_t *failed,
              kc_memory_diagnosis_t *out, kc_err_t *err)
{
    s_run_t *r = kc_calloc (1, sizeof *r);
    *r = (s_run_t){
        .rules = rules, .records = records, .in = in, .failed = failed, .out = out};
    s_shares (r);
    int rc = s_look (r, err);
    if (rc == 0) {
        s_place_methods (r);
        s_limit_to_available (r);
        for (size_t s = 0; s < r->n_steps; s++)
            s_tell_step (r, s);
        for (size_t m = 0; r->n_steps == 0 && m < rules->n_methods; m++)
            if (rules->methods[m].doc->status != KC_METHOD_METHOD_STATUS_RETIRED)
                s_put_method (r, m);
        s_put_strangers (r);
        s_headroom (r);
        if (out->n_methods > 1)
            qsort (out->methods, out->n_methods, sizeof *out->methods, s_by_rank);
        if (out->n_bottlenecks > 1)
            qsort (out->bottlenecks, out->n_bottlenecks, sizeof *out->bottlenecks,
                   s_by_weight);
    }
    free (r);
    return rc;
}
