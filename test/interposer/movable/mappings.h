// Physical memory and its mappings, as a program makes them.
#pragma once

#include "../harness.h"

namespace harness {

inline CUmemAllocationProp device_memory() {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  return properties;
}

// As PyTorch asks for it.
inline CUmemAllocationProp exportable() {
  CUmemAllocationProp properties = device_memory();
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  properties.allocFlags.gpuDirectRDMACapable = 1;
  return properties;
}

inline CUmemGenericAllocationHandle make(std::size_t bytes, const CUmemAllocationProp& properties = device_memory()) {
  CUmemGenericAllocationHandle handle = 0;
  OK(cuda().cuMemCreate(&handle, bytes, &properties, 0));
  return handle;
}

inline CUdeviceptr reserve(std::size_t bytes) {
  CUdeviceptr range = 0;
  OK(cuda().cuMemAddressReserve(&range, bytes, 0, 0, 0));
  return range;
}

inline void allow(CUdeviceptr at, std::size_t bytes, int device = 0,
                  CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE) {
  const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, device}, flags};
  OK(cuda().cuMemSetAccess(at, bytes, &access, 1));
}

inline unsigned long long access_of(CUdeviceptr at, int device) {
  const CUmemLocation location{CU_MEM_LOCATION_TYPE_DEVICE, device};
  unsigned long long flags = ~0ull;
  OK(cuda().cuMemGetAccess(&flags, &location, at));
  return flags;
}

}  // namespace harness
