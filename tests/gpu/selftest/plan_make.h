/* plan_make.h - plans by hand, for tests of devices: no program text, no binder */
#ifndef KC_PLAN_MAKE_H
#define KC_PLAN_MAKE_H

#include "common/model/kc_plan.h"

typedef struct kc_pm_arg {
    int buffer;          // -1 = immediate
    int64_t byte_offset; // added to the buffer's address
    bool writes;
    size_t size; // of an immediate
    unsigned char bytes[16];
} kc_pm_arg_t;

kc_plan_t *kc_pm_new (void); // free with kc_pm_free
void kc_pm_free (kc_plan_t **plan_p);
// Index of the new buffer; inputs get a uniform fill in [-1, 1) (floats) or 0..99
// (integers).
int kc_pm_buffer (kc_plan_t *plan, const char *name, kc_plan_role_t role,
                  kc_program_dtype_t dtype, int64_t elements);
int kc_pm_kernel (kc_plan_t *plan, const char *name);
// Append a launch of one-dimensional grid and block; ranges follow from the arguments.
kc_plan_step_t *kc_pm_launch (kc_plan_t *plan, int kernel, uint32_t grid,
                              uint32_t block, int64_t shared, size_t n_args,
                              const kc_pm_arg_t *args);
kc_plan_step_t *kc_pm_copy (kc_plan_t *plan, int dst, int src, int64_t bytes);
kc_plan_step_t *kc_pm_fill (kc_plan_t *plan, int dst, uint32_t pattern,
                            int pattern_size);

kc_pm_arg_t kc_pm_in (int buffer);  // const T *
kc_pm_arg_t kc_pm_out (int buffer); // T *
kc_pm_arg_t kc_pm_i32 (int32_t v);
kc_pm_arg_t kc_pm_i64 (int64_t v);
kc_pm_arg_t kc_pm_f32 (float v);

#endif // KC_PLAN_MAKE_H
