// Contexts, and the driver's two functions that return addresses of functions.
#pragma once

#include "interposer/calls/behaviour.h"
#include "interposer/calls/destruction.h"
#include "interposer/lifetime/gang.h"
#include "interposer/lookup/unhooked.h"
#include "interposer/parking/moving.h"
#include "interposer/quota/graph_memory.h"
#include "interposer/quota/quota.h"

namespace cotenant {

// After the driver created or retained a context: attaches, or undoes the call if the agent refuses the GPU.
template <class Make, class Undo>
cu::CUresult with_context(cu::CUcontext* context, cu::CUdevice device, Make make, Undo undo) noexcept {
  if (const cu::CUresult refused = may_start(); refused != cu::CUDA_SUCCESS) return refused;
  const cu::CUresult result = make();
  if (result != cu::CUDA_SUCCESS || !context || !*context) return result;
  const cu::CUresult refused = context_made(*context, device);
  if (refused == cu::CUDA_SUCCESS) return result;
  undo();
  *context = nullptr;
  return refused;
}

template <>
struct Behaviour<Entry::cuDevicePrimaryCtxRetain> {
  static cu::CUresult call(cu::CUcontext* context, cu::CUdevice device) noexcept {
    const cu::CUresult result = with_context(
        context, device, [&] { return driver_call<Entry::cuDevicePrimaryCtxRetain>(context, device); },
        [&] { static_cast<void>(real().cuDevicePrimaryCtxRelease_v2(device)); });
    if (result == cu::CUDA_SUCCESS && context) primary_retained(*context);
    return result;
  }
};

// Device is the last argument of every version.
template <Entry E>
struct ContextCreate {
  template <class... A>
  static cu::CUresult call(cu::CUcontext* context, A... rest) noexcept {
    const cu::CUdevice device = last(rest...);
    return with_context(
        context, device, [&] { return driver_call<E>(context, rest...); },
        [&] { static_cast<void>(real().cuCtxDestroy_v2(*context)); });
  }

 private:
  static cu::CUdevice last(cu::CUdevice device) noexcept { return device; }
  template <class First, class... A>
  static cu::CUdevice last(First, A... rest) noexcept {
    return last(rest...);
  }
};

BEHAVES(cuCtxCreate, ContextCreate)
BEHAVES(cuCtxCreate_v2, ContextCreate)
BEHAVES(cuCtxCreate_v3, ContextCreate)
BEHAVES(cuCtxCreate_v4, ContextCreate)

// The driver waits for held work in the context.
template <class End>
cu::CUresult end_context(cu::CUcontext handle, End end) noexcept {
  const Context* context = context_of(handle);
  if (!context) return end();
  const Waiting waiting(context->gpu->best_effort);
  context_ends(handle);
  return end();
}

template <Entry E>
struct ContextDestroy {
  static cu::CUresult call(cu::CUcontext context) noexcept {
    const EndsMemory ends;
    const cu::CUresult result = end_context(context, [&] { return driver_call<E>(context); });
    if (result != cu::CUDA_SUCCESS) return result;
    quota_context_ended(context);
    parking_context_ended(context);
    return result;
  }
};

BEHAVES(cuCtxDestroy, ContextDestroy)
BEHAVES(cuCtxDestroy_v2, ContextDestroy)
BEHAVES(cuCtxDetach, ContextDestroy)  // the creator of a context is its only user: since CUDA 4 nothing attaches

template <>
struct Behaviour<Entry::cuGreenCtxDestroy> {
  static cu::CUresult call(cu::CUgreenCtx green) noexcept {
    const EndsMemory ends;
    cu::CUcontext context = nullptr;
    if (!real().cuCtxFromGreenCtx || real().cuCtxFromGreenCtx(&context, green) != cu::CUDA_SUCCESS) context = nullptr;
    const cu::CUresult result = end_context(context, [&] { return driver_call<Entry::cuGreenCtxDestroy>(green); });
    // Its memory is the primary context's.
    if (const Context* known = result == cu::CUDA_SUCCESS ? context_of(context) : nullptr) {
      const cu::CUcontext primary = primary_context(known->gpu->identity.ordinal);
      quota_context_joins(context, primary);
      parking_context_joins(context, primary);
    }
    return result;
  }
};

template <Entry E>
struct PrimaryEnd {
  static cu::CUresult call(cu::CUdevice device) noexcept {
    const EndsMemory ends;
    const cu::CUresult result = driver_call<E>(device);
    unsigned flags = 0;
    int active = 1;
    if (result == cu::CUDA_SUCCESS && real().cuDevicePrimaryCtxGetState(device, &flags, &active) == cu::CUDA_SUCCESS &&
        active == 0) {
      quota_context_ended(primary_context(device));
      parking_context_ended(primary_context(device));
      if (quota_graphs() > 0) look_at_graph_memory(device);
      primary_ended(device);
    }
    return result;
  }
};

BEHAVES(cuDevicePrimaryCtxRelease, PrimaryEnd)
BEHAVES(cuDevicePrimaryCtxRelease_v2, PrimaryEnd)
BEHAVES(cuDevicePrimaryCtxReset, PrimaryEnd)
BEHAVES(cuDevicePrimaryCtxReset_v2, PrimaryEnd)

template <>
struct Behaviour<Entry::cuInit> {
  static cu::CUresult call(unsigned flags) noexcept {
    const cu::CUresult result = driver_call<Entry::cuInit>(flags);
    if (result == cu::CUDA_SUCCESS) driver_initialised();
    return result;
  }
};

// The driver resolves name, version and kind of default stream. Only the returned pointer is replaced, so the wrapper is
// always that of the function the application asked for.
inline void reroute(const char* name, void** found) noexcept {
  if (!found || !*found) return;
  if (void* ours = in_place_of(name ? name : "", *found, FoundBy::kDriver)) *found = ours;
}

template <>
struct Behaviour<Entry::cuGetProcAddress> {
  static cu::CUresult call(const char* name, void** found, int version, cu::cuuint64_t flags) noexcept {
    const cu::CUresult result = driver_call<Entry::cuGetProcAddress>(name, found, version, flags);
    if (result == cu::CUDA_SUCCESS) reroute(name, found);
    return result;
  }
};

template <>
struct Behaviour<Entry::cuGetProcAddress_v2> {
  static cu::CUresult call(const char* name, void** found, int version, cu::cuuint64_t flags,
                           cu::CUdriverProcAddressQueryResult* status) noexcept {
    const cu::CUresult result = driver_call<Entry::cuGetProcAddress_v2>(name, found, version, flags, status);
    if (result == cu::CUDA_SUCCESS) reroute(name, found);
    return result;
  }
};

}  // namespace cotenant
