// Best-effort graphs that stop inside: where, with what result, and what the application sees of it.
#include <algorithm>

#include "gate/gate.cpp"
#include "interposer/graphs/cuts.cpp"
#include "recorded.h"

using namespace harness;

namespace {

using cotenant::GraphEdge;
using cotenant::Item;
using cotenant::OrderedGraph;

// Cuts of a graph of nodes that take so many us each, under a chunk of 100 us.
std::vector<std::uint32_t> cuts_of(std::uint32_t nodes, const std::vector<GraphEdge>& edges, std::uint32_t us = 40,
                                   std::uint32_t least_us = 0) {
  const std::vector<Item> items(nodes, Item{us, true, cotenant::KernelClass::kUnknown, 0});
  cotenant::Rules rules{};
  rules.chunk_us = 100;
  rules.chunk_launches = 16;
  const OrderedGraph ordered(nodes, edges.data(), static_cast<std::uint32_t>(edges.size()));
  if (!ordered.whole()) return {~0u};
  std::vector<std::uint32_t> cuts(nodes);
  cuts.resize(ordered.choose(items.data(), rules, least_us, cuts.data()));
  return cuts;
}

std::vector<GraphEdge> chain(std::uint32_t nodes) {
  std::vector<GraphEdge> edges;
  for (std::uint32_t i = 1; i < nodes; ++i) edges.push_back({i - 1, i, false});
  return edges;
}

void chains_are_cut_by_time() {
  expect(cuts_of(8, chain(8)) == std::vector<std::uint32_t>({2, 4, 6}), "two nodes of 40 us fill a chunk of 100 us");
  expect(cuts_of(4, chain(4), 500) == std::vector<std::uint32_t>({1, 2, 3}), "a long node stands alone");
  expect(cuts_of(8, chain(8), 80, 200) == std::vector<std::uint32_t>({3, 6}), "chunks take a while at least");
  expect(cuts_of(40, chain(40), 0) == std::vector<std::uint32_t>({16, 32}), "short ones are counted");
  expect(cuts_of(1, {}).empty() && cuts_of(2, {}).empty(), "no cut where nothing is ordered");
  expect(cuts_of(2, {{0, 1, false}, {1, 0, false}}) == std::vector<std::uint32_t>({~0u}), "a cycle is not a graph");
}

// 0 parts into 1-2 and 3-4, which meet in 5; then 6.
void branches_are_cut_where_they_meet() {
  const std::vector<GraphEdge> edges = {{0, 1, false}, {1, 2, false}, {0, 3, false}, {3, 4, false},
                                        {2, 5, false}, {4, 5, false}, {5, 6, false}};
  expect(cuts_of(7, edges, 500) == std::vector<std::uint32_t>({1, 5, 6}), "only where they part and meet");
  // One more that nothing waits for: the branches never meet it.
  std::vector<GraphEdge> stray = edges;
  stray.push_back({0, 7, false});
  expect(cuts_of(8, stray, 500) == std::vector<std::uint32_t>({1}), "a cut must not add an order");
}

void overlapping_nodes_stay_together() {
  std::vector<GraphEdge> edges = chain(4);
  edges[1].overlaps = true;
  expect(cuts_of(4, edges, 500) == std::vector<std::uint32_t>({1, 3}), "nothing comes between nodes that overlap");
}

// Whatever the graph: a cut adds no order. Every node after it was already behind every node before it, or
// is behind one that is.
void random_graphs() {
  unsigned state = 12345;
  const auto random = [&](unsigned below) { return (state = state * 1664525u + 1013904223u, (state >> 8) % below); };
  int found = 0;
  for (int round = 0; round < 400; ++round) {
    const std::uint32_t nodes = 2 + random(14);
    std::vector<std::vector<bool>> reaches(nodes, std::vector<bool>(nodes));
    std::vector<GraphEdge> edges;
    for (std::uint32_t a = 0; a < nodes; ++a)
      for (std::uint32_t b = a + 1; b < nodes; ++b)
        if (random(8) < (b == a + 1 ? 6u : 1u)) edges.push_back({a, b, false}), reaches[a][b] = true;
    for (std::uint32_t k = 0; k < nodes; ++k)
      for (std::uint32_t a = 0; a < nodes; ++a)
        for (std::uint32_t b = 0; b < nodes; ++b)
          if (reaches[a][k] && reaches[k][b]) reaches[a][b] = true;
    const OrderedGraph ordered(nodes, edges.data(), static_cast<std::uint32_t>(edges.size()));
    const std::vector<std::uint32_t> cuts = cuts_of(nodes, edges, 500);
    bool free[16];
    expect(ordered.find_free(free), "there is memory");
    for (std::uint32_t place = 0; place < nodes; ++place)
      expect(free[place] == (std::count(cuts.begin(), cuts.end(), place) > 0),
             "nodes so long are cut wherever they can");
    for (const std::uint32_t cut : cuts) {
      std::vector<std::uint32_t> ends, beginnings;
      ordered.each_end(cut, [&](std::uint32_t n) { ends.push_back(n); });
      ordered.each_beginning(cut, [&](std::uint32_t n) { beginnings.push_back(n); });
      expect(!ends.empty() && !beginnings.empty(), "a cut has two sides");
      for (const std::uint32_t a : ends)
        for (const std::uint32_t b : beginnings) expect(reaches[a][b], "every beginning waits for every end already");
      std::uint32_t before = 0;
      for (std::uint32_t n = 0; n < nodes; ++n) {
        const bool is_end = std::count(ends.begin(), ends.end(), n) > 0;
        bool leads = is_end;
        for (const std::uint32_t a : ends) leads = leads || reaches[n][a];
        bool follows = std::count(beginnings.begin(), beginnings.end(), n) > 0;
        for (const std::uint32_t b : beginnings) follows = follows || reaches[b][n];
        expect(leads != follows, "every node is on one side");
        before += leads ? 1 : 0;
      }
      expect(before == cut, "a cut is the number of nodes before it");
      ++found;
    }
  }
  expect(found > 200, "the graphs had cuts to look at");
}

void a_request_stops_a_graph_inside() {
  Recorded it;
  expect(it.client.slot().graphGates.load() >= 50, "a place to stop before each kernel that fills a chunk");
  expect(size_of(it.graph) == 60, "the application's graph is as it was");
  const auto [at, after] = it.stopped_inside();
  const auto& gate = it.client.agent.region().bestEffort[0].done[cotenant::protocol::PAGE / 4 - 1];
  expect(gate.load() >= at && gate.load() <= after + 2, "the gate that it waits at can be seen");
  it.client.request_ends();
  OK(cuda().cuStreamSynchronize(it.stream));
  expect(*it.word.host == 60, "then it goes on to its end, in order");
  expect(gate.load() >= 58, "and comes to the last gate");
  expect(it.client.slot().graphs.load() == 1, "it is one graph");
}

void changes_are_honoured() {
  Recorded it(20);
  std::vector<CUgraphNode> nodes(20);
  std::size_t count = nodes.size();
  OK(cuda().cuGraphGetNodes(it.graph, nodes.data(), &count));
  CUdeviceptr at = it.word.device;
  unsigned value = 77;
  std::uint64_t ns = 1000;
  void* parameters[] = {&at, &value, &ns};
  CUDA_KERNEL_NODE_PARAMS_v2 params{};
  OK(cuda().cuGraphKernelNodeGetParams_v2(nodes[19], &params));
  params.kernelParams = parameters;
  OK(cuda().cuGraphExecKernelNodeSetParams_v2(it.exec, nodes[19], &params));
  it.runs_to(77, "with what was changed through the handle of a node");

  CUgraph same = recorded(it.client.program, it.stream, it.word, 20);
  CUgraphExecUpdateResultInfo info{};
  OK(cuda().cuGraphExecUpdate_v2(it.exec, same, &info));
  expect(size_of(same) == 20, "nothing stays in the graph it was updated from");
  it.runs_to(20, "with what another graph of the same form says");

  CUgraph other = recorded(it.client.program, it.stream, it.word, 21);
  expect(cuda().cuGraphExecUpdate_v2(it.exec, other, &info) == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
         "a graph of another form is refused");
  expect(info.result == CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, "for the reason that it has");
  it.runs_to(20, "as before");

  OK(cuda().cuGraphExecDestroy(it.exec));
  OK(cuda().cuGraphInstantiateWithFlags(&it.exec, other, 0));
  it.runs_to(21, "from another graph");
}

void errors_are_the_applications_own() {
  Recorded it(4);
  CUgraphExec exec = nullptr;
  expect(cuda().cuGraphInstantiateWithFlags(&exec, it.graph, 1u << 20) == CUDA_ERROR_INVALID_VALUE,
         "what is wrong is answered by the driver");
  expect(size_of(it.graph) == 4, "and the graph is as it was");
  expect(cuda().cuGraphInstantiateWithFlags(nullptr, it.graph, 0) == CUDA_ERROR_INVALID_VALUE, "also without a place");
  expect(cuda().cuGraphInstantiateWithFlags(&exec, nullptr, 0) != CUDA_SUCCESS, "also without a graph");
}

void graphs_that_allocate_run_whole() {
  Recorded it(2);
  const std::uint64_t gates = it.client.slot().graphGates.load();
  CUgraph graph = nullptr;
  CUdeviceptr memory = 0;
  OK(cuda().cuStreamBeginCapture_v2(it.stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  OK(cuda().cuMemAllocAsync(&memory, 1024, it.stream));
  for (unsigned i = 1; i <= 10; ++i) it.client.program.store_us(200, it.word.device, i, it.stream);
  OK(cuda().cuMemFreeAsync(memory, it.stream));
  OK(cuda().cuStreamEndCapture(it.stream, &graph));
  OK(cuda().cuGraphInstantiateWithFlags(&it.exec, graph, 0));
  expect(it.client.slot().graphGates.load() == gates, "no gates in it");
  expect(it.client.slot().wholeGraphs.load() == 1, "and it is counted");
  it.runs_to(10, "all the same");
}

void gates_that_nothing_waits_for_are_none() {
  if (getenv("COTENANT_TEST_PASS")) return;  // a real driver refuses none
  setenv("COTENANT_SOFTGPU", "edges=refused", 1);
  Recorded it(20);
  expect(it.client.slot().graphGates.load() == 0, "a gate whose edges the driver refuses is not counted");
  expect(size_of(it.graph) == 20, "and does not stay");
  it.runs_to(20, "all the same");
}

// Programs launch by one handle, and the nodes of their graphs may tell another.
void durations_are_known_by_name() {
  Recorded it(2);
  CUmodule module = nullptr;
  CUfunction same = nullptr;
  OK(cuda().cuModuleLoadData(&module, kKernels.c_str()));
  OK(cuda().cuModuleGetFunction(&same, module, "store"));
  expect(same != it.client.program.store, "another handle");
  const std::uint64_t before = it.client.slot().graphGates.load();
  it.client.program.store = same;
  it.graph = recorded(it.client.program, it.stream, it.word, 20);
  OK(cuda().cuGraphInstantiateWithFlags(&it.exec, it.graph, 0));
  expect(it.client.slot().graphGates.load() == before + 19, "its nodes are known to take 200 us");
  it.runs_to(20, "with gates between them");
}

void rules_may_forbid_gates() {
  Recorded it(2);
  it.client.agent.region().settings.graphGates = 0;
  const std::uint64_t gates = it.client.slot().graphGates.load();
  CUgraph graph = recorded(it.client.program, it.stream, it.word, 10);
  OK(cuda().cuGraphInstantiateWithFlags(&it.exec, graph, 0));
  expect(it.client.slot().graphGates.load() == gates, "no gates in it");
  it.runs_to(10, "all the same");
}

// A high client's graphs are not touched, nor looked at.
void high_graphs_have_no_gates() {
  High client;
  CUstream stream = make_stream();
  Word word;
  CUgraph graph = recorded(client.program, stream, word, 30);
  CUgraphExec exec = nullptr;
  OK(cuda().cuGraphInstantiateWithFlags(&exec, graph, 0));
  client.agent.page().word.store(1);
  OK(cuda().cuGraphLaunch(exec, stream));
  OK(cuda().cuStreamSynchronize(stream));
  expect(*word.host == 30, "it runs whatever the pause flags say");
}

constexpr Case kCases[] = {
    {"chains are cut by time and by number", chains_are_cut_by_time},
    {"branches are cut where they part and meet", branches_are_cut_where_they_meet},
    {"nodes that overlap on purpose stay together", overlapping_nodes_stay_together},
    {"in random graphs a cut adds no order", random_graphs},
    {"a request stops a graph inside", a_request_stops_a_graph_inside},
    {"changes to the executable graph are honoured", changes_are_honoured},
    {"what is wrong with a graph is the driver's answer", errors_are_the_applications_own},
    {"graphs that allocate run whole and are counted", graphs_that_allocate_run_whole},
    {"gates that nothing waits for are none", gates_that_nothing_waits_for_are_none},
    {"durations are known by the kernels' names", durations_are_known_by_name},
    {"the rules may forbid gates", rules_may_forbid_gates},
    {"high clients' graphs have no gates", high_graphs_have_no_gates},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
