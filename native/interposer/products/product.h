// Matrix products given to cuBLAS in parts. cuBLAS's kernels have no PTX and run for milliseconds, so they cannot stop
// inside. A best-effort client's long product is therefore requested in groups of columns (of rows, if there are few
// columns; of matrices, if it is a batch). Each group is a launch of its own, with space for a preemption point between two.
//
// Sums are never divided. Each element is then computed by the same additions in the same order, provided that the library
// uses the same kernels for a part as for the whole and splits the sum equally often. This is checked: the library is
// called with its launches withheld, and the launches are compared. If the library would choose another algorithm for a
// part, the whole's algorithm is looked up in cublasLt, which accepts an algorithm (pinned_product.h). In any doubt the
// product runs whole.
#pragma once

#include <cstdint>

#include "interposer/products/call.h"

namespace cotenant {

// The dimension of the result that is divided.
enum class Lines { kColumns, kRows, kMatrices };

// The properties of a product that matter for dividing it.
struct Product {
  Lines lines;
  std::int64_t count;  // of lines
  std::int64_t step;  // parts begin at multiples of this
  std::int64_t across;  // length of a line; of matrices: their elements
  std::int64_t depth;  // terms of each sum
  bool pinned;  // the program chose the algorithm, and parts use the same
};

// Calls the library for `count` lines from `first` on; 0: done.
using GivePart = int (*)(const void* call, std::int64_t first, std::int64_t count);

// In operations. On any GPU a smaller product takes no longer than a short chunk.
inline constexpr double kSmallProduct = 1e9;

class PinnedProduct;

// One way to divide a product.
struct Division {
  Product product;
  GivePart part;
  const void* call;
  const PinnedProduct* pinned;  // the product with an algorithm; null: it cannot be chosen
};
inline constexpr std::uint32_t kWays = 2;

// Gives the product to the library, whole or in parts, and returns what the library returns. For best-effort clients only.
// `key` distinguishes everything that may change the library's choice or the duration. The best of the `count` ways comes
// first.
[[nodiscard]] int give_product(std::uint64_t key, const Division* ways, std::uint32_t count) noexcept;

}  // namespace cotenant
