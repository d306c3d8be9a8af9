// Kernels that no pass may touch, each for one reason.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void cooperative_grid(int *data) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  data[i] += i;
  cg::this_grid().sync();
  data[i] += data[(i + 64) % (gridDim.x * blockDim.x)] & 1;
}

// A barrier over the whole grid made by hand: all blocks must run at once.
extern "C" __global__ void grid_barrier_by_hand(unsigned *arrived, int *data) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  data[i] = i * 3;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(arrived, 1);
    while (*(volatile unsigned *)arrived < gridDim.x) {
    }
    __threadfence();
  }
  __syncthreads();
  data[i] += ((volatile int *)data)[0];
}

// Waits for a later block, which a persistent block would start only afterwards.
extern "C" __global__ void wait_for_later_block(volatile int *flags, int *out) {
  if (threadIdx.x == 0) {
    flags[blockIdx.x] = 1;
    if (blockIdx.x + 1 < gridDim.x)
      while (flags[blockIdx.x + 1] == 0) {
      }
    out[blockIdx.x] = blockIdx.x;
  }
}

extern "C" __global__ void reads_clock(long long *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  long long start = clock64();
  out[i] = i;
  if (clock64() < start) out[i] = -1;
}

extern "C" __global__ void reads_grid_id(unsigned *out) {
  unsigned long long id;
  asm volatile("mov.u64 %0, %%gridid;" : "=l"(id));
  if (threadIdx.x == 0) out[blockIdx.x] = id == id;
}

extern "C" __global__ void reads_warp_id(unsigned *out) {
  unsigned id;
  asm volatile("mov.u32 %0, %%warpid;" : "=r"(id));
  out[blockIdx.x * blockDim.x + threadIdx.x] = id < 64;
}

#if __CUDA_ARCH__ >= 900
extern "C" __global__ void __cluster_dims__(2, 1, 1) cluster_exchange(const int *in, int *out) {
  __shared__ int box[32];
  cg::cluster_group cluster = cg::this_cluster();
  box[threadIdx.x] = in[blockIdx.x * 32 + threadIdx.x];
  cluster.sync();
  int *other = cluster.map_shared_rank(box, cluster.block_rank() ^ 1);
  out[blockIdx.x * 32 + threadIdx.x] = other[threadIdx.x];
  cluster.sync();
}

extern "C" __global__ void dependent_launch(const int *in, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  asm volatile("griddepcontrol.wait;" ::: "memory");
  out[i] = in[i] + 1;
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

// A bulk copy counted by an mbarrier, made invalid at the end.
extern "C" __global__ void bulk_copy(const int4 *in, int *out) {
  __shared__ __align__(16) int line[64];
  __shared__ __align__(8) unsigned long long bar;
  unsigned b = (unsigned)__cvta_generic_to_shared(&bar), l = (unsigned)__cvta_generic_to_shared(line);
  int t = threadIdx.x;
  if (t == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(b) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  __syncthreads();
  if (t == 0) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;" ::"r"(b) : "memory");
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];" ::"r"(l),
        "l"(in + blockIdx.x * 16), "r"(b)
        : "memory");
  }
  unsigned done = 0;
  while (!done)
    asm volatile(
        "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
        : "=r"(done)
        : "r"(b)
        : "memory");
  out[blockIdx.x * 64 + t] = line[63 - t];
  __syncthreads();
  if (t == 0) asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(b) : "memory");
}
#endif
