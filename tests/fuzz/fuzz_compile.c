/* fuzz_compile.c - what a compile child may send: results, cubins, logs of compilers
 *
 * The first byte chooses.  A result that is accepted must be written again as the same
 * bytes; a cubin's hash must not read outside; a log becomes valid text and at most
 * KC_COMPILE_FINDINGS findings.
 */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "agents/gpu/compile/kc_compile_int.h"
#include "common/util/kc_mem.h"

static void s_result (const uint8_t *data, size_t size)
{
    kc_compiled_t *c = kc_compiled_get (data, size, NULL);
    if (!c)
        return;
    kc_buf_t again = {0};
    kc_compiled_put (&again, c);
    kc_compiled_t *d = kc_compiled_get (again.data, again.size, NULL);
    kc_assert (d && d->n_findings == c->n_findings && d->n_kernels == c->n_kernels);
    kc_compiled_destroy (&d);
    kc_compiled_destroy (&c);
    kc_buf_free (&again);
}

static void s_cubin (const uint8_t *data, size_t size)
{
    kc_compiled_t c = {.cubin = kc_malloc (size + 1), .cubin_size = size};
    if (size)
        memcpy (c.cubin, data, size);
    char hex[KC_SHA_HEX];
    if (kc_code_hash ("plan", &c, hex, NULL) == 0)
        kc_assert (strlen (hex) == KC_SHA_HEX - 1);
    free (c.cubin);
}

static void s_log (const uint8_t *data, size_t size)
{
    char *raw = kc_strndup ((const char *)data, size);
    const kc_compile_job_t job = {.source = raw};
    kc_compiled_t *c = kc_compiled_new ();
    kc_compile_scan (&job, c);
    kc_compile_log (c, &job, raw, true);
    kc_compile_report (c, raw);
    kc_assert (c->n_findings > 0 && c->n_findings <= KC_COMPILE_FINDINGS);
    kc_assert (kc_utf8_valid (c->log, strlen (c->log)));
    kc_compiled_destroy (&c);
    free (raw);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    switch (data[0] % 3) {
    case 0:
        s_result (data + 1, size - 1);
        break;
    case 1:
        s_cubin (data + 1, size - 1);
        break;
    default:
        s_log (data + 1, size - 1);
        break;
    }
    return 0;
}
