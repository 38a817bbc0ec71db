/* kc_records.h - what methods achieved: wins and losses by method, bottleneck, GPU and
 * structure
 *
 * A win is a candidate that was right and clearly faster than its base; a loss one that
 * was wrong or not faster.  A failure of ours (INFRA_ERROR, NO_MEASUREMENT) and a
 * verdict that came from the cache are no news.  The table is small; all of it is also
 * kept in memory, because matching reads it.
 */
#ifndef KC_RECORDS_H
#define KC_RECORDS_H

#include "memory/store/kc_db.h"

enum {
    KC_RECORDS_MAX = 65536
}; // contexts; beyond it new ones are counted under "" only

typedef struct kc_records kc_records_t;

typedef struct kc_record_context { // any may be "" (not known)
    const char *method, *bottleneck, *gpu, *structure;
} kc_record_context_t;

typedef struct kc_record_sum {
    double wins, losses; // weighted by how alike the context is
    double log_gain;     // sum over the wins, weighted
    int64_t all_wins, all_losses;
    double all_log_gain;
} kc_record_sum_t;

kc_records_t *kc_records_new (kc_db_t *db, kc_err_t *err);
void kc_records_destroy (kc_records_t **self_p);

// Count one outcome; 'gain' (over the base) matters for a win only.  Inside a
// transaction.
int kc_records_add (kc_records_t *self, const kc_record_context_t *at, bool won,
                    double gain, const char *when, kc_err_t *err);
// Read memory anew from the file, after a transaction that counted was undone.
int kc_records_reload (kc_records_t *self, kc_err_t *err);
bool kc_records_dirty (
    const kc_records_t *self);               // counted since the last kc_records_settle
void kc_records_settle (kc_records_t *self); // what was counted is committed

// All outcomes of a method, those of a like context counting more.
void kc_records_sum (const kc_records_t *self, const kc_record_context_t *at,
                     kc_record_sum_t *out);

#endif // KC_RECORDS_H
