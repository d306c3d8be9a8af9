// What is in a graph, as the driver tells it. Read when a graph is made, never when it is launched.
#pragma once

#include "driver/abi.h"
#include "interposer/kernels/launch_shape.h"

namespace cotenant {

// Calls `visit` for each node, those of graphs within included, in the order they were made in: that in which
// a capture saw them. False: some could not be read.
using VisitNode = void (*)(void* with, cu::CUgraphNode node, cu::CUgraphNodeType type);
[[nodiscard]] bool visit_nodes(cu::CUgraph graph, VisitNode visit, void* with) noexcept;

// The launch that a kernel node stands for; false: the driver does not say.
[[nodiscard]] bool launch_of(cu::CUgraphNode node, LaunchShape& into) noexcept;

}  // namespace cotenant
