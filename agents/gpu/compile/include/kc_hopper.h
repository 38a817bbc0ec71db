// kc_hopper.h: thin names for instructions of sm_90a: mbarriers, TMA, clusters, wgmma.  Other architectures get
// declarations only: the virtual GPU compiles for sm_80 and does not run these yet.
#pragma once

namespace kc {

// ---- barriers in shared memory ----
KC_FN void mbar_init (uint64_t *b, uint32_t arrivals) { asm volatile ("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(smem (b)), "r"(arrivals) : "memory"); }
KC_FN void mbar_arrive (uint64_t *b) { asm volatile ("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(smem (b)) : "memory"); }
// One arrival that also announces how many bytes a copy will bring.
KC_FN void mbar_expect (uint64_t *b, uint32_t bytes) { asm volatile ("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(smem (b)), "r"(bytes) : "memory"); }
// Arrive at the same barrier of another block of the cluster.
KC_FN void mbar_arrive_cluster (uint64_t *b, uint32_t block)
{
    asm volatile ("{ .reg .b32 there; mapa.shared::cluster.u32 there, %0, %1;\n"
                  "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there]; }" ::"r"(smem (b)), "r"(block) : "memory");
}
KC_FN void mbar_wait (uint64_t *b, uint32_t parity)
{
    uint32_t done;
    do
        asm volatile ("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                      : "=r"(done) : "r"(smem (b)), "r"(parity) : "memory");
    while (!done);
}
KC_FN void fence_mbar_init () { asm volatile ("fence.mbarrier_init.release.cluster;" ::: "memory"); }
KC_FN void fence_async () { asm volatile ("fence.proxy.async.shared::cta;" ::: "memory"); } // before TMA or wgmma reads what threads wrote

// ---- tensor maps: a box of global memory to shared memory and back ----
KC_FN void tma_prefetch (const CUtensorMap *m) { asm volatile ("prefetch.tensormap [%0];" ::"l"(m) : "memory"); }
KC_FN void tma_1d (void *dst, const CUtensorMap *m, uint64_t *b, int c0)
{ asm volatile ("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3}], [%2];" ::"r"(smem (dst)), "l"(m), "r"(smem (b)), "r"(c0) : "memory"); }
KC_FN void tma_2d (void *dst, const CUtensorMap *m, uint64_t *b, int c0, int c1)
{ asm volatile ("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(smem (dst)), "l"(m), "r"(smem (b)), "r"(c0), "r"(c1) : "memory"); }
KC_FN void tma_3d (void *dst, const CUtensorMap *m, uint64_t *b, int c0, int c1, int c2)
{ asm volatile ("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];" ::"r"(smem (dst)), "l"(m), "r"(smem (b)), "r"(c0), "r"(c1), "r"(c2) : "memory"); }
KC_FN void tma_2d_multicast (void *dst, const CUtensorMap *m, uint64_t *b, int c0, int c1, uint16_t blocks)
{ asm volatile ("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(smem (dst)), "l"(m), "r"(smem (b)), "r"(c0), "r"(c1), "h"(blocks) : "memory"); }
KC_FN void tma_store_2d (const CUtensorMap *m, const void *src, int c0, int c1)
{ asm volatile ("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];" ::"l"(m), "r"(smem (src)), "r"(c0), "r"(c1) : "memory"); }
KC_FN void tma_store_commit () { asm volatile ("cp.async.bulk.commit_group;" ::: "memory"); }
template <int N> KC_FN void tma_store_wait () { asm volatile ("cp.async.bulk.wait_group %0;" ::"n"(N) : "memory"); }

// ---- clusters ----
KC_FN uint32_t cluster_rank () { uint32_t r; asm volatile ("mov.u32 %0, %%cluster_ctarank;" : "=r"(r)); return r; }
KC_FN void cluster_sync () { asm volatile ("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory"); }

// ---- wgmma: four warps, D in registers += A and B in shared memory ----
// K-major tile with rows of 128 bytes and 128-byte swizzle: groups of 8 rows lie 1024 bytes apart.
KC_FN uint64_t wg_desc (const void *p) { return (uint64_t)((smem (p) & 0x3ffff) >> 4) | (1ull << 16) | (64ull << 32) | (1ull << 62); }
KC_FN void wg_fence () { asm volatile ("wgmma.fence.sync.aligned;" ::: "memory"); }
KC_FN void wg_commit () { asm volatile ("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int N> KC_FN void wg_wait () { asm volatile ("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory"); }
#define KC_ACC8(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
#define KC_ACC64(d) KC_ACC8 (d, 0), KC_ACC8 (d, 8), KC_ACC8 (d, 16), KC_ACC8 (d, 24), KC_ACC8 (d, 32), KC_ACC8 (d, 40), KC_ACC8 (d, 48), KC_ACC8 (d, 56)
#define KC_LIST64                                                                              \
    "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31," \
    "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63}"
// 64 x 128 results; 'acc' 0 starts a new sum.
KC_FN void wgmma_m64n128k8_tf32 (float (&d)[64], uint64_t a, uint64_t b, int acc)
{
    asm volatile ("{ .reg .pred p; setp.ne.b32 p, %66, 0;\n"
                  "wgmma.mma_async.sync.aligned.m64n128k8.f32.tf32.tf32 " KC_LIST64 ", %64, %65, p, 1, 1; }"
                  : KC_ACC64 (d) : "l"(a), "l"(b), "r"(acc));
}
KC_FN void wgmma_m64n128k16_f16 (float (&d)[64], uint64_t a, uint64_t b, int acc)
{
    asm volatile ("{ .reg .pred p; setp.ne.b32 p, %66, 0;\n"
                  "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 " KC_LIST64 ", %64, %65, p, 1, 1, 0, 0; }"
                  : KC_ACC64 (d) : "l"(a), "l"(b), "r"(acc));
}
KC_FN void wgmma_m64n128k16_bf16 (float (&d)[64], uint64_t a, uint64_t b, int acc)
{
    asm volatile ("{ .reg .pred p; setp.ne.b32 p, %66, 0;\n"
                  "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 " KC_LIST64 ", %64, %65, p, 1, 1, 0, 0; }"
                  : KC_ACC64 (d) : "l"(a), "l"(b), "r"(acc));
}
template <int R> KC_FN void reg_dec () { asm volatile ("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(R)); }
template <int R> KC_FN void reg_inc () { asm volatile ("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(R)); }
}
