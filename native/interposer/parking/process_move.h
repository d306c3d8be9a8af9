// The whole process leaves its GPU by the driver's checkpoint (checkpoint.h), and comes back, or comes to another GPU.
#pragma once

#include "interposer/parking/checkpoint.h"
#include "interposer/state/gpu.h"

namespace cotenant {

// Lets queued work finish and saves the process. `closed`: it is closed already (closing.h). False, with the reason: it is
// where it was, closed as before.
[[nodiscard]] bool take_process(Gpu& gpu, const Link& link, bool closed, Reason& reason) noexcept;

// Brings it back. False, with the reason: it is still saved.
[[nodiscard]] bool bring_process(const Gpu& gpu, Reason& reason) noexcept;

// Brings it to the GPU `to`, and goes on when the agent of that one has it as a client. False, with the reason: it is still saved.
[[nodiscard]] bool bring_process_to(Gpu& gpu, const Uuid& to, Reason& reason) noexcept;

}  // namespace cotenant
