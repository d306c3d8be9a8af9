// Intervals at which a decision that rests on measured times is made again. A measurement may have been disturbed, for
// instance while other programs started on the GPU, or may be out of date. So it is repeated, at intervals that double.
#pragma once

#include <algorithm>
#include <cstdint>

namespace cotenant {

// How long a decision is valid after `looks` earlier ones: one second at first, twice as long each time, at most ten
// minutes.
[[nodiscard]] constexpr std::uint64_t holds_for_ns(std::uint32_t looks) noexcept {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  return std::min(kSecond << std::min(looks, 20u), 600 * kSecond);
}

}  // namespace cotenant
