// Gates: nodes in a graph at which the GPU says that it has come so far and waits until the client's hold word is 0.
// They stand in it only while the driver reads it, to make it executable or to bring an executable one up to date, and
// are taken out before the application gets its graph back. So the graph and the handles of its nodes are as they were,
// and what it changes in the executable graph by them is honoured.
#pragma once

#include "interposer/graphs/places.h"

namespace cotenant {

// The gates in one graph during one call of the driver.
class Gates {
 public:
  Gates(cu::CUgraph graph, const GraphPlaces& places) noexcept;
  ~Gates() { take_out(); }
  Gates(const Gates&) = delete;
  Gates& operator=(const Gates&) = delete;

  // At which of the places they stand: the driver may refuse some.
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
