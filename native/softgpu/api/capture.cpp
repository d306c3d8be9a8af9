// Beginning, ending and looking into captures.
#include "softgpu/driver/capture.h"
#include "softgpu/driver/driver.h"

namespace cotenant::cu {

using namespace soft;

namespace {

Stream* resolve(Call& call, CUstream handle) {
  if (call.error == CUDA_ERROR_INVALID_CONTEXT) call.error = CUDA_SUCCESS;
  return call.error == CUDA_SUCCESS ? call.stream(handle) : nullptr;
}

CUresult info(CUstream hStream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
              const CUgraphNode** dependencies, const CUgraphEdgeData** edges, size_t* count) {
  if (status == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Call call;
  Stream* stream = resolve(call, hStream);
  if (stream == nullptr) return call.error;
  *status = CU_STREAM_CAPTURE_STATUS_NONE;
  if (stream->legacy && !stream->capture) {
    for (const auto& capture : call.d.captures) {
      if (capture->origin->blocking && capture->origin->context->root == stream->context) {
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
      }
    }
  }
  if (!stream->capture) return CUDA_SUCCESS;
  *status = stream->capture->broken ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  if (stream->capture->broken) return CUDA_SUCCESS;
  if (id != nullptr) *id = stream->capture->id;
  if (graph != nullptr) *graph = reinterpret_cast<CUgraph>(stream->capture->graph);
  if (dependencies != nullptr) *dependencies = reinterpret_cast<const CUgraphNode*>(stream->tail.data());
  if (edges != nullptr) *edges = nullptr;  // all of them are plain ones
  if (count != nullptr) *count = stream->tail.size();
  return CUDA_SUCCESS;
}

CUresult update_dependencies(CUstream hStream, const CUgraphNode* dependencies, size_t count, unsigned flags) {
  if (flags > 1 || (dependencies == nullptr && count > 0)) return CUDA_ERROR_INVALID_VALUE;
  Call call;
  Stream* stream = resolve(call, hStream);
  if (stream == nullptr) return call.error;
  if (!stream->capture) return CUDA_ERROR_ILLEGAL_STATE;
  if (stream->capture->broken) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  std::vector<Node*> nodes;
  for (std::size_t i = 0; i < count; ++i) {
    nodes.push_back(object<Node>(dependencies[i]));
    if (call.d.nodes.count(nodes.back()) == 0) return CUDA_ERROR_INVALID_VALUE;
  }
  if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES) stream->tail.clear();
  join_nodes(*stream, nodes);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuStreamBeginCapture_v2(CUstream hStream, CUstreamCaptureMode mode) {
  if (mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
  Call call;
  Stream* stream = resolve(call, hStream);
  return stream == nullptr ? call.error : begin_capture(call.d, *stream, mode, nullptr, {});
}

CUresult cuStreamBeginCapture(CUstream hStream) {
  return cuStreamBeginCapture_v2(hStream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

CUresult cuStreamBeginCaptureToGraph(CUstream hStream, CUgraph hGraph, const CUgraphNode* dependencies,
                                     const CUgraphEdgeData*, size_t numDependencies, CUstreamCaptureMode mode) {
  if (mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
  Call call;
  Stream* stream = resolve(call, hStream);
  if (stream == nullptr) return call.error;
  auto* graph = object<Graph>(hGraph);
  if (call.d.graphs.count(graph) == 0) return CUDA_ERROR_INVALID_VALUE;
  std::vector<Node*> after;
  for (std::size_t i = 0; i < numDependencies; ++i) after.push_back(object<Node>(dependencies[i]));
  return begin_capture(call.d, *stream, mode, graph, std::move(after));
}

// The graph gets the new nodes in place of its own; a real driver compares the two.
CUresult cuStreamBeginRecaptureToGraph(CUstream hStream, CUstreamCaptureMode mode, CUgraph hGraph,
                                       CUgraphRecaptureCallback, void*) {
  return cuStreamBeginCaptureToGraph(hStream, hGraph, nullptr, nullptr, 0, mode);
}

// A function that no cuda.h has, as a driver of a later release offers one: it begins a capture.
extern "C" __attribute__((visibility("default"))) CUresult cuStreamBeginLaterCapture(CUstream hStream,
                                                                                     CUstreamCaptureMode mode);
CUresult cuStreamBeginLaterCapture(CUstream hStream, CUstreamCaptureMode mode) {
  return cuStreamBeginCapture_v2(hStream, mode);
}

CUresult cuStreamEndCapture(CUstream hStream, CUgraph* phGraph) {
  if (phGraph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Call call;
  Stream* stream = resolve(call, hStream);
  if (stream == nullptr) return call.error;
  Graph* graph = nullptr;
  const CUresult result = end_capture(call.d, *stream, &graph);
  *phGraph = reinterpret_cast<CUgraph>(graph);
  return result;
}

CUresult cuStreamIsCapturing(CUstream hStream, CUstreamCaptureStatus* captureStatus) {
  return info(hStream, captureStatus, nullptr, nullptr, nullptr, nullptr, nullptr);
}

CUresult cuStreamGetCaptureInfo(CUstream hStream, CUstreamCaptureStatus* captureStatus_out, cuuint64_t* id_out) {
  return info(hStream, captureStatus_out, id_out, nullptr, nullptr, nullptr, nullptr);
}

CUresult cuStreamGetCaptureInfo_v2(CUstream hStream, CUstreamCaptureStatus* captureStatus_out, cuuint64_t* id_out,
                                   CUgraph* graph_out, const CUgraphNode** dependencies_out,
                                   size_t* numDependencies_out) {
  return info(hStream, captureStatus_out, id_out, graph_out, dependencies_out, nullptr, numDependencies_out);
}

CUresult cuStreamGetCaptureInfo_v3(CUstream hStream, CUstreamCaptureStatus* captureStatus_out, cuuint64_t* id_out,
                                   CUgraph* graph_out, const CUgraphNode** dependencies_out,
                                   const CUgraphEdgeData** edgeData_out, size_t* numDependencies_out) {
  return info(hStream, captureStatus_out, id_out, graph_out, dependencies_out, edgeData_out, numDependencies_out);
}

CUresult cuStreamUpdateCaptureDependencies(CUstream hStream, CUgraphNode* dependencies, size_t numDependencies,
                                           unsigned int flags) {
  return update_dependencies(hStream, dependencies, numDependencies, flags);
}

CUresult cuStreamUpdateCaptureDependencies_v2(CUstream hStream, CUgraphNode* dependencies, const CUgraphEdgeData*,
                                              size_t numDependencies, unsigned int flags) {
  return update_dependencies(hStream, dependencies, numDependencies, flags);
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  if (mode == nullptr || *mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
  std::swap(*mode, thread_state().capture_mode);
  return CUDA_SUCCESS;
}

}  // namespace cotenant::cu
