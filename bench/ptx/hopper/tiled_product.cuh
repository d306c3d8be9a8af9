// A product of CUTLASS as its own builder makes it, with clusters of one block.
#pragma once
#include "cute/tensor.hpp"
#include "cutlass/cutlass.h"
#include "cutlass/epilogue/collective/collective_builder.hpp"
#include "cutlass/gemm/collective/collective_builder.hpp"
#include "cutlass/gemm/device/gemm_universal_adapter.h"
#include "cutlass/gemm/kernel/gemm_universal.hpp"
using namespace cute;

template <class Type, class Problem, class Tile, class Epilogue, class Schedule, class RowMajor = cutlass::layout::RowMajor,
          class ColumnMajor = cutlass::layout::ColumnMajor>
struct TiledProduct {
  using Cluster = Shape<_1, _1, _1>;
  static constexpr int align = 128 / cutlass::sizeof_bits<Type>::value;
  using Out = cutlass::bfloat16_t;
  using Result = typename cutlass::epilogue::collective::CollectiveBuilder<
      cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Tile, Cluster, cutlass::epilogue::collective::EpilogueTileAuto, float,
      float, Out, RowMajor, 8, Out, RowMajor, 8, Epilogue>::CollectiveOp;
  using Mainloop = typename cutlass::gemm::collective::CollectiveBuilder<
      cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Type, RowMajor, align, Type, ColumnMajor, align, float, Tile, Cluster,
      cutlass::gemm::collective::StageCountAutoCarveout<int(sizeof(typename Result::SharedStorage))>, Schedule>::CollectiveOp;
  using Kernel = cutlass::gemm::kernel::GemmUniversal<Problem, Mainloop, Result>;
};

using Single = Shape<int, int, int, int>;
