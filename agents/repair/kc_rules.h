/* kc_rules.h - rule repairs: what can be mended with certainty, without a model
 *
 * Rules by class of error, in this order:
 *   lift          the source has ordinary host launch code: it becomes //@ lines
 *   entry         a step names a kernel that the source has under another name
 *   arguments     explicit arguments do not fit the signature: they are dropped and bind by name, or take
 *                 the name of the one known thing that the parameter's name is a typo of
 *   resources     registers times threads do not fit: the compiler is held to what fits
 *   roll_back     nothing else applies: the last method's change is given up
 * A rule that was used in the chain before, or whose result was tried before, is passed over.  Pure.
 */
#ifndef KC_RULES_H
#define KC_RULES_H

#include "common/msg/gen/repair.h"

// Never NULL.  With a candidate, or with note.gave_up.
kc_repair_fix_reply_t *kc_rules_fix (const kc_repair_fix_t *request);

#endif // KC_RULES_H
