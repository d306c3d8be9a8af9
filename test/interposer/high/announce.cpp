// A request that is announced before it arrives (native/include/cotenant.h).
#include "include/cotenant.h"

#include <algorithm>

#include "../fixture.h"

using namespace harness;

namespace {

// The control page of a best-effort client and the client's slot, as the agent and that client read them.
struct Announcing : High {
  auto& page() { return agent.page(); }
  auto& slot() { return agent.region().high[0]; }
  bool closed() { return page().word.load() != 0; }
  unsigned counted() {
    unsigned total = 0;
    for (const auto& bucket : slot().histogram) total += bucket.load();
    return total;
  }
  // How long announcing `us` stops best-effort work when nothing follows.
  std::uint64_t lasts_ms(unsigned us) {
    const std::uint64_t before = now_ms();
    cotenant_announce(us);
    eventually([&] { return !active(); }, "an announcement ends by itself");
    return now_ms() - before;
  }
};

void closes_holds() {
  Announcing high;
  cotenant_announce(100'000);
  high.busy("before anything was launched");
  expect(high.closed(), "the pause flag is closed");
  expect(high.slot().busySince.load() == 0, "no burst has begun");
}

void expires() {
  Announcing high;
  high.agent.region().settings.resumeDelayUs = 0;  // with a delay, a best-effort client opens its own pause flag
  const std::uint64_t lasted = high.lasts_ms(30'000);
  expect(lasted >= 29, "not before its time is over: " + std::to_string(lasted) + " ms");
  expect(high.agent.page().word.load() == 0, "the pause flag of whose turn it is is open again");
  expect(high.page().idleSince.load() != 0, "the end is told");
  expect(high.page().activations.load() == 1, "the GPU went from idle to active once");
  expect(high.bursts() == 0 && high.counted() == 0, "no burst was counted");
  expect(high.slot().busyNs.load() == 0 && high.slot().timeouts.load() == 0, "nor any of its time");
}

// The helper thread, which naps for 10 ms when nothing goes on, is told.
void ends_in_time() {
  Announcing high;
  std::uint64_t shortest = 1'000;
  high.lasts_ms(1'000);
  for (int i = 0; i < 20; ++i) shortest = std::min(shortest, high.lasts_ms(1'000));
  expect(shortest < 6, "1 ms lasts about 1 ms, not " + std::to_string(shortest));
  expect(high.page().activations.load() == 21, "each of them held the GPU");
}

void longest() {
  Announcing high;
  const std::uint64_t lasted = high.lasts_ms(4'000'000'000);
  expect(lasted >= 99 && lasted < kHangMs, "100 ms at most, not " + std::to_string(lasted));
}

void said_again() {
  Announcing high;
  cotenant_announce(100'000);
  const std::uint64_t shortened = high.lasts_ms(1'000);
  expect(shortened >= 90, "a shorter one does not take back what was said, but " + std::to_string(shortened) + " ms");
  cotenant_announce(1'000);
  const std::uint64_t extended = high.lasts_ms(100'000);
  expect(extended >= 99, "a longer one extends it, not " + std::to_string(extended) + " ms");
}

// False: the machine stood still for longer than an announcement lasts.
bool announced_burst(Announcing& high, CUstream stream) {
  const auto activations = high.page().activations.load();
  const auto bursts = high.bursts();
  const auto counted = high.counted();
  const std::uint64_t busy_before = high.slot().busyNs.load();
  std::uint64_t announced = 0;
  const auto late = [&] {
    if (now_ms() - announced < 90) return false;
    OK(cuda().cuStreamSynchronize(stream));
    eventually([&] { return !high.active(); }, "an announcement ends by itself");
    return true;
  };
  for (int i = 0; i < 2; ++i) {
    announced = now_ms();
    cotenant_announce(100'000);
    sleep_ms(30);
    const bool active = high.active();
    if (late()) return false;
    expect(active, "it is active while the request is on its way");
  }
  const std::uint64_t launched = now_ms();
  high.program.run_us(5'000, stream);
  if (late()) return false;
  expect(high.slot().busySince.load() != 0, "the burst has begun");
  OK(cuda().cuStreamSynchronize(stream));
  high.idle("as soon as the request is done: nothing is left of the announcement");
  expect(high.bursts() - bursts == 1 && high.counted() - counted == 1, "one burst");
  const std::uint64_t busy_ms = (high.slot().busyNs.load() - busy_before) / 1'000'000;
  const bool from_its_launch = busy_ms >= 4 && busy_ms <= now_ms() - launched;
  expect(from_its_launch, "it lasted from its launch on, not " + std::to_string(busy_ms) + " ms");
  expect(high.page().activations.load() - activations == 1, "announcement and burst are one activation");
  return true;
}

void becomes_a_burst() {
  Announcing high;
  CUstream stream = make_stream();
  for (int tries = 1; !announced_burst(high, stream); ++tries)
    expect(tries < 20, "the machine lets a request begin in time");
}

void no_gap() {
  Announcing high;
  CUstream stream = make_stream();
  high.program.run_us(20'000, stream);
  cotenant_announce(100'000);
  OK(cuda().cuStreamSynchronize(stream));
  high.busy("after the burst, because the next request is announced");
  expect(high.closed(), "the pause flag stayed closed");
  expect(high.bursts() == 1 && high.slot().busySince.load() == 0, "the burst has ended");
  expect(high.page().idleSince.load() == 0, "but the GPU is not idle");
  high.program.run_us(1'000, stream);
  OK(cuda().cuStreamSynchronize(stream));
  high.idle("after the announced request");
  expect(high.bursts() == 2, "which was a burst of its own");
  expect(high.page().activations.load() == 1, "with no gap between the two");
  expect(high.page().idleSince.load() != 0, "then the GPU is idle");
}

void outlived_by_a_burst() {
  Announcing high;
  CUstream stream = make_stream();
  high.program.run_us(40'000, stream);
  cotenant_announce(1'000);
  sleep_ms(20);
  high.busy("while a request runs, whatever becomes of an announcement");
  OK(cuda().cuStreamSynchronize(stream));
  high.idle("after a burst longer than the announcement made in it");
}

void from_a_thread_without_a_context() {
  Announcing high;
  std::thread([] { cotenant_announce(100'000); }).join();
  high.busy("whichever thread announced it");
}

void child_of_fork() {
  Announcing high;
  cotenant_announce(20'000);
  const pid_t child = fork();
  if (child == 0) {
    cotenant_announce(100'000);
    _exit(0);
  }
  eventually([&] { return !high.active(); }, "the parent's announcement ends though it forked");
}

void best_effort_client() {
  BestEffort client;
  cotenant_announce(100'000);
  expect(client.agent.page().active.load() == 0, "no bit is set");
  expect(client.agent.page().word.load() == 0, "the pause flag is open");
}

void without_effect() {
  cotenant_announce(1'000);  // before the process has used a GPU
  Agent agent;
  agent.become("high");
  setenv("COTENANT_OFF", "1", 1);
  Program program;
  cotenant_announce(100'000);
  expect(agent.page().active.load() == 0, "no bit is set");
}

void without_an_agent() {
  setenv("COTENANT_CLASS", "high", 1);
  setenv("COTENANT_SOCKET", "/tmp/no-agent-here.sock", 1);
  Program program;
  CUstream stream = make_stream();
  cotenant_announce(1'000);
  program.run_us(100, stream);
  OK(cuda().cuStreamSynchronize(stream));
}

void threads() {
  Announcing high;
  const auto serve = [&] {
    OK(cuda().cuCtxSetCurrent(high.program.context));
    CUstream stream = make_stream();
    for (int i = 0; i < 200; ++i) {
      cotenant_announce(200);
      high.program.run_us(50, stream, 8);
      high.busy("in a thread whose own request runs");
      OK(cuda().cuStreamSynchronize(stream));
    }
  };
  std::thread a(serve);
  std::thread b(serve);
  a.join();
  b.join();
  eventually([&] { return !high.active(); }, "the last announcement ends");
  expect(high.slot().launches.load() == 400 && high.counted() == high.bursts(), "every request was counted");
}

constexpr Case kCases[] = {
    {"an announcement closes the pause flags before any launch", closes_holds},
    {"an announcement that no request follows ends by itself", expires},
    {"a short announcement ends in time though the helper thread slept", ends_in_time},
    {"an announcement lasts 100 ms at most", longest},
    {"an announcement said again lasts until the later end", said_again},
    {"an announced burst lasts from its first launch on", becomes_a_burst},
    {"an announcement made in a burst leaves no gap behind it", no_gap},
    {"a burst outlives an announcement made in it", outlived_by_a_burst},
    {"a thread without a context announces for every GPU in use", from_a_thread_without_a_context},
    {"a child of fork announces nothing", child_of_fork},
    {"a best-effort client announces nothing", best_effort_client},
    {"announcing before the first use of a GPU, or switched off, does nothing", without_effect},
    {"announcing without an agent does nothing", without_an_agent},
    {"threads that announce and serve at once lose nothing", threads},
};

}  // namespace

int main(int count, char** arguments) {
  // The weak symbol is null without the interposer; to list the cases it is not needed.
  if (count > 1) expect(cotenant_announce != nullptr, "the interposer exports cotenant_announce");
  return run_case(kCases, count, arguments);
}
