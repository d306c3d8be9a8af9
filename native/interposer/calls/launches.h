// Kernels, graphs, host functions and signals to other APIs.
#pragma once

#include "interposer/best_effort/preempt.h"
#include "interposer/calls/behaviour.h"
#include "interposer/graphs/parts_launch.h"
#include "interposer/high/segments.h"
#include "interposer/lookup/copy_arguments.h"
#include "interposer/quota/graph_memory.h"

namespace cotenant {

// Host functions, wrapped: the wrapper reports that the stream got this far, then calls the application's function.
struct HostCall;
[[nodiscard]] HostCall* wrap_host_function(cu::CUstream stream, NullStream meaning, cu::CUhostFn function, void* data,
                                           const BehindOthers& order) noexcept;
[[nodiscard]] HostCall* wrap_callback(cu::CUstream stream, NullStream meaning, cu::CUstreamCallback callback,
                                      void* data, const BehindOthers& order) noexcept;
void run_host_function(void* wrapped);
void run_callback(cu::CUstream stream, cu::CUresult status, void* wrapped);
void unwrap(HostCall* wrapped) noexcept;

inline Submission kernel(const LaunchShape& shape) noexcept { return {Submission::Kind::kKernel, 0, &shape}; }

// Launches a variant of a best-effort kernel that proved long, if there is one. A cooperative launch (which has no
// `extra`) has none, because it needs all its blocks at once.
template <Entry E>
bool launch_in_variant(const LaunchShape& shape, cu::CUstream stream, cu::CUresult& result, void** parameters,
                       void** extra) noexcept {
  if (variants_wanted.load(std::memory_order_relaxed) == 0) return false;
  constexpr bool kPerThread = null_stream<E>() == NullStream::kPerThread;
  const auto launch = kPerThread ? real().cuLaunchKernel_ptsz : real().cuLaunchKernel;
  return launch_stoppable({shape, stream, parameters, extra}, null_stream<E>(), launch, result);
}
template <Entry E>
bool launch_in_variant(const LaunchShape&, cu::CUstream, cu::CUresult&, void**) noexcept {
  return false;
}

template <Entry E>
struct KernelLaunch {
  template <class... More>
  static cu::CUresult call(cu::CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                           unsigned bz, unsigned shared, cu::CUstream stream, More... more) noexcept {
    const LaunchShape shape{f, {gx, gy, gz, bx, by, bz, shared}};
    return submit(stream, null_stream<E>(), Work::kLaunch, Tail::kNo, kernel(shape), [&] {
      cu::CUresult result{};
      if (launch_in_variant<E>(shape, stream, result, more...)) return result;
      return driver_call<E>(f, gx, gy, gz, bx, by, bz, shared, stream, more...);
    });
  }
};

template <Entry E>
struct ConfiguredLaunch {
  static cu::CUresult call(const cu::CUlaunchConfig* c, cu::CUfunction f, void** parameters, void** extra) noexcept {
    const auto forward = [&] { return driver_call<E>(c, f, parameters, extra); };
    if (!c) return forward();
    const LaunchShape shape{
        f, {c->gridDimX, c->gridDimY, c->gridDimZ, c->blockDimX, c->blockDimY, c->blockDimZ, c->sharedMemBytes}};
    return submit(c->hStream, null_stream<E>(), Work::kLaunch, Tail::kNo, kernel(shape), [&] {
      cu::CUresult result{};
      // A variant may not honour launch attributes.
      if (c->numAttrs == 0 && launch_in_variant<E>(shape, c->hStream, result, parameters, extra)) return result;
      return forward();
    });
  }
};

template <Entry E>
struct GraphLaunch {
  static cu::CUresult call(cu::CUgraphExec graph, cu::CUstream stream) noexcept {
    if (role() != Role::kBestEffort) return submit_whole(graph, stream);
    PartsLaunch launch(graph, stream, null_stream<E>());
    cu::CUresult result{};
    if (!launch.in_parts(Traits<E>::driver(), result)) result = submit_whole(graph, stream);
    graph_memory_launched(graph);
    return result;
  }

 private:
  static cu::CUresult submit_whole(cu::CUgraphExec graph, cu::CUstream stream) noexcept {
    const LaunchShape shape = graph_shape(graph);
    const cu::CUresult result =
        submit(stream, null_stream<E>(), Work::kLaunch, Tail::kYes, {Submission::Kind::kGraph, 0, &shape},
               [&] { return driver_call<E>(graph, stream); });
    if (result == cu::CUDA_SUCCESS && role() == Role::kHigh && !is_capturing(stream, null_stream<E>()))
      if (Stream* launched = stream_of(stream, null_stream<E>())) high_weigh_graph(*launched, shape);
    return result;
  }
};

template <Entry E>
struct HostFunction {
  template <class... Mode>
  static cu::CUresult call(cu::CUstream stream, cu::CUhostFn function, void* data, Mode... mode) noexcept {
    BehindOthers order(stream, null_stream<E>());
    HostCall* wrapped = wrap_host_function(stream, null_stream<E>(), function, data, order);
    if (!wrapped) return order.settle(driver_call<E>(stream, function, data, mode...));
    const cu::CUresult result =
        order.settle(driver_call<E>(stream, &run_host_function, static_cast<void*>(wrapped), mode...));
    if (result != cu::CUDA_SUCCESS) unwrap(wrapped);
    return result;
  }
};

template <Entry E>
struct Callback {
  static cu::CUresult call(cu::CUstream stream, cu::CUstreamCallback callback, void* data, unsigned flags) noexcept {
    BehindOthers order(stream, null_stream<E>());
    HostCall* wrapped = wrap_callback(stream, null_stream<E>(), callback, data, order);
    if (!wrapped) return order.settle(driver_call<E>(stream, callback, data, flags));
    const cu::CUresult result = order.settle(driver_call<E>(stream, &run_callback, static_cast<void*>(wrapped), flags));
    if (result != cu::CUDA_SUCCESS) unwrap(wrapped);
    return result;
  }
};

// The launches of the first releases: the shape is set by an earlier call, and the stream is the legacy one by default.
template <Entry E>
struct OldLaunch {
  template <class... More>
  static cu::CUresult call(cu::CUfunction f, More... more) noexcept {
    return on(nullptr, f, more...);
  }

 private:
  static cu::CUresult on(std::nullptr_t, cu::CUfunction f) noexcept { return at(nullptr, f); }
  static cu::CUresult on(std::nullptr_t, cu::CUfunction f, int w, int h) noexcept { return at(nullptr, f, w, h); }
  static cu::CUresult on(std::nullptr_t, cu::CUfunction f, int w, int h, cu::CUstream stream) noexcept {
    return at(stream, f, w, h, stream);
  }
  template <class... A>
  static cu::CUresult at(cu::CUstream stream, cu::CUfunction f, A... more) noexcept {
    const LaunchShape shape{f, {0, 0, 0, 0, 0, 0, 0}};
    return submit(stream, NullStream::kLegacy, Work::kLaunch, Tail::kNo, kernel(shape),
                  [&] { return driver_call<E>(f, more...); });
  }
};

// A signal to another API shows the end of the work before it, like a copy to the host.
template <Entry E>
struct SignalOutside {
  template <class... A>
  static cu::CUresult call(A... arguments) noexcept {
    const cu::CUresult result = driver_call<E>(arguments...);
    const cu::CUstream handle = copy::stream_in(arguments...);
    const bool tails = words_wanted.load(std::memory_order_relaxed) != 0;
    if (result != cu::CUDA_SUCCESS || !tails || role() != Role::kHigh || is_capturing(handle, null_stream<E>()))
      return result;
    if (Stream* stream = stream_of(handle, null_stream<E>()))
      high_write_tail(*stream, {Submission::Kind::kCopy, 0, nullptr}, Tail::kYes);
    return result;
  }
};

BEHAVES(cuLaunchKernel, KernelLaunch)
BEHAVES(cuLaunchKernel_ptsz, KernelLaunch)
BEHAVES(cuLaunchCooperativeKernel, KernelLaunch)
BEHAVES(cuLaunchCooperativeKernel_ptsz, KernelLaunch)
BEHAVES(cuLaunchKernelEx, ConfiguredLaunch)
BEHAVES(cuLaunchKernelEx_ptsz, ConfiguredLaunch)
BEHAVES(cuGraphLaunch, GraphLaunch)
BEHAVES(cuGraphLaunch_ptsz, GraphLaunch)
BEHAVES(cuLaunchHostFunc, HostFunction)
BEHAVES(cuLaunchHostFunc_ptsz, HostFunction)
BEHAVES(cuLaunchHostFunc_v2, HostFunction)
BEHAVES(cuLaunchHostFunc_v2_ptsz, HostFunction)
BEHAVES(cuStreamAddCallback, Callback)
BEHAVES(cuStreamAddCallback_ptsz, Callback)
BEHAVES(cuSignalExternalSemaphoresAsync, SignalOutside)
BEHAVES(cuSignalExternalSemaphoresAsync_ptsz, SignalOutside)
BEHAVES(cuLaunch, OldLaunch)
BEHAVES(cuLaunchGrid, OldLaunch)
BEHAVES(cuLaunchGridAsync, OldLaunch)

// One kernel on several GPUs. Best-effort processes have only one; a high one is marked busy on the first.
template <>
struct Behaviour<Entry::cuLaunchCooperativeKernelMultiDevice> {
  static cu::CUresult call(cu::CUDA_LAUNCH_PARAMS* list, unsigned count, unsigned flags) noexcept {
    constexpr Entry kEntry = Entry::cuLaunchCooperativeKernelMultiDevice;
    const auto forward = [&] { return driver_call<kEntry>(list, count, flags); };
    if (!list || count == 0) return forward();
    const LaunchShape shape{list[0].function, {0, 0, 0, 0, 0, 0, 1}};
    return submit(list[0].hStream, NullStream::kLegacy, Work::kLaunch, Tail::kNo, kernel(shape), forward);
  }
};

}  // namespace cotenant
