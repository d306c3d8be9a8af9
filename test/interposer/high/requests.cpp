// The requests that a program reports (native/include/cotenant.h), and the records of bursts.
#include "interposer/high/requests.h"

#include "include/cotenant.h"
#include "waiting.h"

using namespace harness;

namespace {

constexpr std::uint64_t kMs = 1'000'000;

struct Telling : Waiting {
  template <class Buckets>
  static std::uint64_t shortest(const Buckets& of) {
    for (unsigned at = 0; at < cotenant::kBuckets; ++at)
      if (of[at].load() != 0) return cotenant::top_of(at);
    fail("nothing was counted");
  }
  unsigned values() { return total(slot().ttft) + total(slot().tpot) + total(slot().itl) + total(slot().e2e); }
  void open_are(unsigned count) {
    eventually([&] { return slot().requestsOpen.load() == count; }, std::to_string(count) + " are open");
  }
};

void times() {
  Telling high;
  const cotenant_request request = cotenant_request_begin();
  expect(request != 0, "a request has a handle");
  high.open_are(1);
  sleep_ms(30);
  cotenant_request_progress(request, 1);
  expect(high.total(high.slot().ttft) == 1 && high.shortest(high.slot().ttft) >= 30 * kMs, "30 ms to the first");
  sleep_ms(60);
  cotenant_request_progress(request, 1);
  cotenant_request_progress(request, 4);
  expect(high.total(high.slot().itl) == 2, "two times between");
  const std::uint64_t ended = now_ns();
  sleep_ms(20);
  cotenant_request_end(request);
  const std::uint64_t tpot = high.shortest(high.slot().tpot);
  const std::uint64_t e2e = high.shortest(high.slot().e2e);
  expect(high.total(high.slot().tpot) == 1 && tpot >= 60 * kMs / 5, "the time per unit after the first, of five");
  expect(high.total(high.slot().e2e) == 1 && e2e >= 110 * kMs, "all of it");
  expect(tpot <= e2e / 5 + 1, "the wait for the first unit is not in the time per unit");
  expect(now_ns() - ended >= 20 * kMs && high.values() == 5, "five values");
  expect(high.slot().requestValues.load() == 5, "which are counted");
  high.open_are(0);
}

void began_before() {
  Telling high;
  const cotenant_request request = cotenant_request_began(70'000);
  cotenant_request_progress(request, 1);
  expect(high.shortest(high.slot().ttft) >= 70 * kMs, "from its start, which was before the call");
  cotenant_request_end(request);
  cotenant_request_end(cotenant_request_began(~0ULL));
  expect(high.total(high.slot().e2e) == 2,
         "a start in no time that can be is taken for an hour ago, or the machine's start");
}

void without_progress() {
  Telling high;
  cotenant_request_end(cotenant_request_begin());
  const cotenant_request one = cotenant_request_begin();
  cotenant_request_progress(one, 0);
  cotenant_request_progress(one, 1);
  cotenant_request_end(one);
  expect(high.total(high.slot().e2e) == 2, "both have an end");
  expect(high.total(high.slot().ttft) == 1, "one has a first unit");
  expect(high.total(high.slot().tpot) == 0 && high.total(high.slot().itl) == 0, "none has a second");
}

void failed() {
  Telling high;
  const cotenant_request one = cotenant_request_begin();
  cotenant_request_fail(one);
  cotenant_request_fail(one);
  cotenant_request_end(one);
  cotenant_request_progress(one, 1);
  for (cotenant_request void_handle : {0ull, 1ull, 77ull, ~0ull}) {
    cotenant_request_progress(void_handle, 1);
    cotenant_request_end(void_handle);
    cotenant_request_fail(void_handle);
  }
  expect(high.slot().requestsFailed.load() == 1, "one has failed, once");
  expect(high.values() == 0, "and no time of it counts");
}

void never_ended() {
  Telling high;
  const cotenant_request first = cotenant_request_begin();
  for (unsigned i = 0; i < cotenant::kRequestPlaces - 1; ++i) (void)cotenant_request_begin();
  expect(high.slot().requestsForgotten.load() == 0, "so many are followed");
  high.open_are(cotenant::kRequestPlaces);
  cotenant_request last = 0;
  for (unsigned i = 0; i < cotenant::kRequestPlaces; ++i) last = cotenant_request_begin();
  expect(high.slot().requestsForgotten.load() == cotenant::kRequestPlaces, "each more takes the place of one");
  high.open_are(cotenant::kRequestPlaces);
  cotenant_request_end(first);
  expect(high.values() == 0, "what was forgotten has no end");
  cotenant_request_end(last);
  expect(high.total(high.slot().e2e) == 1, "what came last has one");
  high.open_are(cotenant::kRequestPlaces - 1);
}

// A request outlives many others that come and go beside it.
void outlasts() {
  Telling high;
  const cotenant_request lasting = cotenant_request_begin();
  for (unsigned i = 0; i < 3 * cotenant::kRequestPlaces; ++i) cotenant_request_end(cotenant_request_begin());
  expect(high.slot().requestsForgotten.load() == 0, "nothing was forgotten");
  cotenant_request_end(lasting);
  expect(high.total(high.slot().e2e) == 3 * cotenant::kRequestPlaces + 1, "every one was counted");
}

void many_outlast() {
  Telling high;
  constexpr unsigned kLasting = 200;  // that have places side by side
  cotenant_request lasting[kLasting];
  for (auto& one : lasting) one = cotenant_request_begin();
  for (unsigned i = 0; i < 3 * cotenant::kRequestPlaces; ++i) cotenant_request_end(cotenant_request_begin());
  expect(high.slot().requestsForgotten.load() == 0, "nothing was forgotten");
  for (const auto one : lasting) cotenant_request_end(one);
  expect(high.total(high.slot().e2e) == 3 * cotenant::kRequestPlaces + kLasting, "every one was counted");
}

void threads() {
  Telling high;
  constexpr unsigned kThreads = 8;
  constexpr unsigned kRequests = 2'000;
  const auto serve = [] {
    cotenant_request requests[10];
    for (unsigned i = 0; i < kRequests / 10; ++i) {
      for (auto& one : requests) one = cotenant_request_begin();
      for (const auto one : requests) cotenant_request_progress(one, 2);
      for (const auto one : requests) cotenant_request_end(one);
    }
  };
  std::vector<std::thread> serving;
  for (unsigned i = 0; i < kThreads; ++i) serving.emplace_back(serve);
  for (auto& one : serving) one.join();
  expect(high.total(high.slot().e2e) == kThreads * kRequests, "every request was counted");
  expect(high.total(high.slot().ttft) == kThreads * kRequests, "with its first unit");
  expect(high.slot().requestValues.load() == high.values(), "and every value");
  expect(high.slot().requestsForgotten.load() == 0, "none was forgotten");
  high.open_are(0);
}

// Ended by another thread than began it, and begun before the process used the GPU.
void before_the_gpu() {
  Agent agent;
  agent.become("high");
  const cotenant_request request = cotenant_request_begin();
  const Program program;
  CUstream stream = make_stream();
  program.run_us(1'000, stream);
  OK(cuda().cuStreamSynchronize(stream));
  std::thread([&] { cotenant_request_end(request); }).join();
  expect(Waiting::total(agent.region().high[0].e2e) == 1, "it is counted when there is a slot");
}

void best_effort() {
  BestEffort client;
  const cotenant_request request = cotenant_request_begin();
  cotenant_request_progress(request, 1);
  cotenant_request_end(request);
  expect(Waiting::total(client.agent.region().high[0].e2e) == 0, "a best-effort client counts nothing");
}

void ends_start_up() {
  Agent agent;
  agent.become("high");
  const Program program;
  auto& starting = agent.region().high[0].starting;
  eventually([&] { return starting.load() == 1; }, "it starts up");
  const cotenant_request request = cotenant_request_begin();
  expect(starting.load() == 0, "a request ends that");
  cotenant_request_end(request);
}

void leaves_start_up_to_the_program() {
  Agent agent;
  agent.become("high");
  cotenant_starting();
  const Program program;
  auto& starting = agent.region().high[0].starting;
  eventually([&] { return starting.load() == 1; }, "it starts up, as it says");
  cotenant_request_end(cotenant_request_begin());
  expect(starting.load() == 1, "a request does not end that");
  cotenant_ready();
  expect(starting.load() == 0, "the program does");
}

// The agent's statement when the service's endpoint answers.
void serves_as_the_agent_says() {
  Agent agent;
  agent.become("high");
  const Program program;
  auto& slot = agent.region().high[0];
  eventually([&] { return slot.starting.load() == 1; }, "it starts up");
  slot.serves = 1;
  eventually([&] { return slot.starting.load() == 0; }, "an endpoint that answers ends that");
  slot.serves = 0;
  eventually([&] { return slot.starting.load() == 1; }, "without one its work decides again");
}

void records() {
  Telling high;
  CUstream stream = make_stream();
  constexpr unsigned kBursts = cotenant::protocol::BURST_RECORDS + 10;
  std::vector<std::uint64_t> launched;  // by burst: so far
  std::uint64_t so_far = 0;
  for (unsigned i = 0; launched.size() < kBursts; ++i) {
    for (unsigned each = 0; each < 1 + i % 2; ++each, ++so_far) high.program.run_us(10, stream, 8);
    OK(cuda().cuStreamSynchronize(stream));
    // A burst is given up, and is none, if this thread does not run for 50 ms while the helper thread does.
    if (high.bursts() > launched.size()) launched.push_back(so_far);
    expect(high.bursts() == launched.size(), "each is a burst");
    expect(launched.size() + high.slot().timeouts.load() > i, "unless it was given up");
  }
  std::uint64_t before = 0;
  for (unsigned n = 10; n < kBursts; ++n) {
    const auto* record = &high.slot().burstRecords[n % cotenant::protocol::BURST_RECORDS * 4];
    const std::uint64_t launches = launched[n];
    expect(record[0].load() >= before && record[1].load() > record[0].load(), "one after the other");
    expect(record[2].load() <= record[1].load() - record[0].load(), "a burst waits no longer than it lasts");
    expect(record[3].load() == launches, "launches so far: burst " + std::to_string(n));
    before = record[1].load();
  }
}

constexpr Case kCases[] = {
    {"each time of a request is counted", times},
    {"a request that began before the call is timed from then", began_before},
    {"a request without units has an end only, and one unit is no time per unit", without_progress},
    {"a request that fails is in no time, and void handles do nothing", failed},
    {"requests that are never ended are forgotten when their places are needed", never_ended},
    {"a request outlasts many others beside it", outlasts},
    {"many requests that began together outlast others", many_outlast},
    {"threads that serve at once lose no request", threads},
    {"a request may begin before the first use of the GPU and end in another thread", before_the_gpu},
    {"a best-effort client counts no requests", best_effort},
    {"the first request ends a start-up", ends_start_up},
    {"but not one that the program has spoken of", leaves_start_up_to_the_program},
    {"a service whose endpoint answers does not start up", serves_as_the_agent_says},
    {"each burst is in the ring of records", records},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
