/* culib.h - finding NVIDIA's libraries: --cuda, CUDA_HOME, /usr/local/cuda, Python
 * wheels, the loader's own list
 *
 * The order is the same for every library, and a failure names every folder that was
 * looked into.  Finding touches only the file system; opening maps the library for the
 * rest of the process.
 */
#ifndef KC_CULIB_H
#define KC_CULIB_H

#include "common/util/kc_err.h"

typedef struct kc_culib_spec {
    const char *what;           // "NVRTC": begins error texts
    const char *const *sonames; // best first, ended by NULL
    const char *const
        *subdirs; // below a toolkit, best first, ended by NULL; "" is the folder itself
    const char *remedy; // last sentence of the error: how to get it
} kc_culib_spec_t;

extern const kc_culib_spec_t kc_culib_nvrtc;
extern const kc_culib_spec_t kc_culib_cupti;

// The file of the library, absolute; NULL when absent.  'where' (may be NULL) is a
// toolkit's folder, a library folder or the file itself, tried first.  Caller frees.
char *kc_culib_find (const kc_culib_spec_t *spec, const char *where, kc_err_t *err);
// Open it; the handle for dlsym, or NULL.  *path_p (may be NULL) gets the file's name,
// caller frees.
void *kc_culib_open (const kc_culib_spec_t *spec, const char *where, char **path_p,
                     kc_err_t *err);
// Store the address of 'symbol' in the function pointer at 'slot'; 0, or -1 with the
// slot NULL.
int kc_culib_symbol (void *handle, const char *symbol, void *slot);

#endif // KC_CULIB_H
