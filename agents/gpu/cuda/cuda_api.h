/* cuda_api.h - the CUDA Driver API as we call it: our own declarations, and a table
 * filled at run time
 *
 * One binary serves machines with and without a driver: nothing links libcuda, and no
 * NVIDIA header is needed to build.  What is declared here is the binary interface of
 * the exported, versioned symbols (cuMemAlloc_v2, not cuMemAlloc), which the driver
 * keeps for ever; a test includes the real header where one is installed and compares
 * every constant, size, offset and prototype.
 *
 * Handles use the struct tags of the real header, so pointers to them are the same
 * types.  The table is immutable after loading and may be used from any thread; the
 * driver's own rules on contexts apply.
 */
#ifndef KC_CUDA_API_H
#define KC_CUDA_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/util/kc_err.h"

typedef unsigned kc_cu_result_t; // 0 is success; names through GetErrorName
typedef int kc_cu_device_t;
typedef unsigned long long kc_cu_ptr_t; // an address on the device
typedef struct CUctx_st *kc_cu_context_t;
typedef struct CUmod_st *kc_cu_module_t;
typedef struct CUfunc_st *kc_cu_function_t;
typedef struct CUkern_st *kc_cu_kernel_t;
typedef struct CUevent_st *kc_cu_event_t;
typedef struct CUstream_st *kc_cu_stream_t;
typedef struct CUgraph_st *kc_cu_graph_t;
typedef struct CUgraphNode_st *kc_cu_node_t;
typedef struct CUgraphExec_st *kc_cu_exec_t;
typedef struct CUarray_st *kc_cu_array_t;

// X (name in the real header, value): an enum KC_<name> here, compared with <name> by
// the test.
#define KC_CUDA_CONSTANTS(X)                                                           \
    X (CUDA_SUCCESS, 0)                                                                \
    X (CUDA_ERROR_INVALID_VALUE, 1)                                                    \
    X (CUDA_ERROR_OUT_OF_MEMORY, 2)                                                    \
    X (CUDA_ERROR_NOT_INITIALIZED, 3)                                                  \
    X (CUDA_ERROR_DEINITIALIZED, 4)                                                    \
    X (CUDA_ERROR_DEVICE_UNAVAILABLE, 46)                                              \
    X (CUDA_ERROR_NO_DEVICE, 100)                                                      \
    X (CUDA_ERROR_INVALID_DEVICE, 101)                                                 \
    X (CUDA_ERROR_INVALID_IMAGE, 200)                                                  \
    X (CUDA_ERROR_INVALID_CONTEXT, 201)                                                \
    X (CUDA_ERROR_NO_BINARY_FOR_GPU, 209)                                              \
    X (CUDA_ERROR_ECC_UNCORRECTABLE, 214)                                              \
    X (CUDA_ERROR_INVALID_PTX, 218)                                                    \
    X (CUDA_ERROR_NVLINK_UNCORRECTABLE, 220)                                           \
    X (CUDA_ERROR_UNSUPPORTED_PTX_VERSION, 222)                                        \
    X (CUDA_ERROR_CONTAINED, 226)                                                      \
    X (CUDA_ERROR_INVALID_HANDLE, 400)                                                 \
    X (CUDA_ERROR_NOT_FOUND, 500)                                                      \
    X (CUDA_ERROR_NOT_READY, 600)                                                      \
    X (CUDA_ERROR_ILLEGAL_ADDRESS, 700)                                                \
    X (CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 701)                                        \
    X (CUDA_ERROR_LAUNCH_TIMEOUT, 702)                                                 \
    X (CUDA_ERROR_CONTEXT_IS_DESTROYED, 709)                                           \
    X (CUDA_ERROR_ASSERT, 710)                                                         \
    X (CUDA_ERROR_HARDWARE_STACK_ERROR, 714)                                           \
    X (CUDA_ERROR_ILLEGAL_INSTRUCTION, 715)                                            \
    X (CUDA_ERROR_MISALIGNED_ADDRESS, 716)                                             \
    X (CUDA_ERROR_INVALID_ADDRESS_SPACE, 717)                                          \
    X (CUDA_ERROR_INVALID_PC, 718)                                                     \
    X (CUDA_ERROR_LAUNCH_FAILED, 719)                                                  \
    X (CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, 720)                                   \
    X (CUDA_ERROR_NOT_PERMITTED, 800)                                                  \
    X (CUDA_ERROR_NOT_SUPPORTED, 801)                                                  \
    X (CUDA_ERROR_INVALID_CLUSTER_SIZE, 912)                                           \
    X (CUDA_ERROR_UNKNOWN, 999)                                                        \
    X (CU_CTX_SCHED_SPIN, 1)                                                           \
    X (CU_CTX_SCHED_BLOCKING_SYNC, 4)                                                  \
    X (CU_CTX_MAP_HOST, 8)                                                             \
    X (CU_LIMIT_STACK_SIZE, 0)                                                         \
    X (CU_LIMIT_PRINTF_FIFO_SIZE, 1)                                                   \
    X (CU_LIMIT_MALLOC_HEAP_SIZE, 2)                                                   \
    X (CU_MEMHOSTALLOC_PORTABLE, 1)                                                    \
    X (CU_MEMHOSTALLOC_DEVICEMAP, 2)                                                   \
    X (CU_STREAM_DEFAULT, 0)                                                           \
    X (CU_STREAM_NON_BLOCKING, 1)                                                      \
    X (CU_EVENT_DEFAULT, 0)                                                            \
    X (CU_EVENT_BLOCKING_SYNC, 1)                                                      \
    X (CU_EVENT_DISABLE_TIMING, 2)                                                     \
    X (CU_MEMORYTYPE_HOST, 1)                                                          \
    X (CU_MEMORYTYPE_DEVICE, 2)                                                        \
    X (CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1)                                   \
    X (CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 2)                                         \
    X (CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 3)                                         \
    X (CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 4)                                         \
    X (CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 5)                                          \
    X (CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 6)                                          \
    X (CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 7)                                          \
    X (CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 8)                             \
    X (CU_DEVICE_ATTRIBUTE_WARP_SIZE, 10)                                              \
    X (CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 12)                                \
    X (CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 13)                                             \
    X (CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 16)                                   \
    X (CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT, 17)                                    \
    X (CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, 20)                                           \
    X (CU_DEVICE_ATTRIBUTE_ECC_ENABLED, 32)                                            \
    X (CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 36)                                      \
    X (CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 37)                                \
    X (CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 38)                                          \
    X (CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 39)                         \
    X (CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 75)                               \
    X (CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 76)                               \
    X (CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 81)                   \
    X (CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 82)                       \
    X (CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 95)                                     \
    X (CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 97)                      \
    X (CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 106)                         \
    X (CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, 111)                      \
    X (CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, 120)                                        \
    X (CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 0)                                     \
    X (CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, 1)                                         \
    X (CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, 2)                                          \
    X (CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, 3)                                          \
    X (CU_FUNC_ATTRIBUTE_NUM_REGS, 4)                                                  \
    X (CU_FUNC_ATTRIBUTE_PTX_VERSION, 5)                                               \
    X (CU_FUNC_ATTRIBUTE_BINARY_VERSION, 6)                                            \
    X (CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 8)                             \
    X (CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 9)                          \
    X (CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, 10)                                 \
    X (CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 11)                                   \
    X (CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, 12)                                  \
    X (CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, 13)                                   \
    X (CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 14)                        \
    X (CU_LAUNCH_ATTRIBUTE_COOPERATIVE, 2)                                             \
    X (CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, 4)                                       \
    X (CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, 6)                       \
    X (CU_TENSOR_MAP_DATA_TYPE_UINT8, 0)                                               \
    X (CU_TENSOR_MAP_DATA_TYPE_UINT16, 1)                                              \
    X (CU_TENSOR_MAP_DATA_TYPE_UINT32, 2)                                              \
    X (CU_TENSOR_MAP_DATA_TYPE_INT32, 3)                                               \
    X (CU_TENSOR_MAP_DATA_TYPE_UINT64, 4)                                              \
    X (CU_TENSOR_MAP_DATA_TYPE_INT64, 5)                                               \
    X (CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 6)                                             \
    X (CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 7)                                             \
    X (CU_TENSOR_MAP_DATA_TYPE_FLOAT64, 8)                                             \
    X (CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 9)                                            \
    X (CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ, 10)                                        \
    X (CU_TENSOR_MAP_DATA_TYPE_TFLOAT32, 11)                                           \
    X (CU_TENSOR_MAP_INTERLEAVE_NONE, 0)                                               \
    X (CU_TENSOR_MAP_SWIZZLE_NONE, 0)                                                  \
    X (CU_TENSOR_MAP_SWIZZLE_32B, 1)                                                   \
    X (CU_TENSOR_MAP_SWIZZLE_64B, 2)                                                   \
    X (CU_TENSOR_MAP_SWIZZLE_128B, 3)                                                  \
    X (CU_TENSOR_MAP_L2_PROMOTION_NONE, 0)                                             \
    X (CU_TENSOR_MAP_L2_PROMOTION_L2_64B, 1)                                           \
    X (CU_TENSOR_MAP_L2_PROMOTION_L2_128B, 2)                                          \
    X (CU_TENSOR_MAP_L2_PROMOTION_L2_256B, 3)                                          \
    X (CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE, 0)                                           \
    X (CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA, 1)

enum {
#define KC_CUDA_CONSTANT(name, value) KC_##name = value,
    KC_CUDA_CONSTANTS (KC_CUDA_CONSTANT)
#undef KC_CUDA_CONSTANT
};

typedef struct kc_cu_uuid {
    char bytes[16];
} kc_cu_uuid_t;

typedef union kc_cu_launch_value {
    char pad[64];
    uint64_t word; // gives the union the alignment it has there
    int cooperative;
    struct {
        unsigned x, y, z;
    } clusterDim;
    int programmaticStreamSerializationAllowed;
} kc_cu_launch_value_t;

typedef struct kc_cu_launch_attribute {
    unsigned id; // KC_CU_LAUNCH_ATTRIBUTE_...
    char pad[4];
    kc_cu_launch_value_t value;
} kc_cu_launch_attribute_t;

typedef struct kc_cu_launch_config {
    unsigned gridDimX, gridDimY, gridDimZ;
    unsigned blockDimX, blockDimY, blockDimZ;
    unsigned sharedMemBytes;
    kc_cu_stream_t hStream;
    kc_cu_launch_attribute_t *attrs;
    unsigned numAttrs;
} kc_cu_launch_config_t;

typedef struct kc_cu_kernel_node {
    kc_cu_function_t func;
    unsigned gridDimX, gridDimY, gridDimZ;
    unsigned blockDimX, blockDimY, blockDimZ;
    unsigned sharedMemBytes;
    void **kernelParams;
    void **extra;
    kc_cu_kernel_t kern;
    kc_cu_context_t ctx;
} kc_cu_kernel_node_t;

typedef struct kc_cu_memset_node {
    kc_cu_ptr_t dst;
    size_t pitch;
    unsigned value;
    unsigned elementSize; // 1, 2 or 4
    size_t width;         // in elements
    size_t height;
} kc_cu_memset_node_t;

typedef struct kc_cu_memcpy3d {
    size_t srcXInBytes, srcY, srcZ, srcLOD;
    unsigned srcMemoryType;
    const void *srcHost;
    kc_cu_ptr_t srcDevice;
    kc_cu_array_t srcArray;
    void *reserved0;
    size_t srcPitch, srcHeight;
    size_t dstXInBytes, dstY, dstZ, dstLOD;
    unsigned dstMemoryType;
    void *dstHost;
    kc_cu_ptr_t dstDevice;
    kc_cu_array_t dstArray;
    void *reserved1;
    size_t dstPitch, dstHeight;
    size_t WidthInBytes, Height, Depth;
} kc_cu_memcpy3d_t;

typedef struct kc_cu_tensor_map { // an argument by value; 128-byte alignment since CUDA
                                  // 13
    _Alignas(128) uint64_t opaque[16];
} kc_cu_tensor_map_t;

typedef struct kc_cu_instantiate {
    uint64_t flags;
    kc_cu_stream_t hUploadStream;
    kc_cu_node_t hErrNode_out;
    unsigned result_out;
} kc_cu_instantiate_t;

/* X (needed, field of the table, exported symbol, parameters): every function returns
 * kc_cu_result_t. needed 0: younger than CUDA 11.8 or not vital; its pointer may be
 * NULL and the caller must look. */
#define KC_CUDA_FUNCTIONS(X)                                                           \
    X (1, Init, cuInit, (unsigned))                                                    \
    X (1, DriverGetVersion, cuDriverGetVersion, (int *))                               \
    X (1, GetErrorName, cuGetErrorName, (kc_cu_result_t, const char **))               \
    X (1, GetErrorString, cuGetErrorString, (kc_cu_result_t, const char **))           \
    X (1, DeviceGetCount, cuDeviceGetCount, (int *))                                   \
    X (1, DeviceGet, cuDeviceGet, (kc_cu_device_t *, int))                             \
    X (1, DeviceGetName, cuDeviceGetName, (char *, int, kc_cu_device_t))               \
    X (1, DeviceGetAttribute, cuDeviceGetAttribute, (int *, unsigned, kc_cu_device_t)) \
    X (1, DeviceGetUuid, cuDeviceGetUuid_v2, (kc_cu_uuid_t *, kc_cu_device_t))         \
    X (1, DeviceTotalMem, cuDeviceTotalMem_v2, (size_t *, kc_cu_device_t))             \
    X (1, DeviceGetPCIBusId, cuDeviceGetPCIBusId, (char *, int, kc_cu_device_t))       \
    X (1, CtxCreate, cuCtxCreate_v2, (kc_cu_context_t *, unsigned, kc_cu_device_t))    \
    X (1, CtxDestroy, cuCtxDestroy_v2, (kc_cu_context_t))                              \
    X (1, CtxSetCurrent, cuCtxSetCurrent, (kc_cu_context_t))                           \
    X (1, CtxSynchronize, cuCtxSynchronize, (void))                                    \
    X (1, CtxSetLimit, cuCtxSetLimit, (unsigned, size_t))                              \
    X (1, CtxGetLimit, cuCtxGetLimit, (size_t *, unsigned))                            \
    X (1, MemGetInfo, cuMemGetInfo_v2, (size_t *, size_t *))                           \
    X (1, MemAlloc, cuMemAlloc_v2, (kc_cu_ptr_t *, size_t))                            \
    X (1, MemFree, cuMemFree_v2, (kc_cu_ptr_t))                                        \
    X (1, MemHostAlloc, cuMemHostAlloc, (void **, size_t, unsigned))                   \
    X (1, MemFreeHost, cuMemFreeHost, (void *))                                        \
    X (1, MemHostGetDevicePointer, cuMemHostGetDevicePointer_v2,                       \
       (kc_cu_ptr_t *, void *, unsigned))                                              \
    X (1, MemcpyHtoD, cuMemcpyHtoD_v2, (kc_cu_ptr_t, const void *, size_t))            \
    X (1, MemcpyDtoH, cuMemcpyDtoH_v2, (void *, kc_cu_ptr_t, size_t))                  \
    X (1, MemcpyDtoDAsync, cuMemcpyDtoDAsync_v2,                                       \
       (kc_cu_ptr_t, kc_cu_ptr_t, size_t, kc_cu_stream_t))                             \
    X (1, MemcpyHtoDAsync, cuMemcpyHtoDAsync_v2,                                       \
       (kc_cu_ptr_t, const void *, size_t, kc_cu_stream_t))                            \
    X (1, MemcpyDtoHAsync, cuMemcpyDtoHAsync_v2,                                       \
       (void *, kc_cu_ptr_t, size_t, kc_cu_stream_t))                                  \
    X (1, MemsetD8Async, cuMemsetD8Async,                                              \
       (kc_cu_ptr_t, unsigned char, size_t, kc_cu_stream_t))                           \
    X (1, MemsetD16Async, cuMemsetD16Async,                                            \
       (kc_cu_ptr_t, unsigned short, size_t, kc_cu_stream_t))                          \
    X (1, MemsetD32Async, cuMemsetD32Async,                                            \
       (kc_cu_ptr_t, unsigned, size_t, kc_cu_stream_t))                                \
    X (1, ModuleLoadData, cuModuleLoadData, (kc_cu_module_t *, const void *))          \
    X (1, ModuleUnload, cuModuleUnload, (kc_cu_module_t))                              \
    X (1, ModuleGetFunction, cuModuleGetFunction,                                      \
       (kc_cu_function_t *, kc_cu_module_t, const char *))                             \
    X (1, ModuleGetGlobal, cuModuleGetGlobal_v2,                                       \
       (kc_cu_ptr_t *, size_t *, kc_cu_module_t, const char *))                        \
    X (0, ModuleGetFunctionCount, cuModuleGetFunctionCount,                            \
       (unsigned *, kc_cu_module_t))                                                   \
    X (0, ModuleEnumerateFunctions, cuModuleEnumerateFunctions,                        \
       (kc_cu_function_t *, unsigned, kc_cu_module_t))                                 \
    X (1, FuncGetAttribute, cuFuncGetAttribute, (int *, unsigned, kc_cu_function_t))   \
    X (1, FuncSetAttribute, cuFuncSetAttribute, (kc_cu_function_t, unsigned, int))     \
    X (0, FuncGetParamInfo, cuFuncGetParamInfo,                                        \
       (kc_cu_function_t, size_t, size_t *, size_t *))                                 \
    X (0, FuncGetName, cuFuncGetName, (const char **, kc_cu_function_t))               \
    X (0, FuncLoad, cuFuncLoad, (kc_cu_function_t))                                    \
    X (1, LaunchKernelEx, cuLaunchKernelEx,                                            \
       (const kc_cu_launch_config_t *, kc_cu_function_t, void **, void **))            \
    X (1, StreamCreate, cuStreamCreate, (kc_cu_stream_t *, unsigned))                  \
    X (1, StreamDestroy, cuStreamDestroy_v2, (kc_cu_stream_t))                         \
    X (1, StreamSynchronize, cuStreamSynchronize, (kc_cu_stream_t))                    \
    X (1, StreamQuery, cuStreamQuery, (kc_cu_stream_t))                                \
    X (1, EventCreate, cuEventCreate, (kc_cu_event_t *, unsigned))                     \
    X (1, EventDestroy, cuEventDestroy_v2, (kc_cu_event_t))                            \
    X (1, EventRecord, cuEventRecord, (kc_cu_event_t, kc_cu_stream_t))                 \
    X (1, EventSynchronize, cuEventSynchronize, (kc_cu_event_t))                       \
    X (1, EventQuery, cuEventQuery, (kc_cu_event_t))                                   \
    X (1, EventElapsedTime, cuEventElapsedTime,                                        \
       (float *, kc_cu_event_t, kc_cu_event_t))                                        \
    X (1, GraphCreate, cuGraphCreate, (kc_cu_graph_t *, unsigned))                     \
    X (1, GraphDestroy, cuGraphDestroy, (kc_cu_graph_t))                               \
    X (0, GraphAddKernelNode, cuGraphAddKernelNode_v2,                                 \
       (kc_cu_node_t *, kc_cu_graph_t, const kc_cu_node_t *, size_t,                   \
        const kc_cu_kernel_node_t *))                                                  \
    X (1, GraphAddMemsetNode, cuGraphAddMemsetNode,                                    \
       (kc_cu_node_t *, kc_cu_graph_t, const kc_cu_node_t *, size_t,                   \
        const kc_cu_memset_node_t *, kc_cu_context_t))                                 \
    X (1, GraphAddMemcpyNode, cuGraphAddMemcpyNode,                                    \
       (kc_cu_node_t *, kc_cu_graph_t, const kc_cu_node_t *, size_t,                   \
        const kc_cu_memcpy3d_t *, kc_cu_context_t))                                    \
    X (1, GraphKernelNodeSetAttribute, cuGraphKernelNodeSetAttribute,                  \
       (kc_cu_node_t, unsigned, const kc_cu_launch_value_t *))                         \
    X (0, GraphInstantiateWithParams, cuGraphInstantiateWithParams,                    \
       (kc_cu_exec_t *, kc_cu_graph_t, kc_cu_instantiate_t *))                         \
    X (1, GraphUpload, cuGraphUpload, (kc_cu_exec_t, kc_cu_stream_t))                  \
    X (1, GraphLaunch, cuGraphLaunch, (kc_cu_exec_t, kc_cu_stream_t))                  \
    X (1, GraphExecDestroy, cuGraphExecDestroy, (kc_cu_exec_t))                        \
    X (1, OccupancyMaxActiveBlocks, cuOccupancyMaxActiveBlocksPerMultiprocessor,       \
       (int *, kc_cu_function_t, int, size_t))                                         \
    X (1, OccupancyMaxActiveClusters, cuOccupancyMaxActiveClusters,                    \
       (int *, kc_cu_function_t, const kc_cu_launch_config_t *))                       \
    X (0, TensorMapEncodeTiled, cuTensorMapEncodeTiled,                                \
       (kc_cu_tensor_map_t *, unsigned, uint32_t, void *, const uint64_t *,            \
        const uint64_t *, const uint32_t *, const uint32_t *, unsigned, unsigned,      \
        unsigned, unsigned))

typedef struct kc_cuda_api {
#define KC_CUDA_FIELD(needed, field, symbol, params) kc_cu_result_t (*field) params;
    KC_CUDA_FUNCTIONS (KC_CUDA_FIELD)
#undef KC_CUDA_FIELD
    void *handle; // of dlopen; NULL in a table made by a test
    char *path;   // where the driver was found
} kc_cuda_api_t;

/* Open the driver library and fill a table; NULL with 'err' (KC_EUNSUPPORTED) naming
 * every place tried, or the first symbol that is missing.  Does not call the driver.
 * The library stays mapped after _destroy: it has threads of its own. */
kc_cuda_api_t *kc_cuda_api_load (kc_err_t *err);
void kc_cuda_api_destroy (kc_cuda_api_t **self_p);

// "CUDA_ERROR_ILLEGAL_ADDRESS (700)" into 'out'; always zero-terminated.
void kc_cuda_error_name (const kc_cuda_api_t *self, kc_cu_result_t code, char *out,
                         size_t size);
// True when the code means that this context, and so this process, can do no more work.
bool kc_cuda_error_sticky (kc_cu_result_t code);

#endif // KC_CUDA_API_H
