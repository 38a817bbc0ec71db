/* kc_plan.h - a program resolved for one set of dims, one device and its compiled kernels
 *
 * A plan is what a device executes: sizes, launches and argument bytes, no expressions and no names
 * to look up.  It is built twice per unit: the constants come first (the source needs them to be
 * compiled), then, with the facts of the compiled kernels, the buffers and steps.
 * Everything in a plan is checked: element types, alignment, ranges, launch limits, accesses inside
 * views, written outputs, dead steps (kernel-program 1.6 to 1.11).  A plan owns all it points to.
 */
#ifndef KC_PLAN_H
#define KC_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/msg/gen/card.h"
#include "common/msg/gen/program.h"
#include "common/msg/gen/verdict.h"
#include "common/util/kc_err.h"

enum {
    KC_PLAN_MAX_STEPS = 20000,
    KC_PLAN_MAX_KERNELS = 256,
    KC_PLAN_MAX_ARG_BYTES = 4096,
    KC_PLAN_MAX_RANK = 8,
};

// Facts of the device that expressions may name (SMS, WARP, SMEM_BLOCK, SMEM_SM, L2, CC) and that
// launches are checked against.
typedef struct kc_device_facts {
    int sms;
    int sm; // compute capability, 90 for 9.0
    int warp;
    int max_threads_block, max_threads_sm, max_blocks_sm;
    int regs_sm, regs_block;
    int64_t shared_block; // opt-in maximum per block, bytes
    int64_t shared_block_plain; // without opt-in (48 KiB)
    int64_t shared_sm;
    int64_t shared_reserved; // per block, by the system (1 KiB from sm_80 on)
    int64_t l2_bytes;
    int64_t max_grid[3];
} kc_device_facts_t;

// Facts of one compiled kernel; what the plan needs and the verdict reports.
typedef struct kc_kernel_facts {
    char *name;     // as in the source, template arguments included: "softmax<4, float>"
    char *symbol;   // name in the compiled code
    int registers;
    bool registers_estimated;
    int64_t shared_static, local_bytes, spill_bytes;
    int max_threads; // the kernel's own bound (__launch_bounds__)
    size_t n_params;
    struct {
        size_t offset, size;
    } params[64]; // as in the compiled code
} kc_kernel_facts_t;

typedef enum kc_plan_role {
    KC_ROLE_INPUT = 1,
    KC_ROLE_PARAM,
    KC_ROLE_OUTPUT,
    KC_ROLE_INOUT,
    KC_ROLE_SCRATCH,
    KC_ROLE_PREPARED,
} kc_plan_role_t;

// One allocation.  Views do not appear: they became offsets.
typedef struct kc_plan_buffer {
    char *name;
    kc_plan_role_t role;
    kc_program_dtype_t dtype;
    int rank;
    int64_t sizes[KC_PLAN_MAX_RANK];
    int64_t elements, bytes;
    int64_t align;
    bool zero;     // zeroed before its first user, inside the timed region (a FILL step does it)
    bool readonly; // no step declares a write (inputs, params; prepared outside prepare)
    kc_card_fill_t fill; // of inputs, params and inouts
} kc_plan_buffer_t;

typedef struct kc_plan_arg {
    size_t offset, size;   // place in the parameter block
    int buffer;            // index of the buffer whose address goes there, -1 = immediate bytes
    int64_t byte_offset;   // added to the buffer's address
    bool writes;           // T*: read and written; const T*: read only
    unsigned char bytes[64];
} kc_plan_arg_t;

typedef struct kc_plan_range { // bytes of a buffer that a step may touch
    int buffer;
    int64_t from, to; // half open
    bool writes;
} kc_plan_range_t;

// Library steps take part in expansion, checks and dataflow; no device executes them yet
// (kc_plan_runnable says so before a device sees the plan).
typedef enum kc_plan_op {
    KC_PLAN_KERNEL = 1,
    KC_PLAN_COPY,
    KC_PLAN_FILL,
    KC_PLAN_MATMUL,
    KC_PLAN_CONV,
    KC_PLAN_RNN,
    KC_PLAN_ATTENTION
} kc_plan_op_t;

typedef struct kc_plan_step {
    kc_plan_op_t op;
    int source_step;   // index in the program's steps (kc_program_step): launches of a loop share it;
                       // -1 = the zeroing of a buffer
    int kernel;        // index in kernels, -1 for copy and fill
    uint32_t grid[3], block[3], cluster[3]; // cluster 0,0,0 = none
    int64_t shared;    // dynamic bytes
    bool cooperative;
    int carveout;      // percent, -1 = default
    size_t n_args;
    kc_plan_arg_t *args;
    size_t param_bytes;
    // copy and fill, contiguous: bytes from (src, src_offset) to (dst, dst_offset)
    int src, dst;
    int64_t src_offset, dst_offset, bytes;
    uint32_t pattern;  // of a fill: the element's bit pattern ...
    int pattern_size;  // ... of 1, 2 or 4 bytes (8-byte zero is given as 4)
    char *symbol;      // copy to a __constant__ symbol instead of dst
    size_t n_ranges;
    kc_plan_range_t *ranges;
    size_t n_after;    // dataflow: steps that must have ended; empty with serial order
    int *after;
} kc_plan_step_t;

typedef struct kc_plan {
    size_t n_buffers;
    kc_plan_buffer_t *buffers;
    size_t n_kernels;
    kc_kernel_facts_t *kernels;
    size_t n_steps;
    kc_plan_step_t *steps;
    size_t n_prepare;  // the first n_prepare steps are the prepare blocks
    bool dataflow, graph; // graph: replay as one CUDA graph (auto is resolved)
    bool tensormaps;      // a kernel takes a CUtensorMap: its argument bytes are zero
    size_t n_dims;     // the dims it was resolved for, for texts
    kc_task_setting_t *dims;
    size_t n_warnings;
    char **warnings;
} kc_plan_t;

// In all functions below: 'dims' override the card's dims of the same name (NULL, 0: none), and
// 'findings' (made with kc_verdict_new; may be NULL) gets up to 8 entries.

// First half: the program's constants at these dims, as the text put in front of the source
// (kernel-program 1.5).  Caller frees.  NULL: findings says why.
char *kc_plan_constants (const kc_card_t *card, const kc_program_t *program, const kc_task_setting_t *dims,
                         size_t n_dims, const kc_device_facts_t *facts, kc_verdict_t *findings);

// Second half.  'kernels' are the facts of the compiled unit (copied).  NULL: 'findings' says why
// (PLAN_ERROR, UNSUPPORTED); lines are those of the program's source, steps those of kc_program_step.
// With kernels = NULL the plan is checked as far as the source alone allows: registers, static shared
// memory and the compiled parameter layout are taken as harmless, and library steps and tensor maps are
// left in (kc_plan_runnable tells).  Such a plan is not for a device.
kc_plan_t *kc_plan_build (const kc_card_t *card, const kc_program_t *program, const kc_task_setting_t *dims,
                          size_t n_dims, const kc_device_facts_t *facts, const kc_kernel_facts_t *kernels,
                          size_t n_kernels, kc_verdict_t *findings);
void kc_plan_destroy (kc_plan_t **self_p);

// 0 when a device can execute the plan; -1 with an UNSUPPORTED finding (library steps, tensor maps).
int kc_plan_runnable (const kc_plan_t *plan, kc_verdict_t *findings);
// The longest chain of steps: n_steps with serial order, else by the dataflow edges.
size_t kc_plan_critical_path (const kc_plan_t *plan);

// The kernels that the program's steps launch, template arguments resolved ("softmax<4, float>"), each
// once: names for the compiler and for kc_kernel_facts_t.name.  Steps whose condition is false count too.
// Caller frees the array and its strings.  NULL with *n_p = 0: none, or findings says why.
char **kc_plan_kernel_names (const kc_card_t *card, const kc_program_t *program, const kc_task_setting_t *dims,
                             size_t n_dims, const kc_device_facts_t *facts, size_t *n_p, kc_verdict_t *findings);

// Resident blocks per SM of a launch (registers, shared memory, warps, blocks; allocation granularity
// of sm_80 and later) and what limits it.
typedef enum kc_limiter { KC_LIMIT_WARPS = 1, KC_LIMIT_REGISTERS, KC_LIMIT_SHARED, KC_LIMIT_BLOCKS } kc_limiter_t;
int kc_occupancy (const kc_device_facts_t *facts, int registers, int64_t shared_total, int threads,
                  kc_limiter_t *limiter);

#endif // KC_PLAN_H
