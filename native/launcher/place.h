// Where the package lies to which this program belongs, and the Node that runs the rest of it.
#pragma once

#include <limits.h>

namespace cotenant {

using Path = char[PATH_MAX];

// The folder of the package: above build/native, or share/cotenant beside the folder of a wheel's commands.
[[nodiscard]] bool find_package(Path& root) noexcept;

// COTENANT_NODE, the Node of a wheel beside this program, the one whose npm installed the package, or the first in PATH.
[[nodiscard]] bool find_node(const Path& root, Path& node) noexcept;

}  // namespace cotenant
