/* kc_program_args.h - argument lists of kernel steps derived from signatures (inside
 * common/model) */
#ifndef KC_PROGRAM_ARGS_H
#define KC_PROGRAM_ARGS_H

#include "common/model/kc_signature.h"
#include "common/msg/gen/program.h"

// Give every parameter that the step does not name an argument of its own name, and
// sort the list into the signature's order.  -1 with the name of an argument that is no
// parameter in *stray_p (borrowed).
int kc_program_fill_args (kc_program_kernel_t *step,
                          const kc_kernel_signature_t *signature, const char **stray_p);
// The argument is the one that kc_program_fill_args would make.
bool kc_program_arg_derived (const kc_program_arg_t *arg, const kc_param_t *param);

#endif // KC_PROGRAM_ARGS_H
