// The nodes of a graph, as the driver lists them. Read when a graph is created, never when it is launched.
#pragma once

#include "driver/abi.h"
#include "interposer/kernels/launch_shape.h"

namespace cotenant {

// Calls `visit` for each node, including those of child graphs, in the order of their creation, which is the order of a
// capture. False: some nodes could not be read.
using VisitNode = void (*)(void* with, cu::CUgraphNode node, cu::CUgraphNodeType type);
[[nodiscard]] bool visit_nodes(cu::CUgraph graph, VisitNode visit, void* with) noexcept;

// The launch of a kernel node; false: the driver does not tell.
[[nodiscard]] bool launch_of(cu::CUgraphNode node, LaunchShape& into) noexcept;

}  // namespace cotenant
