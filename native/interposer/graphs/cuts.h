// Where a graph may stop inside. Pure: no driver calls.
//
// A cut divides the nodes of a topological order into those before it and those after it. Only cuts that add no new
// dependency are used: every node that begins the part after a cut already depends on every node that ends the part
// before it. A captured stream is a chain, in which every position is such a cut. Parallel branches have such cuts where
// they fork and where they join.
#pragma once

#include <cstdint>

#include "gate/gate.h"
#include "interposer/base/room.h"

namespace cotenant {

struct GraphEdge {
  std::uint32_t from;
  std::uint32_t to;
  bool overlaps;  // programmatic launch: the two nodes overlap on purpose, so no cut may separate them
};

// The edges, grouped by the node that they leave (kOut) or enter (kIn).
class Adjacency {
 public:
  enum class Side { kOut, kIn };
  Adjacency(std::uint32_t nodes, const GraphEdge* edge, std::uint32_t edges, Side side) noexcept;

  [[nodiscard]] bool whole() const noexcept { return whole_; }
  [[nodiscard]] std::uint32_t degree(std::uint32_t node) const noexcept { return begin_[node + 1] - begin_[node]; }

  template <class Each>
  void each(std::uint32_t node, Each&& look) const noexcept {
    for (std::uint32_t i = begin_[node]; i < begin_[node + 1]; ++i) look(edge_[index_[i]]);
  }

 private:
  const GraphEdge* edge_;
  Room<std::uint32_t> begin_;
  Room<std::uint32_t> index_;  // those of node n are index[begin[n] .. begin[n + 1])
  bool whole_{false};
};

// Nodes are numbers below `nodes`. Edges are distinct; their array must outlive this object.
class OrderedGraph {
 public:
  OrderedGraph(std::uint32_t nodes, const GraphEdge* edge, std::uint32_t edges) noexcept;

  // False: there is a cycle, or memory is short. No other function may be called then.
  [[nodiscard]] bool whole() const noexcept { return whole_; }

  // Chooses cuts so that a chunk between two of them is as full as the rules allow, or as the next cut does, and takes
  // `least_us` at least.
  // `items` says what each node is expected to take. A cut is the number of nodes before it, and means the same
  // in every graph whose nodes and edges come in the same order. `cuts` has room for all nodes; how many were chosen.
  [[nodiscard]] std::uint32_t choose(const Item* items, const Rules& rules, std::uint32_t least_us,
                                     std::uint32_t* cuts) const noexcept;

  // Which places could be cut, by place; false: no memory.
  [[nodiscard]] bool find_free(bool* into) const noexcept;

  [[nodiscard]] std::uint32_t node_at(std::uint32_t place) const noexcept { return order_[place]; }

  // Calls `each` for the nodes that end the part before a chosen cut, and for those that begin the part after it.
  template <class Each>
  void each_end(std::uint32_t cut, Each&& take) const noexcept {
    in_.each(order_[cut], [&](const GraphEdge& e) {
      if (ends_before(e.from, cut)) take(e.from);
    });
  }
  template <class Each>
  void each_beginning(std::uint32_t cut, Each&& take) const noexcept {
    out_.each(order_[cut - 1], [&](const GraphEdge& e) {
      if (begins_after(e.to, cut)) take(e.to);
    });
  }

 private:
  [[nodiscard]] bool put_in_order(const GraphEdge* edge, std::uint32_t edges) noexcept;
  [[nodiscard]] bool ends_before(std::uint32_t node, std::uint32_t cut) const noexcept;
  [[nodiscard]] bool begins_after(std::uint32_t node, std::uint32_t cut) const noexcept;

  std::uint32_t nodes_;
  Adjacency out_;
  Adjacency in_;
  Room<std::uint32_t> order_;
  Room<std::uint32_t> place_;  // of each node in the order
  bool whole_{false};
};

}  // namespace cotenant
