// kc_lift.c - see kc_lift.h; what is device code, which function launches, which
// tensors are the task's
//
// The statements of the launcher are read in kc_lift_host.c, expressions in
// kc_lift_expr.c.

#include "common/model/kc_lift.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/model/kc_lift_host.h"
#include "common/model/kc_program_text.h"
#include "common/util/kc_mem.h"

typedef struct s_lift {
    const char *text;
    size_t size;
    kc_ctokens_t t;
    kc_buf_t device;  // kept text, host text replaced by its newlines
    const char *kept; // up to here
    size_t n_launchers;
    size_t head, body; // of the launcher: first token, its {
    kc_host_t host;
} s_lift_t;

static bool s_is (const s_lift_t *s, size_t i, const char *text)
{
    return i < s->t.n && kc_ctoken_is (&s->t.items[i], text);
}

// ---- device code ----

// Copy the text before 'from' and drop [from, to) but its newlines.
static void s_drop (s_lift_t *s, const char *from, const char *to)
{
    kc_buf_put (&s->device, s->kept, (size_t)(from - s->kept));
    for (const char *p = from; p < to; p++)
        if (*p == '\n')
            kc_buf_putc (&s->device, '\n');
    s->kept = to;
}

static const char *s_end_of (const s_lift_t *s, size_t token)
{
    return token < s->t.n ? s->t.items[token].at + s->t.items[token].size
                          : s->text + s->size;
}

// The last token of the declaration that begins at 'from'; whether it has a body in
// braces at *body_p.
static size_t s_declaration (const s_lift_t *s, size_t from, size_t *body_p)
{
    *body_p = 0;
    bool parens = false;
    for (size_t i = from; i < s->t.n; i++) {
        if (s_is (s, i, "(") || s_is (s, i, "[")) {
            parens = parens || s_is (s, i, "(");
            i = kc_ctokens_match (&s->t, i);
        }
        else if (s_is (s, i, "{")) {
            size_t end = kc_ctokens_match (&s->t, i);
            if (parens) {
                *body_p = i;
                return s_is (s, end + 1, ";") ? end + 1 : end;
            }
            i = end;
        }
        else if (s_is (s, i, ";"))
            return i;
    }
    return s->t.n;
}

static bool s_has (const s_lift_t *s, size_t from, size_t to, const char *const *words)
{
    for (size_t i = from; i < to; i++)
        for (const char *const *w = words; *w; w++)
            if (s_is (s, i, *w))
                return true;
    return false;
}

static bool s_has_launch (const s_lift_t *s, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (kc_ctokens_triple (&s->t, i, '<'))
            return true;
    return false;
}

static void s_top_level (s_lift_t *s)
{
    static const char *const device[] = {"__global__", "__device__", "__constant__",
                                         NULL};
    static const char *const host[] = {
        "torch",    "at", "std", "cudaStream_t", "PYBIND11_MODULE", "TORCH_LIBRARY",
        "pybind11", "py", NULL};
    for (size_t i = 0; i < s->t.n; i++) {
        const kc_ctoken_t *k = &s->t.items[i];
        if (k->kind == KC_CT_LINE) {
            if (strstr (k->at, "include") && strstr (k->at, "include") < k->at + 12)
                s_drop (s, k->at, k->at + k->size);
            continue;
        }
        if (s_is (s, i, "}") || s_is (s, i, ";"))
            continue;
        if (s_is (s, i, "namespace")
            || (s_is (s, i, "extern") && s->t.items[i + 1].kind == KC_CT_STRING
                && s_is (s, i + 2, "{"))) {
            while (i < s->t.n && !s_is (s, i, "{") && !s_is (s, i, ";"))
                i++;
            continue; // its content is read like the top level
        }
        size_t body, last = s_declaration (s, i, &body), head = body ? body : last;
        if (s_has (s, i, head, device)) {
            i = last;
            continue;
        }
        if (body && s_has_launch (s, body, last)) {
            s->n_launchers++;
            s->head = i;
            s->body = body;
        }
        bool constexpr_function = body && s_is (s, i, "constexpr");
        bool type = s_is (s, i, "struct") || s_is (s, i, "class") || s_is (s, i, "enum")
                    || s_is (s, i, "typedef") || s_is (s, i, "using")
                    || s_is (s, i, "template") || s_is (s, i, "constexpr")
                    || s_is (s, i, "const") || s_is (s, i, "static");
        if ((body && !constexpr_function && !(type && s_is (s, i, "template"))) || !type
            || s_has (s, i, last, host))
            s_drop (s, k->at, s_end_of (s, last));
        i = last;
    }
    kc_buf_put (&s->device, s->kept, (size_t)(s->text + s->size - s->kept));
}

// ---- names the launcher begins with ----

// #define N 32, constexpr int N = 32; of the whole text.
static void s_constants (s_lift_t *s)
{
    for (size_t i = 0; i < s->t.n; i++) {
        const kc_ctoken_t *k = &s->t.items[i];
        if (k->kind == KC_CT_LINE) {
            kc_ctokens_t line;
            kc_ctokens_read (&line, k->at + 1, k->size - 1);
            bool define = line.n > 2 && kc_ctoken_is (&line.items[0], "define")
                          && line.items[1].kind == KC_CT_WORD
                          && line.items[1].at + line.items[1].size
                                 != line.items[2].at; // no macro with parameters
            if (define) {
                const kc_ctokens_t *whole = s->host.t;
                kc_err_t quiet = {0}, *err = s->host.err;
                s->host.t = &line;
                s->host.err = &quiet;
                char *value = kc_host_expr (&s->host, 2, line.n),
                     *name = kc_ctoken_dup (&line.items[1]);
                s->host.t = whole;
                s->host.err = err;
                if (value)
                    kc_host_set (&s->host, name, KC_HOST_VALUE, value, -1);
                free (name);
            }
            kc_ctokens_free (&line);
        }
        else if ((s_is (s, i, "constexpr") || s_is (s, i, "const"))
                 && s_is (s, i + 3, "=") && s->t.items[i + 2].kind == KC_CT_WORD) {
            size_t end = i + 4;
            while (end < s->t.n && !s_is (s, end, ";"))
                end++;
            kc_err_t quiet = {0}, *err = s->host.err;
            s->host.err = &quiet;
            char *value = kc_host_expr (&s->host, i + 4, end),
                 *name = kc_ctoken_dup (&s->t.items[i + 2]);
            s->host.err = err;
            if (value)
                kc_host_set (&s->host, name, KC_HOST_VALUE, value, -1);
            free (name);
            i = end;
        }
        else if (s_is (s, i, "{") && !s_is (s, i - 1, "namespace"))
            i = kc_ctokens_match (&s->t, i);
    }
}

// The dims and the launcher's parameters.
static int s_parameters (s_lift_t *s)
{
    kc_host_t *h = &s->host;
    for (size_t i = 0; h->card && i < h->card->n_dims; i++)
        kc_host_set (h, h->card->dims[i].name, KC_HOST_VALUE,
                     kc_strdup (h->card->dims[i].name), -1);
    size_t open = s->head;
    while (open < s->body && !s_is (s, open, "("))
        open++;
    size_t starts[64], ends[64];
    int n = kc_host_split (&s->t, open + 1, kc_ctokens_match (&s->t, open), starts,
                           ends, 64);
    for (int i = 0; i < n; i++) {
        size_t name = ends[i], stars = 0;
        bool tensor = false, is_const = false;
        for (size_t k = starts[i]; k < ends[i] && !s_is (s, k, "="); k++) {
            tensor = tensor || s_is (s, k, "Tensor");
            is_const = is_const || s_is (s, k, "const");
            stars += s_is (s, k, "*");
            if (s->t.items[k].kind == KC_CT_WORD)
                name = k;
        }
        if (name == ends[i] || (name == starts[i] && s_is (s, name, "void")))
            continue;
        char *word = kc_ctoken_dup (&s->t.items[name]);
        if (tensor || stars == 1) {
            int t = kc_host_tensor (h, word);
            h->tensors[t].pointer = stars > 0;
            h->tensors[t].made_const = is_const;
            kc_host_set (h, word, KC_HOST_TENSOR, NULL, t);
        }
        else {
            char *value =
                kc_strdup (word); // a size of the task; its own spelling counts
            for (size_t d = 0; h->card && d < h->card->n_dims; d++)
                if (!strcasecmp (h->card->dims[d].name, word))
                    kc_set (&value, h->card->dims[d].name);
            kc_host_set (h, word, KC_HOST_VALUE, value, -1);
        }
        free (word);
    }
    return n < 0 ? kc_host_refuse (h, s->head, s->body, NULL) : 0;
}

// ---- tensors of the task ----

static bool s_is_output (const kc_card_tensor_t *t)
{
    return t->role == KC_CARD_TENSOR_ROLE_OUTPUT
           || t->role == KC_CARD_TENSOR_ROLE_INOUT;
}

// d_x, x_d, dev_x, x_ptr: the name without such marks.
static const char *s_bare (const char *name, char out[80])
{
    static const char *const heads[] = {"d_", "dev_", "device_", "p_"};
    size_t n = strlen (name);
    for (size_t i = 0; i < KC_COUNT (heads); i++)
        if (!strncmp (name, heads[i], strlen (heads[i])) && n > strlen (heads[i]))
            name += strlen (heads[i]);
    n = strlen (name);
    if (n > 2 && n < 80 && !strcmp (name + n - 2, "_d"))
        n -= 2;
    if (n >= 80)
        return name;
    memcpy (out, name, n);
    out[n] = 0;
    return out;
}

static int s_match_card (s_lift_t *s)
{
    kc_host_t *h = &s->host;
    const kc_card_t *card = h->card;
    bool *taken = kc_calloc (card->n_tensors + 1, sizeof *taken);
    for (int pass = 0; pass < 2; pass++) // equal names, then position
        for (size_t i = 0; i < h->n_tensors; i++) {
            kc_host_tensor_t *t = &h->tensors[i];
            bool result = t->returned || (t->written && !t->made_here),
                 outside = !t->made_here || t->returned;
            if (t->plan || !outside || (!t->read && !t->returned))
                continue;
            char bare[80];
            const char *name = s_bare (t->name, bare);
            for (size_t k = 0; k < card->n_tensors && !t->plan; k++) {
                const kc_card_tensor_t *c = &card->tensors[k];
                bool same = !strcasecmp (c->name, name) || !strcmp (c->name, t->name);
                if (!taken[k] && (pass ? s_is_output (c) == result : same)) {
                    t->plan = kc_strdup (c->name);
                    taken[k] = true;
                }
            }
            if (pass && !t->plan) {
                free (taken);
                return kc_fail (h->err, KC_EUNSUPPORTED,
                                "the launcher's tensor '%s' is none of the task's %s",
                                t->name, result ? "outputs" : "inputs");
            }
        }
    free (taken);
    return 0;
}

// Scratch buffers get their own names, apart from those of the task.
static int s_name_tensors (s_lift_t *s)
{
    kc_host_t *h = &s->host;
    if (h->card && s_match_card (s) < 0)
        return -1;
    for (size_t i = 0; i < h->n_tensors; i++) {
        kc_host_tensor_t *t = &h->tensors[i];
        if (t->plan)
            continue;
        bool clash = false;
        for (size_t k = 0; h->card && k < h->card->n_tensors; k++)
            clash = clash || !strcmp (h->card->tensors[k].name, t->name);
        t->plan = clash ? kc_asprintf ("%s_tmp", t->name) : kc_strdup (t->name);
    }
    return 0;
}

// ---- the plan ----

static void s_put_named (const kc_host_t *h, kc_buf_t *out, const char *text)
{
    for (const char *p = text; *p; p++) {
        if (*p != '\x01') {
            kc_buf_putc (out, *p);
            continue;
        }
        char *end;
        long index = strtol (p + 1, &end, 10);
        kc_buf_puts (out, h->tensors[index].plan);
        p = end;
    }
}

static int s_scratch (s_lift_t *s, kc_buf_t *out)
{
    kc_host_t *h = &s->host;
    for (size_t i = 0; i < h->n_tensors; i++) {
        const kc_host_tensor_t *t = &h->tensors[i];
        bool task = t->returned || !t->made_here;
        if (t->returned && t->made_here && t->zero
            && t->read) // an output that the launcher zeroes
            kc_buf_printf (out, "//@ fill dst=%s value=0\n", t->plan);
        if (task || !t->read)
            continue;
        if (!t->shape && t->like < 0)
            return kc_fail (h->err, KC_EUNSUPPORTED,
                            "the size of the buffer '%s' is not known", t->name);
        kc_buf_printf (out, "//@ scratch %s ", t->plan);
        if (t->like >= 0)
            kc_buf_printf (out, "like %s", h->tensors[t->like].plan);
        else {
            kc_buf_printf (out, "%s[", t->dtype ? t->dtype : "f32");
            s_put_named (h, out, t->shape);
            kc_buf_putc (out, ']');
        }
        kc_buf_puts (out, t->zero ? " = 0\n" : "\n");
    }
    return 0;
}

static void s_free (s_lift_t *s)
{
    kc_host_t *h = &s->host;
    for (size_t i = 0; i < h->n_names; i++) {
        free (h->names[i].name);
        free (h->names[i].text);
    }
    free (h->names);
    for (size_t i = 0; i < h->n_tensors; i++) {
        free (h->tensors[i].name);
        free (h->tensors[i].plan);
        free (h->tensors[i].dtype);
        free (h->tensors[i].shape);
    }
    free (h->tensors);
    kc_buf_free (&h->steps);
    kc_buf_free (&s->device);
    kc_ctokens_free (&s->t);
}

static char *s_lift (s_lift_t *s, kc_signatures_t *signatures, kc_err_t *err)
{
    s->host = (kc_host_t){
        .t = &s->t, .signatures = signatures, .card = s->host.card, .err = err};
    s_top_level (s);
    if (s->n_launchers != 1) {
        kc_fail (err, KC_EUNSUPPORTED,
                 s->n_launchers ? "%zu host functions launch kernels, one is expected"
                                : "no host function launches a kernel (%zu found)",
                 s->n_launchers);
        return NULL;
    }
    s_constants (s);
    size_t end = kc_ctokens_match (&s->t, s->body);
    if (s_parameters (s) < 0 || kc_host_statements (&s->host, s->body + 1, end) < 0
        || s_name_tensors (s) < 0)
        return NULL;
    kc_buf_t out = {0};
    if (s_scratch (s, &out) < 0) {
        kc_buf_free (&out);
        return NULL;
    }
    s_put_named (&s->host, &out, kc_buf_str (&s->host.steps));
    kc_buf_put (&out, kc_buf_str (&s->device), s->device.size);
    return kc_buf_take (&out);
}

bool kc_lift_applies (const char *text, size_t size)
{
    char *copy = kc_strndup (text, size);
    bool launch = strstr (copy, "<<<") != NULL,
         plan = strstr (copy, "//@ launch") != NULL;
    bool kernel = strstr (copy, "__global__") != NULL;
    free (copy);
    return launch && kernel && !plan;
}

char *kc_lift (const char *text, size_t size, const kc_card_t *card, kc_err_t *err)
{
    kc_err_t own = {0};
    kc_err_t *e = err ? err : &own;
    kc_err_clear (e);
    if (size > KC_TEXT_MAX) {
        kc_fail (e, KC_EUNSUPPORTED, "the text has %zu bytes, at most %d are read",
                 size, KC_TEXT_MAX);
        return NULL;
    }
    char *copy = kc_strndup (text, size);
    s_lift_t s = {.text = copy, .size = strlen (copy), .kept = copy};
    s.host.card = card;
    kc_ctokens_read (&s.t, copy, s.size);
    kc_signatures_t *signatures = kc_signatures_read (copy, e);
    char *out = signatures ? s_lift (&s, signatures, e) : NULL;
    if (!out && !*e->text)
        kc_fail (e, KC_EUNSUPPORTED, "line %d: this launcher is not understood",
                 s.t.items[s.head < s.t.n ? s.head : 0].line);
    if (!out)
        e->code = KC_EUNSUPPORTED;
    kc_signatures_destroy (&signatures);
    s_free (&s);
    free (copy);
    return out;
}
