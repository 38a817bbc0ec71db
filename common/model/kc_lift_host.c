// kc_lift_host.c - the statements of a launcher, in order: definitions, allocations,
// launches, loops, conditions
//
// A statement that launches nothing and is not understood only spoils the names it may
// change: the lift is refused when a launch needs one of them, with that statement as
// the reason.

#include "common/model/kc_lift_host.h"

#include <stdlib.h>
#include <string.h>

#include "common/util/kc_mem.h"

enum { S_DEPTH = 32, S_NAMES = 4096 };

static bool s_is (const kc_host_t *h, size_t i, const char *text)
{
    return i < h->t->n && kc_ctoken_is (&h->t->items[i], text);
}

static bool s_word (const kc_host_t *h, size_t i)
{
    return i < h->t->n && h->t->items[i].kind == KC_CT_WORD;
}

void kc_host_set (kc_host_t *h, const char *name, kc_host_kind_t kind, char *text,
                  int tensor)
{
    if (h->n_names >= S_NAMES) {
        free (text);
        return;
    }
    kc_host_name_t *n = kc_push (&h->names, &h->n_names, sizeof *n);
    *n = (kc_host_name_t){
        .name = kc_strdup (name), .kind = kind, .text = text, .tensor = tensor};
}

const kc_host_name_t *kc_host_get (const kc_host_t *h, const kc_ctoken_t *t)
{
    for (size_t i = h->n_names; i-- > 0;)
        if (kc_ctoken_is (t, h->names[i].name))
            return &h->names[i];
    return NULL;
}

int kc_host_tensor (kc_host_t *h, const char *name)
{
    kc_host_tensor_t *t = kc_push (&h->tensors, &h->n_tensors, sizeof *t);
    t->name = kc_strdup (name);
    t->like = -1;
    return (int)h->n_tensors - 1;
}

int kc_host_refuse (const kc_host_t *h, size_t from, size_t to, const char *why)
{
    if (h->err && *h->err->text)
        return -1; // the first reason is the best one
    char *sentence = kc_ctokens_text (h->t, from, to);
    kc_fail (h->err, KC_EUNSUPPORTED, "line %d is not understood: '%.200s'%s%.200s",
             h->t->items[from].line, sentence, why ? " - " : "", why ? why : "");
    free (sentence);
    return -1;
}

static bool s_launches (const kc_host_t *h, size_t from, size_t to)
{
    for (size_t i = from; i + 2 < to; i++)
        if (kc_ctokens_triple (h->t, i, '<'))
            return true;
    return false;
}

// ---- launches ----

// "x, y" of a grid or block: a dim3 variable, dim3 (x, y), or an expression.
static char *s_dim3 (kc_host_t *h, size_t from, size_t to)
{
    if (to == from + 1 && s_word (h, from)) {
        const kc_host_name_t *known = kc_host_get (h, &h->t->items[from]);
        if (known && known->kind == KC_HOST_DIM3)
            return kc_strdup (known->text);
    }
    bool dim3 =
        s_is (h, from, "dim3") && (s_is (h, from + 1, "(") || s_is (h, from + 1, "{"));
    bool braces = s_is (h, from, "{");
    if (!dim3 && !braces)
        return kc_host_expr (h, from, to);
    size_t open = from + dim3, starts[3], ends[3];
    int n =
        kc_host_split (h->t, open + 1, kc_ctokens_match (h->t, open), starts, ends, 3);
    if (n < 1) {
        kc_host_refuse (h, from, to, NULL);
        return NULL;
    }
    kc_buf_t b = {0};
    for (int i = 0; i < n; i++) {
        char *one = kc_host_expr (h, starts[i], ends[i]);
        if (!one) {
            kc_buf_free (&b);
            return NULL;
        }
        kc_buf_printf (&b, "%s%s", i ? ", " : "[", one);
        free (one);
    }
    kc_buf_putc (&b, ']');
    return kc_buf_take (&b);
}

static int s_argument (kc_host_t *h, const kc_param_t *p, size_t from, size_t to)
{
    if (!p->pointer) {
        char *value = kc_host_expr (h, from, to);
        if (!value)
            return -1;
        kc_buf_puts (&h->steps, value);
        free (value);
        return 0;
    }
    char *offset;
    int tensor = kc_host_pointer (h, from, to, &offset);
    if (tensor < 0)
        return -1;
    kc_buf_printf (&h->steps, offset ? "\x01%d\x02 + %s" : "\x01%d\x02", tensor,
                   offset);
    free (offset);
    h->tensors[tensor].read = true;
    h->tensors[tensor].written = h->tensors[tensor].written || !p->is_const;
    return 0;
}

// k<T><<<grid, block, shared, stream>>>(args) in tokens [from, to); 'open' is the first
// of <<<.
static int s_launch (kc_host_t *h, size_t from, size_t to, size_t open)
{
    size_t close = open + 3;
    for (; close < to && !kc_ctokens_triple (h->t, close, '>'); close++)
        if (s_is (h, close, "(") || s_is (h, close, "{"))
            close = kc_ctokens_match (h->t, close);
    size_t args = close + 3,
           end = s_is (h, args, "(") ? kc_ctokens_match (h->t, args) : to;
    if (close >= to || end >= to + 1 || !s_word (h, from))
        return kc_host_refuse (h, from, to, NULL);
    char *name = kc_ctoken_dup (&h->t->items[from]);
    const kc_kernel_signature_t *sig = kc_signatures_find (h->signatures, name);
    free (name);
    if (!sig)
        return kc_host_refuse (h, from, to, "the text has no such kernel");
    kc_buf_printf (&h->steps, "//@ launch %s", sig->name);
    if (open > from + 1) {
        char *list = kc_ctokens_text (h->t, from + 1, open);
        for (char *at; (at = strstr (list, "scalar_t"))
                       != NULL;) // float, as AT_DISPATCH would say for f32
            memcpy (at, "float   ", 8);
        kc_buf_puts (&h->steps, list);
        free (list);
    }
    size_t starts[64], ends[64];
    int n = kc_host_split (h->t, open + 3, close, starts, ends, 4);
    if (n < 2)
        return kc_host_refuse (h, from, to, NULL);
    kc_buf_puts (&h->steps, "<<<");
    for (int i = 0; i < n && i < 3; i++) {
        char *one = i < 2 ? s_dim3 (h, starts[i], ends[i])
                          : kc_host_expr (h, starts[i], ends[i]);
        if (!one)
            return -1;
        if (i < 2 || strcmp (one, "0"))
            kc_buf_printf (&h->steps, "%s%s", i ? ", " : "", one);
        free (one);
    }
    kc_buf_puts (&h->steps, ">>>(");
    n = kc_host_split (h->t, args + 1, end, starts, ends, 64);
    if (n != (int)sig->n_params)
        return kc_host_refuse (h, from, to,
                               "the kernel has another number of parameters");
    for (int i = 0; i < n; i++) {
        if (i)
            kc_buf_puts (&h->steps, ", ");
        if (s_argument (h, &sig->params[i], starts[i], ends[i]) < 0)
            return -1;
    }
    kc_buf_puts (&h->steps, ")\n");
    h->n_launches++;
    return 0;
}

// ---- allocations ----

static char *s_dtype_of (kc_host_t *h, size_t from, size_t to)
{
    static const char *const kinds[][2] = {
        {"kFloat32", "f32"}, {"kFloat", "f32"},     {"kFloat64", "f64"},
        {"kDouble", "f64"},  {"kInt", "i32"},       {"kInt32", "i32"},
        {"kLong", "i64"},    {"kInt64", "i64"},     {"kHalf", "f16"},
        {"kFloat16", "f16"}, {"kBFloat16", "bf16"}, {"kBool", "bool"},
        {"kByte", "u8"},     {"kUInt8", "u8"}};
    for (size_t i = from; i < to; i++)
        for (size_t k = 0; k < KC_COUNT (kinds); k++)
            if (s_is (h, i, kinds[k][0]))
                return kc_strdup (kinds[k][1]);
    return kc_strdup ("f32");
}

// torch::empty_like (x), torch::zeros ({B, D}, options), at::empty (x.sizes (), ...): 1
// made, 0 not that, -1.
static int s_allocation (kc_host_t *h, const char *name, size_t from, size_t to)
{
    if (!(s_is (h, from, "torch") || s_is (h, from, "at")) || !s_is (h, from + 1, "::")
        || !s_is (h, from + 3, "("))
        return 0;
    bool like = s_is (h, from + 2, "empty_like") || s_is (h, from + 2, "zeros_like");
    bool zero = s_is (h, from + 2, "zeros") || s_is (h, from + 2, "zeros_like");
    if (!like && !zero && !s_is (h, from + 2, "empty"))
        return 0;
    size_t close = kc_ctokens_match (h->t, from + 3), starts[8], ends[8];
    int n = kc_host_split (h->t, from + 4, close, starts, ends, 8);
    if (n < 1 || close >= to)
        return kc_host_refuse (h, from, to, NULL);
    const kc_host_name_t *known =
        s_word (h, starts[0]) ? kc_host_get (h, &h->t->items[starts[0]]) : NULL;
    bool sizes = known && known->kind == KC_HOST_TENSOR && s_is (h, starts[0] + 1, ".")
                 && s_is (h, starts[0] + 2, "sizes");
    char *shape = NULL;
    int of = -1;
    if ((like || sizes) && known && known->kind == KC_HOST_TENSOR)
        of = known->tensor;
    else if (!like && s_is (h, starts[0], "{")) {
        size_t from_[8], to_[8];
        int rank = kc_host_split (h->t, starts[0] + 1, ends[0] - 1, from_, to_, 8);
        kc_buf_t b = {0};
        for (int i = 0; i < rank; i++) {
            char *one = kc_host_expr (h, from_[i], to_[i]);
            if (!one) {
                kc_buf_free (&b);
                return -1;
            }
            kc_buf_printf (&b, "%s%s", i ? ", " : "", one);
            free (one);
        }
        shape = kc_buf_take (&b);
    }
    else
        return kc_host_refuse (h, from, to, NULL);
    int tensor = kc_host_tensor (h, name);
    kc_host_tensor_t *t = &h->tensors[tensor];
    t->made_here = true;
    t->zero = zero;
    t->like = of;
    t->shape = shape;
    t->dtype = s_dtype_of (h, from, to);
    kc_host_set (h, name, KC_HOST_TENSOR, NULL, tensor);
    return 1;
}

// cudaMalloc (&p, bytes) and cudaMemset (p, 0, bytes): p was declared as float *p.
static int s_cuda_call (kc_host_t *h, size_t from, size_t to)
{
    size_t open = from;
    while (open < to
           && !(s_is (h, open, "cudaMalloc") || s_is (h, open, "cudaMemset")
                || s_is (h, open, "cudaMemcpy")))
        open++;
    if (open == to || !s_is (h, open + 1, "("))
        return 0;
    size_t close = kc_ctokens_match (h->t, open + 1), starts[4], ends[4];
    int n = kc_host_split (h->t, open + 2, close, starts, ends, 4);
    size_t word = n > 0 ? ends[0] - 1 : open;
    const kc_host_name_t *known =
        s_word (h, word) ? kc_host_get (h, &h->t->items[word]) : NULL;
    if (s_is (h, open, "cudaMemcpy")) { // device to host: a result
        const kc_host_name_t *src = n == 4 && s_word (h, ends[1] - 1)
                                        ? kc_host_get (h, &h->t->items[ends[1] - 1])
                                        : NULL;
        bool back = n == 4 && s_is (h, ends[3] - 1, "cudaMemcpyDeviceToHost");
        bool into = n == 4 && s_is (h, ends[3] - 1, "cudaMemcpyHostToDevice");
        if (back && src && src->kind == KC_HOST_TENSOR)
            h->tensors[src->tensor].returned = true;
        if (into && known && known->kind == KC_HOST_TENSOR)
            h->tensors[known->tensor].made_here =
                false; // its content comes from outside
        return back || into ? 1 : kc_host_refuse (h, from, to, NULL);
    }
    if (!known || known->kind != KC_HOST_TENSOR)
        return kc_host_refuse (h, from, to, NULL);
    kc_host_tensor_t *t = &h->tensors[known->tensor];
    if (s_is (h, open, "cudaMemset")) {
        if (n != 3 || !s_is (h, starts[1], "0") || h->n_launches)
            return kc_host_refuse (
                h, from, to,
                "only a cudaMemset to 0 before all launches can be lifted");
        t->zero = true;
        return 1;
    }
    char *bytes = n == 2 ? kc_host_expr (h, starts[1], ends[1]) : NULL;
    if (!bytes)
        return kc_host_refuse (h, from, to, NULL);
    t->shape = kc_asprintf ("(%s) / 4", bytes);
    free (bytes);
    return 1;
}

// ---- definitions ----

// The place of a single = at top level in [from, to), or 'to'.
static size_t s_assignment (const kc_host_t *h, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        if (s_is (h, i, "(") || s_is (h, i, "[") || s_is (h, i, "{"))
            i = kc_ctokens_match (h->t, i);
        else if (s_is (h, i, "=") && !s_is (h, i + 1, "=")
                 && !(i > from && strchr ("=!<>+-*/%&|^", *h->t->items[i - 1].at)))
            return i;
    }
    return to;
}

// dim3 grid (a, b); dim3 block = ...; 1 understood, 0 not that, -1.
static int s_dim3_definition (kc_host_t *h, size_t from, size_t to)
{
    while (s_is (h, from, "const") || s_is (h, from, "constexpr")
           || s_is (h, from, "static"))
        from++;
    if (!s_is (h, from, "dim3") || !s_word (h, from + 1))
        return 0;
    char *name = kc_ctoken_dup (&h->t->items[from + 1]), *text = NULL;
    if (s_is (h, from + 2, "="))
        text = s_dim3 (h, from + 3, to);
    else if (s_is (h, from + 2, "(") || s_is (h, from + 2, "{")) {
        size_t starts[3], ends[3];
        int n = kc_host_split (h->t, from + 3, kc_ctokens_match (h->t, from + 2),
                               starts, ends, 3);
        kc_buf_t b = {0};
        for (int i = 0; i < n; i++) {
            char *one = kc_host_expr (h, starts[i], ends[i]);
            if (!one) {
                n = -1;
                break;
            }
            kc_buf_printf (&b, "%s%s", i ? ", " : "[", one);
            free (one);
        }
        kc_buf_putc (&b, ']');
        text = n > 0 ? kc_buf_take (&b) : NULL;
        kc_buf_free (&b);
    }
    if (text)
        kc_host_set (h, name, KC_HOST_DIM3, text, -1);
    free (name);
    return text ? 1 : -1;
}

// A pointer or tensor taken from another: auto p = x.data_ptr<float> (), auto y =
// x.contiguous ().
static bool s_alias (kc_host_t *h, const char *name, size_t from, size_t to)
{
    kc_err_t quiet = {0}, *err = h->err;
    char *offset = NULL;
    h->err = &quiet;
    bool method = s_is (h, from + 1, ".")
                  && (s_is (h, from + 2, "contiguous") || s_is (h, from + 2, "data_ptr")
                      || s_is (h, from + 2, "const_data_ptr")
                      || s_is (h, from + 2, "mutable_data_ptr")
                      || s_is (h, from + 2, "data") || s_is (h, from + 2, "detach"));
    bool cast = s_is (h, from, "reinterpret_cast") || s_is (h, from, "(");
    int tensor =
        method || cast || to == from + 1 ? kc_host_pointer (h, from, to, &offset) : -1;
    h->err = err;
    bool good = tensor >= 0 && !offset;
    free (offset);
    if (good)
        kc_host_set (h, name, KC_HOST_TENSOR, NULL, tensor);
    return good;
}

// TYPE name = expression; 1 understood, 0 no definition.
static int s_definition (kc_host_t *h, size_t from, size_t to)
{
    size_t eq = s_assignment (h, from, to);
    if (eq == to || eq == from || !s_word (h, eq - 1))
        return 0;
    char *name = kc_ctoken_dup (&h->t->items[eq - 1]);
    int rc = s_allocation (h, name, eq + 1, to);
    if (rc == 0 && s_alias (h, name, eq + 1, to))
        rc = 1;
    if (rc == 0) {
        kc_err_t quiet = {0}, *err = h->err;
        h->err = &quiet;
        char *text = kc_host_expr (h, eq + 1, to);
        h->err = err;
        if (text)
            kc_host_set (h, name, KC_HOST_VALUE, text, -1);
        rc = text != NULL;
    }
    free (name);
    return rc;
}

// float *d_a, *d_b; without a value: pointers that cudaMalloc will fill.
static bool s_pointers (kc_host_t *h, size_t from, size_t to)
{
    if (!s_word (h, from) || !s_is (h, from + 1, "*")
        || s_assignment (h, from, to) != to)
        return false;
    char *type = kc_ctoken_dup (&h->t->items[from]);
    static const char *const types[][2] = {
        {"float", "f32"}, {"double", "f64"}, {"int", "i32"}};
    const char *dtype = NULL;
    for (size_t i = 0; i < KC_COUNT (types); i++)
        if (!strcmp (type, types[i][0]))
            dtype = types[i][1];
    free (type);
    for (size_t i = from + 1; i < to && dtype; i++)
        if (s_word (h, i)) {
            char *name = kc_ctoken_dup (&h->t->items[i]);
            int tensor = kc_host_tensor (h, name);
            h->tensors[tensor].made_here = true;
            h->tensors[tensor].dtype = kc_strdup (dtype);
            kc_host_set (h, name, KC_HOST_TENSOR, NULL, tensor);
            free (name);
        }
    return dtype != NULL;
}

// Names that a statement may change are not to be trusted any more.
static void s_spoil (kc_host_t *h, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        bool changes = s_is (h, i + 1, "=") || s_is (h, i - 1, "&")
                       || (s_is (h, i + 2, "=") && !s_is (h, i + 1, "=")
                           && h->t->items[i + 1].kind == KC_CT_PUNCT
                           && strchr ("+-*/%", *h->t->items[i + 1].at))
                       || (s_is (h, i + 1, "+") && s_is (h, i + 2, "+"))
                       || (s_is (h, i + 1, "-") && s_is (h, i + 2, "-"));
        bool compares = s_is (h, i + 1, "=") && s_is (h, i + 2, "=");
        if (!s_word (h, i) || !changes || compares)
            continue;
        char *name = kc_ctoken_dup (&h->t->items[i]);
        kc_host_set (h, name, KC_HOST_UNKNOWN, kc_ctokens_text (h->t, from, to), -1);
        free (name);
    }
}

// ---- statements ----

// The end (the token behind) of the statement that begins at 'from'.
static size_t s_statement_end (const kc_host_t *h, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        if (s_is (h, i, "(") || s_is (h, i, "["))
            i = kc_ctokens_match (h->t, i);
        else if (s_is (h, i, "{")) {
            i = kc_ctokens_match (h->t, i);
            if (!s_is (h, i + 1, ";") && !s_is (h, i + 1, ",") && !s_is (h, i + 1, ")")
                && !s_is (h, i + 1, "."))
                return i + 1;
        }
        else if (s_is (h, i, ";"))
            return i + 1;
    }
    return to;
}

// A statement or block after if, else or for.
static size_t s_body_end (const kc_host_t *h, size_t from, size_t to)
{
    return s_is (h, from, "{") ? kc_ctokens_match (h->t, from) + 1
                               : s_statement_end (h, from, to);
}

static int s_body (kc_host_t *h, size_t from, size_t end)
{
    bool block = s_is (h, from, "{");
    return kc_host_statements (h, from + block, end - block);
}

// if (cond) A [else B] with launches inside; *next_p = what follows.
static int s_if (kc_host_t *h, size_t from, size_t to, size_t *next_p)
{
    size_t open = from + 1 + s_is (h, from + 1, "constexpr"),
           close = kc_ctokens_match (h->t, open);
    size_t end = s_body_end (h, close + 1, to);
    size_t other = s_is (h, end, "else") ? end + 1 : 0,
           last = other ? s_body_end (h, other, to) : end;
    if (other && s_is (h, other, "if")) { // else if: the whole chain
        size_t at = other;
        while (s_is (h, at, "if")) {
            at = s_body_end (h, kc_ctokens_match (h->t, at + 1) + 1, to);
            if (!s_is (h, at, "else"))
                break;
            at++;
            if (!s_is (h, at, "if"))
                at = s_body_end (h, at, to);
        }
        last = at;
    }
    *next_p = last;
    if (!s_launches (h, from, last)) {
        s_spoil (h, from, last);
        return 0;
    }
    char *cond = kc_host_expr (h, open + 1, close);
    if (!cond)
        return -1;
    kc_buf_printf (&h->steps, "//@ if %s\n", cond);
    free (cond);
    if (s_body (h, close + 1, end) < 0)
        return -1;
    if (other) {
        kc_buf_puts (&h->steps, "//@ else\n");
        if (s_body (h, other, last) < 0)
            return -1;
    }
    kc_buf_puts (&h->steps, "//@ end\n");
    return 0;
}

// for (int i = 0; i < N; ++i) with launches inside.
static int s_for (kc_host_t *h, size_t from, size_t to, size_t *next_p)
{
    size_t close = kc_ctokens_match (h->t, from + 1);
    *next_p = s_body_end (h, close + 1, to);
    if (!s_launches (h, from, *next_p)) {
        s_spoil (h, from, *next_p);
        return 0;
    }
    size_t i = from + 2;
    while (s_word (h, i) && !s_is (h, i + 1, "="))
        i++;
    size_t semi = i + 3;
    bool good = s_word (h, i) && s_is (h, i + 1, "=") && s_is (h, i + 2, "0")
                && s_is (h, semi, ";");
    char *index = good ? kc_ctoken_dup (&h->t->items[i]) : NULL;
    good = good && kc_ctoken_is (&h->t->items[semi + 1], index)
           && s_is (h, semi + 2, "<") && !s_is (h, semi + 3, "=");
    size_t second = semi + 3;
    while (good && second < close && !s_is (h, second, ";"))
        second++;
    size_t plus = second + 1; // ++i or i++
    while (plus < close && s_word (h, plus))
        plus++;
    good = good && s_is (h, plus, "+") && s_is (h, plus + 1, "+");
    char *count = good ? kc_host_expr (h, semi + 3, second) : NULL;
    if (!count) {
        free (index);
        return kc_host_refuse (
            h, from, close + 1,
            good ? NULL : "only loops for (int i = 0; i < N; ++i) can be lifted");
    }
    kc_buf_printf (&h->steps, "//@ for %s in %s\n", index, count);
    kc_host_set (h, index, KC_HOST_VALUE, kc_strdup (index), -1);
    free (index);
    free (count);
    if (s_body (h, close + 1, *next_p) < 0)
        return -1;
    kc_buf_puts (&h->steps, "//@ end\n");
    return 0;
}

// AT_DISPATCH_...(type, "name", [&] { body }): the body, for float.
static int s_dispatch (kc_host_t *h, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (s_is (h, i, "{")) {
            size_t end = kc_ctokens_match (h->t, i);
            return end < to ? kc_host_statements (h, i + 1, end)
                            : kc_host_refuse (h, from, to, NULL);
        }
    return kc_host_refuse (h, from, to, NULL);
}

static void s_return (kc_host_t *h, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        const kc_host_name_t *known =
            s_word (h, i) ? kc_host_get (h, &h->t->items[i]) : NULL;
        if (known && known->kind == KC_HOST_TENSOR)
            h->tensors[known->tensor].returned = true;
    }
}

static int s_statement (kc_host_t *h, size_t from, size_t to)
{
    size_t open = from;
    while (open + 2 < to && !kc_ctokens_triple (h->t, open, '<'))
        open++;
    if (open + 2 < to) {
        bool dispatch = h->t->items[from].size > 11
                        && !memcmp (h->t->items[from].at, "AT_DISPATCH", 11);
        return dispatch ? s_dispatch (h, from, to) : s_launch (h, from, to, open);
    }
    if (s_is (h, from, "return")) {
        s_return (h, from, to);
        return 0;
    }
    int rc = s_dim3_definition (h, from, to);
    if (rc == 0)
        rc = s_definition (h, from, to);
    if (rc == 0)
        rc = s_cuda_call (h, from, to);
    if (rc == 0 && !s_pointers (h, from, to))
        s_spoil (h, from, to);
    return rc < 0 ? -1 : 0;
}

int kc_host_statements (kc_host_t *h, size_t from, size_t to)
{
    if (++h->depth > S_DEPTH)
        return kc_host_refuse (h, from, to, "nested too deeply");
    int rc = 0;
    while (from < to && rc == 0) {
        size_t next;
        if (h->t->items[from].kind == KC_CT_LINE || s_is (h, from, ";"))
            next = from + 1;
        else if (s_is (h, from, "if"))
            rc = s_if (h, from, to, &next);
        else if (s_is (h, from, "for"))
            rc = s_for (h, from, to, &next);
        else if (s_is (h, from, "{")) {
            next = kc_ctokens_match (h->t, from) + 1;
            rc = kc_host_statements (h, from + 1, next - 1);
        }
        else {
            next = s_statement_end (h, from, to);
            rc = s_statement (h, from, next - s_is (h, next - 1, ";"));
        }
        if (next <= from || next > to)
            return kc_host_refuse (h, from, to, NULL);
        from = next;
    }
    h->depth--;
    return rc;
}
