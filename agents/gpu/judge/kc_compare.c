// kc_compare.c - see kc_compare.h for the rules

#include "agents/gpu/judge/kc_compare.h"

#include <math.h>
#include <string.h>

#include "agents/gpu/judge/kc_philox.h"
#include "common/util/kc_mem.h"

// Unit roundoff of a type: half the distance of 1 to the next value.
static double s_unit (kc_program_dtype_t dtype)
{
    switch (dtype) {
    case KC_PROGRAM_DTYPE_F64:
        return 0x1p-53;
    case KC_PROGRAM_DTYPE_F32:
        return 0x1p-24;
    case KC_PROGRAM_DTYPE_F16:
        return 0x1p-11;
    case KC_PROGRAM_DTYPE_BF16:
        return 0x1p-8;
    case KC_PROGRAM_DTYPE_F8E4M3:
        return 0x1p-4;
    case KC_PROGRAM_DTYPE_F8E5M2:
        return 0x1p-3;
    case KC_PROGRAM_DTYPE_UNSET:
    case KC_PROGRAM_DTYPE_I64:
    case KC_PROGRAM_DTYPE_I32:
    case KC_PROGRAM_DTYPE_I16:
    case KC_PROGRAM_DTYPE_I8:
    case KC_PROGRAM_DTYPE_U32:
    case KC_PROGRAM_DTYPE_U16:
    case KC_PROGRAM_DTYPE_U8:
    case KC_PROGRAM_DTYPE_BOOL:
        break;
    }
    return 0;
}

bool kc_dtype_is_float (kc_program_dtype_t dtype)
{
    return s_unit (dtype) > 0;
}

size_t kc_element_size (kc_program_dtype_t dtype)
{
    switch (dtype) {
    case KC_PROGRAM_DTYPE_F64:
    case KC_PROGRAM_DTYPE_I64:
        return 8;
    case KC_PROGRAM_DTYPE_F32:
    case KC_PROGRAM_DTYPE_I32:
    case KC_PROGRAM_DTYPE_U32:
        return 4;
    case KC_PROGRAM_DTYPE_F16:
    case KC_PROGRAM_DTYPE_BF16:
    case KC_PROGRAM_DTYPE_I16:
    case KC_PROGRAM_DTYPE_U16:
        return 2;
    case KC_PROGRAM_DTYPE_F8E4M3:
    case KC_PROGRAM_DTYPE_F8E5M2:
    case KC_PROGRAM_DTYPE_I8:
    case KC_PROGRAM_DTYPE_U8:
    case KC_PROGRAM_DTYPE_BOOL:
    case KC_PROGRAM_DTYPE_UNSET:
        break;
    }
    return 1;
}

// A small float of 'e' exponent and 'm' fraction bits.  Without infinities (e4m3) only
// the pattern of all ones is NaN.
static double s_small (unsigned bits, int e, int m, bool infinities)
{
    const unsigned fraction = bits & ((1u << m) - 1),
                   exponent = bits >> m & ((1u << e) - 1);
    const double sign = bits >> (e + m) & 1 ? -1.0 : 1.0;
    const int bias = (1 << (e - 1)) - 1;
    if (exponent == (1u << e) - 1) {
        if (infinities)
            return fraction ? (double)NAN : sign * (double)INFINITY;
        if (fraction == (1u << m) - 1)
            return (double)NAN;
    }
    if (exponent == 0)
        return sign * ldexp ((double)fraction, 1 - bias - m);
    return sign * ldexp ((double)(fraction | 1u << m), (int)exponent - bias - m);
}

double kc_element (kc_program_dtype_t dtype, const void *at)
{
    union {
        double f64;
        float f32;
        int64_t i64;
        int32_t i32;
        uint32_t u32;
        int16_t i16;
        uint16_t u16;
        int8_t i8;
        uint8_t u8;
    } v;
    memset (&v, 0, sizeof v);
    memcpy (&v, at, kc_element_size (dtype));
    switch (dtype) {
    case KC_PROGRAM_DTYPE_F64:
        return v.f64;
    case KC_PROGRAM_DTYPE_F32:
        return (double)v.f32;
    case KC_PROGRAM_DTYPE_F16:
        return s_small (v.u16, 5, 10, true);
    case KC_PROGRAM_DTYPE_BF16:
        return s_small (v.u16, 8, 7, true);
    case KC_PROGRAM_DTYPE_F8E4M3:
        return s_small (v.u8, 4, 3, false);
    case KC_PROGRAM_DTYPE_F8E5M2:
        return s_small (v.u8, 5, 2, true);
    case KC_PROGRAM_DTYPE_I64:
        return (double)v.i64;
    case KC_PROGRAM_DTYPE_I32:
        return (double)v.i32;
    case KC_PROGRAM_DTYPE_I16:
        return (double)v.i16;
    case KC_PROGRAM_DTYPE_I8:
        return (double)v.i8;
    case KC_PROGRAM_DTYPE_U32:
        return (double)v.u32;
    case KC_PROGRAM_DTYPE_U16:
        return (double)v.u16;
    case KC_PROGRAM_DTYPE_U8:
    case KC_PROGRAM_DTYPE_BOOL:
    case KC_PROGRAM_DTYPE_UNSET:
        break;
    }
    return (double)v.u8;
}

double kc_element_round (kc_program_dtype_t dtype, double value)
{
    if (!isfinite (value))
        return value;
    uint64_t bits;
    switch (dtype) {
    case KC_PROGRAM_DTYPE_F32:
        return (double)(float)value;
    case KC_PROGRAM_DTYPE_F16:
        bits = kc_encode (KC_FILL_F16, value);
        return s_small ((unsigned)bits, 5, 10, true);
    case KC_PROGRAM_DTYPE_BF16:
        bits = kc_narrow (value, 8, 7, 0x7f7f, 0x7f80);
        return s_small ((unsigned)bits, 8, 7, true);
    case KC_PROGRAM_DTYPE_F8E4M3: // saturates: conversions of hardware do
        return s_small ((unsigned)kc_encode (KC_FILL_F8E4M3, value), 4, 3, false);
    case KC_PROGRAM_DTYPE_F8E5M2:
        return s_small ((unsigned)kc_encode (KC_FILL_F8E5M2, value), 5, 2, true);
    case KC_PROGRAM_DTYPE_F64:
    case KC_PROGRAM_DTYPE_UNSET:
    case KC_PROGRAM_DTYPE_I64:
    case KC_PROGRAM_DTYPE_I32:
    case KC_PROGRAM_DTYPE_I16:
    case KC_PROGRAM_DTYPE_I8:
    case KC_PROGRAM_DTYPE_U32:
    case KC_PROGRAM_DTYPE_U16:
    case KC_PROGRAM_DTYPE_U8:
    case KC_PROGRAM_DTYPE_BOOL:
        break;
    }
    return value;
}

void kc_element_squares (kc_program_dtype_t dtype, const void *data, int64_t elements,
                         double *sum, int64_t *count)
{
    if (dtype == KC_PROGRAM_DTYPE_F64) { // the usual one
        const char *at = data;
        for (int64_t i = 0; i < elements; i++) {
            double v;
            memcpy (&v, at + (size_t)i * sizeof v, sizeof v);
            if (isfinite (v)) {
                *sum += v * v;
                *count += 1;
            }
        }
        return;
    }
    const size_t size = kc_element_size (dtype);
    for (int64_t i = 0; i < elements; i++) {
        const double v = kc_element (dtype, (const char *)data + (size_t)i * size);
        if (isfinite (v)) {
            *sum += v * v;
            *count += 1;
        }
    }
}

static double s_max (double x, double y)
{
    return x > y ? x : y;
}

static double s_min (double x, double y)
{
    return x < y ? x : y;
}

kc_tolerance_t kc_tolerance (kc_card_policy_t policy, kc_program_dtype_t dtype,
                             double reduction, bool reference_exact)
{
    kc_tolerance_t t = {0};
    if (policy == KC_CARD_POLICY_EXACT || !kc_dtype_is_float (dtype)) {
        t.exact = true;
        return t;
    }
    const double root = sqrt (s_max (1, reduction));
    switch (policy) {
    case KC_CARD_POLICY_FP64:
        t.a = s_min (1e-12 * root, 1e-8);
        t.relative = t.a / 4;
        break;
    case KC_CARD_POLICY_FP32:
        // Errors of a sum grow with the root of its length when rounding errors are independent of size, and
        // with the length itself when one accumulator takes term after term, as plain kernels do.
        t.a = s_min (s_max (s_max (1e-5, 4 * 0x1p-24 * root), 0x1p-24 / 4 * reduction), 1e-4);
        t.relative = s_min (s_max (2e-6, 4 * 0x1p-24 * root), 5e-5);
        break;
    case KC_CARD_POLICY_TF32:
        t.a = 2e-3;
        t.relative = 1e-3;
        break;
    case KC_CARD_POLICY_FP16:
        t.a = 2e-3;
        t.relative = 1e-3;
        break;
    case KC_CARD_POLICY_BF16:
        t.a = 1.6e-2;
        t.relative = 8e-3;
        break;
    case KC_CARD_POLICY_UNSET:
    case KC_CARD_POLICY_EXACT:
        break;
    }
    // An output type coarser than the policy cannot hold a better result: two of its
    // ulps and their rms.
    const double unit = s_unit (dtype);
    t.a = s_max (t.a, dtype == KC_PROGRAM_DTYPE_F64 || dtype == KC_PROGRAM_DTYPE_F32
                          ? 0
                          : 4 * unit);
    t.relative = s_max (
        t.relative,
        dtype == KC_PROGRAM_DTYPE_F64 || dtype == KC_PROGRAM_DTYPE_F32 ? 0 : 2 * unit);
    if (!reference_exact) { // its error and ours
        t.a *= 2;
        t.relative *= 2;
    }
    t.rtol = t.a;
    return t;
}

static bool s_is_output (kc_card_tensor_role_t role)
{
    return role == KC_CARD_TENSOR_ROLE_OUTPUT || role == KC_CARD_TENSOR_ROLE_INOUT;
}

double kc_reduction_bound (const kc_card_t *card,
                           const int64_t (*sizes)[KC_COMPARE_RANK], const int *rank)
{
    double all_in = 0, least_out = INFINITY, largest = 1, product = 1;
    for (size_t i = 0; i < card->n_tensors; i++) {
        const kc_card_tensor_t *t = &card->tensors[i];
        double elements = 1;
        for (int d = 0; d < rank[i]; d++)
            elements *= (double)sizes[i][d];
        if (s_is_output (t->role))
            least_out = s_min (least_out, s_max (1, elements));
        if (t->role == KC_CARD_TENSOR_ROLE_OUTPUT)
            continue;
        all_in += elements;
        double gone = 1;
        for (int d = 0; d < rank[i]; d++) {
            largest = s_max (largest, (double)sizes[i][d]);
            bool kept = false;
            for (size_t o = 0; o < card->n_tensors && !kept; o++) {
                const kc_card_tensor_t *out = &card->tensors[o];
                if (!s_is_output (out->role))
                    continue;
                for (size_t e = 0; e < out->n_shape && !kept; e++)
                    kept = (size_t)d < t->n_shape
                           && strcmp (t->shape[d], out->shape[e]) == 0;
            }
            if (!kept)
                gone *= (double)sizes[i][d];
        }
        product = s_max (product, gone);
    }
    const double bound = s_max (s_max (largest, product), all_in / least_out);
    return s_max (1, s_min (bound, all_in));
}

void kc_compare_start (kc_compare_t *self, const kc_compare_spec_t *spec)
{
    *self =
        (kc_compare_t){.spec = *spec, .first_bad = -1, .digest = 0x9e3779b97f4a7c15ull};
    double sum = 0;
    int64_t count = 0;
    if (!spec->tolerance.exact && spec->expected)
        kc_element_squares (spec->expected_dtype, spec->expected, spec->elements, &sum,
                            &count);
    self->scale = count ? sqrt (sum / (double)count) : 0;
    // A sum of values around zero may come out near zero by chance; its size over the
    // seeds is the scale.
    if (spec->elements <= KC_COMPARE_FEW && spec->group_rms > self->scale)
        self->scale = spec->group_rms;
}

static bool s_is_poison (const kc_compare_t *self, const unsigned char *at, size_t size)
{
    if (self->spec.poison < 0)
        return false;
    for (size_t i = 0; i < size; i++)
        if (at[i] != (unsigned char)self->spec.poison)
            return false;
    return true;
}

static void s_bad (kc_compare_t *self, const unsigned char *at, size_t size,
                   double expected, double got, double scaled)
{
    const bool unwritten = s_is_poison (self, at, size);
    self->bad++;
    if (unwritten)
        self->unwritten++;
    if (self->first_bad < 0) {
        self->first_bad = self->at;
        self->expected = expected;
        self->got = got;
        self->first_unwritten = unwritten;
    }
    self->max_scaled = s_max (self->max_scaled, scaled);
}

static void s_exact (kc_compare_t *self, const unsigned char *at, size_t size,
                     const unsigned char *want)
{
    const kc_compare_spec_t *s = &self->spec;
    const double got = kc_element (s->got_dtype, at);
    const double expected =
        kc_element_round (s->got_dtype, kc_element (s->expected_dtype, want));
    bool same;
    if (s->got_dtype == s->expected_dtype && !kc_dtype_is_float (s->got_dtype))
        same = memcmp (at, want, size) == 0; // 64-bit integers do not fit a double
    else
        same = (isnan (got) && isnan (expected)) || got == expected;
    if (!same) {
        if (isfinite (got) && isfinite (expected))
            self->max_abs = s_max (self->max_abs, fabs (got - expected));
        s_bad (self, at, size, expected, got, INFINITY);
    }
}

static void s_near (kc_compare_t *self, const unsigned char *at, size_t size,
                    const unsigned char *want)
{
    const kc_compare_spec_t *s = &self->spec;
    const double got = kc_element (s->got_dtype, at);
    double expected = kc_element (s->expected_dtype, want);
    if (isfinite (expected) && !isfinite (kc_element_round (s->got_dtype, expected)))
        expected =
            kc_element_round (s->got_dtype, expected); // the type has no such number
    if (!isfinite (expected) || !isfinite (got)) {
        const bool same =
            isnan (expected) ? isnan (got) : !isnan (got) && expected == got;
        if (!same)
            s_bad (self, at, size, expected, got, INFINITY);
        return;
    }
    const double error = fabs (got - expected);
    const double limit =
        s->tolerance.a * self->scale + s->tolerance.rtol * fabs (expected);
    self->error_squares += error * error;
    self->expected_squares += expected * expected;
    self->max_abs = s_max (self->max_abs, error);
    const double scaled = limit > 0 ? error / limit : error > 0 ? (double)INFINITY : 0;
    if (scaled > 1)
        s_bad (self, at, size, expected, got, scaled);
    else
        self->max_scaled = s_max (self->max_scaled, scaled);
}

// Order counts, but no element waits for the one before it.
static inline void s_digest (kc_compare_t *self, uint64_t bits)
{
    self->digest += kc_mix (bits + ((uint64_t)self->at + 1) * KC_GOLDEN);
}

static void s_element (kc_compare_t *self, const unsigned char *at, size_t size)
{
    const kc_compare_spec_t *s = &self->spec;
    const unsigned char *want =
        (const unsigned char *)s->expected
        + (size_t)self->at * kc_element_size (s->expected_dtype);
    uint64_t bits = 0;
    memcpy (&bits, at, size);
    s_digest (self, bits);
    if (s->tolerance.exact)
        s_exact (self, at, size, want);
    else
        s_near (self, at, size, want);
    self->at++;
}

// The usual pair of types, 'count' whole elements: what is near its expected value is
// done here, the rest goes the general way.
static void s_f32_against_f64 (kc_compare_t *self, const unsigned char *at,
                               int64_t count)
{
    const double a = self->spec.tolerance.a * self->scale,
                 rtol = self->spec.tolerance.rtol;
    const unsigned char *want =
        (const unsigned char *)self->spec.expected + (size_t)self->at * sizeof (double);
    double errors = 0, squares = 0, scaled = self->max_scaled, largest = self->max_abs;
    for (int64_t i = 0; i < count; i++, at += sizeof (float), want += sizeof (double)) {
        float got;
        double expected;
        uint32_t bits;
        memcpy (&got, at, sizeof got);
        memcpy (&expected, want, sizeof expected);
        const double error = fabs ((double)got - expected),
                     limit = a + rtol * fabs (expected);
        // false for NaN and infinities, too
        if (!(error <= limit) || limit == 0 || fabs (expected) > 3e38) {
            s_element (self, at, sizeof got);
            continue;
        }
        memcpy (&bits, at, sizeof bits);
        s_digest (self, bits);
        self->at++;
        errors += error * error;
        squares += expected * expected;
        scaled = error > scaled * limit ? error / limit : scaled;
        largest = error > largest ? error : largest;
    }
    self->error_squares += errors;
    self->expected_squares += squares;
    self->max_scaled = s_max (self->max_scaled, scaled);
    self->max_abs = s_max (self->max_abs, largest);
}

void kc_compare_feed (kc_compare_t *self, const void *data, size_t size)
{
    const size_t each = kc_element_size (self->spec.got_dtype);
    const unsigned char *at = data;
    const bool usual = self->spec.got_dtype == KC_PROGRAM_DTYPE_F32
                       && self->spec.expected_dtype == KC_PROGRAM_DTYPE_F64
                       && !self->spec.tolerance.exact;
    while (size > 0 && self->at < self->spec.elements) {
        if (usual && self->n_rest == 0 && size >= each) {
            const int64_t whole = (int64_t)(size / each),
                          left = self->spec.elements - self->at,
                          n = whole < left ? whole : left;
            s_f32_against_f64 (self, at, n);
            at += (size_t)n * each;
            size -= (size_t)n * each;
            continue;
        }
        if (self->n_rest == 0 && size >= each) {
            s_element (self, at, each);
            at += each;
            size -= each;
            continue;
        }
        self->rest[self->n_rest++] = *at++;
        size--;
        if (self->n_rest == each) {
            self->n_rest = 0;
            s_element (self, self->rest, each);
        }
    }
}

bool kc_compare_end (kc_compare_t *self)
{
    const kc_compare_spec_t *s = &self->spec;
    if (!s->tolerance.exact) {
        // The scale of few elements serves this gate, too.
        const double floor_squares =
            s->elements <= KC_COMPARE_FEW
                ? self->scale * self->scale * (double)s->elements
                : 0;
        const double squares = s_max (self->expected_squares, floor_squares);
        self->relative = squares > 0 ? sqrt (self->error_squares / squares)
                         : self->error_squares > 0 ? (double)INFINITY
                                                   : 0;
        self->gate_b =
            s->tolerance.relative > 0 && self->relative > s->tolerance.relative;
    }
    return self->at == s->elements && self->bad == 0 && !self->gate_b;
}

void kc_position (int64_t index, const int64_t *sizes, int rank, int64_t *position)
{
    for (int d = rank - 1; d >= 0; d--) {
        position[d] = sizes[d] > 0 ? index % sizes[d] : 0;
        index = sizes[d] > 0 ? index / sizes[d] : 0;
    }
}
