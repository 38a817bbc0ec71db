/* kc_lift_host.h - the host side of a text that is being lifted (inside common/model)
 */
#ifndef KC_LIFT_HOST_H
#define KC_LIFT_HOST_H

#include "common/model/kc_ctoken.h"
#include "common/model/kc_signature.h"
#include "common/msg/gen/card.h"
#include "common/util/kc_buf.h"
#include "common/util/kc_err.h"

typedef enum kc_host_kind {
    KC_HOST_VALUE = 1, // an integer, float or condition: 'text' is a plan expression
    KC_HOST_TENSOR,    // index in tensors
    KC_HOST_DIM3,      // text is "[x, y]"
    KC_HOST_UNKNOWN    // something that was not understood: 'text' is the sentence
} kc_host_kind_t;

typedef struct kc_host_name {
    char *name;
    kc_host_kind_t kind;
    char *text;
    int tensor;
} kc_host_name_t;

typedef struct kc_host_tensor {
    char *name;     // on the host
    char *plan;     // in the plan, given at the end
    bool made_here; // allocated by the launcher
    bool returned, read, written, zero;
    bool pointer;    // came as a raw pointer
    bool made_const; // const T *
    char *dtype;     // "f32", of those made here
    char *shape;     // "B, D", or NULL: like
    int like;        // tensor it is like, -1
} kc_host_tensor_t;

typedef struct kc_host {
    const kc_ctokens_t *t;
    const kc_signatures_t *signatures;
    const kc_card_t *card;
    kc_err_t *err;
    size_t n_names;
    kc_host_name_t *names; // the last one of a name counts
    size_t n_tensors;
    kc_host_tensor_t *tensors;
    kc_buf_t steps; // plan lines with "\x01<index>\x02" for tensors
    int n_launches;
    int depth;
} kc_host_t;

// Remember a name; takes 'text'.
void kc_host_set (kc_host_t *h, const char *name, kc_host_kind_t kind, char *text,
                  int tensor);
const kc_host_name_t *kc_host_get (const kc_host_t *h, const kc_ctoken_t *t);
int kc_host_tensor (kc_host_t *h, const char *name); // a new one; its index
// "line 12 is not understood: 'sentence'"; return -1.
int kc_host_refuse (const kc_host_t *h, size_t from, size_t to, const char *why);

// The host expression in tokens [from, to) as a plan expression; caller frees; NULL
// refused.
char *kc_host_expr (kc_host_t *h, size_t from, size_t to);
// The tensor (and offset in *offset_p, NULL = none) that a pointer expression means;
// index, or -1 refused.
int kc_host_pointer (kc_host_t *h, size_t from, size_t to, char **offset_p);
// Statements [from, to) of the launcher.
int kc_host_statements (kc_host_t *h, size_t from, size_t to);
// Split tokens [from, to) at top-level commas: ends (not including) in ends[]; the
// count, at most 'most', -1.
int kc_host_split (const kc_ctokens_t *t, size_t from, size_t to, size_t *starts,
                   size_t *ends, int most);

#endif // KC_LIFT_HOST_H
