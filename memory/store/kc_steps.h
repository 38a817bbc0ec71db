/* kc_steps.h - the trajectory of a task: what each step produced, once
 *
 * A step is unique by (task, round, lane, step).  The same content again answers the
 * same number; another content is a conflict; a holder whose epoch is over is refused,
 * also when it repeats. One transaction holds the step's row, its event, the task's
 * counters, the rows of its kind (candidate, verdict, evidence, plan, repair), the best
 * program, the cached verdict and the record of the method that was tried.  Numbers run
 * 1, 2, ... within a task, without gaps.
 */
#ifndef KC_STEPS_H
#define KC_STEPS_H

#include "common/util/kc_buf.h"
#include "common/util/kc_map.h"
#include "memory/store/kc_cache.h"
#include "memory/store/kc_events.h"
#include "memory/store/kc_records.h"
#include "memory/store/kc_tasks.h"

enum {
    KC_STEP_DOC_MAX = 1000 * 1000, // bytes of one document, so that it fits an answer
    KC_STEPS_ANSWER_MAX = 1024 * 1024 - 512, // bytes of one trajectory answer
};

typedef struct kc_steps kc_steps_t;

kc_steps_t *kc_steps_new (kc_db_t *db, kc_tasks_t *tasks, kc_events_t *events,
                          kc_cache_t *cache, kc_records_t *records);
void kc_steps_destroy (kc_steps_t **self_p);

// 'text' (may be NULL) is in->doc as it was sent, 'size' bytes of JSON: it is what is
// stored and hashed. Without it the document is encoded anew, which gives the same
// bytes for what our codec wrote.
int kc_steps_append (kc_steps_t *self, const kc_memory_step_append_t *in,
                     const char *text, size_t size, kc_memory_step_append_reply_t *out,
                     const kc_when_t *when, kc_err_t *err);
// The answer as JSON (memory.trajectory_get_reply); stored documents go into it as they
// are.
int kc_steps_get (kc_steps_t *self, const kc_memory_trajectory_get_t *in, kc_buf_t *out,
                  kc_err_t *err);
// Put into 'failed' (method -> any pointer) the methods whose candidates on this base
// were judged and did not win.  An unknown task has none.
int kc_steps_failed (kc_steps_t *self, const char *task, const char *base,
                     kc_map_t *failed, kc_err_t *err);

#endif // KC_STEPS_H
