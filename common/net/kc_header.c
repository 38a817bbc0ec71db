// kc_header.c - see kc_header.h

#include "common/net/kc_header.h"

#include <stdlib.h>
#include <string.h>

#include "common/util/kc_mem.h"

enum { DEPTH = 32, TEXT_CUT = 400 };

typedef struct s_rule { // one known key
    const char *name;
    int64_t min, max; // characters of a string, value of a number
} s_rule_t;

static const s_rule_t s_rules[KC_H_COUNT] = {
    [KC_H_ID] = {"id", 1, KC_HEADER_WORD},
    [KC_H_OP] = {"op", 1, KC_HEADER_WORD},
    [KC_H_FLOW] = {"flow", 0, KC_HEADER_WORD},
    [KC_H_SUM] = {"sum", 16, 16},
    [KC_H_CODE] = {"code", 1, KC_HEADER_WORD},
    [KC_H_TEXT] = {"text", 0, KC_HEADER_TEXT},
    [KC_H_SESSION] = {"session", 1, KC_HEADER_WORD},
    [KC_H_BOOT] = {"boot", 1, KC_HEADER_WORD},
    [KC_H_BUILD] = {"build", 0, 64},
    [KC_H_TTL_MS] = {"ttl_ms", 0, 86400000},
    [KC_H_RETRY_AFTER_MS] = {"retry_after_ms", 0, 3600000},
    [KC_H_BEAT_MS] = {"beat_ms", 10, 60000},
    [KC_H_DEAD_MS] = {"dead_ms", 20, 600000},
    [KC_H_MAX_PAYLOAD] = {"max_payload", 1024, 1048576},
    [KC_H_DRAINING] = {"draining", 0, 1},
    [KC_H_NEED] = {"need", 0, 0},
};

#define B(key) (1u << KC_H_##key)

typedef struct s_verb_rule {
    unsigned keys, required;
} s_verb_rule_t;

static const s_verb_rule_t s_verbs[KC_VERB_COUNT] = {
    [KC_VERB_REQUEST] = {B (ID) | B (OP) | B (FLOW) | B (TTL_MS) | B (SUM) | B (NEED),
                         B (ID) | B (OP) | B (TTL_MS) | B (SUM)},
    [KC_VERB_REPLY] = {B (ID), B (ID)},
    [KC_VERB_CANCEL] = {B (ID), B (ID)},
    [KC_VERB_ERROR] = {B (ID) | B (CODE) | B (TEXT) | B (RETRY_AFTER_MS),
                       B (CODE) | B (TEXT)},
    [KC_VERB_WELCOME] = {B (SESSION) | B (BOOT) | B (BUILD) | B (BEAT_MS) | B (DEAD_MS)
                             | B (MAX_PAYLOAD),
                         B (SESSION) | B (BOOT) | B (BEAT_MS) | B (DEAD_MS)},
    [KC_VERB_REJECT] = {B (CODE) | B (TEXT), B (CODE) | B (TEXT)},
    [KC_VERB_PONG] = {B (DRAINING), 0},
};

#undef B

typedef struct s_in {
    const char *at, *end;
} s_in_t;

static void s_space (s_in_t *in)
{
    while (in->at < in->end
           && (*in->at == ' ' || *in->at == '\t' || *in->at == '\n' || *in->at == '\r'))
        in->at++;
}

static bool s_char (s_in_t *in, char c)
{
    s_space (in);
    if (in->at >= in->end || *in->at != c)
        return false;
    in->at++;
    return true;
}

static bool s_hex4 (s_in_t *in, unsigned *out)
{
    if (in->end - in->at < 4)
        return false;
    unsigned v = 0;
    for (int i = 0; i < 4; i++) {
        char c = *in->at++;
        unsigned digit;
        if (c >= '0' && c <= '9')
            digit = (unsigned)(c - '0');
        else if (c >= 'a' && c <= 'f')
            digit = (unsigned)(c - 'a' + 10);
        else if (c >= 'A' && c <= 'F')
            digit = (unsigned)(c - 'A' + 10);
        else
            return false;
        v = v << 4 | digit;
    }
    *out = v;
    return true;
}

static size_t s_utf8 (char *out, unsigned c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 63));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 63));
        out[2] = (char)(0x80 | (c & 63));
        return 3;
    }
    out[0] = (char)(0xf0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 63));
    out[2] = (char)(0x80 | (c >> 6 & 63));
    out[3] = (char)(0x80 | (c & 63));
    return 4;
}

// Bytes of the UTF-8 sequence at the reading point, 0 when it is not valid.
static size_t s_sequence (const s_in_t *in)
{
    const unsigned char *p = (const unsigned char *)in->at;
    size_t left = (size_t)(in->end - in->at);
    size_t n = p[0] >= 0xc2 && p[0] < 0xe0   ? 2
               : p[0] >= 0xe0 && p[0] < 0xf0 ? 3
               : p[0] >= 0xf0 && p[0] < 0xf5 ? 4
                                             : 0;
    if (n == 0 || left < n)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    bool bad = (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f)
               || (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f);
    return bad ? 0 : n;
}

// The escape after a backslash as one character; false when it is none that JSON knows.
static bool s_escape (s_in_t *in, unsigned *out)
{
    if (in->at >= in->end)
        return false;
    char c = *in->at++;
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *known = c ? strchr (from, c) : NULL;
    if (known) {
        *out = (unsigned char)to[known - from];
        return true;
    }
    unsigned low;
    if (c != 'u' || !s_hex4 (in, out) || *out == 0 || (*out >= 0xdc00 && *out < 0xe000))
        return false;
    if (*out < 0xd800 || *out >= 0xdc00)
        return true;
    if (in->end - in->at < 6 || in->at[0] != '\\' || in->at[1] != 'u')
        return false;
    in->at += 2;
    if (!s_hex4 (in, &low) || low < 0xdc00 || low >= 0xe000)
        return false;
    *out = 0x10000 + ((*out - 0xd800) << 10) + (low - 0xdc00);
    return true;
}

// A string, decoded to 'out' (NULL = skip; else it has room for as many bytes as the
// input) and closed with a zero; the number of its characters, or -1.
static int64_t s_string (s_in_t *in, char *out, size_t *size)
{
    if (!s_char (in, '"'))
        return -1;
    int64_t n = 0;
    size_t used = 0;
    for (; in->at < in->end; n++) {
        unsigned char c = (unsigned char)*in->at;
        if (c == '"') {
            in->at++;
            if (out)
                out[used] = 0;
            *size = used;
            return n;
        }
        if (c < 0x20)
            return -1;
        if (c == '\\') {
            unsigned code;
            char bytes[4];
            in->at++;
            if (!s_escape (in, &code))
                return -1;
            size_t k = s_utf8 (bytes, code);
            if (out)
                memcpy (out + used, bytes, k);
            used += k;
            continue;
        }
        size_t k = c < 0x80 ? 1 : s_sequence (in);
        if (k == 0)
            return -1;
        if (out)
            memcpy (out + used, in->at, k);
        used += k;
        in->at += k;
    }
    return -1;
}

static bool s_digits (s_in_t *in)
{
    const char *from = in->at;
    while (in->at < in->end && *in->at >= '0' && *in->at <= '9')
        in->at++;
    return in->at > from;
}

// A number; 'whole' tells whether it is an integer that fits, and 'out' which.
static bool s_number (s_in_t *in, bool *whole, int64_t *out)
{
    s_space (in);
    const char *from = in->at;
    bool plain = true;
    if (in->at < in->end && *in->at == '-')
        in->at++;
    const char *first = in->at;
    if (!s_digits (in) || (*first == '0' && in->at - first > 1))
        return false;
    if (in->at < in->end && *in->at == '.') {
        plain = false;
        in->at++;
        if (!s_digits (in))
            return false;
    }
    if (in->at < in->end && (*in->at == 'e' || *in->at == 'E')) {
        plain = false;
        in->at++;
        if (in->at < in->end && (*in->at == '+' || *in->at == '-'))
            in->at++;
        if (!s_digits (in))
            return false;
    }
    char text[KC_WIRE_HEADER_MAX + 1];
    size_t n = (size_t)(in->at - from); // the header is no longer than that
    *out = 0;
    memcpy (text, from, n);
    text[n] = 0;
    if (plain) {
        *whole = in->at - first <= 18; // larger ones are outside every rule here
        *out = *whole ? strtoll (text, NULL, 10) : 0;
        return true;
    }
    double d = strtod (text, NULL);
    *whole =
        d > -1e15 && d < 1e15 && !((double)(int64_t)d < d) && !((double)(int64_t)d > d);
    *out = *whole ? (int64_t)d : 0;
    return true;
}

static bool s_literal (s_in_t *in, const char *word)
{
    size_t n = strlen (word);
    if ((size_t)(in->end - in->at) < n || memcmp (in->at, word, n) != 0)
        return false;
    in->at += n;
    return true;
}

static bool s_scalar (s_in_t *in)
{
    int64_t number;
    bool whole;
    size_t size;
    switch (*in->at) {
    case '"':
        return s_string (in, NULL, &size) >= 0;
    case 't':
        return s_literal (in, "true");
    case 'f':
        return s_literal (in, "false");
    case 'n':
        return s_literal (in, "null");
    }
    return s_number (in, &whole, &number);
}

static bool s_key (s_in_t *in)
{
    size_t size;
    return s_string (in, NULL, &size) >= 0 && s_char (in, ':');
}

// Step over any value without recursion.
static bool s_skip (s_in_t *in)
{
    char open[DEPTH];
    int depth = 0;
    for (;;) { // a value starts here
        s_space (in);
        if (in->at >= in->end)
            return false;
        if (*in->at == '{' || *in->at == '[') {
            if (depth == DEPTH - 1) // the header itself is one level
                return false;
            open[depth] = *in->at++;
            bool object = open[depth] == '{';
            depth++;
            if (!s_char (in, object ? '}' : ']')) {
                if (object && !s_key (in))
                    return false;
                continue;
            }
            depth--;
        }
        else if (!s_scalar (in))
            return false;
        for (;;) { // a value ended here
            if (depth == 0)
                return true;
            bool object = open[depth - 1] == '{';
            if (s_char (in, ',')) {
                if (object && !s_key (in))
                    return false;
                break;
            }
            if (!s_char (in, object ? '}' : ']'))
                return false;
            depth--;
        }
    }
}

static bool s_value (kc_header_t *self, s_in_t *in, int key, size_t *used)
{
    const s_rule_t *rule = &s_rules[key];
    if (key <= KC_H_BUILD) {
        size_t size;
        char *at = self->store + *used;
        int64_t n = s_string (in, at, &size);
        if (n < rule->min || n > rule->max)
            return false;
        self->word[key] = at;
        *used += size + 1;
        return true;
    }
    if (key == KC_H_NEED) {
        s_space (in);
        self->need = in->at;
        bool list = in->at < in->end && *in->at == '[';
        if (!list || !s_skip (in))
            return false;
        self->need_size = (size_t)(in->at - self->need);
        return true;
    }
    if (key == KC_H_DRAINING) {
        s_space (in);
        self->number[key] = s_literal (in, "true");
        return self->number[key] || s_literal (in, "false");
    }
    bool whole;
    return s_number (in, &whole, &self->number[key]) && whole
           && self->number[key] >= rule->min && self->number[key] <= rule->max;
}

static int s_find (unsigned keys, const char *name)
{
    for (int i = 0; i < KC_H_COUNT; i++)
        if ((keys >> i & 1u) && strcmp (s_rules[i].name, name) == 0)
            return i;
    return -1;
}

int kc_header_read (kc_header_t *self, kc_verb_t verb, const char *data, size_t size,
                    kc_err_t *err)
{
    _Static_assert(sizeof self->store >= KC_WIRE_HEADER_MAX + KC_H_COUNT,
                   "all strings fit");
    for (int i = 0; i <= KC_H_BUILD; i++)
        self->word[i] = "";
    memset (self->number, 0, sizeof self->number);
    self->need = NULL;
    self->need_size = 0;
    self->has = 0;
    if (size > KC_WIRE_HEADER_MAX)
        return kc_fail (err, KC_EINVALID,
                        "header of %s: %zu bytes, at most %d are allowed",
                        kc_verb_name (verb), size, KC_WIRE_HEADER_MAX);
    s_in_t in = {data, data + size};
    size_t used = 0;
    bool good = s_char (&in, '{');
    bool more = good && !s_char (&in, '}'); // else it is empty and closed
    while (good && more) {
        char name[KC_WIRE_HEADER_MAX + 1];
        size_t n;
        good = s_string (&in, name, &n) >= 0 && s_char (&in, ':');
        int key = good ? s_find (s_verbs[verb].keys, name) : -1;
        if (key >= 0) {
            if ((self->has >> key & 1u) || !s_value (self, &in, key, &used))
                return kc_fail (
                    err, KC_EINVALID,
                    "header of %s: key %s is wrong or comes twice (byte %zu)",
                    kc_verb_name (verb), name, (size_t)(in.at - data));
            self->has |= 1u << key;
        }
        else if (good)
            good = s_skip (&in);
        more = good && s_char (&in, ',');
        if (good && !more)
            good = s_char (&in, '}');
    }
    s_space (&in);
    if (!good || in.at != in.end)
        return kc_fail (err, KC_EINVALID, "header of %s: not a JSON object (byte %zu)",
                        kc_verb_name (verb), (size_t)(in.at - data));
    unsigned missing = s_verbs[verb].required & ~self->has;
    for (int i = 0; missing && i < KC_H_COUNT; i++)
        if (missing >> i & 1u)
            return kc_fail (err, KC_EINVALID, "header of %s: key %s is missing",
                            kc_verb_name (verb), s_rules[i].name);
    return 0;
}

// ---- writing ----

static void s_put (kc_buf_t *out, const char *key, const char *value)
{
    kc_buf_printf (out, "\"%s\":\"", key);
    kc_buf_json (out, value, strlen (value));
    kc_buf_putc (out, '"');
}

void kc_header_request (kc_buf_t *out, const char *id, const char *op, const char *flow,
                        int64_t ttl_ms, const char *sum, const char *need)
{
    kc_buf_putc (out, '{');
    if (flow && flow[0]) {
        s_put (out, "flow", flow);
        kc_buf_putc (out, ',');
    }
    s_put (out, "id", id);
    if (need)
        kc_buf_printf (out, ",\"need\":%s", need);
    kc_buf_putc (out, ',');
    s_put (out, "op", op);
    kc_buf_putc (out, ',');
    s_put (out, "sum", sum);
    kc_buf_printf (out, ",\"ttl_ms\":%lld}", (long long)ttl_ms);
}

void kc_header_id (kc_buf_t *out, const char *id)
{
    kc_buf_putc (out, '{');
    s_put (out, "id", id);
    kc_buf_putc (out, '}');
}

void kc_header_error (kc_buf_t *out, const char *id, kc_code_t code, const char *text,
                      int64_t retry_after_ms)
{
    size_t cut = strlen (text), start = out->size;
    if (cut > KC_HEADER_TEXT)
        cut = KC_HEADER_TEXT;
    for (;; cut = cut > TEXT_CUT
                      ? TEXT_CUT
                      : cut / 2) { // escapes may make it longer than it looks
        kc_buf_putc (out, '{');
        s_put (out, "code", kc_code_name (code));
        if (id) {
            kc_buf_putc (out, ',');
            s_put (out, "id", id);
        }
        if (retry_after_ms > 0)
            kc_buf_printf (
                out, ",\"retry_after_ms\":%lld",
                (long long)(retry_after_ms > 3600000 ? 3600000 : retry_after_ms));
        kc_buf_puts (out, ",\"text\":\"");
        kc_buf_json (out, text, cut);
        kc_buf_puts (out, "\"}");
        if (out->size - start <= KC_WIRE_HEADER_MAX || cut == 0)
            return;
        out->size = start;
        out->data[start] = 0;
    }
}
