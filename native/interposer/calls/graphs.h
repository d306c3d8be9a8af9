// Instantiation, update and destruction of graphs. A best-effort client's graph can stop inside: in parts (graphs/parts.h)
// or, if the rules say so or it cannot be divided, at gates (graphs/gates.h).
#pragma once

#include "interposer/calls/behaviour.h"
#include "interposer/calls/launches.h"
#include "interposer/graphs/gates.h"
#include "interposer/graphs/stoppable_graphs.h"
#include "interposer/movable/movable.h"
#include "interposer/quota/graph_memory.h"
#include "interposer/quota/quota.h"
#include "interposer/state/events.h"
#include "interposer/state/graph_weights.h"

namespace cotenant {

template <Entry E>
struct Instantiate {
  static cu::CUresult call(cu::CUgraphExec* exec, cu::CUgraph graph, unsigned long long flags) noexcept {
    return instantiate(exec, graph, flags, [&] { return driver_call<E>(exec, graph, flags); });
  }
  static cu::CUresult call(cu::CUgraphExec* exec, cu::CUgraph graph,
                           cu::CUDA_GRAPH_INSTANTIATE_PARAMS* params) noexcept {
    return instantiate(exec, graph, params ? params->flags : 0, [&] { return driver_call<E>(exec, graph, params); });
  }
  static cu::CUresult call(cu::CUgraphExec* exec, cu::CUgraph graph, cu::CUgraphNode* error, char* log,
                           std::size_t size) noexcept {
    return instantiate(exec, graph, 0, [&] { return driver_call<E>(exec, graph, error, log, size); });
  }

 private:
  template <class Call>
  static cu::CUresult instantiate(cu::CUgraphExec* exec, cu::CUgraph graph, std::uint64_t flags, Call call) noexcept {
    if (role() != Role::kBestEffort) {
      const cu::CUresult made = call();
      if (made == cu::CUDA_SUCCESS && exec && *exec) {
        if (role() == Role::kHigh) note_graph_weight(*exec, graph), note_graph_events(graph);
        high_publish_graph(*exec, graph);
      }
      return made;
    }
    const GraphMemory memory = memory_of(graph);
    if (memory.bytes > 0 && !quota_fits_graph(memory.bytes)) return cu::CUDA_ERROR_OUT_OF_MEMORY;
    if (memory.bytes > 0) note_unmovable(protocol::Unmovable::kGraphs);
    const TouchesMemory touches;  // the driver looks at pointers in nodes
    const cu::CUresult made = instantiate_stoppable(exec, graph, flags, call);
    if (made == cu::CUDA_SUCCESS && exec) graph_memory_made(*exec, memory);
    return made;
  }

  template <class Call>
  static cu::CUresult instantiate_stoppable(cu::CUgraphExec* exec, cu::CUgraph graph, std::uint64_t flags,
                                            Call call) noexcept {
    const GraphPlaces places(graph, flags);
    GraphParts* parts = nullptr;
    if (places.may_stop() && places.how() == protocol::GraphGates::kParts)
      parts = GraphParts::make(places, graph, flags);
    return parts ? with_parts(exec, places, parts, call) : with_gates(exec, graph, places, call);
  }

  template <class Call>
  static cu::CUresult with_parts(cu::CUgraphExec* exec, const GraphPlaces& places, GraphParts* parts,
                                 Call call) noexcept {
    const cu::CUresult result = call();
    if (result == cu::CUDA_SUCCESS) {
      remember_graph(*exec, places.cuts(), places.count(), parts);
      return result;
    }
    // The update may have failed for lack of the memory that the parts occupy.
    GraphParts::end(parts, false);
    return call();
  }

  template <class Call>
  static cu::CUresult with_gates(cu::CUgraphExec* exec, cu::CUgraph graph, const GraphPlaces& places,
                                 Call call) noexcept {
    Gates gates(graph, places);
    const cu::CUresult result = call();
    gates.take_out();
    if (gates.count() == 0) return result;
    // An error must refer to the graph as the application knows it, without gates.
    if (result != cu::CUDA_SUCCESS) return call();
    remember_graph(*exec, gates.cuts(), gates.count(), nullptr);
    return result;
  }
};

template <Entry E>
struct UpdateGraph {
  static cu::CUresult call(cu::CUgraphExec exec, cu::CUgraph graph, cu::CUgraphExecUpdateResultInfo* info) noexcept {
    return update_and_follow(exec, graph, [&](const Gates* gates) {
      const cu::CUresult result = driver_call<E>(exec, graph, info);
      if (gates && info && gates->includes(info->errorNode)) info->errorNode = nullptr;
      if (gates && info && gates->includes(info->errorFromNode)) info->errorFromNode = nullptr;
      return result;
    });
  }
  static cu::CUresult call(cu::CUgraphExec exec, cu::CUgraph graph, cu::CUgraphNode* error,
                           cu::CUgraphExecUpdateResult* why) noexcept {
    return update_and_follow(exec, graph, [&](const Gates* gates) {
      const cu::CUresult result = driver_call<E>(exec, graph, error, why);
      if (gates && error && gates->includes(*error)) *error = nullptr;
      return result;
    });
  }

 private:
  template <class Call>
  static cu::CUresult update_and_follow(cu::CUgraphExec exec, cu::CUgraph graph, Call call) noexcept {
    const TouchesMemory touches;
    const StoppableGraph* made = role() == Role::kBestEffort ? stoppable_graph_of(exec) : nullptr;
    if (role() == Role::kHigh) note_graph_events(graph);
    if (!made) return call(nullptr);
    if (!made->parts) {
      const Gates gates(graph, GraphPlaces(graph, made->cuts, made->count));
      return call(&gates);
    }
    const cu::CUresult result = call(nullptr);
    if (result == cu::CUDA_SUCCESS) made->parts->update(graph);
    return result;
  }
};

// Changes one node of an executable graph.
template <Entry E>
struct ChangeNode {
  template <class... A>
  static cu::CUresult call(cu::CUgraphExec exec, cu::CUgraphNode node, A... to) noexcept {
    const TouchesMemory touches;
    if constexpr (E == Entry::cuGraphExecEventRecordNodeSetEvent) event_in_graph(to...);
    const cu::CUresult result = driver_call<E>(exec, node, to...);
    const StoppableGraph* made =
        role() == Role::kBestEffort && result == cu::CUDA_SUCCESS ? stoppable_graph_of(exec) : nullptr;
    if (made && made->parts)
      made->parts->change(
          node, [&](cu::CUgraphExec part, cu::CUgraphNode twin) { return driver_call<E>(part, twin, to...); });
    return result;
  }
};

template <Entry E>
struct UploadGraph {
  static cu::CUresult call(cu::CUgraphExec exec, cu::CUstream stream) noexcept {
    const TouchesMemory touches;
    const cu::CUresult result = driver_call<E>(exec, stream);
    const StoppableGraph* made =
        role() == Role::kBestEffort && result == cu::CUDA_SUCCESS ? stoppable_graph_of(exec) : nullptr;
    if (made && made->parts) made->parts->each([&](cu::CUgraphExec part) { return driver_call<E>(part, stream); });
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
BEHAVES(cuGraphExecKernelNodeSetParams, ChangeNode)
BEHAVES(cuGraphExecKernelNodeSetParams_v2, ChangeNode)
BEHAVES(cuGraphExecMemcpyNodeSetParams, ChangeNode)
BEHAVES(cuGraphExecMemsetNodeSetParams, ChangeNode)
BEHAVES(cuGraphExecHostNodeSetParams, ChangeNode)
BEHAVES(cuGraphExecChildGraphNodeSetParams, ChangeNode)
BEHAVES(cuGraphExecEventRecordNodeSetEvent, ChangeNode)
BEHAVES(cuGraphExecEventWaitNodeSetEvent, ChangeNode)
BEHAVES(cuGraphExecExternalSemaphoresSignalNodeSetParams, ChangeNode)
BEHAVES(cuGraphExecExternalSemaphoresWaitNodeSetParams, ChangeNode)
BEHAVES(cuGraphExecBatchMemOpNodeSetParams, ChangeNode)
BEHAVES(cuGraphExecNodeSetParams, ChangeNode)
BEHAVES(cuGraphNodeSetEnabled, ChangeNode)
BEHAVES(cuGraphUpload, UploadGraph)
BEHAVES(cuGraphUpload_ptsz, UploadGraph)

// The handle may be reused for another graph, so everything known of this one is discarded.
template <>
struct Behaviour<Entry::cuGraphExecDestroy> {
  static cu::CUresult call(cu::CUgraphExec graph) noexcept {
    if (role() == Role::kBestEffort) {
      forget_graph(graph);
      for (std::uint32_t i = 0; i < gpu_count(); ++i) gpu_at(i).best_effort.estimates.forget(graph_shape(graph));
    }
    const cu::CUresult result = driver_call<Entry::cuGraphExecDestroy>(graph);
    if (role() == Role::kBestEffort && result == cu::CUDA_SUCCESS) graph_memory_ended(graph);
    return result;
  }
};

}  // namespace cotenant
