// kc_broker_hello.c - what the shell reads with the general codec: HELLO and needs,
// both rare

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broker/kc_broker_own.h"
#include "common/msg/gen/kcp.h"
#include "common/util/kc_log.h"
#include "common/util/kc_mem.h"

enum { PROTO = 1 };

static void s_refuse (kc_broker_t *self, uint32_t peer, kc_code_t code,
                      const char *text, int64_t now)
{
    kc_log (KC_WARN, "hello.refused", "error", "s", text, NULL);
    kc_buf_t b = {0};
    kc_header_error (&b, NULL, code, text, 0);
    kc_wire_t wire;
    kc_wire_init (&wire, KC_VERB_REJECT, b.data, b.size, NULL, 0, NULL, 0);
    kc_buf_free (&b);
    kc_broker_send (self, peer, &wire, "", true);
    kc_core_gone (self->core, peer, "its HELLO was malformed", now);
}

static const char *s_facts (const kc_kcp_hello_t *hello, kc_facts_t *out)
{
    for (size_t i = 0; i < hello->n_caps; i++) {
        const kc_kcp_fact_t *f = &hello->caps[i];
        if ((f->text != NULL) == f->has_number)
            return f->key;
        kc_facts_add (out, f->key, f->text, f->number);
    }
    return NULL;
}

static void s_hello (kc_broker_t *self, uint32_t peer, const kc_kcp_hello_t *h,
                     int64_t now)
{
    char text[KC_ERR_TEXT];
    if (h->proto != PROTO) {
        (void)snprintf (
            text, sizeof text,
            "%s (build %.64s) speaks KCP/%lld, this broker (build %s) KCP/%d",
            h->instance, h->build ? h->build : "unknown", (long long)h->proto,
            KC_VERSION, PROTO);
        s_refuse (self, peer, KC_EPROTO, text, now);
        return;
    }
    kc_hello_t hello = {.instance = h->instance,
                        .boot = h->boot,
                        .build = h->build,
                        .role = kc_role_parse (kc_kcp_role_name (h->role)),
                        .pid = h->has_pid ? h->pid : 0,
                        .ops = (const char *const *)h->ops,
                        .n_ops = h->n_ops,
                        .slots = h->slots,
                        .holding = (const char *const *)h->holding,
                        .n_holding = h->n_holding};
    const char *bad = s_facts (h, &hello.caps);
    if (bad) {
        (void)snprintf (text, sizeof text,
                        "HELLO of %s: fact %s needs exactly one of text and number",
                        h->instance, bad);
        s_refuse (self, peer, KC_EINVALID, text, now);
    }
    else
        kc_core_hello (self->core, peer, &hello, now);
    kc_facts_free (&hello.caps);
}

void kc_broker_hello (kc_broker_t *self, uint32_t peer, const kc_wire_t *wire,
                      int64_t now)
{
    size_t size;
    const char *data = kc_wire_header (wire, &size);
    kc_errs_t errs = {0};
    kc_kcp_hello_t *h = kc_kcp_hello_decode (data, size, KC_WIRE, &errs);
    if (h) {
        s_hello (self, peer, h, now);
        kc_kcp_hello_free (&h);
        return;
    }
    kc_err_t err;
    (void)kc_errs_fail (&errs, &err);
    (void)kc_fail_in (&err, "HELLO");
    s_refuse (self, peer, KC_EINVALID, err.text, now);
}

// ---- needs ----

static void s_forget (kc_broker_t *self)
{
    size_t cursor = 0;
    const char *key;
    kc_need_t *need;
    while ((need = kc_map_next (self->needs, &cursor, &key))) {
        kc_need_free (need);
        free (need);
        kc_map_remove (self->needs, key);
    }
}

static int s_terms (const kc_kcp_request_t *request, kc_need_t *out, kc_err_t *err)
{
    for (size_t i = 0; i < request->n_need; i++) {
        const kc_kcp_term_t *t = &request->need[i];
        kc_term_op_t op = kc_term_op_parse (kc_kcp_term_op_name (t->op));
        if ((t->text != NULL) == t->has_number)
            return kc_fail (err, KC_EINVALID,
                            "need: term %s needs exactly one of text and number",
                            t->key);
        if ((op == KC_TERM_GE || op == KC_TERM_LE) && t->text)
            return kc_fail (err, KC_EINVALID,
                            "need: term %s compares sizes and needs a number", t->key);
        if (op == KC_TERM_PREFIX && !t->text)
            return kc_fail (err, KC_EINVALID,
                            "need: term %s compares a prefix and needs a text", t->key);
        kc_need_add (out, t->key, op, t->text, t->number);
    }
    return 0;
}

const kc_need_t *kc_broker_need (kc_broker_t *self, const char *key, const char *header,
                                 size_t size, kc_err_t *err)
{
    kc_need_t *need = kc_map_get (self->needs, key);
    if (need)
        return need;
    kc_errs_t errs = {0};
    kc_kcp_request_t *request = kc_kcp_request_decode (header, size, KC_WIRE, &errs);
    if (!request) {
        (void)kc_errs_fail (&errs, err);
        return NULL;
    }
    need = kc_calloc (1, sizeof *need);
    int rc = s_terms (request, need, err);
    kc_kcp_request_free (&request);
    if (rc < 0) {
        kc_need_free (need);
        free (need);
        return NULL;
    }
    if (kc_map_size (self->needs) >= KC_NEEDS_CACHED)
        s_forget (self);
    kc_map_put (self->needs, key, need);
    return need;
}
