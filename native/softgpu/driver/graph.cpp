#include "softgpu/driver/graph.h"

#include <algorithm>

#include "softgpu/driver/driver.h"

namespace cotenant::soft {
namespace {

struct Ends {
  unsigned first;
  unsigned last;
};

void link(Plan& plan, unsigned from, unsigned to) {
  plan.steps[from].next.push_back(to);
  ++plan.steps[to].before;
}

unsigned add_step(Plan& plan, const Work& work) {
  plan.steps.push_back({work, {}, 0, true});
  return unsigned(plan.steps.size() - 1);
}

// A child graph becomes an empty step, the steps of its nodes, and another empty step.
void flatten(const Graph& graph, Plan& plan, std::unordered_map<const Node*, Ends>& ends) {
  for (const auto& node : graph.nodes) {
    const unsigned first = add_step(plan, node->work);
    unsigned last = first;
    if (node->child != nullptr) {
      flatten(*node->child, plan, ends);
      last = add_step(plan, Work{});
      link(plan, first, last);
      for (const auto& inner : node->child->nodes) {
        if (inner->after.empty()) link(plan, first, ends[inner.get()].first);
        link(plan, ends[inner.get()].last, last);
      }
    }
    ends[node.get()] = {first, last};
  }
  for (const auto& node : graph.nodes) {
    for (const Node* before : node->after) link(plan, ends[before].last, ends[node.get()].first);
  }
}

bool acyclic(const Plan& plan) {
  std::vector<unsigned> before;
  std::vector<unsigned> free;
  for (unsigned i = 0; i < plan.steps.size(); ++i) {
    before.push_back(plan.steps[i].before);
    if (before[i] == 0) free.push_back(i);
  }
  std::size_t seen = 0;
  while (!free.empty()) {
    const unsigned step = free.back();
    free.pop_back();
    ++seen;
    for (const unsigned next : plan.steps[step].next) {
      if (--before[next] == 0) free.push_back(next);
    }
  }
  return seen == plan.steps.size();
}

}  // namespace

Graph* make_graph(Driver& d) {
  auto made = std::make_unique<Graph>();
  Graph* graph = made.get();
  d.graphs[graph] = std::move(made);
  return graph;
}

Node* add_node(Driver& d, Graph& graph, CUgraphNodeType type, Work work, const std::vector<Node*>& after) {
  auto made = std::make_unique<Node>();
  Node* node = made.get();
  node->graph = &graph;
  node->type = type;
  node->work = std::move(work);
  node->after = after;
  graph.nodes.push_back(std::move(made));
  d.nodes.insert(node);
  return node;
}

void destroy_graph(Driver& d, Graph* graph) {
  for (const auto& node : graph->nodes) {
    d.nodes.erase(node.get());
    if (node->child != nullptr) destroy_graph(d, node->child);
  }
  for (const CUdeviceptr pointer : graph->allocations) d.memory.release(pointer);
  d.graphs.erase(graph);
}

Graph* clone_graph(Driver& d, const Graph& graph) {
  Graph* clone = make_graph(d);
  clone->original = &graph;
  std::unordered_map<const Node*, Node*> twins;
  for (const auto& node : graph.nodes) {
    Node* twin = add_node(d, *clone, node->type, node->work, {});
    twin->original = node.get();
    twin->memory = node->memory;
    if (node->child != nullptr) twin->child = clone_graph(d, *node->child);
    twins[node.get()] = twin;
  }
  for (const auto& node : graph.nodes) {
    for (const Node* before : node->after) twins[node.get()]->after.push_back(twins[before]);
  }
  return clone;
}

CUresult make_plan(const Graph& graph, Plan& plan, std::unordered_map<const Node*, unsigned>& steps) {
  std::unordered_map<const Node*, Ends> ends;
  flatten(graph, plan, ends);
  if (!acyclic(plan)) return CUDA_ERROR_INVALID_VALUE;
  for (const auto& [node, end] : ends) steps[node] = end.first;
  return CUDA_SUCCESS;
}

}  // namespace cotenant::soft
