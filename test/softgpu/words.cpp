// Words that streams write and wait for: the marks and holds that the interposer lives on.
#include <atomic>
#include <thread>

#include "client.h"

CASE("write-follows-the-work-before-it") {
  const Gpu gpu;
  const CUstream s = gpu.stream();
  const Word mark;
  CUevent event = nullptr;
  OK(cuEventCreate(&event, 0));
  gpu.run(s, 30000);
  OK(cuEventRecord(event, s));
  OK(cuStreamWriteValue32_v2(s, mark.device, 7, 0));
  const bool written = mark.get() == 7;  // looked at before the event, so that a slow CPU cannot make it wrong
  const bool over = api().cuEventQuery(event) == CUDA_SUCCESS;
  EXPECT(over || !written, "the word is not written while the kernel before it runs");
  OK(cuStreamSynchronize(s));
  EXPECT(mark.get() == 7, "the word is written when the stream is done");
  report("{}");
}

CASE("write-is-seen-without-asking") {
  const Gpu gpu;
  const CUstream s = gpu.stream();
  const Word mark;
  gpu.run(s, 2000);
  OK(cuStreamWriteValue32_v2(s, mark.device, 1, 0));
  // No CUDA call from here: the device must move by itself.
  const std::uint64_t limit = nanos() + 10'000'000'000u;
  while (mark.get() == 0 && nanos() < limit) rest(100);
  EXPECT(mark.get() == 1, "a mark appears although nobody calls the driver");
  report("{}");
}

CASE("conditions") {
  const Gpu gpu;
  struct Row {
    unsigned flags;
    std::uint32_t asked, closed, open;
  };
  const Row rows[] = {
      {CU_STREAM_WAIT_VALUE_EQ, 5, 4, 5},
      {CU_STREAM_WAIT_VALUE_GEQ, 5, 4, 6},
      {CU_STREAM_WAIT_VALUE_GEQ, 0x80000001u, 2, 0x80000002u},  // a difference of 32 bits, so it may wrap
      {CU_STREAM_WAIT_VALUE_AND, 6, 9, 2},
      {CU_STREAM_WAIT_VALUE_NOR, 0xfffffff0u, 0xf, 0x7},
  };
  for (const Row& row : rows) {
    const CUstream s = gpu.stream();
    const Word word;
    word.set(row.closed);
    OK(cuStreamWaitValue32_v2(s, word.device, row.asked, row.flags));
    rest(1000);
    EXPECT(!done(s), "the stream stays where the condition does not hold");
    word.set(row.open);
    OK(cuStreamSynchronize(s));
  }
  report("{\"conditions\":%zu}", sizeof rows / sizeof rows[0]);
}

CASE("wide-values") {
  const Gpu gpu;
  const CUstream s = gpu.stream();
  const Word word;
  auto* wide = reinterpret_cast<volatile std::uint64_t*>(const_cast<std::uint32_t*>(word.host));
  OK(cuStreamWriteValue64_v2(s, word.device, 0x1122334455667788u, 0));
  OK(cuStreamWaitValue64_v2(s, word.device, 0x1122334455667788u, CU_STREAM_WAIT_VALUE_EQ));
  OK(cuStreamSynchronize(s));
  EXPECT(*wide == 0x1122334455667788u, "all 64 bits are written");
  report("{}");
}

CASE("batch") {
  const Gpu gpu;
  const CUstream s = gpu.stream();
  const Word done_word, hold;
  hold.set(1);
  CUstreamBatchMemOpParams ops[2]{};
  ops[0].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  ops[0].writeValue.address = done_word.device;
  ops[0].writeValue.value = 3;
  ops[1].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
  ops[1].waitValue.address = hold.device;
  ops[1].waitValue.value = 0;
  ops[1].waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
  OK(cuStreamBatchMemOp_v2(s, 2, ops, 0));
  gpu.run(s, 10);
  const std::uint64_t limit = nanos() + 10'000'000'000u;
  while (done_word.get() != 3 && nanos() < limit) rest(100);
  EXPECT(done_word.get() == 3, "the write of a batch is done before its wait is over");
  EXPECT(!done(s), "the stream is held by the wait of the batch");
  hold.set(0);
  OK(cuStreamSynchronize(s));
  report("{}");
}

CASE("registered-memory") {
  const Gpu gpu;
  const CUstream s = gpu.stream();
  alignas(4096) static std::uint32_t page[1024];
  GIVES(CUDA_ERROR_INVALID_VALUE, cuStreamWaitValue32_v2(s, reinterpret_cast<CUdeviceptr>(&page[0]), 0, 0));
  OK(cuMemHostRegister_v2(page, sizeof page, CU_MEMHOSTREGISTER_DEVICEMAP));
  GIVES(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister_v2(page, sizeof page, 0));
  CUdeviceptr device = 0;
  OK(cuMemHostGetDevicePointer_v2(&device, page, 0));
  OK(cuStreamWriteValue32_v2(s, device + 8, 42, 0));
  OK(cuStreamSynchronize(s));
  EXPECT(page[2] == 42, "a stream writes into registered host memory");
  OK(cuMemHostUnregister(page));
  GIVES(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(page));
  report("{}");
}

CASE("held-stream-does-not-hold-others") {
  const Gpu gpu;
  const CUstream held = gpu.stream(), free = gpu.stream();
  const Word hold;
  OK(cuStreamWaitValue32_v2(held, hold.device, 1, CU_STREAM_WAIT_VALUE_EQ));
  gpu.run(held, 10);
  for (int i = 0; i < 20; ++i) gpu.run(free, 10);
  OK(cuStreamSynchronize(free));
  EXPECT(!done(held), "only the stream that waits is held");
  hold.set(1);
  OK(cuCtxSynchronize());
  report("{}");
}

// The end of a context waits for what is parked in it; a process exits although a stream is parked for ever.
CASE("destroying-a-parked-context") {
  const Gpu gpu;
  CUcontext extra = nullptr;
  OK(cuCtxCreate_v4(&extra, nullptr, 0, 0));
  CUstream s = nullptr;
  OK(cuStreamCreate(&s, 0));
  const Word hold;
  OK(cuStreamWaitValue32_v2(s, hold.device, 1, CU_STREAM_WAIT_VALUE_EQ));
  std::atomic<bool> released{false};
  std::thread releases([&] {
    usleep(100'000);
    released = true;
    hold.set(1);
  });
  OK(cuCtxDestroy_v2(extra));
  EXPECT(released, "the context has waited");
  releases.join();
  GIVES(CUDA_ERROR_INVALID_HANDLE, cuStreamSynchronize(s));
  OK(cuCtxSetCurrent(gpu.context));
  const Word other;
  OK(cuStreamWaitValue32_v2(gpu.stream(), other.device, 1, CU_STREAM_WAIT_VALUE_EQ));
  report("{}");
}

int main(int count, char** words) { return run_case(count, words); }
