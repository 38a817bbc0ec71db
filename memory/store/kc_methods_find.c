// kc_methods_find.c - the text index of kc_methods.h: an ordinary FTS5 table and
// queries that cannot be wrong

#include "memory/store/kc_methods_own.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/util/kc_log.h"
#include "common/util/kc_mem.h"

static const char SQL_FTS_CLEAR[] = "DELETE FROM method_fts";
static const char SQL_FTS_ADD[] = "INSERT INTO method_fts (name, tags, body, symbols, "
                                  "id) VALUES (?1, ?2, ?3, ?4, ?5)";
// Only this form sees an index that has drifted from its content.
static const char SQL_FTS_CHECK[] =
    "INSERT INTO method_fts (method_fts, rank) VALUES ('integrity-check', 1)";
static const char SQL_FTS_REBUILD[] =
    "INSERT INTO method_fts (method_fts) VALUES ('rebuild')";
static const char SQL_FTS_FIND[] =
    "SELECT id, bm25 (method_fts, 5.0, 3.0, 1.0, 4.0) AS score "
    "FROM method_fts WHERE method_fts MATCH ?1 ORDER BY score LIMIT 256";

int kc_methods_check_index (kc_methods_t *self, kc_err_t *err)
{
    // A drifted index answers SQLITE_CORRUPT_VTAB, which is no damage of the file: run
    // it unguarded.
    if (sqlite3_exec (kc_db_handle (self->db), SQL_FTS_CHECK, NULL, NULL, NULL)
        != SQLITE_OK) {
        kc_log (KC_WARN, "method.reindex", NULL);
        if (kc_db_script (self->db, SQL_FTS_REBUILD, err) < 0)
            return -1;
    }
    return 0;
}

// "Increase_ILP_WorkPerThread" -> "Increase ILP Work Per Thread"
static void s_words_of_id (kc_buf_t *out, const char *id)
{
    for (const char *p = id; *p; p++) {
        bool upper = isupper ((unsigned char)*p);
        if (p > id && upper && islower ((unsigned char)p[-1]))
            kc_buf_putc (out, ' ');
        kc_buf_putc (out, *p == '_' ? ' ' : *p);
    }
    kc_buf_putc (out, ' ');
}

static int s_index_one (kc_methods_t *self, const kc_rules_t *r, size_t at,
                        kc_err_t *err)
{
    const kc_method_method_t *m = r->methods[at].doc;
    kc_buf_t name = {0}, tags = {0}, body = {0}, symbols = {0};
    s_words_of_id (&name, m->id);
    kc_buf_puts (&name, m->title);
    for (size_t b = 0; b < r->n_bottlenecks; b++)
        for (size_t i = 0; i < r->bottlenecks[b].doc->n_methods; i++)
            if (r->bottlenecks[b].methods[i] == (int)at)
                kc_buf_printf (&tags, "%s %s ", r->bottlenecks[b].doc->id,
                               r->bottlenecks[b].doc->title);
    kc_buf_puts (&body, m->mechanism);
    for (size_t i = 0; i < m->n_must_not; i++)
        kc_buf_printf (&body, " %s", m->must_not[i]);
    kc_buf_printf (&symbols, "%s", m->id);
    for (size_t i = 0; i < m->n_requires; i++)
        kc_buf_printf (&symbols, " %s", m->requires[i].expr);
    for (size_t i = 0; i < m->n_expects; i++)
        kc_buf_printf (&symbols, " %s", m->expects[i].field);
    int rc = kc_db_run (self->db, err, SQL_FTS_ADD, "sssss", kc_buf_str (&name),
                        kc_buf_str (&tags), kc_buf_str (&body), kc_buf_str (&symbols),
                        m->id);
    kc_buf_free (&name);
    kc_buf_free (&tags);
    kc_buf_free (&body);
    kc_buf_free (&symbols);
    return rc < 0 ? -1 : 0;
}

int kc_methods_index (kc_methods_t *self, kc_err_t *err)
{
    if (kc_db_run (self->db, err, SQL_FTS_CLEAR, "") < 0)
        return -1;
    for (size_t i = 0; i < self->rules.n_methods; i++)
        if (s_index_one (self, &self->rules, i, err) < 0)
            return -1;
    return 0;
}

// The words of a person as a query that cannot be wrong: each quoted, joined by OR.
static char *s_query (const char *text)
{
    kc_buf_t out = {0};
    int words = 0;
    for (const char *p = text; *p && words < KC_METHODS_WORDS;) {
        size_t n = strcspn (p, " \t\r\n");
        bool has_word = false;
        for (size_t i = 0; i < n; i++)
            has_word = has_word || isalnum ((unsigned char)p[i])
                       || (unsigned char)p[i] >= 0x80;
        if (has_word) {
            kc_buf_puts (&out, words++ ? " OR \"" : "\"");
            for (size_t i = 0; i < n; i++) {
                if (p[i] == '"')
                    kc_buf_putc (&out, '"');
                kc_buf_putc (&out, p[i]);
            }
            kc_buf_putc (&out, '"');
        }
        p += n;
        p += strspn (p, " \t\r\n");
    }
    if (words == 0) {
        kc_buf_free (&out);
        return NULL;
    }
    return kc_buf_take (&out);
}

static int s_by_score (const void *a, const void *b)
{
    const kc_method_hit_t *x = a, *y = b;
    return x->score < y->score ? -1 : x->score > y->score;
}

int kc_methods_find (kc_methods_t *self, const char *text, kc_method_hit_t *hits,
                     size_t *n_p, kc_err_t *err)
{
    char *query = s_query (text);
    if (!query)
        return 0;
    sqlite3_stmt *q = kc_db_query (self->db, err, SQL_FTS_FIND, "s", query);
    int rc = q ? 0 : -1;
    while (q && *n_p < KC_METHODS_MAX && (rc = kc_db_step (self->db, q, err)) > 0) {
        int at = kc_methods_at (&self->rules, kc_db_text (q, 0));
        if (at < 0)
            continue;
        kc_record_context_t context = {kc_db_text (q, 0), "", "", ""};
        kc_record_sum_t sum;
        kc_records_sum (self->records, &context, &sum);
        double rate =
            ((double)sum.all_wins + 1) / ((double)(sum.all_wins + sum.all_losses) + 2);
        // bm25 is negative, smaller is better; what has won before counts up to half
        // more.
        hits[(*n_p)++] =
            (kc_method_hit_t){at, sqlite3_column_double (q, 1) * (0.75 + 0.5 * rate)};
    }
    kc_db_done (q);
    free (query);
    if (*n_p > 1)
        qsort (hits, *n_p, sizeof *hits, s_by_score);
    return rc < 0 ? -1 : 0;
}
