// kc_cases.c - see kc_cases.h

#include "agents/gpu/judge/kc_cases.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/util/kc_buf.h"
#include "common/util/kc_hash.h"
#include "common/util/kc_mem.h"

void kc_secret (char out[KC_SECRET_HEX])
{
    unsigned char random[32];
    kc_random (random, sizeof random);
    kc_sha256_hex (random, sizeof random, out);
}

int64_t kc_case_seed (const char *secret, const char *what, int shape, int values,
                      int number)
{
    char text[192];
    unsigned char digest[32];
    const int size = snprintf (text, sizeof text, "%.64s/%.64s/%d/%d/%d", secret, what,
                               shape, values, number);
    kc_sha256_raw (text, (size_t)size, digest);
    uint64_t seed = 0;
    for (int i = 0; i < 8; i++)
        seed = seed << 8 | digest[i];
    return (int64_t)(seed & INT64_MAX);
}

typedef struct list {
    kc_runner_case_t *items;
    size_t n, launches;
    const char *secret;
} list_t;

static void s_add (list_t *l, int shape, kc_runner_values_t values, int number, int run,
                   int64_t instructions)
{
    if (l->n >= l->launches)
        return;
    kc_runner_case_t *c = kc_push (&l->items, &l->n, sizeof *l->items);
    kc_type_init (&kc_runner_case_type, c);
    c->shape = shape;
    c->values = values;
    c->variant = number;
    c->seed = kc_case_seed (l->secret, "case", shape, (int)values, number);
    c->run = run;
    // both patterns in both roles, so that the pattern tells nothing about the run
    const bool large = ((c->seed ^ run) & 1) != 0;
    c->poison = large ? KC_POISON_LARGE : KC_POISON_NAN;
    c->layout =
        kc_case_seed (l->secret, "layout", shape, (int)values, number * 2 + run);
    c->instructions = instructions;
}

kc_runner_case_t *kc_cases (const kc_card_t *card, const char *secret,
                            const kc_cases_options_t *options, size_t *n)
{
    static const kc_runner_values_t values[3] = {
        KC_RUNNER_VALUES_TASK, KC_RUNNER_VALUES_SCALED, KC_RUNNER_VALUES_STRUCTURED};
    const int seeds = options->confirm ? KC_CASES_SEEDS_CONFIRM : KC_CASES_SEEDS;
    const int checks = (int)card->n_checks;
    const int shapes =
        options->full_is_costly || options->no_full ? checks : checks + 1;
    list_t l = {.secret = secret};
    l.launches = options->launches  ? options->launches
                 : options->confirm ? (size_t)KC_CASES_LAUNCHES_CONFIRM
                                    : (size_t)KC_CASES_LAUNCHES;
    if (l.launches > KC_CASES_MAX)
        l.launches = KC_CASES_MAX;
    const size_t all = l.launches;
    const size_t full = options->no_full ? 0 : options->confirm ? 2 : 1;
    if (options->full_is_costly && all > full)
        l.launches = all - full;
    for (int k = 0; k < seeds; k++)
        for (int shape = 0; shape < shapes; shape++) {
            if (shape == checks && options->full_seeds > 0 && k >= options->full_seeds)
                continue;
            for (size_t v = 0; v < KC_COUNT (values); v++) {
                s_add (&l, shape, values[v], k, 0, 0);
                const bool large = shape == checks && options->full_seeds > 0;
                if (k == 0 && (!large || v == 0))
                    s_add (&l, shape, values[v], k, 1, 0);
            }
        }
    l.launches = all;
    if (options->full_is_costly)
        for (size_t k = 0; k < full; k++)
            s_add (&l, checks, KC_RUNNER_VALUES_TABLE, (int)k, 0,
                   options->full_instructions);
    *n = l.n;
    return l.items;
}

const kc_task_setting_t *kc_case_dims (const kc_card_t *card, int64_t shape, size_t *n)
{
    if (shape < 0 || (size_t)shape >= card->n_checks) {
        *n = 0;
        return NULL;
    }
    *n = card->checks[shape].n_dims;
    return card->checks[shape].dims;
}

char *kc_case_name (const kc_card_t *card, const kc_runner_case_t *c)
{
    kc_buf_t b = {.limit = 240};
    size_t n;
    const kc_task_setting_t *dims = kc_case_dims (card, c->shape, &n);
    for (size_t i = 0; i < card->n_dims && i < 16; i++) {
        int64_t value = card->dims[i].value;
        for (size_t k = 0; k < n; k++)
            if (strcmp (dims[k].name, card->dims[i].name) == 0)
                value = dims[k].value;
        kc_buf_printf (&b, "%s=%" PRId64 " ", card->dims[i].name, value);
    }
    kc_buf_printf (&b, "%s, values %s, seed %d, run %d", n ? "(check)" : "(task)",
                   kc_runner_values_name (c->values), (int)c->variant, (int)c->run);
    return kc_buf_take (&b);
}
