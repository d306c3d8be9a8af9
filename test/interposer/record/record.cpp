// A process that is recorded: what its file says of its kernels, copies and graphs.
#include "recording.h"

using namespace harness;

namespace {

void kernels_and_shapes() {
  const std::string said = recorded([] {
    Program program;
    Word word;
    CUstream stream = make_stream();
    for (int i = 0; i < 40; ++i) {
      program.run_us(300, stream);
      program.run_us(100, stream, 12);
      program.store_us(50, word.device, 7, stream);
      if (i % 4 == 3) OK(cuda().cuStreamSynchronize(stream));
    }
    expect(*word.host == 7, "the program's own work is done");
  });
  expect_said(said, "\"version\": 1,\n  \"kind\": \"recording\"");
  expect_said(said, "\"computeCapability\":\"9.0\",\"sms\":132}");
  const std::string spin = "{\"name\":\"spin\",\"grid\":[132,1,1],\"block\":[128,1,1],\"registers\":";
  const std::string fewer = "{\"name\":\"spin\",\"grid\":[12,1,1],\"block\":[128,1,1],\"registers\":";
  const std::string store = "{\"name\":\"store\",\"grid\":[132,1,1],\"block\":[128,1,1],\"registers\":";
  expect_said(said, spin);
  expect_said(said, fewer);
  expect_said(said, store);
  expect(count(said, "\"dynamicSharedBytes\":0,\"blocksPerSm\":") == 3, "every kernel's occupancy is known");
  expect(count(said, "\"launches\":40") == 3, "three kernels, forty launches each");
  const std::uint64_t us = median_us(said, spin);
  expect(us >= 300 && us < 1000, "a kernel of 300 us is timed as one: " + std::to_string(us));
  const std::uint64_t shorter = median_us(said, fewer);
  expect(shorter >= 100 && shorter < us, "and one of 100 us is shorter: " + std::to_string(shorter));
  expect(count(said, "\n    {\"kernel\":") == 120, "every launch is a step");
  expect(count(said, "{\"waitNs\":") == 10, "every wait is a step");
  expect_said(said, "\n    {\"kernel\":0,\"atNs\":0,\"gapNs\":0},\n    {\"kernel\":1,\"atNs\":");
}

void copies_with_bytes() {
  const std::string said = recorded([] {
    Program program;
    CUstream stream = make_stream();
    CUdeviceptr at = 0;
    char host[8192];
    OK(cuda().cuMemAlloc_v2(&at, sizeof host));
    OK(cuda().cuMemcpyHtoDAsync_v2(at, host, 4096, stream));
    program.run_us(50, stream);
    OK(cuda().cuMemsetD8Async(at, 0, 512, stream));
    OK(cuda().cuMemcpyDtoDAsync_v2(at, at + 4096, 1024, stream));
    OK(cuda().cuMemcpyDtoHAsync_v2(host, at, 2048, stream));
    OK(cuda().cuStreamSynchronize(stream));
    OK(cuda().cuMemcpyDtoH_v2(host, at, 256));
    OK(cuda().cuMemcpy(reinterpret_cast<CUdeviceptr>(host), at, 128));
    OK(cuda().cuMemcpy(at, reinterpret_cast<CUdeviceptr>(host), 64));
  });
  const std::size_t steps = said.find("\"steps\": [");
  std::string kinds;
  for (std::size_t line = said.find("\n    {", steps); line != std::string::npos;
       line = said.find("\n    {", line + 1)) {
    std::size_t end = said.find(",\"atNs\"", line);
    if (said.compare(line, 13, "\n    {\"waitNs") == 0) end = line + 13;
    kinds += said.substr(line + 6, end - line - 6) + "|";
  }
  const std::string wanted =
      "\"copy\":\"in\",\"bytes\":4096|\"kernel\":0|\"copy\":\"out\",\"bytes\":2048|\"waitNs|"
      "\"copy\":\"out\",\"bytes\":256|\"waitNs|\"copy\":\"out\",\"bytes\":128|\"waitNs|\"copy\":\"in\",\"bytes\":64|";
  expect(kinds == wanted, wanted + ", not " + kinds);
}

void kernels_of_a_graph() {
  const std::string said = recorded([] {
    Program program;
    Word word;
    CUstream stream = make_stream();
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    std::size_t nodes = 0;
    CUdeviceptr at = 0;
    static char bytes[1024];
    OK(cuda().cuMemAlloc_v2(&at, sizeof bytes));
    program.run_us(200, stream);
    OK(cuda().cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    for (int i = 0; i < 3; ++i) program.run_us(200, stream);
    program.store_us(100, word.device, 3, stream);
    OK(cuda().cuMemcpyHtoDAsync_v2(at, bytes, 1024, stream));
    OK(cuda().cuMemcpyDtoHAsync_v2(bytes, at, 512, stream));
    OK(cuda().cuStreamEndCapture(stream, &graph));
    OK(cuda().cuGraphGetNodes(graph, nullptr, &nodes));
    expect(nodes == 6, "nothing of ours is in the graph");
    OK(cuda().cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (int i = 0; i < 6; ++i) {
      OK(cuda().cuGraphLaunch(exec, stream));
      OK(cuda().cuStreamSynchronize(stream));
    }
    OK(cuda().cuGraphExecDestroy(exec));
    expect(*word.host == 3, "the graph's work is done");
  });
  expect_said(said,
              "\"steps\":[{\"kernel\":0},{\"kernel\":0},{\"kernel\":0},{\"kernel\":1},"
              "{\"copy\":\"in\",\"bytes\":1024},{\"copy\":\"out\",\"bytes\":512}]}");
  expect_said(said, "{\"name\":\"store\",");
  expect(count(said, "\n    {\"graph\":0,\"atNs\"") == 6, "its launches are steps");
  expect(count(said, "\n    {\"kernel\":") == 1, "those in a capture are not");
  const std::uint64_t us = median_us(said, "{\"launches\":6,\"samples\":");
  expect(us >= 700 && us < 3000, "a graph has a duration of its own: " + std::to_string(us));
}

void refused_launches() {
  const std::string said = recorded([] {
    Program program;
    program.run_us(1, nullptr);
    void* none[] = {nullptr};
    expect(cuda().cuLaunchKernel(program.spin, 0, 1, 1, 1, 1, 1, 0, nullptr, none, nullptr) != CUDA_SUCCESS, "no grid");
    OK(cuda().cuCtxSynchronize());
  });
  expect(count(said, "{\"name\":\"spin\"") == 1, "a launch that was refused is none");
}

void only_the_latest_steps() {
  const std::string said = recorded([] {
    Program program;
    CUstream stream = make_stream();
    for (int i = 0; i < 33'000; ++i) {
      program.run_us(1, stream);
      if (i % 64 == 0) OK(cuda().cuStreamSynchronize(stream));
    }
  });
  expect_said(said, "\"launches\":33000");
  expect_said(said, "\"stepsSeen\": 33516");
  expect(count(said, "\"atNs\":") == 32'768, "the rest is forgotten");
}

void many_threads() {
  const std::string said = recorded([] {
    Program program;
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 6; ++t)
      threads.emplace_back([&, t] {
        OK(cuda().cuCtxSetCurrent(program.context));
        CUstream stream = make_stream();
        for (unsigned i = 0; i < 500; ++i) program.run_us(1, stream, 1 + (i + t) % 40);
        OK(cuda().cuStreamSynchronize(stream));
      });
    for (auto& thread : threads) thread.join();
  });
  expect(count(said, "{\"name\":\"spin\"") == 40, "forty shapes");
  expect(count(said, "\n    {\"kernel\":") == 3000, "every launch is a step");
  expect_said(said, "\"launchesLost\": 0");
}

// Contexts come and go; their events with them.
void contexts_come_and_go() {
  const std::string said = recorded([] {
    for (int round = 0; round < 4; ++round) {
      Program program;
      for (int i = 0; i < 20; ++i) program.run_us(20, nullptr);
      OK(cuda().cuCtxSynchronize());
      OK(cuda().cuDevicePrimaryCtxReset_v2(0));
    }
  });
  expect(count(said, "\n    {\"kernel\":") == 80, "every launch is a step");
}

constexpr Case kCases[] = {
    {"kernels in their shapes, with counts, needs and durations", kernels_and_shapes},
    {"copies with their bytes, and which of them wait", copies_with_bytes},
    {"a graph's kernels, and nothing of ours in a capture", kernels_of_a_graph},
    {"a launch that the driver refuses is none", refused_launches},
    {"a long program's latest steps are kept", only_the_latest_steps},
    {"threads are recorded together", many_threads},
    {"contexts may come and go", contexts_come_and_go},
};

}  // namespace

int main(int argc, char** arguments) { return run_case(kCases, argc, arguments); }
