// Copies of pitched memory and of arrays.
#include <algorithm>

#include "softgpu/driver/copy.h"

namespace cotenant::cu {

using namespace soft;

namespace {

CUresult copy(const CUDA_MEMCPY3D& form, CUstream stream, Waits waits) {
  Call call;
  if (call.error != CUDA_SUCCESS && call.error != CUDA_ERROR_INVALID_CONTEXT) return call.error;
  CopyWork work;
  if (!boxes(call.d, form, work)) return CUDA_ERROR_INVALID_VALUE;
  return submit_copy(call, stream, std::move(work), waits);
}

// A run of bytes in an array: offsets count along its first row.
struct InArray {
  CUarray handle;
  std::size_t offset;
};

bool locate(Driver& d, const InArray& place, std::size_t bytes, std::uintptr_t& out) {
  const auto found = d.arrays.find(object<Array>(place.handle));
  if (found == d.arrays.end()) return false;
  const Array& array = *found->second;
  if (place.offset + bytes > array.shape.Width * array.element) return false;
  out = array.base + place.offset;
  return true;
}
bool locate(Driver& d, CUdeviceptr place, std::size_t bytes, std::uintptr_t& out) {
  out = std::uintptr_t(place);
  return d.memory.find(place, bytes) != nullptr;
}
bool locate(Driver&, const void* place, std::size_t, std::uintptr_t& out) {
  out = reinterpret_cast<std::uintptr_t>(place);
  return place != nullptr;
}

template <class To, class From>
CUresult copy(To to, From from, std::size_t bytes, CUstream stream, Waits waits) {
  Call call;
  if (call.error != CUDA_SUCCESS && call.error != CUDA_ERROR_INVALID_CONTEXT) return call.error;
  std::uintptr_t target = 0;
  std::uintptr_t source = 0;
  if (!locate(call.d, to, bytes, target) || !locate(call.d, from, bytes, source)) return CUDA_ERROR_INVALID_VALUE;
  return submit_copy(call, stream, linear(target, source, bytes), waits);
}

bool operand(Driver& d, const CUmemcpy3DOperand& side, const CUextent3D& extent, Box& out, std::size_t element) {
  if (side.type == CU_MEMCPY_OPERAND_TYPE_POINTER) {
    const auto& p = side.op.ptr;
    out.base = std::uintptr_t(p.ptr);
    out.pitch = (p.rowLength == 0 ? extent.width : p.rowLength) * element;
    out.slice = out.pitch * (p.layerHeight == 0 ? extent.height : p.layerHeight);
    return out.base != 0;
  }
  const auto found = d.arrays.find(object<Array>(side.op.array.array));
  if (side.type != CU_MEMCPY_OPERAND_TYPE_ARRAY || found == d.arrays.end()) return false;
  const Array& array = *found->second;
  const CUoffset3D& offset = side.op.array.offset;
  out.pitch = array.shape.Width * array.element;
  out.slice = out.pitch * (array.shape.Height == 0 ? 1 : array.shape.Height);
  out.base = array.base + offset.z * out.slice + offset.y * out.pitch + offset.x * array.element;
  return true;
}

// Extents count elements where an array takes part, bytes between pointers.
std::size_t element_of(Driver& d, const CUDA_MEMCPY3D_BATCH_OP& op) {
  for (const CUmemcpy3DOperand* side : {&op.src, &op.dst}) {
    if (side->type != CU_MEMCPY_OPERAND_TYPE_ARRAY) continue;
    const auto found = d.arrays.find(object<Array>(side->op.array.array));
    if (found != d.arrays.end()) return found->second->element;
  }
  return 1;
}

CUresult batch(size_t count, const CUDA_MEMCPY3D_BATCH_OP* ops, size_t* failed, CUstream stream) {
  const auto unsaid = [](const auto& one) { return one.srcAccessOrder == CU_MEMCPY_SRC_ACCESS_ORDER_INVALID; };
  if (ops == nullptr || count == 0 || stream == nullptr || std::any_of(ops, ops + count, unsaid))
    return CUDA_ERROR_INVALID_VALUE;
  for (std::size_t i = 0; i < count; ++i) {
    Call call;
    CUresult error = call.error == CUDA_ERROR_INVALID_CONTEXT ? CUDA_SUCCESS : call.error;
    CopyWork work;
    if (error == CUDA_SUCCESS) {
      const std::size_t element = element_of(call.d, ops[i]);
      work.width = ops[i].extent.width * element;
      work.height = ops[i].extent.height;
      work.depth = ops[i].extent.depth;
      const bool good = operand(call.d, ops[i].src, ops[i].extent, work.from, element) &&
                        operand(call.d, ops[i].dst, ops[i].extent, work.to, element);
      error = good ? submit_copy(call, stream, std::move(work), Waits::never) : CUDA_ERROR_INVALID_VALUE;
    }
    if (error == CUDA_SUCCESS) continue;
    if (failed != nullptr) *failed = i;
    return error;
  }
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuMemcpyDtoA_v2(CUarray dstArray, size_t dstOffset, CUdeviceptr srcDevice, size_t ByteCount) {
  return copy(InArray{dstArray, dstOffset}, srcDevice, ByteCount, nullptr, Waits::as_needed);
}
CUresult cuMemcpyAtoD_v2(CUdeviceptr dstDevice, CUarray srcArray, size_t srcOffset, size_t ByteCount) {
  return copy(dstDevice, InArray{srcArray, srcOffset}, ByteCount, nullptr, Waits::as_needed);
}
CUresult cuMemcpyHtoA_v2(CUarray dstArray, size_t dstOffset, const void* srcHost, size_t ByteCount) {
  return copy(InArray{dstArray, dstOffset}, srcHost, ByteCount, nullptr, Waits::as_needed);
}
CUresult cuMemcpyAtoH_v2(void* dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount) {
  return copy(static_cast<const void*>(dstHost), InArray{srcArray, srcOffset}, ByteCount, nullptr, Waits::as_needed);
}
CUresult cuMemcpyAtoA_v2(CUarray dstArray, size_t dstOffset, CUarray srcArray, size_t srcOffset, size_t ByteCount) {
  return copy(InArray{dstArray, dstOffset}, InArray{srcArray, srcOffset}, ByteCount, nullptr, Waits::as_needed);
}
CUresult cuMemcpyHtoAAsync_v2(CUarray dstArray, size_t dstOffset, const void* srcHost, size_t ByteCount,
                              CUstream hStream) {
  return copy(InArray{dstArray, dstOffset}, srcHost, ByteCount, hStream, Waits::never);
}
CUresult cuMemcpyAtoHAsync_v2(void* dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount, CUstream hStream) {
  return copy(static_cast<const void*>(dstHost), InArray{srcArray, srcOffset}, ByteCount, hStream, Waits::never);
}

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* pCopy) {
  return pCopy == nullptr ? CUDA_ERROR_INVALID_VALUE : copy(widen(*pCopy), nullptr, Waits::as_needed);
}
CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* pCopy) { return cuMemcpy2D_v2(pCopy); }
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* pCopy, CUstream hStream) {
  return pCopy == nullptr ? CUDA_ERROR_INVALID_VALUE : copy(widen(*pCopy), hStream, Waits::never);
}
CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D* pCopy) {
  return pCopy == nullptr ? CUDA_ERROR_INVALID_VALUE : copy(*pCopy, nullptr, Waits::as_needed);
}
CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D* pCopy, CUstream hStream) {
  return pCopy == nullptr ? CUDA_ERROR_INVALID_VALUE : copy(*pCopy, hStream, Waits::never);
}
CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER* pCopy) {
  return pCopy == nullptr ? CUDA_ERROR_INVALID_VALUE : copy(widen(*pCopy), nullptr, Waits::as_needed);
}
CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER* pCopy, CUstream hStream) {
  return pCopy == nullptr ? CUDA_ERROR_INVALID_VALUE : copy(widen(*pCopy), hStream, Waits::never);
}

CUresult cuMemcpy3DBatchAsync(size_t numOps, CUDA_MEMCPY3D_BATCH_OP* opList, size_t* failIdx, unsigned long long,
                              CUstream hStream) {
  return batch(numOps, opList, failIdx, hStream);
}
CUresult cuMemcpy3DBatchAsync_v2(size_t numOps, CUDA_MEMCPY3D_BATCH_OP* opList, unsigned long long, CUstream hStream) {
  return batch(numOps, opList, nullptr, hStream);
}

CUresult cuMemcpy3DWithAttributesAsync(CUDA_MEMCPY3D_BATCH_OP* op, unsigned long long, CUstream hStream) {
  return batch(1, op, nullptr, hStream);
}

}  // namespace cotenant::cu
