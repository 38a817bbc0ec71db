/* kc_promote.h - a program rewritten to double precision, to serve as reference of a
 * cuda task
 *
 * Works on tokens: float becomes double, float literals lose their suffix, math
 * functions take their double form, f32 tensors and buffers become f64.  Anything that
 * makes this unsafe (half types, inline assembly, bit casts of floats, fp32-only
 * intrinsics ...) is KC_EUNSUPPORTED with the reason; the caller then uses the program
 * itself as reference.  The result is admitted only after it agreed with the given
 * kernel.
 */
#ifndef KC_PROMOTE_H
#define KC_PROMOTE_H

#include "common/msg/gen/card.h"
#include "common/msg/gen/program.h"
#include "common/util/kc_err.h"

// The program in double, and in *card_p a copy of the card whose f32 tensors are f64
// (fills unchanged).
kc_program_t *kc_promote (const kc_card_t *card, const kc_program_t *program,
                          kc_card_t **card_p, kc_err_t *err);

#endif // KC_PROMOTE_H
