// kc_signature.c - see kc_signature.h; one pass over the tokens with a stack of open
// braces

#include "common/model/kc_signature.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/model/kc_ctoken.h"
#include "common/util/kc_buf.h"
#include "common/util/kc_mem.h"

static const struct {
    const char *name;
    kc_ctype_t base;
    int lanes;
} s_types[] = {
    {"void", KC_C_VOID, 1},
    {"bool", KC_C_BOOL, 1},
    {"char", KC_C_BYTE, 1},
    {"int8_t", KC_C_BYTE, 1},
    {"uint8_t", KC_C_BYTE, 1},
    {"int16_t", KC_C_I16, 1},
    {"uint16_t", KC_C_U16, 1},
    {"ushort", KC_C_U16, 1},
    {"int32_t", KC_C_I32, 1},
    {"uint32_t", KC_C_U32, 1},
    {"uint", KC_C_U32, 1},
    {"int64_t", KC_C_I64, 1},
    {"ptrdiff_t", KC_C_I64, 1},
    {"ssize_t", KC_C_I64, 1},
    {"uint64_t", KC_C_U64, 1},
    {"size_t", KC_C_U64, 1},
    {"ulong", KC_C_U64, 1},
    {"uintptr_t", KC_C_U64, 1},
    {"float", KC_C_F32, 1},
    {"double", KC_C_F64, 1},
    {"__half", KC_C_F16, 1},
    {"half", KC_C_F16, 1},
    {"__half2", KC_C_F16, 2},
    {"half2", KC_C_F16, 2},
    {"__nv_bfloat16", KC_C_BF16, 1},
    {"__nv_bfloat162", KC_C_BF16, 2},
    {"nv_bfloat16", KC_C_BF16, 1},
    {"nv_bfloat162", KC_C_BF16, 2},
    {"__nv_fp8_e4m3", KC_C_F8E4M3, 1},
    {"__nv_fp8_e5m2", KC_C_F8E5M2, 1},
    {"CUtensorMap", KC_C_TENSORMAP, 1},
};

// float2, int4, ...: a stem and a digit from 1 to 4.
static const struct {
    const char *stem;
    kc_ctype_t base;
} s_stems[] = {
    {"float", KC_C_F32},     {"double", KC_C_F64}, {"int", KC_C_I32},
    {"uint", KC_C_U32},      {"short", KC_C_I16},  {"ushort", KC_C_U16},
    {"char", KC_C_BYTE},     {"uchar", KC_C_BYTE}, {"longlong", KC_C_I64},
    {"ulonglong", KC_C_U64}, {"long", KC_C_I64},   {"ulong", KC_C_U64},
};

size_t kc_ctype_size (kc_ctype_t base)
{
    switch (base) {
    case KC_C_VOID:
    case KC_C_TEMPLATE:
    case KC_C_OTHER:
        return 0;
    case KC_C_BOOL:
    case KC_C_BYTE:
    case KC_C_F8E4M3:
    case KC_C_F8E5M2:
        return 1;
    case KC_C_I16:
    case KC_C_U16:
    case KC_C_F16:
    case KC_C_BF16:
        return 2;
    case KC_C_I32:
    case KC_C_U32:
    case KC_C_F32:
        return 4;
    case KC_C_I64:
    case KC_C_U64:
    case KC_C_F64:
        return 8;
    case KC_C_TENSORMAP:
        return 128;
    }
    return 0;
}

// "unsigned long int" and friends: any order of the words.
static int s_integer_words (const char *text, kc_ctype_t *base)
{
    int longs = 0, shorts = 0, chars = 0, ints = 0, is_unsigned = 0, is_signed = 0,
        words = 0;
    for (const char *p = text; *p;) {
        size_t n = strcspn (p, " ");
        if (n == 4 && !memcmp (p, "long", 4))
            longs++;
        else if (n == 5 && !memcmp (p, "short", 5))
            shorts++;
        else if (n == 4 && !memcmp (p, "char", 4))
            chars++;
        else if (n == 3 && !memcmp (p, "int", 3))
            ints++;
        else if (n == 8 && !memcmp (p, "unsigned", 8))
            is_unsigned++;
        else if (n == 6 && !memcmp (p, "signed", 6))
            is_signed++;
        else
            return -1;
        words++;
        p += n;
        while (*p == ' ')
            p++;
    }
    if (!words || longs > 2 || shorts > 1 || chars > 1 || ints > 1
        || is_unsigned + is_signed > 1)
        return -1;
    *base = chars    ? KC_C_BYTE
            : shorts ? (is_unsigned ? KC_C_U16 : KC_C_I16)
            : longs  ? (is_unsigned ? KC_C_U64 : KC_C_I64)
                     : (is_unsigned ? KC_C_U32 : KC_C_I32);
    return 0;
}

int kc_ctype_parse (const char *text, kc_ctype_t *base, int *lanes)
{
    if (!strncmp (text, "std::", 5))
        text += 5;
    *lanes = 1;
    for (size_t i = 0; i < KC_COUNT (s_types); i++)
        if (!strcmp (s_types[i].name, text)) {
            *base = s_types[i].base;
            *lanes = s_types[i].lanes;
            return 0;
        }
    if (s_integer_words (text, base) == 0)
        return 0;
    size_t n = strlen (text);
    if (n < 2 || text[n - 1] < '1' || text[n - 1] > '4')
        return -1;
    for (size_t i = 0; i < KC_COUNT (s_stems); i++)
        if (strlen (s_stems[i].stem) == n - 1
            && !memcmp (s_stems[i].stem, text, n - 1)) {
            *base = s_stems[i].base;
            *lanes = text[n - 1] - '0';
            return 0;
        }
    return -1;
}

// ---- reading ----

typedef struct s_reader {
    kc_ctokens_t t;
    kc_signatures_t *out;
    kc_err_t *err;
    char *scopes[64]; // names of open namespaces, "" = a block that is no scope (extern
                      // "C")
    int n_scopes;
} s_reader_t;

static const kc_ctoken_t *s_at (const s_reader_t *r, size_t i)
{
    return &r->t.items[i < r->t.n ? i : r->t.n];
}

static bool s_is (const s_reader_t *r, size_t i, const char *text)
{
    return i < r->t.n && kc_ctoken_is (&r->t.items[i], text);
}

static bool s_is_any (const s_reader_t *r, size_t i, const char *const *words)
{
    for (; *words; words++)
        if (s_is (r, i, *words))
            return true;
    return false;
}

static int s_fail (const s_reader_t *r, size_t i, const char *what, const char *name)
{
    return kc_fail (r->err, KC_EINVALID, "line %d: %s%s%s", s_at (r, i)->line, what,
                    name ? " " : "", name ? name : "");
}

static void s_param_clear (kc_param_t *p)
{
    free (p->name);
    free (p->type);
    free (p->base_name);
}

static void s_kernel_clear (kc_kernel_signature_t *k)
{
    free (k->name);
    free (k->bounds);
    for (size_t i = 0; i < k->n_params; i++)
        s_param_clear (&k->params[i]);
    free (k->params);
    for (size_t i = 0; i < k->n_template; i++)
        free (k->template_names[i]);
    free (k->template_names);
    free (k->template_types);
}

static void s_param_sizes (kc_param_t *p)
{
    size_t lane = kc_ctype_size (p->base);
    if (p->pointer || p->reference)
        p->size = p->align = 8;
    else if (p->base == KC_C_TENSORMAP) {
        p->size = 128;
        p->align = 128; // of our definition in the prelude
    }
    else if (lane) {
        p->size = lane * (size_t)p->lanes;
        p->align = p->lanes == 3 ? lane : p->size > 16 ? 16 : p->size;
    }
}

// One parameter in tokens [from, to).
static int s_param (s_reader_t *r, kc_kernel_signature_t *k, size_t from, size_t to)
{
    static const char *const drop[] = {
        "const", "volatile", "__restrict__",      "__restrict", "restrict", "struct",
        "class", "typename", "__grid_constant__", "register",   "enum",     "constexpr",
        NULL};
    kc_param_t *p = kc_push (&k->params, &k->n_params, sizeof *p);
    if (k->n_params > KC_SIGNATURE_PARAMS)
        return s_fail (r, from, "more than 64 parameters in", k->name);
    size_t name = to; // token of the name
    bool array = false, row = false; // row: float (*a)[4], a pointer to whole rows
    int stars = 0;
    for (size_t i = from; i < to; i++) {
        if (s_is (r, i, "=")) {
            to = i;
            break;
        }
        if (s_is (r, i, "[")) {
            array = true;
            to = i;
            break;
        }
        row = row || (s_is (r, i, "(") && s_is (r, i + 1, "*"));
        if (s_is (r, i, "<"))
            i = kc_ctokens_match (&r->t, i);
        else if (s_at (r, i)->kind == KC_CT_WORD && !s_is_any (r, i, drop))
            name = i;
    }
    kc_buf_t base = {0};
    size_t words = 0;
    for (size_t i = from; i < to; i++) {
        if (i == name && words > 0)
            continue;
        if (s_is (r, i, "*"))
            stars++;
        else if (s_is (r, i, "&"))
            p->reference = true;
        else if (s_is (r, i, "const") && stars == 0)
            p->is_const = true;
        else if (s_is_any (r, i, drop) || (row && (s_is (r, i, "(") || s_is (r, i, ")"))))
            continue;
        else {
            bool glue =
                base.size
                && (s_is (r, i, "::") || s_is (r, i - 1, "::") || s_is (r, i, "<")
                    || s_is (r, i - 1, "<") || s_is (r, i, ">"));
            if (base.size && !glue)
                kc_buf_putc (&base, ' ');
            kc_buf_put (&base, s_at (r, i)->at, s_at (r, i)->size);
            words++;
        }
    }
    p->line = s_at (r, name < to ? name : from)->line;
    bool named = name < to && words > 0;
    if (named) { // "float" alone, or "unsigned int" alone: the last word belongs to the
                 // type
        kc_ctype_t ignored;
        int lanes;
        char *last = kc_ctoken_dup (s_at (r, name));
        named = kc_ctype_parse (last, &ignored, &lanes) < 0;
        p->name = last;
    }
    if (!named) {
        kc_buf_free (&base);
        return s_fail (r, from, "a parameter has no name in kernel", k->name);
    }
    p->type = kc_ctokens_text (&r->t, from, name);
    p->pointer = stars > 0 || array;
    p->pointer_pointer = stars + (array && !row) > 1;
    char *base_name = kc_buf_take (&base);
    p->lanes = 1;
    if (kc_ctype_parse (base_name, &p->base, &p->lanes) < 0) {
        p->base = KC_C_OTHER;
        for (size_t i = 0; i < k->n_template; i++)
            if (!strcmp (k->template_names[i], base_name))
                p->base = KC_C_TEMPLATE;
        p->base_name = base_name;
    }
    else
        free (base_name);
    s_param_sizes (p);
    return 0;
}

// Split the tokens between the parentheses at 'open' and 'close' at top-level commas.
static int s_params (s_reader_t *r, kc_kernel_signature_t *k, size_t open, size_t close)
{
    size_t from = open + 1;
    if (from == close || (from + 1 == close && s_is (r, from, "void")))
        return 0;
    for (size_t i = from; i <= close; i++) {
        if (s_is (r, i, "<") || s_is (r, i, "(") || s_is (r, i, "[")
            || s_is (r, i, "{")) {
            size_t end = kc_ctokens_match (&r->t, i);
            if (end >= close)
                return s_fail (r, i, "brackets do not close in the parameters of",
                               k->name);
            i = end;
        }
        else if (i == close || s_is (r, i, ",")) {
            if (from == i)
                return s_fail (r, i, "an empty parameter in kernel", k->name);
            if (s_param (r, k, from, i) < 0)
                return -1;
            from = i + 1;
        }
    }
    return 0;
}

// template < ... > in front of the __global__ at 'global', if the same declaration has
// one.
static int s_template (s_reader_t *r, kc_kernel_signature_t *k, size_t global)
{
    size_t i = global;
    while (i > 0 && !s_is (r, i - 1, ";") && !s_is (r, i - 1, "}")
           && !s_is (r, i - 1, "{") && s_at (r, i - 1)->kind != KC_CT_LINE)
        i--;
    while (i < global && !s_is (r, i, "template"))
        i++;
    if (i == global || !s_is (r, i + 1, "<"))
        return 0;
    size_t close = kc_ctokens_match (&r->t, i + 1);
    if (close > global)
        return s_fail (r, i, "template <...> does not close", NULL);
    size_t from = i + 2;
    for (size_t j = from; j <= close; j++) {
        if (j < close && (s_is (r, j, "<") || s_is (r, j, "("))) {
            j = kc_ctokens_match (&r->t, j);
            continue;
        }
        if (j != close && !s_is (r, j, ","))
            continue;
        size_t name = j;
        for (size_t m = from; m < j && !s_is (r, m, "="); m++)
            if (s_at (r, m)->kind == KC_CT_WORD)
                name = m;
        if (name < j) {
            if (k->n_template == KC_SIGNATURE_TEMPLATE)
                return s_fail (r, i, "more than 16 template parameters", NULL);
            size_t n = k->n_template;
            *(char **)kc_push (&k->template_names, &n, sizeof (char *)) =
                kc_ctoken_dup (s_at (r, name));
            *(bool *)kc_push (&k->template_types, &k->n_template, sizeof (bool)) =
                s_is (r, from, "typename") || s_is (r, from, "class");
        }
        from = j + 1;
    }
    return 0;
}

static char *s_qualified (const s_reader_t *r, const kc_ctoken_t *name)
{
    kc_buf_t b = {0};
    for (int i = 0; i < r->n_scopes; i++)
        if (*r->scopes[i])
            kc_buf_printf (&b, "%s::", r->scopes[i]);
    kc_buf_put (&b, name->at, name->size);
    return kc_buf_take (&b);
}

static int s_kernel_at (s_reader_t *r, kc_kernel_signature_t *k, size_t global,
                        size_t *next_p)
{
    static const char *const with_parens[] = {
        "__launch_bounds__", "__cluster_dims__", "__attribute__",  "__maxnreg__",
        "alignas",           "__align__",        "__block_size__", NULL};
    size_t i = global + 1;
    for (;; i++) {
        if (i >= r->t.n || s_is (r, i, ";") || s_is (r, i, "{"))
            return s_fail (r, global,
                           "the name and parameters of this __global__ cannot be read; "
                           "signatures made by "
                           "macros are not supported, write it out",
                           NULL);
        if (s_is_any (r, i, with_parens) && s_is (r, i + 1, "(")) {
            size_t end = kc_ctokens_match (&r->t, i + 1);
            if (s_is (r, i, "__launch_bounds__") && !k->bounds)
                k->bounds = kc_ctokens_text (&r->t, i + 2, end);
            i = end;
        }
        else if (s_is (r, i, "[")) // [[attribute]]
            i = kc_ctokens_match (&r->t, i);
        else if (s_at (r, i)->kind == KC_CT_WORD
                 && (s_is (r, i + 1, "(") || s_is (r, i + 1, "<")))
            break;
    }
    const kc_ctoken_t *name = s_at (r, i);
    size_t open = i + 1;
    if (s_is (r, open, "<")) // an explicit specialisation k<4>
        open = kc_ctokens_match (&r->t, open) + 1;
    size_t close = s_is (r, open, "(") ? kc_ctokens_match (&r->t, open) : r->t.n;
    if (close >= r->t.n)
        return s_fail (r, i, "parentheses do not close in this kernel's parameters",
                       NULL);
    if (s_is (r, close + 1, "(")) {
        char *word = kc_ctoken_dup (name);
        s_fail (r, i,
                "signatures made by macros are not supported, write it out:", word);
        free (word);
        return -1;
    }
    *next_p = close + 1;
    if (s_is (r, close + 1, ";"))
        return 0; // a declaration or an explicit instantiation
    k->name = s_qualified (r, name);
    k->line = name->line;
    return s_template (r, k, global) < 0 || s_params (r, k, open, close) < 0 ? -1 : 0;
}

// __global__ at 'i'; the token to go on with, or 0 on failure.
static size_t s_global (s_reader_t *r, size_t i)
{
    kc_kernel_signature_t k = {0};
    size_t next = 0;
    if (s_kernel_at (r, &k, i, &next) < 0) {
        s_kernel_clear (&k);
        return 0;
    }
    bool again =
        !k.name; // only declared here, or specialised: the first definition counts
    for (size_t j = 0; j < r->out->n && k.name; j++)
        again = again || !strcmp (r->out->items[j].name, k.name);
    if (again) {
        s_kernel_clear (&k);
        return next;
    }
    if (r->out->n == KC_SIGNATURE_KERNELS) {
        s_fail (r, i, "more than 256 kernels", NULL);
        s_kernel_clear (&k);
        return 0;
    }
    *(kc_kernel_signature_t *)kc_push (&r->out->items, &r->out->n, sizeof k) = k;
    return next;
}

// A __constant__ or __device__ at namespace scope: remember it when it is a variable.
static void s_variable (s_reader_t *r, size_t i)
{
    bool constant = s_is (r, i, "__constant__");
    size_t from = i;
    for (; i < r->t.n; i++) {
        if (s_is (r, i, "__constant__"))
            constant = true;
        if ((s_is (r, i, "__align__") || s_is (r, i, "alignas")
             || s_is (r, i, "__attribute__"))
            && s_is (r, i + 1, "("))
            i = kc_ctokens_match (&r->t, i + 1);
        else if (s_is (r, i, "<"))
            i = kc_ctokens_match (&r->t, i);
        else if (s_is (r, i, "("))
            return; // a function
        else if (s_is (r, i, ";") || s_is (r, i, "=") || s_is (r, i, "[")
                 || s_is (r, i, ",") || s_is (r, i, "{")) {
            if (i == from || s_at (r, i - 1)->kind != KC_CT_WORD
                || r->out->n_symbols >= 4096)
                return;
            kc_symbol_t *s = kc_push (&r->out->symbols, &r->out->n_symbols, sizeof *s);
            s->name = s_qualified (r, s_at (r, i - 1));
            s->constant = constant;
            s->line = s_at (r, i - 1)->line;
            while (i < r->t.n && !s_is (r, i, ",") && !s_is (r, i, ";"))
                i = s_is (r, i, "[") || s_is (r, i, "{") || s_is (r, i, "(")
                        ? kc_ctokens_match (&r->t, i) + 1
                        : i + 1;
            if (!s_is (r, i, ","))
                return;
            from = i;
        }
    }
}

static int s_read (s_reader_t *r)
{
    for (size_t i = 0; i < r->t.n; i++) {
        if (s_is (r, i, "__global__")) {
            i = s_global (r, i);
            if (!i)
                return -1;
            i--;
        }
        else if (s_is (r, i, "__constant__") || s_is (r, i, "__device__")) {
            s_variable (r, i);
            while (s_is (r, i + 1, "__constant__")
                   || s_is (r, i + 1, "__device__")) // seen as one declaration
                i++;
        }
        else if (s_is (r, i, "namespace")) {
            size_t j = i + 1;
            kc_buf_t name = {0};
            while (s_at (r, j)->kind == KC_CT_WORD || s_is (r, j, "::")) {
                kc_buf_put (&name, s_at (r, j)->at, s_at (r, j)->size);
                j++;
            }
            if (s_is (r, j, "{") && r->n_scopes < (int)KC_COUNT (r->scopes)) {
                r->scopes[r->n_scopes++] = kc_buf_take (&name);
                i = j;
            }
            kc_buf_free (&name);
        }
        else if (s_is (r, i, "extern") && s_at (r, i + 1)->kind == KC_CT_STRING
                 && s_is (r, i + 2, "{")) {
            if (r->n_scopes < (int)KC_COUNT (r->scopes))
                r->scopes[r->n_scopes++] = kc_strdup ("");
            i += 2;
        }
        else if (s_is (
                     r, i,
                     "{")) { // a body, a struct, an initialiser: nothing of ours inside
            size_t end = kc_ctokens_match (&r->t, i);
            i = end < r->t.n ? end : i;
        }
        else if (s_is (r, i, "}") && r->n_scopes > 0)
            free (r->scopes[--r->n_scopes]);
    }
    return 0;
}

kc_signatures_t *kc_signatures_read (const char *source, kc_err_t *err)
{
    s_reader_t r = {.out = kc_calloc (1, sizeof (kc_signatures_t)), .err = err};
    kc_ctokens_read (&r.t, source, strlen (source));
    int rc = s_read (&r);
    while (r.n_scopes > 0)
        free (r.scopes[--r.n_scopes]);
    kc_ctokens_free (&r.t);
    if (rc < 0)
        kc_signatures_destroy (&r.out);
    return r.out;
}

void kc_signatures_destroy (kc_signatures_t **self_p)
{
    kc_signatures_t *self = *self_p;
    if (!self)
        return;
    for (size_t i = 0; i < self->n; i++)
        s_kernel_clear (&self->items[i]);
    free (self->items);
    for (size_t i = 0; i < self->n_symbols; i++)
        free (self->symbols[i].name);
    free (self->symbols);
    free (self);
    *self_p = NULL;
}

const kc_kernel_signature_t *kc_signatures_find (const kc_signatures_t *self,
                                                 const char *name)
{
    for (size_t i = 0; i < self->n; i++)
        if (!strcmp (self->items[i].name, name))
            return &self->items[i];
    // a plan names kernels by identifier: one inside a namespace by its last part
    for (size_t i = 0; i < self->n; i++) {
        const char *last = strrchr (self->items[i].name, ':');
        if (last && !strcmp (last + 1, name))
            return &self->items[i];
    }
    return NULL;
}

const kc_symbol_t *kc_signatures_symbol (const kc_signatures_t *self, const char *name)
{
    for (size_t i = 0; i < self->n_symbols; i++)
        if (!strcmp (self->symbols[i].name, name))
            return &self->symbols[i];
    return NULL;
}
