// kc_cuda.h: the device side of CUDA's own headers is built in; host types that signatures mention are empty
#pragma once

#ifndef __CUDACC_RTC__ // NVRTC declares them itself
typedef int cudaError_t;
typedef struct kc_stream *cudaStream_t;
typedef struct kc_event *cudaEvent_t;
enum { cudaSuccess = 0 };
#endif
