// Allocation and its accounting: plain, managed, pools, virtual memory, and questions about pointers.
#include "client.h"

namespace {

std::size_t free_bytes() {
  std::size_t free = 0, total = 0;
  OK(cuMemGetInfo_v2(&free, &total));
  return free;
}

constexpr std::size_t kMiB = 1 << 20;

}  // namespace

CASE("accounting") {
  const Gpu gpu;
  const std::size_t before = free_bytes();
  CUdeviceptr plain = gpu.memory(10 * kMiB), managed = 0, pooled = 0;
  OK(cuMemAllocManaged(&managed, 20 * kMiB, CU_MEM_ATTACH_GLOBAL));
  OK(cuMemAllocAsync(&pooled, 30 * kMiB, nullptr));
  EXPECT(free_bytes() == before - 60 * kMiB, "plain, managed and pooled memory all count");
  void* host = nullptr;
  OK(cuMemHostAlloc(&host, 40 * kMiB, 0));
  EXPECT(free_bytes() == before - 60 * kMiB, "pinned host memory does not count");
  const CUstream s = gpu.stream(CU_STREAM_DEFAULT);
  const Word hold;
  OK(cuStreamWaitValue32_v2(s, hold.device, 1, CU_STREAM_WAIT_VALUE_EQ));
  OK(cuMemFreeAsync(pooled, s));
  EXPECT(free_bytes() == before - 60 * kMiB, "a stream-ordered free waits for its stream");
  hold.set(1);
  OK(cuStreamSynchronize(s));
  EXPECT(free_bytes() == before - 30 * kMiB, "and then the memory is free");
  OK(cuMemFree_v2(plain));
  OK(cuMemFree_v2(managed));
  OK(cuMemFreeHost(host));
  EXPECT(free_bytes() == before, "all of it is free again");
  CUdeviceptr much = 0;
  GIVES(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&much, std::size_t{17} << 30));
  GIVES(CUDA_ERROR_INVALID_VALUE, cuMemAlloc_v2(&much, 0));
  OK(cuMemAlloc_v2(&much, std::size_t{15} << 30));  // costs no real memory until it is touched
  OK(cuMemFree_v2(much));
  report("{}");
}

CASE("pools") {
  const Gpu gpu;
  CUmemoryPool standard = nullptr, own = nullptr, current = nullptr;
  OK(cuDeviceGetDefaultMemPool(&standard, 0));
  OK(cuDeviceGetMemPool(&current, 0));
  EXPECT(current == standard, "the default pool is current at first");
  CUmemPoolProps props{};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  props.maxSize = 8 * kMiB;
  OK(cuMemPoolCreate(&own, &props));
  CUdeviceptr a = 0, b = 0;
  OK(cuMemAllocFromPoolAsync(&a, 6 * kMiB, own, nullptr));
  GIVES(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocFromPoolAsync(&b, 6 * kMiB, own, nullptr));
  cuuint64_t used = 0, threshold = 5;
  OK(cuMemPoolGetAttribute(own, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
  EXPECT(used == 6 * kMiB, "a pool knows what it gave");
  OK(cuMemPoolSetAttribute(own, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
  OK(cuMemPoolTrimTo(own, 0));
  OK(cuMemFreeAsync(a, nullptr));
  OK(cuCtxSynchronize());
  OK(cuMemPoolDestroy(own));
  GIVES(CUDA_ERROR_INVALID_VALUE, cuMemPoolDestroy(standard));
  report("{}");
}

CASE("pool-outlives-context") {
  const Gpu gpu;
  const std::size_t before = free_bytes();
  CUcontext own = nullptr, primary = nullptr;
  CUdeviceptr plain = 0, pooled = 0;
  OK(cuCtxGetCurrent(&primary));
  OK(cuCtxCreate_v2(&own, 0, 0));
  OK(cuMemAlloc_v2(&plain, 4 * kMiB));
  OK(cuMemAllocAsync(&pooled, 6 * kMiB, nullptr));
  OK(cuCtxDestroy_v2(own));
  OK(cuCtxSetCurrent(primary));
  EXPECT(free_bytes() == before - 6 * kMiB, "the pool's memory is still there");
  OK(cuMemFreeAsync(pooled, nullptr));
  OK(cuCtxSynchronize());
  EXPECT(free_bytes() == before, "and freed by whoever has a stream");
  report("{}");
}

CASE("graph-memory") {
  const Gpu gpu;
  CUgraph graph = nullptr;
  CUgraphNode made = nullptr, freed = nullptr;
  CUDA_MEM_ALLOC_NODE_PARAMS wanted{}, told{};
  wanted.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  wanted.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  wanted.bytesize = 4 * kMiB;
  OK(cuGraphCreate(&graph, 0));
  OK(cuGraphAddMemAllocNode(&made, graph, nullptr, 0, &wanted));
  OK(cuGraphAddMemFreeNode(&freed, graph, &made, 1, wanted.dptr));
  OK(cuGraphMemAllocNodeGetParams(made, &told));
  EXPECT(told.dptr == wanted.dptr && told.bytesize == 4 * kMiB, "an allocation node tells what it allocates");
  CUdeviceptr pointer = 0;
  OK(cuGraphMemFreeNodeGetParams(freed, &pointer));
  EXPECT(pointer == wanted.dptr, "and a node that frees tells what");
  GIVES(CUDA_ERROR_INVALID_VALUE, cuGraphMemFreeNodeGetParams(made, &pointer));
  CUgraphExec exec = nullptr;
  OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  OK(cuGraphLaunch(exec, nullptr));
  OK(cuCtxSynchronize());
  cuuint64_t reserved = 0;
  OK(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &reserved));
  EXPECT(reserved == 4 * kMiB, "the device's graphs hold it");
  OK(cuGraphExecDestroy(exec));
  OK(cuGraphDestroy(graph));
  OK(cuDeviceGraphMemTrim(0));
  OK(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &reserved));
  EXPECT(reserved == 0, "and give it back");
  report("{}");
}

CASE("virtual-memory") {
  const Gpu gpu;
  const std::size_t before = free_bytes();
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  std::size_t grain = 0;
  OK(cuMemGetAllocationGranularity(&grain, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  CUdeviceptr range = 0, again = 0;
  OK(cuMemAddressReserve(&range, 4 * grain, 0, 0, 0));
  EXPECT(free_bytes() == before, "addresses cost no memory");
  CUmemGenericAllocationHandle handle = 0;
  OK(cuMemCreate(&handle, 2 * grain, &prop, 0));
  EXPECT(free_bytes() == before - 2 * grain, "physical memory counts when it is made");
  OK(cuMemMap(range + grain, 2 * grain, 0, handle, 0));
  const CUmemAccessDesc access{prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  OK(cuMemSetAccess(range + grain, 2 * grain, &access, 1));
  OK(cuMemsetD32_v2(range + grain, 0x600d, 16));
  OK(cuCtxSynchronize());
  OK(cuMemUnmap(range + grain, 2 * grain));
  OK(cuMemAddressReserve(&again, 2 * grain, 0, 0, 0));
  OK(cuMemMap(again, 2 * grain, 0, handle, 0));
  OK(cuMemSetAccess(again, 2 * grain, &access, 1));
  unsigned seen = 0;
  OK(cuMemcpyDtoH_v2(&seen, again, 4));
  EXPECT(seen == 0x600d, "what is written through one mapping is read through the next");
  OK(cuMemRelease(handle));
  EXPECT(free_bytes() == before - 2 * grain, "mapped memory stays although its handle is released");
  OK(cuMemUnmap(again, 2 * grain));
  EXPECT(free_bytes() == before, "and goes with its last mapping");
  OK(cuMemAddressFree(range, 4 * grain));
  OK(cuMemAddressFree(again, 2 * grain));
  GIVES(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&handle, grain + 1, &prop, 0));
  report("{}");
}

CASE("virtual-memory-rules") {
  const Gpu gpu;
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  const CUmemAccessDesc access{prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  constexpr std::size_t kGrain = 2 * kMiB;
  CUdeviceptr range = 0;
  CUmemGenericAllocationHandle pieces[3] = {};
  OK(cuMemAddressReserve(&range, 4 * kGrain, 0, 0, 0));
  for (auto& piece : pieces) OK(cuMemCreate(&piece, kGrain, &prop, 0));
  GIVES(CUDA_ERROR_INVALID_VALUE, cuMemMap(range + 8 * kGrain, kGrain, 0, pieces[0], 0));
  OK(cuMemMap(range, kGrain, 0, pieces[0], 0));
  OK(cuMemMap(range + kGrain, kGrain, 0, pieces[1], 0));
  GIVES(CUDA_ERROR_INVALID_VALUE, cuMemMap(range + kGrain, kGrain, 0, pieces[2], 0));
  GIVES(CUDA_ERROR_INVALID_VALUE, cuMemSetAccess(range, 3 * kGrain, &access, 1));
  OK(cuMemSetAccess(range, 2 * kGrain, &access, 1));
  // One copy and one fill over the preemption point of two mappings.
  OK(cuMemsetD8_v2(range, 7, 2 * kGrain));
  std::vector<unsigned char> host(2 * kGrain);
  OK(cuMemcpyDtoH_v2(host.data(), range, host.size()));
  EXPECT(host.front() == 7 && host[kGrain] == 7 && host.back() == 7, "work goes over the border of two mappings");
  GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH_v2(host.data(), range + kGrain, 2 * kGrain));
  GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH_v2(host.data(), range + 2 * kGrain, kGrain));
  GIVES(CUDA_ERROR_INVALID_VALUE, cuMemUnmap(range, kGrain + kGrain / 2));
  GIVES(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(range, 4 * kGrain));
  // A stream that waits does not keep memory from being unmapped.
  const CUstream s = gpu.stream(CU_STREAM_NON_BLOCKING);
  const Word hold;
  OK(cuStreamWaitValue32_v2(s, hold.device, 1, CU_STREAM_WAIT_VALUE_EQ));
  OK(cuMemUnmap(range, 2 * kGrain));
  GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH_v2(host.data(), range, kGrain));
  hold.set(1);
  OK(cuStreamSynchronize(s));
  for (auto piece : pieces) OK(cuMemRelease(piece));
  GIVES(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(range, 2 * kGrain));
  OK(cuMemAddressFree(range, 4 * kGrain));
  report("{}");
}

CASE("virtual-memory-access") {
  const Gpu gpu;
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  constexpr std::size_t kGrain = 2 * kMiB;
  CUdeviceptr range = 0;
  CUmemGenericAllocationHandle memory = 0;
  OK(cuMemAddressReserve(&range, 4 * kGrain, 0, 0, 0));
  OK(cuMemCreate(&memory, 2 * kGrain, &prop, 0));
  GIVES(CUDA_ERROR_INVALID_VALUE, cuMemMap(range, 3 * kGrain, 0, memory, 0));
  GIVES(CUDA_ERROR_INVALID_VALUE, cuMemMap(range, kGrain / 2, 0, memory, 0));
  OK(cuMemMap(range, kGrain, 0, memory, 0));
  OK(cuMemMap(range + kGrain, 2 * kGrain, 0, memory, 0));
  const auto may = [&](std::size_t grain) {
    unsigned long long flags = ~0ull;
    OK(cuMemGetAccess(&flags, &prop.location, range + grain * kGrain + 5));
    return flags;
  };
  EXPECT(may(0) == CU_MEM_ACCESS_FLAGS_PROT_NONE, "a mapping begins without access");
  CUmemAccessDesc access{prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  OK(cuMemSetAccess(range, 3 * kGrain, &access, 1));
  OK(cuMemsetD32_v2(range, 0x600d, kGrain / 4));
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
  OK(cuMemSetAccess(range + kGrain, 2 * kGrain, &access, 1));
  EXPECT(may(0) == CU_MEM_ACCESS_FLAGS_PROT_READWRITE && may(1) == CU_MEM_ACCESS_FLAGS_PROT_READ &&
             may(2) == CU_MEM_ACCESS_FLAGS_PROT_READ,
         "each range has what was set last");
  unsigned seen = 0;
  OK(cuMemcpyDtoH_v2(&seen, range + kGrain, 4));
  EXPECT(seen == 0x600d, "a part of the memory and the whole begin alike");
  OK(cuMemUnmap(range, kGrain));
  OK(cuMemMap(range, kGrain, 0, memory, 0));
  EXPECT(may(0) == CU_MEM_ACCESS_FLAGS_PROT_NONE, "so does the next one in its place");
  access.location.id = 99;
  GIVES(CUDA_ERROR_INVALID_DEVICE, cuMemSetAccess(range, kGrain, &access, 1));
  report("{}");
}

CASE("pointers") {
  const Gpu gpu;
  const CUdeviceptr d = gpu.memory(1000);
  CUdeviceptr base = 0;
  std::size_t size = 0;
  OK(cuMemGetAddressRange_v2(&base, &size, d + 999));
  EXPECT(base == d && size == 1000, "an inner pointer finds its range");
  unsigned type = 0;
  OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, d));
  EXPECT(type == CU_MEMORYTYPE_DEVICE, "device memory says so");
  const Word word;
  OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, word.device));
  EXPECT(type == CU_MEMORYTYPE_HOST, "pinned memory is host memory");
  int local = 0;
  GIVES(CUDA_ERROR_INVALID_VALUE,
        cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, reinterpret_cast<CUdeviceptr>(&local)));
  CUcontext context = nullptr;
  OK(cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, d));
  EXPECT(context == gpu.context, "memory knows its context");
  report("{}");
}

CASE("primary-handle") {
  OK(cuInit(0));
  CUcontext first = nullptr, second = nullptr;
  OK(cuDevicePrimaryCtxRetain(&first, 0));
  OK(cuCtxSetCurrent(first));
  unsigned long long before = 0, after = 0;
  OK(cuCtxGetId(first, &before));
  CUdeviceptr memory = 0;
  OK(cuMemAlloc_v2(&memory, 4096));
  OK(cuDevicePrimaryCtxReset_v2(0));
  GIVES(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuMemAlloc_v2(&memory, 4096));
  OK(cuDevicePrimaryCtxRetain(&second, 0));
  OK(cuCtxGetId(second, &after));
  EXPECT(first == second, "a device's primary context has one handle");
  EXPECT(before != after, "and each of them a number of its own");
  OK(cuMemAlloc_v2(&memory, 4096));  // it is still current
  OK(cuMemFree_v2(memory));
  report("{}");
}

CASE("contexts") {
  const Gpu gpu;
  CUcontext a = nullptr, b = nullptr, now = nullptr;
  OK(cuCtxCreate_v2(&a, 0, 0));
  OK(cuCtxCreate_v4(&b, nullptr, 0, 0));
  OK(cuCtxGetCurrent(&now));
  EXPECT(now == b, "a new context is current");
  CUstream s = nullptr;
  OK(cuStreamCreate(&s, 0));
  OK(cuCtxPopCurrent_v2(&now));
  EXPECT(now == b, "pop gives what was current");
  OK(cuStreamGetCtx(s, &now));
  EXPECT(now == b, "a stream knows its context");
  const std::size_t before = free_bytes();
  OK(cuCtxPushCurrent_v2(b));
  gpu.memory(kMiB);
  OK(cuCtxDestroy_v2(b));
  OK(cuCtxGetCurrent(&now));
  EXPECT(now == a, "destroying the current context makes the one below current");
  EXPECT(free_bytes() == before, "a context takes its memory along");
  GIVES(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuCtxSetCurrent(b));
  OK(cuCtxDestroy_v2(a));
  unsigned flags = 0;
  int active = 0;
  OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
  EXPECT(active == 1, "the primary context is active while it is held");
  OK(cuDevicePrimaryCtxRelease_v2(0));
  OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
  EXPECT(active == 0, "the last release ends it");
  report("{}");
}

int main(int count, char** words) { return run_case(count, words); }
