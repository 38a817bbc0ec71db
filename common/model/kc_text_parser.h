/* kc_text_parser.h - the state shared by the files that parse the text form (inside
 * common/model) */
#ifndef KC_TEXT_PARSER_H
#define KC_TEXT_PARSER_H

#include "common/model/kc_program_text.h"
#include "common/model/kc_signature.h"
#include "common/util/kc_map.h"

typedef enum kc_item_kind {
    KC_ITEM_STEP = 1,
    KC_ITEM_FOR,
    KC_ITEM_IF,
    KC_ITEM_BLOCK
} kc_item_kind_t;

// Plan lines form a tree until all are read; then it is flattened into blocks.
typedef struct kc_item kc_item_t;
struct kc_item {
    kc_item_kind_t kind;
    int line;
    kc_program_step_t step; // STEP
    char *index, *count;    // FOR
    char *cond;             // IF
    kc_item_t *parent;
    size_t n;
    kc_item_t **items; // FOR, IF and the two roots
};

typedef struct kc_text_parser {
    kc_program_text_t *out;
    kc_program_t *program;
    const kc_card_t *card;
    kc_verdict_t *findings;
    bool failed;
    int line; // of the statement in work
    kc_signatures_t *signatures;
    kc_map_t *names; // declared name -> its kind
    kc_item_t prepare, blocks;
    kc_item_t *open; // where the next step goes
    bool in_prepare;
    int prepare_line;
    bool *launched; // per signature
} kc_text_parser_t;

// Report and return -1.
int kc_text_bad (kc_text_parser_t *s, const char *format, ...)
    __attribute__ ((format (printf, 2, 3)));
// Remember a name; -1 when it is taken, reserved or no identifier.
int kc_text_declare (kc_text_parser_t *s, const char *name, const char *kind);
int kc_text_expr (kc_text_parser_t *s, const char *text); // 0 when it parses
bool kc_text_is_name (const char *text);
// Take a word of letters, digits and _ from *p_p (white space around skipped); NULL
// when there is none.
char *kc_text_word (const char **p_p);
void kc_text_space (const char **p_p);
// Parse "DTYPE[E, E]" at *p_p; -1 reported.
int kc_text_dtype_shape (kc_text_parser_t *s, const char **p_p,
                         kc_program_dtype_t *dtype, char ***shape, size_t *n);
// "key=value key word key="a b"": the next pair, 1, 0 at the end, -1 reported.  Caller
// frees both.
int kc_text_pair (kc_text_parser_t *s, const char **p_p, char **key_p, char **value_p);

// A statement 'rest' that begins with 'word'; 1 handled, 0 not mine, -1 reported.
int kc_text_plan_line (kc_text_parser_t *s, const char *word, const char *rest);
int kc_text_step_line (kc_text_parser_t *s, const char *word, const char *rest);
int kc_text_task_line (kc_text_parser_t *s, const char *word, const char *rest,
                       const char *comment);
// Turn the two trees into the program's blocks; -1 reported.
int kc_text_flatten (kc_text_parser_t *s);
void kc_task_text_free (kc_task_text_t *task);

#endif // KC_TEXT_PARSER_H
