/* kc_cases.h - which shapes, values and seeds a program is tried with, and in which
 * order
 *
 * The order is such that cutting the list at any point leaves the widest coverage:
 * every shape and value range once before any of them twice, cheap shapes first.  Seeds
 * follow from a secret that a program cannot know: SHA-256 (secret, shape, values,
 * number).  Shapes are numbered as the card's checks, then the task's.
 */
#ifndef KC_CASES_H
#define KC_CASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/msg/gen/card.h"
#include "common/msg/gen/runner.h"

enum {
    KC_CASES_SEEDS = 5, // per shape and value range
    KC_CASES_SEEDS_CONFIRM = 8,
    KC_CASES_LAUNCHES = 64, // runs of the candidate at most
    KC_CASES_LAUNCHES_CONFIRM = 128,
    KC_CASES_MAX = 512,
    KC_POISON_NAN = 0xff,   // NaN in every float format, -1 in integers
    KC_POISON_LARGE = 0x7b, // large finite values
    KC_SECRET_HEX = 65,
};

typedef struct kc_cases_options {
    bool confirm;        // more seeds, more launches
    bool full_is_costly; // virtual GPU and very large tensors: the task's shape last,
                         // once, with cheap content and a bound on its cost
    int64_t full_instructions; // that bound, per run
    bool no_full;   // leave the task's shape out: a timed run will be compared
    int full_seeds; // of the task's shape per value range, 0 = as many as of the checks
    size_t launches; // 0 = the default
} kc_cases_options_t;

// Fresh secret as hex.
void kc_secret (char out[KC_SECRET_HEX]);
// A seed: 63 bits.
int64_t kc_case_seed (const char *secret, const char *what, int shape, int values,
                      int number);
// The cases of one evaluation, in order; caller frees with free ().  Cases that are to
// be compared bit by bit (run 0 and run 1 of the same seed) stand behind each other.
kc_runner_case_t *kc_cases (const kc_card_t *card, const char *secret,
                            const kc_cases_options_t *options, size_t *n);
// "B=5 D=777, values scaled, seed 2, run 1"; caller frees.
char *kc_case_name (const kc_card_t *card, const kc_runner_case_t *c);
// The dims of shape 'shape': the card's checks', or NULL and 0 for the task's own.
const kc_task_setting_t *kc_case_dims (const kc_card_t *card, int64_t shape, size_t *n);

#endif // KC_CASES_H
