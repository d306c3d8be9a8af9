// Builds and inspects graphs. Edges with data are refused; plain edges can be added and removed.
#include <algorithm>
#include <cstdio>

#include "softgpu/driver/driver.h"
#include "softgpu/driver/nodes.h"

namespace cotenant::soft {

Graph* known_graph(Call& call, CUgraph handle) {
  if (call.error != CUDA_SUCCESS) return nullptr;
  const auto found = call.d.graphs.find(object<Graph>(handle));
  if (found == call.d.graphs.end()) call.error = CUDA_ERROR_INVALID_VALUE;
  return call.error == CUDA_SUCCESS ? found->second.get() : nullptr;
}

Node* known_node(Call& call, CUgraphNode handle) {
  if (call.error != CUDA_SUCCESS) return nullptr;
  if (call.d.nodes.count(object<Node>(handle)) == 0) call.error = CUDA_ERROR_INVALID_VALUE;
  return call.error == CUDA_SUCCESS ? object<Node>(handle) : nullptr;
}

}  // namespace cotenant::soft

namespace cotenant::cu {

using namespace soft;

namespace {

CUgraphNode handle(const Node* node) { return reinterpret_cast<CUgraphNode>(const_cast<Node*>(node)); }

bool plain(const CUgraphEdgeData* edges, std::size_t count) {
  for (std::size_t i = 0; edges != nullptr && i < count; ++i) {
    if (edges[i].type != CU_GRAPH_DEPENDENCY_TYPE_DEFAULT || edges[i].from_port != 0 || edges[i].to_port != 0) {
      return false;
    }
  }
  return true;
}

// The driver's way to return lists: without a buffer the count, else as many elements as fit, and null for the rest.
CUresult answer(const std::vector<Node*>& found, CUgraphNode* out, size_t* count) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (out != nullptr) {
    for (std::size_t i = 0; i < *count; ++i) out[i] = i < found.size() ? handle(found[i]) : nullptr;
  }
  *count = out == nullptr ? found.size() : std::min(*count, found.size());
  return CUDA_SUCCESS;
}

CUresult edit(CUgraph hGraph, const CUgraphNode* from, const CUgraphNode* to, size_t count, bool add) {
  Call call(Call::Needs::init);
  const Graph* graph = known_graph(call, hGraph);
  if (graph == nullptr) return call.error;
  for (std::size_t i = 0; i < count; ++i) {
    Node* before = known_node(call, from[i]);
    Node* after = before == nullptr ? nullptr : known_node(call, to[i]);
    if (after == nullptr || before->graph != graph || after->graph != graph || before == after) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    auto& list = after->after;
    const auto found = std::find(list.begin(), list.end(), before);
    if (add == (found != list.end())) return CUDA_ERROR_INVALID_VALUE;
    if (add) list.push_back(before);
    else list.erase(found);
  }
  return CUDA_SUCCESS;
}

CUresult dependents(CUgraphNode hNode, CUgraphNode* out, size_t* count) {
  Call call(Call::Needs::init);
  const Node* node = known_node(call, hNode);
  if (node == nullptr) return call.error;
  std::vector<Node*> found;
  for (const auto& other : node->graph->nodes) {
    if (std::find(other->after.begin(), other->after.end(), node) != other->after.end()) found.push_back(other.get());
  }
  return answer(found, out, count);
}

CUresult edges(CUgraph hGraph, CUgraphNode* from, CUgraphNode* to, size_t* count) {
  Call call(Call::Needs::init);
  const Graph* graph = known_graph(call, hGraph);
  if (graph == nullptr) return call.error;
  if (count == nullptr || (from == nullptr) != (to == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  std::vector<Node*> sources;
  std::vector<Node*> targets;
  for (const auto& node : graph->nodes) {
    for (Node* before : node->after) sources.push_back(before), targets.push_back(node.get());
  }
  std::size_t room = *count;
  answer(sources, from, &room);
  return answer(targets, to, count);
}

}  // namespace

CUresult cuGraphCreate(CUgraph* phGraph, unsigned int flags) {
  Call call(Call::Needs::init);
  if (call.error != CUDA_SUCCESS) return call.error;
  if (phGraph == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  *phGraph = reinterpret_cast<CUgraph>(make_graph(call.d));
  return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph hGraph) {
  Call call(Call::Needs::init);
  Graph* graph = known_graph(call, hGraph);
  if (graph != nullptr) destroy_graph(call.d, graph);
  return call.error;
}

CUresult cuGraphClone(CUgraph* phGraphClone, CUgraph originalGraph) {
  Call call(Call::Needs::init);
  const Graph* graph = known_graph(call, originalGraph);
  if (graph == nullptr) return call.error;
  if (call.d.settings.refuses_clones) return CUDA_ERROR_NOT_SUPPORTED;
  if (phGraphClone == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *phGraphClone = reinterpret_cast<CUgraph>(clone_graph(call.d, *graph));
  return CUDA_SUCCESS;
}

CUresult cuGraphNodeFindInClone(CUgraphNode* phNode, CUgraphNode hOriginalNode, CUgraph hClonedGraph) {
  Call call(Call::Needs::init);
  const Graph* clone = known_graph(call, hClonedGraph);
  if (clone == nullptr) return call.error;
  if (phNode == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (const auto& node : clone->nodes) {
    if (node->original != object<Node>(hOriginalNode)) continue;
    *phNode = handle(node.get());
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphAddDependencies(CUgraph hGraph, const CUgraphNode* from, const CUgraphNode* to,
                                size_t numDependencies) {
  if (driver().settings.refuses_edges) return CUDA_ERROR_INVALID_VALUE;
  return edit(hGraph, from, to, numDependencies, true);
}
CUresult cuGraphRemoveDependencies(CUgraph hGraph, const CUgraphNode* from, const CUgraphNode* to,
                                   size_t numDependencies) {
  return edit(hGraph, from, to, numDependencies, false);
}
CUresult cuGraphAddDependencies_v2(CUgraph hGraph, const CUgraphNode* from, const CUgraphNode* to,
                                   const CUgraphEdgeData* edgeData, size_t numDependencies) {
  return plain(edgeData, numDependencies) ? edit(hGraph, from, to, numDependencies, true) : CUDA_ERROR_NOT_SUPPORTED;
}
CUresult cuGraphRemoveDependencies_v2(CUgraph hGraph, const CUgraphNode* from, const CUgraphNode* to,
                                      const CUgraphEdgeData* edgeData, size_t numDependencies) {
  return plain(edgeData, numDependencies) ? edit(hGraph, from, to, numDependencies, false) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphDestroyNode(CUgraphNode hNode) {
  Call call(Call::Needs::init);
  Node* node = known_node(call, hNode);
  if (node == nullptr) return call.error;
  Graph& graph = *node->graph;
  for (const auto& other : graph.nodes) {
    auto& list = other->after;
    list.erase(std::remove(list.begin(), list.end(), node), list.end());
  }
  if (node->child != nullptr) destroy_graph(call.d, node->child);
  call.d.nodes.erase(node);
  graph.nodes.erase(
      std::find_if(graph.nodes.begin(), graph.nodes.end(), [&](const auto& other) { return other.get() == node; }));
  return CUDA_SUCCESS;
}

CUresult cuGraphGetNodes(CUgraph hGraph, CUgraphNode* nodes, size_t* numNodes) {
  Call call(Call::Needs::init);
  const Graph* graph = known_graph(call, hGraph);
  if (graph == nullptr) return call.error;
  std::vector<Node*> all;
  for (const auto& node : graph->nodes) all.push_back(node.get());
  return answer(all, nodes, numNodes);
}

CUresult cuGraphGetRootNodes(CUgraph hGraph, CUgraphNode* rootNodes, size_t* numRootNodes) {
  Call call(Call::Needs::init);
  const Graph* graph = known_graph(call, hGraph);
  if (graph == nullptr) return call.error;
  std::vector<Node*> roots;
  for (const auto& node : graph->nodes) {
    if (node->after.empty()) roots.push_back(node.get());
  }
  return answer(roots, rootNodes, numRootNodes);
}

CUresult cuGraphGetEdges(CUgraph hGraph, CUgraphNode* from, CUgraphNode* to, size_t* numEdges) {
  return edges(hGraph, from, to, numEdges);
}

CUresult cuGraphGetEdges_v2(CUgraph hGraph, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* edgeData,
                            size_t* numEdges) {
  const CUresult error = edges(hGraph, from, to, numEdges);
  for (std::size_t i = 0; error == CUDA_SUCCESS && edgeData != nullptr && i < *numEdges; ++i) edgeData[i] = {};
  return error;
}

CUresult cuGraphNodeGetDependencies(CUgraphNode hNode, CUgraphNode* dependencies, size_t* numDependencies) {
  Call call(Call::Needs::init);
  const Node* node = known_node(call, hNode);
  return node == nullptr ? call.error : answer(node->after, dependencies, numDependencies);
}
CUresult cuGraphNodeGetDependencies_v2(CUgraphNode hNode, CUgraphNode* dependencies, CUgraphEdgeData* edgeData,
                                       size_t* numDependencies) {
  const CUresult error = cuGraphNodeGetDependencies(hNode, dependencies, numDependencies);
  for (std::size_t i = 0; error == CUDA_SUCCESS && edgeData != nullptr && i < *numDependencies; ++i) edgeData[i] = {};
  return error;
}
CUresult cuGraphNodeGetDependentNodes(CUgraphNode hNode, CUgraphNode* dependentNodes, size_t* numDependentNodes) {
  return dependents(hNode, dependentNodes, numDependentNodes);
}
CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode hNode, CUgraphNode* dependentNodes, CUgraphEdgeData* edgeData,
                                         size_t* numDependentNodes) {
  const CUresult error = dependents(hNode, dependentNodes, numDependentNodes);
  for (std::size_t i = 0; error == CUDA_SUCCESS && edgeData != nullptr && i < *numDependentNodes; ++i) edgeData[i] = {};
  return error;
}

CUresult cuGraphNodeGetType(CUgraphNode hNode, CUgraphNodeType* type) {
  Call call(Call::Needs::init);
  const Node* node = known_node(call, hNode);
  if (node == nullptr) return call.error;
  if (type == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *type = node->type;
  return CUDA_SUCCESS;
}

CUresult cuGraphDebugDotPrint(CUgraph hGraph, const char* path, unsigned int) {
  Call call(Call::Needs::init);
  const Graph* graph = known_graph(call, hGraph);
  if (graph == nullptr) return call.error;
  FILE* file = path == nullptr ? nullptr : std::fopen(path, "we");
  if (file == nullptr) return CUDA_ERROR_OPERATING_SYSTEM;
  std::fputs("digraph {\n", file);
  for (const auto& node : graph->nodes) {
    const auto* kernel = as<KernelWork>(node->work);
    const void* self = node.get();
    std::fprintf(file, "  \"%p\" [label=\"%s %u\"];\n", self, kernel ? kernel->name : "node", unsigned(node->type));
    for (const Node* before : node->after) {
      std::fprintf(file, "  \"%p\" -> \"%p\";\n", static_cast<const void*>(before), self);
    }
  }
  std::fputs("}\n", file);
  std::fclose(file);
  return CUDA_SUCCESS;
}

}  // namespace cotenant::cu
