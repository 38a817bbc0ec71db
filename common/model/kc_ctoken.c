// kc_ctoken.c - see kc_ctoken.h

#include "common/model/kc_ctoken.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/util/kc_buf.h"
#include "common/util/kc_mem.h"

typedef struct s_reader {
    const char *p, *end;
    int line;
    bool line_start; // nothing but white space since the last newline
    size_t room;
    kc_ctokens_t *out;
} s_reader_t;

static void s_add (s_reader_t *r, kc_ctoken_kind_t kind, const char *from, int line)
{
    if (r->out->n + 1 >= r->room) {
        r->room = r->room ? r->room * 2 : 256;
        r->out->items = kc_realloc (r->out->items, r->room * sizeof *r->out->items);
    }
    r->out->items[r->out->n++] = (kc_ctoken_t){
        .at = from, .size = (unsigned)(r->p - from), .line = line, .kind = kind};
    r->line_start = false;
}

static void s_comment (s_reader_t *r)
{
    if (r->p[1] == '/') {
        while (r->p < r->end && *r->p != '\n')
            r->p++;
        return;
    }
    r->p += 2;
    while (r->p < r->end && !(r->p[0] == '*' && r->p + 1 < r->end && r->p[1] == '/')) {
        r->line += *r->p == '\n';
        r->p++;
    }
    r->p = r->p + 2 <= r->end ? r->p + 2 : r->end;
}

static void s_directive (s_reader_t *r)
{
    const char *from = r->p;
    int line = r->line;
    while (r->p < r->end && *r->p != '\n') {
        if (*r->p == '\\' && r->p + 1 < r->end && r->p[1] == '\n') {
            r->p += 2;
            r->line++;
        }
        else
            r->p++;
    }
    s_add (r, KC_CT_LINE, from, line);
}

static void s_string (s_reader_t *r)
{
    const char *from = r->p;
    int line = r->line;
    char quote = *r->p++;
    while (r->p < r->end && *r->p != quote && *r->p != '\n') {
        if (*r->p == '\\' && r->p + 1 < r->end) {
            r->line += r->p[1] == '\n';
            r->p++;
        }
        r->p++;
    }
    if (r->p < r->end && *r->p == quote)
        r->p++;
    s_add (r, KC_CT_STRING, from, line);
}

// R"name( ... )name"
static bool s_raw_string (s_reader_t *r)
{
    const char *from = r->p, *open = from + 2;
    while (open < r->end && open - from < 20 && *open != '(' && *open != '"'
           && *open != '\n')
        open++;
    if (open >= r->end || *open != '(')
        return false;
    size_t tag = (size_t)(open - from - 2);
    int line = r->line;
    const char *p = open + 1;
    for (; p < r->end; p++) {
        r->line += *p == '\n';
        if (*p == ')' && (size_t)(r->end - p) > tag + 1
            && !memcmp (p + 1, from + 2, tag) && p[tag + 1] == '"') {
            p += tag + 2;
            break;
        }
    }
    r->p = p;
    s_add (r, KC_CT_STRING, from, line);
    return true;
}

static bool s_word_char (char c)
{
    return isalnum ((unsigned char)c) || c == '_';
}

void kc_ctokens_read (kc_ctokens_t *out, const char *text, size_t size)
{
    *out = (kc_ctokens_t){0};
    s_reader_t r = {
        .p = text, .end = text + size, .line = 1, .line_start = true, .out = out};
    while (r.p < r.end) {
        char c = *r.p, next = r.p + 1 < r.end ? r.p[1] : 0;
        const char *from = r.p;
        if (c == '\n') {
            r.line++;
            r.line_start = true;
            r.p++;
        }
        else if (isspace ((unsigned char)c)
                 || (c == '\\' && (next == '\n' || next == '\r')))
            r.p++;
        else if (c == '/' && (next == '/' || next == '*'))
            s_comment (&r);
        else if (c == '#' && r.line_start)
            s_directive (&r);
        else if (c == 'R' && next == '"' && s_raw_string (&r))
            continue;
        else if (c == '"' || c == '\'')
            s_string (&r);
        else if (isalpha ((unsigned char)c) || c == '_') {
            while (r.p < r.end && s_word_char (*r.p))
                r.p++;
            s_add (&r, KC_CT_WORD, from, r.line);
        }
        else if (isdigit ((unsigned char)c)
                 || (c == '.' && isdigit ((unsigned char)next))) {
            while (r.p < r.end
                   && (s_word_char (*r.p) || *r.p == '.'
                       || (*r.p == '\'' && r.p + 1 < r.end && s_word_char (r.p[1]))
                       || ((*r.p == '+' || *r.p == '-') && strchr ("eEpP", r.p[-1])
                           && !(from[0] == '0' && (from[1] == 'x' || from[1] == 'X')
                                && strchr ("eE", r.p[-1])))))
                r.p++;
            s_add (&r, KC_CT_NUMBER, from, r.line);
        }
        else {
            r.p += (c == ':' && next == ':') || (c == '-' && next == '>') ? 2 : 1;
            s_add (&r, KC_CT_PUNCT, from, r.line);
        }
    }
    if (!out->items)
        out->items = kc_malloc (sizeof *out->items);
    out->items[out->n] =
        (kc_ctoken_t){.at = r.end, .line = r.line, .kind = KC_CT_PUNCT};
}

void kc_ctokens_free (kc_ctokens_t *tokens)
{
    free (tokens->items);
    *tokens = (kc_ctokens_t){0};
}

bool kc_ctoken_is (const kc_ctoken_t *t, const char *text)
{
    return t->size == strlen (text) && !memcmp (t->at, text, t->size);
}

bool kc_ctokens_triple (const kc_ctokens_t *t, size_t i, char bracket)
{
    if (i + 2 >= t->n)
        return false;
    const kc_ctoken_t *k = t->items + i;
    for (int j = 0; j < 3; j++)
        if (k[j].kind != KC_CT_PUNCT || k[j].size != 1 || *k[j].at != bracket
            || k[j].at != k[0].at + j)
            return false;
    return true;
}

size_t kc_ctokens_match (const kc_ctokens_t *t, size_t i)
{
    enum { DEPTH = 256 };
    char stack[DEPTH];
    int n = 0;
    bool angle = *t->items[i].at == '<';
    for (; i < t->n; i++) {
        const kc_ctoken_t *k = &t->items[i];
        if (k->kind != KC_CT_PUNCT || k->size != 1)
            continue;
        char c = *k->at;
        if (c == '(' || c == '[' || c == '{'
            || (c == '<' && angle && (n == 0 || stack[n - 1] == '<'))) {
            if (n == DEPTH)
                return t->n;
            stack[n++] = c;
        }
        else if (c == ')' || c == ']' || c == '}') {
            char open = c == ')' ? '(' : c == ']' ? '[' : '{';
            if (n == 0 || stack[n - 1] != open)
                return t->n;
            n--;
        }
        else if (c == '>' && angle && n > 0 && stack[n - 1] == '<')
            n--;
        else
            continue;
        if (n == 0)
            return i;
    }
    return t->n;
}

char *kc_ctokens_text (const kc_ctokens_t *t, size_t from, size_t to)
{
    kc_buf_t b = {0};
    for (size_t i = from; i < to && i < t->n; i++) {
        const kc_ctoken_t *k = &t->items[i];
        // keep a space exactly where the source had white space between two tokens
        if (i > from && t->items[i - 1].at + t->items[i - 1].size != k->at)
            kc_buf_putc (&b, ' ');
        kc_buf_put (&b, k->at, k->size);
    }
    return kc_buf_take (&b);
}

char *kc_ctoken_dup (const kc_ctoken_t *t)
{
    return kc_strndup (t->at, t->size);
}
