// Stream-ordered allocation. Memory counts from the call until the stream reaches the free. Pools cache nothing, so the
// reserved and the used amounts are equal.
#include "softgpu/driver/driver.h"

namespace cotenant::cu {

using namespace soft;

namespace {

Pool* resolve(Call& call, CUmemoryPool handle) {
  if (call.error != CUDA_SUCCESS) return nullptr;
  auto* pool = object<Pool>(handle);
  for (unsigned device = 0; device < kMaxDevices; ++device) {
    if (pool != nullptr && pool == call.d.memory.default_pool(device)) return pool;
  }
  if (call.d.pools.count(pool) == 0) call.error = CUDA_ERROR_INVALID_VALUE;
  return call.error == CUDA_SUCCESS ? pool : nullptr;
}

Stream* resolve(Call& call, CUstream handle) {
  if (call.error == CUDA_ERROR_INVALID_CONTEXT) call.error = CUDA_SUCCESS;
  return call.error == CUDA_SUCCESS ? call.stream(handle) : nullptr;
}

Pool* current_pool(Driver& d, unsigned device) {
  return d.current_pool[device] != nullptr ? d.current_pool[device] : d.memory.default_pool(device);
}

// The node for a stream that is captured.
CUresult memory_node(Driver& d, Stream& stream, CUgraphNodeType type, CUdeviceptr pointer) {
  const CUresult error = submit_node(d, stream, type, Work{});
  if (error == CUDA_SUCCESS) stream.tail.front()->memory = pointer;
  return error;
}

CUresult allocate(Call& call, CUdeviceptr* dptr, std::size_t bytes, Pool* pool, Stream& stream) {
  if (dptr == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Context& root = *stream.context->root;
  if (pool == nullptr) pool = current_pool(call.d, root.device);
  const CUresult error = call.d.memory.allocate(Allocation::Kind::device, bytes, pool->device, &root, pool, dptr);
  if (error != CUDA_SUCCESS || !stream.capture) return error;
  // In a capture the memory belongs to the graph: every launch has it, and it is freed with the graph.
  stream.capture->graph->allocations.push_back(*dptr);
  return memory_node(call.d, stream, CU_GRAPH_NODE_TYPE_MEM_ALLOC, *dptr);
}

}  // namespace

CUresult cuMemAllocAsync(CUdeviceptr* dptr, size_t bytesize, CUstream hStream) {
  Call call;
  Stream* stream = resolve(call, hStream);
  return stream == nullptr ? call.error : allocate(call, dptr, bytesize, nullptr, *stream);
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr* dptr, size_t bytesize, CUmemoryPool pool, CUstream hStream) {
  Call call;
  Stream* stream = resolve(call, hStream);
  Pool* from = stream == nullptr ? nullptr : resolve(call, pool);
  return from == nullptr ? call.error : allocate(call, dptr, bytesize, from, *stream);
}

CUresult cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream) {
  Call call;
  Stream* stream = resolve(call, hStream);
  if (stream == nullptr) return call.error;
  if (dptr == 0) return CUDA_SUCCESS;
  const Allocation* range = call.d.memory.find(dptr);
  if (range == nullptr || range->base != dptr || range->kind != Allocation::Kind::device) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (stream->capture) return memory_node(call.d, *stream, CU_GRAPH_NODE_TYPE_MEM_FREE, dptr);
  return submit(call.d, *stream, ReleaseWork{dptr});
}

CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* poolProps) {
  Call call(Call::Needs::init);
  if (call.error != CUDA_SUCCESS) return call.error;
  if (pool == nullptr || poolProps == nullptr || poolProps->allocType != CU_MEM_ALLOCATION_TYPE_PINNED) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (poolProps->location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_NOT_SUPPORTED;
  if (unsigned(poolProps->location.id) >= call.d.region.devices()) return CUDA_ERROR_INVALID_DEVICE;
  auto made = std::make_unique<Pool>();
  made->device = unsigned(poolProps->location.id);
  made->max_size = poolProps->maxSize;
  *pool = reinterpret_cast<CUmemoryPool>(made.get());
  call.d.pools[made.get()] = std::move(made);
  return CUDA_SUCCESS;
}

CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  Call call(Call::Needs::init);
  Pool* found = resolve(call, pool);
  if (found == nullptr) return call.error;
  if (found->built_in) return CUDA_ERROR_INVALID_VALUE;
  for (auto& current : call.d.current_pool) {
    if (current == found) current = nullptr;
  }
  // The pool's memory outlives its handle. A pool that still has memory is kept for the statistics.
  if (found->used == 0) call.d.pools.erase(found);
  return CUDA_SUCCESS;
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t) {
  Call call(Call::Needs::init);
  resolve(call, pool);
  return call.error;
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void* value) {
  Call call(Call::Needs::init);
  Pool* found = resolve(call, pool);
  if (found == nullptr) return call.error;
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  switch (attr) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      found->reuse[attr - 1] = *static_cast<const int*>(value);
      break;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: found->threshold = *static_cast<const cuuint64_t*>(value); break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH: found->used_high = found->used; break;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void* value) {
  Call call(Call::Needs::init);
  const Pool* found = resolve(call, pool);
  if (found == nullptr) return call.error;
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  switch (attr) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES: *static_cast<int*>(value) = found->reuse[attr - 1]; break;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: *static_cast<cuuint64_t*>(value) = found->threshold; break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: *static_cast<cuuint64_t*>(value) = found->used; break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH: *static_cast<cuuint64_t*>(value) = found->used_high; break;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc*, size_t) { return cuMemPoolTrimTo(pool, 0); }

CUresult cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool memPool, CUmemLocation*) {
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return cuMemPoolTrimTo(memPool, 0);
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool_out, CUdevice dev) {
  Call call(Call::Needs::init);
  if (call.error != CUDA_SUCCESS) return call.error;
  if (pool_out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!call.has_device(dev)) return CUDA_ERROR_INVALID_DEVICE;
  *pool_out = reinterpret_cast<CUmemoryPool>(call.d.memory.default_pool(unsigned(dev)));
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice dev) {
  Call call(Call::Needs::init);
  if (call.error != CUDA_SUCCESS) return call.error;
  if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!call.has_device(dev)) return CUDA_ERROR_INVALID_DEVICE;
  *pool = reinterpret_cast<CUmemoryPool>(current_pool(call.d, unsigned(dev)));
  return CUDA_SUCCESS;
}

CUresult cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool) {
  Call call(Call::Needs::init);
  Pool* found = resolve(call, pool);
  if (found == nullptr) return call.error;
  if (!call.has_device(dev)) return CUDA_ERROR_INVALID_DEVICE;
  call.d.current_pool[dev] = found;
  return CUDA_SUCCESS;
}

}  // namespace cotenant::cu
