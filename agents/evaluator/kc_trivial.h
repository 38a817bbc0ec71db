/* kc_trivial.h - would a program that does not do the work pass?  Tried against
 * expected outputs, without a GPU */
#ifndef KC_TRIVIAL_H
#define KC_TRIVIAL_H

#include "agents/gpu/judge/kc_compare.h"

typedef enum kc_trivial {
    KC_TRIVIAL_ZEROS = 1,
    KC_TRIVIAL_COPY,    // of another tensor's elements, repeated or cut
    KC_TRIVIAL_MEAN,    // of the whole output everywhere
    KC_TRIVIAL_OTHER,   // the right output of another seed
    KC_TRIVIAL_MISSING, // one percent of the elements zero
    KC_TRIVIAL_COUNT
} kc_trivial_t;
const char *kc_trivial_name (kc_trivial_t kind); // "all zeros"

#define KC_TRIVIAL_MARGIN 3.0 // by so many limits a trivial solution must fail

// The largest error over its limit of a trivial solution; below KC_TRIVIAL_MARGIN the
// task is degenerate. 'other' are as many values as 'spec' has elements, as doubles
// (COPY, OTHER); else NULL.  -1 = does not apply.
double kc_trivial_error (kc_trivial_t kind, const kc_compare_spec_t *spec,
                         const double *other);

#endif // KC_TRIVIAL_H
