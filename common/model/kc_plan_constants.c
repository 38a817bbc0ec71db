// kc_plan_constants.c - the first half of a plan: constants for the source, kernel
// names for the compiler
//
// Whole numbers become enumerators: they make no storage and work in templates, array
// bounds and float arithmetic.  A dim is given to the source only where the source uses
// its name and does not declare it, so that a unit which ignores the dims is compiled
// once for all shapes.

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/model/kc_ctoken.h"
#include "common/model/kc_finding.h"
#include "common/model/kc_plan_env.h"
#include "common/model/kc_program.h"
#include "common/util/kc_buf.h"
#include "common/util/kc_mem.h"

// The source gives 'name' a meaning of its own at namespace scope, or as a macro.
static bool s_declares (const kc_ctokens_t *t, const char *name)
{
    size_t n = strlen (name);
    for (size_t i = 0; i < t->n; i++) {
        const kc_ctoken_t *k = &t->items[i];
        if (k->kind == KC_CT_LINE) {
            const char *p = strstr (k->at, "define");
            if (p && p < k->at + k->size) {
                p += 6;
                while (*p == ' ' || *p == '\t')
                    p++;
                if (!strncmp (p, name, n)
                    && !strchr ("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ01"
                                "23456789_",
                                p[n]))
                    return true;
            }
            continue;
        }
        bool enumeration = i > 0 && kc_ctoken_is (&t->items[i - 1], "enum");
        if (kc_ctoken_is (k, "{") || kc_ctoken_is (k, "(")) {
            size_t j = i;
            while (j > 0 && t->items[j - 1].kind == KC_CT_WORD
                   && !enumeration) // enum class name : int {
                enumeration = kc_ctoken_is (&t->items[--j], "enum");
            bool scope = i > 1
                         && (kc_ctoken_is (&t->items[i - 1], "namespace")
                             || kc_ctoken_is (&t->items[i - 2], "namespace")
                             || t->items[i - 1].kind == KC_CT_STRING);
            if (!enumeration && !scope) {
                size_t end = kc_ctokens_match (t, i);
                i = end < t->n ? end : i;
            }
            continue;
        }
        if (k->kind == KC_CT_WORD && kc_ctoken_is (k, name) && i + 1 < t->n
            && t->items[i + 1].kind == KC_CT_PUNCT
            && strchr ("=;[{,(}", *t->items[i + 1].at))
            return true;
    }
    return false;
}

// Tokens 'from' is the ( of a function's parameters, one of which has the name; its
// body's ( } ) or 0.
static size_t s_shadowed_body (const kc_ctokens_t *t, size_t from, const char *name)
{
    static const char *const statements[] = {"if", "for", "while", "switch", "catch"};
    if (from == 0 || t->items[from - 1].kind != KC_CT_WORD)
        return 0;
    for (size_t i = 0; i < KC_COUNT (statements); i++)
        if (kc_ctoken_is (&t->items[from - 1], statements[i]))
            return 0;
    size_t end = kc_ctokens_match (t, from);
    if (end + 1 >= t->n || !kc_ctoken_is (&t->items[end + 1], "{"))
        return 0;
    for (size_t i = from + 1; i < end; i++)
        if (kc_ctoken_is (&t->items[i], name) && t->items[i + 1].kind == KC_CT_PUNCT
            && strchr (",)=[", *t->items[i + 1].at)) {
            size_t close = kc_ctokens_match (t, end + 1);
            return close < t->n ? close : 0;
        }
    return 0;
}

// The source uses the name where no parameter of that name hides it.
static bool s_uses (const kc_ctokens_t *t, const char *name)
{
    size_t n = strlen (name);
    for (size_t i = 0; i < t->n; i++) {
        const kc_ctoken_t *k = &t->items[i];
        size_t body = kc_ctoken_is (k, "(") ? s_shadowed_body (t, i, name) : 0;
        if (body) {
            i = body;
            continue;
        }
        if (k->kind == KC_CT_WORD && kc_ctoken_is (k, name))
            return true;
        for (const char *p = k->at; k->kind == KC_CT_LINE && p + n <= k->at + k->size;
             p++)
            if (!memcmp (p, name, n)) // inside a macro: good enough
                return true;
    }
    return false;
}

static bool s_is_parameter (const kc_env_t *env, const char *name)
{
    for (size_t i = 0; i < env->signatures->n; i++)
        for (size_t p = 0; p < env->signatures->items[i].n_params; p++)
            if (!strcmp (env->signatures->items[i].params[p].name, name))
                return true;
    return false;
}

static bool s_word_char (char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')
           || c == '_';
}

// A condition of the preprocessor names it: an enumerator would read as 0 there, or as
// not defined, and the tunable would turn nothing.
static bool s_in_condition (const kc_ctokens_t *t, const char *name)
{
    size_t n = strlen (name);
    for (size_t i = 0; i < t->n; i++) {
        const kc_ctoken_t *k = &t->items[i];
        if (k->kind != KC_CT_LINE)
            continue;
        const char *p = k->at, *end = k->at + k->size;
        while (p < end && (*p == '#' || *p == ' ' || *p == '\t'))
            p++;
        if ((size_t)(end - p) < 4 || (strncmp (p, "if", 2) && strncmp (p, "elif", 4)))
            continue;
        for (; p + n <= end; p++)
            if (!memcmp (p, name, n) && !s_word_char (p[-1])
                && (p + n == end || !s_word_char (p[n])))
                return true;
    }
    return false;
}

// For the preprocessor; a macro would destroy a parameter of its name.
static void s_put_macro (const kc_env_t *env, const kc_ctokens_t *t, kc_buf_t *b,
                         const char *name, int64_t v)
{
    if (s_in_condition (t, name) && !s_is_parameter (env, name))
        kc_buf_printf (b, v < 0 ? "#define %s (%" PRId64 ")\n" : "#define %s %" PRId64 "\n",
                       name, v);
}

static void s_put_int (kc_buf_t *b, const char *name, int64_t v)
{
    if (v > INT32_MIN && v <= INT32_MAX) // -2147483648 is no int literal in C++
        kc_buf_printf (b, "enum : int { %s = %" PRId64 " };\n", name, v);
    else
        kc_buf_printf (
            b, "namespace { static constexpr long long %s = %" PRId64 "LL%s; }\n", name,
            v == INT64_MIN ? v + 1 : v, v == INT64_MIN ? " - 1" : "");
}

static void s_put_constant (const kc_env_t *env, kc_buf_t *b,
                            const kc_program_constant_t *c, const kc_value_t *v)
{
    if (v->type == KC_VALUE_INT)
        s_put_int (b, c->name, v->i);
    else if (v->type == KC_VALUE_BOOL)
        kc_buf_printf (b, "enum : bool { %s = %s };\n", c->name,
                       v->b ? "true" : "false");
    else if (!s_is_parameter (env,
                              c->name)) // a macro would destroy a parameter of its name
        kc_buf_printf (b, "#define %s (%af)\n", c->name, (double)(float)v->f);
}

char *kc_plan_constants (const kc_card_t *card, const kc_program_t *program,
                         const kc_task_setting_t *dims, size_t n_dims,
                         const kc_device_facts_t *facts, kc_verdict_t *findings)
{
    kc_env_t *env = kc_env_new (card, program, dims, n_dims, facts, NULL, 0, findings);
    if (!env)
        return NULL;
    kc_buf_t b = {0};
    bool bad = false;
    kc_ctokens_t tokens;
    kc_ctokens_read (&tokens, program->source, strlen (program->source));
    for (size_t i = 0; i < program->n_constants; i++) {
        const kc_program_constant_t *c = &program->constants[i];
        kc_err_t err;
        kc_value_t v;
        if (!c->device)
            continue;
        if (kc_env_constant (env, i, &v, &err) < 0) {
            kc_env_bad (env, 0, "%s", err.text);
            bad = true;
            continue;
        }
        s_put_constant (env, &b, c, &v);
        if (v.type == KC_VALUE_INT || v.type == KC_VALUE_BOOL)
            s_put_macro (env, &tokens, &b, c->name, v.type == KC_VALUE_INT ? v.i : v.b);
    }
    for (size_t i = 0; i < env->n_dims; i++) {
        const char *name = env->dims[i].name;
        if (!s_uses (&tokens, name) || s_declares (&tokens, name))
            continue;
        s_put_int (&b, name, env->dims[i].value);
        s_put_macro (env, &tokens, &b, name, env->dims[i].value);
    }
    kc_ctokens_free (&tokens);
    kc_env_destroy (&env);
    if (!bad)
        return kc_buf_take (&b);
    kc_buf_free (&b);
    return NULL;
}

char **kc_plan_kernel_names (const kc_card_t *card, const kc_program_t *program,
                             const kc_task_setting_t *dims, size_t n_dims,
                             const kc_device_facts_t *facts, size_t *n_p,
                             kc_verdict_t *findings)
{
    *n_p = 0;
    kc_env_t *env = kc_env_new (card, program, dims, n_dims, facts, NULL, 0, findings);
    if (!env)
        return NULL;
    char **names = NULL;
    size_t n = kc_program_n_steps (program);
    bool bad = false;
    for (size_t i = 0; i < n; i++) {
        const kc_program_step_t *step = kc_program_step (program, i, NULL, NULL);
        if (step->kind != KC_PROGRAM_STEP_KERNEL)
            continue;
        env->step = (int)i;
        kc_err_t err = {0};
        char *name = NULL;
        if (!kc_signatures_find (env->signatures, step->u.kernel->kernel))
            kc_fail (&err, KC_EINVALID, "the source has no kernel '%s'",
                     step->u.kernel->kernel);
        else
            name = kc_env_kernel_name (env, step->u.kernel, &err);
        if (!name) {
            kc_env_bad (env, 0, "%s", err.text);
            bad = true;
            continue;
        }
        bool known = false;
        for (size_t k = 0; k < *n_p && !known; k++)
            known = !strcmp (names[k], name);
        if (known || *n_p == KC_PLAN_MAX_KERNELS) {
            if (!known)
                bad = kc_env_bad (env, 0, "more than %d different kernels are launched",
                                  KC_PLAN_MAX_KERNELS)
                      < 0;
            free (name);
        }
        else
            *(char **)kc_push (&names, n_p, sizeof (char *)) = name;
    }
    kc_env_destroy (&env);
    for (size_t i = 0; bad && i < *n_p; i++)
        free (names[i]);
    if (bad) {
        free (names);
        names = NULL;
        *n_p = 0;
    }
    return names;
}
