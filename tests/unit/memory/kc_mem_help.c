// kc_mem_help.c - see kc_mem_help.h

#include "tests/unit/memory/kc_mem_help.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/msg/kc_codec.h"
#include "common/util/kc_clock.h"
#include "common/util/kc_fs.h"
#include "common/util/kc_mem.h"

static void s_open (kc_help_t *h, const char *vfs)
{
    kc_store_config_t config = {.db = {.path = h->path, .vfs = vfs}};
    h->store = kc_store_open (&config, &h->when, &h->err);
    if (!h->store)
        kc_die (__FILE__, __LINE__, h->err.text);
}

void kc_help_open (kc_help_t *h, const char *vfs)
{
    memset (h, 0, sizeof *h);
    snprintf (h->dir, sizeof h->dir, "/tmp/kc-mem-XXXXXX");
    kc_assert (mkdtemp (h->dir));
    h->path = kc_fs_join (h->dir, "memory.db");
    h->when.now = 1000000;
    kc_clock_iso (1767225600000, h->when.at);
    s_open (h, vfs);
}

void kc_help_reopen (kc_help_t *h)
{
    kc_store_close (&h->store);
    s_open (h, NULL);
}

void kc_help_close (kc_help_t *h)
{
    kc_store_close (&h->store);
    kc_fs_remove_tree (h->dir, NULL);
    free (h->path);
}

void kc_help_begin (kc_help_t *h)
{
    kc_err_clear (&h->err);
    kc_assert (kc_store_begin (h->store, &h->err) == 0);
    kc_assert (kc_store_mark (h->store, &h->err) == 0);
}

void kc_help_end (kc_help_t *h, int rc)
{
    kc_err_t err = {0};
    if (rc < 0)
        kc_assert (kc_store_undo (h->store, &err) == 0);
    else
        kc_assert (kc_store_keep (h->store, &err) == 0);
    kc_assert (kc_store_commit (h->store, &err) == 0);
}

int kc_help_create (kc_help_t *h, const char *task)
{
    static const char text[] = "hello";
    kc_memory_blob_put_t put = {.size = 5};
    char sha[KC_SHA_HEX];
    kc_sha256_hex (text, 5, sha);
    put.sha256 = sha;
    kc_memory_blob_put_reply_t put_reply = {0};
    kc_help_begin (h);
    int rc =
        kc_blobs_put (h->store->blobs, &put, text, 5, &put_reply, h->when.at, &h->err);
    kc_help_end (h, rc);
    kc_assert (rc == 0);
    kc_memory_task_create_t *in = kc_memory_task_create_new ();
    in->task = kc_strdup (task);
    in->document = kc_task_new ();
    in->document->kind = KC_TASK_KIND_CUDA;
    in->document->name = kc_strdup ("softmax");
    kc_task_file_t *file =
        kc_push (&in->document->files, &in->document->n_files, sizeof *file);
    file->path = kc_strdup ("softmax.cu");
    file->sha256 = kc_strdup (sha);
    file->size = 5;
    kc_memory_task_create_reply_t *out = kc_memory_task_create_reply_new ();
    kc_help_begin (h);
    rc = kc_tasks_create (h->store->tasks, in, out, &h->when, &h->err);
    kc_help_end (h, rc);
    if (rc == 0)
        rc = out->n_missing ? -2 : out->created;
    kc_memory_task_create_free (&in);
    kc_memory_task_create_reply_free (&out);
    return rc;
}

int64_t kc_help_lease (kc_help_t *h, const char *holder, const char *boot,
                       const char *request, char **task_p)
{
    kc_memory_task_lease_t *in = kc_memory_task_lease_new ();
    kc_memory_task_lease_reply_t *out = kc_memory_task_lease_reply_new ();
    in->holder = kc_strdup (holder);
    in->boot = kc_strdup (boot);
    kc_help_begin (h);
    int rc = kc_tasks_lease (h->store->tasks, in, request, out, &h->when, &h->err);
    kc_help_end (h, rc);
    int64_t epoch = rc < 0 ? -1 : out->granted ? out->epoch : 0;
    if (task_p)
        *task_p = kc_strdup (out->task);
    kc_memory_task_lease_free (&in);
    kc_memory_task_lease_reply_free (&out);
    return epoch;
}

int64_t kc_help_append (kc_help_t *h, const char *task, int64_t epoch, int64_t round,
                        kc_memory_step_kind_t step, kc_memory_step_doc_t *doc,
                        bool *repeated_p)
{
    kc_memory_step_append_t *in = kc_memory_step_append_new ();
    kc_memory_step_append_reply_t *out = kc_memory_step_append_reply_new ();
    in->task = kc_strdup (task);
    in->epoch = epoch;
    in->round = round;
    in->step = step;
    in->doc = kc_memory_step_doc_dup (doc);
    kc_help_begin (h);
    int rc = kc_steps_append (h->store->steps, in, NULL, 0, out, &h->when, &h->err);
    kc_help_end (h, rc);
    int64_t seq = rc < 0 ? -1 : out->seq;
    if (repeated_p)
        *repeated_p = out->repeated;
    kc_memory_step_append_free (&in);
    kc_memory_step_append_reply_free (&out);
    return seq;
}

int64_t kc_help_event_count (kc_help_t *h, const char *task)
{
    kc_memory_events_read_t *in = kc_memory_events_read_new ();
    kc_memory_events_read_reply_t *out = kc_memory_events_read_reply_new ();
    in->task = kc_strdup (task);
    in->limit = 1000;
    kc_assert (kc_events_read (h->store->events, in, out, NULL, &h->err) == 0);
    int64_t n = (int64_t)out->n_events;
    kc_memory_events_read_free (&in);
    kc_memory_events_read_reply_free (&out);
    return n;
}

// ---- documents ----

kc_candidate_t *kc_help_candidate (const char *method, const char *parent, int version)
{
    kc_buf_t json = {0};
    kc_buf_printf (
        &json,
        "{\"program\":{\"format\":1,\"language\":\"cuda\",\"source\":\"// version %d\","
        "\"blocks\":[{\"steps\":[{\"op\":\"kernel\",\"kernel\":\"k\",\"grid\":[\"1\"],"
        "\"block\":[\"256\"]}]}]},\"writer\":\"%s\"",
        version, method ? "expert" : "given");
    if (method)
        kc_buf_printf (&json,
                       ",\"method\":\"%s\",\"changes\":[{\"name\":\"ITEMS\",\"from\":"
                       "\"1\",\"to\":\"%d\"}]",
                       method, version);
    if (parent)
        kc_buf_printf (&json, ",\"parent\":\"%s\"", parent);
    kc_buf_puts (&json, "}");
    kc_errs_t errs = {0};
    kc_candidate_t *c =
        kc_candidate_decode (kc_buf_str (&json), json.size, KC_STRICT, &errs);
    if (!c)
        kc_die (__FILE__, __LINE__, kc_errs_text (&errs));
    kc_buf_free (&json);
    return c;
}

kc_verdict_t *kc_help_verdict (kc_verdict_status_t status, double over_base)
{
    kc_verdict_t *v = kc_verdict_new ();
    v->status = status;
    v->judge_version = 1;
    if (over_base > 0) {
        kc_verdict_ratio_t *r = kc_push (&v->ratios, &v->n_ratios, sizeof *r);
        r->over = KC_VERDICT_RATIO_OVER_BASE;
        r->speedup = over_base;
        r->comparison = over_base > 1.02 ? KC_VERDICT_RATIO_COMPARISON_FASTER
                                         : KC_VERDICT_RATIO_COMPARISON_SLOWER;
    }
    return v;
}

kc_evidence_t *kc_help_evidence (void)
{
    kc_evidence_t *e = kc_evidence_new ();
    e->backend = KC_EVIDENCE_BACKEND_VGPU;
    kc_evidence_step_t *s = kc_push (&e->steps, &e->n_steps, sizeof *s);
    kc_type_init (&kc_evidence_step_type, s);
    s->kernel = kc_strdup ("softmax");
    s->structure = KC_EVIDENCE_STRUCTURE_ROW_REDUCE;
    return e;
}

kc_memory_step_doc_t *kc_help_doc (void)
{
    kc_memory_step_doc_t *d = kc_memory_step_doc_new ();
    d->seconds = 0.5;
    return d;
}

kc_memory_step_doc_t *kc_help_doc_code (const char *method, const char *parent,
                                        int version)
{
    kc_memory_step_doc_t *d = kc_help_doc ();
    d->candidate = kc_help_candidate (method, parent, version);
    return d;
}

kc_memory_step_doc_t *kc_help_doc_evaluate (kc_verdict_status_t status,
                                            double over_base)
{
    kc_memory_step_doc_t *d = kc_help_doc ();
    d->verdict = kc_help_verdict (status, over_base);
    return d;
}
