/* kc_fetch.h - the files of a task, brought from the memory service blob by blob and
 * checked by digest */
#ifndef KC_FETCH_H
#define KC_FETCH_H

#include "common/msg/gen/task.h"
#include "common/net/kc_node.h"

enum { KC_FETCH_FILE_MAX = 4 << 20, KC_FETCH_TTL_MS = 30000 };

typedef struct kc_fetch kc_fetch_t;
// 'data' is zero-terminated and belongs to the callee; NULL: 'err' says why.  Called
// from the loop, once.
typedef void (kc_fetch_f) (void *arg, char *data, size_t size, const kc_err_t *err);

kc_fetch_t *kc_fetch_start (kc_node_t *node, const char *flow,
                            const kc_task_file_t *file, kc_fetch_f *done, void *arg,
                            kc_err_t *err);
void kc_fetch_destroy (kc_fetch_t **self_p); // 'done' is not called any more

#endif // KC_FETCH_H
