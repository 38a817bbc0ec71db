// kc_cache.c - see kc_cache.h for the rules this class keeps

#include "memory/store/kc_cache.h"

#include <stdlib.h>
#include <string.h>

#include "common/msg/kc_codec.h"
#include "common/util/kc_mem.h"

static const char SQL_PUT[] =
    "INSERT OR REPLACE INTO verdict_cache (key, verdict, at) VALUES (?1, ?2, ?3)";
static const char SQL_FIND[] = "SELECT verdict FROM verdict_cache WHERE key = ?1";
static const char SQL_TRIM[] =
    "DELETE FROM verdict_cache WHERE id IN (SELECT id FROM verdict_cache WHERE id <= "
    "(SELECT max (id) FROM verdict_cache) - ?1 ORDER BY id LIMIT ?2)";

struct kc_cache {
    kc_db_t *db;
};

kc_cache_t *kc_cache_new (kc_db_t *db, kc_err_t *err)
{
    (void)err;
    kc_cache_t *self = kc_calloc (1, sizeof *self);
    self->db = db;
    return self;
}

void kc_cache_destroy (kc_cache_t **self_p)
{
    free (*self_p);
    *self_p = NULL;
}

static bool s_status_lasts (kc_verdict_status_t status)
{
    switch (status) {
    case KC_VERDICT_STATUS_OK:
    case KC_VERDICT_STATUS_COMPILE_ERROR:
    case KC_VERDICT_STATUS_PLAN_ERROR:
    case KC_VERDICT_STATUS_OUT_OF_BOUNDS:
    case KC_VERDICT_STATUS_RACE:
    case KC_VERDICT_STATUS_BARRIER_DIVERGENCE:
    case KC_VERDICT_STATUS_WRONG_OUTPUT:
    case KC_VERDICT_STATUS_INPUT_MUTATED:
    case KC_VERDICT_STATUS_IMPOSSIBLE:
        return true;
    case KC_VERDICT_STATUS_UNSET:
    case KC_VERDICT_STATUS_LAUNCH_ERROR:
    case KC_VERDICT_STATUS_TIMEOUT:
    case KC_VERDICT_STATUS_UNSUPPORTED: // a newer evaluator on the same device may know
                                        // it
    case KC_VERDICT_STATUS_NO_MEASUREMENT:
    case KC_VERDICT_STATUS_INFRA_ERROR:
        return false;
    }
    return false;
}

bool kc_cache_may_keep (const kc_verdict_t *verdict)
{
    for (size_t i = 0; i < verdict->n_labels; i++)
        if (verdict->labels[i] == KC_VERDICT_LABEL_NONDETERMINISTIC)
            return false;
    return verdict->cache_key && strlen (verdict->cache_key) == KC_SHA_HEX - 1
           && !verdict->cached && s_status_lasts (verdict->status);
}

int kc_cache_put (kc_cache_t *self, const kc_verdict_t *verdict, const char *at,
                  kc_err_t *err)
{
    if (!kc_cache_may_keep (verdict))
        return 0;
    kc_errs_t errs = {0};
    char *json = kc_type_encode (&kc_verdict_type, verdict, NULL, &errs);
    if (!json)
        return kc_errs_fail (&errs, err);
    int rc = kc_db_run (self->db, err, SQL_PUT, "sss", verdict->cache_key, json, at);
    free (json);
    return rc < 0 ? -1 : 1;
}

int kc_cache_find (kc_cache_t *self, const char *key, kc_verdict_t **out_p,
                   kc_err_t *err)
{
    *out_p = NULL;
    sqlite3_stmt *q = kc_db_query (self->db, err, SQL_FIND, "s", key);
    int rc = q ? kc_db_step (self->db, q, err) : -1;
    if (rc <= 0)
        return rc;
    const char *json = kc_db_text (q, 0);
    kc_errs_t errs = {0};
    *out_p = kc_verdict_decode (json, strlen (json), KC_WIRE, &errs);
    kc_db_done (q);
    if (*out_p) // a row of an older schema that no longer reads is a miss, not a
                // failure
        (*out_p)->cached = true;
    return 0;
}

int kc_cache_trim (kc_cache_t *self, kc_err_t *err)
{
    return kc_db_run (self->db, err, SQL_TRIM, "ii", (int64_t)KC_CACHE_ROWS,
                      (int64_t)KC_CACHE_SLICE);
}
