/* kc_blobs.h - big things by their SHA-256, as rows of the same file
 *
 * A put is resumable: parts arrive in order, a repeated part is harmless, the answer
 * says how many bytes are there.  The digest is verified when the last byte has come;
 * wrong bytes are thrown away. What no task uses goes after KC_BLOBS_KEEP_MINUTES of
 * service time (minutes in which the service ran: wall clocks jump), a few at a time.
 */
#ifndef KC_BLOBS_H
#define KC_BLOBS_H

#include "common/msg/gen/memory.h"
#include "common/util/kc_buf.h"
#include "memory/store/kc_db.h"

enum {
    KC_BLOB_PART_MAX = 1 << 20,
    KC_BLOB_MAX = 16 << 20,
    KC_BLOBS_KEEP_MINUTES = 7 * 24 * 60,
    KC_BLOBS_SLICE = 4, // removed in one turn
};

typedef struct kc_blobs kc_blobs_t;

kc_blobs_t *kc_blobs_new (kc_db_t *db, kc_err_t *err);
void kc_blobs_destroy (kc_blobs_t **self_p);

// 0; -1; or 1: refused with 'err' filled because the whole has another digest, and the
// change (the wrong bytes are gone) must be kept all the same.
int kc_blobs_put (kc_blobs_t *self, const kc_memory_blob_put_t *in, const void *chunk,
                  size_t size, kc_memory_blob_put_reply_t *out, const char *at,
                  kc_err_t *err);
// The part at in->offset, at most KC_BLOB_PART_MAX bytes, is appended to 'chunk'.
int kc_blobs_get (kc_blobs_t *self, const kc_memory_blob_get_t *in,
                  kc_memory_blob_get_reply_t *out, kc_buf_t *chunk, kc_err_t *err);
// 1 when the whole content is there (its size in *size_p), 0 when not, -1 on failure.
int kc_blobs_have (kc_blobs_t *self, const char *sha256, int64_t *size_p,
                   kc_err_t *err);
// Keep it as long as the task exists.
int kc_blobs_use (kc_blobs_t *self, const char *sha256, int64_t task_ord,
                  kc_err_t *err);
int kc_blobs_minute (kc_blobs_t *self, int64_t minutes,
                     kc_err_t *err); // service time went on
// Remove up to KC_BLOBS_SLICE old ones; how many, or -1.
int kc_blobs_expire (kc_blobs_t *self, kc_err_t *err);

#endif // KC_BLOBS_H
