/* mem_fleet.h - a real broker and a real kc-memory in a private folder, for tests and
 * benchmarks */
#ifndef MEM_FLEET_H
#define MEM_FLEET_H

#include "common/net/kc_node.h"
#include "common/util/kc_spawn.h"

typedef struct mem_fleet {
    char *dir;  // everything is below it
    char *file; // memory.db
    kc_child_t broker, memory;
    int leash[2]; // both processes end when this one does, whatever way
    int ready;    // read end of the memory's --notify-fd; -1 = told already
} mem_fleet_t;

void mem_fleet_new (mem_fleet_t *f);          // the folder only
void mem_fleet_start_broker (mem_fleet_t *f); // and wait until it is ready
void mem_fleet_spawn_memory (mem_fleet_t *f); // does not wait
bool mem_fleet_is_ready (mem_fleet_t *f, int wait_ms);
int mem_fleet_stop_memory (
    mem_fleet_t *f); // TERM; its exit status, 1000 + signal, -1 = had to be killed
void mem_fleet_end (mem_fleet_t *f,
                    bool keep); // kill what runs, remove the folder unless 'keep'

// A call that must succeed; the answer (free it) or the end of the program.
kc_answer_t mem_fleet_ask (kc_node_t *node, const char *op, const char *json,
                           const void *chunk, size_t chunk_size);

#endif // MEM_FLEET_H
