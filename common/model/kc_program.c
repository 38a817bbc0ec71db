// kc_program.c - see kc_program.h

#include "common/model/kc_program.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/model/kc_expr.h"
#include "common/model/kc_finding.h"
#include "common/model/kc_program_args.h"
#include "common/model/kc_text_fields.h"
#include "common/util/kc_map.h"
#include "common/util/kc_mem.h"

// Words an author may not define: facts of the device and words of the language.
static const char *const s_reserved[] = {
    "SMS",       "WARP",  "SMEM_BLOCK",    "SMEM_SM",   "L2",        "CC",
    "true",      "false", "cdiv",          "align",     "min",       "max",
    "abs",       "gcd",   "pow2_ceil",     "log2_ceil", "is_pow2",   "int",
    "float",     "sqrt",  "exp",           "log",       "div_magic", "div_shift",
    "occupancy", "regs",  "static_shared", "when",
};

bool kc_program_reserved (const char *name)
{
    for (size_t i = 0; i < KC_COUNT (s_reserved); i++)
        if (!strcmp (s_reserved[i], name))
            return true;
    return false;
}

int kc_program_hash (const kc_program_t *program, char hex[KC_SHA_HEX])
{
    return kc_type_hash (&kc_program_type, program, hex);
}

const kc_program_constant_t *kc_program_constant (const kc_program_t *program,
                                                  const char *name)
{
    for (size_t i = 0; i < program->n_constants; i++)
        if (!strcmp (program->constants[i].name, name))
            return &program->constants[i];
    return NULL;
}

// ---- steps ----

size_t kc_program_n_steps (const kc_program_t *program)
{
    size_t n = 0;
    for (size_t i = 0; i < program->n_prepare; i++)
        n += program->prepare[i].n_steps;
    for (size_t i = 0; i < program->n_blocks; i++)
        n += program->blocks[i].n_steps;
    return n;
}

const kc_program_step_t *kc_program_step (const kc_program_t *program, size_t i,
                                          const kc_program_block_t **block_p,
                                          bool *prepare_p)
{
    for (int part = 0; part < 2; part++) {
        const kc_program_block_t *blocks = part ? program->blocks : program->prepare;
        size_t n = part ? program->n_blocks : program->n_prepare;
        for (size_t b = 0; b < n; b++) {
            if (i < blocks[b].n_steps) {
                if (block_p)
                    *block_p = &blocks[b];
                if (prepare_p)
                    *prepare_p = part == 0;
                return &blocks[b].steps[i];
            }
            i -= blocks[b].n_steps;
        }
    }
    return NULL;
}

// ---- arguments ----

bool kc_program_arg_derived (const kc_program_arg_t *arg, const kc_param_t *param)
{
    if (strcmp (arg->param, param->name) || arg->offset)
        return false;
    const char *tensor = NULL, *map = NULL, *value = NULL;
    if (param->pointer)
        tensor = param->name;
    else if (param->base == KC_C_TENSORMAP)
        map = param->name;
    else
        value = param->name;
    return (tensor ? arg->tensor && !strcmp (arg->tensor, tensor) : !arg->tensor)
           && (map ? arg->map && !strcmp (arg->map, map) : !arg->map)
           && (value ? arg->value && !strcmp (arg->value, value) : !arg->value);
}

int kc_program_fill_args (kc_program_kernel_t *step,
                          const kc_kernel_signature_t *signature, const char **stray_p)
{
    for (size_t i = 0; i < step->n_args; i++) {
        bool found = false;
        for (size_t p = 0; p < signature->n_params && !found; p++)
            found = !strcmp (signature->params[p].name, step->args[i].param);
        for (size_t j = 0; j < i && found; j++)
            found = strcmp (step->args[i].param, step->args[j].param) != 0;
        if (!found) {
            *stray_p = step->args[i].param;
            return -1;
        }
    }
    if (signature->n_params == 0)
        return 0;
    kc_program_arg_t *sorted = NULL;
    for (size_t n = 0; n < signature->n_params;) // keeps the room that kc_push expects
        kc_push (&sorted, &n, sizeof *sorted);
    for (size_t p = 0; p < signature->n_params; p++) {
        const kc_param_t *param = &signature->params[p];
        size_t i = 0;
        while (i < step->n_args && strcmp (step->args[i].param, param->name))
            i++;
        if (i < step->n_args) {
            sorted[p] = step->args[i];
            continue;
        }
        kc_type_init (&kc_program_arg_type, &sorted[p]);
        sorted[p].param = kc_strdup (param->name);
        *(param->pointer                  ? &sorted[p].tensor
          : param->base == KC_C_TENSORMAP ? &sorted[p].map
                                          : &sorted[p].value) = kc_strdup (param->name);
    }
    free (step->args);
    step->args = sorted;
    step->n_args = signature->n_params;
    return 0;
}

// "compile": {} says the same as no compile at all.
static void s_drop_empty_compile (kc_program_t *program)
{
    if (!program->compile)
        return;
    kc_program_compile_t *preset = kc_type_new (&kc_program_compile_type);
    if (kc_type_equal (&kc_program_compile_type, preset, program->compile)) {
        kc_program_compile_free (&program->compile);
        program->compile = NULL;
    }
    kc_program_compile_free (&preset);
}

int kc_program_normalise (kc_program_t *program, kc_verdict_t *findings)
{
    s_drop_empty_compile (program);
    kc_err_t err;
    kc_signatures_t *signatures = kc_signatures_read (program->source, &err);
    if (!signatures)
        return kc_finding (findings, KC_VERDICT_STATUS_PLAN_ERROR, 0, -1, "%s",
                           err.text);
    int rc = 0;
    size_t n = kc_program_n_steps (program);
    for (size_t i = 0; i < n; i++) {
        const kc_program_step_t *step = kc_program_step (program, i, NULL, NULL);
        if (step->kind != KC_PROGRAM_STEP_KERNEL)
            continue;
        const kc_kernel_signature_t *k =
            kc_signatures_find (signatures, step->u.kernel->kernel);
        const char *stray;
        if (k && kc_program_fill_args (step->u.kernel, k, &stray) < 0)
            rc = kc_finding (
                findings, KC_VERDICT_STATUS_PLAN_ERROR, 0, (int)i,
                "argument '%s' of %s is no parameter of it, or is given twice", stray,
                k->name);
    }
    kc_signatures_destroy (&signatures);
    return rc;
}

// ---- checks ----

typedef struct s_check {
    const kc_program_t *program;
    kc_verdict_t *findings;
    kc_map_t *names; // name -> what it is
    int rc;
} s_check_t;

#define S_BAD(c, step, ...)                                                            \
    ((c)->rc = kc_finding ((c)->findings, KC_VERDICT_STATUS_PLAN_ERROR, 0, step,       \
                           __VA_ARGS__))

static void s_declare (s_check_t *c, const char *name, const char *what)
{
    static const char *const kinds[] = {"constant", "buffer", "view", "tensor map",
                                        "loop index"};
    if (kc_program_reserved (name)) {
        S_BAD (c, -1, "%s '%s': this word is reserved, choose another name", what,
               name);
        return;
    }
    const char *other = kc_map_get (c->names, name);
    if (other && strcmp (other, what)) // a loop index may serve several loops
        S_BAD (c, -1, "%s '%s': the name is already that of a %s", what, name, other);
    else if (other && strcmp (what, "loop index"))
        S_BAD (c, -1, "%s '%s' is declared twice", what, name);
    for (size_t i = 0; i < KC_COUNT (kinds); i++)
        if (!strcmp (kinds[i], what))
            kc_map_put (c->names, name, (void *)(uintptr_t)kinds[i]);
}

static void s_expression (s_check_t *c, int step, const char *where, const char *text)
{
    kc_err_t err;
    kc_expr_t *e = text ? kc_expr_parse (text, &err) : NULL;
    if (text && !e)
        S_BAD (c, step, "%s: %s", where, err.text);
    kc_expr_destroy (&e);
}

static void s_expressions (s_check_t *c, int step, const char *where,
                           char *const *texts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        s_expression (c, step, where, texts[i]);
}

// Every property of kind expr of a step, by its table.
static void s_step_fields (s_check_t *c, int step, const kc_type_t *type,
                           const void *object)
{
    const char *at = object;
    for (size_t i = 0; i < type->n_fields; i++) {
        const kc_field_t *f = &type->fields[i];
        if (f->base != KC_BASE_STRING || f->kind != KC_TEXT_EXPR
            || !strcmp (f->name, "template"))
            continue;
        if (f->flags & KC_FIELD_ARRAY)
            s_expressions (c, step, f->name,
                           *(char *const *const *)(const void *)(at + f->at),
                           *(const size_t *)(const void *)(at + f->n_at));
        else
            s_expression (c, step, f->name, *(char *const *)(const void *)(at + f->at));
    }
}

static void s_kernel_step (s_check_t *c, int step, const kc_program_kernel_t *k)
{
    for (size_t i = 0; i < k->n_args; i++) {
        const kc_program_arg_t *a = &k->args[i];
        int ways = (a->tensor != NULL) + (a->map != NULL) + (a->value != NULL);
        if (ways != 1 || (a->offset && !a->tensor))
            S_BAD (c, step,
                   "argument '%s' of %s: exactly one of tensor, map and value; offset "
                   "only with tensor",
                   a->param, k->kernel);
        s_expression (c, step, "offset", a->offset);
        s_expression (c, step, "value", a->value);
    }
}

const void *kc_program_step_object (const kc_program_step_t *step,
                                    const kc_type_t **type_p)
{
    for (size_t i = 0; i < kc_program_step_type.n_variants; i++)
        if (i + 1 == (size_t)step->kind) {
            *type_p = kc_program_step_type.variants[i].type;
            return step->u.kernel; // every member of u is a pointer to the variant
        }
    *type_p = NULL;
    return NULL;
}

static void s_blocks (s_check_t *c, const kc_program_block_t *blocks, size_t n,
                      int *step)
{
    for (size_t b = 0; b < n; b++) {
        s_expression (c, -1, "when", blocks[b].when);
        for (size_t l = 0; l < blocks[b].n_for_; l++) {
            s_declare (c, blocks[b].for_[l].index, "loop index");
            for (size_t m = 0; m < l; m++)
                if (!strcmp (blocks[b].for_[l].index, blocks[b].for_[m].index))
                    S_BAD (c, -1, "loop index '%s' is used twice in one loop nest",
                           blocks[b].for_[l].index);
            s_expression (c, -1, "for", blocks[b].for_[l].count);
        }
        for (size_t s = 0; s < blocks[b].n_steps; s++, (*step)++) {
            const kc_type_t *type;
            const void *object = kc_program_step_object (&blocks[b].steps[s], &type);
            s_step_fields (c, *step, type, object);
            if (blocks[b].steps[s].kind == KC_PROGRAM_STEP_KERNEL)
                s_kernel_step (c, *step, blocks[b].steps[s].u.kernel);
            if (blocks[b].steps[s].kind == KC_PROGRAM_STEP_COPY) {
                const kc_program_copy_t *copy = blocks[b].steps[s].u.copy;
                if (!copy->dst == !copy->symbol)
                    S_BAD (c, *step,
                           "copy src=%s needs dst=TENSOR or symbol=NAME, one of them",
                           copy->src);
            }
        }
    }
}

int kc_program_check (const kc_program_t *p, kc_verdict_t *findings)
{
    s_check_t c = {.program = p, .findings = findings, .names = kc_map_new (NULL)};
    for (size_t i = 0; i < p->n_constants; i++) {
        s_declare (&c, p->constants[i].name, "constant");
        s_expression (&c, -1, p->constants[i].name, p->constants[i].value);
    }
    for (size_t i = 0; i < p->n_buffers; i++) {
        s_declare (&c, p->buffers[i].name, "buffer");
        s_expressions (&c, -1, p->buffers[i].name, p->buffers[i].shape,
                       p->buffers[i].n_shape);
        if (p->buffers[i].align & (p->buffers[i].align - 1))
            S_BAD (&c, -1, "buffer '%s': align %lld is not a power of two",
                   p->buffers[i].name, (long long)p->buffers[i].align);
    }
    for (size_t i = 0; i < p->n_views; i++) {
        const kc_program_view_t *v = &p->views[i];
        s_declare (&c, v->name, "view");
        s_expression (&c, -1, v->name, v->offset);
        s_expressions (&c, -1, v->name, v->shape, v->n_shape);
        s_expressions (&c, -1, v->name, v->strides, v->n_strides);
        if (v->n_strides && v->n_strides != v->n_shape)
            S_BAD (&c, -1, "view '%s': %zu strides for %zu dimensions", v->name,
                   v->n_strides, v->n_shape);
    }
    for (size_t i = 0; i < p->n_tensormaps; i++) {
        s_declare (&c, p->tensormaps[i].name, "tensor map");
        s_step_fields (&c, -1, &kc_program_tensormap_type, &p->tensormaps[i]);
    }
    int step = 0;
    s_blocks (&c, p->prepare, p->n_prepare, &step);
    s_blocks (&c, p->blocks, p->n_blocks, &step);
    kc_map_destroy (&c.names);
    return c.rc;
}

kc_program_t *kc_program_read (const char *json, size_t size, kc_verdict_t *findings)
{
    kc_errs_t errs = {0};
    kc_program_t *p = kc_program_decode (json, size, KC_STRICT, &errs);
    for (size_t i = 0; !p && i < errs.n; i++)
        kc_finding (findings, KC_VERDICT_STATUS_PLAN_ERROR, 0, -1,
                    "%s: expected %s, found %s",
                    *errs.item[i].pointer ? errs.item[i].pointer : "(the document)",
                    errs.item[i].expected, errs.item[i].found);
    if (p
        && (kc_program_check (p, findings) < 0
            || kc_program_normalise (p, findings) < 0)) {
        kc_program_free (&p);
        p = NULL;
    }
    return p;
}

// ---- one change ----

static const char s_compile[] = "compile.";

char *kc_program_value (const kc_program_t *program, const char *name)
{
    const kc_program_constant_t *constant = kc_program_constant (program, name);
    if (constant)
        return kc_strdup (constant->value);
    const kc_type_t *type = &kc_program_type;
    const void *object = program;
    kc_program_compile_t *preset = NULL;
    if (!strncmp (name, s_compile, sizeof s_compile - 1)) {
        type = &kc_program_compile_type;
        name += sizeof s_compile - 1;
        object = program->compile ? program->compile : (preset = kc_type_new (type));
    }
    else if (strcmp (name, "order") && strcmp (name, "launch"))
        return NULL;
    const kc_field_t *field = kc_type_field (type, name);
    char *out = NULL;
    int64_t i;
    if (field && !kc_field_present (field, object))
        out = kc_strdup ("");
    else if (field && kc_field_string (field, object))
        out = kc_strdup (kc_field_string (field, object));
    else if (field && field->base == KC_BASE_BOOLEAN
             && kc_field_integer (field, object, &i))
        out = kc_strdup (i ? "true" : "false");
    else if (field && kc_field_integer (field, object, &i))
        out = kc_asprintf ("%lld", (long long)i);
    kc_program_compile_free (&preset);
    return out;
}

static int s_change_switch (kc_program_t *program, const char *name, const char *to,
                            kc_err_t *err)
{
    if (strncmp (name, s_compile, sizeof s_compile - 1))
        return kc_text_set (&kc_program_type, program, name, to, err);
    name += sizeof s_compile - 1;
    bool fresh = !program->compile;
    kc_program_compile_t *compile =
        fresh ? kc_type_new (&kc_program_compile_type) : program->compile;
    int rc = 0;
    if (!strcmp (name, "max_registers") && !*to) {
        compile->has_max_registers = false;
        compile->max_registers = 0;
    }
    else
        rc = kc_text_set (&kc_program_compile_type, compile, name, to, err);
    if (rc < 0 && fresh)
        kc_program_compile_free (&compile);
    else
        program->compile = compile;
    s_drop_empty_compile (program);
    return rc;
}

int kc_program_change (kc_program_t *program, const char *name, const char *to,
                       kc_err_t *err)
{
    for (size_t i = 0; i < program->n_constants; i++) {
        if (strcmp (program->constants[i].name, name))
            continue;
        kc_expr_t *e = kc_expr_parse (to, err);
        if (!e)
            return kc_fail_in (err, "%s", name);
        kc_expr_destroy (&e);
        kc_set (&program->constants[i].value, to);
        return 0;
    }
    if (strncmp (name, s_compile, sizeof s_compile - 1) && strcmp (name, "order")
        && strcmp (name, "launch"))
        return kc_fail (err, KC_ENOTFOUND, "the program has no constant or switch '%s'",
                        name);
    return s_change_switch (program, name, to, err);
}
