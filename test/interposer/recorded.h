// Graphs of kernels that say how far they have come.
#pragma once

#include "fixture.h"

namespace harness {

using cotenant::protocol::GraphGates;

// `count` kernels of 200 us that store 1, 2, 3 … into the word.
inline CUgraph recorded(const Program& program, CUstream stream, const Word& word, unsigned count) {
  CUgraph graph = nullptr;
  OK(cuda().cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  for (unsigned i = 1; i <= count; ++i) program.store_us(200, word.device, i, stream);
  OK(cuda().cuStreamEndCapture(stream, &graph));
  return graph;
}

inline std::size_t size_of(CUgraph graph) {
  std::size_t nodes = 0;
  OK(cuda().cuGraphGetNodes(graph, nullptr, &nodes));
  return nodes;
}

// A best-effort client that has made one executable.
struct Recorded {
  BestEffort client;
  CUstream stream = make_stream();
  Word word;
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;

  explicit Recorded(unsigned count = 60, GraphGates how = GraphGates::kNodes) {
    client.agent.region().settings.graphGates = static_cast<std::uint32_t>(how);
    for (int i = 0; i < 40; ++i) {
      client.program.store_us(200, word.device, 0, stream);
      if (i % 4 == 3) OK(cuda().cuStreamSynchronize(stream));
    }
    graph = recorded(client.program, stream, word, count);
    OK(cuda().cuGraphInstantiateWithFlags(&exec, graph, 0));
  }
  struct Progress {
    unsigned at_request;
    unsigned when_stopped;
  };
  // Launches it, and stops it by a request, which goes on.
  Progress stopped_inside() {
    OK(cuda().cuGraphLaunch(exec, stream));
    eventually([&] { return *word.host >= 3; }, "the graph is running");
    client.request_begins();
    const unsigned at = *word.host;
    sleep_ms(100);
    const unsigned after = *word.host;
    expect(after < size_of(graph), "the rest of it is held");
    expect(after - at <= 3, "and it stops within a chunk or two, not " + std::to_string(after - at));
    return {at, after};
  }
  void runs_to(unsigned last, const char* when) {
    OK(cuda().cuGraphLaunch(exec, stream));
    OK(cuda().cuStreamSynchronize(stream));
    expect(*word.host == last, std::string("all of it ran ") + when);
  }
};

}  // namespace harness
