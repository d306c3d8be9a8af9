// Problems of a list, with tensor descriptors that the kernel itself makes.
#include "tiled_product.cuh"
#include "cutlass/gemm/group_array_problem_shape.hpp"
using Row = cutlass::layout::RowMajor *;
using Column = cutlass::layout::ColumnMajor *;
using Kernel = TiledProduct<cutlass::bfloat16_t, cutlass::gemm::GroupProblemShape<Shape<int, int, int>>, Shape<_128, _128, _64>,
                       cutlass::epilogue::PtrArrayNoSmemWarpSpecialized,
                       cutlass::gemm::KernelPtrArrayTmaWarpSpecializedCooperative, Row, Column>::Kernel;
void *grouped() { return (void *)cutlass::device_kernel<Kernel>; }
