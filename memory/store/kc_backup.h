/* kc_backup.h - a copy of the running database, made between batches
 *
 * Pages are copied through the connection that writes, so writes in between are in the
 * copy and never restart it.  A step copies for at most KC_BACKUP_STEP_MS.  Then the
 * copy is checked (integrity_check) and flushed by a thread that owns it alone, and
 * gets its name.  A copy that is given up or bad leaves no file.
 */
#ifndef KC_BACKUP_H
#define KC_BACKUP_H

#include "memory/store/kc_db.h"

enum { KC_BACKUP_PAGES = 200, KC_BACKUP_STEP_MS = 50 };

typedef struct kc_backup kc_backup_t;

// Begin; 'path' is absolute and must not exist.  NULL on failure.
kc_backup_t *kc_backup_new (kc_db_t *db, const char *path, kc_err_t *err);
// Go on for a while, outside transactions.  1 finished, 0 not yet, -1 failure.
int kc_backup_step (kc_backup_t *self, kc_err_t *err);
bool kc_backup_copying (
    const kc_backup_t *self); // a step has work; false while it is checked
int64_t kc_backup_bytes (const kc_backup_t *self);
int64_t kc_backup_pages (const kc_backup_t *self);
// Give up what is not finished; waits for the check (which it interrupts).
void kc_backup_destroy (kc_backup_t **self_p);

#endif // KC_BACKUP_H
