/* selftest.h - what the parts of kc-cuda-selftest share: the device, the loaded
 * candidates, one line per check */
#ifndef KC_SELFTEST_H
#define KC_SELFTEST_H

#include <stdbool.h>

#include "agents/gpu/cuda/cuda_dev.h"
#include "agents/gpu/device.h"
#include "tests/gpu/selftest/plan_make.h"

typedef struct kc_st {
    kc_dev_t *dev;
    kc_cuda_dev_t *cuda; // the same, inside
    kc_dev_code_t *code;
    int passed, failed;
} kc_st_t;

// One contestant with its own arena; the plan belongs to it.
typedef struct kc_st_run {
    kc_plan_t *plan;
    kc_dev_contestant_t who;
} kc_st_run_t;

// Print "ok NAME: facts" or "FAIL NAME: facts" and count.
void kc_st_check (kc_st_t *st, bool good, const char *name, const char *format, ...)
    __attribute__ ((format (printf, 4, 5)));
// Lay out the plan's buffers and generate its inputs; false (and a FAIL line) when that
// fails.
bool kc_st_prepare (kc_st_t *st, kc_st_run_t *run, kc_plan_t *plan);
void kc_st_release (kc_st_t *st, kc_st_run_t *run);
double kc_st_median (double *values, int n); // sorts

void kc_st_basics (kc_st_t *st);
void kc_st_launches (kc_st_t *st);
void kc_st_timing (kc_st_t *st);
void kc_st_leftovers (kc_st_t *st);
void kc_st_profile (kc_st_t *st);
// One fault that ends the context: "oob", "misaligned", "trap", "hang".  Unknown names:
// -1.
int kc_st_fault (kc_st_t *st, const char *name);

extern const kc_dev_limits_t kc_st_limits;

extern const unsigned char kc_selftest_kernels[];
extern const unsigned long kc_selftest_kernels_size;

#endif // KC_SELFTEST_H
