// kc_clauses.c - see kc_clauses.h for the rules this class keeps

#include "memory/clauses/kc_clauses_own.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/msg/kc_codec.h"
#include "common/util/kc_map.h"
#include "common/util/kc_mem.h"

enum {
    SQL_MAX = 4096, // bytes of one statement while admitting
    DEPTH_MAX = 40,
    PROGRESS_STEPS = 1000, // virtual machine steps between two looks
    PROGRESS_MAX = 200,    // looks before a statement is stopped
    PROBE_TURNS = 16,      // rows for each value of the longest enum
};

static const struct {
    kc_fact_t fact;
    const char *name, *text;
    double lo, hi; // probes; 0, 0 for texts
} s_facts[] = {
    {KC_FACT_POLICY, "policy",
     "numeric policy of the task: fp32 tf32 fp16 bf16 fp64 exact", 0, 0},
    {KC_FACT_BACKEND, "backend", "where it was counted: cuda vgpu", 0, 0},
    {KC_FACT_SMS, "device_sms", "multiprocessors of the GPU", 16, 160},
    {KC_FACT_SM, "device_sm", "architecture: 80, 90", 70, 120},
    {KC_FACT_L2, "device_l2_bytes", "bytes of L2", 1e6, 1e8},
    {KC_FACT_STEPS, "run_steps", "different kernel steps of one run", 1, 64},
    {KC_FACT_LAUNCHES, "run_launches", "launches of one run", 1, 10000},
    {KC_FACT_US, "run_us", "time of one run", 1, 1e7},
    {KC_FACT_FLOOR_SHARE, "run_floor_share", "floor over time of the run", 0, 1},
    {KC_FACT_MEAN_US, "launch_us", "time_us over launches", 0.5, 1e6},
};

// ---- the private connection ----

static int s_progress (void *arg)
{
    kc_clauses_t *self = arg;
    return ++self->looks > PROGRESS_MAX;
}

static void s_limit (kc_clauses_t *self, int sql_bytes)
{
    static const int limits[][2] = {
        {SQLITE_LIMIT_EXPR_DEPTH, DEPTH_MAX},
        {SQLITE_LIMIT_COMPOUND_SELECT, 1},
        {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 64},
        {SQLITE_LIMIT_ATTACHED, 0},
        {SQLITE_LIMIT_VARIABLE_NUMBER, KC_COLUMNS_MAX},
        {SQLITE_LIMIT_TRIGGER_DEPTH, 0},
        {SQLITE_LIMIT_WORKER_THREADS, 0},
        {SQLITE_LIMIT_LENGTH, 1000000},
    };
    for (size_t i = 0; i < KC_COUNT (limits); i++)
        sqlite3_limit (self->db, limits[i][0], limits[i][1]);
    sqlite3_limit (self->db, SQLITE_LIMIT_SQL_LENGTH, sql_bytes);
}

static void s_list_columns (kc_clauses_t *self)
{
    const kc_type_t *step = kc_type_find ("evidence.step");
    kc_assert (step);
    for (size_t i = 0; i < step->n_fields; i++) {
        const kc_field_t *f = &step->fields[i];
        if (f->flags & KC_FIELD_ARRAY
            || (f->base != KC_BASE_NUMBER && f->base != KC_BASE_ENUM))
            continue;
        kc_assert (self->n_columns < KC_COLUMNS_MAX);
        kc_column_t *c = &self->columns[self->n_columns++];
        c->name = f->name;
        c->text = f->text;
        c->field = f;
        c->is_text = f->base == KC_BASE_ENUM;
        c->lo = f->flags & KC_FIELD_LO ? f->lo : 0;
        c->hi = f->flags & KC_FIELD_HI ? f->hi : 1;
        if (c->is_text) {
            c->values = f->type->values;
            c->n_values = f->type->n_values;
        }
    }
    for (size_t i = 0; i < KC_COUNT (s_facts); i++) {
        kc_assert (self->n_columns < KC_COLUMNS_MAX);
        kc_column_t *c = &self->columns[self->n_columns++];
        c->name = s_facts[i].name;
        c->text = s_facts[i].text;
        c->fact = s_facts[i].fact;
        c->lo = s_facts[i].lo;
        c->hi = s_facts[i].hi;
        const char *of = c->fact == KC_FACT_POLICY    ? "card"
                         : c->fact == KC_FACT_BACKEND ? "evidence"
                                                      : NULL;
        if (of) {
            const kc_field_t *f = kc_type_field (kc_type_find (of), c->name);
            kc_assert (f && f->base == KC_BASE_ENUM);
            c->is_text = true;
            c->values = f->type->values;
            c->n_values = f->type->n_values;
        }
    }
}

static void s_bind_cell (sqlite3_stmt *stmt, int at, const kc_cell_t *cell,
                         bool is_text)
{
    if (!cell->present)
        sqlite3_bind_null (stmt, at);
    else if (is_text)
        sqlite3_bind_text (stmt, at, cell->text, -1, SQLITE_STATIC);
    else
        sqlite3_bind_double (stmt, at, cell->number);
}

// Rows of table 'probe': one of NULLs, then low and high values - all low, all high, or
// mixed, so that fields that are compared with each other also differ - with every enum
// value in turn.
static int s_fill_probes (kc_clauses_t *self, sqlite3_stmt *insert)
{
    size_t turns = 2;
    for (size_t i = 0; i < self->n_columns; i++)
        if (self->columns[i].n_values > turns)
            turns = self->columns[i].n_values;
    int rc = SQLITE_DONE;
    for (size_t row = 0; row <= PROBE_TURNS * turns && rc == SQLITE_DONE; row++) {
        for (size_t i = 0; i < self->n_columns; i++) {
            const kc_column_t *c = &self->columns[i];
            unsigned mixed = (unsigned)((i + 1) * 2654435761u * row) >> 16;
            bool high = row % 4 == 1 ? false : row % 4 == 2 ? true : mixed & 1;
            kc_cell_t cell = {.present = row > 0, .number = high ? c->hi : c->lo};
            if (c->is_text && row > 0)
                cell.text = c->values[(row - 1) / 2 % c->n_values];
            s_bind_cell (insert, (int)i + 1, &cell, c->is_text);
        }
        rc = sqlite3_step (insert);
        sqlite3_reset (insert);
    }
    return rc;
}

static int s_make_tables (kc_clauses_t *self, kc_err_t *err)
{
    kc_buf_t create = {0}, values = {0}, probe = {0};
    for (size_t i = 0; i < self->n_columns; i++) {
        kc_buf_printf (&create, "%s%s %s", i ? ", " : "", self->columns[i].name,
                       self->columns[i].is_text ? "TEXT" : "REAL");
        kc_buf_puts (&values, i ? ", ?" : "?");
    }
    kc_buf_printf (&probe,
                   "CREATE TABLE m (%s) STRICT; CREATE TABLE probe (%s) STRICT;",
                   kc_buf_str (&create), kc_buf_str (&create));
    int rc = sqlite3_exec (self->db, kc_buf_str (&probe), NULL, NULL, NULL);
    sqlite3_stmt *insert = NULL;
    if (rc == SQLITE_OK) {
        kc_buf_clear (&probe);
        kc_buf_printf (&probe, "INSERT INTO probe VALUES (%s)", kc_buf_str (&values));
        rc = sqlite3_prepare_v2 (self->db, kc_buf_str (&probe), -1, &insert, NULL);
    }
    if (rc == SQLITE_OK) {
        rc = s_fill_probes (self, insert);
        rc = rc == SQLITE_DONE ? SQLITE_OK : rc;
    }
    sqlite3_finalize (insert);
    if (rc == SQLITE_OK) {
        kc_buf_clear (&probe);
        kc_buf_printf (&probe, "INSERT INTO m VALUES (%s)", kc_buf_str (&values));
        rc =
            sqlite3_prepare_v2 (self->db, kc_buf_str (&probe), -1, &self->insert, NULL);
    }
    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v2 (self->db, "DELETE FROM m", -1, &self->clear, NULL);
    kc_buf_free (&create);
    kc_buf_free (&values);
    kc_buf_free (&probe);
    if (rc != SQLITE_OK)
        return kc_fail (err, KC_EINTERNAL, "the clause tables: %s",
                        sqlite3_errmsg (self->db));
    return 0;
}

kc_clauses_t *kc_clauses_new (kc_err_t *err)
{
    kc_clauses_t *self = kc_calloc (1, sizeof *self);
    self->by_text = kc_map_new (free);
    s_list_columns (self);
    int rc = sqlite3_open_v2 (
        ":memory:", &self->db,
        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
    if (rc != SQLITE_OK || s_make_tables (self, err) < 0) {
        if (rc != SQLITE_OK)
            kc_fail (err, KC_EINTERNAL, "no connection for the clauses: %s",
                     sqlite3_errstr (rc));
        kc_clauses_destroy (&self);
        return NULL;
    }
    sqlite3_db_config (self->db, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
    sqlite3_db_config (self->db, SQLITE_DBCONFIG_DQS_DDL, 0, NULL);
    sqlite3_db_config (self->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config (self->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    s_limit (self, SQL_MAX);
    sqlite3_set_authorizer (self->db, kc_clauses_authorize, self);
    sqlite3_progress_handler (self->db, PROGRESS_STEPS, s_progress, self);
    return self;
}

static void s_drop_groups (kc_clauses_t *self)
{
    for (size_t i = 0; i < self->n_groups; i++)
        sqlite3_finalize (self->groups[i]);
    free (self->groups);
    self->groups = NULL;
    self->n_groups = 0;
}

void kc_clauses_forget (kc_clauses_t *self)
{
    s_drop_groups (self);
    for (size_t i = 0; i < self->n_clauses; i++)
        free (self->clauses[i].expr);
    free (self->clauses);
    self->clauses = NULL;
    self->n_clauses = 0;
    kc_map_destroy (&self->by_text);
    self->by_text = kc_map_new (free);
}

void kc_clauses_destroy (kc_clauses_t **self_p)
{
    kc_clauses_t *self = *self_p;
    if (!self)
        return;
    kc_clauses_forget (self);
    kc_map_destroy (&self->by_text);
    sqlite3_finalize (self->insert);
    sqlite3_finalize (self->clear);
    sqlite3_close (self->db);
    for (size_t i = 0; i < KC_CLAUSES_KEPT; i++) {
        free (self->kept[i].truth);
        free (self->kept[i].number);
    }
    free (self);
    *self_p = NULL;
}

// ---- the set ----

int kc_clauses_add (kc_clauses_t *self, const char *expr, kc_clause_kind_t kind,
                    bool handles_unknown, kc_err_t *err)
{
    char *key = kc_asprintf ("%d:%d:%s", (int)kind, (int)handles_unknown, expr);
    const int *known = kc_map_get (self->by_text, key);
    if (known) {
        free (key);
        return *known;
    }
    int result = -1;
    kc_clause_t c = {
        .kind = kind, .handles_unknown = handles_unknown, .expr = kc_strdup (expr)};
    if (self->n_clauses >= KC_CLAUSES_MAX)
        kc_fail (err, KC_EINVALID, "more than %d different clauses", KC_CLAUSES_MAX);
    else if (kc_clauses_admit (self, &c, err) < 0)
        kc_fail_in (err, "clause \"%.200s\"", expr);
    else
        result = (int)self->n_clauses;
    if (result < 0)
        free (c.expr);
    else {
        kc_clause_t *slot = kc_push (&self->clauses, &self->n_clauses, sizeof *slot);
        *slot = c;
        int *number = kc_malloc (sizeof *number);
        *number = result;
        kc_map_put (self->by_text, key, number);
        s_drop_groups (self);
    }
    free (key);
    return result;
}

int kc_clauses_build (kc_clauses_t *self, kc_err_t *err)
{
    s_drop_groups (self);
    for (size_t i = 0; i < KC_CLAUSES_KEPT; i++) {
        kc_answers_t *a = &self->kept[i];
        a->truth = kc_realloc (a->truth, self->n_clauses + 1);
        a->number = kc_realloc (a->number, (self->n_clauses + 1) * sizeof *a->number);
    }
    self->a = &self->kept[0];
    self->n_groups = (self->n_clauses + KC_CLAUSES_GROUP - 1) / KC_CLAUSES_GROUP;
    self->groups = kc_calloc (self->n_groups + 1, sizeof *self->groups);
    s_limit (self, KC_CLAUSES_GROUP * (KC_CLAUSES_TEXT + 8) + 64);
    int rc = SQLITE_OK;
    for (size_t g = 0; g < self->n_groups && rc == SQLITE_OK; g++) {
        kc_buf_t sql = {0};
        for (size_t i = g * KC_CLAUSES_GROUP;
             i < self->n_clauses && i < (g + 1) * KC_CLAUSES_GROUP; i++)
            kc_buf_printf (&sql, "%s(%s\n)", i % KC_CLAUSES_GROUP ? "," : "SELECT ",
                           self->clauses[i].expr);
        kc_buf_puts (&sql, " FROM m");
        self->guarded =
            true; // the texts were admitted; the authorizer stays the second lock
        self->table = "m";
        self->selects = 0;
        self->denied = NULL;
        rc = sqlite3_prepare_v3 (self->db, kc_buf_str (&sql), -1,
                                 SQLITE_PREPARE_PERSISTENT, &self->groups[g], NULL);
        self->guarded = false;
        kc_buf_free (&sql);
    }
    if (rc != SQLITE_OK)
        kc_fail (err, KC_EINTERNAL, "the group of clauses: %s",
                 sqlite3_errmsg (self->db));
    s_limit (self, SQL_MAX);
    return rc == SQLITE_OK ? 0 : -1;
}

// ---- evaluation ----

static void s_number (kc_cell_t *cell, bool has, double value)
{
    cell->present = has && isfinite (value);
    cell->number = value;
}

static void s_read_fact (kc_cell_t *cell, kc_fact_t fact, const kc_evidence_t *run,
                         const kc_evidence_step_t *step, const char *policy)
{
    const kc_card_device_t *device = run->device;
    double launches = 0;
    switch (fact) {
    case KC_FACT_NONE:
        break;
    case KC_FACT_POLICY:
        cell->text = policy;
        cell->present = policy != NULL;
        break;
    case KC_FACT_BACKEND:
        cell->text = kc_enum_name (kc_type_field (&kc_evidence_type, "backend")->type,
                                   (unsigned)run->backend);
        cell->present = *cell->text != 0;
        break;
    case KC_FACT_SMS:
        s_number (cell, device != NULL, device ? (double)device->sms : 0);
        break;
    case KC_FACT_SM:
        s_number (cell, device != NULL, device ? (double)device->sm : 0);
        break;
    case KC_FACT_L2:
        s_number (cell, device && device->has_l2_bytes,
                  device ? (double)device->l2_bytes : 0);
        break;
    case KC_FACT_STEPS:
        s_number (cell, run->n_steps > 0, (double)run->n_steps);
        break;
    case KC_FACT_LAUNCHES:
        for (size_t i = 0; i < run->n_steps; i++)
            launches += run->steps[i].has_launches ? run->steps[i].launches : NAN;
        s_number (cell, run->n_steps > 0, launches);
        break;
    case KC_FACT_US:
        s_number (cell, run->has_total_us, run->total_us);
        break;
    case KC_FACT_FLOOR_SHARE:
        s_number (cell, run->has_floor_share, run->floor_share);
        break;
    case KC_FACT_MEAN_US:
        s_number (cell, step->has_time_us && step->has_launches && step->launches > 0,
                  step->has_launches && step->launches > 0
                      ? step->time_us / step->launches
                      : 0);
        break;
    }
}

static int s_store_row (kc_clauses_t *self, kc_err_t *err)
{
    for (size_t i = 0; i < self->n_columns; i++)
        s_bind_cell (self->insert, (int)i + 1, &self->a->cells[i],
                     self->columns[i].is_text);
    int rc = sqlite3_step (self->clear);
    sqlite3_reset (self->clear);
    if (rc == SQLITE_DONE) {
        rc = sqlite3_step (self->insert);
        sqlite3_reset (self->insert);
    }
    if (rc != SQLITE_DONE)
        return kc_fail (err, KC_EINTERNAL, "the evidence row: %s",
                        sqlite3_errmsg (self->db));
    return 0;
}

static void s_take (kc_clauses_t *self, size_t clause, sqlite3_stmt *stmt, int column)
{
    int type = sqlite3_column_type (stmt, column);
    self->a->truth[clause] = KC_UNKNOWN;
    self->a->number[clause] = NAN;
    if (self->clauses[clause].kind == KC_CLAUSE_SEVERITY) {
        if (type == SQLITE_FLOAT || type == SQLITE_INTEGER) {
            double v = sqlite3_column_double (stmt, column);
            self->a->number[clause] = v < 0 ? 0 : v > 1 ? 1 : v;
        }
    }
    else if (type == SQLITE_INTEGER)
        self->a->truth[clause] =
            sqlite3_column_int64 (stmt, column) != 0 ? KC_TRUE : KC_FALSE;
}

void kc_clauses_use (kc_clauses_t *self, size_t keep)
{
    kc_assert (keep < KC_CLAUSES_KEPT);
    self->a = &self->kept[keep];
}

int kc_clauses_eval (kc_clauses_t *self, size_t keep, const kc_evidence_t *run,
                     const kc_evidence_step_t *step, const char *policy, kc_err_t *err)
{
    kc_assert (self->groups);
    kc_clauses_use (self, keep);
    self->a->step = step;
    self->looks = 0;
    for (size_t i = 0; i < self->n_columns; i++) {
        const kc_column_t *c = &self->columns[i];
        kc_cell_t *cell = &self->a->cells[i];
        memset (cell, 0, sizeof *cell);
        if (!c->field)
            s_read_fact (cell, c->fact, run, step, policy);
        else if (c->is_text) {
            cell->text = kc_field_string (c->field, step);
            cell->present = cell->text && *cell->text;
        }
        else {
            double v = 0;
            bool has = kc_field_present (c->field, step)
                       && kc_field_number (c->field, step, &v);
            s_number (cell, has, v);
        }
    }
    if (s_store_row (self, err) < 0)
        return -1;
    for (size_t g = 0; g < self->n_groups; g++) {
        sqlite3_stmt *stmt = self->groups[g];
        int rc = sqlite3_step (stmt);
        if (rc != SQLITE_ROW) {
            kc_fail (err, KC_EINTERNAL, "evaluating clauses: %s",
                     sqlite3_errmsg (self->db));
            sqlite3_reset (stmt);
            return -1;
        }
        for (int i = 0; i < sqlite3_column_count (stmt); i++)
            s_take (self, g * KC_CLAUSES_GROUP + (size_t)i, stmt, i);
        sqlite3_reset (stmt);
    }
    return 0;
}

kc_truth_t kc_clauses_truth (const kc_clauses_t *self, int clause)
{
    kc_assert (clause >= 0 && (size_t)clause < self->n_clauses);
    return (kc_truth_t)self->a->truth[clause];
}

double kc_clauses_number (const kc_clauses_t *self, int clause, double unknown)
{
    kc_assert (clause >= 0 && (size_t)clause < self->n_clauses);
    return isnan (self->a->number[clause]) ? unknown : self->a->number[clause];
}

const char *kc_clauses_missing (const kc_clauses_t *self, int clause, size_t i)
{
    const kc_clause_t *c = &self->clauses[clause];
    for (size_t k = 0; k < c->n_reads; k++)
        if (!self->a->cells[c->reads[k]].present && i-- == 0)
            return self->columns[c->reads[k]].name;
    return NULL;
}

const char *kc_clauses_reason (const kc_clauses_t *self, const char *field)
{
    for (size_t i = 0; self->a->step && i < self->a->step->n_absent; i++)
        if (strcmp (self->a->step->absent[i].field, field) == 0)
            return kc_enum_name (&kc_evidence_absence_type,
                                 (unsigned)self->a->step->absent[i].reason);
    return "not_collected";
}

void kc_clauses_because (const kc_clauses_t *self, int clause, kc_buf_t *out)
{
    const kc_clause_t *c = &self->clauses[clause];
    bool unknown = c->kind == KC_CLAUSE_CONDITION ? self->a->truth[clause] == KC_UNKNOWN
                                                  : isnan (self->a->number[clause]);
    bool first = true;
    for (size_t k = 0; k < c->n_reads; k++) {
        const kc_column_t *column = &self->columns[c->reads[k]];
        const kc_cell_t *cell = &self->a->cells[c->reads[k]];
        if (unknown && cell->present)
            continue;
        kc_buf_puts (out, first ? "" : ", ");
        first = false;
        if (!cell->present)
            kc_buf_printf (out, "%s is missing: %s", column->name,
                           kc_clauses_reason (self, column->name));
        else if (column->is_text)
            kc_buf_printf (out, "%s = %s", column->name, cell->text);
        else
            kc_buf_printf (out, "%s = %.4g", column->name, cell->number);
    }
    if (first && unknown) // every field is there: a division by zero
        kc_buf_puts (out, "a division by zero");
}

size_t kc_clauses_columns (const kc_clauses_t *self)
{
    return self->n_columns;
}

const char *kc_clauses_column (const kc_clauses_t *self, size_t i, const char **type_p,
                               const char **text_p)
{
    kc_assert (i < self->n_columns);
    if (type_p)
        *type_p = self->columns[i].is_text ? "TEXT" : "REAL";
    if (text_p)
        *text_p = self->columns[i].text ? self->columns[i].text : "";
    return self->columns[i].name;
}
