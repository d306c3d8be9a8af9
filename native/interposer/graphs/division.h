// A graph divided into several. Each is a clone that contains only the nodes of one range of places.
#pragma once

#include "driver/abi.h"
#include "interposer/base/room.h"

namespace cotenant {

class GraphDivision {
 public:
  // There are `count` ranges; range i is [begins[i], begins[i + 1]). `begins` must outlive this object.
  GraphDivision(const std::uint32_t* begins, std::uint32_t count) noexcept;
  // Destroys the graphs that were not taken.
  ~GraphDivision();
  GraphDivision(const GraphDivision&) = delete;
  GraphDivision& operator=(const GraphDivision&) = delete;

  // `nodes` lists the graph's nodes by place, from begins[0] on. The graph does not change. False: the driver refused.
  [[nodiscard]] bool divide(cu::CUgraph graph, const cu::CUgraphNode* nodes) noexcept;

  // After divide(): the graph of a range, which the caller must destroy, and the node at a place in it.
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
