// A graph divided into graphs, each a clone with the nodes of one stretch of places alone.
#pragma once

#include "driver/abi.h"
#include "interposer/base/room.h"

namespace cotenant {

class GraphDivision {
 public:
  // Stretch i is [begins[i], begins[i + 1]); there are `count`. `begins` stays as long as this.
  GraphDivision(const std::uint32_t* begins, std::uint32_t count) noexcept;
  // What was not taken goes.
  ~GraphDivision();
  GraphDivision(const GraphDivision&) = delete;
  GraphDivision& operator=(const GraphDivision&) = delete;

  // `nodes` are those of the graph by place, from begins[0] on. It stays as it is. False: the driver does not do it.
  [[nodiscard]] bool divide(cu::CUgraph graph, const cu::CUgraphNode* nodes) noexcept;

  // After that: a stretch's graph, which is the caller's to destroy now; and the node at a place in it.
  [[nodiscard]] cu::CUgraph take(std::uint32_t stretch) noexcept;
  [[nodiscard]] cu::CUgraph look_at(std::uint32_t stretch) const noexcept { return graphs_[stretch]; }
  [[nodiscard]] cu::CUgraphNode node(std::uint32_t place) const noexcept { return nodes_[place - begins_[0]]; }

 private:
  [[nodiscard]] bool halve(std::uint32_t first, std::uint32_t end) noexcept;

  const std::uint32_t* begins_;
  std::uint32_t count_;
  Room<cu::CUgraph> graphs_;
  Room<cu::CUgraphNode> nodes_;  // where each is now
  Room<cu::CUgraphNode> twins_;
};

}  // namespace cotenant
