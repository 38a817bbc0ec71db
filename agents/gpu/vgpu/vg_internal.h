/* vg_internal.h - the interpreter's own structures; nobody outside agents/gpu/vgpu includes it
 *
 * Registers are rows of 32 lanes: a 32-bit (or 16-bit) register is 128 bytes, a 64-bit one 256; a predicate
 * is one word with a bit per lane.  An operand names its row by byte offset; the top bit says that the row is
 * in the function's constant pool instead of the frame.  Rows are shared between registers that never live
 * at the same time.
 *
 * A warp is a set of splits (lanes at one pc).  A divergent branch makes a token (where the lanes meet again
 * and which are expected); a split that reaches its token's pc waits there.  A call is a token as well, with
 * the return pc and the caller's frame.  That is all there is to divergence: no stack, so that a split can be
 * left waiting while the others run (spin locks inside a warp, .sync with a member mask).
 */
#ifndef KC_VG_INTERNAL_H
#define KC_VG_INTERNAL_H

#include "agents/gpu/vgpu/ptx_builtin.h"
#include "agents/gpu/vgpu/vg_handlers.h"
#include "agents/gpu/vgpu/vgpu.h"
#include "common/util/kc_buf.h"

enum {
    VG_LANES = 32,
    VG_ROW = 128,            // bytes of a 32-bit row
    VG_QUANTUM = 4096,       // warp instructions of a turn
    VG_YIELD_BACK = 1000,    // backward branches after which waiting lanes of the warp get their turn
    VG_SPIN_BACK = 32,       // spinning back edges that end a turn
    VG_STUCK_ROUNDS = 256,   // rounds in which nobody did anything but spin: TIMEOUT
    VG_MAX_DEPTH = 128,      // calls
    VG_STACK = 16384,        // bytes of local memory per thread when the call depth is not known
    VG_MAX_LOCAL = 512 << 10, // bytes of local memory per thread
    VG_BARRIERS = 16,        // per block
    VG_CHAIN_BLOCKS = 64,    // blocks whose warp 0 is followed
    VG_MAX_RUN_BLOCKS = 65536, // blocks whose instruction count is kept
    VG_ATOMIC_KEYS = 65536,
    VG_MAX_LINES = 1 << 19,  // room for a block's lines; a larger working set is forgotten and counted again
};
#define VG_FULL 0xffffffffu
#define VG_POOL 0x80000000u // operand flag: row of the constant pool

// Windows of the generic address space, above VGPU_GLOBAL_HIGH.
#define VG_WINDOW 0x1000000000ull
#define VG_SHARED_BASE 0x7f1000000000ull
#define VG_LOCAL_BASE 0x7f2000000000ull
#define VG_PARAM_BASE 0x7f3000000000ull
#define VG_CONST_BASE 0x7f4000000000ull
#define VG_MODULE_BASE 0x7f5000000000ull // module-scope .global variables
#define VG_FUNC_PARAM 0x10000u           // .param addresses from here on lie in the frame, per lane

typedef struct vg_op vg_op_t;
typedef struct vg_warp vg_warp_t;
typedef struct vg_block vg_block_t;
typedef struct vg_run vg_run_t;
typedef void (vg_fn) (vg_warp_t *w, const vg_op_t *o, uint32_t m);

typedef enum vg_kind {
    VG_DATA,    // fn only, cannot fail
    VG_MEM,     // fn, may stop the run
    VG_NOP,
    VG_BRA,
    VG_BRX,
    VG_CALL,
    VG_BUILTIN, // fn; may stop the run
    VG_RET,
    VG_EXIT,
    VG_TRAP,
    VG_BAR,
    VG_SYNC,    // fn, once all named lanes are here
} vg_kind_t;

typedef enum vg_access { // memory element to lane
    VG_A_U8_32, VG_A_S8_32, VG_A_U16_32, VG_A_S16_32, VG_A_B32_32,
    VG_A_U8_64, VG_A_S8_64, VG_A_U16_64, VG_A_S16_64, VG_A_U32_64, VG_A_S32_64, VG_A_B64_64,
} vg_access_t;

struct vg_op {
    vg_fn *fn;
    vg_fn *inner;      // what the rounding and saturation wrapper calls
    uint32_t d;        // destination row
    uint32_t s[4];     // source rows
    uint32_t v[4];     // vector elements: destinations of loads, sources of stores
    int64_t imm;       // displacement, lut, mode, ...
    int32_t guard;     // predicate word, -1
    int32_t pd, pd2;   // predicate destinations, -1
    int32_t ps;        // predicate source, -1
    int32_t target;    // pc of a branch; index of a call record
    int32_t rpc;       // where both sides of a branch meet, -1 = only at the exit
    uint32_t stat;     // index of its memory statistics
    uint8_t guard_not, ps_not;
    uint8_t kind, cls;
    uint8_t n_s, n_v;
    uint8_t d_rows;    // 128-byte rows of d (and of each v): 0, 1 or 2
    uint8_t s_rows[4]; // the same of the sources (for the dependency chain)
    uint8_t type, type2;
    uint8_t access, bytes, vec, space;
    uint8_t cmp, boolop, sub, round;
    uint8_t wide_base; // the address register has 64 bits
    uint8_t has_base;
    uint8_t frame_base; // add the frame's local base to the address
    uint8_t spins;     // a back edge of a loop that polls memory
    uint8_t flops;     // per lane
    uint8_t extra, extra_cls; // further instructions that ptxas makes of this one, and their class
    uint8_t is_load;
    uint8_t mxcsr;     // 0 = plain; else 1 + rounding (0 rn, 1 rz, 2 rm, 3 rp), 8 = ftz
    uint8_t saturate;
    uint32_t mods;
    const ptx_instr_t *src;
};

typedef struct vg_copy { // one .param variable of a call
    uint32_t caller, callee, size;
} vg_copy_t;

typedef struct vg_call {
    int32_t func;         // index of the callee
    ptx_builtin_t builtin;
    vg_copy_t *args, *rets;
    uint32_t n_args, n_rets;
    const char *name;
} vg_call_t;

typedef enum vg_init_kind { VG_INIT_SREG, VG_INIT_LOCAL } vg_init_kind_t;

typedef struct vg_init { // a row filled when a frame begins
    vg_init_kind_t kind;
    uint32_t row;
    int which;       // special register
    uint64_t offset; // of a local variable
} vg_init_t;

typedef struct vg_func { // a decoded function
    const ptx_func_t *src;
    vg_op_t *ops;
    uint32_t n_ops;
    uint32_t first_count; // its counters are counts[first_count + pc]
    uint8_t *pool;        // constants, aligned
    uint32_t pool_size;
    uint32_t reg_bytes;   // of a frame
    uint32_t n_preds;
    uint32_t param_bytes; // per lane
    uint32_t local_bytes; // per lane
    vg_init_t *inits;
    uint32_t n_inits;
    vg_call_t *calls;
    uint32_t n_calls;
    int32_t *targets;     // brx
    struct { uint32_t row, rows; uint64_t addend; } *dynamic; // pool rows that hold the address of dynamic shared memory
    uint32_t n_dynamic;
    bool calls_any;       // needs a stack for callees
} vg_func_t;

struct vgpu_module {
    ptx_module_t *ptx;
    vg_func_t *funcs; // parallel to ptx->funcs
    uint32_t n_counts, n_stats;
    uint8_t *const_image;
    uint8_t *global_image;
    uint64_t *symbol_at;  // per symbol: offset of a .global variable in its image
    uint64_t global_bytes;
    vg_fn *const *handlers;
    void (*turn) (vg_warp_t *w);
};

typedef struct vg_frame {
    const vg_func_t *func;
    uint8_t *regs;
    uint32_t *preds;
    uint8_t *params;     // [lane][param_bytes]
    uint32_t local_base;
    int depth;
    struct vg_frame *caller;
    struct vg_frame *next; // free list
    struct vg_frame *all;  // every frame of the block
    size_t size;
    uint64_t *ready;     // per row: clock at which its value is there (chain sampling), NULL otherwise
    uint64_t *ready_pred;
    uint32_t *load_seq;  // per row: number of the load that fills it
} vg_frame_t;

typedef enum vg_state { VG_FREE, VG_READY, VG_AT_BARRIER, VG_AT_SYNC } vg_state_t;

typedef struct vg_split {
    int32_t pc;
    uint32_t mask;
    int32_t token;
    vg_state_t state;
    uint32_t back;      // backward branches since it was picked
    uint32_t spin;
    uint32_t need;      // member mask at VG_AT_SYNC
    int bar;
    vg_frame_t *frame;
} vg_split_t;

typedef struct vg_token {
    int32_t rpc, parent;
    uint32_t members, arrived;
    bool used, call;
    int32_t call_index;
    vg_frame_t *frame;  // where the lanes go on
    vg_frame_t *callee; // of a call
} vg_token_t;

struct vg_warp {
    uint8_t *base[2];   // rows of the running frame, pool of its function
    uint32_t *preds;
    vg_frame_t *frame, *root; // running frame, the kernel's own
    vg_block_t *block;
    vg_run_t *run;
    uint32_t cc;        // carry flags
    uint32_t live;      // lanes that have not exited
    uint32_t index;
    int cur;            // running split
    int n_splits;       // slots in use at most
    vg_split_t split[VG_LANES];
    vg_token_t *tokens;
    uint32_t n_tokens, room_tokens;
    uint8_t *local;     // [lane][stack]
    uint32_t tid[3][VG_LANES];
    bool done;
    bool spinning;      // its last turn ended at a spinning back edge
    uint64_t bar_mark;  // block instruction count at its arrival
    uint64_t issued;
    // dependency chain
    bool chain;
    uint32_t mem_latency; // of the last memory instruction; 0 = none
    uint32_t mem_bytes;
    uint64_t clock, stall_memory, stall_shared, stall_mufu;
    uint32_t loads, loads_done;
    uint64_t load_cum[256]; // bytes issued up to a load, by number mod 256
};

typedef struct vg_barrier {
    uint32_t threads;   // arrived, counted as threads
    uint32_t padded;    // arrived, whole warps counted as 32
    uint32_t expected;  // 0 = all threads of the block
    uint32_t popc;
    bool all, any;
    uint32_t waiting;   // splits
} vg_barrier_t;

typedef struct vg_lines { // 128-byte lines a block has touched
    struct { uint64_t key; uint32_t gen; uint8_t read, written; } *at;
    uint32_t room, used, gen;
} vg_lines_t;

struct vg_block {
    uint64_t number;    // linear
    uint32_t id[3];
    uint32_t n_warps;
    uint32_t live_threads;
    uint32_t live_warps;
    vg_warp_t *warps;
    uint8_t *shared;
    vg_barrier_t bar[VG_BARRIERS];
    vg_lines_t lines;
    uint64_t issued;
    uint64_t ordinal;   // n-th block run
    vg_frame_t *free_frames, *all_frames;
};

typedef struct vg_count { // per instruction
    uint64_t issued, active, on;
    uint64_t divergent;
} vg_count_t;

typedef struct vg_stat { // per memory instruction
    uint64_t sectors, used, bytes, lanes, requests;
    uint64_t wavefronts, conflicts, shared_requests, shared_bytes;
    uint64_t local_bytes, local_sectors;
    uint32_t buffer; // last buffer hit
} vg_stat_t;

typedef struct vg_buffer {
    uint64_t base, end;
    uint8_t *host;
    uint8_t *seen;      // per 128-byte line: sectors read (low half), written (high half)
    const char *name;
    bool writable;
    uint32_t element;
    int32_t index;      // in the caller's table; -1 for module variables
    vgpu_traffic_t traffic;
} vg_buffer_t;

struct vg_run {
    vgpu_module_t *m;
    const vgpu_launch_t *launch;
    const vg_func_t *kernel;
    vg_buffer_t *buffers; // ascending by base
    uint32_t n_buffers;
    vg_count_t *counts;
    vg_stat_t *stats;
    uint8_t *params;
    uint32_t params_size;
    uint32_t static_shared, shared_size;
    uint32_t stack;       // local bytes per lane
    uint64_t lanes;       // lane-instructions so far
    uint64_t budget;
    uint64_t changes;     // memory changes, for the detection of blocked grids
    bool stop;
    vgpu_finding_t *finding;
    vgpu_counters_t *c;
    struct { uint64_t key, n; } *atomics;
    uint32_t n_atomics;
    kc_buf_t output;
    uint64_t sampled_chains;
    uint32_t warps_per_block, threads_per_block;
};

// ---- vg_exec.c, built once per instruction set
extern vg_fn *const vg_handlers_baseline[VG_H_COUNT];
void vg_turn_baseline (vg_warp_t *w);
#ifdef VG_HAVE_V3
extern vg_fn *const vg_handlers_v3[VG_H_COUNT];
void vg_turn_v3 (vg_warp_t *w);
#endif

// ---- vgpu.c: vgpu_module_load with the instruction set given, so that tests run both
vgpu_module_t *vg_module_load (const char *ptx, size_t size, bool baseline, kc_err_t *err);

// ---- vg_decode.c
int vg_decode (vgpu_module_t *m, kc_err_t *err);
void vg_decode_free (vgpu_module_t *m);

// ---- vg_split.c: what lanes do at control flow; 'w->cur' is the running split
void vg_load_split (vg_warp_t *w);          // set base, preds, frame from the running split
bool vg_pick (vg_warp_t *w);                // make a ready split current; false: none
void vg_diverge (vg_warp_t *w, const vg_op_t *o, uint32_t taken);
void vg_brx (vg_warp_t *w, const vg_op_t *o, uint32_t m);
bool vg_reconverge (vg_warp_t *w);          // the running split is at its token; false: nothing ready
bool vg_call (vg_warp_t *w, const vg_op_t *o, uint32_t m); // false: the run stopped
void vg_leave (vg_warp_t *w, uint32_t m, bool exits);      // ret or exit of lanes m
bool vg_sync (vg_warp_t *w, const vg_op_t *o, uint32_t e, uint32_t *all); // false: parked
void vg_sync_done (vg_warp_t *w, uint32_t all);           // the others of the collective go on
bool vg_barrier (vg_warp_t *w, const vg_op_t *o, uint32_t e); // true: goes on at once
bool vg_yield (vg_warp_t *w);               // give waiting lanes their turn; false: there are none
void vg_stuck (vg_warp_t *w);               // nothing ready: free lanes that wait for blocked ones, or report
vg_frame_t *vg_frame_new (vg_warp_t *w, const vg_func_t *f, vg_frame_t *caller);
void vg_frame_free (vg_warp_t *w, vg_frame_t *f);

// ---- vg_memory.c
void vg_access (vg_warp_t *w, const vg_op_t *o, uint32_t m, const uint64_t addr[VG_LANES]); // slow path of all spaces
vg_buffer_t *vg_buffer_at (vg_run_t *run, uint64_t address);
uint32_t vg_touch (vg_warp_t *w, vg_buffer_t *b, uint64_t first_sector, uint32_t n, bool write); // returns the latency
void vg_touch_sorted (vg_warp_t *w, vg_buffer_t *b, const vg_op_t *o, const uint64_t addr[VG_LANES], uint32_t m);
uint32_t vg_wavefronts (const uint32_t off[VG_LANES], uint32_t m, uint32_t bytes, uint32_t *least);
void vg_atomic (vg_warp_t *w, const vg_op_t *o, uint32_t m);
void vg_addresses (vg_warp_t *w, const vg_op_t *o, uint64_t addr[VG_LANES]);
bool vg_read_text (vg_run_t *run, uint64_t address, char *out, size_t room); // generic address of a C string
void *vg_host (vg_warp_t *w, uint32_t lane, uint64_t generic, uint32_t bytes); // NULL: not accessible

// ---- vg_find.c
void vg_fault (vg_warp_t *w, const vg_op_t *o, uint32_t lane, vgpu_status_t status, const char *format, ...)
    __attribute__ ((format (printf, 5, 6)));
void vg_fault_access (vg_warp_t *w, const vg_op_t *o, uint32_t lane, vgpu_status_t status, ptx_space_t space, uint64_t address,
                      bool write);
const ptx_instr_t *vg_instr_at (const vg_split_t *s); // what the split would execute next

// ---- vg_math.c, vg_printf.c
void vg_builtin (vg_warp_t *w, const vg_op_t *o, uint32_t m);
void vg_printf (vg_warp_t *w, const vg_op_t *o, uint32_t m, const vg_call_t *call);
float vg_half_to_float (uint16_t h);
uint16_t vg_double_to_half (double x, int round); // round: 0 rn, 1 rz, 2 rm, 3 rp
void vg_convert (vg_warp_t *w, const vg_op_t *o, uint32_t m);

// ---- vg_chain.c
void vg_chain (vg_warp_t *w, const vg_op_t *o);
void vg_collect (vg_run_t *run); // counters from counts and stats

static inline const void *vg_src (const vg_warp_t *w, uint32_t row)
{
    return w->base[row >> 31] + (row & ~VG_POOL);
}
static inline void *vg_dst (const vg_warp_t *w, uint32_t row)
{
    return w->base[0] + row;
}
static inline uint32_t vg_bits (uint32_t m)
{
    return (uint32_t)__builtin_popcount (m);
}
static inline uint32_t vg_first (uint32_t m)
{
    return (uint32_t)__builtin_ctz (m);
}

#endif // KC_VG_INTERNAL_H
