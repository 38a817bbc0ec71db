/* kc_schemagen.h - what the reader of schemas hands to the writer of C
 *
 * A host tool: it runs at build time only and stops at the first fault, naming file and
 * JSON pointer. Everything it allocates hangs on gen_t and is freed at the end or by
 * gen_die.
 */
#ifndef KC_SCHEMAGEN_H
#define KC_SCHEMAGEN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

typedef enum base {
    B_STRING,
    B_INTEGER,
    B_NUMBER,
    B_BOOLEAN,
    B_ENUM,
    B_OBJECT,
    B_UNION
} base_t;

typedef struct type type_t;
typedef struct file file_t;
typedef struct gen gen_t;

typedef struct use { // how one property (or the items of an array) uses a value
    base_t base;
    bool array, required, nullable, has_default, is_const, secret;
    bool has_min, has_max, has_lo, has_hi;
    type_t *type; // enums, objects, unions
    json_int_t items_min, items_max, length_min, length_max;
    const char *kind; // "PLAIN", "NAME", ...
    json_int_t int_min, int_max;
    double num_min, num_max, lo, hi;
    const char *value_string;
    json_int_t value_int;
    double value_num;
    const char *title, *text, *unit, *source, *note;
} use_t;

typedef struct field {
    const char *name;   // JSON key
    const char *member; // C member
    bool has;           // there is a has_x
    use_t use;
} field_t;

typedef struct value {
    const char *text;       // JSON value or name of a variant
    const char *enumerator; // KC_FOO_STATE_DONE
    type_t *type;           // variants
} value_t;

struct type {
    base_t base;
    file_t *file;
    const json_t *node;
    const char *pointer;
    const char *cname; // kc_foo_bar
    const char *sname; // foo.bar
    const char *upper; // KC_FOO_BAR
    const char *title, *text;
    field_t *fields;
    size_t n_fields;
    value_t *values; // enums and variants
    size_t n_values;
    const char **tags; // unions: value of the discriminator, by variant
    const char *tag_key;
    bool busy, done; // state of the search for recursion
};

struct file {
    const char *stem; // "program"
    const char *base; // "program.schema.json"
    char *text;
    size_t size;
    json_t *root;
    bool *uses; // by index of gen_t.files: which headers it needs
    bool busy, done;
};

struct gen {
    file_t *files;
    size_t n_files;
    type_t **types; // in the order of discovery
    size_t n_types;
    void **blocks;
    size_t n_blocks;
    const char *out;      // folder of the generated files
    const char *include;  // prefix of their include lines
    const char *registry; // name of the table of all types
};

void gen_die (gen_t *g, const char *file, const char *pointer, const char *format, ...)
    __attribute__ ((format (printf, 4, 5), noreturn));
void *gen_alloc (gen_t *g, size_t size); // zeroed
char *gen_text (gen_t *g, const char *format, ...)
    __attribute__ ((format (printf, 2, 3), nonnull (2)));
// One more zeroed element at the end of the array *v_p.
void *gen_push (gen_t *g, void *v_p, size_t *n, size_t size);
// An upper-case C identifier part from any text.
const char *gen_upper (gen_t *g, const char *text);

bool gen_is_identifier (const char *s); // letters, digits and _, not empty

// Read the root and the definitions of one loaded file into types.
void gen_read_file (gen_t *g, file_t *file);
void gen_write_all (gen_t *g);

#endif // KC_SCHEMAGEN_H
