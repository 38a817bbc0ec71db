// kc_text_write.c - a program (and its task) as text that parses to the same hash
//
// Plan lines take the empty lines that the source begins with (the places of those that
// were read), so that line numbers stay; where these are too few, //@ source separates
// plan and source.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/model/kc_program.h"
#include "common/model/kc_program_args.h"
#include "common/model/kc_program_text.h"
#include "common/model/kc_text_fields.h"
#include "common/util/kc_buf.h"
#include "common/util/kc_mem.h"

typedef struct s_writer {
    kc_buf_t b;
    const kc_program_t *program;
    const kc_task_text_t *task;
    kc_signatures_t *signatures;
    kc_err_t *err;
    bool failed;
} s_writer_t;

static void s_list (kc_buf_t *b, char *const *items, size_t n)
{
    kc_buf_putc (b, '[');
    for (size_t i = 0; i < n; i++)
        kc_buf_printf (b, "%s%s", i ? ", " : "", items[i]);
    kc_buf_putc (b, ']');
}

static void s_number (kc_buf_t *b, double v)
{
    char text[40];
    snprintf (text, sizeof text, "%.15g", v);
    if (strtod (text, NULL) != v)
        snprintf (text, sizeof text, "%.17g", v);
    kc_buf_puts (b, text);
}

static void s_bound (kc_buf_t *b, const char *expression, double v)
{
    if (expression)
        kc_buf_puts (b, expression);
    else
        s_number (b, v);
}

// ---- task ----

static void s_task_tensor (kc_buf_t *b, const kc_task_tensor_t *t)
{
    kc_buf_printf (b, "//@ %s %s %s", kc_enum_name (&kc_card_tensor_role_type, t->role),
                   t->name, kc_dtype_name (t->dtype));
    s_list (b, t->shape, t->n_shape);
    if (t->has_fill) {
        kc_buf_printf (b, " fill=%s",
                       kc_enum_name (&kc_card_fill_kind_type, t->fill.kind));
        if (t->fill.has_a) {
            kc_buf_putc (b, '(');
            s_bound (b, t->fill.lo, t->fill.a);
            if (t->fill.has_b) {
                kc_buf_puts (b, ", ");
                s_bound (b, t->fill.hi, t->fill.b);
            }
            kc_buf_putc (b, ')');
        }
    }
    kc_buf_putc (b, '\n');
}

static void s_task (s_writer_t *w)
{
    const kc_task_text_t *t = w->task;
    if (t->name)
        kc_buf_printf (&w->b, t->text ? "//@ task %s ; %s\n" : "//@ task %s\n", t->name,
                       t->text);
    for (size_t i = 0; i < t->n_dims; i++)
        kc_buf_printf (&w->b, "//@ dim %s = %s\n", t->dims[i].name, t->dims[i].value);
    for (size_t i = 0; i < t->n_tensors; i++)
        s_task_tensor (&w->b, &t->tensors[i]);
    for (size_t i = 0; i < t->n_checks; i++) {
        kc_buf_puts (&w->b, "//@ check");
        for (size_t d = 0; d < t->checks[i].n_dims; d++)
            kc_buf_printf (&w->b, " %s=%s", t->checks[i].dims[d].name,
                           t->checks[i].dims[d].value);
        kc_buf_putc (&w->b, '\n');
    }
    if (t->policy)
        kc_buf_printf (&w->b, "//@ policy %s\n",
                       kc_enum_name (&kc_card_policy_type, t->policy));
}

static const kc_task_tunable_t *s_tunable (const s_writer_t *w, const char *name)
{
    for (size_t i = 0; w->task && i < w->task->n_tunables; i++)
        if (!strcmp (w->task->tunables[i].name, name))
            return &w->task->tunables[i];
    return NULL;
}

// A tunable's present value comes first, so that it is the default of the written task.
static void s_put_tunable (s_writer_t *w, const kc_task_tunable_t *t, const char *value)
{
    kc_buf_printf (&w->b, "//@ tune %s in %s", t->name, value);
    for (size_t i = 0; i < t->n_values; i++)
        if (strcmp (t->values[i], value))
            kc_buf_printf (&w->b, " %s", t->values[i]);
    kc_buf_printf (&w->b, " for %s\n", t->method);
}

// ---- declarations ----

static void s_constants (s_writer_t *w)
{
    for (size_t i = 0; i < w->program->n_constants; i++) {
        const kc_program_constant_t *c = &w->program->constants[i];
        const kc_task_tunable_t *t = s_tunable (w, c->name);
        if (t)
            s_put_tunable (w, t, c->value);
        else
            kc_buf_printf (&w->b, "//@ %s %s %s = %s\n", c->device ? "const" : "host",
                           kc_enum_name (&kc_program_constant_type_type, c->type),
                           c->name, c->value);
    }
}

static void s_declarations (s_writer_t *w)
{
    const kc_program_t *p = w->program;
    kc_buf_t *b = &w->b;
    s_constants (w);
    for (size_t i = 0; i < p->n_buffers; i++) {
        const kc_program_buffer_t *f = &p->buffers[i];
        kc_buf_printf (b, "//@ %s %s %s", f->prepared ? "prepared" : "scratch", f->name,
                       kc_dtype_name (f->dtype));
        s_list (b, f->shape, f->n_shape);
        if (f->init == KC_PROGRAM_BUFFER_INIT_ZERO)
            kc_buf_puts (b, " = 0");
        kc_text_put (b, &kc_program_buffer_type, f, " name dtype shape init prepared ");
        kc_buf_putc (b, '\n');
    }
    for (size_t i = 0; i < p->n_views; i++) {
        const kc_program_view_t *v = &p->views[i];
        kc_buf_printf (b, "//@ view %s", v->name);
        s_list (b, v->shape, v->n_shape);
        kc_buf_printf (b, " = %s", v->of);
        if (v->offset)
            kc_buf_printf (b, " + %s", v->offset);
        if (v->n_strides) {
            kc_buf_puts (b, " strides ");
            s_list (b, v->strides, v->n_strides);
        }
        kc_buf_putc (b, '\n');
    }
    for (size_t i = 0; i < p->n_tensormaps; i++) {
        kc_buf_printf (b, "//@ tensormap %s = %s", p->tensormaps[i].name,
                       p->tensormaps[i].of);
        kc_text_put (b, &kc_program_tensormap_type, &p->tensormaps[i], " name of ");
        kc_buf_putc (b, '\n');
    }
    if (p->compile) {
        kc_buf_puts (b, "//@ options");
        kc_text_put (b, &kc_program_compile_type, p->compile, "");
        kc_buf_putc (b, '\n');
    }
    if (p->order == KC_PROGRAM_ORDER_DATAFLOW)
        kc_buf_puts (b, "//@ order dataflow\n");
    if (p->launch == KC_PROGRAM_LAUNCH_GRAPH || p->launch == KC_PROGRAM_LAUNCH_STREAM)
        kc_buf_printf (b, "//@ %s\n",
                       p->launch == KC_PROGRAM_LAUNCH_GRAPH ? "graph" : "stream");
}

// ---- steps ----

// One value needs no list, unless it would be read as one: (a, b) cannot occur in an
// expression.
static void s_dim3 (kc_buf_t *b, char *const *items, size_t n)
{
    if (n == 1)
        kc_buf_puts (b, items[0]);
    else
        s_list (b, items, n);
}

static void s_args (s_writer_t *w, const kc_program_kernel_t *k)
{
    const kc_kernel_signature_t *sig = kc_signatures_find (w->signatures, k->kernel);
    bool derived = sig && sig->n_params == k->n_args;
    for (size_t i = 0; derived && i < k->n_args; i++)
        derived = kc_program_arg_derived (&k->args[i], &sig->params[i]);
    if (derived || !k->n_args)
        return;
    if (!sig) {
        kc_fail (w->err, KC_EINVALID,
                 "the source has no kernel '%s', its arguments cannot be written",
                 k->kernel);
        w->failed = true;
        return;
    }
    kc_buf_putc (&w->b, '(');
    for (size_t i = 0; i < k->n_args; i++) {
        const kc_program_arg_t *a = &k->args[i];
        if (i)
            kc_buf_puts (&w->b, ", ");
        if (k->n_args != sig->n_params) // some bind by name: so do all
            kc_buf_printf (&w->b, "%s=", a->param);
        if (a->tensor && a->offset)
            kc_buf_printf (&w->b, "%s + %s", a->tensor, a->offset);
        else
            kc_buf_puts (&w->b, a->tensor  ? a->tensor
                                : a->map   ? a->map
                                : a->value ? a->value
                                           : "0");
    }
    kc_buf_putc (&w->b, ')');
}

static void s_kernel (s_writer_t *w, const kc_program_kernel_t *k)
{
    kc_buf_t *b = &w->b;
    kc_buf_printf (b, "//@ launch %s", k->kernel);
    if (k->n_template) {
        kc_buf_putc (b, '<');
        for (size_t i = 0; i < k->n_template; i++)
            kc_buf_printf (b, "%s%s", i ? ", " : "", k->template[i]);
        kc_buf_putc (b, '>');
    }
    kc_buf_puts (b, "<<<");
    s_dim3 (b, k->grid, k->n_grid);
    kc_buf_puts (b, ", ");
    s_dim3 (b, k->block, k->n_block);
    if (k->shared)
        kc_buf_printf (b, ", %s", k->shared);
    kc_buf_puts (b, ">>>");
    s_args (w, k);
    kc_text_put (b, &kc_program_kernel_type, k,
                 " kernel template grid block shared args when ");
    if (k->when)
        kc_buf_printf (b, " when %s", k->when);
    kc_buf_putc (b, '\n');
}

static void s_step (s_writer_t *w, const kc_program_step_t *step)
{
    if (step->kind == KC_PROGRAM_STEP_KERNEL) {
        s_kernel (w, step->u.kernel);
        return;
    }
    const kc_type_t *type;
    const void *object = kc_program_step_object (step, &type);
    const kc_field_t *when = kc_type_field (type, "when");
    kc_buf_printf (&w->b, "//@ %s", kc_program_step_type.variants[step->kind - 1].tag);
    kc_text_put (&w->b, type, object, " when ");
    if (kc_field_present (when, object))
        kc_buf_printf (&w->b, " when %s", kc_field_string (when, object));
    kc_buf_putc (&w->b, '\n');
}

static void s_blocks (s_writer_t *w, const kc_program_block_t *blocks, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const kc_program_block_t *k = &blocks[i];
        bool plain = !k->when && !k->n_for_;
        if (i && plain && !blocks[i - 1].when && !blocks[i - 1].n_for_)
            kc_buf_puts (&w->b, "//@ block\n");
        if (k->when)
            kc_buf_printf (&w->b, "//@ if %s\n", k->when);
        for (size_t l = 0; l < k->n_for_; l++)
            kc_buf_printf (&w->b, "//@ for %s in %s\n", k->for_[l].index,
                           k->for_[l].count);
        for (size_t s = 0; s < k->n_steps; s++)
            s_step (w, &k->steps[s]);
        for (size_t l = 0; l < k->n_for_ + (k->when != NULL); l++)
            kc_buf_puts (&w->b, "//@ end\n");
    }
}

// ---- the file ----

// Put the plan into the empty lines that the source begins with, else before it, with a
// marker in between.
static char *s_join (const char *plan, const char *source)
{
    size_t lines = 0, empty = strspn (source, "\n");
    for (const char *p = plan; (p = strchr (p, '\n')) != NULL; p++)
        lines++;
    if (lines <= empty)
        return kc_asprintf ("%s%s", plan, source + lines);
    return kc_asprintf ("%s//@ source\n%s", plan, source);
}

static bool s_has_plan_line (const char *source)
{
    for (const char *p = source; (p = strstr (p, "//@")) != NULL; p += 3) {
        const char *q = p;
        while (q > source && (q[-1] == ' ' || q[-1] == '\t'))
            q--;
        if (q == source || q[-1] == '\n')
            return true;
    }
    return false;
}

char *kc_program_text_write (const kc_program_t *program, const kc_task_text_t *task,
                             kc_err_t *err)
{
    if (s_has_plan_line (program->source)) {
        kc_fail (err, KC_EINVALID,
                 "the program's source contains a //@ line of its own; it can only "
                 "travel as JSON");
        return NULL;
    }
    s_writer_t w = {.program = program, .task = task, .err = err};
    w.signatures = kc_signatures_read (program->source, err);
    if (!w.signatures)
        return NULL;
    if (task)
        s_task (&w);
    s_declarations (&w);
    if (program->n_prepare) {
        kc_buf_puts (&w.b, "//@ prepare\n");
        s_blocks (&w, program->prepare, program->n_prepare);
        kc_buf_puts (&w.b, "//@ end\n");
    }
    s_blocks (&w, program->blocks, program->n_blocks);
    kc_signatures_destroy (&w.signatures);
    char *plan = kc_buf_take (&w.b);
    char *text = w.failed ? NULL : s_join (plan, program->source);
    free (plan);
    return text;
}
