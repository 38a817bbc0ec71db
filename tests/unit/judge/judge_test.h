/* judge_test.h - what the tests of the judge share */
#ifndef JUDGE_TEST_H
#define JUDGE_TEST_H

// cmocka wants these four in this order
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/gpu/judge/kc_philox.h"

// Numbers of a fixed sequence, uniform in [0, 1).
static inline double judge_uniform (uint64_t key, uint64_t i)
{
    return (double)(kc_mix (key ^ kc_mix (i)) >> 11) * 0x1p-53;
}

// About normal: twelve uniforms.
static inline double judge_normal (uint64_t key, uint64_t i)
{
    double sum = -6;
    for (uint64_t k = 0; k < 12; k++)
        sum += judge_uniform (key, i * 12 + k);
    return sum;
}

#endif // JUDGE_TEST_H
