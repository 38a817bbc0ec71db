/* kc_lift.h - ordinary CUDA with a host launcher turned into program text
 *
 * Finds every kernel<<<grid, block[, shared[, stream]]>>>(arguments) of host code,
 * walks the enclosing function backwards to replace local integer definitions, maps
 * size (), numel () and data_ptr () to plan words, and keeps the device code.  What it
 * does not understand it refuses with the sentence.
 */
#ifndef KC_LIFT_H
#define KC_LIFT_H

#include <stdbool.h>
#include <stddef.h>

#include "common/msg/gen/card.h"
#include "common/util/kc_err.h"

// The text has host launches and no plan: lifting it is worth a try.
bool kc_lift_applies (const char *text, size_t size);
// Program text (//@ lines, then device code), to be parsed with kc_program_text_parse;
// caller frees. 'card' (may be NULL) tells the names of the task's tensors; host
// tensors of other names are matched by position: the launcher's tensor parameters are
// the inputs and params, what it returns the outputs. NULL with KC_EUNSUPPORTED and the
// sentence that was not understood.
char *kc_lift (const char *text, size_t size, const kc_card_t *card, kc_err_t *err);

#endif // KC_LIFT_H
