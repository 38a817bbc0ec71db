// namespace kc, std, cooperative groups, helper_math, constants
#include <algorithm>
#include <cfloat>
#include <climits>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <helper_math.h>
#include <limits>
#include <math_constants.h>
#include <type_traits>
namespace cg = cooperative_groups;
template <class T> __device__ float limits ()
{
    typedef std::numeric_limits<T> L;
    constexpr T lo = L::lowest (), hi = L::max (), small = L::min ();
    static_assert (L::is_specialized && hi > lo, "");
    return (float)lo + (float)hi + (float)small + (float)L::epsilon () + (float)L::infinity () + (float)L::quiet_NaN () + L::digits;
}
template <class T, class = std::enable_if_t<std::is_floating_point_v<T>>> __device__ T only_floats (T v) { return v; }
template <size_t... I> __device__ float unroll (const float *x, std::index_sequence<I...>) { return (x[I] + ...); }
extern "C" __global__ void k (float *x, int *n, unsigned *state)
{
    __shared__ float s[32];
    __shared__ int at[32];
    float v = x[threadIdx.x];
    int i = threadIdx.x;
    x[0] = kc::warp_sum (v) + kc::warp_max (v) + kc::warp_min (v) + kc::block_sum (v, s) + kc::block_max (v, s) + kc::block_min (v, s);
    kc::warp_argmax (v, i);
    kc::block_argmax (v, i, s, at);
    x[1] = v + i + kc::thread_rank () + kc::block_threads () + kc::cdiv (i, 3) + kc::smem (s);
    kc::grid_barrier (state);
    kc::store16 (x + 4, kc::load16 (x));
    kc::store16_stream (x + 8, kc::load16_stream (x));
    kc::store16 (x + 12, kc::load16_const (x));
    x[2] = limits<float> () + limits<double> () + limits<int> () + limits<unsigned char> () + limits<long long> () + limits<uint16_t> () + std::numeric_limits<float>::denorm_min ();
    x[3] = FLT_MAX + FLT_MIN + FLT_EPSILON + (float)DBL_MAX + INT_MAX + INT_MIN + UINT_MAX + LLONG_MAX + M_PI + M_E + M_SQRT2 + M_LN2 + INFINITY + NAN + HUGE_VALF + INT32_MAX + UINT64_MAX + SIZE_MAX;
    x[4] = CUDART_INF_F + CUDART_PI_F + CUDART_NAN_F + CUDART_LN2_F + (float)CUDART_PI + (float)CUDART_INF;
    float a = 1, b = v;
    std::swap (a, b);
    x[5] = std::clamp (a, 0.0f, 1.0f) + std::min (a, b) + std::max (1, 2l) + std::move (a) + std::abs (a) + std::sqrt (a) + std::pow (a, b) + std::exp (b) + only_floats (a) + std::exchange (b, 3.0f);
    static_assert (std::is_same<std::conditional_t<true, int, float>, int>::value && std::is_same_v<std::decay_t<const int &>, int> && std::is_integral<long>::value && std::is_pointer_v<int *>, "");
    static_assert (std::is_same_v<std::make_unsigned_t<int>, unsigned> && std::is_arithmetic_v<float> && std::is_signed_v<int> && std::is_unsigned_v<unsigned> && std::is_const_v<const int> && std::is_trivially_copyable<float4>::value, "");
    std::array<float, 4> r;
    r.fill (2);
    for (float &e : r)
        e += 1;
    std::pair<int, float> p = std::make_pair (1, 2.0f);
    x[6] = r[1] + r.size () + p.first + p.second + unroll (x, std::make_index_sequence<6> ()) + std::plus<float> () (a, b) + std::multiplies<float> () (a, b) + std::greater<int> () (i, 2);
    cg::thread_block block = cg::this_thread_block ();
    auto warp = cg::tiled_partition<32> (block);
    auto tile = cg::tiled_partition<8> (warp);
    block.sync (), warp.sync (), cg::sync (tile);
    x[7] = cg::reduce (warp, v, cg::plus<float> ()) + cg::reduce (tile, v, cg::greater<float> ()) + cg::reduce (tile, i, cg::less<int> ()) + cg::reduce (warp, i, cg::bit_or<int> ()) + cg::reduce (warp, i, cg::bit_and<int> ()) + cg::reduce (warp, i, cg::bit_xor<int> ())
           + tile.shfl (v, 0) + tile.shfl_up (v, 1) + tile.shfl_down (v, 1) + tile.shfl_xor (v, 1) + cg::inclusive_scan (tile, v) + cg::inclusive_scan (tile, v, cg::plus<float> ());
    n[0] = tile.any (i) + tile.all (i) + tile.ballot (i) + tile.match_any (i) + tile.thread_rank () + tile.size () + tile.num_threads () + tile.meta_group_rank () + tile.meta_group_size ()
           + block.thread_rank () + block.size () + block.num_threads () + block.group_index ().x + block.thread_index ().y + block.dim_threads ().z + block.group_dim ().x;
    if (i & 1) {
        cg::coalesced_group g = cg::coalesced_threads ();
        g.sync ();
        n[1] = g.size () + g.num_threads () + g.thread_rank () + g.any (i) + g.all (i) + (int)g.shfl (v, 0) + g.kc_lane (0);
    }
    auto grid = cg::this_grid ();
    n[2] = (int)grid.thread_rank () + (int)grid.size () + (int)grid.num_blocks () + (int)grid.block_rank () + grid.group_dim ().x + grid.dim_blocks ().y + grid.is_valid () + (int)grid.num_threads ();
    float4 q = make_float4 (1.0f) + make_float4 (make_float3 (1.0f), 2.0f) * 2.0f;
    q += q;
    q = q - 1.0f * q / 3.0f;
    x[8] = dot (q, q) + length (make_float3 (q)) + normalize (make_float2 (3.0f)).x + cross (make_float3 (1, 2, 3), -make_float3 (q)).x + lerp (1.0f, 2.0f, 0.5f) + clamp (v, 0.0f, 1.0f) + clamp (i, 0, 3) + (make_int2 (1, 2) * 3).y;
}
