// kc_stats.c - see kc_stats.h

#include "agents/gpu/judge/kc_stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agents/gpu/judge/kc_philox.h"
#include "common/util/kc_mem.h"

#define KC_STATS_KEY 0x6b635f7374617473ull // fixed: results must repeat

static int s_order (const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double *s_sorted (const double *values, int n)
{
    double *copy = kc_calloc ((size_t)n + 1, sizeof *copy);
    memcpy (copy, values, (size_t)n * sizeof *copy);
    qsort (copy, (size_t)n, sizeof *copy, s_order);
    return copy;
}

double kc_quantile (const double *sorted, int n, double p)
{
    if (n <= 0)
        return 0;
    const double at = p * (n - 1);
    const int i = (int)at;
    if (i >= n - 1)
        return sorted[n - 1];
    return sorted[i] + (at - i) * (sorted[i + 1] - sorted[i]);
}

double kc_median (const double *values, int n)
{
    double *sorted = s_sorted (values, n);
    const double median = kc_quantile (sorted, n, 0.5);
    free (sorted);
    return median;
}

// Samples of one series prepared for drawing: the ranks make a median a walk over
// counts.
typedef struct series {
    int n;
    double *sorted;
    int *rank; // of sample i
    int *count;
} series_t;

typedef struct ranked {
    double value;
    int index;
} ranked_t;

static int s_order_ranked (const void *a, const void *b)
{
    const ranked_t *x = a, *y = b;
    if (x->value < y->value || x->value > y->value)
        return x->value > y->value ? 1 : -1;
    return x->index - y->index;
}

static series_t s_series (const double *values, int n)
{
    series_t s = {.n = n};
    s.sorted = kc_calloc ((size_t)n, sizeof *s.sorted);
    s.rank = kc_calloc ((size_t)n, sizeof *s.rank);
    s.count = kc_calloc ((size_t)n, sizeof *s.count);
    ranked_t *order = kc_calloc ((size_t)n, sizeof *order);
    for (int i = 0; i < n; i++)
        order[i] = (ranked_t){values[i], i};
    qsort (order, (size_t)n, sizeof *order, s_order_ranked);
    for (int i = 0; i < n; i++) {
        s.sorted[i] = order[i].value;
        s.rank[order[i].index] = i;
    }
    free (order);
    return s;
}

static void s_series_free (series_t *s)
{
    free (s->sorted);
    free (s->rank);
    free (s->count);
}

// The median of the samples counted in s->count ('total' of them).
static double s_count_median (const series_t *s, int total)
{
    const int low = (total - 1) / 2, high = total / 2;
    int seen = 0;
    double a = 0;
    bool have = false;
    for (int i = 0; i < s->n; i++) {
        seen += s->count[i];
        if (!have && seen > low) {
            a = s->sorted[i];
            have = true;
        }
        if (seen > high)
            return 0.5 * (a + s->sorted[i]);
    }
    return a;
}

// One bootstrap draw: whole blocks, the same ones for all series, until n samples are
// there.
static void s_draw (series_t *series, int n_series, int n, int block, kc_u64 draw)
{
    const int blocks = (n + block - 1) / block;
    for (int s = 0; s < n_series; s++)
        memset (series[s].count, 0, (size_t)n * sizeof (int));
    kc_u32 r[4] = {0};
    for (int b = 0; b < blocks; b++) {
        if (b % 4 == 0)
            kc_philox (KC_STATS_KEY + draw, (kc_u64)b, r);
        const int from = (int)(r[b % 4] % (kc_u32)n);
        const int length = b == blocks - 1 ? n - b * block : block;
        for (int i = 0; i < length;
             i++) { // circular: every sample is drawn equally often
            const int at = (from + i) % n;
            for (int s = 0; s < n_series; s++)
                series[s].count[series[s].rank[at]]++;
        }
    }
}

static int s_block (int n)
{
    const int block = (n + KC_STATS_BLOCKS - 1) / KC_STATS_BLOCKS;
    return block < 1 ? 1 : block;
}

kc_summary_t kc_summary (const double *us, int n)
{
    kc_summary_t out = {.n = n};
    if (n <= 0)
        return out;
    double sum = 0, squares = 0;
    for (int i = 0; i < n; i++)
        sum += us[i];
    out.mean = sum / n;
    for (int i = 0; i < n; i++)
        squares += (us[i] - out.mean) * (us[i] - out.mean);
    series_t s = s_series (us, n);
    out.min = s.sorted[0];
    out.max = s.sorted[n - 1];
    out.median = kc_quantile (s.sorted, n, 0.5);
    if (n >= KC_STATS_MIN_SPREAD) {
        out.has_spread = true;
        out.stdev = sqrt (squares / (n - 1));
        out.q1 = kc_quantile (s.sorted, n, 0.25);
        out.q3 = kc_quantile (s.sorted, n, 0.75);
    }
    if (n >= KC_STATS_MIN_INTERVAL) {
        double *medians = kc_calloc (KC_STATS_DRAWS, sizeof *medians);
        for (int d = 0; d < KC_STATS_DRAWS; d++) {
            s_draw (&s, 1, n, s_block (n), (kc_u64)d);
            medians[d] = s_count_median (&s, n);
        }
        qsort (medians, KC_STATS_DRAWS, sizeof *medians, s_order);
        out.has_interval = true;
        out.lo = kc_quantile (medians, KC_STATS_DRAWS, 0.025);
        out.hi = kc_quantile (medians, KC_STATS_DRAWS, 0.975);
        free (medians);
    }
    s_series_free (&s);
    return out;
}

static kc_verdict_ratio_comparison_t s_comparison (double lo, double hi)
{
    if (lo > KC_FASTER)
        return KC_VERDICT_RATIO_COMPARISON_FASTER;
    if (hi < KC_SLOWER)
        return KC_VERDICT_RATIO_COMPARISON_SLOWER;
    if (lo >= KC_SLOWER && hi <= KC_FASTER)
        return KC_VERDICT_RATIO_COMPARISON_SAME;
    return KC_VERDICT_RATIO_COMPARISON_AMBIGUOUS;
}

kc_ratio_t kc_ratio (const double *candidate, const double *yardstick, int n,
                     bool exact)
{
    kc_ratio_t out = {.comparison = KC_VERDICT_RATIO_COMPARISON_AMBIGUOUS};
    if (n <= 0)
        return out;
    const double mine = kc_median (candidate, n), theirs = kc_median (yardstick, n);
    if (!(mine > 0) || !(theirs > 0))
        return out;
    out.value = out.lo = out.hi = theirs / mine;
    if (exact) {
        out.has_interval = true;
        out.comparison = s_comparison (out.lo, out.hi);
        return out;
    }
    if (n < KC_STATS_MIN_INTERVAL)
        return out;
    series_t s[2] = {s_series (candidate, n), s_series (yardstick, n)};
    double *ratios = kc_calloc (KC_STATS_DRAWS, sizeof *ratios);
    for (int d = 0; d < KC_STATS_DRAWS; d++) {
        s_draw (s, 2, n, s_block (n), (kc_u64)d);
        ratios[d] = s_count_median (&s[1], n) / s_count_median (&s[0], n);
    }
    qsort (ratios, KC_STATS_DRAWS, sizeof *ratios, s_order);
    out.has_interval = true;
    out.lo = kc_quantile (ratios, KC_STATS_DRAWS, 0.025);
    out.hi = kc_quantile (ratios, KC_STATS_DRAWS, 0.975);
    out.comparison = s_comparison (out.lo, out.hi);
    free (ratios);
    s_series_free (&s[0]);
    s_series_free (&s[1]);
    return out;
}
