// What was found out by timing may have been disturbed, as while many programs start on one GPU, or has become wrong. So it
// is looked at again, ever more seldom.
#pragma once

#include <algorithm>
#include <cstdint>

namespace cotenant {

// How long what was found holds, after so many looks before: a second at first, twice as long each time, ten minutes at most,
// so that looking costs next to nothing.
[[nodiscard]] constexpr std::uint64_t holds_for_ns(std::uint32_t looks) noexcept {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  return std::min(kSecond << std::min(looks, 20u), 600 * kSecond);
}

}  // namespace cotenant
