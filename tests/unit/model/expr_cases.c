// expr_cases.c - prints random expressions with our result, for a second opinion
// (expr_differential.py)
//
// expr_cases COUNT SEED: one line each, "EXPRESSION <tab> int 5 | real 0x1.8p+0 | bool
// true | error".

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/model/kc_expr.h"
#include "common/util/kc_buf.h"
#include "common/util/kc_mem.h"

typedef struct s_gen {
    uint64_t state;
    kc_buf_t b;
} s_gen_t;

static unsigned s_pick (s_gen_t *g, unsigned n)
{
    g->state = g->state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(g->state >> 33) % n;
}

static void s_number (s_gen_t *g)
{
    static const char *const numbers[] = {"0",
                                          "1",
                                          "2",
                                          "3",
                                          "7",
                                          "8",
                                          "31",
                                          "32",
                                          "62",
                                          "63",
                                          "100",
                                          "4096",
                                          "0x1F",
                                          "1000000007",
                                          "4294967295",
                                          "4294967296",
                                          "9223372036854775807",
                                          "0.5",
                                          "2.0",
                                          "1e3",
                                          "1.5e-3",
                                          "3.25",
                                          "1e308",
                                          ".5"};
    kc_buf_puts (&g->b, numbers[s_pick (g, s_pick (g, 3) ? 12 : KC_COUNT (numbers))]);
}

static void s_any (s_gen_t *g, int depth);

static void s_call (s_gen_t *g, int depth)
{
    static const struct {
        const char *name;
        int args;
    } calls[] = {{"cdiv", 2},    {"align", 2}, {"min", 2},       {"max", 3},
                 {"abs", 1},     {"gcd", 2},   {"pow2_ceil", 1}, {"log2_ceil", 1},
                 {"is_pow2", 1}, {"int", 1},   {"float", 1},     {"sqrt", 1},
                 {"exp", 1},     {"log", 1},   {"div_magic", 1}, {"div_shift", 1}};
    unsigned i = s_pick (g, KC_COUNT (calls));
    kc_buf_printf (&g->b, "%s(", calls[i].name);
    for (int k = 0; k < calls[i].args; k++) {
        kc_buf_puts (&g->b, k ? ", " : "");
        s_any (g, depth - 1);
    }
    kc_buf_putc (&g->b, ')');
}

static void s_any (s_gen_t *g, int depth)
{
    static const char *const names[] = {"B",   "D",   "eps",  "big",
                                        "neg", "yes", "true", "false"};
    static const char *const operators[] = {
        "+",  "-",  "*", "/",  "//", "%",  "<<", ">>",
        "==", "!=", "<", "<=", ">",  ">=", "&&", "||"};
    unsigned what = depth <= 0 ? s_pick (g, 4) : s_pick (g, 14);
    if (what < 3)
        s_number (g);
    else if (what < 5)
        kc_buf_puts (&g->b, names[s_pick (g, KC_COUNT (names))]);
    else if (what < 6) {
        kc_buf_putc (&g->b, '(');
        s_any (g, depth - 1);
        kc_buf_putc (&g->b, ')');
    }
    else if (what < 7) {
        kc_buf_putc (&g->b, s_pick (g, 3) ? '-' : '!');
        s_any (g, depth - 1);
    }
    else if (what < 9)
        s_call (g, depth);
    else if (what < 10) {
        kc_buf_putc (&g->b, '(');
        s_any (g, depth - 1);
        kc_buf_puts (&g->b, " > 3 ? ");
        s_any (g, depth - 1);
        kc_buf_puts (&g->b, " : ");
        s_any (g, depth - 1);
        kc_buf_putc (&g->b, ')');
    }
    else { // mostly without parentheses, so that precedence counts
        s_any (g, depth - 1);
        kc_buf_printf (&g->b, s_pick (g, 2) ? " %s " : "%s",
                       operators[s_pick (g, s_pick (g, 3) ? 6 : KC_COUNT (operators))]);
        s_any (g, depth - 1);
    }
}

static int s_name (void *arg, const char *name, kc_value_t *out, kc_err_t *err)
{
    (void)arg;
    (void)err;
    *out = (kc_value_t){.type = KC_VALUE_INT};
    if (!strcmp (name, "B"))
        out->i = 4096;
    else if (!strcmp (name, "D"))
        out->i = 7;
    else if (!strcmp (name, "big"))
        out->i = (int64_t)1 << 62;
    else if (!strcmp (name, "neg"))
        out->i = -3;
    else if (!strcmp (name, "eps"))
        *out = (kc_value_t){.type = KC_VALUE_REAL, .f = 0.1};
    else if (!strcmp (name, "yes"))
        *out = (kc_value_t){.type = KC_VALUE_BOOL, .b = true};
    else
        return 0;
    return 1;
}

int main (int argc, char **argv)
{
    long count = argc > 1 ? strtol (argv[1], NULL, 10) : 1000;
    s_gen_t g = {.state =
                     argc > 2 ? strtoull (argv[2], NULL, 10) * 2654435761u + 1 : 1};
    kc_expr_scope_t scope = {.name = s_name};
    for (long i = 0; i < count;) {
        kc_buf_clear (&g.b);
        s_any (&g, 1 + (int)s_pick (&g, 4));
        kc_err_t err;
        kc_expr_t *e = kc_expr_parse (kc_buf_str (&g.b), &err);
        // bounds of size are ours alone; the grammar is not
        if (!e
            && (strstr (err.text, "at most 64") || strstr (err.text, "nested deeper")
                || strstr (err.text, "longer than")))
            continue;
        kc_value_t v;
        int rc = e ? kc_expr_eval (e, &scope, &v, &err) : -1;
        kc_expr_destroy (&e);
        i++;
        printf ("%s\t", kc_buf_str (&g.b));
        if (rc < 0)
            printf ("error\n");
        else if (v.type == KC_VALUE_INT)
            printf ("int %" PRId64 "\n", v.i);
        else if (v.type == KC_VALUE_REAL)
            printf ("real %a\n", v.f);
        else
            printf ("bool %s\n", v.b ? "true" : "false");
    }
    kc_buf_free (&g.b);
    return 0;
}
