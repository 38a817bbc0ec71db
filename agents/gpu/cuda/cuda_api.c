// cuda_api.c - see cuda_api.h

#include "agents/gpu/cuda/cuda_api.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "agents/gpu/cuda/culib.h"
#include "common/util/kc_buf.h"
#include "common/util/kc_mem.h"

// The loader's own search first: it is where a driver package puts the library.  The
// other folders are where containers and WSL mount it.
static const char *const s_places[] = {
    "libcuda.so.1",
    "/usr/lib/x86_64-linux-gnu/libcuda.so.1",
    "/usr/lib64/libcuda.so.1",
    "/usr/local/nvidia/lib64/libcuda.so.1",
    "/usr/lib/wsl/lib/libcuda.so.1",
};

static const char *s_fill (kc_cuda_api_t *self)
{
#define KC_CUDA_LOAD(needed, field, symbol, params)                                    \
    if (kc_culib_symbol (self->handle, #symbol, &self->field) < 0 && (needed))         \
        return #symbol;
    KC_CUDA_FUNCTIONS (KC_CUDA_LOAD)
#undef KC_CUDA_LOAD
    return NULL;
}

kc_cuda_api_t *kc_cuda_api_load (kc_err_t *err)
{
    kc_cuda_api_t *self = kc_calloc (1, sizeof *self);
    kc_buf_t tried = {0};
    for (size_t i = 0; i < KC_COUNT (s_places) && !self->handle; i++) {
        self->handle = dlopen (s_places[i], RTLD_NOW | RTLD_LOCAL);
        if (self->handle)
            self->path = kc_strdup (s_places[i]);
        else
            kc_buf_printf (&tried, "%s%s", i ? ", " : "", s_places[i]);
    }
    if (!self->handle) {
        kc_fail (
            err, KC_EUNSUPPORTED,
            "no NVIDIA driver: tried %s; install the driver, or use the virtual GPU",
            kc_buf_str (&tried));
        kc_buf_free (&tried);
        kc_cuda_api_destroy (&self);
        return NULL;
    }
    kc_buf_free (&tried);
    const char *missing = s_fill (self);
    if (missing) {
        kc_fail (
            err, KC_EUNSUPPORTED,
            "the NVIDIA driver at %s has no %s: it is older than CUDA 11.8; update it",
            self->path, missing);
        kc_cuda_api_destroy (&self);
    }
    return self;
}

void kc_cuda_api_destroy (kc_cuda_api_t **self_p)
{
    if (!*self_p)
        return;
    free ((*self_p)->path);
    free (*self_p);
    *self_p = NULL;
}

void kc_cuda_error_name (const kc_cuda_api_t *self, kc_cu_result_t code, char *out,
                         size_t size)
{
    const char *name = NULL;
    if (self->GetErrorName (code, &name) || !name)
        name = "unknown CUDA error";
    snprintf (out, size, "%s (%u)", name, code);
}

bool kc_cuda_error_sticky (kc_cu_result_t code)
{
    switch (code) {
    case KC_CUDA_ERROR_ECC_UNCORRECTABLE:
    case KC_CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case KC_CUDA_ERROR_CONTAINED:
    case KC_CUDA_ERROR_ILLEGAL_ADDRESS:
    case KC_CUDA_ERROR_LAUNCH_TIMEOUT:
    case KC_CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case KC_CUDA_ERROR_ASSERT:
    case KC_CUDA_ERROR_HARDWARE_STACK_ERROR:
    case KC_CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case KC_CUDA_ERROR_MISALIGNED_ADDRESS:
    case KC_CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case KC_CUDA_ERROR_INVALID_PC:
    case KC_CUDA_ERROR_LAUNCH_FAILED:
    case KC_CUDA_ERROR_UNKNOWN:
        return true;
    default: // not an enum of ours: every other number leaves the context usable
        return false;
    }
}
