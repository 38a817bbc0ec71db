/* kc_signature.h - the kernels of a CUDA source, read by a small tokenizer
 *
 * Comments, strings and preprocessor lines are skipped; __global__, attributes and
 * __launch_bounds__ are understood with balanced parentheses; parameters are split at
 * top-level commas outside <>. Signatures made by the preprocessor are not seen.  Sizes
 * are those of the device's C++ ABI.
 */
#ifndef KC_SIGNATURE_H
#define KC_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/util/kc_err.h"

enum {
    KC_SIGNATURE_KERNELS = 256,
    KC_SIGNATURE_PARAMS = 64,
    KC_SIGNATURE_TEMPLATE = 16
};

typedef enum kc_ctype {
    KC_C_VOID = 1,
    KC_C_BOOL,
    KC_C_BYTE, // char, unsigned char, signed char: may point to anything
    KC_C_I16,
    KC_C_U16,
    KC_C_I32,
    KC_C_U32,
    KC_C_I64,
    KC_C_U64,
    KC_C_F32,
    KC_C_F64,
    KC_C_F16,
    KC_C_BF16,
    KC_C_F8E4M3,
    KC_C_F8E5M2,
    KC_C_TENSORMAP, // CUtensorMap
    KC_C_TEMPLATE,  // a template parameter: known once the template is
    KC_C_OTHER      // a struct or an alias of the source
} kc_ctype_t;

typedef struct kc_param {
    char *name;
    char *type;      // as written, without the name: "const float *__restrict__"
    kc_ctype_t base; // of the value or of what is pointed to
    int lanes;       // 1, 2, 3 or 4: float4 is F32 with 4 lanes
    char *base_name; // of TEMPLATE and OTHER: the type's name, else NULL
    bool pointer;
    bool pointer_pointer;
    bool reference;
    bool is_const;      // of the value, or of what is pointed to
    size_t size, align; // of the argument, 0 = unknown (TEMPLATE, OTHER by value)
    int line;
} kc_param_t;

typedef struct kc_kernel_signature {
    char *name; // with namespaces: "a::k"
    int line;   // of the name
    size_t n_params;
    kc_param_t *params;
    size_t n_template;
    char **template_names; // template <int N, typename T>: N, T
    bool *template_types;  // typename or class
    char *bounds;          // text inside __launch_bounds__ ( ), NULL = none
} kc_kernel_signature_t;

typedef struct kc_symbol { // a namespace-scope __constant__ or __device__ variable
    char *name;
    bool constant;
    int line;
} kc_symbol_t;

typedef struct kc_signatures {
    size_t n;
    kc_kernel_signature_t *items;
    size_t n_symbols;
    kc_symbol_t *symbols;
} kc_signatures_t;

// Read all kernels.  NULL with KC_EINVALID ("line 12: ...") when a __global__ cannot be
// understood.
kc_signatures_t *kc_signatures_read (const char *source, kc_err_t *err);
void kc_signatures_destroy (kc_signatures_t **self_p);
// The definition named 'name', or NULL.
const kc_kernel_signature_t *kc_signatures_find (const kc_signatures_t *self,
                                                 const char *name);
const kc_symbol_t *kc_signatures_symbol (const kc_signatures_t *self, const char *name);

// The type written as 'text' ("float4", "unsigned long long"): 0, or -1 when it is none
// we know.
int kc_ctype_parse (const char *text, kc_ctype_t *base, int *lanes);
size_t
kc_ctype_size (kc_ctype_t base); // bytes of one lane, 0 for VOID, TEMPLATE and OTHER

#endif // KC_SIGNATURE_H
