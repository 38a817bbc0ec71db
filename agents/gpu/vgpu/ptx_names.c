// ptx_names.c - the spellings of ptx_opcode.h and the small questions of ptx_module.h

#include "agents/gpu/vgpu/ptx_internal.h"

#include <string.h>

#include "common/util/kc_mem.h"

const char *ptx_opcode_name (ptx_opcode_t op)
{
    static const char *const names[] = {
#define ROW(sym, name, family) name,
        PTX_OPCODES (ROW)
#undef ROW
    };
    return (size_t)op < KC_COUNT (names) ? names[op] : "?";
}

ptx_family_t ptx_opcode_family (ptx_opcode_t op)
{
    static const uint8_t families[] = {
#define ROW(sym, name, family) PTX_FAMILY_##family,
        PTX_OPCODES (ROW)
#undef ROW
    };
    kc_assert ((size_t)op < KC_COUNT (families));
    return (ptx_family_t)families[op];
}

static const char *const s_types[] = {"none",
#define ROW(sym, name, bytes) name,
                                      PTX_TYPES (ROW)
#undef ROW
};

const char *ptx_type_name (ptx_type_t t)
{
    return (size_t)t < KC_COUNT (s_types) ? s_types[t] : "?";
}

uint32_t ptx_type_bytes (ptx_type_t t)
{
    static const uint8_t bytes[] = {0,
#define ROW(sym, name, n) n,
                                    PTX_TYPES (ROW)
#undef ROW
    };
    return (size_t)t < KC_COUNT (bytes) ? bytes[t] : 0;
}

uint8_t ptx_type_parse (const char *text, size_t size)
{
    for (size_t i = 1; i < KC_COUNT (s_types); i++)
        if (strlen (s_types[i]) == size && !memcmp (s_types[i], text, size))
            return (uint8_t)i;
    return PTX_TYPE_NONE;
}

const char *ptx_space_name (ptx_space_t s)
{
    static const char *const names[PTX_SPACE_COUNT] = {"generic", "global", "shared", "local", "param", "const"};
    return (size_t)s < KC_COUNT (names) ? names[s] : "?";
}

bool ptx_is_load (const ptx_instr_t *i)
{
    return i->opcode == PTX_LD || i->opcode == PTX_LDU;
}

bool ptx_is_store (const ptx_instr_t *i)
{
    return i->opcode == PTX_ST;
}

bool ptx_is_atomic (const ptx_instr_t *i)
{
    return i->opcode == PTX_ATOM || i->opcode == PTX_RED;
}

bool ptx_has_dest (const ptx_instr_t *i)
{
    switch (ptx_opcode_family ((ptx_opcode_t)i->opcode)) {
    case PTX_FAMILY_ARITH:
    case PTX_FAMILY_MATH:
    case PTX_FAMILY_LOGIC:
    case PTX_FAMILY_COMPARE:
    case PTX_FAMILY_MOVE:
    case PTX_FAMILY_WARP:
    case PTX_FAMILY_VIDEO:
    case PTX_FAMILY_TEXTURE:
    case PTX_FAMILY_MATRIX:
        return i->opcode != PTX_SUST && i->opcode != PTX_SURED && i->opcode != PTX_STMATRIX;
    case PTX_FAMILY_MEMORY:
        return ptx_is_load (i) || i->opcode == PTX_CREATEPOLICY;
    case PTX_FAMILY_ATOMIC:
        return i->opcode == PTX_ATOM;
    case PTX_FAMILY_BARRIER:
        return i->sub == PTX_SUB_POPC || i->sub == PTX_SUB_AND || i->sub == PTX_SUB_OR;
    case PTX_FAMILY_CLUSTER:
        return i->opcode == PTX_MAPA || i->opcode == PTX_GETCTARANK;
    case PTX_FAMILY_CONTROL:
    case PTX_FAMILY_FENCE:
    case PTX_FAMILY_ASYNC:
    case PTX_FAMILY_MBARRIER:
    case PTX_FAMILY_SYSTEM:
    case PTX_FAMILY_COUNT:
        break;
    }
    return false;
}

static void s_visit (const ptx_func_t *f, const ptx_operand_t *o, bool def, ptx_visit_f *visit, void *arg)
{
    switch ((ptx_operand_kind_t)o->kind) {
    case PTX_OP_REG:
        visit (arg, o->reg, def);
        break;
    case PTX_OP_ADDRESS:
        if (o->reg >= 0)
            visit (arg, o->reg, false);
        break;
    case PTX_OP_VECTOR:
    case PTX_OP_PAIR:
        for (int k = 0; k < o->count; k++)
            s_visit (f, &f->operands[o->value + k], def, visit, arg);
        break;
    case PTX_OP_NONE:
    case PTX_OP_INT:
    case PTX_OP_FLOAT:
    case PTX_OP_SREG:
    case PTX_OP_SYMBOL:
    case PTX_OP_LABEL:
    case PTX_OP_SINK:
        break;
    }
}

void ptx_visit_regs (const ptx_func_t *f, const ptx_instr_t *i, ptx_visit_f *visit, void *arg)
{
    bool dest = ptx_has_dest (i);
    if (i->guard >= 0)
        visit (arg, i->guard, false);
    for (int k = 0; k < i->n_operands; k++)
        s_visit (f, &f->operands[i->operand + (uint32_t)k], dest && k == 0, visit, arg);
}

const ptx_func_t *ptx_module_func (const ptx_module_t *m, const char *name)
{
    for (uint32_t i = 0; i < m->n_funcs; i++)
        if (!strcmp (m->funcs[i].name, name))
            return &m->funcs[i];
    return NULL;
}

const ptx_symbol_t *ptx_module_symbol (const ptx_module_t *m, const char *name)
{
    for (uint32_t i = 0; i < m->n_symbols; i++) {
        const ptx_symbol_t *s = &m->symbols[i];
        if (s->kind == PTX_SYM_VAR && s->func == PTX_NONE && !strcmp (s->name, name))
            return s;
    }
    return NULL;
}
