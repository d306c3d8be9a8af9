// The legacy stream is ordered with all blocking streams. Nothing of ours may order two of them that the program left unordered.
#include "../fixture.h"

using namespace harness;

namespace {

using cotenant::protocol::Settings;
using cotenant::protocol::Submission;
using cotenant::protocol::WhenActive;

constexpr std::uint64_t kUs = 1'000;

// The legacy stream has work, then one blocking stream waits for a word, then another one gets work. The program writes the
// word when that work is done.
struct Unordered {
  BestEffort client;
  CUstream waits = make_stream(0);
  CUstream works = make_stream(0);
  Word go;

  explicit Unordered(void (*rules)(Settings&)) {
    rules(client.agent.region().settings);
    client.warm(kUs, nullptr);
    client.warm(kUs, works);
  }

  template <class Work>
  void run(Work work) {
    for (int round = 0; round < 5; ++round) {
      *go.host = 0;
      for (int i = 0; i < 3; ++i) client.program.run_us(kUs, nullptr);
      OK(cuda().cuStreamWaitValue32_v2(waits, go.device, 1, CU_STREAM_WAIT_VALUE_EQ));
      work();
      eventually([&] { return cuda().cuStreamQuery(works) == CUDA_SUCCESS; }, "work that waits for nobody is done");
      *go.host = 1;
      OK(cuda().cuStreamSynchronize(waits));
    }
  }
};

void launch_by_launch() {
  Unordered it([](Settings& settings) { settings.submission = static_cast<std::uint32_t>(Submission::kLaunch); });
  it.run([&] {
    for (int i = 0; i < 3; ++i) it.client.program.run_us(kUs, it.works);
  });
}

void copies_beside_requests() {
  Unordered it([](Settings& settings) { settings.whenActive = static_cast<std::uint32_t>(WhenActive::kAllow); });
  constexpr std::size_t kBytes = 4 << 20;
  void* host = nullptr;
  CUdeviceptr device = 0;
  OK(cuda().cuMemHostAlloc(&host, kBytes, 0));
  OK(cuda().cuMemAlloc_v2(&device, kBytes));
  it.run([&] { OK(cuda().cuMemcpyHtoDAsync_v2(device, host, kBytes, it.works)); });
}

// Its own launches still wait for each other where a policy limits them.
void its_own_limit() {
  BestEffort client;
  auto& settings = client.agent.region().settings;
  settings.submission = static_cast<std::uint32_t>(Submission::kLaunch);
  settings.kernelsOut = 1;
  CUstream other = make_stream(0);
  Word word;
  client.warm(kUs, other);
  client.warm(kUs, nullptr);
  for (unsigned i = 1; i <= 20; ++i) {
    client.program.store_us(kUs, word.device, i, nullptr);
    expect(i - *word.host <= 1, "one launch is out at a time");
  }
  OK(cuda().cuStreamSynchronize(nullptr));
}

constexpr Case kCases[] = {
    {"launch by launch, blocking streams stay unordered", launch_by_launch},
    {"so they do where copies wait for their turn", copies_beside_requests},
    {"a limit for kernels holds in the legacy stream beside blocking ones", its_own_limit},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
