/* kc_turn.h - the built-in writer of cuda tasks: the given kernel is the seed, its tunables and the
 * compile switches are what the methods turn
 *
 * Pure: equal requests give equal answers.
 */
#ifndef KC_TURN_H
#define KC_TURN_H

#include "common/msg/gen/coder.h"
#include "common/util/kc_err.h"

// The first candidate of a task.  Never NULL; a task kind without a writer fails with KC_EUNSUPPORTED.
kc_coder_seed_reply_t *kc_turn_seed (const kc_coder_seed_t *request, kc_err_t *err);
// The first change of the method that was not tried, or the reason why there is none.
kc_coder_optimise_reply_t *kc_turn_optimise (const kc_coder_optimise_t *request, kc_err_t *err);

#endif // KC_TURN_H
