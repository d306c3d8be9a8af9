// Statistics of one product, from call to call.
#pragma once

#include <atomic>
#include <cstdint>

#include "interposer/kernels/estimate.h"
#include "interposer/products/library_call.h"

namespace cotenant {

// In place of a number of lines: the product is not divided in this way.
inline constexpr std::int64_t kWhole = -1;

// Whether the whole's algorithm was already looked up in cublasLt.
enum Search : int { kNotYet, kSearching, kDone };

// The whole's algorithm and what it launches. Never changed and never freed, because a call may hold the pointer.
struct Pinned {
  LtAlgorithm algorithm;
  LibraryLaunches launched;
};

// Statistics of dividing a product in one way.
struct Side {
  std::atomic<std::int64_t> count{0};  // lines of a part; 0: not decided; kWhole
  std::atomic<std::uint32_t> target_us{0};  // the target for which that was decided
  std::atomic<std::uint32_t> least_us{0};  // shorter parts cost too much
  std::atomic<std::uint32_t> expected_percent{100};  // of all parts together, as a percentage of the whole
  std::atomic<std::uint32_t> refusals{0};  // how often it was left whole or got longer parts
  std::atomic<std::uint64_t> again_ns{0};  // when these decisions are forgotten; 0: there are none
  std::atomic<int> search{kNotYet};
  std::atomic<const Pinned*> pinned{nullptr};  // null: not found
  Estimate part;
  Estimate last;
};

// Statistics of one product.
struct Known {
  std::atomic<std::uint64_t> key{0};
  Estimate whole;
  Side sides[kWays];
};

}  // namespace cotenant
