// kc_plan.c - the second half of a plan: blocks and loops expanded into steps; see
// kc_plan.h
//
// What a step does is in kc_plan_bind.c (kernels), kc_plan_move.c (copy, fill) and
// kc_plan_library.c; what all steps together must satisfy in kc_plan_flow.c and
// kc_plan_edges.c.

#include "common/model/kc_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/model/kc_finding.h"
#include "common/model/kc_plan_build.h"
#include "common/model/kc_program.h"
#include "common/model/kc_program_text.h"
#include "common/util/kc_mem.h"

enum {
    S_TURNS_MAX =
        1000000,       // loop turns, those whose steps are all switched off included
    S_GRAPH_STEPS = 4, // launch auto: a graph pays beyond
};

static const char *s_role (kc_plan_role_t role)
{
    switch (role) {
    case KC_ROLE_INPUT:
        return "an input";
    case KC_ROLE_PARAM:
        return "a parameter";
    case KC_ROLE_OUTPUT:
        return "an output";
    case KC_ROLE_INOUT:
        return "an inout tensor";
    case KC_ROLE_SCRATCH:
        return "scratch";
    case KC_ROLE_PREPARED:
        return "a prepared buffer";
    }
    return "?";
}

// ---- helpers of all kinds of step ----

void kc_plan_touch (kc_plan_step_t *step, int buffer, int64_t from, int64_t to,
                    bool writes)
{
    for (size_t i = 0; i < step->n_ranges; i++)
        if (step->ranges[i].buffer == buffer && step->ranges[i].from == from
            && step->ranges[i].to == to) {
            step->ranges[i].writes = step->ranges[i].writes || writes;
            return;
        }
    kc_plan_range_t *r = kc_push (&step->ranges, &step->n_ranges, sizeof *r);
    *r = (kc_plan_range_t){.buffer = buffer, .from = from, .to = to, .writes = writes};
}

// Steps grow by doubling: kc_push would copy the whole array for each of 20,000.
static kc_plan_step_t *s_append (kc_plan_t *plan)
{
    size_t n = plan->n_steps;
    if ((n & (n - 1)) == 0)
        plan->steps = kc_realloc (plan->steps, (n ? 2 * n : 1) * sizeof *plan->steps);
    kc_plan_step_t *s = &plan->steps[plan->n_steps++];
    *s = (kc_plan_step_t){
        .kernel = -1, .src = -1, .dst = -1, .carveout = -1, .source_step = -1};
    return s;
}

kc_plan_step_t *kc_plan_add_step (kc_plan_build_t *b, kc_plan_op_t op)
{
    if (b->plan->n_steps >= KC_PLAN_MAX_STEPS) {
        kc_env_bad (b->env, 0,
                    "the plan has more than %d steps; let a kernel loop instead",
                    KC_PLAN_MAX_STEPS);
        return NULL;
    }
    kc_plan_step_t *s = s_append (b->plan);
    s->op = op;
    s->source_step = b->env->step;
    return s;
}

int kc_plan_may_use (kc_plan_build_t *b, const kc_env_tensor_t *t, const char *who)
{
    const kc_plan_buffer_t *buffer = &b->plan->buffers[t->buffer];
    if (b->prepare && buffer->role != KC_ROLE_PARAM && buffer->role != KC_ROLE_PREPARED)
        return kc_env_bad (
            b->env, 0,
            "%s: prepare sees parameters and prepared buffers only, %s is %s", who,
            t->name, s_role (buffer->role));
    return 0;
}

int kc_plan_may_write (kc_plan_build_t *b, const kc_env_tensor_t *t, int line,
                       const char *who)
{
    const kc_plan_buffer_t *buffer = &b->plan->buffers[t->buffer];
    switch (buffer->role) {
    case KC_ROLE_INPUT:
    case KC_ROLE_PARAM:
        return kc_env_bad (b->env, line, "%s: %s is %s", who, buffer->name,
                           s_role (buffer->role));
    case KC_ROLE_PREPARED:
        if (!b->prepare)
            return kc_env_bad (b->env, line,
                               "%s: %s is a prepared buffer, only prepare writes it",
                               who, buffer->name);
        break;
    case KC_ROLE_OUTPUT:
    case KC_ROLE_INOUT:
    case KC_ROLE_SCRATCH:
        break;
    }
    return 0;
}

int kc_plan_tensor (kc_plan_build_t *b, const char *what, const char *name,
                    kc_env_tensor_t *t)
{
    kc_err_t err = {0};
    int rc = kc_env_tensor (b->env, name, false, t, &err);
    if (rc > 0)
        return kc_plan_may_use (b, t, what);
    if (rc < 0)
        return kc_env_bad (b->env, 0, "%s: %s", what, err.text);
    char *names = kc_env_names (b->env, true);
    kc_env_bad (b->env, 0, "%s: there is no tensor '%s'; known: %s", what, name, names);
    free (names);
    return -1;
}

// ---- expansion ----

// Put the zeroing of a buffer in front of its first user, the steps from 'first' on.
static int s_zero_before (kc_plan_build_t *b, size_t first)
{
    kc_plan_t *plan = b->plan;
    for (size_t s = first; s < plan->n_steps; s++)
        for (size_t r = 0; r < plan->steps[s].n_ranges; r++) {
            int index = plan->steps[s].ranges[r].buffer;
            if (!plan->buffers[index].zero || b->zeroed[index])
                continue;
            b->zeroed[index] = true;
            kc_plan_step_t *fill = kc_plan_add_step (b, KC_PLAN_FILL);
            if (!fill)
                return -1;
            fill->source_step = -1;
            fill->dst = index;
            fill->bytes = plan->buffers[index].bytes;
            fill->pattern_size = fill->bytes % 4 ? 1 : 4;
            kc_plan_touch (fill, index, 0, fill->bytes, true);
            kc_plan_step_t moved = *fill; // rotate it to the front of the new steps
            memmove (&plan->steps[first + 1], &plan->steps[first],
                     (plan->n_steps - 1 - first) * sizeof moved);
            plan->steps[first] = moved;
            s++;
        }
    return 0;
}

static int s_step (kc_plan_build_t *b, const kc_program_step_t *step)
{
    kc_env_t *env = b->env;
    const kc_type_t *type;
    const void *object = kc_program_step_object (step, &type);
    const char *when = kc_field_string (kc_type_field (type, "when"), object);
    bool yes = true;
    kc_err_t err;
    if (when && kc_env_bool (env, when, &yes, &err) < 0)
        return kc_env_bad (env, 0, "when: %s", err.text);
    if (!yes)
        return 0;
    size_t first = b->plan->n_steps;
    int rc = -1;
    switch (step->kind) {
    case KC_PROGRAM_STEP_UNSET:
        break;
    case KC_PROGRAM_STEP_KERNEL:
        rc = kc_plan_kernel_step (b, step->u.kernel);
        break;
    case KC_PROGRAM_STEP_COPY:
        rc = kc_plan_copy_step (b, step->u.copy);
        break;
    case KC_PROGRAM_STEP_FILL:
        rc = kc_plan_fill_step (b, step->u.fill);
        break;
    case KC_PROGRAM_STEP_MATMUL:
    case KC_PROGRAM_STEP_CONV:
    case KC_PROGRAM_STEP_RNN:
    case KC_PROGRAM_STEP_ATTENTION:
        rc = kc_plan_library_step (b, step);
        break;
    }
    return rc < 0 ? -1 : s_zero_before (b, first);
}

// Run through the steps of a block once, the loop indices being set.  -1 = give up
// altogether.
static int s_turn (kc_plan_build_t *b, const kc_program_block_t *block, int first_step)
{
    for (size_t i = 0; i < block->n_steps; i++) {
        int source = first_step + (int)i;
        if (b->failed[source])
            continue;
        b->env->step = source;
        if (s_step (b, &block->steps[i]) < 0) {
            b->failed[source] = true;
            b->bad = true;
            if (b->plan->n_steps >= KC_PLAN_MAX_STEPS)
                return -1;
        }
        b->env->kernel = b->env->kernel_full = NULL;
        b->env->block = 0;
    }
    b->env->step = -1;
    return 0;
}

static int s_loops (kc_plan_build_t *b, const kc_program_block_t *block, int first_step,
                    size_t depth, int64_t *turns)
{
    if (depth == block->n_for_)
        return s_turn (b, block, first_step);
    kc_env_t *env = b->env;
    const kc_program_loop_t *loop = &block->for_[depth];
    int64_t count = 0;
    kc_err_t err;
    env->step = first_step;
    if (kc_env_int (env, loop->count, &count, &err) < 0)
        return kc_env_bad (env, 0, "for %s: %s", loop->index, err.text);
    if (count < 0)
        return kc_env_bad (env, 0,
                           "for %s in %s: the count is %lld, it cannot be negative",
                           loop->index, loop->count, (long long)count);
    env->loops[env->n_loops].index = loop->index;
    env->n_loops++;
    int rc = 0;
    for (int64_t i = 0; i < count && rc == 0; i++) {
        env->loops[env->n_loops - 1].value = i;
        if (++*turns > S_TURNS_MAX)
            rc = kc_env_bad (
                env, 0, "the loops turn more than %d times; let a kernel loop instead",
                S_TURNS_MAX);
        else
            rc = s_loops (b, block, first_step, depth + 1, turns);
    }
    env->n_loops--;
    return rc;
}

static int s_blocks (kc_plan_build_t *b, const kc_program_block_t *blocks, size_t n,
                     int *step)
{
    int64_t turns = 0;
    for (size_t i = 0; i < n; i++) {
        bool yes = true;
        kc_err_t err;
        b->env->step = *step;
        if (blocks[i].when && kc_env_bool (b->env, blocks[i].when, &yes, &err) < 0) {
            kc_env_bad (b->env, 0, "if: %s", err.text);
            b->bad = true;
            yes = false;
        }
        if (yes && s_loops (b, &blocks[i], *step, 0, &turns) < 0) {
            b->bad = true;
            return -1;
        }
        *step += (int)blocks[i].n_steps;
    }
    b->env->step = -1;
    return 0;
}

// ---- the whole ----

// A view that depends on no loop index is checked even when no step uses it.
static void s_check_views (kc_plan_build_t *b)
{
    for (size_t i = 0; i < b->env->program->n_views; i++) {
        kc_env_tensor_t t;
        kc_err_t err = {0};
        const kc_program_view_t *v = &b->env->program->views[i];
        if (kc_env_tensor (b->env, v->name, false, &t, &err) >= 0)
            continue;
        bool loop =
            false; // an index is unknown outside its loop: the steps inside will tell
        for (int part = 0; part < 2 && !loop; part++) {
            const kc_program_block_t *blocks =
                part ? b->env->program->blocks : b->env->program->prepare;
            size_t n = part ? b->env->program->n_blocks : b->env->program->n_prepare;
            for (size_t k = 0; k < n && !loop; k++)
                for (size_t l = 0; l < blocks[k].n_for_ && !loop; l++) {
                    char word[80];
                    snprintf (word, sizeof word, "unknown name '%s'",
                              blocks[k].for_[l].index);
                    loop = strstr (err.text, word) != NULL;
                }
        }
        if (!loop) {
            kc_env_bad (b->env, 0, "%s", err.text);
            b->bad = true;
        }
    }
}

static void s_take_buffers (kc_plan_build_t *b)
{
    kc_plan_t *plan = b->plan;
    plan->n_buffers = b->env->n_buffers;
    plan->buffers = kc_calloc (plan->n_buffers + 1, sizeof *plan->buffers);
    for (size_t i = 0; i < plan->n_buffers; i++) {
        plan->buffers[i] = b->env->buffers[i];
        plan->buffers[i].name = kc_strdup (b->env->buffers[i].name);
    }
}

static void s_take_kernels (kc_plan_t *plan, const kc_kernel_facts_t *kernels, size_t n)
{
    plan->n_kernels = n;
    plan->kernels = kc_calloc (n + 1, sizeof *plan->kernels);
    for (size_t i = 0; i < n; i++) {
        plan->kernels[i] = kernels[i];
        plan->kernels[i].name = kc_strdup (kernels[i].name);
        plan->kernels[i].symbol = kc_strdup (kernels[i].symbol);
    }
}

static void s_take_dims (kc_plan_t *plan, const kc_env_t *env)
{
    plan->n_dims = env->n_dims;
    plan->dims = kc_calloc (env->n_dims + 1, sizeof *plan->dims);
    for (size_t i = 0; i < env->n_dims; i++) {
        plan->dims[i] = env->dims[i];
        plan->dims[i].name = kc_strdup (env->dims[i].name);
    }
}

static void s_expand (kc_plan_build_t *b)
{
    const kc_program_t *p = b->env->program;
    kc_plan_t *plan = b->plan;
    int step = 0;
    if (p->n_prepare && b->env->card->prepare == KC_CARD_PREPARE_NONE) {
        kc_env_bad (
            b->env, 0,
            "this task allows no prepare blocks; do the work in the timed steps");
        b->bad = true;
        return;
    }
    b->prepare = true;
    if (s_blocks (b, p->prepare, p->n_prepare, &step) < 0)
        return;
    plan->n_prepare = plan->n_steps;
    b->prepare = false;
    if (s_blocks (b, p->blocks, p->n_blocks, &step) < 0 || b->bad)
        return;
    if (plan->n_steps == plan->n_prepare) {
        char *dims = kc_env_dims (b->env);
        kc_env_bad (b->env, 0, "no step applies at %s: every condition is false there",
                    *dims ? dims : "these sizes");
        free (dims);
        b->bad = true;
    }
}

kc_plan_t *kc_plan_build (const kc_card_t *card, const kc_program_t *program,
                          const kc_task_setting_t *dims, size_t n_dims,
                          const kc_device_facts_t *facts,
                          const kc_kernel_facts_t *kernels, size_t n_kernels,
                          kc_verdict_t *findings)
{
    kc_plan_build_t b = {0};
    b.env =
        kc_env_new (card, program, dims, n_dims, facts, kernels, n_kernels, findings);
    if (!b.env)
        return NULL;
    kc_plan_t *plan = b.plan = kc_calloc (1, sizeof *b.plan);
    b.failed = kc_calloc (kc_program_n_steps (program) + 1, sizeof *b.failed);
    b.zeroed = kc_calloc (b.env->n_buffers + 1, sizeof *b.zeroed);
    s_take_buffers (&b);
    s_take_kernels (plan, kernels, kernels ? n_kernels : 0);
    s_take_dims (plan, b.env);
    plan->dataflow = program->order == KC_PROGRAM_ORDER_DATAFLOW;
    s_check_views (&b);
    s_expand (&b);
    if (!b.bad && kc_plan_check_flow (&b) < 0)
        b.bad = true;
    if (!b.bad) {
        plan->graph = program->launch == KC_PROGRAM_LAUNCH_GRAPH
                      || (program->launch != KC_PROGRAM_LAUNCH_STREAM
                          && plan->n_steps > S_GRAPH_STEPS);
        if (plan->dataflow)
            kc_plan_edges (plan);
        // a dry plan may hold what no device executes yet; without any kernel, it is
        // never dry
        bool dry = false;
        for (size_t i = 0; i < plan->n_steps && !kernels && !dry; i++)
            dry = plan->steps[i].op == KC_PLAN_KERNEL;
        if (!dry && kc_plan_runnable (plan, findings) < 0)
            b.bad = true;
    }
    kc_env_destroy (&b.env);
    free (b.failed);
    free (b.zeroed);
    if (b.bad)
        kc_plan_destroy (&plan);
    return plan;
}

void kc_plan_destroy (kc_plan_t **self_p)
{
    kc_plan_t *plan = *self_p;
    if (!plan)
        return;
    for (size_t i = 0; i < plan->n_buffers; i++)
        free (plan->buffers[i].name);
    free (plan->buffers);
    for (size_t i = 0; i < plan->n_kernels; i++) {
        free (plan->kernels[i].name);
        free (plan->kernels[i].symbol);
    }
    free (plan->kernels);
    for (size_t i = 0; i < plan->n_steps; i++) {
        free (plan->steps[i].args);
        free (plan->steps[i].symbol);
        free (plan->steps[i].ranges);
        free (plan->steps[i].after);
    }
    free (plan->steps);
    for (size_t i = 0; i < plan->n_dims; i++)
        free (plan->dims[i].name);
    free (plan->dims);
    for (size_t i = 0; i < plan->n_warnings; i++)
        free (plan->warnings[i]);
    free (plan->warnings);
    free (plan);
    *self_p = NULL;
}

int kc_plan_runnable (const kc_plan_t *plan, kc_verdict_t *findings)
{
    for (size_t i = 0; i < plan->n_steps; i++) {
        const char *what = NULL;
        switch (plan->steps[i].op) {
        case KC_PLAN_KERNEL:
        case KC_PLAN_COPY:
        case KC_PLAN_FILL:
            break;
        case KC_PLAN_MATMUL:
            what = "matmul";
            break;
        case KC_PLAN_CONV:
            what = "conv";
            break;
        case KC_PLAN_RNN:
            what = "rnn";
            break;
        case KC_PLAN_ATTENTION:
            what = "attention";
            break;
        }
        if (what)
            return kc_finding (
                findings, KC_VERDICT_STATUS_UNSUPPORTED, 0, plan->steps[i].source_step,
                "library steps are not executed yet: write the %s as a kernel", what);
    }
    if (plan->tensormaps)
        return kc_finding (findings, KC_VERDICT_STATUS_UNSUPPORTED, 0, -1,
                           "tensor maps are not executed yet: load the tiles with "
                           "ordinary or cp.async copies");
    return 0;
}
