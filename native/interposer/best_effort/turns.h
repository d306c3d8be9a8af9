// The helper thread's part of a best-effort client. Normally high clients store the hold words themselves. The helper thread
// does the rest: it gives turns to several best-effort clients, lets a trickle through in a long hold, renews the time slice,
// and repairs holds that a killed process left behind. What to do is decided by gate/hold.h; here it is carried out on shared
// memory.
#pragma once

#include <cstdint>

namespace cotenant {

struct Gpu;

// One look of the helper thread at a GPU; renewing a time slice takes several, up to 0.2 ms. Returns in how many
// microseconds to look again.
[[nodiscard]] std::uint32_t best_effort_tick(Gpu& gpu, std::uint64_t now) noexcept;

}  // namespace cotenant
