#include "interposer/graphs/copy_node.h"

#include "interposer/lookup/entry.h"

namespace cotenant {

using namespace cu;

namespace {

template <class Parameters, class Get, class Set>
bool copy_by(Get get, Set set, CUgraphNode from, CUgraphNode to) noexcept {
  Parameters parameters{};
  return get && set && get(from, &parameters) == CUDA_SUCCESS && set(to, &parameters) == CUDA_SUCCESS;
}

bool copy_kernel(CUgraphNode from, CUgraphNode to) noexcept {
  const Real& driver = real();
  const bool copied = driver.cuGraphKernelNodeSetParams_v2
                          ? copy_by<CUDA_KERNEL_NODE_PARAMS_v2>(driver.cuGraphKernelNodeGetParams_v2,
                                                                driver.cuGraphKernelNodeSetParams_v2, from, to)
                          : copy_by<CUDA_KERNEL_NODE_PARAMS_v1>(driver.cuGraphKernelNodeGetParams,
                                                                driver.cuGraphKernelNodeSetParams, from, to);
  return copied && driver.cuGraphKernelNodeCopyAttributes &&
         driver.cuGraphKernelNodeCopyAttributes(to, from) == CUDA_SUCCESS;
}

}  // namespace

bool copy_node(CUgraphNode from, CUgraphNode to) noexcept {
  const Real& driver = real();
  CUgraphNodeType type{};
  if (driver.cuGraphNodeGetType(from, &type) != CUDA_SUCCESS) return false;
  switch (type) {
    case CU_GRAPH_NODE_TYPE_EMPTY: return true;
    case CU_GRAPH_NODE_TYPE_KERNEL: return copy_kernel(from, to);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return copy_by<CUDA_MEMCPY3D>(driver.cuGraphMemcpyNodeGetParams, driver.cuGraphMemcpyNodeSetParams, from, to);
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return copy_by<CUDA_MEMSET_NODE_PARAMS>(driver.cuGraphMemsetNodeGetParams, driver.cuGraphMemsetNodeSetParams,
                                              from, to);
    case CU_GRAPH_NODE_TYPE_HOST:
      return copy_by<CUDA_HOST_NODE_PARAMS>(driver.cuGraphHostNodeGetParams, driver.cuGraphHostNodeSetParams, from, to);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
      return copy_by<CUDA_BATCH_MEM_OP_NODE_PARAMS>(driver.cuGraphBatchMemOpNodeGetParams,
                                                    driver.cuGraphBatchMemOpNodeSetParams, from, to);
    default: return false;
  }
}

}  // namespace cotenant
