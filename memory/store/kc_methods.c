// kc_methods.c - see kc_methods.h for the rules this class keeps

#include "memory/store/kc_methods_own.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/msg/kc_codec.h"
#include "common/util/kc_fs.h"
#include "common/util/kc_log.h"
#include "common/util/kc_mem.h"
#include "common/util/kc_opt.h"

static const char SQL_METHODS[] =
    "SELECT id, source, doc FROM method ORDER BY id, source = 'shipped'";
static const char SQL_BOTTLENECKS[] =
    "SELECT id, source, doc, ord FROM bottleneck ORDER BY id, source = 'shipped'";
static const char SQL_PUT_METHOD[] =
    "INSERT OR REPLACE INTO method (id, source, doc, at) VALUES (?1, ?2, ?3, ?4)";
static const char SQL_PUT_BOTTLENECK[] =
    "INSERT OR REPLACE INTO bottleneck (id, source, ord, doc, at) VALUES (?1, ?2, ?3, "
    "?4, ?5)";
static const char SQL_DROP_METHODS[] = "DELETE FROM method WHERE source = 'shipped'";
static const char SQL_DROP_BOTTLENECKS[] =
    "DELETE FROM bottleneck WHERE source = 'shipped'";
static const char SQL_DIGEST[] = "SELECT value FROM note WHERE name = 'experts'";
static const char SQL_PUT_DIGEST[] =
    "INSERT OR REPLACE INTO note VALUES ('experts', ?1)";

// ---- rules in memory ----

static void s_clear_rules (kc_rules_t *r)
{
    for (size_t i = 0; i < r->n_methods; i++) {
        kc_method_method_free (&r->methods[i].doc);
        free (r->methods[i].requires);
        free (r->methods[i].vetoes);
    }
    for (size_t i = 0; i < r->n_bottlenecks; i++) {
        kc_method_bottleneck_free (&r->bottlenecks[i].doc);
        free (r->bottlenecks[i].when);
        free (r->bottlenecks[i].methods);
    }
    free (r->methods);
    free (r->bottlenecks);
    kc_clauses_destroy (&r->clauses);
    memset (r, 0, sizeof *r);
}

int kc_methods_at (const kc_rules_t *r, const char *id)
{
    for (size_t i = 0; i < r->n_methods; i++)
        if (strcmp (r->methods[i].doc->id, id) == 0)
            return (int)i;
    return -1;
}

// Admit a list of clauses; their numbers (caller frees), or NULL with 'err' naming the
// place.
static int *s_add_clauses (kc_clauses_t *c, const kc_method_clause_t *list, size_t n,
                           const char *owner, const char *what, kc_err_t *err)
{
    int *numbers = kc_calloc (n + 1, sizeof *numbers);
    for (size_t i = 0; i < n; i++) {
        numbers[i] = kc_clauses_add (c, list[i].expr, KC_CLAUSE_CONDITION,
                                     list[i].handles_unknown, err);
        if (numbers[i] < 0) {
            kc_fail_in (err, "%s /%s/%zu", owner, what, i);
            free (numbers);
            return NULL;
        }
    }
    return numbers;
}

static int s_add_method (kc_rules_t *r, kc_method_method_t *doc,
                         kc_memory_method_row_source_t source, kc_err_t *err)
{
    if (r->n_methods >= KC_METHODS_MAX)
        return kc_fail (err, KC_EINVALID, "more than %d methods", KC_METHODS_MAX);
    kc_rule_method_t m = {.doc = doc, .source = source};
    if (!(m.requires = s_add_clauses (r->clauses, doc->requires, doc->n_requires,
                                      doc->id, "requires", err))
        || !(m.vetoes = s_add_clauses (r->clauses, doc->vetoes, doc->n_vetoes, doc->id,
                                       "vetoes", err))) {
        free (m.requires);
        return -1;
    }
    for (size_t i = 0; i < doc->n_expects; i++)
        if (!kc_type_field (&kc_evidence_step_type, doc->expects[i].field)) {
            free (m.requires);
            free (m.vetoes);
            return kc_fail (err, KC_EINVALID,
                            "%s /expects/%zu: there is no field %.64s", doc->id, i,
                            doc->expects[i].field);
        }
    kc_rule_method_t *slot = kc_push (&r->methods, &r->n_methods, sizeof *slot);
    *slot = m;
    return 0;
}

static int s_add_bottleneck (kc_rules_t *r, kc_method_bottleneck_t *doc,
                             kc_memory_method_row_source_t source, int64_t ord,
                             kc_err_t *err)
{
    if (r->n_bottlenecks >= KC_BOTTLENECKS_MAX)
        return kc_fail (err, KC_EINVALID, "more than %d bottlenecks",
                        KC_BOTTLENECKS_MAX);
    kc_rule_bottleneck_t b = {.doc = doc, .source = source, .ord = ord, .severity = -1};
    b.methods = kc_calloc (doc->n_methods + 1, sizeof *b.methods);
    int rc = 0;
    for (size_t i = 0; i < doc->n_methods && rc == 0; i++) {
        b.methods[i] = kc_methods_at (r, doc->methods[i]);
        if (b.methods[i] < 0)
            rc = kc_fail (err, KC_EINVALID,
                          "bottleneck %s /methods/%zu: there is no method %s", doc->id,
                          i, doc->methods[i]);
    }
    if (rc == 0
        && !(b.when = s_add_clauses (r->clauses, doc->when, doc->n_when, doc->id,
                                     "when", err)))
        rc = -1;
    if (rc == 0 && doc->severity) {
        b.severity =
            kc_clauses_add (r->clauses, doc->severity, KC_CLAUSE_SEVERITY, false, err);
        if (b.severity < 0)
            rc = kc_fail_in (err, "bottleneck %s /severity", doc->id);
    }
    if (rc < 0) {
        free (b.methods);
        free (b.when);
        return -1;
    }
    kc_rule_bottleneck_t *slot =
        kc_push (&r->bottlenecks, &r->n_bottlenecks, sizeof *slot);
    *slot = b;
    return 0;
}

// A row that is overlaid or cannot be admitted is left out; a shipped one that cannot
// is an error.
static int s_judge (int rc, kc_memory_method_row_source_t source, const char *id,
                    kc_err_t *err)
{
    if (rc == 0 || source == KC_MEMORY_METHOD_ROW_SOURCE_SHIPPED)
        return rc;
    kc_log (KC_WARN, "method.left_out", "id", "s", id, "text", "s", err->text, NULL);
    return 1;
}

static int s_load_methods (kc_db_t *db, kc_rules_t *r, kc_err_t *err)
{
    sqlite3_stmt *q = kc_db_query (db, err, SQL_METHODS, "");
    int rc = q ? 0 : -1;
    while (q && rc >= 0 && (rc = kc_db_step (db, q, err)) > 0) {
        if (kc_methods_at (r, kc_db_text (q, 0)) >= 0)
            continue; // the user's row came first
        kc_memory_method_row_source_t source =
            kc_memory_method_row_source_parse (kc_db_text (q, 1));
        kc_errs_t errs = {0};
        const char *json = kc_db_text (q, 2);
        kc_method_method_t *doc =
            kc_method_method_decode (json, strlen (json), KC_WIRE, &errs);
        kc_err_t e = {0};
        int added = doc ? s_add_method (r, doc, source, &e) : kc_errs_fail (&errs, &e);
        if (added < 0)
            kc_method_method_free (&doc);
        rc = s_judge (added, source, kc_db_text (q, 0), &e);
        if (rc < 0 && err)
            *err = e;
    }
    kc_db_done (q);
    return rc < 0 ? -1 : 0;
}

static int s_load_bottlenecks (kc_db_t *db, kc_rules_t *r, kc_err_t *err)
{
    sqlite3_stmt *q = kc_db_query (db, err, SQL_BOTTLENECKS, "");
    int rc = q ? 0 : -1;
    while (q && rc >= 0 && (rc = kc_db_step (db, q, err)) > 0) {
        bool overlaid = false;
        for (size_t i = 0; i < r->n_bottlenecks; i++)
            overlaid =
                overlaid || strcmp (r->bottlenecks[i].doc->id, kc_db_text (q, 0)) == 0;
        if (overlaid)
            continue;
        kc_memory_method_row_source_t source =
            kc_memory_method_row_source_parse (kc_db_text (q, 1));
        kc_errs_t errs = {0};
        const char *json = kc_db_text (q, 2);
        kc_method_bottleneck_t *doc =
            kc_method_bottleneck_decode (json, strlen (json), KC_WIRE, &errs);
        kc_err_t e = {0};
        int added =
            doc ? s_add_bottleneck (r, doc, source, sqlite3_column_int64 (q, 3), &e)
                : kc_errs_fail (&errs, &e);
        if (added < 0)
            kc_method_bottleneck_free (&doc);
        rc = s_judge (added, source, kc_db_text (q, 0), &e);
        if (rc < 0 && err)
            *err = e;
    }
    kc_db_done (q);
    return rc < 0 ? -1 : 0;
}

static int s_by_ord (const void *a, const void *b)
{
    const kc_rule_bottleneck_t *x = a, *y = b;
    return x->ord < y->ord ? -1 : x->ord > y->ord;
}

// Build the rules from the rows as they are now; the old rules stay when that fails.
static int s_reload (kc_methods_t *self, kc_err_t *err)
{
    kc_rules_t r = {0};
    if (!(r.clauses = kc_clauses_new (err)) || s_load_methods (self->db, &r, err) < 0
        || s_load_bottlenecks (self->db, &r, err) < 0
        || kc_clauses_build (r.clauses, err) < 0) {
        s_clear_rules (&r);
        return -1;
    }
    if (r.n_bottlenecks > 0)
        qsort (r.bottlenecks, r.n_bottlenecks, sizeof *r.bottlenecks, s_by_ord);
    s_clear_rules (&self->rules);
    self->rules = r;
    return 0;
}

kc_methods_t *kc_methods_new (kc_db_t *db, const kc_records_t *records, kc_err_t *err)
{
    kc_methods_t *self = kc_calloc (1, sizeof *self);
    self->db = db;
    self->records = records;
    if (kc_methods_check_index (self, err) < 0)
        kc_methods_destroy (&self);
    if (self && s_reload (self, err) < 0)
        kc_methods_destroy (&self);
    return self;
}

void kc_methods_destroy (kc_methods_t **self_p)
{
    kc_methods_t *self = *self_p;
    if (!self)
        return;
    s_clear_rules (&self->rules);
    free (self);
    *self_p = NULL;
}

const kc_rules_t *kc_methods_rules (const kc_methods_t *self)
{
    return &self->rules;
}

// ---- storing ----

static int s_store (kc_methods_t *self, const kc_method_t *doc, const char *source,
                    int64_t ord, const kc_when_t *when, kc_err_t *err)
{
    kc_errs_t errs = {0};
    for (size_t i = 0; i < doc->n_methods; i++) {
        char *json =
            kc_type_encode (&kc_method_method_type, &doc->methods[i], NULL, &errs);
        int rc = json ? kc_db_run (self->db, err, SQL_PUT_METHOD, "ssss",
                                   doc->methods[i].id, source, json, when->at)
                      : kc_errs_fail (&errs, err);
        free (json);
        if (rc < 0)
            return -1;
    }
    for (size_t i = 0; i < doc->n_bottlenecks; i++) {
        char *json = kc_type_encode (&kc_method_bottleneck_type, &doc->bottlenecks[i],
                                     NULL, &errs);
        int rc = json ? kc_db_run (self->db, err, SQL_PUT_BOTTLENECK, "ssiss",
                                   doc->bottlenecks[i].id, source, ord + (int64_t)i,
                                   json, when->at)
                      : kc_errs_fail (&errs, err);
        free (json);
        if (rc < 0)
            return -1;
    }
    return 0;
}

int kc_methods_put (kc_methods_t *self, const kc_memory_method_put_t *in,
                    kc_memory_method_put_reply_t *out, const kc_when_t *when,
                    kc_err_t *err)
{
    enum {
        USER_ORD = 1000000
    }; // a person's classes are looked at after the shipped ones
    // Judge first, with the rows only in a scratch set: a refused document leaves no
    // trace.
    kc_rules_t trial = {.clauses = kc_clauses_new (err)};
    int rc = trial.clauses ? 0 : -1;
    for (size_t i = 0; i < in->document->n_methods && rc == 0; i++) {
        kc_method_method_t *m = kc_method_method_dup (&in->document->methods[i]);
        rc = s_add_method (&trial, m, KC_MEMORY_METHOD_ROW_SOURCE_USER, err);
        if (rc < 0)
            kc_method_method_free (&m);
    }
    for (size_t i = 0; i < self->rules.n_methods && rc == 0; i++)
        if (kc_methods_at (&trial, self->rules.methods[i].doc->id) < 0) {
            kc_method_method_t *m = kc_method_method_dup (self->rules.methods[i].doc);
            rc = s_add_method (&trial, m, self->rules.methods[i].source, err);
            if (rc < 0)
                kc_method_method_free (&m);
        }
    for (size_t i = 0; i < in->document->n_bottlenecks && rc == 0; i++) {
        kc_method_bottleneck_t *b =
            kc_method_bottleneck_dup (&in->document->bottlenecks[i]);
        rc = s_add_bottleneck (&trial, b, KC_MEMORY_METHOD_ROW_SOURCE_USER, USER_ORD,
                               err);
        if (rc < 0)
            kc_method_bottleneck_free (&b);
    }
    s_clear_rules (&trial);
    if (rc < 0 || s_store (self, in->document, "user", USER_ORD, when, err) < 0
        || s_reload (self, err) < 0 || kc_methods_index (self, err) < 0)
        return -1;
    out->stored = (int64_t)(in->document->n_methods + in->document->n_bottlenecks);
    return 0;
}

static int s_by_name (const void *a, const void *b)
{
    return strcmp (*(char *const *)a, *(char *const *)b);
}

// The *.json files of a folder, sorted; the number of them, or -1.
static int s_list_files (const char *dir, char *files[KC_METHODS_FILES], kc_err_t *err)
{
    DIR *d = opendir (dir);
    if (!d)
        return kc_fail_errno (err, errno,
                              "cannot read the experts folder %s (--experts)", dir);
    int n = 0;
    struct dirent *e;
    while (n < KC_METHODS_FILES && (e = readdir (d)) != NULL) {
        size_t size = strlen (e->d_name);
        if (size > 5 && e->d_name[0] != '.'
            && strcmp (e->d_name + size - 5, ".json") == 0)
            files[n++] = kc_fs_join (dir, e->d_name);
    }
    closedir (d);
    if (n > 0)
        qsort (files, (size_t)n, sizeof *files, s_by_name);
    return n;
}

static int s_ship_file (kc_methods_t *self, const char *path, int64_t ord,
                        const kc_when_t *when, kc_err_t *err)
{
    size_t size = 0;
    char *text = kc_fs_read (path, KC_METHODS_FILE_MAX, &size, err);
    if (!text)
        return -1;
    kc_errs_t errs = {0};
    kc_method_t *doc = kc_method_decode (text, size, KC_STRICT, &errs);
    free (text);
    int rc = doc ? s_store (self, doc, "shipped", ord, when, err)
                 : kc_errs_fail (&errs, err);
    kc_method_free (&doc);
    return rc < 0 ? kc_fail_in (err, "%s", path) : 0;
}

static int s_ship_all (kc_methods_t *self, char *const *files, int n,
                       const char *digest, const kc_when_t *when, kc_err_t *err)
{
    if (kc_db_begin (self->db, err) < 0)
        return -1;
    int rc = kc_db_run (self->db, err, SQL_DROP_METHODS, "") < 0
                     || kc_db_run (self->db, err, SQL_DROP_BOTTLENECKS, "") < 0
                 ? -1
                 : 0;
    for (int i = 0; i < n && rc == 0; i++)
        rc = s_ship_file (self, files[i], (int64_t)i * 1000, when, err);
    if (rc == 0
        && (s_reload (self, err) < 0 || kc_methods_index (self, err) < 0
            || kc_db_run (self->db, err, SQL_PUT_DIGEST, "s", digest) < 0))
        rc = -1;
    if (rc == 0)
        return kc_db_commit (self->db, err);
    kc_db_rollback (self->db);
    kc_err_t ignored = {0};
    s_reload (self, &ignored); // back to what the file holds
    return -1;
}

int kc_methods_ship (kc_methods_t *self, const char *dir, const kc_when_t *when,
                     kc_err_t *err)
{
    char *files[KC_METHODS_FILES] = {0};
    int n = s_list_files (dir, files, err);
    int rc = n < 0 ? -1 : 0;
    kc_sha_t sha;
    kc_sha_init (&sha);
    kc_sha_str (&sha, "1"); // raise it when the way they are stored or indexed changes
    for (int i = 0; i < n && rc == 0; i++) {
        size_t size = 0;
        char *text = kc_fs_read (files[i], KC_METHODS_FILE_MAX, &size, err);
        if (text)
            kc_sha_str (&sha, text);
        else
            rc = -1;
        free (text);
    }
    char digest[KC_SHA_HEX];
    kc_sha_hex (&sha, digest);
    if (rc == 0) {
        sqlite3_stmt *q = kc_db_query (self->db, err, SQL_DIGEST, "");
        int found = q ? kc_db_step (self->db, q, err) : -1;
        bool same = found > 0 && strcmp (kc_db_text (q, 0), digest) == 0;
        kc_db_done (q);
        rc = found < 0 ? -1 : same ? 0 : s_ship_all (self, files, n, digest, when, err);
        if (rc == 0 && !same)
            kc_log (KC_INFO, "method.shipped", "dir", "s", dir, "files", "i",
                    (int64_t)n, "methods", "i", (int64_t)self->rules.n_methods, NULL);
    }
    for (int i = 0; i < n; i++)
        free (files[i]);
    return rc;
}

// ---- reading ----

static void s_fill_row (const kc_methods_t *self, size_t at,
                        kc_memory_method_row_t *row)
{
    const kc_rules_t *r = &self->rules;
    kc_record_context_t context = {r->methods[at].doc->id, "", "", ""};
    kc_record_sum_t sum;
    kc_records_sum (self->records, &context, &sum);
    row->method = kc_method_method_dup (r->methods[at].doc);
    row->source = r->methods[at].source;
    row->wins = sum.all_wins;
    row->losses = sum.all_losses;
    if (sum.all_wins > 0) {
        row->has_mean_gain = true;
        row->mean_gain = exp (sum.all_log_gain / (double)sum.all_wins);
    }
    for (size_t b = 0; b < r->n_bottlenecks; b++)
        for (size_t i = 0; i < r->bottlenecks[b].doc->n_methods; i++)
            if (r->bottlenecks[b].methods[i] == (int)at) {
                char **slot =
                    kc_push (&row->bottlenecks, &row->n_bottlenecks, sizeof *slot);
                *slot = kc_strdup (r->bottlenecks[b].doc->id);
                break;
            }
}

static void s_push_row (const kc_methods_t *self, size_t at,
                        kc_memory_method_list_reply_t *out)
{
    kc_memory_method_row_t *row = kc_push (&out->methods, &out->n_methods, sizeof *row);
    kc_type_init (&kc_memory_method_row_type, row);
    s_fill_row (self, at, row);
}

int kc_methods_list (kc_methods_t *self, const kc_memory_method_list_t *in,
                     kc_memory_method_list_reply_t *out, kc_err_t *err)
{
    if (in->text && *in->text) {
        kc_method_hit_t hits[KC_METHODS_MAX];
        size_t n = 0;
        if (kc_methods_find (self, in->text, hits, &n, err) < 0)
            return -1;
        for (size_t i = 0; i < n && (int64_t)i < in->limit; i++)
            s_push_row (self, (size_t)hits[i].at, out);
        return 0;
    }
    for (size_t i = 0; i < self->rules.n_methods && (int64_t)i < in->limit; i++)
        s_push_row (self, i, out);
    for (size_t i = 0; i < self->rules.n_bottlenecks; i++) {
        kc_method_bottleneck_t *slot =
            kc_push (&out->bottlenecks, &out->n_bottlenecks, sizeof *slot);
        kc_method_bottleneck_t *copy =
            kc_method_bottleneck_dup (self->rules.bottlenecks[i].doc);
        *slot = *copy; // its parts move; the shell goes
        free (copy);
    }
    return 0;
}

int kc_methods_show (kc_methods_t *self, const kc_memory_method_show_t *in,
                     kc_memory_method_show_reply_t *out, kc_err_t *err)
{
    int at = kc_methods_at (&self->rules, in->id);
    if (at < 0) {
        const char *near = NULL;
        int best = 8;
        for (size_t i = 0; i < self->rules.n_methods; i++) {
            int d = kc_word_distance (self->rules.methods[i].doc->id, in->id);
            if (d < best) {
                best = d;
                near = self->rules.methods[i].doc->id;
            }
        }
        return kc_fail (err, KC_ENOTFOUND, "there is no method %s%s%s%s", in->id,
                        near ? "; did you mean " : "", near ? near : "",
                        near ? "?" : "");
    }
    out->row = kc_memory_method_row_new ();
    s_fill_row (self, (size_t)at, out->row);
    return 0;
}
