/* kc_compare.h - is an output right?  One predicate, fed with the output's bytes in any
 * pieces
 *
 * Gate A: every element, |got - expected| <= a * scale + rtol * |expected|, where scale
 * is the root mean square of the expected values (never an absolute number: that is
 * what lets zeros pass a softmax). Gate B: the relative RMS error of the whole output.
 * NaN and infinities must stand where they are expected. Integers, booleans and the
 * policy 'exact' are compared for equality.  The verdict, the count of bad elements and
 * the first bad one come from the same comparison, so they cannot contradict each
 * other. No I/O, no device, no allocation in kc_compare_feed; any thread.
 */
#ifndef KC_COMPARE_H
#define KC_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/msg/gen/card.h"
#include "common/msg/gen/program.h"

enum {
    KC_COMPARE_RANK = 8,
    KC_COMPARE_FEW = 64, // outputs of at most so many elements are scaled by the rms
                         // over several seeds
};

typedef struct kc_tolerance {
    bool exact;
    double a, rtol;  // gate A
    double relative; // gate B: the largest relative RMS error; 0 = no gate
} kc_tolerance_t;

// The tolerance of an output of type 'dtype' under the card's policy; 'reduction'
// bounds the number of terms of its longest sum (kc_reduction_bound). 'reference_exact'
// says that the reference was computed in double; else it carries an error of the same
// size as the candidate's.
kc_tolerance_t kc_tolerance (kc_card_policy_t policy, kc_program_dtype_t dtype,
                             double reduction, bool reference_exact);

// An upper estimate of the longest sum behind one output element at sizes 'sizes' (one
// row per tensor of the card): the product of those dims of an input that no output
// has, the largest dim, or the input elements per output element, whichever is largest,
// and never more than all input elements.
double kc_reduction_bound (const kc_card_t *card,
                           const int64_t (*sizes)[KC_COMPARE_RANK], const int *rank);

size_t kc_element_size (kc_program_dtype_t dtype);
bool kc_dtype_is_float (kc_program_dtype_t dtype);
double kc_element (kc_program_dtype_t dtype,
                   const void *at); // the value; 64-bit integers are rounded
// 'value' as the nearest value of 'dtype': beyond the largest finite one an infinity
// where the type has it.
double kc_element_round (kc_program_dtype_t dtype, double value);
// Sum of squares of the finite elements (to be accumulated) and how many there were.
void kc_element_squares (kc_program_dtype_t dtype, const void *data, int64_t elements,
                         double *sum, int64_t *count);

typedef struct kc_compare_spec {
    kc_tolerance_t tolerance;
    kc_program_dtype_t got_dtype, expected_dtype;
    int64_t elements;
    const void *expected; // 'elements' of 'expected_dtype'; borrowed until the
                          // comparison is over
    double
        group_rms; // rms over all seeds of the same shape and value range, 0 = unknown
    int poison;    // byte that filled the output before the run, -1 = none
} kc_compare_spec_t;

typedef struct kc_compare {
    kc_compare_spec_t spec;
    double scale; // what 'a' is multiplied with
    // the running state
    int64_t at; // elements compared
    unsigned char rest[8];
    size_t n_rest;
    double error_squares, expected_squares;
    // the result
    int64_t bad;          // elements that broke gate A or a rule of NaN and infinity
    int64_t unwritten;    // of these, elements that still hold the poison
    int64_t first_bad;    // flat index, -1 = none
    double expected, got; // at first_bad
    bool first_unwritten;
    double max_scaled; // largest error over its limit; above 1 when bad > 0 (infinite
                       // for a NaN)
    double max_abs;
    double relative; // relative RMS error of the finite elements
    bool gate_b;     // gate B failed
    uint64_t digest; // of the bytes fed: equal outputs give equal digests
} kc_compare_t;

void kc_compare_start (kc_compare_t *self, const kc_compare_spec_t *spec);
void kc_compare_feed (kc_compare_t *self, const void *data,
                      size_t size); // bytes beyond the end are ignored
// True when the output is complete and right.  An output without elements is no
// evidence and true.
bool kc_compare_end (kc_compare_t *self);
// Flat index to position in a tensor of these sizes.
void kc_position (int64_t index, const int64_t *sizes, int rank, int64_t *position);

#endif // KC_COMPARE_H
