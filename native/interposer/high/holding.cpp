#include "interposer/high/holding.h"

#include <algorithm>

#include "generated/rules.h"
#include "interposer/base/clock.h"
#include "interposer/kernels/kernel_table.h"
#include "interposer/state/gpu.h"

namespace cotenant {
namespace {

using protocol::Region;

constexpr std::uint64_t kSliceNs = 10'000'000;

// Whether hold words are set while a request is active. The rules may allow some best-effort work beside a request.
bool holds_apply(const Region& region) noexcept {
  const auto& rules = region.settings;
  return rule::protect(rules) && rule::when_active(rules) == protocol::WhenActive::kWait;
}

void close_holds(Region& region) noexcept {
  for (auto& hold : region.holds.hold) hold.store(1, std::memory_order_seq_cst);
}

// Clears the hold words of the clients that may run now: of the one whose turn it is, or of all if contexts run side by
// side.
void open_holds(Region& region) noexcept {
  const auto& rules = region.settings;
  if (rule::paused(rules) || rule::resume_delay_us(rules) > 0) return;
  const std::uint32_t turn = region.activity.turn.load(std::memory_order_relaxed);
  const bool turns = rule::isolated(rules);
  for (std::uint32_t i = 0; i < protocol::MAX_BEST_EFFORT; ++i)
    if (!turns || i == turn) region.holds.hold[i].store(0, std::memory_order_seq_cst);
}

// The atomic operations of the next two functions are sequentially consistent. `active` and the hold words form a
// protocol with every other client of the GPU in which each side first stores and then checks. The check after clearing
// the words detects a request of another client that began in between.
void hold_others(const Link& link) noexcept {
  Region& region = *link.region;
  const std::uint32_t before = region.activity.active.fetch_or(link.bit(), std::memory_order_seq_cst);
  if (holds_apply(region)) close_holds(region);
  if (before == 0) region.activity.activations.fetch_add(1, std::memory_order_relaxed);
}

void let_others_go(const Link& link, std::uint64_t now) noexcept {
  Region& region = *link.region;
  const std::uint32_t left = region.activity.active.fetch_and(~link.bit(), std::memory_order_seq_cst) & ~link.bit();
  if (left != 0) return;
  region.activity.idleSince.store(now, std::memory_order_relaxed);
  open_holds(region);
  if (region.activity.active.load(std::memory_order_seq_cst) != 0 && holds_apply(region)) close_holds(region);
}

// After this time without a launch that was seen to end the client shares the GPU; 0: never. A training has no
// requests, and may go on for long without asking for completions.
std::uint64_t patience_ns(const Link& link) noexcept {
  const protocol::KernelTable* profile = kernel_table();
  const std::uint64_t us = rule::share_after_us(link.region->settings);
  return us == 0 || (profile && profile->training) ? 0 : us * 1000;
}

}  // namespace

void update_hold(Gpu& gpu, const Link& link, std::uint64_t now) noexcept {
  Holding& own = gpu.high.holding;
  const bool busy = gpu.high.busy_streams > 0;
  const bool hold = gpu.high.announced_until > now || (busy && !own.sharing);
  const bool shares = busy && !hold;
  if (shares != (own.shared_from != 0)) {
    if (!shares) link.high().sharedNs.fetch_add(now - own.shared_from, std::memory_order_relaxed);
    own.shared_from = shares ? now : 0;
  }
  if (hold == own.held) return;
  own.held = hold;
  if (hold) hold_others(link);
  else let_others_go(link, now);
}

void note_launch_ahead(const Link& link) noexcept {
  std::uint64_t ahead = 0;
  for (const auto& other : link.region->bestEffort)
    if (other.state.load(std::memory_order_relaxed)) ahead += other.releasedNs.load(std::memory_order_relaxed);
  auto& slot = link.high();
  slot.aheadNs.fetch_add(ahead, std::memory_order_relaxed);
  if (ahead > slot.aheadMaxNs.load(std::memory_order_relaxed)) slot.aheadMaxNs.store(ahead, std::memory_order_relaxed);
}

bool high_announce(Gpu& gpu, std::uint64_t until) noexcept {
  Locked lock(gpu.high.lock);
  const Link* link = gpu.link.load(std::memory_order_acquire);
  if (!link) return false;
  const std::uint64_t now = now_ns();
  const bool pending = gpu.high.announced_until != 0;
  if (until > gpu.high.announced_until) gpu.high.announced_until = until;
  gpu.high.progress.start_again(now);
  gpu.high.holding.sharing = false;
  update_hold(gpu, *link, now);
  return !pending;
}

std::uint32_t high_expire(Gpu& gpu, std::uint64_t now) noexcept {
  Locked lock(gpu.high.lock);
  const std::uint64_t until = gpu.high.announced_until;
  if (until == 0) return kNothingAnnounced;
  if (until > now) return static_cast<std::uint32_t>((until - now) / 1000 + 1);
  gpu.high.announced_until = 0;
  if (const Link* link = gpu.link.load(std::memory_order_acquire)) update_hold(gpu, *link, now);
  return kNothingAnnounced;
}

void high_share(Gpu& gpu, std::uint64_t now) noexcept {
  Locked lock(gpu.high.lock);
  const Link* link = gpu.link.load(std::memory_order_acquire);
  if (!link) return;
  Holding& own = gpu.high.holding;
  const std::uint64_t patience = patience_ns(*link);
  if (patience == 0 || gpu.high.progress.unseen_ns(now) <= gpu.high.progress.limit_ns(patience)) {
    own.sharing = false;
  } else if (now >= own.slice_ends) {
    own.sharing = !own.sharing;
    own.slice_ends = now + kSliceNs;
  }
  if (own.held && (link->region->activity.active.load(std::memory_order_seq_cst) & link->bit()) == 0) own.held = false;
  update_hold(gpu, *link, now);
}

void high_republish(Gpu& gpu) noexcept {
  Locked lock(gpu.high.lock);
  const Link* link = gpu.link.load(std::memory_order_acquire);
  if (!link) return;
  gpu.high.holding.held = false;
  update_hold(gpu, *link, now_ns());
  if (gpu.high.busy_streams > 0) link->high().busySince.store(gpu.high.burst_start, std::memory_order_relaxed);
}

}  // namespace cotenant
