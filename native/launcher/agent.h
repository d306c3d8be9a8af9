// Asks the agent about a command line of `cotenant run`.
#pragma once

#include "launcher/answer.h"
#include "launcher/place.h"

namespace cotenant {

// Returns an empty text if Node has to be asked: no agent runs, it is of another build, or it leaves the command to Node.
[[nodiscard]] Text ask_agent(const Path& root, int argc, char** argv, char** environment) noexcept;

}  // namespace cotenant
