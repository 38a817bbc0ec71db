/* kc_view.h - tasks, verdicts and histories as text for people */
#ifndef KC_VIEW_H
#define KC_VIEW_H

#include "common/msg/gen/memory.h"

void kc_view_row (const kc_memory_task_row_t *row);    // one line of a list
void kc_view_row_head (void);
void kc_view_verdict (const kc_verdict_t *verdict);    // status, times with intervals, ratios, findings
// One try: what was planned and why, what came out.
void kc_view_step (const kc_memory_step_row_t *step, bool reasons);
void kc_view_method (const kc_memory_method_row_t *row, bool whole);
void kc_view_diagnosis (const kc_memory_diagnosis_t *diagnosis);
// "1.83x" or "1.83x (estimate)"; static text is never returned, caller frees.
char *kc_view_speedup (const kc_memory_best_t *best);

#endif // KC_VIEW_H
