// Behaviour of a wrapper in a process that is recorded: it makes the driver call and records it. Nothing is held
// back, and nothing is added to a capture. An entry that is not listed here is only passed on.
#pragma once

#include "interposer/base/clock.h"
#include "interposer/calls/contexts.h"
#include "interposer/calls/copies.h"
#include "interposer/calls/launches.h"
#include "interposer/calls/waits.h"
#include "interposer/record/graph_items.h"
#include "interposer/record/tape.h"

namespace cotenant {

template <Entry E>
struct RecordedCopy {
  using Known = Copy<E>;

  template <class First, class... A>
  static cu::CUresult call(First first, A... rest) noexcept {
    const cu::CUstream handle = Known::kAsync ? copy::stream_in(first, rest...) : nullptr;
    if (is_capturing(handle, null_stream<E>())) return driver_call<E>(first, rest...);
    const bool out = Known::ends_on_host(first);
    const bool in = starts_on_host(first, rest...);
    const std::uint64_t at = now_ns();
    const cu::CUresult result = driver_call<E>(first, rest...);
    if (result != cu::CUDA_SUCCESS || in == out) return result;
    record::note_copy(in ? record::Kind::kCopyIn : record::Kind::kCopyOut, Known::bytes(first, rest...), at,
                      out && !Known::kAsync);
    return result;
  }

 private:
  template <class First, class... A>
  static bool starts_on_host(First first, [[maybe_unused]] A... rest) noexcept {
    if constexpr (Known::kFromHost) return true;
    else if constexpr (Known::kToHost) return false;
    else if constexpr (copy::is_struct<First>()) return first && first->srcMemoryType == cu::CU_MEMORYTYPE_HOST;
    else if constexpr (Known::kLinear && !has_name<E>("DtoD")) return second_is_host(rest...);
    else return false;
  }
  template <class... A>
  static bool second_is_host(cu::CUdeviceptr from, A...) noexcept {
    return copy::is_host(from);
  }
};

// Fills are passed on, because a profile has no fills.
template <Entry E>
struct Recorded {
  template <class... A>
  static cu::CUresult call(A... arguments) noexcept {
    if constexpr (Traits<E>::name.substr(0, 8) == "cuMemcpy") return RecordedCopy<E>::call(arguments...);
    else return driver_call<E>(arguments...);
  }
};

#define RECORDS(symbol, family) \
  template <>                   \
  struct Recorded<Entry::symbol> : family<Entry::symbol> {};

// The handle that names the application's stream in the interposer's own driver calls.
template <Entry E>
cu::CUstream explicit_handle(cu::CUstream handle) noexcept {
  if (handle) return handle;
  return null_stream<E>() == NullStream::kPerThread ? cu::stream_per_thread() : cu::stream_legacy();
}

template <Entry E, class Call>
cu::CUresult record_launch(const LaunchShape& shape, cu::CUstream handle, Call call) noexcept {
  if (is_capturing(handle, null_stream<E>())) return call();
  const cu::CUstream stream = explicit_handle<E>(handle);
  const record::Start began = record::begin_kernel(shape, stream);
  const cu::CUresult result = call();
  record::end(began, stream, result);
  return result;
}

template <Entry E>
struct RecordedKernel {
  template <class... More>
  static cu::CUresult call(cu::CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                           unsigned bz, unsigned shared, cu::CUstream stream, More... more) noexcept {
    return record_launch<E>({f, {gx, gy, gz, bx, by, bz, shared}}, stream,
                            [&] { return driver_call<E>(f, gx, gy, gz, bx, by, bz, shared, stream, more...); });
  }
};

template <Entry E>
struct RecordedConfigured {
  static cu::CUresult call(const cu::CUlaunchConfig* c, cu::CUfunction f, void** parameters, void** extra) noexcept {
    const auto forward = [&] { return driver_call<E>(c, f, parameters, extra); };
    if (!c) return forward();
    const LaunchShape shape{
        f, {c->gridDimX, c->gridDimY, c->gridDimZ, c->blockDimX, c->blockDimY, c->blockDimZ, c->sharedMemBytes}};
    return record_launch<E>(shape, c->hStream, forward);
  }
};

template <Entry E>
struct RecordedGraph {
  static cu::CUresult call(cu::CUgraphExec graph, cu::CUstream handle) noexcept {
    if (is_capturing(handle, null_stream<E>())) return driver_call<E>(graph, handle);
    const cu::CUstream stream = explicit_handle<E>(handle);
    const record::Start began = record::begin_graph(graph, stream);
    const cu::CUresult result = driver_call<E>(graph, handle);
    record::end(began, stream, result);
    return result;
  }
};

template <Entry E>
struct RecordedInstantiate {
  template <class... A>
  static cu::CUresult call(cu::CUgraphExec* exec, cu::CUgraph graph, A... rest) noexcept {
    const cu::CUresult result = driver_call<E>(exec, graph, rest...);
    if (result == cu::CUDA_SUCCESS && exec && *exec) record::note_instantiation(*exec, graph);
    return result;
  }
};

template <Entry E>
struct RecordedWait {
  template <class... A>
  static cu::CUresult call(A... arguments) noexcept {
    const std::uint64_t at = now_ns();
    const cu::CUresult result = driver_call<E>(arguments...);
    if (result == cu::CUDA_SUCCESS) record::note_wait(at);
    return result;
  }
};

template <Entry E>
struct RecordedEnd {
  template <class... A>
  static cu::CUresult call(A... arguments) noexcept {
    record::contexts_end();
    return driver_call<E>(arguments...);
  }
};

RECORDS(cuLaunchKernel, RecordedKernel)
RECORDS(cuLaunchKernel_ptsz, RecordedKernel)
RECORDS(cuLaunchCooperativeKernel, RecordedKernel)
RECORDS(cuLaunchCooperativeKernel_ptsz, RecordedKernel)
RECORDS(cuLaunchKernelEx, RecordedConfigured)
RECORDS(cuLaunchKernelEx_ptsz, RecordedConfigured)
RECORDS(cuGraphLaunch, RecordedGraph)
RECORDS(cuGraphLaunch_ptsz, RecordedGraph)
RECORDS(cuGraphInstantiate, RecordedInstantiate)
RECORDS(cuGraphInstantiate_v2, RecordedInstantiate)
RECORDS(cuGraphInstantiateWithFlags, RecordedInstantiate)
RECORDS(cuGraphInstantiateWithParams, RecordedInstantiate)
RECORDS(cuGraphInstantiateWithParams_ptsz, RecordedInstantiate)
RECORDS(cuStreamSynchronize, RecordedWait)
RECORDS(cuStreamSynchronize_ptsz, RecordedWait)
RECORDS(cuEventSynchronize, RecordedWait)
RECORDS(cuCtxSynchronize, RecordedWait)
RECORDS(cuCtxSynchronize_v2, RecordedWait)
RECORDS(cuCtxDestroy, RecordedEnd)
RECORDS(cuCtxDestroy_v2, RecordedEnd)
RECORDS(cuCtxDetach, RecordedEnd)
RECORDS(cuDevicePrimaryCtxRelease, RecordedEnd)
RECORDS(cuDevicePrimaryCtxRelease_v2, RecordedEnd)
RECORDS(cuDevicePrimaryCtxReset, RecordedEnd)
RECORDS(cuDevicePrimaryCtxReset_v2, RecordedEnd)

// These do the same in every role.
RECORDS(cuStreamBeginCapture, CaptureBegin)
RECORDS(cuStreamBeginCapture_ptsz, CaptureBegin)
RECORDS(cuStreamBeginCapture_v2, CaptureBegin)
RECORDS(cuStreamBeginCapture_v2_ptsz, CaptureBegin)
RECORDS(cuStreamBeginCaptureToGraph, CaptureBegin)
RECORDS(cuStreamBeginCaptureToGraph_ptsz, CaptureBegin)
RECORDS(cuStreamBeginRecaptureToGraph, CaptureBegin)
RECORDS(cuStreamBeginRecaptureToGraph_ptsz, CaptureBegin)
RECORDS(cuStreamEndCapture, CaptureEnd)
RECORDS(cuStreamEndCapture_ptsz, CaptureEnd)

template <>
struct Recorded<Entry::cuGetProcAddress> : Behaviour<Entry::cuGetProcAddress> {};
template <>
struct Recorded<Entry::cuGetProcAddress_v2> : Behaviour<Entry::cuGetProcAddress_v2> {};

template <>
struct Recorded<Entry::cuGraphExecDestroy> {
  static cu::CUresult call(cu::CUgraphExec graph) noexcept {
    record::graph_ends(graph);
    return driver_call<Entry::cuGraphExecDestroy>(graph);
  }
};

}  // namespace cotenant
