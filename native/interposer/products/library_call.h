// Asks the library what it would launch for a product or for a part of it, compares launches, and gives it the product.
#pragma once

#include <algorithm>

#include "interposer/products/pinned_product.h"
#include "interposer/products/product.h"

namespace cotenant {

// The launches that the library would make for one call.
struct LibraryLaunches {
  std::uint32_t launches;
  std::uint32_t copies;
  LaunchShape of[ProductCall::kMaxLaunches];
};

inline bool same_code(const LaunchShape& a, const LaunchShape& b) noexcept {
  // With the same block size and the same amount of shared memory.
  return a.function == b.function && std::equal(a.of + 3, a.of + 7, b.of + 3);
}

// The same kernels on grids of the same size.
[[nodiscard]] inline bool same_launches(const LibraryLaunches& a, const LibraryLaunches& b) noexcept {
  if (a.launches != b.launches || a.copies != b.copies) return false;
  for (std::uint32_t i = 0; i < a.launches; ++i)
    if (!same_code(a.of[i], b.of[i]) || !std::equal(a.of[i].of, a.of[i].of + 3, b.of[i].of)) return false;
  return true;
}

// Whether these are the same kernels on grids that differ only in the number of lines. If the sum is split, the grid's
// z dimension says how often. In a batch it also counts the matrices.
[[nodiscard]] inline bool same_sums(const LibraryLaunches& whole, const LibraryLaunches& part, const Product& product,
                                    std::int64_t count) noexcept {
  if (whole.launches != part.launches || whole.copies != part.copies) return false;
  for (std::uint32_t i = 0; i < whole.launches; ++i) {
    if (!same_code(whole.of[i], part.of[i])) return false;
    const std::int64_t z = whole.of[i].of[2];
    const std::int64_t part_z = part.of[i].of[2];
    const bool by_matrix = product.lines == Lines::kMatrices && z * count == part_z * product.count;
    if (z != part_z && !by_matrix) return false;
  }
  return true;
}

// A workspace address to ask with: nothing is launched, so it is never used.
inline constexpr std::uint64_t kNoMemory = 1u << 12;

// One product that is given to the library, as the program asked for it or with a chosen algorithm.
class LibraryCall {
 public:
  explicit LibraryCall(const Division& way) noexcept : product(way.product), way_(way) {}

  // May be called only if the algorithm can be chosen.
  void pin(const LtAlgorithm& algorithm, std::uint64_t workspace) noexcept {
    pinned_ = way_.pinned;
    algorithm_ = &algorithm;
    workspace_ = workspace;
  }

  int run(std::int64_t first, std::int64_t count, Estimate* estimate) const noexcept {
    ProductCall noted{false};
    noted.estimate = estimate;
    return run_noted(noted, first, count);
  }

  // Asks for the launches of one call. False: the library failed, or there are more launches than can be compared.
  [[nodiscard]] bool ask(std::int64_t first, std::int64_t count, LibraryLaunches& into) const noexcept {
    ProductCall noted{true};
    const int status = run_noted(noted, first, count);
    into.launches = noted.launches;
    into.copies = noted.copies;
    std::copy(noted.launched, noted.launched + ProductCall::kMaxLaunches, into.of);
    // With two kernels their parts are not known, unless the algorithm is.
    const bool plain = noted.launches == 1 && noted.copies == 0;
    return status == 0 && noted.launches > 0 && !noted.other &&
           (plain || pinned_ || product.pinned || count == product.count);
  }

  const Product& product;

 private:
  int run_noted(ProductCall& noted, std::int64_t first, std::int64_t count) const noexcept {
    product_call = &noted;
    const int status =
        pinned_ ? pinned_->give(*algorithm_, workspace_, first, count) : way_.part(way_.call, first, count);
    product_call = nullptr;
    return status;
  }

  const Division& way_;
  const PinnedProduct* pinned_{nullptr};
  const LtAlgorithm* algorithm_{nullptr};
  std::uint64_t workspace_{0};
};

// The blocks of the kernel that multiplies, which is the first launch.
[[nodiscard]] inline std::uint64_t blocks_in(const LibraryLaunches& launched) noexcept {
  const auto& of = launched.of[0].of;
  return std::uint64_t{of[0]} * of[1] * of[2];
}
[[nodiscard]] inline std::uint64_t divisions_in(const LibraryLaunches& launched) noexcept {
  return launched.of[0].of[2];
}

}  // namespace cotenant
