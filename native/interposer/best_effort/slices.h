// Slices: the times at which best-effort work is let through although a request is active. The agent compares the engine's
// steps in which one fell with those in which none did, so that it knows what a slice costs instead of inferring it.
#pragma once

#include <cstdint>

#include "generated/protocol.h"
#include "interposer/state/best_effort_state.h"

namespace cotenant {

// After each decision of the helper thread. `open`: work may pass beside a request; `begun_ns`: since when the GPU is known to
// run it, 0: it is not.
void note_slice(Slice& slice, protocol::BestEffortSlot& slot, bool open, std::uint64_t begun_ns,
                std::uint64_t now) noexcept;

}  // namespace cotenant
