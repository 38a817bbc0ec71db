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

static double s_or (bool has, double value, double other)
{
    return has ? value : other;
}

kc_fill_t kc_fill_make (const kc_card_fill_t *fill, kc_program_dtype_t dtype,
                        int64_t elements, uint64_t key)
{
    kc_fill_t f = {
        .type = kc_fill_type_of (dtype), .key = key, .elements = (kc_u64)elements};
    switch (fill->kind) {
    case KC_CARD_FILL_KIND_UNIFORM:
        f.kind = KC_FILL_UNIFORM;
        f.a = s_or (fill->has_a, fill->a, 0);
        f.b = s_or (fill->has_b, fill->b, 1);
        break;
    case KC_CARD_FILL_KIND_NORMAL:
        f.kind = KC_FILL_NORMAL;
        f.a = s_or (fill->has_a, fill->a, 0);
        f.b = s_or (fill->has_b, fill->b, 1);
        break;
    case KC_CARD_FILL_KIND_INTEGER:
        f.kind = KC_FILL_INTEGER;
        f.a = s_or (fill->has_a, fill->a, 0);
        f.b = s_or (fill->has_b, fill->b, 1);
        break;
    case KC_CARD_FILL_KIND_BOOL:
        f.kind = KC_FILL_BOOL;
        f.a = s_or (fill->has_a, fill->a, 0.5);
        break;
    case KC_CARD_FILL_KIND_PERMUTATION:
        f.kind = KC_FILL_PERMUTATION;
        break;
    case KC_CARD_FILL_KIND_UNSET:
    case KC_CARD_FILL_KIND_CONSTANT:
        f.kind = KC_FILL_CONSTANT;
        f.a = s_or (fill->has_a, fill->a, 0);
        break;
    }
    return f;
}
