// Nodes that allocate and free memory. Here the memory exists from the node's creation until its graph is destroyed.
// The driver gives it pages at the first launch and lets graphs share them, so the attributes say less here.
#include "softgpu/driver/nodes.h"

namespace cotenant::cu {

using namespace soft;

namespace {

bool check_device(Call& call, CUdevice device) {
  if (call.error == CUDA_SUCCESS && !call.has_device(device)) call.error = CUDA_ERROR_INVALID_DEVICE;
  return call.error == CUDA_SUCCESS;
}

CUresult add(Call& call, CUgraphNode* out, CUgraph hGraph, const CUgraphNode* dependencies, size_t count,
             CUgraphNodeType type, CUdeviceptr pointer) {
  Graph* graph = known_graph(call, hGraph);
  if (graph == nullptr) return call.error;
  if (out == nullptr || (dependencies == nullptr && count > 0)) return CUDA_ERROR_INVALID_VALUE;
  std::vector<Node*> after;
  for (size_t i = 0; i < count; ++i) {
    Node* node = known_node(call, dependencies[i]);
    if (node == nullptr || node->graph != graph) return CUDA_ERROR_INVALID_VALUE;
    after.push_back(node);
  }
  Node* node = add_node(call.d, *graph, type, Work{}, after);
  node->memory = pointer;
  *out = reinterpret_cast<CUgraphNode>(node);
  return CUDA_SUCCESS;
}

Node* memory_node(Call& call, CUgraphNode handle, CUgraphNodeType type, const void* out) {
  Node* node = known_node(call, handle);
  if (node != nullptr && (node->type != type || out == nullptr)) call.error = CUDA_ERROR_INVALID_VALUE;
  return call.error == CUDA_SUCCESS ? node : nullptr;
}

}  // namespace

CUresult cuGraphAddMemAllocNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                                size_t numDependencies, CUDA_MEM_ALLOC_NODE_PARAMS* nodeParams) {
  Call call(Call::Needs::init);
  Graph* graph = known_graph(call, hGraph);
  if (graph == nullptr) return call.error;
  if (nodeParams == nullptr || nodeParams->poolProps.location.type != CU_MEM_LOCATION_TYPE_DEVICE)
    return CUDA_ERROR_INVALID_VALUE;
  const CUdevice device = nodeParams->poolProps.location.id;
  if (!check_device(call, device)) return call.error;
  const CUresult error =
      call.d.memory.allocate(Allocation::Kind::device, nodeParams->bytesize, unsigned(device), nullptr,
                             call.d.memory.default_pool(unsigned(device)), &nodeParams->dptr);
  if (error != CUDA_SUCCESS) return error;
  graph->allocations.push_back(nodeParams->dptr);
  return add(call, phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_MEM_ALLOC, nodeParams->dptr);
}

CUresult cuGraphAddMemFreeNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                               size_t numDependencies, CUdeviceptr dptr) {
  Call call(Call::Needs::init);
  return add(call, phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_MEM_FREE, dptr);
}

CUresult cuGraphMemAllocNodeGetParams(CUgraphNode hNode, CUDA_MEM_ALLOC_NODE_PARAMS* params_out) {
  Call call(Call::Needs::init);
  const Node* node = memory_node(call, hNode, CU_GRAPH_NODE_TYPE_MEM_ALLOC, params_out);
  if (node == nullptr) return call.error;
  const Allocation* range = call.d.memory.find(node->memory);
  *params_out = {};
  params_out->poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  params_out->poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, range == nullptr ? 0 : int(range->device)};
  params_out->bytesize = range == nullptr ? 0 : range->size;
  params_out->dptr = node->memory;
  return CUDA_SUCCESS;
}

CUresult cuGraphMemFreeNodeGetParams(CUgraphNode hNode, CUdeviceptr* dptr_out) {
  Call call(Call::Needs::init);
  const Node* node = memory_node(call, hNode, CU_GRAPH_NODE_TYPE_MEM_FREE, dptr_out);
  if (node != nullptr) *dptr_out = node->memory;
  return call.error;
}

CUresult cuDeviceGraphMemTrim(CUdevice device) {
  Call call(Call::Needs::init);
  check_device(call, device);
  return call.error;
}

CUresult cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attr, void* value) {
  Call call(Call::Needs::init);
  if (!check_device(call, device)) return call.error;
  if (value == nullptr || attr > CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH) return CUDA_ERROR_INVALID_VALUE;
  std::uint64_t bytes = 0;
  for (const auto& [graph, owned] : call.d.graphs)
    for (const CUdeviceptr pointer : owned->allocations)
      if (const Allocation* range = call.d.memory.find(pointer); range != nullptr && range->device == unsigned(device))
        bytes += range->size;
  *static_cast<cuuint64_t*>(value) = bytes;
  return CUDA_SUCCESS;
}

CUresult cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute, void*) {
  Call call(Call::Needs::init);
  check_device(call, device);
  return call.error;
}

}  // namespace cotenant::cu
