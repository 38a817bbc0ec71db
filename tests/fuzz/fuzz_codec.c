/* fuzz_codec.c - any bytes as any document
 *
 * The first line is the mode (s or w) and the name of the type, the rest is the text.
 * What is accepted must be written, read back in strict mode and written again to the
 * same bytes; a refusal must name a reason.
 */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "common/msg/kc_codec.h"
#include "common/util/kc_mem.h"

enum { NAME_MAX_BYTES = 64 };

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    char name[NAME_MAX_BYTES];
    const uint8_t *end =
        memchr (data, '\n', size < NAME_MAX_BYTES ? size : NAME_MAX_BYTES);
    if (!end || end == data)
        return 0;
    size_t head = (size_t)(end - data);
    memcpy (name, data + 1, head - 1);
    name[head - 1] = 0;
    const kc_type_t *type = kc_type_find (name);
    if (!type) // a new name still tests something
        type = kc_type_at ((size_t)data[head - 1] % kc_type_count ());
    if (type->base == KC_BASE_ENUM)
        return 0;
    kc_mode_t mode = data[0] == 's' ? KC_STRICT : KC_WIRE;
    kc_errs_t errs;
    void *object =
        kc_type_decode (type, (const char *)end + 1, size - head - 1, mode, &errs);
    char *why = kc_errs_text (&errs);
    kc_assert (kc_utf8_valid (why, strlen (why)));
    kc_assert ((object != NULL) == (errs.n == 0)
               && (object != NULL) == (errs.code == KC_OK));
    free (why);
    if (!object)
        return 0;
    size_t length;
    char *text = kc_type_encode (type, object, &length, &errs);
    kc_assert (text && kc_utf8_valid (text, length));
    void *copy = kc_type_dup (type, object);
    void *back = kc_type_decode (type, text, length, KC_STRICT, &errs);
    kc_assert (back);
    char *again = kc_type_encode (type, back, NULL, &errs),
         *third = kc_type_encode (type, copy, NULL, &errs);
    kc_assert (again && third && strcmp (again, text) == 0
               && strcmp (third, text) == 0);
    char *clean = kc_utf8_clean ((const char *)data, size, data[0]);
    kc_assert (kc_utf8_valid (clean, strlen (clean)));
    free (clean);
    free (third);
    free (again);
    free (text);
    kc_type_free (type, back);
    kc_type_free (type, copy);
    kc_type_free (type, object);
    return 0;
}
