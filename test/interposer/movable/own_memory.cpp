// Memory that the program makes and maps itself is parked and returned as memory from cuMemAlloc is, and the program finds
// its handles, mappings and their access as it left them. What it is told, and what stays, is in own_memory_answers.cpp.
#include "client.h"
#include "mappings.h"

using namespace harness;

namespace {

using cotenant::protocol::ParkState;

void all_of_it_can_be_had_by_others(std::size_t bytes) {
  CUdeviceptr others = 0;
  OK(cuda().cuMemAllocAsync(&others, bytes, nullptr));
  OK(cuda().cuMemFreeAsync(others, nullptr));
  OK(cuda().cuStreamSynchronize(nullptr));
}

// As PyTorch's expandable segments: a range for the whole GPU, which grows by handles of 20 MiB, and gets holes.
void segments_grow() {
  Movable client;
  constexpr std::size_t kSegment = 20 * kMiB;
  const std::size_t before = free_bytes();
  CUdeviceptr range = reserve(1024 * kMiB);
  CUmemGenericAllocationHandle handles[6];
  std::vector<unsigned> words[6];
  const auto grow = [&](unsigned i) {
    handles[i] = make(kSegment, exportable());
    OK(cuda().cuMemMap(range + i * kSegment, kSegment, 0, handles[i], 0));
    allow(range + i * kSegment, kSegment);
    words[i] = pattern(kSegment, 7 * i + 1);
    write(range + i * kSegment, words[i]);
  };
  const auto park_and_return = [&](std::size_t bytes) {
    client.parked();
    eventually([&] { return client.memory().parkedBytes.load() == bytes; }, "all of it is parked");
    expect(before - free_bytes() == bytes, "the program is told that its memory is still its own");
    all_of_it_can_be_had_by_others(before - 2 * kMiB);
    client.returned();
    expect(before - free_bytes() == bytes, "in memory of the same size");
    for (unsigned i = 0; i < 6; ++i)
      if (!words[i].empty()) expect(holds(range + i * kSegment, words[i]), "every byte is back");
  };
  for (unsigned i = 0; i < 5; ++i) grow(i);
  eventually([&] { return client.memory().movableBytes.load() == 5 * kSegment; }, "the agent sees the movable bytes");
  expect(client.memory().movableAsked.load() == 5 * kSegment && client.memory().unmovable.load() == 0,
         "nothing of it is named as what cannot move");
  park_and_return(5 * kSegment);
  for (unsigned i = 1; i < 4; i += 2) {
    OK(cuda().cuMemUnmap(range + i * kSegment, kSegment));
    OK(cuda().cuMemRelease(handles[i]));
    words[i].clear();
  }
  park_and_return(3 * kSegment);
  grow(3);
  grow(5);
  park_and_return(5 * kSegment);
  // One copy over the preemption point of two handles.
  const auto over = pattern(8 * kMiB, 99);
  write(range + 3 * kSegment - 4 * kMiB, over);
  client.parked();
  client.returned();
  expect(holds(range + 3 * kSegment - 4 * kMiB, over), "copies go over borders as before");
  for (const unsigned i : {0u, 2u, 3u, 4u, 5u}) {
    OK(cuda().cuMemUnmap(range + i * kSegment, kSegment));
    OK(cuda().cuMemRelease(handles[i]));
  }
  OK(cuda().cuMemAddressFree(range, 1024 * kMiB));
  expect(free_bytes() == before && client.slot().memoryUsed.load() == 0, "all of it is given back");
}

void aliases() {
  Movable client;
  const std::size_t before = free_bytes();
  const CUdeviceptr range = reserve(32 * kMiB);
  CUmemGenericAllocationHandle handle = make(8 * kMiB);
  OK(cuda().cuMemMap(range, 8 * kMiB, 0, handle, 0));
  OK(cuda().cuMemMap(range + 16 * kMiB, 8 * kMiB, 0, handle, 0));
  OK(cuda().cuMemMap(range + 24 * kMiB, 4 * kMiB, 0, handle, 0));
  allow(range, 8 * kMiB);
  allow(range + 16 * kMiB, 12 * kMiB);
  const auto words = pattern(8 * kMiB, 3);
  write(range, words);
  client.parked();
  eventually([&] { return client.memory().parkedBytes.load() == 8 * kMiB; }, "it is parked once");
  client.returned();
  expect(holds(range, words) && holds(range + 16 * kMiB, words), "both mappings hold it");
  write(range + 24 * kMiB, {1, 2, 3});
  expect(holds(range, {1, 2, 3}) && holds(range + 16 * kMiB, {1, 2, 3}), "and are the same memory");
  OK(cuda().cuMemRelease(handle));
  client.parked();
  client.returned();
  expect(holds(range, {1, 2, 3}), "memory lives on without its handle");
  CUmemGenericAllocationHandle again = 0;
  OK(cuda().cuMemRetainAllocationHandle(&again, reinterpret_cast<void*>(range + 17 * kMiB)));
  expect(again == handle, "the handle is the one that it was mapped by");
  OK(cuda().cuMemUnmap(range, 8 * kMiB));
  OK(cuda().cuMemUnmap(range + 16 * kMiB, 12 * kMiB));
  expect(before - free_bytes() == 8 * kMiB, "a retained handle keeps it");
  OK(cuda().cuMemMap(range + 8 * kMiB, 8 * kMiB, 0, again, 0));
  allow(range + 8 * kMiB, 8 * kMiB);
  expect(holds(range + 8 * kMiB, {1, 2, 3}), "with its content");
  OK(cuda().cuMemUnmap(range + 8 * kMiB, 8 * kMiB));
  OK(cuda().cuMemRelease(again));
  expect(free_bytes() == before, "and its last release frees it");
  expect(cuda().cuMemRelease(again) != CUDA_SUCCESS, "once");
}

void access_returns() {
  Movable client;
  const CUdeviceptr range = reserve(16 * kMiB);
  const CUmemGenericAllocationHandle one = make(4 * kMiB);
  const CUmemGenericAllocationHandle other = make(4 * kMiB);
  OK(cuda().cuMemMap(range, 4 * kMiB, 0, one, 0));
  OK(cuda().cuMemMap(range + 4 * kMiB, 4 * kMiB, 0, other, 0));
  allow(range, 8 * kMiB);
  const auto words = pattern(8 * kMiB, 5);
  write(range, words);
  allow(range, 4 * kMiB, 0, CU_MEM_ACCESS_FLAGS_PROT_READ);
  allow(range + 4 * kMiB, 4 * kMiB, 0, CU_MEM_ACCESS_FLAGS_PROT_NONE);
  allow(range, 8 * kMiB, 1);
  allow(range + 4 * kMiB, 4 * kMiB, 1, CU_MEM_ACCESS_FLAGS_PROT_READ);
  for (int round = 0; round < 2; ++round) {
    client.parked(round == 0 ? 0 : 2 * kMiB);
    client.returned();
    expect(access_of(range, 0) == CU_MEM_ACCESS_FLAGS_PROT_READ &&
               access_of(range + 4 * kMiB, 0) == CU_MEM_ACCESS_FLAGS_PROT_NONE &&
               access_of(range, 1) == CU_MEM_ACCESS_FLAGS_PROT_READWRITE &&
               access_of(range + 6 * kMiB, 1) == CU_MEM_ACCESS_FLAGS_PROT_READ,
           "each GPU may do what it could do before");
  }
  allow(range, 8 * kMiB);
  expect(holds(range, words), "what could not be written, or not be read, has its content");
}

void without_a_mapping() {
  Movable client;
  const CUdeviceptr range = reserve(8 * kMiB);
  const CUmemGenericAllocationHandle handle = make(8 * kMiB);
  OK(cuda().cuMemMap(range, 8 * kMiB, 0, handle, 0));
  allow(range, 8 * kMiB);
  const auto words = pattern(8 * kMiB, 6);
  write(range, words);
  OK(cuda().cuMemUnmap(range, 8 * kMiB));
  client.parked();
  eventually([&] { return client.memory().parkedBytes.load() == 8 * kMiB; }, "memory that is not mapped is parked");
  client.returned();
  OK(cuda().cuMemMap(range, 8 * kMiB, 0, handle, 0));
  expect(access_of(range, 0) == CU_MEM_ACCESS_FLAGS_PROT_NONE, "a new mapping begins without access");
  allow(range, 8 * kMiB);
  expect(holds(range, words), "and finds every byte");
}

void in_parts() {
  Movable client;
  constexpr std::size_t kSizes[] = {10, 20, 40};
  const CUdeviceptr range = reserve(128 * kMiB);
  std::vector<unsigned> words[3];
  const CUdeviceptr plain = allocate(30 * kMiB);
  const auto in_plain = pattern(30 * kMiB, 9);
  write(plain, in_plain);
  std::size_t at = 0;
  for (unsigned i = 0; i < 3; at += kSizes[i++] * kMiB) {
    OK(cuda().cuMemMap(range + at, kSizes[i] * kMiB, 0, make(kSizes[i] * kMiB), 0));
    words[i] = pattern(kSizes[i] * kMiB, i);
  }
  allow(range, at);
  const auto all_there = [&] {
    bool good = holds(plain, in_plain);
    at = 0;
    for (unsigned i = 0; i < 3; at += kSizes[i++] * kMiB) good = good && holds(range + at, words[i]);
    return good;
  };
  at = 0;
  for (unsigned i = 0; i < 3; at += kSizes[i++] * kMiB) write(range + at, words[i]);
  client.parked(25 * kMiB);
  eventually([&] { return client.memory().parkedBytes.load() == 30 * kMiB; }, "the smallest block that is enough");
  client.parked(50 * kMiB);
  eventually([&] { return client.memory().parkedBytes.load() == 50 * kMiB; }, "then the next smallest");
  client.returned();
  expect(all_there(), "every byte is back");
  client.parked();
  eventually([&] { return client.memory().parkedBytes.load() == 100 * kMiB; }, "both kinds are parked");
  client.returned();
  expect(all_there(), "and return");
}

void gpu_is_full_at_the_return() {
  Movable client;
  const CUdeviceptr range = reserve(64 * kMiB);
  for (unsigned i = 0; i < 5; ++i) OK(cuda().cuMemMap(range + i * 10 * kMiB, 10 * kMiB, 0, make(10 * kMiB), 0));
  allow(range, 50 * kMiB);
  const auto words = pattern(50 * kMiB, 11);
  write(range, words);
  returns_when_it_fits(client, 25 * kMiB);
  expect(holds(range, words), "every byte is back");
}

void outlives_contexts() {
  Movable client;
  CUcontext own = nullptr;
  OK(cuda().cuCtxCreate_v2(&own, 0, 0));
  const CUdeviceptr range = reserve(8 * kMiB);
  const CUmemGenericAllocationHandle handle = make(8 * kMiB);
  OK(cuda().cuMemMap(range, 8 * kMiB, 0, handle, 0));
  allow(range, 8 * kMiB);
  const auto words = pattern(8 * kMiB, 12);
  write(range, words);
  client.parked();
  OK(cuda().cuCtxDestroy_v2(own));
  OK(cuda().cuDevicePrimaryCtxReset_v2(0));
  client.returned();
  CUcontext next = nullptr;
  OK(cuda().cuDevicePrimaryCtxRetain(&next, 0));
  OK(cuda().cuCtxSetCurrent(next));
  expect(holds(range, words), "mapped memory does not end with a context");
  client.parked();
  client.returned();
  expect(holds(range, words), "and is parked beside the next one");
}

// Threads launch, and one makes and unmaps memory, all the while.
void beside_running_work() {
  Movable client;
  client.agent.region().roster.registered = 1;
  constexpr unsigned kThreads = 2;
  const CUdeviceptr range = reserve(256 * kMiB);
  for (unsigned t = 0; t < kThreads; ++t) OK(cuda().cuMemMap(range + t * 2 * kMiB, 2 * kMiB, 0, make(2 * kMiB), 0));
  allow(range, kThreads * 2 * kMiB);
  std::atomic<bool> over{false};
  unsigned done[kThreads] = {};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      OK(cuda().cuCtxSetCurrent(client.program.context));
      CUstream stream = make_stream();
      const CUdeviceptr mine = range + t * 2 * kMiB;
      while (!over) {
        client.program.store_us(20, mine, ++done[t], stream);
        if (done[t] % 64 != 0) continue;
        OK(cuda().cuStreamSynchronize(stream));
        expect(holds(mine, {done[t]}), "no launch is lost, and none writes elsewhere");
      }
      OK(cuda().cuStreamSynchronize(stream));
    });
  std::atomic<unsigned> rounds{0};
  threads.emplace_back([&] {
    OK(cuda().cuCtxSetCurrent(client.program.context));
    const CUdeviceptr mine = range + 128 * kMiB;
    for (unsigned made = 0; !over; rounds = ++made) {
      const std::size_t bytes = (made % 3 + 1) * 2 * kMiB;
      const CUmemGenericAllocationHandle handle = make(bytes);
      OK(cuda().cuMemMap(mine, bytes, 0, handle, 0));
      if (made % 2) OK(cuda().cuMemRelease(handle));
      allow(mine, bytes);
      OK(cuda().cuMemsetD32_v2(mine, made, bytes / 4));
      expect(holds(mine + bytes - 8, {made, made}), "memory that was just made is whole");
      OK(cuda().cuMemUnmap(mine, bytes));
      if (made % 2 == 0) OK(cuda().cuMemRelease(handle));
    }
  });
  for (int round = 0; round < 6; ++round) {
    client.parked();
    client.returned();
    const unsigned seen = rounds;
    eventually([&] { return rounds != seen; }, "the program goes on");
  }
  over = true;
  for (auto& thread : threads) thread.join();
  for (unsigned t = 0; t < kThreads; ++t) expect(holds(range + t * 2 * kMiB, {done[t]}), "the last word is right");
}

constexpr Case kCases[] = {
    {"a segment that grows by handles and has holes is parked and returned", segments_grow},
    {"mappings of one handle are one memory after the return, also without the handle", aliases},
    {"access returns as it was set, for each GPU and each part", access_returns},
    {"memory that is not mapped keeps its content", without_a_mapping},
    {"parts are chosen among both kinds of memory", in_parts},
    {"mapped memory returns when it fits", gpu_is_full_at_the_return},
    {"mapped memory outlives its contexts, also while it is parked", outlives_contexts},
    {"parking beside threads that launch and map loses nothing", beside_running_work},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
