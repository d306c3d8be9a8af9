// DeepGEMM's product with the factors' roles exchanged, for few rows.
#include "deep_gemm.cuh"
using Swapped = NormalSchedulerSwapAB<4096, 128, 32, 1, 1>;
void *swapped() {
  return (void *)fp8_gemm_kernel_swapAB<4096, 7168, 128, 32, 128, 1, 6, 128, 128, 1, Swapped, NormalSchedulerInputSwapAB>;
}
