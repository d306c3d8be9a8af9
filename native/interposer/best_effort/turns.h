// The helper thread's part of a best-effort client. The fast path is elsewhere (high clients store the
// hold words themselves); here is what must happen though nobody else does it: turns among best-effort
// clients, the trickle in a long pause, and holds left wrong by somebody who was killed in between.
#pragma once

#include <cstdint>

namespace cotenant {

struct Gpu;

// The helper thread's look: the end of a resume delay, trickle, turns, lost wake-ups,
// statistics. Returns in how many microseconds to look again.
[[nodiscard]] std::uint32_t best_effort_tick(Gpu& gpu, std::uint64_t now) noexcept;

}  // namespace cotenant
