/* device.h - the one interface to a GPU, real or virtual; used inside kc-runner only
 *
 * kc-runner opens one device, loads compiled code, lays out one arena per contestant, runs plans,
 * times and counts them, writes its result and exits.  Nothing here survives a failed run: after a
 * finding with 'sticky' set the only thing left to do is to report and exit.
 * A device is used by one thread.  All sizes are bytes, all times microseconds unless named.
 */
#ifndef KC_DEVICE_H
#define KC_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/model/kc_plan.h"
#include "common/msg/gen/evidence.h"
#include "common/msg/gen/verdict.h"

typedef struct kc_dev kc_dev_t;
typedef struct kc_dev_code kc_dev_code_t;   // loaded code of one compiled unit
typedef struct kc_dev_arena kc_dev_arena_t; // the buffers of one plan

typedef struct kc_dev_info {
    char backend[8]; // "cuda" or "vgpu"
    char gpu[96];    // "NVIDIA H200"; for vgpu the modelled GPU
    char uuid[64];   // "" for vgpu
    char driver[64];
    int64_t memory_bytes;
    double bandwidth;           // specified DRAM bytes per second
    bool estimate;              // times are modelled
    bool counters;              // hardware counters may be collected
    char counters_reason[160];  // why not
    kc_device_facts_t facts;
} kc_dev_info_t;

// Compiled code as the compile child left it.  vgpu takes PTX, cuda takes a cubin.
typedef struct kc_dev_binary {
    const void *data;
    size_t size;
    bool is_ptx;
    // vgpu: registers and spills of ptxas' report where one ran, by symbol; NULL = estimate from the PTX
    const kc_kernel_facts_t *reported;
    size_t n_reported;
} kc_dev_binary_t;

// What a run found.  status OK = nothing.
typedef struct kc_dev_finding {
    kc_verdict_status_t status;
    bool sticky;
    char text[512];
    char kernel[128];
    int step;                 // plan step, -1 unknown
    int line, other_line;     // of the source, 0 unknown
    bool has_place;
    uint32_t block[3], thread[3];
    char buffer[64];
    bool has_index;
    int64_t index;            // element, negative = before the start
} kc_dev_finding_t;

// Placement of one arena: order and random padding of the buffers come from 'seed'.  Guards of at
// least 4 KiB lie on both sides of every buffer (0xA5 before, 0x5A after).
typedef struct kc_dev_layout {
    uint64_t seed;
    int64_t guard; // 0 = the default of 4096
} kc_dev_layout_t;

typedef struct kc_dev_limits {
    double seconds;        // wall limit of one run
    int64_t instructions;  // vgpu: lane instructions of one run
    bool printf_on;        // repair builds: device printf goes to stderr
} kc_dev_limits_t;

// One contestant of a timing: candidate, baseline or base.
typedef struct kc_dev_contestant {
    kc_dev_code_t *code;
    const kc_plan_t *plan;
    kc_dev_arena_t *arena;
} kc_dev_contestant_t;

enum { KC_DEV_MAX_CONTESTANTS = 3, KC_DEV_MAX_SAMPLES = 1000 };

typedef struct kc_dev_timing_options {
    int warmup_launches;     // at least this many ...
    double warmup_seconds;   // ... and this long
    int min_samples, max_samples;
    double min_seconds, max_seconds; // accumulated and wall
    uint64_t seed;           // content of the inputs, different for every sample
    bool graph;              // replay as CUDA graphs, all contestants alike
    // Called after some samples with everything idle: contestant c has just computed on the content
    // of content_key.  NULL = no verification.  Return -1 to stop.
    int (*verify) (void *arg, int contestant, int sample, uint64_t content_key);
    void *verify_arg;
} kc_dev_timing_options_t;

typedef struct kc_dev_timing {
    int n;                 // samples kept
    double *us[KC_DEV_MAX_CONTESTANTS]; // per contestant, in the order taken; owned, free with kc_dev_timing_free
    int discarded;         // samples below the clock limit
    bool suspect;          // event and host time disagree
    bool estimate;
    char note[256];
} kc_dev_timing_t;

// Evidence of one plan step, raw: facts and counters by name ("dram__bytes_read.sum", "vgpu.ld_sectors").
typedef struct kc_dev_counter {
    char name[96];
    double value;
} kc_dev_counter_t;
typedef struct kc_dev_step_counters {
    int step;             // first plan step of the launches summed here
    size_t n;
    kc_dev_counter_t *counters;
} kc_dev_step_counters_t;
typedef struct kc_dev_profile {
    size_t n_steps;
    kc_dev_step_counters_t *steps;
    double total_us;      // one run of the plan, kernels and gaps
    double kernel_us;     // sum of the kernels
    int passes;
    bool counters_missing;
    char missing_reason[160];
} kc_dev_profile_t;

typedef struct kc_dev_ops {
    const char *backend;
    void (*destroy) (kc_dev_t *dev);
    // Load; NULL with a finding (COMPILE_ERROR, UNSUPPORTED, INFRA_ERROR).
    kc_dev_code_t *(*load) (kc_dev_t *dev, const kc_dev_binary_t *binary, kc_dev_finding_t *finding);
    void (*unload) (kc_dev_t *dev, kc_dev_code_t *code);
    // Facts of kernel 'symbol'; -1 when there is none.  Strings of 'out' are left alone.
    int (*kernel_facts) (kc_dev_t *dev, kc_dev_code_t *code, const char *symbol, kc_kernel_facts_t *out);

    kc_dev_arena_t *(*arena) (kc_dev_t *dev, const kc_plan_t *plan, const kc_dev_layout_t *layout, kc_err_t *err);
    void (*arena_free) (kc_dev_t *dev, kc_dev_arena_t *arena);
    // Buffer 'index': fill with a repeated byte, generate by fill and key (kc_philox.h), copy in, copy out, hash.
    int (*poison) (kc_dev_t *dev, kc_dev_arena_t *arena, int index, unsigned char byte, kc_err_t *err);
    int (*generate) (kc_dev_t *dev, kc_dev_arena_t *arena, int index, const kc_card_fill_t *fill, uint64_t key, kc_err_t *err);
    int (*write) (kc_dev_t *dev, kc_dev_arena_t *arena, int index, const void *data, kc_err_t *err);
    int (*read) (kc_dev_t *dev, kc_dev_arena_t *arena, int index, void *data, kc_err_t *err);
    int (*hash) (kc_dev_t *dev, kc_dev_arena_t *arena, int index, uint64_t *out, kc_err_t *err);
    // Guards of every buffer; -1 and an OUT_OF_BOUNDS finding when a byte changed.
    int (*guards) (kc_dev_t *dev, kc_dev_arena_t *arena, kc_dev_finding_t *finding);

    // Run the plan once and wait.  0, or -1 with a finding.  'audit' runs serially and checks after every
    // step that only declared buffers changed (vgpu checks every store anyway).
    int (*run) (kc_dev_t *dev, const kc_dev_contestant_t *who, bool audit, const kc_dev_limits_t *limits, kc_dev_finding_t *finding);
    // Time 1..3 contestants, interleaved A B B A, scrubbed and flushed between samples.  0 or -1 with a finding.
    int (*time) (kc_dev_t *dev, const kc_dev_contestant_t *who, int n, const kc_dev_timing_options_t *options,
                 const kc_dev_limits_t *limits, kc_dev_timing_t *out, kc_dev_finding_t *finding);
    // Count.  Inputs must be generated already.  0 or -1 with a finding.
    int (*profile) (kc_dev_t *dev, const kc_dev_contestant_t *who, const kc_dev_limits_t *limits, kc_dev_profile_t *out, kc_dev_finding_t *finding);
} kc_dev_ops_t;

struct kc_dev { // every backend's device begins with this
    const kc_dev_ops_t *ops;
    kc_dev_info_t info;
};

typedef struct kc_dev_config {
    const char *gpu;       // vgpu: row of the GPU table; cuda: UUID or index, NULL = first
    const char *cuda_path; // where CUDA libraries are looked for first, may be NULL
} kc_dev_config_t;

// Open a device.  NULL with KC_EUNSUPPORTED where the backend does not exist here.
kc_dev_t *kc_dev_open_cuda (const kc_dev_config_t *config, kc_err_t *err);
kc_dev_t *kc_dev_open_vgpu (const kc_dev_config_t *config, kc_err_t *err);
void kc_dev_close (kc_dev_t **dev_p);

void kc_dev_timing_free (kc_dev_timing_t *timing);
void kc_dev_profile_free (kc_dev_profile_t *profile);
// Move a finding into a verdict's list (at most 8 are kept) and return the list's entry.
kc_verdict_finding_t *kc_dev_finding_add (kc_verdict_t *verdict, const kc_dev_finding_t *finding, const kc_plan_t *plan);

#endif // KC_DEVICE_H
