/* kc_stats.h - medians with intervals, and which of two timings is the shorter one
 *
 * Intervals are 95 % bootstrap intervals of 10,000 draws, resampled by block of
 * neighbouring samples, so that slow drifts of a GPU widen them.  The draws come from a
 * fixed key: the same samples give the same interval. No statistic that the number of
 * samples cannot support is given (has_interval, has_spread).
 */
#ifndef KC_STATS_H
#define KC_STATS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/msg/gen/verdict.h"

enum {
    KC_STATS_DRAWS = 10000,
    KC_STATS_BLOCKS = 32,      // at most: longer series get longer blocks
    KC_STATS_MIN_INTERVAL = 5, // samples below which there is no interval
    KC_STATS_MIN_SPREAD = 3,
};
#define KC_FASTER 1.02 // the lower bound of the speed-up must exceed it
#define KC_SLOWER 0.98 // the upper bound must stay below

typedef struct kc_summary {
    int n;
    double median, mean, min, max;
    bool has_spread;
    double stdev, q1, q3;
    bool has_interval;
    double lo, hi; // of the median
} kc_summary_t;

typedef struct kc_ratio {
    double value, lo, hi; // median (yardstick) / median (candidate): above 1 = the
                          // candidate is faster
    bool has_interval;
    kc_verdict_ratio_comparison_t comparison;
} kc_ratio_t;

// Samples that are not finite and positive are an error of the caller.  n = 0 gives
// zeros.
kc_summary_t kc_summary (const double *us, int n);
// Both series interleaved, sample i of one beside sample i of the other.  With 'exact'
// (estimates of a deterministic model) the interval is the point.
kc_ratio_t kc_ratio (const double *candidate, const double *yardstick, int n,
                     bool exact);
double kc_median (const double *values, int n);
// The p-quantile (0..1) of sorted values, linear between neighbours.
double kc_quantile (const double *sorted, int n, double p);

#endif // KC_STATS_H
