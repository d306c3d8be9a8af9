#include "interposer/movable/service_memory.h"

#include <algorithm>
#include <atomic>

#include "interposer/agent/link.h"
#include "interposer/base/clock.h"
#include "interposer/high/holding.h"
#include "interposer/lookup/entry.h"
#include "interposer/state/gpu.h"

namespace cotenant {
namespace {

constexpr std::uint64_t kLongestNs = 1'000'000'000;
constexpr std::uint64_t kSampleWithinNs = 250'000'000;  // the agent samples every 20 ms while somebody can park memory
constexpr std::uint32_t kNapUs = 1'000;
// A client reports a change of its memory to the agent a few milliseconds later, so one sample may come too early.
constexpr int kEqualSamples = 2;
// A program that has allocated less does not load its model yet. It may wait for memory that others free.
constexpr std::uint64_t kLoadingBytes = std::uint64_t{64} << 20;

std::atomic<std::uint64_t> allocated{0};  // in all, by the process

struct Sample {
  std::uint64_t free;
  std::uint64_t takeable;
  std::uint64_t at;  // of the agent's sample
  bool moves;  // memory is being parked or returned

  [[nodiscard]] std::uint64_t total() const noexcept { return free + takeable; }
};

Sample sample_with(const Link& link, std::uint64_t free) noexcept {
  const auto& roster = link.region->roster;
  const std::uint64_t at = roster.takeableAt.load(std::memory_order_acquire);
  const bool moves = roster.moving.load(std::memory_order_relaxed) != 0;
  return {free, roster.takeable.load(std::memory_order_relaxed), at, moves};
}

// Waits until the agent has sampled again. False: it does not.
bool await_sample(const Link& link, std::uint64_t before) noexcept {
  const std::uint64_t until = now_ns() + kSampleWithinNs;
  while (link.region->roster.takeableAt.load(std::memory_order_acquire) == before) {
    if (now_ns() >= until) return false;
    nap_us(kNapUs);
  }
  return true;
}

// Memory that moves counts twice for a moment, or not at all, and so does memory of a client that has just come. So the figures
// must stay the same over some samples, while nothing moves, and be no less than `least`, which the program's own allocations leave.
// After a second they are taken as they are.
std::uint64_t settled(const Link& link, std::uint64_t free, std::uint64_t least) noexcept {
  Sample last = sample_with(link, free);
  const std::uint64_t until = now_ns() + kLongestNs;
  // An agent from before this figure does not write the time.
  for (int same = 0; same < kEqualSamples && last.at != 0 && now_ns() < until;) {
    std::size_t left = 0;
    std::size_t total = 0;
    if (!await_sample(link, last.at) || real().cuMemGetInfo_v2(&left, &total) != cu::CUDA_SUCCESS) break;
    const Sample next = sample_with(link, left);
    const bool equal = next.free == last.free && next.takeable == last.takeable;
    same = equal && !next.moves && next.total() >= least ? same + 1 : 0;
    last = next;
  }
  return last.total();
}

}  // namespace

std::uint64_t free_for_service(Gpu& gpu, std::uint64_t free) noexcept {
  const Link* link = gpu.link.load(std::memory_order_acquire);
  if (!link) return free;
  if (high_has_served(gpu)) return free + link->region->roster.takeable.load(std::memory_order_relaxed);
  const bool moves = link->region->roster.movers.load(std::memory_order_relaxed) != 0;
  const std::uint64_t own = allocated.load(std::memory_order_relaxed);
  std::atomic<std::uint64_t>& base = gpu.high.reported_and_own;
  const std::uint64_t before = base.load(std::memory_order_relaxed);
  const std::uint64_t figure = moves ? settled(*link, free, before - std::min(before, own)) : free;
  base.store(figure + own, std::memory_order_relaxed);
  // Memory that a neighbour frees meanwhile is reported as free once the service serves.
  std::atomic<std::uint64_t>& first = gpu.high.first_reported;
  if (own < kLoadingBytes) first.store(figure, std::memory_order_relaxed);
  const std::uint64_t most = first.load(std::memory_order_relaxed);
  return most == 0 ? figure : std::min(figure, most);
}

void note_service_memory(std::uint64_t bytes) noexcept { allocated.fetch_add(bytes, std::memory_order_relaxed); }

}  // namespace cotenant
