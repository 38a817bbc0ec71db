/* bus.h - test helper: a private run directory, a real kc-broker, and worker processes
 */
#ifndef TEST_BUS_H
#define TEST_BUS_H

#include "common/net/kc_node.h"
#include "common/util/kc_spawn.h"

enum { BUS_BEAT_MS = 100, BUS_DEAD_MS = 500 };

typedef struct bus {
    char *dir;
    kc_child_t broker;
} bus_t;

void bus_start (bus_t *bus);        // returns when the broker listens
void bus_start_broker (bus_t *bus); // again, in the same directory
void bus_stop (bus_t *bus);         // everything gone, directory too
// A worker process (bus_worker); returns when it was welcomed.
kc_child_t bus_worker (const bus_t *bus, const char *role, const char *instance,
                       int slots, const char *caps);
void bus_kill (kc_child_t *child, int signal); // and reap when the signal ends it
int bus_wait (kc_child_t *child,
              int timeout_ms); // exit status, -1 = still running, 1000 + signal

#endif // TEST_BUS_H
