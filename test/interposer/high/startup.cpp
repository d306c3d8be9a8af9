// A high client that starts up shares the GPU until it serves (interposer/state/startup.h).
#include "interposer/state/startup.h"

#include "../fixture.h"
#include "include/cotenant.h"

using namespace harness;
using cotenant::Startup;
using cotenant::Turns;

namespace {

constexpr std::uint64_t kMs = 1'000'000;
// MiB of weights to a kernel that converts them. Their copies take longer than a thread waits for a CPU of a busy machine.
constexpr unsigned kWeights = 200;

// A service that has said nothing of itself.
struct Starting : High {
  CUstream stream = make_stream();
  CUdeviceptr memory = 0;
  std::vector<char> weights = std::vector<char>(1 << 20);

  Starting() : High(Says::kNothing) { OK(cuda().cuMemAlloc_v2(&memory, weights.size())); }
  auto& slot() { return agent.region().high[0]; }
  bool starting() { return slot().starting.load() == 1; }
  void seen_to_start() {
    eventually([&] { return starting(); }, "it is told that it starts up");
  }
  void launch_and_wait(unsigned us) {
    program.run_us(us, stream);
    OK(cuda().cuStreamSynchronize(stream));
  }
  // Work that nobody waits for, then something else for a while, as in a capture.
  void capture_ms(unsigned ms) {
    program.run_us(100, stream);
    CUstream other = make_stream();
    CUgraph graph = nullptr;
    OK(cuda().cuStreamBeginCapture_v2(other, CU_STREAM_CAPTURE_MODE_RELAXED));
    program.run_us(100, other);
    sleep_ms(ms);
    OK(cuda().cuStreamEndCapture(other, &graph));
    OK(cuda().cuStreamSynchronize(stream));
  }
  // Weights, and a kernel that converts them.
  void load(unsigned pieces) {
    for (unsigned i = 0; i < pieces; ++i)
      OK(cuda().cuMemcpyHtoDAsync_v2(memory, weights.data(), weights.size(), stream));
    launch_and_wait(100);
  }
  // While it works it holds best-effort work about half of its time in bursts at most. A helper thread that is late holds it for longer,
  // and makes up for that later.
  template <class Work>
  void shares(const char* when, Work work, std::uint64_t busy_before = 0, std::uint64_t shared_before = 0) {
    const auto has_shared = [&] {
      const std::uint64_t busy = slot().busyNs.load() - busy_before;
      const std::uint64_t shared = slot().sharedNs.load() - shared_before;
      const std::uint64_t held = busy - std::min(busy, shared);
      return held <= busy * 6 / 10 + Turns::kAllowedNs + Turns::kSliceNs;
    };
    eventually([&] { return has_shared() || (work(), false); },
               std::string("it holds about half of the time at most ") + when);
  }
  void serves() {
    eventually([&] { return launch_and_wait(2'000), !starting(); }, "its requests show that it serves");
  }
  void is_protected(unsigned us) {
    const std::uint64_t shared = slot().sharedNs.load();
    auto& patience = agent.region().settings.startupTimeoutUs;
    patience = 10'000'000;  // a machine that stands still must not make a request too long
    launch_and_wait(us);
    patience = 250'000;
    expect(slot().sharedNs.load() == shared, "a request is protected to its end");
  }
};

void captures_share() {
  Starting high;
  high.seen_to_start();
  for (int i = 0; i < 8; ++i) high.capture_ms(300);
  expect(high.starting(), "captures are no requests, though launches end between them");
  high.shares("while it captures", [&] { high.capture_ms(300); });
  high.serves();
  for (int i = 0; i < 5; ++i) high.is_protected(80'000);
}

void loading_shares() {
  Starting high;
  high.seen_to_start();
  for (const std::uint64_t until = now_ms() + 1'500; now_ms() < until;) high.load(kWeights);
  expect(high.starting(), "copies are no requests, though a launch ends behind them");
  high.shares("while it loads", [&] { high.load(kWeights); });
  high.serves();
  for (int i = 0; i < 5; ++i) high.is_protected(80'000);
}

void long_requests() {
  Starting high;
  high.seen_to_start();
  eventually([&] { return high.launch_and_wait(700'000), !high.starting(); }, "long requests show that it serves");
  const std::uint64_t shared = high.slot().sharedNs.load();
  expect(shared > 0, "the first of them shared");
  for (int i = 0; i < 2; ++i) high.is_protected(700'000);
}

void ready_at_once() {
  Starting high;
  high.seen_to_start();
  high.program.run_us(600'000, high.stream);
  eventually([&] { return !high.active(); }, "a long kernel shares at first");
  cotenant_ready();
  high.busy("as soon as the program says that it is ready");
  expect(!high.starting(), "and no longer starts up");
  OK(cuda().cuStreamSynchronize(high.stream));
  high.is_protected(200'000);
}

void ready_before_the_first_use() {
  cotenant_ready();
  Starting high;
  high.is_protected(200'000);
  expect(!high.starting(), "a program that was ready before never starts up");
}

void says_that_it_starts() {
  Starting high;
  cotenant_ready();
  high.is_protected(100'000);
  cotenant_starting();
  expect(high.starting(), "at once");
  for (int i = 0; i < 10; ++i) high.launch_and_wait(50'000);
  expect(high.starting(), "until it says that it is ready, whatever its work looks like");
  high.shares("while it starts", [&] { high.launch_and_wait(50'000); });
  cotenant_ready();
  for (int i = 0; i < 3; ++i) high.is_protected(100'000);
}

void announced() {
  Starting high;
  high.seen_to_start();
  cotenant_announce(100'000);
  eventually([&] { return !high.starting(); }, "a program that announces requests serves");
  high.is_protected(200'000);
}

void captures_between_requests() {
  Starting high;
  high.seen_to_start();
  high.serves();
  for (int round = 0; round < 2; ++round) {
    const std::uint64_t busy = high.slot().busyNs.load();
    const std::uint64_t shared = high.slot().sharedNs.load();
    const std::uint64_t from = now_ms();
    // On a slow machine sequence words end each burst with its work, so a capture holds nobody and begins no start-up.
    const auto held_by_words = [&] {
      const std::uint64_t before = high.slot().busyNs.load();
      high.capture_ms(200);
      return high.slot().busyNs.load() - before < 20 * kMs;
    };
    eventually([&] { return held_by_words() || high.starting(); },
               "captures for longer than requests take begin a new start-up");
    for (int i = 0; i < 8; ++i) high.capture_ms(200);
    const std::uint64_t held = high.slot().busyNs.load() - busy - (high.slot().sharedNs.load() - shared);
    expect(held <= (now_ms() - from) * kMs * 6 / 10, "captures hold best-effort work for half of their time at most");
    high.serves();
    for (int i = 0; i < 3; ++i) high.is_protected(80'000);
  }
}

void another_model() {
  Starting high;
  high.seen_to_start();
  high.serves();
  for (int i = 0; i < 3; ++i) high.is_protected(10'000);
  eventually([&] { return high.load(kWeights), high.starting(); },
             "a model loaded between requests begins a new start-up");
  const std::uint64_t busy = high.slot().busyNs.load();
  const std::uint64_t shared = high.slot().sharedNs.load();
  for (const std::uint64_t until = now_ms() + 1'000; now_ms() < until;) high.load(kWeights);
  expect(high.starting(), "until it serves again");
  high.shares("while it loads", [&] { high.load(kWeights); }, busy, shared);
  high.serves();
  for (int i = 0; i < 3; ++i) high.is_protected(80'000);
}

void never_where_the_rule_is_off() {
  Starting high;
  high.agent.region().settings.startupTimeoutUs = 0;
  eventually([&] { return !high.starting(); }, "it does not start up");
  high.launch_and_wait(300'000);
  const std::uint64_t shared = high.slot().sharedNs.load();
  high.launch_and_wait(300'000);
  expect(high.slot().sharedNs.load() == shared, "and holds best-effort work for as long as it is busy");
}

// Its judgement of work, with a clock of its own.
struct Judged {
  Startup startup;
  std::uint64_t now = 10'000 * kMs;

  void burst(std::uint64_t ms, std::uint64_t waited_ms, std::uint64_t copying_ms = 0, bool launch = true) {
    startup.burst_begins(now);
    now += ms * kMs;
    startup.copied(copying_ms * kMs);
    if (launch) startup.launch_ended(now, [&] { return waited_ms * kMs; });
    startup.burst_ends(now, [&] { return waited_ms * kMs; });
    now += kMs;
  }
  void requests(unsigned count, std::uint64_t ms = 10) {
    for (unsigned i = 0; i < count; ++i) burst(ms, ms);
  }
  bool serves() { return startup.serves(); }
  void doubt(std::uint64_t ms = 250) { startup.doubt(now, ms * kMs); }
};

void few_requests_suffice() {
  Judged client;
  expect(!client.serves(), "before its first request");
  client.requests(Startup::kRequests - 1);
  expect(!client.serves(), "one more is needed");
  client.requests(1);
  expect(client.serves() && client.startup.longest_ns() == 10 * kMs, "it serves");
}

void copies_are_no_requests() {
  Judged client;
  for (int i = 0; i < 50; ++i) client.burst(20, 20, 15);
  expect(!client.serves(), "a launch behind copies is no request");
  for (int i = 0; i < 50; ++i) client.burst(100, 100, 0, false);
  expect(!client.serves(), "nor are copies alone");
  for (int i = 0; i < 10; ++i) {
    client.burst(100, 100, 90);
    client.requests(5, 1);
  }
  expect(!client.serves(), "nor small launches between large copies");
  const std::uint64_t before = client.now;
  while (!client.serves() && client.now < before + 2'000 * kMs) client.requests(1), client.now += 10 * kMs;
  expect(client.serves(), "requests are believed within two seconds, however long the start-up took");
}

void large_inputs() {
  Judged client;
  for (unsigned i = 0; i < Startup::kRequests; ++i) {
    client.startup.returned();
    client.burst(20, 20, 15);
  }
  expect(client.serves(), "a result that is copied back shows a request, however large its inputs are");
}

void work_that_goes_on() {
  Judged client;
  client.startup.burst_begins(client.now);
  const std::uint64_t begun = client.now;
  for (int step = 0; step < 45; ++step) {
    client.now += 20 * kMs;
    client.startup.launch_ended(client.now, [&] { return client.now - begun; });
  }
  expect(client.serves(), "a burst without an end is known by its pieces within a second");
}

void submitting_is_work() {
  Judged client;
  for (unsigned i = 0; i < Startup::kRequests; ++i) {
    client.startup.burst_begins(client.now);
    client.startup.submitted(80 * kMs);
    client.now += 100 * kMs;
    client.startup.launch_ended(client.now, [] { return 5 * kMs; });
    client.startup.burst_ends(client.now, [] { return 5 * kMs; });
  }
  expect(client.serves(), "a request that is limited by the CPU is one");
}

void doubts() {
  Judged client;
  client.requests(10);
  client.burst(200, 0);
  client.doubt();
  expect(client.serves(), "a short capture is forgiven");
  client.burst(200, 0);
  client.doubt();
  expect(!client.serves(), "more of them are a new start-up");
  client.now += 1'000 * kMs;
  client.requests(Startup::kRequests);
  expect(client.serves(), "and requests end it");

  client.startup.burst_begins(client.now);
  client.now += 2'000 * kMs;
  client.doubt();
  expect(!client.serves(), "a burst far longer than any before may be a start-up");
  client.startup.launch_ended(client.now, [] { return 1'900 * kMs; });
  expect(client.serves(), "but the program waited for it, so it was a request");
  client.startup.burst_ends(client.now, [] { return 1'900 * kMs; });
}

void turns() {
  Turns turns;
  turns.begin(0);
  std::uint64_t now = 0;
  std::uint64_t held = 0;
  const auto pass = [&](bool busy) {
    const bool holds = busy && !turns.shares();
    now += kMs;
    held += holds ? kMs : 0;
    turns.pass(now, holds);
  };
  for (int i = 0; i < 10'000; ++i) pass(i % 100 < 40);
  expect(held == 4'000 * kMs, "bursts of 40 ms that leave as much time to others are held for to their end");
  held = 0;
  for (int i = 0; i < 10'000; ++i) pass(true);
  expect(held >= 5'000 * kMs && held <= 5'000 * kMs + Turns::kAllowedNs + Turns::kSliceNs, "and else half of the time");
}

constexpr Case kCases[] = {
    {"a start-up of captures shares the GPU, and the requests after it are protected", captures_share},
    {"a start-up of copies with launches between them shares the GPU", loading_shares},
    {"requests longer than any bound are protected after a few", long_requests},
    {"a program that says it is ready is protected at once", ready_at_once},
    {"a program that was ready before its first use of the GPU is protected from the first request on",
     ready_before_the_first_use},
    {"a program that says it starts shares until it is ready", says_that_it_starts},
    {"a program that announces requests serves", announced},
    {"a service that captures between requests shares, and is protected again", captures_between_requests},
    {"a service that loads another model between requests shares meanwhile and is protected again", another_model},
    {"without the rule a start-up holds best-effort work", never_where_the_rule_is_off},
    {"a few requests show that a client serves", few_requests_suffice},
    {"copies do not show that a client serves", copies_are_no_requests},
    {"copies behind which a result comes back show that a client serves", large_inputs},
    {"steps of work that never ends show that a client serves", work_that_goes_on},
    {"the time in which a program submits work belongs to a request", submitting_is_work},
    {"other work for longer than any request begins a new start-up, unless it proves to be a request", doubts},
    {"what starts up holds best-effort work half of the time at most", turns},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
