/* kc_time_model.h - an estimated time of one launch from what the virtual GPU counted
 *
 * Three times compete: the busiest pipe of the busiest SM (Tp), bytes through DRAM and L2 (Tm), and the
 * dependency chain of a warp once per wave of blocks (Tl).  T = (Tp^p + Tm^p + Tl^p)^(1/p) + fixed.
 * Source: the throughput and latency view of Little's law; the chain carries bytes in flight, so the
 * memory time needs no efficiency of its own.  Absolute microseconds are not the aim: the order among
 * variants of one task is.  Pure.
 */
#ifndef KC_TIME_MODEL_H
#define KC_TIME_MODEL_H

#include "agents/gpu/model/kc_gpus.h"
#include "agents/gpu/vgpu/vgpu.h"

typedef struct kc_launch_shape {
    uint64_t blocks;       // of the whole grid
    uint32_t threads;      // of a block
    int resident;          // blocks per SM (kc_occupancy)
    int64_t shared_bytes;  // of a block, static + dynamic
} kc_launch_shape_t;

typedef struct kc_launch_time {
    double us;             // the estimate
    double pipe_us, memory_us, latency_us; // Tp, Tm, Tl
    double waves, tail_idle;               // grid over resident blocks; idle share of the last wave
    double dram_read, dram_write;          // bytes
    double l2_sectors, l1_hit, l2_hit;
    // shares of the time: of the pipe's or path's capacity
    double issue, fma, alu, xu, lsu, fp64, tensor, shared, l1, l2, dram;
    double occupancy;      // resident warps over the SM's maximum, over the whole launch
    double bytes_in_flight_sm;
    double stall_memory, stall_shared, stall_sync, stall_math, stall_wait, stall_not_selected; // sum with selected = 1
    double selected;
    double eligible_warps; // per scheduler
    double sm_imbalance;
} kc_launch_time_t;

void kc_time_launch (const kc_gpu_gpu_t *gpu, const kc_launch_shape_t *shape, const vgpu_counters_t *counters,
                     kc_launch_time_t *out);
// Time of copying 'bytes' (read and written) with the memory system alone; 'fixed' included.
double kc_time_copy_us (const kc_gpu_gpu_t *gpu, double bytes);
// Idle time between two steps of a plan.
double kc_time_gap_us (const kc_gpu_gpu_t *gpu, bool graph);

#endif // KC_TIME_MODEL_H
