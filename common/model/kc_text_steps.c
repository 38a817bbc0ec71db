// kc_text_steps.c - plan lines that run something: launch and the library steps

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/model/kc_finding.h"
#include "common/model/kc_program.h"
#include "common/model/kc_program_args.h"
#include "common/model/kc_text_fields.h"
#include "common/model/kc_text_parser.h"
#include "common/util/kc_mem.h"

// Hang a finished step into the tree.
static void s_add_step (kc_text_parser_t *s, kc_program_step_t step)
{
    kc_item_t *item = kc_calloc (1, sizeof *item);
    item->kind = KC_ITEM_STEP;
    item->line = s->line;
    item->parent = s->open;
    item->step = step;
    *(kc_item_t **)kc_push (&s->open->items, &s->open->n, sizeof (kc_item_t *)) = item;
}

// Cut " when CONDITION" off the end: the word at top level.  Returns the length of what
// stays.
static size_t s_when (const char *text, const char **when_p)
{
    *when_p = NULL;
    for (const char *p = text; *p; p++) {
        const char *end = *p == '(' || *p == '[' ? kc_text_close (p) : NULL;
        if (end)
            p = end;
        else if (!strncmp (p, "when ", 5)
                 && (p == text || isspace ((unsigned char)p[-1]))) {
            *when_p = p + 5;
            return (size_t)(p - text);
        }
    }
    return strlen (text);
}

static int s_set_pairs (kc_text_parser_t *s, const char *p, const kc_type_t *type,
                        void *object, const char *refused)
{
    char *key, *value;
    int more;
    while ((more = kc_text_pair (s, &p, &key, &value)) > 0) {
        kc_err_t err;
        char padded[80];
        snprintf (padded, sizeof padded, " %.70s ", key);
        int rc =
            strstr (refused, padded)
                ? kc_fail (&err, KC_EINVALID, "'%.60s' cannot be given like this", key)
                : kc_text_set (type, object, key, value, &err);
        free (key);
        free (value);
        if (rc < 0)
            return kc_text_bad (s, "%s", err.text);
    }
    return more;
}

// ---- launch ----

static int s_exprs (kc_text_parser_t *s, const char *inner, char ***list, size_t *n,
                    const char *what, size_t most)
{
    kc_err_t err;
    if (kc_text_split (inner, list, n, &err) < 0)
        return kc_text_bad (s, "%s: %s", what, err.text);
    if (*n == 0 || *n > most)
        return kc_text_bad (s, "%s has 1 to %zu values, %zu are given", what, most, *n);
    for (size_t i = 0; i < *n; i++)
        if (kc_text_expr (s, (*list)[i]) < 0)
            return -1;
    return 0;
}

// An expression, [x, y, z], dim3(x, y, z) or (x, y).
static int s_dim3 (kc_text_parser_t *s, const char *text, char ***list, size_t *n,
                   const char *what)
{
    const char *p = text;
    bool dim3 =
        !strncmp (p, "dim3", 4) && (isspace ((unsigned char)p[4]) || p[4] == '(');
    if (dim3) {
        p += 4;
        kc_text_space (&p);
    }
    size_t size = strlen (p);
    bool whole =
        size > 1 && (*p == '[' || *p == '(') && kc_text_close (p) == p + size - 1;
    char *inner = whole ? kc_text_trim (p + 1, p + size - 1) : NULL;
    // "(a + b)" is an expression, "(a, b)" is a pair
    if (inner && *p == '(' && !dim3) {
        char **items;
        size_t count = 0;
        if (kc_text_split (inner, &items, &count, NULL) == 0)
            kc_text_free_list (items, count);
        if (count < 2) {
            free (inner);
            inner = NULL;
        }
    }
    int rc = dim3 && !inner ? kc_text_bad (s, "%s: dim3 (x, y, z) is expected", what)
                            : s_exprs (s, inner ? inner : text, list, n, what, 3);
    free (inner);
    return rc;
}

// The >>> that closes a launch, outside brackets; NULL when missing.
static const char *s_launch_end (const char *p)
{
    for (; *p; p++) {
        const char *end = *p == '(' || *p == '[' ? kc_text_close (p) : NULL;
        if (end)
            p = end;
        else if (!strncmp (p, ">>>", 3))
            return p;
    }
    return NULL;
}

static int s_configuration (kc_text_parser_t *s, kc_program_kernel_t *k,
                            const char *from, const char *to)
{
    char *inner = kc_text_trim (from, to);
    char **parts = NULL;
    size_t n = 0;
    kc_err_t err;
    int rc = kc_text_split (inner, &parts, &n, &err);
    free (inner);
    if (rc < 0)
        return kc_text_bad (s, "%s", err.text);
    if (n < 2 || n > 3)
        rc = kc_text_bad (s,
                          "a launch has <<<GRID, BLOCK>>> or <<<GRID, BLOCK, "
                          "SHARED_BYTES>>>, %zu parts are given; "
                          "several dimensions are [x, y]",
                          n);
    if (rc == 0)
        rc = s_dim3 (s, parts[0], &k->grid, &k->n_grid, "the grid");
    if (rc == 0)
        rc = s_dim3 (s, parts[1], &k->block, &k->n_block, "the block");
    if (rc == 0 && n == 3) {
        rc = kc_text_expr (s, parts[2]);
        k->shared = kc_strdup (parts[2]);
    }
    kc_text_free_list (parts, n);
    return rc;
}

// One argument of the list, for 'param'.
static int s_arg (kc_text_parser_t *s, kc_program_kernel_t *k, const kc_param_t *param,
                  const char *text)
{
    kc_program_arg_t *a = kc_push (&k->args, &k->n_args, sizeof *a);
    kc_type_init (&kc_program_arg_type, a);
    a->param = kc_strdup (param->name);
    const char *p = text;
    if (!param->pointer && param->base != KC_C_TENSORMAP) {
        a->value = kc_strdup (text);
        return kc_text_expr (s, text);
    }
    char *name = kc_text_word (&p);
    if (kc_text_is_name (name) && (!*p || (*p == '+' && param->pointer))) {
        *(param->pointer ? &a->tensor : &a->map) = name;
        if (!*p)
            return 0;
        p++;
        kc_text_space (&p);
        a->offset = kc_strdup (p);
        return kc_text_expr (s, p);
    }
    free (name);
    return kc_text_bad (
        s,
        param->pointer
            ? "parameter '%s' of %s is a pointer: give TENSOR or TENSOR + OFFSET, not "
              "'%.60s'"
            : "parameter '%s' of %s is a tensor map: give its name, not '%.60s'",
        param->name, k->kernel, text);
}

// "name = value" inside an argument list (not ==): the parameter meant, or NULL.
static const kc_param_t *s_named (const kc_kernel_signature_t *sig, const char **p_p)
{
    const char *p = *p_p;
    char *word = kc_text_word (&p);
    const kc_param_t *found = NULL;
    for (size_t i = 0; word && *p == '=' && p[1] != '=' && i < sig->n_params && !found;
         i++)
        if (!strcmp (sig->params[i].name, word))
            found = &sig->params[i];
    if (found) {
        p++;
        kc_text_space (&p);
        *p_p = p;
    }
    free (word);
    return found;
}

static int s_arguments (kc_text_parser_t *s, kc_program_kernel_t *k,
                        const kc_kernel_signature_t *sig, const char *inner)
{
    char **items;
    size_t n;
    kc_err_t err;
    if (kc_text_split (inner, &items, &n, &err) < 0)
        return kc_text_bad (s, "%s", err.text);
    size_t named = 0;
    int rc = 0;
    for (size_t i = 0; i < n; i++) {
        const char *p = items[i];
        named += s_named (sig, &p) != NULL;
    }
    if (named && named != n)
        rc = kc_text_bad (
            s, "arguments are either all by position or all by name (param=value)");
    else if (!named && n != sig->n_params)
        rc = kc_text_bad (
            s,
            "%s takes %zu arguments, %zu are given; without a list they bind by name",
            k->kernel, sig->n_params, n);
    for (size_t i = 0; i < n && rc == 0; i++) {
        const char *p = items[i];
        const kc_param_t *param = named ? s_named (sig, &p) : &sig->params[i];
        rc = s_arg (s, k, param, p);
    }
    kc_text_free_list (items, n);
    return rc;
}

// "the source has no kernel 'scal'; did you mean 'scale'?"; caller frees.
static char *s_unknown_kernel (const kc_text_parser_t *s, const char *name)
{
    const char *known[64];
    size_t n = 0;
    for (size_t i = 0; i < s->signatures->n && n < KC_COUNT (known); i++)
        known[n++] = s->signatures->items[i].name;
    char *near = kc_suggest (name, known, n);
    char *text = kc_asprintf ("the source has no kernel '%s'%s", name, near);
    free (near);
    return text;
}

static int s_kernel_name (kc_text_parser_t *s, kc_program_kernel_t *k, const char *from,
                          const char *to, const kc_kernel_signature_t **sig_p)
{
    const char *angle = memchr (from, '<', (size_t)(to - from));
    char *name = kc_text_trim (from, angle ? angle : to);
    k->kernel = name;
    if (!kc_text_is_name (name))
        return kc_text_bad (s,
                            "a launch is written as: launch KERNEL<<<GRID, BLOCK>>>");
    const kc_kernel_signature_t *sig = kc_signatures_find (s->signatures, name);
    if (!sig) { // the plan refuses it; a program that is nearly right can be mended
        char *text = s_unknown_kernel (s, name);
        *(char **)kc_push (&s->out->warnings, &s->out->n_warnings, sizeof (char *)) =
            kc_asprintf ("line %d: %s", s->line, text);
        free (text);
    }
    else
        s->launched[sig - s->signatures->items] = true;
    *sig_p = sig;
    if (!angle)
        return sig && sig->n_template ? kc_text_bad (
                   s, "kernel %s is a template: launch %s<...><<<...>>>", name, name)
                                      : 0;
    const char *close = to;
    while (close > angle && close[-1] != '>')
        close--;
    if (close == angle)
        return kc_text_bad (s, "the template arguments of %s do not close", name);
    char *inner = kc_text_trim (angle + 1, close - 1);
    kc_err_t err;
    int rc = kc_text_split (inner, &k->template, &k->n_template, &err);
    free (inner);
    return rc < 0 ? kc_text_bad (s, "template arguments of %s: %s", name, err.text) : 0;
}

static int s_launch (kc_text_parser_t *s, kc_program_kernel_t *k, const char *text)
{
    const char *open = strstr (text, "<<<");
    const char *end = open ? s_launch_end (open + 3) : NULL;
    if (!end)
        return kc_text_bad (s,
                            "a launch is written as: launch KERNEL<<<GRID, BLOCK>>>");
    // "k<4><<<1, 2>>>" has four brackets in a row when written without a space
    while (open[3] == '<')
        open++;
    const kc_kernel_signature_t *sig = NULL;
    if (s_kernel_name (s, k, text, open, &sig) < 0
        || s_configuration (s, k, open + 3, end) < 0)
        return -1;
    const char *p = end + 3;
    kc_text_space (&p);
    if (*p == '(') {
        const char *close = kc_text_close (p);
        if (!close)
            return kc_text_bad (s, "the argument list does not close");
        if (!sig) {
            char *why = s_unknown_kernel (s, k->kernel);
            kc_text_bad (s, "%s", why);
            free (why);
            return -1;
        }
        char *inner = kc_text_trim (p + 1, close);
        int rc = s_arguments (s, k, sig, inner);
        free (inner);
        if (rc < 0)
            return -1;
        p = close + 1;
    }
    const char *when;
    char *tail = kc_strndup (p, s_when (p, &when));
    int rc = s_set_pairs (s, tail, &kc_program_kernel_type, k,
                          " kernel template grid block shared args when ");
    free (tail);
    if (rc == 0 && when) {
        rc = kc_text_expr (s, when);
        k->when = kc_strdup (when);
    }
    const char *stray;
    if (rc == 0 && sig && kc_program_fill_args (k, sig, &stray) < 0)
        rc = kc_text_bad (
            s, "argument '%s' of %s is no parameter of it, or is given twice", stray,
            k->kernel);
    return rc;
}

int kc_text_step_line (kc_text_parser_t *s, const char *word, const char *rest)
{
    const kc_variant_t *variant = NULL;
    unsigned kind = 0;
    bool launch = !strcmp (word, "launch");
    for (size_t i = 0; i < kc_program_step_type.n_variants && !variant; i++)
        if (!strcmp (kc_program_step_type.variants[i].tag, launch ? "kernel" : word)) {
            variant = &kc_program_step_type.variants[i];
            kind = (unsigned)i + 1;
        }
    if (!variant)
        return 0;
    if (!strcmp (word, "kernel"))
        return kc_text_bad (s, "a kernel is run by: launch KERNEL<<<GRID, BLOCK>>>");
    kc_program_step_t step = {0};
    step.kind = kind;
    step.u.kernel =
        kc_type_new (variant->type); // every member of u is a pointer to the variant
    int rc;
    if (launch)
        rc = s_launch (s, step.u.kernel, rest);
    else {
        const char *when;
        char *head = kc_strndup (rest, s_when (rest, &when));
        rc = s_set_pairs (s, head, variant->type, step.u.kernel, " when ");
        free (head);
        kc_err_t err;
        if (rc == 0 && when
            && kc_text_set (variant->type, step.u.kernel, "when", when, &err) < 0)
            rc = kc_text_bad (s, "%s", err.text);
        kc_errs_t errs = {0};
        if (rc == 0 && kc_type_check (variant->type, step.u.kernel, &errs) < 0)
            rc = kc_text_bad (s,
                              *errs.item[0].found == 'n' ? "%s: %s must be given: %s"
                                                         : "%s: %s is not %s",
                              word,
                              *errs.item[0].pointer ? errs.item[0].pointer + 1 : "it",
                              errs.item[0].expected);
    }
    if (rc < 0) {
        kc_type_clear (&kc_program_step_type, &step);
        return -1;
    }
    s_add_step (s, step);
    return 1;
}
