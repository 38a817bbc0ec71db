/* kc_clauses_own.h - what the two files of kc_clauses share; nobody else includes it */
#ifndef KC_CLAUSES_OWN_H
#define KC_CLAUSES_OWN_H

#include <sqlite3.h>

#include "common/msg/kc_codec.h"
#include "common/util/kc_map.h"
#include "memory/clauses/kc_clauses.h"

enum {
    KC_COLUMNS_MAX = 192,
    KC_CLAUSE_READS = 24, // different fields in one expression
    KC_CLAUSE_WORD = 64,  // bytes of a quoted word, and of a name in a message
};

// Facts of the run that clauses may name beside the fields of the step.
typedef enum kc_fact {
    KC_FACT_NONE,
    KC_FACT_POLICY,
    KC_FACT_BACKEND,
    KC_FACT_SMS,
    KC_FACT_SM,
    KC_FACT_L2,
    KC_FACT_STEPS,
    KC_FACT_LAUNCHES,
    KC_FACT_US,
    KC_FACT_FLOOR_SHARE,
    KC_FACT_MEAN_US,
} kc_fact_t;

typedef struct kc_column {
    const char *name, *text;
    const kc_field_t *field; // of evidence.step, or NULL for a fact
    kc_fact_t fact;
    bool is_text;
    double lo, hi;
    const char *const *values; // of a TEXT column
    size_t n_values;
} kc_column_t;

typedef struct kc_clause {
    char *expr;
    kc_clause_kind_t kind;
    bool handles_unknown;
    size_t reads[KC_CLAUSE_READS]; // columns, in the order of the text
    size_t n_reads;
} kc_clause_t;

typedef struct kc_cell { // the value of a column in the last eval
    bool present;
    double number;
    const char *text;
} kc_cell_t;

typedef struct kc_answers {          // of one evaluation
    kc_cell_t cells[KC_COLUMNS_MAX]; // texts are constants, or the caller's
    const kc_evidence_step_t *step;  // borrowed: valid as the caller's evidence is
    unsigned char *truth;            // kc_truth_t per clause
    double *number;                  // per clause, NAN = unknown
} kc_answers_t;

struct kc_clauses {
    sqlite3 *db;
    kc_column_t columns[KC_COLUMNS_MAX];
    size_t n_columns;
    kc_clause_t *clauses;
    size_t n_clauses;
    kc_map_t *by_text; // "kind:flag:expr" -> int *
    sqlite3_stmt **groups;
    size_t n_groups;
    sqlite3_stmt *clear, *insert;
    bool guarded;      // the authorizer judges (while foreign text is prepared)
    const char *table; // the only table that may be read then
    int selects;       // seen by the authorizer
    kc_clause_t *seen; // collects the columns read
    bool too_many;
    int looks;
    const char *denied; // what the authorizer refused, for the message
    char denied_text[KC_CLAUSE_WORD];
    kc_answers_t kept[KC_CLAUSES_KEPT];
    kc_answers_t *a; // those that eval fills and the getters read
};

// The authorizer of the private connection (guards 1, 2, 8); 'arg' is the kc_clauses_t.
int kc_clauses_authorize (void *arg, int action, const char *a, const char *b,
                          const char *c, const char *d);
// Judge one text with every guard and note the columns it reads.
int kc_clauses_admit (kc_clauses_t *self, kc_clause_t *clause, kc_err_t *err);

#endif // KC_CLAUSES_OWN_H
