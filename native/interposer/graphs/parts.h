// A graph in parts: an executable graph for the nodes between each two places to stop. The parts are launched one after
// the other into the application's stream, with the preemption points between them that any other launches get.
//
// Each part is made from a clone of the application's graph without the nodes of the other parts. The application's own
// executable graph stays whole. The driver answers queries about it, and it is what runs while there is no request to
// stop for. A change of one of its nodes is also made in the part that has the node. If that fails, the graph runs
// whole from then on. When the application updates it from another graph, the parts are updated at once or, while there
// is no request to stop for, before their next launch.
#pragma once

#include "interposer/best_effort/exclusive_stream.h"
#include "interposer/graphs/places.h"
#include "interposer/state/gpu.h"

namespace cotenant {

class GraphDivision;

class GraphParts {
 public:
  // Null: the graph can't be divided. The parts are made in the current context.
  [[nodiscard]] static GraphParts* make(const GraphPlaces& places, cu::CUgraph graph,
                                        std::uint64_t instantiate_flags) noexcept;
  // Destroys the parts, in the driver, too, unless it has destroyed them with their context.
  static void end(GraphParts* parts, bool context_ended) noexcept;

  // The number of parts; 0: the graph runs whole.
  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }

  // The application's executable graph was updated from this graph, which may be destroyed at any time. So a later
  // update of the parts uses a clone.
  void update(cu::CUgraph graph) noexcept;
  // Makes a change to the part that has this node. `call(exec, node)` is the driver call.
  template <class Call>
  void change(cu::CUgraphNode node, Call call) noexcept {
    if (!bring_up_to_date()) return;  // the next update says what the node does
    const Twin* twin = twin_of(node);
    if (count_ > 0 && (!twin || call(part_of(twin->place).exec, node_[twin->place]) != cu::CUDA_SUCCESS))
      give_up("the driver does not change a part of it");
    changed_ = true;
  }
  // Makes a call for each part; its failure is ignored.
  template <class Call>
  void each(Call call) const noexcept {
    for (std::uint32_t i = 0; i < count_; ++i) static_cast<void>(call(part_[i].exec));
  }

 private:
  friend class PartsLaunch;
  struct Part {
    cu::CUgraph graph;
    cu::CUgraphExec exec;
    std::uint32_t begin;  // its first place
    Estimate* estimate;
    bool settled;  // it can't be divided any further
  };
  struct Twin {
    cu::CUgraphNode of;  // in the application's graph
    std::uint32_t place;
  };

  GraphParts(const GraphPlaces& places, Context& context, std::uint64_t flags) noexcept;
  [[nodiscard]] bool is_allocated() const noexcept;
  [[nodiscard]] bool make_parts(const GraphPlaces& places, cu::CUgraph graph) noexcept;
  [[nodiscard]] cu::CUgraphExec instantiate(cu::CUgraph graph) const noexcept;
  [[nodiscard]] std::uint32_t end_of(std::uint32_t part) const noexcept;
  [[nodiscard]] const Part& part_of(std::uint32_t place) const noexcept;
  [[nodiscard]] const Twin* twin_of(cu::CUgraphNode node) const noexcept;
  void set_expected(std::uint32_t part) noexcept;
  // Divides parts that turned out to take much longer than `target_us`: their kernels never ran by themselves.
  void divide_long(std::uint32_t target_us) noexcept;
  [[nodiscard]] bool divide(std::uint32_t part, std::uint32_t us, std::uint32_t target_us) noexcept;
  [[nodiscard]] bool replace(std::uint32_t part, const std::uint32_t* begins, std::uint32_t pieces) noexcept;
  void scale_to_measured(std::uint32_t part, std::uint32_t us) noexcept;
  void give_up(const char* why) noexcept;
  // Applies the last update to the parts if it is known. False: the parts are out of date.
  [[nodiscard]] bool bring_up_to_date() noexcept;
  void follow(cu::CUgraph graph) noexcept;
  [[nodiscard]] bool copy_nodes(const cu::CUgraphNode* nodes) noexcept;
  [[nodiscard]] bool update_each(const GraphDivision* division) noexcept;
  void drop_next() noexcept;
  void destroy_parts() noexcept;

  Context* context_;
  std::uint64_t flags_;
  std::uint32_t nodes_;
  std::uint32_t most_;  // parts
  std::uint32_t count_{0};
  Room<Part> part_;
  Room<Estimate> estimates_;
  Room<GraphPlaces::Place> places_;
  Room<cu::CUgraphNode> node_;  // by place, in its part's graph
  Room<Twin> twins_;  // in the order of `of`
  bool changed_{false};  // the parts' graphs differ from their executable graphs
  bool behind_{false};  // the last update has not been applied to the parts
  cu::CUgraph next_{nullptr};  // the graph of that update; null: it was not kept
  std::uint32_t updates_in_turn_{0};  // updates in a row with at most one launch between two of them
  std::uint32_t launches_{0};  // since the last update
  // Launches of one executable graph do not overlap, whatever their streams.
  cu::CUevent done_{nullptr};
  const Stream* last_{nullptr};  // where it was launched last
};

}  // namespace cotenant
