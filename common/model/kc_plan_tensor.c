// kc_plan_tensor.c - tensors and views of an environment: sizes, strides, bounds

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/model/kc_plan_env.h"
#include "common/model/kc_program_text.h"

static void s_contiguous (kc_env_tensor_t *t)
{
    int64_t stride = 1;
    for (int d = t->rank - 1; d >= 0; d--) {
        t->strides[d] = stride;
        stride *= t->sizes[d]; // the product was checked
    }
}

int kc_env_product (const int64_t *sizes, int rank, int64_t *out)
{
    int64_t n = 1;
    for (int d = 0; d < rank; d++)
        if (sizes[d] < 0 || __builtin_mul_overflow (n, sizes[d], &n))
            return -1;
    *out = n;
    return n > ((int64_t)1 << 42) ? -1 : 0;
}

static void s_of_buffer (const kc_env_t *env, int index, kc_env_tensor_t *t)
{
    const kc_plan_buffer_t *b = &env->buffers[index];
    *t = (kc_env_tensor_t){.name = b->name,
                           .buffer = index,
                           .dtype = b->dtype,
                           .rank = b->rank,
                           .elements = b->elements,
                           .high = b->elements,
                           .contiguous = true};
    memcpy (t->sizes, b->sizes, sizeof t->sizes);
    s_contiguous (t);
}

static int s_view_shape (kc_env_t *env, const kc_program_view_t *v, kc_env_tensor_t *t,
                         kc_err_t *err)
{
    t->rank = (int)v->n_shape;
    for (size_t d = 0; d < v->n_shape; d++) {
        if (kc_env_int (env, v->shape[d], &t->sizes[d], err) < 0)
            return -1;
        if (t->sizes[d] < 1)
            return kc_fail (err, KC_EINVALID, "view %s has size %lld in dimension %zu",
                            v->name, (long long)t->sizes[d], d);
    }
    if (kc_env_product (t->sizes, t->rank, &t->elements) < 0)
        return kc_fail (err, KC_EINVALID, "view %s has too many elements", v->name);
    s_contiguous (t);
    t->contiguous = true;
    int64_t expected[KC_PLAN_MAX_RANK];
    memcpy (expected, t->strides, sizeof expected);
    for (size_t d = 0; d < v->n_strides; d++) {
        if (kc_env_int (env, v->strides[d], &t->strides[d], err) < 0)
            return -1;
        t->contiguous =
            t->contiguous && (t->sizes[d] == 1 || t->strides[d] == expected[d]);
    }
    return 0;
}

static int s_view (kc_env_t *env, const kc_program_view_t *v, kc_env_tensor_t *t,
                   kc_err_t *err)
{
    kc_env_tensor_t of;
    if (env->view_depth >= KC_ENV_VIEWS_DEEP)
        return kc_fail (err, KC_EINVALID, "view %s: views of views go too deep",
                        v->name);
    env->view_depth++;
    int rc = kc_env_tensor (env, v->of, false, &of, err);
    env->view_depth--;
    if (rc == 0) {
        char *names = kc_env_names (env, true);
        kc_fail (err, KC_EINVALID, "view %s: there is no tensor '%s'; known: %s",
                 v->name, v->of, names);
        free (names);
    }
    if (rc <= 0)
        return -1;
    int64_t offset = 0;
    *t = (kc_env_tensor_t){
        .name = v->name, .buffer = of.buffer, .dtype = of.dtype, .view = true};
    if (s_view_shape (env, v, t, err) < 0
        || (v->offset && kc_env_int (env, v->offset, &offset, err) < 0))
        return -1;
    bool over = __builtin_add_overflow (of.offset, offset, &t->offset);
    t->low = t->high = t->offset;
    for (int d = 0; d < t->rank && !over; d++) {
        int64_t span;
        over = __builtin_mul_overflow (t->strides[d], t->sizes[d] - 1, &span)
               || __builtin_add_overflow (span < 0 ? t->low : t->high, span,
                                          span < 0 ? &t->low : &t->high);
    }
    t->high += 1;
    const kc_plan_buffer_t *b = &env->buffers[t->buffer];
    if (over || t->low < 0 || t->high > b->elements)
        return kc_fail (err, KC_EINVALID,
                        "view %s reaches element %lld of %s, which has %lld", v->name,
                        (long long)(over || t->low >= 0 ? t->high - 1 : t->low),
                        b->name, (long long)b->elements);
    return 1;
}

int kc_env_tensor (kc_env_t *env, const char *name, bool loose, kc_env_tensor_t *out,
                   kc_err_t *err)
{
    for (int pass = 0; pass < 1 + loose; pass++) {
        int (*same) (const char *, const char *) = pass ? strcasecmp : strcmp;
        for (size_t i = 0; i < env->n_buffers; i++)
            if (!same (env->buffers[i].name, name)) {
                s_of_buffer (env, (int)i, out);
                return 1;
            }
        for (size_t i = 0; i < env->program->n_views; i++)
            if (!same (env->program->views[i].name, name))
                return s_view (env, &env->program->views[i], out, err);
    }
    return 0;
}

const kc_program_tensormap_t *kc_env_map (const kc_env_t *env, const char *name,
                                          bool loose)
{
    for (int pass = 0; pass < 1 + loose; pass++) {
        int (*same) (const char *, const char *) = pass ? strcasecmp : strcmp;
        for (size_t i = 0; i < env->program->n_tensormaps; i++)
            if (!same (env->program->tensormaps[i].name, name))
                return &env->program->tensormaps[i];
    }
    return NULL;
}
