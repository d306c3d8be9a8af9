// Adding nodes of each kind, reading and changing their parameters.
#include "softgpu/driver/capture.h"
#include "softgpu/driver/copy.h"
#include "softgpu/driver/nodes.h"

namespace cotenant::cu {

using namespace soft;
using soft::widen;

namespace {

CUresult add(Call& call, CUgraphNode* out, CUgraph hGraph, const CUgraphNode* dependencies, size_t count,
             CUgraphNodeType type, Work work, Graph* child = nullptr) {
  Graph* graph = known_graph(call, hGraph);
  if (graph == nullptr) return call.error;
  if (out == nullptr || (dependencies == nullptr && count > 0)) return CUDA_ERROR_INVALID_VALUE;
  std::vector<Node*> after;
  for (std::size_t i = 0; i < count; ++i) {
    Node* node = known_node(call, dependencies[i]);
    if (node == nullptr || node->graph != graph) return CUDA_ERROR_INVALID_VALUE;
    after.push_back(node);
  }
  Node* node = add_node(call.d, *graph, type, std::move(work), after);
  node->child = child;
  *out = reinterpret_cast<CUgraphNode>(node);
  return CUDA_SUCCESS;
}

template <class Params>
CUresult add(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies, size_t count, CUgraphNodeType type,
             const Params* params) {
  Call call(Call::Needs::init);
  if (call.error != CUDA_SUCCESS) return call.error;
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Work work;
  const CUresult error = work_of(call, *params, work);
  return error != CUDA_SUCCESS ? error : add(call, out, graph, dependencies, count, type, std::move(work));
}

template <class Params>
CUresult change(CUgraphNode hNode, CUgraphNodeType type, const Params* params) {
  Call call(Call::Needs::init);
  Node* node = known_node(call, hNode);
  if (node == nullptr) return call.error;
  if (params == nullptr || node->type != type) return CUDA_ERROR_INVALID_VALUE;
  return work_of(call, *params, node->work);
}

// The work of a node, which must be of the kind that was asked for; else null with call.error set.
template <class W>
const W* read(Call& call, CUgraphNode hNode, const void* out) {
  const Node* node = known_node(call, hNode);
  if (node == nullptr) return nullptr;
  const W* work = as<W>(node->work);
  if (work == nullptr || out == nullptr) call.error = CUDA_ERROR_INVALID_VALUE;
  return call.error == CUDA_SUCCESS ? work : nullptr;
}

}  // namespace

CUresult cuGraphAddKernelNode_v2(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                                 size_t numDependencies, const CUDA_KERNEL_NODE_PARAMS_v2* nodeParams) {
  return add(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_KERNEL, nodeParams);
}
CUresult cuGraphAddKernelNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                              size_t numDependencies, const CUDA_KERNEL_NODE_PARAMS_v1* nodeParams) {
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUDA_KERNEL_NODE_PARAMS_v2 wide = widen(*nodeParams);
  return cuGraphAddKernelNode_v2(phGraphNode, hGraph, dependencies, numDependencies, &wide);
}
CUresult cuGraphAddMemcpyNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                              size_t numDependencies, const CUDA_MEMCPY3D* copyParams, CUcontext) {
  return add(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_MEMCPY, copyParams);
}
CUresult cuGraphAddMemsetNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                              size_t numDependencies, const CUDA_MEMSET_NODE_PARAMS* memsetParams, CUcontext) {
  return add(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_MEMSET, memsetParams);
}
CUresult cuGraphAddHostNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                            size_t numDependencies, const CUDA_HOST_NODE_PARAMS* nodeParams) {
  return add(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_HOST, nodeParams);
}
CUresult cuGraphAddBatchMemOpNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                                  size_t numDependencies, const CUDA_BATCH_MEM_OP_NODE_PARAMS* nodeParams) {
  return add(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, nodeParams);
}
CUresult cuGraphAddEmptyNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                             size_t numDependencies) {
  Call call(Call::Needs::init);
  return add(call, phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_EMPTY, Work{});
}
CUresult cuGraphAddChildGraphNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                                  size_t numDependencies, CUgraph childGraph) {
  Call call(Call::Needs::init);
  const Graph* child = known_graph(call, childGraph);
  if (child == nullptr) return call.error;
  Graph* own = clone_graph(call.d, *child);
  const CUresult error =
      add(call, phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_GRAPH, Work{}, own);
  if (error != CUDA_SUCCESS) destroy_graph(call.d, own);
  return error;
}
CUresult cuGraphAddEventRecordNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                                   size_t numDependencies, CUevent event) {
  Call call(Call::Needs::init);
  return add(call, phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_EVENT_RECORD,
             RecordWork{nullptr, event});
}
CUresult cuGraphAddEventWaitNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                                 size_t numDependencies, CUevent event) {
  Call call(Call::Needs::init);
  return add(call, phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_WAIT_EVENT, AwaitWork{event});
}

CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode hNode, CUgraph* phGraph) {
  Call call(Call::Needs::init);
  const Node* node = known_node(call, hNode);
  if (node == nullptr) return call.error;
  if (phGraph == nullptr || node->child == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *phGraph = reinterpret_cast<CUgraph>(node->child);
  return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS_v2* nodeParams) {
  Call call(Call::Needs::init);
  const auto* kernel = read<KernelWork>(call, hNode, nodeParams);
  if (kernel == nullptr) return call.error;
  const LaunchSpec& spec = *kernel->spec;
  *nodeParams = {spec.function, spec.grid[0],      spec.grid[1],
                 spec.grid[2],  spec.block[0],     spec.block[1],
                 spec.block[2], spec.shared_bytes, const_cast<void**>(spec.pointers.data()),
                 nullptr,       nullptr,           nullptr};
  return CUDA_SUCCESS;
}
CUresult cuGraphKernelNodeGetParams(CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS_v1* nodeParams) {
  CUDA_KERNEL_NODE_PARAMS_v2 p{};
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult error = cuGraphKernelNodeGetParams_v2(hNode, &p);
  *nodeParams = {p.func,      p.gridDimX,  p.gridDimY,       p.gridDimZ,     p.blockDimX,
                 p.blockDimY, p.blockDimZ, p.sharedMemBytes, p.kernelParams, p.extra};
  return error;
}
CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS_v2* nodeParams) {
  return change(hNode, CU_GRAPH_NODE_TYPE_KERNEL, nodeParams);
}
CUresult cuGraphKernelNodeSetParams(CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS_v1* nodeParams) {
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUDA_KERNEL_NODE_PARAMS_v2 wide = widen(*nodeParams);
  return change(hNode, CU_GRAPH_NODE_TYPE_KERNEL, &wide);
}

CUresult cuGraphKernelNodeGetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr, CUkernelNodeAttrValue* value_out) {
  Call call(Call::Needs::init);
  const auto* kernel = read<KernelWork>(call, hNode, value_out);
  if (kernel == nullptr) return call.error;
  *value_out = {};
  if (attr == CU_LAUNCH_ATTRIBUTE_PRIORITY) value_out->priority = kernel->priority;
  return CUDA_SUCCESS;
}
CUresult cuGraphKernelNodeSetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr, const CUkernelNodeAttrValue* value) {
  Call call(Call::Needs::init);
  if (read<KernelWork>(call, hNode, value) == nullptr) return call.error;
  auto& kernel = *std::get_if<KernelWork>(&object<Node>(hNode)->work);
  if (attr == CU_LAUNCH_ATTRIBUTE_PRIORITY) kernel.priority = value->priority, kernel.has_priority = true;
  return CUDA_SUCCESS;
}
CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode dst, CUgraphNode src) {
  CUkernelNodeAttrValue value{};
  const CUresult error = cuGraphKernelNodeGetAttribute(src, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value);
  return error != CUDA_SUCCESS ? error : cuGraphKernelNodeSetAttribute(dst, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value);
}

CUresult cuGraphMemcpyNodeGetParams(CUgraphNode hNode, CUDA_MEMCPY3D* nodeParams) {
  Call call(Call::Needs::init);
  const auto* copy = read<CopyWork>(call, hNode, nodeParams);
  if (copy != nullptr) *nodeParams = struct_of(*copy);
  return call.error;
}
CUresult cuGraphMemcpyNodeSetParams(CUgraphNode hNode, const CUDA_MEMCPY3D* nodeParams) {
  return change(hNode, CU_GRAPH_NODE_TYPE_MEMCPY, nodeParams);
}

CUresult cuGraphMemsetNodeGetParams(CUgraphNode hNode, CUDA_MEMSET_NODE_PARAMS* nodeParams) {
  Call call(Call::Needs::init);
  const auto* fill = read<FillWork>(call, hNode, nodeParams);
  if (fill != nullptr)
    *nodeParams = {fill->to.base, fill->to.pitch, fill->value, fill->element, fill->width, fill->height};
  return call.error;
}
CUresult cuGraphMemsetNodeSetParams(CUgraphNode hNode, const CUDA_MEMSET_NODE_PARAMS* nodeParams) {
  return change(hNode, CU_GRAPH_NODE_TYPE_MEMSET, nodeParams);
}

CUresult cuGraphHostNodeGetParams(CUgraphNode hNode, CUDA_HOST_NODE_PARAMS* nodeParams) {
  Call call(Call::Needs::init);
  const auto* host = read<HostWork>(call, hNode, nodeParams);
  if (host != nullptr) *nodeParams = {host->function, host->data};
  return call.error;
}
CUresult cuGraphHostNodeSetParams(CUgraphNode hNode, const CUDA_HOST_NODE_PARAMS* nodeParams) {
  return change(hNode, CU_GRAPH_NODE_TYPE_HOST, nodeParams);
}

CUresult cuGraphBatchMemOpNodeGetParams(CUgraphNode hNode, CUDA_BATCH_MEM_OP_NODE_PARAMS* nodeParams_out) {
  Call call(Call::Needs::init);
  const auto* words = read<WordsWork>(call, hNode, nodeParams_out);
  if (words != nullptr)
    *nodeParams_out = {nullptr, unsigned(words->words.size()),
                       const_cast<CUstreamBatchMemOpParams*>(words->words.data()), 0};
  return call.error;
}
CUresult cuGraphBatchMemOpNodeSetParams(CUgraphNode hNode, const CUDA_BATCH_MEM_OP_NODE_PARAMS* nodeParams) {
  return change(hNode, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, nodeParams);
}

CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode hNode, CUevent* event_out) {
  Call call(Call::Needs::init);
  const auto* record = read<RecordWork>(call, hNode, event_out);
  if (record != nullptr) *event_out = record->event;
  return call.error;
}
CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode hNode, CUevent* event_out) {
  Call call(Call::Needs::init);
  const auto* await = read<AwaitWork>(call, hNode, event_out);
  if (await != nullptr) *event_out = await->event;
  return call.error;
}

}  // namespace cotenant::cu
