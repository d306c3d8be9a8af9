// Small things that programs ask for on the way: descriptors that only kernels read, logs of which there are none, settings
// without an effect.
#include "softgpu/driver/driver.h"

namespace cotenant::cu {

using namespace soft;

namespace {

CUresult encode(CUtensorMap* map, void* address) {
  if (map == nullptr || address == nullptr || std::uintptr_t(map) % alignof(CUtensorMap) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  *map = {};
  map->opaque[0] = std::uintptr_t(address);
  return CUDA_SUCCESS;
}

// Pools of other memory than a device's are not offered.
CUresult check(const CUmemLocation* location, CUmemAllocationType type) {
  if (location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const bool device = location->type == CU_MEM_LOCATION_TYPE_DEVICE && type == CU_MEM_ALLOCATION_TYPE_PINNED;
  return device ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace

CUresult cuTensorMapEncodeTiled(CUtensorMap* tensorMap, unsigned int, cuuint32_t, void* globalAddress,
                                const cuuint64_t*, const cuuint64_t*, const cuuint32_t*, const cuuint32_t*,
                                unsigned int, unsigned int, unsigned int, unsigned int) {
  return encode(tensorMap, globalAddress);
}
CUresult cuTensorMapEncodeIm2col(CUtensorMap* tensorMap, unsigned int, cuuint32_t, void* globalAddress,
                                 const cuuint64_t*, const cuuint64_t*, const int*, const int*, cuuint32_t, cuuint32_t,
                                 const cuuint32_t*, unsigned int, unsigned int, unsigned int, unsigned int) {
  return encode(tensorMap, globalAddress);
}
CUresult cuTensorMapReplaceAddress(CUtensorMap* tensorMap, void* globalAddress) {
  return encode(tensorMap, globalAddress);
}

CUresult cuLogsRegisterCallback(CUlogsCallback callbackFunc, void*, CUlogsCallbackHandle* callback_out) {
  if (callbackFunc == nullptr || callback_out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *callback_out = reinterpret_cast<CUlogsCallbackHandle>(callbackFunc);
  return CUDA_SUCCESS;
}
CUresult cuLogsUnregisterCallback(CUlogsCallbackHandle callback) {
  return callback == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
CUresult cuLogsCurrent(unsigned int* iterator_out, unsigned int) {
  if (iterator_out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *iterator_out = 0;
  return CUDA_SUCCESS;
}
CUresult cuLogsDumpToMemory(unsigned int*, char* buffer, size_t* size, unsigned int) {
  if (buffer == nullptr || size == nullptr || *size == 0) return CUDA_ERROR_INVALID_VALUE;
  *buffer = 0;
  *size = 0;
  return CUDA_SUCCESS;
}

CUresult cuMemGetDefaultMemPool(CUmemoryPool* pool_out, CUmemLocation* location, CUmemAllocationType type) {
  const CUresult error = check(location, type);
  return error == CUDA_SUCCESS ? cuDeviceGetDefaultMemPool(pool_out, location->id) : error;
}
CUresult cuMemGetMemPool(CUmemoryPool* pool, CUmemLocation* location, CUmemAllocationType type) {
  const CUresult error = check(location, type);
  return error == CUDA_SUCCESS ? cuDeviceGetMemPool(pool, location->id) : error;
}
CUresult cuMemSetMemPool(CUmemLocation* location, CUmemAllocationType type, CUmemoryPool pool) {
  const CUresult error = check(location, type);
  return error == CUDA_SUCCESS ? cuDeviceSetMemPool(location->id, pool) : error;
}

// Neither managed variables nor functions of both sides are read out of code.
CUresult cuLibraryGetManaged(CUdeviceptr*, size_t*, CUlibrary, const char*) { return CUDA_ERROR_NOT_FOUND; }
CUresult cuLibraryGetUnifiedFunction(void**, CUlibrary, const char*) { return CUDA_ERROR_NOT_FOUND; }

CUresult cuCtxGetSharedMemConfig(CUsharedconfig* pConfig) {
  if (pConfig == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pConfig = {};
  return Call().error;
}
CUresult cuCtxSetSharedMemConfig(CUsharedconfig) { return Call().error; }
CUresult cuFlushGPUDirectRDMAWrites(unsigned int, unsigned int) { return Call().error; }
CUresult cuProfilerInitialize(const char*, const char*, unsigned int) { return CUDA_ERROR_NOT_SUPPORTED; }

CUresult cuDeviceGetTexture1DLinearMaxWidth(size_t* maxWidthInElements, CUarray_format, unsigned, CUdevice dev) {
  const Call call(Call::Needs::init);
  if (call.error != CUDA_SUCCESS) return call.error;
  if (!call.has_device(dev)) return CUDA_ERROR_INVALID_DEVICE;
  if (maxWidthInElements == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *maxWidthInElements = std::size_t{1} << 28;
  return CUDA_SUCCESS;
}

}  // namespace cotenant::cu
