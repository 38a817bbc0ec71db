// kc_program_text.c - see kc_program_text.h; splitting a file into source and plan
// lines, blocks and loops
//
// The grammar of single lines is in kc_text_plan.c, kc_text_steps.c and kc_text_task.c;
// writing in kc_text_write.c.

#include "common/model/kc_program_text.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/model/kc_expr.h"
#include "common/model/kc_finding.h"
#include "common/model/kc_program.h"
#include "common/model/kc_text_fields.h"
#include "common/model/kc_text_parser.h"
#include "common/util/kc_buf.h"
#include "common/util/kc_mem.h"

enum { S_STATEMENTS = 4096, S_NEST = 32 };

int kc_text_bad (kc_text_parser_t *s, const char *format, ...)
{
    kc_buf_t b = {.limit = 1000};
    va_list args;
    va_start (args, format);
    kc_buf_vprintf (&b, format, args);
    va_end (args);
    kc_finding (s->findings, KC_VERDICT_STATUS_PLAN_ERROR, s->line, -1, "%s",
                kc_buf_str (&b));
    kc_buf_free (&b);
    s->failed = true;
    return -1;
}

void kc_text_space (const char **p_p)
{
    while (isspace ((unsigned char)**p_p))
        (*p_p)++;
}

char *kc_text_word (const char **p_p)
{
    kc_text_space (p_p);
    const char *p = *p_p;
    while (isalnum ((unsigned char)*p) || *p == '_')
        p++;
    if (p == *p_p)
        return NULL;
    char *word = kc_strndup (*p_p, (size_t)(p - *p_p));
    *p_p = p;
    kc_text_space (p_p);
    return word;
}

bool kc_text_is_name (const char *text)
{
    if (!text || !(isalpha ((unsigned char)*text) || *text == '_')
        || strlen (text) > 64)
        return false;
    for (; *text; text++)
        if (!isalnum ((unsigned char)*text) && *text != '_')
            return false;
    return true;
}

int kc_text_declare (kc_text_parser_t *s, const char *name, const char *kind)
{
    if (!kc_text_is_name (name))
        return kc_text_bad (s,
                            "'%.60s' is no name: letters, digits and _, at most 64, "
                            "not beginning with a digit",
                            name ? name : "");
    if (kc_program_reserved (name))
        return kc_text_bad (s,
                            "'%s' is a word of the language or a fact of the device; "
                            "choose another name",
                            name);
    const char *other = kc_map_get (s->names, name);
    if (other && (strcmp (other, kind) || strcmp (kind, "loop index")))
        return kc_text_bad (s, "'%s' is already the name of a %s", name, other);
    kc_map_put (s->names, name, (void *)(uintptr_t)kind);
    return 0;
}

int kc_text_expr (kc_text_parser_t *s, const char *text)
{
    kc_err_t err;
    kc_expr_t *e = kc_expr_parse (text, &err);
    if (!e)
        return kc_text_bad (s, "%s", err.text);
    kc_expr_destroy (&e);
    return 0;
}

// ---- the tree ----

static void s_item_clear (kc_item_t *item)
{
    for (size_t i = 0; i < item->n; i++) {
        s_item_clear (item->items[i]);
        free (item->items[i]);
    }
    free (item->items);
    free (item->index);
    free (item->count);
    free (item->cond);
    if (item->step.kind)
        kc_type_clear (&kc_program_step_type, &item->step);
}

static kc_item_t *s_item_add (kc_text_parser_t *s, kc_item_kind_t kind)
{
    kc_item_t *item = kc_calloc (1, sizeof *item);
    item->kind = kind;
    item->line = s->line;
    item->parent = s->open;
    *(kc_item_t **)kc_push (&s->open->items, &s->open->n, sizeof (kc_item_t *)) = item;
    return item;
}

static int s_depth (const kc_text_parser_t *s)
{
    int n = 0;
    for (const kc_item_t *i = s->open; i->parent; i = i->parent)
        n++;
    return n;
}

static int s_for (kc_text_parser_t *s, const char *rest)
{
    const char *p = rest;
    char *index = kc_text_word (&p), *in = kc_text_word (&p);
    int rc = -1;
    if (!index || !in || strcmp (in, "in") || !*p)
        kc_text_bad (s, "a loop is written as: for i in COUNT");
    else if (s_depth (s) >= S_NEST)
        kc_text_bad (s, "for and if are nested too deeply");
    else if (kc_text_declare (s, index, "loop index") == 0 && kc_text_expr (s, p) == 0)
        rc = 0;
    for (const kc_item_t *i = s->open; rc == 0 && i; i = i->parent)
        if (i->kind == KC_ITEM_FOR && !strcmp (i->index, index))
            rc = kc_text_bad (
                s, "'%s' is already the index of the loop around this one", index);
    kc_item_t *item =
        s_item_add (s, KC_ITEM_FOR); // even when wrong, so that its end finds it
    item->index = kc_strdup (index ? index : "?");
    item->count = kc_strdup (rc == 0 ? p : "1");
    s->open = item;
    free (index);
    free (in);
    return rc;
}

static int s_if (kc_text_parser_t *s, const char *rest)
{
    int rc = *rest ? kc_text_expr (s, rest) : kc_text_bad (s, "if needs a condition");
    if (rc == 0 && s_depth (s) >= S_NEST)
        rc = kc_text_bad (s, "for and if are nested too deeply");
    kc_item_t *item = s_item_add (s, KC_ITEM_IF);
    item->cond = kc_strdup (rc == 0 ? rest : "true");
    s->open = item;
    return rc;
}

static int s_else (kc_text_parser_t *s)
{
    kc_item_t *item = s->open;
    if (item->kind != KC_ITEM_IF || (item->cond[0] == '!' && item->index))
        return kc_text_bad (s, "else without an if");
    char *cond = kc_asprintf ("!(%s)", item->cond);
    s->open = item->parent;
    kc_item_t *other = s_item_add (s, KC_ITEM_IF);
    other->cond = cond;
    other->index = kc_strdup ("else"); // marks it: a second else is an error
    s->open = other;
    return kc_text_expr (s, cond);
}

static int s_end (kc_text_parser_t *s)
{
    if (s->open->parent)
        s->open = s->open->parent;
    else if (s->in_prepare) {
        s->in_prepare = false;
        s->open = &s->blocks;
    }
    else
        return kc_text_bad (s, "end without for, if or prepare");
    return 0;
}

static int s_structure_line (kc_text_parser_t *s, const char *word, const char *rest)
{
    if (!strcmp (word, "for"))
        return s_for (s, rest) < 0 ? -1 : 1;
    if (!strcmp (word, "if"))
        return s_if (s, rest) < 0 ? -1 : 1;
    bool bare = !strcmp (word, "else") || !strcmp (word, "end")
                || !strcmp (word, "prepare") || !strcmp (word, "block")
                || !strcmp (word, "graph") || !strcmp (word, "stream");
    if (!bare)
        return 0;
    if (*rest)
        return kc_text_bad (s, "nothing is expected after '%s'", word);
    if (!strcmp (word, "else"))
        return s_else (s) < 0 ? -1 : 1;
    if (!strcmp (word, "end"))
        return s_end (s) < 0 ? -1 : 1;
    if (!strcmp (word, "graph") || !strcmp (word, "stream")) {
        s->program->launch =
            word[0] == 'g' ? KC_PROGRAM_LAUNCH_GRAPH : KC_PROGRAM_LAUNCH_STREAM;
        return 1;
    }
    if (!strcmp (word, "block")) {
        s_item_add (s, KC_ITEM_BLOCK);
        return 1;
    }
    if (s->open != &s->blocks)
        return kc_text_bad (s,
                            "prepare stands at the top, not inside for, if or prepare");
    s->open = &s->prepare;
    s->in_prepare = true;
    s->prepare_line = s->line;
    return 1;
}

// ---- the file ----

typedef struct s_statement {
    int line;
    char *text;
    char *comment; // behind ;
} s_statement_t;

static bool s_is_plan (const char *line, const char *end, const char **rest_p)
{
    while (line < end && (*line == ' ' || *line == '\t'))
        line++;
    if (end - line < 3 || memcmp (line, "//@", 3))
        return false;
    *rest_p = line + 3;
    return true;
}

// Cut the comment off a joined line.
static void s_statement (s_statement_t **list, size_t *n, int line, const char *text)
{
    bool quoted = false;
    const char *p = text;
    for (; *p && (*p != ';' || quoted); p++)
        quoted = quoted != (*p == '"');
    s_statement_t *st = kc_push (list, n, sizeof *st);
    st->line = line;
    st->text = kc_text_trim (text, p);
    st->comment = *p ? kc_text_trim (p + 1, p + strlen (p)) : NULL;
}

// "//@ source": what follows is the source from its first line on; only plan lines may
// stand before it.
static int s_source_marker (kc_text_parser_t *s, s_statement_t *st, kc_buf_t *source)
{
    if (strcmp (st->text, "source"))
        return 0;
    s->line = st->line;
    for (size_t i = 0; i < source->size; i++)
        if (source->data[i] != '\n')
            return kc_text_bad (s, "only plan lines may stand before //@ source");
    if (s->out->source_line)
        return kc_text_bad (s, "//@ source stands there twice");
    kc_buf_clear (source);
    s->out->source_line = st->line;
    kc_set (&st->text, "");
    return 1;
}

// Split into source (plan lines emptied, so line numbers stay) and statements.
static int s_split (kc_text_parser_t *s, const char *text, size_t size,
                    kc_buf_t *source, s_statement_t **list, size_t *n)
{
    const char *end = text + size, *p = text;
    kc_buf_t joined = {.limit = KC_TEXT_LINE};
    int first = 0; // line of an open continuation
    for (s->line = 1; p < end; s->line++) {
        const char *eol = memchr (p, '\n', (size_t)(end - p));
        const char *stop = eol ? eol : end;
        if (stop > p && stop[-1] == '\r')
            stop--;
        const char *rest = p;
        if (s_is_plan (p, stop, &rest) || first) {
            bool more = stop > rest && stop[-1] == '\\';
            if (first)
                kc_buf_putc (&joined, ' ');
            kc_buf_put (&joined, rest, (size_t)(stop - rest) - more);
            first = first ? first : s->line;
            if (!more) {
                if (joined.overflow || *n >= S_STATEMENTS) {
                    kc_buf_free (&joined);
                    return kc_text_bad (
                        s, joined.overflow ? "the line is longer than 8192 characters"
                                           : "more than 4096 plan lines");
                }
                s_statement (list, n, first, kc_buf_str (&joined));
                kc_buf_clear (&joined);
                first = 0;
                int marker = s_source_marker (s, &(*list)[*n - 1], source);
                if (marker < 0) {
                    kc_buf_free (&joined);
                    return -1;
                }
                if (marker && eol) { // its own line end belongs to the plan
                    p = eol + 1;
                    continue;
                }
            }
        }
        else
            kc_buf_put (source, p, (size_t)(stop - p));
        if (eol)
            kc_buf_putc (source, '\n');
        p = eol ? eol + 1 : end;
    }
    if (first)
        s_statement (list, n, first, kc_buf_str (&joined));
    kc_buf_free (&joined);
    return 0;
}

static int s_dispatch (kc_text_parser_t *s, const s_statement_t *st)
{
    static const char *const words[] = {
        "const",  "host",   "scratch", "prepared",  "view",  "tensormap", "launch",
        "matmul", "conv",   "rnn",     "attention", "copy",  "fill",      "for",
        "if",     "else",   "end",     "prepare",   "block", "options",   "order",
        "graph",  "stream", "source",  "task",      "dim",   "input",     "param",
        "output", "inout",  "check",   "policy",    "tune"};
    s->line = st->line;
    const char *p = st->text;
    char *word = kc_text_word (&p);
    int rc = 0;
    if (!word) {
        rc = *p ? kc_text_bad (
                 s, "a plan line begins with a word such as launch, const or scratch")
                : 1;
        return rc < 0 ? -1 : 0;
    }
    rc = s_structure_line (s, word, p);
    if (!rc)
        rc = kc_text_plan_line (s, word, p);
    if (!rc)
        rc = kc_text_step_line (s, word, p);
    if (!rc)
        rc = kc_text_task_line (s, word, p, st->comment);
    if (!rc) {
        char *known = kc_suggest (word, words, KC_COUNT (words));
        rc = kc_text_bad (s, "unknown plan line '%.60s'%s", word, known);
        free (known);
    }
    free (word);
    return rc < 0 ? -1 : 0;
}

static int s_read_signatures (kc_text_parser_t *s)
{
    kc_err_t err;
    s->signatures = kc_signatures_read (s->program->source, &err);
    if (!s->signatures) {
        const char *text = err.text;
        s->line = 0;
        if (!strncmp (text, "line ", 5)) { // "line 12: what"
            char *end;
            s->line = (int)strtol (text + 5, &end, 10) + s->out->source_line;
            text = *end == ':' ? end + 2 : end;
        }
        return kc_text_bad (s, "%s", text);
    }
    s->launched = kc_calloc (s->signatures->n + 1, sizeof (bool));
    return 0;
}

static void s_nothing_to_run (kc_text_parser_t *s)
{
    bool host = false;
    for (const char *p = s->program->source; (p = strstr (p, "<<<")) != NULL && !host;
         p++)
        host = true;
    s->line = 0;
    if (host)
        kc_text_bad (s, "the kernels are launched by host code, which never runs here; "
                        "write //@ launch lines (a plain "
                        "launcher can be lifted)");
    else if (s->signatures && s->signatures->n > 0)
        kc_text_bad (s,
                     "no line says how to run the kernels; add for example: //@ launch "
                     "%s<<<GRID, BLOCK>>>",
                     s->signatures->items[0].name);
    else
        kc_text_bad (s, "there is no __global__ kernel and no //@ line with a step; a "
                        "program is CUDA device code with "
                        "//@ launch lines");
}

static void s_finish (kc_text_parser_t *s)
{
    kc_program_text_t *out = s->out;
    if (s->open->parent || s->in_prepare) {
        s->line = s->open->parent ? s->open->line : s->prepare_line;
        kc_text_bad (s, "//@ end is missing for this line");
        return;
    }
    if (kc_text_flatten (s) < 0 || s->failed)
        return;
    if (!s->program->n_blocks) {
        s_nothing_to_run (s);
        return;
    }
    for (size_t i = 0; i < s->signatures->n; i++)
        if (!s->launched[i])
            *(char **)kc_push (&out->warnings, &out->n_warnings, sizeof (char *)) =
                kc_asprintf ("line %d: no line launches kernel %s",
                             s->signatures->items[i].line + out->source_line,
                             s->signatures->items[i].name);
    s->line = 0;
    kc_errs_t errs = {0};
    if (kc_program_normalise (s->program, s->findings) < 0)
        s->failed = true;
    else if (kc_type_check (&kc_program_type, s->program, &errs) < 0)
        kc_text_bad (s, "%s: expected %s, found %s", errs.item[0].pointer,
                     errs.item[0].expected, errs.item[0].found);
    else if (kc_program_check (s->program, s->findings) < 0)
        s->failed = true;
}

kc_program_text_t *kc_program_text_parse (const char *text, size_t size,
                                          const kc_card_t *card, kc_verdict_t *findings)
{
    kc_text_parser_t s = {.card = card, .findings = findings};
    s.open = &s.blocks;
    s.out = kc_calloc (1, sizeof *s.out);
    s.program = s.out->program = kc_type_new (&kc_program_type);
    s.program->language =
        s.program->language ? s.program->language : kc_strdup ("cuda");
    s.names = kc_map_new (NULL);
    s_statement_t *list = NULL;
    size_t n = 0;
    kc_buf_t source = {0};
    if (size > KC_TEXT_MAX)
        kc_text_bad (&s, "the file has %zu bytes, at most %d are read", size,
                     KC_TEXT_MAX);
    else if (!kc_utf8_valid (text, size))
        kc_text_bad (&s, "the file is not UTF-8 text");
    else if (s_split (&s, text, size, &source, &list, &n) == 0) {
        if (source.size == 0)
            kc_buf_putc (&source, '\n');
        s.program->source = kc_buf_take (&source);
        if (s_read_signatures (&s) == 0) {
            for (size_t i = 0; i < n; i++)
                s_dispatch (&s, &list[i]);
            s_finish (&s);
        }
    }
    kc_buf_free (&source);
    for (size_t i = 0; i < n; i++) {
        free (list[i].text);
        free (list[i].comment);
    }
    free (list);
    free (s.launched);
    kc_signatures_destroy (&s.signatures);
    kc_map_destroy (&s.names);
    s_item_clear (&s.prepare);
    s_item_clear (&s.blocks);
    if (s.failed)
        kc_program_text_destroy (&s.out);
    return s.out;
}

void kc_program_text_destroy (kc_program_text_t **self_p)
{
    kc_program_text_t *self = *self_p;
    if (!self)
        return;
    kc_program_free (&self->program);
    kc_task_text_free (self->task);
    free (self->step_lines);
    free (self->constant_lines);
    free (self->buffer_lines);
    free (self->view_lines);
    kc_text_free_list (self->warnings, self->n_warnings);
    free (self);
    *self_p = NULL;
}

// "constant N ...", "buffer N ...", "view N ...": the line where N is declared, 0 =
// none of these.
static int s_declared (const kc_program_text_t *self, const char *text)
{
    const kc_program_t *p = self->program;
    char name[80];
    size_t skip = !strncmp (text, "constant ", 9) ? 9
                  : !strncmp (text, "buffer ", 7) ? 7
                  : !strncmp (text, "view ", 5)   ? 5
                                                  : 0;
    size_t n =
        skip
            ? strspn (text + skip,
                      "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
            : 0;
    if (!n || n >= sizeof name)
        return 0;
    memcpy (name, text + skip, n);
    name[n] = 0;
    for (size_t i = 0; skip == 9 && i < p->n_constants && i < self->n_constant_lines;
         i++)
        if (!strcmp (p->constants[i].name, name))
            return self->constant_lines[i];
    for (size_t i = 0; skip == 7 && i < p->n_buffers && i < self->n_buffer_lines; i++)
        if (!strcmp (p->buffers[i].name, name))
            return self->buffer_lines[i];
    for (size_t i = 0; skip == 5 && i < p->n_views && i < self->n_view_lines; i++)
        if (!strcmp (p->views[i].name, name))
            return self->view_lines[i];
    return 0;
}

void kc_program_text_locate (const kc_program_text_t *self, kc_verdict_t *findings)
{
    for (size_t i = 0; findings && i < findings->n_findings; i++) {
        kc_verdict_finding_t *f = &findings->findings[i];
        int line = 0;
        if (f->has_line)
            continue;
        if (f->has_step && (size_t)f->step < self->n_step_lines)
            line = self->step_lines[f->step];
        else if (f->text)
            line = s_declared (self, f->text);
        f->has_line = line > 0;
        f->line = line;
    }
}
