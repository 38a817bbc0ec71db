/* kc_methods_own.h - what the two files of kc_methods share; nobody else includes it */
#ifndef KC_METHODS_OWN_H
#define KC_METHODS_OWN_H

#include "memory/store/kc_methods.h"

struct kc_methods {
    kc_db_t *db;
    const kc_records_t *records;
    kc_rules_t rules;
};

typedef struct kc_method_hit {
    int at;
    double score;
} kc_method_hit_t;

int kc_methods_at (const kc_rules_t *rules,
                   const char *id); // index of a method, -1 = none
// The text index: look for drift and mend it, write it anew from the rules, search it.
int kc_methods_check_index (kc_methods_t *self, kc_err_t *err);
int kc_methods_index (kc_methods_t *self, kc_err_t *err);
// Up to KC_METHODS_MAX hits, best first; words of any kind are fine.
int kc_methods_find (kc_methods_t *self, const char *text, kc_method_hit_t *hits,
                     size_t *n_p, kc_err_t *err);

#endif // KC_METHODS_OWN_H
