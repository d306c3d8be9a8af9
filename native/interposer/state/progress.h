// How long a high client has been active since a launch of its was last seen to end, against the longest such time
// before: far beyond that it shares the GPU (holding.h). Pure; times in ns on one clock.
#pragma once

#include <algorithm>
#include <cstdint>

namespace cotenant {

class Progress {
 public:
  // A client that was idle for so long is taken to begin something new.
  static constexpr std::uint64_t kRestNs = 1'000'000'000;
  static constexpr std::uint64_t kFar = 4;  // times the longest
  // How far one launch may raise what the next ones are allowed: a start-up may take a minute until its first
  // synchronisation, and is no measure of a request.
  static constexpr std::uint64_t kUsualNs = 250'000'000;
  static constexpr std::uint64_t kRise = 4;
  // The longest of this many launches seen to end, and of as many before them, counts.
  static constexpr std::uint32_t kRemembered = 100'000;

  void burst_begins(std::uint64_t now) noexcept {
    if (since(now) > kRestNs) before_ = 0;
    at_ = now;
    active_ = true;
  }
  void burst_ends(std::uint64_t now) noexcept {
    before_ = unseen(now);
    at_ = now;
    active_ = false;
  }
  void launch_ended(std::uint64_t now) noexcept {
    longest_ = std::max(longest_, std::min(unseen(now), kRise * limit(kUsualNs)));
    if (++ended_ == kRemembered) {
      longest_before_ = longest_;
      longest_ = 0;
      ended_ = 0;
    }
    start_again(now);
  }
  // What comes next is a request.
  void start_again(std::uint64_t now) noexcept {
    before_ = 0;
    at_ = now;
  }

  // Time in bursts since a launch was last seen to end. Whoever asks may have read the clock before another thread told of
  // something newer.
  [[nodiscard]] std::uint64_t unseen(std::uint64_t now) const noexcept { return before_ + (active_ ? since(now) : 0); }
  // How much of it is usual: `least`, or far more than the longest so far.
  [[nodiscard]] std::uint64_t limit(std::uint64_t least) const noexcept {
    return std::max(least, kFar * std::max(longest_, longest_before_));
  }

 private:
  [[nodiscard]] std::uint64_t since(std::uint64_t now) const noexcept { return now > at_ ? now - at_ : 0; }

  std::uint64_t before_{0};  // in bursts before the one that runs
  std::uint64_t at_{0};      // since then in this one; or when the last one ended
  bool active_{false};
  std::uint32_t ended_{0};
  std::uint64_t longest_{0};
  std::uint64_t longest_before_{0};
};

}  // namespace cotenant
