// kc_fetch.c - see kc_fetch.h

#include "agents/evaluator/kc_fetch.h"

#include <stdlib.h>
#include <string.h>

#include "common/msg/gen/memory.h"
#include "common/util/kc_hash.h"
#include "common/util/kc_mem.h"

struct kc_fetch {
    kc_node_t *node;
    char *flow, *sha256, *path;
    size_t size, have;
    char *data;
    kc_fetch_f *done;
    void *arg;
    bool waiting; // a call is open
    bool dead;    // destroyed while it was: the answer frees
};

static void s_free (kc_fetch_t *self)
{
    free (self->flow);
    free (self->sha256);
    free (self->path);
    free (self->data);
    free (self);
}

static int s_ask (kc_fetch_t *self, kc_err_t *err);

static void s_finish (kc_fetch_t *self, const kc_err_t *err)
{
    char *data = err ? NULL : self->data;
    if (!err)
        self->data = NULL;
    self->done (self->arg, data, self->have, err);
}

static int s_take (kc_fetch_t *self, const kc_answer_t *answer, kc_err_t *err)
{
    if (answer->code != KC_OK)
        return kc_fail (err, answer->code, "file %s: %s", self->path, answer->text);
    kc_errs_t errs = {0};
    kc_memory_blob_get_reply_t *r = kc_memory_blob_get_reply_decode (
        answer->payload, answer->payload_size, KC_WIRE, &errs);
    if (!r)
        return kc_errs_fail (&errs, err);
    int rc = 0;
    if ((size_t)r->size != self->size || (size_t)r->offset != self->have
        || answer->chunk_size > self->size - self->have
        || (answer->chunk_size == 0 && self->have < self->size))
        rc =
            kc_fail (err, KC_EINVALID,
                     "file %s: the blob does not have the %zu bytes that the task says",
                     self->path, self->size);
    kc_memory_blob_get_reply_free (&r);
    if (rc < 0)
        return -1;
    if (answer->chunk_size > 0)
        memcpy (self->data + self->have, answer->chunk, answer->chunk_size);
    self->have += answer->chunk_size;
    if (self->have < self->size)
        return s_ask (self, err);
    char hex[KC_SHA_HEX];
    kc_sha256_hex (self->data, self->have, hex);
    if (strcmp (hex, self->sha256) != 0)
        return kc_fail (
            err, KC_EINVALID,
            "file %s: the blob's bytes do not have the digest that the task says",
            self->path);
    return 0;
}

static void s_on_answer (void *arg, kc_node_t *node, const kc_answer_t *answer)
{
    (void)node;
    kc_fetch_t *self = arg;
    self->waiting = false;
    if (self->dead) {
        s_free (self);
        return;
    }
    kc_err_t err = {0};
    if (s_take (self, answer, &err) < 0)
        s_finish (self, &err);
    else if (!self->waiting)
        s_finish (self, NULL);
}

static int s_ask (kc_fetch_t *self, kc_err_t *err)
{
    kc_memory_blob_get_t *r = kc_memory_blob_get_new ();
    kc_set (&r->sha256, self->sha256);
    r->offset = (int64_t)self->have;
    size_t size;
    char *payload = kc_memory_blob_get_encode (r, &size);
    kc_memory_blob_get_free (&r);
    if (!payload)
        return kc_fail (err, KC_EINTERNAL, "file %s: its digest breaks the schema",
                        self->path);
    const kc_call_t call = {.op = "memory.blob.get",
                            .flow = self->flow,
                            .ttl_ms = KC_FETCH_TTL_MS,
                            .payload = payload,
                            .payload_size = size,
                            .retry_busy = true};
    const int rc = kc_node_call (self->node, &call, s_on_answer, self, err);
    self->waiting = rc == 0;
    free (payload);
    return rc;
}

kc_fetch_t *kc_fetch_start (kc_node_t *node, const char *flow,
                            const kc_task_file_t *file, kc_fetch_f *done, void *arg,
                            kc_err_t *err)
{
    if (file->size > KC_FETCH_FILE_MAX) {
        kc_fail (err, KC_EINVALID, "file %s has %lld bytes, at most %d are allowed",
                 file->path, (long long)file->size, KC_FETCH_FILE_MAX);
        return NULL;
    }
    kc_fetch_t *self = kc_calloc (1, sizeof *self);
    *self = (kc_fetch_t){.node = node,
                         .flow = kc_strdup (flow),
                         .sha256 = kc_strdup (file->sha256),
                         .path = kc_strdup (file->path),
                         .size = (size_t)file->size,
                         .done = done,
                         .arg = arg};
    self->data = kc_calloc (1, self->size + 1);
    if (s_ask (self, err) < 0) {
        s_free (self);
        return NULL;
    }
    return self;
}

void kc_fetch_destroy (kc_fetch_t **self_p)
{
    kc_fetch_t *self = *self_p;
    *self_p = NULL;
    if (!self)
        return;
    if (self->waiting)
        self->dead = true;
    else
        s_free (self);
}
