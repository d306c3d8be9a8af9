// Answers to a program about memory that it maps itself: which of it can be parked, and which cannot.
#include <fcntl.h>
#include <sys/stat.h>

#include "client.h"
#include "mappings.h"

using namespace harness;

namespace {

using cotenant::protocol::ParkState;
using cotenant::protocol::Unmovable;

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
    {"calls about mappings wait while they are parked", calls_wait},
    {"memory that others may use stays, and is named", what_others_have_stays},
    {"memory that a network card may have stays", beside_a_network_card},
    {"questions about a pointer are answered as before", answers_about_pointers},
    {"without --movable handles are the driver's", without_the_option},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
