/* kc_card.h - from the text of a cuda task to its card: everything that is fixed about
 * the task
 *
 * The card is built once, by the evaluator's inspection, for one device class.  It
 * resolves the shapes, finds the floor (each input read once, each output written once,
 * inout both), adds two odd check shapes where the author gave none, and proves that
 * the given kernel's plan is valid at the task's dims and at every check.  Refusals
 * carry the author's lines.
 */
#ifndef KC_CARD_H
#define KC_CARD_H

#include <stdint.h>

#include "common/model/kc_plan.h"
#include "common/model/kc_program_text.h"

// Build the card of a parsed task at the dims overridden by 'set'.  'memory_bytes' of
// the device bounds the tensors (0 = unknown).  NULL: 'findings' says why.
kc_card_t *kc_card_build (const kc_program_text_t *text, const kc_task_setting_t *set,
                          size_t n_set, const kc_card_device_t *device,
                          int64_t memory_bytes, kc_verdict_t *findings);
// The facts of a device class, as far as the card knows them; the rest by compute
// capability.
void kc_card_facts (const kc_card_device_t *device, kc_device_facts_t *facts);
// The fill of tensor 'i' (no output) at other dims: plain numbers, nothing to free.
int kc_card_fill (const kc_card_t *card, size_t i, const kc_task_setting_t *dims,
                  size_t n_dims, kc_card_fill_t *out, kc_err_t *err);
// The sizes of tensor 'i' of the card at other dims (missing ones are the card's); the
// rank, or -1.
int kc_card_sizes (const kc_card_t *card, size_t i, const kc_task_setting_t *dims,
                   size_t n_dims, int64_t sizes[KC_PLAN_MAX_RANK], kc_err_t *err);
// The card's tensor 'name', or NULL.
const kc_card_tensor_t *kc_card_tensor (const kc_card_t *card, const char *name);

#endif // KC_CARD_H
