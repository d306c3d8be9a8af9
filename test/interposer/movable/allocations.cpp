// Movable memory serves a program as memory from cuMemAlloc does.
#include "client.h"

using namespace harness;

namespace {

void from_pieces() {
  Movable client;
  const std::size_t before = free_bytes();
  const std::size_t bytes = 150 * kMiB + 4;
  const CUdeviceptr made = allocate(bytes);
  expect(before - free_bytes() == 152 * kMiB, "it takes what was asked for, rounded up to 2 MiB");
  const auto words = pattern(150 * kMiB, 1);
  write(made, words);
  expect(holds(made, words), "one copy goes over the borders of pieces");
  OK(cuda().cuMemsetD32_v2(made + 64 * kMiB - 8, 5, 4));
  expect(holds(made + 64 * kMiB - 8, {5, 5, 5, 5}), "so does a fill");
  eventually([&] { return client.memory().movableBytes.load() == 152 * kMiB; }, "the agent sees the movable bytes");
  expect(client.slot().memoryUsed.load() == bytes, "the quota counts what was asked for");
  OK(cuda().cuMemFree_v2(made));
  expect(free_bytes() == before, "all of it is given back");
  expect(cuda().cuMemFree_v2(made) != CUDA_SUCCESS, "once");
}

void small_ones_share() {
  Movable client;
  const std::size_t before = free_bytes();
  std::vector<CUdeviceptr> all(3000);
  for (auto& each : all) each = allocate(700);
  for (std::size_t i = 0; i < all.size(); ++i) OK(cuda().cuMemsetD32_v2(all[i], static_cast<unsigned>(i), 700 / 4));
  expect(before - free_bytes() == 4 * kMiB, "3,000 x 1 KiB take two arenas of 2 MiB");
  for (std::size_t i = 0; i < all.size(); ++i)
    expect(holds(all[i], std::vector<unsigned>(700 / 4, static_cast<unsigned>(i))), "none overlaps another");
  for (std::size_t i = 0; i < all.size(); i += 2) OK(cuda().cuMemFree_v2(all[i]));
  for (std::size_t i = 0; i < all.size(); i += 2) all[i] = allocate(500);
  expect(before - free_bytes() == 4 * kMiB, "freed room is used again");
  for (const auto each : all) OK(cuda().cuMemFree_v2(each));
  expect(free_bytes() == before && client.slot().memoryUsed.load() == 0, "all of it is given back");
}

void answers_about_pointers() {
  Movable client;
  for (const std::size_t bytes : {std::size_t{1000}, 5 * kMiB + 100}) {
    const CUdeviceptr other = allocate(bytes);
    const CUdeviceptr made = allocate(bytes);
    CUdeviceptr base = 0;
    std::size_t size = 0;
    OK(cuda().cuMemGetAddressRange_v2(&base, &size, made + bytes - 1));
    expect(base == made && size == bytes, "the range is the allocation's");
    CUcontext context = nullptr;
    unsigned type = 0;
    unsigned long long id = 0;
    unsigned long long other_id = 0;
    OK(cuda().cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, made + 8));
    expect(context == client.program.context, "it belongs to the context that it was allocated in");
    CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                   CU_POINTER_ATTRIBUTE_RANGE_SIZE, CU_POINTER_ATTRIBUTE_BUFFER_ID};
    void* into[] = {&type, &base, &size, &id};
    base = size = 0;
    OK(cuda().cuPointerGetAttributes(4, asked, into, made + 8));
    expect(type == CU_MEMORYTYPE_DEVICE && base == made && size == bytes, "its attributes are those of cuMemAlloc");
    OK(cuda().cuPointerGetAttribute(&other_id, CU_POINTER_ATTRIBUTE_BUFFER_ID, other));
    expect(id != other_id, "each allocation has a number of its own");
    expect(cuda().cuMemFree_v2(made + 256) == CUDA_ERROR_INVALID_VALUE, "only its beginning can be freed");
    CUmemGenericAllocationHandle handle = 0;
    expect(cuda().cuMemRetainAllocationHandle(&handle, reinterpret_cast<void*>(made)) == CUDA_ERROR_INVALID_VALUE &&
               cuda().cuMemUnmap(made, 2 * kMiB) == CUDA_ERROR_INVALID_VALUE,
           "it is no mapping of the program's");
    CUipcMemHandle ipc{};
    const std::string said =
        told([&] { expect(cuda().cuIpcGetMemHandle(&ipc, made) == CUDA_ERROR_NOT_SUPPORTED, "it cannot be shared"); });
    expect(said.find("--movable") != std::string::npos, "and the sentence names the option");
    int file = -1;
    expect(told([&] {
             expect(cuda().cuMemGetHandleForAddressRange(&file, made, bytes, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0) ==
                        CUDA_ERROR_NOT_SUPPORTED,
                    "nor be given to another device");
           }).find("--movable") != std::string::npos,
           "which is said as well");
  }
  std::size_t pitch = 0;
  CUdeviceptr rows = 0;
  OK(cuda().cuMemAllocPitch_v2(&rows, &pitch, 1000, 3000, 4));
  expect(pitch == 1024, "rows are padded as the driver pads them");
  OK(cuda().cuMemFree_v2(rows));
}

void free_waits() {
  Movable client;
  const CUdeviceptr word = allocate(4);
  const CUdeviceptr other = allocate(8 * kMiB);
  CUstream stream = make_stream();
  client.program.store_us(30'000, word, 17, stream);
  OK(cuda().cuMemFree_v2(other));
  expect(cuda().cuStreamQuery(stream) == CUDA_SUCCESS, "cuMemFree returns when the context's work is done");
  expect(holds(word, {17}), "and the work took place");
}

void what_cannot_move() {
  Movable client;
  using cotenant::protocol::Unmovable;
  const auto uses = [&](Unmovable kind) {
    eventually([&] { return (client.memory().unmovable.load() & static_cast<unsigned>(kind)) != 0; }, "it is named");
  };
  CUdeviceptr made = allocate(4 * kMiB);
  OK(cuda().cuMemAllocAsync(&made, 6 * kMiB, nullptr));
  uses(Unmovable::kPools);
  OK(cuda().cuMemAllocManaged(&made, 8 * kMiB, 1));
  uses(Unmovable::kManaged);
  eventually([&] { return client.memory().movableAsked.load() == 4 * kMiB; }, "what is movable is counted");
  expect(client.slot().memoryUsed.load() == 18 * kMiB, "beside all memory");
}

void quota_counts_it() {
  Movable client("67108864");
  CUdeviceptr made = 0;
  expect(cuda().cuMemAlloc_v2(&made, 100 * kMiB) == CUDA_ERROR_OUT_OF_MEMORY, "more than the quota is refused");
  made = allocate(60 * kMiB);
  expect(client.slot().memoryUsed.load() == 60 * kMiB, "it is charged");
}

void memory_runs_out() {
  Movable client;
  const std::size_t before = free_bytes();
  CUdeviceptr made = 0;
  expect(cuda().cuMemAlloc_v2(&made, before + 2 * kMiB) == CUDA_ERROR_OUT_OF_MEMORY, "as the driver says it");
  expect(free_bytes() == before, "and nothing of it stays");
}

void context_ends() {
  Movable client;
  const std::size_t before = free_bytes();
  CUcontext own = nullptr;
  OK(cuda().cuCtxCreate_v2(&own, 0, 0));
  allocate(20 * kMiB);
  allocate(100);
  OK(cuda().cuCtxDestroy_v2(own));
  OK(cuda().cuCtxSetCurrent(client.program.context));
  expect(free_bytes() == before, "memory ends with its context");
}

void in_a_capture() {
  Movable client;
  CUstream stream = make_stream();
  const CUdeviceptr word = allocate(4);
  const CUdeviceptr other = allocate(4 * kMiB);
  const std::size_t before = free_bytes();
  OK(cuda().cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  client.program.store_us(10, word, 5, stream);
  OK(cuda().cuMemFree_v2(other));
  const CUdeviceptr made = allocate(4 * kMiB);
  CUgraph graph = nullptr;
  OK(cuda().cuStreamEndCapture(stream, &graph));
  CUgraphExec exec = nullptr;
  OK(cuda().cuGraphInstantiateWithFlags(&exec, graph, 0));
  OK(cuda().cuGraphLaunch(exec, stream));
  OK(cuda().cuStreamSynchronize(stream));
  expect(holds(word, {5}), "the capture is whole");
  OK(cuda().cuMemFree_v2(made));
  expect(free_bytes() == before + 4 * kMiB, "what was freed in the capture is given back after it");
}

void without_the_option() {
  BestEffort client;
  const std::size_t before = free_bytes();
  const CUdeviceptr made = allocate(3 * kMiB + 512);
  expect(before - free_bytes() == 3 * kMiB + 512, "memory is the driver's own");
  OK(cuda().cuMemFree_v2(made));
  expect(client.slot().memory.movable.load() == 0 && client.slot().memory.movableBytes.load() == 0,
         "and nothing is movable");
}

constexpr Case kCases[] = {
    {"memory comes from pieces, and copies go over their borders", from_pieces},
    {"small allocations share a piece and do not overlap", small_ones_share},
    {"questions about a pointer are answered as for cuMemAlloc", answers_about_pointers},
    {"cuMemFree waits for the context's work", free_waits},
    {"what cannot be moved is named and counted", what_cannot_move},
    {"the quota counts movable memory", quota_counts_it},
    {"an allocation that does not fit is refused and leaves nothing", memory_runs_out},
    {"movable memory ends with its context", context_ends},
    {"a capture is not disturbed by allocations", in_a_capture},
    {"without --movable memory is the driver's", without_the_option},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
