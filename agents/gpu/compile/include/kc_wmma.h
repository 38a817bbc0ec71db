// kc_wmma.h: warp matrices under nvcuda::wmma's names: half and bfloat16 16x16x16 (half also 32x8x16 and 8x32x16),
// TF32 16x16x8; sums in float, of half also in half
#pragma once

#include "kc_half.h"

namespace nvcuda {
namespace wmma {

struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;
enum layout_t { mem_row_major, mem_col_major };
namespace precision {
struct tf32;
}

// A fragment as CUDA shows it: x[num_elements], and the same bits as 32-bit registers for the instructions.
template <class Use, int M, int N, int K, class T, class Layout = void> struct fragment;
#define KC_FRAGMENT(use, M, N, K, T, L, store, n)                                              \
    template <> struct fragment<use, M, N, K, T, L> {                                          \
        typedef store element_type;                                                            \
        enum { num_elements = n, num_storage_elements = n };                                   \
        __align__ (4) store x[n];                                                              \
        KC_HMEM unsigned &kc_r (int i) { return ((unsigned *)x)[i]; }       \
        KC_HMEM unsigned kc_r (int i) const { return ((const unsigned *)x)[i]; } \
    };
#define KC_FRAGMENTS(M, N, K, T, store, na, nb)                                                \
    KC_FRAGMENT (matrix_a, M, N, K, T, row_major, store, na) KC_FRAGMENT (matrix_a, M, N, K, T, col_major, store, na) \
    KC_FRAGMENT (matrix_b, M, N, K, T, row_major, store, nb) KC_FRAGMENT (matrix_b, M, N, K, T, col_major, store, nb)
KC_FRAGMENTS (16, 16, 16, __half, __half, 16, 16)
KC_FRAGMENTS (32, 8, 16, __half, __half, 16, 16)
KC_FRAGMENTS (8, 32, 16, __half, __half, 16, 16)
KC_FRAGMENTS (16, 16, 16, __nv_bfloat16, __nv_bfloat16, 8, 8)
KC_FRAGMENTS (16, 16, 8, precision::tf32, float, 4, 4)
KC_FRAGMENT (accumulator, 16, 16, 16, float, void, float, 8)
KC_FRAGMENT (accumulator, 32, 8, 16, float, void, float, 8)
KC_FRAGMENT (accumulator, 8, 32, 16, float, void, float, 8)
KC_FRAGMENT (accumulator, 16, 16, 8, float, void, float, 8)
KC_FRAGMENT (accumulator, 16, 16, 16, __half, void, __half, 8)
KC_FRAGMENT (accumulator, 32, 8, 16, __half, void, __half, 8)
KC_FRAGMENT (accumulator, 8, 32, 16, __half, void, __half, 8)

template <class Use, int M, int N, int K, class T, class L, class V> KC_FN void fill_fragment (fragment<Use, M, N, K, T, L> &f, const V &v)
{
#pragma unroll
    for (int i = 0; i < (int)fragment<Use, M, N, K, T, L>::num_elements; i++)
        f.x[i] = v;
}
KC_FN float __float_to_tf32 (float v) { unsigned r; asm ("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(v)); return __uint_as_float (r); }

// ---- loads ----
#define KC_WMMA_LOAD(use, u, M, N, K, T, P, type, L, l, list, n, ...)                            \
    KC_FN void load_matrix_sync (fragment<use, M, N, K, T, L> &f, const P *p, unsigned ld)     \
    {                                                                                          \
        asm volatile ("wmma.load." u ".sync.aligned." l ".m" #M "n" #N "k" #K "." type " " list ", [%" #n "], %" KC_NEXT_##n ";" : __VA_ARGS__ : "l"(p), "r"(ld) : "memory"); \
    }
#define KC_NEXT_4 "5"
#define KC_NEXT_8 "9"
#define KC_R4 "{%0, %1, %2, %3}"
#define KC_R8 "{%0, %1, %2, %3, %4, %5, %6, %7}"
#define KC_OUT4(f) "=r"(f.kc_r (0)), "=r"(f.kc_r (1)), "=r"(f.kc_r (2)), "=r"(f.kc_r (3))
#define KC_OUT8(f) KC_OUT4 (f), "=r"(f.kc_r (4)), "=r"(f.kc_r (5)), "=r"(f.kc_r (6)), "=r"(f.kc_r (7))
#define KC_IN4(f) "r"(f.kc_r (0)), "r"(f.kc_r (1)), "r"(f.kc_r (2)), "r"(f.kc_r (3))
#define KC_IN8(f) KC_IN4 (f), "r"(f.kc_r (4)), "r"(f.kc_r (5)), "r"(f.kc_r (6)), "r"(f.kc_r (7))
#define KC_FIN4(f) "f"(f.x[0]), "f"(f.x[1]), "f"(f.x[2]), "f"(f.x[3])
#define KC_FIN8(f) KC_FIN4 (f), "f"(f.x[4]), "f"(f.x[5]), "f"(f.x[6]), "f"(f.x[7])
#define KC_FOUT8(f) "=f"(f.x[0]), "=f"(f.x[1]), "=f"(f.x[2]), "=f"(f.x[3]), "=f"(f.x[4]), "=f"(f.x[5]), "=f"(f.x[6]), "=f"(f.x[7])
KC_WMMA_LOAD (matrix_a, "a", 16, 16, 16, __half, __half, "f16", row_major, "row", KC_R8, 8, KC_OUT8 (f))
KC_WMMA_LOAD (matrix_a, "a", 16, 16, 16, __half, __half, "f16", col_major, "col", KC_R8, 8, KC_OUT8 (f))
KC_WMMA_LOAD (matrix_b, "b", 16, 16, 16, __half, __half, "f16", row_major, "row", KC_R8, 8, KC_OUT8 (f))
KC_WMMA_LOAD (matrix_b, "b", 16, 16, 16, __half, __half, "f16", col_major, "col", KC_R8, 8, KC_OUT8 (f))
KC_WMMA_LOAD (matrix_a, "a", 32, 8, 16, __half, __half, "f16", row_major, "row", KC_R8, 8, KC_OUT8 (f))
KC_WMMA_LOAD (matrix_a, "a", 32, 8, 16, __half, __half, "f16", col_major, "col", KC_R8, 8, KC_OUT8 (f))
KC_WMMA_LOAD (matrix_b, "b", 32, 8, 16, __half, __half, "f16", row_major, "row", KC_R8, 8, KC_OUT8 (f))
KC_WMMA_LOAD (matrix_b, "b", 32, 8, 16, __half, __half, "f16", col_major, "col", KC_R8, 8, KC_OUT8 (f))
KC_WMMA_LOAD (matrix_a, "a", 8, 32, 16, __half, __half, "f16", row_major, "row", KC_R8, 8, KC_OUT8 (f))
KC_WMMA_LOAD (matrix_a, "a", 8, 32, 16, __half, __half, "f16", col_major, "col", KC_R8, 8, KC_OUT8 (f))
KC_WMMA_LOAD (matrix_b, "b", 8, 32, 16, __half, __half, "f16", row_major, "row", KC_R8, 8, KC_OUT8 (f))
KC_WMMA_LOAD (matrix_b, "b", 8, 32, 16, __half, __half, "f16", col_major, "col", KC_R8, 8, KC_OUT8 (f))
KC_WMMA_LOAD (matrix_a, "a", 16, 16, 16, __nv_bfloat16, __nv_bfloat16, "bf16", row_major, "row", KC_R4, 4, KC_OUT4 (f))
KC_WMMA_LOAD (matrix_a, "a", 16, 16, 16, __nv_bfloat16, __nv_bfloat16, "bf16", col_major, "col", KC_R4, 4, KC_OUT4 (f))
KC_WMMA_LOAD (matrix_b, "b", 16, 16, 16, __nv_bfloat16, __nv_bfloat16, "bf16", row_major, "row", KC_R4, 4, KC_OUT4 (f))
KC_WMMA_LOAD (matrix_b, "b", 16, 16, 16, __nv_bfloat16, __nv_bfloat16, "bf16", col_major, "col", KC_R4, 4, KC_OUT4 (f))
KC_WMMA_LOAD (matrix_a, "a", 16, 16, 8, precision::tf32, float, "tf32", row_major, "row", KC_R4, 4, KC_OUT4 (f))
KC_WMMA_LOAD (matrix_a, "a", 16, 16, 8, precision::tf32, float, "tf32", col_major, "col", KC_R4, 4, KC_OUT4 (f))
KC_WMMA_LOAD (matrix_b, "b", 16, 16, 8, precision::tf32, float, "tf32", row_major, "row", KC_R4, 4, KC_OUT4 (f))
KC_WMMA_LOAD (matrix_b, "b", 16, 16, 8, precision::tf32, float, "tf32", col_major, "col", KC_R4, 4, KC_OUT4 (f))

// ---- accumulators ----
#define KC_WMMA_ACC(M, N, K)                                                                   \
    KC_FN void load_matrix_sync (fragment<accumulator, M, N, K, float> &f, const float *p, unsigned ld, layout_t layout) \
    {                                                                                          \
        if (layout == mem_row_major)                                                           \
            asm volatile ("wmma.load.c.sync.aligned.row.m" #M "n" #N "k" #K ".f32 " KC_R8 ", [%8], %9;" : KC_FOUT8 (f) : "l"(p), "r"(ld) : "memory"); \
        else                                                                                   \
            asm volatile ("wmma.load.c.sync.aligned.col.m" #M "n" #N "k" #K ".f32 " KC_R8 ", [%8], %9;" : KC_FOUT8 (f) : "l"(p), "r"(ld) : "memory"); \
    }                                                                                          \
    KC_FN void store_matrix_sync (float *p, const fragment<accumulator, M, N, K, float> &f, unsigned ld, layout_t layout) \
    {                                                                                          \
        if (layout == mem_row_major)                                                           \
            asm volatile ("wmma.store.d.sync.aligned.row.m" #M "n" #N "k" #K ".f32 [%8], " KC_R8 ", %9;" ::KC_FIN8 (f), "l"(p), "r"(ld) : "memory"); \
        else                                                                                   \
            asm volatile ("wmma.store.d.sync.aligned.col.m" #M "n" #N "k" #K ".f32 [%8], " KC_R8 ", %9;" ::KC_FIN8 (f), "l"(p), "r"(ld) : "memory"); \
    }
#define KC_WMMA_ACC_HALF(M, N, K)                                                              \
    KC_FN void load_matrix_sync (fragment<accumulator, M, N, K, __half> &f, const __half *p, unsigned ld, layout_t layout) \
    {                                                                                          \
        if (layout == mem_row_major)                                                           \
            asm volatile ("wmma.load.c.sync.aligned.row.m" #M "n" #N "k" #K ".f16 " KC_R4 ", [%4], %5;" : KC_OUT4 (f) : "l"(p), "r"(ld) : "memory"); \
        else                                                                                   \
            asm volatile ("wmma.load.c.sync.aligned.col.m" #M "n" #N "k" #K ".f16 " KC_R4 ", [%4], %5;" : KC_OUT4 (f) : "l"(p), "r"(ld) : "memory"); \
    }                                                                                          \
    KC_FN void store_matrix_sync (__half *p, const fragment<accumulator, M, N, K, __half> &f, unsigned ld, layout_t layout) \
    {                                                                                          \
        if (layout == mem_row_major)                                                           \
            asm volatile ("wmma.store.d.sync.aligned.row.m" #M "n" #N "k" #K ".f16 [%4], " KC_R4 ", %5;" ::KC_IN4 (f), "l"(p), "r"(ld) : "memory"); \
        else                                                                                   \
            asm volatile ("wmma.store.d.sync.aligned.col.m" #M "n" #N "k" #K ".f16 [%4], " KC_R4 ", %5;" ::KC_IN4 (f), "l"(p), "r"(ld) : "memory"); \
    }
KC_WMMA_ACC (16, 16, 16)
KC_WMMA_ACC (32, 8, 16)
KC_WMMA_ACC (8, 32, 16)
KC_WMMA_ACC (16, 16, 8)
KC_WMMA_ACC_HALF (16, 16, 16)
KC_WMMA_ACC_HALF (32, 8, 16)
KC_WMMA_ACC_HALF (8, 32, 16)

// ---- d = a b + c ----
KC_FN void mma_sync (fragment<accumulator, 16, 16, 16, float> &d, const fragment<matrix_a, 16, 16, 16, __half, row_major> &a, const fragment<matrix_b, 16, 16, 16, __half, row_major> &b, const fragment<accumulator, 16, 16, 16, float> &c)
{
    asm volatile ("wmma.mma.sync.aligned.row.row.m16n16k16.f32.f32 {%0, %1, %2, %3, %4, %5, %6, %7},\n{%8, %9, %10, %11, %12, %13, %14, %15},\n{%16, %17, %18, %19, %20, %21, %22, %23},\n{%24, %25, %26, %27, %28, %29, %30, %31};"
                  : KC_FOUT8 (d) : KC_IN8 (a), KC_IN8 (b), KC_FIN8 (c));
}
KC_FN void mma_sync (fragment<accumulator, 16, 16, 16, __half> &d, const fragment<matrix_a, 16, 16, 16, __half, row_major> &a, const fragment<matrix_b, 16, 16, 16, __half, row_major> &b, const fragment<accumulator, 16, 16, 16, __half> &c)
{
    asm volatile ("wmma.mma.sync.aligned.row.row.m16n16k16.f16.f16 {%0, %1, %2, %3},\n{%4, %5, %6, %7, %8, %9, %10, %11},\n{%12, %13, %14, %15, %16, %17, %18, %19},\n{%20, %21, %22, %23};"
                  : KC_OUT4 (d) : KC_IN8 (a), KC_IN8 (b), KC_IN4 (c));
}
KC_FN void mma_sync (fragment<accumulator, 16, 16, 16, float> &d, const fragment<matrix_a, 16, 16, 16, __half, row_major> &a, const fragment<matrix_b, 16, 16, 16, __half, col_major> &b, const fragment<accumulator, 16, 16, 16, float> &c)
{
    asm volatile ("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%0, %1, %2, %3, %4, %5, %6, %7},\n{%8, %9, %10, %11, %12, %13, %14, %15},\n{%16, %17, %18, %19, %20, %21, %22, %23},\n{%24, %25, %26, %27, %28, %29, %30, %31};"
                  : KC_FOUT8 (d) : KC_IN8 (a), KC_IN8 (b), KC_FIN8 (c));
}
KC_FN void mma_sync (fragment<accumulator, 16, 16, 16, __half> &d, const fragment<matrix_a, 16, 16, 16, __half, row_major> &a, const fragment<matrix_b, 16, 16, 16, __half, col_major> &b, const fragment<accumulator, 16, 16, 16, __half> &c)
{
    asm volatile ("wmma.mma.sync.aligned.row.col.m16n16k16.f16.f16 {%0, %1, %2, %3},\n{%4, %5, %6, %7, %8, %9, %10, %11},\n{%12, %13, %14, %15, %16, %17, %18, %19},\n{%20, %21, %22, %23};"
                  : KC_OUT4 (d) : KC_IN8 (a), KC_IN8 (b), KC_IN4 (c));
}
KC_FN void mma_sync (fragment<accumulator, 16, 16, 16, float> &d, const fragment<matrix_a, 16, 16, 16, __half, col_major> &a, const fragment<matrix_b, 16, 16, 16, __half, row_major> &b, const fragment<accumulator, 16, 16, 16, float> &c)
{
    asm volatile ("wmma.mma.sync.aligned.col.row.m16n16k16.f32.f32 {%0, %1, %2, %3, %4, %5, %6, %7},\n{%8, %9, %10, %11, %12, %13, %14, %15},\n{%16, %17, %18, %19, %20, %21, %22, %23},\n{%24, %25, %26, %27, %28, %29, %30, %31};"
                  : KC_FOUT8 (d) : KC_IN8 (a), KC_IN8 (b), KC_FIN8 (c));
}
KC_FN void mma_sync (fragment<accumulator, 16, 16, 16, __half> &d, const fragment<matrix_a, 16, 16, 16, __half, col_major> &a, const fragment<matrix_b, 16, 16, 16, __half, row_major> &b, const fragment<accumulator, 16, 16, 16, __half> &c)
{
    asm volatile ("wmma.mma.sync.aligned.col.row.m16n16k16.f16.f16 {%0, %1, %2, %3},\n{%4, %5, %6, %7, %8, %9, %10, %11},\n{%12, %13, %14, %15, %16, %17, %18, %19},\n{%20, %21, %22, %23};"
                  : KC_OUT4 (d) : KC_IN8 (a), KC_IN8 (b), KC_IN4 (c));
}
KC_FN void mma_sync (fragment<accumulator, 16, 16, 16, float> &d, const fragment<matrix_a, 16, 16, 16, __half, col_major> &a, const fragment<matrix_b, 16, 16, 16, __half, col_major> &b, const fragment<accumulator, 16, 16, 16, float> &c)
{
    asm volatile ("wmma.mma.sync.aligned.col.col.m16n16k16.f32.f32 {%0, %1, %2, %3, %4, %5, %6, %7},\n{%8, %9, %10, %11, %12, %13, %14, %15},\n{%16, %17, %18, %19, %20, %21, %22, %23},\n{%24, %25, %26, %27, %28, %29, %30, %31};"
                  : KC_FOUT8 (d) : KC_IN8 (a), KC_IN8 (b), KC_FIN8 (c));
}
KC_FN void mma_sync (fragment<accumulator, 16, 16, 16, __half> &d, const fragment<matrix_a, 16, 16, 16, __half, col_major> &a, const fragment<matrix_b, 16, 16, 16, __half, col_major> &b, const fragment<accumulator, 16, 16, 16, __half> &c)
{
    asm volatile ("wmma.mma.sync.aligned.col.col.m16n16k16.f16.f16 {%0, %1, %2, %3},\n{%4, %5, %6, %7, %8, %9, %10, %11},\n{%12, %13, %14, %15, %16, %17, %18, %19},\n{%20, %21, %22, %23};"
                  : KC_OUT4 (d) : KC_IN8 (a), KC_IN8 (b), KC_IN4 (c));
}
KC_FN void mma_sync (fragment<accumulator, 32, 8, 16, float> &d, const fragment<matrix_a, 32, 8, 16, __half, row_major> &a, const fragment<matrix_b, 32, 8, 16, __half, row_major> &b, const fragment<accumulator, 32, 8, 16, float> &c)
{
    asm volatile ("wmma.mma.sync.aligned.row.row.m32n8k16.f32.f32 {%0, %1, %2, %3, %4, %5, %6, %7},\n{%8, %9, %10, %11, %12, %13, %14, %15},\n{%16, %17, %18, %19, %20, %21, %22, %23},\n{%24, %25, %26, %27, %28, %29, %30, %31};"
                  : KC_FOUT8 (d) : KC_IN8 (a), KC_IN8 (b), KC_FIN8 (c));
}
KC_FN void mma_sync (fragment<accumulator, 32, 8, 16, __half> &d, const fragment<matrix_a, 32, 8, 16, __half, row_major> &a, const fragment<matrix_b, 32, 8, 16, __half, row_major> &b, const fragment<accumulator, 32, 8, 16, __half> &c)
{
    asm volatile ("wmma.mma.sync.aligned.row.row.m32n8k16.f16.f16 {%0, %1, %2, %3},\n{%4, %5, %6, %7, %8, %9, %10, %11},\n{%12, %13, %14, %15, %16, %17, %18, %19},\n{%20, %21, %22, %23};"
                  : KC_OUT4 (d) : KC_IN8 (a), KC_IN8 (b), KC_IN4 (c));
}
KC_FN void mma_sync (fragment<accumulator, 32, 8, 16, float> &d, const fragment<matrix_a, 32, 8, 16, __half, row_major> &a, const fragment<matrix_b, 32, 8, 16, __half, col_major> &b, const fragment<accumulator, 32, 8, 16, float> &c)
{
    asm volatile ("wmma.mma.sync.aligned.row.col.m32n8k16.f32.f32 {%0, %1, %2, %3, %4, %5, %6, %7},\n{%8, %9, %10, %11, %12, %13, %14, %15},\n{%16, %17, %18, %19, %20, %21, %22, %23},\n{%24, %25, %26, %27, %28, %29, %30, %31};"
                  : KC_FOUT8 (d) : KC_IN8 (a), KC_IN8 (b), KC_FIN8 (c));
}
KC_FN void mma_sync (fragment<accumulator, 32, 8, 16, __half> &d, const fragment<matrix_a, 32, 8, 16, __half, row_major> &a, const fragment<matrix_b, 32, 8, 16, __half, col_major> &b, const fragment<accumulator, 32, 8, 16, __half> &c)
{
    asm volatile ("wmma.mma.sync.aligned.row.col.m32n8k16.f16.f16 {%0, %1, %2, %3},\n{%4, %5, %6, %7, %8, %9, %10, %11},\n{%12, %13, %14, %15, %16, %17, %18, %19},\n{%20, %21, %22, %23};"
                  : KC_OUT4 (d) : KC_IN8 (a), KC_IN8 (b), KC_IN4 (c));
}
KC_FN void mma_sync (fragment<accumulator, 32, 8, 16, float> &d, const fragment<matrix_a, 32, 8, 16, __half, col_major> &a, const fragment<matrix_b, 32, 8, 16, __half, row_major> &b, const fragment<accumulator, 32, 8, 16, float> &c)
{
    asm volatile ("wmma.mma.sync.aligned.col.row.m32n8k16.f32.f32 {%0, %1, %2, %3, %4, %5, %6, %7},\n{%8, %9, %10, %11, %12, %13, %14, %15},\n{%16, %17, %18, %19, %20, %21, %22, %23},\n{%24, %25, %26, %27, %28, %29, %30, %31};"
                  : KC_FOUT8 (d) : KC_IN8 (a), KC_IN8 (b), KC_FIN8 (c));
}
KC_FN void mma_sync (fragment<accumulator, 32, 8, 16, __half> &d, const fragment<matrix_a, 32, 8, 16, __half, col_major> &a, const fragment<matrix_b, 32, 8, 16, __half, row_major> &b, const fragment<accumulator, 32, 8, 16, __half> &c)
{
    asm volatile ("wmma.mma.sync.aligned.col.row.m32n8k16.f16.f16 {%0, %1, %2, %3},\n{%4, %5, %6, %7, %8, %9, %10, %11},\n{%12, %13, %14, %15, %16, %17, %18, %19},\n{%20, %21, %22, %23};"
                  : KC_OUT4 (d) : KC_IN8 (a), KC_IN8 (b), KC_IN4 (c));
}
KC_FN void mma_sync (fragment<accumulator, 32, 8, 16, float> &d, const fragment<matrix_a, 32, 8, 16, __half, col_major> &a, const fragment<matrix_b, 32, 8, 16, __half, col_major> &b, const fragment<accumulator, 32, 8, 16, float> &c)
{
    asm volatile ("wmma.mma.sync.aligned.col.col.m32n8k16.f32.f32 {%0, %1, %2, %3, %4, %5, %6, %7},\n{%8, %9, %10, %11, %12, %13, %14, %15},\n{%16, %17, %18, %19, %20, %21, %22, %23},\n{%24, %25, %26, %27, %28, %29, %30, %31};"
                  : KC_FOUT8 (d) : KC_IN8 (a), KC_IN8 (b), KC_FIN8 (c));
}
KC_FN void mma_sync (fragment<accumulator, 32, 8, 16, __half> &d, const fragment<matrix_a, 32, 8, 16, __half, col_major> &a, const fragment<matrix_b, 32, 8, 16, __half, col_major> &b, const fragment<accumulator, 32, 8, 16, __half> &c)
{
    asm volatile ("wmma.mma.sync.aligned.col.col.m32n8k16.f16.f16 {%0, %1, %2, %3},\n{%4, %5, %6, %7, %8, %9, %10, %11},\n{%12, %13, %14, %15, %16, %17, %18, %19},\n{%20, %21, %22, %23};"
                  : KC_OUT4 (d) : KC_IN8 (a), KC_IN8 (b), KC_IN4 (c));
}
KC_FN void mma_sync (fragment<accumulator, 8, 32, 16, float> &d, const fragment<matrix_a, 8, 32, 16, __half, row_major> &a, const fragment<matrix_b, 8, 32, 16, __half, row_major> &b, const fragment<accumulator, 8, 32, 16, float> &c)
{
    asm volatile ("wmma.mma.sync.aligned.row.row.m8n32k16.f32.f32 {%0, %1, %2, %3, %4, %5, %6, %7},\n{%8, %9, %10, %11, %12, %13, %14, %15},\n{%16, %17, %18, %19, %20, %21, %22, %23},\n{%24, %25, %26, %27, %28, %29, %30, %31};"
                  : KC_FOUT8 (d) : KC_IN8 (a), KC_IN8 (b), KC_FIN8 (c));
}
KC_FN void mma_sync (fragment<accumulator, 8, 32, 16, __half> &d, const fragment<matrix_a, 8, 32, 16, __half, row_major> &a, const fragment<matrix_b, 8, 32, 16, __half, row_major> &b, const fragment<accumulator, 8, 32, 16, __half> &c)
{
    asm volatile ("wmma.mma.sync.aligned.row.row.m8n32k16.f16.f16 {%0, %1, %2, %3},\n{%4, %5, %6, %7, %8, %9, %10, %11},\n{%12, %13, %14, %15, %16, %17, %18, %19},\n{%20, %21, %22, %23};"
                  : KC_OUT4 (d) : KC_IN8 (a), KC_IN8 (b), KC_IN4 (c));
}
KC_FN void mma_sync (fragment<accumulator, 8, 32, 16, float> &d, const fragment<matrix_a, 8, 32, 16, __half, row_major> &a, const fragment<matrix_b, 8, 32, 16, __half, col_major> &b, const fragment<accumulator, 8, 32, 16, float> &c)
{
    asm volatile ("wmma.mma.sync.aligned.row.col.m8n32k16.f32.f32 {%0, %1, %2, %3, %4, %5, %6, %7},\n{%8, %9, %10, %11, %12, %13, %14, %15},\n{%16, %17, %18, %19, %20, %21, %22, %23},\n{%24, %25, %26, %27, %28, %29, %30, %31};"
                  : KC_FOUT8 (d) : KC_IN8 (a), KC_IN8 (b), KC_FIN8 (c));
}
KC_FN void mma_sync (fragment<accumulator, 8, 32, 16, __half> &d, const fragment<matrix_a, 8, 32, 16, __half, row_major> &a, const fragment<matrix_b, 8, 32, 16, __half, col_major> &b, const fragment<accumulator, 8, 32, 16, __half> &c)
{
    asm volatile ("wmma.mma.sync.aligned.row.col.m8n32k16.f16.f16 {%0, %1, %2, %3},\n{%4, %5, %6, %7, %8, %9, %10, %11},\n{%12, %13, %14, %15, %16, %17, %18, %19},\n{%20, %21, %22, %23};"
                  : KC_OUT4 (d) : KC_IN8 (a), KC_IN8 (b), KC_IN4 (c));
}
KC_FN void mma_sync (fragment<accumulator, 8, 32, 16, float> &d, const fragment<matrix_a, 8, 32, 16, __half, col_major> &a, const fragment<matrix_b, 8, 32, 16, __half, row_major> &b, const fragment<accumulator, 8, 32, 16, float> &c)
{
    asm volatile ("wmma.mma.sync.aligned.col.row.m8n32k16.f32.f32 {%0, %1, %2, %3, %4, %5, %6, %7},\n{%8, %9, %10, %11, %12, %13, %14, %15},\n{%16, %17, %18, %19, %20, %21, %22, %23},\n{%24, %25, %26, %27, %28, %29, %30, %31};"
                  : KC_FOUT8 (d) : KC_IN8 (a), KC_IN8 (b), KC_FIN8 (c));
}
KC_FN void mma_sync (fragment<accumulator, 8, 32, 16, __half> &d, const fragment<matrix_a, 8, 32, 16, __half, col_major> &a, const fragment<matrix_b, 8, 32, 16, __half, row_major> &b, const fragment<accumulator, 8, 32, 16, __half> &c)
{
    asm volatile ("wmma.mma.sync.aligned.col.row.m8n32k16.f16.f16 {%0, %1, %2, %3},\n{%4, %5, %6, %7, %8, %9, %10, %11},\n{%12, %13, %14, %15, %16, %17, %18, %19},\n{%20, %21, %22, %23};"
                  : KC_OUT4 (d) : KC_IN8 (a), KC_IN8 (b), KC_IN4 (c));
}
KC_FN void mma_sync (fragment<accumulator, 8, 32, 16, float> &d, const fragment<matrix_a, 8, 32, 16, __half, col_major> &a, const fragment<matrix_b, 8, 32, 16, __half, col_major> &b, const fragment<accumulator, 8, 32, 16, float> &c)
{
    asm volatile ("wmma.mma.sync.aligned.col.col.m8n32k16.f32.f32 {%0, %1, %2, %3, %4, %5, %6, %7},\n{%8, %9, %10, %11, %12, %13, %14, %15},\n{%16, %17, %18, %19, %20, %21, %22, %23},\n{%24, %25, %26, %27, %28, %29, %30, %31};"
                  : KC_FOUT8 (d) : KC_IN8 (a), KC_IN8 (b), KC_FIN8 (c));
}
KC_FN void mma_sync (fragment<accumulator, 8, 32, 16, __half> &d, const fragment<matrix_a, 8, 32, 16, __half, col_major> &a, const fragment<matrix_b, 8, 32, 16, __half, col_major> &b, const fragment<accumulator, 8, 32, 16, __half> &c)
{
    asm volatile ("wmma.mma.sync.aligned.col.col.m8n32k16.f16.f16 {%0, %1, %2, %3},\n{%4, %5, %6, %7, %8, %9, %10, %11},\n{%12, %13, %14, %15, %16, %17, %18, %19},\n{%20, %21, %22, %23};"
                  : KC_OUT4 (d) : KC_IN8 (a), KC_IN8 (b), KC_IN4 (c));
}
KC_FN void mma_sync (fragment<accumulator, 16, 16, 16, float> &d, const fragment<matrix_a, 16, 16, 16, __nv_bfloat16, row_major> &a, const fragment<matrix_b, 16, 16, 16, __nv_bfloat16, row_major> &b, const fragment<accumulator, 16, 16, 16, float> &c)
{
    asm volatile ("wmma.mma.sync.aligned.row.row.m16n16k16.f32.bf16.bf16.f32 {%0, %1, %2, %3, %4, %5, %6, %7},\n{%8, %9, %10, %11},\n{%12, %13, %14, %15},\n{%16, %17, %18, %19, %20, %21, %22, %23};"
                  : KC_FOUT8 (d) : KC_IN4 (a), KC_IN4 (b), KC_FIN8 (c));
}
KC_FN void mma_sync (fragment<accumulator, 16, 16, 16, float> &d, const fragment<matrix_a, 16, 16, 16, __nv_bfloat16, row_major> &a, const fragment<matrix_b, 16, 16, 16, __nv_bfloat16, col_major> &b, const fragment<accumulator, 16, 16, 16, float> &c)
{
    asm volatile ("wmma.mma.sync.aligned.row.col.m16n16k16.f32.bf16.bf16.f32 {%0, %1, %2, %3, %4, %5, %6, %7},\n{%8, %9, %10, %11},\n{%12, %13, %14, %15},\n{%16, %17, %18, %19, %20, %21, %22, %23};"
                  : KC_FOUT8 (d) : KC_IN4 (a), KC_IN4 (b), KC_FIN8 (c));
}
KC_FN void mma_sync (fragment<accumulator, 16, 16, 16, float> &d, const fragment<matrix_a, 16, 16, 16, __nv_bfloat16, col_major> &a, const fragment<matrix_b, 16, 16, 16, __nv_bfloat16, row_major> &b, const fragment<accumulator, 16, 16, 16, float> &c)
{
    asm volatile ("wmma.mma.sync.aligned.col.row.m16n16k16.f32.bf16.bf16.f32 {%0, %1, %2, %3, %4, %5, %6, %7},\n{%8, %9, %10, %11},\n{%12, %13, %14, %15},\n{%16, %17, %18, %19, %20, %21, %22, %23};"
                  : KC_FOUT8 (d) : KC_IN4 (a), KC_IN4 (b), KC_FIN8 (c));
}
KC_FN void mma_sync (fragment<accumulator, 16, 16, 16, float> &d, const fragment<matrix_a, 16, 16, 16, __nv_bfloat16, col_major> &a, const fragment<matrix_b, 16, 16, 16, __nv_bfloat16, col_major> &b, const fragment<accumulator, 16, 16, 16, float> &c)
{
    asm volatile ("wmma.mma.sync.aligned.col.col.m16n16k16.f32.bf16.bf16.f32 {%0, %1, %2, %3, %4, %5, %6, %7},\n{%8, %9, %10, %11},\n{%12, %13, %14, %15},\n{%16, %17, %18, %19, %20, %21, %22, %23};"
                  : KC_FOUT8 (d) : KC_IN4 (a), KC_IN4 (b), KC_FIN8 (c));
}
KC_FN void mma_sync (fragment<accumulator, 16, 16, 8, float> &d, const fragment<matrix_a, 16, 16, 8, precision::tf32, row_major> &a, const fragment<matrix_b, 16, 16, 8, precision::tf32, row_major> &b, const fragment<accumulator, 16, 16, 8, float> &c)
{
    asm volatile ("wmma.mma.sync.aligned.row.row.m16n16k8.f32.tf32.tf32.f32 {%0, %1, %2, %3, %4, %5, %6, %7},\n{%8, %9, %10, %11},\n{%12, %13, %14, %15},\n{%16, %17, %18, %19, %20, %21, %22, %23};"
                  : KC_FOUT8 (d) : KC_IN4 (a), KC_IN4 (b), KC_FIN8 (c));
}
KC_FN void mma_sync (fragment<accumulator, 16, 16, 8, float> &d, const fragment<matrix_a, 16, 16, 8, precision::tf32, row_major> &a, const fragment<matrix_b, 16, 16, 8, precision::tf32, col_major> &b, const fragment<accumulator, 16, 16, 8, float> &c)
{
    asm volatile ("wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32 {%0, %1, %2, %3, %4, %5, %6, %7},\n{%8, %9, %10, %11},\n{%12, %13, %14, %15},\n{%16, %17, %18, %19, %20, %21, %22, %23};"
                  : KC_FOUT8 (d) : KC_IN4 (a), KC_IN4 (b), KC_FIN8 (c));
}
KC_FN void mma_sync (fragment<accumulator, 16, 16, 8, float> &d, const fragment<matrix_a, 16, 16, 8, precision::tf32, col_major> &a, const fragment<matrix_b, 16, 16, 8, precision::tf32, row_major> &b, const fragment<accumulator, 16, 16, 8, float> &c)
{
    asm volatile ("wmma.mma.sync.aligned.col.row.m16n16k8.f32.tf32.tf32.f32 {%0, %1, %2, %3, %4, %5, %6, %7},\n{%8, %9, %10, %11},\n{%12, %13, %14, %15},\n{%16, %17, %18, %19, %20, %21, %22, %23};"
                  : KC_FOUT8 (d) : KC_IN4 (a), KC_IN4 (b), KC_FIN8 (c));
}
KC_FN void mma_sync (fragment<accumulator, 16, 16, 8, float> &d, const fragment<matrix_a, 16, 16, 8, precision::tf32, col_major> &a, const fragment<matrix_b, 16, 16, 8, precision::tf32, col_major> &b, const fragment<accumulator, 16, 16, 8, float> &c)
{
    asm volatile ("wmma.mma.sync.aligned.col.col.m16n16k8.f32.tf32.tf32.f32 {%0, %1, %2, %3, %4, %5, %6, %7},\n{%8, %9, %10, %11},\n{%12, %13, %14, %15},\n{%16, %17, %18, %19, %20, %21, %22, %23};"
                  : KC_FOUT8 (d) : KC_IN4 (a), KC_IN4 (b), KC_FIN8 (c));
}
}
}
