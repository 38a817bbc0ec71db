// kc_event_text.c - see kc_event_text.h

#include "memory/store/kc_event_text.h"

#include <string.h>

#include "common/msg/kc_codec.h"

enum { CHANGES_SHOWN = 4 };

void kc_event_text_candidate (kc_buf_t *out, const kc_candidate_t *c)
{
    for (size_t i = 0; i < c->n_changes && i < CHANGES_SHOWN; i++) {
        const kc_candidate_change_t *change = &c->changes[i];
        kc_buf_printf (out, "%s%s %s%s%s", i ? ", " : "", change->name,
                       change->from ? change->from : "", change->from ? " -> " : "= ",
                       change->to);
    }
    if (c->n_changes > CHANGES_SHOWN)
        kc_buf_printf (out, " and %zu more", c->n_changes - CHANGES_SHOWN);
    if (c->n_changes == 0)
        kc_buf_printf (out, "%s program", kc_candidate_writer_name (c->writer));
    if (c->method && *c->method)
        kc_buf_printf (out, " (%s)", c->method);
}

static void s_verdict (kc_buf_t *out, const kc_verdict_t *v)
{
    kc_buf_puts (out, kc_verdict_status_name (v->status));
    if (v->status != KC_VERDICT_STATUS_OK && v->n_findings > 0)
        kc_buf_printf (out, ": %s", v->findings[0].text);
    // Over the base first: that is what the round was about.
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < v->n_ratios; i++) {
            if ((pass == 0) == (v->ratios[i].over == KC_VERDICT_RATIO_OVER_BASE))
                kc_buf_printf (out, ", %.3gx over %s", v->ratios[i].speedup,
                               kc_verdict_ratio_over_name (v->ratios[i].over));
        }
    if (v->n_ratios == 0 && v->n_timings > 0)
        kc_buf_printf (out, ", %.4g us", v->timings[0].median_us);
    for (size_t i = 0; i < v->n_labels; i++)
        kc_buf_printf (out, "%s%s", i ? ", " : " [",
                       kc_verdict_label_name (v->labels[i]));
    kc_buf_puts (out, v->n_labels ? "]" : "");
    kc_buf_puts (out, v->cached ? " (seen before)" : "");
}

static void s_evidence (kc_buf_t *out, const kc_evidence_t *e)
{
    kc_buf_puts (out, "profiled");
    if (e->has_total_us)
        kc_buf_printf (out, ": %.4g us%s", e->total_us,
                       e->estimate ? " (estimate)" : "");
    if (e->has_floor_share)
        kc_buf_printf (out, ", %.0f %% of the floor", 100 * e->floor_share);
    if (e->n_steps > 0) {
        kc_buf_printf (out, "; heaviest %s", e->steps[0].kernel);
        if (e->n_steps > 1 && e->steps[0].has_time_share)
            kc_buf_printf (out, " with %.0f %% of the time",
                           100 * e->steps[0].time_share);
    }
}

static void s_diagnosis (kc_buf_t *out, const kc_memory_diagnosis_t *d)
{
    size_t n = 0;
    const char *first = NULL;
    for (size_t i = 0; i < d->n_methods; i++) {
        if (d->methods[i].state != KC_MEMORY_RANKED_METHOD_STATE_ALLOWED)
            continue;
        first = first ? first : d->methods[i].id;
        n++;
    }
    if (d->n_bottlenecks == 0)
        kc_buf_puts (out, "no known bottleneck");
    else
        kc_buf_printf (out, "bottleneck %s%s%s (%.0f %% of the time)",
                       d->bottlenecks[0].id, d->bottlenecks[0].kernel ? " in " : "",
                       d->bottlenecks[0].kernel ? d->bottlenecks[0].kernel : "",
                       100 * d->bottlenecks[0].weight);
    if (n == 0)
        kc_buf_puts (out, "; no method is allowed");
    else
        kc_buf_printf (out, "; %zu method%s allowed, first %s", n, n == 1 ? "" : "s",
                       first);
}

static void s_plan (kc_buf_t *out, const kc_memory_plan_t *p)
{
    kc_buf_puts (out, kc_memory_plan_action_name (p->action));
    if (p->method && *p->method)
        kc_buf_printf (out, " with %s", p->method);
    if (p->has_base_round)
        kc_buf_printf (out, " from round %lld", (long long)p->base_round);
    kc_buf_printf (out, ": %s", p->why);
}

static void s_card (kc_buf_t *out, const kc_card_t *card)
{
    kc_buf_printf (out, "inspected: %s on %s", card->text ? card->text : card->name,
                   card->device->gpu);
    kc_buf_printf (out, ", floor %.4g us", card->floor->us);
}

void kc_event_text_step (kc_buf_t *out, const kc_memory_step_append_t *in,
                         const char *summary)
{
    const kc_memory_step_doc_t *doc = in->doc;
    if (in->lane > 0)
        kc_buf_printf (out, "round %lld lane %lld: ", (long long)in->round,
                       (long long)in->lane);
    else
        kc_buf_printf (out, "round %lld: ", (long long)in->round);
    if (doc->error) {
        kc_buf_printf (out, "%s gave nothing: %s (%s)",
                       kc_memory_step_kind_name (in->step), doc->error->text,
                       doc->error->code);
        return;
    }
    switch (in->step) {
    case KC_MEMORY_STEP_KIND_UNSET:
        break;
    case KC_MEMORY_STEP_KIND_INSPECT:
        s_card (out, doc->card);
        break;
    case KC_MEMORY_STEP_KIND_CODE:
        kc_buf_puts (out, "wrote ");
        kc_event_text_candidate (out, doc->candidate);
        break;
    case KC_MEMORY_STEP_KIND_REPAIR:
        if (doc->repair)
            kc_buf_printf (out, "%s %s: %s",
                           doc->repair->gave_up ? "gave up on" : "repaired by",
                           doc->repair->rule, doc->repair->why);
        else {
            kc_buf_puts (out, "repaired: ");
            kc_event_text_candidate (out, doc->candidate);
        }
        break;
    case KC_MEMORY_STEP_KIND_EVALUATE:
        if (summary)
            kc_buf_printf (out, "%s: ", summary);
        s_verdict (out, doc->verdict);
        break;
    case KC_MEMORY_STEP_KIND_PROFILE:
        s_evidence (out, doc->evidence);
        break;
    case KC_MEMORY_STEP_KIND_MATCH:
        s_diagnosis (out, doc->diagnosis);
        break;
    case KC_MEMORY_STEP_KIND_PLAN:
        s_plan (out, doc->plan);
        break;
    }
}

void kc_event_text_best (kc_buf_t *out, const kc_memory_best_t *best)
{
    kc_buf_puts (out, "best so far: ");
    if (best->has_speedup)
        kc_buf_printf (out, "%.3gx over the baseline, ", best->speedup);
    if (best->has_floor_share)
        kc_buf_printf (out, "%.0f %% of the floor, ", 100 * best->floor_share);
    kc_buf_printf (out, "round %lld%s", (long long)best->round,
                   best->estimate ? " (estimate)" : "");
}
