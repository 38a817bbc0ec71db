/* kc_compile_int.h - what the parts of this folder share; nobody else includes it
 *
 * The order of a compilation: the parent (kc_compiler.c) writes a request, the child
 * (kc_compile_child.c) reads it, closes itself in (kc_sandbox.c), runs a front end
 * (kc_front_*.c), reads the log (kc_compile_log.c), checks the code
 * (kc_compile_policy.c) and writes the result (kc_compile_wire.c).
 */
#ifndef KC_COMPILE_INT_H
#define KC_COMPILE_INT_H

#include "agents/gpu/compile/kc_compile.h"
#include "common/util/kc_buf.h"

enum {
    KC_COMPILE_FORMAT = 1, // of requests, results and cache entries
    KC_COMPILE_FRAME_MAX = 2 * KC_COMPILE_CODE + 4 * 1024 * 1024,
    KC_COMPILE_TOOL_PATHS = 16,
    KC_COMPILE_NAME = 256, // bytes of a kernel's name with template arguments
    KC_COMPILE_RAW_LOG = 4 * 1024 * 1024, // of a compiler's log, before it is cleaned
};

// Files whose names the compilers see.
#define KC_COMPILE_MAIN "program.cu"
#define KC_COMPILE_CONST "constants"
#define KC_COMPILE_NAMES "kernels of the steps"

// ---- the include tree, built into the binary ----

typedef struct kc_prelude_file {
    const char *name; // as #include names it
    const char *text;
    size_t size;
    bool alias; // only includes another one
} kc_prelude_file_t;

const kc_prelude_file_t *kc_prelude_files (size_t *n_p);
const kc_prelude_file_t *kc_prelude_find (const char *name,
                                          size_t size); // NULL when absent
void kc_prelude_hash (char hex[KC_SHA_HEX]);

// ---- request: a job and the tools that the parent found ----

typedef struct kc_compile_request {
    kc_compile_job_t job; // strings owned by the request
    kc_front_t front;     // never AUTO
    char *tool;           // libnvrtc or clang, absolute
    char *tmp;            // private folder, exists
} kc_compile_request_t;

void kc_compile_request_clear (kc_compile_request_t *r);
void kc_compile_job_copy (kc_compile_job_t *to, const kc_compile_job_t *from);
void kc_compile_job_clear (kc_compile_job_t *job); // of a copy

// What is wrong with a job, before any compiler sees it; NULL = nothing.  Caller frees.
char *kc_compile_job_check (const kc_compile_job_t *job);
void kc_compile_job_key (const kc_compile_job_t *job, const char *version,
                         char hex[KC_SHA_HEX]);

// ---- frames ----

void kc_compile_request_put (kc_buf_t *out, const kc_compile_request_t *r);
int kc_compile_request_get (const void *data, size_t size, kc_compile_request_t *r,
                            kc_err_t *err);
void kc_compiled_put (kc_buf_t *out, const kc_compiled_t *c);
kc_compiled_t *kc_compiled_get (const void *data, size_t size, kc_err_t *err);
// Frame on a descriptor: 4 bytes magic, 8 bytes length, payload.
int kc_frame_write (int fd, const char magic[4], const void *data, size_t size,
                    kc_err_t *err);
char *kc_frame_read (int fd, const char magic[4], size_t max, size_t *size_p,
                     kc_err_t *err);

// ---- results ----

kc_compiled_t *kc_compiled_new (void);
// Add a finding; at most KC_COMPILE_FINDINGS are kept.  The first one sets the status.
void kc_compiled_find (kc_compiled_t *c, kc_verdict_status_t status, int64_t line,
                       const char *format, ...) __attribute__ ((format (printf, 4, 5)));
void kc_compiled_fix (kc_compiled_t *c, const char *fix); // of the finding added last
void kc_compiled_kernel_of (kc_compiled_t *c, const char *kernel); // the same
void kc_compiled_note (kc_compiled_t *c, const char *format, ...)
    __attribute__ ((format (printf, 2, 3)));

// ---- front ends; each fills ptx, cubin, log, findings, kernels' symbols, compiler
// ----

// The text that is compiled: prelude, constants, source.
char *kc_compile_unit (const kc_compile_job_t *job);
typedef struct kc_nvrtc_api kc_nvrtc_api_t;
int kc_front_nvrtc (kc_nvrtc_api_t *api, const kc_compile_request_t *r,
                    kc_compiled_t *c);
int kc_front_clang (const kc_compile_request_t *r, kc_compiled_t *c);

// ---- logs ----

// Put a compiler's raw log into c->log, cleaned; with 'failed', its errors into
// findings.
void kc_compile_log (kc_compiled_t *c, const kc_compile_job_t *job, const char *raw,
                     bool failed);
// Facts of ptxas' report (--ptxas-options=-v) into the kernels with these symbols.
void kc_compile_report (kc_compiled_t *c, const char *raw);
// What is wrong with the source before any compiler sees it: includes that leave the
// tree.
int kc_compile_scan (const kc_compile_job_t *job, kc_compiled_t *c);

// ---- compiled code ----

// Rules of kernel-program 1.10 S4, S5 and facts of H7, from c->ptx; completes the
// kernels.
void kc_compile_policy (const kc_compile_job_t *job, kc_compiled_t *c);
// Source line of a line of the PTX text, by the .loc before it; 0 unknown.
int64_t kc_ptx_source_line (const char *ptx, int64_t ptx_line);

// ---- sandbox ----

int kc_sandbox_limits (void); // rlimits, no_new_privs, death with the parent
typedef struct kc_sandbox {
    const char *read[KC_COMPILE_TOOL_PATHS]; // files and folders, absolute; absent ones
                                             // are skipped
    const char *write[4];
} kc_sandbox_t;
// Landlock.  0, or -1 with the reason why nothing is restricted.
int kc_sandbox_close (const kc_sandbox_t *box, kc_err_t *err);

// ---- compilers on this machine ----

// Add path, size and time of a file: a toolkit that is replaced in place gets new keys.
void kc_tool_identity (kc_sha_t *sha, const char *path);
char *kc_tool_clang (const char *given,
                     kc_err_t *err); // absolute path, NULL when absent; caller frees
char *
kc_tool_clang_version (const char *clang); // "clang 14.0.6", by asking it; caller frees
void kc_tool_sweep (
    const char *root); // delete private folders "kc-compile-<pid>-XXXXXX" of processes
                       // that are gone

// ---- cache ----

typedef struct kc_compile_cache kc_compile_cache_t;
kc_compile_cache_t *kc_compile_cache_new (const char *dir, int64_t bytes,
                                          kc_err_t *err);
void kc_compile_cache_destroy (kc_compile_cache_t **self_p);
kc_compiled_t *kc_compile_cache_get (kc_compile_cache_t *self, const char *key);
void kc_compile_cache_put (kc_compile_cache_t *self, const char *key,
                           const kc_compiled_t *c);
// Delete the least recently used entries beyond the bound, at most 'most' of them; the
// number deleted.
int kc_compile_cache_trim (kc_compile_cache_t *self, int most);

#endif // KC_COMPILE_INT_H
