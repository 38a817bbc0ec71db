/* vgpu.h - the virtual GPU: PTX text in, memory, counters and findings out
 *
 * Interprets PTX (what NVRTC 13 and Debian's clang 14 write for sm_80), a warp at a time with the 32
 * lanes as vectors.  One launch runs on the calling thread; its order, its counters and its result
 * depend on module, launch and seed alone.  Nothing here reads a clock, a file or the environment.
 *
 * Memory: global memory is the caller's host memory.  A buffer gives it a device address range; the
 * numbers in pointer arguments are those device addresses.  Ranges must not overlap and should lie
 * apart (guard zones), so that an access just past one is seen.  Every access is checked: inside one
 * buffer, aligned to its size, and not a write into a read-only buffer.
 *
 * A launch that finds an error stops at the first one: buffers then hold what was written up to
 * there.  What the interpreter does not know is refused when the module is loaded (KC_EUNSUPPORTED with
 * instruction and line), never at run time and never silently.
 */
#ifndef KC_VGPU_H
#define KC_VGPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agents/gpu/vgpu/ptx_module.h"
#include "common/util/kc_err.h"

enum {
    VGPU_MAX_BUFFERS = 4096,        // per launch
    VGPU_MAX_THREADS = 1024,        // per block
    VGPU_MAX_SHARED = 232448,       // bytes per block, static + dynamic
    VGPU_MAX_PARAMS = 32764,        // bytes of kernel arguments
    VGPU_MAX_RESIDENT = 1024,       // blocks held at once
    VGPU_NAME = 64,                 // bytes of a name in a finding
    VGPU_TEXT = 1024,               // bytes of a finding's text
    VGPU_OUTPUT_MAX = 1 << 20,      // bytes of printf output kept per launch
};
#define VGPU_BUDGET_DEFAULT 4000000000ull // lane-instructions per launch

// Device addresses of buffers must lie in [VGPU_GLOBAL_LOW, VGPU_GLOBAL_HIGH); the windows of the
// generic address space (shared, local, param, const, module variables) start above.
#define VGPU_GLOBAL_LOW 0x10000ull
#define VGPU_GLOBAL_HIGH 0x7f0000000000ull

typedef struct vgpu_module vgpu_module_t;

// X (SYMBOL, name) - how a launch ended; the name is what a verdict's facts show
#define VGPU_STATUS(X)                                                                 \
    X (OK, "ok")                                                                       \
    X (OUT_OF_BOUNDS, "out of bounds")                                                 \
    X (MISALIGNED, "misaligned")                                                       \
    X (READ_ONLY, "undeclared write")                                                  \
    X (BARRIER_DIVERGENCE, "divergent barrier")                                        \
    X (SYNC_MISSING, "lanes missing at .sync")                                         \
    X (DEADLOCK, "deadlock")                                                           \
    X (TIMEOUT, "timeout")                                                             \
    X (ASSERT, "assertion failed")                                                     \
    X (TRAP, "trap")                                                                   \
    X (STACK, "stack overflow")                                                        \
    X (BAD_LAUNCH, "bad launch")

typedef enum vgpu_status {
#define VGPU_STATUS_ENUM(sym, name) VGPU_##sym,
    VGPU_STATUS (VGPU_STATUS_ENUM)
#undef VGPU_STATUS_ENUM
        VGPU_STATUS_COUNT
} vgpu_status_t;

const char *vgpu_status_name (vgpu_status_t status);

typedef struct vgpu_buffer {
    uint64_t base;           // device address; aligned to 256 by the caller's arena
    uint64_t size;           // bytes
    void *host;              // 'size' bytes of the caller's memory
    const char *name;        // for findings; borrowed for the launch
    bool writable;           // false: a store is VGPU_READ_ONLY
    uint32_t element;        // bytes of one element, for "element 17 of x"; 0 = 1
} vgpu_buffer_t;

typedef struct vgpu_launch {
    const char *kernel;      // entry name as in the PTX (mangled when it is)
    uint32_t grid[3];        // blocks
    uint32_t block[3];       // threads
    uint32_t dynamic_shared; // bytes
    const void *params;      // the argument block, laid out as ptx_func_t.params says
    uint32_t params_size;    // bytes; must equal ptx_func_t.params_size
    uint32_t n_resident;     // blocks alive at once: min (occupancy x SMs, 64) in judged runs; 0 = 16
    uint32_t sm_count;       // what %nsmid says, blocks go round robin over it; 0 = 132
    uint64_t budget;         // lane-instructions; 0 = VGPU_BUDGET_DEFAULT
    uint64_t seed;           // which side of a divergent branch runs first; 0 = fall-through first
    const vgpu_buffer_t *buffers;
    uint32_t n_buffers;
    // Sampling for the time model: run only these linear block numbers (ascending); NULL = all blocks.
    // Everything a skipped block would have written is then missing.
    const uint64_t *sample;
    uint32_t n_sample;
} vgpu_launch_t;

// Instruction classes of the counters.  A class follows the pipe that would execute it.
// X (SYMBOL, name, latency in clocks used by the dependency chain)
#define VGPU_CLASSES(X)                                                                \
    X (FP32_ADD, "fp32 add", 4)                                                        \
    X (FP32_MUL, "fp32 mul", 4)                                                        \
    X (FP32_FMA, "fp32 fma", 4)                                                        \
    X (FP32_OTHER, "fp32 min max abs neg", 4)                                          \
    X (FP64, "fp64", 8)                                                                \
    X (FP16, "fp16", 4)                                                                \
    X (INT_ALU, "integer alu", 4)                                                      \
    X (INT_MUL, "integer multiply", 4)                                                 \
    X (MUFU, "special function", 23)                                                   \
    X (CONVERT, "conversion", 12)                                                      \
    X (PREDICATE, "compare and select", 4)                                             \
    X (MOVE, "move", 4)                                                                \
    X (CONTROL, "control", 4)                                                          \
    X (GLOBAL_LOAD, "global load", 650)                                                \
    X (GLOBAL_STORE, "global store", 4)                                                \
    X (SHARED_LOAD, "shared load", 29)                                                 \
    X (SHARED_STORE, "shared store", 4)                                                \
    X (LOCAL_LOAD, "local load", 38)                                                   \
    X (LOCAL_STORE, "local store", 4)                                                  \
    X (CONST_LOAD, "const and param load", 8)                                          \
    X (ATOMIC_GLOBAL, "global atomic", 300)                                            \
    X (ATOMIC_SHARED, "shared atomic", 40)                                             \
    X (BARRIER, "barrier", 20)                                                         \
    X (SHUFFLE, "shuffle, vote, match", 23)                                            \
    X (FENCE, "fence", 20)                                                             \
    X (TENSOR, "tensor core", 33)                                                      \
    X (ASYNC, "asynchronous copy", 4)

typedef enum vgpu_class {
#define VGPU_CLASS_ENUM(sym, name, latency) VGPU_CLASS_##sym,
    VGPU_CLASSES (VGPU_CLASS_ENUM)
#undef VGPU_CLASS_ENUM
        VGPU_CLASS_COUNT
} vgpu_class_t;

const char *vgpu_class_name (vgpu_class_t c);
uint32_t vgpu_class_latency (vgpu_class_t c); // clocks

// What one buffer saw.  A sector is 32 bytes, aligned.
typedef struct vgpu_traffic {
    uint64_t load_sectors, store_sectors;     // sectors of all requests, repeats included
    uint64_t load_bytes, store_bytes;         // bytes that lanes asked for (vector width x lanes)
    uint64_t unique_read, unique_written;     // distinct sectors of the launch: compulsory DRAM traffic / 32
    uint64_t block_read, block_written;       // distinct sectors per block, summed over blocks: L2 traffic / 32
                                              // when L1 holds a block's working set
    uint64_t atomics;                         // lane operations
} vgpu_traffic_t;

// What one source line cost.  Lines are of the main file; prelude code is charged to its caller's line
// where the PTX says so.
typedef struct vgpu_line {
    uint32_t line;
    uint64_t warp_instructions;
    uint64_t thread_instructions; // active, predicate on
    uint64_t sectors;             // global and local
    uint64_t shared_wavefronts;
    uint64_t conflicts;           // extra shared wavefronts
    uint64_t divergent;           // divergent executions of branches
} vgpu_line_t;

// Counts of one launch (of its sampled blocks when vgpu_launch_t.sample is given).  They follow the hardware
// where PTX does not: a division, a square root, an integer remainder or a built-in function counts as about the
// instructions that it becomes, and parameters of calls cost nothing.
typedef struct vgpu_counters {
    uint64_t blocks;              // blocks run to their end
    uint64_t warps;               // warps of these blocks
    uint64_t threads;
    uint64_t warp_instructions;   // issued, also when the predicate was off for every lane
    uint64_t thread_instructions; // lanes active and predicate on: the lane-instructions of the budget
    uint64_t active_lanes;        // sum over issued instructions of lanes active (predicate on or off);
                                  // active_lanes / (32 x warp_instructions) = "active lanes"
    uint64_t predicated_off;      // lanes active but predicate off
    uint64_t warp_by_class[VGPU_CLASS_COUNT];   // warp instructions
    uint64_t thread_by_class[VGPU_CLASS_COUNT]; // thread instructions
    uint64_t fp32_flops, fp64_flops;            // fma = 2; add, mul, div, sqrt, min, max, special functions = 1
    uint64_t int_thread_instructions;           // INT_ALU + INT_MUL

    uint64_t global_load_requests, global_store_requests;   // warp-level
    uint64_t global_load_sectors, global_store_sectors;     // 32 B
    uint64_t global_load_bytes, global_store_bytes;         // bytes lanes asked for
    uint64_t global_load_lanes, global_store_lanes;         // bytes / lanes = mean access width per lane
    uint64_t global_load_used, global_store_used;           // distinct bytes used of the request's sectors;
                                                            // used / (32 x sectors) = efficiency
    uint64_t local_load_bytes, local_store_bytes;           // bytes lanes asked for
    uint64_t local_sectors;                                 // 32 B, for the hardware's interleaved layout
    uint64_t shared_load_requests, shared_store_requests;
    uint64_t shared_load_bytes, shared_store_bytes;
    uint64_t shared_wavefronts;                             // passes through the 32 x 4 B banks
    uint64_t shared_conflicts;                              // wavefronts beyond the least possible

    uint64_t branches;            // executions of conditional branches
    uint64_t divergent_branches;  // lanes went both ways
    uint64_t barriers;            // warp arrivals at barriers (bar.warp.sync not included)
    uint64_t barrier_releases;    // block-wide releases
    uint64_t barrier_wait;        // warp instructions that a block's other warps issued between a warp's
                                  // arrival and its release, summed: a measure of imbalance, not clocks
    uint64_t atomics_global, atomics_shared;                // lane operations
    uint64_t atomic_hottest;      // lane operations on the most used global address
    uint64_t atomic_hottest_address;
    uint64_t atomic_addresses;    // distinct global addresses (saturates at 65,536)

    // Dependency chain: warp 0 of up to 64 blocks, registers' ready times with the latencies of
    // VGPU_CLASSES (in-order issue, one instruction a clock); a global load costs 38 clocks when its block
    // has read all its sectors before, 230 when another block of the launch has, else 650.
    uint32_t chain_warps;         // warps sampled
    uint64_t chain_clocks_sum;    // divide by chain_warps
    uint64_t chain_clocks_max;
    uint64_t chain_memory_sum;    // part of chain_clocks_sum spent waiting for global and local loads
    uint64_t chain_shared_sum;    // for shared memory
    uint64_t chain_mufu_sum;      // for special functions and conversions
    uint32_t loads_in_flight_max;      // loads a sampled warp issued before it used the first of them
    uint32_t load_bytes_in_flight_max; // bytes of these, per warp
    uint64_t loads_in_flight_sum;      // at every first use: loads outstanding; with the next two the means
    uint64_t load_bytes_in_flight_sum; // bytes outstanding
    uint64_t load_waits;               // first uses counted

    vgpu_traffic_t *traffic;      // one per buffer of the launch, in its order
    uint32_t n_traffic;
    vgpu_line_t *lines;           // ascending by line
    uint32_t n_lines;
    uint64_t *block_instructions; // warp instructions by run block, in block order (at most 65,536 blocks)
    uint32_t n_block_instructions;

    char *output;                 // what printf wrote, zero-terminated, or NULL
    size_t output_size;
} vgpu_counters_t;

void vgpu_counters_free (vgpu_counters_t *c); // frees what it owns and zeroes it

typedef struct vgpu_finding {
    vgpu_status_t status;
    char kernel[VGPU_NAME * 4];
    uint32_t block[3];
    uint32_t thread[3];
    uint32_t line;               // source line, 0 when the PTX has none
    uint32_t ptx_line;           // line of the PTX text
    char instruction[VGPU_NAME]; // "ld.global.f32"
    char space[8];               // "global", "shared", ... or ""
    char buffer[VGPU_NAME];      // the buffer hit, or the nearest one; "" when none
    bool is_write;
    uint64_t address;            // device address (offset for shared, local, param, const)
    uint32_t size;               // bytes of the access
    int64_t distance;            // how far its last byte lies past the end (> 0), its first before the start (< 0)
    uint64_t lane_instructions;  // executed up to here
    char text[VGPU_TEXT];        // one complete sentence: what, where, and what to look at
} vgpu_finding_t;

// Parse, check and pre-decode PTX text (need not end in zero).  NULL with 'err' filled: KC_EINVALID for text
// that is not PTX, KC_EUNSUPPORTED naming instruction and line.  The text is not kept.
vgpu_module_t *vgpu_module_load (const char *ptx, size_t size, kc_err_t *err);
void vgpu_module_destroy (vgpu_module_t **self_p);
const ptx_module_t *vgpu_module_static (const vgpu_module_t *self); // borrowed; kernels, globals, instructions
const ptx_func_t *vgpu_module_kernel (const vgpu_module_t *self, const char *name); // NULL when absent

// Copy bytes into or out of a module-scope .const or .global variable.  Return 0, or -1 (KC_ENOTFOUND,
// KC_EINVALID when the range leaves the variable).  Contents live as long as the module.
int vgpu_symbol_write (vgpu_module_t *self, const char *name, uint64_t offset, const void *data, size_t size, kc_err_t *err);
int vgpu_symbol_read (const vgpu_module_t *self, const char *name, uint64_t offset, void *data, size_t size, kc_err_t *err);

// Run one launch.  Return 0 when every block ended, -1 with 'finding' filled otherwise.  'counters' (may be
// NULL) is overwritten either way and is the caller's to free.
int vgpu_launch (vgpu_module_t *self, const vgpu_launch_t *launch, vgpu_counters_t *counters, vgpu_finding_t *finding);

// "baseline" or "x86-64-v3": which build of the operator bodies this machine runs.
const char *vgpu_isa (void);

#endif // KC_VGPU_H
