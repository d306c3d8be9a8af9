// The common part of the two halves of the probe beside others.
#pragma once
#include <cuda_runtime.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

#define CUDA(call)                                                  \
  do {                                                              \
    const cudaError_t code = (call);                                \
    if (code != cudaSuccess) {                                      \
      fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(code)); \
      _exit(1);                                                     \
    }                                                               \
  } while (0)

constexpr int kThreads = 1024;

inline double median(std::vector<double> of) {
  std::sort(of.begin(), of.end());
  return of.empty() ? 0 : of[of.size() / 2];
}

__device__ inline uint64_t now_ns() {
  uint64_t t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
  return t;
}
__device__ inline unsigned sm_id() {
  unsigned id;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
  return id;
}

// Each waits for the one before.
__device__ inline float multiply_adds(int iterations, float x) {
  for (int i = 0; i < iterations; ++i)
#pragma unroll
    for (int k = 0; k < 16; ++k) x = fmaf(x, 0.999f, 1.f);
  return x;
}

// Shared memory by which exactly so many blocks fit on an SM.
inline int shared_for(int per_sm) {
  constexpr int kReserved = 1024;  // bytes that the system takes of each block
  int most = 0;
  CUDA(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerMultiprocessor, 0));
  return std::min(most / per_sm, 227 * 1024 + kReserved) - kReserved - 256;  // what a kernel has of its own
}

// Rows of JSON on stdout: bandwidth and arithmetic by SMs in use; `partition`: of those alone that MPS leaves.
void draw_all(bool partition);
