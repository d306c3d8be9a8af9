// The helper thread's part of a best-effort client. Normally high clients store the hold words themselves. The helper thread
// does the rest: it gives turns to several best-effort clients, lets a trickle through in a long hold, renews the time slice,
// and repairs holds that a killed process left behind.
#pragma once

#include <cstdint>

namespace cotenant {

struct Gpu;

// The helper thread's look: the end of a resume delay, trickle, turns, lost wake-ups,
// statistics. Returns in how many microseconds to look again.
[[nodiscard]] std::uint32_t best_effort_tick(Gpu& gpu, std::uint64_t now) noexcept;

}  // namespace cotenant
