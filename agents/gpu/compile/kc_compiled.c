// kc_compiled.c - results: making, filling, freeing; the text that the compilers are
// given

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "agents/gpu/compile/kc_compile_int.h"
#include "common/util/kc_mem.h"

enum { S_TEXT_MAX = 1000, S_NOTES_MAX = 64, S_NOTE_TEXT = 500 };

const char *kc_front_name (kc_front_t front)
{
    switch (front) {
    case KC_FRONT_AUTO:
        return "auto";
    case KC_FRONT_NVRTC:
        return "nvrtc";
    case KC_FRONT_CLANG:
        return "clang";
    }
    return "";
}

int kc_front_parse (const char *name)
{
    for (int f = KC_FRONT_AUTO; f <= KC_FRONT_CLANG; f++)
        if (name && strcmp (name, kc_front_name ((kc_front_t)f)) == 0)
            return f;
    return -1;
}

kc_compiled_t *kc_compiled_new (void)
{
    kc_compiled_t *c = (kc_compiled_t *)kc_calloc (1, sizeof *c);
    c->status = KC_VERDICT_STATUS_OK;
    c->log = kc_strdup ("");
    return c;
}

void kc_compiled_destroy (kc_compiled_t **self_p)
{
    kc_compiled_t *c = *self_p;
    if (!c)
        return;
    for (size_t i = 0; i < c->n_findings; i++)
        kc_type_clear (&kc_verdict_finding_type, &c->findings[i]);
    for (size_t i = 0; i < c->n_kernels; i++) {
        free (c->kernels[i].name);
        free (c->kernels[i].symbol);
    }
    for (size_t i = 0; i < c->n_notes; i++)
        free (c->notes[i]);
    free (c->findings);
    free (c->kernels);
    free (c->notes);
    free (c->log);
    free (c->ptx);
    free (c->cubin);
    free (c->compiler);
    free (c);
    *self_p = NULL;
}

const kc_kernel_facts_t *kc_compiled_kernel (const kc_compiled_t *self,
                                             const char *name)
{
    for (size_t i = 0; i < self->n_kernels; i++)
        if (strcmp (self->kernels[i].name, name) == 0)
            return &self->kernels[i];
    return NULL;
}

void kc_compiled_find (kc_compiled_t *c, kc_verdict_status_t status, int64_t line,
                       const char *format, ...)
{
    if (c->n_findings == 0)
        c->status = status;
    if (c->n_findings >= KC_COMPILE_FINDINGS)
        return;
    kc_buf_t text = {0};
    va_list args;
    va_start (args, format);
    kc_buf_vprintf (&text, format, args);
    va_end (args);
    // The same complaint of the same line is said once, however often a template was
    // expanded.
    char *clean = kc_utf8_clean (kc_buf_str (&text), text.size, S_TEXT_MAX);
    kc_buf_free (&text);
    for (size_t i = 0; i < c->n_findings; i++)
        if (c->findings[i].line == line && strcmp (c->findings[i].text, clean) == 0) {
            free (clean);
            return;
        }
    kc_verdict_finding_t *f =
        (kc_verdict_finding_t *)kc_push (&c->findings, &c->n_findings, sizeof *f);
    kc_type_init (&kc_verdict_finding_type, f);
    f->status = status;
    f->text = clean;
    f->has_line = line > 0;
    f->line = line > 0 ? line : 0;
}

void kc_compiled_fix (kc_compiled_t *c, const char *fix)
{
    if (c->n_findings && !c->findings[c->n_findings - 1].fix)
        kc_set (&c->findings[c->n_findings - 1].fix, fix);
}

void kc_compiled_kernel_of (kc_compiled_t *c, const char *kernel)
{
    if (c->n_findings && kernel && strlen (kernel) <= KC_COMPILE_NAME)
        kc_set (&c->findings[c->n_findings - 1].kernel, kernel);
}

void kc_compiled_note (kc_compiled_t *c, const char *format, ...)
{
    if (c->n_notes >= S_NOTES_MAX)
        return;
    kc_buf_t text = {.limit = S_NOTE_TEXT};
    va_list args;
    va_start (args, format);
    kc_buf_vprintf (&text, format, args);
    va_end (args);
    *(char **)kc_push (&c->notes, &c->n_notes, sizeof *c->notes) =
        kc_utf8_clean (kc_buf_str (&text), text.size, S_NOTE_TEXT);
    kc_buf_free (&text);
}

char *kc_compile_unit (const kc_compile_job_t *job)
{
    kc_buf_t b = {0};
    if (job->printf_on)
        kc_buf_puts (&b, "#define KC_PRINTF 1\n");
    if (job->fast_math)
        kc_buf_puts (&b, "#define KC_FAST_MATH 1\n");
    kc_buf_puts (&b, "#include \"kc_base.h\"\n");
    if (job->constants)
        kc_buf_printf (&b, "#line 1 \"%s\"\n%s\n", KC_COMPILE_CONST, job->constants);
    kc_buf_printf (&b, "#line 1 \"%s\"\n%s\n", KC_COMPILE_MAIN, job->source);
    return kc_buf_take (&b);
}
