// vg_printf.c - vprintf of the device: a format string and a packed argument buffer
//
// Formats are parsed here and every conversion is printed alone with a format of our own making, so that a
// kernel's text is never a format string of the host.

#include "agents/gpu/vgpu/vg_internal.h"

#include <stdio.h>
#include <string.h>

enum { FORMAT_MAX = 4096, FIELD_MAX = 512, STRING_MAX = 1024 };

typedef struct cursor {
    vg_warp_t *w;
    uint32_t lane;
    uint64_t at; // generic address of the next argument
} cursor_t;

static bool s_next (cursor_t *c, uint32_t bytes, void *out)
{
    c->at = (c->at + bytes - 1) / bytes * bytes;
    const void *p = vg_host (c->w, c->lane, c->at, bytes);
    if (!p)
        return false;
    memcpy (out, p, bytes);
    c->at += bytes;
    return true;
}

// One conversion: flags, width and precision are rebuilt from checked characters. Returns behind it.
static const char *s_field (cursor_t *c, const char *f, kc_buf_t *out)
{
    char spec[64] = "%", field[FIELD_MAX];
    size_t n = 1;
    int longs = 0, stars[2], n_stars = 0;
    for (; *f && strchr ("-+ #0123456789.*hlLzjt", *f); f++) {
        if (*f == '*') {
            int v = 0;
            if (!s_next (c, 4, &v))
                return f + 1;
            if (n_stars < 2)
                stars[n_stars++] = v > 200 ? 200 : v < -200 ? -200 : v;
            if (n + 2 < sizeof (spec))
                spec[n++] = '*';
        }
        else if (*f == 'l' || *f == 'L' || *f == 'z' || *f == 'j' || *f == 't')
            longs++;
        else if (*f != 'h' && n < 16)
            spec[n++] = *f;
    }
    char k = *f;
    if (!k)
        return f;
    int width = 0, seen = 0; // a width or precision beyond 3 digits is refused: fields are bounded
    for (size_t i = 1; i < n; i++) {
        width = spec[i] >= '0' && spec[i] <= '9' ? width * 10 + (spec[i] - '0') : 0;
        seen = width > seen ? width : seen;
    }
    if (seen > 200)
        n = 1, n_stars = 0;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral" // 'spec' is built above from flags and digits only
#define PRINT(value)                                                                   \
    (n_stars == 2   ? snprintf (field, sizeof (field), spec, stars[0], stars[1], value) \
     : n_stars == 1 ? snprintf (field, sizeof (field), spec, stars[0], value)          \
                    : snprintf (field, sizeof (field), spec, value))
    field[0] = 0;
    switch (k) {
    case 'd':
    case 'i':
    case 'u':
    case 'o':
    case 'x':
    case 'X': {
        long long v = 0;
        int32_t small = 0;
        if (longs ? !s_next (c, 8, &v) : !s_next (c, 4, &small))
            break;
        if (!longs)
            v = k == 'd' || k == 'i' ? small : (long long)(uint32_t)small;
        spec[n++] = 'l';
        spec[n++] = 'l';
        spec[n++] = k;
        spec[n] = 0;
        PRINT (v);
        break;
    }
    case 'c': {
        int v = 0;
        s_next (c, 4, &v);
        spec[n++] = 'c';
        spec[n] = 0;
        PRINT (v);
        break;
    }
    case 'p': {
        unsigned long long v = 0;
        s_next (c, 8, &v);
        snprintf (field, sizeof (field), "0x%llx", v);
        break;
    }
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
    case 'a':
    case 'A': {
        double v = 0;
        s_next (c, 8, &v);
        spec[n++] = k;
        spec[n] = 0;
        PRINT (v);
        break;
    }
    case 's': {
        char text[STRING_MAX];
        uint64_t v = 0;
        if (!s_next (c, 8, &v) || !vg_read_text (c->w->run, v, text, sizeof (text)))
            snprintf (text, sizeof (text), "(bad string)");
        spec[n++] = 's';
        spec[n] = 0;
        PRINT (text);
        break;
    }
    case '%':
        snprintf (field, sizeof (field), "%%");
        break;
    default:
        snprintf (field, sizeof (field), "%%%c", k);
        break;
    }
#undef PRINT
#pragma GCC diagnostic pop
    kc_buf_puts (out, field);
    return f + 1;
}

void vg_printf (vg_warp_t *w, const vg_op_t *o, uint32_t m, const vg_call_t *call)
{
    (void)o;
    char format[FORMAT_MAX];
    for (; m; m &= m - 1) {
        uint32_t lane = vg_first (m);
        uint8_t *params = w->frame->params + (size_t)lane * w->frame->func->param_bytes;
        uint64_t text = 0;
        cursor_t c = {.w = w, .lane = lane};
        if (call->n_args > 0)
            memcpy (&text, params + call->args[0].caller, 8);
        if (call->n_args > 1)
            memcpy (&c.at, params + call->args[1].caller, 8);
        int32_t printed = 0;
        if (vg_read_text (w->run, text, format, sizeof (format))) {
            for (const char *f = format; *f;) {
                if (*f != '%')
                    kc_buf_putc (&w->run->output, *f++);
                else {
                    f = s_field (&c, f + 1, &w->run->output);
                    printed++;
                }
            }
        }
        else
            printed = -1;
        if (call->n_rets)
            memcpy (params + call->rets[0].caller, &printed, 4);
    }
}
