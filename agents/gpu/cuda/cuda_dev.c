// cuda_dev.c - opening and closing the device, its facts, errors, waiting, and the
// trusted kernels

#include "agents/gpu/cuda/cuda_dev.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/util/kc_clock.h"
#include "common/util/kc_fs.h"
#include "common/util/kc_mem.h"

enum {
    ERROR_NAME = 96,
    SPIN_NS = 3000000, // polled without sleeping at first: short kernels are the rule
    SLEEP_MIN_NS = 20000, // then sleeping, longer each time
    SLEEP_MAX_NS = 1000000,
    TRUSTED_SECONDS = 60, // a trusted kernel that runs longer means a broken GPU
};

static const char *const s_trusted_names[KC_TRUSTED_COUNT] = {
    [KC_TRUSTED_HASH] = "kc_hash",
    [KC_TRUSTED_GUARD] = "kc_guard",
    [KC_TRUSTED_GENERATE] = "kc_generate",
    [KC_TRUSTED_GATE] = "kc_gate",
    [KC_TRUSTED_CLOCK] = "kc_clock",
    [KC_TRUSTED_SCRUB] = "kc_scrub",
    [KC_TRUSTED_STACK_256] = "kc_scrub_stack_256",
    [KC_TRUSTED_STACK_1024] = "kc_scrub_stack_1024",
    [KC_TRUSTED_STACK_4096] = "kc_scrub_stack_4096",
    [KC_TRUSTED_STACK_16384] = "kc_scrub_stack_16384",
};

// ---- errors ----

static void s_note (kc_cuda_dev_t *self, kc_cu_result_t r)
{
    if (!self->dead && kc_cuda_error_sticky (r)) {
        self->dead = true;
        self->dead_code = r;
    }
}

kc_cu_result_t kc_cuda_soft (kc_cuda_dev_t *self, kc_cu_result_t r)
{
    s_note (self, r);
    return r;
}

int kc_cuda_ok (kc_cuda_dev_t *self, kc_cu_result_t r, kc_err_t *err,
                const char *format, ...)
{
    if (r == KC_CUDA_SUCCESS)
        return 0;
    char what[200], name[ERROR_NAME];
    va_list args;
    va_start (args, format);
    vsnprintf (what, sizeof what, format, args);
    va_end (args);
    kc_cuda_error_name (self->cu, r, name, sizeof name);
    s_note (self, r);
    return kc_fail (err, KC_EFAILED, "%s: %s", what, name);
}

int kc_cuda_alive (const kc_cuda_dev_t *self, kc_err_t *err)
{
    if (!self->dead)
        return 0;
    char name[ERROR_NAME] = "a run that did not end";
    if (self->dead_code)
        kc_cuda_error_name (self->cu, self->dead_code, name, sizeof name);
    return kc_fail (err, KC_ESTATE, "the context was lost to %s; start a new runner",
                    name);
}

int kc_cuda_find (kc_dev_finding_t *finding, kc_verdict_status_t status,
                  const char *format, ...)
{
    memset (finding, 0, sizeof *finding);
    finding->status = status;
    finding->step = -1;
    va_list args;
    va_start (args, format);
    vsnprintf (finding->text, sizeof finding->text, format, args);
    va_end (args);
    return -1;
}

int kc_cuda_infra (const kc_cuda_dev_t *self, kc_dev_finding_t *finding,
                   const kc_err_t *err)
{
    kc_cuda_find (finding, KC_VERDICT_STATUS_INFRA_ERROR, "%s", err->text);
    finding->sticky = self->dead;
    return -1;
}

typedef struct meaning {
    kc_cu_result_t code;
    kc_verdict_status_t status;
    const char *text;
} meaning_t;

static const meaning_t s_meanings[] = {
    {KC_CUDA_ERROR_ILLEGAL_ADDRESS, KC_VERDICT_STATUS_OUT_OF_BOUNDS,
     "a kernel read or wrote memory that belongs to no buffer; check every index "
     "against its bound"},
    {KC_CUDA_ERROR_INVALID_ADDRESS_SPACE, KC_VERDICT_STATUS_OUT_OF_BOUNDS,
     "a kernel used a pointer in the wrong memory space (shared, local or global)"},
    {KC_CUDA_ERROR_MISALIGNED_ADDRESS, KC_VERDICT_STATUS_LAUNCH_ERROR,
     "a vector load or store was not aligned to its size; check offsets of float4 and "
     "the like"},
    {KC_CUDA_ERROR_ASSERT, KC_VERDICT_STATUS_LAUNCH_ERROR,
     "an assert in a kernel failed"},
    {KC_CUDA_ERROR_ILLEGAL_INSTRUCTION, KC_VERDICT_STATUS_LAUNCH_ERROR,
     "a kernel executed an illegal instruction (a trap, or an unreachable point)"},
    {KC_CUDA_ERROR_HARDWARE_STACK_ERROR, KC_VERDICT_STATUS_LAUNCH_ERROR,
     "a kernel overflowed its call stack"},
    {KC_CUDA_ERROR_INVALID_PC, KC_VERDICT_STATUS_LAUNCH_ERROR,
     "a kernel jumped outside its code"},
    {KC_CUDA_ERROR_LAUNCH_FAILED, KC_VERDICT_STATUS_LAUNCH_ERROR,
     "a kernel failed: a trap, or an access outside shared memory"},
    {KC_CUDA_ERROR_LAUNCH_TIMEOUT, KC_VERDICT_STATUS_TIMEOUT,
     "the driver's watchdog ended a kernel"},
    {KC_CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, KC_VERDICT_STATUS_LAUNCH_ERROR,
     "the launch needs more registers, shared memory or threads than a block may have"},
    {KC_CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, KC_VERDICT_STATUS_LAUNCH_ERROR,
     "the cooperative grid has more blocks than fit on the GPU at once"},
    {KC_CUDA_ERROR_INVALID_CLUSTER_SIZE, KC_VERDICT_STATUS_LAUNCH_ERROR,
     "the cluster does not fit on this GPU"},
    {KC_CUDA_ERROR_INVALID_VALUE, KC_VERDICT_STATUS_LAUNCH_ERROR,
     "the driver refused the launch (grid, block, shared memory or attributes)"},
};

int kc_cuda_run_ok (kc_cuda_dev_t *self, kc_cu_result_t r, const kc_plan_t *plan,
                    int step, kc_dev_finding_t *finding, const char *what)
{
    if (r == KC_CUDA_SUCCESS)
        return 0;
    char name[ERROR_NAME];
    kc_cuda_error_name (self->cu, r, name, sizeof name);
    s_note (self, r);
    kc_verdict_status_t status = KC_VERDICT_STATUS_INFRA_ERROR;
    const char *text = "the GPU or its driver failed";
    for (size_t i = 0; i < KC_COUNT (s_meanings); i++) {
        if (s_meanings[i].code == r) {
            status = s_meanings[i].status;
            text = s_meanings[i].text;
        }
    }
    // A plan of one kernel leaves no doubt about who did it.
    if (step < 0 && plan && plan->n_steps == 1)
        step = 0;
    if (plan && step >= 0 && plan->steps[step].kernel >= 0) {
        const kc_kernel_facts_t *kernel = &plan->kernels[plan->steps[step].kernel];
        kc_cuda_find (finding, status, "%s: %s (%s, step %d, kernel %s)", what, text,
                      name, step, kernel->name);
        snprintf (finding->kernel, sizeof finding->kernel, "%s", kernel->name);
    }
    else
        kc_cuda_find (finding, status, "%s: %s (%s)", what, text, name);
    finding->step = step;
    finding->sticky = self->dead;
    return -1;
}

kc_cu_result_t kc_cuda_wait (kc_cuda_dev_t *self, double seconds, bool *late_p)
{
    const int64_t start = kc_clock_ns ();
    const int64_t limit = (int64_t)(seconds * 1e9);
    long pause = SLEEP_MIN_NS;
    *late_p = false;
    for (;;) {
        kc_cu_result_t r = self->cu->StreamQuery (self->stream);
        if (r != KC_CUDA_ERROR_NOT_READY) {
            s_note (self, r);
            return r;
        }
        const int64_t waited = kc_clock_ns () - start;
        if (waited > limit) {
            // Only the end of this process ends the kernel.
            *late_p = true;
            self->dead = true;
            self->dead_code = 0;
            return KC_CUDA_SUCCESS;
        }
        if (waited > SPIN_NS) {
            struct timespec ts = {.tv_sec = 0, .tv_nsec = pause};
            nanosleep (&ts, NULL);
            pause = pause * 2 < SLEEP_MAX_NS ? pause * 2 : SLEEP_MAX_NS;
        }
    }
}

// ---- trusted kernels ----

int kc_cuda_trusted (kc_cuda_dev_t *self, kc_trusted_t kernel, const uint32_t grid[2],
                     uint32_t block, uint32_t shared, void **params, kc_err_t *err)
{
    const kc_cu_launch_config_t config = {
        .gridDimX = grid[0],
        .gridDimY = grid[1],
        .gridDimZ = 1,
        .blockDimX = block,
        .blockDimY = 1,
        .blockDimZ = 1,
        .sharedMemBytes = shared,
        .hStream = self->stream,
    };
    return kc_cuda_ok (
        self, self->cu->LaunchKernelEx (&config, self->trusted[kernel], params, NULL),
        err, "launching %s", s_trusted_names[kernel]);
}

// One launch over a table of segments with one 64-bit result each.
static int s_table (kc_cuda_dev_t *self, kc_trusted_t kernel,
                    const kc_cuda_segment_t *segments, size_t n, uint64_t *out,
                    unsigned char first, kc_err_t *err)
{
    const kc_cuda_api_t *cu = self->cu;
    if (n == 0)
        return 0;
    kc_assert (n <= KC_CUDA_TABLE);
    uint64_t most = 0;
    for (size_t i = 0; i < n; i++)
        most = segments[i].bytes > most ? segments[i].bytes : most;
    // About 64 KiB per block, so that small tables stay cheap and large ones fill the
    // GPU.
    uint64_t blocks = most / 65536 + 1;
    const uint64_t cap = (uint64_t)self->base.info.facts.sms * 8;
    blocks = blocks > cap ? cap : blocks;
    const uint32_t grid[2] = {(uint32_t)blocks, (uint32_t)n};
    void *params[] = {&self->table, &self->results};
    if (kc_cuda_ok (self,
                    cu->MemcpyHtoDAsync (self->table, segments, n * sizeof *segments,
                                         self->stream),
                    err, "copying a table of %zu segments", n)
            < 0
        || kc_cuda_ok (
               self,
               cu->MemsetD8Async (self->results, first, n * sizeof *out, self->stream),
               err, "clearing results")
               < 0
        || kc_cuda_trusted (self, kernel, grid, 256, 0, params, err) < 0
        || kc_cuda_ok (
               self,
               cu->MemcpyDtoHAsync (out, self->results, n * sizeof *out, self->stream),
               err, "copying results")
               < 0)
        return -1;
    bool late = false;
    if (kc_cuda_ok (self, kc_cuda_wait (self, TRUSTED_SECONDS, &late), err,
                    "waiting for %s", s_trusted_names[kernel])
        < 0)
        return -1;
    return late ? kc_fail (err, KC_ETIMEOUT,
                           "%s did not end within %d s: the GPU is stuck",
                           s_trusted_names[kernel], TRUSTED_SECONDS)
                : 0;
}

int kc_cuda_hash (kc_cuda_dev_t *self, const kc_cuda_segment_t *segments, size_t n,
                  uint64_t *out, kc_err_t *err)
{
    return s_table (self, KC_TRUSTED_HASH, segments, n, out, 0, err);
}

int kc_cuda_guards (kc_cuda_dev_t *self, const kc_cuda_segment_t *segments, size_t n,
                    uint64_t *out, kc_err_t *err)
{
    return s_table (self, KC_TRUSTED_GUARD, segments, n, out, 0xff, err);
}

static int s_load_trusted (kc_cuda_dev_t *self, kc_err_t *err)
{
    const kc_cuda_api_t *cu = self->cu;
    char *text = kc_strndup ((const char *)kc_trusted_ptx, kc_trusted_ptx_size);
    int rc = kc_cuda_ok (
        self, cu->ModuleLoadData (&self->module, text), err,
        "loading our own kernels (PTX for compute capability 8.0 and later)");
    free (text);
    for (int i = 0; rc == 0 && i < KC_TRUSTED_COUNT; i++)
        rc = kc_cuda_ok (
            self,
            cu->ModuleGetFunction (&self->trusted[i], self->module, s_trusted_names[i]),
            err, "looking up %s", s_trusted_names[i]);
    if (rc == 0)
        rc = kc_cuda_ok (
            self,
            cu->FuncSetAttribute (self->trusted[KC_TRUSTED_SCRUB],
                                  KC_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                  (int)self->base.info.facts.shared_block),
            err, "giving the scrub kernel all shared memory");
    if (rc == 0)
        rc = kc_cuda_ok (
            self,
            cu->MemAlloc (&self->table, KC_CUDA_TABLE * sizeof (kc_cuda_segment_t)),
            err, "allocating the segment table");
    if (rc == 0)
        rc = kc_cuda_ok (
            self, cu->MemAlloc (&self->results, KC_CUDA_TABLE * sizeof (uint64_t)), err,
            "allocating results");
    void *host = NULL;
    if (rc == 0)
        rc = kc_cuda_ok (self,
                         cu->MemHostAlloc (&host, sizeof *self->mapped,
                                           KC_CU_MEMHOSTALLOC_DEVICEMAP),
                         err, "allocating mapped host memory");
    if (rc == 0) {
        memset (host, 0, sizeof *self->mapped);
        self->mapped = host;
        rc = kc_cuda_ok (self, cu->MemHostGetDevicePointer (&self->mapped_at, host, 0),
                         err, "mapping host memory");
    }
    return rc;
}

// ---- the device ----

static int s_attribute (kc_cuda_dev_t *self, unsigned id)
{
    int value = 0;
    if (self->dead
        || kc_cuda_soft (self, self->cu->DeviceGetAttribute (&value, id, self->device)))
        value = 0;
    return value;
}

static void s_facts (kc_cuda_dev_t *self)
{
    kc_device_facts_t *f = &self->base.info.facts;
    f->sms = s_attribute (self, KC_CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    f->sm = 10 * s_attribute (self, KC_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
            + s_attribute (self, KC_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    f->warp = s_attribute (self, KC_CU_DEVICE_ATTRIBUTE_WARP_SIZE);
    f->max_threads_block =
        s_attribute (self, KC_CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    f->max_threads_sm =
        s_attribute (self, KC_CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
    f->max_blocks_sm =
        s_attribute (self, KC_CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
    f->regs_sm =
        s_attribute (self, KC_CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
    f->regs_block = s_attribute (self, KC_CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
    f->shared_block =
        s_attribute (self, KC_CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    f->shared_block_plain =
        s_attribute (self, KC_CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
    f->shared_sm =
        s_attribute (self, KC_CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
    f->shared_reserved =
        s_attribute (self, KC_CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
    f->l2_bytes = s_attribute (self, KC_CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
    f->max_grid[0] = s_attribute (self, KC_CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
    f->max_grid[1] = s_attribute (self, KC_CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y);
    f->max_grid[2] = s_attribute (self, KC_CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
    self->clock_khz = s_attribute (self, KC_CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
    self->cooperative =
        s_attribute (self, KC_CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH) != 0;
    self->clusters = s_attribute (self, KC_CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH) != 0;
    // Specified bandwidth: both edges of the memory clock, the whole bus.
    self->base.info.bandwidth =
        2e3 * s_attribute (self, KC_CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)
        * s_attribute (self, KC_CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH) / 8.0;
}

static void s_uuid_text (const kc_cu_uuid_t *uuid, char *out, size_t size)
{
    const unsigned char *b = (const unsigned char *)uuid->bytes;
    snprintf (
        out, size,
        "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
        b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12],
        b[13], b[14], b[15]);
}

static void s_driver_text (kc_cuda_dev_t *self)
{
    enum { VERSION_FILE = 256 };
    int version = 0;
    if (self->dead || kc_cuda_soft (self, self->cu->DriverGetVersion (&version)))
        version = 0;
    char *text = kc_fs_read ("/sys/module/nvidia/version", VERSION_FILE, NULL, NULL);
    if (text)
        text[strcspn (text, "\n")] = 0;
    snprintf (self->base.info.driver, sizeof self->base.info.driver,
              "%.40s%sCUDA %d.%d", text ? text : "", text ? ", " : "", version / 1000,
              version % 1000 / 10);
    free (text);
}

// A client of an MPS server dies with any other client: candidates never run there.
static int s_refuse_mps (kc_err_t *err)
{
    const char *dir = getenv ("CUDA_MPS_PIPE_DIRECTORY");
    char *control = kc_fs_join (dir && *dir ? dir : "/tmp/nvidia-mps", "control");
    int rc = 0;
    if (kc_fs_exists (control))
        rc = kc_fail (
            err, KC_EUNSUPPORTED,
            "an MPS server is running (%s); stop it, a fault of one client ends all",
            control);
    free (control);
    return rc;
}

// config->gpu is a UUID or an index; NULL is the first device.
static int s_choose (kc_cuda_dev_t *self, const char *wanted, kc_err_t *err)
{
    const kc_cuda_api_t *cu = self->cu;
    int count = 0;
    if (kc_cuda_ok (self, cu->DeviceGetCount (&count), err, "counting GPUs") < 0)
        return -1;
    if (count == 0)
        return kc_fail (
            err, KC_EUNSUPPORTED,
            "the driver at %s shows no GPU; check nvidia-smi and CUDA_VISIBLE_DEVICES",
            cu->path ? cu->path : "(none)");
    bool by_uuid = wanted && strncmp (wanted, "GPU-", 4) == 0;
    int index = 0;
    if (wanted && *wanted && !by_uuid) {
        char *end = NULL;
        errno = 0;
        long v = strtol (wanted, &end, 10);
        if (errno || *end || v < 0 || v >= count)
            return kc_fail (err, KC_ENOTFOUND,
                            "no GPU \"%s\": give a UUID (GPU-...) or an index below %d",
                            wanted, count);
        index = (int)v;
    }
    for (int i = by_uuid ? 0 : index; i < count; i++) {
        kc_cu_uuid_t uuid;
        if (kc_cuda_ok (self, cu->DeviceGet (&self->device, i), err, "opening GPU %d",
                        i)
                < 0
            || kc_cuda_ok (self, cu->DeviceGetUuid (&uuid, self->device), err,
                           "UUID of GPU %d", i)
                   < 0)
            return -1;
        self->ordinal = i;
        s_uuid_text (&uuid, self->base.info.uuid, sizeof self->base.info.uuid);
        if (!by_uuid || strcmp (self->base.info.uuid, wanted) == 0)
            return 0;
    }
    return kc_fail (err, KC_ENOTFOUND,
                    "no GPU %s among the %d here; nvidia-smi -L lists them", wanted,
                    count);
}

static int s_open (kc_cuda_dev_t *self, const kc_dev_config_t *config, kc_err_t *err)
{
    const kc_cuda_api_t *cu = self->cu;
    kc_dev_info_t *info = &self->base.info;
    enum { SMALL_HEAP = 1 << 20 };
    // Loading at first use would compile behind a closed gate and wait for it for ever.
    setenv ("CUDA_MODULE_LOADING", "EAGER", 1);
    kc_cu_result_t r = cu->Init (0);
    if (r == KC_CUDA_ERROR_NO_DEVICE)
        return kc_fail (
            err, KC_EUNSUPPORTED,
            "the driver at %s finds no GPU; check nvidia-smi, or use the virtual GPU",
            cu->path ? cu->path : "(none)");
    if (kc_cuda_ok (self, r, err, "cuInit") < 0
        || s_choose (self, config->gpu, err) < 0)
        return -1;
    size_t total = 0;
    if (kc_cuda_ok (self,
                    cu->DeviceGetName (info->gpu, (int)sizeof info->gpu, self->device),
                    err, "name of the GPU")
            < 0
        || kc_cuda_ok (self, cu->DeviceTotalMem (&total, self->device), err,
                       "memory of the GPU")
               < 0)
        return -1;
    snprintf (info->backend, sizeof info->backend, "cuda");
    info->memory_bytes = (int64_t)total;
    s_facts (self);
    s_driver_text (self);
    if (kc_cuda_alive (self, err) < 0)
        return -1;
    if (info->facts.sm < 80)
        return kc_fail (err, KC_EUNSUPPORTED,
                        "%s has compute capability %d.%d; 8.0 or later is needed",
                        info->gpu, info->facts.sm / 10, info->facts.sm % 10);
    if (kc_cuda_ok (self,
                    cu->CtxCreate (&self->context,
                                   KC_CU_CTX_SCHED_SPIN | KC_CU_CTX_MAP_HOST,
                                   self->device),
                    err, "creating a context on %s", info->gpu)
            < 0
        || kc_cuda_ok (self, cu->CtxSetLimit (KC_CU_LIMIT_PRINTF_FIFO_SIZE, SMALL_HEAP),
                       err, "limiting the printf buffer")
               < 0
        || kc_cuda_ok (self, cu->CtxSetLimit (KC_CU_LIMIT_MALLOC_HEAP_SIZE, SMALL_HEAP),
                       err, "limiting the device heap")
               < 0
        || kc_cuda_ok (self,
                       cu->StreamCreate (&self->stream, KC_CU_STREAM_NON_BLOCKING), err,
                       "creating a stream")
               < 0
        || kc_cuda_ok (self, cu->EventCreate (&self->begin, KC_CU_EVENT_DEFAULT), err,
                       "creating an event")
               < 0
        || kc_cuda_ok (self, cu->EventCreate (&self->end, KC_CU_EVENT_DEFAULT), err,
                       "creating an event")
               < 0)
        return -1;
    if (s_load_trusted (self, err) < 0)
        return -1;
    info->counters = kc_cuda_counters_expected (self->cuda_path, info->counters_reason,
                                                sizeof info->counters_reason);
    return 0;
}

static void s_destroy (kc_dev_t *dev)
{
    kc_cuda_dev_t *self = (kc_cuda_dev_t *)dev;
    const kc_cuda_api_t *cu = self->cu;
    // A lost context answers every call with an error; the end of the process frees it.
    if (self->mapped && !self->dead)
        kc_cuda_soft (self, cu->MemFreeHost (self->mapped));
    if (self->flush && !self->dead)
        kc_cuda_soft (self, cu->MemFree (self->flush));
    if (self->table && !self->dead)
        kc_cuda_soft (self, cu->MemFree (self->table));
    if (self->results && !self->dead)
        kc_cuda_soft (self, cu->MemFree (self->results));
    if (self->module && !self->dead)
        kc_cuda_soft (self, cu->ModuleUnload (self->module));
    if (self->begin && !self->dead)
        kc_cuda_soft (self, cu->EventDestroy (self->begin));
    if (self->end && !self->dead)
        kc_cuda_soft (self, cu->EventDestroy (self->end));
    if (self->stream && !self->dead)
        kc_cuda_soft (self, cu->StreamDestroy (self->stream));
    if (self->context && !self->dead)
        kc_cuda_soft (self, cu->CtxDestroy (self->context));
    kc_cuda_api_destroy (&self->own);
    free (self->cuda_path);
    free (self);
}

static const kc_dev_ops_t s_ops = {
    .backend = "cuda",
    .destroy = s_destroy,
    .load = kc_cuda_load,
    .unload = kc_cuda_unload,
    .kernel_facts = kc_cuda_kernel_facts,
    .arena = kc_cuda_arena,
    .arena_free = kc_cuda_arena_free,
    .poison = kc_cuda_poison,
    .generate = kc_cuda_generate,
    .write = kc_cuda_write,
    .read = kc_cuda_read,
    .hash = kc_cuda_hash_buffer,
    .guards = kc_cuda_check_guards,
    .run = kc_cuda_run,
    .time = kc_cuda_time,
    .profile = kc_cuda_profile,
};

kc_dev_t *kc_cuda_open_with (const kc_cuda_api_t *cu, const kc_dev_config_t *config,
                             kc_err_t *err)
{
    kc_cuda_dev_t *self = kc_calloc (1, sizeof *self);
    self->base.ops = &s_ops;
    self->cu = cu;
    self->cuda_path = kc_strdup (config->cuda_path);
    if (s_refuse_mps (err) < 0 || s_open (self, config, err) < 0) {
        s_destroy (&self->base);
        return NULL;
    }
    return &self->base;
}

kc_dev_t *kc_dev_open_cuda (const kc_dev_config_t *config, kc_err_t *err)
{
    kc_cuda_api_t *cu = kc_cuda_api_load (err);
    if (!cu)
        return NULL;
    kc_dev_t *dev = kc_cuda_open_with (cu, config, err);
    if (!dev) {
        kc_cuda_api_destroy (&cu);
        return NULL;
    }
    ((kc_cuda_dev_t *)dev)->own = cu;
    return dev;
}
