/* kc_features.h - what the compiled code of a kernel is like, read from its PTX, never from source text
 *
 * Fills the code_* fields of an evidence step (kernel-program 5.3) and its structure with the rule that
 * fired.  Counts are static: instructions in the code, not executions.  Pure.
 */
#ifndef KC_FEATURES_H
#define KC_FEATURES_H

#include "agents/gpu/vgpu/ptx_module.h"
#include "common/msg/gen/evidence.h"

typedef struct kc_features_context {
    double blocks;  // of the launch
    double outputs; // elements that the step's written buffers hold
    double stores;  // warp-wide stores that were counted, negative = unknown
    double ld_efficiency, st_efficiency; // counted, negative = unknown
} kc_features_context_t;

// 'kernel' must be a function of 'module' with a body.
void kc_features_read (const ptx_module_t *module, const ptx_func_t *kernel, const kc_features_context_t *context,
                       kc_evidence_step_t *out);

#endif // KC_FEATURES_H
