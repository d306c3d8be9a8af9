// The helper thread's part of a best-effort client. High clients usually store the pause flags themselves. The helper
// thread lets minimum progress through in a long pause, renews the time slice, and clears holds that a killed process left behind. gate/hold.h decides what to do; this file applies it to shared
// memory.
#pragma once

#include <cstdint>

namespace cotenant {

struct Gpu;

// One look of the helper thread at a GPU. A renewal of the time slice takes several looks, up to 0.2 ms in all. Returns
// the time until the next poll in microseconds.
[[nodiscard]] std::uint32_t best_effort_tick(Gpu& gpu, std::uint64_t now) noexcept;

}  // namespace cotenant
