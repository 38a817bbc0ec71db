// vg_decode.c - from parsed instructions to ready-to-run ones: rows, constants, operator bodies
//
// One op per instruction, so a pc is an instruction index.  Whatever has no body is refused here, with
// instruction and line; after loading nothing is unknown any more.  Longer than other files because the table
// of instruction forms is one switch.

#include "agents/gpu/vgpu/vg_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/util/kc_mem.h"

enum { MAX_POOL = 65536 }; // constants of one function

typedef struct constant {
    uint64_t value;
    uint32_t row, rows;
    bool dynamic;
} constant_t;

typedef struct decoder {
    vgpu_module_t *m;
    const ptx_func_t *f;
    int32_t f_index;
    vg_func_t *out;
    uint32_t *row;      // per register
    constant_t *pool;
    uint32_t n_pool, room_pool, pool_bytes;
    uint32_t init_row[PTX_SREG_COUNT]; // 0 = none yet
    uint32_t room_inits, room_calls, room_dynamic;
    uint32_t n_preds;
    kc_err_t *err;
    const ptx_instr_t *i;
    const ptx_operand_t *op; // operands of the current instruction
    bool failed;
} decoder_t;

static bool s_fail (decoder_t *d, kc_code_t code, const char *format, ...) __attribute__ ((format (printf, 3, 4)));
static bool s_fail (decoder_t *d, kc_code_t code, const char *format, ...)
{
    char text[256];
    va_list args;
    if (d->failed)
        return false;
    d->failed = true;
    va_start (args, format);
    vsnprintf (text, sizeof (text), format, args);
    va_end (args);
    if (d->i->line)
        kc_fail (d->err, code, "line %u (PTX line %u), '%s' in %s: %s", d->i->line, d->i->ptx_line, d->i->text, d->f->name, text);
    else
        kc_fail (d->err, code, "PTX line %u, '%s' in %s: %s", d->i->ptx_line, d->i->text, d->f->name, text);
    return false;
}

static bool s_unsupported (decoder_t *d)
{
    ptx_family_t family = ptx_opcode_family ((ptx_opcode_t)d->i->opcode);
    static const char *const names[] = {
#define ROW(sym, name, now) name,
        PTX_FAMILIES (ROW)
#undef ROW
    };
    static const bool now[] = {
#define ROW(sym, name, n) n,
        PTX_FAMILIES (ROW)
#undef ROW
    };
    return s_fail (d, KC_EUNSUPPORTED, "UNSUPPORTED: the virtual GPU does not execute this %s%s", names[family],
                   now[family] ? " form" : " instruction yet");
}

// ---- rows

static uint32_t s_pool (decoder_t *d, uint64_t value, uint32_t rows, bool dynamic)
{
    if (rows == 1)
        value &= 0xffffffffu;
    for (uint32_t k = 0; k < d->n_pool; k++)
        if (d->pool[k].value == value && d->pool[k].rows == rows && d->pool[k].dynamic == dynamic)
            return d->pool[k].row | VG_POOL;
    if (d->n_pool >= MAX_POOL) {
        s_fail (d, KC_EUNSUPPORTED, "more than %d different constants in one function", MAX_POOL);
        return VG_POOL;
    }
    if (d->n_pool == d->room_pool) {
        d->room_pool = d->room_pool ? d->room_pool * 2 : 64;
        d->pool = kc_realloc (d->pool, d->room_pool * sizeof (*d->pool));
    }
    constant_t *c = &d->pool[d->n_pool++];
    *c = (constant_t){.value = value, .row = d->pool_bytes, .rows = rows, .dynamic = dynamic};
    d->pool_bytes += rows * VG_ROW;
    return c->row | VG_POOL;
}

static vg_init_t *s_new_init (decoder_t *d, uint32_t rows)
{
    vg_func_t *f = d->out;
    if (f->n_inits == d->room_inits) {
        d->room_inits = d->room_inits ? d->room_inits * 2 : 8;
        f->inits = kc_realloc (f->inits, d->room_inits * sizeof (*f->inits));
    }
    vg_init_t *in = &f->inits[f->n_inits++];
    *in = (vg_init_t){.row = f->reg_bytes};
    f->reg_bytes += rows * VG_ROW;
    return in;
}

static uint32_t s_sreg_row (decoder_t *d, int which, uint32_t rows)
{
    if (which >= PTX_SREG_CLOCK) {
        s_fail (d, KC_EUNSUPPORTED, "UNSUPPORTED: clock registers are refused, a kernel must not know the time");
        return VG_POOL;
    }
    if (rows == 2) {
        if (which != PTX_SREG_GRIDID)
            s_fail (d, KC_EINVALID, "a 32-bit special register where 64 bits are needed");
        return s_pool (d, 0, 2, false);
    }
    if (!d->init_row[which]) {
        vg_init_t *in = s_new_init (d, 1);
        in->kind = VG_INIT_SREG;
        in->which = which;
        d->init_row[which] = in->row + 1; // 0 means none
    }
    return d->init_row[which] - 1;
}

static uint32_t s_local_row (decoder_t *d, uint64_t offset)
{
    for (uint32_t k = 0; k < d->out->n_inits; k++)
        if (d->out->inits[k].kind == VG_INIT_LOCAL && d->out->inits[k].offset == offset)
            return d->out->inits[k].row;
    vg_init_t *in = s_new_init (d, 2);
    in->kind = VG_INIT_LOCAL;
    in->offset = offset;
    return in->row;
}

static uint64_t s_param_address (const decoder_t *d, const ptx_symbol_t *s)
{
    return s->kind == PTX_SYM_PARAM && d->f->is_kernel ? s->offset : s->offset + VG_FUNC_PARAM;
}

// The row that holds the address of a symbol in its own space.
static uint32_t s_symbol_row (decoder_t *d, const ptx_operand_t *o, uint32_t rows)
{
    const ptx_symbol_t *s = &d->m->ptx->symbols[o->symbol];
    uint64_t plus = (uint64_t)o->value;
    if (s->kind == PTX_SYM_FUNC) {
        s_fail (d, KC_EUNSUPPORTED, "UNSUPPORTED: the address of function %s; call it by name", s->name);
        return VG_POOL;
    }
    switch ((ptx_space_t)s->space) {
    case PTX_SPACE_GLOBAL:
        return s_pool (d, VG_MODULE_BASE + d->m->symbol_at[o->symbol] + plus, rows, false);
    case PTX_SPACE_SHARED:
        return s_pool (d, s->is_extern ? plus : s->offset + plus, rows, s->is_extern);
    case PTX_SPACE_LOCAL:
        if (rows == 1)
            s_fail (d, KC_EUNSUPPORTED, "UNSUPPORTED: a local address in a 32-bit register");
        return s_local_row (d, s->offset + plus);
    case PTX_SPACE_PARAM:
        return s_pool (d, s_param_address (d, s) + plus, rows, false);
    case PTX_SPACE_CONST:
        return s_pool (d, s->offset + plus, rows, false);
    case PTX_SPACE_GENERIC:
    case PTX_SPACE_COUNT:
        break;
    }
    return VG_POOL;
}

static uint32_t s_rows_of (uint8_t type)
{
    return ptx_type_bytes ((ptx_type_t)type) == 8 ? 2 : 1;
}

static bool s_is_float (uint8_t type)
{
    return type == PTX_TYPE_F32 || type == PTX_TYPE_F64;
}

static bool s_is_signed (uint8_t type)
{
    return type == PTX_TYPE_S8 || type == PTX_TYPE_S16 || type == PTX_TYPE_S32 || type == PTX_TYPE_S64;
}

static uint64_t s_literal (const ptx_operand_t *o, uint8_t type)
{
    if (o->kind == PTX_OP_INT && !s_is_float (type))
        return (uint64_t)o->value;
    double x;
    if (o->kind == PTX_OP_INT)
        x = (double)o->value;
    else if (o->single) {
        uint32_t bits = (uint32_t)o->value;
        float f;
        if (type != PTX_TYPE_F64)
            return bits;
        memcpy (&f, &bits, 4);
        x = (double)f;
    }
    else {
        if (type != PTX_TYPE_F32)
            return (uint64_t)o->value;
        memcpy (&x, &o->value, 8);
    }
    uint64_t bits = 0;
    if (type == PTX_TYPE_F64) {
        memcpy (&bits, &x, 8);
        return bits;
    }
    float f = (float)x;
    uint32_t b;
    memcpy (&b, &f, 4);
    return b;
}

// The row of a source operand of the given type.
static uint32_t s_operand (decoder_t *d, const ptx_operand_t *o, uint8_t type)
{
    uint32_t rows = s_rows_of (type);
    switch ((ptx_operand_kind_t)o->kind) {
    case PTX_OP_REG:
        if (d->f->regs[o->reg].bits == 1 || (d->f->regs[o->reg].bits == 64) != (rows == 2))
            s_fail (d, KC_EINVALID, "register %s has not the width of .%s", d->f->regs[o->reg].name,
                    ptx_type_name ((ptx_type_t)type));
        return d->row[o->reg];
    case PTX_OP_INT:
    case PTX_OP_FLOAT:
        return s_pool (d, s_literal (o, type), rows, false);
    case PTX_OP_SREG:
        return s_sreg_row (d, o->sreg, rows);
    case PTX_OP_SYMBOL:
        return s_symbol_row (d, o, rows);
    case PTX_OP_NONE:
    case PTX_OP_ADDRESS:
    case PTX_OP_LABEL:
    case PTX_OP_VECTOR:
    case PTX_OP_PAIR:
    case PTX_OP_SINK:
        break;
    }
    s_fail (d, KC_EINVALID, "an operand has the wrong form");
    return VG_POOL;
}

static bool s_need (decoder_t *d, uint32_t n)
{
    return d->i->n_operands >= n || s_fail (d, KC_EINVALID, "%u operands are needed, there are %u", n, d->i->n_operands);
}

static void s_source (decoder_t *d, vg_op_t *o, uint32_t k, uint8_t type)
{
    if (!s_need (d, k + 2))
        return;
    o->s[o->n_s] = s_operand (d, &d->op[k + 1], type);
    o->s_rows[o->n_s++] = (uint8_t)s_rows_of (type);
}

static void s_dest (decoder_t *d, vg_op_t *o, uint8_t type)
{
    const ptx_operand_t *r = d->op;
    uint32_t rows = s_rows_of (type);
    if (!s_need (d, 1))
        return;
    if (r->kind != PTX_OP_REG || d->f->regs[r->reg].bits == 1 || (d->f->regs[r->reg].bits == 64) != (rows == 2)) {
        s_fail (d, KC_EINVALID, "the destination must be a %u-bit register", rows * 32);
        return;
    }
    o->d = d->row[r->reg];
    o->d_rows = (uint8_t)rows;
}

static int32_t s_pred (decoder_t *d, const ptx_operand_t *o)
{
    if (o->kind == PTX_OP_SINK)
        return -1;
    if (o->kind != PTX_OP_REG || d->f->regs[o->reg].bits != 1) {
        s_fail (d, KC_EINVALID, "a predicate is needed");
        return 0;
    }
    return (int32_t)d->row[o->reg];
}

// p or p|q as destination
static void s_pred_dest (decoder_t *d, vg_op_t *o)
{
    if (!s_need (d, 1))
        return;
    if (d->op->kind == PTX_OP_PAIR) {
        o->pd = s_pred (d, &d->f->operands[d->op->value]);
        o->pd2 = s_pred (d, &d->f->operands[d->op->value + 1]);
    }
    else
        o->pd = s_pred (d, d->op);
}

static void s_pred_source (decoder_t *d, vg_op_t *o, uint32_t k)
{
    if (!s_need (d, k + 2))
        return;
    o->ps = s_pred (d, &d->op[k + 1]);
    o->ps_not = d->op[k + 1].negate;
}

// ---- choosing a body

static void s_body (decoder_t *d, vg_op_t *o, vg_handler_t h)
{
    if (h == VG_H_NONE)
        s_unsupported (d);
    else
        o->fn = d->m->handlers[h];
}

#define INT3(name) {VG_H_##name##_u16, VG_H_##name##_u16, VG_H_##name##_u32, VG_H_##name##_u32, VG_H_##name##_u64, VG_H_##name##_u64}
#define INT6(name) {VG_H_##name##_u16, VG_H_##name##_s16, VG_H_##name##_u32, VG_H_##name##_s32, VG_H_##name##_u64, VG_H_##name##_s64}

static vg_handler_t s_by_type (uint8_t type, const vg_handler_t ints[6], vg_handler_t f32, vg_handler_t f64)
{
    static const vg_handler_t none[6] = {VG_H_NONE};
    if (!ints)
        ints = none;
    switch ((int)type) {
    case PTX_TYPE_B16:
    case PTX_TYPE_U16:
        return ints[0];
    case PTX_TYPE_S16:
        return ints[1];
    case PTX_TYPE_B32:
    case PTX_TYPE_U32:
        return ints[2];
    case PTX_TYPE_S32:
        return ints[3];
    case PTX_TYPE_B64:
    case PTX_TYPE_U64:
        return ints[4];
    case PTX_TYPE_S64:
        return ints[5];
    case PTX_TYPE_F32:
        return f32;
    case PTX_TYPE_F64:
        return f64;
    default:
        return VG_H_NONE;
    }
}

// Rounding, flush to zero, saturation: wrap the body.
static void s_fp_mode (decoder_t *d, vg_op_t *o, bool flush_result)
{
    const ptx_instr_t *i = d->i;
    unsigned mode = 0;
    switch ((ptx_round_t)i->round) {
    case PTX_ROUND_RZ:
        mode = 1;
        break;
    case PTX_ROUND_RM:
        mode = 2;
        break;
    case PTX_ROUND_RP:
        mode = 3;
        break;
    case PTX_ROUND_NONE:
    case PTX_ROUND_RN:
    case PTX_ROUND_RNI:
    case PTX_ROUND_RZI:
    case PTX_ROUND_RMI:
    case PTX_ROUND_RPI:
    case PTX_ROUND_RNA:
    case PTX_ROUND_RS:
        break;
    }
    bool ftz = i->mods & PTX_MOD_FTZ;
    o->saturate = (uint8_t)((i->mods & PTX_MOD_SAT ? 1 : 0) | (ftz && flush_result ? 2 : 0));
    if (mode || (ftz && !flush_result))
        o->mxcsr = (uint8_t)(1 + mode + (ftz ? 8 : 0));
    if (o->mxcsr || o->saturate) {
        o->inner = o->fn;
        o->fn = d->m->handlers[VG_H_fp_mode];
    }
}

static void s_float_class (vg_op_t *o, uint8_t type, vgpu_class_t f32, uint8_t flops)
{
    o->cls = (uint8_t)(type == PTX_TYPE_F64 ? VGPU_CLASS_FP64 : f32);
    o->flops = flops;
}

// d = f (a, b, ...) with all operands of the instruction's type
static void s_plain (decoder_t *d, vg_op_t *o, uint32_t n, vg_handler_t h)
{
    uint8_t type = d->i->type;
    s_dest (d, o, type);
    for (uint32_t k = 0; k < n; k++)
        s_source (d, o, k, type);
    s_body (d, o, h);
}

static void s_arith (decoder_t *d, vg_op_t *o)
{
    static const vg_handler_t add[6] = INT3 (add), sub[6] = INT3 (sub), lo[6] = INT3 (mullo), hi[6] = INT6 (mulhi);
    static const vg_handler_t div[6] = INT6 (div), rem[6] = INT6 (rem), min[6] = INT6 (min), max[6] = INT6 (max);
    static const vg_handler_t madlo[6] = INT3 (madlo), madhi[6] = INT6 (madhi), sad[6] = INT6 (sad), neg[6] = INT3 (neg);
    static const vg_handler_t absolute[6] = {VG_H_NONE, VG_H_abs_s16, VG_H_NONE, VG_H_abs_s32, VG_H_NONE, VG_H_abs_s64};
    const ptx_instr_t *i = d->i;
    uint8_t t = i->type;
    bool fp = s_is_float (t), is_min = i->opcode == PTX_MIN;
    o->cls = VGPU_CLASS_INT_ALU;
    switch ((int)i->opcode) {
    case PTX_ADD:
    case PTX_SUB:
    case PTX_ADDC:
    case PTX_SUBC: {
        bool plus = i->opcode == PTX_ADD || i->opcode == PTX_ADDC, carry = i->opcode == PTX_ADDC || i->opcode == PTX_SUBC;
        if (carry || i->mods & PTX_MOD_CC) {
            o->imm = carry;
            bool wide = s_rows_of (t) == 2;
            s_plain (d, o, 2, fp || ptx_type_bytes ((ptx_type_t)t) < 4 ? VG_H_NONE
                              : plus ? (wide ? VG_H_addc_u64 : VG_H_addc_u32)
                                     : (wide ? VG_H_subc_u64 : VG_H_subc_u32));
            return;
        }
        if (i->mods & PTX_MOD_SAT && !fp) {
            s_plain (d, o, 2, t == PTX_TYPE_S32 ? (plus ? VG_H_addsat_s32 : VG_H_subsat_s32) : VG_H_NONE);
            return;
        }
        s_plain (d, o, 2, s_by_type (t, plus ? add : sub, plus ? VG_H_add_f32 : VG_H_sub_f32, plus ? VG_H_add_f64 : VG_H_sub_f64));
        if (fp) {
            s_float_class (o, t, VGPU_CLASS_FP32_ADD, 1);
            s_fp_mode (d, o, false);
        }
        return;
    }
    case PTX_MUL:
        if (fp) {
            s_plain (d, o, 2, t == PTX_TYPE_F32 ? VG_H_mul_f32 : VG_H_mul_f64);
            s_float_class (o, t, VGPU_CLASS_FP32_MUL, 1);
            s_fp_mode (d, o, false);
            return;
        }
        o->cls = VGPU_CLASS_INT_MUL;
        if (i->sub == PTX_SUB_WIDE) {
            static const vg_handler_t wide[6] = {VG_H_mulwide_u16, VG_H_mulwide_s16, VG_H_mulwide_u32, VG_H_mulwide_s32};
            uint8_t td = ptx_type_bytes ((ptx_type_t)t) == 4 ? PTX_TYPE_B64 : PTX_TYPE_B32;
            s_dest (d, o, td);
            s_source (d, o, 0, t);
            s_source (d, o, 1, t);
            s_body (d, o, s_by_type (t, wide, VG_H_NONE, VG_H_NONE));
            return;
        }
        s_plain (d, o, 2, s_by_type (t, i->sub == PTX_SUB_HI ? hi : lo, VG_H_NONE, VG_H_NONE));
        return;
    case PTX_MAD:
    case PTX_FMA:
    case PTX_MADC:
        if (fp) {
            bool directed = i->round > PTX_ROUND_RN;
            s_plain (d, o, 3, t == PTX_TYPE_F64 ? VG_H_fma_f64 : directed ? VG_H_fmar_f32 : VG_H_fma_f32);
            s_float_class (o, t, VGPU_CLASS_FP32_FMA, 2);
            s_fp_mode (d, o, false);
            return;
        }
        o->cls = VGPU_CLASS_INT_MUL;
        if (i->opcode == PTX_FMA) {
            s_unsupported (d);
            return;
        }
        if (i->opcode == PTX_MADC || i->mods & PTX_MOD_CC) {
            o->imm = (i->opcode == PTX_MADC ? 1 : 0) | (s_is_signed (t) ? 2 : 0);
            bool wide = s_rows_of (t) == 2;
            s_plain (d, o, 3, ptx_type_bytes ((ptx_type_t)t) < 4 ? VG_H_NONE : wide ? VG_H_madc_u64 : VG_H_madc_u32);
            return;
        }
        if (i->sub == PTX_SUB_WIDE) {
            static const vg_handler_t wide[6] = {VG_H_madwide_u16, VG_H_madwide_s16, VG_H_madwide_u32, VG_H_madwide_s32};
            uint8_t td = ptx_type_bytes ((ptx_type_t)t) == 4 ? PTX_TYPE_B64 : PTX_TYPE_B32;
            s_dest (d, o, td);
            s_source (d, o, 0, t);
            s_source (d, o, 1, t);
            s_source (d, o, 2, td);
            s_body (d, o, s_by_type (t, wide, VG_H_NONE, VG_H_NONE));
            return;
        }
        if (i->mods & PTX_MOD_SAT)
            s_plain (d, o, 3, t == PTX_TYPE_S32 && i->sub == PTX_SUB_HI ? VG_H_madhisat_s32 : VG_H_NONE);
        else
            s_plain (d, o, 3, s_by_type (t, i->sub == PTX_SUB_HI ? madhi : madlo, VG_H_NONE, VG_H_NONE));
        return;
    case PTX_MUL24:
    case PTX_MAD24: {
        bool high = i->sub == PTX_SUB_HI, is_signed = t == PTX_TYPE_S32, mad = i->opcode == PTX_MAD24;
        o->cls = VGPU_CLASS_INT_MUL;
        if ((t != PTX_TYPE_S32 && t != PTX_TYPE_U32) || i->mods & PTX_MOD_SAT)
            s_unsupported (d);
        else if (mad)
            s_plain (d, o, 3, high ? (is_signed ? VG_H_mad24hi_s32 : VG_H_mad24hi_u32) : is_signed ? VG_H_mad24lo_s32 : VG_H_mad24lo_u32);
        else
            s_plain (d, o, 2, high ? (is_signed ? VG_H_mul24hi_s32 : VG_H_mul24hi_u32) : is_signed ? VG_H_mul24lo_s32 : VG_H_mul24lo_u32);
        return;
    }
    case PTX_DIV:
        if (fp) {
            bool approx = i->mods & (PTX_MOD_APPROX | PTX_MOD_FULL);
            s_plain (d, o, 2, t == PTX_TYPE_F64 ? VG_H_div_f64 : approx ? VG_H_diva_f32 : VG_H_div_f32);
            s_float_class (o, t, VGPU_CLASS_MUFU, 1);
            s_fp_mode (d, o, false);
            return;
        }
        s_plain (d, o, 2, s_by_type (t, div, VG_H_NONE, VG_H_NONE));
        return;
    case PTX_REM:
        s_plain (d, o, 2, s_by_type (t, rem, VG_H_NONE, VG_H_NONE));
        return;
    case PTX_SAD:
        s_plain (d, o, 3, s_by_type (t, sad, VG_H_NONE, VG_H_NONE));
        return;
    case PTX_MIN:
    case PTX_MAX:
        if (fp) {
            bool nan = i->mods & PTX_MOD_NAN;
            if (i->mods & (PTX_MOD_XORSIGN | PTX_MOD_RELU) || i->n_operands > 3) {
                s_unsupported (d);
                return;
            }
            s_plain (d, o, 2, t == PTX_TYPE_F64 ? (nan ? VG_H_NONE : is_min ? VG_H_min_f64 : VG_H_max_f64)
                              : is_min ? (nan ? VG_H_minnan_f32 : VG_H_min_f32)
                                       : (nan ? VG_H_maxnan_f32 : VG_H_max_f32));
            s_float_class (o, t, VGPU_CLASS_FP32_OTHER, 1);
            s_fp_mode (d, o, true);
            return;
        }
        s_plain (d, o, 2, i->mods & PTX_MOD_RELU ? VG_H_NONE : s_by_type (t, is_min ? min : max, VG_H_NONE, VG_H_NONE));
        return;
    case PTX_NEG:
    case PTX_ABS:
        s_plain (d, o, 1, s_by_type (t, i->opcode == PTX_NEG ? neg : absolute, i->opcode == PTX_NEG ? VG_H_neg_f32 : VG_H_abs_f32,
                                     i->opcode == PTX_NEG ? VG_H_neg_f64 : VG_H_abs_f64));
        if (fp) {
            s_float_class (o, t, VGPU_CLASS_FP32_OTHER, 0);
            s_fp_mode (d, o, true);
        }
        return;
    case PTX_COPYSIGN:
        s_plain (d, o, 2, s_by_type (t, NULL, VG_H_copysign_f32, VG_H_copysign_f64));
        s_float_class (o, t, VGPU_CLASS_FP32_OTHER, 0);
        return;
    case PTX_POPC:
    case PTX_CLZ:
        s_dest (d, o, PTX_TYPE_B32);
        s_source (d, o, 0, t);
        s_body (d, o, s_rows_of (t) == 2 ? (i->opcode == PTX_POPC ? VG_H_popc_u64 : VG_H_clz_u64)
                                         : (i->opcode == PTX_POPC ? VG_H_popc_u32 : VG_H_clz_u32));
        return;
    case PTX_BFIND: {
        static const vg_handler_t plain[6] = {VG_H_NONE, VG_H_NONE, VG_H_bfind_u32, VG_H_bfind_s32, VG_H_bfind_u64, VG_H_bfind_s64};
        static const vg_handler_t amount[6] = {VG_H_NONE,       VG_H_NONE,       VG_H_bfindsh_u32,
                                               VG_H_bfindsh_s32, VG_H_bfindsh_u64, VG_H_bfindsh_s64};
        s_dest (d, o, PTX_TYPE_B32);
        s_source (d, o, 0, t);
        s_body (d, o, s_by_type (t, i->mods & PTX_MOD_SHIFTAMT ? amount : plain, VG_H_NONE, VG_H_NONE));
        return;
    }
    case PTX_BREV:
        s_plain (d, o, 1, s_rows_of (t) == 2 ? VG_H_brev_u64 : VG_H_brev_u32);
        return;
    case PTX_BFE: {
        static const vg_handler_t h[6] = {VG_H_NONE, VG_H_NONE, VG_H_bfe_u32, VG_H_bfe_s32, VG_H_bfe_u64, VG_H_bfe_s64};
        s_dest (d, o, t);
        s_source (d, o, 0, t);
        s_source (d, o, 1, PTX_TYPE_B32);
        s_source (d, o, 2, PTX_TYPE_B32);
        s_body (d, o, s_by_type (t, h, VG_H_NONE, VG_H_NONE));
        return;
    }
    case PTX_BFI:
        s_dest (d, o, t);
        s_source (d, o, 0, t);
        s_source (d, o, 1, t);
        s_source (d, o, 2, PTX_TYPE_B32);
        s_source (d, o, 3, PTX_TYPE_B32);
        s_body (d, o, s_rows_of (t) == 2 ? VG_H_bfi_u64 : VG_H_bfi_u32);
        return;
    case PTX_FNS:
        s_plain (d, o, 3, VG_H_fns);
        return;
    case PTX_BMSK:
        s_plain (d, o, 2, i->sub == PTX_SUB_WRAP ? VG_H_bmskwrap_u32 : VG_H_bmskclamp_u32);
        return;
    case PTX_SZEXT:
        s_plain (d, o, 2, i->sub == PTX_SUB_WRAP ? (t == PTX_TYPE_S32 ? VG_H_szextwrap_s32 : VG_H_szextwrap_u32)
                                                 : (t == PTX_TYPE_S32 ? VG_H_szextclamp_s32 : VG_H_szextclamp_u32));
        return;
    case PTX_DP4A:
    case PTX_DP2A: {
        bool as = t == PTX_TYPE_S32, bs = i->type2 == PTX_TYPE_S32;
        o->cls = VGPU_CLASS_INT_MUL;
        s_plain (d, o, 3, i->opcode == PTX_DP2A ? VG_H_dp2a
                          : as ? (bs ? VG_H_dp4ass_u32 : VG_H_dp4asu_u32)
                               : (bs ? VG_H_dp4aus_u32 : VG_H_dp4auu_u32));
        return;
    }
    default:
        s_unsupported (d);
    }
}

static void s_math (decoder_t *d, vg_op_t *o)
{
    const ptx_instr_t *i = d->i;
    bool f32 = i->type == PTX_TYPE_F32, f64 = i->type == PTX_TYPE_F64, approx = i->mods & PTX_MOD_APPROX;
    vg_handler_t h = VG_H_NONE;
    switch ((int)i->opcode) {
    case PTX_RCP:
        h = f32 ? (approx ? VG_H_rcpa_f32 : VG_H_rcp_f32) : f64 ? VG_H_rcp_f64 : VG_H_NONE;
        break;
    case PTX_SQRT:
        h = f32 ? (approx ? VG_H_sqrta_f32 : VG_H_sqrt_f32) : f64 ? VG_H_sqrt_f64 : VG_H_NONE;
        break;
    case PTX_RSQRT:
        h = f32 ? VG_H_rsqrt_f32 : f64 ? VG_H_rsqrt_f64 : VG_H_NONE;
        break;
    case PTX_SIN:
        h = f32 ? VG_H_sin_f32 : VG_H_NONE;
        break;
    case PTX_COS:
        h = f32 ? VG_H_cos_f32 : VG_H_NONE;
        break;
    case PTX_LG2:
        h = f32 ? VG_H_lg2_f32 : VG_H_NONE;
        break;
    case PTX_EX2:
        h = f32 ? VG_H_ex2_f32 : VG_H_NONE;
        break;
    case PTX_TANH:
        h = f32 ? VG_H_tanh_f32 : VG_H_NONE;
        break;
    default:
        break;
    }
    s_plain (d, o, 1, h);
    s_float_class (o, i->type, VGPU_CLASS_MUFU, 1);
    s_fp_mode (d, o, false);
}

static void s_logic (decoder_t *d, vg_op_t *o)
{
    static const vg_handler_t shl[6] = INT3 (shl), shr[6] = INT6 (shr);
    const ptx_instr_t *i = d->i;
    uint8_t t = i->type;
    bool wide = s_rows_of (t) == 2;
    o->cls = VGPU_CLASS_INT_ALU;
    switch ((int)i->opcode) {
    case PTX_AND:
    case PTX_OR:
    case PTX_XOR:
    case PTX_NOT:
        if (t == PTX_TYPE_PRED) {
            o->cls = VGPU_CLASS_PREDICATE;
            s_pred_dest (d, o);
            if (i->opcode == PTX_NOT) {
                s_pred_source (d, o, 0);
                o->imm = 1 ^ o->ps_not;
                s_body (d, o, VG_H_pred_mov);
                return;
            }
            if (!s_need (d, 3))
                return;
            o->s[0] = (uint32_t)s_pred (d, &d->op[1]);
            o->s[1] = (uint32_t)s_pred (d, &d->op[2]);
            o->imm = d->op[1].negate | d->op[2].negate << 1;
            o->sub = (uint8_t)(i->opcode == PTX_AND ? PTX_SUB_AND : i->opcode == PTX_OR ? PTX_SUB_OR : PTX_SUB_XOR);
            s_body (d, o, VG_H_pred_logic);
            return;
        }
        s_plain (d, o, i->opcode == PTX_NOT ? 1 : 2,
                 i->opcode == PTX_AND   ? (wide ? VG_H_and_u64 : VG_H_and_u32)
                 : i->opcode == PTX_OR  ? (wide ? VG_H_or_u64 : VG_H_or_u32)
                 : i->opcode == PTX_XOR ? (wide ? VG_H_xor_u64 : VG_H_xor_u32)
                                        : (wide ? VG_H_not_u64 : VG_H_not_u32));
        return;
    case PTX_CNOT: {
        static const vg_handler_t cnot[6] = INT3 (cnot);
        s_plain (d, o, 1, s_by_type (t, cnot, VG_H_NONE, VG_H_NONE));
        return;
    }
    case PTX_SHL:
    case PTX_SHR:
        s_dest (d, o, t);
        s_source (d, o, 0, t);
        s_source (d, o, 1, PTX_TYPE_B32);
        s_body (d, o, s_by_type (t, i->opcode == PTX_SHL ? shl : shr, VG_H_NONE, VG_H_NONE));
        return;
    case PTX_SHF: {
        bool left = i->sub == PTX_SUB_L, wrap = i->boolop;
        s_plain (d, o, 3, left ? (wrap ? VG_H_shflwrap_u32 : VG_H_shflclamp_u32) : (wrap ? VG_H_shfrwrap_u32 : VG_H_shfrclamp_u32));
        o->boolop = 0;
        return;
    }
    case PTX_PRMT:
        s_plain (d, o, 3, VG_H_prmt);
        return;
    case PTX_LOP3:
        if (i->n_operands != 5 || d->op[4].kind != PTX_OP_INT) {
            s_unsupported (d);
            return;
        }
        o->imm = d->op[4].value & 0xff;
        s_plain (d, o, 3, VG_H_lop3);
        return;
    default:
        s_unsupported (d);
    }
}

static void s_compare (decoder_t *d, vg_op_t *o)
{
    static const vg_handler_t setp[6] = INT6 (setp);
    const ptx_instr_t *i = d->i;
    uint8_t t = i->type;
    o->cls = VGPU_CLASS_PREDICATE;
    switch ((int)i->opcode) {
    case PTX_SETP:
        s_pred_dest (d, o);
        s_source (d, o, 0, t);
        s_source (d, o, 1, t);
        if (i->boolop)
            s_pred_source (d, o, 2);
        s_body (d, o, i->cmp ? s_by_type (t, setp, VG_H_setp_f32, VG_H_setp_f64) : VG_H_NONE);
        if (t == PTX_TYPE_F32)
            s_fp_mode (d, o, false);
        return;
    case PTX_SET: {
        uint8_t ts = i->type2;
        if (t != PTX_TYPE_U32 && t != PTX_TYPE_S32 && t != PTX_TYPE_F32) {
            s_unsupported (d);
            return;
        }
        s_dest (d, o, t);
        s_source (d, o, 0, ts);
        s_source (d, o, 1, ts);
        if (i->boolop)
            s_pred_source (d, o, 2);
        s_body (d, o, i->cmp && s_by_type (ts, setp, VG_H_setp_f32, VG_H_setp_f64) ? VG_H_set : VG_H_NONE);
        s_fp_mode (d, o, false);
        return;
    }
    case PTX_SELP:
        s_dest (d, o, t);
        s_source (d, o, 0, t);
        s_source (d, o, 1, t);
        s_pred_source (d, o, 2);
        s_body (d, o, s_rows_of (t) == 2 ? VG_H_selp_u64 : VG_H_selp_u32);
        return;
    case PTX_SLCT:
        s_dest (d, o, t);
        s_source (d, o, 0, t);
        s_source (d, o, 1, t);
        s_source (d, o, 2, i->type2);
        s_body (d, o, i->type2 == PTX_TYPE_S32 ? VG_H_slct_s32 : i->type2 == PTX_TYPE_F32 ? VG_H_slct_f32 : VG_H_NONE);
        return;
    case PTX_TESTP:
        s_pred_dest (d, o);
        s_source (d, o, 0, t);
        s_body (d, o, s_by_type (t, NULL, VG_H_testp_f32, VG_H_testp_f64));
        return;
    default:
        s_unsupported (d);
    }
}

static uint32_t s_reg_rows (const decoder_t *d, const ptx_operand_t *o, uint8_t type)
{
    return o->kind == PTX_OP_REG ? (d->f->regs[o->reg].bits == 64 ? 2 : 1) : s_rows_of (type);
}

static void s_convert (decoder_t *d, vg_op_t *o)
{
    const ptx_instr_t *i = d->i;
    uint8_t to = i->type, from = i->type2;
    static const uint8_t known[] = {PTX_TYPE_U8,  PTX_TYPE_U16, PTX_TYPE_U32, PTX_TYPE_U64, PTX_TYPE_S8, PTX_TYPE_S16,
                                    PTX_TYPE_S32, PTX_TYPE_S64, PTX_TYPE_F16, PTX_TYPE_F32, PTX_TYPE_F64};
    if (!s_need (d, 2))
        return;
    if (!memchr (known, to, sizeof (known)) || !memchr (known, from, sizeof (known)) || i->n_operands != 2
        || i->round >= PTX_ROUND_RNA || i->mods & PTX_MOD_RELU) {
        s_unsupported (d);
        return;
    }
    uint32_t rd = s_reg_rows (d, d->op, to), rs = s_reg_rows (d, &d->op[1], from);
    s_dest (d, o, rd == 2 ? PTX_TYPE_B64 : PTX_TYPE_B32);
    uint8_t source = from;
    if (d->op[1].kind == PTX_OP_REG)
        source = rs == 2 ? PTX_TYPE_B64 : PTX_TYPE_B32;
    s_source (d, o, 0, source);
    bool fp_to = s_is_float (to), fp_from = s_is_float (from), sat = i->mods & PTX_MOD_SAT, ftz = i->mods & PTX_MOD_FTZ;
    uint32_t bytes_to = ptx_type_bytes ((ptx_type_t)to), bytes_from = ptx_type_bytes ((ptx_type_t)from);
    bool half = to == PTX_TYPE_F16 || from == PTX_TYPE_F16;
    bool fits = rd == s_rows_of (to) && rs == s_rows_of (from);
    vg_handler_t h = VG_H_convert;
    bool wrapped = false;
    if (half || !fits)
        ;
    else if (!fp_to && !fp_from) {
        if (!sat && bytes_to == 8 && bytes_from == 4)
            h = s_is_signed (from) ? VG_H_cvt_s64_s32 : VG_H_cvt_u64_u32;
        else if (!sat && bytes_to == 4 && bytes_from == 8)
            h = VG_H_cvt_u32_u64;
        else if (!sat && bytes_to == bytes_from && bytes_to >= 4)
            h = bytes_to == 8 ? VG_H_mov_u64 : VG_H_mov_u32;
    }
    else if (fp_to && !fp_from && bytes_from >= 4 && from != PTX_TYPE_U64) {
        h = to == PTX_TYPE_F32 ? (from == PTX_TYPE_S32 ? VG_H_cvt_f32_s32 : from == PTX_TYPE_U32 ? VG_H_cvt_f32_u32 : VG_H_cvt_f32_s64)
                               : (from == PTX_TYPE_S32 ? VG_H_cvt_f64_s32 : from == PTX_TYPE_U32 ? VG_H_cvt_f64_u32 : VG_H_cvt_f64_s64);
        wrapped = true;
    }
    else if (!fp_to && from == PTX_TYPE_F32 && bytes_to == 4 && i->round == PTX_ROUND_RZI && !ftz)
        h = to == PTX_TYPE_S32 ? VG_H_cvt_s32_f32_rz : VG_H_cvt_u32_f32_rz;
    else if (to == PTX_TYPE_F64 && from == PTX_TYPE_F32)
        h = VG_H_cvt_f64_f32, wrapped = true;
    else if (to == PTX_TYPE_F32 && from == PTX_TYPE_F64 && i->round < PTX_ROUND_RNI)
        h = VG_H_cvt_f32_f64, wrapped = true;
    else if (to == from && fp_to && i->round < PTX_ROUND_RNI && sat && !ftz)
        h = to == PTX_TYPE_F32 ? VG_H_sat_f32 : VG_H_sat_f64;
    s_body (d, o, h);
    if (wrapped)
        s_fp_mode (d, o, false);
    o->cls = !fp_to && !fp_from && !half ? VGPU_CLASS_INT_ALU : VGPU_CLASS_CONVERT;
}

static void s_mov (decoder_t *d, vg_op_t *o)
{
    const ptx_instr_t *i = d->i;
    uint8_t t = i->type;
    o->cls = VGPU_CLASS_MOVE;
    if (!s_need (d, 2))
        return;
    const ptx_operand_t *to = d->op, *from = &d->op[1];
    if (t == PTX_TYPE_PRED) {
        o->cls = VGPU_CLASS_PREDICATE;
        s_pred_dest (d, o);
        if (from->kind == PTX_OP_INT)
            o->imm = from->value ? 2 : 0;
        else
            s_pred_source (d, o, 0), o->imm = o->ps_not;
        s_body (d, o, VG_H_pred_mov);
        return;
    }
    if (to->kind == PTX_OP_VECTOR || from->kind == PTX_OP_VECTOR) {
        bool pack = from->kind == PTX_OP_VECTOR;
        const ptx_operand_t *v = pack ? from : to;
        uint32_t bytes = ptx_type_bytes ((ptx_type_t)t);
        if ((v->count != 2 && v->count != 4) || bytes / v->count > 4 || bytes < 2u * v->count) {
            s_unsupported (d);
            return;
        }
        o->bytes = (uint8_t)(bytes / v->count);
        o->n_v = v->count;
        for (int k = 0; k < v->count; k++) {
            const ptx_operand_t *e = &d->f->operands[v->value + k];
            if (!pack && e->kind == PTX_OP_SINK)
                o->v[k] = UINT32_MAX;
            else if (!pack && e->kind != PTX_OP_REG)
                s_fail (d, KC_EINVALID, "the destinations of an unpacking mov must be registers");
            else
                o->v[k] = s_operand (d, e, o->bytes == 4 ? PTX_TYPE_B32 : PTX_TYPE_B16);
        }
        if (pack)
            s_dest (d, o, t);
        else {
            s_source (d, o, 0, t);
            o->is_load = 1; // v are destinations
        }
        s_body (d, o, pack ? VG_H_pack : VG_H_unpack);
        return;
    }
    s_plain (d, o, 1, s_rows_of (t) == 2 ? VG_H_mov_u64 : VG_H_mov_u32);
}

static uint64_t s_window_base (uint8_t space)
{
    switch ((ptx_space_t)space) {
    case PTX_SPACE_SHARED:
        return VG_SHARED_BASE;
    case PTX_SPACE_LOCAL:
        return VG_LOCAL_BASE;
    case PTX_SPACE_PARAM:
        return VG_PARAM_BASE;
    case PTX_SPACE_CONST:
        return VG_CONST_BASE;
    case PTX_SPACE_GENERIC:
    case PTX_SPACE_GLOBAL:
    case PTX_SPACE_COUNT:
        break;
    }
    return 0;
}

static void s_move (decoder_t *d, vg_op_t *o)
{
    const ptx_instr_t *i = d->i;
    switch ((int)i->opcode) {
    case PTX_MOV:
        s_mov (d, o);
        return;
    case PTX_CVT:
        s_convert (d, o);
        return;
    case PTX_CVTA: {
        uint64_t base = s_window_base (i->space);
        o->cls = VGPU_CLASS_MOVE;
        if (s_rows_of (i->type) != 2) {
            s_unsupported (d);
            return;
        }
        o->imm = (int64_t)(i->mods & PTX_MOD_TO ? 0 - base : base);
        s_plain (d, o, 1, base ? VG_H_add_imm_u64 : VG_H_mov_u64);
        return;
    }
    case PTX_ISSPACEP:
        o->cls = VGPU_CLASS_PREDICATE;
        o->imm = (int64_t)s_window_base (i->space);
        s_pred_dest (d, o);
        s_source (d, o, 0, PTX_TYPE_B64);
        s_body (d, o, VG_H_isspacep);
        return;
    default:
        s_unsupported (d);
    }
}

// ---- memory

static bool s_access (decoder_t *d, vg_op_t *o, bool wide)
{
    static const uint8_t narrow[9] = {[1] = VG_A_U8_32, [2] = VG_A_U16_32, [4] = VG_A_B32_32};
    static const uint8_t broad[9] = {[1] = VG_A_U8_64, [2] = VG_A_U16_64, [4] = VG_A_U32_64, [8] = VG_A_B64_64};
    uint32_t bytes = ptx_type_bytes ((ptx_type_t)d->i->type);
    if (bytes == 0 || bytes > 8 || (bytes == 8 && !wide))
        return s_fail (d, KC_EINVALID, "the register does not fit the type of the access");
    bool is_signed = s_is_signed (d->i->type) && o->is_load;
    o->bytes = (uint8_t)bytes;
    o->access = wide ? broad[bytes] : narrow[bytes];
    if (is_signed && bytes < (wide ? 8u : 4u))
        o->access++; // the signed form follows the unsigned one
    return true;
}

static void s_address (decoder_t *d, vg_op_t *o, const ptx_operand_t *a)
{
    if (a->kind != PTX_OP_ADDRESS) {
        s_fail (d, KC_EINVALID, "an address in brackets is needed");
        return;
    }
    o->imm = a->value;
    if (a->reg >= 0) {
        uint8_t bits = d->f->regs[a->reg].bits;
        if (bits != 32 && bits != 64)
            s_fail (d, KC_EINVALID, "register %s cannot hold an address", d->f->regs[a->reg].name);
        o->has_base = 1;
        o->wide_base = bits == 64;
        o->s[0] = d->row[a->reg];
        o->s_rows[0] = bits == 64 ? 2 : 1;
        o->n_s = 1;
        return;
    }
    if (a->symbol < 0)
        return;
    const ptx_symbol_t *s = &d->m->ptx->symbols[a->symbol];
    if (o->space == PTX_SPACE_GENERIC) { // a symbol tells its space
        o->space = s->space;
    }
    if (s->kind == PTX_SYM_FUNC || s->space != o->space) {
        s_fail (d, KC_EINVALID, "%s is not in %s memory", s->name, ptx_space_name ((ptx_space_t)o->space));
        return;
    }
    switch ((ptx_space_t)s->space) {
    case PTX_SPACE_GLOBAL:
        o->imm += (int64_t)(VG_MODULE_BASE + d->m->symbol_at[a->symbol]);
        break;
    case PTX_SPACE_SHARED:
        if (s->is_extern) {
            o->has_base = 1;
            o->s[0] = s_pool (d, 0, 1, true);
            o->s_rows[0] = 1;
            o->n_s = 1;
        }
        else
            o->imm += (int64_t)s->offset;
        break;
    case PTX_SPACE_LOCAL:
        o->imm += (int64_t)s->offset;
        o->frame_base = 1;
        break;
    case PTX_SPACE_PARAM:
        o->imm += (int64_t)s_param_address (d, s);
        break;
    case PTX_SPACE_CONST:
        o->imm += (int64_t)s->offset;
        break;
    case PTX_SPACE_GENERIC:
    case PTX_SPACE_COUNT:
        break;
    }
}

static void s_memory_class (vg_op_t *o, bool load)
{
    switch ((ptx_space_t)o->space) {
    case PTX_SPACE_SHARED:
        o->cls = (uint8_t)(load ? VGPU_CLASS_SHARED_LOAD : VGPU_CLASS_SHARED_STORE);
        break;
    case PTX_SPACE_LOCAL:
        o->cls = (uint8_t)(load ? VGPU_CLASS_LOCAL_LOAD : VGPU_CLASS_LOCAL_STORE);
        break;
    case PTX_SPACE_CONST:
        o->cls = VGPU_CLASS_CONST_LOAD;
        break;
    case PTX_SPACE_PARAM: // parameters of calls are registers on the hardware: free
        o->cls = (uint8_t)(!o->has_base && o->imm >= (int64_t)VG_FUNC_PARAM ? VGPU_CLASS_COUNT : VGPU_CLASS_CONST_LOAD);
        break;
    case PTX_SPACE_GENERIC:
    case PTX_SPACE_GLOBAL:
    case PTX_SPACE_COUNT:
        o->cls = (uint8_t)(load ? VGPU_CLASS_GLOBAL_LOAD : VGPU_CLASS_GLOBAL_STORE);
        break;
    }
}

static void s_load_store (decoder_t *d, vg_op_t *o)
{
    const ptx_instr_t *i = d->i;
    bool load = i->opcode != PTX_ST;
    if (!s_need (d, 2))
        return;
    const ptx_operand_t *value = load ? d->op : &d->op[1], *address = load ? &d->op[1] : d->op;
    o->kind = VG_MEM;
    o->is_load = load;
    o->vec = i->vec;
    o->stat = d->m->n_stats++;
    s_address (d, o, address);
    const ptx_operand_t *e = value;
    uint32_t n = 1;
    if (i->vec > 1) {
        if (value->kind != PTX_OP_VECTOR || value->count != i->vec || i->vec > 4) {
            if (i->vec > 4)
                s_unsupported (d);
            else
                s_fail (d, KC_EINVALID, "a vector of %u elements is needed", i->vec);
            return;
        }
        e = &d->f->operands[value->value];
        n = i->vec;
    }
    bool wide = false;
    for (uint32_t k = 0; k < n; k++)
        wide |= s_reg_rows (d, &e[k], i->type) == 2;
    for (uint32_t k = 0; k < n; k++) {
        if (load && e[k].kind == PTX_OP_SINK) {
            o->v[k] = UINT32_MAX;
            continue;
        }
        if (load && e[k].kind != PTX_OP_REG) {
            s_fail (d, KC_EINVALID, "a load needs a register to load into");
            return;
        }
        uint8_t t = i->type;
        if (e[k].kind == PTX_OP_REG)
            t = wide ? PTX_TYPE_B64 : PTX_TYPE_B32;
        o->v[k] = s_operand (d, &e[k], t);
    }
    o->n_v = (uint8_t)n;
    o->d_rows = wide ? 2 : 1;
    if (load && n == 1)
        o->d = o->v[0];
    if (!s_access (d, o, wide))
        return;
    if ((o->bytes * o->vec) > 16 && (o->bytes * o->vec) != 32) {
        s_unsupported (d);
        return;
    }
    s_memory_class (o, load);
    uint64_t total = (uint64_t)o->bytes * o->vec;
    vg_handler_t h = load ? VG_H_ld_slow : VG_H_st_slow;
    if (o->space == PTX_SPACE_GLOBAL)
        h = load ? VG_H_ld_global : VG_H_st_global;
    else if (o->space == PTX_SPACE_SHARED)
        h = load ? VG_H_ld_shared : VG_H_st_shared;
    else if (o->space == PTX_SPACE_PARAM && !o->has_base && o->imm < (int64_t)VG_FUNC_PARAM && load) {
        if (o->imm < 0 || (uint64_t)o->imm + total > d->f->params_size)
            s_fail (d, KC_EINVALID, "the access leaves the %u bytes of parameters", d->f->params_size);
        o->kind = VG_DATA;
        h = VG_H_ld_param;
    }
    else if (o->space == PTX_SPACE_CONST && !o->has_base && load) {
        if (o->imm < 0 || (uint64_t)o->imm + total > d->m->ptx->const_bytes)
            s_fail (d, KC_EINVALID, "the access leaves the %llu bytes of constants", (unsigned long long)d->m->ptx->const_bytes);
        o->kind = VG_DATA;
        h = VG_H_ld_const;
    }
    s_body (d, o, h);
}

static void s_atomic (decoder_t *d, vg_op_t *o)
{
    const ptx_instr_t *i = d->i;
    bool red = i->opcode == PTX_RED;
    uint32_t at = red ? 0 : 1;
    uint8_t t = i->type;
    if (!s_need (d, at + 2))
        return;
    o->kind = VG_MEM;
    o->vec = 1;
    o->stat = d->m->n_stats++;
    s_address (d, o, &d->op[at]);
    uint32_t bytes = ptx_type_bytes ((ptx_type_t)t);
    bool fp = s_is_float (t), ok;
    switch ((int)i->sub) {
    case PTX_SUB_ADD:
        ok = fp || t == PTX_TYPE_U32 || t == PTX_TYPE_S32 || t == PTX_TYPE_U64 || t == PTX_TYPE_S64 || t == PTX_TYPE_B32;
        break;
    case PTX_SUB_MIN:
    case PTX_SUB_MAX:
    case PTX_SUB_AND:
    case PTX_SUB_OR:
    case PTX_SUB_XOR:
        ok = !fp && bytes >= 4;
        break;
    case PTX_SUB_INC:
    case PTX_SUB_DEC:
        ok = t == PTX_TYPE_U32;
        break;
    case PTX_SUB_EXCH:
        ok = bytes >= 4;
        break;
    case PTX_SUB_CAS:
        ok = !fp && bytes >= 2;
        break;
    default:
        ok = false;
        break;
    }
    if (!ok || bytes > 8 || i->vec != 1 || t == PTX_TYPE_F16X2 || t == PTX_TYPE_BF16X2
        || (o->space != PTX_SPACE_GLOBAL && o->space != PTX_SPACE_SHARED && o->space != PTX_SPACE_GENERIC)) {
        s_unsupported (d);
        return;
    }
    o->bytes = (uint8_t)bytes;
    o->n_v = i->sub == PTX_SUB_CAS ? 2 : 1;
    if (!s_need (d, at + 1u + o->n_v))
        return;
    for (uint32_t k = 0; k < o->n_v; k++)
        o->v[k] = s_operand (d, &d->op[at + 1 + k], t);
    o->d = UINT32_MAX;
    if (!red && d->op->kind != PTX_OP_SINK)
        s_dest (d, o, t);
    if (fp)
        o->flops = 1;
    o->cls = (uint8_t)(o->space == PTX_SPACE_SHARED ? VGPU_CLASS_ATOMIC_SHARED : VGPU_CLASS_ATOMIC_GLOBAL);
    s_body (d, o, VG_H_atomic);
}

// ---- control

static int32_t s_meet (const decoder_t *d)
{
    int32_t ip = d->f->blocks[d->i->block].ipdom;
    return ip < 0 ? -1 : d->f->blocks[ip].first;
}

static bool s_polls (const ptx_func_t *f, int32_t from, int32_t to)
{
    for (int32_t k = from; k <= to; k++) {
        const ptx_instr_t *i = &f->instrs[k];
        if (i->opcode == PTX_ATOM || i->opcode == PTX_NANOSLEEP
            || (ptx_is_load (i) && i->mods & (PTX_MOD_VOLATILE | PTX_MOD_ACQUIRE)))
            return true;
    }
    return false;
}

static void s_call (decoder_t *d, vg_op_t *o)
{
    const ptx_instr_t *i = d->i;
    const ptx_operand_t *rets = NULL, *args = NULL;
    uint32_t k = 0;
    if (k < i->n_operands && d->op[k].kind == PTX_OP_VECTOR)
        rets = &d->op[k++];
    if (k >= i->n_operands || d->op[k].kind != PTX_OP_SYMBOL || d->m->ptx->symbols[d->op[k].symbol].kind != PTX_SYM_FUNC) {
        s_fail (d, KC_EUNSUPPORTED, "UNSUPPORTED: indirect calls; call a function by name");
        return;
    }
    const ptx_symbol_t *callee = &d->m->ptx->symbols[d->op[k++].symbol];
    if (k < i->n_operands && d->op[k].kind == PTX_OP_VECTOR)
        args = &d->op[k++];
    const ptx_func_t *f = &d->m->ptx->funcs[callee->func];
    vg_func_t *out = d->out;
    if (out->n_calls == d->room_calls) {
        d->room_calls = d->room_calls ? d->room_calls * 2 : 8;
        out->calls = kc_realloc (out->calls, d->room_calls * sizeof (*out->calls));
    }
    vg_call_t *c = &out->calls[out->n_calls];
    *c = (vg_call_t){.func = callee->func, .name = callee->name};
    o->target = (int32_t)out->n_calls++;
    c->n_args = args ? args->count : 0;
    c->n_rets = rets ? rets->count : 0;
    c->args = kc_calloc (c->n_args + 1u, sizeof (vg_copy_t));
    c->rets = kc_calloc (c->n_rets + 1u, sizeof (vg_copy_t));
    if (c->n_args != f->n_params || c->n_rets > f->n_returns) {
        s_fail (d, KC_EINVALID, "%s takes %u parameters and returns %u values; here are %u and %u", f->name, f->n_params, f->n_returns,
                c->n_args, c->n_rets);
        return;
    }
    for (uint32_t side = 0; side < 2; side++) {
        const ptx_operand_t *list = side ? rets : args;
        const ptx_param_t *params = side ? f->returns : f->params;
        vg_copy_t *to = side ? c->rets : c->args;
        for (int e = 0; list && e < list->count; e++) {
            const ptx_operand_t *v = &d->f->operands[list->value + e];
            const ptx_symbol_t *s = v->kind == PTX_OP_SYMBOL ? &d->m->ptx->symbols[v->symbol] : NULL;
            if (!s || s->space != PTX_SPACE_PARAM || (s->kind == PTX_SYM_PARAM && d->f->is_kernel)) {
                s_fail (d, KC_EUNSUPPORTED, "UNSUPPORTED: arguments of a call must be .param variables");
                return;
            }
            if (s->size < params[e].size) {
                s_fail (d, KC_EINVALID, "%s of %llu bytes is passed for %u bytes", s->name, (unsigned long long)s->size, params[e].size);
                return;
            }
            to[e] = (vg_copy_t){.caller = (uint32_t)s->offset, .callee = params[e].offset, .size = params[e].size};
        }
    }
    if (!f->is_declaration) {
        o->kind = VG_CALL;
        o->cls = VGPU_CLASS_CONTROL;
        out->calls_any = true;
        return;
    }
    c->builtin = ptx_builtin_find (f->name);
    if (c->builtin.kind == PTX_BUILTIN_NONE) {
        s_fail (d, KC_EUNSUPPORTED, "UNSUPPORTED: extern function %s is not provided; define it in the source", f->name);
        return;
    }
    o->kind = VG_BUILTIN;
    o->cls = (uint8_t)(c->builtin.is_float || c->builtin.kind >= PTX_BUILTIN_PRINTF ? VGPU_CLASS_FP32_FMA : VGPU_CLASS_FP64);
    s_body (d, o, VG_H_builtin);
}

static void s_control (decoder_t *d, vg_op_t *o)
{
    const ptx_instr_t *i = d->i;
    int32_t at = (int32_t)(i - d->f->instrs);
    o->cls = VGPU_CLASS_CONTROL;
    switch ((int)i->opcode) {
    case PTX_BRA:
        o->kind = VG_BRA;
        o->target = (int32_t)d->op->value;
        o->rpc = s_meet (d);
        o->spins = o->target <= at && s_polls (d->f, o->target, at);
        return;
    case PTX_BRX:
        if (!s_need (d, 2))
            return;
        o->kind = VG_BRX;
        o->s[0] = s_operand (d, d->op, PTX_TYPE_B32);
        o->s_rows[0] = 1;
        o->n_s = 1;
        o->imm = d->op[1].value;
        o->rpc = s_meet (d);
        return;
    case PTX_CALL:
        s_call (d, o);
        return;
    case PTX_RET:
        o->kind = VG_RET;
        return;
    case PTX_EXIT:
        o->kind = VG_EXIT;
        return;
    case PTX_TRAP:
        o->kind = VG_TRAP;
        return;
    case PTX_NANOSLEEP:
        o->kind = VG_NOP;
        return;
    default:
        s_unsupported (d);
    }
}

static void s_barrier (decoder_t *d, vg_op_t *o)
{
    const ptx_instr_t *i = d->i;
    if (i->sub == PTX_SUB_WARP) { // bar.warp.sync members
        o->kind = VG_SYNC;
        o->cls = VGPU_CLASS_SHUFFLE;
        if (!s_need (d, 1))
            return;
        o->s[0] = s_operand (d, d->op, PTX_TYPE_B32);
        o->s_rows[0] = 1;
        o->n_s = 1;
        o->mods |= PTX_MOD_SYNC;
        s_body (d, o, VG_H_warp_barrier);
        return;
    }
    bool red = i->sub == PTX_SUB_POPC || i->sub == PTX_SUB_AND || i->sub == PTX_SUB_OR;
    if (!red && i->sub != PTX_SUB_SYNC && i->sub != PTX_SUB_ARRIVE) {
        s_unsupported (d);
        return;
    }
    o->kind = VG_BAR;
    o->cls = VGPU_CLASS_BARRIER;
    if (i->opcode == PTX_BAR)
        o->mods |= PTX_MOD_ALIGNED;
    uint32_t k = 0;
    o->d = UINT32_MAX;
    if (red) {
        if (i->sub == PTX_SUB_POPC)
            s_dest (d, o, PTX_TYPE_B32);
        else
            s_pred_dest (d, o);
        k = 1;
    }
    uint32_t n = i->n_operands - k - (red ? 1 : 0);
    if (i->n_operands < k + (red ? 2u : 1u) || n > 2) {
        s_fail (d, KC_EINVALID, "a barrier number and at most a thread count are needed");
        return;
    }
    for (uint32_t j = 0; j < n; j++) {
        o->s[j] = s_operand (d, &d->op[k + j], PTX_TYPE_B32);
        o->s_rows[j] = 1;
    }
    o->n_s = (uint8_t)n;
    if (red) {
        o->ps = s_pred (d, &d->op[i->n_operands - 1]);
        o->ps_not = d->op[i->n_operands - 1].negate;
    }
}

static void s_warp (decoder_t *d, vg_op_t *o)
{
    const ptx_instr_t *i = d->i;
    o->kind = VG_SYNC;
    o->cls = VGPU_CLASS_SHUFFLE;
    bool sync = i->mods & PTX_MOD_SYNC;
    switch ((int)i->opcode) {
    case PTX_ACTIVEMASK:
        o->kind = VG_DATA;
        s_dest (d, o, PTX_TYPE_B32);
        s_body (d, o, VG_H_activemask);
        return;
    case PTX_SHFL: {
        if (!s_need (d, sync ? 5 : 4) || !i->sub)
            return;
        const ptx_operand_t *to = d->op;
        if (to->kind == PTX_OP_PAIR) {
            o->pd = s_pred (d, &d->f->operands[to->value + 1]);
            to = &d->f->operands[to->value];
        }
        if (to->kind != PTX_OP_REG)
            s_fail (d, KC_EINVALID, "the destination must be a register");
        else
            o->d = s_operand (d, to, PTX_TYPE_B32);
        o->d_rows = 1;
        for (uint32_t k = 0; k < 3; k++)
            s_source (d, o, k, PTX_TYPE_B32);
        if (sync)
            s_source (d, o, 3, PTX_TYPE_B32);
        s_body (d, o, VG_H_shfl);
        return;
    }
    case PTX_VOTE:
        if (!s_need (d, sync ? 3 : 2) || !i->sub)
            return;
        if (i->sub == PTX_SUB_BALLOT)
            s_dest (d, o, PTX_TYPE_B32);
        else
            s_pred_dest (d, o);
        if (d->op[1].kind == PTX_OP_INT)
            o->imm = d->op[1].value;
        else
            s_pred_source (d, o, 0);
        if (sync)
            s_source (d, o, 1, PTX_TYPE_B32);
        s_body (d, o, VG_H_vote);
        return;
    case PTX_MATCH: {
        if (!s_need (d, 3))
            return;
        const ptx_operand_t *to = d->op;
        if (to->kind == PTX_OP_PAIR) {
            o->pd = s_pred (d, &d->f->operands[to->value + 1]);
            to = &d->f->operands[to->value];
        }
        o->d = to->kind == PTX_OP_SINK ? UINT32_MAX : s_operand (d, to, PTX_TYPE_B32);
        o->d_rows = 1;
        s_source (d, o, 0, i->type);
        s_source (d, o, 1, PTX_TYPE_B32);
        s_body (d, o, VG_H_match);
        return;
    }
    case PTX_REDUX:
        if (i->type != PTX_TYPE_U32 && i->type != PTX_TYPE_S32 && i->type != PTX_TYPE_B32) {
            s_unsupported (d);
            return;
        }
        s_dest (d, o, PTX_TYPE_B32);
        s_source (d, o, 0, i->type);
        s_source (d, o, 1, PTX_TYPE_B32);
        s_body (d, o, VG_H_redux);
        return;
    default:
        s_unsupported (d);
    }
}

// What ptxas makes of one PTX instruction that the hardware has no instruction for, about: the counters follow
// the hardware, so that a division costs what a division costs.
static void s_expansion (vg_op_t *o)
{
    const ptx_instr_t *i = o->src;
    bool f32 = i->type == PTX_TYPE_F32, f64 = i->type == PTX_TYPE_F64, quick = i->mods & (PTX_MOD_APPROX | PTX_MOD_FULL);
    bool flushes = i->mods & PTX_MOD_FTZ;
    uint32_t bytes = ptx_type_bytes ((ptx_type_t)i->type);
    o->extra_cls = (uint8_t)(f64 ? VGPU_CLASS_FP64 : f32 ? VGPU_CLASS_FP32_FMA : VGPU_CLASS_INT_ALU);
    switch ((int)i->opcode) {
    case PTX_DIV:
        o->extra = (uint8_t)(f64 ? 11 : f32 ? (quick ? 2 : 8) : bytes == 8 ? 80 : bytes == 4 ? 17 : 8);
        return;
    case PTX_REM:
        o->extra = (uint8_t)(bytes == 8 ? 84 : bytes == 4 ? 19 : 10);
        return;
    case PTX_SQRT:
        o->extra = (uint8_t)(f64 ? 12 : quick ? 1 : 7);
        return;
    case PTX_RCP:
        o->extra = (uint8_t)(f64 ? 8 : quick ? (flushes ? 0 : 2) : 4);
        return;
    case PTX_RSQRT:
    case PTX_EX2:
    case PTX_LG2:
        o->extra = (uint8_t)(f64 ? 8 : flushes ? 0 : 2); // scaling around the subnormals
        return;
    case PTX_SIN:
    case PTX_COS:
        o->extra = 1;
        return;
    default:
        return;
    }
}

static bool s_instruction (decoder_t *d, uint32_t at)
{
    const ptx_instr_t *i = &d->f->instrs[at];
    vg_op_t *o = &d->out->ops[at];
    d->i = i;
    d->op = &d->f->operands[i->operand];
    *o = (vg_op_t){.guard = -1, .pd = -1, .pd2 = -1, .ps = -1, .rpc = -1, .src = i, .type = i->type, .type2 = i->type2,
                   .space = i->space, .vec = i->vec, .cmp = i->cmp, .boolop = i->boolop, .sub = i->sub, .round = i->round,
                   .mods = i->mods, .cls = VGPU_CLASS_CONTROL, .guard_not = i->guard_not};
    if (i->guard >= 0)
        o->guard = (int32_t)d->row[i->guard];
    ptx_family_t family = ptx_opcode_family ((ptx_opcode_t)i->opcode);
    if (i->mods & PTX_MOD_UNKNOWN)
        return s_unsupported (d);
    switch (family) {
    case PTX_FAMILY_ARITH:
        s_arith (d, o);
        break;
    case PTX_FAMILY_MATH:
        s_math (d, o);
        break;
    case PTX_FAMILY_LOGIC:
        s_logic (d, o);
        break;
    case PTX_FAMILY_COMPARE:
        s_compare (d, o);
        break;
    case PTX_FAMILY_MOVE:
        s_move (d, o);
        break;
    case PTX_FAMILY_MEMORY:
        if (ptx_is_load (i) || ptx_is_store (i))
            s_load_store (d, o);
        else if (i->opcode == PTX_CREATEPOLICY) { // a policy is only a hint
            o->cls = VGPU_CLASS_MOVE;
            s_dest (d, o, PTX_TYPE_B64);
            o->s[0] = s_pool (d, 0, 2, false);
            s_body (d, o, VG_H_mov_u64);
        }
        else
            o->kind = VG_NOP, o->cls = VGPU_CLASS_MOVE;
        break;
    case PTX_FAMILY_ATOMIC:
        s_atomic (d, o);
        break;
    case PTX_FAMILY_CONTROL:
        s_control (d, o);
        break;
    case PTX_FAMILY_BARRIER:
        s_barrier (d, o);
        break;
    case PTX_FAMILY_WARP:
        s_warp (d, o);
        break;
    case PTX_FAMILY_FENCE:
        o->kind = VG_NOP;
        o->cls = VGPU_CLASS_FENCE;
        break;
    case PTX_FAMILY_VIDEO:
    case PTX_FAMILY_TEXTURE:
    case PTX_FAMILY_ASYNC:
    case PTX_FAMILY_MBARRIER:
    case PTX_FAMILY_MATRIX:
    case PTX_FAMILY_CLUSTER:
    case PTX_FAMILY_SYSTEM:
    case PTX_FAMILY_COUNT:
        s_unsupported (d);
        break;
    }
    s_expansion (o);
    return !d->failed;
}

// ---- one function

typedef struct order {
    int32_t first, last, reg;
} order_t;

static int s_by_first (const void *a, const void *b)
{
    const order_t *x = a, *y = b;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return x->reg < y->reg ? -1 : x->reg > y->reg;
}

// Registers that never live together share a row.  A row is free again one instruction after the last use,
// so that no instruction reads a row that it writes for another register.
static void s_allocate (decoder_t *d)
{
    const ptx_func_t *f = d->f;
    order_t *order = kc_malloc ((f->n_regs + 1) * sizeof (*order));
    int32_t *busy[3] = {kc_malloc ((f->n_regs + 1) * 4), kc_malloc ((f->n_regs + 1) * 4), NULL};
    uint32_t n = 0, slots[2] = {0, 0};
    for (uint32_t r = 0; r < f->n_regs; r++) {
        if (f->regs[r].bits == 1)
            d->row[r] = d->n_preds++;
        else if (f->live_first[r] >= 0)
            order[n++] = (order_t){f->live_first[r], f->live_last[r], (int32_t)r};
    }
    qsort (order, n, sizeof (*order), s_by_first);
    for (uint32_t k = 0; k < n; k++) {
        int wide = f->regs[order[k].reg].bits == 64;
        uint32_t s = 0;
        while (s < slots[wide] && busy[wide][s] >= order[k].first)
            s++;
        if (s == slots[wide])
            slots[wide]++;
        busy[wide][s] = order[k].last;
        d->row[order[k].reg] = s;
    }
    for (uint32_t r = 0; r < f->n_regs; r++) {
        if (f->regs[r].bits == 64)
            d->row[r] *= 2 * VG_ROW;
        else if (f->regs[r].bits != 1)
            d->row[r] = slots[1] * 2 * VG_ROW + d->row[r] * VG_ROW;
        if (f->regs[r].bits != 1 && f->live_first[r] < 0)
            d->row[r] = 0;
    }
    d->out->reg_bytes = (slots[1] * 2 + slots[0] + 2) * VG_ROW;
    free (order);
    free (busy[0]);
    free (busy[1]);
}

static bool s_function (vgpu_module_t *m, int32_t index, kc_err_t *err)
{
    const ptx_func_t *f = &m->ptx->funcs[index];
    vg_func_t *out = &m->funcs[index];
    out->src = f;
    if (f->is_declaration)
        return true;
    decoder_t d = {.m = m, .f = f, .f_index = index, .out = out, .err = err};
    d.row = kc_calloc (f->n_regs + 1u, sizeof (uint32_t));
    s_allocate (&d);
    out->n_preds = d.n_preds + 1;
    out->local_bytes = (f->local_bytes + 15) / 16 * 16;
    for (uint32_t s = 0; s < m->ptx->n_symbols; s++) {
        const ptx_symbol_t *y = &m->ptx->symbols[s];
        if (y->func != index || y->space != PTX_SPACE_PARAM || y->kind == PTX_SYM_FUNC || (y->kind == PTX_SYM_PARAM && f->is_kernel))
            continue;
        uint32_t end = (uint32_t)(y->offset + y->size);
        out->param_bytes = end > out->param_bytes ? end : out->param_bytes;
    }
    out->param_bytes = (out->param_bytes + 15) / 16 * 16;
    out->n_ops = f->n_instrs;
    out->first_count = m->n_counts;
    m->n_counts += f->n_instrs;
    out->ops = kc_calloc (f->n_instrs, sizeof (vg_op_t));
    out->targets = f->targets;
    for (uint32_t k = 0; k < f->n_instrs && s_instruction (&d, k); k++)
        ;
    out->pool_size = d.pool_bytes;
    out->pool = aligned_alloc (64, (d.pool_bytes + 64u + 63u) / 64u * 64u);
    kc_assert (out->pool);
    for (uint32_t k = 0; k < d.n_pool; k++) {
        constant_t *c = &d.pool[k];
        for (uint32_t l = 0; l < VG_LANES; l++)
            memcpy (out->pool + c->row + l * (c->rows * 4), &c->value, c->rows * 4u);
        if (!c->dynamic)
            continue;
        if (out->n_dynamic == d.room_dynamic) {
            d.room_dynamic = d.room_dynamic ? d.room_dynamic * 2 : 4;
            out->dynamic = kc_realloc (out->dynamic, d.room_dynamic * sizeof (*out->dynamic));
        }
        out->dynamic[out->n_dynamic].row = c->row;
        out->dynamic[out->n_dynamic].rows = c->rows;
        out->dynamic[out->n_dynamic++].addend = c->value;
    }
    free (d.pool);
    free (d.row);
    return !d.failed;
}

int vg_decode (vgpu_module_t *m, kc_err_t *err)
{
    m->funcs = kc_calloc (m->ptx->n_funcs + 1u, sizeof (vg_func_t));
    for (uint32_t k = 0; k < m->ptx->n_funcs; k++)
        if (!s_function (m, (int32_t)k, err))
            return -1;
    return 0;
}

void vg_decode_free (vgpu_module_t *m)
{
    for (uint32_t k = 0; m->funcs && k < m->ptx->n_funcs; k++) {
        vg_func_t *f = &m->funcs[k];
        for (uint32_t c = 0; c < f->n_calls; c++) {
            free (f->calls[c].args);
            free (f->calls[c].rets);
        }
        free (f->calls);
        free (f->ops);
        free (f->pool);
        free (f->inits);
        free (f->dynamic);
    }
    free (m->funcs);
    m->funcs = NULL;
}
