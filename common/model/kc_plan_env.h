/* kc_plan_env.h - what names mean while a plan is built (inside common/model)
 *
 * One environment per (card, program, dims, device, compiled kernels).  It resolves
 * constants (each once, with cycles found), dims, device facts, loop indices, tensors,
 * views and kernel facts, and evaluates expressions from a cache of parsed ones, since
 * a loop evaluates the same text thousands of times.
 */
#ifndef KC_PLAN_ENV_H
#define KC_PLAN_ENV_H

#include "common/model/kc_expr.h"
#include "common/model/kc_plan.h"
#include "common/model/kc_signature.h"
#include "common/util/kc_map.h"

enum { KC_ENV_LOOPS = 3, KC_ENV_VIEWS_DEEP = 8 };

// A tensor or view at this moment (loop indices included).
typedef struct kc_env_tensor {
    const char *name;
    int buffer; // index in the plan's buffers
    kc_program_dtype_t dtype;
    int rank;
    int64_t sizes[KC_PLAN_MAX_RANK], strides[KC_PLAN_MAX_RANK]; // elements
    int64_t offset; // elements from the buffer's start
    int64_t elements;
    int64_t low, high; // elements touched, from the buffer's start (strided: bounding)
    bool contiguous;
    bool view;
} kc_env_tensor_t;

typedef struct kc_env {
    const kc_card_t *card;
    const kc_program_t *program;
    const kc_device_facts_t *facts;
    const kc_kernel_facts_t *kernels;
    size_t n_kernels;
    bool dry; // nothing is compiled yet
    kc_verdict_t *findings;
    kc_signatures_t *signatures;
    size_t n_dims;
    kc_task_setting_t *dims;
    struct kc_env_constant *constants; // in the program's order
    size_t n_buffers;                  // card tensors, then buffers of the program
    kc_plan_buffer_t *buffers;
    kc_map_t *expressions; // text -> kc_expr_t
    int n_loops;
    struct {
        const char *index;
        int64_t value;
    } loops[KC_ENV_LOOPS];
    // the step in work
    int step;           // -1 = none
    const char *kernel; // of a kernel step, base name
    const char *kernel_full;
    int64_t block, shared; // of its launch; block 0 = not known yet
    bool source_constant;  // evaluating what the source needs to be compiled
    int view_depth;
    size_t n_known; // names to suggest
    const char **known;
} kc_env_t;

// Make an environment.  Checks names of card and program against each other, resolves
// all buffers. NULL with findings.
kc_env_t *kc_env_new (const kc_card_t *card, const kc_program_t *program,
                      const kc_task_setting_t *dims, size_t n_dims,
                      const kc_device_facts_t *facts, const kc_kernel_facts_t *kernels,
                      size_t n_kernels, kc_verdict_t *findings);
void kc_env_destroy (kc_env_t **self_p);

// Add a PLAN_ERROR about the present step; return -1.
int kc_env_bad (kc_env_t *env, int line, const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));

int kc_env_value (kc_env_t *env, const char *text, kc_value_t *out, kc_err_t *err);
int kc_env_int (kc_env_t *env, const char *text, int64_t *out, kc_err_t *err);
int kc_env_bool (kc_env_t *env, const char *text, bool *out, kc_err_t *err);
int kc_env_real (kc_env_t *env, const char *text, double *out, kc_err_t *err);
// The value of constant 'i'.
int kc_env_constant (kc_env_t *env, size_t i, kc_value_t *out, kc_err_t *err);
// Tensor or view 'name': 1, 0 unknown, -1 with err.  'loose' also finds the name in
// another case.
int kc_env_tensor (kc_env_t *env, const char *name, bool loose, kc_env_tensor_t *out,
                   kc_err_t *err);
// The product of sizes; -1 when one is negative or there are more than 2^42 elements.
int kc_env_product (const int64_t *sizes, int rank, int64_t *out);
const kc_program_tensormap_t *kc_env_map (const kc_env_t *env, const char *name,
                                          bool loose);
// Scalar 'name' (constant, dim, loop index, device fact), in another case when 'loose':
// 1, 0 or -1.
int kc_env_scalar (kc_env_t *env, const char *name, bool loose, kc_value_t *out,
                   kc_err_t *err);
// Names of scalars, tensors and views as one line for texts; caller frees.
char *kc_env_names (const kc_env_t *env, bool tensors);
// Compiled facts of the kernel with the full name, NULL when there are none (dry).
const kc_kernel_facts_t *kc_env_kernel (const kc_env_t *env, const char *full);
// "k<4, float>": template arguments evaluated where they are expressions.  Caller
// frees; NULL with err.
char *kc_env_kernel_name (kc_env_t *env, const kc_program_kernel_t *k, kc_err_t *err);
// Dims of the environment as text "B=3 D=7"; caller frees.
char *kc_env_dims (const kc_env_t *env);

#endif // KC_PLAN_ENV_H
