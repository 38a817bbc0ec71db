// kc_base.h: in front of every kernel source, for both compilers: fixed-width integers, limits, constants,
// the small part of std:: that kernels use, and helpers in namespace kc.
#pragma once

#ifdef __CUDACC_RTC__
#define KC_NODEBUG
#define KC_FN __device__ static __forceinline__
#else
#include "kc_clang.h"
#endif
#include "kc_std.h"
#include "kc_tools.h"
