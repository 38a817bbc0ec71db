// ptx_summary.c - what a module as a whole does: referenced and written variables, call trees, forbidden things
//
// "Written" is about module variables (kernel-program S4).  A store or atomic whose address is computed from
// the variable counts; so does an address that leaves the function's registers (stored, or passed to a call),
// because nobody can say what happens to it there - except for zero-terminated text, which is what printf and
// assert get handed.

#include "agents/gpu/vgpu/ptx_internal.h"

#include <stdlib.h>
#include <string.h>

#include "agents/gpu/vgpu/ptx_builtin.h"
#include "common/util/kc_mem.h"

enum { TAINT_NONE = -1, TAINT_MANY = -2, CALL_DEPTH = 64 };

static bool s_text (const ptx_symbol_t *s)
{
    if (!s->init || s->size == 0 || ptx_type_bytes ((ptx_type_t)s->type) != 1 || s->init[s->size - 1] != 0)
        return false;
    for (uint64_t i = 0; i + 1 < s->size; i++)
        if (s->init[i] != 0 && s->init[i] < 9)
            return false;
    return true;
}

static bool s_is_module_var (const ptx_symbol_t *s)
{
    return s->kind == PTX_SYM_VAR && (s->space == PTX_SPACE_GLOBAL || s->space == PTX_SPACE_CONST);
}

static bool s_merge (int32_t *to, int32_t from)
{
    if (from == TAINT_NONE || *to == from || *to == TAINT_MANY)
        return false;
    *to = *to == TAINT_NONE ? from : TAINT_MANY;
    return true;
}

static int32_t s_taint_of (const ptx_module_t *m, const int32_t *taint, const ptx_operand_t *o)
{
    int32_t t = TAINT_NONE;
    if (o->symbol >= 0 && s_is_module_var (&m->symbols[o->symbol]))
        t = o->symbol;
    if (o->reg >= 0)
        s_merge (&t, taint[o->reg]);
    return t;
}

static void s_mark (ptx_module_t *m, int32_t t, bool escapes)
{
    if (t >= 0) {
        if (!(escapes && s_text (&m->symbols[t])))
            m->symbols[t].written = true;
    }
    else if (t == TAINT_MANY)
        for (uint32_t i = 0; i < m->n_symbols; i++)
            if (s_is_module_var (&m->symbols[i]) && m->symbols[i].referenced && !(escapes && s_text (&m->symbols[i])))
                m->symbols[i].written = true;
}

static void s_writes (ptx_module_t *m, const ptx_func_t *f)
{
    int32_t *taint = kc_malloc ((f->n_regs + 1) * sizeof (int32_t));
    for (uint32_t r = 0; r < f->n_regs; r++)
        taint[r] = TAINT_NONE;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t k = 0; k < f->n_instrs; k++) {
            const ptx_instr_t *i = &f->instrs[k];
            ptx_family_t family = ptx_opcode_family ((ptx_opcode_t)i->opcode);
            if (!ptx_has_dest (i) || ptx_is_load (i) || ptx_is_atomic (i) || !i->n_operands
                || (family != PTX_FAMILY_ARITH && family != PTX_FAMILY_MOVE && family != PTX_FAMILY_LOGIC
                    && family != PTX_FAMILY_COMPARE && family != PTX_FAMILY_WARP))
                continue;
            const ptx_operand_t *d = &f->operands[i->operand];
            if (d->kind != PTX_OP_REG)
                continue;
            for (uint32_t s = 1; s < i->n_operands; s++)
                changed |= s_merge (&taint[d->reg], s_taint_of (m, taint, &f->operands[i->operand + s]));
        }
    }
    for (uint32_t k = 0; k < f->n_instrs; k++) {
        const ptx_instr_t *i = &f->instrs[k];
        for (uint32_t s = 0; s < i->n_operands; s++) {
            const ptx_operand_t *o = &f->operands[i->operand + s];
            int32_t t = s_taint_of (m, taint, o);
            if (o->kind == PTX_OP_ADDRESS && (ptx_is_store (i) || ptx_is_atomic (i)))
                s_mark (m, t, false);
            else if (o->kind != PTX_OP_ADDRESS && (ptx_is_store (i) || ptx_is_atomic (i)))
                s_mark (m, t, true);
            else if (i->opcode == PTX_CALL && o->kind == PTX_OP_VECTOR)
                for (int e = 0; e < o->count; e++)
                    s_mark (m, s_taint_of (m, taint, &f->operands[o->value + e]), true);
        }
        if (ptx_opcode_family ((ptx_opcode_t)i->opcode) == PTX_FAMILY_ASYNC)
            for (uint32_t s = 0; s < i->n_operands; s++)
                s_mark (m, s_taint_of (m, taint, &f->operands[i->operand + s]), false);
    }
    free (taint);
}

typedef struct tree {
    ptx_module_t *m;
    int32_t path[CALL_DEPTH];
    uint8_t *seen; // functions of this kernel's tree
    uint32_t live; // most live registers of a function in it
    bool module_shared, dynamic;
} tree_t;

static void s_walk (tree_t *t, int32_t fi, int depth)
{
    ptx_module_t *m = t->m;
    const ptx_func_t *f = &m->funcs[fi];
    if (t->seen[fi] || depth >= CALL_DEPTH)
        return;
    t->seen[fi] = 1;
    t->live = f->max_live > t->live ? f->max_live : t->live;
    for (uint32_t k = 0; k < f->n_operands; k++) {
        const ptx_operand_t *o = &f->operands[k];
        if (o->symbol < 0)
            continue;
        ptx_symbol_t *s = &m->symbols[o->symbol];
        s->referenced = true;
        if (s->kind == PTX_SYM_FUNC) {
            s_walk (t, s->func, depth + 1);
            continue;
        }
        if (s->space == PTX_SPACE_SHARED && s->is_extern)
            t->dynamic = true;
        else if (s->space == PTX_SPACE_SHARED && (s->func < 0 || !m->funcs[s->func].is_kernel))
            t->module_shared = true;
    }
}

void ptx_summarise (ptx_parser_t *p)
{
    ptx_module_t *m = p->m;
    uint32_t module_shared = (uint32_t)((p->module_shared_top + 15) / 16 * 16);
    tree_t t = {.m = m, .seen = kc_calloc (m->n_funcs + 1u, 1)};
    for (uint32_t k = 0; k < m->n_funcs; k++) {
        ptx_func_t *f = &m->funcs[k];
        if (!f->is_kernel || f->is_declaration)
            continue;
        memset (t.seen, 0, m->n_funcs);
        t.live = 0;
        t.module_shared = t.dynamic = false;
        s_walk (&t, (int32_t)k, 0);
        f->uses_dynamic_shared = t.dynamic;
        if (t.module_shared) { // its own variables move behind the module's
            for (uint32_t s = 0; s < m->n_symbols; s++)
                if (m->symbols[s].kind == PTX_SYM_VAR && m->symbols[s].space == PTX_SPACE_SHARED
                    && m->symbols[s].func == (int32_t)k)
                    m->symbols[s].offset += module_shared;
            f->static_shared += module_shared;
        }
        uint32_t regs = (uint32_t)((double)t.live * 1.1 + 6);
        f->registers = regs > 255 ? 255 : regs;
    }
    free (t.seen);
    for (uint32_t k = 0; k < m->n_funcs; k++) {
        const ptx_func_t *f = &m->funcs[k];
        if (!f->is_declaration) {
            s_writes (m, f);
            continue;
        }
        bool used = false;
        for (uint32_t s = 0; s < m->n_symbols; s++)
            used |= m->symbols[s].kind == PTX_SYM_FUNC && m->symbols[s].func == (int32_t)k && m->symbols[s].referenced;
        if (!used)
            continue;
        ptx_builtin_t b = ptx_builtin_find (f->name);
        if (b.kind == PTX_BUILTIN_PRINTF)
            m->forbidden |= PTX_USES_PRINTF;
        else if (b.kind == PTX_BUILTIN_ASSERT)
            m->forbidden |= PTX_USES_ASSERT;
        else if (!strcmp (f->name, "malloc") || !strcmp (f->name, "free"))
            m->forbidden |= PTX_FORBIDDEN_MALLOC;
        else if (!strncmp (f->name, "cudaLaunch", 10) || !strncmp (f->name, "cudaGetParameterBuffer", 22)
                 || !strncmp (f->name, "__cudaCDP", 9))
            m->forbidden |= PTX_FORBIDDEN_LAUNCH;
        else if (b.kind == PTX_BUILTIN_NONE)
            m->forbidden |= PTX_FORBIDDEN_EXTERN;
    }
    for (uint32_t s = 0; s < m->n_symbols; s++)
        if (s_is_module_var (&m->symbols[s]) && m->symbols[s].referenced && m->symbols[s].written)
            m->forbidden |= PTX_FORBIDDEN_WRITABLE;
}

const char *ptx_module_unresolved (const ptx_module_t *m)
{
    for (uint32_t s = 0; s < m->n_symbols; s++) {
        const ptx_symbol_t *y = &m->symbols[s];
        if (y->kind != PTX_SYM_FUNC || !y->referenced || !m->funcs[y->func].is_declaration)
            continue;
        if (ptx_builtin_find (y->name).kind == PTX_BUILTIN_NONE)
            return y->name;
    }
    return NULL;
}
