// vg_math.c - built-in functions and the conversions without a vector body
//
// A function is computed in double and rounded once; double functions are the host's.  Equal bits with the
// hardware are not promised for either.

#include "agents/gpu/vgpu/vg_internal.h"

#include <fenv.h>
#include <math.h>
#include <string.h>

#include "common/util/kc_mem.h"

static double kc_sinpi (double x)
{
    double r = fmod (x, 2.0);
    if (r == 0 || r == 1 || r == -1)
        return copysign (0.0, x);
    return sin (3.14159265358979323846 * r);
}

static double kc_cospi (double x)
{
    double r = fabs (fmod (x, 2.0));
    if (r == 0.5 || r == 1.5)
        return 0.0;
    return cos (3.14159265358979323846 * r);
}

// Newton's method on erf from a rational start.
static double kc_erfinv (double y)
{
    if (!(y > -1 && y < 1))
        return y == 1 ? INFINITY : y == -1 ? -INFINITY : NAN;
    double l = log ((1 - y) * (1 + y)), t = 2 / (3.14159265358979323846 * 0.147) + l / 2;
    double x = copysign (sqrt (sqrt (t * t - l / 0.147) - t), y);
    for (int k = 0; k < 4; k++)
        x -= (erf (x) - y) / (1.12837916709551257390 * exp (-x * x));
    return x;
}

// Single rounding of a float fma: sums in double would round twice.
static double s_fma (double x, double y, double z, bool is_float)
{
    return is_float ? (double)fmaf ((float)x, (float)y, (float)z) : fma (x, y, z);
}

static double s_math (int which, double x, double y, double z, bool is_float)
{
    enum {
#define ROW(name, args, formula, ff, mf, fd, md) ROW_##name,
        PTX_BUILTINS (ROW)
#undef ROW
    };
    int kc_sign = 0;
    (void)kc_sign;
#define KC_FMA(a, b, c) s_fma (a, b, c, is_float)
    switch (which) {
#define ROW(name, args, formula, ff, mf, fd, md)                                       \
    case ROW_##name:                                                                   \
        return formula;
        PTX_BUILTINS (ROW)
#undef ROW
    default:
        return NAN;
    }
}

static double s_get (const uint8_t *p, bool is_float)
{
    float f;
    double d;
    if (is_float) {
        memcpy (&f, p, 4);
        return (double)f;
    }
    memcpy (&d, p, 8);
    return d;
}

static void s_put (uint8_t *p, double v, bool is_float)
{
    if (is_float) {
        float f = (float)v;
        uint32_t nan = 0x7fffffff;
        if (f == f)
            memcpy (p, &f, 4);
        else
            memcpy (p, &nan, 4);
    }
    else
        memcpy (p, &v, 8);
}

// A result behind a pointer argument; reports when the pointer is wrong.
static uint8_t *s_out (vg_warp_t *w, const vg_op_t *o, uint32_t lane, const uint8_t *arg, uint32_t bytes)
{
    uint64_t a;
    memcpy (&a, arg, 8);
    uint8_t *p = vg_host (w, lane, a, bytes);
    if (!p || a % bytes) {
        vg_fault (w, o, lane, VGPU_OUT_OF_BOUNDS, "a result pointer 0x%llx handed to a math function is not valid", (unsigned long long)a);
        return NULL;
    }
    w->run->changes++;
    return p;
}

static void s_assert (vg_warp_t *w, const vg_op_t *o, uint32_t lane, const vg_call_t *c, const uint8_t *params)
{
    uint64_t at[3] = {0};
    uint32_t line = 0;
    char text[3][160] = {"", "", ""};
    for (uint32_t k = 0, n = 0; k < c->n_args && n < 3; k++) {
        if (c->args[k].size == 4)
            memcpy (&line, params + c->args[k].caller, 4);
        else {
            memcpy (&at[n], params + c->args[k].caller, 8);
            vg_read_text (w->run, at[n], text[n], sizeof (text[n]));
            n++;
        }
    }
    vg_fault (w, o, lane, VGPU_ASSERT, "assertion '%s' failed at %s:%u in %s", text[0], text[1], line, text[2]);
}

void vg_builtin (vg_warp_t *w, const vg_op_t *o, uint32_t m)
{
    const vg_call_t *c = &w->frame->func->calls[o->target];
    const ptx_builtin_t *b = &c->builtin;
    bool fl = b->is_float;
    if (b->kind == PTX_BUILTIN_PRINTF) {
        vg_printf (w, o, m, c);
        return;
    }
    for (; m; m &= m - 1) {
        uint32_t lane = vg_first (m);
        uint8_t *params = w->frame->params + (size_t)lane * w->frame->func->param_bytes;
        const uint8_t *arg[4] = {NULL};
        for (uint32_t k = 0; k < c->n_args && k < 4; k++)
            arg[k] = params + c->args[k].caller;
        uint8_t *ret = c->n_rets ? params + c->rets[0].caller : NULL, *p, *q;
        if (b->kind == PTX_BUILTIN_ASSERT) {
            s_assert (w, o, lane, c, params);
            return;
        }
        if (!arg[0])
            return;
        double x = s_get (arg[0], fl);
        int32_t n;
        switch (b->kind) {
        case PTX_BUILTIN_MATH: {
            double y = b->args > 1 && arg[1] ? s_get (arg[1], fl) : 0, z = b->args > 2 && arg[2] ? s_get (arg[2], fl) : 0;
            if (ret)
                s_put (ret, s_math (b->which, x, y, z, fl), fl);
            break;
        }
        case PTX_BUILTIN_SINCOS:
            if (!arg[1] || !arg[2] || !(p = s_out (w, o, lane, arg[1], fl ? 4 : 8)) || !(q = s_out (w, o, lane, arg[2], fl ? 4 : 8)))
                return;
            s_put (p, b->which ? kc_sinpi (x) : sin (x), fl);
            s_put (q, b->which ? kc_cospi (x) : cos (x), fl);
            break;
        case PTX_BUILTIN_LDEXP:
        case PTX_BUILTIN_POWI:
            if (!arg[1] || !ret)
                return;
            memcpy (&n, arg[1], 4);
            if (b->kind == PTX_BUILTIN_POWI)
                s_put (ret, pow (x, n), fl);
            else if (fl) { // one rounding, also into the subnormals
                float f = ldexpf ((float)x, n);
                s_put (ret, (double)f, true);
            }
            else
                s_put (ret, ldexp (x, n), false);
            break;
        case PTX_BUILTIN_FREXP:
            if (!arg[1] || !ret || !(p = s_out (w, o, lane, arg[1], 4)))
                return;
            n = 0;
            s_put (ret, frexp (x, &n), fl);
            memcpy (p, &n, 4);
            break;
        case PTX_BUILTIN_MODF: {
            double whole;
            if (!arg[1] || !ret || !(p = s_out (w, o, lane, arg[1], fl ? 4 : 8)))
                return;
            s_put (ret, modf (x, &whole), fl);
            s_put (p, whole, fl);
            break;
        }
        case PTX_BUILTIN_ILOGB:
            n = ilogb (x);
            if (ret)
                memcpy (ret, &n, 4);
            break;
        case PTX_BUILTIN_TO_LONG: {
            double r = b->which ? round (x) : nearbyint (x);
            int64_t v = r != r ? INT64_MIN : r >= 9223372036854775807.0 ? INT64_MAX : r <= -9223372036854775808.0 ? INT64_MIN : (int64_t)r;
            if (ret)
                memcpy (ret, &v, c->rets[0].size < 8 ? c->rets[0].size : 8);
            break;
        }
        case PTX_BUILTIN_NEXTAFTER:
            if (!arg[1] || !ret)
                return;
            if (fl)
                s_put (ret, (double)nextafterf ((float)x, (float)s_get (arg[1], true)), true);
            else
                s_put (ret, nextafter (x, s_get (arg[1], false)), false);
            break;
        case PTX_BUILTIN_NONE:
        case PTX_BUILTIN_PRINTF:
        case PTX_BUILTIN_ASSERT:
            break;
        }
    }
}

// ---- conversions

float vg_half_to_float (uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, e = h >> 10 & 31, f = h & 0x3ff, bits;
    if (e == 31)
        bits = sign | 0x7f800000u | f << 13;
    else if (e)
        bits = sign | (e + 112) << 23 | f << 13;
    else {
        float v = (float)f * 0x1p-24f;
        memcpy (&bits, &v, 4);
        bits |= sign;
    }
    float r;
    memcpy (&r, &bits, 4);
    return r;
}

// Round a finite magnitude to a whole number: mode 0 nearest even, 1 to zero, 2 down, 3 up (of the signed value).
static double s_whole (double mag, bool negative, int mode)
{
    double t = floor (mag), rest = mag - t;
    bool up = false;
    switch (mode) {
    case 0:
        up = rest > 0.5 || (rest == 0.5 && fmod (t, 2.0) != 0);
        break;
    case 2:
        up = negative && rest > 0;
        break;
    case 3:
        up = !negative && rest > 0;
        break;
    default:
        break;
    }
    return up ? t + 1 : t;
}

uint16_t vg_double_to_half (double x, int mode)
{
    uint16_t sign = signbit (x) ? 0x8000 : 0;
    if (x != x)
        return 0x7fff;
    double mag = fabs (x);
    if (isinf (mag))
        return (uint16_t)(sign | 0x7c00);
    bool negative = sign != 0;
    int e = 0;
    frexp (mag, &e);
    int unit = e - 11 < -24 ? -24 : e - 11; // weight of the last bit
    double n = s_whole (ldexp (mag, -unit), negative, mode);
    double v = ldexp (n, unit);
    if (v >= 65520.0 || (v > 65504.0)) {
        bool away = mode == 0 || (mode == 2 && negative) || (mode == 3 && !negative);
        return (uint16_t)(sign | (away ? 0x7c00 : 0x7bff));
    }
    if (v == 0)
        return sign;
    frexp (v, &e);
    if (e < -13) // subnormal
        return (uint16_t)(sign | (uint16_t)ldexp (v, 24));
    return (uint16_t)(sign | (uint16_t)((e + 14) << 10) | ((uint16_t)ldexp (v, 11 - e) & 0x3ff));
}

typedef struct wide { // any source value
    bool is_float;
    double f;
    bool negative; // integers: sign and magnitude
    uint64_t mag;
} wide_t;

static wide_t s_read (uint8_t type, uint64_t bits)
{
    wide_t v = {.is_float = false};
    int64_t s = 0;
    float f;
    uint32_t b32 = (uint32_t)bits;
    switch ((int)type) {
    case PTX_TYPE_U8:
        v.mag = (uint8_t)bits;
        return v;
    case PTX_TYPE_U16:
        v.mag = (uint16_t)bits;
        return v;
    case PTX_TYPE_U32:
        v.mag = b32;
        return v;
    case PTX_TYPE_U64:
        v.mag = bits;
        return v;
    case PTX_TYPE_S8:
        s = (int8_t)(uint8_t)bits;
        break;
    case PTX_TYPE_S16:
        s = (int16_t)(uint16_t)bits;
        break;
    case PTX_TYPE_S32:
        s = (int32_t)b32;
        break;
    case PTX_TYPE_S64:
        s = (int64_t)bits;
        break;
    case PTX_TYPE_F16:
        v.is_float = true;
        v.f = (double)vg_half_to_float ((uint16_t)bits);
        return v;
    case PTX_TYPE_F32:
        v.is_float = true;
        memcpy (&f, &b32, 4);
        v.f = (double)f;
        return v;
    default:
        v.is_float = true;
        memcpy (&v.f, &bits, 8);
        return v;
    }
    v.negative = s < 0;
    v.mag = s < 0 ? 0 - (uint64_t)s : (uint64_t)s;
    return v;
}

// Sign and magnitude to a float type with p bits of precision, rounded once.
static double s_int_to_float (bool negative, uint64_t mag, int p, int mode)
{
    int drop = 0;
    while (mag >> drop >> (p - 1) > 1)
        drop++;
    uint64_t kept = mag >> drop, rest = drop ? mag & ((1ull << drop) - 1) : 0, half = drop ? 1ull << (drop - 1) : 0;
    bool up = false;
    if (rest)
        switch (mode) {
        case 0:
            up = rest > half || (rest == half && (kept & 1));
            break;
        case 2:
            up = negative;
            break;
        case 3:
            up = !negative;
            break;
        default:
            break;
        }
    double v = ldexp ((double)(kept + up), drop);
    return negative ? -v : v;
}

static double s_to_float (double x, int mode) // double to float with a rounding mode
{
    static const int modes[4] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
    int old = fegetround ();
    fesetround (modes[mode]);
    volatile double in = x;
    volatile float f = (float)in;
    fesetround (old);
    return (double)f;
}

static int s_mode (uint8_t round, bool *whole)
{
    *whole = round >= PTX_ROUND_RNI && round <= PTX_ROUND_RPI;
    switch ((ptx_round_t)round) {
    case PTX_ROUND_RZ:
    case PTX_ROUND_RZI:
        return 1;
    case PTX_ROUND_RM:
    case PTX_ROUND_RMI:
        return 2;
    case PTX_ROUND_RP:
    case PTX_ROUND_RPI:
        return 3;
    case PTX_ROUND_NONE:
    case PTX_ROUND_RN:
    case PTX_ROUND_RNI:
    case PTX_ROUND_RNA:
    case PTX_ROUND_RS:
        break;
    }
    return 0;
}

static double s_flush (double x)
{
    return fabs (x) < 1.17549435082228750797e-38 ? copysign (0.0, x) : x;
}

static uint64_t s_write_float (const vg_op_t *o, double x, int mode)
{
    uint32_t b32 = 0;
    uint64_t b64;
    if (o->saturate || o->mods & PTX_MOD_SAT)
        x = x > 0 ? (x < 1 ? x : 1) : 0;
    if (o->type == PTX_TYPE_F64) {
        memcpy (&b64, &x, 8);
        return b64;
    }
    if (o->type == PTX_TYPE_F16)
        return vg_double_to_half (x, mode);
    if (x != x)
        return 0x7fffffff;
    float f = (float)s_to_float (x, mode);
    if (o->mods & PTX_MOD_FTZ)
        f = (float)s_flush ((double)f);
    memcpy (&b32, &f, 4);
    return b32;
}

static uint64_t s_write_int (const vg_op_t *o, const wide_t *v, int mode)
{
    uint32_t bits = ptx_type_bytes ((ptx_type_t)o->type) * 8;
    bool is_signed = o->type == PTX_TYPE_S8 || o->type == PTX_TYPE_S16 || o->type == PTX_TYPE_S32 || o->type == PTX_TYPE_S64;
    uint64_t ones = bits == 64 ? ~0ull : (1ull << bits) - 1;
    uint64_t most = is_signed ? ones >> 1 : ones;
    uint64_t least = is_signed ? most + 1 : 0; // magnitude of the smallest value
    bool negative = v->negative;
    uint64_t mag = v->mag;
    bool clamp = o->mods & PTX_MOD_SAT;
    if (v->is_float) {
        double x = v->f;
        if (o->type2 == PTX_TYPE_F32 && o->mods & PTX_MOD_FTZ)
            x = s_flush (x);
        if (x != x) // NaN: 0, but 100..0 from double or to 64 bits
            return o->type2 == PTX_TYPE_F64 || bits == 64 ? 1ull << (bits - 1) : 0;
        negative = signbit (x);
        double a = s_whole (fabs (x), negative, mode);
        mag = a >= 18446744073709551616.0 ? ~0ull : (uint64_t)a;
        clamp = true;
    }
    if (clamp) {
        if (negative && mag > least)
            mag = least;
        if (!negative && mag > most)
            mag = most;
    }
    uint64_t r = (negative ? 0 - mag : mag) & ones;
    if (is_signed && r >> (bits - 1))
        r |= ~ones; // results narrower than their register are extended
    return r;
}

void vg_convert (vg_warp_t *w, const vg_op_t *o, uint32_t m)
{
    bool whole, to_float = o->type == PTX_TYPE_F16 || o->type == PTX_TYPE_F32 || o->type == PTX_TYPE_F64;
    int mode = s_mode (o->round, &whole);
    for (; m; m &= m - 1) {
        uint32_t lane = vg_first (m);
        uint64_t bits = o->s_rows[0] == 2 ? ((const uint64_t *)vg_src (w, o->s[0]))[lane] : ((const uint32_t *)vg_src (w, o->s[0]))[lane];
        wide_t v = s_read (o->type2, bits);
        uint64_t r;
        if (!to_float)
            r = s_write_int (o, &v, mode);
        else if (!v.is_float)
            r = s_write_float (o, s_int_to_float (v.negative, v.mag, o->type == PTX_TYPE_F64 ? 53 : o->type == PTX_TYPE_F16 ? 53 : 24, mode), mode);
        else {
            double x = v.f;
            if (o->type2 == PTX_TYPE_F32 && o->mods & PTX_MOD_FTZ)
                x = s_flush (x);
            if (whole && isfinite (x))
                x = copysign (s_whole (fabs (x), signbit (x), mode), x);
            r = s_write_float (o, x, mode);
        }
        if (o->d_rows == 2)
            ((uint64_t *)vg_dst (w, o->d))[lane] = r;
        else
            ((uint32_t *)vg_dst (w, o->d))[lane] = (uint32_t)r;
    }
}
