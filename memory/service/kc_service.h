/* kc_service.h - the memory service without its network: requests in, answers out,
 * batches between
 *
 * Promises
 * - Requests are taken in order, up to KC_SERVICE_BATCH of them into one transaction.
 * A refused one leaves no trace.  No answer, good or bad, leaves before the transaction
 * is on the disk.
 * - task.lease and events.read that find nothing wait up to their wait_ms and are
 * answered out of order; at most KC_SERVICE_PARKED wait, then 'busy'.
 * - Everything long (backup, old blobs) runs in slices under 100 ms between batches.
 * - When the store breaks, 'broken' is called once and nothing is answered any more:
 * the process must end, and what was not answered is asked again of its successor.
 *
 * Single thread, no clock of its own: 'now' is passed in (monotonic ms).
 */
#ifndef KC_SERVICE_H
#define KC_SERVICE_H

#include "memory/store/kc_store.h"

enum {
    KC_SERVICE_BATCH = 256,
    KC_SERVICE_BATCH_BYTES = 8 * 1024 * 1024, // of requests and answers in one batch
    KC_SERVICE_QUEUE = 2048,
    KC_SERVICE_PARKED = 512,
    KC_SERVICE_RETRY_MS = 500,    // told with 'busy'
    KC_SERVICE_IDLE_MS = 5000,    // then the log is moved into the file
    KC_SERVICE_SWEEP_MS = 600000, // old blobs and cache rows
    KC_SERVICE_LATE_MS = 3000, // a turn later than this extends the leases by the delay
    KC_SERVICE_ANSWER = 1024 * 1024, // bytes of one answer
};

typedef struct kc_service kc_service_t;

typedef struct kc_service_request { // borrowed until it is answered
    const char *id, *op;
    const void *payload;
    size_t payload_size;
    const void *chunk;
    size_t chunk_size;
} kc_service_request_t;

typedef struct kc_service_out {
    void (*reply) (void *arg, const char *id, const void *payload, size_t payload_size,
                   const void *chunk, size_t chunk_size);
    void (*refuse) (void *arg, const char *id, const kc_err_t *err,
                    int64_t retry_after_ms);
    void (*broken) (void *arg, const kc_err_t *err);
    void *arg;
} kc_service_out_t;

// 'store' stays with the caller and must outlive the service.
kc_service_t *kc_service_new (kc_store_t *store, const kc_service_out_t *out,
                              int64_t now);
// Requests that are not answered are forgotten.
void kc_service_destroy (kc_service_t **self_p);

// Take a request; it is answered by a later kc_service_work, or at once when it is
// refused as busy.
void kc_service_submit (kc_service_t *self, const kc_service_request_t *request);
// The requester gave up: the request is ended with KC_ECANCELLED, unless it was
// answered already.
void kc_service_cancel (kc_service_t *self, const char *id);
// Run one batch.  True when there is more to do right away.
bool kc_service_work (kc_service_t *self, int64_t now);
// Leases, waiting requests, slices of long work; call about every 100 ms.
void kc_service_tick (kc_service_t *self, int64_t now);
// Answer everything that waits as if its time were over; new requests no longer wait.
void kc_service_stop_waiting (kc_service_t *self, int64_t now);

size_t kc_service_queued (const kc_service_t *self);
size_t kc_service_parked (const kc_service_t *self);
// The operations served, ended by NULL.
const char *const *kc_service_ops (void);

#endif // KC_SERVICE_H
