// Keeps the parts consistent when the application updates its executable graph.
#include "interposer/best_effort/hold_word.h"
#include "interposer/graphs/copy_node.h"
#include "interposer/graphs/division.h"
#include "interposer/graphs/parts.h"
#include "interposer/lookup/beside_captures.h"
#include "interposer/lookup/entry.h"

namespace cotenant {

using namespace cu;

namespace {

// After this many updates with at most one launch between two of them, nothing is kept for a later update of the parts.
constexpr std::uint32_t kUpdatesToGiveUp = 4;

}  // namespace

void GraphParts::update(CUgraph graph) noexcept {
  if (count_ == 0) return;
  drop_next();
  behind_ = true;
  updates_in_turn_ = launches_ <= 1 ? updates_in_turn_ + 1 : 0;
  launches_ = 0;
  const Link* link = context_->gpu->link.load(std::memory_order_acquire);
  const BesideCaptures beside;
  if (link && is_best_effort_gated(*link)) follow(graph);
  // A clone takes about as long as an update does. A program that makes one for each launch makes the next one soon.
  else if (updates_in_turn_ <= kUpdatesToGiveUp && real().cuGraphClone(&next_, graph) != CUDA_SUCCESS) next_ = nullptr;
}

bool GraphParts::bring_up_to_date() noexcept {
  if (behind_ && next_) {
    const BesideCaptures beside;
    follow(next_);
    drop_next();
  }
  return !behind_;
}

void GraphParts::drop_next() noexcept {
  if (next_) real().cuGraphDestroy(next_);
  next_ = nullptr;
}

void GraphParts::follow(CUgraph graph) noexcept {
  Room<std::uint32_t> begins(count_ + 1u);
  Room<CUgraphNode> nodes(nodes_);
  bool able = begins.holds(count_ + 1u) && nodes.holds(nodes_);
  for (std::uint32_t i = 0; able && i <= count_; ++i) begins[i] = i < count_ ? part_[i].begin : nodes_;
  if (able) {
    const GraphPlaces places(graph, begins.at() + 1, count_ - 1);
    able = places.count() == count_ - 1 && places.graph().nodes() == nodes_;
    for (std::uint32_t place = 0; able && place < nodes_; ++place)
      nodes[place] = places.graph().node(places.order().node_at(place));
    const bool by_nodes = able && copy_nodes(nodes.at()) && update_each(nullptr);
    changed_ = changed_ || !by_nodes;
    GraphDivision division(begins.at(), count_);
    able = able && (by_nodes || (division.divide(graph, nodes.at()) && update_each(&division)));
  }
  behind_ = false;
  if (!able) give_up("the driver does not update a part of it");
}

// The driver took the update, so this graph has the same topology. Its nodes' parameters can be copied to the parts' graphs,
// which takes a fraction of the time of dividing it.
bool GraphParts::copy_nodes(const CUgraphNode* nodes) noexcept {
  bool all = true;
  for (std::uint32_t place = 0; all && place < nodes_; ++place) all = copy_node(nodes[place], node_[place]);
  return all;
}

// From the parts' own graphs, or from those of a division.
bool GraphParts::update_each(const GraphDivision* division) noexcept {
  bool all = true;
  for (std::uint32_t i = 0; all && i < count_; ++i) {
    CUgraphExecUpdateResultInfo info{};
    CUgraphNode node = nullptr;
    CUgraphExecUpdateResult why{};
    const CUgraph to = division ? division->look_at(i) : part_[i].graph;
    all = (real().cuGraphExecUpdate_v2 ? real().cuGraphExecUpdate_v2(part_[i].exec, to, &info)
                                       : real().cuGraphExecUpdate(part_[i].exec, to, &node, &why)) == CUDA_SUCCESS;
  }
  return all;
}

}  // namespace cotenant
