/* kc_program.h - what every holder of a program does with it: check, name by hash,
 * change one thing
 *
 * A program document is valid when the codec accepts it and kc_program_check finds
 * nothing: names are unique and never shadow, expressions parse, steps and blocks keep
 * the bounds.  What depends on a task (shapes, types, launches) is the plan's business
 * (kc_plan.h).
 */
#ifndef KC_PROGRAM_H
#define KC_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

#include "common/msg/gen/program.h"
#include "common/msg/gen/verdict.h"
#include "common/util/kc_err.h"
#include "common/util/kc_hash.h"

// Strictly decode, check and normalise a JSON document; NULL: 'findings' got PLAN_ERROR
// findings with JSON pointers.
kc_program_t *kc_program_read (const char *json, size_t size, kc_verdict_t *findings);
// Check what the schema cannot say; 0, or -1 with findings.
int kc_program_check (const kc_program_t *program, kc_verdict_t *findings);
// Write out the arguments that kernel steps take by name, in the order of the signature
// (what text form and kc_program_read do as well, so that equal meaning has equal
// hashes).  0, or -1 with findings.
int kc_program_normalise (kc_program_t *program, kc_verdict_t *findings);
// SHA-256 of the canonical JSON; -1 (hex = "") when the program breaks its schema.
int kc_program_hash (const kc_program_t *program, char hex[KC_SHA_HEX]);

// The constant 'name', or NULL; borrowed.
const kc_program_constant_t *kc_program_constant (const kc_program_t *program,
                                                  const char *name);
// The value of a constant or switch as text, as kc_program_change takes it; caller
// frees; NULL unknown. Switches: compile.std compile.fast_math compile.fmad
// compile.max_registers (empty = none) order launch.
char *kc_program_value (const kc_program_t *program, const char *name);
// Set it.  0, or -1 with KC_ENOTFOUND / KC_EINVALID and the program unchanged.
int kc_program_change (kc_program_t *program, const char *name, const char *to,
                       kc_err_t *err);

// Steps of all prepare blocks, then of all blocks: the numbering of findings and plans.
size_t kc_program_n_steps (const kc_program_t *program);
// Step 'i' of that numbering; its block in *block_p and whether it belongs to prepare;
// NULL past the end.
const kc_program_step_t *kc_program_step (const kc_program_t *program, size_t i,
                                          const kc_program_block_t **block_p,
                                          bool *prepare_p);
// The variant of a step and its table (never NULL for a decoded step).
const void *kc_program_step_object (const kc_program_step_t *step,
                                    const kc_type_t **type_p);
// A word that no constant, buffer, dim or tensor may have: device facts and functions.
bool kc_program_reserved (const char *name);

#endif // KC_PROGRAM_H
