/* kc_planner.h - leases tasks and keeps one drive for each; hears of cancellations */
#ifndef KC_PLANNER_H
#define KC_PLANNER_H

#include "common/net/kc_node.h"

enum {
    KC_PLANNER_TASKS_MAX = 64, // one planner's tasks at once
};

typedef struct kc_planner kc_planner_t;

// Begin to lease: at most 'tasks' at once.
kc_planner_t *kc_planner_new (kc_loop_t *loop, kc_node_t *node, int tasks);
void kc_planner_destroy (kc_planner_t **self_p);
// Take no further task and let go of the present ones (their leases run out; what is stored stays).
void kc_planner_stop (kc_planner_t *self);
int kc_planner_tasks (const kc_planner_t *self);

#endif // KC_PLANNER_H
