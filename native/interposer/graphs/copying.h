// What one node of a graph does, given to a node of another graph.
#pragma once

#include "driver/abi.h"

namespace cotenant {

// Both are of the same type and stand in the same place of graphs of the same form. False: the driver does not do it.
[[nodiscard]] bool copy_node(cu::CUgraphNode from, cu::CUgraphNode to) noexcept;

}  // namespace cotenant
