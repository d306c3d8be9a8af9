// The word in shared memory for which the GPU waits at every border of this client: 0 lets it go on.
#pragma once

#include "interposer/agent/link.h"

namespace cotenant {

struct Gpu;

// Is there a high client on this GPU, and a policy that protects it? Without, best-effort work just runs.
[[nodiscard]] bool is_best_effort_gated(const Link& link) noexcept;

// Prepares a slot that was just taken: clears the marks of its earlier client and sets the hold word by what is active now.
void best_effort_enter(const Link& link) noexcept;

// Sets the hold word to 0, so that everything queued runs.
void best_effort_open(const Link& link) noexcept;

// Work queued under a former link, and graphs made executable under it, wait for that link's hold word, which nobody manages
// any more. This keeps it at 0; a high client that still uses the old region may set it again.
void best_effort_open_former(const Gpu& gpu) noexcept;

}  // namespace cotenant
