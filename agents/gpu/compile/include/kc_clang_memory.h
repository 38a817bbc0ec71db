// kc_clang_memory.h: atomics, cached loads and stores, address spaces
#pragma once

// Atomics by scope: device (no infix), block (cta), system (sys).
#define KC_ATOM(name, suffix, T, builtin, C) \
    KC_FN T name##suffix (T *p, T v) { return (T)__nvvm_atom_##builtin ((C *)p, (C)v); }
#define KC_ATOM_INT(name, op, suffix, scope)                                                   \
    KC_ATOM (name, suffix, int, scope##op##_gen_i, int)                                        \
    KC_ATOM (name, suffix, unsigned, scope##op##_gen_i, int)                                   \
    KC_ATOM (name, suffix, unsigned long long, scope##op##_gen_ll, long long)
#define KC_ATOM_ORDER(name, op, suffix, scope)                                                 \
    KC_ATOM (name, suffix, int, scope##op##_gen_i, int)                                        \
    KC_ATOM (name, suffix, unsigned, scope##op##_gen_ui, unsigned)                             \
    KC_ATOM (name, suffix, long long, scope##op##_gen_ll, long long)                           \
    KC_ATOM (name, suffix, unsigned long long, scope##op##_gen_ull, unsigned long long)
#define KC_ATOM_BITS(name, op, suffix, scope)                                                  \
    KC_ATOM_INT (name, op, suffix, scope)                                                      \
    KC_ATOM (name, suffix, long long, scope##op##_gen_ll, long long)
#define KC_ATOM_CAS(T, B, builtin, suffix)                                                     \
    KC_FN T atomicCAS##suffix (T *p, T expected, T v) { return (T)__nvvm_atom_##builtin ((B *)p, (B)expected, (B)v); }
#define KC_ATOM_SCOPE(suffix, scope)                                                           \
    KC_ATOM_INT (atomicAdd, add, suffix, scope)                                                \
    KC_ATOM (atomicAdd, suffix, float, scope##add_gen_f, float)                                \
    KC_ATOM (atomicAdd, suffix, double, scope##add_gen_d, double)                              \
    KC_ATOM_INT (atomicExch, xchg, suffix, scope)                                              \
    KC_FN float atomicExch##suffix (float *p, float v)                                         \
    { return __builtin_bit_cast (float, atomicExch##suffix ((unsigned *)p, __builtin_bit_cast (unsigned, v))); } \
    KC_ATOM_ORDER (atomicMin, min, suffix, scope) KC_ATOM_ORDER (atomicMax, max, suffix, scope) \
    KC_ATOM_BITS (atomicAnd, and, suffix, scope) KC_ATOM_BITS (atomicOr, or, suffix, scope)    \
    KC_ATOM_BITS (atomicXor, xor, suffix, scope)                                               \
    KC_ATOM (atomicInc, suffix, unsigned, scope##inc_gen_ui, unsigned)                         \
    KC_ATOM (atomicDec, suffix, unsigned, scope##dec_gen_ui, unsigned)                         \
    KC_ATOM_CAS (int, int, scope##cas_gen_i, suffix)                                           \
    KC_ATOM_CAS (unsigned, int, scope##cas_gen_i, suffix)                                      \
    KC_ATOM_CAS (unsigned long long, long long, scope##cas_gen_ll, suffix)                     \
    KC_FN int atomicSub##suffix (int *p, int v) { return atomicAdd##suffix (p, -v); }          \
    KC_FN unsigned atomicSub##suffix (unsigned *p, unsigned v) { return atomicAdd##suffix (p, 0u - v); }
KC_ATOM_SCOPE (, )
KC_ATOM_SCOPE (_block, cta_)
KC_ATOM_SCOPE (_system, sys_)
KC_FN unsigned short atomicCAS (unsigned short *p, unsigned short expected, unsigned short v)
{
    unsigned short r;
    asm volatile ("atom.cas.b16 %0, [%1], %2, %3;" : "=h"(r) : "l"(p), "h"(expected), "h"(v) : "memory");
    return r;
}

// Loads and stores with a cache operator, by element and by vector.
#define KC_LD(name, insn, T, E, ptx, c, W)                                                     \
    KC_FN T name (const T *p) { W r; asm (insn "." ptx " %0, [%1];" : "=" c (r) : "l"(p)); return (T)r; }
#define KC_LD2(name, insn, T, ptx, c, W)                                                       \
    KC_FN T##2 name (const T##2 *p) { W x, y; asm (insn ".v2." ptx " {%0, %1}, [%2];" : "=" c (x), "=" c (y) : "l"(p)); return make_##T##2 (x, y); }
#define KC_LD4(name, insn, T, ptx, c, W)                                                       \
    KC_FN T##4 name (const T##4 *p) { W x, y, z, w; asm (insn ".v4." ptx " {%0, %1, %2, %3}, [%4];" : "=" c (x), "=" c (y), "=" c (z), "=" c (w) : "l"(p)); return make_##T##4 (x, y, z, w); }
#define KC_LDS(name, insn)                                                                     \
    KC_LD (name, insn, float, f, "f32", "f", float) KC_LD (name, insn, double, d, "f64", "d", double) \
    KC_LD (name, insn, int, i, "s32", "r", int) KC_LD (name, insn, unsigned, u, "u32", "r", unsigned) \
    KC_LD (name, insn, long long, l, "s64", "l", long long) KC_LD (name, insn, unsigned long long, l, "u64", "l", unsigned long long) \
    KC_LD (name, insn, long, l, "s64", "l", long) KC_LD (name, insn, unsigned long, l, "u64", "l", unsigned long) \
    KC_LD (name, insn, short, h, "s16", "h", short) KC_LD (name, insn, unsigned short, h, "u16", "h", unsigned short) \
    KC_LD (name, insn, signed char, b, "s8", "r", int) KC_LD (name, insn, unsigned char, b, "u8", "r", unsigned) \
    KC_LD (name, insn, char, b, "s8", "r", int)                                                \
    KC_LD2 (name, insn, float, "f32", "f", float) KC_LD4 (name, insn, float, "f32", "f", float) \
    KC_LD2 (name, insn, double, "f64", "d", double)                                            \
    KC_LD2 (name, insn, int, "s32", "r", int) KC_LD4 (name, insn, int, "s32", "r", int)        \
    KC_LD2 (name, insn, uint, "u32", "r", unsigned) KC_LD4 (name, insn, uint, "u32", "r", unsigned) \
    KC_LD2 (name, insn, longlong, "s64", "l", long long) KC_LD2 (name, insn, ulonglong, "u64", "l", unsigned long long) \
    KC_LD2 (name, insn, short, "s16", "h", short) KC_LD4 (name, insn, short, "s16", "h", short) \
    KC_LD2 (name, insn, ushort, "u16", "h", unsigned short) KC_LD4 (name, insn, ushort, "u16", "h", unsigned short) \
    KC_FN char2 name (const char2 *p) { return __builtin_bit_cast (char2, name ((const short *)p)); } \
    KC_FN char4 name (const char4 *p) { return __builtin_bit_cast (char4, name ((const int *)p)); } \
    KC_FN uchar2 name (const uchar2 *p) { return __builtin_bit_cast (uchar2, name ((const short *)p)); } \
    KC_FN uchar4 name (const uchar4 *p) { return __builtin_bit_cast (uchar4, name ((const int *)p)); }
KC_LDS (__ldg, "ld.global.nc")
KC_LDS (__ldca, "ld.global.ca")
KC_LDS (__ldcg, "ld.global.cg")
KC_LDS (__ldcs, "ld.global.cs")
KC_LDS (__ldlu, "ld.global.lu")
KC_LDS (__ldcv, "ld.global.cv")

#define KC_ST(name, insn, T, ptx, c, W)                                                        \
    KC_FN void name (T *p, T v) { asm volatile (insn "." ptx " [%0], %1;" ::"l"(p), c ((W)v) : "memory"); }
#define KC_ST2(name, insn, T, ptx, c)                                                          \
    KC_FN void name (T##2 *p, T##2 v) { asm volatile (insn ".v2." ptx " [%0], {%1, %2};" ::"l"(p), c (v.x), c (v.y) : "memory"); }
#define KC_ST4(name, insn, T, ptx, c)                                                          \
    KC_FN void name (T##4 *p, T##4 v) { asm volatile (insn ".v4." ptx " [%0], {%1, %2, %3, %4};" ::"l"(p), c (v.x), c (v.y), c (v.z), c (v.w) : "memory"); }
#define KC_STS(name, insn)                                                                     \
    KC_ST (name, insn, float, "f32", "f", float) KC_ST (name, insn, double, "f64", "d", double) \
    KC_ST (name, insn, int, "s32", "r", int) KC_ST (name, insn, unsigned, "u32", "r", unsigned) \
    KC_ST (name, insn, long long, "s64", "l", long long) KC_ST (name, insn, unsigned long long, "u64", "l", unsigned long long) \
    KC_ST (name, insn, long, "s64", "l", long) KC_ST (name, insn, unsigned long, "u64", "l", unsigned long) \
    KC_ST (name, insn, short, "s16", "h", short) KC_ST (name, insn, unsigned short, "u16", "h", unsigned short) \
    KC_ST (name, insn, signed char, "s8", "r", int) KC_ST (name, insn, unsigned char, "u8", "r", unsigned) \
    KC_ST (name, insn, char, "s8", "r", int)                                                   \
    KC_ST2 (name, insn, float, "f32", "f") KC_ST4 (name, insn, float, "f32", "f")              \
    KC_ST2 (name, insn, double, "f64", "d")                                                    \
    KC_ST2 (name, insn, int, "s32", "r") KC_ST4 (name, insn, int, "s32", "r")                  \
    KC_ST2 (name, insn, uint, "u32", "r") KC_ST4 (name, insn, uint, "u32", "r")                \
    KC_ST2 (name, insn, longlong, "s64", "l") KC_ST2 (name, insn, ulonglong, "u64", "l")       \
    KC_ST2 (name, insn, short, "s16", "h") KC_ST4 (name, insn, short, "s16", "h")              \
    KC_ST2 (name, insn, ushort, "u16", "h") KC_ST4 (name, insn, ushort, "u16", "h")
KC_STS (__stcg, "st.global.cg")
KC_STS (__stcs, "st.global.cs")
KC_STS (__stwb, "st.global.wb")
KC_STS (__stwt, "st.global.wt")

KC_FN size_t __cvta_generic_to_shared (const void *p) { size_t r; asm ("cvta.to.shared.u64 %0, %1;" : "=l"(r) : "l"(p)); return r; }
KC_FN size_t __cvta_generic_to_global (const void *p) { size_t r; asm ("cvta.to.global.u64 %0, %1;" : "=l"(r) : "l"(p)); return r; }
KC_FN void *__cvta_shared_to_generic (size_t p) { void *r; asm ("cvta.shared.u64 %0, %1;" : "=l"(r) : "l"(p)); return r; }
KC_FN unsigned kc_isspace (const void *p, int which)
{
    int r;
    if (which == 0)
        asm ("{ .reg .pred p; isspacep.shared p, %1; selp.s32 %0, 1, 0, p; }" : "=r"(r) : "l"(p));
    else if (which == 1)
        asm ("{ .reg .pred p; isspacep.global p, %1; selp.s32 %0, 1, 0, p; }" : "=r"(r) : "l"(p));
    else
        asm ("{ .reg .pred p; isspacep.local p, %1; selp.s32 %0, 1, 0, p; }" : "=r"(r) : "l"(p));
    return (unsigned)r;
}
KC_FN unsigned __isShared (const void *p) { return kc_isspace (p, 0); }
KC_FN unsigned __isGlobal (const void *p) { return kc_isspace (p, 1); }
KC_FN unsigned __isLocal (const void *p) { return kc_isspace (p, 2); }
