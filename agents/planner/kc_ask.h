/* kc_ask.h - the payloads of a planner: one request per action, and what its answer adds to the trail */
#ifndef KC_ASK_H
#define KC_ASK_H

#include "agents/planner/kc_policy.h"
#include "common/net/kc_node.h"

typedef struct kc_ask {
    const char *op;
    char *need;      // JSON, NULL = any worker
    int64_t ttl_ms;
    char *payload;   // owned
    size_t size;
} kc_ask_t;

// The step that an action's result is stored as.  KC_DO_FINISH stores none (UNSET).
kc_memory_step_kind_t kc_ask_step_kind (kc_action_kind_t kind);

// Build the request of an action (KC_DO_FINISH included, KC_DO_PLAN has none).  'probe': for an evaluation,
// ask for its cache key only.
int kc_ask_build (const kc_trail_t *trail, const char *task, int64_t epoch, const kc_task_t *document,
                  const kc_action_t *action, bool probe, kc_ask_t *out, kc_err_t *err);
void kc_ask_clear (kc_ask_t *ask);

// The answer to an action's request as a step document, NULL with 'err' when it is no such answer.
kc_memory_step_doc_t *kc_ask_product (kc_action_kind_t kind, const kc_answer_t *answer, kc_err_t *err);
// The answer to a probe: a document when the program failed before it could have a key (it is the verdict),
// else NULL and the key, "" when there is none.
kc_memory_step_doc_t *kc_ask_probed (const kc_answer_t *answer, char key[KC_SHA_HEX]);
// A stored verdict that may be used: never one that would move the base, that one is measured afresh.
kc_memory_step_doc_t *kc_ask_looked_up (const kc_answer_t *answer);

// Payloads of the memory service; caller frees.
char *kc_ask_append (const char *task, int64_t epoch, const kc_action_t *action, const kc_memory_step_doc_t *doc,
                     size_t *size_p, kc_err_t *err);
char *kc_ask_lookup (const char *key, size_t *size_p);
char *kc_ask_renew (const char *task, int64_t epoch, size_t *size_p);
char *kc_ask_trajectory (const char *task, int64_t after, size_t *size_p);

// The "best" entry of a try and its verdict; caller owns.
kc_memory_best_t *kc_ask_best (const kc_try_t *t, const kc_verdict_t *verdict);

#endif // KC_ASK_H
