// DeepGEMM's product in fp8 with scales.
#include "deep_gemm.cuh"
using Scheduler = NormalScheduler<4096, 128, 128, 1, 1>;
void *normal() { return (void *)fp8_gemm_kernel<4096, 7168, 128, 128, 128, 1, 5, 128, 128, 1, Scheduler, NormalSchedulerInput>; }
