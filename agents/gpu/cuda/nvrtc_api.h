/* nvrtc_api.h - NVIDIA's run-time compiler as we call it: our own declarations, and a
 * table filled at run time
 *
 * Found like every NVIDIA library (culib.h).  A table is immutable after loading and
 * may be used from any thread; one program object belongs to one thread at a time.  No
 * GPU and no driver is needed.
 */
#ifndef KC_NVRTC_API_H
#define KC_NVRTC_API_H

#include <stddef.h>

#include "common/util/kc_err.h"

typedef unsigned kc_nvrtc_result_t; // 0 is success
typedef struct _nvrtcProgram *kc_nvrtc_program_t;

// X (name in the real header, value): an enum KC_<name> here, compared with <name> by
// the test.
#define KC_NVRTC_CONSTANTS(X)                                                          \
    X (NVRTC_SUCCESS, 0)                                                               \
    X (NVRTC_ERROR_OUT_OF_MEMORY, 1)                                                   \
    X (NVRTC_ERROR_INVALID_OPTION, 5)                                                  \
    X (NVRTC_ERROR_COMPILATION, 6)                                                     \
    X (NVRTC_ERROR_BUILTIN_OPERATION_FAILURE, 7)                                       \
    X (NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID, 10)                                      \
    X (NVRTC_ERROR_INTERNAL_ERROR, 11)

enum {
#define KC_NVRTC_CONSTANT(name, value) KC_##name = value,
    KC_NVRTC_CONSTANTS (KC_NVRTC_CONSTANT)
#undef KC_NVRTC_CONSTANT
};

// X (needed, field of the table, exported symbol, parameters): each returns
// kc_nvrtc_result_t.
#define KC_NVRTC_FUNCTIONS(X)                                                          \
    X (1, Version, nvrtcVersion, (int *, int *))                                       \
    X (0, GetNumSupportedArchs, nvrtcGetNumSupportedArchs, (int *))                    \
    X (0, GetSupportedArchs, nvrtcGetSupportedArchs, (int *))                          \
    X (1, CreateProgram, nvrtcCreateProgram,                                           \
       (kc_nvrtc_program_t *, const char *, const char *, int, const char *const *,    \
        const char *const *))                                                          \
    X (1, DestroyProgram, nvrtcDestroyProgram, (kc_nvrtc_program_t *))                 \
    X (1, CompileProgram, nvrtcCompileProgram,                                         \
       (kc_nvrtc_program_t, int, const char *const *))                                 \
    X (1, GetPTXSize, nvrtcGetPTXSize, (kc_nvrtc_program_t, size_t *))                 \
    X (1, GetPTX, nvrtcGetPTX, (kc_nvrtc_program_t, char *))                           \
    X (1, GetCUBINSize, nvrtcGetCUBINSize, (kc_nvrtc_program_t, size_t *))             \
    X (1, GetCUBIN, nvrtcGetCUBIN, (kc_nvrtc_program_t, char *))                       \
    X (1, GetProgramLogSize, nvrtcGetProgramLogSize, (kc_nvrtc_program_t, size_t *))   \
    X (1, GetProgramLog, nvrtcGetProgramLog, (kc_nvrtc_program_t, char *))             \
    X (1, AddNameExpression, nvrtcAddNameExpression,                                   \
       (kc_nvrtc_program_t, const char *))                                             \
    X (1, GetLoweredName, nvrtcGetLoweredName,                                         \
       (kc_nvrtc_program_t, const char *, const char **))                              \
    X (0, SetFlowCallback, nvrtcSetFlowCallback,                                       \
       (kc_nvrtc_program_t, int (*) (void *, void *), void *))

typedef struct kc_nvrtc_api {
#define KC_NVRTC_FIELD(needed, field, symbol, params) kc_nvrtc_result_t (*field) params;
    KC_NVRTC_FUNCTIONS (KC_NVRTC_FIELD)
#undef KC_NVRTC_FIELD
    const char *(*GetErrorString) (kc_nvrtc_result_t);
    void *handle;
    char *path;       // where the library was found
    int major, minor; // of the compiler, asked at loading
} kc_nvrtc_api_t;

/* Find, open and ask the version; NULL with 'err' (KC_EUNSUPPORTED) naming every place
 * tried.  'where': a toolkit's folder, the library's folder or the library itself; may
 * be NULL.  A sandboxed compile child gets the path that its parent found with
 * kc_culib_find (&kc_culib_nvrtc, ...). */
kc_nvrtc_api_t *kc_nvrtc_api_load (const char *where, kc_err_t *err);
void kc_nvrtc_api_destroy (kc_nvrtc_api_t **self_p);

#endif // KC_NVRTC_API_H
