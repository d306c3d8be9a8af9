#include "interposer/graphs/gates.h"

#include <algorithm>

#include "interposer/best_effort/border.h"
#include "interposer/lifetime/attachment.h"
#include "interposer/lookup/entry.h"

namespace cotenant {

using namespace cu;

Gates::Gates(CUgraph graph, const GraphPlaces& places) noexcept : cuts_(places.count()), nodes_(places.count()) {
  Context* context = places.count() > 0 ? current_context() : nullptr;
  const Link* link = context ? context->gpu->link.load(std::memory_order_acquire) : nullptr;
  const bool able = real().cuGraphAddBatchMemOpNode && real().cuGraphAddDependencies && real().cuGraphDestroyNode;
  const GraphReading& reading = places.graph();
  const OrderedGraph& ordered = places.order();
  Room<CUgraphNode> ends(reading.nodes());
  const bool room = cuts_.holds(places.count()) && nodes_.holds(places.count()) && ends.holds(reading.nodes());
  if (!link || !able || !room || !map_pages(*context, *link)) return;
  stand_ = true;
  for (std::uint32_t i = 0; i < places.count(); ++i) {
    const std::uint32_t cut = places.cut(i);
    std::size_t count = 0;
    ordered.each_end(cut, [&](std::uint32_t node) { ends[count++] = reading.node(node); });
    CUgraphNode gate = nullptr;
    CUstreamBatchMemOpParams words[] = {write_word(gate_word(*context), cut), wait_for_release(*context)};
    const CUDA_BATCH_MEM_OP_NODE_PARAMS params{context->handle.load(std::memory_order_relaxed), 2, words, 0};
    if (real().cuGraphAddBatchMemOpNode(&gate, graph, ends.at(), count, &params) != CUDA_SUCCESS) break;
    bool waited_for = true;
    ordered.each_beginning(cut, [&](std::uint32_t node) {
      const CUgraphNode to = reading.node(node);
      waited_for = real().cuGraphAddDependencies(graph, &gate, &to, 1) == CUDA_SUCCESS && waited_for;
    });
    if (waited_for) {
      nodes_[count_] = gate;
      cuts_[count_++] = cut;
    } else {  // nothing would wait for it
      real().cuGraphDestroyNode(gate);
    }
  }
}

bool Gates::includes(CUgraphNode node) const noexcept {
  return count_ > 0 && std::find(&nodes_[0], &nodes_[0] + count_, node) != &nodes_[0] + count_;
}

void Gates::take_out() noexcept {
  for (std::uint32_t i = 0; stand_ && i < count_; ++i) real().cuGraphDestroyNode(nodes_[i]);
  stand_ = false;
}

}  // namespace cotenant
