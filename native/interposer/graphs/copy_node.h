// Copies the parameters of a graph's node to a node of another graph.
#pragma once

#include "driver/abi.h"

namespace cotenant {

// Both nodes have the same type and the same position in graphs of the same topology. False: the driver refused.
[[nodiscard]] bool copy_node(cu::CUgraphNode from, cu::CUgraphNode to) noexcept;

}  // namespace cotenant
