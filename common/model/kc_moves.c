// kc_moves.c - see kc_moves.h

#include "common/model/kc_moves.h"

#include <stdlib.h>
#include <string.h>

#include "common/model/kc_expr.h"
#include "common/model/kc_program.h"
#include "common/util/kc_mem.h"

typedef struct s_list {
    const kc_card_t *card;
    const kc_program_t *program;
    const char *method; // NULL = all
    char own[KC_SHA_HEX];
    size_t n;
    kc_move_t *items;
} s_list_t;

// Turning switch 'name' to 'to' carries out 'method'.
typedef struct s_switch {
    const char *method, *name;
    const char *to[8];
} s_switch_t;

static const s_switch_t s_switches[] = {
    {"Approximate_Transcendentals_or_LUT", "compile.fast_math", {"true"}},
    {"Increase_Occupancy_if_limited",
     "compile.max_registers",
     {"128", "96", "64", "48", "32"}},
    {"Reduce_Live_Ranges", "compile.max_registers", {"128", "96", "64", "48", "32"}},
    {"CUDA_Graph", "launch", {"graph"}},
};

static void s_clear (kc_move_t *m)
{
    free (m->method);
    for (size_t i = 0; i < m->n_changes; i++)
        kc_type_clear (&kc_candidate_change_type, &m->changes[i]);
    free (m->changes);
    kc_program_free (&m->program);
}

// Add the move unless it fails, changes nothing or is there already.
static void s_add (s_list_t *l, const char *method, const char *name, const char *to)
{
    kc_move_t m = {.program = kc_program_dup (l->program)};
    char *from = kc_program_value (l->program, name);
    bool good = from && kc_program_change (m.program, name, to, NULL) == 0
                && kc_program_hash (m.program, m.hash) == 0 && strcmp (m.hash, l->own);
    for (size_t i = 0; i < l->n && good; i++)
        good = strcmp (l->items[i].method, method) || strcmp (l->items[i].hash, m.hash);
    if (!good) {
        free (from);
        kc_program_free (&m.program);
        return;
    }
    m.method = kc_strdup (method);
    kc_candidate_change_t *c = kc_push (&m.changes, &m.n_changes, sizeof *c);
    kc_type_init (&kc_candidate_change_type, c);
    c->name = kc_strdup (name);
    c->from = from;
    c->to = kc_strdup (to);
    *(kc_move_t *)kc_push (&l->items, &l->n, sizeof m) = m;
}

// ---- tunables ----

typedef struct s_choice {
    const char *text;
    double value;
    size_t place; // in the author's list
} s_choice_t;

static double s_value (const char *text)
{
    double v = 0;
    bool b = false;
    if (kc_expr_real (text, NULL, &v, NULL) < 0
        && kc_expr_bool (text, NULL, &b, NULL) == 0)
        v = b;
    return v;
}

static int s_by_value (const void *a, const void *b)
{
    const s_choice_t *x = a, *y = b;
    if (x->value != y->value)
        return (x->value > y->value) - (x->value < y->value);
    return (x->place > y->place) - (x->place < y->place);
}

// Next larger, next smaller, then alternating further away.
static void s_tunable (s_list_t *l, const kc_card_tunable_t *t)
{
    const kc_program_constant_t *constant = kc_program_constant (l->program, t->name);
    if (!constant)
        return;
    s_choice_t *sorted = kc_calloc (t->n_values, sizeof *sorted);
    for (size_t i = 0; i < t->n_values; i++)
        sorted[i] = (s_choice_t){t->values[i], s_value (t->values[i]), i};
    qsort (sorted, t->n_values, sizeof *sorted, s_by_value);
    double now = s_value (constant->value);
    size_t up = 0,
           down = 0; // [0, down) is smaller than the present value, [up, n) larger
    while (down < t->n_values && sorted[down].value < now)
        down++;
    for (up = down; up < t->n_values && sorted[up].value <= now;)
        up++;
    while (down > 0 || up < t->n_values) {
        if (up < t->n_values)
            s_add (l, t->method, t->name, sorted[up++].text);
        if (down > 0)
            s_add (l, t->method, t->name, sorted[--down].text);
    }
    free (sorted);
}

// ---- switches ----

static bool s_switch_allowed (const s_list_t *l, const s_switch_t *s)
{
    if (!strcmp (s->name, "compile.fast_math"))
        return l->card->policy != KC_CARD_POLICY_EXACT
               && l->card->policy != KC_CARD_POLICY_FP64;
    if (strcmp (s->name, "launch"))
        return true;
    bool loop = false;
    for (size_t i = 0; i < l->program->n_blocks; i++)
        loop = loop || l->program->blocks[i].n_for_;
    size_t steps = kc_program_n_steps (l->program);
    if (l->program->launch == KC_PROGRAM_LAUNCH_STREAM)
        return loop || steps > 1;
    // auto replays a graph beyond four steps by itself
    return l->program->launch != KC_PROGRAM_LAUNCH_GRAPH && !loop && steps > 1
           && steps <= 4;
}

static void s_switch (s_list_t *l, const s_switch_t *s)
{
    if (!s_switch_allowed (l, s))
        return;
    for (size_t i = 0; i < KC_COUNT (s->to) && s->to[i]; i++)
        s_add (l, s->method, s->name, s->to[i]);
}

kc_move_t *kc_moves_list (const kc_card_t *card, const kc_program_t *program,
                          const char *method, size_t *n_p)
{
    s_list_t l = {.card = card, .program = program, .method = method};
    *n_p = 0;
    if (kc_program_hash (program, l.own) < 0)
        return NULL;
    for (size_t i = 0; i < card->n_tunables; i++)
        if (!method || !strcmp (card->tunables[i].method, method))
            s_tunable (&l, &card->tunables[i]);
    for (size_t i = 0; i < KC_COUNT (s_switches); i++)
        if (!method || !strcmp (s_switches[i].method, method))
            s_switch (&l, &s_switches[i]);
    *n_p = l.n;
    return l.items;
}

void kc_moves_free (kc_move_t *moves, size_t n)
{
    for (size_t i = 0; i < n; i++)
        s_clear (&moves[i]);
    free (moves);
}

char **kc_moves_methods (const kc_card_t *card, const kc_program_t *program,
                         size_t *n_p)
{
    size_t n;
    kc_move_t *moves = kc_moves_list (card, program, NULL, &n);
    char **methods = NULL;
    *n_p = 0;
    for (size_t i = 0; i < n; i++) {
        bool known = false;
        for (size_t k = 0; k < *n_p && !known; k++)
            known = !strcmp (methods[k], moves[i].method);
        if (!known)
            *(char **)kc_push (&methods, n_p, sizeof (char *)) =
                kc_strdup (moves[i].method);
    }
    kc_moves_free (moves, n);
    return methods;
}
