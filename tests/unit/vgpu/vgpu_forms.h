/* vgpu_forms.h - one row per instruction form: X (name, PTX, kind of result, expected value)
 *
 * Inputs of a lane: a b c d as %rd1..4 (64 bits), x y z t as %r1..4 (their low 32), h i j as %h1..3 (their low
 * 16), f g k as %f1..3, u v w as %fd1..3; predicates p = bit 0 of t (%p1), q = bit 1 (%p2).  Signed views: sx sy sz,
 * sa sb sc, sh si sj.  Results: R %r10, D %rd10, H %h10, F %f10, G %fd10, P %p10.  Expected values are computed in C
 * without any code of the interpreter.
 */
#ifndef KC_TEST_VGPU_FORMS_H
#define KC_TEST_VGPU_FORMS_H

#define FORMS_INTEGER(X)                                                               \
    X (add_u16, "add.u16 %h10, %h1, %h2;", H, (uint16_t)(h + i))                       \
    X (add_s32, "add.s32 %r10, %r1, %r2;", R, x + y)                                   \
    X (add_imm, "add.s32 %r10, %r1, -7;", R, x - 7)                                    \
    X (add_s64, "add.s64 %rd10, %rd1, %rd2;", D, a + b)                                \
    X (add_sat, "add.sat.s32 %r10, %r1, %r2;", R, (uint32_t)sat32 ((int64_t)sx + sy))  \
    X (sub_sat, "sub.sat.s32 %r10, %r1, %r2;", R, (uint32_t)sat32 ((int64_t)sx - sy))  \
    X (sub_u32, "sub.u32 %r10, %r1, %r2;", R, x - y)                                   \
    X (sub_s16, "sub.s16 %h10, %h1, %h2;", H, (uint16_t)(h - i))                       \
    X (sub_u64, "sub.u64 %rd10, %rd1, %rd2;", D, a - b)                                \
    X (add_cc32, "add.cc.u32 %r9, %r1, %r2; addc.u32 %r10, %r3, %r4;", R, z + t + (uint32_t)(((uint64_t)x + y) >> 32)) \
    X (addc_cc, "add.cc.u32 %r9, %r1, %r2; addc.cc.u32 %r9, %r1, %r2; addc.u32 %r10, 0, 0;", R, carry3 (x, y)) \
    X (sub_cc32, "sub.cc.u32 %r9, %r1, %r2; subc.u32 %r10, %r3, %r4;", R, z - t - (x < y)) \
    X (add_cc64, "add.cc.u64 %rd9, %rd1, %rd2; addc.u64 %rd10, %rd3, 0;", D, c + (a + b < a)) \
    X (sub_cc64, "sub.cc.s64 %rd9, %rd1, %rd2; subc.s64 %rd10, %rd3, 5;", D, c - 5 - (a < b)) \
    X (madc, "mad.lo.cc.u32 %r9, %r1, %r2, %r3; madc.hi.u32 %r10, %r1, %r2, %r4;", R, madc_hi (x, y, z, t)) \
    X (mul_lo_u16, "mul.lo.u16 %h10, %h1, %h2;", H, (uint16_t)((uint32_t)h * i))       \
    X (mul_lo_s32, "mul.lo.s32 %r10, %r1, %r2;", R, x * y)                             \
    X (mul_lo_s64, "mul.lo.s64 %rd10, %rd1, %rd2;", D, a * b)                          \
    X (mul_hi_u16, "mul.hi.u16 %h10, %h1, %h2;", H, (uint16_t)((uint32_t)h * i >> 16)) \
    X (mul_hi_s16, "mul.hi.s16 %h10, %h1, %h2;", H, (uint16_t)((int32_t)sh * si >> 16)) \
    X (mul_hi_u32, "mul.hi.u32 %r10, %r1, %r2;", R, (uint32_t)((uint64_t)x * y >> 32)) \
    X (mul_hi_s32, "mul.hi.s32 %r10, %r1, %r2;", R, (uint32_t)((int64_t)sx * sy >> 32)) \
    X (mul_hi_u64, "mul.hi.u64 %rd10, %rd1, %rd2;", D, mulhi_u64 (a, b))               \
    X (mul_hi_s64, "mul.hi.s64 %rd10, %rd1, %rd2;", D, mulhi_u64 (a, b) - (sa < 0 ? b : 0) - (sb < 0 ? a : 0)) \
    X (mul_wide_u16, "mul.wide.u16 %r10, %h1, %h2;", R, (uint32_t)h * i)               \
    X (mul_wide_s16, "mul.wide.s16 %r10, %h1, %h2;", R, (uint32_t)((int32_t)sh * si))  \
    X (mul_wide_u32, "mul.wide.u32 %rd10, %r1, %r2;", D, (uint64_t)x * y)              \
    X (mul_wide_s32, "mul.wide.s32 %rd10, %r1, -4;", D, (uint64_t)((int64_t)sx * -4))  \
    X (mul24_lo_u, "mul24.lo.u32 %r10, %r1, %r2;", R, (uint32_t)((uint64_t)(x & 0xffffff) * (y & 0xffffff))) \
    X (mul24_hi_u, "mul24.hi.u32 %r10, %r1, %r2;", R, (uint32_t)((uint64_t)(x & 0xffffff) * (y & 0xffffff) >> 16)) \
    X (mul24_lo_s, "mul24.lo.s32 %r10, %r1, %r2;", R, (uint32_t)(s24 (x) * s24 (y)))   \
    X (mul24_hi_s, "mul24.hi.s32 %r10, %r1, %r2;", R, (uint32_t)(s24 (x) * s24 (y) >> 16)) \
    X (mad_lo_u16, "mad.lo.u16 %h10, %h1, %h2, %h3;", H, (uint16_t)((uint32_t)h * i + j)) \
    X (mad_lo_s32, "mad.lo.s32 %r10, %r1, %r2, %r3;", R, x * y + z)                    \
    X (mad_lo_u64, "mad.lo.u64 %rd10, %rd1, %rd2, %rd3;", D, a * b + c)                \
    X (mad_hi_u32, "mad.hi.u32 %r10, %r1, %r2, %r3;", R, (uint32_t)((uint64_t)x * y >> 32) + z) \
    X (mad_hi_s32, "mad.hi.s32 %r10, %r1, %r2, %r3;", R, (uint32_t)((int64_t)sx * sy >> 32) + z) \
    X (mad_hi_sat, "mad.hi.sat.s32 %r10, %r1, %r2, %r3;", R, (uint32_t)sat32 (((int64_t)sx * sy >> 32) + sz)) \
    X (mad_hi_u64, "mad.hi.u64 %rd10, %rd1, %rd2, %rd3;", D, mulhi_u64 (a, b) + c)     \
    X (mad_wide_u16, "mad.wide.u16 %r10, %h1, %h2, %r3;", R, (uint32_t)h * i + z)      \
    X (mad_wide_s16, "mad.wide.s16 %r10, %h1, %h2, %r3;", R, (uint32_t)((int32_t)sh * si) + z) \
    X (mad_wide_u32, "mad.wide.u32 %rd10, %r1, %r2, %rd3;", D, (uint64_t)x * y + c)    \
    X (mad_wide_s32, "mad.wide.s32 %rd10, %r1, %r2, %rd3;", D, (uint64_t)((int64_t)sx * sy) + c) \
    X (mad24_lo, "mad24.lo.s32 %r10, %r1, %r2, %r3;", R, (uint32_t)(s24 (x) * s24 (y)) + z) \
    X (mad24_hi, "mad24.hi.u32 %r10, %r1, %r2, %r3;", R, (uint32_t)((uint64_t)(x & 0xffffff) * (y & 0xffffff) >> 16) + z) \
    X (sad_u32, "sad.u32 %r10, %r1, %r2, %r3;", R, z + (x > y ? x - y : y - x))        \
    X (sad_s32, "sad.s32 %r10, %r1, %r2, %r3;", R, z + (sx > sy ? x - y : y - x))      \
    X (sad_s64, "sad.s64 %rd10, %rd1, %rd2, %rd3;", D, c + (sa > sb ? a - b : b - a))  \
    X (sad_u16, "sad.u16 %h10, %h1, %h2, %h3;", H, (uint16_t)(j + (h > i ? h - i : i - h))) \
    X (div_u16, "div.u16 %h10, %h1, %h2;", H, i ? h / i : 0xffff)                      \
    X (div_s16, "div.s16 %h10, %h1, %h2;", H, (uint16_t)(si ? sh / si : -1))           \
    X (div_u32, "div.u32 %r10, %r1, %r2;", R, y ? x / y : 0xffffffffu)                 \
    X (div_s32, "div.s32 %r10, %r1, %r2;", R, (uint32_t)(sy ? (int64_t)sx / sy : -1))  \
    X (div_u64, "div.u64 %rd10, %rd1, %rd2;", D, b ? a / b : ~0ull)                    \
    X (div_s64, "div.s64 %rd10, %rd1, 3;", D, (uint64_t)(sa / 3))                      \
    X (div_s64n, "div.s64 %rd10, %rd1, -1;", D, 0 - a)                                 \
    X (rem_u32, "rem.u32 %r10, %r1, %r2;", R, y ? x % y : x)                           \
    X (rem_s32, "rem.s32 %r10, %r1, %r2;", R, (uint32_t)(sy ? (int64_t)sx % sy : sx))  \
    X (rem_s16, "rem.s16 %h10, %h1, %h2;", H, (uint16_t)(si ? sh % si : sh))           \
    X (rem_u64, "rem.u64 %rd10, %rd1, 1000;", D, a % 1000)                             \
    X (rem_s64, "rem.s64 %rd10, %rd1, %rd2;", D, (uint64_t)(sb == 0 ? sa : sb == -1 ? 0 : sa % sb)) \
    X (neg_s16, "neg.s16 %h10, %h1;", H, (uint16_t)-h)                                 \
    X (neg_s32, "neg.s32 %r10, %r1;", R, 0 - x)                                        \
    X (neg_s64, "neg.s64 %rd10, %rd1;", D, 0 - a)                                      \
    X (abs_s16, "abs.s16 %h10, %h1;", H, (uint16_t)(sh < 0 ? -sh : sh))                \
    X (abs_s32, "abs.s32 %r10, %r1;", R, sx < 0 ? 0 - x : x)                           \
    X (abs_s64, "abs.s64 %rd10, %rd1;", D, sa < 0 ? 0 - a : a)                         \
    X (min_u16, "min.u16 %h10, %h1, %h2;", H, h < i ? h : i)                           \
    X (min_s16, "min.s16 %h10, %h1, %h2;", H, sh < si ? h : i)                         \
    X (min_u32, "min.u32 %r10, %r1, %r2;", R, x < y ? x : y)                           \
    X (min_s32, "min.s32 %r10, %r1, %r2;", R, sx < sy ? x : y)                         \
    X (min_u64, "min.u64 %rd10, %rd1, %rd2;", D, a < b ? a : b)                        \
    X (min_s64, "min.s64 %rd10, %rd1, %rd2;", D, sa < sb ? a : b)                      \
    X (max_u16, "max.u16 %h10, %h1, %h2;", H, h > i ? h : i)                           \
    X (max_s16, "max.s16 %h10, %h1, %h2;", H, sh > si ? h : i)                         \
    X (max_u32, "max.u32 %r10, %r1, %r2;", R, x > y ? x : y)                           \
    X (max_s32, "max.s32 %r10, %r1, %r2;", R, sx > sy ? x : y)                         \
    X (max_u64, "max.u64 %rd10, %rd1, %rd2;", D, a > b ? a : b)                        \
    X (max_s64, "max.s64 %rd10, %rd1, %rd2;", D, sa > sb ? a : b)                      \
    X (popc32, "popc.b32 %r10, %r1;", R, ones (x))                                     \
    X (popc64, "popc.b64 %r10, %rd1;", R, ones (a))                                    \
    X (clz32, "clz.b32 %r10, %r1;", R, zeros (x, 32))                                  \
    X (clz64, "clz.b64 %r10, %rd1;", R, zeros (a, 64))                                 \
    X (bfind_u32, "bfind.u32 %r10, %r1;", R, 31 - zeros (x, 32))                       \
    X (bfind_s32, "bfind.s32 %r10, %r1;", R, 31 - zeros (sx < 0 ? ~x : x, 32))         \
    X (bfind_sh, "bfind.shiftamt.u32 %r10, %r1;", R, x ? zeros (x, 32) : 0xffffffffu)  \
    X (bfind_u64, "bfind.u64 %r10, %rd1;", R, 63 - zeros (a, 64))                      \
    X (bfind_s64, "bfind.shiftamt.s64 %r10, %rd1;", R, (sa < 0 ? ~a : a) ? zeros (sa < 0 ? ~a : a, 64) : 0xffffffffu) \
    X (brev32, "brev.b32 %r10, %r1;", R, (uint32_t)reversed (x, 32))                   \
    X (brev64, "brev.b64 %rd10, %rd1;", D, reversed (a, 64))                           \
    X (bfe_u32, "bfe.u32 %r10, %r1, %r2, %r3;", R, (uint32_t)bfe (x, y, z, 32, 0))     \
    X (bfe_s32, "bfe.s32 %r10, %r1, %r2, %r3;", R, (uint32_t)bfe (x, y, z, 32, 1))     \
    X (bfe_s32_small, "and.b32 %r8, %r2, 31; and.b32 %r9, %r3, 31; bfe.s32 %r10, %r1, %r8, %r9;", R, (uint32_t)bfe (x, y & 31, z & 31, 32, 1)) \
    X (bfe_u64, "and.b32 %r8, %r2, 63; and.b32 %r9, %r3, 63; bfe.u64 %rd10, %rd1, %r8, %r9;", D, bfe (a, y & 63, z & 63, 64, 0)) \
    X (bfe_s64, "bfe.s64 %rd10, %rd1, %r2, %r3;", D, bfe (a, y, z, 64, 1))             \
    X (bfi_b32, "bfi.b32 %r10, %r1, %r2, %r3, %r4;", R, (uint32_t)bfi (x, y, z, t, 32)) \
    X (bfi_small, "and.b32 %r8, %r3, 31; and.b32 %r9, %r4, 31; bfi.b32 %r10, %r1, %r2, %r8, %r9;", R, (uint32_t)bfi (x, y, z & 31, t & 31, 32)) \
    X (bfi_b64, "bfi.b64 %rd10, %rd1, %rd2, %r3, 9;", D, bfi (a, b, z, 9, 64))         \
    X (bmsk_clamp, "bmsk.clamp.b32 %r10, %r1, %r2;", R, bmsk (x, y, 1))                \
    X (bmsk_wrap, "bmsk.wrap.b32 %r10, %r1, %r2;", R, bmsk (x, y, 0))                  \
    X (szext_s, "and.b32 %r9, %r2, 63; szext.clamp.s32 %r10, %r1, %r9;", R, szext (x, y & 63, 1)) \
    X (szext_u, "szext.wrap.u32 %r10, %r1, %r2;", R, szext (x, y & 31, 0))             \
    X (fns, "and.b32 %r9, %r3, 7; sub.s32 %r9, %r9, 3; fns.b32 %r10, %r1, %r2, %r9;", R, fns (x, y & 31, (int32_t)(z & 7) - 3)) \
    X (dp4a_uu, "dp4a.u32.u32 %r10, %r1, %r2, %r3;", R, dp4a (x, y, z, 0, 0))          \
    X (dp4a_ss, "dp4a.s32.s32 %r10, %r1, %r2, %r3;", R, dp4a (x, y, z, 1, 1))          \
    X (dp4a_su, "dp4a.s32.u32 %r10, %r1, %r2, %r3;", R, dp4a (x, y, z, 1, 0))          \
    X (dp4a_us, "dp4a.u32.s32 %r10, %r1, %r2, %r3;", R, dp4a (x, y, z, 0, 1))          \
    X (dp2a_lo, "dp2a.lo.s32.s32 %r10, %r1, %r2, %r3;", R, dp2a (x, y, z, 0))          \
    X (dp2a_hi, "dp2a.hi.s32.s32 %r10, %r1, %r2, %r3;", R, dp2a (x, y, z, 16))         \
    X (and32, "and.b32 %r10, %r1, %r2;", R, x & y)                                     \
    X (or32, "or.b32 %r10, %r1, 255;", R, x | 255)                                     \
    X (xor64, "xor.b64 %rd10, %rd1, %rd2;", D, a ^ b)                                  \
    X (and16, "and.b16 %h10, %h1, %h2;", H, h & i)                                     \
    X (not32, "not.b32 %r10, %r1;", R, ~x)                                             \
    X (not64, "not.b64 %rd10, %rd1;", D, ~a)                                           \
    X (cnot32, "cnot.b32 %r10, %r1;", R, x == 0)                                       \
    X (shl16, "shl.b16 %h10, %h1, %r2;", H, (uint16_t)(y > 15 ? 0 : h << y))           \
    X (shl32, "shl.b32 %r10, %r1, %r2;", R, y > 31 ? 0 : x << y)                       \
    X (shl32_5, "shl.b32 %r10, %r1, 5;", R, x << 5)                                    \
    X (shl64, "and.b32 %r9, %r2, 127; shl.b64 %rd10, %rd1, %r9;", D, (y & 127) > 63 ? 0 : a << (y & 127)) \
    X (shr_u32, "and.b32 %r9, %r2, 63; shr.u32 %r10, %r1, %r9;", R, (y & 63) > 31 ? 0 : x >> (y & 63)) \
    X (shr_s32, "shr.s32 %r10, %r1, %r2;", R, (uint32_t)(sx >> (y > 31 ? 31 : y)))     \
    X (shr_s16, "shr.s16 %h10, %h1, 3;", H, (uint16_t)(sh >> 3))                       \
    X (shr_u16, "shr.u16 %h10, %h1, %r2;", H, (uint16_t)(y > 15 ? 0 : h >> y))         \
    X (shr_u64, "shr.u64 %rd10, %rd1, %r2;", D, y > 63 ? 0 : a >> y)                   \
    X (shr_s64, "shr.s64 %rd10, %rd1, 200;", D, (uint64_t)(sa >> 63))                  \
    X (shf_l_wrap, "shf.l.wrap.b32 %r10, %r1, %r2, %r3;", R, (uint32_t)((((uint64_t)y << 32 | x) << (z & 31)) >> 32)) \
    X (shf_l_clamp, "shf.l.clamp.b32 %r10, %r1, %r2, %r3;", R, z >= 32 ? x : (uint32_t)((((uint64_t)y << 32 | x) << z) >> 32)) \
    X (shf_r_wrap, "shf.r.wrap.b32 %r10, %r1, %r2, %r3;", R, (uint32_t)(((uint64_t)y << 32 | x) >> (z & 31))) \
    X (shf_r_clamp, "shf.r.clamp.b32 %r10, %r1, %r2, %r3;", R, (uint32_t)(((uint64_t)y << 32 | x) >> (z > 32 ? 32 : z))) \
    X (prmt, "prmt.b32 %r10, %r1, %r2, %r3;", R, prmt (x, y, z))                       \
    X (prmt_f4e, "prmt.b32.f4e %r10, %r1, %r2, %r3;", R, prmt (x, y, 0x3210u + 0x1111u * (z & 3))) \
    X (prmt_b4e, "prmt.b32.b4e %r10, %r1, %r2, 1;", R, prmt (x, y, 0x6701))            \
    X (prmt_rc8, "prmt.b32.rc8 %r10, %r1, %r2, 2;", R, prmt (x, y, 0x2222))            \
    X (prmt_ecl, "prmt.b32.ecl %r10, %r1, %r2, 1;", R, prmt (x, y, 0x3211))            \
    X (prmt_ecr, "prmt.b32.ecr %r10, %r1, %r2, 1;", R, prmt (x, y, 0x1110))            \
    X (prmt_rc16, "prmt.b32.rc16 %r10, %r1, %r2, 1;", R, prmt (x, y, 0x3232))          \
    X (lop3, "lop3.b32 %r10, %r1, %r2, %r3, 0xE8;", R, (x & y) | (x & z) | (y & z))    \
    X (lop3_b, "lop3.b32 %r10, %r1, %r2, %r3, 0x1A;", R, lop3 (x, y, z, 0x1a))

#define FORMS_SELECT(X)                                                                \
    X (setp_eq_s32, "setp.eq.s32 %p10, %r1, %r2;", P, x == y)                          \
    X (setp_ne_b32, "setp.ne.b32 %p10, %r1, %r2;", P, x != y)                          \
    X (setp_lt_s32, "setp.lt.s32 %p10, %r1, %r2;", P, sx < sy)                         \
    X (setp_lt_u32, "setp.lt.u32 %p10, %r1, %r2;", P, x < y)                           \
    X (setp_lo_u32, "setp.lo.u32 %p10, %r1, %r2;", P, x < y)                           \
    X (setp_ls_u32, "setp.ls.u32 %p10, %r1, %r2;", P, x <= y)                          \
    X (setp_hi_u32, "setp.hi.u32 %p10, %r1, %r2;", P, x > y)                           \
    X (setp_hs_u32, "setp.hs.u32 %p10, %r1, %r2;", P, x >= y)                          \
    X (setp_ge_s16, "setp.ge.s16 %p10, %h1, %h2;", P, sh >= si)                        \
    X (setp_gt_u16, "setp.gt.u16 %p10, %h1, %h2;", P, h > i)                           \
    X (setp_le_s64, "setp.le.s64 %p10, %rd1, %rd2;", P, sa <= sb)                      \
    X (setp_gt_u64, "setp.gt.u64 %p10, %rd1, %rd2;", P, a > b)                         \
    X (setp_and, "setp.lt.and.s32 %p10, %r1, %r2, %p2;", P, sx < sy && q)              \
    X (setp_or_not, "setp.lt.or.s32 %p10, %r1, %r2, !%p2;", P, sx < sy || !q)          \
    X (setp_xor, "setp.lt.xor.s32 %p10, %r1, %r2, %p2;", P, (sx < sy) != q)            \
    X (setp_pair, "setp.lt.and.s32 %p9|%p10, %r1, %r2, %p2;", P, !(sx < sy) && q)      \
    X (setp_f_eq, "setp.eq.f32 %p10, %f1, %f2;", P, f == g)                            \
    X (setp_f_ne, "setp.ne.f32 %p10, %f1, %f2;", P, f < g || f > g)                    \
    X (setp_f_lt, "setp.lt.f32 %p10, %f1, %f2;", P, f < g)                             \
    X (setp_f_ge, "setp.ge.f32 %p10, %f1, %f2;", P, f >= g)                            \
    X (setp_f_equ, "setp.equ.f32 %p10, %f1, %f2;", P, !(f < g || f > g))               \
    X (setp_f_neu, "setp.neu.f32 %p10, %f1, %f2;", P, f != g)                          \
    X (setp_f_ltu, "setp.ltu.f32 %p10, %f1, %f2;", P, !(f >= g))                       \
    X (setp_f_leu, "setp.leu.f32 %p10, %f1, %f2;", P, !(f > g))                        \
    X (setp_f_gtu, "setp.gtu.f32 %p10, %f1, %f2;", P, !(f <= g))                       \
    X (setp_f_geu, "setp.geu.f32 %p10, %f1, %f2;", P, !(f < g))                        \
    X (setp_f_num, "setp.num.f32 %p10, %f1, %f2;", P, f == f && g == g)                \
    X (setp_f_nan, "setp.nan.f32 %p10, %f1, %f2;", P, f != f || g != g)                \
    X (setp_f_ftz, "setp.gt.ftz.f32 %p10, %f1, 0f00000000;", P, fz (f) > 0)            \
    X (setp_d_lt, "setp.lt.f64 %p10, %fd1, %fd2;", P, u < v)                           \
    X (setp_d_neu, "setp.neu.f64 %p10, %fd1, %fd2;", P, u != v)                        \
    X (set_u32, "set.lt.u32.s32 %r10, %r1, %r2;", R, sx < sy ? 0xffffffffu : 0)        \
    X (set_f32, "set.gt.f32.f32 %f10, %f1, %f2;", F, fbits (f > g ? 1.0f : 0.0f))      \
    X (set_and, "set.eq.and.s32.u64 %r10, %rd1, %rd2, %p2;", R, a == b && q ? 0xffffffffu : 0) \
    X (selp_b32, "selp.b32 %r10, %r1, %r2, %p2;", R, q ? x : y)                        \
    X (selp_f32_nan, "selp.f32 %f10, %f1, %f2, %p2;", B, q ? x : y)                    \
    X (selp_b64, "selp.b64 %rd10, %rd1, 5, %p2;", D, q ? a : 5)                        \
    X (selp_b16, "selp.b16 %h10, %h1, %h2, !%p2;", H, q ? i : h)                       \
    X (slct_s, "slct.u32.s32 %r10, %r1, %r2, %r3;", R, sz >= 0 ? x : y)                \
    X (slct_f, "slct.u64.f32 %rd10, %rd1, %rd2, %f3;", D, k >= 0 ? a : b)              \
    X (testp_fin, "testp.finite.f32 %p10, %f1;", P, isfinite (f) != 0)                 \
    X (testp_inf, "testp.infinite.f64 %p10, %fd1;", P, isinf (u) != 0)                 \
    X (testp_nan, "testp.notanumber.f32 %p10, %f1;", P, f != f)                        \
    X (testp_num, "testp.number.f32 %p10, %f1;", P, f == f)                            \
    X (testp_nrm, "testp.normal.f32 %p10, %f1;", P, isnormal (f) != 0)                 \
    X (testp_sub, "testp.subnormal.f64 %p10, %fd1;", P, fpclassify (u) == FP_SUBNORMAL) \
    X (pred_and, "and.pred %p10, %p1, %p2;", P, p && q)                                \
    X (pred_or, "or.pred %p10, %p1, !%p2;", P, p || !q)                                \
    X (pred_xor, "xor.pred %p10, %p1, %p2;", P, p != q)                                \
    X (pred_not, "not.pred %p10, %p2;", P, !q)                                         \
    X (pred_mov, "mov.pred %p10, %p2;", P, q)                                          \
    X (pred_one, "mov.pred %p10, 1;", P, 1)

#define FORMS_FLOAT(X)                                                                 \
    X (f_add, "add.f32 %f10, %f1, %f2;", F, fbits (f + g))                             \
    X (f_add_rz, "add.rz.f32 %f10, %f1, %f2;", F, rnd (FE_TOWARDZERO, '+', f, g, 0))   \
    X (f_add_rm, "add.rm.f32 %f10, %f1, %f2;", F, rnd (FE_DOWNWARD, '+', f, g, 0))     \
    X (f_add_rp, "add.rp.f32 %f10, %f1, %f2;", F, rnd (FE_UPWARD, '+', f, g, 0))       \
    X (f_add_ftz, "add.rn.ftz.f32 %f10, %f1, %f2;", F, fbits (fz (fz (f) + fz (g))))   \
    X (f_add_sat, "add.sat.f32 %f10, %f1, %f2;", F, fbits (sat1 (f + g)))              \
    X (f_sub, "sub.rn.f32 %f10, %f1, %f2;", F, fbits (f - g))                          \
    X (f_sub_rm, "sub.rm.f32 %f10, %f1, %f2;", F, rnd (FE_DOWNWARD, '-', f, g, 0))     \
    X (f_mul, "mul.f32 %f10, %f1, %f2;", F, fbits (f * g))                             \
    X (f_mul_rp, "mul.rp.f32 %f10, %f1, %f2;", F, rnd (FE_UPWARD, '*', f, g, 0))       \
    X (f_mul_ftz, "mul.ftz.f32 %f10, %f1, %f2;", F, fbits (fz (fz (f) * fz (g))))      \
    X (f_mul_sat, "mul.sat.f32 %f10, %f1, %f2;", F, fbits (sat1 (f * g)))              \
    X (f_fma, "fma.rn.f32 %f10, %f1, %f2, %f3;", F, fbits (fmaf (f, g, k)))            \
    X (f_fma_rz, "fma.rz.f32 %f10, %f1, %f2, %f3;", F, rnd (FE_TOWARDZERO, 'f', f, g, k)) \
    X (f_fma_rm, "fma.rm.f32 %f10, %f1, %f2, %f3;", F, rnd (FE_DOWNWARD, 'f', f, g, k)) \
    X (f_fma_rp, "fma.rp.f32 %f10, %f1, %f2, %f3;", F, rnd (FE_UPWARD, 'f', f, g, k))  \
    X (f_fma_sat, "fma.rn.sat.f32 %f10, %f1, %f2, %f3;", F, fbits (sat1 (fmaf (f, g, k)))) \
    X (f_mad, "mad.rn.f32 %f10, %f1, %f2, %f3;", F, fbits (fmaf (f, g, k)))            \
    X (f_div, "div.rn.f32 %f10, %f1, %f2;", F, fbits (f / g))                          \
    X (f_div_rz, "div.rz.f32 %f10, %f1, %f2;", F, rnd (FE_TOWARDZERO, '/', f, g, 0))   \
    X (f_div_rm, "div.rm.f32 %f10, %f1, %f2;", F, rnd (FE_DOWNWARD, '/', f, g, 0))     \
    X (f_div_approx, "div.approx.f32 %f10, %f1, %f2;", F, fbits ((float)((double)f / (double)g))) \
    X (f_div_full, "div.full.f32 %f10, %f1, %f2;", F, fbits ((float)((double)f / (double)g))) \
    X (f_rcp, "rcp.rn.f32 %f10, %f1;", F, fbits (1.0f / f))                            \
    X (f_rcp_rp, "rcp.rp.f32 %f10, %f1;", F, rnd (FE_UPWARD, '/', 1.0f, f, 0))         \
    X (f_rcp_approx, "rcp.approx.ftz.f32 %f10, %f1;", F, fbits (fz ((float)(1.0 / (double)fz (f))))) \
    X (f_sqrt, "sqrt.rn.f32 %f10, %f1;", F, fbits (sqrtf (f)))                         \
    X (f_sqrt_rm, "sqrt.rm.f32 %f10, %f1;", F, rnd (FE_DOWNWARD, 's', f, 0, 0))        \
    X (f_sqrt_approx, "sqrt.approx.f32 %f10, %f1;", F, fbits ((float)sqrt ((double)f))) \
    X (f_rsqrt, "rsqrt.approx.f32 %f10, %f1;", F, fbits ((float)(1.0 / sqrt ((double)f)))) \
    X (f_ex2, "ex2.approx.f32 %f10, %f1;", F, fbits ((float)exp2 ((double)f)))         \
    X (f_ex2_ftz, "ex2.approx.ftz.f32 %f10, %f1;", F, fbits (fz ((float)exp2 ((double)f)))) \
    X (f_lg2, "lg2.approx.f32 %f10, %f1;", F, fbits ((float)log2 ((double)f)))         \
    X (f_sin, "sin.approx.f32 %f10, %f1;", F, fbits ((float)sin ((double)f)))          \
    X (f_cos, "cos.approx.f32 %f10, %f1;", F, fbits ((float)cos ((double)f)))          \
    X (f_tanh, "tanh.approx.f32 %f10, %f1;", F, fbits ((float)tanh ((double)f)))       \
    X (f_min, "min.f32 %f10, %f1, %f2;", F, fbits (minf (f, g)))                       \
    X (f_max, "max.f32 %f10, %f1, %f2;", F, fbits (maxf (f, g)))                       \
    X (f_min_nan, "min.NaN.f32 %f10, %f1, %f2;", F, fbits (f != f || g != g ? NAN : minf (f, g))) \
    X (f_max_nan, "max.NaN.f32 %f10, %f1, %f2;", F, fbits (f != f || g != g ? NAN : maxf (f, g))) \
    X (f_max_ftz, "max.ftz.f32 %f10, %f1, 0f00000000;", F, fbits (maxf (fz (f), 0.0f))) \
    X (f_neg, "neg.f32 %f10, %f1;", B, x ^ 0x80000000u)                                \
    X (f_abs, "abs.f32 %f10, %f1;", B, x & 0x7fffffffu)                                \
    X (f_copysign, "copysign.f32 %f10, %f1, %f2;", B, (y & 0x7fffffffu) | (x & 0x80000000u)) \
    X (d_add, "add.f64 %fd10, %fd1, %fd2;", G, dbits (u + v))                          \
    X (d_add_rz, "add.rz.f64 %fd10, %fd1, %fd2;", G, drnd (FE_TOWARDZERO, '+', u, v, 0)) \
    X (d_sub, "sub.rn.f64 %fd10, %fd1, %fd2;", G, dbits (u - v))                       \
    X (d_mul, "mul.rn.f64 %fd10, %fd1, %fd2;", G, dbits (u * v))                       \
    X (d_mul_rm, "mul.rm.f64 %fd10, %fd1, %fd2;", G, drnd (FE_DOWNWARD, '*', u, v, 0)) \
    X (d_fma, "fma.rn.f64 %fd10, %fd1, %fd2, %fd3;", G, dbits (fma (u, v, w)))         \
    X (d_fma_rp, "fma.rp.f64 %fd10, %fd1, %fd2, %fd3;", G, drnd (FE_UPWARD, 'f', u, v, w)) \
    X (d_div, "div.rn.f64 %fd10, %fd1, %fd2;", G, dbits (u / v))                       \
    X (d_rcp, "rcp.rn.f64 %fd10, %fd1;", G, dbits (1.0 / u))                           \
    X (d_sqrt, "sqrt.rn.f64 %fd10, %fd1;", G, dbits (sqrt (u)))                        \
    X (d_rsqrt, "rsqrt.approx.f64 %fd10, %fd1;", G, dbits (1.0 / sqrt (u)))            \
    X (d_min, "min.f64 %fd10, %fd1, %fd2;", G, dbits (mind (u, v)))                    \
    X (d_max, "max.f64 %fd10, %fd1, %fd2;", G, dbits (maxd (u, v)))                    \
    X (d_neg, "neg.f64 %fd10, %fd1;", D2, a ^ 1ull << 63)                              \
    X (d_abs, "abs.f64 %fd10, %fd1;", D2, a & ~(1ull << 63))                           \
    X (d_copysign, "copysign.f64 %fd10, %fd1, %fd2;", D2, (b & ~(1ull << 63)) | (a & 1ull << 63))

#define FORMS_MOVE(X)                                                                  \
    X (mov_b32, "mov.b32 %r10, %r1;", R, x)                                            \
    X (mov_f32_lit, "mov.f32 %f10, 0f3FB8AA3B;", F, 0x3fb8aa3b)                        \
    X (mov_f64_lit, "mov.f64 %fd10, 0d3FF8000000000000;", G, 0x3ff8000000000000ull)    \
    X (mov_u64_neg, "mov.u64 %rd10, -1;", D, ~0ull)                                    \
    X (mov_pack, "mov.b64 %rd10, {%r1, %r2};", D, (uint64_t)y << 32 | x)               \
    X (mov_pack16, "mov.b32 %r10, {%h1, %h2};", R, (uint32_t)i << 16 | h)              \
    X (mov_pack4, "mov.b64 %rd10, {%h1, %h2, %h3, %h1};", D, (uint64_t)h << 48 | (uint64_t)j << 32 | (uint64_t)i << 16 | h) \
    X (mov_unpack, "mov.b64 {%r9, %r10}, %rd1;", R, (uint32_t)(a >> 32))               \
    X (mov_unpack_sink, "mov.b64 {%r10, _}, %rd1;", R, x)                              \
    X (mov_unpack16, "mov.b32 {%h9, %h10}, %r1;", H, (uint16_t)(x >> 16))              \
    X (cvt_u32_u16, "cvt.u32.u16 %r10, %h1;", R, h)                                    \
    X (cvt_s32_s16, "cvt.s32.s16 %r10, %h1;", R, (uint32_t)(int32_t)sh)                \
    X (cvt_u16_u32, "cvt.u16.u32 %h10, %r1;", H, (uint16_t)x)                          \
    X (cvt_s32_s8, "cvt.s32.s8 %r10, %r1;", R, (uint32_t)(int32_t)(int8_t)(uint8_t)x)  \
    X (cvt_u8_sat, "cvt.sat.u8.s32 %r10, %r1;", R, sx < 0 ? 0 : sx > 255 ? 255 : x)    \
    X (cvt_s8_sat, "cvt.sat.s8.s32 %r10, %r1;", R, (uint32_t)(sx < -128 ? -128 : sx > 127 ? 127 : sx)) \
    X (cvt_u64_u32, "cvt.u64.u32 %rd10, %r1;", D, x)                                   \
    X (cvt_s64_s32, "cvt.s64.s32 %rd10, %r1;", D, (uint64_t)(int64_t)sx)               \
    X (cvt_u32_u64, "cvt.u32.u64 %r10, %rd1;", R, (uint32_t)a)                         \
    X (cvt_sat_u32_s64, "cvt.sat.u32.s64 %r10, %rd1;", R, sa < 0 ? 0 : sa > 0xffffffffll ? 0xffffffffu : (uint32_t)a) \
    X (cvt_s64_s16, "cvt.s64.s16 %rd10, %h1;", D, (uint64_t)(int64_t)sh)               \
    X (cvt_f32_s32, "cvt.rn.f32.s32 %f10, %r1;", F, fbits ((float)sx))                 \
    X (cvt_f32_s32_rz, "cvt.rz.f32.s32 %f10, %r1;", F, irnd (FE_TOWARDZERO, sx, 0))    \
    X (cvt_f32_s32_rp, "cvt.rp.f32.s32 %f10, %r1;", F, irnd (FE_UPWARD, sx, 0))        \
    X (cvt_f32_u32, "cvt.rn.f32.u32 %f10, %r1;", F, fbits ((float)x))                  \
    X (cvt_f32_u32_rm, "cvt.rm.f32.u32 %f10, %r1;", F, irnd (FE_DOWNWARD, (int64_t)x, 0)) \
    X (cvt_f32_s64, "cvt.rn.f32.s64 %f10, %rd1;", F, fbits ((float)sa))                \
    X (cvt_f32_u64, "cvt.rn.f32.u64 %f10, %rd1;", F, fbits ((float)a))                 \
    X (cvt_f32_u16, "cvt.rn.f32.u16 %f10, %h1;", F, fbits ((float)h))                  \
    X (cvt_f64_s32, "cvt.rn.f64.s32 %fd10, %r1;", G, dbits ((double)sx))               \
    X (cvt_f64_u32, "cvt.rn.f64.u32 %fd10, %r1;", G, dbits ((double)x))                \
    X (cvt_f64_s64, "cvt.rn.f64.s64 %fd10, %rd1;", G, dbits ((double)sa))              \
    X (cvt_f64_u64, "cvt.rn.f64.u64 %fd10, %rd1;", G, dbits ((double)a))               \
    X (cvt_f64_f32, "cvt.f64.f32 %fd10, %f1;", G, dbits ((double)f))                   \
    X (cvt_f32_f64, "cvt.rn.f32.f64 %f10, %fd1;", F, fbits ((float)u))                 \
    X (cvt_f32_f64_rz, "cvt.rz.f32.f64 %f10, %fd1;", F, irnd (FE_TOWARDZERO, 0, u))    \
    X (cvt_f32_f64_rp, "cvt.rp.f32.f64 %f10, %fd1;", F, irnd (FE_UPWARD, 0, u))        \
    X (cvt_s32_f32_rzi, "cvt.rzi.s32.f32 %r10, %f1;", R, (uint32_t)f2i (trunc ((double)f), -2147483648.0, 2147483647.0, 0)) \
    X (cvt_s32_f32_rni, "cvt.rni.s32.f32 %r10, %f1;", R, (uint32_t)f2i (rint ((double)f), -2147483648.0, 2147483647.0, 0)) \
    X (cvt_s32_f32_rmi, "cvt.rmi.s32.f32 %r10, %f1;", R, (uint32_t)f2i (floor ((double)f), -2147483648.0, 2147483647.0, 0)) \
    X (cvt_s32_f32_rpi, "cvt.rpi.s32.f32 %r10, %f1;", R, (uint32_t)f2i (ceil ((double)f), -2147483648.0, 2147483647.0, 0)) \
    X (cvt_u32_f32_rzi, "cvt.rzi.u32.f32 %r10, %f1;", R, (uint32_t)f2i (trunc ((double)f), 0, 4294967295.0, 0)) \
    X (cvt_u32_f32_rni, "cvt.rni.u32.f32 %r10, %f1;", R, (uint32_t)f2i (rint ((double)f), 0, 4294967295.0, 0)) \
    X (cvt_u16_f32, "cvt.rzi.u16.f32 %h10, %f1;", H, (uint16_t)f2i (trunc ((double)f), 0, 65535.0, 0)) \
    X (cvt_s16_f32, "cvt.rni.s16.f32 %h10, %f1;", H, (uint16_t)f2i (rint ((double)f), -32768.0, 32767.0, 0)) \
    X (cvt_s64_f32, "cvt.rzi.s64.f32 %rd10, %f1;", D, (uint64_t)f2l (trunc ((double)f))) \
    X (cvt_s64_f64, "cvt.rni.s64.f64 %rd10, %fd1;", D, (uint64_t)f2l (rint (u)))       \
    X (cvt_s32_f64, "cvt.rzi.s32.f64 %r10, %fd1;", R, (uint32_t)f2i (trunc (u), -2147483648.0, 2147483647.0, INT32_MIN)) \
    X (cvt_rni_f32, "cvt.rni.f32.f32 %f10, %f1;", F, fbits (rintf (f)))                \
    X (cvt_rzi_f32, "cvt.rzi.f32.f32 %f10, %f1;", F, fbits (truncf (f)))               \
    X (cvt_rmi_f32, "cvt.rmi.f32.f32 %f10, %f1;", F, fbits (floorf (f)))               \
    X (cvt_rpi_f64, "cvt.rpi.f64.f64 %fd10, %fd1;", G, dbits (ceil (u)))               \
    X (cvt_sat_f32, "cvt.sat.f32.f32 %f10, %f1;", F, fbits (sat1 (f)))                 \
    X (cvt_ftz_f32, "cvt.ftz.f32.f32 %f10, %f1;", F, fbits (fz (f)))                   \
    X (cvt_f16, "cvt.rn.f16.f32 %h10, %f1;", H, half_of (f, FE_TONEAREST))             \
    X (cvt_f16_rz, "cvt.rz.f16.f32 %h10, %f1;", H, half_of (f, FE_TOWARDZERO))         \
    X (cvt_f32_f16, "cvt.f32.f16 %f10, %h1;", F, fbits (of_half (h)))                  \
    X (cvta_global, "cvta.to.global.u64 %rd10, %rd1;", D, a)

#endif // KC_TEST_VGPU_FORMS_H
