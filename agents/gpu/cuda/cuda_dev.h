/* cuda_dev.h - inside of the cuda backend: one device, one context, one stream
 *
 * Every driver call goes through kc_cuda_ok or kc_cuda_run_ok, which turn a code into
 * words and note a sticky one: from then on 'dead' is set, no function of this backend
 * calls the driver again, and every operation answers the same error until the process
 * exits.
 *
 * For the files of this folder and its tests only.
 */
#ifndef KC_CUDA_DEV_H
#define KC_CUDA_DEV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agents/gpu/cuda/cuda_api.h"
#include "agents/gpu/device.h"

typedef enum kc_trusted { // kernels of trusted.cu
    KC_TRUSTED_HASH,
    KC_TRUSTED_GUARD,
    KC_TRUSTED_GENERATE,
    KC_TRUSTED_GATE,
    KC_TRUSTED_CLOCK,
    KC_TRUSTED_SCRUB,
    KC_TRUSTED_STACK_256,
    KC_TRUSTED_STACK_1024,
    KC_TRUSTED_STACK_4096,
    KC_TRUSTED_STACK_16384,
    KC_TRUSTED_COUNT
} kc_trusted_t;

// One stretch of device memory for the trusted kernels; the same layout as in
// trusted.cu.
typedef struct kc_cuda_segment {
    uint64_t address, bytes, value;
} kc_cuda_segment_t;
enum { KC_GUARD_BEFORE = 0x100 }; // in 'value': the guard lies before its buffer

enum {
    KC_CUDA_TABLE = 4096,    // segments and results of one trusted launch
    KC_CUDA_FLUSH_MIB = 256, // written between samples, at least twice the L2
    KC_CUDA_GATE_MS = 2000,  // the gate opens by itself after this
    KC_CUDA_GATE_STEPS =
        400, // longer streams of launches would fill the queue behind a closed gate
    KC_CUDA_STACK_LIMIT = 16384, // bytes of local memory that the scrub covers
};

// Host memory that the device sees.
typedef struct kc_cuda_mapped {
    volatile uint32_t gate; // host opens
    volatile uint32_t late; // device: the gate's limit passed
    volatile uint32_t never;
    uint32_t pad;
    volatile uint64_t clock[2]; // cycles, nanoseconds
} kc_cuda_mapped_t;

typedef struct kc_cuda_dev {
    kc_dev_t base;
    const kc_cuda_api_t *cu;
    kc_cuda_api_t *own; // the table when this device loaded it
    char *cuda_path;
    kc_cu_device_t device;
    int ordinal;
    kc_cu_context_t context;
    kc_cu_stream_t stream;
    kc_cu_event_t begin, end;
    kc_cu_module_t module;
    kc_cu_function_t trusted[KC_TRUSTED_COUNT];
    kc_cu_ptr_t flush; // allocated at the first timing
    size_t flush_bytes;
    kc_cu_ptr_t table;   // KC_CUDA_TABLE segments
    kc_cu_ptr_t results; // KC_CUDA_TABLE numbers
    kc_cuda_mapped_t *mapped;
    kc_cu_ptr_t mapped_at; // its address on the device
    int clock_khz;         // the specified maximum
    bool cooperative, clusters;
    bool dead;
    kc_cu_result_t dead_code;
} kc_cuda_dev_t;

struct kc_dev_code {
    kc_cu_module_t module;
    int max_local; // bytes of local memory per thread, of the kernels asked for so far
};

typedef struct kc_cuda_place { // one buffer in its arena
    kc_cu_ptr_t address;
    size_t bytes;
    kc_cu_ptr_t before, after; // guards
    size_t before_bytes, after_bytes;
} kc_cuda_place_t;

struct kc_dev_arena {
    kc_cu_ptr_t base;
    size_t bytes;
    size_t n;
    kc_cuda_place_t *places;
    char **names; // for findings
    kc_program_dtype_t *types;
};

// A contestant ready to launch: function handles, and the argument pointers of every
// step.
typedef struct kc_cuda_bound {
    const kc_plan_t *plan;
    kc_dev_arena_t *arena;
    kc_cu_function_t *functions; // per kernel of the plan
    void ***params;              // per step
    void **param_store;
    kc_cu_ptr_t *addresses; // the pointer arguments, step after step
    kc_cu_ptr_t *targets;   // per step: destination of copies and fills
    kc_cu_graph_t graph;
    kc_cu_exec_t exec;
    kc_cu_node_t *nodes; // per step, while the graph lives
    int max_local;
} kc_cuda_bound_t;

// Open with a table of the caller's, which must outlive the device: the tests' fake
// driver.
kc_dev_t *kc_cuda_open_with (const kc_cuda_api_t *cu, const kc_dev_config_t *config,
                             kc_err_t *err);

// 0 when r is success; else -1 with err (may be NULL) = "what: NAME (number)".
int kc_cuda_ok (kc_cuda_dev_t *self, kc_cu_result_t r, kc_err_t *err,
                const char *format, ...) __attribute__ ((format (printf, 4, 5)));
// A code that the caller judges itself; only notes a sticky one.  Returns it.
kc_cu_result_t kc_cuda_soft (kc_cuda_dev_t *self, kc_cu_result_t r);
// The same for work of a candidate: the code decides the status.  step < 0 = unknown.
int kc_cuda_run_ok (kc_cuda_dev_t *self, kc_cu_result_t r, const kc_plan_t *plan,
                    int step, kc_dev_finding_t *finding, const char *what);
// Fill a finding; return -1.
int kc_cuda_find (kc_dev_finding_t *finding, kc_verdict_status_t status,
                  const char *format, ...) __attribute__ ((format (printf, 3, 4)));
// An error of ours as INFRA_ERROR finding; return -1.
int kc_cuda_infra (const kc_cuda_dev_t *self, kc_dev_finding_t *finding,
                   const kc_err_t *err);
// -1 with err when the device is dead.
int kc_cuda_alive (const kc_cuda_dev_t *self, kc_err_t *err);

// Wait for the stream.  *late_p becomes true when 'seconds' passed first: the device is
// dead then.
kc_cu_result_t kc_cuda_wait (kc_cuda_dev_t *self, double seconds, bool *late_p);

// Launch a trusted kernel on the stream.
int kc_cuda_trusted (kc_cuda_dev_t *self, kc_trusted_t kernel, const uint32_t grid[2],
                     uint32_t block, uint32_t shared, void **params, kc_err_t *err);
// Hash 'n' segments (at most KC_CUDA_TABLE) into out[]; waits.
int kc_cuda_hash (kc_cuda_dev_t *self, const kc_cuda_segment_t *segments, size_t n,
                  uint64_t *out, kc_err_t *err);
// Compare 'n' guards; out[i] = distance of the first wrong byte from its buffer,
// UINT64_MAX when whole.
int kc_cuda_guards (kc_cuda_dev_t *self, const kc_cuda_segment_t *segments, size_t n,
                    uint64_t *out, kc_err_t *err);

// cuda_code.c
kc_dev_code_t *kc_cuda_load (kc_dev_t *dev, const kc_dev_binary_t *binary,
                             kc_dev_finding_t *finding);
void kc_cuda_unload (kc_dev_t *dev, kc_dev_code_t *code);
int kc_cuda_kernel_facts (kc_dev_t *dev, kc_dev_code_t *code, const char *symbol,
                          kc_kernel_facts_t *out);

// cuda_arena.c
kc_dev_arena_t *kc_cuda_arena (kc_dev_t *dev, const kc_plan_t *plan,
                               const kc_dev_layout_t *layout, kc_err_t *err);
void kc_cuda_arena_free (kc_dev_t *dev, kc_dev_arena_t *arena);
int kc_cuda_poison (kc_dev_t *dev, kc_dev_arena_t *arena, int index, unsigned char byte,
                    kc_err_t *err);
int kc_cuda_generate (kc_dev_t *dev, kc_dev_arena_t *arena, int index,
                      const kc_card_fill_t *fill, uint64_t key, kc_err_t *err);
int kc_cuda_write (kc_dev_t *dev, kc_dev_arena_t *arena, int index, const void *data,
                   kc_err_t *err);
int kc_cuda_read (kc_dev_t *dev, kc_dev_arena_t *arena, int index, void *data,
                  kc_err_t *err);
int kc_cuda_hash_buffer (kc_dev_t *dev, kc_dev_arena_t *arena, int index, uint64_t *out,
                         kc_err_t *err);
int kc_cuda_check_guards (kc_dev_t *dev, kc_dev_arena_t *arena,
                          kc_dev_finding_t *finding);

// cuda_plan.c
int kc_cuda_bind (kc_cuda_dev_t *self, const kc_dev_contestant_t *who,
                  kc_cuda_bound_t *out, kc_dev_finding_t *finding);
void kc_cuda_unbind (kc_cuda_dev_t *self, kc_cuda_bound_t *bound);
// Build and instantiate the graph of a bound plan (once; later calls do nothing).
int kc_cuda_graph (kc_cuda_dev_t *self, kc_cuda_bound_t *bound,
                   kc_dev_finding_t *finding);
// Put one step on the stream; nothing waits.
int kc_cuda_launch_step (kc_cuda_dev_t *self, const kc_cuda_bound_t *bound, int step,
                         kc_dev_finding_t *finding);
// Put the whole plan on the stream, as launches or as its graph; nothing waits.
int kc_cuda_launch (kc_cuda_dev_t *self, const kc_cuda_bound_t *bound, bool graph,
                    kc_dev_finding_t *finding);
// Wait for what was launched, within limits->seconds; TIMEOUT or what the code says.
int kc_cuda_settle (kc_cuda_dev_t *self, const kc_cuda_bound_t *bound, int step,
                    const kc_dev_limits_t *limits, kc_dev_finding_t *finding);

// cuda_run.c
int kc_cuda_run (kc_dev_t *dev, const kc_dev_contestant_t *who, bool audit,
                 const kc_dev_limits_t *limits, kc_dev_finding_t *finding);

// cuda_time.c
int kc_cuda_time (kc_dev_t *dev, const kc_dev_contestant_t *who, int n,
                  const kc_dev_timing_options_t *options, const kc_dev_limits_t *limits,
                  kc_dev_timing_t *out, kc_dev_finding_t *finding);
int kc_cuda_flush (kc_cuda_dev_t *self, kc_err_t *err);
int kc_cuda_scrub (kc_cuda_dev_t *self, int max_local, kc_err_t *err);

// cuda_prof.c
int kc_cuda_profile (kc_dev_t *dev, const kc_dev_contestant_t *who,
                     const kc_dev_limits_t *limits, kc_dev_profile_t *out,
                     kc_dev_finding_t *finding);
// Whether counters can be expected here, without touching the GPU; the reason when not.
bool kc_cuda_counters_expected (const char *cuda_path, char *reason, size_t size);

// trusted_ptx.c, made from trusted.ptx by the build
extern const unsigned char kc_trusted_ptx[];
extern const size_t kc_trusted_ptx_size;

#endif // KC_CUDA_DEV_H
