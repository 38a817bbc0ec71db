// nvrtc_api.c - see nvrtc_api.h

#include "agents/gpu/cuda/nvrtc_api.h"

#include <stdlib.h>

#include "agents/gpu/cuda/culib.h"
#include "common/util/kc_mem.h"

// Fill the table; the name of the first needed symbol that is missing, or NULL when
// complete.
static const char *s_fill (kc_nvrtc_api_t *self)
{
#define KC_NVRTC_LOAD(needed, field, symbol, params)                                   \
    if (kc_culib_symbol (self->handle, #symbol, &self->field) < 0 && (needed))         \
        return #symbol;
    KC_NVRTC_FUNCTIONS (KC_NVRTC_LOAD)
#undef KC_NVRTC_LOAD
    if (kc_culib_symbol (self->handle, "nvrtcGetErrorString", &self->GetErrorString)
        < 0)
        return "nvrtcGetErrorString";
    return NULL;
}

kc_nvrtc_api_t *kc_nvrtc_api_load (const char *where, kc_err_t *err)
{
    kc_nvrtc_api_t *self = kc_calloc (1, sizeof *self);
    self->handle = kc_culib_open (&kc_culib_nvrtc, where, &self->path, err);
    if (!self->handle) {
        kc_nvrtc_api_destroy (&self);
        return NULL;
    }
    const char *missing = s_fill (self);
    if (missing) {
        kc_fail (err, KC_EUNSUPPORTED,
                 "NVRTC at %s has no %s: it is older than CUDA 11.8; install a newer "
                 "toolkit",
                 self->path, missing);
        kc_nvrtc_api_destroy (&self);
        return NULL;
    }
    kc_nvrtc_result_t r = self->Version (&self->major, &self->minor);
    if (r) {
        kc_fail (err, KC_EUNSUPPORTED, "NVRTC at %s does not tell its version: %s",
                 self->path, self->GetErrorString (r));
        kc_nvrtc_api_destroy (&self);
    }
    return self;
}

void kc_nvrtc_api_destroy (kc_nvrtc_api_t **self_p)
{
    if (!*self_p)
        return;
    // Not unloaded: the compiler keeps thread-local state that outlives dlclose badly.
    free ((*self_p)->path);
    free (*self_p);
    *self_p = NULL;
}
