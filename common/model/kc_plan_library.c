// kc_plan_library.c - library steps and tensor maps: shapes checked, accesses noted;
// executing them comes later

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/model/kc_plan_build.h"
#include "common/model/kc_program.h"
#include "common/model/kc_program_text.h"
#include "common/util/kc_mem.h"

static void s_touch (kc_plan_step_t *s, const kc_env_tensor_t *t, bool writes)
{
    int64_t size = (int64_t)kc_dtype_size (t->dtype);
    kc_plan_touch (s, t->buffer, t->low * size, t->high * size, writes);
}

// Find an operand; a missing optional one gives 0, a found one 1.
static int s_operand (kc_plan_build_t *b, const char *what, const char *name,
                      kc_env_tensor_t *t)
{
    if (!name)
        return 0;
    return kc_plan_tensor (b, what, name, t) < 0 ? -1 : 1;
}

static int s_output (kc_plan_build_t *b, const char *what, const char *name,
                     kc_env_tensor_t *t)
{
    int rc = s_operand (b, what, name, t);
    if (rc > 0 && kc_plan_may_write (b, t, 0, what) < 0)
        return -1;
    return rc;
}

// An optional number that must evaluate.
static int s_number (kc_plan_build_t *b, const char *what, const char *text)
{
    double v;
    kc_err_t err;
    if (text && kc_env_real (b->env, text, &v, &err) < 0)
        return kc_env_bad (b->env, 0, "%s: %s", what, err.text);
    return 0;
}

// ---- matmul ----

static int s_matmul_shapes (kc_plan_build_t *b, const kc_program_matmul_t *k,
                            const kc_env_tensor_t *a, const kc_env_tensor_t *w,
                            const kc_env_tensor_t *out)
{
    if (a->rank < 2 || a->rank > 3 || w->rank < 2 || w->rank > 3 || out->rank < 2
        || out->rank > 3)
        return kc_env_bad (
            b->env, 0,
            "matmul works on 2 or 3 dimensions: %s has %d, %s %d, %s %d; use views",
            a->name, a->rank, w->name, w->rank, out->name, out->rank);
    int64_t m = a->sizes[a->rank - (k->ta ? 1 : 2)],
            ka = a->sizes[a->rank - (k->ta ? 2 : 1)];
    int64_t kb = w->sizes[w->rank - (k->tb ? 1 : 2)],
            n = w->sizes[w->rank - (k->tb ? 2 : 1)];
    int64_t om = out->sizes[out->rank - 2], on = out->sizes[out->rank - 1];
    if (ka != kb)
        return kc_env_bad (
            b->env, 0,
            "matmul: the inner sizes differ, %s gives %lld and %s gives %lld%s",
            a->name, (long long)ka, w->name, (long long)kb,
            k->tb ? "" : " (tb transposes b)");
    if (om != m || on != n)
        return kc_env_bad (
            b->env, 0, "matmul: the product is %lld x %lld, %s is %lld x %lld",
            (long long)m, (long long)n, out->name, (long long)om, (long long)on);
    int64_t batch = out->rank == 3 ? out->sizes[0] : 1;
    if ((a->rank == 3 && a->sizes[0] != batch)
        || (w->rank == 3 && w->sizes[0] != batch))
        return kc_env_bad (b->env, 0,
                           "matmul: %s has %lld matrices, its operands another number",
                           out->name, (long long)batch);
    return 0;
}

static int s_matmul (kc_plan_build_t *b, const kc_program_matmul_t *k)
{
    kc_env_tensor_t a, w, c, bias, out;
    if (s_operand (b, "matmul a", k->a, &a) < 0
        || s_operand (b, "matmul b", k->b, &w) < 0
        || s_output (b, "matmul out", k->out, &out) < 0
        || s_matmul_shapes (b, k, &a, &w, &out) < 0)
        return -1;
    int has_c = s_operand (b, "matmul c", k->c, &c),
        has_bias = s_operand (b, "matmul bias", k->bias, &bias);
    if (has_c < 0 || has_bias < 0 || s_number (b, "alpha", k->alpha) < 0
        || s_number (b, "beta", k->beta) < 0)
        return -1;
    if (has_c && c.elements != out.elements)
        return kc_env_bad (b->env, 0, "matmul: c has %lld elements, out %lld",
                           (long long)c.elements, (long long)out.elements);
    if (has_bias && bias.elements != out.sizes[out.rank - 1])
        return kc_env_bad (
            b->env, 0, "matmul: bias has %lld elements, the rows of %s have %lld",
            (long long)bias.elements, out.name, (long long)out.sizes[out.rank - 1]);
    if (a.dtype != w.dtype || (has_bias && bias.dtype != out.dtype))
        return kc_env_bad (b->env, 0,
                           "matmul: %s is %s and %s is %s, they must be equal", a.name,
                           kc_dtype_name (a.dtype), w.name, kc_dtype_name (w.dtype));
    kc_plan_step_t *s = kc_plan_add_step (b, KC_PLAN_MATMUL);
    if (!s)
        return -1;
    s_touch (s, &a, false);
    s_touch (s, &w, false);
    if (has_c)
        s_touch (s, &c, false);
    if (has_bias)
        s_touch (s, &bias, false);
    s_touch (s, &out, true);
    return 0;
}

// ---- conv ----

// The d-th of a list of spatial numbers, or the default.
static int s_spatial (kc_plan_build_t *b, const char *what, char *const *list, size_t n,
                      int spatial, int d, int64_t preset, int64_t least, int64_t *out)
{
    kc_err_t err;
    *out = preset;
    if (!n)
        return 0;
    if (n != (size_t)spatial)
        return kc_env_bad (b->env, 0,
                           "conv: %s has %zu numbers for %d spatial dimensions", what,
                           n, spatial);
    if (kc_env_int (b->env, list[d], out, &err) < 0)
        return kc_env_bad (b->env, 0, "conv %s: %s", what, err.text);
    if (*out < least || *out > 1 << 20)
        return kc_env_bad (b->env, 0, "conv: %s is %lld", what, (long long)*out);
    return 0;
}

static int s_conv_size (kc_plan_build_t *b, const kc_program_conv_t *k, int spatial,
                        int d, int64_t in, int64_t filter, int64_t *out)
{
    int64_t stride, padding, dilation, extra;
    if (s_spatial (b, "stride", k->stride, k->n_stride, spatial, d, 1, 1, &stride) < 0
        || s_spatial (b, "padding", k->padding, k->n_padding, spatial, d, 0, 0,
                      &padding)
               < 0
        || s_spatial (b, "dilation", k->dilation, k->n_dilation, spatial, d, 1, 1,
                      &dilation)
               < 0
        || s_spatial (b, "output_padding", k->output_padding, k->n_output_padding,
                      spatial, d, 0, 0, &extra)
               < 0)
        return -1;
    int64_t reach = dilation * (filter - 1) + 1;
    *out = k->transposed ? (in - 1) * stride - 2 * padding + reach + extra
                         : (in + 2 * padding - reach) / stride + 1;
    if (!k->transposed && in + 2 * padding < reach)
        return kc_env_bad (
            b->env, 0, "conv: the filter (%lld) is larger than the padded input (%lld)",
            (long long)reach, (long long)(in + 2 * padding));
    return 0;
}

static int s_conv_shapes (kc_plan_build_t *b, const kc_program_conv_t *k,
                          const kc_env_tensor_t *x, const kc_env_tensor_t *w,
                          const kc_env_tensor_t *out)
{
    int spatial = x->rank - 2;
    bool last = k->layout == KC_PROGRAM_CONV_LAYOUT_CHANNELS_LAST;
    if (spatial < 1 || spatial > 3 || w->rank != x->rank || out->rank != x->rank)
        return kc_env_bad (
            b->env, 0,
            "conv: x, w and out have 3 to 5 dimensions each, found %d, %d, %d", x->rank,
            w->rank, out->rank);
    int64_t groups = 1;
    kc_err_t err;
    if (k->groups && kc_env_int (b->env, k->groups, &groups, &err) < 0)
        return kc_env_bad (b->env, 0, "conv groups: %s", err.text);
    int64_t in = x->sizes[last ? x->rank - 1 : 1],
            made = out->sizes[last ? out->rank - 1 : 1];
    int64_t w_in = k->transposed ? w->sizes[0] : w->sizes[1] * groups,
            w_out = k->transposed ? w->sizes[1] * groups : w->sizes[0];
    if (groups < 1 || in % groups || in != w_in || made != w_out
        || out->sizes[0] != x->sizes[0])
        return kc_env_bad (b->env, 0,
                           "conv: x has %lld channels and out %lld, w is for %lld and "
                           "%lld (groups %lld)",
                           (long long)in, (long long)made, (long long)w_in,
                           (long long)w_out, (long long)groups);
    for (int d = 0; d < spatial; d++) {
        int64_t want, at = last ? 1 + d : 2 + d;
        if (s_conv_size (b, k, spatial, d, x->sizes[at], w->sizes[2 + d], &want) < 0)
            return -1;
        if (out->sizes[at] != want)
            return kc_env_bad (
                b->env, 0,
                "conv: dimension %d of %s is %lld, the convolution gives %lld", (int)at,
                out->name, (long long)out->sizes[at], (long long)want);
    }
    return 0;
}

static int s_conv (kc_plan_build_t *b, const kc_program_conv_t *k)
{
    kc_env_tensor_t x, w, bias, residual, out;
    if (s_operand (b, "conv x", k->x, &x) < 0 || s_operand (b, "conv w", k->w, &w) < 0
        || s_output (b, "conv out", k->out, &out) < 0
        || s_conv_shapes (b, k, &x, &w, &out) < 0)
        return -1;
    int has_bias = s_operand (b, "conv bias", k->bias, &bias),
        has_residual = s_operand (b, "conv residual", k->residual, &residual);
    if (has_bias < 0 || has_residual < 0)
        return -1;
    int64_t channels =
        out.sizes[k->layout == KC_PROGRAM_CONV_LAYOUT_CHANNELS_LAST ? out.rank - 1 : 1];
    if (has_bias && bias.elements != channels)
        return kc_env_bad (b->env, 0, "conv: bias has %lld elements, out %lld channels",
                           (long long)bias.elements, (long long)channels);
    if (has_residual && residual.elements != out.elements)
        return kc_env_bad (b->env, 0, "conv: residual and out differ in shape");
    kc_plan_step_t *s = kc_plan_add_step (b, KC_PLAN_CONV);
    if (!s)
        return -1;
    s_touch (s, &x, false);
    s_touch (s, &w, false);
    if (has_bias)
        s_touch (s, &bias, false);
    if (has_residual)
        s_touch (s, &residual, false);
    s_touch (s, &out, true);
    return 0;
}

// ---- rnn, attention ----

static int s_rnn (kc_plan_build_t *b, const kc_program_rnn_t *k)
{
    kc_env_tensor_t t;
    const char *const reads[] = {k->x, k->h0, k->c0}, *const writes[] = {k->out, k->hn,
                                                                         k->cn};
    int64_t layers = 1;
    kc_err_t err;
    if (k->layers && kc_env_int (b->env, k->layers, &layers, &err) < 0)
        return kc_env_bad (b->env, 0, "rnn layers: %s", err.text);
    int64_t sets = layers * (k->bidirectional ? 2 : 1);
    if (layers < 1 || layers > 64
        || ((int64_t)k->n_weights != 4 * sets && (int64_t)k->n_weights != 2 * sets))
        return kc_env_bad (
            b->env, 0,
            "rnn: %lld layers%s take %lld weights (%lld with biases), %zu are given",
            (long long)layers, k->bidirectional ? " in both directions" : "",
            (long long)(2 * sets), (long long)(4 * sets), k->n_weights);
    kc_plan_step_t *s = kc_plan_add_step (b, KC_PLAN_RNN);
    for (size_t i = 0; s && i < 3; i++) {
        int rc = s_operand (b, "rnn", reads[i], &t);
        if (rc > 0)
            s_touch (s, &t, false);
        if (rc >= 0)
            rc = s_output (b, "rnn", writes[i], &t);
        if (rc > 0)
            s_touch (s, &t, true);
        if (rc < 0)
            return -1;
    }
    for (size_t i = 0; s && i < k->n_weights; i++) {
        if (s_operand (b, "rnn weights", k->weights[i], &t) < 0)
            return -1;
        s_touch (s, &t, false);
    }
    return s ? 0 : -1;
}

static int s_attention (kc_plan_build_t *b, const kc_program_attention_t *k)
{
    kc_env_tensor_t q, key, v, out;
    if (s_operand (b, "attention q", k->q, &q) < 0
        || s_operand (b, "attention k", k->k, &key) < 0
        || s_operand (b, "attention v", k->v, &v) < 0
        || s_output (b, "attention out", k->out, &out) < 0
        || s_number (b, "scale", k->scale) < 0)
        return -1;
    if (kc_dtype_size (q.dtype) != 2 || key.dtype != q.dtype || v.dtype != q.dtype)
        return kc_env_bad (
            b->env, 0,
            "attention takes f16 or bf16 for q, k and v alike; for %s write a kernel",
            kc_dtype_name (q.dtype));
    if (q.rank < 3 || key.rank != q.rank || v.rank != q.rank || out.rank != q.rank
        || q.sizes[q.rank - 1] != key.sizes[key.rank - 1]
        || key.sizes[key.rank - 2] != v.sizes[v.rank - 2]
        || out.sizes[out.rank - 1] != v.sizes[v.rank - 1]
        || out.sizes[out.rank - 2] != q.sizes[q.rank - 2])
        return kc_env_bad (b->env, 0,
                           "attention: the shapes of q, k, v and out do not fit");
    kc_plan_step_t *s = kc_plan_add_step (b, KC_PLAN_ATTENTION);
    if (!s)
        return -1;
    s_touch (s, &q, false);
    s_touch (s, &key, false);
    s_touch (s, &v, false);
    s_touch (s, &out, true);
    return 0;
}

int kc_plan_library_step (kc_plan_build_t *b, const kc_program_step_t *step)
{
    switch (step->kind) {
    case KC_PROGRAM_STEP_MATMUL:
        return s_matmul (b, step->u.matmul);
    case KC_PROGRAM_STEP_CONV:
        return s_conv (b, step->u.conv);
    case KC_PROGRAM_STEP_RNN:
        return s_rnn (b, step->u.rnn);
    case KC_PROGRAM_STEP_ATTENTION:
        return s_attention (b, step->u.attention);
    case KC_PROGRAM_STEP_UNSET:
    case KC_PROGRAM_STEP_KERNEL:
    case KC_PROGRAM_STEP_COPY:
    case KC_PROGRAM_STEP_FILL:
        break;
    }
    return kc_env_bad (b->env, 0, "unknown kind of step");
}

// ---- tensor maps ----

// The dimensions of a map count from the innermost one on.
static int s_map_box (kc_plan_build_t *b, const kc_program_tensormap_t *m,
                      const kc_env_tensor_t *t)
{
    static const int spans[] = {0, 1 << 20, 32, 64,
                                128}; // by swizzle: unset none 32B 64B 128B
    int64_t size = (int64_t)kc_dtype_size (t->dtype);
    if (m->mode == KC_PROGRAM_TENSORMAP_MODE_TILED && m->n_box != (size_t)t->rank)
        return kc_env_bad (b->env, 0,
                           "tensormap %s: box has %zu sides, %s %d dimensions", m->name,
                           m->n_box, t->name, t->rank);
    for (size_t i = 0; i < m->n_box; i++) {
        int64_t side;
        kc_err_t err;
        if (kc_env_int (b->env, m->box[i], &side, &err) < 0)
            return kc_env_bad (b->env, 0, "tensormap %s box: %s", m->name, err.text);
        if (side < 1 || side > 256)
            return kc_env_bad (
                b->env, 0,
                "tensormap %s: side %zu of the box is %lld, possible are 1 to 256",
                m->name, i, (long long)side);
        if (i == 0 && side * size > spans[m->swizzle])
            return kc_env_bad (b->env, 0,
                               "tensormap %s: the inner side of the box is %lld B, "
                               "more than the swizzle's %d B",
                               m->name, (long long)(side * size), spans[m->swizzle]);
        if (i == 0 && side * size % 16)
            return kc_env_bad (b->env, 0,
                               "tensormap %s: the inner side of the box is %lld B, not "
                               "a multiple of 16",
                               m->name, (long long)(side * size));
    }
    return 0;
}

int kc_plan_check_map (kc_plan_build_t *b, const kc_program_tensormap_t *m,
                       kc_env_tensor_t *t)
{
    char what[100];
    snprintf (what, sizeof what, "tensormap %.64s", m->name);
    if (kc_plan_tensor (b, what, m->of, t) < 0
        || (m->write && kc_plan_may_write (b, t, 0, what) < 0))
        return -1;
    int64_t size = (int64_t)kc_dtype_size (t->dtype);
    if (t->rank < 1 || t->rank > 5)
        return kc_env_bad (b->env, 0, "%s: %s has %d dimensions, 1 to 5 are possible",
                           what, t->name, t->rank);
    if (t->strides[t->rank - 1] != 1)
        return kc_env_bad (b->env, 0,
                           "%s: the innermost dimension of %s is not contiguous", what,
                           t->name);
    if (t->offset * size % 16)
        return kc_env_bad (b->env, 0,
                           "%s: %s begins at byte %lld, not a multiple of 16", what,
                           t->name, (long long)(t->offset * size));
    for (int d = 0; d + 1 < t->rank; d++)
        if (t->strides[d] * size % 16 || t->strides[d] < 1)
            return kc_env_bad (b->env, 0,
                               "%s: row stride %lld B is not a multiple of 16", what,
                               (long long)(t->strides[d] * size));
    if (m->type == KC_PROGRAM_TENSORMAP_TYPE_TF32 && t->dtype != KC_PROGRAM_DTYPE_F32)
        return kc_env_bad (b->env, 0, "%s: type=tf32 is for f32, %s is %s", what,
                           t->name, kc_dtype_name (t->dtype));
    return s_map_box (b, m, t);
}
