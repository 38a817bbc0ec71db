/* kc_ctoken.h - C++ source cut into tokens, as far as signatures, promotion and lifting
 * need it
 *
 * Comments are dropped, a preprocessor line (continuations included) is one token,
 * every punctuation character is its own token except :: and ->, so that > of templates
 * never hides in >>.  Tokens point into the text, which must outlive them.  Anything is
 * accepted: bytes that start no token are PUNCT.
 */
#ifndef KC_CTOKEN_H
#define KC_CTOKEN_H

#include <stdbool.h>
#include <stddef.h>

typedef enum kc_ctoken_kind {
    KC_CT_WORD = 1,
    KC_CT_NUMBER,
    KC_CT_STRING, // or character literal
    KC_CT_PUNCT,
    KC_CT_LINE // preprocessor
} kc_ctoken_kind_t;

typedef struct kc_ctoken {
    const char *at;
    unsigned size;
    int line; // from 1
    kc_ctoken_kind_t kind;
} kc_ctoken_t;

typedef struct kc_ctokens {
    size_t n;
    kc_ctoken_t *items; // followed by one empty PUNCT token
} kc_ctokens_t;

void kc_ctokens_read (kc_ctokens_t *out, const char *text, size_t size);
void kc_ctokens_free (kc_ctokens_t *tokens);

bool kc_ctoken_is (const kc_ctoken_t *t, const char *text);
// Three adjacent < (or >) beginning at token 'i': the launch brackets.
bool kc_ctokens_triple (const kc_ctokens_t *t, size_t i, char bracket);
// Token 'i' is ( [ { or <: the index of its partner, or t->n.  Inside < > parentheses
// nest as well.
size_t kc_ctokens_match (const kc_ctokens_t *t, size_t i);
// The text from token 'from' up to (not including) 'to' with single spaces where
// needed; caller frees.
char *kc_ctokens_text (const kc_ctokens_t *t, size_t from, size_t to);
char *kc_ctoken_dup (const kc_ctoken_t *t); // caller frees

#endif // KC_CTOKEN_H
