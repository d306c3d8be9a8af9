// Runs the rest of the package, which is written for Node.
#pragma once

#include "launcher/answer.h"
#include "launcher/place.h"

namespace cotenant {

// Becomes the command in Node. Returns only if that fails.
void become_node(const Path& root, const Path& node, char** argv) noexcept;

// Asks Node about a command line of `cotenant run`. Node prints what there is to say, and may wait for a GPU. An empty text: it
// has ended with `status`.
[[nodiscard]] Text ask_node(const Path& root, const Path& node, char** argv, int& status) noexcept;

}  // namespace cotenant
