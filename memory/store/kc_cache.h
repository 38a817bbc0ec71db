/* kc_cache.h - verdicts by everything they depend on
 *
 * The key is made by the evaluator.  What can differ the next time is never kept:
 * TIMEOUT, LAUNCH_ERROR, NO_MEASUREMENT, INFRA_ERROR, UNSUPPORTED and anything labelled
 * nondeterministic; nor a verdict that came from here.  The oldest rows go when there
 * are more than KC_CACHE_ROWS.
 */
#ifndef KC_CACHE_H
#define KC_CACHE_H

#include "common/msg/gen/verdict.h"
#include "memory/store/kc_db.h"

enum { KC_CACHE_ROWS = 50000, KC_CACHE_SLICE = 64 };

typedef struct kc_cache kc_cache_t;

kc_cache_t *kc_cache_new (kc_db_t *db, kc_err_t *err);
void kc_cache_destroy (kc_cache_t **self_p);

bool kc_cache_may_keep (const kc_verdict_t *verdict);
// Keep the verdict under its cache_key when it may be kept; 1 kept, 0 not, -1 failure.
int kc_cache_put (kc_cache_t *self, const kc_verdict_t *verdict, const char *at,
                  kc_err_t *err);
// The verdict marked as cached (caller frees) in *out_p, NULL when there is none.
int kc_cache_find (kc_cache_t *self, const char *key, kc_verdict_t **out_p,
                   kc_err_t *err);
int kc_cache_trim (kc_cache_t *self,
                   kc_err_t *err); // remove up to KC_CACHE_SLICE too old rows; how many

#endif // KC_CACHE_H
