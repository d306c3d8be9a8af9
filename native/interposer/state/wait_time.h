// How long a burst waited for the GPU: the time in which at least one thread of the application was blocked until work was
// done, or polled for it. The cost of sharing shows in this time; the rest of a burst is CPU time, which varies by itself.
// Pure; times are ns of one clock.
#pragma once

#include <algorithm>
#include <cstdint>

namespace cotenant {

// Since when a thread had been waiting when it saw a completion.
inline constexpr std::uint64_t kDidNotWait = ~std::uint64_t{0};
inline constexpr std::uint64_t kSinceUnknown = 0;  // counted as since the burst began

// The union of the waits of a burst. Waits are added in the order of their ends. The last one is kept apart from the sum of
// the earlier ones, because the next may overlap it. A wait that began before the last one may be counted too long, never too
// short, and the total is never longer than the burst.
class WaitTime {
 public:
  void burst_begins(std::uint64_t now) noexcept {
    start_ = from_ = until_ = now;
    before_ = 0;
  }
  void add(std::uint64_t since, std::uint64_t now) noexcept {
    since = std::max(since, start_);
    if (since >= now) return;
    if (since > until_) {
      before_ += until_ - from_;
      from_ = since;
    } else if (since < from_) {
      before_ = std::min(before_, since - start_);
      from_ = since;
    }
    until_ = std::max(until_, now);
  }
  [[nodiscard]] std::uint64_t ns() const noexcept { return before_ + (until_ - from_); }

 private:
  std::uint64_t start_{0};
  std::uint64_t before_{0};  // the sum of the waits that ended before the last one began
  std::uint64_t from_{0};
  std::uint64_t until_{0};
};

}  // namespace cotenant
