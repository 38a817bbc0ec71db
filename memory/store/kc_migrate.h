/* kc_migrate.h - the versions of memory.db and the way from each to the next
 *
 * user_version in the file's header is the version.  Each step runs in one transaction
 * together with the change of user_version and a check; before the first step over
 * existing data a backup
 * "<path>.v<N>.bak" is written.  A file newer than this program is refused, never
 * changed.
 */
#ifndef KC_MIGRATE_H
#define KC_MIGRATE_H

#include "memory/store/kc_db.h"

enum { KC_MIGRATE_NEWEST = 2 };

// Bring the file to 'version' (KC_MIGRATE_NEWEST for a service; less only in tests).
int kc_migrate (kc_db_t *db, int version, kc_err_t *err);

#endif // KC_MIGRATE_H
