// kc_opt.c - see kc_opt.h

#include "common/util/kc_opt.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/util/kc_buf.h"
#include "common/util/kc_mem.h"

enum {
    S_WORD = 64,
    S_SHOWN = 120
}; // bytes compared, bytes of a foreign word in an error text

typedef struct s_value {
    char **items; // the last one counts, unless the row is a LIST
    size_t n_items;
    int64_t number;
    bool flag;
    bool given;
} s_value_t;

struct kc_opts {
    const kc_opt_t *table; // borrowed; tables are constants of the program
    s_value_t *values;     // one per row
    size_t n_rows;
    char **args;
    size_t n_args;
};

static size_t s_rows (const kc_opt_t *table)
{
    size_t n = 0;
    while (table[n].name)
        n++;
    return n;
}

int kc_word_distance (const char *a, const char *b)
{
    size_t n = strnlen (a, S_WORD + 1), m = strnlen (b, S_WORD + 1);
    if (n > S_WORD || m > S_WORD) // no option is that long: nothing alike
        return (int)(n > m ? n : m);
    int row[S_WORD + 1];
    for (size_t j = 0; j <= m; j++)
        row[j] = (int)j;
    for (size_t i = 1; i <= n; i++) {
        int corner = row[0]; // row[i - 1][j - 1]
        row[0] = (int)i;
        for (size_t j = 1; j <= m; j++) {
            int change = corner + (a[i - 1] != b[j - 1]);
            corner = row[j];
            int best = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;
            row[j] = change < best ? change : best;
        }
    }
    return row[m];
}

static void s_clear (s_value_t *v)
{
    for (size_t i = 0; i < v->n_items; i++)
        free (v->items[i]);
    free (v->items);
    v->items = NULL;
    v->n_items = 0;
}

static void s_add (s_value_t *v, const char *text, size_t size)
{
    char **item = kc_push (&v->items, &v->n_items, sizeof *item);
    *item = kc_strndup (text, size);
}

static int s_int (const kc_opt_t *row, const char *where, const char *text,
                  int64_t *out, kc_err_t *err)
{
    char *end = NULL;
    errno = 0;
    long long x = strtoll (text, &end, 10);
    bool plain = (text[0] >= '0' && text[0] <= '9') || (text[0] == '-' && text[1]);
    bool free_range = row->min == 0 && row->max == 0;
    if (!plain || *end)
        return kc_fail (err, KC_EUSAGE, "%s: \"%.*s\" is not a whole number", where,
                        S_SHOWN, text);
    if (errno || (!free_range && (x < row->min || x > row->max)))
        return kc_fail (err, KC_EUSAGE, "%s: %.*s is not in %lld..%lld", where, S_SHOWN,
                        text, free_range ? LLONG_MIN : (long long)row->min,
                        free_range ? LLONG_MAX : (long long)row->max);
    *out = x;
    return 0;
}

static int s_bool (const char *where, const char *text, bool *out, kc_err_t *err)
{
    static const char *const yes[] = {"1", "true", "yes", "on"};
    static const char *const no[] = {"0", "false", "no", "off"};
    for (size_t i = 0; i < KC_COUNT (yes); i++) {
        if (strcmp (text, yes[i]) == 0 || strcmp (text, no[i]) == 0) {
            *out = strcmp (text, yes[i]) == 0;
            return 0;
        }
    }
    return kc_fail (err, KC_EUSAGE,
                    "%s: \"%.*s\" is not one of 1 true yes on 0 false no off", where,
                    S_SHOWN, text);
}

// One value from 'where' (an option, a variable or the table itself) for a row.
static int s_store (const kc_opt_t *row, s_value_t *v, const char *where,
                    const char *text, kc_err_t *err)
{
    switch (row->type) {
    case KC_OPT_FLAG:
        return s_bool (where, text, &v->flag, err);
    case KC_OPT_INT:
        if (s_int (row, where, text, &v->number, err) < 0)
            return -1;
        s_clear (v);
        s_add (v, text, strlen (text));
        return 0;
    case KC_OPT_STRING:
        s_clear (v);
        s_add (v, text, strlen (text));
        return 0;
    case KC_OPT_LIST:
        s_add (v, text, strlen (text));
        return 0;
    }
    return kc_fail (err, KC_EINTERNAL, "option table: row %s has no type", row->name);
}

// A variable or a default: a LIST is separated by commas there.
static int s_store_text (const kc_opt_t *row, s_value_t *v, const char *where,
                         const char *text, kc_err_t *err)
{
    if (row->type != KC_OPT_LIST)
        return s_store (row, v, where, text, err);
    for (const char *p = text; *p;) {
        size_t n = strcspn (p, ",");
        if (n)
            s_add (v, p, n);
        p += n + (p[n] == ',');
    }
    return 0;
}

// Fill the rows the command line left open.
static int s_fallback (kc_opts_t *self, kc_err_t *err)
{
    for (size_t i = 0; i < self->n_rows; i++) {
        const kc_opt_t *row = &self->table[i];
        s_value_t *v = &self->values[i];
        if (v->given)
            continue;
        const char *text = row->env ? getenv (row->env) : NULL;
        if (text && text[0]) {
            char *where = kc_asprintf ("environment %s", row->env);
            int rc = s_store_text (row, v, where, text, err);
            free (where);
            if (rc < 0)
                return -1;
            v->given = true;
        }
        else if (row->preset) {
            char *where = kc_asprintf ("default of --%s", row->name);
            int rc = s_store_text (row, v, where, row->preset, err);
            free (where);
            if (rc < 0)
                return -1;
        }
    }
    return 0;
}

static int s_unknown (const kc_opts_t *self, const char *word, size_t size,
                      kc_err_t *err)
{
    char *name = kc_strndup (word, size);
    const char *best = NULL;
    int least = INT_MAX;
    for (size_t i = 0; i < self->n_rows; i++) {
        int d = kc_word_distance (name, self->table[i].name);
        if (d < least) {
            least = d;
            best = self->table[i].name;
        }
    }
    // Further apart than half of the word is no likeness.
    if (best && (size_t)least <= strlen (name) / 2)
        kc_fail (err, KC_EUSAGE, "unknown option --%.*s; did you mean --%s? see --help",
                 S_SHOWN, name, best);
    else
        kc_fail (err, KC_EUSAGE, "unknown option --%.*s; see --help", S_SHOWN, name);
    free (name);
    return -1;
}

// "--name", "--name=value", "--name value"; *at moves to the last word used.
static int s_long (kc_opts_t *self, int argc, char *const *argv, int *at, kc_err_t *err)
{
    const char *word = argv[*at] + 2;
    size_t size = strcspn (word, "=");
    const char *text = word[size] ? word + size + 1 : NULL;
    size_t i = 0;
    while (i < self->n_rows
           && (strncmp (self->table[i].name, word, size) != 0
               || self->table[i].name[size]))
        i++;
    if (i == self->n_rows)
        return s_unknown (self, word, size, err);
    const kc_opt_t *row = &self->table[i];
    char *where = kc_asprintf ("--%s", row->name);
    int rc = 0;
    if (!text && row->type == KC_OPT_FLAG)
        text = "1";
    else if (!text && *at + 1 < argc)
        text = argv[++*at];
    else if (!text)
        rc = kc_fail (err, KC_EUSAGE, "%s needs a value: %s %s", where, where,
                      row->arg ? row->arg : "VALUE");
    if (rc == 0)
        rc = s_store (row, &self->values[i], where, text, err);
    self->values[i].given = true;
    free (where);
    return rc;
}

// "-v", "-vh", "-o FILE", "-oFILE"
static int s_short (kc_opts_t *self, int argc, char *const *argv, int *at,
                    kc_err_t *err)
{
    for (const char *p = argv[*at] + 1; *p; p++) {
        size_t i = 0;
        while (i < self->n_rows && self->table[i].letter != *p)
            i++;
        if (i == self->n_rows)
            return kc_fail (err, KC_EUSAGE,
                            "unknown option -%c in \"%.*s\"; see --help",
                            *p > ' ' && *p <= '~' ? *p : '?', S_SHOWN, argv[*at]);
        const kc_opt_t *row = &self->table[i];
        s_value_t *v = &self->values[i];
        const char where[3] = {'-', row->letter, 0};
        v->given = true;
        if (row->type == KC_OPT_FLAG) {
            v->flag = true;
            continue;
        }
        const char *text = p[1] ? p + 1 : *at + 1 < argc ? argv[++*at] : NULL;
        if (!text)
            return kc_fail (err, KC_EUSAGE, "%s needs a value: %s %s", where, where,
                            row->arg ? row->arg : "VALUE");
        return s_store (row, v, where, text, err);
    }
    return 0;
}

kc_opts_t *kc_opts_parse (const kc_opt_t *table, int argc, char *const *argv,
                          kc_err_t *err)
{
    kc_opts_t *self = kc_calloc (1, sizeof *self);
    self->table = table;
    self->n_rows = s_rows (table);
    self->values = kc_calloc (self->n_rows, sizeof *self->values);
    bool options = true;
    int rc = 0;
    for (int i = 1; i < argc && rc == 0; i++) {
        const char *word = argv[i];
        if (options && strcmp (word, "--") == 0)
            options = false;
        else if (options && word[0] == '-' && word[1] == '-')
            rc = s_long (self, argc, argv, &i, err);
        else if (options && word[0] == '-' && word[1])
            rc = s_short (self, argc, argv, &i, err);
        else {
            char **arg = kc_push (&self->args, &self->n_args, sizeof *arg);
            *arg = kc_strdup (word);
        }
    }
    if (rc == 0)
        rc = s_fallback (self, err);
    if (rc < 0)
        kc_opts_destroy (&self);
    return self;
}

void kc_opts_destroy (kc_opts_t **self_p)
{
    kc_opts_t *self = *self_p;
    if (!self)
        return;
    *self_p = NULL;
    for (size_t i = 0; i < self->n_rows; i++)
        s_clear (&self->values[i]);
    free (self->values);
    for (size_t i = 0; i < self->n_args; i++)
        free (self->args[i]);
    free (self->args);
    free (self);
}

// A name that is not in the table is a defect of the program, not of its user.
static const s_value_t *s_value (const kc_opts_t *self, const char *name)
{
    for (size_t i = 0; i < self->n_rows; i++)
        if (strcmp (self->table[i].name, name) == 0)
            return &self->values[i];
    kc_die (__FILE__, __LINE__, name);
}

bool kc_opts_flag (const kc_opts_t *self, const char *name)
{
    return s_value (self, name)->flag;
}

const char *kc_opts_string (const kc_opts_t *self, const char *name)
{
    const s_value_t *v = s_value (self, name);
    return v->n_items ? v->items[v->n_items - 1] : NULL;
}

int64_t kc_opts_int (const kc_opts_t *self, const char *name)
{
    return s_value (self, name)->number;
}

bool kc_opts_given (const kc_opts_t *self, const char *name)
{
    return s_value (self, name)->given;
}

int kc_opts_count (const kc_opts_t *self, const char *name)
{
    return (int)s_value (self, name)->n_items;
}

const char *kc_opts_item (const kc_opts_t *self, const char *name, int index)
{
    const s_value_t *v = s_value (self, name);
    return index >= 0 && (size_t)index < v->n_items ? v->items[index] : NULL;
}

int kc_opts_n_args (const kc_opts_t *self)
{
    return (int)self->n_args;
}

const char *kc_opts_arg (const kc_opts_t *self, int index)
{
    return index >= 0 && (size_t)index < self->n_args ? self->args[index] : NULL;
}

// "-o, --out FILE" of a row into 'b'
static void s_head (const kc_opt_t *row, kc_buf_t *b)
{
    kc_buf_clear (b);
    if (row->letter)
        kc_buf_printf (b, "  -%c, --%s", row->letter, row->name);
    else
        kc_buf_printf (b, "      --%s", row->name);
    if (row->type != KC_OPT_FLAG)
        kc_buf_printf (b, " %s", row->arg ? row->arg : "VALUE");
}

void kc_opts_help (const kc_opt_t *table, const char *usage, const char *about)
{
    kc_buf_t b = {0};
    size_t n = s_rows (table), width = 0;
    for (size_t i = 0; i < n; i++) {
        s_head (&table[i], &b);
        width = b.size > width ? b.size : width;
    }
    printf ("usage: %s\n", usage);
    if (about && about[0])
        printf ("\n%s\n", about);
    if (n)
        printf ("\noptions:\n");
    for (size_t i = 0; i < n; i++) {
        const kc_opt_t *row = &table[i];
        s_head (row, &b);
        printf ("%-*s  %s", (int)width, kc_buf_str (&b), row->help ? row->help : "");
        kc_buf_clear (&b);
        if (row->preset)
            kc_buf_printf (&b, "default %s", row->preset);
        if (row->type == KC_OPT_INT && (row->min || row->max))
            kc_buf_printf (&b, "%s%lld..%lld", b.size ? ", " : "", (long long)row->min,
                           (long long)row->max);
        if (row->type == KC_OPT_LIST)
            kc_buf_printf (&b, "%smay be repeated", b.size ? ", " : "");
        if (row->env)
            kc_buf_printf (&b, "%senvironment %s", b.size ? ", " : "", row->env);
        if (b.size)
            printf (" (%s)", kc_buf_str (&b));
        printf ("\n");
    }
    kc_buf_free (&b);
}
