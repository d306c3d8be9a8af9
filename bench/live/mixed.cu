// A training of long and short kernels that keeps the GPU's queue full: an iteration is one kernel of 6 ms and 2,000 of 30 us,
// at most 1,000 launches ahead of the GPU. It waits for the GPU after each 20 iterations only. Prints "step N".
//   nvcc -O2 -arch=sm_90 -o mixed mixed.cu && ./mixed
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                          \
  do {                                                                       \
    const cudaError_t result = (call);                                       \
    if (result != cudaSuccess) {                                             \
      std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(result));   \
      std::exit(1);                                                          \
    }                                                                        \
  } while (0)

// Runs for this long and then writes its number, so that the host knows how far the GPU is.
__global__ void spin(unsigned us, volatile unsigned* done, unsigned number) {
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  while (now - begin < us * 1000ull);
  if (blockIdx.x == 0 && threadIdx.x == 0) *done = number;
}

int main() {
  constexpr unsigned ahead = 1000, short_kernels = 2000, long_us = 6000, short_us = 30;
  cudaDeviceProp device{};
  CHECK(cudaGetDeviceProperties(&device, 0));
  unsigned* done = nullptr;
  CHECK(cudaHostAlloc(&done, sizeof *done, cudaHostAllocMapped));
  *done = 0;
  unsigned launched = 0;
  const int blocks = device.multiProcessorCount;
  for (unsigned iteration = 1;; ++iteration) {
    spin<<<blocks, 256>>>(long_us, done, ++launched);
    for (unsigned i = 0; i < short_kernels; ++i) {
      while (launched - *static_cast<volatile unsigned*>(done) > ahead) usleep(50);
      spin<<<blocks, 256>>>(short_us, done, ++launched);
    }
    CHECK(cudaGetLastError());
    if (iteration % 20 == 0) CHECK(cudaDeviceSynchronize());
    std::printf("step %u\n", iteration);
    std::fflush(stdout);
  }
}
