// Two groups of warps multiply halves of one tile.
#include "tiled_product.cuh"
using Kernel = TiledProduct<cutlass::bfloat16_t, Single, Shape<_128, _128, _64>, cutlass::epilogue::TmaWarpSpecializedCooperative,
                       cutlass::gemm::KernelTmaWarpSpecializedCooperative>::Kernel;
void *cooperative() { return (void *)cutlass::device_kernel<Kernel>; }
