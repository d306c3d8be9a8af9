// Best-effort graphs in parts that the application changes: the parts follow.
#include <algorithm>

#include "recorded.h"

using namespace harness;

namespace {

void changes_reach_the_part_that_has_the_node() {
  InParts it(20);
  for (const unsigned at : {19u, 0u, 11u}) {
    Word other;
    Store store(it.node(at), other.device, 77);
    OK(cuda().cuGraphExecKernelNodeSetParams_v2(it.exec, it.node(at), &store.of));
    it.runs_to(19, "but what was changed");
    expect(*other.host == 77, "what was changed through the handle of a node");
  }
  for (const unsigned enabled : {0u, 1u}) {
    *it.word.host = 0;
    OK(cuda().cuGraphNodeSetEnabled(it.exec, it.node(18), enabled));
    unsigned is = 2;
    OK(cuda().cuGraphNodeGetEnabled(it.exec, it.node(18), &is));
    expect(is == enabled, "the driver says what is enabled");
    it.runs_to(enabled ? 19 : 18, "with and without a node");
  }
  expect(it.client.slot().wholeGraphs.load() == 0, "it still runs in parts");
}

void updates_reach_all_parts() {
  InParts it(20);
  CUgraph same = recorded(it.client.program, it.stream, it.word, 20);
  std::vector<CUgraphNode> nodes(20);
  std::size_t count = nodes.size();
  OK(cuda().cuGraphGetNodes(same, nodes.data(), &count));
  Word first, last;
  for (const unsigned at : {0u, 19u}) {
    Store store(nodes[at], at == 0 ? first.device : last.device, 5);
    OK(cuda().cuGraphKernelNodeSetParams_v2(nodes[at], &store.of));
  }
  CUgraphExecUpdateResultInfo info{};
  OK(cuda().cuGraphExecUpdate_v2(it.exec, same, &info));
  expect(size_of(same) == 20, "nothing stays in the graph it was updated from");
  it.runs_to(19, "with what another graph of the same form says");
  expect(*first.host == 5 && *last.host == 5, "in its first part and in its last");

  CUgraph other = recorded(it.client.program, it.stream, it.word, 21);
  expect(cuda().cuGraphExecUpdate_v2(it.exec, other, &info) == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
         "a graph of another form is refused");
  expect(info.result == CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, "for the reason that it has");
  it.runs_to(19, "as before");
  expect(it.client.slot().wholeGraphs.load() == 0, "and in parts");
  OK(cuda().cuGraphExecDestroy(it.exec));
  OK(cuda().cuGraphInstantiateWithFlags(&it.exec, other, 0));
  it.runs_to(21, "from another graph");
}

// Updates of a graph of 20 kernels, the last of which stores what it is told.
struct Updated : InParts {
  Updated() : InParts(20) {}

  // The graph that it is brought up to date with goes at once.
  void update(unsigned value) {
    CUgraph same = recorded(client.program, stream, word, 20);
    std::vector<CUgraphNode> nodes(20);
    std::size_t count = nodes.size();
    OK(cuda().cuGraphGetNodes(same, nodes.data(), &count));
    Store store(nodes[19], word.device, value);
    OK(cuda().cuGraphKernelNodeSetParams_v2(nodes[19], &store.of));
    CUgraphExecUpdateResultInfo info{};
    OK(cuda().cuGraphExecUpdate_v2(exec, same, &info));
    OK(cuda().cuGraphDestroy(same));
  }
  template <class Call>
  void with_nobody_to_stop_for(Call call) {
    auto& registered = client.agent.region().roster.registered;
    const std::uint32_t high = registered.exchange(0);
    call();
    registered = high;
  }
  // How often it can stop when it is launched now.
  std::uint64_t stops(unsigned last, const char* when) {
    const std::uint64_t before = client.slot().chunks.load();
    runs_to(last, when);
    return client.slot().chunks.load() - before;
  }
};

void updates_with_nobody_to_stop_for() {
  Updated it;
  it.with_nobody_to_stop_for([&] {
    it.update(55);
    it.runs_to(55, "whole, as there is nobody to stop for");
  });
  expect(it.stops(55, "as the last update said") >= 10, "in parts, now that there is somebody");

  it.with_nobody_to_stop_for([&] {
    it.update(60);
    Store store(it.node(18), it.word.device, 61);
    OK(cuda().cuGraphExecKernelNodeSetParams_v2(it.exec, it.node(18), &store.of));
    OK(cuda().cuGraphNodeSetEnabled(it.exec, it.node(19), 0));
  });
  expect(it.stops(61, "as the update and the changes after it said") >= 10, "and in parts");
  OK(cuda().cuGraphNodeSetEnabled(it.exec, it.node(19), 1));

  it.with_nobody_to_stop_for([&] {
    for (unsigned i = 1; i <= 10; ++i) {
      it.update(100 + i);
      it.runs_to(100 + i, "as each update said");
    }
  });
  it.runs_to(110, "as the last of many updates said");
  it.update(200);
  expect(it.stops(200, "as an update beside a high client says") >= 10, "in parts again");
  expect(it.client.slot().wholeGraphs.load() == 0, "the parts were kept all the time");
}

// One part cannot follow: the application's own executable graph can.
void a_change_that_no_part_can_follow() {
  InParts it(20);
  CUgraph same = recorded(it.client.program, it.stream, it.word, 20);
  CUgraphExecUpdateResultInfo info{};
  OK(cuda().cuGraphExecUpdate_v2(it.exec, same, &info));
  std::vector<CUgraphNode> nodes(20);
  std::size_t count = nodes.size();
  OK(cuda().cuGraphGetNodes(same, nodes.data(), &count));
  // The software GPU takes nodes of a graph that it was brought up to date with.
  Store store(nodes[19], it.word.device, 77);
  const CUresult result = cuda().cuGraphExecKernelNodeSetParams_v2(it.exec, nodes[19], &store.of);
  it.runs_to(result == CUDA_SUCCESS ? 77 : 20, "with what the driver took");
  expect(it.client.slot().wholeGraphs.load() == (result == CUDA_SUCCESS ? 1 : 0), "whole, and counted");
  OK(cuda().cuGraphExecDestroy(it.exec));
}

void children_and_events_can_be_changed() {
  InParts it(2);
  CUgraph inner = recorded(it.client.program, it.stream, it.word, 3);
  CUgraph more = recorded(it.client.program, it.stream, it.word, 3);
  std::vector<CUgraphNode> nodes(3);
  std::size_t count = nodes.size();
  OK(cuda().cuGraphGetNodes(more, nodes.data(), &count));
  Store store(nodes[2], it.word.device, 99);
  OK(cuda().cuGraphKernelNodeSetParams_v2(nodes[2], &store.of));
  CUevent event = make_event(), other = make_event();
  CUgraphNode before = nullptr, child = nullptr, record = nullptr;
  CUgraph graph = nullptr;
  OK(cuda().cuGraphCreate(&graph, 0));
  Store first(it.node(0), it.word.device, 1);
  first.ns = 200'000;
  OK(cuda().cuGraphAddKernelNode_v2(&before, graph, nullptr, 0, &first.of));
  OK(cuda().cuGraphAddChildGraphNode(&child, graph, &before, 1, inner));
  OK(cuda().cuGraphAddEventRecordNode(&record, graph, &child, 1, event));
  const std::uint64_t places = it.places();
  OK(cuda().cuGraphInstantiateWithFlags(&it.exec, graph, 0));
  expect(it.places() > places, "a child graph is one node of one part");
  it.runs_to(3, "with a child");
  OK(cuda().cuGraphExecChildGraphNodeSetParams(it.exec, child, more));
  OK(cuda().cuGraphExecEventRecordNodeSetEvent(it.exec, record, other));
  it.runs_to(99, "with another child of the same form");
  OK(cuda().cuEventSynchronize(other));
  expect(it.client.slot().wholeGraphs.load() == 0, "it still runs in parts");
}

// Their graphs are up to date as well as they are.
void updated_parts_that_prove_long_are_divided() {
  InParts it(2);
  constexpr unsigned kKernels = 12;
  const auto record = [&] {
    CUgraph graph = nullptr;
    OK(cuda().cuStreamBeginCapture_v2(it.stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    for (unsigned i = 1; i <= kKernels; ++i) {
      std::uint64_t ns = 300'000;
      void* parameters[] = {&it.word.device, &i, &ns};
      OK(cuda().cuLaunchKernel(it.client.program.store, 66, 1, 1, 32 * i, 1, 1, 0, it.stream, parameters, nullptr));
    }
    OK(cuda().cuStreamEndCapture(it.stream, &graph));
    return graph;
  };
  CUgraphExecUpdateResultInfo info{};
  OK(cuda().cuGraphInstantiateWithFlags(&it.exec, record(), 0));
  OK(cuda().cuGraphExecUpdate_v2(it.exec, record(), &info));
  const std::uint64_t places = it.places();
  for (int i = 0; i < 40; ++i) it.runs_to(kKernels, "whatever its parts are");
  expect(it.places() >= places + kKernels / 2, "its parts are divided when they were timed");
  expect(it.client.slot().wholeGraphs.load() == 0, "and it is in parts");
}

constexpr Case kCases[] = {
    {"changes reach the part that has the node", changes_reach_the_part_that_has_the_node},
    {"updates reach all parts", updates_reach_all_parts},
    {"updates with nobody to stop for reach the parts before they run", updates_with_nobody_to_stop_for},
    {"a graph runs whole when a part cannot follow a change", a_change_that_no_part_can_follow},
    {"children and events in parts can be changed", children_and_events_can_be_changed},
    {"parts that were updated and prove long are divided", updated_parts_that_prove_long_are_divided},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
