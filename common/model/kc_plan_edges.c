// kc_plan_edges.c - dataflow order: two steps are ordered when one writes bytes that
// the other touches
//
// Per buffer a sorted list of segments, each with its last writer and the readers
// since.  A step's candidates are reduced to those that no other candidate implies, by
// the sets of ancestors of all steps so far (one bit per pair: 25 MB for 20,000 steps,
// only while the plan is built).

#include <stdlib.h>
#include <string.h>

#include "common/model/kc_plan_build.h"
#include "common/util/kc_mem.h"

typedef struct s_segment {
    int64_t from, to;
    int writer; // -1 = none
    size_t n_readers;
    int *readers;
} s_segment_t;

typedef struct s_segments {
    size_t n, room;
    s_segment_t *items;
} s_segments_t;

typedef struct s_edges {
    s_segments_t *buffers;
    size_t n_found, room;
    int *found;           // candidates of the step in work
    uint64_t **ancestors; // row i: bits 0 .. i - 1
} s_edges_t;

static void s_found (s_edges_t *e, int step)
{
    if (step < 0)
        return;
    if (e->n_found == e->room) {
        e->room = e->room ? 2 * e->room : 64;
        e->found = kc_realloc (e->found, e->room * sizeof *e->found);
    }
    e->found[e->n_found++] = step;
}

// Make room for one more segment at 'at'.
static s_segment_t *s_insert (s_segments_t *s, size_t at)
{
    if (s->n == s->room) {
        s->room = s->room ? 2 * s->room : 8;
        s->items = kc_realloc (s->items, s->room * sizeof *s->items);
    }
    memmove (s->items + at + 1, s->items + at, (s->n - at) * sizeof *s->items);
    s->n++;
    s->items[at] = (s_segment_t){.writer = -1};
    return &s->items[at];
}

// Cut the segment at 'at' in two at byte 'place'.
static void s_cut (s_segments_t *s, size_t at, int64_t place)
{
    s_segment_t *second = s_insert (s, at + 1), *first = &s->items[at];
    *second = *first;
    second->readers = NULL;
    second->n_readers = 0;
    for (size_t i = 0; i < first->n_readers; i++)
        *(int *)kc_push (&second->readers, &second->n_readers, sizeof (int)) =
            first->readers[i];
    first->to = second->from = place;
}

// The index of the segment that begins at 'from', cutting and filling gaps so that
// [from, to) is covered exactly by whole segments.
static size_t s_cover (s_segments_t *s, int64_t from, int64_t to)
{
    size_t lo = 0, hi = s->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (s->items[mid].to <= from)
            lo = mid + 1;
        else
            hi = mid;
    }
    size_t at = lo;
    if (at < s->n && s->items[at].from < from)
        s_cut (s, at++, from);
    size_t first = at;
    for (int64_t place = from; place < to; at++) {
        if (at == s->n || s->items[at].from > place) { // a gap
            int64_t end = at < s->n && s->items[at].from < to ? s->items[at].from : to;
            s_segment_t *gap = s_insert (s, at);
            gap->from = place;
            gap->to = end;
        }
        else if (s->items[at].to > to)
            s_cut (s, at, to);
        place = s->items[at].to;
    }
    return first;
}

static void s_access (s_edges_t *e, int step, const kc_plan_range_t *r)
{
    s_segments_t *s = &e->buffers[r->buffer];
    if (r->from >= r->to)
        return;
    for (size_t i = s_cover (s, r->from, r->to); i < s->n && s->items[i].from < r->to;
         i++) {
        s_segment_t *g = &s->items[i];
        if (g->writer != step)
            s_found (e, g->writer);
        if (!r->writes) {
            if (g->n_readers == 0 || g->readers[g->n_readers - 1] != step)
                *(int *)kc_push (&g->readers, &g->n_readers, sizeof (int)) = step;
            continue;
        }
        for (size_t k = 0; k < g->n_readers; k++)
            if (g->readers[k] != step)
                s_found (e, g->readers[k]);
        free (g->readers);
        g->readers = NULL;
        g->n_readers = 0;
        g->writer = step;
    }
}

// Segments that tell the same are joined, else a loop over views would leave one per
// turn for ever.
static void s_join (s_segments_t *s, int64_t from, int64_t to)
{
    for (size_t i = 1; i < s->n; i++) {
        s_segment_t *a = &s->items[i - 1], *b = &s->items[i];
        if (b->from > to)
            break;
        if (b->from < from || a->to != b->from || a->writer != b->writer || a->n_readers
            || b->n_readers)
            continue;
        a->to = b->to;
        memmove (b, b + 1, (s->n - i - 1) * sizeof *b);
        s->n--;
        i--;
    }
}

static int s_descending (const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x < y) - (x > y);
}

// Keep of the candidates those that are no ancestor of another one; the latest come
// first.
static void s_reduce (s_edges_t *e, kc_plan_t *plan, int step)
{
    size_t words = (size_t)step / 64 + 1;
    uint64_t *mine = e->ancestors[step] = kc_calloc (words, sizeof *mine);
    if (e->n_found == 0) // NULL may not be sorted
        return;
    qsort (e->found, e->n_found, sizeof *e->found, s_descending);
    kc_plan_step_t *s = &plan->steps[step];
    for (size_t i = 0; i < e->n_found; i++) {
        int c = e->found[i];
        if (mine[c / 64] >> (c % 64) & 1)
            continue; // known through a later one, or twice in the list
        *(int *)kc_push (&s->after, &s->n_after, sizeof (int)) = c;
        for (size_t w = 0; w <= (size_t)c / 64; w++)
            mine[w] |= e->ancestors[c][w];
        mine[c / 64] |= (uint64_t)1 << (c % 64);
    }
}

void kc_plan_edges (kc_plan_t *plan)
{
    s_edges_t e = {.buffers = kc_calloc (plan->n_buffers + 1, sizeof *e.buffers),
                   .ancestors = kc_calloc (plan->n_steps + 1, sizeof *e.ancestors)};
    bool symbols = false;
    for (size_t i = 0; i < plan->n_steps && !symbols; i++)
        symbols = plan->steps[i].symbol != NULL;
    for (size_t i = 0; i < plan->n_steps; i++) {
        e.n_found = 0;
        // reads first: a step that reads and writes the same bytes waits for the last
        // writer
        for (int writes = 0; writes < 2; writes++)
            for (size_t r = 0; r < plan->steps[i].n_ranges; r++)
                if (plan->steps[i].ranges[r].writes == writes) {
                    const kc_plan_range_t *range = &plan->steps[i].ranges[r];
                    kc_plan_role_t role = plan->buffers[range->buffer].role;
                    if (role == KC_ROLE_INPUT || role == KC_ROLE_PARAM)
                        continue; // never written: nothing to wait for
                    s_access (&e, (int)i, range);
                    if (writes)
                        s_join (&e.buffers[range->buffer], range->from, range->to);
                }
        // every __constant__ copy comes before all kernels behind it and after those
        // before it
        for (size_t k = 0; symbols && k < i; k++)
            if ((plan->steps[i].op == KC_PLAN_KERNEL && plan->steps[k].symbol)
                || (plan->steps[i].symbol && plan->steps[k].op == KC_PLAN_KERNEL))
                s_found (&e, (int)k);
        s_reduce (&e, plan, (int)i);
    }
    for (size_t i = 0; i < plan->n_steps; i++)
        free (e.ancestors[i]);
    for (size_t i = 0; i < plan->n_buffers; i++) {
        for (size_t k = 0; k < e.buffers[i].n; k++)
            free (e.buffers[i].items[k].readers);
        free (e.buffers[i].items);
    }
    free (e.buffers);
    free (e.ancestors);
    free (e.found);
}

size_t kc_plan_critical_path (const kc_plan_t *plan)
{
    if (!plan->dataflow)
        return plan->n_steps;
    size_t *depth = kc_calloc (plan->n_steps + 1, sizeof *depth), longest = 0;
    for (size_t i = 0; i < plan->n_steps; i++) {
        for (size_t k = 0; k < plan->steps[i].n_after; k++) {
            size_t d = depth[plan->steps[i].after[k]];
            depth[i] = d > depth[i] ? d : depth[i];
        }
        depth[i]++;
        longest = depth[i] > longest ? depth[i] : longest;
    }
    free (depth);
    return longest;
}
