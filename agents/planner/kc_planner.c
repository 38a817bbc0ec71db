// kc_planner.c - see kc_planner.h

#include "agents/planner/kc_planner.h"

#include <stdlib.h>
#include <string.h>

#include "agents/planner/kc_drive.h"
#include "common/msg/gen/memory.h"
#include "common/util/kc_log.h"
#include "common/util/kc_mem.h"

enum {
    WAIT_MS = 20000,        // of a parked lease or event request
    CALL_TTL_MS = 60000,    // longer than the parking
    AGAIN_MS = 500,         // after a failure
};

// Answers may come after the planner is gone: the open calls know it only through this.
typedef struct link {
    kc_planner_t *planner; // NULL: gone
    int calls;             // open calls that hold this
} link_t;

struct kc_planner {
    kc_loop_t *loop;
    kc_node_t *node;
    link_t *link;
    int max_tasks, n_drives;
    kc_drive_t *drives[KC_PLANNER_TASKS_MAX];
    bool leasing, stopped;
    int64_t events_after;
    bool events_known; // events_after is set
    int64_t lease_timer, events_timer;
};

static void s_lease (kc_planner_t *self);
static void s_read_events (kc_planner_t *self);

static void s_lease_again (kc_loop_t *loop, int64_t timer, void *arg)
{
    (void)loop;
    (void)timer;
    kc_planner_t *self = arg;
    self->lease_timer = 0;
    s_lease (self);
}

static void s_events_again (kc_loop_t *loop, int64_t timer, void *arg)
{
    (void)loop;
    (void)timer;
    kc_planner_t *self = arg;
    self->events_timer = 0;
    s_read_events (self);
}

// Call with the link as argument; 0 when it was accepted.
static int s_call (kc_planner_t *self, const char *op, const kc_type_t *type, const void *object, kc_answer_f *answer)
{
    size_t size = 0;
    char *payload = kc_type_encode (type, object, &size, NULL);
    if (!payload)
        return -1; // logged by the codec: our defect
    kc_call_t call = {.op = op, .ttl_ms = CALL_TTL_MS, .payload = payload, .payload_size = size, .retry_busy = true};
    kc_err_t err = {0};
    int rc = kc_node_call (self->node, &call, answer, self->link, &err);
    free (payload);
    if (rc < 0)
        kc_log (KC_WARN, "call.refused", "op", "s", op, "text", "s", err.text, NULL);
    else
        self->link->calls++;
    return rc;
}

// The planner that a call belongs to, or NULL when it is gone.
static kc_planner_t *s_take (void *arg)
{
    link_t *link = arg;
    kc_planner_t *self = link->planner;
    link->calls--;
    if (!self && link->calls == 0)
        free (link);
    return self;
}

// ---- drives ----

static void s_drive_ended (void *arg, kc_drive_t *drive)
{
    kc_planner_t *self = arg;
    for (int i = 0; i < self->n_drives; i++)
        if (self->drives[i] == drive) {
            kc_drive_destroy (&self->drives[i]);
            self->drives[i] = self->drives[--self->n_drives];
            break;
        }
    s_lease (self);
}

static void s_on_lease (void *arg, kc_node_t *node, const kc_answer_t *answer)
{
    (void)node;
    kc_planner_t *self = s_take (arg);
    if (!self)
        return;
    self->leasing = false;
    kc_memory_task_lease_reply_t *reply = NULL;
    if (answer->code == KC_OK)
        reply = kc_memory_task_lease_reply_decode (answer->payload, answer->payload_size, KC_WIRE, NULL);
    bool failed = !reply;
    if (failed && !self->stopped && answer->code != KC_ETIMEOUT)
        kc_log (KC_WARN, "lease.failed", "code", "s", kc_code_name (answer->code), "text", "s", answer->text, NULL);
    if (reply && reply->granted && reply->document && !self->stopped) {
        for (int i = 0; i < self->n_drives; i++) // our own older lease of it: the new epoch takes over
            if (!strcmp (kc_drive_task (self->drives[i]), reply->task))
                kc_drive_abandon (self->drives[i], "leased again with a newer epoch");
        self->drives[self->n_drives++]
            = kc_drive_new (self->loop, self->node, reply->task, reply->epoch, reply->document, s_drive_ended, self);
    }
    kc_memory_task_lease_reply_free (&reply);
    if (failed && !self->stopped && !self->lease_timer)
        self->lease_timer = kc_loop_timer_add (self->loop, AGAIN_MS, 0, s_lease_again, self);
    else
        s_lease (self);
}

static void s_lease (kc_planner_t *self)
{
    if (self->stopped || self->leasing || self->lease_timer || self->n_drives >= self->max_tasks)
        return;
    kc_memory_task_lease_t *r = kc_memory_task_lease_new ();
    kc_set (&r->holder, kc_node_instance (self->node));
    kc_set (&r->boot, kc_node_boot (self->node));
    r->wait_ms = WAIT_MS;
    self->leasing = s_call (self, "memory.task.lease", &kc_memory_task_lease_type, r, s_on_lease) == 0;
    kc_memory_task_lease_free (&r);
    if (!self->leasing)
        self->lease_timer = kc_loop_timer_add (self->loop, AGAIN_MS, 0, s_lease_again, self);
}

// ---- cancellations ----

static void s_on_events (void *arg, kc_node_t *node, const kc_answer_t *answer)
{
    (void)node;
    kc_planner_t *self = s_take (arg);
    if (!self || self->stopped)
        return;
    kc_memory_events_read_reply_t *reply = NULL;
    if (answer->code == KC_OK)
        reply = kc_memory_events_read_reply_decode (answer->payload, answer->payload_size, KC_WIRE, NULL);
    if (!reply) {
        self->events_timer = kc_loop_timer_add (self->loop, AGAIN_MS, 0, s_events_again, self);
        return;
    }
    self->events_after = reply->last;
    self->events_known = true;
    for (size_t i = 0; i < reply->n_events; i++)
        for (int k = 0; k < self->n_drives; k++)
            if (!strcmp (kc_drive_task (self->drives[k]), reply->events[i].task))
                kc_drive_abandon (self->drives[k], "cancelled");
    kc_memory_events_read_reply_free (&reply);
    s_read_events (self);
}

static void s_read_events (kc_planner_t *self)
{
    if (self->stopped)
        return;
    kc_memory_events_read_t *r = kc_memory_events_read_new ();
    r->after = self->events_after;
    r->from_now = !self->events_known;
    r->wait_ms = self->events_known ? WAIT_MS : 0;
    kc_memory_event_kind_t *kind = kc_push (&r->kinds, &r->n_kinds, sizeof *r->kinds);
    *kind = KC_MEMORY_EVENT_KIND_CANCELLED;
    if (s_call (self, "memory.events.read", &kc_memory_events_read_type, r, s_on_events) < 0)
        self->events_timer = kc_loop_timer_add (self->loop, AGAIN_MS, 0, s_events_again, self);
    kc_memory_events_read_free (&r);
}

// ---- life ----

kc_planner_t *kc_planner_new (kc_loop_t *loop, kc_node_t *node, int tasks)
{
    kc_assert (tasks >= 1 && tasks <= KC_PLANNER_TASKS_MAX);
    kc_planner_t *self = kc_calloc (1, sizeof *self);
    self->loop = loop;
    self->node = node;
    self->max_tasks = tasks;
    self->link = kc_calloc (1, sizeof *self->link);
    self->link->planner = self;
    s_read_events (self);
    s_lease (self);
    return self;
}

void kc_planner_stop (kc_planner_t *self)
{
    self->stopped = true;
    kc_loop_timer_del (self->loop, self->lease_timer);
    kc_loop_timer_del (self->loop, self->events_timer);
    self->lease_timer = self->events_timer = 0;
    for (int i = 0; i < self->n_drives; i++)
        kc_drive_abandon (self->drives[i], "the planner stops");
}

void kc_planner_destroy (kc_planner_t **self_p)
{
    kc_planner_t *self = *self_p;
    if (!self)
        return;
    kc_planner_stop (self);
    while (self->n_drives > 0)
        kc_drive_destroy (&self->drives[--self->n_drives]);
    self->link->planner = NULL;
    if (self->link->calls == 0)
        free (self->link);
    free (self);
    *self_p = NULL;
}

int kc_planner_tasks (const kc_planner_t *self)
{
    return self->n_drives;
}
