/* kc_events.h - the numbered log: 1, 2, ... without gaps, never rewritten, one line for
 * people each
 *
 * Numbers are global, so a reader that goes on after the last number it saw misses
 * nothing.  A read looks at a bounded number of rows; when it stops early its 'last' is
 * the last row it looked at.
 */
#ifndef KC_EVENTS_H
#define KC_EVENTS_H

#include "common/msg/gen/memory.h"
#include "memory/store/kc_db.h"

enum {
    KC_EVENTS_SCAN_MAX = 20000,       // rows one read looks at
    KC_EVENTS_BYTES_MAX = 700 * 1024, // of texts in one answer
    KC_EVENT_TEXT_MAX = 1000,         // characters
};

typedef struct kc_when { // the time of a batch: one for decisions, one for rows
    int64_t now;         // monotonic ms
    char at[25];         // wall clock, for people
} kc_when_t;

typedef struct kc_events kc_events_t;

typedef struct kc_event_add {
    int64_t ord; // of the task
    kc_memory_event_kind_t kind;
    bool has_place; // round, lane
    int64_t round, lane;
    kc_memory_step_kind_t step; // 0 = none
    const char *text;
} kc_event_add_t;

kc_events_t *kc_events_new (kc_db_t *db, kc_err_t *err);
void kc_events_destroy (kc_events_t **self_p);

int kc_events_add (kc_events_t *self, const kc_event_add_t *event,
                   const kc_when_t *when, kc_err_t *err);
// Read on.  *at_end_p (may be NULL) tells whether the log has no more rows for this
// reader now.
int kc_events_read (kc_events_t *self, const kc_memory_events_read_t *in,
                    kc_memory_events_read_reply_t *out, bool *at_end_p, kc_err_t *err);
int64_t kc_events_last (kc_events_t *self,
                        kc_err_t *err); // number of the newest row, 0 = none, -1

// Would one of the events added since the last kc_events_settle interest this reader?
// 'ord' is the reader's task, 0 = all.  Answers yes too often rather than too seldom.
bool kc_events_concern (const kc_events_t *self, int64_t ord,
                        const kc_memory_events_read_t *in);
void kc_events_settle (
    kc_events_t *self); // the batch is over and its readers are woken

#endif // KC_EVENTS_H
