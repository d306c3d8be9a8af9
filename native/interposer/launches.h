// Kernels, graphs and host functions.
#pragma once

#include "interposer/behaviour.h"

namespace cotenant {

// A kernel and its shape, as one number: what durations are learned by.
[[nodiscard]] std::uint64_t kernel_key(const void* function, const unsigned (&shape)[7]) noexcept;
[[nodiscard]] inline std::uint64_t graph_key(const void* graph) noexcept { return kernel_key(graph, {0, 0, 0, 0, 0, 0, ~0u}); }

// Host functions that tell us their stream got this far, then do what the application wants.
struct HostCall;
[[nodiscard]] HostCall* wrap_host_function(cu::CUstream stream, NullStream meaning, cu::CUhostFn function, void* data) noexcept;
[[nodiscard]] HostCall* wrap_callback(cu::CUstream stream, NullStream meaning, cu::CUstreamCallback callback, void* data) noexcept;
void run_host_function(void* wrapped);
void run_callback(cu::CUstream stream, cu::CUresult status, void* wrapped);
void unwrap(HostCall* wrapped) noexcept;

inline Submission kernel(std::uint64_t key) noexcept { return {key, 0, Submission::Kind::kKernel}; }

template <Entry E>
struct KernelLaunch {
  template <class... More>
  static cu::CUresult call(cu::CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                           unsigned shared, cu::CUstream stream, More... more) noexcept {
    const auto submission = kernel(kernel_key(f, {gx, gy, gz, bx, by, bz, shared}));
    return submit(stream, null_stream<E>(), Work::kLaunch, Tail::kNo, submission,
                  [&] { return driver_call<E>(f, gx, gy, gz, bx, by, bz, shared, stream, more...); });
  }
};

template <Entry E>
struct ConfiguredLaunch {
  static cu::CUresult call(const cu::CUlaunchConfig* c, cu::CUfunction f, void** parameters, void** extra) noexcept {
    const auto forward = [&] { return driver_call<E>(c, f, parameters, extra); };
    if (!c) return forward();
    const auto submission = kernel(kernel_key(
        f, {c->gridDimX, c->gridDimY, c->gridDimZ, c->blockDimX, c->blockDimY, c->blockDimZ, c->sharedMemBytes}));
    return submit(c->hStream, null_stream<E>(), Work::kLaunch, Tail::kNo, submission, forward);
  }
};

template <Entry E>
struct GraphLaunch {
  static cu::CUresult call(cu::CUgraphExec graph, cu::CUstream stream) noexcept {
    const Submission submission{graph_key(graph), 0, Submission::Kind::kGraph};
    return submit(stream, null_stream<E>(), Work::kLaunch, Tail::kYes, submission,
                  [&] { return driver_call<E>(graph, stream); });
  }
};

template <Entry E>
struct HostFunction {
  static cu::CUresult call(cu::CUstream stream, cu::CUhostFn function, void* data) noexcept {
    HostCall* wrapped = wrap_host_function(stream, null_stream<E>(), function, data);
    if (!wrapped) return driver_call<E>(stream, function, data);
    const cu::CUresult result = driver_call<E>(stream, &run_host_function, static_cast<void*>(wrapped));
    if (result != cu::CUDA_SUCCESS) unwrap(wrapped);
    return result;
  }
};

template <Entry E>
struct Callback {
  static cu::CUresult call(cu::CUstream stream, cu::CUstreamCallback callback, void* data, unsigned flags) noexcept {
    HostCall* wrapped = wrap_callback(stream, null_stream<E>(), callback, data);
    if (!wrapped) return driver_call<E>(stream, callback, data, flags);
    const cu::CUresult result = driver_call<E>(stream, &run_callback, static_cast<void*>(wrapped), flags);
    if (result != cu::CUDA_SUCCESS) unwrap(wrapped);
    return result;
  }
};

// The first releases' launches: shape set beforehand, legacy stream unless given.
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
    return submit(stream, NullStream::kLegacy, Work::kLaunch, Tail::kNo, kernel(kernel_key(f, {0, 0, 0, 0, 0, 0, 0})),
                  [&] { return driver_call<E>(f, more...); });
  }
};

#define BEHAVES(symbol, family) \
  template <>                   \
  struct Behaviour<Entry::symbol> : family<Entry::symbol> {};

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
BEHAVES(cuStreamAddCallback, Callback)
BEHAVES(cuStreamAddCallback_ptsz, Callback)
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
    return submit(list[0].hStream, NullStream::kLegacy, Work::kLaunch, Tail::kNo,
                  kernel(kernel_key(list[0].function, {0, 0, 0, 0, 0, 0, 1})), forward);
  }
};

}  // namespace cotenant
