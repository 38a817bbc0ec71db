/* kc_bench_open.h - what evaluator and profiler do at start: find the device, the compiler and the lock */
#ifndef KC_BENCH_OPEN_H
#define KC_BENCH_OPEN_H

#include "agents/gpu/bench/kc_bench.h"
#include "common/net/kc_daemon.h"

// The rows of both daemons' option tables.
#define KC_OPT_BENCH                                                                   \
    {"backend", 0, KC_OPT_STRING, "KC_BACKEND", "auto", 0, 0, "NAME", "cuda, vgpu (the virtual GPU), or auto: cuda where a GPU is found"}, \
        {"gpu", 0, KC_OPT_STRING, "KC_GPU", 0, 0, 0, "NAME", "UUID or index of a real GPU; name of the GPU that the virtual one models"}, \
        {"cuda", 0, KC_OPT_STRING, "KC_CUDA", 0, 0, 0, "DIR", "where CUDA libraries are looked for first"}, \
        {"front", 0, KC_OPT_STRING, 0, "auto", 0, 0, "NAME", "compiler: nvrtc, clang, or auto"}, \
        {"runner", 0, KC_OPT_STRING, 0, 0, 0, 0, "PATH", "program that runs candidates (default: kc-runner beside this one)"}, \
    {                                                                                  \
        "lock-dir", 0, KC_OPT_STRING, "KC_LOCK_DIR", 0, 0, 0, "DIR", "directory of the GPUs' locks, the same for all processes of a host (default /tmp/kernelclaw-locks)" \
    }

// From the 'start' of a daemon with these options: probes the device, opens the compiler, makes the lock's
// path and tells the broker what this machine has.  Close it also after a failure.
int kc_bench_open (kc_bench_t *self, kc_daemon_t *daemon, kc_err_t *err);
void kc_bench_close (kc_bench_t *self);

#endif // KC_BENCH_OPEN_H
