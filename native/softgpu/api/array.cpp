// Arrays: linear memory with a shape. They count on the device like any other memory.
#include <algorithm>

#include "softgpu/driver/driver.h"

namespace cotenant::cu {

using namespace soft;

namespace {

std::size_t element_size(CUarray_format format, unsigned channels) {
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8: return channels;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF: return std::size_t{2} * channels;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT: return std::size_t{4} * channels;
  }
  return 0;
}

CUresult make_array(Call& call, const CUDA_ARRAY3D_DESCRIPTOR& shape, std::unique_ptr<Array>& out) {
  const std::size_t element = element_size(shape.Format, shape.NumChannels);
  const bool channels = shape.NumChannels == 1 || shape.NumChannels == 2 || shape.NumChannels == 4;
  if (element == 0 || !channels || shape.Width == 0 || (shape.Depth != 0 && shape.Height == 0)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  out = std::make_unique<Array>();
  out->shape = shape;
  out->element = element;
  const std::size_t rows = std::max<std::size_t>(shape.Height, 1) * std::max<std::size_t>(shape.Depth, 1);
  const std::size_t bytes = shape.Width * element * rows;
  CUdeviceptr base = 0;
  Context& root = *call.context->root;
  const CUresult error = call.d.memory.allocate(Allocation::Kind::device, bytes, root.device, &root, nullptr, &base);
  out->base = std::uintptr_t(base);
  return error;
}

Array* resolve(Call& call, CUarray handle) {
  if (call.error != CUDA_SUCCESS) return nullptr;
  const auto found = call.d.arrays.find(object<Array>(handle));
  if (found == call.d.arrays.end()) call.error = CUDA_ERROR_INVALID_HANDLE;
  return call.error == CUDA_SUCCESS ? found->second.get() : nullptr;
}

}  // namespace

CUresult cuArray3DCreate_v2(CUarray* pHandle, const CUDA_ARRAY3D_DESCRIPTOR* pAllocateArray) {
  Call call;
  if (call.error != CUDA_SUCCESS) return call.error;
  if (pHandle == nullptr || pAllocateArray == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (call.is_unsafe_in_capture()) return call.error;
  std::unique_ptr<Array> array;
  const CUresult error = make_array(call, *pAllocateArray, array);
  if (error != CUDA_SUCCESS) return error;
  *pHandle = reinterpret_cast<CUarray>(array.get());
  call.d.arrays[array.get()] = std::move(array);
  return CUDA_SUCCESS;
}

CUresult cuArrayCreate_v2(CUarray* pHandle, const CUDA_ARRAY_DESCRIPTOR* pAllocateArray) {
  if (pAllocateArray == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUDA_ARRAY3D_DESCRIPTOR shape{pAllocateArray->Width,  pAllocateArray->Height,      0,
                                      pAllocateArray->Format, pAllocateArray->NumChannels, 0};
  return cuArray3DCreate_v2(pHandle, &shape);
}

CUresult cuArrayDestroy(CUarray hArray) {
  Call call;
  const Array* array = resolve(call, hArray);
  if (array == nullptr) return call.error;
  if (!array->owned) return CUDA_ERROR_INVALID_HANDLE;
  call.wait(everything(*call.context->root));
  call.d.memory.release(array->base);
  call.d.arrays.erase(object<Array>(hArray));
  return CUDA_SUCCESS;
}

CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR* pArrayDescriptor, CUarray hArray) {
  Call call(Call::Needs::init);
  const Array* array = resolve(call, hArray);
  if (array == nullptr) return call.error;
  if (pArrayDescriptor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pArrayDescriptor = array->shape;
  return CUDA_SUCCESS;
}

CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR* pArrayDescriptor, CUarray hArray) {
  CUDA_ARRAY3D_DESCRIPTOR shape{};
  if (pArrayDescriptor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult error = cuArray3DGetDescriptor_v2(&shape, hArray);
  *pArrayDescriptor = {shape.Width, shape.Height, shape.Format, shape.NumChannels};
  return error;
}

CUresult cuMipmappedArrayCreate(CUmipmappedArray* pHandle, const CUDA_ARRAY3D_DESCRIPTOR* pMipmappedArrayDesc,
                                unsigned int numMipmapLevels) {
  Call call;
  if (call.error != CUDA_SUCCESS) return call.error;
  if (pHandle == nullptr || pMipmappedArrayDesc == nullptr || numMipmapLevels == 0) return CUDA_ERROR_INVALID_VALUE;
  auto mipmap = std::make_unique<MipmappedArray>();
  CUDA_ARRAY3D_DESCRIPTOR shape = *pMipmappedArrayDesc;
  for (unsigned level = 0; level < numMipmapLevels; ++level) {
    std::unique_ptr<Array> array;
    const CUresult error = make_array(call, shape, array);
    if (error != CUDA_SUCCESS) {
      for (const auto& made : mipmap->levels) call.d.memory.release(made->base);
      return error;
    }
    array->owned = false;
    mipmap->levels.push_back(std::move(array));
    for (std::size_t* side : {&shape.Width, &shape.Height, &shape.Depth}) *side = *side > 1 ? *side / 2 : *side;
  }
  *pHandle = reinterpret_cast<CUmipmappedArray>(mipmap.get());
  call.d.mipmaps[mipmap.get()] = std::move(mipmap);
  return CUDA_SUCCESS;
}

CUresult cuMipmappedArrayGetLevel(CUarray* pLevelArray, CUmipmappedArray hMipmappedArray, unsigned int level) {
  Call call;
  if (call.error != CUDA_SUCCESS) return call.error;
  const auto found = call.d.mipmaps.find(object<MipmappedArray>(hMipmappedArray));
  if (found == call.d.mipmaps.end()) return CUDA_ERROR_INVALID_HANDLE;
  if (pLevelArray == nullptr || level >= found->second->levels.size()) return CUDA_ERROR_INVALID_VALUE;
  const Array& array = *found->second->levels[level];
  auto view = std::make_unique<Array>(array);  // a handle of its own: copies look arrays up by handle
  *pLevelArray = reinterpret_cast<CUarray>(view.get());
  call.d.arrays[view.get()] = std::move(view);
  return CUDA_SUCCESS;
}

CUresult cuMipmappedArrayDestroy(CUmipmappedArray hMipmappedArray) {
  Call call;
  if (call.error != CUDA_SUCCESS) return call.error;
  const auto found = call.d.mipmaps.find(object<MipmappedArray>(hMipmappedArray));
  if (found == call.d.mipmaps.end()) return CUDA_ERROR_INVALID_HANDLE;
  call.wait(everything(*call.context->root));
  for (const auto& level : found->second->levels) {
    for (auto at = call.d.arrays.begin(); at != call.d.arrays.end();) {
      at = !at->second->owned && at->second->base == level->base ? call.d.arrays.erase(at) : std::next(at);
    }
    call.d.memory.release(level->base);
  }
  call.d.mipmaps.erase(found);
  return CUDA_SUCCESS;
}

}  // namespace cotenant::cu
