#include "interposer/high/room.h"

#include "interposer/agent/link.h"
#include "interposer/base/clock.h"
#include "interposer/state/gpu.h"

namespace cotenant {
namespace {

constexpr std::uint64_t kLongestNs = 2'000'000'000;
// The agent looks every 20 ms. If it says nothing for so long, it hangs.
constexpr std::uint64_t kHeardWithinNs = 250'000'000;
constexpr std::uint32_t kNapUs = 2'000;

}  // namespace

WaitsForRoom::WaitsForRoom(const Gpu* gpu, std::uint64_t bytes) noexcept : bytes_(bytes) {
  const Link* link = gpu ? gpu->link.load(std::memory_order_acquire) : nullptr;
  if (!link || link->region->roster.bestEffort.load(std::memory_order_relaxed) == 0) return;
  auto& wanted = link->high().memoryWanted;
  std::uint64_t nothing = 0;
  // Another thread waits already. When memory is taken for it, this one's turn comes at its next refusal.
  if (bytes == 0 || !wanted.compare_exchange_strong(nothing, bytes & ~protocol::MEMORY_COMES)) return;
  wanted_ = &wanted;
  began_ = now_ns();
}

WaitsForRoom::~WaitsForRoom() {
  if (wanted_) wanted_->store(0, std::memory_order_relaxed);
}

bool WaitsForRoom::again() noexcept {
  if (!wanted_ || last_) return false;
  nap_us(kNapUs);
  const std::uint64_t wanted = wanted_->load(std::memory_order_relaxed);
  const std::uint64_t waited = now_ns() - began_;
  const bool heard = (wanted & protocol::MEMORY_COMES) != 0;
  // Memory may have come just before the agent said that there is no more.
  last_ = wanted == 0 || waited >= (heard ? kLongestNs : kHeardWithinNs);
  return true;
}

}  // namespace cotenant
