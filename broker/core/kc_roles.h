/* kc_roles.h - the closed table of operations: who may call them, who may serve them,
 * which cost money
 *
 * No other edge exists.  A new operation is a new row here.
 */
#ifndef KC_ROLES_H
#define KC_ROLES_H

#include <stdbool.h>
#include <stddef.h>

typedef enum kc_role { // the order of "role" in kcp.schema.json
    KC_ROLE_NONE = 0,
    KC_ROLE_CLIENT,
    KC_ROLE_PLANNER,
    KC_ROLE_CODER,
    KC_ROLE_REPAIR,
    KC_ROLE_EVALUATOR,
    KC_ROLE_PROFILER,
    KC_ROLE_MEMORY,
    KC_ROLE_ADMIN,
    KC_ROLE_COUNT
} kc_role_t;

typedef struct kc_op {
    const char *name;
    kc_role_t server; // the role that serves it; KC_ROLE_NONE = the broker itself
    unsigned callers; // bits 1 << kc_role_t
    bool paid;        // may cost money: never granted by a broker that just started
    bool chunk;       // may carry a binary chunk
} kc_op_t;

size_t kc_op_count (void);
const kc_op_t *kc_op_at (size_t index);
const kc_op_t *kc_op_find (const char *name); // NULL when there is no such operation
bool kc_op_may_call (const kc_op_t *op, kc_role_t role);
kc_role_t kc_role_parse (const char *name); // KC_ROLE_NONE when unknown
const char *kc_role_name (kc_role_t role);

#endif // KC_ROLES_H
