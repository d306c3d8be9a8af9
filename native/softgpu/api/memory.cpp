// Device memory, host memory that the device sees, and questions about pointers.
#include "softgpu/driver/driver.h"

namespace cotenant::cu {

using namespace soft;

namespace {

constexpr std::size_t kPitch = 512;

CUresult allocate(Allocation::Kind kind, CUdeviceptr* dptr, std::size_t bytes) {
  Call call;
  if (call.error != CUDA_SUCCESS) return call.error;
  if (dptr == nullptr || call.is_unsafe_in_capture()) return dptr == nullptr ? CUDA_ERROR_INVALID_VALUE : call.error;
  Context& root = *call.context->root;
  return call.d.memory.allocate(kind, bytes, root.device, &root, nullptr, dptr);
}

CUresult allocate_host(void** pp, std::size_t bytes, unsigned flags) {
  if (pp == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUdeviceptr pointer = 0;
  const CUresult error = allocate(Allocation::Kind::pinned, &pointer, bytes);
  if (error != CUDA_SUCCESS) return error;
  *pp = reinterpret_cast<void*>(std::uintptr_t(pointer));
  Call call;
  call.d.memory.find(pointer)->flags = flags;
  return CUDA_SUCCESS;
}

CUdeviceptr address(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

template <class T>
void put(void* data, T value) {
  *static_cast<T*>(data) = value;
}

// One attribute of a pointer, written as the driver writes it: the types differ by attribute.
CUresult attribute(Call& call, void* data, CUpointer_attribute attribute, CUdeviceptr ptr) {
  const Allocation* range = call.d.memory.find(ptr);
  if (data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (range == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const bool on_device = range->on_device();
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT: put(data, reinterpret_cast<CUcontext>(range->context)); break;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE: put(data, on_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST); break;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: put(data, ptr); break;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      if (on_device && range->kind != Allocation::Kind::managed) return CUDA_ERROR_INVALID_VALUE;
      put(data, reinterpret_cast<void*>(std::uintptr_t(ptr)));
      break;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID: put<unsigned long long>(data, range->id); break;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: put<unsigned char>(data, range->kind == Allocation::Kind::managed); break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: put(data, int(range->device)); break;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR: put<CUdeviceptr>(data, range->base); break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE: put(data, range->size); break;
    case CU_POINTER_ATTRIBUTE_MAPPED: put<unsigned char>(data, 1); break;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS: put<unsigned long long>(data, CU_MEM_ACCESS_FLAGS_PROT_READWRITE); break;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE: put(data, reinterpret_cast<CUmemoryPool>(range->pool)); break;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE: put<unsigned char>(data, 0); break;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES: put<unsigned long long>(data, 0); break;
    default: return CUDA_ERROR_NOT_SUPPORTED;
  }
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuMemAlloc_v2(CUdeviceptr* dptr, size_t bytesize) {
  return allocate(Allocation::Kind::device, dptr, bytesize);
}

CUresult cuMemAllocManaged(CUdeviceptr* dptr, size_t bytesize, unsigned int flags) {
  if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST) return CUDA_ERROR_INVALID_VALUE;
  return allocate(Allocation::Kind::managed, dptr, bytesize);
}

CUresult cuMemAllocPitch_v2(CUdeviceptr* dptr, size_t* pPitch, size_t WidthInBytes, size_t Height,
                            unsigned int ElementSizeBytes) {
  if (pPitch == nullptr || (ElementSizeBytes != 4 && ElementSizeBytes != 8 && ElementSizeBytes != 16)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *pPitch = (WidthInBytes + kPitch - 1) / kPitch * kPitch;
  return allocate(Allocation::Kind::device, dptr, *pPitch * Height);
}

CUresult cuMemFree_v2(CUdeviceptr dptr) {
  Call call;
  if (call.error != CUDA_SUCCESS) return call.error;
  if (dptr == 0) return CUDA_SUCCESS;
  const Allocation* range = call.d.memory.find(dptr);
  if (range == nullptr || range->base != dptr || !range->on_device() || range->kind == Allocation::Kind::mapped) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (call.is_unsafe_in_capture()) return call.error;
  // As in the driver: waits until no work runs that may use the memory, except for memory of a pool.
  if (range->pool == nullptr) call.wait(everything(*call.context->root));
  return call.d.memory.release(dptr) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// The version of CUDA 2, for addresses of 32 bits. As in a 64-bit driver, no memory has such an address.
extern "C" __attribute__((visibility("default"))) CUresult cuMemFree(unsigned int dptr);

CUresult cuMemFree(unsigned int) {
  const Call call;
  return call.error == CUDA_SUCCESS ? CUDA_ERROR_INVALID_VALUE : call.error;
}

CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  Call call;
  if (call.error != CUDA_SUCCESS) return call.error;
  if (free == nullptr || total == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const unsigned device = call.context->device;
  *total = call.d.region.device(device).memory_total.load();
  const std::uint64_t used = call.d.region.used_bytes(device);
  *free = used < *total ? *total - used : 0;
  return CUDA_SUCCESS;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr* pbase, size_t* psize, CUdeviceptr dptr) {
  Call call;
  if (call.error != CUDA_SUCCESS) return call.error;
  const Allocation* range = call.d.memory.find(dptr);
  if (range == nullptr) return CUDA_ERROR_NOT_FOUND;
  if (pbase != nullptr) *pbase = range->base;
  if (psize != nullptr) *psize = range->size;
  return CUDA_SUCCESS;
}

CUresult cuMemHostAlloc(void** pp, size_t bytesize, unsigned int Flags) { return allocate_host(pp, bytesize, Flags); }
CUresult cuMemAllocHost_v2(void** pp, size_t bytesize) {
  return allocate_host(pp, bytesize, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
}

CUresult cuMemFreeHost(void* p) {
  Call call;
  if (call.error != CUDA_SUCCESS) return call.error;
  const Allocation* range = call.d.memory.find(address(p));
  if (range == nullptr || range->base != address(p) || range->kind != Allocation::Kind::pinned) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (call.is_unsafe_in_capture()) return call.error;
  call.wait(everything(*call.context->root));
  return call.d.memory.release(address(p)) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemHostRegister_v2(void* p, size_t bytesize, unsigned int Flags) {
  Call call;
  if (call.error != CUDA_SUCCESS || call.is_unsafe_in_capture()) return call.error;
  static unsigned asked = 0;  // under the driver's lock
  if (asked < call.d.settings.refused_registers) {
    ++asked;
    return CUDA_ERROR_NOT_PERMITTED;
  }
  return call.d.memory.register_host(p, bytesize, Flags, call.context->root);
}
CUresult cuMemHostRegister(void* p, size_t bytesize, unsigned int Flags) {
  return cuMemHostRegister_v2(p, bytesize, Flags);
}

CUresult cuMemHostUnregister(void* p) {
  Call call;
  if (call.error != CUDA_SUCCESS) return call.error;
  const Allocation* range = call.d.memory.find(address(p));
  if (range == nullptr || range->base != address(p) || range->kind != Allocation::Kind::registered) {
    return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  }
  if (call.is_unsafe_in_capture()) return call.error;
  call.d.memory.release(address(p));
  return CUDA_SUCCESS;
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* pdptr, void* p, unsigned int Flags) {
  Call call;
  if (call.error != CUDA_SUCCESS) return call.error;
  const Allocation* range = call.d.memory.find(address(p));
  if (pdptr == nullptr || Flags != 0 || range == nullptr || range->kind == Allocation::Kind::device) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *pdptr = address(p);
  return CUDA_SUCCESS;
}

CUresult cuMemHostGetFlags(unsigned int* pFlags, void* p) {
  Call call;
  if (call.error != CUDA_SUCCESS) return call.error;
  const Allocation* range = call.d.memory.find(address(p));
  if (pFlags == nullptr || range == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pFlags = range->flags;
  return CUDA_SUCCESS;
}

CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attrib, CUdeviceptr ptr) {
  Call call(Call::Needs::init);
  return call.error != CUDA_SUCCESS ? call.error : attribute(call, data, attrib, ptr);
}

CUresult cuPointerGetAttributes(unsigned int numAttributes, CUpointer_attribute* attributes, void** data,
                                CUdeviceptr ptr) {
  Call call(Call::Needs::init);
  if (call.error != CUDA_SUCCESS) return call.error;
  if (attributes == nullptr || data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  // An unknown pointer is not an error here: its attributes are zeros.
  const bool known = call.d.memory.find(ptr) != nullptr;
  for (unsigned i = 0; i < numAttributes; ++i) {
    if (known) attribute(call, data[i], attributes[i], ptr);
    else if (attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) *static_cast<int*>(data[i]) = -2;
    else if (attributes[i] == CU_POINTER_ATTRIBUTE_MEMORY_TYPE) *static_cast<unsigned*>(data[i]) = 0;
    else if (attributes[i] == CU_POINTER_ATTRIBUTE_IS_MANAGED || attributes[i] == CU_POINTER_ATTRIBUTE_MAPPED)
      *static_cast<unsigned char*>(data[i]) = 0;
    else *static_cast<unsigned long long*>(data[i]) = 0;
  }
  return CUDA_SUCCESS;
}

CUresult cuPointerSetAttribute(const void*, CUpointer_attribute, CUdeviceptr ptr) {
  Call call(Call::Needs::init);
  if (call.error != CUDA_SUCCESS) return call.error;
  return call.d.memory.find(ptr) == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

}  // namespace cotenant::cu
