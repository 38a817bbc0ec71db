/* kc_tasks_own.h - what the two files of kc_tasks share; nobody else includes it */
#ifndef KC_TASKS_OWN_H
#define KC_TASKS_OWN_H

#include "common/util/kc_map.h"
#include "memory/store/kc_tasks.h"

typedef struct kc_lease {
    int64_t until; // monotonic ms
    int64_t epoch;
} kc_lease_t;

struct kc_tasks {
    kc_db_t *db;
    kc_events_t *events;
    kc_blobs_t *blobs;
    kc_map_t *leases; // task -> kc_lease_t
    bool woke;
};

// The row of a task by its full id, NULL with KC_ENOTFOUND; caller frees.
kc_memory_task_row_t *kc_tasks_row (kc_tasks_t *self, const char *task, kc_err_t *err);
// A stored task document; caller frees.
kc_task_t *kc_tasks_decode_document (const char *json, kc_err_t *err);

#endif // KC_TASKS_OWN_H
