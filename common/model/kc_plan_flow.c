// kc_plan_flow.c - what all steps together must satisfy: outputs written, scratch
// written before it is read, no step whose results nobody uses
//
// A step's ranges contain every byte it may touch, so what is found missing here is
// missing for sure; what is really written is seen by poison at run time.

#include <stdlib.h>
#include <string.h>

#include "common/model/kc_plan_build.h"
#include "common/model/kc_program.h"
#include "common/util/kc_mem.h"

typedef struct s_span {
    int64_t from, to;
} s_span_t;

typedef struct s_spans { // sorted, disjoint, not touching
    size_t n;
    s_span_t *items;
} s_spans_t;

// The first span that ends at or behind 'at'.
static size_t s_find (const s_spans_t *s, int64_t at)
{
    size_t lo = 0, hi = s->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (s->items[mid].to < at)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static bool s_overlaps (const s_spans_t *s, int64_t from, int64_t to)
{
    for (size_t i = s_find (s, from); i < s->n && s->items[i].from < to; i++)
        if (s->items[i].to > from)
            return true;
    return false;
}

static void s_replace (s_spans_t *s, size_t at, size_t old, const s_span_t *items,
                       size_t n)
{
    s_span_t *next = kc_malloc ((s->n - old + n + 1) * sizeof *next);
    if (at)
        memcpy (next, s->items, at * sizeof *next);
    memcpy (next + at, items, n * sizeof *next);
    if (s->n > at + old)
        memcpy (next + at + n, s->items + at + old, (s->n - at - old) * sizeof *next);
    free (s->items);
    s->items = next;
    s->n = s->n - old + n;
}

static void s_add (s_spans_t *s, int64_t from, int64_t to)
{
    size_t at = s_find (s, from), end = at;
    s_span_t one = {from, to};
    while (end < s->n && s->items[end].from <= to) {
        one.from = s->items[end].from < one.from ? s->items[end].from : one.from;
        one.to = s->items[end].to > one.to ? s->items[end].to : one.to;
        end++;
    }
    if (end == at + 1 && one.from == s->items[at].from && one.to == s->items[at].to)
        return;
    s_replace (s, at, end - at, &one, 1);
}

static void s_remove (s_spans_t *s, int64_t from, int64_t to)
{
    size_t at = s_find (s, from), end = at, n = 0;
    s_span_t rest[2];
    while (end < s->n && s->items[end].from < to) {
        if (s->items[end].from < from)
            rest[n++] = (s_span_t){s->items[end].from, from};
        if (s->items[end].to > to)
            rest[n++] = (s_span_t){to, s->items[end].to};
        end++;
    }
    if (end > at)
        s_replace (s, at, end - at, rest, n);
}

static void s_free (s_spans_t *spans, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free (spans[i].items);
    free (spans);
}

static bool s_given (kc_plan_role_t role) // has content before the plan runs
{
    return role == KC_ROLE_INPUT || role == KC_ROLE_PARAM || role == KC_ROLE_INOUT;
}

static bool s_result (kc_plan_role_t role)
{
    return role == KC_ROLE_OUTPUT || role == KC_ROLE_INOUT;
}

// The step overwrites its written ranges without looking at them (a kernel's T* may do
// both).
static bool s_overwrites (kc_plan_op_t op)
{
    return op != KC_PLAN_KERNEL;
}

// Forwards: every range that is only read must meet something written before.
static int s_check_reads (kc_plan_build_t *b, s_spans_t *written)
{
    kc_plan_t *plan = b->plan;
    int rc = 0;
    for (size_t i = 0; i < plan->n_steps; i++) {
        const kc_plan_step_t *s = &plan->steps[i];
        for (size_t r = 0; r < s->n_ranges; r++) {
            const kc_plan_range_t *g = &s->ranges[r];
            const kc_plan_buffer_t *buffer = &plan->buffers[g->buffer];
            if (g->writes || s_given (buffer->role)
                || s_overlaps (&written[g->buffer], g->from, g->to))
                continue;
            if (s->source_step >= 0 && b->failed[s->source_step])
                continue;
            b->env->step = s->source_step;
            rc = kc_env_bad (b->env, 0,
                             "%s is read here, but nothing has written it before%s",
                             buffer->name,
                             buffer->role == KC_ROLE_SCRATCH
                                 ? " (scratch is poisoned; = 0 zeroes it)"
                                 : "");
            if (s->source_step >= 0)
                b->failed[s->source_step] = true;
        }
        for (size_t r = 0; r < s->n_ranges; r++)
            if (s->ranges[r].writes)
                s_add (&written[s->ranges[r].buffer], s->ranges[r].from,
                       s->ranges[r].to);
    }
    b->env->step = -1;
    return rc;
}

static int s_check_outputs (kc_plan_build_t *b, const s_spans_t *written)
{
    kc_plan_t *plan = b->plan;
    int rc = 0;
    for (size_t i = 0; i < plan->n_buffers; i++) {
        const kc_plan_buffer_t *buffer = &plan->buffers[i];
        const s_spans_t *w = &written[i];
        if (buffer->role == KC_ROLE_OUTPUT && w->n == 0)
            rc = kc_env_bad (b->env, 0, "output %s is never written", buffer->name);
        else if (buffer->role == KC_ROLE_OUTPUT
                 && (w->n > 1 || w->items[0].from > 0
                     || w->items[0].to < buffer->bytes)) {
            int64_t gap = w->items[0].from > 0 ? 0 : w->items[0].to;
            rc = kc_env_bad (b->env, 0, "output %s is never written from byte %lld on",
                             buffer->name, (long long)gap);
        }
    }
    return rc;
}

// Backwards: a step is alive when it writes something that is looked at later.
static int s_check_dead (kc_plan_build_t *b, s_spans_t *live)
{
    kc_plan_t *plan = b->plan;
    int rc = 0;
    bool *alive = kc_calloc (kc_program_n_steps (b->env->program) + 1, sizeof *alive);
    for (size_t i = 0; i < plan->n_buffers; i++)
        if (s_result (plan->buffers[i].role))
            s_add (&live[i], 0, plan->buffers[i].bytes);
    for (size_t i = plan->n_steps; i-- > 0;) {
        const kc_plan_step_t *s = &plan->steps[i];
        bool used =
            s->symbol != NULL; // a __constant__ variable: its readers are not seen
        for (size_t r = 0; r < s->n_ranges && !used; r++)
            used = s->ranges[r].writes
                   && s_overlaps (&live[s->ranges[r].buffer], s->ranges[r].from,
                                  s->ranges[r].to);
        if (s->op == KC_PLAN_FILL)
            used = true;
        if (!used)
            continue;
        if (s->source_step >= 0)
            alive[s->source_step] = true;
        if (s_overwrites (s->op))
            for (size_t r = 0; r < s->n_ranges; r++)
                if (s->ranges[r].writes)
                    s_remove (&live[s->ranges[r].buffer], s->ranges[r].from,
                              s->ranges[r].to);
        for (size_t r = 0; r < s->n_ranges; r++)
            if (!s->ranges[r].writes || !s_overwrites (s->op))
                s_add (&live[s->ranges[r].buffer], s->ranges[r].from, s->ranges[r].to);
    }
    // a step of a loop may have idle turns (the last one prepares a next that does not
    // come)
    for (size_t i = 0; i < plan->n_steps; i++) {
        int source = plan->steps[i].source_step;
        if (source < 0 || alive[source])
            continue;
        alive[source] = true; // once
        b->env->step = source;
        const kc_program_step_t *step =
            kc_program_step (b->env->program, (size_t)source, NULL, NULL);
        bool kernel = step && step->kind == KC_PROGRAM_STEP_KERNEL;
        rc = kc_env_bad (b->env, 0,
                         "nothing this step%s%s writes reaches an output; remove it or "
                         "use its result",
                         kernel ? " of kernel " : "",
                         kernel ? step->u.kernel->kernel : "");
    }
    b->env->step = -1;
    free (alive);
    return rc;
}

int kc_plan_check_flow (kc_plan_build_t *b)
{
    kc_plan_t *plan = b->plan;
    s_spans_t *written = kc_calloc (plan->n_buffers + 1, sizeof *written);
    s_spans_t *live = kc_calloc (plan->n_buffers + 1, sizeof *live);
    int rc = s_check_reads (b, written);
    if (s_check_outputs (b, written) < 0 || s_check_dead (b, live) < 0)
        rc = -1;
    for (size_t i = 0; i < plan->n_buffers; i++) {
        bool writes = false;
        for (size_t s = plan->n_prepare; s < plan->n_steps && !writes; s++)
            for (size_t r = 0; r < plan->steps[s].n_ranges && !writes; r++)
                writes = plan->steps[s].ranges[r].buffer == (int)i
                         && plan->steps[s].ranges[r].writes;
        plan->buffers[i].readonly = !writes;
    }
    s_free (written, plan->n_buffers);
    s_free (live, plan->n_buffers);
    return rc;
}
