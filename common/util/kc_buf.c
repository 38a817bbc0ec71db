// kc_buf.c - see kc_buf.h

#include "common/util/kc_buf.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/util/kc_mem.h"

void kc_buf_free (kc_buf_t *b)
{
    free (b->data);
    *b = (kc_buf_t){.limit = b->limit};
}

void kc_buf_clear (kc_buf_t *b)
{
    b->size = 0;
    b->overflow = false;
    if (b->data)
        b->data[0] = 0;
}

// Make room for 'more' bytes and the zero; false when the limit forbids it.
static bool s_reserve (kc_buf_t *b, size_t more)
{
    if (b->overflow)
        return false;
    kc_assert (more < SIZE_MAX / 4 - b->size);
    size_t need = b->size + more;
    if (b->limit && need > b->limit) {
        b->overflow = true;
        return false;
    }
    if (need + 1 > b->room) {
        size_t room = b->room * 2;
        if (room < need + 1)
            room = need + 1;
        if (room < 64)
            room = 64;
        b->data = kc_realloc (b->data, room);
        b->room = room;
    }
    return true;
}

void kc_buf_put (kc_buf_t *b, const void *data, size_t size)
{
    if (!s_reserve (b, size))
        return;
    if (size)
        memcpy (b->data + b->size, data, size);
    b->size += size;
    b->data[b->size] = 0;
}

void kc_buf_puts (kc_buf_t *b, const char *s)
{
    kc_buf_put (b, s, strlen (s));
}

void kc_buf_putc (kc_buf_t *b, char c)
{
    kc_buf_put (b, &c, 1);
}

void kc_buf_printf (kc_buf_t *b, const char *format, ...)
{
    va_list args;
    va_start (args, format);
    kc_buf_vprintf (b, format, args);
    va_end (args);
}

void kc_buf_vprintf (kc_buf_t *b, const char *format, va_list args)
{
    char small[256];
    va_list again;
    va_copy (again, args);
    int n = vsnprintf (small, sizeof small, format, args);
    kc_assert (n >= 0); // only a bad format or a text over INT_MAX fails
    size_t size = (size_t)n;
    if (size < sizeof small)
        kc_buf_put (b, small, size);
    else if (s_reserve (b, size)) {
        vsnprintf (b->data + b->size, size + 1, format, again);
        b->size += size;
    }
    va_end (again);
}

// The length of the well-formed UTF-8 character at 's' (Unicode table 3-7), 0 when
// there is none.
static size_t s_utf8 (const unsigned char *s, size_t size)
{
    unsigned char a = s[0];
    unsigned char low = 0x80, high = 0xbf; // bounds of the second byte
    size_t n = 0;
    if (a < 0x80)
        return 1;
    if (a >= 0xc2 && a <= 0xdf)
        n = 2;
    else if (a >= 0xe0 && a <= 0xef) {
        n = 3;
        if (a == 0xe0)
            low = 0xa0; // shorter form exists
        else if (a == 0xed)
            high = 0x9f; // surrogates
    }
    else if (a >= 0xf0 && a <= 0xf4) {
        n = 4;
        if (a == 0xf0)
            low = 0x90;
        else if (a == 0xf4)
            high = 0x8f; // past U+10FFFF
    }
    if (n == 0 || size < n || s[1] < low || s[1] > high)
        return 0;
    for (size_t i = 2; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    return n;
}

void kc_buf_json (kc_buf_t *b, const char *s, size_t size)
{
    const unsigned char *p = (const unsigned char *)s;
    size_t i = 0;
    while (i < size && !b->overflow) {
        size_t run = i; // plain bytes go in one piece
        while (run < size && p[run] >= 0x20 && p[run] < 0x80 && p[run] != '"'
               && p[run] != '\\')
            run++;
        if (run > i) {
            size_t n = run - i;
            // The part that fits is kept, so a cut string is as long as the limit
            // allows.
            size_t left = b->size < b->limit ? b->limit - b->size : 0;
            bool cut = b->limit && n > left;
            kc_buf_put (b, s + i, cut ? left : n);
            if (cut)
                b->overflow = true;
            i = run;
            continue;
        }
        unsigned char c = p[i];
        size_t n = s_utf8 (p + i, size - i);
        if (n == 0)
            kc_buf_puts (b, "\xef\xbf\xbd");
        else if (n > 1)
            kc_buf_put (b, s + i, n);
        else if (c == '"')
            kc_buf_puts (b, "\\\"");
        else if (c == '\\')
            kc_buf_puts (b, "\\\\");
        else if (c == '\n')
            kc_buf_puts (b, "\\n");
        else if (c == '\t')
            kc_buf_puts (b, "\\t");
        else if (c == '\r')
            kc_buf_puts (b, "\\r");
        else
            kc_buf_printf (b, "\\u%04x", (unsigned)c);
        i += n ? n : 1;
    }
}

void kc_buf_consume (kc_buf_t *b, size_t size)
{
    kc_assert (size <= b->size);
    if (size == 0)
        return;
    memmove (b->data, b->data + size, b->size - size);
    b->size -= size;
    b->data[b->size] = 0;
}

const char *kc_buf_str (const kc_buf_t *b)
{
    return b->data ? b->data : "";
}

char *kc_buf_take (kc_buf_t *b)
{
    char *data = b->data ? b->data : kc_calloc (1, 1);
    *b = (kc_buf_t){.limit = b->limit};
    return data;
}
