// Lanes and threads that part, and loops over tiles: what looks like waiting for somebody who has left, and is not.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda/atomic>
namespace cg = cooperative_groups;

// A part of a warp sums up, by the mask of those who voted to come; the others return.
template <unsigned SIZE>
__device__ void sum_by_ballot(const int *in, int *out, int n) {
  __shared__ int sums[32];
  int v = 0;
  for (int i = blockIdx.x * SIZE + threadIdx.x; i < n; i += gridDim.x * SIZE) v += in[i];
  for (int d = warpSize / 2; d > 0; d /= 2) v += __shfl_down_sync(~0u, v, d);
  if (threadIdx.x % warpSize == 0) sums[threadIdx.x / warpSize] = v;
  __syncthreads();
  unsigned warps = SIZE / warpSize;
  unsigned voted = __ballot_sync(~0u, threadIdx.x < warps);
  if (threadIdx.x < warps) {
    v = sums[threadIdx.x];
    for (int d = warpSize / 2; d > 0; d /= 2) v += __shfl_down_sync(voted, v, d);
  }
  if (threadIdx.x == 0) out[blockIdx.x] = v;
}
extern "C" __global__ void ballot_sum_64(const int *in, int *out, int n) { sum_by_ballot<64>(in, out, n); }
extern "C" __global__ void ballot_sum_128(const int *in, int *out, int n) { sum_by_ballot<128>(in, out, n); }

// Threads behind the end return with a ballot's mask of those who stay.
extern "C" __global__ void ballot_return(const int *in, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned voted = __ballot_sync(~0u, i < n);
  if (i >= n) return;
  int v = in[i];
  for (int d = 1; d < 32; d *= 2) {
    int other = __shfl_xor_sync(voted, v, d);
    v += (voted >> ((threadIdx.x ^ d) & 31)) & 1 ? other : 0;
  }
  out[i] = v;
}

// The first warp by the rank of its threads, in a block of any shape.
extern "C" __global__ void first_warp_by_rank(const int *in, int *out) {
  __shared__ int sums[128];
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
  int rank = block.thread_rank(), size = block.size();
  sums[rank] = in[blockIdx.x * size + rank];
  block.sync();
  if (rank < 32) {
    int v = 0;
    for (int i = rank; i < size; i += 32) v += sums[i];
    for (int d = 16; d > 0; d /= 2) v += warp.shfl_down(v, d);
    if (rank == 0) out[blockIdx.x] = v;
  }
}

// One warp per row, which has as many elements as a list says; warps without any return.
extern "C" __global__ void sum_segments(const int *in, const int *ends, int *out) {
  int begin = blockIdx.x == 0 ? 0 : ends[blockIdx.x - 1], end = ends[blockIdx.x], v = 0;
  if (begin >= end) return;
  for (int i = begin + threadIdx.x; i < end; i += 32) v += in[i];
  if (end - begin > 31) {
    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(~0u, v, d);
    if (threadIdx.x == 0) out[blockIdx.x] = v;
  } else
    atomicAdd(&out[blockIdx.x], v);
}

// Threads without a tile leave before the tensor cores work, which need whole warps.
extern "C" __global__ void tensor_tail(const unsigned *a, const unsigned *b, float *c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(s0), "+f"(s1), "+f"(s2), "+f"(s3)
      : "r"(a[4 * i]), "r"(a[4 * i + 1]), "r"(a[4 * i + 2]), "r"(a[4 * i + 3]), "r"(b[2 * i]), "r"(b[2 * i + 1]));
  c[4 * i] = s0, c[4 * i + 1] = s1, c[4 * i + 2] = s2, c[4 * i + 3] = s3;
}

// A thread waits for another one of its block, in global memory.
extern "C" __global__ void wait_in_block(cuda::atomic<int, cuda::thread_scope_block> *flags, int *out) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (threadIdx.x == 32) {
    out[i] = 5;
    flags[blockIdx.x].store(1, cuda::memory_order_release);
  }
  if (threadIdx.x == 0) {
    while (flags[blockIdx.x].load(cuda::memory_order_acquire) == 0) {}
    out[i] = out[i + 32] + 1;
  }
}

// Tiles by numbers that one thread draws for its block, until there are no more.
extern "C" __global__ void drawn_tiles(int *next, const int *in, int *out, int n) {
  __shared__ int tile;
  if (threadIdx.x == 0) tile = atomicAdd(next, 32);
  __syncthreads();
  int at = tile;
  while (at + 32 <= n) {
    out[at + threadIdx.x] = in[at + threadIdx.x] * 3;
    __syncthreads();
    if (threadIdx.x == 0) tile = atomicAdd(next, 32);
    __syncthreads();
    at = tile;
  }
  if (at < n && at + threadIdx.x < n) out[at + threadIdx.x] = in[at + threadIdx.x] * 3;
}
