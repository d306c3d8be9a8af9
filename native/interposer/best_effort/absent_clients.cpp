#include "interposer/best_effort/absent_clients.h"

#include <algorithm>

#include "gate/histogram.h"
#include "interposer/base/liveness.h"

namespace cotenant {
namespace {

// A helper thread beats every 10 ms; on a crowded CPU it comes late.
constexpr std::uint64_t kStillNs = 1'000'000'000;

std::uint64_t longest_burst(const protocol::HighSlot& slot) noexcept {
  for (std::uint32_t bucket = kBuckets; bucket-- > 0;)
    if (slot.histogram[bucket].load(std::memory_order_relaxed) != 0) return top_of(bucket);
  return 0;
}

// A pid of the agent's PID namespace names another process in this one, or none. In that case only the beats tell
// whether the client lives.
bool is_dead(const protocol::Region& region, const protocol::HighSlot& slot) noexcept {
  if (slot.state.load(std::memory_order_acquire) == 0) return true;
  const auto pid = static_cast<pid_t>(slot.pid.load(std::memory_order_relaxed));
  return region.header.pidNamespace == pid_namespace() && !alive(pid, slot.startTime.load(std::memory_order_relaxed));
}

}  // namespace

void clear_holds_of_absent(protocol::Region& region, Presence& presence, std::uint64_t now) noexcept {
  const std::uint32_t active = region.activity.active.load(std::memory_order_seq_cst);
  for (std::uint32_t i = 0; i < protocol::MAX_HIGH; ++i) {
    auto& last = presence.of[i];
    const auto& slot = region.high[i];
    const std::uint32_t beats = slot.beats.load(std::memory_order_relaxed);
    const bool still = last.since != 0 && beats == last.beats && beats != 0;
    if ((active & (1u << i)) == 0 || !still) last = {beats, now};
    if ((active & (1u << i)) == 0) continue;
    const bool stopped = now - last.since > std::max(kStillNs, longest_burst(slot));
    if (stopped || is_dead(region, slot)) region.activity.active.fetch_and(~(1u << i), std::memory_order_seq_cst);
  }
}

}  // namespace cotenant
