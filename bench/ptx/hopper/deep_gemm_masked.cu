// DeepGEMM's product of groups of which each has its number of rows, which is read from memory.
#include "deep_gemm.cuh"
using Masked = GroupedMaskedScheduler<4096, 7168, 128, 128, 128, 8, 1>;
void *masked() { return (void *)fp8_gemm_kernel<4096, 7168, 128, 128, 128, 8, 5, 128, 128, 1, Masked, GroupedMaskedSchedulerInput>; }
