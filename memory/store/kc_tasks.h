/* kc_tasks.h - tasks and their leases
 *
 * A task is queued, running under a lease, or ended (done, failed, cancelled).  Every
 * grant and every cancellation raises the epoch; whoever carries an older one gets
 * KC_ESTALE and changes nothing, so a planner that was thought dead never writes over
 * its successor.
 *
 * The end of a lease is kept in memory on the monotonic clock; only the epoch and the
 * holder are stored.  After a start every lease found in the file gets one full term.
 * A holder that comes with another boot frees what its older boot held at once.
 * Runnable tasks are granted in the order in which they became runnable; one that lost
 * its holder goes to the end.
 *
 * Functions that change rows run inside the caller's transaction, and memory follows
 * only when every statement succeeded; when the caller's commit fails the service ends,
 * so the two never part.
 */
#ifndef KC_TASKS_H
#define KC_TASKS_H

#include "common/msg/gen/memory.h"
#include "memory/store/kc_blobs.h"
#include "memory/store/kc_events.h"

enum {
    KC_LEASE_MS = 30000,
    KC_TASK_PREFIX_MIN = 4,
    KC_TASK_FILES_BYTES = 4 * 1024 * 1024,
    KC_TASKS_LIST_BYTES = 700 * 1024,
};

typedef struct kc_tasks kc_tasks_t;

kc_tasks_t *kc_tasks_new (kc_db_t *db, kc_events_t *events, kc_blobs_t *blobs,
                          int64_t now, kc_err_t *err);
void kc_tasks_destroy (kc_tasks_t **self_p);

int kc_tasks_create (kc_tasks_t *self, const kc_memory_task_create_t *in,
                     kc_memory_task_create_reply_t *out, const kc_when_t *when,
                     kc_err_t *err);
// Grant the next runnable task; 'out->granted' is false when there is none.  A
// repetition of the same 'request' by the same holder and boot answers the same grant.
int kc_tasks_lease (kc_tasks_t *self, const kc_memory_task_lease_t *in,
                    const char *request, kc_memory_task_lease_reply_t *out,
                    const kc_when_t *when, kc_err_t *err);
int kc_tasks_renew (kc_tasks_t *self, const kc_memory_task_renew_t *in,
                    kc_memory_task_renew_reply_t *out, const kc_when_t *when,
                    kc_err_t *err);
int kc_tasks_finish (kc_tasks_t *self, const kc_memory_task_finish_t *in,
                     kc_memory_task_finish_reply_t *out, const kc_when_t *when,
                     kc_err_t *err);
int kc_tasks_cancel (kc_tasks_t *self, const kc_memory_task_cancel_t *in,
                     kc_memory_task_cancel_reply_t *out, const kc_when_t *when,
                     kc_err_t *err);
int kc_tasks_list (kc_tasks_t *self, const kc_memory_task_list_t *in,
                   kc_memory_task_list_reply_t *out, kc_err_t *err);
int kc_tasks_get (kc_tasks_t *self, const kc_memory_task_get_t *in,
                  kc_memory_task_get_reply_t *out, kc_err_t *err);

// Note a new best program; part of a step or of the end.
int kc_tasks_set_best (kc_tasks_t *self, int64_t ord, const kc_memory_best_t *best,
                       kc_err_t *err);

// Put tasks whose lease is over back into the queue; how many, or -1.
int kc_tasks_expire (kc_tasks_t *self, const kc_when_t *when, kc_err_t *err);
bool kc_tasks_any_over (const kc_tasks_t *self,
                        int64_t now); // would expire do anything?
// The same lease end for all, for tests and for a service whose own turn was late.
void kc_tasks_extend (kc_tasks_t *self, int64_t by_ms);

// The ord of a task by its full id; 0 when unknown, -1 on failure.
int64_t kc_tasks_ord (kc_tasks_t *self, const char *task, kc_err_t *err);
// The full id for an id, a unique prefix or a unique suffix; caller frees.  NULL with
// KC_ENOTFOUND or KC_EINVALID (several).
char *kc_tasks_resolve (kc_tasks_t *self, const char *word, kc_err_t *err);
// True since the last call when a task became runnable.
bool kc_tasks_woke (kc_tasks_t *self);

#endif // KC_TASKS_H
