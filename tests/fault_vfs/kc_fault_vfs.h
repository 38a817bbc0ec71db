/* kc_fault_vfs.h - a disk for tests that loses power, lies in wait or fills up
 *
 * Files opened through KC_FAULT_VFS go to real files, but the bytes since the last
 * xSync are also kept with what they replaced.  kc_fault_power_after (n) lets n more
 * writes happen, then fails every call (SQLITE_IOERR) as a machine without power would.
 * kc_fault_power_back puts the files into a state that the lost power may have left:
 * each write since its file's last sync is kept, dropped or torn by a pseudo-random
 * draw; sizes too.  kill -9 cannot show this, because the page cache survives it.
 *
 * The shim is test code for one thread: its state is one static structure.
 */
#ifndef KC_FAULT_VFS_H
#define KC_FAULT_VFS_H

#include <stddef.h>
#include <stdint.h>

#define KC_FAULT_VFS "kc-fault"

void kc_fault_install (void);
void kc_fault_clear (void); // no faults from now on; forgets what was not synced
void kc_fault_power_after (int writes, unsigned seed);
void kc_fault_power_back (void); // call when all files are closed
void kc_fault_full_after (
    int writes); // then every write that grows a file is SQLITE_FULL

uint64_t kc_fault_syncs (void); // of logs and database files, so far
size_t
kc_fault_unsynced (void); // writes to logs (-wal, -journal) that no sync has followed

#endif // KC_FAULT_VFS_H
