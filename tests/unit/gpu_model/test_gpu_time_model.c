// test_gpu_time_model.c - the order that the time model must see, and the one point that was measured

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "agents/gpu/model/kc_time_model.h"

// A streaming kernel: each warp loads and stores 'bytes' per lane once, with 'work' fp32 instructions.
static void s_stream (vgpu_counters_t *c, vgpu_traffic_t t[2], double elements, double bytes, double work)
{
    memset (c, 0, sizeof *c);
    memset (t, 0, 2 * sizeof *t);
    uint64_t warps = (uint64_t)(elements / 32);
    uint64_t sectors = (uint64_t)(elements * bytes / 32);
    c->warps = warps;
    c->blocks = warps / 8;
    c->threads = warps * 32;
    c->warp_by_class[VGPU_CLASS_GLOBAL_LOAD] = c->warp_by_class[VGPU_CLASS_GLOBAL_STORE] = warps;
    c->warp_by_class[VGPU_CLASS_FP32_FMA] = (uint64_t)(work * (double)warps);
    c->warp_by_class[VGPU_CLASS_INT_ALU] = 6 * warps;
    c->warp_instructions = c->warp_by_class[VGPU_CLASS_FP32_FMA] + 8 * warps;
    c->thread_instructions = 32 * c->warp_instructions;
    c->global_load_requests = c->global_store_requests = warps;
    c->global_load_sectors = c->global_store_sectors = sectors;
    t[0] = (vgpu_traffic_t){.load_sectors = sectors, .unique_read = sectors, .block_read = sectors};
    t[1] = (vgpu_traffic_t){.store_sectors = sectors, .unique_written = sectors, .block_written = sectors};
    c->traffic = t;
    c->n_traffic = 2;
    c->chain_warps = 1;
    c->chain_clocks_sum = (uint64_t)(700 + 4 * work);
    c->chain_memory_sum = 650;
    c->load_waits = 1;
    c->load_bytes_in_flight_sum = (uint64_t)(32 * bytes);
}

static double s_time (const char *name, vgpu_counters_t *c, uint64_t blocks, int resident, kc_launch_time_t *out)
{
    kc_gpu_gpu_t *gpu = kc_gpus_find (name, NULL);
    assert_non_null (gpu);
    const kc_launch_shape_t shape = {.blocks = blocks, .threads = 256, .resident = resident};
    kc_time_launch (gpu, &shape, c, out);
    kc_gpu_gpu_free (&gpu);
    return out->us;
}

static void a_wide_stream_runs_near_the_copy_bandwidth (void **state)
{
    (void)state;
    vgpu_counters_t c;
    vgpu_traffic_t t[2];
    kc_launch_time_t out;
    const double elements = 64e6; // of 16 bytes: 1 GB in, 1 GB out
    s_stream (&c, t, elements, 16, 2);
    double us = s_time ("h200", &c, c.blocks, 8, &out);
    double ideal = 2 * elements * 16 / 4.3e12 * 1e6;
    assert_true (us > ideal && us < 1.15 * ideal);
    assert_true (out.dram > 0.75);
}

// Measured on an H200: tanhf of 2^28 floats, one element per thread, took 846 us; bytes alone would give 500.
static void one_float_per_thread_is_bound_by_latency_as_measured (void **state)
{
    (void)state;
    vgpu_counters_t c;
    vgpu_traffic_t t[2];
    kc_launch_time_t out;
    const double elements = 268435456.0;
    s_stream (&c, t, elements, 4, 15);
    c.warp_by_class[VGPU_CLASS_MUFU] = 2 * c.warps;
    c.warp_instructions += 2 * c.warps;
    c.chain_clocks_sum = 1140 + 260; // DRAM under load, then the arithmetic chain of tanhf, at 1.755 GHz
    double us = s_time ("h200", &c, c.blocks, 8, &out);
    assert_true (us > 0.8 * 846 && us < 1.2 * 846);
    assert_true (out.latency_us > out.memory_us);
}

static void more_work_never_takes_less_time (void **state)
{
    (void)state;
    vgpu_counters_t c;
    vgpu_traffic_t t[2];
    kc_launch_time_t out;
    double last = 0;
    for (double work = 1; work < 4096; work *= 4) {
        s_stream (&c, t, 1e6, 4, work);
        double us = s_time ("h200", &c, c.blocks, 8, &out);
        assert_true (us >= last);
        last = us;
    }
}

static void a_faster_memory_makes_a_stream_faster (void **state)
{
    (void)state;
    vgpu_counters_t c;
    vgpu_traffic_t t[2];
    kc_launch_time_t out;
    s_stream (&c, t, 64e6, 16, 2);
    double h200 = s_time ("h200", &c, c.blocks, 8, &out), h100 = s_time ("h100", &c, c.blocks, 8, &out);
    double a100 = s_time ("a100", &c, c.blocks, 8, &out);
    assert_true (h200 < h100 && h100 < a100);
}

static void one_hot_address_serialises (void **state)
{
    (void)state;
    vgpu_counters_t c;
    vgpu_traffic_t t[2];
    kc_launch_time_t out;
    s_stream (&c, t, 1e6, 4, 2);
    double spread = s_time ("h200", &c, c.blocks, 8, &out);
    c.atomics_global = c.atomic_hottest = 1000000;
    double hot = s_time ("h200", &c, c.blocks, 8, &out);
    assert_true (hot > 10 * spread);
}

static void a_launch_costs_something_even_when_it_does_nothing (void **state)
{
    (void)state;
    vgpu_counters_t c = {.blocks = 1, .warps = 1};
    kc_launch_time_t out;
    double us = s_time ("h200", &c, 1, 8, &out);
    assert_true (us >= 2.0 && us < 4.0);
    kc_gpu_gpu_t *gpu = kc_gpus_find ("h200", NULL);
    assert_true (kc_time_gap_us (gpu, true) < kc_time_gap_us (gpu, false));
    kc_gpu_gpu_free (&gpu);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (a_wide_stream_runs_near_the_copy_bandwidth),
        cmocka_unit_test (one_float_per_thread_is_bound_by_latency_as_measured),
        cmocka_unit_test (more_work_never_takes_less_time),
        cmocka_unit_test (a_faster_memory_makes_a_stream_faster),
        cmocka_unit_test (one_hot_address_serialises),
        cmocka_unit_test (a_launch_costs_something_even_when_it_does_nothing),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
