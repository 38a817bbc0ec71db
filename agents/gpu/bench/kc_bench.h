/* kc_bench.h - the workbench of an evaluator or profiler: what its requests share
 *
 * One per process, made by main and borrowed by everything else.  It knows the device class (from a probe by
 * a kc-runner; this process never loads CUDA) and owns the small caches whose entries are facts: times that a
 * deterministic model gave, and reference outputs of contents that no program has seen.
 */
#ifndef KC_BENCH_H
#define KC_BENCH_H

#include "agents/gpu/compile/kc_compile.h"
#include "agents/gpu/judge/kc_cases.h"
#include "agents/gpu/runner/kc_run.h"
#include "common/model/kc_plan.h"
#include "common/msg/gen/card.h"
#include "common/msg/gen/runner.h"
#include "common/net/kc_loop.h"
#include "common/net/kc_node.h"
#include "common/util/kc_map.h"

enum {
    KC_BENCH_TIMES = 4096,           // estimates kept
    KC_BENCH_OUTPUTS = 768 << 20,    // bytes of reference outputs kept
    KC_BENCH_LOCK_POLL_MS = 20,
};

typedef struct kc_stored kc_stored_t;

typedef struct kc_bench {
    kc_loop_t *loop;
    kc_node_t *node;          // NULL in tools and tests that fetch nothing
    kc_compiler_t *compiler;
    const char *runner;       // absolute path, NULL = kc-runner beside this binary
    const char *gpu;          // as given: a row of the table, a UUID, or NULL
    const char *cuda_path;
    const char *lock_path;    // of the GPU's lock, NULL = none
    const kc_runner_device_t *device;
    kc_runner_device_t *own_device; // set by kc_bench_open, like the next one
    char *own_lock_path;
    kc_device_facts_t facts;
    kc_map_t *times;          // estimates: "program hash/card hash" -> double *
    kc_stored_t *stored;      // reference outputs, newest first
    size_t stored_bytes;
    int64_t wall_ms;          // of every runner, 0 = the usual limits
    char secret[KC_SECRET_HEX]; // of this process: seeds of contents whose reference is kept
} kc_bench_t;

void kc_bench_init (kc_bench_t *self, kc_loop_t *loop, kc_compiler_t *compiler);
void kc_bench_free (kc_bench_t *self); // what it owns; not loop, node and compiler
// Take over the device that a probe found (borrowed).
void kc_bench_device (kc_bench_t *self, const kc_runner_device_t *device);
// Does the card's device class name this device?  -1 with KC_EUNSUPPORTED.
int kc_bench_serves (const kc_bench_t *self, const kc_card_device_t *device, kc_err_t *err);
// The device class as cards carry it; caller frees.
kc_card_device_t *kc_bench_card_device (const kc_bench_t *self);

// Estimates of a deterministic model by program and card; 0 = unknown.
double kc_bench_time (const kc_bench_t *self, const kc_program_t *program, const kc_card_t *card);
void kc_bench_keep_time (kc_bench_t *self, const kc_program_t *program, const kc_card_t *card, double us);

// A reference output of (card, content) by tensor, or NULL; valid until the next kc_bench_keep_output.
const void *kc_bench_output (const kc_bench_t *self, const char *card_hash, int64_t key, const char *tensor, size_t *size);
void kc_bench_keep_output (kc_bench_t *self, const char *card_hash, int64_t key, const char *tensor, const void *data, size_t size);

// A probe: start a runner that says what the device is.  'done' gets the device (owned by the callee) or NULL and why.
typedef void (kc_bench_probe_f) (void *arg, kc_runner_device_t *device, const kc_err_t *err);
int kc_bench_probe (kc_loop_t *loop, const char *runner, kc_runner_job_backend_t backend, const char *gpu, const char *cuda_path,
                    kc_bench_probe_f *done, void *arg, kc_err_t *err);

// Wait for the GPU's lock, then call with its descriptor (close it after kc_run_start), or -1 when there is
// nothing to lock.  0 = waiting: cancel with kc_loop_timer_del (*timer).
typedef struct kc_bench_lock {
    kc_bench_t *bench;
    int64_t timer;
    void (*call) (void *arg, int fd);
    void *arg;
} kc_bench_lock_t;
void kc_bench_lock (kc_bench_lock_t *lock, kc_bench_t *bench, void (*call) (void *arg, int fd), void *arg);
void kc_bench_lock_cancel (kc_bench_lock_t *lock);

#endif // KC_BENCH_H
