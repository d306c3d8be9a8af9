// The quota: every family of allocation is charged, refused with the driver's own code, and given back.
#include "harness.h"

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
  check_family([](std::size_t n) { return cuda().cuMemAlloc_v2(&pointer, n); }, [] { return cuda().cuMemFree_v2(pointer); });
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

constexpr Case kCases[] = {
    {"cuMemAlloc is charged", plain},
    {"cuMemAllocPitch is charged", pitched},
    {"managed memory is charged", managed},
    {"stream-ordered memory is charged", stream_ordered},
    {"memory from a pool, per-thread stream, is charged", from_a_pool},
    {"physical memory (VMM) is charged", physical},
    {"arrays are charged", arrays},
    {"all families share one quota", mixed_families_share_one_quota},
    {"the client is told its quota instead of the device's memory", the_quota_is_what_the_client_is_told},
    {"thousands of allocations are remembered and given back", many_allocations_are_remembered},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
