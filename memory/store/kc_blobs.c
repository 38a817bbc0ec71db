// kc_blobs.c - see kc_blobs.h for the rules this class keeps

#include "memory/store/kc_blobs.h"

#include <stdlib.h>
#include <string.h>

#include "common/util/kc_hash.h"
#include "common/util/kc_mem.h"

static const char SQL_FIND[] =
    "SELECT id, size, have, complete FROM blob WHERE sha256 = ?1";
static const char SQL_ADD[] =
    "INSERT INTO blob (sha256, size, have, complete, touched, kind, at) "
    "SELECT ?1, ?2, 0, 0, value, ?3, ?4 FROM meta WHERE name = 'minutes'";
static const char SQL_ADD_PART[] =
    "INSERT INTO blob_part (blob, offset, data) VALUES (?1, ?2, ?3)";
static const char SQL_GROW[] = "UPDATE blob SET have = ?2, complete = ?3 WHERE id = ?1";
static const char SQL_TOUCH[] = "UPDATE blob SET touched = max (touched, (SELECT value "
                                "FROM meta WHERE name = 'minutes')) "
                                "WHERE id = ?1";
static const char SQL_PARTS[] =
    "SELECT data FROM blob_part WHERE blob = ?1 ORDER BY offset";
static const char SQL_PARTS_FROM[] =
    "SELECT offset, data FROM blob_part WHERE blob = ?1 AND offset >= "
    "(SELECT max (offset) FROM blob_part WHERE blob = ?1 AND offset <= ?2) ORDER BY "
    "offset";
static const char SQL_DROP_PARTS[] = "DELETE FROM blob_part WHERE blob = ?1";
static const char SQL_DROP[] = "DELETE FROM blob WHERE id = ?1";
static const char SQL_USE[] = "INSERT OR IGNORE INTO blob_use (blob, task) "
                              "SELECT id, ?2 FROM blob WHERE sha256 = ?1";
// Beyond every minute that will ever be: out of the index range that expiry looks at.
static const char SQL_KEEP[] =
    "UPDATE blob SET touched = 4611686018427387904 WHERE sha256 = ?1";
static const char SQL_MINUTES[] =
    "UPDATE meta SET value = value + ?1 WHERE name = 'minutes'";
static const char SQL_OLD[] =
    "SELECT id FROM blob WHERE touched < "
    "(SELECT value FROM meta WHERE name = 'minutes') - ?1 LIMIT ?2";

struct kc_blobs {
    kc_db_t *db;
};

typedef struct s_blob {
    int64_t id, size, have;
    bool complete;
} s_blob_t;

kc_blobs_t *kc_blobs_new (kc_db_t *db, kc_err_t *err)
{
    (void)err;
    kc_blobs_t *self = kc_calloc (1, sizeof *self);
    self->db = db;
    return self;
}

void kc_blobs_destroy (kc_blobs_t **self_p)
{
    free (*self_p);
    *self_p = NULL;
}

// 1 found, 0 unknown, -1 failure.
static int s_find (kc_blobs_t *self, const char *sha256, s_blob_t *b, kc_err_t *err)
{
    sqlite3_stmt *q = kc_db_query (self->db, err, SQL_FIND, "s", sha256);
    int rc = q ? kc_db_step (self->db, q, err) : -1;
    if (rc > 0) {
        b->id = sqlite3_column_int64 (q, 0);
        b->size = sqlite3_column_int64 (q, 1);
        b->have = sqlite3_column_int64 (q, 2);
        b->complete = sqlite3_column_int64 (q, 3) != 0;
        kc_db_done (q);
    }
    return rc;
}

static int s_digest (kc_blobs_t *self, int64_t id, char hex[KC_SHA_HEX], kc_err_t *err)
{
    kc_sha_t sha;
    kc_sha_init (&sha);
    sqlite3_stmt *q = kc_db_query (self->db, err, SQL_PARTS, "i", id);
    int rc = q ? 0 : -1;
    while (q && (rc = kc_db_step (self->db, q, err)) > 0)
        kc_sha_add (&sha, sqlite3_column_blob (q, 0),
                    (size_t)sqlite3_column_bytes (q, 0));
    kc_sha_hex (&sha, hex);
    return rc;
}

static int s_drop (kc_blobs_t *self, int64_t id, kc_err_t *err)
{
    if (kc_db_run (self->db, err, SQL_DROP_PARTS, "i", id) < 0
        || kc_db_run (self->db, err, SQL_DROP, "i", id) < 0)
        return -1;
    return 0;
}

// Take the part at b->have; afterwards the blob may be complete, or gone when its
// digest is wrong.
static int s_grow (kc_blobs_t *self, s_blob_t *b, const char *sha256, const void *chunk,
                   size_t size, kc_err_t *err)
{
    if (size > 0
        && kc_db_run (self->db, err, SQL_ADD_PART, "iib", b->id, b->have, chunk, size)
               < 0)
        return -1;
    b->have += (int64_t)size;
    if (b->have == b->size) {
        char hex[KC_SHA_HEX];
        if (s_digest (self, b->id, hex, err) < 0)
            return -1;
        b->complete = strcmp (hex, sha256) == 0;
        if (!b->complete) { // start over: nothing tells which part was wrong
            b->have = 0;
            return s_drop (self, b->id, err);
        }
    }
    if (kc_db_run (self->db, err, SQL_GROW, "iii", b->id, b->have, (int64_t)b->complete)
            < 0
        || kc_db_run (self->db, err, SQL_TOUCH, "i", b->id) < 0)
        return -1;
    return 0;
}

int kc_blobs_put (kc_blobs_t *self, const kc_memory_blob_put_t *in, const void *chunk,
                  size_t size, kc_memory_blob_put_reply_t *out, const char *at,
                  kc_err_t *err)
{
    if (size > KC_BLOB_PART_MAX || (int64_t)size > in->size
        || in->offset > in->size - (int64_t)size)
        return kc_fail (err, KC_EINVALID,
                        "blob %.12s: a part of %zu bytes at %lld does not fit in %lld",
                        in->sha256, size, (long long)in->offset, (long long)in->size);
    s_blob_t b = {0};
    int rc = s_find (self, in->sha256, &b, err);
    if (rc < 0)
        return -1;
    if (rc == 0) {
        if (kc_db_run (self->db, err, SQL_ADD, "siss", in->sha256, in->size, in->kind,
                       at)
            < 0)
            return -1;
        b.id = sqlite3_last_insert_rowid (kc_db_handle (self->db));
        b.size = in->size;
    }
    if (b.size != in->size)
        return kc_fail (err, KC_ECONFLICT, "blob %.12s has %lld bytes, not %lld",
                        in->sha256, (long long)b.size, (long long)in->size);
    bool last = in->offset + (int64_t)size == in->size;
    if (!b.complete && in->offset == b.have && (size > 0 || in->size == 0)) {
        if (s_grow (self, &b, in->sha256, chunk, size, err) < 0)
            return -1;
        if (last && !b.complete) {
            kc_fail (err, KC_EINVALID,
                     "blob %.12s: the bytes have another digest; send it again",
                     in->sha256);
            return 1;
        }
    }
    else if (kc_db_run (self->db, err, SQL_TOUCH, "i", b.id) < 0)
        return -1;
    out->have = b.have;
    out->complete = b.complete;
    return 0;
}

int kc_blobs_get (kc_blobs_t *self, const kc_memory_blob_get_t *in,
                  kc_memory_blob_get_reply_t *out, kc_buf_t *chunk, kc_err_t *err)
{
    s_blob_t b = {0};
    int rc = s_find (self, in->sha256, &b, err);
    if (rc < 0)
        return -1;
    if (rc == 0 || !b.complete)
        return kc_fail (err, KC_ENOTFOUND, "blob %.12s is not here", in->sha256);
    if (in->offset > b.size)
        return kc_fail (err, KC_EINVALID, "blob %.12s has %lld bytes, none at %lld",
                        in->sha256, (long long)b.size, (long long)in->offset);
    out->size = b.size;
    out->offset = in->offset;
    sqlite3_stmt *q =
        kc_db_query (self->db, err, SQL_PARTS_FROM, "ii", b.id, in->offset);
    rc = q ? 1 : -1;
    size_t taken = 0;
    while (rc > 0 && taken < KC_BLOB_PART_MAX
           && (rc = kc_db_step (self->db, q, err)) > 0) {
        int64_t skip = in->offset - sqlite3_column_int64 (q, 0);
        const char *data = sqlite3_column_blob (q, 1);
        int64_t size = sqlite3_column_bytes (q, 1);
        skip = skip < 0 ? 0 : skip;
        if (skip >= size)
            continue;
        size_t n = (size_t)(size - skip);
        n = n > KC_BLOB_PART_MAX - taken ? KC_BLOB_PART_MAX - taken : n;
        kc_buf_put (chunk, data + skip, n);
        taken += n;
    }
    kc_db_done (q);
    return rc < 0 ? -1 : 0;
}

int kc_blobs_have (kc_blobs_t *self, const char *sha256, int64_t *size_p, kc_err_t *err)
{
    s_blob_t b = {0};
    int rc = s_find (self, sha256, &b, err);
    if (rc > 0)
        *size_p = b.size;
    return rc < 0 ? -1 : rc > 0 && b.complete;
}

int kc_blobs_use (kc_blobs_t *self, const char *sha256, int64_t task_ord, kc_err_t *err)
{
    if (kc_db_run (self->db, err, SQL_USE, "si", sha256, task_ord) < 0
        || kc_db_run (self->db, err, SQL_KEEP, "s", sha256) < 0)
        return -1;
    return 0;
}

int kc_blobs_minute (kc_blobs_t *self, int64_t minutes, kc_err_t *err)
{
    return kc_db_run (self->db, err, SQL_MINUTES, "i", minutes) < 0 ? -1 : 0;
}

int kc_blobs_expire (kc_blobs_t *self, kc_err_t *err)
{
    int64_t old[KC_BLOBS_SLICE];
    int n = 0, rc = 0;
    sqlite3_stmt *q =
        kc_db_query (self->db, err, SQL_OLD, "ii", (int64_t)KC_BLOBS_KEEP_MINUTES,
                     (int64_t)KC_BLOBS_SLICE);
    if (!q)
        return -1;
    while (n < KC_BLOBS_SLICE && (rc = kc_db_step (self->db, q, err)) > 0)
        old[n++] = sqlite3_column_int64 (q, 0);
    kc_db_done (q);
    for (int i = 0; i < n && rc >= 0; i++)
        rc = s_drop (self, old[i], err);
    return rc < 0 ? -1 : n;
}
