// Which SM each block runs on, and a load on the memory that lasts a given time.

__device__ unsigned long long now_ns() {
  unsigned long long ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}

extern "C" __global__ void sm_of_blocks(unsigned *out, unsigned long long spin_ns) {
  unsigned sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  if (threadIdx.x == 0) out[blockIdx.x] = sm;
  unsigned long long end = now_ns() + spin_ns;
  while (now_ns() < end) {
  }
}

// Reads and writes 16 bytes a thread, four times between two looks at the clock. The buffers are far larger than
// the caches, of a power of two of 16 bytes: `mask` is one less. How many blocks there are decides how much memory throughput it asks for.
extern "C" __global__ void move(const uint4 *from, uint4 *to, unsigned long long mask, unsigned long long lasts_ns,
                                unsigned long long *moved) {
  const unsigned long long stride = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
  const unsigned long long end = now_ns() + lasts_ns;
  unsigned long long at = static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  unsigned long long bytes = 0;
  while (now_ns() < end) {
    uint4 kept[4];
    for (int i = 0; i < 4; i++) kept[i] = __ldcs(from + ((at + i * stride) & mask));
    for (int i = 0; i < 4; i++) __stcs(to + ((at + i * stride) & mask), kept[i]);
    at += 4 * stride;
    bytes += 4 * 2 * sizeof(uint4);
  }
  atomicAdd(moved, bytes);
}
