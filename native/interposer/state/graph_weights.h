// How much work an executable graph is: its number of nodes. A segment's work is counted in kernels and graph nodes
// (high/segments.h), and a graph launch alone says nothing of its size.
#pragma once

#include <cstdint>

#include "driver/abi.h"

namespace cotenant {

// A graph was made executable. Asks the driver for the number of nodes, once for each executable graph.
void note_graph_weight(cu::CUgraphExec exec, cu::CUgraph graph) noexcept;

// A graph was made executable, or changed an executable one: it may record events.
void note_graph_events(cu::CUgraph graph) noexcept;

// 0: unknown. Nodes of child graphs are not counted.
[[nodiscard]] std::uint32_t graph_weight(std::uint64_t shape_key) noexcept;

}  // namespace cotenant
