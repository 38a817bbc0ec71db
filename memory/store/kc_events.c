// kc_events.c - see kc_events.h for the rules this class keeps

#include "memory/store/kc_events.h"

#include <stdlib.h>
#include <string.h>

#include "common/msg/kc_codec.h"
#include "common/util/kc_mem.h"

static const char SQL_ADD[] =
    "INSERT INTO event (task, kind, round, lane, step, text, at) "
    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
static const char SQL_LAST[] = "SELECT max(seq) FROM event";
static const char SQL_TASK[] = "SELECT ord FROM task WHERE task = ?1";
#define EVENT_COLUMNS                                                                  \
    "event.seq, event.kind, task.task, event.at, event.round, event.lane, "            \
    "event.step, event.text"
static const char SQL_ALL[] =
    "SELECT " EVENT_COLUMNS " FROM event JOIN task ON task.ord = event.task "
    "WHERE event.seq > ?1 ORDER BY event.seq LIMIT ?2";
static const char SQL_OF_TASK[] =
    "SELECT " EVENT_COLUMNS " FROM event JOIN task ON task.ord = event.task "
    "WHERE event.task = ?3 AND event.seq > ?1 "
    "ORDER BY event.seq LIMIT ?2";

enum { FRESH_MAX = 4096 }; // two events for each request of a batch, and room

typedef struct s_fresh {
    int64_t ord;
    kc_memory_event_kind_t kind;
} s_fresh_t;

struct kc_events {
    kc_db_t *db;
    s_fresh_t *fresh; // added since the last settle
    size_t n_fresh;
    bool flooded; // more than FRESH_MAX: everybody is concerned
};

kc_events_t *kc_events_new (kc_db_t *db, kc_err_t *err)
{
    (void)err;
    kc_events_t *self = kc_calloc (1, sizeof *self);
    self->db = db;
    self->fresh = kc_calloc (FRESH_MAX, sizeof *self->fresh);
    return self;
}

void kc_events_destroy (kc_events_t **self_p)
{
    kc_events_t *self = *self_p;
    if (!self)
        return;
    free (self->fresh);
    free (self);
    *self_p = NULL;
}

int kc_events_add (kc_events_t *self, const kc_event_add_t *event,
                   const kc_when_t *when, kc_err_t *err)
{
    // One line: control characters go, and nothing is longer than the schema allows.
    char *text = kc_utf8_clean (event->text, strlen (event->text), KC_EVENT_TEXT_MAX);
    for (char *p = text; *p; p++)
        if (*p == '\n' || *p == '\t')
            *p = ' ';
    const char *step = event->step ? kc_memory_step_kind_name (event->step) : NULL;
    const char *kind = kc_memory_event_kind_name (event->kind);
    int rc = event->has_place
                 ? kc_db_run (self->db, err, SQL_ADD, "isiisss", event->ord, kind,
                              event->round, event->lane, step, text, when->at)
                 : kc_db_run (self->db, err, SQL_ADD, "is00sss", event->ord, kind, step,
                              text, when->at);
    free (text);
    if (rc < 0)
        return -1;
    if (self->n_fresh < FRESH_MAX)
        self->fresh[self->n_fresh++] = (s_fresh_t){event->ord, event->kind};
    else
        self->flooded = true;
    return 0;
}

int64_t kc_events_last (kc_events_t *self, kc_err_t *err)
{
    int64_t last = -1;
    return kc_db_int (self->db, err, 0, &last, SQL_LAST, "") < 0 ? -1 : last;
}

// ---- reading ----

static bool s_wanted (const kc_memory_events_read_t *in, kc_memory_event_kind_t kind)
{
    for (size_t i = 0; i < in->n_kinds; i++)
        if (in->kinds[i] == kind)
            return true;
    return in->n_kinds == 0;
}

static size_t s_take (kc_memory_events_read_reply_t *out, sqlite3_stmt *q,
                      kc_memory_event_kind_t kind)
{
    kc_memory_event_t *e = kc_push (&out->events, &out->n_events, sizeof *e);
    kc_type_init (&kc_memory_event_type, e);
    e->seq = sqlite3_column_int64 (q, 0);
    e->kind = kind;
    e->task = kc_db_dup (q, 2);
    e->at = kc_db_dup (q, 3);
    e->has_round = sqlite3_column_type (q, 4) != SQLITE_NULL;
    e->round = sqlite3_column_int64 (q, 4);
    e->has_lane = sqlite3_column_type (q, 5) != SQLITE_NULL;
    e->lane = sqlite3_column_int64 (q, 5);
    e->step = kc_memory_step_kind_parse (kc_db_text (q, 6));
    e->text = kc_db_dup (q, 7);
    return strlen (e->text) + 200;
}

int kc_events_read (kc_events_t *self, const kc_memory_events_read_t *in,
                    kc_memory_events_read_reply_t *out, bool *at_end_p, kc_err_t *err)
{
    int64_t ord = 0, last = kc_events_last (self, err);
    if (last < 0)
        return -1;
    out->last = in->from_now ? last : in->after;
    if (at_end_p)
        *at_end_p = true;
    if (in->from_now)
        return 0;
    if (in->task && kc_db_int (self->db, err, 0, &ord, SQL_TASK, "s", in->task) < 0)
        return -1;
    if (in->task && ord == 0)
        return kc_fail (err, KC_ENOTFOUND, "task %s is not known; see kclaw list",
                        in->task);
    int64_t scan = in->n_kinds ? KC_EVENTS_SCAN_MAX : in->limit;
    sqlite3_stmt *q =
        ord ? kc_db_query (self->db, err, SQL_OF_TASK, "iii", in->after, scan, ord)
            : kc_db_query (self->db, err, SQL_ALL, "ii", in->after, scan);
    if (!q)
        return -1;
    size_t bytes = 0;
    int64_t rows = 0;
    int rc = 0;
    bool full = false;
    while (!full && (rc = kc_db_step (self->db, q, err)) > 0) {
        kc_memory_event_kind_t kind = kc_memory_event_kind_parse (kc_db_text (q, 1));
        rows++;
        out->last = sqlite3_column_int64 (q, 0);
        if (s_wanted (in, kind))
            bytes += s_take (out, q, kind);
        full = (int64_t)out->n_events >= in->limit || bytes > KC_EVENTS_BYTES_MAX;
    }
    if (rc < 0)
        return -1;
    kc_db_done (q);
    bool at_end = !full && rows < scan;
    if (at_end && last > out->last)
        out->last =
            last; // everything up to here was looked at, so the next read need not
    if (at_end_p)
        *at_end_p = at_end;
    return 0;
}

bool kc_events_concern (const kc_events_t *self, int64_t ord,
                        const kc_memory_events_read_t *in)
{
    for (size_t i = 0; i < self->n_fresh; i++)
        if ((ord == 0 || self->fresh[i].ord == ord)
            && s_wanted (in, self->fresh[i].kind))
            return true;
    return self->flooded;
}

void kc_events_settle (kc_events_t *self)
{
    self->n_fresh = 0;
    self->flooded = false;
}
