// kclaw - a person's hands and eyes; speaks to nothing but the broker

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/kc_cli.h"
#include "common/util/kc_log.h"
#include "common/util/kc_mem.h"

static const kc_cmd_t *const s_commands[] = {&kc_cmd_submit, &kc_cmd_watch,  &kc_cmd_list,   &kc_cmd_status,
                                             &kc_cmd_result, &kc_cmd_cancel, &kc_cmd_memory, &kc_cmd_doctor};

static void s_help (FILE *out)
{
    fputs ("kclaw - makes CUDA kernels faster and proves it\n\n", out);
    for (size_t i = 0; i < KC_COUNT (s_commands); i++)
        fprintf (out, "  %-8s %s\n", s_commands[i]->name, s_commands[i]->about);
    fputs ("  version  Print the version.\n\n"
           "examples\n"
           "  kclaw submit deploy/examples/softmax.cu --wait\n"
           "  kclaw list --state running\n"
           "  kclaw result TASK -o faster.cu\n"
           "  kclaw result TASK --history --why\n"
           "  kclaw doctor\n\n"
           "kclaw COMMAND --help tells the options.  Exit status: ",
           out);
    for (int code = 0; code < KC_CODE_COUNT; code++)
        fprintf (out, "%s%d %s", code ? ", " : "", kc_code_exit ((kc_code_t)code), kc_code_name ((kc_code_t)code));
    fputs (".\n", out);
}

static const kc_cmd_t *s_find (const char *name)
{
    for (size_t i = 0; i < KC_COUNT (s_commands); i++)
        if (!strcmp (s_commands[i]->name, name))
            return s_commands[i];
    return NULL;
}

static int s_unknown (const char *name)
{
    const char *nearest = NULL;
    int best = 3; // a typo, not another word
    for (size_t i = 0; i < KC_COUNT (s_commands); i++) {
        int distance = kc_word_distance (name, s_commands[i]->name);
        if (distance < best) {
            best = distance;
            nearest = s_commands[i]->name;
        }
    }
    fprintf (stderr, "kclaw: no command '%s'%s%s%s; see kclaw --help\n", name, nearest ? "; did you mean '" : "",
             nearest ? nearest : "", nearest ? "'" : "");
    return kc_code_exit (KC_EUSAGE);
}

static int s_run (const kc_cmd_t *cmd, int argc, char **argv)
{
    kc_err_t err = {0};
    kc_cli_t cli = {.opts = kc_opts_parse (cmd->options, argc, argv, &err)};
    int rc = -1;
    if (cli.opts && kc_opts_flag (cli.opts, "help")) {
        kc_opts_help (cmd->options, cmd->usage, cmd->about);
        rc = 0;
    }
    else if (cli.opts) {
        cli.json = kc_opts_flag (cli.opts, "json");
        cli.quiet = kc_opts_flag (cli.opts, "quiet");
        cli.tty = isatty (STDOUT_FILENO) == 1;
        cli.ttl_ms = kc_opts_int (cli.opts, "timeout") * 1000;
        rc = cmd->run (&cli, &err);
    }
    if (rc < 0) {
        fprintf (stderr, "kclaw %s: %s\n", cmd->name, err.text);
        rc = kc_code_exit (err.code);
    }
    kc_node_destroy (&cli.node);
    kc_loop_destroy (&cli.loop);
    kc_opts_destroy (&cli.opts);
    return rc;
}

int main (int argc, char **argv)
{
    kc_log_init ("kclaw", NULL);
    kc_log_level (KC_ERROR); // events of the connection are told by the commands in words
    if (argc < 2) {
        s_help (stderr);
        return kc_code_exit (KC_EUSAGE);
    }
    const char *verb = argv[1];
    if (!strcmp (verb, "--help") || !strcmp (verb, "-h") || !strcmp (verb, "help")) {
        s_help (stdout);
        return 0;
    }
    if (!strcmp (verb, "version") || !strcmp (verb, "--version")) {
        bool json = argc == 3 && !strcmp (argv[2], "--json");
        if (argc > 2 && !json) {
            fprintf (stderr, "kclaw version: it takes no word but --json\n");
            return kc_code_exit (KC_EUSAGE);
        }
        puts (json ? "{\"version\":\"" KC_VERSION "\"}" : "kclaw " KC_VERSION);
        return 0;
    }
    const kc_cmd_t *cmd = s_find (verb);
    return cmd ? s_run (cmd, argc - 1, argv + 1) : s_unknown (verb);
}
