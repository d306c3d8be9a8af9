#include "interposer/movable/room.h"

#include "interposer/agent/link.h"
#include "interposer/base/clock.h"
#include "interposer/movable/movable.h"
#include "interposer/state/gpu.h"

namespace cotenant {
namespace {

constexpr std::uint64_t kLongestNs = 2'000'000'000;
// The agent looks every 20 ms. If it says nothing for so long, it hangs, and there may never be another.
constexpr std::uint64_t kHeardWithinNs = 250'000'000;
constexpr std::uint64_t kBestEffortHearsWithinNs = 5'000'000'000;
constexpr std::uint32_t kNapUs = 2'000;

// Whether there may be somebody to take memory from.
bool is_beside_others(const Link& link) noexcept {
  const std::uint32_t there = link.region->roster.bestEffort.load(std::memory_order_relaxed);
  return role() == Role::kHigh ? there != 0 : is_movable() && link.attached && (there & ~(1u << link.slot)) != 0;
}

}  // namespace

WaitsForRoom::WaitsForRoom(const Gpu* gpu, std::uint64_t bytes) noexcept : bytes_(bytes & ~protocol::MEMORY_COMES) {
  const Link* link = gpu ? gpu->link.load(std::memory_order_acquire) : nullptr;
  if (!link || !is_beside_others(*link)) return;
  auto& wanted = link->memory().memoryWanted;
  std::uint64_t nothing = 0;
  // Another thread waits already. When memory is taken for it, this one's turn comes at its next refusal.
  if (bytes == 0 || !wanted.compare_exchange_strong(nothing, bytes_)) return;
  wanted_ = &wanted;
  began_ = heard_ = now_ns();
}

WaitsForRoom::~WaitsForRoom() {
  if (wanted_) wanted_->store(0, std::memory_order_relaxed);
}

bool WaitsForRoom::again() noexcept {
  if (!wanted_ || last_) return false;
  nap_us(kNapUs);
  const std::uint64_t now = now_ns();
  // The agent says it again at each look.
  std::uint64_t wanted = wanted_->load(std::memory_order_relaxed);
  if ((wanted & protocol::MEMORY_COMES) != 0) {
    heard_ = now;
    wanted_->compare_exchange_strong(wanted, bytes_);
  }
  // Memory may have come just before the agent said that there is no more.
  last_ = wanted == 0 || now - heard_ >= (role() == Role::kHigh ? kHeardWithinNs : kBestEffortHearsWithinNs) ||
          (role() == Role::kHigh && now - began_ >= kLongestNs);
  return true;
}

}  // namespace cotenant
