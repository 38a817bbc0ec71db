// kc_ops.c - see kc_ops.h

#include "memory/service/kc_ops.h"

#include <stdlib.h>
#include <string.h>

#include "common/util/kc_map.h"
#include "common/util/kc_mem.h"
#include "memory/match/kc_match.h"

// An operation whose class function already has the shape (self, in, out, when, err).
#define OP_TIMED(name, part, call)                                                     \
    static kc_ops_result_t s_##name (kc_ops_call_t *c, void *in, void *out,            \
                                     kc_err_t *err)                                    \
    {                                                                                  \
        return call (c->store->part, in, out, c->when, err) < 0 ? KC_OPS_REFUSED       \
                                                                : KC_OPS_DONE;         \
    }
#define OP_PLAIN(name, part, call)                                                     \
    static kc_ops_result_t s_##name (kc_ops_call_t *c, void *in, void *out,            \
                                     kc_err_t *err)                                    \
    {                                                                                  \
        return call (c->store->part, in, out, err) < 0 ? KC_OPS_REFUSED : KC_OPS_DONE; \
    }

OP_TIMED (task_create, tasks, kc_tasks_create)
OP_TIMED (task_cancel, tasks, kc_tasks_cancel)
OP_TIMED (task_renew, tasks, kc_tasks_renew)
OP_TIMED (task_finish, tasks, kc_tasks_finish)
OP_TIMED (method_put, methods, kc_methods_put)
OP_PLAIN (task_get, tasks, kc_tasks_get)
OP_PLAIN (task_list, tasks, kc_tasks_list)
OP_PLAIN (method_list, methods, kc_methods_list)
OP_PLAIN (method_show, methods, kc_methods_show)

static kc_ops_result_t s_task_lease (kc_ops_call_t *c, void *in, void *out,
                                     kc_err_t *err)
{
    kc_memory_task_lease_t *lease = in;
    kc_memory_task_lease_reply_t *reply = out;
    if (kc_tasks_lease (c->store->tasks, lease, c->id, reply, c->when, err) < 0)
        return KC_OPS_REFUSED;
    c->wait_ms = lease->wait_ms;
    return !reply->granted && c->may_park && lease->wait_ms > 0 ? KC_OPS_PARK
                                                                : KC_OPS_DONE;
}

// The text of the first member of a JSON object that is valid already, when it has this
// key and is an object itself; NULL otherwise.  Encoding the document anew would cost
// as much as storing it.
static const char *s_first_object (const char *json, size_t size, const char *front,
                                   size_t *size_p)
{
    size_t n = strlen (front), depth = 0;
    if (size <= n || memcmp (json, front, n) != 0 || json[n] != '{')
        return NULL;
    bool in_string = false;
    for (size_t i = n; i < size; i++) {
        char c = json[i];
        if (in_string && c == '\\')
            i++;
        else if (c == '"')
            in_string = !in_string;
        else if (!in_string && c == '{')
            depth++;
        else if (!in_string && c == '}' && --depth == 0) {
            *size_p = i + 1 - n;
            return json + n;
        }
    }
    return NULL;
}

static kc_ops_result_t s_step_append (kc_ops_call_t *c, void *in, void *out,
                                      kc_err_t *err)
{
    size_t size = 0;
    const char *doc = s_first_object (c->payload, c->payload_size, "{\"doc\":", &size);
    int rc = kc_steps_append (c->store->steps, in, doc, size, out, c->when, err);
    return rc < 0 ? KC_OPS_REFUSED : KC_OPS_DONE;
}

static kc_ops_result_t s_trajectory_get (kc_ops_call_t *c, void *in, void *out,
                                         kc_err_t *err)
{
    (void)out;
    return kc_steps_get (c->store->steps, in, &c->raw, err) < 0 ? KC_OPS_REFUSED
                                                                : KC_OPS_DONE;
}

static kc_ops_result_t s_events_read (kc_ops_call_t *c, void *in, void *out,
                                      kc_err_t *err)
{
    kc_memory_events_read_t *read = in;
    kc_memory_events_read_reply_t *reply = out;
    bool at_end = false;
    if (kc_events_read (c->store->events, read, reply, &at_end, err) < 0)
        return KC_OPS_REFUSED;
    c->wait_ms = read->wait_ms;
    if (reply->n_events > 0 || !at_end || read->from_now || !c->may_park
        || read->wait_ms == 0)
        return KC_OPS_DONE;
    read->after = reply->last; // what was looked at is not looked at again
    return KC_OPS_PARK;
}

static kc_ops_result_t s_method_match (kc_ops_call_t *c, void *in, void *out,
                                       kc_err_t *err)
{
    kc_memory_method_match_t *match = in;
    kc_memory_method_match_reply_t *reply = out;
    kc_map_t *failed = NULL;
    int rc = 0;
    if (match->task && match->base && match->n_available == 0) {
        failed = kc_map_new (NULL);
        rc = kc_steps_failed (c->store->steps, match->task, match->base, failed, err);
    }
    reply->diagnosis = kc_memory_diagnosis_new ();
    if (rc == 0)
        rc = kc_match (kc_methods_rules (c->store->methods), c->store->records, match,
                       failed, reply->diagnosis, err);
    if (failed)
        kc_map_destroy (&failed);
    return rc < 0 ? KC_OPS_REFUSED : KC_OPS_DONE;
}

static kc_ops_result_t s_verdict_lookup (kc_ops_call_t *c, void *in, void *out,
                                         kc_err_t *err)
{
    kc_memory_verdict_lookup_t *lookup = in;
    kc_memory_verdict_lookup_reply_t *reply = out;
    int rc = kc_cache_find (c->store->cache, lookup->key, &reply->verdict, err);
    return rc < 0 ? KC_OPS_REFUSED : KC_OPS_DONE;
}

static kc_ops_result_t s_blob_put (kc_ops_call_t *c, void *in, void *out, kc_err_t *err)
{
    int rc = kc_blobs_put (c->store->blobs, in, c->chunk, c->chunk_size, out,
                           c->when->at, err);
    return rc < 0 ? KC_OPS_REFUSED : rc > 0 ? KC_OPS_REFUSED_KEEP : KC_OPS_DONE;
}

static kc_ops_result_t s_blob_get (kc_ops_call_t *c, void *in, void *out, kc_err_t *err)
{
    int rc = kc_blobs_get (c->store->blobs, in, out, &c->chunk_out, err);
    return rc < 0 ? KC_OPS_REFUSED : KC_OPS_DONE;
}

static kc_ops_result_t s_stats (kc_ops_call_t *c, void *in, void *out, kc_err_t *err)
{
    (void)in;
    return kc_store_stats (c->store, out, err) < 0 ? KC_OPS_REFUSED : KC_OPS_DONE;
}

static kc_ops_result_t s_backup (kc_ops_call_t *c, void *in, void *out, kc_err_t *err)
{
    (void)c;
    (void)in;
    (void)out;
    (void)err;
    return KC_OPS_BACKUP; // begun by the service, after the batch
}

#define ROW(op, name)                                                                  \
    {                                                                                  \
        "memory." op, &kc_memory_##name##_type, &kc_memory_##name##_reply_type,        \
            s_##name                                                                   \
    }
static const kc_ops_row_t s_table[] = {
    ROW ("step.append", step_append),
    ROW ("task.renew", task_renew),
    ROW ("events.read", events_read),
    ROW ("task.lease", task_lease),
    ROW ("task.create", task_create),
    ROW ("task.get", task_get),
    ROW ("task.list", task_list),
    ROW ("task.cancel", task_cancel),
    ROW ("task.finish", task_finish),
    ROW ("trajectory.get", trajectory_get),
    ROW ("method.match", method_match),
    ROW ("method.list", method_list),
    ROW ("method.show", method_show),
    ROW ("method.put", method_put),
    ROW ("verdict.lookup", verdict_lookup),
    ROW ("blob.put", blob_put),
    ROW ("blob.get", blob_get),
    ROW ("stats", stats),
    ROW ("backup", backup),
    {"memory.llm.begin", NULL, NULL, NULL},
    {"memory.llm.end", NULL, NULL, NULL},
};

const kc_ops_row_t *kc_ops_table (size_t *n_p)
{
    *n_p = KC_COUNT (s_table);
    return s_table;
}

const kc_ops_row_t *kc_ops_find (const char *op)
{
    for (size_t i = 0; i < KC_COUNT (s_table); i++)
        if (strcmp (s_table[i].op, op) == 0)
            return &s_table[i];
    return NULL;
}
