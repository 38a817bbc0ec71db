// kc_ask.c - see kc_ask.h

#include "agents/planner/kc_ask.h"

#include <stdlib.h>
#include <string.h>

#include "common/msg/gen/coder.h"
#include "common/msg/gen/evaluator.h"
#include "common/msg/gen/profiler.h"
#include "common/msg/gen/repair.h"
#include "common/util/kc_buf.h"
#include "common/util/kc_mem.h"

enum {
    TTL_GPU_MS = 3600 * 1000,   // waiting for a free GPU included
    TTL_WRITE_MS = 1800 * 1000,
    TTL_MEMORY_MS = 60 * 1000,
    BOTTLENECKS_MAX = 16,       // that a coder is told
    TRIED_MAX = 4096,
};

kc_memory_step_kind_t kc_ask_step_kind (kc_action_kind_t kind)
{
    switch (kind) {
    case KC_DO_INSPECT:
        return KC_MEMORY_STEP_KIND_INSPECT;
    case KC_DO_SEED:
    case KC_DO_CODE:
        return KC_MEMORY_STEP_KIND_CODE;
    case KC_DO_REPAIR:
        return KC_MEMORY_STEP_KIND_REPAIR;
    case KC_DO_EVALUATE:
    case KC_DO_CONFIRM:
        return KC_MEMORY_STEP_KIND_EVALUATE;
    case KC_DO_PROFILE:
        return KC_MEMORY_STEP_KIND_PROFILE;
    case KC_DO_MATCH:
        return KC_MEMORY_STEP_KIND_MATCH;
    case KC_DO_PLAN:
        return KC_MEMORY_STEP_KIND_PLAN;
    case KC_DO_NOTHING:
    case KC_DO_WAIT:
    case KC_DO_FINISH:
        break;
    }
    return KC_MEMORY_STEP_KIND_UNSET;
}

// ---- needs ----

static void s_term (kc_buf_t *b, const char *key, const char *text)
{
    kc_buf_puts (b, b->size ? "," : "[");
    kc_buf_printf (b, "{\"key\":\"%s\",\"op\":\"=\",\"text\":\"", key);
    kc_buf_json (b, text, strlen (text));
    kc_buf_puts (b, "\"}");
}

static void s_term_number (kc_buf_t *b, const char *key, long long number)
{
    kc_buf_puts (b, b->size ? "," : "[");
    kc_buf_printf (b, "{\"key\":\"%s\",\"op\":\"=\",\"number\":%lld}", key, number);
}

static char *s_need_end (kc_buf_t *b)
{
    if (!b->size)
        return NULL;
    kc_buf_putc (b, ']');
    return kc_buf_take (b);
}

// Measurements are comparable on one class of device only: the one that inspected the task.
static char *s_need_device (const kc_card_device_t *device)
{
    kc_buf_t b = {0};
    s_term (&b, "backend", kc_card_device_backend_name (device->backend));
    s_term (&b, "gpu", device->gpu);
    if (device->driver && device->driver[0])
        s_term (&b, "driver", device->driver);
    return s_need_end (&b);
}

static char *s_need_target (const kc_task_target_t *target)
{
    kc_buf_t b = {0};
    if (target && target->backend)
        s_term (&b, "backend", kc_task_target_backend_name (target->backend));
    if (target && target->gpu)
        s_term (&b, "gpu", target->gpu);
    if (target && target->has_sm)
        s_term_number (&b, "sm", (long long)target->sm);
    return s_need_end (&b);
}

// ---- requests ----

static int s_encode (const kc_type_t *type, void *object, kc_ask_t *out, kc_err_t *err)
{
    kc_errs_t errs = {0};
    out->payload = kc_type_encode (type, object, &out->size, &errs);
    kc_type_free (type, object);
    return out->payload ? 0 : kc_errs_fail (&errs, err);
}

static int s_inspect (const char *task, const kc_task_t *document, kc_ask_t *out, kc_err_t *err)
{
    kc_evaluator_inspect_t *r = kc_evaluator_inspect_new ();
    kc_set (&r->task, task);
    r->document = kc_task_dup (document);
    out->op = "evaluator.inspect";
    out->need = s_need_target (document->target);
    out->ttl_ms = TTL_GPU_MS;
    return s_encode (&kc_evaluator_inspect_type, r, out, err);
}

static int s_seed (const kc_trail_t *trail, const char *task, kc_ask_t *out, kc_err_t *err)
{
    kc_coder_seed_t *r = kc_coder_seed_new ();
    kc_set (&r->task, task);
    r->card = kc_card_dup (kc_trail_card (trail));
    out->op = "coder.seed";
    out->ttl_ms = TTL_WRITE_MS;
    return s_encode (&kc_coder_seed_type, r, out, err);
}

static kc_coder_tried_t *s_tried (const kc_trail_t *trail, size_t *n_p)
{
    kc_coder_tried_t *tried = NULL;
    *n_p = 0;
    for (size_t i = 0; i < kc_trail_n_tried (trail) && i < TRIED_MAX; i++) {
        kc_coder_tried_t *entry = kc_push (&tried, n_p, sizeof *tried);
        kc_type_init (&kc_coder_tried_type, entry);
        entry->hash = kc_strdup (kc_trail_tried_at (trail, i));
    }
    return tried;
}

// The method as the diagnosis ranked it; one that no diagnosis knows is passed by its name alone.
static kc_memory_ranked_method_t *s_method (const kc_try_t *base, const char *id)
{
    for (size_t i = 0; base->diagnosis && i < base->diagnosis->n_methods; i++)
        if (!strcmp (base->diagnosis->methods[i].id, id))
            return kc_memory_ranked_method_dup (&base->diagnosis->methods[i]);
    kc_memory_ranked_method_t *method = kc_memory_ranked_method_new ();
    kc_set (&method->id, id);
    method->state = KC_MEMORY_RANKED_METHOD_STATE_NOT_REQUIRED;
    return method;
}

static int s_optimise (const kc_trail_t *trail, const char *task, const kc_try_t *t, kc_ask_t *out, kc_err_t *err)
{
    const kc_try_t *base = kc_trail_base_before (trail, t->round);
    kc_assert (base && t->plan && t->plan->method);
    kc_coder_optimise_t *r = kc_coder_optimise_new ();
    kc_set (&r->task, task);
    r->card = kc_card_dup (kc_trail_card (trail));
    r->base = kc_candidate_dup (base->candidate);
    r->method = s_method (base, t->plan->method);
    for (size_t i = 0; base->diagnosis && i < base->diagnosis->n_bottlenecks && i < BOTTLENECKS_MAX; i++) {
        kc_memory_found_bottleneck_t *copy = kc_memory_found_bottleneck_dup (&base->diagnosis->bottlenecks[i]);
        kc_memory_found_bottleneck_t *slot = kc_push (&r->bottlenecks, &r->n_bottlenecks, sizeof *r->bottlenecks);
        *slot = *copy;
        free (copy); // its parts moved
    }
    r->tried = s_tried (trail, &r->n_tried);
    out->op = "coder.optimise";
    out->ttl_ms = TTL_WRITE_MS;
    return s_encode (&kc_coder_optimise_type, r, out, err);
}

static int s_fix (const kc_trail_t *trail, const char *task, const kc_try_t *t, kc_ask_t *out, kc_err_t *err)
{
    const kc_try_t *failed = kc_trail_try (trail, t->round - 1, t->lane);
    const kc_try_t *base = kc_trail_base_before (trail, t->round);
    kc_assert (failed && failed->candidate && failed->verdict);
    kc_repair_fix_t *r = kc_repair_fix_new ();
    kc_set (&r->task, task);
    r->card = kc_card_dup (kc_trail_card (trail));
    r->base = base ? kc_candidate_dup (base->candidate) : NULL;
    r->failed = kc_candidate_dup (failed->candidate);
    r->verdict = kc_verdict_dup (failed->verdict);
    for (const kc_try_t *link = failed; link && link->repair; link = kc_trail_try (trail, link->round - 1, link->lane)) {
        kc_memory_repair_note_t *copy = kc_memory_repair_note_dup (link->repair);
        kc_memory_repair_note_t *slot = kc_push (&r->chain, &r->n_chain, sizeof *r->chain);
        *slot = *copy;
        free (copy);
    }
    r->tried = s_tried (trail, &r->n_tried);
    out->op = "repair.fix";
    out->ttl_ms = TTL_WRITE_MS;
    return s_encode (&kc_repair_fix_type, r, out, err);
}

static void s_yardstick (kc_evaluator_evaluate_t *r, kc_evaluator_yardstick_over_t over, const kc_try_t *t)
{
    kc_evaluator_yardstick_t *y = kc_push (&r->yardsticks, &r->n_yardsticks, sizeof *r->yardsticks);
    kc_type_init (&kc_evaluator_yardstick_type, y);
    y->over = over;
    y->program = kc_program_dup (t->candidate->program);
}

static int s_evaluate (const kc_trail_t *trail, const char *task, const kc_action_t *action, bool probe, kc_ask_t *out,
                       kc_err_t *err)
{
    const kc_try_t *t = kc_trail_try (trail, action->round, action->lane);
    const kc_try_t *baseline = kc_trail_baseline (trail);
    const kc_try_t *base = kc_trail_base_before (trail, action->round);
    const kc_try_t *subject = t;
    kc_evaluator_evaluate_t *r = kc_evaluator_evaluate_new ();
    if (action->kind == KC_DO_CONFIRM) {
        subject = kc_trail_try (trail, (int)t->plan->base_round, (int)t->plan->base_lane);
        base = NULL; // the end result is measured against where it all began
        r->purpose = KC_EVALUATOR_EVALUATE_PURPOSE_CONFIRM;
    }
    kc_assert (subject && subject->candidate);
    kc_set (&r->task, task);
    r->card = kc_card_dup (kc_trail_card (trail));
    r->program = kc_program_dup (subject->candidate->program);
    r->cache_probe = probe;
    // The program that is its own yardstick is measured against itself in a final measurement only when there
    // is nothing else: a speedup of 1.00 is the honest answer then.
    if (baseline && (baseline != subject || action->kind == KC_DO_CONFIRM))
        s_yardstick (r, KC_EVALUATOR_YARDSTICK_OVER_BASELINE, baseline);
    // Also when it is the baseline itself: the record of a method is kept by its gain over the base.
    if (base && base != subject)
        s_yardstick (r, KC_EVALUATOR_YARDSTICK_OVER_BASE, base);
    out->op = "evaluator.evaluate";
    out->need = s_need_device (r->card->device);
    out->ttl_ms = TTL_GPU_MS;
    return s_encode (&kc_evaluator_evaluate_type, r, out, err);
}

static int s_profile (const kc_trail_t *trail, const char *task, const kc_try_t *t, kc_ask_t *out, kc_err_t *err)
{
    kc_profiler_profile_t *r = kc_profiler_profile_new ();
    kc_set (&r->task, task);
    r->card = kc_card_dup (kc_trail_card (trail));
    r->program = kc_program_dup (t->candidate->program);
    out->op = "profiler.profile";
    out->need = s_need_device (r->card->device);
    out->ttl_ms = TTL_GPU_MS;
    return s_encode (&kc_profiler_profile_type, r, out, err);
}

static int s_match (const kc_trail_t *trail, const char *task, const kc_try_t *t, kc_ask_t *out, kc_err_t *err)
{
    kc_memory_method_match_t *r = kc_memory_method_match_new ();
    kc_set (&r->task, task);
    kc_set (&r->base, t->hash);
    r->evidence = kc_evidence_dup (t->evidence);
    r->available = kc_policy_choices (trail, t->candidate->program, &r->n_available);
    kc_set (&r->policy, kc_card_policy_name (kc_trail_card (trail)->policy));
    out->op = "memory.method.match";
    out->ttl_ms = TTL_MEMORY_MS;
    return s_encode (&kc_memory_method_match_type, r, out, err);
}

static int s_finish (const kc_trail_t *trail, const char *task, int64_t epoch, const kc_action_t *action, kc_ask_t *out,
                     kc_err_t *err)
{
    kc_memory_task_finish_t *r = kc_memory_task_finish_new ();
    kc_set (&r->task, task);
    r->epoch = epoch;
    r->state = action->success ? KC_MEMORY_TASK_FINISH_STATE_DONE : KC_MEMORY_TASK_FINISH_STATE_FAILED;
    kc_set (&r->reason, action->reason);
    const kc_try_t *result = action->success ? kc_policy_result (trail) : NULL;
    if (result)
        r->best = kc_ask_best (result, kc_trail_try (trail, action->round, 0)->verdict);
    out->op = "memory.task.finish";
    out->ttl_ms = TTL_MEMORY_MS;
    return s_encode (&kc_memory_task_finish_type, r, out, err);
}

int kc_ask_build (const kc_trail_t *trail, const char *task, int64_t epoch, const kc_task_t *document,
                  const kc_action_t *action, bool probe, kc_ask_t *out, kc_err_t *err)
{
    const kc_try_t *t = kc_trail_try (trail, action->round, action->lane);
    switch (action->kind) {
    case KC_DO_INSPECT:
        return s_inspect (task, document, out, err);
    case KC_DO_SEED:
        return s_seed (trail, task, out, err);
    case KC_DO_CODE:
        return s_optimise (trail, task, t, out, err);
    case KC_DO_REPAIR:
        return s_fix (trail, task, t, out, err);
    case KC_DO_EVALUATE:
    case KC_DO_CONFIRM:
        return s_evaluate (trail, task, action, probe, out, err);
    case KC_DO_PROFILE:
        return s_profile (trail, task, t, out, err);
    case KC_DO_MATCH:
        return s_match (trail, task, t, out, err);
    case KC_DO_FINISH:
        return s_finish (trail, task, epoch, action, out, err);
    case KC_DO_NOTHING:
    case KC_DO_WAIT:
    case KC_DO_PLAN:
        break;
    }
    return kc_fail (err, KC_EINTERNAL, "action %d has no request", (int)action->kind);
}

void kc_ask_clear (kc_ask_t *ask)
{
    free (ask->need);
    free (ask->payload);
    *ask = (kc_ask_t){0};
}

// ---- answers ----

static void *s_decode (const kc_type_t *type, const kc_answer_t *answer, kc_err_t *err)
{
    kc_errs_t errs = {0};
    void *object = kc_type_decode (type, answer->payload, answer->payload_size, KC_WIRE, &errs);
    if (!object) {
        kc_errs_fail (&errs, err);
        kc_fail_in (err, "answer of %s", answer->from);
    }
    return object;
}

static kc_memory_outcome_t *s_outcome (const char *code, const char *text)
{
    kc_memory_outcome_t *o = kc_memory_outcome_new ();
    kc_set (&o->code, code);
    o->text = kc_utf8_clean (text, strlen (text), 1000);
    return o;
}

static void s_take_inspect (kc_evaluator_inspect_reply_t *r, kc_memory_step_doc_t *doc)
{
    doc->card = r->card;
    r->card = NULL;
    if (doc->card)
        return;
    kc_buf_t b = {0};
    for (size_t i = 0; i < r->n_refused; i++)
        kc_buf_printf (&b, "%s%s", i ? "; " : "", r->refused[i]);
    doc->error = s_outcome ("refused", b.size ? kc_buf_str (&b) : "the task was refused without a reason");
    kc_buf_free (&b);
}

static void s_take_written (kc_coder_written_t *w, kc_memory_step_doc_t *doc)
{
    doc->candidate = w->candidate;
    w->candidate = NULL;
    if (!doc->candidate)
        doc->error = s_outcome ("exhausted", w->exhausted ? w->exhausted : "the coder wrote nothing");
}

kc_memory_step_doc_t *kc_ask_product (kc_action_kind_t kind, const kc_answer_t *answer, kc_err_t *err)
{
    kc_memory_step_doc_t *doc = kc_memory_step_doc_new ();
    bool read = false;
    switch (kind) {
    case KC_DO_INSPECT: {
        kc_evaluator_inspect_reply_t *r = s_decode (&kc_evaluator_inspect_reply_type, answer, err);
        if ((read = r != NULL))
            s_take_inspect (r, doc);
        kc_evaluator_inspect_reply_free (&r);
        break;
    }
    case KC_DO_SEED: {
        kc_coder_seed_reply_t *r = s_decode (&kc_coder_seed_reply_type, answer, err);
        if ((read = r != NULL))
            s_take_written (r->written, doc);
        kc_coder_seed_reply_free (&r);
        break;
    }
    case KC_DO_CODE: {
        kc_coder_optimise_reply_t *r = s_decode (&kc_coder_optimise_reply_type, answer, err);
        if ((read = r != NULL))
            s_take_written (r->written, doc);
        kc_coder_optimise_reply_free (&r);
        break;
    }
    case KC_DO_REPAIR: {
        kc_repair_fix_reply_t *r = s_decode (&kc_repair_fix_reply_type, answer, err);
        if ((read = r != NULL)) {
            doc->candidate = r->candidate;
            doc->repair = r->note;
            r->candidate = NULL;
            r->note = NULL;
        }
        kc_repair_fix_reply_free (&r);
        break;
    }
    case KC_DO_EVALUATE:
    case KC_DO_CONFIRM: {
        kc_evaluator_evaluate_reply_t *r = s_decode (&kc_evaluator_evaluate_reply_type, answer, err);
        if ((read = r != NULL)) {
            doc->verdict = r->verdict;
            r->verdict = NULL;
        }
        kc_evaluator_evaluate_reply_free (&r);
        break;
    }
    case KC_DO_PROFILE: {
        kc_profiler_profile_reply_t *r = s_decode (&kc_profiler_profile_reply_type, answer, err);
        if ((read = r != NULL)) {
            doc->evidence = r->evidence;
            r->evidence = NULL;
        }
        kc_profiler_profile_reply_free (&r);
        break;
    }
    case KC_DO_MATCH: {
        kc_memory_method_match_reply_t *r = s_decode (&kc_memory_method_match_reply_type, answer, err);
        if ((read = r != NULL)) {
            doc->diagnosis = r->diagnosis;
            r->diagnosis = NULL;
        }
        kc_memory_method_match_reply_free (&r);
        break;
    }
    case KC_DO_NOTHING:
    case KC_DO_WAIT:
    case KC_DO_PLAN:
    case KC_DO_FINISH:
        kc_fail (err, KC_EINTERNAL, "action %d has no answer", (int)kind);
        break;
    }
    if (!read)
        kc_memory_step_doc_free (&doc);
    return doc;
}

kc_memory_step_doc_t *kc_ask_probed (const kc_answer_t *answer, char key[KC_SHA_HEX])
{
    key[0] = 0;
    kc_memory_step_doc_t *doc = kc_ask_product (KC_DO_EVALUATE, answer, NULL);
    if (!doc)
        return NULL;
    const kc_verdict_t *v = doc->verdict;
    if (v->status != KC_VERDICT_STATUS_OK)
        return doc;
    if (v->cache_key && strlen (v->cache_key) == KC_SHA_HEX - 1)
        memcpy (key, v->cache_key, KC_SHA_HEX);
    kc_memory_step_doc_free (&doc);
    return NULL;
}

kc_memory_step_doc_t *kc_ask_looked_up (const kc_answer_t *answer)
{
    kc_memory_verdict_lookup_reply_t *r = s_decode (&kc_memory_verdict_lookup_reply_type, answer, NULL);
    kc_memory_step_doc_t *doc = NULL;
    // A first right program and a faster one become the base: those are measured, not remembered.
    if (r && r->verdict && !kc_verdict_faster (r->verdict)
        && (r->verdict->status != KC_VERDICT_STATUS_OK || r->verdict->n_ratios)) {
        doc = kc_memory_step_doc_new ();
        doc->verdict = r->verdict;
        doc->verdict->cached = true;
        r->verdict = NULL;
    }
    kc_memory_verdict_lookup_reply_free (&r);
    return doc;
}

// ---- memory ----

char *kc_ask_append (const char *task, int64_t epoch, const kc_action_t *action, const kc_memory_step_doc_t *doc,
                     size_t *size_p, kc_err_t *err)
{
    kc_memory_step_append_t *r = kc_memory_step_append_new ();
    kc_set (&r->task, task);
    r->epoch = epoch;
    r->round = action->round;
    r->lane = action->lane;
    r->step = kc_ask_step_kind (action->kind);
    r->doc = kc_memory_step_doc_dup (doc);
    kc_errs_t errs = {0};
    char *payload = kc_type_encode (&kc_memory_step_append_type, r, size_p, &errs);
    kc_memory_step_append_free (&r);
    if (!payload)
        kc_errs_fail (&errs, err);
    return payload;
}

char *kc_ask_lookup (const char *key, size_t *size_p)
{
    kc_memory_verdict_lookup_t *r = kc_memory_verdict_lookup_new ();
    kc_set (&r->key, key);
    char *payload = kc_memory_verdict_lookup_encode (r, size_p);
    kc_memory_verdict_lookup_free (&r);
    return payload;
}

char *kc_ask_renew (const char *task, int64_t epoch, size_t *size_p)
{
    kc_memory_task_renew_t *r = kc_memory_task_renew_new ();
    kc_set (&r->task, task);
    r->epoch = epoch;
    char *payload = kc_memory_task_renew_encode (r, size_p);
    kc_memory_task_renew_free (&r);
    return payload;
}

char *kc_ask_trajectory (const char *task, int64_t after, size_t *size_p)
{
    kc_memory_trajectory_get_t *r = kc_memory_trajectory_get_new ();
    kc_set (&r->task, task);
    r->after = after;
    char *payload = kc_memory_trajectory_get_encode (r, size_p);
    kc_memory_trajectory_get_free (&r);
    return payload;
}

kc_memory_best_t *kc_ask_best (const kc_try_t *t, const kc_verdict_t *verdict)
{
    kc_memory_best_t *best = kc_memory_best_new ();
    best->round = t->round;
    best->lane = t->lane;
    kc_set (&best->hash, t->hash);
    // The first right program is what speedups are quoted over.
    best->has_speedup = true;
    best->speedup = verdict->n_ratios ? kc_verdict_speedup (verdict, KC_VERDICT_RATIO_OVER_BASELINE) : 1;
    for (size_t i = 0; i < verdict->n_timings; i++) {
        const kc_verdict_timing_t *timing = &verdict->timings[i];
        if (timing->who == KC_VERDICT_TIMING_WHO_CANDIDATE) {
            best->has_median_us = true;
            best->median_us = timing->median_us;
            best->estimate = timing->estimate;
        }
    }
    best->has_floor_share = verdict->has_floor_share;
    best->floor_share = verdict->floor_share;
    return best;
}
