// Executable graphs that can stop inside, by the driver's handle.
#pragma once

#include "interposer/graphs/parts.h"

namespace cotenant {

struct StoppableGraph {
  cu::CUgraphExec exec;
  const Context* context;
  std::uint32_t count;
  const std::uint32_t* cuts;
  GraphParts* parts;  // null: it has gates
};

// Replaces what was known of the handle. If memory is short, only destroys the parts.
void remember_graph(cu::CUgraphExec exec, const std::uint32_t* cuts, std::uint32_t count, GraphParts* parts) noexcept;
// Null: the graph is not known. A result is valid until the application destroys the executable graph.
[[nodiscard]] const StoppableGraph* stoppable_graph_of(cu::CUgraphExec exec) noexcept;
void forget_graph(cu::CUgraphExec exec) noexcept;
// The context is about to end, or has.
void forget_graphs_in(const Context& context) noexcept;
void forget_graphs() noexcept;  // in a forked child

}  // namespace cotenant
