// kc_time_model.c - see kc_time_model.h

#include "agents/gpu/model/kc_time_model.h"

#include <math.h>

enum {
    SECTOR = 32,
    SCHEDULERS = 4, // per SM
    LANES = 32,
};

typedef struct work { // of one SM: the one with the most blocks
    double issue, fp32, integer, xu, fp64, tensor, lsu, shared, l1; // clocks each pipe needs
} work_t;

static double s_class (const vgpu_counters_t *c, vgpu_class_t k)
{
    return (double)c->warp_by_class[k];
}

// Clocks that the pipes of an SM need for 'share' of all counted work.
static void s_work (const kc_gpu_gpu_t *gpu, const vgpu_counters_t *c, double share, work_t *w)
{
    const kc_gpu_rates_t *r = gpu->rates;
    double fp32 = s_class (c, VGPU_CLASS_FP32_ADD) + s_class (c, VGPU_CLASS_FP32_MUL) + s_class (c, VGPU_CLASS_FP32_FMA);
    double integer = s_class (c, VGPU_CLASS_INT_ALU) + s_class (c, VGPU_CLASS_INT_MUL) + s_class (c, VGPU_CLASS_PREDICATE)
                     + s_class (c, VGPU_CLASS_MOVE) + s_class (c, VGPU_CLASS_FP32_OTHER);
    double xu = s_class (c, VGPU_CLASS_MUFU) + s_class (c, VGPU_CLASS_CONVERT);
    double requests = (double)(c->global_load_requests + c->global_store_requests + c->shared_load_requests
                               + c->shared_store_requests)
                      + s_class (c, VGPU_CLASS_LOCAL_LOAD) + s_class (c, VGPU_CLASS_LOCAL_STORE)
                      + s_class (c, VGPU_CLASS_ATOMIC_GLOBAL) + s_class (c, VGPU_CLASS_ATOMIC_SHARED);
    double sectors = (double)(c->global_load_sectors + c->global_store_sectors + c->local_sectors);
    w->issue = share * (double)c->warp_instructions / (r->issue * gpu->model->issue_efficiency);
    w->fp32 = share * fp32 * LANES / r->fp32;
    w->integer = share * integer * LANES / r->int_;
    w->xu = share * xu * LANES / r->xu;
    w->fp64 = share * s_class (c, VGPU_CLASS_FP64) * LANES / r->fp64;
    w->tensor = share * s_class (c, VGPU_CLASS_TENSOR);
    w->lsu = share * requests / r->lsu;
    w->shared = share * (double)c->shared_wavefronts * 128.0 / r->shared_bytes;
    w->l1 = share * sectors * SECTOR / r->l1_bytes;
}

static double s_max_pipe (const work_t *w)
{
    double m = fmax (w->issue, fmax (w->fp32, w->integer));
    m = fmax (m, fmax (w->xu, fmax (w->fp64, w->tensor)));
    return fmax (m, fmax (w->lsu, fmax (w->shared, w->l1)));
}

typedef struct traffic {
    double l1_load_sectors;  // asked of L1
    double l2_load_sectors, l2_store_sectors;
    double dram_read, dram_write; // bytes
} traffic_t;

// What leaves L1 and what leaves L2.  A block's repeated reads hit L1 when the working sets of the resident
// blocks fit; L2 serves what other blocks read before, as far as the buffer fits beside the rest.
static void s_traffic (const kc_gpu_gpu_t *gpu, const kc_launch_shape_t *shape, const vgpu_counters_t *c, traffic_t *t)
{
    double footprint = 0;
    *t = (traffic_t){0};
    for (uint32_t i = 0; i < c->n_traffic; i++)
        footprint += (double)(c->traffic[i].unique_read + c->traffic[i].unique_written) * SECTOR;
    double l1_room = (double)gpu->l1_bytes - (double)shape->shared_bytes * shape->resident;
    double missing = footprint > (double)gpu->l2_bytes ? 1.0 - (double)gpu->l2_bytes / footprint : 0.0;
    for (uint32_t i = 0; i < c->n_traffic; i++) {
        const vgpu_traffic_t *b = &c->traffic[i];
        double per_block = c->blocks ? (double)b->block_read * SECTOR / (double)c->blocks : 0;
        bool fits = per_block * shape->resident <= l1_room;
        double l2_reads = fits ? (double)b->block_read : (double)b->load_sectors;
        t->l1_load_sectors += (double)b->load_sectors;
        t->l2_load_sectors += l2_reads;
        t->l2_store_sectors += (double)(b->store_sectors + b->atomics);
        // Sectors read again after they left L2: co-resident blocks share most of their re-reads in time.
        double again = fmax (l2_reads - (double)b->unique_read, 0) * missing * 0.25;
        t->dram_read += ((double)b->unique_read + again) * SECTOR;
        t->dram_write += (double)b->unique_written * SECTOR;
    }
    t->l2_load_sectors += (double)c->local_sectors;
}

static void s_stalls (const vgpu_counters_t *c, const work_t *w, double clocks, double warps_sm, kc_launch_time_t *out)
{
    double chain = c->chain_warps ? (double)c->chain_clocks_sum / c->chain_warps : 0;
    double memory = c->chain_warps ? (double)c->chain_memory_sum / c->chain_warps : 0;
    double shared = c->chain_warps ? (double)(c->chain_shared_sum) / c->chain_warps : 0;
    double per_warp = c->warps ? (double)c->warp_instructions / (double)c->warps : 0;
    double arrivals = c->warps ? (double)c->barriers / (double)c->warps : 0;
    double sync = c->warps ? (double)c->barrier_wait / (double)c->warps + 20 * arrivals : 0;
    // A warp's life in the launch: the chain, its barriers, then waiting for pipes that others use.
    double life = fmax (chain + sync, 1);
    double crowded = fmax (clocks * fmax (out->occupancy, 0.01) * (double)SCHEDULERS * 16 / fmax (warps_sm, 1), life);
    double queue = fmax (crowded - life, 0);
    double total = life + queue;
    out->stall_memory = memory / total;
    out->stall_shared = shared / total;
    out->stall_sync = sync / total;
    out->selected = fmin (per_warp / total, 1 - fmin (out->stall_memory + out->stall_shared + out->stall_sync, 1));
    double left = fmax (1 - out->stall_memory - out->stall_shared - out->stall_sync - out->selected, 0);
    double pipe = fmax (w->fp32, fmax (w->xu, fmax (w->integer, fmax (w->fp64, w->lsu))));
    double busy = fmin (fmax (w->issue, pipe) / fmax (clocks, 1), 1);
    out->stall_math = left * busy * (pipe > w->issue ? 0.7 : 0.3);
    out->stall_not_selected = left * busy - out->stall_math;
    out->stall_wait = fmax (left - out->stall_math - out->stall_not_selected, 0);
}

void kc_time_launch (const kc_gpu_gpu_t *gpu, const kc_launch_shape_t *shape, const vgpu_counters_t *c,
                     kc_launch_time_t *out)
{
    *out = (kc_launch_time_t){0};
    const double hz = gpu->clock_mhz * 1e6;
    const double blocks = fmax ((double)shape->blocks, 1);
    const double resident = fmax (shape->resident, 1);
    const double sms = (double)gpu->sms;
    // Counts may be of a sample of the blocks.
    const double scale = c->blocks ? blocks / (double)c->blocks : 1;
    out->waves = blocks / (resident * sms);
    const double whole = ceil (out->waves);
    const double last = out->waves - floor (out->waves); // how full the last wave is
    out->tail_idle = out->waves <= 1 ? fmax (0, 1 - blocks / sms) : last > 0 ? 1 - last : 0;
    const double most = ceil (blocks / sms); // blocks of the busiest SM
    out->sm_imbalance = 1 - blocks / (most * sms);

    work_t w;
    s_work (gpu, c, scale * most / blocks, &w);
    out->pipe_us = s_max_pipe (&w) / hz * 1e6;
    const double hottest = c->atomic_hottest > 1 ? (double)c->atomic_hottest * scale * gpu->model->atomic_clocks : 0;
    out->pipe_us = fmax (out->pipe_us, hottest / hz * 1e6);

    traffic_t t;
    s_traffic (gpu, shape, c, &t);
    out->dram_read = t.dram_read * scale;
    out->dram_write = t.dram_write * scale;
    out->l2_sectors = (t.l2_load_sectors + t.l2_store_sectors) * scale;
    const double dram_us = (out->dram_read + out->dram_write) / gpu->copy_bandwidth * 1e6;
    const double l2_us = out->l2_sectors * SECTOR / gpu->l2_bandwidth * 1e6;
    out->memory_us = fmax (dram_us, l2_us);

    const double chain = c->chain_warps ? (double)c->chain_clocks_sum / c->chain_warps : 0;
    const double sync = c->warps ? 20.0 * (double)c->barriers / (double)c->warps : 0;
    out->latency_us = whole * (chain + sync) / hz * 1e6;

    const double p = gpu->model->p;
    const double busy_us = pow (pow (out->pipe_us, p) + pow (out->memory_us, p) + pow (out->latency_us, p), 1 / p);
    out->us = busy_us + gpu->model->fixed_us;

    // Shares are of the time in which the kernel runs.
    const double clocks = fmax (busy_us * 1e-6 * hz, 1);
    const double average = 1 - out->sm_imbalance; // the busiest SM against the mean one
    out->issue = fmin (w.issue * gpu->model->issue_efficiency * average / clocks, 1);
    out->fma = fmin (w.fp32 * average / clocks, 1);
    out->alu = fmin (w.integer * average / clocks, 1);
    out->xu = fmin (w.xu * average / clocks, 1);
    out->fp64 = fmin (w.fp64 * average / clocks, 1);
    out->tensor = fmin (w.tensor * average / clocks, 1);
    out->lsu = fmin (w.lsu * average / clocks, 1);
    out->shared = fmin (w.shared * average / clocks, 1);
    out->l1 = fmin (w.l1 * average / clocks, 1);
    out->dram = fmin ((out->dram_read + out->dram_write) / (busy_us * 1e-6) / gpu->bandwidth, 1);
    out->l2 = fmin (l2_us / busy_us, 1);
    out->l1_hit = t.l1_load_sectors > 0 ? fmax (0, 1 - t.l2_load_sectors / t.l1_load_sectors) : 0;
    out->l2_hit = t.l2_load_sectors > 0 ? fmax (0, 1 - t.dram_read / SECTOR / t.l2_load_sectors) : 0;

    const double warps_block = ceil (shape->threads / 32.0);
    const double max_warps = (double)gpu->threads_sm / 32;
    const double on_sm = fmin (resident, most); // blocks that are there at once
    out->occupancy = fmin (on_sm * warps_block * average / max_warps, 1);
    const double warps_sm = on_sm * warps_block;
    if (c->load_waits)
        out->bytes_in_flight_sm = warps_sm * (double)c->load_bytes_in_flight_sum / (double)c->load_waits;
    s_stalls (c, &w, clocks, warps_sm, out);
    const double ready = out->selected + out->stall_not_selected + out->stall_math;
    out->eligible_warps = warps_sm / SCHEDULERS * fmin (ready, 1);
}

double kc_time_copy_us (const kc_gpu_gpu_t *gpu, double bytes)
{
    return bytes / gpu->copy_bandwidth * 1e6 + gpu->model->fixed_us;
}

double kc_time_gap_us (const kc_gpu_gpu_t *gpu, bool graph)
{
    return graph ? gpu->model->graph_gap_us : gpu->model->gap_us;
}
