// kc_mem.c - see kc_mem.h

#include "common/util/kc_mem.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void kc_die (const char *file, int line, const char *what)
{
    // No allocation and no stdio stream here: the heap may be what is broken.
    char text[512];
    int n = snprintf (text, sizeof text, "kernelclaw: defect at %s:%d: %s\n", file,
                      line, what);
    if (n > 0) {
        size_t size = (size_t)n < sizeof text ? (size_t)n : sizeof text - 1;
        ssize_t done = write (STDERR_FILENO, text, size);
        (void)done;
    }
    abort ();
}

void *kc_malloc (size_t size)
{
    void *p = malloc (size ? size : 1);
    if (!p)
        kc_die (__FILE__, __LINE__, "out of memory");
    return p;
}

void *kc_calloc (size_t count, size_t size)
{
    void *p = count && size ? calloc (count, size) : calloc (1, 1);
    if (!p)
        kc_die (__FILE__, __LINE__, "out of memory");
    return p;
}

void *kc_realloc (void *p, size_t size)
{
    void *q = realloc (p, size ? size : 1);
    if (!q)
        kc_die (__FILE__, __LINE__, "out of memory");
    return q;
}

char *kc_strdup (const char *s)
{
    return s ? kc_strndup (s, strlen (s)) : NULL;
}

char *kc_strndup (const char *s, size_t n)
{
    size_t size = strnlen (s, n);
    char *copy = kc_malloc (size + 1);
    memcpy (copy, s, size);
    copy[size] = 0;
    return copy;
}

char *kc_asprintf (const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start (args, format);
    int n = vasprintf (&text, format, args);
    va_end (args);
    if (n < 0 || !text)
        kc_die (__FILE__, __LINE__, "kc_asprintf: out of memory or a bad format");
    return text;
}

void kc_set (char **dst, const char *s)
{
    char *copy = kc_strdup (s); // first: 's' may lie inside the old string
    free (*dst);
    *dst = copy;
}

void *kc_push (void *v_p, size_t *n, size_t size)
{
    // The room follows from the count: it is the next power of two, so it need not be
    // stored.
    char *v = NULL;
    memcpy (&v, v_p, sizeof v);
    if ((*n & (*n - 1)) == 0) {
        size_t room = *n ? *n * 2 : 1;
        kc_assert (size && room <= SIZE_MAX / 2 / size);
        v = kc_realloc (v, room * size);
        memcpy (v_p, &v, sizeof v);
    }
    void *slot = v + *n * size;
    memset (slot, 0, size);
    (*n)++;
    return slot;
}
