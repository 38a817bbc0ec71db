// kc_promote.c - see kc_promote.h; every token of the source is kept, replaced or a
// reason to refuse
//
// Replacements never add or remove a line, so findings about the promoted program have
// the lines of the given one.

#include "common/model/kc_promote.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/model/kc_ctoken.h"
#include "common/model/kc_program.h"
#include "common/model/kc_program_text.h"
#include "common/model/kc_signature.h"
#include "common/util/kc_buf.h"
#include "common/util/kc_mem.h"

static const char *const s_types[][2] = {
    {"float", "double"},
    {"float1", "double1"},
    {"float2", "double2"},
    {"float3", "double3"},
    {"float4", "double4"},
    {"make_float1", "make_double1"},
    {"make_float2", "make_double2"},
    {"make_float3", "make_double3"},
    {"make_float4", "make_double4"},
};

// float functions whose double form lacks the f
static const char *const s_math[] = {
    "expf",       "exp2f",     "exp10f", "expm1f",     "logf",   "log2f",    "log10f",
    "log1pf",     "sqrtf",     "rsqrtf", "cbrtf",      "rcbrtf", "sinf",     "cosf",
    "tanf",       "asinf",     "acosf",  "atanf",      "atan2f", "sinhf",    "coshf",
    "tanhf",      "asinhf",    "acoshf", "atanhf",     "powf",   "fabsf",    "fmaxf",
    "fminf",      "fmodf",     "floorf", "ceilf",      "truncf", "roundf",   "rintf",
    "nearbyintf", "fmaf",      "hypotf", "erff",       "erfcf",  "erfinvf",  "lgammaf",
    "tgammaf",    "copysignf", "ldexpf", "remainderf", "fdimf",  "normcdff", "sincosf",
    "sinpif",     "cospif",
};

// fast forms: what they approximate; those with a definition get it in front of the
// source
static const char *const s_fast[][3] = {
    {"__expf", "exp", NULL},
    {"__exp10f", "exp10", NULL},
    {"__logf", "log", NULL},
    {"__log2f", "log2", NULL},
    {"__log10f", "log10", NULL},
    {"__powf", "pow", NULL},
    {"__sinf", "sin", NULL},
    {"__cosf", "cos", NULL},
    {"__tanf", "tan", NULL},
    {"__tanhf", "tanh", NULL},
    {"__int2float_rn", "double", NULL},
    {"__uint2float_rn", "double", NULL},
    {"__float2int_rz", "int", NULL},
    {"__fdividef", "kc_fp64_div",
     "__device__ inline double kc_fp64_div (double a, double b) { return a / b; } "},
    {"fdividef", "kc_fp64_div",
     "__device__ inline double kc_fp64_div (double a, double b) { return a / b; } "},
    {"__fdiv_rn", "kc_fp64_div",
     "__device__ inline double kc_fp64_div (double a, double b) { return a / b; } "},
    {"__frcp_rn", "kc_fp64_rcp",
     "__device__ inline double kc_fp64_rcp (double a) { return 1.0 / a; } "},
    {"__fsqrt_rn", "sqrt", NULL},
    {"__frsqrt_rn", "rsqrt", NULL},
    {"__fadd_rn", "kc_fp64_add",
     "__device__ inline double kc_fp64_add (double a, double b) { return a + b; } "},
    {"__fsub_rn", "kc_fp64_sub",
     "__device__ inline double kc_fp64_sub (double a, double b) { return a - b; } "},
    {"__fmul_rn", "kc_fp64_mul",
     "__device__ inline double kc_fp64_mul (double a, double b) { return a * b; } "},
    {"__fmaf_rn", "fma", NULL},
    {"__saturatef", "kc_fp64_sat",
     "__device__ inline double kc_fp64_sat (double a) { return a > 0.0 ? (a < 1.0 ? a "
     ": 1.0) : 0.0; } "},
};

static const struct {
    const char *word;
    bool prefix;
    const char *why;
} s_unsafe[] = {
    {"asm", false, "inline assembly names fp32 registers"},
    {"__asm__", false, "inline assembly names fp32 registers"},
    {"union", false, "a union may read a float's bits"},
    {"__half", true, "half types have no double form"},
    {"half", false, "half types have no double form"},
    {"half2", false, "half types have no double form"},
    {"__nv_bfloat", true, "bfloat16 types have no double form"},
    {"nv_bfloat", true, "bfloat16 types have no double form"},
    {"__nv_fp8", true, "fp8 types have no double form"},
    {"__float_as_", true, "the bits of a float are used"},
    {"__int_as_float", false, "the bits of a float are used"},
    {"__uint_as_float", false, "the bits of a float are used"},
    {"__float2half", true, "half types have no double form"},
    {"__half2float", true, "half types have no double form"},
    {"wmma", false, "tensor cores have no double form of this kind"},
    {"mma_", true, "tensor cores have no double form of this kind"},
    {"ldmatrix", true, "tensor cores have no double form of this kind"},
    {"wgmma", true, "tensor cores have no double form of this kind"},
    {"cp_async", true, "asynchronous copies count bytes"},
    {"__pipeline_memcpy_async", false, "asynchronous copies count bytes"},
    {"memcpy_async", false, "asynchronous copies count bytes"},
    {"memcpy", false, "memcpy counts bytes"},
    {"tex2D", true, "textures hold floats"},
    {"CUtensorMap", false, "tensor maps describe fp32 tiles"},
    {"round_tf32", false, "tf32 has no double form"},
    {"_Float16", false, "half types have no double form"},
};

typedef struct s_promote {
    kc_buf_t out;
    kc_buf_t helpers;
    bool half_is_name; // a variable called half
    kc_err_t *err;
} s_promote_t;

static int s_refuse (const s_promote_t *s, const kc_ctoken_t *t, const char *why)
{
    char *word = t->kind == KC_CT_WORD ? kc_ctoken_dup (t) : kc_strdup ("this");
    kc_fail (s->err, KC_EUNSUPPORTED, "line %d: no double-precision form: %s (%s)",
             t->line, why, word);
    free (word);
    return -1;
}

// ---- words ----

static int s_check_word (const s_promote_t *s, const kc_ctoken_t *t)
{
    if (s->half_is_name && kc_ctoken_is (t, "half"))
        return 0;
    for (size_t i = 0; i < KC_COUNT (s_unsafe); i++) {
        size_t n = strlen (s_unsafe[i].word);
        if (t->size >= n && !memcmp (t->at, s_unsafe[i].word, n)
            && (s_unsafe[i].prefix || t->size == n))
            return s_refuse (s, t, s_unsafe[i].why);
    }
    return 0;
}

// __fadd_rz, __float2int_rn, ...: an intrinsic of fp32 that has no entry in the table
static bool s_fp32_intrinsic (const kc_ctoken_t *t)
{
    char word[40];
    if (t->size < 6 || t->size >= sizeof word || memcmp (t->at, "__", 2))
        return false;
    memcpy (word, t->at, t->size);
    word[t->size] = 0;
    const char *end = word + t->size - 3;
    bool rounded = end[0] == '_' && end[1] == 'r' && strchr ("nzud", end[2]);
    return rounded && (word[2] == 'f' || strstr (word, "float"));
}

static int s_word (s_promote_t *s, const kc_ctoken_t *t)
{
    for (size_t i = 0; i < KC_COUNT (s_types); i++)
        if (kc_ctoken_is (t, s_types[i][0])) {
            kc_buf_puts (&s->out, s_types[i][1]);
            return 0;
        }
    for (size_t i = 0; i < KC_COUNT (s_math); i++)
        if (kc_ctoken_is (t, s_math[i])) {
            kc_buf_put (&s->out, t->at, t->size - 1);
            return 0;
        }
    for (size_t i = 0; i < KC_COUNT (s_fast); i++)
        if (kc_ctoken_is (t, s_fast[i][0])) {
            kc_buf_puts (&s->out, s_fast[i][1]);
            if (s_fast[i][2] && !strstr (kc_buf_str (&s->helpers), s_fast[i][2]))
                kc_buf_puts (&s->helpers, s_fast[i][2]);
            return 0;
        }
    if (s_check_word (s, t) < 0)
        return -1;
    if (s_fp32_intrinsic (t))
        return s_refuse (s, t, "an fp32 intrinsic without a double form here");
    kc_buf_put (&s->out, t->at, t->size);
    return 0;
}

static void s_number (s_promote_t *s, const kc_ctoken_t *t)
{
    bool hex = t->size > 1 && t->at[0] == '0' && (t->at[1] == 'x' || t->at[1] == 'X');
    bool real = memchr (t->at, '.', t->size) || memchr (t->at, hex ? 'p' : 'e', t->size)
                || memchr (t->at, hex ? 'P' : 'E', t->size);
    char last = t->at[t->size - 1];
    kc_buf_put (&s->out, t->at, t->size - (real && (last == 'f' || last == 'F')));
}

// "int half = ..." somewhere: then half is no type.
static bool s_half_is_name (const char *source)
{
    static const char *const types[] = {"int",  "unsigned", "size_t", "float",
                                        "auto", "long",     "bool",   "uint32_t"};
    kc_ctokens_t t;
    kc_ctokens_read (&t, source, strlen (source));
    bool found = false;
    for (size_t i = 1; i < t.n && !found; i++)
        for (size_t k = 0; k < KC_COUNT (types) && !found; k++)
            found = kc_ctoken_is (&t.items[i], "half")
                    && kc_ctoken_is (&t.items[i - 1], types[k]);
    kc_ctokens_free (&t);
    return found;
}

// ---- casts ----

// The tokens [from, to) name a pointer to a plain number type that is not float: its
// bits or bytes are wanted.
static bool s_other_pointer (const kc_ctokens_t *t, size_t from, size_t to)
{
    kc_buf_t b = {0};
    bool pointer = false;
    for (size_t i = from; i < to; i++) {
        if (kc_ctoken_is (&t->items[i], "*"))
            pointer = true;
        else if (t->items[i].kind == KC_CT_WORD && !kc_ctoken_is (&t->items[i], "const")
                 && !kc_ctoken_is (&t->items[i], "volatile")
                 && !kc_ctoken_is (&t->items[i], "__restrict__"))
            kc_buf_printf (&b, "%s%.*s", b.size ? " " : "", (int)t->items[i].size,
                           t->items[i].at);
    }
    kc_ctype_t base = KC_C_OTHER;
    int lanes;
    bool known = b.size && kc_ctype_parse (kc_buf_str (&b), &base, &lanes) == 0;
    kc_buf_free (&b);
    return pointer && known && base != KC_C_F32 && base != KC_C_F64;
}

// reinterpret_cast<int *>, (unsigned *), and bytes of dynamic shared memory that are
// not floats.
static int s_check_casts (const s_promote_t *s, const kc_ctokens_t *t)
{
    for (size_t i = 0; i + 1 < t->n; i++) {
        const kc_ctoken_t *k = &t->items[i];
        if (kc_ctoken_is (k, "reinterpret_cast")
            && kc_ctoken_is (&t->items[i + 1], "<")) {
            size_t end = kc_ctokens_match (t, i + 1);
            if (end >= t->n || s_other_pointer (t, i + 2, end))
                return s_refuse (s, k,
                                 "the memory of a tensor is read as another type");
        }
        // "(int *) p" is a cast; "(int *p, float q)" is a parameter list
        if (kc_ctoken_is (k, "(")) {
            size_t end = kc_ctokens_match (t, i);
            if (end < t->n && end > i + 2 && kc_ctoken_is (&t->items[end - 1], "*")
                && s_other_pointer (t, i + 1, end))
                return s_refuse (s, k,
                                 "the memory of a tensor is read as another type");
        }
        if (kc_ctoken_is (k, "extern")
            && kc_ctoken_is (&t->items[i + 1], "__shared__")) {
            bool plain = false;
            for (size_t j = i + 2; j < t->n && !kc_ctoken_is (&t->items[j], ";")
                                   && !kc_ctoken_is (&t->items[j], "[");
                 j++)
                plain =
                    plain
                    || (t->items[j].size >= 5 && !memcmp (t->items[j].at, "float", 5));
            if (!plain)
                return s_refuse (s, k, "dynamic shared memory is carved by bytes");
        }
    }
    return 0;
}

// ---- the source ----

// alignas (4 * W) of a struct of floats becomes alignas (2 * (4 * W)): index of the
// closing parenthesis when token i is such a word with an expression, else 0.
static size_t s_alignment (const kc_ctokens_t *t, size_t i)
{
    const kc_ctoken_t *k = &t->items[i];
    if ((!kc_ctoken_is (k, "alignas") && !kc_ctoken_is (k, "__align__"))
        || i + 2 >= t->n || !kc_ctoken_is (&t->items[i + 1], "("))
        return 0;
    for (size_t n = 0; n < KC_COUNT (s_types); n++)
        if (kc_ctoken_is (
                &t->items[i + 2],
                s_types[n][0])) // alignas (float4): the type is promoted itself
            return 0;
    size_t end = kc_ctokens_match (t, i + 1);
    return end < t->n ? end : 0;
}

// Rewrite the tokens of 'text', copying what lies between them.  'line' is added to the
// tokens' lines.
static int s_rewrite (s_promote_t *s, const char *text, size_t size, int line)
{
    kc_ctokens_t t;
    kc_ctokens_read (&t, text, size);
    const char *at = text;
    int rc = s_check_casts (s, &t);
    size_t open = 0, close = 0; // of an alignment, 0 = none
    for (size_t i = 0; i < t.n && rc == 0; i++) {
        kc_ctoken_t *k = &t.items[i];
        k->line += line;
        kc_buf_put (&s->out, at, (size_t)(k->at - at));
        at = k->at + k->size;
        if (close == 0 && s_alignment (&t, i) > 0) {
            open = i + 1;
            close = s_alignment (&t, i);
        }
        switch (k->kind) {
        case KC_CT_WORD:
            rc = s_word (s, k);
            break;
        case KC_CT_NUMBER:
            s_number (s, k);
            break;
        case KC_CT_LINE: // the # itself, then what follows as ordinary text
            kc_buf_putc (&s->out, '#');
            rc = k->size > 8 && !strncmp (k->at + 1, "include", 7)
                     ? (kc_buf_put (&s->out, k->at + 1, k->size - 1), 0)
                     : s_rewrite (s, k->at + 1, k->size - 1, k->line - 1);
            break;
        case KC_CT_STRING:
        case KC_CT_PUNCT:
            kc_buf_put (&s->out, k->at, k->size);
            break;
        }
        if (close > 0 && i == open)
            kc_buf_puts (&s->out, "2 * (");
        if (close > 0 && i == close) {
            kc_buf_putc (&s->out, ')');
            open = close = 0;
        }
    }
    if (rc == 0)
        kc_buf_put (&s->out, at, (size_t)(text + size - at));
    kc_ctokens_free (&t);
    return rc;
}

// ---- plan and card ----

static int s_dtype (kc_program_dtype_t *dtype, const char *name, kc_err_t *err)
{
    switch (*dtype) {
    case KC_PROGRAM_DTYPE_F32:
        *dtype = KC_PROGRAM_DTYPE_F64;
        return 1;
    case KC_PROGRAM_DTYPE_F16:
    case KC_PROGRAM_DTYPE_BF16:
    case KC_PROGRAM_DTYPE_F8E4M3:
    case KC_PROGRAM_DTYPE_F8E5M2:
        return kc_fail (err, KC_EUNSUPPORTED, "no double-precision form: %s is %s",
                        name, kc_dtype_name (*dtype));
    case KC_PROGRAM_DTYPE_UNSET:
    case KC_PROGRAM_DTYPE_F64:
    case KC_PROGRAM_DTYPE_I64:
    case KC_PROGRAM_DTYPE_I32:
    case KC_PROGRAM_DTYPE_I16:
    case KC_PROGRAM_DTYPE_I8:
    case KC_PROGRAM_DTYPE_U32:
    case KC_PROGRAM_DTYPE_U16:
    case KC_PROGRAM_DTYPE_U8:
    case KC_PROGRAM_DTYPE_BOOL:
        break;
    }
    return 0;
}

static int s_kernel (s_promote_t *s, kc_program_kernel_t *k)
{
    for (size_t i = 0; i < k->n_template; i++) {
        kc_buf_clear (&s->out);
        if (s_rewrite (s, k->template[i], strlen (k->template[i]), 0) < 0)
            return -1;
        kc_set (&k->template[i], kc_buf_str (&s->out));
    }
    if (k->shared) {
        char *twice = kc_asprintf ("2 * (%s)", k->shared);
        free (k->shared);
        k->shared = twice;
        if (strlen (twice) > 256)
            return kc_fail (
                s->err, KC_EUNSUPPORTED,
                "no double-precision form: the shared size of %s is too long",
                k->kernel);
    }
    return 0;
}

static int s_steps (s_promote_t *s, kc_program_block_t *blocks, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < blocks[i].n_steps; k++) {
            kc_program_step_t *step = &blocks[i].steps[k];
            switch (step->kind) {
            case KC_PROGRAM_STEP_KERNEL:
                if (s_kernel (s, step->u.kernel) < 0)
                    return -1;
                break;
            case KC_PROGRAM_STEP_FILL:
                if (strcmp (step->u.fill->value, "0")
                    && strcmp (step->u.fill->value, "0.0"))
                    return kc_fail (
                        s->err, KC_EUNSUPPORTED,
                        "no double-precision form: a fill of 64-bit elements with %s",
                        step->u.fill->value);
                break;
            case KC_PROGRAM_STEP_COPY:
                break;
            case KC_PROGRAM_STEP_UNSET:
            case KC_PROGRAM_STEP_MATMUL:
            case KC_PROGRAM_STEP_CONV:
            case KC_PROGRAM_STEP_RNN:
            case KC_PROGRAM_STEP_ATTENTION:
                return kc_fail (
                    s->err, KC_EUNSUPPORTED,
                    "no double-precision form: the program has library steps");
            }
        }
    return 0;
}

static int s_tensors (kc_card_t *card, kc_program_t *program, kc_err_t *err)
{
    int floats = 0;
    for (size_t i = 0; i < card->n_tensors; i++) {
        int one = s_dtype (&card->tensors[i].dtype, card->tensors[i].name, err);
        if (one < 0)
            return -1;
        floats += one;
    }
    for (size_t i = 0; i < program->n_buffers; i++)
        if (s_dtype (&program->buffers[i].dtype, program->buffers[i].name, err) < 0)
            return -1;
    if (!floats)
        return kc_fail (
            err, KC_EUNSUPPORTED,
            "no double-precision form is needed: no tensor of the task is f32");
    return 0;
}

kc_program_t *kc_promote (const kc_card_t *card, const kc_program_t *program,
                          kc_card_t **card_p, kc_err_t *err)
{
    s_promote_t s = {.half_is_name = s_half_is_name (program->source), .err = err};
    kc_program_t *p = kc_program_dup (program);
    kc_card_t *c = kc_card_dup (card);
    int rc = s_tensors (c, p, err);
    if (rc == 0)
        rc = s_steps (&s, p->prepare, p->n_prepare);
    if (rc == 0)
        rc = s_steps (&s, p->blocks, p->n_blocks);
    kc_buf_clear (&s.out);
    if (rc == 0)
        rc = s_rewrite (&s, program->source, strlen (program->source), 0);
    if (rc == 0) {
        free (p->source);
        p->source = kc_asprintf ("%s%s", kc_buf_str (&s.helpers), kc_buf_str (&s.out));
        if (p->compile) { // precise math, as many registers as it takes
            p->compile->fast_math = false;
            p->compile->has_max_registers = false;
        }
    }
    kc_buf_free (&s.out);
    kc_buf_free (&s.helpers);
    if (rc < 0) {
        kc_program_free (&p);
        kc_card_free (&c);
    }
    *card_p = c;
    return p;
}
