// kc_clang_types.h: vector types, dim3, thread and block indices
#pragma once

#define KC_VEC1(T, V) struct V##1 { T x; };
#define KC_VEC2(T, V, A) struct __attribute__ ((aligned (A))) V##2 { T x, y; };
#define KC_VEC3(T, V) struct V##3 { T x, y, z; };
#define KC_VEC4(T, V, A) struct __attribute__ ((aligned (A))) V##4 { T x, y, z, w; };
#define KC_MAKE(T, V)                                                                          \
    KC_FN V##1 make_##V##1 (T x) { return {x}; }                                               \
    KC_FN V##2 make_##V##2 (T x, T y) { return {x, y}; }                                       \
    KC_FN V##3 make_##V##3 (T x, T y, T z) { return {x, y, z}; }                               \
    KC_FN V##4 make_##V##4 (T x, T y, T z, T w) { return {x, y, z, w}; }
#define KC_VEC(T, V, A2, A4) KC_VEC1 (T, V) KC_VEC2 (T, V, A2) KC_VEC3 (T, V) KC_VEC4 (T, V, A4) KC_MAKE (T, V)

KC_VEC (signed char, char, 2, 4)
KC_VEC (unsigned char, uchar, 2, 4)
KC_VEC (short, short, 4, 8)
KC_VEC (unsigned short, ushort, 4, 8)
KC_VEC (int, int, 8, 16)
KC_VEC (unsigned, uint, 8, 16)
KC_VEC (long, long, 16, 16)
KC_VEC (unsigned long, ulong, 16, 16)
KC_VEC (long long, longlong, 16, 16)
KC_VEC (unsigned long long, ulonglong, 16, 16)
KC_VEC (float, float, 8, 16)
KC_VEC (double, double, 16, 16)

struct dim3 {
    unsigned x, y, z;
    __host__ __device__ KC_NODEBUG constexpr dim3 (unsigned a = 1, unsigned b = 1, unsigned c = 1) : x (a), y (b), z (c) {}
    __host__ __device__ KC_NODEBUG constexpr dim3 (uint3 v) : x (v.x), y (v.y), z (v.z) {}
    __host__ __device__ KC_NODEBUG constexpr operator uint3 () const { return uint3{x, y, z}; }
};

KC_FN uint3 kc_tid () { return {(unsigned)__nvvm_read_ptx_sreg_tid_x (), (unsigned)__nvvm_read_ptx_sreg_tid_y (), (unsigned)__nvvm_read_ptx_sreg_tid_z ()}; }
KC_FN uint3 kc_ctaid () { return {(unsigned)__nvvm_read_ptx_sreg_ctaid_x (), (unsigned)__nvvm_read_ptx_sreg_ctaid_y (), (unsigned)__nvvm_read_ptx_sreg_ctaid_z ()}; }
KC_FN dim3 kc_ntid () { return dim3 (__nvvm_read_ptx_sreg_ntid_x (), __nvvm_read_ptx_sreg_ntid_y (), __nvvm_read_ptx_sreg_ntid_z ()); }
KC_FN dim3 kc_nctaid () { return dim3 (__nvvm_read_ptx_sreg_nctaid_x (), __nvvm_read_ptx_sreg_nctaid_y (), __nvvm_read_ptx_sreg_nctaid_z ()); }
#define threadIdx (::kc_tid ())
#define blockIdx (::kc_ctaid ())
#define blockDim (::kc_ntid ())
#define gridDim (::kc_nctaid ())
#define warpSize 32
