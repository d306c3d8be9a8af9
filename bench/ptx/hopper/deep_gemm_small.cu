// DeepGEMM's products in a size that emulate.ts can run.
#include "deep_gemm.cuh"
using Scheduler = NormalScheduler<256, 128, 128, 1, 1>;
void *normal() { return (void *)fp8_gemm_kernel<256, 512, 128, 128, 128, 1, 3, 128, 128, 1, Scheduler, NormalSchedulerInput>; }
using Masked = GroupedMaskedScheduler<256, 512, 128, 128, 128, 3, 1>;
void *masked() { return (void *)fp8_gemm_kernel<256, 512, 128, 128, 128, 3, 3, 128, 128, 1, Masked, GroupedMaskedSchedulerInput>; }
