// Marks and holds of a best-effort client whose contexts, streams and regions come and go.
#include "../fixture.h"

using namespace harness;

namespace {

// A context of the program's own, with the kernel that takes 50 us in a stream of it.
struct OwnContext {
  CUcontext handle = nullptr;
  CUstream stream = nullptr;
  CUfunction spin = nullptr;

  OwnContext() {
    CUmodule module = nullptr;
    OK(cuda().cuCtxCreate_v2(&handle, 0, 0));
    OK(cuda().cuModuleLoadData(&module, kKernels.c_str()));
    OK(cuda().cuModuleGetFunction(&spin, module, "spin"));
    stream = make_stream();
  }
  void run(int launches) const {
    std::uint64_t ns = 50'000;
    void* parameters[] = {&ns};
    for (int i = 0; i < launches; ++i)
      OK(cuda().cuLaunchKernel(spin, 132, 1, 1, 128, 1, 1, 0, stream, parameters, nullptr));
  }
};

// Launches: so few that they fit into a queue of 100 ms, though on a busy machine a kernel of 50 us seems to take 10 ms.
constexpr unsigned kAhead = 5;

// A wait for minimum progress would be seen. The queue takes as much as a queue may.
void make_patient(BestEffort& client) {
  client.agent.region().settings.progressAfterUs = 1'000'000;
  client.agent.region().settings.submitUs = 100'000;
}

BestEffort& patient_client() {
  auto* client = new BestEffort;
  make_patient(*client);
  return *client;
}

// The launching thread of a patient client runs ahead while the GPU is held: only preemption points with a wait allow that.
void expect_run_ahead(BestEffort& client, CUstream stream, const char* when) {
  Word word;
  for (int i = 0; i < 5; ++i) {  // learned before
    client.program.store_us(50, word.device, 0, stream);
    OK(cuda().cuStreamSynchronize(stream));
  }
  client.request_begins();
  const std::uint64_t chunks = client.slot().chunks.load();
  for (unsigned i = 1; i <= kAhead; ++i) client.program.store_us(50, word.device, i, stream);
  expect(*word.host == 0, std::string("the GPU is held ") + when);
  expect(client.slot().chunks.load() > chunks, std::string("borders are put ") + when);
  expect(client.slot().minProgress.load() == 0, std::string("the thread did not wait for minimum progress ") + when);
  client.request_ends();
  OK(cuda().cuStreamSynchronize(stream));
  expect(*word.host == kAhead, std::string("it all runs ") + when);
}

void a_context_outlives_the_one_that_came_first() {
  BestEffort& client = patient_client();
  OwnContext first;
  first.run(20);
  OK(cuda().cuStreamSynchronize(first.stream));
  OK(cuda().cuCtxSetCurrent(client.program.context));
  CUstream stream = make_stream();
  client.warm(50, stream);
  OK(cuda().cuCtxDestroy_v2(first.handle));
  OK(cuda().cuCtxSetCurrent(client.program.context));
  expect_run_ahead(client, stream, "after the other context's end");
}

void a_context_outlives_the_primary_one() {
  BestEffort& client = patient_client();
  CUstream stream = make_stream();
  client.warm(50, stream);
  OwnContext own;
  own.run(20);
  OK(cuda().cuStreamSynchronize(own.stream));
  OK(cuda().cuDevicePrimaryCtxRelease_v2(0));
  const std::uint64_t began = now_ms();
  for (int i = 0; i < 12; ++i) own.run(1);
  expect(now_ms() - began < 10'000, "12 launches do not wait for marks that nobody writes");
  client.request_begins();
  const std::uint64_t chunks = client.slot().chunks.load();
  own.run(kAhead);
  expect(client.slot().chunks.load() > chunks && client.slot().minProgress.load() == 0, "its borders still work");
  client.request_ends();
  OK(cuda().cuStreamSynchronize(own.stream));
}

void a_context_ends_though_its_work_is_held() {
  BestEffort client;
  OwnContext own;
  own.run(20);
  OK(cuda().cuStreamSynchronize(own.stream));
  client.request_begins();
  own.run(40);
  OK(cuda().cuCtxDestroy_v2(own.handle));  // waits for what is parked
  client.request_ends();
}

void contexts_may_come_and_go_for_ever() {
  BestEffort client;
  for (int i = 0; i < 70; ++i) {  // more than are kept books on at once
    OwnContext own;
    own.run(3);
    OK(cuda().cuCtxDestroy_v2(own.handle));
  }
}

// A thread whose queue is full marks what other threads have open; one of them destroys its streams meanwhile.
void streams_destroyed_meanwhile_break_nothing() {
  BestEffort client;
  auto& settings = client.agent.region().settings;
  settings.submission = static_cast<std::uint32_t>(cotenant::protocol::Submission::kLaunch);
  settings.chunkUs = 100;
  CUstream stream = make_stream();
  client.warm(50, stream);
  std::atomic<bool> stop{false};
  std::thread other([&] {
    OK(cuda().cuCtxSetCurrent(client.program.context));
    while (!stop) {
      CUstream brief = make_stream();
      client.program.run_us(1, brief);
      OK(cuda().cuStreamDestroy_v2(brief));
    }
  });
  for (int i = 0; i < 2000; ++i) client.program.run_us(10, stream);
  stop = true;
  other.join();
  settings.submission = static_cast<std::uint32_t>(cotenant::protocol::Submission::kDeep);
  make_patient(client);
  expect_run_ahead(client, stream, "after 2,000 launches beside them");
}

// Every look at outstanding work goes through all entries that were ever used. Sanitizers' allocators give each stream a
// new handle; without them a handle, and its entry, comes back at once.
void streams_that_went_leave_their_place() {
  BestEffort client;
  for (int i = 0; i < 1'100; ++i) {
    CUstream brief = make_stream();
    client.program.run_us(1, brief);
    OK(cuda().cuStreamSynchronize(brief));
    OK(cuda().cuStreamDestroy_v2(brief));
  }
  int used = 0;  // words for marks, of which each entry has its own
  for (const auto& word : client.slot().done) used += word.load() != 0;
  expect(used > 0 && used <= 70, "1,100 streams one after another take " + std::to_string(used) + " entries");
}

void an_abandoned_recording_stops_nobody() {
  BestEffort& client = patient_client();
  CUstream recorded = make_stream();
  OK(cuda().cuStreamBeginCapture_v2(recorded, CU_STREAM_CAPTURE_MODE_RELAXED));
  client.program.run_us(50, recorded);
  OK(cuda().cuStreamDestroy_v2(recorded));
  CUstream stream = make_stream();
  client.warm(50, stream);
  expect_run_ahead(client, stream, "after a recording whose stream was destroyed");
}

void launches_go_one_by_one_where_pages_are_refused() {
  setenv("COTENANT_SOFTGPU", "registers=refused", 1);
  BestEffort client;
  CUstream stream = make_stream();
  Word word;
  const std::uint64_t began = now_ms();
  client.warm(50, stream);
  for (unsigned i = 1; i <= 40; ++i) client.program.store_us(50, word.device, i, stream);
  expect(now_ms() - began < 10'000, "the end of each launch is seen by an event");
  OK(cuda().cuStreamSynchronize(stream));
  client.request_begins();
  std::thread later([&] {
    sleep_ms(100);
    expect(*word.host == 40, "a launch is held while a request is active");
    client.request_ends();
  });
  client.program.store_us(50, word.device, 41, stream);
  later.join();
  OK(cuda().cuStreamSynchronize(stream));
  expect(*word.host == 41, "and runs when it has ended");
}

void refused_pages_are_asked_for_again() {
  setenv("COTENANT_SOFTGPU", "registers=4", 1);  // the first four are refused
  BestEffort& client = patient_client();
  CUstream stream = make_stream();
  client.warm(50, stream);
  for (int i = 0; i < 5; ++i) {
    sleep_ms(1'100);
    client.program.run_us(50, stream);
  }
  expect_run_ahead(client, stream, "once the driver accepts");
}

void more_streams_than_a_page_has_words_are_held() {
  BestEffort client;
  client.agent.region().settings.progressAfterUs = 1'000'000;
  std::vector<CUstream> streams;
  for (int i = 0; i < 1'200; ++i) {
    streams.push_back(make_stream());
    client.program.run_us(1, streams.back());
  }
  OK(cuda().cuCtxSynchronize());
  Word word;
  client.request_begins();
  sleep_ms(5);
  client.program.store_us(20, word.device, 1, streams.back());
  sleep_ms(50);
  expect(*word.host == 0, "the last of 1,200 streams is held");
  client.request_ends();
  OK(cuda().cuStreamSynchronize(streams.back()));
  expect(*word.host == 1, "and released");
}

// The agent dies, and one with another region comes. A high client that has not moved yet closes the old pause flag again.
void work_of_a_former_region_is_not_forgotten() {
  BestEffort client;
  auto& region = client.agent.region();
  region.settings.submitUs = 10'000;
  region.settings.submitLaunches = 700;
  region.settings.resumeDelayUs = 150;
  CUstream stream = make_stream();
  client.warm(200, stream);
  client.request_begins();
  for (int i = 0; i < 40; ++i) client.program.run_us(200, stream);
  client.agent.end();
  Agent second(Agent::kOtherRegion);
  eventually([&] { return region.holds[0].word.load() == 0; }, "the client moves to the new region");
  region.holds[0].word.store(1);
  OK(cuda().cuStreamSynchronize(stream));
}

void many_contexts_at_once() {
  BestEffort client;
  constexpr unsigned kContexts = 100;
  for (unsigned i = 0; i < kContexts; ++i) {
    const OwnContext context;
    context.run(1);
    OK(cuda().cuStreamSynchronize(context.stream));
  }
  const std::uint64_t seen = client.slot().launches.load();
  expect(seen == kContexts, "launches in 100 contexts are gated, not only " + std::to_string(seen));
}

void a_stream_of_many_keeps_its_borders() {
  BestEffort client;
  client.agent.region().settings.progressAfterUs = 1'000'000;
  for (unsigned i = 0; i < 1'100; ++i) client.program.run_us(1, make_stream(), 1);
  OK(cuda().cuCtxSynchronize());
  CUstream last = make_stream();
  Word word;
  client.warm(20, last);
  std::atomic<bool> stop{false};
  std::thread launches([&] {
    OK(cuda().cuCtxSetCurrent(client.program.context));
    for (unsigned i = 1; !stop; ++i) client.program.store_us(20, word.device, i, last);
  });
  sleep_ms(200);
  client.request_begins();
  const unsigned before = *word.host;
  sleep_ms(100);
  const unsigned ran = *word.host - before;
  expect(ran < 500, "it stops at the next border, not after " + std::to_string(ran) + " kernels");
  stop = true;
  client.request_ends();
  launches.join();
  OK(cuda().cuStreamSynchronize(last));
}

// The library follows 4,096 streams at once.
void more_streams_than_are_followed() {
  BestEffort client;
  const std::string said = told([&] {
    for (unsigned i = 0; i < 4'100; ++i) client.program.run_us(1, make_stream(), 1);
    OK(cuda().cuCtxSynchronize());
  });
  expect(said.find("more than 4096 streams") != std::string::npos, "stderr says it: " + said);
  eventually(
      [&] { return client.slot().caveats.load() == static_cast<unsigned>(cotenant::protocol::Caveat::kTooMany); },
      "and the agent learns it");
}

constexpr Case kCases[] = {
    {"a context outlives the one that came first", a_context_outlives_the_one_that_came_first},
    {"a context outlives the primary one", a_context_outlives_the_primary_one},
    {"a context ends though its work is held", a_context_ends_though_its_work_is_held},
    {"contexts may come and go for ever", contexts_may_come_and_go_for_ever},
    {"streams destroyed meanwhile break nothing", streams_destroyed_meanwhile_break_nothing},
    {"streams that went leave their place", streams_that_went_leave_their_place},
    {"an abandoned recording stops nobody", an_abandoned_recording_stops_nobody},
    {"launches go one by one where pages are refused", launches_go_one_by_one_where_pages_are_refused},
    {"refused pages are asked for again", refused_pages_are_asked_for_again},
    {"more streams than a page has words are held", more_streams_than_a_page_has_words_are_held},
    {"a hundred contexts at once are gated", many_contexts_at_once},
    {"more streams at once than are followed are told to the agent", more_streams_than_are_followed},
    {"a stream behind a thousand others stops at its borders", a_stream_of_many_keeps_its_borders},
    {"work of a former region is not forgotten", work_of_a_former_region_is_not_forgotten},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
