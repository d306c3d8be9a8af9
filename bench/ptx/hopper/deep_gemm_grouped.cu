// DeepGEMM's product of groups of rows: the group of each tile is read from memory.
#include "deep_gemm.cuh"
using Contiguous = GroupedContiguousScheduler<4096, 128, 128, 8, 1, 32, 16>;
void *contiguous() {
  return (void *)fp8_gemm_kernel<4096, 7168, 128, 128, 128, 8, 5, 128, 128, 1, Contiguous, GroupedContiguousSchedulerInput>;
}
