/* kc_judge.h - from measurements to a verdict: findings, timings, ratios, labels, cache
 * key
 *
 * Everything here is a pure function of what it is given; the verdict is a kc_verdict_t
 * under construction (kc_judge_new).  The first finding decides the status; a verdict
 * without finding is OK.
 */
#ifndef KC_JUDGE_H
#define KC_JUDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agents/gpu/judge/kc_compare.h"
#include "common/msg/gen/card.h"
#include "common/msg/gen/program.h"
#include "common/msg/gen/runner.h"
#include "common/msg/gen/verdict.h"
#include "common/util/kc_hash.h"

enum {
    KC_JUDGE_VERSION = 2, // raise whenever a verdict can change
    KC_JUDGE_FINDINGS = 8,
};
#define KC_IMPOSSIBLE_SHARE 0.95 // of the byte floor
#define KC_AUDIT_SHARE 1.05      // of the whole floor
#define KC_AUDIT_SPEEDUP 10.0    // over the baseline

// An OK verdict without anything in it, of the present version.
kc_verdict_t *kc_judge_new (const kc_card_t *card);
// Add a finding: the first one sets the status.  The entry (strings unset but 'text'),
// or NULL when full.
kc_verdict_finding_t *kc_judge_finding (kc_verdict_t *v, kc_verdict_status_t status,
                                        const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));
// Copy a finding; 'name' (may be NULL) becomes its case.
void kc_judge_add (kc_verdict_t *v, const kc_verdict_finding_t *finding,
                   const char *name);
void kc_judge_label (kc_verdict_t *v, kc_verdict_label_t label);
bool kc_judge_has_label (const kc_verdict_t *v, kc_verdict_label_t label);

// Note a finished comparison of output 'tensor' in the counts of 'checked', and when it
// is wrong, why. True when it was right.
bool kc_judge_output (kc_verdict_t *v, const kc_compare_t *c, bool right,
                      const char *tensor, const int64_t *sizes, int rank,
                      const char *name);

// The shortest time that the compulsory bytes allow: reads plus writes beyond the L2,
// at the specified bandwidth; microseconds, 0 = unknown.
double kc_judge_byte_floor (const kc_card_t *card);
// Add the timing of 'who'; false (NO_MEASUREMENT) when there is no sample or one is not
// a positive number.
bool kc_judge_timing (kc_verdict_t *v, kc_verdict_timing_who_t who, const double *us,
                      int n, bool graph, bool estimate);
// Add the ratio over a yardstick.
void kc_judge_ratio (kc_verdict_t *v, kc_verdict_ratio_over_t over,
                     const double *candidate, const double *yardstick, int n,
                     bool estimate);
// After timings and ratios: floor share, IMPOSSIBLE and the audit label.  'second' =
// this evaluation is a second one with fresh seeds: an audit has passed.
void kc_judge_floor (kc_verdict_t *v, const kc_card_t *card, bool second);
// Resources of the candidate's kernels.
void kc_judge_kernels (kc_verdict_t *v, const kc_runner_kernel_t *kernels, size_t n);

// May this verdict be stored under its key and used again?
bool kc_judge_cacheable (const kc_verdict_t *v);

typedef struct kc_judge_key {
    const char *code_hash; // of the candidate
    const kc_card_t *card;
    const char *const *yardsticks; // hashes of their programs, by role
    size_t n_yardsticks;
    const char *compiler;
    bool timed;
} kc_judge_key_t;
// The cache key (contracts 6); -1 when the card breaks its schema.
int kc_judge_cache_key (const kc_judge_key_t *key, char hex[KC_SHA_HEX]);

#endif // KC_JUDGE_H
