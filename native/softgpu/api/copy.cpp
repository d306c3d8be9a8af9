// Linear copies.
#include <algorithm>

#include "softgpu/driver/copy.h"

namespace cotenant::cu {

using namespace soft;

namespace {

std::uintptr_t address(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }
std::uintptr_t address(CUdeviceptr pointer) { return std::uintptr_t(pointer); }

// Whether a pointer is memory that the device knows: its own, or registered host memory.
bool is_mapped(Call& call, CUdeviceptr pointer) { return call.d.memory.find(pointer) != nullptr; }

template <class To, class From>
CUresult copy(To to, From from, std::size_t bytes, CUstream stream, Waits waits) {
  Call call;
  if (call.error != CUDA_SUCCESS && call.error != CUDA_ERROR_INVALID_CONTEXT) return call.error;
  if constexpr (std::is_same_v<To, CUdeviceptr>) {
    if (bytes > 0 && !is_mapped(call, to)) return CUDA_ERROR_INVALID_VALUE;
  }
  if constexpr (std::is_same_v<From, CUdeviceptr>) {
    if (bytes > 0 && !is_mapped(call, from)) return CUDA_ERROR_INVALID_VALUE;
  }
  return submit_copy(call, stream, linear(address(to), address(from), bytes), waits);
}

// Each side may be in the host's or the device's memory; the address tells which.
CUresult copy_any(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream, Waits waits) {
  Call call;
  return submit_copy(call, stream, linear(std::uintptr_t(to), std::uintptr_t(from), bytes), waits);
}

// Each copy must say when its source is read. The legacy stream takes no batches (an H200, driver 580).
struct Attributes {
  const CUmemcpyAttributes* of;
  const size_t* indices;
  size_t count;
  [[nodiscard]] bool are_valid() const {
    return of != nullptr && indices != nullptr && count > 0 && indices[0] == 0 &&
           std::all_of(of, of + count,
                       [](const auto& one) { return one.srcAccessOrder != CU_MEMCPY_SRC_ACCESS_ORDER_INVALID; });
  }
};

CUresult batch(const CUdeviceptr* to, const CUdeviceptr* from, const size_t* sizes, size_t count, Attributes attributes,
               size_t* failed, CUstream stream) {
  if (to == nullptr || from == nullptr || sizes == nullptr || count == 0 || !attributes.are_valid() ||
      stream == nullptr)
    return CUDA_ERROR_INVALID_VALUE;
  for (std::size_t i = 0; i < count; ++i) {
    const CUresult error = copy_any(to[i], from[i], sizes[i], stream, Waits::never);
    if (error == CUDA_SUCCESS) continue;
    if (failed != nullptr) *failed = i;
    return error;
  }
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount) {
  return copy_any(dst, src, ByteCount, nullptr, Waits::as_needed);
}
CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream) {
  return copy_any(dst, src, ByteCount, hStream, Waits::never);
}

CUresult cuMemcpyPeer(CUdeviceptr dstDevice, CUcontext, CUdeviceptr srcDevice, CUcontext, size_t ByteCount) {
  return copy(dstDevice, srcDevice, ByteCount, nullptr, Waits::as_needed);
}

CUresult cuMemcpyPeerAsync(CUdeviceptr dstDevice, CUcontext, CUdeviceptr srcDevice, CUcontext, size_t ByteCount,
                           CUstream hStream) {
  return copy(dstDevice, srcDevice, ByteCount, hStream, Waits::never);
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr dstDevice, const void* srcHost, size_t ByteCount) {
  return copy(dstDevice, srcHost, ByteCount, nullptr, Waits::as_needed);
}
CUresult cuMemcpyDtoH_v2(void* dstHost, CUdeviceptr srcDevice, size_t ByteCount) {
  return copy(static_cast<const void*>(dstHost), srcDevice, ByteCount, nullptr, Waits::as_needed);
}
CUresult cuMemcpyDtoD_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount) {
  return copy(dstDevice, srcDevice, ByteCount, nullptr, Waits::as_needed);
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dstDevice, const void* srcHost, size_t ByteCount, CUstream hStream) {
  return copy(dstDevice, srcHost, ByteCount, hStream, Waits::never);
}
CUresult cuMemcpyDtoHAsync_v2(void* dstHost, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream) {
  return copy(static_cast<const void*>(dstHost), srcDevice, ByteCount, hStream, Waits::never);
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream) {
  return copy(dstDevice, srcDevice, ByteCount, hStream, Waits::never);
}

CUresult cuMemcpyBatchAsync(CUdeviceptr* dsts, CUdeviceptr* srcs, size_t* sizes, size_t count,
                            CUmemcpyAttributes* attrs, size_t* attrsIdxs, size_t numAttrs, size_t* failIdx,
                            CUstream hStream) {
  return batch(dsts, srcs, sizes, count, {attrs, attrsIdxs, numAttrs}, failIdx, hStream);
}

CUresult cuMemcpyBatchAsync_v2(CUdeviceptr* dsts, CUdeviceptr* srcs, size_t* sizes, size_t count,
                               CUmemcpyAttributes* attrs, size_t* attrsIdxs, size_t numAttrs, CUstream hStream) {
  return batch(dsts, srcs, sizes, count, {attrs, attrsIdxs, numAttrs}, nullptr, hStream);
}

CUresult cuMemcpyWithAttributesAsync(CUdeviceptr dst, CUdeviceptr src, size_t size, CUmemcpyAttributes* attr,
                                     CUstream hStream) {
  size_t first = 0;
  return batch(&dst, &src, &size, 1, {attr, attr != nullptr ? &first : nullptr, attr != nullptr ? size_t{1} : 0},
               nullptr, hStream);
}

// Migration has no effect, because all memory is in one place.
namespace {

CUresult hint(CUdeviceptr pointer, size_t count, CUstream stream) {
  Call call;
  if (call.error != CUDA_SUCCESS && call.error != CUDA_ERROR_INVALID_CONTEXT) return call.error;
  if (call.d.memory.find(pointer, count) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  call.error = CUDA_SUCCESS;
  Stream* found = call.stream(stream);
  return found == nullptr ? call.error : submit(call.d, *found, Work{});
}

}  // namespace

CUresult cuMemPrefetchAsync(CUdeviceptr devPtr, size_t count, CUdevice, CUstream hStream) {
  return hint(devPtr, count, hStream);
}
CUresult cuMemPrefetchAsync_v2(CUdeviceptr devPtr, size_t count, CUmemLocation, unsigned int, CUstream hStream) {
  return hint(devPtr, count, hStream);
}
CUresult cuMemPrefetchBatchAsync(CUdeviceptr* dptrs, size_t* sizes, size_t count, CUmemLocation* prefetchLocs,
                                 size_t* prefetchLocIdxs, size_t numPrefetchLocs, unsigned long long flags,
                                 CUstream hStream) {
  if (prefetchLocs == nullptr || prefetchLocIdxs == nullptr || numPrefetchLocs == 0 || prefetchLocIdxs[0] != 0)
    return CUDA_ERROR_INVALID_VALUE;
  return cuMemDiscardBatchAsync(dptrs, sizes, count, flags, hStream);
}
CUresult cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr* dptrs, size_t* sizes, size_t count, CUmemLocation* prefetchLocs,
                                           size_t* prefetchLocIdxs, size_t numPrefetchLocs, unsigned long long flags,
                                           CUstream hStream) {
  return cuMemPrefetchBatchAsync(dptrs, sizes, count, prefetchLocs, prefetchLocIdxs, numPrefetchLocs, flags, hStream);
}
// Discarded memory may contain anything, also its old contents.
CUresult cuMemDiscardBatchAsync(CUdeviceptr* dptrs, size_t* sizes, size_t count, unsigned long long flags,
                                CUstream hStream) {
  if (dptrs == nullptr || sizes == nullptr || count == 0 || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < count; ++i)
    if (const CUresult error = hint(dptrs[i], sizes[i], hStream); error != CUDA_SUCCESS) return error;
  return CUDA_SUCCESS;
}
CUresult cuMemAdvise(CUdeviceptr, size_t, CUmem_advise, CUdevice) { return Call(Call::Needs::init).error; }
CUresult cuMemAdvise_v2(CUdeviceptr, size_t, CUmem_advise, CUmemLocation) { return Call(Call::Needs::init).error; }

}  // namespace cotenant::cu
