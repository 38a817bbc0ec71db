// kc_content.c - see kc_content.h

#include "agents/gpu/judge/kc_content.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agents/gpu/judge/kc_compare.h"
#include "agents/gpu/judge/kc_fill.h"
#include "common/util/kc_mem.h"

enum { SPIKE_RARE = 61 }; // one element in so many

static double s_or (bool has, double value, double other)
{
    return has ? value : other;
}

static void s_set (kc_card_fill_t *fill, kc_card_fill_kind_t kind, double a, double b)
{
    *fill =
        (kc_card_fill_t){.kind = kind, .has_a = true, .a = a, .has_b = true, .b = b};
}

// The range in which the author expects values, and whether zero lies inside it.
static bool s_domain (const kc_card_fill_t *fill, double *lo, double *hi)
{
    const double a = s_or (fill->has_a, fill->a, 0), b = s_or (fill->has_b, fill->b, 1);
    if (fill->kind == KC_CARD_FILL_KIND_NORMAL) {
        *lo = a - 3 * b;
        *hi = a + 3 * b;
    }
    else {
        *lo = a;
        *hi = b;
    }
    return *lo < 0 && *hi > 0;
}

static void s_scaled (kc_content_t *self, double lo, double hi, bool around_zero,
                      int variant)
{
    static const double wide[3] = {1, 8, 1e-2}, narrow[3] = {1, 0.5, 1e-2};
    const double a = s_or (self->fill.has_a, self->fill.a, 0),
                 b = s_or (self->fill.has_b, self->fill.b, 1);
    if (around_zero) {
        const double std = self->fill.kind == KC_CARD_FILL_KIND_NORMAL
                               ? b
                               : (hi - lo) / 3.4641016151377544;
        s_set (&self->fill, KC_CARD_FILL_KIND_NORMAL, 0, std * wide[variant % 3]);
    }
    else if (self->fill.kind == KC_CARD_FILL_KIND_NORMAL)
        s_set (&self->fill, KC_CARD_FILL_KIND_NORMAL, a, b * narrow[variant % 3]);
    else if (variant % 3 == 0) // the other half of a one-sided range
        s_set (&self->fill, KC_CARD_FILL_KIND_UNIFORM, lo + 0.5 * (hi - lo), hi);
    else
        s_set (&self->fill, KC_CARD_FILL_KIND_UNIFORM, lo,
               lo + narrow[variant % 3] * (hi - lo));
}

kc_content_t kc_content (const kc_card_tensor_t *tensor, const int64_t *sizes, int rank,
                         kc_runner_values_t values, int variant, uint64_t seed)
{
    static const kc_card_fill_t unit = {
        .kind = KC_CARD_FILL_KIND_NORMAL, .has_a = true, .has_b = true, .b = 1};
    static const kc_card_fill_t zero = {.kind = KC_CARD_FILL_KIND_CONSTANT,
                                        .has_a = true};
    const bool real = kc_dtype_is_float (tensor->dtype);
    kc_content_t self = {.kind = KC_CONTENT_FILL, .elements = 1, .inner = 1};
    self.fill = tensor->fill ? *tensor->fill : real ? unit : zero;
    self.key = kc_content_key (seed, tensor->name);
    for (int d = 0; d < rank; d++)
        self.elements *= sizes[d];
    if (rank > 0 && sizes[rank - 1] > 0)
        self.inner = sizes[rank - 1];
    const bool drawn = self.fill.kind == KC_CARD_FILL_KIND_UNIFORM
                       || self.fill.kind == KC_CARD_FILL_KIND_NORMAL;
    if (values == KC_RUNNER_VALUES_TABLE) {
        if (drawn || self.fill.kind == KC_CARD_FILL_KIND_INTEGER
            || self.fill.kind == KC_CARD_FILL_KIND_BOOL)
            self.kind = KC_CONTENT_DRAWN;
        return self;
    }
    if (!real || !drawn)
        return self;
    double lo, hi;
    const bool around_zero = s_domain (&self.fill, &lo, &hi);
    if (values == KC_RUNNER_VALUES_SCALED)
        s_scaled (&self, lo, hi, around_zero, variant);
    else if (values == KC_RUNNER_VALUES_STRUCTURED) {
        self.kind = variant % 3 == 0   ? KC_CONTENT_SUFFIX
                    : variant % 3 == 1 ? KC_CONTENT_SPIKES
                                       : KC_CONTENT_RAMP;
        // a ramp through zero would make every sum cancel, and rounding errors look
        // like wrong results
        self.lo = self.kind == KC_CONTENT_RAMP && around_zero ? 0.02 * hi : lo;
        self.hi = hi;
        // small but not zero: a term skipped for being zero must not be right by chance
        self.base = around_zero ? 0 : lo;
        self.rest = 0.02 * (hi - self.base);
    }
    return self;
}

static double s_structured (const kc_content_t *self, int64_t i)
{
    const double unit =
        (double)(kc_mix (self->key ^ kc_mix ((uint64_t)i)) >> 11) * 0x1p-53;
    const double small = self->base + self->rest * (0.5 + 0.5 * unit);
    if (self->kind == KC_CONTENT_RAMP) {
        const double along =
            self->elements > 1 ? (double)i / (double)(self->elements - 1) : 0.5;
        return self->lo + along * (self->hi - self->lo);
    }
    if (self->kind == KC_CONTENT_SPIKES)
        return kc_mix (self->key + (uint64_t)i * KC_GOLDEN) % SPIKE_RARE == 0 ? self->hi
                                                                              : small;
    const int64_t in_row = i % self->inner;
    const bool late = in_row >= self->inner - (self->inner + 15) / 16
                      || i >= self->elements - (self->elements + 15) / 16;
    return late ? self->lo + unit * (self->hi - self->lo) : small;
}

void kc_content_drawn (const kc_card_fill_t *fill, kc_program_dtype_t dtype,
                       uint64_t key, int64_t elements, void *out)
{
    kc_fill_t f = kc_fill_make (fill, dtype, elements, key);
    const bool drawn = fill->kind != KC_CARD_FILL_KIND_PERMUTATION
                       && fill->kind != KC_CARD_FILL_KIND_CONSTANT;
    if (!drawn || elements <= KC_CONTENT_TABLE) {
        kc_fill_host (&f, out);
        return;
    }
    const size_t size = kc_element_size (dtype);
    f.elements = KC_CONTENT_TABLE;
    char *table = kc_calloc (KC_CONTENT_TABLE, size);
    kc_fill_host (&f, table);
    char *at = out;
    for (int64_t i = 0; i < elements; i++, at += size) {
        const char *from =
            table + kc_mix (key + (uint64_t)i * KC_GOLDEN) % KC_CONTENT_TABLE * size;
        memcpy (at, from, size);
    }
    free (table);
}

void kc_content_write (const kc_content_t *self, kc_program_dtype_t dtype, void *out)
{
    const kc_fill_t f = kc_fill_make (&self->fill, dtype, self->elements, self->key);
    if (self->kind == KC_CONTENT_DRAWN) {
        kc_content_drawn (&self->fill, dtype, self->key, self->elements, out);
        return;
    }
    if (self->kind == KC_CONTENT_FILL) {
        kc_fill_host (&f, out);
        return;
    }
    const size_t size = kc_element_size (dtype);
    for (int64_t i = 0; i < self->elements; i++) {
        const uint64_t bits = kc_encode (f.type, s_structured (self, i));
        memcpy ((char *)out + (size_t)i * size, &bits, size);
    }
}

void kc_content_widen (kc_program_dtype_t from, const void *in, int64_t elements,
                       double *out)
{
    if (from == KC_PROGRAM_DTYPE_F32) { // the usual one
        for (int64_t i = 0; i < elements; i++) {
            float v;
            memcpy (&v, (const char *)in + (size_t)i * sizeof v, sizeof v);
            out[i] = (double)v;
        }
        return;
    }
    const size_t size = kc_element_size (from);
    for (int64_t i = 0; i < elements; i++)
        out[i] = kc_element (from, (const char *)in + (size_t)i * size);
}
