// Two groups of warps take turns: one multiplies a tile while the other writes its result.
#include "tiled_product.cuh"
using Kernel = TiledProduct<cutlass::bfloat16_t, Single, Shape<_64, _128, _64>, cutlass::epilogue::TmaWarpSpecialized,
                       cutlass::gemm::KernelTmaWarpSpecializedPingpong>::Kernel;
void *pingpong() { return (void *)cutlass::device_kernel<Kernel>; }
