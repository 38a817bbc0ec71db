// kc_features.c - see kc_features.h

#include "agents/gpu/model/kc_features.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/util/kc_mem.h"

enum {
    CHAIN_DEPTH = 24,  // definitions followed back from an address
    CHAIN_MAX = 256,   // instructions of one address chain
    FORMS_MAX = 256,   // distinct instruction forms of one loop body
    STENCIL_LOADS = 3, // loads per store from one base that make a stencil
    FUNCS_MAX = 64,    // functions of one kernel
};
#define ORDER_DIFFERS 0.3 // of the share of the sectors' bytes that are used

// One kernel under study: where registers are defined and which hold values that were loaded.
typedef struct study {
    const ptx_func_t *f;
    int32_t *first_def; // per register: first instruction that writes it, -1
    int32_t *next_def;  // per instruction: the next one that writes the same register, -1
    bool *loaded;       // per register: depends on a value loaded from memory
    int32_t *mark;      // per instruction: number of the walk that saw it
    int32_t walk;
} study_t;

static const ptx_operand_t *s_operands (const study_t *s, const ptx_instr_t *i)
{
    return &s->f->operands[i->operand];
}

// Every instruction's first operand is its result, but for these.
static bool s_writes_register (const ptx_instr_t *i)
{
    static const ptx_opcode_t without[] = {PTX_ST, PTX_RED, PTX_BRA, PTX_BRX, PTX_RET, PTX_EXIT, PTX_TRAP,
                                           PTX_BAR, PTX_BARRIER, PTX_MEMBAR, PTX_FENCE, PTX_NANOSLEEP};
    for (size_t k = 0; k < KC_COUNT (without); k++)
        if (i->opcode == without[k])
            return false;
    return i->n_operands > 0;
}

typedef void (visit_f) (study_t *s, int32_t instr, int32_t reg, void *arg);

static void s_each_reg (study_t *s, int32_t at, const ptx_operand_t *o, visit_f *visit, void *arg)
{
    if ((o->kind == PTX_OP_REG || o->kind == PTX_OP_ADDRESS) && o->reg >= 0)
        visit (s, at, o->reg, arg);
    if (o->kind == PTX_OP_VECTOR || o->kind == PTX_OP_PAIR)
        for (int k = 0; k < o->count; k++)
            s_each_reg (s, at, &s->f->operands[o->value + k], visit, arg);
}

// Results: the first operand.  Sources: all others, and the address of a load.
static void s_each_result (study_t *s, int32_t at, visit_f *visit, void *arg)
{
    const ptx_instr_t *i = &s->f->instrs[at];
    if (s_writes_register (i))
        s_each_reg (s, at, s_operands (s, i), visit, arg);
}

static void s_each_source (study_t *s, int32_t at, visit_f *visit, void *arg)
{
    const ptx_instr_t *i = &s->f->instrs[at];
    for (int k = s_writes_register (i) ? 1 : 0; k < i->n_operands; k++)
        s_each_reg (s, at, &s_operands (s, i)[k], visit, arg);
}

static void s_note_def (study_t *s, int32_t at, int32_t reg, void *arg)
{
    (void)arg;
    s->next_def[at] = s->first_def[reg]; // of a vector only one chain is kept: loads end every walk anyway
    s->first_def[reg] = at;
}

static bool s_reads_memory (const ptx_instr_t *i)
{
    return (ptx_is_load (i) && i->space != PTX_SPACE_PARAM && i->space != PTX_SPACE_CONST) || i->opcode == PTX_ATOM;
}

static void s_is_loaded (study_t *s, int32_t at, int32_t reg, void *arg)
{
    (void)at;
    bool *any = arg;
    *any = *any || s->loaded[reg];
}

static void s_set_loaded (study_t *s, int32_t at, int32_t reg, void *arg)
{
    (void)at;
    bool *changed = arg;
    *changed = *changed || !s->loaded[reg];
    s->loaded[reg] = true;
}

static void s_study (study_t *s, const ptx_func_t *f)
{
    *s = (study_t){.f = f};
    s->first_def = kc_malloc ((f->n_regs + 1) * sizeof *s->first_def);
    s->next_def = kc_malloc ((f->n_instrs + 1) * sizeof *s->next_def);
    s->loaded = kc_calloc (f->n_regs + 1, sizeof *s->loaded);
    s->mark = kc_calloc (f->n_instrs + 1, sizeof *s->mark);
    memset (s->first_def, 0xff, (f->n_regs + 1) * sizeof *s->first_def);
    memset (s->next_def, 0xff, (f->n_instrs + 1) * sizeof *s->next_def);
    for (int32_t i = 0; i < (int32_t)f->n_instrs; i++)
        s_each_result (s, i, s_note_def, NULL);
    // Values from memory, to a fixed point; loops carry them, so one pass is not enough.
    for (bool changed = true; changed;) {
        changed = false;
        for (int32_t i = 0; i < (int32_t)f->n_instrs; i++) {
            bool from = s_reads_memory (&f->instrs[i]);
            if (!from)
                s_each_source (s, i, s_is_loaded, &from);
            if (from)
                s_each_result (s, i, s_set_loaded, &changed);
        }
    }
}

static void s_study_end (study_t *s)
{
    free (s->first_def);
    free (s->next_def);
    free (s->loaded);
    free (s->mark);
}

// ---- address chains ----

typedef struct chain {
    int integers;   // integer instructions that compute the address
    int multiplies;
    int depth;
    int loop_depth; // instructions outside the access's loops are paid once and not counted
} chain_t;

static bool s_is_integer_op (const ptx_instr_t *i)
{
    ptx_type_t t = (ptx_type_t)i->type;
    if (t == PTX_TYPE_F32 || t == PTX_TYPE_F64 || t == PTX_TYPE_F16 || t == PTX_TYPE_BF16)
        return false;
    ptx_family_t family = ptx_opcode_family ((ptx_opcode_t)i->opcode);
    return family == PTX_FAMILY_ARITH || family == PTX_FAMILY_LOGIC || i->opcode == PTX_CVT;
}

static void s_walk (study_t *s, int32_t at, int32_t reg, void *arg)
{
    (void)at;
    chain_t *c = arg;
    for (int32_t d = s->first_def[reg]; d >= 0; d = s->next_def[d]) {
        if (s->mark[d] == s->walk || c->depth >= CHAIN_DEPTH || c->integers >= CHAIN_MAX)
            continue;
        s->mark[d] = s->walk;
        const ptx_instr_t *i = &s->f->instrs[d];
        if (s_is_integer_op (i)) {
            c->integers += i->loop_depth >= c->loop_depth;
            c->multiplies += i->opcode == PTX_MUL || i->opcode == PTX_MAD;
        }
        if (ptx_is_load (i))
            continue; // a loaded index: what computed that load's address is its own chain
        c->depth++;
        s_each_source (s, d, s_walk, c);
        c->depth--;
    }
}

static chain_t s_address_chain (study_t *s, int32_t at)
{
    const ptx_instr_t *i = &s->f->instrs[at];
    chain_t c = {.loop_depth = i->loop_depth};
    const ptx_operand_t *o = s_operands (s, i);
    for (int k = 0; k < i->n_operands; k++)
        if (o[k].kind == PTX_OP_ADDRESS && o[k].reg >= 0) {
            s->walk++;
            s_walk (s, at, o[k].reg, &c);
        }
    return c;
}

// ---- counting ----

typedef struct counts {
    int global_loads, global_stores, shared_loads, shared_stores, readonly;
    double load_bytes, store_bytes;
    int loops, depth, barriers, barriers_in_loop, fma, mma, transcendental, divisions, shuffles, atomics, asyncs, locals,
        narrowing, calls, data_dependent, loaded_addresses;
    int float_ops, loop_loads, loop_stores, product_in_loop, accumulate_in_loop;
    double address_ops;
    int accesses, load_multiplies, store_multiplies;
    int same_base; // most loads from one base register with different offsets
} counts_t;

static bool s_is_float (ptx_type_t t)
{
    return t == PTX_TYPE_F32 || t == PTX_TYPE_F64 || t == PTX_TYPE_F16 || t == PTX_TYPE_F16X2 || t == PTX_TYPE_BF16
           || t == PTX_TYPE_BF16X2;
}

static bool s_defined_by_load (const study_t *s, const ptx_operand_t *o)
{
    if (o->kind != PTX_OP_REG || o->reg < 0)
        return false;
    for (int32_t d = s->first_def[o->reg]; d >= 0; d = s->next_def[d]) {
        const ptx_instr_t *i = &s->f->instrs[d];
        if (s_reads_memory (i))
            return true;
        // a guarded element (row < M ? a[...] : 0) passes through a select or a move
        if ((i->opcode == PTX_SELP || i->opcode == PTX_MOV) && i->n_operands > 1 && s_operands (s, i)[1].kind == PTX_OP_REG
            && s_operands (s, i)[1].reg >= 0 && s->loaded[s_operands (s, i)[1].reg])
            return true;
    }
    return false;
}

static bool s_narrows (const ptx_instr_t *i)
{
    return i->opcode == PTX_CVT && s_is_float ((ptx_type_t)i->type2)
           && ptx_type_bytes ((ptx_type_t)i->type) < ptx_type_bytes ((ptx_type_t)i->type2)
           && (s_is_float ((ptx_type_t)i->type) || i->type == PTX_TYPE_TF32 || i->type == PTX_TYPE_E4M3X2 || i->type == PTX_TYPE_E5M2X2);
}

static void s_count_access (study_t *s, int32_t at, counts_t *c)
{
    const ptx_instr_t *i = &s->f->instrs[at];
    bool load = ptx_is_load (i), store = ptx_is_store (i);
    double bytes = (double)i->vec * ptx_type_bytes ((ptx_type_t)i->type);
    if (i->space == PTX_SPACE_SHARED) {
        c->shared_loads += load;
        c->shared_stores += store;
        c->loop_loads += load && i->loop_depth > 0;
        return;
    }
    if (i->space == PTX_SPACE_LOCAL) {
        c->locals++;
        return;
    }
    if (i->space != PTX_SPACE_GLOBAL && i->space != PTX_SPACE_GENERIC)
        return;
    c->global_loads += load;
    c->global_stores += store;
    c->readonly += load && (i->mods & PTX_MOD_NC);
    c->load_bytes += load ? bytes : 0;
    c->store_bytes += store ? bytes : 0;
    c->loop_loads += load && i->loop_depth > 0;
    c->loop_stores += store && i->loop_depth > 0;
    chain_t chain = s_address_chain (s, at);
    c->address_ops += chain.integers;
    c->accesses++;
    if (load)
        c->load_multiplies += chain.multiplies;
    else
        c->store_multiplies += chain.multiplies;
    const ptx_operand_t *o = s_operands (s, i);
    for (int k = 0; k < i->n_operands; k++)
        if (o[k].kind == PTX_OP_ADDRESS && o[k].reg >= 0 && s->loaded[o[k].reg])
            c->loaded_addresses++;
}

static void s_count_arithmetic (const study_t *s, const ptx_instr_t *i, counts_t *c)
{
    const ptx_operand_t *o = s_operands (s, i);
    bool is_float = s_is_float ((ptx_type_t)i->type);
    ptx_family_t family = ptx_opcode_family ((ptx_opcode_t)i->opcode);
    c->float_ops += is_float && (family == PTX_FAMILY_ARITH || family == PTX_FAMILY_MATH);
    c->transcendental += family == PTX_FAMILY_MATH;
    c->divisions += i->opcode == PTX_DIV || i->opcode == PTX_REM;
    c->narrowing += s_narrows (i);
    if (i->opcode == PTX_FMA || (i->opcode == PTX_MAD && is_float)) {
        c->fma++;
        c->product_in_loop += i->loop_depth > 0 && i->n_operands >= 4 && s_defined_by_load (s, &o[1]) && s_defined_by_load (s, &o[2]);
    }
    bool joins = i->opcode == PTX_ADD || i->opcode == PTX_MAX || i->opcode == PTX_MIN || i->opcode == PTX_FMA;
    c->accumulate_in_loop += is_float && joins && i->loop_depth > 0;
}

static void s_count (study_t *s, counts_t *c)
{
    for (int32_t at = 0; at < (int32_t)s->f->n_instrs; at++) {
        const ptx_instr_t *i = &s->f->instrs[at];
        c->loops += i->back_edge;
        c->depth = i->loop_depth > c->depth ? i->loop_depth : c->depth;
        if (ptx_is_load (i) || ptx_is_store (i))
            s_count_access (s, at, c);
        c->atomics += ptx_is_atomic (i);
        c->calls += i->opcode == PTX_CALL;
        c->data_dependent += (i->opcode == PTX_BRA || i->opcode == PTX_BRX) && i->guard >= 0 && s->loaded[i->guard];
        const ptx_family_t family = ptx_opcode_family ((ptx_opcode_t)i->opcode);
        c->barriers += family == PTX_FAMILY_BARRIER;
        c->barriers_in_loop += family == PTX_FAMILY_BARRIER && i->loop_depth > 0;
        c->shuffles += family == PTX_FAMILY_WARP;
        c->mma += family == PTX_FAMILY_MATRIX;
        c->asyncs += family == PTX_FAMILY_ASYNC;
        s_count_arithmetic (s, i, c);
    }
}

// Copies of the body in the innermost loops: the greatest common divisor of how often each form of memory and
// floating point instruction occurs there.
static int s_unrolled (const ptx_func_t *f)
{
    struct {
        const char *text;
        int n;
    } forms[FORMS_MAX];
    int n_forms = 0, deepest = 0;
    for (uint32_t k = 0; k < f->n_instrs; k++)
        deepest = f->instrs[k].loop_depth > deepest ? f->instrs[k].loop_depth : deepest;
    for (uint32_t k = 0; k < f->n_instrs && deepest > 0; k++) {
        const ptx_instr_t *i = &f->instrs[k];
        bool counts = ptx_is_load (i) || ptx_is_store (i) || i->opcode == PTX_FMA || ptx_opcode_family ((ptx_opcode_t)i->opcode) == PTX_FAMILY_MATH;
        if (i->loop_depth != deepest || !counts)
            continue;
        int at = 0;
        while (at < n_forms && forms[at].text != i->text)
            at++;
        if (at == n_forms && n_forms < FORMS_MAX) {
            forms[n_forms].text = i->text;
            forms[n_forms++].n = 0;
        }
        if (at < n_forms)
            forms[at].n++;
    }
    int divisor = 0;
    for (int k = 0; k < n_forms; k++) {
        int a = divisor, b = forms[k].n;
        while (b) {
            int r = a % b;
            a = b;
            b = r;
        }
        divisor = a;
    }
    return divisor > 0 ? divisor : 1;
}

// Loads of one base register at different offsets, the most for any base.
static int s_same_base (const study_t *s)
{
    int *n = kc_calloc (s->f->n_regs + 1, sizeof *n);
    int most = 0;
    for (uint32_t k = 0; k < s->f->n_instrs; k++) {
        const ptx_instr_t *i = &s->f->instrs[k];
        if (!ptx_is_load (i) || i->space != PTX_SPACE_GLOBAL || i->n_operands < 2)
            continue;
        const ptx_operand_t *o = &s_operands (s, i)[1];
        if (o->kind == PTX_OP_ADDRESS && o->reg >= 0 && ++n[o->reg] > most)
            most = n[o->reg];
    }
    free (n);
    return most;
}

// ---- structure ----

typedef struct guess {
    kc_evidence_structure_t structure;
    const char *why;
} guess_t;

static guess_t s_structure (const counts_t *c, const kc_features_context_t *context)
{
    bool cooperates = c->shuffles > 0 || (c->barriers > 0 && c->shared_loads > 0 && c->shared_stores > 0);
    if (c->mma > 0)
        return (guess_t){KC_EVIDENCE_STRUCTURE_CONTRACTION, "tensor core instructions"};
    if (c->product_in_loop > 0 && c->loop_loads >= 2)
        return (guess_t){KC_EVIDENCE_STRUCTURE_CONTRACTION, "multiply-adds of two loaded values in a loop"};
    if (c->loaded_addresses > 0)
        return (guess_t){KC_EVIDENCE_STRUCTURE_GATHER, "addresses depend on loaded values"};
    if (c->float_ops == 0 && c->global_loads > 0 && c->global_stores > 0) {
        if (c->barriers > 0 && c->shared_loads > 0)
            return (guess_t){KC_EVIDENCE_STRUCTURE_TRANSPOSE, "no arithmetic, data crosses shared memory"};
        if (context->ld_efficiency >= 0 && context->st_efficiency >= 0
            && fabs (context->ld_efficiency - context->st_efficiency) > ORDER_DIFFERS)
            return (guess_t){KC_EVIDENCE_STRUCTURE_TRANSPOSE, "no arithmetic, loads and stores walk along different axes"};
        if (c->load_multiplies != c->store_multiplies)
            return (guess_t){KC_EVIDENCE_STRUCTURE_TRANSPOSE, "no arithmetic, loads and stores index differently"};
        return (guess_t){KC_EVIDENCE_STRUCTURE_COPY, "no arithmetic between loads and stores"};
    }
    bool few = context->outputs <= context->blocks || (context->stores >= 0 && context->stores <= context->blocks);
    if (cooperates && c->float_ops > 0)
        return few ? (guess_t){KC_EVIDENCE_STRUCTURE_FULL_REDUCE, "threads of a block join values, at most one output per block"}
                   : (guess_t){KC_EVIDENCE_STRUCTURE_ROW_REDUCE, "threads of a block join values"};
    if (c->atomics > 0 && c->global_loads > 0 && c->float_ops > 0)
        return (guess_t){KC_EVIDENCE_STRUCTURE_FULL_REDUCE, "values are joined by atomics"};
    if (c->accumulate_in_loop > 0 && c->loop_loads > 0 && c->loop_stores == 0)
        return (guess_t){KC_EVIDENCE_STRUCTURE_COLUMN_REDUCE, "each thread joins values in a loop and stores behind it"};
    if (c->global_stores > 0 && c->same_base >= STENCIL_LOADS && c->same_base >= STENCIL_LOADS * c->global_stores)
        return (guess_t){KC_EVIDENCE_STRUCTURE_STENCIL, "several loads around one address for each store"};
    if (c->float_ops > 0 && c->global_stores > 0)
        return (guess_t){KC_EVIDENCE_STRUCTURE_MAP, "arithmetic from loads to stores without joining"};
    return (guess_t){KC_EVIDENCE_STRUCTURE_OTHER, "no rule fired"};
}

// The kernel and every function with a body that it calls, directly or through others.
static size_t s_reachable (const ptx_module_t *module, const ptx_func_t *kernel, const ptx_func_t *list[FUNCS_MAX])
{
    size_t n = 0;
    list[n++] = kernel;
    for (size_t k = 0; k < n; k++)
        for (uint32_t at = 0; at < list[k]->n_instrs; at++) {
            const ptx_instr_t *i = &list[k]->instrs[at];
            for (int o = 0; i->opcode == PTX_CALL && o < i->n_operands; o++) {
                const ptx_operand_t *op = &list[k]->operands[i->operand + (uint32_t)o];
                if (op->kind != PTX_OP_SYMBOL || op->symbol < 0 || module->symbols[op->symbol].kind != PTX_SYM_FUNC)
                    continue;
                const ptx_func_t *f = &module->funcs[module->symbols[op->symbol].func];
                bool known = f->is_declaration;
                for (size_t m = 0; m < n && !known; m++)
                    known = list[m] == f;
                if (!known && n < FUNCS_MAX)
                    list[n++] = f;
            }
        }
    return n;
}

#define SET(field, x)                                                                  \
    do {                                                                               \
        out->has_##field = true;                                                       \
        out->field = (double)(x);                                                      \
    } while (0)

void kc_features_read (const ptx_module_t *module, const ptx_func_t *kernel, const kc_features_context_t *context,
                       kc_evidence_step_t *out)
{
    counts_t c = {0};
    const ptx_func_t *funcs[FUNCS_MAX];
    const size_t n_funcs = s_reachable (module, kernel, funcs);
    uint32_t instructions = 0;
    int unrolled = 1;
    for (size_t k = 0; k < n_funcs; k++) {
        study_t s;
        s_study (&s, funcs[k]);
        s_count (&s, &c);
        const int same_base = s_same_base (&s), copies = s_unrolled (funcs[k]);
        c.same_base = same_base > c.same_base ? same_base : c.same_base;
        unrolled = copies > unrolled ? copies : unrolled;
        instructions += funcs[k]->n_instrs;
        s_study_end (&s);
    }
    SET (code_global_loads, c.global_loads);
    SET (code_global_stores, c.global_stores);
    SET (code_shared_loads, c.shared_loads);
    SET (code_shared_stores, c.shared_stores);
    if (c.global_loads) {
        SET (code_ld_bytes, c.load_bytes / c.global_loads);
        SET (code_readonly_share, (double)c.readonly / c.global_loads);
    }
    if (c.global_stores)
        SET (code_st_bytes, c.store_bytes / c.global_stores);
    SET (code_loops, c.loops);
    SET (code_loop_depth, c.depth);
    SET (code_barriers_in_loop, c.barriers_in_loop);
    SET (code_unrolled, unrolled);
    SET (code_fma, c.fma);
    SET (code_mma, c.mma);
    SET (code_transcendentals, c.transcendental);
    SET (code_divisions, c.divisions);
    SET (code_shuffles, c.shuffles);
    SET (code_atomics, c.atomics);
    SET (code_async_copies, c.asyncs);
    SET (code_local_accesses, c.locals);
    SET (code_narrowing, c.narrowing);
    SET (code_calls, c.calls);
    if (c.accesses)
        SET (code_address_ops, c.address_ops / c.accesses);
    SET (code_data_dependent, c.data_dependent + c.loaded_addresses);
    SET (code_instructions, instructions);
    guess_t guess = s_structure (&c, context);
    out->structure = guess.structure;
    kc_set (&out->structure_why, guess.why);
}
