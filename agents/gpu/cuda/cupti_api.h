/* cupti_api.h - CUPTI's functions that we call, in a table filled at run time
 *
 * The only header of ours that includes NVIDIA's: the records of CUPTI are large and
 * change with versions. Built only where those headers were found (KC_HAVE_CUPTI);
 * cuda_prof.c hides that from everyone else. CUPTI's profiler header includes the C++
 * header <string>; an empty file of that name in cupti_include/ satisfies it.
 */
#ifndef KC_CUPTI_API_H
#define KC_CUPTI_API_H

#include <stdbool.h>
#include <stddef.h>

#include <cuda.h>

#include <cupti_activity.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#include <cupti_version.h>

#include "common/util/kc_err.h"

#define KC_CUPTI_FUNCTIONS(X)                                                          \
    X (GetVersion)                                                                     \
    X (GetResultString)                                                                \
    X (ActivityRegisterCallbacks)                                                      \
    X (ActivityEnable)                                                                 \
    X (ActivityDisable)                                                                \
    X (ActivityFlushAll)                                                               \
    X (ActivityGetNextRecord)                                                          \
    X (ActivityPushExternalCorrelationId)                                              \
    X (ActivityPopExternalCorrelationId)                                               \
    X (ProfilerInitialize)                                                             \
    X (ProfilerGetCounterAvailability)                                                 \
    X (DeviceGetChipName)                                                              \
    X (ProfilerHostInitialize)                                                         \
    X (ProfilerHostDeinitialize)                                                       \
    X (ProfilerHostConfigAddMetrics)                                                   \
    X (ProfilerHostGetConfigImageSize)                                                 \
    X (ProfilerHostGetConfigImage)                                                     \
    X (ProfilerHostGetNumOfPasses)                                                     \
    X (ProfilerHostEvaluateToGpuValues)                                                \
    X (RangeProfilerEnable)                                                            \
    X (RangeProfilerDisable)                                                           \
    X (RangeProfilerSetConfig)                                                         \
    X (RangeProfilerStart)                                                             \
    X (RangeProfilerStop)                                                              \
    X (RangeProfilerPushRange)                                                         \
    X (RangeProfilerPopRange)                                                          \
    X (RangeProfilerDecodeData)                                                        \
    X (RangeProfilerGetCounterDataSize)                                                \
    X (RangeProfilerCounterDataImageInitialize)                                        \
    X (RangeProfilerGetCounterDataInfo)                                                \
    X (RangeProfilerCounterDataGetRangeInfo)

typedef struct kc_cupti_api {
#define KC_CUPTI_FIELD(name) __typeof__ (&cupti##name) name;
    KC_CUPTI_FUNCTIONS (KC_CUPTI_FIELD)
#undef KC_CUPTI_FIELD
    void *handle;
    char *path;
    unsigned version;
} kc_cupti_api_t;

// NULL with KC_EUNSUPPORTED: not found, incomplete, or of another major version than
// the headers.
kc_cupti_api_t *kc_cupti_api_load (const char *where, kc_err_t *err);
void kc_cupti_api_destroy (kc_cupti_api_t **self_p);
// 0, or -1 with "what: CUPTI_ERROR_... (number)".
int kc_cupti_ok (const kc_cupti_api_t *self, CUptiResult r, kc_err_t *err,
                 const char *what);

/* The host side of the range profiler for one chip: names to a configuration, counter
 * data to values.  Needs no GPU.  'availability' is NULL without one. */
typedef struct kc_cupti_host {
    const kc_cupti_api_t *api;
    CUpti_Profiler_Host_Object *object;
    const char *chip;                  // borrowed
    const unsigned char *availability; // borrowed
    const char **names;                // accepted, in order
    size_t n_names;
} kc_cupti_host_t;

int kc_cupti_host_open (kc_cupti_host_t *self, const kc_cupti_api_t *api,
                        const char *chip, const unsigned char *availability,
                        kc_err_t *err);
void kc_cupti_host_close (kc_cupti_host_t *self);
/* Choose the metrics, once per object: accepted[i] tells which the chip has; the names
 * are borrowed.  All are handed over in one call, because only then do they share
 * passes. */
int kc_cupti_host_select (kc_cupti_host_t *self, const char *const *names, size_t n,
                          bool *accepted, kc_err_t *err);
// The configuration of all accepted metrics and its number of passes; caller frees.
// NULL with 'err'.
unsigned char *kc_cupti_host_config (kc_cupti_host_t *self, size_t *size_p,
                                     size_t *passes_p, kc_err_t *err);
// The values of one range, n_names of them.
int kc_cupti_host_values (kc_cupti_host_t *self, const unsigned char *image,
                          size_t size, size_t range, double *values, kc_err_t *err);

#endif // KC_CUPTI_API_H
