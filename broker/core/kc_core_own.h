/* kc_core_own.h - the inside of the dispatch core, shared by its three files and nobody
 * else
 *
 * kc_core.c     works (requests): accept, grant, end, deadlines
 * kc_session.c  sessions: hello, liveness, loss, displacement, views
 * kc_queue.c    ready queues: one per operation and need, round robin over flows,
 * members with credit
 */
#ifndef KC_CORE_OWN_H
#define KC_CORE_OWN_H

#include <sys/queue.h>

#include "broker/core/kc_core.h"
#include "common/net/kc_heap.h"
#include "common/util/kc_map.h"

typedef struct kc_work kc_work_t;
typedef struct kc_session kc_session_t;
typedef struct kc_queue kc_queue_t;
typedef struct kc_flow kc_flow_t;
typedef struct kc_waiter kc_waiter_t;

typedef enum kc_work_state {
    KC_WORK_QUEUED = 1,
    KC_WORK_RUNNING, // granted to 'worker'
    KC_WORK_ENDING, // everybody was answered; 'worker' was told to cancel and still has
                    // the slot
} kc_work_state_t;

struct kc_waiter { // one requester of one work
    kc_work_t *work;
    kc_session_t *session;
    TAILQ_ENTRY (kc_waiter) of_work, of_session;
};

typedef TAILQ_HEAD (kc_waiters, kc_waiter) kc_waiters_t;
typedef TAILQ_HEAD (kc_works, kc_work) kc_works_t;

typedef enum kc_timer_kind { KC_TIMER_WORK = 1, KC_TIMER_SESSION } kc_timer_kind_t;

typedef struct kc_timer { // first member of work and session
    kc_heap_item_t due;
    kc_timer_kind_t kind;
} kc_timer_t;

struct kc_work {
    kc_timer_t timer; // the earlier of ttl and orphan end
    kc_work_state_t state;
    const char *id, *flow; // in the same allocation
    char sum[17];
    const kc_op_t *op;
    kc_parcel_t *parcel;
    kc_queue_t *queue;
    kc_flow_t *lane; // while queued
    TAILQ_ENTRY (kc_work)
    link; // in the lane while queued, in the worker's list while running
    kc_session_t *worker;
    kc_waiters_t waiters;
    kc_waiter_t first; // the first waiter needs no allocation
    bool first_used;
    int n_waiters;
    char from[KC_WORD_MAX + 1]; // the requester last seen
    int64_t queued_at;
    int64_t expires;   // 0 = never
    int64_t orphan_at; // 0 = somebody waits
    int losses, handbacks;
    char *killers; // "coder-1@h boot 12ab (silent for 4000 ms)", each loss
    char first_killer[KC_WORD_MAX + 1]; // boot
};

struct kc_flow { // queued requests of one flow in one queue
    char *name;
    kc_works_t works;
    size_t n;
    TAILQ_ENTRY (kc_flow) link;
};

struct kc_queue {
    const kc_op_t *op;
    size_t op_index;
    char *key; // need as text
    kc_need_t need;
    TAILQ_HEAD (, kc_flow) ring; // flows with something waiting; the head is next
    kc_map_t *flows;
    size_t waiting;
    size_t users; // works that point here
    kc_session_t **members;
    size_t n_members, next, n_free; // n_free = members with credit
    TAILQ_ENTRY (kc_queue) link;    // all queues of the operation
};

struct kc_session {
    kc_timer_t timer; // liveness
    uint32_t peer;
    char *instance, *boot, *build;
    kc_role_t role;
    int64_t pid, slots, since, seen, served;
    bool ops[64]; // by index of the operation
    kc_facts_t caps;
    bool draining;
    bool closed;        // gets nothing: it ends, or its works are being sorted
    int running;        // granted works, ending ones included
    kc_works_t works;   // those
    kc_waiters_t waits; // own open requests
    int n_waits;
    kc_queue_t **queues; // member of these
    size_t n_queues, next_queue;
    char **held; // ids registered in core->held
    size_t n_held;
};

typedef TAILQ_HEAD (kc_queues, kc_queue) kc_queues_t;

typedef struct kc_held { // a worker said that it runs or keeps this id
    kc_session_t *session;
    int64_t until;
} kc_held_t;

struct kc_core {
    kc_core_config_t config;
    int64_t started, last_tick;
    kc_session_t **peers; // by peer number
    size_t n_peers;
    size_t n_sessions;
    kc_map_t *instances; // -> kc_session_t
    kc_map_t *works;     // id -> kc_work_t
    kc_map_t *op_index;  // name -> 1 + index
    kc_map_t *held;      // id -> kc_held_t
    kc_queues_t *queues; // per operation
    size_t n_queues;
    kc_heap_t heap;
    size_t bytes;
    char *ousted[KC_OUSTED_MAX]; // "instance boot", a ring
    size_t next_ousted;
    kc_effect_t *effects; // a ring
    size_t effects_at, n_effects, room_effects;
    kc_counters_t count;
    bool paid_open; // the fresh-broker rule is over
};

// kc_core.c
kc_effect_t *kc_core_effect (kc_core_t *self, kc_do_t kind, uint32_t peer);
void kc_core_error (kc_core_t *self, uint32_t peer, const char *id, kc_code_t code,
                    int64_t retry, const char *text);
void kc_work_grant (kc_core_t *self, kc_work_t *work, kc_session_t *session, bool bind,
                    int64_t now);
// The worker of a running work is gone or gives it back.
void kc_work_return (kc_core_t *self, kc_work_t *work, bool lost, const char *why,
                     int64_t now);
void kc_work_drop_waiter (kc_core_t *self, kc_waiter_t *waiter, int64_t now);
void kc_work_destroy (kc_core_t *self, kc_work_t *work);

// kc_queue.c
kc_queue_t *kc_queue_get (kc_core_t *self, size_t op_index, const char *key,
                          const kc_need_t *need); // NULL = full
void kc_queue_destroy (kc_core_t *self, kc_queue_t *queue);
bool kc_queue_full (const kc_queue_t *queue, const char *flow);
void kc_queue_put (kc_queue_t *queue, kc_work_t *work, bool front);
void kc_queue_cut (kc_queue_t *queue, kc_work_t *work); // take a queued work out
void kc_queue_pump (kc_core_t *self, kc_queue_t *queue, int64_t now);
bool kc_queue_open (const kc_core_t *self,
                    const kc_queue_t *queue); // the fresh-broker rule lets it go
void kc_queue_held (const kc_core_t *self, const kc_queue_t *queue, char *out,
                    size_t room, int64_t now);
void kc_queue_leave (kc_session_t *session);                 // out of every queue
void kc_queue_join (kc_core_t *self, kc_session_t *session); // into those it can serve

// kc_session.c
int64_t kc_session_credit (const kc_session_t *session);
void kc_session_credit_changed (kc_session_t *session, int64_t before);
void kc_session_pump (kc_core_t *self, kc_session_t *session, int64_t now);
void kc_session_judge (kc_core_t *self, kc_session_t *session, int64_t now);
void kc_session_destroy (kc_core_t *self, kc_session_t *session);
void kc_held_put (kc_core_t *self, kc_session_t *session, const char *id, int64_t now);
kc_session_t *kc_held_find (kc_core_t *self, const char *id, int64_t now);

#endif // KC_CORE_OWN_H
