/* kc_units.h - the compiled units of an evaluation: program x sizes, in parallel, each once
 *
 * A program is compiled once per distinct set of constants.  Units that ask for the same bytes share one
 * compilation.  What is wrong with one unit does not stop the others; the caller looks at each.
 */
#ifndef KC_UNITS_H
#define KC_UNITS_H

#include "agents/gpu/bench/kc_bench.h"
#include "common/msg/gen/verdict.h"

typedef struct kc_units kc_units_t;

typedef struct kc_unit_spec { // borrowed until kc_units_destroy
    const kc_card_t *card;
    const kc_program_t *program;
    const kc_task_setting_t *dims; // NULL, 0 = the card's
    size_t n_dims;
} kc_unit_spec_t;

// 'done' is called from the loop when all are there, never from inside this function.
kc_units_t *kc_units_start (kc_bench_t *bench, const kc_unit_spec_t *specs, size_t n, void (*done) (void *arg), void *arg);
// Cancels what still runs; 'done' is not called any more.
void kc_units_destroy (kc_units_t **self_p);

// The compiled code of unit i when it is good, else NULL: its findings say why.
const kc_compiled_t *kc_units_code (const kc_units_t *self, size_t i);
// Status, findings and log of unit i (OK without findings when it is good).
const kc_verdict_t *kc_units_verdict (const kc_units_t *self, size_t i);
// Seconds spent compiling, cached results not counted.
double kc_units_seconds (const kc_units_t *self);

#endif // KC_UNITS_H
