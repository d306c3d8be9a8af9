// A best-effort client's graphs can be stopped inside: where the driver reads a graph to make it executable, or to
// bring an executable one up to date, gates stand in it, nodes at which the GPU says that it has come so far and waits
// until the client's hold word is 0. They are taken out again before the application gets its graph back, so the graph and the handles of its
// nodes are as they were, and what it changes in the executable graph by them is honoured.
//
// Launched whole, as before, and reported: a graph with allocations, one launched by a device or changed by it, and
// one with no place to stop (see graph_cuts.h).
#pragma once

#include "interposer/behaviour.h"
#include "interposer/launches.h"

namespace cotenant {

class Reading;

// The gates in one graph during one call of the driver.
class Gates {
 public:
  // Chooses places for them.
  Gates(cu::CUgraph graph, std::uint64_t instantiate_flags) noexcept;
  // Where those are that `like` was made with.
  Gates(cu::CUgraph graph, cu::CUgraphExec like) noexcept;
  ~Gates();
  Gates(const Gates&) = delete;
  Gates& operator=(const Gates&) = delete;

  [[nodiscard]] bool any() const noexcept { return count_ > 0; }
  [[nodiscard]] bool includes(cu::CUgraphNode node) const noexcept;
  void take_out() noexcept;
  // The driver has made this with them.
  void belong_to(cu::CUgraphExec exec) noexcept;

 private:
  void choose(const Link& link, const Rules& rules, const Reading& graph) noexcept;
  void put_in(cu::CUgraph into, const Reading& graph) noexcept;

  std::uint32_t* cuts_{nullptr};  // owned
  cu::CUgraphNode* nodes_{nullptr};  // owned
  std::uint32_t count_{0};
  std::uint32_t standing_{0};
};

void forget_gates_of(cu::CUgraphExec exec) noexcept;

template <Entry E>
struct Instantiate {
  static cu::CUresult call(cu::CUgraphExec* exec, cu::CUgraph graph, unsigned long long flags) noexcept {
    return with_gates(exec, graph, flags, [&] { return driver_call<E>(exec, graph, flags); });
  }
  static cu::CUresult call(cu::CUgraphExec* exec, cu::CUgraph graph,
                           cu::CUDA_GRAPH_INSTANTIATE_PARAMS* params) noexcept {
    return with_gates(exec, graph, params ? params->flags : 0, [&] { return driver_call<E>(exec, graph, params); });
  }
  static cu::CUresult call(cu::CUgraphExec* exec, cu::CUgraph graph, cu::CUgraphNode* error, char* log,
                           std::size_t size) noexcept {
    return with_gates(exec, graph, 0, [&] { return driver_call<E>(exec, graph, error, log, size); });
  }

 private:
  template <class Call>
  static cu::CUresult with_gates(cu::CUgraphExec* exec, cu::CUgraph graph, std::uint64_t flags, Call call) noexcept {
    if (role() != Role::kBestEffort) {
      const cu::CUresult made = call();
      if (made == cu::CUDA_SUCCESS && exec && *exec) high_graph(*exec, graph);
      return made;
    }
    Gates gates(graph, flags);
    const cu::CUresult result = call();
    gates.take_out();
    if (!gates.any()) return result;
    // What is wrong with the graph must be said of the graph as the application knows it.
    if (result != cu::CUDA_SUCCESS) return call();
    gates.belong_to(*exec);
    return result;
  }
};

template <Entry E>
struct UpdateGraph {
  static cu::CUresult call(cu::CUgraphExec exec, cu::CUgraph graph, cu::CUgraphExecUpdateResultInfo* info) noexcept {
    if (role() != Role::kBestEffort) return driver_call<E>(exec, graph, info);
    Gates gates(graph, exec);
    const cu::CUresult result = driver_call<E>(exec, graph, info);
    if (info && gates.includes(info->errorNode)) info->errorNode = nullptr;
    if (info && gates.includes(info->errorFromNode)) info->errorFromNode = nullptr;
    return result;
  }
  static cu::CUresult call(cu::CUgraphExec exec, cu::CUgraph graph, cu::CUgraphNode* error,
                           cu::CUgraphExecUpdateResult* why) noexcept {
    if (role() != Role::kBestEffort) return driver_call<E>(exec, graph, error, why);
    Gates gates(graph, exec);
    const cu::CUresult result = driver_call<E>(exec, graph, error, why);
    if (error && gates.includes(*error)) *error = nullptr;
    return result;
  }
};

BEHAVES(cuGraphInstantiate, Instantiate)
BEHAVES(cuGraphInstantiate_v2, Instantiate)
BEHAVES(cuGraphInstantiateWithFlags, Instantiate)
BEHAVES(cuGraphInstantiateWithParams, Instantiate)
BEHAVES(cuGraphInstantiateWithParams_ptsz, Instantiate)
BEHAVES(cuGraphExecUpdate, UpdateGraph)
BEHAVES(cuGraphExecUpdate_v2, UpdateGraph)

// The handle may come back as another graph: what is known of this one is void.
template <>
struct Behaviour<Entry::cuGraphExecDestroy> {
  static cu::CUresult call(cu::CUgraphExec graph) noexcept {
    if (role() == Role::kBestEffort) {
      forget_gates_of(graph);
      for (std::uint32_t i = 0; i < gpu_count(); ++i) gpu_at(i).best_effort.estimates.forget(graph_shape(graph));
    }
    return driver_call<Entry::cuGraphExecDestroy>(graph);
  }
};

}  // namespace cotenant
