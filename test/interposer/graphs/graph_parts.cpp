// Best-effort graphs in parts: that they stop between them, and that nobody can tell otherwise.
#include <algorithm>

#include "recorded.h"

using namespace harness;

namespace {

void a_request_stops_a_graph_between_parts() {
  InParts it;
  expect(it.places() >= 50, "a place to stop before each kernel that fills a chunk");
  expect(size_of(it.graph) == 60, "the application's graph is as it was");
  static_cast<void>(it.stopped_inside());
  it.client.request_ends();
  OK(cuda().cuStreamSynchronize(it.stream));
  expect(*it.word.host == 60, "then it goes on to its end, in order");
  expect(it.client.slot().graphs.load() == 1, "it is one graph");
}

void branches_are_whole_within_parts() {
  InParts it(1);
  CUstream side = make_stream();
  CUevent fork = make_event(), join = make_event();
  Word left, right;
  OK(cuda().cuStreamBeginCapture_v2(it.stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  for (unsigned i = 1; i <= 8; ++i) {
    OK(cuda().cuEventRecord(fork, it.stream));
    OK(cuda().cuStreamWaitEvent(side, fork, 0));
    it.client.program.store_us(200, left.device, i, it.stream);
    it.client.program.store_us(200, right.device, i, side);
    OK(cuda().cuEventRecord(join, side));
    OK(cuda().cuStreamWaitEvent(it.stream, join, 0));
    it.client.program.store_us(200, it.word.device, i, it.stream);
  }
  OK(cuda().cuStreamEndCapture(it.stream, &it.graph));
  const std::uint64_t before = it.places();
  OK(cuda().cuGraphInstantiateWithFlags(&it.exec, it.graph, 0));
  expect(it.places() - before >= 7, "it stops where its branches part and meet");
  it.runs_to(8, "where branches meet");
  expect(*left.host == 8 && *right.host == 8, "and in both branches");
}

void launches_of_one_graph_do_not_overlap() {
  InParts it(2);
  Called called;
  const std::uint64_t places = it.places();
  CUgraphExec exec = called.graph(it, 0, 20);
  expect(it.places() > places + 10, "it is in parts");
  CUstream other = make_stream();
  for (const CUstream stream : {it.stream, other, it.stream, other}) OK(cuda().cuGraphLaunch(exec, stream));
  OK(cuda().cuStreamSynchronize(it.stream));
  OK(cuda().cuStreamSynchronize(other));
  called.in_turn(20, 4);
}

void captures_get_the_applications_graph() {
  if (getenv("COTENANT_TEST_PASS")) return;  // an H200's driver does not capture launches of graphs
  InParts it(20);
  CUgraph outer = nullptr;
  OK(cuda().cuStreamBeginCapture_v2(it.stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  OK(cuda().cuGraphLaunch(it.exec, it.stream));
  OK(cuda().cuStreamEndCapture(it.stream, &outer));
  std::size_t count = 1;
  CUgraphNode node = nullptr;
  CUgraph child = nullptr;
  OK(cuda().cuGraphGetNodes(outer, &node, &count));
  OK(cuda().cuGraphChildGraphNodeGetGraph(node, &child));
  expect(size_of(outer) == 1 && size_of(child) == 20, "one node, and nothing of ours in it");
}

void without_high_clients_graphs_run_whole() {
  InParts it;
  const std::uint64_t chunks = it.client.slot().chunks.load();
  it.client.agent.region().roster.registered = 0;
  it.client.request_begins();  // of nobody
  it.runs_to(60, "where there is nobody to stop for");
  expect(it.client.slot().chunks.load() <= chunks + 1, "without borders");
  it.client.request_ends();
  it.client.agent.region().roster.registered = 1;
  it.runs_to(60, "in parts again");
  expect(it.client.slot().chunks.load() >= chunks + 50, "with borders");
}

void graphs_end_while_they_run() {
  InParts it;
  OK(cuda().cuGraphUpload(it.exec, it.stream));
  OK(cuda().cuGraphLaunch(it.exec, it.stream));
  OK(cuda().cuGraphExecDestroy(it.exec));
  OK(cuda().cuGraphDestroy(it.graph));
  OK(cuda().cuStreamSynchronize(it.stream));
  expect(*it.word.host == 60, "what was launched runs to its end");
}

// The stream waits for something that comes when the launch has returned: natively it returns at once.
void a_launch_returns_though_its_stream_waits() {
  InParts it;
  Word go;
  OK(cuda().cuStreamWaitValue32_v2(it.stream, go.device, 1, CU_STREAM_WAIT_VALUE_EQ));
  const std::uint64_t began = now_ms();
  OK(cuda().cuGraphLaunch(it.exec, it.stream));
  expect(now_ms() - began < kHangMs, "the launch returns");
  expect(*it.word.host == 0, "before its graph runs");
  *go.host = 1;
  OK(cuda().cuStreamSynchronize(it.stream));
  expect(*it.word.host == 60, "and then it runs");
  expect(it.client.slot().wholeGraphs.load() == 0, "in parts still");
  it.runs_to(60, "again");
}

void what_cannot_be_divided_gets_gates() {
  if (getenv("COTENANT_TEST_PASS")) return;  // a real driver clones them
  setenv("COTENANT_SOFTGPU", "clones=refused", 1);
  InParts it;
  expect(it.places() >= 50, "gates at the same places");
  OK(cuda().cuGraphLaunch(it.exec, it.stream));
  eventually([&] { return *it.word.host >= 3; }, "the graph is running");
  it.client.request_begins();
  sleep_ms(100);
  expect(*it.word.host < 60, "the rest of it is held");
  it.client.request_ends();
  OK(cuda().cuStreamSynchronize(it.stream));
  expect(*it.word.host == 60, "then it goes on to its end");
}

// A graph of kernels that the program has not run before: as short as can be, as far as anybody knows.
void parts_that_prove_long_are_divided() {
  InParts it(2);
  constexpr unsigned kKernels = 12;
  OK(cuda().cuStreamBeginCapture_v2(it.stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  for (unsigned i = 1; i <= kKernels; ++i) {
    std::uint64_t ns = i % 4 == 0 ? 900'000 : 300'000;
    void* parameters[] = {&it.word.device, &i, &ns};
    OK(cuda().cuLaunchKernel(it.client.program.store, 66, 1, 1, 32 * i, 1, 1, 0, it.stream, parameters, nullptr));
  }
  OK(cuda().cuStreamEndCapture(it.stream, &it.graph));
  const std::uint64_t places = it.places();
  OK(cuda().cuGraphInstantiateWithFlags(&it.exec, it.graph, 0));
  expect(it.places() <= places + 2, "nothing of it is known to be long");
  for (int i = 0; i < 40; ++i) it.runs_to(kKernels, "whatever its parts are");
  expect(it.places() >= places + kKernels / 2, "its parts are divided when they were timed");
  expect(it.client.slot().wholeGraphs.load() == 0, "and it is in parts");
  Word other;
  Store store(it.node(7), other.device, 77);
  OK(cuda().cuGraphExecKernelNodeSetParams_v2(it.exec, it.node(7), &store.of));
  it.runs_to(kKernels, "but what was changed");
  expect(*other.host == 77, "a change reaches the part that has the node now");
  OK(cuda().cuGraphExecDestroy(it.exec));
}

void errors_are_the_applications_own() {
  InParts it(4);
  CUgraphExec exec = nullptr;
  expect(cuda().cuGraphInstantiateWithFlags(&exec, it.graph, 1u << 20) == CUDA_ERROR_INVALID_VALUE,
         "what is wrong is answered by the driver");
  expect(size_of(it.graph) == 4, "and the graph is as it was");
  expect(cuda().cuGraphInstantiateWithFlags(nullptr, it.graph, 0) == CUDA_ERROR_INVALID_VALUE, "also without a place");
  expect(cuda().cuGraphLaunch(nullptr, it.stream) != CUDA_SUCCESS, "also a launch of nothing");
  CUgraphNode alien = nullptr;
  CUgraph other = recorded(it.client.program, it.stream, it.word, 1);
  std::size_t count = 1;
  OK(cuda().cuGraphGetNodes(other, &alien, &count));
  expect(cuda().cuGraphNodeSetEnabled(it.exec, alien, 0) != CUDA_SUCCESS, "also a node of another graph");
  it.runs_to(4, "all the same");
  expect(it.client.slot().wholeGraphs.load() == 0, "in parts");
}

void ended_contexts_take_their_graphs_along() {
  InParts it(20);
  it.runs_to(20, "once");
  OK(cuda().cuDevicePrimaryCtxReset_v2(0));
  OK(cuda().cuDevicePrimaryCtxRetain(&it.client.program.context, 0));
  OK(cuda().cuCtxSetCurrent(it.client.program.context));
  it.client.program = Program();
  it.stream = make_stream();
  it.word = Word();
  CUgraph graph = recorded(it.client.program, it.stream, it.word, 10);
  OK(cuda().cuGraphInstantiateWithFlags(&it.exec, graph, 0));
  it.runs_to(10, "in the context after it");
}

constexpr Case kCases[] = {
    {"a request stops a graph between its parts", a_request_stops_a_graph_between_parts},
    {"branches are whole within parts", branches_are_whole_within_parts},
    {"launches of one graph in parts do not overlap", launches_of_one_graph_do_not_overlap},
    {"captures get the application's graph", captures_get_the_applications_graph},
    {"without high clients graphs run whole", without_high_clients_graphs_run_whole},
    {"graphs in parts may end while they run", graphs_end_while_they_run},
    {"a launch in parts returns though its stream waits", a_launch_returns_though_its_stream_waits},
    {"graphs that cannot be divided get gates", what_cannot_be_divided_gets_gates},
    {"parts that prove long are divided", parts_that_prove_long_are_divided},
    {"what is wrong with a graph in parts is the driver's answer", errors_are_the_applications_own},
    {"ended contexts take graphs in parts along", ended_contexts_take_their_graphs_along},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
