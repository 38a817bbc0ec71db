// kc_compile_wire.c - requests and results as bytes: between parent and child, and in
// the cache
//
// A document is KC_COMPILE_FORMAT and then fields in a fixed order: u64 numbers,
// doubles as bits, and strings as length + bytes (length UINT64_MAX = NULL).  Both ends
// are the same build or the format number differs, so there are no optional fields. The
// reader trusts nothing: a child may have been taken over by what it compiled.

#include <stdlib.h>
#include <string.h>

#include "agents/gpu/compile/kc_compile_int.h"
#include "common/util/kc_mem.h"
#include "common/util/kc_spawn.h"

enum { S_NOTES = 64, S_PARAMS = 64 };

typedef struct s_reader {
    const unsigned char *at, *end;
    bool bad;
} s_reader_t;

static void s_put_u64 (kc_buf_t *b, uint64_t v)
{
    unsigned char bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(v >> (8 * i));
    kc_buf_put (b, bytes, sizeof bytes);
}

static void s_put_i64 (kc_buf_t *b, int64_t v)
{
    s_put_u64 (b, (uint64_t)v);
}

static void s_put_bytes (kc_buf_t *b, const void *data, size_t size)
{
    if (!data) {
        s_put_u64 (b, UINT64_MAX);
        return;
    }
    s_put_u64 (b, size);
    kc_buf_put (b, data, size);
}

static void s_put_str (kc_buf_t *b, const char *s)
{
    s_put_bytes (b, s, s ? strlen (s) : 0);
}

static uint64_t s_get_u64 (s_reader_t *r)
{
    if (r->bad || r->end - r->at < 8) {
        r->bad = true;
        return 0;
    }
    uint64_t v = 0;
    for (int i = 0; i < 8; i++)
        v |= (uint64_t)r->at[i] << (8 * i);
    r->at += 8;
    return v;
}

static int64_t s_get_int (s_reader_t *r, int64_t lo, int64_t hi)
{
    int64_t v = (int64_t)s_get_u64 (r);
    if (v < lo || v > hi) {
        r->bad = true;
        return lo;
    }
    return v;
}

// A zero-terminated copy, NULL for NULL and after an error.
static char *s_get_bytes (s_reader_t *r, size_t max, size_t *size_p)
{
    uint64_t n = s_get_u64 (r);
    if (size_p)
        *size_p = 0;
    if (r->bad || n == UINT64_MAX)
        return NULL;
    if (n > max || n > (uint64_t)(r->end - r->at)) {
        r->bad = true;
        return NULL;
    }
    char *out = (char *)kc_malloc ((size_t)n + 1);
    memcpy (out, r->at, (size_t)n);
    out[n] = 0;
    r->at += n;
    if (size_p)
        *size_p = (size_t)n;
    return out;
}

static char *s_get_str (s_reader_t *r, size_t max)
{
    size_t size;
    char *s = s_get_bytes (r, max, &size);
    if (s && strlen (s) != size)
        r->bad = true; // a zero inside
    return s;
}

static void s_put_job (kc_buf_t *b, const kc_compile_job_t *j)
{
    s_put_str (b, j->source);
    s_put_str (b, j->constants);
    s_put_u64 (b, (j->cxx20 ? 1u : 0u) | (j->fast_math ? 2u : 0u)
                      | (j->no_fmad ? 4u : 0u) | (j->want_ptx ? 8u : 0u)
                      | (j->want_cubin ? 16u : 0u) | (j->printf_on ? 32u : 0u));
    s_put_i64 (b, j->max_registers);
    s_put_i64 (b, j->sm);
    s_put_u64 (b, j->n_kernels);
    for (size_t i = 0; i < j->n_kernels; i++)
        s_put_str (b, j->kernels[i]);
}

static void s_get_job (s_reader_t *r, kc_compile_job_t *j)
{
    j->source = s_get_str (r, KC_COMPILE_SOURCE);
    j->constants = s_get_str (r, KC_COMPILE_CONSTANTS);
    int64_t flags = s_get_int (r, 0, 63);
    j->cxx20 = flags & 1;
    j->fast_math = flags & 2;
    j->no_fmad = flags & 4;
    j->want_ptx = flags & 8;
    j->want_cubin = flags & 16;
    j->printf_on = flags & 32;
    j->max_registers = (int)s_get_int (r, 0, 255);
    j->sm = (int)s_get_int (r, 0, 999);
    size_t n = (size_t)s_get_int (r, 0, KC_COMPILE_KERNELS);
    char **names = n ? (char **)kc_calloc (n, sizeof *names) : NULL;
    j->kernels = (const char *const *)names;
    j->n_kernels = n;
    for (size_t i = 0; i < n; i++) {
        names[i] = s_get_str (r, KC_COMPILE_NAME);
        if (!names[i])
            r->bad = true;
    }
    if (!j->source)
        r->bad = true;
}

void kc_compile_job_copy (kc_compile_job_t *to, const kc_compile_job_t *from)
{
    *to = *from;
    to->source = kc_strdup (from->source);
    to->constants = kc_strdup (from->constants);
    char **names =
        from->n_kernels ? (char **)kc_calloc (from->n_kernels, sizeof *names) : NULL;
    for (size_t i = 0; i < from->n_kernels; i++)
        names[i] = kc_strdup (from->kernels[i]);
    to->kernels = (const char *const *)names;
}

// The strings of a copy are ours although the public type says const.
static void s_drop (const char *s)
{
    union {
        const char *in;
        char *out;
    } u = {.in = s};
    free (u.out);
}

void kc_compile_job_clear (kc_compile_job_t *job)
{
    s_drop (job->source);
    s_drop (job->constants);
    for (size_t i = 0; i < job->n_kernels; i++)
        s_drop (job->kernels[i]);
    union {
        const char *const *in;
        void *out;
    } u = {.in = job->kernels};
    free (u.out);
    memset (job, 0, sizeof *job);
}

void kc_compile_request_put (kc_buf_t *out, const kc_compile_request_t *r)
{
    s_put_u64 (out, KC_COMPILE_FORMAT);
    s_put_job (out, &r->job);
    s_put_u64 (out, r->front);
    s_put_str (out, r->tool);
    s_put_str (out, r->tmp);
}

int kc_compile_request_get (const void *data, size_t size, kc_compile_request_t *r,
                            kc_err_t *err)
{
    s_reader_t in = {(const unsigned char *)data, (const unsigned char *)data + size,
                     false};
    memset (r, 0, sizeof *r);
    if (s_get_u64 (&in) != KC_COMPILE_FORMAT)
        return kc_fail (err, KC_EPROTO,
                        "compile request: another format than %d; parent and child "
                        "differ in version",
                        KC_COMPILE_FORMAT);
    s_get_job (&in, &r->job);
    r->front = (kc_front_t)s_get_int (&in, KC_FRONT_NVRTC, KC_FRONT_CLANG);
    r->tool = s_get_str (&in, 4096);
    r->tmp = s_get_str (&in, 4096);
    if (!r->tool || !r->tmp || in.at != in.end)
        in.bad = true;
    if (in.bad) {
        kc_compile_request_clear (r);
        return kc_fail (
            err, KC_EINVALID,
            "compile request: a field is missing, too long or out of range");
    }
    return 0;
}

void kc_compile_request_clear (kc_compile_request_t *r)
{
    kc_compile_job_clear (&r->job);
    free (r->tool);
    free (r->tmp);
    memset (r, 0, sizeof *r);
}

static void s_put_facts (kc_buf_t *b, const kc_code_facts_t *f)
{
    const int numbers[] = {f->tensor_f16, f->tensor_bf16, f->tensor_tf32, f->tensor_fp8,
                           f->tensor_int, f->tensor_f64,  f->to_f16,      f->to_bf16,
                           f->to_fp8,     f->to_tf32,     f->approx,      f->ftz,
                           f->fp64,       f->fp32};
    for (size_t i = 0; i < KC_COUNT (numbers); i++)
        s_put_i64 (b, numbers[i]);
    s_put_u64 (b, (f->uses_smid ? 1u : 0u) | (f->uses_printf ? 2u : 0u)
                      | (f->uses_assert ? 4u : 0u) | (f->uses_createpolicy ? 8u : 0u));
}

static void s_get_facts (s_reader_t *r, kc_code_facts_t *f)
{
    int *const numbers[] = {&f->tensor_f16, &f->tensor_bf16, &f->tensor_tf32,
                            &f->tensor_fp8, &f->tensor_int,  &f->tensor_f64,
                            &f->to_f16,     &f->to_bf16,     &f->to_fp8,
                            &f->to_tf32,    &f->approx,      &f->ftz,
                            &f->fp64,       &f->fp32};
    for (size_t i = 0; i < KC_COUNT (numbers); i++)
        *numbers[i] = (int)s_get_int (r, 0, INT32_MAX);
    int64_t flags = s_get_int (r, 0, 15);
    f->uses_smid = flags & 1;
    f->uses_printf = flags & 2;
    f->uses_assert = flags & 4;
    f->uses_createpolicy = flags & 8;
}

static void s_put_kernel (kc_buf_t *b, const kc_kernel_facts_t *k)
{
    s_put_str (b, k->name);
    s_put_str (b, k->symbol);
    s_put_i64 (b, k->registers);
    s_put_u64 (b, k->registers_estimated);
    s_put_i64 (b, k->shared_static);
    s_put_i64 (b, k->local_bytes);
    s_put_i64 (b, k->spill_bytes);
    s_put_i64 (b, k->max_threads);
    s_put_u64 (b, k->n_params);
    for (size_t i = 0; i < k->n_params; i++) {
        s_put_u64 (b, k->params[i].offset);
        s_put_u64 (b, k->params[i].size);
    }
}

static void s_get_kernel (s_reader_t *r, kc_kernel_facts_t *k)
{
    k->name = s_get_str (r, 4096);
    k->symbol = s_get_str (r, 65536);
    k->registers = (int)s_get_int (r, 0, 1024);
    k->registers_estimated = s_get_int (r, 0, 1) == 1;
    k->shared_static = s_get_int (r, 0, INT32_MAX);
    k->local_bytes = s_get_int (r, 0, INT32_MAX);
    k->spill_bytes = s_get_int (r, 0, INT32_MAX);
    k->max_threads = (int)s_get_int (r, 0, 1 << 20);
    k->n_params = (size_t)s_get_int (r, 0, S_PARAMS);
    for (size_t i = 0; i < k->n_params; i++) {
        k->params[i].offset = (size_t)s_get_int (r, 0, 1 << 20);
        k->params[i].size = (size_t)s_get_int (r, 0, 1 << 20);
    }
    if (!k->name || !k->symbol)
        r->bad = true;
}

void kc_compiled_put (kc_buf_t *out, const kc_compiled_t *c)
{
    s_put_u64 (out, KC_COMPILE_FORMAT);
    s_put_u64 (out, (uint64_t)c->status);
    s_put_u64 (out, c->n_findings);
    for (size_t i = 0; i < c->n_findings; i++) {
        const kc_verdict_finding_t *f = &c->findings[i];
        s_put_u64 (out, (uint64_t)f->status);
        s_put_str (out, f->text);
        s_put_str (out, f->kernel);
        s_put_i64 (out, f->has_line ? f->line : 0);
        s_put_str (out, f->fix);
    }
    s_put_str (out, c->log);
    s_put_bytes (out, c->ptx, c->ptx_size);
    s_put_bytes (out, c->cubin, c->cubin_size);
    s_put_u64 (out, c->n_kernels);
    for (size_t i = 0; i < c->n_kernels; i++)
        s_put_kernel (out, &c->kernels[i]);
    s_put_facts (out, &c->facts);
    s_put_u64 (out, c->n_notes);
    for (size_t i = 0; i < c->n_notes; i++)
        s_put_str (out, c->notes[i]);
    s_put_u64 (out, c->front);
    s_put_str (out, c->compiler);
    s_put_i64 (out, (int64_t)(c->seconds * 1e6));
}

// The statuses a compilation may have.
static kc_verdict_status_t s_get_status (s_reader_t *r)
{
    int64_t v = s_get_int (r, 1, 1000);
    if (v != KC_VERDICT_STATUS_OK && v != KC_VERDICT_STATUS_COMPILE_ERROR
        && v != KC_VERDICT_STATUS_TIMEOUT && v != KC_VERDICT_STATUS_UNSUPPORTED
        && v != KC_VERDICT_STATUS_INFRA_ERROR)
        r->bad = true;
    return (kc_verdict_status_t)v;
}

kc_compiled_t *kc_compiled_get (const void *data, size_t size, kc_err_t *err)
{
    s_reader_t in = {(const unsigned char *)data, (const unsigned char *)data + size,
                     false};
    if (s_get_u64 (&in) != KC_COMPILE_FORMAT) {
        kc_fail (err, KC_EPROTO,
                 "compile result: another format than %d; parent and child differ in "
                 "version",
                 KC_COMPILE_FORMAT);
        return NULL;
    }
    kc_compiled_t *c = kc_compiled_new ();
    c->status = s_get_status (&in);
    size_t n = (size_t)s_get_int (&in, 0, KC_COMPILE_FINDINGS);
    for (size_t i = 0; i < n; i++) {
        kc_verdict_finding_t *f =
            (kc_verdict_finding_t *)kc_push (&c->findings, &c->n_findings, sizeof *f);
        kc_type_init (&kc_verdict_finding_type, f);
        f->status = s_get_status (&in);
        f->text = s_get_str (&in, 4096);
        f->kernel = s_get_str (&in, 1024);
        f->line = s_get_int (&in, 0, INT32_MAX);
        f->has_line = f->line > 0;
        f->fix = s_get_str (&in, 2048);
        if (!f->text)
            in.bad = true;
    }
    kc_set (&c->log, NULL);
    c->log = s_get_str (&in, KC_COMPILE_LOG * 4 + 64);
    c->ptx = s_get_bytes (&in, KC_COMPILE_CODE, &c->ptx_size);
    c->cubin = s_get_bytes (&in, KC_COMPILE_CODE, &c->cubin_size);
    n = (size_t)s_get_int (&in, 0, KC_COMPILE_KERNELS);
    for (size_t i = 0; i < n && !in.bad; i++)
        s_get_kernel (&in, (kc_kernel_facts_t *)kc_push (&c->kernels, &c->n_kernels,
                                                         sizeof *c->kernels));
    s_get_facts (&in, &c->facts);
    n = (size_t)s_get_int (&in, 0, S_NOTES);
    for (size_t i = 0; i < n && !in.bad; i++)
        *(char **)kc_push (&c->notes, &c->n_notes, sizeof *c->notes) =
            s_get_str (&in, 2048);
    c->front = (kc_front_t)s_get_int (&in, KC_FRONT_AUTO, KC_FRONT_CLANG);
    c->compiler = s_get_str (&in, 256);
    c->seconds = (double)s_get_int (&in, 0, (int64_t)1000 * 1000000) * 1e-6;
    for (size_t i = 0; i < c->n_notes; i++)
        if (!c->notes[i])
            in.bad = true;
    if (!c->log || !c->compiler || in.at != in.end
        || (c->status != KC_VERDICT_STATUS_OK && c->n_findings == 0))
        in.bad = true;
    if (in.bad) {
        kc_compiled_destroy (&c);
        kc_fail (err, KC_EINVALID,
                 "compile result: a field is missing, too long or out of range");
    }
    return c;
}

int kc_frame_write (int fd, const char magic[4], const void *data, size_t size,
                    kc_err_t *err)
{
    unsigned char head[12];
    memcpy (head, magic, 4);
    for (int i = 0; i < 8; i++)
        head[4 + i] = (unsigned char)((uint64_t)size >> (8 * i));
    if (kc_fd_write (fd, head, sizeof head, 0, err) < 0)
        return -1;
    return kc_fd_write (fd, data, size, 0, err);
}

char *kc_frame_read (int fd, const char magic[4], size_t max, size_t *size_p,
                     kc_err_t *err)
{
    unsigned char head[12];
    if (kc_fd_read (fd, head, sizeof head, 0, err) < 0)
        return NULL;
    uint64_t size = 0;
    for (int i = 0; i < 8; i++)
        size |= (uint64_t)head[4 + i] << (8 * i);
    if (memcmp (head, magic, 4) != 0 || size > max) {
        kc_fail (err, KC_EPROTO, "frame: expected %.4s and at most %zu bytes", magic,
                 max);
        return NULL;
    }
    char *data = (char *)kc_malloc ((size_t)size + 1);
    if (kc_fd_read (fd, data, (size_t)size, 0, err) < 0) {
        free (data);
        return NULL;
    }
    data[size] = 0;
    *size_p = (size_t)size;
    return data;
}
