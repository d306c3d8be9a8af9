// The quota: every family of allocation is charged, refused with the driver's own code, and given back.
#include "../harness.h"

using namespace harness;

namespace {

constexpr std::size_t kMiB = 1 << 20;

struct Limited {
  Agent agent;
  struct Role {
    explicit Role(const Agent& agent) { agent.become("best-effort", "67108864"); }  // 64 MiB
  } role{agent};
  Program program;

  std::uint64_t used() { return agent.region().bestEffort[0].memoryUsed.load(); }
};

// `allocate(bytes)` returns the driver's answer; `release` frees the last one it made.
template <class Allocate, class Release>
void check_family(Allocate allocate, Release release) {
  Limited client;
  expect(allocate(100 * kMiB) == CUDA_ERROR_OUT_OF_MEMORY, "more than the quota is refused as out of memory");
  for (int i = 0; i < 10; ++i) {  // freed memory is given back: 10 x 40 MiB fit into 64 MiB one after another
    expect(allocate(40 * kMiB) == CUDA_SUCCESS, "an allocation within the quota succeeds");
    expect(client.used() >= 40 * kMiB && client.used() < 42 * kMiB, "it is charged");
    expect(release() == CUDA_SUCCESS, "and freed");
    expect(client.used() == 0, "and given back");
  }
  expect(client.agent.region().bestEffort[0].memoryRefusals.load() == 1, "the refusal is counted");
}

CUdeviceptr pointer = 0;

void plain() {
  check_family([](std::size_t n) { return cuda().cuMemAlloc_v2(&pointer, n); },
               [] { return cuda().cuMemFree_v2(pointer); });
}
void pitched() {
  check_family(
      [](std::size_t n) {
        std::size_t pitch = 0;
        return cuda().cuMemAllocPitch_v2(&pointer, &pitch, 4096, n / 4096, 4);
      },
      [] { return cuda().cuMemFree_v2(pointer); });
}
void managed() {
  check_family([](std::size_t n) { return cuda().cuMemAllocManaged(&pointer, n, 1); },
               [] { return cuda().cuMemFree_v2(pointer); });
}
void stream_ordered() {
  check_family([](std::size_t n) { return cuda().cuMemAllocAsync(&pointer, n, nullptr); },
               [] { return cuda().cuMemFreeAsync(pointer, nullptr); });
}
void from_a_pool() {
  check_family(
      [](std::size_t n) {
        CUmemoryPool pool = nullptr;
        OK(cuda().cuDeviceGetDefaultMemPool(&pool, 0));
        return cuda().cuMemAllocFromPoolAsync_ptsz(&pointer, n, pool, nullptr);
      },
      [] { return cuda().cuMemFreeAsync_ptsz(pointer, nullptr); });
}
CUmemGenericAllocationHandle handle = 0;
void physical() {
  check_family(
      [](std::size_t n) {
        CUmemAllocationProp properties{};
        properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
        properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        properties.location.id = 0;
        return cuda().cuMemCreate(&handle, n, &properties, 0);
      },
      [] { return cuda().cuMemRelease(handle); });
}
CUarray array = nullptr;
void arrays() {
  check_family(
      [](std::size_t n) {
        CUDA_ARRAY_DESCRIPTOR shape{};
        shape.Width = 1024;
        shape.Height = n / 4096;
        shape.Format = static_cast<decltype(shape.Format)>(0x20);  // float
        shape.NumChannels = 1;
        return cuda().cuArrayCreate_v2(&array, &shape);
      },
      [] { return cuda().cuArrayDestroy(array); });
}

void mixed_families_share_one_quota() {
  Limited client;
  CUdeviceptr a = 0;
  CUdeviceptr b = 0;
  OK(cuda().cuMemAlloc_v2(&a, 40 * kMiB));
  expect(cuda().cuMemAllocAsync(&b, 40 * kMiB, nullptr) == CUDA_ERROR_OUT_OF_MEMORY, "40 + 40 MiB do not fit into 64");
  OK(cuda().cuMemFree_v2(a));
  OK(cuda().cuMemAllocAsync(&b, 40 * kMiB, nullptr));
}

void the_quota_is_what_the_client_is_told() {
  Limited client;
  std::size_t free_bytes = 0;
  std::size_t total = 0;
  CUdeviceptr a = 0;
  OK(cuda().cuMemGetInfo_v2(&free_bytes, &total));
  expect(total == 64 * kMiB && free_bytes == 64 * kMiB, "total and free are the quota's");
  OK(cuda().cuMemAlloc_v2(&a, 16 * kMiB));
  OK(cuda().cuMemGetInfo_v2(&free_bytes, &total));
  expect(free_bytes == 48 * kMiB, "free shrinks with what is taken");
  OK(cuda().cuDeviceTotalMem_v2(&total, 0));
  expect(total == 64 * kMiB, "the device's memory is the quota");
}

void many_allocations_are_remembered() {
  Limited client;
  std::vector<CUdeviceptr> all(5000);
  for (auto& each : all) OK(cuda().cuMemAlloc_v2(&each, 512));
  for (std::size_t i = 0; i < all.size(); i += 2) OK(cuda().cuMemFree_v2(all[i]));
  for (std::size_t i = 1; i < all.size(); i += 2) OK(cuda().cuMemFree_v2(all[i]));
  expect(client.used() == 0, "everything is given back");
}

void context_destroyed() {
  Limited client;
  CUcontext own = nullptr;
  CUdeviceptr kept = 0;
  CUdeviceptr ends = 0;
  OK(cuda().cuMemAlloc_v2(&kept, 12 * kMiB));
  OK(cuda().cuCtxCreate_v2(&own, 0, 0));
  OK(cuda().cuMemAlloc_v2(&ends, 40 * kMiB));
  OK(cuda().cuMemAllocAsync(&kept, 8 * kMiB, nullptr));  // a pool's, which belongs to no context
  expect(cuda().cuMemAlloc_v2(&pointer, 20 * kMiB) == CUDA_ERROR_OUT_OF_MEMORY, "20 + 40 + 20 MiB do not fit into 64");
  OK(cuda().cuCtxDestroy_v2(own));
  OK(cuda().cuCtxSetCurrent(client.program.context));
  expect(client.used() == 20 * kMiB, "what was allocated in the context goes with it, and nothing else");
  OK(cuda().cuMemAlloc_v2(&pointer, 40 * kMiB));
}

void primary_reset() {
  Limited client;
  CUcontext own = nullptr;
  CUcontext again = nullptr;
  CUdeviceptr kept = 0;
  OK(cuda().cuMemAlloc_v2(&pointer, 40 * kMiB));
  OK(cuda().cuCtxCreate_v2(&own, 0, 0));
  OK(cuda().cuMemAlloc_v2(&kept, 16 * kMiB));
  OK(cuda().cuDevicePrimaryCtxReset_v2(0));
  expect(client.used() == 16 * kMiB, "only what was allocated in the primary context goes with it");
  OK(cuda().cuDevicePrimaryCtxRetain(&again, 0));
  OK(cuda().cuCtxSetCurrent(again));
  OK(cuda().cuMemAlloc_v2(&pointer, 40 * kMiB));
  OK(cuda().cuDevicePrimaryCtxRelease_v2(0));
  expect(client.used() == 16 * kMiB, "also when the last user releases it");
}

CUmemGenericAllocationHandle physical_of(std::size_t bytes, CUresult expected = CUDA_SUCCESS) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemGenericAllocationHandle made = 0;
  expect(cuda().cuMemCreate(&made, bytes, &properties, 0) == expected, "physical memory: " + std::to_string(expected));
  return made;
}

// Handles are released as soon as the memory is mapped, as most programs do.
void mapped_memory() {
  Limited client;
  CUdeviceptr range = 0;
  OK(cuda().cuMemAddressReserve(&range, 128 * kMiB, 0, 0, 0));
  for (std::size_t at : {std::size_t{0}, 20 * kMiB, 40 * kMiB}) {
    const CUmemGenericAllocationHandle made = physical_of(20 * kMiB);
    OK(cuda().cuMemMap(range + at, 20 * kMiB, 0, made, 0));
    OK(cuda().cuMemRelease(made));
  }
  expect(client.used() == 60 * kMiB, "memory is charged as long as it is mapped");
  physical_of(20 * kMiB, CUDA_ERROR_OUT_OF_MEMORY);
  CUmemGenericAllocationHandle again = 0;
  OK(cuda().cuMemRetainAllocationHandle(&again, reinterpret_cast<void*>(range + 20 * kMiB)));
  OK(cuda().cuMemUnmap(range, 40 * kMiB));
  expect(client.used() == 40 * kMiB, "two are unmapped, and one of them has a handle");
  OK(cuda().cuMemRelease(again));
  expect(client.used() == 20 * kMiB, "which is released");
  OK(cuda().cuMemRelease(physical_of(40 * kMiB)));
  OK(cuda().cuMemUnmap(range + 40 * kMiB, 20 * kMiB));
  expect(client.used() == 0, "everything is given back");
}

CUgraphExec instantiated(CUgraph graph, CUresult expected) {
  CUgraphExec made = nullptr;
  expect(cuda().cuGraphInstantiateWithFlags(&made, graph, 0) == expected, "a graph: " + std::to_string(expected));
  return made;
}

void graph_nodes() {
  Limited client;
  CUstream stream = make_stream();
  const auto graph_of = [](std::size_t bytes) {
    CUgraph graph = nullptr;
    CUgraphNode made = nullptr;
    CUgraphNode freed = nullptr;
    CUDA_MEM_ALLOC_NODE_PARAMS parameters{};
    parameters.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    parameters.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    parameters.bytesize = bytes;
    OK(cuda().cuGraphCreate(&graph, 0));
    OK(cuda().cuGraphAddMemAllocNode(&made, graph, nullptr, 0, &parameters));
    OK(cuda().cuGraphAddMemFreeNode(&freed, graph, &made, 1, parameters.dptr));
    return graph;
  };
  CUgraph large = graph_of(100 * kMiB);
  instantiated(large, CUDA_ERROR_OUT_OF_MEMORY);
  OK(cuda().cuGraphDestroy(large));
  CUgraph graph = graph_of(40 * kMiB);
  CUgraphExec exec = instantiated(graph, CUDA_SUCCESS);
  OK(cuda().cuGraphLaunch(exec, stream));
  OK(cuda().cuStreamSynchronize(stream));
  expect(client.used() == 40 * kMiB, "what the graph holds after its launch is charged");
  expect(cuda().cuMemAlloc_v2(&pointer, 40 * kMiB) == CUDA_ERROR_OUT_OF_MEMORY, "40 + 40 MiB do not fit into 64");
  OK(cuda().cuGraphExecDestroy(exec));
  OK(cuda().cuGraphDestroy(graph));
  OK(cuda().cuDeviceGraphMemTrim(0));
  expect(client.used() == 0, "and given back when the device's graphs are trimmed");
}

void captured_allocations() {
  Limited client;
  CUstream stream = make_stream();
  CUgraph graph = nullptr;
  OK(cuda().cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  OK(cuda().cuMemAllocAsync(&pointer, 100 * kMiB, stream));
  OK(cuda().cuMemFreeAsync(pointer, stream));
  OK(cuda().cuStreamEndCapture(stream, &graph));
  expect(client.used() == 0, "a capture allocates nothing");
  instantiated(graph, CUDA_ERROR_OUT_OF_MEMORY);
}

void says_once_what_was_refused() {
  setenv("COTENANT_NAME", "train", 1);
  Limited client;
  const std::string said = told([] {
    expect(cuda().cuMemAlloc_v2(&pointer, 40 * kMiB) == CUDA_SUCCESS, "within the quota");
    for (int i = 0; i < 3; ++i)
      expect(cuda().cuMemAlloc_v2(&pointer, 2048 * kMiB) == CUDA_ERROR_OUT_OF_MEMORY, "over the quota");
  });
  const std::string line =
      "cotenant: 2.0 GiB of GPU memory refused: train may have 64.0 MiB (run --memory), and has 40.0 MiB.\n";
  expect(said == line, "the size and the quota, once: " + said);
}

// Reports its use and its refusals from the time when no agent answered. An agent of another version counts as none.
void told_to_an_agent_that_comes_late() {
  Agent agent;
  agent.version = cotenant::protocol::VERSION + 1;
  agent.become("best-effort", "67108864");
  Program program;
  expect(cuda().cuMemAlloc_v2(&pointer, 100 * kMiB) == CUDA_ERROR_OUT_OF_MEMORY, "more than the quota is refused");
  OK(cuda().cuMemAlloc_v2(&pointer, 40 * kMiB));
  agent.version = cotenant::protocol::VERSION;
  const auto& slot = agent.region().bestEffort[0];
  eventually([&] { return slot.memoryRefusals.load() == 1; }, "the agent is told of the refusal");
  expect(slot.memoryUsed.load() >= 40 * kMiB, "and of what is used");
  expect(slot.memoryQuota.load() == 64 * kMiB, "and of the quota");
}

constexpr Case kCases[] = {
    {"cuMemAlloc is charged", plain},
    {"cuMemAllocPitch is charged", pitched},
    {"managed memory is charged", managed},
    {"stream-ordered memory is charged", stream_ordered},
    {"memory from a pool, per-thread stream, is charged", from_a_pool},
    {"physical memory (VMM) is charged", physical},
    {"arrays are charged", arrays},
    {"a refusal is said once, with its size and the quota", says_once_what_was_refused},
    {"what a client used before it had a slot is told to the agent", told_to_an_agent_that_comes_late},
    {"all families share one quota", mixed_families_share_one_quota},
    {"the client is told its quota instead of the device's memory", the_quota_is_what_the_client_is_told},
    {"what a context allocated is given back when it is destroyed", context_destroyed},
    {"what the primary context allocated is given back when it is reset or released", primary_reset},
    {"physical memory is charged until it is neither mapped nor held", mapped_memory},
    {"what graphs allocate is charged", graph_nodes},
    {"what is allocated in a capture is the graph's", captured_allocations},
    {"thousands of allocations are remembered and given back", many_allocations_are_remembered},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
