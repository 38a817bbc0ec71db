// kc_plan_bind.c - kernel steps: launch checks and arguments bound to parameters by
// name (kernel-program 1.6)

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/model/kc_finding.h"
#include "common/model/kc_plan_build.h"
#include "common/model/kc_program.h"
#include "common/model/kc_program_args.h"
#include "common/model/kc_program_text.h"
#include "common/util/kc_mem.h"

enum {
    S_BLOCK_Z_MAX = 64,
    S_CLUSTER_MAX = 16,
    S_CLUSTER_SM = 90, // first architecture with clusters
};

typedef struct s_bind {
    kc_plan_build_t *b;
    kc_env_t *env;
    const kc_program_kernel_t *k;
    const kc_kernel_signature_t *sig;
    const kc_kernel_facts_t *facts; // NULL before compilation
    kc_plan_step_t *step;
} s_bind_t;

// ---- launch ----

static int s_dim3 (s_bind_t *s, const char *what, char *const *texts, size_t n,
                   uint32_t out[3], int64_t most[3])
{
    out[0] = out[1] = out[2] = 1;
    for (size_t i = 0; i < n; i++) {
        int64_t v;
        kc_err_t err;
        if (kc_env_int (s->env, texts[i], &v, &err) < 0)
            return kc_env_bad (s->env, 0, "%s of %s: %s", what, s->k->kernel, err.text);
        if (v < 1 || v > most[i])
            return kc_env_bad (
                s->env, 0,
                "%s of %s: dimension %c is %s = %lld, possible are 1 to %lld", what,
                s->k->kernel, "xyz"[i], texts[i], (long long)v, (long long)most[i]);
        out[i] = (uint32_t)v;
    }
    return 0;
}

// The bound of __launch_bounds__, 0 = none known.
static int64_t s_own_bound (const s_bind_t *s)
{
    if (s->facts)
        return s->facts->max_threads;
    if (!s->sig->bounds)
        return 0;
    char *first = kc_strndup (s->sig->bounds, strcspn (s->sig->bounds, ","));
    int64_t v = 0;
    if (kc_env_int (s->env, first, &v, NULL) < 0)
        v = 0;
    free (first);
    return v;
}

static int s_block (s_bind_t *s, int64_t *threads_p)
{
    int64_t limit = s->env->facts->max_threads_block;
    int64_t most[3] = {1 << 20, 1 << 20, 1 << 20};
    if (s_dim3 (s, "block", s->k->block, s->k->n_block, s->step->block, most) < 0)
        return -1;
    int64_t threads =
        (int64_t)s->step->block[0] * s->step->block[1] * s->step->block[2];
    if (threads > limit)
        return kc_env_bad (s->env, 0, "block of %s has %lld threads, the limit is %lld",
                           s->k->kernel, (long long)threads, (long long)limit);
    if (s->step->block[2] > S_BLOCK_Z_MAX)
        return kc_env_bad (s->env, 0, "block of %s: dimension z is %u, the limit is %d",
                           s->k->kernel, s->step->block[2], S_BLOCK_Z_MAX);
    int64_t own = s_own_bound (s);
    if (own > 0 && threads > own)
        return kc_env_bad (s->env, 0,
                           "block of %s has %lld threads, its __launch_bounds__ (or "
                           "registers) allow %lld",
                           s->k->kernel, (long long)threads, (long long)own);
    *threads_p = threads;
    return 0;
}

static int s_shared (s_bind_t *s)
{
    kc_err_t err;
    int64_t fixed = s->facts ? s->facts->shared_static : 0,
            limit = s->env->facts->shared_block;
    if (s->k->shared && kc_env_int (s->env, s->k->shared, &s->step->shared, &err) < 0)
        return kc_env_bad (s->env, 0, "shared bytes of %s: %s", s->k->kernel, err.text);
    if (s->step->shared < 0)
        return kc_env_bad (s->env, 0, "shared bytes of %s: %lld is negative",
                           s->k->kernel, (long long)s->step->shared);
    if (s->step->shared + fixed > limit)
        return kc_env_bad (s->env, 0, "%s needs %lld B shared memory, limit %lld",
                           s->k->kernel, (long long)(s->step->shared + fixed),
                           (long long)limit);
    return 0;
}

static int s_cluster (s_bind_t *s)
{
    kc_plan_step_t *step = s->step;
    int64_t most[3] = {S_CLUSTER_MAX, S_CLUSTER_MAX, S_CLUSTER_MAX};
    if (!s->k->n_cluster)
        return 0;
    if (s->env->facts->sm < S_CLUSTER_SM)
        return kc_env_bad (
            s->env, 0,
            "cluster of %s: clusters exist from sm_90 on, this device is sm_%d",
            s->k->kernel, s->env->facts->sm);
    if (s_dim3 (s, "cluster", s->k->cluster, s->k->n_cluster, step->cluster, most) < 0)
        return -1;
    int64_t blocks = (int64_t)step->cluster[0] * step->cluster[1] * step->cluster[2];
    if (blocks > S_CLUSTER_MAX)
        return kc_env_bad (s->env, 0, "cluster of %s has %lld blocks, the limit is %d",
                           s->k->kernel, (long long)blocks, S_CLUSTER_MAX);
    for (int i = 0; i < 3; i++)
        if (step->grid[i] % step->cluster[i])
            return kc_env_bad (
                s->env, 0,
                "grid of %s: dimension %c is %u, not a multiple of the cluster's %u",
                s->k->kernel, "xyz"[i], step -> grid[i], step -> cluster[i]);
    return 0;
}

static int s_launch (s_bind_t *s)
{
    kc_env_t *env = s->env;
    int64_t threads = 0, most[3] = {env->facts->max_grid[0], env->facts->max_grid[1],
                                    env->facts->max_grid[2]};
    if (s_block (s, &threads) < 0)
        return -1;
    env->block = threads;
    if (s_shared (s) < 0)
        return -1;
    env->shared = s->step->shared;
    if (s_dim3 (s, "grid", s->k->grid, s->k->n_grid, s->step->grid, most) < 0
        || s_cluster (s) < 0)
        return -1;
    s->step->cooperative = s->k->cooperative;
    s->step->carveout = s->k->has_carveout ? (int)s->k->carveout : -1;
    if (!s->facts)
        return 0;
    int fit =
        kc_occupancy (env->facts, s->facts->registers,
                      s->facts->shared_static + s->step->shared, (int)threads, NULL);
    if (fit < 1)
        return kc_env_bad (env, 0,
                           "%s does not fit on an SM: %d registers x %lld threads, "
                           "%lld B shared memory",
                           s->k->kernel, s->facts->registers, (long long)threads,
                           (long long)(s->facts->shared_static + s->step->shared));
    int64_t blocks = (int64_t)s->step->grid[0] * s->step->grid[1] * s->step->grid[2];
    if (s->step->cooperative && blocks > (int64_t)fit * env->facts->sms)
        return kc_env_bad (env, 0,
                           "cooperative launch of %s has %lld blocks, %lld are "
                           "resident at once (occupancy %d x %d SMs)",
                           s->k->kernel, (long long)blocks,
                           (long long)fit * env->facts->sms, fit, env->facts->sms);
    return 0;
}

// ---- scalars ----

uint16_t kc_plan_half (double v)
{
    float f = (float)v;
    uint32_t x;
    memcpy (&x, &f, sizeof x);
    uint32_t sign = x >> 16 & 0x8000u, mantissa = x & 0x7fffffu;
    int exponent = (int)(x >> 23 & 0xff) - 127;
    if (exponent > 15) // too large, infinity, NaN
        return (uint16_t)(sign | 0x7c00u | (exponent == 128 && mantissa ? 0x200u : 0));
    if (exponent < -25)
        return (uint16_t)sign;
    mantissa |= 0x800000u;
    int shift = exponent < -14 ? 13 + (-14 - exponent) : 13;
    uint32_t kept = mantissa >> shift, rest = mantissa & ((1u << shift) - 1),
             half = 1u << (shift - 1);
    kept += rest > half || (rest == half && (kept & 1));
    uint32_t base = exponent < -14 ? 0
                                   : (uint32_t)(exponent + 14)
                                         << 10; // the hidden bit adds one more
    return (uint16_t)(sign | (base + kept));
}

uint16_t kc_plan_bfloat (double v)
{
    float f = (float)v;
    uint32_t x;
    memcpy (&x, &f, sizeof x);
    if ((x & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)(x >> 16 | 0x40u);
    return (uint16_t)((x + 0x7fffu + (x >> 16 & 1)) >> 16);
}

static int s_int_range (kc_ctype_t base, int64_t *lo, int64_t *hi)
{
    switch (base) {
    case KC_C_BOOL:
        *lo = 0;
        *hi = 1;
        return 0;
    case KC_C_BYTE:
        *lo = -128;
        *hi = 255;
        return 0;
    case KC_C_I16:
        *lo = INT16_MIN;
        *hi = INT16_MAX;
        return 0;
    case KC_C_U16:
        *lo = 0;
        *hi = UINT16_MAX;
        return 0;
    case KC_C_I32:
        *lo = INT32_MIN;
        *hi = INT32_MAX;
        return 0;
    case KC_C_U32:
        *lo = 0;
        *hi = UINT32_MAX;
        return 0;
    case KC_C_I64:
        *lo = INT64_MIN;
        *hi = INT64_MAX;
        return 0;
    case KC_C_U64:
        *lo = 0;
        *hi = INT64_MAX;
        return 0;
    case KC_C_VOID:
    case KC_C_F32:
    case KC_C_F64:
    case KC_C_F16:
    case KC_C_BF16:
    case KC_C_F8E4M3:
    case KC_C_F8E5M2:
    case KC_C_TENSORMAP:
    case KC_C_TEMPLATE:
    case KC_C_OTHER:
        break;
    }
    return -1;
}

// Store 'v' as the bytes of the parameter's type.
static int s_store (s_bind_t *s, const kc_param_t *p, kc_ctype_t base,
                    const kc_value_t *v, kc_plan_arg_t *arg)
{
    int64_t lo, hi;
    if (s_int_range (base, &lo, &hi) == 0) {
        int64_t i = v->type == KC_VALUE_BOOL ? v->b : v->i;
        if (v->type == KC_VALUE_REAL)
            return kc_env_bad (
                s->env, p->line,
                "parameter '%s' of %s is %s, its value is a float; int(...) converts",
                p->name, s->k->kernel, p->type);
        if (i < lo || i > hi)
            return kc_env_bad (
                s->env, p->line,
                "parameter '%s' of %s: %lld does not fit in %s; make it long long",
                p->name, s->k->kernel, (long long)i, p->type);
        memcpy (arg->bytes, &i, arg->size); // little endian, as the device is
        return 0;
    }
    if (v->type == KC_VALUE_BOOL)
        return kc_env_bad (s->env, p->line,
                           "parameter '%s' of %s is %s, its value is a boolean",
                           p->name, s->k->kernel, p->type);
    double d = v->type == KC_VALUE_INT ? (double)v->i : v->f;
    float f = (float)d;
    uint16_t h = base == KC_C_F16 ? kc_plan_half (d) : kc_plan_bfloat (d);
    if (base == KC_C_F64)
        memcpy (arg->bytes, &d, sizeof d);
    else if (base == KC_C_F32)
        memcpy (arg->bytes, &f, sizeof f);
    else if (base == KC_C_F16 || base == KC_C_BF16)
        memcpy (arg->bytes, &h, sizeof h);
    else
        return kc_env_bad (s->env, p->line,
                           "parameter '%s' of %s: a value cannot be passed as %s",
                           p->name, s->k->kernel, p->type);
    return 0;
}

// The type of a template parameter as this launch instantiates it; -1 when it is not
// one we know.
static int s_template_type (const s_bind_t *s, const kc_param_t *p, kc_ctype_t *base,
                            int *lanes)
{
    for (size_t i = 0; i < s->sig->n_template && i < s->k->n_template; i++)
        if (!strcmp (s->sig->template_names[i], p->base_name))
            return kc_ctype_parse (s->k->template[i], base, lanes);
    return -1;
}

static int s_scalar (s_bind_t *s, const kc_param_t *p, const kc_program_arg_t *a,
                     bool derived, kc_plan_arg_t *arg)
{
    kc_ctype_t base = p->base;
    int lanes = p->lanes;
    if ((base == KC_C_TEMPLATE && s_template_type (s, p, &base, &lanes) < 0)
        || base == KC_C_OTHER || lanes != 1 || !kc_ctype_size (base) || p->reference)
        return kc_env_bad (s->env, p->line,
                           "parameter '%s' of %s has type %s: only pointers, numbers "
                           "and CUtensorMap are passed; "
                           "split a struct into its members",
                           p->name, s->k->kernel, p->type);
    arg->size = kc_ctype_size (base);
    kc_value_t v;
    kc_err_t err = {0};
    int rc = derived ? kc_env_scalar (s->env, p->name, true, &v, &err)
             : kc_env_value (s->env, a->value, &v, &err) < 0 ? -1
                                                             : 1;
    if (rc < 0)
        return kc_env_bad (s->env, p->line, "parameter '%s' of %s: %s", p->name,
                           s->k->kernel, err.text);
    if (rc == 0) {
        char *names = kc_env_names (s->env, false);
        kc_env_bad (s->env, p->line,
                    "parameter '%s' of %s (%s) has no value; known: %s", p->name,
                    s->k->kernel, p->type, names);
        free (names);
        return -1;
    }
    return s_store (s, p, base, &v, arg);
}

// ---- pointers ----

static bool s_type_fits (kc_ctype_t base, kc_program_dtype_t dtype)
{
    if (base == KC_C_VOID || base == KC_C_BYTE || base == KC_C_OTHER
        || base == KC_C_TEMPLATE)
        return true;
    switch (dtype) {
    case KC_PROGRAM_DTYPE_UNSET:
        return false;
    case KC_PROGRAM_DTYPE_F64:
        return base == KC_C_F64;
    case KC_PROGRAM_DTYPE_F32:
        return base == KC_C_F32;
    case KC_PROGRAM_DTYPE_F16:
        return base == KC_C_F16 || base == KC_C_U16 || base == KC_C_I16;
    case KC_PROGRAM_DTYPE_BF16:
        return base == KC_C_BF16 || base == KC_C_U16 || base == KC_C_I16;
    case KC_PROGRAM_DTYPE_F8E4M3:
        return base == KC_C_F8E4M3;
    case KC_PROGRAM_DTYPE_F8E5M2:
        return base == KC_C_F8E5M2;
    case KC_PROGRAM_DTYPE_I64:
        return base == KC_C_I64 || base == KC_C_U64;
    case KC_PROGRAM_DTYPE_I32:
    case KC_PROGRAM_DTYPE_U32:
        return base == KC_C_I32 || base == KC_C_U32;
    case KC_PROGRAM_DTYPE_I16:
    case KC_PROGRAM_DTYPE_U16:
        return base == KC_C_I16 || base == KC_C_U16;
    case KC_PROGRAM_DTYPE_I8:
    case KC_PROGRAM_DTYPE_U8:
        return false; // only through BYTE
    case KC_PROGRAM_DTYPE_BOOL:
        return base == KC_C_BOOL;
    }
    return false;
}

static int s_find_tensor (s_bind_t *s, const kc_param_t *p, const char *name,
                          bool loose, kc_env_tensor_t *t)
{
    kc_err_t err = {0};
    int rc = kc_env_tensor (s->env, name, loose, t, &err);
    if (rc > 0)
        return 0;
    if (rc < 0)
        return kc_env_bad (s->env, p->line, "parameter '%s' of %s: %s", p->name,
                           s->k->kernel, err.text);
    char *names = kc_env_names (s->env, true);
    kc_env_bad (s->env, p->line,
                "parameter '%s' of %s (%s): there is no tensor '%s'; known: %s",
                p->name, s->k->kernel, p->type, name, names);
    free (names);
    return -1;
}

static int s_pointer (s_bind_t *s, const kc_param_t *p, const kc_program_arg_t *a,
                      bool derived, kc_plan_arg_t *arg)
{
    kc_env_tensor_t t;
    const char *kernel = s->k->kernel;
    if (p->pointer_pointer || p->reference)
        return kc_env_bad (
            s->env, p->line,
            "parameter '%s' of %s: pointers to pointers cannot be passed", p->name,
            kernel);
    if (!derived && !a->tensor)
        return kc_env_bad (s->env, p->line,
                           "parameter '%s' of %s is a pointer and needs a tensor",
                           p->name, kernel);
    if (s_find_tensor (s, p, derived ? p->name : a->tensor, derived, &t) < 0)
        return -1;
    char who[200];
    snprintf (who, sizeof who, "%.64s.%.64s", kernel, p->name);
    if (kc_plan_may_use (s->b, &t, who) < 0)
        return -1;
    kc_ctype_t base = p->base;
    int lanes = p->lanes;
    if (base == KC_C_TEMPLATE && s_template_type (s, p, &base, &lanes) < 0)
        base = KC_C_OTHER;
    if (!s_type_fits (base, t.dtype))
        return kc_env_bad (s->env, p->line, "%s is %s, tensor %s is %s", who, p->type,
                           t.name, kc_dtype_name (t.dtype));
    snprintf (who, sizeof who, "%.64s.%.64s must be const", kernel, p->name);
    if (!p->is_const && kc_plan_may_write (s->b, &t, p->line, who) < 0)
        return -1;
    int64_t offset = 0, size = (int64_t)kc_dtype_size (t.dtype);
    kc_err_t err;
    if (a && a->offset && kc_env_int (s->env, a->offset, &offset, &err) < 0)
        return kc_env_bad (s->env, p->line, "parameter '%s' of %s: %s", p->name, kernel,
                           err.text);
    int64_t first = t.offset;
    if (__builtin_add_overflow (first, offset, &first) || first < t.low
        || first >= t.high)
        return kc_env_bad (s->env, p->line,
                           "parameter '%s' of %s: offset %lld lies outside %s, which "
                           "has %lld elements",
                           p->name, kernel, (long long)offset, t.name,
                           (long long)t.elements);
    int64_t lane = (int64_t)kc_ctype_size (base),
            need = lane ? (lanes == 3 ? lane : lane * lanes) : 1;
    if (need > 16)
        need = 16;
    if (need > 1 && first * size % need)
        return kc_env_bad (s->env, p->line,
                           "parameter '%s' of %s is %s, which must be aligned to %lld "
                           "bytes; the offset of %s is "
                           "%lld bytes",
                           p->name, kernel, p->type, (long long)need, t.name,
                           (long long)(first * size));
    arg->buffer = t.buffer;
    arg->byte_offset = first * size;
    arg->writes = !p->is_const;
    arg->size = 8;
    // tensor + offset reaches to the end of the tensor; a strided view by its bounds
    kc_plan_touch (s->step, t.buffer, (offset ? first : t.low) * size, t.high * size,
                   arg->writes);
    return 0;
}

static int s_map (s_bind_t *s, const kc_param_t *p, const kc_program_arg_t *a,
                  bool derived, kc_plan_arg_t *arg)
{
    const char *name = derived ? p->name : a->map;
    const kc_program_tensormap_t *map =
        name ? kc_env_map (s->env, name, derived) : NULL;
    kc_env_tensor_t t;
    if (!map)
        return kc_env_bad (s->env, p->line,
                           "parameter '%s' of %s: there is no tensor map '%s'; declare "
                           "it: //@ tensormap",
                           p->name, s->k->kernel, name ? name : "");
    if (kc_plan_check_map (s->b, map, &t) < 0)
        return -1;
    int64_t size = (int64_t)kc_dtype_size (t.dtype);
    kc_plan_touch (s->step, t.buffer, t.low * size, t.high * size, map->write);
    arg->size = 128;
    s->b->plan->tensormaps = true;
    return 0;
}

// ---- the argument list ----

static const kc_program_arg_t *s_given (const kc_program_kernel_t *k,
                                        const kc_param_t *p)
{
    for (size_t i = 0; i < k->n_args; i++)
        if (!strcmp (k->args[i].param, p->name))
            return &k->args[i];
    return NULL;
}

static size_t s_align_up (size_t at, size_t align)
{
    return (at + align - 1) / align * align;
}

static int s_arguments (s_bind_t *s)
{
    kc_plan_step_t *step = s->step;
    int rc = 0;
    size_t at = 0;
    step->n_args = s->sig->n_params;
    step->args = kc_calloc (step->n_args + 1, sizeof *step->args);
    for (size_t i = 0; i < s->sig->n_params; i++) {
        const kc_param_t *p = &s->sig->params[i];
        const kc_program_arg_t *a = s_given (s->k, p);
        kc_plan_arg_t *arg = &step->args[i];
        bool derived = !a || kc_program_arg_derived (a, p);
        arg->buffer = -1;
        int one = p->pointer || p->pointer_pointer ? s_pointer (s, p, a, derived, arg)
                  : p->base == KC_C_TENSORMAP && !p->reference
                      ? s_map (s, p, a, derived, arg)
                      : s_scalar (s, p, a, derived, arg);
        if (one < 0) {
            rc = -1;
            continue;
        }
        at = s_align_up (at, arg->size == 128
                                 ? 64
                                 : arg->size); // the hardware's maps are aligned to 64
        arg->offset = at;
        at += arg->size;
    }
    step->param_bytes = at;
    if (rc == 0 && at > KC_PLAN_MAX_ARG_BYTES)
        return kc_env_bad (s->env, s->sig->line,
                           "the arguments of %s take %zu bytes, the limit is %d",
                           s->k->kernel, at, KC_PLAN_MAX_ARG_BYTES);
    return rc;
}

// What the compiler made of the signature must be what the tokenizer read.
static int s_compare_layout (s_bind_t *s)
{
    if (!s->facts || s->facts->n_params == 0)
        return 0;
    bool same = s->facts->n_params == s->step->n_args;
    for (size_t i = 0; same && i < s->step->n_args; i++) {
        if (s->step->args[i].size == 128) // take the compiler's place of a tensor map
            s->step->args[i].offset = s->facts->params[i].offset;
        same = s->facts->params[i].offset == s->step->args[i].offset
               && s->facts->params[i].size == s->step->args[i].size;
    }
    if (same)
        return 0;
    return kc_finding (s->env->findings, KC_VERDICT_STATUS_INFRA_ERROR, s->sig->line,
                       s->env->step,
                       "a defect of ours: the parameters of %s as read from the source "
                       "differ from the compiled ones (%zu and "
                       "%zu); please report it with the program",
                       s->k->kernel, s->step->n_args, s->facts->n_params);
}

int kc_plan_kernel_step (kc_plan_build_t *b, const kc_program_kernel_t *k)
{
    kc_env_t *env = b->env;
    s_bind_t s = {.b = b, .env = env, .k = k};
    env->kernel = k->kernel;
    s.sig = kc_signatures_find (env->signatures, k->kernel);
    if (!s.sig) {
        const char *known[64];
        size_t n = 0;
        for (size_t i = 0; i < env->signatures->n && n < KC_COUNT (known); i++)
            known[n++] = env->signatures->items[i].name;
        char *text = kc_suggest (k->kernel, known, n);
        kc_env_bad (env, 0, "the source has no kernel '%s'%s", k->kernel, text);
        free (text);
        return -1;
    }
    kc_err_t err = {0};
    char *full = kc_env_kernel_name (env, k, &err);
    if (!full)
        return kc_env_bad (env, 0, "%s", err.text);
    env->kernel_full = full;
    s.facts = env->dry ? NULL : kc_env_kernel (env, full);
    int rc = 0;
    if (!env->dry && !s.facts)
        rc = kc_env_bad (env, 0, "kernel %s was not compiled", full);
    s.step = rc == 0 ? kc_plan_add_step (b, KC_PLAN_KERNEL) : NULL;
    if (!s.step)
        rc = -1;
    else {
        s.step->kernel = s.facts ? (int)(s.facts - env->kernels) : -1;
        rc = s_launch (&s);
        if (s_arguments (&s) < 0 || (rc == 0 && s_compare_layout (&s) < 0))
            rc = -1;
        if (k->overlap && b->plan->n_warnings == 0)
            *(char **)kc_push (&b->plan->warnings, &b->plan->n_warnings,
                               sizeof (char *)) =
                kc_asprintf (
                    "%s: overlap is not used yet, the launch waits for the step before",
                    k->kernel);
    }
    env->kernel_full = NULL;
    free (full);
    return rc;
}
