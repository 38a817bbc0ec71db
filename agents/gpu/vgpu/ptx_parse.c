// ptx_parse.c - module level of PTX: directives, variables, functions, scopes, labels
//
// Registers may be declared as ranges (%r<100>); the names of a range are never expanded.  A body's { }
// scopes hide each other, and inline assembly repeats names and labels in scopes of its own, so a label is
// looked up when its function ends, from the scope in which it was used.  Longer than other files: one grammar.

#include "agents/gpu/vgpu/ptx_internal.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/util/kc_mem.h"

static uint64_t s_align (uint64_t x, uint64_t a)
{
    return a > 1 ? (x + a - 1) / a * a : x;
}

// Skip a balanced { } block; the current token is its '{'.
static void s_skip_block (ptx_parser_t *p)
{
    int depth = 0;
    while (p->tok.kind != PTX_TOK_END) {
        if (ptx_is (p, '{'))
            depth++;
        else if (ptx_is (p, '}') && --depth == 0) {
            ptx_next (p);
            return;
        }
        ptx_next (p);
    }
    ptx_error (p, KC_EINVALID, p->tok.line, "a '{' is never closed");
}

static int s_space_of (const ptx_parser_t *p)
{
    static const struct {
        const char *word;
        ptx_space_t space;
    } words[] = {{"global", PTX_SPACE_GLOBAL}, {"const", PTX_SPACE_CONST}, {"shared", PTX_SPACE_SHARED},
                 {"local", PTX_SPACE_LOCAL},   {"param", PTX_SPACE_PARAM}};
    for (size_t i = 0; i < KC_COUNT (words); i++) {
        char dot[16];
        size_t n = strlen (words[i].word);
        dot[0] = '.';
        memcpy (dot + 1, words[i].word, n + 1);
        if (ptx_is_word (p, PTX_TOK_DOT, dot))
            return (int)words[i].space;
    }
    return -1;
}

static uint8_t s_type_tok (const ptx_parser_t *p)
{
    if (p->tok.kind != PTX_TOK_DOT)
        return PTX_TYPE_NONE;
    return ptx_type_parse (p->tok.text + 1, p->tok.size - 1);
}

static int32_t s_new_scope (ptx_parser_t *p, int32_t parent)
{
    p->scopes = ptx_grow (p->scopes, p->n_scopes, &p->room_scopes, sizeof (*p->scopes));
    p->scopes[p->n_scopes] = (ptx_scope_t){.parent = parent};
    return (int32_t)p->n_scopes++;
}

static void s_bind (ptx_parser_t *p, int32_t scope, const char *name, ptx_name_kind_t kind, int32_t index)
{
    ptx_name_t *n = ptx_arena_alloc (p->m->arena, sizeof (*n));
    n->kind = kind;
    n->index = index;
    kc_map_t **map = scope < 0 ? &p->symbols : &p->scopes[scope].names;
    if (!*map)
        *map = kc_map_new (NULL);
    kc_map_put (*map, name, n);
}

const ptx_name_t *ptx_lookup (ptx_parser_t *p, int32_t scope, const char *name)
{
    for (; scope >= 0; scope = p->scopes[scope].parent) {
        const ptx_scope_t *s = &p->scopes[scope];
        const ptx_name_t *n = s->names ? kc_map_get (s->names, name) : NULL;
        if (n)
            return n;
        if (!s->n_ranges)
            continue;
        size_t size = strlen (name), digits = size;
        while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9')
            digits--;
        if (digits == size || size - digits > 9)
            continue;
        for (uint32_t r = 0; r < s->n_ranges; r++) {
            const ptx_range_t *range = &s->ranges[r];
            // the prefix itself may end in digits
            size_t n_prefix = strlen (range->prefix);
            if (n_prefix < digits || n_prefix >= size || memcmp (range->prefix, name, n_prefix) != 0)
                continue;
            long index = strtol (name + n_prefix, NULL, 10);
            if (index < range->count) {
                ptx_name_t *made = ptx_arena_alloc (p->m->arena, sizeof (*made));
                made->kind = PTX_NAME_REG;
                made->index = range->first + (int32_t)index;
                s_bind (p, (int32_t)(s - p->scopes), name, made->kind, made->index);
                return made;
            }
        }
    }
    return kc_map_get (p->symbols, name);
}

static bool s_reg (ptx_parser_t *p)
{
    ptx_next (p);
    uint8_t type = s_type_tok (p);
    if (type == PTX_TYPE_NONE || type >= PTX_TYPE_TEXREF || type == PTX_TYPE_B128)
        return ptx_error (p, KC_EUNSUPPORTED, p->tok.line, "registers of type '%.*s' are not supported",
                          (int)(p->tok.size < 20 ? p->tok.size : 20), p->tok.text);
    ptx_next (p);
    uint32_t bytes = ptx_type_bytes ((ptx_type_t)type);
    uint8_t bits = type == PTX_TYPE_PRED ? 1 : bytes <= 2 ? 16 : (uint8_t)(bytes * 8);
    for (;;) {
        if (p->tok.kind != PTX_TOK_NAME)
            return ptx_error (p, KC_EINVALID, p->tok.line, "expected a register name after .reg");
        const char *name = ptx_intern_tok (p);
        ptx_next (p);
        int64_t count = 1;
        bool ranged = false;
        if (ptx_is (p, '<')) {
            ptx_next (p);
            ranged = true;
            if (!ptx_number (p, &count) || !ptx_expect (p, '>'))
                return false;
        }
        if (count < 1 || count > PTX_MAX_REGS - (int64_t)p->f->n_regs)
            return ptx_error (p, KC_EINVALID, p->tok.line, "more than %d registers in one function", PTX_MAX_REGS);
        int32_t first = (int32_t)p->f->n_regs;
        for (int64_t i = 0; i < count; i++) {
            p->f->regs = ptx_grow (p->f->regs, p->f->n_regs, &p->room_regs, sizeof (ptx_reg_t));
            p->f->regs[p->f->n_regs++] = (ptx_reg_t){.name = name, .type = type, .bits = bits};
        }
        if (ranged) {
            ptx_scope_t *s = &p->scopes[p->scope];
            s->ranges = ptx_grow (s->ranges, s->n_ranges, &s->room_ranges, sizeof (ptx_range_t));
            s->ranges[s->n_ranges++] = (ptx_range_t){.prefix = name, .first = first, .count = (int32_t)count};
        }
        else
            s_bind (p, p->scope, name, PTX_NAME_REG, first);
        if (!ptx_is (p, ','))
            break;
        ptx_next (p);
    }
    return ptx_expect (p, ';');
}

static bool s_init_value (ptx_parser_t *p, uint8_t type, uint8_t *data, uint64_t size, uint64_t *at)
{
    if (ptx_is (p, '{')) {
        ptx_next (p);
        while (!ptx_is (p, '}')) {
            if (!s_init_value (p, type, data, size, at))
                return false;
            if (ptx_is (p, ','))
                ptx_next (p);
            else if (!ptx_is (p, '}'))
                return ptx_expect (p, '}');
        }
        ptx_next (p);
        return true;
    }
    uint32_t bytes = ptx_type_bytes ((ptx_type_t)type);
    uint64_t bits;
    if (p->tok.kind == PTX_TOK_FLOAT) {
        bits = p->tok.value;
        if (type == PTX_TYPE_F32 && !p->tok.single) {
            double d;
            memcpy (&d, &bits, 8);
            float f = (float)d;
            uint32_t b;
            memcpy (&b, &f, 4);
            bits = b;
        }
        ptx_next (p);
    }
    else if (p->tok.kind == PTX_TOK_NAME)
        return ptx_error (p, KC_EUNSUPPORTED, p->tok.line,
                          "a variable initialised with an address is not supported; compute it in the kernel");
    else {
        int64_t v;
        if (!ptx_number (p, &v))
            return false;
        bits = (uint64_t)v;
    }
    if (*at + bytes > size)
        return ptx_error (p, KC_EINVALID, p->tok.line, "more initial values than the variable holds");
    memcpy (data + *at, &bits, bytes);
    *at += bytes;
    return true;
}

static int32_t s_add_symbol (ptx_parser_t *p, const ptx_symbol_t *s, int32_t scope)
{
    p->m->symbols = ptx_grow (p->m->symbols, p->m->n_symbols, &p->room_symbols, sizeof (*s));
    p->m->symbols[p->m->n_symbols] = *s;
    s_bind (p, scope, s->name, PTX_NAME_SYMBOL, (int32_t)p->m->n_symbols);
    return (int32_t)p->m->n_symbols++;
}

// .space [.align n] [.vN] .type name[dims] [= init] {, name ...} - up to the ';' or, in parameter lists, ',' or ')'
static bool s_variable (ptx_parser_t *p, ptx_space_t space, bool is_extern, ptx_param_t *param)
{
    ptx_next (p);
    uint32_t align = 0, vec = 1;
    uint8_t type = PTX_TYPE_NONE;
    while (p->tok.kind == PTX_TOK_DOT) {
        if (ptx_is_word (p, PTX_TOK_DOT, ".align")) {
            int64_t a;
            ptx_next (p);
            if (!ptx_number (p, &a))
                return false;
            if (a < 1 || a > 65536 || (a & (a - 1)))
                return ptx_error (p, KC_EINVALID, p->tok.line, "an alignment must be a power of two up to 65536");
            align = align > (uint32_t)a ? align : (uint32_t)a;
            continue;
        }
        if (ptx_is_word (p, PTX_TOK_DOT, ".v2"))
            vec = 2;
        else if (ptx_is_word (p, PTX_TOK_DOT, ".v4"))
            vec = 4;
        else if (ptx_is_word (p, PTX_TOK_DOT, ".ptr") || s_space_of (p) >= 0
                 || ptx_is_word (p, PTX_TOK_DOT, ".attribute"))
            ; // .param .u64 .ptr .global .align 16 x: what the pointer points to; nothing to keep
        else if (type == PTX_TYPE_NONE) {
            type = s_type_tok (p);
            if (type == PTX_TYPE_NONE)
                return ptx_error (p, KC_EINVALID, p->tok.line, "'%.*s' is not a type of a variable",
                                  (int)(p->tok.size < 20 ? p->tok.size : 20), p->tok.text);
        }
        else if (p->tok.size > 1 && !s_type_tok (p))
            return ptx_error (p, KC_EINVALID, p->tok.line, "unexpected '%.*s' in a declaration",
                              (int)(p->tok.size < 20 ? p->tok.size : 20), p->tok.text);
        bool attribute = ptx_is_word (p, PTX_TOK_DOT, ".attribute");
        bool ptr = ptx_is_word (p, PTX_TOK_DOT, ".ptr");
        ptx_next (p);
        if (attribute && ptx_is (p, '('))
            while (p->tok.kind != PTX_TOK_END) {
                bool close = ptx_is (p, ')');
                ptx_next (p);
                if (close)
                    break;
            }
        if (ptr) { // the .align behind .ptr is the pointee's
            while (p->tok.kind == PTX_TOK_DOT) {
                bool al = ptx_is_word (p, PTX_TOK_DOT, ".align");
                ptx_next (p);
                int64_t a;
                if (al && !ptx_number (p, &a))
                    return false;
            }
        }
    }
    if (type == PTX_TYPE_NONE || type == PTX_TYPE_PRED)
        return ptx_error (p, KC_EINVALID, p->tok.line, "a variable needs a type");
    uint32_t element = ptx_type_bytes ((ptx_type_t)type) * vec;
    if (align < element)
        align = align ? align : element;
    for (;;) {
        if (p->tok.kind != PTX_TOK_NAME)
            return ptx_error (p, KC_EINVALID, p->tok.line, "expected the name of a variable");
        ptx_symbol_t s = {.name = ptx_intern_tok (p), .kind = PTX_SYM_VAR, .space = (uint8_t)space, .type = type,
                          .is_extern = is_extern, .align = align, .func = p->f ? p->f_index : PTX_NONE};
        uint32_t line = p->tok.line;
        ptx_next (p);
        uint64_t count = 1;
        bool open = false;
        if (ptx_is (p, '<'))
            return ptx_error (p, KC_EUNSUPPORTED, line, "a range of variables (%s<n>) is not supported", s.name);
        while (ptx_is (p, '[')) {
            ptx_next (p);
            int64_t n = 0;
            if (ptx_is (p, ']'))
                open = true;
            else if (!ptx_number (p, &n))
                return false;
            if (!ptx_expect (p, ']'))
                return false;
            if (n < 0 || (n > 0 && count > (uint64_t)PTX_MAX_VARIABLE / (uint64_t)n))
                return ptx_error (p, KC_EINVALID, line, "variable %s is larger than %d bytes", s.name, PTX_MAX_VARIABLE);
            if (!open)
                count *= (uint64_t)n;
        }
        s.size = open && !param ? 0 : count * element;
        if (s.size > PTX_MAX_VARIABLE)
            return ptx_error (p, KC_EINVALID, line, "variable %s is larger than %d bytes", s.name, PTX_MAX_VARIABLE);
        if (ptx_is (p, '=')) {
            ptx_next (p);
            uint8_t *data = ptx_arena_alloc (p->m->arena, s.size + 8);
            uint64_t at = 0;
            if (open || !s_init_value (p, type, data, s.size, &at))
                return ptx_error (p, KC_EUNSUPPORTED, line, "the initial value of %s cannot be read", s.name);
            s.init = data;
        }
        if (param) {
            *param = (ptx_param_t){.name = s.name, .type = type, .size = (uint32_t)s.size, .align = align};
            return true;
        }
        uint64_t *top = NULL;
        switch (space) {
        case PTX_SPACE_GLOBAL:
            top = &p->m->global_bytes;
            break;
        case PTX_SPACE_CONST:
            top = &p->m->const_bytes;
            break;
        case PTX_SPACE_SHARED:
            if (!open && !(is_extern && count == 1 && !s.size))
                top = p->f && p->f->is_kernel ? &p->shared_top : &p->module_shared_top;
            break;
        case PTX_SPACE_LOCAL:
            top = &p->local_top;
            break;
        case PTX_SPACE_PARAM:
            top = &p->param_top;
            break;
        case PTX_SPACE_GENERIC:
        case PTX_SPACE_COUNT:
            break;
        }
        if (space == PTX_SPACE_SHARED && is_extern)
            top = NULL; // dynamic shared memory, also with a size
        if (space == PTX_SPACE_LOCAL && !p->f)
            return ptx_error (p, KC_EUNSUPPORTED, line, "module-scope .local variable %s is not supported", s.name);
        if (top) {
            // variables with writable neighbours: keep them apart, so that a check by variable means something
            *top = s_align (*top, align);
            s.offset = *top;
            *top += s.size;
            if (*top > (uint64_t)PTX_MAX_VARIABLE * 4)
                return ptx_error (p, KC_EINVALID, line, "the variables of one space exceed %d bytes", PTX_MAX_VARIABLE * 4);
        }
        s_add_symbol (p, &s, p->f ? p->scope : -1);
        if (!ptx_is (p, ','))
            break;
        ptx_next (p);
    }
    return ptx_expect (p, ';');
}

void ptx_line_of (ptx_parser_t *p) // .loc file line column [, function_name x [+ n], inlined_at file line column]
{
    uint32_t at = p->tok.line;
    ptx_next (p);
    int64_t file = 0, line = 0, column = 0;
    if (!ptx_number (p, &file) || !ptx_number (p, &line) || !ptx_number (p, &column))
        return;
    uint32_t found = file == 1 && line > 0 && line < UINT32_MAX ? (uint32_t)line : 0;
    while (ptx_is (p, ',') && p->tok.line == at) {
        ptx_next (p);
        if (ptx_is_word (p, PTX_TOK_NAME, "inlined_at")) {
            ptx_next (p);
            if (!ptx_number (p, &file) || !ptx_number (p, &line) || !ptx_number (p, &column))
                return;
            if (!found && file == 1 && line > 0 && line < UINT32_MAX)
                found = (uint32_t)line;
        }
        else
            while (p->tok.kind != PTX_TOK_END && !ptx_is (p, ',') && p->tok.line == at)
                ptx_next (p);
    }
    if (found)
        p->source_line = found; // else: inside another file; keep the last line of the main one
}

static bool s_file (ptx_parser_t *p)
{
    int64_t n;
    ptx_next (p);
    if (!ptx_number (p, &n) || p->tok.kind != PTX_TOK_STRING)
        return ptx_error (p, KC_EINVALID, p->tok.line, "expected: .file number \"name\"");
    if (n >= 0 && n < 4096) {
        if ((uint32_t)n >= p->m->n_files) {
            const char **more = ptx_arena_alloc (p->m->arena, ((size_t)n + 1) * sizeof (char *));
            if (p->m->n_files)
                memcpy (more, p->m->files, p->m->n_files * sizeof (char *));
            p->m->files = more;
            p->m->n_files = (uint32_t)n + 1;
        }
        p->m->files[n] = ptx_intern_tok (p);
    }
    ptx_next (p);
    while (ptx_is (p, ',')) {
        ptx_next (p);
        if (!ptx_number (p, &n))
            return false;
    }
    return true;
}

static bool s_targets (ptx_parser_t *p, const char *label)
{
    int32_t first = (int32_t)p->f->n_targets;
    ptx_next (p);
    for (;;) {
        if (p->tok.kind != PTX_TOK_NAME)
            return ptx_error (p, KC_EINVALID, p->tok.line, "expected a label in .branchtargets");
        p->f->targets = ptx_grow (p->f->targets, p->f->n_targets, &p->room_targets, sizeof (int32_t));
        p->fixups = ptx_grow (p->fixups, p->n_fixups, &p->room_fixups, sizeof (ptx_fixup_t));
        p->fixups[p->n_fixups++] = (ptx_fixup_t){.operand = UINT32_MAX, .instr = p->f->n_targets, .scope = p->scope,
                                                 .name = ptx_intern_tok (p), .line = p->tok.line};
        p->f->targets[p->f->n_targets++] = PTX_NONE;
        ptx_next (p);
        if (!ptx_is (p, ','))
            break;
        ptx_next (p);
    }
    // closed by a PTX_NONE so that a list needs no length of its own
    p->f->targets = ptx_grow (p->f->targets, p->f->n_targets, &p->room_targets, sizeof (int32_t));
    p->f->targets[p->f->n_targets++] = PTX_NONE;
    s_bind (p, p->scope, label, PTX_NAME_TARGETS, first);
    return ptx_expect (p, ';');
}

static bool s_fix_labels (ptx_parser_t *p)
{
    for (uint32_t i = 0; i < p->n_fixups; i++) {
        const ptx_fixup_t *x = &p->fixups[i];
        const ptx_name_t *n = ptx_lookup (p, x->scope, x->name);
        if (!n)
            return ptx_error (p, KC_EINVALID, x->line, "'%s' is not declared", x->name);
        if (n->kind == PTX_NAME_SYMBOL && x->operand != UINT32_MAX) {
            p->f->operands[x->operand].kind = PTX_OP_SYMBOL;
            p->f->operands[x->operand].symbol = n->index;
            continue;
        }
        if (x->operand == UINT32_MAX && n->kind == PTX_NAME_LABEL) {
            p->f->targets[x->instr] = n->index;
            continue;
        }
        if (n->kind != PTX_NAME_LABEL && n->kind != PTX_NAME_TARGETS)
            return ptx_error (p, KC_EINVALID, x->line, "'%s' is not a label", x->name);
        p->f->operands[x->operand].kind = PTX_OP_LABEL;
        p->f->operands[x->operand].value = n->index;
    }
    return true;
}

static bool s_statement (ptx_parser_t *p)
{
    if (p->tok.kind == PTX_TOK_DOT) {
        if (ptx_is_word (p, PTX_TOK_DOT, ".reg"))
            return s_reg (p);
        if (ptx_is_word (p, PTX_TOK_DOT, ".loc")) {
            ptx_line_of (p);
            return !p->failed;
        }
        if (ptx_is_word (p, PTX_TOK_DOT, ".file"))
            return s_file (p);
        int space = s_space_of (p);
        if (space >= 0)
            return s_variable (p, (ptx_space_t)space, false, NULL);
        bool is_extern = ptx_is_word (p, PTX_TOK_DOT, ".extern");
        if (is_extern) {
            ptx_next (p);
            space = s_space_of (p);
            if (space >= 0)
                return s_variable (p, (ptx_space_t)space, true, NULL);
        }
        // .pragma and other hints: up to the ';'
        while (p->tok.kind != PTX_TOK_END && !ptx_is (p, ';'))
            ptx_next (p);
        return ptx_expect (p, ';');
    }
    if (p->tok.kind == PTX_TOK_NAME) {
        // a label is a name with ':' right behind it
        const char *q = p->at;
        while (q < p->end && (*q == ' ' || *q == '\t'))
            q++;
        if (q < p->end && *q == ':') {
            const char *name = ptx_intern_tok (p);
            uint32_t line = p->tok.line;
            ptx_next (p);
            ptx_next (p);
            if (ptx_is_word (p, PTX_TOK_DOT, ".branchtargets"))
                return s_targets (p, name);
            if (ptx_is_word (p, PTX_TOK_DOT, ".callprototype") || ptx_is_word (p, PTX_TOK_DOT, ".calltargets")) {
                s_bind (p, p->scope, name, PTX_NAME_TARGETS, 0);
                while (p->tok.kind != PTX_TOK_END && !ptx_is (p, ';'))
                    ptx_next (p);
                return ptx_expect (p, ';');
            }
            ptx_scope_t *s = &p->scopes[p->scope];
            if (s->names && kc_map_get (s->names, name))
                return ptx_error (p, KC_EINVALID, line, "label '%s' is declared twice in one scope", name);
            s_bind (p, p->scope, name, PTX_NAME_LABEL, (int32_t)p->f->n_instrs);
            return true;
        }
        return ptx_instruction (p);
    }
    if (ptx_is (p, '@'))
        return ptx_instruction (p);
    if (ptx_is (p, ';')) {
        ptx_next (p);
        return true;
    }
    return ptx_error (p, KC_EINVALID, p->tok.line, "expected an instruction, a label or a directive, found '%.*s'",
                      (int)(p->tok.size < 20 ? p->tok.size : 20), p->tok.text);
}

static bool s_body (ptx_parser_t *p)
{
    int depth = 0;
    do {
        if (p->failed || p->tok.kind == PTX_TOK_END)
            return ptx_error (p, KC_EINVALID, p->tok.line, "the body of %s is never closed", p->f->name);
        if (ptx_is (p, '{')) {
            if (++depth > PTX_MAX_SCOPES)
                return ptx_error (p, KC_EINVALID, p->tok.line, "more than %d nested scopes", PTX_MAX_SCOPES);
            if (depth > 1)
                p->scope = s_new_scope (p, p->scope);
            ptx_next (p);
        }
        else if (ptx_is (p, '}')) {
            if (--depth > 0)
                p->scope = p->scopes[p->scope].parent;
            ptx_next (p);
        }
        else if (!s_statement (p))
            return false;
    } while (depth > 0);
    return !p->failed;
}

static bool s_param_list (ptx_parser_t *p, ptx_param_t **list, uint32_t *n, bool kernel)
{
    if (!ptx_expect (p, '('))
        return false;
    uint32_t room = 0;
    while (!ptx_is (p, ')')) {
        if (ptx_is_word (p, PTX_TOK_DOT, ".reg"))
            return ptx_error (p, KC_EUNSUPPORTED, p->tok.line, "functions with .reg parameters are not supported; use .param");
        if (s_space_of (p) != PTX_SPACE_PARAM)
            return ptx_error (p, KC_EINVALID, p->tok.line, "expected .param in a parameter list");
        ptx_param_t one;
        if (!s_variable (p, PTX_SPACE_PARAM, false, &one))
            return false;
        *list = ptx_grow (*list, *n, &room, sizeof (one));
        one.offset = 0;
        if (kernel) {
            one.offset = (uint32_t)s_align (p->f->params_size, one.align);
            p->f->params_size = one.offset + one.size;
        }
        (*list)[(*n)++] = one;
        if (ptx_is (p, ','))
            ptx_next (p);
        else if (!ptx_is (p, ')'))
            return ptx_expect (p, ')');
    }
    ptx_next (p);
    return true;
}

static void s_free_scopes (ptx_parser_t *p)
{
    for (uint32_t i = 0; i < p->n_scopes; i++) {
        kc_map_destroy (&p->scopes[i].names);
        free (p->scopes[i].ranges);
    }
    p->n_scopes = p->n_fixups = 0;
    p->scope = -1;
}

static void s_free_func (ptx_func_t *f)
{
    free (f->params);
    free (f->returns);
    free (f->regs);
    free (f->instrs);
    free (f->operands);
    free (f->blocks);
    free (f->targets);
    free (f->live_first);
    free (f->live_last);
}

// Make the function's parameters known inside its body.  Kernel inputs have their offset in the argument
// block; everything else lies in the frame's per-lane parameter area.
static void s_bind_params (ptx_parser_t *p, ptx_param_t *list, uint32_t n, bool input)
{
    for (uint32_t i = 0; i < n; i++) {
        ptx_param_t *q = &list[i];
        if (!(p->f->is_kernel && input)) {
            p->param_top = s_align (p->param_top, q->align > 8 ? q->align : 8);
            q->offset = (uint32_t)p->param_top;
            p->param_top += q->size;
        }
        ptx_symbol_t s = {.name = q->name, .kind = PTX_SYM_PARAM, .space = PTX_SPACE_PARAM, .type = q->type,
                          .align = q->align, .size = q->size, .offset = q->offset, .func = p->f_index};
        s_add_symbol (p, &s, p->scope);
    }
}

static bool s_function (ptx_parser_t *p, bool is_kernel, bool is_extern)
{
    uint32_t line = p->tok.line;
    ptx_func_t made = {.is_kernel = is_kernel, .ptx_line = line};
    p->f = &made;
    p->room_instrs = p->room_operands = p->room_regs = p->room_targets = 0;
    p->local_top = p->param_top = p->shared_top = 0;
    p->source_line = 0;
    s_free_scopes (p);
    bool ok = false;
    ptx_next (p);
    while (p->tok.kind == PTX_TOK_DOT) { // .noreturn and other attributes
        ptx_next (p);
        if (ptx_is (p, '('))
            break;
    }
    if (ptx_is (p, '(') && !s_param_list (p, &made.returns, &made.n_returns, false))
        goto out;
    if (p->tok.kind != PTX_TOK_NAME) {
        ptx_error (p, KC_EINVALID, line, "expected the name of a function");
        goto out;
    }
    made.name = ptx_intern_tok (p);
    ptx_next (p);
    if (ptx_is (p, '(') && !s_param_list (p, &made.params, &made.n_params, is_kernel))
        goto out;
    while (p->tok.kind == PTX_TOK_DOT) {
        uint32_t *dims = NULL;
        int limit = 0;
        if (ptx_is_word (p, PTX_TOK_DOT, ".maxntid"))
            dims = made.maxntid, limit = 3;
        else if (ptx_is_word (p, PTX_TOK_DOT, ".reqntid"))
            dims = made.reqntid, limit = 3;
        else if (ptx_is_word (p, PTX_TOK_DOT, ".minnctapersm"))
            dims = &made.minnctapersm, limit = 1;
        else if (ptx_is_word (p, PTX_TOK_DOT, ".maxnreg"))
            dims = &made.maxnreg, limit = 1;
        ptx_next (p);
        if (p->tok.kind == PTX_TOK_STRING)
            ptx_next (p);
        for (int i = 0; p->tok.kind == PTX_TOK_INT; i++) {
            int64_t v;
            ptx_number (p, &v);
            if (i < limit)
                dims[i] = (uint32_t)v;
            if (ptx_is (p, ','))
                ptx_next (p);
        }
        for (int i = 1; i < limit; i++)
            if (dims[0] && !dims[i])
                dims[i] = 1;
        if (ptx_is (p, ';') && (p->at < p->end)) { // .pragma "x"; in front of a body
            const char *q = p->at;
            while (q < p->end && (*q == ' ' || *q == '\n' || *q == '\t' || *q == '\r'))
                q++;
            if (q < p->end && (*q == '{' || *q == '.') && limit == 0)
                ptx_next (p);
            else
                break;
        }
    }
    // a definition replaces an earlier declaration of the same name
    const ptx_name_t *known = kc_map_get (p->symbols, made.name);
    if (known && known->kind == PTX_NAME_SYMBOL && p->m->symbols[known->index].kind == PTX_SYM_FUNC)
        p->f_index = p->m->symbols[known->index].func;
    else {
        p->m->funcs = ptx_grow (p->m->funcs, p->m->n_funcs, &p->room_funcs, sizeof (ptx_func_t));
        p->f_index = (int32_t)p->m->n_funcs++;
        p->m->funcs[p->f_index] = (ptx_func_t){.name = made.name, .is_declaration = true};
        ptx_symbol_t s = {.name = made.name, .kind = PTX_SYM_FUNC, .is_extern = is_extern, .func = p->f_index};
        s_add_symbol (p, &s, -1);
    }
    p->scope = s_new_scope (p, -1);
    if (ptx_is (p, '{')) {
        if (p->m->funcs[p->f_index].n_instrs || !p->m->funcs[p->f_index].is_declaration) {
            ptx_error (p, KC_EINVALID, line, "function %s is defined twice", made.name);
            goto out;
        }
        s_bind_params (p, made.returns, made.n_returns, false);
        s_bind_params (p, made.params, made.n_params, true);
        ok = s_body (p) && s_fix_labels (p);
        made.local_bytes = (uint32_t)p->local_top;
        made.static_shared = (uint32_t)p->shared_top;
        if (!is_kernel)
            made.params_size = (uint32_t)p->param_top; // of the frame; kernels keep the argument block's
        if (ok)
            ok = ptx_flow (p, &made);
    }
    else {
        made.is_declaration = true;
        ok = ptx_expect (p, ';');
        if (ok && !p->m->funcs[p->f_index].is_declaration) {
            s_free_func (&made); // a declaration after the definition
            p->f = NULL;
            return true;
        }
    }
out:
    if (!ok) {
        s_free_func (&made);
        p->f = NULL;
        return ptx_error (p, KC_EINVALID, line, "the function cannot be read");
    }
    ptx_func_t *slot = &p->m->funcs[p->f_index];
    s_free_func (slot);
    *slot = made;
    p->f = NULL;
    return true;
}

static bool s_top (ptx_parser_t *p)
{
    bool is_extern = false;
    if (p->tok.kind != PTX_TOK_DOT)
        return ptx_error (p, KC_EINVALID, p->tok.line, "expected a directive at module level, found '%.*s'",
                          (int)(p->tok.size < 40 ? p->tok.size : 40), p->tok.text);
    while (ptx_is_word (p, PTX_TOK_DOT, ".extern") || ptx_is_word (p, PTX_TOK_DOT, ".visible")
           || ptx_is_word (p, PTX_TOK_DOT, ".weak") || ptx_is_word (p, PTX_TOK_DOT, ".common")) {
        is_extern |= ptx_is_word (p, PTX_TOK_DOT, ".extern");
        ptx_next (p);
    }
    if (ptx_is_word (p, PTX_TOK_DOT, ".func"))
        return s_function (p, false, is_extern);
    if (ptx_is_word (p, PTX_TOK_DOT, ".entry"))
        return s_function (p, true, is_extern);
    if (ptx_is_word (p, PTX_TOK_DOT, ".file"))
        return s_file (p);
    if (ptx_is_word (p, PTX_TOK_DOT, ".loc")) {
        ptx_line_of (p);
        return !p->failed;
    }
    if (ptx_is_word (p, PTX_TOK_DOT, ".section")) {
        while (p->tok.kind != PTX_TOK_END && !ptx_is (p, '{'))
            ptx_next (p);
        s_skip_block (p);
        return !p->failed;
    }
    if (ptx_is_word (p, PTX_TOK_DOT, ".version")) {
        ptx_next (p);
        double d = 0;
        if (p->tok.kind == PTX_TOK_FLOAT)
            memcpy (&d, &p->tok.value, 8);
        if (d < 1 || d > 99)
            return ptx_error (p, KC_EINVALID, p->tok.line, "expected .version major.minor");
        p->m->version_major = (uint32_t)d;
        p->m->version_minor = (uint32_t)((d - (double)p->m->version_major) * 10 + 0.5);
        ptx_next (p);
        return true;
    }
    if (ptx_is_word (p, PTX_TOK_DOT, ".target")) {
        ptx_next (p);
        size_t n = p->tok.size < sizeof (p->m->target) - 1 ? p->tok.size : sizeof (p->m->target) - 1;
        memcpy (p->m->target, p->tok.text, n);
        ptx_next (p);
        while (ptx_is (p, ',')) {
            ptx_next (p);
            ptx_next (p);
        }
        return true;
    }
    if (ptx_is_word (p, PTX_TOK_DOT, ".address_size")) {
        int64_t bits;
        ptx_next (p);
        if (!ptx_number (p, &bits))
            return false;
        return bits == 64 || ptx_error (p, KC_EUNSUPPORTED, p->tok.line, "only .address_size 64 is supported");
    }
    if (ptx_is_word (p, PTX_TOK_DOT, ".alias"))
        return ptx_error (p, KC_EUNSUPPORTED, p->tok.line, ".alias is not supported; call the function by its own name");
    int space = s_space_of (p);
    if (space >= 0)
        return s_variable (p, (ptx_space_t)space, is_extern, NULL);
    if (ptx_is_word (p, PTX_TOK_DOT, ".pragma")) {
        while (p->tok.kind != PTX_TOK_END && !ptx_is (p, ';'))
            ptx_next (p);
        return ptx_expect (p, ';');
    }
    return ptx_error (p, KC_EUNSUPPORTED, p->tok.line, "directive '%.*s' is not supported",
                      (int)(p->tok.size < 40 ? p->tok.size : 40), p->tok.text);
}

ptx_module_t *ptx_module_parse (const char *text, size_t size, kc_err_t *err)
{
    if (size > PTX_MAX_TEXT) {
        kc_fail (err, KC_EINVALID, "PTX text of %zu bytes; at most %d are read", size, PTX_MAX_TEXT);
        return NULL;
    }
    ptx_module_t *m = kc_calloc (1, sizeof (*m));
    m->arena = ptx_arena_new ();
    ptx_parser_t p = {.text = text, .at = text, .end = text + size, .line = 1, .m = m, .err = err, .scope = -1};
    p.symbols = kc_map_new (NULL);
    ptx_next (&p);
    while (!p.failed && p.tok.kind != PTX_TOK_END)
        s_top (&p);
    if (!p.failed && !m->version_major)
        ptx_error (&p, KC_EINVALID, 1, "no .version: this is not PTX");
    if (!p.failed) {
        // function bodies of .func come anywhere; kernels' own variables follow the module's
        ptx_summarise (&p);
    }
    s_free_scopes (&p);
    free (p.scopes);
    free (p.fixups);
    kc_map_destroy (&p.symbols);
    if (p.failed)
        ptx_module_destroy (&m);
    return m;
}

void ptx_module_destroy (ptx_module_t **self_p)
{
    ptx_module_t *m = *self_p;
    if (!m)
        return;
    for (uint32_t i = 0; i < m->n_funcs; i++)
        s_free_func (&m->funcs[i]);
    free (m->funcs);
    free (m->symbols);
    ptx_arena_destroy (&m->arena);
    free (m);
    *self_p = NULL;
}
