// The ranks of a high job that has several processes on several GPUs, such as an engine with tensor parallelism. A request needs
// all of them at once, so each holds best-effort work on the GPUs of the others, too: the agent names these in the client's slot,
// and the process takes a slot there without using the GPU (GpuIdentity::holds_only()). high/holding.h treats it as one more GPU
// of the process.
#pragma once

#include <cstdint>

#include "interposer/state/gpu.h"

namespace cotenant {

// Called by the helper thread some times a second: takes slots on GPUs that the agent names, and leaves those that it names no
// more.
void follow_job(std::uint64_t now) noexcept;

// Another process of the job observes the steps of this one, whose own ends of work say nothing about them.
[[nodiscard]] inline bool follows(const Link& link) noexcept {
  return link.high().follows.load(std::memory_order_relaxed) != 0;
}

// Calls `use` with each control page of the job's other GPUs, and a slot there whose entry follows the steps of this process: its
// own one, and that of the rank which does not observe them.
template <typename Use>
void each_hold_of_job(Use use) noexcept {
  for (std::uint32_t i = 0; i < gpu_count(); ++i) {
    const Gpu& gpu = gpu_at(i);
    const Link* link = gpu.identity.holds_only() ? gpu.link.load(std::memory_order_acquire) : nullptr;
    if (!link) continue;
    const std::uint32_t follower = gpu.follower.load(std::memory_order_relaxed);
    each_hold(*link, [&](protocol::HoldPage& page, std::uint32_t) {
      use(page, link->slot);
      if (follower != 0) use(page, follower - 1);
    });
  }
}

}  // namespace cotenant
