// Graphs whose nodes allocate memory. How much they hold, only the driver knows: graphs share it, and it stays theirs
// after a launch. So a graph is refused that would not fit alone, and after each launch the driver is asked.
#pragma once

#include "driver/abi.h"

namespace cotenant {

// The device whose memory a graph's nodes allocate, and how much of it at the same time at the most.
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
