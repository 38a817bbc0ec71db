// cupti_api.c - see cupti_api.h

#include "agents/gpu/cuda/cupti_api.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "agents/gpu/cuda/culib.h"
#include "common/util/kc_mem.h"

enum { MAJOR = 10000 }; // CUPTI_API_VERSION is 130000 for 13.0

static const char *s_fill (kc_cupti_api_t *self)
{
#define KC_CUPTI_LOAD(name)                                                            \
    if (kc_culib_symbol (self->handle, "cupti" #name, &self->name) < 0)                \
        return "cupti" #name;
    KC_CUPTI_FUNCTIONS (KC_CUPTI_LOAD)
#undef KC_CUPTI_LOAD
    return NULL;
}

kc_cupti_api_t *kc_cupti_api_load (const char *where, kc_err_t *err)
{
    kc_cupti_api_t *self = kc_calloc (1, sizeof *self);
    self->handle = kc_culib_open (&kc_culib_cupti, where, &self->path, err);
    if (!self->handle) {
        kc_cupti_api_destroy (&self);
        return NULL;
    }
    const char *missing = s_fill (self);
    if (missing)
        kc_fail (err, KC_EUNSUPPORTED,
                 "CUPTI at %s has no %s; 12.6 update 2 or later is needed", self->path,
                 missing);
    else if (self->GetVersion (&self->version) != CUPTI_SUCCESS
             || self->version / MAJOR != CUPTI_API_VERSION / MAJOR)
        kc_fail (err, KC_EUNSUPPORTED,
                 "CUPTI at %s has version %u, and this program was built for %d: the "
                 "records differ; "
                 "name the matching toolkit with --cuda",
                 self->path, self->version, CUPTI_API_VERSION);
    else
        return self;
    kc_cupti_api_destroy (&self);
    return NULL;
}

void kc_cupti_api_destroy (kc_cupti_api_t **self_p)
{
    if (!*self_p)
        return;
    free ((*self_p)->path);
    free (*self_p);
    *self_p = NULL;
}

int kc_cupti_ok (const kc_cupti_api_t *self, CUptiResult r, kc_err_t *err,
                 const char *what)
{
    if (r == CUPTI_SUCCESS)
        return 0;
    const char *name = NULL;
    if (self->GetResultString (r, &name) != CUPTI_SUCCESS || !name)
        name = "unknown CUPTI error";
    kc_code_t code =
        r == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES ? KC_EREFUSED : KC_EFAILED;
    return kc_fail (err, code, "%s: %s (%d)", what, name, (int)r);
}

int kc_cupti_host_open (kc_cupti_host_t *self, const kc_cupti_api_t *api,
                        const char *chip, const unsigned char *availability,
                        kc_err_t *err)
{
    CUpti_Profiler_Host_Initialize_Params p = {
        .structSize = CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE,
        .profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER,
        .pChipName = chip,
        .pCounterAvailabilityImage = availability,
    };
    *self = (kc_cupti_host_t){.api = api, .chip = chip, .availability = availability};
    if (kc_cupti_ok (api, api->ProfilerHostInitialize (&p), err,
                     "opening the host side of CUPTI")
        < 0)
        return kc_fail_in (err, "chip %s", chip);
    self->object = p.pHostObject;
    return 0;
}

/* One call for all metrics: those of one call share passes, while every further call
 * opens passes of its own (63 counters took 63 passes added one by one, and 11
 * together). */
static bool s_add (const kc_cupti_host_t *self, const char **names, size_t n)
{
    CUpti_Profiler_Host_ConfigAddMetrics_Params p = {
        .structSize = CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE,
        .pHostObject = self->object,
        .ppMetricNames = names,
        .numMetrics = n,
    };
    return self->api->ProfilerHostConfigAddMetrics (&p) == CUPTI_SUCCESS;
}

void kc_cupti_host_close (kc_cupti_host_t *self)
{
    if (self->object) {
        CUpti_Profiler_Host_Deinitialize_Params p = {
            .structSize = CUpti_Profiler_Host_Deinitialize_Params_STRUCT_SIZE,
            .pHostObject = self->object,
        };
        self->api->ProfilerHostDeinitialize (&p);
    }
    free (self->names);
    *self = (kc_cupti_host_t){0};
}

// True when this chip has the metric: asked on an object of its own, because a refusal
// spoils the object.
static bool s_has (const kc_cupti_host_t *self, const char *name)
{
    kc_cupti_host_t probe;
    if (kc_cupti_host_open (&probe, self->api, self->chip, self->availability, NULL)
        < 0)
        return false;
    bool has = s_add (&probe, &name, 1);
    kc_cupti_host_close (&probe);
    return has;
}

int kc_cupti_host_select (kc_cupti_host_t *self, const char *const *names, size_t n,
                          bool *accepted, kc_err_t *err)
{
    kc_assert (self->n_names == 0);
    self->names = kc_calloc (n + 1, sizeof *self->names);
    memcpy (self->names, names, n * sizeof *names);
    self->n_names = n;
    for (size_t i = 0; i < n; i++)
        accepted[i] = true;
    if (n == 0 || s_add (self, self->names, n))
        return 0;
    self->n_names = 0;
    for (size_t i = 0; i < n; i++) {
        accepted[i] = s_has (self, names[i]);
        if (accepted[i])
            self->names[self->n_names++] = names[i];
    }
    // The refusal has spoilt this object too.
    kc_cupti_host_t fresh;
    if (kc_cupti_host_open (&fresh, self->api, self->chip, self->availability, err) < 0)
        return -1;
    fresh.names = self->names;
    fresh.n_names = self->n_names;
    self->names = NULL;
    kc_cupti_host_close (self);
    *self = fresh;
    if (self->n_names > 0 && !s_add (self, self->names, self->n_names))
        return kc_fail (err, KC_EFAILED,
                        "CUPTI accepts %zu counters one by one and not together",
                        self->n_names);
    return 0;
}

unsigned char *kc_cupti_host_config (kc_cupti_host_t *self, size_t *size_p,
                                     size_t *passes_p, kc_err_t *err)
{
    const kc_cupti_api_t *api = self->api;
    CUpti_Profiler_Host_GetConfigImageSize_Params size = {
        .structSize = CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE,
        .pHostObject = self->object,
    };
    if (kc_cupti_ok (api, api->ProfilerHostGetConfigImageSize (&size), err,
                     "size of the configuration")
        < 0)
        return NULL;
    unsigned char *image = kc_calloc (1, size.configImageSize + 1);
    CUpti_Profiler_Host_GetConfigImage_Params get = {
        .structSize = CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE,
        .pHostObject = self->object,
        .configImageSize = size.configImageSize,
        .pConfigImage = image,
    };
    CUpti_Profiler_Host_GetNumOfPasses_Params passes = {
        .structSize = CUpti_Profiler_Host_GetNumOfPasses_Params_STRUCT_SIZE,
        .configImageSize = size.configImageSize,
        .pConfigImage = image,
    };
    if (kc_cupti_ok (api, api->ProfilerHostGetConfigImage (&get), err,
                     "the configuration")
            < 0
        || kc_cupti_ok (api, api->ProfilerHostGetNumOfPasses (&passes), err,
                        "the number of passes")
               < 0) {
        free (image);
        return NULL;
    }
    *size_p = size.configImageSize;
    *passes_p = passes.numOfPasses;
    return image;
}

int kc_cupti_host_values (kc_cupti_host_t *self, const unsigned char *image,
                          size_t size, size_t range, double *values, kc_err_t *err)
{
    CUpti_Profiler_Host_EvaluateToGpuValues_Params p = {
        .structSize = CUpti_Profiler_Host_EvaluateToGpuValues_Params_STRUCT_SIZE,
        .pHostObject = self->object,
        .pCounterDataImage = image,
        .counterDataImageSize = size,
        .rangeIndex = range,
        .ppMetricNames = self->names,
        .numMetrics = self->n_names,
        .pMetricValues = values,
    };
    return kc_cupti_ok (self->api, self->api->ProfilerHostEvaluateToGpuValues (&p), err,
                        "reading counter values");
}
