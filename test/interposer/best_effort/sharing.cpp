// A high client that is busy for far longer than ever without getting anything done, or does not run at all: best-effort
// work is not held for ever.
#include "include/cotenant.h"
#include "interposer/state/progress.h"

#include <sys/prctl.h>
#include <sys/wait.h>

#include <csignal>

#include "../fixture.h"

using namespace harness;
using cotenant::Progress;

namespace {

struct Sharing : High {
  CUstream stream = make_stream();

  Sharing() { share_after_ms(30); }
  void share_after_ms(unsigned ms) { agent.region().settings.startupTimeoutUs = ms * 1000; }
  // For what is looked at in the next moment. The helper thread takes longer to act on it than a moment; a machine that
  // stands still must not make a difference.
  void patient() { share_after_ms(10'000); }
  auto& slot() { return agent.region().high[0]; }
  // Keeps the GPU busy and looks at nothing.
  void work() {
    if (now_ms() < next_) return;
    program.run_us(100'000, stream, 8);
    next_ = now_ms() + 80;
  }
  void work_until_free() {
    eventually([&] { return work(), !active(); }, "a client that gets nothing done lets best-effort work go");
  }
  // Loads weights, looking at each copy; until one did not hold best-effort work.
  void load_until_free() {
    CUdeviceptr memory = 0;
    std::vector<char> weights(1 << 20);
    OK(cuda().cuMemAlloc_v2(&memory, weights.size()));
    bool free = false;
    eventually(
        [&] {
          OK(cuda().cuMemcpyHtoDAsync_v2(memory, weights.data(), weights.size(), stream));
          free = !active();
          OK(cuda().cuStreamSynchronize(stream));
          return free;
        },
        "a client that only copies lets best-effort work go");
  }

 private:
  std::uint64_t next_ = 0;
};

void takes_turns() {
  Sharing high;
  high.patient();
  high.program.run_us(50'000, high.stream);
  high.busy("at first");
  high.share_after_ms(30);
  for (int turn = 0; turn < 4; ++turn) {
    high.work_until_free();
    expect(high.slot().busySince.load() != 0, "its burst goes on");
    eventually([&] { return high.work(), high.active(); }, "then it holds best-effort work again");
  }
  OK(cuda().cuStreamSynchronize(high.stream));
  high.idle("when all is done");
  expect(high.bursts() == 1 && high.agent.page().idleSince.load() != 0, "all of it was one burst");
  const std::uint64_t shared = high.slot().sharedNs.load();
  expect(shared > 0 && shared < high.slot().busyNs.load(), "it is told for how long it shared");
}

void protected_again() {
  Sharing high;
  CUevent first = make_event();
  high.program.run_us(100, high.stream);
  OK(cuda().cuEventRecord(first, high.stream));
  high.work_until_free();
  high.patient();
  OK(cuda().cuEventSynchronize(first));
  high.busy("as soon as a launch was seen to end");
  OK(cuda().cuStreamSynchronize(high.stream));
  high.idle("when all is done");
}

void long_requests() {
  Sharing high;
  high.work_until_free();
  OK(cuda().cuStreamSynchronize(high.stream));
  const std::uint64_t shared = high.slot().sharedNs.load();
  for (int request = 0; request < 3; ++request) {
    high.program.run_us(50'000, high.stream);
    OK(cuda().cuStreamSynchronize(high.stream));
  }
  // 4 times the first burst, which took 100 ms at least: no machine is so slow.
  expect(high.slot().sharedNs.load() == shared, "requests as long as one before are protected to their end");
}

// One burst, and never a moment without work: but its steps are seen to end.
void pipelined() {
  Sharing high;
  high.share_after_ms(1'000);
  CUevent done[2] = {make_event(), make_event()};
  unsigned step = 0;
  for (const std::uint64_t until = now_ms() + 2'500; now_ms() < until; ++step) {
    high.program.run_us(20'000, high.stream);
    OK(cuda().cuEventRecord(done[step % 2], high.stream));
    if (step > 0) OK(cuda().cuEventSynchronize(done[(step + 1) % 2]));
  }
  OK(cuda().cuStreamSynchronize(high.stream));
  expect(high.slot().busyNs.load() > 2'000'000'000, "it was busy for longer than the rule allows without a completion");
  expect(high.slot().sharedNs.load() == 0, "and protected throughout");
}

void loading() {
  Sharing high;
  high.load_until_free();
  high.program.run_us(100, high.stream);
  OK(cuda().cuStreamSynchronize(high.stream));
  high.patient();
  high.program.run_us(20'000, high.stream);
  high.busy("in the request after the first one");
}

void after_a_rest() {
  Sharing high;
  high.load_until_free();
  high.patient();
  sleep_ms(1'200);
  high.program.run_us(20'000, high.stream);
  high.busy("in a request after a rest, though none has been done before");
}

void announced() {
  Sharing high;
  high.work_until_free();
  high.patient();
  cotenant_announce(100'000);
  high.busy("as soon as a request is announced");
}

void never_where_the_rule_is_off() {
  Sharing high;
  high.share_after_ms(0);
  for (const std::uint64_t until = now_ms() + 500; now_ms() < until; sleep_ms(1)) {
    high.work();
    high.busy("for as long as it likes");
  }
}

// The high client is a process of its own, the best-effort one this: both of one agent.
void stopped() {
  Agent agent;
  const pid_t child = fork();
  if (child == 0) {
    // If this case fails, nobody else would end the stopped child, and vitest waits for it.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    agent.become("high");
    Program program;
    CUstream stream = make_stream();
    program.run_us(1'000, stream);
    OK(cuda().cuStreamSynchronize(stream));
    // A client whose helper thread has never beaten is never taken for stopped.
    eventually([&] { return agent.page().high[0].beats.load() > 0; }, "the helper thread of the high client runs");
    program.run_us(1'000, stream);
    raise(SIGSTOP);
    for (;;) {
      program.run_us(20'000, stream, 8);
      sleep_ms(15);
    }
  }
  int status = 0;
  eventually([&] { return waitpid(child, &status, WUNTRACED | WNOHANG) == child; }, "the high client stops");
  expect(WIFSTOPPED(status), "and does not end");
  const auto active = [&] { return (agent.page().active.load() & 1) != 0; };
  expect(active(), "in the middle of a burst");
  agent.become("best-effort");
  Program program;
  CUstream stream = make_stream();
  for (int i = 0; i < 20; ++i) program.run_us(100, stream);
  eventually([&] { return !active(); }, "best-effort work is no longer held for it");
  OK(cuda().cuStreamSynchronize(stream));
  kill(child, SIGCONT);
  eventually(active, "when it goes on, its burst is protected again");
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
}

void sums() {
  constexpr std::uint64_t kMs = 1'000'000;
  Progress progress;
  const auto limit_ms = [&] { return progress.limit_ns(250 * kMs) / kMs; };
  std::uint64_t now = 10'000 * kMs;
  const auto burst = [&](std::uint64_t ms, bool launch) {
    progress.burst_begins(now);
    now += ms * kMs;
    if (launch) progress.launch_ended(now);
    progress.burst_ends(now);
    now += kMs;
  };
  progress.burst_begins(now);
  expect(progress.unseen_ns(now - kMs) == 0, "a clock that was read before the burst began says nothing against it");
  progress.burst_ends(now);
  expect(limit_ms() == 250, "what is usual at first");
  for (int i = 0; i < 30; ++i) burst(10, false);
  expect(progress.unseen_ns(now) == 300 * kMs, "bursts without a launch add up, idle time between them does not");
  burst(10, true);
  expect(progress.unseen_ns(now) == 0 && limit_ms() == 4 * 310, "a launch that ended begins a new count");
  burst(1'000, true);
  expect(limit_ms() == 4'000, "four times the longest");
  burst(100'000, true);
  expect(limit_ms() == 4 * 4 * 4'000, "one launch raises it at most 16-fold");
  burst(10, false);
  now += 2'000 * kMs;
  progress.burst_begins(now);
  expect(progress.unseen_ns(now) == 0, "after a rest it begins something new");
  progress.burst_ends(now);
  for (std::uint32_t i = 0; i < 2 * Progress::kRemembered; ++i) burst(1, true);
  expect(limit_ms() == 250, "what was long ago is forgotten");
}

// As an agent leaves the page of a best-effort client that has come while this one was away.
void what_is_said_of_it_is_mended() {
  High high;
  high.agent.region().settings.resumeDelayUs = 0;  // with a delay, a best-effort client opens its own pause flag
  CUstream stream = make_stream();
  high.program.run_us(1'000, stream);
  OK(cuda().cuStreamSynchronize(stream));
  auto& page = high.agent.page();
  page.word = 1;
  page.active = 1;
  eventually([&] { return page.active.load() == 0 && page.word.load() == 0; }, "it is idle, and says so");
  high.program.run_us(50'000, stream);
  page.word = 0;
  page.active = 0;
  eventually([&] { return page.active.load() == 1 && page.word.load() == 1; }, "it is busy, and says so");
  OK(cuda().cuStreamSynchronize(stream));
  high.idle("after its burst");
}

constexpr Case kCases[] = {
    {"what a page says wrongly of a high client is mended", what_is_said_of_it_is_mended},
    {"a client of which no launch is seen to end takes turns with best-effort work", takes_turns},
    {"a launch that was seen to end protects what is still out, at once", protected_again},
    {"a request as long as one before is protected to its end", long_requests},
    {"a service that always has the next request out is protected throughout", pipelined},
    {"a client that only copies takes turns until its first request is done", loading},
    {"a request after a rest is protected", after_a_rest},
    {"an announced request is protected", announced},
    {"without the rule a client holds best-effort work for as long as it is busy", never_where_the_rule_is_off},
    {"best-effort work is not held for a stopped client, and is again when it goes on", stopped},
    {"how long is far too long follows from the launches that ended", sums},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
