// Memory that the program makes and maps itself is parked and returned as memory from cuMemAlloc is, and the program finds
// its handles, mappings and their access as it left them.
#include <fcntl.h>
#include <sys/stat.h>

#include "client.h"
#include "mappings.h"

using namespace harness;

namespace {

using cotenant::protocol::ParkState;
using cotenant::protocol::Unmovable;

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
  // One copy over the border of two handles.
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

void calls_wait() {
  Movable client;
  const CUdeviceptr range = reserve(16 * kMiB);
  const CUmemGenericAllocationHandle handle = make(4 * kMiB);
  OK(cuda().cuMemMap(range, 4 * kMiB, 0, handle, 0));
  allow(range, 4 * kMiB);
  const auto words = pattern(4 * kMiB, 8);
  write(range, words);
  std::atomic<unsigned> through{0};
  client.parked();
  std::vector<std::thread> threads;
  const auto waits = [&](auto call) {
    threads.emplace_back([&, call] {
      OK(cuda().cuCtxSetCurrent(client.program.context));
      call();
      ++through;
    });
  };
  waits([&] { expect(access_of(range, 0) == CU_MEM_ACCESS_FLAGS_PROT_READWRITE, "access is as before"); });
  waits([&] { OK(cuda().cuMemMap(range + 8 * kMiB, 4 * kMiB, 0, handle, 0)); });
  waits([&] { expect(cuda().cuMemAddressFree(range, 16 * kMiB) != CUDA_SUCCESS, "mapped addresses are not freed"); });
  waits([&] {
    CUmemAllocationProp properties{};
    OK(cuda().cuMemGetAllocationPropertiesFromHandle(&properties, handle));
    expect(properties.location.type == CU_MEM_LOCATION_TYPE_DEVICE, "its properties are told");
  });
  waits([&] { OK(cuda().cuMemRelease(make(2 * kMiB))); });
  waits([&] {
    CUmemGenericAllocationHandle retained = 0;
    OK(cuda().cuMemRetainAllocationHandle(&retained, reinterpret_cast<void*>(range)));
    expect(retained == handle, "the handle is the same");
  });
  sleep_ms(300);
  expect(through == 0, "calls about mappings wait while they are parked");
  client.returned();
  for (auto& thread : threads) thread.join();
  allow(range + 8 * kMiB, 4 * kMiB);
  expect(holds(range, words) && holds(range + 8 * kMiB, words), "and then do their work");
}

void what_others_have_stays() {
  Movable client;
  const CUdeviceptr range = reserve(32 * kMiB);
  const auto words = pattern(4 * kMiB, 10);
  const auto placed = [&](unsigned i, const CUmemAllocationProp& properties) {
    const CUmemGenericAllocationHandle handle = make(4 * kMiB, properties);
    OK(cuda().cuMemMap(range + i * 4 * kMiB, 4 * kMiB, 0, handle, 0));
    allow(range + i * 4 * kMiB, 4 * kMiB);
    write(range + i * 4 * kMiB, words);
    return handle;
  };
  const CUmemGenericAllocationHandle exported = placed(0, exportable());
  placed(1, exportable());
  placed(2, device_memory());
  CUmemAllocationProp compressed = device_memory();
  compressed.allocFlags.compressionType = 1;
  placed(3, compressed);
  client.parked();
  eventually([&] { return client.memory().parkedBytes.load() == 12 * kMiB; }, "all but what is compressed");
  client.returned();
  int file = -1;
  OK(cuda().cuMemExportToShareableHandle(&file, exported, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  int on = 1;
  OK(cuda().cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, range + 8 * kMiB));
  client.parked();
  eventually([&] { return client.memory().parkedBytes.load() == 4 * kMiB; }, "memory that others may use stays");
  expect((client.memory().unmovable.load() & static_cast<unsigned>(Unmovable::kMapped)) != 0, "and is named");
  expect(client.memory().movableBytes.load() == 4 * kMiB && client.slot().memoryUsed.load() == 16 * kMiB,
         "and is not counted as movable");
  // Another process, which imports it, would go on with it meanwhile.
  expect(static_cast<unsigned char*>(mmap(nullptr, 4 * kMiB, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0))[0] ==
             (words[0] & 0xff),
         "who got the file sees the memory");
  client.returned();
  CUmemGenericAllocationHandle imported = 0;
  OK(cuda().cuMemImportFromShareableHandle(&imported, reinterpret_cast<void*>(std::intptr_t{file}),
                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
  OK(cuda().cuMemMap(range + 20 * kMiB, 4 * kMiB, 0, imported, 0));
  allow(range, 16 * kMiB);
  allow(range + 20 * kMiB, 4 * kMiB);
  client.parked();
  client.returned();
  write(range + 20 * kMiB, {1, 2, 3});
  expect(holds(range, {1, 2, 3}), "and what was imported is the same memory");
  for (unsigned i = 1; i < 4; ++i) expect(holds(range + i * 4 * kMiB, words), "every byte is where it was");
}

// A network card goes on with the memory that it was given; the kernel, not CUDA, gives it.
void beside_a_network_card() {
  Movable client;
  const std::string folder = "/tmp/cotenant-own-memory-" + std::to_string(getpid());
  mkdir(folder.c_str(), 0700);
  mkdir((folder + "/infiniband").c_str(), 0700);
  const std::string path = folder + "/infiniband/uverbs0";
  CUmemAllocationProp registrable = device_memory();
  registrable.allocFlags.gpuDirectRDMACapable = 1;
  make(4 * kMiB, registrable);
  const int card = open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  unlink(path.c_str());
  rmdir((folder + "/infiniband").c_str());
  rmdir(folder.c_str());
  client.park();
  expect(client.state() == ParkState::kOpen && client.memory().parkReason[0] != '\0', "alone it is not parked");
  make(6 * kMiB);
  client.parked();
  eventually([&] { return client.memory().parkedBytes.load() == 6 * kMiB; }, "what a card may have stays");
  client.returned();
  close(card);
  client.parked();
  eventually([&] { return client.memory().parkedBytes.load() == 10 * kMiB; }, "without a card it is parked");
  client.returned();
}

void answers_about_pointers() {
  Movable client;
  const CUdeviceptr range = reserve(8 * kMiB);
  OK(cuda().cuMemMap(range + 2 * kMiB, 4 * kMiB, 0, make(4 * kMiB), 0));
  allow(range + 2 * kMiB, 4 * kMiB);
  struct Answers {
    unsigned long long buffer = 0, block = 0;
    CUdeviceptr base = 0, start = 0;
    std::size_t bytes = 0, size = 0;
    int device = -1;
    bool operator==(const Answers& other) const {
      return buffer == other.buffer && block == other.block && base == other.base && start == other.start &&
             bytes == other.bytes && size == other.size && device == other.device;
    }
  };
  const auto ask = [&] {
    Answers seen;
    CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                   CU_POINTER_ATTRIBUTE_RANGE_SIZE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    void* into[] = {&seen.block, &seen.start, &seen.size, &seen.device};
    OK(cuda().cuPointerGetAttribute(&seen.buffer, CU_POINTER_ATTRIBUTE_BUFFER_ID, range + 3 * kMiB));
    OK(cuda().cuPointerGetAttributes(4, asked, into, range + 3 * kMiB));
    OK(cuda().cuMemGetAddressRange_v2(&seen.base, &seen.bytes, range + 3 * kMiB));
    return seen;
  };
  const Answers before = ask();
  expect(before.base == range + 2 * kMiB && before.bytes == 4 * kMiB, "the driver answers for the mapping");
  for (int round = 0; round < 2; ++round) {
    client.parked();
    client.returned();
    expect(ask() == before, "no answer has changed");
  }
}

void gpu_is_full_at_the_return() {
  Movable client;
  const CUdeviceptr range = reserve(64 * kMiB);
  for (unsigned i = 0; i < 5; ++i) OK(cuda().cuMemMap(range + i * 10 * kMiB, 10 * kMiB, 0, make(10 * kMiB), 0));
  allow(range, 50 * kMiB);
  const auto words = pattern(50 * kMiB, 11);
  write(range, words);
  client.parked();
  const std::size_t left = free_bytes();
  CUdeviceptr others = 0;
  OK(cuda().cuMemAllocAsync(&others, left + 25 * kMiB, nullptr));  // as another process would
  OK(cuda().cuStreamSynchronize(nullptr));
  client.ask(false);
  eventually([&] { return client.memory().parkReason[0] != '\0'; }, "it says that its memory does not fit");
  expect(client.state() == ParkState::kReturning, "and waits");
  OK(cuda().cuMemFreeAsync(others, nullptr));
  OK(cuda().cuStreamSynchronize(nullptr));
  client.answered("it is back as soon as it fits");
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

void without_the_option() {
  BestEffort client;
  const CUmemGenericAllocationHandle handle = make(4 * kMiB);
  const CUdeviceptr range = reserve(4 * kMiB);
  OK(cuda().cuMemMap(range, 4 * kMiB, 0, handle, 0));
  allow(range, 4 * kMiB);
  expect(handle >> 48 == 0, "the handle is the driver's own");
  expect(client.slot().memory.movable.load() == 0 && client.slot().memory.movableBytes.load() == 0,
         "and nothing is movable");
  expect(client.slot().memoryUsed.load() == 4 * kMiB, "it counts against the quota as before");
}

constexpr Case kCases[] = {
    {"a segment that grows by handles and has holes is parked and returned", segments_grow},
    {"mappings of one handle are one memory after the return, also without the handle", aliases},
    {"access returns as it was set, for each GPU and each part", access_returns},
    {"memory that is not mapped keeps its content", without_a_mapping},
    {"parts are chosen among both kinds of memory", in_parts},
    {"calls about mappings wait while they are parked", calls_wait},
    {"memory that others may use stays, and is named", what_others_have_stays},
    {"memory that a network card may have stays", beside_a_network_card},
    {"questions about a pointer are answered as before", answers_about_pointers},
    {"mapped memory returns when it fits", gpu_is_full_at_the_return},
    {"mapped memory outlives its contexts, also while it is parked", outlives_contexts},
    {"parking beside threads that launch and map loses nothing", beside_running_work},
    {"without --movable handles are the driver's", without_the_option},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
