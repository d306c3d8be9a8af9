// What is known of executable graphs that can stop inside, by the driver's handle.
#pragma once

#include "interposer/graphs/parts.h"

namespace cotenant {

struct MadeGraph {
  cu::CUgraphExec exec;
  const Context* context;
  std::uint32_t count;
  const std::uint32_t* cuts;
  GraphParts* parts;  // null: it has gates
};

// Nothing happens where memory is short, but that the parts go. What was known of the handle is void.
void remember_graph(cu::CUgraphExec exec, const std::uint32_t* cuts, std::uint32_t count, GraphParts* parts) noexcept;
// Null: nothing. The rest is good until the application destroys the executable graph.
[[nodiscard]] const MadeGraph* made_graph(cu::CUgraphExec exec) noexcept;
void forget_graph(cu::CUgraphExec exec) noexcept;
// The context is about to end, or has.
void forget_graphs_in(const Context& context) noexcept;
void forget_graphs() noexcept;  // in a forked child

}  // namespace cotenant
