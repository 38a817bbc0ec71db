// kc_compile_policy.c - rules and facts of compiled code, from its PTX
// (kernel-program 1.10 S4, S5, H7)
//
// What counts is the code, whatever the source looked like: a clock read through inline
// assembly, a counter hidden in a module variable and a call of malloc in a macro all
// end here.  Symbols that no kernel refers to do not count.

#include <stdlib.h>
#include <string.h>

#include "agents/gpu/compile/kc_compile_int.h"
#include "agents/gpu/vgpu/ptx_module.h"
#include "common/util/kc_mem.h"

// ---- rules ----

static const char *s_clock (int sreg)
{
    switch (sreg) {
    case PTX_SREG_CLOCK:
        return "%clock";
    case PTX_SREG_CLOCK_HI:
        return "%clock_hi";
    case PTX_SREG_CLOCK64:
        return "%clock64";
    case PTX_SREG_GLOBALTIMER:
    case PTX_SREG_GLOBALTIMER_LO:
    case PTX_SREG_GLOBALTIMER_HI:
        return "%globaltimer";
    default: // the other special registers are allowed
        return NULL;
    }
}

typedef struct s_check {
    kc_compiled_t *c;
    const ptx_module_t *m;
    const ptx_func_t *f;
    bool smid;
} s_check_t;

// The author's name of the kernel, else NULL.
static const char *s_kernel_name (const kc_compiled_t *c, const char *symbol)
{
    for (size_t i = 0; i < c->n_kernels; i++)
        if (strcmp (c->kernels[i].symbol, symbol) == 0)
            return c->kernels[i].name;
    return NULL;
}

static void s_refuse (s_check_t *k, const ptx_instr_t *i, const char *what,
                      const char *rule)
{
    kc_compiled_find (k->c, KC_VERDICT_STATUS_COMPILE_ERROR, i ? i->line : 0, "%s",
                      what);
    kc_compiled_kernel_of (k->c, k->f ? s_kernel_name (k->c, k->f->name) : NULL);
    kc_compiled_fix (k->c, rule);
}

// The line of the first store or atomic of 'f' whose address comes from the variable; 0
// when it is not in here.
static uint32_t s_write_line (const ptx_func_t *f, int32_t symbol)
{
    bool *from = (bool *)kc_calloc (f->n_regs + 1u, sizeof *from);
    uint32_t line = 0;
    for (uint32_t n = 0; n < f->n_instrs && !line; n++) {
        const ptx_instr_t *i = &f->instrs[n];
        bool writes = ptx_is_store (i) || ptx_is_atomic (i), any = false;
        for (uint32_t o = 0; o < i->n_operands; o++) {
            const ptx_operand_t *p = &f->operands[i->operand + o];
            bool derived =
                p->symbol == symbol
                || (p->reg >= 0 && from[p->reg] && (o > 0 || p->kind != PTX_OP_REG));
            if (derived && writes && p->kind == PTX_OP_ADDRESS)
                line = i->line;
            any |= derived;
        }
        const ptx_operand_t *dest = i->n_operands ? &f->operands[i->operand] : NULL;
        if (any && !writes && !ptx_is_load (i) && dest && dest->kind == PTX_OP_REG
            && dest->reg >= 0)
            from[dest->reg] = true;
    }
    free (from);
    return line;
}

static void s_operand (s_check_t *k, const ptx_instr_t *i, const ptx_operand_t *o)
{
    if (o->kind == PTX_OP_SREG) {
        const char *clock = s_clock (o->sreg);
        if (clock) {
            char *text = kc_asprintf (
                "the code reads %s: a program may not measure time", clock);
            s_refuse (k, i, text,
                      "remove clock(), clock64() and reads of the timer registers");
            free (text);
        }
        if (o->sreg == PTX_SREG_SMID || o->sreg == PTX_SREG_NSMID
            || o->sreg == PTX_SREG_GRIDID) {
            k->c->facts.uses_smid = true;
            if (!k->smid)
                kc_compiled_note (k->c, "line %u reads %s", i->line,
                                  o->sreg == PTX_SREG_SMID    ? "%smid"
                                  : o->sreg == PTX_SREG_NSMID ? "%nsmid"
                                                              : "%gridid");
            k->smid = true;
        }
    }
    if (o->symbol < 0 || (uint32_t)o->symbol >= k->m->n_symbols)
        return;
    const ptx_symbol_t *s = &k->m->symbols[o->symbol];
    if (s->kind == PTX_SYM_VAR && s->written && s->func < 0
        && (s->space == PTX_SPACE_GLOBAL || s->space == PTX_SPACE_CONST)) {
        char *text = kc_asprintf ("the code may write the module variable %s: it would "
                                  "keep its value between launches",
                                  s->name);
        uint32_t line = s_write_line (k->f, o->symbol);
        ptx_instr_t at = *i;
        at.line = line ? line : i->line;
        s_refuse (k, &at, text,
                  "put it into a buffer: //@ scratch name type[size] (zero), and give "
                  "it to the kernel as an argument");
        free (text);
    }
    if (s->kind == PTX_SYM_FUNC && i->opcode == PTX_CALL) {
        if (!strcmp (s->name, "malloc") || !strcmp (s->name, "free"))
            s_refuse (
                k, i,
                "the code calls malloc or free: device-side allocation is not allowed",
                "use a //@ scratch buffer or shared memory");
        else if (!strncmp (s->name, "cudaLaunch", 10)
                 || !strncmp (s->name, "cudaGetParameterBuffer", 22)
                 || !strncmp (s->name, "__cudaCDP", 9))
            s_refuse (k, i, "the code launches a kernel from the device",
                      "make it a step of its own: //@ launch");
    }
}

static void s_instr (s_check_t *k, const ptx_instr_t *i)
{
    if (i->opcode == PTX_BRKPT || i->opcode == PTX_PMEVENT) {
        char *text = kc_asprintf ("the code contains %s, which is not allowed",
                                  ptx_opcode_name ((ptx_opcode_t)i->opcode));
        s_refuse (k, i, text, "remove it; __trap() is allowed");
        free (text);
    }
    for (uint32_t n = 0; n < i->n_operands; n++) {
        const ptx_operand_t *o = &k->f->operands[i->operand + n];
        s_operand (k, i, o);
        if (o->kind == PTX_OP_VECTOR || o->kind == PTX_OP_PAIR)
            for (int64_t e = 0; e < o->count && o->value + e < k->f->n_operands; e++)
                s_operand (k, i, &k->f->operands[o->value + e]);
    }
}

static void s_externs (s_check_t *k)
{
    const char *name = ptx_module_unresolved (k->m);
    if (!name || !strcmp (name, "malloc") || !strcmp (name, "free")
        || !strncmp (name, "cuda", 4) || !strncmp (name, "__cudaCDP", 9))
        return;
    for (uint32_t f = 0; f < k->m->n_funcs; f++)
        for (uint32_t n = 0; n < k->m->funcs[f].n_instrs; n++) {
            const ptx_func_t *fn = &k->m->funcs[f];
            const ptx_instr_t *i = &fn->instrs[n];
            for (uint32_t o = 0; i->opcode == PTX_CALL && o < i->n_operands; o++) {
                const ptx_operand_t *p = &fn->operands[i->operand + o];
                if (p->symbol < 0 || strcmp (k->m->symbols[p->symbol].name, name) != 0)
                    continue;
                char *text =
                    kc_asprintf ("the code calls %s, which nobody defines", name);
                k->f = fn;
                s_refuse (k, i, text,
                          "define it in the source; of the outside only the math "
                          "library is there");
                free (text);
                return;
            }
        }
}

// ---- facts ----

static bool s_is_float16 (uint8_t t)
{
    return t == PTX_TYPE_F16 || t == PTX_TYPE_F16X2;
}

static bool s_is_bf16 (uint8_t t)
{
    return t == PTX_TYPE_BF16 || t == PTX_TYPE_BF16X2;
}

static bool s_is_fp8 (uint8_t t)
{
    return t == PTX_TYPE_E4M3X2 || t == PTX_TYPE_E5M2X2 || t == PTX_TYPE_E4M3
           || t == PTX_TYPE_E5M2;
}

// The type of the inputs of a tensor instruction, from its full form
// ("mma....f32.tf32.tf32.f32").
static void s_tensor (kc_code_facts_t *facts, const char *form)
{
    if (strstr (form, ".tf32"))
        facts->tensor_tf32++;
    else if (strstr (form, ".bf16"))
        facts->tensor_bf16++;
    else if (strstr (form, ".e4m3") || strstr (form, ".e5m2"))
        facts->tensor_fp8++;
    else if (strstr (form, ".f64"))
        facts->tensor_f64++;
    else if (strstr (form, ".s8") || strstr (form, ".u8") || strstr (form, ".s4")
             || strstr (form, ".u4") || strstr (form, ".b1"))
        facts->tensor_int++;
    else
        facts->tensor_f16++;
}

static void s_fact (kc_code_facts_t *facts, const ptx_instr_t *i)
{
    const char *form = i->text ? i->text : "";
    ptx_family_t family = ptx_opcode_family ((ptx_opcode_t)i->opcode);
    if (i->opcode == PTX_MMA
        || (i->opcode == PTX_WMMA && strncmp (form, "wmma.mma", 8) == 0)
        || (i->opcode == PTX_WGMMA && strncmp (form, "wgmma.mma", 9) == 0))
        s_tensor (facts, form);
    if (i->opcode == PTX_CREATEPOLICY)
        facts->uses_createpolicy = true;
    if (i->opcode == PTX_CVT) {
        bool wide = i->type2 == PTX_TYPE_F32 || i->type2 == PTX_TYPE_F64;
        if (s_is_float16 (i->type) && wide)
            facts->to_f16++;
        else if (s_is_bf16 (i->type) && wide)
            facts->to_bf16++;
        else if (s_is_fp8 (i->type))
            facts->to_fp8++;
        else if (i->type == PTX_TYPE_TF32)
            facts->to_tf32++;
    }
    if (i->mods & (PTX_MOD_APPROX | PTX_MOD_FULL))
        facts->approx++;
    if (i->mods & PTX_MOD_FTZ)
        facts->ftz++;
    if (family == PTX_FAMILY_ARITH || family == PTX_FAMILY_MATH) {
        if (i->type == PTX_TYPE_F64)
            facts->fp64++;
        else if (i->type == PTX_TYPE_F32)
            facts->fp32++;
    }
}

// ---- kernels ----

static void s_kernel_facts (const ptx_func_t *f, kc_kernel_facts_t *k)
{
    k->registers = (int)f->registers;
    k->registers_estimated = true;
    k->shared_static = f->static_shared;
    k->local_bytes = f->local_bytes;
    uint64_t threads = 1;
    const uint32_t *bound = f->reqntid[0] ? f->reqntid : f->maxntid;
    for (int d = 0; d < 3; d++)
        threads *= bound[d] ? bound[d] : 1;
    k->max_threads = bound[0] && threads <= 1024 ? (int)threads : 1024;
    k->n_params =
        f->n_params < KC_COUNT (k->params) ? f->n_params : KC_COUNT (k->params);
    for (size_t i = 0; i < k->n_params; i++) {
        k->params[i].offset = f->params[i].offset;
        k->params[i].size = f->params[i].size;
    }
}

static void s_kernels (const kc_compile_job_t *job, kc_compiled_t *c,
                       const ptx_module_t *m)
{
    if (job->n_kernels == 0)
        for (uint32_t i = 0; i < m->n_funcs && c->n_kernels < KC_COMPILE_KERNELS; i++)
            if (m->funcs[i].is_kernel && !m->funcs[i].is_declaration) {
                kc_kernel_facts_t *k = (kc_kernel_facts_t *)kc_push (
                    &c->kernels, &c->n_kernels, sizeof *k);
                k->name = kc_strdup (m->funcs[i].name);
                k->symbol = kc_strdup (m->funcs[i].name);
            }
    for (size_t i = 0; i < c->n_kernels; i++) {
        const ptx_func_t *f = ptx_module_func (m, c->kernels[i].symbol);
        if (!f || !f->is_kernel) {
            kc_compiled_find (c, KC_VERDICT_STATUS_COMPILE_ERROR, 0,
                              "%s is not a kernel: it has no __global__",
                              c->kernels[i].name);
            kc_compiled_kernel_of (c, c->kernels[i].name);
            continue;
        }
        if (f->n_params > KC_COUNT (c->kernels[i].params)) {
            kc_compiled_find (
                c, KC_VERDICT_STATUS_COMPILE_ERROR, 0,
                "the kernel %s has %u parameters; at most %zu are possible",
                c->kernels[i].name, f->n_params, KC_COUNT (c->kernels[i].params));
            kc_compiled_kernel_of (c, c->kernels[i].name);
        }
        s_kernel_facts (f, &c->kernels[i]);
    }
}

// The parser knows the registers that the virtual GPU has.  Those of clusters are
// harmless under the rules, so for this check they are read as one that it knows.
// Caller frees.
static char *s_readable (const char *ptx)
{
    static const char *const unknown[] = {"%cluster_",       "%clusterid.",
                                          "%nclusterid.",    "%is_explicit_cluster",
                                          "%aggr_smem_size", "%reserved_smem_offset_"};
    kc_buf_t out = {0};
    for (const char *p = ptx; *p;) {
        const char *next = strchr (p + 1, '%');
        size_t n = next ? (size_t)(next - p) : strlen (p);
        bool replaced = false;
        for (size_t i = 0; i < KC_COUNT (unknown) && !replaced; i++)
            if (strncmp (p, unknown[i], strlen (unknown[i])) == 0) {
                size_t word = strspn (p + 1, "abcdefghijklmnopqrstuvwxyz_.") + 1;
                kc_buf_puts (&out, "%laneid");
                kc_buf_put (&out, p + word, n - word);
                replaced = true;
            }
        if (!replaced)
            kc_buf_put (&out, p, n);
        p += n;
    }
    return kc_buf_take (&out);
}

void kc_compile_policy (const kc_compile_job_t *job, kc_compiled_t *c)
{
    kc_err_t err;
    char *text = s_readable (c->ptx);
    ptx_module_t *m = ptx_module_parse (text, strlen (text), &err);
    free (text);
    if (!m) {
        // Inline assembly reaches the PTX unread; what cannot be read cannot be judged.
        const char *at = strstr (err.text, "line ");
        int64_t line = at ? kc_ptx_source_line (c->ptx, strtoll (at + 5, NULL, 10)) : 0;
        kc_compiled_find (c,
                          err.code == KC_EUNSUPPORTED ? KC_VERDICT_STATUS_UNSUPPORTED
                                                      : KC_VERDICT_STATUS_COMPILE_ERROR,
                          line, "the compiled code cannot be read: %s", err.text);
        return;
    }
    s_kernels (job, c, m);
    s_check_t k = {.c = c, .m = m};
    for (uint32_t f = 0; f < m->n_funcs; f++) {
        k.f = &m->funcs[f];
        for (uint32_t i = 0; i < k.f->n_instrs; i++) {
            s_instr (&k, &k.f->instrs[i]);
            s_fact (&c->facts, &k.f->instrs[i]);
        }
    }
    k.f = NULL;
    s_externs (&k);
    c->facts.uses_printf = (m->forbidden & PTX_USES_PRINTF) != 0;
    c->facts.uses_assert = (m->forbidden & PTX_USES_ASSERT) != 0;
    if (!job->printf_on && (c->facts.uses_printf || c->facts.uses_assert))
        kc_compiled_find (c, KC_VERDICT_STATUS_COMPILE_ERROR, 0,
                          "the code calls %s, which judged builds do not contain",
                          c->facts.uses_printf ? "vprintf" : "__assertfail");
    ptx_module_destroy (&m);
}
