/* kc_text_fields.h - key=value words of plan lines, set and written by the codec's
 * tables
 *
 * The steps, tensor maps and switches of a program are set by the names their schema
 * gives them, so the text form knows a new key as soon as the schema does.
 */
#ifndef KC_TEXT_FIELDS_H
#define KC_TEXT_FIELDS_H

#include "common/msg/kc_codec.h"
#include "common/util/kc_buf.h"
#include "common/util/kc_err.h"

// Set property 'key' of 'object' from 'value' (NULL: a bare word, for booleans).  Lists
// are [a, b].
int kc_text_set (const kc_type_t *type, void *object, const char *key,
                 const char *value, kc_err_t *err);
// Append " key=value" for every property that is present and not its default, but those
// in 'skip' (words between spaces: " op when ").
void kc_text_put (kc_buf_t *b, const kc_type_t *type, const void *object,
                  const char *skip);
// Split "a, b(c, d), e" at top-level commas into trimmed copies; caller frees strings
// and array. -1 when brackets do not close or an item is empty.
int kc_text_split (const char *text, char ***items_p, size_t *n_p, kc_err_t *err);
void kc_text_free_list (char **items, size_t n);
// The end of the bracket that opens at 'p' ( [ {, or NULL.
const char *kc_text_close (const char *p);
char *kc_text_trim (const char *from,
                    const char *to); // copy without white space around; caller frees

#endif // KC_TEXT_FIELDS_H
