// Allocation: the quota of a best-effort client, for every family of allocating functions.
#pragma once

#include <type_traits>

#include "interposer/calls/behaviour.h"
#include "interposer/calls/copies.h"
#include "interposer/calls/waits.h"
#include "interposer/lifetime/gang.h"
#include "interposer/movable/movable.h"
#include "interposer/movable/room.h"
#include "interposer/movable/service_memory.h"
#include "interposer/parking/closing.h"
#include "interposer/parking/parking.h"
#include "interposer/quota/graph_memory.h"
#include "interposer/quota/quota.h"
#include "interposer/state/current.h"

namespace cotenant {

// The driver has refused the allocation. Asks again while the agent takes memory from best-effort clients.
template <class Allocate>
[[gnu::cold]] cu::CUresult allocate_again(Gpu* gpu, std::uint64_t bytes, Allocate allocate) noexcept {
  if (!gpu) {
    const Context* context = current_context();
    gpu = context ? context->gpu.get() : nullptr;
  }
  WaitsForRoom room(gpu, bytes);
  cu::CUresult result = cu::CUDA_ERROR_OUT_OF_MEMORY;
  while (result == cu::CUDA_ERROR_OUT_OF_MEMORY && room.again()) result = allocate();
  return result;
}

// `allocate` is the driver call, `charge` records the result. If the GPU is null, the driver reports what is wrong.
template <class Allocate, class Charge>
cu::CUresult allocate_charged(Gpu* gpu, std::uint64_t bytes, Allocate allocate, Charge charge) noexcept {
  if (!quota_counts()) {
    cu::CUresult result = allocate();
    if (result == cu::CUDA_ERROR_OUT_OF_MEMORY) result = allocate_again(gpu, bytes, allocate);
    if (result == cu::CUDA_SUCCESS) note_service_memory(bytes);
    return result;
  }
  if (const cu::CUresult refused = gpu ? may_use(*gpu) : cu::CUDA_SUCCESS; refused != cu::CUDA_SUCCESS) return refused;
  if (!quota_reserve(bytes)) return cu::CUDA_ERROR_OUT_OF_MEMORY;
  cu::CUresult result = allocate();
  if (result == cu::CUDA_ERROR_OUT_OF_MEMORY && is_movable()) result = allocate_again(gpu, bytes, allocate);
  if (result == cu::CUDA_SUCCESS) charge();
  else quota_unreserve(bytes);
  return result;
}

[[nodiscard]] inline Gpu* current_gpu() noexcept {
  const Context* context = quota_counts() ? current_context() : nullptr;
  return context ? context->gpu.get() : nullptr;
}

// Memory or an array that ends with the current context.
template <class Made>
void charge_to_context(const Made* made, std::uint64_t bytes) noexcept {
  cu::CUcontext context = nullptr;
  static_cast<void>(real().cuCtxGetCurrent(&context));
  if constexpr (std::is_pointer_v<Made>)
    quota_charge(made ? reinterpret_cast<std::uintptr_t>(*made) : 0, bytes, context);
  else quota_charge(made ? *made : 0, bytes, context);
}

// Memory from movable blocks where the client asked for it, else the driver's.
template <class Native>
cu::CUresult allocate_movable(cu::CUdeviceptr* pointer, std::uint64_t bytes, Native native) noexcept {
  const Context* context = is_movable() && pointer && bytes > 0 ? current_context() : nullptr;
  if (!context) return native();
  const TouchesMemory touches;
  const cu::CUresult result = movable_allocate(context->gpu->identity.ordinal,
                                               context->handle.load(std::memory_order_relaxed), bytes, *pointer);
  if (result == cu::CUDA_SUCCESS) start_parking();
  if (result != cu::CUDA_ERROR_NOT_SUPPORTED) return result;
  note_unmovable(protocol::Unmovable::kPlain);
  return native();
}

// cuMemAlloc and managed memory: the pointer first, the size second.
template <Entry E>
struct Allocate {
  template <class... More>
  static cu::CUresult call(cu::CUdeviceptr* pointer, std::size_t bytes, More... more) noexcept {
    const auto native = [&] { return driver_call<E>(pointer, bytes, more...); };
    constexpr bool kManaged = has_name<E>("Managed");
    if constexpr (kManaged) note_unmovable(protocol::Unmovable::kManaged);
    return allocate_charged(
        current_gpu(), bytes,
        [&] {
          if constexpr (kManaged) return native();
          else return allocate_movable(pointer, bytes, native);
        },
        [&] { charge_to_context(pointer, bytes); });
  }
};

// Stream-ordered memory from a pool, which belongs to no context. An allocation in a capture belongs to the graph.
template <Entry E>
struct AllocateAsync {
  template <class... More>
  static cu::CUresult call(cu::CUdeviceptr* pointer, std::size_t bytes, More... more) noexcept {
    const auto forward = [&] { return driver_call<E>(pointer, bytes, more...); };
    const cu::CUstream handle = copy::stream_in(more...);
    if (is_capturing(handle, null_stream<E>())) return forward();
    note_unmovable(protocol::Unmovable::kPools);
    const Stream* stream = quota_counts() ? stream_of(handle, null_stream<E>()) : nullptr;
    return allocate_charged(stream ? stream->context->gpu.get() : nullptr, bytes, forward,
                            [&] { quota_charge(pointer ? *pointer : 0, bytes, nullptr); });
  }
};

template <Entry E>
struct FreeAsync {
  static cu::CUresult call(cu::CUdeviceptr pointer, cu::CUstream stream) noexcept {
    const cu::CUresult result = driver_call<E>(pointer, stream);
    if (result == cu::CUDA_SUCCESS && !is_capturing(stream, null_stream<E>())) quota_release(pointer);
    return result;
  }
};

// Frees movable memory as cuMemFree does, which waits for the work of its context. False: it is no movable memory.
inline bool free_movable(cu::CUdeviceptr pointer, cu::CUresult& result) noexcept {
  if (!is_movable()) return false;
  const TouchesMemory touches;
  MovableAllocation own{};
  if (!movable_find(pointer, own)) return false;
  result = cu::CUDA_ERROR_INVALID_VALUE;
  if (own.at != pointer) return true;
  // A context that has a capture cannot be waited for.
  const bool later = has_open_captures();
  result = later ? cu::CUDA_SUCCESS : wait_for_context(context_of(own.context), [&] {
    const Current current(own.context);
    return current.is() ? real().cuCtxSynchronize() : cu::CUDA_ERROR_INVALID_CONTEXT;
  });
  if (result != cu::CUDA_SUCCESS) return true;
  movable_free(pointer, later);
  if (!later) movable_free_late(own.context);
  quota_release(pointer);
  return true;
}

template <Entry E>
struct Free {
  template <class Handle, class... More>
  static cu::CUresult call(Handle handle, More... more) noexcept {
    if constexpr (has_name<E>("MemFree_")) {
      cu::CUresult freed{};
      if (free_movable(handle, freed)) return freed;
    }
    const auto forward = [&] { return driver_call<E>(handle, more...); };
    cu::CUresult result{};
    if constexpr (has_name<E>("MemFree_")) result = wait_to_free(handle, forward);
    else result = kWaits ? time_blocking_call(forward) : forward();
    if (result == cu::CUDA_SUCCESS) quota_release(static_cast<std::uint64_t>(as_number(handle)));
    return result;
  }

 private:
  // The driver first waits for all work that may still use it.
  static constexpr bool kWaits = has_name<E>("ArrayDestroy");
  static std::uint64_t as_number(std::uint64_t handle) noexcept { return handle; }
  static std::uint64_t as_number(const void* handle) noexcept { return reinterpret_cast<std::uintptr_t>(handle); }
};

BEHAVES(cuMemAlloc_v2, Allocate)
BEHAVES(cuMemAllocManaged, Allocate)
BEHAVES(cuMemAllocAsync, AllocateAsync)
BEHAVES(cuMemAllocAsync_ptsz, AllocateAsync)
BEHAVES(cuMemAllocFromPoolAsync, AllocateAsync)
BEHAVES(cuMemAllocFromPoolAsync_ptsz, AllocateAsync)
BEHAVES(cuMemFree_v2, Free)
BEHAVES(cuMemFreeAsync, FreeAsync)
BEHAVES(cuMemFreeAsync_ptsz, FreeAsync)
BEHAVES(cuArrayDestroy, Free)
BEHAVES(cuMipmappedArrayDestroy, Free)

[[nodiscard]] std::uint64_t array_bytes(unsigned format, unsigned channels, std::uint64_t width, std::uint64_t height,
                                        std::uint64_t depth) noexcept;

template <>
struct Behaviour<Entry::cuMemAllocPitch_v2> {
  static cu::CUresult call(cu::CUdeviceptr* pointer, std::size_t* pitch, std::size_t width, std::size_t height,
                           unsigned element) noexcept {
    // Rows are padded to 512 bytes on every GPU so far.
    const std::uint64_t padded = (std::uint64_t{width} + 511) / 512 * 512;
    const auto native = [&] { return driver_call<Entry::cuMemAllocPitch_v2>(pointer, pitch, width, height, element); };
    const bool valid = pitch && (element == 4 || element == 8 || element == 16);
    return allocate_charged(
        current_gpu(), padded * height,
        [&] {
          if (!valid) return native();
          const cu::CUresult result = allocate_movable(pointer, padded * height, native);
          if (result == cu::CUDA_SUCCESS) *pitch = padded;
          return result;
        },
        [&] { charge_to_context(pointer, padded * height); });
  }
};

template <>
struct Behaviour<Entry::cuDeviceGraphMemTrim> {
  static cu::CUresult call(cu::CUdevice device) noexcept {
    const cu::CUresult result = driver_call<Entry::cuDeviceGraphMemTrim>(device);
    if (result == cu::CUDA_SUCCESS && quota_counts()) look_at_graph_memory(device);
    return result;
  }
};

template <Entry E>
struct MakeArray {
  template <class Array, class Descriptor, class... Levels>
  static cu::CUresult call(Array* array, const Descriptor* d, Levels... levels) noexcept {
    const auto forward = [&] { return driver_call<E>(array, d, levels...); };
    if (!d) return forward();
    note_unmovable(protocol::Unmovable::kArrays);
    const std::uint64_t base = array_bytes(d->Format, d->NumChannels, d->Width, d->Height, depth(d));
    // A whole chain of mipmaps is at most a third more than its base.
    const std::uint64_t bytes = sizeof...(levels) ? base + base / 3 : base;
    return allocate_charged(current_gpu(), bytes, forward, [&] { charge_to_context(array, bytes); });
  }

 private:
  static std::uint64_t depth(const cu::CUDA_ARRAY_DESCRIPTOR*) noexcept { return 0; }
  static std::uint64_t depth(const cu::CUDA_ARRAY3D_DESCRIPTOR* d) noexcept { return d->Depth; }
};

BEHAVES(cuArrayCreate_v2, MakeArray)
BEHAVES(cuArray3DCreate_v2, MakeArray)
BEHAVES(cuMipmappedArrayCreate, MakeArray)

template <>
struct Behaviour<Entry::cuMemGetInfo_v2> {
  static cu::CUresult call(std::size_t* free_bytes, std::size_t* total_bytes) noexcept {
    const cu::CUresult result = driver_call<Entry::cuMemGetInfo_v2>(free_bytes, total_bytes);
    std::uint64_t left = free_bytes ? *free_bytes : ~0ull;
    std::uint64_t total = total_bytes ? *total_bytes : ~0ull;
    // Memory that a service may have counts as free, although a best-effort client has it now: services size
    // themselves by it.
    if (role() == Role::kHigh && result == cu::CUDA_SUCCESS && free_bytes && total_bytes) {
      const Context* context = current_context();
      if (context) left = free_for_service(*context->gpu, left);
      *free_bytes = left = std::min(left, total);
    }
    // Parked memory is the program's, and must fit again.
    const std::uint64_t parked = is_movable() && result == cu::CUDA_SUCCESS && free_bytes ? parked_bytes() : 0;
    if (parked > 0) *free_bytes = left = left - std::min(left, parked);
    if (result == cu::CUDA_SUCCESS && quota_view(left, total)) {
      if (free_bytes) *free_bytes = left;
      if (total_bytes) *total_bytes = total;
    }
    return result;
  }
};

template <>
struct Behaviour<Entry::cuDeviceTotalMem_v2> {
  static cu::CUresult call(std::size_t* bytes, cu::CUdevice device) noexcept {
    const cu::CUresult result = driver_call<Entry::cuDeviceTotalMem_v2>(bytes, device);
    std::uint64_t left = ~0ull;
    std::uint64_t total = bytes ? *bytes : ~0ull;
    if (result == cu::CUDA_SUCCESS && bytes && quota_view(left, total)) *bytes = total;
    return result;
  }
};

}  // namespace cotenant
