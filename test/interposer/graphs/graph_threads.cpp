// Best-effort graphs in parts beside other threads' work.
#include <thread>

#include "recorded.h"

using namespace harness;

namespace {

// Two threads, two graphs, one stream: nothing of one comes between parts of the other.
void nothing_comes_between_parts() {
  InParts it(2);
  Called called;
  CUgraphExec execs[2] = {called.graph(it, 0, 30), called.graph(it, 100, 30)};
  std::vector<std::thread> threads;
  for (CUgraphExec exec : execs)
    threads.emplace_back([&it, exec] {
      OK(cuda().cuCtxSetCurrent(it.client.program.context));
      for (int i = 0; i < 4; ++i) OK(cuda().cuGraphLaunch(exec, it.stream));
    });
  for (auto& thread : threads) thread.join();
  OK(cuda().cuStreamSynchronize(it.stream));
  called.in_turn(30, 8);
}

// A launch that was on its way when a graph's began comes before all of its parts, a later one after them.
void launches_of_another_thread_come_before_or_after() {
  InParts it(2);
  constexpr unsigned kTimes = 30;
  static Word other;
  static std::vector<unsigned> seen;
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  const auto look = [&] {
    OK(cuda().cuLaunchHostFunc(it.stream, [](void*) { seen.push_back(unsigned{*other.host}); }, nullptr));
  };
  OK(cuda().cuStreamBeginCapture_v2(it.stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  look();
  for (unsigned i = 0; i < 12; ++i) it.client.program.store_us(200, it.word.device, i, it.stream);
  look();
  OK(cuda().cuStreamEndCapture(it.stream, &graph));
  const std::uint64_t places = it.places();
  OK(cuda().cuGraphInstantiateWithFlags(&exec, graph, 0));
  expect(it.places() > places + 5, "it is in parts");
  std::atomic<bool> done{false};
  std::thread meanwhile([&] {
    OK(cuda().cuCtxSetCurrent(it.client.program.context));
    for (unsigned i = 1; !done; ++i) {
      it.client.program.store_us(5, other.device, i, it.stream);
      if (i % 64 == 0) OK(cuda().cuStreamSynchronize(it.stream));
    }
  });
  for (unsigned i = 0; i < kTimes; ++i) OK(cuda().cuGraphLaunch(exec, it.stream));
  done = true;
  meanwhile.join();
  OK(cuda().cuStreamSynchronize(it.stream));
  expect(seen.size() == 2 * kTimes, "each looks at its beginning and at its end");
  for (unsigned i = 0; i < seen.size(); i += 2) expect(seen[i] == seen[i + 1], "nothing came between");
}

// The legacy stream waits for all that is in blocking ones, and they for it: between parts it would see half a graph.
void legacy_work_of_another_thread_keeps_a_graph_whole() {
  InParts it(20);
  const CUstream blocking = make_stream(CU_STREAM_DEFAULT);
  const auto borders = [&](CUstream stream) {
    const std::uint64_t before = it.client.slot().chunks.load();
    OK(cuda().cuGraphLaunch(it.exec, stream));
    OK(cuda().cuStreamSynchronize(stream));
    return it.client.slot().chunks.load() - before;
  };
  it.client.program.store_us(200, it.word.device, 0, nullptr);
  expect(borders(blocking) >= 15, "in parts as long as one thread submits to both");
  std::thread([&it] {
    OK(cuda().cuCtxSetCurrent(it.client.program.context));
    it.client.program.store_us(200, it.word.device, 0, nullptr);
  }).join();
  expect(borders(blocking) <= 2, "whole where another one might come between");
  expect(borders(it.stream) >= 15, "and in parts in a stream that the legacy one does not wait for");
}

constexpr Case kCases[] = {
    {"nothing of another thread comes between parts", nothing_comes_between_parts},
    {"launches of another thread come before or after a graph", launches_of_another_thread_come_before_or_after},
    {"legacy work of another thread keeps a graph whole", legacy_work_of_another_thread_keeps_a_graph_whole},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
