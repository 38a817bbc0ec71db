// test_vgpu_forms.c - every row of vgpu_forms.h on edge values and random ones, all lanes on and half of them off

#include <fenv.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>

#include "tests/unit/vgpu/vgpu_fixture.h"
#include "tests/unit/vgpu/vgpu_forms.h"

#include "common/util/kc_mem.h"

enum { LANES = 64, SETS = 5 };

// ---- expectations, in the plainest C
static uint32_t fbits_raw (float f)
{
    uint32_t b;
    memcpy (&b, &f, 4);
    return b;
}
static uint64_t fbits (float f)
{
    return f != f ? 0x7fffffffu : fbits_raw (f);
}
static uint64_t dbits (double d)
{
    uint64_t b;
    memcpy (&b, &d, 8);
    return b;
}
static float as_float (uint32_t b)
{
    float f;
    memcpy (&f, &b, 4);
    return f;
}
static double as_double (uint64_t b)
{
    double d;
    memcpy (&d, &b, 8);
    return d;
}
static float fz (float f)
{
    return fpclassify (f) == FP_SUBNORMAL ? copysignf (0.0f, f) : f;
}
static float sat1 (float f)
{
    return f != f || f <= 0 ? 0.0f : f > 1 ? 1.0f : f;
}
static int64_t sat32 (int64_t v)
{
    return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v;
}
static int64_t s24 (uint32_t v)
{
    v &= 0xffffff;
    return v & 0x800000 ? (int64_t)v - 0x1000000 : (int64_t)v;
}
static uint32_t carry3 (uint32_t x, uint32_t y)
{
    uint64_t one = ((uint64_t)x + y) >> 32;
    return (uint32_t)(((uint64_t)x + y + one) >> 32);
}
static uint32_t madc_hi (uint32_t x, uint32_t y, uint32_t z, uint32_t t)
{
    uint64_t p = (uint64_t)x * y;
    uint64_t low = (p & 0xffffffff) + z;
    return (uint32_t)((p >> 32) + t + (low >> 32));
}
static uint64_t mulhi_u64 (uint64_t a, uint64_t b)
{
    uint64_t a0 = a & 0xffffffff, a1 = a >> 32, b0 = b & 0xffffffff, b1 = b >> 32;
    uint64_t m = a1 * b0 + (a0 * b0 >> 32), n = a0 * b1 + (m & 0xffffffff);
    return a1 * b1 + (m >> 32) + (n >> 32);
}
static uint32_t ones (uint64_t v)
{
    uint32_t n = 0;
    for (int k = 0; k < 64; k++)
        n += (uint32_t)(v >> k & 1);
    return n;
}
static uint32_t zeros (uint64_t v, int bits)
{
    uint32_t n = 0;
    for (int k = bits - 1; k >= 0 && !(v >> k & 1); k--)
        n++;
    return n;
}
static uint64_t reversed (uint64_t v, int bits)
{
    uint64_t r = 0;
    for (int k = 0; k < bits; k++)
        r |= (v >> k & 1) << (bits - 1 - k);
    return r;
}
static uint64_t bfe (uint64_t v, uint32_t pos, uint32_t len, int bits, int is_signed)
{
    pos &= 0xff, len &= 0xff;
    int top = (int)(pos + len) - 1 < bits - 1 ? (int)(pos + len) - 1 : bits - 1;
    uint64_t fill = is_signed && len ? v >> top & 1 : 0, r = 0;
    for (uint32_t k = 0; k < (uint32_t)bits; k++)
        r |= (k < len && pos + k < (uint32_t)bits ? v >> (pos + k) & 1 : fill) << k;
    return r;
}
static uint64_t bfi (uint64_t v, uint64_t into, uint32_t pos, uint32_t len, int bits)
{
    pos &= 0xff, len &= 0xff;
    for (uint32_t k = 0; k < len && pos + k < (uint32_t)bits; k++)
        into = (into & ~(1ull << (pos + k))) | (v >> k & 1) << (pos + k);
    return into;
}
static uint32_t bmsk (uint32_t from, uint32_t n, int clamp)
{
    uint32_t r = 0;
    if (!clamp)
        from &= 31, n &= 31;
    for (uint64_t k = from; k < 32 && k < (uint64_t)from + n; k++)
        r |= 1u << k;
    return r;
}
static uint32_t szext (uint32_t v, uint32_t n, int is_signed)
{
    if (n >= 32)
        return v;
    uint32_t r = 0, top = n ? v >> (n - 1) & 1 : 0;
    for (uint32_t k = 0; k < 32; k++)
        r |= (k < n ? v >> k & 1 : is_signed ? top : 0) << k;
    return r;
}
static uint32_t fns (uint32_t mask, uint32_t base, int32_t offset)
{
    if (offset == 0)
        return mask >> base & 1 ? base : 0xffffffffu;
    int left = abs (offset);
    for (int k = (int)base; k >= 0 && k < 32; k += offset > 0 ? 1 : -1)
        if (mask >> k & 1 && --left == 0)
            return (uint32_t)k;
    return 0xffffffffu;
}
static uint32_t dp4a (uint32_t x, uint32_t y, uint32_t z, int xs, int ys)
{
    int64_t sum = 0;
    for (int k = 0; k < 32; k += 8) {
        int64_t p = xs ? (int8_t)(uint8_t)(x >> k) : (uint8_t)(x >> k), r = ys ? (int8_t)(uint8_t)(y >> k) : (uint8_t)(y >> k);
        sum += p * r;
    }
    return z + (uint32_t)sum;
}
static uint32_t dp2a (uint32_t x, uint32_t y, uint32_t z, int from)
{
    int32_t p = (int16_t)(uint16_t)x * (int8_t)(uint8_t)(y >> from);
    int32_t r = (int16_t)(uint16_t)(x >> 16) * (int8_t)(uint8_t)(y >> (from + 8));
    return z + (uint32_t)p + (uint32_t)r;
}
static uint32_t prmt (uint32_t x, uint32_t y, uint32_t sel)
{
    uint32_t r = 0;
    for (int k = 0; k < 4; k++) {
        uint32_t s = sel >> 4 * k & 15;
        uint64_t all = (uint64_t)y << 32 | x;
        uint32_t byte = (uint32_t)(all >> 8 * (s & 7)) & 255;
        r |= (s & 8 ? (byte >> 7) * 255 : byte) << 8 * k;
    }
    return r;
}
static uint32_t lop3 (uint32_t x, uint32_t y, uint32_t z, uint32_t lut)
{
    uint32_t r = 0;
    for (int k = 0; k < 32; k++) {
        uint32_t index = (x >> k & 1) << 2 | (y >> k & 1) << 1 | (z >> k & 1);
        r |= (lut >> index & 1) << k;
    }
    return r;
}
static float minf (float f, float g)
{
    return f != f ? g : g != g ? f : f < g ? f : g < f ? g : signbit (f) ? f : g;
}
static float maxf (float f, float g)
{
    return f != f ? g : g != g ? f : f > g ? f : g > f ? g : signbit (f) ? g : f;
}
static double mind (double f, double g)
{
    return f != f ? g : g != g ? f : f < g ? f : g < f ? g : signbit (f) ? f : g;
}
static double maxd (double f, double g)
{
    return f != f ? g : g != g ? f : f > g ? f : g > f ? g : signbit (f) ? g : f;
}
static uint64_t rnd (int mode, char op, float a, float b, float c)
{
    volatile float x = a, y = b, z = c, r = 0;
    fesetround (mode);
    switch (op) {
    case '+':
        r = x + y;
        break;
    case '-':
        r = x - y;
        break;
    case '*':
        r = x * y;
        break;
    case '/':
        r = x / y;
        break;
    case 's':
        r = sqrtf (x);
        break;
    default:
        r = fmaf (x, y, z);
        break;
    }
    fesetround (FE_TONEAREST);
    return fbits (r);
}
static uint64_t drnd (int mode, char op, double a, double b, double c)
{
    volatile double x = a, y = b, z = c, r = 0;
    fesetround (mode);
    r = op == '+' ? x + y : op == '*' ? x * y : fma (x, y, z);
    fesetround (FE_TONEAREST);
    return dbits (r);
}
static uint64_t irnd (int mode, int64_t v, double d) // integer, or double when v is 0
{
    volatile int64_t i = v;
    volatile double x = d;
    volatile float r;
    fesetround (mode);
    r = v ? (float)i : (float)x;
    fesetround (FE_TONEAREST);
    return fbits (r);
}
static int64_t f2i (double v, double lo, double hi, int64_t nan)
{
    return v != v ? nan : v < lo ? (int64_t)lo : v > hi ? (int64_t)hi : (int64_t)v;
}
static int64_t f2l (double v)
{
    return v != v ? INT64_MIN : v < -9223372036854775808.0 ? INT64_MIN : v >= 9223372036854775808.0 ? INT64_MAX : (int64_t)v;
}
static float of_half (uint16_t h)
{
    int e = h >> 10 & 31, m = h & 1023;
    float v = e == 31 ? (m ? NAN : INFINITY) : e ? ldexpf ((float)(1024 + m), e - 25) : ldexpf ((float)m, -24);
    return h & 0x8000 ? -v : v;
}
// By search among all halves: nearest (ties to even), or the one toward zero.
static uint16_t half_of (float f, int mode)
{
    if (f != f)
        return 0x7fff;
    double mag = fabs ((double)f);
    uint16_t best = 0, sign = signbit (f) ? 0x8000 : 0;
    for (uint32_t h = 0; h <= 0x7bff; h++) {
        if ((double)of_half ((uint16_t)h) <= mag)
            best = (uint16_t)h;
        else
            break;
    }
    if (isinf (f))
        return (uint16_t)(sign | 0x7c00);
    if (mode == FE_TONEAREST) {
        double below = (double)of_half (best), above = best == 0x7bff ? 65536.0 : (double)of_half ((uint16_t)(best + 1));
        if (mag - below > above - mag || (mag - below == above - mag && (best & 1)))
            best++;
    }
    return (uint16_t)(sign | best);
}

// ---- the rows as functions
typedef uint64_t (expect_f) (const uint64_t *in);
#define EXPECT(name, ptx, kind, expr)                                                  \
    static uint64_t e_##name (const uint64_t *in)                                      \
    {                                                                                  \
        uint64_t a = in[0], b = in[1], c = in[2];                                      \
        uint32_t x = (uint32_t)a, y = (uint32_t)b, z = (uint32_t)c, t = (uint32_t)in[3]; \
        uint16_t h = (uint16_t)a, i = (uint16_t)b, j = (uint16_t)c;                    \
        int64_t sa = (int64_t)a, sb = (int64_t)b;                                      \
        int32_t sx = (int32_t)x, sy = (int32_t)y, sz = (int32_t)z;                     \
        int16_t sh = (int16_t)h, si = (int16_t)i;                                      \
        float f = as_float (x), g = as_float (y), k = as_float (z);                    \
        double u = as_double (a), v = as_double (b), w = as_double (c);                \
        bool p = t & 1, q = t >> 1 & 1;                                                \
        (void)a, (void)b, (void)c, (void)x, (void)y, (void)z, (void)h, (void)i, (void)j, (void)sa, (void)sb; \
        (void)sx, (void)sy, (void)sz, (void)sh, (void)si, (void)f, (void)g, (void)k, (void)u, (void)v, (void)w; \
        (void)p, (void)q;                                                              \
        return (uint64_t)(expr);                                                       \
    }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wfloat-conversion"
#ifndef __clang__
#pragma GCC diagnostic ignored "-Warith-conversion"
#endif
FORMS_INTEGER (EXPECT)
FORMS_SELECT (EXPECT)
FORMS_FLOAT (EXPECT)
FORMS_MOVE (EXPECT)
#pragma GCC diagnostic pop

typedef enum kind { R, D, H, F, G, P, B, D2 } kind_t; // B: float register, compared bit by bit; D2: double likewise
typedef struct form {
    const char *name, *ptx;
    kind_t kind;
    expect_f *expect;
} form_t;
#define ROW(name, ptx, kind, expr) {#name, ptx, kind, e_##name},
static const form_t s_integer[] = {FORMS_INTEGER (ROW)};
static const form_t s_select[] = {FORMS_SELECT (ROW)};
static const form_t s_float[] = {FORMS_FLOAT (ROW)};
static const form_t s_move[] = {FORMS_MOVE (ROW)};
#undef ROW

static const uint32_t s_edges[] = {0,          1,          2,          31,         32,         0x7f,       0x80,       0xff,
                                   0x7fff,     0x8000,     0xffff,     0x7fffffff, 0x80000000, 0x80000001, 0xffffffff, 0xfffffffe,
                                   0x55555555, 0x00ffffff, 0x00800000, 0x12345678};
static const uint32_t s_floats[] = {0x00000000, 0x80000000, 0x3f800000, 0xbf800000, 0x3f000000, 0x3fc00000, 0x40200000, 0xc0200000,
                                    0x00000001, 0x80000001, 0x007fffff, 0x00800000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000,
                                    0x7fc00000, 0x7fffffff, 0xffc12345, 0x4b000001, 0x4effffff, 0x4f000000, 0xcf000000, 0x4f800000,
                                    0x33800000, 0x477fe000, 0x47800000, 0x38800000, 0x33000001, 0x42f6e979, 0xc2aeac50, 0x5f000000};
static const uint64_t s_doubles[] = {0,
                                     0x8000000000000000ull,
                                     0x3ff0000000000000ull,
                                     0xbff8000000000000ull,
                                     0x4004000000000000ull,
                                     0x0000000000000001ull,
                                     0x000fffffffffffffull,
                                     0x7fefffffffffffffull,
                                     0x7ff0000000000000ull,
                                     0xfff0000000000000ull,
                                     0x7ff8000000000000ull,
                                     0x41dfffffffc00000ull,
                                     0xc1e0000000000000ull,
                                     0x43e0000000000000ull,
                                     0xc3e0000000000000ull,
                                     0x3ff0000010000000ull,
                                     0x3ff0000030000000ull,
                                     0x47efffffe0000000ull,
                                     0x380fffffc0000000ull,
                                     0x36a0000000000000ull};

static uint64_t s_random (uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15ull;
    uint64_t z = *state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

static void s_inputs (int set, uint64_t in[LANES][4])
{
    uint64_t state = (uint64_t)set + 1;
    for (int l = 0; l < LANES; l++)
        for (int k = 0; k < 4; k++) {
            uint64_t r = s_random (&state), pick = s_random (&state);
            switch (set) {
            case 0:
                break;
            case 1:
                r = (uint64_t)s_edges[pick % KC_COUNT (s_edges)] << 32 | s_edges[(pick >> 20) % KC_COUNT (s_edges)];
                break;
            case 2:
                r = (r & ~0xffffffffull) | s_floats[pick % KC_COUNT (s_floats)];
                break;
            case 3:
                r = s_doubles[pick % KC_COUNT (s_doubles)];
                break;
            default: { // small numbers: what kernels compute with
                float f = (float)((int32_t)(pick % 20001) - 10000) / 256.0f;
                r = (uint64_t)(uint32_t)(pick % 61) << 32 | fbits_raw (f);
                break;
            }
            }
            in[l][k] = k == 3 ? (r & ~3ull) | (pick >> 40 & 3) : r;
        }
}

static const char *s_init (kind_t k)
{
    switch (k) {
    case R:
        return "mov.u32 %r10, 0x5a5a5a5a;";
    case D:
        return "mov.u64 %rd10, 0x5a5a5a5a5a5a5a5a;";
    case H:
        return "mov.u16 %h10, 0x5a5a;";
    case F:
    case B:
        return "mov.f32 %f10, 0f5A5A5A5A;";
    case G:
    case D2:
        return "mov.f64 %fd10, 0d5A5A5A5A5A5A5A5A;";
    case P:
        return "mov.pred %p10, 0;";
    }
    return "";
}

static const char *s_store (kind_t k)
{
    switch (k) {
    case R:
        return "cvt.u64.u32 %rd10, %r10;";
    case D:
        return "";
    case H:
        return "cvt.u64.u16 %rd10, %h10;";
    case F:
    case B:
        return "mov.b32 %r10, %f10; cvt.u64.u32 %rd10, %r10;";
    case G:
    case D2:
        return "mov.b64 %rd10, %fd10;";
    case P:
        return "selp.u64 %rd10, 1, 0, %p10;";
    }
    return "";
}

static uint64_t s_untouched (kind_t k)
{
    return k == P ? 0 : k == H ? 0x5a5a : k == R || k == F || k == B ? 0x5a5a5a5a : 0x5a5a5a5a5a5a5a5aull;
}

static bool s_same (kind_t k, uint64_t got, uint64_t want)
{
    if (k == G && as_double (want) != as_double (want))
        return as_double (got) != as_double (got);
    return got == want;
}

static vt_t *s_module (const form_t *form, bool guarded, bool baseline)
{
    char body[4096];
    snprintf (body, sizeof (body),
              "ld.param.u64 %%rd20, [a];\nld.param.u64 %%rd21, [b];\nmov.u32 %%r15, %%tid.x;\nmul.wide.u32 %%rd22, %%r15, 32;\n"
              "add.s64 %%rd20, %%rd20, %%rd22;\nld.global.u64 %%rd1, [%%rd20];\nld.global.u64 %%rd2, [%%rd20+8];\n"
              "ld.global.u64 %%rd3, [%%rd20+16];\nld.global.u64 %%rd4, [%%rd20+24];\n"
              "cvt.u32.u64 %%r1, %%rd1; cvt.u32.u64 %%r2, %%rd2; cvt.u32.u64 %%r3, %%rd3; cvt.u32.u64 %%r4, %%rd4;\n"
              "cvt.u16.u64 %%h1, %%rd1; cvt.u16.u64 %%h2, %%rd2; cvt.u16.u64 %%h3, %%rd3;\n"
              "mov.b32 %%f1, %%r1; mov.b32 %%f2, %%r2; mov.b32 %%f3, %%r3;\n"
              "mov.b64 %%fd1, %%rd1; mov.b64 %%fd2, %%rd2; mov.b64 %%fd3, %%rd3;\n"
              "and.b32 %%r14, %%r4, 1; setp.ne.u32 %%p1, %%r14, 0; and.b32 %%r14, %%r4, 2; setp.ne.u32 %%p2, %%r14, 0;\n"
              "%s\n%s%s\n%s\nmul.wide.u32 %%rd22, %%r15, 8;\nadd.s64 %%rd21, %%rd21, %%rd22;\nst.global.u64 [%%rd21], %%rd10;",
              s_init (form->kind), guarded ? "@%p1 " : "", form->ptx, s_store (form->kind));
    const char *params = ".param .u64 a, .param .u64 b";
    vt_t *t = baseline ? vt_baseline (params, body) : vt_new (params, body);
    vt_arg64 (t, VT_X);
    vt_arg64 (t, VT_Y);
    return t;
}

static void s_check (const form_t *forms, size_t n)
{
    int failed = 0;
    for (size_t q = 0; q < n; q++) {
        const form_t *form = &forms[q];
        bool single = !strchr (form->ptx, ';') || !strchr (form->ptx, ';')[1];
        for (int run = 0; run < 4; run++) {
            bool guarded = run & 1, baseline = run & 2;
            if (guarded && !single)
                continue;
            vt_t *t = s_module (form, guarded, baseline);
            for (int set = 0; set < SETS; set++) {
                uint64_t in[LANES][4], out[LANES];
                s_inputs (set, in);
                memcpy (t->x, in, sizeof (in));
                vt_ok (t, 1, LANES);
                memcpy (out, t->y, sizeof (out));
                for (int l = 0; l < LANES; l++) {
                    uint64_t want = guarded && !(in[l][3] & 1) ? s_untouched (form->kind) : form->expect (in[l]);
                    if (s_same (form->kind, out[l], want))
                        continue;
                    print_error ("%s '%s'%s: a=%016llx b=%016llx c=%016llx d=%016llx gives %llx, expected %llx\n", form->name, form->ptx,
                                 baseline ? guarded ? " guarded baseline" : " baseline" : guarded ? " guarded" : "", (unsigned long long)in[l][0], (unsigned long long)in[l][1],
                                 (unsigned long long)in[l][2], (unsigned long long)in[l][3], (unsigned long long)out[l],
                                 (unsigned long long)want);
                    failed++;
                    break;
                }
            }
            vt_destroy (&t);
        }
    }
    assert_int_equal (failed, 0);
}

static void every_integer_form_is_exact (void **state)
{
    (void)state;
    s_check (s_integer, KC_COUNT (s_integer));
}

static void every_comparison_and_selection_is_exact (void **state)
{
    (void)state;
    s_check (s_select, KC_COUNT (s_select));
}

static void every_float_form_is_rounded_once (void **state)
{
    (void)state;
    s_check (s_float, KC_COUNT (s_float));
}

static void every_move_and_conversion_is_exact (void **state)
{
    (void)state;
    s_check (s_move, KC_COUNT (s_move));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (every_integer_form_is_exact),
        cmocka_unit_test (every_comparison_and_selection_is_exact),
        cmocka_unit_test (every_float_form_is_rounded_once),
        cmocka_unit_test (every_move_and_conversion_is_exact),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
