#include "interposer/graphs/reading.h"

#include <algorithm>

#include "interposer/lookup/entry.h"

namespace cotenant {
namespace {

using namespace cu;

// Larger ones would keep the application waiting while we read them.
constexpr std::size_t kMaxNodes = 200'000;

}  // namespace

GraphReading::GraphReading(CUgraph graph) noexcept
    : nodes_(count_nodes(graph)), by_handle_(nodes_count_), edges_(count_edges(graph)) {
  whole_ = nodes_count_ > 1 && nodes_.holds(nodes_count_) && by_handle_.holds(nodes_count_) &&
           real().cuGraphGetNodes(graph, nodes_.at(), &nodes_count_) == CUDA_SUCCESS && read_edges(graph);
}

std::size_t GraphReading::count_nodes(CUgraph graph) noexcept {
  const CUresult result = graph ? real().cuGraphGetNodes(graph, nullptr, &nodes_count_) : CUDA_ERROR_INVALID_VALUE;
  if (result != CUDA_SUCCESS || nodes_count_ > kMaxNodes) nodes_count_ = 0;
  return nodes_count_;
}

std::size_t GraphReading::count_edges(CUgraph graph) noexcept {
  if (nodes_count_ == 0) return 0;
  const CUresult result = real().cuGraphGetEdges_v2
                              ? real().cuGraphGetEdges_v2(graph, nullptr, nullptr, nullptr, &edges_count_)
                              : real().cuGraphGetEdges(graph, nullptr, nullptr, &edges_count_);
  if (result != CUDA_SUCCESS || edges_count_ > 8 * kMaxNodes) edges_count_ = 0;
  return edges_count_;
}

bool GraphReading::read_edges(CUgraph graph) noexcept {
  Room<CUgraphNode> from(edges_count_);
  Room<CUgraphNode> to(edges_count_);
  Room<CUgraphEdgeData> data(edges_count_);
  const bool room = from.holds(edges_count_) && to.holds(edges_count_) && data.holds(edges_count_);
  if (edges_count_ == 0 || !edges_.holds(edges_count_) || !room) return false;
  const CUresult result = real().cuGraphGetEdges_v2
                              ? real().cuGraphGetEdges_v2(graph, from.at(), to.at(), data.at(), &edges_count_)
                              : real().cuGraphGetEdges(graph, from.at(), to.at(), &edges_count_);
  if (result != CUDA_SUCCESS) return false;
  for (std::uint32_t i = 0; i < nodes_count_; ++i) by_handle_[i] = {nodes_[i], i};
  std::sort(by_handle_.at(), by_handle_.at() + nodes_count_,
            [](const Named& a, const Named& b) { return a.handle < b.handle; });
  bool all = true;
  for (std::size_t i = 0; i < edges_count_; ++i) {
    edges_[i].overlaps = data[i].type != CU_GRAPH_DEPENDENCY_TYPE_DEFAULT;
    all = find(from[i], edges_[i].from) && find(to[i], edges_[i].to) && all;
  }
  return all;
}

bool GraphReading::find(CUgraphNode handle, std::uint32_t& index) noexcept {
  const Named* end = by_handle_.at() + nodes_count_;
  const auto before = [](const Named& a, CUgraphNode b) { return a.handle < b; };
  const Named* found = std::lower_bound(by_handle_.at(), by_handle_.at() + nodes_count_, handle, before);
  if (found == end || found->handle != handle) return false;
  index = found->index;
  return true;
}

}  // namespace cotenant
