/* kc_opt.h - command line options from a table, which also prints --help
 *
 * Values come from the command line, else from the environment name of the row, else its default.
 * Both "--name value" and "--name=value" work; "--" ends options; the rest are positional.
 */
#ifndef KC_OPT_H
#define KC_OPT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/util/kc_err.h"

typedef enum kc_opt_type { KC_OPT_FLAG = 1, KC_OPT_STRING, KC_OPT_INT, KC_OPT_LIST } kc_opt_type_t;

typedef struct kc_opt {
    const char *name;   // without dashes; NULL ends the table
    char letter;        // 0 = none
    kc_opt_type_t type;
    const char *env;    // NULL = none
    const char *preset; // default as text; NULL = unset
    int64_t min, max;   // for KC_OPT_INT, inclusive
    const char *arg;    // word shown for the value
    const char *help;   // one sentence
} kc_opt_t;

typedef struct kc_opts kc_opts_t;

// Parse argv[1..]; NULL on failure with a text that names the option and the nearest known one.
kc_opts_t *kc_opts_parse (const kc_opt_t *table, int argc, char *const *argv, kc_err_t *err);
void kc_opts_destroy (kc_opts_t **self_p);
bool kc_opts_flag (const kc_opts_t *self, const char *name);
const char *kc_opts_string (const kc_opts_t *self, const char *name); // NULL when unset
int64_t kc_opts_int (const kc_opts_t *self, const char *name);        // 0 when unset
bool kc_opts_given (const kc_opts_t *self, const char *name);
int kc_opts_count (const kc_opts_t *self, const char *name);          // values of a LIST
const char *kc_opts_item (const kc_opts_t *self, const char *name, int index);
int kc_opts_n_args (const kc_opts_t *self);                           // positionals
const char *kc_opts_arg (const kc_opts_t *self, int index);           // NULL past the end
void kc_opts_help (const kc_opt_t *table, const char *usage, const char *about);
// The rows every daemon shares: --run --data --cache --instance --log-level --notify-fd --leash-fd --version --help
#define KC_OPT_DAEMON                                                                  \
    {"run", 0, KC_OPT_STRING, "KC_RUN", 0, 0, 0, "DIR", "directory of sockets and locks"}, \
        {"data", 0, KC_OPT_STRING, "KC_DATA", 0, 0, 0, "DIR", "directory of memory.db"},   \
        {"cache", 0, KC_OPT_STRING, "KC_CACHE", 0, 0, 0, "DIR", "directory of compiled code"}, \
        {"instance", 0, KC_OPT_STRING, 0, 0, 0, 0, "NAME", "name of this process in the fleet"}, \
        {"log-level", 0, KC_OPT_STRING, "KC_LOG", "info", 0, 0, "LEVEL", "debug, info, warn or error"}, \
        {"notify-fd", 0, KC_OPT_INT, 0, 0, 0, 1023, "FD", "write a newline here when ready"}, \
        {"leash-fd", 0, KC_OPT_INT, 0, 0, 0, 1023, "FD", "stop when this descriptor reaches end of file"}, \
        {"version", 'V', KC_OPT_FLAG, 0, 0, 0, 0, 0, "print the version"}, \
    {                                                                                  \
        "help", 'h', KC_OPT_FLAG, 0, 0, 0, 0, 0, "print this help"                     \
    }
// The distance of two words (insertions, deletions, changes), for "did you mean".
int kc_word_distance (const char *a, const char *b);

#endif // KC_OPT_H
