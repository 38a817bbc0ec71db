/* kc-cuda-trusted - compile trusted.cu to the PTX text that the repository carries
 *
 *   kc-cuda-trusted SOURCE HEADER OUTPUT
 *
 * Run by hand after a change of trusted.cu or kc_philox.h, where NVRTC is installed.
 * The first line of the output names the digest of both, which a test compares.  The
 * PTX version is lowered to what CUDA 11.8 reads: nothing in the file is younger, and
 * the driver of a GPU node may be.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agents/gpu/cuda/nvrtc_api.h"
#include "common/util/kc_buf.h"
#include "common/util/kc_fs.h"
#include "common/util/kc_hash.h"
#include "common/util/kc_mem.h"

enum { MAX_SOURCE = 1 << 20 };

static const char s_ptx_version[] = ".version 7.8";

static char *s_compile (kc_nvrtc_api_t *rtc, const char *source, const char *header,
                        kc_err_t *err)
{
    static const char *const options[] = {"--gpu-architecture=compute_80",
                                          "--std=c++17", "--fmad=false"};
    const char *headers[] = {header};
    const char *names[] = {"agents/gpu/judge/kc_philox.h"};
    kc_nvrtc_program_t program = NULL;
    char *ptx = NULL;
    size_t size = 0;
    if (rtc->CreateProgram (&program, source, "trusted.cu", 1, headers, names)) {
        kc_fail (err, KC_EFAILED, "NVRTC refused the source");
        return NULL;
    }
    kc_nvrtc_result_t r =
        rtc->CompileProgram (program, (int)KC_COUNT (options), options);
    if (rtc->GetProgramLogSize (program, &size) == KC_NVRTC_SUCCESS && size > 1) {
        char *log = kc_calloc (1, size + 1);
        rtc->GetProgramLog (program, log);
        fprintf (stderr, "%s\n", log);
        free (log);
    }
    if (r)
        kc_fail (err, KC_EFAILED, "NVRTC: %s", rtc->GetErrorString (r));
    else if (rtc->GetPTXSize (program, &size) == KC_NVRTC_SUCCESS) {
        ptx = kc_calloc (1, size + 1);
        rtc->GetPTX (program, ptx);
    }
    rtc->DestroyProgram (&program);
    return ptx;
}

// Lower the version, drop the compiler's comments (they name its build), put the digest
// in front.
static int s_store (const char *ptx, const char *digest, const char *path,
                    kc_err_t *err)
{
    kc_buf_t out = {0};
    kc_buf_printf (
        &out, "// made from trusted.cu and kc_philox.h by kc-cuda-trusted; sha256 %s\n",
        digest);
    for (const char *line = ptx; *line;) {
        size_t n = strcspn (line, "\n");
        if (strncmp (line, ".version ", 9) == 0)
            kc_buf_printf (&out, "%s\n", s_ptx_version);
        else if (strncmp (line, "//", 2) != 0 && n > 0)
            kc_buf_printf (&out, "%.*s\n", (int)n, line);
        line += n + (line[n] == '\n');
    }
    int rc = kc_fs_write (path, out.data, out.size, 0644, false, err);
    kc_buf_free (&out);
    return rc;
}

int main (int argc, char **argv)
{
    kc_err_t err = {0};
    if (argc != 4) {
        fprintf (stderr, "usage: kc-cuda-trusted SOURCE HEADER OUTPUT\n");
        return kc_code_exit (KC_EUSAGE);
    }
    size_t n_source = 0, n_header = 0;
    char *source = kc_fs_read (argv[1], MAX_SOURCE, &n_source, &err);
    char *header = source ? kc_fs_read (argv[2], MAX_SOURCE, &n_header, &err) : NULL;
    kc_nvrtc_api_t *rtc = header ? kc_nvrtc_api_load (NULL, &err) : NULL;
    char *ptx = rtc ? s_compile (rtc, source, header, &err) : NULL;
    int rc = -1;
    if (ptx) {
        kc_sha_t sha;
        char digest[KC_SHA_HEX];
        kc_sha_init (&sha);
        kc_sha_str (&sha, source);
        kc_sha_str (&sha, header);
        kc_sha_hex (&sha, digest);
        rc = s_store (ptx, digest, argv[3], &err);
    }
    if (rc < 0)
        fprintf (stderr, "kc-cuda-trusted: %s\n", err.text);
    kc_nvrtc_api_destroy (&rtc);
    free (ptx);
    free (header);
    free (source);
    return rc < 0 ? 1 : 0;
}
