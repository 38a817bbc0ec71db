// ptx_instr.c - one instruction: guard, opcode with its suffix words, operands
//
// The same suffix means different things for different opcodes (.lo of mul is not .lo of setp), so words are
// looked up in the order that the opcode's family asks for.  A suffix outside every table sets
// PTX_MOD_UNKNOWN: the instruction parses, but cannot run.

#include "agents/gpu/vgpu/ptx_internal.h"

#include <string.h>

#include "common/util/kc_mem.h"

typedef struct word {
    const char *text;
    uint32_t value;
} word_t;

#define ROW(sym, name) {name, PTX_CMP_##sym},
static const word_t s_cmps[] = {PTX_CMPS (ROW)};
#undef ROW
#define ROW(sym, name) {name, PTX_SUB_##sym},
static const word_t s_subs[] = {PTX_SUBS (ROW)};
#undef ROW
#define ROW(sym, name) {name, PTX_SREG_##sym},
static const word_t s_sregs[] = {PTX_SREGS (ROW)};
#undef ROW
static const word_t s_spaces[] = {{"global", PTX_SPACE_GLOBAL},       {"shared", PTX_SPACE_SHARED},
                                  {"shared::cta", PTX_SPACE_SHARED},  {"local", PTX_SPACE_LOCAL},
                                  {"param", PTX_SPACE_PARAM},         {"param::entry", PTX_SPACE_PARAM},
                                  {"param::func", PTX_SPACE_PARAM},   {"const", PTX_SPACE_CONST}};
static const word_t s_rounds[] = {{"rn", PTX_ROUND_RN},   {"rz", PTX_ROUND_RZ},   {"rm", PTX_ROUND_RM},
                                  {"rp", PTX_ROUND_RP},   {"rni", PTX_ROUND_RNI}, {"rzi", PTX_ROUND_RZI},
                                  {"rmi", PTX_ROUND_RMI}, {"rpi", PTX_ROUND_RPI}, {"rna", PTX_ROUND_RNA},
                                  {"rs", PTX_ROUND_RS}};
static const word_t s_bools[] = {{"and", PTX_BOOL_AND}, {"or", PTX_BOOL_OR}, {"xor", PTX_BOOL_XOR}};
static const word_t s_mods[] = {{"ftz", PTX_MOD_FTZ},         {"sat", PTX_MOD_SAT},
                                {"approx", PTX_MOD_APPROX},   {"full", PTX_MOD_FULL},
                                {"cc", PTX_MOD_CC},           {"to", PTX_MOD_TO},
                                {"nc", PTX_MOD_NC},           {"volatile", PTX_MOD_VOLATILE},
                                {"relaxed", PTX_MOD_ACQUIRE}, {"acquire", PTX_MOD_ACQUIRE},
                                {"release", PTX_MOD_RELEASE}, {"acq_rel", PTX_MOD_ACQUIRE | PTX_MOD_RELEASE},
                                {"sc", 0},                    {"aligned", PTX_MOD_ALIGNED},
                                {"NaN", PTX_MOD_NAN},         {"xorsign", PTX_MOD_XORSIGN},
                                {"shiftamt", PTX_MOD_SHIFTAMT}, {"noftz", PTX_MOD_NOFTZ},
                                {"relu", PTX_MOD_RELU},       {"L2::cache_hint", PTX_MOD_CACHE_HINT}};
// cache and scope words without effect here
static const char *const s_ignored[] = {"ca", "cg", "cs", "lu", "wb", "wt", "cta", "gpu", "sys", "gl", "weak",
                                        "L2::64B", "L2::128B", "L2::256B", "L1::evict_normal",
                                        "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate",
                                        "L2::evict_last", "L2::evict_normal", "L2::evict_first", "L1", "L2"};

static bool s_find (const word_t *table, size_t n, const char *text, size_t size, uint32_t *value)
{
    for (size_t i = 0; i < n; i++)
        if (strlen (table[i].text) == size && !memcmp (table[i].text, text, size)) {
            *value = table[i].value;
            return true;
        }
    return false;
}
#define FIND(table, v) s_find (table, KC_COUNT (table), w, n, v)

static bool s_opcode (const char *text, size_t size, uint16_t *op)
{
    for (int i = 0; i < PTX_OPCODE_COUNT; i++) {
        const char *name = ptx_opcode_name ((ptx_opcode_t)i);
        if (strlen (name) == size && !memcmp (name, text, size)) {
            *op = (uint16_t)i;
            return true;
        }
    }
    return false;
}

// Does the opcode read its operation from .and/.lo/... rather than from a comparison or a mode?
static void s_suffix (ptx_instr_t *i, const char *w, size_t n)
{
    uint32_t v = 0;
    uint8_t type = ptx_type_parse (w, n);
    if (type) {
        if (!i->type)
            i->type = type;
        else if (!i->type2)
            i->type2 = type;
        else if (!i->type3)
            i->type3 = type;
        else
            i->type4 = type;
        return;
    }
    bool compares = i->opcode == PTX_SET || i->opcode == PTX_SETP;
    if (compares && FIND (s_cmps, &v) && !i->cmp)
        i->cmp = (uint8_t)v;
    else if (compares && FIND (s_bools, &v))
        i->boolop = (uint8_t)v;
    else if (i->opcode == PTX_MEMBAR || i->opcode == PTX_FENCE)
        ; // every kind of fence is a no-op of a sequential machine
    else if (FIND (s_mods, &v))
        i->mods |= v;
    else if (FIND (s_rounds, &v) && !(i->opcode == PTX_RED))
        i->round = (uint8_t)v;
    else if (FIND (s_spaces, &v))
        i->space = (uint8_t)v;
    else if (n == 2 && w[0] == 'v' && (w[1] == '2' || w[1] == '4' || w[1] == '8'))
        i->vec = (uint8_t)(w[1] - '0');
    else if (n == 3 && !memcmp (w, "uni", 3) && i->opcode != PTX_VOTE)
        i->mods |= PTX_MOD_UNI;
    else if (n == 4 && !memcmp (w, "sync", 4)) {
        i->mods |= PTX_MOD_SYNC;
        if (ptx_opcode_family ((ptx_opcode_t)i->opcode) == PTX_FAMILY_BARRIER && !i->sub)
            i->sub = PTX_SUB_SYNC;
    }
    else if (n == 4 && !memcmp (w, "warp", 4))
        i->sub = PTX_SUB_WARP;
    else if (n == 2 && !memcmp (w, "cv", 2))
        i->mods |= PTX_MOD_VOLATILE;
    else if (FIND (s_subs, &v) && (!i->sub || i->sub == PTX_SUB_RED || i->opcode == PTX_SHF)) {
        // shf.l.wrap: the direction stays, clamp/wrap become a flag in cmp's place
        if (i->opcode == PTX_SHF && i->sub)
            i->boolop = (uint8_t)(v == PTX_SUB_WRAP ? 1 : 0);
        else
            i->sub = (uint8_t)v;
    }
    else {
        for (size_t k = 0; k < KC_COUNT (s_ignored); k++)
            if (strlen (s_ignored[k]) == n && !memcmp (s_ignored[k], w, n))
                return;
        i->mods |= PTX_MOD_UNKNOWN;
    }
}

static uint32_t s_push (ptx_parser_t *p)
{
    ptx_func_t *f = p->f;
    f->operands = ptx_grow (f->operands, f->n_operands, &p->room_operands, sizeof (ptx_operand_t));
    f->operands[f->n_operands] = (ptx_operand_t){.reg = PTX_NONE, .symbol = PTX_NONE};
    return f->n_operands++;
}

static bool s_name_operand (ptx_parser_t *p, ptx_operand_t *o, uint32_t index)
{
    uint32_t v;
    const char *w = p->tok.text;
    size_t n = p->tok.size;
    uint32_t line = p->tok.line;
    if (n == 1 && *w == '_') {
        o->kind = PTX_OP_SINK;
        ptx_next (p);
        return true;
    }
    if (n == 7 && !memcmp (w, "WARP_SZ", 7)) {
        o->kind = PTX_OP_INT;
        o->value = 32;
        ptx_next (p);
        return true;
    }
    const char *name = ptx_intern_tok (p);
    const ptx_name_t *known = ptx_lookup (p, p->scope, name);
    if (known && known->kind == PTX_NAME_REG) {
        o->kind = PTX_OP_REG;
        o->reg = known->index;
    }
    else if (known && known->kind == PTX_NAME_SYMBOL) {
        o->kind = PTX_OP_SYMBOL;
        o->symbol = known->index;
    }
    else if (*w == '%' && FIND (s_sregs, &v)) {
        o->kind = PTX_OP_SREG;
        o->sreg = (int16_t)v;
        if (v >= PTX_SREG_CLOCK)
            p->m->forbidden |= PTX_FORBIDDEN_CLOCK;
        if (v == PTX_SREG_SMID || v == PTX_SREG_NSMID || v == PTX_SREG_GRIDID)
            p->m->forbidden |= PTX_USES_SMID;
    }
    else if (*w == '%')
        return ptx_error (p, KC_EUNSUPPORTED, line, "'%s' is neither a declared register nor a special register that is supported", name);
    else {
        p->fixups = ptx_grow (p->fixups, p->n_fixups, &p->room_fixups, sizeof (ptx_fixup_t));
        p->fixups[p->n_fixups++] = (ptx_fixup_t){.operand = index, .scope = p->scope, .name = name, .line = line};
        o->kind = PTX_OP_LABEL;
        o->value = PTX_NONE;
    }
    ptx_next (p);
    return true;
}

static bool s_operand (ptx_parser_t *p, ptx_operand_t *out, uint32_t index, int depth);

// Elements up to the closing character become consecutive operands behind everything pushed so far.
static bool s_list (ptx_parser_t *p, ptx_operand_t *out, char close, int depth)
{
    // a list is gathered first: nested lists would otherwise tear it apart
    ptx_operand_t held[PTX_MAX_OPERANDS];
    uint32_t fix_from = p->n_fixups;
    int n = 0;
    uint32_t base_fix[PTX_MAX_OPERANDS];
    while (!ptx_is (p, close)) {
        if (n >= PTX_MAX_OPERANDS - 1)
            return ptx_error (p, KC_EINVALID, p->tok.line, "more than %d operands", PTX_MAX_OPERANDS);
        held[n] = (ptx_operand_t){.reg = PTX_NONE, .symbol = PTX_NONE};
        base_fix[n] = p->n_fixups;
        if (!s_operand (p, &held[n], UINT32_MAX - 1, depth + 1))
            return false;
        n++;
        if (ptx_is (p, ','))
            ptx_next (p);
        else if (!ptx_is (p, close))
            return ptx_expect (p, close);
    }
    ptx_next (p);
    out->value = p->f->n_operands;
    out->count = (uint8_t)n;
    for (int k = 0; k < n; k++) {
        uint32_t at = s_push (p);
        p->f->operands[at] = held[k];
        uint32_t until = k + 1 < n ? base_fix[k + 1] : p->n_fixups;
        for (uint32_t x = base_fix[k]; x < until; x++)
            if (p->fixups[x].operand == UINT32_MAX - 1)
                p->fixups[x].operand = at;
    }
    (void)fix_from;
    return true;
}

static bool s_address (ptx_parser_t *p, ptx_operand_t *o, uint32_t index)
{
    o->kind = PTX_OP_ADDRESS;
    if (p->tok.kind == PTX_TOK_NAME) {
        if (!s_name_operand (p, o, index))
            return false;
        if (o->kind == PTX_OP_LABEL || o->kind == PTX_OP_SREG)
            return ptx_error (p, KC_EINVALID, p->tok.line, "an address needs a register or a variable");
        o->kind = PTX_OP_ADDRESS;
    }
    if (p->tok.kind == PTX_TOK_INT || ptx_is (p, '+') || ptx_is (p, '-'))
        if (!ptx_number (p, &o->value))
            return false;
    if (ptx_is (p, ',')) { // [map, {x, y}] of tensor copies: keep the shape, it cannot run
        int depth = 1;
        while (p->tok.kind != PTX_TOK_END && depth) {
            if (ptx_is (p, '['))
                depth++;
            else if (ptx_is (p, ']') && --depth == 0)
                break;
            ptx_next (p);
        }
    }
    return ptx_expect (p, ']');
}

static bool s_operand (ptx_parser_t *p, ptx_operand_t *o, uint32_t index, int depth)
{
    if (depth > 3)
        return ptx_error (p, KC_EINVALID, p->tok.line, "operands are nested too deep");
    if (ptx_is (p, '!')) {
        ptx_next (p);
        o->negate = 1;
    }
    if (ptx_is (p, '[')) {
        ptx_next (p);
        return s_address (p, o, index);
    }
    if (ptx_is (p, '{') || ptx_is (p, '(')) {
        char close = ptx_is (p, '{') ? '}' : ')';
        ptx_next (p);
        if (!s_list (p, o, close, depth))
            return false;
        o->kind = PTX_OP_VECTOR;
        return true;
    }
    if (p->tok.kind == PTX_TOK_FLOAT) {
        o->kind = PTX_OP_FLOAT;
        o->single = p->tok.single;
        o->value = (int64_t)p->tok.value;
        ptx_next (p);
        return true;
    }
    if (p->tok.kind == PTX_TOK_INT || ptx_is (p, '-') || ptx_is (p, '+')) {
        if (ptx_is (p, '-')) { // -0f.. does not occur, -1.5 may
            ptx_parser_t ahead = *p;
            ptx_next (&ahead);
            if (ahead.tok.kind == PTX_TOK_FLOAT) {
                ptx_next (p);
                o->kind = PTX_OP_FLOAT;
                o->single = p->tok.single;
                o->value = (int64_t)(p->tok.value ^ (p->tok.single ? 0x80000000ull : 1ull << 63));
                ptx_next (p);
                return true;
            }
        }
        o->kind = PTX_OP_INT;
        return ptx_number (p, &o->value);
    }
    if (p->tok.kind != PTX_TOK_NAME)
        return ptx_error (p, KC_EINVALID, p->tok.line, "expected an operand, found '%.*s'",
                          (int)(p->tok.size < 20 ? p->tok.size : 20), p->tok.text);
    if (!s_name_operand (p, o, index))
        return false;
    if ((o->kind == PTX_OP_SYMBOL || o->kind == PTX_OP_REG) && (ptx_is (p, '+') || ptx_is (p, '-'))) {
        if (!ptx_number (p, &o->value))
            return false;
    }
    if (ptx_is (p, '|')) {
        ptx_operand_t a = *o, b = {.reg = PTX_NONE, .symbol = PTX_NONE};
        ptx_next (p);
        if (p->tok.kind != PTX_TOK_NAME || !s_name_operand (p, &b, UINT32_MAX - 1))
            return ptx_error (p, KC_EINVALID, p->tok.line, "expected a second destination behind '|'");
        *o = (ptx_operand_t){.kind = PTX_OP_PAIR, .reg = PTX_NONE, .symbol = PTX_NONE, .count = 2,
                             .value = p->f->n_operands};
        uint32_t first = s_push (p), second = s_push (p);
        p->f->operands[first] = a;
        p->f->operands[second] = b;
    }
    return true;
}

bool ptx_instruction (ptx_parser_t *p)
{
    ptx_func_t *f = p->f;
    ptx_instr_t i = {.guard = PTX_NONE, .vec = 1, .line = p->source_line, .block = PTX_NONE};
    if (ptx_is (p, '@')) {
        ptx_next (p);
        if (ptx_is (p, '!')) {
            i.guard_not = true;
            ptx_next (p);
        }
        const char *name = p->tok.kind == PTX_TOK_NAME ? ptx_intern_tok (p) : "";
        const ptx_name_t *known = ptx_lookup (p, p->scope, name);
        if (!known || known->kind != PTX_NAME_REG || f->regs[known->index].bits != 1)
            return ptx_error (p, KC_EINVALID, p->tok.line, "'%s' is not a predicate", name);
        i.guard = known->index;
        ptx_next (p);
    }
    if (p->tok.kind != PTX_TOK_NAME)
        return ptx_error (p, KC_EINVALID, p->tok.line, "expected an instruction");
    i.ptx_line = p->tok.line;
    i.text = ptx_intern_tok (p);
    const char *w = p->tok.text, *end = w + p->tok.size, *dot = memchr (w, '.', p->tok.size);
    if (!s_opcode (w, dot ? (size_t)(dot - w) : p->tok.size, &i.opcode))
        return ptx_error (p, KC_EUNSUPPORTED, p->tok.line, "instruction '%s' is not known", i.text);
    while (dot) {
        const char *from = dot + 1;
        dot = memchr (from, '.', (size_t)(end - from));
        s_suffix (&i, from, (size_t)((dot ? dot : end) - from));
    }
    if (++p->total_instrs > PTX_MAX_INSTR)
        return ptx_error (p, KC_EINVALID, p->tok.line, "more than %d instructions", PTX_MAX_INSTR);
    ptx_next (p);
    ptx_operand_t held[PTX_MAX_OPERANDS];
    uint32_t first_fix[PTX_MAX_OPERANDS + 1];
    uint16_t n = 0;
    while (!ptx_is (p, ';')) {
        if (n >= PTX_MAX_OPERANDS)
            return ptx_error (p, KC_EINVALID, p->tok.line, "more than %d operands", PTX_MAX_OPERANDS);
        held[n] = (ptx_operand_t){.reg = PTX_NONE, .symbol = PTX_NONE};
        first_fix[n] = p->n_fixups;
        if (!s_operand (p, &held[n], UINT32_MAX - 2, 0))
            return false;
        n++;
        if (ptx_is (p, ','))
            ptx_next (p);
        else if (!ptx_is (p, ';'))
            return ptx_expect (p, ';');
    }
    ptx_next (p);
    first_fix[n] = p->n_fixups;
    i.operand = f->n_operands;
    i.n_operands = n;
    for (uint16_t k = 0; k < n; k++) {
        uint32_t at = s_push (p);
        f->operands[at] = held[k];
        for (uint32_t x = first_fix[k]; x < first_fix[k + 1]; x++)
            if (p->fixups[x].operand == UINT32_MAX - 2)
                p->fixups[x].operand = at;
    }
    if (i.opcode == PTX_BRKPT)
        p->m->forbidden |= PTX_FORBIDDEN_BRKPT;
    if (i.opcode == PTX_PMEVENT)
        p->m->forbidden |= PTX_FORBIDDEN_PMEVENT;
    f->instrs = ptx_grow (f->instrs, f->n_instrs, &p->room_instrs, sizeof (i));
    f->instrs[f->n_instrs++] = i;
    return true;
}
