/* kc_cli.h - what all commands of kclaw share: options, one connection, output rules, exit codes
 *
 * stdout is the result, stderr is talk.  With --json stdout is one JSON object per line: the reply of
 * the service as its schema describes it.  A command returns the exit status of the program.
 */
#ifndef KC_CLI_H
#define KC_CLI_H

#include <stdbool.h>
#include <stdint.h>

#include "common/msg/kc_codec.h"
#include "common/net/kc_node.h"
#include "common/util/kc_opt.h"

typedef struct kc_cli {
    kc_opts_t *opts;
    bool json, quiet;
    bool tty;       // stdout is a terminal
    int64_t ttl_ms; // of one request
    kc_loop_t *loop;
    kc_node_t *node; // made at the first call
} kc_cli_t;

typedef int (kc_cmd_f) (kc_cli_t *cli, kc_err_t *err);

typedef struct kc_cmd {
    const char *name;
    const char *usage; // "kclaw submit FILE [options]"
    const char *about; // one sentence
    const kc_opt_t *options;
    kc_cmd_f *run; // exit status, or -1 with err
} kc_cmd_t;

// Rows of every command's option table; ends the table.
#define KC_OPT_CLI                                                                     \
    {"json", 0, KC_OPT_FLAG, NULL, NULL, 0, 0, NULL, "print JSON, one object per line"}, \
        {"quiet", 'q', KC_OPT_FLAG, NULL, NULL, 0, 0, NULL, "print only what was asked for"}, \
        {"run", 0, KC_OPT_STRING, "KC_RUN", NULL, 0, 0, "DIR", "run directory of the fleet"}, \
        {"timeout", 0, KC_OPT_INT, "KC_TIMEOUT", "30", 1, 86400, "S", "seconds to wait for an answer"}, \
        {"help", 'h', KC_OPT_FLAG, NULL, NULL, 0, 0, NULL, "print this help"},         \
    {                                                                                  \
        0                                                                              \
    }

extern const kc_cmd_t kc_cmd_submit, kc_cmd_watch, kc_cmd_list, kc_cmd_status, kc_cmd_result, kc_cmd_cancel,
    kc_cmd_memory, kc_cmd_doctor;

// Call an operation: encode 'request' of the type, wait, decode the reply.  NULL with err.
void *kc_cli_call (kc_cli_t *cli, const char *op, const kc_type_t *type, const void *request,
                   const kc_type_t *reply_type, kc_err_t *err);
// The same with a binary chunk on both sides; '*chunk_p' (may be NULL) gets a copy, caller frees.
void *kc_cli_call_chunk (kc_cli_t *cli, const char *op, const kc_type_t *type, const void *request,
                         const void *chunk, size_t chunk_size, const kc_type_t *reply_type, void **chunk_p,
                         size_t *chunk_size_p, kc_err_t *err);
int kc_cli_connect (kc_cli_t *cli, kc_err_t *err); // done by the calls as needed
void kc_cli_json (const kc_type_t *type, const void *object); // one line on stdout
// The only positional argument, or NULL with KC_EUSAGE.
const char *kc_cli_one (kc_cli_t *cli, const char *what, kc_err_t *err);
// Follow a task's events from number 'after' until it has ended, printing each; its row at the end (caller
// frees), NULL with err.  Ctrl-C ends the program with 130 and says how to look again.
struct kc_memory_task_row;
int kc_cli_follow (kc_cli_t *cli, const char *task, int64_t after, kc_err_t *err);

#endif // KC_CLI_H
