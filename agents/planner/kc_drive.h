/* kc_drive.h - drives one leased task: asks the policy, makes the requests, stores every step
 *
 * A step counts only once memory.step.append has answered; then the policy is asked again.  The drive
 * ends by itself (finished, lease lost, cancelled) and says so once through on_end; the owner then
 * destroys it.  All on the loop's thread.
 */
#ifndef KC_DRIVE_H
#define KC_DRIVE_H

#include "common/msg/gen/task.h"
#include "common/net/kc_node.h"

typedef struct kc_drive kc_drive_t;
typedef void (kc_drive_end_f) (void *arg, kc_drive_t *drive);

// 'document' is copied.
kc_drive_t *kc_drive_new (kc_loop_t *loop, kc_node_t *node, const char *task, int64_t epoch,
                          const kc_task_t *document, kc_drive_end_f *on_end, void *arg);
// Cancels what is open; nothing is called afterwards.
void kc_drive_destroy (kc_drive_t **self_p);
const char *kc_drive_task (const kc_drive_t *self);
// Stop without finishing: the task was cancelled, or the planner goes.
void kc_drive_abandon (kc_drive_t *self, const char *why);

#endif // KC_DRIVE_H
