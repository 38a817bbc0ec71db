/* kc_fs.h - files and the three directories of an installation
 *
 * run   sockets, locks          ${XDG_RUNTIME_DIR:-/tmp}/kernelclaw-$UID/<name>, mode 0700
 * data  memory.db               ${XDG_DATA_HOME:-~/.local/share}/kernelclaw/<name>
 * cache compiled code           ${XDG_CACHE_HOME:-~/.cache}/kernelclaw
 * KC_RUN, KC_DATA, KC_CACHE and the options --run --data --cache override them in that order; <name> is
 * KC_NAME, "default" when that is unset.  All descriptors are close-on-exec.
 */
#ifndef KC_FS_H
#define KC_FS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/util/kc_err.h"

typedef enum kc_dir { KC_DIR_RUN, KC_DIR_DATA, KC_DIR_CACHE } kc_dir_t;

// The path of a directory, 'given' first when not NULL; caller frees.  Does not create it.
char *kc_fs_dir (kc_dir_t dir, const char *given);
int kc_fs_mkdir (const char *path, unsigned mode, kc_err_t *err); // with parents
// The whole file, zero-terminated, at most 'max' bytes; caller frees.  NULL on failure:
// KC_ENOTFOUND, KC_EINVALID (longer than 'max'), KC_EIO.
char *kc_fs_read (const char *path, size_t max, size_t *size_p, kc_err_t *err);
// Write through a temporary name and rename; 'durable' adds fsync of file and folder.
int kc_fs_write (const char *path, const void *data, size_t size, unsigned mode, bool durable, kc_err_t *err);
bool kc_fs_exists (const char *path);
int kc_fs_remove_tree (const char *path, kc_err_t *err); // never follows links; absent is fine
// Open and flock 'path' exclusively without waiting; the descriptor, or -1 (KC_EBUSY names the holder).
// The lock lives as long as the descriptor; the pid and start time in the file are for people only.
int kc_fs_lock (const char *path, kc_err_t *err);
char *kc_fs_join (const char *a, const char *b);  // caller frees
char *kc_fs_program_dir (void);                   // folder of the running binary; caller frees

#endif // KC_FS_H
