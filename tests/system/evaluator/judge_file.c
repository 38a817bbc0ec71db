/* judge_file - inspect a task file and evaluate its kernel, or another program for the
 * same task
 *
 * usage: judge_file [--cuda] [--gpu NAME] [--cuda-path DIR] [--cache DIR] [--front
 * nvrtc|clang] [--confirm]
 *                   [--no-time] [--card] [--change NAME=VALUE]... TASK.cu [PROGRAM.cu]
 * Prints the card (with --card) and the verdict as JSON.  Exit status: 0 = OK, 1 =
 * another status or a refusal.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/model/kc_finding.h"
#include "common/model/kc_program.h"
#include "common/model/kc_program_text.h"
#include "common/util/kc_fs.h"
#include "common/util/kc_log.h"
#include "common/util/kc_mem.h"
#include "common/util/kc_opt.h"
#include "fixture.h"

static const kc_opt_t s_options[] = {
    {"cuda", 0, KC_OPT_FLAG, 0, 0, 0, 0, 0, "a real GPU"},
    {"gpu", 0, KC_OPT_STRING, 0, 0, 0, 0, "NAME", "which one"},
    {"cuda-path", 0, KC_OPT_STRING, 0, 0, 0, 0, "DIR", "where CUDA libraries are"},
    {"cache", 0, KC_OPT_STRING, 0, 0, 0, 0, "DIR", "cache of compiled code"},
    {"front", 0, KC_OPT_STRING, 0, "auto", 0, 0, "NAME", "nvrtc or clang"},
    {"confirm", 0, KC_OPT_FLAG, 0, 0, 0, 0, 0, "more seeds"},
    {"no-time", 0, KC_OPT_FLAG, 0, 0, 0, 0, 0, "check only"},
    {"card", 0, KC_OPT_FLAG, 0, 0, 0, 0, 0, "print the card"},
    {"change", 0, KC_OPT_LIST, 0, 0, 0, 0, "NAME=VALUE",
     "set a constant or switch of the program"},
    {0}};

static void s_confirm (kc_evaluator_evaluate_t *r)
{
    fixture_baseline (r);
    r->purpose = KC_EVALUATOR_EVALUATE_PURPOSE_CONFIRM;
}

static void s_check_only (kc_evaluator_evaluate_t *r)
{
    r->time = false;
}

static void s_print (const kc_type_t *type, const void *object)
{
    size_t size;
    kc_errs_t errs = {0};
    char *json = kc_type_encode (type, object, &size, &errs);
    char *pretty = json ? kc_json_pretty (json, size) : kc_errs_text (&errs);
    puts (pretty ? pretty : "");
    free (json);
    free (pretty);
}

static kc_program_t *s_program (const kc_opts_t *o, const kc_card_t *card,
                                kc_err_t *err)
{
    kc_program_t *program = NULL;
    if (kc_opts_n_args (o) < 2)
        program = kc_program_dup (card->seed);
    else {
        size_t size;
        char *text = kc_fs_read (kc_opts_arg (o, 1), KC_TEXT_MAX, &size, err);
        kc_verdict_t *v = kc_verdict_new ();
        kc_program_text_t *parsed =
            text ? kc_program_text_parse (text, size, card, v) : NULL;
        if (parsed)
            program = kc_program_dup (parsed->program);
        else if (text) {
            char *why = kc_findings_text (v);
            kc_fail (err, KC_EINVALID, "%s", why);
            free (why);
        }
        kc_program_text_destroy (&parsed);
        kc_verdict_free (&v);
        free (text);
    }
    for (int i = 0; program && i < kc_opts_count (o, "change"); i++) {
        char *name = kc_strdup (kc_opts_item (o, "change", i)),
             *value = strchr (name, '=');
        int rc = value ? 0 : kc_fail (err, KC_EUSAGE, "--change wants NAME=VALUE");
        if (value)
            *value++ = '\0';
        if (rc < 0 || kc_program_change (program, name, value, err) < 0)
            kc_program_free (&program);
        free (name);
    }
    return program;
}

static int s_judge (fixture_t *f, const kc_opts_t *o, kc_err_t *err)
{
    size_t size;
    char *text = kc_fs_read (kc_opts_arg (o, 0), KC_TEXT_MAX, &size, err);
    kc_evaluator_inspect_reply_t *reply =
        text ? fixture_inspect (f, text, size, err) : NULL;
    free (text);
    if (!reply)
        return -1;
    if (!reply->card || kc_opts_flag (o, "card"))
        s_print (&kc_evaluator_inspect_reply_type, reply);
    int status = 1;
    kc_program_t *program = reply->card ? s_program (o, reply->card, err) : NULL;
    fixture_tune_f *tune = kc_opts_flag (o, "no-time")   ? s_check_only
                           : kc_opts_flag (o, "confirm") ? s_confirm
                                                         : fixture_baseline;
    kc_verdict_t *v =
        program ? fixture_evaluate (f, reply->card, program, tune, err) : NULL;
    if (v) {
        s_print (&kc_verdict_type, v);
        status = v->status == KC_VERDICT_STATUS_OK ? 0 : 1;
    }
    else if (reply->card)
        status = -1;
    kc_verdict_free (&v);
    kc_program_free (&program);
    kc_evaluator_inspect_reply_free (&reply);
    return status;
}

int main (int argc, char **argv)
{
    kc_err_t err = {0};
    kc_log_init ("judge_file", NULL);
    kc_opts_t *o = kc_opts_parse (s_options, argc, argv, &err);
    if (!o || kc_opts_n_args (o) < 1) {
        fprintf (stderr, "judge_file: %s\n", o ? "no task file" : err.text);
        return 2;
    }
    const int front = kc_front_parse (kc_opts_string (o, "front"));
    const fixture_options_t options = {.cuda = kc_opts_flag (o, "cuda"),
                                       .gpu = kc_opts_string (o, "gpu"),
                                       .cuda_path = kc_opts_string (o, "cuda-path"),
                                       .cache_dir = kc_opts_string (o, "cache"),
                                       .front = front < 0 ? KC_FRONT_AUTO
                                                          : (kc_front_t)front};
    fixture_t f;
    int status = fixture_open (&f, &options, &err);
    if (status == 0)
        status = s_judge (&f, o, &err);
    if (status < 0)
        fprintf (stderr, "judge_file: %s\n", err.text);
    fixture_close (&f);
    kc_opts_destroy (&o);
    return status < 0 ? 2 : status;
}
