/* kc_store.h - memory.db as a whole: open it, bring it up to date, run batches of
 * requests
 *
 * A batch is one transaction; each request in it has a mark of its own, so a refused
 * one leaves no trace and the others stay.  Nothing may be answered before
 * kc_store_commit has returned 0: that is when the disk has it.  When a commit fails
 * the file is as before the batch and the store is broken: the process must end and
 * start anew (kc_store_broken).
 */
#ifndef KC_STORE_H
#define KC_STORE_H

#include "memory/store/kc_backup.h"
#include "memory/store/kc_blobs.h"
#include "memory/store/kc_cache.h"
#include "memory/store/kc_events.h"
#include "memory/store/kc_methods.h"
#include "memory/store/kc_records.h"
#include "memory/store/kc_steps.h"
#include "memory/store/kc_tasks.h"

typedef struct kc_store_config {
    kc_db_config_t db;
    const char *experts; // folder of shipped methods; NULL = load none
} kc_store_config_t;

typedef struct kc_store { // the parts; owned, read-only for callers
    kc_db_t *db;
    kc_events_t *events;
    kc_blobs_t *blobs;
    kc_tasks_t *tasks;
    kc_cache_t *cache;
    kc_records_t *records;
    kc_steps_t *steps;
    kc_methods_t *methods;
} kc_store_t;

kc_store_t *kc_store_open (const kc_store_config_t *config, const kc_when_t *when,
                           kc_err_t *err);
void kc_store_close (kc_store_t **self_p);

int kc_store_begin (kc_store_t *self, kc_err_t *err);
int kc_store_commit (kc_store_t *self, kc_err_t *err);
int kc_store_mark (kc_store_t *self, kc_err_t *err);
int kc_store_keep (kc_store_t *self, kc_err_t *err);
int kc_store_undo (kc_store_t *self,
                   kc_err_t *err); // also takes back what memory had counted
bool kc_store_broken (const kc_store_t *self, kc_err_t *err);

// Figures for people: name and value, appended to the reply.
int kc_store_stats (kc_store_t *self, kc_memory_stats_reply_t *out, kc_err_t *err);
void kc_store_stat (kc_memory_stats_reply_t *out, const char *name, double value);

// Old blobs and cache rows go a few at a time; 1 when there may be more, 0 done, -1
// failure.
int kc_store_sweep (kc_store_t *self, kc_err_t *err);

#endif // KC_STORE_H
