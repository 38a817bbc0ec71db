// cupti_metrics.c - see cupti_metrics.h; the names are checked against CUPTI's host library (kc-cupti-names)

#include "agents/gpu/cuda/cupti_metrics.h"

#include <string.h>

#define ALL 0
#define SUM KC_JOIN_SUM
#define TIME KC_JOIN_TIME
#define ACTIVE ".avg.pct_of_peak_sustained_active"
#define STALL(reason) "smsp__warps_issue_stalled_" reason ".sum"

// clang-format off: one counter, one line
const kc_cupti_metric_t kc_cupti_metrics[] = {
    // time and clock
    {"gpu__time_duration.sum", "time_us", SUM, ALL},
    {"sm__cycles_active.avg", "sm_imbalance", SUM, ALL},
    {"sm__cycles_elapsed.max", "sm_imbalance shared_share", SUM, ALL},
    {"sm__cycles_elapsed.avg.per_second", "sm_clock_mhz", TIME, ALL},
    // memory
    {"dram__bytes_read.sum", "dram_read_bytes dram_share traffic_ratio bytes_in_flight_sm", SUM, ALL},
    {"dram__bytes_write.sum", "dram_write_bytes dram_share traffic_ratio", SUM, ALL},
    {"lts__t_sectors.sum", "l2_sectors l2_share", SUM, ALL},
    {"lts__t_sectors_lookup_hit.sum", "l2_hit", SUM, ALL},
    {"lts__t_sectors_lookup_miss.sum", "l2_hit", SUM, ALL},
    {"lts__t_sectors_op_atom.sum", "atomic_sectors", SUM, ALL},
    {"lts__t_sectors_op_red.sum", "atomic_sectors", SUM, ALL},
    {"lts__t_sectors.avg.pct_of_peak_sustained_elapsed", "l2_share", TIME, ALL},
    {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "l1_hit ld_sectors_per_request", SUM, ALL},
    {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum", "l1_hit", SUM, ALL},
    {"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", "ld_sectors_per_request", SUM, ALL},
    {"l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", "st_efficiency", SUM, ALL},
    {"l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", "st_efficiency", SUM, ALL},
    {"smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio", "ld_efficiency", TIME, ALL},
    {"smsp__sass_average_data_bytes_per_sector_mem_global_op_st.ratio", "st_efficiency", TIME, ALL},
    {"l1tex__t_bytes_pipe_lsu_mem_local_op_ld.sum", "local_bytes", SUM, ALL},
    {"l1tex__t_bytes_pipe_lsu_mem_local_op_st.sum", "local_bytes", SUM, ALL},
    {"l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", "shared_share bank_conflict_share", SUM, ALL},
    {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", "bank_conflict_share", SUM, ALL},
    {"l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed", "l1_share", TIME, ALL},
    {"l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld.sum", "tma_bytes", SUM,
     KC_CHIP_GA100 | KC_CHIP_AD102},
    // instructions
    {"smsp__inst_executed.sum", "warp_instructions active_lanes predicated_lanes", SUM, ALL},
    {"smsp__thread_inst_executed.sum", "instructions_per_output active_lanes integer_share", SUM, ALL},
    {"smsp__thread_inst_executed_pred_on.sum", "predicated_lanes", SUM, ALL},
    {"smsp__sass_branch_targets.sum", "divergent_branches", SUM, ALL},
    {"smsp__sass_branch_targets_threads_divergent.sum", "divergent_branches", SUM, ALL},
    {"smsp__sass_thread_inst_executed_op_integer_pred_on.sum", "integer_share", SUM, ALL},
    {"smsp__inst_executed_op_global_ld.sum", "ld_width_bytes", SUM, ALL},
    // pipes and issue
    {"smsp__issue_active.sum", "issue_share", SUM, ALL},
    {"smsp__cycles_active.sum", "issue_share eligible_warps", SUM, ALL},
    {"sm__pipe_fma_cycles_active" ACTIVE, "fma_share", TIME, ALL},
    {"sm__pipe_alu_cycles_active" ACTIVE, "alu_share", TIME, ALL},
    {"sm__inst_executed_pipe_xu" ACTIVE, "xu_share", TIME, ALL},
    {"sm__inst_executed_pipe_lsu" ACTIVE, "lsu_share", TIME, ALL},
    {"sm__pipe_fp64_cycles_active" ACTIVE, "fp64_share", TIME, ALL},
    {"sm__pipe_tensor_cycles_active" ACTIVE, "tensor_share", TIME, ALL},
    // latency: warp-cycles by state; with those that serve no field the shares sum to 1, which is checked
    {"sm__warps_active" ACTIVE, "occupancy", TIME, ALL},
    {"smsp__warps_active.sum", "stall_memory stall_shared stall_sync stall_math", SUM, ALL},
    {"smsp__warps_eligible.sum", "eligible_warps", SUM, ALL},
    {STALL ("long_scoreboard"), "stall_memory", SUM, ALL},
    {STALL ("lg_throttle"), "stall_memory", SUM, ALL},
    {STALL ("tex_throttle"), "stall_memory", SUM, ALL},
    {STALL ("drain"), "stall_memory", SUM, ALL},
    {STALL ("short_scoreboard"), "stall_shared", SUM, ALL},
    {STALL ("mio_throttle"), "stall_shared", SUM, ALL},
    {STALL ("barrier"), "stall_sync", SUM, ALL},
    {STALL ("membar"), "stall_sync", SUM, ALL},
    {STALL ("gmma"), "stall_sync", SUM, KC_CHIP_GA100 | KC_CHIP_AD102 | KC_CHIP_GB100},
    {STALL ("sleeping"), "stall_sync", SUM, ALL},
    {STALL ("math_pipe_throttle"), "stall_math", SUM, ALL},
    {STALL ("wait"), "stall_wait", SUM, ALL},
    {STALL ("not_selected"), "stall_not_selected", SUM, ALL},
    {STALL ("selected"), "", SUM, ALL},
    {STALL ("no_instruction"), "stall_fetch", SUM, ALL},
    {STALL ("branch_resolving"), "stall_fetch", SUM, ALL},
    {STALL ("imc_miss"), "stall_fetch", SUM, KC_CHIP_GB100},
    {STALL ("dispatch_stall"), "", SUM, ALL},
    {STALL ("misc"), "", SUM, ALL},
};
// clang-format on
const size_t kc_cupti_n_metrics = sizeof kc_cupti_metrics / sizeof kc_cupti_metrics[0];

const kc_cupti_chip_t kc_cupti_chips[] = {
    {"GH100", KC_CHIP_GH100, 11},
    {"GA100", KC_CHIP_GA100, 10},
    {"AD102", KC_CHIP_AD102, 11},
    {"GB100", KC_CHIP_GB100, 10},
};
const size_t kc_cupti_n_chips = sizeof kc_cupti_chips / sizeof kc_cupti_chips[0];

const kc_cupti_metric_t *kc_cupti_metric (const char *name)
{
    for (size_t i = 0; i < kc_cupti_n_metrics; i++)
        if (strcmp (kc_cupti_metrics[i].name, name) == 0)
            return &kc_cupti_metrics[i];
    return NULL;
}
