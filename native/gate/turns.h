// Gives turns among the best-effort clients of one GPU, in the agent: each works for a few milliseconds, unless it has
// nothing to run. Clients only read whose turn it is.
#pragma once

#include <cstdint>

#include "generated/protocol.h"

namespace cotenant {

// One look: collects who has work, and passes the turn on where decide_turn() says so. Returns how many have work.
std::uint32_t give_turns(protocol::Region& region, std::uint64_t now_ns) noexcept;

}  // namespace cotenant
