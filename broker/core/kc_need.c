// kc_need.c - see kc_need.h

#include "broker/core/kc_need.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/util/kc_mem.h"

static const char *const s_names[] = {"", "=", "!=", ">=", "<=", "prefix"};

void kc_facts_add (kc_facts_t *facts, const char *key, const char *text, double number)
{
    kc_fact_t *f = kc_push (&facts->fact, &facts->n, sizeof *f);
    *f =
        (kc_fact_t){.key = kc_strdup (key), .text = kc_strdup (text), .number = number};
}

void kc_facts_free (kc_facts_t *facts)
{
    for (size_t i = 0; i < facts->n; i++) {
        free (facts->fact[i].key);
        free (facts->fact[i].text);
    }
    free (facts->fact);
    *facts = (kc_facts_t){0};
}

void kc_need_add (kc_need_t *need, const char *key, kc_term_op_t op, const char *text,
                  double number)
{
    kc_term_t *t = kc_push (&need->term, &need->n, sizeof *t);
    *t = (kc_term_t){
        .key = kc_strdup (key), .op = op, .text = kc_strdup (text), .number = number};
}

void kc_need_free (kc_need_t *need)
{
    for (size_t i = 0; i < need->n; i++) {
        free (need->term[i].key);
        free (need->term[i].text);
    }
    free (need->term);
    *need = (kc_need_t){0};
}

kc_term_op_t kc_term_op_parse (const char *name)
{
    for (int i = 1; i <= KC_TERM_PREFIX; i++)
        if (strcmp (s_names[i], name) == 0)
            return (kc_term_op_t)i;
    return (kc_term_op_t)0;
}

static const kc_fact_t *s_fact (const kc_facts_t *facts, const char *key)
{
    for (size_t i = 0; i < facts->n; i++)
        if (strcmp (facts->fact[i].key, key) == 0)
            return &facts->fact[i];
    return NULL;
}

static bool s_equal (const kc_term_t *t, const kc_fact_t *f)
{
    if (t->text || f->text)
        return t->text && f->text && strcmp (t->text, f->text) == 0;
    return !(t->number < f->number) && !(t->number > f->number);
}

static bool s_met (const kc_term_t *t, const kc_fact_t *f)
{
    switch (t->op) {
    case KC_TERM_EQ:
        return s_equal (t, f);
    case KC_TERM_NE:
        return !s_equal (t, f);
    case KC_TERM_GE:
        return !t->text && !f->text && f->number >= t->number;
    case KC_TERM_LE:
        return !t->text && !f->text && f->number <= t->number;
    case KC_TERM_PREFIX:
        return t->text && f->text && strncmp (f->text, t->text, strlen (t->text)) == 0;
    }
    return false;
}

bool kc_need_met (const kc_need_t *need, const kc_facts_t *facts)
{
    for (size_t i = 0; i < need->n; i++) {
        const kc_fact_t *f = s_fact (facts, need->term[i].key);
        if (!f || !s_met (&need->term[i], f))
            return false;
    }
    return true;
}

__attribute__ ((format (printf, 3, 4))) static void s_put (char *out, size_t room,
                                                           const char *format, ...)
{
    size_t used = strlen (out);
    va_list args;
    va_start (args, format);
    (void)vsnprintf (out + used, room - used, format, args);
    va_end (args);
}

void kc_need_text (const kc_need_t *need, char *out, size_t room)
{
    out[0] = 0;
    for (size_t i = 0; i < need->n; i++) {
        const kc_term_t *t = &need->term[i];
        const char *op = t->op == KC_TERM_PREFIX ? "=" : s_names[t->op];
        const char *space = i ? " " : "";
        if (t->text)
            s_put (out, room, "%s%s%s%s%s", space, t->key, op, t->text,
                   t->op == KC_TERM_PREFIX ? "*" : "");
        else
            s_put (out, room, "%s%s%s%.10g", space, t->key, op, t->number);
    }
}

void kc_need_facts_text (const kc_need_t *need, const kc_facts_t *facts, char *out,
                         size_t room)
{
    out[0] = 0;
    for (size_t i = 0; i < need->n; i++) {
        const kc_fact_t *f = s_fact (facts, need->term[i].key);
        const char *space = i ? " " : "";
        if (!f)
            s_put (out, room, "%sno %s", space, need->term[i].key);
        else if (f->text)
            s_put (out, room, "%s%s=%s", space, f->key, f->text);
        else
            s_put (out, room, "%s%s=%.10g", space, f->key, f->number);
    }
}
