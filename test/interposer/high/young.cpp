// Requests that hold only when they are old (rule graceUs): until the program waits for one, however young it is. And bursts
// that count as old because they have launched much.
#include <functional>
#include <thread>

#include "waiting.h"

using namespace harness;

namespace {

constexpr std::uint32_t kAfterUs = 10'000'000;  // the most that there is

struct Young : High {
  CUstream stream = make_stream(CU_STREAM_DEFAULT);
  CUevent done = make_event();
  char pageable[4096];
  CUdeviceptr memory = 0;

  explicit Young(cotenant::protocol::WhenActive when = cotenant::protocol::WhenActive::kWait) {
    auto& settings = agent.region().settings;
    settings.whenActive = static_cast<std::uint32_t>(when);
    settings.graceUs = kAfterUs;
    settings.resumeDelayUs = 0;
    OK(cuda().cuMemAlloc_v2(&memory, sizeof pageable));
  }
  bool closed() { return agent.page().word.load() != 0; }
  std::uint64_t age_us() { return (now_ns() - agent.page().high[0].burstSince.load()) / 1000; }
  void begins() {
    program.run_us(kLongUs, stream);
    OK(cuda().cuEventRecord(done, stream));
    busy("while its kernel runs");
    expect(!closed(), "a young request does not hold");
  }
  // Whether the pause flag is closed at some time before `call` has returned.
  template <class Call>
  bool closes_in(Call call) {
    std::atomic<bool> returned{false};
    bool closed_by_then = false;
    std::uint64_t age = 0;
    std::thread watcher([&] {
      while (!returned && !closed_by_then) {
        closed_by_then = closed();
        age = age_us();
      }
    });
    call();
    returned = true;
    watcher.join();
    expect(!closed_by_then || age >= kAfterUs, "and the request counts as old");
    return closed_by_then;
  }
};

void holds_once(Young& high, const std::function<void()>& wait) {
  high.begins();
  expect(high.closes_in(wait), "a request that is waited for holds");
  if (high.active()) OK(cuda().cuStreamSynchronize(high.stream));
  expect(!high.closed(), "until it ends");
}

template <class Wait>
void holds_in(Wait wait) {
  Young high;
  holds_once(high, [&] { wait(high); });
  high.begins();
  OK(cuda().cuStreamSynchronize(high.stream));
}

void by_stream() {
  holds_in([](Young& high) { OK(cuda().cuStreamSynchronize(high.stream)); });
}
void by_event() {
  holds_in([](Young& high) { OK(cuda().cuEventSynchronize(high.done)); });
}
void by_context() {
  holds_in([](Young&) { OK(cuda().cuCtxSynchronize()); });
}
void by_copy() {
  holds_in([](Young& high) { OK(cuda().cuMemcpyDtoH_v2(high.pageable, high.memory, sizeof high.pageable)); });
}
void by_copy_out() {
  holds_in([](Young& high) {
    OK(cuda().cuMemcpyDtoHAsync_v2(high.pageable, high.memory, sizeof high.pageable, high.stream));
  });
}
void by_freeing() {
  holds_in([](Young& high) { OK(cuda().cuMemFree_v2(high.memory)); });
}

// A program that asks, or copies in, goes on launching.
void not_by_asking() {
  Young high;
  const Word pinned;
  high.begins();
  expect(!high.closes_in([&] {
    expect(cuda().cuStreamQuery(high.stream) == CUDA_ERROR_NOT_READY, "a long kernel is not done at once");
    OK(cuda().cuMemcpyHtoDAsync_v2(high.memory, pinned.host, sizeof high.pageable, high.stream));
    OK(cuda().cuMemcpyDtoHAsync_v2(pinned.host, high.memory, sizeof high.pageable, high.stream));
  }),
         "a request that is not waited for does not hold");
  OK(cuda().cuStreamSynchronize(high.stream));
}

void not_where_work_may_run_beside() {
  Young high(cotenant::protocol::WhenActive::kAllow);
  high.begins();
  expect(!high.closes_in([&] { OK(cuda().cuStreamSynchronize(high.stream)); }), "no request holds");
}

// A request of this many launches. Only the last one takes long.
void holds_with(Young& high, std::uint32_t launches) {
  for (std::uint32_t i = 1; i < launches; ++i) {
    high.program.run_us(1, high.stream);
    expect(!high.closed(), "no request that has launched less holds");
  }
  high.program.run_us(kLongUs, high.stream);
  expect(high.closed() && high.age_us() >= kAfterUs,
         "with the launch that the rules name it holds, as an old one does");
  OK(cuda().cuStreamSynchronize(high.stream));
  expect(!high.closed(), "until the request ends");
}

void by_launches() {
  Young high;
  high.agent.region().settings.graceLaunches = 5;
  for (int request = 0; request < 3; ++request) holds_with(high, 5);
}

void by_waiting_before() {
  Young high;
  high.agent.region().settings.graceLaunches = 5;
  holds_once(high, [&] { OK(cuda().cuStreamSynchronize(high.stream)); });
  holds_with(high, 5);
}

void by_launches_of_a_stream() {
  Young high;
  high.agent.region().settings.graceLaunches = 5;
  CUstream other = make_stream(CU_STREAM_NON_BLOCKING);
  high.program.run_us(kLongUs, other);
  holds_with(high, 5);
  OK(cuda().cuStreamSynchronize(other));
}

// Two bursts, because the launches of each count again. A share of the time is over for the second half of a burst that launches
// much; what passes beside a burst opens the word, and finishes.
void no_share_after_launches() {
  constexpr std::uint32_t kUntilUs = 5'000'000;
  Young high;
  auto& settings = high.agent.region().settings;
  settings.graceUs = 0;
  settings.coRunUntilUs = kUntilUs;
  settings.coRunUntilLaunches = 5;
  for (int burst = 0; burst < 2; ++burst) {
    for (int i = 0; i < 4; ++i) high.program.run_us(i == 0 ? kLongUs : 1, high.stream);
    expect(high.closed() && high.age_us() < kUntilUs, "a burst of fewer launches is as old as it is");
    high.agent.page().word.store(0);
    high.program.run_us(1, high.stream);
    expect(high.age_us() >= kUntilUs, "with the launch that the rules name it counts as old");
    expect(!high.closed(), "what was let through beside it before goes on");
    OK(cuda().cuStreamSynchronize(high.stream));
  }
}

constexpr Case kCases[] = {
    {"a young request holds while a thread synchronises its stream", by_stream},
    {"a young request holds while a thread synchronises its event", by_event},
    {"a young request holds while a thread synchronises its context", by_context},
    {"a young request holds during a synchronous copy to the host", by_copy},
    {"a young request holds during an asynchronous copy to pageable memory", by_copy_out},
    {"a young request holds while its memory is freed", by_freeing},
    {"a young request does not hold because its program asks or copies", not_by_asking},
    {"a young request holds with the launch that the rules name, and so does the next", by_launches},
    {"a young request that was waited for before leaves the next one its launches", by_waiting_before},
    {"a young request holds by the launches of one stream, beside another that works", by_launches_of_a_stream},
    {"a young request does not hold where best-effort work may run concurrently with it",
     not_where_work_may_run_beside},
    {"a burst counts as too old for a share with the launch that the rules name", no_share_after_launches},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
