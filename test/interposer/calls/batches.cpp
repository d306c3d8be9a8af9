// Copies that come many in one call, and calls that move memory: given to the driver in pieces, counted by their bytes, held.
#include "../fixture.h"

using namespace harness;

namespace {

constexpr std::size_t kMiB = 1 << 20;
constexpr std::size_t kPiece = 2 * kMiB;  // the harness's copyPieceBytes

struct Client : BestEffort {
  CUstream stream = make_stream();
  std::uint64_t copies = 0;
  std::uint64_t submitted = 0;

  Client() { agent.region().settings.progressAfterUs = 60'000'000; }
  void begin() {
    copies = slot().copies.load();
    submitted = slot().submittedNs.load();
  }
  // Expects these submissions since begin(): `pieces` of them, that take `ns` at least.
  void expect_moved(std::uint64_t pieces, std::uint64_t ns) {
    const std::uint64_t given = slot().copies.load() - copies;
    const std::uint64_t time = slot().submittedNs.load() - submitted;
    expect(given == pieces, std::to_string(pieces) + " pieces, not " + std::to_string(given));
    expect(time >= ns, std::to_string(ns) + " ns are expected at least, not " + std::to_string(time));
  }
};

// A batch must say when its sources are read.
const CUmemcpyAttributes kInOrder = [] {
  CUmemcpyAttributes attributes{};
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  return attributes;
}();

constexpr std::uint64_t over_pcie(std::size_t bytes) { return bytes / 20; }
constexpr std::uint64_t in_memory(std::size_t bytes) { return bytes / 1'000; }

CUdeviceptr device_memory(std::size_t bytes) {
  CUdeviceptr made = 0;
  OK(cuda().cuMemAlloc_v2(&made, bytes));
  return made;
}
unsigned char* host_memory(std::size_t bytes) {
  void* made = nullptr;
  OK(cuda().cuMemHostAlloc(&made, bytes, 0));
  std::memset(made, 0, bytes);
  return static_cast<unsigned char*>(made);
}
CUdeviceptr address(const void* host) { return reinterpret_cast<CUdeviceptr>(host); }

void copies() {
  Client client;
  constexpr std::size_t kBytes = 32 * kMiB;
  unsigned char* from = host_memory(kBytes);
  unsigned char* back = host_memory(kBytes);
  for (std::size_t i = 0; i < kBytes; i += 4096) from[i] = static_cast<unsigned char>(i / 4096 + 1);
  const CUdeviceptr device = device_memory(kBytes);
  // One large entry, then three small ones that fit into one call.
  CUdeviceptr to[] = {device, device + 24 * kMiB, device + 25 * kMiB, device + 25 * kMiB + 4096};
  CUdeviceptr host[] = {address(from), address(from) + 24 * kMiB, address(from) + 25 * kMiB,
                        address(from) + 25 * kMiB + 4096};
  std::size_t sizes[] = {24 * kMiB, kMiB, 4096, 4096};
  CUmemcpyAttributes attributes[] = {kInOrder};
  std::size_t indices[] = {0};
  client.begin();
  OK(cuda().cuMemcpyBatchAsync_v2(to, host, sizes, 4, attributes, indices, 1, client.stream));
  client.expect_moved(24 * kMiB / kPiece + 1, over_pcie(25 * kMiB));
  client.begin();
  OK(cuda().cuMemcpyDtoHAsync_v2(back, device, kBytes, client.stream));
  OK(cuda().cuStreamSynchronize(client.stream));
  expect(std::memcmp(back, from, 25 * kMiB + 8192) == 0, "every byte is where it belongs");
}

void attributes() {
  Client client;
  const CUdeviceptr device = device_memory(8 * kMiB);
  CUdeviceptr to[] = {device, device + 4096, device + 8192};
  CUdeviceptr from[] = {device + kMiB, device + kMiB, device + kMiB};
  std::size_t sizes[] = {4096, 4096, 4096};
  CUmemcpyAttributes two[] = {kInOrder, kInOrder};
  std::size_t indices[] = {0, 2};
  client.begin();
  OK(cuda().cuMemcpyBatchAsync_v2(to, from, sizes, 3, two, indices, 2, client.stream));
  client.expect_moved(2, in_memory(3 * 4096));
}

void failures() {
  Client client;
  const CUdeviceptr device = device_memory(16 * kMiB);
  CUdeviceptr to[] = {device, device + 8 * kMiB, 0};
  CUdeviceptr from[] = {device + 4 * kMiB, device + 12 * kMiB, 0};
  std::size_t sizes[] = {4 * kMiB, 4 * kMiB, 4096};
  CUmemcpyAttributes attributes[] = {kInOrder};
  std::size_t indices[] = {0};
  std::size_t failed = 77;
  expect(cuda().cuMemcpyBatchAsync(to, from, sizes, 3, attributes, indices, 1, &failed, client.stream) != CUDA_SUCCESS,
         "a copy to nowhere is refused");
  if (getenv("COTENANT_TEST_PASS")) return;  // a real driver names none for it
  expect(failed == 2, "and named by its place in the whole batch, not " + std::to_string(failed));
}

void boxes() {
  Client client;
  const CUdeviceptr device = device_memory(32 * kMiB);
  unsigned char* host = host_memory(32 * kMiB);
  CUDA_MEMCPY3D_BATCH_OP operations[2]{};
  for (std::size_t i = 0; i < 2; ++i) {
    operations[i].extent = {4096, 1024, 4};
    operations[i].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    operations[i].src.type = operations[i].dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
    operations[i].src.op.ptr = {address(host) + i * 16 * kMiB, 0, 0, {}};
    operations[i].dst.op.ptr = {device + i * 16 * kMiB, 0, 0, {}};
  }
  client.begin();
  OK(cuda().cuMemcpy3DBatchAsync_v2(2, operations, 0, client.stream));
  client.expect_moved(2, over_pcie(32 * kMiB));
  client.begin();
  OK(cuda().cuMemcpy3DWithAttributesAsync(operations, 0, client.stream));
  client.expect_moved(1, over_pcie(16 * kMiB));
}

void single_copies() {
  Client client;
  constexpr std::size_t kBytes = 32 * kMiB;
  unsigned char* from = host_memory(kBytes);
  unsigned char* back = host_memory(kBytes);
  for (std::size_t i = 0; i < kBytes; i += 4096) from[i] = static_cast<unsigned char>(i / 4096 + 1);
  const CUdeviceptr device = device_memory(kBytes);
  CUmemcpyAttributes attributes = kInOrder;
  client.begin();
  OK(cuda().cuMemcpyWithAttributesAsync(device, address(from), kBytes, &attributes, client.stream));
  client.expect_moved(kBytes / kPiece, over_pcie(kBytes));
  client.begin();
  OK(cuda().cuMemcpyWithAttributesAsync_ptsz(address(back), device, kBytes, &attributes, client.stream));
  client.expect_moved(kBytes / kPiece, over_pcie(kBytes));
  OK(cuda().cuStreamSynchronize(client.stream));
  expect(std::memcmp(back, from, kBytes) == 0, "every byte is where it belongs");
}

CUdeviceptr managed_memory(std::size_t bytes) {
  CUdeviceptr made = 0;
  OK(cuda().cuMemAllocManaged(&made, bytes, 1));
  return made;
}

void prefetches() {
  Client client;
  const CUdeviceptr range = managed_memory(64 * kMiB);
  client.begin();
  OK(cuda().cuMemPrefetchAsync(range, 64 * kMiB, 0, client.stream));
  client.expect_moved(32, over_pcie(64 * kMiB));
  client.begin();
  OK(cuda().cuMemPrefetchAsync_v2_ptsz(range, 64 * kMiB, {CU_MEM_LOCATION_TYPE_HOST, 0}, 0, client.stream));
  client.expect_moved(32, over_pcie(64 * kMiB));
}

void many_ranges() {
  Client client;
  const CUdeviceptr range = managed_memory(64 * kMiB);
  CUdeviceptr ranges[] = {range, range + 32 * kMiB, range + 33 * kMiB};
  std::size_t sizes[] = {32 * kMiB, kMiB, kMiB};
  CUmemLocation place[] = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}};
  std::size_t indices[] = {0};
  client.begin();
  OK(cuda().cuMemPrefetchBatchAsync(ranges, sizes, 3, place, indices, 1, 0, client.stream));
  client.expect_moved(17, over_pcie(34 * kMiB));
  client.begin();
  OK(cuda().cuMemDiscardAndPrefetchBatchAsync(ranges, sizes, 3, place, indices, 1, 0, client.stream));
  client.expect_moved(17, in_memory(34 * kMiB));
  client.begin();
  OK(cuda().cuMemDiscardBatchAsync(ranges, sizes, 3, 0, client.stream));
  client.expect_moved(17, in_memory(34 * kMiB));
}

// The software GPU is a Hopper, which has no engine for it: the answer is the driver's, the work is noted all the same.
void unpacking() {
  Client client;
  CUmemDecompressParams operations[2]{};
  for (auto& each : operations) each.srcNumBytes = kMiB, each.dstNumBytes = 2 * kMiB;
  client.begin();
  expect(cuda().cuMemBatchDecompressAsync(operations, 2, 0, nullptr, client.stream) == CUDA_ERROR_NOT_SUPPORTED,
         "the driver's own answer");
  client.expect_moved(1, over_pcie(2 * kMiB));
}

// A batch that a request stops: nothing of it is there before the request ends.
void held() {
  Client client;
  client.warm(50, client.stream);
  constexpr std::size_t kBytes = 8 * kMiB;
  unsigned char* from = host_memory(kBytes);
  unsigned char* back = host_memory(kBytes);
  std::memset(from, 7, kBytes);
  const CUdeviceptr device = device_memory(kBytes);
  OK(cuda().cuMemcpyHtoDAsync_v2(device, from, kBytes, client.stream));
  OK(cuda().cuStreamSynchronize(client.stream));
  CUdeviceptr to[] = {address(back)};
  CUdeviceptr at[] = {device};
  std::size_t sizes[] = {kBytes};
  client.request_begins();
  std::thread([&] {
    sleep_ms(200);
    expect(back[0] == 0 && back[kBytes - 1] == 0, "nothing is copied while the request goes on");
    client.request_ends();
  }).detach();
  OK(cuda().cuCtxSetCurrent(client.program.context));
  CUmemcpyAttributes attributes[] = {kInOrder};
  std::size_t indices[] = {0};
  OK(cuda().cuMemcpyBatchAsync_v2(to, at, sizes, 1, attributes, indices, 1, client.stream));
  OK(cuda().cuStreamSynchronize(client.stream));
  expect(client.agent.page().active.load() == 0, "the request has ended");
  expect(back[0] == 7 && back[kBytes - 1] == 7, "and then all is copied");
}

constexpr Case kCases[] = {
    {"the copies of a batch are given in pieces and counted by their bytes", copies},
    {"copies with other attributes are given in another call", attributes},
    {"a batch's failure is named by its place in the whole batch", failures},
    {"the boxes of a batch are given one by one and counted by their bytes", boxes},
    {"a copy with attributes is given in pieces and counted by its bytes", single_copies},
    {"a prefetch is given in pieces and counted by its bytes", prefetches},
    {"prefetched and discarded ranges are given in pieces and counted by their bytes", many_ranges},
    {"what is unpacked is counted by its bytes", unpacking},
    {"a batch waits while a request goes on", held},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
