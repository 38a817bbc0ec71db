// kc_trivial.c - see kc_trivial.h

#include "agents/evaluator/kc_trivial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agents/gpu/judge/kc_philox.h"
#include "common/util/kc_mem.h"

const char *kc_trivial_name (kc_trivial_t kind)
{
    static const char *const names[] = {
        "",
        "all zeros",
        "a copy of an input",
        "the mean of the output",
        "the output of another seed",
        "the output with one percent of its elements zero"};
    return names[kind];
}

static double s_value (kc_trivial_t kind, double right, double mean,
                       const double *other, int64_t i)
{
    switch (kind) {
    case KC_TRIVIAL_ZEROS:
    case KC_TRIVIAL_COUNT:
        return 0;
    case KC_TRIVIAL_COPY:
    case KC_TRIVIAL_OTHER:
        return other[i];
    case KC_TRIVIAL_MEAN:
        return mean;
    case KC_TRIVIAL_MISSING:
        break;
    }
    return i % 100 == 57 ? 0 : right;
}

double kc_trivial_error (kc_trivial_t kind, const kc_compare_spec_t *spec,
                         const double *other)
{
    if (spec->elements == 0
        || ((kind == KC_TRIVIAL_COPY || kind == KC_TRIVIAL_OTHER) && !other)
        || (kind == KC_TRIVIAL_MISSING && spec->elements < 100)
        || (kind == KC_TRIVIAL_MEAN && spec->elements < 2))
        return -1;
    const size_t size = kc_element_size (spec->expected_dtype);
    double mean = 0;
    for (int64_t i = 0; i < spec->elements; i++)
        mean += kc_element (spec->expected_dtype,
                            (const char *)spec->expected + (size_t)i * size)
                / (double)spec->elements;
    // compared as doubles: the type's own rounding is far below any margin
    kc_compare_spec_t wide = *spec;
    wide.got_dtype = KC_PROGRAM_DTYPE_F64;
    kc_compare_t c;
    kc_compare_start (&c, &wide);
    for (int64_t i = 0; i < spec->elements; i++) {
        const double right =
            kc_element_round (spec->got_dtype, kc_element (spec->expected_dtype,
                                                           (const char *)spec->expected
                                                               + (size_t)i * size));
        const double value = s_value (kind, right, mean, other, i);
        kc_compare_feed (&c, &value, sizeof value);
    }
    return kc_compare_end (&c) ? c.max_scaled : c.max_scaled > 1 ? c.max_scaled : 1.0;
}
