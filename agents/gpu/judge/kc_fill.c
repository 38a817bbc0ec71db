// kc_fill.c - see kc_fill.h

#include "agents/gpu/judge/kc_fill.h"

kc_u32 kc_fill_type_of (kc_program_dtype_t dtype)
{
    switch (dtype) {
    case KC_PROGRAM_DTYPE_F64:
        return KC_FILL_F64;
    case KC_PROGRAM_DTYPE_F32:
        return KC_FILL_F32;
    case KC_PROGRAM_DTYPE_F16:
        return KC_FILL_F16;
    case KC_PROGRAM_DTYPE_BF16:
        return KC_FILL_BF16;
    case KC_PROGRAM_DTYPE_F8E4M3:
        return KC_FILL_F8E4M3;
    case KC_PROGRAM_DTYPE_F8E5M2:
        return KC_FILL_F8E5M2;
    case KC_PROGRAM_DTYPE_I64:
        return KC_FILL_I64;
    case KC_PROGRAM_DTYPE_I32:
        return KC_FILL_I32;
    case KC_PROGRAM_DTYPE_I16:
        return KC_FILL_I16;
    case KC_PROGRAM_DTYPE_I8:
        return KC_FILL_I8;
    case KC_PROGRAM_DTYPE_U32:
        return KC_FILL_U32;
    case KC_PROGRAM_DTYPE_U16:
        return KC_FILL_U16;
    case KC_PROGRAM_DTYPE_U8:
        return KC_FILL_U8;
    case KC_PROGRAM_DTYPE_BOOL:
    case KC_PROGRAM_DTYPE_UNSET:
        break;
    }
    return KC_FILL_BOOLEAN;
}

static kc_u32 s_kind (kc_card_fill_kind_t kind)
{
    switch (kind) {
    case KC_CARD_FILL_KIND_UNIFORM:
        return KC_FILL_UNIFORM;
    case KC_CARD_FILL_KIND_NORMAL:
        return KC_FILL_NORMAL;
    case KC_CARD_FILL_KIND_INTEGER:
        return KC_FILL_INTEGER;
    case KC_CARD_FILL_KIND_BOOL:
        return KC_FILL_BOOL;
    case KC_CARD_FILL_KIND_PERMUTATION:
        return KC_FILL_PERMUTATION;
    case KC_CARD_FILL_KIND_CONSTANT:
    case KC_CARD_FILL_KIND_UNSET:
        break;
    }
    return KC_FILL_CONSTANT;
}

kc_fill_t kc_fill_make (const kc_card_fill_t *fill, kc_program_dtype_t dtype, int64_t elements, uint64_t key)
{
    return (kc_fill_t){.kind = s_kind (fill->kind), .type = kc_fill_type_of (dtype), .a = fill->a, .b = fill->b, .key = key,
                       .elements = (kc_u64)elements};
}
