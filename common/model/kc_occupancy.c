// kc_occupancy.c - resident blocks per SM: warps, registers, shared memory and block
// slots

#include "common/model/kc_plan.h"

enum {
    S_PARTITIONS = 4,         // an SM's registers lie in four parts
    S_REGISTER_GRANULE = 256, // registers are given to a warp in these portions
    S_SHARED_GRANULE = 128,   // bytes
};

int kc_occupancy (const kc_device_facts_t *facts, int registers, int64_t shared_total,
                  int threads, kc_limiter_t *limiter)
{
    int warp = facts->warp > 0 ? facts->warp : 32;
    int warps = (threads + warp - 1) / warp;
    kc_limiter_t why = KC_LIMIT_WARPS;
    int best = 0;
    if (threads >= 1 && threads <= facts->max_threads_block) {
        best = facts->max_threads_sm / warp / warps;
        if (facts->max_blocks_sm < best) {
            best = facts->max_blocks_sm;
            why = KC_LIMIT_BLOCKS;
        }
        int per_warp = (registers * warp + S_REGISTER_GRANULE - 1) / S_REGISTER_GRANULE
                       * S_REGISTER_GRANULE;
        if (per_warp > 0) {
            int whole = (warps + S_PARTITIONS - 1) / S_PARTITIONS
                        * S_PARTITIONS; // a block's warps spread evenly
            int fit = facts->regs_sm / S_PARTITIONS / per_warp * S_PARTITIONS / warps;
            if ((int64_t)per_warp * whole > facts->regs_block)
                fit = 0;
            if (fit < best) {
                best = fit;
                why = KC_LIMIT_REGISTERS;
            }
        }
        int64_t shared = (shared_total + facts->shared_reserved + S_SHARED_GRANULE - 1)
                         / S_SHARED_GRANULE * S_SHARED_GRANULE;
        if (shared_total > facts->shared_block) {
            best = 0;
            why = KC_LIMIT_SHARED;
        }
        else if (shared > 0 && facts->shared_sm / shared < best) {
            best = (int)(facts->shared_sm / shared);
            why = KC_LIMIT_SHARED;
        }
    }
    if (limiter)
        *limiter = why;
    return best;
}
