/* kc_log.c - see kc_log.h
 *
 * The one exception from "no static mutable data": who is logging and from which level
 * on.  It is set by kc_log_init before any thread starts; the level alone may change
 * later and is atomic.
 */

#include "common/util/kc_log.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/util/kc_buf.h"
#include "common/util/kc_clock.h"
#include "common/util/kc_mem.h"
#include "common/util/kc_spawn.h"

enum {
    S_LINE = PIPE_BUF, // a write of this size to a pipe is never mixed with another's
    S_TAIL = 32,       // kept free for the end of a cut line
    S_FIELDS = 64,     // fields in one event
    S_NAME = 64        // bytes of program and instance
};

static struct {
    char program[S_NAME];
    char instance[S_NAME];
    atomic_int least;
} s_log = {.least = KC_INFO};

static const char *const s_levels[] = {"debug", "info", "warn", "error"};

static void s_copy (char out[S_NAME], const char *s)
{
    snprintf (out, S_NAME, "%s", s ? s : "");
}

void kc_log_init (const char *program, const char *instance)
{
    s_copy (s_log.program, program);
    s_copy (s_log.instance, instance);
}

void kc_log_level (kc_level_t least)
{
    atomic_store (&s_log.least, (int)least);
}

int kc_log_level_parse (const char *name)
{
    for (size_t i = 0; name && i < KC_COUNT (s_levels); i++)
        if (strcmp (name, s_levels[i]) == 0)
            return (int)i;
    return -1;
}

// Take back a field that did not fit as a whole; the line stays well-formed.
static void s_undo (kc_buf_t *b, size_t size)
{
    b->size = size;
    b->data[size] = 0;
}

// ,"name":"value" with the value cut where the line ends
static void s_put_text (kc_buf_t *b, const char *name, const char *value)
{
    size_t before = b->size;
    kc_buf_puts (b, b->size > 1 ? ",\"" : "\"");
    kc_buf_json (b, name, strlen (name));
    kc_buf_puts (b, "\":\"");
    if (b->overflow) {
        s_undo (b, before);
        return;
    }
    kc_buf_json (b, value, strlen (value));
    size_t limit = b->limit;
    bool cut = b->overflow;
    b->overflow = false;
    b->limit = S_LINE; // the tail has room for the quote
    kc_buf_putc (b, '"');
    b->limit = limit;
    b->overflow = cut || b->size > limit;
}

static void s_put_plain (kc_buf_t *b, const char *name, const char *value)
{
    size_t before = b->size;
    kc_buf_puts (b, ",\"");
    kc_buf_json (b, name, strlen (name));
    kc_buf_puts (b, "\":");
    kc_buf_puts (b, value);
    if (b->overflow)
        s_undo (b, before);
}

// One field; false when the type letter is unknown and the rest of the arguments cannot
// be read.
static bool s_field (kc_buf_t *b, const char *name, const char *type, va_list *args)
{
    char number[40];
    switch (type[0]) {
    case 's': {
        const char *s = va_arg (*args, const char *);
        if (s)
            s_put_text (b, name, s);
        else
            s_put_plain (b, name, "null");
        return true;
    }
    case 'i':
        snprintf (number, sizeof number, "%lld", (long long)va_arg (*args, int64_t));
        s_put_plain (b, name, number);
        return true;
    case 'f': {
        double x = va_arg (*args, double);
        snprintf (number, sizeof number, "%.9g", x);
        s_put_plain (b, name, isfinite (x) ? number : "null");
        return true;
    }
    case 'b':
        s_put_plain (b, name, va_arg (*args, int) ? "true" : "false");
        return true;
    default:
        return false;
    }
}

void kc_log (kc_level_t level, const char *event, ...)
{
    if ((int)level < atomic_load (&s_log.least) || (size_t)level >= KC_COUNT (s_levels))
        return;
    int saved = errno;
    kc_buf_t b = {.limit = S_LINE - S_TAIL};
    char now[25];
    kc_clock_iso (kc_clock_wall_ms (), now);
    kc_buf_putc (&b, '{');
    s_put_text (&b, "t", now);
    s_put_text (&b, "l", s_levels[level]);
    s_put_text (&b, "p", s_log.program);
    if (s_log.instance[0])
        s_put_text (&b, "n", s_log.instance);
    s_put_text (&b, "e", event);

    va_list args;
    va_start (args, event);
    for (int i = 0; i < S_FIELDS && !b.overflow; i++) {
        const char *name = va_arg (args, const char *);
        if (!name)
            break;
        const char *type = va_arg (args, const char *);
        if (!type || !s_field (&b, name, type, &args))
            break;
    }
    va_end (args);

    bool cut = b.overflow;
    b.overflow = false;
    b.limit = S_LINE;
    kc_buf_puts (&b, cut ? ",\"cut\":true}\n" : "}\n");
    // One write, no retry: a full or broken stderr costs a line, never the daemon.
    ssize_t done = kc_fd_write_some (STDERR_FILENO, b.data, b.size);
    (void)done;
    kc_buf_free (&b);
    errno = saved;
}
