// kc_records.c - see kc_records.h for the rules this class keeps

#include "memory/store/kc_records.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/util/kc_map.h"
#include "common/util/kc_mem.h"

static const char SQL_ADD[] =
    "INSERT INTO method_record (method, bottleneck, gpu, structure, wins, losses, "
    "log_gain, changed) "
    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO UPDATE SET wins = wins + "
    "excluded.wins, "
    "losses = losses + excluded.losses, log_gain = log_gain + excluded.log_gain, "
    "changed = excluded.changed";
static const char SQL_ALL[] = "SELECT method, bottleneck, gpu, structure, wins, "
                              "losses, log_gain FROM method_record";

// How much an outcome counts that was seen in another context; all equal counts 1.
#define OTHER_BOTTLENECK 0.4
#define OTHER_STRUCTURE 0.6
#define OTHER_GPU 0.7

typedef struct s_row {
    char *bottleneck, *gpu, *structure;
    int64_t wins, losses;
    double log_gain;
} s_row_t;

typedef struct s_method {
    s_row_t *rows;
    size_t n_rows;
} s_method_t;

struct kc_records {
    kc_db_t *db;
    kc_map_t *methods; // method -> s_method_t
    size_t n_rows;
    bool dirty;
};

static void s_free_method (void *value)
{
    s_method_t *m = value;
    for (size_t i = 0; i < m->n_rows; i++) {
        free (m->rows[i].bottleneck);
        free (m->rows[i].gpu);
        free (m->rows[i].structure);
    }
    free (m->rows);
    free (m);
}

static s_row_t *s_find (kc_records_t *self, const kc_record_context_t *at, bool make)
{
    s_method_t *m = kc_map_get (self->methods, at->method);
    for (size_t i = 0; m && i < m->n_rows; i++) {
        s_row_t *r = &m->rows[i];
        if (strcmp (r->bottleneck, at->bottleneck) == 0 && strcmp (r->gpu, at->gpu) == 0
            && strcmp (r->structure, at->structure) == 0)
            return r;
    }
    if (!make)
        return NULL;
    if (!m) {
        m = kc_calloc (1, sizeof *m);
        kc_map_put (self->methods, at->method, m);
    }
    s_row_t *r = kc_push (&m->rows, &m->n_rows, sizeof *r);
    r->bottleneck = kc_strdup (at->bottleneck);
    r->gpu = kc_strdup (at->gpu);
    r->structure = kc_strdup (at->structure);
    self->n_rows++;
    return r;
}

int kc_records_reload (kc_records_t *self, kc_err_t *err)
{
    kc_map_destroy (&self->methods);
    self->methods = kc_map_new (s_free_method);
    self->n_rows = 0;
    self->dirty = false;
    sqlite3_stmt *q = kc_db_query (self->db, err, SQL_ALL, "");
    int rc = q ? 0 : -1;
    while (q && (rc = kc_db_step (self->db, q, err)) > 0) {
        kc_record_context_t at = {kc_db_text (q, 0), kc_db_text (q, 1),
                                  kc_db_text (q, 2), kc_db_text (q, 3)};
        s_row_t *r = s_find (self, &at, true);
        r->wins = sqlite3_column_int64 (q, 4);
        r->losses = sqlite3_column_int64 (q, 5);
        r->log_gain = sqlite3_column_double (q, 6);
    }
    return rc;
}

kc_records_t *kc_records_new (kc_db_t *db, kc_err_t *err)
{
    kc_records_t *self = kc_calloc (1, sizeof *self);
    self->db = db;
    if (kc_records_reload (self, err) < 0)
        kc_records_destroy (&self);
    return self;
}

void kc_records_destroy (kc_records_t **self_p)
{
    kc_records_t *self = *self_p;
    if (!self)
        return;
    kc_map_destroy (&self->methods);
    free (self);
    *self_p = NULL;
}

int kc_records_add (kc_records_t *self, const kc_record_context_t *at, bool won,
                    double gain, const char *when, kc_err_t *err)
{
    kc_record_context_t place = *at;
    if (self->n_rows >= KC_RECORDS_MAX && !s_find (self, at, false))
        place.bottleneck = place.gpu = place.structure = "";
    double log_gain = won && isfinite (gain) && gain > 1 ? log (gain) : 0;
    if (kc_db_run (self->db, err, SQL_ADD, "ssssiifs", place.method, place.bottleneck,
                   place.gpu, place.structure, (int64_t)won, (int64_t)!won, log_gain,
                   when)
        < 0)
        return -1;
    s_row_t *r = s_find (self, &place, true);
    r->wins += won;
    r->losses += !won;
    r->log_gain += log_gain;
    self->dirty = true;
    return 0;
}

bool kc_records_dirty (const kc_records_t *self)
{
    return self->dirty;
}

void kc_records_settle (kc_records_t *self)
{
    self->dirty = false;
}

void kc_records_sum (const kc_records_t *self, const kc_record_context_t *at,
                     kc_record_sum_t *out)
{
    memset (out, 0, sizeof *out);
    const s_method_t *m = kc_map_get (self->methods, at->method);
    for (size_t i = 0; m && i < m->n_rows; i++) {
        const s_row_t *r = &m->rows[i];
        double w = 1;
        w *= strcmp (r->bottleneck, at->bottleneck) == 0 ? 1 : OTHER_BOTTLENECK;
        w *= strcmp (r->structure, at->structure) == 0 ? 1 : OTHER_STRUCTURE;
        w *= strcmp (r->gpu, at->gpu) == 0 ? 1 : OTHER_GPU;
        out->wins += w * (double)r->wins;
        out->losses += w * (double)r->losses;
        out->log_gain += w * r->log_gain;
        out->all_wins += r->wins;
        out->all_losses += r->losses;
        out->all_log_gain += r->log_gain;
    }
}
