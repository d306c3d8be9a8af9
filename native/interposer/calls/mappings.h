// Physical memory that the program makes and maps itself. Where it can move, the program's handles are values of ours
// (own_memory.h): each function that takes or returns a handle of such memory is here. Functions that take only handles of
// multicast objects, and cuMemMapArrayAsync, which takes those of tile pools, get none.
#pragma once

#include "interposer/calls/memory.h"
#include "interposer/calls/pointers.h"
#include "interposer/movable/own_memory.h"

namespace cotenant {

template <>
struct Behaviour<Entry::cuMemCreate> {
  static cu::CUresult call(cu::CUmemGenericAllocationHandle* handle, std::size_t bytes,
                           const cu::CUmemAllocationProp* properties, unsigned long long flags) noexcept {
    const bool moves = is_movable() && handle && properties && flags == 0 && own_can_move(*properties);
    const auto forward = [&] {
      if (!moves) return driver_call<Entry::cuMemCreate>(handle, bytes, properties, flags);
      const Context* context = current_context();
      const bool is_there = context && context->gpu->identity.ordinal == properties->location.id;
      const TouchesMemory touches;
      const cu::CUresult made =
          own_create(*handle, bytes, *properties, is_there ? context->handle.load(std::memory_order_relaxed) : nullptr);
      if (made == cu::CUDA_SUCCESS) start_parking();
      return made;
    };
    if (!moves) note_unmovable(protocol::Unmovable::kMapped);
    // Host memory does not count against the GPU's quota.
    if (!properties || properties->location.type != cu::CU_MEM_LOCATION_TYPE_DEVICE) return forward();
    return allocate_charged(gpu_of_device(properties->location.id), bytes, forward,
                            [&] { quota_note_created(handle ? *handle : 0, bytes); });
  }
};

template <>
struct Behaviour<Entry::cuMemRelease> {
  static cu::CUresult call(cu::CUmemGenericAllocationHandle handle) noexcept {
    const TouchesMemory touches;
    cu::CUresult result{};
    if (!is_movable() || !own_release(handle, result)) result = driver_call<Entry::cuMemRelease>(handle);
    if (result == cu::CUDA_SUCCESS) quota_note_handle_released(handle);
    return result;
  }
};

template <>
struct Behaviour<Entry::cuMemRetainAllocationHandle> {
  static cu::CUresult call(cu::CUmemGenericAllocationHandle* handle, void* pointer) noexcept {
    const TouchesMemory touches;
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    // As of memory from cuMemAlloc.
    MovableAllocation allocated{};
    if (is_movable() && movable_find(address, allocated)) return cu::CUDA_ERROR_INVALID_VALUE;
    cu::CUresult result{};
    if (!is_movable() || !own_retain(address, handle, result))
      result = driver_call<Entry::cuMemRetainAllocationHandle>(handle, pointer);
    if (result == cu::CUDA_SUCCESS && handle) quota_note_retained(*handle, address);
    return result;
  }
};

template <>
struct Behaviour<Entry::cuMemMap> {
  static cu::CUresult call(cu::CUdeviceptr address, std::size_t bytes, std::size_t offset,
                           cu::CUmemGenericAllocationHandle handle, unsigned long long flags) noexcept {
    const TouchesMemory touches;
    cu::CUresult result{};
    if (!is_movable() || !own_map(address, bytes, offset, handle, flags, result))
      result = driver_call<Entry::cuMemMap>(address, bytes, offset, handle, flags);
    if (result == cu::CUDA_SUCCESS) quota_note_mapped(address, handle);
    return result;
  }
};

template <>
struct Behaviour<Entry::cuMemUnmap> {
  static cu::CUresult call(cu::CUdeviceptr address, std::size_t bytes) noexcept {
    const TouchesMemory touches;
    MovableAllocation allocated{};
    if (is_movable() && movable_find(address, allocated)) return cu::CUDA_ERROR_INVALID_VALUE;
    const cu::CUresult result =
        is_movable() ? own_unmap(address, bytes) : driver_call<Entry::cuMemUnmap>(address, bytes);
    if (result == cu::CUDA_SUCCESS) quota_note_unmapped(address, bytes);
    return result;
  }
};

template <>
struct Behaviour<Entry::cuMemSetAccess> {
  static cu::CUresult call(cu::CUdeviceptr address, std::size_t bytes, const cu::CUmemAccessDesc* access,
                           std::size_t count) noexcept {
    const TouchesMemory touches;
    return is_movable() ? own_set_access(address, bytes, access, count)
                        : driver_call<Entry::cuMemSetAccess>(address, bytes, access, count);
  }
};

// Memory that is queried or freed must be on the GPU.
template <Entry E>
struct AsksMapping {
  template <class... A>
  static cu::CUresult call(A... arguments) noexcept {
    const TouchesMemory touches;
    return driver_call<E>(arguments...);
  }
};

BEHAVES(cuMemGetAccess, AsksMapping)
BEHAVES(cuMemAddressFree, AsksMapping)

template <>
struct Behaviour<Entry::cuMemGetAllocationPropertiesFromHandle> {
  static cu::CUresult call(cu::CUmemAllocationProp* properties, cu::CUmemGenericAllocationHandle handle) noexcept {
    const TouchesMemory touches;
    return driver_call<Entry::cuMemGetAllocationPropertiesFromHandle>(properties,
                                                                      is_movable() ? own_real(handle) : handle);
  }
};

// A call that lets others than this process use the memory of a handle or of a range: it moves no more if that succeeds.
template <class Call, class... Memory>
cu::CUresult give_to_others(Call call, Memory... memory) noexcept {
  const TouchesMemory touches;
  const cu::CUresult result = call();
  if (result == cu::CUDA_SUCCESS) note_given_to_others();
  if (is_movable() && result == cu::CUDA_SUCCESS) own_stays(memory...);
  return result;
}

template <>
struct Behaviour<Entry::cuMemExportToShareableHandle> {
  static cu::CUresult call(void* shareable, cu::CUmemGenericAllocationHandle handle, cu::CUmemAllocationHandleType type,
                           unsigned long long flags) noexcept {
    return give_to_others(
        [&] {
          return driver_call<Entry::cuMemExportToShareableHandle>(shareable, is_movable() ? own_real(handle) : handle,
                                                                  type, flags);
        },
        handle);
  }
};

template <>
struct Behaviour<Entry::cuMulticastBindMem> {
  static cu::CUresult call(cu::CUmemGenericAllocationHandle multicast, std::size_t at,
                           cu::CUmemGenericAllocationHandle handle, std::size_t offset, std::size_t bytes,
                           unsigned long long flags) noexcept {
    return give_to_others(
        [&] {
          return driver_call<Entry::cuMulticastBindMem>(multicast, at, is_movable() ? own_real(handle) : handle, offset,
                                                        bytes, flags);
        },
        handle);
  }
};

template <>
struct Behaviour<Entry::cuMulticastBindAddr> {
  static cu::CUresult call(cu::CUmemGenericAllocationHandle multicast, std::size_t at, cu::CUdeviceptr address,
                           std::size_t bytes, unsigned long long flags) noexcept {
    return give_to_others([&] { return driver_call<Entry::cuMulticastBindAddr>(multicast, at, address, bytes, flags); },
                          address, bytes);
  }
};

template <>
struct Behaviour<Entry::cuMulticastBindMem_v2> {
  static cu::CUresult call(cu::CUmemGenericAllocationHandle multicast, cu::CUdevice device, std::size_t at,
                           cu::CUmemGenericAllocationHandle handle, std::size_t offset, std::size_t bytes,
                           unsigned long long flags) noexcept {
    return give_to_others(
        [&] {
          return driver_call<Entry::cuMulticastBindMem_v2>(
              multicast, device, at, is_movable() ? own_real(handle) : handle, offset, bytes, flags);
        },
        handle);
  }
};

template <>
struct Behaviour<Entry::cuMulticastBindAddr_v2> {
  static cu::CUresult call(cu::CUmemGenericAllocationHandle multicast, cu::CUdevice device, std::size_t at,
                           cu::CUdeviceptr address, std::size_t bytes, unsigned long long flags) noexcept {
    return give_to_others(
        [&] { return driver_call<Entry::cuMulticastBindAddr_v2>(multicast, device, at, address, bytes, flags); },
        address, bytes);
  }
};

template <>
struct Behaviour<Entry::cuLogicalEndpointBindMem> {
  static cu::CUresult call(cu::CUlogicalEndpointId endpoint, cu::CUdevice device, cu::cuuint64_t at,
                           cu::CUmemGenericAllocationHandle handle, cu::cuuint64_t offset, cu::cuuint64_t bytes,
                           unsigned long long flags) noexcept {
    return give_to_others(
        [&] {
          return driver_call<Entry::cuLogicalEndpointBindMem>(
              endpoint, device, at, is_movable() ? own_real(handle) : handle, offset, bytes, flags);
        },
        handle);
  }
};

template <>
struct Behaviour<Entry::cuLogicalEndpointBindAddr> {
  static cu::CUresult call(cu::CUlogicalEndpointId endpoint, cu::CUdevice device, cu::cuuint64_t at, void* address,
                           cu::cuuint64_t bytes, unsigned long long flags) noexcept {
    return give_to_others(
        [&] { return driver_call<Entry::cuLogicalEndpointBindAddr>(endpoint, device, at, address, bytes, flags); },
        reinterpret_cast<cu::CUdeviceptr>(address), std::size_t{bytes});
  }
};

template <>
struct Behaviour<Entry::cuMemGetHandleForAddressRange> {
  static cu::CUresult call(void* handle, cu::CUdeviceptr address, std::size_t bytes, cu::CUmemRangeHandleType type,
                           unsigned long long flags) noexcept {
    if (is_kept_from_others("cuMemGetHandleForAddressRange", address)) return cu::CUDA_ERROR_NOT_SUPPORTED;
    return give_to_others(
        [&] { return driver_call<Entry::cuMemGetHandleForAddressRange>(handle, address, bytes, type, flags); }, address,
        bytes);
  }
};

// A mark on the memory itself (CU_POINTER_ATTRIBUTE_SYNC_MEMOPS) would not return with it. Programs set it on memory that
// they register with a network card.
template <>
struct Behaviour<Entry::cuPointerSetAttribute> {
  static cu::CUresult call(const void* value, cu::CUpointer_attribute attribute, cu::CUdeviceptr pointer) noexcept {
    return give_to_others([&] { return driver_call<Entry::cuPointerSetAttribute>(value, attribute, pointer); }, pointer,
                          std::size_t{1});
  }
};

}  // namespace cotenant
