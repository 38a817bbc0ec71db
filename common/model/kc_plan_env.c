// kc_plan_env.c - see kc_plan_env.h

#include "common/model/kc_plan_env.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/model/kc_card.h"
#include "common/model/kc_finding.h"
#include "common/model/kc_program.h"
#include "common/model/kc_program_text.h"
#include "common/util/kc_buf.h"
#include "common/util/kc_mem.h"

struct kc_env_constant {
    enum { S_NEW, S_BUSY, S_DONE } state;
    kc_value_t value;
};

static const char *const s_facts[] = {"SMS",     "WARP", "SMEM_BLOCK",
                                      "SMEM_SM", "L2",   "CC"};

int kc_env_bad (kc_env_t *env, int line, const char *format, ...)
{
    kc_buf_t b = {.limit = 1000};
    va_list args;
    va_start (args, format);
    kc_buf_vprintf (&b, format, args);
    va_end (args);
    if (env->n_loops) {
        kc_buf_puts (&b, " (at");
        for (int i = 0; i < env->n_loops; i++)
            kc_buf_printf (&b, " %s=%lld", env->loops[i].index,
                           (long long)env->loops[i].value);
        kc_buf_puts (&b, ")");
    }
    size_t before = env->findings ? env->findings->n_findings : 0;
    kc_finding (env->findings, KC_VERDICT_STATUS_PLAN_ERROR, line, env->step, "%s",
                kc_buf_str (&b));
    if (env->findings && env->findings->n_findings > before && env->kernel)
        kc_set (&env->findings->findings[before].kernel,
                env->kernel_full ? env->kernel_full : env->kernel);
    kc_buf_free (&b);
    return -1;
}

// ---- names ----

static int s_fact (const kc_env_t *env, const char *name, int64_t *out)
{
    const int64_t values[] = {env->facts->sms,          env->facts->warp,
                              env->facts->shared_block, env->facts->shared_sm,
                              env->facts->l2_bytes,     env->facts->sm};
    for (size_t i = 0; i < KC_COUNT (s_facts); i++)
        if (!strcmp (s_facts[i], name)) {
            *out = values[i];
            return 1;
        }
    return 0;
}

static int s_name (void *arg, const char *name, kc_value_t *out, kc_err_t *err)
{
    kc_env_t *env = arg;
    *out = (kc_value_t){.type = KC_VALUE_INT};
    for (int i = 0; i < env->n_loops; i++)
        if (!strcmp (env->loops[i].index, name)) {
            out->i = env->loops[i].value;
            return 1;
        }
    for (size_t i = 0; i < env->program->n_constants; i++)
        if (!strcmp (env->program->constants[i].name, name))
            return kc_env_constant (env, i, out, err) < 0 ? -1 : 1;
    for (size_t i = 0; i < env->n_dims; i++)
        if (!strcmp (env->dims[i].name, name)) {
            out->i = env->dims[i].value;
            return 1;
        }
    return s_fact (env, name, &out->i);
}

int kc_env_scalar (kc_env_t *env, const char *name, bool loose, kc_value_t *out,
                   kc_err_t *err)
{
    int rc = s_name (env, name, out, err);
    if (rc || !loose)
        return rc;
    for (size_t i = 0; i < env->program->n_constants; i++)
        if (!strcasecmp (env->program->constants[i].name, name))
            return kc_env_constant (env, i, out, err) < 0 ? -1 : 1;
    for (size_t i = 0; i < env->n_dims; i++)
        if (!strcasecmp (env->dims[i].name, name)) {
            *out = (kc_value_t){.type = KC_VALUE_INT, .i = env->dims[i].value};
            return 1;
        }
    return 0;
}

static int s_prop (void *arg, const char *name, kc_expr_prop_t prop, int index,
                   int64_t *out, kc_err_t *err)
{
    kc_env_tensor_t t;
    int rc = kc_env_tensor (arg, name, false, &t, err);
    if (rc <= 0)
        return rc;
    if ((prop == KC_PROP_SHAPE || prop == KC_PROP_STRIDE) && index >= t.rank)
        return kc_fail (err, KC_EINVALID,
                        "%s has %d dimensions, there is no dimension %d", name, t.rank,
                        index);
    switch (prop) {
    case KC_PROP_SHAPE:
        *out = t.sizes[index];
        break;
    case KC_PROP_STRIDE:
        *out = t.strides[index];
        break;
    case KC_PROP_NUMEL:
        *out = t.elements;
        break;
    case KC_PROP_BYTES:
        *out = t.elements * (int64_t)kc_dtype_size (t.dtype);
        break;
    case KC_PROP_RANK:
        *out = t.rank;
        break;
    }
    return 1;
}

const kc_kernel_facts_t *kc_env_kernel (const kc_env_t *env, const char *full)
{
    for (size_t i = 0; i < env->n_kernels; i++)
        if (!strcmp (env->kernels[i].name, full))
            return &env->kernels[i];
    return NULL;
}

// The compiled kernel an expression means: the step's own instance, else the only one
// of that name.
static const kc_kernel_facts_t *s_kernel_of (const kc_env_t *env, const char *name)
{
    if (env->kernel && !strcmp (env->kernel, name) && env->kernel_full)
        return kc_env_kernel (env, env->kernel_full);
    size_t n = strlen (name);
    for (size_t i = 0; i < env->n_kernels; i++)
        if (!strncmp (env->kernels[i].name, name, n)
            && (!env->kernels[i].name[n] || env->kernels[i].name[n] == '<'))
            return &env->kernels[i];
    return NULL;
}

static int s_kernel (void *arg, kc_expr_fact_t fact, const char *kernel, int64_t block,
                     int64_t shared, int64_t *out, kc_err_t *err)
{
    kc_env_t *env = arg;
    if (!kc_signatures_find (env->signatures, kernel))
        return 0;
    if (env->source_constant)
        return kc_fail (err, KC_EINVALID,
                        "occupancy, regs and static_shared are known after "
                        "compilation, a constant that "
                        "the source sees is needed for it; write host instead of "
                        "const, or use it in the "
                        "launch");
    const kc_kernel_facts_t *k = s_kernel_of (env, kernel);
    if (!k && !env->dry)
        return kc_fail (err, KC_EINVALID,
                        "kernel %s was not compiled, no step launches it", kernel);
    static const kc_kernel_facts_t typical = {
        .registers = 32}; // not compiled yet: a small kernel
    if (!k)
        k = &typical;
    if (fact == KC_FACT_REGISTERS)
        *out = k->registers;
    else if (fact == KC_FACT_STATIC_SHARED)
        *out = k->shared_static;
    else {
        if (block == 0) {
            if (!env->block || !env->kernel || strcmp (env->kernel, kernel))
                return kc_fail (
                    err, KC_EINVALID,
                    "occupancy(%s) is meant inside a launch of it; elsewhere write "
                    "occupancy(%s, block, shared)",
                    kernel, kernel);
            block = env->block;
            shared = env->shared;
        }
        if (block > env->facts->max_threads_block)
            return kc_fail (err, KC_EINVALID,
                            "occupancy of a block of %lld threads, the limit is %d",
                            (long long)block, env->facts->max_threads_block);
        *out = kc_occupancy (env->facts, k->registers, k->shared_static + shared,
                             (int)block, NULL);
    }
    return 1;
}

// ---- values ----

int kc_env_value (kc_env_t *env, const char *text, kc_value_t *out, kc_err_t *err)
{
    kc_expr_t *e = kc_map_get (env->expressions, text);
    if (!e) {
        e = kc_expr_parse (text, err);
        if (!e)
            return -1;
        kc_map_put (env->expressions, text, e);
    }
    kc_expr_scope_t scope = {.arg = env,
                             .name = s_name,
                             .tensor = s_prop,
                             .kernel = s_kernel,
                             .known = env->known,
                             .n_known = env->n_known};
    return kc_expr_eval (e, &scope, out, err);
}

static const char *s_type_name (kc_value_type_t type)
{
    return type == KC_VALUE_INT    ? "an integer"
           : type == KC_VALUE_REAL ? "a float"
                                   : "a boolean";
}

int kc_env_int (kc_env_t *env, const char *text, int64_t *out, kc_err_t *err)
{
    kc_value_t v;
    if (kc_env_value (env, text, &v, err) < 0)
        return -1;
    if (v.type != KC_VALUE_INT)
        return kc_fail (err, KC_EINVALID, "'%s' gives %s, an integer is needed", text,
                        s_type_name (v.type));
    *out = v.i;
    return 0;
}

int kc_env_bool (kc_env_t *env, const char *text, bool *out, kc_err_t *err)
{
    kc_value_t v;
    if (kc_env_value (env, text, &v, err) < 0)
        return -1;
    if (v.type != KC_VALUE_BOOL)
        return kc_fail (err, KC_EINVALID, "'%s' gives %s, a condition is needed", text,
                        s_type_name (v.type));
    *out = v.b;
    return 0;
}

int kc_env_real (kc_env_t *env, const char *text, double *out, kc_err_t *err)
{
    kc_value_t v;
    if (kc_env_value (env, text, &v, err) < 0)
        return -1;
    if (v.type == KC_VALUE_BOOL)
        return kc_fail (err, KC_EINVALID, "'%s' gives a boolean, a number is needed",
                        text);
    *out = v.type == KC_VALUE_INT ? (double)v.i : v.f;
    return 0;
}

static int s_convert_constant (const kc_program_constant_t *c, kc_value_t *v,
                               kc_err_t *err)
{
    bool good = false;
    switch (c->type) {
    case KC_PROGRAM_CONSTANT_TYPE_UNSET:
    case KC_PROGRAM_CONSTANT_TYPE_INT:
        good = v->type == KC_VALUE_INT;
        break;
    case KC_PROGRAM_CONSTANT_TYPE_FLOAT:
        if (v->type == KC_VALUE_INT)
            *v = (kc_value_t){.type = KC_VALUE_REAL, .f = (double)v->i};
        good = v->type == KC_VALUE_REAL;
        break;
    case KC_PROGRAM_CONSTANT_TYPE_BOOL:
        good = v->type == KC_VALUE_BOOL;
        break;
    }
    return good ? 0
                : kc_fail (err, KC_EINVALID,
                           "constant %s is declared %s, its value %s is %s", c->name,
                           kc_enum_name (&kc_program_constant_type_type, c->type),
                           c->value, s_type_name (v->type));
}

int kc_env_constant (kc_env_t *env, size_t i, kc_value_t *out, kc_err_t *err)
{
    const kc_program_constant_t *c = &env->program->constants[i];
    struct kc_env_constant *k = &env->constants[i];
    if (k->state == S_BUSY)
        return kc_fail (err, KC_EINVALID, "constant %s depends on itself", c->name);
    if (k->state == S_NEW) {
        bool outer = env->source_constant;
        // a constant is the same in every turn of a loop and in every launch
        int loops = env->n_loops;
        const char *kernel = env->kernel;
        env->source_constant = outer || c->device;
        env->n_loops = 0;
        env->kernel = NULL;
        k->state = S_BUSY;
        int rc = kc_env_value (env, c->value, &k->value, err);
        if (rc == 0)
            rc = s_convert_constant (c, &k->value, err);
        env->source_constant = outer;
        env->n_loops = loops;
        env->kernel = kernel;
        k->state = rc < 0 ? S_NEW : S_DONE;
        if (rc < 0)
            return err && !strncmp (err->text, "constant ", 9)
                       ? -1
                       : kc_fail_in (err, "constant %s", c->name);
    }
    else if (env->source_constant && !c->device) {
        // evaluated before as a host constant; as part of one that the source sees it
        // must not use facts
        kc_value_t ignored;
        if (kc_env_value (env, c->value, &ignored, err) < 0)
            return -1;
    }
    *out = k->value;
    return 0;
}

// ---- kernels' names ----

char *kc_env_kernel_name (kc_env_t *env, const kc_program_kernel_t *k, kc_err_t *err)
{
    const kc_kernel_signature_t *sig = kc_signatures_find (env->signatures, k->kernel);
    kc_buf_t b = {0};
    kc_buf_puts (&b, sig ? sig->name : k->kernel);
    for (size_t i = 0; i < k->n_template; i++) {
        kc_buf_puts (&b, i ? ", " : "<");
        const char *text = k->template[i];
        kc_value_t v;
        kc_err_t why;
        bool type = sig && i < sig->n_template && sig->template_types[i];
        bool source = env->source_constant;
        env->source_constant = true; // the name is needed to compile
        int rc = type ? -1 : kc_env_value (env, text, &v, &why);
        env->source_constant = source;
        if (rc < 0 && !type && strstr (why.text, "after compilation")) {
            kc_buf_free (&b);
            kc_fail (err, KC_EINVALID, "template argument '%s' of %s: %s", text,
                     k->kernel, why.text);
            return NULL;
        }
        if (rc < 0) // a type, an enumerator of the source ...: as written
            kc_buf_puts (&b, text);
        else if (v.type == KC_VALUE_INT)
            kc_buf_printf (&b, "%lld", (long long)v.i);
        else if (v.type == KC_VALUE_BOOL)
            kc_buf_puts (&b, v.b ? "true" : "false");
        else
            kc_buf_puts (&b, text);
    }
    if (k->n_template)
        kc_buf_puts (&b, ">");
    return kc_buf_take (&b);
}

// ---- making ----

char *kc_env_dims (const kc_env_t *env)
{
    kc_buf_t b = {0};
    for (size_t i = 0; i < env->n_dims; i++)
        kc_buf_printf (&b, "%s%s=%lld", i ? " " : "", env->dims[i].name,
                       (long long)env->dims[i].value);
    return kc_buf_take (&b);
}

char *kc_env_names (const kc_env_t *env, bool tensors)
{
    enum { MOST = 40 };
    kc_buf_t b = {0};
    int n = 0;
    for (size_t i = 0; tensors && i < env->n_buffers && n < MOST; i++, n++)
        kc_buf_printf (&b, "%s%s", b.size ? " " : "", env->buffers[i].name);
    for (size_t i = 0; tensors && i < env->program->n_views && n < MOST; i++, n++)
        kc_buf_printf (&b, "%s%s", b.size ? " " : "", env->program->views[i].name);
    for (size_t i = 0; !tensors && i < env->n_known && n < MOST; i++, n++)
        kc_buf_printf (&b, "%s%s", b.size ? " " : "", env->known[i]);
    return kc_buf_take (&b);
}

static void s_take_dims (kc_env_t *env, const kc_task_setting_t *dims, size_t n_dims)
{
    for (size_t i = 0; i < env->card->n_dims; i++) {
        kc_task_setting_t *d = kc_push (&env->dims, &env->n_dims, sizeof *d);
        d->name = kc_strdup (env->card->dims[i].name);
        d->value = env->card->dims[i].value;
        for (size_t k = 0; k < n_dims; k++)
            if (!strcmp (dims[k].name, d->name))
                d->value = dims[k].value;
    }
}

static void s_know (kc_env_t *env, const char *name)
{
    *(const char **)kc_push (&env->known, &env->n_known, sizeof (char *)) = name;
}

// The card's names and the program's must not meet.
static int s_check_names (kc_env_t *env)
{
    const kc_program_t *p = env->program;
    kc_map_t *taken = kc_map_new (NULL);
    static const char *const words[] = {"dim", "tensor"};
    for (size_t i = 0; i < env->n_dims; i++) {
        kc_map_put (taken, env->dims[i].name, (void *)(uintptr_t)words[0]);
        s_know (env, env->dims[i].name);
    }
    for (size_t i = 0; i < env->card->n_tensors; i++)
        kc_map_put (taken, env->card->tensors[i].name, (void *)(uintptr_t)words[1]);
    int rc = 0;
#define S_MEET(name_, what)                                                            \
    if (kc_map_get (taken, name_))                                                     \
    rc = kc_env_bad (env, 0,                                                           \
                     what " '%s': the task has a %s of that name; choose another one", \
                     name_, (const char *)kc_map_get (taken, name_))
    for (size_t i = 0; i < p->n_constants; i++) {
        S_MEET (p->constants[i].name, "constant");
        s_know (env, p->constants[i].name);
    }
    for (size_t i = 0; i < p->n_buffers; i++)
        S_MEET (p->buffers[i].name, "buffer");
    for (size_t i = 0; i < p->n_views; i++)
        S_MEET (p->views[i].name, "view");
    for (size_t i = 0; i < p->n_tensormaps; i++)
        S_MEET (p->tensormaps[i].name, "tensor map");
    for (int part = 0; part < 2; part++) {
        const kc_program_block_t *blocks = part ? p->blocks : p->prepare;
        for (size_t i = 0; i < (part ? p->n_blocks : p->n_prepare); i++)
            for (size_t l = 0; l < blocks[i].n_for_; l++)
                S_MEET (blocks[i].for_[l].index, "loop index");
    }
#undef S_MEET
    for (size_t i = 0; i < KC_COUNT (s_facts); i++)
        s_know (env, s_facts[i]);
    kc_map_destroy (&taken);
    return rc;
}

static int s_buffer_sizes (kc_env_t *env, kc_plan_buffer_t *b, char *const *shape,
                           size_t n, kc_err_t *err)
{
    b->rank = (int)n;
    for (size_t d = 0; d < n; d++) {
        if (kc_env_int (env, shape[d], &b->sizes[d], err) < 0)
            return -1;
        if (b->sizes[d] < 1)
            return kc_fail (err, KC_EINVALID,
                            "dimension %zu of it is %s = %lld, at least 1 is needed", d,
                            shape[d], (long long)b->sizes[d]);
    }
    if (kc_env_product (b->sizes, b->rank, &b->elements) < 0)
        return kc_fail (err, KC_EINVALID, "it has more than 2^42 elements");
    b->bytes = b->elements * (int64_t)kc_dtype_size (b->dtype);
    return 0;
}

static int s_make_buffers (kc_env_t *env)
{
    static const kc_plan_role_t roles[] = {0, KC_ROLE_INPUT, KC_ROLE_PARAM,
                                           KC_ROLE_OUTPUT, KC_ROLE_INOUT};
    int rc = 0;
    kc_err_t err = {0};
    for (size_t i = 0; i < env->card->n_tensors; i++) {
        const kc_card_tensor_t *t = &env->card->tensors[i];
        kc_plan_buffer_t b = {.role = roles[t->role], .dtype = t->dtype, .align = 256};
        if (t->fill
            && kc_card_fill (env->card, i, env->dims, env->n_dims, &b.fill, &err) < 0)
            rc = kc_env_bad (env, 0, "%s", err.text);
        if (s_buffer_sizes (env, &b, t->shape, t->n_shape, &err) < 0)
            rc = kc_env_bad (env, 0, "tensor %s: %s", t->name, err.text);
        b.name = kc_strdup (t->name);
        *(kc_plan_buffer_t *)kc_push (&env->buffers, &env->n_buffers, sizeof b) = b;
    }
    for (size_t i = 0; i < env->program->n_buffers; i++) {
        const kc_program_buffer_t *p = &env->program->buffers[i];
        kc_plan_buffer_t b = {.role = p->prepared ? KC_ROLE_PREPARED : KC_ROLE_SCRATCH,
                              .dtype = p->dtype,
                              .align = p->align,
                              .zero = p->init == KC_PROGRAM_BUFFER_INIT_ZERO};
        if (s_buffer_sizes (env, &b, p->shape, p->n_shape, &err) < 0)
            rc = kc_env_bad (env, 0, "buffer %s: %s", p->name, err.text);
        b.name = kc_strdup (p->name);
        *(kc_plan_buffer_t *)kc_push (&env->buffers, &env->n_buffers, sizeof b) = b;
    }
    return rc;
}

static void s_free_expression (void *value)
{
    kc_expr_t *e = value;
    kc_expr_destroy (&e);
}

kc_env_t *kc_env_new (const kc_card_t *card, const kc_program_t *program,
                      const kc_task_setting_t *dims, size_t n_dims,
                      const kc_device_facts_t *facts, const kc_kernel_facts_t *kernels,
                      size_t n_kernels, kc_verdict_t *findings)
{
    kc_env_t *env = kc_calloc (1, sizeof *env);
    env->card = card;
    env->program = program;
    env->facts = facts;
    env->kernels = kernels;
    env->n_kernels = n_kernels;
    env->dry = !kernels;
    env->findings = findings;
    env->step = -1;
    env->expressions = kc_map_new (s_free_expression);
    env->constants = kc_calloc (program->n_constants + 1, sizeof *env->constants);
    s_take_dims (env, dims, n_dims);
    kc_err_t err;
    env->signatures = kc_signatures_read (program->source, &err);
    if (!env->signatures)
        kc_env_bad (env, 0, "%s", err.text);
    if (!env->signatures || s_check_names (env) < 0 || s_make_buffers (env) < 0)
        kc_env_destroy (&env);
    return env;
}

void kc_env_destroy (kc_env_t **self_p)
{
    kc_env_t *env = *self_p;
    if (!env)
        return;
    kc_signatures_destroy (&env->signatures);
    kc_map_destroy (&env->expressions);
    for (size_t i = 0; i < env->n_dims; i++)
        free (env->dims[i].name);
    free (env->dims);
    free (env->constants);
    for (size_t i = 0; i < env->n_buffers; i++)
        free (env->buffers[i].name);
    free (env->buffers);
    free (env->known);
    free (env);
    *self_p = NULL;
}
