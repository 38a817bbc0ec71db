/* kc_buf.h - a growing byte buffer; data is always followed by a zero byte
 *
 * A buffer with a limit refuses to grow past it and remembers that (overflow): the piece that does not
 * fit is left out whole (kc_buf_json keeps the characters that fit), and so is everything after it until
 * kc_buf_clear, so the text so far stays valid.  A zeroed kc_buf_t is an empty buffer without a limit.
 */
#ifndef KC_BUF_H
#define KC_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct kc_buf {
    char *data;    // NULL while empty and never written
    size_t size;   // bytes in use
    size_t room;   // bytes allocated
    size_t limit;  // 0 = none
    bool overflow; // something did not fit
} kc_buf_t;

void kc_buf_free (kc_buf_t *b);  // empty again and usable; the limit stays
void kc_buf_clear (kc_buf_t *b); // keeps the memory
void kc_buf_put (kc_buf_t *b, const void *data, size_t size);
void kc_buf_puts (kc_buf_t *b, const char *s);
void kc_buf_putc (kc_buf_t *b, char c);
void kc_buf_printf (kc_buf_t *b, const char *format, ...) __attribute__ ((format (printf, 2, 3)));
void kc_buf_vprintf (kc_buf_t *b, const char *format, va_list args)
    __attribute__ ((format (printf, 2, 0)));
// Append 's' as the inside of a JSON string (no quotes); invalid UTF-8 becomes U+FFFD.
void kc_buf_json (kc_buf_t *b, const char *s, size_t size);
void kc_buf_consume (kc_buf_t *b, size_t size); // drop bytes from the front
const char *kc_buf_str (const kc_buf_t *b);     // "" when empty; valid until the next change
char *kc_buf_take (kc_buf_t *b);                // caller frees; the buffer is empty afterwards; never NULL

#endif // KC_BUF_H
