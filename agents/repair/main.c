// kc-repair - mends programs that failed

#include <stdlib.h>

#include "agents/repair/kc_rules.h"
#include "common/net/kc_daemon.h"

static const char *const s_ops[] = {"repair.fix", NULL};

static const kc_opt_t s_options[] = {KC_OPT_DAEMON, {0}};

static void s_request (void *arg, kc_node_t *node, const kc_request_t *request)
{
    (void)arg;
    kc_err_t err = {0};
    kc_errs_t errs = {0};
    size_t size = 0;
    char *payload = NULL;
    kc_repair_fix_t *in = kc_repair_fix_decode (request->payload, request->payload_size, KC_WIRE, &errs);
    if (in) {
        kc_repair_fix_reply_t *out = kc_rules_fix (in);
        payload = kc_type_encode (&kc_repair_fix_reply_type, out, &size, &errs);
        kc_repair_fix_reply_free (&out);
    }
    if (!payload)
        kc_errs_fail (&errs, &err);
    if (!payload || kc_node_reply (node, request->id, payload, size, NULL, 0, &err) < 0)
        kc_node_error (node, request->id, &err, 0);
    free (payload);
    kc_repair_fix_free (&in);
}

int main (int argc, char **argv)
{
    kc_daemon_spec_t spec = {
        .program = "kc-repair",
        .role = "repair",
        .about = "Mends programs that failed, by rules that are certain, and gives up what cannot be mended.",
        .options = s_options,
        .ops = s_ops,
        .slots = 16,
        .on_request = s_request,
    };
    return kc_daemon_main (&spec, argc, argv);
}
