/* kc_tables.h - what the files of the codec and the generated registry share; not for
 * users of the codec
 *
 * Members are reached through offsets with memcpy, so no pointer of another type ever
 * aliases them.
 */
#ifndef KC_TABLES_H
#define KC_TABLES_H

#include <string.h>

#include "common/msg/kc_codec.h"

typedef struct kc_registry {
    const kc_type_t *const *types; // sorted by name
    size_t n;
} kc_registry_t;

extern const kc_registry_t kc_registry; // made by kc_schemagen

typedef struct kc_path { // where we are in a document; lives on the stack of the walk
    const struct kc_path *up;
    const char *key; // NULL: 'index' counts
    size_t index;
} kc_path_t;

// The JSON pointer of 'path', cut from the front when it is too long.
void kc_path_text (const kc_path_t *path, char *out, size_t room);
// Add an error at 'path'; 'expected' is a format for what follows.
void kc_path_fail (kc_errs_t *errs, kc_code_t code, const kc_path_t *path,
                   const char *found, const char *expected, ...)
    __attribute__ ((format (printf, 5, 6)));
// Why 'text' (valid UTF-8) breaks the rules of 'field', as the words after "expected";
// false when it does not.
bool kc_string_wrong (const kc_field_t *field, const char *text, size_t size, char *out,
                      size_t room);
// "a string of 1 to 64 characters", "an integer from 0 to 9", "one of a, b, c": what
// 'field' (or an item) allows.
void kc_field_words (const kc_field_t *field, char *out, size_t room);
// "[1]" style short form of a text for 'found'.
void kc_quote (const char *text, size_t size, char *out, size_t room);
size_t kc_item_size (const kc_field_t *field); // bytes of one item of an array

static inline void *kc_get_pointer (const void *object, size_t at)
{
    void *p;
    memcpy (&p, (const char *)object + at, sizeof p);
    return p;
}

static inline void kc_put_pointer (void *object, size_t at, const void *p)
{
    memcpy ((char *)object + at, &p, sizeof p);
}

static inline size_t kc_get_size (const void *object, size_t at)
{
    size_t n;
    memcpy (&n, (const char *)object + at, sizeof n);
    return n;
}

static inline unsigned kc_get_enum (const void *object, size_t at)
{
    unsigned v;
    memcpy (&v, (const char *)object + at, sizeof v);
    return v;
}

static inline void kc_put_enum (void *object, size_t at, unsigned v)
{
    memcpy ((char *)object + at, &v, sizeof v);
}

static inline bool kc_get_bool (const void *object, size_t at)
{
    bool v;
    memcpy (&v, (const char *)object + at, sizeof v);
    return v;
}

static inline void kc_put_bool (void *object, size_t at, bool v)
{
    memcpy ((char *)object + at, &v, sizeof v);
}

#endif // KC_TABLES_H
