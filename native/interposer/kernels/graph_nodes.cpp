#include "interposer/kernels/graph_nodes.h"

#include <cstdlib>

#include "interposer/lookup/entry.h"

namespace cotenant {
namespace {

constexpr int kDeepest = 8;  // levels of child graphs

bool visit_within(cu::CUgraph graph, VisitNode visit, void* with, int depth) noexcept {
  std::size_t count = 0;
  if (depth > kDeepest || real().cuGraphGetNodes(graph, nullptr, &count) != cu::CUDA_SUCCESS) return false;
  if (count == 0) return true;
  auto* nodes = static_cast<cu::CUgraphNode*>(calloc(count, sizeof(cu::CUgraphNode)));
  bool all = nodes && real().cuGraphGetNodes(graph, nodes, &count) == cu::CUDA_SUCCESS;
  for (std::size_t i = 0; all && i < count; ++i) {
    cu::CUgraphNodeType type{};
    cu::CUgraph inner = nullptr;
    all = real().cuGraphNodeGetType(nodes[i], &type) == cu::CUDA_SUCCESS;
    if (all) visit(with, nodes[i], type);
    if (all && type == cu::CU_GRAPH_NODE_TYPE_GRAPH &&
        real().cuGraphChildGraphNodeGetGraph(nodes[i], &inner) == cu::CUDA_SUCCESS)
      all = visit_within(inner, visit, with, depth + 1);
  }
  free(nodes);
  return all;
}

}  // namespace

bool visit_nodes(cu::CUgraph graph, VisitNode visit, void* with) noexcept {
  return visit_within(graph, visit, with, 0);
}

bool launch_of(cu::CUgraphNode node, LaunchShape& into) noexcept {
  if (real().cuGraphKernelNodeGetParams_v2) {
    cu::CUDA_KERNEL_NODE_PARAMS_v2 p{};
    if (real().cuGraphKernelNodeGetParams_v2(node, &p) != cu::CUDA_SUCCESS) return false;
    into = {p.func ? p.func : reinterpret_cast<cu::CUfunction>(p.kern),
            {p.gridDimX, p.gridDimY, p.gridDimZ, p.blockDimX, p.blockDimY, p.blockDimZ, p.sharedMemBytes}};
    return true;
  }
  cu::CUDA_KERNEL_NODE_PARAMS_v1 p{};
  if (real().cuGraphKernelNodeGetParams(node, &p) != cu::CUDA_SUCCESS) return false;
  into = {p.func, {p.gridDimX, p.gridDimY, p.gridDimZ, p.blockDimX, p.blockDimY, p.blockDimZ, p.sharedMemBytes}};
  return true;
}

}  // namespace cotenant
