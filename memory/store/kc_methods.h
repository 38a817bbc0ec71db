/* kc_methods.h - expert methods and bottleneck classes: rows, their overlay, and the
 * rules in memory
 *
 * Files of the experts folder are the source 'shipped'; they replace the shipped rows
 * when their digest changes.  What a person puts is the source 'user'; it stands over a
 * shipped row with the same id and survives every upgrade.  Nothing is admitted whose
 * clauses do not pass kc_clauses_check or whose bottlenecks name a method that does not
 * exist.  A user row that stops being admissible (a field was renamed) is left out with
 * a warning, never fatal.
 *
 * The text index is an ordinary FTS5 table written together with the rows; words of a
 * query are quoted, so its text is never a query language.
 */
#ifndef KC_METHODS_H
#define KC_METHODS_H

#include "common/msg/gen/memory.h"
#include "memory/clauses/kc_clauses.h"
#include "memory/store/kc_events.h"
#include "memory/store/kc_records.h"

enum {
    KC_METHODS_MAX = 256,
    KC_BOTTLENECKS_MAX = 64,
    KC_METHODS_FILE_MAX = 1024 * 1024,
    KC_METHODS_FILES = 64,
    KC_METHODS_WORDS = 32, // of one query
};

typedef struct kc_methods kc_methods_t;

typedef struct kc_rule_method { // all of it belongs to kc_methods
    kc_method_method_t *doc;
    kc_memory_method_row_source_t source;
    int *requires, *vetoes; // clause numbers, as many as in 'doc'
} kc_rule_method_t;

typedef struct kc_rule_bottleneck {
    kc_method_bottleneck_t *doc;
    kc_memory_method_row_source_t source;
    int64_t ord;
    int *when;
    int severity; // clause number, -1 = none
    int *methods; // index into the methods, as many as in 'doc'
} kc_rule_bottleneck_t;

typedef struct kc_rules { // valid until the next put or ship
    kc_rule_method_t *methods;
    size_t n_methods;
    kc_rule_bottleneck_t *bottlenecks;
    size_t n_bottlenecks;
    kc_clauses_t *clauses;
} kc_rules_t;

kc_methods_t *kc_methods_new (kc_db_t *db, const kc_records_t *records, kc_err_t *err);
void kc_methods_destroy (kc_methods_t **self_p);

// Load every *.json of a folder as 'shipped'; nothing happens when they are the ones
// loaded before. Makes its own transaction.  A bad file refuses the whole set and names
// file and place.
int kc_methods_ship (kc_methods_t *self, const char *dir, const kc_when_t *when,
                     kc_err_t *err);
int kc_methods_put (kc_methods_t *self, const kc_memory_method_put_t *in,
                    kc_memory_method_put_reply_t *out, const kc_when_t *when,
                    kc_err_t *err);
int kc_methods_list (kc_methods_t *self, const kc_memory_method_list_t *in,
                     kc_memory_method_list_reply_t *out, kc_err_t *err);
int kc_methods_show (kc_methods_t *self, const kc_memory_method_show_t *in,
                     kc_memory_method_show_reply_t *out, kc_err_t *err);

const kc_rules_t *kc_methods_rules (const kc_methods_t *self);

#endif // KC_METHODS_H
