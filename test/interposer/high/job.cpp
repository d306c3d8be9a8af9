// Ranks of a job hold best-effort work on each other's GPUs. The agent of the test serves the other GPU with the same control
// page, in which the client has another slot there.
#include "waiting.h"

using namespace harness;

namespace {

constexpr int kThere = 5;  // the client's slot on the other GPU,
constexpr std::uint32_t kFollower = 9;  // and that of the rank whose steps it observes
constexpr std::uint64_t kStepUs = 30'000;

struct Rank : High {
  CUstream stream = make_stream();

  auto& slot() { return agent.region().high[0]; }
  std::uint64_t held() { return agent.page().active.load(); }
  std::uint64_t since(std::uint32_t of) { return agent.page().high[of].burstSince.load(); }

  void tell(std::uint32_t gpus, std::uint32_t follower = 0) {
    const std::uint32_t version = slot().jobVersion.load();
    slot().jobVersion = version + 1;
    std::memset(slot().jobGpus, 7, 16);
    slot().jobSlots[0] = follower == 0 ? 0 : follower + 1;
    slot().jobCount = gpus;
    slot().jobVersion = version + 2;
  }
  // The bits that are set while it is busy.
  std::uint64_t held_in_request() {
    program.run_us(kStepUs, stream);
    const std::uint64_t during = held();
    OK(cuda().cuStreamSynchronize(stream));
    return during;
  }
  void join() {
    agent.slot = kThere;
    tell(1, kFollower);
    eventually([&] { return held_in_request() == (1u | 1u << kThere); }, "it holds there, too");
  }
  // Two steps, of which the second is queued when the first one's end is seen. When the burst began.
  std::uint64_t two_steps() {
    const CUevent first = make_event();
    program.run_us(kStepUs, stream);
    const std::uint64_t begun = slot().busySince.load();
    OK(cuda().cuEventRecord(first, stream));
    program.run_us(kStepUs, stream);
    OK(cuda().cuEventSynchronize(first));
    return begun;
  }
};

void holds_on_other_gpus() {
  Rank rank;
  expect(rank.held_in_request() == 1, "alone it holds on its own GPU");
  rank.join();
  expect(rank.agent.connections() == 2 && rank.agent.last_holds_only, "it says that it does not use that GPU");
  expect(rank.held() == 0, "nothing is held between requests");
  rank.program.run_us(kStepUs, rank.stream);
  expect(rank.held() == (1u | 1u << kThere), "both from the launch on");
  OK(cuda().cuStreamSynchronize(rank.stream));
  rank.tell(0);
  eventually([&] { return rank.held_in_request() == 1; }, "and on its own alone when the others have gone");
  rank.tell(1);
  eventually([&] { return rank.held_in_request() == (1u | 1u << kThere); }, "until they come back");
}

void steps_count_on_other_gpus() {
  Rank rank;
  rank.join();
  const std::uint64_t begun = rank.two_steps();
  const std::uint64_t step = rank.since(0);
  expect(begun != 0 && step > begun, "the burst is as old as its second step");
  expect(rank.since(kThere) == step, "on the other GPU, too,");
  expect(rank.since(kFollower) == step, "and so is the burst of the rank there");
  OK(cuda().cuStreamSynchronize(rank.stream));
}

void a_follower_counts_no_steps() {
  Rank rank;
  rank.slot().follows = 1;
  const std::uint64_t begun = rank.two_steps();
  expect(begun != 0 && rank.since(0) == begun, "the burst is as old as when it began");
  OK(cuda().cuStreamSynchronize(rank.stream));
}

// The words in the slot may be those of the agent before.
void an_older_agent_names_no_job() {
  Rank rank;
  rank.agent.region().header.revision = 2;
  rank.agent.slot = kThere;
  rank.tell(1);
  sleep_ms(500);
  expect(rank.agent.connections() == 1, "it asks for no slot on another GPU");
}

void collectives_are_told() {
  High high;
  const auto ranks = [&] { return high.agent.region().high[0].ranks.load(); };
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  const std::string code = kPtxHead + ".visible .entry ncclDevKernel_AllReduce_Sum_f32_RING_LL()\n{\n  ret;\n}\n";
  sleep_ms(300);
  expect(ranks() == 0, "its other kernels wait for no rank");
  OK(cuda().cuModuleLoadData(&module, code.c_str()));
  OK(cuda().cuModuleGetFunction(&function, module, "ncclDevKernel_AllReduce_Sum_f32_RING_LL"));
  eventually([&] { return ranks() == 1; }, "the agent is told of a kernel that waits for other ranks");
}

constexpr Case kCases[] = {
    {"a rank holds best-effort work on the GPUs of its job's other ranks", holds_on_other_gpus},
    {"its steps count on these GPUs, for the rank there that follows it, too", steps_count_on_other_gpus},
    {"the steps of a rank that follows another one count for nothing", a_follower_counts_no_steps},
    {"an agent of an earlier revision names no job", an_older_agent_names_no_job},
    {"a program that looks up a collective's kernel may need other ranks", collectives_are_told},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
