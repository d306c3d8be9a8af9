// Matrix products given to cuBLAS in parts. cuBLAS's kernels have no PTX and run for milliseconds, so what a border
// can't stop is stopped before it begins: a best-effort client's long product is asked for in groups of columns (of rows,
// where columns are few; of matrices, where it is a batch), each a launch of its own, with room for a border between them.
//
// Never along the sum, so each element is computed by the same additions in the same order, provided that the library
// takes the same kernels for the parts as for the whole, and divides the sum as often. That is not assumed: the library is
// asked with launches withheld, and what it would have launched is compared. Where it would choose otherwise for a part, the
// whole's algorithm is looked for in cublasLt, which can be told (products/pinned.h). In any doubt the product runs whole.
#pragma once

#include <cstdint>

#include "interposer/products/call.h"

namespace cotenant {

// What of the result is divided.
enum class Lines { kColumns, kRows, kMatrices };

// A product as far as dividing it goes.
struct Product {
  Lines lines;
  std::int64_t count;  // of lines
  std::int64_t step;  // parts begin at multiples of it
  std::int64_t across;  // how long a line is; of matrices: their elements
  std::int64_t depth;  // terms of each sum
  bool pinned;  // the program says which algorithm: parts get the same
};

// Calls the library for `count` lines from `first` on; 0: done.
using GivePart = int (*)(const void* call, std::int64_t first, std::int64_t count);

// Less than this takes no GPU longer than a short chunk; in operations.
inline constexpr double kSmallProduct = 1e9;

class PinnedProduct;

// One way to divide a product.
struct Division {
  Product product;
  GivePart part;
  const void* call;
  const PinnedProduct* pinned;  // the same where the algorithm can be said; null: it can't
};
inline constexpr std::uint32_t kWays = 2;

// Gives the product to the library, whole or in parts: what the library returns. Best-effort clients only. `key` tells apart all
// that may make the library choose or take longer; the best of the `count` ways comes first.
[[nodiscard]] int give_product(std::uint64_t key, const Division* ways, std::uint32_t count) noexcept;

}  // namespace cotenant
