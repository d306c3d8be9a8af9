// Graphs whose nodes allocate memory. Only the driver knows how much they hold, because graphs share memory and keep it
// after a launch. A graph that would not fit by itself is refused, and the driver is asked after each launch.
#pragma once

#include "driver/abi.h"

namespace cotenant {

// The device on which a graph's nodes allocate memory, and the most bytes that they hold at the same time.
struct GraphMemory {
  std::uint64_t bytes;
  cu::CUdevice device;
};
[[nodiscard]] GraphMemory memory_of(cu::CUgraph graph) noexcept;

void graph_memory_made(cu::CUgraphExec exec, const GraphMemory& memory) noexcept;
void graph_memory_launched(cu::CUgraphExec exec) noexcept;
void graph_memory_ended(cu::CUgraphExec exec) noexcept;
void look_at_graph_memory(cu::CUdevice device) noexcept;
void forget_graph_memory() noexcept;  // in a forked child

}  // namespace cotenant
