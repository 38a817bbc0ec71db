// kc_vector_math.h: arithmetic on float2..4 and int2..4, as the helper_math.h of many projects has it
#pragma once

#define KC_VOPS(V, S, MAKE2, MAKE3, MAKE4)                                                     \
    KC_VOP2 (V##2, S, +, MAKE2) KC_VOP2 (V##2, S, -, MAKE2) KC_VOP2 (V##2, S, *, MAKE2) KC_VOP2 (V##2, S, /, MAKE2) \
    KC_VOP3 (V##3, S, +, MAKE3) KC_VOP3 (V##3, S, -, MAKE3) KC_VOP3 (V##3, S, *, MAKE3) KC_VOP3 (V##3, S, /, MAKE3) \
    KC_VOP4 (V##4, S, +, MAKE4) KC_VOP4 (V##4, S, -, MAKE4) KC_VOP4 (V##4, S, *, MAKE4) KC_VOP4 (V##4, S, /, MAKE4)
#define KC_VOP2(T, S, o, make)                                                                 \
    KC_FN T operator o (T a, T b) { return make (a.x o b.x, a.y o b.y); }                      \
    KC_FN T operator o (T a, S b) { return make (a.x o b, a.y o b); }                          \
    KC_FN T operator o (S a, T b) { return make (a o b.x, a o b.y); }                          \
    KC_FN void operator o##= (T &a, T b) { a = a o b; }                                        \
    KC_FN void operator o##= (T &a, S b) { a = a o b; }
#define KC_VOP3(T, S, o, make)                                                                 \
    KC_FN T operator o (T a, T b) { return make (a.x o b.x, a.y o b.y, a.z o b.z); }           \
    KC_FN T operator o (T a, S b) { return make (a.x o b, a.y o b, a.z o b); }                 \
    KC_FN T operator o (S a, T b) { return make (a o b.x, a o b.y, a o b.z); }                 \
    KC_FN void operator o##= (T &a, T b) { a = a o b; }                                        \
    KC_FN void operator o##= (T &a, S b) { a = a o b; }
#define KC_VOP4(T, S, o, make)                                                                 \
    KC_FN T operator o (T a, T b) { return make (a.x o b.x, a.y o b.y, a.z o b.z, a.w o b.w); } \
    KC_FN T operator o (T a, S b) { return make (a.x o b, a.y o b, a.z o b, a.w o b); }        \
    KC_FN T operator o (S a, T b) { return make (a o b.x, a o b.y, a o b.z, a o b.w); }        \
    KC_FN void operator o##= (T &a, T b) { a = a o b; }                                        \
    KC_FN void operator o##= (T &a, S b) { a = a o b; }
KC_VOPS (float, float, make_float2, make_float3, make_float4)
KC_VOPS (int, int, make_int2, make_int3, make_int4)
KC_VOPS (uint, unsigned, make_uint2, make_uint3, make_uint4)
KC_FN float2 make_float2 (float s) { return make_float2 (s, s); }
KC_FN float3 make_float3 (float s) { return make_float3 (s, s, s); }
KC_FN float4 make_float4 (float s) { return make_float4 (s, s, s, s); }
KC_FN float3 make_float3 (float4 v) { return make_float3 (v.x, v.y, v.z); }
KC_FN float4 make_float4 (float3 v, float w) { return make_float4 (v.x, v.y, v.z, w); }
KC_FN float2 operator- (float2 a) { return make_float2 (-a.x, -a.y); }
KC_FN float3 operator- (float3 a) { return make_float3 (-a.x, -a.y, -a.z); }
KC_FN float4 operator- (float4 a) { return make_float4 (-a.x, -a.y, -a.z, -a.w); }
KC_FN float dot (float2 a, float2 b) { return a.x * b.x + a.y * b.y; }
KC_FN float dot (float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
KC_FN float dot (float4 a, float4 b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }
KC_FN float length (float2 v) { return sqrtf (dot (v, v)); }
KC_FN float length (float3 v) { return sqrtf (dot (v, v)); }
KC_FN float length (float4 v) { return sqrtf (dot (v, v)); }
KC_FN float2 normalize (float2 v) { return v * rsqrtf (dot (v, v)); }
KC_FN float3 normalize (float3 v) { return v * rsqrtf (dot (v, v)); }
KC_FN float4 normalize (float4 v) { return v * rsqrtf (dot (v, v)); }
KC_FN float3 cross (float3 a, float3 b) { return make_float3 (a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x); }
KC_FN float lerp (float a, float b, float t) { return a + t * (b - a); }
KC_FN float clamp (float v, float lo, float hi) { return fmaxf (lo, fminf (v, hi)); }
KC_FN int clamp (int v, int lo, int hi) { return max (lo, min (v, hi)); }
