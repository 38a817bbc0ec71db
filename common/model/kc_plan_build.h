/* kc_plan_build.h - the plan in the making, shared by the files that make it (inside
 * common/model) */
#ifndef KC_PLAN_BUILD_H
#define KC_PLAN_BUILD_H

#include "common/model/kc_plan_env.h"

typedef struct kc_plan_build {
    kc_env_t *env;
    kc_plan_t *plan;
    bool prepare; // the step in work belongs to prepare
    bool *failed; // per source step: reported already
    bool *zeroed; // per buffer
    bool bad;
} kc_plan_build_t;

// Append an empty step for the source step in work; NULL when there are too many
// (reported).
kc_plan_step_t *kc_plan_add_step (kc_plan_build_t *b, kc_plan_op_t op);
// Add the bytes [from, to) of a buffer to what the step touches.
void kc_plan_touch (kc_plan_step_t *step, int buffer, int64_t from, int64_t to,
                    bool writes);
// The step may write tensor 't': reported otherwise ("x must be const: x is an input").
int kc_plan_may_write (kc_plan_build_t *b, const kc_env_tensor_t *t, int line,
                       const char *who);
// The step may use tensor 't' at all (prepare sees parameters and prepared buffers
// only).
int kc_plan_may_use (kc_plan_build_t *b, const kc_env_tensor_t *t, const char *who);
// Find a tensor a step names; -1 reported.
int kc_plan_tensor (kc_plan_build_t *b, const char *what, const char *name,
                    kc_env_tensor_t *t);

int kc_plan_kernel_step (kc_plan_build_t *b,
                         const kc_program_kernel_t *k); // kc_plan_bind.c
int kc_plan_copy_step (kc_plan_build_t *b,
                       const kc_program_copy_t *k); // kc_plan_move.c
int kc_plan_fill_step (kc_plan_build_t *b, const kc_program_fill_t *k);
int kc_plan_library_step (kc_plan_build_t *b,
                          const kc_program_step_t *step); // kc_plan_library.c
// A number as the bits of the two 16-bit types, rounded to nearest even.
uint16_t kc_plan_half (double v); // kc_plan_bind.c
uint16_t kc_plan_bfloat (double v);
// Fields of a tensor map against the hardware's rules; the tensor in *t.
int kc_plan_check_map (kc_plan_build_t *b, const kc_program_tensormap_t *map,
                       kc_env_tensor_t *t); // kc_plan_library.c

// After all steps are there: outputs written, scratch written before it is read, no
// dead steps, edges.
int kc_plan_check_flow (kc_plan_build_t *b); // kc_plan_flow.c
void kc_plan_edges (kc_plan_t *plan);        // kc_plan_edges.c

#endif // KC_PLAN_BUILD_H
