#include "interposer/movable/room.h"

#include <atomic>

#include "interposer/agent/link.h"
#include "interposer/base/clock.h"
#include "interposer/movable/movable.h"
#include "interposer/state/gpu.h"

namespace cotenant {
namespace {

// Copies of 100 GB through a slow link take so long. An error ends most programs, so it comes late.
constexpr std::uint64_t kLongestNs = 10'000'000'000;
// The agent looks every 20 ms while somebody can park memory, and later where the CPUs are busy. If it says nothing for this
// long, it hangs, and there may never be another.
constexpr std::uint64_t kHeardWithinNs = 1'000'000'000;
constexpr std::uint64_t kBestEffortHearsWithinNs = 5'000'000'000;
constexpr std::uint32_t kNapUs = 2'000;
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 52;  // bytes of one allocation; no GPU has so much

// Whether there may be somebody to take memory from.
bool is_beside_movers(const Link& link) noexcept {
  const std::uint32_t movers = link.region->roster.movers.load(std::memory_order_relaxed);
  return role() == Role::kHigh ? movers != 0 : is_movable() && link.attached && (movers & ~(1u << link.slot)) != 0;
}

}  // namespace

WaitsForRoom::WaitsForRoom(const Gpu* gpu, std::uint64_t bytes) noexcept {
  const Link* link = gpu ? gpu->link.load(std::memory_order_acquire) : nullptr;
  if (!link || bytes == 0 || bytes > kMaxBytes || !is_beside_movers(*link)) return;
  protocol::Movable& slot = link->memory();
  static std::atomic<std::uint32_t> tags{0};
  const std::uint32_t tag = tags.fetch_add(1, std::memory_order_relaxed) % protocol::WANTED_TAGS;
  wanted_ = (bytes + protocol::WANTED_TAGS - 1) / protocol::WANTED_TAGS * protocol::WANTED_TAGS + tag;
  answer_ = slot.memoryAnswer.load(std::memory_order_relaxed);
  std::uint64_t nothing = 0;
  // Another thread waits already. When memory is taken for it, this one's turn comes at its next refusal.
  if (!slot.memoryWanted.compare_exchange_strong(nothing, wanted_)) return;
  slot_ = &slot;
  began_ = heard_ = now_ns();
}

WaitsForRoom::~WaitsForRoom() {
  if (slot_) slot_->memoryWanted.store(0, std::memory_order_relaxed);
}

bool WaitsForRoom::again() noexcept {
  if (!slot_ || last_) return false;
  nap_us(kNapUs);
  const std::uint64_t now = now_ns();
  const std::uint32_t answer = slot_->memoryAnswer.load(std::memory_order_relaxed);
  // An answer to another allocation is none.
  const bool is_new = answer != answer_ && answer >> 24 == wanted_ % protocol::WANTED_TAGS;
  const bool comes = (answer & 1) != 0;
  if (is_new) answer_ = answer;
  if (is_new && comes) heard_ = now;
  // Memory may have come just before the agent said that there is no more.
  last_ = (is_new && !comes) || now - heard_ >= (role() == Role::kHigh ? kHeardWithinNs : kBestEffortHearsWithinNs) ||
          (role() == Role::kHigh && now - began_ >= kLongestNs);
  return true;
}

}  // namespace cotenant
