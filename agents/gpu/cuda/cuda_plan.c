/* cuda_plan.c - a plan on the device: binding, launching, one CUDA graph
 *
 * A bound plan holds everything a launch needs, so that launching allocates nothing and
 * the time between two launches is the driver's.  The order on the stream is the
 * plan's; a graph keeps the declared order of a dataflow plan ('after') or a chain.
 */
#include "agents/gpu/cuda/cuda_dev.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/util/kc_mem.h"

enum { MAX_ATTRIBUTES = 2, PORTABLE_CLUSTER = 8 };

// ---- binding ----

static uint64_t s_volume (const uint32_t d[3])
{
    return (uint64_t)d[0] * d[1] * d[2];
}

static bool s_has_cluster (const kc_plan_step_t *step)
{
    return s_volume (step->cluster) > 0;
}

static void s_config (const kc_cuda_dev_t *self, const kc_plan_step_t *step,
                      kc_cu_launch_attribute_t attributes[MAX_ATTRIBUTES],
                      kc_cu_launch_config_t *out)
{
    unsigned n = 0;
    if (s_has_cluster (step)) {
        memset (&attributes[n], 0, sizeof attributes[n]);
        attributes[n].id = KC_CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
        attributes[n].value.clusterDim.x = step->cluster[0];
        attributes[n].value.clusterDim.y = step->cluster[1];
        attributes[n].value.clusterDim.z = step->cluster[2];
        n++;
    }
    if (step->cooperative) {
        memset (&attributes[n], 0, sizeof attributes[n]);
        attributes[n].id = KC_CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
        attributes[n].value.cooperative = 1;
        n++;
    }
    *out = (kc_cu_launch_config_t){
        .gridDimX = step->grid[0],
        .gridDimY = step->grid[1],
        .gridDimZ = step->grid[2],
        .blockDimX = step->block[0],
        .blockDimY = step->block[1],
        .blockDimZ = step->block[2],
        .sharedMemBytes = (unsigned)step->shared,
        .hStream = self->stream,
        .attrs = n ? attributes : NULL,
        .numAttrs = n,
    };
}

// A launch that cannot work, in words; the text is the finding.
static int s_refuse (const kc_plan_t *plan, int step, kc_dev_finding_t *finding,
                     const char *text)
{
    const kc_kernel_facts_t *kernel = &plan->kernels[plan->steps[step].kernel];
    kc_cuda_find (finding, KC_VERDICT_STATUS_LAUNCH_ERROR, "step %d, kernel %s: %s",
                  step, kernel->name, text);
    finding->step = step;
    snprintf (finding->kernel, sizeof finding->kernel, "%s", kernel->name);
    return -1;
}

// Limits of one launch against the device and the compiled kernel (kernel-program 1.10
// S6).
static int s_check_step (kc_cuda_dev_t *self, const kc_plan_t *plan, int index,
                         kc_cu_function_t f, kc_dev_finding_t *finding)
{
    const kc_plan_step_t *step = &plan->steps[index];
    const kc_device_facts_t *facts = &self->base.info.facts;
    const uint64_t threads = s_volume (step->block), blocks = s_volume (step->grid);
    char text[256];
    int most = 0, fixed = 0;
    if (kc_cuda_run_ok (self,
                        self->cu->FuncGetAttribute (
                            &most, KC_CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f),
                        plan, index, finding, "asking for the kernel's limits")
            < 0
        || kc_cuda_run_ok (self,
                           self->cu->FuncGetAttribute (
                               &fixed, KC_CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, f),
                           plan, index, finding,
                           "asking for the kernel's shared memory")
               < 0)
        return -1;
    if (threads == 0 || blocks == 0)
        return s_refuse (plan, index, finding, "an empty grid or block");
    if (threads > (uint64_t)most) {
        snprintf (
            text, sizeof text,
            "%llu threads per block, and the compiled kernel allows %d (registers or "
            "__launch_bounds__)",
            (unsigned long long)threads, most);
        return s_refuse (plan, index, finding, text);
    }
    for (int i = 0; i < 3; i++) {
        if ((int64_t)step->grid[i] > facts->max_grid[i]) {
            snprintf (text, sizeof text,
                      "grid dimension %d is %u, and %lld is the limit", i,
                      step->grid[i], (long long)facts->max_grid[i]);
            return s_refuse (plan, index, finding, text);
        }
    }
    if (step->shared + fixed > facts->shared_block) {
        snprintf (text, sizeof text,
                  "%lld bytes of dynamic and %d of static shared memory, and a block "
                  "may have %lld",
                  (long long)step->shared, fixed, (long long)facts->shared_block);
        return s_refuse (plan, index, finding, text);
    }
    if (s_has_cluster (step)) {
        if (!self->clusters)
            return s_refuse (plan, index, finding, "this GPU has no clusters");
        for (int i = 0; i < 3; i++)
            if (step->grid[i] % step->cluster[i])
                return s_refuse (plan, index, finding,
                                 "the grid is no multiple of the cluster");
    }
    if (step->cooperative && !self->cooperative)
        return s_refuse (plan, index, finding, "this GPU has no cooperative launches");
    return 0;
}

// What only the driver can tell: does the cluster fit, do all blocks of a cooperative
// grid.
static int s_check_residency (kc_cuda_dev_t *self, const kc_plan_t *plan, int index,
                              kc_cu_function_t f, kc_dev_finding_t *finding)
{
    const kc_plan_step_t *step = &plan->steps[index];
    kc_cu_launch_attribute_t attributes[MAX_ATTRIBUTES];
    kc_cu_launch_config_t config;
    char text[256];
    int n = 0;
    if (s_has_cluster (step)) {
        s_config (self, step, attributes, &config);
        if (kc_cuda_run_ok (self, self->cu->OccupancyMaxActiveClusters (&n, f, &config),
                            plan, index, finding, "asking whether the cluster fits")
            < 0)
            return -1;
        if (n < 1)
            return s_refuse (plan, index, finding,
                             "no cluster of this size fits on the GPU");
    }
    if (step->cooperative) {
        if (kc_cuda_run_ok (
                self,
                self->cu->OccupancyMaxActiveBlocks (&n, f, (int)s_volume (step->block),
                                                    (size_t)step->shared),
                plan, index, finding, "asking for the occupancy")
            < 0)
            return -1;
        const uint64_t room = (uint64_t)n * (uint64_t)self->base.info.facts.sms;
        if (s_volume (step->grid) > room) {
            snprintf (
                text, sizeof text,
                "%llu blocks meet at a grid barrier, and %llu fit on the GPU at once",
                (unsigned long long)s_volume (step->grid), (unsigned long long)room);
            return s_refuse (plan, index, finding, text);
        }
    }
    return 0;
}

static int s_set (kc_cuda_dev_t *self, const kc_plan_t *plan, int step,
                  kc_cu_function_t f, unsigned attribute, int value,
                  kc_dev_finding_t *finding)
{
    return kc_cuda_run_ok (self, self->cu->FuncSetAttribute (f, attribute, value), plan,
                           step, finding, "setting an attribute of the kernel");
}

// Dynamic shared memory beyond what needs no asking is the kernel's largest over all
// its steps.
static int s_opt_in (kc_cuda_dev_t *self, const kc_plan_t *plan,
                     const kc_cuda_bound_t *bound, kc_dev_finding_t *finding)
{
    int64_t *shared = kc_calloc (plan->n_kernels + 1, sizeof *shared);
    int rc = 0;
    for (size_t i = 0; i < plan->n_steps && rc == 0; i++) {
        const kc_plan_step_t *step = &plan->steps[i];
        if (step->kernel < 0)
            continue;
        kc_cu_function_t f = bound->functions[step->kernel];
        // The driver compares dynamic bytes with this attribute, and static + dynamic
        // with the plain limit: set it whenever there is any, so that no sum just past
        // 48 KiB is forgotten.
        if (step->shared > shared[step->kernel]) {
            shared[step->kernel] = step->shared;
            rc = s_set (self, plan, (int)i, f,
                        KC_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                        (int)step->shared, finding);
        }
        if (rc == 0 && step->carveout >= 0)
            rc = s_set (self, plan, (int)i, f,
                        KC_CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
                        step->carveout, finding);
        if (rc == 0 && s_volume (step->cluster) > PORTABLE_CLUSTER)
            rc = s_set (self, plan, (int)i, f,
                        KC_CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1,
                        finding);
    }
    free (shared);
    return rc;
}

// Compare what we pass with what the compiled kernel takes: a difference is our defect,
// said as such.
static int s_check_params (kc_cuda_dev_t *self, const kc_plan_t *plan, int index,
                           kc_cu_function_t f, kc_dev_finding_t *finding)
{
    const kc_plan_step_t *step = &plan->steps[index];
    char text[200];
    if (!self->cu->FuncGetParamInfo)
        return 0;
    for (size_t i = 0; i <= step->n_args; i++) {
        size_t offset = 0, size = 0;
        kc_cu_result_t r =
            kc_cuda_soft (self, self->cu->FuncGetParamInfo (f, i, &offset, &size));
        if (self->dead)
            return kc_cuda_run_ok (self, r, plan, index, finding,
                                   "asking for parameters");
        if (i == step->n_args) {
            if (r != KC_CUDA_SUCCESS)
                return 0;
            snprintf (text, sizeof text,
                      "%zu arguments given, and the compiled kernel takes more",
                      step->n_args);
        }
        else if (r != KC_CUDA_SUCCESS)
            snprintf (text, sizeof text,
                      "%zu arguments given, and the compiled kernel takes %zu",
                      step->n_args, i);
        else if (size != step->args[i].size || offset != step->args[i].offset)
            snprintf (
                text, sizeof text,
                "argument %zu: %zu bytes at offset %zu given, %zu at %zu expected", i,
                step->args[i].size, step->args[i].offset, size, offset);
        else
            continue;
        s_refuse (plan, index, finding, text);
        finding->status = KC_VERDICT_STATUS_INFRA_ERROR;
        return -1;
    }
    return 0;
}

static int s_bind_functions (kc_cuda_dev_t *self, const kc_dev_contestant_t *who,
                             kc_cuda_bound_t *bound, kc_dev_finding_t *finding)
{
    const kc_plan_t *plan = who->plan;
    for (size_t k = 0; k < plan->n_kernels; k++) {
        const char *symbol = plan->kernels[k].symbol;
        kc_cu_function_t f = NULL;
        int local = 0;
        kc_cu_result_t r = self->cu->ModuleGetFunction (&f, who->code->module, symbol);
        if (r == KC_CUDA_ERROR_NOT_FOUND)
            return kc_cuda_find (finding, KC_VERDICT_STATUS_INFRA_ERROR,
                                 "the compiled code has no kernel %s", symbol);
        if (kc_cuda_run_ok (self, r, NULL, -1, finding, "looking up a kernel") < 0)
            return -1;
        bound->functions[k] = f;
        // Eager loading has done this; a driver that was told otherwise would load
        // behind a closed gate.
        if (self->cu->FuncLoad
            && kc_cuda_run_ok (self, self->cu->FuncLoad (f), NULL, -1, finding,
                               "loading a kernel")
                   < 0)
            return -1;
        if (kc_cuda_run_ok (self,
                            self->cu->FuncGetAttribute (
                                &local, KC_CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, f),
                            NULL, -1, finding, "asking for local memory")
            < 0)
            return -1;
        bound->max_local = local > bound->max_local ? local : bound->max_local;
    }
    return 0;
}

// The destination of a copy or fill: a buffer or a constant of the module.
static int s_bind_target (kc_cuda_dev_t *self, const kc_dev_contestant_t *who,
                          int index, kc_cu_ptr_t *out, kc_dev_finding_t *finding)
{
    const kc_plan_step_t *step = &who->plan->steps[index];
    if (!step->symbol) {
        *out = who->arena->places[step->dst].address + (uint64_t)step->dst_offset;
        return 0;
    }
    size_t size = 0;
    kc_cu_result_t r =
        self->cu->ModuleGetGlobal (out, &size, who->code->module, step->symbol);
    if (r == KC_CUDA_SUCCESS
        && (uint64_t)step->dst_offset + (uint64_t)step->bytes <= size) {
        *out += (uint64_t)step->dst_offset;
        return 0;
    }
    if (r == KC_CUDA_SUCCESS || r == KC_CUDA_ERROR_NOT_FOUND)
        return kc_cuda_find (finding, KC_VERDICT_STATUS_PLAN_ERROR,
                             r ? "step %d: the compiled code has no constant %s"
                               : "step %d: %s is smaller than what is copied there",
                             index, step->symbol);
    return kc_cuda_run_ok (self, r, who->plan, index, finding, "looking up a constant");
}

static size_t s_count_args (const kc_plan_t *plan)
{
    size_t n = 0;
    for (size_t i = 0; i < plan->n_steps; i++)
        n += plan->steps[i].n_args;
    return n;
}

static void s_bind_args (const kc_dev_contestant_t *who, kc_cuda_bound_t *bound)
{
    const kc_plan_t *plan = who->plan;
    size_t at = 0;
    for (size_t i = 0; i < plan->n_steps; i++) {
        const kc_plan_step_t *step = &plan->steps[i];
        bound->params[i] = bound->param_store + at;
        for (size_t a = 0; a < step->n_args; a++, at++) {
            const kc_plan_arg_t *arg = &step->args[a];
            // The driver reads arguments and never writes them; its prototype is older
            // than const.
            if (arg->buffer < 0)
                memcpy (&bound->param_store[at], &(const void *){arg->bytes},
                        sizeof (void *));
            else {
                bound->addresses[at] = who->arena->places[arg->buffer].address
                                       + (uint64_t)arg->byte_offset;
                bound->param_store[at] = &bound->addresses[at];
            }
        }
    }
}

int kc_cuda_bind (kc_cuda_dev_t *self, const kc_dev_contestant_t *who,
                  kc_cuda_bound_t *bound, kc_dev_finding_t *finding)
{
    const kc_plan_t *plan = who->plan;
    const size_t n_args = s_count_args (plan);
    kc_err_t err;
    memset (bound, 0, sizeof *bound);
    if (kc_cuda_alive (self, &err) < 0)
        return kc_cuda_infra (self, finding, &err);
    bound->plan = plan;
    bound->arena = who->arena;
    bound->functions = kc_calloc (plan->n_kernels + 1, sizeof *bound->functions);
    bound->params = kc_calloc (plan->n_steps + 1, sizeof *bound->params);
    bound->param_store = kc_calloc (n_args + 1, sizeof *bound->param_store);
    bound->addresses = kc_calloc (n_args + 1, sizeof *bound->addresses);
    bound->targets = kc_calloc (plan->n_steps + 1, sizeof *bound->targets);
    s_bind_args (who, bound);
    int rc = s_bind_functions (self, who, bound, finding);
    for (size_t i = 0; i < plan->n_steps && rc == 0; i++) {
        const kc_plan_step_t *step = &plan->steps[i];
        if (step->op == KC_PLAN_KERNEL)
            rc = s_check_step (self, plan, (int)i, bound->functions[step->kernel],
                               finding)
                             < 0
                         || s_check_params (self, plan, (int)i,
                                            bound->functions[step->kernel], finding)
                                < 0
                     ? -1
                     : 0;
        else if (step->op == KC_PLAN_COPY || step->op == KC_PLAN_FILL)
            rc = s_bind_target (self, who, (int)i, &bound->targets[i], finding);
        else
            rc = kc_cuda_find (
                finding, KC_VERDICT_STATUS_UNSUPPORTED,
                "step %zu is a library step; only kernel, copy and fill steps run here",
                i);
    }
    if (rc == 0)
        rc = s_opt_in (self, plan, bound, finding);
    for (size_t i = 0; i < plan->n_steps && rc == 0; i++)
        if (plan->steps[i].op == KC_PLAN_KERNEL)
            rc = s_check_residency (self, plan, (int)i,
                                    bound->functions[plan->steps[i].kernel], finding);
    if (rc < 0)
        kc_cuda_unbind (self, bound);
    return rc;
}

void kc_cuda_unbind (kc_cuda_dev_t *self, kc_cuda_bound_t *bound)
{
    if (bound->exec && !self->dead)
        kc_cuda_soft (self, self->cu->GraphExecDestroy (bound->exec));
    if (bound->graph && !self->dead)
        kc_cuda_soft (self, self->cu->GraphDestroy (bound->graph));
    free (bound->functions);
    free (bound->params);
    free (bound->param_store);
    free (bound->addresses);
    free (bound->targets);
    free (bound->nodes);
    memset (bound, 0, sizeof *bound);
}

// ---- launching ----

int kc_cuda_launch_step (kc_cuda_dev_t *self, const kc_cuda_bound_t *bound, int index,
                         kc_dev_finding_t *finding)
{
    const kc_plan_t *plan = bound->plan;
    const kc_plan_step_t *step = &plan->steps[index];
    const kc_cuda_api_t *cu = self->cu;
    kc_cu_result_t r = KC_CUDA_SUCCESS;
    switch (step->op) {
    case KC_PLAN_KERNEL: {
        kc_cu_launch_attribute_t attributes[MAX_ATTRIBUTES];
        kc_cu_launch_config_t config;
        s_config (self, step, attributes, &config);
        r = cu->LaunchKernelEx (&config, bound->functions[step->kernel],
                                bound->params[index], NULL);
        break;
    }
    case KC_PLAN_COPY:
        r = cu->MemcpyDtoDAsync (bound->targets[index],
                                 bound->arena->places[step->src].address
                                     + (uint64_t)step->src_offset,
                                 (size_t)step->bytes, self->stream);
        break;
    case KC_PLAN_FILL:
        if (step->pattern_size == 4)
            r = cu->MemsetD32Async (bound->targets[index], step->pattern,
                                    (size_t)step->bytes / 4, self->stream);
        else if (step->pattern_size == 2)
            r = cu->MemsetD16Async (bound->targets[index],
                                    (unsigned short)step->pattern,
                                    (size_t)step->bytes / 2, self->stream);
        else
            r = cu->MemsetD8Async (bound->targets[index], (unsigned char)step->pattern,
                                   (size_t)step->bytes, self->stream);
        break;
    case KC_PLAN_MATMUL:
    case KC_PLAN_CONV:
    case KC_PLAN_RNN:
    case KC_PLAN_ATTENTION:
        r = KC_CUDA_ERROR_NOT_SUPPORTED; // binding has refused them
        break;
    }
    return kc_cuda_run_ok (self, r, plan, index, finding, "launching");
}

int kc_cuda_launch (kc_cuda_dev_t *self, const kc_cuda_bound_t *bound, bool graph,
                    kc_dev_finding_t *finding)
{
    if (graph)
        return kc_cuda_run_ok (self, self->cu->GraphLaunch (bound->exec, self->stream),
                               bound->plan, -1, finding, "launching the graph");
    for (size_t i = 0; i < bound->plan->n_steps; i++)
        if (kc_cuda_launch_step (self, bound, (int)i, finding) < 0)
            return -1;
    return 0;
}

int kc_cuda_settle (kc_cuda_dev_t *self, const kc_cuda_bound_t *bound, int step,
                    const kc_dev_limits_t *limits, kc_dev_finding_t *finding)
{
    enum { DEFAULT_SECONDS = 10 };
    const double seconds =
        limits && limits->seconds > 0 ? limits->seconds : DEFAULT_SECONDS;
    bool late = false;
    kc_cu_result_t r = kc_cuda_wait (self, seconds, &late);
    if (kc_cuda_run_ok (self, r, bound->plan, step, finding, "running") < 0)
        return -1;
    if (!late)
        return 0;
    kc_cuda_find (finding, KC_VERDICT_STATUS_TIMEOUT,
                  "the program did not end within %g s: an endless loop, or blocks "
                  "that wait for blocks "
                  "that do not run",
                  seconds);
    if (bound->plan->n_steps == 1 && step < 0)
        step = 0;
    finding->step = step;
    finding->sticky = true;
    if (step >= 0 && bound->plan->steps[step].kernel >= 0)
        snprintf (finding->kernel, sizeof finding->kernel, "%s",
                  bound->plan->kernels[bound->plan->steps[step].kernel].name);
    return -1;
}

// ---- one graph ----

static kc_cu_result_t s_add_node (kc_cuda_dev_t *self, kc_cuda_bound_t *bound,
                                  size_t index, const kc_cu_node_t *after,
                                  size_t n_after)
{
    const kc_plan_step_t *step = &bound->plan->steps[index];
    const kc_cuda_api_t *cu = self->cu;
    kc_cu_node_t *node = &bound->nodes[index];
    if (step->op == KC_PLAN_KERNEL) {
        const kc_cu_kernel_node_t params = {
            .func = bound->functions[step->kernel],
            .gridDimX = step->grid[0],
            .gridDimY = step->grid[1],
            .gridDimZ = step->grid[2],
            .blockDimX = step->block[0],
            .blockDimY = step->block[1],
            .blockDimZ = step->block[2],
            .sharedMemBytes = (unsigned)step->shared,
            .kernelParams = bound->params[index],
        };
        kc_cu_result_t r =
            cu->GraphAddKernelNode (node, bound->graph, after, n_after, &params);
        kc_cu_launch_attribute_t attributes[MAX_ATTRIBUTES];
        kc_cu_launch_config_t config;
        s_config (self, step, attributes, &config);
        for (unsigned a = 0; a < config.numAttrs && r == KC_CUDA_SUCCESS; a++)
            r = cu->GraphKernelNodeSetAttribute (*node, attributes[a].id,
                                                 &attributes[a].value);
        return r;
    }
    if (step->op == KC_PLAN_FILL) {
        const unsigned size = (unsigned)step->pattern_size;
        const kc_cu_memset_node_t params = {
            .dst = bound->targets[index],
            .value = step->pattern,
            .elementSize = size,
            .width = (size_t)step->bytes / size,
            .height = 1,
        };
        return cu->GraphAddMemsetNode (node, bound->graph, after, n_after, &params,
                                       self->context);
    }
    const kc_cu_memcpy3d_t params = {
        .srcMemoryType = KC_CU_MEMORYTYPE_DEVICE,
        .srcDevice =
            bound->arena->places[step->src].address + (uint64_t)step->src_offset,
        .dstMemoryType = KC_CU_MEMORYTYPE_DEVICE,
        .dstDevice = bound->targets[index],
        .WidthInBytes = (size_t)step->bytes,
        .Height = 1,
        .Depth = 1,
    };
    return cu->GraphAddMemcpyNode (node, bound->graph, after, n_after, &params,
                                   self->context);
}

int kc_cuda_graph (kc_cuda_dev_t *self, kc_cuda_bound_t *bound,
                   kc_dev_finding_t *finding)
{
    const kc_plan_t *plan = bound->plan;
    const kc_cuda_api_t *cu = self->cu;
    if (bound->exec)
        return 0;
    if (!cu->GraphAddKernelNode || !cu->GraphInstantiateWithParams)
        return kc_cuda_find (
            finding, KC_VERDICT_STATUS_UNSUPPORTED,
            "CUDA graphs need a driver of CUDA 12 or later (this one: %s)",
            self->base.info.driver);
    if (kc_cuda_run_ok (self, cu->GraphCreate (&bound->graph, 0), NULL, -1, finding,
                        "creating the graph")
        < 0)
        return -1;
    bound->nodes = kc_calloc (plan->n_steps + 1, sizeof *bound->nodes);
    kc_cu_node_t *after = kc_calloc (plan->n_steps + 1, sizeof *after);
    int rc = 0;
    for (size_t i = 0; i < plan->n_steps && rc == 0; i++) {
        const kc_plan_step_t *step = &plan->steps[i];
        size_t n = 0;
        if (plan->dataflow)
            for (; n < step->n_after; n++)
                after[n] = bound->nodes[step->after[n]];
        else if (i > 0)
            after[n++] = bound->nodes[i - 1];
        rc = kc_cuda_run_ok (self, s_add_node (self, bound, i, n ? after : NULL, n),
                             plan, (int)i, finding, "adding a step to the graph");
    }
    free (after);
    if (rc < 0)
        return -1;
    kc_cu_instantiate_t how = {0};
    if (kc_cuda_run_ok (
            self, cu->GraphInstantiateWithParams (&bound->exec, bound->graph, &how),
            NULL, -1, finding, "instantiating the graph")
        < 0)
        return -1;
    return kc_cuda_run_ok (self, cu->GraphUpload (bound->exec, self->stream), NULL, -1,
                           finding, "uploading the graph");
}
