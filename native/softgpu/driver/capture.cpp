// Stream capture: work becomes nodes of a graph instead of being queued. A call that cannot be part of a capture
// breaks it: the call fails, and so does the end of the capture.
#include <algorithm>

#include "softgpu/driver/capture.h"
#include "softgpu/driver/driver.h"

namespace cotenant::soft {
namespace {

CUgraphNodeType type_of(const Work& work) {
  if (as<KernelWork>(work)) return CU_GRAPH_NODE_TYPE_KERNEL;
  if (as<CopyWork>(work)) return CU_GRAPH_NODE_TYPE_MEMCPY;
  if (as<FillWork>(work)) return CU_GRAPH_NODE_TYPE_MEMSET;
  if (as<HostWork>(work)) return CU_GRAPH_NODE_TYPE_HOST;
  if (as<RecordWork>(work)) return CU_GRAPH_NODE_TYPE_EVENT_RECORD;
  if (as<AwaitWork>(work)) return CU_GRAPH_NODE_TYPE_WAIT_EVENT;
  if (as<WordsWork>(work)) return CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
  return CU_GRAPH_NODE_TYPE_EMPTY;
}

}  // namespace

bool blocked_by_capture(Driver& d, const Stream& legacy) {
  bool any = false;
  for (const auto& capture : d.captures) {
    const Stream& origin = *capture->origin;
    if (origin.context->root != legacy.context->root || !origin.blocking) continue;
    capture->broken = true;
    any = true;
  }
  return any;
}

CUresult submit(Driver& d, Stream& stream, Work work) {
  const CUgraphNodeType type = type_of(work);
  return submit_node(d, stream, type, std::move(work));
}

CUresult submit_node(Driver& d, Stream& stream, CUgraphNodeType type, Work work) {
  if (stream.capture) {
    Capture& capture = *stream.capture;
    if (capture.broken) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    Node* node = add_node(d, *capture.graph, type, std::move(work), stream.tail);
    stream.tail = {node};
    return CUDA_SUCCESS;
  }
  if (stream.legacy && blocked_by_capture(d, stream)) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  enqueue(d, stream, std::move(work));
  return CUDA_SUCCESS;
}

bool Call::is_unsafe_in_capture() {
  const CUstreamCaptureMode mode = thread_state().capture_mode;
  if (mode == CU_STREAM_CAPTURE_MODE_RELAXED) return false;
  bool forbidden = false;
  for (const auto& capture : d.captures) {
    const bool local = capture->thread == std::this_thread::get_id();
    const bool everywhere = mode == CU_STREAM_CAPTURE_MODE_GLOBAL && capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
    const bool forbids = local ? capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED : everywhere;
    if (!forbids) continue;
    capture->broken = true;
    forbidden = true;
  }
  if (forbidden) error = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  return forbidden;
}

CUresult begin_capture(Driver& d, Stream& stream, CUstreamCaptureMode mode, Graph* into, std::vector<Node*> after) {
  if (stream.legacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (stream.capture) return CUDA_ERROR_ILLEGAL_STATE;
  auto capture = std::make_shared<Capture>();
  capture->id = ++d.ids;
  capture->graph = into != nullptr ? into : make_graph(d);
  capture->into_existing = into != nullptr;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->origin = &stream;
  capture->streams.push_back(&stream);
  stream.capture = capture;
  stream.tail = std::move(after);
  d.captures.push_back(std::move(capture));
  return CUDA_SUCCESS;
}

namespace {

bool reaches(const Capture& capture) {
  std::vector<const Node*> todo(capture.origin->tail.begin(), capture.origin->tail.end());
  std::unordered_set<const Node*> seen(todo.begin(), todo.end());
  while (!todo.empty()) {
    const Node* node = todo.back();
    todo.pop_back();
    for (const Node* before : node->after) {
      if (seen.insert(before).second) todo.push_back(before);
    }
  }
  for (const Stream* stream : capture.streams) {
    for (const Node* last : stream->tail) {
      if (seen.count(last) == 0) return false;
    }
  }
  return true;
}

}  // namespace

CUresult end_capture(Driver& d, Stream& stream, Graph** out) {
  *out = nullptr;
  if (!stream.capture) return CUDA_ERROR_ILLEGAL_STATE;
  const std::shared_ptr<Capture> capture = stream.capture;
  // As an H200 does (driver 580): ending a branch breaks the capture. Another thread than the one that began the capture
  // ends it, but gets no graph.
  if (capture->origin != &stream) {
    capture->broken = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  }
  const bool others = capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != std::this_thread::get_id();
  CUresult result = CUDA_SUCCESS;
  if (others) result = CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  else if (capture->broken) result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  else if (!reaches(*capture)) result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  capture->open = false;
  for (Stream* member : capture->streams) {
    member->capture.reset();
    member->tail.clear();
  }
  d.captures.erase(std::remove(d.captures.begin(), d.captures.end(), capture), d.captures.end());
  if (result == CUDA_SUCCESS) *out = capture->graph;
  else if (!capture->into_existing) destroy_graph(d, capture->graph);
  return result;
}

void join_nodes(Stream& stream, const std::vector<Node*>& nodes) {
  for (Node* node : nodes) {
    if (std::find(stream.tail.begin(), stream.tail.end(), node) == stream.tail.end()) stream.tail.push_back(node);
  }
}

void leave_capture(Driver& d, Stream& stream) {
  if (!stream.capture) return;
  const std::shared_ptr<Capture> capture = stream.capture;
  capture->broken = true;
  if (capture->origin == &stream) {  // nobody can end it any more
    capture->open = false;
    for (Stream* member : capture->streams) member->capture.reset(), member->tail.clear();
    d.captures.erase(std::remove(d.captures.begin(), d.captures.end(), capture), d.captures.end());
    if (!capture->into_existing) destroy_graph(d, capture->graph);
    return;
  }
  auto& members = capture->streams;
  members.erase(std::remove(members.begin(), members.end(), &stream), members.end());
  stream.capture.reset();
}

}  // namespace cotenant::soft
