// cmd_submit.c - kclaw submit: check the file, put its blobs, create the task, perhaps wait

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/kc_cli.h"
#include "client/kc_view.h"
#include "common/model/kc_finding.h"
#include "common/model/kc_program_text.h"
#include "common/msg/gen/memory.h"
#include "common/util/kc_fs.h"
#include "common/util/kc_hash.h"
#include "common/util/kc_mem.h"

enum { FILE_MAX = 4 * 1024 * 1024, ID_MAX = 64 };
static const long long DIM_MAX = 1ll << 40; // as kc_card refuses above it

static const kc_opt_t s_options[] = {
    {"set", 's', KC_OPT_LIST, NULL, NULL, 0, 0, "DIM=N", "override a dim of the file"},
    {"rounds", 0, KC_OPT_INT, NULL, "15", 0, 1000, "N", "rounds after the first program"},
    {"seconds", 0, KC_OPT_INT, NULL, "3600", 1, 604800, "N", "budget: sum of all step durations"},
    {"repairs", 0, KC_OPT_INT, NULL, "3", 0, 16, "N", "longest chain of repairs"},
    {"lanes", 0, KC_OPT_INT, NULL, "1", 1, 8, "N", "candidates of a round, side by side"},
    {"backend", 0, KC_OPT_STRING, "KC_BACKEND", NULL, 0, 0, "NAME", "cuda or vgpu; otherwise whoever is free first"},
    {"gpu", 0, KC_OPT_STRING, NULL, NULL, 0, 0, "NAME", "only on this GPU, by its name"},
    {"id", 0, KC_OPT_STRING, NULL, NULL, 0, 0, "ID", "use this id: submitting the same again answers the same task"},
    {"wait", 'w', KC_OPT_FLAG, NULL, NULL, 0, 0, NULL, "show the progress and the result; Ctrl-C only stops watching"},
    {"dry-run", 'n', KC_OPT_FLAG, NULL, NULL, 0, 0, NULL, "check the file and say what it means; needs no fleet"},
    KC_OPT_CLI,
};

static const char *s_suffix (const char *path)
{
    const char *dot = strrchr (path, '.');
    return dot ? dot : "";
}

static const char *s_base (const char *path)
{
    const char *slash = strrchr (path, '/');
    return slash ? slash + 1 : path;
}

// Findings of the text as one error, line by line.
static int s_refuse (const char *path, kc_verdict_t *findings, kc_err_t *err)
{
    char *text = kc_findings_text (findings);
    fprintf (stderr, "%s is not a valid task:\n%s\n", path, text);
    free (text);
    return kc_fail (err, KC_EINVALID, "%s: %zu finding%s, see above", path, findings->n_findings,
                    findings->n_findings == 1 ? "" : "s");
}

static kc_program_text_t *s_parse (const char *path, const char *data, size_t size, kc_err_t *err)
{
    kc_verdict_t *findings = kc_verdict_new ();
    kc_program_text_t *text = kc_program_text_parse (data, size, NULL, findings);
    if (!text)
        s_refuse (path, findings, err);
    else if (!text->task) {
        kc_fail (err, KC_EINVALID, "%s has a plan but no task lines; add //@ task, //@ dim, //@ input and //@ output lines", path);
        kc_program_text_destroy (&text);
    }
    kc_verdict_free (&findings);
    return text;
}

// A task id becomes part of request ids (<task>.<round>....) and of file names: no dots, no spaces, no slashes.
static int s_check_id (const char *id, kc_err_t *err)
{
    size_t n = strlen (id);
    if (n == 0 || n > ID_MAX || strspn (id, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") != n)
        return kc_fail (err, KC_EUSAGE, "--id \"%.80s\": an id is 1 to %d letters, digits, '-' and '_'", id, ID_MAX);
    return 0;
}

static int s_settings (kc_cli_t *cli, kc_task_t *task, const kc_program_text_t *text, kc_err_t *err)
{
    for (int i = 0; i < kc_opts_count (cli->opts, "set"); i++) {
        const char *item = kc_opts_item (cli->opts, "set", i);
        const char *equals = strchr (item, '=');
        char *end = NULL;
        long long value = equals ? strtoll (equals + 1, &end, 10) : -1;
        if (!equals || equals == item || end == equals + 1 || *end)
            return kc_fail (err, KC_EUSAGE, "--set %s: write it as DIM=NUMBER, for example --set N=1024", item);
        if (value < 1 || value > DIM_MAX) // the limit itself is also told for what does not fit a number
            return kc_fail (err, KC_EUSAGE, "--set %s: a dim is 1 to 2^40", item);
        kc_task_setting_t *s = kc_push (&task->set, &task->n_set, sizeof *task->set);
        s->name = kc_strndup (item, (size_t)(equals - item));
        s->value = value;
        bool known = false;
        for (size_t k = 0; k < text->task->n_dims; k++)
            known = known || !strcmp (text->task->dims[k].name, s->name);
        if (!known)
            return kc_fail (err, KC_EUSAGE, "--set %s: the file declares no dim %s", item, s->name);
    }
    return 0;
}

static int s_target (kc_cli_t *cli, kc_task_t *task, kc_err_t *err)
{
    const char *backend = kc_opts_string (cli->opts, "backend");
    const char *gpu = kc_opts_string (cli->opts, "gpu");
    if (!backend && !gpu)
        return 0;
    task->target = kc_task_target_new ();
    kc_set (&task->target->gpu, gpu);
    if (backend) {
        task->target->backend = kc_task_target_backend_parse (backend);
        if (!task->target->backend)
            return kc_fail (err, KC_EUSAGE, "--backend %s: it is cuda (a real GPU) or vgpu (the virtual one)", backend);
    }
    return 0;
}

static kc_task_t *s_document (kc_cli_t *cli, const char *path, const char *data, size_t size,
                              const kc_program_text_t *text, kc_err_t *err)
{
    kc_task_t *task = kc_task_new ();
    task->kind = KC_TASK_KIND_CUDA;
    kc_set (&task->name, text->task->name);
    kc_task_file_t *file = kc_push (&task->files, &task->n_files, sizeof *task->files);
    char hex[KC_SHA_HEX];
    kc_sha256_hex (data, size, hex);
    file->path = kc_strdup (s_base (path));
    file->sha256 = kc_strdup (hex);
    file->size = (int64_t)size;
    task->budget = kc_task_budget_new ();
    task->budget->rounds = kc_opts_int (cli->opts, "rounds");
    task->budget->seconds = kc_opts_int (cli->opts, "seconds");
    task->budget->repairs = kc_opts_int (cli->opts, "repairs");
    task->budget->lanes = kc_opts_int (cli->opts, "lanes");
    if (s_settings (cli, task, text, err) < 0 || s_target (cli, task, err) < 0)
        kc_task_free (&task);
    return task;
}

static void s_say_what_it_means (const kc_task_t *task, const kc_program_text_t *text)
{
    const kc_task_text_t *t = text->task;
    printf ("task      %s%s%s\n", t->name, t->text ? ": " : "", t->text ? t->text : "");
    for (size_t i = 0; i < t->n_dims; i++) {
        const char *value = t->dims[i].value;
        printf ("dim       %s = %s", t->dims[i].name, value);
        for (size_t k = 0; k < task->n_set; k++)
            if (!strcmp (task->set[k].name, t->dims[i].name))
                printf (", set to %lld", (long long)task->set[k].value);
        putchar ('\n');
    }
    for (size_t i = 0; i < t->n_tensors; i++) {
        printf ("%-9s %s %s[", kc_card_tensor_role_name (t->tensors[i].role), t->tensors[i].name, kc_dtype_name (t->tensors[i].dtype));
        for (size_t k = 0; k < t->tensors[i].n_shape; k++)
            printf ("%s%s", k ? ", " : "", t->tensors[i].shape[k]);
        printf ("]\n");
    }
    for (size_t i = 0; i < t->n_tunables; i++) {
        printf ("tunable   %s in", t->tunables[i].name);
        for (size_t k = 0; k < t->tunables[i].n_values; k++)
            printf (" %s", t->tunables[i].values[k]);
        printf (" for %s\n", t->tunables[i].method);
    }
    printf ("plan      %zu step%s\n", text->n_step_lines, text->n_step_lines == 1 ? "" : "s");
    for (size_t i = 0; i < text->n_warnings; i++)
        fprintf (stderr, "warning: %s\n", text->warnings[i]);
}

static int s_put_blob (kc_cli_t *cli, const kc_task_file_t *file, const char *data, kc_err_t *err)
{
    for (int64_t offset = 0;;) {
        int64_t left = file->size - offset;
        size_t n = left > KC_NODE_PAYLOAD_MAX ? KC_NODE_PAYLOAD_MAX : (size_t)left;
        kc_memory_blob_put_t *r = kc_memory_blob_put_new ();
        kc_set (&r->sha256, file->sha256);
        r->size = file->size;
        r->offset = offset;
        kc_set (&r->kind, "task-file");
        kc_memory_blob_put_reply_t *reply
            = kc_cli_call_chunk (cli, "memory.blob.put", &kc_memory_blob_put_type, r, data + offset, n,
                                 &kc_memory_blob_put_reply_type, NULL, NULL, err);
        kc_memory_blob_put_free (&r);
        if (!reply)
            return -1;
        bool complete = reply->complete, stuck = reply->have <= offset && !reply->complete;
        offset = reply->have;
        kc_memory_blob_put_reply_free (&reply);
        if (complete)
            return 0;
        if (stuck || offset > file->size)
            return kc_fail (err, KC_EPROTO, "the memory service does not take %s", file->path);
    }
}

static int s_create (kc_cli_t *cli, const char *id, const kc_task_t *task, const char *data, kc_err_t *err)
{
    for (int attempt = 0; attempt < 2; attempt++) {
        kc_memory_task_create_t *r = kc_memory_task_create_new ();
        kc_set (&r->task, id);
        r->document = kc_task_dup (task);
        kc_memory_task_create_reply_t *reply = kc_cli_call (cli, "memory.task.create", &kc_memory_task_create_type, r,
                                                            &kc_memory_task_create_reply_type, err);
        kc_memory_task_create_free (&r);
        if (!reply)
            return -1;
        size_t missing = reply->n_missing;
        kc_memory_task_create_reply_free (&reply);
        if (!missing)
            return 0;
        if (s_put_blob (cli, &task->files[0], data, err) < 0)
            return -1;
    }
    return kc_fail (err, KC_EPROTO, "the memory service still misses the task's file after it was sent");
}

static int s_show_end (kc_cli_t *cli, const char *id, kc_err_t *err)
{
    kc_memory_task_get_t *r = kc_memory_task_get_new ();
    kc_set (&r->task, id);
    kc_memory_task_get_reply_t *reply
        = kc_cli_call (cli, "memory.task.get", &kc_memory_task_get_type, r, &kc_memory_task_get_reply_type, err);
    kc_memory_task_get_free (&r);
    if (!reply)
        return -1;
    bool done = reply->row->state == KC_MEMORY_STATE_DONE;
    if (cli->json) {
        kc_cli_json (&kc_memory_task_get_reply_type, reply);
    }
    else if (!cli->quiet) {
        char *speedup = kc_view_speedup (reply->row->best);
        printf ("%s: %s, %s\n", reply->row->name, kc_memory_state_name (reply->row->state), speedup);
        if (reply->row->reason)
            printf ("  %s\n", reply->row->reason);
        if (reply->verdict)
            kc_view_verdict (reply->verdict);
        printf ("the program: kclaw result %s -o FILE\n", id);
        free (speedup);
    }
    kc_memory_task_get_reply_free (&reply);
    return done ? 0 : kc_code_exit (KC_EFAILED);
}

static int s_submit (kc_cli_t *cli, const char *path, const char *data, size_t size, kc_err_t *err)
{
    kc_program_text_t *text = s_parse (path, data, size, err);
    if (!text)
        return -1;
    kc_task_t *task = s_document (cli, path, data, size, text, err);
    int rc = -1;
    char id[KC_ULID];
    kc_ulid (id);
    const char *given = kc_opts_string (cli->opts, "id");
    const char *use = given ? given : id;
    if (!task || (given && s_check_id (given, err) < 0))
        goto out;
    if (kc_opts_flag (cli->opts, "dry-run")) {
        if (cli->json)
            kc_cli_json (&kc_program_type, text->program);
        else
            s_say_what_it_means (task, text);
        rc = 0;
        goto out;
    }
    if (s_create (cli, use, task, data, err) < 0)
        goto out;
    if (!kc_opts_flag (cli->opts, "wait")) {
        printf (cli->json ? "{\"task\":\"%s\"}\n" : "%s\n", use);
        if (!cli->quiet && !cli->json)
            fprintf (stderr, "follow it with: kclaw watch %s\n", use);
        rc = 0;
        goto out;
    }
    if (!cli->json && !cli->quiet)
        printf ("%s\n", use);
    rc = kc_cli_follow (cli, use, 0, err);
    if (rc == 0)
        rc = s_show_end (cli, use, err);
out:
    kc_task_free (&task);
    kc_program_text_destroy (&text);
    return rc;
}

static int s_run (kc_cli_t *cli, kc_err_t *err)
{
    const char *path = kc_cli_one (cli, "file", err);
    if (!path)
        return -1;
    const char *suffix = s_suffix (path);
    if (!strcmp (suffix, ".py") || !strcmp (suffix, ".json"))
        return kc_fail (err, KC_EUNSUPPORTED, "%s: this version takes .cu files; PyTorch modules and operator graphs do not run yet", path);
    size_t size = 0;
    char *data = kc_fs_read (path, FILE_MAX, &size, err);
    if (!data)
        return -1;
    int rc = s_submit (cli, path, data, size, err);
    free (data);
    return rc;
}

const kc_cmd_t kc_cmd_submit = {
    .name = "submit",
    .usage = "kclaw submit FILE.cu [options]",
    .about = "Hand in a slow CUDA kernel; returns its task id once it is durable.",
    .options = s_options,
    .run = s_run,
};
