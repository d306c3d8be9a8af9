#pragma once
// Graphs, open captures, and the flat plan that a launch runs.
#include <memory>
#include <thread>
#include <unordered_map>
#include <vector>

#include "softgpu/engine/stream.h"

namespace cotenant::soft {

struct Driver;
struct Graph;
struct Stream;

struct Node {
  Graph* graph = nullptr;
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  Work work;
  std::vector<Node*> after;  // what it depends on
  Graph* child = nullptr;
  const Node* original = nullptr;  // of which this is a clone
  CUdeviceptr memory = 0;          // what it allocates or frees
};

struct Graph {
  std::vector<std::unique_ptr<Node>> nodes;  // in the order they were added
  const Graph* original = nullptr;
  std::vector<CUdeviceptr> allocations;  // made by its allocation nodes; they live as long as the graph
};

struct GraphExec {
  std::shared_ptr<Plan> plan;  // replaced, not changed, while a launch still runs it
  std::unordered_map<const Node*, unsigned> steps;  // of the graph it was made from
  Graph* shape = nullptr;  // a clone of that graph, for launches into a capture
  unsigned long long flags = 0;
  Ticket last;  // its latest launch: the next one follows it, in whatever stream
};

// A graph in the making, from cuStreamBeginCapture to cuStreamEndCapture.
struct Capture {
  std::uint64_t id = 0;
  Graph* graph = nullptr;
  bool into_existing = false;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::thread::id thread;
  Stream* origin = nullptr;
  std::vector<Stream*> streams;  // origin first, then those that joined
  bool broken = false;  // broken by a call that can't be captured
  bool open = true;
};

Graph* make_graph(Driver& d);
Node* add_node(Driver& d, Graph& graph, CUgraphNodeType type, Work work, const std::vector<Node*>& after);
void destroy_graph(Driver& d, Graph* graph);
Graph* clone_graph(Driver& d, const Graph& graph);

// Flattens the graph, children included, into works with their order; CUDA_ERROR_INVALID_VALUE: it has a cycle.
CUresult make_plan(const Graph& graph, Plan& plan, std::unordered_map<const Node*, unsigned>& steps);

}  // namespace cotenant::soft
