// ptx_builtin.c - which extern functions are provided, by name

#include "agents/gpu/vgpu/ptx_builtin.h"

#include <string.h>

#include "common/util/kc_mem.h"

typedef struct row {
    const char *name;
    ptx_builtin_kind_t kind;
    int which, args;
    uint16_t fma_f, mufu_f, fma_d, mufu_d;
} row_t;

static const row_t s_rows[] = {
#define ROW(name, args, formula, ff, mf, fd, md) {#name, PTX_BUILTIN_MATH, -1, args, ff, mf, fd, md},
    PTX_BUILTINS (ROW)
#undef ROW
    {"sincos", PTX_BUILTIN_SINCOS, 0, 1, 28, 0, 56, 0},
    {"sincospi", PTX_BUILTIN_SINCOS, 1, 1, 24, 0, 48, 0},
    {"ldexp", PTX_BUILTIN_LDEXP, 0, 1, 4, 0, 5, 0},
    {"scalbn", PTX_BUILTIN_LDEXP, 0, 1, 4, 0, 5, 0},
    {"powi", PTX_BUILTIN_POWI, 0, 1, 12, 0, 12, 0},
    {"frexp", PTX_BUILTIN_FREXP, 0, 1, 6, 0, 8, 0},
    {"modf", PTX_BUILTIN_MODF, 0, 1, 4, 0, 5, 0},
    {"ilogb", PTX_BUILTIN_ILOGB, 0, 1, 6, 0, 8, 0},
    {"lrint", PTX_BUILTIN_TO_LONG, 0, 1, 1, 0, 1, 0},
    {"llrint", PTX_BUILTIN_TO_LONG, 0, 1, 1, 0, 1, 0},
    {"lround", PTX_BUILTIN_TO_LONG, 1, 1, 5, 0, 6, 0},
    {"llround", PTX_BUILTIN_TO_LONG, 1, 1, 5, 0, 6, 0},
    {"nextafter", PTX_BUILTIN_NEXTAFTER, 0, 2, 8, 0, 10, 0},
};

ptx_builtin_t ptx_builtin_find (const char *name)
{
    ptx_builtin_t b = {.kind = PTX_BUILTIN_NONE};
    if (!strcmp (name, "vprintf"))
        return (ptx_builtin_t){.kind = PTX_BUILTIN_PRINTF, .fma = 1};
    if (!strcmp (name, "__assertfail"))
        return (ptx_builtin_t){.kind = PTX_BUILTIN_ASSERT, .fma = 1};
    if (!strncmp (name, "__nv_", 5))
        name += 5;
    size_t n = strlen (name);
    for (size_t i = 0; i < KC_COUNT (s_rows); i++) {
        const row_t *r = &s_rows[i];
        size_t k = strlen (r->name);
        bool is_double = n == k && !memcmp (name, r->name, k);
        bool is_float = n == k + 1 && name[k] == 'f' && !memcmp (name, r->name, k);
        if (!is_double && !is_float)
            continue;
        b.kind = r->kind;
        b.which = r->kind == PTX_BUILTIN_MATH ? (int)i : r->which;
        b.args = r->args;
        b.is_float = is_float;
        b.fma = is_float ? r->fma_f : r->fma_d;
        b.mufu = is_float ? r->mufu_f : r->mufu_d;
        return b;
    }
    return b;
}
