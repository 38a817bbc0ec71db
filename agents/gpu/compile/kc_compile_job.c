// kc_compile_job.c - what a job must be before a child is started for it, and its key

#include <stdio.h>
#include <string.h>

#include "agents/gpu/compile/kc_compile_int.h"
#include "common/util/kc_mem.h"

void kc_compile_job_key (const kc_compile_job_t *job, const char *version,
                         char hex[KC_SHA_HEX])
{
    kc_sha_t sha;
    kc_sha_init (&sha);
    kc_sha_str (&sha, version);
    kc_sha_str (&sha, job->source);
    kc_sha_str (&sha, job->constants);
    char text[160];
    snprintf (text, sizeof text,
              "cxx%d fast%d fmad%d regs%d sm%d ptx%d cubin%d printf%d kernels%zu",
              job->cxx20, job->fast_math, !job->no_fmad, job->max_registers, job->sm,
              job->want_ptx, job->want_cubin, job->printf_on, job->n_kernels);
    kc_sha_str (&sha, text);
    for (size_t i = 0; i < job->n_kernels; i++)
        kc_sha_str (&sha, job->kernels[i]);
    kc_sha_hex (&sha, hex);
}

char *kc_compile_job_check (const kc_compile_job_t *job)
{
    if (!job->source || !*job->source)
        return kc_strdup ("the source is empty");
    if (strlen (job->source) > KC_COMPILE_SOURCE)
        return kc_asprintf ("the source is longer than %d KiB",
                            KC_COMPILE_SOURCE >> 10);
    if (!kc_utf8_valid (job->source, strlen (job->source)))
        return kc_strdup ("the source is not valid UTF-8");
    if (job->constants && strlen (job->constants) > KC_COMPILE_CONSTANTS)
        return kc_asprintf ("the constants are longer than %d KiB",
                            KC_COMPILE_CONSTANTS >> 10);
    if (job->max_registers < 0 || job->max_registers > 255 || job->sm < 0
        || job->sm > 999)
        return kc_asprintf ("max_registers %d or sm %d is out of range",
                            job->max_registers, job->sm);
    if (job->n_kernels > KC_COMPILE_KERNELS)
        return kc_asprintf ("more than %d kernels", KC_COMPILE_KERNELS);
    for (size_t i = 0; i < job->n_kernels; i++) {
        const char *name = job->kernels[i];
        // A name becomes part of the text that is compiled.
        if (!*name || strlen (name) > KC_COMPILE_NAME
            || strpbrk (name, "\n\r;{}\"'\\#"))
            return kc_asprintf (
                "kernel %zu: the name is empty, longer than %d bytes or "
                "holds what no name with template arguments does",
                i + 1, KC_COMPILE_NAME);
    }
    return NULL;
}
