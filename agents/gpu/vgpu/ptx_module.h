/* ptx_module.h - a parsed PTX module: what the code is, before anything runs
 *
 * Usable without the interpreter.  Everything is owned by the module and read-only; indices (registers,
 * operands, blocks) are into the arrays of the function they belong to.  Instructions are in text order with
 * labels resolved; blocks, loops and post-dominators are computed.
 */
#ifndef KC_PTX_MODULE_H
#define KC_PTX_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agents/gpu/vgpu/ptx_opcode.h"
#include "common/util/kc_err.h"

enum {
    PTX_MAX_TEXT = 64 << 20,     // bytes of PTX
    PTX_MAX_INSTR = 2000000,     // per module
    PTX_MAX_OPERANDS = 160,      // per instruction (a wgmma has 130)
    PTX_NONE = -1,               // "no index"
};

typedef enum ptx_operand_kind {
    PTX_OP_NONE,
    PTX_OP_REG,     // reg
    PTX_OP_INT,     // value
    PTX_OP_FLOAT,   // value holds the bits of the 64-bit double, or of the float when 'single' is set
    PTX_OP_SREG,    // sreg
    PTX_OP_SYMBOL,  // symbol + value: a variable, parameter or function by name
    PTX_OP_ADDRESS, // [base + value], base = reg or symbol or neither
    PTX_OP_LABEL,   // value = instruction index
    PTX_OP_VECTOR,  // {a, b, ...}: value = first of 'count' operands that follow in the operand array
    PTX_OP_PAIR,    // p|q: value = first of two operands (setp, shfl, match)
    PTX_OP_SINK,    // _
} ptx_operand_kind_t;

typedef struct ptx_operand {
    uint8_t kind;    // ptx_operand_kind_t
    uint8_t negate;  // !p
    uint8_t single;  // a 0f literal
    uint8_t count;   // elements of a vector or pair
    int32_t reg;     // index into ptx_func_t.regs, PTX_NONE
    int32_t symbol;  // index into ptx_module_t.symbols, PTX_NONE
    int16_t sreg;    // ptx_sreg_t
    int64_t value;
} ptx_operand_t;

typedef struct ptx_instr {
    uint16_t opcode;      // ptx_opcode_t
    uint8_t type;         // ptx_type_t: the first type suffix
    uint8_t type2;        // the second one (cvt source, set source, ...), 0 when none
    uint8_t type3;        // the third one (mma, dp4a)
    uint8_t type4;
    uint8_t space;        // ptx_space_t; PTX_SPACE_GENERIC for ld/st/atom without one
    uint8_t vec;          // 1, 2 or 4
    uint8_t round;        // ptx_round_t
    uint8_t cmp;          // ptx_cmp_t of setp and set
    uint8_t boolop;       // ptx_bool_t
    uint8_t sub;          // ptx_sub_t: the operation of atom, red, shfl, vote, mul (.lo .hi .wide), prmt mode, ...
    uint32_t mods;        // ptx_mod_t bits
    int32_t guard;        // predicate register, PTX_NONE when unguarded
    bool guard_not;
    bool back_edge;       // a branch to a loop head that dominates it
    uint8_t loop_depth;   // 0 = outside every loop
    uint32_t operand;     // first operand in ptx_func_t.operands
    uint16_t n_operands;  // top-level ones; elements of vectors lie behind them
    uint32_t line;        // source line in the main file; 0 unknown
    uint32_t ptx_line;
    int32_t block;        // basic block
    const char *text;     // full form, "ld.global.nc.v4.f32"; interned, equal forms are the same pointer
} ptx_instr_t;

typedef struct ptx_reg {
    const char *name;
    uint8_t type;   // as declared
    uint8_t bits;   // 1 (predicate), 16, 32, 64; 8-bit ones count as 16
} ptx_reg_t;

typedef struct ptx_param {
    const char *name;
    uint8_t type;    // of the element; B8 with count > 1 is a struct or array
    uint32_t size;   // bytes in all
    uint32_t align;
    uint32_t offset; // in the argument block
} ptx_param_t;

typedef struct ptx_block { // basic block: instructions [first, last]
    int32_t first, last;
    int32_t next[2];       // successors, PTX_NONE when absent (brx targets are in 'more')
    int32_t idom, ipdom;   // immediate dominator; where lanes that part here meet again. PTX_NONE = none
    int32_t loop_head;     // innermost loop's head block, PTX_NONE
    uint8_t loop_depth;
} ptx_block_t;

typedef struct ptx_func {
    const char *name;
    bool is_kernel;
    bool is_declaration;    // no body: an extern
    bool uses_dynamic_shared;
    ptx_param_t *params;    // inputs
    uint32_t n_params;
    uint32_t params_size;   // bytes of the argument block (kernels)
    ptx_param_t *returns;
    uint32_t n_returns;
    ptx_reg_t *regs;
    uint32_t n_regs;
    ptx_instr_t *instrs;
    uint32_t n_instrs;
    ptx_operand_t *operands;
    uint32_t n_operands;
    ptx_block_t *blocks;
    uint32_t n_blocks;
    int32_t *targets;       // brx.idx target lists, back to back
    uint32_t n_targets;
    uint32_t maxntid[3];    // 0 = not given
    uint32_t reqntid[3];
    uint32_t minnctapersm, maxnreg;
    uint32_t static_shared; // bytes of .shared variables it and its callees reference
    uint32_t local_bytes;   // .local variables of this function
    uint32_t max_live;      // most 32-bit registers live at once (64-bit ones count twice), this function alone
    int32_t *live_first;    // per register: first and last instruction of the text between which it holds a
    int32_t *live_last;     // value that is still needed; PTX_NONE when never used
    uint32_t registers;     // max over the call tree of max_live x 1.1 + 6: an ESTIMATE, clamped to 255
    uint32_t ptx_line;
} ptx_func_t;

typedef struct ptx_symbol { // module- or function-scope variable, parameter or function
    const char *name;
    uint8_t kind;           // ptx_symbol_kind_t
    uint8_t space;          // ptx_space_t
    uint8_t type;           // element type
    bool is_extern;
    bool referenced;        // some instruction (or a referenced initialiser) names it
    bool written;           // some store or atomic may write it: named as its base, or its address escapes
    uint32_t align;
    uint64_t size;          // bytes; 0 for extern shared arrays
    uint64_t offset;        // within its space (module image, shared block, local frame, param area)
    int32_t func;           // owner of function-scope ones; index for functions; PTX_NONE
    const uint8_t *init;    // 'size' bytes or NULL = zero
} ptx_symbol_t;

typedef enum ptx_symbol_kind { PTX_SYM_VAR, PTX_SYM_PARAM, PTX_SYM_FUNC } ptx_symbol_kind_t;

typedef struct ptx_module {
    uint32_t version_major, version_minor; // .version
    char target[32];                       // "sm_80"
    const char **files;                    // by .file number - may hold NULL
    uint32_t n_files;
    ptx_func_t *funcs;
    uint32_t n_funcs;
    ptx_symbol_t *symbols;
    uint32_t n_symbols;
    uint64_t const_bytes, global_bytes;    // size of the module's variable images
    uint32_t forbidden;                    // ptx_forbidden_t bits of what code names
    struct ptx_arena *arena;
} ptx_module_t;

typedef enum ptx_forbidden {           // kernel-program S4: the caller decides, the parser reports
    PTX_FORBIDDEN_CLOCK = 1 << 0,      // %clock %clock64 %clock_hi %globaltimer...
    PTX_FORBIDDEN_BRKPT = 1 << 1,
    PTX_FORBIDDEN_PMEVENT = 1 << 2,
    PTX_FORBIDDEN_MALLOC = 1 << 3,     // malloc, free
    PTX_FORBIDDEN_LAUNCH = 1 << 4,     // device-side launch
    PTX_FORBIDDEN_WRITABLE = 1 << 5,   // a referenced module variable that code may write
    PTX_FORBIDDEN_EXTERN = 1 << 6,     // an extern function that is not a known built-in
    PTX_USES_PRINTF = 1 << 8,          // not forbidden in repair builds
    PTX_USES_ASSERT = 1 << 9,
    PTX_USES_SMID = 1 << 10,           // %smid %nsmid %gridid
} ptx_forbidden_t;

// Parse; NULL with 'err' filled (KC_EINVALID with line and what was expected).  Unknown instructions parse when
// their shape does; whether one can run is the interpreter's question.
ptx_module_t *ptx_module_parse (const char *text, size_t size, kc_err_t *err);
void ptx_module_destroy (ptx_module_t **self_p);

const ptx_func_t *ptx_module_func (const ptx_module_t *m, const char *name); // NULL when absent
const ptx_symbol_t *ptx_module_symbol (const ptx_module_t *m, const char *name); // module scope; NULL
// Name of the first extern function that code calls and nobody provides, or NULL.
const char *ptx_module_unresolved (const ptx_module_t *m);

const char *ptx_opcode_name (ptx_opcode_t op);
ptx_family_t ptx_opcode_family (ptx_opcode_t op);
const char *ptx_type_name (ptx_type_t t);
uint32_t ptx_type_bytes (ptx_type_t t); // 0 for predicates and none
const char *ptx_space_name (ptx_space_t s);
bool ptx_is_load (const ptx_instr_t *i);  // ld, ldu
bool ptx_is_store (const ptx_instr_t *i); // st
bool ptx_is_atomic (const ptx_instr_t *i); // atom, red

#endif // KC_PTX_MODULE_H
