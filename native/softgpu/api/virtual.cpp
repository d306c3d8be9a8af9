// Virtual memory management: address ranges, physical memory (a memfd each), and mapping one into the other.
// Physical memory counts on the device from its creation until its handle and all its mappings are gone.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "libc/file_status.h"
#include "softgpu/driver/driver.h"

namespace cotenant::cu {

using namespace soft;

namespace {

constexpr std::size_t kGranularity = 2 << 20;

PhysicalMemory* resolve(Call& call, CUmemGenericAllocationHandle handle) {
  if (call.error != CUDA_SUCCESS) return nullptr;
  const auto found = call.d.physical.find(handle);
  if (found == call.d.physical.end()) call.error = CUDA_ERROR_INVALID_VALUE;
  return call.error == CUDA_SUCCESS ? &found->second : nullptr;
}

void drop(Driver& d, CUmemGenericAllocationHandle handle) {
  const auto found = d.physical.find(handle);
  if (found == d.physical.end() || --found->second.references > 0) return;
  const PhysicalMemory& memory = found->second;
  close(memory.file);
  if (memory.properties.location.type == CU_MEM_LOCATION_TYPE_DEVICE && memory.size > 0) {
    d.region.discharge(unsigned(memory.properties.location.id), memory.size);
  }
  d.physical.erase(found);
}

bool ends_with_a_mapping(Memory& memory, CUdeviceptr end) {
  const Allocation* last = memory.find(end - 1);
  return last != nullptr && last->base + last->size == std::uintptr_t(end);
}

void* pointer(CUdeviceptr address) { return reinterpret_cast<void*>(std::uintptr_t(address)); }

}  // namespace

CUresult cuMemGetAllocationGranularity(size_t* granularity, const CUmemAllocationProp* prop,
                                       CUmemAllocationGranularity_flags) {
  if (granularity == nullptr || prop == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *granularity = kGranularity;
  return CUDA_SUCCESS;
}

CUresult cuMemAddressReserve(CUdeviceptr* ptr, size_t size, size_t alignment, CUdeviceptr, unsigned long long flags) {
  Call call(Call::Needs::init);
  if (call.error != CUDA_SUCCESS) return call.error;
  if (ptr == nullptr || size == 0 || size % kGranularity != 0 || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (alignment < kGranularity) alignment = kGranularity;
  const std::size_t room = size + alignment;
  void* found = mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (found == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  const auto begin = reinterpret_cast<std::uintptr_t>(found);
  const std::uintptr_t aligned = (begin + alignment - 1) / alignment * alignment;
  if (aligned > begin) munmap(found, aligned - begin);
  if (aligned + size < begin + room) munmap(reinterpret_cast<void*>(aligned + size), begin + room - aligned - size);
  *ptr = aligned;
  call.d.memory.note_reserved(aligned, size);
  return CUDA_SUCCESS;
}

CUresult cuMemAddressFree(CUdeviceptr ptr, size_t size) {
  Call call(Call::Needs::init);
  if (call.error != CUDA_SUCCESS) return call.error;
  Memory& memory = call.d.memory;
  if (size == 0 || memory.reserved_at(std::uintptr_t(ptr)) != size || memory.has_mappings(std::uintptr_t(ptr), size))
    return CUDA_ERROR_INVALID_VALUE;
  memory.forget_reserved(std::uintptr_t(ptr));
  munmap(pointer(ptr), size);
  return CUDA_SUCCESS;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t size, const CUmemAllocationProp* prop,
                     unsigned long long flags) {
  Call call(Call::Needs::init);
  if (call.error != CUDA_SUCCESS) return call.error;
  if (handle == nullptr || prop == nullptr || flags != 0 || size == 0 || size % kGranularity != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const bool on_device = prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE;
  if (on_device && unsigned(prop->location.id) >= call.d.region.devices()) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  if (on_device && !call.d.region.charge(unsigned(prop->location.id), size)) return CUDA_ERROR_OUT_OF_MEMORY;
  PhysicalMemory made;
  made.file = memfd_create("softgpu", MFD_CLOEXEC);
  made.size = size;
  made.properties = *prop;
  if (made.file < 0 || ftruncate(made.file, off_t(size)) != 0) {
    if (made.file >= 0) close(made.file);
    if (on_device) call.d.region.discharge(unsigned(prop->location.id), size);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  *handle = ++call.d.ids << 8 | 0x5f;
  call.d.physical[*handle] = made;
  return CUDA_SUCCESS;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  Call call(Call::Needs::init);
  if (resolve(call, handle) == nullptr) return call.error;
  drop(call.d, handle);
  return CUDA_SUCCESS;
}

CUresult cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags) {
  Call call(Call::Needs::init);
  PhysicalMemory* memory = resolve(call, handle);
  if (memory == nullptr) return call.error;
  if (flags != 0 || offset != 0 || ptr % kGranularity != 0 || size == 0 || size % kGranularity != 0 ||
      size > memory->size || !call.d.memory.is_reserved(ptr, size) || call.d.memory.find(ptr) != nullptr ||
      call.d.memory.has_mappings(std::uintptr_t(ptr), size))
    return CUDA_ERROR_INVALID_VALUE;
  if (mmap(pointer(ptr), size, PROT_NONE, MAP_SHARED | MAP_FIXED, memory->file, 0) == MAP_FAILED) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  ++memory->references;
  Allocation range;
  range.kind = Allocation::Kind::mapped;
  range.base = std::uintptr_t(ptr);
  range.size = size;
  range.device = unsigned(memory->properties.location.id);
  range.id = handle;
  call.d.memory.note(range);
  return CUDA_SUCCESS;
}

CUresult cuMemUnmap(CUdeviceptr ptr, size_t size) {
  if (const unsigned us = driver().settings.unmap_us; us > 0)
    std::this_thread::sleep_for(std::chrono::microseconds(us));
  Call call(Call::Needs::init);
  if (call.error != CUDA_SUCCESS) return call.error;
  const Allocation* range = call.d.memory.find(ptr);
  if (range == nullptr || size == 0 || range->base != ptr || range->kind != Allocation::Kind::mapped)
    return CUDA_ERROR_INVALID_VALUE;
  // A span may hold several mappings, each whole. Work that may use them is not waited for (seen with driver 580).
  if (call.d.memory.find(ptr, size) == nullptr || !ends_with_a_mapping(call.d.memory, ptr + size))
    return CUDA_ERROR_INVALID_VALUE;
  for (std::size_t done = 0; done < size;) {
    const Allocation gone = *call.d.memory.find(ptr + done);
    call.d.memory.forget(gone.base);
    for (std::size_t at = 0; at < gone.size; at += kGranularity) call.d.access.erase(gone.base + at);
    // If this fails, the pages stay; the address range is free nevertheless.
    static_cast<void>(mmap(reinterpret_cast<void*>(gone.base), gone.size, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0));
    drop(call.d, gone.id);
    done += gone.size;
  }
  return CUDA_SUCCESS;
}

CUresult cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc* desc, size_t count) {
  Call call(Call::Needs::init);
  if (call.error != CUDA_SUCCESS) return call.error;
  if (desc == nullptr || count == 0 || size == 0 || call.d.memory.find(ptr, size) == nullptr)
    return CUDA_ERROR_INVALID_VALUE;
  if (ptr % kGranularity != 0 || size % kGranularity != 0) return CUDA_ERROR_INVALID_VALUE;
  for (std::size_t i = 0; i < count; ++i)
    if (desc[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE && !call.has_device(desc[i].location.id))
      return CUDA_ERROR_INVALID_DEVICE;
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t at = 0; desc[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE && at < size; at += kGranularity)
      call.d.access[std::uintptr_t(ptr) + at].of[desc[i].location.id] = desc[i].flags;
  // The memory is the host's: what one GPU may do, all may.
  for (std::size_t at = 0; at < size; at += kGranularity) {
    unsigned flags = 0;
    for (const CUmemAccess_flags each : call.d.access[std::uintptr_t(ptr) + at].of) flags |= each;
    const int protection = flags == CU_MEM_ACCESS_FLAGS_PROT_NONE   ? PROT_NONE
                           : flags == CU_MEM_ACCESS_FLAGS_PROT_READ ? PROT_READ
                                                                    : PROT_READ | PROT_WRITE;
    if (mprotect(pointer(ptr + at), kGranularity, protection) != 0) return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location, CUdeviceptr ptr) {
  Call call(Call::Needs::init);
  if (call.error != CUDA_SUCCESS) return call.error;
  if (flags == nullptr || location == nullptr || call.d.memory.find(ptr) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (location->type != CU_MEM_LOCATION_TYPE_DEVICE || !call.has_device(location->id)) return CUDA_ERROR_INVALID_DEVICE;
  const auto found = call.d.access.find(std::uintptr_t(ptr) / kGranularity * kGranularity);
  *flags = found == call.d.access.end() ? CU_MEM_ACCESS_FLAGS_PROT_NONE : found->second.of[location->id];
  return CUDA_SUCCESS;
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* prop, CUmemGenericAllocationHandle handle) {
  Call call(Call::Needs::init);
  const PhysicalMemory* memory = resolve(call, handle);
  if (memory == nullptr) return call.error;
  if (prop == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *prop = memory->properties;
  return CUDA_SUCCESS;
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* addr) {
  Call call(Call::Needs::init);
  if (call.error != CUDA_SUCCESS) return call.error;
  const Allocation* range = call.d.memory.find(reinterpret_cast<std::uintptr_t>(addr));
  if (handle == nullptr || range == nullptr || range->kind != Allocation::Kind::mapped) return CUDA_ERROR_INVALID_VALUE;
  *handle = range->id;
  ++call.d.physical[range->id].references;
  return CUDA_SUCCESS;
}

CUresult cuMemExportToShareableHandle(void* shareableHandle, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType handleType, unsigned long long) {
  Call call(Call::Needs::init);
  const PhysicalMemory* memory = resolve(call, handle);
  if (memory == nullptr) return call.error;
  if (shareableHandle == nullptr || handleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  const int copy = fcntl(memory->file, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return CUDA_ERROR_OPERATING_SYSTEM;
  *static_cast<int*>(shareableHandle) = copy;
  return CUDA_SUCCESS;
}

// Imported memory is counted in the process that made it.
CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* osHandle,
                                        CUmemAllocationHandleType shHandleType) {
  Call call(Call::Needs::init);
  if (call.error != CUDA_SUCCESS) return call.error;
  if (handle == nullptr || shHandleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
  PhysicalMemory made;
  made.file = fcntl(int(reinterpret_cast<std::intptr_t>(osHandle)), F_DUPFD_CLOEXEC, 0);
  struct stat info;
  if (made.file < 0 || !file_status(made.file, &info)) return CUDA_ERROR_INVALID_VALUE;
  made.size = std::size_t(info.st_size);
  made.properties.location.type = CU_MEM_LOCATION_TYPE_INVALID;
  *handle = ++call.d.ids << 8 | 0x5f;
  call.d.physical[*handle] = made;
  return CUDA_SUCCESS;
}

}  // namespace cotenant::cu
