// kc_clang_warp.h: barriers, fences, shuffles, votes, matches, reductions of a warp
#pragma once

KC_FN int __syncthreads_count (int p) { return __nvvm_bar0_popc (p); }
KC_FN int __syncthreads_and (int p) { return __nvvm_bar0_and (p); }
KC_FN int __syncthreads_or (int p) { return __nvvm_bar0_or (p); }
KC_FN void __syncwarp (unsigned mask = 0xffffffffu) { __nvvm_bar_warp_sync (mask); }
KC_FN void __threadfence () { __nvvm_membar_gl (); }
KC_FN void __threadfence_block () { __nvvm_membar_cta (); }
KC_FN void __threadfence_system () { __nvvm_membar_sys (); }
KC_FN void __nanosleep (unsigned ns) { asm volatile ("nanosleep.u32 %0;" ::"r"(ns)); }
KC_FN void __trap () { asm volatile ("trap;"); }
KC_FN void __brkpt () { asm volatile ("brkpt;"); }
// Declared so that the policy names the rule; judged code may not read clocks.
KC_FN long long clock64 () { long long r; asm volatile ("mov.u64 %0, %%clock64;" : "=l"(r)); return r; }
KC_FN int clock () { int r; asm volatile ("mov.u32 %0, %%clock;" : "=r"(r)); return r; }
KC_FN unsigned long long __globaltimer () { unsigned long long r; asm volatile ("mov.u64 %0, %%globaltimer;" : "=l"(r)); return r; }

KC_FN unsigned __activemask () { unsigned r; asm volatile ("activemask.b32 %0;" : "=r"(r)); return r; }
KC_FN int __all_sync (unsigned mask, int p) { return __nvvm_vote_all_sync (mask, p); }
KC_FN int __any_sync (unsigned mask, int p) { return __nvvm_vote_any_sync (mask, p); }
KC_FN int __uni_sync (unsigned mask, int p) { return __nvvm_vote_uni_sync (mask, p); }
KC_FN unsigned __ballot_sync (unsigned mask, int p) { return __nvvm_vote_ballot_sync (mask, p); }

// Width w: segments of w lanes; the packed operand holds the clamp and the segment mask.
#define KC_SHFL(name, insn, edge, L)                                                              \
    KC_FN int name (unsigned mask, int v, L lane, int w = 32)                                \
    { return __nvvm_shfl_sync_##insn##_i32 (mask, v, (int)lane, ((32 - w) << 8) | edge); }          \
    KC_FN unsigned name (unsigned mask, unsigned v, L lane, int w = 32)                      \
    { return (unsigned)name (mask, (int)v, lane, w); }                                         \
    KC_FN float name (unsigned mask, float v, L lane, int w = 32)                            \
    { return __builtin_bit_cast (float, name (mask, __builtin_bit_cast (int, v), lane, w)); }  \
    KC_FN unsigned long long name (unsigned mask, unsigned long long v, L lane, int w = 32)  \
    {                                                                                          \
        unsigned lo = name (mask, (unsigned)v, lane, w), hi = name (mask, (unsigned)(v >> 32), lane, w); \
        return ((unsigned long long)hi << 32) | lo;                                            \
    }                                                                                          \
    KC_FN long long name (unsigned mask, long long v, L lane, int w = 32)                    \
    { return (long long)name (mask, (unsigned long long)v, lane, w); }                         \
    KC_FN long name (unsigned mask, long v, L lane, int w = 32)                              \
    { return (long)name (mask, (unsigned long long)v, lane, w); }                              \
    KC_FN unsigned long name (unsigned mask, unsigned long v, L lane, int w = 32)            \
    { return (unsigned long)name (mask, (unsigned long long)v, lane, w); }                     \
    KC_FN double name (unsigned mask, double v, L lane, int w = 32)                          \
    { return __builtin_bit_cast (double, name (mask, __builtin_bit_cast (unsigned long long, v), lane, w)); }
KC_SHFL (__shfl_sync, idx, 0x1f, int)
KC_SHFL (__shfl_up_sync, up, 0, unsigned)
KC_SHFL (__shfl_down_sync, down, 0x1f, unsigned)
KC_SHFL (__shfl_xor_sync, bfly, 0x1f, int)

#define KC_MATCH(T, bits, cast)                                                                \
    KC_FN unsigned __match_any_sync (unsigned mask, T v) { return __nvvm_match_any_sync_i##bits (mask, cast v); } \
    KC_FN unsigned __match_all_sync (unsigned mask, T v, int *p) { return __nvvm_match_all_sync_i##bits##p (mask, cast v, p); }
KC_MATCH (int, 32, (unsigned))
KC_MATCH (unsigned, 32, )
KC_MATCH (long, 64, (unsigned long long))
KC_MATCH (unsigned long, 64, )
KC_MATCH (long long, 64, (unsigned long long))
KC_MATCH (unsigned long long, 64, )
KC_FN unsigned __match_any_sync (unsigned mask, float v) { return __match_any_sync (mask, __builtin_bit_cast (unsigned, v)); }
KC_FN unsigned __match_any_sync (unsigned mask, double v) { return __match_any_sync (mask, __builtin_bit_cast (unsigned long long, v)); }
KC_FN unsigned __match_all_sync (unsigned mask, float v, int *p) { return __match_all_sync (mask, __builtin_bit_cast (unsigned, v), p); }
KC_FN unsigned __match_all_sync (unsigned mask, double v, int *p) { return __match_all_sync (mask, __builtin_bit_cast (unsigned long long, v), p); }

#define KC_REDUX(name, T, insn)                                                                \
    KC_FN T name (unsigned mask, T v) { T r; asm volatile ("redux.sync." insn " %0, %1, %2;" : "=r"(r) : "r"(v), "r"(mask)); return r; }
KC_REDUX (__reduce_add_sync, unsigned, "add.u32") KC_REDUX (__reduce_add_sync, int, "add.s32")
KC_REDUX (__reduce_min_sync, unsigned, "min.u32") KC_REDUX (__reduce_min_sync, int, "min.s32")
KC_REDUX (__reduce_max_sync, unsigned, "max.u32") KC_REDUX (__reduce_max_sync, int, "max.s32")
KC_REDUX (__reduce_and_sync, unsigned, "and.b32") KC_REDUX (__reduce_or_sync, unsigned, "or.b32")
KC_REDUX (__reduce_xor_sync, unsigned, "xor.b32")
