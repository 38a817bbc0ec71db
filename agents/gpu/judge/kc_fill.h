/* kc_fill.h - a tensor's fill as the card names it, as the generator of kc_philox.h takes it */
#ifndef KC_FILL_H
#define KC_FILL_H

#include "agents/gpu/judge/kc_philox.h"
#include "common/msg/gen/card.h"

kc_u32 kc_fill_type_of (kc_program_dtype_t dtype);
// Parameters that the card leaves out: uniform and normal 0, 1; integer 0, 1; bool 0.5; constant 0.
kc_fill_t kc_fill_make (const kc_card_fill_t *fill, kc_program_dtype_t dtype, int64_t elements, uint64_t key);

#endif // KC_FILL_H
