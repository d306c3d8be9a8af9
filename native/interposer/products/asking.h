// Asking the library what it would launch for a product or a part of it, comparing that, and giving it the product.
#pragma once

#include <algorithm>

#include "interposer/products/pinned.h"
#include "interposer/products/product.h"

namespace cotenant {

// What the library would launch for one call.
struct Launched {
  std::uint32_t launches;
  std::uint32_t copies;
  LaunchShape of[ProductCall::kMost];
};

inline bool same_code(const LaunchShape& a, const LaunchShape& b) noexcept {
  // On blocks of the same size, with as much memory.
  return a.function == b.function && std::equal(a.of + 3, a.of + 7, b.of + 3);
}

// The same kernels on grids of the same size.
[[nodiscard]] inline bool same_launches(const Launched& a, const Launched& b) noexcept {
  if (a.launches != b.launches || a.copies != b.copies) return false;
  for (std::uint32_t i = 0; i < a.launches; ++i)
    if (!same_code(a.of[i], b.of[i]) || !std::equal(a.of[i].of, a.of[i].of + 3, b.of[i].of)) return false;
  return true;
}

// The same kernels, on grids that differ in lines alone: their third side divides the sum, if anything does. Of a batch it
// counts the matrices, too.
[[nodiscard]] inline bool same_sums(const Launched& whole, const Launched& part, const Product& product,
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

// Enough for being asked: nothing is launched.
inline constexpr std::uint64_t kNoMemory = 1u << 12;

// One product on its way to the library: as the program asks for it, or with an algorithm.
class Giving {
 public:
  explicit Giving(const Division& way) noexcept : product(way.product), way_(way) {}

  // Only where the algorithm can be said.
  void pin(const LtAlgorithm& algorithm, std::uint64_t workspace) noexcept {
    pinned_ = way_.pinned;
    algorithm_ = &algorithm;
    workspace_ = workspace;
  }

  int run(std::int64_t first, std::int64_t count, Estimate* estimate) const noexcept {
    ProductCall noted{false};
    noted.estimate = estimate;
    return during(noted, first, count);
  }

  // What would be launched. False: the library can't, or it is more than can be compared.
  [[nodiscard]] bool ask(std::int64_t first, std::int64_t count, Launched& into) const noexcept {
    ProductCall noted{true};
    const int status = during(noted, first, count);
    into.launches = noted.launches;
    into.copies = noted.copies;
    std::copy(noted.launched, noted.launched + ProductCall::kMost, into.of);
    // Which of two kernels does what is known only if the algorithm is.
    const bool plain = noted.launches == 1 && noted.copies == 0;
    return status == 0 && noted.launches > 0 && !noted.other &&
           (plain || pinned_ || product.pinned || count == product.count);
  }

  const Product& product;

 private:
  int during(ProductCall& noted, std::int64_t first, std::int64_t count) const noexcept {
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

// Of the kernel that multiplies, which comes first.
[[nodiscard]] inline std::uint64_t blocks_in(const Launched& launched) noexcept {
  const auto& of = launched.of[0].of;
  return std::uint64_t{of[0]} * of[1] * of[2];
}
[[nodiscard]] inline std::uint64_t divisions_in(const Launched& launched) noexcept { return launched.of[0].of[2]; }

}  // namespace cotenant
