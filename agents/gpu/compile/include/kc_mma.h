// kc_mma.h: asynchronous copies, ldmatrix and the warp-wide mma of sm_80
#pragma once

namespace kc {

// ---- global -> shared without registers ----
KC_FN void cp_async_4 (void *dst, const void *src) { asm volatile ("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(smem (dst)), "l"(src) : "memory"); }
KC_FN void cp_async_8 (void *dst, const void *src) { asm volatile ("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(smem (dst)), "l"(src) : "memory"); }
KC_FN void cp_async_16 (void *dst, const void *src) { asm volatile ("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(smem (dst)), "l"(src) : "memory"); }
// Copies 'bytes' (0 to 16) and fills the rest of the 16 with zeros: for edges.
KC_FN void cp_async_16_fill (void *dst, const void *src, int bytes) { asm volatile ("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(smem (dst)), "l"(src), "r"(bytes) : "memory"); }
KC_FN void cp_async_commit () { asm volatile ("cp.async.commit_group;" ::: "memory"); }
template <int N> KC_FN void cp_async_wait () { asm volatile ("cp.async.wait_group %0;" ::"n"(N) : "memory"); } // all but the last N groups
KC_FN void cp_async_wait_all () { asm volatile ("cp.async.wait_all;" ::: "memory"); }

// ---- 8x8 matrices of 16-bit elements from shared memory; lane i gives the address of row i ----
KC_FN void ldmatrix_x1 (uint32_t &a, const void *p) { asm volatile ("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(a) : "r"(smem (p)) : "memory"); }
KC_FN void ldmatrix_x2 (uint32_t (&a)[2], const void *p) { asm volatile ("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(a[0]), "=r"(a[1]) : "r"(smem (p)) : "memory"); }
KC_FN void ldmatrix_x4 (uint32_t (&a)[4], const void *p) { asm volatile ("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]) : "r"(smem (p)) : "memory"); }
KC_FN void ldmatrix_x2_trans (uint32_t (&a)[2], const void *p) { asm volatile ("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(a[0]), "=r"(a[1]) : "r"(smem (p)) : "memory"); }
KC_FN void ldmatrix_x4_trans (uint32_t (&a)[4], const void *p) { asm volatile ("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]) : "r"(smem (p)) : "memory"); }

// ---- d += a b for one warp: A row-major 16 x k, B column-major k x 8, D 16 x 8 in float ----
#define KC_MMA_16816(name, type)                                                               \
    KC_FN void name (float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2])            \
    {                                                                                          \
        asm volatile ("mma.sync.aligned.m16n8k16.row.col.f32." type "." type ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
                      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                         \
                      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));     \
    }
KC_MMA_16816 (mma_f16, "f16")
KC_MMA_16816 (mma_bf16, "bf16")
// TF32: k = 8; the inputs are floats rounded by round_tf32.
KC_FN void mma_tf32 (float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2])
{
    asm volatile ("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                  : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                  : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
KC_FN uint32_t round_tf32 (float v) { uint32_t r; asm ("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(v)); return r; }
}
