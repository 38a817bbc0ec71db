// kc_clauses_admit.c - the guards of kc_clauses.h: what an expression may say, and what
// it must not

#include "memory/clauses/kc_clauses_own.h"

#include <stdlib.h>
#include <string.h>

#include "common/util/kc_mem.h"
#include "common/util/kc_opt.h"

static int s_column_of (const kc_clauses_t *self, const char *name)
{
    for (size_t i = 0; i < self->n_columns; i++)
        if (strcmp (self->columns[i].name, name) == 0)
            return (int)i;
    return -1;
}

static int s_deny (kc_clauses_t *self, const char *what, const char *name)
{
    if (!self->denied) {
        sqlite3_snprintf ((int)sizeof self->denied_text, self->denied_text, "%s",
                          name ? name : "");
        self->denied = what;
    }
    return SQLITE_DENY;
}

int kc_clauses_authorize (void *arg, int action, const char *a, const char *b,
                          const char *c, const char *d)
{
    (void)c;
    (void)d;
    static const char *const functions[] = {"abs", "min", "max", "round", "like"};
    kc_clauses_t *self = arg;
    if (!self->guarded)
        return SQLITE_OK;
    if (action == SQLITE_SELECT) {
        if (++self->selects > 1)
            return s_deny (self, "a second SELECT", "");
        return SQLITE_OK;
    }
    if (action == SQLITE_READ) {
        if (!a || strcmp (a, self->table) != 0)
            return s_deny (self, "the table", a);
        int column = b ? s_column_of (self, b) : -1;
        if (column < 0)
            return b && !*b
                       ? SQLITE_OK
                       : s_deny (self, "the column", b); // "" = no column in particular
        for (size_t i = 0; self->seen && i < self->seen->n_reads; i++)
            if (self->seen->reads[i] == (size_t)column)
                return SQLITE_OK;
        if (self->seen && self->seen->n_reads == KC_CLAUSE_READS)
            self->too_many = true;
        else if (self->seen)
            self->seen->reads[self->seen->n_reads++] = (size_t)column;
        return SQLITE_OK;
    }
    if (action == SQLITE_FUNCTION) {
        for (size_t i = 0; i < KC_COUNT (functions); i++)
            if (b && strcmp (b, functions[i]) == 0)
                return SQLITE_OK;
        return s_deny (self, "the function", b);
    }
    return s_deny (self, "an action beyond an expression", a);
}

// Guard 9, second half: a quoted word must be something a TEXT column can hold, else a
// misspelt one makes a clause that is never true and nobody notices.
static int s_check_words (const kc_clauses_t *self, const char *expr, kc_err_t *err)
{
    for (const char *p = expr; (p = strchr (p, '\'')) != NULL;) {
        const char *end = strchr (p + 1, '\'');
        if (!end)
            return 0; // SQLite names the error better
        char word[KC_CLAUSE_WORD];
        size_t n = (size_t)(end - p - 1);
        if (n >= sizeof word)
            return kc_fail (err, KC_EINVALID, "a quoted word is longer than %d bytes",
                            KC_CLAUSE_WORD - 1);
        memcpy (word, p + 1, n);
        word[n] = 0;
        p = end + 1;
        if (strchr (word, '%')) // a pattern of LIKE
            continue;
        const char *near = NULL;
        int best = 4;
        bool known = false;
        for (size_t i = 0; i < self->n_columns && !known; i++)
            for (size_t k = 0; k < self->columns[i].n_values && !known; k++) {
                known = strcmp (self->columns[i].values[k], word) == 0;
                int d = kc_word_distance (self->columns[i].values[k], word);
                if (d < best) {
                    best = d;
                    near = self->columns[i].values[k];
                }
            }
        if (!known)
            return kc_fail (err, KC_EINVALID, "no field can have the value '%s'%s%s%s",
                            word, near ? "; did you mean '" : "", near ? near : "",
                            near ? "'?" : "");
    }
    return 0;
}

// Prepare one form of the text with the guards on; NULL and 'err' when something
// refuses it.
static sqlite3_stmt *s_prepare (kc_clauses_t *self, const char *form, const char *expr,
                                kc_clause_t *seen, kc_err_t *err)
{
    char *sql = sqlite3_mprintf (form, expr);
    sqlite3_stmt *stmt = NULL;
    const char *tail = NULL;
    self->guarded = true;
    self->table = "probe";
    self->selects = 0;
    self->denied = NULL;
    self->too_many = false;
    self->seen = seen;
    self->looks = 0;
    kc_assert (sql);
    int rc = sqlite3_prepare_v2 (self->db, sql, -1, &stmt, &tail);
    self->guarded = false;
    self->seen = NULL;
    int bad = 0;
    if (self->denied)
        bad = kc_fail (err, KC_EINVALID, "%s%s%s is not allowed in a clause",
                       self->denied, *self->denied_text ? " " : "", self->denied_text);
    else if (rc != SQLITE_OK)
        bad = kc_fail (err, KC_EINVALID, "%s", sqlite3_errmsg (self->db));
    else if (!stmt || (tail && *tail))
        bad = kc_fail (err, KC_EINVALID, "it is more than one expression");
    else if (sqlite3_column_count (stmt) != 1)
        bad = kc_fail (err, KC_EINVALID, "it has %d values instead of one",
                       sqlite3_column_count (stmt));
    else if (sqlite3_bind_parameter_count (stmt) > 0)
        bad = kc_fail (err, KC_EINVALID, "parameters are not allowed");
    else if (self->selects != 1)
        bad = kc_fail (err, KC_EINVALID, "exactly one SELECT is allowed, it makes %d",
                       self->selects);
    else if (self->too_many)
        bad =
            kc_fail (err, KC_EINVALID, "it reads more than %d fields", KC_CLAUSE_READS);
    sqlite3_free (sql);
    if (bad < 0) {
        sqlite3_finalize (stmt);
        return NULL;
    }
    return stmt;
}

// Run the admitted text over the probe rows (the first is all NULL) and judge its
// values.
static int s_lint (kc_clauses_t *self, sqlite3_stmt *stmt, const kc_clause_t *c,
                   kc_err_t *err)
{
    int rows = 0, trues = 0, rc;
    bool null_first = false, numeric = true;
    self->looks = 0;
    while ((rc = sqlite3_step (stmt)) == SQLITE_ROW) {
        int type = sqlite3_column_type (stmt, 0);
        bool fits = type == SQLITE_NULL || type == SQLITE_INTEGER
                    || (c->kind == KC_CLAUSE_SEVERITY && type == SQLITE_FLOAT);
        numeric = numeric && fits;
        if (rows == 0)
            null_first = type == SQLITE_NULL;
        else if (type == SQLITE_INTEGER && sqlite3_column_int64 (stmt, 0) != 0)
            trues++;
        rows++;
    }
    if (rc != SQLITE_DONE)
        return kc_fail (err, KC_EINVALID, "it cannot be evaluated: %s",
                        sqlite3_errmsg (self->db));
    if (rows < 3)
        return kc_fail (err, KC_EINVALID,
                        "min and max need two values here (one makes an aggregate)");
    if (!numeric)
        return kc_fail (err, KC_EINVALID,
                        c->kind == KC_CLAUSE_SEVERITY
                            ? "a severity must be a number"
                            : "its value is not true, false or unknown; compare it "
                              "with something");
    if (!null_first && !c->handles_unknown && c->kind == KC_CLAUSE_CONDITION)
        return kc_fail (
            err, KC_EINVALID,
            "it decides although every field is missing; mark it handles_unknown if "
            "that is meant");
    if (c->kind == KC_CLAUSE_CONDITION && trues == rows - 1)
        return kc_fail (err, KC_EINVALID,
                        "it is true for every plausible value, so it says nothing");
    return 0;
}

int kc_clauses_admit (kc_clauses_t *self, kc_clause_t *c, kc_err_t *err)
{
    if (strlen (c->expr) > KC_CLAUSES_TEXT)
        return kc_fail (err, KC_EINVALID, "longer than %d bytes", KC_CLAUSES_TEXT);
    if (s_check_words (self, c->expr, err) < 0)
        return -1;
    sqlite3_stmt *bare = s_prepare (self, "SELECT %s FROM probe", c->expr, NULL, err);
    if (!bare)
        return -1;
    sqlite3_finalize (bare);
    sqlite3_stmt *stmt = s_prepare (self, "SELECT (%s\n) FROM probe", c->expr, c, err);
    if (!stmt)
        return -1;
    int rc = s_lint (self, stmt, c, err);
    sqlite3_finalize (stmt);
    return rc;
}

int kc_clauses_check (kc_clauses_t *self, const char *expr, kc_clause_kind_t kind,
                      bool handles_unknown, kc_err_t *err)
{
    kc_clause_t c = {
        .kind = kind, .handles_unknown = handles_unknown, .expr = kc_strdup (expr)};
    int rc = kc_clauses_admit (self, &c, err);
    free (c.expr);
    if (rc < 0)
        kc_fail_in (err, "clause \"%.200s\"", expr);
    return rc;
}
