// kc_view.c - see kc_view.h

#include "client/kc_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/util/kc_buf.h"
#include "common/util/kc_mem.h"

char *kc_view_speedup (const kc_memory_best_t *best)
{
    if (!best || !best->has_speedup)
        return kc_strdup ("-");
    return kc_asprintf ("%.2fx%s", best->speedup, best->estimate ? " (estimate)" : "");
}

void kc_view_row_head (void)
{
    printf ("%-26s  %-9s %5s  %-18s %-20s %s\n", "TASK", "STATE", "ROUND", "SPEEDUP", "NAME", "CHANGED");
}

void kc_view_row (const kc_memory_task_row_t *row)
{
    char *speedup = kc_view_speedup (row->best);
    printf ("%-26s  %-9s %5lld  %-18s %-20.20s %.19s\n", row->task, kc_memory_state_name (row->state),
            (long long)row->round, speedup, row->name, row->changed ? row->changed : "");
    free (speedup);
}

static void s_view_timing (const kc_verdict_timing_t *t)
{
    printf ("  %-9s %10.2f us%s", kc_verdict_timing_who_name (t->who), t->median_us, t->estimate ? " (estimate)" : "");
    if (t->has_lo_us && t->has_hi_us && !t->estimate)
        printf ("  [%.2f, %.2f], median of %lld, %s", t->lo_us, t->hi_us, (long long)t->n,
                kc_verdict_timing_launch_name (t->launch));
    putchar ('\n');
}

static void s_view_finding (const kc_verdict_finding_t *f)
{
    printf ("  %s", kc_verdict_status_name (f->status));
    if (f->has_line && f->line > 0)
        printf (" line %lld", (long long)f->line);
    printf (": %s\n", f->text);
    if (f->case_)
        printf ("    seen with %s\n", f->case_);
    if (f->fix)
        printf ("    %s\n", f->fix);
}

void kc_view_verdict (const kc_verdict_t *verdict)
{
    printf ("verdict     %s", kc_verdict_status_name (verdict->status));
    for (size_t i = 0; i < verdict->n_labels; i++)
        printf ("%s%s", i ? ", " : "  [", kc_verdict_label_name (verdict->labels[i]));
    printf ("%s%s\n", verdict->n_labels ? "]" : "", verdict->cached ? "  (remembered)" : "");
    for (size_t i = 0; i < verdict->n_timings; i++)
        s_view_timing (&verdict->timings[i]);
    for (size_t i = 0; i < verdict->n_ratios; i++) {
        const kc_verdict_ratio_t *r = &verdict->ratios[i];
        printf ("  %.3fx over %s: %s", r->speedup, kc_verdict_ratio_over_name (r->over),
                kc_verdict_ratio_comparison_name (r->comparison));
        if (r->has_lo && r->has_hi)
            printf ("  [%.3f, %.3f]", r->lo, r->hi);
        putchar ('\n');
    }
    if (verdict->has_floor_share)
        printf ("  %.0f %% of the floor (speed of light)\n", 100 * verdict->floor_share);
    if (verdict->checked) {
        printf ("  checked in %lld cases and %lld runs against %s", (long long)verdict->checked->cases,
                (long long)verdict->checked->runs, kc_verdict_checked_reference_name (verdict->checked->reference));
        if (verdict->checked->has_max_scaled)
            printf (", largest error %.3g of its limit", verdict->checked->max_scaled);
        putchar ('\n');
    }
    for (size_t i = 0; i < verdict->n_findings; i++)
        s_view_finding (&verdict->findings[i]);
}

static void s_view_changes (const kc_candidate_t *c)
{
    for (size_t i = 0; i < c->n_changes; i++)
        printf ("%s%s %s -> %s", i ? ", " : " ", c->changes[i].name, c->changes[i].from ? c->changes[i].from : "unset",
                c->changes[i].to);
}

void kc_view_diagnosis (const kc_memory_diagnosis_t *d)
{
    for (size_t i = 0; i < d->n_bottlenecks; i++) {
        const kc_memory_found_bottleneck_t *b = &d->bottlenecks[i];
        printf ("  bottleneck  %s on %s, weight %.2f\n", b->id, b->kernel ? b->kernel : "the run", b->weight);
        for (size_t k = 0; k < b->n_clauses; k++)
            printf ("    %-7s %s%s%s\n", kc_memory_clause_result_value_name (b->clauses[k].value), b->clauses[k].expr,
                    b->clauses[k].because ? "   " : "", b->clauses[k].because ? b->clauses[k].because : "");
    }
    for (size_t i = 0; i < d->n_methods; i++) {
        const kc_memory_ranked_method_t *m = &d->methods[i];
        printf ("  method      %-36s %-13s rank %.3f  wins %lld losses %lld\n", m->id,
                kc_memory_ranked_method_state_name (m->state), m->rank, (long long)m->wins, (long long)m->losses);
        for (size_t k = 0; k < m->n_clauses; k++)
            printf ("    %-7s %s%s%s\n", kc_memory_clause_result_value_name (m->clauses[k].value), m->clauses[k].expr,
                    m->clauses[k].because ? "   " : "", m->clauses[k].because ? m->clauses[k].because : "");
    }
}

static void s_view_evaluated (const kc_verdict_t *v)
{
    printf (" -> %s", kc_verdict_status_name (v->status));
    for (size_t i = 0; i < v->n_ratios; i++)
        printf (", %.2fx over %s (%s)", v->ratios[i].speedup, kc_verdict_ratio_over_name (v->ratios[i].over),
                kc_verdict_ratio_comparison_name (v->ratios[i].comparison));
    if (v->status != KC_VERDICT_STATUS_OK && v->n_findings)
        printf (": %s", v->findings[0].text);
    if (v->cached)
        printf (" (remembered)");
}

void kc_view_step (const kc_memory_step_row_t *step, bool reasons)
{
    const kc_memory_step_doc_t *doc = step->doc;
    printf ("%3lld.%lld %-8s", (long long)step->round, (long long)step->lane, kc_memory_step_kind_name (step->step));
    if (doc->plan) {
        printf (" %s%s%s", kc_memory_plan_action_name (doc->plan->action), doc->plan->method ? " " : "",
                doc->plan->method ? doc->plan->method : "");
        if (reasons)
            printf (": %s", doc->plan->why);
    }
    if (doc->candidate) {
        s_view_changes (doc->candidate);
        if (!doc->candidate->n_changes && doc->candidate->note)
            printf (" %s", doc->candidate->note);
    }
    if (doc->repair)
        printf (" %s: %s", doc->repair->rule, doc->repair->why);
    if (doc->verdict)
        s_view_evaluated (doc->verdict);
    if (doc->evidence)
        printf (" %zu kernel steps, %.2f us%s", doc->evidence->n_steps, doc->evidence->has_total_us ? doc->evidence->total_us : 0.0,
                doc->evidence->estimate ? " (estimate)" : "");
    if (doc->diagnosis) {
        for (size_t i = 0; i < doc->diagnosis->n_bottlenecks && i < 3; i++)
            printf ("%s%s %.2f", i ? ", " : " ", doc->diagnosis->bottlenecks[i].id, doc->diagnosis->bottlenecks[i].weight);
    }
    if (doc->card)
        printf (" %s on %s, floor %.2f us", doc->card->name, doc->card->device->gpu, doc->card->floor->us);
    if (doc->error)
        printf (" %s: %s", doc->error->code, doc->error->text);
    printf ("  (%.2f s)\n", doc->seconds);
    if (reasons && doc->diagnosis)
        kc_view_diagnosis (doc->diagnosis);
}

static void s_view_clauses (const char *title, size_t n, const kc_method_clause_t *clauses)
{
    for (size_t i = 0; i < n; i++)
        printf ("  %-9s %s%s%s\n", title, clauses[i].expr, clauses[i].note ? "   -- " : "", clauses[i].note ? clauses[i].note : "");
}

void kc_view_method (const kc_memory_method_row_t *row, bool whole)
{
    const kc_method_method_t *m = row->method;
    if (!whole) {
        printf ("%-36s %-7s %4lld %6lld  %s\n", m->id, kc_memory_method_row_source_name (row->source),
                (long long)row->wins, (long long)row->losses, m->title);
        return;
    }
    printf ("%s (%s): %s\n  %s\n", m->id, kc_memory_method_row_source_name (row->source), m->title, m->mechanism);
    s_view_clauses ("requires", m->n_requires, m->requires);
    s_view_clauses ("veto", m->n_vetoes, m->vetoes);
    for (size_t i = 0; i < m->n_must_not; i++)
        printf ("  must not  %s\n", m->must_not[i]);
    for (size_t i = 0; i < m->n_expects; i++)
        printf ("  expects   %s %s\n", m->expects[i].field, kc_method_effect_direction_name (m->expects[i].direction));
    printf ("  prior     gain %.2f, odds %.2f; record: %lld wins, %lld losses\n", m->gain, m->odds, (long long)row->wins,
            (long long)row->losses);
}
