// How a high client holds best-effort work: its bit in `active` of each control page is set while it is busy or has
// announced a request. A process on several GPUs that is busy on one holds best-effort work on all of them, because a request may
// need them all. While it starts up (state/startup.h) it holds best-effort work half of the time at most. So does a
// client that serves, but of which no launch has been seen to complete for far longer than ever before, until one
// completes.
#pragma once

#include <cstdint>

#include "interposer/state/gpu.h"

namespace cotenant {

// Makes the shared state (the client's bit, the pause flags) agree with the state of this client. Under HighGpu::lock.
void update_hold(Gpu& gpu, const Link& link, std::uint64_t now) noexcept;
// Counts how much best-effort work a burst found on the GPU when it began.
void note_launch_ahead(const Link& link) noexcept;

// The program is about to wait for work on this GPU. A request that is waited for leaves no gap, so it holds best-effort work from
// now on, however young it is (rule graceUs).
[[gnu::cold]] void end_grace_period_of(Gpu& gpu) noexcept;
inline void high_waits(Gpu& gpu) noexcept {
  if (gpu.high.holding.young.load(std::memory_order_relaxed)) end_grace_period_of(gpu);
}

// Exists while a thread of the program is blocked until work of the GPU is done.
class BlockedOn {
 public:
  explicit BlockedOn(Gpu& gpu) noexcept : waiters_(gpu.high.waiters) {
    waiters_.fetch_add(1, std::memory_order_relaxed);
  }
  ~BlockedOn() { waiters_.fetch_sub(1, std::memory_order_relaxed); }
  BlockedOn(const BlockedOn&) = delete;
  BlockedOn& operator=(const BlockedOn&) = delete;

 private:
  std::atomic<std::uint32_t>& waiters_;
};

// Under HighGpu::lock: a step has ended while more work is outstanding, so the age of what holds counts from `now`. `old`: what
// comes next counts as old at once (rule coRunUntilLaunches).
void hold_step(const Link& link, std::uint64_t now, bool old) noexcept;

// Under HighGpu::lock: a burst has submitted as much as an old one (rules graceLaunches, coRunUntilLaunches).
[[gnu::cold]] void hold_old(Gpu& gpu) noexcept;

// A request is expected before `until`. From now on best-effort work is held as in a burst, but no burst is counted.
// The next burst replaces the announcement; an announcement made during a burst lasts longer than the burst. Returns
// whether the helper thread must be woken, because it does not know yet that it has to end the announcement.
[[nodiscard]] bool high_announce(Gpu& gpu, std::uint64_t until) noexcept;

// Ends an announcement that no request has followed. Returns the time until the next announcement ends, in
// microseconds.
[[nodiscard]] std::uint32_t high_expire(Gpu& gpu, std::uint64_t now) noexcept;
inline constexpr std::uint32_t kNothingAnnounced = ~0u;

// The program reports a request, so it has started up, as far as it has not said itself when it does.
void high_request_begins(Gpu& gpu) noexcept;

// The program says that it starts up, or serves, from now on (include/cotenant.h).
void high_starts() noexcept;
void high_serves() noexcept;

// Whether it serves, as far as its work, the program or the service's endpoint shows.
[[nodiscard]] bool high_has_served(Gpu& gpu) noexcept;

// Called by the helper thread: begins and ends time slices, and mends this client's bit where it is wrong: in the page of a
// client that has come since, or that took this one for stopped.
void high_share(Gpu& gpu, std::uint64_t now) noexcept;

// Clears this client's bit on a GPU of which it no longer has a slot, and returns the link that it had; null: none.
[[nodiscard]] Link* stop_holding(Gpu& gpu, std::uint64_t now) noexcept;

// Called by the helper thread at each poll: tells the best-effort clients that this one is not stopped.
void high_beat(Gpu& gpu) noexcept;

// After fork(): no other thread of the parent holds locks here.
void forget_holding() noexcept;

// The link was replaced: writes the current state to the new region.
void high_republish(Gpu& gpu) noexcept;

}  // namespace cotenant
