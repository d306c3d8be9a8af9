// Clears holds of high clients that cannot clear them themselves: clients that were killed while no agent runs to clear
// their bits, and clients that are stopped (docker pause, SIGSTOP, a debugger). Only a stopped client could tell whether its
// work is done, so its hold stands for as long as its longest burst lasted. When it continues, it sets its bit again.
#pragma once

#include <cstdint>

#include "generated/protocol.h"
#include "interposer/state/best_effort_state.h"

namespace cotenant {

// Called by the helper thread every quarter of a second while best-effort work is held for long.
void clear_holds_of_absent(protocol::HoldPage& page, Presence& presence, std::uint64_t now) noexcept;

}  // namespace cotenant
