/* vg_handlers.h - the operator bodies by name: what the decoder chooses from and vg_exec.c expands
 *
 * One list per shape of operation, X (name, type, expression over x y z).  Types: u16 s16 u32 s32 u64 s64 f32
 * f64; 16-bit values live in 32-bit rows whose upper half is not defined.  Signed overflow wraps: sums and
 * products are formed in the unsigned type.
 */
#ifndef KC_VG_HANDLERS_H
#define KC_VG_HANDLERS_H

#define VG_UNSIGNED3(X, name, e) X (name##_u16, u16, e) X (name##_u32, u32, e) X (name##_u64, u64, e)
#define VG_SIGNED3(X, name, e) X (name##_s16, s16, e) X (name##_s32, s32, e) X (name##_s64, s64, e)
#define VG_INTS(X, name, e) VG_UNSIGNED3 (X, name, e) VG_SIGNED3 (X, name, e)

#define VG_UNARY(X)                                                                    \
    VG_UNSIGNED3 (X, neg, 0 - x)                                                       \
    X (abs_s16, s16, x < 0 ? -x : x)                                                   \
    X (abs_s32, s32, WRAP_NEG32 (x))                                                   \
    X (abs_s64, s64, WRAP_NEG64 (x))                                                   \
    X (not_u32, u32, ~x) X (not_u64, u64, ~x)                                          \
    X (cnot_u16, u16, x == 0) X (cnot_u32, u32, x == 0) X (cnot_u64, u64, x == 0)      \
    X (brev_u32, u32, kc_brev32 (x)) X (brev_u64, u64, kc_brev64 (x))                  \
    X (mov_u32, u32, x) X (mov_u64, u64, x)                                            \
    X (neg_f32, f32, -x) X (neg_f64, f64, -x)                                          \
    X (abs_f32, f32, kc_absf (x)) X (abs_f64, f64, kc_abs (x))                         \
    X (sat_f32, f32, SAT (x, 0.0f, 1.0f)) X (sat_f64, f64, SAT (x, 0.0, 1.0))          \
    X (sqrt_f32, f32, NANF (__builtin_sqrtf (x))) X (sqrt_f64, f64, __builtin_sqrt (x)) \
    X (rcp_f32, f32, NANF (1.0f / x)) X (rcp_f64, f64, 1.0 / x)                        \
    X (rcpa_f32, f32, NANF ((float)(1.0 / (double)x)))                                 \
    X (sqrta_f32, f32, NANF ((float)__builtin_sqrt ((double)x)))                       \
    X (rsqrt_f32, f32, NANF ((float)(1.0 / __builtin_sqrt ((double)x))))               \
    X (rsqrt_f64, f64, 1.0 / __builtin_sqrt (x))                                       \
    X (ex2_f32, f32, kc_ex2 (x)) X (lg2_f32, f32, NANF (kc_lg2 (x)))                   \
    X (sin_f32, f32, NANF ((float)sin ((double)x)))                                    \
    X (cos_f32, f32, NANF ((float)cos ((double)x)))                                    \
    X (tanh_f32, f32, NANF ((float)tanh ((double)x)))

#define VG_BINARY(X)                                                                   \
    VG_UNSIGNED3 (X, add, x + y) VG_UNSIGNED3 (X, sub, x - y)                          \
    VG_UNSIGNED3 (X, mullo, x * y)                                                     \
    X (addsat_s32, s32, kc_sat32 ((int64_t)x + y)) X (subsat_s32, s32, kc_sat32 ((int64_t)x - y)) \
    X (mulhi_u16, u16, x * y >> 16) X (mulhi_s16, s16, x * y >> 16)                    \
    X (mulhi_u32, u32, (uint64_t)x * y >> 32) X (mulhi_s32, s32, (int64_t)x * y >> 32) \
    X (mulhi_u64, u64, (uint64_t)((kc_u128)x * y >> 64))                               \
    X (mulhi_s64, s64, (int64_t)((kc_s128)x * y >> 64))                                \
    X (mul24lo_u32, u32, U24 (x) * U24 (y))                                            \
    X (mul24lo_s32, s32, (int32_t)(S24 (x) * S24 (y)))                                 \
    X (mul24hi_u32, u32, (uint64_t)U24 (x) * U24 (y) >> 16)                            \
    X (mul24hi_s32, s32, S24 (x) * S24 (y) >> 16)                                      \
    X (div_u16, u16, y ? x / y : 0xffff) X (div_s16, s16, y ? x / y : -1)              \
    X (div_u32, u32, y ? x / y : 0xffffffffu)                                          \
    X (div_s32, s32, y ? (int64_t)x / y : -1)                                          \
    X (div_u64, u64, y ? x / y : ~0ull) X (div_s64, s64, kc_div64 (x, y))              \
    X (rem_u16, u16, y ? x % y : x) X (rem_s16, s16, y ? x % y : x)                    \
    X (rem_u32, u32, y ? x % y : x) X (rem_s32, s32, y ? (int64_t)x % y : x)           \
    X (rem_u64, u64, y ? x % y : x) X (rem_s64, s64, y && y != -1 ? x % y : y ? 0 : x) \
    VG_INTS (X, min, x < y ? x : y) VG_INTS (X, max, x > y ? x : y)                    \
    X (and_u32, u32, x & y) X (or_u32, u32, x | y) X (xor_u32, u32, x ^ y)             \
    X (and_u64, u64, x & y) X (or_u64, u64, x | y) X (xor_u64, u64, x ^ y)             \
    X (add_f32, f32, NANF (x + y)) X (add_f64, f64, x + y)                             \
    X (sub_f32, f32, NANF (x - y)) X (sub_f64, f64, x - y)                             \
    X (mul_f32, f32, NANF (x * y)) X (mul_f64, f64, x * y)                             \
    X (div_f32, f32, NANF (x / y)) X (div_f64, f64, x / y)                             \
    X (diva_f32, f32, NANF ((float)((double)x / (double)y)))                           \
    X (min_f32, f32, kc_minf (x, y)) X (max_f32, f32, kc_maxf (x, y))                  \
    X (minnan_f32, f32, x == x && y == y ? kc_minf (x, y) : kc_nanf ())                \
    X (maxnan_f32, f32, x == x && y == y ? kc_maxf (x, y) : kc_nanf ())                \
    X (min_f64, f64, kc_mind (x, y)) X (max_f64, f64, kc_maxd (x, y))                  \
    X (copysign_f32, f32, kc_copysignf (x, y)) X (copysign_f64, f64, kc_copysign (x, y)) \
    X (bmskclamp_u32, u32, kc_bmsk (x, y, 1)) X (bmskwrap_u32, u32, kc_bmsk (x, y, 0)) \
    X (szextclamp_u32, u32, kc_szext (x, y, 1, 0)) X (szextwrap_u32, u32, kc_szext (x, y, 0, 0)) \
    X (szextclamp_s32, s32, (int32_t)kc_szext ((uint32_t)x, (uint32_t)y, 1, 1))        \
    X (szextwrap_s32, s32, (int32_t)kc_szext ((uint32_t)x, (uint32_t)y, 0, 1))

// the amount y is u32; amounts past the width are clamped, not masked
#define VG_SHIFT(X)                                                                    \
    X (shl_u16, u16, y > 15 ? 0 : x << y) X (shl_u32, u32, y > 31 ? 0 : x << (y & 31)) \
    X (shl_u64, u64, y > 63 ? 0 : x << (y & 63))                                       \
    X (shr_u16, u16, y > 15 ? 0 : x >> (y & 15)) X (shr_u32, u32, y > 31 ? 0 : x >> (y & 31)) \
    X (shr_u64, u64, y > 63 ? 0 : x >> (y & 63))                                       \
    X (shr_s16, s16, x >> (y > 15 ? 15 : y)) X (shr_s32, s32, x >> (y > 31 ? 31 : y))  \
    X (shr_s64, s64, x >> (y > 63 ? 63 : y))

#define VG_TERNARY(X)                                                                  \
    VG_UNSIGNED3 (X, madlo, x *y + z)                                                  \
    X (madhi_u16, u16, (x * y >> 16) + z) X (madhi_s16, s16, (x * y >> 16) + z)        \
    X (madhi_u32, u32, (uint32_t)((uint64_t)x * y >> 32) + z)                          \
    X (madhi_s32, s32, (int32_t)((uint32_t)((int64_t)x * y >> 32) + (uint32_t)z))      \
    X (madhi_u64, u64, (uint64_t)((kc_u128)x * y >> 64) + z)                           \
    X (madhi_s64, s64, (int64_t)((uint64_t)((kc_s128)x * y >> 64) + (uint64_t)z))      \
    X (madhisat_s32, s32, kc_sat32 (((int64_t)x * y >> 32) + z))                       \
    X (mad24lo_u32, u32, U24 (x) * U24 (y) + z)                                        \
    X (mad24lo_s32, s32, (int32_t)((uint32_t)(S24 (x) * S24 (y)) + (uint32_t)z))       \
    X (mad24hi_u32, u32, (uint32_t)((uint64_t)U24 (x) * U24 (y) >> 16) + z)            \
    X (mad24hi_s32, s32, (int32_t)((uint32_t)(S24 (x) * S24 (y) >> 16) + (uint32_t)z)) \
    X (sad_u16, u16, z + (x > y ? x - y : y - x)) X (sad_s16, s16, z + (x > y ? x - y : y - x)) \
    X (sad_u32, u32, z + (x > y ? x - y : y - x))                                      \
    X (sad_s32, s32, (int32_t)((uint32_t)z + (x > y ? (uint32_t)x - (uint32_t)y : (uint32_t)y - (uint32_t)x))) \
    X (sad_u64, u64, z + (x > y ? x - y : y - x))                                      \
    X (sad_s64, s64, (int64_t)((uint64_t)z + (x > y ? (uint64_t)x - (uint64_t)y : (uint64_t)y - (uint64_t)x))) \
    X (fma_f32, f32, NANF (kc_fmaf (x, y, z)))                                         \
    X (fmar_f32, f32, NANF (__builtin_fmaf (x, y, z)))                                 \
    X (fma_f64, f64, __builtin_fma (x, y, z))                                          \
    X (shflwrap_u32, u32, (uint32_t)((((uint64_t)y << 32) | x) << (z & 31) >> 32))     \
    X (shflclamp_u32, u32, (uint32_t)((((uint64_t)y << 32) | x) << (z > 32 ? 32 : z) >> 32)) \
    X (shfrwrap_u32, u32, (uint32_t)((((uint64_t)y << 32) | x) >> (z & 31)))           \
    X (shfrclamp_u32, u32, (uint32_t)((((uint64_t)y << 32) | x) >> (z > 32 ? 32 : z))) \
    X (dp4auu_u32, u32, z + (uint32_t)kc_dp4 (x, y, 0, 0)) X (dp4aus_u32, u32, z + (uint32_t)kc_dp4 (x, y, 0, 1)) \
    X (dp4asu_u32, u32, z + (uint32_t)kc_dp4 (x, y, 1, 0)) X (dp4ass_u32, u32, z + (uint32_t)kc_dp4 (x, y, 1, 1))

// X (name, type of d (and z), type of x and y, expression)
#define VG_WIDEN(X)                                                                    \
    X (mulwide_u16, u32, u16, x *y) X (mulwide_s16, s32, s16, x *y)                    \
    X (mulwide_u32, u64, u32, (uint64_t)x * y) X (mulwide_s32, s64, s32, (int64_t)x * y)
#define VG_WIDEN3(X)                                                                   \
    X (madwide_u16, u32, u16, x *y + z) X (madwide_s16, s32, s16, (int32_t)((uint32_t)(x * y) + (uint32_t)z)) \
    X (madwide_u32, u64, u32, (uint64_t)x * y + z)                                     \
    X (madwide_s32, s64, s32, (int64_t)((uint64_t)((int64_t)x * y) + (uint64_t)z))
// X (name, type of d, type of x, expression)
#define VG_CONVERT1(X)                                                                 \
    X (popc_u32, u32, u32, (uint32_t)__builtin_popcount (x))                           \
    X (popc_u64, u32, u64, (uint32_t)__builtin_popcountll (x))                         \
    X (clz_u32, u32, u32, x ? (uint32_t)__builtin_clz (x) : 32)                        \
    X (clz_u64, u32, u64, x ? (uint32_t)__builtin_clzll (x) : 64)                      \
    X (bfind_u32, u32, u32, kc_bfind (x, 31, 0)) X (bfindsh_u32, u32, u32, kc_bfind (x, 31, 1)) \
    X (bfind_u64, u32, u64, kc_bfind (x, 63, 0)) X (bfindsh_u64, u32, u64, kc_bfind (x, 63, 1)) \
    X (bfind_s32, u32, s32, kc_bfind ((uint32_t)(x < 0 ? ~x : x), 31, 0))              \
    X (bfindsh_s32, u32, s32, kc_bfind ((uint32_t)(x < 0 ? ~x : x), 31, 1))            \
    X (bfind_s64, u32, s64, kc_bfind ((uint64_t)(x < 0 ? ~x : x), 63, 0))              \
    X (bfindsh_s64, u32, s64, kc_bfind ((uint64_t)(x < 0 ? ~x : x), 63, 1))            \
    X (cvt_u64_u32, u64, u32, x) X (cvt_s64_s32, s64, s32, x) X (cvt_u32_u64, u32, u64, (uint32_t)x) \
    X (cvt_f32_s32, f32, s32, (float)x) X (cvt_f32_u32, f32, u32, (float)x)            \
    X (cvt_f64_s32, f64, s32, (double)x) X (cvt_f64_u32, f64, u32, (double)x)          \
    X (cvt_f32_s64, f32, s64, (float)x) X (cvt_f64_s64, f64, s64, (double)x)           \
    X (cvt_f64_f32, f64, f32, (double)x) X (cvt_f32_f64, f32, f64, NANF ((float)x))    \
    X (cvt_s32_f32_rz, s32, f32, TO_S32 (x)) X (cvt_u32_f32_rz, u32, f32, TO_U32 (x))

// bodies written out in vg_exec.c
#define VG_PLAIN(X)                                                                    \
    X (bfe_u32) X (bfe_s32) X (bfe_u64) X (bfe_s64) X (bfi_u32) X (bfi_u64)            \
    X (prmt) X (lop3) X (selp_u32) X (selp_u64) X (slct_s32) X (slct_f32) X (fns) X (dp2a) \
    X (addc_u32) X (addc_u64) X (subc_u32) X (subc_u64) X (madc_u32) X (madc_u64)      \
    X (setp_u16) X (setp_s16) X (setp_u32) X (setp_s32) X (setp_u64) X (setp_s64)      \
    X (setp_f32) X (setp_f64) X (set) X (testp_f32) X (testp_f64)                      \
    X (pred_logic) X (pred_mov) X (mov_pred_row)                                       \
    X (pack) X (unpack) X (convert) X (add_imm_u64) X (isspacep) X (fp_mode)           \
    X (ld_global) X (ld_shared) X (ld_slow) X (ld_param) X (ld_const)                  \
    X (st_global) X (st_shared) X (st_slow) X (atomic)                                 \
    X (shfl) X (vote) X (match) X (redux) X (warp_barrier) X (activemask) X (builtin)

typedef enum vg_handler {
    VG_H_NONE,
#define VG_H0(name) VG_H_##name,
#define VG_H1(name, ...) VG_H_##name,
    VG_UNARY (VG_H1) VG_BINARY (VG_H1) VG_SHIFT (VG_H1) VG_TERNARY (VG_H1) VG_WIDEN (VG_H1) VG_WIDEN3 (VG_H1)
        VG_CONVERT1 (VG_H1) VG_PLAIN (VG_H0)
#undef VG_H0
#undef VG_H1
            VG_H_COUNT
} vg_handler_t;

#endif // KC_VG_HANDLERS_H
