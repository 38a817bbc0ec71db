/* kc_evidence.h - from raw counters, facts and code to the evidence fields, for both backends
 *
 * The one place where evidence is derived.  Every number field of a step is either set or listed in
 * 'absent' with its reason, and every set one is listed in 'sources'.  Pure.
 */
#ifndef KC_EVIDENCE_H
#define KC_EVIDENCE_H

#include "agents/gpu/device.h"
#include "agents/gpu/vgpu/ptx_module.h"
#include "common/msg/gen/evidence.h"

typedef struct kc_evidence_input {
    const kc_card_t *card;
    const kc_plan_t *plan;          // at the task's dims, with the kernels' facts
    const kc_device_facts_t *facts;
    double bandwidth;               // specified bytes per second
    double copy_bandwidth;          // what a copy reaches; the floor's denominator
    const kc_dev_profile_t *profile;
    bool estimate;                  // counts and times of the virtual GPU
    const ptx_module_t *ptx;        // for the code features, NULL = none
} kc_evidence_input_t;

// Caller frees.  Never NULL.
kc_evidence_t *kc_evidence_derive (const kc_evidence_input_t *input);

#endif // KC_EVIDENCE_H
