/* kc_content.h - what the inputs of a case hold
 *
 * Content is a function of (tensor, sizes, value range, number and seed of the case)
 * alone; candidate, yardsticks and reference get equal inputs by computing it anew in
 * their own processes. task        the card's fill scaled      other magnitudes and,
 * where the fill is not one-sided, zero mean: a kernel that is right for the announced
 * distribution only, or that skips small terms, shows here structured  ramps, rare
 * spikes, or small values with a large suffix: sampling a prefix shows here table the
 * task's fill drawn from 65,536 values: cheap enough for a full shape on the virtual
 * GPU Values stay inside the domain that the fill promises (a positive tensor stays
 * positive); integers, booleans, permutations and constants are never changed.
 */
#ifndef KC_CONTENT_H
#define KC_CONTENT_H

#include <stdbool.h>
#include <stdint.h>

#include "agents/gpu/judge/kc_philox.h"
#include "common/msg/gen/card.h"
#include "common/msg/gen/runner.h"

enum { KC_CONTENT_TABLE = 65536 };

typedef enum kc_content_kind {
    KC_CONTENT_FILL = 1, // kc_card_fill and key: a device can generate it
    KC_CONTENT_RAMP,
    KC_CONTENT_SPIKES,
    KC_CONTENT_SUFFIX,
    KC_CONTENT_DRAWN, // from a table
} kc_content_kind_t;

typedef struct kc_content {
    kc_content_kind_t kind;
    kc_card_fill_t fill; // FILL and DRAWN
    uint64_t key;
    double lo, hi; // RAMP: from lo to hi; SPIKES: hi among small values; SUFFIX: lo to
                   // hi after small ones
    double base, rest;       // small values: between base + rest / 2 and base + rest
    int64_t elements, inner; // inner: length of the last axis
} kc_content_t;

// The content of input, param or inout 'tensor' at these sizes.
kc_content_t kc_content (const kc_card_tensor_t *tensor, const int64_t *sizes, int rank,
                         kc_runner_values_t values, int variant, uint64_t seed);
// Compute all elements on the host into 'out' (elements of 'dtype').
void kc_content_write (const kc_content_t *self, kc_program_dtype_t dtype, void *out);
// 'elements' values drawn from a table of KC_CONTENT_TABLE values of the fill (all from
// the fill when there are fewer): what 'table' content is, and what the virtual GPU is
// timed on.
void kc_content_drawn (const kc_card_fill_t *fill, kc_program_dtype_t dtype,
                       uint64_t key, int64_t elements, void *out);
// 'elements' values of 'from' as doubles.
void kc_content_widen (kc_program_dtype_t from, const void *in, int64_t elements,
                       double *out);

#endif // KC_CONTENT_H
