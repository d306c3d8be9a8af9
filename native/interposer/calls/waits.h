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
    if (stream->blocking && role() == Role::kHigh) {
      Stream* legacy = stream->context->legacy.load(std::memory_order_acquire);
      if (!is_query<E>() && stream == legacy) high_waits_for_all(*stream->context, Which::kBlocking);
      if (is_behind_others(*stream))
        return stream == legacy ? legacy_wait(handle, *stream) : wait_behind(handle, *stream, *legacy);
    }
    const std::uint64_t upto = stream->high.settled.load(std::memory_order_acquire);
    const std::uint64_t launches = stream->lane.launches.load(std::memory_order_relaxed);
    const auto [result, since] = ask<E>(handle, stream);
    if (result != cu::CUDA_SUCCESS) return result;
    if (role() == Role::kHigh) high_observe(*stream, upto, since);
    else if (stream->lane.launches.load(std::memory_order_relaxed) == launches) best_effort_note_drained(*stream);
    return result;
  }

 private:
  [[gnu::noinline]] static cu::CUresult legacy_wait(cu::CUstream handle, Stream& legacy) noexcept {
    Snapshot done;
    done.take(*legacy.context, Which::kBlocking);
    Stream* waited_for = &legacy;
    for (const Snapshot::Part& part : done)
      if (!waited_for->high.busy(std::memory_order_relaxed)) waited_for = part.stream;
    const auto [result, since] = ask<E>(handle, waited_for);
    if (result != cu::CUDA_SUCCESS) return result;
    // The legacy stream waits for the blocking ones. Whether a query does, no document says.
    if (is_query<E>()) done.keep_done();
    high_observe(done, since);
    return result;
  }

  // Work that the legacy stream had before may be done, too, or the driver did not wait for it.
  [[gnu::noinline]] static cu::CUresult wait_behind(cu::CUstream handle, Stream& stream, Stream& legacy) noexcept {
    const std::uint64_t upto = stream.high.settled.load(std::memory_order_acquire);
    const std::uint64_t before = legacy.high.settled.load(std::memory_order_acquire);
    const auto [result, since] = ask<E>(handle, &stream);
    if (result != cu::CUDA_SUCCESS) return result;
    high_observe(stream, upto, since);
    if (legacy.high.busy(std::memory_order_relaxed) && is_done(legacy)) high_observe(legacy, before, since);
    return result;
  }
};

template <Entry E>
struct EventRecord {
  template <class... Flags>
  static cu::CUresult call(cu::CUevent event, cu::CUstream handle, Flags... flags) noexcept {
    if (is_capturing(handle, null_stream<E>())) {
      forget_position(event, flags...);
      return driver_call<E>(event, handle, flags...);
    }
    Stream* stream = stream_of(handle, null_stream<E>());
    if (!stream) return driver_call<E>(event, handle, flags...);
    BehindOthers order(role() == Role::kHigh ? stream : nullptr);
    const std::uint64_t upto =
        role() == Role::kHigh ? order.settled(*stream) : stream->lane.launches.load(std::memory_order_relaxed);
    const cu::CUresult result = order.settle(driver_call<E>(event, handle, flags...));
    if (result == cu::CUDA_SUCCESS) event_recorded(event, {stream, upto});
    return result;
  }

 private:
  // It now represents a position in a graph, or the graph will record it.
  static void forget_position(cu::CUevent event, unsigned flags = 0) noexcept {
    if ((flags & cu::CU_EVENT_RECORD_EXTERNAL) != 0) event_in_graph(event);
    else event_destroyed(event);
  }
};

template <Entry E>
struct EventWait {
  static cu::CUresult call(cu::CUevent event) noexcept {
    const EventMark mark = event_mark(event);
    if (!mark.stream) return unknown(event);
    const auto [result, since] = ask<E>(event, mark.stream);
    if (result != cu::CUDA_SUCCESS) return result;
    if (role() == Role::kHigh) high_observe(*mark.stream, mark.upto, since);
    else if (mark.stream->lane.launches.load(std::memory_order_relaxed) == mark.upto)
      best_effort_note_drained(*mark.stream);
    return result;
  }

 private:
  // It was recorded where nobody saw it: by a graph, for a context, in another process. The driver says what is done by then.
  [[gnu::noinline]] static cu::CUresult unknown(cu::CUevent event) noexcept {
    if (role() != Role::kHigh) return driver_call<E>(event);
    Snapshot done;
    if (const Context* context = current_context()) done.take(*context, Which::kAll);
    const cu::CUresult result =
        is_query<E>() ? driver_call<E>(event) : time_blocking_call([&] { return driver_call<E>(event); });
    if (result != cu::CUDA_SUCCESS || done.empty()) return result;
    done.keep_done();
    high_observe(done, kDidNotWait);
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
cu::CUresult wait_for_context(Context* context, Call call) noexcept {
  if (!context) return call();
  Snapshot snapshot;
  if (role() == Role::kHigh) {
    high_waits_for_all(*context, Which::kAll);
    snapshot.take(*context, Which::kAll);
  }
  const std::uint64_t since = snapshot.empty() ? kDidNotWait : now_ns();
  if (!snapshot.empty()) high_waits(*context->gpu);
  const cu::CUresult result = [&] {
    if (snapshot.empty()) return call();
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
  Context* context = waits ? context_of(owner) : nullptr;
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
