// kc_roles.c - see kc_roles.h

#include "broker/core/kc_roles.h"

#include <string.h>

#include "common/util/kc_mem.h"

#define CLIENT (1u << KC_ROLE_CLIENT)
#define PLANNER (1u << KC_ROLE_PLANNER)
#define CODER (1u << KC_ROLE_CODER)
#define REPAIR (1u << KC_ROLE_REPAIR)
#define EVALUATOR (1u << KC_ROLE_EVALUATOR)
#define PROFILER (1u << KC_ROLE_PROFILER)
#define ADMIN (1u << KC_ROLE_ADMIN)
#define DRIVE (PLANNER | ADMIN)           // what only a planner does in ordinary life
#define PEOPLE (CLIENT | PLANNER | ADMIN) // what the command line does, too
#define WRITERS (CODER | REPAIR)
#define WORKERS (CODER | REPAIR | EVALUATOR | PROFILER)

static const kc_op_t s_ops[] = {
    {"memory.task.create", KC_ROLE_MEMORY, PEOPLE, false, false},
    {"memory.task.get", KC_ROLE_MEMORY, PEOPLE, false, false},
    {"memory.task.list", KC_ROLE_MEMORY, PEOPLE, false, false},
    {"memory.task.cancel", KC_ROLE_MEMORY, PEOPLE, false, false},
    {"memory.task.lease", KC_ROLE_MEMORY, DRIVE, false, false},
    {"memory.task.renew", KC_ROLE_MEMORY, DRIVE, false, false},
    {"memory.task.finish", KC_ROLE_MEMORY, DRIVE, false, false},
    {"memory.step.append", KC_ROLE_MEMORY, DRIVE, false, false},
    {"memory.trajectory.get", KC_ROLE_MEMORY, PEOPLE | WRITERS, false, false},
    {"memory.events.read", KC_ROLE_MEMORY, PEOPLE, false, false},
    {"memory.method.match", KC_ROLE_MEMORY, PEOPLE, false, false},
    {"memory.method.list", KC_ROLE_MEMORY, PEOPLE, false, false},
    {"memory.method.show", KC_ROLE_MEMORY, PEOPLE, false, false},
    {"memory.method.put", KC_ROLE_MEMORY, PEOPLE, false, false},
    {"memory.verdict.lookup", KC_ROLE_MEMORY, DRIVE, false, false},
    {"memory.llm.begin", KC_ROLE_MEMORY, DRIVE | WRITERS, false, false},
    {"memory.llm.end", KC_ROLE_MEMORY, DRIVE | WRITERS, false, false},
    {"memory.blob.put", KC_ROLE_MEMORY, PEOPLE | WORKERS, false, true},
    {"memory.blob.get", KC_ROLE_MEMORY, PEOPLE | WORKERS, false, true},
    {"memory.stats", KC_ROLE_MEMORY, PEOPLE, false, false},
    {"memory.backup", KC_ROLE_MEMORY, ADMIN, false, false},
    {"coder.seed", KC_ROLE_CODER, DRIVE, true, false},
    {"coder.optimise", KC_ROLE_CODER, DRIVE, true, false},
    {"repair.fix", KC_ROLE_REPAIR, DRIVE, true, false},
    {"evaluator.inspect", KC_ROLE_EVALUATOR, DRIVE, false, false},
    {"evaluator.evaluate", KC_ROLE_EVALUATOR, DRIVE, false, false},
    {"profiler.profile", KC_ROLE_PROFILER, DRIVE, false, false},
    {"broker.fleet.status", KC_ROLE_NONE, PEOPLE, false, false},
    {"broker.fleet.drain", KC_ROLE_NONE, ADMIN, false, false},
};

static const char *const s_roles[KC_ROLE_COUNT] = {
    "",          "client",   "planner", "coder", "repair",
    "evaluator", "profiler", "memory",  "admin",
};

size_t kc_op_count (void)
{
    return KC_COUNT (s_ops);
}

const kc_op_t *kc_op_at (size_t index)
{
    kc_assert (index < KC_COUNT (s_ops));
    return &s_ops[index];
}

const kc_op_t *kc_op_find (const char *name)
{
    for (size_t i = 0; i < KC_COUNT (s_ops); i++)
        if (strcmp (s_ops[i].name, name) == 0)
            return &s_ops[i];
    return NULL;
}

bool kc_op_may_call (const kc_op_t *op, kc_role_t role)
{
    return (op->callers >> role & 1u) != 0;
}

kc_role_t kc_role_parse (const char *name)
{
    for (int i = 1; i < KC_ROLE_COUNT; i++)
        if (strcmp (s_roles[i], name) == 0)
            return (kc_role_t)i;
    return KC_ROLE_NONE;
}

const char *kc_role_name (kc_role_t role)
{
    return s_roles[role];
}
