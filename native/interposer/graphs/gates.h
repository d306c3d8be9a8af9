// Gates: nodes at which the GPU writes its progress and waits until the client's pause flag is 0. They are in the graph
// only while the driver instantiates it or updates an executable graph from it, and are removed before the application
// gets its graph back. The graph and the handles of its nodes are therefore unchanged, and the application can still
// change nodes of the executable graph through these handles.
#pragma once

#include "interposer/graphs/places.h"

namespace cotenant {

// The gates in one graph during one driver call.
class Gates {
 public:
  Gates(cu::CUgraph graph, const GraphPlaces& places) noexcept;
  ~Gates() { take_out(); }
  Gates(const Gates&) = delete;
  Gates& operator=(const Gates&) = delete;

  // The places that have a gate. The driver may refuse some.
  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
  [[nodiscard]] const std::uint32_t* cuts() const noexcept { return cuts_.at(); }
  [[nodiscard]] bool includes(cu::CUgraphNode node) const noexcept;
  void take_out() noexcept;

 private:
  Room<std::uint32_t> cuts_;
  Room<cu::CUgraphNode> nodes_;
  std::uint32_t count_{0};
  bool stand_{false};
};

}  // namespace cotenant
