/* kc_match.h - from evidence to a diagnosis: bottlenecks found, methods in order, each
 * with its why
 *
 * Every step of the evidence is looked at (the heaviest KC_MATCH_STEPS), weighted by
 * its share of the time; steps without a share divide equally what is left.  A
 * bottleneck is found when all its clauses are true; its weight is share x severity.  A
 * method takes its best place among the bottlenecks that name it, and has there one of
 * these states: allowed        every requirement is true, no veto is unknown nothing
 * forbids it, but a clause (or its bottleneck) cannot be decided vetoed         a
 * requirement is false or a veto is true not_required   no bottleneck names it;
 * something to try when nothing else is left exhausted      no untried change of it is
 * left on this base not_available  no coder offers it Rank = expected gain of the whole
 * run: share x saving x odds.  The saving is 1 - 1/gain, at most the severity: what is
 * not lost to a bottleneck cannot be won back from it.  Odds and gain are the method's
 * own, moved by what the method achieved so far, like contexts counting more. Mechanism
 * and expectations come with allowed and unknown methods, clauses with all but the not
 * available ones; the why sentence with every one.
 * Order: allowed, unknown, not_required, exhausted, vetoed, not_available; within a
 * state by rank.
 */
#ifndef KC_MATCH_H
#define KC_MATCH_H

#include "common/util/kc_map.h"
#include "memory/store/kc_methods.h"
#include "memory/store/kc_records.h"

enum {
    KC_MATCH_STEPS = 16,
    KC_MATCH_METHODS = 256,
    KC_MATCH_MISSING = 128,
};

// 'failed' (may be NULL) holds the methods that were tried on this base and did not
// win; it counts only when the request does not say what is available.
int kc_match (const kc_rules_t *rules, const kc_records_t *records,
              const kc_memory_method_match_t *in, const kc_map_t *failed,
              kc_memory_diagnosis_t *out, kc_err_t *err);

#endif // KC_MATCH_H
