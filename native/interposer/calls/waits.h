// Calls that show completion, calls that order streams, and stream capture.
#pragma once

#include "interposer/calls/behaviour.h"
#include "interposer/calls/destruction.h"
#include "interposer/calls/launches.h"
#include "interposer/state/events.h"

namespace cotenant {

// Whether the call is a query, which returns at once. The other calls return when the work is done.
template <Entry E>
constexpr bool is_query() noexcept {
  return has_name<E>("Query");
}

// The driver's answer about a stream's work, and since when the calling thread has been waiting for it.
struct WaitAnswer {
  cu::CUresult result;
  std::uint64_t since;
};
template <Entry E, class Handle>
WaitAnswer ask(Handle handle, Stream* stream) noexcept {
  const bool high = stream && role() == Role::kHigh;
  if constexpr (is_query<E>()) {
    const cu::CUresult result = driver_call<E>(handle);
    if (high && result == cu::CUDA_ERROR_NOT_READY) high_note_query(*stream);
    return {result, high ? high_querying_since(*stream) : kDidNotWait};
  } else {
    if (!high) return {driver_call<E>(handle), kDidNotWait};
    const std::uint64_t since = high_blocked_since(*stream);
    const BlockedOn blocked(*stream->context->gpu);
    return {driver_call<E>(handle), since};
  }
}

// Synchronise and query: if the call succeeds, all work submitted before it began is complete.
template <Entry E>
struct StreamWait {
  static cu::CUresult call(cu::CUstream handle) noexcept {
    if (is_capturing(handle, null_stream<E>())) return driver_call<E>(handle);
    Stream* stream = stream_of(handle, null_stream<E>());
    if (!stream) return driver_call<E>(handle);
    const std::uint64_t upto = stream->high.settled.load(std::memory_order_acquire);
    const std::uint64_t launches = stream->lane.launches.load(std::memory_order_relaxed);
    const auto [result, since] = ask<E>(handle, stream);
    if (result != cu::CUDA_SUCCESS) return result;
    if (role() == Role::kHigh) high_observe(*stream, upto, since);
    else if (stream->lane.launches.load(std::memory_order_relaxed) == launches) best_effort_note_drained(*stream);
    return result;
  }
};

template <Entry E>
struct EventRecord {
  template <class... Flags>
  static cu::CUresult call(cu::CUevent event, cu::CUstream handle, Flags... flags) noexcept {
    if (is_capturing(handle, null_stream<E>())) {
      event_destroyed(event);  // it now represents a position in a graph
      return driver_call<E>(event, handle, flags...);
    }
    Stream* stream = stream_of(handle, null_stream<E>());
    if (!stream) return driver_call<E>(event, handle, flags...);
    const std::uint64_t upto = role() == Role::kHigh ? stream->high.settled.load(std::memory_order_acquire)
                                                     : stream->lane.launches.load(std::memory_order_relaxed);
    const cu::CUresult result = driver_call<E>(event, handle, flags...);
    if (result != cu::CUDA_SUCCESS) return result;
    event_recorded(event, {stream, upto});
    return result;
  }
};

template <Entry E>
struct EventWait {
  static cu::CUresult call(cu::CUevent event) noexcept {
    const EventMark mark = event_mark(event);
    if (!mark.stream && !is_query<E>()) return time_blocking_call([&] { return driver_call<E>(event); });
    const auto [result, since] = ask<E>(event, mark.stream);
    if (result != cu::CUDA_SUCCESS || !mark.stream) return result;
    if (role() == Role::kHigh) high_observe(*mark.stream, mark.upto, since);
    else if (mark.stream->lane.launches.load(std::memory_order_relaxed) == mark.upto)
      best_effort_note_drained(*mark.stream);
    return result;
  }
};

// A stream that waits for an event of another: when it is observed complete, the other is complete up to the event.
template <Entry E>
struct StreamJoin {
  static cu::CUresult call(cu::CUstream handle, cu::CUevent event, unsigned flags) noexcept {
    const auto forward = [&] { return driver_call<E>(handle, event, flags); };
    if (role() == Role::kBestEffort && may_capture()) {  // the event may represent a position in a capture
      const EntersCapture enters(stream_of(handle, null_stream<E>()));
      return forward();
    }
    if (role() != Role::kHigh || is_capturing(handle, null_stream<E>())) return forward();
    const EventMark mark = event_mark(event);
    if (!mark.stream || !mark.stream->high.busy(std::memory_order_relaxed)) return forward();
    Stream* stream = stream_of(handle, null_stream<E>());
    if (!stream || stream == mark.stream) return forward();
    high_begin(*stream, Work::kOrder);
    high_join(*stream, *mark.stream, mark.upto);
    const cu::CUresult result = forward();
    if (result == cu::CUDA_SUCCESS) high_settle(*stream);
    else high_withdraw(*stream);
    return result;
  }
};

template <class Call>
cu::CUresult wait_for_context(const Context* context, Call call) noexcept {
  if (!context) return call();
  Snapshot snapshot{};
  if (role() == Role::kHigh) high_snapshot(*context, false, snapshot);
  const std::uint64_t since = snapshot.count > 0 ? now_ns() : kDidNotWait;
  if (snapshot.count > 0) high_waits(*context->gpu);
  const cu::CUresult result = [&] {
    if (snapshot.count == 0) return call();
    const BlockedOn blocked(*context->gpu);
    return call();
  }();
  if (result != cu::CUDA_SUCCESS) return result;
  if (role() == Role::kHigh) high_observe(snapshot, since);
  else best_effort_note_drained(*context);
  return result;
}

// Memory is freed: the driver first waits for all that the memory's context has submitted, unless the memory is of a pool
// (seen on an H100 with driver 580).
template <class Call>
cu::CUresult wait_to_free(cu::CUdeviceptr memory, Call call) noexcept {
  const auto ask = real().cuPointerGetAttribute;
  if (role() != Role::kHigh || !ask || has_open_captures()) return time_blocking_call(call);
  cu::CUmemoryPool pool = nullptr;
  cu::CUcontext owner = nullptr;
  const bool waits = ask(&pool, cu::CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, memory) == cu::CUDA_SUCCESS && !pool &&
                     ask(&owner, cu::CU_POINTER_ATTRIBUTE_CONTEXT, memory) == cu::CUDA_SUCCESS;
  const Context* context = waits ? context_of(owner) : nullptr;
  return context ? wait_for_context(context, call) : time_blocking_call(call);
}

template <Entry E>
struct CaptureBegin {
  template <class... A>
  static cu::CUresult call(cu::CUstream handle, A... arguments) noexcept {
    const BeginsCapture begins(handle, null_stream<E>());
    return driver_call<E>(handle, arguments...);
  }
};

template <Entry E>
struct CaptureEnd {
  static cu::CUresult call(cu::CUstream stream, cu::CUgraph* graph) noexcept {
    const EndsCapture ends(stream, null_stream<E>());
    return driver_call<E>(stream, graph);
  }
};

// Work that the driver records for a graphics API. It refuses waits there, so that a best-effort client can't be held.
template <Entry E>
struct GraphicsCaptureBegin {
  static cu::CUresult call(cu::CUstream handle, cu::CUstreamCigCaptureParams* parameters) noexcept {
    if (role() == Role::kBestEffort) {
      tell("cuStreamBeginCaptureToCig is refused: what a graphics API runs can't be held back for requests.");
      return cu::CUDA_ERROR_NOT_SUPPORTED;
    }
    return CaptureBegin<E>::call(handle, parameters);
  }
};

template <Entry E>
struct GraphicsCaptureEnd {
  static cu::CUresult call(cu::CUstream stream) noexcept {
    const EndsCapture ends(stream, null_stream<E>());
    return driver_call<E>(stream);
  }
};

template <Entry E>
struct EventDestroy {
  static cu::CUresult call(cu::CUevent event) noexcept {
    event_destroyed(event);
    return driver_call<E>(event);
  }
};

template <Entry E>
struct StreamDestroy {
  static cu::CUresult call(cu::CUstream stream) noexcept {
    const TouchesMemory touches;  // streams are asked before memory moves
    forget_stream(stream);  // before the driver can hand the same handle out again
    return driver_call<E>(stream);
  }
};

// A new stream is examined when it is first used.
template <Entry E>
struct PassOn {
  template <class... A>
  static cu::CUresult call(A... arguments) noexcept {
    return driver_call<E>(arguments...);
  }
};

BEHAVES(cuStreamSynchronize, StreamWait)
BEHAVES(cuStreamSynchronize_ptsz, StreamWait)
BEHAVES(cuStreamQuery, StreamWait)
BEHAVES(cuStreamQuery_ptsz, StreamWait)
BEHAVES(cuEventSynchronize, EventWait)
BEHAVES(cuEventQuery, EventWait)
BEHAVES(cuEventRecord, EventRecord)
BEHAVES(cuEventRecord_ptsz, EventRecord)
BEHAVES(cuEventRecordWithFlags, EventRecord)
BEHAVES(cuEventRecordWithFlags_ptsz, EventRecord)
BEHAVES(cuStreamWaitEvent, StreamJoin)
BEHAVES(cuStreamWaitEvent_ptsz, StreamJoin)
BEHAVES(cuStreamBeginCapture, CaptureBegin)
BEHAVES(cuStreamBeginCapture_ptsz, CaptureBegin)
BEHAVES(cuStreamBeginCapture_v2, CaptureBegin)
BEHAVES(cuStreamBeginCapture_v2_ptsz, CaptureBegin)
BEHAVES(cuStreamBeginCaptureToGraph, CaptureBegin)
BEHAVES(cuStreamBeginCaptureToGraph_ptsz, CaptureBegin)
BEHAVES(cuStreamBeginRecaptureToGraph, CaptureBegin)
BEHAVES(cuStreamBeginRecaptureToGraph_ptsz, CaptureBegin)
BEHAVES(cuStreamBeginCaptureToCig, GraphicsCaptureBegin)
BEHAVES(cuStreamBeginCaptureToCig_ptsz, GraphicsCaptureBegin)
BEHAVES(cuStreamEndCaptureToCig, GraphicsCaptureEnd)
BEHAVES(cuStreamEndCaptureToCig_ptsz, GraphicsCaptureEnd)
BEHAVES(cuStreamEndCapture, CaptureEnd)
BEHAVES(cuStreamEndCapture_ptsz, CaptureEnd)
BEHAVES(cuEventDestroy, EventDestroy)
BEHAVES(cuEventDestroy_v2, EventDestroy)
BEHAVES(cuStreamDestroy, StreamDestroy)
BEHAVES(cuStreamDestroy_v2, StreamDestroy)
BEHAVES(cuStreamCreate, PassOn)
BEHAVES(cuStreamCreateWithPriority, PassOn)
BEHAVES(cuGreenCtxStreamCreate, PassOn)

template <>
struct Behaviour<Entry::cuCtxSynchronize> {
  static cu::CUresult call() noexcept {
    return wait_for_context(current_context(), [] { return driver_call<Entry::cuCtxSynchronize>(); });
  }
};

template <>
struct Behaviour<Entry::cuCtxSynchronize_v2> {
  static cu::CUresult call(cu::CUcontext context) noexcept {
    return wait_for_context(context_of(context), [&] { return driver_call<Entry::cuCtxSynchronize_v2>(context); });
  }
};

}  // namespace cotenant
