// fake_driver.c - see fake_driver.h

#include "tests/unit/cuda/fake_driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/util/kc_mem.h"

kc_fake_t kc_fake;

// Nobody reads what the flush writes, and writing it would take all the time of these
// tests.
enum { BIG = 64 << 20 };

typedef struct op { // queued work
    const kc_fake_kernel_t *kernel;
    unsigned grid[3], block[3];
    unsigned char params[8][64];
    void *dst;
    const void *src;
    size_t bytes;
    unsigned value, element; // memset
    double *event;           // record the time here
} op_t;

typedef struct node {
    op_t op;
} node_t;

enum { MAX_NODES = 64 };

typedef struct graph {
    node_t *nodes[MAX_NODES];
    size_t n;
} graph_t;

// ---- trusted kernels ----

static void s_nothing (void **p, const unsigned *grid, const unsigned *block)
{
    (void)p, (void)grid, (void)block;
}

static void s_clock (void **p, const unsigned *grid, const unsigned *block)
{
    uint64_t *out, ns;
    (void)grid, (void)block;
    memcpy (&out, p[0], sizeof out);
    memcpy (&ns, p[1], sizeof ns);
    out[1] = ns;
    out[0] = (uint64_t)((double)ns * kc_fake.clock_mhz / 1e3);
}

static const kc_fake_kernel_t s_trusted[] = {
    {.name = "kc_hash", .run = kc_host_hash, .n_params = 2, .sizes = {8, 8}},
    {.name = "kc_guard", .run = kc_host_guard, .n_params = 2, .sizes = {8, 8}},
    {.name = "kc_generate", .run = kc_host_generate, .n_params = 2, .sizes = {8, 40}},
    {.name = "kc_gate", .run = s_nothing, .n_params = 3, .sizes = {8, 8, 8}},
    {.name = "kc_clock", .run = s_clock, .n_params = 2, .sizes = {8, 8}},
    {.name = "kc_scrub", .run = s_nothing, .n_params = 4, .sizes = {4, 4, 4, 8}},
    {.name = "kc_scrub_stack_256", .run = s_nothing, .n_params = 3, .sizes = {4, 4, 8}},
    {.name = "kc_scrub_stack_1024",
     .run = s_nothing,
     .n_params = 3,
     .sizes = {4, 4, 8}},
    {.name = "kc_scrub_stack_4096",
     .run = s_nothing,
     .n_params = 3,
     .sizes = {4, 4, 8}},
    {.name = "kc_scrub_stack_16384",
     .run = s_nothing,
     .n_params = 3,
     .sizes = {4, 4, 8}},
};

static void s_log (const char *word)
{
    int n = snprintf (kc_fake.log + kc_fake.log_size,
                      sizeof kc_fake.log - kc_fake.log_size, "%s ", word);
    if (n > 0 && kc_fake.log_size + (size_t)n < sizeof kc_fake.log)
        kc_fake.log_size += (size_t)n;
}

void kc_fake_clear_log (void)
{
    kc_fake.log_size = 0;
    kc_fake.log[0] = 0;
}

int kc_fake_count (const char *word)
{
    int n = 0;
    const size_t size = strlen (word);
    for (const char *at = kc_fake.log; (at = strstr (at, word)); at += size)
        n += (at == kc_fake.log || at[-1] == ' ') && at[size] == ' ';
    return n;
}

// Every entry point begins here: counts, injects, and answers a sticky error for ever.
static kc_cu_result_t s_enter (void)
{
    kc_fake.calls++;
    if (kc_fake.sticky) {
        kc_fake.calls_after_sticky++;
        return kc_fake.sticky;
    }
    if (kc_fake.fail_at == kc_fake.calls) {
        if (kc_cuda_error_sticky (kc_fake.fail_with))
            kc_fake.sticky = kc_fake.fail_with;
        return kc_fake.fail_with;
    }
    return KC_CUDA_SUCCESS;
}

// A block that the driver owns: a lost context keeps it until the end of the process,
// here until the reset.
static void *s_own (size_t size)
{
    void *p = kc_calloc (1, size);
    *(void **)kc_push (&kc_fake.owned, &kc_fake.n_owned, sizeof (void *)) = p;
    return p;
}

static void s_disown (const void *p)
{
    for (size_t i = 0; i < kc_fake.n_owned; i++) {
        if (kc_fake.owned[i] != p)
            continue;
        free (kc_fake.owned[i]);
        kc_fake.owned[i] = kc_fake.owned[--kc_fake.n_owned];
        return;
    }
    kc_die (__FILE__, __LINE__, "a handle was freed twice");
}

static void *s_handle (int *count)
{
    (*count)++;
    return s_own (16);
}

static void s_free_handle (int *count, const void *h)
{
    (*count)--;
    s_disown (h);
}

#define ENTER()                                                                        \
    do {                                                                               \
        kc_cu_result_t enter_ = s_enter ();                                            \
        if (enter_)                                                                    \
            return enter_;                                                             \
    } while (0)

// ---- the queue ----

static void s_queue (const op_t *op)
{
    op_t *items = kc_fake.queue;
    *(op_t *)kc_push (&items, &kc_fake.n_queue, sizeof (op_t)) = *op;
    kc_fake.queue = items;
}

static void s_do_memset (const op_t *op)
{
    unsigned char *d = op->dst;
    if (op->bytes >= BIG)
        return;
    for (size_t i = 0; i < op->bytes; i += op->element)
        memcpy (d + i, &op->value, op->element);
}

// False when the gate is closed.
static bool s_do_kernel (const op_t *op)
{
    void *params[8];
    for (size_t i = 0; i < 8; i++)
        params[i] = (void *)(uintptr_t)op->params[i];
    if (strcmp (op->kernel->name, "kc_gate") == 0) {
        volatile uint32_t *flag, *late;
        memcpy (&flag, op->params[0], sizeof flag);
        memcpy (&late, op->params[1], sizeof late);
        if (kc_fake.late_gate)
            *late = 1;
        else if (*flag == 0)
            return false;
    }
    if (op->kernel->forever)
        return false;
    if (op->kernel->error) {
        if (kc_cuda_error_sticky (op->kernel->error))
            kc_fake.sticky = op->kernel->error;
        return true;
    }
    s_log (op->kernel->name);
    op->kernel->run (params, op->grid, op->block);
    kc_fake.now_us += op->kernel->us;
    return true;
}

static kc_cu_result_t s_work (void)
{
    op_t *items = kc_fake.queue;
    while (kc_fake.at_queue < kc_fake.n_queue) {
        const op_t *op = &items[kc_fake.at_queue];
        if (op->kernel) {
            if (!s_do_kernel (op))
                return KC_CUDA_ERROR_NOT_READY;
            if (kc_fake.sticky)
                return kc_fake.sticky;
        }
        else if (op->event) {
            s_log ("event");
            *op->event = kc_fake.now_us;
        }
        else if (op->src) {
            s_log ("memcpy");
            memmove (op->dst, op->src, op->bytes);
        }
        else {
            s_log ("memset");
            s_do_memset (op);
        }
        kc_fake.at_queue++;
    }
    kc_fake.n_queue = kc_fake.at_queue = 0;
    free (kc_fake.queue);
    kc_fake.queue = NULL;
    return KC_CUDA_SUCCESS;
}

// ---- driver and device ----

static kc_cu_result_t f_Init (unsigned flags)
{
    (void)flags;
    ENTER ();
    const char *loading = getenv ("CUDA_MODULE_LOADING");
    s_log (loading && strcmp (loading, "EAGER") == 0 ? "init-eager" : "init-lazy");
    return KC_CUDA_SUCCESS;
}

static kc_cu_result_t f_DriverGetVersion (int *v)
{
    ENTER ();
    *v = 13000;
    return KC_CUDA_SUCCESS;
}

// Asked for words about an error that happened, not a call of the work: never counted.
static kc_cu_result_t f_GetErrorName (kc_cu_result_t r, const char **name)
{
    *name = r == KC_CUDA_ERROR_ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS"
                                               : "CUDA_ERROR_FAKE";
    return KC_CUDA_SUCCESS;
}

static kc_cu_result_t f_GetErrorString (kc_cu_result_t r, const char **text)
{
    (void)r;
    *text = "a fake error";
    return KC_CUDA_SUCCESS;
}

static kc_cu_result_t f_DeviceGetCount (int *n)
{
    ENTER ();
    *n = 2;
    return KC_CUDA_SUCCESS;
}

static kc_cu_result_t f_DeviceGet (kc_cu_device_t *d, int i)
{
    ENTER ();
    *d = i;
    return KC_CUDA_SUCCESS;
}

static kc_cu_result_t f_DeviceGetName (char *out, int size, kc_cu_device_t d)
{
    ENTER ();
    snprintf (out, (size_t)size, "Fake GPU %d", d);
    return KC_CUDA_SUCCESS;
}

static kc_cu_result_t f_DeviceGetAttribute (int *v, unsigned id, kc_cu_device_t d)
{
    (void)d;
    ENTER ();
    switch (id) {
    case KC_CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
        *v = 4;
        break;
    case KC_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
        *v = kc_fake.sm / 10;
        break;
    case KC_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
        *v = kc_fake.sm % 10;
        break;
    case KC_CU_DEVICE_ATTRIBUTE_WARP_SIZE:
        *v = 32;
        break;
    case KC_CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *v = 1024;
        break;
    case KC_CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
        *v = 2048;
        break;
    case KC_CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
        *v = kc_fake.optin;
        break;
    case KC_CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X:
        *v = 2147483647;
        break;
    case KC_CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
    case KC_CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z:
        *v = 65535;
        break;
    case KC_CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
        *v = 1 << 16;
        break;
    case KC_CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
        *v = 1980000;
        break;
    case KC_CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
        *v = 3201000;
        break;
    case KC_CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
        *v = 6144;
        break;
    case KC_CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH:
        *v = kc_fake.cooperative;
        break;
    case KC_CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH:
        *v = kc_fake.clusters;
        break;
    default:
        *v = 1;
        break;
    }
    return KC_CUDA_SUCCESS;
}

static kc_cu_result_t f_DeviceGetUuid (kc_cu_uuid_t *u, kc_cu_device_t d)
{
    ENTER ();
    memset (u, 0xab, sizeof *u);
    u->bytes[15] = (char)d;
    return KC_CUDA_SUCCESS;
}

static kc_cu_result_t f_DeviceTotalMem (size_t *n, kc_cu_device_t d)
{
    (void)d;
    ENTER ();
    *n = kc_fake.memory;
    return KC_CUDA_SUCCESS;
}

static kc_cu_result_t f_DeviceGetPCIBusId (char *out, int size, kc_cu_device_t d)
{
    ENTER ();
    snprintf (out, (size_t)size, "0000:%02x:00.0", d);
    return KC_CUDA_SUCCESS;
}

// ---- contexts, streams, events ----

static kc_cu_result_t f_CtxCreate (kc_cu_context_t *c, unsigned flags, kc_cu_device_t d)
{
    (void)flags, (void)d;
    ENTER ();
    s_log ("context");
    *c = s_handle (&kc_fake.contexts);
    return KC_CUDA_SUCCESS;
}

static kc_cu_result_t f_CtxDestroy (kc_cu_context_t c)
{
    ENTER ();
    s_free_handle (&kc_fake.contexts, c);
    return KC_CUDA_SUCCESS;
}

static kc_cu_result_t f_CtxSetCurrent (kc_cu_context_t c)
{
    (void)c;
    ENTER ();
    return KC_CUDA_SUCCESS;
}

static kc_cu_result_t f_CtxSynchronize (void)
{
    ENTER ();
    return s_work ();
}

static kc_cu_result_t f_CtxSetLimit (unsigned limit, size_t v)
{
    (void)limit, (void)v;
    ENTER ();
    return KC_CUDA_SUCCESS;
}

static kc_cu_result_t f_CtxGetLimit (size_t *v, unsigned limit)
{
    (void)limit;
    ENTER ();
    *v = 1024;
    return KC_CUDA_SUCCESS;
}

static kc_cu_result_t f_StreamCreate (kc_cu_stream_t *s, unsigned flags)
{
    (void)flags;
    ENTER ();
    *s = s_handle (&kc_fake.streams);
    return KC_CUDA_SUCCESS;
}

static kc_cu_result_t f_StreamDestroy (kc_cu_stream_t s)
{
    ENTER ();
    s_free_handle (&kc_fake.streams, s);
    return KC_CUDA_SUCCESS;
}

static kc_cu_result_t f_StreamSynchronize (kc_cu_stream_t s)
{
    (void)s;
    ENTER ();
    return s_work ();
}

static kc_cu_result_t f_StreamQuery (kc_cu_stream_t s)
{
    (void)s;
    ENTER ();
    return s_work ();
}

static kc_cu_result_t f_EventCreate (kc_cu_event_t *e, unsigned flags)
{
    (void)flags;
    ENTER ();
    *e = s_handle (&kc_fake.events);
    return KC_CUDA_SUCCESS;
}

static kc_cu_result_t f_EventDestroy (kc_cu_event_t e)
{
    ENTER ();
    s_free_handle (&kc_fake.events, e);
    return KC_CUDA_SUCCESS;
}

static kc_cu_result_t f_EventRecord (kc_cu_event_t e, kc_cu_stream_t s)
{
    (void)s;
    ENTER ();
    const op_t op = {.event = (double *)(void *)e};
    s_queue (&op);
    return KC_CUDA_SUCCESS;
}

static kc_cu_result_t f_EventSynchronize (kc_cu_event_t e)
{
    (void)e;
    ENTER ();
    return s_work ();
}

static kc_cu_result_t f_EventQuery (kc_cu_event_t e)
{
    (void)e;
    ENTER ();
    return s_work ();
}

static kc_cu_result_t f_EventElapsedTime (float *ms, kc_cu_event_t a, kc_cu_event_t b)
{
    ENTER ();
    *ms = (float)((*(double *)(void *)b - *(double *)(void *)a) / 1e3);
    return KC_CUDA_SUCCESS;
}

// ---- memory ----

static kc_fake_alloc_t *s_find (uint64_t p, size_t bytes)
{
    for (size_t i = 0; i < kc_fake.n_allocs; i++) {
        const uint64_t base = (uint64_t)(uintptr_t)kc_fake.allocs[i].p;
        if (p >= base && p + bytes <= base + kc_fake.allocs[i].size)
            return &kc_fake.allocs[i];
    }
    const uint64_t constant = (uint64_t)(uintptr_t)kc_fake.constant_bytes;
    static kc_fake_alloc_t here;
    return p >= constant && p + bytes <= constant + sizeof kc_fake.constant_bytes
               ? &here
               : NULL;
}

static kc_cu_result_t f_MemGetInfo (size_t *free_bytes, size_t *total)
{
    ENTER ();
    *total = kc_fake.memory;
    *free_bytes = kc_fake.memory;
    for (size_t i = 0; i < kc_fake.n_allocs; i++)
        *free_bytes -= kc_fake.allocs[i].size;
    return KC_CUDA_SUCCESS;
}

static kc_cu_result_t s_alloc (void **out, size_t size)
{
    ENTER ();
    void *p = aligned_alloc (512, (size + 511) / 512 * 512);
    kc_assert (p);
    if (size < BIG)
        memset (p, 0xcd, size);
    *(kc_fake_alloc_t *)kc_push (&kc_fake.allocs, &kc_fake.n_allocs,
                                 sizeof (kc_fake_alloc_t)) = (kc_fake_alloc_t){p, size};
    *out = p;
    return KC_CUDA_SUCCESS;
}

static kc_cu_result_t f_MemAlloc (kc_cu_ptr_t *out, size_t size)
{
    void *p = NULL;
    kc_cu_result_t r = s_alloc (&p, size);
    if (r == KC_CUDA_SUCCESS)
        *out = (kc_cu_ptr_t)(uintptr_t)p;
    return r;
}

static kc_cu_result_t s_release (const void *p)
{
    ENTER ();
    for (size_t i = 0; i < kc_fake.n_allocs; i++) {
        if (kc_fake.allocs[i].p != p)
            continue;
        free (kc_fake.allocs[i].p);
        kc_fake.allocs[i] = kc_fake.allocs[--kc_fake.n_allocs];
        return KC_CUDA_SUCCESS;
    }
    return KC_CUDA_ERROR_INVALID_VALUE;
}

static kc_cu_result_t f_MemFree (kc_cu_ptr_t p)
{
    return s_release ((void *)(uintptr_t)p);
}

static kc_cu_result_t f_MemHostAlloc (void **out, size_t size, unsigned flags)
{
    (void)flags;
    return s_alloc (out, size);
}

static kc_cu_result_t f_MemFreeHost (void *p)
{
    return s_release (p);
}

static kc_cu_result_t f_MemHostGetDevicePointer (kc_cu_ptr_t *out, void *p,
                                                 unsigned flags)
{
    (void)flags;
    ENTER ();
    *out = (kc_cu_ptr_t)(uintptr_t)p;
    return KC_CUDA_SUCCESS;
}

static kc_cu_result_t s_copy (uint64_t dst, const void *src, size_t bytes)
{
    const op_t op = {.dst = (void *)(uintptr_t)dst, .src = src, .bytes = bytes};
    s_queue (&op);
    return KC_CUDA_SUCCESS;
}

static kc_cu_result_t f_MemcpyHtoDAsync (kc_cu_ptr_t dst, const void *src, size_t n,
                                         kc_cu_stream_t s)
{
    (void)s;
    ENTER ();
    // Pageable memory is staged before the call returns.
    if (!s_find (dst, n))
        return KC_CUDA_ERROR_INVALID_VALUE;
    kc_cu_result_t r = s_work ();
    if (r)
        return r;
    memcpy ((void *)(uintptr_t)dst, src, n);
    return KC_CUDA_SUCCESS;
}

static kc_cu_result_t f_MemcpyHtoD (kc_cu_ptr_t dst, const void *src, size_t n)
{
    return f_MemcpyHtoDAsync (dst, src, n, NULL);
}

static kc_cu_result_t f_MemcpyDtoHAsync (void *dst, kc_cu_ptr_t src, size_t n,
                                         kc_cu_stream_t s)
{
    (void)s;
    ENTER ();
    if (!s_find (src, n))
        return KC_CUDA_ERROR_INVALID_VALUE;
    return s_copy ((uint64_t)(uintptr_t)dst, (const void *)(uintptr_t)src, n);
}

static kc_cu_result_t f_MemcpyDtoH (void *dst, kc_cu_ptr_t src, size_t n)
{
    kc_cu_result_t r = f_MemcpyDtoHAsync (dst, src, n, NULL);
    return r ? r : s_work ();
}

static kc_cu_result_t f_MemcpyDtoDAsync (kc_cu_ptr_t dst, kc_cu_ptr_t src, size_t n,
                                         kc_cu_stream_t s)
{
    (void)s;
    ENTER ();
    if (!s_find (dst, n) || !s_find (src, n))
        return KC_CUDA_ERROR_INVALID_VALUE;
    return s_copy (dst, (const void *)(uintptr_t)src, n);
}

static kc_cu_result_t s_memset (kc_cu_ptr_t dst, unsigned value, unsigned element,
                                size_t n)
{
    ENTER ();
    if (!s_find (dst, n * element))
        return KC_CUDA_ERROR_INVALID_VALUE;
    const op_t op = {.dst = (void *)(uintptr_t)dst,
                     .bytes = n * element,
                     .value = value,
                     .element = element};
    s_queue (&op);
    return KC_CUDA_SUCCESS;
}

static kc_cu_result_t f_MemsetD8Async (kc_cu_ptr_t d, unsigned char v, size_t n,
                                       kc_cu_stream_t s)
{
    (void)s;
    return s_memset (d, v, 1, n);
}

static kc_cu_result_t f_MemsetD16Async (kc_cu_ptr_t d, unsigned short v, size_t n,
                                        kc_cu_stream_t s)
{
    (void)s;
    return s_memset (d, v, 2, n);
}

static kc_cu_result_t f_MemsetD32Async (kc_cu_ptr_t d, unsigned v, size_t n,
                                        kc_cu_stream_t s)
{
    (void)s;
    return s_memset (d, v, 4, n);
}

// ---- modules and functions ----

typedef struct module {
    bool trusted;
} module_t;

static kc_cu_result_t f_ModuleLoadData (kc_cu_module_t *out, const void *image)
{
    ENTER ();
    module_t *m = s_handle (&kc_fake.modules);
    m->trusted = memcmp (image, "// made", 7) == 0;
    s_log (m->trusted ? "load-trusted" : "load");
    *out = (kc_cu_module_t)(void *)m;
    return KC_CUDA_SUCCESS;
}

static kc_cu_result_t f_ModuleUnload (kc_cu_module_t m)
{
    ENTER ();
    s_free_handle (&kc_fake.modules, m);
    return KC_CUDA_SUCCESS;
}

static const kc_fake_kernel_t *s_kernel (kc_cu_function_t f)
{
    return (const void *)f;
}

static kc_cu_result_t f_ModuleGetFunction (kc_cu_function_t *out, kc_cu_module_t m,
                                           const char *name)
{
    ENTER ();
    const bool trusted = ((module_t *)(void *)m)->trusted;
    const kc_fake_kernel_t *list = trusted ? s_trusted : kc_fake.kernels;
    const size_t n = trusted ? KC_COUNT (s_trusted) : kc_fake.n_kernels;
    for (size_t i = 0; i < n; i++) {
        if (strcmp (list[i].name, name) != 0)
            continue;
        *out = (kc_cu_function_t)(uintptr_t)&list[i];
        return KC_CUDA_SUCCESS;
    }
    return KC_CUDA_ERROR_NOT_FOUND;
}

static kc_cu_result_t f_ModuleGetGlobal (kc_cu_ptr_t *p, size_t *size, kc_cu_module_t m,
                                         const char *name)
{
    (void)m;
    ENTER ();
    if (!kc_fake.constant || strcmp (kc_fake.constant, name) != 0)
        return KC_CUDA_ERROR_NOT_FOUND;
    *p = (kc_cu_ptr_t)(uintptr_t)kc_fake.constant_bytes;
    *size = sizeof kc_fake.constant_bytes;
    return KC_CUDA_SUCCESS;
}

static kc_cu_result_t f_FuncGetAttribute (int *v, unsigned id, kc_cu_function_t f)
{
    ENTER ();
    const kc_fake_kernel_t *k = s_kernel (f);
    *v = id == KC_CU_FUNC_ATTRIBUTE_NUM_REGS            ? k->registers
         : id == KC_CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES ? k->shared
         : id == KC_CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES
             ? k->local
             : (k->max_threads ? k->max_threads : 1024);
    return KC_CUDA_SUCCESS;
}

static kc_cu_result_t f_FuncSetAttribute (kc_cu_function_t f, unsigned id, int v)
{
    ENTER ();
    const kc_fake_kernel_t *k = s_kernel (f);
    if (strncmp (k->name, "kc_", 3) != 0
        && id == KC_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
        kc_fake.shared_opt_in = v;
    if (id == KC_CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED)
        kc_fake.non_portable = v;
    return KC_CUDA_SUCCESS;
}

static kc_cu_result_t f_FuncGetParamInfo (kc_cu_function_t f, size_t i, size_t *offset,
                                          size_t *size)
{
    const kc_fake_kernel_t *k = s_kernel (f);
    ENTER ();
    if (i >= k->n_params)
        return KC_CUDA_ERROR_INVALID_VALUE;
    size_t at = 0;
    for (size_t p = 0; p <= i; p++) {
        at = (at + k->sizes[p] - 1) / k->sizes[p] * k->sizes[p];
        *offset = at;
        *size = k->sizes[p];
        at += k->sizes[p];
    }
    return KC_CUDA_SUCCESS;
}

static kc_cu_result_t f_FuncLoad (kc_cu_function_t f)
{
    (void)f;
    ENTER ();
    return KC_CUDA_SUCCESS;
}

static op_t s_launch_op (const kc_fake_kernel_t *k, const unsigned *grid,
                         const unsigned *block, void **params)
{
    op_t op = {.kernel = k};
    memcpy (op.grid, grid, sizeof op.grid);
    memcpy (op.block, block, sizeof op.block);
    for (size_t i = 0; i < k->n_params; i++)
        memcpy (op.params[i], params[i], k->sizes[i]);
    return op;
}

static kc_cu_result_t f_LaunchKernelEx (const kc_cu_launch_config_t *c,
                                        kc_cu_function_t f, void **params, void **extra)
{
    ENTER ();
    const kc_fake_kernel_t *k = s_kernel (f);
    const unsigned grid[3] = {c->gridDimX, c->gridDimY, c->gridDimZ};
    const unsigned block[3] = {c->blockDimX, c->blockDimY, c->blockDimZ};
    if (extra || grid[0] == 0 || block[0] == 0)
        return KC_CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < c->numAttrs; i++)
        s_log (c->attrs[i].id == KC_CU_LAUNCH_ATTRIBUTE_COOPERATIVE ? "+cooperative"
                                                                    : "+cluster");
    const op_t op = s_launch_op (k, grid, block, params);
    s_queue (&op);
    return KC_CUDA_SUCCESS;
}

static kc_cu_result_t f_OccupancyMaxActiveBlocks (int *n, kc_cu_function_t f, int block,
                                                  size_t shared)
{
    (void)f, (void)block, (void)shared;
    ENTER ();
    *n = kc_fake.resident;
    return KC_CUDA_SUCCESS;
}

static kc_cu_result_t f_OccupancyMaxActiveClusters (int *n, kc_cu_function_t f,
                                                    const kc_cu_launch_config_t *c)
{
    (void)f;
    ENTER ();
    *n = c->attrs[0].value.clusterDim.x > 16 ? 0 : 4;
    return KC_CUDA_SUCCESS;
}

// ---- graphs ----

static kc_cu_result_t f_GraphCreate (kc_cu_graph_t *out, unsigned flags)
{
    (void)flags;
    ENTER ();
    kc_fake.graphs++;
    kc_fake.nodes = kc_fake.edges = 0;
    kc_fake.edge_log[0] = 0;
    *out = s_own (sizeof (graph_t));
    return KC_CUDA_SUCCESS;
}

static kc_cu_result_t f_GraphDestroy (kc_cu_graph_t g)
{
    ENTER ();
    graph_t *graph = (graph_t *)(void *)g;
    for (size_t i = 0; i < graph->n; i++)
        s_disown (graph->nodes[i]);
    s_disown (graph);
    kc_fake.graphs--;
    return KC_CUDA_SUCCESS;
}

static void s_add_node (kc_cu_node_t *out, kc_cu_graph_t g, const kc_cu_node_t *after,
                        size_t n, const op_t *op)
{
    graph_t *graph = (graph_t *)(void *)g;
    node_t *node = s_own (sizeof *node);
    node->op = *op;
    for (size_t i = 0; i < n; i++) {
        size_t from = 0;
        while (from < graph->n && graph->nodes[from] != (node_t *)(void *)after[i])
            from++;
        const size_t used = strlen (kc_fake.edge_log);
        snprintf (kc_fake.edge_log + used, sizeof kc_fake.edge_log - used, "%zu<-%zu ",
                  graph->n, from);
        kc_fake.edges++;
    }
    kc_assert (graph->n < MAX_NODES);
    graph->nodes[graph->n++] = node;
    kc_fake.nodes++;
    *out = (kc_cu_node_t)(void *)node;
}

static kc_cu_result_t f_GraphAddKernelNode (kc_cu_node_t *out, kc_cu_graph_t g,
                                            const kc_cu_node_t *after, size_t n,
                                            const kc_cu_kernel_node_t *p)
{
    ENTER ();
    const unsigned grid[3] = {p->gridDimX, p->gridDimY, p->gridDimZ};
    const unsigned block[3] = {p->blockDimX, p->blockDimY, p->blockDimZ};
    const op_t op = s_launch_op (s_kernel (p->func), grid, block, p->kernelParams);
    s_add_node (out, g, after, n, &op);
    return KC_CUDA_SUCCESS;
}

static kc_cu_result_t f_GraphAddMemsetNode (kc_cu_node_t *out, kc_cu_graph_t g,
                                            const kc_cu_node_t *after, size_t n,
                                            const kc_cu_memset_node_t *p,
                                            kc_cu_context_t c)
{
    (void)c;
    ENTER ();
    if (!s_find (p->dst, p->width * p->elementSize) || p->height != 1)
        return KC_CUDA_ERROR_INVALID_VALUE;
    const op_t op = {.dst = (void *)(uintptr_t)p->dst,
                     .bytes = p->width * p->elementSize,
                     .value = p->value,
                     .element = p->elementSize};
    s_add_node (out, g, after, n, &op);
    return KC_CUDA_SUCCESS;
}

static kc_cu_result_t f_GraphAddMemcpyNode (kc_cu_node_t *out, kc_cu_graph_t g,
                                            const kc_cu_node_t *after, size_t n,
                                            const kc_cu_memcpy3d_t *p,
                                            kc_cu_context_t c)
{
    (void)c;
    ENTER ();
    if (p->Height != 1 || p->Depth != 1 || !s_find (p->dstDevice, p->WidthInBytes)
        || !s_find (p->srcDevice, p->WidthInBytes))
        return KC_CUDA_ERROR_INVALID_VALUE;
    const op_t op = {.dst = (void *)(uintptr_t)p->dstDevice,
                     .src = (const void *)(uintptr_t)p->srcDevice,
                     .bytes = p->WidthInBytes};
    s_add_node (out, g, after, n, &op);
    return KC_CUDA_SUCCESS;
}

static kc_cu_result_t f_GraphKernelNodeSetAttribute (kc_cu_node_t node, unsigned id,
                                                     const kc_cu_launch_value_t *v)
{
    (void)node, (void)v;
    ENTER ();
    s_log (id == KC_CU_LAUNCH_ATTRIBUTE_COOPERATIVE ? "+cooperative" : "+cluster");
    return KC_CUDA_SUCCESS;
}

static kc_cu_result_t f_GraphInstantiateWithParams (kc_cu_exec_t *out, kc_cu_graph_t g,
                                                    kc_cu_instantiate_t *p)
{
    (void)p;
    ENTER ();
    graph_t **exec = s_handle (&kc_fake.execs);
    *exec = (graph_t *)(void *)g;
    *out = (kc_cu_exec_t)(void *)exec;
    return KC_CUDA_SUCCESS;
}

static kc_cu_result_t f_GraphUpload (kc_cu_exec_t e, kc_cu_stream_t s)
{
    (void)e, (void)s;
    ENTER ();
    return KC_CUDA_SUCCESS;
}

// Nodes run in the order they were added, which every dependency allows.
static kc_cu_result_t f_GraphLaunch (kc_cu_exec_t e, kc_cu_stream_t s)
{
    (void)s;
    ENTER ();
    const graph_t *graph = *(graph_t **)(void *)e;
    for (size_t i = 0; i < graph->n; i++)
        s_queue (&graph->nodes[i]->op);
    return KC_CUDA_SUCCESS;
}

static kc_cu_result_t f_GraphExecDestroy (kc_cu_exec_t e)
{
    ENTER ();
    s_free_handle (&kc_fake.execs, e);
    return KC_CUDA_SUCCESS;
}

// ---- the table ----

static const kc_cuda_api_t s_api = {
#define FAKE(name) .name = f_##name
    FAKE (Init),
    FAKE (DriverGetVersion),
    FAKE (GetErrorName),
    FAKE (GetErrorString),
    FAKE (DeviceGetCount),
    FAKE (DeviceGet),
    FAKE (DeviceGetName),
    FAKE (DeviceGetAttribute),
    FAKE (DeviceGetUuid),
    FAKE (DeviceTotalMem),
    FAKE (DeviceGetPCIBusId),
    FAKE (CtxCreate),
    FAKE (CtxDestroy),
    FAKE (CtxSetCurrent),
    FAKE (CtxSynchronize),
    FAKE (CtxSetLimit),
    FAKE (CtxGetLimit),
    FAKE (MemGetInfo),
    FAKE (MemAlloc),
    FAKE (MemFree),
    FAKE (MemHostAlloc),
    FAKE (MemFreeHost),
    FAKE (MemHostGetDevicePointer),
    FAKE (MemcpyHtoD),
    FAKE (MemcpyDtoH),
    FAKE (MemcpyDtoDAsync),
    FAKE (MemcpyHtoDAsync),
    FAKE (MemcpyDtoHAsync),
    FAKE (MemsetD8Async),
    FAKE (MemsetD16Async),
    FAKE (MemsetD32Async),
    FAKE (ModuleLoadData),
    FAKE (ModuleUnload),
    FAKE (ModuleGetFunction),
    FAKE (ModuleGetGlobal),
    FAKE (FuncGetAttribute),
    FAKE (FuncSetAttribute),
    FAKE (FuncGetParamInfo),
    FAKE (FuncLoad),
    FAKE (LaunchKernelEx),
    FAKE (StreamCreate),
    FAKE (StreamDestroy),
    FAKE (StreamSynchronize),
    FAKE (StreamQuery),
    FAKE (EventCreate),
    FAKE (EventDestroy),
    FAKE (EventRecord),
    FAKE (EventSynchronize),
    FAKE (EventQuery),
    FAKE (EventElapsedTime),
    FAKE (GraphCreate),
    FAKE (GraphDestroy),
    FAKE (GraphAddKernelNode),
    FAKE (GraphAddMemsetNode),
    FAKE (GraphAddMemcpyNode),
    FAKE (GraphKernelNodeSetAttribute),
    FAKE (GraphInstantiateWithParams),
    FAKE (GraphUpload),
    FAKE (GraphLaunch),
    FAKE (GraphExecDestroy),
    FAKE (OccupancyMaxActiveBlocks),
    FAKE (OccupancyMaxActiveClusters),
#undef FAKE
};

const kc_cuda_api_t *kc_fake_api (void)
{
    return &s_api;
}

void kc_fake_reset (void)
{
    for (size_t i = 0; i < kc_fake.n_allocs; i++)
        free (kc_fake.allocs[i].p);
    for (size_t i = 0; i < kc_fake.n_owned; i++)
        free (kc_fake.owned[i]);
    free (kc_fake.owned);
    free (kc_fake.allocs);
    free (kc_fake.queue);
    memset (&kc_fake, 0, sizeof kc_fake);
    kc_fake.sm = 90;
    kc_fake.optin = 232448;
    kc_fake.clusters = kc_fake.cooperative = 1;
    kc_fake.resident = 2;
    kc_fake.memory = (size_t)1 << 30;
    kc_fake.clock_mhz = 1980;
    kc_fake.fail_at = -1;
}

size_t kc_fake_leaks (void)
{
    return kc_fake.n_allocs
           + (size_t)(kc_fake.contexts + kc_fake.streams + kc_fake.events
                      + kc_fake.modules + kc_fake.graphs + kc_fake.execs);
}
