/* ptx_opcode.h - the vocabulary of PTX as data: opcodes by family, types, spaces, modifiers
 *
 * A family is the unit in which the interpreter grows: BASE families run, the others are known by name so
 * that a program that needs one is refused with a sentence instead of a parse error.
 */
#ifndef KC_PTX_OPCODE_H
#define KC_PTX_OPCODE_H

// X (SYMBOL, name, executed now)
#define PTX_FAMILIES(X)                                                                \
    X (ARITH, "arithmetic", 1)                                                         \
    X (MATH, "approximate math", 1)                                                    \
    X (LOGIC, "logic and shift", 1)                                                    \
    X (COMPARE, "compare and select", 1)                                               \
    X (MOVE, "move and conversion", 1)                                                 \
    X (MEMORY, "load and store", 1)                                                    \
    X (ATOMIC, "atomic", 1)                                                            \
    X (CONTROL, "control flow", 1)                                                     \
    X (BARRIER, "barrier", 1)                                                          \
    X (WARP, "warp collective", 1)                                                     \
    X (FENCE, "fence", 1)                                                              \
    X (VIDEO, "video", 0)                                                              \
    X (TEXTURE, "texture and surface", 0)                                              \
    X (ASYNC, "asynchronous copy", 0)                                                  \
    X (MBARRIER, "mbarrier", 0)                                                        \
    X (MATRIX, "matrix", 0)                                                            \
    X (CLUSTER, "cluster", 0)                                                          \
    X (SYSTEM, "system", 0)

typedef enum ptx_family {
#define PTX_FAMILY_ENUM(sym, name, now) PTX_FAMILY_##sym,
    PTX_FAMILIES (PTX_FAMILY_ENUM)
#undef PTX_FAMILY_ENUM
        PTX_FAMILY_COUNT
} ptx_family_t;

// X (SYMBOL, spelling up to the first dot, family)
#define PTX_OPCODES(X)                                                                 \
    X (ABS, "abs", ARITH) X (ADD, "add", ARITH) X (ADDC, "addc", ARITH)                \
    X (SUB, "sub", ARITH) X (SUBC, "subc", ARITH) X (MUL, "mul", ARITH)                \
    X (MAD, "mad", ARITH) X (MADC, "madc", ARITH) X (MUL24, "mul24", ARITH)            \
    X (MAD24, "mad24", ARITH) X (SAD, "sad", ARITH) X (DIV, "div", ARITH)              \
    X (REM, "rem", ARITH) X (NEG, "neg", ARITH) X (MIN, "min", ARITH)                  \
    X (MAX, "max", ARITH) X (POPC, "popc", ARITH) X (CLZ, "clz", ARITH)                \
    X (BFIND, "bfind", ARITH) X (FNS, "fns", ARITH) X (BREV, "brev", ARITH)            \
    X (BFE, "bfe", ARITH) X (BFI, "bfi", ARITH) X (BMSK, "bmsk", ARITH)                \
    X (SZEXT, "szext", ARITH) X (DP4A, "dp4a", ARITH) X (DP2A, "dp2a", ARITH)          \
    X (FMA, "fma", ARITH) X (COPYSIGN, "copysign", ARITH) X (TESTP, "testp", COMPARE)  \
    X (RCP, "rcp", MATH) X (SQRT, "sqrt", MATH) X (RSQRT, "rsqrt", MATH)               \
    X (SIN, "sin", MATH) X (COS, "cos", MATH) X (LG2, "lg2", MATH)                     \
    X (EX2, "ex2", MATH) X (TANH, "tanh", MATH)                                        \
    X (AND, "and", LOGIC) X (OR, "or", LOGIC) X (XOR, "xor", LOGIC)                    \
    X (NOT, "not", LOGIC) X (CNOT, "cnot", LOGIC) X (LOP3, "lop3", LOGIC)              \
    X (SHL, "shl", LOGIC) X (SHR, "shr", LOGIC) X (SHF, "shf", LOGIC)                  \
    X (PRMT, "prmt", LOGIC)                                                            \
    X (SET, "set", COMPARE) X (SETP, "setp", COMPARE) X (SELP, "selp", COMPARE)        \
    X (SLCT, "slct", COMPARE)                                                          \
    X (MOV, "mov", MOVE) X (CVT, "cvt", MOVE) X (CVTA, "cvta", MOVE)                   \
    X (ISSPACEP, "isspacep", MOVE)                                                     \
    X (LD, "ld", MEMORY) X (LDU, "ldu", MEMORY) X (ST, "st", MEMORY)                   \
    X (PREFETCH, "prefetch", MEMORY) X (PREFETCHU, "prefetchu", MEMORY)                \
    X (DISCARD, "discard", MEMORY) X (APPLYPRIORITY, "applypriority", MEMORY)          \
    X (CREATEPOLICY, "createpolicy", MEMORY)                                           \
    X (ATOM, "atom", ATOMIC) X (RED, "red", ATOMIC)                                    \
    X (BRA, "bra", CONTROL) X (BRX, "brx", CONTROL) X (CALL, "call", CONTROL)          \
    X (RET, "ret", CONTROL) X (EXIT, "exit", CONTROL) X (TRAP, "trap", CONTROL)        \
    X (NANOSLEEP, "nanosleep", CONTROL)                                                \
    X (BAR, "bar", BARRIER) X (BARRIER, "barrier", BARRIER)                            \
    X (SHFL, "shfl", WARP) X (VOTE, "vote", WARP) X (MATCH, "match", WARP)             \
    X (REDUX, "redux", WARP) X (ACTIVEMASK, "activemask", WARP)                        \
    X (ELECT, "elect", WARP)                                                           \
    X (MEMBAR, "membar", FENCE) X (FENCE, "fence", FENCE)                              \
    X (VADD, "vadd", VIDEO) X (VSUB, "vsub", VIDEO) X (VABSDIFF, "vabsdiff", VIDEO)    \
    X (VMIN, "vmin", VIDEO) X (VMAX, "vmax", VIDEO) X (VSHL, "vshl", VIDEO)            \
    X (VSHR, "vshr", VIDEO) X (VMAD, "vmad", VIDEO) X (VSET, "vset", VIDEO)            \
    X (VADD2, "vadd2", VIDEO) X (VSUB2, "vsub2", VIDEO) X (VAVRG2, "vavrg2", VIDEO)    \
    X (VABSDIFF2, "vabsdiff2", VIDEO) X (VMIN2, "vmin2", VIDEO)                        \
    X (VMAX2, "vmax2", VIDEO) X (VSET2, "vset2", VIDEO) X (VADD4, "vadd4", VIDEO)      \
    X (VSUB4, "vsub4", VIDEO) X (VAVRG4, "vavrg4", VIDEO)                              \
    X (VABSDIFF4, "vabsdiff4", VIDEO) X (VMIN4, "vmin4", VIDEO)                        \
    X (VMAX4, "vmax4", VIDEO) X (VSET4, "vset4", VIDEO)                                \
    X (TEX, "tex", TEXTURE) X (TLD4, "tld4", TEXTURE) X (TXQ, "txq", TEXTURE)          \
    X (ISTYPEP, "istypep", TEXTURE) X (SULD, "suld", TEXTURE) X (SUST, "sust", TEXTURE) \
    X (SURED, "sured", TEXTURE) X (SUQ, "suq", TEXTURE)                                \
    X (CP, "cp", ASYNC) X (MULTIMEM, "multimem", ASYNC)                                \
    X (TENSORMAP, "tensormap", ASYNC)                                                  \
    X (MBARRIER, "mbarrier", MBARRIER)                                                 \
    X (LDMATRIX, "ldmatrix", MATRIX) X (STMATRIX, "stmatrix", MATRIX)                  \
    X (MOVMATRIX, "movmatrix", MATRIX) X (MMA, "mma", MATRIX) X (WMMA, "wmma", MATRIX) \
    X (WGMMA, "wgmma", MATRIX) X (TCGEN05, "tcgen05", MATRIX)                          \
    X (SETMAXNREG, "setmaxnreg", MATRIX)                                               \
    X (MAPA, "mapa", CLUSTER) X (GETCTARANK, "getctarank", CLUSTER)                    \
    X (CLUSTERLAUNCHCONTROL, "clusterlaunchcontrol", CLUSTER)                          \
    X (GRIDDEPCONTROL, "griddepcontrol", CLUSTER)                                      \
    X (ALLOCA, "alloca", SYSTEM) X (STACKSAVE, "stacksave", SYSTEM)                    \
    X (STACKRESTORE, "stackrestore", SYSTEM) X (BRKPT, "brkpt", SYSTEM)                \
    X (PMEVENT, "pmevent", SYSTEM)

typedef enum ptx_opcode {
#define PTX_OPCODE_ENUM(sym, name, family) PTX_##sym,
    PTX_OPCODES (PTX_OPCODE_ENUM)
#undef PTX_OPCODE_ENUM
        PTX_OPCODE_COUNT
} ptx_opcode_t;

// X (SYMBOL, spelling, bytes)
#define PTX_TYPES(X)                                                                   \
    X (PRED, "pred", 0)                                                                \
    X (B8, "b8", 1) X (B16, "b16", 2) X (B32, "b32", 4) X (B64, "b64", 8)              \
    X (B128, "b128", 16)                                                               \
    X (U8, "u8", 1) X (U16, "u16", 2) X (U32, "u32", 4) X (U64, "u64", 8)              \
    X (S8, "s8", 1) X (S16, "s16", 2) X (S32, "s32", 4) X (S64, "s64", 8)              \
    X (F16, "f16", 2) X (F16X2, "f16x2", 4) X (BF16, "bf16", 2)                        \
    X (BF16X2, "bf16x2", 4) X (TF32, "tf32", 4) X (F32, "f32", 4) X (F64, "f64", 8)    \
    X (U16X2, "u16x2", 4) X (S16X2, "s16x2", 4) X (E4M3X2, "e4m3x2", 2)                \
    X (E5M2X2, "e5m2x2", 2) X (E4M3, "e4m3", 1) X (E5M2, "e5m2", 1)                    \
    X (U4, "u4", 1) X (S4, "s4", 1) X (B1, "b1", 1) X (F32X2, "f32x2", 8)              \
    X (TEXREF, "texref", 8) X (SAMPLERREF, "samplerref", 8) X (SURFREF, "surfref", 8)

typedef enum ptx_type {
    PTX_TYPE_NONE,
#define PTX_TYPE_ENUM(sym, name, bytes) PTX_TYPE_##sym,
    PTX_TYPES (PTX_TYPE_ENUM)
#undef PTX_TYPE_ENUM
        PTX_TYPE_COUNT
} ptx_type_t;

typedef enum ptx_space {
    PTX_SPACE_GENERIC,
    PTX_SPACE_GLOBAL,
    PTX_SPACE_SHARED,
    PTX_SPACE_LOCAL,
    PTX_SPACE_PARAM,
    PTX_SPACE_CONST,
    PTX_SPACE_COUNT
} ptx_space_t;

typedef enum ptx_round {
    PTX_ROUND_NONE,
    PTX_ROUND_RN,
    PTX_ROUND_RZ,
    PTX_ROUND_RM,
    PTX_ROUND_RP,
    PTX_ROUND_RNI,
    PTX_ROUND_RZI,
    PTX_ROUND_RMI,
    PTX_ROUND_RPI,
    PTX_ROUND_RNA,
    PTX_ROUND_RS,
} ptx_round_t;

// X (SYMBOL, spelling)
#define PTX_CMPS(X)                                                                    \
    X (EQ, "eq") X (NE, "ne") X (LT, "lt") X (LE, "le") X (GT, "gt") X (GE, "ge")      \
    X (LO, "lo") X (LS, "ls") X (HI, "hi") X (HS, "hs") X (EQU, "equ") X (NEU, "neu")  \
    X (LTU, "ltu") X (LEU, "leu") X (GTU, "gtu") X (GEU, "geu") X (NUM, "num")         \
    X (NAN, "nan")

typedef enum ptx_cmp {
    PTX_CMP_NONE,
#define PTX_CMP_ENUM(sym, name) PTX_CMP_##sym,
    PTX_CMPS (PTX_CMP_ENUM)
#undef PTX_CMP_ENUM
} ptx_cmp_t;

typedef enum ptx_bool { PTX_BOOL_NONE, PTX_BOOL_AND, PTX_BOOL_OR, PTX_BOOL_XOR } ptx_bool_t;

// The word that says which operation an opcode does.
#define PTX_SUBS(X)                                                                    \
    X (LO, "lo") X (HI, "hi") X (WIDE, "wide") X (ADD, "add") X (MIN, "min")           \
    X (MAX, "max") X (INC, "inc") X (DEC, "dec") X (AND, "and") X (OR, "or")           \
    X (XOR, "xor") X (EXCH, "exch") X (CAS, "cas") X (UP, "up") X (DOWN, "down")       \
    X (BFLY, "bfly") X (IDX, "idx") X (ALL, "all") X (ANY, "any") X (UNI, "uni")       \
    X (BALLOT, "ballot") X (SYNC, "sync") X (ARRIVE, "arrive") X (RED, "red")          \
    X (POPC, "popc") X (WARP, "warp") X (L, "l") X (R, "r") X (CLAMP, "clamp")         \
    X (WRAP, "wrap") X (F4E, "f4e") X (B4E, "b4e") X (RC8, "rc8") X (ECL, "ecl")       \
    X (ECR, "ecr") X (RC16, "rc16") X (FINITE, "finite") X (INFINITE, "infinite")      \
    X (NUMBER, "number") X (NOTANUMBER, "notanumber") X (NORMAL, "normal")             \
    X (SUBNORMAL, "subnormal")

typedef enum ptx_sub {
    PTX_SUB_NONE,
#define PTX_SUB_ENUM(sym, name) PTX_SUB_##sym,
    PTX_SUBS (PTX_SUB_ENUM)
#undef PTX_SUB_ENUM
        PTX_SUB_COUNT
} ptx_sub_t;

typedef enum ptx_mod {
    PTX_MOD_FTZ = 1 << 0,
    PTX_MOD_SAT = 1 << 1,
    PTX_MOD_APPROX = 1 << 2,
    PTX_MOD_FULL = 1 << 3,      // div.full
    PTX_MOD_CC = 1 << 4,        // writes the carry flag
    PTX_MOD_UNI = 1 << 5,       // bra.uni, call.uni
    PTX_MOD_TO = 1 << 6,        // cvta.to
    PTX_MOD_NC = 1 << 7,        // ld.global.nc
    PTX_MOD_VOLATILE = 1 << 8,
    PTX_MOD_ACQUIRE = 1 << 9,   // acquire, relaxed and acq_rel accesses: a spin loop may wait on them
    PTX_MOD_RELEASE = 1 << 10,
    PTX_MOD_SYNC = 1 << 11,
    PTX_MOD_ALIGNED = 1 << 12,
    PTX_MOD_NAN = 1 << 13,      // min.NaN, max.NaN
    PTX_MOD_XORSIGN = 1 << 14,
    PTX_MOD_SHIFTAMT = 1 << 15, // bfind.shiftamt
    PTX_MOD_NOFTZ = 1 << 16,
    PTX_MOD_CACHE_HINT = 1 << 17, // an extra operand with the policy
    PTX_MOD_RELU = 1 << 18,
    PTX_MOD_UNKNOWN = 1 << 30,  // a suffix outside the tables: cannot run
} ptx_mod_t;

// X (SYMBOL, spelling)
#define PTX_SREGS(X)                                                                   \
    X (TID_X, "%tid.x") X (TID_Y, "%tid.y") X (TID_Z, "%tid.z")                        \
    X (NTID_X, "%ntid.x") X (NTID_Y, "%ntid.y") X (NTID_Z, "%ntid.z")                  \
    X (CTAID_X, "%ctaid.x") X (CTAID_Y, "%ctaid.y") X (CTAID_Z, "%ctaid.z")            \
    X (NCTAID_X, "%nctaid.x") X (NCTAID_Y, "%nctaid.y") X (NCTAID_Z, "%nctaid.z")      \
    X (LANEID, "%laneid") X (WARPID, "%warpid") X (NWARPID, "%nwarpid")                \
    X (SMID, "%smid") X (NSMID, "%nsmid") X (GRIDID, "%gridid")                        \
    X (LANEMASK_EQ, "%lanemask_eq") X (LANEMASK_LE, "%lanemask_le")                    \
    X (LANEMASK_LT, "%lanemask_lt") X (LANEMASK_GE, "%lanemask_ge")                    \
    X (LANEMASK_GT, "%lanemask_gt") X (DYNAMIC_SMEM, "%dynamic_smem_size")             \
    X (TOTAL_SMEM, "%total_smem_size") X (ENVREG1, "%envreg1") X (ENVREG2, "%envreg2") \
    X (CLOCK, "%clock") X (CLOCK_HI, "%clock_hi") X (CLOCK64, "%clock64")              \
    X (GLOBALTIMER, "%globaltimer") X (GLOBALTIMER_LO, "%globaltimer_lo")              \
    X (GLOBALTIMER_HI, "%globaltimer_hi")

typedef enum ptx_sreg {
    PTX_SREG_NONE,
#define PTX_SREG_ENUM(sym, name) PTX_SREG_##sym,
    PTX_SREGS (PTX_SREG_ENUM)
#undef PTX_SREG_ENUM
        PTX_SREG_COUNT
} ptx_sreg_t;

#endif // KC_PTX_OPCODE_H
