// ptx_lex.c - tokens, the arena and small helpers of the PTX parser

#include "agents/gpu/vgpu/ptx_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/util/kc_mem.h"

enum { ARENA_CHUNK = 256 << 10 };

typedef struct chunk {
    struct chunk *next;
    size_t used, size;
    _Alignas (16) char data[];
} chunk_t;

struct ptx_arena {
    chunk_t *chunks;
    kc_map_t *names;
};

ptx_arena_t *ptx_arena_new (void)
{
    ptx_arena_t *self = kc_calloc (1, sizeof (*self));
    self->names = kc_map_new (NULL);
    return self;
}

void ptx_arena_destroy (ptx_arena_t **self_p)
{
    ptx_arena_t *self = *self_p;
    if (!self)
        return;
    while (self->chunks) {
        chunk_t *next = self->chunks->next;
        free (self->chunks);
        self->chunks = next;
    }
    kc_map_destroy (&self->names);
    free (self);
    *self_p = NULL;
}

void *ptx_arena_alloc (ptx_arena_t *self, size_t size)
{
    size = (size + 15) & ~(size_t)15;
    if (!self->chunks || self->chunks->size - self->chunks->used < size) {
        size_t room = size > ARENA_CHUNK ? size : ARENA_CHUNK;
        chunk_t *c = kc_calloc (1, sizeof (*c) + room);
        c->size = room;
        c->next = self->chunks;
        self->chunks = c;
    }
    void *p = self->chunks->data + self->chunks->used;
    self->chunks->used += size;
    return p;
}

const char *ptx_arena_intern (ptx_arena_t *self, const char *text, size_t size)
{
    char key[PTX_MAX_NAME];
    if (size >= sizeof (key))
        size = sizeof (key) - 1; // the lexer refuses longer names
    memcpy (key, text, size);
    key[size] = 0;
    char *have = kc_map_get (self->names, key);
    if (!have) {
        have = ptx_arena_alloc (self, size + 1);
        memcpy (have, key, size + 1);
        kc_map_put (self->names, key, have);
    }
    return have;
}

void *ptx_grow (void *array, uint32_t n, uint32_t *room, size_t size)
{
    if (n < *room)
        return array;
    uint32_t more = *room ? *room * 2 : 16;
    array = kc_realloc (array, (size_t)more * size);
    memset ((char *)array + (size_t)*room * size, 0, (size_t)(more - *room) * size);
    *room = more;
    return array;
}

bool ptx_error (ptx_parser_t *p, kc_code_t code, uint32_t line, const char *format, ...)
{
    if (p->failed)
        return false;
    p->failed = true;
    p->at = p->end;
    char text[KC_ERR_TEXT];
    va_list args;
    va_start (args, format);
    vsnprintf (text, sizeof (text), format, args);
    va_end (args);
    if (p->source_line)
        kc_fail (p->err, code, "PTX line %u (source line %u): %s", line, p->source_line, text);
    else
        kc_fail (p->err, code, "PTX line %u: %s", line, text);
    return false;
}

static bool s_alpha (char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '%';
}

static bool s_digit (char c)
{
    return c >= '0' && c <= '9';
}

static bool s_alnum (char c)
{
    return s_alpha (c) || s_digit (c);
}

static void s_skip (ptx_parser_t *p)
{
    while (p->at < p->end) {
        char c = *p->at;
        if (c == '\n')
            p->line++, p->at++;
        else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v' || c == 0)
            p->at++;
        else if (c == '/' && p->at + 1 < p->end && p->at[1] == '/') {
            while (p->at < p->end && *p->at != '\n')
                p->at++;
        }
        else if (c == '/' && p->at + 1 < p->end && p->at[1] == '*') {
            p->at += 2;
            while (p->at + 1 < p->end && !(p->at[0] == '*' && p->at[1] == '/')) {
                if (*p->at == '\n')
                    p->line++;
                p->at++;
            }
            p->at = p->at + 2 < p->end ? p->at + 2 : p->end;
        }
        else
            break;
    }
}

// Dots belong to a name when a letter or digit follows (ld.global.v4, %tid.x), "::" likewise.
static void s_word (ptx_parser_t *p)
{
    const char *s = p->at;
    while (p->at < p->end) {
        if (s_alnum (*p->at))
            p->at++;
        else if (*p->at == '.' && p->at + 1 < p->end && s_alnum (p->at[1]))
            p->at++;
        else if (*p->at == ':' && p->at + 2 < p->end && p->at[1] == ':' && s_alnum (p->at[2]))
            p->at += 2;
        else
            break;
    }
    p->tok.text = s;
    p->tok.size = (size_t)(p->at - s);
    if (p->tok.size >= PTX_MAX_NAME)
        ptx_error (p, KC_EINVALID, p->line, "a name of %zu bytes; at most %d are read", p->tok.size, PTX_MAX_NAME - 1);
}

static int s_hex (char c)
{
    if (s_digit (c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return 99;
}

static void s_numeral (ptx_parser_t *p)
{
    ptx_token_t *t = &p->tok;
    const char *s = p->at;
    uint64_t v = 0;
    t->kind = PTX_TOK_INT;
    t->text = s;
    char kind = p->end - s > 1 && s[0] == '0' ? s[1] : 0;
    if (kind == 'f' || kind == 'F' || kind == 'd' || kind == 'D') {
        int digits = kind == 'f' || kind == 'F' ? 8 : 16, n = 0;
        for (p->at += 2; p->at < p->end && s_hex (*p->at) < 16 && n < digits; p->at++, n++)
            v = v * 16 + (uint64_t)s_hex (*p->at);
        if (n != digits)
            ptx_error (p, KC_EINVALID, p->line, "a 0%c literal needs %d hex digits", kind, digits);
        t->kind = PTX_TOK_FLOAT;
        t->single = digits == 8;
    }
    else if (kind == 'x' || kind == 'X' || kind == 'b' || kind == 'B') {
        unsigned base = kind == 'x' || kind == 'X' ? 16 : 2;
        for (p->at += 2; p->at < p->end && (unsigned)s_hex (*p->at) < base; p->at++)
            v = v * base + (uint64_t)s_hex (*p->at);
    }
    else {
        while (p->at < p->end && s_digit (*p->at))
            p->at++;
        if (p->at + 1 < p->end && *p->at == '.' && s_digit (p->at[1])) { // 9.0 of .version, or a decimal double
            p->at++;
            while (p->at < p->end && (s_digit (*p->at) || *p->at == 'e' || *p->at == 'E'))
                p->at++;
            char copy[64] = {0};
            size_t n = (size_t)(p->at - s) < sizeof (copy) ? (size_t)(p->at - s) : sizeof (copy) - 1;
            memcpy (copy, s, n);
            double d = strtod (copy, NULL);
            memcpy (&v, &d, 8);
            t->kind = PTX_TOK_FLOAT;
            t->single = false;
        }
        else {
            unsigned base = s[0] == '0' ? 8 : 10;
            for (const char *c = s; c < p->at; c++)
                v = v * base + (uint64_t)(*c - '0');
        }
    }
    if (t->kind == PTX_TOK_INT && p->at < p->end && *p->at == 'U')
        p->at++;
    t->value = v;
    t->size = (size_t)(p->at - s);
}

void ptx_next (ptx_parser_t *p)
{
    ptx_token_t *t = &p->tok;
    s_skip (p);
    memset (t, 0, sizeof (*t));
    t->line = p->line;
    t->text = p->at;
    if (p->at >= p->end || p->failed) {
        t->kind = PTX_TOK_END;
        return;
    }
    char c = *p->at;
    if (c == '.' && p->at + 1 < p->end && s_alpha (p->at[1])) {
        p->at++;
        s_word (p);
        t->text--; // the dot belongs to the word
        t->size++;
        t->kind = PTX_TOK_DOT;
    }
    else if (s_alpha (c)) {
        s_word (p);
        t->kind = PTX_TOK_NAME;
    }
    else if (s_digit (c))
        s_numeral (p);
    else if (c == '"') {
        t->kind = PTX_TOK_STRING;
        t->text = ++p->at;
        while (p->at < p->end && *p->at != '"') {
            if (*p->at == '\n')
                p->line++;
            p->at += *p->at == '\\' && p->at + 1 < p->end ? 2 : 1;
        }
        t->size = (size_t)(p->at - t->text);
        if (p->at >= p->end)
            ptx_error (p, KC_EINVALID, t->line, "a string without its closing quote");
        else
            p->at++;
    }
    else {
        t->kind = PTX_TOK_PUNCT;
        t->punct = c;
        t->size = 1;
        p->at++;
    }
    if (p->failed)
        t->kind = PTX_TOK_END;
}

bool ptx_is (const ptx_parser_t *p, char punct)
{
    return p->tok.kind == PTX_TOK_PUNCT && p->tok.punct == punct;
}

bool ptx_is_word (const ptx_parser_t *p, ptx_token_kind_t kind, const char *word)
{
    return p->tok.kind == kind && p->tok.size == strlen (word) && !memcmp (p->tok.text, word, p->tok.size);
}

bool ptx_expect (ptx_parser_t *p, char punct)
{
    if (!ptx_is (p, punct)) {
        int n = p->tok.size < 40 ? (int)p->tok.size : 40;
        return ptx_error (p, KC_EINVALID, p->tok.line, "expected '%c', found '%.*s'", punct, n, p->tok.text);
    }
    ptx_next (p);
    return true;
}

const char *ptx_intern_tok (ptx_parser_t *p)
{
    return ptx_arena_intern (p->m->arena, p->tok.text, p->tok.size);
}

bool ptx_number (ptx_parser_t *p, int64_t *value)
{
    bool minus = false;
    while (ptx_is (p, '-') || ptx_is (p, '+')) {
        minus ^= p->tok.punct == '-';
        ptx_next (p);
    }
    if (p->tok.kind != PTX_TOK_INT)
        return ptx_error (p, KC_EINVALID, p->tok.line, "expected a whole number");
    *value = (int64_t)(minus ? 0 - p->tok.value : p->tok.value);
    ptx_next (p);
    return true;
}
