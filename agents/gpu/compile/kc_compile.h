/* kc_compile.h - from a program's source to compiled code, its facts, and what is wrong
 * with it
 *
 * Every compilation runs in a fresh child ("kc-runner compile"): job in on fd 3, result
 * out on fd 4, with limits on memory, time and files and, where the kernel has
 * Landlock, no readable file but the compiler and our include tree.  Results are cached
 * by everything they depend on, errors too.
 *
 * Two front ends give the same result: NVRTC where it is installed (PTX and, without
 * any GPU, cubins with ptxas' report), Debian's clang else (PTX for the virtual GPU
 * only).  Sources see the include tree of agents/gpu/compile/include, built into the
 * binary, and nothing of the host.
 *
 * Promises
 * - A result always comes: OK, or a status with at least one finding whose line is the
 * author's (0 when there is none).  Nobody but the child pays for a compile bomb.
 * - Code that breaks kernel-program 1.10 S4 is COMPILE_ERROR with the rule's words,
 * whoever compiled it.
 * - Logs are valid UTF-8, at most KC_COMPILE_LOG characters, and name no path of the
 * host.
 * - The same job with the same compiler gives the same bytes, and the same code hash.
 */
#ifndef KC_COMPILE_H
#define KC_COMPILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/model/kc_plan.h"
#include "common/msg/gen/verdict.h"
#include "common/net/kc_loop.h"
#include "common/util/kc_err.h"
#include "common/util/kc_hash.h"

enum {
    KC_COMPILE_SOURCE = 256 * 1024,     // bytes of a source
    KC_COMPILE_CONSTANTS = 64 * 1024,   // bytes of the constants' text
    KC_COMPILE_KERNELS = 256,           // kernels asked for
    KC_COMPILE_FINDINGS = 8,            // findings kept
    KC_COMPILE_LOG = 16384,             // characters of a log
    KC_COMPILE_CODE = 64 * 1024 * 1024, // bytes of PTX or cubin
    KC_COMPILE_CPU_S = 60,              // the child's limits
    KC_COMPILE_WALL_S = 90,
    KC_COMPILE_FSIZE = 256 * 1024 * 1024,
};
#define KC_COMPILE_AS ((int64_t)8 << 30) // address space of the child, bytes

typedef enum kc_front {
    KC_FRONT_AUTO = 0, // NVRTC where it works, else clang
    KC_FRONT_NVRTC,
    KC_FRONT_CLANG,
} kc_front_t;
const char *kc_front_name (kc_front_t front); // "nvrtc", "clang", "auto"
int kc_front_parse (const char *name);        // -1 when unknown

typedef struct kc_compile_job { // borrows everything
    const char *source;         // UTF-8; line 1 is the first line of findings
    const char
        *constants; // put in front of the source (kc_plan_constants), NULL = none
    bool cxx20, fast_math;
    bool no_fmad;               // do not contract a * b + c
    int max_registers;          // 0 = the compiler's choice
    const char *const *kernels; // as steps name them: "softmax<4, float>"; none = every
                                // kernel of the code, under its symbol
    size_t n_kernels;
    int sm; // of the device, real or modelled: 90; from 90 on the "a" target is taken
    bool want_ptx;   // for the virtual GPU (compute_80)
    bool want_cubin; // for the real one; clang answers UNSUPPORTED
    bool printf_on; // repair builds: printf and assert stay in; judged builds drop them
} kc_compile_job_t;

// What the compiled code contains (kernel-program 1.10 H7 and the lists of S4): for
// labels and the report.
typedef struct kc_code_facts {
    // tensor instructions by the type of their inputs, static counts
    int tensor_f16, tensor_bf16, tensor_tf32, tensor_fp8, tensor_int, tensor_f64;
    int to_f16, to_bf16, to_fp8, to_tf32; // conversions from a wider type
    int approx; // rcp, sqrt, rsqrt, sin, cos, lg2, ex2, tanh, div in approximate form
    int ftz;    // instructions that flush denormals
    int fp64, fp32; // arithmetic instructions
    bool uses_smid, uses_printf, uses_assert, uses_createpolicy;
} kc_code_facts_t;

typedef struct kc_compiled {
    kc_verdict_status_t
        status; // OK, COMPILE_ERROR, TIMEOUT, UNSUPPORTED or INFRA_ERROR
    size_t n_findings;
    kc_verdict_finding_t *findings;
    char *log; // cleaned; "" when the compiler was silent
    char *ptx; // zero-terminated; kept for cubin jobs of NVRTC too
    size_t ptx_size;
    void *cubin; // also when only PTX was asked for but ptxas' report was possible
    size_t cubin_size;
    size_t n_kernels;
    kc_kernel_facts_t *kernels; // in the order of the job's names, or of the PTX
    kc_code_facts_t facts;
    size_t n_notes;
    char **notes; // "max_registers has no effect with the clang front end", uses of
                  // %smid, ...
    kc_front_t front;
    char *compiler; // "NVRTC 13.0", "clang 14.0.6"
    double seconds; // of the compilation, also when it came from the cache
    bool cached;
} kc_compiled_t;

void kc_compiled_destroy (kc_compiled_t **self_p);
// The kernel named 'name' as in the job, NULL when absent.
const kc_kernel_facts_t *kc_compiled_kernel (const kc_compiled_t *self,
                                             const char *name);

// ---- parent side ----

typedef struct kc_compiler kc_compiler_t;
// The result belongs to the callee from then on (kc_compiled_destroy).
typedef void (kc_compiler_f) (kc_compiled_t *result, void *arg);

typedef struct kc_compiler_config { // borrowed for the call of kc_compiler_new
    const char *runner; // absolute path of the program started as "<runner> compile";
                        // NULL = kc-runner beside the running binary
    const char *
        cache_dir; // <cache>; results lie in <cache>/cubin, mode 0700.  NULL = no cache
    int64_t cache_bytes;   // least recently used entries go beyond this; 0 = 1 GiB
    const char *cuda_path; // where NVRTC is looked for first; NULL = the usual places
    const char *clang;     // absolute path; NULL = the usual places
    kc_front_t front;
    int max_children; // compilations at once; 0 = 2
} kc_compiler_config_t;

// Find the compilers and compile one kernel in a child (blocks up to some seconds).
// NULL with KC_EUNSUPPORTED and a text that says what was looked for where, when none
// works.
kc_compiler_t *kc_compiler_new (const kc_compiler_config_t *config, kc_err_t *err);
// Kills what runs; callbacks of unfinished jobs are not called.
void kc_compiler_destroy (kc_compiler_t **self_p);

kc_front_t kc_compiler_front (const kc_compiler_t *self);
// Name, version and digest of compiler, prelude and result format: part of every cache
// key that depends on compiled code.  Owned.
const char *kc_compiler_version (const kc_compiler_t *self);
const char *kc_compiler_note (
    const kc_compiler_t *self); // why the better front end is not used, "" else

// Start a job (from a thread that lives on: children die with the thread that started
// them); 'call' is called from the loop exactly once, never from inside this
// function.  The job is copied.  The ticket, never 0.  Jobs beyond max_children wait in
// order.
int64_t kc_compiler_start (kc_compiler_t *self, kc_loop_t *loop,
                           const kc_compile_job_t *job, kc_compiler_f *call, void *arg);
void kc_compiler_cancel (
    kc_compiler_t *self,
    int64_t ticket); // kills its child, no callback; unknown is fine
// The same, blocking (tests and command line tools).  Never NULL.
kc_compiled_t *kc_compiler_run (kc_compiler_t *self, const kc_compile_job_t *job);
// The key of a job's result, without its kind's prefix.
void kc_compiler_key (const kc_compiler_t *self, const kc_compile_job_t *job,
                      char hex[KC_SHA_HEX]);

// ---- child side ----

// What "kc-runner compile" does: limits, job from 'in', sandbox, compile, result to
// 'out'.  The exit status.
int kc_compile_child (int in, int out);

// ---- code hash ----

// SHA-256 over the canonical plan's text and the code: of a cubin its executable,
// constant and resource sections, else the PTX without positions, comments and debug
// sections.  -1 for a cubin that is not one.
int kc_code_hash (const char *plan, const kc_compiled_t *code, char hex[KC_SHA_HEX],
                  kc_err_t *err);

#endif // KC_COMPILE_H
