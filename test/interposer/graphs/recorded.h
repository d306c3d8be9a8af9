// Graphs of kernels that say how far they have come.
#pragma once

#include "../fixture.h"

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

// One that runs in parts.
struct InParts : Recorded {
  explicit InParts(unsigned count = 60) : Recorded(count, GraphGates::kParts) {}

  std::uint64_t places() { return client.slot().graphGates.load(); }
  CUgraphNode node(unsigned i) const {
    std::vector<CUgraphNode> nodes(size_of(graph));
    std::size_t count = nodes.size();
    OK(cuda().cuGraphGetNodes(graph, nodes.data(), &count));
    return nodes[i];
  }
};

// Calls of host functions in graphs, in their order.
struct Called {
  static constexpr unsigned kMaxRecords = 1024;
  unsigned values[kMaxRecords]{};
  std::atomic<unsigned> count{0};

  struct One {
    Called* in;
    unsigned value;
    static void call(void* data) {
      const auto* one = static_cast<One*>(data);
      one->in->values[one->in->count++ % kMaxRecords] = one->value;
    }
  };
  One ones[kMaxRecords]{};

  // `count` kernels of 200 us, each followed by a call with first, first + 1 …
  CUgraphExec graph(const InParts& it, unsigned first, unsigned kernels) {
    CUgraph made = nullptr;
    CUgraphExec exec = nullptr;
    OK(cuda().cuStreamBeginCapture_v2(it.stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    for (unsigned i = first; i < first + kernels; ++i) {
      it.client.program.store_us(200, it.word.device, i, it.stream);
      ones[i] = {this, i};
      OK(cuda().cuLaunchHostFunc(it.stream, One::call, &ones[i]));
    }
    OK(cuda().cuStreamEndCapture(it.stream, &made));
    OK(cuda().cuGraphInstantiateWithFlags(&exec, made, 0));
    return exec;
  }
  // Graphs of this many kernels ran one after the other, `launches` of them.
  void in_turn(unsigned kernels, unsigned launches) const {
    expect(count == kernels * launches, "each runs to its end");
    for (unsigned i = 0; i < count; ++i) {
      const unsigned begun = i - i % kernels;
      expect(values[i] == values[begun] + i - begun, "one graph ends before the next begins");
    }
  }
};

// Parameters of a kernel that stores a value.
struct Store {
  CUdeviceptr at;
  unsigned value;
  std::uint64_t ns = 1000;
  void* parameters[3] = {&at, &value, &ns};
  CUDA_KERNEL_NODE_PARAMS_v2 of{};

  Store(CUgraphNode node, CUdeviceptr to, unsigned what) : at(to), value(what) {
    OK(cuda().cuGraphKernelNodeGetParams_v2(node, &of));
    of.kernelParams = parameters;
  }
};

}  // namespace harness
