// DeepGEMM's products in fp8 with scales, as FlashInfer ships them.
#pragma once
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <string>
#include "cute/tensor.hpp"
#include "cutlass/cutlass.h"
#include <cudaTypedefs.h>
#include "cutlass/arch/barrier.h"
#include "cutlass/arch/reg_reconfig.h"
// tma_utils.cuh names a type that cudaTypedefs.h does not declare in this place.
#define PFN_cuTensorMapEncodeTiled_v12000 decltype(&cuTensorMapEncodeTiled)
#include "tensorrt_llm/deep_gemm/fp8_gemm_impl.cuh"
using namespace deep_gemm;
