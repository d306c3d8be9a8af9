// Factors in fp8, fast accumulation.
#include "tiled_product.cuh"
using Kernel = TiledProduct<cutlass::float_e4m3_t, Single, Shape<_64, _128, _128>, cutlass::epilogue::TmaWarpSpecialized,
                       cutlass::gemm::KernelTmaWarpSpecializedPingpongFP8FastAccum>::Kernel;
void *pingpong_fp8() { return (void *)cutlass::device_kernel<Kernel>; }
