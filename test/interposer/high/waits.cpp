// How long a high client's bursts waited for the GPU, as far as the time is its own. What a test paused is known to
// the nanosecond, so a pause that does not count shows by the rest of the burst, on a machine however slow.
#include "interposer/state/wait_time.h"

#include "waiting.h"

using namespace harness;

namespace {

void launching() {
  Waiting high;
  CUstream stream = make_stream();
  for (int i = 0; i < 40; ++i) {
    high.program.run_us(10, stream);
    high.pause_ms(2);
  }
  OK(cuda().cuStreamSynchronize(stream));
  high.waited_but_for_pauses();
}

void asked_before_launching_more() {
  Waiting high;
  CUstream stream = make_stream();
  high.program.run_us(kLongUs, stream);
  expect(cuda().cuStreamQuery(stream) == CUDA_ERROR_NOT_READY, "a long kernel is not done at once");
  high.pause_ms(30);
  high.program.run_us(10, stream);
  while (cuda().cuStreamQuery(stream) == CUDA_ERROR_NOT_READY) usleep(500);
  high.waited_but_for_pauses();
}

void found_done() {
  Waiting high;
  CUstream stream = make_stream();
  Word word;
  high.program.store_us(10, word.device, 1, stream);
  while (*word.host == 0) high.pause_ms(1);
  high.pause_ms(30);
  while (cuda().cuStreamQuery(stream) == CUDA_ERROR_NOT_READY) {
  }
  high.waited_but_for_pauses();
}

void one_stream_after_the_other() {
  Waiting high;
  CUstream first = make_stream();
  CUstream second = make_stream();
  high.program.run_us(kLongUs, first, 8);
  high.program.run_us(2 * kLongUs, second, 8);
  OK(cuda().cuStreamSynchronize(first));
  high.pause_ms(30);
  OK(cuda().cuStreamSynchronize(second));
  high.waited_some();
  high.waited_but_for_pauses();
}

// No driver call reports the end, only sequence words: from the last one on nothing else was going on.
void sequence_words() {
  Waiting high;
  high.agent.region().settings.startupTimeoutUs = 0;  // or the first requests, which nobody sees end, take turns
  CUstream stream = make_stream();
  Word word;
  CUgraph graph = nullptr;
  CUgraphExec instance = nullptr;
  OK(cuda().cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  high.program.store_us(kLongUs / 4, word.device, 1, stream);
  OK(cuda().cuStreamEndCapture(stream, &graph));
  OK(cuda().cuGraphInstantiateWithFlags(&instance, graph, 0));
  const auto request = [&] {
    *word.host = 0;
    high.program.run_us(10, stream);
    high.pause_ms(30);
    OK(cuda().cuGraphLaunch(instance, stream));
    eventually([&] { return *word.host == 1 && !high.active(); }, "the burst ends");
  };
  for (int i = 0; i < 2; ++i) request();
  auto& slot = high.slot();
  expect(slot.timeouts.load() == 2 && high.total(slot.waits) == 0,
         "of bursts that the last resort ended nothing is told");
  high.forget();
  request();
  expect(slot.timeouts.load() == 2, "a sequence word ended it");
  high.waited_but_for_pauses();
  expect(high.waited() >= bucket_of(kSomeNs / 10), "the graph was waited for");
}

void host_function() {
  Waiting high;
  CUstream stream = make_stream();
  std::atomic<bool> called{false};
  high.program.run_us(10, stream);
  high.pause_ms(30);
  high.program.run_us(kLongUs, stream);
  OK(cuda().cuLaunchHostFunc(stream, [](void* data) { *static_cast<std::atomic<bool>*>(data) = true; }, &called));
  eventually([&] { return called.load(); }, "the host function is called");
  high.waited_some();
  high.waited_but_for_pauses();
}

void newer_host_function() {
  Waiting high;
  CUstream stream = make_stream();
  std::atomic<bool> called{false};
  high.program.run_us(kLongUs, stream);
  OK(cuda().cuLaunchHostFunc_v2(stream, [](void* data) { *static_cast<std::atomic<bool>*>(data) = true; }, &called, 0));
  eventually([&] { return called.load(); }, "the host function is called");
  eventually([&] { return !high.active(); }, "it shows the end of the burst");
  high.waited_some();
}

void host_function_in_between() {
  Waiting high;
  CUstream stream = make_stream();
  std::atomic<bool> called{false};
  high.program.run_us(kLongUs, stream);
  OK(cuda().cuLaunchHostFunc(stream, [](void* data) { *static_cast<std::atomic<bool>*>(data) = true; }, &called));
  high.program.run_us(10, stream);
  while (!called.load()) high.pause_ms(1);
  OK(cuda().cuStreamSynchronize(stream));
  high.waited_but_for_pauses();
}

void full_queue() {
  Waiting high;
  CUstream stream = make_stream();
  for (int i = 0; i < 1000; ++i) high.program.run_us(1, stream, 1);
  high.pause_ms(30);
  OK(cuda().cuStreamSynchronize(stream));
  high.waited_throughout();
  high.forget();
  high.program.run_us(1, stream, 1);
  high.pause_ms(30);
  OK(cuda().cuStreamSynchronize(stream));
  high.waited_but_for_pauses();
}

void queue_seen_empty() {
  Waiting high;
  CUstream stream = make_stream();
  CUstream beside = make_stream();
  high.program.run_us(4 * kLongUs, beside, 1);
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 800; ++i) high.program.run_us(1, stream, 1);
    high.pause_ms(30);
    OK(cuda().cuStreamSynchronize(stream));
  }
  OK(cuda().cuStreamSynchronize(beside));
  high.waited_but_for_pauses();
}

void destroyed_stream() {
  Waiting high;
  CUstream stream = make_stream();
  high.program.run_us(10, stream);
  high.pause_ms(30);
  OK(cuda().cuStreamDestroy_v2(stream));
  high.waited_throughout();
}

void overlapping_threads() {
  Waiting high;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      OK(cuda().cuCtxSetCurrent(high.program.context));
      CUstream stream = make_stream();
      for (int request = 0; request < 20; ++request) {
        high.program.run_us(2'000, stream, 8);
        OK(cuda().cuStreamSynchronize(stream));
      }
    });
  for (std::thread& each : threads) each.join();
  auto& slot = high.slot();
  expect(high.total(slot.waits) == high.bursts() && high.total(slot.histogram) == high.bursts(),
         "every burst is told once");
  // For every length: not more bursts waited at least that long than lasted at least that long.
  std::uint64_t longer = 0;
  std::uint64_t waited = 0;
  for (unsigned at = cotenant::kBuckets; at-- > 0;) {
    longer += slot.histogram[at].load();
    waited += slot.waits[at].load();
    expect(waited <= longer, "no burst waits longer than it lasts");
  }
}

void sums() {
  cotenant::WaitTime waited;
  const auto begins = [&] { waited.burst_begins(1000); };
  const auto is = [&](std::uint64_t ns, const char* what) {
    expect(waited.ns() == ns,
           std::string(what) + ": " + std::to_string(ns) + " ns, not " + std::to_string(waited.ns()));
  };
  begins();
  is(0, "before any wait");
  waited.add(cotenant::kDidNotWait, 1500);
  is(0, "somebody found the work done");
  waited.add(1600, 1700);
  waited.add(1800, 2000);
  is(300, "one after the other");
  waited.add(1900, 2100);
  is(400, "one that began within the last");
  waited.add(1750, 2150);
  is(500, "one that began before the last, after the one before");
  waited.add(500, 2200);
  is(1200, "one that began before the burst");
  begins();
  is(0, "the next burst");
  waited.add(cotenant::kSinceUnknown, 1400);
  is(400, "nobody knows since when");
  waited.add(1300, 1350);
  is(400, "one that was told late");
}

constexpr Case kCases[] = {
    {"pauses between launches are not waited for the GPU", launching},
    {"having asked before launching more does not count", asked_before_launching_more},
    {"work found done when first asked for was not waited for", found_done},
    {"waits for one stream after the other add up", one_stream_after_the_other},
    {"a client whose completions only sequence words show waits from the last one on", sequence_words},
    {"a host function behind the last launch is waited for", host_function},
    {"a host function of CUDA 13.1 shows the end, too", newer_host_function},
    {"a host function with launches behind it is not", host_function_in_between},
    {"a burst in which the driver's queue may have been full counts as waited throughout, the next one does not",
     full_queue},
    {"launches seen done are not in the driver's queue", queue_seen_empty},
    {"a burst that the destruction of its stream ends counts as waited throughout", destroyed_stream},
    {"threads that wait at the same time wait no longer than their burst", overlapping_threads},
    {"waits that overlap count once", sums},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
