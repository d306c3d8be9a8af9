// High clients that hold best-effort work and can't say that they are done: killed ones, where no agent clears their
// bits, and stopped ones (docker pause, SIGSTOP, a debugger). Whether a stopped client's work is done nobody but itself
// knows. It is held for as long as its longest burst; when it goes on it sets its bit again.
#pragma once

#include <cstdint>

#include "generated/protocol.h"
#include "interposer/state/best_effort_state.h"

namespace cotenant {

// The helper thread's, in a long pause, each quarter of a second.
void let_go_of_absent(protocol::Region& region, Presence& presence, std::uint64_t now) noexcept;

}  // namespace cotenant
