// plan_make.c - see plan_make.h

#include "tests/gpu/selftest/plan_make.h"

#include <stdlib.h>
#include <string.h>

#include "common/util/kc_mem.h"

static int64_t s_size (kc_program_dtype_t dtype)
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

static bool s_is_float (kc_program_dtype_t dtype)
{
    return dtype >= KC_PROGRAM_DTYPE_F64 && dtype <= KC_PROGRAM_DTYPE_F8E5M2;
}

kc_plan_t *kc_pm_new (void)
{
    return kc_calloc (1, sizeof (kc_plan_t));
}

void kc_pm_free (kc_plan_t **plan_p)
{
    kc_plan_t *p = *plan_p;
    if (!p)
        return;
    for (size_t i = 0; i < p->n_buffers; i++)
        free (p->buffers[i].name);
    for (size_t i = 0; i < p->n_kernels; i++) {
        free (p->kernels[i].name);
        free (p->kernels[i].symbol);
    }
    for (size_t i = 0; i < p->n_steps; i++) {
        free (p->steps[i].args);
        free (p->steps[i].ranges);
        free (p->steps[i].after);
        free (p->steps[i].symbol);
    }
    free (p->buffers);
    free (p->kernels);
    free (p->steps);
    free (p);
    *plan_p = NULL;
}

int kc_pm_buffer (kc_plan_t *plan, const char *name, kc_plan_role_t role,
                  kc_program_dtype_t dtype, int64_t elements)
{
    kc_plan_buffer_t *b = kc_push (&plan->buffers, &plan->n_buffers, sizeof *b);
    b->name = kc_strdup (name);
    b->role = role;
    b->dtype = dtype;
    b->rank = 1;
    b->sizes[0] = elements;
    b->elements = elements;
    b->bytes = elements * s_size (dtype);
    b->align = 256;
    b->readonly = role == KC_ROLE_INPUT || role == KC_ROLE_PARAM;
    b->fill.kind =
        s_is_float (dtype) ? KC_CARD_FILL_KIND_UNIFORM : KC_CARD_FILL_KIND_INTEGER;
    b->fill.has_a = b->fill.has_b = true;
    b->fill.a = s_is_float (dtype) ? -1 : 0;
    b->fill.b = s_is_float (dtype) ? 1 : 99;
    return (int)plan->n_buffers - 1;
}

int kc_pm_kernel (kc_plan_t *plan, const char *name)
{
    kc_kernel_facts_t *k = kc_push (&plan->kernels, &plan->n_kernels, sizeof *k);
    k->name = kc_strdup (name);
    k->symbol = kc_strdup (name);
    return (int)plan->n_kernels - 1;
}

static kc_plan_step_t *s_step (kc_plan_t *plan, kc_plan_op_t op)
{
    kc_plan_step_t *s = kc_push (&plan->steps, &plan->n_steps, sizeof *s);
    s->op = op;
    s->source_step = (int)plan->n_steps - 1;
    s->kernel = -1;
    s->carveout = -1;
    s->src = s->dst = -1;
    return s;
}

static void s_range (const kc_plan_t *plan, kc_plan_step_t *s, int buffer, bool writes)
{
    kc_plan_range_t *r = kc_push (&s->ranges, &s->n_ranges, sizeof *r);
    r->buffer = buffer;
    r->from = 0;
    r->to = plan->buffers[buffer].bytes;
    r->writes = writes;
}

kc_plan_step_t *kc_pm_launch (kc_plan_t *plan, int kernel, uint32_t grid,
                              uint32_t block, int64_t shared, size_t n_args,
                              const kc_pm_arg_t *args)
{
    kc_plan_step_t *s = s_step (plan, KC_PLAN_KERNEL);
    size_t at = 0;
    s->kernel = kernel;
    s->grid[0] = grid;
    s->block[0] = block;
    s->grid[1] = s->grid[2] = s->block[1] = s->block[2] = 1;
    s->shared = shared;
    for (size_t i = 0; i < n_args; i++) {
        kc_plan_arg_t *a = kc_push (&s->args, &s->n_args, sizeof *a);
        a->size = args[i].buffer >= 0 ? 8 : args[i].size;
        at = (at + a->size - 1) / a->size * a->size;
        a->offset = at;
        at += a->size;
        a->buffer = args[i].buffer;
        a->byte_offset = args[i].byte_offset;
        a->writes = args[i].writes;
        memcpy (a->bytes, args[i].bytes, sizeof args[i].bytes);
        if (a->buffer >= 0)
            s_range (plan, s, a->buffer, a->writes);
    }
    s->param_bytes = at;
    return s;
}

kc_plan_step_t *kc_pm_copy (kc_plan_t *plan, int dst, int src, int64_t bytes)
{
    kc_plan_step_t *s = s_step (plan, KC_PLAN_COPY);
    s->dst = dst;
    s->src = src;
    s->bytes = bytes;
    s_range (plan, s, src, false);
    if (dst >= 0)
        s_range (plan, s, dst, true);
    return s;
}

kc_plan_step_t *kc_pm_fill (kc_plan_t *plan, int dst, uint32_t pattern,
                            int pattern_size)
{
    kc_plan_step_t *s = s_step (plan, KC_PLAN_FILL);
    s->dst = dst;
    s->pattern = pattern;
    s->pattern_size = pattern_size;
    s->bytes = plan->buffers[dst].bytes;
    s_range (plan, s, dst, true);
    return s;
}

kc_pm_arg_t kc_pm_in (int buffer)
{
    return (kc_pm_arg_t){.buffer = buffer};
}

kc_pm_arg_t kc_pm_out (int buffer)
{
    return (kc_pm_arg_t){.buffer = buffer, .writes = true};
}

static kc_pm_arg_t s_immediate (const void *value, size_t size)
{
    kc_pm_arg_t a = {.buffer = -1, .size = size};
    memcpy (a.bytes, value, size);
    return a;
}

kc_pm_arg_t kc_pm_i32 (int32_t v)
{
    return s_immediate (&v, sizeof v);
}

kc_pm_arg_t kc_pm_i64 (int64_t v)
{
    return s_immediate (&v, sizeof v);
}

kc_pm_arg_t kc_pm_f32 (float v)
{
    return s_immediate (&v, sizeof v);
}
