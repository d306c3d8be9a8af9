// Parking and return: the GPU's memory is free meanwhile, and afterwards every byte is where it was.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>

#include "client.h"

using namespace harness;

namespace {

using cotenant::protocol::ParkState;

void there_and_back() {
  Movable client;
  const std::size_t before = free_bytes();
  const CUdeviceptr large = allocate(130 * kMiB);
  const CUdeviceptr small = allocate(3000);
  const auto in_large = pattern(130 * kMiB, 1);
  const auto in_small = pattern(3000, 2);
  write(large, in_large);
  write(small, in_small);
  for (int round = 0; round < 2; ++round) {
    client.parked();
    expect(client.memory().movableBytes.load() == 132 * kMiB, "all of it is movable");
    expect(before - free_bytes() == 132 * kMiB, "the program is told that its memory is still its own");
    CUdeviceptr others = 0;
    OK(cuda().cuMemAllocAsync(&others, before - 2 * kMiB, nullptr));  // others may have it
    OK(cuda().cuMemFreeAsync(others, nullptr));
    OK(cuda().cuStreamSynchronize(nullptr));
    client.returned();
    expect(holds(large, in_large) && holds(small, in_small), "every byte is back");
    expect(before - free_bytes() == 132 * kMiB, "in memory of the same size");
  }
  expect(client.slot().minProgress.load() == 0, "no progress meanwhile");
  OK(cuda().cuMemFree_v2(large));
  OK(cuda().cuMemFree_v2(small));
  expect(free_bytes() == before, "and it is freed as usual");
}

void in_parts() {
  Movable client;
  constexpr std::size_t kSizes[] = {10, 20, 40, 80, 20};
  CUdeviceptr made[5];
  std::vector<unsigned> words[5];
  for (unsigned i = 0; i < 5; ++i) {
    made[i] = allocate(kSizes[i] * kMiB);
    words[i] = pattern(kSizes[i] * kMiB, i);
    write(made[i], words[i]);
  }
  for (int round = 0; round < 2; ++round) {
    client.parked(30 * kMiB);
    eventually([&] { return client.memory().parkedBytes.load() == 40 * kMiB; }, "the smallest block that is enough");
    client.parked(100 * kMiB);
    eventually([&] { return client.memory().parkedBytes.load() == 120 * kMiB; }, "more of a client that is parked");
    client.parked();
    eventually([&] { return client.memory().parkedBytes.load() == 170 * kMiB; }, "and at last all");
    client.returned();
    for (unsigned i = 0; i < 5; ++i) expect(holds(made[i], words[i]), "every byte is back");
  }
}

void launches_wait() {
  Movable client;
  const CUdeviceptr word = allocate(4);
  write(word, {1});
  CUstream stream = make_stream();
  client.parked();
  std::atomic<bool> through{false};
  std::thread program([&] {
    OK(cuda().cuCtxSetCurrent(client.program.context));
    client.program.store_us(10, word, 2, stream);
    const CUdeviceptr more = allocate(10 * kMiB);
    write(more, {3});
    OK(cuda().cuStreamSynchronize(stream));
    expect(holds(more, {3}), "its allocation is whole");
    through = true;
  });
  sleep_ms(300);
  expect(!through && client.state() == ParkState::kParked, "the launch waits while memory is parked");
  client.returned();
  program.join();
  expect(holds(word, {2}), "and takes place after the return");
}

void graphs_stay_right() {
  Movable client;
  const CUdeviceptr words = allocate(4 * kMiB);
  CUstream stream = make_stream();
  OK(cuda().cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  for (unsigned i = 0; i < 50; ++i) client.program.store_us(5, words + i * 4096, i + 1, stream);
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  OK(cuda().cuStreamEndCapture(stream, &graph));
  OK(cuda().cuGraphInstantiateWithFlags(&exec, graph, 0));
  client.parked();
  client.returned();
  OK(cuda().cuMemsetD32_v2(words, 0, kMiB));
  OK(cuda().cuCtxSynchronize());
  OK(cuda().cuGraphLaunch(exec, stream));
  OK(cuda().cuStreamSynchronize(stream));
  for (unsigned i = 0; i < 50; ++i) expect(holds(words + i * 4096, {i + 1}), "the graph finds its memory");
}

// Threads launch all the while; each word says how far its thread came.
void beside_running_work() {
  Movable client;
  client.agent.region().roster.registered = 1;
  constexpr unsigned kThreads = 3;
  const CUdeviceptr words = allocate(70 * kMiB);
  const auto rest = pattern(60 * kMiB, 3);
  write(words + 8 * kMiB, rest);
  std::atomic<bool> over{false};
  unsigned done[kThreads] = {};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      OK(cuda().cuCtxSetCurrent(client.program.context));
      CUstream stream = make_stream();
      const CUdeviceptr mine = words + t * kMiB;
      while (!over) {
        client.program.store_us(20, mine, ++done[t], stream);
        if (done[t] % 64 == 0) {
          OK(cuda().cuStreamSynchronize(stream));
          expect(holds(mine, {done[t]}), "no launch is lost, and none writes elsewhere");
        }
        if (done[t] % 200 == 0) OK(cuda().cuMemFree_v2(allocate((done[t] % 3 + 1) * kMiB)));
      }
      OK(cuda().cuStreamSynchronize(stream));
    });
  for (int round = 0; round < 6; ++round) {
    client.parked();
    client.returned();
    sleep_ms(20);
  }
  over = true;
  for (auto& thread : threads) thread.join();
  for (unsigned t = 0; t < kThreads; ++t) expect(holds(words + t * kMiB, {done[t]}), "the last word is right");
  expect(holds(words + 8 * kMiB, rest), "and nothing else has changed");
}

void behind_a_request() {
  Movable client;
  client.agent.region().roster.registered = 1;
  client.agent.region().settings.progressAfterUs = kMaxProgressUs;
  const CUdeviceptr word = allocate(4);
  CUstream stream = make_stream();
  for (unsigned i = 1; i <= 60; ++i) {  // its duration is known then
    client.program.store_us(20, word, i, stream);
    OK(cuda().cuStreamSynchronize(stream));
  }
  auto& page = client.agent.page();
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  page.high[9].burstSince.store(static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000);
  page.active.store(1u << 9);
  page.word.store(1);
  for (unsigned i = 1; i <= 100; ++i) client.program.store_us(20, word, i, stream);
  client.ask(true);
  eventually([&] { return client.state() == ParkState::kParking; }, "it begins");
  sleep_ms(20);
  expect(client.state() == ParkState::kParking || page.active.load() == 0, "queued work is not overtaken");
  page.active.store(0);
  page.word.store(0);
  client.answered("it is parked");
  expect(client.state() == ParkState::kParked, std::string("it is parked: ") + client.memory().parkReason);
  client.returned();
  expect(holds(word, {100}), "the queued work took place before");
}

// On the software GPU an address of the GPU is one of this process.
bool is_mapped(CUdeviceptr at) {
  int ends[2];
  expect(pipe(ends) == 0, "a pipe");
  const bool read = ::write(ends[1], reinterpret_cast<const void*>(at), 1) == 1;
  close(ends[0]);
  close(ends[1]);
  return read;
}

void unmapped_between_requests() {
  setenv("COTENANT_SOFTGPU", "unmap=20000", 1);
  Movable client;
  client.agent.region().roster.registered = 1;
  client.agent.region().settings.progressAfterUs = kMaxProgressUs;
  std::vector<CUdeviceptr> made;
  for (unsigned i = 0; i < 20; ++i) write(made.emplace_back(allocate(2 * kMiB)), pattern(2 * kMiB, i));
  const auto gone = [&] { return static_cast<long>(made.size()) - std::count_if(made.begin(), made.end(), is_mapped); };
  client.ask(true);
  long before = 0;
  eventually([&] { return (before = gone()) > 0; }, "memory is unmapped");
  auto& active = client.agent.page().active;
  active.store(1u << 9);
  // It waits for half a second at most.
  const auto began = std::chrono::steady_clock::now();
  const auto passed = [&] { return std::chrono::steady_clock::now() - began; };
  while (passed() < std::chrono::milliseconds(250)) {
    const long now = gone();
    if (passed() < std::chrono::milliseconds(400)) expect(now <= before + 2, "none is unmapped during a request");
    sleep_ms(5);
  }
  active.store(0);
  client.answered("it is parked");
  expect(client.state() == ParkState::kParked && gone() == 20, "after the request the rest is");
  client.returned();
  for (unsigned i = 0; i < 20; ++i) expect(holds(made[i], pattern(2 * kMiB, i)), "every byte is back");
}

void no_host_memory() {
  Movable client("0", "134217728");  // 128 MiB
  const CUdeviceptr made = allocate(200 * kMiB);
  const auto words = pattern(kMiB, 4);
  write(made, words);
  client.park();
  expect(client.state() == ParkState::kOpen, "it is not parked");
  expect(std::string(client.memory().parkReason).find("--park-host") != std::string::npos, "and says why");
  expect(holds(made, words), "the program goes on");
  OK(cuda().cuMemFree_v2(made));
  const CUdeviceptr less = allocate(100 * kMiB);
  write(less, words);
  client.parked();
  client.returned();
  expect(holds(less, words), "what fits is parked");
}

void nothing_to_park() {
  setenv("COTENANT_SOFTGPU", "checkpoints=refused", 1);
  Movable client;
  OK(cuda().cuMemFree_v2(allocate(4)));
  client.park();
  expect(client.state() == ParkState::kOpen && client.memory().parkReason[0] != '\0', "it says why not");
}

void a_stream_waits_for_the_program() {
  Movable client;
  const CUdeviceptr made = allocate(4 * kMiB);
  const Word word;
  word.host->store(0);
  CUstream stream = make_stream();
  OK(cuda().cuStreamWaitValue32_v2(stream, word.device, 1, CU_STREAM_WAIT_VALUE_EQ));
  client.program.store_us(10, made, 9, stream);
  client.park();  // takes as long as queued work is waited for
  expect(client.state() == ParkState::kOpen && client.memory().parkReason[0] != '\0', "it is not parked, and says why");
  word.host->store(1);
  OK(cuda().cuStreamSynchronize(stream));
  expect(holds(made, {9}), "the program goes on");
}

void gpu_is_full_at_the_return() {
  Movable client;
  const CUdeviceptr made = allocate(100 * kMiB);
  const auto words = pattern(100 * kMiB, 5);
  write(made, words);
  returns_when_it_fits(client, 50 * kMiB);
  expect(holds(made, words), "every byte is back");
}

void agent_dies() {
  Movable client;
  const CUdeviceptr made = allocate(10 * kMiB);
  const auto words = pattern(10 * kMiB, 6);
  write(made, words);
  client.parked();
  client.agent.end();
  eventually([&] { return client.state() == ParkState::kOpen; }, "without an agent the memory is returned");
  expect(holds(made, words), "every byte is back");
}

void context_destroyed_while_parked() {
  Movable client;
  const std::size_t before = free_bytes();
  const CUdeviceptr kept = allocate(4 * kMiB);
  const auto words = pattern(4 * kMiB, 7);
  write(kept, words);
  CUcontext own = nullptr;
  OK(cuda().cuCtxCreate_v2(&own, 0, 0));
  allocate(20 * kMiB);
  client.parked();
  OK(cuda().cuCtxDestroy_v2(own));
  OK(cuda().cuCtxSetCurrent(client.program.context));
  client.returned();
  expect(holds(kept, words), "the other context's memory is back");
  expect(before - free_bytes() == 4 * kMiB, "and that of the destroyed one is gone");
}

void terminated_while_parked() {
  ends_by_sigterm("its child is parked", "a parked process ends at once when it is told to");
}

void parked_child() {
  Movable client;
  allocate(10 * kMiB);
  client.parked();
  kill(getpid(), SIGTERM);
  sleep_ms(60'000);
}

constexpr Case kCases[] = {
    {"memory is parked and returned with every byte", there_and_back},
    {"a part is parked, then more of it", in_parts},
    {"launches and allocations wait while memory is parked", launches_wait},
    {"graphs that were captured before find their memory", graphs_stay_right},
    {"parking beside threads that launch loses nothing", beside_running_work},
    {"work that a request holds is done before memory moves", behind_a_request},
    {"memory is unmapped between requests", unmapped_between_requests},
    {"without host memory nothing is parked, and it says why", no_host_memory},
    {"a client without movable memory says so", nothing_to_park},
    {"a stream that waits for the program is not waited for without end", a_stream_waits_for_the_program},
    {"memory returns when it fits", gpu_is_full_at_the_return},
    {"memory returns when the agent dies", agent_dies},
    {"a context may be destroyed while memory is parked", context_destroyed_while_parked},
    {"a parked process can be terminated", terminated_while_parked},
};
constexpr Case kChild[] = {{"its child is parked", parked_child}};

}  // namespace

int main(int count, char** arguments) {
  if (count == 2 && run_case(kChild, count, arguments) == 0) return 0;
  return run_case(kCases, count, arguments);
}
