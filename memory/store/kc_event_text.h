/* kc_event_text.h - the one place that turns a step into a line for people */
#ifndef KC_EVENT_TEXT_H
#define KC_EVENT_TEXT_H

#include "common/msg/gen/memory.h"
#include "common/util/kc_buf.h"

// What a candidate is, in few words: "ITEMS 1 -> 4 (Increase_ILP_WorkPerThread)".
void kc_event_text_candidate (kc_buf_t *out, const kc_candidate_t *candidate);
// The line of a step; 'summary' is the candidate's line at its place, NULL when there
// is none.
void kc_event_text_step (kc_buf_t *out, const kc_memory_step_append_t *in,
                         const char *summary);
// "best so far: 2.10x over the baseline, 81 % of the floor (round 3)"
void kc_event_text_best (kc_buf_t *out, const kc_memory_best_t *best);

#endif // KC_EVENT_TEXT_H
