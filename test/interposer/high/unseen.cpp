// A high client whose work ends without a driver call that says so, or was never submitted.
#include "waiting.h"

using namespace harness;

namespace {

struct Serving : High {
  CUstream stream = make_stream();

  auto& slot() { return agent.region().high[0]; }
  std::uint64_t words() { return slot().tailWrites.load(); }
  // Requests as most services make them.
  void requests(int count) {
    for (int i = 0; i < count; ++i) {
      program.run_us(200, stream);
      OK(cuda().cuStreamSynchronize(stream));
    }
  }
  CUresult refused_launch(CUstream on) {
    std::uint64_t ns = 1000;
    void* parameters[] = {&ns};
    return cuda().cuLaunchKernel(program.spin, 1, 1, 1, 4096, 1, 1, 0, on, parameters, nullptr);
  }
};

// The program polls what its kernel writes, request after request, and asks the driver nothing.
void polls(Serving& high, const Word& word, int requests) {
  for (int i = 0; i < requests; ++i) {
    *word.host = 0;
    high.program.store_us(300, word.device, 7, high.stream);
    while (*word.host != 7) usleep(20);
    sleep_ms(4);
  }
}

void polled_kernels() {
  Serving high;
  Word word;
  const std::uint64_t until = now_ms() + 20'000;
  while (high.bursts() < 20) {
    expect(now_ms() < until, "the bursts of a program that polls are seen: " + std::to_string(high.bursts()));
    polls(high, word, 1);
  }
  for (int i = 0; i < 5; ++i) {
    polls(high, word, 1);
    eventually([&] { return !high.active(); }, "each is seen to end");
  }
}

void words_come_and_go() {
  Serving high;
  Word word;
  high.requests(50);
  expect(high.words() == 0, "a program that looks at what is done gets no words behind its work");
  eventually([&] { return polls(high, word, 1), high.words() > 0; }, "one that polls does");
  high.requests(50);
  const std::uint64_t before = high.words();
  high.requests(50);
  expect(high.words() == before, "and none again once it looks at what is done");
}

// Work of a request that takes long to launch, so that the GPU has nothing to do between its kernels, and a look at the end.
void launches_slowly(Serving& high) {
  for (int i = 0; i < 30; ++i) {
    high.program.run_us(1, high.stream);
    for (const std::uint64_t until = now_ns() + 300'000; now_ns() < until;) {
    }
  }
  OK(cuda().cuStreamSynchronize(high.stream));
}

// Words divide such a request, because one kernel or the other was the last one for a while before.
void words_go_where_the_program_only_launches() {
  Serving high;
  high.requests(50);
  const std::uint64_t until = now_ms() + 20'000;
  while (high.words() == 0) {
    expect(now_ms() < until, "a program that asks for nothing for this long gets words behind its work");
    high.program.run_us(1, high.stream);
    sleep_ms(3);
  }
  eventually(
      [&] {
        const std::uint64_t before = high.words();
        for (int i = 0; i < 3; ++i) launches_slowly(high);
        return high.words() == before;
      },
      "and none again once it looks, however long a request takes to launch");
  const std::uint64_t bursts = high.bursts();
  launches_slowly(high);
  expect(high.bursts() == bursts + 1, "then such a request is one burst");
}

void refused() {
  Serving high;
  high.requests(5);
  expect(high.refused_launch(high.stream) != CUDA_SUCCESS, "4,096 threads a block are refused");
  high.idle("after a launch that was refused");
  expect(high.bursts() == 5 && high.slot().timeouts.load() == 0, "which is no burst");
}

void refused_among_others() {
  Serving high;
  CUevent done = make_event();
  high.program.run_us(20'000, high.stream);
  OK(cuda().cuEventRecord(done, high.stream));
  expect(high.refused_launch(high.stream) != CUDA_SUCCESS, "it is refused");
  high.busy("while what was submitted before runs");
  OK(cuda().cuEventSynchronize(done));
  high.idle("after all that was submitted is done");
  expect(high.bursts() == 1, "one burst");
}

struct Copying : Serving {
  static constexpr std::size_t kBytes = 1 << 20;
  CUdeviceptr memory = 0;
  Copying() { OK(cuda().cuMemAlloc_v2(&memory, kBytes)); }
};

void pageable_copies() {
  Copying high;
  std::vector<char> host(Copying::kBytes);
  high.program.run_us(20'000, high.stream);
  OK(cuda().cuMemcpyDtoHAsync_v2(host.data(), high.memory, host.size(), high.stream));
  high.idle("after a copy to pageable memory, which is complete when the call returns");
  high.program.run_us(20'000, high.stream);
  OK(cuda().cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(host.data()), high.memory, host.size(), high.stream));
  high.idle("after one without a direction");
  CUDA_MEMCPY2D rows{};
  rows.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  rows.srcDevice = high.memory;
  rows.dstMemoryType = CU_MEMORYTYPE_HOST;
  rows.dstHost = host.data();
  rows.WidthInBytes = 64;
  rows.Height = 4;
  high.program.run_us(20'000, high.stream);
  OK(cuda().cuMemcpy2DAsync_v2(&rows, high.stream));
  high.idle("after one that a struct describes");
  CUstream other = make_stream();
  high.program.run_us(60'000, other);
  OK(cuda().cuMemcpyDtoHAsync_v2(host.data(), high.memory, host.size(), high.stream));
  high.busy("while another stream works");
  OK(cuda().cuStreamSynchronize(other));
  high.idle("after that one, too");
}

void pinned_copies() {
  Copying high;
  Word pinned;
  high.program.run_us(40'000, high.stream);
  OK(cuda().cuMemcpyDtoHAsync_v2(static_cast<void*>(pinned.host), high.memory, 64, high.stream));
  high.busy("after a copy to pinned memory, which returns before it is complete");
  OK(cuda().cuStreamSynchronize(high.stream));
  high.idle("after the stream was synchronised");
}

void freeing() {
  Copying high;
  high.program.run_us(20'000, high.stream);
  OK(cuda().cuMemFree_v2(high.memory));
  high.idle("after memory was freed, for which the driver waits for the whole context");
}

void freeing_of_a_pool() {
  Serving high;
  CUdeviceptr memory = 0;
  OK(cuda().cuMemAllocAsync(&memory, 4096, high.stream));
  OK(cuda().cuStreamSynchronize(high.stream));
  high.program.run_us(40'000, high.stream);
  OK(cuda().cuMemFree_v2(memory));
  high.busy("after memory of a pool was freed, for which the driver does not wait");
  OK(cuda().cuStreamSynchronize(high.stream));
  high.idle("after the stream was synchronised");
}

constexpr Case kCases[] = {
    {"kernels whose results a program polls are seen to end, request after request", polled_kernels},
    {"only a program that does not look at what is done gets words behind its work", words_come_and_go},
    {"words go where a program only takes long to launch", words_go_where_the_program_only_launches},
    {"a launch that was refused leaves no burst open", refused},
    {"a launch that was refused among others changes nothing for them", refused_among_others},
    {"an asynchronous copy to pageable memory shows completion", pageable_copies},
    {"an asynchronous copy to pinned memory shows none", pinned_copies},
    {"freeing memory shows completion", freeing},
    {"freeing memory of a pool shows none", freeing_of_a_pool},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
