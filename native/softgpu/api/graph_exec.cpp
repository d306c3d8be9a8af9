// Executable graphs: instantiating, launching, changing without instantiating again.
#include "softgpu/driver/capture.h"
#include "softgpu/driver/nodes.h"

namespace cotenant::cu {

using namespace soft;
using soft::widen;

namespace {

GraphExec* resolve(Call& call, CUgraphExec handle) {
  if (call.error != CUDA_SUCCESS) return nullptr;
  const auto found = call.d.execs.find(object<GraphExec>(handle));
  if (found == call.d.execs.end()) call.error = CUDA_ERROR_INVALID_VALUE;
  return call.error == CUDA_SUCCESS ? found->second.get() : nullptr;
}

CUresult instantiate(CUgraphExec* out, CUgraph hGraph, unsigned long long flags) {
  Call call(Call::Needs::init);
  const Graph* graph = known_graph(call, hGraph);
  if (graph == nullptr) return call.error;
  if (out == nullptr || flags > 15) return CUDA_ERROR_INVALID_VALUE;
  if ((flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0) return CUDA_ERROR_NOT_SUPPORTED;
  auto exec = std::make_unique<GraphExec>();
  exec->plan = std::make_shared<Plan>();
  exec->flags = flags;
  const CUresult error = make_plan(*graph, *exec->plan, exec->steps);
  if (error != CUDA_SUCCESS) return error;
  exec->shape = clone_graph(call.d, *graph);
  *out = reinterpret_cast<CUgraphExec>(exec.get());
  call.d.execs[exec.get()] = std::move(exec);
  return CUDA_SUCCESS;
}

// The plan, for a change: a copy if a launch still runs the old one.
Plan& plan_to_change(GraphExec& exec) {
  if (exec.plan.use_count() > 1) exec.plan = std::make_shared<Plan>(*exec.plan);
  return *exec.plan;
}

Plan::Step* step_of(Call& call, CUgraphExec hGraphExec, CUgraphNode hNode) {
  GraphExec* exec = resolve(call, hGraphExec);
  if (exec == nullptr) return nullptr;
  const auto found = exec->steps.find(object<Node>(hNode));
  if (found == exec->steps.end()) call.error = CUDA_ERROR_INVALID_VALUE;
  return call.error == CUDA_SUCCESS ? &plan_to_change(*exec).steps[found->second] : nullptr;
}

template <class W, class Params>
CUresult change(CUgraphExec hGraphExec, CUgraphNode hNode, const Params* params) {
  Call call(Call::Needs::init);
  Plan::Step* step = step_of(call, hGraphExec, hNode);
  if (step == nullptr) return call.error;
  if (params == nullptr || as<W>(step->work) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return work_of(call, *params, step->work);
}

template <class W>
CUresult change_event(CUgraphExec hGraphExec, CUgraphNode hNode, CUevent event) {
  Call call(Call::Needs::init);
  Plan::Step* step = step_of(call, hGraphExec, hNode);
  if (step == nullptr) return call.error;
  auto* work = std::get_if<W>(&step->work);
  if (work == nullptr || event == nullptr) return CUDA_ERROR_INVALID_VALUE;
  work->event = event;
  return CUDA_SUCCESS;
}

// Changes the child's nodes one by one, and their children's; both graphs have the same topology.
CUresult change_children(GraphExec& exec, const Graph& from, const Graph& to) {
  if (from.nodes.size() != to.nodes.size()) return CUDA_ERROR_INVALID_VALUE;
  for (std::size_t i = 0; i < from.nodes.size(); ++i) {
    const Node& was = *from.nodes[i];
    const Node& is = *to.nodes[i];
    const auto step = exec.steps.find(&was);
    if (was.type != is.type || step == exec.steps.end()) return CUDA_ERROR_INVALID_VALUE;
    plan_to_change(exec).steps[step->second].work = is.work;
    if (was.child == nullptr) continue;
    if (const CUresult error = change_children(exec, *was.child, *is.child); error != CUDA_SUCCESS) return error;
  }
  return CUDA_SUCCESS;
}

CUgraphExecUpdateResult difference(const Plan& before, const Plan& after) {
  if (before.steps.size() != after.steps.size()) return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
  for (std::size_t i = 0; i < before.steps.size(); ++i) {
    const Plan::Step& was = before.steps[i];
    const Plan::Step& is = after.steps[i];
    if (was.work.index() != is.work.index()) return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
    if (was.next != is.next) return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
  }
  return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

CUresult update(CUgraphExec hGraphExec, CUgraph hGraph, CUgraphExecUpdateResult* result) {
  Call call(Call::Needs::init);
  GraphExec* exec = resolve(call, hGraphExec);
  const Graph* graph = exec == nullptr ? nullptr : known_graph(call, hGraph);
  if (graph == nullptr) return call.error;
  auto plan = std::make_shared<Plan>();
  std::unordered_map<const Node*, unsigned> steps;
  const CUresult error = make_plan(*graph, *plan, steps);
  if (error != CUDA_SUCCESS) return error;
  *result = difference(*exec->plan, *plan);
  if (*result != CU_GRAPH_EXEC_UPDATE_SUCCESS) return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  exec->plan = std::move(plan);
  // Nodes of the original graph keep naming their steps; from now on nodes of this graph do so, too.
  for (const auto& [node, step] : steps) exec->steps[node] = step;
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuGraphInstantiateWithFlags(CUgraphExec* phGraphExec, CUgraph hGraph, unsigned long long flags) {
  return instantiate(phGraphExec, hGraph, flags);
}

CUresult cuGraphInstantiateWithParams(CUgraphExec* phGraphExec, CUgraph hGraph,
                                      CUDA_GRAPH_INSTANTIATE_PARAMS* instantiateParams) {
  if (instantiateParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult error = instantiate(phGraphExec, hGraph, instantiateParams->flags);
  instantiateParams->hErrNode_out = nullptr;
  instantiateParams->result_out =
      error == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS : CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE;
  return error;
}

CUresult cuGraphInstantiate(CUgraphExec* phGraphExec, CUgraph hGraph, CUgraphNode* phErrorNode, char* logBuffer,
                            size_t bufferSize) {
  if (phErrorNode != nullptr) *phErrorNode = nullptr;
  if (logBuffer != nullptr && bufferSize > 0) *logBuffer = 0;
  return instantiate(phGraphExec, hGraph, 0);
}
CUresult cuGraphInstantiate_v2(CUgraphExec* phGraphExec, CUgraph hGraph, CUgraphNode* phErrorNode, char* logBuffer,
                               size_t bufferSize) {
  return cuGraphInstantiate(phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize);
}

CUresult cuGraphExecDestroy(CUgraphExec hGraphExec) {
  Call call(Call::Needs::init);
  GraphExec* exec = resolve(call, hGraphExec);
  if (exec == nullptr) return call.error;
  destroy_graph(call.d, exec->shape);
  call.d.execs.erase(exec);  // a launch that still runs keeps its plan
  return CUDA_SUCCESS;
}

CUresult cuGraphLaunch(CUgraphExec hGraph, CUstream hStream) {
  Call call;
  if (call.error == CUDA_ERROR_INVALID_CONTEXT) call.error = CUDA_SUCCESS;
  Stream* stream = resolve(call, hGraph) == nullptr ? nullptr : call.stream_with_room(hStream);
  GraphExec* exec = stream == nullptr ? nullptr : resolve(call, hGraph);  // again: it may have waited
  if (exec == nullptr) return call.error;
  if (stream->capture) {
    const CUresult error = submit_node(call.d, *stream, CU_GRAPH_NODE_TYPE_GRAPH, Work{});
    if (error == CUDA_SUCCESS) stream->tail[0]->child = clone_graph(call.d, *exec->shape);
    return error;
  }
  if (stream->legacy && blocked_by_capture(call.d, *stream)) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  if (exec->plan->steps.empty()) {
    enqueue(call.d, *stream, Work{});
    return CUDA_SUCCESS;
  }
  enqueue_plan(call.d, *stream, exec->plan, "", exec->last);
  exec->last = stream->last();
  return CUDA_SUCCESS;
}

CUresult cuGraphUpload(CUgraphExec hGraphExec, CUstream hStream) {
  Call call;
  if (call.error == CUDA_ERROR_INVALID_CONTEXT) call.error = CUDA_SUCCESS;
  const GraphExec* exec = resolve(call, hGraphExec);
  Stream* stream = exec == nullptr ? nullptr : call.stream(hStream);
  return stream == nullptr ? call.error : submit(call.d, *stream, Work{});
}

CUresult cuGraphExecUpdate_v2(CUgraphExec hGraphExec, CUgraph hGraph, CUgraphExecUpdateResultInfo* resultInfo) {
  CUgraphExecUpdateResult result = CU_GRAPH_EXEC_UPDATE_ERROR;
  const CUresult error = update(hGraphExec, hGraph, &result);
  if (resultInfo != nullptr) *resultInfo = {result, nullptr, nullptr};
  return error;
}
CUresult cuGraphExecUpdate(CUgraphExec hGraphExec, CUgraph hGraph, CUgraphNode* hErrorNode_out,
                           CUgraphExecUpdateResult* updateResult_out) {
  CUgraphExecUpdateResult result = CU_GRAPH_EXEC_UPDATE_ERROR;
  const CUresult error = update(hGraphExec, hGraph, &result);
  if (hErrorNode_out != nullptr) *hErrorNode_out = nullptr;
  if (updateResult_out != nullptr) *updateResult_out = result;
  return error;
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec hGraphExec, CUgraphNode hNode,
                                           const CUDA_KERNEL_NODE_PARAMS_v2* nodeParams) {
  return change<KernelWork>(hGraphExec, hNode, nodeParams);
}
CUresult cuGraphExecKernelNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                        const CUDA_KERNEL_NODE_PARAMS_v1* nodeParams) {
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUDA_KERNEL_NODE_PARAMS_v2 wide = widen(*nodeParams);
  return change<KernelWork>(hGraphExec, hNode, &wide);
}
CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode, const CUDA_MEMCPY3D* copyParams,
                                        CUcontext) {
  return change<CopyWork>(hGraphExec, hNode, copyParams);
}
CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                        const CUDA_MEMSET_NODE_PARAMS* memsetParams, CUcontext) {
  return change<FillWork>(hGraphExec, hNode, memsetParams);
}
CUresult cuGraphExecHostNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                      const CUDA_HOST_NODE_PARAMS* nodeParams) {
  return change<HostWork>(hGraphExec, hNode, nodeParams);
}
CUresult cuGraphExecBatchMemOpNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                            const CUDA_BATCH_MEM_OP_NODE_PARAMS* nodeParams) {
  return change<WordsWork>(hGraphExec, hNode, nodeParams);
}

CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode, CUgraph childGraph) {
  Call call(Call::Needs::init);
  GraphExec* exec = resolve(call, hGraphExec);
  const Node* node = exec == nullptr ? nullptr : known_node(call, hNode);
  const Graph* graph = node == nullptr ? nullptr : known_graph(call, childGraph);
  if (graph == nullptr) return call.error;
  return node->child == nullptr ? CUDA_ERROR_INVALID_VALUE : change_children(*exec, *node->child, *graph);
}
CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec hGraphExec, CUgraphNode hNode, CUevent event) {
  return change_event<RecordWork>(hGraphExec, hNode, event);
}
CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec hGraphExec, CUgraphNode hNode, CUevent event) {
  return change_event<AwaitWork>(hGraphExec, hNode, event);
}

CUresult cuGraphNodeSetEnabled(CUgraphExec hGraphExec, CUgraphNode hNode, unsigned int isEnabled) {
  Call call(Call::Needs::init);
  Plan::Step* step = step_of(call, hGraphExec, hNode);
  if (step == nullptr) return call.error;
  if (!as<KernelWork>(step->work) && !as<CopyWork>(step->work) && !as<FillWork>(step->work)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  step->enabled = isEnabled != 0;
  return CUDA_SUCCESS;
}
CUresult cuGraphNodeGetEnabled(CUgraphExec hGraphExec, CUgraphNode hNode, unsigned int* isEnabled) {
  Call call(Call::Needs::init);
  const Plan::Step* step = step_of(call, hGraphExec, hNode);
  if (step == nullptr) return call.error;
  if (isEnabled == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *isEnabled = step->enabled;
  return CUDA_SUCCESS;
}
CUresult cuGraphExecGetFlags(CUgraphExec hGraphExec, cuuint64_t* flags) {
  Call call(Call::Needs::init);
  const GraphExec* exec = resolve(call, hGraphExec);
  if (exec == nullptr) return call.error;
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = exec->flags;
  return CUDA_SUCCESS;
}

}  // namespace cotenant::cu
