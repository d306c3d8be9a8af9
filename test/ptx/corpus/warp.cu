// Exchanges between lanes.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void shuffle_kinds(const int *in, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, v = in[i], r = 0;
  r += __shfl_sync(~0u, v, v & 31);
  r = r * 31 + __shfl_up_sync(~0u, v, 3);
  r = r * 31 + __shfl_down_sync(~0u, v, 5);
  r = r * 31 + __shfl_xor_sync(~0u, v, 21);
  r = r * 31 + __shfl_sync(~0u, v, 9, 8);
  r = r * 31 + __shfl_up_sync(~0u, v, 2, 16);
  r = r * 31 + __shfl_down_sync(~0u, v, 1, 4);
  r = r * 31 + __shfl_xor_sync(~0u, v, 4, 8);
  out[i] = r;
}

extern "C" __global__ void shuffle_wide(const double *in, double *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  double v = in[i];
  for (int d = 1; d < 32; d *= 2) v = v * 0.5 + __shfl_xor_sync(~0u, v, d);
  out[i] = v;
}

extern "C" __global__ void vote_kinds(const int *in, unsigned *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, v = in[i];
  unsigned r = __ballot_sync(~0u, v & 1);
  if (__all_sync(~0u, v >= 0)) r ^= 0x1000;
  if (__any_sync(~0u, v > 90)) r ^= 0x20000;
  int same = 0;
  __match_all_sync(~0u, v & 0x80, &same);
  out[i] = r ^ __match_any_sync(~0u, v & 7) ^ (same ? 4 : 0);
}

// Two halves of a warp go different ways, each with its own mask.
extern "C" __global__ void half_masks(const int *in, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, v = in[i];
  if (threadIdx.x % 32 < 16) {
    for (int d = 8; d > 0; d /= 2) v += __shfl_xor_sync(0x0000ffffu, v, d);
    __syncwarp(0x0000ffffu);
  } else {
    for (int d = 8; d > 0; d /= 2) v = max(v, __shfl_xor_sync(0xffff0000u, v, d));
    __syncwarp(0xffff0000u);
  }
  out[i] = v + __shfl_xor_sync(~0u, v, 16);
}

extern "C" __global__ void tile_groups(const int *in, int *out) {
  auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  int i = blockIdx.x * blockDim.x + threadIdx.x, v = in[i];
  for (int d = 4; d > 0; d /= 2) v += tile.shfl_xor(v, d);
  out[i] = v * 10 + tile.thread_rank();
}

// Which lanes are active together is the machine's choice; the sum does not depend on it.
extern "C" __global__ void aggregate_atomic(int n, const int *in, unsigned *count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && in[i] % 2 == 0) {
    cg::coalesced_group active = cg::coalesced_threads();
    if (active.thread_rank() == 0) atomicAdd(count, active.size());
  }
}
