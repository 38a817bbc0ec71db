/* cuda_run.c - one run of a plan, and the audited run
 *
 * The audit runs every step alone, so a fault has a step, and hashes all buffers after
 * each: nothing may change but what the step declares as written.
 */
#include "agents/gpu/cuda/cuda_dev.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/util/kc_mem.h"

static bool s_declares (const kc_plan_step_t *step, int buffer)
{
    for (size_t i = 0; i < step->n_ranges; i++)
        if (step->ranges[i].buffer == buffer && step->ranges[i].writes)
            return true;
    return false;
}

static int s_hash_all (kc_cuda_dev_t *self, const kc_dev_arena_t *arena, uint64_t *out,
                       kc_dev_finding_t *finding)
{
    kc_cuda_segment_t *segments = kc_calloc (arena->n + 1, sizeof *segments);
    kc_err_t err;
    for (size_t i = 0; i < arena->n; i++)
        segments[i] =
            (kc_cuda_segment_t){arena->places[i].address, arena->places[i].bytes, 0};
    int rc = kc_cuda_hash (self, segments, arena->n, out, &err);
    free (segments);
    return rc < 0 ? kc_cuda_infra (self, finding, &err) : 0;
}

static int s_undeclared (const kc_cuda_bound_t *bound, int index, size_t buffer,
                         kc_dev_finding_t *finding)
{
    const kc_plan_t *plan = bound->plan;
    const kc_plan_step_t *step = &plan->steps[index];
    const char *kernel =
        step->kernel >= 0 ? plan->kernels[step->kernel].name : "(no kernel)";
    const bool input = plan->buffers[buffer].readonly;
    kc_cuda_find (finding,
                  input ? KC_VERDICT_STATUS_INPUT_MUTATED
                        : KC_VERDICT_STATUS_OUT_OF_BOUNDS,
                  "step %d, kernel %s, changed %s, which it does not declare as "
                  "written: a store through a "
                  "cast, or past the end of another buffer",
                  index, kernel, plan->buffers[buffer].name);
    finding->step = index;
    snprintf (finding->kernel, sizeof finding->kernel, "%s", kernel);
    snprintf (finding->buffer, sizeof finding->buffer, "%s",
              plan->buffers[buffer].name);
    return -1;
}

static int s_audit (kc_cuda_dev_t *self, const kc_cuda_bound_t *bound,
                    const kc_dev_limits_t *limits, kc_dev_finding_t *finding)
{
    const kc_dev_arena_t *arena = bound->arena;
    uint64_t *before = kc_calloc (arena->n + 1, sizeof *before);
    uint64_t *after = kc_calloc (arena->n + 1, sizeof *after);
    int rc = s_hash_all (self, arena, before, finding);
    for (size_t i = 0; i < bound->plan->n_steps && rc == 0; i++) {
        rc = kc_cuda_launch_step (self, bound, (int)i, finding);
        if (rc == 0)
            rc = kc_cuda_settle (self, bound, (int)i, limits, finding);
        if (rc == 0)
            rc = s_hash_all (self, arena, after, finding);
        for (size_t b = 0; b < arena->n && rc == 0; b++) {
            if (after[b] != before[b] && !s_declares (&bound->plan->steps[i], (int)b))
                rc = s_undeclared (bound, (int)i, b, finding);
            before[b] = after[b];
        }
    }
    free (before);
    free (after);
    return rc;
}

int kc_cuda_run (kc_dev_t *dev, const kc_dev_contestant_t *who, bool audit,
                 const kc_dev_limits_t *limits, kc_dev_finding_t *finding)
{
    kc_cuda_dev_t *self = (kc_cuda_dev_t *)dev;
    kc_cuda_bound_t bound;
    memset (finding, 0, sizeof *finding);
    finding->status = KC_VERDICT_STATUS_OK;
    finding->step = -1;
    if (kc_cuda_bind (self, who, &bound, finding) < 0)
        return -1;
    int rc = 0;
    if (audit)
        rc = s_audit (self, &bound, limits, finding);
    else {
        const bool graph = who->plan->graph && who->plan->n_steps > 0;
        if (graph)
            rc = kc_cuda_graph (self, &bound, finding);
        if (rc == 0)
            rc = kc_cuda_launch (self, &bound, graph, finding);
        if (rc == 0)
            rc = kc_cuda_settle (self, &bound, -1, limits, finding);
    }
    kc_cuda_unbind (self, &bound);
    return rc;
}
