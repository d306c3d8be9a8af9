#include "interposer/best_effort/absent_clients.h"

#include <algorithm>

namespace cotenant {
namespace {

// A helper thread beats every 10 ms; on a crowded CPU it comes late.
constexpr std::uint64_t kStillNs = 1'000'000'000;

}  // namespace

void clear_holds_of_absent(protocol::HoldPage& page, Presence& presence, std::uint64_t now) noexcept {
  const std::uint64_t active = page.active.load(std::memory_order_seq_cst);
  for (std::uint32_t i = 0; i < protocol::MAX_HIGH; ++i) {
    const std::uint64_t bit = std::uint64_t{1} << i;
    auto& last = presence.of[i];
    const auto& high = page.high[i];
    const std::uint32_t beats = high.beats.load(std::memory_order_relaxed);
    const bool still = last.since != 0 && beats == last.beats && beats != 0;
    if ((active & bit) == 0 || !still) last = {beats, now};
    if ((active & bit) == 0) continue;
    const std::uint64_t longest_ns = std::uint64_t{high.longestUs.load(std::memory_order_relaxed)} * 1000;
    if (now - last.since > std::max(kStillNs, longest_ns)) page.active.fetch_and(~bit, std::memory_order_seq_cst);
  }
}

}  // namespace cotenant
