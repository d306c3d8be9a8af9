// A client that launches kernels in groups of 16, for callgrind to count and for a clock to time, with the
// interposer preloaded or not: the difference is the interposer's. Its agent is a thread of its own.
//   launch CLASS ROUNDS [STREAMS [SHAPES]]
// CLASS: high           a group is a burst: the first launch begins it, a synchronise ends it
//        crowded        the same, by a client whose queue may have been full a few times, so that words are put into it
//        best-effort    a group is a chunk: a preemption point stands before its first launch
//        ungated        best-effort, and no high client is registered
// Rounds are long enough for each kernel to be timed once in each, as in the long run.
#include <chrono>
#include <fstream>

#include "../../test/interposer/harness.h"

using namespace harness;

namespace {

constexpr unsigned kGroup = 16;
constexpr unsigned kSampleEvery = 64;

CUfunction kernel;
void* parameters[] = {nullptr};

}  // namespace

// A measured function: it counts with all that it calls.
#define MEASURED extern "C" __attribute__((noipa))

MEASURED void first_launch(unsigned shape, CUstream stream) {
  cuda().cuLaunchKernel(kernel, shape, 1, 1, 128, 1, 1, 0, stream, parameters, nullptr);
}
MEASURED void next_launch(unsigned shape, CUstream stream) {
  cuda().cuLaunchKernel(kernel, shape, 1, 1, 128, 1, 1, 0, stream, parameters, nullptr);
}
MEASURED void synchronise(CUstream stream) { cuda().cuStreamSynchronize(stream); }
// Not counted.
MEASURED void warming_launch(unsigned shape, CUstream stream) {
  cuda().cuLaunchKernel(kernel, shape, 1, 1, 128, 1, 1, 0, stream, parameters, nullptr);
}

namespace {

struct Run {
  std::vector<CUstream> streams;
  unsigned shapes;

  // Whole groups, so that every chunk and every burst is like the last.
  unsigned launches() const { return shapes * kSampleEvery * static_cast<unsigned>(streams.size()); }

  template <class Launch, class End>
  void round(Launch first, Launch next, End end) const {
    for (unsigned i = 0; i < launches(); i += kGroup) {
      CUstream stream = streams[i / kGroup % streams.size()];
      first(1 + i % shapes, stream);
      for (unsigned j = i + 1; j < i + kGroup; ++j) next(1 + j % shapes, stream);
      end(stream);
    }
  }
};

unsigned long resident_kib() {
  std::ifstream status("/proc/self/status");
  std::string word;
  unsigned long kib = 0;
  while (status >> word)
    if (word == "VmRSS:") status >> kib;
  return kib;
}

}  // namespace

int main(int count, char** arguments) {
  using Clock = std::chrono::steady_clock;
  const std::string kind = count > 1 ? arguments[1] : "";
  const auto number = [&](int at, int otherwise) {
    return static_cast<unsigned>(count > at ? std::atoi(arguments[at]) : otherwise);
  };
  const unsigned rounds = number(2, 1);
  const bool crowded = kind == "crowded";
  const bool high = kind == "high" || crowded;
  if (!high && kind != "best-effort" && kind != "ungated")
    fail("launch high|crowded|best-effort|ungated ROUNDS [STREAMS [SHAPES]]");

  Agent agent;
  agent.become(high ? "high" : "best-effort");
  agent.region().settings.sampleEvery = kSampleEvery;
  if (kind == "best-effort") agent.region().roster.registered = 1;
  const Program program;
  kernel = program.spin;
  Run run{{nullptr}, number(4, 48)};
  for (unsigned i = 1; i < number(3, 1); ++i) run.streams.push_back(make_stream());

  const auto nothing = [](CUstream) {};
  run.round(warming_launch, warming_launch, nothing);  // streams and kernels are known from here on
  for (CUstream stream : run.streams) cuda().cuStreamSynchronize(stream);
  for (int burst = 0; crowded && burst < 5; ++burst) {
    for (int i = 0; i < 1000; ++i) warming_launch(1, run.streams[0]);
    cuda().cuStreamSynchronize(run.streams[0]);
  }

  const auto chunks = [&] { return agent.region().bestEffort[0].chunks.load(); };
  const auto bursts = [&] { return agent.region().high[0].bursts.load(); };
  const std::uint64_t chunks_before = chunks();
  const std::uint64_t bursts_before = bursts();
  double best_ns = 0;
  for (unsigned round = 0; round < rounds; ++round) {
    const auto start = Clock::now();
    if (high) run.round(first_launch, next_launch, synchronise);
    else run.round(first_launch, next_launch, nothing);
    const std::chrono::duration<double, std::nano> took = Clock::now() - start;
    const double ns = took.count() / run.launches();
    if (round == 0 || ns < best_ns) best_ns = ns;
  }
  const unsigned groups = rounds * run.launches() / kGroup;
  std::printf(
      "{\"groups\": %u, \"others\": %u, \"chunks\": %lu, \"bursts\": %lu, \"ns\": %.2f, \"resident_kib\": %lu}\n",
      groups, groups * (kGroup - 1), chunks() - chunks_before, bursts() - bursts_before, best_ns, resident_kib());
  std::fflush(nullptr);
  _exit(0);
}
