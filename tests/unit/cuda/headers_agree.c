/* headers_agree.c - our declarations of the driver and of NVRTC, compared with NVIDIA's
 * headers at compile time
 *
 * Built only where the headers are.  A difference does not compile, and the message
 * names the symbol.
 */
#define __CUDA_API_VERSION_INTERNAL // declare every versioned symbol, map none
#include <cuda.h>
#include <nvrtc.h>

#include <stddef.h>

#include "agents/gpu/cuda/cuda_api.h"
#include "agents/gpu/cuda/nvrtc_api.h"

int kc_cuda_headers_agree (void);

#define SAME_CONSTANT(name, value)                                                     \
    _Static_assert((long long)KC_##name == (long long)(name), #name);
KC_CUDA_CONSTANTS (SAME_CONSTANT)
KC_NVRTC_CONSTANTS (SAME_CONSTANT)

#define SAME_SIZE(ours, theirs)                                                        \
    _Static_assert(sizeof (ours) == sizeof (theirs), "size of " #theirs);              \
    _Static_assert(_Alignof(ours) == _Alignof(theirs), "alignment of " #theirs)
#define SAME_FIELD(ours, theirs, f)                                                    \
    _Static_assert(offsetof (ours, f) == offsetof (theirs, f), #theirs "." #f);        \
    _Static_assert(sizeof (((ours *)0)->f) == sizeof (((theirs *)0)->f), #theirs "." #f)

SAME_SIZE (kc_cu_result_t, CUresult);
SAME_SIZE (kc_cu_device_t, CUdevice);
SAME_SIZE (kc_cu_ptr_t, CUdeviceptr);
SAME_SIZE (kc_cu_uuid_t, CUuuid);
SAME_SIZE (kc_cu_tensor_map_t, CUtensorMap);
SAME_FIELD (kc_cu_tensor_map_t, CUtensorMap, opaque);

SAME_SIZE (kc_cu_launch_value_t, CUlaunchAttributeValue);
SAME_FIELD (kc_cu_launch_value_t, CUlaunchAttributeValue, cooperative);
SAME_FIELD (kc_cu_launch_value_t, CUlaunchAttributeValue, clusterDim);
SAME_FIELD (kc_cu_launch_value_t, CUlaunchAttributeValue,
            programmaticStreamSerializationAllowed);
SAME_SIZE (kc_cu_launch_attribute_t, CUlaunchAttribute);
SAME_FIELD (kc_cu_launch_attribute_t, CUlaunchAttribute, id);
SAME_FIELD (kc_cu_launch_attribute_t, CUlaunchAttribute, value);

SAME_SIZE (kc_cu_launch_config_t, CUlaunchConfig);
SAME_FIELD (kc_cu_launch_config_t, CUlaunchConfig, gridDimX);
SAME_FIELD (kc_cu_launch_config_t, CUlaunchConfig, gridDimZ);
SAME_FIELD (kc_cu_launch_config_t, CUlaunchConfig, blockDimX);
SAME_FIELD (kc_cu_launch_config_t, CUlaunchConfig, blockDimZ);
SAME_FIELD (kc_cu_launch_config_t, CUlaunchConfig, sharedMemBytes);
SAME_FIELD (kc_cu_launch_config_t, CUlaunchConfig, hStream);
SAME_FIELD (kc_cu_launch_config_t, CUlaunchConfig, attrs);
SAME_FIELD (kc_cu_launch_config_t, CUlaunchConfig, numAttrs);

SAME_SIZE (kc_cu_kernel_node_t, CUDA_KERNEL_NODE_PARAMS_v2);
SAME_FIELD (kc_cu_kernel_node_t, CUDA_KERNEL_NODE_PARAMS_v2, func);
SAME_FIELD (kc_cu_kernel_node_t, CUDA_KERNEL_NODE_PARAMS_v2, gridDimX);
SAME_FIELD (kc_cu_kernel_node_t, CUDA_KERNEL_NODE_PARAMS_v2, blockDimX);
SAME_FIELD (kc_cu_kernel_node_t, CUDA_KERNEL_NODE_PARAMS_v2, sharedMemBytes);
SAME_FIELD (kc_cu_kernel_node_t, CUDA_KERNEL_NODE_PARAMS_v2, kernelParams);
SAME_FIELD (kc_cu_kernel_node_t, CUDA_KERNEL_NODE_PARAMS_v2, extra);
SAME_FIELD (kc_cu_kernel_node_t, CUDA_KERNEL_NODE_PARAMS_v2, kern);
SAME_FIELD (kc_cu_kernel_node_t, CUDA_KERNEL_NODE_PARAMS_v2, ctx);

SAME_SIZE (kc_cu_memset_node_t, CUDA_MEMSET_NODE_PARAMS_v1);
SAME_FIELD (kc_cu_memset_node_t, CUDA_MEMSET_NODE_PARAMS_v1, dst);
SAME_FIELD (kc_cu_memset_node_t, CUDA_MEMSET_NODE_PARAMS_v1, pitch);
SAME_FIELD (kc_cu_memset_node_t, CUDA_MEMSET_NODE_PARAMS_v1, value);
SAME_FIELD (kc_cu_memset_node_t, CUDA_MEMSET_NODE_PARAMS_v1, elementSize);
SAME_FIELD (kc_cu_memset_node_t, CUDA_MEMSET_NODE_PARAMS_v1, width);
SAME_FIELD (kc_cu_memset_node_t, CUDA_MEMSET_NODE_PARAMS_v1, height);

SAME_SIZE (kc_cu_memcpy3d_t, CUDA_MEMCPY3D_v2);
SAME_FIELD (kc_cu_memcpy3d_t, CUDA_MEMCPY3D_v2, srcXInBytes);
SAME_FIELD (kc_cu_memcpy3d_t, CUDA_MEMCPY3D_v2, srcLOD);
SAME_FIELD (kc_cu_memcpy3d_t, CUDA_MEMCPY3D_v2, srcMemoryType);
SAME_FIELD (kc_cu_memcpy3d_t, CUDA_MEMCPY3D_v2, srcHost);
SAME_FIELD (kc_cu_memcpy3d_t, CUDA_MEMCPY3D_v2, srcDevice);
SAME_FIELD (kc_cu_memcpy3d_t, CUDA_MEMCPY3D_v2, srcPitch);
SAME_FIELD (kc_cu_memcpy3d_t, CUDA_MEMCPY3D_v2, srcHeight);
SAME_FIELD (kc_cu_memcpy3d_t, CUDA_MEMCPY3D_v2, dstXInBytes);
SAME_FIELD (kc_cu_memcpy3d_t, CUDA_MEMCPY3D_v2, dstMemoryType);
SAME_FIELD (kc_cu_memcpy3d_t, CUDA_MEMCPY3D_v2, dstHost);
SAME_FIELD (kc_cu_memcpy3d_t, CUDA_MEMCPY3D_v2, dstDevice);
SAME_FIELD (kc_cu_memcpy3d_t, CUDA_MEMCPY3D_v2, dstPitch);
SAME_FIELD (kc_cu_memcpy3d_t, CUDA_MEMCPY3D_v2, dstHeight);
SAME_FIELD (kc_cu_memcpy3d_t, CUDA_MEMCPY3D_v2, WidthInBytes);
SAME_FIELD (kc_cu_memcpy3d_t, CUDA_MEMCPY3D_v2, Height);
SAME_FIELD (kc_cu_memcpy3d_t, CUDA_MEMCPY3D_v2, Depth);

SAME_SIZE (kc_cu_instantiate_t, CUDA_GRAPH_INSTANTIATE_PARAMS);
SAME_FIELD (kc_cu_instantiate_t, CUDA_GRAPH_INSTANTIATE_PARAMS, flags);
SAME_FIELD (kc_cu_instantiate_t, CUDA_GRAPH_INSTANTIATE_PARAMS, hUploadStream);
SAME_FIELD (kc_cu_instantiate_t, CUDA_GRAPH_INSTANTIATE_PARAMS, hErrNode_out);
SAME_FIELD (kc_cu_instantiate_t, CUDA_GRAPH_INSTANTIATE_PARAMS, result_out);

/* Prototypes.  The structs were compared above, so their names are exchanged for the
 * comparison.  An enum of theirs is compatible with the unsigned that we pass, because
 * none has a negative member. */
#define kc_cu_uuid_t CUuuid
#define kc_cu_launch_value_t CUlaunchAttributeValue
#define kc_cu_launch_config_t CUlaunchConfig
#define kc_cu_kernel_node_t CUDA_KERNEL_NODE_PARAMS_v2
#define kc_cu_memset_node_t CUDA_MEMSET_NODE_PARAMS_v1
#define kc_cu_memcpy3d_t CUDA_MEMCPY3D_v2
#define kc_cu_tensor_map_t CUtensorMap
#define kc_cu_instantiate_t CUDA_GRAPH_INSTANTIATE_PARAMS

#define SAME_PROTOTYPE(needed, field, symbol, params)                                  \
    _Static_assert(                                                                    \
        __builtin_types_compatible_p (__typeof__ (symbol), kc_cu_result_t params),     \
        "prototype of " #symbol);
KC_CUDA_FUNCTIONS (SAME_PROTOTYPE)

#define SAME_NVRTC(needed, field, symbol, params)                                      \
    _Static_assert(                                                                    \
        __builtin_types_compatible_p (__typeof__ (symbol), kc_nvrtc_result_t params),  \
        "prototype of " #symbol);
KC_NVRTC_FUNCTIONS (SAME_NVRTC)

// The number of declarations compared, so that the test that links this says what was
// checked.
int kc_cuda_headers_agree (void)
{
    int n = 0;
#define COUNT_ONE(...) n++;
    KC_CUDA_FUNCTIONS (COUNT_ONE)
    KC_NVRTC_FUNCTIONS (COUNT_ONE)
    KC_CUDA_CONSTANTS (COUNT_ONE)
    KC_NVRTC_CONSTANTS (COUNT_ONE)
    return n;
}
