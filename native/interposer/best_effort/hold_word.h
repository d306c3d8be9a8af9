// The word in shared memory for which the GPU waits at every preemption point of this client: 0 lets it go on.
#pragma once

#include "interposer/agent/link.h"

namespace cotenant {

struct Gpu;

// Whether the GPU has a high client and a policy that protects it. If not, best-effort work is not gated.
[[nodiscard]] bool is_best_effort_gated(const Link& link) noexcept;

// Prepares a slot that this client has just got: clears the marks of its previous client, and sets the pause flag if a
// request is active now.
void best_effort_enter(const Link& link) noexcept;

// Sets the pause flag to 0, so that everything queued runs.
void best_effort_open(const Link& link) noexcept;

// Work queued under a former link, and graphs made executable under it, wait for that link's pause flag. Nobody manages
// that word any more, so this keeps it at 0. A high client that still uses the old region may set it again.
void best_effort_open_former(const Gpu& gpu) noexcept;

}  // namespace cotenant
