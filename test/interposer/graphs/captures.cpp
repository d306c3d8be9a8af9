// Captures of a best-effort program: none is broken by calls of ours, and nothing of ours is in one, however it ends.
#include "../fixture.h"

using namespace harness;

namespace {

std::vector<CUgraphNodeType> types_in(CUgraph graph) {
  std::size_t count = 0;
  OK(cuda().cuGraphGetNodes(graph, nullptr, &count));
  std::vector<CUgraphNode> nodes(count);
  std::vector<CUgraphNodeType> types;
  if (count > 0) OK(cuda().cuGraphGetNodes(graph, nodes.data(), &count));
  for (CUgraphNode node : nodes) OK(cuda().cuGraphNodeGetType(node, &types.emplace_back()));
  return types;
}

void holds_kernels(CUgraph graph, std::size_t count) {
  const auto types = types_in(graph);
  expect(types.size() == count, "a graph of " + std::to_string(count) + " nodes, not " + std::to_string(types.size()));
  for (const auto type : types) expect(type == CU_GRAPH_NODE_TYPE_KERNEL, "they are the application's kernels");
}

// Calls that a capture of another thread may forbid are made while other threads begin captures.
void captures_beside_launches() {
  BestEffort client;
  client.agent.region().settings.sampleEvery = 1;  // events around each launch
  client.agent.region().roster.registered = 0;   // and nothing to wait for
  CUstream recording = make_stream(), running = make_stream();
  client.warm(5, running);
  std::atomic<bool> stop{false};
  std::thread launcher([&] {
    OK(cuda().cuCtxSetCurrent(client.program.context));
    // Each in a shape of its own: as long as it is unknown, each launch asks for what was timed.
    for (unsigned i = 0; !stop; ++i) {
      client.program.run_us(1, running, 1 + i % 4000);
      if (i % 64 == 0) usleep(100);
    }
  });
  for (int i = 0; i < 50'000; ++i) {
    CUgraph graph = nullptr;
    OK(cuda().cuStreamBeginCapture_v2(recording, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuda().cuStreamEndCapture(recording, &graph));
    holds_kernels(graph, 0);
    OK(cuda().cuGraphDestroy(graph));
  }
  stop = true;
  launcher.join();
}

void first_use_beside_a_capture() {
  BestEffort client;
  CUstream recording = make_stream(), running = make_stream();
  CUgraph graph = nullptr;
  OK(cuda().cuStreamBeginCapture_v2(recording, CU_STREAM_CAPTURE_MODE_GLOBAL));
  client.program.run_us(1, recording);
  for (int i = 0; i < 40; ++i) client.program.run_us(300, running);
  OK(cuda().cuStreamEndCapture(recording, &graph));
  holds_kernels(graph, 1);
  expect(client.slot().chunks.load() > 0, "there are borders in the stream that is not recorded");
  OK(cuda().cuStreamSynchronize(running));
}

// After an end of a capture that failed, the driver says which work was captured.
void expect_gated(BestEffort& client, CUstream stream) {
  const std::uint64_t chunks = client.slot().chunks.load();
  for (int i = 0; i < 4; ++i) client.program.run_us(300, stream);
  expect(client.slot().chunks.load() > chunks, "borders are put into the stream, which is not recorded any more");
  OK(cuda().cuStreamSynchronize(stream));
}

void a_capture_that_another_thread_ends() {
  BestEffort client;
  CUstream stream = make_stream();
  client.warm(300, stream);
  OK(cuda().cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  CUgraph graph = nullptr;
  std::thread([&] {
    OK(cuda().cuCtxSetCurrent(client.program.context));
    expect(cuda().cuStreamEndCapture(stream, &graph) == CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,
           "the other thread may not");
  }).join();
  expect_gated(client, stream);
  expect(cuda().cuStreamEndCapture(stream, &graph) != CUDA_SUCCESS, "there is nothing to end");
}

void a_capture_that_a_branch_ends() {
  BestEffort client;
  CUstream stream = make_stream(), branch = make_stream();
  CUevent forked = make_event();
  CUdeviceptr memory = 0;
  OK(cuda().cuMemAlloc_v2(&memory, 64));
  client.warm(300, branch);
  OK(cuda().cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  OK(cuda().cuEventRecord(forked, stream));
  OK(cuda().cuStreamWaitEvent(branch, forked, 0));
  CUgraph graph = nullptr;
  expect(cuda().cuStreamEndCapture(branch, &graph) == CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "it did not begin there");
  const std::uint64_t chunks = client.slot().chunks.load();
  expect(cuda().cuMemsetD8Async(memory, 0, 64, branch) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
         "the capture is broken");
  expect(client.slot().chunks.load() == chunks, "and nothing of ours is in it");
  expect(cuda().cuStreamEndCapture(stream, &graph) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "to its end");
  expect_gated(client, branch);
  expect_gated(client, stream);
}

// Before the pages that preemption points need are registered: they are in time.
void a_capture_whose_stream_goes() {
  BestEffort client;
  CUstream running = make_stream(), recorded = make_stream();
  OK(cuda().cuStreamBeginCapture_v2(recorded, CU_STREAM_CAPTURE_MODE_GLOBAL));
  client.program.run_us(50, recorded);
  OK(cuda().cuStreamDestroy_v2(recorded));
  for (int i = 0; i < 20; ++i) client.program.run_us(300, running);
  OK(cuda().cuStreamSynchronize(running));
  expect(client.slot().chunks.load() > 0, "borders are put in again");
}

// Its work has no mark behind it when another thread finds no room and puts marks into all streams.
void a_stream_that_another_thread_would_mark() {
  BestEffort client;
  client.agent.region().settings.submitUs = 2000;
  CUstream stream = make_stream(), running = make_stream();
  client.warm(300, running);
  client.warm(50, stream);
  std::atomic<bool> stop{false};
  std::thread launcher([&] {
    OK(cuda().cuCtxSetCurrent(client.program.context));
    while (!stop) client.program.run_us(300, running);
  });
  for (int i = 0; i < 4000; ++i) {
    CUgraph graph = nullptr;
    client.program.run_us(50, stream);  // what is open now
    OK(cuda().cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    client.program.run_us(50, stream);
    sched_yield();
    OK(cuda().cuStreamEndCapture(stream, &graph));
    holds_kernels(graph, 1);
    OK(cuda().cuGraphDestroy(graph));
  }
  stop = true;
  launcher.join();
}

using Begin = CUresult (*)(CUstream, CUstreamCaptureMode);
Begin unknown_begin() { return reinterpret_cast<Begin>(dlsym(cuda().library, "cuStreamBeginLaterCapture")); }

// A driver of a later release may begin a capture by a function that is not known here.
void a_capture_that_an_unknown_function_begins() {
  BestEffort client;
  CUstream stream = make_stream(), other = make_stream();
  client.warm(200, stream);
  client.warm(200, other);
  const Begin begin = unknown_begin();
  for (const auto mode :
       {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, CU_STREAM_CAPTURE_MODE_RELAXED}) {
    client.program.run_us(200, stream);
    OK(begin(stream, mode));
    for (int i = 0; i < 60; ++i) {
      client.program.run_us(200, stream);
      client.program.run_us(200, other);
    }
    CUgraph graph = nullptr;
    OK(cuda().cuStreamEndCapture(stream, &graph));
    holds_kernels(graph, 60);
    OK(cuda().cuGraphDestroy(graph));
    OK(cuda().cuStreamSynchronize(other));
  }
  expect_gated(client, stream);
  expect_gated(client, other);
}

// Captured work would count as a burst that never ends.
void a_high_capture_that_an_unknown_function_begins() {
  High client;
  CUstream stream = make_stream();
  client.program.run_us(200, stream);
  OK(cuda().cuStreamSynchronize(stream));
  OK(unknown_begin()(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  for (int i = 0; i < 20; ++i) client.program.run_us(200, stream);
  client.idle("while nothing runs");
  CUgraph graph = nullptr;
  OK(cuda().cuStreamEndCapture(stream, &graph));
  holds_kernels(graph, 20);
  client.program.run_us(200, stream);
  client.busy("with work of its own");
}

void a_capture_into_a_graph_that_exists() {
  BestEffort client;
  CUstream stream = make_stream();
  client.warm(200, stream);
  CUgraph graph = nullptr, ended = nullptr;
  OK(cuda().cuGraphCreate(&graph, 0));
  OK(cuda().cuStreamBeginRecaptureToGraph(stream, CU_STREAM_CAPTURE_MODE_RELAXED, graph, nullptr, nullptr));
  for (int i = 0; i < 60; ++i) client.program.run_us(200, stream);
  OK(cuda().cuStreamEndCapture(stream, &ended));
  holds_kernels(graph, 60);
  expect_gated(client, stream);
}

constexpr Case kCases[] = {
    {"launches in other streams break no capture", captures_beside_launches},
    {"what we set up beside a capture does not break it", first_use_beside_a_capture},
    {"a capture that another thread ends is over", a_capture_that_another_thread_ends},
    {"a capture that a branch ends is broken until its end", a_capture_that_a_branch_ends},
    {"a capture whose stream was destroyed is over", a_capture_whose_stream_goes},
    {"a capture that an unknown function begins gets nothing of ours", a_capture_that_an_unknown_function_begins},
    {"what a high client captures after an unknown begin is no burst", a_high_capture_that_an_unknown_function_begins},
    {"a capture into a graph that exists gets nothing of ours", a_capture_into_a_graph_that_exists},
    {"no thread's mark gets into another's capture", a_stream_that_another_thread_would_mark},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
