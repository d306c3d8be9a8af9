// Events: a place in a stream that others can wait for, with the time it was reached.
#include "softgpu/driver/capture.h"
#include "softgpu/driver/driver.h"

namespace cotenant::cu {

using namespace soft;

namespace {

Event* resolve(Call& call, CUevent handle) {
  if (call.error != CUDA_SUCCESS) return nullptr;
  if (call.d.events.count(object<Event>(handle)) == 0) call.error = CUDA_ERROR_INVALID_HANDLE;
  return call.error == CUDA_SUCCESS ? object<Event>(handle) : nullptr;
}

Ticket place(const Event& event) { return {event.mark->stream.lock(), event.mark->number}; }

bool in_open_capture(const Event& event) { return event.capture && event.capture->open; }

CUresult record(Call& call, CUevent hEvent, CUstream hStream, unsigned flags) {
  if (call.error == CUDA_ERROR_INVALID_CONTEXT) call.error = CUDA_SUCCESS;
  Event* event = resolve(call, hEvent);
  if (event == nullptr) return call.error;
  Stream* stream = call.stream(hStream);
  if (stream == nullptr) return call.error;
  if (stream->capture && !stream->capture->broken && (flags & CU_EVENT_RECORD_EXTERNAL) == 0) {
    event->capture = stream->capture;
    event->nodes = stream->tail;
    return CUDA_SUCCESS;
  }
  if (!stream->capture && (flags & CU_EVENT_RECORD_EXTERNAL) != 0) return CUDA_ERROR_INVALID_VALUE;
  RecordWork work{std::make_shared<Mark>(), stream->capture ? hEvent : nullptr};
  if (!stream->capture) {
    event->mark = work.mark;
    event->capture.reset();
    event->nodes.clear();
  }
  return submit(call.d, *stream, std::move(work));
}

// The stream joins the event's capture, or follows more of it.
CUresult join(Stream& stream, Event& event) {
  if (stream.capture && stream.capture != event.capture) {
    stream.capture->broken = true;
    event.capture->broken = true;
    return CUDA_ERROR_STREAM_CAPTURE_MERGE;
  }
  if (event.capture->broken) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (stream.legacy) {
    event.capture->broken = true;
    return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  }
  if (!stream.capture) {
    stream.capture = event.capture;
    stream.tail.clear();
    event.capture->streams.push_back(&stream);
  }
  join_nodes(stream, event.nodes);
  return CUDA_SUCCESS;
}

CUresult wait_event(Call& call, CUstream hStream, CUevent hEvent, unsigned flags) {
  if (call.error == CUDA_ERROR_INVALID_CONTEXT) call.error = CUDA_SUCCESS;
  Event* event = resolve(call, hEvent);
  if (event == nullptr) return call.error;
  Stream* stream = call.stream(hStream);
  if (stream == nullptr) return call.error;
  if (in_open_capture(*event)) return join(*stream, *event);
  if (event->capture) return CUDA_ERROR_CAPTURED_EVENT;
  if (stream->capture) {
    if ((flags & CU_EVENT_WAIT_EXTERNAL) != 0) return submit(call.d, *stream, AwaitWork{hEvent});
    stream->capture->broken = true;
    return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  }
  if (!event->mark || event->mark->done) return CUDA_SUCCESS;
  if (stream->legacy && blocked_by_capture(call.d, *stream)) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  enqueue(call.d, *stream, Work{}, {place(*event)});
  return CUDA_SUCCESS;
}

CUresult elapsed_time(float* milliseconds, CUevent hStart, CUevent hEnd) {
  Call call(Call::Needs::init);
  const Event* start = resolve(call, hStart);
  const Event* end = start == nullptr ? nullptr : resolve(call, hEnd);
  if (end == nullptr) return call.error;
  if (milliseconds == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING) != 0 || !start->mark || !end->mark) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  call.d.engine.pump(now());
  if (!start->mark->done || !end->mark->done) return CUDA_ERROR_NOT_READY;
  *milliseconds = float(double(std::int64_t(end->mark->at - start->mark->at)) / 1e6);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuEventCreate(CUevent* phEvent, unsigned int Flags) {
  Call call;
  if (call.error != CUDA_SUCCESS) return call.error;
  if (phEvent == nullptr || Flags > 7) return CUDA_ERROR_INVALID_VALUE;
  auto* event = new Event;
  event->flags = Flags;
  call.d.events.insert(event);
  *phEvent = reinterpret_cast<CUevent>(event);
  return CUDA_SUCCESS;
}

CUresult cuEventDestroy_v2(CUevent hEvent) {
  Call call(Call::Needs::init);
  Event* event = resolve(call, hEvent);
  if (event == nullptr) return call.error;
  call.d.events.erase(event);
  delete event;
  return CUDA_SUCCESS;
}

CUresult cuEventDestroy(CUevent hEvent) { return cuEventDestroy_v2(hEvent); }

CUresult cuEventRecord(CUevent hEvent, CUstream hStream) {
  Call call;
  return record(call, hEvent, hStream, 0);
}

CUresult cuEventRecordWithFlags(CUevent hEvent, CUstream hStream, unsigned int flags) {
  if (flags > 1) return CUDA_ERROR_INVALID_VALUE;
  Call call;
  return record(call, hEvent, hStream, flags);
}

CUresult cuStreamWaitEvent(CUstream hStream, CUevent hEvent, unsigned int Flags) {
  if (Flags > 1) return CUDA_ERROR_INVALID_VALUE;
  Call call;
  return wait_event(call, hStream, hEvent, Flags);
}

CUresult cuEventQuery(CUevent hEvent) {
  Call call(Call::Needs::init);
  const Event* event = resolve(call, hEvent);
  if (event == nullptr) return call.error;
  if (event->capture) {
    event->capture->broken = true;
    return CUDA_ERROR_CAPTURED_EVENT;
  }
  if (call.is_unsafe_in_capture()) return call.error;
  if (!event->mark) return CUDA_SUCCESS;
  const std::shared_ptr<Mark> mark = event->mark;
  call.d.engine.pump(now());
  return mark->done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult cuEventSynchronize(CUevent hEvent) {
  Call call(Call::Needs::init);
  const Event* event = resolve(call, hEvent);
  if (event == nullptr) return call.error;
  if (event->capture) {
    event->capture->broken = true;
    return CUDA_ERROR_CAPTURED_EVENT;
  }
  if (call.is_unsafe_in_capture()) return call.error;
  if (event->mark && !event->mark->done) call.wait({place(*event)});
  return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime(float* pMilliseconds, CUevent hStart, CUevent hEnd) {
  return elapsed_time(pMilliseconds, hStart, hEnd);
}
CUresult cuEventElapsedTime_v2(float* pMilliseconds, CUevent hStart, CUevent hEnd) {
  return elapsed_time(pMilliseconds, hStart, hEnd);
}

CUresult cuCtxRecordEvent(CUcontext hCtx, CUevent hEvent) {
  Call call(Call::Needs::init);
  Event* event = resolve(call, hEvent);
  if (event == nullptr) return call.error;
  Context* context = object<Context>(hCtx);
  if (call.d.contexts.count(context) == 0) return CUDA_ERROR_INVALID_CONTEXT;
  // The record is made in a new stream that follows all work so far.
  const auto carrier = make_stream(call.d, *context, CU_STREAM_NON_BLOCKING, 0);
  carrier->detached = true;
  event->mark = std::make_shared<Mark>();
  event->capture.reset();
  enqueue(call.d, *carrier, RecordWork{event->mark, nullptr}, everything(*context->root));
  return CUDA_SUCCESS;
}

CUresult cuCtxWaitEvent(CUcontext hCtx, CUevent hEvent) {
  Call call(Call::Needs::init);
  const Event* event = resolve(call, hEvent);
  if (event == nullptr) return call.error;
  Context* context = object<Context>(hCtx);
  if (call.d.contexts.count(context) == 0) return CUDA_ERROR_INVALID_CONTEXT;
  if (event->capture) return CUDA_ERROR_CAPTURED_EVENT;
  if (!event->mark || event->mark->done) return CUDA_SUCCESS;
  const auto streams = context->root->streams;
  for (const auto& stream : streams) {
    if (!stream->detached) enqueue(call.d, *stream, Work{}, {place(*event)});
  }
  return CUDA_SUCCESS;
}

}  // namespace cotenant::cu
