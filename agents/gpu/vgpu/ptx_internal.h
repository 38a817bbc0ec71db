/* ptx_internal.h - what the files of the PTX parser share; nobody else includes it
 *
 * The lexer hands out tokens over the caller's text; names are interned in the module's arena, so equal
 * names are equal pointers inside one module.
 */
#ifndef KC_PTX_INTERNAL_H
#define KC_PTX_INTERNAL_H

#include "agents/gpu/vgpu/ptx_module.h"
#include "common/util/kc_map.h"

enum {
    PTX_MAX_SCOPES = 64,       // nesting of { } in a body
    PTX_MAX_NAME = 4096,       // bytes of one name (mangled templates are long)
    PTX_MAX_REGS = 400000,     // per function
    PTX_MAX_VARIABLE = 256 << 20, // bytes of one variable
    PTX_MAX_SUFFIXES = 24,     // words of one opcode
};

typedef enum ptx_token_kind {
    PTX_TOK_END,
    PTX_TOK_NAME,   // names, opcodes with suffixes, %registers
    PTX_TOK_DOT,    // a directive: ".reg"
    PTX_TOK_INT,
    PTX_TOK_FLOAT,  // value = bits
    PTX_TOK_STRING, // text without the quotes
    PTX_TOK_PUNCT,  // one character
} ptx_token_kind_t;

typedef struct ptx_token {
    ptx_token_kind_t kind;
    const char *text; // into the module text
    size_t size;
    uint64_t value;   // of numbers
    bool single;      // 0f float
    char punct;
    uint32_t line;
} ptx_token_t;

typedef struct ptx_arena ptx_arena_t;
ptx_arena_t *ptx_arena_new (void);
void ptx_arena_destroy (ptx_arena_t **self_p);
void *ptx_arena_alloc (ptx_arena_t *self, size_t size); // zeroed
const char *ptx_arena_intern (ptx_arena_t *self, const char *text, size_t size);

typedef struct ptx_range { // .reg .b32 %r<100>
    const char *prefix;
    int32_t first;
    int32_t count;
} ptx_range_t;

typedef enum ptx_name_kind { PTX_NAME_REG, PTX_NAME_SYMBOL, PTX_NAME_LABEL, PTX_NAME_TARGETS } ptx_name_kind_t;

typedef struct ptx_name { // what a name in a scope stands for
    ptx_name_kind_t kind;
    int32_t index;
} ptx_name_t;

typedef struct ptx_scope {
    int32_t parent;
    kc_map_t *names; // ptx_name_t in the arena
    ptx_range_t *ranges;
    uint32_t n_ranges, room_ranges;
} ptx_scope_t;

typedef struct ptx_fixup { // a name that was not known yet: a label
    uint32_t operand;  // in the function's operands
    uint32_t instr;
    int32_t scope;
    const char *name;
    uint32_t line;
} ptx_fixup_t;

typedef struct ptx_parser {
    const char *text;
    const char *end;
    const char *at;
    uint32_t line;
    ptx_token_t tok;
    ptx_module_t *m;
    kc_map_t *symbols;    // module scope
    kc_err_t *err;
    bool failed;

    ptx_func_t *f;        // function being read
    int32_t f_index;
    ptx_scope_t *scopes;
    uint32_t n_scopes, room_scopes;
    int32_t scope;
    ptx_fixup_t *fixups;
    uint32_t n_fixups, room_fixups;
    uint32_t room_instrs, room_operands, room_regs, room_symbols, room_funcs, room_targets;
    uint64_t local_top;   // bytes of local variables so far
    uint64_t param_top;   // bytes of body .param variables so far
    uint64_t shared_top;  // bytes of function-scope shared variables
    uint64_t module_shared_top;
    uint32_t source_line; // by .loc
    uint32_t total_instrs;
} ptx_parser_t;

// Record the first failure; always false, so that callers can return it.
bool ptx_error (ptx_parser_t *p, kc_code_t code, uint32_t line, const char *format, ...)
    __attribute__ ((format (printf, 4, 5)));
void ptx_next (ptx_parser_t *p); // lexical errors are recorded and end the text
bool ptx_is (const ptx_parser_t *p, char punct);
bool ptx_is_word (const ptx_parser_t *p, ptx_token_kind_t kind, const char *word);
bool ptx_expect (ptx_parser_t *p, char punct);
const char *ptx_intern_tok (ptx_parser_t *p);
bool ptx_number (ptx_parser_t *p, int64_t *value); // [-] integer
void *ptx_grow (void *array, uint32_t n, uint32_t *room, size_t size);

const ptx_name_t *ptx_lookup (ptx_parser_t *p, int32_t scope, const char *name);
bool ptx_instruction (ptx_parser_t *p);                // current token is '@' or an opcode
uint8_t ptx_type_parse (const char *text, size_t size); // without the dot
void ptx_line_of (ptx_parser_t *p);
bool ptx_flow (ptx_parser_t *p, ptx_func_t *f);        // blocks, dominators, loops, liveness
void ptx_summarise (ptx_parser_t *p);                  // symbols, call trees, forbidden things

// Operands of an instruction that are written: top-level index 0 when true.
bool ptx_has_dest (const ptx_instr_t *i);
// Call 'visit' for every register of the instruction.
typedef void (ptx_visit_f) (void *arg, int32_t reg, bool is_def);
void ptx_visit_regs (const ptx_func_t *f, const ptx_instr_t *i, ptx_visit_f *visit, void *arg);

#endif // KC_PTX_INTERNAL_H
