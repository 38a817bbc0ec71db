/* fake_driver.h - a CUDA driver on host memory, for tests of the backend's logic
 *
 * Device memory is host memory.  Work is queued on the one stream and done when the
 * host asks about it, so the gate holds what is behind it as on a GPU.  Time is
 * virtual: every kernel has a cost.  Kernels are C functions known by name; the trusted
 * ones are trusted.cu itself.  Any call can be made to fail, every call is counted, and
 * what is still allocated at the end is known.
 */
#ifndef KC_FAKE_DRIVER_H
#define KC_FAKE_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agents/gpu/cuda/cuda_api.h"

typedef void (*kc_fake_kernel_f) (void **params, const unsigned *grid,
                                  const unsigned *block);

typedef struct kc_fake_kernel {
    const char *name;
    kc_fake_kernel_f run;
    size_t n_params, sizes[8]; // offsets follow from natural alignment
    int max_threads, registers, shared, local;
    double us;
    kc_cu_result_t error; // what the device says when it runs; sticky ones stay
    bool forever;         // never ends
} kc_fake_kernel_t;

typedef struct kc_fake_alloc {
    void *p;
    size_t size;
} kc_fake_alloc_t;

enum { KC_FAKE_LOG = 1 << 16 };

typedef struct kc_fake {             // the state of the one fake driver
    const kc_fake_kernel_t *kernels; // the candidate's
    size_t n_kernels;
    const char *constant; // one __constant__ symbol of 16 bytes, NULL = none
    unsigned char constant_bytes[16];
    int sm, optin, clusters, cooperative,
        resident; // resident: blocks per SM that occupancy tells
    size_t memory;
    double clock_mhz;
    // failures
    long fail_at; // the call of this number fails, -1 = none; counted from 1
    kc_cu_result_t fail_with;
    kc_cu_result_t sticky; // every call answers this
    // observations
    long calls;              // so far
    long calls_after_sticky; // calls made although one had answered a sticky error
    int contexts, streams, events, modules, graphs, execs;
    size_t n_allocs;
    kc_fake_alloc_t *allocs;
    char log[KC_FAKE_LOG]; // names of what was queued and done, separated by spaces
    size_t log_size;
    int shared_opt_in;  // last MAX_DYNAMIC_SHARED of a candidate's kernel
    int non_portable;   // NON_PORTABLE_CLUSTER was set
    int nodes, edges;   // of the last graph
    char edge_log[512]; // "1<-0 2<-1 ..."
    double now_us;
    bool late_gate; // the gate pretends that its limit passed
    // internal
    void *queue;
    size_t n_queue, at_queue;
    void **owned;
    size_t n_owned;
} kc_fake_t;

extern kc_fake_t kc_fake; // tests reset and read it

void kc_fake_reset (void); // an H200-like device, no candidate
const kc_cuda_api_t *kc_fake_api (void);
size_t kc_fake_leaks (void); // objects still alive
void kc_fake_clear_log (void);
int kc_fake_count (const char *word); // occurrences in the log

// trusted_host.c
void kc_host_hash (void **p, const unsigned *grid, const unsigned *block);
void kc_host_guard (void **p, const unsigned *grid, const unsigned *block);
void kc_host_generate (void **p, const unsigned *grid, const unsigned *block);

#endif // KC_FAKE_DRIVER_H
