// The nodes and edges of a graph, by number. Nodes are numbered in the order in which the driver lists them.
#pragma once

#include "driver/abi.h"
#include "interposer/base/room.h"
#include "interposer/graphs/cuts.h"

namespace cotenant {

class GraphReading {
 public:
  // A null graph has no nodes.
  explicit GraphReading(cu::CUgraph graph) noexcept;

  // False if there are only one or two nodes, or if the nodes are not connected.
  [[nodiscard]] bool whole() const noexcept { return whole_; }
  [[nodiscard]] std::uint32_t nodes() const noexcept { return whole_ ? static_cast<std::uint32_t>(nodes_count_) : 0; }
  [[nodiscard]] std::uint32_t edges() const noexcept { return whole_ ? static_cast<std::uint32_t>(edges_count_) : 0; }
  [[nodiscard]] cu::CUgraphNode node(std::uint32_t i) const noexcept { return nodes_[i]; }
  [[nodiscard]] const GraphEdge* edge() const noexcept { return edges_.at(); }

 private:
  struct Named {
    cu::CUgraphNode handle;
    std::uint32_t index;
  };

  [[nodiscard]] std::size_t count_nodes(cu::CUgraph graph) noexcept;
  [[nodiscard]] std::size_t count_edges(cu::CUgraph graph) noexcept;
  [[nodiscard]] bool read_edges(cu::CUgraph graph) noexcept;
  [[nodiscard]] bool find(cu::CUgraphNode handle, std::uint32_t& index) noexcept;

  std::size_t nodes_count_{0};
  std::size_t edges_count_{0};
  Room<cu::CUgraphNode> nodes_;
  Room<Named> by_handle_;
  Room<GraphEdge> edges_;
  bool whole_{false};
};

}  // namespace cotenant
