// Kernels' durations are learned in programs that load new ones without end, or queue long ones ahead.
#include "../fixture.h"

using namespace harness;

namespace {

std::vector<CUfunction> load(unsigned first, unsigned count) {
  std::string text = kPtxHead;
  const auto name = [&](unsigned i) { return "k" + std::to_string(first + i); };
  for (unsigned i = 0; i < count; ++i)
    text += "//! soft ns=p0\n.visible .entry " + name(i) + "(.param .u64 ns)\n{\n ret;\n}\n";
  CUmodule module = nullptr;
  OK(cuda().cuModuleLoadData(&module, text.c_str()));
  std::vector<CUfunction> functions(count);
  for (unsigned i = 0; i < count; ++i) OK(cuda().cuModuleGetFunction(&functions[i], module, name(i).c_str()));
  return functions;
}

void launch(CUfunction function, CUstream stream) {
  std::uint64_t ns = 1'000;
  void* parameters[] = {&ns};
  OK(cuda().cuLaunchKernel(function, 8, 1, 1, 128, 1, 1, 0, stream, parameters, nullptr));
}

void after_thousands_of_others() {
  BestEffort client;
  CUstream stream = make_stream();
  constexpr unsigned kModule = 250;
  for (unsigned first = 0; first < 8'000; first += kModule)
    for (CUfunction each : load(first, kModule)) launch(each, stream);
  OK(cuda().cuStreamSynchronize(stream));
  const std::vector<CUfunction> kernels = load(100'000, 20);
  eventually(
      [&] {
        const std::uint64_t unknown = client.slot().unknownLaunches.load();
        const std::uint64_t chunks = client.slot().chunks.load();
        for (CUfunction each : kernels) launch(each, stream);
        OK(cuda().cuStreamSynchronize(stream));
        return client.slot().unknownLaunches.load() == unknown &&
               client.slot().chunks.load() - chunks < kernels.size() / 2;
      },
      "kernels are learned, however many came before");
}

// Each is longer than the time after which a stream seems to stand still, and a request begins in each.
void long_and_queued_ahead() {
  BestEffort client;
  client.agent.region().settings.preemptUs = 0;
  CUstream stream = make_stream();
  std::atomic<bool> stop{false};
  std::thread requests([&] {
    while (!stop) {
      client.request_begins();
      usleep(500);
      client.request_ends();
      usleep(4'000);
    }
  });
  constexpr unsigned kRounds = 6;
  constexpr unsigned kEach = 15;
  for (unsigned round = 0; round < kRounds; ++round) {
    for (unsigned i = 0; i < kEach; ++i) client.program.run_us(10'000, stream);
    OK(cuda().cuStreamSynchronize(stream));
  }
  stop = true;
  requests.join();
  const std::uint64_t unknown = client.slot().unknownLaunches.load();
  expect(unknown < kRounds * kEach / 2, "they are known soon, not after " + std::to_string(unknown));
}

constexpr Case kCases[] = {
    {"long kernels that are queued ahead are known soon", long_and_queued_ahead},
    {"kernels are learned after thousands of others", after_thousands_of_others},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
