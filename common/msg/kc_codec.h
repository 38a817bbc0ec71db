/* kc_codec.h - one codec for every document: tables in, C structs out, and back
 *
 * schemas/<foo>.schema.json is the only description of a document.  The build turns it
 * into a struct (kc_foo_t, kc_foo_bar_t) and a table (kc_foo_type, kc_foo_bar_type);
 * this file walks the tables. Use the typed functions of "common/msg/gen/<foo>.h"
 * (kc_foo_bar_decode, _encode, _new, _dup, _free); the generic ones here are for code
 * that handles any type.
 *
 * Promises
 * - Decoding yields an object that keeps every rule of its schema, or NULL and up to
 * KC_ERRS_MAX errors. The verdict is that of draft 2020-12, made narrower in these
 * points only: no key twice, no U+0000, whole numbers fit in 64 bits, nesting <=
 * KC_JSON_DEPTH, size <= KC_JSON_MAX, and x-kc-kind is checked (name: a C identifier;
 * sha256: 64 lower-case hex digits; id: letters, digits and . _ : @ / + -). Expressions
 * (x-kc-kind expr) are plain strings here.  3.0 is a valid integer, as in the standard.
 * - KC_WIRE ignores unknown keys, KC_STRICT refuses them and names the nearest known
 * one.
 * - Encoding checks the same rules; what it refuses is our defect (KC_EINTERNAL) and
 * names the field.
 * - The text written is canonical: keys sorted by bytes, no white space, shortest
 * doubles that read back equal, defaults written out, absent things left out.  Equal
 * objects give equal bytes.
 *
 * Structs
 * - Absent: NULL for strings and objects, UNSET (0) for enums and unions, n_x = 0 for
 * arrays, has_x = false for numbers and booleans that have a has_x.  An absent optional
 * array and an empty one are the same.
 * - A member with a default or a const holds it after _new, kc_type_init and decoding.
 * Nested objects are never made by _new.  All memory below an object belongs to the
 * object (malloc).
 * - A number that is NaN or infinite is written as absent where the schema allows
 * absence (null where it must be present), and is an error elsewhere.
 *
 * Threads: no state; everything but the object itself is constant.
 */
#ifndef KC_CODEC_H
#define KC_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/util/kc_err.h"
#include "common/util/kc_hash.h"

enum {
    KC_ERRS_MAX = 8,               // errors kept; the rest is counted
    KC_JSON_MAX = 4 * 1024 * 1024, // bytes of one document
    KC_JSON_DEPTH = 32,            // arrays and objects inside each other
    KC_ERRS_POINTER = 192,         // bytes of a JSON pointer, closing zero included
    KC_ERRS_EXPECTED = 224,
    KC_ERRS_FOUND = 96
};

typedef enum kc_mode {
    KC_WIRE,  // messages between daemons: unknown keys are ignored
    KC_STRICT // files and answers of models: unknown keys are errors
} kc_mode_t;

typedef struct kc_errs_item {
    char pointer[KC_ERRS_POINTER]; // "/blocks/0/steps/1/grid", "" = the whole document
    char expected[KC_ERRS_EXPECTED]; // "an integer from 16 to 255"
    char found[KC_ERRS_FOUND];       // "\"many\""
} kc_errs_item_t;

typedef struct kc_errs { // zeroed = empty; cleared at the start of every call that
                         // takes one
    kc_code_t code; // KC_OK while empty; KC_EINVALID after decoding, KC_EINTERNAL after
                    // encoding
    size_t n;       // entries of 'item'
    size_t more;    // found but not kept
    kc_errs_item_t item[KC_ERRS_MAX];
} kc_errs_t;

// One line per error: "/blocks/0/grid: expected 1 to 3 items, found 4 items".  Caller
// frees; never NULL.
char *kc_errs_text (const kc_errs_t *errs);
// Fill 'err' (may be NULL) from the first errors and return -1.
int kc_errs_fail (const kc_errs_t *errs, kc_err_t *err);
// Add one error from outside, for example of an expression; 'errs' may be NULL.
void kc_errs_add (kc_errs_t *errs, kc_code_t code, const char *pointer,
                  const char *expected, const char *found);

// ---- tables ----

typedef enum kc_base {
    KC_BASE_STRING,  // char *
    KC_BASE_INTEGER, // int64_t
    KC_BASE_NUMBER,  // double
    KC_BASE_BOOLEAN, // bool
    KC_BASE_ENUM,    // a generated enum, 0 = UNSET, otherwise 1 + index into
                     // kc_type_t.values
    KC_BASE_OBJECT,  // pointer to the struct; by value as item of an array
    KC_BASE_UNION // struct {kind, u} by value; u = pointer to the struct of the variant
} kc_base_t;

typedef enum kc_text_kind { // x-kc-kind
    KC_TEXT_PLAIN,
    KC_TEXT_NAME,
    KC_TEXT_EXPR,
    KC_TEXT_SHA256,
    KC_TEXT_ID
} kc_text_kind_t;

enum { // kc_field_t.flags
    KC_FIELD_ARRAY = 1,
    KC_FIELD_REQUIRED = 2,
    KC_FIELD_NULLABLE = 4,
    KC_FIELD_DEFAULT = 8, // value_* holds the default
    KC_FIELD_CONST = 16,  // value_* holds the only value
    KC_FIELD_SECRET = 32, // x-kc-secret: shown as ***
    KC_FIELD_MIN = 64,    // int_min or num_min counts
    KC_FIELD_MAX = 128,
    KC_FIELD_LO = 256, // x-kc-lo given
    KC_FIELD_HI = 512
};

#define KC_NO_OFFSET SIZE_MAX

typedef struct kc_type kc_type_t;

typedef struct kc_field {
    const char *name; // the JSON key
    kc_base_t base;   // of the value, or of the items when KC_FIELD_ARRAY
    unsigned flags;
    size_t at;             // offset of the member
    size_t n_at;           // offset of n_x (arrays), else KC_NO_OFFSET
    size_t has_at;         // offset of has_x, else KC_NO_OFFSET
    const kc_type_t *type; // of enums, objects and unions, else NULL
    size_t items_min, items_max;
    size_t length_min, length_max; // characters (code points) of a string
    kc_text_kind_t kind;
    int64_t int_min, int_max;
    double num_min, num_max;
    const char *value_string; // default or const, by base; enums use value_int
    int64_t value_int;        // booleans: 0 or 1
    double value_num;
    const char *title;  // from here on NULL when the schema is silent
    const char *text;   // description
    const char *unit;   // x-kc-unit
    const char *source; // x-kc-source
    const char *note;   // x-kc-text
    double lo, hi;      // x-kc-lo, x-kc-hi: the plausible range, not checked
} kc_field_t;

typedef struct kc_variant {
    const char *name; // of the definition
    const char *tag;  // the value of the discriminator
    const kc_type_t *type;
} kc_variant_t;

typedef struct kc_schema_file {
    const char *name; // "program.schema.json"
    const char *text; // as in the repository
    size_t size;
} kc_schema_file_t;

struct kc_type {
    const char *name;         // "program", "program.block", "memory.task_create"
    kc_base_t base;           // KC_BASE_OBJECT, KC_BASE_ENUM or KC_BASE_UNION
    size_t size;              // of the struct or the enum
    const kc_field_t *fields; // objects: in the order of the schema
    size_t n_fields;
    const uint16_t *sorted;    // objects: indices of 'fields' by key
    const char *const *values; // enums
    size_t n_values;
    const char *tag_key; // unions: the discriminator
    const kc_variant_t *variants;
    size_t n_variants;
    size_t u_at; // offset of u; kind is at 0
    const char *title;
    const char *text;
    const kc_schema_file_t *file;
};

// A type by its schema name ("memory.task_create", "program"), NULL when unknown.
const kc_type_t *kc_type_find (const char *name);
// All types, sorted by name: 0 .. kc_type_count () - 1.
size_t kc_type_count (void);
const kc_type_t *kc_type_at (size_t i);
// A property by its key, NULL when unknown.
const kc_field_t *kc_type_field (const kc_type_t *type, const char *key);
// The name of an enum value ("" for UNSET and unknown ones) and back (0 when unknown or
// NULL).
const char *kc_enum_name (const kc_type_t *type, unsigned value);
unsigned kc_enum_parse (const kc_type_t *type, const char *name);
// The type as a self-contained draft 2020-12 schema (compact JSON, $defs inside);
// caller frees.
char *kc_type_schema (const kc_type_t *type);

// ---- objects ----

// An object from 'size' bytes of JSON, or NULL with 'errs' (may be NULL) filled.  Free
// with kc_type_free.
void *kc_type_decode (const kc_type_t *type, const char *json, size_t size,
                      kc_mode_t mode, kc_errs_t *errs);
// Canonical JSON, zero-terminated, its length in *size_p (may be NULL); caller frees.
// NULL when the object breaks its schema: 'errs' says where; without 'errs' the first
// error is logged.
char *kc_type_encode (const kc_type_t *type, const void *object, size_t *size_p,
                      kc_errs_t *errs);
// 0 when kc_type_encode would succeed, else -1.
int kc_type_check (const kc_type_t *type, const void *object, kc_errs_t *errs);
// A new object with defaults and constants set; never NULL.
void *kc_type_new (const kc_type_t *type);
// The same for zeroed memory of the caller, such as an element that kc_push made.
void kc_type_init (const kc_type_t *type, void *object);
// Free what the object owns and zero it; the object itself stays.
void kc_type_clear (const kc_type_t *type, void *object);
void kc_type_free (const kc_type_t *type, void *object);       // NULL is fine
void *kc_type_dup (const kc_type_t *type, const void *object); // NULL gives NULL
// SHA-256 of the canonical JSON in hex; -1 (hex = "") when the object breaks its
// schema.
int kc_type_hash (const kc_type_t *type, const void *object, char hex[KC_SHA_HEX]);
bool kc_type_equal (const kc_type_t *type, const void *a,
                    const void *b); // same canonical JSON

// ---- one property of any object (not for arrays, objects, unions) ----

bool kc_field_present (const kc_field_t *field,
                       const void *object); // arrays: not empty
bool kc_field_number (const kc_field_t *field, const void *object,
                      double *out); // number, integer, boolean
bool kc_field_integer (const kc_field_t *field, const void *object,
                       int64_t *out); // integer, boolean
const char *kc_field_string (const kc_field_t *field,
                             const void *object); // string, enum; NULL = absent

// ---- text ----

bool kc_utf8_valid (const char *text, size_t size); // and no zero byte
// A copy that any schema accepts as text: invalid UTF-8 and zero bytes become U+FFFD,
// escape sequences of terminals and other control characters but tab and newline go,
// \r\n becomes \n.  With 'max' > 0 the copy has at most 'max' characters: the middle is
// replaced by " [...] ".  Caller frees; never NULL.
char *kc_utf8_clean (const char *text, size_t size, size_t max);
// Any JSON text indented for people (reals to 15 digits); NULL when it is not JSON.
// Caller frees.
char *kc_json_pretty (const char *json, size_t size);

#endif // KC_CODEC_H
