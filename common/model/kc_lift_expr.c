// kc_lift_expr.c - host expressions of a lifted text as plan expressions

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/model/kc_expr.h"
#include "common/model/kc_lift_host.h"
#include "common/util/kc_mem.h"

int kc_host_split (const kc_ctokens_t *t, size_t from, size_t to, size_t *starts,
                   size_t *ends, int most)
{
    int n = 0;
    size_t start = from;
    if (from >= to)
        return 0;
    for (size_t i = from; i <= to; i++) {
        const kc_ctoken_t *k = &t->items[i];
        if (i < to
            && (kc_ctoken_is (k, "(") || kc_ctoken_is (k, "[")
                || kc_ctoken_is (k, "{"))) {
            size_t end = kc_ctokens_match (t, i);
            if (end >= to)
                return -1;
            i = end;
        }
        else if (i == to || kc_ctoken_is (k, ",")) {
            if (n == most)
                return -1;
            starts[n] = start;
            ends[n++] = i;
            start = i + 1;
        }
    }
    return n;
}

static bool s_is (const kc_host_t *h, size_t i, const char *text)
{
    return i < h->t->n && kc_ctoken_is (&h->t->items[i], text);
}

static bool s_word (const kc_host_t *h, size_t i)
{
    return i < h->t->n && h->t->items[i].kind == KC_CT_WORD;
}

// Tokens [from, to) are a type's name: unsigned int, const size_t, float.
static bool s_type (const kc_host_t *h, size_t from, size_t to)
{
    kc_buf_t b = {0};
    for (size_t i = from; i < to; i++)
        if (!s_is (h, i, "const") && !s_is (h, i, "std") && !s_is (h, i, "::"))
            kc_buf_printf (&b, "%s%.*s", b.size ? " " : "", (int)h->t->items[i].size,
                           h->t->items[i].at);
    kc_ctype_t base;
    int lanes;
    bool yes = b.size
               && (kc_ctype_parse (kc_buf_str (&b), &base, &lanes) == 0
                   || !strcmp (kc_buf_str (&b), "scalar_t"));
    kc_buf_free (&b);
    return yes;
}

typedef struct s_put {
    kc_host_t *h;
    kc_buf_t b;
    size_t to;
} s_put_t;

static int s_expression (s_put_t *s, size_t from, size_t to);

// A call's arguments [from, to) as "name(a, b)".
static int s_call (s_put_t *s, const char *name, size_t from, size_t to)
{
    size_t starts[8], ends[8];
    int n = kc_host_split (s->h->t, from, to, starts, ends, 8);
    if (n < 0)
        return -1;
    kc_buf_printf (&s->b, "%s(", name);
    for (int i = 0; i < n; i++) {
        if (i)
            kc_buf_puts (&s->b, ", ");
        if (s_expression (s, starts[i], ends[i]) < 0)
            return -1;
    }
    kc_buf_puts (&s->b, ")");
    return 0;
}

// ceil (a / (float) b) is cdiv (a, b).
static int s_ceil (s_put_t *s, size_t from, size_t to)
{
    size_t slash = 0;
    for (size_t i = from; i < to; i++) {
        if (s_is (s->h, i, "("))
            i = kc_ctokens_match (s->h->t, i);
        else if (s_is (s->h, i, "/"))
            slash = slash ? to : i;
        else if (s_is (s->h, i, "+") || s_is (s->h, i, "-"))
            slash = to;
    }
    if (slash == 0 || slash >= to)
        return -1;
    kc_buf_puts (&s->b, "cdiv(");
    if (s_expression (s, from, slash) < 0)
        return -1;
    kc_buf_puts (&s->b, ", ");
    if (s_expression (s, slash + 1, to) < 0)
        return -1;
    kc_buf_puts (&s->b, ")");
    return 0;
}

static void s_number (s_put_t *s, const kc_ctoken_t *t)
{
    bool hex = t->size > 2 && t->at[0] == '0' && (t->at[1] == 'x' || t->at[1] == 'X');
    size_t n = t->size;
    while (n > 1 && strchr (hex ? "uUlL" : "uUlLfF", t->at[n - 1]))
        n--;
    for (size_t i = 0; i < n; i++)
        if (t->at[i] != '\'')
            kc_buf_putc (&s->b, t->at[i]);
    if (t->at[n - 1] == '.')
        kc_buf_putc (&s->b, '0');
}

// x.size (0), x.numel (), x.dim (), x.sizes ()[1]; token 'i' is the tensor.  The token
// behind, or 0.
static size_t s_tensor (s_put_t *s, size_t i, int tensor)
{
    kc_host_t *h = s->h;
    if (!s_is (h, i + 1, ".") || !s_word (h, i + 2) || !s_is (h, i + 3, "("))
        return 0;
    size_t close = kc_ctokens_match (h->t, i + 3), index = i + 4;
    bool size = s_is (h, i + 2, "size"),
         sizes = s_is (h, i + 2, "sizes") && close == i + 4;
    if (close >= s->to)
        return 0;
    h->tensors[tensor].read = h->tensors[tensor].read; // a size is no read
    if (s_is (h, i + 2, "numel") && close == i + 4)
        kc_buf_printf (&s->b, "\x01%d\x02.numel", tensor);
    else if ((s_is (h, i + 2, "dim") || s_is (h, i + 2, "ndimension"))
             && close == i + 4)
        kc_buf_printf (&s->b, "\x01%d\x02.rank", tensor);
    else if (size || sizes) {
        if (sizes) {
            if (!s_is (h, close + 1, "["))
                return 0;
            index = close + 2;
            close = kc_ctokens_match (h->t, close + 1);
        }
        if (close != index + 1 || h->t->items[index].kind != KC_CT_NUMBER
            || h->t->items[index].size != 1)
            return 0;
        kc_buf_printf (&s->b, "\x01%d\x02.shape[%c]", tensor, *h->t->items[index].at);
    }
    else
        return 0;
    return close + 1;
}

static int s_name (s_put_t *s, size_t *i_p)
{
    static const char *const maps[][2] = {
        {"min", "min"},       {"max", "max"},      {"abs", "abs"},
        {"sqrtf", "sqrt"},    {"sqrt", "sqrt"},    {"rsqrtf", "1.0/sqrt"},
        {"expf", "exp"},      {"exp", "exp"},      {"logf", "log"},
        {"log", "log"},       {"cdiv", "cdiv"},    {"ceil_div", "cdiv"},
        {"CEIL_DIV", "cdiv"}, {"div_up", "cdiv"},  {"DIV_UP", "cdiv"},
        {"divUp", "cdiv"},    {"DIVUP", "cdiv"},   {"ceilDiv", "cdiv"},
        {"CeilDiv", "cdiv"},  {"ceildiv", "cdiv"}, {"fmaxf", "max"},
        {"fminf", "min"},     {"divup", "cdiv"},
    };
    kc_host_t *h = s->h;
    size_t i = *i_p;
    if (s_is (h, i, "std") && s_is (h, i + 1, "::"))
        i += 2;
    if (s_is (h, i, "static_cast")
        && s_is (h, i + 1, "<")) { // a cast between numbers changes no size
        *i_p = kc_ctokens_match (h->t, i + 1) + 1;
        return 0;
    }
    bool call = s_is (h, i + 1, "(");
    size_t close = call ? kc_ctokens_match (h->t, i + 1) : 0;
    if (call && close >= s->to)
        return -1;
    if (s_is (h, i, "sizeof") && call) {
        char *type = kc_ctokens_text (h->t, i + 2, close);
        kc_ctype_t base;
        int lanes;
        int rc = !strcmp (type, "scalar_t") ? (base = KC_C_F32, lanes = 1, 0)
                                            : kc_ctype_parse (type, &base, &lanes);
        if (rc == 0)
            kc_buf_printf (&s->b, "%zu", kc_ctype_size (base) * (size_t)lanes);
        free (type);
        *i_p = close + 1;
        return rc;
    }
    if (call && (s_is (h, i, "ceil") || s_is (h, i, "ceilf"))) {
        *i_p = close + 1;
        return s_ceil (s, i + 2, close);
    }
    if (call && s_type (h, i, i + 1)) { // int (x)
        *i_p = i + 1;
        return 0;
    }
    const kc_host_name_t *known = kc_host_get (h, &h->t->items[i]);
    if (known && known->kind == KC_HOST_TENSOR) {
        size_t next = s_tensor (s, i, known->tensor);
        *i_p = next;
        return next ? 0 : -1;
    }
    if (known && known->kind == KC_HOST_VALUE && !call) {
        bool plain = true;
        for (const char *p = known->text; *p; p++)
            plain =
                plain && (isalnum ((unsigned char)*p) || strchr ("_.[]\x01\x02", *p));
        kc_buf_printf (&s->b, plain ? "%s" : "(%s)", known->text);
        *i_p = i + 1;
        return 0;
    }
    for (size_t k = 0; call && k < KC_COUNT (maps); k++)
        if (s_is (h, i, maps[k][0])) {
            *i_p = close + 1;
            return s_call (s, maps[k][1], i + 2, close);
        }
    if (s_is (h, i, "true") || s_is (h, i, "false")) {
        kc_buf_put (&s->b, h->t->items[i].at, h->t->items[i].size);
        *i_p = i + 1;
        return 0;
    }
    return -1;
}

static int s_expression (s_put_t *s, size_t from, size_t to)
{
    kc_host_t *h = s->h;
    size_t outer = s->to;
    s->to = to;
    int rc = from < to ? 0 : -1;
    for (size_t i = from; i < to && rc == 0;) {
        const kc_ctoken_t *k = &h->t->items[i];
        if (k->kind == KC_CT_NUMBER) {
            s_number (s, k);
            i++;
        }
        else if (k->kind == KC_CT_WORD)
            rc = s_name (s, &i);
        else if (kc_ctoken_is (k, "(")) {
            size_t close = kc_ctokens_match (h->t, i);
            if (close >= to)
                rc = -1;
            else if (s_type (h, i + 1, close)) // (int) x
                i = close + 1;
            else {
                kc_buf_putc (&s->b, '(');
                rc = s_expression (s, i + 1, close);
                kc_buf_putc (&s->b, ')');
                i = close + 1;
            }
        }
        else if (k->kind == KC_CT_PUNCT && strchr ("+-*/%<>=!&|?:", *k->at)
                 && k->size == 1) {
            bool joined = i > from && h->t->items[i - 1].kind == KC_CT_PUNCT
                          && h->t->items[i - 1].at + 1 == k->at;
            bool pairs = i + 1 < to && h->t->items[i + 1].at == k->at + 1
                         && h->t->items[i + 1].kind == KC_CT_PUNCT;
            if ((*k->at == '&' || *k->at == '|' || *k->at == '=') && !joined && !pairs)
                rc = -1; // bit operations, assignments, addresses
            kc_buf_printf (
                &s->b,
                joined || (i > from && strchr ("!-", *k->at) && pairs) ? "%c" : " %c",
                *k->at);
            if (!pairs && *k->at != '!')
                kc_buf_putc (&s->b, ' ');
            i++;
        }
        else
            rc = -1;
    }
    s->to = outer;
    return rc;
}

char *kc_host_expr (kc_host_t *h, size_t from, size_t to)
{
    const kc_host_name_t *one =
        to == from + 1 && s_word (h, from) ? kc_host_get (h, &h->t->items[from]) : NULL;
    if (one && one->kind == KC_HOST_VALUE)
        return kc_strdup (one->text);
    s_put_t s = {.h = h};
    if (s_expression (&s, from, to) < 0) {
        // say which name was not understood, when there is one
        for (size_t i = from; i < to; i++) {
            const kc_host_name_t *known =
                s_word (h, i) ? kc_host_get (h, &h->t->items[i]) : NULL;
            if (known && known->kind == KC_HOST_UNKNOWN && h->err && !*h->err->text)
                kc_fail (h->err, KC_EUNSUPPORTED,
                         "not understood: '%.200s', which %s comes from", known->text,
                         known->name);
        }
        kc_buf_free (&s.b);
        if (!h->err || !*h->err->text)
            kc_host_refuse (h, from, to, NULL);
        return NULL;
    }
    char *raw = kc_buf_take (&s.b);
    char *text = raw;
    while (*text == ' ')
        text++;
    char *out = kc_strdup (text);
    size_t n = strlen (out);
    while (n > 0 && out[n - 1] == ' ')
        out[--n] = 0;
    free (raw);
    return out;
}

int kc_host_pointer (kc_host_t *h, size_t from, size_t to, char **offset_p)
{
    *offset_p = NULL;
    // casts around: reinterpret_cast<T *>(p), (T *) p
    for (;;) {
        size_t close = s_is (h, from, "(") ? kc_ctokens_match (h->t, from) : to;
        if (s_is (h, from, "reinterpret_cast") || s_is (h, from, "static_cast")
            || s_is (h, from, "const_cast")) {
            size_t end = kc_ctokens_match (h->t, from + 1);
            from = end + 1;
        }
        else if (close < to && s_is (h, close - 1, "*"))
            from = close + 1;
        else if (close + 1 == to) {
            from++;
            to--;
        }
        else
            break;
    }
    const kc_host_name_t *known =
        s_word (h, from) ? kc_host_get (h, &h->t->items[from]) : NULL;
    if (!known || known->kind != KC_HOST_TENSOR)
        return kc_host_refuse (h, from, to,
                               known && known->kind == KC_HOST_UNKNOWN
                                   ? known->text
                                   : "no tensor is meant");
    size_t i = from + 1;
    if (s_is (h, i, ".") && s_word (h, i + 1)) { // x.data_ptr<float> ()
        i += 2;
        if (s_is (h, i, "<"))
            i = kc_ctokens_match (h->t, i) + 1;
        if (!s_is (h, i, "("))
            return kc_host_refuse (h, from, to, NULL);
        i = kc_ctokens_match (h->t, i) + 1;
    }
    if (i < to) {
        if (!s_is (h, i, "+"))
            return kc_host_refuse (h, from, to, NULL);
        *offset_p = kc_host_expr (h, i + 1, to);
        if (!*offset_p)
            return -1;
    }
    return known->tensor;
}
