// How long a high client has been in bursts without a launch that was seen to complete, compared with the longest such
// time so far. If it is far longer, the client shares the GPU (high/holding.h). Pure; times are ns of one clock.
#pragma once

#include <algorithm>
#include <cstdint>

namespace cotenant {

class Progress {
 public:
  // After an idle time of this length the sum starts from 0.
  static constexpr std::uint64_t kRestNs = 1'000'000'000;
  static constexpr std::uint64_t kFar = 4;  // the limit, as a multiple of the longest time
  // One launch raises the limit by at most this factor: a program's start may take a minute until its first synchronisation,
  // which says nothing about a request.
  static constexpr std::uint64_t kUsualNs = 250'000'000;
  static constexpr std::uint64_t kRise = 4;
  // The longest time is taken over this many completed launches, and as many before them.
  static constexpr std::uint32_t kRemembered = 100'000;

  void burst_begins(std::uint64_t now) noexcept {
    if (since(now) > kRestNs) before_ = 0;
    at_ = now;
    active_ = true;
  }
  void burst_ends(std::uint64_t now) noexcept {
    before_ = unseen_ns(now);
    at_ = now;
    active_ = false;
  }
  void launch_ended(std::uint64_t now) noexcept {
    learn(std::min(unseen_ns(now), kRise * limit_ns(kUsualNs)));
    if (++ended_ == kRemembered) {
      longest_before_ = longest_;
      longest_ = 0;
      ended_ = 0;
    }
    start_again(now);
  }
  // A request may take this long.
  void learn(std::uint64_t ns) noexcept { longest_ = std::max(longest_, ns); }
  // Forgets the time without a completion so far.
  void start_again(std::uint64_t now) noexcept {
    before_ = 0;
    at_ = now;
  }

  // Time in bursts since a launch was last seen to complete. `now` may be older than the newest event, because another thread
  // may have reported it since the caller read the clock.
  [[nodiscard]] std::uint64_t unseen_ns(std::uint64_t now) const noexcept {
    return before_ + (active_ ? since(now) : 0);
  }
  // The limit for unseen_ns(): `least`, or a multiple of the longest time so far if that is more.
  [[nodiscard]] std::uint64_t limit_ns(std::uint64_t least) const noexcept {
    return std::max(least, kFar * std::max(longest_, longest_before_));
  }

 private:
  [[nodiscard]] std::uint64_t since(std::uint64_t now) const noexcept { return now > at_ ? now - at_ : 0; }

  std::uint64_t before_{0};  // in bursts before the one that runs
  std::uint64_t at_{0};  // since then in this one; or when the last one ended
  bool active_{false};
  std::uint32_t ended_{0};
  std::uint64_t longest_{0};
  std::uint64_t longest_before_{0};
};

}  // namespace cotenant
