// The places at which one graph may stop inside, chosen by the expected duration of its nodes.
#pragma once

#include "gate/gate.h"
#include "interposer/graphs/reading.h"

namespace cotenant {

struct Link;

// A stop takes up to 10 us of an H200 (docs/design/decisions/0005): so far apart they cost some 4 %, however many nodes are between.
inline constexpr std::uint32_t kMinBetweenStopsUs = 200;
// As parts they must all fit into the driver's queue, which holds 1,020 entries behind a wait.
inline constexpr std::uint32_t kMaxStops = 500;

class GraphPlaces {
 public:
  // Chooses them by the rules. None where those forbid it; none, counted and said, where the graph can't stop: one that
  // allocates, is launched by a device or changed by it, or has no place to stop (see graphs/cuts.h).
  GraphPlaces(cu::CUgraph graph, std::uint64_t instantiate_flags) noexcept;
  // The same places in another graph of the same topology.
  GraphPlaces(cu::CUgraph graph, const std::uint32_t* cuts, std::uint32_t count) noexcept;

  [[nodiscard]] protocol::GraphGates how() const noexcept { return how_; }
  // 0: there is no place, or the graph cannot be read.
  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
  // Whether it has places, or would have some if kernels with a guessed duration took longer.
  [[nodiscard]] bool may_stop() const noexcept { return count_ > 0 || doubtful_; }
  [[nodiscard]] std::uint32_t cut(std::uint32_t i) const noexcept { return cuts_[i]; }
  [[nodiscard]] const std::uint32_t* cuts() const noexcept { return cuts_.at(); }
  // The expected duration of the node at a place, whether it is a guess, and whether the graph can be cut before the node.
  struct Place {
    std::uint32_t us;
    bool guessed;
    bool free;
  };
  [[nodiscard]] const Place& at(std::uint32_t place) const noexcept { return at_[place]; }
  [[nodiscard]] const GraphReading& graph() const noexcept { return reading_; }
  [[nodiscard]] const OrderedGraph& order() const noexcept { return ordered_; }

 private:
  GraphPlaces(cu::CUgraph graph, const Rules& rules, const Link* link, std::uint64_t instantiate_flags) noexcept;
  void choose(const Link& link, Rules rules) noexcept;
  [[nodiscard]] bool find_free() noexcept;

  protocol::GraphGates how_{protocol::GraphGates::kNone};
  GraphReading reading_;
  OrderedGraph ordered_;
  Room<std::uint32_t> cuts_;
  Room<Place> at_;
  std::uint32_t count_{0};
  bool doubtful_{false};
};

}  // namespace cotenant
