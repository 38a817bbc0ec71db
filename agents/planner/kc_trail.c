// kc_trail.c - see kc_trail.h; everything is recomputed from the tries, which are few

#include "agents/planner/kc_trail.h"

#include <stdlib.h>
#include <string.h>

#include "common/util/kc_map.h"
#include "common/util/kc_mem.h"

struct kc_trail {
    size_t n_tries;
    kc_try_t *tries; // sorted by round, then lane
    size_t n_docs;
    kc_memory_step_doc_t **docs; // owns what the tries borrow
    const kc_card_t *card;
    const kc_memory_outcome_t *inspect_error;
    kc_map_t *tried; // program hash -> itself
    size_t n_hashes;
    char **hashes; // in the order of their first appearance
    double seconds;
};

kc_trail_t *kc_trail_new (void)
{
    kc_trail_t *self = kc_calloc (1, sizeof *self);
    self->tried = kc_map_new (NULL);
    return self;
}

void kc_trail_destroy (kc_trail_t **self_p)
{
    kc_trail_t *self = *self_p;
    if (!self)
        return;
    for (size_t i = 0; i < self->n_docs; i++)
        kc_memory_step_doc_free (&self->docs[i]);
    for (size_t i = 0; i < self->n_hashes; i++)
        free (self->hashes[i]);
    free (self->docs);
    free (self->hashes);
    free (self->tries);
    kc_map_destroy (&self->tried);
    free (self);
    *self_p = NULL;
}

static kc_try_t *s_find (const kc_trail_t *self, int round, int lane)
{
    for (size_t i = self->n_tries; i-- > 0;)
        if (self->tries[i].round == round && self->tries[i].lane == lane)
            return &self->tries[i];
    return NULL;
}

static kc_try_t *s_find_or_make (kc_trail_t *self, int round, int lane)
{
    kc_try_t *t = s_find (self, round, lane);
    if (t)
        return t;
    kc_push (&self->tries, &self->n_tries, sizeof *self->tries);
    size_t at = self->n_tries - 1;
    while (at > 0
           && (self->tries[at - 1].round > round
               || (self->tries[at - 1].round == round && self->tries[at - 1].lane > lane))) {
        self->tries[at] = self->tries[at - 1];
        at--;
    }
    self->tries[at] = (kc_try_t){.round = round, .lane = lane};
    return &self->tries[at];
}

static void s_note_program (kc_trail_t *self, kc_try_t *t)
{
    if (kc_type_hash (&kc_program_type, t->candidate->program, t->hash) < 0) {
        t->hash[0] = 0;
        return;
    }
    if (kc_map_get (self->tried, t->hash))
        return;
    char **slot = kc_push (&self->hashes, &self->n_hashes, sizeof *self->hashes);
    *slot = kc_strdup (t->hash);
    kc_map_put (self->tried, t->hash, self);
}

void kc_trail_add (kc_trail_t *self, int round, int lane, kc_memory_step_kind_t step, kc_memory_step_doc_t *doc)
{
    kc_memory_step_doc_t **slot = kc_push (&self->docs, &self->n_docs, sizeof *self->docs);
    *slot = doc;
    self->seconds += doc->seconds;
    kc_try_t *t = s_find_or_make (self, round, lane);
    t->has[step] = true;
    if (doc->error)
        t->error = doc->error;
    if (step == KC_MEMORY_STEP_KIND_INSPECT) {
        self->card = doc->card;
        self->inspect_error = doc->error;
    }
    if (doc->plan)
        t->plan = doc->plan;
    if (doc->repair)
        t->repair = doc->repair;
    if (doc->candidate) {
        t->candidate = doc->candidate;
        s_note_program (self, t);
    }
    if (doc->verdict)
        t->verdict = doc->verdict;
    if (doc->evidence)
        t->evidence = doc->evidence;
    if (doc->diagnosis)
        t->diagnosis = doc->diagnosis;
}

const kc_card_t *kc_trail_card (const kc_trail_t *self)
{
    return self->card;
}

const kc_memory_outcome_t *kc_trail_inspect_error (const kc_trail_t *self)
{
    return self->inspect_error;
}

int kc_trail_round (const kc_trail_t *self)
{
    return self->n_tries ? self->tries[self->n_tries - 1].round : -1;
}

const kc_try_t *kc_trail_try (const kc_trail_t *self, int round, int lane)
{
    return s_find (self, round, lane);
}

int kc_trail_lanes (const kc_trail_t *self, int round)
{
    int n = 0;
    for (size_t i = 0; i < self->n_tries; i++)
        n += self->tries[i].round == round;
    return n;
}

double kc_verdict_speedup (const kc_verdict_t *verdict, kc_verdict_ratio_over_t over)
{
    double other = 0;
    for (size_t i = 0; verdict && i < verdict->n_ratios; i++) {
        if (verdict->ratios[i].over == over)
            return verdict->ratios[i].speedup;
        other = verdict->ratios[i].speedup;
    }
    return other;
}

// Against the base where the base was measured, else against the baseline (the base was the baseline).
bool kc_verdict_faster (const kc_verdict_t *verdict)
{
    if (!verdict || verdict->status != KC_VERDICT_STATUS_OK)
        return false;
    const kc_verdict_ratio_t *ratio = NULL;
    for (size_t i = 0; i < verdict->n_ratios; i++)
        if (!ratio || verdict->ratios[i].over == KC_VERDICT_RATIO_OVER_BASE)
            ratio = &verdict->ratios[i];
    return ratio && ratio->comparison == KC_VERDICT_RATIO_COMPARISON_FASTER;
}

// A try that re-measured the best at the end (plan 'stop') made no candidate and cannot become a base.
static const kc_try_t *s_fold_base (const kc_trail_t *self, int before)
{
    const kc_try_t *base = NULL;
    for (size_t i = 0; i < self->n_tries && self->tries[i].round < before;) {
        int round = self->tries[i].round;
        const kc_try_t *winner = NULL;
        for (; i < self->n_tries && self->tries[i].round == round; i++) {
            const kc_try_t *t = &self->tries[i];
            if (!t->candidate || !t->verdict || t->verdict->status != KC_VERDICT_STATUS_OK)
                continue;
            if (base && !kc_verdict_faster (t->verdict))
                continue;
            if (!winner
                || kc_verdict_speedup (t->verdict, KC_VERDICT_RATIO_OVER_BASE)
                       > kc_verdict_speedup (winner->verdict, KC_VERDICT_RATIO_OVER_BASE))
                winner = t;
        }
        if (winner)
            base = winner;
    }
    return base;
}

const kc_try_t *kc_trail_base (const kc_trail_t *self)
{
    return s_fold_base (self, kc_trail_round (self) + 1);
}

const kc_try_t *kc_trail_base_before (const kc_trail_t *self, int round)
{
    return s_fold_base (self, round);
}

const kc_try_t *kc_trail_baseline (const kc_trail_t *self)
{
    for (size_t i = 0; i < self->n_tries; i++)
        if (self->tries[i].candidate && self->tries[i].verdict
            && self->tries[i].verdict->status == KC_VERDICT_STATUS_OK)
            return &self->tries[i];
    return NULL;
}

bool kc_trail_tried (const kc_trail_t *self, const char *hash)
{
    return kc_map_get (self->tried, hash) != NULL;
}

size_t kc_trail_n_tried (const kc_trail_t *self)
{
    return self->n_hashes;
}

const char *kc_trail_tried_at (const kc_trail_t *self, size_t index)
{
    return index < self->n_hashes ? self->hashes[index] : NULL;
}

// Does this try belong to the present base, that is, was it planned from it?
static bool s_on_base (const kc_try_t *t, const kc_try_t *base)
{
    return t->plan && base && t->plan->has_base_round && t->plan->base_round == base->round
           && t->plan->has_base_lane && t->plan->base_lane == base->lane;
}

int kc_trail_failures (const kc_trail_t *self, const char *method)
{
    const kc_try_t *base = kc_trail_base (self);
    int n = 0;
    for (size_t i = 0; i < self->n_tries; i++) {
        const kc_try_t *t = &self->tries[i];
        if (t != base && s_on_base (t, base) && t->plan->method && !strcmp (t->plan->method, method)
            && (t->verdict || t->error))
            n++;
    }
    return n;
}

bool kc_trail_exhausted (const kc_trail_t *self, const char *method)
{
    const kc_try_t *base = kc_trail_base (self);
    for (size_t i = 0; i < self->n_tries; i++) {
        const kc_try_t *t = &self->tries[i];
        if (s_on_base (t, base) && t->plan->method && !strcmp (t->plan->method, method) && t->error
            && !t->candidate && !strcmp (t->error->code, "exhausted"))
            return true;
    }
    return false;
}

int kc_trail_chain (const kc_trail_t *self, const kc_try_t *t)
{
    int n = 0;
    while (t && t->plan && t->plan->action == KC_MEMORY_PLAN_ACTION_REPAIR) {
        n++;
        t = s_find (self, t->round - 1, t->lane);
    }
    return n;
}

double kc_trail_seconds (const kc_trail_t *self)
{
    return self->seconds;
}
