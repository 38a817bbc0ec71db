/* kc_mem.h - allocation that cannot fail, and the assertion that is always on
 *
 * Every size that comes from outside is bounded before it gets here, so running out of memory is a
 * defect or a machine in trouble: one handler reports it and aborts.  kc_assert guards our own
 * invariants only, never bytes from a socket, a file, a model or a GPU.
 */
#ifndef KC_MEM_H
#define KC_MEM_H

#include <stddef.h>

void *kc_malloc (size_t size) __attribute__ ((malloc, returns_nonnull));
void *kc_calloc (size_t count, size_t size) __attribute__ ((malloc, returns_nonnull)); // zeroed
void *kc_realloc (void *p, size_t size) __attribute__ ((returns_nonnull));
char *kc_strdup (const char *s);                   // NULL gives NULL; caller frees
char *kc_strndup (const char *s, size_t n);        // caller frees
char *kc_asprintf (const char *format, ...) __attribute__ ((format (printf, 1, 2))); // caller frees
// Replace the string at *dst by a copy of 's' (NULL clears it).
void kc_set (char **dst, const char *s);
// Grow the array at *v by one zeroed element of 'size' bytes and return that element;
// '*v' is grown by nobody else (the room follows from *n), is freed with free, and *n may shrink.
void *kc_push (void *v_p, size_t *n, size_t size);

void kc_die (const char *file, int line, const char *what) __attribute__ ((noreturn));
#define kc_assert(x) ((x) ? (void)0 : kc_die (__FILE__, __LINE__, #x))
#define KC_COUNT(a) (sizeof (a) / sizeof (a)[0])

#endif // KC_MEM_H
