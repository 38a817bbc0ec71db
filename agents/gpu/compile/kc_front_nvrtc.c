// kc_front_nvrtc.c - NVIDIA's run-time compiler in this process: headers from memory,
// no file touched
//
// The virtual GPU gets PTX of compute_80; a second compilation for the device's own
// architecture gives ptxas' report (registers, spills, shared memory), without any GPU.
// A real GPU gets the cubin of the second kind alone, and its PTX serves the policy.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agents/gpu/compile/kc_compile_int.h"
#include "agents/gpu/cuda/nvrtc_api.h"
#include "common/util/kc_mem.h"

enum { S_OPTIONS = 24, S_ARCHS = 64, S_OPTION_TEXT = 64 };

typedef struct s_build {
    char *log, *ptx;
    void *cubin;
    size_t ptx_size, cubin_size;
    char **symbols; // by kernel of the job, NULL entries when unknown
    kc_nvrtc_result_t rc;
} s_build_t;

static void s_build_clear (s_build_t *b, size_t n)
{
    for (size_t i = 0; b->symbols && i < n; i++)
        free (b->symbols[i]);
    free (b->symbols);
    free (b->log);
    free (b->ptx);
    free (b->cubin);
    memset (b, 0, sizeof *b);
}

static char *s_log (const kc_nvrtc_api_t *api, kc_nvrtc_program_t p)
{
    size_t size = 0;
    if (api->GetProgramLogSize (p, &size) != 0 || size == 0)
        return kc_strdup ("");
    char *log = (char *)kc_calloc (1, size + 1);
    if (api->GetProgramLog (p, log) != 0)
        log[0] = 0;
    if (size > KC_COMPILE_RAW_LOG)
        log[KC_COMPILE_RAW_LOG] = 0;
    return log;
}

static void s_outputs (const kc_nvrtc_api_t *api, kc_nvrtc_program_t p, bool real,
                       s_build_t *b)
{
    size_t size = 0;
    if (api->GetPTXSize (p, &size) == 0 && size > 1 && size <= KC_COMPILE_CODE) {
        b->ptx = (char *)kc_calloc (1, size + 1);
        if (api->GetPTX (p, b->ptx) == 0)
            b->ptx_size = strlen (b->ptx);
    }
    if (real && api->GetCUBINSize (p, &size) == 0 && size > 0
        && size <= KC_COMPILE_CODE) {
        b->cubin = kc_calloc (1, size);
        if (api->GetCUBIN (p, (char *)b->cubin) == 0)
            b->cubin_size = size;
    }
}

// One compilation.  'arch' is "compute_80" or "sm_90a".
static s_build_t s_build (const kc_nvrtc_api_t *api, const kc_compile_job_t *job,
                          const char *unit, const char *arch, bool real)
{
    s_build_t b = {0};
    char text[3][S_OPTION_TEXT];
    const char *options[S_OPTIONS];
    int n = 0;
    snprintf (text[0], sizeof text[0], "--gpu-architecture=%s", arch);
    snprintf (text[1], sizeof text[1], "--maxrregcount=%d", job->max_registers);
    options[n++] = text[0];
    options[n++] = "-default-device";
    options[n++] = "-lineinfo";
    options[n++] = job->cxx20 ? "--std=c++20" : "--std=c++17";
    options[n++] = "--no-source-include";
    if (api->major > 12
        || (api->major == 12 && api->minor >= 9)) { // older ones do not know them
        options[n++] = "--no-cache";
        options[n++] = "--frandom-seed=kc";
    }
    // Unused variables and functions are normal in kernels with tunables.
    options[n++] = "--diag-suppress=177,550,1650";
    if (job->fast_math)
        options[n++] = "--use_fast_math";
    if (job->no_fmad)
        options[n++] = "--fmad=false";
    if (job->max_registers)
        options[n++] = text[1];
    if (real)
        options[n++] = "--ptxas-options=-v";

    size_t n_files;
    const kc_prelude_file_t *files = kc_prelude_files (&n_files);
    const char **names = (const char **)kc_calloc (n_files, sizeof *names);
    const char **texts = (const char **)kc_calloc (n_files, sizeof *texts);
    for (size_t i = 0; i < n_files; i++) {
        names[i] = files[i].name;
        texts[i] = files[i].text;
    }
    kc_nvrtc_program_t p = NULL;
    b.rc = api->CreateProgram (&p, unit, KC_COMPILE_MAIN, (int)n_files, texts, names);
    for (size_t i = 0; b.rc == 0 && i < job->n_kernels; i++)
        b.rc = api->AddNameExpression (p, job->kernels[i]);
    if (b.rc == 0)
        b.rc = api->CompileProgram (p, n, options);
    b.log = p ? s_log (api, p) : kc_strdup ("");
    if (b.rc == 0) {
        s_outputs (api, p, real, &b);
        b.symbols = (char **)kc_calloc (job->n_kernels + 1, sizeof *b.symbols);
        for (size_t i = 0; i < job->n_kernels; i++) {
            const char *lowered = NULL;
            if (api->GetLoweredName (p, job->kernels[i], &lowered) == 0)
                b.symbols[i] = kc_strdup (lowered);
        }
    }
    if (p)
        api->DestroyProgram (&p);
    free (names);
    free (texts);
    return b;
}

// "sm_90a" where the compiler has it, from 9.0 on; NULL when it cannot build for 'sm'.
static char *s_arch (const kc_nvrtc_api_t *api, int sm)
{
    int n = 0, archs[S_ARCHS];
    if (api->GetNumSupportedArchs && api->GetSupportedArchs
        && api->GetNumSupportedArchs (&n) == 0 && n > 0 && n <= S_ARCHS
        && api->GetSupportedArchs (archs) == 0) {
        bool found = false;
        for (int i = 0; i < n; i++)
            found |= archs[i] == sm;
        if (!found)
            return NULL;
    }
    return kc_asprintf (sm >= 90 ? "sm_%da" : "sm_%d", sm);
}

// The compiler itself failed: not the author's fault.
static int s_broken (const kc_nvrtc_api_t *api, kc_compiled_t *c, const s_build_t *b)
{
    kc_compiled_find (c, KC_VERDICT_STATUS_INFRA_ERROR, 0,
                      "NVRTC %d.%d (%s) answered %s (%u)%s", api->major, api->minor,
                      api->path, api->GetErrorString (b->rc), b->rc,
                      b->rc == KC_NVRTC_ERROR_BUILTIN_OPERATION_FAILURE
                          ? ": libnvrtc-builtins of the same version must lie beside it"
                          : "");
    return -1;
}

static int s_failed (const kc_nvrtc_api_t *api, const kc_compile_job_t *job,
                     kc_compiled_t *c, const s_build_t *b, const char *unit,
                     const char *arch)
{
    if (b->rc == KC_NVRTC_ERROR_COMPILATION
        || b->rc == KC_NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID) {
        // ptxas names lines of the PTX; to find the author's, the PTX is made again
        // without ptxas.
        if (arch && strstr (b->log, "ptxas ")) {
            char *virt = kc_asprintf ("compute_%s", arch + strlen ("sm_"));
            s_build_t again = s_build (api, job, unit, virt, false);
            c->ptx = again.ptx;
            again.ptx = NULL;
            s_build_clear (&again, job->n_kernels);
            free (virt);
        }
        kc_compile_log (c, job, b->log, true);
        free (c->ptx);
        c->ptx = NULL;
        return -1;
    }
    if (b->rc == KC_NVRTC_ERROR_OUT_OF_MEMORY) {
        kc_compiled_find (c, KC_VERDICT_STATUS_COMPILE_ERROR, 0,
                          "the compiler ran out of memory (%lld GiB); the source "
                          "expands to too much code",
                          (long long)(KC_COMPILE_AS >> 30));
        return -1;
    }
    return s_broken (api, c, b);
}

static void s_take_kernels (kc_compiled_t *c, const kc_compile_job_t *job, s_build_t *b)
{
    for (size_t i = 0; i < job->n_kernels; i++) {
        if (!b->symbols[i]) {
            kc_compiled_find (c, KC_VERDICT_STATUS_COMPILE_ERROR, 0,
                              "the source has no kernel %s", job->kernels[i]);
            continue;
        }
        kc_kernel_facts_t *k =
            (kc_kernel_facts_t *)kc_push (&c->kernels, &c->n_kernels, sizeof *k);
        k->name = kc_strdup (job->kernels[i]);
        k->symbol = kc_strdup (b->symbols[i]);
    }
}

static void s_take_ptx (kc_compiled_t *c, s_build_t *b)
{
    c->ptx = b->ptx;
    c->ptx_size = b->ptx_size;
    b->ptx = NULL;
}

static void s_take_cubin (kc_compiled_t *c, s_build_t *b)
{
    c->cubin = b->cubin;
    c->cubin_size = b->cubin_size;
    b->cubin = NULL;
}

int kc_front_nvrtc (kc_nvrtc_api_t *api, const kc_compile_request_t *r,
                    kc_compiled_t *c)
{
    const kc_compile_job_t *job = &r->job;
    int rc = -1;
    s_build_t virt = {0}, real = {0};
    char *unit = kc_compile_unit (job);
    char *arch = s_arch (api, job->sm);
    c->compiler = kc_asprintf ("NVRTC %d.%d", api->major, api->minor);
    if (!arch && job->want_cubin) {
        kc_compiled_find (c, KC_VERDICT_STATUS_UNSUPPORTED, 0,
                          "NVRTC %d.%d cannot compile for sm_%d; install a CUDA "
                          "toolkit that knows this GPU",
                          api->major, api->minor, job->sm);
        goto out;
    }
    if (job->want_ptx) {
        virt = s_build (api, job, unit, "compute_80", false);
        if (virt.rc != 0) {
            s_failed (api, job, c, &virt, unit, NULL);
            goto out;
        }
    }
    if (arch) {
        real = s_build (api, job, unit, arch, true);
        if (real.rc != 0 && job->want_cubin) {
            s_failed (api, job, c, &real, unit, arch);
            goto out;
        }
        if (real.rc != 0)
            kc_compiled_note (c, "no ptxas report: the source does not compile for %s",
                              arch);
    }
    s_build_t *main = job->want_ptx ? &virt : &real;
    if (!main->symbols || !main->ptx) {
        s_broken (api, c, main);
        goto out;
    }
    kc_compile_log (c, job, main->log, false);
    s_take_kernels (c, job, main);
    s_take_ptx (c, main);
    s_take_cubin (c, &real);
    if (c->status == KC_VERDICT_STATUS_OK) {
        kc_compile_policy (job, c);
        if (real.log)
            kc_compile_report (c, real.log);
    }
    rc = c->status == KC_VERDICT_STATUS_OK ? 0 : -1;
out:
    s_build_clear (&virt, job->n_kernels);
    s_build_clear (&real, job->n_kernels);
    free (arch);
    free (unit);
    return rc;
}
