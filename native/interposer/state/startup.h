// Whether a high client starts up (it loads, captures, compiles) or serves requests, as far as its work shows. Work is judged
// in stretches: the time in bursts until a launch is seen to end. Pure; times are ns of one clock.
#pragma once

#include <algorithm>
#include <cstdint>

namespace cotenant {

class Startup {
 public:
  // Number of stretches that may be requests after which the client counts as serving, if no other work weighs
  // against them.
  static constexpr std::uint32_t kRequests = 3;
  // A burst that goes on is judged in pieces of this length. Work of this length without a launch that was seen to end is no
  // request.
  static constexpr std::uint64_t kPieceNs = 250'000'000;
  // In a shorter stretch the helper thread sees too little to tell whether the program submitted work in it.
  static constexpr std::uint64_t kShortNs = 50'000'000;
  // Other work is forgotten after as long a time as it took, and at the latest after this time.
  static constexpr std::uint64_t kMemoryNs = 1'000'000'000;

  void burst_begins(std::uint64_t now) noexcept {
    // A rest ends work of which no launch was seen to end.
    if (stretch_.length != 0 && (stretch_.length >= kPieceNs || now > from_ + kMemoryNs)) judge(now, false);
    from_ = now;
    waited_ = 0;
    active_ = true;
  }
  // `waited()` is for how long this burst has waited for the GPU so far, here and below.
  template <class Waited>
  void launch_ended(std::uint64_t now, Waited waited) noexcept {
    seen_ = true;
    if (now - from_ >= kPieceNs) judge_piece(now, waited());
  }
  template <class Waited>
  void burst_ends(std::uint64_t now, Waited waited) noexcept {
    active_ = false;
    if (!usual_ || !seen_ || now - from_ >= kShortNs) return finish(now, waited());
    seen_ = false;
    from_ = now;
  }
  // A copy to the device took this long.
  void copied(std::uint64_t ns) noexcept {
    stretch_.copying += ns;
    usual_ = false;
  }
  // A copy to the host is over: the program has a result.
  void returned() noexcept { stretch_.result = true; }
  // The program has submitted work for this long.
  void submitted(std::uint64_t ns) noexcept { stretch_.submitting += ns; }

  // Other work for longer than `limit`, with as much time beside it taken off, is a new start-up.
  void doubt(std::uint64_t now, std::uint64_t limit) noexcept {
    if (!serves_ || other_at(now - std::min(now, length(now))) + length(now) <= limit) return;
    begin();
    doubted_ = true;
  }
  void begin() noexcept {
    serves_ = doubted_ = usual_ = false;
    requests_ = 0;
    longest_ = 0;
  }
  // The program says that it serves, or announces a request.
  void end() noexcept {
    serves_ = true;
    other_ = 0;
    stretch_ = {};
  }

  [[nodiscard]] bool serves() const noexcept { return serves_; }
  // The longest request since the start-up began.
  [[nodiscard]] std::uint64_t longest_ns() const noexcept { return longest_; }

 private:
  struct Stretch {
    std::uint64_t length;
    std::uint64_t waited;
    std::uint64_t submitting;
    std::uint64_t copying;
    bool result;
  };

  // In a request a program submits kernels or waits for them. One that loads copies to the device and nothing back; one
  // that captures or compiles does something else for most of the time.
  static bool is_request(const Stretch& of) noexcept {
    if (2 * of.copying >= of.length && !of.result) return false;
    return of.length < kShortNs || 2 * (of.waited + of.submitting) >= of.length;
  }

  [[nodiscard]] std::uint64_t length(std::uint64_t now) const noexcept {
    return stretch_.length + (active_ && now > from_ ? now - from_ : 0);
  }
  [[gnu::noinline, gnu::cold]] void judge_piece(std::uint64_t now, std::uint64_t waited) noexcept {
    if (now < from_) return;  // the clock was read before the burst began
    add(now, waited);
    judge(now, is_request(stretch_));
  }
  [[gnu::noinline, gnu::cold]] void finish(std::uint64_t now, std::uint64_t waited) noexcept {
    active_ = true;  // until here
    add(now, waited);
    active_ = false;
    if (seen_) judge(now, is_request(stretch_));
    else usual_ = false;
  }
  void add(std::uint64_t now, std::uint64_t waited) noexcept {
    stretch_.length = length(now);
    stretch_.waited += waited - std::min(waited, waited_);
    from_ = std::max(from_, now);
    waited_ = waited;
  }
  [[nodiscard]] std::uint64_t other_at(std::uint64_t now) const noexcept {
    return other_ - std::min(other_, now > judged_ ? now - judged_ : 0);
  }

  [[gnu::noinline, gnu::cold]] void judge(std::uint64_t now, bool request) noexcept {
    if (request) {
      other_ = other_at(now);
      longest_ = std::max(longest_, stretch_.length);
      ++requests_;
      serves_ = serves_ || doubted_ || (requests_ >= kRequests && other_ == 0);
    } else {
      const std::uint64_t most = serves_ ? ~std::uint64_t{0} / 2 : kMemoryNs;
      other_ = std::min(other_at(now - std::min(now, stretch_.length)) + stretch_.length, most);
      if (other_ >= kMemoryNs && !serves_) begin();
    }
    doubted_ = false;
    usual_ = serves_ && other_ == 0;
    judged_ = now;
    stretch_ = {};
    seen_ = false;
  }

  bool serves_{false};
  bool doubted_{false};  // the stretch that goes on is what began this start-up
  bool usual_{false};  // it serves, and a short burst in which a launch is seen to end is a request: nothing to judge
  bool active_{false};
  bool seen_{false};  // a launch was seen to end in this stretch
  std::uint32_t requests_{0};
  std::uint64_t longest_{0};
  Stretch stretch_{};
  std::uint64_t from_{0};  // the part of this burst since then is not in `stretch_` yet
  std::uint64_t waited_{0};  // of this burst, what is
  std::uint64_t other_{0};  // time in other work at `judged_`, less the time beside it
  std::uint64_t judged_{0};
};

// Half of the time for best-effort work: time in which it was held, less the time in which it was not.
class Turns {
 public:
  static constexpr std::uint64_t kAllowedNs = 50'000'000;  // so a short request is not interrupted
  static constexpr std::uint64_t kSliceNs = 10'000'000;
  static constexpr std::uint64_t kMaxNs =
      1'000'000'000;  // if the helper thread is late, no more than this is made up for

  void begin(std::uint64_t now) noexcept {
    at_ = now;
    debt_ = 0;
    shares_ = false;
  }
  void pass(std::uint64_t now, bool held) noexcept {
    if (now <= at_) return;
    const std::uint64_t past = now - at_;
    at_ = now;
    debt_ = held ? std::min(debt_ + past, kMaxNs) : debt_ - std::min(debt_, past);
    if (debt_ >= kAllowedNs) shares_ = true;
    else if (debt_ <= kAllowedNs - kSliceNs) shares_ = false;
  }
  // Whether it is the turn of best-effort work.
  [[nodiscard]] bool shares() const noexcept { return shares_; }

 private:
  std::uint64_t at_{0};
  std::uint64_t debt_{0};
  bool shares_{false};
};

}  // namespace cotenant
