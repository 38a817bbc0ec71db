// kc-coder - writes programs: first ones and changed ones

#include <stdlib.h>
#include <string.h>

#include "agents/coder/kc_turn.h"
#include "common/net/kc_daemon.h"

static const char *const s_ops[] = {"coder.seed", "coder.optimise", NULL};

static const kc_opt_t s_options[] = {KC_OPT_DAEMON, {0}};

// Answer with 'object' (freed here) or with the error that left it NULL.
static void s_answer (kc_node_t *node, const char *id, const kc_type_t *type, void *object, kc_err_t *err)
{
    size_t size = 0;
    kc_errs_t errs = {0};
    char *payload = object ? kc_type_encode (type, object, &size, &errs) : NULL;
    kc_type_free (type, object);
    if (object && !payload)
        kc_errs_fail (&errs, err);
    if (!payload || kc_node_reply (node, id, payload, size, NULL, 0, err) < 0)
        kc_node_error (node, id, err, 0);
    free (payload);
}

static void s_request (void *arg, kc_node_t *node, const kc_request_t *request)
{
    (void)arg;
    kc_err_t err = {0};
    kc_errs_t errs = {0};
    bool seed = !strcmp (request->op, "coder.seed");
    const kc_type_t *type = seed ? &kc_coder_seed_type : &kc_coder_optimise_type;
    void *in = kc_type_decode (type, request->payload, request->payload_size, KC_WIRE, &errs);
    if (!in) {
        kc_errs_fail (&errs, &err);
        kc_node_error (node, request->id, &err, 0);
        return;
    }
    if (seed)
        s_answer (node, request->id, &kc_coder_seed_reply_type, kc_turn_seed (in, &err), &err);
    else
        s_answer (node, request->id, &kc_coder_optimise_reply_type, kc_turn_optimise (in, &err), &err);
    kc_type_free (type, in);
}

int main (int argc, char **argv)
{
    kc_daemon_spec_t spec = {
        .program = "kc-coder",
        .role = "coder",
        .about = "Writes kernel programs.  For cuda tasks the given kernel is the first program; its tunables and the\n"
                 "compile switches are what the methods of the memory service turn.",
        .options = s_options,
        .ops = s_ops,
        .slots = 16,
        .on_request = s_request,
    };
    return kc_daemon_main (&spec, argc, argv);
}
