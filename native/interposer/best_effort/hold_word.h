// The word in shared memory for which the GPU waits at every border of this client: 0 lets it go on.
#pragma once

#include "interposer/agent/link.h"

namespace cotenant {

struct Gpu;

// Is there a high client on this GPU, and a policy that protects it? Without, best-effort work just runs.
[[nodiscard]] bool best_effort_gated(const Link& link) noexcept;

// A slot just taken: marks of an earlier client are wiped, and the hold word says what is true now.
void best_effort_enter(const Link& link) noexcept;

// Lets everything queued run: before the process leaves.
void best_effort_open(const Link& link) noexcept;

// Work queued under a former link, and graphs made executable under it, wait for a hold word that this client's rules do not
// reach any more. It is kept open: a high client that has not moved to the new region may close it again.
void best_effort_open_former(const Gpu& gpu) noexcept;

}  // namespace cotenant
