/* kc_ops.h - one function per operation: typed request in, typed answer out (inside
 * kc_service only) */
#ifndef KC_OPS_H
#define KC_OPS_H

#include "common/msg/kc_codec.h"
#include "memory/store/kc_store.h"

typedef enum kc_ops_result {
    KC_OPS_REFUSED = -1, // 'err' tells; undo what it changed
    KC_OPS_DONE = 0,
    KC_OPS_REFUSED_KEEP = 1, // 'err' tells; keep what it changed
    KC_OPS_PARK = 2,         // nothing there yet; run it again when something happened
    KC_OPS_BACKUP = 3,       // answered when the backup is finished
} kc_ops_result_t;

typedef struct kc_ops_call {
    kc_store_t *store;
    const kc_when_t *when;
    const char *id;
    const char *payload; // as it was sent, valid JSON when the operation runs
    size_t payload_size;
    const void *chunk;
    size_t chunk_size;
    bool may_park;
    int64_t wait_ms;    // out: how long it may wait, when KC_OPS_PARK
    kc_buf_t raw;       // out: the answer as JSON, instead of the typed one
    kc_buf_t chunk_out; // out
} kc_ops_call_t;

typedef struct kc_ops_row {
    const char *op;            // "memory.step.append"
    const kc_type_t *in, *out; // NULL = not supported
    kc_ops_result_t (*run) (kc_ops_call_t *call, void *in, void *out, kc_err_t *err);
} kc_ops_row_t;

const kc_ops_row_t *kc_ops_find (const char *op); // NULL when unknown
const kc_ops_row_t *kc_ops_table (size_t *n_p);

#endif // KC_OPS_H
