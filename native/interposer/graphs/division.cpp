#include "interposer/graphs/division.h"

#include "interposer/lookup/entry.h"

namespace cotenant {

using namespace cu;

GraphDivision::GraphDivision(const std::uint32_t* begins, std::uint32_t count) noexcept
    : begins_(begins),
      count_(count),
      graphs_(count),
      nodes_(begins[count] - begins[0]),
      twins_(begins[count] - begins[0]) {}

GraphDivision::~GraphDivision() {
  for (std::uint32_t i = 0; graphs_.holds(count_) && i < count_; ++i)
    if (graphs_[i]) real().cuGraphDestroy(graphs_[i]);
}

bool GraphDivision::divide(CUgraph graph, const CUgraphNode* nodes) noexcept {
  const Real& driver = real();
  const std::uint32_t size = begins_[count_] - begins_[0];
  const bool able = driver.cuGraphClone && driver.cuGraphNodeFindInClone && driver.cuGraphDestroyNode;
  if (!able || !graphs_.holds(count_) || !nodes_.holds(size) || !twins_.holds(size)) return false;
  if (driver.cuGraphClone(&graphs_[0], graph) != CUDA_SUCCESS) return false;
  for (std::uint32_t i = 0; i < size; ++i)
    if (driver.cuGraphNodeFindInClone(&nodes_[i], nodes[i], graphs_[0]) != CUDA_SUCCESS) return false;
  return halve(0, count_);
}

// Halves graphs_[first], which holds the stretches from `first` to `end`, again and again. So a node is cloned as
// often as their number can be halved, not once for each.
bool GraphDivision::halve(std::uint32_t first, std::uint32_t end) noexcept {
  if (end - first == 1) return true;
  const std::uint32_t middle = first + (end - first) / 2;
  if (real().cuGraphClone(&graphs_[middle], graphs_[first]) != CUDA_SUCCESS) return false;
  const std::uint32_t begin = begins_[first] - begins_[0];
  const std::uint32_t parting = begins_[middle] - begins_[0];
  const std::uint32_t last = begins_[end] - begins_[0];
  bool all = true;
  for (std::uint32_t i = begin; all && i < last; ++i)
    all = real().cuGraphNodeFindInClone(&twins_[i], nodes_[i], graphs_[middle]) == CUDA_SUCCESS;
  for (std::uint32_t i = begin; all && i < last; ++i) {
    all = real().cuGraphDestroyNode(i < parting ? twins_[i] : nodes_[i]) == CUDA_SUCCESS;
    if (i >= parting) nodes_[i] = twins_[i];
  }
  return all && halve(first, middle) && halve(middle, end);
}

CUgraph GraphDivision::take(std::uint32_t stretch) noexcept {
  const CUgraph taken = graphs_[stretch];
  graphs_[stretch] = nullptr;
  return taken;
}

}  // namespace cotenant
